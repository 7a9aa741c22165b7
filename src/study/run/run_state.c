// SPDX-License-Identifier: Apache-2.0
// What a run amounts to, and how it stands.

#define _POSIX_C_SOURCE 200809L

#include "study/run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/job_hooks.h"
#include "study/run/run_internal.h"
#include "study/settings/settings.h"

// ---------------------------------------------------------------------------------------------
// What there is

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

// Environment steps of an iteration and of a run with these settings, JSON text; 0 where they do
// not say.
typedef struct size {
  double iteration, run;
} size;

// Learners of plug-ins need not have the other two settings.
static double number_or_1(const cJSON *number) {
  return cJSON_IsNumber(number) ? number->valuedouble : 1;
}

static size read_size(const char *settings) {
  cJSON *root = NULL;
  size s = { 0, 0 };
  if (mm_json_parse(settings, strlen(settings), "settings", &root) != MM_OK) return s;
  const cJSON *steps = mm_json_find(root, "steps"), *envs = mm_json_find(root, "envs"),
              *unroll = mm_json_find(root, "unroll");
  if (cJSON_IsNumber(steps)) s.iteration = number_or_1(envs) * number_or_1(unroll);
  if (s.iteration >= 1 && s.iteration <= 1e12 && steps->valuedouble <= 1e12)
    s.run = floor(steps->valuedouble / s.iteration) * s.iteration;
  cJSON_Delete(root);
  return s.run > 0 ? s : (size){ 0, 0 };
}

typedef struct summing {
  mm_run *run;
  mm_run_summary *to;
  int64_t job; // whose batch is looked for
  double iteration;
} summing;

static int find_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  summing *s = user;
  if (s->job < row->first || s->job - row->first >= row->jobs) return 0;
  s->iteration = read_size(row->settings).iteration;
  return 1;
}

// Networks of complete trainings are kept too; they have no iterations to add.
static int add_kept(const mm_run_row *any, void *user) {
  const mm_run_kept *row = &any->kept;
  summing *s = user;
  const uint64_t done = mm_job_state_done(row->state.data, row->state.size);
  s->to->kept++;
  if (done == 0 || done > 1000000000) return 0;
  s->job = row->job;
  s->iteration = 0;
  (void)mm_run_each(s->run, MM_RUN_BATCH, find_batch, s); // damage is noted where batches are read
  s->to->kept_steps = add(s->to->kept_steps, (uint64_t)((double)done * s->iteration));
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
  };
  *out = (mm_run_summary){ .owned = mm_run_is_locked(run->real) };
  bool own;
  mm_status status = mm_run_begin_reading(run, &own);
  const size_t n = sizeof parts / sizeof *parts;
  for (size_t i = 0; i < n && (status == MM_OK || status == MM_ERR_INPUT); i++)
    status = worse(status, mm_run_each(run, parts[i].id, parts[i].see, out));
  summing s = { .run = run, .to = out };
  if (status == MM_OK || status == MM_ERR_INPUT)
    status = worse(status, mm_run_each(run, MM_RUN_KEPT, add_kept, &s));
  mm_run_end_reading(run, own);
  return status;
}

// ---------------------------------------------------------------------------------------------
// What there will be

static int64_t count_of(const cJSON *item) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 1 && item->valuedouble <= 1e15)) return 0;
  return (int64_t)item->valuedouble;
}

static int64_t generations_of(const cJSON *config) {
  mm_search search = { 0 };
  mm_phase phase[MM_PHASES_MAX];
  int64_t sum = 0;
  if (!cJSON_IsObject(config)) return 0;
  const cJSON *learn = mm_json_find(config, "learn");
  const cJSON *schedule = mm_json_find(learn, "schedule");
  search.generations =
      (double)count_of(mm_json_find(learn != NULL ? learn : config, "generations"));
  snprintf(search.schedule, sizeof search.schedule, "%s",
           cJSON_IsString(schedule) ? schedule->valuestring : "-");
  size_t n = mm_search_phases(&search, phase);
  for (size_t i = 0; i < n; i++)
    sum += phase[i].generations;
  return sum;
}

static int add_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  mm_run_plan *announced = user;
  const int64_t sum = announced->trainings;
  announced->trainings = row->jobs > INT64_MAX - sum ? INT64_MAX : sum + row->jobs;
  announced->env_steps += (double)row->jobs * read_size(row->settings).run;
  return 0;
}

// Batches say more than the configuration; files before version 3 have none.
mm_status mm_run_planned(mm_run *run, mm_run_plan *out) {
  const char *text = mm_run_config(run);
  cJSON *config = NULL;
  *out = (mm_run_plan){ 0 };
  if (mm_json_parse(text, strlen(text), "config", &config) == MM_OK) {
    out->generations = generations_of(config);
    out->trainings = count_of(mm_json_find(config, "seeds"));
    cJSON_Delete(config);
  }
  mm_run_plan announced = { 0 };
  mm_status status = mm_run_each(run, MM_RUN_BATCH, add_batch, &announced);
  if (announced.trainings > 0) out->trainings = announced.trainings;
  out->env_steps = announced.env_steps;
  out->open_ended = strcmp(mm_run_command(run), "train") != 0;
  return status;
}

const char *mm_run_state(const mm_run_summary *s, mm_run_plan plan) {
  if (s->owned) return "running";
  if (plan.generations > 0 && s->generations >= plan.generations) return "done";
  bool all = plan.trainings > 0 && s->trainings >= plan.trainings && s->kept == 0;
  if (all && !plan.open_ended) return "done";
  if (s->outcome[0] == '\0') return "new";
  return strcmp(s->outcome, "running") == 0 ? "killed" : s->outcome;
}
