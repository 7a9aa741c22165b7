// SPDX-License-Identifier: Apache-2.0
// The public interface of studies (mirrormap/study.h), as far as it is not the same for all of them
// (study/jobs/study.c): a config becomes the plan of its kind, a folder is opened by whose it is.

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "env/grid/grid_task.h"
#include "mirrormap/settings.h"
#include "study/learn/learn.h"
#include "study/run/run.h"
#include "study/train/train.h"
#include "study/transfer/transfer_plan.h"
#include "study/tune/tune.h"

enum { LIST_MAX = 1000 };

void mm_study_config_init(mm_study_config *out, size_t size, mm_study_kind kind) {
  const mm_study_config ours = { .kind = kind,
                                 .seeds = kind == MM_STUDY_TRAIN  ? 1
                                          : kind == MM_STUDY_TUNE ? 8
                                                                  : 32,
                                 .tune_seeds = 8,
                                 .validate = 32,
                                 .prune = true };
  mm_config_give(&ours, sizeof ours, out, size);
}

// Which defaults a program's struct has behind its end depends on its kind.
static mm_status take_config(const mm_study_config *from, mm_study_config *to) {
  *to = (mm_study_config){ .kind = MM_STUDY_LEARN };
  MM_TRY(mm_config_take("mm_study_config", from, to, sizeof *to));
  *to = mm_study_config_default(to->kind);
  return mm_config_take("mm_study_config", from, to, sizeof *to);
}

// ---------------------------------------------------------------------------------------------
// Settings

// What trains on an environment unless something else is asked for; of a task file tabular PMD.
static mm_env_info facts_of(const mm_env *env) {
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++)
    if (strcmp(info.id, mm_env_id(env)) == 0) return info;
  return (mm_env_info){ .algo = mm_algo_name(MM_ALGO_PMD), .preset = "gridworld" };
}

static mm_status set_one(const char *text, mm_settings *out) {
  char key[MM_SETTING_TEXT_SIZE];
  size_t n = strcspn(text, "=");
  if (text[n] != '=' || n >= sizeof key)
    return MM_FAIL(MM_ERR_INPUT, "setting '%.80s': expected key=value", text);
  snprintf(key, sizeof key, "%.*s", (int)n, text);
  return mm_settings_set(out, key, text + n + 1);
}

static mm_status resolve(const mm_study_config *c, const mm_env *env, mm_settings *out) {
  const mm_env_info facts = facts_of(env);
  const char *name = c->algo ? c->algo : facts.algo;
  mm_algo algo;
  if (!mm_algo_find(name, &algo)) return MM_FAIL(MM_ERR_INPUT, "unknown algorithm '%.40s'", name);
  if (mm_learner_of(algo)->suits == MM_SUITS_TABLES && !mm_env_is_grid(env))
    return MM_FAIL(MM_ERR_INPUT, "environment '%s' is not a Grid-World: %s has a table of states",
                   mm_env_id(env), name);
  if (!mm_algo_has_map(algo) && (c->kind == MM_STUDY_LEARN || c->kind == MM_STUDY_TRANSFER))
    return MM_FAIL(MM_ERR_INPUT, "%s takes no map: there is nothing to %s", name,
                   c->kind == MM_STUDY_LEARN ? "learn" : "compare");
  *out = mm_settings_default(algo);
  mm_settings_fit(out, facts.preset);
  if (c->preset) MM_TRY(mm_preset_apply(c->preset, out));
  for (size_t i = 0; i < c->n_set; i++)
    MM_TRY(set_one(c->set[i], out));
  return MM_OK;
}

// Does the caller say what eta is? Then a map's own does not count.
static bool sets_eta(const mm_study_config *c) {
  for (size_t i = 0; i < c->n_set; i++)
    if (strncmp(c->set[i], "eta=", 4) == 0) return true;
  return false;
}

static mm_status resolve_name(const mm_study_config *c, const char *name, mm_settings *out) {
  mm_env *env;
  MM_TRY(mm_env_open(name, &env));
  mm_status status = resolve(c, env, out);
  mm_env_destroy(env);
  return status;
}

static mm_status copy_envs(const mm_study_config *c, char (*out)[MM_PLAN_NAME_SIZE]) {
  for (size_t i = 0; i < c->n_env; i++)
    MM_TRY(mm_plan_copy_name(c->env[i], "an environment", out[i]));
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Plans

static mm_status create_learn(const char *folder, const mm_study_config *c, mm_study **out) {
  mm_learn *learn = NULL;
  mm_learn_plan *plan = mm_alloc(sizeof *plan);
  if (!plan) return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a search");
  memset(plan, 0, sizeof *plan);
  plan->n_env = c->n_env;
  plan->seed = c->seed;
  mm_status status = copy_envs(c, plan->env);
  if (status == MM_OK) status = resolve_name(c, c->env[0], &plan->settings);
  if (status == MM_OK && c->n_map > 0) status = mm_settings_set(&plan->settings, "init", c->map[0]);
  if (status == MM_OK) status = mm_learn_create(folder, plan, &learn);
  mm_free(plan);
  if (status == MM_OK) *out = mm_learn_study(learn);
  return status;
}

// The run is made with the caller's map, and taken up again with
// the one in its plan, which lives as long as the study.
static mm_status create_train(const char *folder, const mm_study_config *c, const mm_map *map) {
  mm_train_plan plan = { .seed = c->seed, .seeds = c->seeds };
  mm_train *train;
  MM_TRY(copy_envs(c, &plan.env));
  MM_TRY(mm_plan_copy_name(c->map[0], "a map", plan.map));
  MM_TRY(resolve_name(c, c->env[0], &plan.settings));
  if (!sets_eta(c)) (void)mm_settings_take_eta(&plan.settings, map);
  MM_TRY(mm_train_create(folder, &plan, map, &train));
  mm_train_close(train);
  return MM_OK;
}

static mm_status fill_tune(const mm_study_config *c, mm_tune_plan *plan) {
  MM_TRY(copy_envs(c, plan->env));
  for (size_t i = 0; i < c->n_map; i++)
    MM_TRY(mm_plan_copy_name(c->map[i], "a map", plan->map[i]));
  plan->n_map = c->n_map;
  for (size_t i = 0; i < c->n_env; i++)
    MM_TRY(resolve_name(c, c->env[i], &plan->settings[i]));
  MM_TRY(mm_tune_space_load(c->space, plan->settings[0].algo, &plan->space));
  plan->n_env = c->n_env;
  plan->trials = c->trials > 0 ? c->trials : mm_tune_usual_trials(&plan->space);
  plan->population = c->population;
  plan->seeds = c->seeds;
  plan->validate = c->validate;
  plan->prune = c->prune;
  plan->seed = c->seed;
  return MM_OK;
}

static mm_status create_tune(const char *folder, const mm_study_config *c) {
  mm_map *map[MM_TUNE_MAPS] = { 0 };
  mm_tune *tune = NULL;
  mm_tune_plan *plan = mm_alloc(sizeof *plan);
  if (!plan) return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a tuning");
  memset(plan, 0, sizeof *plan);
  mm_status status = fill_tune(c, plan);
  for (size_t i = 0; i < c->n_map && status == MM_OK; i++)
    status = mm_map_open(c->map[i], &map[i]);
  if (status == MM_OK) status = mm_tune_create(folder, plan, (const mm_map *const *)map, &tune);
  mm_free(plan);
  mm_tune_close(tune);
  for (size_t i = 0; i < MM_TUNE_MAPS; i++)
    mm_map_destroy(map[i]);
  return status;
}

// Maps and environments of a table, until its run has them.
typedef struct table_lists {
  mm_transfer_map *row;
  mm_transfer_env *column;
  mm_map **map;
  mm_env **env;
} table_lists;

static mm_status open_table(const mm_study_config *c, table_lists *t) {
  if (!t->row || !t->column || !t->map || !t->env)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a table");
  memset(t->map, 0, c->n_map * sizeof *t->map);
  memset(t->env, 0, c->n_env * sizeof *t->env);
  for (size_t i = 0; i < c->n_map; i++) {
    char base[MM_PLAN_NAME_SIZE];
    MM_TRY(mm_transfer_base(c->map[i], base));
    MM_TRY(mm_map_open(base, &t->map[i]));
    t->row[i] = mm_transfer_row(c->map[i], t->map[i], !sets_eta(c));
  }
  for (size_t i = 0; i < c->n_env; i++) {
    MM_TRY(mm_env_open(c->env[i], &t->env[i]));
    t->column[i] = (mm_transfer_env){ .env = t->env[i], .name = c->env[i], .label = c->env[i] };
    MM_TRY(resolve(c, t->env[i], &t->column[i].settings));
  }
  return MM_OK;
}

static mm_status create_transfer(const char *folder, const mm_study_config *c) {
  table_lists t = { .row = mm_alloc_array(c->n_map, sizeof *t.row),
                    .column = mm_alloc_array(c->n_env, sizeof *t.column),
                    .map = mm_alloc_array(c->n_map, sizeof *t.map),
                    .env = mm_alloc_array(c->n_env, sizeof *t.env) };
  mm_run *run = NULL;
  mm_status status = open_table(c, &t);
  mm_transfer_config config = { .map = t.row,
                                .env = t.column,
                                .n_map = c->n_map,
                                .n_env = c->n_env,
                                .n_seed = c->seeds,
                                .seed = c->seed,
                                .n_tune = c->tune_seeds };
  // as many steps as were asked for, or as the candidates take, if that is more
  const double least = status == MM_OK ? mm_transfer_least_budget(&config) : 0;
  if (least > 0 && c->tune_budget > 0) config.tune_budget = fmax(least, c->tune_budget);
  if (status == MM_OK) status = mm_transfer_create(folder, &config, &run);
  mm_run_close(run);
  for (size_t i = 0; t.map && t.env && i < c->n_map; i++)
    mm_map_destroy(t.map[i]);
  for (size_t i = 0; t.map && t.env && i < c->n_env; i++)
    mm_env_destroy(t.env[i]);
  mm_free(t.row);
  mm_free(t.column);
  mm_free(t.map);
  mm_free(t.env);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Creating and opening

// Names are the labels of rows and columns.
static mm_status check_names(const char *const *name, size_t n) {
  for (size_t i = 1; i < n; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(name[i], name[k]) == 0)
        return MM_FAIL(MM_ERR_INPUT, "'%.80s' is named twice", name[i]);
  return MM_OK;
}

// What a plan could not hold, or could not be read back from it.
static mm_status check_counts(const mm_study_config *c) {
  static const size_t envs[] = { MM_LEARN_ENVS, 1, LIST_MAX, MM_TUNE_ENVS };
  static const size_t maps[][2] = { { 0, 1 }, { 1, 1 }, { 1, LIST_MAX }, { 1, MM_TUNE_MAPS } };
  if ((unsigned)c->kind >= MM_STUDY_KINDS)
    return MM_FAIL(MM_ERR_INPUT, "mm_study_config: kind = %d: no such kind", (int)c->kind);
  const char *kind = mm_study_kind_name(c->kind);
  if (c->n_env == 0 || c->n_env > envs[c->kind])
    return MM_FAIL(MM_ERR_INPUT, "%s: %zu environments", kind, c->n_env);
  if (c->n_map < maps[c->kind][0] || c->n_map > maps[c->kind][1])
    return MM_FAIL(MM_ERR_INPUT, "%s: %zu maps", kind, c->n_map);
  if (c->seeds == 0 || c->seeds > MM_TRAIN_SEEDS_MAX || c->tune_seeds > MM_TRAIN_SEEDS_MAX ||
      c->seed > UINT64_MAX - (c->seeds - 1))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected 1 to %d seeds, and room for them behind the first",
                   kind, MM_TRAIN_SEEDS_MAX);
  MM_TRY(check_names(c->env, c->n_env));
  MM_TRY(check_names(c->map, c->n_map));
  if (!(c->tune_budget >= 0 && c->tune_budget <= 1e18))
    return MM_FAIL(MM_ERR_INPUT, "%s: tune_budget = %g: expected 0 to 1e18", kind, c->tune_budget);
  if (c->kind == MM_STUDY_TUNE && !c->space)
    return MM_FAIL(MM_ERR_INPUT, "%s: expected the file of a space", kind);
  return MM_OK;
}

mm_status mm_study_create(const char *folder, const mm_study_config *config, mm_study **out) {
  mm_study_config own;
  const mm_study_config *c = &own;
  mm_map *map = NULL;
  *out = NULL;
  MM_TRY(take_config(config, &own));
  MM_TRY(check_counts(c));
  if (c->kind == MM_STUDY_LEARN) return create_learn(folder, c, out);
  if (c->kind == MM_STUDY_TRANSFER) {
    MM_TRY(create_transfer(folder, c));
  } else if (c->kind == MM_STUDY_TUNE) {
    MM_TRY(create_tune(folder, c));
  } else {
    MM_TRY(mm_map_open(c->map[0], &map));
    mm_status status = create_train(folder, c, map);
    mm_map_destroy(map);
    MM_TRY(status);
  }
  return mm_study_open(folder, out);
}

mm_status mm_study_open(const char *folder, mm_study **out) {
  static const mm_study_class *const classes[MM_STUDY_KINDS] = {
    [MM_STUDY_LEARN] = &mm_learn_class,
    [MM_STUDY_TRAIN] = &mm_train_class,
    [MM_STUDY_TRANSFER] = &mm_transfer_class,
    [MM_STUDY_TUNE] = &mm_tune_class,
  };
  mm_run *run;
  int kind = 0;
  *out = NULL;
  MM_TRY(mm_run_open(folder, MM_RUN_READ, &run));
  while (kind < MM_STUDY_KINDS &&
         strcmp(mm_run_command(run), mm_study_kind_name((mm_study_kind)kind)) != 0)
    kind++;
  mm_status status = MM_OK;
  if (kind == MM_STUDY_KINDS)
    status = MM_FAIL(MM_ERR_INPUT, "%s: a run of '%.40s', expected learn, train, transfer or tune",
                     folder, mm_run_command(run));
  mm_run_close(run);
  return status == MM_OK ? classes[kind]->resume(folder, out) : status;
}
