// SPDX-License-Identifier: Apache-2.0
// Observations of an mm_vec as pixels.

#include "mirrormap/render.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "env/vec_internal.h"
#include "show/picture/grid_picture.h"
#include "show/picture/render.h"

enum { USUAL_WIDTH = 400, SIDE_MOST = 8192 };

// What is drawn: a board of cells or shapes, with marks of a Grid-World's own.
typedef struct subject {
  mm_scene scene;
  mm_grid_marks grid;
} subject;

static void find_subject(const mm_vec *vec, subject *out) {
  if (vec->task) {
    mm_grid_picture_marks(vec->task, &out->grid);
    out->scene = out->grid.scene;
  } else {
    mm_scene_find(vec->kind->id, &out->scene);
  }
}

// Width and height in the scene's own units.
static void extent(const mm_scene *scene, double *width, double *height) {
  const bool board = scene->rows > 0;
  *width = board ? scene->columns : scene->box.right - scene->box.left;
  *height = board ? scene->rows : scene->box.top - scene->box.bottom;
}

void mm_scene_size(const mm_scene *scene, int32_t *width, int32_t *height) {
  double w, h;
  extent(scene, &w, &h);
  const double unit = scene->rows > 0 ? fmax(floor(USUAL_WIDTH / w), 1) : USUAL_WIDTH / w;
  *width = (int32_t)fmin(ceil(w * unit - 1e-9), SIDE_MOST);
  *height = (int32_t)fmin(ceil(h * unit - 1e-9), SIDE_MOST);
}

void mm_vec_picture_size(const mm_vec *vec, int32_t *width, int32_t *height) {
  subject s;
  find_subject(vec, &s);
  mm_scene_size(&s.scene, width, height);
}

// ---------------------------------------------------------------------------------------------

// Observation i as floats, whatever its form; false for a list with an input that there is not.
static bool read_floats(const mm_vec *vec, const void *obs, size_t i, float *to) {
  const size_t k = (size_t)vec->info.n_input, entries = (size_t)vec->info.entries;
  const mm_obs_form form = vec->config.obs;
  memset(to, 0, k * sizeof *to);
  if (form == MM_OBS_FLOATS) memcpy(to, (const float *)obs + i * k, k * sizeof *to);
  for (size_t j = 0; form == MM_OBS_COLUMNS && j < k; j++)
    to[j] = ((const float *)obs)[j * vec->info.n + i];
  for (size_t j = 0; form == MM_OBS_BITS && j < k; j++)
    to[j] = (float)(((const uint32_t *)obs)[i * entries + j / 32] >> (j % 32) & 1);
  for (size_t j = 0; form == MM_OBS_LIST && j < entries; j++) {
    const uint16_t input = ((const uint16_t *)obs)[i * entries + j];
    if (input > k) return false;
    if (input < k) to[input] = 1;
  }
  return true;
}

// Where the scene lies in the picture, in the middle.
typedef struct frame {
  double left, top, unit;
} frame;

static frame fit(const mm_scene *scene, const mm_raster *raster) {
  double w, h;
  extent(scene, &w, &h);
  const double unit = fmin(raster->width / w, raster->height / h);
  return (frame){ (raster->width - w * unit) / 2, (raster->height - h * unit) / 2, unit };
}

void mm_scene_draw_cells(const mm_scene *scene, const uint8_t *cell, const mm_raster *raster) {
  const frame f = fit(scene, raster);
  const double edge = f.unit >= 8 && !scene->lettered ? f.unit / 24 : 0; // where one cell ends
  mm_raster_fill(raster, MM_BOARD_COLOUR);
  for (int i = 0; i < scene->rows * scene->columns; i++) {
    if (cell[i] == 0) continue;
    const double x = f.left + i % scene->columns * f.unit, y = f.top + i / scene->columns * f.unit;
    const mm_shape box = mm_shape_box(0, x + edge, y + edge, x + f.unit - edge, y + f.unit - edge);
    mm_raster_draw(raster, &box, scene->mark[cell[i] - 1].colour);
  }
}

void mm_scene_draw_shapes(const mm_scene *scene, const mm_shape *shape, int n,
                          const mm_raster *raster) {
  const frame f = fit(scene, raster);
  mm_raster_fill(raster, MM_PAPER_COLOUR);
  for (int i = 0; i < n; i++) {
    mm_shape h = shape[i];
    h.x = f.left + (h.x - scene->box.left) * f.unit;
    h.x2 = f.left + (h.x2 - scene->box.left) * f.unit;
    h.y = f.top + (scene->box.top - h.y) * f.unit;
    h.y2 = f.top + (scene->box.top - h.y2) * f.unit;
    h.size = fmax(h.size * f.unit, 1);
    mm_raster_draw(raster, &h, scene->mark[h.mark].colour);
  }
}

static void draw(const mm_vec *vec, const subject *s, const float *obs, uint8_t *cell,
                 const mm_raster *raster) {
  if (vec->task)
    mm_grid_picture_cells(vec->task, mm_grid_picture_state(vec->task, obs), cell);
  else if (s->scene.rows > 0)
    mm_scene_cells(&s->scene, obs, cell);
  mm_shape shape[MM_SHAPES_MOST];
  if (s->scene.rows > 0)
    mm_scene_draw_cells(&s->scene, cell, raster);
  else
    mm_scene_draw_shapes(&s->scene, shape, mm_scene_shapes(&s->scene, obs, shape), raster);
}

mm_status mm_vec_render(const mm_vec *vec, const void *obs, size_t i, int32_t width, int32_t height,
                        uint8_t *rgb) {
  const size_t k = (size_t)vec->info.n_input;
  const mm_raster raster = { rgb, width, height };
  subject s;
  if (i >= vec->info.n)
    return MM_FAIL(MM_ERR_INPUT, "picture of environment %zu: expected below %zu", i, vec->info.n);
  if (width < 1 || width > SIDE_MOST || height < 1 || height > SIDE_MOST)
    return MM_FAIL(MM_ERR_INPUT, "picture of %d x %d pixels: expected 1 to %d", width, height,
                   SIDE_MOST);
  find_subject(vec, &s);
  const size_t cells = (size_t)s.scene.rows * (size_t)s.scene.columns;
  float *floats = mm_alloc(k * sizeof *floats + cells);
  if (!floats) return MM_FAIL(MM_ERR_MEMORY, "no memory for a picture");
  const bool good = read_floats(vec, obs, i, floats);
  if (good) draw(vec, &s, floats, (uint8_t *)(floats + k), &raster);
  mm_free(floats);
  return good ? MM_OK
              : MM_FAIL(MM_ERR_INPUT, "picture: an input of the list: expected below %zu", k);
}
