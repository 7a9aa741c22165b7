// SPDX-License-Identifier: Apache-2.0
// Recorded Grid-World traces, checked transition by transition, and written.
//
// A trace is a JSON file with `levels`: each holds one task and its transitions with the random
// draws that were made (the format of tests/golden/gridworld.json; its `about` explains every
// field). Each transition is repeated from its recorded state with the recorded draws.

#ifndef MM_ENV_GRID_TRACE_H
#define MM_ENV_GRID_TRACE_H

#include "env/grid/gridworld.h"
#include "env/trace.h"
#include "env/trace_writer.h"

// The numbers of a transition, in this order.
#define MM_GRID_TRACE_FIELDS(X)                                                                    \
  X(time)                                                                                          \
  X(pos)                                                                                           \
  X(exists_bits)                                                                                   \
  X(action)                                                                                        \
  X(reward)                                                                                        \
  X(next_pos)                                                                                      \
  X(next_exists_bits)                                                                              \
  X(next_early_term)                                                                               \
  X(done)                                                                                          \
  X(respawn_bits)                                                                                  \
  X(term_draw)                                                                                     \
  X(p_term)                                                                                        \
  X(next_obs_index)

enum {
#define MM_GRID_TRACE_ENUM(name) MM_GRID_TRACE_##name,
  MM_GRID_TRACE_FIELDS(MM_GRID_TRACE_ENUM)
#undef MM_GRID_TRACE_ENUM
      MM_GRID_TRACE_COUNT
};

extern const char *const mm_grid_trace_field[MM_GRID_TRACE_COUNT];

// Makes the step of which row[] has time, pos, exists_bits, action and both draws, and fills in the
// rest. `index_cells`: of an observation's index. `max_steps`: of an episode.
void mm_grid_trace_step(const mm_grid *g, int64_t index_cells, int64_t max_steps,
                        double row[MM_GRID_TRACE_COUNT]);

// MM_ERR_INPUT when the file is not a Grid-World trace; mismatches are not failures.
mm_status mm_grid_replay(const char *path, mm_replay_report *out);

// One level, the instance (seed, 0) of a Grid-World or a task file, with the transitions of all
// episodes; the plan's steps are its max_steps_in_episode. Adds the whole file to `out`.
mm_status mm_grid_record(const char *id, const mm_record_plan *plan, mm_text *out,
                         uint64_t *transitions);

#endif
