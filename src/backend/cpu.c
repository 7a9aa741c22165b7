// Jobs on a pool of threads: each worker takes the next job of the list until none is left or the
// caller wants to stop. Nothing is shared between jobs but what they only read, and every result
// has its own place, so neither the number of threads nor their timing can change a bit of it. The
// calling thread sleeps and wakes up to show progress.

#define _GNU_SOURCE // cpu_set_t

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"

enum { PROGRESS_NS = 200 * 1000 * 1000 };

typedef struct pool {
  const mm_backend_config *config;
  const mm_job *jobs;
  mm_result *results;
  size_t n;
  atomic_size_t next; // job

  pthread_mutex_t lock; // for the rest
  pthread_cond_t idle;  // all workers have left
  int working;
  uint64_t env_steps;
  mm_backend_report report;
} pool;

// ---------------------------------------------------------------------------------------------
// One job after the other

// The flag may be set by a signal or another thread at any time; it carries nothing but itself.
static bool stopped(const pool *p) {
  return p->config->stop && __atomic_load_n(p->config->stop, __ATOMIC_RELAXED) != 0;
}

// Keeps the sentence of the job that the report is to name: a failed one rather than a numeric one,
// and of equals the first in the list, whichever happened to end first.
static void keep_trouble(pool *p, size_t i, mm_status status) {
  mm_backend_report *r = &p->report;
  bool none = r->trouble == p->n;
  bool numeric = status == MM_ERR_NUMERIC;
  bool kept_numeric = !none && p->results[r->trouble].status == MM_ERR_NUMERIC;
  bool first = none || (numeric == kept_numeric && i < r->trouble);
  bool worse = !numeric && kept_numeric;
  if (!first && !worse) return;
  r->trouble = i;
  snprintf(r->error, sizeof r->error, "%s", mm_last_error());
}

static void settle(pool *p, size_t i) {
  mm_status status = p->results[i].status;
  mm_backend_report *r = &p->report;
  pthread_mutex_lock(&p->lock);
  p->env_steps += p->results[i].env_steps;
  r->n_done += status != MM_ERR_INTERRUPTED;
  if (status != MM_OK && status != MM_ERR_INTERRUPTED) {
    keep_trouble(p, i, status);
    if (status == MM_ERR_NUMERIC && p->results[i].n_curve > 0)
      r->n_numeric++;
    else
      r->n_failed++;
  }
  pthread_mutex_unlock(&p->lock);
}

// False when there is nothing left to do. Jobs never begun keep the mark they have from the start.
static bool run_next(pool *p) {
  if (stopped(p)) return false;
  size_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
  if (i >= p->n) return false;
  p->results[i].status = mm_job_run(&p->jobs[i], p->config->stop, &p->results[i]);
  settle(p, i);
  return true;
}

static void *work(void *raw) {
  pool *p = raw;
  while (run_next(p))
    continue;
  pthread_mutex_lock(&p->lock);
  if (--p->working == 0) pthread_cond_signal(&p->idle);
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

// ---------------------------------------------------------------------------------------------
// The calling thread

static struct timespec now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time;
}

static struct timespec later(struct timespec time) {
  time.tv_nsec += PROGRESS_NS;
  if (time.tv_nsec >= 1000000000) {
    time.tv_nsec -= 1000000000;
    time.tv_sec++;
  }
  return time;
}

static bool before(struct timespec a, struct timespec b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// The lock is held, and let go while the caller's function runs.
static void show_progress(pool *p) {
  size_t done = p->report.n_done;
  uint64_t env_steps = p->env_steps;
  if (!p->config->progress) return;
  pthread_mutex_unlock(&p->lock);
  p->config->progress(done, p->n, env_steps, p->config->user);
  pthread_mutex_lock(&p->lock);
}

// Sleeps until the workers have left.
static void watch(pool *p) {
  struct timespec due = later(now());
  pthread_mutex_lock(&p->lock);
  while (p->working > 0) {
    if (!p->config->progress) {
      pthread_cond_wait(&p->idle, &p->lock);
    } else if (pthread_cond_timedwait(&p->idle, &p->lock, &due) == ETIMEDOUT) {
      show_progress(p);
      due = later(now());
    }
  }
  pthread_mutex_unlock(&p->lock);
}

// Without any worker the caller does everything.
static void work_alone(pool *p) {
  struct timespec due = later(now());
  while (run_next(p)) {
    if (before(now(), due)) continue;
    pthread_mutex_lock(&p->lock);
    show_progress(p);
    pthread_mutex_unlock(&p->lock);
    due = later(now());
  }
}

// Starts as many of the wanted threads as the system gives; returns how many. Signals stay with the
// threads of the program: the workers block them all.
static int start(pool *p, pthread_t *thread, int wanted) {
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  int n = 0;
  pthread_mutex_lock(&p->lock);
  while (n < wanted && pthread_create(&thread[n], NULL, work, p) == 0)
    n++;
  p->working = n;
  pthread_mutex_unlock(&p->lock);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  return n;
}

static void run_all(pool *p, int wanted) {
  pthread_t *thread = mm_alloc_array((size_t)wanted, sizeof *thread);
  int n = thread ? start(p, thread, wanted) : 0;
  if (n < wanted) mm_log("cpu: %d of %d threads could be started", n, wanted);
  if (n > 0)
    watch(p);
  else
    work_alone(p);
  for (int i = 0; i < n; i++)
    pthread_join(thread[i], NULL);
  mm_free(thread);
  p->report.threads = n > 0 ? n : 1;
}

// The condition counts on the monotonic clock: setting the date must not stop the progress.
static mm_status open_pool(pool *p) {
  pthread_condattr_t clock;
  if (pthread_condattr_init(&clock) != 0) return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  int error = pthread_cond_init(&p->idle, &clock);
  pthread_condattr_destroy(&clock);
  if (error != 0) return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  if (pthread_mutex_init(&p->lock, NULL) == 0) return MM_OK;
  pthread_cond_destroy(&p->idle);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
}

static void close_pool(pool *p) {
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->idle);
}

mm_status mm_backend_run(const mm_backend_config *config, const mm_job *jobs, size_t n,
                         mm_result *results) {
  for (size_t i = 0; i < n; i++)
    results[i] = (mm_result){ .status = MM_ERR_INTERRUPTED };
  if (config->threads < 0)
    return MM_FAIL(MM_ERR_INPUT, "threads = %d: expected at least 1, or 0 for one per core",
                   config->threads);
  pool p = { .config = config, .jobs = jobs, .results = results, .n = n, .report.trouble = n };
  MM_TRY(open_pool(&p));
  int wanted = config->threads > 0 ? config->threads : mm_backend_cores();
  if ((size_t)wanted > n) wanted = (int)n;
  if (wanted > 0) run_all(&p, wanted);
  close_pool(&p);

  size_t done = p.report.n_done;
  if (config->progress) config->progress(done, n, p.env_steps, config->user);
  if (config->report) *config->report = p.report;
  if (done == n) return MM_OK;
  return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted after %zu of %zu jobs", done, n);
}

// ---------------------------------------------------------------------------------------------

// The affinity mask of large machines needs more room than cpu_set_t has.
int mm_backend_cores(void) {
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 4) {
    cpu_set_t *set = CPU_ALLOC((size_t)most);
    if (!set) break;
    size_t size = CPU_ALLOC_SIZE((size_t)most);
    int failed = sched_getaffinity(0, size, set);
    int n = failed ? 0 : CPU_COUNT_S(size, set);
    int error = errno;
    CPU_FREE(set);
    if (n > 0) return n;
    if (failed && error != EINVAL) break;
  }
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 && n < INT_MAX ? (int)n : 1;
}
