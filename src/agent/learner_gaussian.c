// SPDX-License-Identifier: Apache-2.0
// The learner pmd-gaussian: policy mirror descent with Gaussian policies, on densities.

#include <string.h>

#include "agent/ampo_run.h"
#include "agent/learner.h"

#define NUMBER(...) MM_NUMBER_OF(mm_gaussian_config, __VA_ARGS__)
#define SWITCH(...) MM_SWITCH_OF(mm_gaussian_config, __VA_ARGS__)
#define FACTORS(...) MM_FACTORS_OF(mm_gaussian_config, __VA_ARGS__)
// clang-format off
static const mm_setting settings[] = {
  MM_ACTOR_CRITIC_NUMBERS(MM_COMMON_NUMBER) MM_GAUSSIAN_NUMBERS(NUMBER)
  MM_ACTOR_CRITIC_SWITCHES(MM_COMMON_SWITCH) MM_REAL_SETTINGS(MM_COMMON_SWITCH, MM_COMMON_CHOICE)
  MM_ETA_SETTINGS(FACTORS) MM_LOG_SETTINGS(SWITCH)
};
// clang-format on

// The paper's numbers for Hopper, HalfCheetah and Ant.
static void adjust(void *config) {
  mm_actor_critic_config *c = config;
  c->steps = 1e7;
  c->envs = 2048;
  c->unroll = 10;
  c->minibatches = 128;
  c->epochs = 8;
  c->lr = 1e-4;
  c->anneal = false;
  c->max_grad_norm = 1;
  c->hidden = 256;
}

static void method(const void *config, mm_ampo_method *out) {
  const mm_gaussian_config *c = config;
  *out = (mm_ampo_method){ .eta = c->eta, .density_scale = c->density_scale, .log = c->log };
  memcpy(out->eta_schedule, c->eta_schedule, sizeof c->eta_schedule);
}

extern const mm_learner mm_learner_gaussian;

const mm_learner mm_learner_gaussian = { .setting = settings,
                                         .n_setting = sizeof settings / sizeof *settings,
                                         .config_size = sizeof(mm_gaussian_config),
                                         .config_name = "mm_gaussian_config",
                                         .suits = MM_SUITS_REAL,
                                         .on_device = MM_SUITS_REAL,
                                         .networks = true,
                                         .adjust = adjust,
                                         .run = mm_ampo_run_job,
                                         .method = method };
