// The engine's source once more, in double precision and for one environment at a time: what the
// tests hold against the MuJoCo library to the last digits.

#define MM_PHYSICS_DOUBLE 1

#include "physics/ant_all.h"
#include "physics/controls.h"
#include "physics/hopper_all.h"
#include "physics/kernels.h"
#include "physics/planar_bodies.h"

#define REFERENCE(body, xpos)                                                                      \
  static int body##_once(const void *model, int iterations, const double *u, double *q, double *v, \
                         double *warm) {                                                           \
    uint8_t bad;                                                                                   \
    body##_block(model, iterations, 1, 1, u, q, v, warm, &bad xpos);                               \
    return bad;                                                                                    \
  }                                                                                                \
  static void body##_matrices(const void *model, const double *q, const double *v, double *mass,   \
                              double *bias) {                                                      \
    body##_matrices_at(model, q, v, mass, bias);                                                   \
  }                                                                                                \
  static const mm_reference body##_reference = { sizeof(body##_model), body##_prepare,             \
                                                 body##_once, body##_matrices };

REFERENCE(hopper, )
REFERENCE(hopper_all, )
REFERENCE(half_cheetah, )
REFERENCE(half_cheetah_all, )
REFERENCE(ant, )
#define XPOS , NULL
REFERENCE(ant_all, XPOS)

static const mm_reference *const references[MM_BODY_COUNT][MM_FLAVOUR_COUNT] = {
  [MM_BODY_HOPPER] = { &hopper_reference, &hopper_all_reference },
  [MM_BODY_HALF_CHEETAH] = { &half_cheetah_reference, &half_cheetah_all_reference },
  [MM_BODY_ANT] = { &ant_reference, &ant_all_reference },
};

const mm_reference *mm_physics_reference(mm_body body, mm_flavour flavour) {
  return references[body][flavour];
}
