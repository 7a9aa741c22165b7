// SPDX-License-Identifier: Apache-2.0
// Elementary functions with bits of our own. [host/device]
//
// The C library's exp and log change from version to version; results here must not. Each function
// is a fixed sequence of IEEE operations and explicit fused multiply-adds without branches, so it
// gives the same bits from every compiler and instruction set, and loops over it vectorise. Errors,
// measured against long double in tests/test_elementary.c, stay below 1.1 ulp for exp, log and cbrt
// and below 2 ulp for the others; tanh, made for speed, has a relative error of 5e-7. Sine and
// cosine hold what is said for arguments up to 10^5.

#ifndef MM_BASE_ELEMENTARY_H
#define MM_BASE_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/hostdev.h"

MM_INLINE MM_HD uint64_t mm_bits_d(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

MM_INLINE MM_HD double mm_from_bits_d(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

MM_INLINE MM_HD uint32_t mm_bits_f(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

MM_INLINE MM_HD float mm_from_bits_f(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

// ln 2 as a sum; the high part has 21 (13) trailing zero bits, so its multiples are exact.
#define MM_LN2_HI_D 0x1.62e42feep-1
#define MM_LN2_LO_D 0x1.a39ef35793c76p-33
#define MM_LN2_HI_F 0x1.62e4p-1f
#define MM_LN2_LO_F 0x1.7f7d1cp-20f
#define MM_LOG2E 0x1.71547652b82fep0

// Adding this rounds to an integer and leaves it in the low bits.
#define MM_SHIFT_D 0x1.8p52
#define MM_SHIFT_F 0x1.8p23f

// ---------------------------------------------------------------------------------------------
// Double

// 2^k for an integral k in [-1022, 1023] held in a double.
MM_INLINE MM_HD double mm_exp2_int_d(double k) {
  return mm_from_bits_d((mm_bits_d(k + MM_SHIFT_D) - mm_bits_d(MM_SHIFT_D) + 1023) << 52);
}

// (e^r - 1 - r) / r^2 for |r| <= 0.36: Taylor's terms up to r^11; the next one is below 5e-18.
MM_INLINE MM_HD double mm_exp_tail_d(double r) {
  double s = r * r;
  double even =
      fma(s,
          fma(s, fma(s, fma(s, fma(s, 1.0 / 479001600, 1.0 / 3628800), 1.0 / 40320), 1.0 / 720),
              1.0 / 24),
          1.0 / 2);
  double odd =
      fma(s,
          fma(s, fma(s, fma(s, fma(s, 1.0 / 6227020800, 1.0 / 39916800), 1.0 / 362880), 1.0 / 5040),
              1.0 / 120),
          1.0 / 6);
  return fma(r, odd, even);
}

// e^(x + low) with |low| far below an ulp of x's result: x = k ln 2 + r.
MM_INLINE MM_HD double mm_exp_sum_d(double x, double low) {
  // beyond these ends the result is inf or 0 anyway; NaN passes both comparisons
  double c = x < -746.0 ? -746.0 : x;
  c = c > 710.0 ? 710.0 : c;
  double k = fma(c, MM_LOG2E, MM_SHIFT_D) - MM_SHIFT_D;
  double r = fma(-k, MM_LN2_LO_D, fma(-k, MM_LN2_HI_D, c)) + low;
  double y = 1.0 + fma(r * r, mm_exp_tail_d(r), r);
  // two factors, because 2^k itself may overflow or be subnormal
  double half = fma(k, 0.5, MM_SHIFT_D) - MM_SHIFT_D;
  return y * mm_exp2_int_d(half) * mm_exp2_int_d(k - half);
}

MM_INLINE MM_HD double mm_exp_d(double x) {
  return mm_exp_sum_d(x, 0.0);
}

// e^x - 1, accurate near 0.
MM_INLINE MM_HD double mm_expm1_d(double x) {
  double c = x < -50.0 ? -50.0 : x;
  c = c > 50.0 ? 50.0 : c;
  double k = fma(c, MM_LOG2E, MM_SHIFT_D) - MM_SHIFT_D;
  double r = fma(-k, MM_LN2_LO_D, fma(-k, MM_LN2_HI_D, c));
  double scale = mm_exp2_int_d(k);
  double near = fma(scale, fma(r * r, mm_exp_tail_d(r), r), scale - 1.0);
  return x > 40.0 ? mm_exp_d(x) : near;
}

// x = 2^k m with m in [sqrt 1/2, sqrt 2); x positive and finite.
MM_INLINE MM_HD double mm_split_d(double x, double *k) {
  // subnormal numbers are scaled into the normal range first
  int tiny = x < 0x1p-1022;
  uint64_t u = mm_bits_d(tiny ? x * 0x1p54 : x);
  u += 0x3ff0000000000000 - 0x3fe6a09e667f3bcd;
  *k = mm_from_bits_d((u >> 52) | 0x4330000000000000) - (tiny ? 0x1p52 + 1077 : 0x1p52 + 1023);
  return mm_from_bits_d((u & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
}

// With s = f / (2 + f): (log(1 + f) - 2 s) / s = sum_i 2 s^2i / (2i + 1), as a function of s^2 <=
// 0.0295; the first term left out is below 1e-18.
MM_INLINE MM_HD double mm_log_tail_d(double z) {
  double w = z * z;
  double even = fma(
      w, fma(w, fma(w, fma(w, fma(w, 2.0 / 23, 2.0 / 19), 2.0 / 15), 2.0 / 11), 2.0 / 7), 2.0 / 3);
  double odd = fma(w, fma(w, fma(w, fma(w, 2.0 / 21, 2.0 / 17), 2.0 / 13), 2.0 / 9), 2.0 / 5);
  return z * fma(z, odd, even);
}

MM_INLINE MM_HD double mm_log_special_d(double x, double regular) {
  double y = x > 0.0 ? regular : x == 0.0 ? -(double)INFINITY : (double)NAN;
  return x < (double)INFINITY ? y : x; // +inf and NaN answer for themselves
}

MM_INLINE MM_HD double mm_log_d(double x) {
  double k, f = mm_split_d(x, &k) - 1.0;
  double s = f / (2.0 + f), half = 0.5 * f * f;
  // log(1 + f) = f - (f^2/2 - s (f^2/2 + tail)): the large term f is exact
  double low = fma(k, MM_LN2_LO_D, s * (half + mm_log_tail_d(s * s)));
  return mm_log_special_d(x, fma(k, MM_LN2_HI_D, f - (half - low)));
}

// log(1 + x), accurate near 0.
MM_INLINE MM_HD double mm_log1p_d(double x) {
  double u = 1.0 + x;
  // what rounding u lost, to first order
  double lost = (x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x)) / u;
  double y = mm_log_d(u);
  return x > -1.0 && x < 0x1p60 ? y + lost : y;
}

// x^y for x >= 0, with log x carried as a sum of two numbers.
MM_INLINE MM_HD double mm_pow_d(double x, double y) {
  double k, f = mm_split_d(x, &k) - 1.0;
  double den = 2.0 + f, den_low = f - (den - 2.0);
  double s = f / den, s_low = (fma(-s, den, f) - s * den_low) / den;
  double tail = s * mm_log_tail_d(s * s);
  double big = k * MM_LN2_HI_D, high = big + 2.0 * s;
  // exact error of that sum (either may be the larger one), then the small parts
  double part = high - big;
  double low = ((big - (high - part)) + (2.0 * s - part)) + fma(k, MM_LN2_LO_D, 2.0 * s_low + tail);
  double e = y * high, rest = fma(y, high, -e) + y * low;
  // beyond the ends of exp the small part has no say, and may be large
  double regular = mm_exp_sum_d(e, e > -746.0 && e < 746.0 ? rest : 0.0);
  double at_zero = y > 0.0 ? 0.0 : y < 0.0 ? (double)INFINITY : 1.0;
  double at_inf = y > 0.0 ? (double)INFINITY : y < 0.0 ? 0.0 : 1.0;
  double r = x > 0.0 ? regular : x == 0.0 ? at_zero : (double)NAN;
  return x == (double)INFINITY ? at_inf : r;
}

// x^(1/3) for x >= 0 without divisions: r = x^(-1/3) from minus a third of the exponent (1 - x r^3
// is then below 0.103), twice improved by the series of (1 - e)^(-1/3), and a Newton step for x
// r^2.
MM_INLINE MM_HD double mm_cbrt_d(double x) {
  double up = x < 0x1p-1000 ? 0x1p300 : 1.0, back = x < 0x1p-1000 ? 0x1p-100 : 1.0;
  double v = x * up;
  uint64_t third = ((mm_bits_d(v) >> 32) * 0xaaaaaaabu) >> 33;
  double r = mm_from_bits_d((0x553ee940 - third) << 32);
  double e = fma(-(v * r) * r, r, 1.0);
  r = fma(r * e, fma(e, fma(e, fma(e, 35.0 / 243, 14.0 / 81), 2.0 / 9), 1.0 / 3), r);
  e = fma(-(v * r) * r, r, 1.0);
  r = fma(r * e, fma(e, fma(e, 14.0 / 81, 2.0 / 9), 1.0 / 3), r);
  double y = v * r * r, y2 = y * y, y2_low = fma(y, y, -y2);
  y = fma(-(1.0 / 3) * (r * r), fma(y, y2, -v) + y * y2_low, y);
  return x < (double)INFINITY ? y * back : x;
}

MM_INLINE MM_HD double mm_sqrt_d(double x) {
  return sqrt(x);
}

// ---------------------------------------------------------------------------------------------
// Float: exp, log, sine and cosine natively, for the engines; the others through double.

MM_INLINE MM_HD float mm_exp2_int_f(float k) {
  return mm_from_bits_f((mm_bits_f(k + MM_SHIFT_F) - mm_bits_f(MM_SHIFT_F) + 127) << 23);
}

MM_INLINE MM_HD float mm_exp_f(float x) {
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  float k = fmaf(c, (float)MM_LOG2E, MM_SHIFT_F) - MM_SHIFT_F;
  float r = fmaf(-k, MM_LN2_LO_F, fmaf(-k, MM_LN2_HI_F, c));
  float s = r * r;
  float even = fmaf(s, fmaf(s, 1.0f / 720, 1.0f / 24), 1.0f / 2);
  float odd = fmaf(s, fmaf(s, 1.0f / 5040, 1.0f / 120), 1.0f / 6);
  float y = 1.0f + fmaf(s, fmaf(r, odd, even), r);
  float half = fmaf(k, 0.5f, MM_SHIFT_F) - MM_SHIFT_F;
  return y * mm_exp2_int_f(half) * mm_exp2_int_f(k - half);
}

MM_INLINE MM_HD float mm_log_f(float x) {
  int tiny = x < 0x1p-126f;
  uint32_t u = mm_bits_f(tiny ? x * 0x1p25f : x) + (0x3f800000 - 0x3f3504f3);
  float k = mm_from_bits_f((u >> 23) | 0x4b000000) - (tiny ? 0x1p23f + 152 : 0x1p23f + 127);
  float f = mm_from_bits_f((u & 0x007fffff) + 0x3f3504f3) - 1.0f;
  float s = f / (2.0f + f), half = 0.5f * f * f, z = s * s;
  float tail = z * fmaf(z, fmaf(z, fmaf(z, 2.0f / 9, 2.0f / 7), 2.0f / 5), 2.0f / 3);
  float low = fmaf(k, MM_LN2_LO_F, s * (half + tail));
  float regular = fmaf(k, MM_LN2_HI_F, f - (half - low));
  float y = x > 0.0f ? regular : x == 0.0f ? -(float)INFINITY : (float)NAN;
  return x < (float)INFINITY ? y : x;
}

// pi / 2 as a sum of three floats: with a factor below 2^17 what is left out stays below 2^-57.
#define MM_PI_HALF_HI_F 0x1.921fb6p0f
#define MM_PI_HALF_MID_F (-0x1.777a5cp-25f)
#define MM_PI_HALF_LO_F (-0x1.ee59dap-50f)
#define MM_TWO_OVER_PI_F 0x1.45f306p-1f

// Polynomials of the two in z = r^2. They have names because the physics goes through the same
// steps with whole vectors.
#define MM_SIN_P1_F (-0x1.555544p-3f)
#define MM_SIN_P2_F 0x1.1106c6p-7f
#define MM_SIN_P3_F (-0x1.991c26p-13f)
#define MM_COS_P2_F 0x1.555554p-5f
#define MM_COS_P3_F (-0x1.6c1132p-10f)
#define MM_COS_P4_F 0x1.9b2298p-16f

// Sine and cosine of x = k pi/2 + r with |r| <= pi/4: polynomials in r, minimax on that interval
// (relative errors 2^-27.8 and 2^-31.4), then the quadrant k swaps them and sets the signs. The
// first step of the reduction is exact. Beyond |x| = 10^5 the error grows, and from about 10^7 on
// the result means nothing; infinite x and NaN give NaN.
MM_INLINE MM_HD void mm_sincos_f(float x, float *sine, float *cosine) {
  float shifted = fmaf(x, MM_TWO_OVER_PI_F, MM_SHIFT_F), k = shifted - MM_SHIFT_F;
  float r = fmaf(-k, MM_PI_HALF_HI_F, x);
  r = fmaf(-k, MM_PI_HALF_LO_F, fmaf(-k, MM_PI_HALF_MID_F, r));
  float z = r * r;
  float sin_tail = fmaf(z, fmaf(z, MM_SIN_P3_F, MM_SIN_P2_F), MM_SIN_P1_F);
  float cos_tail = fmaf(z, fmaf(z, MM_COS_P4_F, MM_COS_P3_F), MM_COS_P2_F);
  float sin_r = fmaf(z * r, sin_tail, r);
  float cos_r = fmaf(z * z, cos_tail, fmaf(-0.5f, z, 1.0f));
  // the low bits of the shifted number are those of k, also for negative ones
  uint32_t quadrant = mm_bits_f(shifted);
  uint32_t sin_sign = (quadrant & 2u) << 30, cos_sign = ((quadrant + 1u) & 2u) << 30;
  float s = (quadrant & 1u) ? cos_r : sin_r, c = (quadrant & 1u) ? sin_r : cos_r;
  *sine = mm_from_bits_f(mm_bits_f(s) ^ sin_sign);
  *cosine = mm_from_bits_f(mm_bits_f(c) ^ cos_sign);
}

MM_INLINE MM_HD float mm_sin_f(float x) {
  float sine, cosine;
  mm_sincos_f(x, &sine, &cosine);
  return sine;
}

MM_INLINE MM_HD float mm_cos_f(float x) {
  float sine, cosine;
  mm_sincos_f(x, &sine, &cosine);
  return cosine;
}

// tanh x = x P(x^2) / Q(x^2) on [-8, 8], minimax: relative error 1.5e-7 before rounding. Beyond it
// is what it is at the ends, 2.3e-7 short of 1. The coefficients have names because the networks'
// kernels go through the same steps with whole vectors.
#define MM_TANH_END_F 8.0f
#define MM_TANH_P0_F 0.999999854283f
#define MM_TANH_P1_F 0.129256614995f
#define MM_TANH_P2_F 0.00295102229873f
#define MM_TANH_P3_F 1.1428409083e-05f
#define MM_TANH_Q1_F 0.462588770682f
#define MM_TANH_Q2_F 0.0238155478409f
#define MM_TANH_Q3_F 0.000238668969669f
#define MM_TANH_Q4_F 2.45920654602e-07f

MM_INLINE MM_HD float mm_tanh_f(float x) {
  // NaN passes both comparisons
  float c = x < -MM_TANH_END_F ? -MM_TANH_END_F : x;
  c = c > MM_TANH_END_F ? MM_TANH_END_F : c;
  float z = c * c;
  float p = fmaf(z, fmaf(z, fmaf(z, MM_TANH_P3_F, MM_TANH_P2_F), MM_TANH_P1_F), MM_TANH_P0_F);
  float q = fmaf(z, fmaf(z, fmaf(z, MM_TANH_Q4_F, MM_TANH_Q3_F), MM_TANH_Q2_F), MM_TANH_Q1_F);
  return c * p / fmaf(z, q, 1.0f);
}

MM_INLINE MM_HD float mm_expm1_f(float x) {
  return (float)mm_expm1_d((double)x);
}

MM_INLINE MM_HD float mm_log1p_f(float x) {
  return (float)mm_log1p_d((double)x);
}

MM_INLINE MM_HD float mm_pow_f(float x, float y) {
  return (float)mm_pow_d((double)x, (double)y);
}

MM_INLINE MM_HD float mm_cbrt_f(float x) {
  return (float)mm_cbrt_d((double)x);
}

MM_INLINE MM_HD float mm_sqrt_f(float x) {
  return sqrtf(x);
}

#endif
