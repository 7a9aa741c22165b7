// Speed of a CUDA device: whole trainings through the backend, as a generation of a search has
// them, beside what the device does when it does nothing but arithmetic.
//
// Operations are counted as on the processor (bench_training.c), dense: the kernels multiply all of
// the first layer. The sparse count says what would be needed.

#include <math.h>
#include <stdio.h>

#include "backend/cuda/host/cuda.h"
#include "backend/cuda/measure/cuda_probe.h"
#include "backend/cuda/measure/cuda_profile.h"
#include "base/clock.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "study/settings/settings.h"

enum { DEVICE = 0, POPULATIONS = 3, PROFILED = 4, GRID_REPEATS = 3 };

typedef struct subject {
  const char *env, *preset;
  mm_algo algo;
  double on;    // inputs that are on, on average (0: inputs are numbers)
  double steps; // of a training: the paper's, of its first phase, or some of them
  double jax;   // steps a second of the paper's stack on an H200, population 128; or NaN
} subject;

static const subject subjects[] = {
  { "CartPole-v1", "bcs", MM_ALGO_AMPO, 0, 5e5, 3.98e6 },
  { "Acrobot-v1", "bcs", MM_ALGO_AMPO, 0, 5e5, 3.75e6 },
  { "Asterix-MinAtar", "minatar", MM_ALGO_AMPO, 10, 1e6, 13.0e6 },
  { "Breakout-MinAtar", "minatar", MM_ALGO_AMPO, 33, 1e6, NAN },
  { "Freeway-MinAtar", "minatar", MM_ALGO_AMPO, 17, 1e6, 10.5e6 },
  { "SpaceInvaders-MinAtar", "minatar", MM_ALGO_AMPO, 44, 1e6, 11.6e6 },
  { "Seaquest-MinAtar", "minatar", MM_ALGO_AMPO, 13, 1e6, NAN },
  { "Hopper", "mujoco", MM_ALGO_GAUSSIAN, 0, 163840, NAN },
};

// ---------------------------------------------------------------------------------------------
// A generation: members with a map each, as a search draws them at its start

typedef struct generation {
  mm_env *env;
  mm_settings settings;
  size_t most;       // members
  double *z;         // [most][search size of the maps]
  mm_job *job;       // [most]
  mm_result *result; // [most]
} generation;

static void close_generation(generation *g) {
  mm_env_destroy(g->env);
  mm_free(g->z);
  mm_free(g->job);
  mm_free(g->result);
}

static mm_status draw_maps(generation *g) {
  const mm_map_kind kind = mm_search_map_kind(&g->settings.search);
  const size_t n = (size_t)g->settings.search.n, size = mm_map_search_size(kind, n);
  const double sigma = mm_search_es(&g->settings.search, 0).sigma;
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 20);
  g->z = mm_alloc_array(g->most * size, sizeof *g->z);
  if (!g->z) return MM_FAIL(MM_ERR_MEMORY, "benchmark: out of memory");
  for (size_t i = 0; i < g->most; i++) {
    double *z = g->z + i * size;
    MM_TRY(mm_map_search_initial(kind, n, z));
    for (size_t k = 0; k < size; k++)
      z[k] += sigma * (double)mm_normal_f(mm_stream_block(stream, i * size + k).word[0]);
    g->job[i] = (mm_job){ .env = g->env, .seed = i / 2, .point = { kind, n, z } };
    mm_settings_bind(&g->settings, &g->job[i]);
  }
  return MM_OK;
}

static mm_status open_generation(generation *g, const char *env, size_t most) {
  g->most = most;
  MM_TRY(mm_env_open(env, &g->env));
  g->job = mm_alloc_array(most, sizeof *g->job);
  g->result = mm_alloc_array(most, sizeof *g->result);
  if (!g->job || !g->result) return MM_FAIL(MM_ERR_MEMORY, "benchmark: out of memory");
  return draw_maps(g);
}

// What a generation took.
typedef struct timing {
  double seconds, steps;
  size_t broken; // trainings that ended early
} timing;

// The first n members. Maps as wild as some of a first generation are may break down, in the first
// iteration too: that is counted, and no failure.
static mm_status time_generation(generation *g, size_t n, timing *out) {
  static const int device[] = { DEVICE };
  mm_backend_report report;
  const mm_backend_config backend = {
    .place = { .kind = MM_BACKEND_CUDA, .devices = device, .n_device = 1 }, .report = &report
  };
  const double start = mm_clock_seconds();
  mm_status status = mm_backend_run(&backend, g->job, n, g->result);
  *out = (timing){ .seconds = mm_clock_seconds() - start };
  size_t failed = 0;
  for (size_t i = 0; i < n; i++) {
    const mm_status one = g->result[i].status;
    out->steps += (double)g->result[i].env_steps;
    out->broken += one == MM_ERR_NUMERIC;
    failed += one != MM_OK && one != MM_ERR_NUMERIC;
    mm_result_release(&g->result[i]);
  }
  if (status == MM_OK && failed > 0)
    return MM_FAIL(MM_ERR_DEVICE, "%zu of %zu trainings failed: %s", failed, n, report.error);
  return status;
}

// ---------------------------------------------------------------------------------------------
// AMPO

typedef struct measurement {
  mm_bench *b;
  const subject *subject;
  mm_cuda_device device;
  mm_cuda_peak peak;
  mm_ampo_shape shape;
  generation g;
} measurement;

// A figure of the subject, of one population or (0) of all.
static void add(const measurement *m, size_t population, const char *part, double value,
                const char *unit, double limit) {
  char of[24] = "";
  if (population > 0) snprintf(of, sizeof of, "%zu/", population);
  mm_bench_add(m->b, value, unit, limit, "cuda/%s/%s%s", m->subject->env, of, part);
}

static void set_iterations(measurement *m, double iterations) {
  mm_ampo_config *c = &m->g.settings.ampo;
  c->steps = iterations * c->envs * c->unroll;
}

// One iteration first, of as many agents as there are places.
static mm_status warm_up(measurement *m) {
  timing t;
  set_iterations(m, 1);
  MM_TRY(time_generation(&m->g, (size_t)m->device.processors, &t));
  add(m, 0, "warm-up", t.seconds, "s", NAN);
  return MM_OK;
}

static void add_rates(measurement *m, size_t population, double steps) {
  const mm_ampo_config *c = &m->g.settings.ampo;
  mm_ampo_shape dense = m->shape, sparse = m->shape;
  dense.lists = false;
  sparse.inputs_on = m->subject->on;
  const double work = mm_bench_step_work(c, &dense);
  add(m, population, "steps", steps, "steps/s", m->peak.fma / work);
  if (population == 128) mm_bench_refer(m->b, m->subject->jax);
  const double tera = 1e-12 * steps;
  add(m, population, "dense-of-fp32", tera * work, "TFLOP/s", 1e-12 * m->peak.fma);
  add(m, population, "dense-of-fp16", tera * work, "TFLOP/s", 1e-12 * m->peak.tensor);
  if (m->shape.lists)
    add(m, population, "sparse-of-fp32", tera * mm_bench_step_work(c, &sparse), "TFLOP/s",
        1e-12 * m->peak.fma);
}

static mm_status measure_populations(measurement *m, const size_t population[POPULATIONS]) {
  const mm_ampo_config *c = &m->g.settings.ampo;
  timing t;
  MM_TRY(warm_up(m));
  set_iterations(m, floor(m->subject->steps / (c->envs * c->unroll)));
  for (int i = 0; i < POPULATIONS; i++) {
    if (i > 0 && population[i] == population[0]) continue;
    MM_TRY(time_generation(&m->g, population[i], &t));
    add_rates(m, population[i], t.steps / t.seconds);
    add(m, population[i], "broken", (double)t.broken, "trainings", NAN);
  }
  return MM_OK;
}

static mm_status add_profile(measurement *m) {
  mm_cuda_profile profile;
  mm_map *map;
  mm_job job = m->g.job[0];
  MM_TRY(mm_map_open("piecewise", &map));
  job.map = map;
  mm_status status = mm_cuda_profile_job(DEVICE, &job, m->device.processors, PROFILED, &profile);
  mm_map_destroy(map);
  MM_TRY(status);
  for (int i = 0; i < profile.n_stage; i++)
    add(m, 0, profile.stage[i].name, 100 * profile.stage[i].share, "%", NAN);
  add(m, 0, "tile", profile.rows, "rows", NAN);
  add(m, 0, "memory", (double)profile.memory / 1024, "KiB/job", NAN);
  add(m, 0, "shared-memory", (double)profile.shared / 1024, "KiB/job", NAN);
  return MM_OK;
}

static mm_status look_at_shape(measurement *m) {
  mm_ampo *ampo;
  mm_map *map;
  MM_TRY(mm_map_open("piecewise", &map));
  mm_status status = mm_ampo_create(m->g.env, map, &m->g.settings.ampo, 0, 0, &ampo);
  if (status == MM_OK) {
    m->shape = mm_ampo_get_shape(ampo);
    mm_ampo_destroy(ampo);
  }
  mm_map_destroy(map);
  return status;
}

static mm_status measure_subject(measurement *m, const subject *s) {
  const size_t processors = (size_t)m->device.processors;
  const size_t population[POPULATIONS] = { 128, processors, 2 * processors };
  const size_t most = population[0] > population[2] ? population[0] : population[2];
  m->subject = s;
  m->g = (generation){ .settings = mm_settings_default(s->algo) };
  mm_settings_fit(&m->g.settings, s->preset);
  mm_status status = open_generation(&m->g, s->env, most);
  if (status == MM_OK) status = look_at_shape(m);
  if (status == MM_OK) status = measure_populations(m, population);
  if (status == MM_OK) status = add_profile(m);
  close_generation(&m->g);
  return status;
}

// Seconds of the first list of a process, with all that the device needs to begin.
static mm_status measure_start(mm_bench *b) {
  generation g = { .settings = mm_settings_default(MM_ALGO_AMPO) };
  timing t;
  g.settings.ampo.steps = g.settings.ampo.envs * g.settings.ampo.unroll;
  mm_status status = open_generation(&g, subjects[0].env, 1);
  if (status == MM_OK) status = time_generation(&g, 1, &t);
  close_generation(&g);
  if (status == MM_OK) mm_bench_add(b, t.seconds, "s", NAN, "cuda/warm-up");
  return status;
}

mm_status mm_bench_cuda_ampo(mm_bench *b) {
  measurement m = { .b = b };
  int count;
  mm_bench_begin(b, "cuda/warm-up");
  MM_TRY(mm_cuda_find(&count));
  MM_TRY(measure_start(b));
  MM_TRY(mm_cuda_describe(DEVICE, &m.device));
  MM_TRY(mm_cuda_probe(DEVICE, &m.peak));
  mm_bench_add(b, 1e-12 * m.peak.fma, "TFLOP/s", NAN, "cuda/fp32-fma");
  mm_bench_add(b, 1e-12 * m.peak.tensor, "TFLOP/s", NAN, "cuda/fp16-tensor");
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    mm_bench_begin(b, "cuda/%s", subjects[i].env);
    MM_TRY(measure_subject(&m, &subjects[i]));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Grid-World: a list of the paper's generation, 512 candidates

static mm_status measure_grid(mm_bench *b, generation *g) {
  timing first, t;
  double best = INFINITY;
  MM_TRY(time_generation(g, g->most, &first));
  for (int i = 0; i < GRID_REPEATS; i++) {
    MM_TRY(time_generation(g, g->most, &t));
    best = fmin(best, t.seconds);
  }
  mm_bench_add(b, first.seconds - best, "s", NAN, "cuda/gridworld/warm-up");
  mm_bench_add(b, best, "s", NAN, "cuda/gridworld/generation");
  mm_bench_add(b, t.steps / best, "steps/s", NAN, "cuda/gridworld/steps");
  mm_bench_add(b, (double)t.broken, "trainings", NAN, "cuda/gridworld/broken");
  return MM_OK;
}

mm_status mm_bench_cuda_gridworld(mm_bench *b) {
  int count;
  MM_TRY(mm_cuda_find(&count));
  generation g = { .settings = mm_settings_default(MM_ALGO_PMD) };
  mm_bench_begin(b, "cuda/gridworld");
  mm_status status = open_generation(&g, "GridWorld-all", (size_t)g.settings.search.population);
  if (status == MM_OK) status = measure_grid(b, &g);
  close_generation(&g);
  return status;
}
