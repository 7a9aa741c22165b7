// SPDX-License-Identifier: Apache-2.0
// Training runs on a CUDA device beside the same on the CPU, for the suites of both kinds of
// kernels. The including file says first how many TENSORS a network has.

#ifndef MM_TEST_CUDA_RIG_H
#define MM_TEST_CUDA_RIG_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/job_hooks.h"
#include "agent_fixture.h"
#include "backend/backend.h"
#include "backend/cuda/host/cuda.h"
#include "backend/cuda/measure/profile.h"
#include "base/status.h"
#include "test.h"

// What a training run leaves behind.
typedef struct nets {
  size_t n[TENSORS];
  char name[TENSORS][32];
  float *param[TENSORS], *moment[TENSORS];
} nets;

static void keep_nets(const mm_job *job, mm_net *net, void *user) {
  nets *k = user;
  (void)job;
  for (int i = 0; i < TENSORS; i++) {
    const mm_net_tensor t = mm_net_describe(net, i);
    k->n[i] = (size_t)t.rows * (size_t)t.cols;
    snprintf(k->name[i], sizeof k->name[i], "%s", t.name);
    k->param[i] = malloc(k->n[i] * sizeof(float));
    k->moment[i] = malloc(k->n[i] * sizeof(float));
    mm_net_export(net, MM_NET_PARAM, i, k->param[i]);
    mm_net_export(net, MM_NET_MOMENT1, i, k->moment[i]);
  }
}

static void free_nets(nets *k) {
  for (int i = 0; i < TENSORS; i++) {
    free(k->param[i]);
    free(k->moment[i]);
  }
  memset(k, 0, sizeof *k);
}

static void assert_same_nets(const nets *a, const nets *b) {
  for (int i = 0; i < TENSORS; i++) {
    if (memcmp(a->param[i], b->param[i], a->n[i] * sizeof(float)) != 0)
      fail_msg("%s differs", a->name[i]);
    if (memcmp(a->moment[i], b->moment[i], a->n[i] * sizeof(float)) != 0)
      fail_msg("Adam's moments of %s differ", a->name[i]);
  }
}

static int network_of(int tensor) {
  return tensor == MM_NET_LOG_STD ? 0 : tensor / (MM_NET_TENSORS / 2);
}

// How far tensor i of b's first moments is from a's, by the size of all moments of its network.
static double distance(const nets *a, const nets *b, int i) {
  double difference = 0, size = 0;
  for (size_t k = 0; k < a->n[i]; k++)
    difference += pow((double)b->moment[i][k] - (double)a->moment[i][k], 2);
  for (int t = 0; t < TENSORS; t++)
    for (size_t k = 0; k < a->n[t] && network_of(t) == network_of(i); k++)
      size += pow((double)a->moment[t][k], 2);
  return sqrt(difference / (size > 0 ? size : 1));
}

static mm_status run_on(mm_backend_kind kind, int tile, const mm_job *jobs, size_t n,
                        mm_result *results) {
  mm_backend_config config = { .size = sizeof(mm_backend_config),
                               .place = { .kind = kind, .tile = tile } };
  return mm_backend_run(&config, jobs, n, results);
}

// One job with its networks.
static void train(mm_backend_kind kind, int tile, mm_job job, mm_result *result, nets *out) {
  const mm_job_hooks hooks = { .trained = keep_nets, .user = out };
  job.hooks = &hooks;
  assert_ok(run_on(kind, tile, &job, 1, result));
  assert_int_equal(result->status, MM_OK);
}

static void assert_same_curves(const mm_result *a, const mm_result *b) {
  assert_int_equal(a->status, b->status);
  assert_int_equal(a->n_curve, b->n_curve);
  assert_memory_equal(a->curve, b->curve, a->n_curve * sizeof *a->curve);
  for (size_t i = 0; a->measure && i < a->n_curve * MM_MEASURES; i++)
    assert_true(a->measure[i] == b->measure[i] || (isnan(a->measure[i]) && isnan(b->measure[i])));
}

// The jobs of a list together, and some of them alone: the same bits.
static void check_company(const mm_job *job, size_t n) {
  mm_result *result = calloc(n, sizeof *result);
  assert_ok(run_on(MM_BACKEND_CUDA, 0, job, n, result));
  for (size_t i = 0; i < n; i += 23) {
    mm_result alone;
    assert_ok(run_on(MM_BACKEND_CUDA, 0, &job[i], 1, &alone));
    assert_same_curves(&alone, &result[i]);
    mm_result_release(&alone);
  }
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(result[i].status, MM_OK);
    mm_result_release(&result[i]);
  }
  free(result);
}

// ---------------------------------------------------------------------------------------------
// One epoch on both

typedef struct shape {
  const char *env, *map;
  double envs, unroll, minibatches, hidden; // 0 hidden units: as usual
  int tile;
  bool relu, raw;
  bool code, bisect, center; // discrete actions
  bool ppo, plain;           // continuous ones; plain: observations and rewards as they are
} shape;

static void set_shape(mm_actor_critic_config *c, const shape *s) {
  c->envs = s->envs;
  c->unroll = s->unroll;
  c->minibatches = s->minibatches;
  if (s->hidden > 0) c->hidden = s->hidden;
  c->steps = s->envs * s->unroll;
  c->epochs = 1;
  c->relu = s->relu;
  c->normalise_advantage = !s->raw;
}

// Every operand of a product is rounded to a half, by up to 2^-12 of its size; a gradient has come
// through about ten of them, and sums over many rows do better. (Of Gaussian policies the gradient
// of the second layer is rounded at last to 8 bits, which a sum over many of them does not feel.)
// Sums over few rows do worse, and so does relu, whose slope jumps where a sum that was rounded
// passes 0.
static double tolerance_of(const shape *s) {
  const double rows = s->envs * s->unroll / s->minibatches;
  return (s->relu || rows < 64 ? 4 : 1) * 10 * 0x1p-11;
}

// An environment, a map and what became of one job with them on the CPU and on the device.
typedef struct twins {
  mm_env *env;
  mm_map *map;
  mm_result cpu, cuda;
  nets a, b; // of these
} twins;

static void open_twins(const char *env, const char *map, twins *out) {
  memset(out, 0, sizeof *out);
  assert_ok(mm_env_open(env, &out->env));
  assert_ok(mm_map_open(map, &out->map));
}

static void train_twins(twins *t, const mm_settings *config, int tile, uint64_t seed) {
  const mm_job job = job_of(t->env, t->map, config, seed);
  train(MM_BACKEND_CPU, 0, job, &t->cpu, &t->a);
  train(MM_BACKEND_CUDA, tile, job, &t->cuda, &t->b);
}

static void close_twins(twins *t) {
  mm_result_release(&t->cpu);
  mm_result_release(&t->cuda);
  free_nets(&t->a);
  free_nets(&t->b);
  mm_map_destroy(t->map);
  mm_env_destroy(t->env);
}

// After one epoch (or several with lr = 0) Adam's first moments are sums of gradients: every
// tensor's within `most` of its network's, and returns within `near`. The largest distance of a
// tensor.
static double compare_epoch(const twins *t, const char *label, double near, double most) {
  double worst = 0;
  assert_int_equal(t->cuda.n_curve, t->cpu.n_curve);
  for (size_t i = 0; i < t->cpu.n_curve; i++)
    if (fabs(t->cuda.curve[i] - t->cpu.curve[i]) > near * (1 + fabs(t->cpu.curve[i])))
      fail_msg("%s: return %.17g, on the CPU %.17g", label, t->cuda.curve[i], t->cpu.curve[i]);
  for (int i = 0; i < TENSORS; i++) {
    const double d = distance(&t->a, &t->b, i);
    worst = fmax(worst, d);
    if (!(d < most))
      fail_msg("%s: gradient of %s is off by %.2g of its network's", label, t->a.name[i], d);
  }
  return worst;
}

// ---------------------------------------------------------------------------------------------
// States

typedef struct saved {
  void *state;
  size_t size;
  volatile int stop;
  nets nets;
} saved;

static void keep_state(const mm_job *job, const void *state, size_t size, void *user) {
  saved *s = user;
  (void)job;
  free(s->state);
  s->state = malloc(size);
  s->size = size;
  memcpy(s->state, state, size);
}

static void keep_trained(const mm_job *job, mm_net *net, void *user) {
  keep_nets(job, net, &((saved *)user)->nets);
}

static void stop_soon(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)done, (void)total;
  if (env_steps > 0) ((saved *)user)->stop = 1;
}

// Interrupts a training run on the device and resumes it there to the same bits, then on the CPU.
// `whole` is the uninterrupted run and `moved` the one that the CPU ended; returns the iterations
// that were done before. Both results are to be released.
static uint64_t interrupt_and_move(mm_job job, mm_result *whole, mm_result *moved) {
  saved s = { 0 };
  const mm_job_hooks hooks = { .save = keep_state, .trained = keep_trained, .user = &s };
  mm_result result;
  nets expected = { 0 };
  job.hooks = &hooks;
  train(MM_BACKEND_CUDA, 0, job, whole, &expected);

  mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                .place.kind = MM_BACKEND_CUDA,
                                .stop = &s.stop,
                                .progress = stop_soon,
                                .user = &s };
  assert_int_equal(mm_backend_run(&backend, &job, 1, &result), MM_ERR_INTERRUPTED);
  assert_int_equal(result.status, MM_ERR_INTERRUPTED);
  assert_non_null(s.state);
  const uint64_t done = mm_job_state_done(s.state, s.size);
  assert_in_range(done, 1, whole->n_curve - 1);
  job.state = s.state;
  job.state_size = s.size;
  assert_ok(run_on(MM_BACKEND_CUDA, 0, &job, 1, &result));
  assert_same_curves(whole, &result);
  assert_same_nets(&expected, &s.nets);
  mm_result_release(&result);
  free_nets(&s.nets);

  assert_ok(run_on(MM_BACKEND_CPU, 0, &job, 1, moved));
  assert_int_equal(moved->n_curve, whole->n_curve);
  assert_memory_equal(moved->curve, whole->curve, (size_t)done * sizeof *moved->curve);
  free_nets(&s.nets);
  free_nets(&expected);
  free(s.state);
  return done;
}

// ---------------------------------------------------------------------------------------------
// Maps that move

// Its first anchor, what lies in the middle, the last anchor; the map that moves from one to the
// other, and one that is as if it did not.
typedef struct moving {
  mm_map *at[3], *map, *equal;
} moving;

static const mm_map_kind moving_kinds[] = { MM_MAP_TSALLIS, MM_MAP_PIECEWISE, MM_MAP_POWERS,
                                            MM_MAP_NEURAL };
enum { MOVING_KINDS = sizeof moving_kinds / sizeof *moving_kinds };

// Number i of a family, 0 to 2; all numbers are sums of a few powers of two, so that those in the
// middle are exact.
static void make_anchor(mm_map_kind kind, int i, mm_map **out) {
  double psi[MM_PIECEWISE_N], w[MM_NEURAL_UNITS], c[MM_NEURAL_UNITS], u[MM_NEURAL_UNITS];
  const double power[2] = { 2 - i, i }, exponent[2] = { 0, 2 };
  for (int j = 0; j < MM_PIECEWISE_N; j++)
    psi[j] = (2 + i * (j % 4)) / 128.0;
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    w[j] = 1 + i;
    c[j] = -(1 + i) * (j % 21) / 32.0;
    u[j] = (1 + i) / 256.0;
  }
  switch (kind) {
  case MM_MAP_TSALLIS:
    assert_ok(mm_map_create_tsallis(3 - 0.75 * i, out));
    break;
  case MM_MAP_PIECEWISE:
    assert_ok(mm_map_create_piecewise(psi, MM_PIECEWISE_N, out));
    break;
  case MM_MAP_POWERS: // two terms, where one has no weight none
    assert_ok(mm_map_create_powers(power, exponent, 2, out));
    break;
  default:
    assert_ok(mm_map_create_neural(w, c, u, 0.25 * (1 + i), 1 - 0.25 * i, out));
  }
}

static void open_moving(mm_map_kind kind, moving *out) {
  for (int i = 0; i < 3; i++)
    make_anchor(kind, i, &out->at[i]);
  const mm_map *ends[2] = { out->at[0], out->at[2] }, *same[3];
  for (int i = 0; i < 3; i++)
    same[i] = out->at[1];
  assert_ok(mm_map_create_stages(ends, 2, &out->map));
  assert_ok(mm_map_create_stages(same, 3, &out->equal));
}

static void close_moving(moving *m) {
  for (int i = 0; i < 3; i++)
    mm_map_destroy(m->at[i]);
  mm_map_destroy(m->map);
  mm_map_destroy(m->equal);
}

// Three iterations, each a job of its own, with the map that lies there, from where the one before
// has ended.
static void train_by_hand(mm_backend_kind kind, mm_job job, const moving *m, mm_result *result,
                          nets *out) {
  saved s = { 0 };
  const mm_job_hooks hooks = { .save = keep_state, .trained = keep_trained, .user = &s };
  static const double until[3] = { 0.25, 0.75, 0 };
  job.hooks = &hooks;
  for (int i = 0; i < 3; i++) {
    job.map = m->at[i];
    job.until = until[i];
    job.state = s.state;
    job.state_size = s.size;
    assert_ok(run_on(kind, 0, &job, 1, result));
    assert_int_equal(result->n_curve, i + 1);
    if (i == 2) break;
    mm_result_release(result);
    free_nets(&s.nets);
  }
  *out = s.nets;
  free(s.state);
}

// A map that moves: in three iterations what its three maps do one after the other, and with equal
// anchors what the plain map does, to the bit.
static void check_moving(mm_backend_kind kind, const mm_job *three) {
  for (int i = 0; i < MOVING_KINDS; i++) {
    moving m;
    mm_result result[4];
    nets trained[4] = { 0 };
    mm_job job = *three;
    open_moving(moving_kinds[i], &m);
    const mm_map *maps[3] = { m.map, m.equal, m.at[1] };
    for (int k = 0; k < 3; k++) {
      job.map = maps[k];
      train(kind, 0, job, &result[k], &trained[k]);
    }
    train_by_hand(kind, job, &m, &result[3], &trained[3]);
    assert_same_curves(&result[0], &result[3]);
    assert_same_nets(&trained[0], &trained[3]);
    assert_same_curves(&result[1], &result[2]);
    assert_same_nets(&trained[1], &trained[2]);
    // and it is felt
    bool same = true;
    for (int t = 0; t < TENSORS; t++)
      same &=
          memcmp(trained[0].param[t], trained[1].param[t], trained[0].n[t] * sizeof(float)) == 0;
    assert_false(same);
    for (int k = 0; k < 4; k++) {
      mm_result_release(&result[k]);
      free_nets(&trained[k]);
    }
    close_moving(&m);
  }
}

// phi^-1 is finite at both anchors and not between them: a run of three iterations ends after the
// first. Without units that move the map is the negative entropy.
static void open_gap(mm_map **out) {
  double none[MM_NEURAL_UNITS] = { 0 }, c[MM_NEURAL_UNITS] = { 0 }, u[MM_NEURAL_UNITS] = { 0 };
  mm_map *anchor[2];
  for (int i = 0; i < 2; i++) {
    c[MM_NEURAL_UNITS - 1] = i ? 700 : -620;
    u[MM_NEURAL_UNITS - 1] = i ? 1e-274 : 1e300;
    assert_ok(mm_map_create_neural(none, c, u, 0, 1, &anchor[i]));
  }
  assert_ok(mm_map_create_stages((const mm_map *const *)anchor, 2, out));
  for (int i = 0; i < 2; i++)
    mm_map_destroy(anchor[i]);
}

static void check_gap(mm_backend_kind kind, const mm_job *three) {
  mm_map *map;
  mm_result result[2];
  mm_backend_report report;
  const mm_backend_config config = { .size = sizeof(mm_backend_config),
                                     .place.kind = kind,
                                     .report = &report };
  open_gap(&map);
  mm_job job[2] = { *three, *three }; // the other is as it is alone
  job[0].map = map;
  assert_ok(mm_backend_run(&config, job, 2, result));
  assert_int_equal(result[0].status, MM_ERR_NUMERIC);
  assert_int_equal(result[0].n_curve, 1);
  assert_non_null(strstr(report.error, "between two anchors"));
  assert_int_equal(result[1].status, MM_OK);
  assert_int_equal(result[1].n_curve, 3);
  mm_result_release(&result[0]);
  mm_result_release(&result[1]);
  mm_map_destroy(map);
}

// ---------------------------------------------------------------------------------------------
// Trouble

// A run that diverges says so and leaves its neighbour alone.
static void check_numeric(const char *id, const mm_settings *wild, const mm_settings *tame) {
  mm_env *env;
  mm_map *map;
  assert_ok(mm_env_open(id, &env));
  assert_ok(mm_map_open("l2", &map));
  const mm_job job[2] = { job_of(env, map, wild, 0), job_of(env, map, tame, 0) };
  mm_result result[2], alone;
  mm_backend_report report;
  const mm_backend_config config = { .size = sizeof(mm_backend_config),
                                     .place.kind = MM_BACKEND_CUDA,
                                     .report = &report };
  assert_ok(mm_backend_run(&config, job, 2, result));
  assert_int_equal(result[0].status, MM_ERR_NUMERIC);
  assert_int_equal(report.trouble, 0);
  assert_non_null(strstr(report.error, "not finite"));
  assert_ok(run_on(MM_BACKEND_CUDA, 0, &job[1], 1, &alone));
  assert_same_curves(&alone, &result[1]);
  mm_result_release(&alone);
  mm_result_release(&result[0]);
  mm_result_release(&result[1]);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------
// Where a block's time goes

// `bench cuda` shows it for every kernel: all of the time is in its stages.
static void check_profile(const char *id, const mm_settings *config) {
  mm_env *env;
  mm_map *map;
  mm_cuda_profile profile;
  assert_ok(mm_env_open(id, &env));
  assert_ok(mm_map_open("piecewise", &map));
  const mm_job job = job_of(env, map, config, 0);
  assert_ok(mm_cuda_profile_job(0, &job, 3, 2, &profile));
  double sum = 0;
  assert_in_range(profile.n_stage, 2, MM_CUDA_PROFILE_STAGES);
  for (int i = 0; i < profile.n_stage; i++) {
    assert_true(profile.stage[i].share >= 0);
    sum += profile.stage[i].share;
  }
  assert_true(fabs(sum - 1) < 1e-9);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

#endif
