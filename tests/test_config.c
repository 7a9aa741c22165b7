// SPDX-License-Identifier: Apache-2.0
// Suite `config`: structs of settings of programs that were compiled with fewer fields than the
// library has, or with more. A shorter struct is written out here as such a program has it: with
// something of its own behind its end, which must be neither written nor read.

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "mirrormap/mirrormap.h"
#include "run_fixture.h"
#include "scarce_memory.h"

// ---------------------------------------------------------------------------------------------
// As much as there is room for

enum { ROOM = 1024, OTHER = 0xa5 };

static void init_es(void *out, size_t size) {
  mm_es_config_init(out, size, MM_ES_SEP_CMA);
}

static void init_study(void *out, size_t size) {
  mm_study_config_init(out, size, MM_STUDY_TUNE);
}

#define INIT(name)                                                                                 \
  static void init_##name(void *out, size_t size) {                                                \
    mm_##name##_init(out, size);                                                                   \
  }
INIT(vec_config)
INIT(backend_config)
INIT(evaluate_config)
INIT(study_machine)
INIT(pmd_config)
INIT(ampo_config)
INIT(gaussian_config)
INIT(ppo_config)

static const struct {
  void (*init)(void *out, size_t size);
  size_t size;
} structs[] = { { init_es, sizeof(mm_es_config) },
                { init_study, sizeof(mm_study_config) },
#define STRUCT(name) { init_##name, sizeof(mm_##name) },
                STRUCT(vec_config) STRUCT(backend_config) STRUCT(evaluate_config)
                    STRUCT(study_machine) STRUCT(pmd_config) STRUCT(ampo_config)
                        STRUCT(gaussian_config) STRUCT(ppo_config) };

static void test_room(void **state) {
  (void)state;
  union {
    size_t size;
    unsigned char byte[ROOM];
  } whole, part;
  for (size_t s = 0; s < sizeof structs / sizeof *structs; s++) {
    const size_t ours = structs[s].size;
    assert_true(ours + sizeof(size_t) < ROOM);
    memset(&whole, OTHER, sizeof whole);
    structs[s].init(&whole, ours);
    assert_int_equal(whole.size, ours);
    for (size_t size = 2 * sizeof size; size <= ours + sizeof size; size += sizeof size) {
      memset(&part, OTHER, sizeof part);
      structs[s].init(&part, size);
      assert_int_equal(part.size, size);
      const size_t both = size < ours ? size : ours;
      assert_memory_equal(part.byte + sizeof size, whole.byte + sizeof size, both - sizeof size);
      for (size_t i = both; i < ROOM; i++)
        assert_int_equal(part.byte[i], i < size ? 0 : OTHER);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Older programs

// Before there were `repeat` and what follows it.
static void test_vec(void **state) {
  (void)state;
  struct {
    size_t size, n;
    uint64_t seed;
    uint64_t behind[8];
  } config;
  mm_env *env;
  mm_vec *vec, *same;
  mm_vec_config now = mm_vec_config_default();
  memset(&config, 0xff, sizeof config);
  mm_vec_config_init((mm_vec_config *)(void *)&config, offsetof(mm_vec_config, repeat));
  assert_true(config.behind[0] == UINT64_MAX);
  now.n = config.n = 3;
  now.seed = config.seed = 5;
  assert_ok(mm_env_open("CartPole-v1", &env));
  assert_ok(mm_vec_create(env, (const mm_vec_config *)(void *)&config, &vec));
  assert_ok(mm_vec_create(env, &now, &same));
  float obs[2][12];
  assert_ok(mm_vec_reset(vec, &(mm_vec_out){ .obs = obs[0] }));
  assert_ok(mm_vec_reset(same, &(mm_vec_out){ .obs = obs[1] }));
  assert_memory_equal(obs[0], obs[1], sizeof obs[0]);
  mm_vec_destroy(same);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
}

// Before strategies had more to say than `kind`, `dimension` and `population`: the rest is the
// kind's own.
static void test_es(void **state) {
  (void)state;
  mm_es_config older = mm_es_config_default(MM_ES_OPENES), now = older;
  const double start[4] = { 0 };
  mm_es *es;
  now.dimension = older.dimension = 4;
  memset((char *)&older + offsetof(mm_es_config, sigma), 0xff,
         sizeof older - offsetof(mm_es_config, sigma));
  older.size = offsetof(mm_es_config, sigma);
  assert_ok(mm_es_create(&older, start, &es));
  const mm_es_config *taken = mm_es_get_config(es);
  assert_int_equal(taken->size, older.size); // what a program that copies it knows
  assert_true(taken->sigma == now.sigma && taken->lr == now.lr && taken->restarts == 0);
  mm_es_destroy(es);
  older.kind = (mm_es_kind)77;
  assert_fails(mm_es_create(&older, start, &es), MM_ERR_INPUT, "kind = 77");
}

// A config of tabular PMD from before eta_schedule, and one of AMPO from before all switches of its
// own: jobs give the same bits, one alone and in a list, and hooks hear of the caller's own jobs.
typedef struct heard {
  const mm_job *job;
  size_t n;
} heard;

static void hear(const mm_job *job, const mm_result *result, void *user) {
  heard *h = user;
  assert_true(job >= h->job && job < h->job + 3 && result->n_curve > 0);
  h->n++;
}

static void check_jobs(const mm_job *now, const void *older) {
  mm_result expected, result[3];
  mm_job job[3];
  heard h = { .job = job };
  const mm_job_hooks hooks = { .ended = hear, .user = &h };
  mm_backend_config backend = mm_backend_config_default();
  backend.place.kind = MM_BACKEND_CPU;
  backend.threads = 2;
  assert_ok(mm_job_run(now, NULL, &expected));
  for (int i = 0; i < 3; i++) {
    job[i] = *now;
    job[i].hooks = &hooks;
    if (i != 1) job[i].config = older; // one among them has all settings
  }
  assert_ok(mm_job_run(&job[0], NULL, &result[0]));
  assert_true(h.n == 1 && result[0].final_value == expected.final_value);
  mm_result_release(&result[0]);
  assert_ok(mm_backend_run(&backend, job, 3, result));
  assert_int_equal(h.n, 4);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(result[i].n_curve, expected.n_curve);
    assert_memory_equal(result[i].curve, expected.curve, expected.n_curve * sizeof(double));
    mm_result_release(&result[i]);
  }
  mm_result_release(&expected);
}

static void shorten(void *config, size_t size, size_t whole) {
  memset((char *)config + size, 0xff, whole - size);
  memcpy(config, &size, sizeof size);
}

static void test_learners(void **state) {
  (void)state;
  mm_pmd_config pmd = mm_pmd_config_default(), older_pmd;
  mm_ampo_config ampo = mm_ampo_config_default(), older_ampo;
  mm_job job = { .seed = 3, .algo = MM_ALGO_PMD, .config = &pmd };
  mm_env *grid, *pole;
  mm_map *map;
  mm_policy *policy;
  mm_policy_info info;
  assert_ok(mm_env_open("GridWorld-dense", &grid));
  assert_ok(mm_env_open("CartPole-v1", &pole));
  assert_ok(mm_map_open("l2", &map));
  pmd.steps = 4096;
  older_pmd = pmd;
  shorten(&older_pmd, offsetof(mm_pmd_config, eta_schedule), sizeof older_pmd);
  job.env = grid;
  job.map = map;
  check_jobs(&job, &older_pmd);
  ampo.net.steps = 2048;
  ampo.net.hidden = 8;
  older_ampo = ampo;
  shorten(&older_ampo, sizeof(mm_actor_critic_config), sizeof older_ampo);
  job.env = pole;
  job.algo = MM_ALGO_AMPO;
  job.config = &ampo;
  check_jobs(&job, &older_ampo);
  job.config = &older_ampo;
  assert_ok(mm_policy_create(&job, 1, &policy));
  mm_policy_describe(policy, &info);
  const mm_ampo_config *taken = info.config;
  assert_true(taken->eta == ampo.eta && taken->net.size == sizeof ampo);
  mm_policy_destroy(policy);
  mm_map_destroy(map);
  mm_env_destroy(pole);
  mm_env_destroy(grid);
}

// Before there was `tune_budget`.
static void test_study(void **state) {
  (void)state;
  static const char *const env[] = { "GridWorld-dense" }, *const map[] = { "l2" };
  static const char *const set[] = { "steps=64", "envs=8", "unroll=8" };
  mm_study_config config = mm_study_config_default(MM_STUDY_TRANSFER);
  mm_study_machine machine = mm_study_machine_default();
  mm_study *study;
  config.env = env, config.map = map, config.set = set;
  config.n_env = config.n_map = config.seeds = 1, config.n_set = 3;
  shorten(&config, offsetof(mm_study_config, tune_budget), sizeof config);
  shorten(&machine, offsetof(mm_study_machine, save_seconds), sizeof machine);
  assert_ok(mm_study_create(fixture_path("older"), &config, &study));
  assert_ok(mm_study_advance(study, &machine));
  assert_true(mm_study_done(study));
  mm_study_close(study);
}

// ---------------------------------------------------------------------------------------------
// What cannot be

static void test_refused(void **state) {
  (void)state;
  const size_t sizes[] = { 0, sizeof(size_t), sizeof(mm_ampo_config) - 1,
                           sizeof(mm_ampo_config) + sizeof(size_t) };
  mm_ampo_config config = mm_ampo_config_default();
  mm_env *env;
  mm_map *map;
  mm_policy *policy;
  mm_result result;
  assert_ok(mm_env_open("CartPole-v1", &env));
  assert_ok(mm_map_open("l2", &map));
  const mm_job job = { .env = env, .map = map, .algo = MM_ALGO_AMPO, .config = &config };
  const mm_backend_config backend = mm_backend_config_default();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    config.net.size = sizes[i];
    assert_fails(mm_job_run(&job, NULL, &result), MM_ERR_INPUT, "mm_ampo_config: size = ");
    assert_fails(mm_backend_run(&backend, &job, 1, &result), MM_ERR_INPUT,
                 "as mm_ampo_config_default() sets it");
    assert_fails(mm_policy_create(&job, 1, &policy), MM_ERR_INPUT, "mm_ampo_config: size = ");
  }
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Each allocation of the completed copies fails once; a call is repeated until it has enough.
static void test_memory(void **state) {
  (void)state;
  mm_pmd_config config = mm_pmd_config_default();
  mm_env *env;
  mm_map *map;
  mm_result result[2];
  config.steps = 2048;
  shorten(&config, offsetof(mm_pmd_config, eta_schedule), sizeof config);
  assert_ok(mm_env_open("GridWorld-dense", &env));
  assert_ok(mm_map_open("l2", &map));
  mm_job job[2] = { { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config } };
  mm_backend_config backend = mm_backend_config_default();
  backend.place.kind = MM_BACKEND_CPU;
  backend.threads = 1;
  job[1] = job[0];
  make_memory_scarce();
  mm_status status = MM_ERR_MEMORY;
  for (size_t n = 0; status != MM_OK; n++) {
    allocations_left = n;
    status = mm_backend_run(&backend, job, 2, result);
    if (status == MM_OK && result[0].status != MM_OK) status = result[0].status;
    if (status == MM_OK && result[1].status != MM_OK) status = result[1].status;
    assert_true(status == MM_OK || status == MM_ERR_MEMORY);
    mm_result_release(&result[0]);
    mm_result_release(&result[1]);
  }
  make_memory_usual();
  mm_map_destroy(map);
  mm_env_destroy(env);
}

int suite_config(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_room),
    cmocka_unit_test(test_vec),
    cmocka_unit_test(test_es),
    cmocka_unit_test(test_learners),
    cmocka_unit_test_setup_teardown(test_study, fixture_open, fixture_close),
    cmocka_unit_test(test_refused),
    cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
