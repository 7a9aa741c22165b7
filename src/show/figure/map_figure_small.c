// One small panel per map. The policy against the score scale: scores c (1, .., |A|), c along the
// axis, the actions' probabilities stacked with the best at the bottom. The simplex: divergence
// from the uniform policy over the triangle of policies of three actions, relative to its largest
// value.

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"
#include "show/figure/map_figure_bands.h"

enum {
  N_SCALE = 401, // points of the policy's axis
  N_CELL = 181,  // of the heat map, both ways
  N_LEVEL = 4,   // contour lines, at equal parts of the largest divergence
  N_ANGLE = 241, // points of one
  AXIS_LEFT = 36,
  GAP = 14,
  NARROW = 560 // below this width a band's key goes under its heading
};

#define TRIANGLE 0.8660254037844386 // height of the unit triangle, sqrt(3) / 2

// The room beside the heading, or below it, for a key of the given width.
static mm_box put_heading(const mm_map_picture *picture, mm_box b, const char *title, double key) {
  mm_sheet_text(&picture->sheet, b.x, b.y + MM_SHEET_LINE / 2.0, title, "left");
  bool narrow = b.w < NARROW;
  return (mm_box){ narrow ? b.x : b.x + b.w - key, narrow ? b.y + MM_SHEET_LINE + 6 : b.y + 2, key,
                   MM_SHEET_LINE - 4 };
}

static double heading_height(double width) {
  return width < NARROW ? 2 * MM_SHEET_LINE + 14 : MM_SHEET_LINE + 8;
}

// A stroke before a panel's name only means something beside curves.
static double key_stroke(const mm_map_picture *picture) {
  return mm_curve_panels(picture) > 0 ? 18 : 0;
}

// ---------------------------------------------------------------------------------------------
// Policy against the score scale

static double policy_pitch(const mm_map_picture *picture) {
  return MM_SHEET_LINE + picture->policy_height + 30;
}

double mm_policy_band_height(const mm_map_picture *picture, double width) {
  return heading_height(width) + mm_small_grid(picture, width).rows * policy_pitch(picture) + 16;
}

static bool action_colour(const mm_map_picture *picture, size_t action, char out[8]) {
  return mm_ramp_colour(0.08 + 0.68 * (double)action / (double)(picture->config.n_action - 1), out);
}

// The colours of the actions side by side, numbered: each where a number fits, else the ends.
static void put_action_key(const mm_map_picture *picture, mm_box b) {
  const mm_sheet *s = &picture->sheet;
  size_t n = picture->config.n_action;
  double cell = b.w / (double)n;
  for (size_t i = 0; i < n; i++) {
    char colour[8], number[40];
    bool dark = action_colour(picture, i, colour);
    double x = b.x + (double)i * cell;
    mm_sheet_fill(s, (mm_box){ x, b.y, cell, b.h }, colour);
    snprintf(number, sizeof number, "{/*0.85 %zu}", i + 1);
    if (cell >= 16 || i == 0 || i + 1 == n)
      mm_sheet_text(s, x + cell / 2, b.y + b.h / 2, number,
                    dark ? "center tc rgb '#ffffff'" : "center");
  }
}

// layer[a]: data of the summed probability of the actions from a to the best.
static mm_status add_layers(const mm_map_picture *picture, size_t which, double width, int *layer) {
  const mm_map_figure_config *c = &picture->config;
  double scores[MM_PICTURE_ACTIONS], probs[MM_PICTURE_ACTIONS];
  double *sums = picture->x; // [n_action][N_SCALE]
  for (size_t k = 0; k < N_SCALE; k++) {
    double scale = c->scale_max * (double)k / (N_SCALE - 1), sum = 0;
    for (size_t a = 0; a < c->n_action; a++)
      scores[a] = c->eta * scale * (double)(a + 1);
    MM_TRY(mm_map_project(picture->maps[which], MM_PROJECTION_EXACT, scores, c->n_action, probs,
                          NULL));
    for (size_t a = c->n_action; a-- > 0;) {
      sum += probs[a];
      sums[a * N_SCALE + k] = fmin(sum, 1);
    }
  }
  for (size_t a = 0; a < c->n_action; a++) {
    for (size_t k = 0; k < N_SCALE; k++) {
      picture->points[2 * k] = c->scale_max * (double)k / (N_SCALE - 1);
      picture->points[2 * k + 1] = sums[a * N_SCALE + k];
    }
    size_t n = mm_figure_thin(picture->points, N_SCALE, 0.08 * c->scale_max / width,
                              0.08 / picture->policy_height);
    layer[a] = mm_figure_data(picture->sheet.figure, picture->points, n, 2);
  }
  return MM_OK;
}

static mm_status draw_policy(const mm_map_picture *picture, size_t which, mm_box b, bool numbered) {
  const mm_sheet *s = &picture->sheet;
  const mm_map_figure_config *c = &picture->config;
  int layer[MM_PICTURE_ACTIONS];
  MM_TRY(add_layers(picture, which, b.w, layer));
  mm_sheet_place(s, b);
  mm_map_key(picture, which, b.x, b.y - 10, b.w - 6, key_stroke(picture));
  mm_figure_script(s->figure,
                   "set xrange [0:%.9g]\nset yrange [0:1]\nset xtics %.9g\nset ytics 0,0.5,1\n"
                   "set format x '%%g'\nset format y '%s'\nunset grid\nplot ",
                   c->scale_max, mm_tic_step(c->scale_max, (int)(b.w / 24)), numbered ? "%g" : "");
  // the widest layer first; each later one covers its lower part
  for (size_t a = 0; a < c->n_action; a++) {
    char colour[8];
    action_colour(picture, a, colour);
    mm_figure_script(s->figure,
                     "%s$d%d with filledcurves y1=0 fc rgb '%s' fs solid 1 noborder "
                     "title 'action %zu'",
                     a ? ", " : "", layer[a], colour, a + 1);
    if (a > 0)
      mm_figure_script(s->figure, ", $d%d with lines lc rgb '#ffffff' lw %g dt solid notitle",
                       layer[a], c->n_action > 8 ? 0.3 : 0.7);
  }
  mm_figure_script(s->figure, "\n");
  mm_sheet_clear(s);
  return MM_OK;
}

mm_status mm_policy_band_draw(const mm_map_picture *picture, mm_box b) {
  const mm_sheet *s = &picture->sheet;
  size_t n = picture->config.n_action;
  double key = fmin(20 * (double)n, 292);
  mm_box room = put_heading(picture, b, "{/*1.08 Policy: probability of each action}", key + 46);
  mm_sheet_text(s, room.x, room.y + room.h / 2, "action", "left tc rgb '#333333'");
  put_action_key(picture, (mm_box){ room.x + 46, room.y, key, room.h });

  const double right = 12, inner = b.w - AXIS_LEFT - right;
  mm_panel_grid g = mm_small_grid(picture, inner + GAP);
  double y0 = b.y + heading_height(b.w) + MM_SHEET_LINE, pitch = policy_pitch(picture);
  char label[200];
  const char *between = n == 2 ? "" : n == 3 ? "2, " : "…, ";
  mm_figure_print(s->figure, label, sizeof label, "score scale c: scores c · (1, %s%zu), η = %g",
                  between, n, picture->config.eta);
  mm_sheet_text(s, b.x + AXIS_LEFT + inner / 2, y0 + g.rows * pitch - MM_SHEET_LINE + 4, label,
                "center tc rgb '#333333'");
  for (size_t i = 0; i < picture->n_map; i++) {
    size_t column = i % (size_t)g.columns, row = i / (size_t)g.columns;
    mm_box panel = { b.x + AXIS_LEFT + (double)column * g.cell, y0 + (double)row * pitch,
                     g.cell - GAP, picture->policy_height };
    MM_TRY(draw_policy(picture, i, panel, column == 0));
  }
  mm_figure_script(s->figure, "set grid\n");
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Divergence from the uniform policy

static double triangle_side(const mm_map_picture *picture, double width) {
  return fmin(mm_small_grid(picture, width).cell - 36, 190);
}

static double simplex_pitch(const mm_map_picture *picture, double width) {
  return MM_SHEET_LINE + 14 + TRIANGLE * triangle_side(picture, width) + 28;
}

double mm_simplex_band_height(const mm_map_picture *picture, double width) {
  return heading_height(width) +
         mm_small_grid(picture, width).rows * simplex_pitch(picture, width) - 6;
}

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
static mm_status add_heat(const mm_map_picture *picture, size_t which, double largest, int *data) {
  for (int j = 0; j < N_CELL; j++)
    for (int i = 0; i < N_CELL; i++) {
      double *cell = &picture->points[j * N_CELL + i];
      MM_TRY(divergence_at(picture->maps[which], (i + 0.5) / N_CELL, (j + 0.5) / N_CELL * TRIANGLE,
                           cell));
      *cell = largest > 0 ? fmin(*cell / largest, 1) : 0;
    }
  *data = mm_figure_data(picture->sheet.figure, picture->points, N_CELL, N_CELL);
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

static mm_status add_contour(const mm_map_picture *picture, size_t which, double level, double side,
                             int *data) {
  const double step = 6.283185307179586 / N_ANGLE;
  double(*point)[2] = (double(*)[2])picture->points;
  const mm_map *map = picture->maps[which];
  bool before = false;
  size_t n = 0;
  for (int k = 0; k <= N_ANGLE; k++) {
    double angle = step * k, next[2];
    bool found;
    MM_TRY(point_on_ray(map, angle, level, next, &found));
    if (k > 0 && found != before) {
      // a piece of the line begins or ends here
      if (found) point[n][0] = point[n][1] = NAN, n++;
      MM_TRY(point_on_border(map, found ? angle : angle - step, found ? angle - step : angle, level,
                             point[n++]));
    }
    if (found) point[n][0] = next[0], point[n][1] = next[1], n++;
    before = found;
  }
  n = mm_figure_thin(picture->points, n, 0.08 / side, 0.08 / side);
  *data = mm_figure_data(picture->sheet.figure, picture->points, n, 2);
  return MM_OK;
}

static void put_corners(const mm_map_picture *picture, size_t which, mm_box b, double largest) {
  const mm_sheet *s = &picture->sheet;
  const char *how = "center tc rgb '#333333'";
  char text[64];
  mm_figure_print(s->figure, text, sizeof text, "{/*0.9 max %.4g}", largest);
  mm_map_key(picture, which, b.x - 14, b.y - 24, b.w + 20, key_stroke(picture));
  mm_sheet_text(s, b.x + b.w / 2, b.y - 8, "a_3", how);
  mm_sheet_text(s, b.x - 4, b.y + b.h + 9, "a_1", how);
  mm_sheet_text(s, b.x + b.w + 4, b.y + b.h + 9, "a_2", how);
  mm_sheet_text(s, b.x + b.w / 2, b.y + b.h + 10, text, how);
}

static mm_status draw_simplex(const mm_map_picture *picture, size_t which, mm_box b) {
  static const double outline[][2] = { { 0, 0 }, { 1, 0 }, { 0.5, TRIANGLE }, { 0, 0 } };
  static const double outside[][2] = {
    // what of the rectangle lies left and right of the triangle
    { 0, 0 }, { 0.5, TRIANGLE }, { 0.5, 1 }, { -1, 1 }, { -1, 0 }, { 0, 0 }, { NAN, NAN },
    { 1, 0 }, { 0.5, TRIANGLE }, { 0.5, 1 }, { 2, 1 },  { 2, 0 },  { 1, 0 },
  };
  const mm_sheet *s = &picture->sheet;
  double largest;
  int heat, contour[N_LEVEL];
  MM_TRY(divergence_at(picture->maps[which], 0, 0, &largest));
  MM_TRY(add_heat(picture, which, largest, &heat));
  for (int i = 0; i < N_LEVEL; i++)
    MM_TRY(add_contour(picture, which, largest * (i + 1) / (N_LEVEL + 1), b.w, &contour[i]));
  int mask = mm_figure_data(s->figure, &outside[0][0], sizeof outside / sizeof *outside, 2);
  int edge = mm_figure_data(s->figure, &outline[0][0], sizeof outline / sizeof *outline, 2);

  // a little more than the triangle, so that its outline is not cut along its middle
  const double margin = 2, m = margin / b.w;
  mm_sheet_place(s, (mm_box){ b.x - margin, b.y - margin, b.w + 2 * margin, b.h + 2 * margin });
  put_corners(picture, which, b, largest);
  mm_figure_script(s->figure,
                   "unset border\nunset tics\nunset grid\nset xrange [%.9g:%.9g]\n"
                   "set yrange [%.9g:%.9g]\n"
                   "plot $d%d matrix using (($1+0.5)/%d):(($2+0.5)/%d*%.9g):3 with image notitle, "
                   "$d%d with filledcurves closed fc rgb '#ffffff' fs solid 1 noborder notitle",
                   -m, 1 + m, -m, TRIANGLE + m, heat, N_CELL, N_CELL, TRIANGLE, mask);
  for (int i = 0; i < N_LEVEL; i++)
    mm_figure_script(s->figure, ", $d%d with lines lc rgb '%s' lw 0.6 dt solid notitle", contour[i],
                     2 * (i + 1) < N_LEVEL + 1 ? "#33526b" : "#ffffff");
  mm_figure_script(s->figure, ", $d%d with lines lc rgb '#333333' lw 1 dt solid notitle\n", edge);
  mm_sheet_clear(s);
  return MM_OK;
}

mm_status mm_simplex_band_draw(const mm_map_picture *picture, mm_box b) {
  const mm_sheet *s = &picture->sheet;
  mm_box room = put_heading(picture, b, "{/*1.08 Divergence from the uniform policy}", 272);
  mm_box bar = { room.x + 14, room.y, 130, room.h };
  mm_sheet_palette(s, bar);
  mm_sheet_text(s, bar.x - 6, bar.y + bar.h / 2, "0", "right tc rgb '#333333'");
  mm_sheet_text(s, bar.x + bar.w + 6, bar.y + bar.h / 2, "max, at the corners",
                "left tc rgb '#333333'");
  mm_panel_grid g = mm_small_grid(picture, b.w);
  double side = triangle_side(picture, b.w), y0 = b.y + heading_height(b.w) + MM_SHEET_LINE + 14;
  for (size_t i = 0; i < picture->n_map; i++) {
    size_t column = i % (size_t)g.columns, row = i / (size_t)g.columns;
    mm_box triangle = { b.x + ((double)column + 0.5) * g.cell - side / 2,
                        y0 + (double)row * simplex_pitch(picture, b.w), side, side * TRIANGLE };
    MM_TRY(draw_simplex(picture, i, triangle));
    mm_figure_script(s->figure, "unset colorbox\n"); // one is enough
  }
  return MM_OK;
}
