// SPDX-License-Identifier: Apache-2.0
// The policy's gradient steps of tabular PMD for blocks of states, in builds for each instruction
// set that give the same bits.

#ifndef MM_AGENT_PMD_UPDATE_H
#define MM_AGENT_PMD_UPDATE_H

#include "env/grid/gridworld.h"
#include "map/potential.h"

enum { MM_PMD_LANES = 32, MM_PMD_ENTRIES = MM_GRID_ACTIONS * MM_PMD_LANES };

// A block of states side by side; unused lanes have zero gain and weight. Arrays: [5][lanes].
typedef struct mm_pmd_block {
  double theta[MM_PMD_ENTRIES];  // logits, updated
  double pi[MM_PMD_ENTRIES];     // softmax of theta, on return that of the new policy
  double log_pi[MM_PMD_ENTRIES]; // its logarithm
  double gain[MM_PMD_ENTRIES];   // eta qhat(s, a): G_sa eta / (n_s pi^t(a|s)), 0 if not sampled
  double weight[MM_PMD_LANES];   // learning rate times the state's share of the batch
} mm_pmd_block;

typedef struct mm_pmd_kernels {
  // pi and log_pi from theta.
  void (*softmax)(mm_pmd_block *block);
  // `epochs` steps of theta_sa += weight_s pi_a (g_a - sum_b pi_b g_b), g_a = gain_a -
  // (phi^-1(pi_a) - phi^-1(pi^t_a)). `f` goes through its table where it has one.
  void (*epochs)(const mm_potential_d *f, int epochs, mm_pmd_block *block);
} mm_pmd_kernels;

const mm_pmd_kernels *mm_pmd_kernels_current(void);

#endif
