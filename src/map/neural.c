// phi of a neural map over its whole domain. A policy needs 0 <= p <= 1 only; a user who evaluates
// phi anywhere gets the same function continued.

#include <math.h>

#include "map/map_internal.h"

// phi^-1 at any p its formula allows: p > 0, or any p where b = 0.
static double inverse(const mm_potential_d *f, double p) {
  double slope, rest = fma(f->a, p, mm_units_d(f, p, &slope));
  return f->b > 0 ? fma(f->b, mm_log_d(p), rest) : rest;
}

// The p in [low, high] with phi^-1(p) = x, by bisection to the last bit.
static double bisect(const mm_potential_d *f, double x, double low, double high) {
  for (;;) {
    double mid = low + 0.5 * (high - low);
    if (mid <= low || mid >= high) return high;
    if (inverse(f, mid) < x)
      low = mid;
    else
      high = mid;
  }
}

double mm_neural_phi(const mm_potential_d *f, double x) {
  if (isinf(x)) return x > 0 ? INFINITY : f->b > 0 ? 0 : -INFINITY;
  double y = x - f->anchor;
  if (y > 0) {
    double high = 2;
    while (inverse(f, high) < x && high < 0x1p1000)
      high *= 2;
    return high < 0x1p1000 ? bisect(f, x, high / 2, high) : INFINITY;
  }
  if (f->b == 0 && y < f->drop) {
    // phi^-1 goes on below p = 0; where it is bounded from below there, nothing maps to x
    double low = -1;
    while (inverse(f, low) > x && low > -0x1p1000)
      low *= 2;
    return low > -0x1p1000 ? bisect(f, x, low, 0) : -INFINITY;
  }
  return mm_phi_at_d(f, y).p;
}
