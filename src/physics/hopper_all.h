// Hopper as Gymnasium's -v4 has it: every capsule touches the floor, parts that are not neighbours
// touch each other without friction, and a step is Runge and Kutta's of the fourth order.
// [host/device]
//
// Coordinates are those of planar.inc: x, z, then one angle for each part, all about +y, seen from
// the root's anchor. A hinge at P moves the point r with (r_z - P_z, P_x - r_x). Few rows are there
// at a time, so each has its Jacobian over the six velocities, and matrices are full.

#ifndef MM_PHYSICS_HOPPER_ALL_H
#define MM_PHYSICS_HOPPER_ALL_H

#include <stddef.h>

#include "physics/controls.h"
#include "physics/soft.h"

enum {
  HOPPER_ALL_PARTS = 4, // torso, thigh, leg, foot
  HOPPER_ALL_NV = 6,
  HOPPER_ALL_ENTRIES = 21,
  HOPPER_ALL_TOUCHES = 8, // both ends of each capsule
  HOPPER_ALL_PAIRS = 3,   // torso and leg, torso and foot, thigh and foot
};
#define HOPPER_ALL_ENTRY(i, j) ((i) * ((i) + 1) / 2 + (j))
#define HOPPER_ALL_UPPER(k) ((k) == 2 ? 1 : 0)
#define HOPPER_ALL_LOWER(k) ((k) == 0 ? 2 : 3)
// Segments nearer than this cross each other: there is no direction to push, and the library does
// not either.
#define HOPPER_ALL_CROSSED ((real)1e-6)

typedef struct hopper_all_model {
  real h, gravity, height, margin;
  real offset_x[HOPPER_ALL_PARTS], offset_z[HOPPER_ALL_PARTS]; // anchors, in the parent's frame
  real centre_x[HOPPER_ALL_PARTS], centre_z[HOPPER_ALL_PARTS]; // of mass and of the capsule
  real mass[HOPPER_ALL_PARTS], inertia[HOPPER_ALL_PARTS], carried[HOPPER_ALL_PARTS];
  real axis_x[HOPPER_ALL_PARTS], axis_z[HOPPER_ALL_PARTS]; // of the capsule, a unit
  real half[HOPPER_ALL_PARTS], radius[HOPPER_ALL_PARTS];   // of its axis; its radius
  real friction[HOPPER_ALL_PARTS], per_touch_weight[HOPPER_ALL_PARTS];
  real low[HOPPER_ALL_PARTS], high[HOPPER_ALL_PARTS], per_limit_weight[HOPPER_ALL_PARTS];
  real damping[HOPPER_ALL_PARTS], armature[HOPPER_ALL_PARTS], gear[HOPPER_ALL_PARTS];
  real per_pair_weight[HOPPER_ALL_PAIRS];
  mm_soft limit, contact;
} hopper_all_model;

static inline void hopper_all_prepare_part(const mm_body_table *t, int i, hopper_all_model *m) {
  const mm_part *part = &t->part[i];
  const mm_dof *dof = &t->dof[i + 2];
  const mm_capsule *c = &t->capsule[i];
  const mm_touch *touch = &t->touch[2 * i];
  double x = c->from[0] - c->to[0], z = c->from[2] - c->to[2], length = sqrt(x * x + z * z);
  double mu = touch->friction, carried = 0;
  for (int j = i; j < HOPPER_ALL_PARTS; j++)
    carried += t->part[j].mass;
  m->offset_x[i] = (real)part->anchor[0];
  m->offset_z[i] = (real)part->anchor[2];
  m->centre_x[i] = (real)part->centre[0];
  m->centre_z[i] = (real)part->centre[2];
  m->mass[i] = (real)part->mass;
  m->inertia[i] = (real)part->inertia[1];
  m->carried[i] = (real)carried;
  m->axis_x[i] = (real)(x / length);
  m->axis_z[i] = (real)(z / length);
  m->half[i] = (real)(length / 2);
  m->radius[i] = (real)c->radius;
  m->friction[i] = (real)mu;
  m->per_touch_weight[i] = (real)(1 / (2 * mu * mu * (1 + mu * mu) * touch->inverse_weight));
  m->low[i] = (real)(dof->limited ? -dof->high : -1e30); // the joints' axes are -y
  m->high[i] = (real)(dof->limited ? -dof->low : 1e30);
  m->per_limit_weight[i] = (real)(1 / dof->inverse_weight);
  m->damping[i] = (real)dof->damping;
  m->armature[i] = (real)dof->armature;
  m->gear[i] = (real)-dof->gear;
}

static inline void hopper_all_prepare(const mm_body_table *t, double h, void *out) {
  hopper_all_model *m = (hopper_all_model *)out;
  m->h = (real)h;
  m->gravity = (real)9.81;
  m->height = (real)t->height;
  m->margin = (real)t->margin;
  m->limit = soft_of(&t->limit, h);
  m->contact = soft_of(&t->contact, h);
  for (int i = 0; i < HOPPER_ALL_PARTS; i++)
    hopper_all_prepare_part(t, i, m);
  for (int k = 0; k < HOPPER_ALL_PAIRS; k++)
    m->per_pair_weight[k] = (real)(1 / (t->part[HOPPER_ALL_UPPER(k)].inverse_weight +
                                        t->part[HOPPER_ALL_LOWER(k)].inverse_weight));
}

// A contact: along its normal, and for one with the floor across it.
typedef struct hopper_all_row {
  vec n[HOPPER_ALL_NV], t[HOPPER_ALL_NV];
  vec ref_n, ref_t, d;
} hopper_all_row;

typedef struct hopper_all_pose {
  vec sine[HOPPER_ALL_PARTS], cosine[HOPPER_ALL_PARTS];
  vec px[HOPPER_ALL_PARTS], pz[HOPPER_ALL_PARTS]; // anchors
  vec cx[HOPPER_ALL_PARTS], cz[HOPPER_ALL_PARTS]; // centres
  vec mass[HOPPER_ALL_ENTRIES], tau[HOPPER_ALL_NV];
  vec limit_side[HOPPER_ALL_PARTS], limit_ref[HOPPER_ALL_PARTS], limit_d[HOPPER_ALL_PARTS];
  hopper_all_row touch[HOPPER_ALL_TOUCHES], pair[HOPPER_ALL_PAIRS];
  uint32_t limits, touches, pairs; // bit: some lane has it
} hopper_all_pose;

// ---------------------------------------------------------------------------------------------
// Position and velocity

// (x, z) of a part's frame, turned as the part is.
BODY_INLINE MM_HD void hopper_all_turn(const hopper_all_pose *p, int i, real x, real z, vec *to_x,
                                       vec *to_z) {
  *to_x = fused(all_of(z), p->sine[i], multiply(all_of(x), p->cosine[i]));
  *to_z = fused_minus(all_of(x), p->sine[i], multiply(all_of(z), p->cosine[i]));
}

// Anchors and centres, and the forces that no acceleration would take: gravity as an acceleration
// of the root upwards, and centripetal ones.
BODY_INLINE MM_HD void hopper_all_place(const hopper_all_model *m, const vec *q, const vec *v,
                                        hopper_all_pose *p, vec *bias) {
  vec angle = zero(), w = zero(), ax = zero(), az = all_of(m->gravity), ex, ez;
  vec fx[HOPPER_ALL_PARTS], fz[HOPPER_ALL_PARTS], x = zero(), z = zero(), moment = zero();
  UNROLL for (int i = 0; i < HOPPER_ALL_PARTS; i++) {
    p->px[i] = p->pz[i] = zero();
    if (i > 0) {
      vec ww = multiply(w, w);
      hopper_all_turn(p, i - 1, m->offset_x[i], m->offset_z[i], &ex, &ez);
      p->px[i] = add(p->px[i - 1], ex);
      p->pz[i] = add(p->pz[i - 1], ez);
      ax = fused_minus(ww, ex, ax);
      az = fused_minus(ww, ez, az);
    }
    angle = add(angle, q[i + 2]);
    w = add(w, v[i + 2]);
    sincos_of(angle, &p->sine[i], &p->cosine[i]);
    hopper_all_turn(p, i, m->centre_x[i], m->centre_z[i], &ex, &ez);
    p->cx[i] = add(p->px[i], ex);
    p->cz[i] = add(p->pz[i], ez);
    fx[i] = multiply(all_of(m->mass[i]), fused_minus(multiply(w, w), ex, ax));
    fz[i] = multiply(all_of(m->mass[i]), fused_minus(multiply(w, w), ez, az));
  }
  UNROLL for (int i = HOPPER_ALL_PARTS - 1; i >= 0; i--) {
    x = add(x, fx[i]);
    z = add(z, fz[i]);
    moment = fused(p->cz[i], fx[i], fused_minus(p->cx[i], fz[i], moment));
    bias[i + 2] = fused(p->px[i], z, fused_minus(p->pz[i], x, moment));
  }
  bias[0] = x;
  bias[1] = z;
}

// The mass matrix, armatures included.
BODY_INLINE MM_HD void hopper_all_weigh(const hopper_all_model *m, hopper_all_pose *p) {
  vec hx = zero(), hz = zero(), ww = zero(), *a = p->mass;
  UNROLL for (int i = HOPPER_ALL_PARTS - 1; i >= 0; i--) {
    vec mass = all_of(m->mass[i]), x = multiply(mass, p->cx[i]), z = multiply(mass, p->cz[i]);
    hx = add(hx, x);
    hz = add(hz, z);
    ww = add(ww, fused(z, p->cz[i], fused(x, p->cx[i], all_of(m->inertia[i]))));
    vec kw = fused_minus(p->px[i], hx, fused_minus(p->pz[i], hz, ww));
    vec kx = fused_minus(p->pz[i], all_of(m->carried[i]), hz);
    vec kz = fused(p->px[i], all_of(m->carried[i]), subtract(zero(), hx));
    a[HOPPER_ALL_ENTRY(i + 2, 0)] = kx;
    a[HOPPER_ALL_ENTRY(i + 2, 1)] = kz;
    UNROLL for (int j = 0; j <= i; j++) {
      a[HOPPER_ALL_ENTRY(i + 2, j + 2)] = fused(p->px[j], kz, fused_minus(p->pz[j], kx, kw));
    }
    if (i > 0)
      a[HOPPER_ALL_ENTRY(i + 2, i + 2)] =
          add(a[HOPPER_ALL_ENTRY(i + 2, i + 2)], all_of(m->armature[i]));
  }
  a[HOPPER_ALL_ENTRY(0, 0)] = a[HOPPER_ALL_ENTRY(1, 1)] = all_of(m->carried[0]);
  a[HOPPER_ALL_ENTRY(1, 0)] = zero();
}

// ---------------------------------------------------------------------------------------------
// Rows

BODY_INLINE MM_HD vec hopper_all_along(const vec *row, const vec *v) {
  vec sum = multiply(row[0], v[0]);
  UNROLL for (int i = 1; i < HOPPER_ALL_NV; i++) sum = fused(row[i], v[i], sum);
  return sum;
}

BODY_INLINE MM_HD void hopper_all_find_limits(const hopper_all_model *m, const vec *q, const vec *v,
                                              hopper_all_pose *p) {
  p->limits = 0;
  UNROLL for (int i = 1; i < HOPPER_ALL_PARTS; i++) {
    vec down = subtract(q[i + 2], all_of(m->low[i])), up = subtract(all_of(m->high[i]), q[i + 2]);
    vec rho = least(down, up);
    mask active = below(rho, zero());
    p->limit_side[i] = p->limit_d[i] = p->limit_ref[i] = zero();
    if (!some(active)) continue;
    vec imp = impedance(&m->limit, rho), side = choose(below(down, up), all_of(1), all_of(-1));
    vec ref = fused_minus(multiply(all_of(m->limit.damping), side), v[i + 2],
                          pushed_back(&m->limit, imp, rho));
    p->limits |= 1u << i;
    p->limit_side[i] = side;
    p->limit_d[i] = stiffness(imp, m->per_limit_weight[i]);
    p->limit_ref[i] = choose(active, ref, all_of(MM_NEVER));
  }
}

// The reference along the normal: n and the distance rho below the margin.
BODY_INLINE MM_HD void hopper_all_refer(const hopper_all_model *m, vec rho, mask active,
                                        real per_weight, const vec *v, hopper_all_row *row) {
  vec imp = impedance(&m->contact, rho);
  vec ref = fused_minus(all_of(m->contact.damping), hopper_all_along(row->n, v),
                        pushed_back(&m->contact, imp, rho));
  row->ref_n = choose(active, ref, all_of(MM_NEVER));
  row->d = stiffness(imp, per_weight);
}

// The end k % 2 of capsule k / 2 and the floor.
BODY_INLINE MM_HD void hopper_all_find_touch(const hopper_all_model *m, const vec *q, const vec *v,
                                             int k, hopper_all_pose *p) {
  const int b = k / 2;
  const real side = k % 2 ? -m->half[b] : m->half[b];
  hopper_all_row *row = &p->touch[k];
  vec ex, ez;
  hopper_all_turn(p, b, side * m->axis_x[b], side * m->axis_z[b], &ex, &ez);
  vec z = add(p->cz[b], ez);
  vec distance = add(z, add(q[1], all_of(m->height - m->radius[b])));
  vec rho = subtract(distance, all_of(m->margin));
  mask active = below(rho, zero());
  if (!some(active)) return;
  vec rx = add(p->cx[b], ex);
  vec rz = fused_minus(all_of((real)0.5), distance, subtract(z, all_of(m->radius[b])));
  row->n[0] = row->t[1] = zero();
  row->n[1] = row->t[0] = all_of(1);
  UNROLL for (int i = 0; i < HOPPER_ALL_PARTS; i++) {
    row->n[i + 2] = i <= b ? subtract(p->px[i], rx) : zero();
    row->t[i + 2] = i <= b ? subtract(rz, p->pz[i]) : zero();
  }
  hopper_all_refer(m, rho, active, m->per_touch_weight[b], v, row);
  row->ref_t = multiply(all_of(-m->contact.damping * m->friction[b]), hopper_all_along(row->t, v));
  p->touches |= 1u << k;
}

// Within [-most, most].
BODY_INLINE MM_HD vec hopper_all_within(vec x, real most) {
  return least(all_of(most), greatest(all_of(-most), x));
}

// The nearest points of two capsules' axes, from one to the other.
BODY_INLINE MM_HD void hopper_all_find_pair(const hopper_all_model *m, const vec *v, int k,
                                            hopper_all_pose *p) {
  const int a = HOPPER_ALL_UPPER(k), b = HOPPER_ALL_LOWER(k);
  hopper_all_row *row = &p->pair[k];
  vec ux, uz, wx, wz;
  hopper_all_turn(p, a, m->axis_x[a], m->axis_z[a], &ux, &uz);
  hopper_all_turn(p, b, m->axis_x[b], m->axis_z[b], &wx, &wz);
  vec dx = subtract(p->cx[b], p->cx[a]), dz = subtract(p->cz[b], p->cz[a]);
  vec both_ways = fused(uz, wz, multiply(ux, wx));
  vec on_a = fused(uz, dz, multiply(ux, dx)),
      on_b = subtract(zero(), fused(wz, dz, multiply(wx, dx)));
  vec det = greatest(fused_minus(both_ways, both_ways, all_of(1)), all_of((real)1e-12));
  vec s = hopper_all_within(divide(fused(both_ways, on_b, on_a), det), m->half[a]);
  vec free_t = fused(both_ways, s, on_b), t = hopper_all_within(free_t, m->half[b]);
  mask moved = below(all_of(m->half[b]), size_of(free_t));
  s = choose(moved, hopper_all_within(fused(both_ways, t, on_a), m->half[a]), s);
  // from the point s of a's axis to the point t of b's
  vec nx = fused(t, wx, fused_minus(s, ux, dx)), nz = fused(t, wz, fused_minus(s, uz, dz));
  vec apart = root(fused(nz, nz, multiply(nx, nx)));
  vec distance = subtract(apart, all_of(m->radius[a] + m->radius[b]));
  vec rho = subtract(distance, all_of(m->margin));
  mask active = both(below(rho, zero()), below(all_of(HOPPER_ALL_CROSSED), apart));
  if (!some(active)) return;
  vec unit = divide(all_of(1), greatest(apart, all_of(HOPPER_ALL_CROSSED)));
  nx = multiply(nx, unit);
  nz = multiply(nz, unit);
  vec out = fused(all_of((real)0.5), distance, all_of(m->radius[a]));
  vec x = fused(out, nx, fused(s, ux, p->cx[a])), z = fused(out, nz, fused(s, uz, p->cz[a]));
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) row->n[i] = row->t[i] = zero();
  UNROLL for (int i = a + 1; i <= b; i++) {
    row->n[i + 2] = fused(nx, subtract(z, p->pz[i]), multiply(nz, subtract(p->px[i], x)));
  }
  hopper_all_refer(m, rho, active, m->per_pair_weight[k], v, row);
  row->ref_t = zero();
  p->pairs |= 1u << k;
}

// ---------------------------------------------------------------------------------------------
// Newton's method

// How stiff the rows of a contact are that push: n + mu t, n - mu t, and twice n.
typedef struct hopper_all_stiff {
  vec nn, nt, tt;
} hopper_all_stiff;

typedef struct hopper_all_rows {
  bits set;
  vec limit[HOPPER_ALL_PARTS], pair[HOPPER_ALL_PAIRS];
  hopper_all_stiff touch[HOPPER_ALL_TOUCHES];
} hopper_all_rows;

BODY_INLINE MM_HD void hopper_all_push(const hopper_all_row *row, real mu, int k, const vec *a,
                                       hopper_all_rows *rows, vec *g) {
  vec rn = subtract(hopper_all_along(row->n, a), row->ref_n);
  vec rt = fused(all_of(mu), hopper_all_along(row->t, a), subtract(zero(), row->ref_t));
  vec rp = add(rn, rt), rm = subtract(rn, rt), d = row->d;
  mask on_n = below(rn, zero()), on_p = below(rp, zero()), on_m = below(rm, zero());
  vec dn = where(on_n, add(d, d)), dp = where(on_p, d), dm = where(on_m, d);
  rows->set = with_bit(rows->set, on_n, 1u << 3 * k);
  rows->set = with_bit(rows->set, on_p, 2u << 3 * k);
  rows->set = with_bit(rows->set, on_m, 4u << 3 * k);
  vec fp = multiply(dp, rp), fm = multiply(dm, rm);
  vec fn = fused(dn, rn, add(fp, fm)), ft = multiply(all_of(mu), subtract(fp, fm));
  rows->touch[k].nn = add(dn, add(dp, dm));
  rows->touch[k].nt = multiply(all_of(mu), subtract(dp, dm));
  rows->touch[k].tt = multiply(all_of(mu * mu), add(dp, dm));
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
    g[i] = fused_minus(fn, row->n[i], fused_minus(ft, row->t[i], g[i]));
  }
}

// g = tau - M a + J^T D (aref - J a), and the rows that push.
BODY_INLINE MM_HD void hopper_all_gradient(const hopper_all_model *m, const hopper_all_pose *p,
                                           const vec *a, hopper_all_rows *rows, vec *g) {
  rows->set = no_bits();
  UNROLL for (int i = 0; i < HOPPER_ALL_PARTS; i++) rows->limit[i] = zero();
  UNROLL for (int k = 0; k < HOPPER_ALL_PAIRS; k++) rows->pair[k] = zero();
  UNROLL for (int k = 0; k < HOPPER_ALL_TOUCHES; k++) {
    rows->touch[k].nn = rows->touch[k].nt = rows->touch[k].tt = zero();
  }
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
    g[i] = p->tau[i];
    UNROLL for (int j = 0; j < HOPPER_ALL_NV; j++) {
      g[i] =
          fused_minus(p->mass[i > j ? HOPPER_ALL_ENTRY(i, j) : HOPPER_ALL_ENTRY(j, i)], a[j], g[i]);
    }
  }
  UNROLL for (int k = 0; k < HOPPER_ALL_TOUCHES; k++) {
    if (p->touches & 1u << k) hopper_all_push(&p->touch[k], m->friction[k / 2], k, a, rows, g);
  }
  UNROLL for (int k = 0; k < HOPPER_ALL_PAIRS; k++) {
    if (!(p->pairs & 1u << k)) continue;
    vec r = subtract(hopper_all_along(p->pair[k].n, a), p->pair[k].ref_n);
    mask on = below(r, zero());
    rows->pair[k] = where(on, p->pair[k].d);
    rows->set = with_bit(rows->set, on, 1u << (3 * HOPPER_ALL_TOUCHES + k));
    vec f = multiply(rows->pair[k], r);
    UNROLL for (int i = 3; i < HOPPER_ALL_NV; i++) g[i] = fused_minus(f, p->pair[k].n[i], g[i]);
  }
  UNROLL for (int i = 1; i < HOPPER_ALL_PARTS; i++) {
    if (!(p->limits & 1u << i)) continue;
    vec r = fused(p->limit_side[i], a[i + 2], subtract(zero(), p->limit_ref[i]));
    mask on = below(r, zero());
    rows->limit[i] = where(on, p->limit_d[i]);
    rows->set = with_bit(rows->set, on, 1u << (3 * HOPPER_ALL_TOUCHES + HOPPER_ALL_PAIRS + i - 1));
    g[i + 2] = fused_minus(multiply(rows->limit[i], r), p->limit_side[i], g[i + 2]);
  }
}

BODY_INLINE MM_HD void hopper_all_hessian(const hopper_all_pose *p, const hopper_all_rows *rows,
                                          vec *h) {
  UNROLL for (int i = 0; i < HOPPER_ALL_ENTRIES; i++) h[i] = p->mass[i];
  UNROLL for (int k = 0; k < HOPPER_ALL_TOUCHES; k++) {
    if (!(p->touches & 1u << k)) continue;
    const hopper_all_row *row = &p->touch[k];
    const hopper_all_stiff s = rows->touch[k];
    UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
      vec n = fused(s.nn, row->n[i], multiply(s.nt, row->t[i]));
      vec t = fused(s.nt, row->n[i], multiply(s.tt, row->t[i]));
      UNROLL for (int j = 0; j <= i; j++) {
        h[HOPPER_ALL_ENTRY(i, j)] =
            fused(n, row->n[j], fused(t, row->t[j], h[HOPPER_ALL_ENTRY(i, j)]));
      }
    }
  }
  UNROLL for (int k = 0; k < HOPPER_ALL_PAIRS; k++) {
    if (!(p->pairs & 1u << k)) continue;
    UNROLL for (int i = 3; i < HOPPER_ALL_NV; i++) {
      vec n = multiply(rows->pair[k], p->pair[k].n[i]);
      UNROLL for (int j = 3; j <= i; j++) {
        h[HOPPER_ALL_ENTRY(i, j)] = fused(n, p->pair[k].n[j], h[HOPPER_ALL_ENTRY(i, j)]);
      }
    }
  }
  UNROLL for (int i = 1; i < HOPPER_ALL_PARTS; i++) {
    const int e = HOPPER_ALL_ENTRY(i + 2, i + 2);
    if (p->limits & 1u << i) h[e] = add(h[e], rows->limit[i]);
  }
}

// h = L^T D L from the last velocity to the first: L and 1 / D in place; then the solution in g.
BODY_INLINE MM_HD void hopper_all_factor(vec *h) {
  UNROLL for (int k = HOPPER_ALL_NV - 1; k >= 0; k--) {
    vec inverse = divide(all_of(1), h[HOPPER_ALL_ENTRY(k, k)]);
    UNROLL for (int i = k - 1; i >= 0; i--) {
      vec l = multiply(h[HOPPER_ALL_ENTRY(k, i)], inverse);
      UNROLL for (int j = i; j >= 0; j--) {
        h[HOPPER_ALL_ENTRY(i, j)] =
            fused_minus(l, h[HOPPER_ALL_ENTRY(k, j)], h[HOPPER_ALL_ENTRY(i, j)]);
      }
      h[HOPPER_ALL_ENTRY(k, i)] = l;
    }
    h[HOPPER_ALL_ENTRY(k, k)] = inverse;
  }
}

BODY_INLINE MM_HD void hopper_all_solve(const vec *h, vec *g) {
  UNROLL for (int k = HOPPER_ALL_NV - 1; k >= 0; k--) {
    UNROLL for (int i = k - 1; i >= 0; i--) {
      g[i] = fused_minus(h[HOPPER_ALL_ENTRY(k, i)], g[k], g[i]);
    }
  }
  UNROLL for (int k = 0; k < HOPPER_ALL_NV; k++) {
    g[k] = multiply(g[k], h[HOPPER_ALL_ENTRY(k, k)]);
    UNROLL for (int i = 0; i < k; i++) g[k] = fused_minus(h[HOPPER_ALL_ENTRY(k, i)], g[i], g[k]);
  }
}

// As for the other bodies: a lane is done after the first step that began with the same rows as the
// step before, and then waits for the others.
BODY_INLINE MM_HD void hopper_all_newton(const hopper_all_model *m, const hopper_all_pose *p,
                                         int iterations, vec *a) {
  vec h[HOPPER_ALL_ENTRIES], g[HOPPER_ALL_NV];
  bits before = no_bits();
  mask done = everywhere(0);
  UNROLL for (int i = 0; i < HOPPER_ALL_ENTRIES; i++) h[i] = zero();
  for (int it = 0; it < iterations; it++) {
    hopper_all_rows rows;
    hopper_all_gradient(m, p, a, &rows, g);
    mask same = both(everywhere(it > 0), equal(rows.set, before));
    before = rows.set;
    if (it == 0 || !every(either(same, done))) {
      hopper_all_hessian(p, &rows, h);
      hopper_all_factor(h);
    }
    hopper_all_solve(h, g);
    UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) a[i] = choose(done, a[i], add(a[i], g[i]));
    done = either(done, same);
    if (every(done)) break;
  }
}

// ---------------------------------------------------------------------------------------------
// A step

// The acceleration at q, v, from the warm start in `a`.
BODY_INLINE MM_HD void hopper_all_accelerate(const hopper_all_model *m, int iterations,
                                             const vec *u, const vec *q, const vec *v, vec *a) {
  hopper_all_pose p;
  vec bias[HOPPER_ALL_NV];
  hopper_all_place(m, q, v, &p, bias);
  hopper_all_weigh(m, &p);
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) p.tau[i] = subtract(zero(), bias[i]);
  UNROLL for (int i = 1; i < HOPPER_ALL_PARTS; i++) {
    vec t = fused(all_of(m->gear[i]), u[i - 1], p.tau[i + 2]);
    p.tau[i + 2] = fused_minus(all_of(m->damping[i]), v[i + 2], t);
  }
  p.touches = p.pairs = 0;
  hopper_all_find_limits(m, q, v, &p);
  for (int k = 0; k < HOPPER_ALL_TOUCHES; k++)
    hopper_all_find_touch(m, q, v, k, &p);
  for (int k = 0; k < HOPPER_ALL_PAIRS; k++)
    hopper_all_find_pair(m, v, k, &p);
  hopper_all_newton(m, &p, iterations, a);
}

BODY_INLINE MM_HD mask hopper_all_sound(const vec *q, const vec *v, const vec *a) {
  const vec most = all_of((real)MM_PHYSICS_LARGEST);
  mask ok = everywhere(1);
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
    ok = both(ok, below(size_of(q[i]), most));
    ok = both(ok, below(size_of(v[i]), most));
    ok = both(ok, below(size_of(a[i]), most));
  }
  return ok;
}

// Four looks at the acceleration: here, twice half a step ahead, a step ahead. Each Newton's method
// starts from the look before.
BODY_INLINE MM_HD void hopper_all_step(const hopper_all_model *m, int iterations, const vec *u,
                                       vec *q, vec *v, vec *a, mask *ok) {
  const real ahead[4] = { 0, m->h / 2, m->h / 2, m->h };
  const real weight[4] = { m->h / 6, m->h / 3, m->h / 3, m->h / 6 };
  vec at[HOPPER_ALL_NV], speed[HOPPER_ALL_NV], q_end[HOPPER_ALL_NV], v_end[HOPPER_ALL_NV];
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
    at[i] = q_end[i] = q[i];
    speed[i] = v_end[i] = v[i];
  }
  for (int look = 0; look < 4; look++) {
    UNROLL for (int i = 0; i < HOPPER_ALL_NV && look > 0; i++) {
      at[i] = fused(all_of(ahead[look]), speed[i], q[i]);
      speed[i] = fused(all_of(ahead[look]), a[i], v[i]);
    }
    hopper_all_accelerate(m, iterations, u, at, speed, a);
    *ok = both(*ok, hopper_all_sound(at, speed, a));
    UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
      q_end[i] = fused(all_of(weight[look]), speed[i], q_end[i]);
      v_end[i] = fused(all_of(weight[look]), a[i], v_end[i]);
    }
  }
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
    q[i] = q_end[i];
    v[i] = v_end[i];
  }
  *ok = both(*ok, hopper_all_sound(q, v, a));
}

// ---------------------------------------------------------------------------------------------
// From columns and back again

// The joints turn about -y.
BODY_INLINE MM_HD vec hopper_all_turned(int i, vec x) {
  return i > 2 ? subtract(zero(), x) : x;
}

// `substeps` steps of LANES environments: q, v, warm in columns, u [3][LANES]. A state that went
// bad is left as it was.
BODY_INLINE MM_HD void hopper_all_block(const void *model, int iterations, int substeps,
                                        size_t stride, const real *controls, real *q_at, real *v_at,
                                        real *warm_at, uint8_t *bad) {
  const hopper_all_model *m = (const hopper_all_model *)model;
  real *const column[3] = { q_at, v_at, warm_at };
  vec state[3][HOPPER_ALL_NV], u[3];
  mask ok = everywhere(1), moved = read_controls(controls, 3, u);
  for (int c = 0; c < 3; c++) {
    UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) state[c][i] =
        hopper_all_turned(i, load(column[c] + (size_t)i * stride));
  }
  for (int s = 0; s < substeps; s++)
    hopper_all_step(m, iterations, u, state[0], state[1], state[2], &ok);
  for (int c = 0; c < 3; c++) {
    UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
      real *to = column[c] + (size_t)i * stride;
      store(to, choose(ok, hopper_all_turned(i, state[c][i]), load(to)));
    }
  }
  store_bad(ok, moved, bad);
}

BODY_INLINE MM_HD void hopper_all_matrices_at(const void *model, const vec *q_given,
                                              const vec *v_given, vec *mass, vec *bias) {
  const hopper_all_model *m = (const hopper_all_model *)model;
  hopper_all_pose p;
  vec q[HOPPER_ALL_NV], v[HOPPER_ALL_NV];
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
    q[i] = hopper_all_turned(i, q_given[i]);
    v[i] = hopper_all_turned(i, v_given[i]);
  }
  hopper_all_place(m, q, v, &p, bias);
  hopper_all_weigh(m, &p);
  UNROLL for (int i = 0; i < HOPPER_ALL_NV; i++) {
    bias[i] = hopper_all_turned(i, bias[i]);
    UNROLL for (int j = 0; j <= i; j++) {
      vec x = p.mass[HOPPER_ALL_ENTRY(i, j)];
      mass[i * HOPPER_ALL_NV + j] = mass[j * HOPPER_ALL_NV + i] =
          j > 2 ? x : hopper_all_turned(i, x);
    }
  }
}

#endif
