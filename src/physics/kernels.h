// SPDX-License-Identifier: Apache-2.0
// The engine's inner loops, in builds for each instruction set that give the same bits, and once
// more in double precision for checks.

#ifndef MM_PHYSICS_KERNELS_H
#define MM_PHYSICS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "physics/body.h"

// Environments come to the kernels in groups.
enum { MM_PHYSICS_GROUP = 16 };

// Some environments side by side: column k of q begins at q + k * stride.
typedef struct mm_physics_columns {
  size_t stride;
  float *q, *v, *warm;
  float *xpos_offset; // or NULL (mm_physics)
  uint8_t *bad;
  const float *action; // [n][nu]
} mm_physics_columns;

typedef struct mm_physics_kernel {
  size_t model_size;
  // The body's constants for steps of `h` seconds.
  void (*prepare)(const mm_body_table *table, double h, void *model);
  // `substeps` physics steps of the first n environments, n a multiple of MM_PHYSICS_GROUP.
  void (*step)(const void *model, int iterations, int substeps, size_t n,
               const mm_physics_columns *columns);
  // Mass matrix [nv][nv] (armatures included) and bias forces [nv] at q, v; for tests.
  void (*matrices)(const void *model, const float *q, const float *v, float *mass, float *bias);
} mm_physics_kernel;

typedef struct mm_physics_kernels {
  const mm_physics_kernel *of[MM_BODY_COUNT][MM_FLAVOUR_COUNT];
} mm_physics_kernels;

// Those of mm_isa_current().
const mm_physics_kernels *mm_physics_kernels_current(void);

// ---------------------------------------------------------------------------------------------
// The same source in double precision, one environment at a time; no build for an instruction set.

typedef struct mm_reference {
  size_t model_size;
  void (*prepare)(const mm_body_table *table, double h, void *model);
  // One physics step. Motors' controls u [nu] are clipped. Returns MM_BAD_ bits.
  int (*step)(const void *model, int iterations, const double *u, double *q, double *v,
              double *warm);
  void (*matrices)(const void *model, const double *q, const double *v, double *mass, double *bias);
} mm_reference;

const mm_reference *mm_physics_reference(mm_body body, mm_flavour flavour);

// Room for any model.
enum { MM_PHYSICS_MODEL_MOST = 4096 };

#endif
