// SPDX-License-Identifier: Apache-2.0
// Signed distances to lines, boxes and discs.

#include "show/picture/raster.h"

#include <math.h>

static double clip(double x, double low, double high) {
  return fmin(fmax(x, low), high);
}

static double line_distance(const mm_shape *h, double x, double y) {
  const double dx = h->x2 - h->x, dy = h->y2 - h->y, square = dx * dx + dy * dy;
  const double along = square > 0 ? clip(((x - h->x) * dx + (y - h->y) * dy) / square, 0, 1) : 0;
  const double away_x = x - h->x - along * dx, away_y = y - h->y - along * dy;
  return sqrt(away_x * away_x + away_y * away_y) - h->size / 2;
}

static double box_distance(const mm_shape *h, double x, double y) {
  const double across = fmax(fmin(h->x, h->x2) - x, x - fmax(h->x, h->x2));
  const double down = fmax(fmin(h->y, h->y2) - y, y - fmax(h->y, h->y2));
  return fmax(across, down);
}

static double disc_distance(const mm_shape *h, double x, double y) {
  const double dx = x - h->x, dy = y - h->y;
  return sqrt(dx * dx + dy * dy) - h->size;
}

static double (*const distance[])(const mm_shape *, double, double) = {
  [MM_SHAPE_LINE] = line_distance,
  [MM_SHAPE_BOX] = box_distance,
  [MM_SHAPE_DISC] = disc_distance,
};

// ---------------------------------------------------------------------------------------------

static uint8_t channel(uint32_t colour, int k) {
  return (uint8_t)(colour >> (16 - 8 * k));
}

static void blend(uint8_t *rgb, uint32_t colour, double cover) {
  for (int k = 0; k < 3; k++)
    rgb[k] = (uint8_t)(rgb[k] + (channel(colour, k) - rgb[k]) * cover + 0.5);
}

void mm_raster_fill(const mm_raster *raster, uint32_t colour) {
  const size_t n = 3 * (size_t)raster->width * (size_t)raster->height;
  for (size_t i = 0; i < n; i++)
    raster->rgb[i] = channel(colour, (int)(i % 3));
}

// The pixels between two numbers that may be anything.
static int32_t pixel(double at, int32_t most) {
  return at >= 0 ? (int32_t)fmin(at, most) : 0; // false for NaN
}

void mm_raster_draw(const mm_raster *raster, const mm_shape *h, uint32_t colour) {
  const double reach = h->size + 1;
  const int32_t left = pixel(fmin(h->x, h->x2) - reach, raster->width);
  const int32_t right = pixel(fmax(h->x, h->x2) + reach + 1, raster->width);
  const int32_t top = pixel(fmin(h->y, h->y2) - reach, raster->height);
  const int32_t bottom = pixel(fmax(h->y, h->y2) + reach + 1, raster->height);
  for (int32_t y = top; y < bottom; y++) {
    uint8_t *row = raster->rgb + 3 * (size_t)y * (size_t)raster->width;
    for (int32_t x = left; x < right; x++) {
      const double cover = 0.5 - distance[h->kind](h, x + 0.5, y + 0.5);
      if (cover > 0) blend(row + 3 * x, colour, fmin(cover, 1));
    }
  }
}
