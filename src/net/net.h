// SPDX-License-Identifier: Apache-2.0
// Actor and critic: two small networks over one flat parameter vector, and how they learn.
//
// Both are n_input - hidden[0] - hidden[1] multilayer perceptrons on the same input and share
// nothing: the actor ends in a score for each action, the critic in one value. A Gaussian actor's
// scores are the means of independent normal numbers, whose deviations depend on no input: their
// logarithms are parameters too. An mm_net is one agent's pair with its optimiser and its working
// memory. Nothing here knows environments, mirror maps or random minibatches: observations, targets
// and row numbers come from the caller.
//
// Results depend on the parameters and the rows alone: not on the instruction set, nor (for scores
// and values) on how many rows are asked for at once. Calls on different nets may run at the same
// time; one net belongs to one thread at a time. Nothing but create allocates.
//
// The state of a net is its parameters, Adam's two moments and Adam's count: export and import
// those, and it goes on to the same bits.

#ifndef MM_NET_NET_H
#define MM_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"

typedef enum mm_activation { MM_ACTIVATION_TANH, MM_ACTIVATION_RELU } mm_activation;

enum {
  MM_NET_INPUT_MAX = 65535, // lists of inputs have 16 bits, and n_input itself is their filler
  MM_NET_HIDDEN_MAX = 1024,
  MM_NET_ACTION_MAX = 1024
};

typedef struct mm_net_config {
  int32_t n_input;   // D
  int32_t n_action;  // |A|
  int32_t hidden[2]; // units of the two hidden layers, of actor and critic alike
  mm_activation activation;
  bool gaussian; // n_action real numbers: scores are their means, with log deviations beside them
} mm_net_config;

// 64 and 64 units, tanh.
mm_net_config mm_net_config_default(int32_t n_input, int32_t n_action);

typedef struct mm_net mm_net;

// All memory of the net in one block, zeroed: parameters are 0 until mm_net_init or imports.
// MM_ERR_INPUT names the size that is out of range.
mm_status mm_net_create(const mm_net_config *config, mm_net **out);
void mm_net_destroy(mm_net *net);

// Orthogonal kernels (gain sqrt 2 for the hidden ones, 0.01 for the actor's last, 1 for the
// critic's), biases, moments and count 0; a function of (seed, job) through the streams
// MM_RNG_NET_INIT, one lane per kernel. Log deviations are 0. Fails only without memory.
mm_status mm_net_init(mm_net *net, uint64_t seed, uint32_t job);

// Parameters, moments and count of another net with as many inputs, actions and units.
void mm_net_copy(mm_net *net, const mm_net *from);

// ---------------------------------------------------------------------------------------------
// Scores and values

// Rows of observations, the caller's. One of the two forms; the other pointer is NULL.
typedef struct mm_net_obs {
  const float *floats;   // [row][n_input]
  const uint16_t *lists; // [row][entries]: inputs that are 1, ascending, then n_input as filler
  size_t entries;        // of a list (MM_OBS_LIST); not used with floats
} mm_net_obs;

// f(s, .) for the observations 0 .. rows - 1; scores: [rows][n_action].
void mm_net_scores(mm_net *net, const mm_net_obs *obs, size_t rows, float *scores);

// V(s); values: [rows].
void mm_net_values(mm_net *net, const mm_net_obs *obs, size_t rows, float *values);

// Gaussian: what the log deviations count as (mm_log_std); out: [n_action].
void mm_net_log_std(const mm_net *net, float *out);

// Gaussian: logarithms [rows] of the densities of actions [rows][n_action] under the current
// deviations, where the scores [rows][n_action] are the means.
void mm_net_log_density(const mm_net *net, size_t rows, const float *scores, const float *action,
                        float *out);

// ---------------------------------------------------------------------------------------------
// Learning

// What a rollout left behind, for all its rows; every array is the caller's and only read.
typedef struct mm_net_batch {
  mm_net_obs obs;
  const int32_t *action;  // [row] 0 .. n_action - 1
  const float *real;      // Gaussian, instead: [row][n_action]
  const float *policy;    // [row] AMPO: z = k x_a + lambda; PPO: log pi_old(a|s); Gaussian: log
                          // density of the action then
  const float *value;     // [row] V_old
  const float *target;    // [row] G, what the value should be
  const float *advantage; // [row] A, as estimated; normalised per minibatch
} mm_net_batch;

typedef enum mm_objective {
  MM_OBJECTIVE_AMPO, // mean (f(s, a) - y)^2, y = Ahat + max(z, floor) / eta - center
  MM_OBJECTIVE_PPO   // - mean min(r Ahat, clip(r) Ahat) - entropy_coef mean H(softmax f)
} mm_objective;

// A Gaussian policy's objective, to be made large: what each of n rows (at most MM_NET_ROWS_MOST)
// gains, and the derivative of that by log p. log_p, log_q: [n] logarithms of the densities now and
// then; advantage: [n] as normalised.
enum { MM_NET_ROWS_MOST = 256 };
typedef void mm_net_weigh(void *user, size_t n, const float *log_p, const float *log_q,
                          const float *advantage, float *gain, float *weight);

// Everything fixed over a run. The value's loss and the optimiser are the same for all.
typedef struct mm_net_learn_config {
  mm_objective objective;
  float eta;           // AMPO
  float floor;         // AMPO: phi^-1(0) or what stands for it; -INFINITY for none
  float center;        // AMPO: constant taken off the regression target, usually 0
  float policy_clip;   // PPO: ratios count within 1 -+ this
  float entropy_coef;  // PPO, Gaussian
  mm_net_weigh *weigh; // Gaussian: instead of the objective above
  void *user;          // its first argument
  bool normalise;      // advantages to mean 0 and standard deviation 1 over the minibatch
  float value_clip;    // INFINITY for none
  float value_coef;
  float max_grad_norm; // INFINITY for none
  double beta1, beta2; // Adam
  float epsilon;       // at least 1e-12
} mm_net_learn_config;

// The sheet's numbers that do not depend on the environment: AMPO with eta 0.9, no floor, center 0;
// PPO's clip 0.2 and entropy coefficient 0.01; normalised; value clip 0.2 and coefficient 0.5; no
// bound on the gradient; Adam 0.9, 0.999, 1e-5.
mm_net_learn_config mm_net_learn_config_default(mm_objective objective);

typedef struct mm_net_report {
  double policy_loss; // L_pi; for PPO without the entropy
  double value_loss;  // L_v = 1/2 mean max(e1^2, e2^2)
  double entropy;     // PPO, Gaussian: mean entropy of the policy; else 0
  double total_loss;  // L_pi + value_coef L_v - entropy_coef H
  double grad_norm;   // over both networks, before clipping
} mm_net_report;

// One gradient step on the minibatch row[n] (numbers of rows of the batch, n >= 1, repeats
// allowed): losses, gradients, clip by the global norm, Adam with this learning rate. A loss or a
// gradient that is not finite is MM_ERR_NUMERIC, and then parameters, moments and count are as
// before. `report` may be NULL; it is filled in either case.
mm_status mm_net_learn(mm_net *net, const mm_net_learn_config *config, double learning_rate,
                       const mm_net_batch *batch, const uint32_t *row, size_t n,
                       mm_net_report *report);

// Where the time of gradient steps goes: each adds its seconds to `seconds` [MM_NET_STAGES], the
// caller's, until NULL is given. Reading the clock costs a few percent.
typedef enum mm_net_stage {
  MM_NET_GATHER, // rows of the batch, advantages
  MM_NET_LAYER1, // forward
  MM_NET_LAYER2,
  MM_NET_LOSS,  // output layers, losses, and back through the output layers
  MM_NET_BACK,  // errors of the first hidden layer
  MM_NET_GRAD2, // gradient of the second layer
  MM_NET_GRAD1, // of the first
  MM_NET_ADAM,  // norm, clip, step, transposed weights
  MM_NET_STAGES
} mm_net_stage;
void mm_net_profile(mm_net *net, double *seconds);

// ---------------------------------------------------------------------------------------------
// State, tensor by tensor: names, shapes and plain row-major copies

// Plain nets have the first MM_NET_TENSORS. Gaussian ones have three more, of one row each:
// "actor.log_std" [n_action], and "input.mean" and "input.variance" [n_input], which the net only
// keeps: they say how its observations were made from those of the environment.
enum { MM_NET_TENSORS = 12, MM_NET_TENSORS_MAX = 15 };
enum { MM_NET_LOG_STD = 12, MM_NET_INPUT_MEAN, MM_NET_INPUT_VARIANCE };
int mm_net_tensors(const mm_net *net);

typedef struct mm_net_tensor {
  const char *name; // "actor.0.weight", "actor.0.bias", ..., "critic.2.bias"; the library's
  int32_t rows;     // inputs of the layer; 1 for a bias
  int32_t cols;     // outputs
} mm_net_tensor;

typedef enum mm_net_part {
  MM_NET_PARAM,
  MM_NET_MOMENT1,  // Adam's m
  MM_NET_MOMENT2,  // Adam's v
  MM_NET_GRADIENT, // of the last minibatch, before clipping; not part of the state
  MM_NET_PARTS
} mm_net_part;

// Tensor i, 0 <= i < mm_net_tensors: actor before critic, from input to output, weight before bias.
mm_net_tensor mm_net_describe(const mm_net *net, int i);

// The same of nets that are still to be made.
int mm_net_tensors_of(const mm_net_config *config);
mm_net_tensor mm_net_tensor_of(const mm_net_config *config, int i);

// out, in: [rows][cols], the caller's. A weight is W[in][out] with y = x W + b.
void mm_net_export(const mm_net *net, mm_net_part part, int tensor, float *out);
// What the net only keeps has no moments and no gradient: 0 there.
void mm_net_import(mm_net *net, mm_net_part part, int tensor, const float *in);

// Adam steps taken.
uint64_t mm_net_count(const mm_net *net);
void mm_net_set_count(mm_net *net, uint64_t count);

const mm_net_config *mm_net_shape(const mm_net *net);

#endif
