// SPDX-License-Identifier: Apache-2.0
// One agent of a policy, ready to act: networks, map and step size give its policy in a state, or
// networks alone a Gaussian one, of observations scaled as in its training.

#include <math.h>
#include <string.h>

#include "agent/ampo.h"
#include "base/rng.h"
#include "base/status.h"
#include "env/running_stats.h"
#include "study/policy/evaluate.h"

struct mm_player {
  mm_net *net;
  const mm_map *map;
  mm_projection projection;
  float eta;
  size_t n_action, agent;
  float *scores, *probs; // [MM_PLAYER_ROWS][n_action]
  // Gaussian
  size_t n_real, n_input;
  float *x;            // [MM_PLAYER_ROWS][n_input] scaled
  float *mean, *scale; // [n_input] of the observations: (o - mean) scale
  float *std;          // [n_action]
  mm_vec_info range;   // of the environment that it was trained in
  float lambda[MM_PLAYER_ROWS];
};

// What a Gaussian policy needs beside its networks.
static mm_status open_real(mm_player *p) {
  const size_t d = p->n_input;
  p->x = mm_alloc_array(MM_PLAYER_ROWS * d, sizeof *p->x);
  p->mean = mm_alloc_array(d, sizeof *p->mean);
  p->scale = mm_alloc_array(d, sizeof *p->scale);
  p->std = mm_alloc_array(p->n_action, sizeof *p->std);
  if (!p->x || !p->mean || !p->scale || !p->std)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a player");
  mm_net_export(p->net, MM_NET_PARAM, MM_NET_INPUT_MEAN, p->mean);
  mm_net_export(p->net, MM_NET_PARAM, MM_NET_INPUT_VARIANCE, p->scale);
  for (size_t j = 0; j < d; j++)
    p->scale[j] = (float)(1 / sqrt((double)p->scale[j] + MM_RUNNING_LEAST));
  mm_net_log_std(p->net, p->std);
  for (size_t k = 0; k < p->n_action; k++)
    p->std[k] = mm_exp_f(p->std[k]);
  p->n_real = p->n_action;
  return MM_OK;
}

mm_status mm_player_open(const mm_policy *policy, size_t agent, mm_player **out) {
  *out = NULL;
  const mm_settings *settings = mm_policy_settings(policy);
  mm_policy_info info;
  mm_net *net;
  mm_policy_describe(policy, &info);
  MM_TRY(mm_policy_net(policy, agent, &net));
  const size_t n_action = (size_t)(info.n_action + info.n_real), size = MM_PLAYER_ROWS * n_action;
  mm_player *p = mm_alloc(sizeof *p);
  float *scores = mm_alloc_array(size, sizeof *scores),
        *probs = mm_alloc_array(size, sizeof *probs);
  if (!p || !scores || !probs) {
    mm_free(p);
    mm_free(scores);
    mm_free(probs);
    mm_net_destroy(net);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a player");
  }
  char text[MM_SETTING_TEXT_SIZE];
  const bool bisect = strcmp(mm_settings_text(settings, "projection", text), "bisect10") == 0;
  *p = (mm_player){ .net = net,
                    .map = info.map,
                    .projection = bisect ? MM_PROJECTION_BISECT10 : MM_PROJECTION_EXACT,
                    .eta = (float)info.eta, // 1: softmax f
                    .n_action = n_action,
                    .n_input = (size_t)info.n_input,
                    .agent = agent,
                    .scores = scores,
                    .probs = probs };
  mm_status status = info.n_real > 0 ? open_real(p) : MM_OK;
  if (status == MM_OK)
    *out = p;
  else
    mm_player_destroy(p);
  return status;
}

void mm_player_destroy(mm_player *p) {
  if (!p) return;
  mm_net_destroy(p->net);
  mm_free(p->scores);
  mm_free(p->probs);
  mm_free(p->x);
  mm_free(p->mean);
  mm_free(p->scale);
  mm_free(p->std);
  mm_free(p);
}

// The range of the environment's actions, as whatever engine is there has it.
static mm_status find_range(const mm_policy *policy, mm_vec_info *out) {
  mm_vec_config config = mm_vec_config_default();
  config.flavour = (mm_env_flavour)mm_settings_net(mm_policy_settings(policy))->flavour;
  mm_policy_info info;
  mm_env *env;
  mm_vec *vec = NULL;
  mm_policy_describe(policy, &info);
  MM_TRY(mm_env_open(info.env_id, &env));
  mm_status status = mm_vec_create(env, &config, &vec);
  if (status == MM_OK) mm_vec_describe(vec, out);
  if (status == MM_OK && out->n_real != info.n_real)
    status =
        MM_FAIL(MM_ERR_INPUT, "environment '%.80s' has %d numbers in an action; the policy has %d",
                info.env_id, (int)out->n_real, (int)info.n_real);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
  return status;
}

mm_status mm_player_create(const mm_policy *policy, size_t agent, mm_player **out) {
  MM_TRY(mm_player_open(policy, agent, out));
  mm_status status = (*out)->n_real > 0 ? find_range(policy, &(*out)->range) : MM_OK;
  if (status == MM_OK) return MM_OK;
  mm_player_destroy(*out);
  *out = NULL;
  return status;
}

static const float *scale(mm_player *p, const float *obs, size_t rows) {
  const size_t d = p->n_input;
  for (size_t i = 0; i < rows * d; i++)
    p->x[i] = (obs[i] - p->mean[i % d]) * p->scale[i % d];
  return p->x;
}

static mm_status look_real(mm_player *p, const float *obs, size_t rows) {
  mm_net_scores(p->net, &(mm_net_obs){ .floats = scale(p, obs, rows) }, rows, p->scores);
  for (size_t i = 0; i < rows * p->n_real; i++)
    if (!isfinite(p->scores[i]))
      return MM_FAIL(MM_ERR_NUMERIC, "agent %zu: a mean is not finite", p->agent);
  return MM_OK;
}

mm_status mm_player_look(mm_player *p, const mm_net_obs *obs, size_t rows) {
  if (p->n_real > 0) return look_real(p, obs->floats, rows);
  const size_t n = rows * p->n_action;
  mm_net_scores(p->net, obs, rows, p->scores);
  for (size_t i = 0; i < n; i++) {
    p->scores[i] *= p->eta;
    if (!isfinite(p->scores[i]))
      return MM_FAIL(MM_ERR_NUMERIC, "agent %zu: a score is not finite", p->agent);
  }
  return mm_map_project_batch_f(p->map, p->projection, p->scores, rows, p->n_action, p->probs,
                                p->lambda);
}

const float *mm_player_row(const mm_player *p, size_t row) {
  return p->n_real > 0 ? NULL : p->probs + row * p->n_action;
}

size_t mm_player_reals(const mm_player *p) {
  return p->n_real;
}

void mm_player_real(const mm_player *p, size_t row, const float *noise, float *action) {
  for (size_t k = 0; k < p->n_real; k++) {
    const float mean = p->scores[row * p->n_real + k];
    action[k] = noise ? fmaf(p->std[k], noise[k], mean) : mean;
  }
}

int32_t mm_player_sample(const mm_player *p, size_t row, double u) {
  return mm_categorical_f(u, mm_player_row(p, row), (int)p->n_action);
}

int32_t mm_player_greedy(const mm_player *p, size_t row) {
  const float *probs = mm_player_row(p, row), *scores = p->scores + row * p->n_action;
  size_t best = 0;
  for (size_t a = 1; a < p->n_action; a++)
    if (probs[a] > probs[best] || (probs[a] == probs[best] && scores[a] > scores[best])) best = a;
  return (int32_t)best;
}

// ---------------------------------------------------------------------------------------------
// Any number of states

// What is done with the rows `first` .. first + rows - 1 of n when they have been looked at.
typedef void take_rows(mm_player *p, size_t first, size_t rows, const void *in, void *out);

static mm_status each_part(mm_player *p, const float *obs, size_t n, take_rows *take,
                           const void *in, void *out) {
  for (size_t first = 0; first < n; first += MM_PLAYER_ROWS) {
    const size_t rows = n - first < MM_PLAYER_ROWS ? n - first : MM_PLAYER_ROWS;
    MM_TRY(mm_player_look(p, &(mm_net_obs){ .floats = obs + first * p->n_input }, rows));
    take(p, first, rows, in, out);
  }
  return MM_OK;
}

static void take_probs(mm_player *p, size_t first, size_t rows, const void *in, void *out) {
  (void)in;
  memcpy((float *)out + first * p->n_action, p->probs, rows * p->n_action * sizeof *p->probs);
}

mm_status mm_player_probs(mm_player *p, const float *obs, size_t n, float *probs) {
  if (p->n_real > 0)
    return MM_FAIL(MM_ERR_INPUT, "probabilities: expected discrete actions, the policy's are real");
  return each_part(p, obs, n, take_probs, NULL, probs);
}

static void take_means(mm_player *p, size_t first, size_t rows, const void *in, void *out) {
  (void)in;
  memcpy((float *)out + first * p->n_real, p->scores, rows * p->n_real * sizeof *p->scores);
}

mm_status mm_player_normal(mm_player *p, const float *obs, size_t n, float *mean, float *std) {
  if (p->n_real == 0)
    return MM_FAIL(MM_ERR_INPUT, "means: expected continuous actions, the policy's are discrete");
  memcpy(std, p->std, p->n_real * sizeof *std);
  return each_part(p, obs, n, take_means, NULL, mean);
}

mm_status mm_player_values(mm_player *p, const float *obs, size_t n, float *value) {
  for (size_t first = 0; first < n; first += MM_PLAYER_ROWS) {
    const size_t rows = n - first < MM_PLAYER_ROWS ? n - first : MM_PLAYER_ROWS;
    const float *seen = obs + first * p->n_input;
    if (p->n_real > 0) seen = scale(p, seen, rows);
    mm_net_values(p->net, &(mm_net_obs){ .floats = seen }, rows, value + first);
    for (size_t i = first; i < first + rows; i++)
      if (!isfinite(value[i]))
        return MM_FAIL(MM_ERR_NUMERIC, "agent %zu: a value is not finite", p->agent);
  }
  return MM_OK;
}

static mm_stream stream_of(const mm_draw *draw, size_t row) {
  return mm_stream_make(draw->seed, draw->repeat, MM_RNG_ACTION, draw->first + (uint32_t)row);
}

static void take_indices(mm_player *p, size_t first, size_t rows, const void *in, void *out) {
  const mm_draw *draw = in;
  int32_t *action = (int32_t *)out + first;
  for (size_t i = 0; i < rows; i++) {
    if (!draw) {
      action[i] = mm_player_greedy(p, i);
      continue;
    }
    const mm_block block = mm_stream_block(stream_of(draw, first + i), draw->step / 4);
    action[i] = mm_player_sample(p, i, block.word[draw->step % 4] * 0x1p-32);
  }
}

static void take_reals(mm_player *p, size_t first, size_t rows, const void *in, void *out) {
  const mm_draw *draw = in;
  float *action = (float *)out + first * p->n_real, noise[MM_NET_ACTION_MAX];
  for (size_t i = 0; i < rows; i++, action += p->n_real) {
    if (draw) mm_ampo_real_noise(stream_of(draw, first + i), draw->step, p->n_real, noise);
    mm_player_real(p, i, draw ? noise : NULL, action);
    mm_ampo_real_send(&p->range, action, p->n_real, action);
  }
}

mm_status mm_player_act(mm_player *p, const float *obs, size_t n, const mm_draw *draw,
                        void *action) {
  enum { LANES = 1 << 24 };
  if (draw && (draw->first > LANES || n > LANES - draw->first))
    return MM_FAIL(MM_ERR_INPUT, "rows %zu from number %lu on: expected numbers below %d", n,
                   (unsigned long)draw->first, LANES);
  return each_part(p, obs, n, p->n_real > 0 ? take_reals : take_indices, draw, action);
}
