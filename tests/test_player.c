// SPDX-License-Identifier: Apache-2.0
// Suite `player`: policies as other programs use them, through the public headers: trained in
// memory, taken apart tensor by tensor, asked for actions, played. Expected numbers are computed
// here from the tensors, in double.

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h" // the streams that evaluations promise
#include "mirrormap/mirrormap.h"
#include "scarce_memory.h"

enum { HIDDEN = 8, AGENTS = 2, ROWS = 130 };

// A training of a few iterations, on discrete or on continuous actions.
typedef struct rig {
  mm_env *env;
  mm_map *map;
  mm_ampo_config ampo;
  mm_gaussian_config gaussian;
  mm_job job[AGENTS];
  mm_vec_info about; // of the environment
  float *obs;        // [ROWS][n_input]
} rig;

static void make_small(mm_actor_critic_config *net) {
  net->steps = 2048;
  net->envs = 4;
  net->unroll = 64;
  net->epochs = 4;
  net->lr = 0.01;
  net->hidden = HIDDEN;
}

// States that random play comes to.
static float *visit(const mm_env *env, mm_vec_info *about) {
  mm_vec_config config = mm_vec_config_default();
  mm_vec *vec;
  config.n = ROWS;
  config.seed = 9;
  assert_ok(mm_vec_create(env, &config, &vec));
  mm_vec_describe(vec, about);
  float *obs = malloc(about->obs_size), reward[ROWS], real[ROWS];
  uint8_t end[ROWS];
  int32_t action[ROWS];
  mm_vec_out out = { .obs = obs, .reward = reward, .end = end };
  assert_ok(mm_vec_reset(vec, &out));
  for (int t = 0; t < 12; t++) {
    for (int i = 0; i < ROWS; i++) {
      action[i] = (i + t * i / 3) % 2;
      real[i] = (float)(i % 5 - 2);
    }
    assert_ok(mm_vec_step(vec, about->n_real > 0 ? (const void *)real : action, &out));
  }
  mm_vec_destroy(vec);
  return obs;
}

static rig open_rig(bool real) {
  rig r = { .ampo = mm_ampo_config_default(), .gaussian = mm_gaussian_config_default() };
  make_small(&r.ampo.net);
  make_small(&r.gaussian.net);
  assert_ok(mm_env_open(real ? "Pendulum-v1" : "CartPole-v1", &r.env));
  assert_ok(mm_map_open(real ? "negentropy" : "l2", &r.map));
  r.obs = visit(r.env, &r.about);
  for (size_t i = 0; i < AGENTS; i++)
    r.job[i] = (mm_job){ .env = r.env, .map = r.map, .algo = MM_ALGO_AMPO, .seed = 7 + i };
  return r;
}

// The settings lie in the rig, which may have moved.
static void bind(rig *r) {
  for (size_t i = 0; i < AGENTS; i++) {
    r->job[i].algo = r->about.n_real > 0 ? MM_ALGO_GAUSSIAN : MM_ALGO_AMPO;
    r->job[i].config = r->about.n_real > 0 ? (const void *)&r->gaussian : &r->ampo;
  }
}

static void close_rig(rig *r) {
  free(r->obs);
  mm_map_destroy(r->map);
  mm_env_destroy(r->env);
}

static mm_policy *train(rig *r) {
  mm_policy *policy;
  mm_policy_info info;
  bind(r);
  assert_ok(mm_policy_create(r->job, AGENTS, &policy));
  mm_policy_describe(policy, &info);
  assert_true(info.n_input == 0 && isnan(info.final_value[0]));
  assert_int_equal(mm_policy_tensors(policy), 0);
  for (size_t i = 0; i < AGENTS; i++) {
    mm_result result;
    r->job[i].hooks = mm_policy_hooks(policy);
    assert_ok(mm_job_run(&r->job[i], NULL, &result));
    assert_true(info.final_value[i] == result.final_value);
    mm_result_release(&result);
  }
  return policy;
}

// ---------------------------------------------------------------------------------------------
// The networks once more

static const float *tensor(const mm_policy *policy, const char *name, size_t agent) {
  mm_policy_tensor t;
  assert_ok(mm_policy_tensor_find(policy, name, &t));
  assert_true(t.shape[0] == AGENTS && strcmp(t.name, name) == 0);
  return t.data + agent * t.shape[1] * t.shape[2];
}

static void layer(const mm_policy *policy, size_t agent, const char *who, int l, size_t rows,
                  size_t cols, const double *x, double *y) {
  char name[32];
  snprintf(name, sizeof name, "%s.%d.weight", who, l);
  const float *w = tensor(policy, name, agent);
  snprintf(name, sizeof name, "%s.%d.bias", who, l);
  const float *b = tensor(policy, name, agent);
  for (size_t j = 0; j < cols; j++) {
    y[j] = (double)b[j];
    for (size_t i = 0; i < rows; i++)
      y[j] += x[i] * (double)w[i * cols + j];
    if (l < 2) y[j] = tanh(y[j]);
  }
}

static void outputs(const rig *r, const mm_policy *policy, size_t agent, const char *who,
                    const float *obs, size_t n_out, double *out) {
  double x[16], h[2][HIDDEN];
  for (size_t j = 0; j < (size_t)r->about.n_input; j++) {
    x[j] = (double)obs[j];
    if (r->about.n_real == 0) continue;
    x[j] = (x[j] - (double)tensor(policy, "input.mean", agent)[j]) /
           sqrt((double)tensor(policy, "input.variance", agent)[j] + 1e-8);
  }
  layer(policy, agent, who, 0, (size_t)r->about.n_input, HIDDEN, x, h[0]);
  layer(policy, agent, who, 1, HIDDEN, HIDDEN, h[0], h[1]);
  layer(policy, agent, who, 2, HIDDEN, n_out, h[1], out);
}

static void check_values(const rig *r, const mm_policy *policy, mm_player *player) {
  float value[ROWS];
  assert_ok(mm_player_values(player, r->obs, ROWS, value));
  for (size_t i = 0; i < ROWS; i++) {
    double expected;
    outputs(r, policy, 1, "critic", r->obs + i * (size_t)r->about.n_input, 1, &expected);
    assert_true(fabs((double)value[i] - expected) < 1e-4 * (1 + fabs(expected)));
  }
}

static void test_discrete(void **state) {
  (void)state;
  rig r = open_rig(false);
  mm_policy *policy = train(&r);
  mm_policy_info info;
  mm_player *player;
  float probs[ROWS][2], again[2];
  int32_t greedy[ROWS], drawn[ROWS], one;
  mm_policy_describe(policy, &info);
  assert_string_equal(info.env_id, "CartPole-v1");
  assert_true(info.algo == MM_ALGO_AMPO && info.eta == 0.9 && info.seed == 7 && info.n == AGENTS);
  assert_true(info.n_input == 4 && info.n_action == 2 && info.n_real == 0 && !info.relu);
  assert_memory_equal(info.config, &r.ampo, sizeof r.ampo);
  assert_int_equal(mm_policy_tensors(policy), 12);
  assert_ok(mm_player_create(policy, 1, &player));
  assert_ok(mm_player_probs(player, r.obs, ROWS, probs[0]));
  assert_ok(mm_player_act(player, r.obs, ROWS, NULL, greedy));
  mm_draw draw = { .seed = 3, .repeat = 1, .first = 100, .step = 6 };
  assert_ok(mm_player_act(player, r.obs, ROWS, &draw, drawn));
  size_t apart = 0;
  for (size_t i = 0; i < ROWS; i++) {
    double x[2], expected[2], lambda;
    outputs(&r, policy, 1, "actor", r.obs + 4 * i, 2, x);
    x[0] *= 0.9, x[1] *= 0.9;
    assert_ok(mm_map_project(r.map, MM_PROJECTION_EXACT, x, 2, expected, &lambda));
    assert_true(fabs((double)probs[i][0] - expected[0]) < 1e-4);
    assert_int_equal(greedy[i], probs[i][1] > probs[i][0]);
    apart += greedy[i] != drawn[i];
    // a row alone is what it is among others
    mm_draw own = draw;
    own.first += (uint32_t)i;
    assert_ok(mm_player_probs(player, r.obs + 4 * i, 1, again));
    assert_memory_equal(again, probs[i], sizeof again);
    assert_ok(mm_player_act(player, r.obs + 4 * i, 1, &own, &one));
    assert_int_equal(one, drawn[i]);
  }
  assert_true(apart > 0 && apart < ROWS);
  draw.step = 7;
  int32_t later[ROWS];
  assert_ok(mm_player_act(player, r.obs, ROWS, &draw, later));
  assert_memory_not_equal(later, drawn, sizeof drawn);
  check_values(&r, policy, player);
  mm_player_destroy(player);
  mm_policy_destroy(policy);
  close_rig(&r);
}

static void test_real(void **state) {
  (void)state;
  rig r = open_rig(true);
  mm_policy *policy = train(&r);
  mm_policy_info info;
  mm_player *player;
  float mean[ROWS], std, greedy[ROWS], drawn[ROWS], one;
  mm_policy_describe(policy, &info);
  assert_true(info.n_input == 3 && info.n_action == 0 && info.n_real == 1);
  assert_int_equal(mm_policy_tensors(policy), 15);
  assert_ok(mm_player_create(policy, 1, &player));
  assert_ok(mm_player_normal(player, r.obs, ROWS, mean, &std));
  assert_true(fabs(log((double)std) - (double)tensor(policy, "actor.log_std", 1)[0]) < 1e-5);
  assert_ok(mm_player_act(player, r.obs, ROWS, NULL, greedy));
  mm_draw draw = { .seed = 3, .first = 5, .step = 1 };
  assert_ok(mm_player_act(player, r.obs, ROWS, &draw, drawn));
  double sum = 0, square = 0;
  for (size_t i = 0; i < ROWS; i++) {
    double expected;
    outputs(&r, policy, 1, "actor", r.obs + 3 * i, 1, &expected);
    assert_true(fabs((double)mean[i] - expected) < 1e-4);
    // to the range of Pendulum, -2 to 2
    assert_true(fabs((double)greedy[i] - 2 * fmax(-1, fmin(1, (double)mean[i]))) < 1e-6);
    assert_true(fabsf(drawn[i]) <= 2);
    mm_draw own = draw;
    own.first += (uint32_t)i;
    assert_ok(mm_player_act(player, r.obs + 3 * i, 1, &own, &one));
    assert_true(one == drawn[i]);
    const double apart = (double)drawn[i] - (double)greedy[i];
    sum += apart;
    square += apart * apart;
  }
  // clipped noise of deviation 2 std, here about 1
  assert_true(fabs(sum / ROWS) < 0.6 && square / ROWS > 0.3 && square / ROWS < 4);
  check_values(&r, policy, player);
  mm_player_destroy(player);
  mm_policy_destroy(policy);
  close_rig(&r);
}

// ---------------------------------------------------------------------------------------------
// Episodes

// The first episodes of an agent by a loop of one's own are those of an evaluation.
static void check_episodes(bool real) {
  enum { N = 40 };
  rig r = open_rig(real);
  mm_policy *policy = train(&r);
  mm_evaluate_config evaluate = mm_evaluate_config_default();
  mm_evaluation e;
  evaluate.policy = policy; // the environment is the policy's
  evaluate.agent = 1;
  evaluate.episodes = N;
  evaluate.seed = 4;
  assert_ok(mm_evaluate_run(&evaluate, &e));
  const mm_block base = mm_stream_block(mm_stream_make(4, 0, MM_RNG_EVALUATION, 0), 0);
  mm_vec_config config = mm_vec_config_default();
  mm_vec *vec;
  mm_player *player;
  config.n = N;
  config.seed = 8;
  config.repeat = 0x80000000u | (base.word[0] & INT32_MAX);
  assert_ok(mm_vec_create(r.env, &config, &vec));
  assert_ok(mm_player_create(policy, 1, &player));
  float *obs = malloc(N * (size_t)r.about.n_input * sizeof *obs), reward[N], real_action[N];
  int32_t action[N];
  uint8_t end[N], over[N] = { 0 };
  double value[N] = { 0 };
  mm_vec_out out = { .obs = obs, .reward = reward, .end = end };
  assert_ok(mm_vec_reset(vec, &out));
  mm_draw draw = { .seed = config.seed, .repeat = config.repeat };
  for (size_t left = N; left > 0; draw.step++) {
    void *acts = real ? (void *)real_action : action;
    assert_ok(mm_player_act(player, obs, N, &draw, acts));
    assert_ok(mm_vec_step(vec, acts, &out));
    for (size_t i = 0; i < N; i++) {
      if (over[i]) continue;
      value[i] += (double)reward[i];
      over[i] = end[i];
      left -= end[i] != 0;
    }
  }
  assert_memory_equal(value, e.value, sizeof value);
  free(obs);
  mm_evaluation_release(&e);
  mm_player_destroy(player);
  mm_vec_destroy(vec);
  mm_policy_destroy(policy);
  close_rig(&r);
}

static void test_episodes(void **state) {
  (void)state;
  check_episodes(false);
  check_episodes(true);
}

// To a file and back: the same agents, in the same episodes.
static void test_file(void **state) {
  (void)state;
  char path[] = "/tmp/mirrormap-test-XXXXXX";
  close(mkstemp(path));
  rig r = open_rig(false);
  mm_policy *policy = train(&r), *back;
  mm_evaluate_config config = mm_evaluate_config_default();
  mm_evaluation e, f;
  assert_ok(mm_policy_save(policy, path));
  assert_ok(mm_policy_load(path, &back));
  config.policy = policy;
  config.episodes = 8;
  assert_ok(mm_evaluate_run(&config, &e));
  config.policy = back;
  assert_ok(mm_evaluate_run(&config, &f));
  assert_int_equal(e.n_agent, AGENTS);
  assert_memory_equal(e.value, f.value, 8 * AGENTS * sizeof *e.value);
  for (size_t i = 0; i < mm_policy_tensors(policy); i++) {
    mm_policy_tensor a, b;
    assert_ok(mm_policy_tensor_at(policy, i, &a));
    assert_ok(mm_policy_tensor_at(back, i, &b));
    assert_string_equal(a.name, b.name);
    assert_memory_equal(a.shape, b.shape, sizeof a.shape);
    assert_memory_equal(a.data, b.data, a.shape[0] * a.shape[1] * a.shape[2] * sizeof *a.data);
  }
  mm_evaluation_release(&e);
  mm_evaluation_release(&f);
  mm_policy_destroy(policy);
  mm_policy_destroy(back);
  close_rig(&r);
  unlink(path);
}

// The rules of the training are those of the episodes, unless others are asked for.
static void test_rules(void **state) {
  (void)state;
  rig r = open_rig(false);
  mm_env *env;
  mm_policy *policy;
  mm_result result;
  mm_evaluation by_training, minatar, gymnax;
  assert_ok(mm_env_open("Asterix-MinAtar", &env));
  r.ampo.net.rules = MM_RULES_MINATAR;
  bind(&r);
  r.job[0].env = env;
  assert_ok(mm_policy_create(r.job, 1, &policy));
  r.job[0].hooks = mm_policy_hooks(policy);
  assert_ok(mm_job_run(r.job, NULL, &result));
  mm_result_release(&result);
  mm_evaluate_config config = mm_evaluate_config_default();
  config.policy = policy;
  config.episodes = 16;
  assert_ok(mm_evaluate_run(&config, &by_training));
  config.rules = MM_RULES_MINATAR;
  assert_ok(mm_evaluate_run(&config, &minatar));
  config.rules = MM_RULES_GYMNAX;
  assert_ok(mm_evaluate_run(&config, &gymnax));
  assert_memory_equal(by_training.value, minatar.value, 16 * sizeof *minatar.value);
  assert_memory_equal(by_training.length, minatar.length, 16 * sizeof *minatar.length);
  assert_memory_not_equal(gymnax.length, minatar.length, 16 * sizeof *minatar.length);
  mm_evaluation_release(&by_training);
  mm_evaluation_release(&minatar);
  mm_evaluation_release(&gymnax);
  mm_policy_destroy(policy);
  mm_env_destroy(env);
  close_rig(&r);
}

// ---------------------------------------------------------------------------------------------
// A candidate of a search brings its map and its step size

static void test_candidate(void **state) {
  (void)state;
  rig r = open_rig(false);
  double q = 0.3;
  mm_policy *policy;
  mm_policy_info info;
  mm_map *map;
  bind(&r);
  mm_job job = r.job[0];
  job.map = NULL;
  job.point.kind = MM_MAP_TSALLIS;
  job.point.n = 1;
  job.point.z = &q;
  job.point.eta = 0.25;
  assert_ok(mm_policy_create(&job, 1, &policy));
  mm_policy_describe(policy, &info);
  assert_ok(mm_map_from_search(MM_MAP_TSALLIS, 1, &q, &map));
  assert_true(info.eta == 0.25);
  assert_int_equal(mm_map_get_kind(info.map), MM_MAP_TSALLIS);
  const double x[3] = { -0.5, 0.25, 2 };
  double expected[3], found[3];
  assert_ok(mm_map_phi(map, x, 3, expected));
  assert_ok(mm_map_phi(info.map, x, 3, found));
  assert_memory_equal(found, expected, sizeof found);
  mm_map_destroy(map);
  mm_policy_destroy(policy);
  close_rig(&r);
}

// ---------------------------------------------------------------------------------------------

static void test_refused(void **state) {
  (void)state;
  rig discrete = open_rig(false), real = open_rig(true);
  mm_policy *a = train(&discrete), *b = train(&real), *c;
  mm_player *player;
  mm_policy_tensor t;
  float out[4], std;
  assert_fails(mm_policy_tensor_find(a, "actor.0.wieght", &t), MM_ERR_INPUT, "'actor.0.weight'?");
  assert_fails(mm_policy_tensor_find(a, "zzz", &t), MM_ERR_INPUT, "'zzz': the policy has no such");
  assert_fails(mm_policy_tensor_find(a, "input.mean", &t), MM_ERR_INPUT, "'input.mean'");
  assert_fails(mm_policy_tensor_at(a, 12, &t), MM_ERR_INPUT, "below 12");
  assert_fails(mm_player_create(a, AGENTS, &player), MM_ERR_INPUT, "agent 2");
  assert_null(player);
  assert_ok(mm_player_create(a, 0, &player));
  assert_fails(mm_player_normal(player, discrete.obs, 1, out, &std), MM_ERR_INPUT, "discrete");
  mm_draw draw = { .first = 1 << 24 };
  int32_t action;
  assert_fails(mm_player_act(player, discrete.obs, 1, &draw, &action), MM_ERR_INPUT, "16777216");
  mm_player_destroy(player);
  assert_ok(mm_player_create(b, 0, &player));
  assert_fails(mm_player_probs(player, real.obs, 1, out), MM_ERR_INPUT, "real");
  real.obs[0] = INFINITY;
  assert_fails(mm_player_act(player, real.obs, 1, NULL, out), MM_ERR_NUMERIC, "not finite");
  mm_player_destroy(player);
  assert_ok(mm_policy_fits(a, discrete.env, MM_RULES_BY_ID));
  assert_fails(mm_policy_fits(a, real.env, MM_RULES_BY_ID), MM_ERR_INPUT, "continuous actions");
  assert_fails(mm_policy_fits(b, discrete.env, MM_RULES_BY_ID), MM_ERR_INPUT, "discrete actions");
  // jobs
  const mm_pmd_config pmd = mm_pmd_config_default();
  mm_job job = discrete.job[0];
  job.algo = MM_ALGO_PMD;
  job.config = &pmd;
  assert_fails(mm_policy_create(&job, 1, &c), MM_ERR_INPUT, "tables");
  assert_null(c);
  job.config = NULL;
  assert_fails(mm_policy_create(&job, 1, &c), MM_ERR_INPUT, "settings");
  job = discrete.job[0];
  discrete.ampo.net.lr = -1;
  assert_fails(mm_policy_create(&job, 1, &c), MM_ERR_INPUT, "'lr'");
  discrete.ampo.net.lr = 0.01;
  // an agent that was not trained, a job of another seed, a net of another shape
  mm_result result;
  assert_ok(mm_policy_create(&job, 2, &c));
  job.hooks = mm_policy_hooks(c);
  job.seed = 9;
  assert_ok(mm_job_run(&job, NULL, &result));
  mm_result_release(&result);
  assert_int_equal(mm_policy_tensors(c), 0);
  job.seed = 8;
  assert_ok(mm_job_run(&job, NULL, &result));
  mm_result_release(&result);
  assert_fails(mm_player_create(c, 0, &player), MM_ERR_INPUT, "agent 0 has no networks");
  assert_fails(mm_policy_save(c, "/nonexistent"), MM_ERR_INPUT, "agent 0 has no networks");
  // evaluations
  mm_evaluate_config config = mm_evaluate_config_default();
  mm_evaluation e;
  assert_fails(mm_evaluate_run(&config, &e), MM_ERR_INPUT, "policy");
  config.policy = a;
  config.size++;
  assert_fails(mm_evaluate_run(&config, &e), MM_ERR_INPUT, "mm_evaluate_config_default()");
  config.size = 0;
  assert_fails(mm_evaluate_run(&config, &e), MM_ERR_INPUT, "mm_evaluate_config: size = 0");
  mm_policy_destroy(a);
  mm_policy_destroy(b);
  mm_policy_destroy(c);
  close_rig(&discrete);
  close_rig(&real);
}

// ---------------------------------------------------------------------------------------------
// Several threads, and none of the memory

typedef struct reader {
  const rig *r;
  const mm_policy *policy;
  float action[ROWS];
  mm_status status;
} reader;

static void *read_actions(void *user) {
  reader *own = user;
  mm_player *player;
  const mm_draw draw = { .seed = 1 };
  own->status = mm_player_create(own->policy, 0, &player);
  for (int k = 0; k < 50 && own->status == MM_OK; k++)
    own->status = mm_player_act(player, own->r->obs, ROWS, &draw, own->action);
  mm_player_destroy(player);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 4 };
  rig r = open_rig(true);
  mm_policy *policy = train(&r);
  reader each[THREADS];
  pthread_t thread[THREADS];
  for (size_t i = 0; i < THREADS; i++) {
    each[i] = (reader){ .r = &r, .policy = policy };
    assert_int_equal(pthread_create(&thread[i], NULL, read_actions, &each[i]), 0);
  }
  for (size_t i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    assert_ok(each[i].status);
    assert_memory_equal(each[i].action, each[0].action, sizeof each[i].action);
  }
  mm_policy_destroy(policy);
  close_rig(&r);
}

// What a program does with a policy, from the job to the episodes.
static mm_status use(const rig *r) {
  mm_policy *policy;
  mm_player *player = NULL;
  mm_evaluation e = { 0 };
  mm_result result;
  mm_job job = r->job[0];
  mm_status status = mm_policy_create(&job, 1, &policy);
  if (status != MM_OK) return status;
  job.hooks = mm_policy_hooks(policy);
  status = mm_job_run(&job, NULL, &result);
  mm_result_release(&result);
  if (status == MM_OK && mm_policy_tensors(policy) == 0) status = MM_ERR_MEMORY;
  if (status == MM_OK) status = mm_player_create(policy, 0, &player);
  mm_evaluate_config config = mm_evaluate_config_default();
  config.policy = policy;
  config.episodes = 2;
  config.threads = 1;
  if (status == MM_OK) status = mm_evaluate_run(&config, &e);
  mm_evaluation_release(&e);
  mm_player_destroy(player);
  mm_policy_destroy(policy);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  int failures = 0;
  for (int real = 0; real < 2; real++) {
    rig r = open_rig(real != 0);
    r.ampo.net.steps = r.gaussian.net.steps = 256;
    bind(&r);
    mm_status status = MM_ERR_MEMORY;
    for (size_t n = 0; status != MM_OK; n++, failures++) {
      allocations_left = n;
      make_memory_scarce();
      status = use(&r);
      make_memory_usual();
      assert_true(status == MM_OK || status == MM_ERR_MEMORY);
      assert_true(n < 1000);
    }
    close_rig(&r);
  }
  assert_true(failures > 40);
}

int suite_player(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_discrete),  cmocka_unit_test(test_real),
    cmocka_unit_test(test_episodes),  cmocka_unit_test(test_file),
    cmocka_unit_test(test_rules),     cmocka_unit_test(test_candidate),
    cmocka_unit_test(test_refused),   cmocka_unit_test(test_threads),
    cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests_name("player", tests, NULL, NULL);
}
