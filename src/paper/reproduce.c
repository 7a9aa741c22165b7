// Beginning, resuming and running a reproduction, and the stages that artefacts are made of.

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "paper/reproduce_internal.h"
#include "show/figure/search_figure.h"
#include "show/plot/gnuplot.h"
#include "study/jobs/eta_tuning.h"

// ---------------------------------------------------------------------------------------------
// Opening

static mm_status take(mm_reproduce **out) {
  *out = mm_alloc(sizeof **out);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for a reproduction");
  memset(*out, 0, sizeof **out);
  return MM_OK;
}

void mm_reproduce_close(mm_reproduce *r) {
  if (!r) return;
  mm_reproduction_release(&r->result);
  mm_run_close(r->run);
  mm_free(r);
}

static bool exists(const char *path) {
  struct stat about;
  return stat(path, &about) == 0;
}

bool mm_reproduce_has_run(const char *folder) {
  char path[MM_REPRODUCE_PATH + 16];
  snprintf(path, sizeof path, "%s/run.db", folder);
  return exists(path);
}

// What lies in the folder would be taken for what was made here, or be overwritten. A process that
// was killed while it made the database leaves files of that name; a whole one is mm_run_create's
// to refuse.
static mm_status check_empty(const char *folder) {
  DIR *opened = mm_reproduce_has_run(folder) ? NULL : opendir(folder);
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
static mm_status check_length(const char *folder, mm_artefact artefact) {
  if (artefact != MM_ARTEFACT_ALL || strlen(folder) + sizeof "/control" <= MM_PLAN_NAME_SIZE)
    return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "'%.40s..': the name of a folder for 'all' can have %d bytes",
                 folder, (int)(MM_PLAN_NAME_SIZE - sizeof "/control"));
}

mm_status mm_reproduce_create(const char *folder, const mm_reproduce_plan *plan,
                              mm_reproduce **out) {
  char *config;
  mm_reproduce *r;
  *out = NULL;
  MM_TRY(mm_reproduce_plan_check(plan));
  MM_TRY(mm_reproduce_check_lenders(plan));
  MM_TRY(check_length(folder, plan->artefact));
  MM_TRY(check_empty(folder));
  MM_TRY(mm_reproduce_rehearse(plan));
  MM_TRY(mm_reproduce_plan_write(plan, &config));
  mm_status status = take(&r);
  if (status == MM_OK) {
    r->plan = *plan;
    status = mm_run_create(folder, "reproduce", config, &r->run);
  }
  mm_free(config);
  if (status == MM_OK)
    *out = r;
  else
    mm_reproduce_close(r);
  return status;
}

static mm_status resume(mm_reproduce *r, const char *folder) {
  char source[MM_RUN_PATH_SIZE];
  MM_TRY(mm_run_open(folder, MM_RUN_WRITE, &r->run));
  snprintf(source, sizeof source, "%.4000s/run.db: config", mm_run_folder_of(r->run));
  MM_TRY(mm_reproduce_plan_read(mm_run_config(r->run), source, &r->plan));
  MM_TRY(check_length(mm_run_folder_of(r->run), r->plan.artefact));
  MM_TRY(mm_reproduce_plan_check(&r->plan));
  return mm_reproduce_rehearse(&r->plan);
}

mm_status mm_reproduce_resume(const char *folder, mm_reproduce **out) {
  mm_reproduce *r;
  *out = NULL;
  MM_TRY(take(&r));
  mm_status status = resume(r, folder);
  if (status == MM_OK)
    *out = r;
  else
    mm_reproduce_close(r);
  return status;
}

const mm_reproduce_plan *mm_reproduce_get_plan(const mm_reproduce *r) {
  return &r->plan;
}

const char *mm_reproduce_folder(const mm_reproduce *r) {
  return mm_run_folder_of(r->run);
}

size_t mm_reproduce_failures(const mm_reproduce *r, const char **why) {
  *why = r->failure;
  return r->n_failed;
}

void mm_reproduce_count_failures(mm_reproduce *r, size_t n, const char *where, const char *why) {
  if (n > 0 && r->n_failed == 0) snprintf(r->failure, sizeof r->failure, "%.80s%s", where, why);
  r->n_failed += n;
}

// A table with holes can be filled: it is not done.
const char *mm_reproduce_outcome(mm_status status, size_t n_failed) {
  if (status == MM_ERR_INTERRUPTED) return "interrupted";
  return status == MM_OK && n_failed == 0 ? "done" : "failed";
}

// Best effort: a run whose disk is full has nothing to say any more.
void mm_reproduce_note_end(mm_reproduce *r, const char *outcome) {
  if (r->session && mm_run_session_end(r->run, outcome) == MM_OK) r->session = false;
}

// ---------------------------------------------------------------------------------------------
// What stages use

const char *mm_reproduce_path(const mm_reproduce *r, const char *name,
                              char out[MM_REPRODUCE_PATH]) {
  snprintf(out, MM_REPRODUCE_PATH, "%s/%s", mm_reproduce_folder(r), name);
  return out;
}

void mm_reproduce_tell(const mm_reproduce *r, const char *stage, double done, double total,
                       const char *unit) {
  if (r->job->progress) r->job->progress(stage, done, total, unit, r->job->user);
}

void mm_reproduce_warn(const mm_reproduce *r, const char *sentence) {
  if (r->job->warn) r->job->warn(sentence, r->job->user);
}

void mm_reproduce_ran(mm_reproduce *r, unsigned ran) {
  mm_machine *m = &r->result.machine;
  m->ran |= ran;
  if (r->session) mm_machine_correct(r->run, &m->place, m->ran);
}

void mm_reproduce_clock(mm_reproduce *r) {
  r->result.seconds = mm_clock_seconds() - r->start;
}

mm_status mm_reproduce_keep_settings(mm_reproduce *r, const char *label,
                                     const mm_settings *settings) {
  if (!r->result.settings) r->result.settings = cJSON_CreateObject();
  cJSON *object = mm_settings_json(settings);
  if (object) cJSON_AddStringToObject(object, "algo", mm_algo_name(settings->algo));
  if (object && cJSON_AddItemToObject(r->result.settings, label, object)) return MM_OK;
  cJSON_Delete(object);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for settings");
}

mm_status mm_reproduce_note_tuning(mm_reproduce *r, const mm_settings *settings, size_t seeds) {
  mm_settings copy = *settings;
  mm_tuning_cost cost = { .eta = *mm_settings_eta(&copy),
                          .seeds = seeds,
                          .steps = MM_ETAS * (double)seeds * mm_settings_steps(settings),
                          .map_steps = r->search_steps };
  r->result.tuning = cost;
  return mm_reproduction_note(
      &r->result,
      "tuned-eta: the best of nine values, 2^-4 to 2^4 times %g, on %zu seed%s of their own; for "
      "each map and environment %d runs, %.3g steps: %.3g %% of the %.3g steps of a search",
      cost.eta, seeds, seeds == 1 ? "" : "s", MM_ETAS * (int)seeds, cost.steps,
      100 * cost.steps / cost.map_steps, cost.map_steps);
}

mm_status mm_reproduce_picture(mm_reproduce *r, const char *name, mm_reproduce_draw *draw,
                               void *user) {
  static const char *const ending[] = { "svg", "pdf", "png" };
  char path[MM_REPRODUCE_PATH], file[96], program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) {
    mm_reproduce_warn(r, mm_last_error());
    return MM_OK;
  }
  for (int i = 0; i < 3; i++) {
    snprintf(file, sizeof file, "%s.%s", name, ending[i]);
    mm_status status = draw(&r->result, mm_reproduce_path(r, file, path), user);
    if (status == MM_ERR_INTERRUPTED || status == MM_ERR_MEMORY) return status;
    if (status != MM_OK) mm_reproduce_warn(r, mm_last_error());
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Searches

typedef struct search {
  mm_reproduce *r;
  mm_learn *learn;
  double total; // steps of the generations to come, when this process began
  char stage[160];
} search;

static void show_search(size_t done, size_t total, uint64_t env_steps, void *user) {
  const search *s = user;
  mm_learn_view view;
  (void)done, (void)total;
  mm_learn_look(s->learn, &view);
  bool population = view.stage == MM_STAGE_POPULATION;
  double trained = s->total - view.steps_left + (population ? (double)env_steps : 0);
  mm_reproduce_tell(s->r, s->stage, trained, s->total, "steps");
}

// The search that is there, if it is the one that the plan asks for.
static mm_status resume_search(search *s, const char *folder, const char *env,
                               const mm_settings *settings) {
  MM_TRY(mm_learn_resume(folder, 0, &s->learn));
  mm_learn_view view;
  mm_learn_look(s->learn, &view);
  const mm_learn_plan *plan = view.plan;
  if (plan->n_env == 1 && strcmp(plan->env[0], env) == 0 && plan->init[0] == '\0' &&
      plan->seed == s->r->plan.seed && mm_reproduce_same_settings(&plan->settings, settings, true))
    return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s/run.db: not the search of this reproduction: another environment, seed or "
                 "settings",
                 folder);
}

static mm_status open_search(search *s, const char *name, const char *env,
                             const mm_settings *settings) {
  char folder[MM_REPRODUCE_PATH];
  mm_reproduce_path(s->r, name, folder);
  if (mm_reproduce_has_run(folder)) return resume_search(s, folder, env, settings);
  mm_learn_plan *plan = mm_alloc(sizeof *plan);
  if (!plan) return MM_FAIL(MM_ERR_MEMORY, "no memory for the plan of a search");
  memset(plan, 0, sizeof *plan);
  plan->n_env = 1;
  snprintf(plan->env[0], sizeof plan->env[0], "%s", env);
  plan->settings = *settings;
  plan->seed = s->r->plan.seed;
  mm_status status = mm_learn_create(folder, plan, &s->learn);
  mm_free(plan);
  return status;
}

static mm_status advance(search *s) {
  const mm_reproduce_job *job = s->r->job;
  mm_backend_config backend = { .place = job->place,
                                .threads = job->threads,
                                .job_timeout = job->job_timeout,
                                .stop = job->stop,
                                .progress = show_search,
                                .user = s };
  mm_learn_view view;
  mm_learn_look(s->learn, &view);
  s->total = view.steps_left;
  mm_status status = MM_OK;
  while (status == MM_OK && !mm_learn_done(s->learn))
    status = mm_learn_advance(s->learn, &backend);
  mm_learn_look(s->learn, &view);
  s->r->result.env_steps += view.session_env_steps;
  mm_reproduce_ran(s->r, view.machine.ran);
  mm_study_end(mm_learn_study(s->learn), status == MM_OK                ? "done"
                                         : status == MM_ERR_INTERRUPTED ? "interrupted"
                                                                        : "failed");
  return status;
}

// What the search says of itself: on validation tasks, by which its map was chosen.
static mm_status note_search(const search *s, const char *name) {
  mm_learn_view view;
  mm_learn_look(s->learn, &view);
  s->r->search_steps = (double)view.env_steps;
  if (!view.best.known) return MM_OK;
  return mm_reproduction_note(
      &s->r->result,
      "%s: %lld generations, %llu trainings, %.3g steps; best mean at generation %lld with %.5g on "
      "its validation tasks, minus negentropy %+.3g (%.2g), minus l2 %+.3g (%.2g)",
      name, (long long)view.generation, (unsigned long long)view.evaluations,
      (double)view.env_steps, (long long)view.best.generation, view.best.value.mean,
      view.best.over_negentropy.mean, view.best.over_negentropy.sem, view.best.over_l2.mean,
      view.best.over_l2.sem);
}

static mm_status finish_search(search *s, const char *name, mm_map **out) {
  char path[MM_REPRODUCE_PATH + 16], program[1024];
  MM_TRY(mm_learn_write_maps(s->learn));
  MM_TRY(note_search(s, name));
  const mm_study *study = mm_learn_study(s->learn);
  snprintf(path, sizeof path, "%s/search.svg", mm_study_folder(study));
  if (!exists(path) && mm_gnuplot_find(program, sizeof program) == MM_OK &&
      mm_search_figure(study->run, path) != MM_OK)
    mm_reproduce_warn(s->r, mm_last_error());
  snprintf(path, sizeof path, "%s/best.json", mm_study_folder(study));
  return mm_map_load(path, out);
}

mm_status mm_reproduce_learn(mm_reproduce *r, const char *name, const char *env,
                             const mm_settings *settings, mm_map **out) {
  search s = { .r = r };
  *out = NULL;
  snprintf(s.stage, sizeof s.stage, "%s", name);
  mm_status status = open_search(&s, name, env, settings);
  if (status == MM_OK) status = advance(&s);
  if (status == MM_OK) status = finish_search(&s, name, out);
  mm_learn_close(s.learn);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Running

static mm_status start_session(mm_reproduce *r) {
  if (r->session) return MM_OK;
  MM_TRY(mm_machine_enter(r->run, &r->job->place, r->job->threads));
  r->session = true;
  r->result.machine = (mm_machine){ .place = r->job->place,
                                    .threads = mm_backend_threads(r->job->threads),
                                    .ranks = mm_backend_ranks() };
  return MM_OK;
}

static void name_result(mm_reproduce *r) {
  static const mm_suite suite[MM_ARTEFACTS] = { [MM_ARTEFACT_CONTROL] = MM_SUITE_CONTROL,
                                                [MM_ARTEFACT_TRANSFER] = MM_SUITE_CONTROL,
                                                [MM_ARTEFACT_MINATAR] = MM_SUITE_MINATAR,
                                                [MM_ARTEFACT_MUJOCO] = MM_SUITE_MUJOCO };
  mm_reproduction *result = &r->result;
  mm_reproduction_release(result);
  *result = (mm_reproduction){ .folder = mm_reproduce_folder(r),
                               .artefact = mm_artefact_name(r->plan.artefact),
                               .scale = mm_scale_name(r->plan.scale),
                               .seed = r->plan.seed };
  if (r->plan.artefact == MM_ARTEFACT_PHI)
    snprintf(result->label, sizeof result->label, "an illustration: the same at every scale");
  else
    mm_reproduce_label(&r->plan, suite[r->plan.artefact], result->label);
}

static mm_status run_artefact(mm_reproduce *r) {
  name_result(r);
  MM_TRY(start_session(r));
  switch (r->plan.artefact) {
  case MM_ARTEFACT_PHI:
    MM_TRY(mm_reproduce_phi(r));
    break;
  case MM_ARTEFACT_GRIDWORLD:
    MM_TRY(mm_reproduce_gridworld(r));
    break;
  case MM_ARTEFACT_TRANSFER:
    MM_TRY(mm_reproduce_transfer(r));
    break;
  case MM_ARTEFACT_MUJOCO:
    MM_TRY(mm_reproduce_mujoco(r));
    break;
  default:
    MM_TRY(mm_reproduce_ampo(r));
    break;
  }
  mm_reproduce_clock(r);
  MM_TRY(mm_reproduction_write(&r->result));
  if (r->job->finished) r->job->finished(&r->result, r->job->user);
  return MM_OK;
}

// By their places now: the folder may have been moved.
static mm_status lend_maps(const mm_reproduce *r, mm_reproduce *child) {
  static const char *const lender[] = { "control", "minatar" };
  char folder[MM_REPRODUCE_PATH];
  child->plan.n_from = 2;
  for (int i = 0; i < 2; i++)
    MM_TRY(
        mm_plan_copy_name(mm_reproduce_path(r, lender[i], folder), "folder", child->plan.from[i]));
  return MM_OK;
}

// Whether two plans are the same as the database keeps them.
static bool same_plan(const mm_reproduce_plan *a, const mm_reproduce_plan *b) {
  char *one = NULL, *two = NULL;
  bool same = mm_reproduce_plan_write(a, &one) == MM_OK &&
              mm_reproduce_plan_write(b, &two) == MM_OK && strcmp(one, two) == 0;
  mm_free(one);
  mm_free(two);
  return same;
}

static mm_status open_child(const mm_reproduce *r, mm_artefact artefact, mm_reproduce **out) {
  char folder[MM_REPRODUCE_PATH];
  mm_reproduce_plan plan;
  mm_reproduce_path(r, mm_artefact_name(artefact), folder);
  mm_reproduce_plan_part(&r->plan, artefact, &plan);
  if (!mm_reproduce_has_run(folder)) return mm_reproduce_create(folder, &plan, out);
  MM_TRY(mm_reproduce_resume(folder, out));
  if (same_plan(&(*out)->plan, &plan)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s/run.db: another plan than that of the reproduction it is in",
                 folder);
}

// One artefact of `all`, in a folder of its own. The table takes the maps of those before it.
static mm_status run_child(mm_reproduce *r, mm_artefact artefact) {
  mm_reproduce *child = NULL;
  mm_status status = open_child(r, artefact, &child);
  if (status == MM_OK && artefact == MM_ARTEFACT_TRANSFER) status = lend_maps(r, child);
  if (status == MM_OK) status = mm_reproduce_run(child, r->job);
  if (child) {
    mm_reproduce_ran(r, child->result.machine.ran);
    mm_reproduce_count_failures(r, child->n_failed, "", child->failure);
    mm_reproduce_note_end(child, mm_reproduce_outcome(status, child->n_failed));
  }
  mm_reproduce_close(child);
  return status;
}

mm_status mm_reproduce_run(mm_reproduce *r, const mm_reproduce_job *job) {
  static const mm_artefact all[] = { MM_ARTEFACT_PHI,      MM_ARTEFACT_GRIDWORLD,
                                     MM_ARTEFACT_CONTROL,  MM_ARTEFACT_MINATAR,
                                     MM_ARTEFACT_TRANSFER, MM_ARTEFACT_MUJOCO };
  r->job = job;
  r->start = mm_clock_seconds();
  r->n_failed = 0;
  if (r->plan.artefact != MM_ARTEFACT_ALL) return run_artefact(r);
  MM_TRY(start_session(r));
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    MM_TRY(run_child(r, all[i]));
  return MM_OK;
}
