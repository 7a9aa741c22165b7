// SPDX-License-Identifier: Apache-2.0
// All loops run over the cells of one mask or over all states at once, contiguously and without
// branches, so that the compiler vectorises them; each entry is a fixed sequence of operations.

#include <stdint.h>
#include <string.h>

#include "env/grid/grid_operator.h"

enum { GROUP = 16 };

static size_t round_up(size_t n) {
  return (n + GROUP - 1) / GROUP * GROUP;
}

// ---------------------------------------------------------------------------------------------
// Making

size_t mm_grid_vector_bytes(const mm_grid *grid) {
  size_t entries = round_up((size_t)grid->n_state) + 2 * round_up((size_t)grid->side);
  return mm_arena_size_of(entries * sizeof(double));
}

size_t mm_grid_operator_bytes(const mm_grid *grid) {
  size_t cells = mm_arena_size_of((size_t)grid->cells * sizeof(double));
  size_t column = mm_arena_size_of(((size_t)1 << grid->n_object) * sizeof(double));
  return (MM_GRID_ACTIONS + 1) * mm_grid_vector_bytes(grid) + (MM_GRID_MOVES + 1) * cells + column;
}

double *mm_grid_vector_take(const mm_grid *grid, mm_arena *arena) {
  double *whole = mm_arena_take(arena, mm_grid_vector_bytes(grid));
  return whole + round_up((size_t)grid->side);
}

void mm_grid_operator_make(const mm_grid *grid, double gamma, bool restart, mm_arena *arena,
                           mm_grid_operator *op) {
  op->grid = grid;
  op->gamma = gamma;
  op->restart = restart;
  op->n = (size_t)grid->n_state;
  op->padded = round_up(op->n);
  op->lead = round_up((size_t)grid->side);
  const ptrdiff_t shift[MM_GRID_MOVES] = { -grid->side, grid->side, -1, 1 };
  size_t cells = (size_t)grid->cells;
  for (int a = 0; a < MM_GRID_MOVES; a++) {
    op->shift[a] = shift[a];
    op->open[a] = mm_arena_take(arena, cells * sizeof(double));
    for (size_t c = 0; c < cells; c++)
      op->open[a][c] = grid->next[c * MM_GRID_ACTIONS + (size_t)a] != (int32_t)c;
  }
  op->inside = mm_arena_take(arena, cells * sizeof(double));
  for (size_t c = 0; c < cells; c++)
    op->inside[c] = !grid->wall[c];
  for (int a = 0; a < MM_GRID_ACTIONS; a++)
    op->weight[a] = mm_grid_vector_take(grid, arena);
  op->after = mm_grid_vector_take(grid, arena);
  op->column = mm_arena_take(arena, ((size_t)1 << grid->n_object) * sizeof(double));
}

// ---------------------------------------------------------------------------------------------
// Policies

// One mask: w_a = pi_a where the move is open, the rest goes to staying; nothing inside walls.
static void weigh(const mm_grid_operator *op, size_t s, const double *restrict p0,
                  const double *restrict p1, const double *restrict p2, const double *restrict p3,
                  const double *restrict p4) {
  const double *restrict o0 = op->open[0], *restrict o1 = op->open[1], *restrict o2 = op->open[2],
                         *restrict o3 = op->open[3], *restrict in = op->inside;
  double *restrict w0 = op->weight[0] + s, *restrict w1 = op->weight[1] + s,
                   *restrict w2 = op->weight[2] + s, *restrict w3 = op->weight[3] + s,
                   *restrict w4 = op->weight[4] + s;
  size_t cells = (size_t)op->grid->cells;
  for (size_t c = 0; c < cells; c++) {
    w0[c] = o0[c] * p0[c];
    w1[c] = o1[c] * p1[c];
    w2[c] = o2[c] * p2[c];
    w3[c] = o3[c] * p3[c];
    double blocked =
        ((1 - o0[c]) * p0[c] + (1 - o1[c]) * p1[c]) + ((1 - o2[c]) * p2[c] + (1 - o3[c]) * p3[c]);
    w4[c] = in[c] * (p4[c] + blocked);
  }
}

void mm_grid_operator_policy(mm_grid_operator *op, const double *policy) {
  size_t n = op->n, cells = (size_t)op->grid->cells;
  for (size_t s = 0; s < n; s += cells)
    weigh(op, s, policy + s, policy + n + s, policy + 2 * n + s, policy + 3 * n + s,
          policy + 4 * n + s);
}

void mm_grid_operator_actions(mm_grid_operator *op, const uint8_t *action) {
  size_t cells = (size_t)op->grid->cells;
  for (int a = 0; a < MM_GRID_ACTIONS; a++)
    memset(op->weight[a], 0, op->n * sizeof(double));
  for (size_t s = 0, c = 0; s < op->n; s++, c = c + 1 < cells ? c + 1 : 0) {
    int a = action[s] < MM_GRID_MOVES && op->open[action[s]][c] != 0 ? action[s] : 4;
    op->weight[a][s] = op->inside[c];
  }
}

// ---------------------------------------------------------------------------------------------
// Respawns

// R_j on blocks of `width` entries per mask: masks without j lean towards those with it.
static void respawn_butterfly(double *x, size_t n_mask, size_t width, int j, double rho) {
  size_t bit = (size_t)1 << j, run = bit * width;
  for (size_t m = 0; m < n_mask; m += 2 * bit) {
    double *restrict low = x + m * width;
    const double *restrict high = low + run;
    for (size_t k = 0; k < run; k++)
      low[k] = (1 - rho) * low[k] + rho * high[k];
  }
}

static void respawn_transposed(double *x, size_t n_mask, size_t width, int j, double rho) {
  size_t bit = (size_t)1 << j, run = bit * width;
  for (size_t m = 0; m < n_mask; m += 2 * bit) {
    double *restrict low = x + m * width, *restrict high = low + run;
    for (size_t k = 0; k < run; k++) {
      high[k] += rho * low[k];
      low[k] *= 1 - rho;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Afterstates

// The entries of B where object i is collected.
static void collect(mm_grid_operator *op, const double *value, int i, bool rewards) {
  const mm_grid *g = op->grid;
  size_t cells = (size_t)g->cells, n_mask = (size_t)1 << g->n_object, bit = (size_t)1 << i;
  size_t cell = (size_t)g->object[i], start = (size_t)mm_grid_index(g, mm_grid_start(g));
  for (size_t m = 0; m < n_mask; m++)
    op->column[m] = value[cell + cells * m];
  for (int j = 0; j < g->n_object; j++) {
    if (j != i) respawn_butterfly(op->column, n_mask, 1, j, g->respawn[j]);
  }
  double stays = op->gamma * (1 - g->terminate[i]), constant = rewards ? g->reward[i] : 0;
  if (op->restart) constant += op->gamma * g->terminate[i] * value[start];
  for (size_t m = 0; m < n_mask; m++) {
    if (m & bit) op->after[cell + cells * m] = constant + stays * op->column[m ^ bit];
  }
}

void mm_grid_operator_after(mm_grid_operator *op, const double *value, bool rewards) {
  const mm_grid *g = op->grid;
  double *restrict after = op->after, gamma = op->gamma;
  for (size_t s = 0; s < op->n; s++)
    after[s] = gamma * value[s];
  for (int j = 0; j < g->n_object; j++)
    respawn_butterfly(after, (size_t)1 << g->n_object, (size_t)g->cells, j, g->respawn[j]);
  for (int i = 0; i < g->n_object; i++)
    collect(op, value, i, rewards);
}

// ---------------------------------------------------------------------------------------------
// Whole steps

void mm_grid_operator_apply(mm_grid_operator *op, const double *value, bool rewards, double *out) {
  mm_grid_operator_after(op, value, rewards);
  const double *b = op->after;
  const double *up = b + op->shift[0], *down = b + op->shift[1], *left = b - 1, *right = b + 1;
  const double *restrict w0 = op->weight[0], *restrict w1 = op->weight[1],
                         *restrict w2 = op->weight[2], *restrict w3 = op->weight[3],
                         *restrict w4 = op->weight[4];
  double *restrict o = out;
  for (size_t s = 0; s < op->n; s++)
    o[s] = (w0[s] * up[s] + w1[s] * down[s]) + (w2[s] * left[s] + w3[s] * right[s]) + w4[s] * b[s];
}

// Mass that collects object i: taken out of the whole and passed on along its own column.
static void collect_transposed(mm_grid_operator *op, int i, double *whole, double *out) {
  const mm_grid *g = op->grid;
  size_t cells = (size_t)g->cells, n_mask = (size_t)1 << g->n_object, bit = (size_t)1 << i;
  size_t cell = (size_t)g->object[i], start = (size_t)mm_grid_index(g, mm_grid_start(g));
  double stays = op->gamma * (1 - g->terminate[i]), collected = 0;
  for (size_t m = 0; m < n_mask; m++) {
    if (!(m & bit)) continue;
    double mass = whole[cell + cells * m];
    whole[cell + cells * m] = 0;
    op->column[m ^ bit] = stays * mass;
    op->column[m] = 0;
    collected += mass;
  }
  for (int j = 0; j < g->n_object; j++) {
    if (j != i) respawn_transposed(op->column, n_mask, 1, j, g->respawn[j]);
  }
  for (size_t m = 0; m < n_mask; m++)
    out[cell + cells * m] += op->column[m];
  if (op->restart) out[start] += op->gamma * g->terminate[i] * collected;
}

void mm_grid_operator_transposed(mm_grid_operator *op, const double *y, double *out) {
  const mm_grid *g = op->grid;
  ptrdiff_t side = g->side;
  const double *restrict w0 = op->weight[0], *restrict w1 = op->weight[1],
                         *restrict w2 = op->weight[2], *restrict w3 = op->weight[3],
                         *restrict w4 = op->weight[4];
  double *restrict mass = op->after;
  ptrdiff_t n = (ptrdiff_t)op->n;
  // what arrives at each afterstate: from below by going up, from above by going down, ...
  for (ptrdiff_t s = 0; s < n; s++)
    mass[s] = (w0[s + side] * y[s + side] + w1[s - side] * y[s - side]) +
              (w2[s + 1] * y[s + 1] + w3[s - 1] * y[s - 1]) + w4[s] * y[s];
  memset(out, 0, op->n * sizeof *out);
  for (int i = 0; i < g->n_object; i++)
    collect_transposed(op, i, mass, out);
  for (int j = 0; j < g->n_object; j++)
    respawn_transposed(mass, (size_t)1 << g->n_object, (size_t)g->cells, j, g->respawn[j]);
  for (size_t s = 0; s < op->n; s++)
    out[s] += op->gamma * mass[s];
}

// A blocked move equals staying, so that only open ones compete with it.
void mm_grid_operator_best(mm_grid_operator *op, const double *value, double *out) {
  mm_grid_operator_after(op, value, true);
  size_t cells = (size_t)op->grid->cells;
  const double *restrict o0 = op->open[0], *restrict o1 = op->open[1], *restrict o2 = op->open[2],
                         *restrict o3 = op->open[3];
  for (size_t s = 0; s < op->n; s += cells) {
    const double *b = op->after + s, *up = b + op->shift[0], *down = b + op->shift[1];
    const double *left = b - 1, *right = b + 1;
    double *restrict o = out + s;
    for (size_t c = 0; c < cells; c++) {
      double stay = b[c];
      double v0 = o0[c] != 0 ? up[c] : stay, v1 = o1[c] != 0 ? down[c] : stay;
      double v2 = o2[c] != 0 ? left[c] : stay, v3 = o3[c] != 0 ? right[c] : stay;
      double x = v0 > v1 ? v0 : v1, z = v2 > v3 ? v2 : v3;
      x = x > z ? x : z;
      o[c] = x > stay ? x : stay;
    }
  }
}
