// SPDX-License-Identifier: Apache-2.0
// One gradient step (docs/ampo.md): blocks of rows forward and back through both networks,
// gradients added up block by block, then the optimiser.

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/elementary.h"
#include "base/status.h"
#include "net/net_internal.h"

// A minibatch at work.
typedef struct step {
  mm_net *net;
  const mm_net_kernels *kernels;
  const mm_net_learn_config *config;
  const mm_net_batch *batch;
  const uint32_t *row; // [n]
  size_t n;
  float mean, scale; // normalised advantage = (advantage - mean) * scale
  net_rows rows;     // the block
  net_losses losses; // sums
  double clock;
} step;

// ---------------------------------------------------------------------------------------------
// Time

double mm_net_clock(const mm_net *net) {
  return net->seconds ? mm_clock_seconds() : 0;
}

// The time since the last mark belongs to this stage.
void mm_net_mark(mm_net *net, mm_net_stage stage, double *clock) {
  if (!net->seconds) return;
  double time = mm_clock_seconds();
  net->seconds[stage] += time - *clock;
  *clock = time;
}

static void mark(step *s, mm_net_stage stage) {
  mm_net_mark(s->net, stage, &s->clock);
}

// ---------------------------------------------------------------------------------------------
// Rows

// Mean and deviation of the minibatch's advantages, in 16 lanes of double precision.
void mm_net_normalise(const mm_net_learn_config *config, const float *advantage,
                      const uint32_t *row, size_t n, float *mean_, float *scale) {
  enum { SUMS = 16 };
  double lane[SUMS] = { 0 }, mean = 0, square = 0;
  *mean_ = 0;
  *scale = 1;
  if (!config->normalise) return;
  for (size_t i = 0; i < n; i++)
    lane[i % SUMS] += (double)advantage[row[i]];
  for (int k = 0; k < SUMS; k++) {
    mean += lane[k];
    lane[k] = 0;
  }
  mean /= (double)n;
  for (size_t i = 0; i < n; i++) {
    double d = (double)advantage[row[i]] - mean;
    lane[i % SUMS] += d * d;
  }
  for (int k = 0; k < SUMS; k++)
    square += lane[k];
  *mean_ = (float)mean;
  *scale = (float)(1 / (sqrt(square / (double)n) + 1e-8));
}

static void gather_rows(step *s, size_t from, size_t n) {
  net_rows *r = &s->rows;
  const mm_net_batch *b = s->batch;
  r->n = n;
  r->share = 1 / (float)s->n;
  for (size_t i = 0; i < n; i++) {
    const uint32_t row = s->row[from + i];
    r->action[i] = (uint16_t)b->action[row];
    r->policy[i] = b->policy[row];
    r->value[i] = b->value[row];
    r->target[i] = b->target[row];
    r->advantage[i] = (b->advantage[row] - s->mean) * s->scale;
  }
  for (size_t i = n; i < BLOCK; i++)
    r->action[i] = 0;
}

// Rows in the order of their actions; padded ones go with action 0.
static void order_by_action(step *s, size_t padded) {
  mm_net *net = s->net;
  const size_t actions = net->of[ACTOR].outputs;
  const uint16_t *action = s->rows.action;
  uint16_t *start = net->start, *order = net->order;
  if (actions <= 8) { // few: once through the rows for each, without a place in memory to wait for
    size_t n = 0;
    for (size_t a = 0; a < actions; a++) {
      start[a] = (uint16_t)n;
      for (size_t i = 0; i < padded; i++) {
        order[n] = (uint16_t)i;
        n += action[i] == a;
      }
    }
    start[actions] = (uint16_t)n;
    return;
  }
  memset(start, 0, (actions + 1) * sizeof *start);
  for (size_t i = 0; i < padded; i++)
    start[action[i] + 1]++;
  for (size_t a = 0; a < actions; a++)
    start[a + 1] = (uint16_t)(start[a + 1] + start[a]);
  for (size_t i = 0; i < padded; i++)
    order[start[action[i]]++] = (uint16_t)i;
  // every start has moved to the next one's place
  memmove(start + 1, start, actions * sizeof *start);
  start[0] = 0;
}

// ---------------------------------------------------------------------------------------------
// Output layers: losses and errors of h2

// One output counts in each row: the chosen action's score, or the value.
static void through_chosen(step *s, int which, size_t padded) {
  mm_net *net = s->net;
  const net_place *of = &net->of[which];
  float *g = net->gradient;
  if (which == ACTOR) {
    mm_net_outputs(net, which, padded, net->line, s->rows.action);
    mm_net_loss_ampo(s->config, &s->rows, net->out, net->error, &s->losses);
    order_by_action(s, padded);
  } else {
    mm_net_outputs(net, which, padded, net->line, net->first);
    mm_net_loss_value(s->config, &s->rows, net->out, net->error, &s->losses);
  }
  for (size_t i = s->rows.n; i < padded; i++)
    net->error[i] = 0;
  const uint16_t all_rows[2] = { 0, (uint16_t)padded };
  const uint16_t *start = which == ACTOR ? net->start : all_rows;
  const uint16_t *order = which == ACTOR ? net->order : net->line;
  s->kernels->back_chosen(net->config.activation, of->outputs, net->width1, start, order,
                          net->error, (mm_matrix){ net->param + of->w3, net->width1 },
                          (mm_matrix_out){ net->h2, net->width1 },
                          (mm_matrix_out){ g + of->w3, net->width1 }, g + of->b3, g + of->b2);
}

// All scores count.
static void through_all(step *s, size_t padded) {
  mm_net *net = s->net;
  const net_place *of = &net->of[ACTOR];
  const size_t actions = of->outputs, width = net->width1;
  float *g = net->gradient, *error = net->error;
  mm_net_outputs(net, ACTOR, s->rows.n * actions, net->row, net->column);
  mm_net_loss_ppo(s->config, &s->rows, actions, net->out, error, &s->losses);
  for (size_t q = s->rows.n * actions; q < padded * actions; q++)
    error[q] = 0;
  for (size_t a = 0; a < actions; a++) {
    float sum = 0;
    for (size_t i = 0; i < padded; i++)
      sum += error[i * actions + a];
    g[of->b3 + a] += sum;
  }
  float ones[BLOCK];
  for (size_t i = 0; i < padded; i++)
    ones[i] = 1;
  const mm_matrix e = { error, actions }, h2 = { net->h2, width };
  s->kernels->outer(padded, actions, width, e, h2, (mm_matrix_out){ g + of->w3, width });
  s->kernels->back(net->config.activation, padded, actions, width, e,
                   (mm_matrix){ net->param + of->w3, width }, h2,
                   (mm_matrix_out){ net->h2, width });
  s->kernels->outer(padded, 1, width, (mm_matrix){ ones, 1 }, h2,
                    (mm_matrix_out){ g + of->b2, width });
}

// ---------------------------------------------------------------------------------------------
// Hidden layers

// One network's way through a block of the span, which begins with its row number `from`.
static void network(step *s, int which, size_t from, size_t padded) {
  mm_net *net = s->net;
  const net_place *of = &net->of[which];
  const size_t width0 = net->width0, width1 = net->width1;
  const mm_matrix h1 = { net->h1 + (size_t)which * BLOCK * width0, width0 };
  const mm_matrix d2 = { net->h2, width1 };
  float *d1 = net->d1 + ((size_t)which * SPAN + from) * width0;
  mm_net_layer2(net, which, padded);
  mark(s, MM_NET_LAYER2);
  if (which == ACTOR && s->config->objective == MM_OBJECTIVE_PPO)
    through_all(s, padded);
  else
    through_chosen(s, which, padded);
  mark(s, MM_NET_LOSS);
  s->kernels->back(net->config.activation, padded, width1, width0, d2,
                   (mm_matrix){ net->back[which], width0 }, h1, (mm_matrix_out){ d1, width0 });
  mark(s, MM_NET_BACK);
  s->kernels->outer(padded, width0, width1, h1, d2,
                    (mm_matrix_out){ net->gradient + of->w2, width1 });
  mark(s, MM_NET_GRAD2);
}

// The gradient of the first layers from the whole span.
static void first_layers(step *s, bool lists, size_t rows) {
  mm_net *net = s->net;
  const size_t width = net->width0, d = net->n_input;
  const size_t uses = lists ? mm_net_find_uses(net, rows) : 0;
  mark(s, MM_NET_GATHER);
  for (size_t which = 0; which < NETWORKS; which++) {
    const mm_matrix d1 = { net->d1 + which * SPAN * width, width };
    const mm_matrix_out g = { net->gradient + which * width, NETWORKS * width };
    if (lists)
      s->kernels->outer_uses(uses, net->use, width, d1, g);
    else
      s->kernels->outer(rows, d + 1, width, (mm_matrix){ net->x, d + 1 }, d1, g);
  }
  mark(s, MM_NET_GRAD1);
}

static void span(step *s, size_t first, size_t n) {
  mm_net *net = s->net;
  const bool lists = s->batch->obs.lists != NULL;
  const size_t rows = lists ? mm_net_gather_lists(net, &s->batch->obs, s->row + first, n)
                            : mm_net_gather(net, &s->batch->obs, s->row + first, 0, n);
  for (size_t from = 0; from < rows; from += BLOCK) {
    const size_t padded = rows - from < BLOCK ? rows - from : BLOCK;
    gather_rows(s, first + from, n - from < BLOCK ? n - from : BLOCK);
    mark(s, MM_NET_GATHER);
    if (lists) mm_net_layer1(net, true, NETWORKS, from, padded);
    for (int which = 0; which < NETWORKS; which++) {
      if (!lists) mm_net_layer1(net, false, which, from, padded);
      mark(s, MM_NET_LAYER1);
      network(s, which, from, padded);
    }
  }
  first_layers(s, lists, rows);
}

// ---------------------------------------------------------------------------------------------
// The optimiser

void mm_net_refresh_back(mm_net *net) {
  if (!net->back_is_old) return;
  for (int i = 0; i < NETWORKS; i++)
    mm_net_kernels_current()->transpose(net->width0, net->width1,
                                        (mm_matrix){ net->param + net->of[i].w2, net->ld1 },
                                        (mm_matrix_out){ net->back[i], net->ld0 });
  net->back_is_old = false;
}

static void optimise(mm_net *net, const mm_net_learn_config *c, double learning_rate, double norm) {
  const double count = (double)++net->count;
  const double left1 = mm_pow_d(c->beta1, count), left2 = mm_pow_d(c->beta2, count);
  const mm_adam a = {
    .scale = norm >= (double)c->max_grad_norm ? (float)((double)c->max_grad_norm / norm) : 1,
    .beta1 = (float)c->beta1,
    .rest1 = (float)(1 - c->beta1),
    .beta2 = (float)c->beta2,
    .rest2 = (float)(1 - c->beta2),
    .correction2 = (float)(1 / (1 - left2)),
    .step = (float)(learning_rate / (1 - left1)),
    .epsilon = c->epsilon,
  };
  mm_net_kernels_current()->adam(&a, net->size, net->gradient, net->m, net->v, net->param);
  net->back_is_old = net->spread_is_old = true;
}

static mm_net_report report_of(const mm_net *net, const mm_net_learn_config *c,
                               const net_losses *sums, double n, double norm) {
  const double value_coef = (double)c->value_coef;
  const bool has_entropy = net->config.gaussian || c->objective == MM_OBJECTIVE_PPO;
  const double entropy_coef = has_entropy ? (double)c->entropy_coef : 0;
  mm_net_report r = { .policy_loss = sums->policy / n,
                      .value_loss = sums->value / n,
                      .entropy = sums->entropy / n,
                      .grad_norm = norm };
  r.total_loss = r.policy_loss + value_coef * r.value_loss - entropy_coef * r.entropy;
  return r;
}

// Of the gradient. Squares of a large net are summed in double between chunks: one single sum would
// cost digits of the clip.
static double gradient_norm(const mm_net *net) {
  enum { CHUNK = 4096 };
  const mm_net_kernels *kernels = mm_net_kernels_current();
  if (!net->config.gaussian) return sqrt((double)kernels->sum_squares(net->size, net->gradient));
  double sum = 0;
  for (size_t i = 0; i < net->size; i += CHUNK)
    sum += (double)kernels->sum_squares(net->size - i < CHUNK ? net->size - i : CHUNK,
                                        net->gradient + i);
  return sqrt(sum);
}

mm_status mm_net_finish(mm_net *net, const mm_net_learn_config *config, double learning_rate,
                        const net_losses *sums, size_t n, mm_net_report *report) {
  const double norm = gradient_norm(net);
  const mm_net_report found = report_of(net, config, sums, (double)n, norm);
  if (report) *report = found;
  if (!isfinite(found.total_loss) || !isfinite(norm))
    return MM_FAIL(MM_ERR_NUMERIC,
                   "gradient step %llu: loss %g, gradient norm %g: expected finite numbers",
                   (unsigned long long)(net->count + 1), found.total_loss, norm);
  optimise(net, config, learning_rate, norm);
  return MM_OK;
}

mm_status mm_net_learn(mm_net *net, const mm_net_learn_config *config, double learning_rate,
                       const mm_net_batch *batch, const uint32_t *row, size_t n,
                       mm_net_report *report) {
  if (net->config.gaussian)
    return mm_net_learn_gaussian(net, config, learning_rate, batch, row, n, report);
  step s = { .net = net,
             .kernels = mm_net_kernels_current(),
             .config = config,
             .batch = batch,
             .row = row,
             .n = n,
             .clock = mm_net_clock(net) };
  mm_net_refresh_back(net);
  memset(net->gradient, 0, net->size * sizeof *net->gradient);
  mark(&s, MM_NET_ADAM);
  mm_net_normalise(config, batch->advantage, row, n, &s.mean, &s.scale);
  for (size_t first = 0; first < n; first += SPAN)
    span(&s, first, n - first < SPAN ? n - first : SPAN);
  MM_TRY(mm_net_finish(net, config, learning_rate, &s.losses, n, report));
  mark(&s, MM_NET_ADAM);
  return MM_OK;
}
