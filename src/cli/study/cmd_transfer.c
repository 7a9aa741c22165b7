// `transfer`: maps x environments x seeds, with controls, as a table, files and figures; resumable
// at any moment.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/backend_argument.h"
#include "cli/argument/env_argument.h"
#include "cli/argument/map_argument.h"
#include "cli/argument/name_list.h"
#include "cli/argument/run_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/transfer_report.h"
#include "show/figure/transfer_figure.h"
#include "show/plot/gnuplot.h"
#include "study/jobs/plan.h"
#include "study/stats/controls.h"
#include "study/transfer/transfer_files.h"
#include "study/transfer/transfer_plan.h"

enum { SEEDS_MAX = 1000000 };

typedef struct transfer_args {
  settings_args settings;
  const char *maps, *envs, *resume, *algo, *controls, *out;
  backend_args on;
  uint64_t seeds, seed, tune_seeds;
  double max_seconds, save_seconds;
} transfer_args;

static const char *const control_names[] = { "none", "cheap", "full", NULL };

static const option options[] = {
  { .name = "maps",
    .type = OPTION_TEXT,
    .offset = offsetof(transfer_args, maps),
    .metavar = "MAP,...",
    .help = "the mirror maps: names or files" },
  { .name = "envs",
    .type = OPTION_TEXT,
    .offset = offsetof(transfer_args, envs),
    .metavar = "ID,...",
    .help = "the environments: IDs or task files" },
  RUN_RESUME_OPTION(transfer_args, "table"),
  ENV_ALGO_OPTION(transfer_args, "pmd|ampo|pmd-gaussian", "the environments'"),
  { .name = "seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(transfer_args, seeds),
    .metavar = "N",
    .help = "train this many agents for each map and environment",
    .fallback = "32",
    .low = 1,
    .high = SEEDS_MAX },
  RUN_FIRST_SEED_OPTION(transfer_args),
  { .name = "controls",
    .type = OPTION_CHOICE,
    .offset = offsetof(transfer_args, controls),
    .choices = control_names,
    .fallback = "cheap",
    .help = "rows to add: none; negentropy, l2 and a random map of the first learned map's "
            "family; or with these tsallis:0.5, tsallis:1.5, that family's initial map, and "
            "negentropy and l2 with eta tuned for each environment" },
  { .name = "tune-seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(transfer_args, tune_seeds),
    .metavar = "N",
    .help = "trainings for each of nine values of eta, on seeds of their own",
    .fallback = "8",
    .low = 1,
    .high = SEEDS_MAX },
  RUN_MAX_SECONDS_OPTION(transfer_args),
  RUN_SAVE_SECONDS_OPTION(transfer_args),
  BACKEND_OPTIONS(transfer_args),
  { .name = "out",
    .type = OPTION_TEXT,
    .offset = offsetof(transfer_args, out),
    .metavar = "DIR",
    .help = "folder of the run, with tables, raw numbers and figures (default: "
            "runs/transfer-<env>-<n>; for pmd none)" },
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Rows and columns

// The scale of a potential acts like eta: these two with the best of it.
enum { TUNED = MM_CONTROLS - MM_CONTROL_TUNED };

typedef struct plan {
  name_list maps, envs;
  size_t n_asked; // of the maps
  char (*map_label)[NAME_LABEL_SIZE], (*env_label)[NAME_LABEL_SIZE];
  mm_map **map;   // [maps.n]
  mm_env **env;   // [envs.n]
  size_t n_tuned; // rows behind those of the maps: TUNED or none
  mm_map *tuned_map[TUNED];
  mm_transfer_map *row;
  mm_transfer_env *column;
} plan;

static void plan_release(plan *p) {
  for (size_t i = 0; i < p->maps.n && p->map != NULL; i++)
    mm_map_destroy(p->map[i]);
  for (size_t i = 0; i < p->n_tuned; i++)
    mm_map_destroy(p->tuned_map[i]);
  for (size_t i = 0; i < p->envs.n && p->env != NULL; i++)
    mm_env_destroy(p->env[i]);
  name_list_release(&p->maps);
  name_list_release(&p->envs);
  free(p->map);
  free(p->env);
  free(p->map_label);
  free(p->env_label);
  free(p->row);
  free(p->column);
}

static int open_maps(plan *p, size_t first) {
  mm_map **all = memory_take(p->maps.n, sizeof *all);
  for (size_t i = 0; i < first; i++)
    all[i] = p->map[i];
  free(p->map);
  p->map = all;
  int code = EXIT_DONE;
  for (size_t i = first; i < p->maps.n && code == EXIT_DONE; i++)
    code = map_argument_open(p->maps.name[i], &p->map[i]);
  return code;
}

// A control must come from the family of what it is a control for: that of the first map with
// parameters. Without one there is nothing to compare a random map with.
static void add_controls(plan *p, const char *which) {
  mm_map_kind family = MM_MAP_KINDS;
  for (size_t i = p->n_asked; i-- > 0;) {
    mm_map_kind kind = mm_map_get_kind(p->map[i]);
    if (kind == MM_MAP_PIECEWISE || kind == MM_MAP_NEURAL) family = kind;
  }
  if (strcmp(which, "none") == 0) return;
  name_list_add(&p->maps, "negentropy");
  name_list_add(&p->maps, "l2");
  char name[MM_CONTROL_MAP_SIZE];
  if (family != MM_MAP_KINDS)
    name_list_add(&p->maps, mm_control_map(mm_control_names[MM_CONTROL_RANDOM], family, 0, name));
  if (strcmp(which, "full") != 0) return;
  name_list_add(&p->maps, "tsallis:0.5");
  name_list_add(&p->maps, "tsallis:1.5");
  if (family != MM_MAP_KINDS) name_list_add(&p->maps, mm_map_kind_name(family));
  p->n_tuned = TUNED;
}

static int plan_maps(const transfer_args *args, plan *p) {
  int code = name_list_read("maps", args->maps, &p->maps);
  if (code != EXIT_DONE) return code;
  p->n_asked = p->maps.n;
  code = open_maps(p, 0);
  if (code != EXIT_DONE) return code;
  add_controls(p, args->controls);
  code = open_maps(p, p->n_asked);
  p->map_label = memory_take(p->maps.n, sizeof *p->map_label);
  p->row = memory_take(p->maps.n + p->n_tuned, sizeof *p->row);
  name_list_label(&p->maps, p->map_label);
  for (size_t i = 0; i < p->maps.n; i++)
    p->row[i] = (mm_transfer_map){ .map = p->map[i],
                                   .name = p->maps.name[i],
                                   .label = p->map_label[i],
                                   .control = i >= p->n_asked };
  for (size_t i = 0; p->n_tuned == TUNED && i < TUNED && code == EXIT_DONE; i++) {
    const char *label = mm_control_names[MM_CONTROL_TUNED + i];
    char name[MM_CONTROL_MAP_SIZE];
    code = map_argument_open(mm_control_map(label, MM_MAP_KINDS, 0, name), &p->tuned_map[i]);
    p->row[p->maps.n + i] = (mm_transfer_map){
      .map = p->tuned_map[i], .name = label, .label = label, .control = true, .tuned = true
    };
  }
  return code;
}

// Each environment brings its algorithm, unless one was asked for, and this its settings.
static int plan_env(const transfer_args *args, plan *p, size_t i) {
  const char *name = p->envs.name[i];
  mm_algo algo = MM_ALGO_PMD;
  mm_status status = mm_env_open(name, &p->env[i]);
  if (status != MM_OK) return fail_status(status);
  int code = env_argument_algo(args->algo, p->env[i], name, &algo);
  p->column[i] = (mm_transfer_env){ .env = p->env[i], .name = name, .label = p->env_label[i] };
  if (code == EXIT_DONE)
    code = settings_resolve(&args->settings, algo, env_argument_preset(p->env[i]),
                            &p->column[i].settings);
  if (code == EXIT_DONE) code = backend_check(&args->on.place, p->env[i], &p->column[i].settings);
  if (code == EXIT_DONE) env_argument_warn(p->env[i], &p->column[i].settings);
  return code;
}

static int plan_envs(const transfer_args *args, plan *p) {
  int code = name_list_read("envs", args->envs, &p->envs);
  if (code != EXIT_DONE) return code;
  p->env = memory_take(p->envs.n, sizeof *p->env);
  p->env_label = memory_take(p->envs.n, sizeof *p->env_label);
  p->column = memory_take(p->envs.n, sizeof *p->column);
  name_list_label(&p->envs, p->env_label);
  for (size_t i = 0; i < p->envs.n && code == EXIT_DONE; i++)
    code = plan_env(args, p, i);
  return code;
}

// ---------------------------------------------------------------------------------------------
// The folder

static const char *const out_files[] = { "table.csv",  "runs.csv",     "curves.csv",
                                         "table.json", "transfer.svg", "transfer.png",
                                         "curves.svg", "curves.png",   NULL };

static char *path_in(const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = memory_take(size, 1);
  snprintf(path, size, "%s/%s", folder, name);
  return path;
}

// Tables of trained networks take their time, so they are always kept; others with --out.
static int create(const transfer_args *args, const mm_transfer_config *config, mm_run **out) {
  char stem[MM_PLAN_NAME_SIZE + 16];
  run_place place;
  bool networks = false;
  for (size_t i = 0; i < config->n_env; i++)
    networks = networks || config->env[i].settings.algo != MM_ALGO_PMD;
  if (args->out == NULL && !networks && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  if (args->out == NULL && !networks) return EXIT_DONE;
  int code = args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  env_argument_stem("transfer", config->env[0].name, stem, sizeof stem);
  mm_status status = run_argument_place(args->out, stem, &place);
  if (status == MM_OK) status = mm_transfer_create(place.folder, config, out);
  if (status != MM_OK) return run_argument_fail(&place, status);
  note("%s: kept to be resumed", place.folder);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Running

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)total, (void)env_steps, (void)user;
  interrupt_check_time();
  progress_update((double)done, NULL);
}

static void show_trouble(const char *sentence, void *user) {
  (void)user;
  warn("%s; going on without it", sentence);
}

// "map l2 on GridWorld-dense, seed 3: sentence"; what every run failed for concerns none of these.
static const char *describe_trouble(const mm_transfer *t, char *out, size_t size) {
  const mm_transfer_config *c = &t->config;
  size_t place = t->report.trouble, seed = place % c->n_seed;
  size_t map = place / c->n_seed % c->n_map, env = place / c->n_seed / c->n_map;
  if (t->report.n_failed == c->n_map * c->n_env * c->n_seed)
    snprintf(out, size, "%s", t->report.error);
  else
    snprintf(out, size, "map %s on %s, seed %" PRIu64 ": %s", c->map[map].label, c->env[env].label,
             c->seed + seed, t->report.error);
  return out;
}

static const char *hint_of(const mm_transfer *t, mm_status status, char out[RUN_HINT_SIZE]) {
  const mm_run *run = t->config.run;
  return run_argument_hint("transfer", run != NULL ? mm_run_folder_of(run) : NULL,
                           &t->config.backend.place, status, out);
}

// A table with holes is still a table, but the exit code says so.
static int judge(const mm_transfer *t, bool *shown) {
  const mm_backend_report *r = &t->report;
  char text[MM_ERROR_SIZE + 200], hint[RUN_HINT_SIZE] = "";
  if (backend_hint(&t->config.backend.place, t->trouble)[0] != '\0') hint_of(t, t->trouble, hint);
  size_t n = t->config.n_map * t->config.n_env * t->config.n_seed;
  *shown = r->n_failed < n;
  if (!*shown) {
    // a setting that no run accepts is the user's mistake
    return fail(exit_code_of(t->trouble), "%s%s", describe_trouble(t, text, sizeof text), hint);
  }
  if (r->n_failed > 0)
    return fail(EXIT_FAILED, "%zu of %zu runs failed and are left out; %s%s", r->n_failed, n,
                describe_trouble(t, text, sizeof text), hint);
  if (r->n_numeric > 0)
    warn("%zu of %zu runs broke down and count with their last finite policy; %s", r->n_numeric, n,
         describe_trouble(t, text, sizeof text));
  return EXIT_DONE;
}

typedef mm_status draw_figure(const mm_transfer *t, const char *path);

static int draw(const mm_transfer *t, const char *folder, const char *name, draw_figure *figure) {
  char *path = path_in(folder, name);
  mm_status status = figure(t, path);
  free(path);
  if (status == MM_OK) return EXIT_DONE;
  if (status == MM_ERR_INTERRUPTED) return fail(INTERRUPT_EXIT, "%s", mm_last_error());
  return fail(EXIT_FAILED, "%s", mm_last_error());
}

static int draw_all(const mm_transfer *t, const char *folder) {
  char program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) {
    warn("no figures: %s", mm_last_error());
    return EXIT_DONE;
  }
  int code = draw(t, folder, "transfer.svg", mm_transfer_figure_finals);
  if (code == EXIT_DONE) code = draw(t, folder, "transfer.png", mm_transfer_figure_finals);
  if (!mm_transfer_has_curves(t)) return code;
  if (code == EXIT_DONE) code = draw(t, folder, "curves.svg", mm_transfer_figure_curves);
  if (code == EXIT_DONE) code = draw(t, folder, "curves.png", mm_transfer_figure_curves);
  return code;
}

static int write_out(const mm_transfer *t, const char *folder) {
  mm_status status = mm_transfer_write(t, folder);
  if (status != MM_OK) return fail(EXIT_FAILED, "%s", mm_last_error());
  int code = draw_all(t, folder);
  if (code == EXIT_DONE) note("wrote tables and figures to %s", folder);
  return code;
}

// The results appear even where a file fails.
static int show(const transfer_args *args, const mm_transfer *t) {
  const mm_run *run = t->config.run;
  int written = run != NULL ? write_out(t, mm_run_folder_of(run)) : EXIT_DONE, code = EXIT_DONE;
  if (args->settings.common.json)
    code = output_json(mm_transfer_json(t), EXIT_DONE);
  else
    transfer_report(t);
  return written != EXIT_DONE ? written : code;
}

static cJSON *stopped_json(const mm_transfer *t, double total) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "run", mm_run_folder_of(t->config.run));
  cJSON_AddStringToObject(root, "state", "stopped");
  cJSON_AddItemToObject(root, "runs", mm_json_number(total));
  cJSON_AddItemToObject(root, "runs_done", mm_json_number((double)t->report.n_done));
  return root;
}

static int report_stop(const transfer_args *args, const mm_transfer *t, double total) {
  char hint[RUN_HINT_SIZE];
  hint_of(t, MM_ERR_INTERRUPTED, hint);
  if (!interrupt_timed_out())
    return fail(INTERRUPT_EXIT, "interrupted after %zu of %.0f runs%s", t->report.n_done, total,
                hint);
  note("stopped after %zu of %.0f runs%s", t->report.n_done, total, hint);
  return args->settings.common.json ? output_json(stopped_json(t, total), EXIT_DONE) : EXIT_DONE;
}

// A table with holes is not done: they are filled by whoever goes on with it.
static void end_session(const mm_transfer *t, mm_status status) {
  bool holes = status == MM_OK && t->report.n_failed > 0;
  const char *outcome = holes ? "failed" : interrupt_outcome(status);
  if (t->config.run != NULL) (void)mm_run_session_end(t->config.run, outcome);
}

static int run_and_show(const transfer_args *args, const mm_transfer_config *what) {
  mm_transfer_config config = *what;
  config.backend = backend_config(&args->on, show_progress, NULL);
  config.save_seconds = args->save_seconds;
  config.trouble = show_trouble;
  double total = (double)config.n_map * (double)config.n_env * (double)config.n_seed;
  char error[MM_ERROR_SIZE], hint[RUN_HINT_SIZE];
  mm_transfer t;
  interrupt_after(args->max_seconds);
  progress_begin("transfer", total, "runs");
  mm_status status = mm_transfer_run(&config, &t);
  progress_end();
  snprintf(error, sizeof error, "%s", mm_last_error());
  end_session(&t, status);
  int code;
  bool shown = false;
  if (status == MM_ERR_INTERRUPTED)
    code = report_stop(args, &t, total);
  else if (status == MM_ERR_INPUT) // trying again would not help
    code = fail(EXIT_USAGE, "%s", error);
  else if (status != MM_OK)
    code = fail(EXIT_FAILED, "%s%s", error, hint_of(&t, status, hint));
  else
    code = judge(&t, &shown);
  if (shown) {
    int after = show(args, &t);
    if (code == EXIT_DONE) code = after;
  }
  mm_transfer_release(&t);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Beginning and going on

static int check_usage(const transfer_args *args) {
  if (args->maps == NULL) return fail_usage("option '--maps' is required (or --resume RUN)");
  if (args->envs == NULL) return fail_usage("option '--envs' is required (or --resume RUN)");
  int code = run_argument_check_seeds(args->seed, args->seeds);
  if (code != EXIT_DONE) return code;
  return env_argument_refuse_ppo(args->algo, "to compare");
}

static int begin(const transfer_args *args) {
  plan p = { 0 };
  mm_run *run = NULL;
  int code = check_usage(args);
  if (code == EXIT_DONE) code = plan_envs(args, &p);
  if (code == EXIT_DONE) code = plan_maps(args, &p);
  mm_transfer_config config = { .map = p.row,
                                .env = p.column,
                                .n_map = p.maps.n + p.n_tuned,
                                .n_env = p.envs.n,
                                .n_seed = (size_t)args->seeds,
                                .seed = args->seed,
                                .n_tune = (size_t)args->tune_seeds };
  if (code == EXIT_DONE) code = create(args, &config, &run);
  config.run = run;
  if (code == EXIT_DONE) code = run_and_show(args, &config);
  mm_run_close(run);
  plan_release(&p);
  return code;
}

static int resume(const transfer_args *args) {
  mm_run *run;
  mm_transfer_plan *p;
  static const char *const fixed[] = { "maps",     "envs",       "algo", "seeds",  "seed",
                                       "controls", "tune-seeds", "out",  "preset", NULL };
  int code = run_argument_refuse(&command_transfer, &args->settings, fixed);
  if (code != EXIT_DONE) return code;
  mm_status status = mm_transfer_resume(args->resume, &run, &p);
  if (status != MM_OK) return fail_status(status);
  const mm_transfer_config *config = mm_transfer_plan_config(p);
  for (size_t i = 0; i < config->n_env && code == EXIT_DONE; i++)
    code = backend_check(&args->on.place, config->env[i].env, &config->env[i].settings);
  if (code == EXIT_DONE) code = run_and_show(args, config);
  mm_run_close(run);
  mm_transfer_plan_release(p);
  return code;
}

static int run(void *raw) {
  transfer_args *args = raw;
  const int chosen = backend_choose(&args->on);
  if (chosen != EXIT_DONE) return chosen;
  interrupt_watch(); // from here on a signal leaves the run in order
  return args->resume != NULL ? resume(args) : begin(args);
}

const command command_transfer = {
  .name = "transfer",
  .summary = "compare maps on several environments",
  .about =
      "Trains every map on every environment with the same seeds and shows the final values, mean "
      "and standard error, and how they differ from negentropy and l2 seed by seed. Controls are "
      "added to the maps asked for.\n\n"
      "Tables of ampo have a folder, others with --out DIR: run.db, in which finished runs and the "
      "states of unfinished ones are kept, and at the end table.csv (means and paired "
      "differences), runs.csv (every run), table.json and figures, with curves.csv and the "
      "learning curves where there are any (of pmd with --set curve=exact). Such a table can be "
      "stopped at any moment, also by a crash, and goes on with --resume to the same bits.",
  .examples =
      "mirrormap transfer --maps tsallis:0.5,random:1 --envs GridWorld-dense,GridWorld-long\n"
      "mirrormap transfer --maps map.json --envs GridWorld-all --seeds 256 --set curve=exact \\\n"
      "  --out results\n"
      "mirrormap transfer --resume runs/transfer-CartPole-v1-1",
  .options = options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(transfer_args),
  .run = run,
};
