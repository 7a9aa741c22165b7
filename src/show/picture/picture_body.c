// Pictures of Hopper, HalfCheetah and Ant: their capsules from the side, x to the right. The
// observation does not say how far a body has come, so it stays in the middle.

#include <math.h>
#include <string.h>

#include "env/locomotion/ant.h"
#include "env/locomotion/half_cheetah.h"
#include "env/locomotion/hopper.h"
#include "physics/body.h"
#include "show/picture/picture.h"

#define GREY 0x808080
#define BLUE 0x0087d7
#define VERMILION 0xd75f00

enum { FLOOR, NEAR, FAR };

static const mm_mark hopper_marks[] = { { "floor", GREY, '-', 0 },
                                        { "torso", BLUE, '#', 0 },
                                        { "leg and foot", VERMILION, '*', 0 } };
static const mm_mark cheetah_marks[] = { { "floor", GREY, '-', 0 },
                                         { "torso and front leg", BLUE, '#', 0 },
                                         { "back leg", VERMILION, '*', 0 } };
static const mm_mark ant_marks[] = { { "floor", GREY, '-', 0 },
                                     { "torso and the legs on its right", BLUE, '#', 0 },
                                     { "legs on its left", VERMILION, '*', 0 } };

// Below the floor and above, to the ends of the box.
static const mm_view hopper_box = { -1.4, 1.4, -0.1, 1.7 };
static const mm_view cheetah_box = { -1.5, 1.5, -0.1, 1.6 };
static const mm_view ant_box = { -1.5, 1.5, -0.1, 1.6 };

// ---------------------------------------------------------------------------------------------

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

// Which mark a capsule has.
typedef int marker(const mm_body_table *table, const mm_capsule *capsule);

static int hopper_mark(const mm_body_table *table, const mm_capsule *capsule) {
  (void)table;
  return capsule->part == 0 ? NEAR : FAR;
}

static int cheetah_mark(const mm_body_table *table, const mm_capsule *capsule) {
  return table->part[capsule->part].name[0] == 'b' ? FAR : NEAR;
}

// A leg and its capsule in the torso go the same way: to the left where y grows.
static int ant_mark(const mm_body_table *table, const mm_capsule *capsule) {
  (void)table;
  return capsule->to[1] + capsule->from[1] > 0 ? FAR : NEAR;
}

// What is further away is drawn first.
static int draw(mm_body body, const double *q, const mm_view *box, marker *mark_of, mm_shape *out) {
  double ends[MM_BODY_MOST_CAPSULES][2][3];
  mm_body_table table;
  int n = 0; // 1 + 3 * 13 at most
  mm_body_derive(body, MM_FLAVOUR_BRAX, &table);
  mm_body_place(&table, q, ends);
  for (int32_t i = 0; i < table.n_capsule; i++)
    keep_within(box, ends[i]);
  out[n++] = floor_of(box);
  for (int mark = FAR; mark >= NEAR; mark--)
    for (int32_t i = 0; i < table.n_capsule; i++)
      if (mark_of(&table, &table.capsule[i]) == mark)
        n = add_piece(mark, ends[i], table.capsule[i].radius, out, n);
  return n;
}

// ---------------------------------------------------------------------------------------------
// Coordinates from observations

static int hopper(const float *obs, mm_shape *out) {
  double q[MM_HOPPER_Q] = { 0, (double)obs[0] - mm_body_describe(MM_BODY_HOPPER)->height[0] };
  for (int k = 2; k < MM_HOPPER_Q; k++)
    q[k] = (double)obs[k - 1];
  return draw(MM_BODY_HOPPER, q, &hopper_box, hopper_mark, out);
}

static int half_cheetah(const float *obs, mm_shape *out) {
  double q[MM_HALF_CHEETAH_Q] = { 0 };
  for (int k = 1; k < MM_HALF_CHEETAH_Q; k++)
    q[k] = (double)obs[k - 1];
  return draw(MM_BODY_HALF_CHEETAH, q, &cheetah_box, cheetah_mark, out);
}

static int ant(const float *obs, mm_shape *out) {
  double q[MM_ANT_Q] = { 0 };
  for (int k = 2; k < MM_ANT_Q; k++)
    q[k] = (double)obs[k - 2];
  return draw(MM_BODY_ANT, q, &ant_box, ant_mark, out);
}

// ---------------------------------------------------------------------------------------------

static const struct {
  const char *name;
  const mm_mark *mark;
  const mm_view *box;
  int (*shapes)(const float *obs, mm_shape *out);
} scenes[] = {
  { "Hopper", hopper_marks, &hopper_box, hopper },
  { "HalfCheetah", cheetah_marks, &cheetah_box, half_cheetah },
  { "Ant", ant_marks, &ant_box, ant },
};

bool mm_scene_find_body(const char *id, mm_scene *out) {
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    size_t length = strlen(scenes[i].name);
    if (strncmp(id, scenes[i].name, length) != 0) continue;
    if (id[length] && strcmp(id + length, "-v4") != 0) continue;
    *out = (mm_scene){ scenes[i].mark, 3, .box = *scenes[i].box, .shapes = scenes[i].shapes };
    return true;
  }
  return false;
}
