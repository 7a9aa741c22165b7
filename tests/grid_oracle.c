// SPDX-License-Identifier: Apache-2.0
#include "grid_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool oracle_is_wall(const mm_grid *g, int32_t state) {
  return g->wall[state % (g->side * g->side)] != 0;
}

static int32_t move(const mm_grid *g, int32_t cell, int action) {
  static const int d_row[] = { -1, 1, 0, 0, 0 }, d_col[] = { 0, 0, -1, 1, 0 };
  int row = cell / g->side + d_row[action], col = cell % g->side + d_col[action];
  if (row < 0 || row >= g->side || col < 0 || col >= g->side) return cell;
  return g->wall[row * g->side + col] ? cell : row * g->side + col;
}

void oracle_step(const mm_grid *g, int32_t state, int action, bool restart, oracle_outcomes *out) {
  int32_t cells = g->side * g->side, to = move(g, state % cells, action);
  int mask = state / cells, collected = -1, n_mask = 1 << g->n_object;
  for (int i = 0; i < g->n_object; i++) {
    if ((mask >> i & 1) && g->object[i] == to) collected = i;
  }
  out->n = 0;
  out->reward = collected < 0 ? 0 : g->reward[collected];
  out->ends = collected < 0 ? 0 : g->terminate[collected];
  for (int back = 0; back < n_mask; back++) {
    if (back & mask) continue; // only absent objects respawn
    double p = 1 - out->ends;
    for (int j = 0; j < g->n_object; j++) {
      if (mask >> j & 1) continue;
      p *= back >> j & 1 ? g->respawn[j] : 1 - g->respawn[j];
    }
    if (p == 0) continue;
    int next = mask | back;
    if (collected >= 0) next &= ~(1 << collected);
    out->state[out->n] = to + cells * next;
    out->probability[out->n++] = p;
  }
  if (restart && out->ends > 0) {
    out->state[out->n] = g->start + cells * (n_mask - 1);
    out->probability[out->n++] = out->ends;
  }
}

void oracle_matrix(const mm_grid *g, const double *policy, bool restart, double *p, double *r) {
  size_t n = (size_t)g->n_state;
  memset(p, 0, n * n * sizeof *p);
  memset(r, 0, n * sizeof *r);
  for (size_t s = 0; s < n; s++) {
    if (oracle_is_wall(g, (int32_t)s)) continue;
    for (size_t a = 0; a < MM_GRID_ACTIONS; a++) {
      oracle_outcomes o;
      oracle_step(g, (int32_t)s, (int)a, restart, &o);
      r[s] += policy[a * n + s] * o.reward;
      for (int k = 0; k < o.n; k++)
        p[s * n + (size_t)o.state[k]] += policy[a * n + s] * o.probability[k];
    }
  }
}

double oracle_residual(const mm_grid *g, const double *policy, double gamma, bool restart,
                       const double *value) {
  size_t n = (size_t)g->n_state;
  double most = 0;
  for (size_t s = 0; s < n; s++) {
    if (oracle_is_wall(g, (int32_t)s)) continue;
    double sum = 0;
    for (size_t a = 0; a < MM_GRID_ACTIONS; a++) {
      oracle_outcomes o;
      oracle_step(g, (int32_t)s, (int)a, restart, &o);
      double q = o.reward;
      for (int k = 0; k < o.n; k++)
        q += gamma * o.probability[k] * value[o.state[k]];
      sum += policy[a * n + s] * q;
    }
    most = fmax(most, fabs(sum - value[s]));
  }
  return most;
}

void oracle_factor(double *a, int n, int *pivot) {
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++) {
      if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
    }
    pivot[k] = best;
    for (int j = 0; j < n && best != k; j++) {
      double entry = a[k * n + j];
      a[k * n + j] = a[best * n + j];
      a[best * n + j] = entry;
    }
    for (int i = k + 1; i < n; i++) {
      double factor = a[i * n + k] /= a[k * n + k];
      if (factor == 0) continue;
      for (int j = k + 1; j < n; j++)
        a[i * n + j] -= factor * a[k * n + j];
    }
  }
}

static void exchange(double *b, int i, int j) {
  double entry = b[i];
  b[i] = b[j];
  b[j] = entry;
}

void oracle_solve(const double *a, int n, const int *pivot, double *b) {
  for (int k = 0; k < n; k++)
    exchange(b, k, pivot[k]);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++)
      b[i] -= a[i * n + j] * b[j];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++)
      b[i] -= a[i * n + j] * b[j];
    b[i] /= a[i * n + i];
  }
}

void oracle_solve_transposed(const double *a, int n, const int *pivot, double *b) {
  for (int i = 0; i < n; i++) {
    b[i] /= a[i * n + i];
    for (int j = i + 1; j < n; j++)
      b[j] -= a[i * n + j] * b[i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = 0; j < i; j++)
      b[j] -= a[i * n + j] * b[i];
  }
  for (int k = n - 1; k >= 0; k--)
    exchange(b, k, pivot[k]);
}
