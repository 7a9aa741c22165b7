// Speed of Gaussian policies: gradient steps of the paper's size on made-up rows, stage by stage
// beside the rate of fused multiply-adds alone; what maps cost on densities; and whole iterations
// of trainings. Counted as in bench_ampo.c: multiply-adds of the layers as two operations, twelve
// of Adam for each parameter, everything else nothing.

#include <math.h>
#include <stdio.h>

#include "agent/ampo.h"
#include "base/rng.h"
#include "base/status.h"
#include "bench/bench.h"
#include "study/settings/settings.h"

enum { ROUNDS = 15, HIDDEN = 256, BATCH = 20480, MINIBATCH = 160, ITERATIONS = 2 };

typedef struct shape {
  const char *name;
  int32_t n_input, n_action;
} shape;

static const shape shapes[] = { { "hopper", 11, 3 }, { "half-cheetah", 17, 6 }, { "ant", 27, 8 } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const char *const maps[] = { "negentropy", "l2", "tsallis:1.5", "piecewise", "neural" };
enum { MAPS = sizeof maps / sizeof *maps };

static const char *const stage_names[MM_NET_STAGES] = {
  "gather", "layer1", "layer2", "loss", "back", "grad2", "grad1", "adam",
};

static mm_status add(mm_bench_results *results, const char *of, const char *part, double value,
                     const char *unit, double limit) {
  char name[64];
  snprintf(name, sizeof name, "gaussian/%.40s/%s", of, part);
  return mm_bench_add(results, name, value, unit, limit);
}

// ---------------------------------------------------------------------------------------------
// Made-up rows

typedef struct rows {
  const shape *shape;
  mm_map *map;
  mm_net *net;
  mm_net_learn_config config;
  mm_gaussian_objective objective;
  mm_net_batch batch;
  float *x, *action, *number[4]; // log q, value, target, advantage
  uint32_t *row;                 // [BATCH] shuffled
  size_t next;
} rows;

static void rows_close(rows *r) {
  mm_net_destroy(r->net);
  mm_map_destroy(r->map);
  mm_free(r->x);
  mm_free(r->action);
  mm_free(r->row);
  for (int i = 0; i < 4; i++)
    mm_free(r->number[i]);
}

static float *normals(size_t n, uint32_t lane) {
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, lane);
  float *x = mm_alloc_array(n, sizeof *x);
  for (size_t i = 0; i < n && x; i++)
    x[i] = mm_normal_f(mm_stream_block(stream, i / 4).word[i % 4]);
  return x;
}

static mm_status draw_rows(rows *r) {
  const size_t d = (size_t)r->shape->n_input, n_action = (size_t)r->shape->n_action;
  r->x = normals(BATCH * d, 20);
  r->action = normals(BATCH * n_action, 21);
  r->row = mm_alloc_array(BATCH, sizeof *r->row);
  for (uint32_t i = 0; i < 4; i++)
    r->number[i] = normals(BATCH, 22 + i);
  if (!r->x || !r->action || !r->row || !r->number[0] || !r->number[1] || !r->number[2] ||
      !r->number[3])
    return MM_FAIL(MM_ERR_MEMORY, "benchmark inputs: out of memory");
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 26);
  const mm_shuffle shuffle = mm_shuffle_make(stream, 0, BATCH);
  mm_shuffle_all(&shuffle, r->row);
  return MM_OK;
}

// The densities of the actions are those that they have.
static mm_status find_densities(rows *r) {
  float *mean = mm_alloc_array(BATCH * (size_t)r->shape->n_action, sizeof *mean);
  if (!mean) return MM_FAIL(MM_ERR_MEMORY, "benchmark inputs: out of memory");
  mm_net_scores(r->net, &r->batch.obs, BATCH, mean);
  mm_net_log_density(r->net, BATCH, mean, r->action, r->number[0]);
  mm_free(mean);
  return MM_OK;
}

static mm_status rows_open(const shape *s, rows *r) {
  *r = (rows){ .shape = s };
  mm_net_config config = mm_net_config_default(s->n_input, s->n_action);
  config.hidden[0] = config.hidden[1] = HIDDEN;
  config.gaussian = true;
  MM_TRY(mm_map_create_negentropy(&r->map));
  MM_TRY(mm_net_create(&config, &r->net));
  MM_TRY(mm_net_init(r->net, 0, 0));
  MM_TRY(draw_rows(r));
  mm_gaussian_objective_make(r->map, 1, false, 0.5, 0.2, &r->objective);
  r->config = mm_net_learn_config_default(MM_OBJECTIVE_AMPO);
  r->config.max_grad_norm = 1;
  r->config.entropy_coef = 0;
  r->config.weigh = mm_gaussian_objective_weigh;
  r->config.user = &r->objective;
  r->batch = (mm_net_batch){ .obs = { .floats = r->x },
                             .real = r->action,
                             .policy = r->number[0],
                             .value = r->number[1],
                             .target = r->number[2],
                             .advantage = r->number[3] };
  return find_densities(r);
}

// ---------------------------------------------------------------------------------------------
// Gradient steps

// Operations of each stage for one row of both networks; of Adam for one step.
static void work_of(const shape *s, double work[MM_NET_STAGES]) {
  const double h = HIDDEN, d = s->n_input, outputs = s->n_action + 1;
  const double parameters = 2 * (h * (d + 1) + h * (h + 1)) + outputs * (h + 1) + s->n_action;
  work[MM_NET_GATHER] = 0;
  work[MM_NET_LAYER1] = 2 * 2 * h * d;
  work[MM_NET_GRAD1] = 2 * 2 * h * (d + 1);
  work[MM_NET_LAYER2] = work[MM_NET_BACK] = work[MM_NET_GRAD2] = 2 * 2 * h * h;
  work[MM_NET_LOSS] = 3 * 2 * h * outputs;
  work[MM_NET_ADAM] = 12 * parameters;
}

static double work_of_step(const shape *s) {
  double work[MM_NET_STAGES], sum = 0;
  work_of(s, work);
  for (int i = 0; i < MM_NET_STAGES; i++)
    sum += i == MM_NET_ADAM ? work[i] : MINIBATCH * work[i];
  return sum;
}

static mm_status one_minibatch(rows *r) {
  const uint32_t *row = r->row + r->next;
  r->next = (r->next + MINIBATCH) % BATCH;
  return mm_net_learn(r->net, &r->config, 1e-6, &r->batch, row, MINIBATCH, NULL);
}

static mm_status time_steps(rows *r, int count, double *seconds) {
  const double start = mm_bench_thread_time();
  for (int i = 0; i < count; i++)
    MM_TRY(one_minibatch(r));
  *seconds = (mm_bench_thread_time() - start) / count;
  return MM_OK;
}

static mm_status add_stages(mm_bench_results *results, rows *r, double peak) {
  enum { COUNT = 64 };
  double seconds[MM_NET_STAGES] = { 0 }, work[MM_NET_STAGES];
  mm_net_profile(r->net, seconds);
  for (int i = 0; i < COUNT; i++)
    MM_TRY(one_minibatch(r));
  mm_net_profile(r->net, NULL);
  work_of(r->shape, work);
  for (int i = 0; i < MM_NET_STAGES; i++) {
    const double each = seconds[i] / COUNT, all = i == MM_NET_ADAM ? work[i] : MINIBATCH * work[i];
    if (all > 0)
      MM_TRY(
          add(results, r->shape->name, stage_names[i], 1e-9 * all / each, "GFLOP/s", 1e-9 * peak));
    else
      MM_TRY(add(results, r->shape->name, stage_names[i], 1e9 * each / MINIBATCH, "ns/row", NAN));
  }
  return MM_OK;
}

// Means for as many rows as there are environments, and values of a batch.
static mm_status add_forward(mm_bench_results *results, rows *r, double peak) {
  enum { ENVS = 2048 };
  const double h = HIDDEN, both = 2 * h * (r->shape->n_input + h);
  float *out = mm_alloc_array(BATCH * (size_t)r->shape->n_action, sizeof *out);
  double means[ROUNDS], values[ROUNDS];
  const int rounds = mm_bench_rounds(results, ROUNDS);
  if (!out) return MM_FAIL(MM_ERR_MEMORY, "benchmark outputs: out of memory");
  for (int i = 0; i < rounds; i++) {
    const double start = mm_bench_thread_time();
    mm_net_scores(r->net, &r->batch.obs, ENVS, out);
    const double middle = mm_bench_thread_time();
    mm_net_values(r->net, &r->batch.obs, ENVS, out);
    means[i] = (middle - start) / ENVS;
    values[i] = (mm_bench_thread_time() - middle) / ENVS;
  }
  mm_free(out);
  MM_TRY(add(results, r->shape->name, "means",
             1e-9 * (both + 2 * h * r->shape->n_action) / mm_bench_median(means, (size_t)rounds),
             "GFLOP/s", 1e-9 * peak));
  return add(results, r->shape->name, "values",
             1e-9 * (both + 2 * h) / mm_bench_median(values, (size_t)rounds), "GFLOP/s",
             1e-9 * peak);
}

static mm_status measure_steps(mm_bench_results *results, rows *r) {
  double rates[ROUNDS + 1], times[ROUNDS + 1];
  const int rounds = mm_bench_rounds(results, ROUNDS);
  for (int i = 0; i <= rounds; i++) {
    rates[i] = mm_bench_fma_rate();
    MM_TRY(time_steps(r, 8, &times[i]));
  }
  const double peak = mm_bench_median(rates + 1, (size_t)rounds), work = work_of_step(r->shape);
  const double seconds = mm_bench_median(times + 1, (size_t)rounds);
  MM_TRY(add(results, r->shape->name, "update", 1e-9 * work / seconds, "GFLOP/s", 1e-9 * peak));
  MM_TRY(
      add(results, r->shape->name, "rows", MINIBATCH / seconds, "rows/s", MINIBATCH * peak / work));
  MM_TRY(add_stages(results, r, peak));
  return add_forward(results, r, peak);
}

// ---------------------------------------------------------------------------------------------
// Maps on densities

static mm_status measure_map(mm_bench_results *results, const char *text) {
  mm_map *map;
  float log_p[MINIBATCH], log_q[MINIBATCH], advantage[MINIBATCH], gain[MINIBATCH],
      weight[MINIBATCH];
  double times[ROUNDS];
  const int rounds = mm_bench_rounds(results, ROUNDS);
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 27);
  MM_TRY(mm_map_open(text, &map));
  for (size_t i = 0; i < MINIBATCH; i++) {
    const mm_block b = mm_stream_block(stream, i);
    log_q[i] = -3 + mm_normal_f(b.word[0]);
    log_p[i] = log_q[i] + 0.05f * mm_normal_f(b.word[1]);
    advantage[i] = mm_normal_f(b.word[2]);
  }
  mm_gaussian_objective o;
  mm_gaussian_objective_make(map, 1, false, 0.5, 0.2, &o);
  for (int i = 0; i < rounds; i++) {
    enum { COUNT = 50 };
    const double start = mm_bench_thread_time();
    for (int k = 0; k < COUNT; k++)
      mm_gaussian_objective_weigh(&o, MINIBATCH, log_p, log_q, advantage, gain, weight);
    times[i] = (mm_bench_thread_time() - start) / (COUNT * MINIBATCH);
  }
  mm_map_destroy(map);
  return add(results, "weigh", text, 1e9 * mm_bench_median(times, (size_t)rounds), "ns/row", NAN);
}

// ---------------------------------------------------------------------------------------------
// Whole iterations

static mm_status measure_agent(mm_bench_results *results, const char *env, const char *map,
                               mm_ampo *a) {
  const mm_ampo_config *c = mm_ampo_get_config(a);
  const double batch = c->envs * c->unroll;
  double before[3], part[3], rates[ITERATIONS];
  const int iterations = results->quick ? 1 : ITERATIONS;
  char name[64];
  MM_TRY(mm_ampo_iterate(a));
  mm_ampo_seconds(a, &before[0], &before[1], &before[2]);
  const double start = mm_bench_thread_time();
  double probing = 0;
  for (int i = 0; i < iterations; i++) {
    const double probe = mm_bench_thread_time();
    rates[i] = mm_bench_fma_rate();
    probing += mm_bench_thread_time() - probe;
    MM_TRY(mm_ampo_iterate(a));
  }
  const double seconds = (mm_bench_thread_time() - start - probing) / iterations;
  mm_ampo_seconds(a, &part[0], &part[1], &part[2]);
  double all = 0;
  for (int i = 0; i < 3; i++)
    all += part[i] - before[i];
  const mm_ampo_shape s = mm_ampo_get_shape(a);
  const shape own = { env, s.n_input, s.n_action };
  const double h = HIDDEN, act = 2 * 2 * h * (s.n_input + h) + 2 * h * (s.n_action + 1);
  const double work = act * batch + c->epochs * c->minibatches * work_of_step(&own);
  snprintf(name, sizeof name, "train/%s/%s", env, map);
  MM_TRY(add(results, name, "steps", batch / seconds, "steps/s",
             batch * mm_bench_median(rates, (size_t)iterations) / work));
  MM_TRY(add(results, name, "rollout", 100 * (part[0] - before[0]) / all, "%", NAN));
  MM_TRY(add(results, name, "values", 100 * (part[1] - before[1]) / all, "%", NAN));
  return add(results, name, "update", 100 * (part[2] - before[2]) / all, "%", NAN);
}

static mm_status measure_training(mm_bench_results *results, const char *id, const char *text) {
  mm_settings settings = mm_settings_default(MM_ALGO_GAUSSIAN);
  mm_env *env = NULL;
  mm_map *map = NULL;
  mm_ampo *a = NULL;
  mm_status status = mm_env_open(id, &env);
  if (status == MM_OK) status = mm_map_open(text, &map);
  if (status == MM_OK) status = mm_ampo_create(env, map, &settings.ampo, 0, 0, &a);
  if (status == MM_OK) status = measure_agent(results, id, text, a);
  mm_ampo_destroy(a);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return status;
}

// ---------------------------------------------------------------------------------------------

static mm_status measure_all(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  static const char *const trainings[][2] = { { "Pendulum-v1", "negentropy" },
                                              { "Hopper", "negentropy" },
                                              { "Hopper", "neural" },
                                              { "HalfCheetah", "negentropy" } };
  for (int i = 0; i < SHAPES; i++) {
    rows r;
    if (progress) progress(shapes[i].name, user);
    mm_status status = rows_open(&shapes[i], &r);
    if (status == MM_OK) status = measure_steps(results, &r);
    rows_close(&r);
    MM_TRY(status);
  }
  for (int i = 0; i < MAPS; i++)
    MM_TRY(measure_map(results, maps[i]));
  for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
    if (progress) progress(trainings[i][0], user);
    MM_TRY(measure_training(results, trainings[i][0], trainings[i][1]));
  }
  return MM_OK;
}

mm_status mm_bench_gaussian(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  mm_bench_core core = mm_bench_core_hold();
  mm_status status = measure_all(results, progress, user);
  mm_bench_core_release(&core);
  return status;
}
