// SPDX-License-Identifier: Apache-2.0
// Agents with continuous actions (docs/gaussian.md): Gaussian policies on
// environments whose observations and rewards are scaled by running numbers. What the agent draws
// is kept as it is; the environment sees it clipped to [-1, 1] and stretched to its own range.

#include <math.h>
#include <string.h>

#include "agent/ampo_internal.h"
#include "base/status.h"

mm_status mm_ampo_real_open(mm_ampo *a) {
  const mm_actor_critic_config *c = &a->config;
  const mm_ampo_method *m = &a->method;
  const mm_wrap_config wrap = { .gamma = c->gamma,
                                .raw_obs = !c->normalise_observation,
                                .raw_reward = !c->scale_reward };
  a->objective = mm_alloc(sizeof *a->objective);
  if (!a->objective) return MM_FAIL(MM_ERR_MEMORY, "no memory for an agent");
  mm_gaussian_objective_make(a->map, m->density_scale, m->ppo, m->eta, m->policy_clip,
                             a->objective);
  a->learn.weigh = mm_gaussian_objective_weigh;
  a->learn.user = a->objective;
  return mm_wrap_create(a->vec, &wrap, &a->wrap);
}

static float to_range(const mm_vec_info *info, float action) {
  const float within = action < -1 ? -1 : action > 1 ? 1 : action;
  const float middle = 0.5f * (info->high + info->low), half = 0.5f * (info->high - info->low);
  return fmaf(half, within, middle);
}

void mm_ampo_real_send(const mm_vec_info *info, const float *action, size_t n, float *out) {
  for (size_t i = 0; i < n; i++)
    out[i] = to_range(info, action[i]);
}

void mm_ampo_real_noise(mm_stream stream, uint64_t step, size_t d, float *out) {
  const uint64_t blocks = (d + 3) / 4;
  mm_block b = { { 0 } };
  for (size_t k = 0; k < d; k++) {
    if (k % 4 == 0) b = mm_stream_block(stream, step * blocks + k / 4);
    out[k] = mm_normal_f(b.word[k % 4]);
  }
}

mm_status mm_ampo_real_choose(mm_ampo *a, size_t t) {
  const size_t n = a->n_env, d = a->n_out;
  const uint64_t step = (uint64_t)a->iteration * a->n_step + t;
  float *action = a->real_action + t * n * d, std[MM_NET_ACTION_MAX];
  if (!mm_ampo_all_finite(a->scores, n * d)) return MM_FAIL(MM_ERR_NUMERIC, "a mean is not finite");
  mm_net_log_std(a->net, std);
  for (size_t k = 0; k < d; k++)
    std[k] = mm_exp_f(std[k]);
  for (size_t e = 0; e < n; e++) {
    float *own = action + e * d;
    mm_ampo_real_noise(mm_stream_make(a->seed, a->repeat, MM_RNG_ACTION, (uint32_t)e), step, d,
                       own);
    for (size_t k = 0; k < d; k++)
      own[k] = fmaf(std[k], own[k], a->scores[e * d + k]);
  }
  mm_net_log_density(a->net, n, a->scores, action, a->policy + t * n);
  mm_ampo_real_send(&a->info, action, n * d, a->sent);
  return MM_OK;
}

void mm_ampo_real_keep_scale(mm_ampo *a) {
  const mm_running_stats *obs = mm_wrap_observations(a->wrap);
  const bool raw = !a->config.normalise_observation;
  for (size_t j = 0; j < obs->k; j++)
    a->tensor[j] = raw ? 0 : (float)obs->mean[j];
  mm_net_import(a->net, MM_NET_PARAM, MM_NET_INPUT_MEAN, a->tensor);
  for (size_t j = 0; j < obs->k; j++)
    a->tensor[j] = raw ? 1 : (float)obs->var[j];
  mm_net_import(a->net, MM_NET_PARAM, MM_NET_INPUT_VARIANCE, a->tensor);
}

mm_status mm_ampo_real_judge(mm_ampo *a) {
  const mm_gaussian_report *r = &a->objective->report;
  a->last.policy = mm_gaussian_objective_report(a->objective);
  if (!mm_gaussian_objective_broken(a->objective)) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "%llu of %llu samples of an update are not finite: too many",
                 (unsigned long long)r->nonfinite, (unsigned long long)r->samples);
}
