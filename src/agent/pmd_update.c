// SPDX-License-Identifier: Apache-2.0
// Gradient steps of tabular PMD on blocks of states, compiled once per instruction set. Loops run
// over states, which lie side by side.

#include "agent/pmd_update.h"

#include "base/isa.h"
#include "map/foreign.h"

#define L MM_PMD_LANES
#define LAW static void
#define BLOCK mm_pmd_block
#define FOREIGN mm_foreign_gradients

static void table_units(const mm_potential_d *f, const double *restrict pi, double *restrict x);

#include "agent/pmd_ascent.inc"

// Tabulated units of a neural map: leaves at the root of the table for all entries at once, then
// the few that need to descend.
static void table_units(const mm_potential_d *f, const double *restrict pi, double *restrict x) {
  const mm_cell_d *cell = f->cell;
  int32_t child[E];
  double place[E];
  for (int k = 0; k < E; k++) {
    double t = pi[k] * MM_TABLE_ROOT;
    int i = t > 0 ? (int)t : 0; // 0 for NaN: trouble is found after the epochs
    i = i < MM_TABLE_ROOT ? i : MM_TABLE_ROOT - 1;
    place[k] = t - i;
    x[k] = fma(place[k], cell[i].rise, cell[i].value);
    child[k] = cell[i].child;
  }
  for (int k = 0; k < E; k++) {
    if (child[k] < 0) continue;
    // as mm_table_units_d goes on from here
    double t = place[k];
    int32_t i, next = child[k];
    do {
      t *= MM_TABLE_SPLIT;
      int32_t part = t >= MM_TABLE_SPLIT ? MM_TABLE_SPLIT - 1 : t > 0 ? (int32_t)t : 0;
      i = next + part;
      t -= part;
      next = cell[i].child;
    } while (next >= 0);
    x[k] = fma(t, cell[i].rise, cell[i].value);
  }
}

const mm_pmd_kernels MM_ISA_NAME(mm_pmd_kernels) = { .softmax = softmax, .epochs = epochs };
