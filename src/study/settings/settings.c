// SPDX-License-Identifier: Apache-2.0
// Settings by name: everything walks through the learners' lists of settings and the search's.

#include "study/settings/settings.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"
#include "laws/schedule.h"

#define SEARCH_NUMBER(...) MM_NUMBER_OF(mm_search, __VA_ARGS__)
#define SEARCH_WORD(...) MM_CHOICE_OF(mm_search, __VA_ARGS__)
#define SEARCH_TEXT(field, size, value, help_)                                                     \
  { .key = #field, .type = MM_SETTING_TEXT, .offset = offsetof(mm_search, field), .help = help_ },
static const mm_setting search_settings[] = { MM_SEARCH_NUMBERS(SEARCH_NUMBER) MM_SEARCH_WORDS(
    SEARCH_WORD) MM_SEARCH_TEXTS(SEARCH_TEXT) };
static_assert(sizeof search_settings / sizeof *search_settings == MM_SEARCH_KEYS, "all of them");

// All learners' keys are shown in this order; those that are not named here come behind, learner by
// learner.
// clang-format off
static const char *const usual_order[] = {
  "steps", "envs", "unroll", "minibatches", "epochs", "lr", "critic_lr", "eta", "gamma",
  "gae_lambda", "max_grad_norm", "value_clip", "value_coef", "policy_clip", "entropy_coef",
  "hidden", "density_scale", "termination", "normalise_advantage", "curve", "anneal", "activation",
  "bootstrap_on_timeout", "target", "projection", "center", "normalise_observation",
  "scale_reward", "fresh_reset", "gymnasium_walls", "flavour", "physics", "rules",
};
// clang-format on
enum { USUAL = sizeof usual_order / sizeof *usual_order };

const mm_learner *mm_settings_learner(const mm_settings *settings) {
  return mm_learner_of(settings->algo);
}

const mm_actor_critic_config *mm_settings_net(const mm_settings *settings) {
  return mm_settings_learner(settings)->method ? &settings->net : NULL;
}

double *mm_settings_number(mm_settings *settings, const char *key) {
  return mm_learner_number(mm_settings_learner(settings), &settings->net, key);
}

// The first learner's setting of that key, of those before `end`.
static const mm_setting *find_any(const char *key, size_t end) {
  const mm_setting *found = NULL;
  for (size_t i = 0; i < end && !found; i++)
    found = mm_learner_setting(mm_learner_of((mm_algo)i), key);
  return found;
}

static bool is_usual(const char *key) {
  for (size_t i = 0; i < USUAL; i++)
    if (strcmp(usual_order[i], key) == 0) return true;
  return false;
}

const mm_setting *mm_settings_any(size_t i) {
  if (i < USUAL) return find_any(usual_order[i], mm_algo_count());
  i -= USUAL;
  for (size_t a = 0; a < mm_algo_count(); a++) {
    const mm_learner *l = mm_learner_of((mm_algo)a);
    for (const mm_setting *s = l->setting; s < l->setting + l->n_setting; s++)
      if (!is_usual(s->key) && !find_any(s->key, a) && i-- == 0) return s;
  }
  return i < MM_SEARCH_KEYS ? &search_settings[i] : NULL;
}

bool mm_setting_at(size_t i, mm_setting_info *out) {
  const mm_setting *s = mm_settings_any(i);
  if (!s) return false;
  *out =
      (mm_setting_info){ .key = s->key,
                         .help = s->help,
                         .type = s->type,
                         .value = s->value,
                         .least = s->least,
                         .most = s->most,
                         .whole = s->whole,
                         .words = s->words,
                         .search = s >= search_settings && s < search_settings + MM_SEARCH_KEYS };
  return true;
}

const char *mm_settings_any_key(size_t i) {
  const mm_setting *s = mm_settings_any(i);
  return s ? s->key : NULL;
}

size_t mm_settings_any_own(void) {
  size_t n = 0;
  while (mm_settings_any(n))
    n++;
  return n - MM_SEARCH_KEYS;
}

// The search's keys come last in the list.
static const mm_setting *setting_at(mm_algo algo, size_t i) {
  const mm_learner *l = mm_learner_of(algo);
  if (i < l->n_setting) return &l->setting[i];
  return i - l->n_setting < MM_SEARCH_KEYS ? &search_settings[i - l->n_setting] : NULL;
}

const char *mm_settings_key(mm_algo algo, size_t i) {
  const mm_setting *s = setting_at(algo, i);
  return s ? s->key : NULL;
}

size_t mm_settings_own(mm_algo algo) {
  return mm_learner_of(algo)->n_setting;
}

// The learner's setting or the search's of that key, and the field of it.
static const mm_setting *find_setting(const mm_settings *settings, const char *key,
                                      const void **at) {
  const mm_setting *s = mm_learner_setting(mm_settings_learner(settings), key);
  *at = s ? (const char *)&settings->net + s->offset : NULL;
  for (size_t i = 0; i < MM_SEARCH_KEYS && !s; i++) {
    if (strcmp(search_settings[i].key, key) != 0) continue;
    s = &search_settings[i];
    *at = (const char *)&settings->search + s->offset;
  }
  return s;
}

// ---------------------------------------------------------------------------------------------
// Defaults

enum { KIND_NEURAL, KIND_PIECEWISE }; // words of `kind`

mm_settings mm_settings_default(mm_algo algo) {
  mm_settings settings;
  memset(&settings, 0, sizeof settings);
  settings.algo = algo;
  settings.search = (mm_search){
#define DEFAULT(name, value, least, most, whole, help) .name = value,
#define DEFAULT_TEXT(name, size, value, help) .name = value,
    MM_SEARCH_NUMBERS(DEFAULT) MM_SEARCH_TEXTS(DEFAULT_TEXT)
#undef DEFAULT
#undef DEFAULT_TEXT
  };
  const mm_learner *learner = mm_learner_of(algo);
  mm_learner_default(learner, &settings.net);
  if (learner->suits == MM_SUITS_REAL) { // Hopper: neural maps, 256 generations of 512
    settings.search.generations = 256;
    settings.search.validation_tasks = 8;
  }
  if (!(learner->suits & MM_SUITS_DISCRETE)) return settings;
  // CartPole and Acrobot: piecewise maps, 600 generations of 128
  settings.search.kind = KIND_PIECEWISE;
  settings.search.es = MM_ES_SEP_CMA;
  settings.search.population = 128;
  settings.search.generations = 600;
  settings.search.validation_every = 10;
  settings.search.validation_tasks = 16;
  return settings;
}

mm_status mm_settings_create(mm_algo algo, mm_settings **out) {
  *out = NULL;
  if ((size_t)algo >= mm_algo_count())
    return MM_FAIL(MM_ERR_INPUT, "settings: algo = %d: no such algorithm", (int)algo);
  *out = mm_alloc(sizeof **out);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for settings");
  mm_settings_reset(*out, algo);
  return MM_OK;
}

void mm_settings_destroy(mm_settings *settings) {
  mm_free(settings);
}

void mm_settings_reset(mm_settings *settings, mm_algo algo) {
  *settings = mm_settings_default(algo);
}

mm_algo mm_settings_algo(const mm_settings *settings) {
  return settings->algo;
}

const void *mm_settings_config(const mm_settings *settings) {
  return &settings->net;
}

void mm_settings_fit(mm_settings *settings, const char *preset) {
  const mm_learner *learner = mm_settings_learner(settings);
  if (learner->fit) learner->fit(&settings->net, preset);
  if (strcmp(preset, "minatar") == 0 && mm_algo_has_map(settings->algo) &&
      (learner->suits & MM_SUITS_DISCRETE))
    snprintf(settings->search.schedule, sizeof settings->search.schedule,
             "500x1000000,100x10000000");
}

void mm_settings_bind(const mm_settings *settings, mm_job *job) {
  job->algo = settings->algo;
  job->config = &settings->net;
}

double mm_settings_value(const mm_settings *settings, const char *key, double otherwise) {
  mm_job job = { 0 };
  mm_settings_bind(settings, &job);
  return mm_job_number(&job, key, otherwise);
}

// Environment steps of an iteration; every learner has these keys.
static double batch_of(const mm_settings *settings) {
  return mm_settings_value(settings, "envs", 1) * mm_settings_value(settings, "unroll", 1);
}

double mm_settings_iterations(const mm_settings *settings) {
  return floor(mm_settings_value(settings, "steps", 0) / batch_of(settings));
}

double mm_settings_steps(const mm_settings *settings) {
  return mm_settings_iterations(settings) * batch_of(settings);
}

void mm_settings_set_steps(mm_settings *settings, double steps) {
  *mm_settings_number(settings, "steps") = steps;
}

double mm_settings_last_eta(const mm_settings *settings) {
  const void *schedule;
  const double eta = mm_settings_value(settings, "eta", 1);
  const int64_t n = (int64_t)mm_settings_iterations(settings);
  return find_setting(settings, "eta_schedule", &schedule) ? eta * mm_factor_at(schedule, n - 1, n)
                                                           : eta;
}

bool mm_settings_take_eta(mm_settings *settings, const mm_map *map) {
  double *eta = mm_settings_number(settings, "eta");
  const bool both = eta && mm_map_eta(map) > 0;
  if (both) *eta = mm_map_eta(map);
  return both;
}

// ---------------------------------------------------------------------------------------------
// What a search's settings mean

mm_map_kind mm_search_map_kind(const mm_search *search) {
  return mm_map_search_kind((size_t)search->kind);
}

const char *mm_search_init(const mm_search *search) {
  return strcmp(search->init, "-") != 0 ? search->init : NULL;
}

// The words of `shaping` are in the order of mm_shaping, behind `auto`.
mm_es_config mm_search_es(const mm_search *search, uint64_t seed) {
  mm_es_config es = mm_es_config_default((mm_es_kind)search->es);
  mm_map_kind kind = mm_search_map_kind(search);
  const bool scale = search->search == MM_SEARCH_SCALE;
  const size_t size = scale ? 1 : mm_map_search_size(kind, (size_t)search->n);
  es.dimension = (size_t)search->stages * size + (search->search_eta != 0);
  es.population = (size_t)search->population;
  es.sigma = search->sigma > 0 ? search->sigma : kind == MM_MAP_PIECEWISE && !scale ? 2 : 0.5;
  es.seed = seed;
  es.restarts = (size_t)search->restarts;
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

// mean|median|cvar:A with A in (0, 1]; false if it is none.
static bool read_fitness(const char *text, mm_fitness *out) {
  double share = 0;
  bool cvar = strncmp(text, "cvar:", 5) == 0;
  *out = (mm_fitness){ .mean = strcmp(text, "mean") == 0 };
  if (cvar && !(mm_json_parse_number(text + 5, &share) && share > 0 && share <= 1)) return false;
  out->share = share;
  return cvar || out->mean || strcmp(text, "median") == 0;
}

mm_fitness mm_search_fitness(const mm_search *search) {
  mm_fitness fitness;
  (void)read_fitness(search->fitness, &fitness); // as it was checked when it was set
  return fitness;
}

// ---------------------------------------------------------------------------------------------
// From text

static mm_status set_number(const mm_setting *s, const char *text, double *out) {
  double value;
  char least[MM_JSON_NUMBER_SIZE], most[MM_JSON_NUMBER_SIZE];
  bool read = mm_json_parse_number(text, &value) && isfinite(value);
  if (!read || (s->whole && value != floor(value)))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': '%s' is not %s", s->key, text,
                   s->whole ? "a whole number" : "a number");
  if (!(value >= s->least && value <= s->most))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': %s must be at least %s and at most %s", s->key,
                   text, mm_json_format_number(s->least, least),
                   mm_json_format_number(s->most, most));
  *out = value;
  return MM_OK;
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

static mm_status set_word(const mm_setting *s, const char *text, void *out) {
  const bool is_switch = s->type == MM_SETTING_SWITCH;
  char word[MM_SETTING_TEXT_SIZE], second[MM_SETTING_TEXT_SIZE];
  for (int i = 0; word_at(s->words, i, word); i++) {
    if (strcmp(word, text) != 0) continue;
    if (is_switch)
      *(bool *)out = (i == 0) == s->first;
    else
      *(int *)out = i;
    return MM_OK;
  }
  if (is_switch)
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': unknown value '%s' (one of %s, %s)", s->key, text,
                   word_at(s->words, 0, word), word_at(s->words, 1, second));
  return MM_FAIL(MM_ERR_INPUT, "setting '%s': unknown value '%s' (one of %s)", s->key, text,
                 s->words);
}

// "A,B,..", or "none".
static mm_status set_factors(const mm_setting *s, const char *text, double *out) {
  double factor[MM_FACTORS_MAX] = { 0 };
  const char *at = strcmp(text, "none") == 0 ? NULL : text;
  size_t n = 0;
  bool valid = true;
  while (at && valid) {
    char number[MM_JSON_NUMBER_SIZE];
    const size_t length = strcspn(at, ",");
    valid = n < MM_FACTORS_MAX && length < sizeof number;
    if (!valid) break;
    snprintf(number, sizeof number, "%.*s", (int)length, at);
    valid =
        mm_json_parse_number(number, &factor[n]) && factor[n] >= s->least && factor[n] <= s->most;
    n++;
    at = at[length] == ',' ? at + length + 1 : NULL;
  }
  if (!valid || n == 1) {
    char least[MM_JSON_NUMBER_SIZE], most[MM_JSON_NUMBER_SIZE];
    return MM_FAIL(MM_ERR_INPUT,
                   "setting '%s': expected none, or 2 to %d factors between %s and %s, e.g. 1,4, "
                   "found '%.80s'",
                   s->key, MM_FACTORS_MAX, mm_json_format_number(s->least, least),
                   mm_json_format_number(s->most, most), text);
  }
  memcpy(out, factor, sizeof factor);
  return MM_OK;
}

static bool is_schedule(const char *text) {
  mm_phase phase[MM_PHASES_MAX];
  return strcmp(text, "-") == 0 || read_schedule(text, phase) > 0;
}

// Whether there is such a map shows when the search begins.
static bool is_map_name(const char *text) {
  return text[0] != '\0';
}

static bool is_fitness(const char *text) {
  mm_fitness fitness;
  return read_fitness(text, &fitness);
}

static mm_status set_text(const mm_setting *s, const char *text, char *out) {
  static const struct {
    const char *key;
    size_t size;
    bool (*is_value)(const char *text);
    const char *expected;
  } rules[] = {
    { "init", MM_INIT_SIZE, is_map_name, "the name or the file of a map, not too long" },
    { "schedule", MM_SCHEDULE_SIZE, is_schedule,
      "up to 16 phases GENERATIONSxSTEPS, e.g. 500x1000000,100x10000000" },
    { "fitness", MM_FITNESS_SIZE, is_fitness,
      "mean, median or cvar:A with A above 0 and at most 1, e.g. cvar:0.25" },
  };
  static_assert(MM_PHASES_MAX == 16, "as the text says");
  size_t i = 0;
  while (strcmp(rules[i].key, s->key) != 0)
    i++;
  if (strlen(text) >= rules[i].size || !rules[i].is_value(text))
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': expected %s, found '%.80s'", s->key,
                   rules[i].expected, text);
  memcpy(out, text, strlen(text) + 1);
  return MM_OK;
}

// "pmd, ppo": the algorithms that have a key, "" if none has.
static const char *owners(const char *name, char out[64]) {
  int used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < mm_algo_count(); i++)
    if (mm_learner_setting(mm_learner_of((mm_algo)i), name) && used < 64)
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
  const void *field;
  const mm_setting *s = find_setting(settings, name, &field);
  if (!s) return unknown_key(settings->algo, name);
  if (!text[0]) return MM_FAIL(MM_ERR_INPUT, "setting '%s': expected a value, found nothing", name);
  void *at = (void *)field; // a field of settings, which may be changed
  if (s->words) return set_word(s, text, at);
  if (s->type == MM_SETTING_FACTORS) return set_factors(s, text, at);
  return s->type == MM_SETTING_NUMBER ? set_number(s, text, at) : set_text(s, text, at);
}

// ---------------------------------------------------------------------------------------------
// To text

static_assert((int)MM_SETTING_TEXT_SIZE >= (int)MM_FACTORS_MAX * (int)MM_JSON_NUMBER_SIZE,
              "room for factors");

static const char *factors_text(const double *factor, char out[MM_SETTING_TEXT_SIZE]) {
  char number[MM_JSON_NUMBER_SIZE];
  int used = 0;
  snprintf(out, MM_SETTING_TEXT_SIZE, "none");
  for (int i = 0; i < MM_FACTORS_MAX && factor[i] > 0; i++)
    used += snprintf(out + used, MM_SETTING_TEXT_SIZE - (size_t)used, "%s%s", i > 0 ? "," : "",
                     mm_json_format_number(factor[i], number));
  return out;
}

static const char *text_of(const mm_setting *s, const void *at, char out[MM_SETTING_TEXT_SIZE]) {
  if (s->type == MM_SETTING_NUMBER) return mm_json_format_number(*(const double *)at, out);
  if (s->type == MM_SETTING_TEXT) return at;
  if (s->type == MM_SETTING_FACTORS) return factors_text(at, out);
  return word_at(s->words,
                 s->type == MM_SETTING_SWITCH ? *(const bool *)at != s->first : *(const int *)at,
                 out);
}

const char *mm_settings_text(const mm_settings *settings, const char *name,
                             char out[MM_SETTING_TEXT_SIZE]) {
  const mm_setting *s = mm_learner_setting(mm_settings_learner(settings), name);
  out[0] = '\0';
  return s ? text_of(s, (const char *)&settings->net + s->offset, out) : out;
}

const char *mm_settings_defaults(const char *name, char out[MM_SETTING_DEFAULTS_SIZE]) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < mm_algo_count() && used < MM_SETTING_DEFAULTS_SIZE; i++) {
    mm_settings settings = mm_settings_default((mm_algo)i);
    char text[MM_SETTING_TEXT_SIZE];
    if (mm_settings_text(&settings, name, text)[0] == '\0') continue;
    used += (size_t)snprintf(out + used, MM_SETTING_DEFAULTS_SIZE - used, "%s%s %s",
                             used > 0 ? ", " : "", mm_algo_name((mm_algo)i), text);
  }
  return out;
}

static cJSON *json_of(const mm_setting *s, size_t n, const void *from) {
  cJSON *object = cJSON_CreateObject();
  char text[MM_SETTING_TEXT_SIZE];
  for (size_t i = 0; i < n; i++, s++) {
    const void *at = (const char *)from + s->offset;
    if (s->type == MM_SETTING_NUMBER)
      cJSON_AddItemToObject(object, s->key, mm_json_number(*(const double *)at));
    else
      cJSON_AddStringToObject(object, s->key, text_of(s, at, text));
  }
  return object;
}

cJSON *mm_settings_json(const mm_settings *settings) {
  const mm_learner *learner = mm_settings_learner(settings);
  return json_of(learner->setting, learner->n_setting, &settings->net);
}

cJSON *mm_search_json(const mm_settings *settings) {
  return json_of(search_settings, MM_SEARCH_KEYS, &settings->search);
}

static mm_status format_json(cJSON *object, char **out) {
  *out = mm_json_print(object, false);
  cJSON_Delete(object);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the text of settings");
}

mm_status mm_settings_format(const mm_settings *settings, char **own, char **search) {
  if (own) *own = NULL;
  if (search) *search = NULL;
  mm_status status = own ? format_json(mm_settings_json(settings), own) : MM_OK;
  if (status == MM_OK && search) status = format_json(mm_search_json(settings), search);
  if (status != MM_OK && own) {
    mm_free(*own);
    *own = NULL;
  }
  return status;
}

void mm_settings_text_free(char *text) {
  mm_free(text);
}

// ---------------------------------------------------------------------------------------------
// From JSON

// Keys that the first runs did not have: their defaults are what was done then. The same goes for
// every setting of a learner that is new since.
static bool is_young(const char *name) {
  static const char *const young[] = {
    "controls", "normalise_observation", "scale_reward", "fresh_reset", "flavour",
    "physics",  "gymnasium_walls",       "init",         "search",      "search_eta",
    "stages",   "tune_budget",           "fitness",      "restarts",    "racing"
  };
  for (size_t i = 0; i < sizeof young / sizeof *young; i++)
    if (strcmp(young[i], name) == 0) return true;
  return !is_usual(name) && find_any(name, mm_algo_count());
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
