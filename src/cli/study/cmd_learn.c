// `learn`: evolve a mirror map, resumable at every generation.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/name_list.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "cli/study/learn_report.h"
#include "cli/study/study_command.h"
#include "show/figure/search_figure.h"

typedef struct learn_args {
  settings_args settings;
  const char *env, *resume, *algo, *kind, *es, *init, *out;
  backend_args on;
  uint64_t generations, population, seed;
  double max_seconds;
} learn_args;

static const char *const kind_names[] = { "neural", "piecewise", NULL };

#define ARGS learn_args
static const option learn_options[] = {
  STUDY_TEXT(env, "ID[,ID..]", "the environments to learn on; task files too"),
  RUN_RESUME_OPTION(learn_args, "run"),
  ENV_ALGO_OPTION(learn_args, ENV_MIRROR_ALGOS, "the environment's"),
  STUDY_CHOICE(kind, kind_names, NULL, "family of maps to search in"),
  STUDY_TEXT(es, "ES",
             "evolution strategy: openes, openes:evosax-0.3, sep-cma-es, sep-cma-es:isotropic or "
             "sep-cma-es:evosax-0.3"),
  STUDY_COUNT(generations, 1, 1e9, NULL, "G", "length of the search; with --resume its new length"),
  STUDY_COUNT(population, 4, 1e6, NULL, "P", "candidates of a generation"),
  STUDY_TEXT(init, "MAP",
             "start from this map instead of the family's own start, close to negentropy"),
  RUN_MAX_SECONDS_OPTION(learn_args),
  STUDY_COUNT(seed, 0, 0, NULL, "N", "names all random numbers of the search (default 0)"),
  BACKEND_OPTIONS(learn_args),
  STUDY_TEXT(out, "DIR",
             "the run's folder (default: runs/learn-<env>-<n>); an existing run is not "
             "overwritten"),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef ARGS

// ---------------------------------------------------------------------------------------------
// From the command line to a plan

// The environments of --env, and the algorithm and the preset that all have in common.
static int choose_algo(const learn_args *args, const mm_learn_plan *plan,
                       mm_env *env[MM_LEARN_ENVS], mm_algo *out, const char **preset) {
  for (size_t i = 0; i < plan->n_env; i++) {
    mm_algo algo = MM_ALGO_PMD;
    if (mm_env_open(plan->env[i], &env[i]) != MM_OK) return fail(EXIT_USAGE, "%s", mm_last_error());
    int code = env_argument_algo(args->algo, env[i], plan->env[i], &algo);
    const char *own = env_argument_preset(env[i]);
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
  const settings_args *asked = &args->settings;
  bool set_twice = args->generations > 0 || settings_given(asked, "generations") != NULL;
  mm_phase phase[MM_PHASES_MAX];
  char text[MM_SETTING_TEXT_SIZE];
  // a preset's phases have their own steps, which must not win over those asked for
  if (settings_given(asked, "steps") != NULL && settings_given(asked, "schedule") == NULL &&
      code == EXIT_DONE)
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
  if (code == EXIT_DONE && strcmp(mm_settings_text(settings, "curve", text), "exact") == 0)
    return fail_usage("setting 'curve': a search keeps final values only");
  return code;
}

static int check_backend(const learn_args *args, const mm_learn_plan *plan, mm_env *const *env) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < plan->n_env && code == EXIT_DONE; i++) {
    code = backend_check(&args->on.place, env[i], &plan->settings);
    if (code == EXIT_DONE && settings_given(&args->settings, "steps") != NULL)
      env_argument_warn(env[i], &plan->settings); // phases have steps of their own
  }
  return code;
}

static int make_plan(const learn_args *args, mm_learn_plan *plan) {
  mm_algo algo = MM_ALGO_PMD;
  const char *preset = "";
  mm_env *env[MM_LEARN_ENVS] = { 0 };
  int code = env_argument_refuse_mapless(args->algo, "to learn");
  if (code == EXIT_DONE) code = split_envs(args->env, plan);
  if (code == EXIT_DONE) code = choose_algo(args, plan, env, &algo, &preset);
  if (code == EXIT_DONE) code = settings_resolve(&args->settings, algo, preset, &plan->settings);
  if (code == EXIT_DONE) code = apply_options(args, &plan->settings);
  if (code == EXIT_DONE) code = check_backend(args, plan, env);
  for (size_t i = 0; i < MM_LEARN_ENVS; i++)
    mm_env_destroy(env[i]);
  plan->seed = args->seed;
  if (code != EXIT_DONE || args->init == NULL) return code;
  return run_argument_name("init", args->init, plan->init);
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
static void draw(mm_learn *learn, const char *folder) {
  char path[MM_RUN_PATH_SIZE + 16];
  snprintf(path, sizeof path, "%s/search.svg", folder);
  if (mm_search_figure(mm_learn_study(learn)->run, path) != MM_OK)
    warn("no picture of the search: %s", mm_last_error());
}

static int report_failure(const study_end *end, const mm_learn_view *v) {
  int code = exit_code_of(end->status);
  if (!run_argument_is_there(v->folder)) return fail(code, "%s", end->error);
  return fail(code, "%s; %" PRId64 " generations are safe in %s: %s", end->error, v->generation,
              v->folder, end->hint + strlen("; "));
}

static int finish(const learn_args *args, mm_learn *learn, mm_status status) {
  const bool done = mm_learn_done(learn);
  const bool failed = status != MM_OK && status != MM_ERR_INTERRUPTED;
  const bool interrupted =
      !done && __atomic_load_n(interrupt_watch(), __ATOMIC_RELAXED) != 0 && !interrupt_timed_out();
  study_end end;
  mm_learn_view v;
  mm_learn_look(learn, &v);
  study_finish(&command_learn, mm_learn_study(learn), &args->on.place, status,
               failed        ? "failed"
               : done        ? "done"
               : interrupted ? "interrupted"
                             : "stopped",
               &end);
  if (failed) return report_failure(&end, &v);
  mm_status written = mm_learn_write_maps(learn);
  if (written != MM_OK) return fail_status(written);
  if (interrupted) return study_stopped(&end, "after generation %" PRId64, v.generation);
  if (!done) {
    study_stopped(&end, "after generation %" PRId64 " of %" PRId64, v.generation, v.generations);
    if (v.session_generations == 0) warn("not one generation ended within %g s", args->max_seconds);
  }
  draw(learn, v.folder);
  return learn_report(learn, end.outcome, args->settings.common.json);
}

static int run(void *raw) {
  learn_args *args = raw;
  mm_learn *learn = NULL;
  int code = study_begin(&args->on);
  if (code != EXIT_DONE) return code;
  if (args->env == NULL && args->resume == NULL)
    return fail_usage("expected --env to begin a search or --resume to go on with one");
  interrupt_after(args->max_seconds);
  code = args->resume != NULL ? resume(args, &learn) : begin(args, &learn);
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
