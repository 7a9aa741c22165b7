// SPDX-License-Identifier: Apache-2.0
// The environments of plug-ins: what the table of environments (env_internal.h) has beyond the
// built-in ones.

#ifndef MM_ENV_PLUGIN_ENV_H
#define MM_ENV_PLUGIN_ENV_H

#include "base/rng.h"
#include "base/status.h"
#include "mirrormap/plugin.h"

enum { MM_PLUGIN_ENVS_MOST = 64 };

// Can there be such an environment? One whose ID is taken, or too many, is MM_ERR_INPUT.
mm_status mm_plugin_env_check(const mm_plugin_env *law);

// Adds one that was checked. Before threads are started.
void mm_plugin_env_add(const mm_plugin_env *law);

// The i-th; NULL past the end.
const mm_plugin_env *mm_plugin_env_law(size_t i);

// The numbers of one call: call number `index` of a stream.
struct mm_random {
  mm_stream stream;
  uint64_t next;
};

static inline mm_random mm_random_make(mm_stream stream, uint64_t index) {
  return (mm_random){ stream, index << 20 };
}

static inline uint64_t mm_random_next(mm_random *r) {
  return mm_stream_pair(r->stream, r->next++);
}

#endif
