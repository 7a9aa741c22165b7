// What a run amounts to.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/run/run_internal.h"

// Numbers of a file may be anything; their sum ends at the greatest.
static uint64_t add(uint64_t sum, uint64_t value) {
  return sum > UINT64_MAX - value ? UINT64_MAX : sum + value;
}

static int add_generation(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  mm_run_summary *s = user;
  s->generations += row->generation > 0; // row 0 is the start
  s->evaluations = add(s->evaluations, (uint64_t)row->jobs);
  s->env_steps = add(s->env_steps, row->env_steps);
  return 0;
}

// Times are texts of one form, so that their order is that of the letters.
static void note_time(mm_run_summary *s, const char *time) {
  if (time && strcmp(time, s->last) > 0) snprintf(s->last, sizeof s->last, "%s", time);
}

static int add_timing(const mm_run_row *any, void *user) {
  const mm_run_timing *row = &any->timing;
  mm_run_summary *s = user;
  if (!isnan(row->seconds)) s->seconds += row->seconds;
  note_time(s, row->finished);
  return 0;
}

static int add_session(const mm_run_row *any, void *user) {
  const mm_run_session *row = &any->session;
  mm_run_summary *s = user;
  if (s->started[0] == '\0') snprintf(s->started, sizeof s->started, "%s", row->started);
  note_time(s, row->started);
  note_time(s, row->ended);
  snprintf(s->outcome, sizeof s->outcome, "%s", row->outcome);
  return 0;
}

static int add_training(const mm_run_row *row, void *user) {
  mm_run_summary *s = user;
  s->trainings++;
  s->env_steps = add(s->env_steps, row->training.env_steps);
  return 0;
}

static int add_kept(const mm_run_row *row, void *user) {
  (void)row;
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
    mm_run_see *see;
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
    status = worse(status, mm_run_each(run, parts[i].id, parts[i].see, out));
  mm_run_end_reading(run, own);
  return status;
}
