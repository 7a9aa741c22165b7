#include "backend/cuda/host/cuda_block.h"

#include <math.h>
#include <string.h>

#include "agent/ampo_internal.h"
#include "base/elementary.h"
#include "env/minatar/minatar.h"
#include "env/vec_internal.h"
#include "map/map_internal.h"

enum { ALIGN = 256 };

static size_t take(size_t *at, size_t bytes) {
  const size_t here = *at;
  *at = (here + bytes + ALIGN - 1) / ALIGN * ALIGN;
  return here;
}

static mm_cuda_layout layout_of(const mm_ampo *a) {
  return mm_cuda_layout_of(a->info.n_input, a->info.n_action);
}

// What real actions have beside the others.
static void place_moved(const mm_ampo *a, mm_cuda_block *b, size_t *at) {
  b->gauss = take(at, sizeof(mm_cuda_gauss));
  b->now = take(at, a->n_env * a->row_size);
  b->wrap = take(at, mm_wrap_state_size(a->wrap));
  b->word = take(at, MM_CUDA_GAUSS_WORDS * sizeof(mm_cuda_gauss_word));
}

static void place_batch(const mm_ampo *a, mm_cuda_block *b, size_t *at) {
  const size_t n = a->n_env, blocks = (n + MM_RUNNING_BLOCK - 1) / MM_RUNNING_BLOCK;
  b->real = take(at, a->n_row * a->n_out * sizeof(float));
  b->mean = take(at, n * MM_CUDA_GAUSS_ACTIONS * sizeof(float));
  b->sent = take(at, n * a->n_out * sizeof(float));
  b->sums = take(at, blocks * 2 * ((size_t)a->info.n_input + 1) * sizeof(double));
  b->seen = take(at, n * sizeof(mm_tally));
  b->gradient = take(at, 2 * (size_t)mm_cuda_wide_layout_of(a->info.n_input).size * sizeof(float));
  const mm_cuda_wide_layout l = mm_cuda_wide_layout_of(a->info.n_input);
  b->operand = take(at, 2 * (size_t)l.b2 * sizeof(uint16_t));
  b->input = take(at, a->n_row * (size_t)l.inputs * sizeof(uint16_t));
  b->about = take(at, a->n_row * 4 * sizeof(float));
  b->acted = take(at, a->n_row * MM_CUDA_GAUSS_ACTIONS * sizeof(float));
  b->team = take(at, 2 * sizeof(mm_cuda_gauss_shared_net));
  b->measures = take(at, MM_CUDA_GAUSS_SPAN_MOST * sizeof(mm_cuda_gauss_report));
}

// Numbers of a flat vector.
static size_t flat_size(const mm_ampo *a) {
  if (a->real) return 2 * (size_t)mm_cuda_wide_layout_of(a->info.n_input).size;
  return (size_t)layout_of(a).size;
}

mm_cuda_block mm_cuda_block_of(const mm_ampo *a, const mm_cuda_kernel *kernel) {
  const size_t params = flat_size(a) * sizeof(float), n = a->n_env;
  const size_t rows = a->n_row * sizeof(float), all = (a->n_row + n) * sizeof(float);
  mm_cuda_block b = { 0 };
  size_t at = 0;
  b.param = take(&at, params);
  b.m = take(&at, params);
  b.v = take(&at, params);
  b.env = take(&at, mm_vec_state_size(a->vec));
  b.running = take(&at, n * sizeof(float));
  b.finished = take(&at, n * sizeof(float));
  b.map = take(&at, a->map->arena.size);
  if (a->real) place_moved(a, &b, &at);
  b.moved = at;
  b.obs = take(&at, (a->n_row + n) * kernel->obs_size);
  b.row = take(&at, rows);
  b.action = take(&at, a->n_row);
  b.end = take(&at, a->n_row);
  b.policy = take(&at, rows);
  b.reward = take(&at, rows);
  b.value = take(&at, all);
  b.advantage = take(&at, rows);
  b.target = take(&at, rows);
  b.scratch = take(&at, kernel->scratch);
  if (a->real) place_batch(a, &b, &at);
  b.size = at;
  return b;
}

// ---------------------------------------------------------------------------------------------
// Tensors

// Where row r, column c of tensor i of a net lies in a flat vector.
static size_t place(const mm_ampo *a, const mm_cuda_layout *l, int i, size_t r, size_t c) {
  enum { H = MM_CUDA_HIDDEN, OF_NET = MM_NET_TENSORS / 2 };
  const size_t net = (size_t)(i / OF_NET), outputs = net * (size_t)a->info.n_action;
  switch (i % OF_NET) {
  case 0:
    return r * 2 * H + net * H + c;
  case 1:
    return (size_t)a->info.n_input * 2 * H + net * H + c;
  case 2:
    return (size_t)l->w2 + (net * H + r) * H + c;
  case 3:
    return (size_t)l->b2 + net * H + c;
  case 4:
    return (size_t)l->w3 + (outputs + c) * H + r;
  default:
    return (size_t)l->b3 + outputs + c;
  }
}

// The same for wide networks.
static size_t place_wide(const mm_ampo *a, int i, size_t r, size_t c) {
  enum { OF_NET = MM_NET_TENSORS / 2 };
  const mm_cuda_wide_layout l = mm_cuda_wide_layout_of(a->info.n_input);
  const size_t net = i < MM_NET_TENSORS ? (size_t)(i / OF_NET) * (size_t)l.size : 0;
  const int32_t in = (int32_t)r, out = (int32_t)c;
  if (i == MM_NET_LOG_STD) return (size_t)l.log_std + c;
  switch (i % OF_NET) {
  case 0:
    return net + (size_t)l.w1 + mm_cuda_wide_at(l.inputs / 16, out, in);
  case 1:
    return net + (size_t)l.w1 + mm_cuda_wide_at(l.inputs / 16, out, a->info.n_input);
  case 2:
    return net + mm_cuda_wide_at(MM_CUDA_WIDE / 16, out, in);
  case 3:
    return net + (size_t)l.b2 + c;
  case 4:
    return net + (size_t)l.w3 + c * MM_CUDA_WIDE + r;
  default:
    return net + (size_t)l.b3 + c;
  }
}

static size_t place_any(const mm_ampo *a, const mm_cuda_layout *l, int i, size_t r, size_t c) {
  return a->real ? place_wide(a, i, r, c) : place(a, l, i, r, c);
}

// Tensors of a net that learn.
static int n_learning(const mm_ampo *a) {
  return a->real ? MM_NET_LOG_STD + 1 : MM_NET_TENSORS;
}

static void spread(const mm_ampo *a, mm_net_part part, float *flat) {
  const mm_cuda_layout l = layout_of(a);
  memset(flat, 0, flat_size(a) * sizeof *flat);
  for (int i = 0; i < n_learning(a); i++) {
    const mm_net_tensor t = mm_net_describe(a->net, i);
    const size_t rows = (size_t)t.rows, cols = (size_t)t.cols;
    mm_net_export(a->net, part, i, a->tensor);
    for (size_t r = 0; r < rows; r++)
      for (size_t c = 0; c < cols; c++)
        flat[place_any(a, &l, i, r, c)] = a->tensor[r * cols + c];
  }
}

static void gather(mm_ampo *a, mm_net_part part, const float *flat) {
  const mm_cuda_layout l = layout_of(a);
  for (int i = 0; i < n_learning(a); i++) {
    const mm_net_tensor t = mm_net_describe(a->net, i);
    const size_t rows = (size_t)t.rows, cols = (size_t)t.cols;
    for (size_t r = 0; r < rows; r++)
      for (size_t c = 0; c < cols; c++)
        a->tensor[r * cols + c] = flat[place_any(a, &l, i, r, c)];
    mm_net_import(a->net, part, i, a->tensor);
  }
}

// ---------------------------------------------------------------------------------------------

static mm_cuda_agent describe(const mm_ampo *a) {
  const mm_actor_critic_config *c = &a->config;
  const mm_net_learn_config *l = &a->learn;
  return (mm_cuda_agent){
    .seed = a->seed,
    .repeat = a->repeat,
    .rules = a->vec->config.rules == MM_RULES_MINATAR ? MM_MINATAR_ORIGINAL : MM_MINATAR_GYMNAX,
    .n_env = (int32_t)a->n_env,
    .n_step = (int32_t)a->n_step,
    .n_row = (int32_t)a->n_row,
    .minibatches = (int32_t)c->minibatches,
    .epochs = (int32_t)c->epochs,
    .relu = c->relu,
    .bisect = a->method.bisect10,
    .normalise = l->normalise,
    .eta = l->eta,
    .gamma = (float)c->gamma,
    .gae_lambda = (float)c->gae_lambda,
    .code_factor = a->method.code_target ? l->eta : 1,
    .floor = l->floor,
    .center = l->center,
    .value_clip = l->value_clip,
    .value_coef = l->value_coef,
    .max_grad_norm = l->max_grad_norm,
    .beta1 = (float)l->beta1,
    .rest1 = (float)(1 - l->beta1),
    .beta2 = (float)l->beta2,
    .rest2 = (float)(1 - l->beta2),
    .iteration = a->iteration,
  };
}

static mm_cuda_gauss describe_gauss(const mm_cuda_block *b, const mm_ampo *a,
                                    unsigned char *device) {
  const mm_actor_critic_config *c = &a->config;
  mm_cuda_gauss g = { .n_input = a->info.n_input,
                      .n_real = (int32_t)a->n_out,
                      .wide = ((int32_t)c->hidden + 63) / 64 * 4,
                      .ppo = a->method.ppo,
                      .gymnasium_walls = a->vec->config.gymnasium_walls,
                      .fresh_reset = c->fresh_reset,
                      .raw_obs = !c->normalise_observation,
                      .raw_reward = !c->scale_reward,
                      .clip = a->objective->clip,
                      .entropy_coef = a->learn.entropy_coef,
                      .middle = 0.5f * (a->info.high + a->info.low),
                      .half = 0.5f * (a->info.high - a->info.low),
                      .gamma = c->gamma,
                      .density = a->objective->density.f };
  const mm_potential_f moved = mm_map_moved_f(a->map, device + b->map);
  g.density.psi = moved.psi;
  g.density.knot = moved.knot;
  g.now = (void *)(device + b->now);
  g.kept = (void *)(device + b->wrap);
  g.lanes =
      (void *)(device + b->wrap + mm_wrap_state_size(a->wrap) - a->n_env * sizeof(mm_wrap_lane));
  g.word = (void *)(device + b->word);
  g.real = (void *)(device + b->real);
  g.mean = (void *)(device + b->mean);
  g.sent = (void *)(device + b->sent);
  g.sums = (void *)(device + b->sums);
  g.seen = (void *)(device + b->seen);
  g.gradient = (void *)(device + b->gradient);
  g.operand = (void *)(device + b->operand);
  g.input = (void *)(device + b->input);
  g.about = (void *)(device + b->about);
  g.acted = (void *)(device + b->acted);
  g.team = (void *)(device + b->team);
  g.report = (void *)(device + b->measures);
  return g;
}

static void fill_gauss(const mm_cuda_block *b, const mm_ampo *a, unsigned char *to,
                       unsigned char *device) {
  const mm_cuda_gauss g = describe_gauss(b, a, device);
  memcpy(to + b->gauss, &g, sizeof g);
  memcpy(to + b->now, a->now, a->n_env * a->row_size);
  mm_wrap_save(a->wrap, to + b->wrap);
  memset(to + b->word, 0, MM_CUDA_GAUSS_WORDS * sizeof(mm_cuda_gauss_word));
}

void mm_cuda_block_fill(const mm_cuda_block *b, const mm_ampo *a, void *host, unsigned char *device,
                        mm_cuda_agent *out) {
  unsigned char *to = host;
  const size_t returns = a->n_env * sizeof(float);
  spread(a, MM_NET_PARAM, (void *)(to + b->param));
  spread(a, MM_NET_MOMENT1, (void *)(to + b->m));
  spread(a, MM_NET_MOMENT2, (void *)(to + b->v));
  mm_vec_save(a->vec, to + b->env);
  memcpy(to + b->running, a->running, returns);
  memcpy(to + b->finished, a->finished, returns);
  if (a->map->arena.size > 0) memcpy(to + b->map, a->map->arena.base, a->map->arena.size);
  *out = describe(a);
  out->map = mm_map_moved_f(a->map, device + b->map);
  out->param = (void *)(device + b->param);
  out->m = (void *)(device + b->m);
  out->v = (void *)(device + b->v);
  out->env = device + b->env;
  out->running = (void *)(device + b->running);
  out->finished = (void *)(device + b->finished);
  out->obs = device + b->obs;
  out->row = (void *)(device + b->row);
  out->action = device + b->action;
  out->end = device + b->end;
  out->policy = (void *)(device + b->policy);
  out->reward = (void *)(device + b->reward);
  out->value = (void *)(device + b->value);
  out->advantage = (void *)(device + b->advantage);
  out->target = (void *)(device + b->target);
  out->scratch = device + (a->real ? b->gauss : b->scratch);
  if (a->real) fill_gauss(b, a, to, device);
}

mm_status mm_cuda_block_follow(const mm_cuda_block *b, const void *host, int64_t iteration,
                               mm_ampo *a) {
  const unsigned char *from = host;
  gather(a, MM_NET_PARAM, (const void *)(from + b->param));
  gather(a, MM_NET_MOMENT1, (const void *)(from + b->m));
  gather(a, MM_NET_MOMENT2, (const void *)(from + b->v));
  return mm_ampo_follow(a, iteration, from + b->env, (const void *)(from + b->running),
                        (const void *)(from + b->finished), a->real ? from + b->wrap : NULL);
}

mm_gaussian_report mm_cuda_block_measure(const mm_cuda_gauss_report *seen) {
  const double n = (double)seen->samples;
  return (mm_gaussian_report){
    .samples = seen->samples,
    .ess = seen->squares > 0 ? seen->ratios * seen->ratios / (n * seen->squares) : NAN,
    .max_delta = seen->max_delta,
    .divergence = seen->measured > 0 ? seen->gaps / (double)seen->measured : NAN,
    .clamped = seen->clamped,
    .capped = seen->capped,
    .nonfinite = seen->nonfinite,
  };
}

// p -= step m / (sqrt(v c) + epsilon) with c = 1 / (1 - beta2^k) is
// p -= (step / sqrt c) m / (sqrt(v) + epsilon / sqrt c).
void mm_cuda_block_rates(const mm_ampo *a, int64_t iteration, int64_t span, mm_cuda_rate *out) {
  const int64_t steps = (int64_t)a->config.epochs * (int64_t)a->config.minibatches;
  const double iterations = (double)mm_ampo_iterations(&a->config);
  for (int64_t i = iteration; i < iteration + span; i++) {
    const double left = 1 - (double)i / iterations;
    const double lr = a->config.lr * (a->config.anneal ? left : 1);
    for (int64_t k = i * steps + 1; k <= (i + 1) * steps; k++, out++) {
      const double left1 = mm_pow_d(a->learn.beta1, (double)k);
      const double root = sqrt(1 - mm_pow_d(a->learn.beta2, (double)k));
      out->rate = (float)(lr / (1 - left1) * root);
      out->epsilon = (float)((double)a->learn.epsilon * root);
    }
  }
}
