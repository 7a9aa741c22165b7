// SPDX-License-Identifier: Apache-2.0
// The plan of a search as JSON: {"command": "learn", "env": [..], "files": [..], "algo", "seed",
// "start": [..], "settings": {..}, "learn": {..}}. The seed is text, since JSON numbers cannot hold
// 64 bits. Older runs have "init" here and not in "learn", "" for the family's own start.

#include "study/learn/learn_internal.h"

// ---------------------------------------------------------------------------------------------
// What comes from files

// The coordinates of --init, which may be a map of any kind that the family has one like.
static mm_status read_init(const mm_learn_plan *plan, mm_learn_start *out) {
  const mm_search *search = &plan->settings.search;
  const char *name = mm_search_init(search);
  mm_map_kind kind = mm_search_map_kind(search);
  mm_map *given, *map = NULL;
  MM_TRY(mm_map_open(name, &given));
  mm_status status = mm_map_convert(given, kind, (size_t)search->n, &map);
  if (status != MM_OK)
    status = MM_FAIL(status, "map '%s': a search of %s maps cannot start there: %s", name,
                     mm_map_kind_name(kind), mm_last_error());
  mm_map_destroy(given);
  if (status != MM_OK) return status;
  out->n = mm_map_search_size(kind, (size_t)search->n);
  out->z = mm_alloc_array(out->n, sizeof *out->z);
  if (out->z)
    status = mm_map_to_search(map, out->z);
  else
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  mm_map_destroy(map);
  return status;
}

mm_status mm_learn_start_read(const mm_learn_plan *plan, mm_learn_start *out) {
  return mm_search_init(&plan->settings.search) ? read_init(plan, out) : MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Writing and reading

cJSON *mm_learn_plan_json(const mm_learn_plan *plan, const mm_learn_start *start,
                          const mm_plan_envs *envs) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "learn");
  mm_plan_add_envs(root, plan->env, envs);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  mm_plan_add_seed(root, plan->seed);
  cJSON_AddItemToObject(root, "start", mm_json_numbers(start->z, start->n));
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON *search = mm_search_json(&plan->settings);
  if (plan->early) cJSON_DeleteItemFromObject(search, "tune_budget"); // by that it is known
  cJSON_AddItemToObject(root, "learn", search);
  return root;
}

static mm_status read_start(const cJSON *root, const char *source, const mm_settings *settings,
                            mm_learn_start *start) {
  const cJSON *array;
  size_t size =
      mm_map_search_size(mm_search_map_kind(&settings->search), (size_t)settings->search.n);
  MM_TRY(mm_json_get_array(root, source, "start", 0, size, &array, &start->n));
  if (start->n == 0) return MM_OK;
  if (start->n != size)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'start': expected 0 or %zu numbers, found %zu", source,
                   size, start->n);
  start->z = mm_alloc_array(size, sizeof *start->z);
  if (!start->z) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  return mm_json_read_numbers(array, source, "start", size, start->z);
}

static mm_status read_old_init(const cJSON *root, const char *source, mm_settings *settings) {
  const char *init;
  if (!mm_json_find(root, "init")) return MM_OK;
  MM_TRY(mm_json_get_string(root, source, "init", &init));
  if (init[0] == '\0') return MM_OK;
  mm_status status = mm_settings_set(settings, "init", init);
  return status == MM_OK ? MM_OK : MM_FAIL(status, "%s: %s", source, mm_last_error());
}

mm_status mm_learn_plan_read(const cJSON *root, const char *source, mm_learn_plan *plan,
                             mm_learn_start *start, mm_plan_envs *envs) {
  const cJSON *search;
  mm_algo algo;
  MM_TRY(mm_plan_read_command(root, source, "learn"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "files", "algo", "seed", "init", "start",
                      "settings", "learn"));
  MM_TRY(mm_plan_read_algo(root, source, &algo));
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  MM_TRY(mm_plan_read_envs(root, source, MM_LEARN_ENVS, plan->env, envs));
  plan->n_env = envs->n;
  MM_TRY(mm_plan_read_settings(mm_json_find(root, "settings"), source, algo, &plan->settings));
  MM_TRY(mm_json_get_object(root, source, "learn", &search));
  plan->early = !mm_json_find(search, "tune_budget");
  size_t own = mm_settings_own(algo);
  MM_TRY(mm_settings_read(search, source, own, own + MM_SEARCH_KEYS, &plan->settings));
  MM_TRY(read_old_init(root, source, &plan->settings));
  return read_start(root, source, &plan->settings, start);
}
