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
         .high = MM_STUDY_SEEDS_MAX, .fallback = "32"),
  RUN_FIRST_SEED_OPTION(transfer_args),
  OPTION(CHOICE, "controls", controls, NULL,
         "rows to add; cheap: negentropy, l2 and a random map of the first learned map's family; "
         "full: also tsallis:0.5, tsallis:1.5, that family's initial map, and with tuned eta "
         "negentropy, l2 and Tsallis (its q too)",
         .choices = control_names, .fallback = "cheap"),
  OPTION(COUNT, "tune-seeds", tune_seeds, "N",
         "training runs for each of nine values of eta, on other seeds; q and eta together have as "
         "many",
         .low = 1, .high = MM_STUDY_SEEDS_MAX, .fallback = "8", .rare = true),
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
  const mm_study *study;
  mm_study_info info;
  mm_study_table table;
  bool differences;
  mm_baseline baseline;
} view;

static view view_of(const mm_study *study) {
  view v = { .study = study, .info = study_info(study), .table = { .size = sizeof v.table } };
  (void)mm_study_look_table(study, &v.table);
  return v;
}

static bool has_baseline(const view *v, int baseline) {
  return v->table.baseline[baseline] < v->info.n_map && v->info.n_map > 1;
}

// ---------------------------------------------------------------------------------------------
// Cells

static mm_study_detail detail_at(const view *v, size_t map, size_t env) {
  mm_study_detail detail = { .size = sizeof detail };
  (void)mm_study_detail_at(v->study, map * v->info.n_env + env, &detail);
  return detail;
}

static double eta_at(const view *v, size_t map, size_t env) {
  mm_study_cell cell;
  (void)mm_study_cell_at(v->study, map * v->info.n_env + env, &cell);
  return cell.eta;
}

// "304 ± 23 (211) !2": with the worst quarter, where there is one, and failures.
static const char *final_text(const view *v, const mm_study_detail *cell) {
  const mm_estimate e = cell->of.mean;
  const char *text = output_estimate(e, false);
  if (v->info.seeds >= WORST_RUNS && isfinite(cell->of.worst))
    text = output_format("%s (%s)", text,
                         output_rounded(cell->of.worst, output_decimals(e.sem), false));
  return cell->n_failure > 0 ? output_format("%s !%zu", text, cell->n_failure) : text;
}

static const char *cell_text(const view *v, const mm_study_detail *cell) {
  const mm_comparison *over = &cell->over[v->baseline];
  const double mean = v->differences ? over->gain.mean : cell->of.mean.mean;
  if (v->differences && v->table.baseline[v->baseline] == cell->map) return "";
  if (isnan(mean) && isnan(over->wins) && cell->of.unfinished == 0) return "failed";
  if (!v->differences) return final_text(v, cell);
  // a mark of its own width, so that the numbers stay below each other
  return output_format("%s%s %3.0f %%", output_interval(mean, over->interval, true),
                       mm_comparison_sign(over) ? " *" : "  ", 100 * over->wins);
}

// ---------------------------------------------------------------------------------------------
// Tables

// The mean of V* over the instances, where it is known.
static void put_optimum(const view *v, table *out) {
  bool known = false;
  for (size_t e = 0; e < v->info.n_env; e++)
    known = known || isfinite(study_env_info(v->study, e).optimal);
  if (!known) return;
  table_text(out, "(optimum)");
  for (size_t e = 0; e < v->info.n_env; e++) {
    const double optimal = study_env_info(v->study, e).optimal;
    table_text(out, isfinite(optimal) ? output_format("%.4g", optimal) : "-");
  }
}

static void put_table(const view *v) {
  table *out = table_of_columns(v->info.n_env + 1);
  table_text(out, "<map");
  for (size_t e = 0; e < v->info.n_env; e++)
    table_text(out, study_env_info(v->study, e).label);
  for (size_t m = 0; m < v->info.n_map; m++) {
    if (v->differences && m == v->table.baseline[v->baseline]) continue;
    table_text(out, study_map_info(v->study, m).label);
    for (size_t e = 0; e < v->info.n_env; e++) {
      const mm_study_detail cell = detail_at(v, m, e);
      table_text(out, cell_text(v, &cell));
      int verdict = mm_comparison_sign(&cell.over[v->baseline]);
      if (verdict != 0) table_mark(out, verdict > 0);
    }
  }
  if (!v->differences) put_optimum(v, out);
  table_print(out);
}

// ---------------------------------------------------------------------------------------------

static void put_name(const char *before, const char *name) {
  printf("%s%s", before, output_plain(name));
}

static void put_differences(const view *finals, mm_baseline baseline) {
  view v = *finals;
  v.differences = true;
  v.baseline = baseline;
  if (!has_baseline(&v, (int)baseline)) return;
  put_name("\nminus ", study_map_info(v.study, v.table.baseline[baseline]).label);
  puts(", paired by seed: mean [95 % interval], * excludes 0; win rate");
  put_table(&v);
}

// One sentence for each environment, against the first baseline that the table has.
static void put_conclusions(const view *v) {
  for (int b = 0; b < MM_BASELINES; b++) {
    if (!has_baseline(v, b)) continue;
    const size_t n = v->table.n_test[b];
    printf("\nconcluded at 5 %% (sign-flip tests, Holm's correction for %zu comparison%s):\n", n,
           n == 1 ? "" : "s");
    for (size_t e = 0; e < v->info.n_env; e++) {
      char *text = NULL;
      size_t length = 0;
      FILE *f = open_memstream(&text, &length);
      if (f == NULL) return;
      (void)mm_study_conclude(v->study, (mm_baseline)b, e, f);
      if (fclose(f) == 0) study_sentence(text);
      free(text);
    }
    return;
  }
}

// A line for each cell that has no mean because runs have no return.
static void put_unfinished(const view *v) {
  for (size_t i = 0; i < v->info.n_map * v->info.n_env; i++) {
    const mm_study_detail cell = detail_at(v, i / v->info.n_env, i % v->info.n_env);
    if (cell.of.unfinished == 0) continue;
    put_name("", study_map_info(v->study, cell.map).label);
    put_name(" on ", study_env_info(v->study, cell.env).label);
    printf(": %zu of %zu runs have no return, so there is no mean\n", cell.of.unfinished,
           v->info.seeds);
  }
}

// The step sizes that tuning chose and those that maps bring along, one line a row.
static void put_etas(const view *v) {
  const mm_study_table *t = &v->table;
  bool q = false;
  for (size_t m = 0; m < v->info.n_map; m++) {
    const mm_study_map_info map = study_map_info(v->study, m);
    if (!map.tuned && !(map.eta > 0)) continue;
    q = q || map.tuned_q;
    put_name("", map.label);
    fputs(map.tuned ? ":" : ": eta of the map,", stdout);
    for (size_t e = 0; e < v->info.n_env; e++) {
      const mm_study_detail cell = detail_at(v, m, e);
      put_name(e > 0 ? ", " : " ", study_env_info(v->study, e).label);
      if (!isnan(cell.q)) printf(" q %.3g, eta", cell.q);
      printf(" %g", eta_at(v, m, e));
    }
    putchar('\n');
  }
  if (t->tune_steps > 0 && t->tune_budget > 0)
    study_paragraph(
        output_format("tuning took %s steps (successive halving on seeds of its own, at "
                      "most %s for each map and environment)",
                      output_si((double)t->tune_steps), output_si(t->tune_budget)));
  else if (t->tune_steps > 0)
    study_paragraph(
        output_format("tuning took %s steps (%zu runs for each of %d values%s, on seeds "
                      "of their own)",
                      output_si((double)t->tune_steps), t->tune_seeds, MM_STUDY_ETAS,
                      q ? ", q and eta by successive halving with as many" : ""));
}

static bool has_failures(const view *v) {
  for (size_t i = 0; i < v->info.n_map * v->info.n_env; i++)
    if (detail_at(v, i / v->info.n_env, i % v->info.n_env).n_failure > 0) return true;
  return false;
}

static void put_speed(const view *v) {
  char machine[MM_STUDY_MACHINE_TEXT];
  mm_study_progress now;
  mm_study_look(v->study, &now);
  if (v->table.all_found) {
    puts("\nall runs were done before");
    return;
  }
  printf("\nspeed  %s steps/s: %s%zu runs in %s on %s\n",
         output_si(now.env_steps > 0 ? (double)now.env_steps / now.seconds : 0),
         now.env_steps < v->table.env_steps + v->table.tune_steps ? "the rest of " : "",
         v->info.n_map * v->info.n_env * v->info.seeds, format_elapsed(now.seconds),
         mm_study_machine_text(v->study, machine));
}

static void transfer_report(const mm_study *study) {
  const view finals = view_of(study);
  const size_t n = finals.info.seeds;
  const char *plural = n == 1 ? "" : "s";
  printf("final return: mean%s of %zu run%s%s\n",
         n == 1               ? ""
         : terminal_unicode() ? " \u00b1 standard error"
                              : " +- standard error",
         n, plural, n == 1 ? "" : " with the same seeds for each map");
  if (n >= WORST_RUNS) puts("(in parentheses: mean of the worst quarter, CVaR 0.25)");
  if (finals.table.baseline[MM_BASELINE_NEGENTROPY] < finals.info.n_map &&
      terminal_style(stdout, STYLE_GOOD)[0])
    printf("%sgreen%s, %sred%s: above, below negentropy (the 95 %% interval of the difference "
           "excludes 0)\n",
           terminal_style(stdout, STYLE_GOOD), terminal_style(stdout, STYLE_PLAIN),
           terminal_style(stdout, STYLE_BAD), terminal_style(stdout, STYLE_PLAIN));
  put_table(&finals);
  if (has_failures(&finals)) puts("!: so many runs failed, diverged or finished no episode");
  put_unfinished(&finals);
  for (int b = 0; b < MM_BASELINES; b++)
    put_differences(&finals, (mm_baseline)b);
  put_etas(&finals);
  put_conclusions(&finals);
  put_speed(&finals);
}

// ---------------------------------------------------------------------------------------------
// Rows and columns

typedef struct plan {
  name_list maps, envs, set;
  size_t n_asked; // of the maps
  char (*map_label)[NAME_LABEL_SIZE], (*env_label)[NAME_LABEL_SIZE];
  const char **label; // [maps.n], then [envs.n]
  mm_map **map;       // [maps.n]; of a tuned row what is tuned
  mm_env **env;       // [envs.n]
  mm_settings **settings;
} plan;

static void plan_release(plan *p) {
  for (size_t i = 0; i < p->maps.n && p->map != NULL; i++)
    mm_map_destroy(p->map[i]);
  for (size_t i = 0; i < p->envs.n && p->env != NULL; i++)
    mm_env_destroy(p->env[i]);
  for (size_t i = 0; i < p->envs.n && p->settings != NULL; i++)
    mm_settings_destroy(p->settings[i]);
  name_list_release(&p->maps);
  name_list_release(&p->envs);
  name_list_release(&p->set);
  free(p->map);
  free(p->env);
  free(p->settings);
  free(p->map_label);
  free(p->env_label);
  free(p->label);
}

static int open_maps(plan *p, size_t first) {
  for (size_t i = first; i < p->maps.n; i++) {
    char base[MM_STUDY_NAME_SIZE];
    TRY(status_code(mm_study_base_map(p->maps.name[i], base)));
    TRY(map_argument_open(base, &p->map[i]));
  }
  return EXIT_DONE;
}

static void add_controls(plan *p, const char *which) {
  char name[MM_STUDY_CONTROLS_MAX][MM_STUDY_NAME_SIZE];
  if (strcmp(which, "none") == 0) return;
  const size_t n = mm_study_controls((const mm_map *const *)p->map, p->n_asked,
                                     strcmp(which, "full") == 0, name);
  for (size_t i = 0; i < n; i++)
    name_list_add(&p->maps, name[i]);
}

// A row that is tuned does not take the step size that its map brings along, nor does any with
// --set eta.
static void note_eta(const transfer_args *args, const plan *p, size_t i) {
  char base[MM_STUDY_NAME_SIZE];
  const double eta = mm_map_eta(p->map[i]);
  if (settings_given(&args->settings, "eta") != NULL || !(eta > 0)) return;
  if (mm_study_base_map(p->maps.name[i], base) != MM_OK || strcmp(base, p->maps.name[i]) != 0)
    return;
  note("eta %s from %s", output_number(eta), p->maps.name[i]);
}

static int plan_maps(const transfer_args *args, plan *p) {
  TRY(name_list_read("maps", args->maps, &p->maps));
  p->n_asked = p->maps.n;
  p->map = memory_alloc(p->n_asked + MM_STUDY_CONTROLS_MAX, sizeof *p->map);
  TRY(open_maps(p, 0));
  add_controls(p, args->controls);
  TRY(open_maps(p, p->n_asked));
  p->map_label = memory_alloc(p->maps.n, sizeof *p->map_label);
  name_list_label(&p->maps, p->map_label);
  for (size_t i = 0; i < p->maps.n; i++)
    note_eta(args, p, i);
  return EXIT_DONE;
}

// Each environment brings its algorithm, unless one was asked for, and this its settings.
static int plan_env(const transfer_args *args, plan *p, size_t i) {
  TRY(status_code(mm_settings_create(MM_ALGO_PMD, &p->settings[i])));
  TRY(study_env(&args->settings, args->algo, p->envs.name[i], &p->env[i], p->settings[i]));
  TRY(backend_check(&args->on.place, p->env[i], p->settings[i]));
  env_argument_warn(p->env[i], p->settings[i]);
  return EXIT_DONE;
}

static int plan_envs(const transfer_args *args, plan *p) {
  TRY(name_list_read("envs", args->envs, &p->envs));
  p->env = memory_alloc(p->envs.n, sizeof *p->env);
  p->settings = memory_alloc(p->envs.n, sizeof *p->settings);
  p->env_label = memory_alloc(p->envs.n, sizeof *p->env_label);
  name_list_label(&p->envs, p->env_label);
  for (size_t i = 0; i < p->envs.n; i++)
    TRY(plan_env(args, p, i));
  return EXIT_DONE;
}

static mm_study_config make_config(const transfer_args *args, plan *p) {
  mm_study_config config = mm_study_config_default(MM_STUDY_TRANSFER);
  p->label = memory_alloc(p->maps.n + p->envs.n, sizeof *p->label);
  for (size_t i = 0; i < p->maps.n; i++)
    p->label[i] = p->map_label[i];
  for (size_t i = 0; i < p->envs.n; i++)
    p->label[p->maps.n + i] = p->env_label[i];
  settings_texts(&args->settings, &p->set);
  config.env = (const char *const *)p->envs.name, config.n_env = p->envs.n;
  config.map = (const char *const *)p->maps.name, config.n_map = p->maps.n;
  config.set = (const char *const *)p->set.name, config.n_set = p->set.n;
  config.open_map = (const mm_map *const *)p->map;
  config.map_label = p->label;
  config.env_label = p->label + p->maps.n;
  config.n_control = p->maps.n - p->n_asked;
  config.algo = args->algo;
  config.argv = command_argv;
  config.preset = args->settings.preset;
  config.seed = args->seed;
  config.seeds = (size_t)args->seeds;
  config.tune_seeds = (size_t)args->tune_seeds;
  return config;
}

// ---------------------------------------------------------------------------------------------
// The folder

static const char *const out_files[] = { "table.csv",  "runs.csv",     "curves.csv",
                                         "table.json", "transfer.svg", "transfer.png",
                                         "curves.svg", "curves.png",   NULL };

// Tables of trained networks take their time, so they are always stored; others with --out.
static int create(const transfer_args *args, const plan *p, const mm_study_config *config,
                  mm_study **out) {
  run_folder where = { 0 };
  bool kept = args->out != NULL;
  for (size_t i = 0; i < p->envs.n; i++)
    kept = kept || mm_algo_has_networks(mm_settings_algo(p->settings[i]));
  if (!kept && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  TRY(args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE);
  mm_status status = MM_OK;
  if (kept) status = study_folder_for("transfer", p->envs.name[0], args->out, &where);
  if (status == MM_OK) status = mm_study_create(where.path, config, out);
  if (status != MM_OK) return run_argument_fail(&where, status);
  if (kept) note("%s: checkpointed", where.path);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Running

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char detail[64];
  interrupt_check_time();
  study_warn(user);
  snprintf(detail, sizeof detail, "run %zu/%zu", done, total);
  progress_update((double)env_steps, detail);
}

// "map l2 on GridWorld-dense, seed 3: sentence"; what every run failed for concerns none of these.
static const char *describe_trouble(const mm_study_failures *f) {
  if (f->n_failed == f->n) return f->error;
  return output_format("map %s on %s, seed %" PRIu64 ": %s", f->map, f->env, f->seed, f->error);
}

// A table with holes is still a table, but the exit code says so.
static int judge(const transfer_args *args, const mm_study *study, bool *shown) {
  char hint[RUN_HINT_SIZE] = "";
  mm_study_failures f = { .size = sizeof f };
  (void)mm_study_count_failures(study, &f);
  if (backend_hint(&args->on.place, f.status)[0] != '\0')
    run_argument_hint("transfer", mm_study_folder(study), &args->on.place, f.status, hint);
  *shown = f.n_failed < f.n;
  // a setting that no run accepts is the user's mistake
  if (!*shown) return fail(exit_code_of(f.status), "%s%s", describe_trouble(&f), hint);
  if (f.n_failed > 0)
    return fail(EXIT_FAILED, "%zu of %zu runs failed; %s%s", f.n_failed, f.n, describe_trouble(&f),
                hint);
  if (f.n_numeric > 0)
    warn("%zu of %zu runs diverged and count with their last finite policy; %s", f.n_numeric, f.n,
         describe_trouble(&f));
  return EXIT_DONE;
}

static int write_out(mm_study *study) {
  const mm_status status = mm_study_write(study);
  if (status != MM_OK) return fail(EXIT_FAILED, "%s", mm_last_error());
  TRY(study_figures(mm_study_draw(study), "figures"));
  note("wrote tables and figures to %s", mm_study_folder(study));
  return EXIT_DONE;
}

// The results appear even where a file fails.
static int show(const transfer_args *args, mm_study *study) {
  int written = mm_study_folder(study) != NULL ? write_out(study) : EXIT_DONE, code = EXIT_DONE;
  if (args->settings.common.json)
    code = study_json(study);
  else
    transfer_report(study);
  return written != EXIT_DONE ? written : code;
}

static int report_stop(const transfer_args *args, mm_study *study, const study_end *end) {
  mm_study_progress now;
  mm_study_look(study, &now);
  TRY(study_stopped(end, "after %.0f of %.0f runs", now.done, now.total));
  return args->settings.common.json ? study_json(study) : EXIT_DONE;
}

// A table with holes is not done: they are filled when it is resumed.
static int finish(const transfer_args *args, mm_study *study, mm_status status) {
  const bool holes = status == MM_OK && !study_info(study).complete;
  bool shown;
  study_end end;
  study_finish(&command_transfer, study, &args->on.place, status, holes ? "failed" : NULL, &end);
  if (status == MM_ERR_INTERRUPTED) return report_stop(args, study, &end);
  if (status != MM_OK) return study_failed(&end);
  int code = judge(args, study, &shown), after = shown ? show(args, study) : EXIT_DONE;
  return code != EXIT_DONE ? code : after;
}

static mm_status work(const transfer_args *args, mm_study *study) {
  mm_study_machine machine = backend_machine(&args->on, show_progress, study);
  machine.save_seconds = args->save_seconds;
  interrupt_after(args->max_seconds);
  progress_begin("transfer", study_info(study).steps, "steps");
  mm_status status = mm_study_advance(study, &machine);
  study_warn(study);
  progress_end();
  return status;
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
static double search_steps(const plan *p, const char **of) {
  double most = 0;
  for (size_t i = 0; i < p->n_asked; i++) {
    double steps = mm_study_card_steps(mm_map_meta(p->map[i]));
    if (!(steps > most)) continue;
    most = steps;
    *of = p->map_label[i];
  }
  return most;
}

// A table without tuned rows has no budget.
static int plan_budget(const transfer_args *args, const plan *p, mm_study_config *c) {
  const char *of = NULL;
  double least;
  const bool given = options_given(&command_transfer, &args->settings.common, "tune-budget");
  TRY(status_code(mm_study_least_budget(c, &least)));
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
  c->tune_budget = search_steps(p, &of);
  if (c->tune_budget == 0) return EXIT_DONE;
  note("each tuned control has %s steps in each environment, %s the search of %s "
       "(--tune-budget or --tune-seeds change it)",
       output_si(fmax(c->tune_budget, least)), c->tune_budget < least ? "more than" : "as many as",
       output_plain(of));
  return EXIT_DONE; // it becomes the least one where it is less
}

static int begin_with(const transfer_args *args, plan *p, mm_study **out) {
  TRY(plan_envs(args, p));
  TRY(plan_maps(args, p));
  mm_study_config config = make_config(args, p);
  TRY(plan_budget(args, p, &config));
  return create(args, p, &config, out);
}

static int begin(const transfer_args *args, mm_study **out) {
  plan p = { 0 };
  TRY(check_usage(args));
  const int code = begin_with(args, &p, out);
  plan_release(&p);
  return code;
}

static int resume(const transfer_args *args, mm_study **out) {
  static const char *const fixed[] = { "maps", "envs",     "algo",       "seeds",
                                       "seed", "controls", "tune-seeds", "tune-budget",
                                       "out",  "preset",   NULL };
  TRY(run_argument_refuse(&command_transfer, &args->settings, "run", fixed));
  TRY(study_resume(args->resume, MM_STUDY_TRANSFER, out));
  for (size_t i = 0; i < study_info(*out).n_env; i++) {
    const mm_study_env_info env = study_env_info(*out, i);
    TRY(backend_check(&args->on.place, env.env, env.settings));
  }
  return EXIT_DONE;
}

static int run(void *raw) {
  transfer_args *args = raw;
  mm_study *study = NULL;
  TRY(study_begin(&args->on));
  int code = args->resume != NULL ? resume(args, &study) : begin(args, &study);
  if (code == EXIT_DONE) code = finish(args, study, work(args, study));
  mm_study_close(study);
  return code;
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
