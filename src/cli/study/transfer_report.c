// Tables of means and of paired differences: a row per map, a column per environment, in blocks of
// as many columns as the terminal is wide.

#include "cli/study/transfer_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "study/jobs/eta_tuning.h"

enum { BETWEEN = 2 };

// What a table shows: final values, or differences from a baseline.
typedef struct view {
  const mm_transfer *t;
  bool differences;
  mm_baseline baseline;
} view;

// ---------------------------------------------------------------------------------------------
// Cells

static mm_estimate number_of(const view *v, size_t map, size_t env) {
  const mm_transfer_cell *cell = mm_transfer_at(v->t, map, env);
  return v->differences ? cell->over[v->baseline].gain : cell->of.mean;
}

// Digits behind the point that give the column's standard errors two or a few more, or its largest
// number four in all where there are none.
static int decimals(const view *v, size_t env) {
  double smallest = INFINITY, widest = 0, largest = 0;
  for (size_t m = 0; m < v->t->config.n_map; m++) {
    mm_estimate e = number_of(v, m, env);
    if (e.sem > 0) smallest = fmin(smallest, e.sem);
    if (e.sem > 0) widest = fmax(widest, e.sem);
    if (isfinite(e.mean)) largest = fmax(largest, fabs(e.mean));
  }
  if (!(largest > 0)) return 2;
  double step = fmax(smallest, widest / 20); // one outlier must not make all numbers long
  double exact = widest > 0 ? 1 - floor(log10(step)) : 3 - floor(log10(largest));
  // not more than seven digits in all
  exact = fmin(exact, 6 - floor(log10(largest)));
  return exact < 0 ? 0 : exact > 8 ? 8 : (int)exact;
}

static const char *cell_text(const view *v, size_t map, size_t env) {
  mm_estimate e = number_of(v, map, env);
  const mm_transfer_cell *cell = mm_transfer_at(v->t, map, env);
  const mm_comparison *over = &cell->over[v->baseline];
  int digits = decimals(v, env);
  if (v->differences && v->t->baseline[v->baseline] == map) return "";
  if (isnan(e.mean) && isnan(over->wins) && cell->of.unfinished == 0) return "failed";
  if (fabs(e.mean) < 0.5 * pow(10, -digits)) e.mean = 0; // no "-0.00"
  const char *text = study_estimate(e, digits, v->differences);
  if (!v->differences) return cell->n_failed > 0 ? output_format("%s !", text) : text;
  // a mark of its own width, so that the numbers stay below each other
  return output_format("%s%s %3.0f %%", text, mm_transfer_verdict(cell, v->baseline) ? " *" : "  ",
                       100 * over->wins);
}

// ---------------------------------------------------------------------------------------------
// Blocks of columns

static int widest(int width, const char *text) {
  int own = output_width(text);
  return own > width ? own : width;
}

static int label_width(const mm_transfer *t) {
  int width = 0;
  for (size_t m = 0; m < t->config.n_map; m++)
    width = widest(width, t->config.map[m].label);
  return width;
}

static int column_width(const view *v, size_t env) {
  int width = output_width(v->t->config.env[env].label);
  for (size_t m = 0; m < v->t->config.n_map; m++)
    width = widest(width, cell_text(v, m, env));
  return width;
}

// The first column that does not fit beside those from `first` on; at least one does.
static size_t block_end(const view *v, size_t first) {
  int limit = terminal_width(stdout), used = label_width(v->t);
  size_t env = first;
  while (env < v->t->config.n_env) {
    used += BETWEEN + column_width(v, env);
    if (used > limit && env > first) break;
    env++;
  }
  return env;
}

// The mean of V* over the instances, where it is known.
static void put_optimum(const view *v, size_t first, size_t end, table *out) {
  bool known = false;
  for (size_t e = first; e < end; e++)
    known = known || isfinite(v->t->optimal_mean[e]);
  if (!known) return;
  table_text(out, "(optimum)");
  for (size_t e = first; e < end; e++) {
    double optimum = v->t->optimal_mean[e];
    if (isfinite(optimum))
      table_format(out, "%.*f", decimals(v, e), optimum);
    else
      table_text(out, "-");
  }
}

static void put_block(const view *v, size_t first, size_t end) {
  const mm_transfer_config *c = &v->t->config;
  table *out = table_of_columns(end - first + 1);
  table_text(out, "<map");
  for (size_t e = first; e < end; e++)
    table_text(out, c->env[e].label);
  for (size_t m = 0; m < c->n_map; m++) {
    if (v->differences && m == v->t->baseline[v->baseline]) continue;
    table_text(out, c->map[m].label);
    for (size_t e = first; e < end; e++) {
      table_text(out, cell_text(v, m, e));
      int verdict = mm_transfer_verdict(mm_transfer_at(v->t, m, e), v->baseline);
      if (verdict != 0) table_mark(out, verdict > 0);
    }
  }
  if (!v->differences) put_optimum(v, first, end, out);
  table_print(out);
}

static void put_table(const view *v) {
  size_t first = 0;
  while (first < v->t->config.n_env) {
    size_t end = block_end(v, first);
    if (first > 0) fputc('\n', stdout);
    put_block(v, first, end);
    first = end;
  }
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
  puts(", seed by seed (*: 95 % t interval excludes 0), and seeds won");
  put_table(&v);
}

// A line for each cell that has no mean because runs finished no episode.
static void put_unfinished(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  for (size_t i = 0; i < c->n_map * c->n_env; i++) {
    if (t->cell[i].of.unfinished == 0) continue;
    put_name("", c->map[i / c->n_env].label);
    put_name(" on ", c->env[i % c->n_env].label);
    printf(": %zu of %zu runs finished no episode, so there is no mean\n", t->cell[i].of.unfinished,
           c->n_seed);
  }
}

// The step sizes that tuning chose, one line a row.
static void put_tuned(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  for (size_t m = 0; m < c->n_map; m++) {
    if (!c->map[m].tuned) continue;
    put_name("", c->map[m].label);
    putchar(':');
    for (size_t e = 0; e < c->n_env; e++) {
      put_name(e > 0 ? ", " : " ", c->env[e].label);
      printf(" %g", mm_transfer_at(t, m, e)->eta);
    }
    putchar('\n');
  }
  if (t->tune_steps > 0)
    printf("tuning took %.3g million steps (%zu runs for each of %d values, seeds of their own)\n",
           1e-6 * (double)t->tune_steps, c->n_tune, MM_ETAS);
}

void transfer_report(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  view finals = { .t = t, .baseline = MM_BASELINE_NEGENTROPY };
  const char *plural = c->n_seed == 1 ? "" : "s";
  printf("final value: mean%s of %zu run%s%s\n",
         c->n_seed == 1       ? ""
         : terminal_unicode() ? " \u00b1 standard error"
                              : " +- standard error",
         c->n_seed, plural, c->n_seed == 1 ? "" : " with the same seeds for each map");
  if (t->baseline[MM_BASELINE_NEGENTROPY] < c->n_map && terminal_style(stdout, STYLE_GOOD)[0])
    printf("%sgreen%s, %sred%s: above, below negentropy (the 95 %% interval of the difference "
           "excludes 0)\n",
           terminal_style(stdout, STYLE_GOOD), terminal_style(stdout, STYLE_PLAIN),
           terminal_style(stdout, STYLE_BAD), terminal_style(stdout, STYLE_PLAIN));
  put_table(&finals);
  if (t->report.n_failed > 0) puts("!: runs failed there; the others count");
  put_unfinished(t);
  for (int b = 0; b < MM_BASELINES; b++)
    put_differences(t, (mm_baseline)b);
  put_tuned(t);
  size_t n = c->n_map * c->n_env * c->n_seed;
  if (t->all_found) {
    puts("\nall runs were done before");
    return;
  }
  char machine[MM_MACHINE_TEXT];
  printf("\nspeed  %.3g million steps/s: %s%zu runs in %.3g s on %s\n", 1e-6 * mm_transfer_speed(t),
         t->own_steps < t->env_steps + t->tune_steps ? "the rest of " : "", n, t->wall_seconds,
         mm_machine_text(&t->machine, machine));
}
