// SPDX-License-Identifier: Apache-2.0
// Wide networks with a Gaussian actor: from observations to means and values, and a gradient step
// (docs/gaussian.md). A span of rows goes through one network after the other, all
// of it through a layer at once; the gradients of the first span are written, those of further ones
// added.

#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/status.h"
#include "laws/gaussian.h"
#include "net/net_internal.h"
#include "net/wide.h"

// A minibatch at work.
typedef struct step {
  mm_net *net;
  const mm_wide_kernels *wide;
  const mm_net_learn_config *config;
  const mm_net_batch *batch;
  const uint32_t *row; // [n]
  size_t n;
  bool add;          // not the first span
  float mean, scale; // normalised advantage = (advantage - mean) * scale
  net_rows rows;     // the span
  net_losses losses; // sums
  double clock;
} step;

// ---------------------------------------------------------------------------------------------
// Densities

void mm_net_log_std(const mm_net *net, float *out) {
  for (size_t k = 0; k < net->of[ACTOR].outputs; k++)
    out[k] = mm_log_std(net->param[net->log_std + k]);
}

static float log_scale(const mm_net *net) {
  return mm_log_density_scale((int)net->of[ACTOR].outputs, net->param + net->log_std);
}

static void inverse_std(const mm_net *net, float *out) {
  for (size_t k = 0; k < net->of[ACTOR].outputs; k++)
    out[k] = mm_exp_f(-mm_log_std(net->param[net->log_std + k]));
}

void mm_net_log_density(const mm_net *net, size_t rows, const float *scores, const float *action,
                        float *out) {
  const size_t d = net->of[ACTOR].outputs;
  float inverse[MM_NET_ACTION_MAX];
  const float scale = log_scale(net);
  inverse_std(net, inverse);
  for (size_t i = 0; i < rows; i++)
    out[i] = mm_log_density((int)d, scores + i * d, action + i * d, inverse, scale);
}

// ---------------------------------------------------------------------------------------------
// Forward

static void forward1(mm_net *net, int which, size_t rows) {
  const size_t width = net->width0, d = net->n_input;
  const mm_matrix w = { net->param + (size_t)which * width, NETWORKS * width };
  mm_wide_kernels_current()->layer(net->config.activation, rows, d, width,
                                   (mm_matrix){ net->x, d + 1 }, w, w.at + d * w.ld,
                                   (mm_matrix_out){ net->h1, net->ld0 });
}

static void forward2(mm_net *net, int which, size_t rows) {
  const net_place *of = &net->of[which];
  mm_wide_kernels_current()->layer(net->config.activation, rows, net->width0, net->width1,
                                   (mm_matrix){ net->h1, net->ld0 },
                                   (mm_matrix){ net->param + of->w2, net->ld1 },
                                   net->param + of->b2, (mm_matrix_out){ net->h2, net->ld1 });
}

// The last layer into `out`, for n rows.
static void forward3(mm_net *net, int which, size_t n) {
  const uint16_t *row = which == ACTOR ? net->row : net->line;
  const uint16_t *column = which == ACTOR ? net->column : net->first;
  mm_net_outputs(net, which, n * net->of[which].outputs, row, column);
}

void mm_net_outputs_wide(mm_net *net, int which, const mm_net_obs *obs, size_t rows, float *out) {
  const size_t per_row = net->of[which].outputs;
  for (size_t i = 0; i < rows; i += SPAN) {
    const size_t n = rows - i < SPAN ? rows - i : SPAN;
    const size_t padded = mm_net_gather(net, obs, NULL, i, n);
    forward1(net, which, padded);
    forward2(net, which, padded);
    forward3(net, which, n);
    memcpy(out + i * per_row, net->out, n * per_row * sizeof *out);
  }
}

// ---------------------------------------------------------------------------------------------
// Losses

static void gather_rows(step *s, size_t first, size_t n) {
  net_rows *r = &s->rows;
  const mm_net_batch *b = s->batch;
  r->n = n;
  r->share = 1 / (float)s->n;
  for (size_t i = 0; i < n; i++) {
    const uint32_t row = s->row[first + i];
    r->policy[i] = b->policy[row];
    r->value[i] = b->value[row];
    r->target[i] = b->target[row];
    r->advantage[i] = (b->advantage[row] - s->mean) * s->scale;
  }
}

// With weight c = d gain / d log p: d log p / d mu = z / sigma, d log p / d log sigma = z^2 - 1,
// and the entropy is the sum of the log deviations and a constant.
static void loss_actor(step *s, size_t first) {
  mm_net *net = s->net;
  const size_t d = net->of[ACTOR].outputs, n = s->rows.n;
  const float share = s->rows.share, scale = log_scale(net);
  float inverse[MM_NET_ACTION_MAX], log_p[SPAN], gain[SPAN], weight[SPAN];
  double slope[MM_NET_ACTION_MAX] = { 0 }, total = 0;
  float *g = net->gradient + net->log_std;
  inverse_std(net, inverse);
  for (size_t i = 0; i < n; i++)
    log_p[i] = mm_log_density((int)d, net->out + i * d, s->batch->real + s->row[first + i] * d,
                              inverse, scale);
  s->config->weigh(s->config->user, n, log_p, s->rows.policy, s->rows.advantage, gain, weight);
  for (size_t i = 0; i < n; i++) {
    const float *action = s->batch->real + s->row[first + i] * d;
    const float pull = -share * weight[i];
    total += (double)gain[i];
    for (size_t k = 0; k < d; k++) {
      const float z = (action[k] - net->out[i * d + k]) * inverse[k];
      net->error[i * d + k] = pull == 0 ? 0 : pull * z * inverse[k]; // whatever z is
      slope[k] += pull == 0 ? 0 : (double)(pull * fmaf(z, z, -1.0f));
    }
  }
  for (size_t k = 0; k < d; k++) {
    const float own = (float)slope[k] - s->config->entropy_coef * share * (float)n;
    g[k] = (s->add ? g[k] : 0) + mm_log_std_slope(net->param[net->log_std + k], own);
  }
  s->losses.policy -= total;
  s->losses.entropy += (double)n * mm_gaussian_entropy((int)d, scale);
}

// Errors of the outputs of `padded` rows, and through the last layer to those of h2, in its place.
static void through_outputs(step *s, int which, size_t first, size_t padded) {
  mm_net *net = s->net;
  const net_place *of = &net->of[which];
  const size_t outputs = of->outputs, width = net->width1, n = s->rows.n;
  float *g = net->gradient, ones[SPAN];
  forward3(net, which, n);
  if (which == ACTOR)
    loss_actor(s, first);
  else
    mm_net_loss_value(s->config, &s->rows, net->out, net->error, &s->losses);
  for (size_t q = n * outputs; q < padded * outputs; q++)
    net->error[q] = 0;
  for (size_t a = 0; a < outputs; a++) {
    float sum = 0;
    for (size_t i = 0; i < n; i++)
      sum += net->error[i * outputs + a];
    g[of->b3 + a] = s->add ? g[of->b3 + a] + sum : sum;
  }
  for (size_t i = 0; i < padded; i++)
    ones[i] = 1;
  const mm_matrix e = { net->error, outputs }, h2 = { net->h2, net->ld1 };
  s->wide->outer(s->add, padded, outputs, width, e, h2, (mm_matrix_out){ g + of->w3, width });
  mm_net_kernels_current()->back(net->config.activation, padded, outputs, width, e,
                                 (mm_matrix){ net->param + of->w3, width }, h2,
                                 (mm_matrix_out){ net->h2, net->ld1 });
  s->wide->outer(s->add, padded, 1, width, (mm_matrix){ ones, 1 }, h2,
                 (mm_matrix_out){ g + of->b2, width });
}

// ---------------------------------------------------------------------------------------------
// A step

static void network(step *s, int which, size_t first, size_t padded) {
  mm_net *net = s->net;
  const net_place *of = &net->of[which];
  const size_t width0 = net->width0, width1 = net->width1, d = net->n_input;
  const mm_matrix h1 = { net->h1, net->ld0 }, d2 = { net->h2, net->ld1 };
  const mm_matrix d1 = { net->d1, net->ld0 };
  float *g = net->gradient;
  forward1(net, which, padded);
  mm_net_mark(net, MM_NET_LAYER1, &s->clock);
  forward2(net, which, padded);
  mm_net_mark(net, MM_NET_LAYER2, &s->clock);
  through_outputs(s, which, first, padded);
  mm_net_mark(net, MM_NET_LOSS, &s->clock);
  s->wide->outer(s->add, padded, width0, width1, h1, d2, (mm_matrix_out){ g + of->w2, net->ld1 });
  mm_net_mark(net, MM_NET_GRAD2, &s->clock);
  s->wide->back(net->config.activation, padded, width1, width0, d2,
                (mm_matrix){ net->back[which], net->ld0 }, h1,
                (mm_matrix_out){ net->d1, net->ld0 });
  mm_net_mark(net, MM_NET_BACK, &s->clock);
  s->wide->outer(s->add, padded, d + 1, width0, (mm_matrix){ net->x, d + 1 }, d1,
                 (mm_matrix_out){ g + (size_t)which * width0, NETWORKS * width0 });
  mm_net_mark(net, MM_NET_GRAD1, &s->clock);
}

mm_status mm_net_learn_gaussian(mm_net *net, const mm_net_learn_config *config,
                                double learning_rate, const mm_net_batch *batch,
                                const uint32_t *row, size_t n, mm_net_report *report) {
  step s = { .net = net,
             .wide = mm_wide_kernels_current(),
             .config = config,
             .batch = batch,
             .row = row,
             .n = n,
             .clock = mm_net_clock(net) };
  mm_net_refresh_back(net);
  mm_net_mark(net, MM_NET_ADAM, &s.clock);
  mm_net_normalise(config, batch->advantage, row, n, &s.mean, &s.scale);
  for (size_t first = 0; first < n; first += SPAN) {
    const size_t here = n - first < SPAN ? n - first : SPAN;
    const size_t padded = mm_net_gather(net, &batch->obs, row + first, 0, here);
    s.add = first > 0;
    gather_rows(&s, first, here);
    mm_net_mark(net, MM_NET_GATHER, &s.clock);
    network(&s, ACTOR, first, padded);
    network(&s, CRITIC, first, padded);
  }
  MM_TRY(mm_net_finish(net, config, learning_rate, &s.losses, n, report));
  mm_net_mark(net, MM_NET_ADAM, &s.clock);
  return MM_OK;
}
