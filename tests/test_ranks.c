// SPDX-License-Identifier: Apache-2.0
// Ranks without MPI: who gets which job, messages there and back, and whole lists dealt out to
// ranks that are threads here, over mailboxes: the same bits, hooks, failures, stops, silence.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/job_hooks.h"
#include "backend/ranks/rank_message.h"
#include "backend/ranks/rank_queue.h"
#include "backend/ranks/ranks.h"
#include "base/clock.h"
#include "env/env_internal.h"
#include "result_hash.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// The queue

static void test_queue_deals_in_order(void **state) {
  (void)state;
  const size_t width[] = { 2, 3 };
  mm_rank_queue q;
  assert_ok(mm_rank_queue_open(&q, 7, width, 2));
  assert_int_equal(mm_rank_queue_room(&q, 0), 2);
  assert_int_equal(mm_rank_queue_room(&q, 1), 3);
  for (size_t i = 0; i < 5; i++)
    assert_int_equal(mm_rank_queue_give(&q, i < 2 ? 0 : 1), i);
  assert_int_equal(mm_rank_queue_room(&q, 0), 0);
  assert_false(mm_rank_queue_take(&q, 0, 3, 1)); // it is with rank 1
  assert_false(mm_rank_queue_take(&q, 0, 6, 1)); // nobody has it
  assert_false(mm_rank_queue_take(&q, 0, 7, 1)); // there is none
  assert_true(mm_rank_queue_take(&q, 1, 3, 1));
  assert_false(mm_rank_queue_take(&q, 1, 3, 1)); // it was back already
  assert_int_equal(mm_rank_queue_room(&q, 1), 1);
  assert_int_equal(mm_rank_queue_give(&q, 1), 5);
  assert_false(mm_rank_queue_idle(&q));
  mm_rank_queue_close(&q);
}

// Short jobs are sent ahead, long ones are not, and none when few are left.
static void test_queue_sends_ahead(void **state) {
  (void)state;
  static const struct {
    double seconds;
    size_t room; // of a rank with width 4 that holds nothing
  } cases[] = { { 1, 4 }, { 0.2, 4 }, { 0.05, 5 }, { 1e-3, 8 }, { 1e-6, 20 }, { 0, 20 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const size_t width[] = { 4, 4 };
    mm_rank_queue q;
    assert_ok(mm_rank_queue_open(&q, 100, width, 2));
    size_t job = mm_rank_queue_give(&q, 0);
    assert_true(mm_rank_queue_take(&q, 0, job, cases[i].seconds));
    assert_int_equal(mm_rank_queue_room(&q, 0), cases[i].room);
    while (q.next < 92) { // eight are left for eight threads
      job = mm_rank_queue_give(&q, 1);
      assert_true(mm_rank_queue_take(&q, 1, job, cases[i].seconds));
    }
    assert_int_equal(mm_rank_queue_room(&q, 0), 4);
    mm_rank_queue_close(&q);
  }
}

static void test_queue_loses(void **state) {
  (void)state;
  const size_t width[] = { 2, 2, 0 };
  mm_rank_queue q;
  assert_ok(mm_rank_queue_open(&q, 9, width, 3));
  assert_int_equal(mm_rank_queue_room(&q, 2), 0); // lost before it began
  for (int i = 0; i < 4; i++)
    mm_rank_queue_give(&q, i % 2);
  mm_rank_queue_lose(&q, 1);
  assert_int_equal(mm_rank_queue_room(&q, 1), 0);
  assert_int_equal(mm_rank_queue_held(&q, 1, 0), 1);
  assert_int_equal(mm_rank_queue_held(&q, 1, 2), 3);
  assert_int_equal(mm_rank_queue_held(&q, 1, 4), 9);
  assert_false(mm_rank_queue_idle(&q));
  assert_true(mm_rank_queue_take(&q, 0, 0, 1) && mm_rank_queue_take(&q, 0, 2, 1));
  assert_true(mm_rank_queue_idle(&q)); // what the lost one has does not come
  mm_rank_queue_close(&q);
}

// ---------------------------------------------------------------------------------------------
// Jobs of all kinds

enum { ENVS = 3, MAPS = 3, JOBS = 24 };

typedef struct fixture {
  mm_env *env[ENVS];
  mm_map *map[MAPS];
  mm_pmd_config pmd[2];
  mm_ampo_config ampo;
  double z[4][MM_NEURAL_SEARCH];
  mm_job job[JOBS];
  uint64_t alone[JOBS];
} fixture;

// A task as from a file, which no rank could read again.
static mm_env *open_task(void) {
  static uint8_t wall[25];
  wall[6] = wall[7] = 1;
  mm_grid_parts parts = {
    .side = 5, .n_object = 2, .start = 0, .wall = wall, .object = { 12, 24 }
  };
  for (int i = 0; i < 2; i++) {
    parts.reward[i] = 1.0 / (3 + i);
    parts.terminate[i] = 0.1;
    parts.respawn[i] = 0.05;
  }
  mm_env *env;
  assert_ok(mm_env_open_task("/nowhere/task.yaml", &parts, &env));
  return env;
}

// Fixed maps, search points of both families, also with stages and a step size of their own, one
// that makes no map; tables and networks.
static mm_job job_at(const fixture *f, int i) {
  mm_job job = { .env = f->env[i % 2],
                 .seed = (uint64_t)i * 0x9e3779b97f4a7c15,
                 .repeat = i % 4 == 3 };
  job.algo = MM_ALGO_PMD;
  job.config = &f->pmd[i / 2 % 2];
  if (i % 3 == 0) job.map = f->map[i / 3 % MAPS];
  if (i % 3 == 1) job.point.kind = MM_MAP_PIECEWISE, job.point.n = 100, job.point.z = f->z[i % 2];
  if (i % 3 == 2) job.point.kind = MM_MAP_NEURAL, job.point.z = f->z[2 + i % 2];
  if (i % 9 == 1) job.point.n = 50, job.point.stages = 2;
  if (i % 9 == 4) job.point.eta = 0.7;
  if (i % 6 == 4) {
    job.env = f->env[2];
    job.algo = MM_ALGO_AMPO;
    job.config = &f->ampo;
  }
  return job;
}

static int open_fixture(void **state) {
  static const char *const maps[MAPS] = { "negentropy", "random:3", "random-neural:5" };
  fixture *f = calloc(1, sizeof *f);
  assert_ok(mm_env_open("GridWorld-small", &f->env[0]));
  f->env[1] = open_task();
  assert_ok(mm_env_open("CartPole-v1", &f->env[2]));
  for (int i = 0; i < MAPS; i++)
    assert_ok(mm_map_open(maps[i], &f->map[i]));
  for (int i = 0; i < 2; i++) {
    f->pmd[i] = mm_pmd_config_default();
    f->pmd[i].steps = 256 << i;
    f->pmd[i].envs = f->pmd[i].unroll = 8;
    f->pmd[i].exact_curve = i == 1;
  }
  f->ampo = mm_ampo_config_default();
  f->ampo.net.steps = 1536;
  if (test_is_slowed()) f->ampo.net.epochs = 1; // what travels is as long
  for (int i = 0; i < 4; i++)
    assert_ok(mm_map_search_initial(i < 2 ? MM_MAP_PIECEWISE : MM_MAP_NEURAL, 100, f->z[i]));
  f->z[1][7] += 0.5;
  f->z[3][7] = NAN;
  for (int i = 0; i < JOBS; i++) {
    f->job[i] = job_at(f, i);
    mm_result result;
    (void)mm_job_run(&f->job[i], NULL, &result);
    f->alone[i] = hash_of(&result);
    mm_result_release(&result);
  }
  *state = f;
  return 0;
}

static int close_fixture(void **state) {
  fixture *f = *state;
  for (int i = 0; i < ENVS; i++)
    mm_env_destroy(f->env[i]);
  for (int i = 0; i < MAPS; i++)
    mm_map_destroy(f->map[i]);
  free(f);
  return 0;
}

// ---------------------------------------------------------------------------------------------
// Messages

static mm_bytes_reader reader_of(const mm_bytes *b, size_t size) {
  return (mm_bytes_reader){ .at = b->byte, .end = b->byte + size };
}

// What comes out of the bytes trains to the same bits.
static void test_jobs_travel(void **state) {
  const fixture *f = *state;
  mm_rank_tables sent = { .list = 7, .job_timeout = 2.5 }, got;
  mm_bytes b = { 0 };
  mm_record kind;
  assert_ok(mm_rank_tables_make(&sent, f->job, JOBS));
  assert_int_equal(sent.n_env, 3);
  assert_int_equal(sent.n_config, 3); // two of pmd, one of ampo
  assert_ok(mm_rank_put_tables(&b, &sent));
  for (int i = 0; i < JOBS; i++)
    mm_rank_put_job(&b, &sent, &f->job[i], (uint64_t)i);
  assert_ok(mm_bytes_check(&b));
  mm_bytes_reader r = reader_of(&b, b.n);
  assert_true(mm_bytes_next(&r, &kind));
  assert_int_equal(kind, MM_RECORD_LIST);
  assert_ok(mm_rank_get_tables(&r, &got));
  assert_int_equal(got.list, 7);
  assert_true(got.job_timeout == 2.5);
  for (int i = 0; i < JOBS; i++) {
    mm_rank_task *task;
    mm_result result;
    assert_true(mm_bytes_next(&r, &kind) && kind == MM_RECORD_JOB);
    assert_ok(mm_rank_get_job(&r, &got, &task));
    assert_int_equal(task->place, i);
    (void)mm_job_run(&task->job, NULL, &result);
    assert_true(hash_of(&result) == f->alone[i]);
    mm_result_release(&result);
    mm_free(task);
  }
  assert_false(mm_bytes_next(&r, &kind));
  mm_rank_tables_release(&got);
  mm_rank_tables_release(&sent);
  mm_bytes_release(&b);
}

static void test_results_travel(void **state) {
  (void)state;
  double curve[2] = { 1.5, -0.0 }, measure[2 * MM_MEASURES];
  uint64_t step[2] = { 0, UINT64_MAX };
  for (int i = 0; i < 2 * MM_MEASURES; i++)
    measure[i] = i / 7.0;
  mm_result sent = { .status = MM_ERR_NUMERIC,
                     .final_value = NAN,
                     .recent_value = 2,
                     .optimal_value = 3,
                     .curve = curve,
                     .curve_step = step,
                     .n_curve = 2,
                     .measure = measure,
                     .env_steps = 99 };
  mm_bytes b = { 0 };
  mm_record kind;
  mm_rank_put_result(&b, 3, 12, &sent, 0.25, "what it said");
  mm_bytes_reader r = reader_of(&b, b.n);
  mm_rank_result got;
  assert_true(mm_bytes_next(&r, &kind) && kind == MM_RECORD_RESULT);
  assert_ok(mm_rank_get_result(&r, &got));
  assert_true(got.list == 3 && got.place == 12 && got.seconds == 0.25);
  assert_string_equal(got.error, "what it said");
  assert_true(hash_of(&got.result) == hash_of(&sent));
  assert_memory_equal(got.result.measure, measure, sizeof measure);
  mm_result_release(&got.result);
  for (size_t n = 1; n < b.n; n++) { // cut anywhere
    r = reader_of(&b, n);
    assert_true(mm_bytes_next(&r, &kind));
    assert_int_equal(mm_rank_get_result(&r, &got), MM_ERR_IO);
  }
  mm_bytes_release(&b);
}

static void test_cut_lists(void **state) {
  const fixture *f = *state;
  mm_rank_tables sent = { .list = 1 }, got;
  mm_bytes b = { 0 };
  mm_record kind;
  assert_ok(mm_rank_tables_make(&sent, f->job, 8));
  assert_ok(mm_rank_put_tables(&b, &sent));
  size_t whole = b.n;
  mm_rank_put_job(&b, &sent, &f->job[1], 0);
  for (size_t n = 1; n < whole; n += n < 300 ? 1 : 101) {
    mm_bytes_reader r = reader_of(&b, n);
    assert_true(mm_bytes_next(&r, &kind));
    assert_true(mm_rank_get_tables(&r, &got) != MM_OK);
  }
  mm_bytes_reader r = reader_of(&b, whole);
  assert_true(mm_bytes_next(&r, &kind));
  assert_ok(mm_rank_get_tables(&r, &got));
  for (size_t n = whole + 1; n < b.n; n++) {
    mm_rank_task *task;
    r = (mm_bytes_reader){ .at = b.byte + whole, .end = b.byte + n };
    assert_true(mm_bytes_next(&r, &kind) && kind == MM_RECORD_JOB);
    assert_int_equal(mm_rank_get_job(&r, &got, &task), MM_ERR_IO);
  }
  mm_rank_tables_release(&got);
  mm_rank_tables_release(&sent);
  mm_bytes_release(&b);
}

// ---------------------------------------------------------------------------------------------
// Mailboxes instead of MPI

enum { RANKS_MOST = 5 };

typedef struct letter {
  struct letter *next;
  int from;
  size_t size;
  unsigned char byte[];
} letter;

typedef struct post_office {
  pthread_mutex_t lock;
  letter *first[RANKS_MOST], **last[RANKS_MOST];
  letter *read[RANKS_MOST]; // given out
  mm_transport transport[RANKS_MOST];
  pthread_t thread[RANKS_MOST];
  mm_status status[RANKS_MOST];
  size_t longest;               // of all messages
  int code[RANKS_MOST], silent; // a rank that only says hello; 0: none
  volatile int leave;           // for that one
} post_office;

static int post_letter(mm_transport *t, int to, const void *bytes, size_t size) {
  post_office *o = t->self;
  if (size > t->most) {
    snprintf(t->error, sizeof t->error, "a message of %zu bytes is too long", size);
    return -1;
  }
  letter *l = malloc(sizeof *l + size);
  *l = (letter){ .from = t->rank, .size = size };
  memcpy(l->byte, bytes, size);
  pthread_mutex_lock(&o->lock);
  if (size > o->longest) o->longest = size;
  *o->last[to] = l;
  o->last[to] = &l->next;
  pthread_mutex_unlock(&o->lock);
  return 0;
}

static int collect_letter(mm_transport *t, int *from, const void **bytes, size_t *size) {
  post_office *o = t->self;
  int own = t->rank;
  pthread_mutex_lock(&o->lock);
  free(o->read[own]);
  letter *l = o->read[own] = o->first[own];
  if (l) {
    o->first[own] = l->next;
    if (!l->next) o->last[own] = &o->first[own];
  }
  pthread_mutex_unlock(&o->lock);
  *from = l ? l->from : -1;
  if (l) *bytes = l->byte, *size = l->size;
  return 0;
}

static void say_hello_and_nothing(post_office *o, int rank) {
  mm_rank_hello hello = { .process = 1, .threads = 1, .host = "elsewhere" };
  mm_bytes b = { 0 };
  snprintf(hello.build, sizeof hello.build, "%s %s", mm_version(), mm_build_info());
  mm_rank_put_hello(&b, &hello);
  post_letter(&o->transport[rank], 0, b.byte, b.n);
  mm_bytes_release(&b);
  const struct timespec moment = { .tv_nsec = 1000 * 1000 };
  while (!__atomic_load_n(&o->leave, __ATOMIC_RELAXED))
    nanosleep(&moment, NULL);
}

typedef struct start {
  post_office *office;
  int rank;
} start;

static void *be_rank(void *raw) {
  start *s = raw;
  post_office *o = s->office;
  int rank = s->rank;
  free(s);
  if (rank == o->silent)
    say_hello_and_nothing(o, rank);
  else
    o->status[rank] = mm_rank_worker_run(&o->transport[rank], NULL, NULL, &o->code[rank]);
  return NULL;
}

static mm_rank_team *open_office(post_office *o, int size, int silent) {
  memset(o, 0, sizeof *o);
  pthread_mutex_init(&o->lock, NULL);
  o->silent = silent;
  for (int r = 0; r < size; r++) {
    o->last[r] = &o->first[r];
    o->transport[r] = (mm_transport){ .rank = r,
                                      .size = size,
                                      .local_rank = r,
                                      .local_size = size,
                                      .most = SIZE_MAX,
                                      .self = o,
                                      .send = post_letter,
                                      .receive = collect_letter };
  }
  for (int r = 1; r < size; r++) {
    start *s = malloc(sizeof *s);
    *s = (start){ o, r };
    assert_int_equal(pthread_create(&o->thread[r], NULL, be_rank, s), 0);
  }
  mm_rank_team *team;
  assert_ok(mm_rank_team_open(&o->transport[0], &team));
  assert_ok(mm_rank_team_gather(team));
  return team;
}

static void close_office(post_office *o, mm_rank_team *team, bool whole) {
  assert_true(mm_rank_team_dismiss(team, 3) == whole);
  mm_rank_team_close(team);
  __atomic_store_n(&o->leave, 1, __ATOMIC_RELAXED);
  for (int r = 1; r < o->transport[0].size; r++) {
    pthread_join(o->thread[r], NULL);
    assert_int_equal(o->status[r], MM_OK);
    if (r != o->silent) assert_int_equal(o->code[r], 3);
  }
  for (int r = 0; r < o->transport[0].size; r++) {
    free(o->read[r]);
    for (letter *l = o->first[r], *next; l; l = next) {
      next = l->next;
      free(l);
    }
  }
  pthread_mutex_destroy(&o->lock);
}

static mm_status run_team(mm_rank_team *team, const mm_backend_config *config, const mm_job *jobs,
                          size_t n, mm_result *results) {
  mm_job_list list;
  assert_ok(mm_job_list_open(&list, config, jobs, n, results));
  return mm_job_list_close(&list, mm_rank_team_run(team, &list, false));
}

static void release_all(mm_result *results, size_t n) {
  for (size_t i = 0; i < n; i++)
    mm_result_release(&results[i]);
}

// ---------------------------------------------------------------------------------------------
// Lists

static void test_same_bits(void **state) {
  const fixture *f = *state;
  mm_backend_report expected;
  mm_backend_config alone = { .size = sizeof(mm_backend_config),
                              .threads = 1,
                              .report = &expected };
  mm_result reference[JOBS];
  assert_ok(mm_backend_run(&alone, f->job, JOBS, reference));
  release_all(reference, JOBS);
  assert_true(expected.n_failed > 0 && expected.error[0] != '\0');
  for (int size = 1; size <= 4; size++) {
    int threads = size % 2 ? 3 : 1;
    post_office o;
    mm_rank_team *team = open_office(&o, size, 0);
    mm_backend_report report;
    mm_backend_config config = { .size = sizeof(mm_backend_config),
                                 .threads = threads,
                                 .report = &report };
    for (int again = 0; again < 2; again++) { // a second list, and a short one
      size_t n = again ? 3 : JOBS;
      mm_result results[JOBS];
      assert_ok(run_team(team, &config, f->job, n, results));
      for (size_t i = 0; i < n; i++)
        assert_true(hash_of(&results[i]) == f->alone[i]);
      assert_int_equal(report.n_done, n);
      assert_int_equal(report.ranks, size);
      assert_int_equal(report.threads, size * threads);
      if (!again) {
        assert_int_equal(report.n_failed, expected.n_failed);
        assert_int_equal(report.trouble, expected.trouble);
        assert_string_equal(report.error, expected.error);
      }
      release_all(results, n);
    }
    close_office(&o, team, true);
  }
}

// What happens to jobs elsewhere reaches the hooks here.
typedef struct seen {
  pthread_mutex_t lock;
  const mm_job *job;
  int states[JOBS], nets[JOBS], ends[JOBS];
  float net_sum[JOBS];
  void *state;
  size_t state_size;
} seen;

static float sum_of(const mm_net *net) {
  float tensor[64 * 64], sum = 0;
  mm_net_export(net, MM_NET_PARAM, 2, tensor);
  mm_net_tensor t = mm_net_describe(net, 2);
  for (int i = 0; i < t.rows * t.cols; i++)
    sum += tensor[i];
  return sum;
}

static void see_state(const mm_job *job, const void *bytes, size_t size, void *user) {
  seen *s = user;
  pthread_mutex_lock(&s->lock);
  s->states[job - s->job]++;
  if (job == s->job) {
    free(s->state);
    s->state = malloc(size);
    memcpy(s->state, bytes, size);
    s->state_size = size;
  }
  pthread_mutex_unlock(&s->lock);
}

static void see_net(const mm_job *job, mm_net *net, void *user) {
  seen *s = user;
  pthread_mutex_lock(&s->lock);
  s->nets[job - s->job]++;
  s->net_sum[job - s->job] = sum_of(net);
  pthread_mutex_unlock(&s->lock);
}

static void see_end(const mm_job *job, const mm_result *result, void *user) {
  seen *s = user;
  (void)result;
  pthread_mutex_lock(&s->lock);
  s->ends[job - s->job]++;
  pthread_mutex_unlock(&s->lock);
}

static void test_hooks(void **state) {
  const fixture *f = *state;
  mm_job job[6];
  mm_result results[6];
  seen here = { .job = job }, there = { .job = job };
  mm_job_hooks hooks = {
    .save = see_state, .save_seconds = 1e-9, .trained = see_net, .ended = see_end
  };
  mm_backend_config config = { .size = sizeof(mm_backend_config), .threads = 1 };
  for (int i = 0; i < 6; i++) {
    job[i] = f->job[6 * (i % 3) + 4];
    job[i].seed = (uint64_t)i;
    job[i].hooks = &hooks;
  }
  hooks.user = &here;
  pthread_mutex_init(&here.lock, NULL);
  pthread_mutex_init(&there.lock, NULL);
  assert_ok(mm_backend_run(&config, job, 6, results));
  release_all(results, 6);
  hooks.user = &there;
  post_office o;
  mm_rank_team *team = open_office(&o, 3, 0);
  assert_ok(run_team(team, &config, job, 6, results));
  for (int i = 0; i < 6; i++) {
    assert_true(there.states[i] > 0 && there.states[i] == here.states[i]);
    assert_true(there.nets[i] == 1 && there.ends[i] == 1);
    assert_true(there.net_sum[i] == here.net_sum[i]);
  }
  uint64_t whole = hash_of(&results[0]);
  release_all(results, 6);
  // from a state that came from elsewhere, elsewhere; the first goes to rank 0, hence two of them
  job[1] = job[0];
  job[1].state = here.state;
  job[1].state_size = here.state_size;
  assert_ok(run_team(team, &config, job, 2, results));
  assert_true(hash_of(&results[0]) == whole && hash_of(&results[1]) == whole);
  release_all(results, 2);
  close_office(&o, team, true);
  free(here.state);
  free(there.state);
  pthread_mutex_destroy(&here.lock);
  pthread_mutex_destroy(&there.lock);
}

// ---------------------------------------------------------------------------------------------
// Messages of limited size

enum { RESUMED = 12 };

// Trainings of networks that stand in the middle: their states, and what they come to.
typedef struct half_done {
  mm_job job[RESUMED];
  void *state[RESUMED];
  uint64_t whole[RESUMED];
  size_t longest; // of the states
  volatile int stop;
} half_done;

static void keep_and_stop(const mm_job *job, const void *bytes, size_t size, void *user) {
  half_done *h = user;
  size_t i = (size_t)(job - h->job);
  if (h->state[i]) return;
  h->state[i] = malloc(size);
  memcpy(h->state[i], bytes, size);
  h->job[i].state_size = size;
  if (size > h->longest) h->longest = size;
  h->stop = 1;
}

static void open_half_done(const fixture *f, half_done *h, mm_job_hooks *hooks) {
  *h = (half_done){ .stop = 0 };
  *hooks = (mm_job_hooks){ .save = keep_and_stop, .save_seconds = 1e-9, .user = h };
  for (size_t i = 0; i < RESUMED; i++) {
    mm_result result;
    h->job[i] = f->job[4];
    h->job[i].seed = i;
    assert_ok(mm_job_run(&h->job[i], NULL, &result));
    h->whole[i] = hash_of(&result);
    mm_result_release(&result);
    h->job[i].hooks = hooks;
    h->stop = 0;
    assert_int_equal(mm_job_run(&h->job[i], &h->stop, &result), MM_ERR_INTERRUPTED);
    mm_result_release(&result);
    h->job[i].state = h->state[i];
    assert_non_null(h->job[i].state);
  }
}

static void close_half_done(half_done *h) {
  for (size_t i = 0; i < RESUMED; i++)
    free(h->state[i]);
}

static void limit_messages(post_office *o, size_t most) {
  for (int r = 0; r < o->transport[0].size; r++)
    o->transport[r].most = most;
}

// A list whose states together are longer than a message may be, in both directions.
static void test_limited_messages(void **state) {
  const fixture *f = *state;
  static half_done h;
  mm_job_hooks hooks;
  mm_result results[RESUMED];
  open_half_done(f, &h, &hooks);
  seen there = { .job = h.job };
  hooks =
      (mm_job_hooks){ .save = see_state, .save_seconds = 1e-9, .trained = see_net, .user = &there };
  pthread_mutex_init(&there.lock, NULL);
  const size_t most = 3 * h.longest + h.longest / 2;
  post_office o;
  mm_rank_team *team = open_office(&o, 2, 0);
  limit_messages(&o, most);
  mm_backend_config config = { .size = sizeof(mm_backend_config),
                               .threads = 5 }; // at a time, hence at once
  assert_ok(run_team(team, &config, h.job, RESUMED, results));
  for (size_t i = 0; i < RESUMED; i++) {
    assert_true(hash_of(&results[i]) == h.whole[i]);
    assert_true(there.states[i] > 0 && there.nets[i] == 1);
  }
  assert_true(o.longest > h.longest && o.longest <= most);
  release_all(results, RESUMED);
  close_office(&o, team, true);
  pthread_mutex_destroy(&there.lock);
  free(there.state);
  close_half_done(&h);
}

// One that is too long alone fails alone: on its way there, and with what comes of it.
static void test_too_long(void **state) {
  const fixture *f = *state;
  static half_done h;
  mm_job_hooks hooks;
  open_half_done(f, &h, &hooks);
  for (int back = 0; back < 2; back++) {
    mm_job job[4] = { f->job[0], f->job[3], h.job[0], f->job[6] }; // rank 0 has the first two
    mm_result results[4];
    mm_backend_report report;
    mm_backend_config config = { .size = sizeof(mm_backend_config),
                                 .threads = 2,
                                 .report = &report };
    if (back) job[2].state = NULL, job[2].state_size = 0;
    seen there = { .job = job };
    hooks = (mm_job_hooks){ .save = see_state, .save_seconds = 1e-9, .user = &there };
    pthread_mutex_init(&there.lock, NULL);
    post_office o;
    mm_rank_team *team = open_office(&o, 3, 0);
    limit_messages(&o, h.longest - 1);
    assert_ok(run_team(team, &config, job, 4, results));
    assert_int_equal(report.n_failed, 1);
    for (int i = 0; i < 4; i++)
      assert_true((results[i].status == MM_ERR_UNSUPPORTED) == (i == 2));
    assert_non_null(strstr(report.error, "do not fit into a message between ranks"));
    assert_non_null(strstr(report.error, back ? "'s state: " : "'s settings and state: "));
    release_all(results, 4);
    close_office(&o, team, true);
    pthread_mutex_destroy(&there.lock);
  }
  close_half_done(&h);
}

// ---------------------------------------------------------------------------------------------
// Ends that are none

static volatile int stop_flag;

static void stop_at_once(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)done, (void)total, (void)env_steps, (void)user;
  stop_flag = 1;
}

// Jobs that would take hours.
static void make_long(const fixture *f, mm_pmd_config *config, mm_job *job, size_t n) {
  *config = f->pmd[0];
  config->steps = 1e10;
  for (size_t i = 0; i < n; i++)
    job[i] = (mm_job){
      .env = f->env[0], .map = f->map[0], .algo = MM_ALGO_PMD, .config = config, .seed = i
    };
}

static void test_stop(void **state) {
  const fixture *f = *state;
  mm_pmd_config slow;
  mm_job job[8];
  mm_result results[8];
  make_long(f, &slow, job, 8);
  stop_flag = 0;
  mm_backend_config config = {
    .size = sizeof(mm_backend_config), .threads = 1, .stop = &stop_flag, .progress = stop_at_once
  };
  post_office o;
  mm_rank_team *team = open_office(&o, 3, 0);
  assert_int_equal(run_team(team, &config, job, 8, results), MM_ERR_INTERRUPTED);
  for (int i = 0; i < 8; i++)
    assert_int_equal(results[i].status, MM_ERR_INTERRUPTED);
  release_all(results, 8);
  mm_backend_config next = { .size = sizeof(mm_backend_config),
                             .threads = 2 }; // and they can go on
  mm_result small[4];
  assert_ok(run_team(team, &next, f->job, 4, small));
  for (int i = 0; i < 4; i++)
    assert_true(hash_of(&small[i]) == f->alone[i]);
  release_all(small, 4);
  close_office(&o, team, true);
}

// A job that has had its time fails, wherever it is; others are not touched.
static void test_job_timeout(void **state) {
  const fixture *f = *state;
  mm_pmd_config slow;
  mm_job job[6];
  mm_result results[6];
  make_long(f, &slow, job, 6);
  for (int i = 1; i < 6; i += 2)
    job[i] = f->job[i];
  mm_backend_report report;
  mm_backend_config config = {
    .size = sizeof(mm_backend_config), .threads = 2, .job_timeout = 0.3, .report = &report
  };
  for (int ranks = 1; ranks <= 3; ranks += 2) {
    post_office o;
    mm_rank_team *team = ranks > 1 ? open_office(&o, ranks, 0) : NULL;
    mm_status status =
        team ? run_team(team, &config, job, 6, results) : mm_backend_run(&config, job, 6, results);
    assert_ok(status);
    for (int i = 0; i < 6; i++) {
      if (i % 2 == 0)
        assert_int_equal(results[i].status, MM_ERR_TIMEOUT);
      else
        assert_true(hash_of(&results[i]) == f->alone[i]);
    }
    assert_int_equal(report.n_done, 6);
    assert_int_equal(report.trouble, 0);
    assert_true(strstr(report.error, "0.3 s") != NULL);
    release_all(results, 6);
    if (team) close_office(&o, team, true);
  }
}

static char logged[400];

static void keep_log(const char *message, void *user) {
  (void)user;
  snprintf(logged, sizeof logged, "%s", message);
}

// A rank that holds jobs and says nothing: they have failed, the others have done the rest, and the
// ranks do not come to a common end.
static void test_silent_rank(void **state) {
  const fixture *f = *state;
  enum { QUICK = 8 }; // jobs that are over long before anybody could be called silent
  mm_job job[QUICK];
  mm_result results[QUICK];
  post_office o;
  mm_rank_team *team = open_office(&o, 3, 2);
  mm_backend_report report;
  mm_backend_config config = { .size = sizeof(mm_backend_config), .threads = 1, .report = &report };
  for (int i = 0; i < QUICK; i++)
    job[i] = f->job[3 * i];
  mm_rank_team_set_silence(team, 4);
  mm_set_log(keep_log, NULL);
  assert_ok(run_team(team, &config, job, QUICK, results));
  mm_set_log(NULL, NULL);
  size_t lost = 0;
  for (int i = 0; i < QUICK; i++) {
    if (results[i].status == MM_ERR_TIMEOUT)
      lost++;
    else
      assert_true(hash_of(&results[i]) == f->alone[3 * i]);
  }
  assert_int_equal(lost, 1);
  assert_true(strstr(logged, "rank 2 (elsewhere, process 1)") != NULL);
  release_all(results, QUICK);
  assert_ok(run_team(team, &config, job, 4, results)); // without it
  assert_int_equal(report.ranks, 2);
  assert_true(hash_of(&results[3]) == f->alone[9]);
  release_all(results, 4);
  close_office(&o, team, false);
}

// ---------------------------------------------------------------------------------------------
// Where a process is

static void test_launchers(void **state) {
  (void)state;
  static const char *const names[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
    "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"
  };
  static const struct {
    const char *value[7];
    bool launched;
    int rank, size;
  } cases[] = {
    { { NULL }, false, 0, 0 },
    { { "2", "4" }, true, 2, 4 },
    { { "0", "1" }, false, 0, 1 }, // alone
    { { NULL, NULL, "3", "8" }, true, 3, 8 },
    { { NULL, NULL, NULL, NULL, "1", "6", "12" }, true, 1, 6 },
    { { NULL, NULL, NULL, NULL, "1" }, true, 1, 0 },              // MPI will tell
    { { NULL, NULL, NULL, NULL, NULL, "6", "12" }, false, 0, 0 }, // a batch script itself
    { { "x", "4" }, false, 0, 0 },
  };
  char *before[7];
  for (int i = 0; i < 7; i++) {
    const char *value = getenv(names[i]);
    before[i] = value ? strdup(value) : NULL;
  }
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int rank, size;
    for (int i = 0; i < 7; i++)
      cases[k].value[i] ? setenv(names[i], cases[k].value[i], 1) : unsetenv(names[i]);
    assert_true(mm_ranks_launched(&rank, &size) == cases[k].launched);
    if (cases[k].launched) assert_true(rank == cases[k].rank && size == cases[k].size);
  }
  for (int i = 0; i < 7; i++) {
    before[i] ? setenv(names[i], before[i], 1) : unsetenv(names[i]);
    free(before[i]);
  }
}

static void test_devices(void **state) {
  (void)state;
  const int device[] = { 0, 2, 5, 7 };
  int own[4];
  assert_int_equal(mm_rank_share_devices(device, 4, 1, 2, own), 2);
  assert_true(own[0] == 2 && own[1] == 7);
  assert_int_equal(mm_rank_share_devices(device, 4, 5, 8, own), 1); // two ranks a device
  assert_int_equal(own[0], 2);
  assert_int_equal(mm_rank_share_devices(device, 4, 0, 1, own), 4);
  assert_int_equal(mm_rank_share_devices(device, 0, 0, 1, own), 0);
}

int suite_ranks(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_queue_deals_in_order),
    cmocka_unit_test(test_queue_sends_ahead),
    cmocka_unit_test(test_queue_loses),
    cmocka_unit_test(test_jobs_travel),
    cmocka_unit_test(test_results_travel),
    cmocka_unit_test(test_cut_lists),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_hooks),
    cmocka_unit_test(test_limited_messages),
    cmocka_unit_test(test_too_long),
    cmocka_unit_test(test_stop),
    cmocka_unit_test(test_job_timeout),
    cmocka_unit_test(test_silent_rank),
    cmocka_unit_test(test_launchers),
    cmocka_unit_test(test_devices),
  };
  return cmocka_run_group_tests_name("ranks", tests, open_fixture, close_fixture);
}
