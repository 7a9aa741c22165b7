// SPDX-License-Identifier: Apache-2.0
// `learn`: evolve a mirror map, resumable at every generation.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/argument/name_list.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "map/family.h"
#include "mirrormap/evolve.h"

typedef struct learn_args {
  settings_args settings;
  const char *env, *resume, *algo, *kind, *es, *init, *out;
  backend_args on;
  uint64_t generations, population, seed;
  double max_seconds;
} learn_args;

#define ARGS learn_args
#define LISTED(name, text, file) " " text
static const option learn_options[] = {
  OPTION(TEXT, "env", env, "ID[,ID..]", "the environments to learn on; task files too"),
  RUN_RESUME_OPTION(learn_args, "run"),
  ENV_ALGO_OPTION(learn_args, ENV_MIRROR_ALGOS, "the environment's"),
  OPTION(CHOICE, "kind", kind, NULL, "family of maps to search in", .choices = mm_map_search_names),
  OPTION(TEXT, "es", es, "ES",
         "openes, sep-cma-es, cma-es or a variant; all of them:" MM_ES_LIST(LISTED)),
  OPTION(COUNT, "generations", generations, "G",
         "length of the search; with --resume its new length", .low = 1, .high = 1e9),
  OPTION(COUNT, "population", population, "P", "candidates of a generation", .low = 4, .high = 1e6),
  OPTION(TEXT, "init", init, "MAP",
         "start from this map; without it from the family's own start, close to negentropy"),
  RUN_MAX_SECONDS_OPTION(learn_args),
  OPTION(COUNT, "seed", seed, "N", "random seed of the search (default 0)"),
  BACKEND_OPTIONS(learn_args),
  OPTION(TEXT, "out", out, "DIR",
         "the run's folder (default: runs/learn-<env>-<n>); an existing run is not overwritten"),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef LISTED
#undef ARGS

// ---------------------------------------------------------------------------------------------
// While it runs

static mm_study_search search_of(const mm_study *study) {
  mm_study_search search = { .size = sizeof search };
  (void)mm_study_look_search(study, &search);
  return search;
}

static void learn_report_start(const mm_study *study) {
  const mm_study_search v = search_of(study);
  const mm_settings *settings = study_env_info(study, 0).settings;
  if (v.generation > 0)
    note("%s: resumed after generation %" PRId64 " of %" PRId64, mm_study_folder(study),
         v.generation, v.generations);
  else
    note("%s: %" PRId64 " generations of %" PRIu64 " training runs, %s, %s maps",
         mm_study_folder(study), v.generations, v.jobs_per_generation,
         settings_search_text(settings, "es"), settings_search_text(settings, "kind"));
}

// Width in bytes that fills `columns` columns with `text`: a sign may take more of them.
static int width(int columns, const char *text) {
  return columns + (int)strlen(text) - output_width(text);
}

static const char *controls_text(const mm_study_search *v) {
  const char *text = "controls:";
  for (int c = 0; c < v->n_control; c++)
    text = output_format("%s%s %s %s", text, c > 0 ? "," : "", v->control_name[c],
                         output_estimate(v->control[c].value, false));
  return text;
}

// 80 columns, or 89 with the speed.
static void learn_report_row(const mm_study_search *v, bool first) {
  const bool wide = terminal_width(stderr) >= 89;
  if (first) {
    log_line("%s", controls_text(v));
    log_line("%10s %7s %5s %13s %16s %16s %7s%s", "generation", "fitness", "sigma", "validation",
             "- negentropy", "- l2", "left", wide ? "  steps/s" : "");
  }
  const char *value = output_estimate(v->last.value, false);
  const char *over_negentropy = output_estimate(v->last.over_negentropy, true);
  const char *over_l2 = output_estimate(v->last.over_l2, true);
  const char *fitness = isnan(v->fitness_mean) ? "-" : output_format("%.4g", v->fitness_mean);
  const double rate = (double)v->session_env_steps / v->session_seconds;
  log_line("%10s %7s %5.3g %*s %*s %*s %7s%s",
           output_format("%" PRId64 "/%" PRId64, v->generation, v->generations), fitness, v->sigma,
           width(13, value), value, width(16, over_negentropy), over_negentropy, width(16, over_l2),
           over_l2, format_duration(progress_left()),
           wide && rate > 0 ? output_format("  %7s", output_si(rate)) : "");
}

// ---------------------------------------------------------------------------------------------
// At the end

static void mark_difference(table *t, bool wanted, mm_estimate e) {
  int sign = mm_estimate_sign(e);
  if (wanted && sign != 0) table_mark(t, sign > 0);
}

static void put_score(table *t, const char *name, const mm_study_score *s, bool mark) {
  table_text(t, name);
  table_text(t, output_estimate(s->value, false));
  table_text(t, output_estimate(s->over_negentropy, true));
  mark_difference(t, mark, s->over_negentropy);
  table_text(t, output_estimate(s->over_l2, true));
  mark_difference(t, mark, s->over_l2);
}

static void put_scores(const mm_study_search *v, size_t n_env) {
  char name[64];
  table *t = table_create("<map|<value|<minus negentropy|<minus l2");
  snprintf(name, sizeof name, "best (generation %" PRId64 ")", v->best.generation);
  put_score(t, name, &v->best, true);
  if (v->last.generation != v->best.generation) {
    snprintf(name, sizeof name, "last (generation %" PRId64 ")", v->last.generation);
    put_score(t, name, &v->last, true);
  }
  for (int c = 0; c < v->n_control; c++)
    put_score(t, v->control_name[c], &v->control[c], false);
  printf("on %.0f validation tasks, %s standard error:\n", v->validation_tasks * (double)n_env,
         output_plus_minus());
  table_print(t);
}

// Whether `transfer` would take something else for `key` than `text`, on any environment.
static bool is_changed(const mm_study *study, mm_settings *usual, const char *key,
                       const char *text) {
  bool changed = false;
  for (size_t i = 0; i < study_info(study).n_env && !changed; i++) {
    char usual_text[MM_SETTING_TEXT_SIZE];
    const mm_study_env_info env = study_env_info(study, i);
    mm_settings_reset(usual, mm_settings_algo(env.settings));
    mm_settings_fit(usual, env_argument_preset(env.env));
    changed = strcmp(mm_settings_text(usual, key, usual_text), text) != 0;
  }
  return changed;
}

static bool is_default_algo(const mm_study *study) {
  bool is_default = true;
  for (size_t i = 0; i < study_info(study).n_env && is_default; i++) {
    const mm_study_env_info env = study_env_info(study, i);
    mm_algo algo;
    is_default = env_argument_algo(NULL, env.env, env.name, &algo) == EXIT_DONE &&
                 algo == mm_settings_algo(env.settings);
  }
  return is_default;
}

// The settings of the last phase's training runs, which the best map was chosen by.
static void put_settings(const mm_study *study, mm_settings *usual) {
  const mm_settings *settings = study_env_info(study, 0).settings;
  const bool own_eta = strcmp(settings_search_text(settings, "search_eta"), "on") == 0;
  const double steps = search_of(study).last_steps;
  mm_setting_info s;
  for (size_t i = 0; mm_setting_at(i, &s); i++) {
    char text[MM_SETTING_TEXT_SIZE];
    const char *value = mm_settings_text(settings, s.key, text);
    if (s.search || value[0] == '\0') continue;         // not the algorithm's
    if (own_eta && strcmp(s.key, "eta") == 0) continue; // the map has its own
    if (strcmp(s.key, "steps") == 0) value = mm_json_format_number(steps, text);
    if (is_changed(study, usual, s.key, value)) printf(" --set %s=%s", s.key, value);
  }
}

// How to judge the map where it was not chosen, in the settings it was learned with.
static int put_hint(const mm_study *study) {
  const mm_study_info info = study_info(study);
  mm_settings *usual;
  TRY(status_code(mm_settings_create(MM_ALGO_PMD, &usual)));
  printf("The best map was chosen on these tasks; to judge it on fresh ones:\n  mirrormap transfer "
         "--maps %s/best.json --seeds 256 --seed 1000000 --envs ",
         output_plain(mm_study_folder(study)));
  for (size_t i = 0; i < info.n_env; i++)
    printf("%s%s", i > 0 ? "," : "", output_plain(study_env_info(study, i).name));
  if (!is_default_algo(study))
    printf(" --algo %s", mm_algo_name(mm_settings_algo(study_env_info(study, 0).settings)));
  put_settings(study, usual);
  fputc('\n', stdout);
  mm_settings_destroy(usual);
  return EXIT_DONE;
}

static int put_text(const mm_study *study) {
  const mm_study_search v = search_of(study);
  const size_t n_env = study_info(study).n_env;
  char machine[MM_STUDY_MACHINE_TEXT];
  printf("%s%s: %" PRId64 " generations, %" PRIu64 " training runs, %s steps\n",
         output_plain(study_env_info(study, 0).name), n_env > 1 ? " and others" : "", v.generation,
         v.evaluations, output_si((double)v.env_steps));
  if (v.best.known) put_scores(&v, n_env);
  if (v.nonfinite > 0) printf("%" PRIu64 " training runs diverged and rank last\n", v.nonfinite);
  if (v.session_seconds > 0)
    printf("speed: %s steps/s, %s on %s, %.2f %% of the time outside training\n",
           output_si((double)v.session_env_steps / v.session_seconds),
           format_elapsed(v.session_seconds), mm_study_machine_text(study, machine),
           100 * (1 - v.session_job_seconds / v.session_seconds));
  const char *folder = output_plain(mm_study_folder(study));
  if (v.best.known)
    printf("maps: %s/best.json (the best validated one), %s/mean.json\n", folder, folder);
  else
    printf("map: %s/mean.json (not validated)\n", folder);
  return v.best.known ? put_hint(study) : EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// From the command line to a plan

// The environments of --env, with the algorithm and the preset that all have in common, and what
// becomes of them and the other arguments.
typedef struct learn_plan {
  name_list envs, set;
  mm_env *env[MM_STUDY_LEARN_ENVS];
  mm_settings *settings;
} learn_plan;

static void plan_release(learn_plan *p) {
  for (size_t i = 0; i < MM_STUDY_LEARN_ENVS; i++)
    mm_env_destroy(p->env[i]);
  name_list_release(&p->envs);
  name_list_release(&p->set);
  mm_settings_destroy(p->settings);
}

static int choose_algo(const learn_args *args, learn_plan *p, mm_algo *out, const char **preset) {
  const char *const *name = (const char *const *)p->envs.name;
  for (size_t i = 0; i < p->envs.n; i++) {
    mm_algo algo = MM_ALGO_PMD;
    if (mm_env_open(name[i], &p->env[i]) != MM_OK) return fail(EXIT_USAGE, "%s", mm_last_error());
    TRY(env_argument_algo(args->algo, p->env[i], name[i], &algo));
    const char *usual = env_argument_preset(p->env[i]);
    if (i > 0 && algo != *out)
      return fail_usage("environments '%s' and '%s' have different algorithms", name[0], name[i]);
    if (i > 0 && strcmp(usual, *preset) != 0 && args->settings.preset == NULL)
      return fail_usage("environments '%s' and '%s' have different presets: choose with --preset",
                        name[0], name[i]);
    *out = algo;
    *preset = usual;
  }
  return EXIT_DONE;
}

static int split_envs(const char *text, name_list *envs) {
  TRY(name_list_read("env", text, envs));
  if (envs->n > MM_STUDY_LEARN_ENVS)
    return fail_usage("option '--env': expected at most %d environments", MM_STUDY_LEARN_ENVS);
  for (size_t i = 0; i < envs->n; i++)
    if (strlen(envs->name[i]) >= MM_STUDY_NAME_SIZE)
      return fail_usage("option '--env': a name is too long");
  return EXIT_DONE;
}

static int set(learn_plan *p, const char *key, const char *text) {
  if (text == NULL) return EXIT_DONE;
  if (mm_settings_set(p->settings, key, text) != MM_OK) return fail_usage("%s", mm_last_error());
  name_list_add(&p->set, output_format("%s=%s", key, text));
  return EXIT_DONE;
}

static int set_count(learn_plan *p, const char *key, uint64_t value) {
  return value == 0 ? EXIT_DONE : set(p, key, output_format("%" PRIu64, value));
}

// --kind and the like are short for --set.
static int apply_options(const learn_args *args, learn_plan *p) {
  mm_es_kind es;
  const settings_args *asked = &args->settings;
  const bool set_twice = args->generations > 0 || settings_given(asked, "generations") != NULL;
  char text[MM_SETTING_TEXT_SIZE];
  if (args->es != NULL && mm_es_find(args->es, &es) != MM_OK)
    return fail_usage("option '--es': %s", mm_last_error());
  settings_texts(asked, &p->set);
  TRY(set(p, "kind", args->kind));
  TRY(set(p, "es", args->es));
  TRY(set(p, "init", args->init));
  TRY(set_count(p, "population", args->population));
  // a preset's phases have their own steps, which must not win over those asked for
  if (settings_given(asked, "steps") != NULL && settings_given(asked, "schedule") == NULL)
    TRY(set(p, "schedule", "-"));
  const char *schedule = settings_search_text(p->settings, "schedule");
  if (strcmp(schedule, "-") != 0 && set_twice)
    return fail_usage("generations: the schedule %s fixes their number; --set schedule=- or "
                      "--set steps=N makes it one phase",
                      schedule);
  TRY(set_count(p, "generations", args->generations));
  if (strcmp(mm_settings_text(p->settings, "curve", text), "exact") == 0)
    return fail_usage("setting 'curve': a search keeps final returns only");
  return EXIT_DONE;
}

static int check_backend(const learn_args *args, const learn_plan *p) {
  for (size_t i = 0; i < p->envs.n; i++) {
    TRY(backend_check(&args->on.place, p->env[i], p->settings));
    if (settings_given(&args->settings, "steps") != NULL)
      env_argument_warn(p->env[i], p->settings); // phases have steps of their own
  }
  return EXIT_DONE;
}

static int make_plan(const learn_args *args, learn_plan *p) {
  mm_algo algo = MM_ALGO_PMD;
  const char *preset = "";
  TRY(status_code(mm_settings_create(algo, &p->settings)));
  TRY(env_argument_refuse_mapless(args->algo, "to learn"));
  TRY(split_envs(args->env, &p->envs));
  TRY(choose_algo(args, p, &algo, &preset));
  TRY(settings_resolve(&args->settings, algo, preset, p->settings));
  TRY(apply_options(args, p));
  return check_backend(args, p);
}

// ---------------------------------------------------------------------------------------------
// Beginning or resuming

// "learn-GridWorld-all", "learn-GridWorld-all-and-2-more".
static void stem_of(const name_list *envs, char *out, size_t size) {
  env_argument_stem("learn", envs->name[0], out, size);
  size_t used = strlen(out);
  if (envs->n > 1) snprintf(out + used, size - used, "-and-%zu-more", envs->n - 1);
}

static int create(const learn_args *args, const learn_plan *p, mm_study **out) {
  char stem[MM_STUDY_NAME_SIZE];
  run_folder where;
  mm_study_config config = mm_study_config_default(MM_STUDY_LEARN);
  config.env = (const char *const *)p->envs.name, config.n_env = p->envs.n;
  config.set = (const char *const *)p->set.name, config.n_set = p->set.n;
  config.algo = args->algo;
  config.argv = command_argv;
  config.preset = args->settings.preset;
  config.seed = args->seed;
  stem_of(&p->envs, stem, sizeof stem);
  mm_status status = run_argument_folder(args->out, stem, &where);
  if (status == MM_OK) status = mm_study_create(where.path, &config, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&where, status);
}

static int begin(const learn_args *args, mm_study **out) {
  learn_plan plan = { 0 };
  int code = make_plan(args, &plan);
  if (code == EXIT_DONE) code = create(args, &plan, out);
  plan_release(&plan);
  return code;
}

static int resume(const learn_args *args, mm_study **out) {
  static const char *const fixed[] = { "env",  "algo", "kind", "es",     "population",
                                       "init", "seed", "out",  "preset", NULL };
  TRY(run_argument_refuse(&command_learn, &args->settings, "run", fixed));
  TRY(study_resume(args->resume, MM_STUDY_LEARN, out));
  if (args->generations > 0) TRY(status_code(mm_study_lengthen(*out, (int64_t)args->generations)));
  for (size_t i = 0; i < study_info(*out).n_env; i++) {
    const mm_study_env_info env = study_env_info(*out, i);
    TRY(backend_check(&args->on.place, env.env, env.settings));
  }
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// The loop

typedef struct progress {
  mm_study *study;
  char text[96]; // beside the bar
} progress;

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  progress *p = user;
  interrupt_check_time();
  const mm_study_search v = search_of(p->study);
  double trained = v.steps - v.steps_left;
  switch (v.stage) {
  case MM_STAGE_CONTROLS:
    snprintf(p->text, sizeof p->text, "controls %zu/%zu", done, total);
    break;
  case MM_STAGE_VALIDATION:
    snprintf(p->text, sizeof p->text, "generation %" PRId64 ", validation %zu/%zu",
             v.generation + 1, done, total);
    break;
  case MM_STAGE_POPULATION:
    trained += (double)env_steps;
    snprintf(p->text, sizeof p->text, "generation %" PRId64 ", sigma %.3g", v.generation + 1,
             v.sigma);
    break;
  }
  progress_update(trained, p->text);
}

// Would another generation end in time? The first one of a process is always tried.
static bool fits(const mm_study_search *v) {
  return v->session_generations == 0 || interrupt_seconds_left() > v->generation_seconds;
}

static mm_status search(const learn_args *args, mm_study *study) {
  progress p = { .study = study };
  mm_study_search v = search_of(study);
  mm_study_machine machine = backend_machine(&args->on, show_progress, &p);
  // a resumed run has nothing new to say before its next validation
  int64_t shown = v.last.known ? v.last.generation : -1;
  int32_t phase = v.last.known ? v.phase : -1;
  bool header = true;
  mm_status status = MM_OK;
  progress_begin("learn", v.steps, "steps");
  interrupt_check_time();
  while (status == MM_OK && !mm_study_done(study) && *machine.stop == 0 && fits(&v)) {
    status = mm_study_advance(study, &machine);
    v = search_of(study);
    interrupt_check_time();
    progress_update(v.steps - v.steps_left, p.text);
    if (status == MM_OK && v.last.known && (v.last.generation != shown || v.phase != phase)) {
      learn_report_row(&v, header || v.phase != phase);
      header = false;
      shown = v.last.generation;
      phase = v.phase;
    }
  }
  progress_end();
  return status;
}

static int report_failure(const study_end *end, const mm_study *study) {
  const char *folder = mm_study_folder(study);
  int code = exit_code_of(end->status);
  if (!run_argument_is_there(folder)) return fail(code, "%s", end->error);
  return fail(code, "%s; %" PRId64 " generations are safe in %s: %s", end->error,
              search_of(study).generation, folder, end->hint + strlen("; "));
}

static int finish(const learn_args *args, mm_study *study, mm_status status) {
  const bool done = mm_study_done(study);
  const bool failed = status != MM_OK && status != MM_ERR_INTERRUPTED;
  const bool interrupted =
      !done && __atomic_load_n(interrupt_watch(), __ATOMIC_RELAXED) != 0 && !interrupt_timed_out();
  const mm_study_search v = search_of(study);
  study_end end;
  study_finish(&command_learn, study, &args->on.place, status,
               failed        ? "failed"
               : done        ? "done"
               : interrupted ? "interrupted"
                             : "stopped",
               &end);
  if (failed) return report_failure(&end, study);
  TRY(status_code(mm_study_write(study)));
  if (interrupted) return study_stopped(&end, "after generation %" PRId64, v.generation);
  if (!done) {
    study_stopped(&end, "after generation %" PRId64 " of %" PRId64, v.generation, v.generations);
    if (v.session_generations == 0) warn("not one generation ended within %g s", args->max_seconds);
  }
  // a search is worth more than its picture
  if (mm_study_draw(study) != MM_OK) warn("no picture of the search: %s", mm_last_error());
  return args->settings.common.json ? study_json(study) : put_text(study);
}

static int run(void *raw) {
  learn_args *args = raw;
  mm_study *study = NULL;
  TRY(study_begin(&args->on));
  if (args->env == NULL && args->resume == NULL)
    return fail_usage("expected --env to begin a search or --resume to resume one");
  interrupt_after(args->max_seconds);
  int code = args->resume != NULL ? resume(args, &study) : begin(args, &study);
  if (code == EXIT_DONE) {
    learn_report_start(study);
    code = finish(args, study, search(args, study));
  }
  mm_study_close(study);
  return code;
}

const command command_learn = {
  .name = "learn",
  .summary = "evolve a mirror map",
  .about =
      "An evolution strategy proposes maps, agents are trained with each of them, and what they "
      "reach decides where the search goes. Every few generations the current map is scored on "
      "fixed validation tasks against negentropy, l2, a random map and the initial one.\n\nThe "
      "run's folder holds everything (run.db); mean.json is the map of the last generation, "
      "best.json the best validated one, search.svg a picture of the search. A run can be stopped "
      "at any moment, also by a crash, and resumes bit-identically with --resume. Without --preset "
      "the settings are the paper's: for Grid-World 512 generations of 512 training runs.",
  .examples = "mirrormap learn --env GridWorld-all --preset gridworld-quick\nmirrormap learn --env "
              "GridWorld-all --max-seconds 3600\nmirrormap learn --resume "
              "runs/learn-GridWorld-all-1\nmirrormap learn --env GridWorld-dense,GridWorld-sparse "
              "--es sep-cma-es",
  .options = learn_options,
  .settings = search_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(learn_args),
  .run = run,
};
