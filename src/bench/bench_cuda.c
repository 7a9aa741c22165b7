// SPDX-License-Identifier: Apache-2.0
// Speed of a CUDA device: whole training runs through the backend, as a generation of a search has
// them, beside what the device does when it does nothing but arithmetic.
//
// Operations are counted as on the processor (bench_training.c), dense: the kernels multiply all of
// the first layer. The sparse count says what would be needed.

#include <math.h>
#include <stdio.h>

#include "backend/cuda/host/cuda.h"
#include "backend/cuda/measure/probe.h"
#include "backend/cuda/measure/profile.h"
#include "bench/bench.h"

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
  { "Hopper", "mujoco", MM_ALGO_GAUSSIAN, 0, 1310720, NAN },
  { "HalfCheetah", "mujoco", MM_ALGO_GAUSSIAN, 0, 1310720, NAN },
  { "Ant", "mujoco", MM_ALGO_GAUSSIAN, 0, 1310720, NAN },
  { "Walker2d", "mujoco", MM_ALGO_GAUSSIAN, 0, 1310720, NAN },
};

// The first n of a generation, on the device.
static mm_status time_generation(mm_bench_jobs *g, size_t n, mm_bench_jobs_time *out) {
  static const int device[] = { DEVICE };
  const mm_backend_place place = { .kind = MM_BACKEND_CUDA, .devices = device, .n_device = 1 };
  return mm_bench_jobs_run(g, n, &place, out);
}

// ---------------------------------------------------------------------------------------------
// AMPO and Gaussian policies

typedef struct measurement {
  mm_bench *b;
  const subject *subject;
  mm_cuda_device device;
  mm_cuda_peak peak;
  mm_ampo_shape shape;
  mm_bench_jobs g;
} measurement;

// A figure of the subject, of one population or (0) of all.
static void add(const measurement *m, size_t population, const char *part, double value,
                const char *unit, double limit) {
  char of[24] = "";
  if (population > 0) snprintf(of, sizeof of, "%zu/", population);
  mm_bench_add(m->b, value, unit, limit, "cuda/%s/%s%s", m->subject->env, of, part);
}

static void set_iterations(measurement *m, double iterations) {
  mm_actor_critic_config *c = &m->g.settings.net;
  c->steps = iterations * c->envs * c->unroll;
}

// One iteration first, of as many agents as there are places.
static mm_status warm_up(measurement *m) {
  mm_bench_jobs_time t;
  set_iterations(m, 1);
  MM_TRY(time_generation(&m->g, (size_t)m->device.processors, &t));
  add(m, 0, "warm-up", t.seconds, "s", NAN);
  return MM_OK;
}

static void add_rates(measurement *m, size_t population, double steps) {
  const mm_actor_critic_config *c = &m->g.settings.net;
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

// Gaussian policies learn in waves of half as many as there are processors: one population tells.
static mm_status measure_populations(measurement *m, const size_t population[POPULATIONS]) {
  const mm_actor_critic_config *c = &m->g.settings.net;
  const bool gaussian = m->subject->algo == MM_ALGO_GAUSSIAN;
  const double part = gaussian && m->b->quick ? 0.125 : 1;
  mm_bench_jobs_time t;
  MM_TRY(warm_up(m));
  set_iterations(m, floor(part * m->subject->steps / (c->envs * c->unroll)));
  for (int i = 0; i < (gaussian ? 1 : POPULATIONS); i++) {
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
  mm_job job = { .env = m->g.env };
  mm_settings_bind(&m->g.settings, &job);
  mm_status status = mm_ampo_create(&job, map, NULL, &ampo);
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
  m->g = (mm_bench_jobs){ .settings = mm_settings_default(s->algo), .n = most };
  mm_settings_fit(&m->g.settings, s->preset);
  mm_status status = mm_bench_jobs_open(&m->g, s->env, true);
  if (status == MM_OK) status = look_at_shape(m);
  if (status == MM_OK) status = measure_populations(m, population);
  if (status == MM_OK) status = add_profile(m);
  mm_bench_jobs_close(&m->g);
  return status;
}

// Seconds of the first list of a process, with all that the device needs to begin.
static mm_status measure_start(mm_bench *b) {
  mm_bench_jobs g = { .settings = mm_settings_default(MM_ALGO_AMPO), .n = 1 };
  mm_bench_jobs_time t;
  g.settings.net.steps = g.settings.net.envs * g.settings.net.unroll;
  mm_status status = mm_bench_jobs_open(&g, subjects[0].env, true);
  if (status == MM_OK) status = time_generation(&g, 1, &t);
  mm_bench_jobs_close(&g);
  if (status == MM_OK) mm_bench_add(b, t.seconds, "s", NAN, "cuda/warm-up");
  return status;
}

static mm_status measure_subjects(mm_bench *b, mm_algo algo) {
  measurement m = { .b = b };
  MM_TRY(mm_cuda_describe(DEVICE, &m.device));
  MM_TRY(mm_cuda_probe(DEVICE, &m.peak));
  if (!mm_bench_find(b, "cuda/fp32-fma")) {
    mm_bench_add(b, 1e-12 * m.peak.fma, "TFLOP/s", NAN, "cuda/fp32-fma");
    mm_bench_add(b, 1e-12 * m.peak.tensor, "TFLOP/s", NAN, "cuda/fp16-tensor");
  }
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    if (subjects[i].algo != algo) continue;
    mm_bench_begin(b, "cuda/%s", subjects[i].env);
    MM_TRY(measure_subject(&m, &subjects[i]));
  }
  return MM_OK;
}

mm_status mm_bench_cuda_ampo(mm_bench *b) {
  int count;
  mm_bench_begin(b, "cuda/warm-up");
  MM_TRY(mm_cuda_find(&count));
  MM_TRY(measure_start(b));
  return measure_subjects(b, MM_ALGO_AMPO);
}

mm_status mm_bench_cuda_gaussian(mm_bench *b) {
  int count;
  MM_TRY(mm_cuda_find(&count));
  return measure_subjects(b, MM_ALGO_GAUSSIAN);
}

// ---------------------------------------------------------------------------------------------
// Grid-World: a list of the paper's generation, 512 candidates

static mm_status measure_grid(mm_bench *b, mm_bench_jobs *g) {
  mm_bench_jobs_time first, t;
  double best = INFINITY;
  MM_TRY(time_generation(g, g->n, &first));
  for (int i = 0; i < GRID_REPEATS; i++) {
    MM_TRY(time_generation(g, g->n, &t));
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
  mm_bench_jobs g = { .settings = mm_settings_default(MM_ALGO_PMD) };
  g.n = (size_t)g.settings.search.population;
  mm_bench_begin(b, "cuda/gridworld");
  mm_status status = mm_bench_jobs_open(&g, "GridWorld-all", true);
  if (status == MM_OK) status = measure_grid(b, &g);
  mm_bench_jobs_close(&g);
  return status;
}
