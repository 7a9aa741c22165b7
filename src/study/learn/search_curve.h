// SPDX-License-Identifier: Apache-2.0
// How a search went, from the rows of its run: scores of the mean on the validation tasks beside
// those of the controls, and the generations.

#ifndef MM_EXPERIMENT_SEARCH_CURVE_H
#define MM_EXPERIMENT_SEARCH_CURVE_H

#include "mirrormap/stats.h"
#include "study/run/run.h"

enum { MM_SEARCH_CONTROLS = 7, MM_SEARCH_PHASES = 64, MM_SEARCH_NAME_SIZE = 64 }; // at most

// A validation of the mean.
typedef struct mm_search_point {
  int32_t phase;
  double generation;
  mm_estimate value;      // over the tasks
  size_t n;               // tasks with a value
  mm_estimate difference; // from the reference, task by task; NaN where there is none
  mm_estimate minus[MM_SEARCH_CONTROLS]; // [n_control] from each control, likewise
} mm_search_point;

typedef struct mm_search_control {
  char name[MM_SEARCH_NAME_SIZE];
  mm_estimate value[MM_SEARCH_PHASES]; // [n_phase]; NaN where it has no score
  size_t n[MM_SEARCH_PHASES];          // [n_phase] tasks with a value
} mm_search_control;

typedef struct mm_search_curve {
  mm_run_generation *generation; // [n_generation], without states
  size_t n_generation;
  mm_search_point *point; // [n_point] by phase and generation
  size_t n_point;
  mm_search_control control[MM_SEARCH_CONTROLS]; // the first ones in the order of their rows
  size_t n_control;
  size_t reference; // the control that differences are from: l2, else negentropy; n_control: none
  double phase_start[MM_SEARCH_PHASES]; // [n_phase] generations done when it began
  size_t n_phase;
  double end; // last generation, at least 1
} mm_search_curve;

// Reads what there is: also while the run goes on, and before its first generation. MM_ERR_INPUT
// for damage: then *out is what the intact rows say. Release in either case.
mm_status mm_search_curve_read(mm_run *run, mm_search_curve *out);
void mm_search_curve_release(mm_search_curve *curve);

#endif
