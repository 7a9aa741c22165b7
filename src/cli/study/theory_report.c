// Tables of iterations, what they say about Theorem 1 in words, and all of it as JSON.

#include "cli/study/theory_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

double theory_steps(const mm_pmd_config *pmd) {
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
  double steps = theory_steps(runs->pmd);
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

// Words of `text` in lines that begin at INDENT, where the cursor stands.
static void put_words(const char *text) {
  int width = terminal_width(stdout), used = INDENT;
  width = width < 60 ? 60 : width > 100 ? 100 : width;
  while (*text != '\0') {
    int length = (int)strcspn(text, " ");
    if (used > INDENT && used + 1 + length > width) {
      printf("\n%*s", INDENT, "");
      used = INDENT;
    }
    used += printf("%s%.*s", used > INDENT ? " " : "", length, text);
    text += length + (text[length] == ' ');
  }
  fputc('\n', stdout);
}

static void explain(const char *name, const char *format, ...) MM_CHECK_FORMAT(2, 3);

static void explain(const char *name, const char *format, ...) {
  char text[800];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printf("%-*s", INDENT, name);
  put_words(text);
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
          "The theorem assumes rewards in [0, 1]; here they span %.4g, which "
          "multiplies its 1 / (1 - gamma)^2.",
          runs->run[0].reward_range);
  if (pmd->normalise_advantage)
    explain("step taken",
            "Normalised advantages make the step eta / std, so the theorem's eta is "
            "not the run's %g but the effective one.",
            pmd->eta);
  else
    explain("step taken", "Advantages are not normalised: the theorem's eta is the run's %g.",
            pmd->eta);
}

void theory_report(const theory_runs *runs) {
  const mm_pmd_config *pmd = runs->pmd;
  printf("%s: %zu iterations of %.0f steps, gamma = %g, eta = %g, %s\n", output_plain(runs->task),
         runs->run[0].n_step, theory_steps(pmd), pmd->gamma, pmd->eta,
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

void theory_json(cJSON *object, const char *map, const mm_theory *run, double steps) {
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
