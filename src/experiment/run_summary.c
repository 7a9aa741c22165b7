// Looking at a run as a whole: what it amounts to, and whether all of it is there.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "experiment/run_internal.h"

// ---------------------------------------------------------------------------------------------
// What a run amounts to

// Numbers of a file may be anything; their sum ends at the greatest.
static uint64_t add(uint64_t sum, int64_t value) {
  return sum > UINT64_MAX - (uint64_t)value ? UINT64_MAX : sum + (uint64_t)value;
}

static int add_generation(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  mm_run_summary *s = user;
  s->generations += cell[0].integer > 0; // row 0 is the start
  s->evaluations = add(s->evaluations, cell[8].integer);
  s->env_steps = add(s->env_steps, cell[7].integer);
  return 0;
}

// Times are texts of one form, so that their order is that of the letters.
static void note_time(mm_run_summary *s, const mm_run_cell *time) {
  if (!time->null && strcmp(time->data, s->last) > 0)
    snprintf(s->last, sizeof s->last, "%s", (const char *)time->data);
}

static int add_timing(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  mm_run_summary *s = user;
  if (!cell[3].null) s->seconds += cell[3].real;
  note_time(s, &cell[2]);
  return 0;
}

static int add_session(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  mm_run_summary *s = user;
  if (s->started[0] == '\0')
    snprintf(s->started, sizeof s->started, "%s", (const char *)cell[1].data);
  note_time(s, &cell[1]);
  note_time(s, &cell[2]);
  snprintf(s->outcome, sizeof s->outcome, "%s", (const char *)cell[3].data);
  return 0;
}

static int add_training(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  mm_run_summary *s = user;
  s->trainings++;
  s->env_steps = add(s->env_steps, cell[6].integer);
  return 0;
}

static int add_kept(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  (void)cell;
  ((mm_run_summary *)user)->kept++;
  return 0;
}

// Goes on over damage, stops at anything else.
static mm_status worse(mm_status first, mm_status second) {
  return second == MM_OK || (first != MM_OK && second == MM_ERR_INPUT) ? first : second;
}

mm_status mm_run_summarise(mm_run *run, mm_run_summary *out) {
  static const struct {
    mm_run_table_id id;
    mm_run_see_row *see;
  } parts[] = {
    { MM_RUN_GENERATION, add_generation },
    { MM_RUN_TIMING, add_timing },
    { MM_RUN_SESSION, add_session },
    { MM_RUN_TRAINING, add_training },
    { MM_RUN_KEPT, add_kept },
  };
  *out = (mm_run_summary){ .owned = mm_run_is_locked(run->real) };
  bool own;
  mm_status status = mm_run_begin_reading(run, &own);
  const size_t n = sizeof parts / sizeof *parts;
  for (size_t i = 0; i < n && (status == MM_OK || status == MM_ERR_INPUT); i++)
    status = worse(status, mm_run_walk_all(run, parts[i].id, parts[i].see, out));
  mm_run_end_reading(run, own);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Whether all of it is there. The rows of `generation` have no gap, each has its state, and as many
// jobs as it says. Two tables are walked side by side, by numbers only.

typedef struct ledger {
  mm_run *run;
  int64_t *jobs; // [n] expected, minus those met
  size_t n;
  bool no_memory;
} ledger;

static int enter_generation(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  ledger *l = user;
  if (cell[0].integer != (int64_t)l->n) {
    mm_run_note_damage(l->run, "generation %zu is missing", l->n);
    return 1;
  }
  int64_t *larger = mm_grow(l->jobs, l->n, sizeof *larger);
  l->no_memory = !larger;
  if (!larger) return 1;
  l->jobs = larger;
  l->jobs[l->n++] = cell[8].integer;
  return 0;
}

static int strike_job(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  ledger *l = user;
  uint64_t g = (uint64_t)cell[0].integer;
  if (g < l->n && l->jobs[g] > 0) {
    l->jobs[g]--;
    return 0;
  }
  mm_run_note_damage(l->run, "generation %" PRIu64 " has more jobs than it says", g);
  return 1;
}

static int count_state(const mm_run_table *table, const mm_run_cell *cell, void *user) {
  (void)table;
  int64_t *next = user;
  if (cell[0].integer != *next) return 1;
  ++*next;
  return 0;
}

static mm_status verify_rows(mm_run *run, ledger *l) {
  int64_t states = 0;
  MM_TRY(mm_run_walk_all(run, MM_RUN_META, NULL, NULL));
  MM_TRY(mm_run_walk_all(run, MM_RUN_GENERATION, enter_generation, l));
  if (l->no_memory) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", run->file);
  MM_TRY(mm_run_walk_all(run, MM_RUN_STATE, count_state, &states));
  if (states != (int64_t)l->n)
    mm_run_note_damage(run, "generation %" PRId64 " has no state", states);
  MM_TRY(mm_run_walk_all(run, MM_RUN_JOB, strike_job, l));
  for (size_t g = 0; g < l->n; g++)
    if (l->jobs[g] > 0)
      mm_run_note_damage(run, "generation %zu lacks %" PRId64 " of its jobs", g, l->jobs[g]);
  MM_TRY(mm_run_walk_all(run, MM_RUN_SCORE, NULL, NULL));
  MM_TRY(mm_run_walk_all(run, MM_RUN_TIMING, NULL, NULL));
  MM_TRY(mm_run_walk_all(run, MM_RUN_SESSION, NULL, NULL));
  MM_TRY(mm_run_verify_trainings(run));
  return mm_run_walk_all(run, MM_RUN_KEPT, NULL, NULL);
}

mm_status mm_run_verify(mm_run *run) {
  bool own;
  ledger l = { .run = run };
  mm_status status = mm_run_begin_reading(run, &own);
  if (status == MM_OK) status = verify_rows(run, &l);
  if (status == MM_OK && run->damage[0] == '\0') status = mm_run_check_pages(run);
  mm_run_end_reading(run, own);
  mm_free(l.jobs);
  if (status == MM_ERR_INPUT && run->damage[0] == '\0')
    mm_run_note_damage(run, "its pages do not fit together");
  if (status == MM_OK && run->damage[0] != '\0')
    status = MM_FAIL(MM_ERR_INPUT, "'%s' is damaged (%s)", run->file, run->damage);
  return status;
}
