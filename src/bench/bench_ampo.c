// Speed of AMPO's gradient steps: minibatches of the paper's sizes, of made-up rows, through the
// networks and the optimiser; and, for the rollout, scores of a few rows at a time and values of
// many.
//
// What is counted: multiply-adds of the layers as two operations, sums of weight rows for inputs
// that are on as one each, twelve operations of Adam per parameter. The limit is how many the same
// core does when it does nothing else, probed in turn with the work. Both are timed by what the
// thread used, not by the clock: on a busy machine a long minibatch is interrupted more often than
// a short probe.

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/status.h"
#include "bench/bench.h"
#include "net/net.h"

enum { ROUNDS = 31 };

typedef struct shape {
  const char *name;
  int32_t n_input, n_action;
  size_t on; // inputs that are 1, on average; 0: all are numbers
  size_t batch, minibatch, envs;
} shape;

static const shape shapes[] = {
  { "cartpole", 4, 2, 0, 512, 128, 4 },
  { "acrobot", 6, 3, 0, 512, 128, 4 },
  { "minatar-400-16", 400, 5, 16, 32768, 4096, 256 },
  { "minatar-700-17", 700, 3, 17, 32768, 4096, 256 },
  { "minatar-600-45", 600, 4, 45, 32768, 4096, 256 },
  { "minatar-1000-45", 1000, 6, 45, 32768, 4096, 256 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const char *const stage_names[MM_NET_STAGES] = {
  "gather", "layer1", "layer2", "loss", "back", "grad2", "grad1", "adam",
};

// ---------------------------------------------------------------------------------------------
// Made-up rows

typedef struct rows {
  const shape *shape;
  mm_net *net;
  mm_net_learn_config config;
  mm_net_batch batch;
  float *x;
  uint16_t *lists;
  int32_t *action;
  float *number[4]; // policy, value, target, advantage
  uint32_t *row;    // [batch] shuffled
  size_t next;      // minibatch, in turn
  double inputs_on; // per row, as drawn
} rows;

static void rows_close(rows *r) {
  mm_net_destroy(r->net);
  mm_free(r->x);
  mm_free(r->lists);
  mm_free(r->action);
  mm_free(r->row);
  for (int i = 0; i < 4; i++)
    mm_free(r->number[i]);
}

static mm_status rows_alloc(rows *r) {
  const size_t n = r->shape->batch, d = (size_t)r->shape->n_input;
  bool ok = true;
  if (r->shape->on)
    r->lists = mm_alloc_array(n * 2 * r->shape->on, sizeof *r->lists);
  else
    r->x = mm_alloc_array(n * d, sizeof *r->x);
  r->action = mm_alloc_array(n, sizeof *r->action);
  r->row = mm_alloc_array(n, sizeof *r->row);
  for (int i = 0; i < 4; i++) {
    r->number[i] = mm_alloc_array(n, sizeof *r->number[i]);
    ok = ok && r->number[i];
  }
  if (ok && (r->lists || r->x) && r->action && r->row) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "benchmark inputs: out of memory");
}

// Every input is on with the same chance.
static void draw_lists(rows *r) {
  const size_t on = r->shape->on, entries = 2 * on, d = (size_t)r->shape->n_input;
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 10);
  const double bound = (double)on / (double)d * 0x1p32;
  size_t total = 0;
  for (size_t i = 0; i < r->shape->batch; i++) {
    uint16_t *list = r->lists + i * entries;
    size_t n = 0;
    for (size_t k = 0; k < d; k += 4) {
      mm_block b = mm_stream_block(stream, i * d + k);
      for (size_t j = 0; j < 4; j++)
        if (b.word[j] < bound && n < entries) list[n++] = (uint16_t)(k + j);
    }
    total += n;
    while (n < entries)
      list[n++] = (uint16_t)d;
  }
  r->inputs_on = (double)total / (double)r->shape->batch;
}

static void draw_rows(rows *r) {
  const shape *s = r->shape;
  const size_t n = s->batch;
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 11);
  const mm_shuffle shuffle =
      mm_shuffle_make(mm_stream_make(0, 0, MM_RNG_BENCH, 12), 0, (uint32_t)n);
  for (size_t i = 0; i < n; i++) {
    mm_block b = mm_stream_block(stream, i), c = mm_stream_block(stream, n + i);
    r->row[i] = mm_shuffle_at(&shuffle, (uint32_t)i);
    r->action[i] = (int32_t)mm_uniform_int(mm_block_pair(c, 0), (uint32_t)s->n_action);
    for (int k = 0; k < 4; k++)
      r->number[k][i] = mm_normal_f(b.word[k]);
  }
  if (s->on) draw_lists(r);
  for (size_t i = 0; r->x && i < n * (size_t)s->n_input; i++)
    r->x[i] = mm_normal_f(mm_stream_block(stream, 2 * n + i).word[0]);
  r->config = mm_net_learn_config_default(MM_OBJECTIVE_AMPO);
  r->config.max_grad_norm = 1;
  r->batch = (mm_net_batch){ .obs = { .floats = r->x, .lists = r->lists, .entries = 2 * s->on },
                             .action = r->action,
                             .policy = r->number[0],
                             .value = r->number[1],
                             .target = r->number[2],
                             .advantage = r->number[3] };
}

static mm_status rows_open(const shape *s, rows *r) {
  *r = (rows){ .shape = s };
  const mm_net_config config = mm_net_config_default(s->n_input, s->n_action);
  MM_TRY(rows_alloc(r));
  MM_TRY(mm_net_create(&config, &r->net));
  MM_TRY(mm_net_init(r->net, 0, 0));
  draw_rows(r);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Measurements

// Operations of one minibatch.
static double operations(const rows *r) {
  const shape *s = r->shape;
  const double square = 2 * 64 * 64, out = 2 * 64; // multiply-adds of both networks
  const double input = s->on ? 128 * r->inputs_on : 2.0 * 128 * s->n_input;
  const double forward = input + 2 * (square + out);
  const double back = forward + 2 * (square + out);
  const double parameters = 128.0 * s->n_input + 8513 + 65.0 * s->n_action;
  return (double)s->minibatch * (forward + back) + 12 * parameters;
}

static mm_status one_minibatch(void *context) {
  rows *r = context;
  const uint32_t *row = r->row + r->next;
  r->next = (r->next + r->shape->minibatch) % r->shape->batch;
  return mm_net_learn(r->net, &r->config, 1e-5, &r->batch, row, r->shape->minibatch, NULL);
}

// Seconds of one minibatch, from as many as take a millisecond.
static mm_status work_once(rows *r, double *seconds) {
  double start = mm_bench_thread_time(), taken;
  size_t count = 0;
  do {
    MM_TRY(one_minibatch(r));
    count++;
    taken = mm_bench_thread_time() - start;
  } while (taken < 1e-3);
  *seconds = taken / (double)count;
  return MM_OK;
}

// Medians of probes and work in turn; the first round warms up.
static mm_status measure_both(rows *r, int rounds, double *peak, double *seconds) {
  double rates[ROUNDS + 1], times[ROUNDS + 1];
  for (int i = 0; i <= rounds; i++) {
    rates[i] = mm_bench_fma_rate();
    MM_TRY(work_once(r, &times[i]));
  }
  *peak = mm_bench_median(rates + 1, (size_t)rounds);
  *seconds = mm_bench_median(times + 1, (size_t)rounds);
  return MM_OK;
}

static mm_status add(mm_bench_results *results, const shape *s, const char *part, double value,
                     const char *unit, double limit) {
  char name[64];
  snprintf(name, sizeof name, "ampo/%s/%s", s->name, part);
  return mm_bench_add(results, name, value, unit, limit);
}

static mm_status add_stages(mm_bench_results *results, rows *r) {
  enum { MINIBATCHES = 16 };
  double seconds[MM_NET_STAGES] = { 0 };
  const size_t count = MINIBATCHES * (r->shape->minibatch < 1024 ? 32 : 1);
  mm_net_profile(r->net, seconds);
  for (size_t i = 0; i < count; i++)
    MM_TRY(one_minibatch(r));
  mm_net_profile(r->net, NULL);
  for (int i = 0; i < MM_NET_STAGES; i++)
    MM_TRY(add(results, r->shape, stage_names[i],
               1e9 * seconds[i] / (double)(count * r->shape->minibatch), "ns/row", NAN));
  return MM_OK;
}

// Nanoseconds per row of one network forward: the actor for as many rows as there are environments,
// the critic for the whole batch.
static mm_status add_forward(mm_bench_results *results, rows *r) {
  const size_t n = r->shape->batch, envs = r->shape->envs;
  float *out = mm_alloc_array(n * (size_t)r->shape->n_action, sizeof *out);
  if (!out) return MM_FAIL(MM_ERR_MEMORY, "benchmark outputs: out of memory");
  double scores[ROUNDS], values[ROUNDS];
  const int rounds = mm_bench_rounds(results, ROUNDS);
  for (int i = 0; i < rounds; i++) {
    double start = mm_bench_thread_time();
    for (size_t k = 0; k < n; k += envs) {
      mm_net_obs obs = r->batch.obs;
      if (obs.lists)
        obs.lists += k * obs.entries;
      else
        obs.floats += k * (size_t)r->shape->n_input;
      mm_net_scores(r->net, &obs, envs, out);
    }
    double middle = mm_bench_thread_time();
    mm_net_values(r->net, &r->batch.obs, n, out);
    scores[i] = (middle - start) / (double)n;
    values[i] = (mm_bench_thread_time() - middle) / (double)n;
  }
  mm_free(out);
  MM_TRY(add(results, r->shape, "scores", 1e9 * mm_bench_median(scores, (size_t)rounds), "ns/row",
             NAN));
  return add(results, r->shape, "values", 1e9 * mm_bench_median(values, (size_t)rounds), "ns/row",
             NAN);
}

static mm_status measure(mm_bench_results *results, rows *r) {
  double peak, seconds;
  MM_TRY(measure_both(r, mm_bench_rounds(results, ROUNDS), &peak, &seconds));
  const double work = operations(r);
  MM_TRY(add(results, r->shape, "update", 1e-9 * work / seconds, "GFLOP/s", 1e-9 * peak));
  MM_TRY(add(results, r->shape, "rows", (double)r->shape->minibatch / seconds, "rows/s",
             (double)r->shape->minibatch * peak / work));
  MM_TRY(add_stages(results, r));
  return add_forward(results, r);
}

static mm_status measure_all(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  double rates[ROUNDS];
  for (int i = 0; i < ROUNDS; i++)
    rates[i] = mm_bench_fma_rate();
  MM_TRY(mm_bench_add(results, "ampo/fma-peak", 1e-9 * mm_bench_median(rates, ROUNDS), "GFLOP/s",
                      NAN));
  for (int i = 0; i < SHAPES; i++) {
    char name[64];
    rows r;
    snprintf(name, sizeof name, "ampo/%s", shapes[i].name);
    if (progress) progress(name, user);
    mm_status status = rows_open(&shapes[i], &r);
    if (status == MM_OK) status = measure(results, &r);
    rows_close(&r);
    MM_TRY(status);
  }
  return MM_OK;
}

mm_status mm_bench_ampo(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  mm_bench_core core = mm_bench_core_hold();
  mm_status status = measure_all(results, progress, user);
  mm_bench_core_release(&core);
  return status;
}
