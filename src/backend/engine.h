// SPDX-License-Identifier: Apache-2.0
// Trains jobs as they come, on threads of this process or on its devices; what a rank works with.

#ifndef MM_BACKEND_ENGINE_H
#define MM_BACKEND_ENGINE_H

#include "backend/backend.h"

typedef struct mm_engine mm_engine;

typedef struct mm_engine_config {
  bool cuda;              // on the devices of `place`, all waiting jobs as one list
  mm_backend_place place; //
  int threads;
  double job_timeout; // as in mm_backend_config
  // A job has ended, after so many seconds: called by the thread that ran it, whose mm_last_error()
  // is the job's. The result is the callee's.
  void (*ended)(const mm_job *job, mm_result *result, double seconds, void *user);
  void *user;
} mm_engine_config;

mm_status mm_engine_open(const mm_engine_config *config, mm_engine **out);

// The job must stay until it has ended.
mm_status mm_engine_give(mm_engine *engine, const mm_job *job);

// To be called a few times a second. Returns the seconds of the job that has been at work longest.
double mm_engine_check(mm_engine *engine);

// Jobs at work and those that wait end with MM_ERR_INTERRUPTED.
void mm_engine_stop(mm_engine *engine);

// Waits for the jobs that it has.
void mm_engine_close(mm_engine *engine);

// Threads that work.
int mm_engine_threads(const mm_engine *engine);

#endif
