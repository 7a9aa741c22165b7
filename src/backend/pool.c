// SPDX-License-Identifier: Apache-2.0
// Each worker takes the next unit of the list until none is left or the caller wants to stop. The
// calling thread sleeps and wakes up to show progress; where no thread can be had it works itself.

#define _GNU_SOURCE // cpu_set_t

#include "backend/pool.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_NS = 200 * 1000 * 1000 };

typedef struct pool {
  const mm_pool_config *config;
  atomic_size_t next; // unit
  atomic_bool ended;  // a unit wants no other after it

  pthread_mutex_t lock; // for the rest
  pthread_cond_t idle;  // all workers have left
  int working;
} pool;

typedef struct worker {
  pool *pool;
  size_t place;
  pthread_t thread;
} worker;

// ---------------------------------------------------------------------------------------------
// One unit after the other

// The flag may be set by a signal or another thread at any time; it carries nothing but itself.
static bool stopped(const pool *p) {
  if (atomic_load_explicit(&p->ended, memory_order_relaxed)) return true;
  return p->config->stop && __atomic_load_n(p->config->stop, __ATOMIC_RELAXED) != 0;
}

// False when there is nothing left to do.
static bool do_next(pool *p, size_t place) {
  if (stopped(p)) return false;
  size_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
  if (i >= p->config->n) return false;
  if (!p->config->work(i, place, p->config->user))
    atomic_store_explicit(&p->ended, true, memory_order_relaxed);
  return true;
}

static void *work(void *raw) {
  const worker *w = raw;
  pool *p = w->pool;
  while (do_next(p, w->place))
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
  time.tv_nsec += WATCH_NS;
  if (time.tv_nsec >= 1000000000) {
    time.tv_nsec -= 1000000000;
    time.tv_sec++;
  }
  return time;
}

static bool before(struct timespec a, struct timespec b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// Sleeps until the workers have left. The lock is let go while the caller's function runs.
static void watch(pool *p) {
  struct timespec due = later(now());
  pthread_mutex_lock(&p->lock);
  while (p->working > 0) {
    if (!p->config->watch) {
      pthread_cond_wait(&p->idle, &p->lock);
    } else if (pthread_cond_timedwait(&p->idle, &p->lock, &due) == ETIMEDOUT) {
      pthread_mutex_unlock(&p->lock);
      p->config->watch(p->config->user);
      pthread_mutex_lock(&p->lock);
      due = later(now());
    }
  }
  pthread_mutex_unlock(&p->lock);
}

static void work_alone(pool *p) {
  struct timespec due = later(now());
  while (do_next(p, 0)) {
    if (!p->config->watch || before(now(), due)) continue;
    p->config->watch(p->config->user);
    due = later(now());
  }
}

// Starts as many of the wanted threads as the system gives; returns how many. Signals stay with the
// threads of the program: the workers block them all.
static int start(pool *p, worker *workers, int wanted) {
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  int n = 0;
  pthread_mutex_lock(&p->lock);
  while (n < wanted) {
    workers[n] = (worker){ .pool = p, .place = (size_t)n };
    if (pthread_create(&workers[n].thread, NULL, work, &workers[n]) != 0) break;
    n++;
  }
  p->working = n;
  pthread_mutex_unlock(&p->lock);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  return n;
}

static int run_all(pool *p, int wanted) {
  worker *workers = mm_alloc_array((size_t)wanted, sizeof *workers);
  int n = workers ? start(p, workers, wanted) : 0;
  if (n < wanted) mm_log("cpu: %d of %d threads could be started", n, wanted);
  if (n > 0)
    watch(p);
  else
    work_alone(p);
  for (int i = 0; i < n; i++)
    pthread_join(workers[i].thread, NULL);
  mm_free(workers);
  return n > 0 ? n : 1;
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

mm_status mm_pool_run(const mm_pool_config *config, int *threads) {
  pool p = { .config = config };
  *threads = 0;
  MM_TRY(open_pool(&p));
  int wanted = (size_t)config->threads > config->n ? (int)config->n : config->threads;
  if (wanted > 0) *threads = run_all(&p, wanted);
  pthread_mutex_destroy(&p.lock);
  pthread_cond_destroy(&p.idle);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

// The affinity mask of large machines needs more room than cpu_set_t has.
int mm_pool_cores(void) {
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
