// SPDX-License-Identifier: Apache-2.0
// The classic-control environments one at a time behind one table, with what their headers say of
// them beside the dynamics, for code that treats them alike and has time: traces, listings,
// pictures, tests. (Batches: classic_batch.h.)

#ifndef MM_ENV_CLASSICS_H
#define MM_ENV_CLASSICS_H

#include "env/classic/list.h"
#include "env/classic/spec.h"

#define MM_CLASSIC_SPEC(name, NAME, id) extern const mm_classic_spec mm_##name##_spec;
MM_CLASSIC_LIST(MM_CLASSIC_SPEC)
#undef MM_CLASSIC_SPEC

// The floats of any state in the order of its struct, and the time.
typedef struct mm_single {
  float f[MM_CLASSIC_STATE_MAX];
  int32_t time;
} mm_single;

typedef struct mm_classic {
  const char *name, *id;
  const mm_classic_spec *spec;
  int n_state, n_obs;
  int n_action; // 0: continuous, in [-action_max, action_max]
  float action_max;
  int32_t limit;
  const char *field[MM_CLASSIC_STATE_MAX]; // names of the numbers of a state in traces
  bool is_angle[MM_CLASSIC_STATE_MAX];
  mm_single (*start)(mm_stream stream, uint64_t index);
  int (*step)(mm_single *s, float action, float *reward);
  void (*observe)(const mm_single *s, float *obs);
} mm_classic;

extern const mm_classic mm_classics[MM_CLASSIC_COUNT];

// Action number `index` of the uniform random policy.
float mm_classic_action(const mm_classic *env, mm_stream stream, uint64_t index);

#endif
