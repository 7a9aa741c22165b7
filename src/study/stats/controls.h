// SPDX-License-Identifier: Apache-2.0
// The maps that a learned one is compared with: `learn` validates beside them, `transfer` adds them
// to its table (--controls), `reproduce` trains with them. A name is the label of a row.

#ifndef MM_STUDY_CONTROLS_H
#define MM_STUDY_CONTROLS_H

#include <stdbool.h>
#include <stddef.h>

#include "mirrormap/map.h"
#include "mirrormap/study.h"

enum {
  MM_CONTROL_NEGENTROPY,
  MM_CONTROL_L2,
  MM_CONTROL_RANDOM,
  MM_CONTROL_INITIAL,
  MM_CONTROL_TUNED, // from here on: the first ones with an eta of their own
  MM_CONTROL_TUNED_Q = MM_CONTROL_TUNED + 2, // and Tsallis with q and eta
  MM_CONTROLS,
  MM_CONTROL_MAP_SIZE = MM_STUDY_NAME_SIZE
};
extern const char *const mm_control_names[MM_CONTROLS];

// Whether a row trains with an eta of its own, tuned before: "l2:tuned-eta".
bool mm_control_is_tuned(const char *name);

// Whether that is Tsallis' row, which has a q of its own besides.
bool mm_control_tunes_q(const char *name);

// The map of a row as mm_map_open takes it. "initial" and "random" are of the family that is
// searched, with n steps if it is piecewise; all other rows are named for their maps.
const char *mm_control_map(const char *name, mm_map_kind family, double n,
                           char out[MM_CONTROL_MAP_SIZE]);

#endif
