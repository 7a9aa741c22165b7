// The plan of a search as JSON: {"command": "learn", "env": [..], "files": [..], "algo", "seed",
// "init", "start": [..], "settings": {..}, "learn": {..}}. The seed is text, since JSON numbers
// cannot hold 64 bits.

#include <string.h>

#include "study/jobs/plan.h"
#include "study/learn/learn_internal.h"

// ---------------------------------------------------------------------------------------------
// What comes from files

static mm_status read_init(const mm_learn_plan *plan, mm_learn_start *out) {
  const mm_search *search = &plan->settings.search;
  mm_map_kind kind = mm_search_map_kind(search);
  mm_map *map;
  MM_TRY(mm_map_open(plan->init, &map));
  mm_status status = MM_OK;
  size_t n = (size_t)search->n;
  if (mm_map_get_kind(map) != kind)
    status = MM_FAIL(MM_ERR_INPUT, "map '%s' is %s: a search of %s maps cannot start there",
                     plan->init, mm_map_kind_name(mm_map_get_kind(map)), mm_map_kind_name(kind));
  if (status == MM_OK && kind == MM_MAP_PIECEWISE) {
    mm_map_piecewise_psi(map, &n);
    if (n != (size_t)search->n)
      status = MM_FAIL(MM_ERR_INPUT, "map '%s' has %zu steps, the search %zu (set n)", plan->init,
                       n, (size_t)search->n);
  }
  if (status == MM_OK) {
    out->n = mm_map_search_size(kind, n);
    out->z = mm_alloc_array(out->n, sizeof *out->z);
    status = MM_ERR_MEMORY;
    if (out->z) status = mm_map_to_search(map, out->z);
    if (!out->z) status = MM_FAIL(status, "no memory for a map");
  }
  mm_map_destroy(map);
  return status;
}

mm_status mm_learn_start_read(const mm_learn_plan *plan, mm_learn_start *out) {
  *out = (mm_learn_start){ 0 };
  mm_status status = plan->init[0] ? read_init(plan, out) : MM_OK;
  for (size_t i = 0; i < plan->n_env && status == MM_OK; i++)
    status = mm_plan_read_task(plan->env[i], &out->file[i]);
  if (status != MM_OK) mm_learn_start_release(out);
  return status;
}

void mm_learn_start_release(mm_learn_start *start) {
  mm_free(start->z);
  for (size_t i = 0; i < MM_LEARN_ENVS; i++)
    mm_free(start->file[i]);
  *start = (mm_learn_start){ 0 };
}

mm_status mm_learn_copy_task(const mm_learn_start *start, size_t i, const char *folder) {
  return mm_plan_copy_task(start->file[i], i, folder);
}

mm_status mm_learn_open_env(const mm_learn_plan *plan, const mm_learn_start *start, size_t i,
                            const char *folder, mm_env **out) {
  return mm_plan_open_env(plan->env[i], start->file[i], i, folder, out);
}

// ---------------------------------------------------------------------------------------------
// Writing

mm_status mm_learn_plan_write(const mm_learn_plan *plan, const mm_learn_start *start, char **out) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "learn");
  mm_plan_add_envs(root, plan->env, start->file, plan->n_env);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  mm_plan_add_seed(root, plan->seed);
  cJSON_AddStringToObject(root, "init", plan->init);
  cJSON_AddItemToObject(root, "start", mm_json_numbers(start->z, start->n));
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON_AddItemToObject(root, "learn", mm_search_json(&plan->settings));
  return mm_plan_print(root, "a search", out);
}

// ---------------------------------------------------------------------------------------------
// Reading

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

static mm_status read_plan(const cJSON *root, const char *source, mm_learn_plan *plan,
                           mm_learn_start *start) {
  const char *init;
  mm_algo algo;
  MM_TRY(mm_plan_read_command(root, source, "learn"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "files", "algo", "seed", "init", "start",
                      "settings", "learn"));
  MM_TRY(mm_plan_read_algo(root, source, &algo));
  MM_TRY(mm_json_get_string(root, source, "init", &init));
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  plan->settings = mm_settings_default(algo);
  size_t own = mm_settings_own(algo);
  MM_TRY(mm_plan_copy_name(init, source, plan->init));
  MM_TRY(mm_plan_read_envs(root, source, MM_LEARN_ENVS, plan->env, start->file, &plan->n_env));
  MM_TRY(mm_plan_read_settings(root, source, "settings", 0, own, &plan->settings));
  MM_TRY(mm_plan_read_settings(root, source, "learn", own, own + MM_SEARCH_KEYS, &plan->settings));
  return read_start(root, source, &plan->settings, start);
}

mm_status mm_learn_plan_read(const char *text, const char *source, mm_learn_plan *plan,
                             mm_learn_start *start) {
  cJSON *root;
  memset(plan, 0, sizeof *plan);
  *start = (mm_learn_start){ 0 };
  MM_TRY(mm_json_parse(text, strlen(text), source, &root));
  mm_status status = read_plan(root, source, plan, start);
  cJSON_Delete(root);
  if (status != MM_OK) mm_learn_start_release(start);
  return status;
}
