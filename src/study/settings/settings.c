// Tables of keys, made from the X-macros; everything else walks through them.

#include "study/settings/settings.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"

typedef enum key_type { KEY_NUMBER, KEY_SWITCH, KEY_WORD, KEY_SCHEDULE } key_type;

typedef struct key {
  const char *name;
  size_t offset; // in mm_settings: of a double, a bool, an int, a char[MM_SCHEDULE_SIZE]
  key_type type;
  bool whole;           // whole numbers only
  double low, high;     // of a number, both included
  const char *no, *yes; // of a switch
  const char *words;    // "a|b|c"
} key;

// what counts something
enum {
  WHOLE_steps = 1,
  WHOLE_envs = 1,
  WHOLE_unroll = 1,
  WHOLE_epochs = 1,
  WHOLE_minibatches = 1,
  WHOLE_hidden = 1,
  WHOLE_lr = 0,
  WHOLE_critic_lr = 0,
  WHOLE_eta = 0,
  WHOLE_gamma = 0,
  WHOLE_gae_lambda = 0,
  WHOLE_max_grad_norm = 0,
  WHOLE_value_clip = 0,
  WHOLE_value_coef = 0,
  WHOLE_policy_clip = 0,
  WHOLE_entropy_coef = 0,
  WHOLE_density_scale = 0
};

#define NUMBER_OF(config, name_, least, most)                                                      \
  { .name = #name_,                                                                                \
    .offset = offsetof(mm_settings, config.name_),                                                 \
    .type = KEY_NUMBER,                                                                            \
    .whole = WHOLE_##name_,                                                                        \
    .low = least,                                                                                  \
    .high = most },
#define SWITCH_OF(config, name_, field, no_, yes_)                                                 \
  { .name = #name_,                                                                                \
    .offset = offsetof(mm_settings, config.field),                                                 \
    .type = KEY_SWITCH,                                                                            \
    .no = no_,                                                                                     \
    .yes = yes_ },
#define PMD_NUMBER(name_, value, least, most) NUMBER_OF(pmd, name_, least, most)
#define PMD_SWITCH(name_, field, no_, yes_) SWITCH_OF(pmd, name_, field, no_, yes_)
#define NET_NUMBER(name_, value, least, most) NUMBER_OF(ampo, name_, least, most)
#define NET_SWITCH(name_, field, no_, yes_) SWITCH_OF(ampo, name_, field, no_, yes_)
#define NET_WORD(name_, field, words_)                                                             \
  {                                                                                                \
    .name = #name_, .offset = offsetof(mm_settings, ampo.field), .type = KEY_WORD, .words = words_ \
  },

static const key pmd_keys[] = { MM_PMD_NUMBERS(PMD_NUMBER) MM_PMD_SWITCHES(PMD_SWITCH) };

static const key ampo_keys[] = { MM_NET_NUMBERS(NET_NUMBER) MM_AMPO_NUMBERS(
    NET_NUMBER) MM_NET_SWITCHES(NET_SWITCH) MM_AMPO_SWITCHES(NET_SWITCH) MM_NET_WORDS(NET_WORD) };

// clang-format off
static const key ppo_keys[] = {
  MM_NET_NUMBERS(NET_NUMBER) MM_PPO_NUMBERS(NET_NUMBER) MM_NET_SWITCHES(NET_SWITCH)
  MM_REAL_SWITCHES(NET_SWITCH) MM_REAL_WORDS(NET_WORD) MM_NET_WORDS(NET_WORD)
};

static const key gaussian_keys[] = {
  MM_NET_NUMBERS(NET_NUMBER) MM_AMPO_NUMBERS(NET_NUMBER) MM_GAUSSIAN_NUMBERS(NET_NUMBER)
  MM_NET_SWITCHES(NET_SWITCH) MM_REAL_SWITCHES(NET_SWITCH) MM_REAL_WORDS(NET_WORD)
};
// clang-format on

static const char *const all_names[] = {
#define NAME(name, shown, help, defaults) #name,
  MM_KEYS_LIST(NAME)
#undef NAME
};

static const key search_keys[] = {
#define NUMBER(name_, value, least, most, whole_, help)                                            \
  { .name = #name_,                                                                                \
    .offset = offsetof(mm_settings, search.name_),                                                 \
    .type = KEY_NUMBER,                                                                            \
    .whole = whole_,                                                                               \
    .low = least,                                                                                  \
    .high = most },
#define WORD(name_, words_, shown, help)                                                           \
  { .name = #name_,                                                                                \
    .offset = offsetof(mm_settings, search.name_),                                                 \
    .type = KEY_WORD,                                                                              \
    .words = words_ },
  MM_SEARCH_NUMBERS(NUMBER) MM_SEARCH_WORDS(WORD)
#undef NUMBER
#undef WORD
      { .name = "schedule",
        .offset = offsetof(mm_settings, search.schedule),
        .type = KEY_SCHEDULE },
};
static_assert(sizeof search_keys / sizeof *search_keys == MM_SEARCH_KEYS, "one entry per key");
static_assert((int)MM_KEYS + (int)MM_SEARCH_KEYS <= (int)MM_SETTINGS_MAX, "room for all keys");

typedef struct algorithm {
  const char *name;
  const key *keys;
  size_t n;
} algorithm;

static const algorithm algorithms[MM_ALGO_COUNT] = {
  [MM_ALGO_PMD] = { "pmd", pmd_keys, sizeof pmd_keys / sizeof *pmd_keys },
  [MM_ALGO_AMPO] = { "ampo", ampo_keys, sizeof ampo_keys / sizeof *ampo_keys },
  [MM_ALGO_PPO] = { "ppo", ppo_keys, sizeof ppo_keys / sizeof *ppo_keys },
  [MM_ALGO_GAUSSIAN] = { "pmd-gaussian", gaussian_keys,
                         sizeof gaussian_keys / sizeof *gaussian_keys },
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

bool mm_algo_has_map(mm_algo algo) {
  return algo != MM_ALGO_PPO;
}

enum { KIND_NEURAL, KIND_PIECEWISE }; // words of `kind`

mm_settings mm_settings_default(mm_algo algo) {
  mm_settings settings = {
    .algo = algo,
    .pmd = mm_pmd_config_default(),
    .ampo = algo == MM_ALGO_PPO        ? mm_ppo_config_default()
            : algo == MM_ALGO_GAUSSIAN ? mm_gaussian_config_default()
                                       : mm_ampo_config_default(),
    .search = {
#define DEFAULT(name, value, least, most, whole, help) .name = value,
        MM_SEARCH_NUMBERS(DEFAULT)
#undef DEFAULT
        .schedule = "-" },
  };
  if (algo == MM_ALGO_GAUSSIAN) { // Hopper: neural maps, 256 generations of 512
    settings.search.generations = 256;
    settings.search.validation_tasks = 8;
  }
  if (algo == MM_ALGO_PMD || algo == MM_ALGO_GAUSSIAN) return settings;
  // CartPole and Acrobot: piecewise maps, 600 generations of 128
  settings.search.kind = KIND_PIECEWISE;
  settings.search.es = MM_ES_SEP_CMA;
  settings.search.population = 128;
  settings.search.generations = 600;
  settings.search.validation_every = 10;
  settings.search.validation_tasks = 16;
  return settings;
}

// PPO on Hopper, HalfCheetah and Ant, as its users have it.
static void fit_real_ppo(mm_ampo_config *c) {
  c->steps = 1e7;
  c->envs = 2048;
  c->unroll = 10;
  c->minibatches = 32;
  c->epochs = 4;
  c->lr = 0.0003;
  c->constant_lr = true;
  c->entropy_coef = 0;
  c->hidden = 256;
}

void mm_settings_fit(mm_settings *settings, const char *preset) {
  mm_ampo_config *c = &settings->ampo;
  if (strcmp(preset, "mujoco") == 0 && settings->algo == MM_ALGO_PPO) fit_real_ppo(c);
  if (strcmp(preset, "minatar") != 0) return;
  if (settings->algo != MM_ALGO_AMPO && settings->algo != MM_ALGO_PPO) return;
  c->steps = 1e7;
  c->minibatches = 8;
  if (settings->algo == MM_ALGO_PPO) { // as its users have it
    c->envs = 64;
    c->lr = 0.005;
    c->relu = true;
    return;
  }
  c->envs = 256;
  c->epochs = 8;
  c->lr = 0.0007;
  c->max_grad_norm = 1;
  snprintf(settings->search.schedule, sizeof settings->search.schedule, "500x1000000,100x10000000");
}

void mm_settings_bind(const mm_settings *settings, mm_job *job) {
  job->pmd = settings->algo == MM_ALGO_PMD ? &settings->pmd : NULL;
  job->ampo = settings->algo == MM_ALGO_PMD ? NULL : &settings->ampo;
}

// steps, envs and unroll of the algorithm in use
typedef struct extent {
  double *steps;
  double batch;
} extent;

static extent extent_of(mm_settings *s) {
  if (s->algo == MM_ALGO_PMD) return (extent){ &s->pmd.steps, s->pmd.envs * s->pmd.unroll };
  return (extent){ &s->ampo.steps, s->ampo.envs * s->ampo.unroll };
}

double mm_settings_iterations(const mm_settings *settings) {
  mm_settings copy = *settings;
  extent l = extent_of(&copy);
  return floor(*l.steps / l.batch);
}

double mm_settings_steps(const mm_settings *settings) {
  mm_settings copy = *settings;
  return mm_settings_iterations(settings) * extent_of(&copy).batch;
}

void mm_settings_set_steps(mm_settings *settings, double steps) {
  *extent_of(settings).steps = steps;
}

const char *mm_settings_any_key(size_t i) {
  if (i < MM_KEYS) return all_names[i];
  return i < MM_KEYS + MM_SEARCH_KEYS ? search_keys[i - MM_KEYS].name : NULL;
}

// The i-th key: the algorithm's own first, then the search's.
static const key *key_at(mm_algo algo, size_t i) {
  const algorithm *a = &algorithms[algo];
  if (i < a->n) return &a->keys[i];
  return i < a->n + MM_SEARCH_KEYS ? &search_keys[i - a->n] : NULL;
}

const char *mm_settings_key(mm_algo algo, size_t i) {
  const key *k = key_at(algo, i);
  return k ? k->name : NULL;
}

size_t mm_settings_own(mm_algo algo) {
  return algorithms[algo].n;
}

// ---------------------------------------------------------------------------------------------
// What a search's settings mean

mm_map_kind mm_search_map_kind(const mm_search *search) {
  return search->kind == KIND_NEURAL ? MM_MAP_NEURAL : MM_MAP_PIECEWISE;
}

// The words of `es` are in the order of mm_es_kind, those of `shaping` in that of mm_shaping behind
// `auto`; a test compares them.
mm_es_config mm_search_es(const mm_search *search, uint64_t seed) {
  mm_es_config es = mm_es_config_default((mm_es_kind)search->es);
  mm_map_kind kind = mm_search_map_kind(search);
  es.dimension = mm_map_search_size(kind, (size_t)search->n);
  es.population = (size_t)search->population;
  es.sigma = search->sigma > 0 ? search->sigma : kind == MM_MAP_NEURAL ? 0.5 : 2;
  es.seed = seed;
  es.lr = search->es_lr;
  es.sigma_decay = search->sigma_decay;
  es.sigma_min = search->sigma_min;
  if (search->shaping > 0) es.shaping = (mm_shaping)(search->shaping - 1);
  return es;
}

// "GxS": whole numbers, both at least 1. Returns where the text goes on, or NULL.
static const char *read_phase(const char *text, mm_phase *out) {
  char number[32];
  double value[2];
  for (int i = 0; i < 2; i++) {
    size_t length = strcspn(text, i == 0 ? "x" : ",");
    if (length == 0 || length >= sizeof number) return NULL;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (!mm_json_parse_number(number, &value[i]) || !(value[i] >= 1 && value[i] <= 1e12) ||
        value[i] != floor(value[i]))
      return NULL;
    text += length;
    if (i == 0 && *text++ != 'x') return NULL;
  }
  if (value[0] > 1e9) return NULL;
  *out = (mm_phase){ (int64_t)value[0], value[1] };
  return text;
}

// Phases of a schedule's text; 0 if it is none.
static size_t read_schedule(const char *text, mm_phase out[MM_PHASES_MAX]) {
  size_t n = 0;
  do {
    if (n == MM_PHASES_MAX) return 0;
    text = read_phase(text, &out[n++]);
  } while (text && *text++ == ',');
  return text ? n : 0;
}

size_t mm_search_phases(const mm_search *search, mm_phase out[MM_PHASES_MAX]) {
  if (strcmp(search->schedule, "-") != 0) return read_schedule(search->schedule, out);
  out[0] = (mm_phase){ (int64_t)search->generations, 0 };
  return 1;
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

static mm_status set_word(const key *k, const char *text, int *out) {
  const char *word = k->words;
  size_t wanted = strlen(text);
  for (int i = 0; word; i++) {
    size_t length = strcspn(word, "|");
    if (length == wanted && memcmp(word, text, length) == 0) {
      *out = i;
      return MM_OK;
    }
    word = word[length] ? word + length + 1 : NULL;
  }
  return MM_FAIL(MM_ERR_INPUT, "setting '%s': unknown value '%s' (one of %s)", k->name, text,
                 k->words);
}

// The i-th word of "a|b|c".
static const char *word_at(const char *words, int i, char out[64]) {
  while (i-- > 0)
    words += strcspn(words, "|") + 1;
  snprintf(out, 64, "%.*s", (int)strcspn(words, "|"), words);
  return out;
}

static mm_status set_schedule(const char *text, char *out) {
  mm_phase phase[MM_PHASES_MAX];
  if (strlen(text) >= MM_SCHEDULE_SIZE ||
      (strcmp(text, "-") != 0 && read_schedule(text, phase) == 0))
    return MM_FAIL(MM_ERR_INPUT,
                   "setting 'schedule': expected up to %d phases GENERATIONSxSTEPS, e.g. "
                   "500x1000000,100x10000000, found '%.80s'",
                   MM_PHASES_MAX, text);
  memcpy(out, text, strlen(text) + 1);
  return MM_OK;
}

static const key *find_own(mm_algo algo, const char *name) {
  const algorithm *a = &algorithms[algo];
  for (size_t i = 0; i < a->n; i++)
    if (strcmp(a->keys[i].name, name) == 0) return &a->keys[i];
  return NULL;
}

// "pmd, ppo": the algorithms that have a key, "" if none has.
static const char *owners(const char *name, char out[64]) {
  int used = 0;
  out[0] = '\0';
  for (int i = 0; i < MM_ALGO_COUNT; i++)
    if (find_own((mm_algo)i, name) && used < 64)
      used += snprintf(out + used, 64 - (size_t)used, "%s%s", used > 0 ? ", " : "",
                       mm_algo_name((mm_algo)i));
  return out;
}

static mm_status unknown_key(mm_algo algo, const char *name) {
  const char *names[MM_SETTINGS_MAX];
  char whose[64];
  size_t n = 0;
  if (owners(name, whose)[0] != '\0')
    return MM_FAIL(MM_ERR_INPUT, "%s has no setting '%s' (only %s)", mm_algo_name(algo), name,
                   whose);
  for (const key *k; (k = key_at(algo, n)) != NULL; n++)
    names[n] = k->name;
  const char *near = mm_nearest(name, names, n);
  return MM_FAIL(MM_ERR_INPUT, "%s has no setting '%s'%s%s%s", mm_algo_name(algo), name,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

mm_status mm_settings_set(mm_settings *settings, const char *name, const char *text) {
  const key *k;
  for (size_t i = 0; (k = key_at(settings->algo, i)) != NULL; i++)
    if (strcmp(k->name, name) == 0) break;
  if (!k) return unknown_key(settings->algo, name);
  if (!text[0]) return MM_FAIL(MM_ERR_INPUT, "setting '%s': expected a value, found nothing", name);
  void *field = (char *)settings + k->offset;
  switch (k->type) {
  case KEY_NUMBER:
    return set_number(k, text, field);
  case KEY_SWITCH:
    return set_switch(k, text, field);
  case KEY_WORD:
    return set_word(k, text, field);
  case KEY_SCHEDULE:
    break;
  }
  return set_schedule(text, field);
}

// ---------------------------------------------------------------------------------------------

static void add_value(cJSON *object, const key *k, const mm_settings *settings) {
  const void *field = (const char *)settings + k->offset;
  char word[64];
  switch (k->type) {
  case KEY_NUMBER:
    cJSON_AddItemToObject(object, k->name, mm_json_number(*(const double *)field));
    break;
  case KEY_SWITCH:
    cJSON_AddStringToObject(object, k->name, *(const bool *)field ? k->yes : k->no);
    break;
  case KEY_WORD:
    cJSON_AddStringToObject(object, k->name, word_at(k->words, *(const int *)field, word));
    break;
  case KEY_SCHEDULE:
    cJSON_AddStringToObject(object, k->name, field);
    break;
  }
}

bool mm_settings_about(mm_algo algo, const char *name, mm_setting_about *out) {
  const key *k = find_own(algo, name);
  if (!k) return false;
  *out = (mm_setting_about){
    .number = k->type == KEY_NUMBER, .whole = k->whole, .low = k->low, .high = k->high
  };
  return true;
}

static_assert((int)MM_JSON_NUMBER_SIZE <= (int)MM_SETTING_TEXT_SIZE, "room for a number");

const char *mm_settings_text(const mm_settings *settings, const char *name,
                             char out[MM_SETTING_TEXT_SIZE]) {
  const key *k = find_own(settings->algo, name);
  const void *field = (const char *)settings + (k ? k->offset : 0);
  out[0] = '\0';
  if (!k) return out;
  if (k->type == KEY_NUMBER) return mm_json_format_number(*(const double *)field, out);
  if (k->type == KEY_WORD) return word_at(k->words, *(const int *)field, out);
  snprintf(out, MM_SETTING_TEXT_SIZE, "%s", *(const bool *)field ? k->yes : k->no);
  return out;
}

cJSON *mm_settings_json(const mm_settings *settings) {
  const algorithm *a = &algorithms[settings->algo];
  cJSON *object = cJSON_CreateObject();
  for (size_t i = 0; i < a->n; i++)
    add_value(object, &a->keys[i], settings);
  return object;
}

cJSON *mm_search_json(const mm_settings *settings) {
  cJSON *object = cJSON_CreateObject();
  for (size_t i = 0; i < MM_SEARCH_KEYS; i++)
    add_value(object, &search_keys[i], settings);
  return object;
}

// Keys that the first runs did not have: their defaults are what was done then.
static bool is_young(const char *name) {
  static const char *const young[] = { "controls",       "normalise_observation",
                                       "scale_reward",   "fresh_reset",
                                       "flavour",        "physics",
                                       "gymnasium_walls" };
  for (size_t i = 0; i < sizeof young / sizeof *young; i++)
    if (strcmp(young[i], name) == 0) return true;
  return false;
}

static mm_status read_value(const cJSON *object, const char *source, const char *name,
                            mm_settings *settings) {
  const cJSON *value = mm_json_find(object, name);
  char number[MM_JSON_NUMBER_SIZE];
  if (!value && is_young(name)) return MM_OK;
  if (!value || (!cJSON_IsString(value) && !cJSON_IsNumber(value)))
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected a value, found %s", source, name,
                   mm_json_describe(value));
  const char *text = cJSON_IsString(value) ? value->valuestring
                                           : mm_json_format_number(value->valuedouble, number);
  mm_status status = mm_settings_set(settings, name, text);
  return status == MM_OK ? MM_OK : MM_FAIL(status, "%s: %s", source, mm_last_error());
}

mm_status mm_settings_read(const cJSON *object, const char *source, size_t first, size_t end,
                           mm_settings *settings) {
  const char *keys[MM_SETTINGS_MAX + 1];
  size_t n = 0;
  for (size_t i = first; i < end; i++)
    keys[n++] = mm_settings_key(settings->algo, i);
  keys[n] = NULL;
  MM_TRY(mm_json_check_keys(object, source, keys));
  for (size_t i = 0; i < n; i++)
    MM_TRY(read_value(object, source, keys[i], settings));
  return MM_OK;
}
