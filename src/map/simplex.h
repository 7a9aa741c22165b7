// SPDX-License-Identifier: Apache-2.0
// From scores to a policy: the projection onto the simplex. [host/device]
//
// Finds lambda with sum_a max(phi(x_a + lambda), 0) = 1 (the paper's eq:pi_t) for one row of
// scores. With d_a = x_a - max x and u = lambda + max x - phi^-1(1), the top action sits at u and
// the root lies between anchored phi^-1(1/|A|) and 0. Negative entropy and l2 have closed forms;
// the others are solved until the sum is 1 to rounding or u cannot be resolved further. Where even
// neighbouring numbers u give sums on both sides of 1 (phi steeper than the number type resolves,
// or with a jump), the policy is the mixture of the two that sums to 1.

#ifndef MM_MAP_SIMPLEX_H
#define MM_MAP_SIMPLEX_H

#include <stddef.h>

#include "map/potential.h"

#define MM_REAL_BITS 64
#include "map/simplex.inc"

#define MM_REAL_BITS 32
#include "map/simplex.inc"

#endif
