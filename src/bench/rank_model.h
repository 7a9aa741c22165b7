// SPDX-License-Identifier: Apache-2.0
// What a generation would take on more ranks than there are: a simulation, event by event, of rank
// 0 dealing jobs out with the queue it really uses (backend/rank_queue.h). Everything else is a
// number that can be measured on two ranks (bench_mpi.c).

#ifndef MM_BENCH_RANK_MODEL_H
#define MM_BENCH_RANK_MODEL_H

#include <stddef.h>

#include "base/status.h"

typedef struct mm_rank_model {
  int ranks, threads;   // threads of each
  size_t jobs;          // of a generation
  const double *length; // [n_length] seconds of jobs, of which each is drawn with the same chance
  size_t n_length;
  double scale;          // of these
  double service;        // seconds of rank 0 for a job, one half out and one half back
  double latency;        // seconds of a message on its way
  double serial_per_job; // seconds of evolution and database, while all others wait
  double serial;         // the same, for each generation
} mm_rank_model;

typedef struct mm_rank_model_result {
  double seconds;    // of a generation
  double efficiency; // share of the threads' time in which they train
  double busy;       // share of the time in which rank 0 has messages in hand
} mm_rank_model_result;

// MM_ERR_INPUT for numbers that make no sense, MM_ERR_MEMORY.
mm_status mm_rank_model_run(const mm_rank_model *model, mm_rank_model_result *out);

#endif
