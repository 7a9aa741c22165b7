// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/host/block.h"

#include <math.h>
#include <string.h>

#include "agent/ampo_internal.h"
#include "base/elementary.h"
#include "env/minatar/minatar.h"
#include "env/vec_internal.h"
#include "map/map_internal.h"

enum { ALIGN = 256 };

// An agent's arrays, in a block that begins anywhere: on the host, on the device, or at 0, where
// pointers are offsets. What travels is the same in all.
typedef struct view {
  mm_cuda_agent agent;
  mm_cuda_gauss gauss;
  unsigned char *map, *wrap, *gauss_at; // gauss itself lies there
} view;

static void *take(uintptr_t *at, size_t bytes) {
  const uintptr_t here = *at;
  *at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  return (void *)here;
}

static mm_cuda_layout layout_of(const mm_ampo *a) {
  return mm_cuda_layout_of(a->info.n_input, a->info.n_action);
}

// Numbers of a flat vector.
static size_t flat_size(const mm_ampo *a) {
  if (a->real) return 2 * (size_t)mm_cuda_gauss_layout_of(a->info.n_input).size;
  return (size_t)layout_of(a).size;
}

// The map that travels with the agent: its own, or of one that moves the first anchor.
static const mm_map *map_of(const mm_ampo *a) {
  return mm_map_stage(a->map, 0);
}

// What travels.
static void lay_moved(const mm_ampo *a, uintptr_t *at, view *v) {
  const size_t params = flat_size(a) * sizeof(float), returns = a->n_env * sizeof(float);
  v->agent.param = take(at, params);
  v->agent.m = take(at, params);
  v->agent.v = take(at, params);
  v->agent.env = take(at, mm_vec_kept_size(a->vec));
  v->agent.episode_return = take(at, returns);
  v->agent.finished = take(at, returns);
  v->map = take(at, map_of(a)->arena.size);
  if (!a->real) return;
  v->gauss_at = take(at, sizeof v->gauss);
  v->gauss.now = take(at, a->n_env * a->row_size);
  v->wrap = take(at, mm_wrap_state_size(a->wrap));
  v->gauss.word = take(at, MM_CUDA_GAUSS_WORDS * sizeof *v->gauss.word);
}

// What a batch of continuous actions has beside that of others.
static void lay_real_batch(const mm_ampo *a, uintptr_t *at, mm_cuda_gauss *g) {
  const size_t n = a->n_env, blocks = (n + MM_RUNNING_BLOCK - 1) / MM_RUNNING_BLOCK;
  const mm_cuda_gauss_layout l = mm_cuda_gauss_layout_of(a->info.n_input);
  g->real = take(at, a->n_row * a->n_out * sizeof *g->real);
  g->mean = take(at, n * MM_CUDA_GAUSS_ACTIONS * sizeof *g->mean);
  g->sent = take(at, n * a->n_out * sizeof *g->sent);
  g->sums = take(at, blocks * 2 * ((size_t)a->info.n_input + 1) * sizeof *g->sums);
  g->seen = take(at, n * sizeof *g->seen);
  g->gradient = take(at, 2 * (size_t)l.size * sizeof *g->gradient);
  g->operand = take(at, 2 * (size_t)l.b2 * sizeof *g->operand);
  g->input = take(at, a->n_row * (size_t)l.inputs * sizeof *g->input);
  g->about = take(at, a->n_row * 4 * sizeof *g->about);
  g->acted = take(at, a->n_row * MM_CUDA_GAUSS_ACTIONS * sizeof *g->acted);
  g->team = take(at, 2 * sizeof *g->team);
  g->report = take(at, MM_CUDA_GAUSS_SPAN_MOST * sizeof *g->report);
}

static void lay_batch(const mm_ampo *a, const mm_cuda_kernel *kernel, uintptr_t *at, view *v) {
  mm_cuda_agent *g = &v->agent;
  const size_t rows = a->n_row * sizeof(float), all = (a->n_row + a->n_env) * sizeof(float);
  g->obs = take(at, (a->n_row + a->n_env) * kernel->obs_size);
  g->row = take(at, rows);
  g->action = take(at, a->n_row);
  g->end = take(at, a->n_row);
  g->policy = take(at, rows);
  g->reward = take(at, rows);
  g->value = take(at, all);
  g->advantage = take(at, rows);
  g->target = take(at, rows);
  g->scratch = take(at, kernel->scratch);
  if (!a->real) return;
  g->scratch = v->gauss_at;
  lay_real_batch(a, at, &v->gauss);
}

mm_cuda_block mm_cuda_block_of(const mm_ampo *a, const mm_cuda_kernel *kernel) {
  mm_cuda_block b = { .kernel = kernel };
  view v = { 0 };
  uintptr_t at = 0;
  lay_moved(a, &at, &v);
  b.moved = at;
  lay_batch(a, kernel, &at, &v);
  b.size = at;
  b.measures = (uintptr_t)v.gauss.report;
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

// The same for networks of Gaussian policies.
static size_t place_gauss(const mm_ampo *a, int i, size_t r, size_t c) {
  enum { OF_NET = MM_NET_TENSORS / 2 };
  const mm_cuda_gauss_layout l = mm_cuda_gauss_layout_of(a->info.n_input);
  const size_t net = i < MM_NET_TENSORS ? (size_t)(i / OF_NET) * (size_t)l.size : 0;
  const int32_t in = (int32_t)r, out = (int32_t)c;
  if (i == MM_NET_LOG_STD) return (size_t)l.log_std + c;
  switch (i % OF_NET) {
  case 0:
    return net + (size_t)l.w1 + mm_cuda_gauss_weight_at(l.inputs / 16, out, in);
  case 1:
    return net + (size_t)l.w1 + mm_cuda_gauss_weight_at(l.inputs / 16, out, a->info.n_input);
  case 2:
    return net + mm_cuda_gauss_weight_at(MM_CUDA_GAUSS_HIDDEN / 16, out, in);
  case 3:
    return net + (size_t)l.b2 + c;
  case 4:
    return net + (size_t)l.w3 + c * MM_CUDA_GAUSS_HIDDEN + r;
  default:
    return net + (size_t)l.b3 + c;
  }
}

static size_t place_any(const mm_ampo *a, const mm_cuda_layout *l, int i, size_t r, size_t c) {
  return a->real ? place_gauss(a, i, r, c) : place(a, l, i, r, c);
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

// Settings and where the agent stands; arrays are laid out by others.
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
    .gamma = (float)c->gamma,
    .gae_lambda = (float)c->gae_lambda,
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

static mm_cuda_gauss describe_gauss(const mm_ampo *a) {
  const mm_actor_critic_config *c = &a->config;
  return (mm_cuda_gauss){ .n_input = a->info.n_input,
                          .n_real = (int32_t)a->n_out,
                          .used = ((int32_t)c->hidden + 63) / 64 * 4,
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
}

static void fill_gauss(const mm_ampo *a, const view *here, view *there) {
  mm_cuda_gauss *g = &there->gauss;
  g->density = mm_density_moved_f(&a->objective->density, map_of(a), there->map);
  g->kept = (void *)there->wrap;
  g->lanes = (void *)(there->wrap + mm_wrap_state_size(a->wrap) - a->n_env * sizeof *g->lanes);
  memcpy(here->gauss_at, g, sizeof *g);
  memcpy(here->gauss.now, a->now, a->n_env * a->row_size);
  mm_wrap_save(a->wrap, here->wrap);
  memset(here->gauss.word, 0, MM_CUDA_GAUSS_WORDS * sizeof *g->word);
}

void mm_cuda_block_fill(const mm_cuda_block *b, const mm_ampo *a, void *host, unsigned char *device,
                        mm_cuda_agent *out) {
  const size_t returns = a->n_env * sizeof(float);
  const mm_map *map = map_of(a);
  view here = { 0 }, there = { .agent = describe(a) };
  uintptr_t from = (uintptr_t)host, to = (uintptr_t)device;
  if (a->real) there.gauss = describe_gauss(a);
  lay_moved(a, &from, &here);
  lay_moved(a, &to, &there);
  lay_batch(a, b->kernel, &to, &there);
  there.agent.map = mm_map_moved_f(map, there.map);
  spread(a, MM_NET_PARAM, here.agent.param);
  spread(a, MM_NET_MOMENT1, here.agent.m);
  spread(a, MM_NET_MOMENT2, here.agent.v);
  mm_vec_keep(a->vec, here.agent.env);
  memcpy(here.agent.episode_return, a->running, returns);
  memcpy(here.agent.finished, a->finished, returns);
  if (map->arena.size > 0) memcpy(here.map, map->arena.base, map->arena.size);
  if (a->real) fill_gauss(a, &here, &there);
  *out = there.agent;
}

mm_status mm_cuda_block_follow(const void *host, int64_t iteration, mm_ampo *a) {
  uintptr_t at = (uintptr_t)host;
  view v = { 0 };
  lay_moved(a, &at, &v);
  gather(a, MM_NET_PARAM, v.agent.param);
  gather(a, MM_NET_MOMENT1, v.agent.m);
  gather(a, MM_NET_MOMENT2, v.agent.v);
  return mm_ampo_follow(a, iteration, v.agent.env, v.agent.episode_return, v.agent.finished,
                        a->real ? v.wrap : NULL);
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

void mm_cuda_block_steps(const mm_ampo *a, int64_t iteration, int64_t span, mm_eta_step *out) {
  for (int64_t i = 0; i < span; i++)
    out[i] = mm_ampo_eta(a, iteration + i);
}

// Record number i of `maps`: the iteration's map, whose block lies at `at`; NULL: none.
static void put_map(const mm_ampo *a, const mm_cuda_twin *maps, int32_t i, const void *at) {
  const mm_map *map = at ? a->at.map : NULL;
  if (a->real)
    ((mm_density_f *)(void *)maps->host)[i] =
        map ? mm_density_moved_f(&a->objective->density, map, at)
            : (mm_density_f){ .kind = MM_MAP_KINDS };
  else
    ((mm_potential_f *)(void *)maps->host)[i] =
        map ? mm_map_moved_f(map, at) : (mm_potential_f){ .kind = MM_MAP_KINDS };
}

mm_status mm_cuda_block_maps(mm_ampo *a, int64_t iteration, const mm_cuda_twin *maps, int32_t *span,
                             mm_eta_step *out, size_t *used) {
  const size_t each = a->real ? sizeof(mm_density_f) : sizeof(mm_potential_f);
  const int32_t wanted = *span;
  uintptr_t end = 0;
  take(&end, (size_t)wanted * each);
  *span = 0;
  for (int32_t i = 0; i < wanted; i++) {
    const mm_status status = mm_ampo_use_map(a, iteration + i);
    if (status != MM_OK && status != MM_ERR_NUMERIC) return status;
    const mm_arena none = { 0 }, *arena = status == MM_OK ? &a->at.map->arena : &none;
    const uintptr_t at = (uintptr_t)take(&end, arena->size);
    if (end > maps->size) break;
    if (arena->size > 0) memcpy(maps->host + at, arena->base, arena->size);
    put_map(a, maps, i, status == MM_OK ? maps->device + at : NULL);
    out[i] = mm_ampo_eta(a, iteration + i);
    *used = end;
    *span = i + 1;
    if (status != MM_OK) break;
  }
  return MM_OK;
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
