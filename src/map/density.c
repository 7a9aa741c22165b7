// Making a map's form for densities, and divergences of densities for reports.

#include "map/density.h"

#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "map/family.h"

// In single precision: sums and products of these must not be infinite times 0.
static float narrowed(double x) {
  const double most = 1e30;
  return (float)(x < -most ? -most : x > most ? most : x);
}

static void make_float(const mm_density_d *d, const mm_map *map, mm_density_f *f) {
  f->kind = d->kind;
  f->log_scale = (float)d->log_scale;
  f->a = narrowed(d->a);
  f->b = narrowed(d->b);
  f->order = narrowed(d->order);
  f->ratio = narrowed(d->ratio);
  f->n = d->n;
  f->terms = d->terms;
  for (int k = 0; k < d->terms; k++) {
    f->weight[k] = (float)d->weight[k];
    f->exponent[k] = (float)d->exponent[k];
  }
  f->psi = map->engine_f.psi;
  f->knot = map->engine_f.knot;
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    f->w[j] = narrowed(d->w[j]);
    f->c[j] = narrowed(d->c[j]);
    f->u[j] = narrowed(d->u[j]);
  }
}

void mm_density_make(const mm_map *map, double scale, mm_density *out) {
  memset(out, 0, sizeof *out);
  const mm_potential_d *e = &map->exact;
  mm_density_d *d = &out->d;
  out->exact = *e;
  d->kind = e->kind;
  d->log_scale = scale == 1 ? 0 : mm_log_d(scale);
  d->a = e->a;
  d->b = e->b;
  d->order = e->order;
  d->ratio = e->ratio;
  d->n = e->n;
  d->terms = e->terms;
  memcpy(d->weight, e->weight, sizeof d->weight);
  memcpy(d->exponent, e->exponent, sizeof d->exponent);
  d->psi = e->psi;
  d->knot = e->knot;
  for (int j = 0; j < MM_NEURAL_UNITS && e->kind == MM_MAP_NEURAL; j++) {
    d->w[j] = e->w[j];
    d->c[j] = e->c[j];
    d->u[j] = e->u[j];
  }
  make_float(d, map, &out->f);
}

// ---------------------------------------------------------------------------------------------
// Divergences

// r log r - r + 1 for r = e^t.
double mm_log_divergence(double t) {
  if (fabs(t) < 0.1) { // sum over k >= 2 of t^k (k - 1) / k!
    double sum = 0, term = t;
    for (int k = 2; k < 12; k++) {
      term *= t / k;
      sum += term * (k - 1);
    }
    return sum;
  }
  return mm_exp_d(t) * t - mm_expm1_d(t);
}

double mm_density_divergence(const mm_density *f, double log_p, double log_q) {
  const mm_density_d *d = &f->d;
  int64_t acted = 0;
  double t = log_p - log_q, value = 0;
  t = t < -MM_DENSITY_EXP ? -MM_DENSITY_EXP : t > MM_DENSITY_EXP ? MM_DENSITY_EXP : t;
  const mm_map_family *family = mm_map_family_of(d->kind);
  const mm_density_pair_d x = mm_density_pair_of_d(d, log_p, log_q, &acted);
  if (family->divergence)
    value = family->divergence(f, t, x);
  else
    value = mm_bregman_term(&f->exact, x.p, x.q) / x.q;
  return value >= 0 && value <= MM_DENSITY_MOST ? value : value < 0 ? 0 : MM_DENSITY_MOST;
}

// ---------------------------------------------------------------------------------------------

mm_density_rows mm_density_rows_portable;
#if HAVE_ISA_X86
mm_density_rows mm_density_rows_avx2, mm_density_rows_avx512;
#endif

mm_density_rows *mm_density_rows_current(void) {
  switch (mm_isa_current()) {
#if HAVE_ISA_X86
  case MM_ISA_AVX512:
    return mm_density_rows_avx512;
  case MM_ISA_AVX2:
    return mm_density_rows_avx2;
#endif
  default:
    return mm_density_rows_portable;
  }
}
