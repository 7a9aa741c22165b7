// SPDX-License-Identifier: Apache-2.0
// Learning curves in a panel; see curves.h.

#include "show/figure/curves.h"

#include <math.h>

mm_range mm_curves_range(const mm_curve *curve, size_t n) {
  mm_range r = MM_RANGE_NONE;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < curve[i].n; k++) {
      mm_estimate e = curve[i].point[k].value;
      double half = isnan(e.sem) ? 0 : e.sem; // a single run has none
      mm_range_include(&r, e.mean - half);
      mm_range_include(&r, e.mean + half);
    }
  return r;
}

// A band needs two points that have a standard error.
static void add(mm_plot *plot, const mm_curve *curve, double unit, mm_series look) {
  size_t n = 0;
  for (size_t k = 0; k < curve->n; k++)
    n += look.style == MM_LINE || !isnan(curve->point[k].value.sem);
  if (n < 2) return;
  mm_plot_series(plot, look);
  for (size_t k = 0; k < curve->n; k++) {
    mm_estimate e = curve->point[k].value;
    if (look.style == MM_LINE || !isnan(e.sem))
      mm_plot_mean(plot, (double)curve->point[k].step / unit, e.mean, e.sem);
  }
}

void mm_curves_add(mm_plot *plot, const mm_curve *curve, size_t n, double unit) {
  for (size_t i = 0; i < n; i++)
    add(plot, &curve[i], unit,
        (mm_series){ .style = MM_BAND, .line = curve[i].line, .opacity = 0.18 });
  for (size_t i = 0; i < n; i++)
    add(plot, &curve[i], unit,
        (mm_series){ .style = MM_LINE, .line = curve[i].line, .name = curve[i].name });
}
