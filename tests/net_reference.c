// SPDX-License-Identifier: Apache-2.0
// The reference of actor and critic.

#include "net_reference.h"

#include <math.h>
#include <stdlib.h>

#include "test.h"

static double *numbers(size_t n) {
  double *x = calloc(n ? n : 1, sizeof *x);
  assert_non_null(x);
  return x;
}

static void widen(const mm_net *net, mm_net_part part, int tensor, size_t n, double *out) {
  float *x = malloc(n * sizeof *x);
  assert_non_null(x);
  mm_net_export(net, part, tensor, x);
  for (size_t i = 0; i < n; i++)
    out[i] = (double)x[i];
  free(x);
}

void reference_open(reference *r, const mm_net *net) {
  r->config = *mm_net_shape(net);
  r->count = mm_net_count(net);
  r->tensors = mm_net_tensors(net);
  for (int t = 0; t < r->tensors; t++) {
    mm_net_tensor shape = mm_net_describe(net, t);
    size_t n = r->size[t] = (size_t)shape.rows * (size_t)shape.cols;
    r->param[t] = numbers(n);
    r->gradient[t] = numbers(n);
    r->m[t] = numbers(n);
    r->v[t] = numbers(n);
    widen(net, MM_NET_PARAM, t, n, r->param[t]);
    widen(net, MM_NET_MOMENT1, t, n, r->m[t]);
    widen(net, MM_NET_MOMENT2, t, n, r->v[t]);
  }
}

void reference_close(reference *r) {
  for (int t = 0; t < r->tensors; t++) {
    free(r->param[t]);
    free(r->gradient[t]);
    free(r->m[t]);
    free(r->v[t]);
  }
}

void reference_observe(const reference *r, const mm_net_obs *obs, size_t row, double *out) {
  const size_t d = (size_t)r->config.n_input;
  for (size_t i = 0; i < d; i++)
    out[i] = obs->lists ? 0 : (double)obs->floats[row * d + i];
  if (!obs->lists) return;
  for (size_t k = 0; k < obs->entries; k++)
    if (obs->lists[row * obs->entries + k] < d) out[obs->lists[row * obs->entries + k]] = 1;
}

// ---------------------------------------------------------------------------------------------
// One row through one network, whose tensors begin with number `first`

enum { HIDDEN_MAX = 256 };

typedef struct activations {
  double h1[HIDDEN_MAX], h2[HIDDEN_MAX], out[MM_NET_ACTION_MAX];
} activations;

static void affine(const double *x, size_t in, const double *w, const double *b, size_t out,
                   double *y) {
  for (size_t j = 0; j < out; j++) {
    y[j] = b[j];
    for (size_t i = 0; i < in; i++)
      y[j] += x[i] * w[i * out + j];
  }
}

static void activate(mm_activation activation, double *h, size_t n) {
  for (size_t i = 0; i < n; i++)
    h[i] = activation == MM_ACTIVATION_TANH ? tanh(h[i]) : fmax(h[i], 0);
}

static double slope(mm_activation activation, double h) {
  return activation == MM_ACTIVATION_TANH ? 1 - h * h : h > 0 ? 1 : 0;
}

static size_t outputs_of(const reference *r, int first) {
  return first == 0 ? (size_t)r->config.n_action : 1;
}

static void forward(const reference *r, int first, const double *x, activations *a) {
  double *const *p = r->param + first;
  const size_t d = (size_t)r->config.n_input, n1 = (size_t)r->config.hidden[0],
               n2 = (size_t)r->config.hidden[1];
  assert_true(n1 <= HIDDEN_MAX && n2 <= HIDDEN_MAX);
  affine(x, d, p[0], p[1], n1, a->h1);
  activate(r->config.activation, a->h1, n1);
  affine(a->h1, n1, p[2], p[3], n2, a->h2);
  activate(r->config.activation, a->h2, n2);
  affine(a->h2, n2, p[4], p[5], outputs_of(r, first), a->out);
}

// y = x w + b with error dy: adds to dw and db, and gives the error of x where that is wanted.
static void affine_back(const double *x, size_t in, const double *w, size_t out, const double *dy,
                        double *dw, double *db, double *dx) {
  for (size_t j = 0; j < out; j++)
    db[j] += dy[j];
  for (size_t i = 0; i < in; i++) {
    if (dx) dx[i] = 0;
    for (size_t j = 0; j < out; j++) {
      dw[i * out + j] += x[i] * dy[j];
      if (dx) dx[i] += w[i * out + j] * dy[j];
    }
  }
}

static void backward(reference *r, int first, const double *x, const activations *a,
                     const double *error) {
  double *const *p = r->param + first, *const *g = r->gradient + first;
  const size_t d = (size_t)r->config.n_input, n1 = (size_t)r->config.hidden[0],
               n2 = (size_t)r->config.hidden[1];
  double d1[HIDDEN_MAX], d2[HIDDEN_MAX];
  affine_back(a->h2, n2, p[4], outputs_of(r, first), error, g[4], g[5], d2);
  for (size_t j = 0; j < n2; j++)
    d2[j] *= slope(r->config.activation, a->h2[j]);
  affine_back(a->h1, n1, p[2], n2, d2, g[2], g[3], d1);
  for (size_t j = 0; j < n1; j++)
    d1[j] *= slope(r->config.activation, a->h1[j]);
  affine_back(x, d, p[0], n1, d1, g[0], g[1], NULL);
}

void reference_forward(const reference *r, const double *x, double *scores, double *value) {
  activations a = { 0 };
  forward(r, 0, x, &a);
  for (int i = 0; i < r->config.n_action; i++)
    scores[i] = a.out[i];
  forward(r, 6, x, &a);
  *value = a.out[0];
}

// ---------------------------------------------------------------------------------------------
// Losses

static double clip(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

static void ampo(const mm_net_learn_config *c, const double *f, size_t a, double advantage,
                 double z, double *error, double *loss) {
  double e = f[a] - (advantage + fmax(z, (double)c->floor) / (double)c->eta - (double)c->center);
  *loss = e * e;
  error[a] = 2 * e;
}

static void ppo(const mm_net_learn_config *c, const double *f, size_t n, size_t a, double advantage,
                double old, double *error, double *loss, double *entropy) {
  double pi[MM_NET_ACTION_MAX] = { 0 }, total = 0, h = 0;
  for (size_t i = 0; i < n; i++)
    total += exp(f[i]);
  for (size_t i = 0; i < n; i++) {
    pi[i] = exp(f[i]) / total;
    h -= pi[i] * log(pi[i]);
  }
  double width = (double)c->policy_clip, ratio = pi[a] / exp(old);
  double plain = ratio * advantage, clipped = clip(ratio, 1 - width, 1 + width) * advantage;
  for (size_t i = 0; i < n; i++) {
    double dratio = plain <= clipped ? ratio * ((i == a) - pi[i]) * advantage : 0;
    error[i] = -dratio + (double)c->entropy_coef * pi[i] * (log(pi[i]) + h);
  }
  *loss = -fmin(plain, clipped);
  *entropy = h;
}

static double log_std(const reference *r, size_t k) {
  return clip(r->param[MM_NET_LOG_STD][k], -5, 2);
}

double reference_log_density(const reference *r, const double *mean, const float *action) {
  double sum = 0;
  for (size_t k = 0; k < (size_t)r->config.n_action; k++) {
    double z = ((double)action[k] - mean[k]) / exp(log_std(r, k));
    sum -= z * z / 2 + log_std(r, k) + log(2 * acos(-1)) / 2;
  }
  return sum;
}

// Errors of the means of one row, whose share of the minibatch is 1/n; those of the log deviations
// go to the gradient.
static void gaussian(reference *r, const mm_net_learn_config *c, const double *mean,
                     const float *action, double advantage, double log_q, double n, double *error,
                     double *loss, double *entropy) {
  double delta = reference_log_density(r, mean, action) - log_q, ratio = exp(delta), pull;
  if (c->objective == MM_OBJECTIVE_AMPO) {
    *loss = -(double)c->eta * ratio * advantage + ratio * delta - ratio + 1;
    pull = ratio * ((double)c->eta * advantage - delta);
  } else {
    double width = (double)c->policy_clip, plain = ratio * advantage;
    double clipped = clip(ratio, 1 - width, 1 + width) * advantage;
    *loss = -fmin(plain, clipped);
    pull = plain <= clipped ? plain : 0;
  }
  *entropy = 0;
  for (size_t k = 0; k < (size_t)r->config.n_action; k++) {
    double std = exp(log_std(r, k)), z = ((double)action[k] - mean[k]) / std;
    error[k] = -pull * z / std;
    r->gradient[MM_NET_LOG_STD][k] += (-pull * (z * z - 1) - (double)c->entropy_coef) / n;
    *entropy += log_std(r, k) + log(2 * acos(-1)) / 2 + 0.5;
  }
}

static void value_error(const mm_net_learn_config *c, double v, double old, double target,
                        double *error, double *loss) {
  double width = (double)c->value_clip;
  double e1 = v - target, e2 = old + clip(v - old, -width, width) - target;
  *loss = 0.5 * fmax(e1 * e1, e2 * e2);
  *error = (double)c->value_coef * (fabs(v - old) > width && e2 * e2 > e1 * e1 ? 0 : e1);
}

static void moments(const mm_net_batch *batch, const uint32_t *row, size_t n, double *mean,
                    double *deviation) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < n; i++)
    sum += (double)batch->advantage[row[i]];
  *mean = sum / (double)n;
  for (size_t i = 0; i < n; i++)
    square += pow((double)batch->advantage[row[i]] - *mean, 2);
  *deviation = sqrt(square / (double)n) + 1e-8;
}

mm_net_report reference_loss(reference *r, const mm_net_learn_config *c, const mm_net_batch *batch,
                             const uint32_t *row, size_t n) {
  const size_t actions = (size_t)r->config.n_action;
  double *x = numbers((size_t)r->config.n_input), mean = 0, deviation = 1, squares = 0;
  mm_net_report out = { 0 };
  if (c->normalise) moments(batch, row, n, &mean, &deviation);
  for (int t = 0; t < r->tensors; t++)
    for (size_t i = 0; i < r->size[t]; i++)
      r->gradient[t][i] = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t at = row[i], a = batch->action ? (size_t)batch->action[at] : 0;
    const double advantage = ((double)batch->advantage[at] - mean) / deviation;
    double error[MM_NET_ACTION_MAX] = { 0 }, loss, entropy = 0;
    activations act = { 0 };
    reference_observe(r, &batch->obs, at, x);
    forward(r, 0, x, &act);
    if (r->config.gaussian)
      gaussian(r, c, act.out, batch->real + at * actions, advantage, (double)batch->policy[at],
               (double)n, error, &loss, &entropy);
    else if (c->objective == MM_OBJECTIVE_AMPO)
      ampo(c, act.out, a, advantage, (double)batch->policy[at], error, &loss);
    else
      ppo(c, act.out, actions, a, advantage, (double)batch->policy[at], error, &loss, &entropy);
    out.policy_loss += loss / (double)n;
    out.entropy += entropy / (double)n;
    for (size_t k = 0; k < actions; k++)
      error[k] /= (double)n;
    backward(r, 0, x, &act, error);
    forward(r, 6, x, &act);
    value_error(c, act.out[0], (double)batch->value[at], (double)batch->target[at], error, &loss);
    out.value_loss += loss / (double)n;
    error[0] /= (double)n;
    backward(r, 6, x, &act, error);
  }
  out.total_loss = out.policy_loss + (double)c->value_coef * out.value_loss;
  if (r->config.gaussian || c->objective == MM_OBJECTIVE_PPO)
    out.total_loss -= (double)c->entropy_coef * out.entropy;
  for (int t = 0; t < r->tensors; t++)
    for (size_t i = 0; i < r->size[t]; i++)
      squares += r->gradient[t][i] * r->gradient[t][i];
  out.grad_norm = sqrt(squares);
  free(x);
  return out;
}

void reference_adam(reference *r, const mm_net_learn_config *c, double learning_rate) {
  double squares = 0;
  for (int t = 0; t < r->tensors; t++)
    for (size_t i = 0; i < r->size[t]; i++)
      squares += r->gradient[t][i] * r->gradient[t][i];
  double most = (double)c->max_grad_norm, norm = sqrt(squares);
  double scale = norm >= most ? most / norm : 1, k = (double)++r->count;
  for (int t = 0; t < r->tensors; t++) {
    for (size_t i = 0; i < r->size[t]; i++) {
      double g = scale * r->gradient[t][i];
      double m = r->m[t][i] = c->beta1 * r->m[t][i] + (1 - c->beta1) * g;
      double v = r->v[t][i] = c->beta2 * r->v[t][i] + (1 - c->beta2) * g * g;
      r->param[t][i] -= learning_rate * (m / (1 - pow(c->beta1, k))) /
                        (sqrt(v / (1 - pow(c->beta2, k))) + (double)c->epsilon);
    }
  }
}
