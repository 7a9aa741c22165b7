// SPDX-License-Identifier: Apache-2.0
// The card of a learned map: where and how it was learned and what it scored, without anything that
// differs between two runs of the same plan.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/learn/learn_internal.h"

static void add_validation(cJSON *root, const mm_learn_plan *plan, const mm_study_score *score,
                           const mm_study_score *control) {
  if (!score->known) {
    cJSON_AddNullToObject(root, "validation");
    return;
  }
  cJSON *object = cJSON_AddObjectToObject(root, "validation");
  double tasks = plan->settings.search.validation_tasks * (double)plan->n_env;
  cJSON_AddItemToObject(object, "tasks", mm_json_number(tasks));
  mm_study_add_estimate(object, "learned", score->value);
  for (int c = 0; c < MM_LEARN_CONTROLS; c++)
    if (control[c].known) mm_study_add_estimate(object, mm_control_names[c], control[c].value);
  mm_study_add_estimate(object, "learned_minus_negentropy", score->over_negentropy);
  mm_study_add_estimate(object, "learned_minus_l2", score->over_l2);
}

// Where a task or the start of the search lay is nobody's business.
static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

mm_status mm_learn_card(const mm_learn *l, int64_t generation, uint64_t evaluations,
                        const mm_study_score *score, char **out) {
  const mm_learn_plan *plan = &l->plan;
  char text[64];
  cJSON *root = cJSON_CreateObject();
  cJSON *envs = cJSON_AddArrayToObject(root, "learned_on");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(file_name(plan->env[i])));
  mm_settings settings = plan->settings;
  snprintf(settings.search.init, sizeof settings.search.init, "%s",
           file_name(plan->settings.search.init));
  cJSON_AddItemToObject(root, "generation", mm_json_number((double)generation));
  cJSON_AddItemToObject(root, "evaluations", mm_json_number((double)evaluations));
  cJSON_AddItemToObject(root, "env_steps", mm_json_number((double)l->view.env_steps));
  snprintf(text, sizeof text, "%" PRIu64, plan->seed);
  cJSON_AddStringToObject(root, "seed", text);
  add_validation(root, plan, score, l->view.control);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON_AddItemToObject(root, "search", mm_search_json(&settings));
  snprintf(text, sizeof text, "mirrormap %s", mm_version());
  cJSON_AddStringToObject(root, "program", text);
  *out = mm_json_print(root, false);
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for a map's card");
}

// ---------------------------------------------------------------------------------------------
// What a card tells of its search

static double number_in(const cJSON *object, const char *key) {
  const cJSON *item = object ? mm_json_find(object, key) : NULL;
  return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static mm_status read_search(const cJSON *card, mm_settings *out) {
  static const char *const keys[] = { "population", "generations", "seeds_per_member",
                                      "schedule",   "es",          "racing" };
  const cJSON *search = mm_json_find(card, "search");
  char number[MM_JSON_NUMBER_SIZE];
  for (size_t i = 0; search && i < sizeof keys / sizeof *keys; i++) {
    const cJSON *value = mm_json_find(search, keys[i]);
    const char *text = cJSON_GetStringValue(value);
    if (cJSON_IsNumber(value)) text = mm_json_format_number(value->valuedouble, number);
    if (text) MM_TRY(mm_settings_set(out, keys[i], text));
  }
  return MM_OK;
}

// Training runs of a generation: what was counted, or what the search asked for. A pair has one
// environment, all others have all.
static double runs_of(const cJSON *card, const mm_search *search) {
  const double generation = number_in(card, "generation");
  if (generation > 0) return number_in(card, "evaluations") / generation;
  const int envs = cJSON_GetArraySize(mm_json_find(card, "learned_on"));
  const double met = envs > 1 && !mm_es_is_paired((mm_es_kind)search->es) ? envs : 1;
  return search->population * search->seeds_per_member * met;
}

// What the search has done; where it is not counted, all generations that were planned.
static double steps_of(const cJSON *card) {
  mm_settings settings = mm_settings_default(MM_ALGO_PMD);
  mm_phase phase[MM_PHASES_MAX];
  double steps = number_in(card, "env_steps");
  if (steps > 0) return steps;
  if (read_search(card, &settings) != MM_OK) return 0;
  const mm_search *search = &settings.search;
  const size_t n = mm_search_phases(search, phase);
  for (size_t p = 0; p < n; p++)
    steps +=
        (double)phase[p].generations *
        (phase[p].steps > 0 ? phase[p].steps : number_in(mm_json_find(card, "settings"), "steps"));
  return steps * runs_of(card, search) * (search->racing ? mm_learn_race_share() : 1);
}

double mm_study_card_steps(const char *card) {
  cJSON *root = NULL;
  if (!card || mm_json_parse(card, strlen(card), "a card", &root) != MM_OK) return 0;
  const double steps = cJSON_IsObject(root) ? steps_of(root) : 0;
  cJSON_Delete(root);
  return isfinite(steps) && steps > 0 ? steps : 0;
}
