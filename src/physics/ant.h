// SPDX-License-Identifier: Apache-2.0
// One physics step of the Ant, for as many environments as there are lanes: constraints, Newton's
// method, integration. ant_pose.h says how it is seen. [host/device]

#ifndef MM_PHYSICS_ANT_H
#define MM_PHYSICS_ANT_H

#include "physics/ant_pose.h"
#include "physics/controls.h"

enum { ant_nq = ANT_NQ, ant_nv = ANT_NV, ant_nu = 8 };

// ---------------------------------------------------------------------------------------------
// Constraints

BODY_INLINE MM_HD void ant_find_limits(const ant_model *m, const vec *q, const vec *v,
                                       ant_pose *p) {
  p->limits = 0;
  UNROLL for (int i = 0; i < 8; i++) {
    vec down = subtract(q[i + 7], all_of(m->low[i % 2])),
        up = subtract(all_of(m->high[i % 2]), q[i + 7]);
    vec rho = least(down, up);
    mask active = below(rho, zero());
    p->limit_side[i] = p->limit_d[i] = p->limit_ref[i] = zero();
    if (!some(active)) continue;
    vec imp = impedance(&m->limit, rho), side = choose(below(down, up), all_of(1), all_of(-1));
    vec ref = fused_minus(multiply(all_of(m->limit.damping), side), v[i + 6],
                          pushed_back(&m->limit, imp, rho));
    p->limits |= 1u << i;
    p->limit_side[i] = side;
    p->limit_d[i] = stiffness(imp, m->per_limit_weight[i % 2]);
    p->limit_ref[i] = choose(active, ref, all_of(MM_NEVER));
  }
}

// Velocity or acceleration of the point of leg k that touches.
BODY_INLINE MM_HD vec3 ant_point(const ant_leg_pose *leg, int k, vec3 move, vec3 turn,
                                 const vec *v) {
  vec3 out = cross_add(turn, leg->at, move);
  return along(v[ANT_ANKLE(k)], leg->by_ankle, along(v[ANT_HIP(k)], leg->by_hip, out));
}

BODY_INLINE MM_HD void ant_find_touches(const ant_model *m, vec height, vec3 move, vec3 turn,
                                        const vec *v, ant_pose *p) {
  const real length = m->length;
  p->touches = 0;
  UNROLL for (int k = 0; k < ANT_LEGS; k++) {
    ant_leg_pose *leg = &p->leg[k];
    const vec3 hip = times(all_of(length), ant_towards_hip(p, k));
    vec3 lower = times(all_of(2 * length), leg->l), upper = times(all_of(length), leg->u);
    vec reach = add(add(lower.z, upper.z), hip.z);
    vec distance = add(reach, subtract(height, all_of(m->radius)));
    vec rho = subtract(distance, all_of(m->margin));
    mask active = below(rho, zero());
    leg->at = leg->by_hip = leg->by_ankle = nowhere();
    leg->d = leg->ref_n = leg->ref_x = leg->ref_y = zero();
    if (!some(active)) continue;
    // half way between the foot's surface and the floor
    vec3 from_ankle = lower;
    from_ankle.z = fused_minus(all_of((real)0.5), distance, subtract(lower.z, all_of(m->radius)));
    vec3 from_hip = sum(from_ankle, upper);
    leg->at = sum(from_hip, hip);
    leg->by_hip = cross(p->z, from_hip);
    leg->by_ankle = cross(leg->w, from_ankle);
    vec3 velocity = ant_point(leg, k, move, turn, v);
    vec imp = impedance(&m->contact, rho), slow = all_of(-m->contact.damping * m->friction);
    vec ref =
        fused_minus(all_of(m->contact.damping), velocity.z, pushed_back(&m->contact, imp, rho));
    p->touches |= 1u << k;
    leg->d = stiffness(imp, m->per_touch_weight);
    leg->ref_n = choose(active, ref, all_of(MM_NEVER));
    leg->ref_x = multiply(slow, velocity.x);
    leg->ref_y = multiply(slow, velocity.y);
  }
}

// ---------------------------------------------------------------------------------------------
// Matrices

// Lower triangle of the mass matrix, without the armatures.
BODY_INLINE MM_HD void ant_assemble(const ant_model *m, const ant_pose *p, vec *a) {
  const vec3 f = p->first;
  a[ANT_ENTRY(0, 0)] = a[ANT_ENTRY(1, 1)] = a[ANT_ENTRY(2, 2)] = all_of(m->mass);
  a[ANT_ENTRY(1, 0)] = a[ANT_ENTRY(2, 0)] = a[ANT_ENTRY(2, 1)] = zero();
  // turning against moving: [f]x
  a[ANT_ENTRY(3, 0)] = a[ANT_ENTRY(4, 1)] = a[ANT_ENTRY(5, 2)] = zero();
  a[ANT_ENTRY(3, 1)] = subtract(zero(), f.z);
  a[ANT_ENTRY(3, 2)] = f.y;
  a[ANT_ENTRY(4, 0)] = f.z;
  a[ANT_ENTRY(4, 2)] = subtract(zero(), f.x);
  a[ANT_ENTRY(5, 0)] = subtract(zero(), f.y);
  a[ANT_ENTRY(5, 1)] = f.x;
  a[ANT_ENTRY(3, 3)] = p->inertia.xx;
  a[ANT_ENTRY(4, 3)] = p->inertia.xy;
  a[ANT_ENTRY(4, 4)] = p->inertia.yy;
  a[ANT_ENTRY(5, 3)] = p->inertia.xz;
  a[ANT_ENTRY(5, 4)] = p->inertia.yz;
  a[ANT_ENTRY(5, 5)] = p->inertia.zz;
  UNROLL for (int k = 0; k < ANT_LEGS; k++) {
    const ant_leg_pose *leg = &p->leg[k];
    vec *hip = a + ANT_ENTRY(ANT_HIP(k), 0), *ankle = a + ANT_ENTRY(ANT_ANKLE(k), 0);
    put3(hip, leg->hip_move);
    put3(hip + 3, leg->hip_turn);
    hip[ANT_HIP(k)] = leg->hip;
    put3(ankle, leg->ankle_move);
    put3(ankle + 3, leg->ankle_turn);
    ankle[ANT_HIP(k)] = zero();
    ankle[ANT_ANKLE(k)] = all_of(m->lower_across + m->lower_mass * m->length * m->length);
  }
}

// b = M a, armatures included.
BODY_INLINE MM_HD void ant_inertial(const ant_model *m, const ant_pose *p, const vec *a, vec *b) {
  const vec3 move = take3(a), turn = take3(a + 3);
  const vec own = all_of(m->lower_across + m->lower_mass * m->length * m->length + m->armature);
  vec3 force = cross_add(turn, p->first, times(all_of(m->mass), move));
  vec3 moment = cross_add(p->first, move, applied(p->inertia, turn));
  UNROLL for (int k = 0; k < ANT_LEGS; k++) {
    const ant_leg_pose *leg = &p->leg[k];
    vec hip = a[ANT_HIP(k)], ankle = a[ANT_ANKLE(k)];
    force = along(ankle, leg->ankle_move, along(hip, leg->hip_move, force));
    moment = along(ankle, leg->ankle_turn, along(hip, leg->hip_turn, moment));
    b[ANT_HIP(k)] = fused(add(leg->hip, all_of(m->armature)), hip,
                          add(inner(leg->hip_move, move), inner(leg->hip_turn, turn)));
    b[ANT_ANKLE(k)] =
        fused(own, ankle, add(inner(leg->ankle_move, move), inner(leg->ankle_turn, turn)));
  }
  put3(b, force);
  put3(b + 3, moment);
}

// a = L^T D L from the last velocity to the first, so that nothing fills in: L and 1 / D in place.
BODY_INLINE MM_HD void ant_factor(vec *a) {
  UNROLL for (int k = ANT_NV - 1; k >= 0; k--) {
    vec inverse = divide(all_of(1), a[ANT_ENTRY(k, k)]);
    UNROLL for (int i = k - 1; i >= 0; i--) {
      if (!ANT_RELATED(k, i)) continue;
      vec l = multiply(a[ANT_ENTRY(k, i)], inverse);
      UNROLL for (int j = i; j >= 0; j--) {
        if (ANT_RELATED(k, j))
          a[ANT_ENTRY(i, j)] = fused_minus(l, a[ANT_ENTRY(k, j)], a[ANT_ENTRY(i, j)]);
      }
      a[ANT_ENTRY(k, i)] = l;
    }
    a[ANT_ENTRY(k, k)] = inverse;
  }
}

BODY_INLINE MM_HD void ant_solve(const vec *a, vec *b) {
  UNROLL for (int k = ANT_NV - 1; k >= 0; k--) {
    UNROLL for (int i = k - 1; i >= 0; i--) {
      if (ANT_RELATED(k, i)) b[i] = fused_minus(a[ANT_ENTRY(k, i)], b[k], b[i]);
    }
  }
  UNROLL for (int k = 0; k < ANT_NV; k++) {
    b[k] = multiply(b[k], a[ANT_ENTRY(k, k)]);
    UNROLL for (int i = 0; i < k; i++) {
      if (ANT_RELATED(k, i)) b[k] = fused_minus(a[ANT_ENTRY(k, i)], b[i], b[k]);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Newton's method

// The rows that push at an acceleration, and how stiff those of a contact are together: n is up.
typedef struct ant_rows {
  bits set;
  vec limit[8];
  vec nn[ANT_LEGS], nx[ANT_LEGS], ny[ANT_LEGS], xx[ANT_LEGS], yy[ANT_LEGS];
} ant_rows;

// Takes the force of a contact off g: rows n + mu x, n - mu x, n + mu y, n - mu y.
BODY_INLINE MM_HD void ant_push(const ant_model *m, const ant_pose *p, int k, const vec *a,
                                ant_rows *rows, vec *g) {
  const ant_leg_pose *leg = &p->leg[k];
  const vec mu = all_of(m->friction), square = all_of(m->friction * m->friction), d = leg->d;
  vec3 point = ant_point(leg, k, take3(a), take3(a + 3), a);
  vec rn = subtract(point.z, leg->ref_n);
  vec rx = fused(mu, point.x, subtract(zero(), leg->ref_x));
  vec ry = fused(mu, point.y, subtract(zero(), leg->ref_y));
  vec r[4] = { add(rn, rx), subtract(rn, rx), add(rn, ry), subtract(rn, ry) }, on[4], f[4];
  UNROLL for (int i = 0; i < 4; i++) {
    mask active = below(r[i], zero());
    rows->set = with_bit(rows->set, active, 1u << (4 * k + i));
    on[i] = where(active, d);
    f[i] = multiply(on[i], r[i]);
  }
  rows->nn[k] = add(add(on[0], on[1]), add(on[2], on[3]));
  rows->nx[k] = multiply(mu, subtract(on[0], on[1]));
  rows->ny[k] = multiply(mu, subtract(on[2], on[3]));
  rows->xx[k] = multiply(square, add(on[0], on[1]));
  rows->yy[k] = multiply(square, add(on[2], on[3]));
  vec3 force = of_parts(multiply(mu, subtract(f[0], f[1])), multiply(mu, subtract(f[2], f[3])),
                        add(add(f[0], f[1]), add(f[2], f[3])));
  vec3 moment = cross(leg->at, force);
  subtract3(g, force);
  subtract3(g + 3, moment);
  g[ANT_HIP(k)] = subtract(g[ANT_HIP(k)], inner(leg->by_hip, force));
  g[ANT_ANKLE(k)] = subtract(g[ANT_ANKLE(k)], inner(leg->by_ankle, force));
}

// g = tau - M a + J^T D (aref - J a), and the rows that push.
BODY_INLINE MM_HD void ant_gradient(const ant_model *m, const ant_pose *p, const vec *a,
                                    ant_rows *rows, vec *g) {
  ant_inertial(m, p, a, g);
  UNROLL for (int i = 0; i < ANT_NV; i++) g[i] = subtract(p->tau[i], g[i]);
  rows->set = no_bits();
  UNROLL for (int k = 0; k < ANT_LEGS; k++) {
    rows->nn[k] = rows->nx[k] = rows->ny[k] = rows->xx[k] = rows->yy[k] = zero();
    if (p->touches & 1u << k) ant_push(m, p, k, a, rows, g);
  }
  UNROLL for (int i = 0; i < 8; i++) {
    rows->limit[i] = zero();
    if (!(p->limits & 1u << i)) continue;
    vec r = fused(p->limit_side[i], a[i + 6], subtract(zero(), p->limit_ref[i]));
    mask active = below(r, zero());
    rows->limit[i] = where(active, p->limit_d[i]);
    rows->set = with_bit(rows->set, active, 1u << (16 + i));
    g[i + 6] = fused_minus(multiply(rows->limit[i], r), p->limit_side[i], g[i + 6]);
  }
}

// A contact's stiffness, seen by the velocities: J^T G J.
BODY_INLINE MM_HD void ant_stiffen(const ant_leg_pose *leg, int k, const ant_rows *rows, vec *h) {
  const vec nn = rows->nn[k], nx = rows->nx[k], ny = rows->ny[k], xx = rows->xx[k],
            yy = rows->yy[k];
  const vec3 r = leg->at;
  vec *hip = h + ANT_ENTRY(ANT_HIP(k), 0), *ankle = h + ANT_ENTRY(ANT_ANKLE(k), 0);
  vec *w1 = h + ANT_ENTRY(3, 0), *w2 = h + ANT_ENTRY(4, 0), *w3 = h + ANT_ENTRY(5, 0);
  // columns of r x G
  vec3 bx = of_parts(multiply(r.y, nx), fused_minus(r.x, nx, multiply(r.z, xx)),
                     subtract(zero(), multiply(r.y, xx)));
  vec3 by = of_parts(fused_minus(r.z, yy, multiply(r.y, ny)), subtract(zero(), multiply(r.x, ny)),
                     multiply(r.x, yy));
  vec3 bz =
      of_parts(fused_minus(r.z, ny, multiply(r.y, nn)), fused_minus(r.x, nn, multiply(r.z, nx)),
               fused_minus(r.y, nx, multiply(r.x, ny)));
  h[ANT_ENTRY(0, 0)] = add(h[ANT_ENTRY(0, 0)], xx);
  h[ANT_ENTRY(1, 1)] = add(h[ANT_ENTRY(1, 1)], yy);
  h[ANT_ENTRY(2, 0)] = add(h[ANT_ENTRY(2, 0)], nx);
  h[ANT_ENTRY(2, 1)] = add(h[ANT_ENTRY(2, 1)], ny);
  h[ANT_ENTRY(2, 2)] = add(h[ANT_ENTRY(2, 2)], nn);
  add3(w1, of_parts(bx.x, by.x, bz.x));
  add3(w2, of_parts(bx.y, by.y, bz.y));
  add3(w3, of_parts(bx.z, by.z, bz.z));
  // r x each row of that
  w1[3] = fused(r.y, bz.x, fused_minus(r.z, by.x, w1[3]));
  w2[3] = fused(r.y, bz.y, fused_minus(r.z, by.y, w2[3]));
  w3[3] = fused(r.y, bz.z, fused_minus(r.z, by.z, w3[3]));
  w2[4] = fused(r.z, bx.y, fused_minus(r.x, bz.y, w2[4]));
  w3[4] = fused(r.z, bx.z, fused_minus(r.x, bz.z, w3[4]));
  w3[5] = fused(r.x, by.z, fused_minus(r.y, bx.z, w3[5]));
  const vec3 jh = leg->by_hip, ja = leg->by_ankle;
  vec3 fh = of_parts(fused(nx, jh.z, multiply(xx, jh.x)), fused(ny, jh.z, multiply(yy, jh.y)),
                     fused(nn, jh.z, fused(ny, jh.y, multiply(nx, jh.x))));
  vec3 fa = of_parts(fused(nx, ja.z, multiply(xx, ja.x)), fused(ny, ja.z, multiply(yy, ja.y)),
                     fused(nn, ja.z, fused(ny, ja.y, multiply(nx, ja.x))));
  vec3 th = cross(r, fh), ta = cross(r, fa);
  add3(hip, fh);
  add3(hip + 3, th);
  hip[ANT_HIP(k)] = add(hip[ANT_HIP(k)], inner(jh, fh));
  add3(ankle, fa);
  add3(ankle + 3, ta);
  ankle[ANT_HIP(k)] = add(ankle[ANT_HIP(k)], inner(ja, fh));
  ankle[ANT_ANKLE(k)] = add(ankle[ANT_ANKLE(k)], inner(ja, fa));
}

// The joints' armature, and the limits that push.
BODY_INLINE MM_HD void ant_stiffen_joints(const ant_model *m, const ant_pose *p, const vec *limit,
                                          vec *h) {
  UNROLL for (int i = 0; i < 8; i++) {
    vec d = add(h[ANT_ENTRY(i + 6, i + 6)], all_of(m->armature));
    h[ANT_ENTRY(i + 6, i + 6)] = p->limits & 1u << i ? add(d, limit[i]) : d;
  }
}

BODY_INLINE MM_HD void ant_hessian(const ant_model *m, const ant_pose *p, const ant_rows *rows,
                                   vec *h) {
  ant_assemble(m, p, h);
  UNROLL for (int k = 0; k < ANT_LEGS; k++) {
    if (p->touches & 1u << k) ant_stiffen(&p->leg[k], k, rows, h);
  }
  ant_stiffen_joints(m, p, rows->limit, h);
}

// As for planar bodies: a lane is done after the first step that began with the same rows as the
// step before, and then waits for the others.
BODY_INLINE MM_HD void ant_newton(const ant_model *m, const ant_pose *p, int iterations, vec *a) {
  vec h[ANT_ENTRIES], g[ANT_NV];
  bits before = no_bits();
  mask done = everywhere(0);
  UNROLL for (int i = 0; i < ANT_ENTRIES; i++) h[i] = zero();
  for (int it = 0; it < iterations; it++) {
    ant_rows rows;
    ant_gradient(m, p, a, &rows, g);
    mask same = both(everywhere(it > 0), equal(rows.set, before));
    before = rows.set;
    if (it == 0 || !every(either(same, done))) {
      ant_hessian(m, p, &rows, h);
      ant_factor(h);
    }
    ant_solve(h, g);
    UNROLL for (int i = 0; i < ANT_NV; i++) a[i] = choose(done, a[i], add(a[i], g[i]));
    done = either(done, same);
    if (every(done)) break;
  }
}

// ---------------------------------------------------------------------------------------------

BODY_INLINE MM_HD mask ant_sound(const vec *q, const vec *v, const vec *a) {
  const vec most = all_of((real)MM_PHYSICS_LARGEST);
  mask ok = everywhere(1);
  UNROLL for (int i = 0; i < ANT_NQ; i++) ok = both(ok, below(size_of(q[i]), most));
  UNROLL for (int i = 0; i < ANT_NV; i++) {
    ok = both(ok, below(size_of(v[i]), most));
    ok = both(ok, below(size_of(a[i]), most));
  }
  return ok;
}

// The quaternion, turned by h times the turning along the torso's own axes.
BODY_INLINE MM_HD void ant_spin(real h, const vec *v, vec *q) {
  vec rate = root(fused(v[5], v[5], fused(v[4], v[4], multiply(v[3], v[3])))), s, c;
  sincos_of(multiply(all_of(h / 2), rate), &s, &c);
  s = divide(s, greatest(rate, all_of((real)1e-30)));
  vec x = multiply(s, v[3]), y = multiply(s, v[4]), z = multiply(s, v[5]);
  vec qw = q[3], qx = q[4], qy = q[5], qz = q[6];
  q[3] = fused_minus(qz, z, fused_minus(qy, y, fused_minus(qx, x, multiply(qw, c))));
  q[4] = fused_minus(qz, y, fused(qy, z, fused(qx, c, multiply(qw, x))));
  q[5] = fused_minus(qx, z, fused(qz, x, fused(qy, c, multiply(qw, y))));
  q[6] = fused_minus(qy, x, fused(qx, y, fused(qz, c, multiply(qw, z))));
}

// q moved on by `h` seconds of the velocity v.
BODY_INLINE MM_HD void ant_move(real h, const vec *v, vec *q) {
  UNROLL for (int i = 0; i < 3; i++) q[i] = fused(all_of(h), v[i], q[i]);
  UNROLL for (int i = 6; i < ANT_NV; i++) q[i + 1] = fused(all_of(h), v[i], q[i + 1]);
  ant_spin(h, v, q);
}

// Damping of the joints is taken implicitly: (M + h C) a' = M a.
BODY_INLINE MM_HD void ant_integrate(const ant_model *m, const ant_pose *p, const vec *a, vec *q,
                                     vec *v) {
  vec h[ANT_ENTRIES], b[ANT_NV];
  ant_inertial(m, p, a, b);
  UNROLL for (int i = 0; i < ANT_ENTRIES; i++) h[i] = zero();
  ant_assemble(m, p, h);
  UNROLL for (int i = 6; i < ANT_NV; i++) h[ANT_ENTRY(i, i)] =
      add(h[ANT_ENTRY(i, i)], all_of(m->armature + m->h * m->damping));
  ant_factor(h);
  ant_solve(h, b);
  vec3 turn = ant_inward(p, take3(b + 3));
  put3(b + 3, turn);
  UNROLL for (int i = 0; i < ANT_NV; i++) v[i] = fused(all_of(m->h), b[i], v[i]);
  ant_move(m->h, v, q);
}

BODY_INLINE MM_HD void ant_place(const ant_model *m, vec *q, ant_pose *p) {
  ant_turn(q, p);
  UNROLL for (int k = 0; k < ANT_LEGS; k++) ant_place_leg(m, q, k, p);
  ant_weigh(m, p);
}

// One physics step: q [15], v [14]; u [8] in the order of the velocities, clipped; a [14] the warm
// start, then the acceleration. Where `ok` ends up false the state has diverged.
BODY_INLINE MM_HD void ant_step(const ant_model *m, int iterations, const vec *u, vec *q, vec *v,
                                vec *a, mask *ok) {
  ant_pose p;
  vec bias[ANT_NV];
  ant_place(m, q, &p);
  vec3 move = take3(v), turn = ant_outward(&p, take3(v + 3));
  ant_bias(m, &p, turn, v, bias);
  UNROLL for (int i = 0; i < ANT_NV; i++) p.tau[i] = subtract(zero(), bias[i]);
  UNROLL for (int i = 0; i < 8; i++) {
    vec t = fused(all_of(m->gear), u[i], p.tau[i + 6]);
    p.tau[i + 6] = fused_minus(all_of(m->damping), v[i + 6], t);
  }
  ant_find_limits(m, q, v, &p);
  ant_find_touches(m, add(q[2], all_of(m->height)), move, turn, v, &p);
  vec3 start = ant_outward(&p, take3(a + 3));
  put3(a + 3, start);
  ant_newton(m, &p, iterations, a);
  ant_integrate(m, &p, a, q, v);
  vec3 end = ant_inward(&p, take3(a + 3));
  put3(a + 3, end);
  *ok = both(*ok, ant_sound(q, v, a));
}

// ---------------------------------------------------------------------------------------------
// From columns and back again

// Ankles of legs 2 and 3 the other way round: entry i of a column that has `extra` numbers more
// before the joints than velocities have.
BODY_INLINE MM_HD vec ant_flipped(int i, int extra, vec x) {
  const int joint = i - extra - 6;
  const int flip = joint >= 0 && joint % 2 == 1 && ANT_SIGN(joint / 2) < 0;
  return flip ? subtract(zero(), x) : x;
}

// Controls of the joints; actions begin with leg 4.
BODY_INLINE MM_HD void ant_order(const vec *action, vec *u) {
  UNROLL for (int i = 0; i < 8; i++) u[i] = ant_flipped(i + 6, 0, action[(i + 2) % 8]);
}

BODY_INLINE MM_HD void ant_load_state(size_t stride, const real *q_at, const real *v_at,
                                      const real *warm_at, vec *q, vec *v, vec *a) {
  UNROLL for (int i = 0; i < ANT_NQ; i++) q[i] = ant_flipped(i, 1, load(q_at + (size_t)i * stride));
  UNROLL for (int i = 0; i < ANT_NV; i++) {
    v[i] = ant_flipped(i, 0, load(v_at + (size_t)i * stride));
    a[i] = ant_flipped(i, 0, load(warm_at + (size_t)i * stride));
  }
}

// Leaves a state as it was where `ok` is false.
BODY_INLINE MM_HD void ant_store_state(mask ok, const vec *q, const vec *v, const vec *a,
                                       size_t stride, real *q_at, real *v_at, real *warm_at) {
  UNROLL for (int i = 0; i < ANT_NQ; i++) {
    real *at = q_at + (size_t)i * stride;
    store(at, choose(ok, ant_flipped(i, 1, q[i]), load(at)));
  }
  UNROLL for (int i = 0; i < ANT_NV; i++) {
    real *at = v_at + (size_t)i * stride, *warm = warm_at + (size_t)i * stride;
    store(at, choose(ok, ant_flipped(i, 0, v[i]), load(at)));
    store(warm, choose(ok, ant_flipped(i, 0, a[i]), load(warm)));
  }
}

// `substeps` steps of LANES environments: q, v, warm in columns. A state that went bad is left as
// it was; a quaternion that comes in bad would be normalised before anything else looks at it.
// xpos_offset is NULL: the reward reads coordinate 0.
BODY_INLINE MM_HD void ant_block(const void *model, int iterations, int substeps, size_t stride,
                                 const real *controls, real *q_at, real *v_at, real *warm_at,
                                 uint8_t *bad, real *xpos_offset) {
  const ant_model *m = (const ant_model *)model;
  vec q[ANT_NQ], v[ANT_NV], a[ANT_NV], action[8], u[8];
  mask ok = everywhere(1), moved = read_controls(controls, 8, action);
  (void)xpos_offset;
  ant_order(action, u);
  ant_load_state(stride, q_at, v_at, warm_at, q, v, a);
  UNROLL for (int i = 3; i < 7; i++) ok =
      both(ok, below(size_of(q[i]), all_of((real)MM_PHYSICS_LARGEST)));
  for (int s = 0; s < substeps; s++)
    ant_step(m, iterations, u, q, v, a, &ok);
  ant_store_state(ok, q, v, a, stride, q_at, v_at, warm_at);
  store_bad(ok, moved, bad);
}

// Turned to the torso's axes, as the coordinates have it.
BODY_INLINE MM_HD void ant_matrices_at(const void *model, const vec *q_given, const vec *v_given,
                                       vec *mass, vec *bias) {
  const ant_model *m = (const ant_model *)model;
  ant_pose p;
  vec q[ANT_NQ], v[ANT_NV];
  for (int i = 0; i < ANT_NQ; i++)
    q[i] = ant_flipped(i, 1, q_given[i]);
  for (int i = 0; i < ANT_NV; i++)
    v[i] = ant_flipped(i, 0, v_given[i]);
  ant_place(m, q, &p);
  ant_bias(m, &p, ant_outward(&p, take3(v + 3)), v, bias);
  vec3 moment = ant_inward(&p, take3(bias + 3));
  put3(bias + 3, moment);
  for (int i = 0; i < ANT_NV; i++)
    bias[i] = ant_flipped(i, 0, bias[i]);
  // column by column, as M times a unit vector
  for (int j = 0; j < ANT_NV; j++) {
    vec unit[ANT_NV], column[ANT_NV];
    for (int i = 0; i < ANT_NV; i++)
      unit[i] = ant_flipped(i, 0, all_of(i == j));
    vec3 turn = ant_outward(&p, take3(unit + 3));
    put3(unit + 3, turn);
    ant_inertial(m, &p, unit, column);
    moment = ant_inward(&p, take3(column + 3));
    put3(column + 3, moment);
    for (int i = 0; i < ANT_NV; i++)
      mass[i * ANT_NV + j] = ant_flipped(i, 0, column[i]);
  }
}

#endif
