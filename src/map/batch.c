// SPDX-License-Identifier: Apache-2.0
// Array loops over the potential's functions. Compiled once per instruction set with MM_ISA set to
// its name; the loops are plain C for the compiler to vectorise, which never changes a result
// because nothing is summed across lanes.

#include "map/batch.h"

#include "base/isa.h"
#include "map/foreign.h"
#include "map/piecewise_rows.h"
#include "map/simplex.h"

#define MM_REAL_BITS 64
#include "map/batch.inc"

#define MM_REAL_BITS 32
#include "map/batch.inc"

// Inside a cell a smooth unit strays by at most width^2/8 times its largest second derivative; a
// concave one that may have its kink there, by at most its rise from the kink. Per unit and level:
typedef struct stray {
  double step;  // w width: how far z moves over the cell
  double scale; // step^2 / 8
  double cap;   // rise of a concave unit from its kink over one step
} stray;

static stray stray_of(int block, double step) {
  double cap = block == 2   ? sqrt(step)
               : block == 3 ? mm_cbrt_d(step)
               : block == 4 ? mm_log1p_d(step / MM_LOG_UNIT_OFFSET)
                            : 0;
  stray out = { step, step * step / 8, cap };
  return out;
}

// The second derivative that bounds a unit over a cell, from z and its value s at the left end and
// z at the right end; it may be inf or NaN at a kink, where the cap holds instead.
static inline double curvature(int block, double z, double s, double right) {
  double e = z + MM_LOG_UNIT_OFFSET;
  switch (block) {
  case 0:
    return 6 * (fabs(z) > fabs(right) ? fabs(z) : fabs(right));
  case 1:
    return 2;
  case 2:
    return 0.25 / (z * s);
  case 3:
    return s / (4.5 * z * z);
  case 4:
    return 1 / (e * e);
  default:
    return mm_exp_d(right);
  }
}

// One unit's share for all cells; `block` is a constant after inlining.
MM_INLINE void unit_bounds(int block, double u, double w, double c, const double *MM_RESTRICT left,
                           double width, size_t n, double *MM_RESTRICT value,
                           double *MM_RESTRICT bound) {
  stray t = stray_of(block, w * width);
  for (size_t i = 0; i < n; i++) {
    double z = fma(w, left[i], c), s = mm_unit_d(block, z), right = z + t.step;
    double b = t.scale * curvature(block, z, s, right);
    if (block >= 2 && block <= 4) b = z > 0 && b < t.cap ? b : t.cap;
    if (block >= 1 && block <= 4) b = right > 0 ? b : 0; // flat left of the kink
    value[i] = fma(u, s, value[i]);
    bound[i] = fma(u, b, bound[i]);
  }
}

static void cell_bounds(const mm_potential_d *f, const double *left, double width, size_t n,
                        double *value, double *bound) {
  for (size_t i = 0; i < n; i++)
    value[i] = bound[i] = 0;
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    double u = f->u[j], w = f->w[j], c = f->c[j];
    if (u == 0) continue;
    switch (j / MM_BLOCK) {
    case 0:
      unit_bounds(0, u, w, c, left, width, n, value, bound);
      break;
    case 1:
      unit_bounds(1, u, w, c, left, width, n, value, bound);
      break;
    case 2:
      unit_bounds(2, u, w, c, left, width, n, value, bound);
      break;
    case 3:
      unit_bounds(3, u, w, c, left, width, n, value, bound);
      break;
    case 4:
      unit_bounds(4, u, w, c, left, width, n, value, bound);
      break;
    default:
      unit_bounds(5, u, w, c, left, width, n, value, bound);
      break;
    }
  }
}

const mm_map_kernels MM_ISA_NAME(mm_map_kernels) = {
  .phi_d = phi_d,
  .phi_f = phi_f,
  .phi_inverse_d = phi_inverse_d,
  .phi_inverse_f = phi_inverse_f,
  .project_d = project_d,
  .project_f = project_f,
  .cell_bounds = cell_bounds,
};
