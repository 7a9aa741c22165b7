// One agent of a policy, ready to act: networks, map and step size give its policy in a state.

#include <math.h>

#include "base/rng.h"
#include "base/status.h"
#include "experiment/evaluate.h"

struct mm_player {
  mm_net *net;
  const mm_map *map;
  mm_projection projection;
  float eta;
  size_t n_action, agent;
  float *scores, *probs; // [MM_PLAYER_ROWS][n_action]
  float lambda[MM_PLAYER_ROWS];
};

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
  const bool ppo = info.settings.algo == MM_ALGO_PPO; // its policies are softmax f
  *p = (mm_player){ .net = net,
                    .map = info.map,
                    .projection = info.settings.ampo.bisect10 && !ppo ? MM_PROJECTION_BISECT10
                                                                      : MM_PROJECTION_EXACT,
                    .eta = ppo ? 1 : (float)info.settings.ampo.eta,
                    .n_action = n_action,
                    .agent = agent,
                    .scores = scores,
                    .probs = probs };
  *out = p;
  return MM_OK;
}

void mm_player_destroy(mm_player *p) {
  if (!p) return;
  mm_net_destroy(p->net);
  mm_free(p->scores);
  mm_free(p->probs);
  mm_free(p);
}

mm_status mm_player_look(mm_player *p, const mm_net_obs *obs, size_t rows) {
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
  return p->probs + row * p->n_action;
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
