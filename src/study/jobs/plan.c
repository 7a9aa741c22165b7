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

mm_status mm_plan_read_env(const char *env, const char *text, size_t i, const char *folder,
                           mm_env **out) {
  char path[MM_RUN_PATH_SIZE];
  if (!text) return mm_env_open(env, out);
  MM_TRY(task_path(i, folder, path));
  return mm_env_parse(path, text, out);
}

mm_status mm_plan_open_env(const char *env, const char *text, size_t i, const char *folder,
                           mm_env **out) {
  MM_TRY(mm_plan_copy_task(text, i, folder));
  return mm_plan_read_env(env, text, i, folder, out);
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
  *out = mm_json_print(root, false);
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of %s", whose);
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

mm_status mm_plan_read_settings(const cJSON *root, const char *source, const char *name,
                                size_t first, size_t end, mm_settings *settings) {
  const cJSON *object;
  MM_TRY(mm_json_get_object(root, source, name, &object));
  return mm_settings_read(object, source, first, end, settings);
}

static cJSON *text_or_null(const char *text) {
  return text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

// A copy of the text; nothing for null.
static mm_status take_text(const cJSON *item, char **out) {
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
  return take_text(file, out);
}

void mm_plan_add_envs(cJSON *root, const char (*env)[MM_PLAN_NAME_SIZE], char *const *file,
                      size_t n) {
  cJSON *envs = cJSON_AddArrayToObject(root, "env");
  cJSON *files = cJSON_AddArrayToObject(root, "files");
  for (size_t i = 0; i < n; i++) {
    cJSON_AddItemToArray(envs, cJSON_CreateString(env[i]));
    cJSON_AddItemToArray(files, text_or_null(file[i]));
  }
}

mm_status mm_plan_read_envs(const cJSON *root, const char *source, size_t max,
                            char (*env)[MM_PLAN_NAME_SIZE], char **file, size_t *n) {
  const cJSON *envs, *files;
  size_t n_file;
  MM_TRY(mm_json_get_array(root, source, "env", 1, max, &envs, n));
  MM_TRY(mm_json_get_array(root, source, "files", *n, *n, &files, &n_file));
  const cJSON *name = envs->child, *text = files->child;
  for (size_t i = 0; i < *n; i++, name = name->next, text = text->next) {
    if (!cJSON_IsString(name) || !(cJSON_IsString(text) || cJSON_IsNull(text)))
      return MM_FAIL(MM_ERR_INPUT, "%s: fields 'env' and 'files': expected texts, found %s", source,
                     mm_json_describe(cJSON_IsString(name) ? text : name));
    MM_TRY(mm_plan_copy_name(name->valuestring, source, env[i]));
    MM_TRY(take_text(text, &file[i]));
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
