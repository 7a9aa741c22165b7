// SPDX-License-Identifier: Apache-2.0
// `learn`: evolve a mirror map, resumable at every generation.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/name_list.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "show/figure/search_figure.h"
#include "study/learn/learn.h"

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

static void learn_report_start(const mm_learn *learn) {
  mm_learn_view view;
  mm_learn_look(learn, &view);
  const mm_learn_plan *plan = view.plan;
  if (view.generation > 0)
    note("%s: resumed after generation %" PRId64 " of %" PRId64, view.folder, view.generation,
         view.generations);
  else
    note("%s: %" PRId64 " generations of %" PRIu64 " training runs, %s, %s maps", view.folder,
         view.generations, view.jobs_per_generation,
         mm_es_name((mm_es_kind)plan->settings.search.es),
         mm_map_kind_name(mm_search_map_kind(&plan->settings.search)));
}

// Width in bytes that fills `columns` columns with `text`: a sign may take more of them.
static int width(int columns, const char *text) {
  return columns + (int)strlen(text) - output_width(text);
}

static const char *controls_text(const mm_learn_view *v) {
  const char *text = "controls:";
  for (int c = 0; c < v->n_control; c++)
    text = output_format("%s%s %s %s", text, c > 0 ? "," : "", v->control_name[c],
                         output_estimate(v->control[c].value, false));
  return text;
}

// 80 columns, or 89 with the speed.
static void learn_report_row(const mm_learn_view *v, bool first) {
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

static void add_validation(cJSON *root, const mm_learn_view *v) {
  cJSON *object = cJSON_AddObjectToObject(root, "validation");
  if (!v->best.known) return;
  mm_study_add_estimate(object, "learned", v->best.value);
  for (int c = 0; c < v->n_control; c++)
    mm_study_add_estimate(object, v->control_name[c], v->control[c].value);
  mm_study_add_estimate(object, "final", v->last.value);
  output_add_number(root, "final_generation", (double)v->last.generation);
  cJSON *difference = cJSON_AddObjectToObject(root, "difference");
  mm_study_add_estimate(difference, "negentropy", v->best.over_negentropy);
  mm_study_add_estimate(difference, "l2", v->best.over_l2);
  output_add_number(root, "best_generation", (double)v->best.generation);
}

static int put_json(const mm_learn_view *v, const char *state) {
  const mm_learn_plan *plan = v->plan;
  char text[MM_RUN_PATH_SIZE + 16];
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "run", v->folder);
  cJSON_AddStringToObject(root, "state", state);
  cJSON *envs = cJSON_AddArrayToObject(root, "env");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(plan->env[i]));
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  mm_json_add_whole(root, "seed", plan->seed);
  output_add_number(root, "generations", (double)v->generation);
  output_add_number(root, "generations_planned", (double)v->generations);
  output_add_number(root, "evaluations", (double)v->evaluations);
  output_add_number(root, "nonfinite", (double)v->nonfinite);
  mm_json_add_defined(root, "mean_fitness", v->fitness_mean);
  mm_json_add_defined(root, "best_fitness", v->fitness_best);
  output_add_number(root, "sigma", v->sigma);
  add_validation(root, v);
  snprintf(text, sizeof text, "%s/best.json", v->folder);
  output_add_text(root, "map_file", v->best.known ? text : NULL);
  snprintf(text, sizeof text, "%s/mean.json", v->folder);
  cJSON_AddStringToObject(root, "mean_file", text);
  output_add_number(root, "env_steps", (double)v->env_steps);
  double rate = v->session_seconds > 0 ? (double)v->session_env_steps / v->session_seconds : NAN;
  mm_json_add_defined(root, "env_steps_per_second", rate);
  output_add_number(root, "wall_seconds", v->session_seconds);
  mm_machine_add(root, &v->machine);
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON_AddItemToObject(root, "learn", mm_search_json(&plan->settings));
  return output_json(root, EXIT_DONE);
}

static void mark_difference(table *t, bool wanted, mm_estimate e) {
  int sign = mm_estimate_sign(e);
  if (wanted && sign != 0) table_mark(t, sign > 0);
}

static void put_score(table *t, const char *name, const mm_learn_score *s, bool mark) {
  table_text(t, name);
  table_text(t, output_estimate(s->value, false));
  table_text(t, output_estimate(s->over_negentropy, true));
  mark_difference(t, mark, s->over_negentropy);
  table_text(t, output_estimate(s->over_l2, true));
  mark_difference(t, mark, s->over_l2);
}

static void put_scores(const mm_learn_view *v) {
  const mm_search *search = &v->plan->settings.search;
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
  printf("on %.0f validation tasks, %s standard error:\n",
         search->validation_tasks * (double)v->plan->n_env, output_plus_minus());
  table_print(t);
}

// The settings of the last phase's training runs, which the best map was chosen by.
static mm_settings last_settings(const mm_learn_plan *plan) {
  mm_settings last = plan->settings;
  mm_phase phase[MM_PHASES_MAX];
  size_t phases = mm_search_phases(&plan->settings.search, phase);
  if (phases > 0 && phase[phases - 1].steps > 0)
    mm_settings_set_steps(&last, phase[phases - 1].steps);
  return last;
}

// Whether `transfer` would take something else for `key` than `text`, on any environment.
static bool is_changed(const mm_learn_view *v, const char *key, const char *text) {
  const mm_learn_plan *plan = v->plan;
  bool changed = false;
  for (size_t i = 0; i < plan->n_env && !changed; i++) {
    char usual_text[MM_SETTING_TEXT_SIZE];
    mm_settings usual = mm_settings_default(plan->settings.algo);
    mm_settings_fit(&usual, env_argument_preset(v->env[i]));
    changed = strcmp(mm_settings_text(&usual, key, usual_text), text) != 0;
  }
  return changed;
}

static bool is_default_algo(const mm_learn_view *v) {
  const mm_learn_plan *plan = v->plan;
  bool is_default = true;
  for (size_t i = 0; i < plan->n_env && is_default; i++) {
    mm_algo algo;
    is_default = env_argument_algo(NULL, v->env[i], plan->env[i], &algo) == EXIT_DONE &&
                 algo == plan->settings.algo;
  }
  return is_default;
}

// How to judge the map where it was not chosen, in the settings it was learned with.
static void put_hint(const mm_learn_view *v) {
  const mm_learn_plan *plan = v->plan;
  const mm_settings last = last_settings(plan);
  printf("The best map was chosen on these tasks; to judge it on fresh ones:\n  mirrormap transfer "
         "--maps %s/best.json --seeds 256 --seed 1000000 --envs ",
         output_plain(v->folder));
  for (size_t i = 0; i < plan->n_env; i++)
    printf("%s%s", i > 0 ? "," : "", output_plain(plan->env[i]));
  if (!is_default_algo(v)) printf(" --algo %s", mm_algo_name(last.algo));
  for (size_t i = 0; i < mm_settings_own(last.algo); i++) {
    const char *key = mm_settings_key(last.algo, i);
    char text[MM_SETTING_TEXT_SIZE];
    if (last.search.search_eta && strcmp(key, "eta") == 0) continue; // the map has its own
    if (is_changed(v, key, mm_settings_text(&last, key, text))) printf(" --set %s=%s", key, text);
  }
  fputc('\n', stdout);
}

static void put_text(const mm_learn_view *v) {
  const mm_learn_plan *plan = v->plan;
  char machine[MM_MACHINE_TEXT];
  printf("%s%s: %" PRId64 " generations, %" PRIu64 " training runs, %s steps\n",
         output_plain(plan->env[0]), plan->n_env > 1 ? " and others" : "", v->generation,
         v->evaluations, output_si((double)v->env_steps));
  if (v->best.known) put_scores(v);
  if (v->nonfinite > 0) printf("%" PRIu64 " training runs diverged and rank last\n", v->nonfinite);
  if (v->session_seconds > 0)
    printf("speed: %s steps/s, %s on %s, %.2f %% of the time outside training\n",
           output_si((double)v->session_env_steps / v->session_seconds),
           format_elapsed(v->session_seconds), mm_machine_text(&v->machine, machine),
           100 * (1 - v->session_job_seconds / v->session_seconds));
  const char *folder = output_plain(v->folder);
  if (v->best.known)
    printf("maps: %s/best.json (the best validated one), %s/mean.json\n", folder, folder);
  else
    printf("map: %s/mean.json (not validated)\n", folder);
  if (v->best.known) put_hint(v);
}

static int learn_report(const mm_learn *learn, const char *state, bool json) {
  mm_learn_view view;
  mm_learn_look(learn, &view);
  if (json) return put_json(&view, state);
  put_text(&view);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// From the command line to a plan

// The environments of --env, and the algorithm and the preset that all have in common.
static int choose_algo(const learn_args *args, const mm_learn_plan *plan,
                       mm_env *env[MM_LEARN_ENVS], mm_algo *out, const char **preset) {
  for (size_t i = 0; i < plan->n_env; i++) {
    mm_algo algo = MM_ALGO_PMD;
    if (mm_env_open(plan->env[i], &env[i]) != MM_OK) return fail(EXIT_USAGE, "%s", mm_last_error());
    int code = env_argument_algo(args->algo, env[i], plan->env[i], &algo);
    const char *usual = env_argument_preset(env[i]);
    if (code != EXIT_DONE) return code;
    if (i > 0 && algo != *out)
      return fail_usage("environments '%s' and '%s' have different algorithms", plan->env[0],
                        plan->env[i]);
    if (i > 0 && strcmp(usual, *preset) != 0 && args->settings.preset == NULL)
      return fail_usage("environments '%s' and '%s' have different presets: choose with --preset",
                        plan->env[0], plan->env[i]);
    *out = algo;
    *preset = usual;
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
  if (code == EXIT_DONE) code = set(settings, "init", args->init);
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
    return fail_usage("setting 'curve': a search keeps final returns only");
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
  return code;
}

// ---------------------------------------------------------------------------------------------
// Beginning or resuming

// "learn-GridWorld-all", "learn-GridWorld-all-and-2-more".
static void stem_of(const mm_learn_plan *plan, char *out, size_t size) {
  env_argument_stem("learn", plan->env[0], out, size);
  size_t used = strlen(out);
  if (plan->n_env > 1) snprintf(out + used, size - used, "-and-%zu-more", plan->n_env - 1);
}

static int begin(const learn_args *args, mm_learn **out) {
  mm_learn_plan *plan = memory_alloc(1, sizeof *plan);
  char stem[MM_LEARN_NAME_SIZE];
  run_folder where;
  int code = make_plan(args, plan);
  if (code == EXIT_DONE) {
    stem_of(plan, stem, sizeof stem);
    mm_status status = run_argument_folder(args->out, stem, &where);
    if (status == MM_OK) status = mm_learn_create(where.path, plan, out);
    if (status != MM_OK) code = run_argument_fail(&where, status);
  }
  free(plan);
  return code;
}

static int resume(const learn_args *args, mm_learn **out) {
  static const char *const fixed[] = { "env",  "algo", "kind", "es",     "population",
                                       "init", "seed", "out",  "preset", NULL };
  int code = run_argument_refuse(&command_learn, &args->settings, "run", fixed);
  if (code != EXIT_DONE) return code;
  TRY(status_code(mm_learn_resume(args->resume, (int64_t)args->generations, out)));
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
  char text[96]; // beside the bar
} progress;

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  progress *p = user;
  mm_learn_view view;
  interrupt_check_time();
  mm_learn_look(p->learn, &view);
  double trained = view.steps - view.steps_left;
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
  mm_backend_config backend = backend_config(&args->on, show_progress, &p);
  // a resumed run has nothing new to say before its next validation
  int64_t shown = view.last.known ? view.last.generation : -1;
  int32_t phase = view.last.known ? view.phase : -1;
  bool header = true;
  mm_status status = MM_OK;
  progress_begin("learn", view.steps, "steps");
  interrupt_check_time();
  while (status == MM_OK && !mm_learn_done(learn) && *backend.stop == 0 && fits(&view)) {
    status = mm_learn_advance(learn, &backend);
    mm_learn_look(learn, &view);
    interrupt_check_time();
    progress_update(view.steps - view.steps_left, p.text);
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
  TRY(study_begin(&args->on));
  if (args->env == NULL && args->resume == NULL)
    return fail_usage("expected --env to begin a search or --resume to resume one");
  interrupt_after(args->max_seconds);
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
