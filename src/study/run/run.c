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
  if (run->jobs > 0 && run->job_generation != run->pending[0].integer)
    return MM_FAIL(MM_ERR_INPUT,
                   "'%s': jobs of generation %" PRId64 " together with generation %" PRId64,
                   run->file, run->job_generation, run->pending[0].integer);
  run->pending[mm_run_tables[MM_RUN_GENERATION].n - 1] = mm_run_integer(run->jobs);
  return mm_run_put_row(run, MM_RUN_GENERATION, run->pending);
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
  if (run->has_pending) run->last = run->pending[0].integer;
  for (int i = 0; i < MM_RUN_TABLES; i++)
    run->rows[i] += run->added[i];
  forget_pending(run);
  return run->access == MM_RUN_WRITE ? mm_run_check_place(run) : MM_OK;
}

// A single row outside a transaction gets one of its own.
mm_status mm_run_put_alone(mm_run *run, mm_run_table_id id, bool replace, const mm_run_cell *cell) {
  assert(run->access == MM_RUN_WRITE);
  bool own = !run->transaction;
  if (own) MM_TRY(mm_run_begin(run));
  mm_status status = replace ? mm_run_replace_row(run, id, cell) : mm_run_put_row(run, id, cell);
  if (own && status == MM_OK) return mm_run_commit(run);
  if (own) mm_run_drop(run);
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
  mm_run_cell cell[] = { mm_run_text("config"), mm_run_text(config) };
  mm_status status = mm_run_put_alone(run, MM_RUN_META, true, cell);
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
  const mm_run_cell cell[] = {
    mm_run_integer(row->generation),
    mm_run_integer(row->phase),
    mm_run_real(row->sigma),
    mm_run_real(row->fitness_mean),
    mm_run_real(row->fitness_sd),
    mm_run_real(row->fitness_best),
    mm_run_integer(row->nonfinite),
    mm_run_count(row->env_steps),
    mm_run_integer(0), // jobs: known at the commit
  };
  const mm_run_cell state[] = { cell[0], mm_run_bytes(row->state, row->state_size) };
  MM_TRY(mm_run_put_row(run, MM_RUN_STATE, state));
  memcpy(run->pending, cell, sizeof cell);
  run->has_pending = true;
  return MM_OK;
}

mm_status mm_run_put_jobs(mm_run *run, const mm_run_job *row, size_t n) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  for (size_t i = 0; i < n; i++) {
    const mm_run_job *r = &row[i];
    const mm_run_cell cell[] = {
      mm_run_integer(r->generation), mm_run_integer(r->member),  mm_run_integer(r->task),
      mm_run_integer(r->env),        mm_run_bits(r->seed),       mm_run_real(r->value),
      mm_run_integer(r->status),     mm_run_count(r->env_steps),
    };
    if (run->jobs > 0 && r->generation != run->job_generation)
      return MM_FAIL(MM_ERR_INPUT, "'%s': jobs of generations %" PRId64 " and %" PRId64 " together",
                     run->file, run->job_generation, r->generation);
    run->job_generation = r->generation;
    MM_TRY(mm_run_put_row(run, MM_RUN_JOB, cell));
    run->jobs++;
  }
  return MM_OK;
}

mm_status mm_run_put_scores(mm_run *run, const mm_run_score *row, size_t n) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  for (size_t i = 0; i < n; i++) {
    const mm_run_score *r = &row[i];
    const mm_run_cell cell[] = {
      mm_run_integer(r->generation), mm_run_integer(r->phase), mm_run_text(r->map),
      mm_run_integer(r->task),       mm_run_integer(r->env),   mm_run_bits(r->seed),
      mm_run_real(r->value),         mm_run_real(r->optimal),  mm_run_integer(r->status),
      mm_run_count(r->env_steps),
    };
    MM_TRY(mm_run_put_row(run, MM_RUN_SCORE, cell));
  }
  return MM_OK;
}

mm_status mm_run_put_timing(mm_run *run, const mm_run_timing *row) {
  assert(run->transaction && run->access == MM_RUN_WRITE);
  char now[32];
  mm_run_now(now);
  const mm_run_cell cell[] = {
    mm_run_integer(row->generation),
    mm_run_integer(run->self.number),
    mm_run_text(now),
    mm_run_real(row->seconds),
    mm_run_real(row->seconds_jobs),
    mm_run_real(row->seconds_validation),
  };
  return mm_run_put_row(run, MM_RUN_TIMING, cell);
}

// ---------------------------------------------------------------------------------------------
// Sessions

static mm_status put_session(mm_run *run, const char *outcome, bool ended, bool replace) {
  const mm_run_self *self = &run->self;
  char now[32];
  mm_run_now(now);
  mm_run_cell end = mm_run_text(now);
  end.null = !ended;
  const mm_run_cell cell[] = {
    mm_run_integer(self->number), mm_run_text(self->started),   end,
    mm_run_text(outcome),         mm_run_text(self->host),      mm_run_integer(getpid()),
    mm_run_text(self->backend),   mm_run_text(self->isa),       mm_run_integer(self->threads),
    mm_run_text(mm_version()),    mm_run_text(mm_build_info()),
  };
  return mm_run_put_alone(run, MM_RUN_SESSION, replace, cell);
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

static mm_run_generation generation_of(const mm_run_cell *cell) {
  return (mm_run_generation){
    .generation = cell[0].integer,
    .phase = (int32_t)cell[1].integer,
    .sigma = mm_run_real_of(&cell[2]),
    .fitness_mean = mm_run_real_of(&cell[3]),
    .fitness_sd = mm_run_real_of(&cell[4]),
    .fitness_best = mm_run_real_of(&cell[5]),
    .nonfinite = cell[6].integer,
    .env_steps = mm_run_bits_of(&cell[7]),
  };
}

typedef struct one {
  mm_run *run;
  mm_run_generation *row;
  bool found, no_memory;
} one;

static int take_generation(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  one *o = user;
  *o->row = generation_of(cell);
  o->found = true;
  return 1;
}

bool mm_run_hold(mm_run *run, const mm_run_cell *cell) {
  if (cell->size > run->state_room) {
    mm_free(run->state);
    run->state = mm_alloc(cell->size);
    run->state_room = run->state ? cell->size : 0;
    if (!run->state) return false;
  }
  if (cell->size > 0) memcpy(run->state, cell->data, cell->size);
  return true;
}

static int take_state(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  one *o = user;
  o->no_memory = !mm_run_hold(o->run, &cell[1]);
  if (o->no_memory) return 1;
  o->row->state = o->run->state;
  o->row->state_size = cell[1].size;
  o->found = true;
  return 1;
}

// Within a transaction of the caller or one of its own, so that both tables are of the same time.
static mm_status find_generation(mm_run *run, int64_t g, mm_run_generation *row, bool *found) {
  one o = { .run = run, .row = row };
  *found = false;
  MM_TRY(mm_run_walk(run, MM_RUN_GENERATION, g, g, take_generation, &o));
  if (!o.found) return MM_OK;
  o.found = false;
  MM_TRY(mm_run_walk(run, MM_RUN_STATE, g, g, take_state, &o));
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

static int note_greatest(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  int64_t *greatest = user;
  *greatest = cell[0].integer;
  return 0;
}

// Both tables at once, in the order of the generations: a join by hand, over intact rows only.
typedef struct join {
  int64_t *number; // [n] generations with an intact row
  size_t n, next;
  int64_t last; // the last of them with an intact state
  bool no_memory;
} join;

static int join_generation(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  join *j = user;
  int64_t *larger = mm_grow(j->number, j->n, sizeof *larger);
  j->no_memory = !larger;
  if (!larger) return 1;
  j->number = larger;
  j->number[j->n++] = cell[0].integer;
  return 0;
}

static int join_state(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  join *j = user;
  while (j->next < j->n && j->number[j->next] < cell[0].integer)
    j->next++;
  if (j->next < j->n && j->number[j->next] == cell[0].integer) j->last = cell[0].integer;
  return 0;
}

// In a damaged database.
static mm_status find_last_intact(mm_run *run, mm_run_generation *row, bool *found) {
  join j = { .last = -1 };
  mm_status status = mm_run_walk_all(run, MM_RUN_GENERATION, join_generation, &j);
  if (j.no_memory) status = fail_memory(run);
  if (status == MM_OK || status == MM_ERR_INPUT)
    status = mm_run_walk_all(run, MM_RUN_STATE, join_state, &j);
  mm_free(j.number);
  if (status != MM_OK && status != MM_ERR_INPUT) return status;
  if (j.last < 0) return MM_FAIL(MM_ERR_INPUT, "'%s' is damaged (%s)", run->file, run->damage);
  return find_generation(run, j.last, row, found);
}

static mm_status find_last(mm_run *run, mm_run_generation *row, bool *found) {
  int64_t last = -1;
  mm_status status = mm_run_walk_all(run, MM_RUN_GENERATION, note_greatest, &last);
  if (status == MM_OK && last >= 0) status = find_generation(run, last, row, found);
  if (status == MM_ERR_INPUT && run->access == MM_RUN_SALVAGE)
    return find_last_intact(run, row, found);
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

typedef struct each {
  void *user;
  mm_run_see_generation *see_generation;
  mm_run_see_score *see_score;
  mm_run_see_timing *see_timing;
} each;

static int pass_generation(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  mm_run_generation row = generation_of(cell);
  return e->see_generation(&row, e->user);
}

static int pass_score(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  mm_run_score row = {
    .generation = cell[0].integer,
    .phase = (int32_t)cell[1].integer,
    .map = cell[2].data,
    .task = (int32_t)cell[3].integer,
    .env = (int32_t)cell[4].integer,
    .seed = mm_run_bits_of(&cell[5]),
    .value = mm_run_real_of(&cell[6]),
    .optimal = mm_run_real_of(&cell[7]),
    .status = (mm_status)cell[8].integer,
    .env_steps = mm_run_bits_of(&cell[9]),
  };
  return e->see_score(&row, e->user);
}

static int pass_timing(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  const each *e = user;
  mm_run_timing row = { .generation = cell[0].integer,
                        .seconds = mm_run_real_of(&cell[3]),
                        .seconds_jobs = mm_run_real_of(&cell[4]),
                        .seconds_validation = mm_run_real_of(&cell[5]) };
  return e->see_timing(&row, e->user);
}

mm_status mm_run_each_generation(mm_run *run, mm_run_see_generation *see, void *user) {
  each e = { .see_generation = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_GENERATION, pass_generation, &e);
}

mm_status mm_run_each_score(mm_run *run, mm_run_see_score *see, void *user) {
  each e = { .see_score = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_SCORE, pass_score, &e);
}

mm_status mm_run_each_timing(mm_run *run, mm_run_see_timing *see, void *user) {
  each e = { .see_timing = see, .user = user };
  return mm_run_walk_all(run, MM_RUN_TIMING, pass_timing, &e);
}
