// SPDX-License-Identifier: Apache-2.0
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

// An array of the potential may be numbers of the density; other kinds of map do not have it.
static void copy(const double *from, int n, double *to) {
  for (int k = 0; from && k < n; k++)
    to[k] = from[k];
}

static void to_float(const double *from, int n, float *to) {
  for (int k = 0; k < n; k++)
    to[k] = narrowed(from[k]);
}

void mm_density_make(const mm_map *map, double scale, mm_density *out) {
  memset(out, 0, sizeof *out);
  const mm_potential_d *e = &map->exact;
  mm_density_d *d = &out->d;
  mm_density_f *f = &out->f;
  out->exact = *e;
  d->kind = f->kind = e->kind;
  d->log_scale = scale == 1 ? 0 : mm_log_d(scale);
  f->log_scale = (float)d->log_scale;
#define MM_KIND_DENSITY_PARAMETERS
#define MM_NUMBER(name) d->name = e->name, f->name = narrowed(d->name)
#define MM_NUMBERS(name, most) copy(e->name, most, d->name), to_float(d->name, most, f->name)
#define MM_WHOLE(name) d->name = f->name = e->name
#define MM_ARRAY(type, name) d->name = e->name, f->name = map->engine_f.name
#include "map/kinds_all.inc"
}

mm_density_f mm_density_moved_f(const mm_density *density, const mm_map *map, const void *to) {
  mm_density_f f = density->f;
#define MM_KIND_DENSITY_PARAMETERS
#define MM_NUMBER(name)
#define MM_NUMBERS(name, most)
#define MM_WHOLE(name)
#define MM_ARRAY(type, name) f.name = mm_map_moved_pointer(map, f.name, to)
#include "map/kinds_all.inc"
  return f;
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

MM_ISA_CHOOSE(mm_density_rows, mm_density_rows)
