// The run of a training: one job per seed, kept by the job store, and the networks at the end.

#include <stdio.h>
#include <string.h>

#include "study/train/train_internal.h"

bool mm_train_trouble(mm_train *t, char out[MM_ERROR_SIZE]) {
  return mm_job_store_trouble(t->store, out);
}

static mm_status start_session(mm_train *t, const mm_backend_config *backend) {
  if (!t->run || t->session) return MM_OK;
  MM_TRY(mm_machine_enter(t->run, &backend->place, backend->threads));
  t->session = true;
  return MM_OK;
}

// The networks go to their file; then nothing need be kept any more.
static mm_status write_policy(mm_train *t) {
  char path[MM_RUN_PATH_SIZE + 24];
  if (t->no_policy[0] != '\0') return MM_OK; // there is no file for such networks, now or later
  const mm_result *result = mm_job_store_results(t->store, 0);
  for (size_t i = 0; i < t->plan.seeds; i++)
    mm_policy_set_final(t->policy, i, result[i].final_value);
  snprintf(path, sizeof path, "%s/policy.safetensors", mm_run_folder_of(t->run));
  mm_status status = mm_policy_save(t->policy, path);
  t->has_file = status == MM_OK;
  return status;
}

static mm_status finish(mm_train *t) {
  if (t->run && t->policy && !t->complete) MM_TRY(write_policy(t));
  MM_TRY(mm_job_store_finish(t->store));
  t->complete = true;
  return MM_OK;
}

static bool all_ended(const mm_train *t) {
  const mm_result *result = mm_job_store_results(t->store, 0);
  for (size_t i = 0; i < t->plan.seeds; i++)
    if (result[i].status != MM_OK && result[i].status != MM_ERR_NUMERIC) return false;
  return true;
}

mm_status mm_train_run(mm_train *t, const mm_backend_config *backend, double save_seconds) {
  mm_backend_config config = *backend;
  MM_TRY(start_session(t, &config));
  config.report = &t->report;
  t->place = config.place;
  mm_job_store_save_every(t->store, save_seconds);
  mm_status status = mm_job_store_run(t->store, &config, 0, t->job, t->plan.seeds);
  if (t->session) mm_machine_correct(t->run, &t->place, mm_job_store_work_of(t->store).ran);
  MM_TRY(status);
  return all_ended(t) ? finish(t) : MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Looking at it

void mm_train_look(const mm_train *t, mm_train_view *out) {
  const mm_job_store_work work = mm_job_store_work_of(t->store);
  *out = (mm_train_view){ .plan = &t->plan,
                          .env = t->env,
                          .folder = t->run ? mm_run_folder_of(t->run) : NULL,
                          .result = mm_job_store_results(t->store, 0),
                          .trouble = t->plan.seeds,
                          .complete = t->complete,
                          .no_policy = t->no_policy,
                          .machine = { t->place, work.ran, t->report.threads, t->report.ranks },
                          .seconds = work.seconds,
                          .env_steps = work.env_steps,
                          .error = "" };
  size_t broken = t->plan.seeds;
  for (size_t i = t->plan.seeds; i-- > 0;) {
    const mm_result *r = &out->result[i];
    if (r->status == MM_ERR_INTERRUPTED) continue;
    out->n_done++;
    if (r->status == MM_OK) continue;
    if (r->status == MM_ERR_NUMERIC && r->n_curve > 0) {
      out->n_numeric++;
      broken = i;
    } else {
      out->n_failed++;
      out->trouble = i;
    }
  }
  if (out->n_failed == 0) out->trouble = broken;
  if (out->trouble < t->plan.seeds && out->trouble == t->report.trouble)
    out->error = t->report.error;
  if (t->run && t->has_file)
    snprintf(out->policy, sizeof out->policy, "%s/policy.safetensors", out->folder);
}

// Best effort: a run whose disk is full has nothing to say any more.
void mm_train_note_end(mm_train *t, const char *outcome) {
  if (t->session && mm_run_session_end(t->run, outcome) == MM_OK) t->session = false;
}
