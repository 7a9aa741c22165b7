// SPDX-License-Identifier: Apache-2.0
// The learner ppo: the clipped objective, on softmax or Gaussian policies.

#include <string.h>

#include "agent/ampo_run.h"
#include "agent/learner.h"

#define NUMBER(...) MM_NUMBER_OF(mm_ppo_config, __VA_ARGS__)
#define SWITCH(...) MM_SWITCH_OF(mm_ppo_config, __VA_ARGS__)
// clang-format off
static const mm_setting settings[] = {
  MM_ACTOR_CRITIC_NUMBERS(MM_COMMON_NUMBER) MM_PPO_NUMBERS(NUMBER)
  MM_ACTOR_CRITIC_SWITCHES(MM_COMMON_SWITCH) MM_REAL_SETTINGS(MM_COMMON_SWITCH, MM_COMMON_CHOICE)
  MM_MINATAR_SETTINGS(MM_COMMON_CHOICE) MM_LOG_SETTINGS(SWITCH)
};
// clang-format on

static void adjust(void *config) {
  mm_actor_critic_config *c = config;
  c->epochs = 4;
  c->lr = 0.00025;
  c->max_grad_norm = 0.5;
}

// As its users have it.
static void fit(void *config, const char *preset) {
  mm_ppo_config *ppo = config;
  mm_actor_critic_config *c = &ppo->net;
  if (strcmp(preset, "minatar") == 0) {
    c->steps = 1e7;
    c->envs = 64;
    c->minibatches = 8;
    c->lr = 0.005;
    c->relu = true;
  }
  if (strcmp(preset, "mujoco") == 0) {
    c->steps = 1e7;
    c->envs = 2048;
    c->unroll = 10;
    c->minibatches = 32;
    c->epochs = 4;
    c->lr = 0.0003;
    c->anneal = false;
    c->hidden = 256;
    ppo->entropy_coef = 0;
  }
}

static void method(const void *config, mm_ampo_method *out) {
  const mm_ppo_config *c = config;
  *out = (mm_ampo_method){ .ppo = true,
                           .eta = 1,
                           .policy_clip = c->policy_clip,
                           .entropy_coef = c->entropy_coef,
                           .density_scale = 1,
                           .log = c->log };
}

extern const mm_learner mm_learner_ppo;

const mm_learner mm_learner_ppo = { .setting = settings,
                                    .n_setting = sizeof settings / sizeof *settings,
                                    .config_size = sizeof(mm_ppo_config),
                                    .config_name = "mm_ppo_config",
                                    .suits = MM_SUITS_DISCRETE | MM_SUITS_REAL,
                                    .on_device = MM_SUITS_REAL,
                                    .networks = true,
                                    .adjust = adjust,
                                    .fit = fit,
                                    .run = mm_ampo_run_job,
                                    .method = method };
