// Mirror maps as objects: one block of memory with the potential in both precisions, and the public
// calls that check their arguments and hand arrays to the kernels.

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "map/batch.h"
#include "map/map_internal.h"
#include "map/table.h"

static const char *const kind_names[MM_MAP_KINDS] = { "negentropy", "l2", "tsallis", "piecewise",
                                                      "neural" };

const char *mm_map_kind_name(mm_map_kind kind) {
  return (unsigned)kind < MM_MAP_KINDS ? kind_names[kind] : "unknown";
}

// ---------------------------------------------------------------------------------------------
// Creation

// An empty map whose arena has room for `bytes`.
static mm_status create(mm_map_kind kind, size_t bytes, mm_map **out) {
  *out = NULL;
  mm_map *map = mm_alloc(sizeof *map);
  if (!map) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  memset(map, 0, sizeof *map);
  mm_status status = mm_arena_create(bytes, &map->arena);
  if (status != MM_OK) {
    mm_free(map);
    return status;
  }
  map->exact.kind = map->engine.kind = map->engine_f.kind = kind;
  map->finite = true;
  *out = map;
  return MM_OK;
}

void mm_map_destroy(mm_map *map) {
  if (!map) return;
  mm_arena_destroy(&map->arena);
  mm_free(map->meta);
  mm_free(map);
}

// A float copy of values[n] in the arena.
static const float *narrow(mm_map *map, const double *values, size_t n) {
  float *copy = mm_arena_take(&map->arena, n * sizeof *copy);
  for (size_t i = 0; i < n; i++)
    copy[i] = (float)values[i];
  return copy;
}

// What both precisions have in common once the exact potential is complete.
static void finish(mm_map *map) {
  const mm_potential_d *d = &map->exact;
  mm_potential_f *f = &map->engine_f;
  f->anchor = (float)d->anchor;
  f->q = (float)d->q;
  f->order = (float)d->order;
  f->ratio = (float)d->ratio;
  f->power = d->power;
  f->n = d->n;
  f->a = (float)d->a;
  f->b = (float)d->b;
  f->units_at_one = (float)d->units_at_one;
  f->drop = (float)d->drop;
}

mm_status mm_map_create_negentropy(mm_map **out) {
  MM_TRY(create(MM_MAP_NEGENTROPY, 0, out));
  finish(*out);
  return MM_OK;
}

mm_status mm_map_create_l2(mm_map **out) {
  MM_TRY(create(MM_MAP_L2, 0, out));
  (*out)->exact.anchor = 1;
  (*out)->engine = (*out)->exact;
  finish(*out);
  return MM_OK;
}

mm_status mm_map_create_tsallis(double q, mm_map **out) {
  *out = NULL;
  if (!(q > 0 && q <= 1e6) || q == 1)
    return MM_FAIL(MM_ERR_INPUT,
                   "tsallis: q = %.17g: expected a number > 0 and <= 1e6 other than 1", q);
  MM_TRY(create(MM_MAP_TSALLIS, 0, out));
  mm_potential_d *d = &(*out)->exact;
  d->q = q;
  d->order = q - 1;
  d->ratio = d->anchor = q / (q - 1);
  // 1/order is exactly a whole number for q = 0.5, 1.5, 2, 1.25, ...
  double exponent = 1 / d->order;
  if (fabs(exponent) <= 8 && exponent == floor(exponent) && exponent * d->order == 1)
    d->power = (int)exponent;
  (*out)->engine = *d;
  finish(*out);
  return MM_OK;
}

// A sum and what rounding has taken from it.
typedef struct compensated {
  double high, low;
} compensated;

// Adds a term; returns the sum so far.
static double compensated_add(compensated *sum, double term) {
  double total = sum->high + term, part = total - sum->high;
  sum->low += (sum->high - (total - part)) + (term - part);
  sum->high = total;
  return total + sum->low;
}

// Levels of the search tree: room for n + 1 knots in 2^levels - 1 nodes.
static int tree_levels(size_t n) {
  int levels = MM_TREE_LEAST;
  while (levels <= MM_TREE_MOST && (size_t)1 << levels < n + 2)
    levels++;
  return levels <= MM_TREE_MOST ? levels : 0;
}

#define MM_REAL_BITS 64
#include "map/piecewise_fill.inc"

#define MM_REAL_BITS 32
#include "map/piecewise_fill.inc"

mm_status mm_map_check_steps(size_t n) {
  if (n >= 1 && n <= MM_PIECEWISE_MAX) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "piecewise: n = %zu: expected 1 to %d", n, MM_PIECEWISE_MAX);
}

mm_status mm_map_create_piecewise(const double *psi, size_t n, mm_map **out) {
  *out = NULL;
  MM_TRY(mm_map_check_steps(n));
  for (size_t j = 0; j < n; j++)
    if (!(psi[j] >= MM_PSI_MIN && psi[j] <= MM_PSI_MAX))
      return MM_FAIL(MM_ERR_INPUT, "psi[%zu] = %.17g: expected a number in [%g, %g]", j, psi[j],
                     MM_PSI_MIN, MM_PSI_MAX);
  size_t runs = mm_bregman_runs_size(n);
  MM_TRY(create(MM_MAP_PIECEWISE,
                piecewise_size_d(n) + piecewise_size_f(n) + mm_arena_size_of(runs), out));
  mm_map *map = *out;
  map->exact.n = (int32_t)n;
  double *knot = piecewise_fill_d(&map->arena, psi, n, &map->exact);
  map->exact.anchor = knot[n];
  struct mm_bregman_run *run = mm_arena_take(&map->arena, runs);
  mm_bregman_runs_fill(psi, n, run);
  map->exact.run = run;
  map->engine = map->exact;
  finish(map);
  piecewise_fill_f(&map->arena, psi, n, &map->engine_f);
  return MM_OK;
}

static mm_status check_neural(const double *w, const double *c, const double *u, double a,
                              double b) {
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    if (!(w[j] >= 0 && w[j] < INFINITY))
      return MM_FAIL(MM_ERR_INPUT, "w[%d] = %.17g: expected a finite number >= 0", j, w[j]);
    if (!isfinite(c[j]))
      return MM_FAIL(MM_ERR_INPUT, "c[%d] = %.17g: expected a finite number", j, c[j]);
    if (!(u[j] >= 0 && u[j] < INFINITY))
      return MM_FAIL(MM_ERR_INPUT, "u[%d] = %.17g: expected a finite number >= 0", j, u[j]);
  }
  if (!(a >= 0 && a < INFINITY))
    return MM_FAIL(MM_ERR_INPUT, "a = %.17g: expected a finite number >= 0", a);
  if (!(b >= 0 && b < INFINITY))
    return MM_FAIL(MM_ERR_INPUT, "b = %.17g: expected a finite number >= 0", b);
  return MM_OK;
}

// The table in both precisions.
static void keep_table(mm_map *map, const mm_table *table) {
  mm_cell_d *cell = mm_arena_take(&map->arena, table->n_cell * sizeof *cell);
  mm_cell_f *narrow_cell = mm_arena_take(&map->arena, table->n_cell * sizeof *narrow_cell);
  memcpy(cell, table->cell, table->n_cell * sizeof *cell);
  for (size_t i = 0; i < table->n_cell; i++) {
    narrow_cell[i].value = (float)cell[i].value;
    // from the rounded ends, so that neighbouring cells meet
    narrow_cell[i].rise = (float)(cell[i].value + cell[i].rise) - narrow_cell[i].value;
    narrow_cell[i].full = (float)cell[i].full;
    narrow_cell[i].child = cell[i].child;
  }
  map->exact.cell = cell;
  map->engine = map->exact;
  map->engine.direct = 0;
  map->engine_f.cell = narrow_cell;
  map->table_error = table->error;
  map->table_range = table->range;
  map->n_cell = table->n_cell;
  map->finite = table->finite;
}

mm_status mm_map_create_neural(const double *w, const double *c, const double *u, double a,
                               double b, mm_map **out) {
  *out = NULL;
  MM_TRY(check_neural(w, c, u, a, b));
  mm_potential_d f = { .kind = MM_MAP_NEURAL, .w = w, .c = c, .u = u, .a = a, .b = b, .direct = 1 };
  double slope, at_zero = mm_units_d(&f, 0, &slope);
  f.units_at_one = mm_units_d(&f, 1, &slope);
  f.anchor = f.units_at_one + a;
  f.drop = at_zero - f.units_at_one - a;
  mm_table table;
  MM_TRY(mm_table_create(&f, &table));

  size_t array = mm_arena_size_of(MM_NEURAL_UNITS * sizeof(double));
  size_t array_f = mm_arena_size_of(MM_NEURAL_UNITS * sizeof(float));
  size_t cells = mm_arena_size_of(table.n_cell * sizeof(mm_cell_d)) +
                 mm_arena_size_of(table.n_cell * sizeof(mm_cell_f));
  mm_status status = create(MM_MAP_NEURAL, 3 * array + 3 * array_f + cells, out);
  if (status == MM_OK) {
    mm_map *map = *out;
    map->exact = f;
    const double *from[3] = { w, c, u };
    const double **to[3] = { &map->exact.w, &map->exact.c, &map->exact.u };
    const float **to_f[3] = { &map->engine_f.w, &map->engine_f.c, &map->engine_f.u };
    for (int i = 0; i < 3; i++) {
      double *copy = mm_arena_take(&map->arena, MM_NEURAL_UNITS * sizeof *copy);
      memcpy(copy, from[i], MM_NEURAL_UNITS * sizeof *copy);
      *to[i] = copy;
      *to_f[i] = narrow(map, copy, MM_NEURAL_UNITS);
    }
    finish(map);
    keep_table(map, &table);
    map->finite &= isfinite(f.anchor) && isfinite(f.drop);
  }
  mm_table_destroy(&table);
  return status;
}

mm_status mm_map_set_meta(mm_map *map, const char *text) {
  char *copy = NULL;
  if (text) {
    copy = mm_alloc(strlen(text) + 1);
    if (!copy) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map's meta object");
    strcpy(copy, text);
  }
  mm_free(map->meta);
  map->meta = copy;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Looking at a map

mm_map_kind mm_map_get_kind(const mm_map *map) {
  return map->exact.kind;
}

double mm_map_tsallis_q(const mm_map *map) {
  return map->exact.q;
}

const double *mm_map_piecewise_psi(const mm_map *map, size_t *n) {
  *n = (size_t)map->exact.n;
  return map->exact.psi;
}

void mm_map_neural_parameters(const mm_map *map, const double **w, const double **c,
                              const double **u, double *a, double *b) {
  *w = map->exact.w;
  *c = map->exact.c;
  *u = map->exact.u;
  *a = map->exact.a;
  *b = map->exact.b;
}

const char *mm_map_meta(const mm_map *map) {
  return map->meta;
}

double mm_map_table_error(const mm_map *map, double *range, size_t *cells) {
  if (range) *range = map->table_range;
  if (cells) *cells = map->n_cell;
  return map->table_error;
}

// ---------------------------------------------------------------------------------------------
// Using a map

static mm_status check_finite(const mm_map *map) {
  if (map->finite) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "neural map: phi^-1 is not finite on (0, 1]");
}

static mm_status check_probabilities(const double *p, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!(p[i] >= 0 && p[i] <= 1))
      return MM_FAIL(MM_ERR_INPUT, "%s[%zu] = %.17g: expected a probability in [0, 1]", name, i,
                     p[i]);
  return MM_OK;
}

mm_status mm_map_phi(const mm_map *map, const double *x, size_t n, double *out) {
  MM_TRY(check_finite(map));
  for (size_t i = 0; i < n; i++)
    if (isnan(x[i])) return MM_FAIL(MM_ERR_INPUT, "x[%zu] = nan: expected a number", i);
  if (map->exact.kind == MM_MAP_NEURAL) {
    for (size_t i = 0; i < n; i++)
      out[i] = mm_neural_phi(&map->exact, x[i]);
    return MM_OK;
  }
  mm_map_kernels_current()->phi_d(&map->exact, x, n, out);
  return MM_OK;
}

mm_status mm_map_phi_inverse(const mm_map *map, const double *p, size_t n, double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  mm_map_kernels_current()->phi_inverse_d(&map->exact, p, n, out);
  return MM_OK;
}

mm_status mm_map_phi_inverse_tabulated(const mm_map *map, const double *p, size_t n, double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  mm_map_kernels_current()->phi_inverse_d(&map->engine, p, n, out);
  return MM_OK;
}

mm_status mm_map_h(const mm_map *map, const double *p, size_t n, double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  for (size_t i = 0; i < n; i++)
    out[i] = fma(map->exact.anchor, p[i] - 1, mm_bregman_term(&map->exact, p[i], 1));
  return MM_OK;
}

mm_status mm_map_bregman(const mm_map *map, const double *p, const double *q, size_t n,
                         double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  MM_TRY(check_probabilities(q, n, "q"));
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += mm_bregman_term(&map->exact, p[i], q[i]);
  *out = sum;
  return MM_OK;
}

static mm_status check_projection(const mm_map *map, mm_projection method, size_t n_action) {
  MM_TRY(check_finite(map));
  if (method != MM_PROJECTION_EXACT && method != MM_PROJECTION_BISECT10)
    return MM_FAIL(MM_ERR_INPUT, "projection method %d: expected exact or bisect10", (int)method);
  if (n_action == 0) return MM_FAIL(MM_ERR_INPUT, "scores: expected at least one action");
  return MM_OK;
}

static mm_status bad_score(size_t i, size_t n_action, double value) {
  return MM_FAIL(MM_ERR_INPUT, "scores: row %zu, action %zu is %g: expected a finite number",
                 i / n_action, i % n_action, value);
}

static mm_status diverged(size_t row) {
  return MM_FAIL(MM_ERR_NUMERIC, "projection of row %zu: no finite policy", row);
}

mm_status mm_map_project_batch(const mm_map *map, mm_projection method, const double *scores,
                               size_t rows, size_t n_action, double *probs, double *lambda) {
  MM_TRY(check_projection(map, method, n_action));
  for (size_t i = 0; i < rows * n_action; i++)
    if (!isfinite(scores[i])) return bad_score(i, n_action, scores[i]);
  const mm_map_kernels *kernels = mm_map_kernels_current();
  double own[64]; // for callers without interest in lambda
  for (size_t first = 0; first < rows;) {
    size_t count = lambda || rows - first < 64 ? rows - first : 64;
    double *at = lambda ? lambda + first : own;
    kernels->project_d(&map->exact, method, scores + first * n_action, count, n_action,
                       probs + first * n_action, at);
    for (size_t r = 0; r < count; r++)
      if (!isfinite(at[r]) || !isfinite(probs[(first + r) * n_action])) return diverged(first + r);
    first += count;
  }
  return MM_OK;
}

mm_status mm_map_project(const mm_map *map, mm_projection method, const double *scores,
                         size_t n_action, double *probs, double *lambda) {
  return mm_map_project_batch(map, method, scores, 1, n_action, probs, lambda);
}

// ---------------------------------------------------------------------------------------------
// The engines' form

mm_status mm_map_phi_f(const mm_map *map, const float *x, size_t n, float *out) {
  MM_TRY(check_finite(map));
  for (size_t i = 0; i < n; i++)
    if (isnan(x[i])) return MM_FAIL(MM_ERR_INPUT, "x[%zu] = nan: expected a number", i);
  if (map->exact.kind == MM_MAP_NEURAL) {
    // the table ends at p = 1 and at p = 0
    for (size_t i = 0; i < n; i++) {
      float y = x[i] - map->engine_f.anchor;
      bool inside = y <= 0 && (map->exact.b > 0 || y >= map->engine_f.drop);
      out[i] = inside ? mm_phi_at_f(&map->engine_f, y).p : (float)mm_neural_phi(&map->exact, x[i]);
    }
    return MM_OK;
  }
  mm_map_kernels_current()->phi_f(&map->engine_f, x, n, out);
  return MM_OK;
}

mm_status mm_map_phi_inverse_f(const mm_map *map, const float *p, size_t n, float *out) {
  MM_TRY(check_finite(map));
  for (size_t i = 0; i < n; i++)
    if (!(p[i] >= 0 && p[i] <= 1))
      return MM_FAIL(MM_ERR_INPUT, "p[%zu] = %g: expected a probability in [0, 1]", i,
                     (double)p[i]);
  mm_map_kernels_current()->phi_inverse_f(&map->engine_f, p, n, out);
  return MM_OK;
}

mm_status mm_map_project_batch_f(const mm_map *map, mm_projection method, const float *scores,
                                 size_t rows, size_t n_action, float *probs, float *lambda) {
  MM_TRY(check_projection(map, method, n_action));
  for (size_t i = 0; i < rows * n_action; i++)
    if (!isfinite(scores[i])) return bad_score(i, n_action, (double)scores[i]);
  const mm_map_kernels *kernels = mm_map_kernels_current();
  float own[64];
  for (size_t first = 0; first < rows;) {
    size_t count = lambda || rows - first < 64 ? rows - first : 64;
    float *at = lambda ? lambda + first : own;
    kernels->project_f(&map->engine_f, method, scores + first * n_action, count, n_action,
                       probs + first * n_action, at);
    for (size_t r = 0; r < count; r++)
      if (!isfinite(at[r]) || !isfinite(probs[(first + r) * n_action])) return diverged(first + r);
    first += count;
  }
  return MM_OK;
}
