// The plan of a training as JSON: {"command": "train", "env", "file", "algo", "map", "map_file",
// "seed", "seeds", "settings": {..}}. The map is in it as the text of its file, the task too.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "experiment/train_internal.h"

mm_status mm_train_plan_write(const mm_train_plan *plan, const mm_map *map, const char *task,
                              char **out) {
  char seed[24], *map_text;
  *out = NULL;
  MM_TRY(mm_map_format(map, NULL, &map_text));
  snprintf(seed, sizeof seed, "%" PRIu64, plan->seed);
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "train");
  cJSON_AddStringToObject(root, "env", plan->env);
  cJSON_AddItemToObject(root, "file", task ? cJSON_CreateString(task) : cJSON_CreateNull());
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  cJSON_AddStringToObject(root, "map", plan->map);
  cJSON_AddStringToObject(root, "map_file", map_text);
  cJSON_AddStringToObject(root, "seed", seed);
  cJSON_AddItemToObject(root, "seeds", mm_json_number((double)plan->seeds));
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  *out = mm_json_print(root, false);
  cJSON_Delete(root);
  mm_map_text_free(map_text);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a training");
}

// ---------------------------------------------------------------------------------------------

static mm_status read_task(const cJSON *root, const char *source, char **out) {
  const cJSON *file = mm_json_find(root, "file");
  if (!cJSON_IsString(file) && !cJSON_IsNull(file))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'file': expected a text or null, found %s", source,
                   mm_json_describe(file));
  if (cJSON_IsNull(file)) return MM_OK;
  size_t size = strlen(file->valuestring) + 1;
  *out = mm_alloc(size);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for a task file");
  memcpy(*out, file->valuestring, size);
  return MM_OK;
}

static mm_status read_plan(const cJSON *root, const char *source, mm_train_plan *plan, mm_map **map,
                           char **task) {
  const char *command, *env, *algo_name, *name, *map_text;
  int64_t seeds;
  mm_algo algo;
  MM_TRY(mm_json_get_string(root, source, "command", &command));
  if (strcmp(command, "train") != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: a run of '%.40s', not of 'train'", source, command);
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "file", "algo", "map", "map_file", "seed",
                      "seeds", "settings"));
  MM_TRY(mm_json_get_string(root, source, "env", &env));
  MM_TRY(mm_json_get_string(root, source, "algo", &algo_name));
  MM_TRY(mm_json_get_string(root, source, "map", &name));
  MM_TRY(mm_json_get_string(root, source, "map_file", &map_text));
  MM_TRY(mm_json_get_integer(root, source, "seeds", 1, MM_TRAIN_SEEDS_MAX, &seeds));
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  plan->seeds = (size_t)seeds;
  if (plan->seed > UINT64_MAX - (plan->seeds - 1))
    return MM_FAIL(MM_ERR_INPUT, "%s: seed %" PRIu64 " leaves no room for %zu seeds", source,
                   plan->seed, plan->seeds);
  if (!mm_algo_find(algo_name, &algo))
    return MM_FAIL(MM_ERR_INPUT, "%s: unknown algorithm '%.40s'", source, algo_name);
  plan->settings = mm_settings_default(algo);
  MM_TRY(mm_plan_copy_name(env, source, plan->env));
  MM_TRY(mm_plan_copy_name(name, source, plan->map));
  MM_TRY(
      mm_plan_read_settings(root, source, "settings", 0, mm_settings_own(algo), &plan->settings));
  MM_TRY(mm_map_parse(map_text, strlen(map_text), source, map));
  return read_task(root, source, task);
}

mm_status mm_train_plan_read(const char *text, const char *source, mm_train_plan *plan,
                             mm_map **map, char **task) {
  cJSON *root;
  memset(plan, 0, sizeof *plan);
  *map = NULL;
  *task = NULL;
  MM_TRY(mm_json_parse(text, strlen(text), source, &root));
  mm_status status = read_plan(root, source, plan, map, task);
  cJSON_Delete(root);
  return status;
}
