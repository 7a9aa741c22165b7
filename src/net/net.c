// SPDX-License-Identifier: Apache-2.0
// Shapes, memory and tensors of a net.

#include "net/net.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "base/status.h"
#include "net/net_internal.h"
#include "net/wide.h"

MM_ISA_CHOOSE(const mm_net_kernels, mm_net_kernels)
MM_ISA_CHOOSE(const mm_wide_kernels, mm_wide_kernels)

static size_t rounded(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

mm_net_config mm_net_config_default(int32_t n_input, int32_t n_action) {
  return (mm_net_config){
    .n_input = n_input, .n_action = n_action, .hidden = { 64, 64 }, .activation = MM_ACTIVATION_TANH
  };
}

mm_net_learn_config mm_net_learn_config_default(mm_objective objective) {
  return (mm_net_learn_config){ .objective = objective,
                                .eta = 0.9f,
                                .floor = -INFINITY,
                                .policy_clip = 0.2f,
                                .entropy_coef = 0.01f,
                                .normalise = true,
                                .value_clip = 0.2f,
                                .value_coef = 0.5f,
                                .max_grad_norm = INFINITY,
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .epsilon = 1e-5f };
}

// ---------------------------------------------------------------------------------------------
// Memory

static mm_status check_size(const char *name, int32_t size, int32_t most) {
  if (size >= 1 && size <= most) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "network: %s: expected between 1 and %d, found %d", name, (int)most,
                 (int)size);
}

static mm_status check_config(const mm_net_config *c) {
  MM_TRY(check_size("inputs", c->n_input, MM_NET_INPUT_MAX));
  MM_TRY(check_size("actions", c->n_action, MM_NET_ACTION_MAX));
  MM_TRY(check_size("units of the first hidden layer", c->hidden[0], MM_NET_HIDDEN_MAX));
  return check_size("units of the second hidden layer", c->hidden[1], MM_NET_HIDDEN_MAX);
}

static void place_all(mm_net *net, const mm_net_config *config) {
  net->config = *config;
  net->n_input = (size_t)config->n_input;
  net->width0 = rounded((size_t)config->hidden[0], 16);
  net->width1 = rounded((size_t)config->hidden[1], 16);
  net->ld0 = net->width0 + (config->gaussian ? PAD : 0);
  net->ld1 = net->width1 + (config->gaussian ? PAD : 0);
  size_t at = (net->n_input + 1) * 2 * net->width0;
  for (int i = 0; i < NETWORKS; i++) {
    net_place *of = &net->of[i];
    of->outputs = i == ACTOR ? (size_t)config->n_action : 1;
    of->w2 = at;
    of->b2 = of->w2 + net->width0 * net->ld1;
    of->w3 = of->b2 + net->width1;
    of->b3 = of->w3 + of->outputs * net->width1;
    at = of->b3 + rounded(of->outputs, 16);
    if (i == ACTOR && config->gaussian) {
      net->log_std = at;
      at += rounded(of->outputs, 16);
    }
  }
  net->size = rounded(at, 64);
}

// One array of the net: a slice of the arena, or only its size where there is none yet.
static size_t slice(mm_arena *arena, size_t count, size_t size, void *where) {
  if (arena) {
    void *taken = mm_arena_take(arena, count * size);
    memcpy(where, &taken, sizeof taken);
  }
  return mm_arena_size_of(count * size);
}

static size_t slices(mm_net *n, mm_arena *arena) {
  const bool wide = n->config.gaussian;
  const size_t rows = wide ? SPAN : BLOCK, kept = wide ? n->n_input : 0;
  const size_t networks = wide ? 1 : NETWORKS; // at a time
  size_t pairs = rows * n->of[ACTOR].outputs + 8, square = n->ld0 * n->width1, sum = 0;
  sum += slice(arena, n->size, sizeof *n->param, &n->param);
  sum += slice(arena, n->size, sizeof *n->gradient, &n->gradient);
  sum += slice(arena, n->size, sizeof *n->m, &n->m);
  sum += slice(arena, n->size, sizeof *n->v, &n->v);
  sum += slice(arena, square, sizeof *n->back[0], &n->back[ACTOR]);
  sum += slice(arena, square, sizeof *n->back[0], &n->back[CRITIC]);
  sum += slice(arena, kept, sizeof *n->input[0], &n->input[0]);
  sum += slice(arena, kept, sizeof *n->input[1], &n->input[1]);
  sum += slice(arena, n->n_input * (2 * n->width0 + 16), sizeof *n->spread, &n->spread);
  sum += slice(arena, SPAN * (n->n_input + 1), sizeof *n->x, &n->x);
  sum += slice(arena, SPAN, sizeof *n->list, &n->list);
  sum += slice(arena, SPAN, sizeof *n->listed, &n->listed);
  sum += slice(arena, networks * rows * n->ld0, sizeof *n->h1, &n->h1);
  sum += slice(arena, rows * n->ld1, sizeof *n->h2, &n->h2);
  sum += slice(arena, networks * SPAN * n->ld0, sizeof *n->d1, &n->d1);
  sum += slice(arena, pairs, sizeof *n->out, &n->out);
  sum += slice(arena, pairs, sizeof *n->error, &n->error);
  sum += slice(arena, pairs, sizeof *n->row, &n->row);
  sum += slice(arena, pairs, sizeof *n->column, &n->column);
  sum += slice(arena, rows + 8, sizeof *n->line, &n->line);
  sum += slice(arena, rows + 8, sizeof *n->first, &n->first);
  sum += slice(arena, n->of[ACTOR].outputs + 1, sizeof *n->start, &n->start);
  sum += slice(arena, BLOCK + 1, sizeof *n->order, &n->order);
  sum += slice(arena, (SPAN + 1) * n->n_input, sizeof *n->on, &n->on);
  sum += slice(arena, (SPAN + 1) * n->n_input, sizeof *n->on_row, &n->on_row);
  sum += slice(arena, n->n_input + 1, sizeof *n->use, &n->use);
  sum += slice(arena, n->n_input * USE_STRIDE, sizeof *n->use_row, &n->use_row);
  sum += slice(arena, n->n_input, sizeof *n->use_end, &n->use_end);
  sum += slice(arena, SPAN, sizeof *n->every_row, &n->every_row);
  return sum;
}

mm_status mm_net_create(const mm_net_config *config, mm_net **out) {
  *out = NULL;
  MM_TRY(check_config(config));
  mm_net plan = { .back_is_old = true, .spread_is_old = true };
  place_all(&plan, config);
  mm_arena arena;
  MM_TRY(mm_arena_create(mm_arena_size_of(sizeof plan) + slices(&plan, NULL), &arena));
  mm_net *net = mm_arena_take(&arena, sizeof *net);
  slices(&plan, &arena);
  plan.arena = arena;
  *net = plan;
  size_t actions = net->of[ACTOR].outputs, rows = config->gaussian ? SPAN : BLOCK;
  for (size_t q = 0; q < rows * actions; q++) {
    net->row[q] = (uint16_t)(q / actions);
    net->column[q] = (uint16_t)(q % actions);
  }
  for (size_t i = 0; i < rows; i++)
    net->line[i] = (uint16_t)i;
  for (size_t i = 0; i < SPAN; i++)
    net->every_row[i] = (uint8_t)i;
  *out = net;
  return MM_OK;
}

void mm_net_destroy(mm_net *net) {
  if (!net) return;
  mm_arena arena = net->arena; // the net itself lies in it
  mm_arena_destroy(&arena);
}

void mm_net_copy(mm_net *net, const mm_net *from) {
  assert(net->size == from->size);
  memcpy(net->param, from->param, net->size * sizeof *net->param);
  memcpy(net->m, from->m, net->size * sizeof *net->m);
  memcpy(net->v, from->v, net->size * sizeof *net->v);
  net->count = from->count;
  net->back_is_old = net->spread_is_old = true;
}

// ---------------------------------------------------------------------------------------------
// Tensors

// Where entry [i][j] of a tensor lies: at + i * row + j * column.
typedef struct tensor_place {
  size_t at, row, column;
} tensor_place;

static const char *const tensor_names[MM_NET_TENSORS_MAX] = {
  "actor.0.weight",  "actor.0.bias",    "actor.1.weight", "actor.1.bias",    "actor.2.weight",
  "actor.2.bias",    "critic.0.weight", "critic.0.bias",  "critic.1.weight", "critic.1.bias",
  "critic.2.weight", "critic.2.bias",   "actor.log_std",  "input.mean",      "input.variance",
};

int mm_net_tensors_of(const mm_net_config *config) {
  return config->gaussian ? MM_NET_TENSORS_MAX : MM_NET_TENSORS;
}

int mm_net_tensors(const mm_net *net) {
  return mm_net_tensors_of(&net->config);
}

static tensor_place tensor_at(const mm_net *net, int i) {
  const size_t half = (size_t)(i / 6) * net->width0, both = 2 * net->width0;
  if (i >= MM_NET_TENSORS) return (tensor_place){ net->log_std, 0, 1 };
  const net_place *of = &net->of[i / 6];
  switch (i % 6) {
  case 0:
    return (tensor_place){ half, both, 1 };
  case 1:
    return (tensor_place){ net->n_input * both + half, 0, 1 };
  case 2:
    return (tensor_place){ of->w2, net->ld1, 1 };
  case 3:
    return (tensor_place){ of->b2, 0, 1 };
  case 4:
    return (tensor_place){ of->w3, 1, net->width1 };
  default:
    return (tensor_place){ of->b3, 0, 1 };
  }
}

mm_net_tensor mm_net_tensor_of(const mm_net_config *c, int i) {
  if (i >= MM_NET_TENSORS)
    return (mm_net_tensor){ tensor_names[i], 1, i == MM_NET_LOG_STD ? c->n_action : c->n_input };
  const int32_t sizes[4] = { c->n_input, c->hidden[0], c->hidden[1], i < 6 ? c->n_action : 1 };
  const int layer = i % 6 / 2, bias = i % 2;
  return (mm_net_tensor){ tensor_names[i], bias ? 1 : sizes[layer], sizes[layer + 1] };
}

mm_net_tensor mm_net_describe(const mm_net *net, int i) {
  return mm_net_tensor_of(&net->config, i);
}

// What the net only keeps, or NULL.
static float *kept_of(const mm_net *net, int tensor) {
  return tensor > MM_NET_LOG_STD ? net->input[tensor - MM_NET_INPUT_MEAN] : NULL;
}

static float *part_of(const mm_net *net, mm_net_part part) {
  float *const parts[MM_NET_PARTS] = { net->param, net->m, net->v, net->gradient };
  return parts[part];
}

void mm_net_export(const mm_net *net, mm_net_part part, int tensor, float *out) {
  const mm_net_tensor shape = mm_net_describe(net, tensor);
  const size_t rows = (size_t)shape.rows, cols = (size_t)shape.cols;
  const float *kept = kept_of(net, tensor);
  if (kept) {
    for (size_t j = 0; j < cols; j++)
      out[j] = part == MM_NET_PARAM ? kept[j] : 0;
    return;
  }
  const tensor_place place = tensor_at(net, tensor);
  const float *from = part_of(net, part) + place.at;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      out[i * cols + j] = from[i * place.row + j * place.column];
}

void mm_net_import(mm_net *net, mm_net_part part, int tensor, const float *in) {
  const mm_net_tensor shape = mm_net_describe(net, tensor);
  const size_t rows = (size_t)shape.rows, cols = (size_t)shape.cols;
  float *kept = kept_of(net, tensor);
  if (kept) {
    if (part == MM_NET_PARAM) memcpy(kept, in, cols * sizeof *in);
    return;
  }
  const tensor_place place = tensor_at(net, tensor);
  float *to = part_of(net, part) + place.at;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      to[i * place.row + j * place.column] = in[i * cols + j];
  net->back_is_old = net->spread_is_old = true;
}

uint64_t mm_net_count(const mm_net *net) {
  return net->count;
}

void mm_net_set_count(mm_net *net, uint64_t count) {
  net->count = count;
}

const mm_net_config *mm_net_shape(const mm_net *net) {
  return &net->config;
}

void mm_net_profile(mm_net *net, double *seconds) {
  net->seconds = seconds;
}
