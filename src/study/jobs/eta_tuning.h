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
  size_t n_seed;
} mm_eta_task;

// Trains with every eta on the same seeds. `store` may be NULL: nothing is kept then. Fails where
// the backend does, or when no eta has a value.
mm_status mm_eta_tune(const mm_eta_task *task, mm_job_store *store,
                      const mm_backend_config *backend, mm_eta_tuning *out);

// The eta of the algorithm in use; NULL for one that has none.
double *mm_settings_eta(mm_settings *settings);

#endif
