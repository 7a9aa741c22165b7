// The figure that shows how phi is parametrised: straight lines through (s_j, j/n), s_j = psi_1 +
// .. + psi_j. Drawn for n = 5 and for the n of the searches, both at the start of a search.

#include <stdio.h>

#include "paper/reproduce_internal.h"
#include "show/figure/map_figure.h"

enum { N_MAP = 3 };

static const char *const maps[N_MAP] = { "piecewise:5", "piecewise:100", "negentropy" };

static mm_status draw_maps(const mm_reproduction *result, const char *path, void *user) {
  static const char *const names[N_MAP] = { "n = 5, initial", "n = 100, initial",
                                            "negative entropy" };
  mm_map_figure_config config = mm_map_figure_config_default();
  config.panels = MM_PANEL_PHI | MM_PANEL_PHI_INVERSE;
  (void)result;
  return mm_map_figure_write(&config, user, names, N_MAP, path);
}

// Knots of the small one, so that the picture can be checked by hand.
static mm_status note_knots(mm_reproduce *r, const mm_map *map) {
  size_t n;
  const double *psi = mm_map_piecewise_psi(map, &n);
  double sum = 0;
  for (size_t j = 0; j < n; j++) {
    sum += psi[j];
    MM_TRY(mm_reproduction_note(&r->result, "n = 5: psi_%zu = %.6f, phi(%.6f) = %zu/%zu", j + 1,
                                psi[j], sum, j + 1, n));
  }
  return MM_OK;
}

mm_status mm_reproduce_phi(mm_reproduce *r) {
  mm_map *map[N_MAP] = { NULL };
  mm_status status = MM_OK;
  for (int i = 0; i < N_MAP && status == MM_OK; i++)
    status = mm_map_open(maps[i], &map[i]);
  if (status == MM_OK) status = note_knots(r, map[0]);
  if (status == MM_OK) status = mm_reproduce_picture(r, "phi_param", draw_maps, map);
  for (int i = 0; i < N_MAP; i++)
    mm_map_destroy(map[i]);
  return status;
}
