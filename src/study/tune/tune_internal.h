// SPDX-License-Identifier: Apache-2.0
// What the files of tuning share.

#ifndef MM_EXPERIMENT_TUNE_INTERNAL_H
#define MM_EXPERIMENT_TUNE_INTERNAL_H

#include "study/tune/tune.h"
#include "study/tune/tune_map.h"

// ---------------------------------------------------------------------------------------------
// The plan as the database keeps it (tune_plan.c), with the maps and the texts of task files. What
// comes out is the caller's to release.

mm_status mm_tune_plan_json(const mm_tune_plan *plan, const mm_map *const *map,
                            const mm_plan_envs *envs, cJSON **out);
mm_status mm_tune_plan_read(const cJSON *root, const char *source, mm_tune_plan *plan,
                            mm_map *map[MM_TUNE_MAPS], mm_plan_envs *envs);

// ---------------------------------------------------------------------------------------------

struct mm_tune {
  mm_study study;
  mm_tune_plan plan;
  mm_plan_envs envs;
  const mm_map *map[MM_TUNE_MAPS];
  mm_map *own_map[MM_TUNE_MAPS]; // of a run that goes on

  char folder[MM_RUN_PATH_SIZE];

  mm_tune_search search;
  double *value; // [room of the search][cells][seeds] final returns
  double scale[MM_TUNE_ENVS];
  char tuned[MM_TUNE_MAPS][MM_PLAN_NAME_SIZE + 8]; // what the winner is called
  double *fresh; // [2][cells][validate] of the own values and of the winner
  mm_tune_check check[MM_TUNE_CELLS];
  mm_comparison gain;
  bool complete, validated;
  size_t trainings;
  uint64_t env_steps;

  // while it runs
  const mm_backend_config *backend; // NULL: for those who only look
};

// The search over the plan (tune.c); the run or the store must be open.
mm_status mm_tune_search_all(mm_tune *tune);

mm_tune_search_config mm_tune_config_of(const mm_tune *tune);

#endif
