// SPDX-License-Identifier: Apache-2.0
// Exact values by solving (I - gamma P) V = r, and visitation by its transpose.
//
// The solver is BiCGSTAB on the operator of grid_operator.h, from a warm start. Its own residual is
// only believed after it was computed anew; breakdowns and stalls lead to a fresh start and finally
// to fixed-point iteration, which always converges, only slowly. Reductions run over 16 lanes that
// are added up as a tree, so that their bits do not depend on the vector width.

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/elementary.h"
#include "base/status.h"
#include "env/grid/grid_model.h"
#include "env/grid/grid_operator.h"

enum {
  LANES = 16,
  ITERATIONS_MOST = 1000, // of BiCGSTAB, before its residual is computed anew
  ATTEMPTS_MOST = 8,
  POLICY_ITERATIONS = 100 // of BiCGSTAB for a policy on the way to the optimal one
};

struct mm_grid_model {
  mm_arena arena;
  mm_grid_operator op;
  double reward_most;               // largest |reward|
  double *x, *r, *rhat, *p, *v, *t; // [n] vectors of the solver
};

// The two systems: x = T x, and x = (1 - gamma) mu + gamma P^T x.
typedef enum side { FORWARD, TRANSPOSED } side;

// ---------------------------------------------------------------------------------------------
// Making

mm_status mm_grid_model_create(const mm_grid *grid, double gamma, bool restart,
                               mm_grid_model **out) {
  *out = NULL;
  if (!(gamma >= 0 && gamma < 1))
    return MM_FAIL(MM_ERR_INPUT, "gamma: expected a number from 0 to below 1, found %g", gamma);
  size_t size = mm_arena_size_of(sizeof(mm_grid_model)) + mm_grid_operator_bytes(grid) +
                6 * mm_grid_vector_bytes(grid);
  mm_arena arena;
  if (mm_arena_create(size, &arena) != MM_OK)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the exact model of %d states: %.3f GB",
                   (int)grid->n_state, (double)size * 1e-9);
  mm_grid_model *model = mm_arena_take(&arena, sizeof *model);
  mm_grid_operator_make(grid, gamma, restart, &arena, &model->op);
  double **vectors[] = { &model->x, &model->r, &model->rhat, &model->p, &model->v, &model->t };
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    *vectors[i] = mm_grid_vector_take(grid, &arena);
  for (int i = 0; i < grid->n_object; i++)
    model->reward_most = fmax(model->reward_most, fabs(grid->reward[i]));
  model->arena = arena;
  *out = model;
  return MM_OK;
}

void mm_grid_model_destroy(mm_grid_model *model) {
  if (!model) return;
  mm_arena arena = model->arena;
  mm_arena_destroy(&arena);
}

// ---------------------------------------------------------------------------------------------
// Reductions over padded vectors

static double add_lanes(const double *lane) {
  double eight[8], four[4];
  for (int k = 0; k < 8; k++)
    eight[k] = lane[k] + lane[k + 8];
  for (int k = 0; k < 4; k++)
    four[k] = eight[k] + eight[k + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

static double dot(const double *a, const double *b, size_t padded) {
  double lane[LANES] = { 0 };
  for (size_t s = 0; s < padded; s += LANES) {
    for (int k = 0; k < LANES; k++)
      lane[k] += a[s + (size_t)k] * b[s + (size_t)k];
  }
  return add_lanes(lane);
}

static double norm_one(const double *a, size_t padded) {
  double lane[LANES] = { 0 };
  for (size_t s = 0; s < padded; s += LANES) {
    for (int k = 0; k < LANES; k++)
      lane[k] += fabs(a[s + (size_t)k]);
  }
  return add_lanes(lane);
}

// As bits, magnitudes are in the order of integers, with NaN above all: so NaN if there is one.
static double norm_max(const double *a, size_t padded) {
  int64_t lane[LANES] = { 0 }, most = 0;
  for (size_t s = 0; s < padded; s += LANES) {
    for (int k = 0; k < LANES; k++) {
      int64_t x = (int64_t)(mm_bits_d(a[s + (size_t)k]) & INT64_MAX);
      lane[k] = x > lane[k] ? x : lane[k];
    }
  }
  for (int k = 0; k < LANES; k++)
    most = lane[k] > most ? lane[k] : most;
  return mm_from_bits_d((uint64_t)most);
}

// The norm in which P or its transpose does not expand: then residual / (1 - gamma) bounds errors.
static double norm(const mm_grid_model *m, side which, const double *a) {
  return which == FORWARD ? norm_max(a, m->op.padded) : norm_one(a, m->op.padded);
}

// ---------------------------------------------------------------------------------------------
// The systems

// out = A a = a - gamma P a
static void apply(mm_grid_model *m, side which, const double *a, double *out) {
  if (which == FORWARD)
    mm_grid_operator_apply(&m->op, a, false, out);
  else
    mm_grid_operator_transposed(&m->op, a, out);
  for (size_t s = 0; s < m->op.n; s++)
    out[s] = a[s] - out[s];
}

// r = (right-hand side) - A x, computed from scratch; returns its norm.
static double compute_residual(mm_grid_model *m, side which) {
  const mm_grid *g = m->op.grid;
  if (which == FORWARD) {
    mm_grid_operator_apply(&m->op, m->x, true, m->r);
  } else {
    mm_grid_operator_transposed(&m->op, m->x, m->r);
    m->r[mm_grid_index(g, mm_grid_start(g))] += 1 - m->op.gamma;
  }
  for (size_t s = 0; s < m->op.n; s++)
    m->r[s] -= m->x[s];
  return norm(m, which, m->r);
}

// What the residual must come down to: far below what the caller needs, but no lower than rounding
// lets it.
static double tolerance(const mm_grid_model *m, side which, double relative, double roundings) {
  double size = which == FORWARD ? 1 + m->reward_most : 0.01;
  double floor = roundings * DBL_EPSILON * norm(m, which, m->x);
  return fmax(relative * size, floor);
}

static void clear(double *a, size_t n) {
  memset(a, 0, n * sizeof *a);
}

// ---------------------------------------------------------------------------------------------
// BiCGSTAB

// Each loop has its own function with restrict pointers, so that it vectorises.
static void update_direction(size_t n, double beta, double omega, const double *restrict r,
                             const double *restrict v, double *restrict p) {
  for (size_t s = 0; s < n; s++)
    p[s] = r[s] + beta * (p[s] - omega * v[s]);
}

static void subtract(size_t n, double scale, const double *restrict a, double *restrict from) {
  for (size_t s = 0; s < n; s++)
    from[s] -= scale * a[s];
}

// x += alpha p + omega s;  s -= omega t
static void update_solution(size_t n, double alpha, double omega, const double *restrict p,
                            const double *restrict t, double *restrict s, double *restrict x) {
  for (size_t i = 0; i < n; i++) {
    x[i] += alpha * p[i] + omega * s[i];
    s[i] -= omega * t[i];
  }
}

static bool usable(double divisor) {
  return isfinite(divisor) && fabs(divisor) > 1e-300;
}

// Improves x from the residual in r until the running residual is below `goal`, a scalar breaks
// down or the iterations are used up. x stays finite unless the problem is not.
static void bicgstab(mm_grid_model *m, side which, double goal, int iterations) {
  size_t n = m->op.padded;
  double rho = 1, alpha = 1, omega = 1;
  memcpy(m->rhat, m->r, n * sizeof *m->r);
  clear(m->p, n);
  clear(m->v, n);
  for (int i = 0; i < iterations; i++) {
    double rho_next = dot(m->rhat, m->r, n);
    if (!usable(rho_next) || !usable(rho) || !usable(omega)) return;
    update_direction(n, rho_next / rho * (alpha / omega), omega, m->r, m->v, m->p);
    rho = rho_next;
    apply(m, which, m->p, m->v);
    double along = dot(m->rhat, m->v, n);
    if (!usable(along)) return;
    alpha = rho / along;
    subtract(n, alpha, m->v, m->r); // r is now the half-way residual
    apply(m, which, m->r, m->t);
    double tt = dot(m->t, m->t, n);
    omega = usable(tt) ? dot(m->t, m->r, n) / tt : 0;
    if (!isfinite(alpha) || !isfinite(omega)) return;
    update_solution(n, alpha, omega, m->p, m->t, m->r, m->x);
    if (!(norm(m, which, m->r) > goal)) return;
  }
}

// ---------------------------------------------------------------------------------------------
// Solving

// x <- T x until the residual is small; the error shrinks by gamma each time.
static mm_status iterate(mm_grid_model *m, side which, double *residual) {
  double gamma = m->op.gamma;
  // enough to shrink anything by 1e-16, and once more
  int64_t most = 64 + (int64_t)(2 * 37 / (1 - gamma));
  clear(m->x, m->op.padded);
  for (int64_t sweep = 0; sweep < most; sweep++) {
    *residual = compute_residual(m, which);
    if (!isfinite(*residual)) break;
    if (*residual <= tolerance(m, which, 1e-13, 16)) return MM_OK;
    for (size_t s = 0; s < m->op.n; s++)
      m->x[s] += m->r[s];
  }
  if (isfinite(*residual) && *residual <= tolerance(m, which, 1e-12, 64)) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "the exact values did not converge: residual %g", *residual);
}

// x solves the system of the operator's policy, from what is in x.
static mm_status solve(mm_grid_model *m, side which, double *residual) {
  double previous = INFINITY;
  for (int attempt = 0; attempt < ATTEMPTS_MOST; attempt++) {
    *residual = compute_residual(m, which);
    if (!isfinite(*residual)) { // nothing of this is worth keeping
      clear(m->x, m->op.padded);
      *residual = compute_residual(m, which);
    }
    if (*residual <= tolerance(m, which, 1e-13, 16)) return MM_OK;
    // rounding keeps it from getting much better
    if (*residual > previous / 2 && *residual <= tolerance(m, which, 1e-12, 64)) return MM_OK;
    previous = *residual;
    bicgstab(m, which, tolerance(m, which, 2e-14, 2), ITERATIONS_MOST);
  }
  return iterate(m, which, residual);
}

mm_status mm_grid_value(mm_grid_model *model, const double *policy, double *value,
                        double *residual) {
  double reached;
  mm_grid_operator_policy(&model->op, policy);
  memcpy(model->x, value, model->op.n * sizeof *value);
  MM_TRY(solve(model, FORWARD, &reached));
  memcpy(value, model->x, model->op.n * sizeof *value);
  if (residual) *residual = reached;
  return MM_OK;
}

void mm_grid_q(mm_grid_model *model, const double *value, double *q) {
  const mm_grid *g = model->op.grid;
  mm_grid_operator_after(&model->op, value, true);
  for (int a = 0; a < MM_GRID_ACTIONS; a++) {
    const int32_t *next = g->next + a;
    for (int32_t s = 0; s < g->n_state; s += g->cells) {
      for (int32_t c = 0; c < g->cells; c++)
        *q++ = model->op.after[s + next[c * MM_GRID_ACTIONS]];
    }
  }
}

mm_status mm_grid_visitation(mm_grid_model *model, const double *policy, double *d) {
  double residual;
  mm_grid_operator_policy(&model->op, policy);
  clear(model->x, model->op.padded);
  MM_TRY(solve(model, TRANSPOSED, &residual));
  // what is not visited comes out as 0 up to rounding, of either sign
  for (size_t s = 0; s < model->op.n; s++)
    d[s] = model->x[s] > 0 ? model->x[s] : 0;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Optimal values

// The lowest action whose B is within `slack` of the best.
static void greedy(mm_grid_model *m, double slack, uint8_t *action) {
  const mm_grid *g = m->op.grid;
  mm_grid_operator_after(&m->op, m->x, true);
  for (int32_t s = 0; s < g->n_state; s += g->cells) {
    for (int32_t c = 0; c < g->cells; c++) {
      const int32_t *next = g->next + c * MM_GRID_ACTIONS;
      const double *b = m->op.after + s;
      double best = b[next[0]];
      for (int a = 1; a < MM_GRID_ACTIONS; a++)
        best = fmax(best, b[next[a]]);
      int a = 0;
      while (a + 1 < MM_GRID_ACTIONS && !(b[next[a]] >= best - slack))
        a++;
      action[s + c] = (uint8_t)a;
    }
  }
}

// Value iteration on x for at most `sweeps`; returns the last |max_a Q - x|_inf.
static double improve(mm_grid_model *m, int64_t sweeps) {
  double residual = INFINITY;
  for (int64_t sweep = 0; sweep < sweeps; sweep++) {
    mm_grid_operator_best(&m->op, m->x, m->r);
    subtract(m->op.n, 1, m->x, m->r);
    residual = norm_max(m->r, m->op.padded);
    if (!(residual > tolerance(m, FORWARD, 1e-13, 8))) break;
    for (size_t s = 0; s < m->op.n; s++)
      m->x[s] += m->r[s];
  }
  return residual;
}

// Moves x towards the exact value of the greedy policy, unless the solver makes it worse. `kept` is
// room for a copy.
static void evaluate_greedy(mm_grid_model *m, uint8_t *action, double *kept) {
  size_t bytes = m->op.n * sizeof *kept;
  greedy(m, 0, action);
  mm_grid_operator_actions(&m->op, action);
  memcpy(kept, m->x, bytes);
  double before = compute_residual(m, FORWARD);
  bicgstab(m, FORWARD, tolerance(m, FORWARD, 2e-14, 2), POLICY_ITERATIONS);
  if (!(compute_residual(m, FORWARD) < before)) memcpy(m->x, kept, bytes);
}

// Rounds of value iteration, each followed by a shortcut to the value of the policy it found: the
// search ends as soon as that policy is optimal. Value iteration converges whatever the shortcuts
// do, and its residual is what counts.
mm_status mm_grid_optimal(mm_grid_model *model, double *value, uint8_t *action) {
  const int64_t most = 64 + (int64_t)(4 * 37 / (1 - model->op.gamma)); // would do from anywhere
  int64_t done = 0, sweeps = 32 + 2 * (int64_t)model->op.grid->side;
  double residual;
  if (sweeps > 512) sweeps = 512;
  clear(model->x, model->op.padded);
  for (;;) {
    residual = improve(model, sweeps);
    done += sweeps;
    if (!isfinite(residual) || residual <= tolerance(model, FORWARD, 1e-13, 8)) break;
    if (done >= most) break;
    evaluate_greedy(model, action, value);
    sweeps *= 2;
  }
  if (!isfinite(residual) || residual > tolerance(model, FORWARD, 1e-12, 64)) {
    memset(value, 0, model->op.n * sizeof *value);
    return MM_FAIL(MM_ERR_NUMERIC, "the optimal values did not converge: residual %g", residual);
  }
  memcpy(value, model->x, model->op.n * sizeof *value);
  greedy(model, 1e-9, action);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Reachability

typedef struct search {
  const mm_grid *grid;
  uint8_t *seen;
  int32_t *queue; // [n_state]
  size_t end;
} search;

static void visit(search *q, int32_t cell, uint32_t mask) {
  int32_t s = mm_grid_index(q->grid, (mm_grid_state){ cell, mask });
  if (q->seen[s]) return;
  q->seen[s] = 1;
  q->queue[q->end++] = s;
}

// All outcomes of one action that have a chance.
static void visit_successors(search *q, int32_t cell, uint32_t mask) {
  const mm_grid *g = q->grid;
  int32_t i = g->object_at[cell];
  if (i >= 0 && (mask >> i & 1)) {
    if (g->terminate[i] >= 1) return; // under restart, the start is known already
  } else {
    i = -1;
  }
  uint32_t may = 0, must = 0;
  for (int j = 0; j < g->n_object; j++) {
    if (mask >> j & 1) continue;
    if (g->respawn[j] >= 1)
      must |= 1u << j;
    else if (g->respawn[j] > 0)
      may |= 1u << j;
  }
  uint32_t after = (mask | must) & (i >= 0 ? ~(1u << i) : ~0u), back = may;
  for (;; back = (back - 1) & may) { // every subset of `may`
    visit(q, cell, after | back);
    if (back == 0) break;
  }
}

void mm_grid_reachable(mm_grid_model *model, uint8_t *reachable) {
  const mm_grid *g = model->op.grid;
  search q = { g, reachable, (int32_t *)(void *)model->t, 0 };
  memset(reachable, 0, (size_t)g->n_state);
  mm_grid_state start = mm_grid_start(g);
  visit(&q, start.cell, start.mask);
  for (size_t head = 0; head < q.end; head++) {
    int32_t cell = q.queue[head] % g->cells;
    uint32_t mask = (uint32_t)(q.queue[head] / g->cells);
    for (int a = 0; a < MM_GRID_ACTIONS; a++)
      visit_successors(&q, g->next[cell * MM_GRID_ACTIONS + a], mask);
  }
  clear(model->t, model->op.padded);
}
