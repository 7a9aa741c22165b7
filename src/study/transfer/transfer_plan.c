// The plan of a table as JSON: {"command": "transfer", "seed", "seeds", "tune_seeds", "maps":
// [{"name", "label", "control", "tuned", "map_file"}], "envs": [{"name", "label", "file", "algo",
// "settings"}]}. Maps are in it as the texts of their files, tasks too.

#include "study/transfer/transfer_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "study/jobs/job_store.h"
#include "study/jobs/plan.h"

enum { LIST_MAX = 10000, SEEDS_MAX = 1000000 };

struct mm_transfer_plan {
  mm_transfer_config config;
  mm_transfer_map *row;
  mm_transfer_env *column;
  mm_map **map;
  mm_env **env;
  char (*name)[2][MM_PLAN_NAME_SIZE]; // [n_map + n_env] name and label
};

// ---------------------------------------------------------------------------------------------
// Writing

// What could not be read again is refused.
static mm_status check_names(const char *name, const char *label) {
  char copy[MM_PLAN_NAME_SIZE];
  MM_TRY(mm_plan_copy_name(name, "a table", copy));
  return mm_plan_copy_name(label, "a table", copy);
}

static mm_status map_json(const mm_transfer_map *row, cJSON *list) {
  char *text;
  MM_TRY(check_names(row->name, row->label));
  MM_TRY(mm_map_format(row->map, NULL, &text));
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", row->name);
  cJSON_AddStringToObject(object, "label", row->label);
  cJSON_AddBoolToObject(object, "control", row->control);
  cJSON_AddBoolToObject(object, "tuned", row->tuned);
  cJSON_AddStringToObject(object, "map_file", text);
  cJSON_AddItemToArray(list, object);
  mm_map_text_free(text);
  return MM_OK;
}

static mm_status env_json(const mm_transfer_env *column, cJSON *list) {
  char *task;
  MM_TRY(check_names(column->name, column->label));
  MM_TRY(mm_plan_read_task(column->name, &task));
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", column->name);
  cJSON_AddStringToObject(object, "label", column->label);
  mm_plan_add_file(object, task);
  cJSON_AddStringToObject(object, "algo", mm_algo_name(column->settings.algo));
  cJSON_AddItemToObject(object, "settings", mm_settings_json(&column->settings));
  cJSON_AddItemToArray(list, object);
  mm_free(task);
  return MM_OK;
}

static mm_status fill(const mm_transfer_config *c, cJSON *root) {
  cJSON_AddStringToObject(root, "command", "transfer");
  mm_plan_add_seed(root, c->seed);
  cJSON_AddItemToObject(root, "seeds", mm_json_number((double)c->n_seed));
  cJSON_AddItemToObject(root, "tune_seeds", mm_json_number((double)c->n_tune));
  cJSON *maps = cJSON_AddArrayToObject(root, "maps"), *envs = cJSON_AddArrayToObject(root, "envs");
  for (size_t i = 0; i < c->n_map; i++)
    MM_TRY(map_json(&c->map[i], maps));
  for (size_t i = 0; i < c->n_env; i++)
    MM_TRY(env_json(&c->env[i], envs));
  return MM_OK;
}

static mm_status format(const mm_transfer_config *c, char **out) {
  cJSON *root = cJSON_CreateObject();
  mm_status status = fill(c, root);
  if (status == MM_OK) return mm_plan_print(root, "a table", out);
  cJSON_Delete(root);
  return status;
}

static mm_status copy_tasks(const mm_transfer_config *c, const char *folder) {
  for (size_t i = 0; i < c->n_env; i++) {
    char *task;
    MM_TRY(mm_plan_read_task(c->env[i].name, &task));
    mm_status status = mm_plan_copy_task(task, i, folder);
    mm_free(task);
    if (status != MM_OK) return status;
  }
  return MM_OK;
}

// What is wrong with an environment's settings shows before there is a folder.
static mm_status rehearse(const mm_transfer_config *c) {
  for (size_t e = 0; e < c->n_env; e++) {
    mm_job job = { .env = c->env[e].env, .map = c->map[0].map, .seed = c->seed };
    mm_settings_bind(&c->env[e].settings, &job);
    MM_TRY(mm_job_rehearse(&job));
  }
  return MM_OK;
}

mm_status mm_transfer_create(const char *folder, const mm_transfer_config *config, mm_run **out) {
  *out = NULL;
  MM_TRY(rehearse(config));
  char *text = NULL;
  MM_TRY(format(config, &text));
  mm_status status = mm_run_create(folder, "transfer", text, out);
  mm_free(text);
  if (status == MM_OK) status = copy_tasks(config, folder);
  if (status != MM_OK) {
    mm_run_close(*out);
    *out = NULL;
  }
  return status;
}

// ---------------------------------------------------------------------------------------------
// Reading

static mm_status read_names(const cJSON *object, const char *source,
                            char out[2][MM_PLAN_NAME_SIZE]) {
  const char *name, *label;
  MM_TRY(mm_json_get_string(object, source, "name", &name));
  MM_TRY(mm_json_get_string(object, source, "label", &label));
  MM_TRY(mm_plan_copy_name(name, source, out[0]));
  return mm_plan_copy_name(label, source, out[1]);
}

static mm_status read_map(const cJSON *object, const char *source, mm_transfer_plan *p, size_t i) {
  const char *text;
  mm_transfer_map *row = &p->row[i];
  MM_TRY(MM_JSON_KEYS(object, source, "name", "label", "control", "tuned", "map_file"));
  MM_TRY(read_names(object, source, p->name[i]));
  MM_TRY(mm_json_get_bool(object, source, "control", &row->control));
  MM_TRY(mm_json_get_bool(object, source, "tuned", &row->tuned));
  MM_TRY(mm_json_get_string(object, source, "map_file", &text));
  MM_TRY(mm_map_parse(text, strlen(text), source, &p->map[i]));
  row->map = p->map[i];
  row->name = p->name[i][0];
  row->label = p->name[i][1];
  return MM_OK;
}

static mm_status read_env(const cJSON *object, const char *source, const char *folder,
                          mm_transfer_plan *p, size_t i) {
  mm_algo algo;
  char *task;
  mm_transfer_env *column = &p->column[i];
  char(*name)[MM_PLAN_NAME_SIZE] = p->name[p->config.n_map + i];
  MM_TRY(MM_JSON_KEYS(object, source, "name", "label", "file", "algo", "settings"));
  MM_TRY(read_names(object, source, name));
  MM_TRY(mm_plan_read_algo(object, source, &algo));
  column->settings = mm_settings_default(algo);
  MM_TRY(mm_plan_read_settings(object, source, "settings", 0, mm_settings_own(algo),
                               &column->settings));
  MM_TRY(mm_plan_read_file(object, source, &task));
  mm_status status = mm_plan_open_env(name[0], task, i, folder, &p->env[i]);
  mm_free(task);
  MM_TRY(status);
  column->env = p->env[i];
  column->name = name[0];
  column->label = name[1];
  return MM_OK;
}

static void *take(size_t n, size_t size) {
  void *block = mm_alloc_array(n, size);
  if (block) memset(block, 0, n * size);
  return block;
}

static mm_status take_lists(mm_transfer_plan *p) {
  mm_transfer_config *c = &p->config;
  p->row = take(c->n_map, sizeof *p->row);
  p->column = take(c->n_env, sizeof *p->column);
  p->map = take(c->n_map, sizeof(mm_map *));
  p->env = take(c->n_env, sizeof(mm_env *));
  p->name = take(c->n_map + c->n_env, sizeof *p->name);
  if (!p->row || !p->column || !p->map || !p->env || !p->name)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a table");
  c->map = p->row;
  c->env = p->column;
  return MM_OK;
}

static mm_status read_plan(const cJSON *root, const char *source, const char *folder,
                           mm_transfer_plan *p) {
  const cJSON *maps, *envs;
  int64_t seeds, tune;
  mm_transfer_config *c = &p->config;
  MM_TRY(mm_plan_read_command(root, source, "transfer"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "seed", "seeds", "tune_seeds", "maps", "envs"));
  MM_TRY(mm_plan_read_seed(root, source, &c->seed));
  MM_TRY(mm_json_get_integer(root, source, "seeds", 1, SEEDS_MAX, &seeds));
  MM_TRY(mm_json_get_integer(root, source, "tune_seeds", 0, SEEDS_MAX, &tune));
  MM_TRY(mm_json_get_array(root, source, "maps", 1, LIST_MAX, &maps, &c->n_map));
  MM_TRY(mm_json_get_array(root, source, "envs", 1, LIST_MAX, &envs, &c->n_env));
  c->n_seed = (size_t)seeds;
  c->n_tune = (size_t)tune;
  size_t n_map = c->n_map, n_env = c->n_env;
  MM_TRY(take_lists(p));
  for (size_t i = 0; i < n_map; i++)
    MM_TRY(read_map(cJSON_GetArrayItem(maps, (int)i), source, p, i));
  for (size_t i = 0; i < n_env; i++)
    MM_TRY(read_env(cJSON_GetArrayItem(envs, (int)i), source, folder, p, i));
  return MM_OK;
}

mm_status mm_transfer_plan_read(const char *text, const char *source, const char *folder,
                                mm_transfer_plan **out) {
  cJSON *root;
  *out = NULL;
  MM_TRY(mm_json_parse(text, strlen(text), source, &root));
  mm_transfer_plan *p = take(1, sizeof *p);
  mm_status status = MM_OK;
  if (!p) status = MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a table");
  if (p) status = read_plan(root, source, folder, p);
  cJSON_Delete(root);
  if (status == MM_OK)
    *out = p;
  else
    mm_transfer_plan_release(p);
  return status;
}

mm_status mm_transfer_resume(const char *folder, mm_run **run, mm_transfer_plan **out) {
  char source[MM_RUN_PATH_SIZE];
  *out = NULL;
  MM_TRY(mm_run_open(folder, MM_RUN_WRITE, run));
  snprintf(source, sizeof source, "%.4000s/run.db: config", mm_run_folder_of(*run));
  mm_status status =
      mm_transfer_plan_read(mm_run_config(*run), source, mm_run_folder_of(*run), out);
  if (status == MM_OK) {
    (*out)->config.run = *run;
    return MM_OK;
  }
  mm_run_close(*run);
  *run = NULL;
  return status;
}

const mm_transfer_config *mm_transfer_plan_config(const mm_transfer_plan *p) {
  return &p->config;
}

void mm_transfer_plan_release(mm_transfer_plan *p) {
  if (!p) return;
  for (size_t i = 0; p->map && i < p->config.n_map; i++)
    mm_map_destroy(p->map[i]);
  for (size_t i = 0; p->env && i < p->config.n_env; i++)
    mm_env_destroy(p->env[i]);
  mm_free(p->row);
  mm_free(p->column);
  mm_free(p->map);
  mm_free(p->env);
  mm_free(p->name);
  mm_free(p);
}
