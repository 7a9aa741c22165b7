// SPDX-License-Identifier: Apache-2.0
// The table of a neural map: its 126 units on [0, 1] as straight lines on cells that are fine where
// the units bend, with a bound on the error.

#ifndef MM_MAP_TABLE_H
#define MM_MAP_TABLE_H

#include <stdbool.h>

#include "map/potential.h"

typedef struct mm_table {
  mm_cell_d *cell; // [n_cell], the first MM_TABLE_ROOT of them side by side over [0, 1]
  size_t n_cell;
  double error; // bound on |table - units| over [0, 1]
  double range; // units(1) - units(0)
  bool finite;  // all nodes are finite; if not, the table is of no use
} mm_table;

// Fills the table from the units w, c, u and a, b of `f`. Release with mm_table_destroy.
mm_status mm_table_create(const mm_potential_d *f, mm_table *out);
void mm_table_destroy(mm_table *table);

#endif
