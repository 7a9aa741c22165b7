// Speed of whole training runs with AMPO and Gaussian policies: rollouts, values and gradient steps
// together, on one core, with the shares of these stages; and how far several cores go with a job
// each.
//
// Operations are counted as the algorithm has them (docs/performance.md): multiply-adds as two, for
// inputs that are on or off only the sums of weight rows, with the number of inputs on as the last
// batch had them; environments, projections and everything else count nothing. The limit is the
// rate of fused multiply-adds alone, probed between iterations.

#include <math.h>
#include <stdio.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "study/settings/settings.h"

// ---------------------------------------------------------------------------------------------
// Counting

double mm_bench_row_work(bool gaussian, double h, const mm_ampo_shape *s, size_t minibatch,
                         double work[MM_NET_STAGES]) {
  const double input = s->lists ? 2 * h * s->inputs_on : 4 * h * s->n_input, each = 4 * h * h;
  const double outputs = gaussian ? s->n_action + 1 : 2; // of scores only the action's counts
  const double parameters = 2 * (h * (s->n_input + 1) + h * (h + 1)) + (s->n_action + 1) * (h + 1) +
                            (gaussian ? s->n_action : 0);
  const double stages[MM_NET_STAGES] = { [MM_NET_LAYER1] = input,
                                         [MM_NET_GRAD1] = input + (gaussian ? 4 * h : 0),
                                         [MM_NET_LAYER2] = each,
                                         [MM_NET_BACK] = each,
                                         [MM_NET_GRAD2] = each,
                                         [MM_NET_LOSS] = 6 * h * outputs,
                                         [MM_NET_ADAM] = 12 * parameters / (double)minibatch };
  double sum = 0;
  for (int i = 0; i < MM_NET_STAGES; i++)
    sum += work[i] = stages[i];
  return sum;
}

// Scores and value of a row, then what is learned from it. AMPO also values the state after the
// last of an unroll.
static double step_work(bool gaussian, const mm_actor_critic_config *c, const mm_ampo_shape *s) {
  const double h = c->hidden, input = s->lists ? 2 * h * s->inputs_on : 4 * h * s->n_input;
  const double act = input + 4 * h * h + 2 * h * (s->n_action + 1);
  double stages[MM_NET_STAGES];
  const size_t minibatch = (size_t)(c->unroll * c->envs / c->minibatches);
  return act * (gaussian ? 1 : 1 + 1 / c->unroll) +
         c->epochs * mm_bench_row_work(gaussian, h, s, minibatch, stages);
}

double mm_bench_step_work(const mm_actor_critic_config *c, const mm_ampo_shape *s) {
  return step_work(false, c, s);
}

// ---------------------------------------------------------------------------------------------
// Whole training runs

typedef struct subject {
  const char *env, *preset, *map; // preset NULL: the algorithm's own settings
} subject;

static const subject ampo_subjects[] = {
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

static const subject gaussian_subjects[] = {
  { "Pendulum-v1", NULL, "negentropy" },
  { "Hopper", NULL, "negentropy" },
  { "Hopper", NULL, "neural" },
  { "HalfCheetah", NULL, "negentropy" },
};

// Iterations and probes in turn, medians of both: at least two, and until they took a second.
static mm_status time_agent(mm_ampo *a, bool quick, double *seconds, double *peak) {
  enum { ROUNDS_MOST = 4096 };
  const size_t least = quick ? 1 : 2;
  const double least_seconds = quick ? 0.05 : 1;
  double *times = mm_alloc_array(2 * ROUNDS_MOST, sizeof *times), *rates, all = 0;
  if (!times) return MM_FAIL(MM_ERR_MEMORY, "benchmark: out of memory");
  rates = times + ROUNDS_MOST;
  mm_status status = MM_OK;
  size_t n = 0;
  while (status == MM_OK && n < ROUNDS_MOST && (n < least || all < least_seconds)) {
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

static mm_status measure_agent(mm_bench *b, const subject *s, mm_ampo *a) {
  static const char *const stages[] = { "rollout", "values", "update" };
  const mm_actor_critic_config *c = mm_ampo_get_config(a);
  const bool gaussian = mm_ampo_is_real(a);
  double seconds, peak, before[3], part[3], all = 0;
  MM_TRY(mm_ampo_iterate(a)); // warms up
  mm_ampo_seconds(a, &before[0], &before[1], &before[2]);
  MM_TRY(time_agent(a, b->quick, &seconds, &peak));
  mm_ampo_seconds(a, &part[0], &part[1], &part[2]);
  char name[64];
  snprintf(name, sizeof name, "%s/train/%s/%s", gaussian ? "gaussian" : "ampo", s->env, s->map);
  const mm_ampo_shape shape = mm_ampo_get_shape(a);
  const double steps = c->envs * c->unroll / seconds, each = step_work(gaussian, c, &shape);
  mm_bench_add(b, steps, "steps/s", peak / each, "%s/steps", name);
  if (!gaussian) mm_bench_add(b, 1e-9 * steps * each, "GFLOP/s", 1e-9 * peak, "%s/rate", name);
  for (int i = 0; i < 3; i++)
    all += part[i] -= before[i];
  for (int i = 0; i < 3; i++)
    mm_bench_add(b, 100 * part[i] / all, "%", NAN, "%s/%s", name, stages[i]);
  return MM_OK;
}

static mm_status measure(mm_bench *b, mm_algo algo, const subject *s) {
  mm_settings settings = mm_settings_default(algo);
  if (s->preset) mm_settings_fit(&settings, s->preset);
  mm_env *env = NULL;
  mm_map *map = NULL;
  mm_ampo *a = NULL;
  mm_bench_begin(b, "%s", s->env);
  mm_status status = mm_env_open(s->env, &env);
  if (status == MM_OK) status = mm_map_open(s->map, &map);
  mm_job job = { .env = env };
  mm_settings_bind(&settings, &job);
  if (status == MM_OK) status = mm_ampo_create(&job, map, NULL, &a);
  if (status == MM_OK) status = measure_agent(b, s, a);
  mm_ampo_destroy(a);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return status;
}

mm_status mm_bench_ampo_training(mm_bench *b) {
  for (size_t i = 0; i < sizeof ampo_subjects / sizeof *ampo_subjects; i++)
    MM_TRY(measure(b, MM_ALGO_AMPO, &ampo_subjects[i]));
  return MM_OK;
}

mm_status mm_bench_gaussian_training(mm_bench *b) {
  for (size_t i = 0; i < sizeof gaussian_subjects / sizeof *gaussian_subjects; i++)
    MM_TRY(measure(b, MM_ALGO_GAUSSIAN, &gaussian_subjects[i]));
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// A job per core

enum { JOBS_PER_CORE = 3 };

// Seconds for `threads` threads with JOBS_PER_CORE short training runs each.
static mm_status time_threads(const mm_env *env, const mm_map *map, const mm_ampo_config *c,
                              int threads, double *seconds) {
  size_t n = (size_t)threads * JOBS_PER_CORE;
  mm_job *job = mm_alloc_array(n, sizeof *job);
  mm_result *result = mm_alloc_array(n, sizeof *result);
  mm_status status = MM_OK;
  if (!job || !result) status = MM_FAIL(MM_ERR_MEMORY, "benchmark: out of memory");
  for (size_t i = 0; i < n && status == MM_OK; i++)
    job[i] = (mm_job){ .env = env, .map = map, .algo = MM_ALGO_AMPO, .config = c, .seed = i };
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = threads };
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
mm_status mm_bench_scaling(mm_bench *b) {
  mm_ampo_config c = mm_ampo_config_default();
  c.net.steps = b->quick ? 5120 : 25600;
  mm_env *env = NULL;
  mm_map *map = NULL;
  double one = 0, all = 0;
  int cores = mm_backend_cores();
  mm_status status = mm_env_open("CartPole-v1", &env);
  if (status == MM_OK) status = mm_map_open("negentropy", &map);
  if (status == MM_OK) status = time_threads(env, map, &c, 1, &one);
  if (status == MM_OK) status = time_threads(env, map, &c, cores, &all);
  if (status == MM_OK) mm_bench_add(b, cores * one / all, "cores", NAN, "ampo/train/scaling");
  mm_map_destroy(map);
  mm_env_destroy(env);
  return status;
}
