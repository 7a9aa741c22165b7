// SPDX-License-Identifier: Apache-2.0
// Who did the work, as results and their files say it.

#ifndef MM_EXPERIMENT_MACHINE_H
#define MM_EXPERIMENT_MACHINE_H

#include <stdio.h>

#include "backend/backend.h"
#include "base/json.h"
#include "study/run/run.h"

typedef struct mm_machine {
  mm_backend_place place; // its list of devices belongs to the caller
  unsigned ran;           // MM_BACKEND_ON_CPU, .._CUDA, or-ed; 0: nothing was to be done
  int threads;            // of the processor, as in mm_backend_report
  int ranks;              // processes that worked together; 0 and 1: this one alone
} mm_machine;

// Enters this process in the run's database, with what it was asked to work with; and, when that is
// known, with what it worked (`ran` as above; 0 changes nothing).
mm_status mm_machine_enter(mm_run *run, const mm_backend_place *place, int threads);
void mm_machine_correct(mm_run *run, const mm_backend_place *place, unsigned ran);

// Adds `backend`, `threads` (null where nothing was to be done) and `isa`; where devices worked
// also `devices`, the names of this process's; where several processes worked `ranks`.
void mm_machine_add(cJSON *object, const mm_machine *machine);

// "2 threads, avx512", "NVIDIA H200", "2 devices (NVIDIA H200, NVIDIA H200)", or both kinds with
// " and " between.
enum { MM_MACHINE_TEXT = 512 };
const char *mm_machine_text(const mm_machine *machine, char out[MM_MACHINE_TEXT]);

// The line "# time: .." of a CSV file: how fast the process was that writes it, which of a resumed
// run did only the rest.
void mm_machine_remark(FILE *f, const mm_machine *machine, double seconds, double env_steps);

#endif
