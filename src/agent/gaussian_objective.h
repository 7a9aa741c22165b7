// SPDX-License-Identifier: Apache-2.0
// What a Gaussian policy is moved by (docs/gaussian.md): for a sample of the policy q
// that acted, with r = p/q and advantage A,
//
//   PMD   eta r A - d(p, q)/q    with derivative  r (eta A - (phi^-1(p) - phi^-1(q)))  by log p
//   PPO   min(r A, clip(r) A)    with derivative  r A, or 0 where the clip holds
//
// and what happened on the way: how far the policies are apart, which bounds acted.

#ifndef MM_AGENT_GAUSSIAN_OBJECTIVE_H
#define MM_AGENT_GAUSSIAN_OBJECTIVE_H

#include <stdbool.h>

#include "map/density.h"

// Of the samples seen since the beginning of an update, each counted as often as it was used.
typedef struct mm_gaussian_report {
  uint64_t samples;
  double ess;         // (sum r)^2 / (n sum r^2): 1 where p = q
  double max_delta;   // largest |log r|
  double divergence;  // mean of d(p, q)/q over the last minibatch, PMD
  uint64_t clamped;   // samples with a density beyond e^-+30, or |log r| beyond its bound
  uint64_t capped;    // where a unit or the difference was cut
  uint64_t nonfinite; // whose derivative was not finite and counted as 0
} mm_gaussian_report;

typedef struct mm_gaussian_objective {
  mm_density density;
  bool ppo;
  float eta, clip;
  bool measure; // the divergence: of few samples, since it takes long for neural maps
  mm_gaussian_report report;
  double ratios, squares, gaps, measured; // sums
} mm_gaussian_objective;

// The map must outlive it; ppo does not look at it.
void mm_gaussian_objective_make(const mm_map *map, double scale, bool ppo, double eta, double clip,
                                mm_gaussian_objective *out);

// Forgets what was counted: an update begins.
void mm_gaussian_objective_begin(mm_gaussian_objective *o);

// An mm_net_weigh; `user` is the objective. gain is without the divergence.
void mm_gaussian_objective_weigh(void *user, size_t n, const float *log_p, const float *log_q,
                                 const float *advantage, float *gain, float *weight);

mm_gaussian_report mm_gaussian_objective_report(const mm_gaussian_objective *o);

// More than a thousandth of the samples were not finite: the run is of no use.
bool mm_gaussian_objective_broken(const mm_gaussian_objective *o);

#endif
