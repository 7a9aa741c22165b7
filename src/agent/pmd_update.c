// Gradient steps of tabular PMD (spec: pmd.md 2.1) on a block of states. With a full batch and a
// table the states decouple, so a block runs through all its epochs while it stays in the cache.
//
// Compiled once per instruction set. Loops run over lanes and nothing is summed across them; the
// five actions of a state are summed in one fixed order.

#include "agent/pmd_update.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

enum { L = MM_PMD_LANES, E = MM_PMD_ENTRIES };

static void softmax(mm_pmd_block *b) {
  double top[L], total[L];
  double *restrict theta = b->theta, *restrict pi = b->pi, *restrict log_pi = b->log_pi;
  for (int i = 0; i < L; i++) {
    double m01 = theta[i] > theta[L + i] ? theta[i] : theta[L + i];
    double m23 = theta[2 * L + i] > theta[3 * L + i] ? theta[2 * L + i] : theta[3 * L + i];
    double m = m01 > m23 ? m01 : m23;
    top[i] = m > theta[4 * L + i] ? m : theta[4 * L + i];
  }
  for (int a = 0; a < MM_GRID_ACTIONS; a++)
    for (int i = 0; i < L; i++)
      log_pi[a * L + i] = theta[a * L + i] - top[i];
  for (int k = 0; k < E; k++)
    pi[k] = mm_exp_d(log_pi[k]);
  for (int i = 0; i < L; i++)
    total[i] = ((pi[i] + pi[L + i]) + (pi[2 * L + i] + pi[3 * L + i])) + pi[4 * L + i];
  for (int i = 0; i < L; i++) {
    top[i] = mm_log_d(total[i]);
    total[i] = 1 / total[i];
  }
  for (int a = 0; a < MM_GRID_ACTIONS; a++)
    for (int i = 0; i < L; i++) {
      pi[a * L + i] *= total[i];
      log_pi[a * L + i] -= top[i];
    }
}

// Tabulated units of a neural map: leaves at the root of the table for all entries at once, then
// the few that need to descend.
static void table_units(const mm_potential_d *f, const double *restrict pi, double *restrict x) {
  const mm_cell_d *cell = f->cell;
  int32_t child[E];
  double place[E];
  for (int k = 0; k < E; k++) {
    double t = pi[k] * MM_TABLE_ROOT;
    int i = t > 0 ? (int)t : 0; // 0 for NaN: trouble is found after the epochs
    i = i < MM_TABLE_ROOT ? i : MM_TABLE_ROOT - 1;
    place[k] = t - i;
    x[k] = fma(place[k], cell[i].rise, cell[i].value);
    child[k] = cell[i].child;
  }
  for (int k = 0; k < E; k++) {
    if (child[k] < 0) continue;
    // as mm_table_units_d goes on from here
    double t = place[k];
    int32_t i, next = child[k];
    do {
      t *= MM_TABLE_SPLIT;
      int32_t part = t >= MM_TABLE_SPLIT ? MM_TABLE_SPLIT - 1 : t > 0 ? (int32_t)t : 0;
      i = next + part;
      t -= part;
      next = cell[i].child;
    } while (next >= 0);
    x[k] = fma(t, cell[i].rise, cell[i].value);
  }
}

// phi^-1 up to a constant, which cancels in the gradient. The logarithm is never taken of a stored
// probability, so nothing is infinite.
static void inverse(const mm_potential_d *f, const mm_pmd_block *b, double *restrict x) {
  const double *restrict pi = b->pi, *restrict log_pi = b->log_pi;
  switch (f->kind) {
  case MM_MAP_NEGENTROPY:
    for (int k = 0; k < E; k++)
      x[k] = log_pi[k];
    return;
  case MM_MAP_L2:
    for (int k = 0; k < E; k++)
      x[k] = pi[k];
    return;
  case MM_MAP_TSALLIS:
    for (int k = 0; k < E; k++) {
      double power = f->order * log_pi[k];
      x[k] = f->ratio * mm_expm1_d(power < 600 ? power : 600); // finite, however small pi is
    }
    return;
  case MM_MAP_PIECEWISE: {
    // mm_piecewise_inverse_d without its branch for p > 1
    const double *restrict psi = f->psi, *restrict depth = f->depth;
    int n = f->n;
    for (int k = 0; k < E; k++) {
      int j = pi[k] > 0 ? (int)(pi[k] * n) : 0;
      j = j < n ? j : n - 1;
      x[k] = fma(fma(pi[k], n, -j), psi[j], depth[j]);
    }
    return;
  }
  default:
    break;
  }
  double a = f->a, slope_b = f->b;
  table_units(f, pi, x);
  for (int k = 0; k < E; k++)
    x[k] = fma(slope_b, log_pi[k], fma(a, pi[k], x[k]));
}

static void ascend(mm_pmd_block *b, const double *restrict x, const double *restrict start) {
  double g[E], mean[L];
  double *restrict theta = b->theta;
  const double *restrict pi = b->pi, *restrict gain = b->gain, *restrict weight = b->weight;
  for (int k = 0; k < E; k++)
    g[k] = pi[k] > 0 ? gain[k] - (x[k] - start[k]) : 0; // nothing to move where pi is 0
  for (int i = 0; i < L; i++)
    mean[i] = fma(pi[4 * L + i], g[4 * L + i],
                  fma(pi[3 * L + i], g[3 * L + i],
                      fma(pi[2 * L + i], g[2 * L + i], fma(pi[L + i], g[L + i], pi[i] * g[i]))));
  for (int a = 0; a < MM_GRID_ACTIONS; a++)
    for (int i = 0; i < L; i++)
      theta[a * L + i] = fma(weight[i] * pi[a * L + i], g[a * L + i] - mean[i], theta[a * L + i]);
}

static void epochs(const mm_potential_d *f, int count, mm_pmd_block *block) {
  double start[E], x[E];
  softmax(block);
  inverse(f, block, start);
  for (int k = 0; k < E; k++)
    x[k] = start[k];
  for (int epoch = 0; epoch < count; epoch++) {
    if (epoch > 0) inverse(f, block, x);
    ascend(block, x, start);
    softmax(block);
  }
}

extern const mm_pmd_kernels JOIN(mm_pmd_kernels, MM_ISA);

const mm_pmd_kernels JOIN(mm_pmd_kernels, MM_ISA) = { .softmax = softmax, .epochs = epochs };
