// SPDX-License-Identifier: Apache-2.0
// `reproduce`: the paper's figures and tables, at three scales, resumable.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/backend_argument.h"
#include "cli/argument/name_list.h"
#include "cli/argument/run_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "mirrormap/reproduce.h"

typedef struct reproduce_args {
  settings_args settings;
  const char *scale, *resume, *from, *out;
  backend_args on;
  uint64_t seeds, seed;
  double max_seconds;
} reproduce_args;

static const char *const scale_names[] = { "smoke", "laptop", "paper", NULL };

#define ARGS reproduce_args
static const option reproduce_options[] = {
  OPTION(CHOICE, "scale", scale, NULL,
         "sizes: under a minute, 10 to 30 minutes on two cores, or the paper's",
         .choices = scale_names, .fallback = "laptop"),
  OPTION(COUNT, "seeds", seeds, "N", "runs for each map and environment, instead of the scale's",
         .low = 2, .high = MM_PAPER_SEEDS_MAX),
  OPTION(COUNT, "seed", seed, "S",
         "seed of the searches and of the first run; the others follow it (default 0)"),
  OPTION(TEXT, "maps-from", from, "DIR,...",
         "for transfer: reproductions of control and minatar whose learned maps to use"),
  OPTION(TEXT, "resume", resume, "DIR", "resume the reproduction in this folder"),
  RUN_MAX_SECONDS_OPTION(reproduce_args),
  OPTION(TEXT, "out", out, "DIR",
         "its folder, new or empty (default: runs/reproduce-<artefact>-<n>)"),
  BACKEND_OPTIONS(reproduce_args),
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// What it shows

static const char *iqm_text(const mm_artefact_cell *c) {
  if (isnan(c->of.iqm.iqm)) return "-";
  return output_interval(c->of.iqm.iqm, (mm_interval){ c->of.iqm.low, c->of.iqm.high }, false);
}

static const char *difference_text(const mm_artefact_cell *c, int from) {
  static const char *const name[2] = { "negentropy", "l2" };
  mm_estimate e = c->over[from].gain;
  if (strcmp(c->map, name[from]) == 0 || isnan(e.mean)) return "";
  return output_format("%s%s %3.0f %%", output_estimate(e, true),
                       mm_comparison_sign(&c->over[from]) != 0 ? " *" : "  ",
                       fmin(100 * c->over[from].wins, 100));
}

// "476.41 (-1.3 s.e.)": the paper's value and how many of our standard errors ours is above it.
static const char *paper_text(const mm_artefact_cell *c) {
  mm_estimate e = c->value[MM_QUANTITY_FINAL];
  if (isnan(c->paper)) return "";
  if (!(e.sem > 0)) return output_format("%.2f", c->paper);
  return output_format("%.2f (%+.1f s.e.)", c->paper, (e.mean - c->paper) / e.sem);
}

// ---------------------------------------------------------------------------------------------
// Blocks

static bool same_block(const mm_artefact_cell *a, const mm_artefact_cell *b) {
  return strcmp(a->env, b->env) == 0 && strcmp(a->target, b->target) == 0;
}

static mm_artefact_info info_of(const mm_artefact *r) {
  mm_artefact_info info = { .size = sizeof info };
  (void)mm_artefact_describe(r, &info);
  return info;
}

static bool has_paper(const mm_artefact *r) {
  const mm_artefact_cell *c;
  for (size_t i = 0; (c = mm_artefact_cell_at(r, i)) != NULL; i++)
    if (!isnan(c->paper)) return true;
  return false;
}

static void put_row(table *out, const mm_artefact_cell *c, bool paper) {
  int sign = mm_comparison_sign(&c->over[0]);
  table_text(out, c->map);
  table_format(out, "%zu", c->of.n);
  table_text(out, isnan(c->eta) ? "" : output_number(c->eta));
  table_text(out, output_estimate(c->value[MM_QUANTITY_FINAL], false));
  if (sign != 0 && strcmp(c->map, "negentropy") != 0) table_mark(out, sign > 0);
  table_text(out, iqm_text(c));
  table_text(out, difference_text(c, 0));
  table_text(out, difference_text(c, 1));
  if (paper) table_text(out, paper_text(c));
}

static void put_block(const mm_artefact *r, size_t first, size_t end) {
  const mm_artefact_cell *c = mm_artefact_cell_at(r, first);
  bool paper = has_paper(r);
  printf("\n%s%s%s", c->env, c->target[0] ? ", target=" : "", c->target);
  if (!isnan(c->optimal)) printf(" (mean optimum %.4g)", c->optimal);
  putchar('\n');
  table *out = table_create(
      paper
          ? "<map|runs|eta|final return|IQM [95 %]|minus negentropy, win rate|minus l2, win "
            "rate|paper (ours above it)"
          : "<map|runs|eta|final return|IQM [95 %]|minus negentropy, win rate|minus l2, win rate");
  for (size_t i = first; i < end; i++)
    put_row(out, mm_artefact_cell_at(r, i), paper);
  table_print(out);
  for (size_t i = first; i < end; i++) {
    c = mm_artefact_cell_at(r, i);
    if (c->of.unfinished > 0)
      printf("%s: %zu of %zu runs finished no episode, so there is no mean\n", c->map,
             c->of.unfinished, c->n_run);
  }
}

static void put_cells(const mm_artefact *r) {
  const size_t n = info_of(r).n_cell;
  for (size_t first = 0, end; first < n; first = end) {
    end = first + 1;
    while (end < n && same_block(mm_artefact_cell_at(r, first), mm_artefact_cell_at(r, end)))
      end++;
    put_block(r, first, end);
  }
}

// Grid-World has more to say of each run than its end.
static void put_quantities(const mm_artefact *r) {
  const mm_artefact_cell *c = mm_artefact_cell_at(r, 0);
  if (c == NULL || c->run[MM_QUANTITY_DISTANCE] == NULL) return;
  static const mm_quantity shown[] = { MM_QUANTITY_LATE, MM_QUANTITY_DROPS, MM_QUANTITY_DISTANCE,
                                       MM_QUANTITY_ERROR };
  putchar('\n');
  study_paragraph("mean value of the last 10 iterations; iterations that lose over 1 % of V* - V0; "
                  "policy distance within the first 50,000 steps (-: runs are not longer); "
                  "estimation error of all");
  table *out =
      table_create("<environment|<map|last 10 values|drops|early distance|estimation error");
  for (size_t i = 0; (c = mm_artefact_cell_at(r, i)) != NULL; i++) {
    if (c->run[MM_QUANTITY_DISTANCE] == NULL) continue;
    table_text(out, c->env);
    table_text(out, c->map);
    for (int q = 0; q < 4; q++)
      table_text(out, output_estimate(c->value[shown[q]], false));
  }
  table_print(out);
}

// ---------------------------------------------------------------------------------------------
// Claims

static const char *verdict_of(const mm_artefact *r, const char *text, const mm_claim *at) {
  const mm_claim *c;
  for (size_t i = 0; (c = mm_artefact_claim_at(r, i)) != NULL; i++) {
    if (strcmp(c->text, text) == 0 && strcmp(c->env, at->env) == 0 &&
        strcmp(c->target, at->target) == 0)
      return c->verdict > 0 ? "holds" : c->verdict < 0 ? "no" : "inconclusive";
  }
  return "";
}

static bool is_first(const mm_artefact *r, size_t i, bool column) {
  const mm_claim *c = mm_artefact_claim_at(r, i);
  for (size_t k = 0; k < i; k++) {
    const mm_claim *other = mm_artefact_claim_at(r, k);
    if (column ? strcmp(c->env, other->env) == 0 && strcmp(c->target, other->target) == 0
               : strcmp(c->text, other->text) == 0)
      return false;
  }
  return true;
}

// Without the part of an environment's name that all of its kind share.
static const char *short_name(const char *env) {
  static const char *const tail[] = { "-MinAtar", "-v1" };
  if (strncmp(env, "GridWorld-", 10) == 0) env += 10;
  size_t length = strlen(env);
  for (int i = 0; i < 2; i++) {
    const char *at = strstr(env, tail[i]);
    if (at != NULL && (size_t)(at - env) < length) length = (size_t)(at - env);
  }
  return output_format("%.*s", (int)length, env);
}

// A table per target: the claims against the environments.
static void put_claims_of(const mm_artefact *r, const char *target) {
  const size_t n_claim = info_of(r).n_claim;
  size_t *column = memory_alloc(n_claim, sizeof *column), n = 0;
  for (size_t i = 0; i < n_claim; i++)
    if (strcmp(mm_artefact_claim_at(r, i)->target, target) == 0 && is_first(r, i, true))
      column[n++] = i;
  putchar('\n');
  study_paragraph(output_format("claims%s%s: holds, no (the opposite), inconclusive (the 95 %% "
                                "interval of the paired difference includes 0, or fewer than %d "
                                "runs); a tie holds where it includes 0",
                                target[0] ? ", target=" : "", target, MM_CLAIM_RUNS));
  table *out = table_of_columns(n + 1);
  table_text(out, "<claim of the paper");
  for (size_t k = 0; k < n; k++)
    table_text(out, short_name(mm_artefact_claim_at(r, column[k])->env));
  for (size_t i = 0; i < n_claim; i++) {
    const char *text = mm_artefact_claim_at(r, i)->text;
    if (!is_first(r, i, false)) continue;
    table_text(out, text);
    for (size_t k = 0; k < n; k++) {
      const char *verdict = verdict_of(r, text, mm_artefact_claim_at(r, column[k]));
      table_text(out, verdict);
      if (verdict[0] == 'h' || verdict[0] == 'n') table_mark(out, verdict[0] == 'h');
    }
  }
  table_print(out);
  free(column);
}

static void put_claims(const mm_artefact *r) {
  const char *last = NULL;
  const mm_claim *c;
  for (size_t i = 0; (c = mm_artefact_claim_at(r, i)) != NULL; i++) {
    if (last != NULL && strcmp(last, c->target) == 0) continue;
    last = c->target;
    put_claims_of(r, last);
  }
}

// ---------------------------------------------------------------------------------------------

static void reproduce_report(const mm_artefact *r) {
  const mm_artefact_info info = info_of(r);
  char machine[MM_STUDY_MACHINE_TEXT];
  printf("%sreproduction of '%s'%s\n%s\n", terminal_style(stdout, STYLE_BOLD), info.artefact,
         terminal_style(stdout, STYLE_PLAIN), info.label);
  if (info.more[0] != '\0') puts(info.more);
  if (info.n_cell > 0)
    study_paragraph("final return: mean and standard error of the runs (IQM: interquartile mean "
                    "with bootstrap interval); paired differences (*: the 95 % bootstrap interval "
                    "excludes 0) and the win rate; runs of all maps have the same seeds");
  put_cells(r);
  put_quantities(r);
  put_claims(r);
  putchar('\n');
  for (size_t i = 0; i < info.n_note; i++)
    printf("- %s\n", output_plain(mm_artefact_note_at(r, i)));
  printf("files   %s\n", output_plain(info.folder));
  if (info.env_steps > 0)
    printf("speed   %s steps/s: %s steps in %s on %s\n",
           output_si((double)info.env_steps / info.seconds), output_si((double)info.env_steps),
           format_elapsed(info.seconds), mm_artefact_machine_text(r, machine));
  putchar('\n');
}

// ---------------------------------------------------------------------------------------------
// Beginning or resuming

enum { NAMES_MOST = 16 };

// With --backend cuda. What is wrong with the plan itself is said when it is checked.
static int check_devices(const reproduce_args *args, const mm_paper_config *config,
                         const mm_paper *r) {
  const bool asked = args->on.place.kind == MM_BACKEND_CUDA;
  return asked && mm_paper_check_devices(config, r) == MM_ERR_UNSUPPORTED ? backend_refuse()
                                                                          : EXIT_DONE;
}

static int find_artefact(const reproduce_args *args, const char **out) {
  const char *names[NAMES_MOST], *name;
  size_t n = 0;
  while (n < NAMES_MOST && (name = mm_paper_artefact_name(n)) != NULL)
    names[n++] = name;
  if (args->settings.common.positional.n == 0)
    return fail_usage("expected what to reproduce: phi, gridworld, control, minatar, transfer, "
                      "mujoco or all (or --resume DIR)");
  *out = args->settings.common.positional.value[0];
  for (size_t i = 0; i < n; i++)
    if (strcmp(*out, names[i]) == 0) return EXIT_DONE;
  return fail_usage("unknown artefact '%s'%s", *out, options_suggestion(*out, names, n, ""));
}

// --set as texts: what they mean depends on the algorithms of the artefact.
static int begin_with(const reproduce_args *args, name_list *set, name_list *from, mm_paper **out) {
  char stem[64];
  run_folder where;
  mm_paper_config config = mm_paper_config_default();
  TRY(find_artefact(args, &config.artefact));
  if (args->from != NULL) TRY(name_list_read("maps-from", args->from, from));
  settings_texts(&args->settings, set);
  config.scale = args->scale;
  config.argv = command_argv;
  config.seed = args->seed;
  config.seeds = (size_t)args->seeds;
  config.set = (const char *const *)set->name, config.n_set = set->n;
  config.from = (const char *const *)from->name, config.n_from = from->n;
  TRY(check_devices(args, &config, NULL));
  snprintf(stem, sizeof stem, "reproduce-%s", config.artefact);
  mm_status status = run_argument_folder(args->out, stem, &where);
  if (status == MM_OK) status = mm_paper_create(where.path, &config, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&where, status);
}

static int begin(const reproduce_args *args, mm_paper **out) {
  name_list set = { 0 }, from = { 0 };
  const int code = begin_with(args, &set, &from, out);
  name_list_release(&set);
  name_list_release(&from);
  return code;
}

static int resume(const reproduce_args *args, mm_paper **out) {
  static const char *const fixed[] = { "scale", "seeds", "seed", "maps-from", "out", NULL };
  TRY(run_argument_refuse(&command_reproduce, &args->settings, "reproduction", fixed));
  if (args->settings.common.positional.n > 0)
    return fail_usage("unexpected argument '%s': the folder says what is reproduced",
                      args->settings.common.positional.value[0]);
  TRY(status_code(mm_paper_open(args->resume, out)));
  return check_devices(args, NULL, *out);
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

static void add_part(cJSON *parts, const mm_artefact *result) {
  char *text;
  if (mm_artefact_format(result, &text) != MM_OK) return;
  cJSON_AddItemToArray(parts, cJSON_CreateRaw(text));
  mm_study_text_free(text);
}

static void show_result(const mm_artefact *result, void *user) {
  display *d = user;
  end_bar(d);
  if (d->parts != NULL)
    add_part(d->parts, result);
  else
    reproduce_report(result);
}

static int show_json(const mm_paper *r, cJSON *parts) {
  if (strcmp(mm_paper_artefact(r), "all") != 0) {
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
  cJSON_AddStringToObject(root, "artefact", mm_paper_artefact(r));
  cJSON_AddStringToObject(root, "scale", mm_paper_scale(r));
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
  mm_paper_end(r, status == MM_OK && failed > 0 ? "failed" : interrupt_outcome(status));
  if (status == MM_OK) {
    int code = d->parts != NULL ? show_json(r, d->parts) : EXIT_DONE;
    if (failed == 0) return code;
    return fail(EXIT_FAILED,
                "%zu run%s failed and %s left out; %s; resume with 'reproduce --resume %s'", failed,
                failed == 1 ? "" : "s", failed == 1 ? "is" : "are", why, folder);
  }
  if (timed_out) {
    note("stopped; resume with 'reproduce --resume %s'", folder);
    return d->parts != NULL ? show_stopped(r, d->parts) : EXIT_DONE;
  }
  cJSON_Delete(d->parts);
  if (interrupted)
    return fail(INTERRUPT_EXIT, "interrupted; resume with 'reproduce --resume %s'", folder);
  return fail(exit_code_of(status),
              "%s; what is done is safe: resume with 'reproduce --resume %s%s'", error, folder,
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
  mm_paper_job job = { .size = sizeof job,
                       .place = args->on.place,
                       .threads = (int)args->on.threads,
                       .job_timeout = args->on.job_timeout,
                       .stop = interrupt_watch(),
                       .progress = show_progress,
                       .warn = show_warning,
                       .finished = show_result,
                       .user = &d,
                       .argv = command_argv };
  note("%s: %s at %s scale, checkpointed", mm_paper_folder(r), mm_paper_artefact(r),
       mm_paper_scale(r));
  interrupt_after(args->max_seconds);
  mm_status status = mm_paper_run(r, &job);
  end_bar(&d);
  code = finish(args, r, status, &d);
  mm_paper_close(r);
  return code;
}

const command command_reproduce = {
  .name = "reproduce",
  .summary = "reproduce a figure or table of the paper",
  .positional = "ARTEFACT",
  .word = mm_paper_artefact_name,
  .about =
      "ARTEFACT is phi (the parametrisation), gridworld (tabular PMD), control (AMPO on Acrobot "
      "and CartPole), minatar (Asterix, Freeway, SpaceInvaders), transfer (the table), mujoco "
      "(Gaussian policies on Hopper, HalfCheetah and Ant), or all.\n\nSearches the maps, trains "
      "with them, with the baselines and with the controls, and writes tables (table.csv, raw.csv, "
      "aggregate.csv, summary.json) and figures (SVG, PDF, PNG) to a folder, our numbers next to "
      "the paper's; AMPO for both regression targets. The searches and tables in it are runs like "
      "those of `learn` and `transfer`. What is smaller than in the paper says so. --set changes a "
      "setting of all searches and training runs: --set target=code leaves the other target out, "
      "--physics mujoco simulates the locomotion tasks with the MuJoCo library. It can be stopped "
      "at any moment and resumes bit-identically with --resume.",
  .examples =
      "mirrormap reproduce gridworld --scale smoke\nmirrormap reproduce control --scale "
      "laptop\nmirrormap reproduce mujoco --physics mujoco --scale smoke\nmirrormap reproduce "
      "transfer --maps-from runs/reproduce-control-1,runs/reproduce-minatar-1\nmirrormap reproduce "
      "--resume runs/reproduce-gridworld-1",
  .options = reproduce_options,
  .settings = search_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .max_positional = 1,
  .args_size = sizeof(reproduce_args),
  .run = run,
};
