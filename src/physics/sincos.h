// SPDX-License-Identifier: Apache-2.0
// Sine and cosine in double precision, with bits of our own: for tables and for the engine's
// double build. [host/device]

#ifndef MM_PHYSICS_SINCOS_H
#define MM_PHYSICS_SINCOS_H

#include "base/elementary.h"

// pi / 2 as a sum: the first part has 33 bits, so its multiples below 2^20 are exact.
#define MM_PI_HALF_HI_D 0x1.921fb544p0
#define MM_PI_HALF_MID_D 0x1.0b4611a626331p-34
#define MM_TWO_OVER_PI_D 0x1.45f306dc9c883p-1

// x = k pi/2 + r with |r| <= pi/4, then Taylor's terms up to r^17 and r^18: what is left out is
// below 2^-60. Holds for |x| up to 10^5; infinite x and NaN give NaN.
MM_INLINE MM_HD void mm_sincos_d(double x, double *sine, double *cosine) {
  double shifted = fma(x, MM_TWO_OVER_PI_D, MM_SHIFT_D), k = shifted - MM_SHIFT_D;
  double r = fma(-k, MM_PI_HALF_MID_D, fma(-k, MM_PI_HALF_HI_D, x)), z = r * r;
  double s = 1.0 / 355687428096000.0, c = -1.0 / 6402373705728000.0;
  s = fma(z, s, -1.0 / 1307674368000.0);
  s = fma(z, s, 1.0 / 6227020800.0);
  s = fma(z, s, -1.0 / 39916800.0);
  s = fma(z, s, 1.0 / 362880.0);
  s = fma(z, s, -1.0 / 5040.0);
  s = fma(z, s, 1.0 / 120.0);
  s = fma(z, s, -1.0 / 6.0);
  s = fma(z * r, s, r);
  c = fma(z, c, 1.0 / 20922789888000.0);
  c = fma(z, c, -1.0 / 87178291200.0);
  c = fma(z, c, 1.0 / 479001600.0);
  c = fma(z, c, -1.0 / 3628800.0);
  c = fma(z, c, 1.0 / 40320.0);
  c = fma(z, c, -1.0 / 720.0);
  c = fma(z, c, 1.0 / 24.0);
  c = fma(z * z, c, fma(-0.5, z, 1.0));
  uint64_t quadrant = mm_bits_d(shifted);
  uint64_t sin_sign = (quadrant & 2u) << 62, cos_sign = ((quadrant + 1u) & 2u) << 62;
  double a = (quadrant & 1u) ? c : s, b = (quadrant & 1u) ? s : c;
  *sine = mm_from_bits_d(mm_bits_d(a) ^ sin_sign);
  *cosine = mm_from_bits_d(mm_bits_d(b) ^ cos_sign);
}

#endif
