// SPDX-License-Identifier: Apache-2.0
// The plan of a table as JSON: {"command": "transfer", "seed", "seeds", "tune_seeds", "maps":
// [{"name", "label", "control", "tuned", "map_file"}], "envs": [{"name", "label", "file", "algo",
// "settings"}]}. Where they are so, "exact": true, "tune_budget", and "tuned_q": true and "eta" of
// a map; a table without them was made before there were these, or needs none. Maps are in it as
// the texts of their files, tasks too.

#include "study/transfer/transfer_plan.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "study/jobs/plan.h"
#include "study/jobs/study.h"
#include "study/stats/controls.h"

enum { LIST_MAX = 10000 };

struct mm_transfer_plan {
  mm_arena arena;
  mm_transfer_config config;
  mm_transfer_map *row;
  mm_transfer_env *column;
  mm_map **map;
  mm_env **env;
  char (*name)[2][MM_PLAN_NAME_SIZE]; // [n_map + n_env] name and label
};

// ---------------------------------------------------------------------------------------------
// Rows by their names

mm_status mm_study_base_map(const char *name, char out[MM_STUDY_NAME_SIZE]) {
  static_assert((int)MM_CONTROL_MAP_SIZE == (int)MM_PLAN_NAME_SIZE, "room for any name");
  MM_TRY(mm_plan_copy_name(name, "a table", out));
  if (mm_control_is_tuned(name)) mm_control_map(name, MM_MAP_KINDS, 0, out);
  return MM_OK;
}

mm_transfer_map mm_transfer_row(const char *name, const mm_map *map, bool own_eta) {
  const bool tuned = mm_control_is_tuned(name);
  return (mm_transfer_map){ .map = map,
                            .name = name,
                            .label = name,
                            .tuned = tuned,
                            .tuned_q = mm_control_tunes_q(name),
                            .eta = own_eta && !tuned ? mm_map_eta(map) : 0 };
}

// ---------------------------------------------------------------------------------------------
// Writing

// What could not be read again is refused.
static mm_status check_names(const char *name, const char *label) {
  char copy[MM_PLAN_NAME_SIZE];
  MM_TRY(mm_plan_copy_name(name, "a table", copy));
  return mm_plan_copy_name(label, "a table", copy);
}

static mm_status map_json(const mm_transfer_map *row, cJSON *list) {
  MM_TRY(check_names(row->name, row->label));
  cJSON *object = cJSON_CreateObject();
  cJSON_AddItemToArray(list, object);
  cJSON_AddStringToObject(object, "name", row->name);
  cJSON_AddStringToObject(object, "label", row->label);
  cJSON_AddBoolToObject(object, "control", row->control);
  cJSON_AddBoolToObject(object, "tuned", row->tuned);
  if (row->tuned_q) cJSON_AddTrueToObject(object, "tuned_q");
  if (row->eta > 0) cJSON_AddItemToObject(object, "eta", mm_json_number(row->eta));
  return mm_plan_add_map(object, row->map);
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
  mm_plan_add_count(root, "seeds", c->n_seed);
  mm_plan_add_count(root, "tune_seeds", c->n_tune);
  if (c->tune_budget > 0)
    cJSON_AddItemToObject(root, "tune_budget", mm_json_number(c->tune_budget));
  if (c->exact) cJSON_AddTrueToObject(root, "exact");
  cJSON *maps = cJSON_AddArrayToObject(root, "maps"), *envs = cJSON_AddArrayToObject(root, "envs");
  for (size_t i = 0; i < c->n_map; i++)
    MM_TRY(map_json(&c->map[i], maps));
  for (size_t i = 0; i < c->n_env; i++)
    MM_TRY(env_json(&c->env[i], envs));
  return MM_OK;
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

// What is wrong with an environment's settings, or with a map's eta there, shows before there is a
// folder.
static mm_status rehearse(const mm_transfer_config *c) {
  for (size_t i = 0; i < c->n_map * c->n_env; i++) {
    const mm_transfer_map *row = &c->map[i / c->n_env];
    const mm_transfer_env *column = &c->env[i % c->n_env];
    mm_settings settings = column->settings;
    double *eta = mm_settings_number(&settings, "eta");
    if (i >= c->n_env && !(row->eta > 0)) continue; // as the first
    if (eta && row->eta > 0) *eta = row->eta;
    MM_TRY(mm_study_rehearse(column->env, row->map, &settings, c->seed));
  }
  return MM_OK;
}

static mm_status make_plan(const mm_transfer_config *config, cJSON **out) {
  cJSON *plan = cJSON_CreateObject();
  mm_status status = rehearse(config);
  if (status == MM_OK) status = fill(config, plan);
  return mm_plan_end(plan, status, out);
}

mm_status mm_transfer_create(const char *folder, const mm_transfer_config *config, mm_run **out) {
  mm_study study = { 0 };
  cJSON *plan;
  *out = NULL;
  MM_TRY(make_plan(config, &plan));
  mm_status status = mm_study_make_run(&study, folder, plan, NULL);
  if (status == MM_OK) status = copy_tasks(config, folder);
  if (status == MM_OK)
    *out = study.run;
  else
    mm_study_release(&study);
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
  mm_transfer_map *row = &p->row[i];
  MM_TRY(MM_JSON_KEYS(object, source, "name", "label", "control", "tuned", "tuned_q", "eta",
                      "map_file"));
  MM_TRY(read_names(object, source, p->name[i]));
  MM_TRY(mm_json_get_bool(object, source, "control", &row->control));
  MM_TRY(mm_json_get_bool(object, source, "tuned", &row->tuned));
  if (mm_json_find(object, "tuned_q"))
    MM_TRY(mm_json_get_bool(object, source, "tuned_q", &row->tuned_q));
  if (mm_json_find(object, "eta")) MM_TRY(mm_json_get_number(object, source, "eta", &row->eta));
  MM_TRY(mm_plan_read_map(object, source, &p->map[i]));
  row->map = p->map[i];
  row->name = p->name[i][0];
  row->label = p->name[i][1];
  return MM_OK;
}

// Without a folder the task file is still where it was.
static mm_status read_env(const cJSON *object, const char *source, const char *folder,
                          mm_transfer_plan *p, size_t i) {
  mm_algo algo;
  char *task;
  mm_transfer_env *column = &p->column[i];
  char(*name)[MM_PLAN_NAME_SIZE] = p->name[p->config.n_map + i];
  MM_TRY(MM_JSON_KEYS(object, source, "name", "label", "file", "algo", "settings"));
  MM_TRY(read_names(object, source, name));
  MM_TRY(mm_plan_read_algo(object, source, &algo));
  MM_TRY(mm_plan_read_settings(mm_json_find(object, "settings"), source, algo, &column->settings));
  MM_TRY(mm_plan_read_file(object, source, &task));
  mm_status status = folder ? mm_plan_copy_task(task, i, folder) : MM_OK;
  if (status == MM_OK)
    status = folder ? mm_plan_open_env(name[0], task, i, folder, &p->env[i])
                    : mm_env_open(name[0], &p->env[i]);
  mm_free(task);
  MM_TRY(status);
  column->env = p->env[i];
  column->name = name[0];
  column->label = name[1];
  return MM_OK;
}

// Everything that the plan owns but the maps and environments themselves is one block.
static mm_status alloc_plan(const mm_transfer_config *c, mm_transfer_plan **out) {
  const size_t row = sizeof(mm_transfer_map), column = sizeof(mm_transfer_env);
  const size_t names = (c->n_map + c->n_env) * sizeof *(*out)->name;
  mm_arena arena;
  MM_TRY(mm_arena_create(
      mm_arena_size_of(sizeof **out) + mm_arena_size_of(c->n_map * row) +
          mm_arena_size_of(c->n_env * column) + mm_arena_size_of(c->n_map * sizeof(mm_map *)) +
          mm_arena_size_of(c->n_env * sizeof(mm_env *)) + mm_arena_size_of(names),
      &arena));
  mm_transfer_plan *p = *out = mm_arena_take(&arena, sizeof *p);
  p->row = mm_arena_take(&arena, c->n_map * row);
  p->column = mm_arena_take(&arena, c->n_env * column);
  p->map = mm_arena_take(&arena, c->n_map * sizeof(mm_map *));
  p->env = mm_arena_take(&arena, c->n_env * sizeof(mm_env *));
  p->name = mm_arena_take(&arena, names);
  p->arena = arena;
  p->config = *c;
  p->config.map = p->row;
  p->config.env = p->column;
  return MM_OK;
}

static mm_status fill_plan(const cJSON *maps, const cJSON *envs, const char *source,
                           const char *folder, mm_transfer_plan *p) {
  const cJSON *map = maps->child, *env = envs->child;
  for (size_t i = 0; i < p->config.n_map; i++, map = map->next)
    MM_TRY(read_map(map, source, p, i));
  for (size_t i = 0; i < p->config.n_env; i++, env = env->next)
    MM_TRY(read_env(env, source, folder, p, i));
  return MM_OK;
}

static mm_status read_plan(const cJSON *root, const char *source, const char *folder,
                           mm_transfer_plan **out) {
  const cJSON *maps, *envs;
  mm_transfer_config c = { 0 };
  MM_TRY(mm_plan_read_command(root, source, "transfer"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "seed", "seeds", "tune_seeds", "tune_budget",
                      "exact", "maps", "envs"));
  MM_TRY(mm_plan_read_seed(root, source, &c.seed));
  MM_TRY(mm_plan_read_count(root, source, "seeds", 1, MM_STUDY_SEEDS_MAX, &c.n_seed));
  MM_TRY(mm_plan_read_count(root, source, "tune_seeds", 0, MM_STUDY_SEEDS_MAX, &c.n_tune));
  if (mm_json_find(root, "tune_budget"))
    MM_TRY(mm_json_get_number(root, source, "tune_budget", &c.tune_budget));
  if (mm_json_find(root, "exact")) MM_TRY(mm_json_get_bool(root, source, "exact", &c.exact));
  MM_TRY(mm_json_get_array(root, source, "maps", 1, LIST_MAX, &maps, &c.n_map));
  MM_TRY(mm_json_get_array(root, source, "envs", 1, LIST_MAX, &envs, &c.n_env));
  MM_TRY(alloc_plan(&c, out));
  return fill_plan(maps, envs, source, folder, *out);
}

mm_status mm_transfer_resume(const char *folder, mm_run **run, mm_transfer_plan **out) {
  char source[MM_STUDY_SOURCE_SIZE];
  mm_study study = { 0 };
  cJSON *root = NULL;
  *run = NULL;
  *out = NULL;
  MM_TRY(mm_study_take_run(&study, folder));
  mm_status status = mm_study_plan(study.run, &root, source);
  if (status == MM_OK) status = read_plan(root, source, mm_study_folder(&study), out);
  cJSON_Delete(root);
  if (status == MM_OK) {
    *run = (*out)->config.run = study.run;
    return MM_OK;
  }
  mm_transfer_plan_release(*out);
  *out = NULL;
  mm_study_release(&study);
  return status;
}

// Numbers of a tree that was made are texts: only as a whole text is a plan what is read.
static mm_status read_again(cJSON *plan, const char *source, cJSON **out) {
  char *text;
  MM_TRY(mm_plan_print(plan, "a table", &text));
  mm_status status = mm_json_parse(text, strlen(text), source, out);
  mm_free(text);
  if (status == MM_OK) status = mm_plan_take_plugins(*out, source);
  return status;
}

mm_status mm_transfer_plan_of(const mm_transfer_config *config, mm_transfer_plan **out) {
  static const char source[] = "the plan of a table";
  cJSON *made, *plan = NULL;
  *out = NULL;
  MM_TRY(make_plan(config, &made));
  mm_status status = read_again(made, source, &plan);
  if (status == MM_OK) status = read_plan(plan, source, NULL, out);
  cJSON_Delete(plan);
  if (status == MM_OK) return MM_OK;
  mm_transfer_plan_release(*out);
  *out = NULL;
  return status;
}

const mm_transfer_config *mm_transfer_plan_config(const mm_transfer_plan *p) {
  return &p->config;
}

void mm_transfer_plan_release(mm_transfer_plan *p) {
  if (!p) return;
  for (size_t i = 0; i < p->config.n_map; i++)
    mm_map_destroy(p->map[i]);
  for (size_t i = 0; i < p->config.n_env; i++)
    mm_env_destroy(p->env[i]);
  mm_arena arena = p->arena; // the block holds *p
  mm_arena_destroy(&arena);
}
