// The three bands of a picture of maps, private to its files: curves that share one legend; the
// policy, a small panel per map; the simplex, a triangle per map. Each band says how high it will
// be at a given width and draws itself into a box.

#ifndef MM_EXPERIMENT_MAP_FIGURE_BANDS_H
#define MM_EXPERIMENT_MAP_FIGURE_BANDS_H

#include "show/figure/map_figure.h"
#include "show/plot/sheet.h"

enum {
  MM_PICTURE_MAPS = MM_FIGURE_LINES, // at most so many in one picture
  MM_PICTURE_ACTIONS = 64,
  MM_PICTURE_POINTS = 33000 // room for numbers while a panel is prepared
};

typedef struct mm_map_picture {
  mm_map_figure_config config;
  const mm_map *const *maps;        // [n_map]
  char label[MM_PICTURE_MAPS][256]; // names without folder and ending
  size_t n_map;
  mm_sheet sheet;
  double policy_height;        // of the policy panels
  double top[MM_PICTURE_MAPS]; // phi^-1(1)
  double left;                 // of the axis of phi, whose right end is 0.5
  double *x, *y, *points;      // [MM_PICTURE_POINTS]; points often as [n][2]
} mm_map_picture;

// n panels in rows and columns.
typedef struct mm_panel_grid {
  int columns, rows;
  double cell; // width of a column
} mm_panel_grid;

// How many of phi, phi^-1 and h are asked for.
int mm_curve_panels(const mm_map_picture *picture);
mm_status mm_curve_ranges(mm_map_picture *picture); // sets top and left
double mm_curve_band_height(const mm_map_picture *picture, double width);
mm_status mm_curve_band_draw(const mm_map_picture *picture, mm_box box);

// A map's name after a stroke in its colour and dashes; a stroke of length 0 is left out.
void mm_map_key(const mm_map_picture *picture, size_t map, double x, double y, double width,
                double stroke);

// Up to five small panels in a row, otherwise two rows.
mm_panel_grid mm_small_grid(const mm_map_picture *picture, double width);

double mm_policy_band_height(const mm_map_picture *picture, double width);
mm_status mm_policy_band_draw(const mm_map_picture *picture, mm_box box);

double mm_simplex_band_height(const mm_map_picture *picture, double width);
mm_status mm_simplex_band_draw(const mm_map_picture *picture, mm_box box);

#endif
