// What an mm_ampo is made of.

#ifndef MM_AGENT_AMPO_INTERNAL_H
#define MM_AGENT_AMPO_INTERNAL_H

#include "agent/ampo.h"
#include "base/arena.h"
#include "base/rng.h"

struct mm_ampo {
  mm_ampo_config config;
  const mm_map *map;
  uint64_t seed;
  uint32_t repeat;
  mm_net_learn_config learn;
  mm_vec *vec;
  mm_net *net;
  mm_vec_info info;
  size_t n_env, n_step, n_row; // N, T, T N
  size_t row_size;             // bytes of an observation
  bool lists;                  // observations are lists of inputs, not floats
  int64_t iteration;           // done
  mm_ampo_report last;
  double seconds[3]; // rollout, value, update

  unsigned char *now; // [N] observations that the next iteration begins with

  // the batch; its memory is taken by the first iteration
  unsigned char *obs;        // [T + 1][N] observations
  unsigned char *final_obs;  // [N] of episodes that ended in this step; for bootstrap_on_timeout
  int32_t *action;           // [T][N]
  float *policy;             // [T][N] z, or the logarithm of the probability
  float *reward;             // [T][N]
  uint8_t *end;              // [T][N]
  float *value;              // [T + 1][N]
  float *advantage, *target; // [T][N]
  uint32_t *row;             // [T][N] a shuffle of all rows

  // of one step
  float *scores, *probs; // [N][|A|]
  float *lambda;         // [N]
  mm_block *uniform;     // [N] four steps share a block

  // of the episodes
  float *running;  // [N] return so far
  float *finished; // [N] return of the last one that ended, 0 before

  float *tensor; // as large as the largest tensor, for states
  mm_arena arena, batch_arena;
};

#endif
