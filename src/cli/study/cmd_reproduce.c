// `reproduce`: the paper's figures and tables, at three scales, resumable.

#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/argument/backend_argument.h"
#include "cli/argument/name_list.h"
#include "cli/argument/run_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/reproduce_report.h"
#include "paper/paper.h"

typedef struct reproduce_args {
  settings_args settings;
  const char *scale, *resume, *from, *out;
  backend_args on;
  uint64_t seeds, seed;
  double max_seconds;
} reproduce_args;

static const char *const scale_names[] = { "smoke", "laptop", "paper", NULL };

static const option reproduce_options[] = {
  { .name = "scale",
    .type = OPTION_CHOICE,
    .offset = offsetof(reproduce_args, scale),
    .choices = scale_names,
    .fallback = "laptop",
    .help = "sizes: under a minute, 10 to 30 minutes on two cores, or the paper's" },
  { .name = "seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(reproduce_args, seeds),
    .metavar = "N",
    .help = "runs for each map and environment, instead of the scale's",
    .low = 2,
    .high = MM_PAPER_SEEDS_MAX },
  { .name = "seed",
    .type = OPTION_COUNT,
    .offset = offsetof(reproduce_args, seed),
    .metavar = "S",
    .help = "seed of the searches and of the first run; the others follow it (default 0)" },
  { .name = "maps-from",
    .type = OPTION_TEXT,
    .offset = offsetof(reproduce_args, from),
    .metavar = "DIR,...",
    .help = "for transfer: reproductions of control and minatar whose learned maps to use" },
  { .name = "resume",
    .type = OPTION_TEXT,
    .offset = offsetof(reproduce_args, resume),
    .metavar = "DIR",
    .help = "go on with the reproduction in this folder, instead of beginning one" },
  RUN_MAX_SECONDS_OPTION(reproduce_args),
  { .name = "out",
    .type = OPTION_TEXT,
    .offset = offsetof(reproduce_args, out),
    .metavar = "DIR",
    .help = "its folder, new or empty (default: runs/reproduce-<artefact>-<n>)" },
  BACKEND_OPTIONS(reproduce_args),
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Beginning or going on

static int find_artefact(const reproduce_args *args, mm_artefact_id *out) {
  const char *names[MM_ARTEFACTS];
  for (int i = 0; i < MM_ARTEFACTS; i++)
    names[i] = mm_artefact_name((mm_artefact_id)i);
  if (args->settings.common.positional.n == 0)
    return fail_usage("expected what to reproduce: phi, gridworld, control, minatar, transfer, "
                      "mujoco or all (or --resume DIR)");
  const char *word = args->settings.common.positional.value[0];
  if (mm_artefact_find(word, out)) return EXIT_DONE;
  return fail_usage("unknown artefact '%s'%s", word,
                    options_suggestion(word, names, MM_ARTEFACTS, ""));
}

// --set as texts: what they mean depends on the algorithms of the artefact.
static int copy_settings(const reproduce_args *args, mm_paper_plan *plan) {
  const char *key;
  for (size_t i = 0; (key = mm_settings_any_key(i)) != NULL; i++) {
    const char *value = args->settings.value[i];
    mm_paper_set *set = &plan->set[plan->n_set];
    if (value == NULL) continue;
    if (plan->n_set == MM_PAPER_SETS || strlen(value) >= sizeof set->value)
      return fail_usage("option '--set': '%s' is too long, or there are more than %d", key,
                        MM_PAPER_SETS);
    snprintf(set->key, sizeof set->key, "%s", key);
    snprintf(set->value, sizeof set->value, "%s", value);
    plan->n_set++;
  }
  return EXIT_DONE;
}

// By their whole paths: the reproduction may be gone on with from another directory.
static int copy_folder(const char *name, mm_paper_plan *plan) {
  char *real = access(name, R_OK | X_OK) == 0 ? realpath(name, NULL) : NULL;
  int code = EXIT_DONE;
  if (real == NULL)
    code = fail_usage("option '--maps-from': cannot read folder '%s'", name);
  else if (strlen(real) >= MM_PLAN_NAME_SIZE)
    code = fail_usage("option '--maps-from': a name is too long");
  else
    snprintf(plan->from[plan->n_from++], MM_PLAN_NAME_SIZE, "%s", real);
  free(real);
  return code;
}

static int copy_from(const reproduce_args *args, mm_paper_plan *plan) {
  name_list list;
  if (args->from == NULL) return EXIT_DONE;
  int code = name_list_read("maps-from", args->from, &list);
  if (code == EXIT_DONE && list.n > MM_PAPER_FROM)
    code = fail_usage("option '--maps-from': expected at most %d folders", MM_PAPER_FROM);
  for (size_t i = 0; i < list.n && code == EXIT_DONE; i++)
    code = copy_folder(list.name[i], plan);
  name_list_release(&list);
  return code;
}

static int make_plan(const reproduce_args *args, mm_paper_plan *plan) {
  TRY(find_artefact(args, &plan->artefact));
  mm_scale_find(args->scale, &plan->scale);
  plan->seed = args->seed;
  plan->seeds = (size_t)args->seeds;
  int code = copy_settings(args, plan);
  if (code == EXIT_DONE) code = copy_from(args, plan);
  return code;
}

// With --backend cuda. What is wrong with the plan itself is said when it is checked.
static int check_devices(const reproduce_args *args, const mm_paper_plan *plan) {
  const bool asked = args->on.place.kind == MM_BACKEND_CUDA;
  return asked && mm_paper_check_devices(plan) == MM_ERR_UNSUPPORTED ? backend_refuse() : EXIT_DONE;
}

static int begin(const reproduce_args *args, mm_paper **out) {
  mm_paper_plan *plan = memory_take(1, sizeof *plan);
  char stem[64];
  run_place place;
  int code = make_plan(args, plan);
  if (code == EXIT_DONE) code = check_devices(args, plan);
  if (code == EXIT_DONE) {
    snprintf(stem, sizeof stem, "reproduce-%s", mm_artefact_name(plan->artefact));
    mm_status status = run_argument_place(args->out, stem, &place);
    if (status == MM_OK) status = mm_paper_create(place.folder, plan, out);
    if (status != MM_OK) code = run_argument_fail(&place, status);
  }
  free(plan);
  return code;
}

// What a reproduction has fixed once and for all.
static int refuse_changes(const reproduce_args *args) {
  static const char *const fixed[] = { "scale", "seeds", "seed", "maps-from", "out" };
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    if (options_given(&command_reproduce, &args->settings.common, fixed[i]))
      return fail_usage("option '--%s': the reproduction to be resumed has fixed it", fixed[i]);
  if (args->settings.common.set != 0)
    return fail_usage("option '--set': the reproduction to be resumed has fixed its settings");
  if (args->settings.common.positional.n > 0)
    return fail_usage("unexpected argument '%s': the folder says what is reproduced",
                      args->settings.common.positional.value[0]);
  return EXIT_DONE;
}

static int resume(const reproduce_args *args, mm_paper **out) {
  TRY(refuse_changes(args));
  mm_status status = mm_paper_resume(args->resume, out);
  return status == MM_OK ? check_devices(args, mm_paper_get_plan(*out)) : fail_status(status);
}

// ---------------------------------------------------------------------------------------------
// Running

typedef struct display {
  char stage[160]; // whose bar is shown
  bool shown;
  cJSON *parts; // of --json
} display;

static void end_bar(display *d) {
  if (d->shown) progress_end();
  d->shown = false;
}

static void show_progress(const char *stage, double done, double total, const char *unit,
                          void *user) {
  display *d = user;
  interrupt_check_time();
  if (!d->shown || strcmp(d->stage, stage) != 0) {
    end_bar(d);
    if (strcmp(d->stage, stage) != 0) note("%s", stage);
    snprintf(d->stage, sizeof d->stage, "%s", stage);
    progress_begin("reproduce", total, unit);
    d->shown = true;
  }
  progress_update(done, NULL);
}

static void show_warning(const char *sentence, void *user) {
  end_bar(user);
  warn("%s", sentence);
}

static void show_result(const mm_artefact *result, void *user) {
  display *d = user;
  end_bar(d);
  if (d->parts != NULL)
    cJSON_AddItemToArray(d->parts, mm_artefact_json(result));
  else
    reproduce_report(result);
}

static int show_json(const mm_paper *r, cJSON *parts) {
  if (mm_paper_get_plan(r)->artefact != MM_ARTEFACT_ALL) {
    cJSON *only = cJSON_DetachItemFromArray(parts, 0);
    cJSON_Delete(parts);
    return output_json(only, EXIT_DONE);
  }
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "artefact", "all");
  cJSON_AddStringToObject(root, "folder", mm_paper_folder(r));
  cJSON_AddItemToObject(root, "parts", parts);
  return output_json(root, EXIT_DONE);
}

// Artefacts of `all` that are complete already come along.
static int show_stopped(const mm_paper *r, cJSON *parts) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "run", mm_paper_folder(r));
  cJSON_AddStringToObject(root, "state", "stopped");
  cJSON_AddStringToObject(root, "artefact", mm_artefact_name(mm_paper_get_plan(r)->artefact));
  cJSON_AddStringToObject(root, "scale", mm_scale_name(mm_paper_get_plan(r)->scale));
  cJSON_AddItemToObject(root, "parts", parts);
  return output_json(root, EXIT_DONE);
}

static int finish(const reproduce_args *args, mm_paper *r, mm_status status, display *d) {
  const char *folder = mm_paper_folder(r);
  bool interrupted = status == MM_ERR_INTERRUPTED, timed_out = interrupted && interrupt_timed_out();
  char error[MM_ERROR_SIZE];
  snprintf(error, sizeof error, "%s", mm_last_error());
  const char *why;
  size_t failed = mm_paper_failures(r, &why);
  mm_paper_note_end(r, status == MM_OK && failed > 0 ? "failed" : interrupt_outcome(status));
  if (status == MM_OK) {
    int code = d->parts != NULL ? show_json(r, d->parts) : EXIT_DONE;
    if (failed == 0) return code;
    return fail(EXIT_FAILED,
                "%zu run%s failed and %s left out; %s; go on with 'reproduce --resume %s'", failed,
                failed == 1 ? "" : "s", failed == 1 ? "is" : "are", why, folder);
  }
  if (timed_out) {
    note("stopped; go on with 'reproduce --resume %s'", folder);
    return d->parts != NULL ? show_stopped(r, d->parts) : EXIT_DONE;
  }
  cJSON_Delete(d->parts);
  if (interrupted)
    return fail(INTERRUPT_EXIT, "interrupted; go on with 'reproduce --resume %s'", folder);
  return fail(exit_code_of(status),
              "%s; what is done is safe: go on with 'reproduce --resume %s%s'", error, folder,
              backend_hint(&args->on.place, status));
}

static int run(void *raw) {
  reproduce_args *args = raw;
  const int chosen = backend_choose(&args->on);
  if (chosen != EXIT_DONE) return chosen;
  mm_paper *r = NULL;
  interrupt_watch(); // from here on a signal leaves the run in order
  int code = args->resume != NULL ? resume(args, &r) : begin(args, &r);
  if (code != EXIT_DONE) {
    mm_paper_close(r);
    return code;
  }
  display d = { .parts = args->settings.common.json ? cJSON_CreateArray() : NULL };
  mm_paper_job job = { .place = args->on.place,
                       .threads = (int)args->on.threads,
                       .job_timeout = args->on.job_timeout,
                       .stop = interrupt_watch(),
                       .progress = show_progress,
                       .warn = show_warning,
                       .finished = show_result,
                       .user = &d };
  note("%s: %s at %s scale, kept to be resumed", mm_paper_folder(r),
       mm_artefact_name(mm_paper_get_plan(r)->artefact),
       mm_scale_name(mm_paper_get_plan(r)->scale));
  interrupt_after(args->max_seconds);
  mm_status status = mm_paper_run(r, &job);
  end_bar(&d);
  code = finish(args, r, status, &d);
  mm_paper_close(r);
  return code;
}

const command command_reproduce = {
  .name = "reproduce",
  .summary = "make a figure or table of the paper again",
  .positional = "ARTEFACT",
  .about =
      "ARTEFACT is phi (the parametrisation), gridworld (tabular PMD), control (AMPO on Acrobot "
      "and "
      "CartPole), minatar (Asterix, Freeway, SpaceInvaders), transfer (the table), mujoco "
      "(Gaussian policies on Hopper, HalfCheetah and Ant), or all.\n\n"
      "Searches the maps, trains with them, with the baselines and with the controls, and writes "
      "tables (table.csv, raw.csv, aggregate.csv, summary.json) and figures (SVG, PDF, PNG) to a "
      "folder, our numbers next to the paper's; AMPO for both regression targets. The searches and "
      "tables in it are runs like those of `learn` and `transfer`. What is smaller than in the "
      "paper says so. --set changes a setting of all searches and trainings: --set target=code "
      "leaves the other target out, --physics mujoco has the MuJoCo library move the bodies of "
      "mujoco. Stopped at any moment, it goes on with --resume.",
  .examples = "mirrormap reproduce gridworld --scale smoke\n"
              "mirrormap reproduce control --scale laptop\n"
              "mirrormap reproduce mujoco --physics mujoco --scale smoke\n"
              "mirrormap reproduce transfer --maps-from runs/reproduce-control-1,runs/"
              "reproduce-minatar-1\n"
              "mirrormap reproduce --resume runs/reproduce-gridworld-1",
  .options = reproduce_options,
  .settings = search_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .max_positional = 1,
  .args_size = sizeof(reproduce_args),
  .run = run,
};
