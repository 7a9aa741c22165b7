// SPDX-License-Identifier: Apache-2.0
// Environments of each body in groups. Compiled once per instruction set with MM_ISA set to its
// name; physics/kernels.h says what it computes and why the bits do not depend on the build.

#include "base/isa.h"
#include "physics/bodies.h"
#include "physics/kernels.h"

#define KERNEL(body)                                                                               \
  static void body##_run(const void *model, int iterations, int substeps, size_t n,                \
                         const mm_physics_columns *c) {                                            \
    for (size_t at = 0; at < n; at += LANES) {                                                     \
      float u[body##_nu * LANES];                                                                  \
      for (size_t e = 0; e < LANES; e++)                                                           \
        for (size_t k = 0; k < body##_nu; k++)                                                     \
          u[k * LANES + e] = c->action[(at + e) * body##_nu + k];                                  \
      body##_block(model, iterations, substeps, c->stride, u, c->q + at, c->v + at, c->warm + at,  \
                   c->bad + at, c->xpos_offset ? c->xpos_offset + at : NULL);                      \
    }                                                                                              \
  }                                                                                                \
  static void body##_matrices(const void *model, const float *q, const float *v, float *mass,      \
                              float *bias) {                                                       \
    vec q_of[body##_nq], v_of[body##_nv], m[body##_nv * body##_nv], b[body##_nv];                  \
    float one[LANES];                                                                              \
    for (int i = 0; i < body##_nq; i++)                                                            \
      q_of[i] = all_of(q[i]);                                                                      \
    for (int i = 0; i < body##_nv; i++)                                                            \
      v_of[i] = all_of(v[i]);                                                                      \
    body##_matrices_at(model, q_of, v_of, m, b);                                                   \
    for (int i = 0; i < body##_nv * body##_nv; i++) {                                              \
      store(one, m[i]);                                                                            \
      mass[i] = one[0];                                                                            \
    }                                                                                              \
    for (int i = 0; i < body##_nv; i++) {                                                          \
      store(one, b[i]);                                                                            \
      bias[i] = one[0];                                                                            \
    }                                                                                              \
  }                                                                                                \
  static const mm_physics_kernel body##_kernel = { sizeof(body##_model), body##_prepare,           \
                                                   body##_run, body##_matrices };

// brax' flavour of each body, then Gymnasium's
#define KERNELS(NAME, name, id, kernels) KERNEL(name) KERNEL(name##_all)
MM_BODY_LIST(KERNELS)

#define ENTRY(NAME, name, id, kernels) [MM_BODY_##NAME] = { &name##_kernel, &name##_all_kernel },
const mm_physics_kernels MM_ISA_NAME(mm_physics_kernels) = { .of = { MM_BODY_LIST(ENTRY) } };
