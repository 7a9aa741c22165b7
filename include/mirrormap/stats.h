// SPDX-License-Identifier: Apache-2.0
// Statistics of runs: what a sample of final returns says about the map or learner behind it, and
// runs against each other.
//
//   mm_score_table table;
//   mm_scores scores;
//   mm_score_table_read(&folder, 1, &table);                a transfer study that has ended
//   mm_score_baselines baselines = mm_score_baselines_of(&table);
//   mm_scores_of(&table, &baselines, NULL, mm_score_random_row(&table), &scores);
//   ... scores.map[m].iqm ..., mm_scores_over(&scores, m, e)->p_holm
//   mm_scores_release(&scores);
//   mm_score_table_release(&table);
//
// Everything is a function of the numbers and a seed, which names the resamples: the same numbers
// have the same interval.
//
// Threads: every function here may be called from any thread at any time.

#ifndef MIRRORMAP_STATS_H
#define MIRRORMAP_STATS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mirrormap/agent.h"
#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------
// Samples

enum { MM_RESAMPLES = 2000, MM_SIGN_FLIPS = 10000 };

typedef struct mm_interval {
  double low, high; // of 95 %; NaN where there is none
} mm_interval;

// Of the mean of x[n], by the studentised bootstrap: resampled means are measured in their own
// standard errors. Returns of runs are bounded and skewed, and the plain percentiles of resampled
// means are too narrow for them; the suite `inference` measures how often these intervals cover.
// Student's t below ten numbers, or where resamples have no spread. NaN below two numbers, where
// one is not finite, or without memory.
MM_API mm_interval mm_interval_of_mean(const double *x, size_t n, uint64_t seed);

// Of a share of n comparisons that were won, equals counting half: Wilson's score interval.
MM_API mm_interval mm_interval_of_share(double share, size_t n);

// The interquartile mean (IQM): of n numbers in order, floor(n / 4) are left out at either end. Its
// interval lies between percentiles of the IQMs of resamples. NaN are left out.
//
// -INFINITY is a number like others, the lowest: an IQM that it reaches is NaN, an interval that it
// reaches has it as its lower bound.
typedef struct mm_iqm {
  double iqm, low, high; // NaN: all three without a number, or memory; the bounds of a single one
} mm_iqm;
MM_API mm_iqm mm_estimate_iqm(const double *x, size_t n, uint64_t seed); // x[n] in any order

// Scores of one map in several environments, those of an environment after each other: x holds n[e]
// of each of n_env, none NaN. Resamples are drawn within environments (stratified bootstrap). The
// IQM is that of all scores together; a performance profile is the share of scores above each tau
// (ascending), with its band. As rliable has them. NaN without scores or memory; no interval and no
// band where an environment has a single score, whose spread nobody knows.
MM_API mm_iqm mm_stratified_iqm(const double *x, const size_t *n, size_t n_env, uint64_t seed);
MM_API void mm_performance_profile(const double *x, const size_t *n, size_t n_env,
                                   const double *tau, size_t n_tau, uint64_t seed, double *share,
                                   mm_interval *band);

// CVaR: the mean of the worst ceil(share n) numbers that are not NaN. NaN without any, or memory.
MM_API double mm_worst_mean(const double *x, size_t n, double share);
MM_API double mm_worst_of_sorted(const double *x, size_t n,
                                 double share); // n numbers, the worst first

// The two-sided p-value of paired differences d[n]: how often a mean of the same differences with
// signs drawn at random lies as far from 0 (MM_SIGN_FLIPS draws, and the sample itself). NaN where
// one is not finite.
MM_API double mm_sign_flip_test(const double *d, size_t n, uint64_t seed);

// p-values of n tests corrected for their number by Holm's method, in place. NaN stay and do not
// count. Without memory all become NaN.
MM_API void mm_holm(double *p, size_t n);

// ---------------------------------------------------------------------------------------------
// Means

typedef struct mm_estimate {
  double mean, sem; // sample standard deviation / sqrt(n); NaN for a single number
  size_t n;
} mm_estimate;

#define MM_ESTIMATE_NONE ((mm_estimate){ NAN, NAN, 0 })

MM_API mm_estimate mm_estimate_of(const double *x, size_t n); // of no numbers: MM_ESTIMATE_NONE

// Of x[i] - y[i]: what common random numbers are for.
MM_API mm_estimate mm_estimate_paired(const double *x, const double *y, size_t n);

// The 97.5 % quantile of Student's t distribution: 95 % lie within +- this. Six digits.
MM_API double mm_student_quantile(size_t degrees_of_freedom);

// Half the length of the mean's 95 % interval, by Student's t: a standard error of few numbers is
// itself uncertain. NaN below two numbers.
MM_API double mm_estimate_half(mm_estimate e);

// 1 or -1 where that interval lies above or below 0, else 0: the mark of a difference.
MM_API int mm_estimate_sign(mm_estimate e);

// ---------------------------------------------------------------------------------------------
// Runs against each other

// Whether a run says something about its map: complete, or broken down after some iterations.
MM_API bool mm_result_has_value(const mm_result *result);

// Whether such a run ended before any of its episodes did: it has no return.
MM_API bool mm_result_is_unfinished(const mm_result *result);

// What a run is worth in comparisons: its final return; -INFINITY, less than any, if it has none:
// it finished no episode, or broke down before; NaN if it failed for reasons that are not its map's
// (out of memory or time), and another attempt may not. Shown, the latter two are NaN.
MM_API double mm_result_worth(const mm_result *result);
MM_API double mm_worth_shown(double worth);

// Whether a run failed: it says nothing, diverged, or finished no episode.
MM_API bool mm_result_is_failure(const mm_result *result);

// The mean of what is not NaN; NaN without any, or where one is infinite.
MM_API mm_estimate mm_estimate_known(const double *x, size_t n);

// Runs of one map. One unfinished run among them leaves no mean, since one over the others would
// flatter the map; it is the worst for the interquartile mean.
typedef struct mm_worths {
  size_t n;          // runs with a return
  size_t unfinished; // runs without a return
  mm_estimate mean;
  mm_iqm iqm;
  double worst; // CVaR 0.25: the mean of the worst quarter; NaN with an unfinished run
} mm_worths;
MM_API mm_worths mm_estimate_worths(const double *worth, size_t n, uint64_t seed);

typedef struct mm_curve_point {
  uint64_t step;
  mm_estimate value;
} mm_curve_point;

// The mean curve of runs with the same settings, those with a value, into (*out)[*n_point],
// released with mm_curve_release. Runs that broke down have fewer points: from there on they count
// with their final return.
MM_API mm_status mm_estimate_curve(const mm_result *runs, size_t n, mm_curve_point **out,
                                   size_t *n_point);
MM_API void mm_curve_release(mm_curve_point *curve);

// ---------------------------------------------------------------------------------------------
// Maps against each other: runs paired by seed, a table's p-values corrected together, and what can
// be concluded

// Over the pairs of which both runs say something. One unfinished run leaves nothing but the win
// rate.
typedef struct mm_comparison {
  mm_estimate gain;     // of x - y over so many pairs; NaN without any
  mm_interval interval; // of the mean gain, 95 %
  mm_iqm iqm;           // of the gains
  double wins;          // win rate: share of pairs with x > y, equals counting half
  mm_interval win_interval;
  double p;      // of no difference, by paired sign flips
  double p_holm; // corrected by mm_comparisons_correct; NaN before that
} mm_comparison;

#define MM_NO_INTERVAL ((mm_interval){ NAN, NAN })
#define MM_COMPARISON_NONE                                                                         \
  ((mm_comparison){                                                                                \
      MM_ESTIMATE_NONE, MM_NO_INTERVAL, { NAN, NAN, NAN }, NAN, MM_NO_INTERVAL, NAN, NAN })

// x[n] against y[n] (NULL: zeros), run by run. The seed names the resamples.
MM_API mm_comparison mm_comparison_of(const double *x, const double *y, size_t n, uint64_t seed);

// 1 or -1 where the interval of the mean gain lies above or below 0, else 0: the mark of a cell.
MM_API int mm_comparison_sign(const mm_comparison *comparison);

// Corrects the p-values of n comparisons, `stride` bytes apart, by Holm's method; returns how many
// there were, those that are NaN not counted.
MM_API size_t mm_comparisons_correct(mm_comparison *first, size_t n, size_t stride);

// After that: 1 or -1 where the map is better or worse at a level of 5 %, else 0.
MM_API int mm_comparison_verdict(const mm_comparison *comparison);

// How many pairs a gain of this size needs for a power of 80 % at 5 %, by the spread of the gains;
// NaN where there is none, infinite for a gain of 0.
MM_API double mm_comparison_pairs_needed(const mm_comparison *comparison);

// One sentence without a line's end: which maps are better or worse than the baseline in that
// environment, or that nothing can be concluded. Rows without a comparison are left out.
typedef struct mm_judged {
  const char *map;
  const mm_comparison *over;
} mm_judged;
MM_API void mm_conclude(FILE *f, const char *env, const char *baseline, const mm_judged *row,
                        size_t n);

// ---------------------------------------------------------------------------------------------
// Tables: final returns of maps x environments x seeds, read from the runs of transfer studies.
// Several tables become one: run i of a map meets run i of another by its seed. What they say of
// themselves must fit together.

enum {
  MM_SCORE_NAMES = 256,        // maps, and environments, at most
  MM_SCORE_RUNS_MAX = 1 << 24, // places of a table, n_map x n_env x n_seed, at most
  MM_SCORE_NAME_SIZE = 256     // of a name in a file, with its final zero
};

typedef struct mm_score_table {
  char *map[MM_SCORE_NAMES], *env[MM_SCORE_NAMES]; // in the order in which they appear
  uint64_t *seed;                                  // [n_seed], ascending
  size_t n_map, n_env, n_seed;
  // [n_map][n_env][n_seed]; NaN: there is no such run; -INFINITY: a run without a return, which is
  // less than any
  double *final;
  // [n_env] Seeds that all maps of the environment have; those that were left out since not all
  // have them; and which map has the fewest. A map with fewer runs would otherwise be judged by
  // other environments and seeds than the maps that it is compared with.
  size_t common[MM_SCORE_NAMES], left_out[MM_SCORE_NAMES], fewest[MM_SCORE_NAMES];
} mm_score_table;

// Reads tables[n]: folders with a runs.csv, or such files. A file is CSV with the columns map, env,
// seed and final, whatever else it has; lines that begin with '#' are remarks. An empty `final` is
// a run without a return. Refused are two different returns of one map, environment and seed, names
// that mean different things in two tables, and environments without a seed that all maps have.
// Release in any case.
MM_API mm_status mm_score_table_read(const char *const *tables, size_t n, mm_score_table *out);
MM_API void mm_score_table_release(mm_score_table *table);

// The runs of a cell, [n_seed].
MM_API const double *mm_score_runs(const mm_score_table *table, size_t map, size_t env);

// The row of a map, or n_map.
MM_API size_t mm_score_find(const mm_score_table *table, const char *map);

// ---------------------------------------------------------------------------------------------
// Scores: maps over several environments. Returns become scores that can be put together, and every
// map is held against a baseline, run by run.
//
// In each environment a return x has the score (x - zero) / (one - zero). `zero` is the return of a
// random policy or the mean of a random row, `one` the mean of the best baseline, or of the best
// map without baselines. Where `zero` is missing or not the lower one, the lowest and the highest
// mean of the maps stand in for both.

enum { MM_PROFILE_POINTS = 201 };

typedef struct mm_score_baselines {
  size_t row[MM_SCORE_NAMES], n; // the first is the one that differences are taken from
} mm_score_baselines;

// Rows with a tuned eta, or else all of negentropy, l2 and tsallis, in that order. Without any n is
// 0, and differences are taken from the first row.
MM_API mm_score_baselines mm_score_baselines_of(const mm_score_table *table);

// The first row of a random map ("random", "random:SEED", "random-neural:SEED"), n_map without one.
MM_API size_t mm_score_random_row(const mm_score_table *table);

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
MM_API mm_status mm_scores_of(const mm_score_table *table, const mm_score_baselines *baselines,
                              const double *random_return, size_t random_row, mm_scores *out);
MM_API void mm_scores_release(mm_scores *scores);

// Scores of a map, those of an environment after each other, into x[n_env * n_seed], and how many
// there are of each of the environments that have any into n[n_env]; returns how many these are, or
// 0 where the map lacks one.
MM_API size_t mm_scores_list(const mm_scores *scores, size_t map, double *x, size_t *n);

// The map's performance profile: the share of its scores above each tau (ascending), with its band.
// NaN where it lacks an environment.
MM_API mm_status mm_scores_profile(const mm_scores *scores, size_t map, const double *tau,
                                   size_t n_tau, double *share, mm_interval *band);

// What the map has over the baseline it is compared with there.
MM_API const mm_comparison *mm_scores_over(const mm_scores *scores, size_t map, size_t env);

#ifdef __cplusplus
}
#endif

#endif
