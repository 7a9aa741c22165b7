// SPDX-License-Identifier: Apache-2.0
// Mirror maps: how a policy moves.
//
// A mirror map is given by one increasing scalar function, the potential phi. Everything else
// follows from it:
//
//   phi^-1                              the gradient of h, coordinate by coordinate
//   h(p)    = sum_a int_1^{p_a} phi^-1  the mirror map itself
//   D(p, q) = h(p) - h(q) - <grad h(q), p - q>        its Bregman divergence
//   p_a     = max(phi(x_a + lambda), 0), sum_a p_a = 1      the projection of scores x to a policy
//
// phi = exp gives the negative entropy and softmax policies, phi(x) = x the Euclidean norm and
// sparse ones. An mm_map is immutable once created: any number of threads may share one,
// and every function here may be called from any thread at any time.

#ifndef MIRRORMAP_MAP_H
#define MIRRORMAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_map mm_map;

// The families of potentials, one line each; src/map/kinds has a file for every one.
#define MM_MAP_LIST(X)                                                                             \
  X(NEGENTROPY, negentropy) /* phi(x) = exp x */                                                   \
  X(L2, l2)                 /* phi(x) = x */                                                       \
  X(TSALLIS, tsallis)       /* phi(x) = max((q-1) x / q, 0)^(1/(q-1)), q > 0, q != 1 */            \
  X(PIECEWISE, piecewise)   /* n straight steps: phi(psi_1 + .. + psi_j) = j/n; 0 below 0 */       \
  X(NEURAL, neural)         /* phi^-1 is a monotone network of 126 units plus a x + b log x */     \
  X(POWERS, powers)         /* phi^-1(p) = sum_k w_k (p^a_k - 1) / a_k, log p where a_k = 0 */

typedef enum mm_map_kind {
#define MM_MAP_ENUM(KIND, name) MM_MAP_##KIND,
  MM_MAP_LIST(MM_MAP_ENUM)
#undef MM_MAP_ENUM
      MM_MAP_KINDS
} mm_map_kind;

enum {
  MM_NEURAL_UNITS = 126,  // six kinds of unit, 21 of each
  MM_NEURAL_SEARCH = 380, // 126 w, 126 c, 126 u, a, b
  MM_PIECEWISE_N = 100,   // steps of a piecewise map unless another number is asked for
  MM_PIECEWISE_MAX = 1000000,
  MM_POWERS_N = 3, // terms of a powers map unless another number is asked for
  MM_POWERS_MAX = 8,
  MM_STAGES_MAX = 4 // anchors of a map that moves
};

// The most that a map's step size can be.
#define MM_ETA_MAX 1e6

// The range of every psi_j.
#define MM_PSI_MIN 1e-8
#define MM_PSI_MAX 1e6

// ---------------------------------------------------------------------------------------------
// Making and keeping maps

// The kind's name as used in files and on the command line, e.g. "piecewise".
MM_API const char *mm_map_kind_name(mm_map_kind kind);

// A map by its text: `negentropy`, `l2`, `tsallis:Q`, `piecewise` or `piecewise:N` (the initial map
// of a search), `powers` or `powers:N`, `neural` (likewise), `random:SEED`, `random-KIND:SEED`
// (controls), a map file's path, or the name of a map shipped in maps/. A file is preferred when
// the text holds a '/' or ends in ".json". Unknown names fail with the nearest valid spelling.
MM_API mm_status mm_map_open(const char *text, mm_map **out);

MM_API mm_status mm_map_create_negentropy(mm_map **out);        // phi(x) = exp x
MM_API mm_status mm_map_create_l2(mm_map **out);                // phi(x) = x
MM_API mm_status mm_map_create_tsallis(double q, mm_map **out); // 0 < q <= 1e6, q != 1

// psi[n], each in [MM_PSI_MIN, MM_PSI_MAX], 1 <= n <= MM_PIECEWISE_MAX.
MM_API mm_status mm_map_create_piecewise(const double *psi, size_t n, mm_map **out);

// phi^-1(x) = sum_j u_j s_j(w_j x + c_j) + a x + b log x. w, c, u: [126]; w, u, a, b >= 0. Units
// come in blocks of 21 of the kinds z^3, (z)+^2, (z)+^1/2, (z)+^1/3, log((z)+ + 1e-3), exp z.
MM_API mm_status mm_map_create_neural(const double *w, const double *c, const double *u, double a,
                                      double b, mm_map **out);

// w, a: [n], 1 <= n <= MM_POWERS_MAX; 0 <= w <= 1e6, at least 1e-8 together; -1 <= a <= 8.
MM_API mm_status mm_map_create_powers(const double *w, const double *a, size_t n, mm_map **out);

// A map that moves in the course of a training run: 2 to MM_STAGES_MAX anchors of one kind, which
// are copied, at equal fractions of the run, the first at its first iteration. Between two of them
// phi^-1 is interpolated linearly for piecewise maps, all with the same n, and powers, two
// neighbours of at most 8 terms together; the parameters of neural maps, and q of Tsallis', all on
// the same side of 1, are. To all other calls such a map is its last anchor.
MM_API mm_status mm_map_create_stages(const mm_map *const *anchor, size_t n, mm_map **out);

MM_API void mm_map_destroy(mm_map *map); // once nobody uses it

// Reads and writes map files (JSON, format "mirrormap/1", or "mirrormap/2" where the map has a step
// size or stages); the round trip is exact to the bit.
// Reading is strict: anything unexpected fails with MM_ERR_INPUT and a sentence that names the
// file, the place and what was expected. `mm_map_parse` reads from memory; `source` names it in
// errors.
MM_API mm_status mm_map_load(const char *path, mm_map **out);
MM_API mm_status mm_map_parse(const char *text, size_t length, const char *source, mm_map **out);

// `meta`: the text of a JSON object that says where the map comes from; NULL keeps the map's own.
// Writing goes through a temporary file and a rename, so a full disk leaves an old file as it was.
// mm_map_format returns the file's text in *out, to be released with mm_map_text_free.
MM_API mm_status mm_map_save(const mm_map *map, const char *meta, const char *path);
MM_API mm_status mm_map_format(const mm_map *map, const char *meta, char **out);
MM_API void mm_map_text_free(char *text);

// ---------------------------------------------------------------------------------------------
// Looking at a map

MM_API mm_map_kind mm_map_get_kind(const mm_map *map); // the family it is of

// Tsallis: q. Piecewise: n and psi[n]. Neural: w, c, u [126], a, b. Zero or NULL for other kinds.
// The arrays belong to the map.
MM_API double mm_map_tsallis_q(const mm_map *map);
MM_API const double *mm_map_piecewise_psi(const mm_map *map, size_t *n);
MM_API void mm_map_neural_parameters(const mm_map *map, const double **w, const double **c,
                                     const double **u, double *a, double *b);

// Powers: how many terms, and their w and a; 0 for other kinds.
MM_API size_t mm_map_powers_terms(const mm_map *map, const double **w, const double **a);

// How many anchors a map has, and each of them: a map that does not move is its own, the only one.
// NULL past the end.
MM_API size_t mm_map_stages(const mm_map *map);
MM_API const mm_map *mm_map_stage(const mm_map *map, size_t i);

// The meta object of the file the map was read from, as JSON text, or NULL.
MM_API const char *mm_map_meta(const mm_map *map);

// The step size that the map was learned with; 0 where none is known. What is set last counts;
// MM_ERR_INPUT for what is not from 0 to MM_ETA_MAX. Only before others see the map.
MM_API double mm_map_eta(const mm_map *map);
MM_API mm_status mm_map_set_eta(mm_map *map, double eta);

// Is phi (its continuation beyond the knots, for a piecewise map) an omega-potential on what a
// policy uses, (0, 1]? A failure makes the map invalid; a warning is worth knowing.
typedef struct mm_map_report {
  bool valid;
  bool strictly_increasing; // phi^-1 on (0, 1]
  bool essentially_smooth;  // phi^-1(0+) = -inf: policies stay inside the simplex
  double phi_inverse_at_0;  // may be -inf
  double phi_inverse_at_1;
  double integral; // of phi^-1 over (0, 1]
  int n_failure, n_warning;
  char failure[8][200];
  char warning[8][200];
} mm_map_report;

MM_API void mm_map_check(const mm_map *map, mm_map_report *report); // looks for all of these

// ---------------------------------------------------------------------------------------------
// Using a map. Double precision, exact to rounding. Probabilities must lie in [0, 1], scores must
// be finite; anything else is MM_ERR_INPUT. Arrays belong to the caller.

// phi at x[n] into out[n]; raw: not clipped at 0 (l2 gives negative values).
MM_API mm_status mm_map_phi(const mm_map *map, const double *x, size_t n, double *out);

// phi^-1 at p[n] into out[n] (at 0 possibly -inf). This is also the gradient of h.
MM_API mm_status mm_map_phi_inverse(const mm_map *map, const double *p, size_t n, double *out);

// The terms int_1^{p_i} phi^-1 of h for p[n] into out[n]; h(p) is their sum.
MM_API mm_status mm_map_h(const mm_map *map, const double *p, size_t n, double *out);

// D(p, q) for p[n], q[n]; +inf where q_a = 0 < p_a and phi^-1(0) = -inf.
MM_API mm_status mm_map_bregman(const mm_map *map, const double *p, const double *q, size_t n,
                                double *out);

typedef enum mm_projection {
  MM_PROJECTION_EXACT,   // closed form, or solved to machine precision
  MM_PROJECTION_BISECT10 // ten bisections, the reference implementation's approximation
} mm_projection;

// The policy of scores x: probs[n_action] >= 0 with sum 1, and the normaliser lambda (may be NULL).
MM_API mm_status mm_map_project(const mm_map *map, mm_projection method, const double *scores,
                                size_t n_action, double *probs, double *lambda);

// The same for scores [rows][n_action]; probs [rows][n_action], lambda [rows] or NULL.
MM_API mm_status mm_map_project_batch(const mm_map *map, mm_projection method, const double *scores,
                                      size_t rows, size_t n_action, double *probs, double *lambda);

// The engines' form, in single precision: what mm_map_phi, mm_map_phi_inverse and the projection
// of rows of scores do, with the same checks and the same meaning. Neural maps go through their
// table.
MM_API mm_status mm_map_phi_f(const mm_map *map, const float *x, size_t n, float *out);
MM_API mm_status mm_map_phi_inverse_f(const mm_map *map, const float *p, size_t n, float *out);
MM_API mm_status mm_map_project_batch_f(const mm_map *map, mm_projection method,
                                        const float *scores, size_t rows, size_t n_action,
                                        float *probs, float *lambda);

// Neural maps are tabulated once: phi^-1 through that table in double, and a proven bound on
// |table - exact| over [0, 1], with the range of the tabulated part beside it. Zero for other
// kinds.
MM_API mm_status mm_map_phi_inverse_tabulated(const mm_map *map, const double *p, size_t n,
                                              double *out);
MM_API double mm_map_table_error(const mm_map *map, double *range, size_t *cells);

// `source` as a map of another kind, which belongs to the caller. Piecewise: through its values at
// n equal steps of p (n = 0: as many as it has, or MM_PIECEWISE_N); steps beyond the bounds of psi
// are moved there and logged. Exact are negentropy and l2 as neural, l2 as tsallis (q = 2), and
// negentropy, l2 and tsallis as powers, whose further terms, up to n, are next to nothing. Of other
// maps the nearest one of that kind is made, by least squares of phi^-1, and how near it comes is
// logged; tsallis takes the shape alone. MM_ERR_INPUT where that kind has nothing to search.
MM_API mm_status mm_map_convert(const mm_map *source, mm_map_kind kind, size_t n, mm_map **out);

// ---------------------------------------------------------------------------------------------
// Search coordinates: unconstrained numbers z that evolution works on. Piecewise: psi = exp z with
// z clipped to [MM_SEARCH_MIN, MM_SEARCH_MAX], psi from 1e-6 to 403, so that no candidate is so
// steep or so wide that its regression targets leave the range of single precision. Neural:
// softplus of z gives w, 126 u, a, b; c is direct; order w, c, u, a, b. Powers: for each of n
// terms log w and a. Tsallis: log (q - 1), q from 1.01 to 8.

#define MM_SEARCH_MIN (-13.8)
#define MM_SEARCH_MAX 6.0

// Number of coordinates of `kind` (piecewise: n); 0 if the kind has none.
MM_API size_t mm_map_search_size(mm_map_kind kind, size_t n);

// The paper's starting point, close to the negative entropy, into z[mm_map_search_size].
MM_API mm_status mm_map_search_initial(mm_map_kind kind, size_t n, double *z);

// Of z[mm_map_search_size]; n of a piecewise map as for mm_map_create_piecewise, or nothing is
// read.
MM_API mm_status mm_map_from_search(mm_map_kind kind, size_t n, const double *z, mm_map **out);

// Exact zeros of a neural map have no coordinate; they are put at -40 (softplus 4e-18).
MM_API mm_status mm_map_to_search(const mm_map *map, double *z);

#ifdef __cplusplus
}
#endif

#endif
