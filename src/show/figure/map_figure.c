// A picture of mirror maps: names the maps, stacks the bands on one page.

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

void mm_map_key(mm_map_picture *picture, size_t map, double x, double y, double width,
                double stroke) {
  if (stroke > 0) mm_plot_stroke(&picture->plot, x, y, stroke, (int)map + 1);
  double start = x + (stroke > 0 ? stroke + 6 : 0);
  mm_plot_name(&picture->plot, start, y, x + width - start, picture->label[map]);
}

// ---------------------------------------------------------------------------------------------
// The page

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

int mm_curve_panels(const mm_map_picture *picture) {
  unsigned p = picture->config.panels;
  return !!(p & MM_PANEL_PHI) + !!(p & MM_PANEL_PHI_INVERSE) + !!(p & MM_PANEL_H);
}

mm_panel_grid mm_small_grid(const mm_map_picture *picture, double width) {
  size_t n = picture->n_map, columns = n <= 5 ? n : (n + 1) / 2;
  return (mm_panel_grid){ columns, (n + columns - 1) / columns, width / (double)columns };
}

// The least width at which all is good to read.
static double page_width(const mm_map_picture *picture) {
  int curves = mm_curve_panels(picture);
  double width = curves > 0 ? fmax(curves * 240, 420) : 360;
  bool panels = picture->config.panels & (MM_PANEL_POLICY | MM_PANEL_SIMPLEX);
  return panels ? fmax(width, 50 + (double)mm_small_grid(picture, 1).columns * 136) : width;
}

// Bands from the top down. A single map's policy and triangle share one.
static mm_status add_bands(mm_map_picture *picture) {
  const unsigned panels = picture->config.panels;
  const double margin = 10, between = 8, inner = picture->plot.width - 2 * margin;
  bool policy = panels & MM_PANEL_POLICY, simplex = panels & MM_PANEL_SIMPLEX;
  bool together = policy && simplex && picture->n_map == 1 && inner >= 640;
  double half = together ? (inner - 24) / 2 : inner, height, beside = 0;
  mm_box b = { margin, margin, inner, 0 };
  picture->policy_height = together ? 160 : 110;
  if (mm_curve_panels(picture) > 0) {
    MM_TRY(mm_curve_band_add(picture, b, &height));
    b.y += height + between;
  }
  b.w = half;
  if (policy) {
    MM_TRY(mm_policy_band_add(picture, b, &height));
    if (together) {
      b.x += half + 24;
      beside = height;
    } else {
      b.y += height + between;
    }
  }
  if (simplex) {
    MM_TRY(mm_simplex_band_add(picture, b, &height));
    b.y += fmax(height, beside) + between;
  }
  picture->plot.height = ceil(b.y - between + margin / 2);
  return MM_OK;
}

mm_status mm_map_figure_write(const mm_map_figure_config *config, const mm_map *const *maps,
                              const char *const *names, size_t n_map, const char *path) {
  MM_TRY(check(config, n_map));
  mm_map_picture picture = { .config = *config, .maps = maps, .n_map = n_map };
  set_labels(&picture, names);
  picture.plot.width = page_width(&picture);
  return mm_plot_write(&picture.plot, add_bands(&picture), path);
}
