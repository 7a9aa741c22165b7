// SPDX-License-Identifier: Apache-2.0
// A grid of panels: curves of all maps against environment steps, and for AMPO below them the
// potentials and, map by map, the policy against the score scale.

#include "paper/reproduction_figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/figure/curves.h"
#include "show/figure/map_figure.h"

enum {
  MARGIN = 12,
  AXIS_LEFT = 40,   // room for the numbers of an axis
  AXIS_BOTTOM = 20, // for numbers
  LABEL = 20,       // for the label of an axis
  GAP = 12,         // between columns
  POLICY = 70,      // height of a policy
  SCALE = 4,        // right end of its axis
  SKIPPED = 4,      // first iterations of AMPO, in which hardly an episode has ended: not drawn
  LONG = 20,        // points of a curve that can do without them
  N_BASE = 2        // l2 and negentropy beside the learned map
};

typedef struct picture {
  const mm_artefact *r;
  const mm_artefact_grid *grid;
  mm_plot plot;
  mm_box row; // the first panel of the row that is being added
  mm_map *base[N_BASE];
} picture;

// The curve's points as the authors' plots have them.
static mm_curve curve_of(const picture *p, size_t env, size_t map, const char *name) {
  const mm_artefact_grid *g = p->grid;
  const mm_artefact_cell *cell = mm_artefact_find_cell(p->r, g->env[env], g->map[map], g->target);
  for (size_t i = 0; cell && i < cell->n_curve; i++) {
    const mm_artefact_curve *c = &cell->curve[i];
    size_t skipped = g->learned && c->n > LONG ? SKIPPED : 0;
    if (strcmp(c->name, name) == 0)
      return (mm_curve){ c->point + skipped, c->n - skipped, 0, g->map[map] };
  }
  return (mm_curve){ NULL, 0, 0, NULL };
}

// ---------------------------------------------------------------------------------------------
// Rows of panels, one per environment

// Goes on to the next row. Texts are drawn with the panel that follows them.
static void begin_row(picture *p, double height, const char *title, const char *axis) {
  p->row.y += MM_LINE_HEIGHT + 8;
  p->row.h = height;
  mm_plot_text(&p->plot, p->row.x, p->row.y - 11, MM_LEFT, MM_INK, "%s", title);
  if (axis)
    mm_plot_text(&p->plot, (p->plot.width + AXIS_LEFT) / 2, p->row.y + height + AXIS_BOTTOM + 10,
                 MM_CENTRE, MM_LABEL_INK, "%s", axis);
}

static void end_row(picture *p, double below) {
  p->row.y += p->row.h + below;
}

static void add_panel(picture *p, size_t env, mm_panel panel) {
  panel.box = mm_plot_cell(p->row, env, p->grid->n_env, AXIS_LEFT + p->row.w + GAP, 0);
  panel.x.tics = (int)(p->row.w / 40);
  panel.y.tics = panel.no_grid ? 2 : (int)(p->row.h / 22);
  mm_plot_panel(&p->plot, panel);
}

static void add_curves(picture *p, double height) {
  const mm_artefact_grid *g = p->grid;
  double unit, longest = 0;
  for (size_t i = 0; i < p->r->n_cell; i++)
    for (size_t k = 0; k < p->r->cell[i].n_curve; k++) {
      const mm_artefact_curve *c = &p->r->cell[i].curve[k];
      if (c->n > 0) longest = fmax(longest, (double)c->point[c->n - 1].step);
    }
  const char *axis = mm_steps_label(longest, &unit);
  int line[MM_FIGURE_LINES];
  mm_map_lines(g->map, g->n_map, line);
  for (size_t row = 0; row < g->n_row; row++) {
    bool last = row + 1 == g->n_row;
    begin_row(p, height, g->row[row].title, last ? axis : NULL);
    for (size_t e = 0; e < g->n_env; e++) {
      mm_curve curve[MM_FIGURE_LINES];
      for (size_t m = 0; m < g->n_map; m++) {
        curve[m] = curve_of(p, e, m, g->row[row].curve);
        curve[m].line = line[m];
      }
      add_panel(p, e,
                (mm_panel){ .x.range = { 0, longest > 0 ? longest / unit : 1 },
                            .y = { mm_curves_range(curve, g->n_map), .pad = 0.05,
                                   .from_zero = g->row[row].from_zero } });
      mm_curves_add(&p->plot, curve, g->n_map, unit);
    }
    end_row(p, last ? AXIS_BOTTOM + LABEL : AXIS_BOTTOM);
  }
}

// The learned map, then l2 and the negative entropy.
static const mm_map *map_of(const picture *p, size_t env, size_t which) {
  return which == 0 ? p->grid->learned[env] : p->base[which - 1];
}

// From the learned map's zero to a little above 0.
static mm_status add_potentials(picture *p, size_t env) {
  static const double p01[2] = { 0, 1 };
  static const char *const names[N_BASE + 1] = { "learned", "l2", "negentropy" };
  int line[N_BASE + 1];
  double at[2];
  mm_map_lines(names, N_BASE + 1, line);
  MM_TRY(mm_map_phi_inverse(p->grid->learned[env], p01, 2, at));
  double left = fmin(isfinite(at[0]) ? fmax(at[0] - at[1], -12) : -6, -1.5);
  add_panel(p, env,
            (mm_panel){ .x.range = { left, 0.25 }, .y.range = { -0.03, 1.2 }, .full = true });
  for (size_t m = 0; m <= N_BASE; m++)
    MM_TRY(mm_map_add_phi(&p->plot, map_of(p, env, m), left, 0.25,
                          (mm_series){ .style = MM_LINE, .line = line[m] }));
  return MM_OK;
}

static mm_status add_maps(picture *p, double height) {
  static const char *const title[] = { "policy, learned map", "policy, l2",
                                       "policy, negative entropy" };
  const mm_artefact_grid *g = p->grid;
  char axis[160];
  mm_figure_print(axis, sizeof axis,
                  "score scale c: scores c · (1, …, |A|), η = %g; the best action is darkest",
                  g->eta);
  begin_row(p, height, "potentials φ", "x − φ^{−1}(1)");
  for (size_t e = 0; e < g->n_env; e++)
    MM_TRY(add_potentials(p, e));
  end_row(p, AXIS_BOTTOM + LABEL);
  for (size_t m = 0; m <= N_BASE; m++) {
    bool last = m == N_BASE;
    begin_row(p, POLICY, title[m], last ? axis : NULL);
    for (size_t e = 0; e < g->n_env; e++) {
      add_panel(p, e,
                (mm_panel){ .x = { { 0, SCALE }, .quiet = !last },
                            .y.range = { 0, 1 },
                            .no_grid = true,
                            .full = true });
      MM_TRY(mm_map_add_policy(&p->plot, map_of(p, e, m), g->n_action[e], g->eta, SCALE));
    }
    end_row(p, last ? AXIS_BOTTOM + LABEL : 4);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The page

size_t mm_artefact_line(const char *text, size_t most) {
  size_t n = strlen(text);
  if (n <= most) return n;
  for (size_t i = most; i > 0; i--)
    if (text[i - 1] == ',') return i;
  return n;
}

const char *mm_artefact_next_line(const char *text, size_t most, char line[MM_ARTEFACT_TEXT]) {
  size_t end = mm_artefact_line(text, most);
  snprintf(line, MM_ARTEFACT_TEXT, "%.*s", (int)end, text);
  return text + end + strspn(text + end, " ");
}

// What the figure shows, the result's label in lines, the legend and the environments' names.
static void put_heading(picture *p) {
  const mm_artefact_grid *g = p->grid;
  const double width = p->plot.width - 2 * MARGIN - AXIS_LEFT, half = MM_LINE_HEIGHT / 2.0;
  mm_box b = { p->row.x, p->row.y, width, 0 };
  char line[MM_ARTEFACT_TEXT];
  snprintf(line, sizeof line, "%s%s%s: mean of the runs, one standard error", g->heading,
           g->target[0] ? ", target=" : "", g->target);
  mm_plot_name(&p->plot, b.x, b.y + half, b.w, line);
  b.y += MM_LINE_HEIGHT;
  for (const char *text = p->r->label; *text; b.y += MM_LINE_HEIGHT) {
    text = mm_artefact_next_line(text, (size_t)(b.w / MM_FIGURE_CHARACTER), line);
    mm_plot_name(&p->plot, b.x, b.y + half, b.w, line);
  }
  b.y += 2;
  b.y += mm_plot_legend(&p->plot, b, g->map, g->n_map) + 6;
  for (size_t e = 0; e < g->n_env; e++)
    mm_plot_text(&p->plot, b.x + (double)e * (AXIS_LEFT + p->row.w + GAP) + p->row.w / 2,
                 b.y + half, MM_CENTRE, MM_INK, "{/*1.08 %s}", g->title[e]);
  p->row.y = b.y + MM_LINE_HEIGHT;
}

mm_status mm_artefact_figure_grid(const mm_artefact *r, const mm_artefact_grid *grid,
                                  const char *path) {
  static const char *const base_names[N_BASE] = { "l2", "negentropy" };
  const bool many = grid->n_env > 3;
  const double height = many ? 100 : 130;
  picture p = { .r = r, .grid = grid, .row = { MARGIN + AXIS_LEFT, MARGIN, many ? 150 : 230, 0 } };
  p.plot.lettered = true;
  p.plot.width = 2 * MARGIN + (double)grid->n_env * (AXIS_LEFT + p.row.w + GAP);
  mm_status status = MM_OK;
  for (int i = 0; i < N_BASE && grid->learned && status == MM_OK; i++)
    status = mm_map_open(base_names[i], &p.base[i]);
  put_heading(&p);
  add_curves(&p, height);
  if (grid->learned && status == MM_OK) status = add_maps(&p, height);
  p.plot.height = ceil(p.row.y + MARGIN / 2.0);
  for (int i = 0; i < N_BASE; i++)
    mm_map_destroy(p.base[i]);
  return mm_plot_write(&p.plot, status, path);
}
