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
static mm_box put_heading(mm_map_picture *picture, mm_box b, const char *title, double key) {
  mm_plot_text(&picture->plot, b.x, b.y + MM_LINE_HEIGHT / 2.0, MM_LEFT, MM_INK, "{/*1.08 %s}",
               title);
  bool narrow = b.w < NARROW;
  return (mm_box){ narrow ? b.x : b.x + b.w - key, narrow ? b.y + MM_LINE_HEIGHT + 6 : b.y + 2, key,
                   MM_LINE_HEIGHT - 4 };
}

static double heading_height(double width) {
  return width < NARROW ? 2 * MM_LINE_HEIGHT + 14 : MM_LINE_HEIGHT + 8;
}

// A stroke before a panel's name only means something beside curves.
static double key_stroke(const mm_map_picture *picture) {
  return mm_curve_panels(picture) > 0 ? 18 : 0;
}

// ---------------------------------------------------------------------------------------------
// Policy against the score scale

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
  double scores[MM_PICTURE_ACTIONS], probs[MM_PICTURE_ACTIONS];
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

mm_status mm_policy_band_add(mm_map_picture *picture, mm_box b, double *height) {
  const mm_map_figure_config *c = &picture->config;
  mm_plot *plot = &picture->plot;
  size_t n = c->n_action;
  double key = fmin(20 * (double)n, 292);
  mm_box room = put_heading(picture, b, "Policy: probability of each action", key + 46);
  mm_plot_text(plot, room.x, room.y + room.h / 2, MM_LEFT, MM_LABEL_INK, "action");
  put_action_key(plot, n, (mm_box){ room.x + 46, room.y, key, room.h });

  const double right = 12, inner = b.w - AXIS_LEFT - right;
  mm_panel_grid g = mm_small_grid(picture, inner + GAP);
  double pitch = MM_LINE_HEIGHT + picture->policy_height + 30;
  mm_box first = { b.x + AXIS_LEFT, b.y + heading_height(b.w) + MM_LINE_HEIGHT, g.cell - GAP,
                   picture->policy_height };
  mm_plot_text(plot, b.x + AXIS_LEFT + inner / 2,
               first.y + (double)g.rows * pitch - MM_LINE_HEIGHT + 4, MM_CENTRE, MM_LABEL_INK,
               "score scale c: scores c · (1, %s%zu), η = %g",
               n == 2   ? ""
               : n == 3 ? "2, "
                        : "…, ",
               n, c->eta);
  for (size_t i = 0; i < picture->n_map; i++) {
    mm_box at = mm_plot_cell(first, i, g.columns, g.cell, pitch);
    mm_map_key(picture, i, at.x, at.y - 10, at.w - 6, key_stroke(picture));
    mm_plot_panel(plot, (mm_panel){ .box = at,
                                    .x = { { 0, c->scale_max }, .tics = (int)(at.w / 24) },
                                    .y = { { 0, 1 }, .tics = 2, .quiet = i % g.columns > 0 },
                                    .no_grid = true,
                                    .full = true });
    MM_TRY(mm_map_add_policy(plot, picture->maps[i], n, c->eta, c->scale_max));
  }
  *height = heading_height(b.w) + (double)g.rows * pitch + 16;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Divergence from the uniform policy

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

static void put_corners(mm_map_picture *picture, size_t which, mm_box b, double largest) {
  mm_plot *plot = &picture->plot;
  mm_map_key(picture, which, b.x - 14, b.y - 24, b.w + 20, key_stroke(picture));
  mm_plot_text(plot, b.x + b.w / 2, b.y - 8, MM_CENTRE, MM_LABEL_INK, "a_3");
  mm_plot_text(plot, b.x - 4, b.y + b.h + 9, MM_CENTRE, MM_LABEL_INK, "a_1");
  mm_plot_text(plot, b.x + b.w + 4, b.y + b.h + 9, MM_CENTRE, MM_LABEL_INK, "a_2");
  mm_plot_text(plot, b.x + b.w / 2, b.y + b.h + 10, MM_CENTRE, MM_LABEL_INK, "{/*0.9 max %.4g}",
               largest);
}

static mm_status add_simplex(mm_map_picture *picture, size_t which, mm_box b) {
  static const double outline[][2] = { { 0, 0 }, { 1, 0 }, { 0.5, TRIANGLE }, { 0, 0 } };
  static const double outside[][2] = {
    // what of the rectangle lies left and right of the triangle
    { 0, 0 }, { 0.5, TRIANGLE }, { 0.5, 1 }, { -1, 1 }, { -1, 0 }, { 0, 0 }, { NAN, NAN },
    { 1, 0 }, { 0.5, TRIANGLE }, { 0.5, 1 }, { 2, 1 },  { 2, 0 },  { 1, 0 },
  };
  const mm_map *map = picture->maps[which];
  mm_plot *plot = &picture->plot;
  double largest;
  MM_TRY(divergence_at(map, 0, 0, &largest));
  put_corners(picture, which, b, largest);
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

mm_status mm_simplex_band_add(mm_map_picture *picture, mm_box b, double *height) {
  mm_plot *plot = &picture->plot;
  mm_box room = put_heading(picture, b, "Divergence from the uniform policy", 272);
  mm_box bar = { room.x + 14, room.y, 130, room.h };
  mm_plot_palette(plot, bar);
  mm_plot_text(plot, bar.x - 6, bar.y + bar.h / 2, MM_RIGHT, MM_LABEL_INK, "0");
  mm_plot_text(plot, bar.x + bar.w + 6, bar.y + bar.h / 2, MM_LEFT, MM_LABEL_INK,
               "max, at the corners");
  mm_panel_grid g = mm_small_grid(picture, b.w);
  double side = fmin(g.cell - 36, 190), pitch = MM_LINE_HEIGHT + 14 + TRIANGLE * side + 28;
  mm_box first = { b.x + g.cell / 2 - side / 2, b.y + heading_height(b.w) + MM_LINE_HEIGHT + 14,
                   side, side * TRIANGLE };
  for (size_t i = 0; i < picture->n_map; i++)
    MM_TRY(add_simplex(picture, i, mm_plot_cell(first, i, g.columns, g.cell, pitch)));
  *height = heading_height(b.w) + (double)g.rows * pitch - 6;
  return MM_OK;
}
