// What the rest of the program asks the backend (mirrormap/backend.h) besides.

#ifndef MM_BACKEND_BACKEND_H
#define MM_BACKEND_BACKEND_H

#include "base/status.h"
#include "mirrormap/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where lists ran, or-ed: on `auto` not every list need be for the devices of a machine.
enum { MM_BACKEND_ON_CPU = 1, MM_BACKEND_ON_CUDA = 2 };

// "cpu", "cuda" or "cpu+cuda"; where none ran yet, what the place stands for.
const char *mm_backend_ran_name(unsigned ran, const mm_backend_place *place);

// Processes that a list is dealt out among, and the threads that they have together, where each may
// have so many (0: one per core).
int mm_backend_ranks(void);
int mm_backend_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif
