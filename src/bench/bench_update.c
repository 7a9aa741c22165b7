// SPDX-License-Identifier: Apache-2.0
// Speed of gradient steps on one core: minibatches of the paper's sizes, of made-up rows, through
// the networks and the optimiser, whole and stage by stage; for the rollout, scores of a few rows
// at a time and values of many; and what maps cost on densities.
//
// What is counted: multiply-adds of the layers as two operations, sums of weight rows for inputs
// that are on as one each, twelve operations of Adam per parameter. The limit is how many the same
// core does when it does nothing else, probed in turn with the work.

#include <math.h>

#include "base/rng.h"
#include "bench/bench.h"

typedef struct shape {
  const char *name;
  int32_t n_input, n_action;
  size_t on; // inputs that are 1, on average; 0: all are numbers
  int hidden;
  size_t batch, minibatch;
  size_t envs, forward; // rows of a call for scores; rows that all calls have
} shape;

static const shape ampo_shapes[] = {
  { "ampo/cartpole", 4, 2, 0, 64, 512, 128, 4, 512 },
  { "ampo/acrobot", 6, 3, 0, 64, 512, 128, 4, 512 },
  { "ampo/minatar-400-16", 400, 5, 16, 64, 32768, 4096, 256, 32768 },
  { "ampo/minatar-700-17", 700, 3, 17, 64, 32768, 4096, 256, 32768 },
  { "ampo/minatar-600-45", 600, 4, 45, 64, 32768, 4096, 256, 32768 },
  { "ampo/minatar-1000-45", 1000, 6, 45, 64, 32768, 4096, 256, 32768 },
};

static const shape gaussian_shapes[] = {
  { "gaussian/hopper", 11, 3, 0, 256, 20480, 160, 2048, 2048 },
  { "gaussian/half-cheetah", 17, 6, 0, 256, 20480, 160, 2048, 2048 },
  { "gaussian/ant", 27, 8, 0, 256, 20480, 160, 2048, 2048 },
};

// ---------------------------------------------------------------------------------------------
// Made-up rows

typedef struct rows {
  const shape *shape;
  bool gaussian;
  mm_map *map; // of the Gaussian's objective
  mm_net *net;
  mm_net_learn_config config;
  mm_gaussian_objective objective;
  mm_net_batch batch;
  float *numbers;  // policy, value, target, advantage [batch]; then inputs and continuous actions
  float *out;      // [batch][n_action]
  uint16_t *lists; // [batch][2 on]
  int32_t *action; // [batch]
  uint32_t *row;   // [batch] shuffled
  size_t next;     // minibatch, in turn
  double work[MM_NET_STAGES], work_all; // operations per row
} rows;

static void rows_close(rows *r) {
  mm_net_destroy(r->net);
  mm_map_destroy(r->map);
  mm_free(r->numbers);
  mm_free(r->out);
  mm_free(r->lists);
  mm_free(r->action);
  mm_free(r->row);
}

static mm_status rows_alloc(rows *r) {
  const shape *s = r->shape;
  const size_t n = s->batch, d = s->on ? 0 : (size_t)s->n_input;
  r->numbers = mm_alloc_array(n * (4 + d + (size_t)s->n_action), sizeof *r->numbers);
  r->out = mm_alloc_array(n * (size_t)s->n_action, sizeof *r->out);
  r->lists = mm_alloc_array(n * 2 * (s->on ? s->on : 1), sizeof *r->lists);
  r->action = mm_alloc_array(n, sizeof *r->action);
  r->row = mm_alloc_array(n, sizeof *r->row);
  if (r->numbers && r->out && r->lists && r->action && r->row) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "benchmark inputs: out of memory");
}

// Every input is on with the same chance. Returns how many there are per row.
static double draw_lists(rows *r) {
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
  return (double)total / (double)r->shape->batch;
}

static void draw_rows(rows *r) {
  const shape *s = r->shape;
  const size_t n = s->batch, d = s->on ? 0 : (size_t)s->n_input;
  const mm_stream normals = mm_stream_make(0, 0, MM_RNG_BENCH, 11);
  const mm_stream actions = mm_stream_make(0, 0, MM_RNG_BENCH, 13);
  const mm_shuffle shuffle =
      mm_shuffle_make(mm_stream_make(0, 0, MM_RNG_BENCH, 12), 0, (uint32_t)n);
  for (size_t i = 0; i < n * (4 + d + (size_t)s->n_action); i++)
    r->numbers[i] = mm_normal_f(mm_stream_block(normals, i / 4).word[i % 4]);
  for (size_t i = 0; i < n; i++)
    r->action[i] = (int32_t)mm_uniform_int(mm_stream_pair(actions, i), (uint32_t)s->n_action);
  mm_shuffle_all(&shuffle, r->row);
  r->batch = (mm_net_batch){ .policy = r->numbers,
                             .value = r->numbers + n,
                             .target = r->numbers + 2 * n,
                             .advantage = r->numbers + 3 * n };
  if (s->on)
    r->batch.obs = (mm_net_obs){ .lists = r->lists, .entries = 2 * s->on };
  else
    r->batch.obs = (mm_net_obs){ .floats = r->numbers + 4 * n };
  if (r->gaussian)
    r->batch.real = r->numbers + (4 + d) * n;
  else
    r->batch.action = r->action;
}

// The densities of the actions are those that they have.
static mm_status make_gaussian(rows *r) {
  MM_TRY(mm_map_create_negentropy(&r->map));
  mm_gaussian_objective_make(r->map, 1, false, 0.5, 0.2, &r->objective);
  r->config.entropy_coef = 0;
  r->config.weigh = mm_gaussian_objective_weigh;
  r->config.user = &r->objective;
  mm_net_scores(r->net, &r->batch.obs, r->shape->batch, r->out);
  mm_net_log_density(r->net, r->shape->batch, r->out, r->batch.real, r->numbers);
  return MM_OK;
}

static mm_status rows_open(const shape *s, bool gaussian, rows *r) {
  *r = (rows){ .shape = s, .gaussian = gaussian };
  mm_net_config config = mm_net_config_default(s->n_input, s->n_action);
  config.hidden[0] = config.hidden[1] = s->hidden;
  config.gaussian = gaussian;
  MM_TRY(rows_alloc(r));
  MM_TRY(mm_net_create(&config, &r->net));
  MM_TRY(mm_net_init(r->net, 0, 0));
  draw_rows(r);
  mm_ampo_shape counted = { .n_input = s->n_input, .n_action = s->n_action, .lists = s->on > 0 };
  if (s->on) counted.inputs_on = draw_lists(r);
  r->work_all = mm_bench_row_work(gaussian, s->hidden, &counted, s->minibatch, r->work);
  r->config = mm_net_learn_config_default(MM_OBJECTIVE_AMPO);
  r->config.max_grad_norm = 1;
  return gaussian ? make_gaussian(r) : MM_OK;
}

// ---------------------------------------------------------------------------------------------
// What is timed

static mm_status one_minibatch(rows *r) {
  const uint32_t *row = r->row + r->next;
  r->next = (r->next + r->shape->minibatch) % r->shape->batch;
  return mm_net_learn(r->net, &r->config, r->gaussian ? 1e-6 : 1e-5, &r->batch, row,
                      r->shape->minibatch, NULL);
}

enum { GAUSSIAN_STEPS = 8 }; // between two looks at the clock

static mm_status update(void *context) {
  rows *r = context;
  for (int i = 0; i < (r->gaussian ? GAUSSIAN_STEPS : 1); i++)
    MM_TRY(one_minibatch(r));
  return MM_OK;
}

static mm_status make_scores(void *context) {
  rows *r = context;
  for (size_t k = 0; k < r->shape->forward; k += r->shape->envs) {
    mm_net_obs obs = r->batch.obs;
    if (obs.lists)
      obs.lists += k * obs.entries;
    else
      obs.floats += k * (size_t)r->shape->n_input;
    mm_net_scores(r->net, &obs, r->shape->envs, r->out);
  }
  return MM_OK;
}

static mm_status make_values(void *context) {
  rows *r = context;
  mm_net_values(r->net, &r->batch.obs, r->shape->forward, r->out);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Measurements

// A part by its work and seconds per row: a rate beside the limit for the large layers of Gaussian
// policies, else the time.
static void add_part(mm_bench *b, const rows *r, const char *part, double work, double seconds,
                     double peak) {
  if (r->gaussian && work > 0)
    mm_bench_add(b, 1e-9 * work / seconds, "GFLOP/s", 1e-9 * peak, "%s/%s", r->shape->name, part);
  else
    mm_bench_add(b, 1e9 * seconds, "ns/row", NAN, "%s/%s", r->shape->name, part);
}

static mm_status add_stages(mm_bench *b, rows *r, double peak) {
  static const char *const names[MM_NET_STAGES] = { "gather", "layer1", "layer2", "loss",
                                                    "back",   "grad2",  "grad1",  "adam" };
  double seconds[MM_NET_STAGES] = { 0 };
  const size_t minibatch = r->shape->minibatch, count = (r->gaussian ? 10240 : 65536) / minibatch;
  mm_net_profile(r->net, seconds);
  for (size_t i = 0; i < count; i++)
    MM_TRY(one_minibatch(r));
  mm_net_profile(r->net, NULL);
  for (int i = 0; i < MM_NET_STAGES; i++)
    add_part(b, r, names[i], r->work[i], seconds[i] / (double)(count * minibatch), peak);
  return MM_OK;
}

static mm_status measure(mm_bench *b, rows *r) {
  static mm_bench_work *const works[] = { update, make_scores, make_values };
  const shape *s = r->shape;
  double peak, seconds[3];
  MM_TRY(mm_bench_turns(mm_bench_rounds(b, r->gaussian ? 15 : 31), works, 3, r, &peak, seconds));
  const double per_call = (double)s->minibatch * (r->gaussian ? GAUSSIAN_STEPS : 1);
  const double n = (double)s->forward, h = s->hidden, hidden = 2 * h * (s->n_input + h);
  mm_bench_add(b, 1e-9 * per_call * r->work_all / seconds[0], "GFLOP/s", 1e-9 * peak, "%s/update",
               s->name);
  mm_bench_add(b, per_call / seconds[0], "rows/s", peak / r->work_all, "%s/rows", s->name);
  MM_TRY(add_stages(b, r, peak));
  add_part(b, r, r->gaussian ? "means" : "scores", hidden + 2 * h * s->n_action, seconds[1] / n,
           peak);
  add_part(b, r, "values", hidden + 2 * h, seconds[2] / n, peak);
  return MM_OK;
}

static mm_status measure_shapes(mm_bench *b, const shape *s, size_t n, bool gaussian) {
  for (size_t i = 0; i < n; i++) {
    rows r;
    mm_bench_begin(b, "%s", s[i].name);
    mm_status status = rows_open(&s[i], gaussian, &r);
    if (status == MM_OK) status = measure(b, &r);
    rows_close(&r);
    MM_TRY(status);
  }
  return MM_OK;
}

mm_status mm_bench_ampo(mm_bench *b) {
  double peak;
  MM_TRY(mm_bench_turns(MM_BENCH_TURNS_MOST, NULL, 0, NULL, &peak, NULL));
  mm_bench_add(b, 1e-9 * peak, "GFLOP/s", NAN, "ampo/fma-peak");
  return measure_shapes(b, ampo_shapes, sizeof ampo_shapes / sizeof *ampo_shapes, false);
}

// ---------------------------------------------------------------------------------------------
// Maps on densities

enum { SAMPLES = 160, WEIGHINGS = 50 };

typedef struct densities {
  mm_gaussian_objective objective;
  float log_p[SAMPLES], log_q[SAMPLES], advantage[SAMPLES], gain[SAMPLES], weight[SAMPLES];
} densities;

static mm_status weigh(void *context) {
  densities *d = context;
  for (int k = 0; k < WEIGHINGS; k++)
    mm_gaussian_objective_weigh(&d->objective, SAMPLES, d->log_p, d->log_q, d->advantage, d->gain,
                                d->weight);
  return MM_OK;
}

static mm_status measure_map(mm_bench *b, const char *name) {
  static mm_bench_work *const works[] = { weigh };
  const mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 27);
  densities d;
  mm_map *map;
  double peak, seconds;
  MM_TRY(mm_map_open(name, &map));
  for (size_t i = 0; i < SAMPLES; i++) {
    const mm_block block = mm_stream_block(stream, i);
    d.log_q[i] = -3 + mm_normal_f(block.word[0]);
    d.log_p[i] = d.log_q[i] + 0.05f * mm_normal_f(block.word[1]);
    d.advantage[i] = mm_normal_f(block.word[2]);
  }
  mm_gaussian_objective_make(map, 1, false, 0.5, 0.2, &d.objective);
  mm_status status = mm_bench_turns(mm_bench_rounds(b, 15), works, 1, &d, &peak, &seconds);
  mm_map_destroy(map);
  if (status == MM_OK)
    mm_bench_add(b, 1e9 * seconds / (WEIGHINGS * SAMPLES), "ns/row", NAN, "gaussian/weigh/%s",
                 name);
  return status;
}

mm_status mm_bench_gaussian(mm_bench *b) {
  static const char *const maps[] = { "negentropy", "l2", "tsallis:1.5", "piecewise", "neural" };
  MM_TRY(
      measure_shapes(b, gaussian_shapes, sizeof gaussian_shapes / sizeof *gaussian_shapes, true));
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    MM_TRY(measure_map(b, maps[i]));
  return MM_OK;
}
