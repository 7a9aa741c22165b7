// `learn`: evolve a mirror map, resumable at every generation.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/backend_argument.h"
#include "cli/argument/env_argument.h"
#include "cli/argument/name_list.h"
#include "cli/argument/run_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "cli/study/learn_report.h"
#include "show/figure/search_figure.h"

typedef struct learn_args {
  settings_args settings;
  const char *env, *resume, *algo, *kind, *es, *init, *out;
  backend_args on;
  uint64_t generations, population, seed;
  double max_seconds;
} learn_args;

static const char *const kind_names[] = { "neural", "piecewise", NULL };

static const option learn_options[] = {
  { .name = "env",
    .type = OPTION_TEXT,
    .offset = offsetof(learn_args, env),
    .metavar = "ID[,ID..]",
    .help = "the environments to learn on; task files too" },
  RUN_RESUME_OPTION(learn_args, "run"),
  ENV_ALGO_OPTION(learn_args, "pmd|ampo|pmd-gaussian", "the environment's"),
  { .name = "kind",
    .type = OPTION_CHOICE,
    .offset = offsetof(learn_args, kind),
    .choices = kind_names,
    .help = "family of maps to search in" },
  { .name = "es",
    .type = OPTION_TEXT,
    .offset = offsetof(learn_args, es),
    .metavar = "ES",
    .help = "evolution strategy: openes, openes:evosax-0.3, sep-cma-es, sep-cma-es:isotropic or "
            "sep-cma-es:evosax-0.3" },
  { .name = "generations",
    .type = OPTION_COUNT,
    .offset = offsetof(learn_args, generations),
    .metavar = "G",
    .help = "length of the search; with --resume its new length",
    .low = 1,
    .high = 1e9 },
  { .name = "population",
    .type = OPTION_COUNT,
    .offset = offsetof(learn_args, population),
    .metavar = "P",
    .help = "candidates of a generation",
    .low = 4,
    .high = 1e6 },
  { .name = "init",
    .type = OPTION_TEXT,
    .offset = offsetof(learn_args, init),
    .metavar = "MAP",
    .help = "start from this map instead of the family's own start, close to negentropy" },
  RUN_MAX_SECONDS_OPTION(learn_args),
  { .name = "seed",
    .type = OPTION_COUNT,
    .offset = offsetof(learn_args, seed),
    .metavar = "N",
    .help = "names all random numbers of the search (default 0)" },
  BACKEND_OPTIONS(learn_args),
  { .name = "out",
    .type = OPTION_TEXT,
    .offset = offsetof(learn_args, out),
    .metavar = "DIR",
    .help =
        "the run's folder (default: runs/learn-<env>-<n>); an existing run is not overwritten" },
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// From the command line to a plan

// The algorithm and the preset that all environments have in common.
static int choose_algo(const learn_args *args, const mm_learn_plan *plan, mm_algo *out,
                       const char **preset) {
  for (size_t i = 0; i < plan->n_env; i++) {
    mm_env *env;
    mm_algo algo = MM_ALGO_PMD;
    if (mm_env_open(plan->env[i], &env) != MM_OK) return fail(EXIT_USAGE, "%s", mm_last_error());
    int code = env_argument_algo(args->algo, env, plan->env[i], &algo);
    const char *own = env_argument_preset(env);
    mm_env_destroy(env);
    if (code != EXIT_DONE) return code;
    if (i > 0 && algo != *out)
      return fail_usage("environments '%s' and '%s' have different algorithms", plan->env[0],
                        plan->env[i]);
    if (i > 0 && strcmp(own, *preset) != 0 && args->settings.preset == NULL)
      return fail_usage("environments '%s' and '%s' have different presets: choose with --preset",
                        plan->env[0], plan->env[i]);
    *out = algo;
    *preset = own;
  }
  return EXIT_DONE;
}

static int split_envs(const char *text, mm_learn_plan *plan) {
  name_list envs;
  int code = name_list_read("env", text, &envs);
  if (code == EXIT_DONE && envs.n > MM_LEARN_ENVS)
    code = fail_usage("option '--env': expected at most %d environments", MM_LEARN_ENVS);
  for (size_t i = 0; i < envs.n && code == EXIT_DONE; i++) {
    if (strlen(envs.name[i]) >= MM_LEARN_NAME_SIZE)
      code = fail_usage("option '--env': a name is too long");
    else
      snprintf(plan->env[plan->n_env++], MM_LEARN_NAME_SIZE, "%s", envs.name[i]);
  }
  name_list_release(&envs);
  return code;
}

static int set(mm_settings *settings, const char *key, const char *text) {
  if (text == NULL || mm_settings_set(settings, key, text) == MM_OK) return EXIT_DONE;
  return fail_usage("%s", mm_last_error());
}

static int set_count(mm_settings *settings, const char *key, uint64_t value) {
  char text[24];
  if (value == 0) return EXIT_DONE;
  snprintf(text, sizeof text, "%" PRIu64, value);
  return set(settings, key, text);
}

// --kind and the like are short for --set.
static int apply_options(const learn_args *args, mm_settings *settings) {
  mm_es_kind es;
  if (args->es != NULL && mm_es_find(args->es, &es) != MM_OK)
    return fail_usage("option '--es': %s", mm_last_error());
  int code = set(settings, "kind", args->kind);
  if (code == EXIT_DONE) code = set(settings, "es", args->es);
  if (code == EXIT_DONE) code = set_count(settings, "population", args->population);
  const char *const *asked = args->settings.value, *const *search = asked + MM_KEYS;
  bool set_twice = args->generations > 0 || search[MM_SEARCH_KEY_generations] != NULL;
  mm_phase phase[MM_PHASES_MAX];
  // a preset's phases have their own steps, which must not win over those asked for
  if (asked[MM_KEY_steps] != NULL && search[MM_SEARCH_KEY_schedule] == NULL && code == EXIT_DONE)
    code = set(settings, "schedule", "-");
  if (code == EXIT_DONE && strcmp(settings->search.schedule, "-") != 0) {
    if (set_twice)
      return fail_usage("generations: the schedule %s fixes their number; --set schedule=- or "
                        "--set steps=N makes it one phase",
                        settings->search.schedule);
    settings->search.generations = 0;
    for (size_t i = mm_search_phases(&settings->search, phase); i-- > 0;)
      settings->search.generations += (double)phase[i].generations;
  }
  if (code == EXIT_DONE) code = set_count(settings, "generations", args->generations);
  if (code == EXIT_DONE && settings->algo == MM_ALGO_PMD && settings->pmd.exact_curve)
    return fail_usage("setting 'curve': a search keeps final values only");
  return code;
}

static int check_backend(const learn_args *args, const mm_learn_plan *plan) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < plan->n_env && code == EXIT_DONE; i++) {
    mm_env *env;
    mm_status status = mm_env_open(plan->env[i], &env);
    if (status != MM_OK) return fail_status(status);
    code = backend_check(&args->on.place, env, &plan->settings);
    if (code == EXIT_DONE && args->settings.value[MM_KEY_steps] != NULL)
      env_argument_warn(env, &plan->settings); // phases have steps of their own
    mm_env_destroy(env);
  }
  return code;
}

static int make_plan(const learn_args *args, mm_learn_plan *plan) {
  mm_algo algo = MM_ALGO_PMD;
  const char *preset = "";
  int code = env_argument_refuse_ppo(args->algo, "to learn");
  if (code == EXIT_DONE) code = split_envs(args->env, plan);
  if (code == EXIT_DONE) code = choose_algo(args, plan, &algo, &preset);
  if (code == EXIT_DONE) code = settings_resolve(&args->settings, algo, preset, &plan->settings);
  if (code == EXIT_DONE) code = apply_options(args, &plan->settings);
  if (code == EXIT_DONE) code = check_backend(args, plan);
  if (code != EXIT_DONE) return code;
  plan->seed = args->seed;
  if (args->init == NULL) return EXIT_DONE;
  if (strlen(args->init) >= MM_LEARN_NAME_SIZE)
    return fail_usage("option '--init': the name is too long");
  snprintf(plan->init, sizeof plan->init, "%s", args->init);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Beginning or going on

// "learn-GridWorld-all", "learn-GridWorld-all-and-2-more".
static void stem_of(const mm_learn_plan *plan, char *out, size_t size) {
  env_argument_stem("learn", plan->env[0], out, size);
  size_t used = strlen(out);
  if (plan->n_env > 1) snprintf(out + used, size - used, "-and-%zu-more", plan->n_env - 1);
}

static int begin(const learn_args *args, mm_learn **out) {
  mm_learn_plan *plan = memory_take(1, sizeof *plan);
  char stem[MM_LEARN_NAME_SIZE];
  run_place place;
  int code = make_plan(args, plan);
  if (code == EXIT_DONE) {
    stem_of(plan, stem, sizeof stem);
    mm_status status = run_argument_place(args->out, stem, &place);
    if (status == MM_OK) status = mm_learn_create(place.folder, plan, out);
    if (status != MM_OK) code = run_argument_fail(&place, status);
  }
  free(plan);
  return code;
}

static int resume(const learn_args *args, mm_learn **out) {
  static const char *const fixed[] = { "env",  "algo", "kind", "es",     "population",
                                       "init", "seed", "out",  "preset", NULL };
  int code = run_argument_refuse(&command_learn, &args->settings, fixed);
  if (code != EXIT_DONE) return code;
  mm_status status = mm_learn_resume(args->resume, (int64_t)args->generations, out);
  if (status != MM_OK) return fail_status(status);
  mm_learn_view view;
  mm_learn_look(*out, &view);
  for (size_t i = 0; i < view.plan->n_env && code == EXIT_DONE; i++)
    code = backend_check(&args->on.place, view.env[i], &view.plan->settings);
  return code;
}

// ---------------------------------------------------------------------------------------------
// The loop

typedef struct progress {
  mm_learn *learn;
  double total;  // steps of the generations to come, when this process began
  char text[96]; // beside the bar
} progress;

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  progress *p = user;
  mm_learn_view view;
  interrupt_check_time();
  mm_learn_look(p->learn, &view);
  double trained = p->total - view.steps_left;
  switch (view.stage) {
  case MM_STAGE_CONTROLS:
    snprintf(p->text, sizeof p->text, "controls %zu/%zu", done, total);
    break;
  case MM_STAGE_VALIDATION:
    snprintf(p->text, sizeof p->text, "generation %" PRId64 ", validation %zu/%zu",
             view.generation + 1, done, total);
    break;
  case MM_STAGE_POPULATION:
    trained += (double)env_steps;
    snprintf(p->text, sizeof p->text, "generation %" PRId64 ", sigma %.3g", view.generation + 1,
             view.sigma);
    break;
  }
  progress_update(trained, p->text);
}

// Would another generation end in time? The first one of a process is always tried.
static bool fits(const mm_learn_view *view) {
  return view->session_generations == 0 || interrupt_seconds_left() > view->generation_seconds;
}

static mm_status search(const learn_args *args, mm_learn *learn) {
  progress p = { .learn = learn };
  mm_learn_view view;
  mm_learn_look(learn, &view);
  p.total = view.steps_left;
  mm_backend_config backend = backend_config(&args->on, show_progress, &p);
  // a resumed run has nothing new to say before its next validation
  int64_t shown = view.last.known ? view.last.generation : -1;
  int32_t phase = view.last.known ? view.phase : -1;
  bool header = true;
  mm_status status = MM_OK;
  progress_begin("learn", p.total, "steps");
  interrupt_check_time();
  while (status == MM_OK && !mm_learn_done(learn) && *backend.stop == 0 && fits(&view)) {
    status = mm_learn_advance(learn, &backend);
    mm_learn_look(learn, &view);
    interrupt_check_time();
    if (status == MM_OK && view.last.known &&
        (view.last.generation != shown || view.phase != phase)) {
      learn_report_row(&view, header || view.phase != phase);
      header = false;
      shown = view.last.generation;
      phase = view.phase;
    }
  }
  progress_end();
  return status;
}

// search.svg in the run's folder. A search is worth more than its picture: trouble is a warning.
static void draw(mm_learn *learn) {
  char path[MM_RUN_PATH_SIZE + 16];
  snprintf(path, sizeof path, "%s/search.svg", mm_study_folder(mm_learn_study(learn)));
  if (mm_search_figure(mm_learn_study(learn)->run, path) != MM_OK)
    warn("no picture of the search: %s", mm_last_error());
}

static int finish(const learn_args *args, mm_learn *learn, mm_status status) {
  const char *folder = mm_study_folder(mm_learn_study(learn));
  mm_learn_view view;
  mm_learn_look(learn, &view);
  char error[MM_ERROR_SIZE];
  snprintf(error, sizeof error, "%s", mm_last_error());
  bool done = mm_learn_done(learn);
  bool interrupted =
      !done && __atomic_load_n(interrupt_watch(), __ATOMIC_RELAXED) != 0 && !interrupt_timed_out();
  if (status != MM_OK && status != MM_ERR_INTERRUPTED) {
    mm_study_end(mm_learn_study(learn), "failed");
    if (!run_argument_is_there(folder)) return fail(exit_code_of(status), "%s", error);
    return fail(exit_code_of(status),
                "%s; %" PRId64 " generations are safe in %s: go on with 'learn --resume %s%s'",
                error, view.generation, folder, folder, backend_hint(&args->on.place, status));
  }
  mm_study_end(mm_learn_study(learn), done ? "done" : interrupted ? "interrupted" : "stopped");
  mm_status written = mm_learn_write_maps(learn);
  if (written != MM_OK) return fail_status(written);
  if (interrupted)
    return fail(INTERRUPT_EXIT,
                "interrupted after generation %" PRId64 "; go on with 'learn --resume %s'",
                view.generation, folder);
  if (!done) {
    note("stopped after generation %" PRId64 " of %" PRId64 "; go on with 'learn --resume %s'",
         view.generation, view.generations, folder);
    if (view.session_generations == 0)
      warn("not one generation ended within %g s", args->max_seconds);
  }
  draw(learn);
  return learn_report(learn, done ? "done" : "stopped", args->settings.common.json);
}

static int run(void *raw) {
  learn_args *args = raw;
  const int chosen = backend_choose(&args->on);
  if (chosen != EXIT_DONE) return chosen;
  if (args->env == NULL && args->resume == NULL)
    return fail_usage("expected --env to begin a search or --resume to go on with one");
  interrupt_watch(); // from here on a signal leaves the run in order
  interrupt_after(args->max_seconds);
  mm_learn *learn = NULL;
  int code = args->resume != NULL ? resume(args, &learn) : begin(args, &learn);
  if (code == EXIT_DONE) {
    learn_report_start(learn);
    code = finish(args, learn, search(args, learn));
  }
  mm_learn_close(learn);
  return code;
}

const command command_learn = {
  .name = "learn",
  .summary = "evolve a mirror map",
  .about =
      "An evolution strategy proposes maps, agents are trained with each of them, and what they "
      "reach decides where the search goes. Every few generations the current map is scored on "
      "fixed validation tasks beside negentropy, l2, a random map and the initial one.\n\n"
      "The run's folder holds everything (run.db); mean.json is the map of the last generation, "
      "best.json the best validated one, search.svg a picture of the search. A run can be stopped "
      "at any moment, also by a crash, and "
      "goes on with --resume to the same bits. Without --preset the settings are the paper's: "
      "for Grid-World 512 generations of 512 trainings.",
  .examples = "mirrormap learn --env GridWorld-all --preset gridworld-quick\n"
              "mirrormap learn --env GridWorld-all --max-seconds 3600\n"
              "mirrormap learn --resume runs/learn-GridWorld-all-1\n"
              "mirrormap learn --env GridWorld-dense,GridWorld-sparse --es sep-cma-es",
  .options = learn_options,
  .settings = search_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(learn_args),
  .run = run,
};
