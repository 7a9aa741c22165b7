// SPDX-License-Identifier: Apache-2.0
// A line of jobs and threads that take them from its front. For devices one thread takes all that
// wait and has them run as one list; the copies that the list is made of pass on what happens to
// them in the name of the jobs that were given.

#define _POSIX_C_SOURCE 200809L

#include "backend/engine.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/job_internal.h"
#include "backend/cuda/host/cuda.h"
#include "backend/job_clock.h"
#include "base/clock.h"

typedef struct worker {
  mm_engine *engine;
  size_t place;
  pthread_t thread;
} worker;

struct mm_engine {
  mm_engine_config config;
  volatile int stop;
  mm_job_clock clock;
  worker *worker; // [n_worker]
  int n_worker;

  pthread_mutex_t lock; // for the rest
  pthread_cond_t more;  // a job, or the end
  const mm_job **line;  // [room], a ring
  size_t room, first, n;
  bool closing;
};

// ---------------------------------------------------------------------------------------------
// The line; the lock is held

static bool append(mm_engine *e, const mm_job *job) {
  if (e->n == e->room) {
    size_t room = e->room ? 2 * e->room : 64;
    const mm_job **larger = mm_alloc_array(room, sizeof *larger);
    if (!larger) return false;
    for (size_t i = 0; i < e->n; i++)
      larger[i] = e->line[(e->first + i) % e->room];
    mm_free(e->line);
    e->line = larger;
    e->room = room;
    e->first = 0;
  }
  e->line[(e->first + e->n++) % e->room] = job;
  return true;
}

static const mm_job *remove_first(mm_engine *e) {
  const mm_job *job = e->line[e->first];
  e->first = (e->first + 1) % e->room;
  e->n--;
  return job;
}

// Waits for a job; false at the end.
static bool wait_for_jobs(mm_engine *e) {
  while (e->n == 0 && !e->closing)
    pthread_cond_wait(&e->more, &e->lock);
  return e->n > 0;
}

// ---------------------------------------------------------------------------------------------
// One job, on a thread

static void run_one(mm_engine *e, size_t place, const mm_job *job) {
  mm_result result;
  bool late;
  const volatile int *stop = mm_job_clock_begin(&e->clock, place);
  mm_status status = mm_job_run(job, stop, &result);
  double seconds = mm_job_clock_end(&e->clock, place, &late);
  result.status = mm_job_clock_judge(&e->clock, late, status);
  e->config.ended(job, &result, seconds, e->config.user);
}

static void *work(void *raw) {
  const worker *w = raw;
  mm_engine *e = w->engine;
  for (;;) {
    pthread_mutex_lock(&e->lock);
    const mm_job *job = wait_for_jobs(e) ? remove_first(e) : NULL;
    pthread_mutex_unlock(&e->lock);
    if (!job) return NULL;
    run_one(e, w->place, job);
  }
}

// ---------------------------------------------------------------------------------------------
// All that wait, on devices

typedef struct sublist {
  mm_engine *engine;
  mm_job_copies copies;
  mm_result *result; // [copies.n]
} sublist;

static mm_status run_list(mm_engine *e, sublist *s) {
  mm_backend_config config = { .size = sizeof(mm_backend_config),
                               .place = e->config.place,
                               .threads = e->config.threads,
                               .stop = &e->stop };
  mm_job_list list;
  MM_TRY(mm_job_list_open(&list, &config, s->copies.job, s->copies.n, s->result));
  return mm_job_list_close(&list, mm_cuda_run(&list));
}

// Results of a list that failed as a whole fail with it.
static void end_list(sublist *s, mm_status status, double seconds) {
  char error[MM_ERROR_SIZE];
  snprintf(error, sizeof error, "%s", mm_last_error());
  const size_t n = s->copies.n;
  for (size_t i = 0; i < n; i++) {
    bool own = s->result[i].status != MM_ERR_INTERRUPTED;
    if (!own && status != MM_OK) s->result[i].status = status;
    if (status != MM_OK) (void)MM_FAIL(status, "%s", error);
    s->engine->config.ended(s->copies.given[i], &s->result[i], seconds / (double)n,
                            s->engine->config.user);
  }
}

static void fail_job(mm_engine *e, const mm_job *job) {
  mm_result result = { .status = MM_FAIL(MM_ERR_MEMORY, "no memory for a list of jobs") };
  e->config.ended(job, &result, 0, e->config.user);
}

static void run_all(mm_engine *e, const mm_job **given, size_t n) {
  sublist s = { .engine = e, .result = mm_alloc_array(n, sizeof *s.result) };
  if (s.result && mm_job_copies_make(given, n, &s.copies) == MM_OK) {
    double start = mm_clock_seconds();
    mm_status status = run_list(e, &s);
    end_list(&s, status, mm_clock_seconds() - start);
  } else {
    for (size_t i = 0; i < n; i++)
      fail_job(e, given[i]);
  }
  mm_job_copies_release(&s.copies);
  mm_free(s.result);
}

static void *work_on_devices(void *raw) {
  const worker *w = raw;
  mm_engine *e = w->engine;
  for (;;) {
    pthread_mutex_lock(&e->lock);
    size_t n = wait_for_jobs(e) ? e->n : 0;
    const mm_job *one = NULL, **given = n > 0 ? mm_alloc_array(n, sizeof *given) : NULL;
    if (n > 0 && !given) one = remove_first(e);
    for (size_t i = 0; given && i < n; i++)
      given[i] = remove_first(e);
    pthread_mutex_unlock(&e->lock);
    if (n == 0) return NULL;
    if (given)
      run_all(e, given, n);
    else
      run_all(e, &one, 1);
    mm_free(given);
  }
}

// ---------------------------------------------------------------------------------------------

// Signals stay with the thread that has them.
static int start(mm_engine *e) {
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  int n = 0, wanted = e->config.cuda ? 1 : e->config.threads;
  while (n < wanted) {
    e->worker[n] = (worker){ .engine = e, .place = (size_t)n };
    void *(*loop)(void *) = e->config.cuda ? work_on_devices : work;
    if (pthread_create(&e->worker[n].thread, NULL, loop, &e->worker[n]) != 0) break;
    n++;
  }
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  if (n < wanted) mm_log("%d of %d threads could be started", n, wanted);
  return n;
}

static mm_status fail_threads(void) {
  return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
}

static mm_status prepare(mm_engine *e) {
  if (pthread_mutex_init(&e->lock, NULL) != 0) return fail_threads();
  if (pthread_cond_init(&e->more, NULL) != 0) {
    pthread_mutex_destroy(&e->lock);
    return fail_threads();
  }
  mm_status status =
      mm_job_clock_open(&e->clock, (size_t)e->config.threads, e->config.job_timeout, &e->stop);
  if (status == MM_OK) return MM_OK;
  pthread_cond_destroy(&e->more);
  pthread_mutex_destroy(&e->lock);
  return status;
}

mm_status mm_engine_open(const mm_engine_config *config, mm_engine **out) {
  *out = NULL;
  mm_engine *e = mm_alloc(sizeof *e);
  worker *workers = mm_alloc_array((size_t)config->threads, sizeof *workers);
  if (e) {
    memset(e, 0, sizeof *e);
    e->config = *config;
    e->worker = workers;
  }
  mm_status status = e && workers ? prepare(e) : fail_threads();
  if (status != MM_OK) {
    mm_free(workers);
    mm_free(e);
    return status;
  }
  e->n_worker = start(e);
  if (e->n_worker == 0) {
    mm_engine_close(e);
    return MM_FAIL(MM_ERR_MEMORY, "no thread could be started");
  }
  *out = e;
  return MM_OK;
}

mm_status mm_engine_give(mm_engine *e, const mm_job *job) {
  pthread_mutex_lock(&e->lock);
  bool taken = append(e, job);
  if (taken) pthread_cond_signal(&e->more);
  pthread_mutex_unlock(&e->lock);
  return taken ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for a list of jobs");
}

double mm_engine_check(mm_engine *e) {
  return mm_job_clock_check(&e->clock);
}

void mm_engine_stop(mm_engine *e) {
  __atomic_store_n(&e->stop, 1, __ATOMIC_RELAXED);
  (void)mm_job_clock_check(&e->clock);
}

void mm_engine_close(mm_engine *e) {
  if (!e) return;
  pthread_mutex_lock(&e->lock);
  e->closing = true;
  pthread_cond_broadcast(&e->more);
  pthread_mutex_unlock(&e->lock);
  for (int i = 0; i < e->n_worker; i++)
    pthread_join(e->worker[i].thread, NULL);
  mm_job_clock_close(&e->clock);
  pthread_cond_destroy(&e->more);
  pthread_mutex_destroy(&e->lock);
  mm_free(e->line);
  mm_free(e->worker);
  mm_free(e);
}

int mm_engine_threads(const mm_engine *e) {
  return e->n_worker;
}
