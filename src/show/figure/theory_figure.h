// SPDX-License-Identifier: Apache-2.0
// A picture of runs beside Theorem 1, in the form of the paper's: exact value, estimation error and
// update distance against environment steps.

#ifndef MM_EXPERIMENT_THEORY_FIGURE_H
#define MM_EXPERIMENT_THEORY_FIGURE_H

#include "mirrormap/theory.h"

// Draws runs[n_run], 1 to 8 of them on the same task, labelled names[n_run], under `title`, to
// `path`; its ending (.svg, .pdf, .png) chooses the format. An iteration is `steps` environment
// steps. MM_ERR_INPUT for what cannot be drawn, MM_ERR_UNSUPPORTED where gnuplot is missing.
mm_status mm_theory_figure_write(const mm_theory *runs, const char *const *names, size_t n_run,
                                 const char *title, double steps, const char *path);

#endif
