// SPDX-License-Identifier: Apache-2.0
// Tabulates the units of a neural map (phi^-1 is fixed during a run, and 126 units a call
// would cost more than the whole training loop).
//
// Roots and logarithms have kinks at -c_j / w_j, where equidistant nodes would err by per cents. So
// the table is a tree: MM_TABLE_ROOT equal cells, each cut into MM_TABLE_SPLIT equal parts, again
// and again, until the bound of cell_bounds (src/map/batch.c) says that a straight line is within
// TOLERANCE of the range. Widths are powers of two, which makes finding a cell exact.

#include "map/table.h"

#include <string.h>

#include "base/status.h"
#include "map/batch.h"

#define TOLERANCE 4e-6         // of units(1) - units(0)
#define NARROWEST 0x1p-50      // a cell is not cut below this width
enum { MOST_CELLS = 1 << 19 }; // nor beyond so many cells; the bound then says how good it got

// The cells of one level: what is known before they join the table.
typedef struct level {
  double *left, *right;  // [n] left ends, units' sum at the right ends
  double *value, *bound; // [n] as from cell_bounds
  int32_t *parent;       // [n / MM_TABLE_SPLIT] index of the cell these replace
  size_t n;
} level;

static void level_destroy(level *l) {
  mm_free(l->left);
  mm_free(l->parent);
  memset(l, 0, sizeof *l);
}

static mm_status level_create(size_t n, level *out) {
  memset(out, 0, sizeof *out);
  out->left = mm_alloc_array(n, 4 * sizeof(double));
  out->parent = mm_alloc_array(n, sizeof(int32_t));
  if (!out->left || !out->parent) {
    level_destroy(out);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the table of a neural map");
  }
  out->right = out->left + n;
  out->value = out->right + n;
  out->bound = out->value + n;
  out->n = n;
  return MM_OK;
}

// Room for `more` further cells.
static mm_status grow(mm_table *table, size_t more) {
  mm_cell_d *cell = mm_alloc_array(table->n_cell + more, sizeof *cell);
  if (!cell) return MM_FAIL(MM_ERR_MEMORY, "no memory for the table of a neural map");
  if (table->n_cell) memcpy(cell, table->cell, table->n_cell * sizeof *cell);
  mm_free(table->cell);
  table->cell = cell;
  return MM_OK;
}

// Appends the cells of a level and links them to their parents.
static mm_status append(const mm_potential_d *f, const level *l, mm_table *table) {
  MM_TRY(grow(table, l->n));
  for (size_t i = 0; i < l->n; i++) {
    mm_cell_d *cell = table->cell + table->n_cell + i;
    double p = l->left[i], value = l->value[i] - f->units_at_one;
    double rest = fma(f->a, p - 1, value);
    cell->value = value;
    cell->rise = l->right[i] - l->value[i];
    cell->full = f->b > 0 ? fma(f->b, mm_log_d(p), rest) : rest;
    cell->child = -1;
    if (table->n_cell > 0 && i % MM_TABLE_SPLIT == 0)
      table->cell[l->parent[i / MM_TABLE_SPLIT]].child = (int32_t)(table->n_cell + i);
  }
  table->n_cell += l->n;
  return MM_OK;
}

// Cuts the cells of `l` (the last ones of the table) that are not good enough; the others are
// leaves and count for the error. `next` has no cells when all were.
static mm_status refine(const level *l, double width, double tolerance, mm_table *table,
                        level *next) {
  size_t first = table->n_cell - l->n, cut = 0;
  bool may_cut = width > NARROWEST;
  for (size_t i = 0; i < l->n; i++)
    cut += l->bound[i] <= tolerance ? 0 : 1; // NaN too
  if (table->n_cell + cut * MM_TABLE_SPLIT > MOST_CELLS) may_cut = false;
  memset(next, 0, sizeof *next);
  if (may_cut && cut) MM_TRY(level_create(cut * MM_TABLE_SPLIT, next));
  size_t k = 0;
  for (size_t i = 0; i < l->n; i++) {
    if (!may_cut || l->bound[i] <= tolerance) {
      table->error = l->bound[i] >= 0 ? fmax(table->error, l->bound[i]) : INFINITY;
      continue;
    }
    next->parent[k / MM_TABLE_SPLIT] = (int32_t)(first + i);
    for (int s = 0; s < MM_TABLE_SPLIT; s++, k++) {
      next->left[k] = l->left[i] + s * (width / MM_TABLE_SPLIT);
      next->right[k] = l->right[i];
    }
  }
  return MM_OK;
}

// Right ends: the next cell's left end, except for the last one of a group.
static void join(level *l, size_t group) {
  for (size_t i = 0; i < l->n; i++)
    if ((i + 1) % group) l->right[i] = l->value[i + 1];
}

// sum_j u_j |s_j| at its largest: units are monotone, so at one end or the other.
static double largest_terms(const mm_potential_d *f) {
  double sum = 0;
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    if (f->u[j] == 0) continue;
    double left = fabs(mm_unit_d(j / MM_BLOCK, f->c[j]));
    double right = fabs(mm_unit_d(j / MM_BLOCK, f->w[j] + f->c[j]));
    sum += f->u[j] * fmax(left, right);
  }
  return sum;
}

static mm_status build(const mm_potential_d *f, mm_table *table) {
  const mm_map_kernels *kernels = mm_map_kernels_current();
  double width = 1.0 / MM_TABLE_ROOT, end = 1, at_end, ignored;
  kernels->cell_bounds(f, &end, 0, 1, &at_end, &ignored);

  level l;
  MM_TRY(level_create(MM_TABLE_ROOT, &l));
  for (size_t i = 0; i < l.n; i++)
    l.left[i] = (double)i * width;
  l.right[l.n - 1] = at_end;
  for (size_t group = MM_TABLE_ROOT; l.n > 0; group = MM_TABLE_SPLIT) {
    kernels->cell_bounds(f, l.left, width, l.n, l.value, l.bound);
    join(&l, group);
    if (table->n_cell == 0) table->range = at_end - l.value[0];
    for (size_t i = 0; i < l.n; i++)
      table->finite &= isfinite(l.value[i]) != 0;
    mm_status status = append(f, &l, table);
    level next = { 0 };
    if (status == MM_OK && table->finite)
      status = refine(&l, width, TOLERANCE * table->range, table, &next);
    level_destroy(&l);
    l = next;
    width /= MM_TABLE_SPLIT;
    if (status != MM_OK) {
      level_destroy(&l);
      return status;
    }
  }
  // rounding of the nodes, sums of 126 terms, and of the interpolation
  table->error += (MM_NEURAL_UNITS + 16) * 0x1p-52 * largest_terms(f);
  return MM_OK;
}

mm_status mm_table_create(const mm_potential_d *f, mm_table *out) {
  memset(out, 0, sizeof *out);
  out->finite = true;
  mm_status status = build(f, out);
  if (status != MM_OK) mm_table_destroy(out);
  return status;
}

void mm_table_destroy(mm_table *table) {
  mm_free(table->cell);
  table->cell = NULL;
}
