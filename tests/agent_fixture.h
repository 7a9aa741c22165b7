// SPDX-License-Identifier: Apache-2.0
// Jobs and agents of any learner from settings, for tests that train several kinds.

#ifndef AGENT_FIXTURE_H
#define AGENT_FIXTURE_H

#include "agent/ampo.h"
#include "study/settings/settings.h"

static inline mm_job job_of(const mm_env *env, const mm_map *map, const mm_settings *settings,
                            uint64_t seed) {
  mm_job job = { .env = env, .map = map, .seed = seed };
  mm_settings_bind(settings, &job);
  return job;
}

static inline mm_status make_agent_of(const mm_env *env, const mm_map *map,
                                      const mm_settings *settings, uint64_t seed, uint32_t repeat,
                                      mm_ampo **out) {
  mm_job job = job_of(env, map, settings, seed);
  job.repeat = repeat;
  return mm_ampo_create(&job, map, NULL, out);
}

#endif
