// SPDX-License-Identifier: Apache-2.0
// Losses of a block of rows and their derivatives by the networks' outputs (docs/ampo.md; PPO
// as usual). Losses are reported, errors are what learning is made of.

#include <math.h>

#include "base/elementary.h"
#include "laws/losses.h"
#include "net/net_internal.h"

// Sums run in 16 lanes that are added in order at the end.
enum { SUMS = 16 };

static double sum_of(const float *x, size_t n) {
  double lane[SUMS] = { 0 }, total = 0;
  size_t i = 0;
  for (; i + SUMS <= n; i += SUMS)
    for (size_t k = 0; k < SUMS; k++)
      lane[k] += (double)x[i + k];
  for (size_t k = 0; i + k < n; k++)
    lane[k] += (double)x[i + k];
  for (size_t k = 0; k < SUMS; k++)
    total += lane[k];
  return total;
}

void mm_net_loss_ampo(const mm_net_learn_config *config, const net_rows *rows, const float *score,
                      float *error, net_losses *sums) {
  const float eta = config->eta, floor = config->floor, center = config->center;
  const float slope = 2 * rows->share;
  float square[BLOCK];
  for (size_t i = 0; i < rows->n; i++) {
    float z = rows->policy[i] < floor ? floor : rows->policy[i];
    float e = score[i] - (rows->advantage[i] + z / eta - center);
    square[i] = e * e;
    error[i] = slope * e;
  }
  sums->policy += sum_of(square, rows->n);
}

void mm_net_loss_value(const mm_net_learn_config *config, const net_rows *rows, const float *value,
                       float *error, net_losses *sums) {
  const float clip = config->value_clip, slope = config->value_coef * rows->share;
  float square[SPAN];
  for (size_t i = 0; i < rows->n; i++)
    error[i] = slope * mm_value_error(value[i], rows->value[i], rows->target[i], clip, &square[i]);
  sums->value += 0.5 * sum_of(square, rows->n);
}

// log pi [n] of softmax(score).
static void log_softmax(const float *score, size_t n, float *log_pi) {
  float top = score[0], total = 0;
  for (size_t a = 1; a < n; a++)
    top = score[a] > top ? score[a] : top;
  for (size_t a = 0; a < n; a++)
    total += mm_exp_f(score[a] - top);
  const float norm = top + mm_log_f(total);
  for (size_t a = 0; a < n; a++)
    log_pi[a] = score[a] - norm;
}

// With r = pi(a) / pi_old(a): d r / d f_j = r ([j = a] - pi_j), d H / d f_j = - pi_j (log pi_j +
// H).
static void ppo_row(const mm_net_learn_config *config, size_t n, size_t action, float advantage,
                    float old, float share, const float *score, float *error, float *gain,
                    float *entropy) {
  float *log_pi = error; // each is read before its place is written
  log_softmax(score, n, log_pi);
  const float clip = config->policy_clip, ratio = mm_exp_f(log_pi[action] - old);
  const float pull = share * mm_ppo_weight(ratio, advantage, clip, gain);
  float h = 0;
  for (size_t a = 0; a < n; a++)
    h -= mm_exp_f(log_pi[a]) * log_pi[a];
  const float weight = config->entropy_coef * share;
  for (size_t a = 0; a < n; a++) {
    float pi = mm_exp_f(log_pi[a]);
    error[a] = weight * pi * (log_pi[a] + h) - pull * ((a == action ? 1.0f : 0.0f) - pi);
  }
  *entropy = h;
}

void mm_net_loss_ppo(const mm_net_learn_config *config, const net_rows *rows, size_t n_action,
                     const float *score, float *error, net_losses *sums) {
  float gain[BLOCK], entropy[BLOCK];
  for (size_t i = 0; i < rows->n; i++)
    ppo_row(config, n_action, rows->action[i], rows->advantage[i], rows->policy[i], rows->share,
            score + i * n_action, error + i * n_action, &gain[i], &entropy[i]);
  sums->policy -= sum_of(gain, rows->n);
  sums->entropy += sum_of(entropy, rows->n);
}
