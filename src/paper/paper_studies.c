// SPDX-License-Identifier: Apache-2.0
// The studies that a reproduction is made of, each a run in a folder of its own like one of `learn`
// or `transfer`: searches for maps, and tables of maps on one environment.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/paper_internal.h"
#include "paper/published.h"
#include "show/figure/search_figure.h"
#include "show/plot/gnuplot.h"
#include "study/transfer/transfer_files.h"
#include "study/transfer/transfer_plan.h"

enum { SAVE_SECONDS = 60 };

// The folder of a study; its name is also the stage's.
static void enter_stage(mm_paper *r, const char *kind, const char *env, const char *target,
                        char folder[MM_PAPER_PATH]) {
  snprintf(r->stage, sizeof r->stage, "%s-%s%s%s", kind, env, target[0] ? "-" : "", target);
  mm_paper_path(r, r->stage, folder);
}

// ---------------------------------------------------------------------------------------------
// Searches

static void show_search(size_t done, size_t total, uint64_t env_steps, void *user) {
  const mm_paper *r = user;
  mm_study_search view;
  (void)done, (void)total;
  mm_learn_look(r->search, &view);
  bool population = view.stage == MM_STAGE_POPULATION;
  double trained = r->search_total - view.steps_left + (population ? (double)env_steps : 0);
  mm_paper_tell(r, trained, r->search_total, "steps");
}

// The search that is there, if it is the one that the plan asks for.
static mm_status resume_search(mm_paper *r, const char *folder, const char *env,
                               const mm_settings *settings) {
  MM_TRY(mm_learn_resume(folder, 0, &r->search));
  const mm_learn_plan *plan = mm_learn_get_plan(r->search);
  if (plan->n_env == 1 && strcmp(plan->env[0], env) == 0 && plan->seed == r->plan.seed &&
      mm_paper_same_settings(&plan->settings, settings, true, NULL))
    return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s/run.db: not the search of this reproduction: another environment, seed or "
                 "settings",
                 folder);
}

static mm_status open_search(mm_paper *r, const char *folder, const char *env,
                             const mm_settings *settings) {
  if (mm_paper_has_run(folder)) return resume_search(r, folder, env, settings);
  mm_learn_plan *plan = mm_alloc(sizeof *plan);
  if (!plan) return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a search");
  memset(plan, 0, sizeof *plan);
  plan->n_env = 1;
  snprintf(plan->env[0], sizeof plan->env[0], "%s", env);
  plan->settings = *settings;
  plan->seed = r->plan.seed;
  mm_status status = mm_learn_create(folder, plan, &r->search);
  mm_free(plan);
  return status;
}

static mm_status advance(mm_paper *r) {
  mm_backend_config backend = mm_paper_backend(r, show_search);
  mm_study_search view;
  mm_learn_look(r->search, &view);
  r->search_total = view.steps_left;
  mm_status status = MM_OK;
  while (status == MM_OK && !mm_learn_done(r->search))
    status = mm_learn_advance(r->search, &backend);
  mm_learn_look(r->search, &view);
  r->result.env_steps += view.session_env_steps;
  mm_paper_ran(r, mm_learn_study(r->search)->machine.ran);
  mm_study_end(mm_learn_study(r->search), mm_paper_outcome(status, 0));
  return status;
}

// What the search says of itself: on validation tasks, by which its map was chosen.
static mm_status note_search(mm_paper *r) {
  mm_study_search view;
  mm_learn_look(r->search, &view);
  r->search_steps = (double)view.env_steps;
  if (!view.best.known) return MM_OK;
  return mm_artefact_note(
      &r->result,
      "%s: %lld generations, %llu training runs, %.3g steps; best mean at generation %lld with "
      "%.5g on "
      "its validation tasks, minus negentropy %+.3g (%.2g), minus l2 %+.3g (%.2g)",
      r->stage, (long long)view.generation, (unsigned long long)view.evaluations,
      (double)view.env_steps, (long long)view.best.generation, view.best.value.mean,
      view.best.over_negentropy.mean, view.best.over_negentropy.sem, view.best.over_l2.mean,
      view.best.over_l2.sem);
}

static mm_status finish_search(mm_paper *r, mm_map **out) {
  char path[MM_PAPER_PATH + 16], program[1024];
  MM_TRY(mm_learn_write_maps(r->search));
  MM_TRY(note_search(r));
  const mm_study *study = mm_learn_study(r->search);
  snprintf(path, sizeof path, "%s/search.svg", mm_study_folder(study));
  if (!mm_paper_exists(path) && mm_gnuplot_find(program, sizeof program) == MM_OK &&
      mm_search_figure(study->run, path) != MM_OK)
    mm_paper_warn(r, mm_last_error());
  snprintf(path, sizeof path, "%s/best.json", mm_study_folder(study));
  return mm_map_load(path, out);
}

mm_status mm_paper_learn(mm_paper *r, const char *env, const char *target,
                         const mm_settings *settings, mm_map **out) {
  char folder[MM_PAPER_PATH];
  enter_stage(r, "learn", env, target, folder);
  MM_TRY(mm_paper_borrow(r, r->stage, settings, out));
  if (*out) return MM_OK;
  mm_status status = open_search(r, folder, env, settings);
  if (status == MM_OK) status = advance(r);
  if (status == MM_OK) status = finish_search(r, out);
  mm_learn_close(r->search);
  r->search = NULL;
  return status;
}

// ---------------------------------------------------------------------------------------------
// Tables

static void show_table(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)env_steps;
  mm_paper_tell(user, (double)done, (double)total, "runs");
}

static void show_trouble(const char *sentence, void *user) {
  mm_paper_warn(user, sentence);
}

// Whatever their cards say: those name the program that wrote them.
static bool same_map(const mm_map *a, const mm_map *b) {
  char *one = NULL, *two = NULL;
  bool same = mm_map_format(a, "{}", &one) == MM_OK && mm_map_format(b, "{}", &two) == MM_OK &&
              strcmp(one, two) == 0;
  mm_free(one);
  mm_free(two);
  return same;
}

// Seeds of tuning are the stored table's own affair: it goes on with those it began with.
static bool same_table(const mm_transfer_config *a, const mm_transfer_config *b) {
  if (a->n_map != b->n_map || a->n_env != b->n_env || a->seed != b->seed ||
      a->n_seed != b->n_seed || a->exact != b->exact ||
      strcmp(a->env[0].name, b->env[0].name) != 0 ||
      !mm_paper_same_settings(&a->env[0].settings, &b->env[0].settings, false, NULL))
    return false;
  for (size_t i = 0; i < a->n_map; i++)
    if (strcmp(a->map[i].label, b->map[i].label) != 0 || a->map[i].tuned != b->map[i].tuned ||
        !same_map(a->map[i].map, b->map[i].map))
      return false;
  return true;
}

// The table in `folder`, begun or resumed; *plan holds what the config of a resumed one points to.
static mm_status open_table(const char *folder, mm_transfer_config *config,
                            mm_transfer_plan **plan) {
  if (!mm_paper_has_run(folder)) return mm_transfer_create(folder, config, &config->run);
  mm_run *run;
  MM_TRY(mm_transfer_resume(folder, &run, plan));
  bool same = same_table(mm_transfer_plan_config(*plan), config);
  *config = *mm_transfer_plan_config(*plan);
  config->run = run;
  if (same) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s/run.db: not the table of this reproduction: other maps, seeds or settings",
                 folder);
}

// The row of the paper's table that one of ours repeats; beyond the table for none.
static size_t published_row(const char *label, const char *env) {
  if (strcmp(label, "negentropy") == 0) return MM_PUBLISHED_ENVS;
  size_t row = mm_published_env(strcmp(label, "learned") == 0 ? env : label);
  return row < MM_PUBLISHED_ENVS ? row : MM_PUBLISHED_ENVS + 1;
}

static mm_status take_cell(mm_paper *r, const char *target, mm_transfer *x, size_t m) {
  const mm_transfer_map *row = &x->config.map[m];
  mm_transfer_cell *from = &x->cell[m];
  const char *name = x->config.env[0].name;
  size_t map = published_row(row->label, name), env = mm_published_env(name);
  mm_artefact_cell *cell;
  MM_TRY(mm_artefact_add(&r->result, name, row->label, target, x->config.n_seed, &cell));
  cell->control = row->control;
  cell->eta = from->eta;
  cell->optimal = x->optimal_mean[0];
  cell->n_failed = from->n_failed;
  cell->n_numeric = from->n_numeric;
  cell->paper = mm_published_final(map, env);
  cell->has_paper_colour = map < MM_PUBLISHED_ENVS && env < MM_PUBLISHED_ENVS;
  cell->paper_better = mm_published_is_better(map, env);
  memcpy(cell->run[MM_QUANTITY_FINAL], x->worth + m * x->config.n_seed,
         x->config.n_seed * sizeof(double));
  if (from->n_curve == 0) return MM_OK;
  cell->curve[cell->n_curve++] = (mm_artefact_curve){ "value", from->curve, from->n_curve };
  from->curve = NULL; // now the cell's
  return MM_OK;
}

// A table with holes is still a table, which the end of it all tells of; without any number it is a
// failure.
static mm_status judge(mm_paper *r, const mm_transfer *x) {
  char text[MM_ERROR_SIZE + 320];
  size_t n = x->config.n_map * x->config.n_seed;
  if (x->report.n_failed == n && n > 0) return MM_FAIL(x->trouble, "%s", x->report.error);
  if (x->report.n_failed + x->report.n_numeric == 0) return MM_OK;
  snprintf(text, sizeof text, "%s: %zu of %zu runs failed, %zu broke down: %s", r->stage,
           x->report.n_failed, n, x->report.n_numeric, x->report.error);
  mm_paper_warn(r, text);
  snprintf(text, sizeof text, "%s: ", r->stage);
  mm_paper_count_failures(r, x->report.n_failed, text, x->report.error);
  return MM_OK;
}

static mm_status take_results(mm_paper *r, const char *target, mm_transfer *x) {
  MM_TRY(judge(r, x));
  MM_TRY(mm_transfer_write(x, mm_run_folder_of(x->config.run)));
  const size_t first = r->result.n_cell;
  for (size_t m = 0; m < x->config.n_map; m++) {
    MM_TRY(take_cell(r, target, x, m));
    if (x->config.map[m].tuned) r->tune_seeds = x->config.n_tune;
  }
  if (x->config.exact) MM_TRY(mm_artefact_measure(x, r->result.cell + first));
  r->result.result_steps += x->env_steps;
  return MM_OK;
}

static mm_status run_table(mm_paper *r, const char *target, mm_transfer_config *config) {
  mm_transfer x;
  config->backend = mm_paper_backend(r, show_table);
  config->save_seconds = SAVE_SECONDS;
  config->trouble = show_trouble;
  mm_status status = mm_transfer_run(config, &x);
  r->result.env_steps += x.own_steps;
  mm_paper_ran(r, x.machine.ran);
  if (status == MM_OK) status = take_results(r, target, &x);
  (void)mm_run_session_end(config->run, mm_paper_outcome(status, x.report.n_failed));
  mm_transfer_release(&x);
  return status;
}

mm_status mm_paper_table(mm_paper *r, const char *env, const char *target, bool exact,
                         const mm_settings *settings, const mm_transfer_map *row, size_t n_row) {
  mm_suite suite = mm_paper_suite(env);
  char folder[MM_PAPER_PATH];
  mm_env *opened;
  mm_transfer_plan *plan = NULL;
  MM_TRY(mm_env_open(env, &opened));
  mm_transfer_env column = { .env = opened, .name = env, .label = env, .settings = *settings };
  mm_transfer_config config = { .map = row,
                                .env = &column,
                                .n_map = n_row,
                                .n_env = 1,
                                .n_seed = mm_paper_seeds(&r->plan, suite),
                                .seed = r->plan.seed,
                                .exact = exact,
                                .n_tune = mm_paper_tune_seeds(&r->plan, suite) };
  enter_stage(r, "table", env, target, folder);
  mm_status status = open_table(folder, &config, &plan);
  if (status == MM_OK) status = run_table(r, target, &config);
  mm_run_close(config.run);
  mm_transfer_plan_release(plan);
  mm_env_destroy(opened);
  return status;
}
