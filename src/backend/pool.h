// SPDX-License-Identifier: Apache-2.0
// Work on a pool of threads: a list of units, each done by one worker from start to end. Nothing is
// shared between units but what the caller's functions share, so the results of independent units
// cannot depend on the number of threads or their timing.

#ifndef MM_BACKEND_POOL_H
#define MM_BACKEND_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_pool_config {
  size_t n;                 // units, taken in order
  int threads;              // at least 1; no more are started than there are units
  const volatile int *stop; // nonzero: no further unit is begun; may be NULL
  // One unit, by the worker-th thread, 0 <= worker < threads. False ends the work as `stop` does.
  bool (*work)(size_t unit, size_t worker, void *user);
  // Called from the calling thread, a few times a second; may be NULL.
  void (*watch)(void *user);
  void *user;
} mm_pool_config;

// Returns when all units that were begun are done. *threads: how many worked. Fails only when
// nothing could be begun.
mm_status mm_pool_run(const mm_pool_config *config, int *threads);

// Cores this process may use.
int mm_pool_cores(void);

#ifdef __cplusplus
}
#endif

#endif
