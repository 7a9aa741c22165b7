// SPDX-License-Identifier: Apache-2.0
// Collecting the cells of a reproduction, and their statistics.

#include "paper/artefact.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const quantity_names[MM_QUANTITIES] = {
  "final", "late_value", "drops", "early_distance", "estimation_error", "early_surplus"
};

const char *mm_quantity_name(mm_quantity quantity) {
  return quantity_names[quantity];
}

// ---------------------------------------------------------------------------------------------
// Collecting

// A longer copy of an array of `n` entries, with room for one more; NULL leaves the old one.
static void *grow(void *array, size_t n, size_t size) {
  void *more = mm_alloc_array(n + 1, size);
  if (!more) return NULL;
  if (n > 0) memcpy(more, array, n * size);
  mm_free(array);
  return more;
}

static mm_status no_memory(void) {
  return MM_FAIL(MM_ERR_MEMORY, "no memory for the numbers of a reproduction");
}

mm_status mm_artefact_add_quantity(mm_artefact_cell *cell, mm_quantity quantity) {
  if (cell->run[quantity]) return MM_OK;
  double *run = mm_alloc_array(cell->n_run, sizeof *run);
  if (!run) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", cell->n_run);
  for (size_t i = 0; i < cell->n_run; i++)
    run[i] = NAN;
  cell->run[quantity] = run;
  return MM_OK;
}

mm_status mm_artefact_add(mm_artefact *r, const char *env, const char *map, const char *target,
                          size_t n_seed, mm_artefact_cell **out) {
  mm_artefact_cell *cell = *out = grow(r->cell, r->n_cell, sizeof *cell);
  if (!cell) return no_memory();
  r->cell = cell;
  cell += r->n_cell++;
  memset(cell, 0, sizeof *cell);
  snprintf(cell->env, sizeof cell->env, "%s", env);
  snprintf(cell->map, sizeof cell->map, "%s", map);
  snprintf(cell->target, sizeof cell->target, "%s", target);
  cell->eta = cell->paper = cell->optimal = NAN;
  cell->n_run = n_seed;
  for (int q = 0; q < MM_QUANTITIES; q++)
    cell->value[q] = MM_ESTIMATE_NONE;
  if (n_seed > r->n_seed) r->n_seed = n_seed;
  *out = cell;
  return mm_artefact_add_quantity(cell, MM_QUANTITY_FINAL);
}

mm_status mm_artefact_note(mm_artefact *r, const char *format, ...) {
  void *notes = grow(r->note, r->n_note, sizeof *r->note);
  if (!notes) return no_memory();
  r->note = notes;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(r->note[r->n_note++], sizeof *r->note, format, arguments);
  va_end(arguments);
  return MM_OK;
}

static int verdict_of(mm_estimate gain, bool tie) {
  if (gain.n < MM_CLAIM_RUNS || isnan(gain.mean) || isnan(gain.sem)) return 0;
  int sign = mm_estimate_sign(gain);
  if (tie) return sign != 0 ? -1 : 1;
  return sign;
}

mm_status mm_artefact_claim(mm_artefact *r, const char *env, const char *target, mm_estimate gain,
                            bool tie, const char *text) {
  mm_claim *claim = grow(r->claim, r->n_claim, sizeof *claim);
  if (!claim) return no_memory();
  r->claim = claim;
  claim[r->n_claim++] = (mm_claim){ env, target, text, gain, tie, verdict_of(gain, tie) };
  return MM_OK;
}

static void release_cell(mm_artefact_cell *cell) {
  for (int q = 0; q < MM_QUANTITIES; q++)
    mm_free(cell->run[q]);
  for (size_t i = 0; i < cell->n_curve; i++)
    mm_free(cell->curve[i].point);
}

void mm_artefact_release(mm_artefact *r) {
  for (size_t i = 0; i < r->n_cell; i++)
    release_cell(&r->cell[i]);
  mm_free(r->cell);
  mm_free(r->claim);
  mm_free(r->note);
  cJSON_Delete(r->settings);
  *r = (mm_artefact){ 0 };
}

// ---------------------------------------------------------------------------------------------
// Statistics

const mm_artefact_cell *mm_artefact_find_cell(const mm_artefact *r, const char *env,
                                              const char *map, const char *target) {
  for (size_t i = 0; i < r->n_cell; i++) {
    const mm_artefact_cell *cell = &r->cell[i];
    if (strcmp(cell->env, env) == 0 && strcmp(cell->map, map) == 0 &&
        strcmp(cell->target, target) == 0)
      return cell;
  }
  return NULL;
}

mm_comparison mm_artefact_compare(const mm_artefact_cell *a, const mm_artefact_cell *b,
                                  mm_quantity quantity) {
  if (!a || !b || !a->run[quantity] || !b->run[quantity]) return MM_COMPARISON_NONE;
  return mm_comparison_of(a->run[quantity], b->run[quantity],
                          a->n_run < b->n_run ? a->n_run : b->n_run, 0);
}

static void summarise_cell(const mm_artefact *r, mm_artefact_cell *cell) {
  static const char *const baselines[2] = { "negentropy", "l2" };
  for (int q = 0; q < MM_QUANTITIES; q++)
    if (cell->run[q]) cell->value[q] = mm_estimate_known(cell->run[q], cell->n_run);
  cell->of = mm_estimate_worths(cell->run[MM_QUANTITY_FINAL], cell->n_run, r->seed);
  for (int b = 0; b < 2; b++)
    cell->over[b] = mm_artefact_compare(
        cell, mm_artefact_find_cell(r, cell->env, baselines[b], cell->target), MM_QUANTITY_FINAL);
}

void mm_artefact_summarise(mm_artefact *r) {
  for (size_t i = 0; i < r->n_cell; i++)
    summarise_cell(r, &r->cell[i]);
}
