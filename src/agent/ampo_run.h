// SPDX-License-Identifier: Apache-2.0
// A job of a learner with networks on its way: the agent, the curve so far, and when all of it is
// put down for later. Who takes the agent from one iteration to the next, and where, is the
// caller's business.

#ifndef MM_AGENT_AMPO_RUN_H
#define MM_AGENT_AMPO_RUN_H

#include "agent/ampo.h"
#include "mirrormap/agent.h"

typedef struct mm_ampo_run mm_ampo_run;

// The agent of the job, at its beginning or where the job's state says. `map` is the job's, or the
// one made of its search point; both must outlive the run. `result` comes zeroed, its values NaN,
// and is filled on the way. `like`: as for mm_ampo_create.
mm_status mm_ampo_run_open(const mm_job *job, const mm_map *map, const mm_ampo *like,
                           mm_result *result, mm_ampo_run **out);

mm_ampo *mm_ampo_run_agent(mm_ampo_run *run);

// Iterations that are still to be done, to the end or to where the job pauses.
int64_t mm_ampo_run_left(const mm_ampo_run *run);

// One more iteration was done, and saw this.
void mm_ampo_run_note(mm_ampo_run *run, const mm_ampo_report *report);

// Should the agent be put down now? `stopped`: the run will not go on. Then the agent must be where
// the last note says, and mm_ampo_run_save called.
bool mm_ampo_run_is_due(const mm_ampo_run *run, bool stopped);
void mm_ampo_run_save(mm_ampo_run *run);

// Does anybody want the networks at the end? Then the agent must have them before it is closed.
bool mm_ampo_run_is_followed(const mm_ampo_run *run);

// Ends the run with what became of it, and releases everything but the result.
mm_status mm_ampo_run_close(mm_ampo_run *run, mm_status status);

// A whole job on the calling thread: how learners with networks run one (learner.h).
mm_status mm_ampo_run_job(const mm_job *job, const mm_map *map, const volatile int *stop,
                          mm_result *result);

#endif
