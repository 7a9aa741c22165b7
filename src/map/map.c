// Mirror maps as objects: one block of memory with the potential in both precisions, and the public
// calls that check their arguments and hand arrays to the kernels.

#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "base/status.h"
#include "map/batch.h"
#include "map/family.h"

MM_ISA_CHOOSE(const mm_map_kernels, mm_map_kernels)

// ---------------------------------------------------------------------------------------------
// Creation

// An empty map whose arena has room for `bytes`.
mm_status mm_map_begin(mm_map_kind kind, size_t bytes, mm_map **out) {
  *out = NULL;
  mm_map *map = mm_alloc(sizeof *map);
  if (!map) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  memset(map, 0, sizeof *map);
  mm_status status = mm_arena_create(bytes, &map->arena);
  if (status != MM_OK) {
    mm_free(map);
    return status;
  }
  map->exact.kind = map->engine.kind = map->engine_f.kind = kind;
  map->finite = true;
  *out = map;
  return MM_OK;
}

void mm_map_destroy(mm_map *map) {
  if (!map) return;
  mm_arena_destroy(&map->arena);
  mm_free(map->meta);
  mm_free(map);
}

static void to_float(const double *from, int n, float *to) {
  for (int k = 0; k < n; k++)
    to[k] = (float)from[k];
}

// What both precisions have in common once the exact potential is complete.
void mm_map_end(mm_map *map) {
  const mm_potential_d *d = &map->exact;
  mm_potential_f *f = &map->engine_f;
  map->engine = *d;
  f->anchor = (float)d->anchor;
#define MM_KIND_PARAMETERS
#define MM_NUMBER(name) f->name = (float)d->name
#define MM_NUMBERS(name, most) to_float(d->name, most, f->name)
#define MM_WHOLE(name) f->name = d->name
#define MM_ARRAY(type, name) // the family's own
#include "map/kinds_all.inc"
}

mm_potential_f mm_map_moved_f(const mm_map *map, const void *to) {
  mm_potential_f f = map->engine_f;
#define MM_KIND_PARAMETERS
#define MM_NUMBER(name)
#define MM_NUMBERS(name, most)
#define MM_WHOLE(name)
#define MM_ARRAY(type, name) f.name = mm_map_moved_pointer(map, f.name, to)
#include "map/kinds_all.inc"
  return f;
}

mm_status mm_map_set_meta(mm_map *map, const char *text) {
  char *copy = NULL;
  if (text) {
    copy = mm_alloc(strlen(text) + 1);
    if (!copy) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map's meta object");
    strcpy(copy, text);
  }
  mm_free(map->meta);
  map->meta = copy;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Looking at a map

mm_map_kind mm_map_get_kind(const mm_map *map) {
  return map->exact.kind;
}

const char *mm_map_meta(const mm_map *map) {
  return map->meta;
}

// ---------------------------------------------------------------------------------------------
// Using a map

static mm_status check_finite(const mm_map *map) {
  if (map->finite) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "neural map: phi^-1 is not finite on (0, 1]");
}

static mm_status check_probabilities(const double *p, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!(p[i] >= 0 && p[i] <= 1))
      return MM_FAIL(MM_ERR_INPUT, "%s[%zu] = %.17g: expected a probability in [0, 1]", name, i,
                     p[i]);
  return MM_OK;
}

mm_status mm_map_phi(const mm_map *map, const double *x, size_t n, double *out) {
  MM_TRY(check_finite(map));
  for (size_t i = 0; i < n; i++)
    if (isnan(x[i])) return MM_FAIL(MM_ERR_INPUT, "x[%zu] = nan: expected a number", i);
  const mm_map_family *family = mm_map_family_of(map->exact.kind);
  for (size_t i = 0; i < n && family->phi_anywhere; i++)
    out[i] = family->phi_anywhere(&map->exact, x[i]);
  if (family->phi_anywhere) return MM_OK;
  mm_map_kernels_current()->phi_d(&map->exact, x, n, out);
  return MM_OK;
}

mm_status mm_map_phi_inverse(const mm_map *map, const double *p, size_t n, double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  mm_map_kernels_current()->phi_inverse_d(&map->exact, p, n, out);
  return MM_OK;
}

mm_status mm_map_phi_inverse_tabulated(const mm_map *map, const double *p, size_t n, double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  mm_map_kernels_current()->phi_inverse_d(&map->engine, p, n, out);
  return MM_OK;
}

mm_status mm_map_h(const mm_map *map, const double *p, size_t n, double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  for (size_t i = 0; i < n; i++)
    out[i] = fma(map->exact.anchor, p[i] - 1, mm_bregman_term(&map->exact, p[i], 1));
  return MM_OK;
}

mm_status mm_map_bregman(const mm_map *map, const double *p, const double *q, size_t n,
                         double *out) {
  MM_TRY(check_finite(map));
  MM_TRY(check_probabilities(p, n, "p"));
  MM_TRY(check_probabilities(q, n, "q"));
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += mm_bregman_term(&map->exact, p[i], q[i]);
  *out = sum;
  return MM_OK;
}

static mm_status check_projection(const mm_map *map, mm_projection method, size_t n_action) {
  MM_TRY(check_finite(map));
  if (method != MM_PROJECTION_EXACT && method != MM_PROJECTION_BISECT10)
    return MM_FAIL(MM_ERR_INPUT, "projection method %d: expected exact or bisect10", (int)method);
  if (n_action == 0) return MM_FAIL(MM_ERR_INPUT, "scores: expected at least one action");
  return MM_OK;
}

static mm_status bad_score(size_t i, size_t n_action, double value) {
  return MM_FAIL(MM_ERR_INPUT, "scores: row %zu, action %zu is %g: expected a finite number",
                 i / n_action, i % n_action, value);
}

static mm_status diverged(size_t row) {
  return MM_FAIL(MM_ERR_NUMERIC, "projection of row %zu: no finite policy", row);
}

mm_status mm_map_project_batch(const mm_map *map, mm_projection method, const double *scores,
                               size_t rows, size_t n_action, double *probs, double *lambda) {
  MM_TRY(check_projection(map, method, n_action));
  for (size_t i = 0; i < rows * n_action; i++)
    if (!isfinite(scores[i])) return bad_score(i, n_action, scores[i]);
  const mm_map_kernels *kernels = mm_map_kernels_current();
  double own[64]; // for callers without interest in lambda
  for (size_t first = 0; first < rows;) {
    size_t count = lambda || rows - first < 64 ? rows - first : 64;
    double *at = lambda ? lambda + first : own;
    kernels->project_d(&map->exact, method, scores + first * n_action, count, n_action,
                       probs + first * n_action, at);
    for (size_t r = 0; r < count; r++)
      if (!isfinite(at[r]) || !isfinite(probs[(first + r) * n_action])) return diverged(first + r);
    first += count;
  }
  return MM_OK;
}

mm_status mm_map_project(const mm_map *map, mm_projection method, const double *scores,
                         size_t n_action, double *probs, double *lambda) {
  return mm_map_project_batch(map, method, scores, 1, n_action, probs, lambda);
}

// ---------------------------------------------------------------------------------------------
// The engines' form

mm_status mm_map_phi_f(const mm_map *map, const float *x, size_t n, float *out) {
  MM_TRY(check_finite(map));
  for (size_t i = 0; i < n; i++)
    if (isnan(x[i])) return MM_FAIL(MM_ERR_INPUT, "x[%zu] = nan: expected a number", i);
  const mm_map_family *family = mm_map_family_of(map->exact.kind);
  if (family->phi_anywhere) {
    // the table ends at p = 1 and at p = 0
    for (size_t i = 0; i < n; i++) {
      float y = x[i] - map->engine_f.anchor;
      bool inside = y <= 0 && (map->exact.b > 0 || y >= map->engine_f.drop);
      out[i] = inside ? mm_phi_at_f(&map->engine_f, y).p
                      : (float)family->phi_anywhere(&map->exact, x[i]);
    }
    return MM_OK;
  }
  mm_map_kernels_current()->phi_f(&map->engine_f, x, n, out);
  return MM_OK;
}

mm_status mm_map_phi_inverse_f(const mm_map *map, const float *p, size_t n, float *out) {
  MM_TRY(check_finite(map));
  for (size_t i = 0; i < n; i++)
    if (!(p[i] >= 0 && p[i] <= 1))
      return MM_FAIL(MM_ERR_INPUT, "p[%zu] = %g: expected a probability in [0, 1]", i,
                     (double)p[i]);
  mm_map_kernels_current()->phi_inverse_f(&map->engine_f, p, n, out);
  return MM_OK;
}

mm_status mm_map_project_batch_f(const mm_map *map, mm_projection method, const float *scores,
                                 size_t rows, size_t n_action, float *probs, float *lambda) {
  MM_TRY(check_projection(map, method, n_action));
  for (size_t i = 0; i < rows * n_action; i++)
    if (!isfinite(scores[i])) return bad_score(i, n_action, (double)scores[i]);
  const mm_map_kernels *kernels = mm_map_kernels_current();
  float own[64];
  for (size_t first = 0; first < rows;) {
    size_t count = lambda || rows - first < 64 ? rows - first : 64;
    float *at = lambda ? lambda + first : own;
    kernels->project_f(&map->engine_f, method, scores + first * n_action, count, n_action,
                       probs + first * n_action, at);
    for (size_t r = 0; r < count; r++)
      if (!isfinite(at[r]) || !isfinite(probs[(first + r) * n_action])) return diverged(first + r);
    first += count;
  }
  return MM_OK;
}
