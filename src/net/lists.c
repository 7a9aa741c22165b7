// SPDX-License-Identifier: Apache-2.0
// Lists of inputs that are on, at work in gradient steps: those of a span side by side, and the
// same the other way round, for each input the rows that use it.

#include <string.h>

#include "net/net_internal.h"

// Lists lie anywhere in a batch of megabytes: asked for so many rows ahead.
enum { AHEAD = 16 };

static void fetch_list(const uint16_t *list, size_t entries) {
  enum { LINE = 64 / sizeof *list };
  for (size_t k = 0; k < entries; k += LINE)
    __builtin_prefetch(list + k);
}

size_t mm_net_gather_lists(mm_net *net, const mm_net_obs *obs, const uint32_t *row, size_t n) {
  const uint16_t filler = (uint16_t)net->n_input;
  const size_t padded = (n + MM_NET_ROWS - 1) / MM_NET_ROWS * MM_NET_ROWS;
  const size_t most = obs->entries < net->n_input ? obs->entries : net->n_input;
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    const uint16_t *restrict list = obs->lists + row[i] * obs->entries;
    uint16_t *restrict on = net->on + at, length = 0;
    if (i + AHEAD < n) fetch_list(obs->lists + row[i + AHEAD] * obs->entries, most);
    // the filler is copied too, and then written over
    for (size_t k = 0; k < most; k++) {
      on[k] = list[k];
      length = (uint16_t)(length + (list[k] < filler));
    }
    memset(net->on_row + at, (int)i, most);
    net->list[i] = on;
    net->listed[i] = length;
    at += length;
  }
  for (size_t i = n; i < padded; i++)
    net->listed[i] = 0;
  net->n_on = at;
  return padded;
}

// ---------------------------------------------------------------------------------------------
// The other way round

// Rows are entered one after the other, so each input's come out ascending.
static void enter_rows(mm_net *net) {
  const uint16_t *restrict on = net->on;
  const uint8_t *restrict on_row = net->on_row;
  uint8_t **restrict end = net->use_end;
  for (size_t i = 0; i < net->n_input; i++)
    end[i] = net->use_row + i * USE_STRIDE;
  for (size_t k = 0, n = net->n_on; k < n; k++)
    *end[on[k]]++ = on_row[k];
}

static uint16_t use_count(const mm_net *net, size_t input) {
  return (uint16_t)(net->use_end[input] - (net->use_row + input * USE_STRIDE));
}

// Inputs by how many rows use them, those that none uses left out. The kernel's loops then go the
// same number of times again and again, which the CPU predicts.
static size_t sort_inputs(mm_net *net) {
  uint32_t place[SPAN + 2] = { 0 }; // inputs used so often, then where the next of them goes
  for (size_t i = 0; i < net->n_input; i++)
    place[use_count(net, i) + 1]++;
  place[1] = 0;
  for (size_t c = 1; c <= SPAN; c++)
    place[c + 1] += place[c];
  const size_t used = place[SPAN + 1];
  place[0] = (uint32_t)used; // the others go behind
  for (size_t i = 0; i < net->n_input; i++) {
    const uint16_t count = use_count(net, i);
    net->use[place[count]++] = (mm_net_use){ net->use_row + i * USE_STRIDE, (uint16_t)i, count, 0 };
  }
  return used;
}

// Whether two inputs are on in the same rows. Few are, and most differ in the first ones; with
// fewer than eight nothing is gained.
static bool same_rows(const mm_net_use *a, const mm_net_use *b) {
  if (a->count != b->count || a->count < 8) return false;
  uint64_t first[2];
  memcpy(&first[0], a->row, sizeof first[0]);
  memcpy(&first[1], b->row, sizeof first[1]);
  return first[0] == first[1] && memcmp(a->row, b->row, a->count) == 0;
}

size_t mm_net_find_uses(mm_net *net, size_t rows) {
  enter_rows(net);
  const size_t n = sort_inputs(net);
  net->use[n] = (mm_net_use){ net->every_row, (uint16_t)net->n_input, (uint16_t)rows, 0 };
  // things in games move together, or not at all
  for (size_t i = 1; i <= n; i++)
    net->use[i].same = same_rows(&net->use[i - 1], &net->use[i]);
  return n + 1;
}
