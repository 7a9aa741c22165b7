// SPDX-License-Identifier: Apache-2.0
// Gradient steps: the fast kernels against the plain reference, the reference against differences
// of its loss, and the bits of all instruction sets against each other.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/isa.h"
#include "base/rng.h"
#include "net/net_internal.h"
#include "net_reference.h"
#include "test.h"

static const char *const isa_names[] = { "portable", "avx2", "avx512" };
enum { ISAS = sizeof isa_names / sizeof *isa_names };

// ---------------------------------------------------------------------------------------------
// Cases

typedef struct problem {
  mm_net_config net;
  size_t rows; // of a minibatch
  size_t on;   // inputs in a list, about; 0: numbers
  mm_objective objective;
} problem;

#define TANH MM_ACTIVATION_TANH
#define RELU MM_ACTIVATION_RELU
#define AMPO MM_OBJECTIVE_AMPO
#define PPO MM_OBJECTIVE_PPO

static const problem shapes[] = {
  { { 4, 2, { 64, 64 }, TANH, false }, 128, 0, AMPO },
  { { 6, 3, { 64, 64 }, TANH, false }, 128, 0, AMPO },
  { { 4, 2, { 64, 64 }, RELU, false }, 128, 0, AMPO },
  { { 1, 1, { 1, 1 }, TANH, false }, 9, 0, AMPO },
  { { 5, 18, { 64, 64 }, TANH, false }, 131, 0, AMPO },
  { { 3, 4, { 17, 33 }, RELU, false }, 63, 0, AMPO },
  { { 13, 7, { 100, 48 }, TANH, false }, 65, 0, AMPO },
  { { 2, 3, { 128, 80 }, TANH, false }, 200, 0, AMPO },
  { { 400, 5, { 64, 64 }, TANH, false }, 300, 16, AMPO },
  { { 1000, 6, { 64, 64 }, RELU, false }, 129, 45, AMPO },
  { { 90, 3, { 48, 64 }, TANH, false }, 77, 9, AMPO },
  { { 31, 2, { 16, 96 }, TANH, false }, 7, 3, AMPO },
  { { 4, 2, { 64, 64 }, TANH, false }, 128, 0, PPO },
  { { 9, 18, { 32, 48 }, RELU, false }, 90, 0, PPO },
  { { 400, 5, { 64, 64 }, TANH, false }, 140, 16, PPO },
  { { 4, 1, { 64, 64 }, TANH, false }, 30, 0, PPO },
  // Gaussian nets: AMPO stands for PMD with the negative entropy
  { { 11, 3, { 256, 256 }, TANH, true }, 160, 0, AMPO },
  { { 17, 6, { 144, 80 }, TANH, true }, 300, 0, PPO },
  { { 1, 1, { 1, 1 }, TANH, true }, 9, 0, AMPO },
  { { 5, 8, { 100, 48 }, RELU, true }, 67, 0, PPO },
  { { 3, 2, { 32, 64 }, TANH, true }, 514, 0, AMPO },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

// A net with weights everywhere, a batch of twice the minibatch's rows, and a minibatch of it.
typedef struct scene {
  const problem *shape;
  mm_net *net;
  mm_net_learn_config config;
  mm_net_batch batch;
  size_t batch_rows, entries;
  float *x;        // [batch_rows][n_input]
  uint16_t *lists; // [batch_rows][entries]
  int32_t *action;
  float *real; // [batch_rows][n_action], of Gaussian nets
  float *policy, *value, *target, *advantage;
  uint32_t *row;
} scene;

static double normal(uint64_t i, uint32_t lane) {
  return mm_normal_d(mm_stream_pair(mm_stream_make(11, 0, MM_RNG_TEST, lane), i));
}

static void *array(size_t n, size_t size) {
  void *p = calloc(n, size);
  assert_non_null(p);
  return p;
}

static float *normals(size_t n, uint32_t lane, double scale) {
  float *x = array(n, sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = (float)(scale * normal(i, lane));
  return x;
}

// Each input is on with the same chance, so some lists are short and some full. But one is always
// on, some go with the input before them, as things in games do, and of many a few are nearly
// always on.
static void draw_lists(scene *s) {
  const size_t d = (size_t)s->shape->net.n_input;
  mm_stream stream = mm_stream_make(11, 0, MM_RNG_TEST, 20);
  s->entries = 2 * s->shape->on;
  s->lists = array(s->batch_rows * s->entries, sizeof *s->lists);
  for (size_t i = 0; i < s->batch_rows; i++) {
    uint16_t *list = s->lists + i * s->entries;
    size_t n = 0;
    for (size_t k = 0; k < d; k++) {
      uint64_t pair = mm_stream_pair(stream, i * d + (k % 8 == 7 ? k - 1 : k));
      bool often = k == 3 || (d >= 400 && k >= 16 && k < 24 && i % 64 != k);
      bool on = i > 0 && (often || mm_uniform_d(pair) * (double)d < (double)s->shape->on);
      if (on && n < s->entries) {
        list[n++] = (uint16_t)k;
        s->x[i * d + k] = 1;
      }
    }
    while (n < s->entries)
      list[n++] = (uint16_t)d;
  }
}

static void perturb(mm_net *net) {
  for (int t = 0; t < mm_net_tensors(net) && t <= MM_NET_LOG_STD; t++) {
    mm_net_tensor shape = mm_net_describe(net, t);
    size_t n = (size_t)shape.rows * (size_t)shape.cols;
    float *w = array(n, sizeof *w);
    mm_net_export(net, MM_NET_PARAM, t, w);
    for (size_t i = 0; i < n; i++)
      w[i] += (float)(0.1 * normal(i, 100 + (uint32_t)t));
    mm_net_import(net, MM_NET_PARAM, t, w);
    free(w);
  }
}

// PMD with the negative entropy, or PPO, as the reference has them.
static void weigh(void *user, size_t n, const float *log_p, const float *log_q,
                  const float *advantage, float *gain, float *weight) {
  const scene *s = user;
  for (size_t i = 0; i < n; i++) {
    float delta = log_p[i] - log_q[i], r = mm_exp_f(delta), a = advantage[i];
    if (s->shape->objective == AMPO) {
      gain[i] = s->config.eta * r * a - (r * delta - mm_expm1_f(delta));
      weight[i] = r * (s->config.eta * a - delta);
    } else {
      float clip = s->config.policy_clip, within = fminf(fmaxf(r, 1 - clip), 1 + clip);
      gain[i] = fminf(r * a, within * a);
      weight[i] = r * a <= within * a ? r * a : r * a > within * a ? 0 : NAN;
    }
  }
}

// Actions near the means, and densities near those that they have.
static void draw_real(scene *s) {
  const size_t n = s->batch_rows, d = (size_t)s->shape->net.n_action;
  float *mean = array(n * d, sizeof *mean), *shift = normals(n, 7, 0.3);
  s->real = normals(n * d, 6, 1);
  mm_net_scores(s->net, &(mm_net_obs){ .floats = s->x }, n, mean);
  for (size_t i = 0; i < n * d; i++)
    s->real[i] += mean[i];
  mm_net_log_density(s->net, n, mean, s->real, s->policy);
  for (size_t i = 0; i < n; i++)
    s->policy[i] += shift[i];
  s->config.weigh = weigh;
  s->config.user = s;
  free(mean);
  free(shift);
}

static void open_scene(scene *s, const problem *shape) {
  memset(s, 0, sizeof *s);
  s->shape = shape;
  assert_ok(mm_net_create(&shape->net, &s->net));
  assert_ok(mm_net_init(s->net, 5, 0));
  perturb(s->net);
  const size_t n = s->batch_rows = 2 * shape->rows, d = (size_t)shape->net.n_input;
  s->config = mm_net_learn_config_default(shape->objective);
  s->config.floor = -0.5f;
  s->config.center = 0.25f;
  s->config.max_grad_norm = 0.5f;
  if (shape->on) {
    s->x = array(n * d, sizeof *s->x);
    draw_lists(s);
  } else {
    s->x = normals(n * d, 0, 1);
  }
  s->policy = normals(n, 1, 1);
  s->value = normals(n, 2, 0.5);
  s->target = normals(n, 3, 1);
  s->advantage = normals(n, 4, 2);
  s->action = array(n, sizeof *s->action);
  s->row = array(shape->rows, sizeof *s->row);
  for (size_t i = 0; i < n; i++) {
    uint64_t pair = mm_stream_pair(mm_stream_make(11, 0, MM_RNG_TEST, 5), i);
    s->action[i] = (int32_t)mm_uniform_int(pair, (uint32_t)shape->net.n_action);
    // a probability, for PPO
    if (shape->objective == PPO && !shape->net.gaussian) s->policy[i] = -0.1f - fabsf(s->policy[i]);
  }
  if (shape->net.gaussian) draw_real(s);
  mm_shuffle shuffle =
      mm_shuffle_make(mm_stream_make(11, 0, MM_RNG_TEST, 6), 0, (uint32_t)s->batch_rows);
  for (size_t i = 0; i < shape->rows; i++)
    s->row[i] = mm_shuffle_at(&shuffle, (uint32_t)i);
  s->batch = (mm_net_batch){
    .obs = { .floats = shape->on ? NULL : s->x, .lists = s->lists, .entries = s->entries },
    .action = s->action,
    .real = s->real,
    .policy = s->policy,
    .value = s->value,
    .target = s->target,
    .advantage = s->advantage
  };
}

static void close_scene(scene *s) {
  mm_net_destroy(s->net);
  free(s->x);
  free(s->lists);
  free(s->action);
  free(s->real);
  free(s->policy);
  free(s->value);
  free(s->target);
  free(s->advantage);
  free(s->row);
}

static mm_status learn(scene *s, mm_net_report *report) {
  return mm_net_learn(s->net, &s->config, 0.004, &s->batch, s->row, s->shape->rows, report);
}

// Runs `check` for every instruction set that there is.
static void on_each_isa(void (*check)(void)) {
  int ran = 0;
  for (int i = 0; i < ISAS; i++) {
    if (mm_isa_select(isa_names[i]) == MM_ERR_UNSUPPORTED) continue;
    check();
    ran++;
  }
  assert_ok(mm_isa_select("auto"));
  assert_true(ran > 0);
}

// ---------------------------------------------------------------------------------------------
// Against the reference

static void check_near(const char *what, const scene *s, double found, double expected,
                       double tolerance) {
  if (!(fabs(found - expected) <= tolerance * fmax(1, fabs(expected))))
    fail_msg("%s, isa %s, shape %d: expected %.9g, found %.9g", what, mm_isa_name(),
             (int)(s->shape - shapes), expected, found);
}

// Off by at most `tolerance` of the largest entry in its network, now or before: a tensor of few
// entries may be a sum that nearly cancels and keeps the rounding of its terms.
static void check_tensors(const char *what, const scene *s, mm_net_part part,
                          double *const *expected, double *const *before, double tolerance) {
  double largest[3] = { 0, 0, 0 }; // of actor, critic, and all else
  for (int t = 0; t < mm_net_tensors(s->net); t++) {
    mm_net_tensor shape = mm_net_describe(s->net, t);
    for (int i = 0; i < shape.rows * shape.cols; i++)
      largest[t / 6] =
          fmax(largest[t / 6], fmax(fabs(expected[t][i]), before ? fabs(before[t][i]) : 0));
  }
  for (int t = 0; t < mm_net_tensors(s->net); t++) {
    mm_net_tensor shape = mm_net_describe(s->net, t);
    size_t n = (size_t)shape.rows * (size_t)shape.cols;
    float *found = array(n, sizeof *found);
    double worst = 0;
    mm_net_export(s->net, part, t, found);
    for (size_t i = 0; i < n; i++)
      worst = fmax(worst, fabs((double)found[i] - expected[t][i]));
    if (!(worst <= tolerance * largest[t / 6]))
      fail_msg("%s of %s, isa %s, shape %d: off by %g of the largest entry, %g", what, shape.name,
               mm_isa_name(), (int)(s->shape - shapes), worst / largest[t / 6], largest[t / 6]);
    free(found);
  }
}

static void check_outputs(scene *s, const reference *r) {
  const size_t n = s->batch_rows, actions = (size_t)s->shape->net.n_action;
  float *scores = array(n * actions, sizeof *scores), *values = array(n, sizeof *values);
  double *x = array((size_t)s->shape->net.n_input, sizeof *x);
  double *f = array(actions, sizeof *f), v;
  mm_net_scores(s->net, &s->batch.obs, n, scores);
  mm_net_values(s->net, &s->batch.obs, n, values);
  for (size_t i = 0; i < n; i++) {
    reference_observe(r, &s->batch.obs, i, x);
    reference_forward(r, x, f, &v);
    check_near("value", s, (double)values[i], v, 1e-5);
    for (size_t a = 0; a < actions; a++)
      check_near("score", s, (double)scores[i * actions + a], f[a], 1e-5);
  }
  free(scores);
  free(values);
  free(x);
  free(f);
}

// Losses and gradients; then Adam from these gradients and from moments that are not 0.
static void check_step(scene *s) {
  reference r, before;
  mm_net_report found;
  reference_open(&r, s->net);
  reference_open(&before, s->net);
  mm_net_report expected = reference_loss(&r, &s->config, &s->batch, s->row, s->shape->rows);
  assert_ok(learn(s, &found));
  check_near("policy loss", s, found.policy_loss, expected.policy_loss, 1e-5);
  check_near("value loss", s, found.value_loss, expected.value_loss, 1e-5);
  check_near("entropy", s, found.entropy, expected.entropy, 1e-5);
  check_near("total loss", s, found.total_loss, expected.total_loss, 1e-5);
  check_near("gradient norm", s, found.grad_norm, expected.grad_norm, 1e-5);
  check_tensors("gradient", s, MM_NET_GRADIENT, r.gradient, NULL, 1e-5);
  for (int t = 0; t < r.tensors; t++) {
    float *g = array(r.size[t], sizeof *g);
    mm_net_export(s->net, MM_NET_GRADIENT, t, g);
    for (size_t i = 0; i < r.size[t]; i++)
      r.gradient[t][i] = (double)g[i];
    free(g);
  }
  reference_adam(&r, &s->config, 0.004);
  assert_true(r.count == mm_net_count(s->net));
  check_tensors("first moment", s, MM_NET_MOMENT1, r.m, before.m, 1e-6);
  check_tensors("second moment", s, MM_NET_MOMENT2, r.v, before.v, 1e-6);
  check_tensors("parameter", s, MM_NET_PARAM, r.param, before.param, 1e-6);
  reference_close(&r);
  reference_close(&before);
}

static void check_shapes(void) {
  for (int i = 0; i < SHAPES; i++) {
    scene s;
    reference r;
    open_scene(&s, &shapes[i]);
    reference_open(&r, s.net);
    check_outputs(&s, &r);
    reference_close(&r);
    for (int step = 0; step < (test_is_slowed() ? 1 : 3); step++)
      check_step(&s);
    close_scene(&s);
  }
}

static void test_against_reference(void **state) {
  (void)state;
  on_each_isa(check_shapes);
}

// ---------------------------------------------------------------------------------------------
// The reference itself

static double total_loss(reference *r, const scene *s) {
  return reference_loss(r, &s->config, &s->batch, s->row, s->shape->rows).total_loss;
}

static void check_differences(const problem *shape) {
  const double h = 1e-5;
  scene s;
  reference r;
  open_scene(&s, shape);
  reference_open(&r, s.net);
  for (int t = 0; t < r.tensors; t++) {
    double *analytic = array(r.size[t], sizeof *analytic), largest = 0, worst = 0;
    total_loss(&r, &s);
    memcpy(analytic, r.gradient[t], r.size[t] * sizeof *analytic);
    for (size_t i = 0; i < r.size[t]; i++) {
      double at = r.param[t][i];
      r.param[t][i] = at + h;
      double above = total_loss(&r, &s);
      r.param[t][i] = at - h;
      double below = total_loss(&r, &s);
      r.param[t][i] = at;
      largest = fmax(largest, fabs(analytic[i]));
      worst = fmax(worst, fabs((above - below) / (2 * h) - analytic[i]));
    }
    if (!(worst <= 1e-7 * fmax(1, largest)))
      fail_msg("gradient of tensor %d: off by %g, largest %g", t, worst, largest);
    free(analytic);
  }
  reference_close(&r);
  close_scene(&s);
}

static void test_central_differences(void **state) {
  (void)state;
  static const problem small[] = {
    { { 3, 4, { 7, 5 }, TANH, false }, 24, 0, AMPO },
    { { 3, 4, { 7, 5 }, TANH, false }, 24, 0, PPO },
    { { 3, 4, { 7, 5 }, RELU, false }, 24, 0, AMPO },
    { { 8, 2, { 6, 9 }, TANH, false }, 24, 3, AMPO },
    { { 3, 4, { 7, 5 }, TANH, true }, 24, 0, AMPO },
    { { 3, 4, { 7, 5 }, TANH, true }, 24, 0, PPO },
  };
  for (size_t i = 0; i < sizeof small / sizeof *small; i++)
    check_differences(&small[i]);
}

// ---------------------------------------------------------------------------------------------
// Bits

// Everything that a net holds after some steps, and what it says then.
typedef struct outcome {
  size_t n;
  float *number;
} outcome;

static outcome outcome_of(scene *s) {
  const size_t actions = (size_t)s->shape->net.n_action, size = s->net->size;
  outcome o = { .n = 4 * size + s->batch_rows * (actions + 1) + 5 };
  o.number = array(o.n, sizeof *o.number);
  mm_net_report report = { 0 };
  for (int step = 0; step < 2; step++)
    assert_ok(learn(s, &report));
  memcpy(o.number, s->net->param, size * sizeof *o.number);
  memcpy(o.number + size, s->net->m, size * sizeof *o.number);
  memcpy(o.number + 2 * size, s->net->v, size * sizeof *o.number);
  memcpy(o.number + 3 * size, s->net->gradient, size * sizeof *o.number);
  float *at = o.number + 4 * size;
  mm_net_scores(s->net, &s->batch.obs, s->batch_rows, at);
  mm_net_values(s->net, &s->batch.obs, s->batch_rows, at + s->batch_rows * actions);
  at += s->batch_rows * (actions + 1);
  at[0] = (float)report.policy_loss;
  at[1] = (float)report.value_loss;
  at[2] = (float)report.entropy;
  at[3] = (float)report.total_loss;
  at[4] = (float)report.grad_norm;
  return o;
}

static void check_same(const char *what, const outcome *a, const outcome *b) {
  assert_true(a->n == b->n);
  for (size_t i = 0; i < a->n; i++)
    if (memcmp(&a->number[i], &b->number[i], sizeof *a->number) != 0)
      fail_msg("%s: number %zu of %zu: %a and %a", what, i, a->n, (double)a->number[i],
               (double)b->number[i]);
}

static void test_same_bits(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    outcome first = { 0 };
    for (int isa = 0; isa < ISAS; isa++) {
      if (mm_isa_select(isa_names[isa]) == MM_ERR_UNSUPPORTED) continue;
      scene s;
      char what[64];
      open_scene(&s, &shapes[i]);
      outcome o = outcome_of(&s);
      close_scene(&s);
      snprintf(what, sizeof what, "shape %d, isa %s", i, isa_names[isa]);
      if (first.number) check_same(what, &first, &o);
      if (first.number)
        free(o.number);
      else
        first = o;
    }
    free(first.number);
  }
  assert_ok(mm_isa_select("auto"));
}

// A list is nothing but a row of zeros and ones.
static void check_lists(void) {
  for (int i = 0; i < SHAPES; i++) {
    if (!shapes[i].on) continue;
    scene listed, plain;
    open_scene(&listed, &shapes[i]);
    open_scene(&plain, &shapes[i]);
    plain.batch.obs = (mm_net_obs){ .floats = plain.x };
    outcome a = outcome_of(&listed), b = outcome_of(&plain);
    check_same("lists and numbers", &a, &b);
    close_scene(&listed);
    close_scene(&plain);
    free(a.number);
    free(b.number);
  }
}

static void test_lists_are_numbers(void **state) {
  (void)state;
  on_each_isa(check_lists);
}

// How many rows are asked for at once does not matter.
static void check_rows(void) {
  for (int i = 0; i < SHAPES; i++) {
    scene s;
    open_scene(&s, &shapes[i]);
    const size_t n = s.batch_rows, actions = (size_t)shapes[i].net.n_action;
    const size_t d = (size_t)shapes[i].net.n_input;
    float *all = array(n * (actions + 1), sizeof *all), *one = array(actions + 1, sizeof *one);
    mm_net_scores(s.net, &s.batch.obs, n, all);
    mm_net_values(s.net, &s.batch.obs, n, all + n * actions);
    for (size_t k = 0; k < n; k += test_is_slowed() ? 5 : 1) {
      mm_net_obs obs = s.batch.obs;
      if (obs.lists)
        obs.lists += k * obs.entries;
      else
        obs.floats += k * d;
      mm_net_scores(s.net, &obs, 1, one);
      mm_net_values(s.net, &obs, 1, one + actions);
      assert_memory_equal(one, all + k * actions, actions * sizeof *one);
      assert_memory_equal(one + actions, all + n * actions + k, sizeof *one);
    }
    free(all);
    free(one);
    close_scene(&s);
  }
}

static void test_rows_stand_alone(void **state) {
  (void)state;
  on_each_isa(check_rows);
}

// What rounds sizes up is never anything but 0.
static void check_padding(void) {
  for (int i = 0; i < SHAPES; i++) {
    scene s;
    open_scene(&s, &shapes[i]);
    for (int step = 0; step < 2; step++)
      assert_ok(learn(&s, NULL));
    for (int part = 0; part < MM_NET_PARTS; part++) {
      for (int t = 0; t < mm_net_tensors(s.net); t++) {
        mm_net_tensor shape = mm_net_describe(s.net, t);
        float *zeros = array((size_t)shape.rows * (size_t)shape.cols, sizeof *zeros);
        mm_net_import(s.net, (mm_net_part)part, t, zeros);
        free(zeros);
      }
    }
    for (size_t k = 0; k < s.net->size; k++)
      assert_true(s.net->param[k] == 0 && s.net->m[k] == 0 && s.net->v[k] == 0 &&
                  s.net->gradient[k] == 0);
    close_scene(&s);
  }
}

static void test_padding(void **state) {
  (void)state;
  on_each_isa(check_padding);
}

// ---------------------------------------------------------------------------------------------
// State and trouble

static void copy_state(const mm_net *from, mm_net *to) {
  for (int part = 0; part <= MM_NET_MOMENT2; part++) {
    for (int t = 0; t < mm_net_tensors(from); t++) {
      mm_net_tensor shape = mm_net_describe(from, t);
      float *numbers = array((size_t)shape.rows * (size_t)shape.cols, sizeof *numbers);
      mm_net_export(from, (mm_net_part)part, t, numbers);
      mm_net_import(to, (mm_net_part)part, t, numbers);
      free(numbers);
    }
  }
  mm_net_set_count(to, mm_net_count(from));
}

static void test_restored(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    scene s, t;
    open_scene(&s, &shapes[i]);
    open_scene(&t, &shapes[i]);
    for (int step = 0; step < 3; step++)
      assert_ok(learn(&s, NULL));
    assert_ok(mm_net_init(t.net, 99, 0));
    assert_ok(learn(&t, NULL)); // another life before
    copy_state(s.net, t.net);
    outcome a = outcome_of(&s), b = outcome_of(&t);
    check_same("restored", &a, &b);
    free(a.number);
    free(b.number);
    close_scene(&s);
    close_scene(&t);
  }
}

// Trouble in one row leaves the state alone; without it the same net goes on.
static void check_trouble(void) {
  enum { POLICY, TARGET, ADVANTAGE, INPUT };
  static const struct trouble {
    int field;
    float value;
  } troubles[] = {
    { POLICY, NAN },      { POLICY, INFINITY }, { POLICY, 3e38f },  { TARGET, NAN },
    { TARGET, INFINITY }, { TARGET, -3e38f },   { ADVANTAGE, NAN }, { ADVANTAGE, -INFINITY },
    { INPUT, NAN },       { INPUT, -INFINITY },
  };
  for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
    scene s, untouched;
    mm_net_report report;
    open_scene(&s, &shapes[0]);
    open_scene(&untouched, &shapes[0]);
    assert_ok(learn(&s, NULL));
    assert_ok(learn(&untouched, NULL));
    const size_t row = s.row[s.shape->rows - 1];
    float *const places[] = { &s.policy[row], &s.target[row], &s.advantage[row], &s.x[row * 4] };
    float *place = places[troubles[i].field], good = *place;
    *place = troubles[i].value;
    assert_fails(learn(&s, &report), MM_ERR_NUMERIC, "expected finite");
    assert_false(isfinite(report.total_loss) && isfinite(report.grad_norm));
    assert_true(mm_net_count(s.net) == 1);
    *place = good;
    outcome a = outcome_of(&s), b = outcome_of(&untouched);
    check_same("after trouble", &a, &b);
    free(a.number);
    free(b.number);
    close_scene(&s);
    close_scene(&untouched);
  }
}

static void test_trouble(void **state) {
  (void)state;
  on_each_isa(check_trouble);
}

// Moments of inputs that are never on any more fade to 0 and no further.
static void test_moments_fade(void **state) {
  (void)state;
  scene s;
  open_scene(&s, &shapes[11]);
  assert_ok(learn(&s, NULL));
  for (size_t i = 0; i < s.batch_rows * s.entries; i++)
    s.lists[i] = (uint16_t)s.shape->net.n_input;
  const size_t n = (size_t)s.shape->net.n_input * 2 * s.net->width0;
  size_t moving = 0;
  for (size_t i = 0; i < n; i++)
    moving += s.net->m[i] != 0;
  assert_true(moving > 0);
  for (int step = 0; step < 800; step++)
    assert_ok(learn(&s, NULL));
  for (size_t i = 0; i < n; i++)
    assert_true(s.net->m[i] == 0);
  close_scene(&s);
}

static void test_profile(void **state) {
  (void)state;
  scene s;
  double seconds[MM_NET_STAGES] = { 0 };
  open_scene(&s, &shapes[0]);
  mm_net_profile(s.net, seconds);
  for (int step = 0; step < 50; step++)
    assert_ok(learn(&s, NULL));
  for (int i = 0; i < MM_NET_STAGES; i++)
    assert_true(seconds[i] > 0);
  close_scene(&s);
}

int suite_net_learn(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_against_reference), cmocka_unit_test(test_central_differences),
    cmocka_unit_test(test_same_bits),         cmocka_unit_test(test_lists_are_numbers),
    cmocka_unit_test(test_rows_stand_alone),  cmocka_unit_test(test_padding),
    cmocka_unit_test(test_restored),          cmocka_unit_test(test_trouble),
    cmocka_unit_test(test_moments_fade),      cmocka_unit_test(test_profile),
  };
  return cmocka_run_group_tests_name("net_learn", tests, NULL, NULL);
}
