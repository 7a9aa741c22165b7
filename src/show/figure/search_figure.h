// SPDX-License-Identifier: Apache-2.0
// A picture of a search, from its run database.

#ifndef MM_EXPERIMENT_SEARCH_FIGURE_H
#define MM_EXPERIMENT_SEARCH_FIGURE_H

#include "study/run/run.h"

// Against the generation: scores of the mean on the validation tasks beside the controls; its
// difference from l2, task by task; the population's fitness; sigma. Also while the run goes on,
// and with nothing to show yet. The path's ending (.svg, .pdf, .png) chooses the format;
// MM_ERR_UNSUPPORTED where gnuplot is missing.
mm_status mm_search_figure(mm_run *run, const char *path);

#endif
