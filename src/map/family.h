// SPDX-License-Identifier: Apache-2.0
// A family of potentials as the host knows it, beyond the numbers of potential.h. Each is the last
// part of a file in src/map/kinds.

#ifndef MM_MAP_FAMILY_H
#define MM_MAP_FAMILY_H

#include <math.h>

#include "base/json.h"
#include "base/status.h"
#include "map/density.h"
#include "map/map_internal.h"

typedef struct mm_map_family {
  // The map of that name, for families without an argument; or that of a text NAME:ARGUMENT, where
  // `argument` may be NULL.
  mm_status (*create)(mm_map **out);
  mm_status (*open)(const char *text, const char *argument, mm_map **out);
  const char *usage, *example; // of a text with the argument it must have; else NULL
  const char *about;           // what it is, for lists

  // Its parameters in a map file; NULL: there are none.
  mm_status (*read)(const cJSON *root, const char *source, mm_map **out);
  bool (*write)(cJSON *root, const mm_potential_d *f);

  // What is to be said of a map beyond what holds for all; may be NULL.
  void (*check)(const mm_map *map, mm_map_report *report);

  // phi(x) for any x, where mm_phi_d covers probabilities only; may be NULL.
  double (*phi_anywhere)(const mm_potential_d *f, double x);

  // The terms of the divergence: mm_bregman_term, and mm_density_divergence of densities x.p = x.q
  // e^t before its bounds (NULL: from the first).
  double (*gap)(const mm_potential_d *f, double p, double q);
  double (*divergence)(const mm_density *f, double t, mm_density_pair_d x);

  // mm_map_convert; NULL: nothing can be turned into this kind.
  mm_status (*convert)(const mm_map *source, size_t n, mm_map **out);

  // Search coordinates: a fixed number, or some for each of n steps; neither: there are none.
  size_t search_size;
  mm_status (*search_steps)(size_t n); // can there be so many?
  size_t search_per_step;              // coordinates of a step
  size_t search_n;                     // steps unless another number is asked for
  void (*search_initial)(size_t n, double *z);
  mm_status (*from_search)(const double *z, size_t n, mm_map **out);
  void (*to_search)(const mm_potential_d *f, double *z);
  // Their scale: mm_map_search_log_span and _rescale; NULL: there is none.
  double (*search_log_span)(const double *z, size_t n, double from);
  void (*search_rescale)(double *z, size_t n, double log_factor);

  // Anchors of a map that moves: can these two follow each other (NULL: any can), and the map
  // `share` of the way from the one to the other, with the parameters of the first for share = 0
  // and of equals for any (NULL: there are no parameters).
  mm_status (*neighbours)(const mm_potential_d *a, const mm_potential_d *b);
  mm_status (*mix)(const mm_potential_d *a, const mm_potential_d *b, double share, mm_map **out);

  const char *random_name; // of random controls: NAME:SEED, so far from the initial point
  double random_spread;
  uint32_t random_lane; // 0: the number of the kind
} mm_map_family;

const mm_map_family *mm_map_family_of(mm_map_kind kind);

// Kinds that there are, those of plug-ins included; their numbers are below it.
size_t mm_map_kind_count(void);
enum { MM_MAP_KINDS_MOST = MM_MAP_KINDS + 16 };

// Those that learn searches in: as words "a|b|c", as names ended by NULL, and the kind of each.
extern char mm_map_search_words[];
extern const char *mm_map_search_names[];
mm_map_kind mm_map_search_kind(size_t i);
void mm_map_search_add(mm_map_kind kind);

// "negentropy, l2 or tsallis": the kinds that `belongs` says (NULL: all), in the order of the list.
enum { MM_MAP_NAMES_SIZE = 32 * MM_MAP_KINDS + 64 * 16 };
const char *mm_map_kind_names(bool (*belongs)(mm_map_kind kind), char out[MM_MAP_NAMES_SIZE]);

// ---------------------------------------------------------------------------------------------
// What families are made of

// An empty map whose arena has room for `bytes`; then, when `exact` is complete, what both
// precisions have in common.
mm_status mm_map_begin(mm_map_kind kind, size_t bytes, mm_map **out);
void mm_map_end(mm_map *map);

// The initial point of a search plus `spread` times a standard normal number in every coordinate.
mm_status mm_map_random(mm_map_kind kind, size_t n, double spread, uint64_t seed, mm_map **out);

// a for share = 0, and where both are equal.
static inline double mm_map_between(double a, double b, double share) {
  return share == 0 || a == b ? a : fma(share, b - a, a); // keeps the sign of 0
}

// A whole number that fills `text`.
bool mm_parse_whole(const char *text, uint64_t *out);

// Puts the file's name before the sentence of a constructor.
mm_status mm_map_in_file(mm_status status, const char *source);

// What a map file may have beside the parameters of its kind.
#define MM_MAP_FILE_KEYS "format", "kind", "eta", "meta"

// A field of a map file; false: no memory.
bool mm_json_put(cJSON *root, const char *key, cJSON *item);

// Adds a line to report->failure or ->warning.
void mm_map_note(char (*lines)[200], int *n, const char *format, ...) MM_CHECK_FORMAT(3, 4);
#define MM_MAP_FAILURE(...) mm_map_note(report->failure, &report->n_failure, __VA_ARGS__)
#define MM_MAP_WARNING(...) mm_map_note(report->warning, &report->n_warning, __VA_ARGS__)

// Divergences of phi^-1 = log and phi^-1 = k x^(k-1) / (k-1), k > 0, k != 1; r log r - r + 1 for
// r = e^t.
double mm_log_gap(double p, double q);
double mm_power_gap(double p, double q, double k);
double mm_log_divergence(double t);

// int_q^p (p - x) slope(x) dx, the same as a divergence, where p and q are close.
double mm_slope_gap(double (*slope)(const void *f, double p), const void *f, double p, double q);

// The nearest map of a family that has none like this one (fit.c): functions f(of, p) are put
// one after the other, then phi^-1 is solved for as their sum with weights x[m] of at least 0. What
// solving returns is the misfit, root mean square, as a share of phi^-1's spread.
enum { MM_MAP_FIT_MOST = MM_NEURAL_UNITS + 2 };
typedef struct mm_map_fit mm_map_fit;
mm_status mm_map_fit_open(const mm_map *source, mm_map_fit **out);
void mm_map_fit_put(mm_map_fit *q, size_t j, double (*f)(const void *of, double p), const void *of);
double mm_map_fit_solve(const mm_map_fit *q, double *x);
void mm_map_fit_close(mm_map_fit *q);

// That of n terms w (p^a - 1) / a, with exponents first, first + step, .., `count` of them.
mm_status mm_map_fit_powers(const mm_map *source, size_t n, double first, double step, size_t count,
                            double *w, double *a, double *misfit);

// Says what was made of a map.
void mm_map_fit_note(const mm_map *source, mm_map_kind kind, double misfit);

// The i-th family of plug-ins (foreign.h).
const mm_map_family *mm_foreign_family(size_t i);

#endif
