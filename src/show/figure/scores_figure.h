// SPDX-License-Identifier: Apache-2.0
// Pictures of maps compared over several environments, after rliable's. The path's ending (.svg,
// .pdf, .png) chooses the format; MM_ERR_UNSUPPORTED where gnuplot is missing. A map has the same
// line type in all of them.

#ifndef MM_SHOW_SCORES_FIGURE_H
#define MM_SHOW_SCORES_FIGURE_H

#include "mirrormap/stats.h"

// The interquartile mean of each map's scores with its 95 % interval.
mm_status mm_scores_figure_intervals(const mm_scores *scores, const char *path);

// Performance profiles: the share of runs with a score above tau, with bands of 95 %; at most
// MM_FIGURE_STYLES maps.
mm_status mm_scores_figure_profiles(const mm_scores *scores, const char *path);

// The matrix of win rates, row against column.
mm_status mm_scores_figure_wins(const mm_scores *scores, const char *path);

#endif
