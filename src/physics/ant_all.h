// SPDX-License-Identifier: Apache-2.0
// The Ant as Gymnasium's -v4 has it: the torso's ball and both ends of every capsule touch the
// floor, and a step is Runge and Kutta's of the fourth order. [host/device]
//
// Poses, matrices and limits are those of ant.h; here are more contacts, each with the velocities
// that it knows of, and another step around them. The pyramid of a capsule's contact stands along
// the capsule, as the library has it; that of a ball along x and y.

#ifndef MM_PHYSICS_ANT_ALL_H
#define MM_PHYSICS_ANT_ALL_H

#include "physics/ant.h"

enum { ant_all_nq = ANT_NQ, ant_all_nv = ANT_NV, ant_all_nu = 8 };

// The ball, then for each leg the ends of its capsules: two fixed to the torso, two of the upper
// part, two of the lower one.
enum { ANT_ALL_TOUCHES = 25, ANT_ALL_WORDS = 4 };

typedef struct ant_all_model {
  ant_model ant; // first, for what takes that
  real radius[ANT_ALL_TOUCHES], per_touch_weight[ANT_ALL_TOUCHES];
} ant_all_model;

static inline void ant_all_prepare(const mm_body_table *t, double h, void *out) {
  ant_all_model *m = (ant_all_model *)out;
  ant_prepare(t, h, &m->ant);
  for (int k = 0; k < ANT_ALL_TOUCHES; k++) {
    double mu = t->touch[k].friction;
    m->radius[k] = (real)t->touch[k].radius;
    m->per_touch_weight[k] = (real)(1 / (2 * mu * mu * (1 + mu * mu) * t->touch[k].inverse_weight));
  }
}

// A contact: where, velocity of that point by hip and ankle, stiffness and references. Its own x
// and y are (c, s) and (-s, c).
typedef struct ant_all_touch {
  int place, leg, known; // in the list; its leg; velocities that move it: 6, 7 or 8
  vec3 at, by_hip, by_ankle;
  vec c, s, d, ref_n, ref_x, ref_y;
} ant_all_touch;

typedef struct ant_all_touches {
  int n; // those that some lane has
  ant_all_touch touch[ANT_ALL_TOUCHES];
} ant_all_touches;

// The rows that push, and how stiff those of a contact are together, along the world's axes.
typedef struct ant_all_stiff {
  vec nn, nx, ny, xx, xy, yy;
} ant_all_stiff;

typedef struct ant_all_rows {
  bits set[ANT_ALL_WORDS];
  vec limit[8];
  ant_all_stiff touch[ANT_ALL_TOUCHES];
} ant_all_rows;

// ---------------------------------------------------------------------------------------------
// Contacts

BODY_INLINE MM_HD vec3 ant_all_point(const ant_all_touch *c, const vec *v, vec3 turn) {
  vec3 out = cross_add(turn, c->at, take3(v));
  if (c->known > 6) out = along(v[ANT_HIP(c->leg)], c->by_hip, out);
  if (c->known > 7) out = along(v[ANT_ANKLE(c->leg)], c->by_ankle, out);
  return out;
}

// The direction of `axis` over the floor; one that stands upright counts as x.
BODY_INLINE MM_HD void ant_all_lay(vec3 axis, ant_all_touch *c) {
  vec size = root(fused(axis.y, axis.y, multiply(axis.x, axis.x)));
  mask upright = below(size, all_of((real)1e-15));
  vec inverse = divide(all_of(1), greatest(size, all_of((real)1e-15)));
  c->c = choose(upright, all_of(1), multiply(axis.x, inverse));
  c->s = choose(upright, zero(), multiply(axis.y, inverse));
}

// Along the contact's own x and y.
BODY_INLINE MM_HD vec3 ant_all_own(const ant_all_touch *c, vec3 a) {
  return of_parts(fused(c->s, a.y, multiply(c->c, a.x)),
                  fused_minus(c->s, a.x, multiply(c->c, a.y)), a.z);
}

// Sphere k with its centre at `centre`, seen from the torso's, of a capsule along `axis`; the hip
// and the ankle of its leg.
BODY_INLINE MM_HD void ant_all_find(const ant_all_model *m, const ant_pose *p, int k, vec3 centre,
                                    vec3 axis, vec3 hip, vec3 ankle, vec height, const vec *v,
                                    vec3 turn, ant_all_touches *out) {
  const ant_model *ant = &m->ant;
  vec distance = add(centre.z, subtract(height, all_of(m->radius[k])));
  vec rho = subtract(distance, all_of(ant->margin));
  mask active = below(rho, zero());
  if (!some(active)) return;
  ant_all_touch *c = &out->touch[out->n++];
  c->place = k;
  c->leg = k > 0 ? (k - 1) / 6 : 0;
  c->known = k > 0 ? 6 + (k - 1) % 6 / 2 : 6;
  c->at = centre;
  c->at.z = fused_minus(all_of((real)0.5), distance, subtract(centre.z, all_of(m->radius[k])));
  c->by_hip = cross(p->z, difference(c->at, hip));
  c->by_ankle = cross(p->leg[c->leg].w, difference(c->at, ankle));
  ant_all_lay(axis, c);
  vec3 velocity = ant_all_own(c, ant_all_point(c, v, turn));
  vec imp = impedance(&ant->contact, rho), slow = all_of(-ant->contact.damping * ant->friction);
  vec ref =
      fused_minus(all_of(ant->contact.damping), velocity.z, pushed_back(&ant->contact, imp, rho));
  c->d = stiffness(imp, m->per_touch_weight[k]);
  c->ref_n = choose(active, ref, all_of(MM_NEVER));
  c->ref_x = multiply(slow, velocity.x);
  c->ref_y = multiply(slow, velocity.y);
}

BODY_INLINE MM_HD void ant_all_find_touches(const ant_all_model *m, const ant_pose *p, vec height,
                                            const vec *v, vec3 turn, ant_all_touches *out) {
  const vec length = all_of(m->ant.length);
  out->n = 0;
  ant_all_find(m, p, 0, nowhere(), nowhere(), nowhere(), nowhere(), height, v, turn, out);
  for (int leg = 0; leg < ANT_LEGS; leg++) {
    const vec3 d = ant_towards_hip(p, leg), hip = times(length, d);
    const vec3 axis[3] = { d, p->leg[leg].u, p->leg[leg].l };
    const vec3 ankle = along(length, p->leg[leg].u, hip);
    const vec3 foot = along(add(length, length), p->leg[leg].l, ankle);
    const vec3 centre[6] = { nowhere(), hip, hip, ankle, ankle, foot };
    for (int i = 0; i < 6; i++)
      ant_all_find(m, p, 1 + 6 * leg + i, centre[i], axis[i / 2], hip, ankle, height, v, turn, out);
  }
}

// ---------------------------------------------------------------------------------------------
// Newton's method

BODY_INLINE MM_HD void ant_all_note(ant_all_rows *rows, int row, mask active) {
  rows->set[row / 32] = with_bit(rows->set[row / 32], active, 1u << row % 32);
}

// Takes the force of a contact off g: rows n + mu x, n - mu x, n + mu y, n - mu y.
BODY_INLINE MM_HD void ant_all_push(const ant_all_model *m, const ant_all_touch *c, const vec *a,
                                    ant_all_rows *rows, ant_all_stiff *stiff, vec *g) {
  const real friction = m->ant.friction;
  const vec mu = all_of(friction), square = all_of(friction * friction);
  vec3 point = ant_all_own(c, ant_all_point(c, a, take3(a + 3)));
  vec rn = subtract(point.z, c->ref_n);
  vec rx = fused(mu, point.x, subtract(zero(), c->ref_x));
  vec ry = fused(mu, point.y, subtract(zero(), c->ref_y));
  vec r[4] = { add(rn, rx), subtract(rn, rx), add(rn, ry), subtract(rn, ry) }, on[4], f[4];
  UNROLL for (int i = 0; i < 4; i++) {
    mask active = below(r[i], zero());
    ant_all_note(rows, 4 * c->place + i, active);
    on[i] = where(active, c->d);
    f[i] = multiply(on[i], r[i]);
  }
  vec nx = multiply(mu, subtract(on[0], on[1])), ny = multiply(mu, subtract(on[2], on[3]));
  vec xx = multiply(square, add(on[0], on[1])), yy = multiply(square, add(on[2], on[3]));
  vec cc = multiply(c->c, c->c), ss = multiply(c->s, c->s);
  stiff->nn = add(add(on[0], on[1]), add(on[2], on[3]));
  stiff->nx = fused_minus(c->s, ny, multiply(c->c, nx));
  stiff->ny = fused(c->c, ny, multiply(c->s, nx));
  stiff->xx = fused(ss, yy, multiply(cc, xx));
  stiff->xy = multiply(multiply(c->c, c->s), subtract(xx, yy));
  stiff->yy = fused(cc, yy, multiply(ss, xx));
  vec fx = multiply(mu, subtract(f[0], f[1])), fy = multiply(mu, subtract(f[2], f[3]));
  vec3 force = of_parts(fused_minus(c->s, fy, multiply(c->c, fx)),
                        fused(c->c, fy, multiply(c->s, fx)), add(add(f[0], f[1]), add(f[2], f[3])));
  const int hip = ANT_HIP(c->leg);
  subtract3(g, force);
  subtract3(g + 3, cross(c->at, force));
  if (c->known > 6) g[hip] = subtract(g[hip], inner(c->by_hip, force));
  if (c->known > 7) g[hip + 1] = subtract(g[hip + 1], inner(c->by_ankle, force));
}

// g = tau - M a + J^T D (aref - J a), and the rows that push.
BODY_INLINE MM_HD void ant_all_gradient(const ant_all_model *m, const ant_pose *p,
                                        const ant_all_touches *t, const vec *a, ant_all_rows *rows,
                                        vec *g) {
  ant_inertial(&m->ant, p, a, g);
  UNROLL for (int i = 0; i < ANT_NV; i++) g[i] = subtract(p->tau[i], g[i]);
  UNROLL for (int i = 0; i < ANT_ALL_WORDS; i++) rows->set[i] = no_bits();
  for (int k = 0; k < t->n; k++)
    ant_all_push(m, &t->touch[k], a, rows, &rows->touch[k], g);
  UNROLL for (int i = 0; i < 8; i++) {
    rows->limit[i] = zero();
    if (!(p->limits & 1u << i)) continue;
    vec r = fused(p->limit_side[i], a[i + 6], subtract(zero(), p->limit_ref[i]));
    mask active = below(r, zero());
    rows->limit[i] = where(active, p->limit_d[i]);
    ant_all_note(rows, 4 * ANT_ALL_TOUCHES + i, active);
    g[i + 6] = fused_minus(multiply(rows->limit[i], r), p->limit_side[i], g[i + 6]);
  }
}

// A contact's stiffness G, seen by the velocities that move it: J^T G J.
BODY_INLINE MM_HD void ant_all_stiffen(const ant_all_touch *c, const ant_all_stiff *s, vec *h) {
  const vec none = zero(), one = all_of(1);
  const vec3 r = c->at;
  const vec3 column[8] = { of_parts(one, none, none),
                           of_parts(none, one, none),
                           of_parts(none, none, one),
                           of_parts(none, subtract(none, r.z), r.y),
                           of_parts(r.z, none, subtract(none, r.x)),
                           of_parts(subtract(none, r.y), r.x, none),
                           c->by_hip,
                           c->by_ankle };
  for (int i = 0; i < c->known; i++) {
    const int row = i < 6 ? i : ANT_HIP(c->leg) + i - 6;
    const vec3 b = column[i];
    const vec3 f = of_parts(fused(s->nx, b.z, fused(s->xy, b.y, multiply(s->xx, b.x))),
                            fused(s->ny, b.z, fused(s->yy, b.y, multiply(s->xy, b.x))),
                            fused(s->nn, b.z, fused(s->ny, b.y, multiply(s->nx, b.x))));
    for (int j = 0; j <= i; j++) {
      const int e = ANT_ENTRY(row, j < 6 ? j : ANT_HIP(c->leg) + j - 6);
      h[e] = add(h[e], inner(f, column[j]));
    }
  }
}

BODY_INLINE MM_HD void ant_all_hessian(const ant_all_model *m, const ant_pose *p,
                                       const ant_all_touches *t, const ant_all_rows *rows, vec *h) {
  ant_assemble(&m->ant, p, h);
  for (int k = 0; k < t->n; k++)
    ant_all_stiffen(&t->touch[k], &rows->touch[k], h);
  ant_stiffen_joints(&m->ant, p, rows->limit, h);
}

// As for the other bodies: a lane is done after the first step that began with the same rows as the
// step before, and then waits for the others.
BODY_INLINE MM_HD void ant_all_newton(const ant_all_model *m, const ant_pose *p,
                                      const ant_all_touches *t, int iterations, vec *a) {
  vec h[ANT_ENTRIES], g[ANT_NV];
  bits before[ANT_ALL_WORDS];
  mask done = everywhere(0);
  UNROLL for (int i = 0; i < ANT_ENTRIES; i++) h[i] = zero();
  UNROLL for (int i = 0; i < ANT_ALL_WORDS; i++) before[i] = no_bits();
  for (int it = 0; it < iterations; it++) {
    ant_all_rows rows;
    ant_all_gradient(m, p, t, a, &rows, g);
    mask same = everywhere(it > 0);
    UNROLL for (int i = 0; i < ANT_ALL_WORDS; i++) {
      same = both(same, equal(rows.set[i], before[i]));
      before[i] = rows.set[i];
    }
    if (it == 0 || !every(either(same, done))) {
      ant_all_hessian(m, p, t, &rows, h);
      ant_factor(h);
    }
    ant_solve(h, g);
    UNROLL for (int i = 0; i < ANT_NV; i++) a[i] = choose(done, a[i], add(a[i], g[i]));
    done = either(done, same);
    if (every(done)) break;
  }
}

// ---------------------------------------------------------------------------------------------
// A step

// The acceleration at q, v, from the warm start in `a`; the quaternion is normalised.
BODY_INLINE MM_HD void ant_all_accelerate(const ant_all_model *m, int iterations, const vec *u,
                                          vec *q, const vec *v, vec *a) {
  const ant_model *ant = &m->ant;
  ant_pose p;
  ant_all_touches touches;
  vec bias[ANT_NV];
  ant_place(ant, q, &p);
  vec3 turn = ant_outward(&p, take3(v + 3));
  ant_bias(ant, &p, turn, v, bias);
  UNROLL for (int i = 0; i < ANT_NV; i++) p.tau[i] = subtract(zero(), bias[i]);
  UNROLL for (int i = 0; i < 8; i++) {
    vec t = fused(all_of(ant->gear), u[i], p.tau[i + 6]);
    p.tau[i + 6] = fused_minus(all_of(ant->damping), v[i + 6], t);
  }
  ant_find_limits(ant, q, v, &p);
  ant_all_find_touches(m, &p, add(q[2], all_of(ant->height)), v, turn, &touches);
  vec3 start = ant_outward(&p, take3(a + 3));
  put3(a + 3, start);
  ant_all_newton(m, &p, &touches, iterations, a);
  vec3 end = ant_inward(&p, take3(a + 3));
  put3(a + 3, end);
}

// Four looks at the acceleration: here, twice half a step ahead, a step ahead. Each Newton's method
// starts from the look before. The torso turns once, with the mean of the four turnings. `xpos`: x
// of the last look.
BODY_INLINE MM_HD void ant_all_step(const ant_all_model *m, int iterations, const vec *u, vec *q,
                                    vec *v, vec *a, mask *ok, vec *xpos) {
  const real h = m->ant.h, ahead[4] = { 0, h / 2, h / 2, h };
  const real weight[4] = { (real)1 / 6, (real)1 / 3, (real)1 / 3, (real)1 / 6 };
  vec at[ANT_NQ], speed[ANT_NV], mean_v[ANT_NV], mean_a[ANT_NV];
  UNROLL for (int i = 0; i < ANT_NV; i++) {
    speed[i] = v[i];
    mean_v[i] = mean_a[i] = zero();
  }
  for (int look = 0; look < 4; look++) {
    UNROLL for (int i = 0; i < ANT_NQ; i++) at[i] = q[i];
    if (look > 0) ant_move(ahead[look], speed, at);
    UNROLL for (int i = 0; i < ANT_NV && look > 0; i++) {
      speed[i] = fused(all_of(ahead[look]), a[i], v[i]);
    }
    ant_all_accelerate(m, iterations, u, at, speed, a);
    UNROLL for (int i = 3; i < 7 && look == 0; i++) q[i] = at[i]; // normalised
    *ok = both(*ok, ant_sound(at, speed, a));
    UNROLL for (int i = 0; i < ANT_NV; i++) {
      mean_v[i] = fused(all_of(weight[look]), speed[i], mean_v[i]);
      mean_a[i] = fused(all_of(weight[look]), a[i], mean_a[i]);
    }
  }
  UNROLL for (int i = 0; i < ANT_NV; i++) v[i] = fused(all_of(h), mean_a[i], v[i]);
  ant_move(h, mean_v, q);
  *xpos = at[0];
  *ok = both(*ok, ant_sound(q, v, a));
}

// As ant_block; xpos_offset [LANES] (mm_physics) may be NULL.
BODY_INLINE MM_HD void ant_all_block(const void *model, int iterations, int substeps, size_t stride,
                                     const real *controls, real *q_at, real *v_at, real *warm_at,
                                     uint8_t *bad, real *xpos_offset) {
  const ant_all_model *m = (const ant_all_model *)model;
  vec q[ANT_NQ], v[ANT_NV], a[ANT_NV], action[8], u[8], xpos = zero();
  mask ok = everywhere(1), moved = read_controls(controls, 8, action);
  ant_order(action, u);
  ant_load_state(stride, q_at, v_at, warm_at, q, v, a);
  ok = both(ok, ant_sound(q, v, a));
  for (int s = 0; s < substeps; s++)
    ant_all_step(m, iterations, u, q, v, a, &ok, &xpos);
  if (xpos_offset) store(xpos_offset, choose(ok, subtract(xpos, q[0]), load(xpos_offset)));
  ant_store_state(ok, q, v, a, stride, q_at, v_at, warm_at);
  store_bad(ok, moved, bad);
}

BODY_INLINE MM_HD void ant_all_matrices_at(const void *model, const vec *q, const vec *v, vec *mass,
                                           vec *bias) {
  ant_matrices_at(&((const ant_all_model *)model)->ant, q, v, mass, bias);
}

#endif
