// SPDX-License-Identifier: Apache-2.0
// Pictures of mirror maps in three bands: curves of phi, phi^-1 and h, which share one legend; the
// policy against the score scale, a small panel per map; the divergence from the uniform policy
// over the simplex, a triangle per map. Each band adds itself to the page from the box's top left
// corner on, in its width, and says how high it is.

#include "show/figure/map_figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum {
  MOST_MAPS = MM_FIGURE_LINES, // in one picture
  MOST_ACTIONS = 64,
  N_GRID = 601,  // points of a smooth curve
  N_KNOT = 1001, // a piecewise map with more knots than these is drawn as a smooth one
  N_MARK = 24,   // and one with at most these shows them
  N_SCALE = 401, // points of the policy's axis
  N_CELL = 181,  // of the heat map, both ways
  N_LEVEL = 4,   // contour lines, at equal parts of the largest divergence
  N_ANGLE = 241, // points of one
  CURVE_HEIGHT = 190,
  AXIS_LEFT = 36,   // room for the numbers of an axis
  AXIS_BOTTOM = 42, // for numbers and a label
  STROKE = 34,
  GAP = 14,
  NARROW = 560,      // below this width a band's key goes under its heading
  PANEL_LEAST = 136, // width of a small panel
  PANEL_MOST = 300,
  PANELS_MOST = 900 // of a row of them
};

#define TRIANGLE 0.8660254037844386 // height of the unit triangle, sqrt(3) / 2

typedef struct picture {
  mm_map_figure_config config;
  const mm_map *const *maps;  // [n_map]
  char label[MOST_MAPS][256]; // names without folder and ending
  int line[MOST_MAPS];        // types
  size_t n_map;
  mm_plot plot;
  double policy_height; // of the policy panels
} picture;

// ---------------------------------------------------------------------------------------------
// Names: a file is shown without folder and ending, unless two would then look the same

static bool ends_in_json(const char *name) {
  size_t length = strlen(name);
  return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

// The last `parts` parts of a path, without .json; other names as they are.
static void short_name(const char *name, int parts, char *out, size_t size) {
  const char *start = name;
  if (strchr(name, '/') || ends_in_json(name)) {
    start = name + strlen(name);
    for (; parts > 0 && start > name; parts--) {
      start--;
      while (start > name && start[-1] != '/')
        start--;
    }
  }
  // of a name beyond all measure the end says more
  size_t length = strlen(start);
  snprintf(out, size, "%s", length < size ? start : start + length - size + 1);
  if (ends_in_json(out)) out[strlen(out) - 5] = '\0';
}

static bool is_unique(const char *const *names, size_t n, size_t which, int parts) {
  char one[256], other[256];
  short_name(names[which], parts, one, sizeof one);
  for (size_t i = 0; i < n; i++) {
    short_name(names[i], parts, other, sizeof other);
    if (i != which && strcmp(one, other) == 0) return false;
  }
  return true;
}

static void set_labels(picture *p, const char *const *names) {
  const char *label[MOST_MAPS];
  for (size_t i = 0; i < p->n_map; i++) {
    int parts = 1;
    while (parts < 4 && !is_unique(names, p->n_map, i, parts))
      parts++;
    short_name(names[i], parts, p->label[i], sizeof p->label[i]);
    label[i] = p->label[i];
  }
  mm_map_lines(label, p->n_map, p->line);
}

// ---------------------------------------------------------------------------------------------
// What the bands share

// A map's name after a stroke in its colour and dashes; a stroke of length 0 is left out.
static void put_key(picture *p, size_t map, double x, double y, double width, double stroke) {
  if (stroke > 0) mm_plot_stroke(&p->plot, x, y, stroke, p->line[map]);
  double start = x + (stroke > 0 ? stroke + 6 : 0);
  mm_plot_name(&p->plot, start, y, x + width - start, p->label[map]);
}

// How many of phi, phi^-1 and h are asked for.
static int curve_panels(const picture *p) {
  unsigned panels = p->config.panels;
  return !!(panels & MM_PANEL_PHI) + !!(panels & MM_PANEL_PHI_INVERSE) + !!(panels & MM_PANEL_H);
}

// n panels in rows and columns.
typedef struct panel_grid {
  size_t columns, rows;
  double cell; // width of a column
} panel_grid;

static double longest_label(const picture *p) {
  size_t longest = 0;
  for (size_t i = 0; i < p->n_map; i++)
    if (strlen(p->label[i]) > longest) longest = strlen(p->label[i]);
  return (double)longest * MM_FIGURE_CHARACTER;
}

// A stroke before a panel's name only means something beside curves.
static double key_stroke(const picture *p) {
  return curve_panels(p) > 0 ? 18 : 0;
}

// The width of a small panel with room for its name.
static double panel_width(const picture *p) {
  return fmin(fmax(longest_label(p) + key_stroke(p) + 32, PANEL_LEAST), PANEL_MOST);
}

// Up to five small panels in a row, otherwise two rows; more rows where names are long.
static panel_grid small_grid(const picture *p, double width) {
  size_t n = p->n_map, columns = n <= 5 ? n : (n + 1) / 2;
  size_t most = (size_t)(PANELS_MOST / panel_width(p));
  if (columns > most) columns = most;
  return (panel_grid){ columns, (n + columns - 1) / columns, width / (double)columns };
}

// The room beside the heading, or below it, for a key of the given width.
static mm_box put_heading(picture *p, mm_box b, const char *title, double key) {
  mm_plot_text(&p->plot, b.x, b.y + MM_LINE_HEIGHT / 2.0, MM_LEFT, MM_INK, "{/*1.08 %s}", title);
  bool narrow = b.w < NARROW;
  return (mm_box){ narrow ? b.x : b.x + b.w - key, narrow ? b.y + MM_LINE_HEIGHT + 6 : b.y + 2, key,
                   MM_LINE_HEIGHT - 4 };
}

static double heading_height(double width) {
  return width < NARROW ? 2 * MM_LINE_HEIGHT + 14 : MM_LINE_HEIGHT + 8;
}

// ---------------------------------------------------------------------------------------------
// Curves of phi, phi^-1 and h. phi(x) and phi(x - c) are the same mirror map, so all three are
// drawn aligned where phi = 1: phi against x - phi^-1(1), phi^-1 less its value at 1, and its
// integral from 1 to p, which is a term of h up to a multiple of p - 1.

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The middle one of several values, the lower of two; sorts them.
static double middle_of(double *values, size_t n) {
  qsort(values, n, sizeof *values, by_value);
  return values[(n - 1) / 2];
}

// phi^-1(1) of each map, and the left end of phi's axis: the widest zero of a map, unless a few
// wide maps would leave no room for the others.
static mm_status find_left(const picture *p, double *top, double *left) {
  static const double probs[] = { 0, 0.02, 1 };
  double width[MOST_MAPS], widest = 6;
  for (size_t i = 0; i < p->n_map; i++) {
    double at[3];
    MM_TRY(mm_map_phi_inverse(p->maps[i], probs, 3, at));
    top[i] = at[2];
    width[i] = at[2] - at[1];
    if (isfinite(at[0])) widest = fmax(widest, at[2] - at[0]);
  }
  *left = -fmin(widest, fmax(12, 4 * middle_of(width, p->n_map)));
  return MM_OK;
}

// Upper end of h's axis: the largest value, unless a few maps dwarf the others.
static mm_status find_h_top(const picture *p, const double *top, double *h_top) {
  double at_0[MOST_MAPS], zero = 0;
  for (size_t i = 0; i < p->n_map; i++) {
    MM_TRY(mm_map_h(p->maps[i], &zero, 1, &at_0[i]));
    at_0[i] += top[i];
    if (!isfinite(at_0[i]) || at_0[i] <= 0) at_0[i] = 1;
  }
  double middle = middle_of(at_0, p->n_map);
  *h_top = 1.05 * fmin(at_0[p->n_map - 1], 4 * middle);
  return MM_OK;
}

// Number of a piecewise map's steps if its knots are to be drawn exactly, else 0.
static size_t steps_of(const mm_map *map) {
  size_t n = 0;
  mm_map_piecewise_psi(map, &n);
  return n < N_KNOT ? n : 0;
}

// Those of the probabilities j / n at which a piecewise map of n steps has knots.
static size_t list_knots(const mm_map *map, double *p) {
  size_t n = steps_of(map);
  for (size_t j = 0; j <= n && n > 0; j++)
    p[j] = (double)j / (double)n;
  return n > 0 ? n + 1 : 0;
}

mm_status mm_map_add_phi(mm_plot *plot, const mm_map *map, double left, double right,
                         mm_series look) {
  static const double one = 1;
  double x[N_GRID + N_KNOT], y[N_GRID + N_KNOT], top;
  MM_TRY(mm_map_phi_inverse(map, &one, 1, &top));
  for (int i = 0; i < N_GRID; i++)
    x[i] = left + (right - left) * i / (N_GRID - 1) + top;
  size_t knots = list_knots(map, y), n = N_GRID + knots;
  if (knots > 0) MM_TRY(mm_map_phi_inverse(map, y, knots, x + N_GRID));
  qsort(x, n, sizeof *x, by_value);
  MM_TRY(mm_map_phi(map, x, n, y));
  mm_plot_series(plot, look);
  for (size_t i = 0; i < n; i++)
    mm_plot_put(plot, x[i] - top, fmax(y[i], 0));
  return MM_OK;
}

// phi^-1 or its integral over [0, 1]; close together towards 0, where phi^-1 may be steep.
static mm_status add_inverse(mm_plot *plot, const mm_map *map, double top, bool integral,
                             mm_series look) {
  double p[N_GRID + N_KNOT], y[N_GRID + N_KNOT];
  for (int i = 0; i < N_GRID; i++)
    p[i] = pow((double)i / (N_GRID - 1), 3);
  size_t n = N_GRID + list_knots(map, p + N_GRID);
  qsort(p, n, sizeof *p, by_value);
  MM_TRY(integral ? mm_map_h(map, p, n, y) : mm_map_phi_inverse(map, p, n, y));
  mm_plot_series(plot, look);
  for (size_t i = 0; i < n; i++)
    mm_plot_put(plot, p[i], y[i] - top * (integral ? p[i] - 1 : 1));
  return MM_OK;
}

// The knots (phi^-1(j/n), j/n) of a short piecewise map, as they lie in the panel.
static mm_status add_knots(mm_plot *plot, const mm_map *map, double top, unsigned panel, int line) {
  double p[N_MARK + 1], at[N_MARK + 1];
  if (steps_of(map) > N_MARK || panel == MM_PANEL_H) return MM_OK;
  size_t n = list_knots(map, p);
  if (n == 0) return MM_OK;
  MM_TRY(mm_map_phi_inverse(map, p, n, at));
  mm_plot_series(plot, (mm_series){ .style = MM_POINTS, .line = line });
  for (size_t j = 0; j < n; j++)
    if (panel == MM_PANEL_PHI)
      mm_plot_put(plot, at[j] - top, p[j]);
    else
      mm_plot_put(plot, p[j], at[j] - top);
  return MM_OK;
}

typedef struct curves {
  unsigned panel;
  const char *title, *label;
  mm_range x, y;
} curves;

static mm_status add_panel(picture *p, const curves *c, const double *top, mm_box b) {
  mm_plot *plot = &p->plot;
  mm_plot_text(plot, b.x + b.w / 2, b.y - 12, MM_CENTRE, MM_INK, "%s", c->title);
  mm_plot_text(plot, b.x + b.w / 2, b.y + b.h + 32, MM_CENTRE, MM_LABEL_INK, "%s", c->label);
  mm_plot_panel(
      plot,
      (mm_panel){ .box = b, .x = { c->x, .tics = 6 }, .y = { c->y, .tics = 6 }, .full = true });
  for (size_t i = 0; i < p->n_map; i++) {
    const mm_map *map = p->maps[i];
    mm_series look = { .style = MM_LINE, .line = p->line[i], .name = p->label[i] };
    if (c->panel == MM_PANEL_PHI)
      MM_TRY(mm_map_add_phi(plot, map, c->x.low, c->x.high, look));
    else
      MM_TRY(add_inverse(plot, map, top[i], c->panel == MM_PANEL_H, look));
    MM_TRY(add_knots(plot, map, top[i], c->panel, p->line[i]));
  }
  return MM_OK;
}

// The maps' names in columns as wide as the longest; returns the height.
static double put_legend(picture *p, mm_box b) {
  const size_t n = p->n_map;
  double wanted = fmin(longest_label(p) + STROKE + 6 + 24, b.w);
  size_t columns = (size_t)fmin(fmax(floor(b.w / wanted), 1), (double)n);
  size_t rows = (n + columns - 1) / columns;
  columns = (n + rows - 1) / rows; // rows of about equal length
  mm_box first = { b.x + (b.w - (double)columns * wanted) / 2 + 10, b.y + MM_LINE_HEIGHT / 2.0, 0,
                   0 };
  for (size_t i = 0; i < n; i++) {
    mm_box at = mm_plot_cell(first, i, columns, wanted, MM_LINE_HEIGHT);
    put_key(p, i, at.x, at.y, wanted - 10, STROKE);
  }
  return (double)rows * MM_LINE_HEIGHT + 8;
}

static mm_status add_curve_band(picture *p, mm_box b, double *height) {
  double top[MOST_MAPS], left, h_top;
  MM_TRY(find_left(p, top, &left));
  MM_TRY(find_h_top(p, top, &h_top));
  const curves all[] = {
    { MM_PANEL_PHI, "potential φ", "x − φ^{−1}(1)", { left, 0.5 }, { -0.03, 1.2 } },
    { MM_PANEL_PHI_INVERSE,
      "φ^{−1}(p) − φ^{−1}(1)",
      "probability p",
      { 0, 1 },
      { left, -0.04 * left } },
    { MM_PANEL_H, "mirror map h, one term", "probability p", { 0, 1 }, { -0.025 * h_top, h_top } },
  };
  double y = b.y + put_legend(p, b) + MM_LINE_HEIGHT, x = b.x;
  double cell = b.w / curve_panels(p);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!(p->config.panels & all[i].panel)) continue;
    mm_box panel = { x + AXIS_LEFT, y, cell - AXIS_LEFT - 12, CURVE_HEIGHT };
    MM_TRY(add_panel(p, &all[i], top, panel));
    x += cell;
  }
  *height = y + CURVE_HEIGHT + AXIS_BOTTOM - b.y;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The policy against the score scale: scores c (1, .., |A|), c along the axis, the actions'
// probabilities stacked with the best at the bottom

static uint32_t action_colour(size_t action, size_t n_action) {
  return mm_ramp_colour(0.08 + 0.68 * (double)action / (double)(n_action - 1));
}

// The colours of the actions side by side, numbered: each where a number fits, else the ends.
static void put_action_key(mm_plot *plot, size_t n, mm_box b) {
  double cell = b.w / (double)n;
  for (size_t i = 0; i < n; i++) {
    uint32_t colour = action_colour(i, n);
    double x = b.x + (double)i * cell;
    mm_plot_fill(plot, (mm_box){ x, b.y, cell, b.h }, colour);
    if (cell >= 16 || i == 0 || i + 1 == n)
      mm_plot_text(plot, x + cell / 2, b.y + b.h / 2, MM_CENTRE,
                   mm_is_dark(colour) ? 0xffffff : MM_INK, "{/*0.85 %zu}", i + 1);
  }
}

// sums[a * N_SCALE + k]: probability of the actions from a to the best, at the k-th scale.
static mm_status sum_policies(const mm_map *map, size_t n_action, double eta, double scale_max,
                              double *sums) {
  double scores[MOST_ACTIONS], probs[MOST_ACTIONS];
  for (size_t k = 0; k < N_SCALE; k++) {
    double scale = scale_max * (double)k / (N_SCALE - 1), sum = 0;
    for (size_t a = 0; a < n_action; a++)
      scores[a] = eta * scale * (double)(a + 1);
    MM_TRY(mm_map_project(map, MM_PROJECTION_EXACT, scores, n_action, probs, NULL));
    for (size_t a = n_action; a-- > 0;) {
      sum += probs[a];
      sums[a * N_SCALE + k] = fmin(sum, 1);
    }
  }
  return MM_OK;
}

mm_status mm_map_add_policy(mm_plot *plot, const mm_map *map, size_t n_action, double eta,
                            double scale_max) {
  double *sums = mm_alloc_array(n_action * N_SCALE, sizeof *sums);
  if (!sums) return MM_FAIL(MM_ERR_MEMORY, "no memory for a policy of %zu actions", n_action);
  mm_status status = sum_policies(map, n_action, eta, scale_max, sums);
  // the widest layer first; each later one covers its lower part, below a white edge
  for (size_t i = 0; i < 2 * n_action && status == MM_OK; i++) {
    size_t a = i / 2;
    char name[32];
    snprintf(name, sizeof name, "action %zu", a + 1);
    mm_series area = { .style = MM_FILL, .colour = action_colour(a, n_action), .name = name };
    mm_series edge = {
      .style = MM_LINE, .colour = 0xffffff, .width = n_action > 8 ? 0.3 : 0.7, .solid = true
    };
    if (i == 1) continue; // the top needs none
    mm_plot_series(plot, i % 2 ? edge : area);
    for (size_t k = 0; k < N_SCALE; k++)
      mm_plot_put(plot, scale_max * (double)k / (N_SCALE - 1), sums[a * N_SCALE + k]);
  }
  mm_free(sums);
  return status;
}

static mm_status add_policy_band(picture *p, mm_box b, double *height) {
  const mm_map_figure_config *c = &p->config;
  mm_plot *plot = &p->plot;
  size_t n = c->n_action;
  double key = fmin(20 * (double)n, 292);
  mm_box room = put_heading(p, b, "Policy: probability of each action", key + 46);
  mm_plot_text(plot, room.x, room.y + room.h / 2, MM_LEFT, MM_LABEL_INK, "action");
  put_action_key(plot, n, (mm_box){ room.x + 46, room.y, key, room.h });

  const double right = 12, inner = b.w - AXIS_LEFT - right;
  panel_grid g = small_grid(p, inner + GAP);
  double pitch = MM_LINE_HEIGHT + p->policy_height + 30;
  mm_box first = { b.x + AXIS_LEFT, b.y + heading_height(b.w) + MM_LINE_HEIGHT, g.cell - GAP,
                   p->policy_height };
  mm_plot_text(plot, b.x + AXIS_LEFT + inner / 2,
               first.y + (double)g.rows * pitch - MM_LINE_HEIGHT + 4, MM_CENTRE, MM_LABEL_INK,
               "score scale c: scores c · (1, %s%zu), η = %g",
               n == 2   ? ""
               : n == 3 ? "2, "
                        : "…, ",
               n, c->eta);
  for (size_t i = 0; i < p->n_map; i++) {
    mm_box at = mm_plot_cell(first, i, g.columns, g.cell, pitch);
    put_key(p, i, at.x, at.y - 10, at.w - 6, key_stroke(p));
    mm_plot_panel(plot, (mm_panel){ .box = at,
                                    .x = { { 0, c->scale_max }, .tics = (int)(at.w / 24) },
                                    .y = { { 0, 1 }, .tics = 2, .quiet = i % g.columns > 0 },
                                    .no_grid = true,
                                    .full = true });
    MM_TRY(mm_map_add_policy(plot, p->maps[i], n, c->eta, c->scale_max));
  }
  *height = heading_height(b.w) + (double)g.rows * pitch + 16;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The simplex: divergence from the uniform policy over the triangle of policies of three actions,
// relative to its largest value

// D from the uniform policy at a point of the triangle with corners (0, 0), (1, 0), (1/2,
// TRIANGLE); a point outside counts as one on the border nearby.
static mm_status divergence_at(const mm_map *map, double x, double y, double *out) {
  static const double uniform[3] = { 1.0 / 3, 1.0 / 3, 1.0 / 3 };
  double p3 = y / TRIANGLE, p[3] = { 1 - x - p3 / 2, x - p3 / 2, p3 }, sum = 0;
  for (int a = 0; a < 3; a++) {
    p[a] = fmin(fmax(p[a], 0), 1);
    sum += p[a];
  }
  for (int a = 0; a < 3; a++)
    p[a] /= sum;
  return mm_map_bregman(map, p, uniform, 3, out);
}

// D / largest at the middle of each cell of the triangle's rectangle.
static mm_status add_heat(mm_plot *plot, const mm_map *map, double largest) {
  mm_plot_series(
      plot,
      (mm_series){ .style = MM_IMAGE, .columns = N_CELL, .x = { 0, 1 }, .y = { 0, TRIANGLE } });
  for (int j = 0; j < N_CELL; j++)
    for (int i = 0; i < N_CELL; i++) {
      double d;
      MM_TRY(divergence_at(map, (i + 0.5) / N_CELL, (j + 0.5) / N_CELL * TRIANGLE, &d));
      mm_plot_put(plot, largest > 0 ? fmin(d / largest, 1) : 0);
    }
  return MM_OK;
}

// How far a ray from the centre runs inside the triangle: until it meets the nearest side.
static double ray_length(double dx, double dy) {
  double towards = fmax(-dy, fmax(dy / 2 + TRIANGLE * dx, dy / 2 - TRIANGLE * dx));
  return TRIANGLE / 3 / towards;
}

// A point at `part` of the way from the centre to the border, in the direction `angle`, and D
// there.
static mm_status look_along(const mm_map *map, double angle, double part, double point[2],
                            double *d) {
  double dx = cos(angle), dy = sin(angle), r = part * ray_length(dx, dy);
  point[0] = 0.5 + r * dx;
  point[1] = TRIANGLE / 3 + r * dy;
  return divergence_at(map, point[0], point[1], d);
}

// D grows along every ray from the centre, so the line D = level has one point on each, or none
// when even the border is below.
static mm_status point_on_ray(const mm_map *map, double angle, double level, double point[2],
                              bool *found) {
  double low = 0, high = 1, d;
  MM_TRY(look_along(map, angle, 1, point, &d));
  *found = d >= level;
  for (int i = 0; i < 20 && *found; i++) {
    MM_TRY(look_along(map, angle, (low + high) / 2, point, &d));
    *(d < level ? &low : &high) = (low + high) / 2;
  }
  return MM_OK;
}

// Where the line meets the border, between two angles of which only one has a point.
static mm_status point_on_border(const mm_map *map, double inside, double outside, double level,
                                 double point[2]) {
  for (int i = 0; i < 20; i++) {
    double middle = (inside + outside) / 2, d;
    MM_TRY(look_along(map, middle, 1, point, &d));
    *(d < level ? &outside : &inside) = middle;
  }
  return MM_OK;
}

static mm_status add_contour(mm_plot *plot, const mm_map *map, double level, uint32_t colour) {
  const double step = 6.283185307179586 / N_ANGLE;
  bool before = false;
  mm_plot_series(plot,
                 (mm_series){ .style = MM_LINE, .colour = colour, .width = 0.6, .solid = true });
  for (int k = 0; k <= N_ANGLE; k++) {
    double angle = step * k, next[2], border[2];
    bool found;
    MM_TRY(point_on_ray(map, angle, level, next, &found));
    if (k > 0 && found != before) {
      // a piece of the line begins or ends here
      if (found) mm_plot_put(plot, NAN, NAN);
      MM_TRY(point_on_border(map, found ? angle : angle - step, found ? angle - step : angle, level,
                             border));
      mm_plot_numbers(plot, border, 2);
    }
    if (found) mm_plot_numbers(plot, next, 2);
    before = found;
  }
  return MM_OK;
}

static void put_corners(picture *p, size_t which, mm_box b, double largest) {
  mm_plot *plot = &p->plot;
  put_key(p, which, b.x - 14, b.y - 24, fmax(b.w + 20, panel_width(p) - 6), key_stroke(p));
  mm_plot_text(plot, b.x + b.w / 2, b.y - 8, MM_CENTRE, MM_LABEL_INK, "a_3");
  mm_plot_text(plot, b.x - 4, b.y + b.h + 9, MM_CENTRE, MM_LABEL_INK, "a_1");
  mm_plot_text(plot, b.x + b.w + 4, b.y + b.h + 9, MM_CENTRE, MM_LABEL_INK, "a_2");
  mm_plot_text(plot, b.x + b.w / 2, b.y + b.h + 10, MM_CENTRE, MM_LABEL_INK, "{/*0.9 max %.4g}",
               largest);
}

static mm_status add_simplex(picture *p, size_t which, mm_box b) {
  static const double outline[][2] = { { 0, 0 }, { 1, 0 }, { 0.5, TRIANGLE }, { 0, 0 } };
  static const double outside[][2] = {
    // what of the rectangle lies left and right of the triangle
    { 0, 0 }, { 0.5, TRIANGLE }, { 0.5, 1 }, { -1, 1 }, { -1, 0 }, { 0, 0 }, { NAN, NAN },
    { 1, 0 }, { 0.5, TRIANGLE }, { 0.5, 1 }, { 2, 1 },  { 2, 0 },  { 1, 0 },
  };
  const mm_map *map = p->maps[which];
  mm_plot *plot = &p->plot;
  double largest;
  MM_TRY(divergence_at(map, 0, 0, &largest));
  put_corners(p, which, b, largest);
  // a little more than the triangle, so that its outline is not cut along its middle
  const double margin = 2, m = margin / b.w;
  mm_plot_panel(
      plot, (mm_panel){ .box = { b.x - margin, b.y - margin, b.w + 2 * margin, b.h + 2 * margin },
                        .x.range = { -m, 1 + m },
                        .y.range = { -m, TRIANGLE + m },
                        .full = true });
  MM_TRY(add_heat(plot, map, largest));
  mm_plot_series(plot, (mm_series){ .style = MM_POLYGON, .colour = 0xffffff });
  mm_plot_numbers(plot, &outside[0][0], sizeof outside / sizeof(double));
  for (int i = 1; i <= N_LEVEL; i++)
    MM_TRY(add_contour(plot, map, largest * i / (N_LEVEL + 1),
                       2 * i < N_LEVEL + 1 ? 0x33526b : 0xffffff));
  mm_plot_series(plot,
                 (mm_series){ .style = MM_LINE, .colour = 0x333333, .width = 1, .solid = true });
  mm_plot_numbers(plot, &outline[0][0], sizeof outline / sizeof(double));
  return MM_OK;
}

static mm_status add_simplex_band(picture *p, mm_box b, double *height) {
  mm_plot *plot = &p->plot;
  mm_box room = put_heading(p, b, "Divergence from the uniform policy", 272);
  mm_box bar = { room.x + 14, room.y, 130, room.h };
  mm_plot_palette(plot, bar);
  mm_plot_text(plot, bar.x - 6, bar.y + bar.h / 2, MM_RIGHT, MM_LABEL_INK, "0");
  mm_plot_text(plot, bar.x + bar.w + 6, bar.y + bar.h / 2, MM_LEFT, MM_LABEL_INK,
               "max, at the corners");
  panel_grid g = small_grid(p, b.w);
  double side = fmin(g.cell - 36, 190), pitch = MM_LINE_HEIGHT + 14 + TRIANGLE * side + 28;
  mm_box first = { b.x + g.cell / 2 - side / 2, b.y + heading_height(b.w) + MM_LINE_HEIGHT + 14,
                   side, side * TRIANGLE };
  for (size_t i = 0; i < p->n_map; i++)
    MM_TRY(add_simplex(p, i, mm_plot_cell(first, i, g.columns, g.cell, pitch)));
  *height = heading_height(b.w) + (double)g.rows * pitch - 6;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The page

mm_map_figure_config mm_map_figure_config_default(void) {
  return (
      mm_map_figure_config){ .panels = MM_PANEL_ALL, .n_action = 3, .eta = 0.9, .scale_max = 4 };
}

static mm_status check(const mm_map_figure_config *c, size_t n_map) {
  if (n_map < 1 || n_map > MOST_MAPS)
    return MM_FAIL(MM_ERR_INPUT, "a picture shows 1 to %d maps, not %zu", MOST_MAPS, n_map);
  if (c->panels == 0 || (c->panels & ~(unsigned)MM_PANEL_ALL))
    return MM_FAIL(MM_ERR_INPUT, "a picture needs at least one of the five panels, and no others");
  if (c->n_action < 2 || c->n_action > MOST_ACTIONS)
    return MM_FAIL(MM_ERR_INPUT, "the policy panel shows 2 to %d actions, not %zu", MOST_ACTIONS,
                   c->n_action);
  if (!(c->eta >= 1e-6 && c->eta <= 1e6) || !(c->scale_max >= 1e-6 && c->scale_max <= 1e6))
    return MM_FAIL(MM_ERR_INPUT, "eta and the largest score scale must lie between 1e-6 and 1e6");
  return MM_OK;
}

// The least width at which all is good to read.
static double page_width(const picture *p) {
  int n_curve = curve_panels(p);
  double width = n_curve > 0 ? fmax(n_curve * 240, 420) : 360;
  bool panels = p->config.panels & (MM_PANEL_POLICY | MM_PANEL_SIMPLEX);
  return panels ? fmax(width, 50 + (double)small_grid(p, 1).columns * panel_width(p)) : width;
}

// Bands from the top down. A single map's policy and triangle share one.
static mm_status add_bands(picture *p) {
  const unsigned panels = p->config.panels;
  const double margin = 10, between = 8, inner = p->plot.width - 2 * margin;
  bool policy = panels & MM_PANEL_POLICY, simplex = panels & MM_PANEL_SIMPLEX;
  bool together = policy && simplex && p->n_map == 1 && inner >= 640;
  double half = together ? (inner - 24) / 2 : inner, height, beside = 0;
  mm_box b = { margin, margin, inner, 0 };
  p->policy_height = together ? 160 : 110;
  if (curve_panels(p) > 0) {
    MM_TRY(add_curve_band(p, b, &height));
    b.y += height + between;
  }
  b.w = half;
  if (policy) {
    MM_TRY(add_policy_band(p, b, &height));
    if (together) {
      b.x += half + 24;
      beside = height;
    } else {
      b.y += height + between;
    }
  }
  if (simplex) {
    MM_TRY(add_simplex_band(p, b, &height));
    b.y += fmax(height, beside) + between;
  }
  p->plot.height = ceil(b.y - between + margin / 2);
  return MM_OK;
}

mm_status mm_map_figure_write(const mm_map_figure_config *config, const mm_map *const *maps,
                              const char *const *names, size_t n_map, const char *path) {
  MM_TRY(check(config, n_map));
  picture p = { .config = *config, .maps = maps, .n_map = n_map };
  set_labels(&p, names);
  for (size_t i = 0; i < n_map && config->line; i++)
    p.line[i] = config->line[i];
  p.plot.width = page_width(&p);
  p.plot.lettered = true;
  return mm_plot_write(&p.plot, add_bands(&p), path);
}
