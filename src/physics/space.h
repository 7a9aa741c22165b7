// SPDX-License-Identifier: Apache-2.0
// Vectors in space, one for each lane. [host/device]

#ifndef MM_PHYSICS_SPACE_H
#define MM_PHYSICS_SPACE_H

#include "physics/lanes.h"

typedef struct vec3 {
  vec x, y, z;
} vec3;

MM_INLINE MM_HD vec3 of_parts(vec x, vec y, vec z) {
  vec3 out;
  out.x = x;
  out.y = y;
  out.z = z;
  return out;
}
// Three numbers that lie side by side.
MM_INLINE MM_HD vec3 take3(const vec *at) {
  return of_parts(at[0], at[1], at[2]);
}
MM_INLINE MM_HD void put3(vec *at, vec3 a) {
  at[0] = a.x;
  at[1] = a.y;
  at[2] = a.z;
}
MM_INLINE MM_HD void add3(vec *at, vec3 a) {
  at[0] = add(at[0], a.x);
  at[1] = add(at[1], a.y);
  at[2] = add(at[2], a.z);
}
MM_INLINE MM_HD void subtract3(vec *at, vec3 a) {
  at[0] = subtract(at[0], a.x);
  at[1] = subtract(at[1], a.y);
  at[2] = subtract(at[2], a.z);
}
MM_INLINE MM_HD vec3 nowhere(void) {
  return of_parts(zero(), zero(), zero());
}
MM_INLINE MM_HD vec3 sum(vec3 a, vec3 b) {
  return of_parts(add(a.x, b.x), add(a.y, b.y), add(a.z, b.z));
}
MM_INLINE MM_HD vec3 difference(vec3 a, vec3 b) {
  return of_parts(subtract(a.x, b.x), subtract(a.y, b.y), subtract(a.z, b.z));
}
MM_INLINE MM_HD vec3 opposite(vec3 a) {
  return difference(nowhere(), a);
}
MM_INLINE MM_HD vec3 times(vec s, vec3 a) {
  return of_parts(multiply(s, a.x), multiply(s, a.y), multiply(s, a.z));
}
// s a + b
MM_INLINE MM_HD vec3 along(vec s, vec3 a, vec3 b) {
  return of_parts(fused(s, a.x, b.x), fused(s, a.y, b.y), fused(s, a.z, b.z));
}
MM_INLINE MM_HD vec inner(vec3 a, vec3 b) {
  return fused(a.z, b.z, fused(a.y, b.y, multiply(a.x, b.x)));
}
MM_INLINE MM_HD vec3 cross(vec3 a, vec3 b) {
  return of_parts(fused_minus(a.z, b.y, multiply(a.y, b.z)),
                  fused_minus(a.x, b.z, multiply(a.z, b.x)),
                  fused_minus(a.y, b.x, multiply(a.x, b.y)));
}
// a x b + c
MM_INLINE MM_HD vec3 cross_add(vec3 a, vec3 b, vec3 c) {
  return of_parts(fused_minus(a.z, b.y, fused(a.y, b.z, c.x)),
                  fused_minus(a.x, b.z, fused(a.z, b.x, c.y)),
                  fused_minus(a.y, b.x, fused(a.x, b.y, c.z)));
}

// Symmetric 3 x 3.
typedef struct form3 {
  vec xx, yy, zz, xy, xz, yz;
} form3;

MM_INLINE MM_HD vec3 applied(form3 a, vec3 b) {
  return of_parts(fused(a.xz, b.z, fused(a.xy, b.y, multiply(a.xx, b.x))),
                  fused(a.yz, b.z, fused(a.yy, b.y, multiply(a.xy, b.x))),
                  fused(a.zz, b.z, fused(a.yz, b.y, multiply(a.xz, b.x))));
}
// a + s n n^T
MM_INLINE MM_HD form3 with_square(form3 a, vec s, vec3 n) {
  vec3 t = times(s, n);
  form3 out;
  out.xx = fused(t.x, n.x, a.xx);
  out.yy = fused(t.y, n.y, a.yy);
  out.zz = fused(t.z, n.z, a.zz);
  out.xy = fused(t.x, n.y, a.xy);
  out.xz = fused(t.x, n.z, a.xz);
  out.yz = fused(t.y, n.z, a.yz);
  return out;
}
MM_INLINE MM_HD form3 with_diagonal(form3 a, vec s) {
  a.xx = add(a.xx, s);
  a.yy = add(a.yy, s);
  a.zz = add(a.zz, s);
  return a;
}

#endif
