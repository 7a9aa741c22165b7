// SPDX-License-Identifier: Apache-2.0
#include "backend/ranks/rank_queue.h"

#include <math.h>
#include <string.h>

// What a job waits for between two on the same thread, when its rank has to ask for it: mostly the
// sleep of those who wait for messages.
static const double round_trip = 1e-3;

// Of a rank's time, when it asks for every job.
static const double loss_allowed = 0.01;

enum { AHEAD_MOST = 4 }; // for each of its width

mm_status mm_rank_queue_open(mm_rank_queue *q, size_t n, const size_t *width, int n_rank) {
  *q = (mm_rank_queue){ .n = n, .n_rank = n_rank };
  q->holder = mm_alloc_array(n, sizeof *q->holder);
  q->rank = mm_alloc_array((size_t)n_rank, sizeof *q->rank);
  if (!q->holder || !q->rank) {
    mm_rank_queue_close(q);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a list of %zu jobs", n);
  }
  for (size_t i = 0; i < n; i++)
    q->holder[i] = MM_RANK_NONE;
  for (int r = 0; r < n_rank; r++) {
    q->rank[r] = (mm_rank_load){ .width = width[r], .lost = width[r] == 0 };
    q->width += width[r];
  }
  return MM_OK;
}

void mm_rank_queue_close(mm_rank_queue *q) {
  mm_free(q->holder);
  mm_free(q->rank);
  *q = (mm_rank_queue){ 0 };
}

// Jobs that a rank has waiting, so that its threads need not.
static size_t ahead(const mm_rank_queue *q, size_t width) {
  if (q->n_done == 0 || q->n - q->next <= q->width) return 0;
  double mean = q->seconds / (double)q->n_done;
  if (!(mean * loss_allowed < round_trip)) return 0;
  double wanted = ceil((double)width * round_trip / fmax(mean, 1e-9));
  double most = (double)(AHEAD_MOST * width);
  return (size_t)fmin(wanted, most);
}

size_t mm_rank_queue_room(const mm_rank_queue *q, int rank) {
  const mm_rank_load *load = &q->rank[rank];
  size_t left = q->n - q->next, most = load->width + ahead(q, load->width);
  if (load->lost || load->held >= most) return 0;
  return most - load->held < left ? most - load->held : left;
}

size_t mm_rank_queue_give(mm_rank_queue *q, int rank) {
  size_t job = q->next++;
  q->holder[job] = rank;
  q->rank[rank].held++;
  return job;
}

bool mm_rank_queue_take(mm_rank_queue *q, int rank, size_t job, double seconds) {
  if (job >= q->n || q->holder[job] != rank) return false;
  q->holder[job] = MM_RANK_BACK;
  q->rank[rank].held--;
  q->n_done++;
  q->seconds += seconds;
  return true;
}

void mm_rank_queue_lose(mm_rank_queue *q, int rank) {
  if (q->rank[rank].lost) return;
  q->rank[rank].lost = true;
  q->width -= q->rank[rank].width;
}

size_t mm_rank_queue_held(const mm_rank_queue *q, int rank, size_t from) {
  while (from < q->n && q->holder[from] != rank)
    from++;
  return from;
}

bool mm_rank_queue_idle(const mm_rank_queue *q) {
  for (int r = 0; r < q->n_rank; r++)
    if (q->rank[r].held > 0 && !q->rank[r].lost) return false;
  return true;
}
