// SPDX-License-Identifier: Apache-2.0
// Nets: sizes, first weights, tensors, and the reference implementation's own gradient steps.

#include "net/net.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/isa.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/status.h"
#include "net/kernels.h"
#include "scarce_memory.h"
#include "test.h"

static const char *const isa_names[] = { "portable", "avx2", "avx512" };
enum { ISAS = sizeof isa_names / sizeof *isa_names };

static float *floats(size_t n) {
  float *x = calloc(n, sizeof *x);
  assert_non_null(x);
  return x;
}

static size_t tensor_size(const mm_net *net, int t) {
  mm_net_tensor shape = mm_net_describe(net, t);
  return (size_t)shape.rows * (size_t)shape.cols;
}

static float *exported(const mm_net *net, mm_net_part part, int t) {
  float *x = floats(tensor_size(net, t));
  mm_net_export(net, part, t, x);
  return x;
}

// ---------------------------------------------------------------------------------------------
// Sizes and tensors

static void test_sizes(void **state) {
  (void)state;
  mm_net *net;
  const mm_net_config good = mm_net_config_default(4, 2);
  mm_net_config c = good;
  c.n_input = 0;
  assert_fails(mm_net_create(&c, &net), MM_ERR_INPUT, "inputs: expected between 1 and 65535");
  assert_null(net);
  c = good;
  c.n_action = MM_NET_ACTION_MAX + 1;
  assert_fails(mm_net_create(&c, &net), MM_ERR_INPUT, "actions");
  c = good;
  c.hidden[0] = -1;
  assert_fails(mm_net_create(&c, &net), MM_ERR_INPUT, "first hidden layer");
  c = good;
  c.hidden[1] = 5000;
  assert_fails(mm_net_create(&c, &net), MM_ERR_INPUT, "second hidden layer");
  assert_ok(mm_net_create(&good, &net));
  assert_memory_equal(mm_net_shape(net), &good, sizeof good);
  mm_net_destroy(net);
  mm_net_destroy(NULL);
}

static void test_tensors(void **state) {
  (void)state;
  static const struct expected {
    const char *name;
    int32_t rows, cols;
  } expected[MM_NET_TENSORS] = {
    { "actor.0.weight", 7, 20 },  { "actor.0.bias", 1, 20 },    { "actor.1.weight", 20, 35 },
    { "actor.1.bias", 1, 35 },    { "actor.2.weight", 35, 3 },  { "actor.2.bias", 1, 3 },
    { "critic.0.weight", 7, 20 }, { "critic.0.bias", 1, 20 },   { "critic.1.weight", 20, 35 },
    { "critic.1.bias", 1, 35 },   { "critic.2.weight", 35, 1 }, { "critic.2.bias", 1, 1 },
  };
  mm_net *net;
  mm_net_config c = { 7, 3, { 20, 35 }, MM_ACTIVATION_RELU, false };
  assert_ok(mm_net_create(&c, &net));
  // numbers that say where they come from; all are written before any is read
  for (int part = 0; part < MM_NET_PARTS; part++) {
    for (int t = 0; t < MM_NET_TENSORS; t++) {
      mm_net_tensor shape = mm_net_describe(net, t);
      assert_string_equal(shape.name, expected[t].name);
      assert_int_equal(shape.rows, expected[t].rows);
      assert_int_equal(shape.cols, expected[t].cols);
      float *x = floats(tensor_size(net, t));
      for (size_t i = 0; i < tensor_size(net, t); i++)
        x[i] = (float)(100000 * part + 5000 * t) + (float)i;
      mm_net_import(net, (mm_net_part)part, t, x);
      free(x);
    }
  }
  for (int part = 0; part < MM_NET_PARTS; part++) {
    for (int t = 0; t < MM_NET_TENSORS; t++) {
      float *x = exported(net, (mm_net_part)part, t);
      for (size_t i = 0; i < tensor_size(net, t); i++)
        assert_true(x[i] == (float)(100000 * part + 5000 * t) + (float)i);
      free(x);
    }
  }
  mm_net_set_count(net, 12345678901u);
  assert_true(mm_net_count(net) == 12345678901u);
  mm_net_destroy(net);
}

static void test_out_of_memory(void **state) {
  (void)state;
  const mm_net_config c = mm_net_config_default(4, 2);
  size_t needed = 0;
  make_memory_scarce();
  for (;; needed++) {
    mm_net *net;
    allocations_left = needed;
    mm_status status = mm_net_create(&c, &net);
    if (status == MM_OK) status = mm_net_init(net, 1, 0);
    mm_net_destroy(net);
    if (status == MM_OK) break;
    assert_int_equal(status, MM_ERR_MEMORY);
    assert_true(needed < 100);
  }
  assert_true(needed >= 3);
  make_memory_usual();
}

// ---------------------------------------------------------------------------------------------
// First weights

// Columns (or rows, where there are fewer) are orthogonal and have the length of the gain, and each
// has a positive component along the Gaussian vector that it was made from.
static void check_orthogonal(const mm_net *net, int t, double gain, mm_stream stream) {
  mm_net_tensor shape = mm_net_describe(net, t);
  float *w = exported(net, MM_NET_PARAM, t);
  const size_t in = (size_t)shape.rows, out = (size_t)shape.cols;
  const size_t n = in > out ? in : out, count = in > out ? out : in;
  const size_t along = in > out ? out : 1, across = in > out ? 1 : out;
  for (size_t a = 0; a < count; a++) {
    for (size_t b = 0; b <= a; b++) {
      double sum = 0;
      for (size_t i = 0; i < n; i++)
        sum += (double)w[i * along + a * across] * (double)w[i * along + b * across];
      double expected = a == b ? gain * gain : 0;
      if (!(fabs(sum - expected) <= 1e-6 * gain * gain))
        fail_msg("%s: vectors %zu and %zu: product %g", shape.name, a, b, sum);
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++)
      sum += (double)w[i * along + a * across] * mm_normal_d(mm_stream_pair(stream, i * count + a));
    assert_true(sum > 0);
  }
  free(w);
}

static void check_first_weights(const mm_net_config *c) {
  mm_net *net;
  const double gains[] = { sqrt(2), sqrt(2), 0.01, sqrt(2), sqrt(2), 1 };
  assert_ok(mm_net_create(c, &net));
  assert_ok(mm_net_init(net, 3, 8));
  for (int t = 0; t < MM_NET_TENSORS; t += 2) {
    check_orthogonal(net, t, gains[t / 2],
                     mm_stream_make(3, 8, MM_RNG_NET_INIT, (uint32_t)(t / 2)));
    float *bias = exported(net, MM_NET_PARAM, t + 1);
    for (size_t i = 0; i < tensor_size(net, t + 1); i++)
      assert_true(bias[i] == 0);
    free(bias);
  }
  mm_net_destroy(net);
}

static void test_first_weights(void **state) {
  (void)state;
  static const mm_net_config configs[] = {
    { 4, 2, { 64, 64 }, MM_ACTIVATION_TANH, false },
    { 400, 5, { 64, 64 }, MM_ACTIVATION_TANH, false },
    { 50, 60, { 17, 33 }, MM_ACTIVATION_RELU, false },
    { 1, 1, { 1, 1 }, MM_ACTIVATION_TANH, false },
  };
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
    check_first_weights(&configs[i]);
}

static void test_first_weights_depend_on_seed(void **state) {
  (void)state;
  const mm_net_config c = mm_net_config_default(6, 3);
  mm_net *a, *b;
  assert_ok(mm_net_create(&c, &a));
  assert_ok(mm_net_create(&c, &b));
  assert_ok(mm_net_init(a, 1, 0));
  for (int other = 0; other < 3; other++) {
    assert_ok(mm_net_init(b, other == 1 ? 2 : 1, other == 2 ? 1 : 0));
    for (int t = 0; t < MM_NET_TENSORS; t += 2) {
      float *x = exported(a, MM_NET_PARAM, t), *y = exported(b, MM_NET_PARAM, t);
      assert_true((memcmp(x, y, tensor_size(a, t) * sizeof *x) == 0) == (other == 0));
      free(x);
      free(y);
    }
  }
  mm_net_destroy(a);
  mm_net_destroy(b);
}

// ---------------------------------------------------------------------------------------------
// tanh of the kernels

static void test_tanh_bits(void **state) {
  (void)state;
  enum { N = 64, ROUNDS = 2000 };
  const float special[] = { 0, -0.0f, 8, -8, 7.999f, 1e30f, -1e30f, INFINITY, -INFINITY, 1e-40f };
  for (int isa = 0; isa < ISAS; isa++) {
    if (mm_isa_select(isa_names[isa]) == MM_ERR_UNSUPPORTED) continue;
    for (uint64_t round = 0; round < ROUNDS; round++) {
      float x[N], h[MM_NET_ROWS * N], nothing[MM_NET_ROWS] = { 0 };
      for (size_t i = 0; i < N; i++) {
        mm_stream stream = mm_stream_make(2, 0, MM_RNG_TEST, 0);
        double scale = exp(-0.01 * (double)(round % 1000));
        x[i] = (float)(scale * 5 * mm_normal_d(mm_stream_pair(stream, round * N + i)));
        if (round == 0 && i < sizeof special / sizeof *special) x[i] = special[i];
      }
      // a layer without inputs is the activation of its biases
      mm_net_kernels_current()->layer(MM_ACTIVATION_TANH, MM_NET_ROWS, 0, N,
                                      (mm_matrix){ nothing, 1 }, (mm_matrix){ nothing, N }, x,
                                      (mm_matrix_out){ h, N });
      for (size_t i = 0; i < MM_NET_ROWS * N; i++) {
        float expected = mm_tanh_f(x[i % N]);
        assert_memory_equal(&h[i], &expected, sizeof expected);
      }
    }
  }
  assert_ok(mm_isa_select("auto"));
}

// ---------------------------------------------------------------------------------------------
// Roots of the optimiser

// With second moments x, first moments x and nothing else a parameter moves by x / sqrt(x), which
// tells a root from its neighbours.
static void check_roots(const float *x, size_t n) {
  enum { MOST = 4096 };
  const mm_adam plain = {
    .scale = 1, .beta1 = 1, .beta2 = 1, .correction2 = 1, .step = 1, .epsilon = 0x1p-126f
  };
  float g[MOST] = { 0 }, m[MOST], v[MOST], p[MOST] = { 0 };
  assert_true(n <= MOST);
  memcpy(m, x, n * sizeof *x);
  memcpy(v, x, n * sizeof *x);
  mm_net_kernels_current()->adam(&plain, n, g, m, v, p);
  for (size_t i = 0; i < n; i++) {
    float expected = 0.0f - x[i] / (sqrtf(x[i]) + 0x1p-126f);
    if (memcmp(&p[i], &expected, sizeof expected) != 0)
      fail_msg("%s: root of %a: found %a for %a", mm_isa_name(), (double)x[i], (double)p[i],
               (double)expected);
  }
}

// Every number from 1 to 4 stands for all others, whose roots differ by a power of 2; the smallest
// that can occur are looked at too.
static void test_roots(void **state) {
  (void)state;
  enum { N = 4096 };
  for (int isa = 0; isa < ISAS; isa++) {
    if (mm_isa_select(isa_names[isa]) == MM_ERR_UNSUPPORTED) continue;
    float x[N];
    for (uint32_t from = 0; from < 1u << 24; from += N) {
      for (uint32_t i = 0; i < N; i++) {
        uint32_t bits = 0x3f800000u + from + i;
        memcpy(&x[i], &bits, sizeof bits);
      }
      check_roots(x, N);
    }
    for (int e = -100; e < 128; e++) {
      for (int i = 0; i < N; i++)
        x[i] = ldexpf(1 + (float)i / N, e);
      x[N - 1] = 0;
      check_roots(x, N);
    }
  }
  assert_ok(mm_isa_select("auto"));
}

// ---------------------------------------------------------------------------------------------
// Recorded updates: two consecutive minibatches of a 4-64-64-2 actor and its critic, both in single
// precision. Adam's first step is nearly the sign of each gradient, which makes rounding visible:
// plain double precision too would be 1e-5 off in the values that follow it. So the second step
// starts from the recorded parameters, with the moments of our own first step.

enum { ROWS = 128, INPUTS = 4, ACTIONS = 2 };

typedef struct recorded {
  float x[ROWS * INPUTS], value[ROWS], target[ROWS], advantage[ROWS], z[ROWS];
  int32_t action[ROWS];
  uint32_t row[ROWS];
  mm_net_batch batch;
} recorded;

static const cJSON *field(const cJSON *object, const char *name) {
  const cJSON *item = mm_json_find(object, name);
  if (!item) fail_msg("no field '%s'", name);
  return item;
}

static float number(const cJSON *object, const char *name) {
  return (float)field(object, name)->valuedouble;
}

// All numbers of an array of arrays of ..., in order; returns how many.
static size_t flatten(const cJSON *item, float *out) {
  if (!cJSON_IsArray(item)) {
    *out = (float)item->valuedouble;
    return 1;
  }
  size_t n = 0;
  for (const cJSON *child = item->child; child; child = child->next)
    n += flatten(child, out + n);
  return n;
}

static void read_parameters(const cJSON *tensors, mm_net *net) {
  for (int t = 0; t < MM_NET_TENSORS; t++) {
    float *w = floats(tensor_size(net, t));
    const cJSON *tensor = field(tensors, mm_net_describe(net, t).name);
    assert_int_equal(flatten(tensor, w), tensor_size(net, t));
    mm_net_import(net, MM_NET_PARAM, t, w);
    free(w);
  }
}

static void read_step(const cJSON *root, const cJSON *step, recorded *r) {
  float old[ROWS * ACTIONS], nu[ROWS], action[ROWS];
  const float previous = number(root, "previous_lr");
  assert_int_equal(flatten(field(step, "obs"), r->x), ROWS * INPUTS);
  assert_int_equal(flatten(field(step, "action"), action), ROWS);
  assert_int_equal(flatten(field(step, "old_value"), r->value), ROWS);
  assert_int_equal(flatten(field(step, "old_actor_scaled"), old), ROWS * ACTIONS);
  assert_int_equal(flatten(field(step, "nu"), nu), ROWS);
  assert_int_equal(flatten(field(step, "gae"), r->advantage), ROWS);
  assert_int_equal(flatten(field(step, "target"), r->target), ROWS);
  for (uint32_t i = 0; i < ROWS; i++) {
    r->row[i] = i;
    r->action[i] = (int32_t)action[i];
    r->z[i] = previous * old[i * ACTIONS + (size_t)action[i]] + nu[i];
  }
  r->batch = (mm_net_batch){ .obs = { .floats = r->x },
                             .action = r->action,
                             .policy = r->z,
                             .value = r->value,
                             .target = r->target,
                             .advantage = r->advantage };
}

static void check_close(const char *what, const float *found, const cJSON *item, size_t n) {
  float *expected = floats(n);
  double largest = 0, worst = 0;
  assert_int_equal(flatten(item, expected), n);
  for (size_t i = 0; i < n; i++) {
    largest = fmax(largest, fabs((double)expected[i]));
    worst = fmax(worst, fabs((double)found[i] - (double)expected[i]));
  }
  if (!(worst <= 1e-5 * largest))
    fail_msg("%s, isa %s: off by %g of the largest entry, %g", what, mm_isa_name(), worst / largest,
             largest);
  free(expected);
}

static void check_tensors(const char *what, const mm_net *net, mm_net_part part,
                          const cJSON *expected) {
  for (int t = 0; t < MM_NET_TENSORS; t++) {
    char name[64];
    const char *tensor = mm_net_describe(net, t).name;
    snprintf(name, sizeof name, "%s of %s", what, tensor);
    float *found = exported(net, part, t);
    check_close(name, found, field(expected, tensor), tensor_size(net, t));
    free(found);
  }
}

static void check_number(const char *what, double found, const cJSON *expected) {
  float x = (float)found;
  check_close(what, &x, expected, 1);
}

static void check_recorded_step(mm_net *net, const mm_net_learn_config *c, const cJSON *root,
                                const cJSON *step) {
  recorded r;
  float scores[ROWS * ACTIONS], values[ROWS];
  mm_net_report report;
  read_step(root, step, &r);
  mm_net_scores(net, &r.batch.obs, ROWS, scores);
  mm_net_values(net, &r.batch.obs, ROWS, values);
  check_close("scores", scores, field(step, "scores"), ROWS * ACTIONS);
  check_close("values", values, field(step, "value"), ROWS);
  double per_update = (double)number(root, "n_minibatches") * (double)number(root, "epochs");
  double done = floor((double)mm_net_count(net) / per_update) / (double)number(root, "n_updates");
  double rate = field(root, "lr")->valuedouble * (1 - done);
  assert_ok(mm_net_learn(net, c, rate, &r.batch, r.row, ROWS, &report));
  check_number("total loss", report.total_loss, field(step, "total_loss"));
  check_number("value loss", report.value_loss, field(step, "value_loss"));
  check_number("policy loss", report.policy_loss, field(step, "actor_loss"));
  check_number("gradient norm", report.grad_norm, field(step, "global_grad_norm"));
  const cJSON *gradients = mm_json_find(step, "grads");
  if (gradients) check_tensors("gradient", net, MM_NET_GRADIENT, gradients);
  check_tensors("parameters", net, MM_NET_PARAM, field(step, "params_after"));
}

static void check_recording(const char *name) {
  char path[512], *text;
  size_t length;
  cJSON *root;
  mm_net *net;
  snprintf(path, sizeof path, "%s/golden/%s", MM_TEST_DATA, name);
  assert_ok(mm_file_read(path, 1 << 20, &text, &length));
  assert_ok(mm_json_parse(text, length, path, &root));
  mm_free(text);
  const mm_net_config shape = mm_net_config_default(INPUTS, ACTIONS);
  assert_ok(mm_net_create(&shape, &net));
  read_parameters(field(root, "params"), net);
  mm_net_learn_config c = mm_net_learn_config_default(MM_OBJECTIVE_AMPO);
  c.eta = number(root, "eta");
  c.floor = number(root, "phi_inv_floor");
  c.value_clip = number(root, "clip_eps");
  c.value_coef = number(root, "vf_coef");
  c.max_grad_norm = number(root, "max_grad_norm");
  int steps = 0, with_gradients = 0;
  for (const cJSON *step = field(root, "steps")->child; step; step = step->next, steps++) {
    with_gradients += mm_json_find(step, "grads") != NULL;
    check_recorded_step(net, &c, root, step);
    read_parameters(field(step, "params_after"), net);
  }
  assert_int_equal(steps, 2);
  assert_true(with_gradients > 0);
  mm_net_destroy(net);
  cJSON_Delete(root);
}

static void test_recorded_updates(void **state) {
  (void)state;
  for (int isa = 0; isa < ISAS; isa++) {
    if (mm_isa_select(isa_names[isa]) == MM_ERR_UNSUPPORTED) continue;
    check_recording("ampo_update_0.json");
    check_recording("ampo_update_1.json");
    check_recording("ampo_update_2.json");
  }
  assert_ok(mm_isa_select("auto"));
}

int suite_net(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_tensors),
    cmocka_unit_test(test_out_of_memory),
    cmocka_unit_test(test_first_weights),
    cmocka_unit_test(test_first_weights_depend_on_seed),
    cmocka_unit_test(test_tanh_bits),
    cmocka_unit_test(test_roots),
    cmocka_unit_test(test_recorded_updates),
  };
  return cmocka_run_group_tests_name("net", tests, NULL, NULL);
}
