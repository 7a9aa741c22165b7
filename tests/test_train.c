// SPDX-License-Identifier: Apache-2.0
// Trainings with a run database: stopped at any moment, on any number of threads, they end with the
// same rows and the same policies; what does not belong there is refused; a disk that is full for a
// while costs nothing.

#define _XOPEN_SOURCE 700

#include "study/train/train.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_fixture.h"
#include "scarce_memory.h"
#include "study/jobs/job_store_internal.h"
#include "study/run/run_table.h"
#include "study/train/train_internal.h"
#include "test.h"

static mm_train_plan small_plan(const char *env, const char *map, mm_algo algo, size_t seeds) {
  mm_train_plan plan = { .settings = mm_settings_default(algo), .seed = 11, .seeds = seeds };
  snprintf(plan.env, sizeof plan.env, "%s", env);
  snprintf(plan.map, sizeof plan.map, "%s", map);
  if (algo == MM_ALGO_PMD) {
    plan.settings.pmd.envs = 8;
    plan.settings.pmd.unroll = 8;
    plan.settings.pmd.steps = 64 * 4;
    return plan;
  }
  plan.settings.net.envs = 4;
  plan.settings.net.unroll = 32;
  plan.settings.net.steps = 4 * 32 * (test_is_slowed() ? 20 : 60);
  plan.settings.net.hidden = 24;
  return plan;
}

static mm_train *begin(const char *name, const mm_train_plan *plan, mm_map **map) {
  mm_train *t;
  assert_ok(mm_map_open(plan->map, map));
  assert_ok(mm_train_create(name ? fixture_path(name) : NULL, plan, *map, &t));
  return t;
}

// From beginning to end, undisturbed.
static void run_calmly(const char *name, const mm_train_plan *plan, int threads) {
  mm_map *map;
  mm_train *t = begin(name, plan, &map);
  mm_train_view view;
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = threads };
  assert_ok(mm_train_run(t, &backend, 0));
  mm_train_look(t, &view);
  assert_true(view.complete && view.n_done == plan->seeds && view.n_failed == 0);
  mm_study_end(mm_train_study(t), "done");
  mm_train_close(t);
  mm_map_destroy(map);
}

// ---------------------------------------------------------------------------------------------
// The same bits

// All rows but those of the sessions.
typedef struct digest {
  const mm_run_table *table; // whose rows are coming
  uint32_t crc;
  int rows;
} digest;

static int add_row(const mm_run_row *row, void *user) {
  digest *d = user;
  mm_run_cell cell[MM_RUN_COLUMNS_MAX];
  mm_run_cells_of(d->table, row, cell);
  d->crc = d->crc * 31 + mm_run_crc(d->table, cell);
  d->rows++;
  return 0;
}

static digest digest_of(const char *name) {
  digest d = { 0 };
  mm_run *run;
  mm_run_summary summary;
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_READ, &run));
  assert_ok(mm_run_verify(run));
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    d.table = &mm_run_tables[i];
    if (i != MM_RUN_SESSION) assert_ok(mm_run_each(run, (mm_run_table_id)i, add_row, &d));
  }
  assert_ok(mm_run_summarise(run, &summary));
  assert_int_equal(summary.kept, 0);
  mm_run_close(run);
  return d;
}

static void expect_same(const char *a, const char *b, bool policy) {
  digest x = digest_of(a), y = digest_of(b);
  char path[1100];
  size_t m, n;
  assert_int_equal(x.rows, y.rows);
  assert_int_equal(x.crc, y.crc);
  snprintf(path, sizeof path, "%s/policy.safetensors", fixture_path(a));
  assert_int_equal(fixture_exists(path), policy);
  if (!policy) return;
  char *p = fixture_load(path, &m);
  snprintf(path, sizeof path, "%s/policy.safetensors", fixture_path(b));
  char *q = fixture_load(path, &n);
  assert_int_equal(m, n);
  assert_memory_equal(p, q, m);
  free(p);
  free(q);
}

static volatile int stop;

static void set_stop(int number) {
  (void)number;
  stop = 1;
}

// Stops after some milliseconds of work, then after more of them, until it is done.
static int run_in_pieces(const char *name, const mm_train_plan *plan) {
  struct sigaction action = { .sa_handler = set_stop, .sa_flags = SA_RESTART };
  sigaction(SIGPROF, &action, NULL);
  bool done = false;
  int pieces = 0;
  for (; !done && pieces < 200; pieces++) {
    mm_map *map = NULL;
    mm_train *t;
    mm_train_view view;
    mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                  .threads = 1 + pieces % 3,
                                  .stop = &stop };
    if (pieces == 0)
      t = begin(name, plan, &map);
    else
      assert_ok(mm_train_resume(fixture_path(name), &t));
    struct itimerval after = { .it_value = { 0, 5000 + 4000 * pieces } };
    stop = 0;
    setitimer(ITIMER_PROF, &after, NULL);
    mm_status status = mm_train_run(t, &backend, 1e-3);
    mm_train_look(t, &view);
    done = status == MM_OK;
    assert_true(done || status == MM_ERR_INTERRUPTED);
    assert_int_equal(view.complete, done);
    mm_study_end(mm_train_study(t), done ? "done" : "interrupted");
    mm_train_close(t);
    mm_map_destroy(map);
  }
  assert_true(done);
  return pieces;
}

static void test_in_pieces(void **state) {
  (void)state;
  static const struct {
    const char *env, *map;
    mm_algo algo;
  } cases[] = {
    { "CartPole-v1", "l2", MM_ALGO_AMPO },
    { "Breakout-MinAtar", "random:1", MM_ALGO_AMPO },
    { "MinAtar/Seaquest-v1", "negentropy", MM_ALGO_PPO },
  };
  // with sanitizers an iteration takes ten times as long, so that fewer are as many pieces
  const bool slowed = test_is_slowed();
  for (size_t i = 0; i < (slowed ? 1 : sizeof cases / sizeof *cases); i++) {
    mm_train_plan plan = small_plan(cases[i].env, cases[i].map, cases[i].algo, 3);
    plan.settings.net.steps *= 2;
    char calm[32], wild[32];
    snprintf(calm, sizeof calm, "calm-%zu", i);
    snprintf(wild, sizeof wild, "wild-%zu", i);
    run_calmly(calm, &plan, 2);
    int pieces = run_in_pieces(wild, &plan);
    assert_true(pieces > 2);
    expect_same(calm, wild, true);
  }
}

// Tables are not kept, but finished seeds are.
static void test_tables(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("GridWorld-small", "l2", MM_ALGO_PMD, 5);
  plan.settings.pmd.exact_curve = true;
  run_calmly("one", &plan, 1);
  run_calmly("two", &plan, 2);
  expect_same("one", "two", false);
  mm_train *t;
  mm_train_view view;
  assert_ok(mm_train_resume(fixture_path("one"), &t));
  mm_train_look(t, &view);
  assert_true(view.complete && view.n_done == 5 && view.result[4].n_curve == 5);
  assert_true(view.result[0].optimal_value >= view.result[0].final_value - 1e-9);
  mm_train_close(t);
}

// The results of a run that is taken up again are those of one in memory, to the bit.
static void test_results(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("CartPole-v1", "negentropy", MM_ALGO_AMPO, 2);
  mm_map *map;
  mm_train *fresh = begin(NULL, &plan, &map), *stored;
  mm_backend_config backend = { .size = sizeof(mm_backend_config) };
  mm_train_view a, b;
  assert_ok(mm_train_run(fresh, &backend, 60));
  run_calmly("run", &plan, 0);
  assert_ok(mm_train_resume(fixture_path("run"), &stored));
  assert_ok(mm_train_run(stored, &backend, 60));
  mm_train_look(fresh, &a);
  mm_train_look(stored, &b);
  assert_null(a.folder);
  assert_true(a.complete && b.complete && a.policy[0] == '\0' && b.policy[0] != '\0');
  for (size_t i = 0; i < 2; i++) {
    const mm_result *x = &a.result[i], *y = &b.result[i];
    assert_int_equal(x->n_curve, y->n_curve);
    assert_memory_equal(x->curve, y->curve, x->n_curve * sizeof *x->curve);
    assert_memory_equal(x->curve_step, y->curve_step, x->n_curve * sizeof *x->curve_step);
    assert_memory_equal(&x->final_value, &y->final_value, sizeof x->final_value);
    assert_memory_equal(&x->recent_value, &y->recent_value, sizeof x->recent_value);
    assert_true(x->env_steps == y->env_steps);
  }
  mm_train_close(fresh);
  mm_train_close(stored);
  mm_map_destroy(map);
}

// Killed after all seeds and before the policies were written: these are made of what was kept.
static void test_killed_before_the_end(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("CartPole-v1", "l2", MM_ALGO_AMPO, 3);
  run_calmly("calm", &plan, 2);
  pid_t child = fork();
  if (child == 0) {
    mm_map *map;
    mm_train *t;
    mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
    char path[1100];
    if (mm_map_open("l2", &map) != MM_OK) _exit(1);
    if (mm_train_create(fixture_path("killed"), &plan, map, &t) != MM_OK) _exit(2);
    // a link to itself where the file should be: the last step fails
    snprintf(path, sizeof path, "%s/policy.safetensors", fixture_path("killed"));
    if (symlink("policy.safetensors", path) != 0) _exit(3);
    if (mm_train_run(t, &backend, 60) == MM_OK) _exit(4);
    kill(getpid(), SIGKILL);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  assert_int_equal(unlink(fixture_path("killed/policy.safetensors")), 0);
  mm_train *t;
  mm_train_view view;
  mm_backend_config backend = { .size = sizeof(mm_backend_config) };
  assert_ok(mm_train_resume(fixture_path("killed"), &t));
  mm_train_look(t, &view);
  assert_true(view.n_done == 3 && !view.complete);
  assert_ok(mm_train_run(t, &backend, 60));
  mm_train_look(t, &view);
  assert_true(view.complete && view.env_steps == 0); // nothing was trained again
  mm_train_close(t);
  expect_same("calm", "killed", true);
}

// ---------------------------------------------------------------------------------------------
// Trouble

// No file may grow beyond a limit: states and seeds do not fit. Everything is stored when they do.
static void test_full_for_a_while(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("CartPole-v1", "l2", MM_ALGO_AMPO, 3);
  run_calmly("calm", &plan, 2);
  pid_t child = fork();
  if (child == 0) {
    mm_map *map;
    mm_train *t;
    mm_train_view view;
    mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
    char text[MM_ERROR_SIZE];
    signal(SIGXFSZ, SIG_IGN);
    if (mm_map_open("l2", &map) != MM_OK) _exit(1);
    if (mm_train_create(fixture_path("full"), &plan, map, &t) != MM_OK) _exit(2);
    struct rlimit limit = { 60000, RLIM_INFINITY };
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
    mm_status status = mm_train_run(t, &backend, 1e-3);
    if (status != MM_ERR_IO || !strstr(mm_last_error(), "is safe")) _exit(4);
    if (!mm_study_trouble(mm_train_study(t), text) || !strstr(text, "run.db")) _exit(5);
    mm_train_look(t, &view);
    if (view.n_done != 3 || view.complete) _exit(6);
    mm_train_close(t);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 1000, 0);
  mm_train *t;
  mm_backend_config backend = { .size = sizeof(mm_backend_config) };
  assert_ok(mm_train_resume(fixture_path("full"), &t));
  assert_ok(mm_train_run(t, &backend, 60));
  mm_train_close(t);
  expect_same("calm", "full", true);
}

// What is wrong with a plan shows before there is a folder.
static void test_refused_plans(void **state) {
  (void)state;
  mm_map *map;
  mm_train *t;
  assert_ok(mm_map_open("l2", &map));
  static const struct {
    const char *env;
    mm_algo algo;
    double steps;
    const char *why;
  } cases[] = {
    { "CartPole-v1", MM_ALGO_PPO, 7680, "negentropy" },
    { "CartPole-v1", MM_ALGO_AMPO, 100, "less than one iteration" },
    { "Pendulum-v1", MM_ALGO_AMPO, 7680, "continuous actions" },
    { "nowhere.yaml", MM_ALGO_AMPO, 7680, "nowhere" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_train_plan plan = small_plan(cases[i].env, "l2", cases[i].algo, 1);
    plan.settings.net.steps = cases[i].steps;
    assert_fails(mm_train_create(fixture_path("no"), &plan, map, &t), MM_ERR_INPUT, cases[i].why);
    assert_null(t);
    assert_false(fixture_exists(fixture_path("no")));
  }
  mm_map_destroy(map);
}

static void refuse_resume(const char *name, const char *why) {
  mm_train *t;
  assert_fails(mm_train_resume(fixture_path(name), &t), MM_ERR_INPUT, why);
  assert_null(t);
}

// Rows with good checksums that no training of this plan has.
static void test_strange_rows(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("CartPole-v1", "l2", MM_ALGO_AMPO, 2);
  static const struct {
    mm_run_training row;
    const char *why;
  } cases[] = {
    { { .job = 2, .seed = 13 }, "the batch of training 2 is missing" },
    { { .job = 1, .seed = 11 }, "another one's" },
    { { .job = 0, .seed = 11, .status = MM_ERR_IO }, "status" },
    { { .job = 0, .seed = 11, .points = 62 }, "too long" },
  };
  uint64_t step[62];
  double value[62] = { 0 };
  for (uint64_t k = 0; k < 62; k++)
    step[k] = k;
  mm_map *map;
  mm_run *run;
  char name[32];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(name, sizeof name, "run-%zu", i);
    mm_train_close(begin(name, &plan, &map));
    mm_map_destroy(map);
    assert_ok(mm_run_open(fixture_path(name), MM_RUN_WRITE, &run));
    assert_ok(mm_run_begin(run));
    assert_ok(mm_run_put_training(run, &cases[i].row, step, value));
    assert_ok(mm_run_commit(run));
    mm_run_close(run);
    refuse_resume(name, cases[i].why);
  }
  // networks that are none, of a seed that is done
  mm_train_close(begin("net", &plan, &map));
  mm_map_destroy(map);
  mm_run_training row = { .job = 0, .seed = 11 };
  assert_ok(mm_run_open(fixture_path("net"), MM_RUN_WRITE, &run));
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_training(run, &row, NULL, NULL));
  assert_ok(mm_run_keep(run, 0, "hello", 5));
  assert_ok(mm_run_commit(run));
  mm_run_close(run);
  refuse_resume("net", "these 5 bytes are none");
}

// A state that is none fails its seed, and only that.
static void test_strange_state(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("CartPole-v1", "l2", MM_ALGO_AMPO, 2);
  mm_map *map;
  mm_run *run;
  mm_train *t;
  mm_train_view view;
  mm_backend_config backend = { .size = sizeof(mm_backend_config) };
  mm_train_close(begin("run", &plan, &map));
  mm_map_destroy(map);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  assert_ok(mm_run_keep(run, 1, "hello", 5));
  mm_run_close(run);
  assert_ok(mm_train_resume(fixture_path("run"), &t));
  assert_ok(mm_train_run(t, &backend, 60));
  mm_train_look(t, &view);
  assert_true(!view.complete && view.n_failed == 1 && view.trouble == 1);
  assert_non_null(strstr(view.error, "these 5 bytes are none"));
  assert_int_equal(view.result[0].status, MM_OK);
  mm_train_close(t);
}

// Networks as bytes, and bytes that are none.
static void test_networks(void **state) {
  (void)state;
  mm_net_config config = mm_net_config_default(7, 3);
  mm_net *net, *back;
  void *bytes;
  size_t size;
  float a[64 * 64], b[64 * 64];
  config.hidden[1] = 20;
  assert_ok(mm_net_create(&config, &net));
  assert_ok(mm_net_init(net, 3, 0));
  assert_ok(mm_job_net_save(net, &bytes, &size));
  assert_ok(mm_job_net_load(bytes, size, &back));
  for (int i = 0; i < MM_NET_TENSORS; i++) {
    mm_net_tensor t = mm_net_describe(net, i), u = mm_net_describe(back, i);
    assert_true(t.rows == u.rows && t.cols == u.cols);
    mm_net_export(net, MM_NET_PARAM, i, a);
    mm_net_export(back, MM_NET_PARAM, i, b);
    assert_memory_equal(a, b, (size_t)t.rows * (size_t)t.cols * sizeof *a);
  }
  mm_net_destroy(back);
  unsigned char *byte = bytes;
  for (size_t i = 0; i < size; i += i < 100 ? 1 : 61) {
    byte[i] ^= 4;
    assert_int_equal(mm_job_net_load(bytes, size, &back), MM_ERR_INPUT);
    byte[i] ^= 4;
    assert_int_equal(mm_job_net_load(bytes, i, &back), MM_ERR_INPUT);
  }
  mm_free(bytes);
  mm_net_destroy(net);
}

// ---------------------------------------------------------------------------------------------
// Plans

// As it comes out of a database.
static mm_status read_plan(const char *text, mm_train_plan *plan, mm_map **map,
                           mm_plan_envs *envs) {
  cJSON *root;
  *map = NULL;
  *envs = (mm_plan_envs){ 0 };
  MM_TRY(mm_json_parse(text, strlen(text), "here", &root));
  mm_status status = mm_train_plan_read(root, "here", plan, map, envs);
  cJSON_Delete(root);
  return status;
}

static char *plan_text(const mm_train_plan *plan, const mm_map *map, const mm_plan_envs *envs) {
  cJSON *root;
  assert_ok(mm_train_plan_json(plan, map, envs, &root));
  char *text = mm_json_print(root, false);
  cJSON_Delete(root);
  return text;
}

static void test_plans(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("Breakout-MinAtar", "random:7", MM_ALGO_AMPO, 12), back;
  mm_map *map, *same;
  mm_plan_envs envs = { .n = 1, .task = { (char *)"grid: 4\n" } }, read;
  plan.seed = UINT64_MAX - 11;
  assert_ok(mm_map_open(plan.map, &map));
  char *text = plan_text(&plan, map, &envs);
  assert_ok(read_plan(text, &back, &same, &read));
  assert_string_equal(read.task[0], "grid: 4\n");
  assert_true(back.seed == plan.seed && back.seeds == 12);
  assert_string_equal(back.env, plan.env);
  char *again = plan_text(&back, same, &read);
  assert_string_equal(text, again);
  mm_plan_release_envs(&read);
  mm_free(again);
  mm_map_destroy(same);
  // without any one of its characters it is no plan, or another one
  size_t length = strlen(text);
  char *bad = malloc(length + 1);
  assert_non_null(bad);
  for (size_t i = 0; i < length; i += 1 + i / 600) {
    memcpy(bad, text, i);
    memcpy(bad + i, text + i + 1, length - i);
    (void)read_plan(bad, &back, &same, &read);
    mm_plan_release_envs(&read);
    mm_map_destroy(same);
  }
  memcpy(bad, text, length + 1);
  char *count = strstr(bad, "\"seeds\":12");
  assert_non_null(count);
  count[9] = '3'; // 13 seeds from there on: one too many
  count[8] = '1';
  assert_fails(read_plan(bad, &back, &same, &read), MM_ERR_INPUT, "leaves no room");
  mm_map_destroy(same);
  assert_fails(read_plan("{\"command\":\"learn\"}", &back, &same, &read), MM_ERR_INPUT,
               "a run of 'learn', not of 'train'");
  free(bad);
  mm_free(text);
  mm_map_destroy(map);
}

// ---------------------------------------------------------------------------------------------
// Lack of memory

static void test_no_memory(void **state) {
  (void)state;
  mm_train_plan plan = small_plan("CartPole-v1", "l2", MM_ALGO_AMPO, 2);
  mm_map *map;
  mm_train *t = NULL;
  mm_status status = MM_ERR_MEMORY;
  size_t n = 0;
  assert_ok(mm_map_open("l2", &map));
  char name[32];
  for (; n < 300 && status == MM_ERR_MEMORY; n++) {
    snprintf(name, sizeof name, "run-%zu", n);
    make_memory_scarce();
    allocations_left = n;
    status = mm_train_create(fixture_path(name), &plan, map, &t);
    make_memory_usual();
    if (status == MM_OK || mm_train_resume(fixture_path(name), &t) != MM_OK) continue;
    mm_train_close(t); // whatever was there could be resumed
  }
  assert_ok(status);
  mm_train_close(t);
  assert_true(n > 10);
  status = MM_ERR_MEMORY;
  for (n = 0; n < 300 && status == MM_ERR_MEMORY; n++) {
    make_memory_scarce();
    allocations_left = n;
    status = mm_train_resume(fixture_path(name), &t);
    make_memory_usual();
  }
  assert_ok(status);
  assert_true(n > 10);
  mm_train_close(t);
  mm_map_destroy(map);
}

int suite_train(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    TEST(test_in_pieces),        TEST(test_tables),
    TEST(test_results),          TEST(test_killed_before_the_end),
    TEST(test_full_for_a_while), TEST(test_refused_plans),
    TEST(test_strange_rows),     TEST(test_strange_state),
    TEST(test_networks),         TEST(test_plans),
    TEST(test_no_memory),
  };
#undef TEST
  return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
