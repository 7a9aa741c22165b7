// SPDX-License-Identifier: Apache-2.0
// Theorem 1's bounds against measurements: exact values, estimation errors, update distances and
// both bounds of a run of tabular PMD, iteration by iteration.
//
// Threads: every function here may be called from any thread at any time.

#ifndef MIRRORMAP_THEORY_H
#define MIRRORMAP_THEORY_H

#include <stdbool.h>
#include <stddef.h>

#include "mirrormap/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

// Iteration t, which turns pi^t into pi^{t+1}.
typedef struct mm_theory_step {
  double value;                    // V^t(mu), exact
  double value_change;             // V^{t+1}(mu) - V^t(mu)
  double estimation_error;         // E_t: largest |Qhat - Q^t| over reachable states, all actions
  double estimation_error_sampled; // the same over sampled pairs only
  double update_distance;          // U_t: largest sum_a |pi^{t+1} - pi^t| over states
  double monotone_bound;           // -E_t U_t / (1 - gamma): the change is promised to be above it
  double advantage_std;            // of the batch; the policy's step is eta / std
} mm_theory_step;

typedef struct mm_theory {
  mm_theory_step *step; // [n_step]
  size_t n_step;
  double v_star, final_value;
  bool broke_down;    // a logit was no longer finite: the steps before that are what there is
  size_t violations;  // iterations whose change fell below the bound
  double average_gap; // V* - mean_t V^t
  // The convergence bound and its terms: rate = [D / (eta (1-gamma)) + 1 / (1-gamma)^2] / T with D
  // the divergence from the first policy to the optimal one under the latter's visitation, floor =
  // 4 max E / (1-gamma)^2.
  double convergence_bound, rate_term, floor_term;
  double optimal_divergence; // D
  // The same with rewards in their own range instead of [0, 1], and with the step size that
  // normalised advantages amount to, eta / mean std.
  double reward_range, bound_with_range, effective_eta, bound_with_effective_eta;
} mm_theory;

// Runs the job (its curve setting does not matter). `progress` (may be NULL) hears of each
// iteration. Release with mm_theory_release.
MM_API mm_status mm_theory_run(const mm_job *job, const volatile int *stop,
                               void (*progress)(size_t done, size_t total, void *user), void *user,
                               mm_theory *out);
MM_API void mm_theory_release(mm_theory *theory);

#ifdef __cplusplus
}
#endif

#endif
