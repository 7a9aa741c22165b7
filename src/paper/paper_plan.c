// SPDX-License-Identifier: Apache-2.0
// The plan of a reproduction, and the sizes of its scales.

#define _XOPEN_SOURCE 700

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/host/cuda.h"
#include "base/config.h"
#include "paper/paper_internal.h"
#include "study/jobs/job_store.h"

// ---------------------------------------------------------------------------------------------
// Names

static const char *const scale_text[MM_SCALES] = { "smoke", "laptop", "paper" };

const char *mm_scale_name(mm_scale scale) {
  return scale_text[scale];
}

bool mm_scale_find(const char *name, mm_scale *out) {
  for (int i = 0; i < MM_SCALES; i++) {
    if (strcmp(name, scale_text[i]) != 0) continue;
    *out = (mm_scale)i;
    return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------
// Sizes

// What differs from the presets, as key=value.
typedef struct sizes {
  size_t seeds, tune_seeds;
  const char *set;
} sizes;

// The laptop's come from the speed of two cores: 10^7 steps/s of Grid-World, 260,000 of AMPO on
// classic control, 200,000 on MinAtar, 600,000 of Gaussian policies with the smaller
// networks here (its preset is mujoco-laptop). Its Grid-World search is the quick preset's, with
// longer steps of the mean to make up for their number; on MinAtar fewer environments side by side
// give 64 iterations instead of 8 from the same steps.
static const sizes scales[MM_SUITES][MM_SCALES] = {
  { { 3, 1, "steps=16384 population=8 generations=2 validation_every=2 validation_tasks=4" },
    { 128, 8, "population=64 generations=64 es_lr=0.1 validation_every=16 validation_tasks=64" },
    { 256, 8, "validation_tasks=256" } },
  { { 3, 1, "steps=1536 population=4 generations=2 validation_every=2 validation_tasks=2" },
    { 32, 4, "steps=51200 population=32 generations=20 validation_every=5 validation_tasks=16" },
    { 100, 8, "" } },
  { { 2, 1,
      "steps=1024 envs=4 unroll=64 schedule=- population=4 generations=1 validation_every=1 "
      "validation_tasks=2" },
    { 4, 2,
      "steps=262144 envs=32 schedule=- population=12 generations=8 validation_every=4 "
      "validation_tasks=4" },
    { 100, 8, "" } },
  // an episode of HalfCheetah has 1000 steps: each environment makes more than that
  { { 2, 1,
      "steps=2048 envs=2 unroll=64 minibatches=4 epochs=1 hidden=16 population=4 generations=1 "
      "validation_every=1 validation_tasks=2" },
    { 8, 1,
      "steps=1024000 envs=64 unroll=32 minibatches=16 epochs=4 lr=0.001 hidden=64 population=32 "
      "generations=16 es_lr=0.1 validation_every=4 validation_tasks=8" },
    { 8, 2, "" } },
};

// Of the environments of each suite: what trains there, the preset, one of them.
static const struct {
  mm_algo algo;
  const char *preset, *example;
} suites[MM_SUITES] = {
  [MM_SUITE_GRIDWORLD] = { MM_ALGO_PMD, "gridworld", "GridWorld-all" },
  [MM_SUITE_CONTROL] = { MM_ALGO_AMPO, "bcs", "CartPole-v1" },
  [MM_SUITE_MINATAR] = { MM_ALGO_AMPO, "minatar", "Asterix-MinAtar" },
  [MM_SUITE_MUJOCO] = { MM_ALGO_GAUSSIAN, "mujoco", "Hopper" },
};

// The next key and value of such a text; false at its end.
static bool next_set(const char **text, mm_paper_set *out) {
  *text += strspn(*text, " ");
  if (**text == '\0') return false;
  size_t key = strcspn(*text, "="), value = strcspn(*text + key + 1, " ");
  snprintf(out->key, sizeof out->key, "%.*s", (int)key, *text);
  snprintf(out->value, sizeof out->value, "%.*s", (int)value, *text + key + 1);
  *text += key + 1 + value;
  return true;
}

static bool ends_in(const char *text, const char *tail) {
  size_t n = strlen(text), m = strlen(tail);
  return n >= m && strcmp(text + n - m, tail) == 0;
}

mm_suite mm_paper_suite(const char *env) {
  static const char *const bodies[] = { "Hopper", "HalfCheetah", "Ant" };
  if (strncmp(env, "GridWorld", 9) == 0) return MM_SUITE_GRIDWORLD;
  for (int i = 0; i < 3; i++)
    if (strcmp(env, bodies[i]) == 0) return MM_SUITE_MUJOCO;
  return ends_in(env, "-MinAtar") ? MM_SUITE_MINATAR : MM_SUITE_CONTROL;
}

size_t mm_paper_seeds(const mm_paper_plan *plan, mm_suite suite) {
  return plan->seeds > 0 ? plan->seeds : scales[suite][plan->scale].seeds;
}

size_t mm_paper_tune_seeds(const mm_paper_plan *plan, mm_suite suite) {
  return scales[suite][plan->scale].tune_seeds;
}

static const char *set_value(const mm_paper_plan *plan, const char *key) {
  for (size_t i = 0; i < plan->n_set; i++)
    if (strcmp(plan->set[i].key, key) == 0) return plan->set[i].value;
  return NULL;
}

size_t mm_paper_targets(const mm_paper_plan *plan, const char *out[2]) {
  const char *one = set_value(plan, "target");
  out[0] = one ? one : "paper";
  out[1] = "code";
  return one ? 1 : 2;
}

static bool has_key(mm_algo algo, const char *key) {
  const char *found;
  for (size_t i = 0; (found = mm_settings_key(algo, i)); i++)
    if (strcmp(found, key) == 0) return true;
  return false;
}

// A schedule fixes the number of generations; one that steps were asked beside is none.
static mm_status settle_schedule(const mm_paper_plan *plan, mm_settings *s) {
  mm_phase phase[MM_PHASES_MAX];
  bool asked = set_value(plan, "steps") || set_value(plan, "generations");
  if (asked && !set_value(plan, "schedule")) MM_TRY(mm_settings_set(s, "schedule", "-"));
  if (strcmp(s->search.schedule, "-") == 0) return MM_OK;
  s->search.generations = 0;
  for (size_t i = mm_search_phases(&s->search, phase); i-- > 0;)
    s->search.generations += (double)phase[i].generations;
  return MM_OK;
}

mm_status mm_paper_settings(const mm_paper_plan *plan, const char *env, const char *target,
                            mm_settings *out) {
  mm_suite suite = mm_paper_suite(env);
  const sizes *sized = &scales[suite][plan->scale];
  *out = mm_settings_default(suites[suite].algo);
  mm_settings_fit(out, suites[suite].preset);
  mm_paper_set set;
  for (const char *text = sized->set; next_set(&text, &set);)
    MM_TRY(mm_settings_set(out, set.key, set.value));
  // of `all`, each artefact takes what it has
  for (size_t i = 0; i < plan->n_set; i++)
    if (has_key(out->algo, plan->set[i].key))
      MM_TRY(mm_settings_set(out, plan->set[i].key, plan->set[i].value));
  if (target[0]) MM_TRY(mm_settings_set(out, "target", target));
  return settle_schedule(plan, out);
}

// Whether anything is smaller than in the paper, by whatever it was set.
static bool is_reduced(const mm_paper_plan *plan, mm_suite suite) {
  const mm_paper_plan paper = { .artefact = plan->artefact, .scale = MM_SCALE_PAPER };
  mm_settings ours, theirs;
  if (plan->scale != MM_SCALE_PAPER ||
      mm_paper_seeds(plan, suite) < mm_paper_seeds(&paper, suite) ||
      mm_paper_settings(plan, suites[suite].example, "", &ours) != MM_OK ||
      mm_paper_settings(&paper, suites[suite].example, "", &theirs) != MM_OK)
    return true;
  return mm_settings_steps(&ours) < mm_settings_steps(&theirs) ||
         ours.search.population < theirs.search.population ||
         ours.search.generations < theirs.search.generations;
}

void mm_paper_label(const mm_paper_plan *plan, mm_suite suite, char out[MM_ARTEFACT_TEXT]) {
  const sizes *sized = &scales[suite][plan->scale], *whole = &scales[suite][MM_SCALE_PAPER];
  size_t seeds = mm_paper_seeds(plan, suite), size = MM_ARTEFACT_TEXT;
  bool reduced = is_reduced(plan, suite);
  bool changed = plan->n_set > (set_value(plan, "target") ? 1u : 0u);
  int used = snprintf(out, size, "%s", reduced ? "reduced: " : changed ? "changed: " : "");
  used += snprintf(out + used, size - (size_t)used, "%s scale, %zu runs",
                   mm_scale_name(plan->scale), seeds);
  if (seeds != whole->seeds)
    used += snprintf(out + used, size - (size_t)used, " instead of the paper's %zu", whole->seeds);
  mm_paper_set set;
  for (const char *text = reduced ? sized->set : ""; next_set(&text, &set);)
    if (!set_value(plan, set.key) && (size_t)used < size)
      used += snprintf(out + used, size - (size_t)used, ", %s=%s", set.key, set.value);
  for (size_t i = 0; i < plan->n_set && (size_t)used < size; i++)
    used +=
        snprintf(out + used, size - (size_t)used, ", %s=%s", plan->set[i].key, plan->set[i].value);
}

// The first value of `a` that is another one in `b`, as "key=value"; both are deleted.
static bool find_other(cJSON *a, cJSON *b, char out[MM_PAPER_DIFFERENCE]) {
  const cJSON *item;
  bool other = !a || !b;
  cJSON_ArrayForEach(item, a) {
    const cJSON *same = cJSON_GetObjectItemCaseSensitive(b, item->string);
    char *one = mm_json_print(item, false), *two = same ? mm_json_print(same, false) : NULL;
    if (!other && !(one && two && strcmp(one, two) == 0)) {
      snprintf(out, MM_PAPER_DIFFERENCE, "%.40s=%.40s", item->string, one ? one : "?");
      other = true;
    }
    mm_free(one);
    mm_free(two);
  }
  cJSON_Delete(a);
  cJSON_Delete(b);
  return other;
}

bool mm_paper_same_settings(const mm_settings *a, const mm_settings *b, bool search,
                            char difference[MM_PAPER_DIFFERENCE]) {
  char first[MM_PAPER_DIFFERENCE] = "algorithm";
  bool same = a->algo == b->algo && !find_other(mm_settings_json(a), mm_settings_json(b), first) &&
              !(search && find_other(mm_search_json(a), mm_search_json(b), first));
  if (difference) snprintf(difference, MM_PAPER_DIFFERENCE, "%s", same ? "" : first);
  return same;
}

// ---------------------------------------------------------------------------------------------
// Checking

// Whether an artefact trains in a suite.
static bool trains_in(mm_artefact_id artefact, int suite) {
  return (mm_artefact_specs[artefact].suites >> suite & 1u) != 0;
}

// Whether any of its trainings has the setting.
static bool takes_key(mm_artefact_id artefact, const char *key) {
  for (int suite = 0; suite < MM_SUITES; suite++)
    if (trains_in(artefact, suite) && has_key(suites[suite].algo, key)) return true;
  return false;
}

// A setting of other artefacts than this one: the error names them.
static mm_status foreign_set(mm_artefact_id artefact, const char *key) {
  char owners[128] = "";
  size_t used = 0;
  for (int i = 0; i < MM_ARTEFACT_ALL && used < sizeof owners; i++)
    if (takes_key((mm_artefact_id)i, key))
      used += (size_t)snprintf(owners + used, sizeof owners - used, "%s%s", used > 0 ? ", " : "",
                               mm_artefact_name((mm_artefact_id)i));
  return MM_FAIL(MM_ERR_INPUT, "setting '%s' is for %s, not for '%s'", key, owners,
                 mm_artefact_name(artefact));
}

// Every algorithm that has the setting must take the value; one that nobody has is the error of the
// artefact's first.
static mm_status check_set(const mm_paper_plan *plan, const mm_paper_set *set) {
  bool known = takes_key(plan->artefact, set->key), any = false;
  if (!known && takes_key(MM_ARTEFACT_ALL, set->key) && plan->artefact != MM_ARTEFACT_PHI)
    return foreign_set(plan->artefact, set->key);
  for (int suite = 0; suite < MM_SUITES; suite++) {
    mm_algo algo = suites[suite].algo;
    if (!trains_in(plan->artefact, suite)) continue;
    any = true;
    mm_settings settings = mm_settings_default(algo);
    if (!known || has_key(algo, set->key)) MM_TRY(mm_settings_set(&settings, set->key, set->value));
  }
  if (!any)
    return MM_FAIL(MM_ERR_INPUT, "setting '%s': '%s' trains nothing", set->key,
                   mm_artefact_name(plan->artefact));
  if (strcmp(set->key, "curve") == 0)
    return MM_FAIL(MM_ERR_INPUT, "setting 'curve': a figure needs all values and chooses itself");
  return MM_OK;
}

void mm_paper_plan_part(const mm_paper_plan *all, mm_artefact_id artefact, mm_paper_plan *out) {
  *out = (mm_paper_plan){ .artefact = artefact,
                          .scale = all->scale,
                          .seed = all->seed,
                          .seeds = artefact == MM_ARTEFACT_PHI ? 0 : all->seeds };
  for (size_t i = 0; i < all->n_set; i++)
    if (takes_key(artefact, all->set[i].key)) out->set[out->n_set++] = all->set[i];
}

static mm_status check_sizes(const mm_paper_plan *plan) {
  for (int suite = 0; suite < MM_SUITES; suite++) {
    mm_settings s;
    if (!trains_in(plan->artefact, suite)) continue;
    MM_TRY(mm_paper_settings(plan, suites[suite].example, "", &s));
    double envs = mm_settings_value(&s, "envs", 1), unroll = mm_settings_value(&s, "unroll", 1);
    if (!(mm_settings_iterations(&s) >= 1))
      return MM_FAIL(MM_ERR_INPUT,
                     "steps: %.0f are less than one iteration on %s, which has %.0f (envs %.0f "
                     "times unroll %.0f)",
                     mm_settings_value(&s, "steps", 0), suites[suite].example, envs * unroll, envs,
                     unroll);
  }
  return MM_OK;
}

mm_status mm_paper_plan_check(const mm_paper_plan *plan) {
  if (plan->seeds > MM_PAPER_SEEDS_MAX || plan->seed > UINT64_MAX - MM_PAPER_SEEDS_MAX)
    return MM_FAIL(MM_ERR_INPUT, "seeds: expected at most %d, and room for them behind the first",
                   MM_PAPER_SEEDS_MAX);
  if (plan->seeds == 1)
    return MM_FAIL(MM_ERR_INPUT, "seeds: expected at least 2, one has no standard error");
  for (size_t i = 0; i < plan->n_set; i++)
    MM_TRY(check_set(plan, &plan->set[i]));
  if (plan->n_from > 0 && plan->artefact != MM_ARTEFACT_TRANSFER)
    return MM_FAIL(MM_ERR_INPUT, "maps from other reproductions are for 'transfer', not for '%s'",
                   mm_artefact_name(plan->artefact));
  return check_sizes(plan);
}

// One of the plan's trainings in each suite; environments of a suite have the same settings.
typedef mm_status ask_job(const mm_job *job, const char *env);

static mm_status ask_suite(const mm_paper_plan *plan, int suite, ask_job *ask) {
  mm_settings s;
  mm_env *env;
  mm_map *map = NULL;
  MM_TRY(mm_paper_settings(plan, suites[suite].example, "", &s));
  MM_TRY(mm_env_open(suites[suite].example, &env));
  mm_status status = mm_map_open("negentropy", &map);
  mm_job job = { .env = env, .map = map, .seed = plan->seed };
  mm_settings_bind(&s, &job);
  if (status == MM_OK) status = ask(&job, suites[suite].example);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return status;
}

static mm_status ask_suites(const mm_paper_plan *plan, ask_job *ask) {
  for (int suite = 0; suite < MM_SUITES; suite++)
    if (trains_in(plan->artefact, suite)) MM_TRY(ask_suite(plan, suite, ask));
  return MM_OK;
}

static mm_status rehearse(const mm_job *job, const char *env) {
  (void)env;
  return mm_job_rehearse(job, false);
}

mm_status mm_paper_rehearse(const mm_paper_plan *plan) {
  return ask_suites(plan, rehearse);
}

static mm_status ask_devices(const mm_job *job, const char *env) {
  return mm_cuda_takes(job) ? MM_OK : MM_FAIL(MM_ERR_UNSUPPORTED, "%s: %s", env, mm_last_error());
}

mm_status mm_paper_plan_devices(const mm_paper_plan *plan) {
  return ask_suites(plan, ask_devices);
}

// ---------------------------------------------------------------------------------------------
// From a config

void mm_paper_config_init(mm_paper_config *out, size_t size) {
  const mm_paper_config ours = { .scale = scale_text[MM_SCALE_LAPTOP] };
  mm_config_give(&ours, sizeof ours, out, size);
}

const char *mm_paper_scale_name(size_t i) {
  return i < MM_SCALES ? scale_text[i] : NULL;
}

static mm_status take_set(const char *text, mm_paper_plan *plan) {
  mm_paper_set *set = &plan->set[plan->n_set];
  const size_t n = strcspn(text, "=");
  if (plan->n_set == MM_PAPER_SETS)
    return MM_FAIL(MM_ERR_INPUT, "setting '%.80s': expected at most %d of them", text,
                   MM_PAPER_SETS);
  if (text[n] != '=' || n >= sizeof set->key || strlen(text + n + 1) >= sizeof set->value)
    return MM_FAIL(MM_ERR_INPUT, "setting '%.80s': expected a short key=value", text);
  snprintf(set->key, sizeof set->key, "%.*s", (int)n, text);
  snprintf(set->value, sizeof set->value, "%s", text + n + 1);
  plan->n_set++;
  return MM_OK;
}

// By its whole path: the reproduction may be gone on with from another directory.
static mm_status take_folder(const char *name, mm_paper_plan *plan) {
  if (plan->n_from == MM_PAPER_FROM)
    return MM_FAIL(MM_ERR_INPUT, "maps from '%.80s': expected at most %d folders", name,
                   MM_PAPER_FROM);
  char *real = access(name, R_OK | X_OK) == 0 ? realpath(name, NULL) : NULL;
  if (!real) return MM_FAIL(MM_ERR_INPUT, "maps from: cannot read folder '%s'", name);
  mm_status status = mm_plan_copy_name(real, "maps from", plan->from[plan->n_from++]);
  free(real);
  return status;
}

mm_status mm_paper_plan_take(const mm_paper_config *config, mm_paper_plan *out) {
  mm_paper_config c = mm_paper_config_default();
  memset(out, 0, sizeof *out);
  MM_TRY(mm_config_take("mm_paper_config", config, &c, sizeof c));
  if (!c.artefact || !mm_artefact_find(c.artefact, &out->artefact))
    return MM_FAIL(MM_ERR_INPUT, "unknown artefact '%.40s'", c.artefact ? c.artefact : "");
  if (!c.scale || !mm_scale_find(c.scale, &out->scale))
    return MM_FAIL(MM_ERR_INPUT, "unknown scale '%.40s'", c.scale ? c.scale : "");
  if (c.seeds > MM_PAPER_SEEDS_MAX)
    return MM_FAIL(MM_ERR_INPUT, "%zu seeds: expected at most %d", c.seeds, MM_PAPER_SEEDS_MAX);
  out->seed = c.seed;
  out->seeds = c.seeds;
  for (size_t i = 0; i < c.n_set; i++)
    MM_TRY(take_set(c.set[i], out));
  for (size_t i = 0; i < c.n_from; i++)
    MM_TRY(take_folder(c.from[i], out));
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// {"command": "reproduce", "artefact", "scale", "seed", "seeds", "set": {..}, "from": [..]}

cJSON *mm_paper_plan_json(const mm_paper_plan *plan) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "reproduce");
  cJSON_AddStringToObject(root, "artefact", mm_artefact_name(plan->artefact));
  cJSON_AddStringToObject(root, "scale", mm_scale_name(plan->scale));
  mm_plan_add_seed(root, plan->seed);
  cJSON_AddItemToObject(root, "seeds", mm_json_number((double)plan->seeds));
  cJSON *set = cJSON_AddObjectToObject(root, "set");
  for (size_t i = 0; i < plan->n_set; i++)
    cJSON_AddStringToObject(set, plan->set[i].key, plan->set[i].value);
  cJSON *from = cJSON_AddArrayToObject(root, "from");
  for (size_t i = 0; i < plan->n_from; i++)
    cJSON_AddItemToArray(from, cJSON_CreateString(plan->from[i]));
  return root;
}

static mm_status read_sets(const cJSON *root, const char *source, mm_paper_plan *plan) {
  const cJSON *object, *item;
  MM_TRY(mm_json_get_object(root, source, "set", &object));
  cJSON_ArrayForEach(item, object) {
    mm_paper_set *set = &plan->set[plan->n_set];
    if (!cJSON_IsString(item) || plan->n_set == MM_PAPER_SETS ||
        strlen(item->string) >= sizeof set->key || strlen(item->valuestring) >= sizeof set->value)
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'set': expected at most %d short texts", source,
                     MM_PAPER_SETS);
    snprintf(set->key, sizeof set->key, "%s", item->string);
    snprintf(set->value, sizeof set->value, "%s", item->valuestring);
    plan->n_set++;
  }
  return MM_OK;
}

static mm_status read_from(const cJSON *root, const char *source, mm_paper_plan *plan) {
  const cJSON *array, *item;
  size_t n;
  MM_TRY(mm_json_get_array(root, source, "from", 0, MM_PAPER_FROM, &array, &n));
  cJSON_ArrayForEach(item, array) {
    if (!cJSON_IsString(item))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'from': expected texts", source);
    MM_TRY(mm_plan_copy_name(item->valuestring, source, plan->from[plan->n_from++]));
  }
  return MM_OK;
}

mm_status mm_paper_plan_read(const cJSON *root, const char *source, mm_paper_plan *plan) {
  const char *artefact, *scale;
  int64_t seeds;
  memset(plan, 0, sizeof *plan);
  MM_TRY(mm_plan_read_command(root, source, "reproduce"));
  MM_TRY(
      MM_JSON_KEYS(root, source, "command", "artefact", "scale", "seed", "seeds", "set", "from"));
  MM_TRY(mm_json_get_string(root, source, "artefact", &artefact));
  MM_TRY(mm_json_get_string(root, source, "scale", &scale));
  if (!mm_artefact_find(artefact, &plan->artefact))
    return MM_FAIL(MM_ERR_INPUT, "%s: unknown artefact '%.40s'", source, artefact);
  if (!mm_scale_find(scale, &plan->scale))
    return MM_FAIL(MM_ERR_INPUT, "%s: unknown scale '%.40s'", source, scale);
  MM_TRY(mm_json_get_integer(root, source, "seeds", 0, MM_PAPER_SEEDS_MAX, &seeds));
  plan->seeds = (size_t)seeds;
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  MM_TRY(read_sets(root, source, plan));
  return read_from(root, source, plan);
}
