// SPDX-License-Identifier: Apache-2.0
// Potentials of plug-ins (mirrormap/plugin.h): families that are added to the table while the
// program runs. Built-in kinds are switched between inline; a foreign one has its numbers of
// mm_map_kind behind them, and all that is done with it goes through the calls here.

#ifndef MM_MAP_FOREIGN_H
#define MM_MAP_FOREIGN_H

#include "base/status.h"
#include "map/density.h"
#include "map/potential.h"
#include "mirrormap/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MM_FOREIGN_MOST = 16 };

// The potential of a map, in the map's arena.
typedef struct mm_foreign {
  const mm_plugin_potential *law;
  double anchor, bottom; // phi^-1 at 1 and at 0
  double x[MM_PLUGIN_PARAMETERS];
} mm_foreign;

// Can there be such a family? One with a name that is taken, or too many, is MM_ERR_INPUT.
mm_status mm_foreign_check(const mm_plugin_potential *law);

// Adds a family that was checked. Before threads are started.
void mm_foreign_add(const mm_plugin_potential *law);

size_t mm_foreign_count(void);
const mm_plugin_potential *mm_foreign_law(size_t i);

// What kernels do (batch.h), for a potential with `foreign`.
void mm_foreign_phi_d(const mm_potential_d *f, const double *x, size_t n, double *out);
void mm_foreign_phi_f(const mm_potential_f *f, const float *x, size_t n, float *out);
void mm_foreign_phi_inverse_d(const mm_potential_d *f, const double *p, size_t n, double *out);
void mm_foreign_phi_inverse_f(const mm_potential_f *f, const float *p, size_t n, float *out);
void mm_foreign_project_d(const mm_potential_d *f, mm_projection method, const double *scores,
                          size_t rows, size_t n_action, double *probs, double *lambda);
void mm_foreign_project_f(const mm_potential_f *f, mm_projection method, const float *scores,
                          size_t rows, size_t n_action, float *probs, float *lambda);

// phi^-1 of n probabilities whose logarithms are given; finite, however small they are.
void mm_foreign_gradients(const mm_potential_d *f, size_t n, const double *log_p, double *out);

// mm_density_rows.
void mm_foreign_rises(const mm_density *f, size_t n, const float *log_p, const float *log_q,
                      float *out, uint8_t *acted);

#ifdef __cplusplus
}
#endif

#endif
