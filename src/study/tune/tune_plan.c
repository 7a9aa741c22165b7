// The plan of a tuning as JSON: {"command": "tune", "env": [..], "files": [..], "algo", "map",
// "map_file", "seed", "seeds_per_trial", "validate", "method", "trials", "population", "prune",
// "parameters": [..], "settings": [..]}. The map is in it as the text of its file, tasks too.

#include <inttypes.h>
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

static void add_count(cJSON *root, const char *key, size_t value) {
  cJSON_AddItemToObject(root, key, mm_json_number((double)value));
}

mm_status mm_tune_plan_write(const mm_tune_plan *plan, const mm_map *map, char *const *task,
                             char **out) {
  char *map_text;
  *out = NULL;
  MM_TRY(mm_map_format(map, NULL, &map_text));
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "tune");
  mm_plan_add_envs(root, plan->env, task, plan->n_env);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings[0].algo));
  cJSON_AddStringToObject(root, "map", plan->map);
  cJSON_AddStringToObject(root, "map_file", map_text);
  mm_plan_add_seed(root, plan->seed);
  add_count(root, "seeds_per_trial", plan->seeds);
  add_count(root, "validate", plan->validate);
  cJSON_AddStringToObject(root, "method", mm_tune_method_name(plan->space.method));
  add_count(root, "trials", plan->trials);
  add_count(root, "population", plan->population);
  cJSON_AddStringToObject(root, "prune", plan->prune ? "on" : "off");
  cJSON *parameters = cJSON_AddArrayToObject(root, "parameters");
  for (size_t j = 0; j < plan->space.n; j++)
    cJSON_AddItemToArray(parameters, parameter_json(&plan->space.parameter[j]));
  cJSON *settings = cJSON_AddArrayToObject(root, "settings");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(settings, mm_settings_json(&plan->settings[i]));
  mm_map_text_free(map_text);
  return mm_plan_print(root, "a tuning", out);
}

// ---------------------------------------------------------------------------------------------
// Reading

static mm_status read_settings(const cJSON *root, const char *source, mm_algo algo,
                               mm_tune_plan *plan) {
  const cJSON *list;
  size_t n;
  MM_TRY(mm_json_get_array(root, source, "settings", plan->n_env, plan->n_env, &list, &n));
  cJSON *item = list->child;
  for (size_t i = 0; i < n; i++, item = item->next) {
    cJSON *holder = cJSON_CreateObject();
    if (!holder || !cJSON_AddItemReferenceToObject(holder, "settings", item)) {
      cJSON_Delete(holder);
      return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a tuning");
    }
    plan->settings[i] = mm_settings_default(algo);
    mm_status status = mm_plan_read_settings(holder, source, "settings", 0, mm_settings_own(algo),
                                             &plan->settings[i]);
    cJSON_Delete(holder);
    MM_TRY(status);
  }
  return MM_OK;
}

// As the file of a space has it: in texts, which are checked in the same way.
static mm_status read_range(const cJSON *item, const char *source, mm_algo algo, const char *name,
                            const char *scale, mm_tune_parameter *out) {
  double end[2];
  int64_t points;
  char text[2][MM_JSON_NUMBER_SIZE], number[24], *ends[] = { text[0], text[1] };
  mm_tune_fields fields = { .points = number };
  MM_TRY(MM_JSON_KEYS(item, source, "name", "scale", "low", "high", "points"));
  MM_TRY(mm_json_get_number(item, source, "low", &end[0]));
  MM_TRY(mm_json_get_number(item, source, "high", &end[1]));
  MM_TRY(mm_json_get_integer(item, source, "points", 2, MM_TUNE_POINTS, &points));
  snprintf(number, sizeof number, "%" PRId64, points);
  for (int i = 0; i < 2; i++)
    mm_json_format_number(end[i], text[i]);
  if (strcmp(scale, mm_tune_scale_name(MM_TUNE_LOG)) == 0) {
    fields.log = ends;
    fields.n_log = 2;
  } else if (strcmp(scale, mm_tune_scale_name(MM_TUNE_LINEAR)) == 0) {
    fields.linear = ends;
    fields.n_linear = 2;
  } else {
    fields.integer = ends;
    fields.n_integer = 2;
  }
  return mm_tune_parameter_read(source, algo, name, &fields, out);
}

static mm_status read_choice(const cJSON *item, const char *source, mm_algo algo, const char *name,
                             mm_tune_parameter *out) {
  const cJSON *list;
  size_t n;
  char *text[MM_TUNE_CHOICES];
  MM_TRY(MM_JSON_KEYS(item, source, "name", "scale", "choice"));
  MM_TRY(mm_json_get_array(item, source, "choice", 2, MM_TUNE_CHOICES, &list, &n));
  const cJSON *entry = list->child;
  for (size_t i = 0; i < n; i++, entry = entry->next) {
    if (!cJSON_IsString(entry))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'choice': expected texts, found %s", source,
                     mm_json_describe(entry));
    text[i] = entry->valuestring;
  }
  mm_tune_fields fields = { .choice = text, .n_choice = (unsigned)n };
  return mm_tune_parameter_read(source, algo, name, &fields, out);
}

static mm_status read_parameters(const cJSON *root, const char *source, mm_algo algo,
                                 mm_tune_space *space) {
  const cJSON *list;
  MM_TRY(mm_json_get_array(root, source, "parameters", 1, MM_TUNE_PARAMETERS, &list, &space->n));
  const cJSON *item = list->child;
  for (size_t j = 0; j < space->n; j++, item = item->next) {
    const char *name, *scale;
    if (!cJSON_IsObject(item))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'parameters': expected objects, found %s", source,
                     mm_json_describe(item));
    MM_TRY(mm_json_get_string(item, source, "name", &name));
    MM_TRY(mm_json_get_string(item, source, "scale", &scale));
    bool choice = strcmp(scale, mm_tune_scale_name(MM_TUNE_CHOICE)) == 0;
    MM_TRY(choice ? read_choice(item, source, algo, name, &space->parameter[j])
                  : read_range(item, source, algo, name, scale, &space->parameter[j]));
    if (strcmp(scale, mm_tune_scale_name(space->parameter[j].scale)) != 0)
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'scale': unknown '%.40s'", source, scale);
  }
  return MM_OK;
}

static mm_status read_count(const cJSON *root, const char *source, const char *key, int64_t least,
                            int64_t most, size_t *out) {
  int64_t value;
  MM_TRY(mm_json_get_integer(root, source, key, least, most, &value));
  *out = (size_t)value;
  return MM_OK;
}

static mm_status read_search(const cJSON *root, const char *source, mm_tune_plan *plan) {
  const char *method, *prune;
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  MM_TRY(read_count(root, source, "seeds_per_trial", 1, MM_TUNE_SEEDS_MAX, &plan->seeds));
  MM_TRY(read_count(root, source, "validate", 0, MM_TUNE_VALIDATE_MAX, &plan->validate));
  MM_TRY(read_count(root, source, "trials", 1, MM_TUNE_TRIALS_MAX, &plan->trials));
  MM_TRY(read_count(root, source, "population", 0, MM_TUNE_TRIALS_MAX, &plan->population));
  MM_TRY(mm_json_get_string(root, source, "method", &method));
  MM_TRY(mm_json_get_string(root, source, "prune", &prune));
  plan->prune = strcmp(prune, "off") != 0;
  if (mm_tune_method_find(method, &plan->space.method)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'method': unknown '%.40s'", source, method);
}

static mm_status read_plan(const cJSON *root, const char *source, mm_tune_plan *plan, mm_map **map,
                           char *task[MM_TUNE_ENVS]) {
  const char *name, *map_text;
  mm_algo algo;
  MM_TRY(mm_plan_read_command(root, source, "tune"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "files", "algo", "map", "map_file", "seed",
                      "seeds_per_trial", "validate", "method", "trials", "population", "prune",
                      "parameters", "settings"));
  MM_TRY(mm_plan_read_algo(root, source, &algo));
  MM_TRY(mm_json_get_string(root, source, "map", &name));
  MM_TRY(mm_json_get_string(root, source, "map_file", &map_text));
  MM_TRY(mm_plan_copy_name(name, source, plan->map));
  MM_TRY(mm_plan_read_envs(root, source, MM_TUNE_ENVS, plan->env, task, &plan->n_env));
  MM_TRY(read_settings(root, source, algo, plan));
  MM_TRY(read_parameters(root, source, algo, &plan->space));
  MM_TRY(read_search(root, source, plan));
  return mm_map_parse(map_text, strlen(map_text), source, map);
}

mm_status mm_tune_plan_read(const char *text, const char *source, mm_tune_plan *plan, mm_map **map,
                            char *task[MM_TUNE_ENVS]) {
  cJSON *root;
  memset(plan, 0, sizeof *plan);
  *map = NULL;
  MM_TRY(mm_json_parse(text, strlen(text), source, &root));
  mm_status status = read_plan(root, source, plan, map, task);
  cJSON_Delete(root);
  return status;
}
