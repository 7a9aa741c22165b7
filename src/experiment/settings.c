// One table of keys per algorithm, made from the X-macros; everything else walks through it.

#include "experiment/settings.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"

typedef struct key {
  const char *name;
  size_t offset; // in mm_settings, of a double or, for a switch, a bool
  bool is_switch;
  bool whole;           // whole numbers only
  double low, high;     // of a number, both included
  const char *no, *yes; // of a switch
} key;

// what counts something
enum {
  WHOLE_steps = 1,
  WHOLE_envs = 1,
  WHOLE_unroll = 1,
  WHOLE_epochs = 1,
  WHOLE_lr = 0,
  WHOLE_critic_lr = 0,
  WHOLE_eta = 0,
  WHOLE_gamma = 0,
  WHOLE_gae_lambda = 0
};

static const key pmd_keys[] = {
#define NUMBER(name_, value, least, most)                                                          \
  { .name = #name_,                                                                                \
    .offset = offsetof(mm_settings, pmd.name_),                                                    \
    .whole = WHOLE_##name_,                                                                        \
    .low = least,                                                                                  \
    .high = most },
#define SWITCH(name_, field, no_, yes_, both, help)                                                \
  { .name = #name_,                                                                                \
    .offset = offsetof(mm_settings, pmd.field),                                                    \
    .is_switch = true,                                                                             \
    .no = no_,                                                                                     \
    .yes = yes_ },
  MM_PMD_NUMBERS(NUMBER) MM_PMD_SWITCHES(SWITCH)
#undef NUMBER
#undef SWITCH
};
static_assert(sizeof pmd_keys / sizeof *pmd_keys == MM_PMD_KEYS, "one entry per key");
static_assert(MM_PMD_KEYS <= (int)MM_SETTINGS_MAX, "room for all keys");

typedef struct algorithm {
  const char *name;
  const key *keys;
  size_t n;
} algorithm;

static const algorithm algorithms[MM_ALGO_COUNT] = {
  [MM_ALGO_PMD] = { "pmd", pmd_keys, MM_PMD_KEYS },
};

const char *mm_algo_name(mm_algo algo) {
  return algorithms[algo].name;
}

bool mm_algo_find(const char *name, mm_algo *out) {
  for (int i = 0; i < MM_ALGO_COUNT; i++) {
    if (strcmp(algorithms[i].name, name) != 0) continue;
    *out = (mm_algo)i;
    return true;
  }
  return false;
}

mm_settings mm_settings_default(mm_algo algo) {
  mm_settings settings = { .algo = algo, .pmd = mm_pmd_config_default() };
  return settings;
}

const char *mm_settings_key(mm_algo algo, size_t i) {
  return i < algorithms[algo].n ? algorithms[algo].keys[i].name : NULL;
}

// ---------------------------------------------------------------------------------------------
// From text

static mm_status set_number(const key *k, const char *text, double *out) {
  double value;
  char low[MM_JSON_NUMBER_SIZE], high[MM_JSON_NUMBER_SIZE];
  const char *kind = k->whole ? "a whole number" : "a number";
  bool read = mm_json_parse_number(text, &value) && isfinite(value);
  if (!read || (k->whole && value != floor(value)))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': '%s' is not %s", k->name, text, kind);
  if (!(value >= k->low && value <= k->high))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': %s must be at least %s and at most %s", k->name,
                   text, mm_json_format_number(k->low, low), mm_json_format_number(k->high, high));
  *out = value;
  return MM_OK;
}

static mm_status set_switch(const key *k, const char *text, bool *out) {
  const char *words[] = { k->no, k->yes };
  for (int i = 0; i < 2; i++) {
    if (strcmp(text, words[i]) != 0) continue;
    *out = i == 1;
    return MM_OK;
  }
  return MM_FAIL(MM_ERR_INPUT, "setting '%s': unknown value '%s' (one of %s, %s)", k->name, text,
                 k->no, k->yes);
}

static mm_status unknown_key(const algorithm *a, const char *name) {
  const char *names[MM_SETTINGS_MAX];
  for (size_t i = 0; i < a->n; i++)
    names[i] = a->keys[i].name;
  const char *near = mm_nearest(name, names, a->n);
  return MM_FAIL(MM_ERR_INPUT, "%s has no setting '%s'%s%s%s", a->name, name,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

mm_status mm_settings_set(mm_settings *settings, const char *name, const char *text) {
  const algorithm *a = &algorithms[settings->algo];
  for (size_t i = 0; i < a->n; i++) {
    const key *k = &a->keys[i];
    if (strcmp(k->name, name) != 0) continue;
    void *field = (char *)settings + k->offset;
    if (!text[0])
      return MM_FAIL(MM_ERR_INPUT, "setting '%s': expected a value, found nothing", name);
    return k->is_switch ? set_switch(k, text, field) : set_number(k, text, field);
  }
  return unknown_key(a, name);
}

// ---------------------------------------------------------------------------------------------

cJSON *mm_settings_json(const mm_settings *settings) {
  const algorithm *a = &algorithms[settings->algo];
  cJSON *object = cJSON_CreateObject();
  for (size_t i = 0; i < a->n; i++) {
    const key *k = &a->keys[i];
    const void *field = (const char *)settings + k->offset;
    if (k->is_switch)
      cJSON_AddStringToObject(object, k->name, *(const bool *)field ? k->yes : k->no);
    else
      cJSON_AddItemToObject(object, k->name, mm_json_number(*(const double *)field));
  }
  return object;
}
