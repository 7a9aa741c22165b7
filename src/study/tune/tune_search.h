// SPDX-License-Identifier: Apache-2.0
// A search for good values of parameters: which trials there are, how many seeds each gets, and
// which is the best. Nothing here knows what a trial trains; it is told a score for every seed,
// greater is better. The same scores make the same search.
//
// Trial 0 has the settings' own values and is what scores are relative to: it gets all seeds first
// and is never stopped. Others get their seeds in rounds of 1, 1, 2, 4, ..; behind each round those
// below the median of all trials that came so far are stopped. Successive halving (halving.h) has
// rounds of its own, behind which all but the better half are stopped. Without rounds all trials
// get all seeds at once, those of a grid together with trial 0, so that a device is kept busy.

#ifndef MM_EXPERIMENT_TUNE_SEARCH_H
#define MM_EXPERIMENT_TUNE_SEARCH_H

#include "mirrormap/stats.h"
#include "mirrormap/study.h"
#include "study/tune/tune_space.h"

enum {
  MM_TUNE_TRIALS_MAX = MM_STUDY_TRIALS_MAX,
  MM_TUNE_SEEDS_MAX = MM_STUDY_TRIAL_SEEDS_MAX,
  MM_TUNE_ROUNDS = 12,    // more than enough for these
  MM_TUNE_PRUNE_LEAST = 4 // trials that a median needs to stop others
};

typedef struct mm_tune_trial {
  double value[MM_TUNE_PARAMETERS]; // NaN, of trial 0: of each environment its own, or no choice
  size_t generation;                // of cma-es, from 1; 0 for trial 0 and the other methods
  double *score;                    // [n] of the first seeds
  size_t n;
  bool pruned; // stopped behind a round
  bool failed; // a run without a value, or values that the settings do not take together
} mm_tune_trial;

typedef struct mm_tune_search_config {
  const mm_tune_space *space;
  size_t trials;     // cma-es: candidates, cut to whole generations; halving: drawn, if the space
                     // is sampled; grid: no more points than this
  size_t population; // of cma-es; 0: mm_tune_population
  size_t seeds;
  uint64_t seed;                  // of cma-es and of drawn trials
  bool prune, rounds;             // not for halving
  double own[MM_TUNE_PARAMETERS]; // values of trial 0
} mm_tune_search_config;

typedef struct mm_tune_search {
  mm_tune_search_config config;
  mm_tune_trial *trial; // [n]
  size_t n, room;
  size_t n_candidates; // asked for by the method; those with the values of an earlier trial are it
  size_t generations;  // complete, of cma-es
  bool complete;
  double *scores;  // [room][seeds] behind the trials
  double *scratch; // [room]
} mm_tune_search;

// score[n][count] of trials which[n] for the seeds first .. first + count - 1. NaN: no value.
typedef mm_status mm_tune_evaluate(const mm_tune_search *search, const size_t *which, size_t n,
                                   size_t first, size_t count, double *score, void *user);

// Trials that there can be at most, with trial 0.
size_t mm_tune_search_room(const mm_tune_search_config *config);

// What is wrong with the numbers: a grid that is too large, fewer trials than a generation.
mm_status mm_tune_search_check(const mm_tune_search_config *config);

// Runs to the end, or until `evaluate` fails: then *out has what was known by then. Release in
// either case.
mm_status mm_tune_search_run(const mm_tune_search_config *config, mm_tune_evaluate *evaluate,
                             void *user, mm_tune_search *out);
void mm_tune_search_release(mm_tune_search *search);

// Candidates of a generation of cma-es for so many parameters: 4 + 3 ln n, the usual.
size_t mm_tune_population(size_t n);

// Seeds that a trial has behind round r; at most `seeds`.
size_t mm_tune_round_end(size_t round, size_t seeds);

// Mean and standard error of a trial's scores so far; -inf for one that failed, NaN for none yet.
mm_estimate mm_tune_score(const mm_tune_trial *trial);

// Whether a is better than b: what failed is worst; more seeds, since others were stopped, before a
// greater mean.
int mm_tune_compare(const mm_tune_trial *a, const mm_tune_trial *b);

// Whether a trial is not shown to be worse than the best one: the 95 % interval of their paired
// difference, over the seeds that both have, includes 0.
bool mm_tune_is_near(const mm_tune_search *search, size_t best, size_t trial);

// The best of those with all seeds; 0 if none is better than the settings' own values.
size_t mm_tune_best(const mm_tune_search *search);

#endif
