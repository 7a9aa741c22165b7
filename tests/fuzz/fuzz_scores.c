// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as a table of runs. Refused with one line that names it, or a table whose
// maps can be compared.

#define _XOPEN_SOURCE 700 // mkstemp

#include <math.h>

#include "fuzz.h"
#include "mirrormap/stats.h"

// Resampling takes its time, and is nothing new after a few runs.
enum { COMPARED_MAX = 64 };

static void require_table(const mm_score_table *t) {
  size_t n = t->n_map * t->n_env * t->n_seed, runs = 0;
  require(t->n_map >= 1 && t->n_env >= 1 && t->n_seed >= 1, "at least one run");
  require(t->n_map <= MM_SCORE_NAMES && t->n_env <= MM_SCORE_NAMES, "not too many names");
  require(n <= MM_SCORE_RUNS_MAX, "not too many runs");
  for (size_t i = 1; i < t->n_seed; i++)
    require(t->seed[i - 1] < t->seed[i], "seeds ascend");
  for (size_t i = 0; i < n; i++) {
    require(t->final[i] < INFINITY || isnan(t->final[i]), "no run is infinitely good");
    if (!isnan(t->final[i])) runs++;
  }
  require(runs >= t->n_map && runs >= t->n_env && runs >= t->n_seed, "each has a run");
}

static void require_scores(const mm_score_table *t) {
  mm_score_baselines baselines = mm_score_baselines_of(t);
  mm_scores s;
  require(mm_scores_of(t, &baselines, NULL, mm_score_random_row(t), &s) == MM_OK, "a comparison");
  for (size_t m = 0; m < t->n_map; m++) {
    const mm_iqm *q = &s.map[m].iqm;
    require(isnan(q->iqm) || isfinite(q->iqm), "a mean of scores is a number");
    for (size_t k = 0; k < t->n_map; k++) {
      double both = s.match[m * t->n_map + k].wins + s.match[k * t->n_map + m].wins;
      require(isnan(both) || fabs(both - 1) < 1e-9, "what one wins the other loses");
    }
  }
  mm_scores_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *const path[] = { fuzz_file(data, size) };
  mm_score_table t;
  mm_status status = mm_score_table_read(path, 1, &t);
  if (status != MM_OK)
    require_refusal(status, path[0]);
  else
    require_table(&t);
  if (status == MM_OK && t.n_map * t.n_env * t.n_seed <= COMPARED_MAX) require_scores(&t);
  mm_score_table_release(&t);
  return 0;
}
