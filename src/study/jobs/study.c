#include "study/jobs/study.h"

#include <stdio.h>
#include <string.h>

mm_status mm_study_create(mm_study *s, const char *folder, cJSON *plan, const mm_plan_envs *envs) {
  const char *command = cJSON_GetStringValue(cJSON_GetObjectItem(plan, "command"));
  char *text = mm_json_print(plan, false);
  mm_status status = MM_OK;
  if (!text || !command) status = MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a study");
  if (status == MM_OK) status = mm_run_create(folder, command, text, &s->run);
  mm_free(text);
  cJSON_Delete(plan);
  MM_TRY(status);
  return envs ? mm_plan_copy_tasks(envs, folder) : MM_OK;
}

mm_status mm_study_open(mm_study *s, const char *folder) {
  return mm_run_open(folder, MM_RUN_WRITE, &s->run);
}

void mm_study_close(mm_study *s) {
  mm_job_store_close(s->store);
  mm_run_close(s->run);
  *s = (mm_study){ 0 };
}

mm_status mm_study_rehearse(const mm_env *env, const mm_map *map, const mm_settings *settings,
                            uint64_t seed) {
  mm_job job = { .env = env, .map = map, .seed = seed };
  mm_settings_bind(settings, &job);
  return mm_job_rehearse(&job);
}

mm_status mm_study_plan(const mm_run *run, cJSON **plan, char source[MM_STUDY_SOURCE_SIZE]) {
  snprintf(source, MM_STUDY_SOURCE_SIZE, "%.4000s/run.db: config", mm_run_folder_of(run));
  return mm_json_parse(mm_run_config(run), strlen(mm_run_config(run)), source, plan);
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

mm_status mm_study_run(mm_study *s, const mm_backend_config *backend, size_t first,
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

bool mm_study_trouble(mm_study *s, char out[MM_ERROR_SIZE]) {
  return s->store && mm_job_store_trouble(s->store, out);
}

void mm_study_end(mm_study *s, const char *outcome) {
  if (s->in_session && mm_run_session_end(s->run, outcome) == MM_OK) s->in_session = false;
}

void mm_study_add_estimate(cJSON *object, const char *key, mm_estimate e) {
  cJSON *pair = cJSON_AddObjectToObject(object, key);
  mm_json_add_defined(pair, "mean", e.mean);
  mm_json_add_defined(pair, "sem", e.sem);
}
