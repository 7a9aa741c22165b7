// SPDX-License-Identifier: Apache-2.0
// From rows to curves. Scores are kept as they come, by phase, generation, map and task; a group of
// the same phase, generation and map is one validation.

#include "study/learn/search_curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEARNED = -1, OTHER = -2 }; // in place of a control

typedef struct score {
  int64_t generation;
  int32_t phase, task;
  int map; // control, or one of the above
  double value;
} score;

// The rows while they are read.
typedef struct reader {
  mm_search_curve *curve;
  score *score;
  size_t n_score;
  // where a control's scores begin in a phase; n_score for none
  size_t first[MM_SEARCH_CONTROLS][MM_SEARCH_PHASES];
  int32_t last_phase;
  bool no_memory;
} reader;

// ---------------------------------------------------------------------------------------------
// Reading

// False for what is no phase: a file may say anything.
static bool note_phase(reader *r, int32_t phase) {
  if (phase < 0 || phase >= MM_SEARCH_PHASES) return false;
  if (phase > r->last_phase) r->last_phase = phase;
  return true;
}

static int on_generation(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  reader *r = user;
  if (!note_phase(r, row->phase)) return 0;
  mm_run_generation *array = mm_grow(r->curve->generation, r->curve->n_generation, sizeof *row);
  r->no_memory = !array;
  if (!array) return 1;
  r->curve->generation = array;
  r->curve->generation[r->curve->n_generation++] = *row;
  return 0;
}

static int find_map(mm_search_curve *c, const char *name) {
  if (strcmp(name, "learned") == 0) return LEARNED;
  for (size_t i = 0; i < c->n_control; i++)
    if (strncmp(c->control[i].name, name, MM_SEARCH_NAME_SIZE - 1) == 0) return (int)i;
  if (c->n_control == MM_SEARCH_CONTROLS) return OTHER;
  snprintf(c->control[c->n_control].name, MM_SEARCH_NAME_SIZE, "%s", name);
  return (int)c->n_control++;
}

static int on_score(const mm_run_row *any, void *user) {
  const mm_run_score *row = &any->score;
  reader *r = user;
  if (row->task < 0 || !note_phase(r, row->phase)) return 0;
  score *array = mm_grow(r->score, r->n_score, sizeof *r->score);
  r->no_memory = !array;
  if (!array) return 1;
  r->score = array;
  r->score[r->n_score++] = (score){ .generation = row->generation,
                                    .phase = row->phase,
                                    .task = row->task,
                                    .map = find_map(r->curve, row->map),
                                    .value = row->value };
  return 0;
}

// ---------------------------------------------------------------------------------------------
// Groups of scores

// The end of the group that begins at `first`.
static size_t group_end(const reader *r, size_t first) {
  const score *a = &r->score[first];
  size_t i = first + 1;
  while (i < r->n_score && r->score[i].phase == a->phase &&
         r->score[i].generation == a->generation && r->score[i].map == a->map)
    i++;
  return i;
}

// A run without a value leaves the mean without one. x has room for all scores.
static mm_estimate estimate(const score *s, size_t n, double *x, size_t *known) {
  *known = 0;
  for (size_t i = 0; i < n; i++) {
    x[i] = s[i].value;
    *known += isfinite(x[i]) ? 1 : 0;
  }
  return mm_estimate_of(x, n);
}

// A control's score on the same task in the same phase. Tasks are numbered, so that it mostly lies
// as far from the group's beginning as its own number says.
static double control_of(const reader *r, size_t control, const score *s) {
  size_t first = r->first[control][s->phase];
  if (first == r->n_score) return NAN;
  size_t end = group_end(r, first), guess = first + (size_t)s->task;
  if (guess < end && r->score[guess].task == s->task) return r->score[guess].value;
  for (size_t i = first; i < end; i++)
    if (r->score[i].task == s->task) return r->score[i].value;
  return NAN;
}

static void find_controls(reader *r) {
  for (size_t c = 0; c < MM_SEARCH_CONTROLS; c++)
    for (size_t p = 0; p < MM_SEARCH_PHASES; p++) {
      r->first[c][p] = r->n_score;
      r->curve->control[c].value[p] = MM_ESTIMATE_NONE;
    }
  for (size_t i = r->n_score; i-- > 0;)
    if (r->score[i].map >= 0) r->first[r->score[i].map][r->score[i].phase] = i;
}

static mm_estimate difference(const reader *r, size_t control, const score *s, size_t n,
                              double *x) {
  for (size_t i = 0; i < n; i++)
    x[i] = mm_worth_shown(s[i].value - control_of(r, control, &s[i]));
  return mm_estimate_known(x, n);
}

static void take_differences(const reader *r, const score *s, size_t n, double *x,
                             mm_search_point *point) {
  const mm_search_curve *c = r->curve;
  point->difference = MM_ESTIMATE_NONE;
  for (size_t k = 0; k < c->n_control; k++)
    point->minus[k] = difference(r, k, s, n, x);
  if (c->reference < c->n_control) point->difference = point->minus[c->reference];
}

static mm_status take_groups(reader *r, double *x) {
  mm_search_curve *c = r->curve;
  for (size_t i = 0, end; i < r->n_score; i = end) {
    const score *s = &r->score[i];
    end = group_end(r, i);
    size_t known;
    mm_estimate value = estimate(s, end - i, x, &known);
    if (s->map >= 0) {
      c->control[s->map].value[s->phase] = value;
      c->control[s->map].n[s->phase] = known;
    }
    if (s->map != LEARNED || isnan(value.mean)) continue;
    mm_search_point *array = mm_grow(c->point, c->n_point, sizeof *array);
    if (!array) return MM_FAIL(MM_ERR_MEMORY, "no memory for the curve of a search");
    c->point = array;
    mm_search_point *point = &c->point[c->n_point++];
    *point = (mm_search_point){
      .phase = s->phase, .generation = (double)s->generation, .value = value, .n = known
    };
    take_differences(r, s, end - i, x, point);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

static size_t find_reference(const mm_search_curve *c) {
  static const char *const wanted[] = { "l2", "negentropy" };
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < c->n_control; i++)
      if (strcmp(c->control[i].name, wanted[k]) == 0) return i;
  return c->n_control;
}

// A phase begins with the validation of its controls, before its first generation.
static void find_phases(const reader *r) {
  mm_search_curve *c = r->curve;
  for (size_t p = 0; p < c->n_phase; p++)
    c->phase_start[p] = p == 0 ? 0 : INFINITY;
  for (size_t i = 0; i < c->n_generation; i++) {
    double *start = &c->phase_start[c->generation[i].phase];
    *start = fmin(*start, (double)c->generation[i].generation - 1);
    c->end = fmax(c->end, (double)c->generation[i].generation);
  }
  for (size_t i = 0; i < r->n_score; i++) {
    double *start = &c->phase_start[r->score[i].phase];
    *start = fmin(*start, (double)r->score[i].generation);
    c->end = fmax(c->end, (double)r->score[i].generation);
  }
  c->phase_start[0] = 0;
}

static mm_status derive(reader *r) {
  mm_search_curve *c = r->curve;
  c->n_phase = (size_t)r->last_phase + 1;
  c->reference = find_reference(c);
  double *x = mm_alloc_array(r->n_score, sizeof *x);
  if (!x) return MM_FAIL(MM_ERR_MEMORY, "no memory for the curve of a search");
  find_phases(r);
  find_controls(r);
  mm_status status = take_groups(r, x);
  mm_free(x);
  return status;
}

mm_status mm_search_curve_read(mm_run *run, mm_search_curve *out) {
  *out = (mm_search_curve){ .end = 1 };
  reader r = { .curve = out };
  char damage[MM_ERROR_SIZE] = "";
  mm_status status = mm_run_each(run, MM_RUN_GENERATION, on_generation, &r);
  if (status == MM_ERR_INPUT) snprintf(damage, sizeof damage, "%s", mm_last_error());
  if ((status == MM_OK || damage[0]) && !r.no_memory)
    status = mm_run_each(run, MM_RUN_SCORE, on_score, &r);
  if (status == MM_ERR_INPUT) snprintf(damage, sizeof damage, "%s", mm_last_error());
  if (r.no_memory) status = MM_FAIL(MM_ERR_MEMORY, "no memory for the curve of a search");
  if (status == MM_OK || status == MM_ERR_INPUT) status = derive(&r);
  mm_free(r.score);
  if (status == MM_OK && damage[0]) return MM_FAIL(MM_ERR_INPUT, "%s", damage);
  return status;
}

void mm_search_curve_release(mm_search_curve *c) {
  mm_free(c->generation);
  mm_free(c->point);
  *c = (mm_search_curve){ 0 };
}
