// SPDX-License-Identifier: Apache-2.0
// Rank 0 is a server with one line: results arrive, each takes half a service, then the next jobs
// for that rank, half a service each. Threads of a rank take jobs in the order of their arrival.

#include "bench/rank_model.h"

#include <math.h>
#include <stdint.h>

#include "backend/ranks/rank_queue.h"

typedef struct event {
  double time; // when the result arrives at rank 0
  double length;
  size_t job;
  int rank;
} event;

typedef struct world {
  const mm_rank_model *model;
  mm_rank_queue queue;
  double *ready; // [ranks][threads] when each thread is free
  event *heap;   // [n], the earliest first
  size_t n;
  double now;          // of rank 0, when it is free
  double work, served; // seconds of all jobs; of rank 0
  double end;
} world;

// ---------------------------------------------------------------------------------------------
// Events in order

static void push(world *w, event e) {
  size_t i = w->n++;
  for (; i > 0 && w->heap[(i - 1) / 2].time > e.time; i = (i - 1) / 2)
    w->heap[i] = w->heap[(i - 1) / 2];
  w->heap[i] = e;
}

static event pop(world *w) {
  event first = w->heap[0], last = w->heap[--w->n];
  size_t i = 0;
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= w->n) break;
    if (child + 1 < w->n && w->heap[child + 1].time < w->heap[child].time) child++;
    if (w->heap[child].time >= last.time) break;
    w->heap[i] = w->heap[child];
    i = child;
  }
  w->heap[i] = last;
  return first;
}

// ---------------------------------------------------------------------------------------------

// The length of job i: any of the list, by a mixture of the bits of i.
static double length_of(const mm_rank_model *m, size_t i) {
  uint64_t x = (uint64_t)i + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return m->scale * m->length[(x ^ (x >> 31)) % m->n_length];
}

static double *soonest(const world *w, int rank) {
  int threads = w->model->threads;
  double *ready = w->ready + (size_t)rank * (size_t)threads, *best = ready;
  for (int i = 1; i < threads; i++)
    if (ready[i] < *best) best = &ready[i];
  return best;
}

// The way to rank 0 itself costs nothing.
static double way(const world *w, int rank) {
  return rank == 0 ? 0 : w->model->latency;
}

static void serve(world *w, int rank) {
  if (rank == 0) return;
  w->now += 0.5 * w->model->service;
  w->served += 0.5 * w->model->service;
}

static void give(world *w, int rank, size_t most) {
  size_t room = mm_rank_queue_room(&w->queue, rank);
  for (size_t n = room < most ? room : most; n > 0; n--) {
    size_t job = mm_rank_queue_give(&w->queue, rank);
    serve(w, rank);
    double length = length_of(w->model, job), *thread = soonest(w, rank);
    *thread = fmax(*thread, w->now + way(w, rank)) + length;
    push(w, (event){ *thread + way(w, rank), length, job, rank });
    w->work += length;
  }
}

static void simulate(world *w) {
  const mm_rank_model *m = w->model;
  for (int r = 0; r < m->ranks; r++) {
    size_t left = m->jobs - w->queue.next, ranks = (size_t)(m->ranks - r);
    give(w, r, (left + ranks - 1) / ranks);
  }
  while (w->n > 0) {
    event e = pop(w);
    w->now = fmax(w->now, e.time);
    serve(w, e.rank);
    (void)mm_rank_queue_take(&w->queue, e.rank, e.job, e.length);
    w->end = fmax(w->end, w->now);
    give(w, e.rank, SIZE_MAX);
  }
}

static mm_status open_world(world *w) {
  const mm_rank_model *m = w->model;
  size_t ranks = (size_t)m->ranks, threads = ranks * (size_t)m->threads;
  size_t *width = mm_alloc_array(ranks, sizeof *width);
  w->ready = mm_alloc_array(threads, sizeof *w->ready);
  w->heap = mm_alloc_array(m->jobs, sizeof *w->heap);
  mm_status status = MM_OK;
  if (!width || !w->ready || !w->heap)
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for %d simulated ranks", m->ranks);
  for (size_t i = 0; i < ranks && status == MM_OK; i++)
    width[i] = (size_t)m->threads;
  for (size_t i = 0; i < threads && status == MM_OK; i++)
    w->ready[i] = 0;
  if (status == MM_OK) status = mm_rank_queue_open(&w->queue, m->jobs, width, m->ranks);
  mm_free(width);
  return status;
}

static bool makes_sense(const mm_rank_model *m) {
  bool counts = m->ranks >= 1 && m->threads >= 1 && m->jobs >= 1 && m->n_length >= 1;
  return counts && m->scale > 0 && m->service >= 0 && m->latency >= 0 && m->serial >= 0 &&
         m->serial_per_job >= 0;
}

mm_status mm_rank_model_run(const mm_rank_model *m, mm_rank_model_result *out) {
  world w = { .model = m };
  if (!makes_sense(m)) return MM_FAIL(MM_ERR_INPUT, "a model of ranks: expected positive numbers");
  mm_status status = open_world(&w);
  if (status == MM_OK) {
    simulate(&w);
    double seconds = w.end + m->serial + m->serial_per_job * (double)m->jobs;
    *out = (mm_rank_model_result){ .seconds = seconds,
                                   .efficiency = w.work / seconds / m->ranks / m->threads,
                                   .busy = w.served / seconds };
  }
  mm_rank_queue_close(&w.queue);
  mm_free(w.ready);
  mm_free(w.heap);
  return status;
}
