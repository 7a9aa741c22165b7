// SPDX-License-Identifier: Apache-2.0
// Parts of plans.

#define _POSIX_C_SOURCE 200809L

#include "study/jobs/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "env/env_internal.h"
#include "plugin/plugin.h"
#include "study/run/run.h"

enum { TASK_FILE_MAX = 1 << 20 };

// ---------------------------------------------------------------------------------------------
// Task files

static bool is_id(const char *name) {
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++)
    if (strcmp(info.id, name) == 0) return true;
  return false;
}

mm_status mm_plan_read_task(const char *env, char **out) {
  size_t length;
  *out = NULL;
  if (is_id(env) || access(env, F_OK) != 0) return MM_OK;
  return mm_file_read(env, TASK_FILE_MAX, out, &length);
}

static mm_status task_path(size_t i, const char *folder, char out[MM_RUN_PATH_SIZE]) {
  int length = snprintf(out, MM_RUN_PATH_SIZE, "%s/env-%zu.yaml", folder, i);
  if (length < 0 || length >= MM_RUN_PATH_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "%.200s: the path is too long", folder);
  return MM_OK;
}

mm_status mm_plan_copy_task(const char *text, size_t i, const char *folder) {
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

mm_status mm_plan_open_env(const char *env, const char *text, size_t i, const char *folder,
                           mm_env **out) {
  char path[MM_RUN_PATH_SIZE];
  if (!text) return mm_env_open(env, out);
  MM_TRY(task_path(i, folder, path));
  return mm_env_parse(path, text, out);
}

mm_status mm_plan_new_envs(const char (*name)[MM_PLAN_NAME_SIZE], size_t n, mm_plan_envs *out) {
  for (out->n = 0; out->n < n; out->n++) {
    MM_TRY(mm_env_open(name[out->n], &out->env[out->n]));
    MM_TRY(mm_plan_read_task(name[out->n], &out->task[out->n]));
  }
  return MM_OK;
}

mm_status mm_plan_open_envs(const char (*name)[MM_PLAN_NAME_SIZE], const char *folder,
                            mm_plan_envs *envs) {
  for (size_t i = 0; i < envs->n; i++)
    MM_TRY(mm_plan_open_env(name[i], envs->task[i], i, folder, &envs->env[i]));
  return MM_OK;
}

mm_status mm_plan_copy_tasks(const mm_plan_envs *envs, const char *folder) {
  for (size_t i = 0; i < envs->n; i++)
    MM_TRY(mm_plan_copy_task(envs->task[i], i, folder));
  return MM_OK;
}

void mm_plan_release_envs(mm_plan_envs *envs) {
  for (size_t i = 0; i < MM_PLAN_ENVS; i++) {
    mm_env_destroy(envs->env[i]);
    mm_free(envs->task[i]);
  }
  *envs = (mm_plan_envs){ 0 };
}

// ---------------------------------------------------------------------------------------------
// Fields

mm_status mm_plan_copy_name(const char *text, const char *source, char out[MM_PLAN_NAME_SIZE]) {
  if (strlen(text) >= MM_PLAN_NAME_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "%s: a name of %zu characters: expected fewer than %d", source,
                   strlen(text), MM_PLAN_NAME_SIZE);
  memcpy(out, text, strlen(text) + 1);
  return MM_OK;
}

mm_status mm_plan_print(cJSON *root, const char *whose, char **out) {
  const bool whole = mm_plan_add_plugins(root) == MM_OK;
  *out = whole ? mm_json_print(root, false) : NULL;
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of %s", whose);
}

mm_status mm_plan_end(cJSON *root, mm_status status, cJSON **out) {
  if (status != MM_OK) cJSON_Delete(root);
  *out = status == MM_OK ? root : NULL;
  return status;
}

// Names anywhere in a plan, and in the map files that are its texts.
static void find_plugins(const cJSON *item, bool *used) {
  if (cJSON_IsString(item) && item->valuestring[0] == '{') {
    cJSON *file = cJSON_Parse(item->valuestring);
    if (file) find_plugins(file, used);
    cJSON_Delete(file);
  } else if (cJSON_IsString(item)) {
    const size_t i = mm_plugin_of(item->valuestring);
    if (i < MM_PLUGINS_MOST) used[i] = true;
  }
  for (const cJSON *child = item->child; child; child = child->next)
    find_plugins(child, used);
}

mm_status mm_plan_add_plugins(cJSON *root) {
  bool used[MM_PLUGINS_MOST] = { false };
  mm_plugin_info info;
  cJSON *array = NULL;
  find_plugins(root, used);
  for (size_t i = 0; mm_plugin_list(i, &info); i++) {
    if (!used[i]) continue;
    if (!array) array = cJSON_AddArrayToObject(root, "plugins");
    cJSON *object = cJSON_CreateObject();
    bool complete = array && cJSON_AddItemToArray(array, object);
    if (!complete) cJSON_Delete(object);
    complete = complete && cJSON_AddStringToObject(object, "name", info.name) &&
               cJSON_AddStringToObject(object, "version", info.version);
    if (!complete) return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a study");
  }
  return MM_OK;
}

mm_status mm_plan_take_plugins(cJSON *root, const char *source) {
  const cJSON *array;
  size_t n;
  if (!mm_json_find(root, "plugins")) return MM_OK;
  MM_TRY(mm_json_get_array(root, source, "plugins", 1, MM_PLUGINS_MOST, &array, &n));
  for (const cJSON *item = array->child; item; item = item->next) {
    const char *name, *version;
    MM_TRY(mm_json_get_string(item, source, "name", &name));
    MM_TRY(mm_json_get_string(item, source, "version", &version));
    MM_TRY(mm_plugin_need(source, name, version));
  }
  cJSON_DeleteItemFromObjectCaseSensitive(root, "plugins");
  return MM_OK;
}

mm_status mm_plan_read_command(const cJSON *root, const char *source, const char *expected) {
  const char *command;
  MM_TRY(mm_json_get_string(root, source, "command", &command));
  if (strcmp(command, expected) == 0) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: a run of '%.40s', not of '%s'", source, command, expected);
}

mm_status mm_plan_read_algo(const cJSON *root, const char *source, mm_algo *out) {
  const char *name;
  MM_TRY(mm_json_get_string(root, source, "algo", &name));
  if (mm_algo_find(name, out)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: unknown algorithm '%.40s'", source, name);
}

void mm_plan_add_seed(cJSON *root, uint64_t seed) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, seed);
  cJSON_AddStringToObject(root, "seed", text);
}

mm_status mm_plan_read_seed(const cJSON *root, const char *source, uint64_t *out) {
  const char *seed;
  char *end;
  MM_TRY(mm_json_get_string(root, source, "seed", &seed));
  errno = 0;
  *out = strtoull(seed, &end, 10);
  if (seed[0] < '0' || seed[0] > '9' || *end || errno)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'seed': expected a whole number, found '%.40s'", source,
                   seed);
  return MM_OK;
}

mm_status mm_plan_read_settings(const cJSON *object, const char *source, mm_algo algo,
                                mm_settings *out) {
  *out = mm_settings_default(algo);
  if (!object)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'settings' is missing: expected an object", source);
  if (!cJSON_IsObject(object))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'settings': expected an object, found %s", source,
                   mm_json_describe(object));
  return mm_settings_read(object, source, 0, mm_settings_own(algo), out);
}

mm_status mm_plan_add_map(cJSON *root, const mm_map *map) {
  char *text;
  MM_TRY(mm_map_format(map, NULL, &text));
  cJSON_AddStringToObject(root, "map_file", text);
  mm_map_text_free(text);
  return MM_OK;
}

mm_status mm_plan_read_map(const cJSON *root, const char *source, mm_map **out) {
  const char *text;
  MM_TRY(mm_json_get_string(root, source, "map_file", &text));
  return mm_map_parse(text, strlen(text), source, out);
}

void mm_plan_add_count(cJSON *root, const char *key, size_t value) {
  cJSON_AddItemToObject(root, key, mm_json_number((double)value));
}

mm_status mm_plan_read_count(const cJSON *root, const char *source, const char *key, size_t least,
                             size_t most, size_t *out) {
  int64_t value;
  MM_TRY(mm_json_get_integer(root, source, key, (int64_t)least, (int64_t)most, &value));
  *out = (size_t)value;
  return MM_OK;
}

static cJSON *text_or_null(const char *text) {
  return text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

// A copy of the text; nothing for null.
static mm_status copy_text(const cJSON *item, char **out) {
  if (cJSON_IsNull(item)) return MM_OK;
  size_t size = strlen(item->valuestring) + 1;
  *out = mm_alloc(size);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for a task file");
  memcpy(*out, item->valuestring, size);
  return MM_OK;
}

void mm_plan_add_file(cJSON *root, const char *text) {
  cJSON_AddItemToObject(root, "file", text_or_null(text));
}

mm_status mm_plan_read_file(const cJSON *root, const char *source, char **out) {
  const cJSON *file = mm_json_find(root, "file");
  *out = NULL;
  if (!cJSON_IsString(file) && !cJSON_IsNull(file))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'file': expected a text or null, found %s", source,
                   mm_json_describe(file));
  return copy_text(file, out);
}

void mm_plan_add_envs(cJSON *root, const char (*name)[MM_PLAN_NAME_SIZE],
                      const mm_plan_envs *envs) {
  cJSON *names = cJSON_AddArrayToObject(root, "env");
  cJSON *files = cJSON_AddArrayToObject(root, "files");
  for (size_t i = 0; i < envs->n; i++) {
    cJSON_AddItemToArray(names, cJSON_CreateString(name[i]));
    cJSON_AddItemToArray(files, text_or_null(envs->task[i]));
  }
}

mm_status mm_plan_read_envs(const cJSON *root, const char *source, size_t max,
                            char (*name)[MM_PLAN_NAME_SIZE], mm_plan_envs *out) {
  const cJSON *names, *files;
  size_t n_file;
  MM_TRY(mm_json_get_array(root, source, "env", 1, max, &names, &out->n));
  MM_TRY(mm_json_get_array(root, source, "files", out->n, out->n, &files, &n_file));
  const cJSON *id = names->child, *text = files->child;
  for (size_t i = 0; i < out->n; i++, id = id->next, text = text->next) {
    if (!cJSON_IsString(id) || !(cJSON_IsString(text) || cJSON_IsNull(text)))
      return MM_FAIL(MM_ERR_INPUT, "%s: fields 'env' and 'files': expected texts, found %s", source,
                     mm_json_describe(cJSON_IsString(id) ? text : id));
    MM_TRY(mm_plan_copy_name(id->valuestring, source, name[i]));
    MM_TRY(copy_text(text, &out->task[i]));
  }
  return MM_OK;
}

void mm_plan_label(const cJSON *config, const char *map, char *out, size_t size) {
  static const char tuned[] = "tuned:";
  const cJSON *name = mm_json_find(config, "algo");
  mm_algo algo;
  if (!cJSON_IsString(name) || !mm_algo_find(name->valuestring, &algo) || mm_algo_has_map(algo))
    snprintf(out, size, "%s", map);
  else
    snprintf(out, size, "%s%s", strncmp(map, tuned, sizeof tuned - 1) == 0 ? tuned : "",
             mm_algo_name(algo));
}
