// SPDX-License-Identifier: Apache-2.0
// Learning curves in a panel: a line and a band of one standard error for each.

#ifndef MM_SHOW_CURVES_H
#define MM_SHOW_CURVES_H

#include "mirrormap/stats.h"
#include "show/plot/plot.h"

typedef struct mm_curve {
  const mm_curve_point *point; // [n]
  size_t n;
  int line;         // its line type, see mm_map_lines
  const char *name; // for viewers that tell it, or NULL
} mm_curve;

// What the lines and bands of the curves cover.
mm_range mm_curves_range(const mm_curve *curve, size_t n);

// Adds them to the panel, with bands below all lines, against `unit`s of steps. A curve of less
// than two points is left out.
void mm_curves_add(mm_plot *plot, const mm_curve *curve, size_t n, double unit);

#endif
