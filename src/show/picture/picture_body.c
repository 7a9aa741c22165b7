// Pictures of Hopper, HalfCheetah and Ant: their capsules from the side, x to the right. The
// observation does not say how far a body has come, so it stays in the middle.

#include <math.h>

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

enum { HOPPER, HALF_CHEETAH, ANT };

// What a body is, and its first coordinate that the observation has: the others follow it.
static const struct {
  mm_body body;
  int n_q, first;
} bodies[] = { [HOPPER] = { MM_BODY_HOPPER, MM_HOPPER_Q, 1 },
               [HALF_CHEETAH] = { MM_BODY_HALF_CHEETAH, MM_HALF_CHEETAH_Q, 1 },
               [ANT] = { MM_BODY_ANT, MM_ANT_Q, 2 } };

// Ant's legs and their capsules in the torso go the same way: to the left where y grows.
static int mark_of(int which, const mm_body_table *table, const mm_capsule *capsule) {
  bool far = which == HOPPER         ? capsule->part != 0
             : which == HALF_CHEETAH ? table->part[capsule->part].name[0] == 'b'
                                     : capsule->to[1] + capsule->from[1] > 0;
  return far ? FAR : NEAR;
}

// What is further away is drawn first.
static int draw(const mm_scene *scene, const float *obs, mm_shape *out) {
  const mm_view *box = &scene->box;
  double q[MM_ANT_Q] = { 0 }, ends[MM_BODY_MOST_CAPSULES][2][3];
  mm_body_table table;
  int n = 0; // 1 + 3 * 13 at most
  for (int k = bodies[scene->which].first; k < bodies[scene->which].n_q; k++)
    q[k] = (double)obs[k - bodies[scene->which].first];
  // the others are observed as they are, Hopper's height above the floor
  if (scene->which == HOPPER) q[1] -= mm_body_describe(MM_BODY_HOPPER)->height[0];
  mm_body_derive(bodies[scene->which].body, MM_FLAVOUR_BRAX, &table);
  mm_body_place(&table, q, ends);
  for (int32_t i = 0; i < table.n_capsule; i++)
    keep_within(box, ends[i]);
  out[n++] = (mm_shape){ MM_SHAPE_LINE, FLOOR, box->left, 0, box->right, 0, 0.02 };
  for (int mark = FAR; mark >= NEAR; mark--)
    for (int32_t i = 0; i < table.n_capsule; i++)
      if (mark_of(scene->which, &table, &table.capsule[i]) == mark)
        n = add_piece(mark, ends[i], table.capsule[i].radius, out, n);
  return n;
}

// The boxes go from below the floor to above.
const mm_scene_entry mm_scenes_body[MM_SCENES_BODY] = {
  { { "Hopper", "Hopper-v4" },
    { hopper_marks, 3, .box = { -1.4, 1.4, -0.1, 1.7 }, .shapes = draw, .which = HOPPER } },
  { { "HalfCheetah", "HalfCheetah-v4" },
    { cheetah_marks, 3, .box = { -1.5, 1.5, -0.1, 1.6 }, .shapes = draw, .which = HALF_CHEETAH } },
  { { "Ant", "Ant-v4" },
    { ant_marks, 3, .box = { -1.5, 1.5, -0.1, 1.6 }, .shapes = draw, .which = ANT } },
};
