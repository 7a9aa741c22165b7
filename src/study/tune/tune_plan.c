// SPDX-License-Identifier: Apache-2.0
// The plan of a tuning as JSON: {"command": "tune", "env": [..], "files": [..], "algo", "map",
// "map_file" (of several maps instead "maps": [{"map", "map_file"}], and "map" has all names),
// "seed", "seeds_per_trial", "validate", "method", "trials", "population", "prune", "parameters":
// [..], "settings": [..]}, with the method halving "sampled", and "rounds": false where all seeds
// of a trial are asked for at once. The map is in it as the text of its file, tasks too.

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "study/tune/tune_internal.h"

// ---------------------------------------------------------------------------------------------
// Writing

static cJSON *parameter_json(const mm_tune_parameter *p) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", p->name);
  cJSON_AddStringToObject(object, "scale", mm_tune_scale_name(p->scale));
  if (p->scale == MM_TUNE_CHOICE) {
    cJSON *list = cJSON_AddArrayToObject(object, "choice");
    for (size_t i = 0; i < p->n_choice; i++)
      cJSON_AddItemToArray(list, cJSON_CreateString(p->choice[i]));
    return object;
  }
  cJSON_AddItemToObject(object, "low", mm_json_number(p->low));
  cJSON_AddItemToObject(object, "high", mm_json_number(p->high));
  cJSON_AddItemToObject(object, "points", mm_json_number((double)p->points));
  return object;
}

size_t mm_tune_cells(const mm_tune_plan *plan) {
  return plan->n_env * plan->n_map;
}

const char *mm_tune_cell_name(const mm_tune_plan *plan, size_t cell, char out[MM_TUNE_CELL_NAME]) {
  const bool several = plan->n_map > 1;
  snprintf(out, MM_TUNE_CELL_NAME, "%s%s%s", plan->env[cell / plan->n_map], several ? " " : "",
           several ? plan->map[cell % plan->n_map] : "");
  return out;
}

const char *mm_tune_map_names(const mm_tune_plan *plan, char out[MM_TUNE_MAP_NAMES]) {
  size_t used = 0;
  for (size_t i = 0; i < plan->n_map; i++)
    used += (size_t)snprintf(out + used, MM_TUNE_MAP_NAMES - used, "%s%s", i > 0 ? "," : "",
                             plan->map[i]);
  return out;
}

static mm_status add_maps(cJSON *root, const mm_tune_plan *plan, const mm_map *const *map) {
  char names[MM_TUNE_MAP_NAMES];
  cJSON_AddStringToObject(root, "map", mm_tune_map_names(plan, names));
  if (plan->n_map == 1) return mm_plan_add_map(root, map[0]);
  cJSON *list = cJSON_AddArrayToObject(root, "maps");
  for (size_t i = 0; i < plan->n_map; i++) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(list, item);
    cJSON_AddStringToObject(item, "map", plan->map[i]);
    MM_TRY(mm_plan_add_map(item, map[i]));
  }
  return MM_OK;
}

mm_status mm_tune_plan_json(const mm_tune_plan *plan, const mm_map *const *map,
                            const mm_plan_envs *envs, cJSON **out) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "tune");
  mm_plan_add_envs(root, plan->env, envs);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings[0].algo));
  mm_status status = add_maps(root, plan, map);
  mm_plan_add_seed(root, plan->seed);
  mm_plan_add_count(root, "seeds_per_trial", plan->seeds);
  mm_plan_add_count(root, "validate", plan->validate);
  cJSON_AddStringToObject(root, "method", mm_tune_method_name(plan->space.method));
  if (plan->space.method == MM_TUNE_HALVING)
    cJSON_AddBoolToObject(root, "sampled", plan->space.sampled);
  mm_plan_add_count(root, "trials", plan->trials);
  mm_plan_add_count(root, "population", plan->population);
  cJSON_AddStringToObject(root, "prune", plan->prune ? "on" : "off");
  if (!plan->rounds) cJSON_AddBoolToObject(root, "rounds", false);
  cJSON *parameters = cJSON_AddArrayToObject(root, "parameters");
  for (size_t j = 0; j < plan->space.n; j++)
    cJSON_AddItemToArray(parameters, parameter_json(&plan->space.parameter[j]));
  cJSON *settings = cJSON_AddArrayToObject(root, "settings");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(settings, mm_settings_json(&plan->settings[i]));
  return mm_plan_end(root, status, out);
}

// ---------------------------------------------------------------------------------------------
// Reading

static mm_status read_settings(const cJSON *root, const char *source, mm_algo algo,
                               mm_tune_plan *plan) {
  const cJSON *list;
  size_t n;
  MM_TRY(mm_json_get_array(root, source, "settings", plan->n_env, plan->n_env, &list, &n));
  const cJSON *item = list->child;
  for (size_t i = 0; i < n; i++, item = item->next)
    MM_TRY(mm_plan_read_settings(item, source, algo, &plan->settings[i]));
  return MM_OK;
}

static mm_status read_choices(const cJSON *item, const char *source, char *text[MM_TUNE_CHOICES],
                              size_t *n) {
  const cJSON *list;
  MM_TRY(MM_JSON_KEYS(item, source, "name", "scale", "choice"));
  MM_TRY(mm_json_get_array(item, source, "choice", 2, MM_TUNE_CHOICES, &list, n));
  const cJSON *entry = list->child;
  for (size_t i = 0; i < *n; i++, entry = entry->next) {
    if (!cJSON_IsString(entry))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'choice': expected texts, found %s", source,
                     mm_json_describe(entry));
    text[i] = entry->valuestring;
  }
  return MM_OK;
}

static mm_status read_ends(const cJSON *item, const char *source, mm_tune_range *out) {
  MM_TRY(MM_JSON_KEYS(item, source, "name", "scale", "low", "high", "points"));
  MM_TRY(mm_json_get_number(item, source, "low", &out->end[0]));
  MM_TRY(mm_json_get_number(item, source, "high", &out->end[1]));
  return mm_plan_read_count(item, source, "points", 2, MM_TUNE_POINTS, &out->points);
}

static mm_status read_parameter(const cJSON *item, const char *source, mm_algo algo,
                                mm_tune_parameter *out) {
  const char *scale;
  char *text[MM_TUNE_CHOICES];
  mm_tune_range range = { .choice = text };
  if (!cJSON_IsObject(item))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'parameters': expected objects, found %s", source,
                   mm_json_describe(item));
  MM_TRY(mm_json_get_string(item, source, "name", &range.name));
  MM_TRY(mm_json_get_string(item, source, "scale", &scale));
  if (!mm_tune_scale_find(scale, &range.scale))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'scale': unknown '%.40s'", source, scale);
  MM_TRY(range.scale == MM_TUNE_CHOICE ? read_choices(item, source, text, &range.n_choice)
                                       : read_ends(item, source, &range));
  return mm_tune_parameter_make(source, algo, &range, out);
}

static mm_status read_parameters(const cJSON *root, const char *source, mm_algo algo,
                                 mm_tune_space *space) {
  const cJSON *list;
  MM_TRY(mm_json_get_array(root, source, "parameters", 1, MM_TUNE_PARAMETERS, &list, &space->n));
  const cJSON *item = list->child;
  for (size_t j = 0; j < space->n; j++, item = item->next)
    MM_TRY(read_parameter(item, source, algo, &space->parameter[j]));
  return MM_OK;
}

static mm_status read_search(const cJSON *root, const char *source, mm_tune_plan *plan) {
  const char *method, *prune;
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  MM_TRY(mm_plan_read_count(root, source, "seeds_per_trial", 1, MM_TUNE_SEEDS_MAX, &plan->seeds));
  MM_TRY(mm_plan_read_count(root, source, "validate", 0, MM_TUNE_VALIDATE_MAX, &plan->validate));
  MM_TRY(mm_plan_read_count(root, source, "trials", 1, MM_TUNE_TRIALS_MAX, &plan->trials));
  MM_TRY(mm_plan_read_count(root, source, "population", 0, MM_TUNE_TRIALS_MAX, &plan->population));
  MM_TRY(mm_json_get_string(root, source, "method", &method));
  MM_TRY(mm_json_get_string(root, source, "prune", &prune));
  plan->prune = strcmp(prune, "off") != 0;
  plan->rounds = true;
  if (mm_json_find(root, "rounds")) MM_TRY(mm_json_get_bool(root, source, "rounds", &plan->rounds));
  if (!mm_tune_method_find(method, &plan->space.method))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'method': unknown '%.40s'", source, method);
  if (plan->space.method != MM_TUNE_HALVING) return MM_OK;
  return mm_json_get_bool(root, source, "sampled", &plan->space.sampled);
}

static mm_status read_map(const cJSON *item, const char *source, char name[MM_PLAN_NAME_SIZE],
                          mm_map **map) {
  const char *text;
  MM_TRY(mm_json_get_string(item, source, "map", &text));
  MM_TRY(mm_plan_copy_name(text, source, name));
  return mm_plan_read_map(item, source, map);
}

static mm_status read_maps(const cJSON *root, const char *source, mm_tune_plan *plan,
                           mm_map *map[MM_TUNE_MAPS]) {
  const cJSON *list;
  plan->n_map = 1;
  if (!mm_json_find(root, "maps")) return read_map(root, source, plan->map[0], &map[0]);
  MM_TRY(mm_json_get_array(root, source, "maps", 2, MM_TUNE_MAPS, &list, &plan->n_map));
  const cJSON *item = list->child;
  for (size_t i = 0; i < plan->n_map; i++, item = item->next) {
    if (!cJSON_IsObject(item))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'maps': expected objects, found %s", source,
                     mm_json_describe(item));
    MM_TRY(MM_JSON_KEYS(item, source, "map", "map_file"));
    MM_TRY(read_map(item, source, plan->map[i], &map[i]));
  }
  return MM_OK;
}

mm_status mm_tune_plan_read(const cJSON *root, const char *source, mm_tune_plan *plan,
                            mm_map *map[MM_TUNE_MAPS], mm_plan_envs *envs) {
  mm_algo algo;
  MM_TRY(mm_plan_read_command(root, source, "tune"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "files", "algo", "map", "maps", "map_file",
                      "seed", "seeds_per_trial", "validate", "method", "trials", "population",
                      "prune", "parameters", "settings", "sampled", "rounds"));
  MM_TRY(mm_plan_read_algo(root, source, &algo));
  MM_TRY(mm_plan_read_envs(root, source, MM_TUNE_ENVS, plan->env, envs));
  plan->n_env = envs->n;
  MM_TRY(read_settings(root, source, algo, plan));
  MM_TRY(read_parameters(root, source, algo, &plan->space));
  MM_TRY(read_search(root, source, plan));
  return read_maps(root, source, plan, map);
}
