// SPDX-License-Identifier: Apache-2.0
// `transfer`: maps x environments x seeds, with controls, as a table, files and figures; resumable
// at any moment.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/argument/name_list.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "show/figure/transfer_figure.h"
#include "study/transfer/transfer.h"
#include "study/transfer/transfer_files.h"
#include "study/transfer/transfer_plan.h"

enum { SEEDS_MAX = 1000000 };

typedef struct transfer_args {
  settings_args settings;
  const char *maps, *envs, *resume, *algo, *controls, *out;
  backend_args on;
  uint64_t seeds, seed, tune_seeds;
  double tune_budget, max_seconds, save_seconds;
} transfer_args;

static const char *const control_names[] = { "none", "cheap", "full", NULL };

#define ARGS transfer_args
static const option options[] = {
  OPTION(TEXT, "maps", maps, "MAP,...", "the mirror maps: names or files"),
  OPTION(TEXT, "envs", envs, "ID,...", "the environments: IDs or task files"),
  RUN_RESUME_OPTION(transfer_args, "table"),
  ENV_ALGO_OPTION(transfer_args, ENV_MIRROR_ALGOS, "the environments'"),
  OPTION(COUNT, "seeds", seeds, "N", "runs for each map and environment", .low = 1,
         .high = SEEDS_MAX, .fallback = "32"),
  RUN_FIRST_SEED_OPTION(transfer_args),
  OPTION(CHOICE, "controls", controls, NULL,
         "rows to add; cheap: negentropy, l2 and a random map of the first learned map's family; "
         "full: also tsallis:0.5, tsallis:1.5, that family's initial map, and with tuned eta "
         "negentropy, l2 and Tsallis (its q too)",
         .choices = control_names, .fallback = "cheap"),
  OPTION(COUNT, "tune-seeds", tune_seeds, "N",
         "training runs for each of nine values of eta, on other seeds; q and eta together have as "
         "many",
         .low = 1, .high = SEEDS_MAX, .fallback = "8", .rare = true),
  OPTION(NUMBER, "tune-budget", tune_budget, "STEPS",
         "environment steps of tuning, for each tuned control and environment, by successive "
         "halving; overrides --tune-seeds (default for a learned map: the steps of its search, "
         "unless --tune-seeds is given)",
         .low = 1, .high = 1e18, .rare = true),
  RUN_MAX_SECONDS_OPTION(transfer_args),
  RUN_SAVE_SECONDS_OPTION(transfer_args),
  BACKEND_OPTIONS(transfer_args),
  OPTION(TEXT, "out", out, "DIR",
         "folder of the run (default: runs/transfer-<env>-<n>, for pmd none); it gets tables, raw "
         "numbers and figures"),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef ARGS

// ---------------------------------------------------------------------------------------------
// What it shows

enum { WORST_RUNS = 4 }; // a quarter of fewer runs is none

// What a table shows: final returns, or differences from a baseline.
typedef struct view {
  const mm_transfer *t;
  bool differences;
  mm_baseline baseline;
} view;

// ---------------------------------------------------------------------------------------------
// Cells

// "304 ± 23 (211) !2": with the worst quarter, where there is one, and failures.
static const char *final_text(const view *v, const mm_transfer_cell *cell) {
  const mm_estimate e = cell->of.mean;
  const char *text = output_estimate(e, false);
  if (v->t->config.n_seed >= WORST_RUNS && isfinite(cell->of.worst))
    text = output_format("%s (%s)", text,
                         output_rounded(cell->of.worst, output_decimals(e.sem), false));
  return cell->n_failure > 0 ? output_format("%s !%zu", text, cell->n_failure) : text;
}

static const char *cell_text(const view *v, size_t map, size_t env) {
  const mm_transfer_cell *cell = mm_transfer_at(v->t, map, env);
  const mm_comparison *over = &cell->over[v->baseline];
  const double mean = v->differences ? over->gain.mean : cell->of.mean.mean;
  if (v->differences && v->t->baseline[v->baseline] == map) return "";
  if (isnan(mean) && isnan(over->wins) && cell->of.unfinished == 0) return "failed";
  if (!v->differences) return final_text(v, cell);
  // a mark of its own width, so that the numbers stay below each other
  return output_format("%s%s %3.0f %%", output_interval(mean, over->interval, true),
                       mm_comparison_sign(over) ? " *" : "  ", 100 * over->wins);
}

// ---------------------------------------------------------------------------------------------
// Tables

// The mean of V* over the instances, where it is known.
static void put_optimum(const mm_transfer *t, table *out) {
  bool known = false;
  for (size_t e = 0; e < t->config.n_env; e++)
    known = known || isfinite(t->optimal_mean[e]);
  if (!known) return;
  table_text(out, "(optimum)");
  for (size_t e = 0; e < t->config.n_env; e++)
    table_text(out, isfinite(t->optimal_mean[e]) ? output_format("%.4g", t->optimal_mean[e]) : "-");
}

static void put_table(const view *v) {
  const mm_transfer_config *c = &v->t->config;
  table *out = table_of_columns(c->n_env + 1);
  table_text(out, "<map");
  for (size_t e = 0; e < c->n_env; e++)
    table_text(out, c->env[e].label);
  for (size_t m = 0; m < c->n_map; m++) {
    if (v->differences && m == v->t->baseline[v->baseline]) continue;
    table_text(out, c->map[m].label);
    for (size_t e = 0; e < c->n_env; e++) {
      table_text(out, cell_text(v, m, e));
      int verdict = mm_comparison_sign(&mm_transfer_at(v->t, m, e)->over[v->baseline]);
      if (verdict != 0) table_mark(out, verdict > 0);
    }
  }
  if (!v->differences) put_optimum(v->t, out);
  table_print(out);
}

// ---------------------------------------------------------------------------------------------

static void put_name(const char *before, const char *name) {
  printf("%s%s", before, output_plain(name));
}

static void put_differences(const mm_transfer *t, mm_baseline baseline) {
  view v = { .t = t, .differences = true, .baseline = baseline };
  size_t row = t->baseline[baseline];
  if (row == t->config.n_map || t->config.n_map < 2) return;
  put_name("\nminus ", t->config.map[row].label);
  puts(", paired by seed: mean [95 % interval], * excludes 0; win rate");
  put_table(&v);
}

// One sentence for each environment, against the first baseline that the table has.
static void put_conclusions(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  for (int b = 0; b < MM_BASELINES; b++) {
    if (t->baseline[b] == c->n_map || c->n_map < 2) continue;
    printf("\nconcluded at 5 %% (sign-flip tests, Holm's correction for %zu comparison%s):\n",
           t->n_test[b], t->n_test[b] == 1 ? "" : "s");
    for (size_t e = 0; e < c->n_env; e++) {
      char *text = NULL;
      size_t length = 0;
      FILE *f = open_memstream(&text, &length);
      if (f == NULL) return;
      mm_transfer_conclude(t, (mm_baseline)b, e, f);
      if (fclose(f) == 0) study_sentence(text);
      free(text);
    }
    return;
  }
}

// A line for each cell that has no mean because runs have no return.
static void put_unfinished(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  for (size_t i = 0; i < c->n_map * c->n_env; i++) {
    if (t->cell[i].of.unfinished == 0) continue;
    put_name("", c->map[i / c->n_env].label);
    put_name(" on ", c->env[i % c->n_env].label);
    printf(": %zu of %zu runs have no return, so there is no mean\n", t->cell[i].of.unfinished,
           c->n_seed);
  }
}

// The step sizes that tuning chose and those that maps bring along, one line a row.
static void put_etas(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  bool q = false;
  for (size_t m = 0; m < c->n_map; m++) {
    if (!c->map[m].tuned && !(c->map[m].eta > 0)) continue;
    q = q || c->map[m].tuned_q;
    put_name("", c->map[m].label);
    fputs(c->map[m].tuned ? ":" : ": eta of the map,", stdout);
    for (size_t e = 0; e < c->n_env; e++) {
      put_name(e > 0 ? ", " : " ", c->env[e].label);
      const mm_transfer_cell *cell = mm_transfer_at(t, m, e);
      if (!isnan(cell->q)) printf(" q %.3g, eta", cell->q);
      printf(" %g", cell->eta);
    }
    putchar('\n');
  }
  if (t->tune_steps > 0 && c->tune_budget > 0)
    study_paragraph(
        output_format("tuning took %s steps (successive halving on seeds of its own, at "
                      "most %s for each map and environment)",
                      output_si((double)t->tune_steps), output_si(c->tune_budget)));
  else if (t->tune_steps > 0)
    study_paragraph(
        output_format("tuning took %s steps (%zu runs for each of %d values%s, on seeds "
                      "of their own)",
                      output_si((double)t->tune_steps), c->n_tune, MM_STUDY_ETAS,
                      q ? ", q and eta by successive halving with as many" : ""));
}

static bool has_failures(const mm_transfer *t) {
  for (size_t i = 0; i < t->config.n_map * t->config.n_env; i++)
    if (t->cell[i].n_failure > 0) return true;
  return false;
}

static void transfer_report(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  view finals = { .t = t, .baseline = MM_BASELINE_NEGENTROPY };
  const char *plural = c->n_seed == 1 ? "" : "s";
  printf("final return: mean%s of %zu run%s%s\n",
         c->n_seed == 1       ? ""
         : terminal_unicode() ? " \u00b1 standard error"
                              : " +- standard error",
         c->n_seed, plural, c->n_seed == 1 ? "" : " with the same seeds for each map");
  if (c->n_seed >= WORST_RUNS) puts("(in parentheses: mean of the worst quarter, CVaR 0.25)");
  if (t->baseline[MM_BASELINE_NEGENTROPY] < c->n_map && terminal_style(stdout, STYLE_GOOD)[0])
    printf("%sgreen%s, %sred%s: above, below negentropy (the 95 %% interval of the difference "
           "excludes 0)\n",
           terminal_style(stdout, STYLE_GOOD), terminal_style(stdout, STYLE_PLAIN),
           terminal_style(stdout, STYLE_BAD), terminal_style(stdout, STYLE_PLAIN));
  put_table(&finals);
  if (has_failures(t)) puts("!: so many runs failed, diverged or finished no episode");
  put_unfinished(t);
  for (int b = 0; b < MM_BASELINES; b++)
    put_differences(t, (mm_baseline)b);
  put_etas(t);
  put_conclusions(t);
  size_t n = c->n_map * c->n_env * c->n_seed;
  if (t->all_found) {
    puts("\nall runs were done before");
    return;
  }
  char machine[MM_MACHINE_TEXT];
  printf("\nspeed  %s steps/s: %s%zu runs in %s on %s\n", output_si(mm_transfer_speed(t)),
         t->own_steps < t->env_steps + t->tune_steps ? "the rest of " : "", n,
         format_elapsed(t->wall_seconds), mm_machine_text(&t->machine, machine));
}

// ---------------------------------------------------------------------------------------------
// Rows and columns

typedef struct plan {
  name_list maps, envs;
  size_t n_asked; // of the maps
  char (*map_label)[NAME_LABEL_SIZE], (*env_label)[NAME_LABEL_SIZE];
  mm_map **map;         // [maps.n]
  mm_env **env;         // [envs.n]
  mm_transfer_map *row; // [maps.n]
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
  for (size_t i = first; i < p->maps.n && code == EXIT_DONE; i++) {
    char base[MM_PLAN_NAME_SIZE];
    code = status_code(mm_transfer_base(p->maps.name[i], base));
    if (code == EXIT_DONE) code = map_argument_open(base, &p->map[i]);
  }
  return code;
}

static void add_controls(plan *p, const char *which) {
  char name[MM_STUDY_CONTROLS_MAX][MM_STUDY_NAME_SIZE];
  if (strcmp(which, "none") == 0) return;
  const size_t n = mm_study_controls((const mm_map *const *)p->map, p->n_asked,
                                     strcmp(which, "full") == 0, name);
  for (size_t i = 0; i < n; i++)
    name_list_add(&p->maps, name[i]);
}

// Its map may bring a step size along, which --set eta overrides.
static void plan_map(const transfer_args *args, plan *p, size_t i) {
  mm_transfer_map *row = &p->row[i];
  const bool own_eta = settings_given(&args->settings, "eta") == NULL;
  *row = mm_transfer_row(p->maps.name[i], p->map[i], own_eta);
  row->label = p->map_label[i];
  row->control = i >= p->n_asked;
  if (row->eta > 0) note("eta %s from %s", output_number(row->eta), row->name);
}

static int plan_maps(const transfer_args *args, plan *p) {
  TRY(name_list_read("maps", args->maps, &p->maps));
  p->n_asked = p->maps.n;
  p->map = memory_alloc(p->n_asked + MM_STUDY_CONTROLS_MAX, sizeof *p->map);
  TRY(open_maps(p, 0));
  add_controls(p, args->controls);
  int code = open_maps(p, p->n_asked);
  p->map_label = memory_alloc(p->maps.n, sizeof *p->map_label);
  p->row = memory_alloc(p->maps.n, sizeof *p->row);
  name_list_label(&p->maps, p->map_label);
  for (size_t i = 0; i < p->maps.n && code == EXIT_DONE; i++)
    plan_map(args, p, i);
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
  p->env = memory_alloc(p->envs.n, sizeof *p->env);
  p->env_label = memory_alloc(p->envs.n, sizeof *p->env_label);
  p->column = memory_alloc(p->envs.n, sizeof *p->column);
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

// Tables of trained networks take their time, so they are always stored; others with --out.
static int create(const transfer_args *args, const mm_transfer_config *config, mm_run **out) {
  run_folder where;
  bool networks = false;
  for (size_t i = 0; i < config->n_env; i++)
    networks = networks || mm_settings_learner(&config->env[i].settings)->networks;
  if (args->out == NULL && !networks && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  if (args->out == NULL && !networks) return EXIT_DONE;
  TRY(args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE);
  mm_status status = study_folder_for("transfer", config->env[0].name, args->out, &where);
  if (status == MM_OK) status = mm_transfer_create(where.path, config, out);
  if (status != MM_OK) return run_argument_fail(&where, status);
  note("%s: checkpointed", where.path);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Running

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char detail[64];
  (void)user;
  interrupt_check_time();
  snprintf(detail, sizeof detail, "run %zu/%zu", done, total);
  progress_update((double)env_steps, detail);
}

static void show_trouble(const char *sentence, void *user) {
  (void)user;
  warn("%s; continuing without it", sentence);
}

// "map l2 on GridWorld-dense, seed 3: sentence"; what every run failed for concerns none of these.
static const char *describe_trouble(const mm_transfer *t, char *out, size_t size) {
  const mm_transfer_config *c = &t->config;
  size_t job = t->report.trouble, seed = job % c->n_seed;
  size_t map = job / c->n_seed % c->n_map, env = job / c->n_seed / c->n_map;
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
    return fail(EXIT_FAILED, "%zu of %zu runs failed; %s%s", r->n_failed, n,
                describe_trouble(t, text, sizeof text), hint);
  if (r->n_numeric > 0)
    warn("%zu of %zu runs diverged and count with their last finite policy; %s", r->n_numeric, n,
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

// A table with holes is not done: they are filled when it is resumed.
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
  progress_begin("transfer", mm_transfer_planned_steps(&config), "steps");
  mm_status status = mm_transfer_run(&config, &t);
  progress_end();
  int code = finish(args, &t, status, total);
  mm_transfer_release(&t);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Beginning and resuming

static int check_usage(const transfer_args *args) {
  if (args->maps == NULL) return fail_usage("option '--maps' is required (or --resume RUN)");
  if (args->envs == NULL) return fail_usage("option '--envs' is required (or --resume RUN)");
  TRY(run_argument_check_seeds(args->seed, args->seeds));
  return env_argument_refuse_mapless(args->algo, "to compare");
}

// The steps of the longest search behind the learned maps that were asked for.
static double search_steps(const mm_transfer_config *c, const char **of) {
  double most = 0;
  for (size_t i = 0; i < c->n_map; i++) {
    double steps = c->map[i].control ? 0 : mm_study_card_steps(mm_map_meta(c->map[i].map));
    if (!(steps > most)) continue;
    most = steps;
    *of = c->map[i].label;
  }
  return most;
}

// A table without tuned rows has no budget.
static int plan_budget(const transfer_args *args, mm_transfer_config *c) {
  const char *of = NULL;
  const double least = mm_transfer_least_budget(c);
  const bool given = options_given(&command_transfer, &args->settings.common, "tune-budget");
  if (least == 0 && !given) return EXIT_DONE;
  if (least == 0)
    return fail_usage("option '--tune-budget': no row is tuned: expected --controls full, or a map "
                      "as l2:tuned-eta");
  if (given) {
    c->tune_budget = args->tune_budget;
    if (c->tune_budget >= least) return EXIT_DONE;
    return fail_usage("option '--tune-budget': expected at least %.0f steps, a run for each "
                      "candidate, found %.0f",
                      least, c->tune_budget);
  }
  if (options_given(&command_transfer, &args->settings.common, "tune-seeds")) return EXIT_DONE;
  c->tune_budget = search_steps(c, &of);
  if (c->tune_budget == 0) return EXIT_DONE;
  note("each tuned control has %s steps in each environment, %s the search of %s "
       "(--tune-budget or --tune-seeds change it)",
       output_si(fmax(c->tune_budget, least)), c->tune_budget < least ? "more than" : "as many as",
       output_plain(of));
  c->tune_budget = fmax(c->tune_budget, least);
  return EXIT_DONE;
}

static int begin(const transfer_args *args) {
  plan p = { 0 };
  mm_run *run = NULL;
  int code = check_usage(args);
  if (code == EXIT_DONE) code = plan_envs(args, &p);
  if (code == EXIT_DONE) code = plan_maps(args, &p);
  mm_transfer_config config = { .map = p.row,
                                .env = p.column,
                                .n_map = p.maps.n,
                                .n_env = p.envs.n,
                                .n_seed = (size_t)args->seeds,
                                .seed = args->seed,
                                .n_tune = (size_t)args->tune_seeds };
  if (code == EXIT_DONE) code = plan_budget(args, &config);
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
  static const char *const fixed[] = { "maps", "envs",     "algo",       "seeds",
                                       "seed", "controls", "tune-seeds", "tune-budget",
                                       "out",  "preset",   NULL };
  int code = run_argument_refuse(&command_transfer, &args->settings, "run", fixed);
  if (code != EXIT_DONE) return code;
  TRY(status_code(mm_transfer_resume(args->resume, &run, &p)));
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
  TRY(study_begin(&args->on));
  return args->resume != NULL ? resume(args) : begin(args);
}

const command command_transfer = {
  .name = "transfer",
  .summary = "compare maps on several environments",
  .about =
      "Trains every map, and controls, on every environment with the same seeds; shows the "
      "final returns, mean and standard error, the mean of the worst quarter and failures, and "
      "the paired differences from negentropy and l2 with 95 % intervals (studentised "
      "bootstrap) and win rates.\n\nA sentence for each environment says what can be "
      "concluded: paired sign-flip tests, corrected by Holm's method for the cells of the "
      "table. `compare` says more of such tables.\n\nTables of ampo have a "
      "folder, others with --out "
      "DIR: run.db, in which finished runs are stored and unfinished ones checkpointed, and "
      "at the end table.csv (means and paired differences), runs.csv (every run), table.json "
      "and figures, with curves.csv and the learning curves where there are any (of pmd with "
      "--set curve=exact). Such a table can be stopped at any moment, also by a crash, and "
      "resumes bit-identically with --resume.",
  .examples = "mirrormap transfer --maps tsallis:0.5,random:1 --envs "
              "GridWorld-dense,GridWorld-long\nmirrormap transfer --maps map.json --envs "
              "GridWorld-all --seeds 256 --set curve=exact --out results\nmirrormap transfer "
              "--resume runs/transfer-CartPole-v1-1",
  .options = options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(transfer_args),
  .run = run,
};
