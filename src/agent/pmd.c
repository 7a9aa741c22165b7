// SPDX-License-Identifier: Apache-2.0
// Tabular PMD (paper, eq:singleup; docs/gridworld.md). Per iteration: N environments take T steps
// with the current policy, GAE estimates advantages, and gradient steps on
//   J = mean_k [ eta Ahat_k pi(a_k|s_k) / pi^t(a_k|s_k) - D_h(pi(.|s_k), pi^t(.|s_k)) ]
// move the logits of the visited states. Only sums per (state, action) enter, so nothing is kept
// per sample beyond the advantages; the value table's epochs have a closed form.
//
// Everything is double. No call allocates after creation, but for maps that move.

#include "agent/pmd.h"

#include <math.h>
#include <string.h>

#include "agent/learner.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/isa.h"
#include "base/rng.h"
#include "base/status.h"
#include "env/grid/grid_sample.h"
#include "laws/gae.h"
#include "laws/schedule.h"
#include "map/map_internal.h"

enum { A = MM_GRID_ACTIONS };

struct mm_pmd {
  const mm_grid *grid;
  const mm_map *map;
  mm_map_now now; // the map of the iteration
  mm_pmd_config config;
  uint64_t seed;
  uint32_t repeat;
  int64_t step;          // steps every environment has done
  int32_t n_env, unroll; // N, T
  int32_t n_batch;       // N T
  double eta;            // of the iteration

  double *theta;      // [n_state][5] logits
  double *pi;         // [n_state][5] their softmax
  double *cumulative; // [n_state][4] sums of pi up to each action but the last
  double *value;      // [n_state] critic
  int32_t *slot;      // [n_state] place in the list of visited states, or -1

  mm_grid_sampler sampler;
  mm_grid_state *env; // [N]
  mm_block *uniform;  // [N] words for the choices of four steps
  int32_t *state;     // [T][N] index in the list of visited states
  uint8_t *action;    // [T][N]
  uint8_t *done;      // [T][N]
  double *reward;     // [T][N]
  double *advantage;  // [T][N]

  int32_t n_visited;
  int32_t *visited;    // [most] states in order of first visit
  double *visits;      // [most][5]
  double *raw_sum;     // [most][5]
  double *gain;        // [most][5] sums of normalised advantages
  double *target;      // [most] sums of value targets
  double *critic;      // [most]
  mm_pmd_block *block; // [most / lanes]
  double std;
  bool degenerate;
  double seconds_rollout, seconds_update;
  mm_arena arena;
};

int64_t mm_pmd_iterations(const mm_pmd_config *config) {
  return (int64_t)(config->steps / (config->envs * config->unroll));
}

// ---------------------------------------------------------------------------------------------
// Creation

mm_status mm_pmd_check(const mm_map *map, const mm_pmd_config *config) {
  MM_TRY(mm_learner_check(mm_learner_of(MM_ALGO_PMD), config));
  if (config->envs * config->unroll > 1 << 26)
    return MM_FAIL(MM_ERR_INPUT, "envs * unroll = %g: expected at most 2^26 samples an iteration",
                   config->envs * config->unroll);
  if (mm_pmd_iterations(config) < 1)
    return MM_FAIL(MM_ERR_INPUT, "steps = %g: expected at least envs * unroll = %g", config->steps,
                   config->envs * config->unroll);
  if (!map->finite)
    return MM_FAIL(MM_ERR_INPUT, "map: phi^-1 is not finite on (0, 1]: it cannot train a policy");
  return MM_OK;
}

// Takes all arrays from the arena, or only adds up their sizes when it has no memory yet.
static size_t layout(mm_pmd *p) {
  size_t states = (size_t)p->grid->n_state, batch = (size_t)p->n_batch, n = (size_t)p->n_env;
  size_t most = states < batch ? states : batch;
  size_t blocks = (most + MM_PMD_LANES - 1) / MM_PMD_LANES, total = 0;
#define TAKE(field, count)                                                                         \
  total += mm_arena_size_of((count) * sizeof *p->field);                                           \
  if (p->arena.block) p->field = mm_arena_take(&p->arena, (count) * sizeof *p->field)
  TAKE(theta, states * A);
  TAKE(pi, states * A);
  TAKE(cumulative, states * 4);
  TAKE(value, states);
  TAKE(slot, states);
  TAKE(env, n);
  TAKE(state, batch);
  TAKE(action, batch);
  TAKE(done, batch);
  TAKE(reward, batch);
  TAKE(advantage, batch);
  TAKE(uniform, n);
  TAKE(visited, most);
  TAKE(visits, most * A);
  TAKE(raw_sum, most * A);
  TAKE(gain, most * A);
  TAKE(target, most);
  TAKE(critic, most);
  TAKE(block, blocks);
#undef TAKE
  return total;
}

// Sums for choosing an action, after pi has changed.
static void accumulate(mm_pmd *p, int32_t s) {
  const double *pi = p->pi + (size_t)s * A;
  double *c = p->cumulative + (size_t)s * 4;
  c[0] = pi[0];
  for (int a = 1; a < 4; a++)
    c[a] = c[a - 1] + pi[a];
}

mm_status mm_pmd_create(const mm_grid *grid, const mm_map *map, const mm_pmd_config *config,
                        uint64_t seed, uint32_t repeat, mm_pmd **out) {
  *out = NULL;
  MM_TRY(mm_pmd_check(map, config));
  mm_pmd *p = mm_alloc(sizeof *p);
  if (!p) return MM_FAIL(MM_ERR_MEMORY, "no memory for an agent");
  memset(p, 0, sizeof *p);
  p->grid = grid;
  p->map = map;
  p->config = *config;
  p->seed = seed;
  p->repeat = repeat;
  p->n_env = (int32_t)config->envs;
  p->unroll = (int32_t)config->unroll;
  p->n_batch = p->n_env * p->unroll;
  p->sampler = mm_grid_sampler_make(grid);
  mm_status status = mm_arena_create(layout(p), &p->arena);
  if (status != MM_OK) {
    mm_free(p);
    return status;
  }
  layout(p);
  for (int32_t s = 0; s < grid->n_state; s++) {
    p->slot[s] = -1;
    for (int a = 0; a < A; a++)
      p->pi[s * A + a] = 1.0 / A;
    accumulate(p, s);
  }
  for (int32_t e = 0; e < p->n_env; e++)
    p->env[e] = mm_grid_start(grid);
  *out = p;
  return MM_OK;
}

void mm_pmd_destroy(mm_pmd *pmd) {
  if (!pmd) return;
  mm_map_now_release(&pmd->now);
  mm_arena_destroy(&pmd->arena);
  mm_free(pmd);
}

// ---------------------------------------------------------------------------------------------
// One iteration

// The state's place in the list of visited states; a new one starts with empty sums.
static int32_t visit(mm_pmd *p, int32_t s) {
  int32_t i = p->slot[s];
  if (i >= 0) return i;
  i = p->slot[s] = p->n_visited++;
  p->visited[i] = s;
  p->target[i] = 0;
  p->critic[i] = p->value[s];
  for (int a = 0; a < A; a++)
    p->visits[i * A + a] = p->raw_sum[i * A + a] = p->gain[i * A + a] = 0;
  return i;
}

// The action whose share of [0, 1) holds u. Counting is free of branches, which a policy's choices
// would defeat; an action without probability is never the answer.
static int choose(const mm_pmd *p, int32_t s, double u) {
  const double *c = p->cumulative + (size_t)s * 4;
  int a = (u >= c[0]) + (u >= c[1]) + (u >= c[2]) + (u >= c[3]);
  return p->pi[(size_t)s * A + (size_t)a] > 0 ? a : mm_categorical_d(u, p->pi + (size_t)s * A, A);
}

// T steps of all environments. Time is the outer loop: neighbouring iterations are then of
// different environments and do not wait for each other.
static void rollout(mm_pmd *p) {
  const mm_grid *g = p->grid;
  for (int32_t t = 0; t < p->unroll; t++) {
    uint64_t step = (uint64_t)(p->step + t);
    for (int32_t e = 0; e < p->n_env; e++) {
      mm_stream choices = mm_stream_make(p->seed, p->repeat, MM_RNG_ACTION, (uint32_t)e);
      mm_stream outcomes = mm_stream_make(p->seed, p->repeat, MM_RNG_ENV_STEP, (uint32_t)e);
      int32_t k = t * p->n_env + e;
      // four steps share a block: word (step mod 4) of block step / 4
      if (t == 0 || step % 4 == 0) p->uniform[e] = mm_stream_block(choices, step / 4);
      mm_grid_state s = p->env[e];
      int32_t index = mm_grid_index(g, s);
      int a = choose(p, index, p->uniform[e].word[step % 4] * 0x1p-32);
      mm_grid_event event = mm_grid_step(g, &p->sampler, outcomes, step, a, &s);
      p->state[k] = visit(p, index);
      p->action[k] = (uint8_t)a;
      p->reward[k] = event.reward;
      p->done[k] = (uint8_t)event.done;
      p->env[e] = event.done ? mm_grid_start(g) : s;
    }
  }
  p->step += p->unroll;
}

// Generalised advantage estimation, backwards through each environment's steps. After an end the
// next state is the start state: masked when absorbing, simply next when restarting.
static void estimate(mm_pmd *p) {
  double gamma = p->config.gamma, decay = gamma * p->config.gae_lambda;
  for (int32_t e = 0; e < p->n_env; e++) {
    double next = p->value[mm_grid_index(p->grid, p->env[e])], carried = 0;
    for (int32_t t = p->unroll; t-- > 0;) {
      int32_t k = t * p->n_env + e, i = p->state[k];
      double alive = p->done[k] && !p->config.restart ? 0 : 1, v = p->critic[i];
      double delta = mm_gae_delta_d(gamma, alive, p->reward[k], v, next);
      carried = mm_gae_advantage_d(decay, alive, delta, carried);
      p->advantage[k] = carried;
      p->target[i] += carried + v;
      p->raw_sum[i * A + p->action[k]] += carried;
      p->visits[i * A + p->action[k]] += 1;
      next = v;
    }
  }
}

// Mean and standard deviation of the batch in two passes; a batch without spread has no signal.
static void normalise(mm_pmd *p) {
  double n = p->n_batch, mean = 0, square = 0, largest = 0;
  for (int32_t k = 0; k < p->n_batch; k++)
    mean += p->advantage[k];
  mean /= n;
  for (int32_t k = 0; k < p->n_batch; k++) {
    double d = p->advantage[k] - mean;
    square = fma(d, d, square);
    largest = fmax(largest, fabs(p->advantage[k]));
  }
  p->std = sqrt(square / n);
  bool on = p->config.normalise_advantage;
  p->degenerate = on && p->std < 1e-6 * (1 + largest);
  double shift = on ? mean : 0, scale = p->degenerate ? 0 : on ? 1 / (p->std + 1e-8) : 1;
  for (int32_t k = 0; k < p->n_batch; k++)
    p->gain[p->state[k] * A + p->action[k]] += (p->advantage[k] - shift) * scale;
}

static double visits_of(const mm_pmd *p, int32_t i) {
  const double *n = p->visits + i * A;
  return ((n[0] + n[1]) + (n[2] + n[3])) + n[4];
}

static void fill_block(mm_pmd *p, int32_t first, mm_pmd_block *b) {
  memset(b, 0, sizeof *b);
  for (int32_t l = 0; l < MM_PMD_LANES && first + l < p->n_visited; l++) {
    int32_t i = first + l, s = p->visited[i];
    double n = visits_of(p, i);
    b->weight[l] = p->config.lr * n / p->n_batch;
    for (int a = 0; a < A; a++) {
      b->theta[a * MM_PMD_LANES + l] = p->theta[s * A + a];
      if (p->visits[i * A + a] > 0)
        b->gain[a * MM_PMD_LANES + l] = p->eta * p->gain[i * A + a] / (n * p->pi[s * A + a]);
    }
  }
}

// All blocks' epochs; false when a logit is no longer finite.
static bool improve(mm_pmd *p) {
  const mm_pmd_kernels *kernels = mm_pmd_kernels_current();
  bool finite = true;
  for (int32_t first = 0; first < p->n_visited; first += MM_PMD_LANES) {
    mm_pmd_block *b = p->block + first / MM_PMD_LANES;
    fill_block(p, first, b);
    kernels->epochs(&p->now.map->engine, (int)p->config.epochs, b);
    for (int k = 0; k < MM_PMD_ENTRIES; k++)
      finite &= isfinite(b->theta[k]) != 0;
  }
  return finite;
}

// The new logits (shifted to a mean of 0, which changes no policy and keeps them small), policy and
// values take effect. The critic's full-batch epochs on fixed targets: v = T + f^epochs (v - T).
static void commit(mm_pmd *p) {
  for (int32_t i = 0; i < p->n_visited; i++) {
    int32_t s = p->visited[i];
    const mm_pmd_block *b = p->block + i / MM_PMD_LANES;
    const double *theta = b->theta + i % MM_PMD_LANES, *pi = b->pi + i % MM_PMD_LANES;
    double mean = 0;
    for (int a = 0; a < A; a++)
      mean += theta[a * MM_PMD_LANES] / A;
    for (int a = 0; a < A; a++) {
      p->theta[s * A + a] = theta[a * MM_PMD_LANES] - mean;
      p->pi[s * A + a] = pi[a * MM_PMD_LANES];
    }
    accumulate(p, s);
    double n = visits_of(p, i), target = p->target[i] / n;
    double f = fmax(1 - 2 * p->config.critic_lr * n / p->n_batch, 0), kept = 1;
    for (int epoch = 0; epoch < (int)p->config.epochs && kept > 0; epoch++)
      kept *= f;
    p->value[s] = fma(kept, p->value[s] - target, target);
  }
}

mm_status mm_pmd_iterate(mm_pmd *p) {
  double start = mm_clock_seconds();
  for (int32_t i = 0; i < p->n_visited; i++)
    p->slot[p->visited[i]] = -1;
  p->n_visited = 0;
  const int64_t t = p->step / p->unroll, n = mm_pmd_iterations(&p->config);
  MM_TRY(mm_map_now_at(p->map, t, n, &p->now));
  p->eta = p->config.eta * mm_factor_at(p->config.eta_schedule, t, n);
  rollout(p);
  double rolled = mm_clock_seconds();
  estimate(p);
  normalise(p);
  bool finite = improve(p);
  if (finite) commit(p);
  p->seconds_rollout += rolled - start;
  p->seconds_update += mm_clock_seconds() - rolled;
  if (finite) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "a logit is not finite after step %lld",
                 (long long)(p->step * p->n_env));
}

// ---------------------------------------------------------------------------------------------

void mm_pmd_policy(const mm_pmd *p, double *policy) {
  for (int a = 0; a < A; a++)
    for (int32_t s = 0; s < p->grid->n_state; s++)
      policy[(size_t)a * (size_t)p->grid->n_state + (size_t)s] = p->pi[s * A + a];
}

const double *mm_pmd_critic(const mm_pmd *p) {
  return p->value;
}

mm_pmd_batch mm_pmd_last_batch(const mm_pmd *p) {
  mm_pmd_batch batch = { p->n_visited, p->visited, p->visits,    p->raw_sum,
                         p->critic,    p->std,     p->degenerate };
  return batch;
}

void mm_pmd_seconds(const mm_pmd *p, double *rollout_seconds, double *update_seconds) {
  *rollout_seconds = p->seconds_rollout;
  *update_seconds = p->seconds_update;
}

// ---------------------------------------------------------------------------------------------
// The build of pmd_update.c that fits the CPU

MM_ISA_CHOOSE(const mm_pmd_kernels, mm_pmd_kernels)
