// SPDX-License-Identifier: Apache-2.0
// Beginning, resuming and running a reproduction: one artefact, or all of them as reproductions in
// folders of their own.

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/config.h"
#include "paper/paper_internal.h"

// ---------------------------------------------------------------------------------------------
// Opening

void mm_paper_close(mm_paper *r) {
  if (!r) return;
  mm_artefact_release(&r->result);
  mm_study_release(&r->study);
  mm_free(r);
}

bool mm_paper_exists(const char *path) {
  struct stat about;
  return stat(path, &about) == 0;
}

bool mm_paper_has_run(const char *folder) {
  char path[MM_PAPER_PATH + 16];
  snprintf(path, sizeof path, "%s/run.db", folder);
  return mm_paper_exists(path);
}

// What lies in the folder would be taken for what was made here, or be overwritten. A process that
// was killed while it made the database leaves files of that name; a whole one is mm_run_create's
// to refuse.
static mm_status check_empty(const char *folder) {
  DIR *opened = mm_paper_has_run(folder) ? NULL : opendir(folder);
  if (!opened) return MM_OK;
  mm_status status = MM_OK;
  for (const struct dirent *entry; status == MM_OK && (entry = readdir(opened)) != NULL;) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strncmp(name, "run.db", 6) == 0)
      continue;
    status = MM_FAIL(MM_ERR_INPUT, "'%.300s': has '%.100s' in it; choose a new or an empty folder",
                     folder, name);
  }
  closedir(opened);
  return status;
}

// The table of `all` takes the maps of folders beside it by their names, when all else is done.
static mm_status check_length(const char *folder, mm_artefact_id artefact) {
  if (artefact != MM_ARTEFACT_ALL || strlen(folder) + sizeof "/control" <= MM_PLAN_NAME_SIZE)
    return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "'%.40s..': the name of a folder for 'all' can have %d bytes",
                 folder, (int)(MM_PLAN_NAME_SIZE - sizeof "/control"));
}

static mm_status create(mm_paper *r, const char *folder, const mm_paper_plan *plan) {
  MM_TRY(mm_paper_plan_check(plan));
  MM_TRY(mm_paper_check_lenders(plan));
  MM_TRY(check_length(folder, plan->artefact));
  MM_TRY(check_empty(folder));
  MM_TRY(mm_paper_rehearse(plan));
  r->plan = *plan;
  return mm_study_make_run(&r->study, folder, mm_paper_plan_json(plan), NULL);
}

// Earlier versions kept the runs of the Grid-World figure here, without their tunings: they cannot
// be taken for those of its tables.
static mm_status check_runs(const mm_paper *r) {
  mm_run_summary summary;
  MM_TRY(mm_run_summarise(r->study.run, &summary));
  if (summary.trainings == 0) return MM_OK;
  return MM_FAIL(
      MM_ERR_INPUT,
      "%s/run.db: its figure was begun by an earlier version of this program, whose runs "
      "cannot be resumed; begin a new reproduction",
      mm_study_folder(&r->study));
}

static mm_status resume(mm_paper *r, const char *folder) {
  char source[MM_STUDY_SOURCE_SIZE];
  cJSON *root;
  MM_TRY(mm_study_take_run(&r->study, folder));
  MM_TRY(mm_study_plan(r->study.run, &root, source));
  mm_status status = mm_paper_plan_read(root, source, &r->plan);
  cJSON_Delete(root);
  MM_TRY(status);
  MM_TRY(check_runs(r));
  MM_TRY(check_length(mm_study_folder(&r->study), r->plan.artefact));
  MM_TRY(mm_paper_plan_check(&r->plan));
  return mm_paper_rehearse(&r->plan);
}

// Without a plan: the one that is there.
static mm_status open_paper(const char *folder, const mm_paper_plan *plan, mm_paper **out) {
  mm_paper *r = mm_alloc(sizeof *r);
  *out = NULL;
  if (!r) return MM_FAIL(MM_ERR_MEMORY, "no memory for a reproduction");
  memset(r, 0, sizeof *r);
  mm_status status = plan ? create(r, folder, plan) : resume(r, folder);
  if (status == MM_OK)
    *out = r;
  else
    mm_paper_close(r);
  return status;
}

mm_status mm_paper_begin(const char *folder, const mm_paper_plan *plan, mm_paper **out) {
  return open_paper(folder, plan, out);
}

// A plan is too large for a stack that threads have.
mm_status mm_paper_create(const char *folder, const mm_paper_config *config, mm_paper **out) {
  mm_paper_plan *plan = mm_alloc(sizeof *plan);
  *out = NULL;
  if (!plan) return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a reproduction");
  mm_status status = mm_paper_plan_take(config, plan);
  if (status == MM_OK) {
    mm_paper_config c = mm_paper_config_default();
    (void)mm_config_take("mm_paper_config", config, &c, sizeof c); // as it was taken before
    char *const *before = mm_run_made_by(c.argv);
    status = mm_paper_begin(folder, plan, out);
    mm_run_made_by(before);
  }
  mm_free(plan);
  return status;
}

mm_status mm_paper_open(const char *folder, mm_paper **out) {
  return open_paper(folder, NULL, out);
}

mm_status mm_paper_check_devices(const mm_paper_config *config, const mm_paper *r) {
  if (!config) return mm_paper_plan_devices(&r->plan);
  mm_paper_plan *plan = mm_alloc(sizeof *plan);
  if (!plan) return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a reproduction");
  mm_status status = mm_paper_plan_take(config, plan);
  if (status == MM_OK) status = mm_paper_plan_devices(plan);
  mm_free(plan);
  return status;
}

const char *mm_paper_artefact(const mm_paper *r) {
  return mm_artefact_name(r->plan.artefact);
}

const char *mm_paper_scale(const mm_paper *r) {
  return mm_scale_name(r->plan.scale);
}

const char *mm_paper_folder(const mm_paper *r) {
  return mm_study_folder(&r->study);
}

size_t mm_paper_failures(const mm_paper *r, const char **why) {
  *why = r->failure;
  return r->n_failed;
}

void mm_paper_count_failures(mm_paper *r, size_t n, const char *where, const char *why) {
  if (n > 0 && r->n_failed == 0) snprintf(r->failure, sizeof r->failure, "%.80s%s", where, why);
  r->n_failed += n;
}

// A table with holes can be filled: it is not done.
const char *mm_paper_outcome(mm_status status, size_t n_failed) {
  if (status == MM_ERR_INTERRUPTED) return "interrupted";
  return status == MM_OK && n_failed == 0 ? "done" : "failed";
}

void mm_paper_end(mm_paper *r, const char *outcome) {
  mm_study_end(&r->study, outcome);
}

// ---------------------------------------------------------------------------------------------
// What stages use

const char *mm_paper_path(const mm_paper *r, const char *name, char out[MM_PAPER_PATH]) {
  snprintf(out, MM_PAPER_PATH, "%s/%s", mm_paper_folder(r), name);
  return out;
}

void mm_paper_tell(const mm_paper *r, double done, double total, const char *unit) {
  if (r->job->progress) r->job->progress(r->stage, done, total, unit, r->job->user);
}

void mm_paper_warn(const mm_paper *r, const char *sentence) {
  if (r->job->warn) r->job->warn(sentence, r->job->user);
}

void mm_paper_ran(mm_paper *r, unsigned ran) {
  mm_study_ran(&r->study, &r->job->place, ran);
}

mm_backend_config mm_paper_backend(mm_paper *r,
                                   void (*progress)(size_t, size_t, uint64_t, void *)) {
  return (mm_backend_config){ .size = sizeof(mm_backend_config),
                              .place = r->job->place,
                              .threads = r->job->threads,
                              .job_timeout = r->job->job_timeout,
                              .stop = r->job->stop,
                              .progress = progress,
                              .user = r };
}

// ---------------------------------------------------------------------------------------------
// Running

static mm_status start_session(mm_paper *r) {
  const mm_backend_config backend = mm_paper_backend(r, NULL);
  r->study.machine.place = backend.place;
  r->study.machine.threads = mm_backend_threads(backend.threads);
  r->study.machine.ranks = mm_backend_ranks();
  return mm_study_start(&r->study, &backend);
}

void mm_paper_clock(mm_paper *r) {
  r->result.seconds = mm_clock_seconds() - r->start;
  r->result.machine = r->study.machine;
}

static void name_result(mm_paper *r) {
  const mm_artefact_spec *spec = &mm_artefact_specs[r->plan.artefact];
  mm_artefact *result = &r->result;
  mm_artefact_release(result);
  *result = (mm_artefact){ .folder = mm_paper_folder(r),
                           .artefact = spec->name,
                           .scale = mm_scale_name(r->plan.scale),
                           .seed = r->plan.seed };
  if (spec->n_env == 0)
    snprintf(result->label, sizeof result->label, "an illustration: the same at every scale");
  else
    mm_paper_label(&r->plan, mm_paper_suite(spec->env[0]), result->label);
}

static mm_status run_artefact(mm_paper *r) {
  name_result(r);
  MM_TRY(start_session(r));
  MM_TRY(mm_artefact_make(r));
  mm_paper_clock(r);
  MM_TRY(mm_artefact_write(&r->result));
  if (r->job->finished) r->job->finished(&r->result, r->job->user);
  return MM_OK;
}

// By their places now: the folder may have been moved.
static mm_status lend_maps(const mm_paper *r, mm_paper *child) {
  static const char *const lender[] = { "control", "minatar" };
  char folder[MM_PAPER_PATH];
  child->plan.n_from = 2;
  for (int i = 0; i < 2; i++)
    MM_TRY(mm_plan_copy_name(mm_paper_path(r, lender[i], folder), "folder", child->plan.from[i]));
  return MM_OK;
}

// Whether two plans are the same as the database keeps them.
static bool same_plan(const mm_paper_plan *a, const mm_paper_plan *b) {
  cJSON *one = mm_paper_plan_json(a), *two = mm_paper_plan_json(b);
  bool same = cJSON_Compare(one, two, true);
  cJSON_Delete(one);
  cJSON_Delete(two);
  return same;
}

static mm_status open_child(const mm_paper *r, mm_artefact_id artefact, mm_paper **out) {
  char folder[MM_PAPER_PATH];
  mm_paper_plan plan;
  mm_paper_path(r, mm_artefact_name(artefact), folder);
  mm_paper_plan_part(&r->plan, artefact, &plan);
  if (!mm_paper_has_run(folder)) return mm_paper_begin(folder, &plan, out);
  MM_TRY(mm_paper_open(folder, out));
  if (same_plan(&(*out)->plan, &plan)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s/run.db: another plan than that of the reproduction it is in",
                 folder);
}

// One artefact of `all`, in a folder of its own. The table takes the maps of those before it.
static mm_status run_child(mm_paper *r, mm_artefact_id artefact) {
  mm_paper *child = NULL;
  mm_status status = open_child(r, artefact, &child);
  if (status == MM_OK && artefact == MM_ARTEFACT_TRANSFER) status = lend_maps(r, child);
  if (status == MM_OK) status = mm_paper_run(child, r->job);
  if (child) {
    mm_paper_ran(r, child->study.machine.ran);
    mm_paper_count_failures(r, child->n_failed, "", child->failure);
    mm_paper_end(child, mm_paper_outcome(status, child->n_failed));
  }
  mm_paper_close(child);
  return status;
}

static mm_status run_paper(mm_paper *r) {
  r->start = mm_clock_seconds();
  r->n_failed = 0;
  if (r->plan.artefact != MM_ARTEFACT_ALL) return run_artefact(r);
  MM_TRY(start_session(r));
  for (int i = 0; i < MM_ARTEFACT_ALL; i++)
    MM_TRY(run_child(r, (mm_artefact_id)i));
  return MM_OK;
}

void mm_paper_job_init(mm_paper_job *out, size_t size) {
  const mm_paper_job ours = { .place = { .kind = MM_BACKEND_AUTO } };
  mm_config_give(&ours, sizeof ours, out, size);
}

mm_status mm_paper_run(mm_paper *r, const mm_paper_job *asked) {
  mm_paper_job job = mm_paper_job_default();
  MM_TRY(mm_config_take("mm_paper_job", asked, &job, sizeof job));
  char *const *before = mm_run_made_by(job.argv);
  r->job = &job;
  mm_status status = run_paper(r);
  r->job = NULL;
  mm_run_made_by(before);
  return status;
}
