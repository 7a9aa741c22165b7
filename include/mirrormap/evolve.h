// SPDX-License-Identifier: Apache-2.0
// Evolution strategies: ask for candidates, tell how fit they are.
//
//   mm_es *es;
//   mm_es_create(&config, start, &es);
//   for (int g = 0; g < generations; g++) {
//     mm_es_ask(es, member);                 // [mm_es_population(es)][dimension]
//     ... fitness[i] of every member, greater is better ...
//     mm_es_tell(es, fitness);
//   }
//   const double *result = mm_es_mean(es);
//
// Nothing here knows what the numbers mean. All randomness comes from (seed, generation, member),
// so a state saved after any `tell` goes on to the same bits.
//
// Threads: an mm_es may be used by one thread at a time, different ones by different threads at the
// same time. Functions that take none may be called from any thread.

#ifndef MIRRORMAP_EVOLVE_H
#define MIRRORMAP_EVOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_es mm_es;

// One line per strategy: name in the interface, name in commands and files, and the file of
// src/evolve that has it.
#define MM_ES_LIST(X)                                                                              \
  X(OPENES, "openes", openes)                   /* antithetic pairs, Adam with beta1 = 0.99 */     \
  X(OPENES_EVOSAX, "openes:evosax-0.3", openes) /* beta1 = 0.9, sigma one generation late */       \
  X(SEP_CMA, "sep-cma-es", sep_cma)             /* diagonal covariance, by Ros and Hansen */       \
  X(SEP_CMA_ISOTROPIC, "sep-cma-es:isotropic", sep_cma) /* variances stay 1, sigma adapts */       \
  X(SEP_CMA_EVOSAX, "sep-cma-es:evosax-0.3", sep_cma)   /* that library's later constants */       \
  X(CMA, "cma-es", cma)                /* full covariance, at most 64 coordinates */               \
  X(CMA_LR, "cma-es:lr-adapt", cma_lr) /* its learning rates follow the noise of fitness */

typedef enum mm_es_kind {
#define MM_ES_ENUM(name, text, file) MM_ES_##name,
  MM_ES_LIST(MM_ES_ENUM)
#undef MM_ES_ENUM
      MM_ES_KINDS
} mm_es_kind;

MM_API const char *mm_es_name(mm_es_kind kind); // in commands and files

// Unknown names fail with the nearest valid spelling.
MM_API mm_status mm_es_find(const char *name, mm_es_kind *out);

// Whether members 2k and 2k + 1 are mirror images of each other (the strategies called openes).
MM_API bool mm_es_is_paired(mm_es_kind kind);

// What openes makes of fitness; the other strategies use ranks by their nature.
#define MM_SHAPING_LIST(X)                                                                         \
  X(PAIR, "pair") /* the better of a pair gets 1, the other 0; equals get a half each */           \
  X(RANK, "rank") /* ranks over the population, centred: -0.5 .. 0.5; equals share */              \
  X(RAW, "raw")   /* as it is */

typedef enum mm_shaping {
#define MM_SHAPING_ENUM(name, text) MM_SHAPING_##name,
  MM_SHAPING_LIST(MM_SHAPING_ENUM)
#undef MM_SHAPING_ENUM
      MM_SHAPINGS
} mm_shaping;

typedef struct mm_es_config {
  size_t size; // of this struct, set by mm_es_config_default
  mm_es_kind kind;
  size_t dimension;  // at least 1
  size_t population; // at least 4; even for openes
  double sigma;      // at the start, > 0
  uint64_t seed;
  // cma-es, sep-cma-es: how often the search begins again at its start, with twice the members,
  // when it has converged or stagnates (IPOP; src/evolve/es_restart.c has the criteria); at most 20
  size_t restarts;
  // openes only
  mm_shaping shaping;
  double lr;          // of Adam
  double sigma_decay; // sigma <- max(sigma_decay sigma, sigma_min) after every generation
  double sigma_min;
} mm_es_config;

// The paper's settings for this strategy; dimension and seed are left at 0.
MM_API void mm_es_config_init(mm_es_config *out, size_t size, mm_es_kind kind);
static inline mm_es_config mm_es_config_default(mm_es_kind kind) {
  mm_es_config config;
  mm_es_config_init(&config, sizeof config, kind);
  return config;
}

// `mean` [dimension] is where the search starts.
MM_API mm_status mm_es_create(const mm_es_config *config, const double *mean, mm_es **out);
MM_API void mm_es_destroy(mm_es *es);

// The candidates of the next generation into member [mm_es_population][dimension]. Asking again
// before telling gives the same ones. MM_ERR_NUMERIC when one would not be finite;
// MM_ERR_UNSUPPORTED after 2^32 generations.
MM_API mm_status mm_es_ask(mm_es *es, double *member);

// The same with standard normal draws z from elsewhere: [population][dimension], for openes
// [population / 2][dimension]: one per pair.
MM_API mm_status mm_es_ask_with(mm_es *es, const double *z, double *member);

// fitness[population] of the members last asked for. One that is not finite counts as the worst and
// is counted; two such are equals. MM_ERR_INPUT when nothing was asked for. MM_ERR_NUMERIC, with
// the state as it was before the call, when the state would not stay finite.
MM_API mm_status mm_es_tell(mm_es *es, const double *fitness);

MM_API const mm_es_config *mm_es_get_config(const mm_es *es); // as it was created with
MM_API const double *mm_es_mean(const mm_es *es);             // [dimension]
MM_API double mm_es_sigma(const mm_es *es);                   // the step size as it is now
MM_API uint64_t mm_es_generation(const mm_es *es);            // number of tells so far
MM_API uint64_t mm_es_nonfinite(const mm_es *es); // fitnesses that were not finite, ever

// Members of the next generation: the config's population, doubled at every restart.
MM_API size_t mm_es_population(const mm_es *es);

// Whether the next `ask` begins again at the start; until then mean and sigma are those that the
// search came to. How often it did so far, and how many members were told of.
MM_API bool mm_es_restarts_next(const mm_es *es);
MM_API uint64_t mm_es_restarts(const mm_es *es);
MM_API uint64_t mm_es_evaluations(const mm_es *es);

// Greatest over smallest standard deviation: of the coordinates (sep-cma-es), of the axes of the
// covariance (cma-es); 1 for the others.
MM_API double mm_es_axis_ratio(const mm_es *es);

// The state between two generations as bytes, the same on every machine: little-endian, with a
// format mark and a checksum. `mm_es_load` takes only what fits the config and is intact; anything
// else is MM_ERR_INPUT. The state does not hold the seed and the settings of openes: a search goes
// on to the same bits only with the config it had.
MM_API size_t mm_es_state_size(const mm_es *es);
MM_API void mm_es_save(const mm_es *es, void *state);
MM_API mm_status mm_es_load(const mm_es_config *config, const void *state, size_t size,
                            mm_es **out);

#ifdef __cplusplus
}
#endif

#endif
