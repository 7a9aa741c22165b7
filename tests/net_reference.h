// SPDX-License-Identifier: Apache-2.0
// Actor, critic and their gradient step written down once more: plain loops in double precision,
// row by row, from the equations (spec: ampo.md 2, 4-6; continuous-control.md 7, 8.3 for Gaussian
// nets: the objective AMPO stands for PMD with the negative entropy there). Slow, and independent
// of src/net but for its types.

#ifndef MM_TEST_NET_REFERENCE_H
#define MM_TEST_NET_REFERENCE_H

#include "net/net.h"

typedef struct reference {
  mm_net_config config;
  int tensors;
  size_t size[MM_NET_TENSORS_MAX];
  double *param[MM_NET_TENSORS_MAX]; // weights [in][out]
  double *gradient[MM_NET_TENSORS_MAX];
  double *m[MM_NET_TENSORS_MAX], *v[MM_NET_TENSORS_MAX];
  uint64_t count;
} reference;

// With the parameters, moments and count of `net`.
void reference_open(reference *r, const mm_net *net);
void reference_close(reference *r);

// One observation as numbers: out [n_input].
void reference_observe(const reference *r, const mm_net_obs *obs, size_t row, double *out);

// scores: [n_action].
void reference_forward(const reference *r, const double *x, double *scores, double *value);

// Of a Gaussian net, log p of an action [n_action].
double reference_log_density(const reference *r, const double *mean, const float *action);

// Losses of a minibatch and, into r->gradient, their derivatives; grad_norm is the norm of those.
mm_net_report reference_loss(reference *r, const mm_net_learn_config *c, const mm_net_batch *batch,
                             const uint32_t *row, size_t n);

// Clips r->gradient by its norm, then one step of Adam.
void reference_adam(reference *r, const mm_net_learn_config *c, double learning_rate);

#endif
