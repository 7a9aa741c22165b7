// SPDX-License-Identifier: Apache-2.0
// `theory`: Theorem 1's bounds against measurements of tabular PMD.

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/argument/map_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "env/grid/grid_task.h"
#include "show/figure/theory_figure.h"
#include "show/plot/gnuplot.h"

typedef struct theory_args {
  settings_args settings;
  const char *env, *out;
  option_texts maps;
  uint64_t seed, every;
} theory_args;

#define ARGS theory_args
static const option options[] = {
  OPTION(TEXT, "env", env, "ID|FILE", "a Grid-World, or a task file", .required = true),
  OPTION(TEXTS, "map", maps, "MAP", "the mirror map; repeat it to compare several on the same task",
         .required = true),
  OPTION(COUNT, "seed", seed, "S", "random seed of the environment's instance and of the run",
         .fallback = "0"),
  OPTION(COUNT, "every", every, "K",
         "show every K-th iteration (default: about 16 lines); --json has all", .low = 1,
         .high = 1e12),
  OPTION(TEXT, "out", out, "FILE",
         "draw value, estimation error and update distance; .svg, .pdf or .png chooses the format, "
         "an old picture is replaced"),
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Tables of iterations, what they say about Theorem 1 in words, and all of it as JSON

typedef struct theory_runs {
  size_t n;
  mm_theory *run;     // [n]
  const char **label; // [n] short names of their maps
  const char *task;   // what they have in common
  const mm_pmd_config *pmd;
  size_t every; // iterations between two lines of a table
} theory_runs;

// Environment steps of an iteration.
static double steps_of(const mm_pmd_config *pmd) {
  return pmd->envs * pmd->unroll;
}

// ---------------------------------------------------------------------------------------------
// Iterations

typedef struct column {
  const char *json;
  size_t offset;    // of the number in mm_theory_step
  const char *name; // NULL: not in the table
  const char *sign; // printf's flag
} column;

#define FIELD(field) #field, offsetof(mm_theory_step, field)
static const column columns[] = {
  { FIELD(value), "value", "" },        { FIELD(value_change), "change", "+" },
  { FIELD(estimation_error), "E", "" }, { FIELD(estimation_error_sampled), "E sampled", "" },
  { FIELD(update_distance), "U", "" },  { FIELD(monotone_bound), "bound", "" },
  { FIELD(advantage_std), NULL, "" },
};
#undef FIELD
enum { FIELDS = sizeof columns / sizeof *columns, COLUMNS = FIELDS - 1 };

// A number of mm_theory_step or mm_theory by its place.
static double number_at(const void *of, size_t offset) {
  return *(const double *)(const void *)((const char *)of + offset);
}

static bool is_violated(const mm_theory_step *step) {
  return step->value_change < step->monotone_bound;
}

// Digits behind the point that give the column's largest number five in all.
static int decimals(const mm_theory *run, const column *c) {
  double largest = 0;
  for (size_t t = 0; t < run->n_step; t++)
    largest = fmax(largest, fabs(number_at(run->step + t, c->offset)));
  if (!(largest > 1e-9 && largest < 1e12)) return 4; // nothing but rounding, or no room
  int whole = (int)floor(log10(largest));
  return whole > 4 ? 0 : whole < -4 ? 8 : 4 - whole;
}

static void put_cell(table *t, const char *sign, int digits, double number) {
  if (fabs(number) < 0.5 * pow(10, -digits)) number = 0; // no "-0.0000"
  if (sign[0] == '+')
    table_format(t, fabs(number) < 1e12 ? "%+.*f" : "%+.*g", digits, number);
  else
    table_format(t, fabs(number) < 1e12 ? "%.*f" : "%.*g", digits, number);
}

static void put_counts(table *t, size_t iteration, double steps) {
  table_format(t, "%zu", iteration);
  table_format(t, "%.0f", steps);
}

// Violations are marked in a column of their own where there are any.
static void put_iterations(const theory_runs *runs, const mm_theory *run) {
  int digits[COLUMNS];
  double steps = steps_of(runs->pmd);
  size_t marks = run->violations > 0;
  table *t = table_of_columns(2 + COLUMNS + marks);
  table_text(t, "t");
  table_text(t, "steps");
  for (size_t i = 0; i < COLUMNS; i++) {
    table_text(t, columns[i].name);
    digits[i] = decimals(run, &columns[i]);
  }
  if (marks > 0) table_text(t, "<");
  for (size_t k = 0; k < run->n_step; k += runs->every) {
    const mm_theory_step *step = run->step + k;
    put_counts(t, k, (double)k * steps);
    for (size_t i = 0; i < COLUMNS; i++)
      put_cell(t, columns[i].sign, digits[i], number_at(step, columns[i].offset));
    if (marks == 0) continue;
    table_text(t, is_violated(step) ? "violated" : "");
    table_mark(t, !is_violated(step));
  }
  // the policy that the last iteration left
  put_counts(t, run->n_step, (double)run->n_step * steps);
  put_cell(t, columns[0].sign, digits[0], run->final_value);
  for (size_t i = 1; i < COLUMNS + marks; i++)
    table_text(t, "");
  table_print(t);
}

// ---------------------------------------------------------------------------------------------
// Summary: a line per quantity, a column per map

static double mean_of(const mm_theory *run, size_t offset) {
  double sum = 0;
  for (size_t t = 0; t < run->n_step; t++)
    sum += number_at(run->step + t, offset);
  return sum / (double)run->n_step;
}

static double mean_error(const mm_theory *run) {
  return mean_of(run, offsetof(mm_theory_step, estimation_error));
}

static double mean_distance(const mm_theory *run) {
  return mean_of(run, offsetof(mm_theory_step, update_distance));
}

static double final_share(const mm_theory *run) {
  return run->v_star > 0 ? 100 * run->final_value / run->v_star : NAN;
}

// Iterations that lost value, and what they lost.
static double dips(const mm_theory *run) {
  size_t n = 0;
  for (size_t t = 0; t < run->n_step; t++)
    n += run->step[t].value_change < 0;
  return (double)n;
}

static double dips_total(const mm_theory *run) {
  double total = 0;
  for (size_t t = 0; t < run->n_step; t++)
    if (run->step[t].value_change < 0) total -= run->step[t].value_change;
  return total;
}

static double violations(const mm_theory *run) {
  return (double)run->violations;
}

typedef struct line {
  const char *name, *json;
  double (*compute)(const mm_theory *run); // or
  size_t offset;                           // of the number in mm_theory
} line;

#define FIELD(field) #field, NULL, offsetof(mm_theory, field)

static const line lines[] = {
  { "optimal value V*", FIELD(v_star) },
  { "final value", FIELD(final_value) },
  { "  in % of V*", NULL, final_share, 0 },
  { "mean E", NULL, mean_error, 0 },
  { "mean U", NULL, mean_distance, 0 },
  { "dips", "dips", dips, 0 },
  { "  lost in them", "dips_total", dips_total, 0 },
  { "violations", "violations", violations, 0 },
  { "average gap", FIELD(average_gap) },
  { "convergence bound", FIELD(convergence_bound) },
  { "  rate term", FIELD(rate_term) },
  { "  floor term", FIELD(floor_term) },
  { "  divergence D", FIELD(optimal_divergence) },
  { "bound, reward range", FIELD(bound_with_range) },
  { "  reward range", FIELD(reward_range) },
  { "bound, step taken", FIELD(bound_with_effective_eta) },
  { "  effective eta", FIELD(effective_eta) },
};
enum { LINES = sizeof lines / sizeof *lines };
#undef FIELD

static double number_of(const mm_theory *run, const line *l) {
  return l->compute != NULL ? l->compute(run) : number_at(run, l->offset);
}

static void put_summary(const theory_runs *runs) {
  table *t = table_of_columns(runs->n + 1);
  table_text(t, "<");
  for (size_t i = 0; i < runs->n; i++)
    table_text(t, runs->label[i]);
  for (size_t k = 0; k < LINES; k++) {
    table_text(t, lines[k].name);
    for (size_t i = 0; i < runs->n; i++) {
      double number = number_of(&runs->run[i], &lines[k]);
      table_defined(t, number);
      if (lines[k].compute == violations && number > 0) table_mark(t, false);
    }
  }
  table_print(t);
}

// ---------------------------------------------------------------------------------------------
// What the numbers mean

enum { INDENT = 21 };

static void explain(const char *name, const char *format, ...) MM_CHECK_FORMAT(2, 3);

static void explain(const char *name, const char *format, ...) {
  char text[800];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  int width = terminal_width(stdout);
  help_wrapped(text, INDENT, printf("%-*s", INDENT, name),
               width < 60    ? 60
               : width > 100 ? 100
                             : width);
}

// "l2 at t = 3, 17, 20, ...".
static const char *list_violations(const char *label, const mm_theory *run, char *out,
                                   size_t size) {
  size_t used = (size_t)snprintf(out, size, "%s at", label), listed = 0;
  for (size_t t = 0; t < run->n_step && used < size; t++) {
    if (!is_violated(run->step + t)) continue;
    if (listed == 8) {
      snprintf(out + used, size - used, ", ...");
      break;
    }
    const char *joint = listed++ == 0 ? " t = " : ", ";
    used += (size_t)snprintf(out + used, size - used, "%s%zu", joint, t);
  }
  return out;
}

static void explain_violations(const theory_runs *runs) {
  size_t broken = 0;
  for (size_t i = 0; i < runs->n; i++)
    broken += runs->run[i].violations > 0;
  if (broken == 0)
    explain("violations",
            "None: no change fell below -E U / (1 - gamma). That bound is loose: on average it "
            "lets an iteration%s%s lose %.3g.",
            runs->n > 1 ? " with " : "", runs->n > 1 ? runs->label[0] : "",
            fabs(mean_of(&runs->run[0], offsetof(mm_theory_step, monotone_bound))));
  for (size_t i = 0; i < runs->n; i++) {
    char list[200];
    if (runs->run[i].violations == 0) continue;
    explain("violations",
            "%s: the change fell below -E U / (1 - gamma). Possible, because the theorem wants "
            "every state's update solved exactly and %g gradient steps do not do that.",
            list_violations(runs->label[i], &runs->run[i], list, sizeof list), runs->pmd->epochs);
  }
}

static double largest_error(const mm_theory *run) {
  double largest = 0;
  for (size_t t = 0; t < run->n_step; t++)
    largest = fmax(largest, run->step[t].estimation_error);
  return largest;
}

// No gap can be larger than that of the best reward for ever from the worst.
static void explain_bound(const theory_runs *runs) {
  const mm_theory *first = &runs->run[0];
  double gamma = runs->pmd->gamma, most = first->reward_range / (1 - gamma), error = INFINITY;
  size_t vacuous = 0;
  for (size_t i = 0; i < runs->n; i++) {
    vacuous += runs->run[i].convergence_bound >= most;
    error = fmin(error, largest_error(&runs->run[i]));
  }
  if (vacuous == runs->n)
    explain("convergence bound",
            "Vacuous: it allows the average gap to be that large, but no gap can exceed the reward "
            "range over 1 - gamma, %.4g. At gamma = %g it could say something only if E were "
            "always below %.2g; it reached about %.3g%s.",
            most, gamma, first->reward_range * (1 - gamma) / 4, error,
            runs->n > 1 ? " or more with each map" : "");
  else
    explain("convergence bound",
            "What the theorem allows for the average gap, as far as it is below the reward range "
            "over 1 - gamma, %.4g, which no gap can exceed%s.",
            most, vacuous > 0 ? ": that is not so with every map" : "");
}

static void put_notes(const theory_runs *runs) {
  const mm_pmd_config *pmd = runs->pmd;
  explain("dips", "Iterations that lost value.");
  explain_violations(runs);
  explain("average gap", "V* less the mean value of all iterations.");
  explain_bound(runs);
  explain("rate term", "[D / (eta (1 - gamma)) + 1 / (1 - gamma)^2] / T: falls with more "
                       "iterations. D, the divergence from the first policy to the optimal one "
                       "where the latter goes, is all that the bound knows of the map.");
  explain("floor term", "4 max E / (1 - gamma)^2: stays, however long the run.");
  explain("reward range",
          "The theorem assumes rewards in [0, 1]; here they span %.4g, which multiplies its 1 / (1 "
          "- gamma)^2.",
          runs->run[0].reward_range);
  if (pmd->normalise_advantage)
    explain("step taken",
            "Normalised advantages make the step eta / std, so the theorem's eta is not the run's "
            "%g but the effective one.",
            pmd->eta);
  else
    explain("step taken", "Advantages are not normalised: the theorem's eta is the run's %g.",
            pmd->eta);
}

static void put_text(const theory_runs *runs) {
  const mm_pmd_config *pmd = runs->pmd;
  printf("%s: %zu iterations of %.0f steps, gamma = %g, eta = %g, %s\n", output_plain(runs->task),
         runs->run[0].n_step, steps_of(pmd), pmd->gamma, pmd->eta,
         pmd->restart ? "restart" : "absorb");
  for (size_t i = 0; i < runs->n; i++) {
    printf("\n%s%s%s\n", terminal_style(stdout, STYLE_BOLD), output_plain(runs->label[i]),
           terminal_style(stdout, STYLE_PLAIN));
    put_iterations(runs, &runs->run[i]);
  }
  fputc('\n', stdout);
  put_summary(runs);
  fputc('\n', stdout);
  put_notes(runs);
}

// ---------------------------------------------------------------------------------------------
// JSON

static void add_iterations(cJSON *object, const mm_theory *run, double steps) {
  cJSON *array = cJSON_AddArrayToObject(object, "iterations");
  for (size_t t = 0; t < run->n_step; t++) {
    cJSON *entry = cJSON_CreateObject();
    output_add_number(entry, "t", (double)t);
    output_add_number(entry, "step", (double)t * steps);
    for (size_t i = 0; i < FIELDS; i++)
      output_add_number(entry, columns[i].json, number_at(run->step + t, columns[i].offset));
    cJSON_AddItemToArray(array, entry);
  }
}

static void add_run(cJSON *object, const char *map, const mm_theory *run, double steps) {
  static const char *const order[] = { "v_star",
                                       "final_value",
                                       "average_gap",
                                       "convergence_bound",
                                       "rate_term",
                                       "floor_term",
                                       "optimal_divergence",
                                       "reward_range",
                                       "bound_with_range",
                                       "effective_eta",
                                       "bound_with_effective_eta",
                                       "violations",
                                       "dips",
                                       "dips_total" };
  cJSON_AddStringToObject(object, "map", map);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    for (size_t k = 0; k < LINES; k++)
      if (lines[k].json != NULL && strcmp(lines[k].json, order[i]) == 0)
        output_add_number(object, order[i], number_of(run, &lines[k]));
  add_iterations(object, run, steps);
}

// ---------------------------------------------------------------------------------------------
// JSON

// The first map's fields stand at the top; all maps' in `maps` where there are several.
static int put_json(const theory_args *args, const mm_settings *settings, const theory_runs *runs) {
  cJSON *root = cJSON_CreateObject();
  double steps = steps_of(runs->pmd);
  cJSON_AddStringToObject(root, "env", args->env);
  mm_json_add_whole(root, "seed", args->seed);
  add_run(root, args->maps.value[0], &runs->run[0], steps);
  cJSON *maps = runs->n > 1 ? cJSON_AddArrayToObject(root, "maps") : NULL;
  for (size_t i = 0; i < runs->n && maps != NULL; i++) {
    cJSON *object = cJSON_CreateObject();
    add_run(object, args->maps.value[i], &runs->run[i], steps);
    cJSON_AddItemToArray(maps, object);
  }
  cJSON_AddItemToObject(root, "settings", settings_json(settings));
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------
// Running

typedef struct position {
  const theory_runs *runs;
  size_t which; // run in hand
  size_t done;  // iterations of it
} position;

static void show_progress(size_t done, size_t total, void *user) {
  position *p = user;
  p->done = done;
  progress_update((double)(p->which * total + done), p->runs->label[p->which]);
}

static int report_failure(mm_status status, const position *p) {
  const char *label = p->runs->label[p->which];
  if (status == MM_ERR_INTERRUPTED)
    return fail(INTERRUPT_EXIT, "interrupted after %zu iterations with map %s", p->done, label);
  int code = exit_code_of(status);
  return fail(code, "map %s: %s", label, mm_last_error());
}

static int run_all(const theory_args *args, const mm_env *env, const map_list *maps,
                   theory_runs *runs) {
  const volatile int *stop = interrupt_watch();
  position p = { .runs = runs };
  mm_status status = MM_OK;
  double total = runs->pmd->steps / steps_of(runs->pmd);
  progress_begin("theory", (double)maps->n * (double)(uint64_t)total, "iterations");
  for (; p.which < maps->n && status == MM_OK; p.which += status == MM_OK) {
    mm_job job = { .env = env,
                   .map = maps->map[p.which],
                   .algo = MM_ALGO_PMD,
                   .config = runs->pmd,
                   .seed = args->seed };
    p.done = 0;
    status = mm_theory_run(&job, stop, show_progress, &p, &runs->run[p.which]);
  }
  progress_end();
  for (size_t i = 0; i < p.which; i++)
    if (runs->run[i].broke_down)
      warn("map %zu of %zu: a logit is not finite after iteration %zu; the iterations before it "
           "count",
           i + 1, maps->n, runs->run[i].n_step);
  return status == MM_OK ? EXIT_DONE : report_failure(status, &p);
}

// ---------------------------------------------------------------------------------------------
// Names and files

// "GridWorld-dense, seed 3"; a task file by its name.
static char *task_name(const char *env, uint64_t seed) {
  const char *slash = strrchr(env, '/');
  const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : env;
  size_t size = strlen(name) + 40;
  char *out = memory_alloc(size, 1);
  snprintf(out, size, "%s, seed %" PRIu64, name, seed);
  return out;
}

// What is wrong with the picture is known before the work is done.
static int check_picture(const theory_args *args) {
  mm_figure *figure;
  if (args->out == NULL) return EXIT_DONE;
  TRY(map_check_out(args->out, true));
  if (args->maps.n > MM_FIGURE_LINES)
    return fail_usage("option '--out': a picture shows at most %d maps, not %zu", MM_FIGURE_LINES,
                      args->maps.n);
  mm_status status = mm_figure_create(args->out, 100, 100, &figure);
  if (status == MM_ERR_INPUT) return fail_usage("option '--out': %s", mm_last_error());
  TRY(status_code(status));
  mm_figure_destroy(figure);
  return EXIT_DONE;
}

static int draw(const char *path, const theory_runs *runs) {
  mm_status status = mm_theory_figure_write(runs->run, runs->label, runs->n, runs->task,
                                            steps_of(runs->pmd), path);
  if (status == MM_ERR_INTERRUPTED) return fail(INTERRUPT_EXIT, "%s", mm_last_error());
  TRY(status_code(status));
  note("wrote %s", path);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------

// The results appear even where the picture fails.
static int show(const theory_args *args, const mm_settings *settings, const theory_runs *runs) {
  int drawn = args->out != NULL ? draw(args->out, runs) : EXIT_DONE, code = EXIT_DONE;
  if (args->settings.common.json)
    code = put_json(args, settings, runs);
  else
    put_text(runs);
  return drawn != EXIT_DONE ? drawn : code;
}

static int run_and_show(const theory_args *args, const mm_env *env, const map_list *maps,
                        const mm_settings *settings) {
  theory_runs runs = { .n = maps->n, .pmd = mm_settings_config(settings) };
  char(*label)[MAP_LABEL_SIZE] = memory_alloc(maps->n, sizeof *label);
  char *task = task_name(args->env, args->seed);
  runs.run = memory_alloc(maps->n, sizeof *runs.run);
  runs.label = memory_alloc(maps->n, sizeof *runs.label);
  runs.task = task;
  for (size_t i = 0; i < maps->n; i++)
    runs.label[i] = map_label(maps->name[i], label[i]);
  int code = run_all(args, env, maps, &runs);
  size_t length = runs.run[0].n_step;
  runs.every = args->every > 0 ? (size_t)args->every : (length + 15) / 16;
  if (code == EXIT_DONE) code = show(args, settings, &runs);
  for (size_t i = 0; i < maps->n; i++)
    mm_theory_release(&runs.run[i]);
  free(runs.run);
  free(runs.label);
  free(label);
  free(task);
  return code;
}

static int run(void *raw) {
  const theory_args *args = raw;
  mm_env *env = NULL;
  mm_settings *settings;
  map_list maps = { 0 };
  TRY(status_code(mm_settings_create(MM_ALGO_PMD, &settings)));
  int code = check_picture(args);
  if (code == EXIT_DONE)
    code = settings_resolve(&args->settings, MM_ALGO_PMD, "gridworld", settings);
  if (code == EXIT_DONE) code = status_code(mm_env_open(args->env, &env));
  if (code == EXIT_DONE && !mm_env_is_grid(env))
    code = fail_usage("'%s' is not a Grid-World: only these have exact values", args->env);
  if (code == EXIT_DONE) code = map_list_open(&args->maps, &maps);
  if (code == EXIT_DONE) code = run_and_show(args, env, &maps, settings);
  map_list_release(&maps);
  mm_env_destroy(env);
  mm_settings_destroy(settings);
  return code;
}

const command command_theory = {
  .name = "theory",
  .summary = "exact values and both bounds of Theorem 1, per iteration",
  .about =
      "Trains tabular PMD on one task and solves it exactly at every iteration t. Columns: the "
      "value V^t from the start state and its change; E, the largest error of a Q estimate over "
      "all reachable states and actions, and over the sampled ones only; U, the largest change of "
      "a state's policy, summed over actions; the bound -E U / (1 - gamma) above which Theorem 1 "
      "promises the change to lie. Then the convergence bound against the measured average gap.",
  .examples = "mirrormap theory --env GridWorld-dense --map negentropy --map l2 --out "
              "theory.svg\nmirrormap theory --env task.yaml --map l2 --set termination=restart "
              "--every 1 --json",
  .options = options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(theory_args),
  .run = run,
};
