// SPDX-License-Identifier: Apache-2.0
// Inside a net: where everything lies.
//
// Parameters, moments and gradients are flat vectors of the same layout. Hidden widths are rounded
// up to multiples of 16; what is added stays 0, because its gradients are exactly 0:
//
//   w1 [n_input + 1][2 width0]   first layers of actor and critic side by side; last row: biases
//   of actor, then of critic:
//   w2 [width0][width1]   b2 [width1]
//   w3 [outputs][width1]  one row per output     b3 [outputs, rounded up to 16]
//
// The whole is rounded up to a multiple of 64 numbers and starts at a multiple of 64 bytes.
//
// Gaussian nets are wide ones. Their w2, its transpose and their hidden units have rows PAD numbers
// further apart, b3 of the actor is followed by its log deviations [actions, rounded up to 16], and
// all rows of a span go through a layer at once.

#ifndef MM_NET_NET_INTERNAL_H
#define MM_NET_NET_INTERNAL_H

#include "base/arena.h"
#include "net/kernels.h"
#include "net/net.h"

enum { ACTOR, CRITIC, NETWORKS };

// Rows go through the layers in blocks of 64, small enough for the first-level cache with one
// layer's weights. Gradients are sums over a block, added block by block; those of the first
// layer, which is large, sums over a span of four.
enum { BLOCK = 64, SPAN = 4 * BLOCK };

// Numbers between the rows of a wide net's matrices: a line of the cache.
enum { PAD = 16 };

// Room for the rows of a span in a table with one line per input: no power of two, or the
// beginnings of all would share few sets of the cache.
enum { USE_STRIDE = SPAN + 64 };

typedef struct net_place {
  size_t w2, b2, w3, b3;
  size_t outputs;
} net_place;

struct mm_net {
  mm_net_config config;
  size_t n_input, width0, width1;
  size_t ld0, ld1; // distances of rows with width0 and width1 numbers
  net_place of[NETWORKS];
  size_t log_std;                  // Gaussian: where it lies
  size_t size;                     // of each flat vector
  float *param, *m, *v;            // [size]
  float *gradient;                 // [size]
  float *back[NETWORKS];           // [width1][ld0]: w2 transposed
  float *input[2];                 // Gaussian: [n_input] mean, variance
  float *spread;                   // [n_input][2 width0 + 16]: w1 with rows further apart
  bool back_is_old, spread_is_old; // the parameters have changed since
  uint64_t count;                  // Adam steps
  double *seconds;                 // [MM_NET_STAGES], or NULL

  // rows at work
  float *x;                // [SPAN][n_input + 1], the last is 1; or
  const uint16_t **list;   // [SPAN] into the caller's lists
  int32_t *listed;         // [SPAN] their lengths
  float *h1;               // [NETWORKS][BLOCK][width0]
  float *h2;               // [BLOCK][width1], then its errors
  float *d1;               // [NETWORKS][SPAN][width0]
  float *out;              // [BLOCK n_action + 8] outputs
  float *error;            // [BLOCK n_action + 8] errors of the outputs
  uint16_t *row, *column;  // [BLOCK n_action + 8] all pairs of row and output
  uint16_t *line, *first;  // [BLOCK + 8] 0, 1, ...; and zeros: the pairs of a single output
                           // (Gaussian: h1, h2, d1 [SPAN][ld], these with SPAN for BLOCK)
  uint16_t *start, *order; // [n_action + 1], [BLOCK + 1] rows by action
  uint16_t *on;            // [(SPAN + 1) n_input] lists of the span behind each other,
  uint8_t *on_row;         // [(SPAN + 1) n_input] and whose they are
  size_t n_on;             // entries in all
  uint8_t *use_row;        // [n_input][USE_STRIDE] rows of the span in which an input is on,
  uint8_t **use_end;       // [n_input] where they end
  uint8_t *every_row;      // [SPAN] and all rows
  mm_net_use *use;         // [n_input + 1] the same for the kernel
  mm_arena arena;
};

// ---------------------------------------------------------------------------------------------
// forward.c

// Brings n <= SPAN observations to work: those of row[n], or from number `first` on where row is
// NULL. Returns n rounded up to whole MM_NET_ROWS; the rows added are empty.
size_t mm_net_gather(mm_net *net, const mm_net_obs *obs, const uint32_t *row, size_t first,
                     size_t n);

// First hidden layers of `rows` gathered rows from number `from` on, into h1: of one network, or of
// both when lists are at work and `which` is NETWORKS.
void mm_net_layer1(mm_net *net, bool lists, int which, size_t from, size_t rows);

// h2 of one network from its h1.
void mm_net_layer2(mm_net *net, int which, size_t rows);

// out[q] = output column[q] of row row[q] of one network, q < n.
void mm_net_outputs(mm_net *net, int which, size_t n, const uint16_t *row, const uint16_t *column);

// ---------------------------------------------------------------------------------------------
// learn.c: what all gradient steps have in common

typedef struct net_losses {
  double policy, value, entropy; // sums over rows
} net_losses;

// The clock of a step whose stages are timed.
double mm_net_clock(const mm_net *net);
void mm_net_mark(mm_net *net, mm_net_stage stage, double *clock);

// normalised advantage = (advantage - mean) * scale, for the minibatch row[n].
void mm_net_normalise(const mm_net_learn_config *config, const float *advantage,
                      const uint32_t *row, size_t n, float *mean, float *scale);

// w2 transposed, where the parameters have changed.
void mm_net_refresh_back(mm_net *net);

// With the gradient complete: reports, and takes the step if all is finite.
mm_status mm_net_finish(mm_net *net, const mm_net_learn_config *config, double learning_rate,
                        const net_losses *sums, size_t n, mm_net_report *report);

// ---------------------------------------------------------------------------------------------
// gaussian.c

mm_status mm_net_learn_gaussian(mm_net *net, const mm_net_learn_config *config,
                                double learning_rate, const mm_net_batch *batch,
                                const uint32_t *row, size_t n, mm_net_report *report);

// All outputs of one network for many rows; out: [rows][outputs].
void mm_net_outputs_wide(mm_net *net, int which, const mm_net_obs *obs, size_t rows, float *out);

// ---------------------------------------------------------------------------------------------
// lists.c

// As mm_net_gather, for lists, which are copied behind each other: what follows then has no ends of
// short loops to guess.
size_t mm_net_gather_lists(mm_net *net, const mm_net_obs *obs, const uint32_t *row, size_t n);

// Which of the gathered rows use which input, into `use`; returns how many entries it has. The
// biases count as one more input, on in every row.
size_t mm_net_find_uses(mm_net *net, size_t rows);

// ---------------------------------------------------------------------------------------------
// loss.c

// A block of a minibatch, or a span of a wide net's. Entries from n on stand for nothing.
typedef struct net_rows {
  size_t n;    // rows
  float share; // 1 / size of the minibatch
  uint16_t action[BLOCK + 8];
  float policy[SPAN], value[SPAN], target[SPAN], advantage[SPAN]; // advantage: normalised
} net_rows;

// Errors dL/dout of the rows' outputs, and losses added up. Scores and errors: [n] of the chosen
// actions for AMPO, [n][n_action] for PPO.
void mm_net_loss_ampo(const mm_net_learn_config *config, const net_rows *rows, const float *score,
                      float *error, net_losses *sums);
void mm_net_loss_ppo(const mm_net_learn_config *config, const net_rows *rows, size_t n_action,
                     const float *score, float *error, net_losses *sums);
void mm_net_loss_value(const mm_net_learn_config *config, const net_rows *rows, const float *value,
                       float *error, net_losses *sums);

#endif
