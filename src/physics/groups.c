// Environments of each body in groups. Compiled once per instruction set with MM_ISA set to its
// name; physics/kernels.h says what it computes and why the bits do not depend on the build.

#include "physics/ant_all.h"
#include "physics/controls.h"
#include "physics/hopper_all.h"
#include "physics/kernels.h"
#include "physics/planar_bodies.h"

// `xpos`: one more argument of the block, for the one that has it.
#define KERNEL(body, nv, nu, xpos)                                                                 \
  static void body##_run(const void *model, int iterations, int substeps, size_t n,                \
                         const mm_physics_columns *c) {                                            \
    for (size_t at = 0; at < n; at += LANES) {                                                     \
      float u[(nu)*LANES];                                                                         \
      for (size_t e = 0; e < LANES; e++)                                                           \
        for (size_t k = 0; k < (nu); k++)                                                          \
          u[k * LANES + e] = c->action[(at + e) * (nu) + k];                                       \
      body##_block(model, iterations, substeps, c->stride, u, c->q + at, c->v + at, c->warm + at,  \
                   c->bad + at xpos);                                                              \
    }                                                                                              \
  }                                                                                                \
  static void body##_matrices(const void *model, const float *q, const float *v, float *mass,      \
                              float *bias) {                                                       \
    vec q_of[(nv) + 1], v_of[nv], m[(nv) * (nv)], b[nv];                                           \
    float one[LANES];                                                                              \
    for (int i = 0; i < (nv) + ((nv) == 14); i++)                                                  \
      q_of[i] = all_of(q[i]);                                                                      \
    for (int i = 0; i < (nv); i++)                                                                 \
      v_of[i] = all_of(v[i]);                                                                      \
    body##_matrices_at(model, q_of, v_of, m, b);                                                   \
    for (int i = 0; i < (nv) * (nv); i++) {                                                        \
      store(one, m[i]);                                                                            \
      mass[i] = one[0];                                                                            \
    }                                                                                              \
    for (int i = 0; i < (nv); i++) {                                                               \
      store(one, b[i]);                                                                            \
      bias[i] = one[0];                                                                            \
    }                                                                                              \
  }                                                                                                \
  static const mm_physics_kernel body##_kernel = { sizeof(body##_model), body##_prepare,           \
                                                   body##_run, body##_matrices };

KERNEL(hopper, 6, 3, )
KERNEL(hopper_all, 6, 3, )
KERNEL(half_cheetah, 9, 6, )
KERNEL(half_cheetah_all, 9, 6, )
KERNEL(ant, 14, 8, )
#define XPOS , c->xpos_offset ? c->xpos_offset + at : NULL
KERNEL(ant_all, 14, 8, XPOS)

extern const mm_physics_kernels JOIN(mm_physics_kernels, MM_ISA);

const mm_physics_kernels JOIN(mm_physics_kernels, MM_ISA) = {
  .of = { [MM_BODY_HOPPER] = { &hopper_kernel, &hopper_all_kernel },
          [MM_BODY_HALF_CHEETAH] = { &half_cheetah_kernel, &half_cheetah_all_kernel },
          [MM_BODY_ANT] = { &ant_kernel, &ant_all_kernel } },
};
