// SPDX-License-Identifier: Apache-2.0
// Bars of importance above panels of slices, which share the axis of the score. A slice is a plain
// view of the search: other parameters vary within it. A grid of two parameters has a heat map
// instead.

#include "show/figure/tune_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/figure/tune_heat.h"
#include "show/plot/plot.h"

enum {
  WIDTH = 760,
  MARGIN = 14,
  BAR = 17,         // height of a parameter's bar
  NAME = 150,       // width of its name
  PERCENT = 46,     // and of its number
  COLUMNS = 3,      // of panels
  PANEL = 140,      // height of one
  AXIS_LEFT = 46,   // for the numbers of the score
  AXIS_BOTTOM = 34, // for those of a parameter
  BETWEEN = 16,
  TICS = 5
};

// Trials by how they ended, in the order in which they are drawn.
typedef enum group { BELOW, STOPPED, DONE, BASELINE, BEST, GROUPS } group;
static const mm_series looks[GROUPS] = {
  [BELOW] = { .style = MM_POINTS, .colour = 0xA0A0A0, .point = 11, .size = 0.6 },
  [STOPPED] = { .style = MM_POINTS, .colour = 0xA0A0A0, .point = 7, .size = 0.45 },
  [DONE] = { .style = MM_POINTS, .colour = 0x0072B2, .point = 7, .size = 0.6 },
  [BASELINE] = { .style = MM_POINTS, .colour = 0x000000, .point = 4, .size = 1.1, .width = 1.4 },
  [BEST] = { .style = MM_POINTS, .colour = 0xD55E00, .point = 7, .size = 1.1 },
};

typedef struct picture {
  mm_tune_view v;
  mm_tune_importance importance;
  mm_plot plot;
  mm_range score;
} picture;

// ---------------------------------------------------------------------------------------------
// The score's axis

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Trials that fail by far would leave no room for the others: those more than three times as far
// below the median as the best is above it lie on the lower edge.
static mm_status set_range(picture *p) {
  size_t n = 0;
  double *mean = mm_alloc_array(p->v.search->n + 1, sizeof *mean);
  if (!mean) return MM_FAIL(MM_ERR_MEMORY, "no memory for the scores of a figure");
  for (size_t i = 0; i < p->v.search->n; i++) {
    mean[n] = mm_tune_score(&p->v.search->trial[i]).mean;
    n += isfinite(mean[n]) ? 1 : 0;
  }
  qsort(mean, n, sizeof *mean, ascending);
  mm_range r = { 0, 0 };
  if (n > 0) {
    mm_range_include(&r, mean[n - 1]);
    mm_range_include(&r, fmax(mean[0], mean[n / 2] - 3 * (r.high - mean[n / 2])));
  }
  p->score = mm_range_pad(r, 0.08);
  mm_free(mean);
  return MM_OK;
}

static group group_of(const picture *p, size_t i, double mean) {
  const mm_tune_trial *t = &p->v.search->trial[i];
  if (t->failed || mean < p->score.low) return BELOW;
  if (i == 0) return BASELINE;
  if (i == p->v.best) return BEST;
  return t->n == p->v.plan->seeds ? DONE : STOPPED;
}

// ---------------------------------------------------------------------------------------------
// A parameter's axis

static mm_axis axis_of(const mm_tune_parameter *p) {
  if (p->scale == MM_TUNE_CHOICE)
    return (mm_axis){ { -0.5, p->high + 0.5 }, .tics = TICS, .plain = true };
  return (mm_axis){ .range = { p->low, p->high },
                    .pad = 0.06,
                    .log = p->scale == MM_TUNE_LOG,
                    .tics = TICS,
                    .whole = p->whole,
                    .plain = true };
}

// Trials with the same choice stand side by side.
static double shift_of(const mm_tune_parameter *p, size_t i) {
  double golden = 0.61803398874989485 * (double)i;
  return p->scale == MM_TUNE_CHOICE ? 0.6 * (golden - floor(golden) - 0.5) : 0;
}

// ---------------------------------------------------------------------------------------------
// Panels

static void add_group(picture *p, size_t parameter, group g) {
  const mm_tune_parameter *about = &p->v.plan->space.parameter[parameter];
  mm_plot_series(&p->plot, looks[g]);
  for (size_t i = 0; i < p->v.search->n; i++) {
    const mm_tune_trial *t = &p->v.search->trial[i];
    double x = t->value[parameter], mean = mm_tune_score(t).mean;
    if (isnan(x) || isnan(mean) || group_of(p, i, mean) != g) continue;
    if (x < about->low || x > about->high) continue; // the baseline settings may lie outside
    double edge = p->score.low + 0.02 * (p->score.high - p->score.low);
    mm_plot_put(&p->plot, x + shift_of(about, i), g == BELOW ? edge : mean);
  }
}

static void add_slice(picture *p, size_t parameter, mm_box b) {
  const mm_tune_parameter *about = &p->v.plan->space.parameter[parameter];
  mm_plot_name(&p->plot, b.x, b.y - MM_LINE_HEIGHT / 2.0, b.w, about->name);
  for (size_t i = 0; i < about->n_choice && about->scale == MM_TUNE_CHOICE; i++)
    mm_plot_tic(&p->plot, (double)i, about->choice[i]);
  mm_plot_level(&p->plot, 0, "(6,4)", NULL);
  mm_plot_panel(&p->plot,
                (mm_panel){ .box = b,
                            .x = axis_of(about),
                            .y = { p->score, .tics = TICS, .quiet = parameter % COLUMNS > 0 } });
  for (int g = 0; g < GROUPS; g++)
    add_group(p, parameter, (group)g);
}

// ---------------------------------------------------------------------------------------------
// What stands above them; it belongs to the first panel

static void put_title(picture *p, double y) {
  const mm_tune_plan *plan = p->v.plan;
  char names[4 * MM_PLAN_NAME_SIZE], maps[MM_TUNE_MAP_NAMES];
  size_t used = 0;
  for (size_t e = 0; e < plan->n_env && used < sizeof names; e++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", e > 0 ? ", " : "",
                             plan->env[e]);
  if (used < sizeof names)
    snprintf(names + used, sizeof names - used, " with %s", mm_tune_map_names(plan, maps));
  mm_plot_text(&p->plot, MARGIN, y, MM_LEFT, MM_INK, "{/*1.08 Tuning}");
  mm_plot_name(&p->plot, MARGIN + 52, y, WIDTH - 2 * MARGIN - 52, names);
  mm_plot_text(&p->plot, MARGIN, y + MM_LINE_HEIGHT, MM_LEFT, MM_QUIET_INK,
               "%zu trials, up to %zu seeds on %zu environment%s", p->v.search->n, plan->seeds,
               plan->n_env, plan->n_env == 1 ? "" : "s");
}

static double put_bars(picture *p, double y) {
  const mm_tune_space *space = &p->v.plan->space;
  double room = WIDTH - 2 * MARGIN - NAME - PERCENT;
  mm_plot_text(&p->plot, MARGIN, y + MM_LINE_HEIGHT / 2.0, MM_LEFT, MM_INK, "{/*1.08 %s}",
               p->importance.known ? "Share of the variation of ranks explained"
                                   : "Too few trials to weigh the parameters");
  y += MM_LINE_HEIGHT + 2;
  for (size_t j = 0; j < space->n && p->importance.known; j++, y += BAR) {
    double share = p->importance.share[j], middle = y + BAR / 2.0;
    mm_plot_name(&p->plot, MARGIN, middle, NAME - 8, space->parameter[j].name);
    mm_plot_fill(&p->plot, (mm_box){ MARGIN + NAME, y + 3, fmax(share * room, 1), BAR - 6 },
                 0x56B4E9);
    mm_plot_text(&p->plot, MARGIN + NAME + share * room + 6, middle, MM_LEFT, MM_INK, "%.0f %%",
                 100 * share);
  }
  return y + 8;
}

static void put_legend(picture *p, double y) {
  static const struct {
    group g;
    const char *text;
    double width;
  } entry[] = { { BEST, "best", 52 },
                { DONE, "with all seeds", 106 },
                { STOPPED, "stopped early", 102 },
                { BELOW, "below the panel, or failed", 170 },
                { BASELINE, "settings before (line at 0)", 0 } };
  double x = MARGIN + 60;
  mm_plot_text(&p->plot, MARGIN, y, MM_LEFT, MM_INK, "{/*1.08 Score}");
  for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
    mm_plot_point(&p->plot, x, y, looks[entry[i].g]);
    mm_plot_text(&p->plot, x + 10, y, MM_LEFT, 0x555555, "%s", entry[i].text);
    x += 10 + entry[i].width;
  }
}

// From y on; returns where they end.
static double add_slices(picture *p, double y) {
  const double width = (WIDTH - 2 * MARGIN - AXIS_LEFT - (COLUMNS - 1) * BETWEEN) / (double)COLUMNS;
  const double pitch = MM_LINE_HEIGHT + PANEL + AXIS_BOTTOM;
  put_legend(p, y + MM_LINE_HEIGHT / 2.0);
  y += MM_LINE_HEIGHT;
  const mm_box first = { MARGIN + AXIS_LEFT, y + MM_LINE_HEIGHT, width, PANEL };
  const size_t n = p->v.plan->space.n;
  for (size_t j = 0; j < n; j++)
    add_slice(p, j, mm_plot_cell(first, j, COLUMNS, width + BETWEEN, pitch));
  return y + (double)((n + COLUMNS - 1) / COLUMNS) * pitch;
}

mm_status mm_tune_figure(const mm_tune *tune, const char *path) {
  picture p = { .plot.width = WIDTH };
  mm_tune_look(tune, &p.v);
  MM_TRY(mm_tune_weigh(p.v.search, &p.importance));
  MM_TRY(set_range(&p));
  put_title(&p, MARGIN + MM_LINE_HEIGHT / 2.0);
  double y = put_bars(&p, MARGIN + 2 * MM_LINE_HEIGHT + 6);
  if (mm_tune_has_heat(&p.v))
    y += mm_tune_heat(&p.plot, &p.v, p.score, MARGIN, y, WIDTH - 2 * MARGIN);
  else
    y = add_slices(&p, y);
  p.plot.height = ceil(y);
  return mm_plot_write(&p.plot, MM_OK, path);
}
