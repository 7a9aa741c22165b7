// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share: the object, the table of functions that each family of
// strategies fills in, and the ranking of fitness.

#ifndef MM_EVOLVE_ES_INTERNAL_H
#define MM_EVOLVE_ES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "mirrormap/evolve.h"

// The vectors of a state: the mean first, then what its strategy remembers.
enum { MM_ES_MEAN = 0, MM_ES_VECTORS = 7, MM_ES_SQUARES = 3 };
enum { MM_ES_RESTARTS_MAX = 20, MM_ES_HISTORY_MAX = 1000 };

// A member in the order of fitness.
typedef struct mm_ranked {
  double fitness; // -infinity in place of anything that is not finite
  size_t member;
} mm_ranked;

typedef struct mm_es_method mm_es_method;

// What restarts need (es_restart.c); without any all of it stays 0.
typedef struct mm_es_restart {
  uint64_t done, began;  // restarts so far; the generation of the last one
  uint64_t evaluations;  // members told of
  bool due;              // the next `ask` begins again
  double *start;         // [dimension]
  size_t n_history;      // generations since then, at most mm_es_history
  double *best, *median; // [history] fitness of each, the oldest first
  mm_ranked *sorted;     // [history]: work space
} mm_es_restart;

struct mm_es {
  mm_arena arena; // holds this very struct too
  mm_es_config config;
  const mm_es_method *method;
  uint64_t generation, nonfinite;
  size_t population; // of this generation: the config's, doubled at every restart
  mm_es_restart restart;
  double sigma;
  bool asked;
  double *now[MM_ES_VECTORS];    // the state
  double *next[MM_ES_VECTORS];   // the state that `tell` prepares
  double *z;                     // [draws][dimension]: the draws of the last `ask`
  double *deviation;             // [dimension]: of the axes in the last `ask`, in sigmas
  double *sum, *sum_squares;     // [dimension]: over members, weighted
  double *square[MM_ES_SQUARES]; // [dimension][dimension]: work space of a method
  double *by_rank;               // [population]: what the member of each rank gets, best first
  double *weight;                // [population]: what each member gets
  mm_ranked *ranked;             // [population]
  void *constants;               // [method->constants_size]
};

typedef enum mm_es_shape {
  MM_ES_PER_COORDINATE, // [dimension]
  MM_ES_MATRIX,         // [dimension][dimension]
  MM_ES_FOUR,           // [4], whatever the dimension
} mm_es_shape;

typedef struct mm_es_vector {
  const char *name; // in messages
  double min;       // no state has less; -DBL_MAX: any finite number
  mm_es_shape shape;
} mm_es_vector;

struct mm_es_method {
  bool paired;    // members 2k and 2k + 1 are mirror images: one draw for both
  bool covariant; // vector 2 is the path of C and vector 3 is C: it can be restarted
  // The paper's settings, for one of its kinds; what is wrong with a config beyond what is checked
  // for all (may be NULL).
  mm_es_config (*defaults)(mm_es_kind kind);
  mm_status (*check)(const mm_es_config *config, const char *name);

  size_t constants_size;
  size_t n_vectors, n_squares;
  mm_es_vector vector[MM_ES_VECTORS];

  // Fills in the constants, `by_rank` and vectors that do not start at zero.
  void (*prepare)(mm_es *es);
  // Candidates of draws first .. end - 1 into member [population][dimension]; the first ones first.
  void (*place)(mm_es *es, size_t first, size_t end, double *member);
  // es->weight from fitness; the number of fitnesses that are not finite. NULL: by_rank of each
  // member's rank, equals in a random order.
  size_t (*weigh)(mm_es *es, const double *fitness);
  // es->next from es->weight; the next sigma. Without a `weigh` it is not called when all members
  // are equals: then nothing was learned, and nothing moves.
  double (*step)(mm_es *es);
  // See mm_es_axis_ratio; NULL: 1.
  double (*axis_ratio)(const mm_es *es);
};

// x > 0 and finite.
bool mm_es_is_positive(double x);

// How many numbers vector v of a state has.
size_t mm_es_vector_length(const mm_es *es, size_t v);

// How many vectors of normal numbers a generation takes.
size_t mm_es_draws(const mm_es *es);

// A strategy at generation 0 with its mean at zero; MM_ERR_INPUT for a config out of range.
mm_status mm_es_allocate(const mm_es_config *config, mm_es **out);

// ---------------------------------------------------------------------------------------------
// Restarts (es_restart.c)

// Generations that are remembered, 0 without restarts; members of the largest generation.
size_t mm_es_history(const mm_es_config *config);
size_t mm_es_population_max(const mm_es_config *config);

// After a generation, whose ranks are in es->ranked: counts it, and decides whether to go on.
void mm_es_watch(mm_es *es);

// Before a generation: begins again if that is due.
void mm_es_begin(mm_es *es);

// The constants and the first vectors, but for the mean, of a search after so many restarts.
void mm_es_repopulate(mm_es *es, uint64_t restarts);

// ---------------------------------------------------------------------------------------------
// Ranking

// ranked[n], best first; equals in the order of their members. Returns how many fitnesses are not
// finite.
size_t mm_es_rank(const double *fitness, size_t n, mm_ranked *ranked);

// es->ranked and es->weight: the member of rank r gets by_rank[r]. Members of equal fitness are put
// in a random order, so that none is favoured for its number. (Sharing the weights of their ranks
// instead would shorten the step, and with it sigma, wherever fitness is flat.) Returns how many
// fitnesses are not finite.
size_t mm_es_weigh_by_order(mm_es *es, const double *fitness);

// The member of rank r gets by_rank[r]; members of equal fitness get the mean over their ranks, so
// that nothing depends on the order in which members were made.
void mm_es_share(const mm_ranked *ranked, size_t n, const double *by_rank, double *weight);

#endif
