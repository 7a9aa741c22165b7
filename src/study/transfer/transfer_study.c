// SPDX-License-Identifier: Apache-2.0
// A table of maps and environments as a study (mirrormap/study.h).

#include <string.h>

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

static mm_status study_resume(const char *folder, mm_study **out) {
  table_study *t = mm_alloc(sizeof *t);
  if (!t) return MM_FAIL(MM_ERR_MEMORY, "no memory for a table");
  memset(t, 0, sizeof *t);
  t->study.class = &mm_transfer_class;
  mm_status status = mm_transfer_resume(folder, &t->study.run, &t->plan);
  if (status == MM_OK)
    *out = &t->study;
  else
    mm_free(t);
  return status;
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
                                           .cells = study_cells,
                                           .cell = study_cell,
                                           .close = study_close };
