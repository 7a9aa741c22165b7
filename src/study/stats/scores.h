// SPDX-License-Identifier: Apache-2.0
// Maps over several environments: returns become scores that can be put together, and every map is
// held against a baseline, run by run.
//
// In each environment a return x has the score (x - zero) / (one - zero). `zero` is the return of a
// random policy or the mean of a random row, `one` the mean of the best baseline, or of the best
// map without baselines. Where `zero` is missing or not the lower one, the lowest and the highest
// mean of the maps stand in for both.

#ifndef MM_STUDY_SCORES_H
#define MM_STUDY_SCORES_H

#include "study/stats/comparison.h"
#include "study/stats/score_table.h"

enum { MM_PROFILE_POINTS = 201 };

typedef struct mm_score_baselines {
  size_t row[MM_SCORE_NAMES], n; // the first is the one that differences are taken from
} mm_score_baselines;

// Rows with a tuned eta, or else all of negentropy, l2 and tsallis, in that order. Without any n is
// 0, and differences are taken from the first row.
mm_score_baselines mm_score_baselines_of(const mm_score_table *table);

// The first row of a random map ("random", "random:SEED", "random-neural:SEED"), n_map without one.
size_t mm_score_random_row(const mm_score_table *table);

typedef struct mm_score_scale {
  double zero, one;         // returns with these scores; NaN: means do not differ, so no scores
  size_t zero_map, one_map; // whose means they are; n_map: a given return
  bool by_means;            // the lowest and the highest mean of the maps
} mm_score_scale;

typedef struct mm_score_map {
  mm_iqm iqm;         // of its scores; NaN where it lacks an environment
  size_t n_env;       // environments in which it has runs
  size_t n, failures; // runs, and those without a return
} mm_score_map;

typedef struct mm_scores {
  const mm_score_table *table;
  mm_score_baselines baselines;
  mm_score_scale scale[MM_SCORE_NAMES]; // [n_env]
  mm_score_map *map;                    // [n_map]
  mm_worths *cell;                      // [n_map][n_env]
  mm_comparison *over; // [n_map][n_env] against the first baseline, corrected over all of them
  size_t n_test;
  mm_comparison *match; // [n_map][n_map] win rates over all environments, and nothing else; of
                        // maps that lack one none
  // where profiles are looked at, ascending: among all scores but the outermost hundredths
  double tau[MM_PROFILE_POINTS];
} mm_scores;

// random_return[n_env]: returns of a random policy, NaN where unknown, or NULL; then random_row has
// them (n_map: none). The table must outlive the result. Release in any case.
mm_status mm_scores_of(const mm_score_table *table, const mm_score_baselines *baselines,
                       const double *random_return, size_t random_row, mm_scores *out);
void mm_scores_release(mm_scores *scores);

// Scores of a map, those of an environment after each other, into x[n_env * n_seed], and how many
// there are of each of the environments that have any into n[n_env]; returns how many these are, or
// 0 where the map lacks one.
size_t mm_scores_list(const mm_scores *scores, size_t map, double *x, size_t *n);

// The map's performance profile: the share of its scores above each tau (ascending), with its band.
// NaN where it lacks an environment.
mm_status mm_scores_profile(const mm_scores *scores, size_t map, const double *tau, size_t n_tau,
                            double *share, mm_interval *band);

const mm_comparison *mm_scores_over(const mm_scores *scores, size_t map, size_t env);

#endif
