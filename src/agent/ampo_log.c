// SPDX-License-Identifier: Apache-2.0
// What log=on records of an update (docs/ampo.md). The batch goes through the actor once more, in
// working memory that no iteration looks at again: training stays the same to the bit.

#include <math.h>

#include "agent/ampo_internal.h"
#include "laws/gaussian.h"
#include "laws/update.h"

// What rows add up to.
typedef struct sums {
  double kl, clipped, entropy, support;
} sums;

static void add_ratio(sums *s, const mm_ampo *a, double log_ratio) {
  s->kl += mm_kl_sample(log_ratio);
  s->clipped += mm_ratio_is_clipped(log_ratio, a->method.policy_clip);
}

// The next iteration acts by the same scores with the same eta.
static void add_discrete(sums *s, mm_ampo *a, size_t row, size_t n) {
  const size_t actions = a->n_out;
  mm_ampo_project(a, a->step.eta, n);
  for (size_t i = 0; i < n; i++) {
    const float *p = a->probs + i * actions;
    add_ratio(s, a, mm_log_ratio((double)p[a->action[row + i]], (double)a->chance[row + i]));
    for (size_t k = 0; k < actions; k++) {
      s->entropy += mm_entropy_term((double)p[k]);
      s->support += p[k] > 0;
    }
  }
}

static void add_gaussian(sums *s, mm_ampo *a, size_t row, size_t n) {
  float *log_p = a->lambda;
  mm_net_log_density(a->net, n, a->scores, a->real_action + row * a->n_out, log_p);
  for (size_t i = 0; i < n; i++)
    add_ratio(s, a, mm_log_ratio_within((double)log_p[i] - (double)a->policy[row + i]));
}

// False where a score is not finite: the next iteration would end the run.
static bool add_all(sums *s, mm_ampo *a) {
  for (size_t row = 0, n; row < a->n_row; row += n) {
    n = a->n_row - row < a->room ? a->n_row - row : a->room;
    const mm_net_obs obs = mm_ampo_obs(a, row);
    mm_net_scores(a->net, &obs, n, a->scores);
    if (!mm_ampo_all_finite(a->scores, n * a->n_out)) return false;
    (a->real ? add_gaussian : add_discrete)(s, a, row, n);
  }
  return true;
}

static double gaussian_entropy(const mm_ampo *a) {
  float log_std[MM_NET_ACTION_MAX];
  mm_net_log_std(a->net, log_std);
  return mm_gaussian_entropy((int)a->n_out, mm_log_density_scale((int)a->n_out, log_std));
}

// Variance of x - y, or of x where y is NULL.
static double variance(const float *x, const float *y, size_t n) {
  double mean = 0, square = 0;
  for (size_t i = 0; i < n; i++)
    mean += (double)x[i] - (y ? (double)y[i] : 0);
  mean /= (double)n;
  for (size_t i = 0; i < n; i++) {
    const double d = (double)x[i] - (y ? (double)y[i] : 0) - mean;
    square += d * d;
  }
  return square / (double)n;
}

void mm_ampo_log_update(mm_ampo *a) {
  mm_ampo_log *log = &a->last.log;
  const double rows = (double)a->n_row, samples = a->config.epochs * rows;
  sums s = { 0 };
  const bool finite = add_all(&s, a);
  log->policy_loss = samples > 0 ? log->policy_loss / samples : NAN;
  log->value_loss = samples > 0 ? log->value_loss / samples : NAN;
  log->entropy = a->real ? gaussian_entropy(a) : finite ? s.entropy / rows : NAN;
  log->approx_kl = finite ? s.kl / rows : NAN;
  log->clip_fraction = finite && a->method.ppo ? s.clipped / rows : NAN;
  log->support = finite && !a->real ? s.support / rows : NAN;
  log->explained_variance = mm_explained_variance(variance(a->target, a->value, a->n_row),
                                                  variance(a->target, NULL, a->n_row));
}
