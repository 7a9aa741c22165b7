// SPDX-License-Identifier: Apache-2.0
// Pictures of a table of maps and environments. The path's ending (.svg, .pdf, .png) chooses the
// format; MM_ERR_UNSUPPORTED where gnuplot is missing.

#ifndef MM_EXPERIMENT_TRANSFER_FIGURE_H
#define MM_EXPERIMENT_TRANSFER_FIGURE_H

#include "study/transfer/transfer.h"

// Final returns: a block per environment with a row per map, the mean with its standard error, and
// beside it the paired difference from negentropy (or l2 where that is missing) with its 95 %
// interval.
mm_status mm_transfer_figure_finals(const mm_transfer *transfer, const char *path);

// Return against environment steps: a panel per environment, a line with a band of one standard
// error per map; at most eight of them, baselines included. MM_ERR_INPUT where there are no curves.
mm_status mm_transfer_figure_curves(const mm_transfer *transfer, const char *path);

#endif
