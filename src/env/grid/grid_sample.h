// SPDX-License-Identifier: Apache-2.0
// The random part of a Grid-World step. [host/device]
//
// Step t of an environment uses the blocks 3 t, 3 t + 1 and 3 t + 2 of its stream (seed, job,
// MM_RNG_ENV_STEP, lane = environment), twelve words in all:
//
//   block 3 t      word 0: termination; words 1, 2, 3: respawn of objects 0, 1, 2
//   block 3 t + 1  words 0 .. 3: respawn of objects 3, 4, 5, 6
//   block 3 t + 2  word 0: respawn of object 7
//
// An event of probability p happens when its word is below p 2^32. A block is only computed when
// something in it is needed, which changes no outcome: draws are a function of their name.

#ifndef MM_ENV_GRID_SAMPLE_H
#define MM_ENV_GRID_SAMPLE_H

#include "base/rng.h"
#include "env/grid/gridworld.h"

// The probabilities of a task as thresholds for 32-bit words; 2^32 is certainty.
typedef struct mm_grid_sampler {
  uint64_t terminate[MM_GRID_OBJECTS], respawn[MM_GRID_OBJECTS];
} mm_grid_sampler;

// The nearest multiple of 2^-32.
MM_INLINE MM_HD uint64_t mm_grid_threshold(double probability) {
  return (uint64_t)(probability * 0x1p32 + 0.5);
}

static inline MM_HD mm_grid_sampler mm_grid_sampler_make(const mm_grid *g) {
  mm_grid_sampler sampler;
  for (int i = 0; i < MM_GRID_OBJECTS; i++) {
    sampler.terminate[i] = i < g->n_object ? mm_grid_threshold(g->terminate[i]) : 0;
    sampler.respawn[i] = i < g->n_object ? mm_grid_threshold(g->respawn[i]) : 0;
  }
  return sampler;
}

// Which of the absent objects come back, given the first block of the step.
MM_INLINE MM_HD uint32_t mm_grid_respawns(const mm_grid_sampler *p, mm_stream stream, uint64_t t,
                                          mm_block first, uint32_t absent) {
  uint32_t respawned = 0;
  for (int i = 0; i < 3; i++)
    respawned |= (uint32_t)(first.word[i + 1] < p->respawn[i]) << i;
  if (absent >> 3) {
    mm_block more = mm_stream_block(stream, 3 * t + 1);
    for (int i = 0; i < 4; i++)
      respawned |= (uint32_t)(more.word[i] < p->respawn[i + 3]) << (i + 3);
  }
  if (absent >> 7) {
    mm_block last = mm_stream_block(stream, 3 * t + 2);
    respawned |= (uint32_t)(last.word[0] < p->respawn[7]) << 7;
  }
  return respawned & absent;
}

// One step from *state with `action`; *state becomes the successor. After `done` the caller puts
// the environment back to mm_grid_start.
MM_INLINE MM_HD mm_grid_event mm_grid_step(const mm_grid *g, const mm_grid_sampler *p,
                                           mm_stream stream, uint64_t t, int action,
                                           mm_grid_state *state) {
  uint32_t absent = ~state->mask & ((1u << g->n_object) - 1), respawned = 0;
  int32_t i = g->object_at[g->next[state->cell * MM_GRID_ACTIONS + action]];
  int collects = i >= 0 && (state->mask >> i & 1), ends = 0;
  if (absent || collects) {
    mm_block first = mm_stream_block(stream, 3 * t);
    respawned = mm_grid_respawns(p, stream, t, first, absent);
    ends = collects && first.word[0] < p->terminate[i];
  }
  return mm_grid_move(g, state, action, respawned, ends);
}

#endif
