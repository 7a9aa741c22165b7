// Is it an omega-potential? The definition wants phi increasing, onto, and phi^-1 integrable; a
// policy uses phi^-1 on (0, 1] only, so that is where it is judged. Piecewise maps are continued
// with slope 1 beyond W, as the paper's appendix does.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "map/family.h"

void mm_map_note(char (*lines)[200], int *n, const char *format, ...) {
  if (*n >= 8) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(lines[*n], sizeof lines[*n], format, arguments);
  va_end(arguments);
  ++*n;
}

void mm_map_check(const mm_map *map, mm_map_report *report) {
  const mm_potential_d *f = &map->exact;
  memset(report, 0, sizeof *report);
  report->strictly_increasing = true;
  report->phi_inverse_at_0 = mm_phi_inverse_d(f, 0);
  report->phi_inverse_at_1 = f->anchor;
  report->essentially_smooth = report->phi_inverse_at_0 == -INFINITY;
  // int_0^1 phi^-1 = -(int_1^0 phi^-1)
  report->integral = f->anchor - mm_bregman_term(f, 0, 1);
  const mm_map_family *family = mm_map_family_of(f->kind);
  if (family->check) family->check(map, report);
  if (map->finite && !isfinite(report->integral))
    MM_MAP_FAILURE("not integrable: the integral of phi^-1 over (0, 1] is %g", report->integral);
  if (!report->essentially_smooth && report->n_failure == 0)
    MM_MAP_WARNING("phi^-1(0) = %.6g is finite: policies can reach the edge of the simplex",
                   report->phi_inverse_at_0);
  report->valid = report->n_failure == 0;
}
