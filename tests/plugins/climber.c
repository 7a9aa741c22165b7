// SPDX-License-Identifier: Apache-2.0
// A plug-in with a learner that can be stopped anywhere: hill climbing on a linear policy, one
// episode a candidate. Its state is what it knows and that of the environment.

#include <mirrormap/plugin.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 8 };

typedef struct climber {
  float weight[INPUTS];
  double best; // return that they had
  uint64_t steps;
} climber;

typedef struct work {
  climber now;
  mm_vec *vec;
} work;

static mm_status play(work *w, mm_training *t, const float *weight, int32_t n, double *sum) {
  float obs[INPUTS], reward;
  uint8_t end = 0;
  const mm_vec_out out = { .obs = obs, .reward = &reward, .end = &end };
  mm_status status = mm_vec_observe(w->vec, obs);
  for (*sum = 0; status == MM_OK && !end; w->now.steps++) {
    float score = 0.1f * (mm_random_uniform(t->random) - 0.5f);
    for (int32_t j = 0; j < n; j++)
      score += weight[j] * obs[j];
    const int32_t action = score > 0;
    status = mm_vec_step(w->vec, &action, &out);
    *sum += (double)reward;
  }
  return status;
}

static mm_status climb(work *w, mm_training *t, int32_t n) {
  mm_status status = MM_OK;
  bool goes_on = true;
  while (goes_on && status == MM_OK && (double)w->now.steps < t->setting[0]) {
    float weight[INPUTS];
    double sum;
    for (int32_t j = 0; j < n; j++)
      weight[j] = w->now.weight[j] + 0.2f * mm_random_normal(t->random);
    status = play(w, t, weight, n, &sum);
    if (sum >= w->now.best) {
      w->now.best = sum;
      memcpy(w->now.weight, weight, (size_t)n * sizeof *weight);
    }
    if (status == MM_OK) goes_on = mm_training_point(t, w->now.steps, sum);
  }
  return status;
}

#ifndef OLDER
static size_t state_size(const mm_training *t) {
  const work *w = t->user;
  return sizeof w->now + mm_vec_state_size(w->vec);
}

static void save(const mm_training *t, void *state) {
  const work *w = t->user;
  memcpy(state, &w->now, sizeof w->now);
  mm_vec_save(w->vec, (char *)state + sizeof w->now);
}

#endif

static mm_status begin(work *w, const mm_training *t) {
  float obs[INPUTS];
  if (!t->state) return mm_vec_reset(w->vec, &(mm_vec_out){ .obs = obs });
  if (t->state_size < sizeof w->now) return MM_ERR_INPUT;
  memcpy(&w->now, t->state, sizeof w->now);
  return mm_vec_load(w->vec, (const char *)t->state + sizeof w->now, t->state_size - sizeof w->now);
}

static mm_status train(mm_training *t) {
  mm_vec_config config = mm_vec_config_default();
  mm_vec_info info;
  work w = { .now.best = -1 };
  config.n = 1;
  config.seed = t->seed;
  config.repeat = t->repeat;
  mm_status status = mm_vec_create(t->env, &config, &w.vec);
  if (status != MM_OK) return status;
  mm_vec_describe(w.vec, &info);
  t->user = &w;
  status = info.n_input <= INPUTS ? begin(&w, t) : MM_ERR_UNSUPPORTED;
  if (status == MM_OK) status = climb(&w, t, info.n_input);
  mm_vec_destroy(w.vec);
  return status;
}

static const mm_plugin_setting settings[] = { { "steps", 1000, 1, 1e9, true, "of a run" } };
static const mm_plugin_learner learner = {
#ifdef OLDER // as a header without states has it
  .size = offsetof(mm_plugin_learner, state_size),
#else
  .size = sizeof learner,
  .state_size = state_size,
  .save = save,
#endif
  .name = "climber",
  .summary = "hill climbing",
  .discrete = true,
  .n_setting = 1,
  .setting = settings,
  .train = train,
};
static const mm_plugin_learner *const learners[] = { &learner, NULL };

const mm_plugin mirrormap_plugin = {
  .interface = MM_PLUGIN_INTERFACE,
  .size = sizeof(mm_plugin),
  .name = "climber",
  .version = "1",
  .learner = learners,
};
