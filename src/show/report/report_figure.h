// SPDX-License-Identifier: Apache-2.0
// The figures of a report, drawn by gnuplot: those that its runs have something for.

#ifndef MM_EXPERIMENT_REPORT_FIGURE_H
#define MM_EXPERIMENT_REPORT_FIGURE_H

#include "show/report/report_data.h"

enum { MM_REPORT_FIGURES = 4 * MM_REPORT_RUNS + 3 }; // at most

typedef enum mm_report_figure_kind {
  MM_REPORT_SEARCH,   // search: of learn
  MM_REPORT_CURVES,   // curves: learning curves with error bands
  MM_REPORT_TRANSFER, // transfer: final returns of maps on environments
  MM_REPORT_TUNING,   // tuning: trials of tune against each parameter, and how much these mattered
  MM_REPORT_COMPARED, // comparison: curves of all runs of train, where there are several
  MM_REPORT_PHI,      // phi: phi and phi^-1 of all runs' maps
  MM_REPORT_POLICY    // policy: action probabilities against the score scale
} mm_report_figure_kind;

typedef struct mm_report_figure {
  char name[24]; // of the file without its ending, e.g. "search"; "search-2" of the second run
  mm_report_figure_kind kind;
  size_t run; // of all but the last three
} mm_report_figure;

// Which there are; returns how many.
size_t mm_report_figures(const mm_report *report, mm_report_figure out[MM_REPORT_FIGURES]);

// The path's ending (.svg, .pdf, .png) chooses the format; MM_ERR_UNSUPPORTED where gnuplot is
// missing.
mm_status mm_report_draw(const mm_report *report, const mm_report_figure *figure, const char *path);

#endif
