// SPDX-License-Identifier: Apache-2.0
// Our own physics against the MuJoCo library on our model files: constants, mass matrix and bias,
// single steps, short horizons, and what is conserved. Without the library the suite is skipped.

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#if !HAVE_MUJOCO

#include <stdio.h>

int suite_physics_mujoco(void) {
  printf("skipped: built without the MuJoCo library (Debian: libmujoco-dev)\n");
  return MM_SUITE_SKIPPED;
}

#else

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "physics/kernels.h"
#include "physics/physics.h"

#define assert_close(a, b, most) assert_true(fabs((a) - (b)) <= (most))

enum { NQ = MM_BODY_MOST_Q, NV = MM_BODY_MOST_V, NU = MM_BODY_MOST_U, GROUP = MM_PHYSICS_GROUP };

static const char *const flavour_names[MM_FLAVOUR_COUNT] = { "brax", "gymnasium" };

// A body in both worlds. Steps of our own are taken with the kernel, one physics step at a time.
typedef struct world {
  mm_body body;
  mm_flavour flavour;
  const mm_body_info *info;
  mm_body_table table;
  mjModel *m;
  mjData *d;
  const mm_physics_kernel *kernel;
  const mm_reference *reference;
  double model[MM_PHYSICS_MODEL_MOST / sizeof(double)];
  double exact[MM_PHYSICS_MODEL_MOST / sizeof(double)];
  uint64_t drawn;
  bool wild; // thrown about, with motors all or nothing
} world;

static void open_world(world *w, mm_body body, mm_flavour flavour) {
  char path[512], error[300] = "";
  *w = (world){ .body = body, .flavour = flavour, .info = mm_body_describe(body) };
  snprintf(path, sizeof path, "%s/../models/%s.xml", MM_TEST_DATA,
           mm_body_model_name(body, flavour));
  w->m = mj_loadXML(path, NULL, error, sizeof error);
  if (!w->m) fail_msg("%s: %s", path, error);
  w->d = w->m ? mj_makeData(w->m) : NULL;
  if (!w->d) abort(); // the library has said why
  w->m->opt.iterations = 100;
  w->m->opt.enableflags |= mjENBL_ENERGY;
  mm_body_derive(body, flavour, &w->table);
  w->kernel = mm_physics_kernels_current()->of[body][flavour];
  w->reference = mm_physics_reference(body, flavour);
  assert_true(w->kernel->model_size <= sizeof w->model);
  assert_true(w->reference->model_size <= sizeof w->exact);
  w->kernel->prepare(&w->table, w->info->h, w->model);
  w->reference->prepare(&w->table, w->info->h, w->exact);
}

static void close_world(world *w) {
  mj_deleteData(w->d);
  mj_deleteModel(w->m);
}

// What our own engine has.
static const struct {
  mm_body body;
  mm_flavour flavour;
} own[] = {
#define FLAVOURS(NAME, name, id, kernels)                                                          \
  { MM_BODY_##NAME, MM_FLAVOUR_BRAX }, { MM_BODY_##NAME, MM_FLAVOUR_GYMNASIUM },
  MM_BODY_LIST(FLAVOURS)
};
enum { OWN = sizeof own / sizeof *own };

// In (-1, 1), a float.
static double draw(world *w) {
  mm_stream stream = mm_stream_make(11, (uint32_t)w->body, MM_RNG_BENCH, 0);
  return 2 * (double)mm_uniform_f(mm_stream_block(stream, w->drawn++).word[0]) - 1;
}

// States are floats on both sides, so that only the steps differ.
static void round_state(world *w) {
  mjData *d = w->d;
  if (w->info->free_root) mju_normalize4(d->qpos + 3);
  for (int i = 0; i < w->m->nq; i++)
    d->qpos[i] = (double)(float)d->qpos[i];
  for (int i = 0; i < w->m->nv; i++) {
    d->qvel[i] = (double)(float)d->qvel[i];
    d->qacc_warmstart[i] = (double)(float)d->qacc_warmstart[i];
  }
}

// As an episode starts.
static void start(world *w) {
  double wide = w->body == MM_BODY_HOPPER ? 0.005 : 0.1;
  mj_resetData(w->m, w->d);
  for (int i = 0; i < w->m->nq; i++)
    w->d->qpos[i] = w->info->start[w->flavour][i] + wide * draw(w);
  for (int i = 0; i < w->m->nv; i++)
    w->d->qvel[i] = (w->wild ? 8 : wide) * draw(w);
  round_state(w);
}

static bool has_ended(const world *w) {
  const double *q = w->d->qpos;
  if (w->body == MM_BODY_HOPPER) return fabs(q[2]) > 0.4;
  if (w->body == MM_BODY_WALKER2D) return fabs(q[2]) > 1.2;
  return w->body == MM_BODY_ANT && (q[2] < 0.2 || q[2] > 1.0);
}

static void act(world *w) {
  for (int i = 0; i < w->m->nu; i++) {
    double u = draw(w);
    w->d->ctrl[i] = w->wild ? (u > 0 ? 1 : -1) : u;
  }
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// ---------------------------------------------------------------------------------------------
// 1: constants, 1e-5 relative

static void near(const char *what, double got, double expected, double scale) {
  if (!(fabs(got - expected) <= 1e-5 * fmax(fabs(expected), scale)))
    fail_msg("%s: the library has %.10g, we %.10g", what, expected, got);
}

// A part of ours is all bodies of the library that are fixed to each other.
static void check_part(const world *w, const mm_part *part, int weld) {
  const mjModel *m = w->m;
  const mjData *d = w->d;
  double mass = 0, centre[3] = { 0 }, inertia[6] = { 0 };
  // the last joint: sliding ones may be anchored anywhere
  const double *anchor = d->xanchor + 3 * (m->body_jntadr[weld] + m->body_jntnum[weld] - 1);
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_weldid[b] != weld) continue;
    mass += m->body_mass[b];
    for (int k = 0; k < 3; k++)
      centre[k] += m->body_mass[b] * d->xipos[3 * b + k];
  }
  for (int k = 0; k < 3; k++)
    centre[k] /= mass;
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_weldid[b] != weld) continue;
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    double at[3], square = 0;
    for (int k = 0; k < 3; k++) {
      at[k] = d->xipos[3 * b + k] - centre[k];
      square += at[k] * at[k];
    }
    for (int k = 0; k < 6; k++) {
      for (int a = 0; a < 3; a++)
        inertia[k] += m->body_inertia[3 * b + a] * d->ximat[9 * b + 3 * row[k] + a] *
                      d->ximat[9 * b + 3 * column[k] + a];
      inertia[k] += m->body_mass[b] * ((k < 3 ? square : 0) - at[row[k]] * at[column[k]]);
    }
  }
  near(part->name, part->mass, mass, 0);
  for (int k = 0; k < 3; k++)
    near(part->name, part->centre[k], centre[k] - anchor[k], 0.01);
  for (int k = 0; k < 6; k++)
    near(part->name, part->inertia[k], inertia[k], inertia[1]);
  near(part->name, part->inverse_weight, m->body_invweight0[2 * weld], 0);
}

// Impedance and reference of a constraint; the library raises an impedance of 0 to 0.0001.
static void check_softness(const mm_impedance *ours, const double *impedance,
                           const double *reference) {
  near("lowest impedance", fmax(ours->low, mjMINIMP), fmax(impedance[0], mjMINIMP), 0);
  near("highest impedance", ours->high, impedance[1], 0);
  near("width", ours->width, impedance[2], 0);
  near("midpoint", 0.5, impedance[3], 0);
  near("power", 2, impedance[4], 0);
  near("time constant", 0.02, reference[0], 0);
  near("damping ratio", 1, reference[1], 0);
}

static void check_dof(const world *w, const mm_dof *dof, int i) {
  const mjModel *m = w->m;
  int joint = m->dof_jntid[i];
  near(dof->name, dof->inverse_weight, m->dof_invweight0[i], 0);
  near(dof->name, dof->armature, m->dof_armature[i], 1);
  near(dof->name, dof->damping, m->dof_damping[i], 1);
  near(dof->name, dof->stiffness, m->jnt_stiffness[joint], 1);
  assert_int_equal(dof->limited, m->jnt_limited[joint]);
  if (dof->limited) {
    near(dof->name, dof->low, m->jnt_range[2 * joint], 0);
    near(dof->name, dof->high, m->jnt_range[2 * joint + 1], 0.01);
    check_softness(&w->table.limit, m->jnt_solimp + mjNIMP * joint, m->jnt_solref + mjNREF * joint);
  }
}

static void check_motors(const world *w) {
  for (int i = 0; i < w->m->nu; i++) {
    int dof = w->info->motor[i];
    assert_int_equal(w->m->dof_jntid[dof], w->m->actuator_trnid[2 * i]);
    near("gear", w->table.dof[dof].gear, w->m->actuator_gear[6 * i], 0);
  }
}

// Bodies that are fixed to each other are one part of ours; parts are in the same order.
static int part_of(const mjModel *m, int body) {
  int part = -1;
  for (int b = 1; b <= m->body_weldid[body]; b++)
    part += m->body_weldid[b] == b;
  return part;
}

// Which of the library's geoms touch the floor, and with what; ours are spheres at their ends.
static void check_touches(const world *w) {
  const mjModel *m = w->m;
  int floor = mj_name2id(m, mjOBJ_GEOM, "floor"), spheres = 0;
  for (int g = 0; g < m->ngeom; g++) {
    bool touches = g != floor && ((m->geom_contype[g] & m->geom_conaffinity[floor]) ||
                                  (m->geom_contype[floor] & m->geom_conaffinity[g]));
    if (!touches) continue;
    int ends = m->geom_type[g] == mjGEOM_CAPSULE ? 2 : 1;
    for (int e = 0; e < ends; e++, spheres++) {
      double half = ends == 2 ? (e ? -1 : 1) * m->geom_size[3 * g + 1] : 0, at[3], best = INFINITY;
      int found = -1, b = m->geom_bodyid[g];
      for (int k = 0; k < 3; k++)
        at[k] = w->d->geom_xpos[3 * g + k] + half * w->d->geom_xmat[9 * g + 3 * k + 2];
      for (int i = 0; i < w->table.n_touch; i++) {
        const mm_touch *t = &w->table.touch[i];
        if (t->part != part_of(m, b)) continue; // two legs may be at the same place
        double far = fabs(t->inverse_weight - m->body_invweight0[2 * b]);
        for (int k = 0; k < 3; k++) {
          double anchor = 0;
          for (int p = t->part; p >= 0; p = w->table.part[p].parent)
            anchor += w->table.part[p].anchor[k];
          far = fmax(far,
                     fabs(anchor + t->centre[k] +
                          (k == 2 ? w->d->qpos[w->info->z_index] + w->table.height : 0) - at[k]));
        }
        if (far < best) {
          best = far;
          found = i;
        }
      }
      assert_true(best < 1e-5);
      near("radius", w->table.touch[found].radius, m->geom_size[3 * g], 0);
      near("friction", w->table.touch[found].friction,
           fmax(m->geom_friction[3 * g], m->geom_friction[3 * floor]), 0);
    }
    near("margin", w->table.margin, fmax(m->geom_margin[g], m->geom_margin[floor]), 0);
    check_softness(&w->table.contact, m->geom_solimp + mjNIMP * g, m->geom_solref + mjNREF * g);
  }
  assert_int_equal(spheres, w->table.n_touch);
}

static void test_constants(void **state) {
  (void)state;
  for (mm_body body = 0; body < MM_BODY_COUNT; body++) {
    for (mm_flavour flavour = 0; flavour < MM_FLAVOUR_COUNT; flavour++) {
      world w;
      open_world(&w, body, flavour);
      mju_copy(w.d->qpos, w.m->qpos0, w.m->nq);
      mj_forward(w.m, w.d);
      int part = 0;
      for (int b = 1; b < w.m->nbody; b++)
        if (w.m->body_weldid[b] == b) check_part(&w, &w.table.part[part++], b);
      assert_int_equal(part, w.table.n_part);
      assert_int_equal(w.m->nv, w.table.n_dof);
      near("time step", w.info->h, w.m->opt.timestep, 0);
      near("gravity", -9.81, w.m->opt.gravity[2], 0);
      for (int i = 0; i < w.m->nv; i++)
        check_dof(&w, &w.table.dof[i], i);
      check_motors(&w);
      check_touches(&w);
      close_world(&w);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// 2: mass matrix and bias forces, 1e-5 in float, 1e-12 in double

static double worst(const double *a, const double *b, int n) {
  double size = 0, most = 0;
  for (int i = 0; i < n; i++) {
    size = fmax(size, fabs(a[i]));
    most = fmax(most, fabs(a[i] - b[i]));
  }
  return most / size;
}

static void widen(const float *from, double *to, int n) {
  for (int i = 0; i < n; i++)
    to[i] = (double)from[i];
}

static void test_matrices(void **state) {
  (void)state;
  for (int o = 0; o < OWN; o++) {
    world w;
    double most[4] = { 0 };
    open_world(&w, own[o].body, own[o].flavour);
    int nv = w.m->nv;
    for (uint64_t n = 0; n < test_repeat(1000); n++) {
      double mass[NV * NV], other[NV * NV], bias[NV];
      float q[NQ], v[NV], small[NV * NV], small_bias[NV];
      for (int i = 0; i < w.m->nq; i++)
        w.d->qpos[i] = w.info->start[w.flavour][i] + draw(&w);
      for (int i = 0; i < nv; i++)
        w.d->qvel[i] = 5 * draw(&w);
      round_state(&w);
      mj_forward(w.m, w.d);
      mj_fullM(w.m, mass, w.d->qM);
      w.reference->matrices(w.exact, w.d->qpos, w.d->qvel, other, bias);
      most[0] = fmax(most[0], worst(mass, other, nv * nv));
      most[1] = fmax(most[1], worst(w.d->qfrc_bias, bias, nv));
      for (int i = 0; i < w.m->nq; i++)
        q[i] = (float)w.d->qpos[i];
      for (int i = 0; i < nv; i++)
        v[i] = (float)w.d->qvel[i];
      w.kernel->matrices(w.model, q, v, small, small_bias);
      widen(small, other, nv * nv);
      widen(small_bias, bias, nv);
      most[2] = fmax(most[2], worst(mass, other, nv * nv));
      most[3] = fmax(most[3], worst(w.d->qfrc_bias, bias, nv));
    }
    print_message("%s, %s: M %.1e, bias %.1e in double; M %.1e, bias %.1e in float\n", w.info->name,
                  flavour_names[w.flavour], most[0], most[1], most[2], most[3]);
    assert_true(most[0] < 1e-12 && most[1] < 1e-12);
    assert_true(most[2] < 1e-5 && most[3] < 1e-5);
    close_world(&w);
  }
}

// ---------------------------------------------------------------------------------------------
// 3: one step from visited states, same warm start

enum { VISITS = 24000 };

static int visits_wanted(void) {
  return test_is_slowed() ? VISITS / 6 : VISITS;
}

typedef struct errors {
  double x[VISITS];
  int n;
  int grazing; // left out
} errors;

static double quantile(errors *e, double p) {
  return e->n > 0 ? e->x[(int)(p * (e->n - 1))] : 0;
}

static void report(const world *w, const char *what, errors *e) {
  qsort(e->x, (size_t)e->n, sizeof *e->x, by_size);
  print_message("%s, %s, %s: %d states, median %.1e, 99 %% %.1e, 99.9 %% %.1e, worst %.1e\n",
                w->info->name, flavour_names[w->flavour], what, e->n, quantile(e, 0.5),
                quantile(e, 0.99), quantile(e, 0.999), quantile(e, 1));
}

static void within(errors *e) {
  assert_true(quantile(e, 0.99) < 1e-5);
  assert_true(quantile(e, 0.999) < 1e-3);
  assert_true(quantile(e, 1) < 1e-2);
}

// A group of visited states with what the library made of them.
typedef struct visits {
  int n;
  float q[NQ * GROUP], v[NV * GROUP], warm[NV * GROUP], u[NU * GROUP];
  double after[GROUP][NV];
  int rows[GROUP]; // 0 none, 1 limits alone, 2 contacts
} visits;

static void visit(world *w, visits *g) {
  int e = g->n++;
  for (int i = 0; i < w->m->nq; i++)
    g->q[i * GROUP + e] = (float)w->d->qpos[i];
  for (int i = 0; i < w->m->nv; i++) {
    g->v[i * GROUP + e] = (float)w->d->qvel[i];
    g->warm[i * GROUP + e] = (float)w->d->qacc_warmstart[i];
  }
  for (int i = 0; i < w->m->nu; i++)
    g->u[e * w->m->nu + i] = (float)w->d->ctrl[i];
  mj_step(w->m, w->d);
  mju_copy(g->after[e], w->d->qvel, w->m->nv);
  g->rows[e] = w->d->ncon > 0 ? 2 : w->d->nefc > 0;
}

// Relative to the largest velocity, as |v - v_mj| / (1 + max |v_mj|).
static double velocity_error(const double *expected, const float *v, int stride, int n) {
  double most = 0, size = 0;
  for (int i = 0; i < n; i++) {
    size = fmax(size, fabs(expected[i]));
    most = fmax(most, fabs((double)v[i * stride] - expected[i]));
  }
  return most / (1 + size);
}

// Grazing: a sphere comes to the floor, or a joint to its limit, within the rounding of a float,
// where a row begins with all of its damping. From a little beside the library itself is as far
// off.
static bool grazes(const world *w, const visits *g, int e, double error) {
  mjData *d = mj_makeData(w->m);
  double most = 0;
  for (int k = 0; k < 2 * w->m->nq; k++) {
    mj_resetData(w->m, d);
    for (int i = 0; i < w->m->nq; i++)
      d->qpos[i] = (double)g->q[i * GROUP + e] + (i == k / 2 ? (k % 2 ? 3e-7 : -3e-7) : 0);
    for (int i = 0; i < w->m->nv; i++) {
      d->qvel[i] = (double)g->v[i * GROUP + e];
      d->qacc_warmstart[i] = (double)g->warm[i * GROUP + e];
    }
    for (int i = 0; i < w->m->nu; i++)
      d->ctrl[i] = (double)g->u[e * w->m->nu + i];
    mj_step(w->m, d);
    double size = 0, apart = 0;
    for (int i = 0; i < w->m->nv; i++) {
      size = fmax(size, fabs(g->after[e][i]));
      apart = fmax(apart, fabs(d->qvel[i] - g->after[e][i]));
    }
    most = fmax(most, apart / (1 + size));
  }
  mj_deleteData(d);
  return most > error / 2;
}

static void compare_visits(const world *w, visits *g, errors *all, errors kind[3]) {
  const visits before = *g;
  uint8_t bad[GROUP];
  mm_physics_columns columns = { GROUP, g->q, g->v, g->warm, NULL, bad, g->u };
  w->kernel->step(w->model, w->info->iterations[w->flavour], 1, GROUP, &columns);
  for (int e = 0; e < GROUP; e++) {
    double error = velocity_error(g->after[e], g->v + e, GROUP, w->m->nv);
    assert_int_equal(bad[e], 0);
    if (error > 1e-2 && grazes(w, &before, e, error)) {
      print_message("%s, %s: one state grazes the floor: %.1e\n", w->info->name,
                    flavour_names[w->flavour], error);
      all->grazing++;
      continue;
    }
    all->x[all->n++] = error;
    kind[g->rows[e]].x[kind[g->rows[e]].n++] = error;
  }
  g->n = 0;
}

static void check_single_steps(int o, bool wild) {
  static errors all, kind[3];
  static const char *const kinds[] = { "no rows", "limits", "contacts" };
  world w;
  visits g = { 0 };
  open_world(&w, own[o].body, own[o].flavour);
  w.wild = wild;
  all.n = all.grazing = kind[0].n = kind[1].n = kind[2].n = 0;
  for (int t = 0; all.n + GROUP <= visits_wanted(); t++) {
    if (t % (wild ? 300 : 1000) == 0 || has_ended(&w)) start(&w);
    if (t % w.info->substeps == 0) act(&w);
    visit(&w, &g);
    round_state(&w);
    if (g.n == GROUP) compare_visits(&w, &g, &all, kind);
  }
  report(&w, wild ? "thrown about" : "all", &all);
  within(&all);
  for (int k = 0; k < 3 && !wild; k++)
    report(&w, kinds[k], &kind[k]);
  for (int k = 0; k < 3 && !wild; k++) {
    within(&kind[k]);
    assert_true(kind[k].n > visits_wanted() / 100);
  }
  assert_true(all.grazing <= 5);
  // Walker2d's joints have a hundredth of Hopper's armature: rounding weighs more
  if (!wild) assert_true(quantile(&kind[0], 1) < (w.body == MM_BODY_WALKER2D ? 1e-5 : 2e-6));
  close_world(&w);
}

static void test_single_steps(void **state) {
  (void)state;
  for (int o = 0; o < OWN; o++) {
    check_single_steps(o, false);
    check_single_steps(o, true);
  }
}

// The same in double precision agrees to the last digits: the formulas are the library's.
static void test_exact_steps(void **state) {
  (void)state;
  static errors all;
  for (int o = 0; o < OWN; o++) {
    world w;
    open_world(&w, own[o].body, own[o].flavour);
    w.m->opt.tolerance = 0; // else the library stops there, at 1e-8 of a step's gain
    for (all.n = 0; all.n < visits_wanted() / 4;) {
      if (all.n % 1000 == 0 || has_ended(&w)) start(&w);
      if (all.n % w.info->substeps == 0) act(&w);
      double q[NQ], v[NV], warm[NV], error = 0, size = 0;
      mju_copy(q, w.d->qpos, w.m->nq);
      mju_copy(v, w.d->qvel, w.m->nv);
      mju_copy(warm, w.d->qacc_warmstart, w.m->nv);
      assert_int_equal(w.reference->step(w.exact, 30, w.d->ctrl, q, v, warm), 0);
      mj_step(w.m, w.d);
      for (int i = 0; i < w.m->nv; i++) {
        size = fmax(size, fabs(w.d->qvel[i]));
        error = fmax(error, fabs(v[i] - w.d->qvel[i]));
      }
      for (int i = 0; i < w.m->nq; i++)
        error = fmax(error, fabs(q[i] - w.d->qpos[i]));
      all.x[all.n++] = error / (1 + size);
    }
    report(&w, "double", &all);
    assert_true(quantile(&all, 0.999) < 1e-12);
    assert_true(quantile(&all, 1) < 1e-7); // the library stops at its tolerance
    close_world(&w);
  }
}

// A landing that takes more iterations than the bound allows, met once in 10^5 steps: the third
// physics step from there. The bound is what parts us from the library, not the formulas.
static double landing_error(int iterations) {
  static const double q0[9] = { 0,           -0.24115983, 0.2748757,  -0.11821945, 0.2697648,
                                -0.19583614, -0.06549506, -0.8411767, -0.5592991 };
  static const double v0[9] = { 0.6861474,  0.21555722, -0.69824827, 0.62839603, 5.9992085,
                                -9.6352005, 7.1416955,  -0.19363175, -11.254888 };
  static const double warm0[9] = { 19.562254, -8.978982, -56.166004, 141.01657, 71.851746,
                                   62.02288,  272.5903,  293.86166,  80.98945 };
  static const double action[6] = { 0.6847445,   0.68747604, 0.55368185,
                                    -0.24170339, 0.35102606, -0.35931206 };
  world w;
  double q[NQ], v[NV], warm[NV], error = 0;
  open_world(&w, MM_BODY_HALF_CHEETAH, MM_FLAVOUR_GYMNASIUM);
  mju_copy(q, q0, 9), mju_copy(v, v0, 9), mju_copy(warm, warm0, 9);
  mju_copy(w.d->qpos, q0, 9), mju_copy(w.d->qvel, v0, 9), mju_copy(w.d->qacc_warmstart, warm0, 9);
  mju_copy(w.d->ctrl, action, 6);
  for (int t = 0; t < 3; t++) {
    assert_int_equal(w.reference->step(w.exact, iterations, action, q, v, warm), 0);
    mj_step(w.m, w.d);
  }
  for (int i = 0; i < 9; i++)
    error = fmax(error, fabs(v[i] - w.d->qvel[i]));
  close_world(&w);
  return error;
}

static void test_bound(void **state) {
  (void)state;
  double bound =
      landing_error(mm_body_describe(MM_BODY_HALF_CHEETAH)->iterations[MM_FLAVOUR_GYMNASIUM]);
  print_message("HalfCheetah, gymnasium, landing: off by %.1e, with 10 iterations by %.1e\n", bound,
                landing_error(10));
  assert_true(landing_error(5) > 1e-2); // so there is something to be bounded
  assert_true(bound < 1e-5);
  assert_true(landing_error(10) < 1e-10);
}

// Parts of Gymnasium's Hopper that touch each other: folded up in the air, one step in double and
// in float. Where two capsules' axes are nearly through each other the direction is nobody's.
typedef struct folded {
  errors exact, single;
  int pair[3]; // how often torso and leg, torso and foot, thigh and foot touched
} folded;

static bool fold(world *w) {
  mjData *d = w->d;
  bool touching = false, deep = false;
  mj_resetData(w->m, d);
  d->qpos[1] = 3;
  d->qpos[2] = 0.2 * draw(w);
  d->qpos[3] = -1.3 + 1.3 * draw(w);
  d->qpos[4] = -1.9 + 0.8 * draw(w);
  d->qpos[5] = 0.8 * draw(w);
  for (int i = 0; i < w->m->nv; i++)
    d->qvel[i] = 3 * draw(w);
  for (int i = 0; i < w->m->nu; i++)
    d->ctrl[i] = draw(w);
  round_state(w);
  mj_forward(w->m, d);
  for (int i = 0; i < d->ncon; i++) {
    touching = true;
    deep |= d->contact[i].dist < -0.04;
  }
  return touching && !deep;
}

static void compare_folded(world *w, folded *f) {
  double q[NQ], v[NV], warm[NV] = { 0 };
  float q1[NQ * GROUP] = { 0 }, v1[NV * GROUP] = { 0 }, u1[NU * GROUP] = { 0 };
  float warm1[NV * GROUP] = { 0 };
  uint8_t bad[GROUP];
  mm_physics_columns columns = { GROUP, q1, v1, warm1, NULL, bad, u1 };
  for (int i = 0; i < w->d->ncon; i++) {
    int a = w->m->geom_bodyid[w->d->contact[i].geom1],
        b = w->m->geom_bodyid[w->d->contact[i].geom2];
    f->pair[a + b == 4 ? 0 : a + b - 4]++; // bodies 1 to 4
  }
  mju_zero(w->d->qacc_warmstart, w->m->nv);
  mju_copy(q, w->d->qpos, w->m->nq);
  mju_copy(v, w->d->qvel, w->m->nv);
  for (int i = 0; i < w->m->nv; i++) {
    q1[i * GROUP] = (float)q[i];
    v1[i * GROUP] = (float)v[i];
  }
  for (int i = 0; i < w->m->nu; i++)
    u1[i] = (float)w->d->ctrl[i];
  w->kernel->step(w->model, w->info->iterations[w->flavour], 1, GROUP, &columns);
  assert_int_equal(w->reference->step(w->exact, 30, w->d->ctrl, q, v, warm), 0);
  mj_step(w->m, w->d);
  double error = 0, size = 0;
  for (int i = 0; i < w->m->nv; i++) {
    size = fmax(size, fabs(w->d->qvel[i]));
    error = fmax(error, fabs(v[i] - w->d->qvel[i]));
  }
  f->exact.x[f->exact.n++] = error / (1 + size);
  f->single.x[f->single.n++] = velocity_error(w->d->qvel, v1, GROUP, w->m->nv);
}

static void test_folded(void **state) {
  (void)state;
  static folded f;
  world w;
  open_world(&w, MM_BODY_HOPPER, MM_FLAVOUR_GYMNASIUM);
  while (f.exact.n < visits_wanted() / 8)
    if (fold(&w)) compare_folded(&w, &f);
  report(&w, "folded, double", &f.exact);
  report(&w, "folded, float", &f.single);
  print_message("torso and leg %d, torso and foot %d, thigh and foot %d\n", f.pair[0], f.pair[1],
                f.pair[2]);
  assert_true(quantile(&f.exact, 0.999) < 1e-12);
  assert_true(quantile(&f.exact, 1) < 1e-7);
  within(&f.single);
  for (int k = 0; k < 3; k++)
    assert_true(f.pair[k] >= 10);
  close_world(&w);
}

// ---------------------------------------------------------------------------------------------
// 4: five environment steps from the same state

static void test_short_horizon(void **state) {
  (void)state;
  static errors all;
  for (int o = 0; o < OWN; o++) {
    world w;
    mm_physics *p;
    open_world(&w, own[o].body, own[o].flavour);
    assert_ok(mm_physics_create(
        &(mm_physics_config){ .body = own[o].body, .flavour = own[o].flavour, .n = 1 }, &p));
    start(&w);
    for (all.n = 0; all.n < visits_wanted() / 16;) {
      float q[NQ], v[NV], warm[NV];
      if (all.n % 40 == 0 || has_ended(&w)) start(&w);
      for (int i = 0; i < w.m->nq; i++)
        q[i] = (float)w.d->qpos[i];
      for (int i = 0; i < w.m->nv; i++) {
        v[i] = (float)w.d->qvel[i];
        warm[i] = (float)w.d->qacc_warmstart[i];
      }
      mm_physics_set(p, 0, q, v, warm);
      for (int t = 0; t < 5; t++) {
        float u[NU];
        act(&w);
        for (int i = 0; i < w.m->nu; i++)
          u[i] = (float)w.d->ctrl[i];
        mm_physics_step(p, 0, 1, u);
        for (int k = 0; k < w.info->substeps; k++)
          mj_step(w.m, w.d);
      }
      all.x[all.n++] = velocity_error(w.d->qvel, p->v, (int)p->stride, w.m->nv);
      round_state(&w);
    }
    report(&w, "five environment steps", &all);
    assert_true(quantile(&all, 0.5) < 1e-5);
    assert_true(quantile(&all, 0.9) < 1e-3);
    mm_physics_destroy(p);
    close_world(&w);
  }
}

// ---------------------------------------------------------------------------------------------
// 5: what is conserved with gravity alone, and rest

// Horizontal momentum, angular momentum about the centre of mass, energy: as the library counts
// them. Of a planar body only one component of each vector is not 0.
enum { LAWS = 3 };

typedef struct law {
  const char *name;
  int n; // components
} law;
static const law laws[LAWS] = { { "momentum", 2 }, { "angular momentum", 3 }, { "energy", 1 } };

typedef struct kept {
  double x[LAWS][3];
} kept;

static kept measure(world *w, const double *q, const double *v) {
  kept out = { { { 0 } } };
  double mass = 0;
  mju_copy(w->d->qpos, q, w->m->nq);
  mju_copy(w->d->qvel, v, w->m->nv);
  mj_forward(w->m, w->d);
  mj_subtreeVel(w->m, w->d);
  mj_energyPos(w->m, w->d);
  mj_energyVel(w->m, w->d);
  for (int b = 1; b < w->m->nbody; b++)
    mass += w->m->body_mass[b];
  for (int k = 0; k < 2; k++)
    out.x[0][k] = mass * w->d->subtree_linvel[k];
  for (int k = 0; k < 3; k++)
    out.x[1][k] = w->d->subtree_angmom[k];
  out.x[2][0] = w->d->energy[0] + w->d->energy[1];
  return out;
}

// |a - scale b| of one law.
static double apart(const kept *a, const kept *b, double scale, int i) {
  double sum = 0;
  for (int k = 0; k < laws[i].n; k++)
    sum += pow(a->x[i][k] - scale * b->x[i][k], 2);
  return sqrt(sum);
}

static void gravity_alone(world *w) {
  mjModel *m = w->m;
  mju_zero(m->dof_damping, m->nv);
  mju_zero(m->jnt_stiffness, m->njnt);
  m->opt.disableflags |= mjDSBL_CONSTRAINT;
  for (int i = 0; i < w->table.n_dof; i++) {
    w->table.dof[i].damping = w->table.dof[i].stiffness = 0;
    w->table.dof[i].limited = false;
  }
  w->table.height += 1e4; // no floor within reach
}

// Drift over `seconds` of our double build with the step h; with `library`, of the library.
static kept drift(world *w, const double *q0, const double *v0, double h, double seconds,
                  bool library) {
  double q[NQ], v[NV], warm[NV] = { 0 }, none[NU] = { 0 };
  int steps = (int)(seconds / h + 0.5);
  kept before = measure(w, q0, v0);
  mju_copy(q, q0, w->m->nq);
  mju_copy(v, v0, w->m->nv);
  w->reference->prepare(&w->table, h, w->exact);
  w->m->opt.timestep = h;
  mju_zero(w->d->ctrl, w->m->nu);
  for (int t = 0; t < steps; t++) {
    if (library)
      mj_step(w->m, w->d);
    else
      assert_int_equal(w->reference->step(w->exact, 5, none, q, v, warm), 0);
  }
  if (library) {
    mju_copy(q, w->d->qpos, w->m->nq);
    mju_copy(v, w->d->qvel, w->m->nv);
  }
  kept out = measure(w, q, v);
  for (int i = 0; i < LAWS; i++)
    for (int k = 0; k < laws[i].n; k++)
      out.x[i][k] -= before.x[i][k];
  return out;
}

static void test_conserved(void **state) {
  (void)state;
  const kept none = { { { 0 } } };
  for (int o = 0; o < OWN; o++) {
    world w;
    open_world(&w, own[o].body, own[o].flavour);
    const bool runge_kutta = w.m->opt.integrator == mjINT_RK4;
    const double rounding = runge_kutta ? 1e-12 : 0;
    gravity_alone(&w);
    for (int n = 0; n < 3; n++) {
      double q[NQ], v[NV];
      start(&w);
      mju_copy(q, w.d->qpos, w.m->nq);
      for (int i = 0; i < w.m->nv; i++)
        v[i] = 2 * draw(&w);
      kept whole = drift(&w, q, v, w.info->h, 0.2, false);
      kept library = drift(&w, q, v, w.info->h, 0.2, true);
      kept half = drift(&w, q, v, w.info->h / 2, 0.2, false);
      for (int i = 0; i < LAWS; i++) {
        double size = apart(&whole, &none, 0, i), expected = apart(&library, &none, 0, i);
        print_message("%s, %s: %s drifts by %.3e, with half the step %.3e; the library's by %.3e\n",
                      w.info->name, flavour_names[w.flavour], laws[i].name, size,
                      apart(&half, &none, 0, i), expected);
        assert_true(size > 0);
        assert_true(apart(&whole, &library, 1, i) <= 0.01 * expected + rounding);
        // Runge and Kutta's steps gain four powers of two or more
        assert_true(apart(&half, &whole, 0.5, i) <= (runge_kutta ? 0.45 : 0.05) * size + rounding);
      }
    }
    close_world(&w);
  }
}

// Deepest contact and energy of a state.
static double depth(world *w, const double *q, const double *v, double *energy) {
  double deepest = INFINITY;
  *energy = measure(w, q, v).x[2][0];
  for (int i = 0; i < w->d->ncon; i++)
    deepest = fmin(deepest, w->d->contact[i].dist);
  return deepest;
}

static void read_state(const mm_physics *p, double *q, double *v) {
  float small_q[NQ], small_v[NV];
  mm_physics_get(p, 0, small_q, small_v, NULL);
  widen(small_q, q, p->info->nq);
  widen(small_v, v, p->info->nv);
}

// 60 s bring a body to rest; from there both go on for 10 s.
static void test_rest(void **state) {
  (void)state;
  float none[NU] = { 0 };
  for (int o = 0; o < OWN; o++) {
    world w;
    mm_physics *p;
    double q[NQ], v[NV], settled, ours, energy, later, ignored;
    open_world(&w, own[o].body, own[o].flavour);
    assert_ok(mm_physics_create(
        &(mm_physics_config){ .body = own[o].body, .flavour = own[o].flavour, .n = 1 }, &p));
    double second = 1 / (w.info->h * w.info->substeps);
    for (int t = 0; t < (int)(60 * second); t++)
      mm_physics_step(p, 0, 1, none);
    read_state(p, q, v);
    mj_resetData(w.m, w.d);
    settled = depth(&w, q, v, &energy);
    assert_true(settled < w.table.margin); // carried by the floor
    for (int t = 0; t < (int)(10 * second) * w.info->substeps; t++)
      mj_step(w.m, w.d);
    double library_q[NQ], library_v[NV];
    mju_copy(library_q, w.d->qpos, w.m->nq);
    mju_copy(library_v, w.d->qvel, w.m->nv);
    double library = depth(&w, library_q, library_v, &ignored);
    for (int t = 0; t < (int)(10 * second); t++)
      mm_physics_step(p, 0, 1, none);
    read_state(p, q, v);
    ours = depth(&w, q, v, &later);
    print_message("%s, %s: at rest %.3e m deep, the library %.3e; energy gained %.1e of %.4g J\n",
                  w.info->name, flavour_names[w.flavour], -ours, -library, later - energy, energy);
    assert_close(ours, library, 1e-5);
    assert_true(later - energy <= 1e-5);
    mm_physics_destroy(p);
    close_world(&w);
  }
}

// ---------------------------------------------------------------------------------------------
// The library behind our interface: brax' bound of four iterations is not enough for a running Ant

enum { THROWN = 256 };

static mm_physics *open_library(int32_t iterations) {
  mm_physics *p;
  assert_ok(mm_physics_create(
      &(mm_physics_config){
          .body = MM_BODY_ANT, .engine = MM_ENGINE_MUJOCO, .n = THROWN, .iterations = iterations },
      &p));
  return p;
}

// Environments in which a velocity differs by more.
static int count_beyond(const mm_physics *a, const mm_physics *b, float most) {
  int n = 0;
  for (size_t i = 0; i < THROWN; i++) {
    float worst = 0;
    for (size_t k = 0; k < (size_t)a->info->nv; k++)
      worst = fmaxf(worst, fabsf(a->v[k * a->stride + i] - b->v[k * b->stride + i]));
    n += worst > most;
  }
  return n;
}

static void test_library_ends(void **state) {
  (void)state;
  assert_int_equal(setenv("MIRRORMAP_DATA", MM_TEST_DATA "/..", 1), 0); // where the models are
  mm_physics *p[] = { open_library(0), open_library(100), open_library(4) };
  const mm_body_info *info = p[0]->info;
  mm_stream stream = mm_stream_make(3, 0, MM_RNG_BENCH, 0);
  static float action[THROWN * NU];
  uint64_t draws = 0;
  for (size_t i = 0; i < THROWN; i++) {
    float q[NQ], v[NV];
    for (int k = 0; k < info->nq; k++)
      q[k] = (float)info->start[MM_FLAVOUR_BRAX][k];
    q[2] = 0.4f;
    for (int k = 0; k < info->nv; k++)
      v[k] = 16 * mm_uniform_f(mm_stream_block(stream, draws++).word[0]) - 8;
    for (int k = 0; k < info->nu; k++)
      action[i * (size_t)info->nu + (size_t)k] =
          2 * mm_uniform_f(mm_stream_block(stream, draws++).word[0]) - 1;
    for (int e = 0; e < 3; e++)
      mm_physics_set(p[e], i, q, v, NULL);
  }
  for (int e = 0; e < 3; e++)
    mm_physics_step(p[e], 0, THROWN, action);
  print_message("Ant thrown down: %d of %d differ after four iterations\n",
                count_beyond(p[2], p[1], 1e-2f), THROWN);
  assert_int_equal(count_beyond(p[0], p[1], 0), 0);
  assert_true(count_beyond(p[2], p[1], 1e-2f) > 0);
  for (int e = 0; e < 3; e++)
    mm_physics_destroy(p[e]);
}

int suite_physics_mujoco(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_constants),     cmocka_unit_test(test_matrices),
    cmocka_unit_test(test_single_steps),  cmocka_unit_test(test_exact_steps),
    cmocka_unit_test(test_short_horizon), cmocka_unit_test(test_conserved),
    cmocka_unit_test(test_rest),          cmocka_unit_test(test_folded),
    cmocka_unit_test(test_bound),         cmocka_unit_test(test_library_ends),
  };
  return cmocka_run_group_tests_name("physics_mujoco", tests, NULL, NULL);
}

#endif
