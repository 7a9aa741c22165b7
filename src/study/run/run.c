// SPDX-License-Identifier: Apache-2.0
// A run: transactions, rows of the caller's structs, summaries.

#define _POSIX_C_SOURCE 200809L

#include "study/run/run.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "study/run/run_internal.h"

const char *mm_run_folder_of(const mm_run *run) {
  return run->folder;
}

const char *mm_run_command(const mm_run *run) {
  return run->command;
}

const char *mm_run_config(const mm_run *run) {
  return run->config;
}

const char *mm_run_command_line(const mm_run *run) {
  return run->command_line;
}

static mm_status fail_memory(const mm_run *run) {
  return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", run->file);
}

// ---------------------------------------------------------------------------------------------
// Transactions

static void forget_pending(mm_run *run) {
  run->transaction = run->has_pending = false;
  run->jobs = 0;
  memset(run->added, 0, sizeof run->added);
}

mm_status mm_run_begin(mm_run *run) {
  assert(!run->transaction);
  if (run->access == MM_RUN_WRITE) MM_TRY(mm_run_check_place(run));
  MM_TRY(mm_run_exec(run, run->access == MM_RUN_WRITE ? "BEGIN IMMEDIATE" : "BEGIN"));
  forget_pending(run);
  run->transaction = true;
  run->self_before = run->self;
  return MM_OK;
}

// Some failures end the transaction themselves.
void mm_run_drop(mm_run *run) {
  if (!run->transaction) return;
  if (!sqlite3_get_autocommit(run->db)) sqlite3_exec(run->db, "ROLLBACK", NULL, NULL, NULL);
  forget_pending(run);
  run->self = run->self_before;
}

// The row of the generation says how many jobs belong to it, so it comes last.
static mm_status put_pending(mm_run *run) {
  if (!run->has_pending && run->jobs > 0)
    return MM_FAIL(MM_ERR_INPUT, "'%s': jobs of generation %" PRId64 " without its row", run->file,
                   run->job_generation);
  if (!run->has_pending) return MM_OK;
  if (run->jobs > 0 && run->job_generation != run->pending.generation)
    return MM_FAIL(MM_ERR_INPUT,
                   "'%s': jobs of generation %" PRId64 " together with generation %" PRId64,
                   run->file, run->job_generation, run->pending.generation);
  run->pending.jobs = run->jobs;
  return mm_run_put_row(run, MM_RUN_GENERATION, &run->pending);
}

mm_status mm_run_commit(mm_run *run) {
  assert(run->transaction);
  mm_status status = put_pending(run);
  if (status == MM_OK) status = mm_run_put_counts(run);
  if (status == MM_OK) status = mm_run_exec(run, "COMMIT");
  if (status != MM_OK) {
    mm_run_drop(run);
    return status;
  }
  if (run->has_pending) run->last = run->pending.generation;
  for (int i = 0; i < MM_RUN_TABLES; i++)
    run->rows[i] += run->added[i];
  forget_pending(run);
  return run->access == MM_RUN_WRITE ? mm_run_check_place(run) : MM_OK;
}

// A single row outside a transaction gets one of its own.
static mm_status put_alone(mm_run *run, mm_run_table_id id, bool replace, const void *row) {
  assert(run->access == MM_RUN_WRITE);
  bool opened_here = !run->transaction;
  if (opened_here) MM_TRY(mm_run_begin(run));
  mm_status status = replace ? mm_run_replace_row(run, id, row) : mm_run_put_row(run, id, row);
  if (opened_here && status == MM_OK) return mm_run_commit(run);
  if (opened_here) mm_run_drop(run);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Writing

mm_status mm_run_set_config(mm_run *run, const char *config) {
  cJSON *root;
  MM_TRY(mm_json_parse(config, strlen(config), "configuration", &root));
  cJSON_Delete(root);
  size_t size = strlen(config) + 1;
  char *copy = mm_alloc(size);
  if (!copy) return fail_memory(run);
  memcpy(copy, config, size);
  mm_status status = put_alone(run, MM_RUN_META, true, &(mm_run_meta){ "config", config });
  if (status == MM_OK) {
    mm_free(run->config);
    run->config = copy;
  } else {
    mm_free(copy);
  }
  return status;
}

mm_status mm_run_put_generation(mm_run *run, const mm_run_generation *row) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  if (run->has_pending || row->generation != run->last + 1)
    return MM_FAIL(MM_ERR_INPUT, "'%s': expected generation %" PRId64 " next, found %" PRId64,
                   run->file, run->last + 1 + run->has_pending, row->generation);
  const mm_run_search_state state = { row->generation, { row->state, row->state_size } };
  MM_TRY(mm_run_put_row(run, MM_RUN_STATE, &state));
  run->pending = *row;
  run->has_pending = true;
  return MM_OK;
}

mm_status mm_run_put_jobs(mm_run *run, const mm_run_job *row, size_t n) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  for (size_t i = 0; i < n; i++, run->jobs++) {
    if (run->jobs > 0 && row[i].generation != run->job_generation)
      return MM_FAIL(MM_ERR_INPUT, "'%s': jobs of generations %" PRId64 " and %" PRId64 " together",
                     run->file, run->job_generation, row[i].generation);
    run->job_generation = row[i].generation;
    MM_TRY(mm_run_put_row(run, MM_RUN_JOB, &row[i]));
  }
  return MM_OK;
}

mm_status mm_run_put_scores(mm_run *run, const mm_run_score *row, size_t n) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  for (size_t i = 0; i < n; i++)
    MM_TRY(mm_run_put_row(run, MM_RUN_SCORE, &row[i]));
  return MM_OK;
}

mm_status mm_run_put_timing(mm_run *run, const mm_run_timing *row) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  char now[32];
  mm_run_now(now);
  mm_run_timing whole = *row;
  whole.session = run->self.number;
  whole.finished = now;
  return mm_run_put_row(run, MM_RUN_TIMING, &whole);
}

mm_status mm_run_put_training(mm_run *run, const mm_run_training *row, const uint64_t *step,
                              const double *value) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  MM_TRY(mm_run_put_row(run, MM_RUN_TRAINING, row));
  for (int64_t k = 0; k < row->points; k++) {
    const mm_run_point point = { row->job, step[k], value[k] };
    MM_TRY(mm_run_put_row(run, MM_RUN_CURVE, &point));
  }
  return MM_OK;
}

mm_status mm_run_put_measure(mm_run *run, int64_t job, const char *name, const uint64_t *step,
                             const double *value, size_t n) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  for (size_t k = 0; k < n; k++) {
    const mm_run_measure row = { job, name, step[k], value[k] };
    MM_TRY(mm_run_put_row(run, MM_RUN_MEASURE, &row));
  }
  return MM_OK;
}

mm_status mm_run_put_batch(mm_run *run, const mm_run_batch *row) {
  return put_alone(run, MM_RUN_BATCH, false, row);
}

mm_status mm_run_keep(mm_run *run, int64_t job, const void *state, size_t size) {
  return put_alone(run, MM_RUN_KEPT, true, &(mm_run_kept){ job, { state, size } });
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
// Sessions

static mm_status put_session(mm_run *run, const char *outcome, bool ended, bool replace) {
  const mm_run_self *self = &run->self;
  char now[32];
  mm_run_now(now);
  const mm_run_session row = {
    .session = self->number,
    .started = self->started,
    .ended = ended ? now : NULL,
    .outcome = outcome,
    .host = self->host,
    .pid = getpid(),
    .backend = self->backend,
    .isa = self->isa,
    .threads = self->threads,
    .version = mm_version(),
    .build = mm_build_info(),
  };
  return put_alone(run, MM_RUN_SESSION, replace, &row);
}

mm_status mm_run_session_start(mm_run *run, const mm_run_session *session) {
  mm_run_self before = run->self;
  int64_t last;
  MM_TRY(mm_run_query(run, "SELECT max(session) FROM session", &last));
  mm_run_self *self = &run->self;
  *self = (mm_run_self){ .number = last + 1, .threads = session->threads };
  mm_run_now(self->started);
  snprintf(self->backend, sizeof self->backend, "%s", session->backend ? session->backend : "");
  snprintf(self->isa, sizeof self->isa, "%s", session->isa ? session->isa : "");
  if (gethostname(self->host, sizeof self->host - 1) != 0) self->host[0] = '\0';
  mm_run_self started = *self;
  mm_status status = put_session(run, "running", false, false);
  run->self = status == MM_OK ? started : before;
  return status;
}

void mm_run_session_backend(mm_run *run, const char *backend) {
  mm_run_self *self = &run->self;
  char error[MM_ERROR_SIZE];
  if (self->number == 0 || strcmp(self->backend, backend) == 0) return;
  snprintf(error, sizeof error, "%s", mm_last_error());
  snprintf(self->backend, sizeof self->backend, "%s", backend);
  (void)put_session(run, "running", false, true);
  (void)MM_FAIL(MM_OK, "%s", error);
}

mm_status mm_run_session_end(mm_run *run, const char *outcome) {
  static const char *const known[] = { "done", "stopped", "interrupted", "failed" };
  size_t i = 0;
  while (i < 4 && strcmp(outcome, known[i]) != 0)
    i++;
  if (i == 4) return MM_FAIL(MM_ERR_INPUT, "unknown outcome '%s' of a session", outcome);
  if (run->self.number == 0)
    return MM_FAIL(MM_ERR_INPUT, "'%s': no session was started", run->file);
  return put_session(run, outcome, true, true);
}

// ---------------------------------------------------------------------------------------------
// Reading

typedef struct one {
  mm_run *run;
  mm_run_generation *row;
  bool found, no_memory;
} one;

static int on_generation(const mm_run_row *row, void *user) {
  one *o = user;
  *o->row = row->generation;
  o->found = true;
  return 1;
}

// The state is copied: it is the caller's to look at until the next call.
static int on_state(const mm_run_row *row, void *user) {
  const mm_run_bytes *state = &row->state.state;
  one *o = user;
  mm_run *run = o->run;
  if (state->size > run->state_room) {
    mm_free(run->state);
    run->state = mm_alloc(state->size);
    run->state_room = run->state ? state->size : 0;
    o->no_memory = !run->state;
    if (o->no_memory) return 1;
  }
  if (state->size > 0) memcpy(run->state, state->data, state->size);
  o->row->state = run->state;
  o->row->state_size = state->size;
  o->found = true;
  return 1;
}

// Within a transaction of the caller or one of its own, so that both tables are of the same time.
static mm_status find_generation(mm_run *run, int64_t g, mm_run_generation *row, bool *found) {
  one o = { .run = run, .row = row };
  *found = false;
  MM_TRY(mm_run_each_from(run, MM_RUN_GENERATION, g, g, on_generation, &o));
  if (!o.found) return MM_OK;
  o.found = false;
  MM_TRY(mm_run_each_from(run, MM_RUN_STATE, g, g, on_state, &o));
  if (o.no_memory) return fail_memory(run);
  if (!o.found) {
    mm_run_note_damage(run, "generation %" PRId64 " has no state", g);
    return MM_FAIL(MM_ERR_INPUT, "'%s' is damaged (generation %" PRId64 " has no state)", run->file,
                   g);
  }
  *found = true;
  return MM_OK;
}

mm_status mm_run_begin_reading(mm_run *run, bool *own) {
  *own = !run->transaction && sqlite3_get_autocommit(run->db);
  return *own ? mm_run_exec(run, "BEGIN") : MM_OK;
}

void mm_run_end_reading(mm_run *run, bool own) {
  if (own && !sqlite3_get_autocommit(run->db)) sqlite3_exec(run->db, "COMMIT", NULL, NULL, NULL);
}

mm_status mm_run_generation_at(mm_run *run, int64_t generation, mm_run_generation *row,
                               bool *found) {
  bool own;
  *row = (mm_run_generation){ 0 };
  *found = false;
  MM_TRY(mm_run_begin_reading(run, &own));
  mm_status status = find_generation(run, generation, row, found);
  mm_run_end_reading(run, own);
  return status;
}

// Generations with an intact row.
typedef struct numbers {
  int64_t *at; // [n] ascending
  size_t n;
  bool no_memory;
} numbers;

static int add_number(const mm_run_row *row, void *user) {
  numbers *all = user;
  all->no_memory = !MM_GROW(all->at, all->n);
  if (all->no_memory) return 1;
  all->at[all->n++] = row->generation.generation;
  return 0;
}

// The last one; in a damaged database that is salvaged the last one whose state is intact too.
static mm_status find_last(mm_run *run, mm_run_generation *row, bool *found) {
  numbers all = { 0 };
  mm_status status = mm_run_each(run, MM_RUN_GENERATION, add_number, &all);
  if (all.no_memory) status = fail_memory(run);
  for (size_t i = all.n; i-- > 0 && !*found;) {
    if (status != MM_OK && !(status == MM_ERR_INPUT && run->access == MM_RUN_SALVAGE)) break;
    status = find_generation(run, all.at[i], row, found);
  }
  mm_free(all.at);
  return status;
}

mm_status mm_run_last_generation(mm_run *run, mm_run_generation *row, bool *found) {
  bool own;
  *row = (mm_run_generation){ 0 };
  *found = false;
  MM_TRY(mm_run_begin_reading(run, &own));
  mm_status status = find_last(run, row, found);
  mm_run_end_reading(run, own);
  return status;
}
