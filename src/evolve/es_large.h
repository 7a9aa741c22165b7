// SPDX-License-Identifier: Apache-2.0
// For large populations: what they take, and asking that can be stopped.

#ifndef MM_EVOLVE_ES_LARGE_H
#define MM_EVOLVE_ES_LARGE_H

#include <stdbool.h>

#include "mirrormap/evolve.h"

// Bytes of a strategy, in double precision lest they overflow. The config need not be valid.
double mm_es_bytes(const mm_es_config *config);

// As mm_es_ask. `goes_on` is called now and then; once it says no, nothing was asked for, and the
// call returns MM_ERR_INTERRUPTED.
mm_status mm_es_ask_watched(mm_es *es, double *member, bool (*goes_on)(void *user), void *user);

#endif
