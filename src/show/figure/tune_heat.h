// SPDX-License-Identifier: Apache-2.0
// The part of a tuning's figure for a grid of two parameters: the score as a heat map, with its
// error in each cell, the best cell, and those that are not shown to be worse.

#ifndef MM_SHOW_TUNE_HEAT_H
#define MM_SHOW_TUNE_HEAT_H

#include "show/plot/plot.h"
#include "study/tune/tune.h"

bool mm_tune_has_heat(const mm_tune_view *view);

// Adds it to the page, from y on, in a column of this width; `score` is the range of the colours.
// Returns the height that it takes.
double mm_tune_heat(mm_plot *plot, const mm_tune_view *view, mm_range score, double x, double y,
                    double width);

#endif
