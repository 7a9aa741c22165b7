// SPDX-License-Identifier: Apache-2.0
// What an artefact of the paper came out as: numbers of every map on every environment, the paper's
// claims held against them, and the files they are written to.

#ifndef MM_PAPER_ARTEFACT_H
#define MM_PAPER_ARTEFACT_H

#include <stdio.h>

#include "base/json.h"
#include "base/status.h"
#include "mirrormap/reproduce.h"
#include "study/jobs/machine.h"
#include "study/transfer/transfer.h"

enum { MM_ARTEFACT_TEXT = 320 };

const char *mm_quantity_name(mm_quantity quantity);

// What tuning eta cost for each control on each environment, beside the search of a map.
typedef struct mm_tuning_cost {
  double eta;       // 2^-4 to 2^4 times this were tried
  size_t seeds;     // each on so many seeds; 0: nothing was tuned
  double steps;     // environment steps of all of that
  double map_steps; // of a search
} mm_tuning_cost;

struct mm_artefact {
  const char *folder, *artefact, *scale;
  char label[MM_ARTEFACT_TEXT];     // "reduced: laptop scale, .." or "the paper's sizes"
  char more[MM_ARTEFACT_TEXT + 96]; // a second line of it, or ""
  bool foreign_maps;                // some were learned with other settings than these
  uint64_t seed;
  size_t n_seed; // the most that a cell has
  mm_artefact_cell *cell;
  size_t n_cell;
  mm_claim *claim;
  size_t n_claim;
  char (*note)[MM_ARTEFACT_TEXT]; // sentences: switches, what was learned, ..
  size_t n_note;
  mm_tuning_cost tuning;
  cJSON *settings;       // {label: {key: value}}, of the trainings
  double seconds;        // of this process
  uint64_t env_steps;    // of this process, searches included
  uint64_t result_steps; // that went into the numbers: trainings of the cells
  mm_machine machine;    // of this process
};

void mm_artefact_release(mm_artefact *r);

// A new cell with its labels, all numbers undefined, and room for n_seed runs of the final return.
// It stays where it is until the next one.
mm_status mm_artefact_add(mm_artefact *r, const char *env, const char *map, const char *target,
                          size_t n_seed, mm_artefact_cell **out);
mm_status mm_artefact_add_quantity(mm_artefact_cell *cell, mm_quantity quantity);
mm_status mm_artefact_note(mm_artefact *r, const char *format, ...) MM_CHECK_FORMAT(2, 3);

// A claim of the paper, from an estimate of what should be positive, or 0 for a tie. The texts must
// outlive the result.
mm_status mm_artefact_claim(mm_artefact *r, const char *env, const char *target, mm_estimate gain,
                            bool tie, const char *text);

const mm_artefact_cell *mm_artefact_find_cell(const mm_artefact *r, const char *env,
                                              const char *map, const char *target);

// Means, interquartile means and differences from what the runs of all cells say.
void mm_artefact_summarise(mm_artefact *r);

// Paired by seeds, a's quantity against b's. Either may be missing (NULL).
mm_comparison mm_artefact_compare(const mm_artefact_cell *a, const mm_artefact_cell *b,
                                  mm_quantity quantity);

// Into the folder:
//   table.csv      env, target, map, n, mean, sem, iqm with its interval, paired differences, paper
//   raw.csv        env, target, map, seed, and every quantity of the run
//   aggregate.csv  env, target, map, measure, step, mean, sem
//   summary.json   everything but the curves and single runs
// Each begins with what it was made from: CSV files in lines with '#'.
mm_status mm_artefact_write(const mm_artefact *r);
void mm_artefact_put_origin(FILE *file, const mm_artefact *r); // these lines
cJSON *mm_artefact_json(const mm_artefact *r);

#endif
