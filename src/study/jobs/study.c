// SPDX-License-Identifier: Apache-2.0
#include "study/jobs/study.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"

enum { GIVEN_MOST = 1 << 16 }; // no struct is larger

// ---------------------------------------------------------------------------------------------
// Life as users see it: the same for all kinds, with what the class has to say

const char *mm_study_kind_name(mm_study_kind kind) {
  static const char *const names[MM_STUDY_KINDS] = {
#define NAME(KIND, name) name,
    MM_STUDY_LIST(NAME)
#undef NAME
  };
  return names[kind];
}

mm_study_kind mm_study_get_kind(const mm_study *s) {
  return s->class->kind;
}

void mm_study_machine_init(mm_study_machine *out, size_t size) {
  const mm_study_machine ours = { .backend = "auto", .save_seconds = 60 };
  mm_config_give(&ours, sizeof ours, out, size);
}

static mm_status read_machine(const mm_study_machine *machine, mm_study_machine *m,
                              mm_backend_config *out) {
  static const char *const names[] = {
    [MM_BACKEND_CPU] = "cpu", [MM_BACKEND_CUDA] = "cuda", [MM_BACKEND_AUTO] = "auto"
  };
  *m = mm_study_machine_default();
  MM_TRY(mm_config_take("mm_study_machine", machine, m, sizeof *m));
  if (!m->backend) return MM_FAIL(MM_ERR_INPUT, "mm_study_machine: expected a backend");
  *out = (mm_backend_config){ .size = sizeof(mm_backend_config),
                              .threads = m->threads,
                              .job_timeout = m->job_timeout,
                              .stop = m->stop,
                              .progress = m->progress,
                              .user = m->user };
  out->place.devices = m->devices;
  out->place.n_device = m->n_device;
  for (int i = 0; i <= MM_BACKEND_AUTO; i++) {
    out->place.kind = (mm_backend_kind)i;
    if (strcmp(m->backend, names[i]) == 0) return MM_OK;
  }
  return MM_FAIL(MM_ERR_INPUT, "backend '%.40s': expected auto, cpu or cuda", m->backend);
}

mm_status mm_study_advance(mm_study *s, const mm_study_machine *machine) {
  mm_study_machine m;
  mm_backend_config backend;
  MM_TRY(read_machine(machine, &m, &backend));
  if (s->machine.ran == 0) s->machine.place = backend.place;
  if (s->class->done(s)) return MM_OK;
  s->outcome[0] = '\0';
  return s->class->advance(s, &backend, m.save_seconds);
}

mm_status mm_study_lengthen(mm_study *s, int64_t generations) {
  MM_TRY(mm_study_expect(s, MM_STUDY_LEARN));
  return s->class->lengthen(s, generations);
}

bool mm_study_done(const mm_study *s) {
  return s->class->done(s);
}

// ---------------------------------------------------------------------------------------------
// What it is about

mm_status mm_study_expect(const mm_study *s, mm_study_kind kind) {
  if (s->class->kind == kind) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "a study of kind %s, expected %s",
                 mm_study_kind_name(s->class->kind), mm_study_kind_name(kind));
}

mm_status mm_study_give(const void *ours, size_t most, void *out) {
  size_t size;
  memcpy(&size, out, sizeof size);
  if (size <= sizeof size || size > GIVEN_MOST || size % sizeof size != 0)
    return MM_FAIL(MM_ERR_INPUT, "a struct of size %zu: expected its sizeof in its first field",
                   size);
  mm_config_give(ours, most, out, size);
  return MM_OK;
}

static mm_status check_place(const char *what, size_t i, size_t n) {
  if (i < n) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s %zu: there are %zu so far", what, i, n);
}

// With what the class does not know of itself.
static mm_study_info describe(const mm_study *s) {
  mm_study_info ours = { .kind = s->class->kind,
                         .complete = s->class->done(s),
                         .on_devices = (s->machine.ran & MM_BACKEND_ON_CUDA) != 0,
                         .policy = "",
                         .no_policy = "" };
  s->class->describe(s, &ours);
  return ours;
}

mm_status mm_study_describe(const mm_study *s, mm_study_info *out) {
  const mm_study_info ours = describe(s);
  return mm_study_give(&ours, sizeof ours, out);
}

mm_status mm_study_env_at(const mm_study *s, size_t i, mm_study_env_info *out) {
  mm_study_env_info ours = { .optimal = NAN, .unit = NAN };
  MM_TRY(check_place("environment", i, describe(s).n_env));
  s->class->env(s, i, &ours);
  return mm_study_give(&ours, sizeof ours, out);
}

mm_status mm_study_map_at(const mm_study *s, size_t i, mm_study_map_info *out) {
  mm_study_map_info ours = { 0 };
  MM_TRY(check_place("map", i, describe(s).n_map));
  s->class->map(s, i, &ours);
  return mm_study_give(&ours, sizeof ours, out);
}

mm_status mm_study_count_failures(const mm_study *s, mm_study_failures *out) {
  mm_study_failures ours = { .map = "", .env = "", .error = "" };
  if (!s->class->failures)
    return MM_FAIL(MM_ERR_INPUT, "a study of kind %s, expected train or transfer",
                   mm_study_kind_name(s->class->kind));
  s->class->failures(s, &ours);
  return mm_study_give(&ours, sizeof ours, out);
}

const char *mm_study_machine_text(const mm_study *s, char out[MM_STUDY_MACHINE_TEXT]) {
  static_assert((int)MM_STUDY_MACHINE_TEXT == (int)MM_MACHINE_TEXT, "room for a machine");
  return mm_machine_text(&s->machine, out);
}

// ---------------------------------------------------------------------------------------------
// What it came to

void mm_study_look(const mm_study *s, mm_study_progress *out) {
  *out = (mm_study_progress){ 0 };
  s->class->look(s, out);
}

void mm_study_close(mm_study *s) {
  if (!s) return;
  mm_study_end(s, s->class->done(s) ? "done" : "stopped");
  s->class->close(s);
}

size_t mm_study_cells(const mm_study *s) {
  return s->class->cells(s);
}

mm_status mm_study_cell_at(const mm_study *s, size_t i, mm_study_cell *out) {
  *out = (mm_study_cell){ .eta = NAN, .mean = NAN, .sem = NAN };
  MM_TRY(check_place("cell", i, s->class->cells(s)));
  s->class->cell(s, i, out);
  return MM_OK;
}

mm_status mm_study_detail_at(const mm_study *s, size_t i, mm_study_detail *out) {
  const mm_comparison none = MM_COMPARISON_NONE;
  const mm_iqm no_iqm = { NAN, NAN, NAN };
  mm_study_detail ours = { .of = { .mean = MM_ESTIMATE_NONE, .iqm = no_iqm, .worst = NAN },
                           .over = { none, none },
                           .over_own = none,
                           .q = NAN };
  MM_TRY(check_place("cell", i, s->class->cells(s)));
  s->class->detail(s, i, &ours);
  return mm_study_give(&ours, sizeof ours, out);
}

void mm_study_fill_cell(mm_study_cell *cell, const double *worth, size_t n) {
  const mm_estimate e = mm_estimate_known(worth, n);
  cell->mean = e.mean;
  cell->sem = e.sem;
  cell->final = worth;
  cell->n_seed = n;
  cell->n = 0;
  for (size_t i = 0; i < n; i++)
    cell->n += isfinite(worth[i]) != 0;
}

mm_status mm_study_map(const mm_study *s, mm_map **out) {
  char path[MM_RUN_PATH_SIZE + 16];
  *out = NULL;
  MM_TRY(mm_study_expect(s, MM_STUDY_LEARN));
  snprintf(path, sizeof path, "%s/best.json", mm_study_folder(s));
  return mm_map_load(path, out);
}

mm_status mm_study_setting(const mm_study *s, const char *key, char out[MM_STUDY_SETTING_SIZE]) {
  MM_TRY(mm_study_expect(s, MM_STUDY_TUNE));
  return s->class->setting(s, key, out);
}

mm_status mm_study_write(mm_study *s) {
  if (!s->run) return MM_FAIL(MM_ERR_INPUT, "the study has no folder to write to");
  return s->class->write ? s->class->write(s) : MM_OK;
}

mm_status mm_study_format(mm_study *s, char **out) {
  cJSON *root = s->class->json(s);
  *out = root ? mm_json_print(root, false) : NULL;
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the results of a study");
}

void mm_study_text_free(char *text) {
  mm_free(text);
}

// ---------------------------------------------------------------------------------------------
// Runs

mm_status mm_study_make_run(mm_study *s, const char *folder, cJSON *plan,
                            const mm_plan_envs *envs) {
  const char *command = cJSON_GetStringValue(cJSON_GetObjectItem(plan, "command"));
  mm_status status = mm_plan_add_plugins(plan);
  char *text = mm_json_print(plan, false);
  if (status == MM_OK && (!text || !command))
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a study");
  if (status == MM_OK) status = mm_run_create(folder, command, text, &s->run);
  mm_free(text);
  cJSON_Delete(plan);
  MM_TRY(status);
  return envs ? mm_plan_copy_tasks(envs, folder) : MM_OK;
}

mm_status mm_study_take_run(mm_study *s, const char *folder) {
  return mm_run_open(folder, MM_RUN_WRITE, &s->run);
}

void mm_study_release(mm_study *s) {
  mm_job_store_close(s->store);
  mm_run_close(s->run);
  *s = (mm_study){ .class = s->class };
}

mm_status mm_study_rehearse(const mm_env *env, const mm_map *map, const mm_settings *settings,
                            uint64_t seed) {
  mm_job job = { .env = env, .map = map, .seed = seed };
  mm_settings_bind(settings, &job);
  return mm_job_rehearse(&job, false);
}

mm_status mm_study_plan(const mm_run *run, cJSON **plan, char source[MM_STUDY_SOURCE_SIZE]) {
  snprintf(source, MM_STUDY_SOURCE_SIZE, "%.4000s/run.db: config", mm_run_folder_of(run));
  MM_TRY(mm_json_parse(mm_run_config(run), strlen(mm_run_config(run)), source, plan));
  mm_status status = mm_plan_take_plugins(*plan, source);
  if (status == MM_OK) return MM_OK;
  cJSON_Delete(*plan);
  *plan = NULL;
  return status;
}

const char *mm_study_folder(const mm_study *s) {
  return s->run ? mm_run_folder_of(s->run) : NULL;
}

// ---------------------------------------------------------------------------------------------

mm_status mm_study_start(mm_study *s, const mm_backend_config *backend) {
  if (!s->run || s->in_session) return MM_OK;
  MM_TRY(mm_machine_enter(s->run, &backend->place, backend->threads));
  s->in_session = true;
  return MM_OK;
}

void mm_study_ran(mm_study *s, const mm_backend_place *place, unsigned ran) {
  s->machine.place = *place;
  s->machine.ran |= ran;
  if (s->in_session) mm_machine_correct(s->run, place, s->machine.ran);
}

mm_status mm_study_run_jobs(mm_study *s, const mm_backend_config *backend, size_t first,
                            const mm_job *jobs, size_t n, mm_backend_report *report) {
  mm_backend_config config = *backend;
  *report = (mm_backend_report){ 0 };
  config.report = report;
  mm_status status = mm_job_store_run(s->store, &config, first, jobs, n);
  if (report->threads > 0) { // there was something to be done
    s->machine.threads = report->threads;
    s->machine.ranks = report->ranks;
  }
  mm_study_ran(s, &config.place, mm_job_store_work_of(s->store).ran);
  return status;
}

bool mm_study_trouble(mm_study *s, char out[MM_STUDY_TROUBLE_SIZE]) {
  static_assert((int)MM_STUDY_TROUBLE_SIZE == (int)MM_ERROR_SIZE, "room for a sentence");
  return s->store && mm_job_store_trouble(s->store, out);
}

void mm_study_end(mm_study *s, const char *outcome) {
  if (s->outcome[0] == '\0') snprintf(s->outcome, sizeof s->outcome, "%s", outcome);
  if (s->in_session && mm_run_session_end(s->run, outcome) == MM_OK) s->in_session = false;
}

void mm_study_add_run(cJSON *object, const mm_study *s) {
  const char *folder = mm_study_folder(s);
  cJSON_AddItemToObject(object, "run", folder ? cJSON_CreateString(folder) : cJSON_CreateNull());
  cJSON_AddStringToObject(object, "state", s->outcome[0] ? s->outcome : "running");
}

void mm_study_add_speed(cJSON *object, double seconds, uint64_t env_steps) {
  mm_json_add_defined(object, "env_steps_per_second",
                      seconds > 0 ? (double)env_steps / seconds : NAN);
  cJSON_AddItemToObject(object, "wall_seconds", mm_json_number(seconds));
}

void mm_study_add_estimate(cJSON *object, const char *key, mm_estimate e) {
  cJSON *pair = cJSON_AddObjectToObject(object, key);
  mm_json_add_defined(pair, "mean", e.mean);
  mm_json_add_defined(pair, "sem", e.sem);
}
