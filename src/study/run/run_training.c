// Trainings of a run: their results and curves, and what unfinished ones are kept by.

#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "study/run/run_internal.h"

// ---------------------------------------------------------------------------------------------
// Writing

mm_status mm_run_put_training(mm_run *run, const mm_run_training *row, const uint64_t *step,
                              const double *value) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  const mm_run_cell cell[] = {
    mm_run_integer(row->job),     mm_run_bits(row->seed),      mm_run_integer(row->status),
    mm_run_real(row->final),      mm_run_real(row->recent),    mm_run_real(row->optimal),
    mm_run_count(row->env_steps), mm_run_integer(row->points),
  };
  MM_TRY(mm_run_put_row(run, MM_RUN_TRAINING, cell));
  for (int64_t k = 0; k < row->points; k++) {
    const mm_run_cell point[] = { cell[0], mm_run_count(step[k]), mm_run_real(value[k]) };
    MM_TRY(mm_run_put_row(run, MM_RUN_CURVE, point));
  }
  return MM_OK;
}

mm_status mm_run_put_measure(mm_run *run, int64_t job, const char *name, const uint64_t *step,
                             const double *value, size_t n) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  for (size_t k = 0; k < n; k++) {
    const mm_run_cell cell[] = { mm_run_integer(job), mm_run_text(name), mm_run_count(step[k]),
                                 mm_run_real(value[k]) };
    MM_TRY(mm_run_put_row(run, MM_RUN_MEASURE, cell));
  }
  return MM_OK;
}

mm_status mm_run_put_batch(mm_run *run, const mm_run_batch *row) {
  const mm_run_cell cell[] = {
    mm_run_integer(row->batch), mm_run_integer(row->first), mm_run_integer(row->jobs),
    mm_run_text(row->role),     mm_run_text(row->env),      mm_run_text(row->map),
    mm_run_text(row->settings),
  };
  return mm_run_put_alone(run, MM_RUN_BATCH, false, cell);
}

mm_status mm_run_keep(mm_run *run, int64_t job, const void *state, size_t size) {
  const mm_run_cell cell[] = { mm_run_integer(job), mm_run_bytes(state, size) };
  return mm_run_put_alone(run, MM_RUN_KEPT, true, cell);
}

mm_status mm_run_forget(mm_run *run, int64_t job) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  char sql[96] = "DELETE FROM kept";
  if (job >= 0) snprintf(sql, sizeof sql, "DELETE FROM kept WHERE job = %" PRId64, job);
  return mm_run_exec(run, sql);
}

mm_status mm_run_trim(mm_run *run) {
  assert(!run->transaction && run->access == MM_RUN_WRITE);
  return mm_run_exec(run, "PRAGMA incremental_vacuum");
}

// ---------------------------------------------------------------------------------------------
// Reading

typedef struct each {
  void *user;
  mm_run_see_training *see_training;
  mm_run_see_point *see_point;
  mm_run_see_kept *see_kept;
  mm_run_see_batch *see_batch;
  mm_run_see_measure *see_measure;
} each;

static int pass_training(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  mm_run_training row = {
    .job = cell[0].integer,
    .seed = mm_run_bits_of(&cell[1]),
    .status = (mm_status)cell[2].integer,
    .final = mm_run_real_of(&cell[3]),
    .recent = mm_run_real_of(&cell[4]),
    .optimal = mm_run_real_of(&cell[5]),
    .env_steps = mm_run_bits_of(&cell[6]),
    .points = cell[7].integer,
  };
  return e->see_training(&row, e->user);
}

static int pass_point(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  return e->see_point(cell[0].integer, mm_run_bits_of(&cell[1]), mm_run_real_of(&cell[2]), e->user);
}

static int pass_kept(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  return e->see_kept(cell[0].integer, cell[1].data, cell[1].size, e->user);
}

static int pass_batch(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  mm_run_batch row = {
    .batch = cell[0].integer,
    .first = cell[1].integer,
    .jobs = cell[2].integer,
    .role = cell[3].data,
    .env = cell[4].data,
    .map = cell[5].data,
    .settings = cell[6].data,
  };
  return e->see_batch(&row, e->user);
}

static int pass_measure(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  return e->see_measure(cell[0].integer, cell[1].data, mm_run_bits_of(&cell[2]),
                        mm_run_real_of(&cell[3]), e->user);
}

mm_status mm_run_each_batch(mm_run *run, mm_run_see_batch *see, void *user) {
  each e = { .see_batch = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_BATCH, pass_batch, &e);
}

mm_status mm_run_each_measure(mm_run *run, mm_run_see_measure *see, void *user) {
  each e = { .see_measure = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_MEASURE, pass_measure, &e);
}

mm_status mm_run_each_training(mm_run *run, mm_run_see_training *see, void *user) {
  each e = { .see_training = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_TRAINING, pass_training, &e);
}

mm_status mm_run_each_point(mm_run *run, mm_run_see_point *see, void *user) {
  each e = { .see_point = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_CURVE, pass_point, &e);
}

mm_status mm_run_each_kept(mm_run *run, mm_run_see_kept *see, void *user) {
  each e = { .see_kept = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_KEPT, pass_kept, &e);
}
