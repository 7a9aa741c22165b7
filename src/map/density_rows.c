// SPDX-License-Identifier: Apache-2.0
// phi^-1(p) - phi^-1(q) of many rows. Compiled once per instruction set with MM_ISA set to its
// name. Each row goes through the steps of mm_density_rise: units of neural maps in double
// precision (their roots and logarithms are made of that), units outside, rows inside, which the
// compiler does side by side; other maps in single precision.

#include "base/isa.h"
#include "map/density.h"
#include "map/foreign.h"

enum { ROWS = 64, GROUP = 16 }; // at a time, in whole groups

typedef struct pairs {
  double p[ROWS], q[ROWS], rise[ROWS];
} pairs;

// Adds a unit of the kind; one after the other, the two loops below would be too much for the
// compiler.
#define KIND(block)                                                                                \
  case block:                                                                                      \
    for (size_t i = 0; i < n; i++) {                                                               \
      const mm_density_arguments_d at = { y->p[i], y->q[i], y->rise[i] };                          \
      sum[i] = fma(u, mm_density_unit_d(block, at), sum[i]);                                       \
    }                                                                                              \
    break;

__attribute__((noinline)) static void add_unit(int block, double u, size_t n,
                                               const pairs *restrict y, double *restrict sum) {
  switch (block) { KIND(0) KIND(1) KIND(2) KIND(3) KIND(4) KIND(5) }
}

static void add_units(const mm_density_d *f, size_t n, const pairs *restrict x,
                      double *restrict sum, int64_t *restrict acted) {
  pairs y;
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    const double w = f->w[j], c = f->c[j];
    if (!(f->u[j] > 0)) continue;
    for (size_t i = 0; i < n; i++) {
      const mm_density_pair_d pair = { x->p[i], x->q[i], x->rise[i] };
      int64_t own = 0;
      const mm_density_arguments_d at = mm_density_arguments_of_d(j / MM_BLOCK, w, c, pair, &own);
      y.p[i] = at.p;
      y.q[i] = at.q;
      y.rise[i] = at.rise;
      acted[i] |= own;
    }
    add_unit(j / MM_BLOCK, f->u[j], n, &y, sum);
  }
}

// n <= ROWS rows; those behind them are the first one again.
static void neural(const mm_density_d *f, size_t n, const float *log_p, const float *log_q,
                   float *out, uint8_t *acted) {
  pairs x;
  double sum[ROWS];
  int64_t flags[ROWS];
  const size_t padded = (n + GROUP - 1) / GROUP * GROUP;
  for (size_t i = 0; i < padded; i++) {
    const double p = (double)log_p[i < n ? i : 0], q = (double)log_q[i < n ? i : 0];
    flags[i] = 0;
    const mm_density_pair_d pair = mm_density_pair_of_d(f, p, q, &flags[i]);
    x.p[i] = pair.p;
    x.q[i] = pair.q;
    x.rise[i] = pair.rise;
    sum[i] = mm_density_plain_d(f, p, q, pair);
  }
  add_units(f, padded, &x, sum, flags);
  for (size_t i = 0; i < n; i++) {
    out[i] = (float)mm_density_bounded_d(sum[i], &flags[i]);
    acted[i] = (uint8_t)flags[i];
  }
}

static void others(const mm_density_f *f, size_t n, const float *log_p, const float *log_q,
                   float *out, uint8_t *acted) {
  for (size_t i = 0; i < n; i++) {
    int32_t flags = 0;
    out[i] = mm_density_rise_f(f, log_p[i], log_q[i], &flags);
    acted[i] = (uint8_t)flags;
  }
}

mm_density_rows MM_ISA_NAME(mm_density_rows);

void MM_ISA_NAME(mm_density_rows)(const mm_density *f, size_t n, const float *log_p,
                                  const float *log_q, float *out, uint8_t *acted) {
  for (size_t i = 0, m; i < n; i += m) {
    m = n - i < ROWS ? n - i : ROWS;
    if (f->exact.foreign)
      mm_foreign_rises(f, m, log_p + i, log_q + i, out + i, acted + i);
    else if (f->d.kind == MM_MAP_NEURAL)
      neural(&f->d, m, log_p + i, log_q + i, out + i, acted + i);
    else
      others(&f->f, m, log_p + i, log_q + i, out + i, acted + i);
  }
}
