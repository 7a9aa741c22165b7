// The plan of a search as JSON: {"command": "learn", "env": [..], "files": [..], "algo", "seed",
// "init", "start": [..], "settings": {..}, "learn": {..}}. The seed is text, since JSON numbers
// cannot hold 64 bits.

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "env/grid_task.h"
#include "experiment/learn_internal.h"

enum { TASK_FILE_MAX = 1 << 20 };

// ---------------------------------------------------------------------------------------------
// What comes from files

static bool is_id(const char *name) {
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++)
    if (strcmp(info.id, name) == 0) return true;
  return false;
}

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
  for (size_t i = 0; i < plan->n_env && status == MM_OK; i++) {
    size_t length;
    if (!is_id(plan->env[i]) && access(plan->env[i], F_OK) == 0)
      status = mm_file_read(plan->env[i], TASK_FILE_MAX, &out->file[i], &length);
  }
  if (status != MM_OK) mm_learn_start_release(out);
  return status;
}

void mm_learn_start_release(mm_learn_start *start) {
  mm_free(start->z);
  for (size_t i = 0; i < MM_LEARN_ENVS; i++)
    mm_free(start->file[i]);
  *start = (mm_learn_start){ 0 };
}

static mm_status task_path(size_t i, const char *folder, char out[MM_RUN_PATH_SIZE]) {
  int length = snprintf(out, MM_RUN_PATH_SIZE, "%s/env-%zu.yaml", folder, i);
  if (length < 0 || length >= MM_RUN_PATH_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "%.200s: the path is too long", folder);
  return MM_OK;
}

mm_status mm_learn_copy_task(const mm_learn_start *start, size_t i, const char *folder) {
  const char *text = start->file[i];
  char path[MM_RUN_PATH_SIZE], *found;
  size_t length;
  if (!text) return MM_OK;
  MM_TRY(task_path(i, folder, path));
  if (access(path, F_OK) != 0) return mm_file_write_atomic(path, text, strlen(text));
  MM_TRY(mm_file_read(path, TASK_FILE_MAX, &found, &length));
  bool same = length == strlen(text) && memcmp(found, text, length) == 0;
  mm_free(found);
  if (same) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s: not the task that the run was begun with: remove the file, or begin "
                 "another run with it",
                 path);
}

mm_status mm_learn_open_env(const mm_learn_plan *plan, const mm_learn_start *start, size_t i,
                            const char *folder, mm_env **out) {
  char path[MM_RUN_PATH_SIZE];
  if (!start->file[i]) return mm_env_open(plan->env[i], out);
  MM_TRY(mm_learn_copy_task(start, i, folder));
  MM_TRY(task_path(i, folder, path));
  return mm_env_open(path, out);
}

// ---------------------------------------------------------------------------------------------
// Writing

mm_status mm_learn_plan_write(const mm_learn_plan *plan, const mm_learn_start *start, char **out) {
  char seed[24];
  snprintf(seed, sizeof seed, "%" PRIu64, plan->seed);
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "learn");
  cJSON *envs = cJSON_AddArrayToObject(root, "env");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(plan->env[i]));
  cJSON *files = cJSON_AddArrayToObject(root, "files");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(files,
                         start->file[i] ? cJSON_CreateString(start->file[i]) : cJSON_CreateNull());
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  cJSON_AddStringToObject(root, "seed", seed);
  cJSON_AddStringToObject(root, "init", plan->init);
  cJSON_AddItemToObject(root, "start", mm_json_numbers(start->z, start->n));
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON_AddItemToObject(root, "learn", mm_search_json(&plan->settings));
  *out = mm_json_print(root, false);
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a search");
}

// ---------------------------------------------------------------------------------------------
// Reading

static mm_status copy_name(const char *text, const char *source, char out[MM_LEARN_NAME_SIZE]) {
  if (strlen(text) >= MM_LEARN_NAME_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "%s: a name of %zu characters: expected fewer than %d", source,
                   strlen(text), MM_LEARN_NAME_SIZE);
  memcpy(out, text, strlen(text) + 1);
  return MM_OK;
}

static mm_status read_envs(const cJSON *root, const char *source, mm_learn_plan *plan,
                           mm_learn_start *start) {
  const cJSON *envs, *files;
  size_t n_file;
  MM_TRY(mm_json_get_array(root, source, "env", 1, MM_LEARN_ENVS, &envs, &plan->n_env));
  MM_TRY(mm_json_get_array(root, source, "files", plan->n_env, plan->n_env, &files, &n_file));
  const cJSON *env = envs->child, *file = files->child;
  for (size_t i = 0; i < plan->n_env; i++, env = env->next, file = file->next) {
    if (!cJSON_IsString(env) || !(cJSON_IsString(file) || cJSON_IsNull(file)))
      return MM_FAIL(MM_ERR_INPUT, "%s: fields 'env' and 'files': expected texts, found %s", source,
                     mm_json_describe(cJSON_IsString(env) ? file : env));
    MM_TRY(copy_name(env->valuestring, source, plan->env[i]));
    if (cJSON_IsNull(file)) continue;
    size_t size = strlen(file->valuestring) + 1;
    start->file[i] = mm_alloc(size);
    if (!start->file[i]) return MM_FAIL(MM_ERR_MEMORY, "no memory for a task file");
    memcpy(start->file[i], file->valuestring, size);
  }
  return MM_OK;
}

// Every key must be there, and no other.
static mm_status read_settings(const cJSON *root, const char *source, const char *name,
                               size_t first, size_t end, mm_settings *settings) {
  const cJSON *object;
  MM_TRY(mm_json_get_object(root, source, name, &object));
  const char *keys[MM_SETTINGS_MAX + 1];
  size_t n = 0;
  for (size_t i = first; i < end; i++)
    keys[n++] = mm_settings_key(settings->algo, i);
  keys[n] = NULL;
  MM_TRY(mm_json_check_keys(object, source, keys));
  for (size_t i = 0; i < n; i++) {
    const cJSON *value = mm_json_find(object, keys[i]);
    char number[MM_JSON_NUMBER_SIZE];
    if (!value && strcmp(keys[i], "controls") == 0) continue; // younger than the first runs
    if (!cJSON_IsString(value) && !cJSON_IsNumber(value))
      return MM_FAIL(MM_ERR_INPUT, "%s: setting '%s': expected a value, found %s", source, keys[i],
                     mm_json_describe(value));
    const char *text = cJSON_IsString(value) ? value->valuestring
                                             : mm_json_format_number(value->valuedouble, number);
    if (mm_settings_set(settings, keys[i], text) != MM_OK)
      return MM_FAIL(MM_ERR_INPUT, "%s: %s", source, mm_last_error());
  }
  return MM_OK;
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

static mm_status read_plan(const cJSON *root, const char *source, mm_learn_plan *plan,
                           mm_learn_start *start) {
  const char *command, *algo_name, *seed, *init;
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "files", "algo", "seed", "init", "start",
                      "settings", "learn"));
  MM_TRY(mm_json_get_string(root, source, "command", &command));
  MM_TRY(mm_json_get_string(root, source, "algo", &algo_name));
  MM_TRY(mm_json_get_string(root, source, "seed", &seed));
  MM_TRY(mm_json_get_string(root, source, "init", &init));
  mm_algo algo;
  if (strcmp(command, "learn") != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: a run of '%.40s', not of 'learn'", source, command);
  if (!mm_algo_find(algo_name, &algo))
    return MM_FAIL(MM_ERR_INPUT, "%s: unknown algorithm '%.40s'", source, algo_name);
  char *end;
  errno = 0;
  plan->seed = strtoull(seed, &end, 10);
  if (seed[0] < '0' || seed[0] > '9' || *end || errno)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'seed': expected a whole number, found '%.40s'", source,
                   seed);
  plan->settings = mm_settings_default(algo);
  size_t own = mm_settings_own(algo);
  MM_TRY(copy_name(init, source, plan->init));
  MM_TRY(read_envs(root, source, plan, start));
  MM_TRY(read_settings(root, source, "settings", 0, own, &plan->settings));
  MM_TRY(read_settings(root, source, "learn", own, own + MM_SEARCH_KEYS, &plan->settings));
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
