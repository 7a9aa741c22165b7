// SPDX-License-Identifier: Apache-2.0
// Scenes as pixels.

#ifndef MM_SHOW_RENDER_H
#define MM_SHOW_RENDER_H

#include "show/picture/picture.h"
#include "show/picture/raster.h"

// The usual size of a picture.
void mm_scene_size(const mm_scene *scene, int32_t *width, int32_t *height);

// What mm_scene_cells and mm_scene_shapes made, as large as fits, in the middle.
void mm_scene_draw_cells(const mm_scene *scene, const uint8_t *cell, const mm_raster *raster);
void mm_scene_draw_shapes(const mm_scene *scene, const mm_shape *shape, int n,
                          const mm_raster *raster);

#endif
