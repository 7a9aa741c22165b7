// SPDX-License-Identifier: Apache-2.0
// A table of maps and environments as a study (mirrormap/study.h).

#include <math.h>
#include <string.h>

#include "study/transfer/transfer_files.h"
#include "study/transfer/transfer_plan.h"

typedef struct table_study {
  mm_study study;
  mm_transfer_plan *plan;
  mm_transfer table; // as far as it was run in this process
  bool complete;
} table_study;

static table_study *of(const mm_study *study) {
  return (table_study *)study;
}

// The one in `folder`, or one of the configuration.
static mm_status open_table(const char *folder, const mm_transfer_config *config, mm_study **out) {
  table_study *t = mm_alloc(sizeof *t);
  if (!t) return MM_FAIL(MM_ERR_MEMORY, "no memory for a table");
  memset(t, 0, sizeof *t);
  t->study.class = &mm_transfer_class;
  mm_status status = folder ? mm_transfer_resume(folder, &t->study.run, &t->plan)
                            : mm_transfer_plan_of(config, &t->plan);
  if (status == MM_OK)
    *out = &t->study;
  else
    mm_free(t);
  return status;
}

static mm_status study_resume(const char *folder, mm_study **out) {
  return open_table(folder, NULL, out);
}

mm_status mm_transfer_open(const mm_transfer_config *config, mm_study **out) {
  return open_table(NULL, config, out);
}

const mm_transfer *mm_transfer_table(const mm_study *study) {
  return &of(study)->table;
}

// A table with holes is complete for this process: they are open to whoever resumes.
static mm_status study_advance(mm_study *study, const mm_backend_config *backend,
                               double save_seconds) {
  table_study *t = of(study);
  mm_transfer_config config = *mm_transfer_plan_config(t->plan);
  config.run = study->run;
  config.backend = *backend;
  config.save_seconds = save_seconds;
  mm_transfer_release(&t->table);
  mm_status status = mm_transfer_run_in(study, &config, &t->table);
  t->complete = status == MM_OK;
  return status;
}

static bool study_done(const mm_study *study) {
  return of(study)->complete;
}

static void study_look(const mm_study *study, mm_study_progress *out) {
  const table_study *t = of(study);
  const mm_transfer_config *c = mm_transfer_plan_config(t->plan);
  *out = (mm_study_progress){ .done = (double)t->table.report.n_done,
                              .total = (double)c->n_map * (double)c->n_env * (double)c->n_seed,
                              .unit = "runs",
                              .n_failed = t->table.report.n_failed,
                              .n_numeric = t->table.report.n_numeric,
                              .env_steps = t->table.own_steps,
                              .seconds = t->table.wall_seconds };
}

static void study_describe(const mm_study *study, mm_study_info *out) {
  const table_study *t = of(study);
  const mm_transfer_config *c = mm_transfer_plan_config(t->plan);
  out->n_env = c->n_env;
  out->n_map = c->n_map;
  out->seed = c->seed;
  out->seeds = c->n_seed;
  out->steps = mm_transfer_planned_steps(c);
  out->complete = t->complete && t->table.report.n_failed == 0;
}

static void study_env(const mm_study *study, size_t i, mm_study_env_info *out) {
  const table_study *t = of(study);
  const mm_transfer_env *column = &mm_transfer_plan_config(t->plan)->env[i];
  out->name = column->name;
  out->label = column->label;
  out->env = column->env;
  out->settings = &column->settings;
  if (t->complete) out->optimal = t->table.optimal_mean[i];
}

static void study_map(const mm_study *study, size_t i, mm_study_map_info *out) {
  const mm_transfer_map *row = &mm_transfer_plan_config(of(study)->plan)->map[i];
  *out = (mm_study_map_info){ .name = row->name,
                              .label = row->label,
                              .map = row->map,
                              .control = row->control,
                              .tuned = row->tuned,
                              .tuned_q = row->tuned_q,
                              .eta = row->eta };
}

// Jobs are counted as [n_env][n_map][n_seed].
static void study_failures(const mm_study *study, mm_study_failures *out) {
  const mm_transfer *t = &of(study)->table;
  const mm_transfer_config *c = mm_transfer_plan_config(of(study)->plan);
  const size_t job = t->report.trouble;
  out->n = c->n_map * c->n_env * c->n_seed;
  out->n_done = t->report.n_done;
  out->n_failed = t->report.n_failed;
  out->n_numeric = t->report.n_numeric;
  if (out->n_failed + out->n_numeric == 0) return;
  out->status = t->trouble;
  out->map = c->map[job / c->n_seed % c->n_map].label;
  out->env = c->env[job / c->n_seed / c->n_map].label;
  out->error = t->report.error;
  out->seed = c->seed + job % c->n_seed;
}

mm_status mm_study_look_table(const mm_study *study, mm_study_table *out) {
  MM_TRY(mm_study_expect(study, MM_STUDY_TRANSFER));
  const mm_transfer *t = &of(study)->table;
  const mm_transfer_config *c = mm_transfer_plan_config(of(study)->plan);
  mm_study_table ours = { .env_steps = t->env_steps,
                          .tune_steps = t->tune_steps,
                          .tune_budget = c->tune_budget,
                          .tune_seeds = c->n_tune,
                          .all_found = t->all_found };
  for (int b = 0; b < MM_BASELINES; b++) {
    ours.baseline[b] = mm_transfer_baseline(c, (mm_baseline)b);
    ours.n_test[b] = t->n_test[b];
  }
  return mm_study_give(&ours, sizeof ours, out);
}

mm_status mm_study_conclude(const mm_study *study, mm_baseline baseline, size_t env, FILE *f) {
  MM_TRY(mm_study_expect(study, MM_STUDY_TRANSFER));
  const mm_transfer *t = &of(study)->table;
  const mm_transfer_config *c = mm_transfer_plan_config(of(study)->plan);
  const size_t from = mm_transfer_baseline(c, baseline);
  size_t n = 0;
  if (!of(study)->complete || env >= c->n_env || from == c->n_map)
    return MM_FAIL(MM_ERR_INPUT,
                   "nothing can be concluded without a table, its environment and its "
                   "baseline");
  mm_judged *row = mm_alloc_array(c->n_map, sizeof *row);
  if (!row) return MM_FAIL(MM_ERR_MEMORY, "no memory for a table's conclusions");
  for (size_t m = 0; m < c->n_map; m++)
    if (m != from)
      row[n++] = (mm_judged){ c->map[m].label, &mm_transfer_at(t, m, env)->over[baseline] };
  if (n > 0) mm_conclude(f, c->env[env].label, c->map[from].label, row, n);
  mm_free(row);
  return MM_OK;
}

static size_t study_cells(const mm_study *study) {
  const table_study *t = of(study);
  return t->complete ? t->table.config.n_map * t->table.config.n_env : 0;
}

static void study_cell(const mm_study *study, size_t i, mm_study_cell *out) {
  const mm_transfer *t = &of(study)->table;
  const mm_transfer_config *c = &t->config;
  const mm_transfer_cell *cell = &t->cell[i];
  *out = (mm_study_cell){ .env = c->env[i % c->n_env].label,
                          .map = c->map[i / c->n_env].label,
                          .n_failed = cell->n_failed,
                          .n_numeric = cell->n_numeric,
                          .seed = c->seed,
                          .eta = cell->eta };
  mm_study_fill_cell(out, t->worth + i * c->n_seed, c->n_seed);
}

static void study_detail(const mm_study *study, size_t i, mm_study_detail *out) {
  const mm_transfer *t = &of(study)->table;
  const mm_transfer_cell *cell = &t->cell[i];
  out->env = i % t->config.n_env;
  out->map = i / t->config.n_env;
  out->of = cell->of;
  out->n_failure = cell->n_failure;
  memcpy(out->over, cell->over, sizeof out->over);
  out->q = cell->q;
  out->curve = cell->curve;
  out->n_curve = cell->n_curve;
}

// ---------------------------------------------------------------------------------------------
// Files and JSON

static mm_status study_write(mm_study *study) {
  const table_study *t = of(study);
  if (t->complete) return mm_transfer_write(&t->table, mm_study_folder(study));
  return MM_FAIL(MM_ERR_INPUT, "%s: the table is not complete", mm_study_folder(study));
}

// Of one that was stopped how far it came.
static cJSON *study_json(mm_study *study) {
  const table_study *t = of(study);
  mm_study_progress p = { 0 };
  if (t->complete) return mm_transfer_json(&t->table);
  study_look(study, &p);
  cJSON *root = cJSON_CreateObject();
  mm_study_add_run(root, study);
  cJSON_AddItemToObject(root, "runs", mm_json_number(p.total));
  cJSON_AddItemToObject(root, "runs_done", mm_json_number(p.done));
  return root;
}

static void study_close(mm_study *study) {
  table_study *t = of(study);
  mm_transfer_release(&t->table);
  mm_study_release(study);
  mm_transfer_plan_release(t->plan);
  mm_free(t);
}

const mm_study_class mm_transfer_class = { .kind = MM_STUDY_TRANSFER,
                                           .resume = study_resume,
                                           .advance = study_advance,
                                           .done = study_done,
                                           .look = study_look,
                                           .describe = study_describe,
                                           .env = study_env,
                                           .map = study_map,
                                           .failures = study_failures,
                                           .cells = study_cells,
                                           .cell = study_cell,
                                           .detail = study_detail,
                                           .write = study_write,
                                           .json = study_json,
                                           .close = study_close };
