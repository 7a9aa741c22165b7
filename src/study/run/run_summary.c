// What a run amounts to.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>

#include "study/run/run_internal.h"

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
