// SPDX-License-Identifier: Apache-2.0
// A learner of one's own as a plug-in: REINFORCE with a linear softmax policy. After an episode it
// follows the gradient of log pi(a|s) times what was earned from there on, less its mean.
//
//   cc -shared -fPIC examples/07_own_learner.c $(pkg-config --cflags mirrormap) -o reinforce.so
//   mirrormap train --env CartPole-v1 --algo reinforce --plugin reinforce.so

#include <math.h>
#include <mirrormap/plugin.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS, LR, GAMMA, SETTINGS, LONGEST = 1000, WIDTH = MM_PLUGIN_INPUTS + 1 };

typedef struct learner {
  size_t k, n_action, n; // inputs with the constant; actions; steps of the episode
  float obs[LONGEST][WIDTH];
  int32_t action[LONGEST];
  double earned[LONGEST]; // rewards, then what was earned from there on
  double probs[MM_PLUGIN_ACTIONS];
  double weight[]; // [n_action][k]
} learner;

static void softmax(learner *l, const float *obs) {
  double total = 0;
  for (size_t a = 0; a < l->n_action; a++) {
    double score = 0;
    for (size_t j = 0; j < l->k; j++)
      score += l->weight[a * l->k + j] * (double)obs[j];
    total += l->probs[a] = exp(fmin(fmax(score, -300), 300));
  }
  for (size_t a = 0; a < l->n_action; a++)
    l->probs[a] /= total;
}

// An episode, or its first steps; its return in *sum.
static mm_status play(learner *l, mm_training *t, mm_vec *vec, double *sum) {
  float next[WIDTH], reward;
  uint8_t end = 0;
  const mm_vec_out out = { .obs = next, .reward = &reward, .end = &end };
  mm_vec_observe(vec, next);
  next[l->k - 1] = 1; // which no step writes
  for (l->n = 0, *sum = 0; !end && l->n < LONGEST; l->n++) {
    memcpy(l->obs[l->n], next, l->k * sizeof *next);
    softmax(l, next);
    double left = (double)mm_random_uniform(t->random) - l->probs[0];
    int32_t a = 0;
    while (left >= 0 && (size_t)a + 1 < l->n_action)
      left -= l->probs[++a];
    const mm_status status = mm_vec_step(vec, &a, &out);
    if (status != MM_OK) return status;
    l->action[l->n] = a;
    *sum += l->earned[l->n] = (double)reward;
  }
  for (size_t i = l->n - 1; i-- > 0;)
    l->earned[i] += t->setting[GAMMA] * l->earned[i + 1];
  return MM_OK;
}

static void learn(learner *l, double lr) {
  double mean = 0;
  for (size_t i = 0; i < l->n; i++)
    mean += l->earned[i] / (double)l->n;
  for (size_t i = 0; i < l->n; i++) {
    const double gain = lr * (l->earned[i] - mean);
    softmax(l, l->obs[i]);
    for (size_t a = 0; a < l->n_action; a++)
      for (size_t j = 0; j < l->k; j++)
        l->weight[a * l->k + j] +=
            gain * ((l->action[i] == (int32_t)a) - l->probs[a]) * (double)l->obs[i][j];
  }
}

static mm_status work(learner *l, mm_training *t, mm_vec *vec) {
  uint64_t steps = 0;
  double sum, recent = 0;
  for (int e = 0; (double)steps < t->setting[STEPS]; e++) {
    const mm_status status = play(l, t, vec, &sum);
    if (status != MM_OK) return status;
    learn(l, t->setting[LR]);
    recent += (sum - recent) / (e < 20 ? e + 1 : 20); // mean return of about 20 episodes
    if (!mm_training_point(t, steps += l->n, recent)) break;
  }
  return isfinite(l->weight[0]) ? MM_OK : MM_ERR_NUMERIC;
}

static mm_status train(mm_training *t) {
  mm_vec_config config = mm_vec_config_default();
  mm_vec_info info;
  mm_vec *vec;
  config.n = 1, config.seed = t->seed, config.repeat = t->repeat;
  mm_status status = mm_vec_create(t->env, &config, &vec);
  if (status != MM_OK) return status;
  mm_vec_describe(vec, &info);
  const size_t k = (size_t)info.n_input + 1, n_action = (size_t)info.n_action;
  learner *l = k <= WIDTH ? calloc(1, sizeof *l + n_action * k * sizeof *l->weight) : NULL;
  if (l) l->k = k, l->n_action = n_action;
  status = l ? mm_vec_reset(vec, &(mm_vec_out){ .obs = l->obs }) : MM_ERR_MEMORY;
  if (status == MM_OK) status = work(l, t, vec);
  free(l);
  mm_vec_destroy(vec);
  return status;
}

static const mm_plugin_setting settings[SETTINGS] = {
  [STEPS] = { "steps", 200000, 1, 1e12, true, "environment steps of a run" },
  [LR] = { "lr", 0.0003, 0, 1e3, false, "learning rate" },
  [GAMMA] = { "gamma", 0.99, 0, 1, false, "discount of future rewards" },
};
static const char summary[] = "REINFORCE with a linear softmax policy";
static const mm_plugin_learner reinforce = {
  sizeof reinforce, "reinforce", summary, true, false, false, SETTINGS, settings, train, NULL, NULL
};
static const mm_plugin_learner *const learners[] = { &reinforce, NULL };

const mm_plugin mirrormap_plugin = {
  MM_PLUGIN_INTERFACE, sizeof(mm_plugin), "reinforce", "1.0", NULL, NULL, learners
};
