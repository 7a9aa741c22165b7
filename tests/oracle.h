// SPDX-License-Identifier: Apache-2.0
// Slow and obvious versions of what src/map does, in long double on the C library's functions: the
// definitions written down once more, to compare the fast ones with.

#ifndef MM_TEST_ORACLE_H
#define MM_TEST_ORACLE_H

#include <stddef.h>

#include "mirrormap/map.h"

long double oracle_phi_inverse(const mm_map *map, long double p);

// Its derivative, for strictly inner p away from kinks.
long double oracle_phi_inverse_slope(const mm_map *map, long double p);

// phi at x, clipped at 0; neural maps by bisection of phi^-1 on [0, 1].
long double oracle_phi(const mm_map *map, long double x);

// sum_a max(phi(x_a + lambda), 0).
long double oracle_total(const mm_map *map, const double *x, size_t n, long double lambda);

// int_q^p (phi^-1(t) - phi^-1(q)) dt by adaptive Simpson; p, q in (0, 1].
long double oracle_bregman_term(const mm_map *map, long double p, long double q);

#endif
