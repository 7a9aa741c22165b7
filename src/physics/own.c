// SPDX-License-Identifier: Apache-2.0
// Our own engine: the kernel of a body, and groups that are not whole.

#include <string.h>

#include "base/isa.h"
#include "base/status.h"
#include "physics/kernels.h"
#include "physics/physics.h"

MM_ISA_CHOOSE(const mm_physics_kernels, mm_physics_kernels)

enum { GROUP = MM_PHYSICS_GROUP };

// What `own` points to; the kernel's model follows.
typedef struct own {
  const mm_physics_kernel *kernel;
  double model[];
} own;

static mm_status open_own(mm_physics *p) {
  const mm_physics_kernel *kernel =
      mm_physics_kernels_current()->of[p->config.body][p->config.flavour];
  own *o = mm_alloc(sizeof *o + kernel->model_size);
  if (!o) return MM_FAIL(MM_ERR_MEMORY, "physics of %s: out of memory", p->info->name);
  mm_body_table table;
  mm_body_derive(p->config.body, p->config.flavour, &table);
  o->kernel = kernel;
  kernel->prepare(&table, p->info->h, o->model);
  p->own = o;
  return MM_OK;
}

static void close_own(mm_physics *p) {
  mm_free(p->own);
}

// A part of a group. Its lanes are stepped in a group of their own, in which the other lanes repeat
// the first: those of the environments beside may belong to other threads.
static void step_some(const mm_physics *p, size_t from, size_t n, const float *action) {
  const own *o = p->own;
  const size_t nq = (size_t)p->info->nq, nv = (size_t)p->info->nv, nu = (size_t)p->info->nu;
  float q[MM_BODY_MOST_Q * GROUP], v[MM_BODY_MOST_V * GROUP], warm[MM_BODY_MOST_V * GROUP];
  float u[MM_BODY_MOST_U * GROUP], xpos_offset[GROUP];
  uint8_t bad[GROUP];
  for (size_t e = 0; e < GROUP; e++) {
    const size_t i = from + (e < n ? e : 0);
    for (size_t k = 0; k < nq; k++)
      q[k * GROUP + e] = p->q[k * p->stride + i];
    for (size_t k = 0; k < nv; k++) {
      v[k * GROUP + e] = p->v[k * p->stride + i];
      warm[k * GROUP + e] = p->warm[k * p->stride + i];
    }
    xpos_offset[e] = p->xpos_offset ? p->xpos_offset[i] : 0;
    memcpy(u + e * nu, action + i * nu, nu * sizeof *u);
  }
  mm_physics_columns columns = { GROUP, q, v, warm, p->xpos_offset ? xpos_offset : NULL, bad, u };
  o->kernel->step(o->model, p->config.iterations, p->info->substeps, GROUP, &columns);
  for (size_t e = 0; e < n; e++) {
    for (size_t k = 0; k < nq; k++)
      p->q[k * p->stride + from + e] = q[k * GROUP + e];
    for (size_t k = 0; k < nv; k++) {
      p->v[k * p->stride + from + e] = v[k * GROUP + e];
      p->warm[k * p->stride + from + e] = warm[k * GROUP + e];
    }
    if (p->xpos_offset) p->xpos_offset[from + e] = xpos_offset[e];
    p->bad[from + e] = bad[e];
  }
}

static void step_own(mm_physics *p, size_t from, size_t to, const float *action) {
  const own *o = p->own;
  if (from < to && from % GROUP != 0) {
    size_t n = GROUP - from % GROUP;
    if (n > to - from) n = to - from;
    step_some(p, from, n, action);
    from += n;
  }
  size_t whole = (to - from) / GROUP * GROUP;
  if (from < to && whole > 0) {
    mm_physics_columns columns = { .stride = p->stride,
                                   .q = p->q + from,
                                   .v = p->v + from,
                                   .warm = p->warm + from,
                                   .xpos_offset = p->xpos_offset ? p->xpos_offset + from : NULL,
                                   .bad = p->bad + from,
                                   .action = action + from * (size_t)p->info->nu };
    o->kernel->step(o->model, p->config.iterations, p->info->substeps, whole, &columns);
    from += whole;
  }
  if (from < to) step_some(p, from, to - from, action);
}

const mm_engine_law mm_engine_own = { "own", open_own, close_own, step_own };
