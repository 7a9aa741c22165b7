// SPDX-License-Identifier: Apache-2.0
// The table of learners, and what can be said of all of them by their lists of settings.

#include "agent/learner.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/status.h"
#include "laws/schedule.h"

#define EXTERN(id, config, name) extern const mm_learner mm_learner_##config;
MM_ALGO_LIST(EXTERN)
#undef EXTERN

static const mm_learner *const learners[MM_ALGO_COUNT] = {
#define LEARNER(id, config, name) [MM_ALGO_##id] = &mm_learner_##config,
  MM_ALGO_LIST(LEARNER)
#undef LEARNER
};

const char *mm_algo_names[MM_ALGO_COUNT + MM_PLUGIN_LEARNERS_MOST + 1] = {
#define NAME(id, config, name) [MM_ALGO_##id] = name,
  MM_ALGO_LIST(NAME)
#undef NAME
};

#define DEFAULT(id, which, name)                                                                   \
  void mm_##which##_config_init(mm_##which##_config *out, size_t size) {                           \
    mm_##which##_config ours;                                                                      \
    mm_learner_default(&mm_learner_##which, &ours);                                                \
    mm_config_give(&ours, sizeof ours, out, size);                                                 \
  }
MM_ALGO_LIST(DEFAULT)
#undef DEFAULT

static size_t n_algo = MM_ALGO_COUNT;

size_t mm_algo_count(void) {
  return n_algo;
}

void mm_algo_enter(const char *name) {
  mm_algo_names[n_algo++] = name;
}

const char *mm_algo_name(mm_algo algo) {
  return (size_t)algo < n_algo ? mm_algo_names[algo] : NULL;
}

bool mm_algo_has_map(mm_algo algo) {
  static const bool has[MM_ALGO_COUNT] = {
#define HAS(id, config, name) [MM_ALGO_##id] = true,
    MM_MIRROR_ALGO_LIST(HAS)
#undef HAS
  };
  return algo < MM_ALGO_COUNT ? has[algo]
                              : mm_plugin_learner_law((size_t)algo - MM_ALGO_COUNT)->has_map;
}

bool mm_algo_is_tabular(mm_algo algo) {
  return mm_learner_of(algo)->suits == MM_SUITS_TABLES;
}

bool mm_algo_has_networks(mm_algo algo) {
  return mm_learner_of(algo)->networks;
}

bool mm_algo_find(const char *name, mm_algo *out) {
  for (size_t i = 0; i < n_algo; i++) {
    if (strcmp(mm_algo_names[i], name) != 0) continue;
    *out = (mm_algo)i;
    return true;
  }
  return false;
}

const mm_learner *mm_learner_of(mm_algo algo) {
  return algo < MM_ALGO_COUNT ? learners[algo] : mm_plugin_learner_at((size_t)algo - MM_ALGO_COUNT);
}

const mm_learner *mm_learner_of_job(const mm_job *job) {
  if (job->config && (size_t)job->algo < n_algo) return mm_learner_of(job->algo);
  (void)MM_FAIL(MM_ERR_INPUT, "a job without an algorithm: expected one of them and its settings");
  return NULL;
}

const mm_setting *mm_learner_setting(const mm_learner *l, const char *key) {
  for (const mm_setting *s = l->setting; s < l->setting + l->n_setting; s++)
    if (strcmp(s->key, key) == 0) return s;
  return NULL;
}

double *mm_learner_number(const mm_learner *l, void *config, const char *key) {
  const mm_setting *s = mm_learner_setting(l, key);
  if (!s || s->type != MM_SETTING_NUMBER) return NULL;
  return (double *)(void *)((char *)config + s->offset);
}

double mm_job_number(const mm_job *job, const char *key, double otherwise) {
  const mm_learner *learner = mm_learner_of_job(job);
  const double *number = learner ? mm_learner_number(learner, (void *)job->config, key) : NULL;
  return number ? *number : otherwise;
}

void mm_learner_default(const mm_learner *l, void *config) {
  memset(config, 0, l->config_size);
  if (l->config_name) memcpy(config, &l->config_size, sizeof l->config_size);
  for (const mm_setting *s = l->setting; s < l->setting + l->n_setting; s++) {
    void *at = (char *)config + s->offset;
    if (s->type == MM_SETTING_NUMBER) memcpy(at, &s->value, sizeof s->value);
    if (s->type == MM_SETTING_SWITCH) memcpy(at, &s->first, sizeof s->first);
  }
  if (l->adjust) l->adjust(config);
}

mm_status mm_learner_take(const mm_learner *l, const void *from, void *config) {
  mm_learner_default(l, config);
  if (l->config_name) return mm_config_take(l->config_name, from, config, l->config_size);
  memcpy(config, from, l->config_size);
  return MM_OK;
}

static_assert((int)MM_FACTORS_MAX == (int)MM_SCHEDULE_FACTORS, "of agent.h and of the law");

// None, or at least two within their range, and nothing behind them.
static mm_status check_factors(const mm_setting *s, const void *config) {
  double factor[MM_FACTORS_MAX];
  memcpy(factor, (const char *)config + s->offset, sizeof factor);
  const int32_t n = mm_factors_count(factor);
  bool valid = n != 1;
  for (int32_t i = 0; i < MM_FACTORS_MAX; i++)
    valid &= i < n ? factor[i] >= s->least && factor[i] <= s->most : factor[i] == 0;
  if (valid) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "setting '%s': expected none, or 2 to %d factors between %g and %g",
                 s->key, MM_FACTORS_MAX, s->least, s->most);
}

mm_status mm_learner_check(const mm_learner *l, const void *config) {
  for (const mm_setting *s = l->setting; s < l->setting + l->n_setting; s++) {
    double value;
    if (s->type == MM_SETTING_FACTORS) MM_TRY(check_factors(s, config));
    if (s->type != MM_SETTING_NUMBER) continue;
    memcpy(&value, (const char *)config + s->offset, sizeof value);
    if (!(value >= s->least && value <= s->most))
      return MM_FAIL(MM_ERR_INPUT, "setting '%s': %g is not between %g and %g", s->key, value,
                     s->least, s->most);
    if (s->whole && value != floor(value))
      return MM_FAIL(MM_ERR_INPUT, "setting '%s': %g is not a whole number", s->key, value);
  }
  return MM_OK;
}
