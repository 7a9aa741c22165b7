// SPDX-License-Identifier: Apache-2.0
// The public interface of studies (mirrormap/study.h), as far as it is not the same for all of them
// (study/jobs/study.c): a config becomes the plan of its kind, a folder is opened by whose it is.

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/host/cuda.h"
#include "base/config.h"
#include "env/grid/grid_task.h"
#include "mirrormap/settings.h"
#include "study/learn/learn.h"
#include "study/run/run.h"
#include "study/train/train.h"
#include "study/transfer/transfer_plan.h"
#include "study/tune/tune.h"

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

// A schedule has its own number of generations.
static void take_schedule(mm_search *search) {
  mm_phase phase[MM_PHASES_MAX];
  if (strcmp(search->schedule, "-") == 0) return;
  search->generations = 0;
  for (size_t i = mm_search_phases(search, phase); i-- > 0;)
    search->generations += (double)phase[i].generations;
}

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
  if (status == MM_OK) take_schedule(&plan->settings.search);
  if (status == MM_OK) status = mm_learn_create(folder, plan, &learn);
  mm_free(plan);
  if (status == MM_OK) *out = mm_learn_study(learn);
  return status;
}

// The i-th map, opened by the name of what it is made of, or a copy of the caller's own.
static mm_status take_map(const mm_study_config *c, size_t i, const char *name, mm_map **out) {
  char *text;
  if (!c->open_map || !c->open_map[i]) return mm_map_open(name, out);
  MM_TRY(mm_map_format(c->open_map[i], NULL, &text));
  mm_status status = mm_map_parse(text, strlen(text), name, out);
  mm_map_text_free(text);
  return status;
}

static mm_status make_train(const char *folder, const mm_study_config *c, const mm_map *map,
                            mm_train **out) {
  mm_train_plan plan = { .seed = c->seed, .seeds = c->seeds };
  MM_TRY(copy_envs(c, &plan.env));
  MM_TRY(mm_plan_copy_name(c->map[0], "a map", plan.map));
  MM_TRY(resolve_name(c, c->env[0], &plan.settings));
  if (!sets_eta(c)) (void)mm_settings_take_eta(&plan.settings, map);
  return mm_train_create(folder, &plan, map, out);
}

static mm_status create_train(const char *folder, const mm_study_config *c, mm_study **out) {
  mm_map *map;
  mm_train *train;
  MM_TRY(take_map(c, 0, c->map[0], &map));
  mm_status status = make_train(folder, c, map, &train);
  if (status != MM_OK) {
    mm_map_destroy(map);
    return status;
  }
  mm_train_take_map(train, map);
  *out = mm_train_study(train);
  return MM_OK;
}

static mm_status load_space(const mm_study_config *c, mm_algo algo, mm_tune_space *out) {
  MM_TRY(mm_tune_space_load(c->space, algo, out));
  if (!c->method || mm_tune_method_find(c->method, &out->method)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "method '%.40s': expected grid, cma-es or halving", c->method);
}

static mm_status fill_tune(const mm_study_config *c, mm_tune_plan *plan) {
  MM_TRY(copy_envs(c, plan->env));
  for (size_t i = 0; i < c->n_map; i++)
    MM_TRY(mm_plan_copy_name(c->map[i], "a map", plan->map[i]));
  plan->n_map = c->n_map;
  for (size_t i = 0; i < c->n_env; i++)
    MM_TRY(resolve_name(c, c->env[i], &plan->settings[i]));
  MM_TRY(load_space(c, plan->settings[0].algo, &plan->space));
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
    status = take_map(c, i, c->map[i], &map[i]);
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
    MM_TRY(mm_study_base_map(c->map[i], base));
    MM_TRY(take_map(c, i, base, &t->map[i]));
    t->row[i] = mm_transfer_row(c->map[i], t->map[i], !sets_eta(c));
    if (c->map_label) t->row[i].label = c->map_label[i];
    t->row[i].control = i >= c->n_map - c->n_control;
  }
  for (size_t i = 0; i < c->n_env; i++) {
    MM_TRY(mm_env_open(c->env[i], &t->env[i]));
    t->column[i] = (mm_transfer_env){ .env = t->env[i], .name = c->env[i], .label = c->env[i] };
    if (c->env_label) t->column[i].label = c->env_label[i];
    MM_TRY(resolve(c, t->env[i], &t->column[i].settings));
  }
  return MM_OK;
}

static void close_table(const mm_study_config *c, table_lists *t) {
  for (size_t i = 0; t->map && t->env && i < c->n_map; i++)
    mm_map_destroy(t->map[i]);
  for (size_t i = 0; t->map && t->env && i < c->n_env; i++)
    mm_env_destroy(t->env[i]);
  mm_free(t->row);
  mm_free(t->column);
  mm_free(t->map);
  mm_free(t->env);
}

// The table of a config; to be closed in either case.
static mm_status make_table(const mm_study_config *c, table_lists *t, mm_transfer_config *out) {
  *t = (table_lists){ .row = mm_alloc_array(c->n_map, sizeof *t->row),
                      .column = mm_alloc_array(c->n_env, sizeof *t->column),
                      .map = mm_alloc_array(c->n_map, sizeof *t->map),
                      .env = mm_alloc_array(c->n_env, sizeof *t->env) };
  *out = (mm_transfer_config){ .map = t->row,
                               .env = t->column,
                               .n_map = c->n_map,
                               .n_env = c->n_env,
                               .n_seed = c->seeds,
                               .seed = c->seed,
                               .n_tune = c->tune_seeds };
  return open_table(c, t);
}

static mm_status create_transfer(const char *folder, const mm_study_config *c, mm_study **out) {
  table_lists t;
  mm_transfer_config config;
  mm_run *run = NULL;
  mm_status status = make_table(c, &t, &config);
  // as many steps as were asked for, or as the candidates take, if that is more
  const double least = status == MM_OK ? mm_transfer_least_budget(&config) : 0;
  if (least > 0 && c->tune_budget > 0) config.tune_budget = fmax(least, c->tune_budget);
  if (status == MM_OK)
    status = folder ? mm_transfer_create(folder, &config, &run) : mm_transfer_open(&config, out);
  mm_run_close(run);
  close_table(c, &t);
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
  static const size_t envs[] = { MM_LEARN_ENVS, 1, MM_STUDY_LIST_MAX, MM_TUNE_ENVS };
  static const size_t maps[][2] = {
    { 0, 1 }, { 1, 1 }, { 1, MM_STUDY_LIST_MAX }, { 1, MM_TUNE_MAPS }
  };
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
  if (c->n_control > c->n_map)
    return MM_FAIL(MM_ERR_INPUT, "%s: %zu of %zu maps are controls", kind, c->n_control, c->n_map);
  if (c->kind == MM_STUDY_TUNE && !c->space)
    return MM_FAIL(MM_ERR_INPUT, "%s: expected the file of a space", kind);
  return MM_OK;
}

// Which defaults a program's struct has behind its end depends on its kind.
static mm_status take_config(const mm_study_config *from, mm_study_config *to) {
  *to = (mm_study_config){ .kind = MM_STUDY_LEARN };
  MM_TRY(mm_config_take("mm_study_config", from, to, sizeof *to));
  *to = mm_study_config_default(to->kind);
  MM_TRY(mm_config_take("mm_study_config", from, to, sizeof *to));
  return check_counts(to);
}

static mm_status create(const char *folder, const mm_study_config *c, mm_study **out) {
  if (!folder && (c->kind == MM_STUDY_LEARN || c->kind == MM_STUDY_TUNE))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected a folder", mm_study_kind_name(c->kind));
  if (c->kind == MM_STUDY_LEARN) return create_learn(folder, c, out);
  if (c->kind == MM_STUDY_TRAIN) return create_train(folder, c, out);
  if (c->kind == MM_STUDY_TRANSFER)
    MM_TRY(create_transfer(folder, c, out));
  else
    MM_TRY(create_tune(folder, c));
  return folder ? mm_study_open(folder, out) : MM_OK;
}

mm_status mm_study_create(const char *folder, const mm_study_config *config, mm_study **out) {
  mm_study_config c;
  *out = NULL;
  MM_TRY(take_config(config, &c));
  char *const *before = mm_run_made_by(c.argv);
  mm_status status = create(folder, &c, out);
  mm_run_made_by(before);
  return status;
}

mm_status mm_study_least_budget(const mm_study_config *config, double *out) {
  mm_study_config c;
  table_lists t;
  mm_transfer_config table;
  *out = 0;
  MM_TRY(take_config(config, &c));
  if (c.kind != MM_STUDY_TRANSFER) return MM_OK;
  mm_status status = make_table(&c, &t, &table);
  if (status == MM_OK) *out = mm_transfer_least_budget(&table);
  close_table(&c, &t);
  return status;
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

// ---------------------------------------------------------------------------------------------
// Devices

static mm_status check_env(const mm_env *env, const mm_settings *settings) {
  mm_job job = { .env = env };
  mm_settings_bind(settings, &job);
  return mm_cuda_takes(&job) ? MM_OK : MM_ERR_UNSUPPORTED;
}

// Whatever a trial may ask for: the settings' own values, then the ends of every range and all
// choices, each alone. (A device refuses a training run for one setting, not for two together.)
static mm_status check_space(const mm_env *env, const mm_settings *baseline,
                             const mm_tune_space *space) {
  double value[MM_TUNE_PARAMETERS];
  for (size_t j = 0; j < space->n; j++)
    value[j] = NAN;
  for (size_t j = 0; j < space->n; value[j++] = NAN) {
    const mm_tune_parameter *p = &space->parameter[j];
    const bool choice = p->scale == MM_TUNE_CHOICE;
    for (size_t k = 0; k < (choice ? p->n_choice : 2); k++) {
      mm_settings settings = *baseline;
      value[j] = choice ? (double)k : k == 0 ? p->low : p->high;
      // what no training run accepts is no trial either
      if (mm_tune_apply(space, value, &settings) == MM_OK) MM_TRY(check_env(env, &settings));
    }
  }
  return MM_OK;
}

static mm_status check_config(const mm_study_config *c, size_t i) {
  mm_env *env;
  mm_settings settings;
  mm_tune_space *space = NULL;
  MM_TRY(mm_env_open(c->env[i], &env));
  mm_status status = resolve(c, env, &settings);
  if (status == MM_OK) status = check_env(env, &settings);
  if (status == MM_OK && c->kind == MM_STUDY_TUNE) {
    space = mm_alloc(sizeof *space);
    if (!space) status = MM_FAIL(MM_ERR_MEMORY, "no memory for the space of a tuning");
    if (status == MM_OK) status = load_space(c, settings.algo, space);
    if (status == MM_OK) status = check_space(env, &settings, space);
  }
  mm_free(space);
  mm_env_destroy(env);
  return status;
}

static mm_status check_study(const mm_study *study) {
  mm_study_info info = { .size = sizeof info };
  mm_tune_view tuning = { .plan = NULL };
  MM_TRY(mm_study_describe(study, &info));
  if (info.kind == MM_STUDY_TUNE) mm_tune_look((const mm_tune *)study, &tuning);
  for (size_t i = 0; i < info.n_env; i++) {
    mm_study_env_info env = { .size = sizeof env };
    MM_TRY(mm_study_env_at(study, i, &env));
    MM_TRY(check_env(env.env, env.settings));
    if (tuning.plan) MM_TRY(check_space(env.env, env.settings, &tuning.plan->space));
  }
  return MM_OK;
}

mm_status mm_study_check_devices(const mm_study_config *config, const mm_study *study) {
  mm_study_config c;
  if (!config) return check_study(study);
  MM_TRY(take_config(config, &c));
  for (size_t i = 0; i < c.n_env; i++)
    MM_TRY(check_config(&c, i));
  return MM_OK;
}
