// SPDX-License-Identifier: Apache-2.0
// The Ant as it is at one moment: its axes, legs, mass matrix and bias forces, for as many
// environments as there are lanes. [host/device]
//
// Everything is seen from the torso's centre along the world's axes, in which x and y do not occur.
// Velocities inside: that of the torso's centre, the torso's turning (along the world's axes, where
// the coordinates have it along its own), then hip and ankle of each leg.
//
// A leg lies in a plane with the torso's axis Z. With d towards its hip, t = Z x d, and the hip
// turned by h: u = cos h d + sin h t is the upper part's direction and w = Z x u the ankle's axis;
// the ankle turned by b gives the lower part's direction l = cos b u - sin b Z. Ankles of legs 2
// and 3 count the other way round; with their signs changed all four legs are the same. Lengths:
// the hip is at L d, the ankle L further along u, the foot 2 L further along l. All products of
// these vectors are known, which leaves little of the mass matrix: hip and ankle do not couple, and
// the ankle's own entry is constant.

#ifndef MM_PHYSICS_ANT_POSE_H
#define MM_PHYSICS_ANT_POSE_H

#include "physics/soft.h"
#include "physics/space.h"

enum { ANT_LEGS = 4, ANT_NV = 14, ANT_NQ = 15, ANT_ENTRIES = ANT_NV * (ANT_NV + 1) / 2 };

#define ANT_HIP(k) (6 + 2 * (k))
#define ANT_ANKLE(k) (7 + 2 * (k))
#define ANT_SIGN(k) ((k) == 0 || (k) == 3 ? 1 : -1)
#define ANT_ENTRY(i, j) ((i) * ((i) + 1) / 2 + (j))
// velocity j moves what velocity i > j moves
#define ANT_RELATED(i, j) ((j) < 6 || (i) / 2 == (j) / 2)

typedef struct ant_model {
  real h, gravity, height, margin, radius, friction;
  real length, mass;                         // L; of everything
  real torso_mass, torso_across, torso_gain; // inertia: across 1 + gain Z Z^T
  real upper_mass, upper_across, upper_gain;
  real lower_mass, lower_across, lower_gain;
  real low[2], high[2], per_limit_weight[2]; // hip, ankle
  real damping, armature, gear;
  real per_touch_weight;
  mm_soft limit, contact;
} ant_model;

static inline void ant_prepare(const mm_body_table *t, double h, void *out) {
  ant_model *m = (ant_model *)out;
  const mm_part *torso = &t->part[0], *upper = &t->part[1], *lower = &t->part[2];
  double mu = t->touch[0].friction, mass = 0, most = 1e30;
  for (int i = 0; i < t->n_part; i++)
    mass += t->part[i].mass;
  m->h = (real)h;
  m->gravity = (real)9.81;
  m->height = (real)t->height;
  m->margin = (real)t->margin;
  m->radius = (real)t->touch[0].radius;
  m->friction = (real)mu;
  m->length = (real)sqrt(2 * upper->anchor[0] * upper->anchor[0]);
  m->mass = (real)mass;
  m->torso_mass = (real)torso->mass;
  m->torso_across = (real)torso->inertia[0];
  m->torso_gain = (real)(torso->inertia[2] - torso->inertia[0]);
  // leg 1 lies along (1, 1, 0): across it is zz, and xy has half of the difference
  m->upper_mass = (real)upper->mass;
  m->upper_across = (real)upper->inertia[2];
  m->upper_gain = (real)(2 * upper->inertia[3]);
  m->lower_mass = (real)lower->mass;
  m->lower_across = (real)lower->inertia[2];
  m->lower_gain = (real)(2 * lower->inertia[3]);
  for (int i = 0; i < 2; i++) {
    const mm_dof *dof = &t->dof[6 + i];
    m->low[i] = (real)(dof->limited ? dof->low : -most);
    m->high[i] = (real)(dof->limited ? dof->high : most);
    m->per_limit_weight[i] = (real)(1 / dof->inverse_weight);
  }
  m->damping = (real)t->dof[6].damping;
  m->armature = (real)t->dof[6].armature;
  m->gear = (real)t->dof[6].gear;
  m->per_touch_weight = (real)(1 / (2 * mu * mu * (1 + mu * mu) * t->touch[0].inverse_weight));
  m->limit = soft_of(&t->limit, h);
  m->contact = soft_of(&t->contact, h);
}

typedef struct ant_leg_pose {
  vec3 u, w, l;
  vec cos_h, sin_h, cos_b, sin_b;
  // the mass matrix between hip, ankle and torso: moving, turning; hip with itself, no armature
  vec3 hip_move, hip_turn, ankle_move, ankle_turn;
  vec hip;
  // contact: where, velocity of that point by hip and ankle, stiffness and references (n, x, y)
  vec3 at, by_hip, by_ankle;
  vec d, ref_n, ref_x, ref_y;
} ant_leg_pose;

// Everything that a step works out once.
typedef struct ant_pose {
  vec3 x, y, z;  // the torso's axes
  vec3 d, t;     // towards hip 1 and hip 2; hips 3 and 4 are opposite
  vec3 first;    // first moment of mass
  form3 inertia; // of everything, about the torso's centre
  ant_leg_pose leg[ANT_LEGS];
  vec tau[ANT_NV];
  vec limit_side[8], limit_ref[8], limit_d[8];
  uint32_t limits, touches; // bit: some lane has it
} ant_pose;

// ---------------------------------------------------------------------------------------------
// Position

BODY_INLINE MM_HD vec3 ant_towards_hip(const ant_pose *p, int k) {
  vec3 d = k % 2 == 0 ? p->d : p->t;
  return k < 2 ? d : opposite(d);
}

// Z x the one before: the direction of the next hip.
BODY_INLINE MM_HD vec3 ant_beside_hip(const ant_pose *p, int k) {
  return ant_towards_hip(p, (k + 1) % 4);
}

// The torso's axes from its quaternion, which is normalised.
BODY_INLINE MM_HD void ant_turn(vec *q, ant_pose *p) {
  vec n = fused(q[6], q[6], fused(q[5], q[5], fused(q[4], q[4], multiply(q[3], q[3]))));
  vec inverse = divide(all_of(1), root(n));
  UNROLL for (int i = 3; i < 7; i++) q[i] = multiply(q[i], inverse);
  vec w = q[3], x = q[4], y = q[5], z = q[6], x2 = add(x, x), y2 = add(y, y), z2 = add(z, z);
  vec xx = multiply(x, x2), yy = multiply(y, y2), zz = multiply(z, z2);
  vec xy = multiply(x, y2), xz = multiply(x, z2), yz = multiply(y, z2);
  vec wx = multiply(w, x2), wy = multiply(w, y2), wz = multiply(w, z2);
  p->x = of_parts(subtract(all_of(1), add(yy, zz)), add(xy, wz), subtract(xz, wy));
  p->y = of_parts(subtract(xy, wz), subtract(all_of(1), add(xx, zz)), add(yz, wx));
  p->z = of_parts(add(xz, wy), subtract(yz, wx), subtract(all_of(1), add(xx, yy)));
  p->d = times(all_of((real)0.70710678118654752440), sum(p->x, p->y));
  p->t = times(all_of((real)0.70710678118654752440), difference(p->y, p->x));
}

// From the torso's axes to the world's, and back.
BODY_INLINE MM_HD vec3 ant_outward(const ant_pose *p, vec3 a) {
  return along(a.z, p->z, along(a.y, p->y, times(a.x, p->x)));
}
BODY_INLINE MM_HD vec3 ant_inward(const ant_pose *p, vec3 a) {
  return of_parts(inner(p->x, a), inner(p->y, a), inner(p->z, a));
}

BODY_INLINE MM_HD void ant_place_leg(const ant_model *m, const vec *q, int k, ant_pose *p) {
  ant_leg_pose *leg = &p->leg[k];
  const vec3 d = ant_towards_hip(p, k), t = ant_beside_hip(p, k);
  const real length = m->length, square = length * length;
  const vec mass_l = all_of(m->lower_mass * length), mass_ll = all_of(m->lower_mass * square);
  sincos_of(q[1 + ANT_HIP(k)], &leg->sin_h, &leg->cos_h);
  sincos_of(q[1 + ANT_ANKLE(k)], &leg->sin_b, &leg->cos_b);
  vec cb = leg->cos_b, sb = leg->sin_b, reach = add(all_of(1), cb);
  leg->u = along(leg->sin_h, t, times(leg->cos_h, d));
  leg->w = along(leg->cos_h, t, times(subtract(zero(), leg->sin_h), d));
  leg->l = along(subtract(zero(), sb), p->z, times(cb, leg->u));
  // momentum of a turning hip: moved w; about the hip turned Z + bent u
  vec moved = fused(mass_l, reach, all_of(m->upper_mass * length / 2));
  vec slim = multiply(all_of(m->lower_gain), sb);
  vec turned = fused(multiply(mass_ll, reach), reach,
                     all_of(m->upper_across + m->upper_mass * square / 4 + m->lower_across));
  turned = fused(slim, sb, turned);
  vec bent = fused_minus(slim, cb, multiply(multiply(mass_ll, reach), sb));
  leg->hip_move = times(moved, leg->w);
  leg->hip_turn =
      along(bent, leg->u, times(fused(multiply(all_of(length), moved), leg->cos_h, turned), p->z));
  leg->hip = turned;
  // and of a turning ankle
  vec across = fused(mass_ll, reach, all_of(m->lower_across));
  leg->ankle_move = along(subtract(zero(), multiply(mass_l, cb)), p->z,
                          times(subtract(zero(), multiply(mass_l, sb)), leg->u));
  leg->ankle_turn = along(subtract(zero(), multiply(multiply(mass_ll, sb), leg->sin_h)), p->z,
                          along(multiply(mass_ll, cb), t, times(across, leg->w)));
}

// First moment and inertia of the whole, about the torso's centre.
BODY_INLINE MM_HD void ant_weigh(const ant_model *m, ant_pose *p) {
  const real length = m->length;
  form3 s;
  real round = m->torso_across + 4 * (m->upper_across + m->lower_across);
  s.xx = s.yy = s.zz = all_of(round);
  s.xy = s.xz = s.yz = zero();
  s = with_square(s, all_of(m->torso_gain), p->z);
  p->first = nowhere();
  UNROLL for (int k = 0; k < ANT_LEGS; k++) {
    const ant_leg_pose *leg = &p->leg[k];
    const vec3 hip = times(all_of(length), ant_towards_hip(p, k));
    const vec3 upper = along(all_of(length / 2), leg->u, hip);
    const vec3 lower = along(all_of(length), sum(leg->u, leg->l), hip);
    // the hips' own offsets cancel each other
    p->first = along(all_of(m->upper_mass * length / 2 + m->lower_mass * length), leg->u, p->first);
    p->first = along(all_of(m->lower_mass * length), leg->l, p->first);
    s = with_square(s, all_of(m->upper_gain), leg->u);
    s = with_square(s, all_of(m->lower_gain), leg->l);
    s = with_square(s, all_of(-m->upper_mass), upper);
    s = with_square(s, all_of(-m->lower_mass), lower);
    s = with_diagonal(s, fused(all_of(m->lower_mass), inner(lower, lower),
                               multiply(all_of(m->upper_mass), inner(upper, upper))));
  }
  p->inertia = s;
}

// ---------------------------------------------------------------------------------------------
// Forces that no acceleration would take

// Moment of an axisymmetric part with axis n: its inertia (across 1 + gain n n^T) times `alpha`,
// and what the turning w takes.
BODY_INLINE MM_HD vec3 ant_moment(real across, real gain, vec3 n, vec3 alpha, vec3 w) {
  vec3 out = along(multiply(all_of(gain), inner(n, alpha)), n, times(all_of(across), alpha));
  return along(multiply(all_of(gain), inner(n, w)), cross(w, n), out);
}

// Acceleration of the end of the unit vector n on a part that turns with w and alpha.
BODY_INLINE MM_HD vec3 ant_swing(vec3 n, vec3 alpha, vec3 w) {
  return cross_add(alpha, n, cross(w, cross(w, n)));
}

// Adds a leg's part to the force and moment on the torso.
BODY_INLINE MM_HD void ant_bias_leg(const ant_model *m, const ant_pose *p, int k, vec3 lift, vec3 w,
                                    const vec *v, vec *bias, vec3 *force, vec3 *moment) {
  const ant_leg_pose *leg = &p->leg[k];
  const real length = m->length;
  const vec3 hip = times(all_of(length), ant_towards_hip(p, k));
  const vec hip_rate = v[ANT_HIP(k)], ankle_rate = v[ANT_ANKLE(k)];
  vec3 wu = along(hip_rate, p->z, w), alpha_u = times(hip_rate, cross(w, p->z));
  vec3 wl = along(ankle_rate, leg->w, wu), alpha_l = along(ankle_rate, cross(wu, leg->w), alpha_u);
  vec3 swing = ant_swing(leg->u, alpha_u, wu);
  vec3 hip_a = sum(lift, cross(w, cross(w, hip)));
  vec3 upper_f = times(all_of(m->upper_mass), along(all_of(length / 2), swing, hip_a));
  vec3 ankle_a = along(all_of(length), swing, hip_a);
  vec3 lower_f =
      times(all_of(m->lower_mass), along(all_of(length), ant_swing(leg->l, alpha_l, wl), ankle_a));
  vec3 lower_n = ant_moment(m->lower_across, m->lower_gain, leg->l, alpha_l, wl);
  vec3 about_ankle = cross_add(times(all_of(length), leg->l), lower_f, lower_n);
  vec3 arm_f = along(all_of((real)0.5), upper_f, lower_f); // the upper part's centre is half way
  vec3 about_hip =
      sum(about_ankle, ant_moment(m->upper_across, m->upper_gain, leg->u, alpha_u, wu));
  about_hip = cross_add(times(all_of(length), leg->u), arm_f, about_hip);
  vec3 both_f = sum(upper_f, lower_f);
  bias[ANT_ANKLE(k)] = inner(leg->w, about_ankle);
  bias[ANT_HIP(k)] = inner(p->z, about_hip);
  *force = sum(*force, both_f);
  *moment = sum(*moment, cross_add(hip, both_f, about_hip));
}

// w: the torso's turning.
BODY_INLINE MM_HD void ant_bias(const ant_model *m, const ant_pose *p, vec3 w, const vec *v,
                                vec *bias) {
  vec3 lift = of_parts(zero(), zero(), all_of(m->gravity));
  vec3 force = times(all_of(m->torso_mass), lift);
  vec3 moment = ant_moment(m->torso_across, m->torso_gain, p->z, nowhere(), w);
  UNROLL for (int k = 0; k < ANT_LEGS; k++)
      ant_bias_leg(m, p, k, lift, w, v, bias, &force, &moment);
  put3(bias, force);
  put3(bias + 3, moment);
}

#endif
