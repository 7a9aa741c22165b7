// SPDX-License-Identifier: Apache-2.0
// Classic-control environments side by side, with automatic reset, in builds for each instruction
// set that give the same bits as stepping each environment alone with its header.
//
// All arrays are structures of arrays: row k of a quantity begins at k * stride, and environment i
// is entry i of every row. Nothing is allocated and nothing else is kept, so ranges of one batch
// may be stepped by different threads.

#ifndef MM_ENV_CLASSIC_BATCH_H
#define MM_ENV_CLASSIC_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "env/classic/list.h"

typedef struct mm_classic_batch {
  mm_classic_env env;
  size_t stride;               // of all rows, at least the number of environments
  float *state;                // [fields][stride] in the order of the state struct, without time
  int32_t *time;               // [stride]
  uint32_t *episode;           // [stride] the number of the running episode: index of its draws
  uint64_t seed;               // starts come from the streams (seed, job, MM_RNG_ENV_RESET,
  uint32_t job, lane;          // lane + i)
  mm_mountain_car_walls walls; // for MountainCarContinuous
} mm_classic_batch;

typedef struct mm_classic_out {
  float *obs;       // [obs][stride] what the agent sees next: after an end, the fresh start
  float *final_obs; // [obs][stride] where an episode ended, its last observation; else untouched.
                    // NULL: not kept
  float *reward;    // [stride]
  uint8_t *end;     // [stride] MM_END_ bits of this step
} mm_classic_out;

typedef struct mm_classic_kernels {
  // Starts episode number episode[i] of the environments from <= i < to; writes obs only.
  void (*reset)(const mm_classic_batch *batch, size_t from, size_t to, const mm_classic_out *out);
  // One step of the environments from <= i < to. `action` is [stride], int32_t or, where actions
  // are continuous, float. An environment whose episode ended begins the next one at once.
  void (*step)(const mm_classic_batch *batch, size_t from, size_t to, const void *action,
               const mm_classic_out *out);
  // What is seen of the environments from <= i < to as they are; writes obs only.
  void (*observe)(const mm_classic_batch *batch, size_t from, size_t to, const mm_classic_out *out);
} mm_classic_kernels;

// Those of the instruction set that was chosen.
const mm_classic_kernels *mm_classic_kernels_current(void);

#endif
