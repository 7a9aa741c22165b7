// SPDX-License-Identifier: Apache-2.0
// Environments side by side: memory, states in and out. Stepping is the engine's.

#include "physics/physics.h"

#include <string.h>

#include "base/arena.h"
#include "base/status.h"

enum { GROUP = 16, N_MOST = 1 << 24, ITERATIONS_MOST = 100 };

static const mm_engine_law *const engines[MM_ENGINE_COUNT] = { &mm_engine_own, &mm_engine_mujoco };

static mm_status check(const mm_physics_config *c) {
  if (c->body < 0 || c->body >= MM_BODY_COUNT)
    return MM_FAIL(MM_ERR_INPUT, "physics: body: expected one of mm_body");
  if (c->flavour < 0 || c->flavour >= MM_FLAVOUR_COUNT)
    return MM_FAIL(MM_ERR_INPUT, "physics: flavour: expected one of mm_flavour");
  if (c->engine < 0 || c->engine >= MM_ENGINE_COUNT)
    return MM_FAIL(MM_ERR_INPUT, "physics: engine: expected one of mm_engine");
  if (c->n > N_MOST)
    return MM_FAIL(MM_ERR_INPUT, "physics: %zu environments: expected at most %d", c->n, N_MOST);
  if (c->iterations < 0 || c->iterations > ITERATIONS_MOST)
    return MM_FAIL(MM_ERR_INPUT, "physics: iterations = %d: expected 0 .. %d", c->iterations,
                   ITERATIONS_MOST);
  return MM_OK;
}

// The object and its columns in one block; lanes beyond n are there to be stepped over.
static mm_status place(const mm_physics *plan, mm_physics **out) {
  size_t nq = (size_t)plan->info->nq, nv = (size_t)plan->info->nv, stride = plan->stride;
  size_t row = stride * sizeof(float);
  mm_arena arena;
  MM_TRY(mm_arena_create(mm_arena_size_of(sizeof *plan) + mm_arena_size_of(nq * row) +
                             2 * mm_arena_size_of(nv * row) + mm_arena_size_of(row) +
                             mm_arena_size_of(stride),
                         &arena));
  mm_physics *p = mm_arena_take(&arena, sizeof *p);
  *p = *plan;
  p->q = mm_arena_take(&arena, nq * row);
  p->v = mm_arena_take(&arena, nv * row);
  p->warm = mm_arena_take(&arena, nv * row);
  if (plan->info->reads_xpos[plan->config.flavour]) p->xpos_offset = mm_arena_take(&arena, row);
  p->bad = mm_arena_take(&arena, stride);
  p->block = arena.block;
  *out = p;
  return MM_OK;
}

mm_status mm_physics_create(const mm_physics_config *config, mm_physics **out) {
  *out = NULL;
  MM_TRY(check(config));
  mm_physics plan = { .config = *config,
                      .info = mm_body_describe(config->body),
                      .engine = engines[config->engine],
                      .stride = (config->n + GROUP - 1) / GROUP * GROUP };
  if (config->iterations == 0 && config->engine == MM_ENGINE_OWN) // a model file has its own
    plan.config.iterations = plan.info->iterations[config->flavour];
  mm_physics *p;
  MM_TRY(place(&plan, &p));
  const double *start = p->info->start[config->flavour];
  for (size_t k = 0; k < (size_t)p->info->nq; k++)
    for (size_t i = 0; i < p->stride; i++)
      p->q[k * p->stride + i] = (float)start[k];
  mm_status status = p->engine->open(p);
  if (status == MM_OK)
    *out = p;
  else
    mm_physics_destroy(p);
  return status;
}

void mm_physics_destroy(mm_physics *p) {
  if (!p) return;
  p->engine->close(p);
  mm_free(p->block);
}

void mm_physics_get(const mm_physics *p, size_t i, float *q, float *v, float *warm) {
  for (size_t k = 0; k < (size_t)p->info->nq; k++)
    q[k] = p->q[k * p->stride + i];
  for (size_t k = 0; k < (size_t)p->info->nv; k++) {
    v[k] = p->v[k * p->stride + i];
    if (warm) warm[k] = p->warm[k * p->stride + i];
  }
}

void mm_physics_set(mm_physics *p, size_t i, const float *q, const float *v, const float *warm) {
  for (size_t k = 0; k < (size_t)p->info->nq; k++)
    p->q[k * p->stride + i] = q[k];
  for (size_t k = 0; k < (size_t)p->info->nv; k++) {
    p->v[k * p->stride + i] = v[k];
    p->warm[k * p->stride + i] = warm ? warm[k] : 0;
  }
  if (p->xpos_offset) p->xpos_offset[i] = 0;
  p->bad[i] = 0;
}

void mm_physics_step(mm_physics *p, size_t from, size_t to, const float *action) {
  p->engine->step(p, from, to, action);
}
