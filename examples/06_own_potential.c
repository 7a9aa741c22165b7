// SPDX-License-Identifier: Apache-2.0
// A family of potentials of one's own as a plug-in, to train with and to search in: phi^-1 is a
// logarithm as far as `knee` and goes on as a straight line, so that a policy moves as with the
// negative entropy among unlikely actions and as with the Euclidean norm among likely ones.
//
//   cc -shared -fPIC examples/06_own_potential.c $(pkg-config --cflags mirrormap) -o softline.so
//   mirrormap map check softline:0.2,1 --plugin softline.so
//   mirrormap learn --env GridWorld-small --kind softline --plugin softline.so

#include <math.h>
#include <mirrormap/plugin.h>

// phi^-1(p) = weight log p up to p = knee, then its tangent there.
enum { KNEE, WEIGHT };

static double inverse(const double *x, double p) {
  const double knee = x[KNEE];
  return x[WEIGHT] * (p < knee ? log(p) : log(knee) + (p - knee) / knee);
}

static double slope(const double *x, double p) {
  return x[WEIGHT] / (p < x[KNEE] ? p : x[KNEE]);
}

// From 0 to p; p log p is 0 at 0.
static double area(const double *x, double p) {
  const double knee = x[KNEE], low = p < knee ? p : knee, more = p - low;
  const double curved = low > 0 ? low * log(low) - low : 0;
  return x[WEIGHT] * (curved + more * log(knee) + 0.5 * more * more / knee);
}

static double integral(const double *x, double p) {
  return area(x, p) - area(x, 1);
}

static const mm_plugin_parameter parameters[] = {
  [KNEE] = { .name = "knee", .start = 0.5, .least = 1e-3, .most = 10 },
  [WEIGHT] = { .name = "weight", .start = 1, .least = 0, .most = 100 },
};

static const mm_plugin_potential softline = {
  .size = sizeof softline,
  .name = "softline",
  .summary = "a logarithm that goes on as a straight line",
  .n_parameter = 2,
  .parameter = parameters,
  .inverse = inverse,
  .slope = slope,
  .integral = integral,
};
static const mm_plugin_potential *const potentials[] = { &softline, NULL };

const mm_plugin mirrormap_plugin = {
  .interface = MM_PLUGIN_INTERFACE,
  .size = sizeof(mm_plugin),
  .name = "softline",
  .version = "1.0",
  .potential = potentials,
};
