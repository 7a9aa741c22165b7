// SPDX-License-Identifier: Apache-2.0
// Pictures of reproductions. The path's ending (.svg, .pdf, .png) chooses the format;
// MM_ERR_UNSUPPORTED where gnuplot is missing.

#ifndef MM_PAPER_ARTEFACT_FIGURE_H
#define MM_PAPER_ARTEFACT_FIGURE_H

#include "mirrormap/map.h"
#include "paper/artefact.h"

typedef struct mm_artefact_row {
  const char *curve; // name of the cells' curve
  const char *title;
  bool from_zero; // the axis begins at 0
} mm_artefact_row;

// A grid: a row per curve, a column per environment, a line with a band of one standard error per
// map.
typedef struct mm_artefact_grid {
  const mm_artefact_row *row;
  const char *const *env, *const *title; // [n_env]
  const char *const *map;                // [n_map], at most MM_FIGURE_LINES
  size_t n_row, n_env, n_map;
  const char *target, *heading;
  // Below these rows, for AMPO: potentials and policies of the learned maps beside l2 and the
  // negative entropy. NULL: none.
  const mm_map *const *learned; // [n_env]
  const size_t *n_action;       // [n_env]
  double eta;
} mm_artefact_grid;

mm_status mm_artefact_figure_grid(const mm_artefact *r, const mm_artefact_grid *grid,
                                  const char *path);

// How many bytes of a label go into a line of at most so many, which ends behind a comma.
size_t mm_artefact_line(const char *text, size_t most);

// Copies that line and returns where the next one begins.
const char *mm_artefact_next_line(const char *text, size_t most, char line[MM_ARTEFACT_TEXT]);

// The table of maps and environments: our number, its standard error and the paper's in each cell,
// coloured where it is above the negative entropy.
mm_status mm_artefact_figure_table(const mm_artefact *r, const char *const *map, size_t n_map,
                                   const char *const *env, size_t n_env, const char *target,
                                   const char *path);

#endif
