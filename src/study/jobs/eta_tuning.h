// SPDX-License-Identifier: Apache-2.0
// The step size eta of a map, tuned: the scale of a potential acts like eta, so a learned map has
// shown something only beside a fixed one whose eta was chosen as well as the search chose scales.
// Tsallis' q may be tuned with it.
//
// Without a budget there are nine values of eta, 2^-4 .. 2^4 times the one of the settings, on the
// same seeds. With a budget, or with q, it is done by successive halving (halving.h): the
// candidates are eta in that range and q from 1/2 to 4, both even by ratios, on the finest of some
// grids whose last round can have 32 seeds. Without a budget q and eta have as many runs as nine
// values of eta. Nothing is chosen with less than a run for each candidate of the coarsest grid.

#ifndef MM_EXPERIMENT_ETA_TUNING_H
#define MM_EXPERIMENT_ETA_TUNING_H

#include "mirrormap/study.h"
#include "study/jobs/job_store.h"

enum { MM_ETAS = MM_STUDY_ETAS };

typedef struct mm_eta_task {
  const mm_env *env;
  const mm_map *map;
  const char *env_label, *map_label; // for the store
  const mm_settings *settings;
  uint64_t seed; // names the seeds, which differ from all that start there
  size_t n_seed; // for each of nine values of eta
  double budget; // environment steps instead of these; 0: none
  bool tunes_q;  // Tsallis' q besides, in the place of the map
  // A search's store has lists: their generation, and the stage of the first round's; the others
  // follow it. 0: batches.
  int64_t generation;
  int list;
} mm_eta_task;

enum { MM_ETA_ROUNDS = 32 }; // more than there are

typedef struct mm_eta_choice {
  double eta, q;      // q: NaN where it is not tuned
  size_t n, seeds;    // candidates, and runs of those that went furthest
  uint64_t env_steps; // of all these runs
  unsigned ran;       // where the store's jobs ran so far: MM_BACKEND_ON_.. or-ed
} mm_eta_choice;

// What a row with a tuned eta trains with: the largest mean, of equals the one nearest to the
// settings'. `store` may be NULL: nothing is kept then. Fails where the backend does, or when no
// candidate has a value.
mm_status mm_eta_choose(const mm_eta_task *task, mm_job_store *store,
                        const mm_backend_config *backend, mm_eta_choice *out);

// The steps of a run for each candidate of the coarsest grid.
double mm_eta_least(const mm_settings *settings, bool tunes_q);

// The map of Tsallis' q, which at its limit 1 is negentropy.
mm_status mm_eta_map(double q, mm_map **out);

#endif
