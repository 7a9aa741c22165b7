// SPDX-License-Identifier: Apache-2.0
// Mirror maps as objects: one block of memory with the potential in both precisions, and the public
// calls that check their arguments and hand arrays to the kernels.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
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
  for (size_t i = 0; i < map->n_stage; i++)
    mm_map_destroy(map->stage[i]);
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

double mm_map_eta(const mm_map *map) {
  return map->eta;
}

mm_status mm_map_set_eta(mm_map *map, double eta) {
  if (!(eta >= 0 && eta <= MM_ETA_MAX))
    return MM_FAIL(MM_ERR_INPUT, "eta = %.17g: expected a number > 0 and at most %g", eta,
                   MM_ETA_MAX);
  map->eta = eta;
  return MM_OK;
}

const char *mm_map_meta(const mm_map *map) {
  return map->meta;
}

void mm_map_note(char (*lines)[200], int *n, const char *format, ...) {
  if (*n >= 8) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(lines[*n], sizeof lines[*n], format, arguments);
  va_end(arguments);
  ++*n;
}

static void judge_map(const mm_map *map, mm_map_report *report);

// A map that moves is valid when all its anchors are; the numbers are those of the last.
static void judge_stages(const mm_map *map, mm_map_report *report) {
  mm_map_report own;
  judge_map(map->stage[map->n_stage - 1], report);
  report->n_failure = report->n_warning = 0;
  for (size_t i = 0; i < map->n_stage; i++) {
    judge_map(map->stage[i], &own);
    report->strictly_increasing &= own.strictly_increasing;
    for (int k = 0; k < own.n_failure; k++)
      MM_MAP_FAILURE("stages[%zu]: %.180s", i, own.failure[k]);
    for (int k = 0; k < own.n_warning; k++)
      MM_MAP_WARNING("stages[%zu]: %.180s", i, own.warning[k]);
  }
  report->valid = report->n_failure == 0;
}

void mm_map_check(const mm_map *map, mm_map_report *report) {
  if (map->n_stage > 0)
    judge_stages(map, report);
  else
    judge_map(map, report);
}

// Is it an omega-potential? The definition wants phi increasing, onto, and phi^-1 integrable; a
// policy uses phi^-1 on (0, 1] only, so that is where it is judged. Piecewise maps are continued
// with slope 1 beyond W, as the paper's appendix does.
static void judge_map(const mm_map *map, mm_map_report *report) {
  const mm_potential_d *f = &map->exact;
  memset(report, 0, sizeof *report);
  report->strictly_increasing = true;
  const double zero = 0;
  mm_map_kernels_current()->phi_inverse_d(f, &zero, 1, &report->phi_inverse_at_0);
  report->phi_inverse_at_1 = f->anchor;
  report->essentially_smooth = report->phi_inverse_at_0 == -INFINITY;
  // int_0^1 phi^-1 = -(int_1^0 phi^-1)
  report->integral = f->anchor - mm_bregman_term(f, 0, 1);
  const mm_map_family *family = mm_map_family_of(f->kind);
  if (family->check) family->check(map, report);
  if (map->finite && !isfinite(report->integral))
    MM_MAP_FAILURE("not integrable: the integral of phi^-1 over (0, 1] is %g", report->integral);
  if (!report->essentially_smooth && report->n_failure == 0)
    MM_MAP_WARNING("phi^-1(0) = %.6g is finite: policies can reach the edge of the simplex",
                   report->phi_inverse_at_0);
  report->valid = report->n_failure == 0;
}

// ---------------------------------------------------------------------------------------------
// Using a map

static mm_status check_finite(const mm_map *map) {
  if (map->finite) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "%s map: phi^-1 is not finite on (0, 1]",
                 mm_map_kind_name(map->exact.kind));
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

// ---------------------------------------------------------------------------------------------
// Projections, in both precisions

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

#define MM_REAL_BITS 64
#define PROJECT_BATCH mm_map_project_batch
#define POTENTIAL exact
#include "map/map_project.inc"

#define MM_REAL_BITS 32
#define PROJECT_BATCH mm_map_project_batch_f
#define POTENTIAL engine_f
#include "map/map_project.inc"

mm_status mm_map_project(const mm_map *map, mm_projection method, const double *scores,
                         size_t n_action, double *probs, double *lambda) {
  return mm_map_project_batch(map, method, scores, 1, n_action, probs, lambda);
}

// ---------------------------------------------------------------------------------------------
// Search coordinates: the unconstrained numbers that evolution works on, for the families that have
// them

mm_status mm_map_convert(const mm_map *source, mm_map_kind kind, size_t n, mm_map **out) {
  *out = NULL;
  const mm_map_family *family = mm_map_family_of(kind);
  if (source->n_stage > 0)
    return MM_FAIL(MM_ERR_INPUT, "a map with stages moves: expected one that does not");
  if (family->convert) return family->convert(source, n, out);
  return MM_FAIL(MM_ERR_INPUT, "a map of kind %s cannot be turned into one of kind %s",
                 mm_map_kind_name(source->exact.kind), mm_map_kind_name(kind));
}

size_t mm_map_search_size(mm_map_kind kind, size_t n) {
  const mm_map_family *family = mm_map_family_of(kind);
  return family->search_steps ? n * family->search_per_step : family->search_size;
}

static bool is_searched(mm_map_kind kind) {
  return mm_map_family_of(kind)->from_search != NULL;
}

static mm_status no_coordinates(mm_map_kind kind) {
  char all[MM_MAP_NAMES_SIZE];
  return MM_FAIL(MM_ERR_INPUT, "%s maps have no search coordinates: expected %s",
                 mm_map_kind_name(kind), mm_map_kind_names(is_searched, all));
}

bool mm_map_search_has_scale(mm_map_kind kind) {
  return mm_map_family_of(kind)->search_rescale != NULL;
}

double mm_map_search_log_span(mm_map_kind kind, size_t n, const double *z, double from) {
  return mm_map_family_of(kind)->search_log_span(z, n, from);
}

void mm_map_search_rescale(mm_map_kind kind, size_t n, double log_factor, double *z) {
  if (log_factor != 0) mm_map_family_of(kind)->search_rescale(z, n, log_factor);
}

mm_status mm_map_search_initial(mm_map_kind kind, size_t n, double *z) {
  const mm_map_family *family = mm_map_family_of(kind);
  if (!family->search_initial) return no_coordinates(kind);
  family->search_initial(n, z);
  return MM_OK;
}

mm_status mm_map_from_search(mm_map_kind kind, size_t n, const double *z, mm_map **out) {
  const mm_map_family *family = mm_map_family_of(kind);
  *out = NULL;
  if (!family->from_search) return no_coordinates(kind);
  if (family->search_steps) MM_TRY(family->search_steps(n));
  for (size_t i = 0, size = mm_map_search_size(kind, n); i < size; i++)
    if (!isfinite(z[i]))
      return MM_FAIL(MM_ERR_INPUT, "search coordinate %zu is %g: expected a finite number", i,
                     z[i]);
  return family->from_search(z, n, out);
}

mm_status mm_map_to_search(const mm_map *map, double *z) {
  const mm_map_family *family = mm_map_family_of(map->exact.kind);
  if (!family->to_search) return no_coordinates(map->exact.kind);
  family->to_search(&map->exact, z);
  return MM_OK;
}
