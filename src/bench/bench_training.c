// Speed of whole trainings with AMPO: rollouts, values and gradient steps together, on one core,
// and how far several cores go with a job each.
//
// Operations are counted as the algorithm has them (docs/performance.md): multiply-adds as two, for
// inputs that are on or off only the sums of weight rows, with the number of inputs on as the last
// batch had them; environments, projections and everything else count nothing. The limit is the
// rate of fused multiply-adds alone, probed between iterations.

#include <math.h>
#include <stdio.h>

#include "agent/ampo.h"
#include "backend/backend.h"
#include "base/clock.h"
#include "base/status.h"
#include "bench/bench.h"
#include "study/settings/settings.h"

enum { ROUNDS_MOST = 4096 };

static const double least_seconds = 1.0, quick_seconds = 0.05; // of a measurement

typedef struct subject {
  const char *env, *preset, *map;
} subject;

static const subject subjects[] = {
  { "CartPole-v1", "bcs", "negentropy" },
  { "CartPole-v1", "bcs", "piecewise" },
  { "Acrobot-v1", "bcs", "negentropy" },
  { "Asterix-MinAtar", "minatar", "negentropy" },
  { "Asterix-MinAtar", "minatar", "piecewise" },
  { "Breakout-MinAtar", "minatar", "negentropy" },
  { "Freeway-MinAtar", "minatar", "negentropy" },
  { "SpaceInvaders-MinAtar", "minatar", "negentropy" },
  { "Seaquest-MinAtar", "minatar", "negentropy" },
};

double mm_bench_step_work(const mm_ampo_config *c, const mm_ampo_shape *s) {
  const double h = c->hidden, square = 2 * h * h, out = 2 * h;
  const double input = s->lists ? 2 * h * s->inputs_on : 2 * 2 * h * s->n_input;
  const double act = input + 2 * square + out * s->n_action + out;
  const double forward = input + 2 * (square + out), back = forward + 2 * (square + out);
  const double parameters =
      2 * h * s->n_input + 2 * h + 2 * (h * h + h) + (h + 1) * (s->n_action + 1);
  return act * (1 + 1 / c->unroll) + c->epochs * (forward + back) +
         12 * parameters * c->epochs * c->minibatches / (c->unroll * c->envs);
}

static mm_status add(mm_bench_results *results, const subject *s, const char *part, double value,
                     const char *unit, double limit) {
  char name[64];
  snprintf(name, sizeof name, "ampo/train/%s/%s/%s", s->env, s->map, part);
  return mm_bench_add(results, name, value, unit, limit);
}

// Iterations and probes in turn, medians of both. The first iterations warm up.
static mm_status time_agent(mm_ampo *a, double least, double *seconds, double *peak) {
  double *times = mm_alloc_array(2 * ROUNDS_MOST, sizeof *times), *rates, all = 0;
  if (!times) return MM_FAIL(MM_ERR_MEMORY, "benchmark: out of memory");
  rates = times + ROUNDS_MOST;
  size_t n = 0;
  mm_status status = mm_ampo_iterate(a);
  while (status == MM_OK && n < ROUNDS_MOST && all < least) {
    rates[n] = mm_bench_fma_rate();
    double start = mm_bench_thread_time();
    status = mm_ampo_iterate(a);
    times[n] = mm_bench_thread_time() - start;
    all += times[n++];
  }
  if (status == MM_OK) {
    *seconds = mm_bench_median(times, n);
    *peak = mm_bench_median(rates, n);
  }
  mm_free(times);
  return status;
}

static mm_status measure_agent(mm_bench_results *results, const subject *s, const mm_ampo_config *c,
                               mm_ampo *a) {
  double seconds, peak, part[3];
  MM_TRY(time_agent(a, results->quick ? quick_seconds : least_seconds, &seconds, &peak));
  mm_ampo_shape shape = mm_ampo_get_shape(a);
  double steps = c->envs * c->unroll / seconds, each = mm_bench_step_work(c, &shape);
  MM_TRY(add(results, s, "steps", steps, "steps/s", peak / each));
  MM_TRY(add(results, s, "rate", 1e-9 * steps * each, "GFLOP/s", 1e-9 * peak));
  mm_ampo_seconds(a, &part[0], &part[1], &part[2]);
  double all = part[0] + part[1] + part[2];
  MM_TRY(add(results, s, "rollout", 100 * part[0] / all, "%", NAN));
  MM_TRY(add(results, s, "values", 100 * part[1] / all, "%", NAN));
  return add(results, s, "update", 100 * part[2] / all, "%", NAN);
}

static mm_status measure(mm_bench_results *results, const subject *s) {
  mm_settings settings = mm_settings_default(MM_ALGO_AMPO);
  mm_settings_fit(&settings, s->preset);
  mm_env *env = NULL;
  mm_map *map = NULL;
  mm_ampo *a = NULL;
  mm_status status = mm_env_open(s->env, &env);
  if (status == MM_OK) status = mm_map_open(s->map, &map);
  if (status == MM_OK) status = mm_ampo_create(env, map, &settings.ampo, 0, 0, &a);
  if (status == MM_OK) status = measure_agent(results, s, &settings.ampo, a);
  mm_ampo_destroy(a);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return status;
}

// ---------------------------------------------------------------------------------------------
// A job per core

enum { JOBS_PER_CORE = 3 };

// Seconds for `threads` threads with JOBS_PER_CORE short trainings each.
static mm_status time_threads(const mm_env *env, const mm_map *map, const mm_ampo_config *c,
                              int threads, double *seconds) {
  size_t n = (size_t)threads * JOBS_PER_CORE;
  mm_job *job = mm_alloc_array(n, sizeof *job);
  mm_result *result = mm_alloc_array(n, sizeof *result);
  mm_status status = MM_OK;
  if (!job || !result) status = MM_FAIL(MM_ERR_MEMORY, "benchmark: out of memory");
  for (size_t i = 0; i < n && status == MM_OK; i++)
    job[i] = (mm_job){ .env = env, .map = map, .ampo = c, .seed = i };
  mm_backend_config backend = { .threads = threads };
  double start = mm_clock_seconds();
  if (status == MM_OK) status = mm_backend_run(&backend, job, n, result);
  *seconds = mm_clock_seconds() - start;
  for (size_t i = 0; i < n && status == MM_OK; i++)
    mm_result_release(&result[i]);
  mm_free(result);
  mm_free(job);
  return status;
}

// How many times as much all cores do as one. The limit is their number.
static mm_status measure_scaling(mm_bench_results *results) {
  mm_ampo_config c = mm_ampo_config_default();
  c.steps = results->quick ? 5120 : 25600;
  mm_env *env = NULL;
  mm_map *map = NULL;
  double one = 0, all = 0;
  int cores = mm_backend_cores();
  mm_status status = mm_env_open("CartPole-v1", &env);
  if (status == MM_OK) status = mm_map_open("negentropy", &map);
  if (status == MM_OK) status = time_threads(env, map, &c, 1, &one);
  if (status == MM_OK) status = time_threads(env, map, &c, cores, &all);
  if (status == MM_OK)
    status = mm_bench_add(results, "ampo/train/scaling", cores * one / all, "cores", NAN);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return status;
}

mm_status mm_bench_training(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  mm_status status = MM_OK;
  mm_bench_core core = mm_bench_core_hold();
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects && status == MM_OK; i++) {
    if (progress) progress(subjects[i].env, user);
    status = measure(results, &subjects[i]);
  }
  mm_bench_core_release(&core);
  return status == MM_OK ? measure_scaling(results) : status;
}
