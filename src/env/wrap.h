// SPDX-License-Identifier: Apache-2.0
// What an agent with continuous actions sees of its environments: observations in units of their
// running deviation, rewards in units of the running deviation of the discounted return. What it
// does not see is kept as well: raw return and length of the episodes.
//
// A wrapped step has three parts, so that threads can share it: the environments of a range are
// stepped and summed up, one thread merges the sums, and ranges are scaled by what came out. Ranges
// begin at multiples of MM_RUNNING_BLOCK; how the environments are divided does not change a bit.

#ifndef MM_ENV_WRAP_H
#define MM_ENV_WRAP_H

#include <stdint.h>

#include "env/running_stats.h"
#include "mirrormap/env.h"

typedef struct mm_wrap_config {
  double gamma;    // of the discounted return that rewards are measured by
  bool raw_obs;    // observations as they are
  bool raw_reward; // rewards as they are
} mm_wrap_config;

// Episodes without any scaling, over the environments that have finished one.
typedef struct mm_wrap_log {
  uint64_t episodes;  // finished since the reset
  size_t finished;    // environments that have finished one
  double mean_return; // of the last one of each of them; NaN if there is none
  double mean_length;
} mm_wrap_log;

// What is counted of an environment.
typedef struct mm_wrap_lane {
  double discounted; // return that rewards are measured by
  double now;        // raw return of the episode so far
  double last;       // of the last finished one
  uint32_t length, last_length;
  uint64_t episodes; // finished
} mm_wrap_lane;

typedef struct mm_wrap mm_wrap;

// `vec` has observations in the form MM_OBS_FLOATS. It stays the caller's and must outlive the
// wrap; from here on it is reset and stepped through the wrap alone.
mm_status mm_wrap_create(mm_vec *vec, const mm_wrap_config *config, mm_wrap **out);
void mm_wrap_destroy(mm_wrap *wrap);

// Starts environments, statistics and log from the beginning. The first observations count.
mm_status mm_wrap_reset(mm_wrap *wrap, const mm_vec_out *out);

// One step as mm_vec_step has it, with obs, final_obs (if not NULL) and reward scaled.
mm_status mm_wrap_step(mm_wrap *wrap, const void *action, const mm_vec_out *out);

// The three parts. Every environment is stepped once before the merge, and scaled once behind it.
mm_status mm_wrap_step_part(mm_wrap *wrap, size_t from, size_t to, const void *action,
                            const mm_vec_out *out);
void mm_wrap_merge(mm_wrap *wrap);
mm_status mm_wrap_scale_part(const mm_wrap *wrap, size_t from, size_t to, const mm_vec_out *out);

// What the agent was left with by the last reset, step or load, scaled: [n][n_input].
void mm_wrap_observe(const mm_wrap *wrap, float *obs);

void mm_wrap_read_log(const mm_wrap *wrap, mm_wrap_log *out);

// The statistics of the observations: what a trained policy needs to be played elsewhere.
const mm_running_stats *mm_wrap_observations(const mm_wrap *wrap);

// The state as bytes, without that of the environments (mm_vec_keep): a wrap of the same
// configuration that loads it goes on to the same bits. Bytes that are no such state are
// MM_ERR_INPUT, and the wrap must be reset then.
size_t mm_wrap_state_size(const mm_wrap *wrap);
void mm_wrap_save(const mm_wrap *wrap, void *state);
mm_status mm_wrap_load(mm_wrap *wrap, const void *state, size_t size);

#endif
