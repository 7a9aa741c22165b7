// SPDX-License-Identifier: Apache-2.0
// Scenes by ID, and what they show of an observation. Most environments bring their scene along;
// those of bodies are made here: their capsules from the side, x to the right. The observation does
// not say how far a body has come, so it stays in the middle.

#include "show/picture/picture.h"

#include <math.h>

#include "env/env_internal.h"
#include "env/locomotion/body_laws.h"

#define GREY 0x808080
#define BLUE 0x0087d7
#define VERMILION 0xd75f00

enum { FLOOR, NEAR, FAR };

// ---------------------------------------------------------------------------------------------

static mm_view box_of(const mm_body_words *words) {
  return (mm_view){ words->box.left, words->box.right, words->box.bottom, words->box.top };
}

static mm_shape floor_of(const mm_view *box) {
  return (mm_shape){ MM_SHAPE_LINE, FLOOR, box->left, 0, box->right, 0, 0.02 };
}

// Most of a body does not feel brax' floor, and some jump high: nothing is drawn beyond the box.
static void keep_within(const mm_view *box, double (*end)[3]) {
  for (int k = 0; k < 2; k++) {
    end[k][0] = fmin(fmax(end[k][0], box->left), box->right);
    end[k][2] = fmin(fmax(end[k][2], box->bottom), box->top);
  }
}

static mm_shape ball(int mark, const double *centre, double radius) {
  return (mm_shape){ MM_SHAPE_DISC, mark, centre[0], centre[2], centre[0], centre[2], radius };
}

// A line with round ends, or a ball seen from anywhere; returns the shapes so far.
static int add_piece(int mark, double (*end)[3], double radius, mm_shape *out, int n) {
  const double *from = end[0], *to = end[1];
  if (from[0] != to[0] || from[2] != to[2]) {
    out[n++] = (mm_shape){ MM_SHAPE_LINE, mark, from[0], from[2], to[0], to[2], 2 * radius };
    out[n++] = ball(mark, to, radius);
  }
  out[n++] = ball(mark, from, radius);
  return n;
}

static int mark_of(const mm_body_words *words, const mm_body_table *table, int32_t capsule) {
  return words->is_far(table, &table->capsule[capsule]) ? FAR : NEAR;
}

// What is further away is drawn first.
static int draw(mm_body body, const double *q, mm_shape *out) {
  const mm_body_words *words = mm_body_words_of(body);
  const mm_view box = box_of(words);
  double ends[MM_BODY_MOST_CAPSULES][2][3];
  mm_body_table table;
  int n = 0; // 1 + 3 * 13 at most
  mm_body_derive(body, MM_FLAVOUR_BRAX, &table);
  mm_body_place(&table, q, ends);
  for (int32_t i = 0; i < table.n_capsule; i++)
    keep_within(&box, ends[i]);
  out[n++] = floor_of(&box);
  for (int mark = FAR; mark >= NEAR; mark--)
    for (int32_t i = 0; i < table.n_capsule; i++)
      if (mark_of(words, &table, i) == mark)
        n = add_piece(mark, ends[i], table.capsule[i].radius, out, n);
  return n;
}

// Coordinates from an observation; unseen ones are 0.
static int draw_seen(mm_body body, const float *obs, mm_shape *out) {
  const mm_body_info *info = mm_body_describe(body);
  const mm_body_words *words = mm_body_words_of(body);
  double q[MM_BODY_MOST_Q] = { 0 };
  for (int k = words->first; k < info->nq; k++)
    q[k] = (double)obs[k - words->first];
  if (words->sees_height) q[info->z_index] -= info->height[MM_FLAVOUR_BRAX];
  return draw(body, q, out);
}

// ---------------------------------------------------------------------------------------------

#define SHAPES(NAME, name, id, kernels)                                                            \
  static int name##_shapes(const float *obs, mm_shape *out) {                                      \
    return draw_seen(MM_BODY_##NAME, obs, out);                                                    \
  }
MM_BODY_LIST(SHAPES)

static int (*const shapes[MM_BODY_COUNT])(const float *obs, mm_shape *out) = {
#define ENTRY(NAME, name, id, kernels) [MM_BODY_##NAME] = name##_shapes,
  MM_BODY_LIST(ENTRY)
};

#define MARKS(NAME, name, id, kernels)                                                             \
  [MM_BODY_##NAME] = { { "floor", GREY, '-', 0 },                                                  \
                       { MM_##NAME##_NEAR, BLUE, '#', 0 },                                         \
                       { MM_##NAME##_FAR, VERMILION, '*', 0 } },
static const mm_mark marks[MM_BODY_COUNT][3] = { MM_BODY_LIST(MARKS) };

static bool find_body(const char *id, mm_scene *out) {
  mm_body body;
  mm_flavour flavour;
  if (!mm_body_find(id, &body, &flavour)) return false;
  const mm_body_info *info = mm_body_describe(body);
  const mm_body_words *words = mm_body_words_of(body);
  *out = (mm_scene){ marks[body],
                     3,
                     .box = box_of(words),
                     .shapes = shapes[body],
                     .speed = info->nq - words->first,
                     .seconds = info->h * info->substeps };
  return true;
}

// ---------------------------------------------------------------------------------------------

bool mm_scene_find(const char *id, mm_scene *out) {
  const mm_env_kind *kind = mm_env_kind_find(id);
  if (!kind || !kind->about) return find_body(id, out);
  *out = kind->about->scene;
  return true;
}

void mm_scene_cells(const mm_scene *scene, const float *obs, uint8_t *cell) {
  for (int i = 0; i < scene->rows * scene->columns; i++) {
    const float *channel = obs + i * scene->channels;
    cell[i] = 0;
    for (int k = scene->n_mark - 1; k >= 0; k--)
      if (channel[scene->mark[k].channel] != 0) cell[i] = (uint8_t)(k + 1);
  }
}

// x -> x / (1 + |x|), so that all numbers have room.
static int draw_bars(int n, const float *obs, mm_shape *out) {
  for (int i = 0; i < n; i++) {
    const double x = isfinite(obs[i]) ? (double)obs[i] : 0;
    out[i] = mm_shape_box(0, i - 0.3, 0, i + 0.3, x / (1 + fabs(x)));
  }
  return n;
}

// What a plug-in draws may be anything.
static bool can_be_drawn(const mm_scene *scene, const mm_shape *s) {
  return s->mark >= 0 && s->mark < scene->n_mark && (unsigned)s->kind <= MM_SHAPE_DISC &&
         isfinite(s->x) && isfinite(s->y) && isfinite(s->x2) && isfinite(s->y2) &&
         isfinite(s->size);
}

void mm_scene_begin(mm_scene *scene) {
  scene->ticks = scene->seconds > 0;
  scene->x = 0;
}

void mm_scene_move(mm_scene *scene, const float *obs) {
  if (scene->ticks) scene->x += scene->seconds * (double)obs[scene->speed];
}

// Below the floor, so that the body's motion can be seen although it stays in the middle.
static int add_ticks(const mm_scene *scene, mm_shape *out, int n) {
  const mm_view *box = &scene->box;
  for (double at = ceil(scene->x + box->left) - scene->x; at <= box->right && n < MM_SHAPES_MOST;
       at++)
    out[n++] = mm_shape_line(FLOOR, at, 0, at, box->bottom, 0.02);
  return n;
}

int mm_scene_shapes(const mm_scene *scene, const float *obs, mm_shape *out) {
  if (scene->bars > 0) return draw_bars(scene->bars, obs, out);
  const int n = scene->shapes(obs, out);
  int kept = 0;
  for (int i = 0; i < n && i < MM_SHAPES_MOST; i++)
    if (can_be_drawn(scene, &out[i])) out[kept++] = out[i];
  return scene->ticks && isfinite(scene->x) ? add_ticks(scene, out, kept) : kept;
}
