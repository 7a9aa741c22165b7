// SPDX-License-Identifier: Apache-2.0
// Who gets which job: a list of jobs and the ranks that work on it. Ranks hold as many jobs as they
// run at a time; where jobs are so short that the way there and back would count, some more, but
// not near the end of the list, where one rank would sit on jobs that others could begin.

#ifndef MM_BACKEND_RANK_QUEUE_H
#define MM_BACKEND_RANK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mm_rank_load {
  size_t width; // jobs that it runs at a time
  size_t held;  // jobs that were given to it and have not come back
  bool lost;    // gets no more
} mm_rank_load;

typedef struct mm_rank_queue {
  size_t n, next, n_done; // jobs; given out at least once; back
  size_t width;           // of all ranks
  int32_t *holder;        // [n] rank, MM_RANK_NONE or MM_RANK_BACK
  mm_rank_load *rank;     // [n_rank]
  int n_rank;
  double seconds; // of the jobs that are back, one after the other
} mm_rank_queue;

enum { MM_RANK_NONE = -1, MM_RANK_BACK = -2 };

// width[n_rank]: jobs that each runs at a time; 0: it is lost.
mm_status mm_rank_queue_open(mm_rank_queue *queue, size_t n, const size_t *width, int n_rank);
void mm_rank_queue_close(mm_rank_queue *queue);

// How many jobs this rank should get now.
size_t mm_rank_queue_room(const mm_rank_queue *queue, int rank);

// The next job, which is now with this rank. There must be room.
size_t mm_rank_queue_give(mm_rank_queue *queue, int rank);

// A job has come back from this rank after so many seconds of work; false for one that it did not
// hold.
bool mm_rank_queue_take(mm_rank_queue *queue, int rank, size_t job, double seconds);

// The rank is gone: gets nothing more. Its jobs stay with it, mm_rank_queue_held finds them: the
// first from `from` on, n if there is none.
void mm_rank_queue_lose(mm_rank_queue *queue, int rank);
size_t mm_rank_queue_held(const mm_rank_queue *queue, int rank, size_t from);

// Nothing is out any more that could come back.
bool mm_rank_queue_idle(const mm_rank_queue *queue);

#endif
