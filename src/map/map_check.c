// Is it an omega-potential? The definition wants phi increasing, onto, and phi^-1 integrable; a
// policy uses phi^-1 on (0, 1] only, so that is where it is judged. Piecewise maps are continued
// with slope 1 beyond W, as the paper's appendix does.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "map/map_internal.h"

static void note(char (*lines)[200], int *n, const char *format, ...) MM_CHECK_FORMAT(3, 4);

static void note(char (*lines)[200], int *n, const char *format, ...) {
  if (*n >= 8) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(lines[*n], sizeof lines[*n], format, arguments);
  va_end(arguments);
  ++*n;
}

#define FAILURE(...) note(report->failure, &report->n_failure, __VA_ARGS__)
#define WARNING(...) note(report->warning, &report->n_warning, __VA_ARGS__)

// The first place on a grid over (0, 1] where phi^-1 is not finite, or 0.
static double first_not_finite(const mm_map *map) {
  for (int i = 1; i <= 1024; i++)
    if (!isfinite(mm_phi_inverse_d(&map->exact, i / 1024.0))) return i / 1024.0;
  return 0;
}

// From where on a neural map's phi^-1 rises: 0 unless every part of it is flat up to there. Linear,
// logarithmic, cubic and exponential parts rise everywhere, the others right of their kink.
static double rises_from(const mm_potential_d *f) {
  double from = f->a > 0 || f->b > 0 ? 0 : 1;
  for (int j = 0; j < MM_NEURAL_UNITS && from > 0; j++) {
    if (f->u[j] == 0 || f->w[j] == 0) continue;
    int block = j / MM_BLOCK;
    bool everywhere = block == 0 || block == 5;
    from = everywhere ? 0 : fmin(from, fmax(-f->c[j] / f->w[j], 0));
  }
  return from;
}

static void check_neural(const mm_map *map, mm_map_report *report) {
  const mm_potential_d *f = &map->exact;
  double flat = rises_from(f);
  if (flat > 0) {
    report->strictly_increasing = false;
    FAILURE("not increasing: phi^-1 is constant on (0, %.6g]", flat);
  }
  if (!map->finite)
    FAILURE("not finite: phi^-1 overflows on [0, 1] (first seen at p = %.6g)",
            first_not_finite(map));
  else if (flat == 0 && !(report->phi_inverse_at_1 > mm_phi_inverse_d(f, 0.5)))
    FAILURE("not increasing: phi^-1(0.5) and phi^-1(1) are the same number, %.6g",
            report->phi_inverse_at_1);
}

// Steps so much smaller than the knot they stand at that the sum does not see them.
static void check_piecewise(const mm_map *map, mm_map_report *report) {
  const mm_potential_d *f = &map->exact;
  int32_t lost = 0, first = -1;
  for (int32_t j = 0; j < f->n; j++) {
    if (f->knot[j + 1] > f->knot[j]) continue;
    if (lost++ == 0) first = j;
  }
  if (lost)
    WARNING("%d steps vanish in double precision beside their knot, the first at psi[%d] = %.3g",
            (int)lost, (int)first, f->psi[first]);
  lost = 0;
  for (int32_t j = 0; j < f->n; j++)
    lost += map->engine_f.depth[j + 1] <= map->engine_f.depth[j];
  if (lost) WARNING("%d steps vanish in single precision, which the engines use", (int)lost);
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
  if (f->kind == MM_MAP_NEURAL) check_neural(map, report);
  if (f->kind == MM_MAP_PIECEWISE) check_piecewise(map, report);
  if (map->finite && !isfinite(report->integral))
    FAILURE("not integrable: the integral of phi^-1 over (0, 1] is %g", report->integral);
  if (!report->essentially_smooth && report->n_failure == 0)
    WARNING("phi^-1(0) = %.6g is finite: policies can reach the edge of the simplex",
            report->phi_inverse_at_0);
  report->valid = report->n_failure == 0;
}
