// `transfer`: maps x environments x seeds, with controls, as a table, files and figures; resumable
// at any moment.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/argument/name_list.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "cli/study/transfer_report.h"
#include "show/figure/transfer_figure.h"
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

#define ARGS transfer_args
static const option options[] = {
  STUDY_TEXT(maps, "MAP,...", "the mirror maps: names or files"),
  STUDY_TEXT(envs, "ID,...", "the environments: IDs or task files"),
  RUN_RESUME_OPTION(transfer_args, "table"),
  ENV_ALGO_OPTION(transfer_args, ENV_MIRROR_ALGOS, "the environments'"),
  STUDY_COUNT(seeds, 1, SEEDS_MAX, "32", "N",
              "train this many agents for each map and environment"),
  RUN_FIRST_SEED_OPTION(transfer_args),
  STUDY_CHOICE(controls, control_names, "cheap",
               "rows to add: none; negentropy, l2 and a random map of the first learned map's "
               "family; or with these tsallis:0.5, tsallis:1.5, that family's initial map, and "
               "negentropy and l2 with eta tuned for each environment"),
  STUDY_COUNT_NAMED("tune-seeds", tune_seeds, 1, SEEDS_MAX, "8", "N",
                    "trainings for each of nine values of eta, on seeds of their own"),
  RUN_MAX_SECONDS_OPTION(transfer_args),
  RUN_SAVE_SECONDS_OPTION(transfer_args),
  BACKEND_OPTIONS(transfer_args),
  STUDY_TEXT(out, "DIR",
             "folder of the run, with tables, raw numbers and figures (default: "
             "runs/transfer-<env>-<n>; for pmd none)"),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef ARGS

// ---------------------------------------------------------------------------------------------
// Rows and columns

// Rows that may be added to those asked for; the last ones, since the scale of a potential acts
// like eta, are trained with the best of it besides.
enum { CONTROLS_MAX = 7, TUNED = MM_CONTROLS - MM_CONTROL_TUNED };

typedef struct plan {
  name_list maps, envs;
  size_t n_asked; // of the maps
  char (*map_label)[NAME_LABEL_SIZE], (*env_label)[NAME_LABEL_SIZE];
  mm_map **map;         // [maps.n]
  mm_env **env;         // [envs.n]
  mm_transfer_map *row; // [n_row] the maps, then those with eta tuned
  size_t n_row;
  mm_transfer_env *column;
} plan;

static void plan_release(plan *p) {
  for (size_t i = 0; i < p->maps.n && p->map != NULL; i++)
    mm_map_destroy(p->map[i]);
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
}

// The maps that are tuned are among the rows already.
static void add_tuned(plan *p) {
  for (size_t i = 0; i < TUNED; i++) {
    const char *label = mm_control_names[MM_CONTROL_TUNED + i];
    char name[MM_CONTROL_MAP_SIZE];
    mm_control_map(label, MM_MAP_KINDS, 0, name);
    for (size_t k = 0; k < p->maps.n; k++)
      if (strcmp(p->maps.name[k], name) == 0)
        p->row[p->n_row++] = (mm_transfer_map){
          .map = p->map[k], .name = label, .label = label, .control = true, .tuned = true
        };
  }
}

static int plan_maps(const transfer_args *args, plan *p) {
  int code = name_list_read("maps", args->maps, &p->maps);
  if (code != EXIT_DONE) return code;
  p->n_asked = p->maps.n;
  p->map = memory_take(p->n_asked + CONTROLS_MAX, sizeof *p->map);
  code = open_maps(p, 0);
  if (code != EXIT_DONE) return code;
  add_controls(p, args->controls);
  code = open_maps(p, p->n_asked);
  p->map_label = memory_take(p->maps.n, sizeof *p->map_label);
  p->row = memory_take(p->maps.n + TUNED, sizeof *p->row);
  name_list_label(&p->maps, p->map_label);
  for (; p->n_row < p->maps.n; p->n_row++)
    p->row[p->n_row] = (mm_transfer_map){ .map = p->map[p->n_row],
                                          .name = p->maps.name[p->n_row],
                                          .label = p->map_label[p->n_row],
                                          .control = p->n_row >= p->n_asked };
  if (strcmp(args->controls, "full") == 0) add_tuned(p);
  return code;
}

// Each environment brings its algorithm, unless one was asked for, and this its settings.
static int plan_env(const transfer_args *args, plan *p, size_t i) {
  mm_transfer_env *column = &p->column[i];
  int code = study_env(&args->settings, args->algo, p->envs.name[i], &p->env[i], &column->settings);
  column->env = p->env[i];
  column->name = p->envs.name[i];
  column->label = p->env_label[i];
  if (code == EXIT_DONE) code = backend_check(&args->on.place, p->env[i], &column->settings);
  if (code == EXIT_DONE) env_argument_warn(p->env[i], &column->settings);
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

// Tables of trained networks take their time, so they are always kept; others with --out.
static int create(const transfer_args *args, const mm_transfer_config *config, mm_run **out) {
  run_place place;
  bool networks = false;
  for (size_t i = 0; i < config->n_env; i++)
    networks = networks || mm_settings_learner(&config->env[i].settings)->networks;
  if (args->out == NULL && !networks && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  if (args->out == NULL && !networks) return EXIT_DONE;
  int code = args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  mm_status status = study_place("transfer", config->env[0].name, args->out, &place);
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

// A table with holes is still a table, but the exit code says so.
static int judge(const mm_transfer *t, bool *shown) {
  const mm_backend_report *r = &t->report;
  char text[MM_ERROR_SIZE + 200], hint[RUN_HINT_SIZE] = "";
  if (backend_hint(&t->config.backend.place, t->trouble)[0] != '\0')
    run_argument_hint("transfer", t->config.run != NULL ? mm_run_folder_of(t->config.run) : NULL,
                      &t->config.backend.place, t->trouble, hint);
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

static mm_status draw_finals(const void *t, const char *path) {
  return mm_transfer_figure_finals(t, path);
}

static mm_status draw_curves(const void *t, const char *path) {
  return mm_transfer_figure_curves(t, path);
}

static int write_out(const mm_transfer *t, const char *folder) {
  static const study_figure figures[] = { { "transfer.svg", draw_finals },
                                          { "transfer.png", draw_finals },
                                          { "curves.svg", draw_curves },
                                          { "curves.png", draw_curves } };
  mm_status status = mm_transfer_write(t, folder);
  if (status != MM_OK) return fail(EXIT_FAILED, "%s", mm_last_error());
  int code = study_figures(folder, figures, mm_transfer_has_curves(t) ? 4 : 2, t, "figures");
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

static int report_stop(const transfer_args *args, const mm_transfer *t, const study_end *end,
                       double total) {
  int code = study_stopped(end, "after %zu of %.0f runs", t->report.n_done, total);
  if (code != EXIT_DONE || !args->settings.common.json) return code;
  return output_json(stopped_json(t, total), EXIT_DONE);
}

// A table with holes is not done: they are filled by whoever goes on with it.
static int finish(const transfer_args *args, const mm_transfer *t, mm_status status, double total) {
  mm_study study = { .run = t->config.run, .in_session = t->config.run != NULL };
  bool holes = status == MM_OK && t->report.n_failed > 0, shown;
  study_end end;
  study_finish(&command_transfer, &study, &args->on.place, status, holes ? "failed" : NULL, &end);
  if (status == MM_ERR_INTERRUPTED) return report_stop(args, t, &end, total);
  if (status != MM_OK) return study_failed(&end);
  int code = judge(t, &shown), after = shown ? show(args, t) : EXIT_DONE;
  return code != EXIT_DONE ? code : after;
}

static int run_and_show(const transfer_args *args, const mm_transfer_config *what) {
  mm_transfer_config config = *what;
  config.backend = backend_config(&args->on, show_progress, NULL);
  config.save_seconds = args->save_seconds;
  config.trouble = show_trouble;
  double total = (double)config.n_map * (double)config.n_env * (double)config.n_seed;
  mm_transfer t;
  interrupt_after(args->max_seconds);
  progress_begin("transfer", total, "runs");
  mm_status status = mm_transfer_run(&config, &t);
  progress_end();
  int code = finish(args, &t, status, total);
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
  return env_argument_refuse_mapless(args->algo, "to compare");
}

static int begin(const transfer_args *args) {
  plan p = { 0 };
  mm_run *run = NULL;
  int code = check_usage(args);
  if (code == EXIT_DONE) code = plan_envs(args, &p);
  if (code == EXIT_DONE) code = plan_maps(args, &p);
  mm_transfer_config config = { .map = p.row,
                                .env = p.column,
                                .n_map = p.n_row,
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
  int code = study_begin(&args->on);
  if (code != EXIT_DONE) return code;
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
