// SPDX-License-Identifier: Apache-2.0
// Pictures of mirror maps, drawn by gnuplot.

#ifndef MM_SHOW_MAP_FIGURE_H
#define MM_SHOW_MAP_FIGURE_H

#include <stddef.h>

#include "mirrormap/map.h"
#include "show/plot/plot.h"

// What to draw; several panels are laid out in one picture.
enum {
  MM_PANEL_PHI = 1,         // phi against x - phi^-1(1): aligned where phi = 1
  MM_PANEL_PHI_INVERSE = 2, // phi^-1(p) - phi^-1(1)
  MM_PANEL_H = 4,           // a term of h, the integral of the same from 1 to p
  MM_PANEL_POLICY = 8,      // action probabilities against the score scale c, scores c (1, .., |A|)
  MM_PANEL_SIMPLEX = 16,    // divergence from the uniform policy over the 3-action simplex
  MM_PANEL_ALL = 31
};

typedef struct mm_map_figure_config {
  unsigned panels;  // MM_PANEL_* or-ed
  size_t n_action;  // of the policy panel
  double eta;       // multiplies the scores of the policy panel
  double scale_max; // right end of its axis
  const int *line;  // [n_map] line types as in other figures; NULL: by the names
} mm_map_figure_config;

// All panels, 3 actions, eta 0.9, c up to 4.
mm_map_figure_config mm_map_figure_config_default(void);

// Draws maps[n_map], 1 to 8 of them, labelled names[n_map], to `path`; its ending (.svg, .pdf,
// .png) chooses the format. Names may hold anything; those of files are shown without folder and
// .json. MM_ERR_INPUT for what cannot be drawn, MM_ERR_UNSUPPORTED where gnuplot is missing.
mm_status mm_map_figure_write(const mm_map_figure_config *config, const mm_map *const *maps,
                              const char *const *names, size_t n_map, const char *path);

// ---------------------------------------------------------------------------------------------
// Series of a panel, for figures that show maps beside other things

// phi over [left, right] against x - phi^-1(1), clipped at 0 as in a policy.
mm_status mm_map_add_phi(mm_plot *plot, const mm_map *map, double left, double right,
                         mm_series look);

// Action probabilities for the scores eta c (1, .., n_action), c in [0, scale_max], stacked with
// the best action at the bottom.
mm_status mm_map_add_policy(mm_plot *plot, const mm_map *map, size_t n_action, double eta,
                            double scale_max);

#endif
