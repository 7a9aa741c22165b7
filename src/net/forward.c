// SPDX-License-Identifier: Apache-2.0
// From observations to scores and values.

#include <string.h>

#include "net/net_internal.h"

static const uint16_t no_inputs[1];

// Inputs of a list before its filler.
static int32_t list_length(const uint16_t *list, size_t entries, size_t n_input) {
  const uint16_t filler = (uint16_t)n_input;
  uint16_t n = 0; // of the same width as the entries: compares many at a time
  for (size_t i = 0; i < entries; i++)
    n = (uint16_t)(n + (list[i] < filler));
  return n;
}

size_t mm_net_gather(mm_net *net, const mm_net_obs *obs, const uint32_t *row, size_t first,
                     size_t n) {
  const size_t padded = (n + MM_NET_ROWS - 1) / MM_NET_ROWS * MM_NET_ROWS, d = net->n_input;
  for (size_t i = 0; i < n; i++) {
    const size_t from = row ? row[i] : first + i;
    if (obs->lists) {
      net->list[i] = obs->lists + from * obs->entries;
      net->listed[i] = list_length(net->list[i], obs->entries, d);
    } else {
      float *x = net->x + i * (d + 1);
      memcpy(x, obs->floats + from * d, d * sizeof *x);
      x[d] = 1;
    }
  }
  for (size_t i = n; i < padded; i++) {
    net->list[i] = no_inputs;
    net->listed[i] = 0;
    if (!obs->lists) memset(net->x + i * (d + 1), 0, (d + 1) * sizeof *net->x);
  }
  return padded;
}

// Inputs that are on together, like the bricks of a wall, lie a few rows of w1 apart, in bytes a
// power of two: they would share few sets of the cache. So lists go with a copy of w1 whose rows
// are one line longer.
static mm_matrix spread(mm_net *net) {
  const size_t columns = 2 * net->width0, ld = columns + 16;
  if (net->spread_is_old) {
    for (size_t i = 0; i < net->n_input; i++)
      memcpy(net->spread + i * ld, net->param + i * columns, columns * sizeof *net->spread);
  }
  net->spread_is_old = false;
  return (mm_matrix){ net->spread, ld };
}

void mm_net_layer1(mm_net *net, bool lists, int which, size_t from, size_t rows) {
  const mm_net_kernels *k = mm_net_kernels_current();
  const size_t width = net->width0, plane = BLOCK * width, d = net->n_input;
  const size_t half = which == CRITIC ? 1 : 0, columns = which == NETWORKS ? 2 * width : width;
  mm_matrix w = { net->param + half * width, 2 * width };
  const float *bias = w.at + d * w.ld;
  float *h1 = net->h1 + half * plane;
  if (lists) {
    const mm_net_lists x = { net->list + from, net->listed + from };
    w = spread(net);
    w.at += half * width;
    k->layer_lists(net->config.activation, rows, columns, x, w, bias, width, plane, h1);
  } else {
    const mm_matrix x = { net->x + from * (d + 1), d + 1 };
    k->layer(net->config.activation, rows, d, width, x, w, bias, (mm_matrix_out){ h1, width });
  }
}

void mm_net_layer2(mm_net *net, int which, size_t rows) {
  const net_place *of = &net->of[which];
  const size_t inner = net->width0, columns = net->width1;
  mm_net_kernels_current()->layer(net->config.activation, rows, inner, columns,
                                  (mm_matrix){ net->h1 + (size_t)which * BLOCK * inner, inner },
                                  (mm_matrix){ net->param + of->w2, columns }, net->param + of->b2,
                                  (mm_matrix_out){ net->h2, columns });
}

void mm_net_outputs(mm_net *net, int which, size_t n, const uint16_t *row, const uint16_t *column) {
  const net_place *of = &net->of[which];
  const float *bias = net->param + of->b3;
  // groups of eight: the pairs behind the last are harmless
  mm_net_kernels_current()->dots((n + 7) / 8 * 8, net->width1, (mm_matrix){ net->h2, net->ld1 },
                                 row, (mm_matrix){ net->param + of->w3, net->width1 }, column,
                                 net->out);
  for (size_t q = 0; q < n; q++)
    net->out[q] += bias[column[q]];
}

// All outputs of one network for many rows, block by block; out: [rows][outputs].
static void outputs(mm_net *net, int which, const mm_net_obs *obs, size_t rows, float *out) {
  const size_t per_row = net->of[which].outputs;
  const uint16_t *column = which == ACTOR ? net->column : net->first;
  const uint16_t *row = which == ACTOR ? net->row : net->line;
  for (size_t i = 0; i < rows; i += BLOCK) {
    const size_t n = rows - i < BLOCK ? rows - i : BLOCK;
    const size_t padded = mm_net_gather(net, obs, NULL, i, n);
    mm_net_layer1(net, obs->lists != NULL, which, 0, padded);
    mm_net_layer2(net, which, padded);
    mm_net_outputs(net, which, n * per_row, row, column);
    memcpy(out + i * per_row, net->out, n * per_row * sizeof *out);
  }
}

void mm_net_scores(mm_net *net, const mm_net_obs *obs, size_t rows, float *scores) {
  (net->config.gaussian ? mm_net_outputs_wide : outputs)(net, ACTOR, obs, rows, scores);
}

void mm_net_values(mm_net *net, const mm_net_obs *obs, size_t rows, float *values) {
  (net->config.gaussian ? mm_net_outputs_wide : outputs)(net, CRITIC, obs, rows, values);
}
