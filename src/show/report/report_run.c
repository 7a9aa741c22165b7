// SPDX-License-Identifier: Apache-2.0
// One run as the page takes it: how it stands, when and where it was made, its numbers.

#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "show/report/report_internal.h"
#include "study/tune/tune_files.h"

enum { SUMMARY_MOST = 1 << 24 }; // bytes of a reproduction's summary

// Damage does not stop the reading: mm_run_damage tells.
static bool goes_on(mm_status status) {
  return status == MM_OK || status == MM_ERR_INPUT;
}

// ---------------------------------------------------------------------------------------------
// Times

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// How long a session lasted: up to now if it is the one at work; one that was killed, up to the
// last update of the run.
typedef struct clock_reader {
  double seconds, started; // of those before; start of the open one, or NaN
} clock_reader;

static int add_session_time(const mm_run_row *any, void *user) {
  const mm_run_session *row = &any->session;
  clock_reader *c = user;
  double started = mm_run_seconds(row->started), ended = mm_run_seconds(row->ended);
  c->started = row->ended ? NAN : started;
  if (ended > started) c->seconds += ended - started;
  return 0;
}

static int add_timing(const mm_run_row *any, void *user) {
  const mm_run_timing *row = &any->timing;
  double own = row->seconds - (isnan(row->seconds_validation) ? 0 : row->seconds_validation);
  if (own > 0) *(double *)user += own;
  return 0;
}

// Damaged rows are left out, of one table as of the other.
static mm_status read_times(mm_report_run *r) {
  clock_reader c = { .started = NAN };
  mm_status sessions = mm_run_each(r->run, MM_RUN_SESSION, add_session_time, &c);
  mm_status timings = mm_run_each(r->run, MM_RUN_TIMING, add_timing, &r->seconds_training);
  double open = (r->summary.owned ? now() : mm_run_seconds(r->summary.last)) - c.started;
  r->seconds = c.seconds + (open > 0 ? open : 0);
  if (!r->has_search) r->seconds_training = r->seconds;
  // what a reproduction does besides is in none of the counts: it has no speed
  if (strcmp(mm_run_command(r->run), "reproduce") == 0) r->seconds_training = NAN;
  r->env_steps = r->summary.env_steps;
  return goes_on(sessions) ? timings : sessions;
}

// ---------------------------------------------------------------------------------------------
// Reading

// The folder's own name, however it was spelled.
static void set_name(mm_report_run *r) {
  char *real = realpath(mm_run_folder_of(r->run), NULL);
  const char *path = real ? real : mm_run_folder_of(r->run), *slash = strrchr(path, '/');
  snprintf(r->name, sizeof r->name, "%s", slash && slash[1] ? slash + 1 : path);
  free(real);
}

// All of it at one moment.
mm_status mm_report_open_run(const char *path, mm_report_run *r) {
  *r = (mm_report_run){ .part_of = -1 };
  MM_TRY(mm_run_open(path, MM_RUN_SALVAGE, &r->run));
  MM_TRY(mm_run_begin(r->run));
  set_name(r);
  const char *config = mm_run_config(r->run);
  if (mm_json_parse(config, strlen(config), "config", &r->config) != MM_OK) r->config = NULL;
  mm_status status = mm_run_summarise(r->run, &r->summary);
  r->has_search = strcmp(mm_run_command(r->run), "learn") == 0;
  if (goes_on(status)) status = mm_run_planned(r->run, &r->plan);
  if (goes_on(status) && r->has_search) status = mm_search_curve_read(r->run, &r->search);
  if (goes_on(status)) status = mm_report_read_trainings(r->run, r->config, &r->trainings);
  if (goes_on(status) && strcmp(mm_run_command(r->run), "train") == 0)
    status = mm_report_read_measures(r->run, &r->trainings, &r->measures);
  if (goes_on(status)) status = mm_report_estimate(&r->trainings);
  if (goes_on(status)) status = mm_report_estimate_measures(&r->trainings, &r->measures);
  if (goes_on(status)) status = mm_report_make_table(&r->trainings, r->config, &r->table);
  if (goes_on(status)) status = read_times(r);
  return status == MM_ERR_INPUT ? MM_OK : status;
}

void mm_report_release_run(mm_report_run *r) {
  mm_report_release_table(&r->table);
  mm_report_release_trainings(&r->trainings);
  mm_report_release_measures(&r->measures);
  mm_search_curve_release(&r->search);
  cJSON_Delete(r->config);
  if (r->run) mm_run_drop(r->run);
  mm_run_close(r->run);
  *r = (mm_report_run){ 0 };
}

// ---------------------------------------------------------------------------------------------
// Sessions

static int add_session(const mm_run_row *any, void *user) {
  const mm_run_session *row = &any->session;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "started", row->started);
  mm_report_add_text(object, "ended", row->ended);
  cJSON_AddStringToObject(object, "outcome", row->outcome);
  cJSON_AddStringToObject(object, "host", row->host);
  cJSON_AddStringToObject(object, "backend", row->backend);
  cJSON_AddStringToObject(object, "isa", row->isa);
  mm_json_add_defined(object, "threads", row->threads);
  cJSON_AddStringToObject(object, "version", row->version);
  cJSON_AddStringToObject(object, "build", row->build);
  cJSON_AddItemToArray(user, object);
  return 0;
}

static cJSON *sessions_json(const mm_report_run *r) {
  cJSON *array = cJSON_CreateArray();
  mm_run_each(r->run, MM_RUN_SESSION, add_session, array); // damage is noted
  return array;
}

// ---------------------------------------------------------------------------------------------
// Notes

static void note(cJSON *array, const char *format, ...) MM_CHECK_FORMAT(2, 3);

static void note(cJSON *array, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  cJSON_AddItemToArray(array, cJSON_CreateString(text));
}

static void note_damage(cJSON *array, const mm_report_run *r) {
  const char *damage = mm_run_damage(r->run);
  if (damage)
    note(array,
         "The database is damaged (%.200s). Curves, counts, means and maps are of what is intact: "
         "others may be missing.",
         damage);
}

static void note_progress(cJSON *array, const mm_report_run *r) {
  int64_t done = r->has_search ? r->summary.generations : r->summary.trainings;
  int64_t planned = r->has_search ? r->plan.generations : r->plan.trainings;
  if (planned > done)
    note(array, "%" PRId64 " of %" PRId64 " %s are done.", done, planned,
         r->has_search ? "generations" : "training runs begun so far");
}

static void note_troubles(cJSON *array, const mm_report_run *r) {
  size_t numeric = 0, failed = 0, unfinished = 0;
  int64_t nonfinite = 0;
  for (size_t i = 0; i < r->trainings.n; i++) {
    bool has_value = mm_result_has_value(&r->trainings.result[i]);
    numeric += has_value && r->trainings.result[i].status != MM_OK;
    failed += !has_value;
    unfinished += mm_result_is_unfinished(&r->trainings.result[i]);
  }
  for (size_t i = 0; i < r->search.n_generation; i++)
    nonfinite += r->search.generation[i].nonfinite > 0;
  if (numeric > 0)
    note(array, "%zu of %zu training runs diverged and count with their last finite policy.",
         numeric, r->trainings.n);
  if (failed > 0)
    note(array, "%zu of %zu training runs have no return and do not count.", failed,
         r->trainings.n);
  if (unfinished > 0)
    note(array,
         "%zu of %zu runs finished no episode: they have no return, and lose every comparison.",
         unfinished, r->trainings.n);
  if (nonfinite > 0)
    note(array, "In %" PRId64 " generations some candidates had no finite fitness.", nonfinite);
}

static void note_tuned(cJSON *array, const mm_report_run *r) {
  const cJSON *maps = mm_json_find(r->config, "maps");
  for (const cJSON *map = maps ? maps->child : NULL; map; map = map->next) {
    const char *label = mm_report_config_text(map, "label");
    if (!label || !cJSON_IsTrue(mm_json_find(map, "tuned"))) continue;
    note(array, "%.200s: its %s tuned for each environment, on seeds of their own.", label,
         cJSON_IsTrue(mm_json_find(map, "tuned_q")) ? "q and eta were" : "eta was");
  }
}

// phi only draws maps: it has no sizes.
static void note_scale(cJSON *array, const mm_report_run *r) {
  const char *scale = mm_report_config_text(r->config, "scale");
  const char *artefact = mm_report_config_text(r->config, "artefact");
  if (!scale || strcmp(mm_run_command(r->run), "reproduce") != 0) return;
  if (strcmp(scale, "paper") != 0 && !(artefact && strcmp(artefact, "phi") == 0))
    note(array, "Reduced: %.40s scale, not the paper's sizes.", scale);
}

static void note_tuning(cJSON *array, const mm_report_run *r) {
  if (strcmp(mm_run_command(r->run), "tune") == 0)
    note(array, "Scores of trials are differences from the baseline settings (trial 0), in units "
                "of each environment's spread. 'tuned' is the best trial, on fresh seeds.");
}

static cJSON *notes_json(const mm_report_run *r) {
  cJSON *array = cJSON_CreateArray();
  note_damage(array, r);
  note_scale(array, r);
  note_progress(array, r);
  note_troubles(array, r);
  note_tuned(array, r);
  note_tuning(array, r);
  return array;
}

// ---------------------------------------------------------------------------------------------

static const char *state_of(const mm_report_run *r) {
  const char *state = mm_run_state(&r->summary, r->plan);
  if (mm_run_damage(r->run)) return "damaged";
  return strcmp(state, "running") == 0 ? "going on" : state;
}

// The configuration without the texts of map files: the maps are in the document themselves.
static cJSON *config_json(const mm_report_run *r) {
  cJSON *config = r->config ? cJSON_Duplicate(r->config, true) : cJSON_CreateNull();
  cJSON_DeleteItemFromObjectCaseSensitive(config, "map_file");
  cJSON *maps = cJSON_GetObjectItemCaseSensitive(config, "maps");
  for (cJSON *map = maps ? maps->child : NULL; map; map = map->next)
    cJSON_DeleteItemFromObjectCaseSensitive(map, "map_file");
  return config;
}

// What a search for hyper-parameters has come to; null where there is none, or none that can be
// followed.
static cJSON *tuning_json(const mm_report_run *r) {
  mm_tune *tune = NULL;
  if (strcmp(mm_run_command(r->run), "tune") != 0 || mm_tune_read(r->run, &tune) != MM_OK)
    return cJSON_CreateNull();
  cJSON *tuning = mm_tune_tuning_json(tune);
  mm_tune_close(tune);
  return tuning ? tuning : cJSON_CreateNull();
}

// The command line that makes the run again.
static cJSON *again_json(const mm_report_run *r) {
  const char *line = mm_run_command_line(r->run);
  cJSON *array = cJSON_CreateArray();
  if (line) cJSON_AddItemToArray(array, cJSON_CreateString(line));
  return array;
}

// What a reproduction found of the paper's claims; null where it is none or has not ended.
static cJSON *claims_json(const mm_report_run *r) {
  char path[MM_RUN_PATH_SIZE + 16], *text = NULL;
  size_t length;
  if (strcmp(mm_run_command(r->run), "reproduce") != 0) return cJSON_CreateNull();
  snprintf(path, sizeof path, "%s/summary.json", mm_run_folder_of(r->run));
  if (mm_file_read(path, SUMMARY_MOST, &text, &length) != MM_OK) return cJSON_CreateNull();
  cJSON *summary = cJSON_ParseWithLength(text, length);
  cJSON *claims = cJSON_DetachItemFromObjectCaseSensitive(summary, "claims");
  cJSON_Delete(summary);
  mm_free(text);
  return claims ? claims : cJSON_CreateNull();
}

cJSON *mm_report_run_json(const mm_report_run *r) {
  const mm_run_summary *s = &r->summary;
  double rate = r->seconds_training > 0 ? (double)r->env_steps / r->seconds_training : NAN;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", r->name);
  cJSON_AddStringToObject(object, "folder", mm_run_folder_of(r->run));
  cJSON_AddStringToObject(object, "command", mm_run_command(r->run));
  mm_json_add_defined(object, "part_of", r->part_of >= 0 ? (double)r->part_of : NAN);
  cJSON_AddStringToObject(object, "state", state_of(r));
  mm_report_add_text(object, "started", s->started);
  mm_report_add_text(object, "last", s->last);
  mm_json_add_defined(object, "seconds", round(1e3 * r->seconds) / 1e3);
  mm_json_add_defined(object, "env_steps", (double)r->env_steps);
  mm_json_add_defined(object, "env_steps_per_second", rate);
  cJSON_AddItemToObject(object, "config", config_json(r));
  cJSON_AddItemToObject(object, "sessions", sessions_json(r));
  cJSON_AddItemToObject(object, "again", again_json(r));
  mm_report_add_text(object, "damage", mm_run_damage(r->run));
  cJSON_AddItemToObject(object, "search", mm_report_search_json(r));
  cJSON_AddItemToObject(object, "curves", mm_report_curves(&r->trainings, &r->measures));
  cJSON_AddItemToObject(object, "table", mm_report_table_json(&r->table));
  cJSON_AddItemToObject(object, "scores", mm_report_scores_json(r));
  cJSON_AddItemToObject(object, "tuning", tuning_json(r));
  cJSON_AddItemToObject(object, "notes", notes_json(r));
  cJSON_AddItemToObject(object, "claims", claims_json(r));
  return object;
}
