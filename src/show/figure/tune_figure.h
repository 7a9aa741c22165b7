// SPDX-License-Identifier: Apache-2.0
// A picture of a tuning: how much each parameter mattered, and the score of every trial against
// each of them. The path's ending (.svg, .pdf, .png) chooses the format; MM_ERR_UNSUPPORTED where
// gnuplot is missing.

#ifndef MM_EXPERIMENT_TUNE_FIGURE_H
#define MM_EXPERIMENT_TUNE_FIGURE_H

#include "study/tune/tune.h"

mm_status mm_tune_figure(const mm_tune *tune, const char *path);

#endif
