// SPDX-License-Identifier: Apache-2.0
// Shapes as pixels. A pixel is covered by a shape as far as the signed distance of its centre to
// the shape's edge says, between -1/2 and 1/2 pixels: edges are smooth.

#ifndef MM_SHOW_RASTER_H
#define MM_SHOW_RASTER_H

#include "env/description.h"

typedef struct mm_raster {
  uint8_t *rgb; // [height][width][3]
  int32_t width, height;
} mm_raster;

void mm_raster_fill(const mm_raster *raster, uint32_t colour);

// A shape in units of pixels, y downwards; lines have round ends. Its mark does not count.
void mm_raster_draw(const mm_raster *raster, const mm_shape *shape, uint32_t colour);

#endif
