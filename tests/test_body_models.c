// SPDX-License-Identifier: Apache-2.0
// The model files as the MuJoCo library understands them, against the numbers that the bodies are
// specified by: sizes, joints, motors, contacts, and what follows from them, to the digits given.

#define _POSIX_C_SOURCE 200809L

#include <math.h>

#include "body_rig.h"

#ifdef HAVE_MUJOCO

#include <mujoco/mujoco.h>
#include <sys/stat.h>

#include "base/data_folder.h"

static void near(const char *what, const char *whose, double found, double expected) {
  // six digits were given
  if (!(fabs(found - expected) <= 1e-5 * fabs(expected) + 1e-12))
    fail_msg("%s of %s: found %.9g, expected %.9g", what, whose, found, expected);
}

static mjModel *load(const char *name) {
  char path[MM_DATA_PATH_SIZE], error[300];
  assert_true(mm_data_find("models", name, ".xml", path));
  mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
  if (!m) fail_msg("%s: %s", path, error);
  return m;
}

static int find(const mjModel *m, int type, const char *name) {
  int id = mj_name2id(m, type, name);
  if (id < 0) fail_msg("no '%s' in the model", name);
  return id;
}

// ---------------------------------------------------------------------------------------------
// What all models have in common

static void check_options(const mjModel *m, double h, int integrator, int iterations) {
  near("time step", "options", m->opt.timestep, h);
  assert_int_equal(m->opt.integrator, integrator);
  assert_int_equal(m->opt.solver, mjSOL_NEWTON);
  assert_int_equal(m->opt.cone, mjCONE_PYRAMIDAL);
  assert_int_equal(m->opt.iterations, iterations);
  near("tolerance", "options", m->opt.tolerance, 1e-8);
  near("impratio", "options", m->opt.impratio, 1);
  near("gravity", "options", m->opt.gravity[2], -9.81);
  assert_true(m->opt.gravity[0] == 0 && m->opt.gravity[1] == 0 && m->opt.density == 0);
}

typedef struct body_row {
  const char *name;
  double mass, inertia; // about y through the centre; 0: not of interest
  double weight;        // inverse, of translation
} body_row;

// The moment of inertia about y from the principal ones and their frame.
static double inertia_y(const mjModel *m, int b) {
  mjtNum frame[9], sum = 0;
  mju_quat2Mat(frame, m->body_iquat + 4 * b);
  for (int k = 0; k < 3; k++) // row y of the rotation
    sum += m->body_inertia[3 * b + k] * frame[3 + k] * frame[3 + k];
  return sum;
}

static void check_bodies(const mjModel *m, const body_row *row, int n, double total) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    int b = find(m, mjOBJ_BODY, row[i].name);
    near("mass", row[i].name, m->body_mass[b], row[i].mass);
    near("inverse weight", row[i].name, m->body_invweight0[2 * b], row[i].weight);
    if (row[i].inertia > 0) near("inertia", row[i].name, inertia_y(m, b), row[i].inertia);
  }
  for (int b = 0; b < m->nbody; b++)
    sum += m->body_mass[b];
  near("total", "masses", sum, total);
}

typedef struct joint_row {
  const char *name;
  double low, high; // equal: no limit
  double stiffness, damping, armature, gear, weight;
  int motor; // -1: none
} joint_row;

static void check_joints(const mjModel *m, const joint_row *row, int n) {
  for (int i = 0; i < n; i++) {
    const joint_row *r = &row[i];
    int j = find(m, mjOBJ_JOINT, r->name), dof = m->jnt_dofadr[j];
    assert_int_equal(m->jnt_limited[j], r->low < r->high);
    if (r->low < r->high) {
      near("lower limit", r->name, m->jnt_range[2 * j], r->low);
      near("upper limit", r->name, m->jnt_range[2 * j + 1], r->high);
      assert_true(m->jnt_margin[j] == 0);
    }
    near("stiffness", r->name, m->jnt_stiffness[j], r->stiffness);
    near("damping", r->name, m->dof_damping[dof], r->damping);
    near("armature", r->name, m->dof_armature[dof], r->armature);
    near("inverse weight", r->name, m->dof_invweight0[dof], r->weight);
    if (r->motor < 0) continue;
    assert_int_equal(m->actuator_trnid[2 * r->motor], j);
    near("gear", r->name, m->actuator_gear[6 * r->motor], r->gear);
    assert_true(m->actuator_ctrllimited[r->motor]);
    assert_true(m->actuator_ctrlrange[2 * r->motor] == -1 &&
                m->actuator_ctrlrange[2 * r->motor + 1] == 1);
  }
}

static bool tested(const mjModel *m, int a, int b) {
  return (m->geom_contype[a] & m->geom_conaffinity[b]) ||
         (m->geom_contype[b] & m->geom_conaffinity[a]);
}

// Which geoms the floor is tested with: all, or those that are named.
static void check_touching(const mjModel *m, const char *const *touching) {
  int floor = find(m, mjOBJ_GEOM, "floor");
  for (int g = 0; g < m->ngeom; g++) {
    bool expected = touching == NULL;
    const char *name = mj_id2name(m, mjOBJ_GEOM, g);
    for (int k = 0; touching && touching[k]; k++)
      expected |= strcmp(touching[k], name) == 0;
    if (g != floor && tested(m, floor, g) != expected) fail_msg("%s and the floor", name);
  }
}

static void check_contact(const mjModel *m, const double solimp[3], double margin) {
  for (int g = 0; g < m->ngeom; g++) {
    for (int k = 0; k < 3; k++)
      near("impedance", "a geom", m->geom_solimp[mjNIMP * g + k], solimp[k]);
    near("midpoint", "a geom", m->geom_solimp[mjNIMP * g + 3], 0.5);
    near("power", "a geom", m->geom_solimp[mjNIMP * g + 4], 2);
    near("time constant", "a geom", m->geom_solref[mjNREF * g], 0.02);
    near("damping ratio", "a geom", m->geom_solref[mjNREF * g + 1], 1);
    near("margin", "a geom", m->geom_margin[g], margin);
    assert_true(m->geom_gap[g] == 0);
  }
}

static void check_limits(const mjModel *m, const double solimp[3]) {
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j]) continue;
    for (int k = 0; k < 3; k++)
      near("impedance", "a limit", m->jnt_solimp[mjNIMP * j + k], solimp[k]);
    near("time constant", "a limit", m->jnt_solref[mjNREF * j], 0.02);
    near("damping ratio", "a limit", m->jnt_solref[mjNREF * j + 1], 1);
  }
}

static const double usual[3] = { 0.9, 0.95, 0.001 };

// ---------------------------------------------------------------------------------------------

#define DEGREE (3.14159265358979323846 / 180)

static void test_hopper(void **state) {
  (void)state;
  static const body_row bodies[] = { { "torso", 3.66519, 0.0692459, 0.0849224 },
                                     { "thigh", 4.05789, 0.0932988, 0.0519233 },
                                     { "leg", 2.78136, 0.0723025, 0.0495951 },
                                     { "foot", 5.31557, 0.103523, 0.0669027 } };
  static const joint_row joints[] = {
    { "rootx", 0, 0, 0, 0, 0, 0, 0.190928, -1 },
    { "rootz", 0, 0, 0, 0, 0, 0, 0.0638393, -1 },
    { "rooty", 0, 0, 0, 0, 0, 0, 1.05851, -1 },
    { "thigh", -150 * DEGREE, 0, 0, 1, 1, 200, 0.917357, 0 },
    { "leg", -150 * DEGREE, 0, 0, 1, 1, 200, 0.842309, 1 },
    { "foot", -45 * DEGREE, 45 * DEGREE, 0, 1, 1, 200, 0.900038, 2 },
  };
  static const char *const touching[] = { "foot", NULL };
  for (int flavour = 0; flavour < 2; flavour++) {
    mjModel *m = load(flavour ? "hopper_gymnasium" : "hopper_brax");
    int floor = find(m, mjOBJ_GEOM, "floor"), foot = find(m, mjOBJ_GEOM, "foot");
    check_options(m, 0.002, flavour ? mjINT_RK4 : mjINT_EULER, flavour ? 100 : 4);
    check_bodies(m, bodies, 4, 15.8200);
    check_joints(m, joints, 6);
    check_touching(m, flavour ? NULL : touching);
    check_contact(m, (const double[3]){ 0.8, 0.8, 0.01 }, 0.001);
    check_limits(m, usual);
    near("height", "rootz", m->qpos0[1], flavour ? 1.25 : 0);
    for (int g = 0; g < m->ngeom; g++) {
      assert_int_equal(m->geom_condim[g], g == floor ? 3 : 1);
      near("friction", "a geom", m->geom_friction[3 * g], g == floor ? 1 : g == foot ? 2 : 0.9);
    }
    // bodies with each other in Gymnasium's alone
    assert_int_equal(tested(m, foot, find(m, mjOBJ_GEOM, "torso")), flavour);
    mj_deleteModel(m);
  }
}

static void test_half_cheetah(void **state) {
  (void)state;
  static const body_row bodies[] = {
    { "torso", 6.25021, 0.897118, 0.0641575 },   { "bthigh", 1.54351, 0.0168443, 0.0969110 },
    { "bshin", 1.58745, 0.0182674, 0.127209 },   { "bfoot", 1.09540, 0.00635242, 0.243749 },
    { "fthigh", 1.43808, 0.0137396, 0.0814838 }, { "fshin", 1.20084, 0.00822211, 0.131997 },
    { "ffoot", 0.884519, 0.00352911, 0.266144 },
  };
  static const joint_row joints[] = {
    { "rootx", 0, 0, 0, 0, 0, 0, 0.106736, -1 },
    { "rootz", 0, 0, 0, 0, 0, 0, 0.0845923, -1 },
    { "rooty", 0, 0, 0, 0, 0, 0, 0.416347, -1 },
    { "bthigh", -0.52, 1.05, 240, 6, 0.1, 120, 2.72979, 0 },
    { "bshin", -0.785, 0.785, 180, 4.5, 0.1, 90, 5.89325, 1 },
    { "bfoot", -0.4, 0.785, 120, 3, 0.1, 60, 8.89488, 2 },
    { "fthigh", -1, 0.7, 180, 4.5, 0.1, 120, 3.08139, 3 },
    { "fshin", -1.2, 0.87, 120, 3, 0.1, 60, 6.88280, 4 },
    { "ffoot", -0.5, 0.5, 60, 1.5, 0.1, 30, 9.46813, 5 },
  };
  static const char *const touching[] = { "head", "bthigh", "bfoot", "fthigh", "ffoot", NULL };
  for (int flavour = 0; flavour < 2; flavour++) {
    mjModel *m = load(flavour ? "half_cheetah_gymnasium" : "half_cheetah_brax");
    check_options(m, 0.01, mjINT_EULER, flavour ? 100 : 4);
    check_bodies(m, bodies, 7, 14);
    check_joints(m, joints, 9);
    check_touching(m, flavour ? NULL : touching);
    check_contact(m, (const double[3]){ 0, 0.8, 0.01 }, 0);
    check_limits(m, (const double[3]){ 0, 0.8, 0.03 });
    int torso = find(m, mjOBJ_BODY, "torso");
    near("centre x", "torso", m->body_ipos[3 * torso], 0.152390);
    near("centre z", "torso", m->body_ipos[3 * torso + 2], 0.0253983);
    near("height", "torso", m->body_pos[3 * torso + 2], 0.7);
    for (int g = 0; g < m->ngeom; g++) {
      assert_int_equal(m->geom_condim[g], 3);
      near("friction", "a geom", m->geom_friction[3 * g], 0.4);
    }
    assert_false(tested(m, find(m, mjOBJ_GEOM, "ffoot"), find(m, mjOBJ_GEOM, "bfoot")));
    mj_deleteModel(m);
  }
}

// The numbers are those that MuJoCo makes of Gymnasium's own file.
static void test_walker2d(void **state) {
  (void)state;
  static const body_row bodies[] = {
    { "torso", 3.66519, 0.0692459, 0.0853165 },      { "thigh", 4.05789, 0.0932988, 0.0605164 },
    { "leg", 2.78136, 0.0723025, 0.0629972 },        { "foot", 3.16673, 0.0239977, 0.134746 },
    { "thigh_left", 4.05789, 0.0932988, 0.0605164 }, { "leg_left", 2.78136, 0.0723025, 0.0629972 },
    { "foot_left", 3.16673, 0.0239977, 0.134746 },
  };
  static const joint_row joints[] = {
    { "rootx", 0, 0, 0, 0, 0, 0, 0.20743, -1 },
    { "rootz", 0, 0, 0, 0, 0, 0, 0.0485192, -1 },
    { "rooty", 0, 0, 0, 0, 0, 0, 6.02491, -1 },
    { "thigh", -2.61799, 0, 0, 0.1, 0.01, 100, 12.1062, 0 },
    { "leg", -2.61799, 0, 0, 0.1, 0.01, 100, 9.59529, 1 },
    { "foot", -0.785398, 0.785398, 0, 0.1, 0.01, 100, 18.2114, 2 },
    { "thigh_left", -2.61799, 0, 0, 0.1, 0.01, 100, 12.1062, 3 },
    { "leg_left", -2.61799, 0, 0, 0.1, 0.01, 100, 9.59529, 4 },
    { "foot_left", -0.785398, 0.785398, 0, 0.1, 0.01, 100, 18.2114, 5 },
  };
  static const char *const touching[] = { "torso", "foot", "foot_left", NULL };
  for (int flavour = 0; flavour < 2; flavour++) {
    mjModel *m = load(flavour ? "walker2d_gymnasium" : "walker2d_brax");
    const int floor = find(m, mjOBJ_GEOM, "floor"), left = find(m, mjOBJ_GEOM, "foot_left");
    check_options(m, 0.002, flavour ? mjINT_RK4 : mjINT_EULER, flavour ? 100 : 4);
    check_bodies(m, bodies, 7, 23.6771);
    check_joints(m, joints, 9);
    check_touching(m, flavour ? NULL : touching);
    check_contact(m, usual, 0);
    check_limits(m, usual);
    near("height", "rootz", m->qpos0[1], flavour ? 1.25 : 0);
    for (int g = 0; g < m->ngeom; g++) {
      assert_int_equal(m->geom_condim[g], 3);
      near("friction", "a geom", m->geom_friction[3 * g], g == floor ? 0.7 : g == left ? 1.9 : 0.9);
    }
    assert_false(tested(m, left, find(m, mjOBJ_GEOM, "torso")));
    mj_deleteModel(m);
  }
}

// Legs in turn: where they point, about what their ankles bend, and how far.
static void check_legs(const mjModel *m) {
  static const struct {
    double x, y, axis_x, low, high;
  } legs[4] = {
    { 1, 1, -1, 30, 70 }, { -1, 1, 1, -70, -30 }, { -1, -1, -1, -70, -30 }, { 1, -1, 1, 30, 70 }
  };
  static const int motor[4][2] = { { 2, 3 }, { 4, 5 }, { 6, 7 }, { 0, 1 } }; // leg 4 is first
  char name[4][20];
  for (int i = 0; i < 4; i++) {
    const char *const of[4] = { "hip", "ankle", "upper", "lower" };
    for (int k = 0; k < 4; k++)
      snprintf(name[k], sizeof name[k], "%s_%d", of[k], i + 1);
    int hip = find(m, mjOBJ_JOINT, name[0]), ankle = find(m, mjOBJ_JOINT, name[1]);
    int upper = find(m, mjOBJ_BODY, name[2]), lower = find(m, mjOBJ_BODY, name[3]);
    near("place x", name[2], m->body_pos[3 * upper], 0.2 * legs[i].x);
    near("place y", name[3], m->body_pos[3 * lower + 1], 0.2 * legs[i].y);
    near("centre x", name[3], m->body_ipos[3 * lower], 0.2 * legs[i].x);
    near("axis", name[1], m->jnt_axis[3 * ankle], legs[i].axis_x * sqrt(0.5));
    near("axis", name[1], m->jnt_axis[3 * ankle + 1], sqrt(0.5));
    near("axis", name[0], m->jnt_axis[3 * hip + 2], 1);
    assert_int_equal(m->jnt_qposadr[hip], 7 + 2 * i); // tree order
    assert_int_equal(m->jnt_qposadr[ankle], 8 + 2 * i);
    const joint_row rows[2] = {
      { name[0], -30 * DEGREE, 30 * DEGREE, 0, 1, 1, 150, 0.982636, motor[i][0] },
      { name[1], legs[i].low * DEGREE, legs[i].high * DEGREE, 0, 1, 1, 150, 0.995102, motor[i][1] }
    };
    check_joints(m, rows, 2);
  }
}

static void test_ant(void **state) {
  (void)state;
  static const body_row bodies[] = { { "torso", 0.327249, 0.00818123, 1.10144 },
                                     { "side_1", 0.0391578, 0, 1.18047 },
                                     { "upper_2", 0.0391578, 0, 1.80878 },
                                     { "lower_3", 0.0675922, 0, 3.98441 } };
  static const char *const touching[] = { "foot_1", "foot_2", "foot_3", "foot_4", NULL };
  for (int flavour = 0; flavour < 2; flavour++) {
    mjModel *m = load(flavour ? "ant_gymnasium" : "ant_brax");
    check_options(m, 0.01, flavour ? mjINT_RK4 : mjINT_EULER, flavour ? 100 : 4);
    check_bodies(m, bodies, 4, 0.91088); // 0.910879 was given, rounded down
    check_legs(m);
    check_touching(m, flavour ? NULL : touching);
    check_contact(m, usual, flavour ? 0.01 : 0);
    check_limits(m, usual);
    int torso = find(m, mjOBJ_BODY, "torso"), lower = find(m, mjOBJ_BODY, "lower_1");
    near("rotation", "torso", m->body_invweight0[2 * torso + 1], 6.53604);
    near("inertia across", "lower_1", m->body_inertia[3 * lower], 0.00267479);
    near("inertia along", "lower_1", m->body_inertia[3 * lower + 2], 0.000209432);
    for (int k = 0; k < 6; k++) {
      near("inverse weight", "root", m->dof_invweight0[k], k < 3 ? 1.10144 : 6.53604);
      assert_true(m->dof_armature[k] == 0 && m->dof_damping[k] == 0);
    }
    near("height", "torso", m->qpos0[2], 0.75);
    for (int g = 0; g < m->ngeom; g++) {
      assert_int_equal(m->geom_condim[g], 3);
      near("friction", "a geom", m->geom_friction[3 * g], 1);
    }
    assert_false(tested(m, find(m, mjOBJ_GEOM, "lower_1"), find(m, mjOBJ_GEOM, "lower_3")));
    mj_deleteModel(m);
  }
}

// ---------------------------------------------------------------------------------------------

// A folder of models with one in it, which comes before all others.
typedef struct strangers {
  char folder[20], models[32], file[64];
} strangers;

static strangers open_strangers(void) {
  strangers s = { .folder = "models-XXXXXX" };
  assert_non_null(mkdtemp(s.folder));
  snprintf(s.models, sizeof s.models, "%s/models", s.folder);
  snprintf(s.file, sizeof s.file, "%s/hopper_brax.xml", s.models);
  assert_int_equal(mkdir(s.models, 0700), 0);
  assert_int_equal(setenv("MIRRORMAP_DATA", s.folder, 1), 0);
  return s;
}

static void write_stranger(const strangers *s, const char *text) {
  FILE *f = fopen(s->file, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void close_strangers(const strangers *s) {
  remove(s->file);
  remove(s->models);
  remove(s->folder);
  assert_int_equal(body_setup(NULL), 0);
}

// A model that was changed is used as it is, unless it is another body; damage is said.
static void test_strangers(void **state) {
  (void)state;
  static const struct {
    const char *text, *expected;
  } cases[] = {
    { "<mujoco><worldbody/></mujoco>", "expected a body with 6 coordinates" },
    { "<mujoco>", "MuJoCo: " },
    { "<mujoco><nonsense/></mujoco>", "MuJoCo: " },
    { "", "MuJoCo: " },
  };
  mm_env *env;
  mm_vec *vec;
  mm_vec_config config = { .size = sizeof(mm_vec_config),
                           .n = 2,
                           .physics = MM_ENV_PHYSICS_MUJOCO };
  strangers s = open_strangers();
  assert_ok(mm_env_open("Hopper", &env));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_stranger(&s, cases[i].text);
    assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_INPUT, cases[i].expected);
    assert_non_null(strstr(mm_last_error(), "hopper_brax.xml"));
    assert_null(strchr(mm_last_error(), '\n'));
  }
  mm_env_destroy(env);
  close_strangers(&s);
}

// The library would end the program when its memory does not suffice in the middle of a step. Here
// that is a state that went bad, again and again.
static void test_errors_of_the_library(void **state) {
  (void)state;
  enum { N = 3 };
  char path[MM_DATA_PATH_SIZE], text[8000];
  assert_true(mm_data_find("models", "hopper_brax", ".xml", path));
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  size_t size = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[size] = 0;
  char *place = strstr(text, "  <default>"), small[8100];
  assert_non_null(place);
  snprintf(small, sizeof small, "%.*s  <size nstack=\"150\"/>\n%s", (int)(place - text), text,
           place);
  strangers s = open_strangers();
  write_stranger(&s, small);
  rig r = rig_open("Hopper", (mm_vec_config){ .n = N, .physics = MM_ENV_PHYSICS_MUJOCO });
  close_strangers(&s);
  assert_ok(mm_vec_reset(r.vec, &r.out));
  uint64_t ends = 0;
  for (int t = 0; t < 60; t++) { // there is room until the foot comes down
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (int i = 0; i < N; i++) {
      if (!r.out.end[i]) continue;
      assert_true(r.out.reward[i] == 0 && r.out.end[i] == MM_END_TERMINATED);
      ends++;
    }
    assert_int_equal(mm_vec_unstable(r.vec), ends);
  }
  assert_true(ends >= 2 * N);
  rig_close(&r);
}

int suite_body_models(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_hopper),    cmocka_unit_test(test_half_cheetah),
    cmocka_unit_test(test_ant),       cmocka_unit_test(test_walker2d),
    cmocka_unit_test(test_strangers), cmocka_unit_test(test_errors_of_the_library),
  };
  return cmocka_run_group_tests_name("body_models", tests, body_setup, NULL);
}

#else

int suite_body_models(void) {
  puts("body_models: skipped, built without the MuJoCo library (libmujoco-dev)");
  return MM_SUITE_SKIPPED;
}

#endif
