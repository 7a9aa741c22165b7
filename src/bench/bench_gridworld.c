// Speed of tabular PMD on Grid-Worlds: whole runs with the paper's settings, on one thread, split
// into rollouts, updates and the exact value at the end.
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

enum { ALL, ROLLOUT, UPDATE, EXACT, PARTS };

typedef struct timing {
  double seconds[PARTS];
  double blocks, exponentials; // it needed
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
  out->exponentials += config->epochs * A * batch.n_visited;
  out->blocks += config->envs * ceil(config->unroll / 4);
  for (int32_t i = 0; i < batch.n_visited; i++)
    for (int a = 0; a < A; a++)
      out->blocks += batch.visits[i * A + a] * blocks_of_step(g, batch.state[i], a);
}

typedef struct run {
  mm_grid *grid;
  mm_grid_model *model;
  mm_pmd *pmd;
  double *policy; // [5][n_state], followed by the values [n_state]
} run;

static mm_status run_open(const mm_job *job, run *r) {
  *r = (run){ 0 };
  MM_TRY(mm_grid_draw(job->env, job->seed, 0, &r->grid));
  MM_TRY(mm_grid_model_create(r->grid, job->pmd->gamma, job->pmd->restart, &r->model));
  MM_TRY(mm_pmd_create(r->grid, job->map, job->pmd, job->seed, job->repeat, &r->pmd));
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
  double start = mm_clock_seconds(), *seconds = out->seconds;
  MM_TRY(run_open(job, r));
  double opened = mm_clock_seconds() - start;
  for (int64_t t = mm_pmd_iterations(job->pmd); t > 0; t--) {
    MM_TRY(mm_pmd_iterate(r->pmd));
    count(r->grid, job->pmd, r->pmd, out);
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

typedef struct bench {
  mm_bench_results *results;
  mm_bench_progress *progress;
  void *user;
  mm_pmd_config config;
  floor_work floor;
} bench;

static mm_status report(bench *b, const char *name, const timing *runs, int n) {
  static const char *const part_names[PARTS] = { "run", "rollout", "update", "value" };
  double numbers[MOST_SEEDS], limit[PARTS] = { NAN, NAN, NAN, NAN }, whole = 0;
  char text[64];
  for (int i = 0; i < n; i++)
    numbers[i] = 1e3 * runs[i].blocks * b->floor.block_seconds;
  limit[ROLLOUT] = mm_bench_median(numbers, (size_t)n);
  for (int i = 0; i < n; i++)
    numbers[i] = 1e3 * runs[i].exponentials * b->floor.exp_seconds;
  limit[UPDATE] = mm_bench_median(numbers, (size_t)n);
  for (int part = 0; part < PARTS; part++) {
    for (int i = 0; i < n; i++)
      numbers[i] = 1e3 * runs[i].seconds[part];
    double middle = mm_bench_median(numbers, (size_t)n);
    if (part == ALL) whole = 1e-3 * middle;
    snprintf(text, sizeof text, "%s/%s", name, part_names[part]);
    MM_TRY(mm_bench_add(b->results, text, middle, "ms", limit[part]));
  }
  double steps = (double)mm_pmd_iterations(&b->config) * b->config.envs * b->config.unroll;
  snprintf(text, sizeof text, "%s/steps", name);
  return mm_bench_add(b->results, text, steps / whole, "steps/s", NAN);
}

// Costs of the floor are taken anew for each map: a busy machine's speed drifts within seconds.
static mm_status measure(bench *b, const configuration *c, const mm_env *env, const char *map_name,
                         const mm_map *map) {
  char name[40];
  timing runs[MOST_SEEDS] = { 0 };
  snprintf(name, sizeof name, "gridworld/%s/%s", c->name, map_name);
  if (b->progress) b->progress(name, b->user);
  MM_TRY(measure_floor(&b->floor));
  for (int i = 0; i < c->seeds; i++) {
    run r;
    mm_job job = { .env = env, .map = map, .pmd = &b->config, .seed = (uint64_t)i };
    mm_status status = time_run(&job, &r, &runs[i]);
    run_close(&r);
    MM_TRY(status);
  }
  return report(b, name, runs, c->seeds);
}

static mm_status measure_configuration(bench *b, const configuration *c) {
  char id[64];
  mm_env *env;
  snprintf(id, sizeof id, "GridWorld-%s", c->name);
  MM_TRY(mm_env_open(id, &env));
  mm_status status = MM_OK;
  for (size_t i = 0; i < MAPS && status == MM_OK; i++) {
    mm_map *map;
    status = mm_map_open(maps[i], &map);
    if (status == MM_OK) status = measure(b, c, env, maps[i], map);
    mm_map_destroy(map);
  }
  mm_env_destroy(env);
  return status;
}

static mm_status measure_all(bench *b) {
  MM_TRY(measure_floor(&b->floor));
  double block = 1e9 * b->floor.block_seconds, exponential = 1e9 * b->floor.exp_seconds;
  MM_TRY(mm_bench_add(b->results, "gridworld/philox-block", block, "ns", NAN));
  MM_TRY(mm_bench_add(b->results, "gridworld/exp", exponential, "ns", NAN));
  for (size_t i = 0; i < CONFIGURATIONS; i++)
    MM_TRY(measure_configuration(b, &configurations[i]));
  return MM_OK;
}

mm_status mm_bench_gridworld(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  mm_map *negentropy;
  MM_TRY(mm_map_open("negentropy", &negentropy));
  bench *b = mm_alloc(sizeof *b);
  mm_status status = MM_OK;
  if (b) {
    *b = (bench){ .results = results, .progress = progress, .user = user };
    b->config = mm_pmd_config_default();
    b->floor.negentropy = negentropy;
    mm_stream numbers = mm_stream_make(0, 0, MM_RNG_BENCH, 0);
    for (size_t i = 0; i < N_NUMBER; i++)
      b->floor.x[i] = -8 * mm_uniform_open_d(mm_stream_pair(numbers, i));
    mm_bench_core core = mm_bench_core_hold();
    status = measure_all(b);
    mm_bench_core_release(&core);
  } else {
    status = MM_FAIL(MM_ERR_MEMORY, "benchmark inputs: out of memory");
  }
  mm_free(b);
  mm_map_destroy(negentropy);
  return status;
}
