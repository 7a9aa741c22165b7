// A picture of mirror maps: names the maps, stacks the bands on one sheet, has it drawn.

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "show/figure/map_figure_bands.h"

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

static void set_labels(mm_map_picture *picture, const char *const *names) {
  for (size_t i = 0; i < picture->n_map; i++) {
    int parts = 1;
    while (parts < 4 && !is_unique(names, picture->n_map, i, parts))
      parts++;
    short_name(names[i], parts, picture->label[i], sizeof picture->label[i]);
  }
}

void mm_map_key(const mm_map_picture *picture, size_t map, double x, double y, double width,
                double stroke) {
  if (stroke > 0) mm_sheet_stroke(&picture->sheet, x, y, stroke, (int)map + 1);
  double start = x + (stroke > 0 ? stroke + 6 : 0);
  mm_sheet_name(&picture->sheet, start, y, x + width - start, picture->label[map]);
}

// ---------------------------------------------------------------------------------------------
// The sheet

mm_map_figure_config mm_map_figure_config_default(void) {
  return (
      mm_map_figure_config){ .panels = MM_PANEL_ALL, .n_action = 3, .eta = 0.9, .scale_max = 4 };
}

static mm_status check(const mm_map_figure_config *c, size_t n_map) {
  if (n_map < 1 || n_map > MM_PICTURE_MAPS)
    return MM_FAIL(MM_ERR_INPUT, "a picture shows 1 to %d maps, not %zu", MM_PICTURE_MAPS, n_map);
  if (c->panels == 0 || (c->panels & ~(unsigned)MM_PANEL_ALL))
    return MM_FAIL(MM_ERR_INPUT, "a picture needs at least one of the five panels, and no others");
  if (c->n_action < 2 || c->n_action > MM_PICTURE_ACTIONS)
    return MM_FAIL(MM_ERR_INPUT, "the policy panel shows 2 to %d actions, not %zu",
                   MM_PICTURE_ACTIONS, c->n_action);
  if (!(c->eta >= 1e-6 && c->eta <= 1e6) || !(c->scale_max >= 1e-6 && c->scale_max <= 1e6))
    return MM_FAIL(MM_ERR_INPUT, "eta and the largest score scale must lie between 1e-6 and 1e6");
  return MM_OK;
}

mm_panel_grid mm_small_grid(const mm_map_picture *picture, double width) {
  int n = (int)picture->n_map;
  mm_panel_grid g = { .columns = n < 1 ? 1 : n <= 5 ? n : (n + 1) / 2 };
  g.rows = (n + g.columns - 1) / g.columns;
  g.cell = width / g.columns;
  return g;
}

// The least width at which all is good to read.
static double sheet_width(const mm_map_picture *picture) {
  int curves = mm_curve_panels(picture), small = mm_small_grid(picture, 1).columns;
  double width = curves > 0 ? fmax(curves * 240, 420) : 360;
  bool panels = picture->config.panels & (MM_PANEL_POLICY | MM_PANEL_SIMPLEX);
  return panels ? fmax(width, 50 + small * 136) : width;
}

// Draws the bands from the top down; with `measure` only finds the height that they need. A single
// map's policy and triangle share a band.
static mm_status lay_out(mm_map_picture *picture, bool measure) {
  const unsigned panels = picture->config.panels;
  const double margin = 10, between = 8, inner = picture->sheet.width - 2 * margin;
  bool policy = panels & MM_PANEL_POLICY, simplex = panels & MM_PANEL_SIMPLEX;
  bool together = policy && simplex && picture->n_map == 1 && inner >= 640;
  double half = together ? (inner - 24) / 2 : inner, y = margin;
  picture->policy_height = together ? 160 : 110;
  if (mm_curve_panels(picture) > 0) {
    if (!measure) MM_TRY(mm_curve_band_draw(picture, (mm_box){ margin, y, inner, 0 }));
    y += mm_curve_band_height(picture, inner) + between;
  }
  if (policy) {
    if (!measure) MM_TRY(mm_policy_band_draw(picture, (mm_box){ margin, y, half, 0 }));
    if (!together) y += mm_policy_band_height(picture, half) + between;
  }
  if (simplex) {
    double x = together ? margin + half + 24 : margin;
    if (!measure) MM_TRY(mm_simplex_band_draw(picture, (mm_box){ x, y, half, 0 }));
    double height = mm_simplex_band_height(picture, half);
    y += (together ? fmax(height, mm_policy_band_height(picture, half)) : height) + between;
  }
  if (measure) picture->sheet.height = ceil(y - between + margin / 2);
  return MM_OK;
}

static mm_status draw_all(void *user) {
  mm_map_picture *picture = user;
  MM_TRY(mm_curve_ranges(picture));
  return lay_out(picture, false);
}

static mm_status draw(mm_map_picture *picture, const char *path) {
  picture->sheet.width = sheet_width(picture);
  MM_TRY(lay_out(picture, true));
  return mm_sheet_write(&picture->sheet, draw_all, picture, path);
}

mm_status mm_map_figure_write(const mm_map_figure_config *config, const mm_map *const *maps,
                              const char *const *names, size_t n_map, const char *path) {
  MM_TRY(check(config, n_map));
  mm_map_picture picture = { .config = *config, .maps = maps, .n_map = n_map };
  set_labels(&picture, names);
  picture.x = mm_alloc_array(3 * MM_PICTURE_POINTS, sizeof(double));
  if (!picture.x) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  picture.y = picture.x + MM_PICTURE_POINTS;
  picture.points = picture.y + MM_PICTURE_POINTS;
  mm_status status = draw(&picture, path);
  mm_free(picture.x);
  return status;
}
