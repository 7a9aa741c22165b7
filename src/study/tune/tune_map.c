// SPDX-License-Identifier: Apache-2.0
#include "study/tune/tune_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "study/jobs/eta_tuning.h"

// As a number, also of a choice.
static double number_of(const mm_tune_parameter *p, double value) {
  double x = value;
  if (p->scale == MM_TUNE_CHOICE) mm_json_parse_number(p->choice[(size_t)value], &x);
  return x;
}

double mm_tune_map_own(const mm_tune_parameter *p, const mm_map *map) {
  double own = p->of_map == MM_TUNE_MAP_SCALE ? 1 : NAN;
  if (p->of_map == MM_TUNE_MAP_Q && mm_map_get_kind(map) == MM_MAP_TSALLIS)
    own = mm_map_tsallis_q(map);
  if (p->scale != MM_TUNE_CHOICE) return own;
  for (size_t i = 0; i < p->n_choice; i++)
    if (number_of(p, (double)i) == own) return (double)i;
  return NAN;
}

// ---------------------------------------------------------------------------------------------
// Scaling phi^-1, by the coefficients that the kind has

static mm_status scale_piecewise(const mm_map *map, double factor, mm_map **out) {
  size_t n;
  const double *psi = mm_map_piecewise_psi(map, &n);
  double *scaled = mm_alloc_array(n, sizeof *scaled);
  if (!scaled) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map of %zu steps", n);
  for (size_t i = 0; i < n; i++)
    scaled[i] = factor * psi[i];
  mm_status status = mm_map_create_piecewise(scaled, n, out);
  mm_free(scaled);
  return status;
}

static mm_status scale_neural(const mm_map *map, double factor, mm_map **out) {
  const double *w, *c, *u;
  double a, b, scaled[MM_NEURAL_UNITS];
  mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
  for (size_t i = 0; i < MM_NEURAL_UNITS; i++)
    scaled[i] = factor * u[i];
  return mm_map_create_neural(w, c, scaled, factor * a, factor * b, out);
}

static mm_status scale_powers(const mm_map *map, double factor, mm_map **out) {
  const double *w, *a;
  double scaled[MM_POWERS_MAX];
  size_t n = mm_map_powers_terms(map, &w, &a);
  for (size_t i = 0; i < n; i++)
    scaled[i] = factor * w[i];
  return mm_map_create_powers(scaled, a, n, out);
}

static mm_status scale(const mm_map *map, double factor, mm_map **out) {
  switch (mm_map_get_kind(map)) {
  case MM_MAP_PIECEWISE:
    return scale_piecewise(map, factor, out);
  case MM_MAP_NEURAL:
    return scale_neural(map, factor, out);
  default:
    break;
  }
  mm_map *powers;
  *out = NULL;
  MM_TRY(mm_map_convert(map, MM_MAP_POWERS, 1, &powers));
  mm_status status = scale_powers(powers, factor, out);
  mm_map_destroy(powers);
  return status;
}

// ---------------------------------------------------------------------------------------------

mm_status mm_tune_map_make(const mm_tune_space *space, const double *value, const mm_map *base,
                           mm_map **out) {
  double wanted[MM_TUNE_MAP_PARAMETERS] = { [MM_TUNE_MAP_Q] = NAN, [MM_TUNE_MAP_SCALE] = 1 };
  *out = NULL;
  for (size_t j = 0; j < space->n; j++)
    if (space->parameter[j].of_map && !isnan(value[j]))
      wanted[space->parameter[j].of_map] = number_of(&space->parameter[j], value[j]);
  const double q = wanted[MM_TUNE_MAP_Q], factor = wanted[MM_TUNE_MAP_SCALE];
  mm_map *shaped = NULL;
  if (!isnan(q) && q != mm_map_tsallis_q(base)) MM_TRY(mm_eta_map(q, &shaped));
  *out = shaped;
  if (factor == 1) return MM_OK;
  mm_status status = scale(shaped ? shaped : base, factor, out);
  mm_map_destroy(shaped);
  return status;
}

// Both ends, or all choices.
static mm_status check_values(const mm_tune_space *space, size_t j, const mm_map *map,
                              const char *name) {
  const mm_tune_parameter *p = &space->parameter[j];
  const bool choice = p->scale == MM_TUNE_CHOICE;
  double value[MM_TUNE_PARAMETERS];
  for (size_t i = 0; i < space->n; i++)
    value[i] = NAN;
  for (size_t k = 0; k < (choice ? p->n_choice : 2); k++) {
    mm_map *made;
    char text[MM_SETTING_TEXT_SIZE];
    value[j] = choice ? (double)k : k == 0 ? p->low : p->high;
    mm_status status = mm_tune_map_make(space, value, map, &made);
    mm_map_destroy(made);
    if (status == MM_ERR_INPUT)
      return MM_FAIL(MM_ERR_INPUT, "map '%s' cannot have %s = %s: %s", name, p->name,
                     mm_tune_text(p, value[j], text), mm_last_error());
    MM_TRY(status);
  }
  return MM_OK;
}

mm_status mm_tune_map_check(const mm_tune_space *space, const mm_map *map, const char *name) {
  for (size_t j = 0; j < space->n; j++) {
    const mm_tune_parameter *p = &space->parameter[j];
    if (p->of_map && mm_map_stages(map) > 1)
      return MM_FAIL(MM_ERR_INPUT, "map '%s' has stages: %s is for maps that do not move", name,
                     p->name);
    if (p->of_map == MM_TUNE_MAP_Q && mm_map_get_kind(map) != MM_MAP_TSALLIS)
      return MM_FAIL(MM_ERR_INPUT, "map '%s' has no parameter q: %s is for maps of kind tsallis",
                     name, p->name);
    if (p->of_map) MM_TRY(check_values(space, j, map, name));
  }
  return MM_OK;
}

const char *mm_tune_map_label(const mm_tune_space *space, const double *value, const char *name,
                              char out[MM_TUNE_MAP_LABEL]) {
  size_t used = (size_t)snprintf(out, MM_TUNE_MAP_LABEL, "%s", name);
  for (size_t j = 0; j < space->n && used < MM_TUNE_MAP_LABEL; j++) {
    const mm_tune_parameter *p = &space->parameter[j];
    char text[MM_SETTING_TEXT_SIZE];
    if (!p->of_map || isnan(value[j])) continue;
    used += (size_t)snprintf(out + used, MM_TUNE_MAP_LABEL - used, " %s=%s", p->name,
                             mm_tune_text(p, value[j], text));
  }
  return out;
}
