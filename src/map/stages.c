// SPDX-License-Identifier: Apache-2.0
// Maps that move: two to four anchors of one family at equal fractions of a training run, and what
// lies between two of them.

#include <string.h>

#include "base/status.h"
#include "map/family.h"

// All parameters of a map that no family mixes are its name.
static mm_status mix(const mm_map *a, const mm_map *b, double share, mm_map **out) {
  const mm_map_family *family = mm_map_family_of(a->exact.kind);
  *out = NULL;
  return family->mix ? family->mix(&a->exact, &b->exact, share, out) : family->create(out);
}

static mm_status check_anchors(mm_map *const *anchor, size_t n) {
  if (n < 2 || n > MM_STAGES_MAX)
    return MM_FAIL(MM_ERR_INPUT, "stages: %zu anchors: expected 2 to %d", n, MM_STAGES_MAX);
  for (size_t i = 0; i < n; i++)
    if (anchor[i]->n_stage > 0)
      return MM_FAIL(MM_ERR_INPUT, "stages[%zu]: expected a map that does not move", i);
  const mm_map_family *family = mm_map_family_of(anchor[0]->exact.kind);
  for (size_t i = 1; i < n; i++) {
    const mm_potential_d *a = &anchor[i - 1]->exact, *b = &anchor[i]->exact;
    if (a->kind != b->kind)
      return MM_FAIL(MM_ERR_INPUT, "stages[%zu] is of kind %s: expected %s, as the one before", i,
                     mm_map_kind_name(b->kind), mm_map_kind_name(a->kind));
    if (family->neighbours && family->neighbours(a, b) != MM_OK)
      return MM_FAIL(MM_ERR_INPUT, "stages[%zu]: %s", i, mm_last_error());
  }
  return MM_OK;
}

mm_status mm_map_take_stages(mm_map **anchor, size_t n, mm_map **out) {
  *out = NULL;
  MM_TRY(check_anchors(anchor, n));
  mm_map *map = mm_alloc(sizeof *map);
  if (!map) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  // to whoever does not know of moments the map is its last anchor, whose arrays it points to
  *map = *anchor[n - 1];
  memset(&map->arena, 0, sizeof map->arena);
  map->meta = NULL;
  map->eta = 0;
  map->n_stage = n;
  for (size_t i = 0; i < n; i++) {
    map->stage[i] = anchor[i];
    map->finite = map->finite && anchor[i]->finite;
    anchor[i] = NULL;
  }
  *out = map;
  return MM_OK;
}

static void destroy_all(mm_map **anchor, size_t n) {
  for (size_t i = 0; i < n; i++)
    mm_map_destroy(anchor[i]);
}

mm_status mm_map_create_stages(const mm_map *const *anchor, size_t n, mm_map **out) {
  mm_map *copy[MM_STAGES_MAX] = { 0 };
  *out = NULL;
  MM_TRY(check_anchors((mm_map *const *)anchor, n));
  mm_status status = MM_OK;
  for (size_t i = 0; i < n && status == MM_OK; i++)
    status = mix(anchor[i], anchor[i], 0, &copy[i]);
  if (status == MM_OK) status = mm_map_take_stages(copy, n, out);
  destroy_all(copy, n);
  return status;
}

size_t mm_map_stages(const mm_map *map) {
  return map->n_stage > 0 ? map->n_stage : 1;
}

const mm_map *mm_map_stage(const mm_map *map, size_t i) {
  if (i >= mm_map_stages(map)) return NULL;
  return map->n_stage > 0 ? map->stage[i] : map;
}

mm_status mm_map_from_search_stages(mm_map_kind kind, size_t n, size_t stages, const double *z,
                                    mm_map **out) {
  mm_map *anchor[MM_STAGES_MAX] = { 0 };
  if (stages <= 1) return mm_map_from_search(kind, n, z, out);
  *out = NULL;
  if (stages > MM_STAGES_MAX)
    return MM_FAIL(MM_ERR_INPUT, "stages = %zu: expected at most %d", stages, MM_STAGES_MAX);
  mm_status status = MM_OK;
  for (size_t i = 0; i < stages && status == MM_OK; i++)
    status = mm_map_from_search(kind, n, z + i * mm_map_search_size(kind, n), &anchor[i]);
  if (status == MM_OK) status = mm_map_take_stages(anchor, stages, out);
  destroy_all(anchor, stages);
  return status;
}

// ---------------------------------------------------------------------------------------------
// In the course of a run

mm_status mm_map_now_at(const mm_map *map, int64_t t, int64_t iterations, mm_map_now *now) {
  now->map = map;
  if (map->n_stage == 0) return MM_OK;
  const mm_moment at = mm_moment_of(t, iterations, (int32_t)map->n_stage);
  const mm_map *from = map->stage[at.anchor];
  now->map = from;
  if (!(at.share > 0)) return MM_OK;
  mm_map *between;
  MM_TRY(mix(from, map->stage[at.anchor + 1], at.share, &between));
  mm_map_destroy(now->own);
  now->map = now->own = between;
  if (between->finite) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "phi^-1 is not finite on (0, 1] between two anchors");
}

void mm_map_now_release(mm_map_now *now) {
  mm_map_destroy(now->own);
  *now = (mm_map_now){ 0 };
}
