// SPDX-License-Identifier: Apache-2.0
// The engine's source once more, in double precision and for one environment at a time: what the
// tests hold against the MuJoCo library to the last digits.

#define MM_PHYSICS_DOUBLE 1

#include "physics/bodies.h"
#include "physics/kernels.h"

#define REFERENCE(body)                                                                            \
  static int body##_once(const void *model, int iterations, const double *u, double *q, double *v, \
                         double *warm) {                                                           \
    uint8_t bad;                                                                                   \
    body##_block(model, iterations, 1, 1, u, q, v, warm, &bad, NULL);                              \
    return bad;                                                                                    \
  }                                                                                                \
  static void body##_matrices(const void *model, const double *q, const double *v, double *mass,   \
                              double *bias) {                                                      \
    body##_matrices_at(model, q, v, mass, bias);                                                   \
  }                                                                                                \
  static const mm_reference body##_reference = { sizeof(body##_model), body##_prepare,             \
                                                 body##_once, body##_matrices };

#define REFERENCES(NAME, name, id, kernels) REFERENCE(name) REFERENCE(name##_all)
MM_BODY_LIST(REFERENCES)

#define ENTRY(NAME, name, id, kernels)                                                             \
  [MM_BODY_##NAME] = { &name##_reference, &name##_all_reference },
static const mm_reference *const references[MM_BODY_COUNT][MM_FLAVOUR_COUNT] = { MM_BODY_LIST(
    ENTRY) };

const mm_reference *mm_physics_reference(mm_body body, mm_flavour flavour) {
  return references[body][flavour];
}
