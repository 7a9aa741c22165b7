// The table of keys, made from the lists of the headers; everything else walks through it.

#include "study/settings/settings.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"

// Who has a key.
enum {
  PMD = 1 << MM_ALGO_PMD,
  AMPO = 1 << MM_ALGO_AMPO,
  PPO = 1 << MM_ALGO_PPO,
  GAUSSIAN = 1 << MM_ALGO_GAUSSIAN,
  NETS = AMPO | PPO | GAUSSIAN,
  SEARCH = 1 << MM_ALGO_COUNT // the search around any of them
};

// A field of mm_settings: a double, or, of a key with words, the place in their list as a bool or
// an int; a text of MM_SCHEDULE_SIZE bytes.
typedef struct field {
  size_t offset, size;
  bool inverted;
} field;

// No other type than these compiles.
#define SIZE_OF(name)                                                                              \
  _Generic(((mm_settings *)0)->name,                                                               \
      double: sizeof(double),                                                                      \
      bool: sizeof(bool),                                                                          \
      int: sizeof(int),                                                                            \
      char *: MM_SCHEDULE_SIZE)
#define IN(name)                                                                                   \
  { offsetof(mm_settings, name), SIZE_OF(name), false }
#define NOT(name)                                                                                  \
  { offsetof(mm_settings, name), SIZE_OF(name), true }
#define NONE                                                                                       \
  { 0, 0, false }

typedef struct key {
  const char *name;
  unsigned whose;
  field at;
  const char *words; // "a|b|c"; NULL: a number, or the schedule
  double low, high;  // of a number, both included
  bool whole;        // of the search's numbers; is_whole tells of all
} key;

#define NUMBER_OF(whose, config, name, least, most)                                                \
  { #name, whose, IN(config.name), NULL, least, most, false },
#define PMD_NUMBER(name, value, least, most) NUMBER_OF(PMD, pmd, name, least, most)
#define NET_NUMBER(name, value, least, most) NUMBER_OF(NETS, ampo, name, least, most)
#define AMPO_NUMBER(name, value, least, most) NUMBER_OF(AMPO | GAUSSIAN, ampo, name, least, most)
#define PPO_NUMBER(name, value, least, most) NUMBER_OF(PPO, ampo, name, least, most)
#define GAUSSIAN_NUMBER(name, value, least, most) NUMBER_OF(GAUSSIAN, ampo, name, least, most)
#define PMD_WORD(name, words, pmd, net, whose, help) { #name, PMD, pmd, words, 0, 0, false },
#define NET_WORD(name, words, pmd, net, whose, help) { #name, whose, net, words, 0, 0, false },
#define SEARCH_NUMBER(name, value, least, most, whole, help)                                       \
  { #name, SEARCH, IN(search.name), NULL, least, most, whole },
#define SEARCH_WORD(name, words, shown, help)                                                      \
  { #name, SEARCH, IN(search.name), words, 0, 0, false },

// What an algorithm has of these, in this order, is how its settings are listed. A key without a
// field is nobody's.
// clang-format off
static const key keys[] = {
  MM_PMD_NUMBERS(PMD_NUMBER) MM_NET_NUMBERS(NET_NUMBER) MM_AMPO_NUMBERS(AMPO_NUMBER)
  MM_PPO_NUMBERS(PPO_NUMBER) MM_GAUSSIAN_NUMBERS(GAUSSIAN_NUMBER)
  MM_WORD_KEYS(PMD_WORD) MM_WORD_KEYS(NET_WORD)
  MM_SEARCH_NUMBERS(SEARCH_NUMBER) MM_SEARCH_WORDS(SEARCH_WORD)
  { "schedule", SEARCH, IN(search.schedule), NULL, 0, 0, false },
};
// clang-format on
enum { KEYS = sizeof keys / sizeof *keys };

#define NUMBER_NAME(name, help) #name,
#define WORD_NAME(name, words, pmd, net, whose, help) #name,
static const char *const all_names[MM_KEYS] = { MM_NUMBER_KEYS(NUMBER_NAME)
                                                    MM_WORD_KEYS(WORD_NAME) };

static bool is_whole(const key *k) {
#define NAME(name) #name,
  static const char *const whole[] = { MM_PMD_WHOLE(NAME) MM_NET_WHOLE(NAME) };
#undef NAME
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (strcmp(whole[i], k->name) == 0) return true;
  return k->whole;
}

// The i-th key of those whom the mask names; NULL past the end.
static const key *key_at(unsigned whose, size_t i) {
  for (const key *k = keys; k < keys + KEYS; k++)
    if ((k->whose & whose) && k->at.size > 0 && i-- == 0) return k;
  return NULL;
}

static const key *find_key(unsigned whose, const char *name) {
  const key *k;
  for (size_t i = 0; (k = key_at(whose, i)) != NULL; i++)
    if (strcmp(k->name, name) == 0) break;
  return k;
}

static unsigned mask_of(mm_algo algo) {
  return 1u << algo;
}

static const char *const algorithms[MM_ALGO_COUNT] = { [MM_ALGO_PMD] = "pmd",
                                                       [MM_ALGO_AMPO] = "ampo",
                                                       [MM_ALGO_PPO] = "ppo",
                                                       [MM_ALGO_GAUSSIAN] = "pmd-gaussian" };

const char *mm_algo_name(mm_algo algo) {
  return algorithms[algo];
}

bool mm_algo_find(const char *name, mm_algo *out) {
  for (int i = 0; i < MM_ALGO_COUNT; i++) {
    if (strcmp(algorithms[i], name) != 0) continue;
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
  const key *k = key_at(SEARCH, i - MM_KEYS);
  return k ? k->name : NULL;
}

// The search's keys come last in the list.
const char *mm_settings_key(mm_algo algo, size_t i) {
  const key *k = key_at(mask_of(algo) | SEARCH, i);
  return k ? k->name : NULL;
}

size_t mm_settings_own(mm_algo algo) {
  size_t n = 0;
  while (key_at(mask_of(algo), n))
    n++;
  return n;
}

// ---------------------------------------------------------------------------------------------
// What a search's settings mean

mm_map_kind mm_search_map_kind(const mm_search *search) {
  return search->kind == KIND_NEURAL ? MM_MAP_NEURAL : MM_MAP_PIECEWISE;
}

// The words of `shaping` are in the order of mm_shaping, behind `auto`.
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
  bool whole = is_whole(k);
  bool read = mm_json_parse_number(text, &value) && isfinite(value);
  if (!read || (whole && value != floor(value)))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': '%s' is not %s", k->name, text,
                   whole ? "a whole number" : "a number");
  if (!(value >= k->low && value <= k->high))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': %s must be at least %s and at most %s", k->name,
                   text, mm_json_format_number(k->low, low), mm_json_format_number(k->high, high));
  *out = value;
  return MM_OK;
}

// A switch is a field of two words.
static bool is_switch(const key *k) {
  return k->words && k->at.size == sizeof(bool);
}

// The i-th word of "a|b|c"; NULL past the end.
static const char *word_at(const char *words, int i, char out[MM_SETTING_TEXT_SIZE]) {
  for (; i > 0 && words; i--) {
    words = strchr(words, '|');
    if (words) words++;
  }
  if (words) snprintf(out, MM_SETTING_TEXT_SIZE, "%.*s", (int)strcspn(words, "|"), words);
  return words ? out : NULL;
}

static mm_status set_word(const key *k, const char *text, void *out) {
  char word[MM_SETTING_TEXT_SIZE], second[MM_SETTING_TEXT_SIZE];
  for (int i = 0; word_at(k->words, i, word); i++) {
    bool on = (i == 1) != k->at.inverted;
    if (strcmp(word, text) != 0) continue;
    memcpy(out, is_switch(k) ? (void *)&on : &i, k->at.size);
    return MM_OK;
  }
  if (is_switch(k))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': unknown value '%s' (one of %s, %s)", k->name, text,
                   word_at(k->words, 0, word), word_at(k->words, 1, second));
  return MM_FAIL(MM_ERR_INPUT, "setting '%s': unknown value '%s' (one of %s)", k->name, text,
                 k->words);
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

// "pmd, ppo": the algorithms that have a key, "" if none has.
static const char *owners(const char *name, char out[64]) {
  int used = 0;
  out[0] = '\0';
  for (int i = 0; i < MM_ALGO_COUNT; i++)
    if (find_key(mask_of((mm_algo)i), name) && used < 64)
      used += snprintf(out + used, 64 - (size_t)used, "%s%s", used > 0 ? ", " : "",
                       mm_algo_name((mm_algo)i));
  return out;
}

static mm_status unknown_key(mm_algo algo, const char *name) {
  const char *names[MM_SETTINGS_MAX + 1];
  char whose[64];
  size_t n = 0;
  if (owners(name, whose)[0] != '\0')
    return MM_FAIL(MM_ERR_INPUT, "%s has no setting '%s' (only %s)", mm_algo_name(algo), name,
                   whose);
  while ((names[n] = mm_settings_key(algo, n)) != NULL)
    n++;
  const char *near = mm_nearest(name, names, n);
  return MM_FAIL(MM_ERR_INPUT, "%s has no setting '%s'%s%s%s", mm_algo_name(algo), name,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

mm_status mm_settings_set(mm_settings *settings, const char *name, const char *text) {
  const key *k = find_key(mask_of(settings->algo) | SEARCH, name);
  if (!k) return unknown_key(settings->algo, name);
  if (!text[0]) return MM_FAIL(MM_ERR_INPUT, "setting '%s': expected a value, found nothing", name);
  void *at = (char *)settings + k->at.offset;
  if (k->words) return set_word(k, text, at);
  return k->at.size == sizeof(double) ? set_number(k, text, at) : set_schedule(text, at);
}

// ---------------------------------------------------------------------------------------------
// To text

static_assert((int)MM_JSON_NUMBER_SIZE <= (int)MM_SETTING_TEXT_SIZE, "room for a number");

static const char *text_of(const mm_settings *settings, const key *k,
                           char out[MM_SETTING_TEXT_SIZE]) {
  const void *at = (const char *)settings + k->at.offset;
  if (!k->words) return mm_json_format_number(*(const double *)at, out);
  int i = is_switch(k) ? *(const bool *)at != k->at.inverted : *(const int *)at;
  return word_at(k->words, i, out);
}

const char *mm_settings_text(const mm_settings *settings, const char *name,
                             char out[MM_SETTING_TEXT_SIZE]) {
  const key *k = find_key(mask_of(settings->algo), name);
  out[0] = '\0';
  return k ? text_of(settings, k, out) : out;
}

const char *mm_settings_defaults(const char *name, char out[MM_SETTING_DEFAULTS_SIZE]) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < MM_ALGO_COUNT; i++) {
    mm_settings settings = mm_settings_default((mm_algo)i);
    char text[MM_SETTING_TEXT_SIZE];
    if (mm_settings_text(&settings, name, text)[0] == '\0') continue;
    used += (size_t)snprintf(out + used, MM_SETTING_DEFAULTS_SIZE - used, "%s%s %s",
                             used > 0 ? ", " : "", mm_algo_name((mm_algo)i), text);
  }
  return out;
}

bool mm_settings_about(mm_algo algo, const char *name, mm_setting_about *out) {
  const key *k = find_key(mask_of(algo), name);
  if (!k) return false;
  *out = (mm_setting_about){
    .number = !k->words, .whole = is_whole(k), .low = k->low, .high = k->high
  };
  return true;
}

static cJSON *json_of(const mm_settings *settings, unsigned whose) {
  cJSON *object = cJSON_CreateObject();
  char text[MM_SETTING_TEXT_SIZE];
  const key *k;
  for (size_t i = 0; (k = key_at(whose, i)) != NULL; i++) {
    const void *at = (const char *)settings + k->at.offset;
    if (k->words)
      cJSON_AddStringToObject(object, k->name, text_of(settings, k, text));
    else if (k->at.size == sizeof(double))
      cJSON_AddItemToObject(object, k->name, mm_json_number(*(const double *)at));
    else
      cJSON_AddStringToObject(object, k->name, at);
  }
  return object;
}

cJSON *mm_settings_json(const mm_settings *settings) {
  return json_of(settings, mask_of(settings->algo));
}

cJSON *mm_search_json(const mm_settings *settings) {
  return json_of(settings, SEARCH);
}

// ---------------------------------------------------------------------------------------------
// From JSON

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
  const char *names[MM_SETTINGS_MAX + 1];
  size_t n = 0;
  for (size_t i = first; i < end; i++)
    names[n++] = mm_settings_key(settings->algo, i);
  names[n] = NULL;
  MM_TRY(mm_json_check_keys(object, source, names));
  for (size_t i = 0; i < n; i++)
    MM_TRY(read_value(object, source, names[i], settings));
  return MM_OK;
}
