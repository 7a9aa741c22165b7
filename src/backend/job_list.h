// SPDX-License-Identifier: Apache-2.0
// A list of jobs at work, whoever works on it: results, what became of them, progress.

#ifndef MM_BACKEND_JOB_LIST_H
#define MM_BACKEND_JOB_LIST_H

#include <pthread.h>

#include "backend/backend.h"

typedef struct mm_job_list {
  const mm_backend_config *config;
  const mm_job *jobs;
  mm_result *results;
  size_t n;

  pthread_mutex_t lock; // for the rest
  uint64_t env_steps;   // of jobs that were settled, and what others have said to have done
  const mm_result *
      *at_work; // [n_at_work] results whose steps are counted as they are made, or NULL
  size_t n_at_work;
  mm_backend_report report;
} mm_job_list;

// Marks every result as not yet begun.
mm_status mm_job_list_open(mm_job_list *list, const mm_backend_config *config, const mm_job *jobs,
                           size_t n, mm_result *results);

// Places for so many results at work at a time; without them steps count when a job is settled.
mm_status mm_job_list_take_places(mm_job_list *list, size_t n);

// The job of result i begins in a place: its environment steps count from now on as they are made
// (mm_job_advance), until it is settled.
void mm_job_list_follow(mm_job_list *list, size_t place, size_t i);

// Result i has its status; mm_last_error() of this thread is its sentence. `said`: environment
// steps of it that were told before.
void mm_job_list_settle(mm_job_list *list, size_t i, uint64_t said);

// Environment steps of jobs that are not settled yet.
void mm_job_list_say(mm_job_list *list, uint64_t env_steps);

// Calls the caller's progress function, from the calling thread, if there is one.
void mm_job_list_show(void *list);

// Fills the caller's report. MM_ERR_INTERRUPTED if a job was.
mm_status mm_job_list_close(mm_job_list *list, mm_status status);

#endif
