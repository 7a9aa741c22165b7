// SPDX-License-Identifier: Apache-2.0
// Our own physics without the MuJoCo library: constants of the bodies, the same bits in every build
// and division of the work, states that go bad, and laws that hold by themselves.

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/isa.h"
#include "base/rng.h"
#include "physics/kernels.h"
#include "physics/physics.h"
#include "physics/sincos.h"
#include "test.h"

// What our own engine has.
typedef struct subject {
  mm_body body;
  mm_flavour flavour;
} subject;

static const subject subjects[] = {
#define FLAVOURS(NAME, name, id, kernels)                                                          \
  { MM_BODY_##NAME, MM_FLAVOUR_BRAX }, { MM_BODY_##NAME, MM_FLAVOUR_GYMNASIUM },
  MM_BODY_LIST(FLAVOURS)
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

#define assert_close(a, b, most) assert_true(fabs((a) - (b)) <= (most))

static const char *const isa_names[] = { "portable", "avx2", "avx512" };

static float draw(uint64_t seed, uint64_t index) {
  mm_stream stream = mm_stream_make(seed, 0, MM_RNG_BENCH, 0);
  return 2 * mm_uniform_f(mm_stream_block(stream, index).word[0]) - 1;
}

// ---------------------------------------------------------------------------------------------
// Constants: the six digits of the sheet from which the bodies were written

static void near6(const char *what, double got, double expected) {
  if (!(fabs(got - expected) <= 5e-6 * fabs(expected) + 1e-12))
    fail_msg("%s: expected %.6g, found %.9g", what, expected, got);
}

typedef struct part_row {
  double mass, turning, x, z, weight, joint;
} part_row;

static void check_rows(mm_body body, const part_row *row, int n) {
  mm_body_table t;
  mm_body_derive(body, MM_FLAVOUR_BRAX, &t);
  assert_int_equal(t.n_part, n);
  for (int i = 0; i < n; i++) {
    near6(t.part[i].name, t.part[i].mass, row[i].mass);
    near6(t.part[i].name, t.part[i].inertia[1], row[i].turning);
    near6(t.part[i].name, t.part[i].centre[0], row[i].x);
    near6(t.part[i].name, t.part[i].centre[2], row[i].z);
    near6(t.part[i].name, t.part[i].inverse_weight, row[i].weight);
    near6(t.dof[i + 2].name, t.dof[i + 2].inverse_weight, row[i].joint);
  }
}

static void test_hopper_constants(void **state) {
  (void)state;
  static const part_row rows[] = {
    { 3.66519, 0.0692459, 0, 0, 0.0849224, 1.05851 },
    { 4.05789, 0.0932988, 0, -0.225, 0.0519233, 0.917357 },
    { 2.78136, 0.0723025, 0, -0.25, 0.0495951, 0.842309 },
    { 5.31557, 0.103523, 0.065, 0, 0.0669027, 0.900038 },
  };
  check_rows(MM_BODY_HOPPER, rows, 4);
  mm_body_table t;
  mm_body_derive(MM_BODY_HOPPER, MM_FLAVOUR_BRAX, &t);
  near6("x", t.dof[0].inverse_weight, 0.190928);
  near6("z", t.dof[1].inverse_weight, 0.0638393);
  assert_int_equal(t.n_touch, 2);
  near6("toe", t.touch[0].centre[0], 0.26);
  near6("heel", t.touch[1].centre[0], -0.13);
  near6("friction", t.touch[0].friction, 2);
}

static void test_half_cheetah_constants(void **state) {
  (void)state;
  static const part_row rows[] = {
    { 6.25021, 0.897118, 0.152390, 0.0253983, 0.0641575, 0.416347 },
    { 1.54351, 0.0168443, 0.1, -0.13, 0.0969110, 2.72979 },
    { 1.58745, 0.0182674, -0.14, -0.07, 0.127209, 5.89325 },
    { 1.09540, 0.00635242, 0.03, -0.097, 0.243749, 8.89488 },
    { 1.43808, 0.0137396, -0.07, -0.12, 0.0814838, 3.08139 },
    { 1.20084, 0.00822211, 0.065, -0.09, 0.131997, 6.88280 },
    { 0.884519, 0.00352911, 0.045, -0.07, 0.266144, 9.46813 },
  };
  check_rows(MM_BODY_HALF_CHEETAH, rows, 7);
  mm_body_table t;
  mm_body_derive(MM_BODY_HALF_CHEETAH, MM_FLAVOUR_GYMNASIUM, &t);
  near6("x", t.dof[0].inverse_weight, 0.106736);
  near6("z", t.dof[1].inverse_weight, 0.0845923);
  assert_int_equal(t.n_touch, 16);
}

static void test_ant_constants(void **state) {
  (void)state;
  mm_body_table t;
  mm_body_derive(MM_BODY_ANT, MM_FLAVOUR_GYMNASIUM, &t);
  double total = 0;
  for (int i = 0; i < t.n_part; i++)
    total += t.part[i].mass;
  near6("total", total, 0.910879);
  near6("torso", t.part[0].mass, 0.327249 + 4 * 0.0391578);
  near6("torso", t.part[0].inverse_weight, 1.10144);
  near6("fixed capsule", t.touch[1].inverse_weight, 1.18047);
  near6("x", t.dof[0].inverse_weight, 1.10144);
  near6("turning", t.dof[4].inverse_weight, 6.53604);
  for (int k = 0; k < 4; k++) {
    const mm_part *upper = &t.part[1 + 2 * k], *lower = &t.part[2 + 2 * k];
    near6(upper->name, upper->mass, 0.0391578);
    near6(upper->name, upper->inertia[2], 0.000567966);
    near6(upper->name, upper->inverse_weight, 1.80878);
    near6(lower->name, lower->mass, 0.0675922);
    near6(lower->name, lower->inertia[2], 0.00267479);
    near6(lower->name, lower->inverse_weight, 3.98441);
    near6("hip", t.dof[6 + 2 * k].inverse_weight, 0.982636);
    near6("ankle", t.dof[7 + 2 * k].inverse_weight, 0.995102);
  }
  mm_body_derive(MM_BODY_ANT, MM_FLAVOUR_BRAX, &t);
  assert_int_equal(t.n_touch, 4);
}

// Ant's start: feet 0.4 further out than the ankles, bent down by 1 rad.
static void test_places(void **state) {
  (void)state;
  double ends[MM_BODY_MOST_CAPSULES][2][3];
  mm_body_table t;
  mm_body_derive(MM_BODY_ANT, MM_FLAVOUR_BRAX, &t);
  mm_body_place(&t, mm_body_describe(MM_BODY_ANT)->start[MM_FLAVOUR_BRAX], ends);
  double out = 0.4 + 0.4 * cos(1.0), down = 0.55 - sqrt(0.32) * sin(1.0);
  for (int k = 0; k < 4; k++) {
    const double *foot = ends[3 + 3 * k][1];
    assert_close(fabs(foot[0]), out, 1e-12);
    assert_close(fabs(foot[1]), out, 1e-12);
    assert_close(foot[2], down, 1e-12);
  }
  double q[MM_BODY_MOST_Q] = { 3, 0.1, 0, -0.5 };
  mm_body_derive(MM_BODY_HOPPER, MM_FLAVOUR_BRAX, &t);
  mm_body_place(&t, q, ends);
  assert_close(ends[0][0][2], 1.25 + 0.1 + 0.2, 1e-12);
  // the thigh turns about -y: its lower end swings forward by a negative angle
  assert_close(ends[1][1][0], 3 + 0.45 * sin(-0.5), 1e-12);
  assert_close(ends[1][1][2], 1.15 - 0.45 * cos(0.5), 1e-12);
}

// The double build's sine and cosine, for arguments up to 10^5.
static void test_sincos(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 200000; i++) {
    double x = (double)draw(3, i) * (i % 2 ? 4 : 1e5), s, c;
    mm_sincos_d(x, &s, &c);
    assert_close((double)(sinl((long double)x) - (long double)s), 0, 2.3e-16);
    assert_close((double)(cosl((long double)x) - (long double)c), 0, 2.3e-16);
  }
  double s, c;
  mm_sincos_d(NAN, &s, &c);
  assert_true(isnan(s) && isnan(c));
}

// ---------------------------------------------------------------------------------------------
// Environments with random states and actions

enum { N = 41 }; // two groups and a rest

static mm_physics *make(subject s, size_t n) {
  mm_physics *p;
  assert_ok(
      mm_physics_create(&(mm_physics_config){ .body = s.body, .flavour = s.flavour, .n = n }, &p));
  return p;
}

// Around the start, some of them high up and some deep in the floor.
static void scatter(mm_physics *p, uint64_t seed) {
  size_t n = p->config.n, nq = (size_t)p->info->nq, nv = (size_t)p->info->nv;
  const double *start = p->info->start[p->config.flavour];
  for (size_t i = 0; i < n; i++) {
    float q[MM_BODY_MOST_Q], v[MM_BODY_MOST_V];
    for (size_t k = 0; k < nq; k++)
      q[k] = (float)start[k] + 0.2f * draw(seed, i * 64 + k);
    for (size_t k = 0; k < nv; k++)
      v[k] = draw(seed, i * 64 + 32 + k);
    q[p->info->z_index] += 0.3f * draw(seed, i * 64 + 63);
    mm_physics_set(p, i, q, v, NULL);
  }
}

static void act(const mm_physics *p, uint64_t t, float *action) {
  for (size_t i = 0; i < p->config.n * (size_t)p->info->nu; i++)
    action[i] = 1.2f * draw(77, t * 4096 + i);
}

static void same_lane(const char *what, const mm_physics *a, size_t i, const mm_physics *b,
                      size_t j) {
  float one[3][MM_BODY_MOST_Q] = { { 0 } }, two[3][MM_BODY_MOST_Q] = { { 0 } };
  mm_physics_get(a, i, one[0], one[1], one[2]);
  mm_physics_get(b, j, two[0], two[1], two[2]);
  for (int c = 0; c < 3; c++)
    for (int k = 0; k < MM_BODY_MOST_Q; k++)
      if (memcmp(&one[c][k], &two[c][k], sizeof(float)) != 0)
        fail_msg("%s: %s: %s[%d] of environment %zu: %a against %a", what, a->info->name,
                 c == 0   ? "q"
                 : c == 1 ? "v"
                          : "warm",
                 k, i, (double)one[c][k], (double)two[c][k]);
  assert_int_equal(a->bad[i], b->bad[j]);
}

static void same(const char *what, const mm_physics *a, const mm_physics *b) {
  for (size_t i = 0; i < a->config.n; i++)
    same_lane(what, a, i, b, i);
}

static void run(mm_physics *p, int steps) {
  float action[N * MM_BODY_MOST_U];
  for (int t = 0; t < steps; t++) {
    act(p, (uint64_t)t, action);
    mm_physics_step(p, 0, p->config.n, action);
  }
}

static void test_bits_of_builds(void **state) {
  (void)state;
  for (int s = 0; s < SUBJECTS; s++) {
    mm_physics *first = NULL;
    for (size_t i = 0; i < sizeof isa_names / sizeof *isa_names; i++) {
      mm_status status = mm_isa_select(isa_names[i]);
      if (status == MM_ERR_UNSUPPORTED) {
        print_message("%s: not on this processor\n", isa_names[i]);
        continue;
      }
      assert_ok(status);
      mm_physics *p = make(subjects[s], N);
      scatter(p, (uint64_t)s);
      run(p, 60);
      if (first) same(isa_names[i], first, p);
      if (first)
        mm_physics_destroy(p);
      else
        first = p;
    }
    mm_physics_destroy(first);
  }
  assert_ok(mm_isa_select("auto"));
}

// In parts and alone: environments do not know each other.
static void test_bits_of_parts(void **state) {
  (void)state;
  static const size_t cut[] = { 0, 3, 16, 17, 33, 38, N };
  float action[N * MM_BODY_MOST_U];
  for (int s = 0; s < SUBJECTS; s++) {
    mm_physics *whole = make(subjects[s], N), *parts = make(subjects[s], N);
    mm_physics *alone = make(subjects[s], 1);
    const size_t nu = (size_t)whole->info->nu;
    scatter(whole, 5);
    scatter(parts, 5);
    for (uint64_t t = 0; t < 25; t++) {
      float q[MM_BODY_MOST_Q], v[MM_BODY_MOST_V], warm[MM_BODY_MOST_V];
      const size_t i = (size_t)t * 7 % N;
      act(whole, t, action);
      mm_physics_get(whole, i, q, v, warm);
      mm_physics_set(alone, 0, q, v, warm);
      mm_physics_step(alone, 0, 1, action + i * nu);
      mm_physics_step(whole, 0, N, action);
      for (size_t c = 0; c + 1 < sizeof cut / sizeof *cut; c++)
        mm_physics_step(parts, cut[c], cut[c + 1], action);
      same_lane("alone", whole, i, alone, 0);
    }
    same("parts", whole, parts);
    mm_physics_destroy(whole);
    mm_physics_destroy(parts);
    mm_physics_destroy(alone);
  }
}

// More iterations than are needed change nothing; too few do, so the test means something.
static void test_iterations(void **state) {
  (void)state;
  for (int s = 0; s < SUBJECTS; s++) {
    mm_physics *some, *many, *one;
    mm_physics_config config = { .body = subjects[s].body, .flavour = subjects[s].flavour, .n = N };
    config.iterations = 50;
    assert_ok(mm_physics_create(&config, &some));
    config.iterations = 100;
    assert_ok(mm_physics_create(&config, &many));
    config.iterations = 1;
    assert_ok(mm_physics_create(&config, &one));
    scatter(some, 9);
    scatter(many, 9);
    scatter(one, 9);
    run(some, 20);
    run(many, 20);
    run(one, 20);
    same("iterations", some, many);
    assert_true(memcmp(some->v, one->v, some->stride * sizeof(float)) != 0);
    mm_physics_destroy(some);
    mm_physics_destroy(many);
    mm_physics_destroy(one);
  }
}

// ---------------------------------------------------------------------------------------------
// States that go bad

// Environment i is spoilt in one way, its neighbours in the vector go on as without it.
typedef void spoil(mm_physics *p, size_t i, float *action);

static void spoil_velocity(mm_physics *p, size_t i, float *action) {
  (void)action;
  for (size_t k = 0; k < (size_t)p->info->nv; k++)
    p->v[k * p->stride + i] = 1e12f;
}

static void spoil_position(mm_physics *p, size_t i, float *action) {
  (void)action;
  p->q[(size_t)p->info->nq * p->stride - p->stride + i] = NAN;
}

static void spoil_infinite(mm_physics *p, size_t i, float *action) {
  (void)action;
  p->q[2 * p->stride + i] = -INFINITY;
  p->v[2 * p->stride + i] = INFINITY;
}

// of the Ant's quaternion, which has a direction all the same
static void spoil_large(mm_physics *p, size_t i, float *action) {
  (void)action;
  p->q[4 * p->stride + i] = -1e11f;
}

static void spoil_floor(mm_physics *p, size_t i, float *action) {
  (void)action;
  p->q[(size_t)p->info->z_index * p->stride + i] = -1e6f;
  p->v[(size_t)p->info->z_index * p->stride + i] = -1e9f;
}

static void spoil_action(mm_physics *p, size_t i, float *action) {
  action[i * (size_t)p->info->nu] = NAN;
}

static const struct {
  const char *name;
  spoil *spoil;
  int bad; // at once
} spoils[] = {
  { "velocity", spoil_velocity, MM_BAD_STATE },
  { "position", spoil_position, MM_BAD_STATE },
  { "infinite", spoil_infinite, MM_BAD_STATE },
  { "large", spoil_large, MM_BAD_STATE },
  { "floor", spoil_floor, -1 },
  { "action", spoil_action, MM_BAD_ACTION },
};

static void check_spoilt(subject s, size_t which) {
  const size_t spoilt = 20;
  float action[N * MM_BODY_MOST_U];
  mm_physics *good = make(s, N), *bad = make(s, N);
  scatter(good, 2);
  scatter(bad, 2);
  for (uint64_t t = 0; t < 10; t++) {
    act(good, t, action);
    mm_physics_step(good, 0, N, action);
    float before[3][MM_BODY_MOST_Q], after[3][MM_BODY_MOST_Q];
    if (t == 3 || spoils[which].bad == MM_BAD_ACTION) spoils[which].spoil(bad, spoilt, action);
    mm_physics_get(bad, spoilt, before[0], before[1], before[2]);
    mm_physics_step(bad, 0, N, action);
    mm_physics_get(bad, spoilt, after[0], after[1], after[2]);
    if (t == 3 && spoils[which].bad > 0) assert_int_equal(bad->bad[spoilt], spoils[which].bad);
    // a bad state is left as it was, bits and all
    if (bad->bad[spoilt] & MM_BAD_STATE)
      assert_memory_equal(before[1], after[1], (size_t)bad->info->nv * sizeof(float));
    for (size_t i = 0; i < N; i++)
      if (i != spoilt) same_lane(spoils[which].name, good, i, bad, i);
  }
  if (spoils[which].bad == MM_BAD_ACTION) // it went on with its motors off
    for (size_t k = 0; k < (size_t)bad->info->nq; k++)
      assert_true(isfinite(bad->q[k * bad->stride + spoilt]));
  mm_physics_destroy(good);
  mm_physics_destroy(bad);
}

static void test_bad_states(void **state) {
  (void)state;
  for (int s = 0; s < SUBJECTS; s++)
    for (size_t k = 0; k < sizeof spoils / sizeof *spoils; k++)
      check_spoilt(subjects[s], k);
}

// Motors off and an action of zero are the same.
static void test_bad_action_is_zero(void **state) {
  (void)state;
  for (int s = 0; s < SUBJECTS; s++) {
    mm_physics *off = make(subjects[s], 1), *zero = make(subjects[s], 1);
    float action[MM_BODY_MOST_U] = { 1, -1, 1e11f }, none[MM_BODY_MOST_U] = { 0 };
    mm_physics_step(off, 0, 1, action);
    mm_physics_step(zero, 0, 1, none);
    assert_int_equal(off->bad[0], MM_BAD_ACTION);
    off->bad[0] = 0;
    same("motors off", off, zero);
    mm_physics_destroy(off);
    mm_physics_destroy(zero);
  }
}

static void test_refusals(void **state) {
  (void)state;
  mm_physics *p;
  mm_physics_config config = { .iterations = -1 };
  assert_fails(mm_physics_create(&config, &p), MM_ERR_INPUT, "iterations");
  config = (mm_physics_config){ .n = SIZE_MAX };
  assert_fails(mm_physics_create(&config, &p), MM_ERR_INPUT, "environments");
  config = (mm_physics_config){ .body = MM_BODY_COUNT };
  assert_fails(mm_physics_create(&config, &p), MM_ERR_INPUT, "body");
  config = (mm_physics_config){ .n = 0 };
  assert_ok(mm_physics_create(&config, &p));
  mm_physics_step(p, 0, 0, NULL);
  mm_physics_destroy(p);
  mm_physics_destroy(NULL);
}

// ---------------------------------------------------------------------------------------------
// At rest on its feet: 60 s bring every body to it, then 10 s more. HalfCheetah and Ant stand by
// themselves; the joints of Hopper and Walker2d are held where they stand.

typedef struct grip {
  float pose[3], damping; // of thigh, leg and foot
} grip;

static void hold(const mm_physics *p, float *action) {
  static const grip grips[MM_BODY_COUNT] = {
    [MM_BODY_HOPPER] = { { -0.05f, -0.05f, 0.1f }, 0.3f },
    [MM_BODY_WALKER2D] = { { -0.02f, -0.02f, 0.14f }, 0.03f },
  };
  const grip *g = &grips[p->config.body];
  for (size_t k = 0; k < (size_t)p->info->nu && g->damping > 0; k++)
    action[k] =
        5 * (g->pose[k % 3] - p->q[(k + 3) * p->stride]) - g->damping * p->v[(k + 3) * p->stride];
}

static void stand(mm_physics *p, double seconds) {
  float action[MM_BODY_MOST_U] = { 0 };
  int steps = (int)(seconds / (p->info->h * p->info->substeps));
  for (int t = 0; t < steps; t++) {
    hold(p, action);
    mm_physics_step(p, 0, 1, action);
  }
}

// The force of the floor is what the mass matrix says of the torso's height, M a + bias; `motion`
// becomes the kinetic energy.
static double floor_force(const mm_physics *p, const mm_body_table *table, double *motion) {
  const mm_reference *r = mm_physics_reference(p->config.body, p->config.flavour);
  double model[MM_PHYSICS_MODEL_MOST / sizeof(double)], q[MM_BODY_MOST_Q], v[MM_BODY_MOST_V];
  double mass[MM_BODY_MOST_V * MM_BODY_MOST_V], bias[MM_BODY_MOST_V];
  float state[3][MM_BODY_MOST_Q];
  int nv = p->info->nv, z = p->info->z_index;
  assert_true(r->model_size <= sizeof model);
  mm_physics_get(p, 0, state[0], state[1], state[2]);
  for (int k = 0; k < p->info->nq; k++)
    q[k] = (double)state[0][k];
  for (int k = 0; k < nv; k++)
    v[k] = (double)state[1][k];
  r->prepare(table, p->info->h, model);
  r->matrices(model, q, v, mass, bias);
  double force = bias[z];
  *motion = 0;
  for (int i = 0; i < nv; i++) {
    force += mass[z * nv + i] * (double)state[2][i];
    for (int j = 0; j < nv; j++)
      *motion += 0.5 * v[i] * mass[i * nv + j] * v[j];
  }
  return force;
}

static void test_rest(void **state) {
  (void)state;
  for (int s = 0; s < SUBJECTS; s++) {
    mm_physics *p = make(subjects[s], 1);
    mm_body_table table;
    mm_body_derive(subjects[s].body, subjects[s].flavour, &table);
    double weight = 0, motion, later;
    for (int i = 0; i < table.n_part; i++)
      weight += 9.81 * table.part[i].mass;
    stand(p, 60);
    double force = floor_force(p, &table, &motion);
    float before[3][MM_BODY_MOST_Q], after[3][MM_BODY_MOST_Q];
    mm_physics_get(p, 0, before[0], before[1], before[2]);
    stand(p, 10);
    mm_physics_get(p, 0, after[0], after[1], after[2]);
    double later_force = floor_force(p, &table, &later), creep = 0;
    for (int k = 0; k <= p->info->z_index; k++) // metres
      creep = fmax(creep, fabs((double)after[0][k] - (double)before[0][k]));
    print_message("%s: floor %.6g of a weight of %.6g, creep %.2g, motion %.2g then %.2g J\n",
                  p->info->name, force, weight, creep, motion, later);
    assert_close(force, weight, 0.01 * weight);
    assert_close(later_force, weight, 0.01 * weight);
    assert_true(creep <= 1e-4);
    assert_true(later <= 1e-8);
    mm_physics_destroy(p);
  }
}

int suite_physics(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_hopper_constants), cmocka_unit_test(test_half_cheetah_constants),
    cmocka_unit_test(test_ant_constants),    cmocka_unit_test(test_places),
    cmocka_unit_test(test_sincos),           cmocka_unit_test(test_bits_of_builds),
    cmocka_unit_test(test_bits_of_parts),    cmocka_unit_test(test_iterations),
    cmocka_unit_test(test_bad_states),       cmocka_unit_test(test_bad_action_is_zero),
    cmocka_unit_test(test_refusals),         cmocka_unit_test(test_rest),
  };
  return cmocka_run_group_tests_name("physics", tests, NULL, NULL);
}
