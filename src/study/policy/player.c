// One agent of a policy, ready to act: networks, map and step size give its policy in a state, or
// networks alone a Gaussian one, of observations scaled as in its training.

#include <math.h>

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

mm_status mm_player_create(const mm_policy *policy, size_t agent, mm_player **out) {
  *out = NULL;
  const mm_policy_info info = mm_policy_describe(policy);
  mm_net *net;
  MM_TRY(mm_policy_net(policy, agent, &net));
  const size_t n_action = (size_t)info.net.n_action, size = MM_PLAYER_ROWS * n_action;
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
  const bool bisect = strcmp(mm_settings_text(&info.settings, "projection", text), "bisect10") == 0;
  *p = (mm_player){ .net = net,
                    .map = info.map,
                    .projection = bisect ? MM_PROJECTION_BISECT10 : MM_PROJECTION_EXACT,
                    .eta = (float)mm_settings_last_eta(&info.settings), // 1: softmax f
                    .n_action = n_action,
                    .n_input = (size_t)info.net.n_input,
                    .agent = agent,
                    .scores = scores,
                    .probs = probs };
  mm_status status = info.net.gaussian ? open_real(p) : MM_OK;
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

static mm_status look_real(mm_player *p, const float *obs, size_t rows) {
  const size_t d = p->n_input;
  for (size_t i = 0; i < rows * d; i++)
    p->x[i] = (obs[i] - p->mean[i % d]) * p->scale[i % d];
  mm_net_scores(p->net, &(mm_net_obs){ .floats = p->x }, rows, p->scores);
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

const float *mm_player_probs(const mm_player *p, size_t row) {
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
  return mm_categorical_f(u, mm_player_probs(p, row), (int)p->n_action);
}

int32_t mm_player_greedy(const mm_player *p, size_t row) {
  const float *probs = mm_player_probs(p, row), *scores = p->scores + row * p->n_action;
  size_t best = 0;
  for (size_t a = 1; a < p->n_action; a++)
    if (probs[a] > probs[best] || (probs[a] == probs[best] && scores[a] > scores[best])) best = a;
  return (int32_t)best;
}
