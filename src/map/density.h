// SPDX-License-Identifier: Apache-2.0
// Mirror maps on densities of continuous actions (docs/gaussian.md). [host/device]
//
// A density has no upper end: phi^-1 is taken beyond 1 (a piecewise map goes on as W + (p - 1)),
// and what training needs are differences phi^-1(p) - phi^-1(q) of densities that are nearly the
// same. They are formed from the logarithms of the two, never by subtraction of values, and kept
// within bounds that no useful policy meets: densities count from e^-30 to e^30 (the logarithm
// beyond, too), arguments of exponential units up to 40, of others up to 10^12, and so does the
// difference itself. Where a bound acts is told.

#ifndef MM_MAP_DENSITY_H
#define MM_MAP_DENSITY_H

#include "map/potential.h"

#define MM_DENSITY_RANGE 30  // of a density's logarithm, either way
#define MM_DENSITY_EXP 40    // most of an exponential unit's argument
#define MM_DENSITY_MOST 1e12 // of other units' arguments and of the result

// What acted.
enum { MM_DENSITY_CLAMPED = 1, MM_DENSITY_CAPPED = 2 };

#define MM_REAL_BITS 64
#include "map/density.inc"

#define MM_REAL_BITS 32
#include "map/density.inc"

#ifdef __cplusplus
extern "C" {
#endif

// A map's form for densities, in both precisions; the map must outlive it. It is applied to `scale`
// times a density.
typedef struct mm_density {
  mm_density_d d;
  mm_density_f f;
  mm_potential_d exact;
} mm_density;

void mm_density_make(const mm_map *map, double scale, mm_density *out);

// The same in single precision where a copy of the map's block is at `to` (map_internal.h).
mm_density_f mm_density_moved_f(const mm_density *f, const mm_map *map, const void *to);

// d(p, q) / q >= 0, whose mean over samples of q is the divergence D(p, q), within the same bounds.
double mm_density_divergence(const mm_density *f, double log_p, double log_q);

// phi^-1(p) - phi^-1(q) for n rows; acted: [n] what acted there.
typedef void mm_density_rows(const mm_density *f, size_t n, const float *log_p, const float *log_q,
                             float *out, uint8_t *acted);
mm_density_rows *mm_density_rows_current(void);

#ifdef __cplusplus
}
#endif

#endif
