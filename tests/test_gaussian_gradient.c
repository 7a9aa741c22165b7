// SPDX-License-Identifier: Apache-2.0
// What moves a Gaussian policy, through the whole network and for every kind of map: the first
// minibatch is the plain policy gradient, gradients are those of the objective by differences, and
// the divergence that is reported is the one of Kullback and Leibler where the map says so.

#include <math.h>
#include <stdlib.h>

#include "agent/gaussian_objective.h"
#include "net_reference.h"
#include "random_map.h"
#include "statistics.h"
#include "test.h"

static const char *const maps[] = { "negentropy",  "l2",        "tsallis:0.5",
                                    "tsallis:1.5", "tsallis:3", "piecewise",
                                    "random:7",    "neural",    "random-neural:3" };
enum { MAPS = sizeof maps / sizeof *maps };

enum { INPUTS = 5, ACTIONS = 3, HIDDEN = 16, ROWS = 48 };
static const float ETA = 0.5f;

// A net with weights everywhere, and a minibatch of actions that it might have drawn.
typedef struct scene {
  mm_map *map;
  mm_net *net;
  mm_gaussian_objective objective;
  float x[ROWS * INPUTS], action[ROWS * ACTIONS], log_q[ROWS], advantage[ROWS], zero[ROWS];
  uint32_t row[ROWS];
  mm_net_batch batch;
} scene;

static void perturb(mm_net *net) {
  for (int t = 0; t <= MM_NET_LOG_STD; t++) {
    const mm_net_tensor shape = mm_net_describe(net, t);
    const size_t n = (size_t)shape.rows * (size_t)shape.cols;
    float w[HIDDEN * HIDDEN];
    assert_true(n <= HIDDEN * HIDDEN);
    mm_net_export(net, MM_NET_PARAM, t, w);
    for (size_t i = 0; i < n; i++)
      w[i] += (float)(0.1 * random_normal(i, 60 + (uint32_t)t, 0));
    mm_net_import(net, MM_NET_PARAM, t, w);
  }
}

// log q is the net's own density; `apart` moves it away from that.
static void open_scene(scene *s, const char *map, double apart) {
  const mm_net_config shape = {
    .n_input = INPUTS, .n_action = ACTIONS, .hidden = { HIDDEN, HIDDEN }, .gaussian = true
  };
  float mean[ROWS * ACTIONS];
  *s = (scene){ 0 };
  assert_ok(mm_map_open(map, &s->map));
  assert_ok(mm_net_create(&shape, &s->net));
  assert_ok(mm_net_init(s->net, 5, 0));
  perturb(s->net);
  mm_gaussian_objective_make(s->map, 1, false, (double)ETA, 0.2, &s->objective);
  mm_gaussian_objective_begin(&s->objective);
  for (uint64_t i = 0; i < ROWS * INPUTS; i++)
    s->x[i] = (float)random_normal(i, 80, 0);
  mm_net_scores(s->net, &(mm_net_obs){ .floats = s->x }, ROWS, mean);
  for (uint64_t i = 0; i < ROWS * ACTIONS; i++)
    s->action[i] = mean[i] + (float)random_normal(i, 81, 0);
  mm_net_log_density(s->net, ROWS, mean, s->action, s->log_q);
  for (uint64_t i = 0; i < ROWS; i++) {
    s->log_q[i] += (float)(apart * random_normal(i, 82, 0));
    s->advantage[i] = (float)random_normal(i, 83, 0);
    s->row[i] = (uint32_t)i;
  }
  s->batch = (mm_net_batch){ .obs = { .floats = s->x },
                             .real = s->action,
                             .policy = s->log_q,
                             .value = s->zero,
                             .target = s->zero,
                             .advantage = s->advantage };
}

static void close_scene(scene *s) {
  mm_net_destroy(s->net);
  mm_map_destroy(s->map);
}

// The gradient of the loss, which is less the objective; leaves the net a step further.
static void learn(scene *s, mm_net_weigh *weigh) {
  mm_net_learn_config c = mm_net_learn_config_default(MM_OBJECTIVE_AMPO);
  c.weigh = weigh;
  c.user = &s->objective;
  c.normalise = false;
  c.entropy_coef = 0;
  assert_ok(mm_net_learn(s->net, &c, 1e-3, &s->batch, s->row, ROWS, NULL));
}

// The actor's tensors, and the log deviations.
static int next_tensor(int t) {
  return t < 5 ? t + 1 : t == 5 ? MM_NET_LOG_STD : -1;
}

// ---------------------------------------------------------------------------------------------

static void weigh_plainly(void *user, size_t n, const float *log_p, const float *log_q,
                          const float *advantage, float *gain, float *weight) {
  (void)user, (void)log_p, (void)log_q;
  for (size_t i = 0; i < n; i++)
    gain[i] = weight[i] = ETA * advantage[i];
}

// eta A grad log p, to the bit, whatever the map; and no longer once p and q are apart.
static void test_plain_gradient(void **state) {
  (void)state;
  for (int i = 0; i < 2 * MAPS; i++) {
    const bool apart = i >= MAPS;
    scene a, b;
    int different = 0;
    open_scene(&a, maps[i % MAPS], apart ? 0.3 : 0);
    open_scene(&b, maps[i % MAPS], apart ? 0.3 : 0);
    learn(&a, mm_gaussian_objective_weigh);
    learn(&b, weigh_plainly);
    for (int t = 0; t >= 0; t = next_tensor(t)) {
      const mm_net_tensor shape = mm_net_describe(a.net, t);
      float found[HIDDEN * HIDDEN], plain[HIDDEN * HIDDEN];
      mm_net_export(a.net, MM_NET_GRADIENT, t, found);
      mm_net_export(b.net, MM_NET_GRADIENT, t, plain);
      for (int k = 0; k < shape.rows * shape.cols; k++) {
        if (!apart && memcmp(&found[k], &plain[k], sizeof found[k]) != 0)
          fail_msg("%s: %s[%d] is %a, expected %a", maps[i], shape.name, k, (double)found[k],
                   (double)plain[k]);
        different += found[k] != plain[k];
      }
    }
    assert_int_equal(different > 0, apart);
    close_scene(&a);
    close_scene(&b);
  }
}

// ---------------------------------------------------------------------------------------------

// Less the objective, in double precision: - mean (eta r A - d(p, q)/q).
static double loss(const reference *r, const scene *s) {
  double sum = 0;
  for (size_t i = 0; i < ROWS; i++) {
    double x[INPUTS], mean[ACTIONS], value;
    reference_observe(r, &s->batch.obs, i, x);
    reference_forward(r, x, mean, &value);
    double log_q = (double)s->log_q[i];
    double log_p = reference_log_density(r, mean, s->action + i * ACTIONS);
    sum -= (double)ETA * exp(log_p - log_q) * (double)s->advantage[i];
    sum += mm_density_divergence(&s->objective.density, log_p, log_q);
  }
  return sum / ROWS;
}

static void check_differences(const char *map) {
  const double h = 1e-4;
  scene s;
  reference r;
  double largest = 0, worst = 0;
  open_scene(&s, map, 0.3);
  reference_open(&r, s.net);
  learn(&s, mm_gaussian_objective_weigh);
  for (int t = 0; t >= 0; t = next_tensor(t)) {
    float found[HIDDEN * HIDDEN];
    mm_net_export(s.net, MM_NET_GRADIENT, t, found);
    for (size_t i = 0; i < r.size[t]; i++) {
      const double at = r.param[t][i];
      r.param[t][i] = at + h;
      double above = loss(&r, &s);
      r.param[t][i] = at - h;
      double below = loss(&r, &s);
      r.param[t][i] = at;
      largest = fmax(largest, fabs((double)found[i]));
      worst = fmax(worst, fabs((above - below) / (2 * h) - (double)found[i]));
    }
  }
  print_message("%s: gradients up to %.2g, off by %.1e at most\n", map, largest, worst);
  if (!(worst <= 2e-5 * largest)) fail_msg("%s: the gradient is not that of the objective", map);
  reference_close(&r);
  close_scene(&s);
}

static void test_central_differences(void **state) {
  (void)state;
  for (int i = 0; i < MAPS; i++)
    check_differences(maps[i]);
}

// ---------------------------------------------------------------------------------------------

typedef struct normals {
  int d;
  double mean[8], std[8];
} normals;

static double log_density(const normals *n, const double *x) {
  double sum = 0;
  for (int k = 0; k < n->d; k++) {
    double z = (x[k] - n->mean[k]) / n->std[k];
    sum -= z * z / 2 + log(n->std[k]) + log(2 * acos(-1)) / 2;
  }
  return sum;
}

static double kl(const normals *p, const normals *q) {
  double sum = 0;
  for (int k = 0; k < p->d; k++) {
    double s = p->std[k] / q->std[k], m = (p->mean[k] - q->mean[k]) / q->std[k];
    sum += -log(s) + (s * s + m * m - 1) / 2;
  }
  return sum;
}

// How far the reported divergence of samples of q is from KL(p, q), in its own standard errors.
static double miss(const normals *p, const normals *q, uint32_t lane) {
  enum { SAMPLES = 20000 };
  mm_map *map;
  mm_gaussian_objective o;
  double sum = 0, square = 0;
  assert_ok(mm_map_create_negentropy(&map));
  mm_gaussian_objective_make(map, 1, false, 0.5, 0.2, &o);
  mm_gaussian_objective_begin(&o);
  o.measure = true;
  for (uint64_t i = 0; i < SAMPLES; i++) {
    double x[8];
    for (int k = 0; k < q->d; k++)
      x[k] = q->mean[k] + q->std[k] * random_normal(i * 8 + (uint64_t)k, lane, 0);
    double lp = log_density(p, x), lq = log_density(q, x), r = exp(lp - lq);
    float log_p = (float)lp, log_q = (float)lq, advantage = 0, gain, weight;
    mm_gaussian_objective_weigh(&o, 1, &log_p, &log_q, &advantage, &gain, &weight);
    double gap = r * (lp - lq) - r + 1;
    sum += gap;
    square += gap * gap;
  }
  mm_map_destroy(map);
  double mean = sum / SAMPLES, error = sqrt((square / SAMPLES - mean * mean) / SAMPLES);
  return (mm_gaussian_objective_report(&o).divergence - kl(p, q)) / error;
}

// Many policies of as many actions as the bodies have: errors are as large as the standard errors
// say, no larger and no smaller.
static void test_kullback_leibler(void **state) {
  (void)state;
  enum { PAIRS = 30 };
  static const int actions[] = { 3, 6, 8 };
  double square = 0, sum = 0;
  for (uint32_t i = 0; i < PAIRS; i++) {
    normals p = { .d = actions[i % 3] }, q = { .d = p.d };
    for (int k = 0; k < p.d; k++) {
      q.mean[k] = random_in(i, 90, (uint32_t)k, -1, 1);
      q.std[k] = exp(random_in(i, 91, (uint32_t)k, -2, 0));
      p.mean[k] = q.mean[k] + q.std[k] * random_in(i, 92, (uint32_t)k, -0.25, 0.25);
      p.std[k] = q.std[k] * exp(random_in(i, 93, (uint32_t)k, -0.2, 0.05));
    }
    double z = miss(&p, &q, 100 + i);
    assert_within_sigmas(z, 4);
    square += z * z;
    sum += z;
  }
  assert_plausible(chi_square_p(square, PAIRS));
  assert_within_sigmas(sum / sqrt(PAIRS), 3); // no bias
}

int suite_gaussian_gradient(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain_gradient),
    cmocka_unit_test(test_central_differences),
    cmocka_unit_test(test_kullback_leibler),
  };
  return cmocka_run_group_tests_name("gaussian_gradient", tests, NULL, NULL);
}
