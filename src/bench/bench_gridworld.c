// SPDX-License-Identifier: Apache-2.0
// Speed of tabular PMD on Grid-Worlds: whole runs with the paper's settings, on one thread, split
// into rollouts, updates and the exact value at the end; medians over instances.
//
// Two parts have a floor that can be counted: a rollout needs its random numbers, one Philox block
// for four actions and up to three for what an environment does in a step; an update needs an
// exponential per visited state, action and epoch. How many these are is known from what each
// iteration visited; what one costs is measured beside each map's runs.

#include <math.h>
#include <stdio.h>

#include "agent/pmd.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/status.h"
#include "bench/bench.h"
#include "env/grid/grid_model.h"
#include "env/grid/grid_task.h"
#include "map/batch.h"
#include "map/map_internal.h"

enum { A = MM_GRID_ACTIONS, MOST_SEEDS = 16, N_NUMBER = 4096, N_BLOCK = 4096 };

typedef struct configuration {
  const char *name;
  int seeds; // instances whose median counts
} configuration;

static const configuration configurations[] = {
  { "all", MOST_SEEDS }, { "dense", 5 },         { "sparse", 5 },
  { "long", 5 },         { "sixteen_rooms", 5 }, { "labyrinth", 5 },
};
static const char *const maps[] = { "negentropy", "l2", "neural" };
enum {
  CONFIGURATIONS = sizeof configurations / sizeof *configurations,
  MAPS = sizeof maps / sizeof *maps
};

// ---------------------------------------------------------------------------------------------
// The machine's own figures

typedef struct floor_work {
  const mm_map *negentropy;          // its phi is exp
  double x[N_NUMBER], y[N_NUMBER];   // exponents as logits have them, and what comes out
  uint32_t word;                     // keeps the blocks from being left out
  double exp_seconds, block_seconds; // of one
} floor_work;

static mm_status make_exponentials(void *context) {
  floor_work *w = context;
  mm_map_kernels_current()->phi_d(&w->negentropy->engine, w->x, N_NUMBER, w->y);
  return MM_OK;
}

static mm_status make_blocks(void *context) {
  floor_work *w = context;
  mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 2);
  uint32_t word = w->word;
  for (uint64_t i = 0; i < N_BLOCK; i++) {
    mm_block b = mm_stream_block(stream, i);
    word ^= b.word[0] ^ b.word[1] ^ b.word[2] ^ b.word[3];
  }
  w->word = word;
  return MM_OK;
}

static mm_status measure_floor(floor_work *w) {
  MM_TRY(mm_bench_seconds(make_exponentials, w, &w->exp_seconds));
  MM_TRY(mm_bench_seconds(make_blocks, w, &w->block_seconds));
  w->exp_seconds /= N_NUMBER;
  w->block_seconds /= N_BLOCK;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// One run

// Seconds of the parts; blocks and exponentials that it needed.
enum { ALL, ROLLOUT, UPDATE, EXACT, PARTS, BLOCKS = PARTS, EXPONENTIALS, NUMBERS };
typedef struct timing {
  double of[NUMBERS];
} timing;

// Blocks that grid_sample.h makes in a step from `state` with action a.
static int blocks_of_step(const mm_grid *g, int32_t state, int a) {
  uint32_t mask = (uint32_t)(state / g->cells), absent = ~mask & ((1u << g->n_object) - 1);
  int32_t i = g->object_at[g->next[state % g->cells * A + a]];
  bool collects = i >= 0 && (mask >> i & 1);
  return (absent || collects) + (absent >> 3 != 0) + (absent >> 7 != 0);
}

static void count(const mm_grid *g, const mm_pmd_config *config, const mm_pmd *pmd, timing *out) {
  mm_pmd_batch batch = mm_pmd_last_batch(pmd);
  out->of[EXPONENTIALS] += config->epochs * A * batch.n_visited;
  out->of[BLOCKS] += config->envs * ceil(config->unroll / 4);
  for (int32_t i = 0; i < batch.n_visited; i++)
    for (int a = 0; a < A; a++)
      out->of[BLOCKS] += batch.visits[i * A + a] * blocks_of_step(g, batch.state[i], a);
}

typedef struct run {
  mm_grid *grid;
  mm_grid_model *model;
  mm_pmd *pmd;
  double *policy; // [5][n_state], followed by the values [n_state]
} run;

static mm_status run_open(const mm_job *job, run *r) {
  const mm_pmd_config *config = job->config;
  *r = (run){ 0 };
  MM_TRY(mm_grid_draw(job->env, job->seed, 0, &r->grid));
  MM_TRY(mm_grid_model_create(r->grid, config->gamma, config->restart, &r->model));
  MM_TRY(mm_pmd_create(r->grid, job->map, config, job->seed, job->repeat, &r->pmd));
  size_t states = (size_t)r->grid->n_state;
  r->policy = mm_alloc_array(states * (A + 1), sizeof *r->policy);
  if (!r->policy) return MM_FAIL(MM_ERR_MEMORY, "no memory for a policy of %zu states", states);
  for (size_t s = 0; s < states; s++)
    r->policy[states * A + s] = 0;
  return MM_OK;
}

static void run_close(run *r) {
  mm_free(r->policy);
  mm_pmd_destroy(r->pmd);
  mm_grid_model_destroy(r->model);
  mm_grid_destroy(r->grid);
}

// What `train` does for a seed; counting is not timed.
static mm_status time_run(const mm_job *job, run *r, timing *out) {
  double start = mm_clock_seconds(), *seconds = out->of;
  MM_TRY(run_open(job, r));
  double opened = mm_clock_seconds() - start;
  for (int64_t t = mm_pmd_iterations(job->config); t > 0; t--) {
    MM_TRY(mm_pmd_iterate(r->pmd));
    count(r->grid, job->config, r->pmd, out);
  }
  start = mm_clock_seconds();
  mm_pmd_policy(r->pmd, r->policy);
  MM_TRY(mm_grid_value(r->model, r->policy, r->policy + A * r->grid->n_state, NULL));
  seconds[EXACT] = mm_clock_seconds() - start;
  mm_pmd_seconds(r->pmd, &seconds[ROLLOUT], &seconds[UPDATE]);
  seconds[ALL] = opened + seconds[ROLLOUT] + seconds[UPDATE] + seconds[EXACT];
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

static double median_of(const timing *runs, int n, int which, double scale) {
  double numbers[MOST_SEEDS];
  for (int i = 0; i < n; i++)
    numbers[i] = scale * runs[i].of[which];
  return mm_bench_median(numbers, (size_t)n);
}

static void report(mm_bench *b, const floor_work *w, const mm_pmd_config *config, const char *name,
                   const timing *runs, int n) {
  static const char *const part_names[PARTS] = { "run", "rollout", "update", "value" };
  const double limit[PARTS] = {
    [ALL] = NAN,
    [ROLLOUT] = median_of(runs, n, BLOCKS, 1e3 * w->block_seconds),
    [UPDATE] = median_of(runs, n, EXPONENTIALS, 1e3 * w->exp_seconds),
    [EXACT] = NAN,
  };
  for (int part = 0; part < PARTS; part++)
    mm_bench_add(b, median_of(runs, n, part, 1e3), "ms", limit[part], "%s/%s", name,
                 part_names[part]);
  const double steps = (double)mm_pmd_iterations(config) * config->envs * config->unroll;
  mm_bench_add(b, steps / median_of(runs, n, ALL, 1), "steps/s", NAN, "%s/steps", name);
}

// Costs of the floor are taken anew for each map: a busy machine's speed drifts within seconds.
static mm_status measure(mm_bench *b, floor_work *w, const configuration *c, const mm_env *env,
                         const char *map_name, const mm_map *map) {
  const mm_pmd_config config = mm_pmd_config_default();
  char name[40];
  timing runs[MOST_SEEDS] = { 0 };
  snprintf(name, sizeof name, "gridworld/%s/%s", c->name, map_name);
  mm_bench_begin(b, "%s", name);
  MM_TRY(measure_floor(w));
  for (int i = 0; i < c->seeds; i++) {
    run r;
    mm_job job = {
      .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = (uint64_t)i
    };
    mm_status status = time_run(&job, &r, &runs[i]);
    run_close(&r);
    MM_TRY(status);
  }
  report(b, w, &config, name, runs, c->seeds);
  return MM_OK;
}

static mm_status measure_configuration(mm_bench *b, floor_work *w, const configuration *c) {
  char id[64];
  mm_env *env;
  snprintf(id, sizeof id, "GridWorld-%s", c->name);
  MM_TRY(mm_env_open(id, &env));
  mm_status status = MM_OK;
  for (size_t i = 0; i < MAPS && status == MM_OK; i++) {
    mm_map *map;
    status = mm_map_open(maps[i], &map);
    if (status == MM_OK) status = measure(b, w, c, env, maps[i], map);
    mm_map_destroy(map);
  }
  mm_env_destroy(env);
  return status;
}

static mm_status measure_all(mm_bench *b, floor_work *w) {
  MM_TRY(measure_floor(w));
  mm_bench_add(b, 1e9 * w->block_seconds, "ns", NAN, "gridworld/philox-block");
  mm_bench_add(b, 1e9 * w->exp_seconds, "ns", NAN, "gridworld/exp");
  for (size_t i = 0; i < CONFIGURATIONS; i++)
    MM_TRY(measure_configuration(b, w, &configurations[i]));
  return MM_OK;
}

mm_status mm_bench_gridworld(mm_bench *b) {
  const mm_stream numbers = mm_stream_make(0, 0, MM_RNG_BENCH, 0);
  mm_map *negentropy;
  MM_TRY(mm_map_open("negentropy", &negentropy));
  floor_work w = { .negentropy = negentropy };
  for (size_t i = 0; i < N_NUMBER; i++)
    w.x[i] = -8 * mm_uniform_open_d(mm_stream_pair(numbers, i));
  mm_status status = measure_all(b, &w);
  mm_map_destroy(negentropy);
  return status;
}
