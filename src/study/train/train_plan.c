// The plan of a training as JSON: {"command": "train", "env", "file", "algo", "map", "map_file",
// "seed", "seeds", "settings": {..}}. The map is in it as the text of its file, the task too.

#include <inttypes.h>
#include <string.h>

#include "study/train/train_internal.h"

mm_status mm_train_plan_write(const mm_train_plan *plan, const mm_map *map, const char *task,
                              char **out) {
  char *map_text;
  *out = NULL;
  MM_TRY(mm_map_format(map, NULL, &map_text));
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "train");
  cJSON_AddStringToObject(root, "env", plan->env);
  mm_plan_add_file(root, task);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  cJSON_AddStringToObject(root, "map", plan->map);
  cJSON_AddStringToObject(root, "map_file", map_text);
  mm_plan_add_seed(root, plan->seed);
  cJSON_AddItemToObject(root, "seeds", mm_json_number((double)plan->seeds));
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  mm_map_text_free(map_text);
  return mm_plan_print(root, "a training", out);
}

// ---------------------------------------------------------------------------------------------

static mm_status read_plan(const cJSON *root, const char *source, mm_train_plan *plan, mm_map **map,
                           char **task) {
  const char *env, *name, *map_text;
  int64_t seeds;
  mm_algo algo;
  MM_TRY(mm_plan_read_command(root, source, "train"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "file", "algo", "map", "map_file", "seed",
                      "seeds", "settings"));
  MM_TRY(mm_json_get_string(root, source, "env", &env));
  MM_TRY(mm_plan_read_algo(root, source, &algo));
  MM_TRY(mm_json_get_string(root, source, "map", &name));
  MM_TRY(mm_json_get_string(root, source, "map_file", &map_text));
  MM_TRY(mm_json_get_integer(root, source, "seeds", 1, MM_TRAIN_SEEDS_MAX, &seeds));
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  plan->seeds = (size_t)seeds;
  if (plan->seed > UINT64_MAX - (plan->seeds - 1))
    return MM_FAIL(MM_ERR_INPUT, "%s: seed %" PRIu64 " leaves no room for %zu seeds", source,
                   plan->seed, plan->seeds);
  plan->settings = mm_settings_default(algo);
  MM_TRY(mm_plan_copy_name(env, source, plan->env));
  MM_TRY(mm_plan_copy_name(name, source, plan->map));
  MM_TRY(
      mm_plan_read_settings(root, source, "settings", 0, mm_settings_own(algo), &plan->settings));
  MM_TRY(mm_map_parse(map_text, strlen(map_text), source, map));
  return mm_plan_read_file(root, source, task);
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
