// The step size eta of a map, tuned: the scale of a potential acts like eta, so a learned map has
// shown something only beside a fixed one whose eta was chosen as well as the search chose scales.

#ifndef MM_EXPERIMENT_ETA_TUNING_H
#define MM_EXPERIMENT_ETA_TUNING_H

#include "study/jobs/job_store.h"
#include "study/stats/estimate.h"

enum { MM_ETAS = 9 }; // eta 2^-4 .. 2^4 times the one of the settings

typedef struct mm_eta_tuning {
  double eta[MM_ETAS];
  mm_estimate value[MM_ETAS]; // final value over the seeds; NaN where a run broke down without one,
                              // -INFINITY where one finished no episode
  size_t best;                // the largest mean, of equals the one nearest to the settings'
  uint64_t env_steps;
  unsigned ran; // where the store's jobs ran so far: MM_BACKEND_ON_.. or-ed
} mm_eta_tuning;

typedef struct mm_eta_task {
  const mm_env *env;
  const mm_map *map;
  const char *env_label, *map_label; // for the store
  const mm_settings *settings;
  uint64_t seed; // names the seeds, which differ from all that start there
  size_t n_seed; // for each of nine values of eta
  double budget; // environment steps instead of these; 0: none
  bool tunes_q;  // Tsallis' q besides, in the place of the map
} mm_eta_task;

// Trains with every eta on the same seeds. `store` may be NULL: nothing is kept then. Fails where
// the backend does, or when no eta has a value.
mm_status mm_eta_tune(const mm_eta_task *task, mm_job_store *store,
                      const mm_backend_config *backend, mm_eta_tuning *out);

// ---------------------------------------------------------------------------------------------
// With a budget, or with q: by successive halving (halving.h). The candidates are eta 2^-4 .. 2^4
// times the one of the settings and q from 1/2 to 4, both even by ratios, on the finest of some
// grids whose last round can have 32 seeds. Without a budget q and eta have as many runs as nine
// values of eta. Nothing is chosen with less than a run for each candidate of the coarsest grid.

typedef struct mm_eta_choice {
  double eta, q;   // q: NaN where it is not tuned
  size_t n, seeds; // candidates, and runs of those that went furthest
  uint64_t env_steps;
  unsigned ran; // as above
} mm_eta_choice;

// The number of candidates in the coarsest grid.
size_t mm_eta_candidates(bool tunes_q);

// What a row with a tuned eta trains with; by mm_eta_tune without a budget and q.
mm_status mm_eta_choose(const mm_eta_task *task, mm_job_store *store,
                        const mm_backend_config *backend, mm_eta_choice *out);

// The map of Tsallis' q, which at its limit 1 is negentropy.
mm_status mm_eta_map(double q, mm_map **out);

// The eta of the algorithm in use; NULL for one that has none.
double *mm_settings_eta(mm_settings *settings);

#endif
