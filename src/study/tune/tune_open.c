// Making, resuming, reading and closing a tuning.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "study/tune/tune_internal.h"

static mm_status take(mm_tune **out) {
  mm_tune *t = mm_alloc(sizeof *t);
  if (!t) return MM_FAIL(MM_ERR_MEMORY, "no memory for a tuning");
  memset(t, 0, sizeof *t);
  t->gain = MM_ESTIMATE_NONE;
  *out = t;
  return MM_OK;
}

void mm_tune_close(mm_tune *t) {
  if (!t) return;
  mm_job_store_close(t->store);
  mm_run_close(t->run);
  mm_tune_search_release(&t->search);
  mm_free(t->value);
  mm_free(t->fresh);
  mm_free(t->row);
  for (size_t i = 0; i < MM_TUNE_ENVS; i++) {
    mm_env_destroy(t->env[i]);
    mm_free(t->task[i]);
  }
  mm_map_destroy(t->own_map);
  mm_free(t);
}

// ---------------------------------------------------------------------------------------------
// A new one

static mm_status check_plan(const mm_tune *t) {
  const mm_tune_plan *p = &t->plan;
  mm_tune_search_config config = mm_tune_config_of(t);
  for (size_t e = 1; e < p->n_env; e++)
    if (p->settings[e].algo != p->settings[0].algo)
      return MM_FAIL(MM_ERR_INPUT,
                     "'%s' is trained by %s, '%s' by %s: settings are tuned for one algorithm",
                     p->env[0], mm_algo_name(p->settings[0].algo), p->env[e],
                     mm_algo_name(p->settings[e].algo));
  MM_TRY(mm_tune_search_check(&config));
  for (size_t e = 0; e < p->n_env; e++)
    MM_TRY(mm_tune_rehearse(t, e, &p->settings[e]));
  return MM_OK;
}

static mm_status create_run(mm_tune *t, const char *folder) {
  char *config;
  for (size_t e = 0; e < t->plan.n_env; e++)
    MM_TRY(mm_plan_read_task(t->plan.env[e], &t->task[e]));
  MM_TRY(mm_tune_plan_write(&t->plan, t->map, t->task, &config));
  mm_status status = mm_run_create(folder, "tune", config, &t->run);
  mm_free(config);
  for (size_t e = 0; e < t->plan.n_env && status == MM_OK; e++)
    status = mm_plan_copy_task(t->task[e], e, folder);
  return status;
}

static mm_status create(mm_tune *t, const char *folder) {
  for (size_t e = 0; e < t->plan.n_env; e++)
    MM_TRY(mm_env_open(t->plan.env[e], &t->env[e]));
  MM_TRY(check_plan(t));
  if (!folder) return MM_OK;
  MM_TRY(create_run(t, folder));
  snprintf(t->folder, sizeof t->folder, "%s", mm_run_folder_of(t->run));
  return MM_OK;
}

mm_status mm_tune_create(const char *folder, const mm_tune_plan *plan, const mm_map *map,
                         mm_tune **out) {
  mm_tune *t;
  *out = NULL;
  MM_TRY(take(&t));
  t->plan = *plan;
  t->map = map;
  mm_status status = create(t, folder);
  if (status == MM_OK)
    *out = t;
  else
    mm_tune_close(t);
  return status;
}

// ---------------------------------------------------------------------------------------------
// One that is there

static mm_status read_plan(mm_tune *t, const mm_run *run) {
  char source[MM_RUN_PATH_SIZE];
  snprintf(t->folder, sizeof t->folder, "%s", mm_run_folder_of(run));
  snprintf(source, sizeof source, "%.4000s/run.db: config", t->folder);
  MM_TRY(mm_tune_plan_read(mm_run_config(run), source, &t->plan, &t->own_map, t->task));
  t->map = t->own_map;
  for (size_t e = 0; e < t->plan.n_env; e++)
    MM_TRY(mm_plan_read_env(t->plan.env[e], t->task[e], e, t->folder, &t->env[e]));
  mm_tune_search_config config = mm_tune_config_of(t);
  return mm_tune_search_check(&config);
}

static mm_status resume(mm_tune *t, const char *folder) {
  MM_TRY(mm_run_open(folder, MM_RUN_WRITE, &t->run));
  MM_TRY(read_plan(t, t->run));
  for (size_t e = 0; e < t->plan.n_env; e++)
    MM_TRY(mm_plan_copy_task(t->task[e], e, t->folder));
  return MM_OK;
}

mm_status mm_tune_resume(const char *folder, mm_tune **out) {
  mm_tune *t;
  *out = NULL;
  MM_TRY(take(&t));
  mm_status status = resume(t, folder);
  if (status == MM_OK)
    *out = t;
  else
    mm_tune_close(t);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Only looking

static mm_status grow_rows(mm_tune *t, size_t n) {
  if (n <= t->room_row) return MM_OK;
  size_t room = n > 2 * t->room_row ? n : 2 * t->room_row;
  mm_tune_row *row = mm_alloc_array(room, sizeof *row);
  if (!row) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", n);
  memset(row, 0, room * sizeof *row);
  if (t->n_row > 0) memcpy(row, t->row, t->n_row * sizeof *row);
  mm_free(t->row);
  t->row = row;
  t->room_row = room;
  return MM_OK;
}

// Rows come in the order of their places, which are given out in order: no run has gaps this wide.
static int take_training(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  mm_tune *t = user;
  if (row->job > (int64_t)t->n_row + 100000) return 1;
  size_t place = (size_t)row->job;
  if (grow_rows(t, place + 1) != MM_OK) return 1;
  bool has_value = row->status == MM_OK || (row->status == MM_ERR_NUMERIC && row->points > 0);
  t->row[place] = (mm_tune_row){ .known = true,
                                 .value = has_value ? row->final : NAN,
                                 .env_steps = row->env_steps };
  if (place >= t->n_row) t->n_row = place + 1;
  return 0;
}

static mm_status read_run(mm_tune *t, mm_run *run) {
  MM_TRY(read_plan(t, run));
  t->reading = true;
  MM_TRY(mm_run_each(run, MM_RUN_TRAINING, take_training, t));
  mm_status status = mm_tune_search_all(t);
  t->complete = status == MM_OK;
  return status == MM_ERR_INTERRUPTED ? MM_OK : status;
}

mm_status mm_tune_read(mm_run *run, mm_tune **out) {
  mm_tune *t;
  *out = NULL;
  MM_TRY(take(&t));
  mm_status status = read_run(t, run);
  if (status == MM_OK)
    *out = t;
  else
    mm_tune_close(t);
  return status;
}
