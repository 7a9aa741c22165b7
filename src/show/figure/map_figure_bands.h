// The three bands of a picture of maps, private to its files: curves that share one legend; the
// policy, a small panel per map; the simplex, a triangle per map. Each adds itself to the page from
// the box's top left corner on, in its width, and says how high it is.

#ifndef MM_SHOW_MAP_FIGURE_BANDS_H
#define MM_SHOW_MAP_FIGURE_BANDS_H

#include "show/figure/map_figure.h"

enum {
  MM_PICTURE_MAPS = MM_FIGURE_LINES, // at most so many in one picture
  MM_PICTURE_ACTIONS = 64
};

typedef struct mm_map_picture {
  mm_map_figure_config config;
  const mm_map *const *maps;        // [n_map]
  char label[MM_PICTURE_MAPS][256]; // names without folder and ending
  size_t n_map;
  mm_plot plot;
  double policy_height; // of the policy panels
} mm_map_picture;

// n panels in rows and columns.
typedef struct mm_panel_grid {
  size_t columns, rows;
  double cell; // width of a column
} mm_panel_grid;

// How many of phi, phi^-1 and h are asked for.
int mm_curve_panels(const mm_map_picture *picture);

// Up to five small panels in a row, otherwise two rows.
mm_panel_grid mm_small_grid(const mm_map_picture *picture, double width);

// A map's name after a stroke in its colour and dashes; a stroke of length 0 is left out.
void mm_map_key(mm_map_picture *picture, size_t map, double x, double y, double width,
                double stroke);

mm_status mm_curve_band_add(mm_map_picture *picture, mm_box box, double *height);
mm_status mm_policy_band_add(mm_map_picture *picture, mm_box box, double *height);
mm_status mm_simplex_band_add(mm_map_picture *picture, mm_box box, double *height);

#endif
