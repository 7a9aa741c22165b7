// SPDX-License-Identifier: Apache-2.0
// From the coordinates of a search to the map and the step size that they stand for: the anchors of
// the map one after the other, or a factor of phi^-1 for each, and behind them log (eta / that of
// the settings).

#include <math.h>
#include <string.h>

#include "map/map_internal.h"
#include "study/learn/learn_internal.h"

static size_t anchor_size(const mm_learn *l) {
  return mm_map_search_size(l->kind, (size_t)l->plan.settings.search.n);
}

static size_t stages(const mm_learn *l) {
  return (size_t)l->plan.settings.search.stages;
}

// Tsallis' maps have no scale: their shape is all there is.
bool mm_learn_point_is_made(const mm_learn *l) {
  return l->plan.settings.search.search != MM_SEARCH_BOTH && mm_map_search_has_scale(l->kind);
}

size_t mm_learn_point_size(const mm_learn *l) {
  return stages(l) * anchor_size(l);
}

mm_status mm_learn_point_check(const mm_search *search) {
  const mm_map_kind kind = mm_search_map_kind(search);
  if (search->search == MM_SEARCH_SCALE && !mm_map_search_has_scale(kind))
    return MM_FAIL(MM_ERR_INPUT,
                   "setting 'search': maps of kind %s have no scale of their own: "
                   "expected both or shape",
                   mm_map_kind_name(kind));
  if (search->search == MM_SEARCH_SIMPLEX && kind != MM_MAP_PIECEWISE)
    return MM_FAIL(MM_ERR_INPUT, "setting 'search': simplex is for maps of kind piecewise, not %s",
                   mm_map_kind_name(kind));
  if (kind == MM_MAP_POWERS && search->stages > 1 && 2 * search->n > MM_POWERS_MAX)
    return MM_FAIL(MM_ERR_INPUT,
                   "setting 'stages': n = %g terms of kind powers: expected at most "
                   "%d, two anchors have %d together",
                   search->n, MM_POWERS_MAX / 2, MM_POWERS_MAX);
  return MM_OK;
}

// phi^-1(1) - phi^-1(p) is fixed, from the uniform policy of two actions on or from 0.
static double fixed_from(const mm_learn *l) {
  return l->plan.settings.search.search == MM_SEARCH_SIMPLEX ? 0 : 0.5;
}

mm_status mm_learn_point_open(mm_learn *l) {
  const size_t size = anchor_size(l), n = (size_t)l->plan.settings.search.n;
  const size_t most = mm_learn_point_size(l) + 1; // one for eta
  l->origin = mm_alloc_array(size + most, sizeof *l->origin);
  if (!l->origin) return MM_FAIL(MM_ERR_MEMORY, "no memory for a search");
  if (l->start.z)
    memcpy(l->origin, l->start.z, size * sizeof *l->origin);
  else
    MM_TRY(mm_map_search_initial(l->kind, n, l->origin));
  if (mm_learn_point_is_made(l) && l->plan.settings.search.search == MM_SEARCH_SHAPE)
    l->log_span = mm_map_search_log_span(l->kind, n, l->origin, fixed_from(l));
  l->first = l->origin + size;
  memset(l->first, 0, most * sizeof *l->first);
  for (size_t s = 0; s < stages(l) && l->plan.settings.search.search != MM_SEARCH_SCALE; s++)
    memcpy(l->first + s * size, l->origin, size * sizeof *l->first);
  return MM_OK;
}

const double *mm_learn_point(const mm_learn *l, const double *x, double *room) {
  const size_t size = anchor_size(l), n = (size_t)l->plan.settings.search.n;
  const bool scale = l->plan.settings.search.search == MM_SEARCH_SCALE;
  if (!mm_learn_point_is_made(l)) return x;
  for (size_t s = 0; s < stages(l); s++) {
    double *z = room + s * size;
    memcpy(z, scale ? l->origin : x + s * size, size * sizeof *z);
    const double move =
        scale ? x[s] : l->log_span - mm_map_search_log_span(l->kind, n, z, fixed_from(l));
    mm_map_search_rescale(l->kind, n, move, z);
  }
  return room;
}

double mm_learn_point_eta(const mm_learn *l, const double *x) {
  const mm_settings *settings = &l->plan.settings;
  if (!settings->search.search_eta) return 0;
  const double own = mm_settings_value(settings, "eta", 1);
  const double eta = own * mm_exp_d(x[mm_es_get_config(l->es)->dimension - 1]);
  return fmin(fmax(eta, 1e-6), MM_ETA_MAX);
}

mm_status mm_learn_point_map(const mm_learn *l, const double *x, mm_map **out) {
  *out = NULL;
  double *room = mm_alloc_array(mm_learn_point_size(l), sizeof *room);
  if (!room) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  mm_status status = mm_map_from_search_stages(l->kind, (size_t)l->plan.settings.search.n,
                                               stages(l), mm_learn_point(l, x, room), out);
  if (status == MM_OK) status = mm_map_set_eta(*out, mm_learn_point_eta(l, x));
  mm_free(room);
  return status;
}
