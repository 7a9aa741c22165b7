// SPDX-License-Identifier: Apache-2.0
// Classic control: recorded trajectories, the known transitions of each environment, starts, ends,
// actions out of range, and the returns of the uniform random policy.

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "env/classic/classics.h"
#include "env/trace.h"
#include "statistics.h"
#include "test.h"

static const double turn = 6.283185307179586;

// |d| <= tolerance max(1, |expected|); angles may differ by turns.
static void check_near(const char *what, float got, double expected, double tolerance, bool angle) {
  double d = (double)got - expected;
  if (angle) d -= turn * rint(d / turn);
  if (!(fabs(d) <= tolerance * fmax(1, fabs(expected))))
    fail_msg("%s: expected %.9g, found %.9g", what, expected, (double)got);
}

// ---------------------------------------------------------------------------------------------
// Recorded trajectories: every transition starts from the recorded state (test_trace.c shows that
// the replay sees every number)

static void test_golden(void **state) {
  (void)state;
  static const struct {
    const char *name, *id;
    int transitions;
  } files[] = { { "cartpole", "CartPole-v1", 2862 },
                { "acrobot", "Acrobot-v1", 2778 },
                { "mountain_car", "MountainCar-v0", 2193 },
                { "pendulum", "Pendulum-v1", 1760 } };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[512];
    mm_replay_report report;
    snprintf(path, sizeof path, "%s/golden/classic_%s.json", MM_TEST_DATA, files[i].name);
    assert_ok(mm_trace_replay(files[i].id, path, &report));
    if (report.has_mismatch)
      fail_msg("%s: trajectory %d, t %d, %s: expected %.9g, found %.9g", files[i].id,
               (int)report.first.trajectory, (int)report.first.t, report.first.field,
               report.first.expected, report.first.got);
    assert_int_equal(report.transitions, files[i].transitions);
    assert_int_equal(report.matched, files[i].transitions);
    assert_true(report.max_abs_error > 0 && report.max_abs_error < 1e-5);
  }
}

// ---------------------------------------------------------------------------------------------
// Known transitions, computed in double precision: one run from a start

typedef struct known {
  float action;
  double state[MM_CLASSIC_STATE_MAX], reward;
} known;

static void check_run(mm_classic_env which, mm_single s, const known *steps, size_t n) {
  for (size_t t = 0; t < n; t++) {
    float r;
    assert_int_equal(mm_classics[which].step(&s, steps[t].action, &r), 0);
    for (int i = 0; i < mm_classics[which].n_state; i++)
      check_near(mm_classics[which].name, s.f[i], steps[t].state[i], 2e-6, false);
    check_near(mm_classics[which].name, r, steps[t].reward, 2e-6, false);
    assert_int_equal(s.time, t + 1);
  }
}

#define CHECK_RUN(env, steps, ...)                                                                 \
  check_run(env, (mm_single){ { __VA_ARGS__ }, 0 }, steps, sizeof(steps) / sizeof *(steps))

static void test_cartpole_run(void **state) {
  (void)state;
  static const known steps[] = {
    { 1, { 0.009600000, 0.174679196, 0.030800000, -0.243068718 }, 1 },
    { 0, { 0.013093584, -0.020868849, 0.025938626, 0.059168000 }, 1 },
    { 1, { 0.012676207, 0.173871775, 0.027121986, -0.225219573 }, 1 },
    { 1, { 0.016153642, 0.368595812, 0.022617594, -0.509225318 }, 1 },
    { 0, { 0.023525559, 0.173162637, 0.012433088, -0.209501529 }, 1 },
  };
  CHECK_RUN(MM_CLASSIC_CARTPOLE, steps, 0.01f, -0.02f, 0.03f, 0.04f);
}

static void test_acrobot_run(void **state) {
  (void)state;
  static const known steps[] = {
    { 2, { 0.033939212, 0.010167790, -0.175831831, 0.401774980 }, -1 },
    { 0, { 0.010070348, 0.054373307, -0.056878699, 0.029454121 }, -1 },
    { 2, { -0.014272083, 0.089281133, -0.180313545, 0.309429715 }, -1 },
    { 1, { -0.045078865, 0.137346021, -0.120172563, 0.158520106 }, -1 },
    { 0, { -0.046744038, 0.114806781, 0.102951641, -0.379871283 }, -1 },
  };
  CHECK_RUN(MM_CLASSIC_ACROBOT, steps, 0.05f, -0.03f, 0.02f, -0.01f);
}

static void test_mountain_car_run(void **state) {
  (void)state;
  static const known steps[] = {
    { 2, { -0.499176843, 0.000823157 }, -1 }, { 2, { -0.497536687, 0.001640156 }, -1 },
    { 0, { -0.497091797, 0.000444890 }, -1 }, { 1, { -0.496845500, 0.000246297 }, -1 },
    { 2, { -0.495799637, 0.001045863 }, -1 },
  };
  static const known wall[] = { { 0, { -1.2, 0 }, -1 }, { 2, { -1.196758104, 0.003241896 }, -1 } };
  CHECK_RUN(MM_CLASSIC_MOUNTAIN_CAR, steps, -0.5f, 0);
  CHECK_RUN(MM_CLASSIC_MOUNTAIN_CAR, wall, -1.19f, -0.05f);
}

static void test_mountain_car_continuous_run(void **state) {
  (void)state;
  static const known steps[] = {
    { 0.5f, { -0.499426843, 0.000573157 }, -0.025 },
    { 1.5f, { -0.497534817, 0.001892026 }, -0.225 },
    { -0.3f, { -0.496288071, 0.001246746 }, -0.009 },
  };
  static const known wall[] = { { -1, { -1.2, -0.049225929 }, -0.1 },
                                { 1, { -1.2, -0.045484033 }, -0.1 } };
  CHECK_RUN(MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS, steps, -0.5f, 0);
  CHECK_RUN(MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS, wall, -1.19f, -0.05f);
}

static void test_pendulum_run(void **state) {
  (void)state;
  static const known steps[] = {
    { 1, { 2.066598654, 1.331973070 }, -4.026000000 },
    { -3, { 2.151181831, 1.691663542 }, -4.452245221 },
    { 0.2f, { 2.268624432, 2.348852034 }, -4.913795822 },
  };
  CHECK_RUN(MM_CLASSIC_PENDULUM, steps, 2.0f, 0.5f);
}

// ---------------------------------------------------------------------------------------------
// Walls and ends

static void test_walls(void **state) {
  (void)state;
  float r;
  mm_mountain_car_continuous a = { -1.19f, -0.05f, 0 }, b = a;
  mm_mountain_car_continuous_step(&a, -1, MM_MOUNTAIN_CAR_WALLS_GYMNAX, &r);
  mm_mountain_car_continuous_step(&b, -1, MM_MOUNTAIN_CAR_WALLS_GYMNASIUM, &r);
  assert_true(a.position == -1.2f && b.position == -1.2f && a.velocity < 0 && b.velocity == 0);
  // back over the goal, which only a state that was put there does
  a.position = b.position = 0.58f, a.velocity = b.velocity = -0.02f;
  int end_a = mm_mountain_car_continuous_step(&a, 0, MM_MOUNTAIN_CAR_WALLS_GYMNAX, &r);
  assert_true(end_a == MM_END_TERMINATED && a.velocity == 0 && r == 100);
  int end_b = mm_mountain_car_continuous_step(&b, 0, MM_MOUNTAIN_CAR_WALLS_GYMNASIUM, &r);
  assert_true(end_b == 0 && b.velocity < 0 && r == 0);
}

// A state one step before its end, the end it meets, and the reward there.
typedef struct last_step {
  mm_classic_env env;
  mm_single before;
  float action;
  int end;
  double reward;
} last_step;

static void test_ends(void **state) {
  (void)state;
  enum { BOTH = MM_END_TERMINATED | MM_END_TRUNCATED };
  static const last_step cases[] = {
    { MM_CLASSIC_CARTPOLE, { { 2.39f, 1, 0, 0 }, 0 }, 1, MM_END_TERMINATED, 1 },
    { MM_CLASSIC_CARTPOLE, { { 2.39f, 0.4f, 0, 0 }, 0 }, 1, 0, 1 },
    { MM_CLASSIC_CARTPOLE, { { 0, 0, -0.2f, -0.5f }, 0 }, 0, MM_END_TERMINATED, 1 },
    { MM_CLASSIC_CARTPOLE, { { 0, 0, -0.2f, -0.46f }, 0 }, 0, 0, 1 },
    { MM_CLASSIC_CARTPOLE, { { 0, 0, 0, 0 }, 498 }, 0, 0, 1 },
    { MM_CLASSIC_CARTPOLE, { { 0, 0, 0, 0 }, 499 }, 0, MM_END_TRUNCATED, 1 },
    { MM_CLASSIC_CARTPOLE, { { -2.39f, -1, 0, 0 }, 499 }, 0, BOTH, 1 },
    { MM_CLASSIC_ACROBOT, { { 3, 0, 0, 0 }, 0 }, 1, MM_END_TERMINATED, 0 },
    { MM_CLASSIC_ACROBOT, { { 3, 0, 0, 0 }, 499 }, 1, BOTH, 0 },
    { MM_CLASSIC_ACROBOT, { { 1.5f, 0, 0, 0 }, 499 }, 1, MM_END_TRUNCATED, -1 },
    { MM_CLASSIC_MOUNTAIN_CAR, { { 0.49f, 0.03f }, 0 }, 2, MM_END_TERMINATED, -1 },
    { MM_CLASSIC_MOUNTAIN_CAR, { { 0.59f, 0.07f }, 199 }, 2, BOTH, -1 },
    { MM_CLASSIC_MOUNTAIN_CAR, { { 0.55f, -0.01f }, 0 }, 2, 0, -1 },
    { MM_CLASSIC_MOUNTAIN_CAR, { { -0.5f, 0 }, 199 }, 2, MM_END_TRUNCATED, -1 },
    { MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS, { { 0.44f, 0.03f }, 0 }, 1, MM_END_TERMINATED, 99.9 },
    { MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS, { { -0.5f, 0 }, 998 }, 1, MM_END_TRUNCATED, -0.1 },
    { MM_CLASSIC_PENDULUM, { { 0, 0 }, 198 }, 0, 0, 0 },
    { MM_CLASSIC_PENDULUM, { { 0, 0 }, 199 }, 0, MM_END_TRUNCATED, 0 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_single s = cases[i].before;
    float r;
    int end = mm_classics[cases[i].env].step(&s, cases[i].action, &r);
    if (end != cases[i].end) fail_msg("case %zu: expected %d, found %d", i, cases[i].end, end);
    check_near("reward", r, cases[i].reward, 1e-6, false);
  }
}

static void test_wrap(void **state) {
  (void)state;
  for (int i = -100000; i <= 100000; i++) {
    float x = (float)i * 0.001f, y = mm_angle_wrap_f(x);
    assert_true(y >= -MM_PI_F && y < MM_PI_F);
    check_near("wrap", y, (double)x, 1e-6 * 7 / fmax(7, fabs((double)x)), true);
  }
  // around odd multiples of pi, where the turn changes
  for (int k = -31; k <= 31; k += 2) {
    float x = (float)(k * turn / 2);
    for (int j = 0; j < 8; j++, x = nextafterf(x, j < 4 ? INFINITY : -INFINITY)) {
      float y = mm_angle_wrap_f(x);
      assert_true(y >= -MM_PI_F && y < MM_PI_F && fabs(fabs((double)y) - turn / 2) < 1e-4);
    }
  }
  assert_true(isnan(mm_angle_wrap_f(NAN)));
}

// ---------------------------------------------------------------------------------------------
// Actions out of range: as the nearest, NaN as 0

static void test_discrete_actions(void **state) {
  (void)state;
  static const int32_t low[] = { -1, INT32_MIN }, high[] = { 3, 255, INT32_MAX };
  float r;
  for (int i = 0; i < 5; i++) {
    int32_t action = i < 2 ? low[i] : high[i - 2];
    mm_cartpole c = { 0.01f, 0.02f, 0.03f, 0.04f, 0 }, d = c;
    mm_cartpole_step(&c, action, &r);
    mm_cartpole_step(&d, i < 2 ? 0 : 1, &r);
    assert_memory_equal(&c, &d, sizeof c);
    mm_acrobot a = { 0.01f, 0.02f, 0.03f, 0.04f, 0 }, b = a;
    mm_acrobot_step(&a, action, &r);
    mm_acrobot_step(&b, i < 2 ? 0 : 2, &r);
    assert_memory_equal(&a, &b, sizeof a);
    mm_mountain_car m = { -0.5f, 0, 0 }, n = m;
    mm_mountain_car_step(&m, action, &r);
    mm_mountain_car_step(&n, i < 2 ? 0 : 2, &r);
    assert_memory_equal(&m, &n, sizeof m);
  }
}

static void test_real_actions(void **state) {
  (void)state;
  static const float given[] = { NAN, 1e30f, -1e30f, INFINITY, -INFINITY, 5, -5 };
  static const float meant[] = { 0, 2, -2, 2, -2, 2, -2 };
  for (int i = 0; i < 7; i++) {
    float r, expected;
    mm_pendulum p = { 1, 0.5f, 0 }, q = p;
    mm_pendulum_step(&p, given[i], &r);
    mm_pendulum_step(&q, meant[i], &expected);
    assert_memory_equal(&p, &q, sizeof p);
    assert_true(r == expected); // the torque that acts is the one that costs
    mm_mountain_car_continuous m = { -0.5f, 0, 0 }, n = m;
    mm_mountain_car_continuous_step(&m, given[i], MM_MOUNTAIN_CAR_WALLS_GYMNAX, &r);
    mm_mountain_car_continuous_step(&n, meant[i] / 2, MM_MOUNTAIN_CAR_WALLS_GYMNAX, &expected);
    assert_memory_equal(&m, &n, sizeof m);
    float a = isnan(given[i]) ? 0 : given[i];
    assert_true(r == -0.1f * (a * a)); // here the action costs as given
  }
}

// ---------------------------------------------------------------------------------------------
// Starts and the random policy

static void test_starts(void **state) {
  (void)state;
  enum { DRAWS = 1000000, BINS = 256, JOINT = 16 };
  static const struct {
    float low, high;
  } range[MM_CLASSIC_COUNT][MM_CLASSIC_STATE_MAX] = {
    [MM_CLASSIC_CARTPOLE] = { { -0.05f, 0.05f },
                              { -0.05f, 0.05f },
                              { -0.05f, 0.05f },
                              { -0.05f, 0.05f } },
    [MM_CLASSIC_ACROBOT] = { { -0.1f, 0.1f }, { -0.1f, 0.1f }, { -0.1f, 0.1f }, { -0.1f, 0.1f } },
    [MM_CLASSIC_MOUNTAIN_CAR] = { { -0.6f, -0.4f }, { 0, 0 } },
    [MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS] = { { -0.6f, -0.4f }, { 0, 0 } },
    [MM_CLASSIC_PENDULUM] = { { -MM_PI_F, MM_PI_F }, { -1, 1 } },
  };
  for (int e = 0; e < MM_CLASSIC_COUNT; e++) {
    mm_stream stream = mm_stream_make(5, 0, MM_RNG_ENV_RESET, (uint32_t)e);
    uint32_t count[MM_CLASSIC_STATE_MAX][BINS] = { 0 }, joint[JOINT * JOINT] = { 0 };
    for (uint64_t i = 0; i < DRAWS; i++) {
      mm_single s = mm_classics[e].start(stream, i);
      int bin[MM_CLASSIC_STATE_MAX] = { 0 };
      assert_int_equal(s.time, 0);
      for (int k = 0; k < mm_classics[e].n_state; k++) {
        float low = range[e][k].low, high = range[e][k].high;
        assert_true(s.f[k] >= low && s.f[k] <= high);
        if (low == high) continue;
        bin[k] = (int)(((double)s.f[k] - (double)low) / ((double)high - (double)low) * BINS);
        bin[k] = bin[k] < BINS ? bin[k] : BINS - 1;
        count[k][bin[k]]++;
      }
      joint[bin[0] * JOINT / BINS * JOINT + bin[1] * JOINT / BINS]++;
    }
    for (int k = 0; k < mm_classics[e].n_state; k++) {
      if (range[e][k].low == range[e][k].high) continue;
      double x = chi_square_uniform(count[k], BINS, DRAWS / (double)BINS);
      assert_plausible(chi_square_p(x, BINS - 1));
    }
    if (range[e][1].low == range[e][1].high) continue;
    double x = chi_square_uniform(joint, JOINT * JOINT, DRAWS / (double)(JOINT * JOINT));
    assert_plausible(chi_square_p(x, JOINT * JOINT - 1));
  }
}

// Mean and standard error of the return of n episodes of the uniform random policy.
static double random_return(const mm_classic *env, int n, double *error) {
  mm_stream resets = mm_stream_make(11, 0, MM_RNG_ENV_RESET, 0);
  mm_stream actions = mm_stream_make(11, 0, MM_RNG_ACTION, 0);
  double sum = 0, squares = 0;
  uint64_t t = 0;
  for (int i = 0; i < n; i++) {
    mm_single s = env->start(resets, (uint64_t)i);
    double total = 0;
    for (int end = 0; !end;) {
      float r;
      end = env->step(&s, mm_classic_action(env, actions, t++), &r);
      total += (double)r;
    }
    sum += total;
    squares += total * total;
  }
  *error = sqrt(fmax(0, squares / n - sum / n * (sum / n)) / (n - 1));
  return sum / n;
}

static void test_random_policy(void **state) {
  (void)state;
  static const struct {
    int episodes;
    double mean, error; // of the reference, from 4000 episodes
  } reference[MM_CLASSIC_COUNT] = {
    [MM_CLASSIC_CARTPOLE] = { 20000, 22.36, 0.19 },
    [MM_CLASSIC_ACROBOT] = { 2000, -498.93, 0.17 },
    [MM_CLASSIC_MOUNTAIN_CAR] = { 1000, -200, 0 },
    [MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS] = { 2000, -32.96, 0.09 },
    [MM_CLASSIC_PENDULUM] = { 4000, -1228, 5 },
  };
  for (int e = 0; e < MM_CLASSIC_COUNT; e++) {
    double error, mean = random_return(&mm_classics[e], reference[e].episodes, &error);
    double allowed = 4 * hypot(error, reference[e].error);
    print_message("  %s: %.3f +- %.3f\n", mm_classics[e].name, mean, error);
    if (!(fabs(mean - reference[e].mean) <= allowed))
      fail_msg("%s: expected %g, found %g +- %g", mm_classics[e].name, reference[e].mean, mean,
               error);
  }
}

int suite_classic(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),
    cmocka_unit_test(test_cartpole_run),
    cmocka_unit_test(test_acrobot_run),
    cmocka_unit_test(test_mountain_car_run),
    cmocka_unit_test(test_mountain_car_continuous_run),
    cmocka_unit_test(test_pendulum_run),
    cmocka_unit_test(test_walls),
    cmocka_unit_test(test_ends),
    cmocka_unit_test(test_wrap),
    cmocka_unit_test(test_discrete_actions),
    cmocka_unit_test(test_real_actions),
    cmocka_unit_test(test_starts),
    cmocka_unit_test(test_random_policy),
  };
  return cmocka_run_group_tests_name("classic", tests, NULL, NULL);
}
