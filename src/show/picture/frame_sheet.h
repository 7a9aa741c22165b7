// SPDX-License-Identifier: Apache-2.0
// A contact sheet: frames of an episode side by side, each with its label, and the legend of their
// marks, in one picture. SVG is written as it is; gnuplot draws PNG and PDF.

#ifndef MM_EXPERIMENT_FRAME_SHEET_H
#define MM_EXPERIMENT_FRAME_SHEET_H

#include "base/status.h"
#include "show/picture/picture.h"

enum { MM_FRAME_LABEL = 40 };

typedef struct mm_frame {
  const uint8_t *cell;   // [rows * columns] of a board, see mm_scene_cells; or
  const mm_shape *shape; // [n_shape]
  int n_shape;
  char label[MM_FRAME_LABEL];
} mm_frame;

// Draws frame[n] under a title. The ending .svg, .png or .pdf of `path` chooses the format; an old
// picture is replaced once the new one is complete. MM_ERR_UNSUPPORTED where gnuplot is needed and
// missing.
mm_status mm_frame_sheet_write(const mm_scene *scene, const char *title, const mm_frame *frame,
                               size_t n, const char *path);

#endif
