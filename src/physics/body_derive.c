// SPDX-License-Identifier: Apache-2.0
// What follows from a body's description: masses, centres and inertias of its parts, the spheres
// that touch the floor, inverse weights from the mass matrix in the zero pose, and where the
// capsules are in any pose.

#include <assert.h>
#include <math.h>
#include <string.h>

#include "physics/body_build.h"
#include "physics/sincos.h"

#define PI 3.14159265358979323846

enum { MOST = MM_BODY_MOST_V };

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

// ---------------------------------------------------------------------------------------------
// Masses

typedef struct piece {
  double mass, centre[3], inertia[6];
} piece;

static const int row_of[6] = { 0, 1, 2, 0, 0, 1 }, column_of[6] = { 0, 1, 2, 1, 2, 2 };

// A cylinder of length 2 L between two half spheres; about its centre.
static piece weigh_capsule(const mm_capsule *c, double density) {
  double d[3], r = c->radius;
  piece out = { 0 };
  for (int k = 0; k < 3; k++) {
    d[k] = c->to[k] - c->from[k];
    out.centre[k] = 0.5 * (c->from[k] + c->to[k]);
  }
  double length = sqrt(dot(d, d)), half = 0.5 * length;
  double cylinder = density * PI * r * r * length, sphere = density * 4.0 / 3 * PI * r * r * r;
  double along = cylinder * r * r / 2 + sphere * 2 * r * r / 5;
  double across = cylinder * (3 * r * r + 4 * half * half) / 12 +
                  sphere * (2 * r * r / 5 + half * half + 3 * half * r / 4);
  out.mass = cylinder + sphere;
  for (int k = 0; k < 6; k++) {
    double dd = length > 0 ? d[row_of[k]] * d[column_of[k]] / (length * length) : 0;
    out.inertia[k] = (k < 3 ? across : 0) + (along - across) * dd;
  }
  return out;
}

// Inertia of a mass at `at` about the origin, added to `inertia`.
static void add_offset(double mass, const double at[3], double inertia[6]) {
  for (int k = 0; k < 6; k++)
    inertia[k] += mass * ((k < 3 ? dot(at, at) : 0) - at[row_of[k]] * at[column_of[k]]);
}

static void weigh_parts(mm_body_build *b) {
  mm_body_table *t = b->table;
  double total = 0, scale = 1;
  for (int32_t i = 0; i < t->n_capsule; i++)
    total += weigh_capsule(&t->capsule[i], b->density[i]).mass;
  if (b->total_mass > 0) scale = b->total_mass / total;
  for (int32_t i = 0; i < t->n_capsule; i++) {
    piece p = weigh_capsule(&t->capsule[i], b->density[i] * scale);
    mm_part *part = &t->part[t->capsule[i].part];
    part->mass += p.mass;
    for (int k = 0; k < 3; k++)
      part->centre[k] += p.mass * p.centre[k]; // the centre after all is summed
    for (int k = 0; k < 6; k++)
      part->inertia[k] += p.inertia[k]; // about the anchor until then
    add_offset(p.mass, p.centre, part->inertia);
  }
  for (int32_t i = 0; i < t->n_part; i++) {
    mm_part *part = &t->part[i];
    for (int k = 0; k < 3; k++)
      part->centre[k] /= part->mass;
    add_offset(-part->mass, part->centre, part->inertia);
  }
}

// ---------------------------------------------------------------------------------------------
// Inverse weights in the zero pose

typedef struct zero_pose {
  double anchor[MM_BODY_MOST_PARTS][3]; // from the root's
  double inverse[MOST][MOST];           // of the mass matrix
} zero_pose;

static void place_anchors(const mm_body_table *t, zero_pose *z) {
  for (int32_t i = 0; i < t->n_part; i++) {
    const double *below = t->part[i].parent >= 0 ? z->anchor[t->part[i].parent] : NULL;
    for (int k = 0; k < 3; k++)
      z->anchor[i][k] = t->part[i].anchor[k] + (below ? below[k] : 0);
  }
}

static bool carries(const mm_body_table *t, int32_t part, int32_t other) {
  while (other >= 0 && other != part)
    other = t->part[other].parent;
  return other == part;
}

// Velocity of the point `at` of a part, and its turning, by a unit of the velocity `d`.
static void column(const mm_body_table *t, const zero_pose *z, int32_t d, int32_t part,
                   const double at[3], double linear[3], double turning[3]) {
  const mm_dof *dof = &t->dof[d];
  memset(linear, 0, 3 * sizeof *linear);
  memset(turning, 0, 3 * sizeof *turning);
  if (!carries(t, dof->part, part)) return;
  if (!dof->hinge) {
    memcpy(linear, dof->axis, 3 * sizeof *linear);
    return;
  }
  double arm[3];
  for (int k = 0; k < 3; k++)
    arm[k] = at[k] - z->anchor[dof->part][k];
  memcpy(turning, dof->axis, 3 * sizeof *turning);
  cross(dof->axis, arm, linear);
}

static double turned(const double inertia[6], const double a[3], const double b[3]) {
  double sum = 0;
  for (int k = 0; k < 6; k++) {
    int r = row_of[k], c = column_of[k];
    sum += inertia[k] * (k < 3 ? a[r] * b[r] : a[r] * b[c] + a[c] * b[r]);
  }
  return sum;
}

static void mass_matrix(const mm_body_table *t, const zero_pose *z, double m[MOST][MOST]) {
  for (int32_t p = 0; p < t->n_part; p++) {
    double linear[MOST][3], turning[MOST][3], at[3];
    for (int k = 0; k < 3; k++)
      at[k] = z->anchor[p][k] + t->part[p].centre[k];
    for (int32_t i = 0; i < t->n_dof; i++) {
      column(t, z, i, p, at, linear[i], turning[i]);
      for (int32_t j = 0; j <= i; j++)
        m[i][j] += t->part[p].mass * dot(linear[i], linear[j]) +
                   turned(t->part[p].inertia, turning[i], turning[j]);
    }
  }
  for (int32_t i = 0; i < t->n_dof; i++)
    m[i][i] += t->dof[i].armature;
}

// The inverse, from the lower triangle of m.
static void invert(int32_t n, double m[MOST][MOST], double inverse[MOST][MOST]) {
  for (int32_t j = 0; j < n; j++) { // m = L L^T, in place
    for (int32_t k = 0; k < j; k++)
      m[j][j] -= m[j][k] * m[j][k];
    assert(m[j][j] > 0);
    m[j][j] = sqrt(m[j][j]);
    for (int32_t i = j + 1; i < n; i++) {
      for (int32_t k = 0; k < j; k++)
        m[i][j] -= m[i][k] * m[j][k];
      m[i][j] /= m[j][j];
    }
  }
  for (int32_t c = 0; c < n; c++) {
    double x[MOST] = { 0 };
    x[c] = 1;
    for (int32_t i = 0; i < n; i++) {
      for (int32_t k = 0; k < i; k++)
        x[i] -= m[i][k] * x[k];
      x[i] /= m[i][i];
    }
    for (int32_t i = n - 1; i >= 0; i--) {
      for (int32_t k = i + 1; k < n; k++)
        x[i] -= m[k][i] * x[k];
      x[i] /= m[i][i];
    }
    for (int32_t i = 0; i < n; i++)
      inverse[i][c] = x[i];
  }
}

// A third of the trace of J M^-1 J^T for the point `at` of a part, seen from its anchor.
static double inverse_weight(const mm_body_table *t, const zero_pose *z, int32_t part,
                             const double at[3]) {
  double linear[MOST][3], turning[3], world[3], sum = 0;
  for (int k = 0; k < 3; k++)
    world[k] = z->anchor[part][k] + at[k];
  for (int32_t i = 0; i < t->n_dof; i++)
    column(t, z, i, part, world, linear[i], turning);
  for (int32_t i = 0; i < t->n_dof; i++)
    for (int32_t j = 0; j < t->n_dof; j++)
      sum += z->inverse[i][j] * dot(linear[i], linear[j]);
  return sum / 3;
}

static void touch(mm_body_table *t, const mm_capsule *c, bool far_end, double friction,
                  double weight) {
  mm_touch *touch = &t->touch[t->n_touch++];
  assert(t->n_touch <= MM_BODY_MOST_TOUCHES);
  *touch = (mm_touch){
    .part = c->part, .radius = c->radius, .friction = friction, .inverse_weight = weight
  };
  memcpy(touch->centre, far_end ? c->to : c->from, sizeof touch->centre);
}

// Both ends of each capsule that touches; of a ball one.
static void add_touches(const mm_body_build *b, const zero_pose *z) {
  mm_body_table *t = b->table;
  for (int32_t i = 0; i < t->n_capsule; i++) {
    const mm_capsule *c = &t->capsule[i];
    bool ball = memcmp(c->from, c->to, sizeof c->from) == 0;
    if (!b->touches[i]) continue;
    double own[3], weight = t->part[c->part].inverse_weight;
    for (int k = 0; k < 3; k++)
      own[k] = 0.5 * (c->from[k] + c->to[k]);
    if (b->own_body[i]) weight = inverse_weight(t, z, c->part, own);
    if (!b->far_end[i]) touch(t, c, false, b->friction[i], weight);
    if (!ball) touch(t, c, true, b->friction[i], weight);
  }
}

void mm_body_weigh(mm_body_build *b) {
  mm_body_table *t = b->table;
  zero_pose z = { 0 };
  double m[MOST][MOST] = { { 0 } };
  weigh_parts(b);
  place_anchors(t, &z);
  mass_matrix(t, &z, m);
  invert(t->n_dof, m, z.inverse);
  for (int32_t i = 0; i < t->n_dof; i++) {
    bool free_joint = t->free_root && i < 6;
    int32_t k = i / 3 * 3;
    t->dof[i].inverse_weight =
        free_joint ? (z.inverse[k][k] + z.inverse[k + 1][k + 1] + z.inverse[k + 2][k + 2]) / 3
                   : z.inverse[i][i];
  }
  for (int32_t i = 0; i < t->n_part; i++)
    t->part[i].inverse_weight = inverse_weight(t, &z, i, t->part[i].centre);
  add_touches(b, &z);
}

// ---------------------------------------------------------------------------------------------
// Where everything is

typedef struct frame {
  double at[3], turn[3][3]; // columns of `turn` are the part's axes
} frame;

static void apply(const frame *f, const double x[3], double out[3]) {
  for (int k = 0; k < 3; k++)
    out[k] = f->at[k] + dot(f->turn[k], x);
}

// turn <- turn times the rotation by `angle` about `axis`.
static void rotate(double turn[3][3], const double axis[3], double angle) {
  double s, c;
  mm_sincos_d(angle, &s, &c);
  for (int k = 0; k < 3; k++) {
    double row[3], across[3];
    memcpy(row, turn[k], sizeof row);
    cross(row, axis, across); // row^T [axis]x
    double on = dot(row, axis) * (1 - c);
    for (int j = 0; j < 3; j++)
      turn[k][j] = c * row[j] + s * across[j] + on * axis[j];
  }
}

static void place_root(const mm_body_table *t, const double *q, frame *f) {
  static const double upright[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  if (!t->free_root) {
    *f = (frame){ .at = { q[0], 0, q[1] + t->height } };
    memcpy(f->turn, upright, sizeof upright);
    rotate(f->turn, t->dof[2].axis, q[2]);
    return;
  }
  double n = sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6]);
  double w = q[3] / n, x = q[4] / n, y = q[5] / n, z = q[6] / n;
  *f = (frame){ .at = { q[0], q[1], q[2] },
                .turn = { { 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y) },
                          { 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x) },
                          { 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y) } } };
}

void mm_body_place(const mm_body_table *t, const double *q,
                   double ends[MM_BODY_MOST_CAPSULES][2][3]) {
  frame f[MM_BODY_MOST_PARTS];
  int32_t extra = t->free_root; // a quaternion has one number more than a turning
  place_root(t, q, &f[0]);
  for (int32_t d = 0; d < t->n_dof; d++) {
    const mm_dof *dof = &t->dof[d];
    const mm_part *part = &t->part[dof->part];
    if (dof->part == 0) continue;
    frame *own = &f[dof->part];
    memcpy(own->turn, f[part->parent].turn, sizeof own->turn);
    apply(&f[part->parent], part->anchor, own->at);
    rotate(own->turn, dof->axis, q[d + extra]);
  }
  for (int32_t i = 0; i < t->n_capsule; i++) {
    apply(&f[t->capsule[i].part], t->capsule[i].from, ends[i][0]);
    apply(&f[t->capsule[i].part], t->capsule[i].to, ends[i][1]);
  }
}
