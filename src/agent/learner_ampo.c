// SPDX-License-Identifier: Apache-2.0
// The learner ampo: regresses the scores of the actor on the target of a mirror descent step, and
// projects them onto the simplex.

#include <string.h>

#include "agent/ampo_run.h"
#include "agent/learner.h"

#define NUMBER(...) MM_NUMBER_OF(mm_ampo_config, __VA_ARGS__)
#define SWITCH(...) MM_SWITCH_OF(mm_ampo_config, __VA_ARGS__)
#define FACTORS(...) MM_FACTORS_OF(mm_ampo_config, __VA_ARGS__)
// clang-format off
static const mm_setting settings[] = {
  MM_ACTOR_CRITIC_NUMBERS(MM_COMMON_NUMBER) MM_AMPO_NUMBERS(NUMBER)
  MM_ACTOR_CRITIC_SWITCHES(MM_COMMON_SWITCH) MM_AMPO_SWITCHES(SWITCH)
  MM_MINATAR_SETTINGS(MM_COMMON_CHOICE) MM_ETA_SETTINGS(FACTORS) MM_LOG_SETTINGS(SWITCH)
};
// clang-format on

static void fit(void *config, const char *preset) {
  mm_actor_critic_config *c = config;
  if (strcmp(preset, "minatar") != 0) return;
  c->steps = 1e7;
  c->envs = 256;
  c->minibatches = 8;
  c->epochs = 8;
  c->lr = 0.0007;
  c->max_grad_norm = 1;
}

static void method(const void *config, mm_ampo_method *out) {
  const mm_ampo_config *c = config;
  *out = (mm_ampo_method){ .eta = c->eta,
                           .code_target = c->code_target,
                           .bisect10 = c->bisect10,
                           .center = c->center,
                           .log = c->log };
  memcpy(out->eta_schedule, c->eta_schedule, sizeof c->eta_schedule);
}

extern const mm_learner mm_learner_ampo;

const mm_learner mm_learner_ampo = { .setting = settings,
                                     .n_setting = sizeof settings / sizeof *settings,
                                     .config_size = sizeof(mm_ampo_config),
                                     .config_name = "mm_ampo_config",
                                     .suits = MM_SUITS_DISCRETE,
                                     .on_device = MM_SUITS_DISCRETE,
                                     .networks = true,
                                     .fit = fit,
                                     .run = mm_ampo_run_job,
                                     .method = method };
