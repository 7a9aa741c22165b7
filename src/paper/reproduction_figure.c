// A grid of panels: curves of all maps against environment steps, and for AMPO below them the
// potentials and, map by map, the policy against the score scale.

#include "paper/reproduction_figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/plot/sheet.h"

enum {
  MARGIN = 12,
  AXIS_LEFT = 40,   // room for the numbers of an axis
  AXIS_BOTTOM = 20, // for numbers
  LABEL = 20,       // for the label of an axis
  GAP = 12,         // between columns
  BAND_POINTS = 64, // more cannot be seen
  SKIPPED = 4,      // first iterations of AMPO, in which hardly an episode has ended: not drawn
  LONG = 20,        // points of a curve that can do without them
  N_PHI = 401,      // points of a potential
  N_SCALE = 201,    // of a policy
  ACTIONS = 32,
  N_BASE = 2 // l2 and negentropy beside the learned map
};

typedef struct picture {
  const mm_artefact *r;
  const mm_artefact_grid *grid;
  mm_sheet sheet;
  double width, height; // of a panel
  double unit, x_end;   // steps of one on the axis, its right end
  const char *axis;
  double *points; // room for the largest table
  mm_map *base[N_BASE];
} picture;

static const char *const base_names[N_BASE] = { "l2", "negentropy" };

// ---------------------------------------------------------------------------------------------
// Curves

static const mm_artefact_curve *curve_of(const picture *p, size_t env, size_t map,
                                         const char *name) {
  const mm_artefact_grid *g = p->grid;
  const mm_artefact_cell *cell = mm_artefact_find_cell(p->r, g->env[env], g->map[map], g->target);
  for (size_t i = 0; cell && i < cell->n_curve; i++)
    if (strcmp(cell->curve[i].name, name) == 0) return &cell->curve[i];
  return NULL;
}

// The first point to draw, as the authors' plots do.
static size_t first_of(const picture *p, const mm_artefact_curve *curve) {
  return p->grid->learned && curve->n > LONG ? SKIPPED : 0;
}

static void include(double x, double *low, double *high) {
  if (!isfinite(x)) return;
  *low = fmin(*low, x);
  *high = fmax(*high, x);
}

// A little more than all bands need.
static void range_of(const picture *p, size_t env, const mm_artefact_row *row, double *low,
                     double *high) {
  *low = row->from_zero ? 0 : INFINITY;
  *high = row->from_zero ? 0 : -INFINITY;
  for (size_t m = 0; m < p->grid->n_map; m++) {
    const mm_artefact_curve *curve = curve_of(p, env, m, row->curve);
    for (size_t k = curve ? first_of(p, curve) : 0; curve && k < curve->n; k++) {
      mm_estimate e = curve->point[k].value;
      double half = isnan(e.sem) ? 0 : e.sem;
      include(e.mean - half, low, high);
      include(e.mean + half, low, high);
    }
  }
  if (!(*low <= *high)) *low = *high = 0;
  if (row->from_zero) *low = 0;
  double room = *high - *low;
  if (!(room > 1e-9 * fmax(fabs(*high), fabs(*low)))) room = fmax(fabs(*high), 1e-3);
  *high += 0.05 * room;
  if (!row->from_zero) *low -= 0.05 * room;
}

static int add_band(const picture *p, const mm_artefact_curve *curve) {
  size_t n = 0, last = curve->n - 1, stride = last / BAND_POINTS + 1;
  for (size_t k = first_of(p, curve);; k = k + stride < last ? k + stride : last) {
    mm_estimate e = curve->point[k].value;
    if (!isnan(e.sem)) {
      p->points[3 * n] = (double)curve->point[k].step / p->unit;
      p->points[3 * n + 1] = e.mean - e.sem;
      p->points[3 * n + 2] = e.mean + e.sem;
      n++;
    }
    if (k == last) break;
  }
  return n > 1 ? mm_figure_data(p->sheet.figure, p->points, n, 3) : -1;
}

static int add_line(const picture *p, const mm_artefact_curve *curve, double dx, double dy) {
  size_t first = first_of(p, curve), n = curve->n - first;
  for (size_t k = 0; k < n; k++) {
    p->points[2 * k] = (double)curve->point[first + k].step / p->unit;
    p->points[2 * k + 1] = curve->point[first + k].value.mean;
  }
  n = mm_figure_thin(p->points, n, dx, dy);
  return mm_figure_data(p->sheet.figure, p->points, n, 2);
}

// Bands below all lines; a map without a curve here has neither.
static void plot_curves(const picture *p, size_t env, const char *name, double dx, double dy) {
  int band[MM_FIGURE_LINES], line[MM_FIGURE_LINES];
  for (size_t m = 0; m < p->grid->n_map; m++) {
    const mm_artefact_curve *curve = curve_of(p, env, m, name);
    band[m] = curve && curve->n > 1 ? add_band(p, curve) : -1;
    line[m] = curve && curve->n > 1 ? add_line(p, curve, dx, dy) : -1;
  }
  mm_figure_script(p->sheet.figure, "plot NaN notitle");
  for (size_t m = 0; m < p->grid->n_map; m++)
    if (band[m] >= 0)
      mm_figure_script(p->sheet.figure,
                       ", $d%d using 1:2:3 with filledcurves lt %zu fs transparent solid 0.18 "
                       "noborder notitle",
                       band[m], m + 1);
  for (size_t m = 0; m < p->grid->n_map; m++)
    if (line[m] >= 0)
      mm_figure_script(p->sheet.figure, ", $d%d with lines lt %zu notitle", line[m], m + 1);
  mm_figure_script(p->sheet.figure, "\n");
}

static void set_axes(const picture *p, mm_box b, const double x[2], const double y[2],
                     bool numbered) {
  mm_figure_script(p->sheet.figure,
                   "set grid\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xtics %.9g\n"
                   "set ytics %.9g\nset format x '%s'\nset format y '%%g'\n",
                   x[0], x[1], y[0], y[1], mm_tic_step(x[1] - x[0], (int)(b.w / 40)),
                   mm_tic_step(y[1] - y[0], (int)(b.h / 22)), numbered ? "%g" : "");
}

static void draw_curves(const picture *p, size_t row, size_t env, mm_box b) {
  const mm_artefact_row *of = &p->grid->row[row];
  double y[2], x[2] = { 0, p->x_end };
  range_of(p, env, of, &y[0], &y[1]);
  mm_sheet_place(&p->sheet, b);
  set_axes(p, b, x, y, true);
  plot_curves(p, env, of->curve, 0.08 * p->x_end / b.w, 0.08 * (y[1] - y[0]) / b.h);
  mm_sheet_clear(&p->sheet);
}

// ---------------------------------------------------------------------------------------------
// Potentials and policies

static const mm_map *map_of(const picture *p, size_t env, size_t which) {
  return which == 0 ? p->grid->learned[env] : p->base[which - 1];
}

// phi against x - phi^-1(1), clipped at 0; from the learned map's zero to a little above 0.
static mm_status draw_potentials(const picture *p, size_t env, mm_box b) {
  static const double p01[2] = { 0, 1 };
  double at[2], left;
  int line[N_BASE + 1];
  MM_TRY(mm_map_phi_inverse(p->grid->learned[env], p01, 2, at));
  left = isfinite(at[0]) ? fmax(at[0] - at[1], -12) : -6;
  left = fmin(left, -1.5);
  for (size_t m = 0; m <= N_BASE; m++) {
    MM_TRY(mm_map_phi_inverse(map_of(p, env, m), p01, 2, at));
    double *x = p->points + 2 * N_PHI, *y = x + N_PHI;
    for (int i = 0; i < N_PHI; i++)
      x[i] = left + (0.25 - left) * i / (N_PHI - 1) + at[1];
    MM_TRY(mm_map_phi(map_of(p, env, m), x, N_PHI, y));
    for (int i = 0; i < N_PHI; i++) {
      p->points[2 * i] = x[i] - at[1];
      p->points[2 * i + 1] = fmax(y[i], 0);
    }
    size_t n = mm_figure_thin(p->points, N_PHI, 0.08 * -left / b.w, 0.08 / b.h);
    line[m] = mm_figure_data(p->sheet.figure, p->points, n, 2);
  }
  const double x[2] = { left, 0.25 }, y[2] = { -0.03, 1.2 };
  mm_sheet_place(&p->sheet, b);
  set_axes(p, b, x, y, true);
  mm_figure_script(p->sheet.figure, "plot ");
  for (size_t m = 0; m <= N_BASE; m++)
    mm_figure_script(p->sheet.figure, "%s$d%d with lines lt %zu notitle", m ? ", " : "", line[m],
                     m + 1);
  mm_figure_script(p->sheet.figure, "\n");
  mm_sheet_clear(&p->sheet);
  return MM_OK;
}

// sums[a * N_SCALE + k]: probability of the actions from a to the best, at the k-th scale.
static mm_status sum_policies(const picture *p, const mm_map *map, size_t n_action, double *sums) {
  double scores[ACTIONS], probs[ACTIONS];
  for (size_t k = 0; k < N_SCALE; k++) {
    double scale = 4.0 * (double)k / (N_SCALE - 1), sum = 0;
    for (size_t a = 0; a < n_action; a++)
      scores[a] = p->grid->eta * scale * (double)(a + 1);
    MM_TRY(mm_map_project(map, MM_PROJECTION_EXACT, scores, n_action, probs, NULL));
    for (size_t a = n_action; a-- > 0;) {
      sum += probs[a];
      sums[a * N_SCALE + k] = fmin(sum, 1);
    }
  }
  return MM_OK;
}

// Probabilities stacked, the best action at the bottom.
static mm_status draw_policy(const picture *p, size_t env, size_t which, mm_box b, bool last) {
  size_t n_action = p->grid->n_action[env];
  const double x[2] = { 0, 4 }, y[2] = { 0, 1 };
  double *sums = p->points + 2 * N_SCALE;
  MM_TRY(sum_policies(p, map_of(p, env, which), n_action, sums));
  mm_sheet_place(&p->sheet, b);
  set_axes(p, b, x, y, last);
  mm_figure_script(p->sheet.figure, "set ytics 0,0.5,1\nunset grid\n");
  int layer[ACTIONS];
  for (size_t a = 0; a < n_action; a++) {
    for (size_t k = 0; k < N_SCALE; k++) {
      p->points[2 * k] = 4.0 * (double)k / (N_SCALE - 1);
      p->points[2 * k + 1] = sums[a * N_SCALE + k];
    }
    size_t n = mm_figure_thin(p->points, N_SCALE, 0.3 / b.w, 0.08 / b.h);
    layer[a] = mm_figure_data(p->sheet.figure, p->points, n, 2);
  }
  mm_figure_script(p->sheet.figure, "plot ");
  for (size_t a = 0; a < n_action; a++) {
    char colour[8];
    mm_ramp_colour(0.08 + 0.68 * (double)a / (double)(n_action - 1), colour);
    mm_figure_script(p->sheet.figure,
                     "%s$d%d with filledcurves y1=0 fc rgb '%s' fs solid 1 noborder notitle",
                     a ? ", " : "", layer[a], colour);
    if (a > 0)
      mm_figure_script(p->sheet.figure,
                       ", $d%d with lines lc rgb '#ffffff' lw 0.7 dt solid notitle", layer[a]);
  }
  mm_figure_script(p->sheet.figure, "\n");
  mm_sheet_clear(&p->sheet);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The sheet

static mm_box panel_at(const picture *p, mm_box b, size_t env, double y, double height) {
  double pitch = AXIS_LEFT + p->width + GAP;
  return (mm_box){ b.x + (double)env * pitch, y, p->width, height };
}

static void put_title(const picture *p, mm_box b, double y, const char *text) {
  mm_sheet_text(&p->sheet, b.x - AXIS_LEFT + 4, y, text, "left");
}

static void put_axis_label(const picture *p, mm_box b, double y, const char *text) {
  mm_sheet_text(&p->sheet, b.x + b.w / 2, y, text, "center tc rgb '#333333'");
}

// Texts are drawn with the panel that follows them.
static double lay_out_curves(picture *p, mm_box b, bool measure) {
  const mm_artefact_grid *g = p->grid;
  double y = b.y;
  for (size_t row = 0; row < g->n_row; row++) {
    y += MM_SHEET_LINE + 8;
    if (!measure) {
      put_title(p, b, y - 15, g->row[row].title);
      if (row + 1 == g->n_row) put_axis_label(p, b, y + p->height + AXIS_BOTTOM + 10, p->axis);
    }
    for (size_t e = 0; e < g->n_env && !measure; e++)
      draw_curves(p, row, e, panel_at(p, b, e, y, p->height));
    y += p->height + AXIS_BOTTOM;
  }
  return y + LABEL - b.y;
}

static mm_status lay_out_maps(picture *p, mm_box b, bool measure, double *height) {
  const mm_artefact_grid *g = p->grid;
  static const char *const title[] = { "policy, learned map", "policy, l2",
                                       "policy, negative entropy" };
  double y = b.y + MM_SHEET_LINE + 8;
  char text[160];
  if (!measure) {
    put_title(p, b, y - 15, "potentials φ");
    put_axis_label(p, b, y + p->height + AXIS_BOTTOM + 10, "x − φ^{−1}(1)");
  }
  for (size_t e = 0; e < g->n_env && !measure; e++)
    MM_TRY(draw_potentials(p, e, panel_at(p, b, e, y, p->height)));
  y += p->height + AXIS_BOTTOM + LABEL;
  for (size_t m = 0; m <= N_BASE; m++) {
    bool last = m == N_BASE;
    y += MM_SHEET_LINE + 8;
    if (!measure) {
      put_title(p, b, y - 15, title[m]);
      mm_figure_print(p->sheet.figure, text, sizeof text,
                      "score scale c: scores c · (1, …, |A|), η = %g; the best action is darkest",
                      g->eta);
      if (last) put_axis_label(p, b, y + 70 + AXIS_BOTTOM + 10, text);
    }
    for (size_t e = 0; e < g->n_env && !measure; e++)
      MM_TRY(draw_policy(p, e, m, panel_at(p, b, e, y, 70), last));
    y += 70 + (last ? AXIS_BOTTOM + LABEL : 4);
  }
  *height = y - b.y;
  return MM_OK;
}

size_t mm_artefact_line(const char *text, size_t most) {
  size_t n = strlen(text);
  if (n <= most) return n;
  for (size_t i = most; i > 0; i--)
    if (text[i - 1] == ',') return i;
  return n;
}

// The label in lines of the box's width; returns their height.
static double put_label(const picture *p, mm_box b, bool measure) {
  size_t most = (size_t)(b.w / MM_FIGURE_CHARACTER), lines = 0;
  const char *text = p->r->label;
  while (*text) {
    char line[MM_ARTEFACT_TEXT];
    size_t end = mm_artefact_line(text, most);
    snprintf(line, sizeof line, "%.*s", (int)end, text);
    if (!measure)
      mm_sheet_name(&p->sheet, b.x, b.y + MM_SHEET_LINE * ((double)lines + 0.5), b.w, line);
    text += end;
    text += strspn(text, " ");
    lines++;
  }
  return MM_SHEET_LINE * (double)lines;
}

static mm_status lay_out(picture *p, bool measure) {
  const mm_artefact_grid *g = p->grid;
  mm_box b = { MARGIN + AXIS_LEFT, MARGIN, p->sheet.width - 2 * MARGIN - AXIS_LEFT, 0 };
  char text[200];
  snprintf(text, sizeof text, "%s%s%s: mean of the runs, one standard error", g->heading,
           g->target[0] ? ", target=" : "", g->target);
  if (!measure) mm_sheet_name(&p->sheet, b.x, b.y + MM_SHEET_LINE / 2.0, b.w, text);
  b.y += MM_SHEET_LINE;
  b.y += put_label(p, b, measure) + 2;
  b.y += mm_sheet_legend(&p->sheet, b, g->map, g->n_map, measure) + 6;
  for (size_t e = 0; e < g->n_env && !measure; e++) {
    mm_box at = panel_at(p, b, e, b.y, 0);
    char title[96];
    snprintf(title, sizeof title, "{/*1.08 %s}", g->title[e]);
    mm_sheet_text(&p->sheet, at.x + at.w / 2, b.y + MM_SHEET_LINE / 2.0, title, "center");
  }
  b.y += MM_SHEET_LINE;
  b.y += lay_out_curves(p, b, measure);
  if (g->learned) {
    double height;
    MM_TRY(lay_out_maps(p, b, measure, &height));
    b.y += height;
  }
  if (measure) p->sheet.height = ceil(b.y + MARGIN / 2.0);
  return MM_OK;
}

static mm_status draw_all(void *user) {
  return lay_out(user, false);
}

static mm_status draw(picture *p, const char *path) {
  MM_TRY(lay_out(p, true));
  return mm_sheet_write(&p->sheet, draw_all, p, path);
}

// Room for numbers while a panel is prepared, and the steps of the longest curve.
static mm_status set_sizes(picture *p) {
  const mm_artefact_grid *g = p->grid;
  size_t longest = (ACTIONS + 2) * N_SCALE + 4 * N_PHI;
  uint64_t most = 0;
  for (size_t i = 0; i < p->r->n_cell; i++)
    for (size_t k = 0; k < p->r->cell[i].n_curve; k++) {
      const mm_artefact_curve *curve = &p->r->cell[i].curve[k];
      if (3 * curve->n > longest) longest = 3 * curve->n;
      if (curve->n > 0 && curve->point[curve->n - 1].step > most)
        most = curve->point[curve->n - 1].step;
    }
  p->axis = mm_steps_label((double)most, &p->unit);
  p->x_end = most > 0 ? (double)most / p->unit : 1;
  p->width = g->n_env > 3 ? 150 : 230;
  p->height = g->n_env > 3 ? 100 : 130;
  p->sheet.width = 2 * MARGIN + (double)g->n_env * (AXIS_LEFT + p->width + GAP);
  p->points = mm_alloc_array(longest, sizeof *p->points);
  return p->points ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for a figure");
}

mm_status mm_artefact_figure_grid(const mm_artefact *r, const mm_artefact_grid *grid,
                                  const char *path) {
  picture p = { .r = r, .grid = grid };
  mm_status status = set_sizes(&p);
  for (int i = 0; i < N_BASE && grid->learned && status == MM_OK; i++)
    status = mm_map_open(base_names[i], &p.base[i]);
  if (status == MM_OK) status = draw(&p, path);
  for (int i = 0; i < N_BASE; i++)
    mm_map_destroy(p.base[i]);
  mm_free(p.points);
  return status;
}
