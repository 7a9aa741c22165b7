// Search coordinates: the unconstrained numbers that evolution works on, the paper's starting
// point, and the random maps that serve as controls.
//
// Piecewise: psi = exp z. Neural: w = softplus z, u = softplus z / 126, a, b = softplus z, c = z,
// in the order w, c, u, a, b. Softplus is monotone, so an antithetic pair always differs, and never
// dead.

#include <math.h>

#include "base/elementary.h"
#include "base/status.h"
#include "map/map_internal.h"

enum { W = 0, C = MM_NEURAL_UNITS, U = 2 * MM_NEURAL_UNITS, A = 3 * MM_NEURAL_UNITS, B = A + 1 };

#define NEVER -40.0 // where an exact zero is put: softplus(-40) = 4e-18

static double softplus(double z) {
  return z > 0 ? z + mm_log1p_d(mm_exp_d(-z)) : mm_log1p_d(mm_exp_d(z));
}

static double softplus_inverse(double value) {
  if (value <= 0) return NEVER;
  return fmax(value + mm_log_d(-mm_expm1_d(-value)), NEVER);
}

size_t mm_map_search_size(mm_map_kind kind, size_t n) {
  return kind == MM_MAP_PIECEWISE ? n : kind == MM_MAP_NEURAL ? MM_NEURAL_SEARCH : 0;
}

static mm_status no_coordinates(mm_map_kind kind) {
  return MM_FAIL(MM_ERR_INPUT, "%s maps have no search coordinates: expected piecewise or neural",
                 mm_map_kind_name(kind));
}

mm_status mm_map_search_initial(mm_map_kind kind, size_t n, double *z) {
  if (kind == MM_MAP_PIECEWISE) {
    // psi_1 = 3 ln 10, psi_i = ln(i / (i - 1)): phi(s_j) = exp(s_j - W)
    for (size_t i = 0; i < n; i++)
      z[i] = mm_log_d(i == 0 ? 3 * mm_log_d(10) : mm_log1p_d(1 / (double)i));
    return MM_OK;
  }
  if (kind != MM_MAP_NEURAL) return no_coordinates(kind);
  double one = softplus_inverse(1);
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    z[W + j] = one;
    z[C + j] = -(double)(j % MM_BLOCK) / MM_BLOCK; // kinks spread over (0, 1]
    z[U + j] = -3;
  }
  z[A] = -3;
  z[B] = one;
  return MM_OK;
}

static mm_status from_piecewise(const double *z, size_t n, mm_map **out) {
  double *psi = mm_alloc_array(n, sizeof *psi);
  if (!psi) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  for (size_t i = 0; i < n; i++)
    psi[i] = mm_exp_d(fmin(fmax(z[i], MM_SEARCH_MIN), MM_SEARCH_MAX));
  mm_status status = mm_map_create_piecewise(psi, n, out);
  mm_free(psi);
  return status;
}

mm_status mm_map_from_search(mm_map_kind kind, size_t n, const double *z, mm_map **out) {
  *out = NULL;
  size_t size = mm_map_search_size(kind, n);
  if (kind == MM_MAP_PIECEWISE)
    MM_TRY(mm_map_check_steps(n));
  else if (size == 0)
    return no_coordinates(kind);
  for (size_t i = 0; i < size; i++)
    if (!isfinite(z[i]))
      return MM_FAIL(MM_ERR_INPUT, "search coordinate %zu is %g: expected a finite number", i,
                     z[i]);
  if (kind == MM_MAP_PIECEWISE) return from_piecewise(z, n, out);
  double w[MM_NEURAL_UNITS], u[MM_NEURAL_UNITS];
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    w[j] = softplus(z[W + j]);
    u[j] = softplus(z[U + j]) / MM_NEURAL_UNITS;
  }
  return mm_map_create_neural(w, z + C, u, softplus(z[A]), softplus(z[B]), out);
}

mm_status mm_map_to_search(const mm_map *map, double *z) {
  const mm_potential_d *f = &map->exact;
  if (f->kind == MM_MAP_PIECEWISE) {
    for (int32_t i = 0; i < f->n; i++)
      z[i] = mm_log_d(f->psi[i]);
    return MM_OK;
  }
  if (f->kind != MM_MAP_NEURAL) return no_coordinates(f->kind);
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    z[W + j] = softplus_inverse(f->w[j]);
    z[C + j] = f->c[j];
    z[U + j] = softplus_inverse(MM_NEURAL_UNITS * f->u[j]);
  }
  z[A] = softplus_inverse(f->a);
  z[B] = softplus_inverse(f->b);
  return MM_OK;
}
