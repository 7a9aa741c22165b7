// Several processes as one: under mpirun or srun the jobs of a list are dealt out among ranks, each
// with its own threads or devices. Rank 0 is the program as ever, the others only train. A result
// depends on its job alone, so nobody can tell by the results how many there were.
//
//   if (mm_ranks_launched(&rank, &size))     by the environment; nothing is loaded yet
//     mm_ranks_start();                      by all of them
//   if (mm_ranks_rank() > 0)
//     mm_ranks_serve(..);                    until rank 0 says that it is over
//   else
//     mm_ranks_gather(), the program         mm_backend_run deals out
//   mm_ranks_end(code);
//
// mm_ranks_join (mirrormap/backend.h) is these steps in one, for programs that need not look
// between them.

#ifndef MM_BACKEND_RANKS_H
#define MM_BACKEND_RANKS_H

#include "backend/job_list.h"
#include "backend/ranks/transport.h"

// Is this one of several processes that a launcher started? *size is 0 where it did not say how
// many.
bool mm_ranks_launched(int *rank, int *size);

// Starts MPI. MM_ERR_UNSUPPORTED where this build has none.
mm_status mm_ranks_start(void);

// Rank 0 hears who the others are. Fails when one of them is another program or cannot work.
mm_status mm_ranks_gather(void);

// Another rank works. `refusal`: why it cannot, or NULL. *terminated is nonzero once somebody has
// asked this process to end: it gives rank 0 a few seconds to agree. *code is what rank 0 ended
// with.
mm_status mm_ranks_serve(const char *refusal, const volatile int *terminated, int *code);

// ---------------------------------------------------------------------------------------------
// For the backend

// Do all ranks have devices?
bool mm_ranks_have_devices(void);

// The list, dealt out; by rank 0, when there are several.
mm_status mm_ranks_run(mm_job_list *list, bool cuda);

// This process's share of the cores that it may use, where others on the machine may use the same.
int mm_ranks_cores(int cores);

// Seconds of a message of that size to the last rank and back, the least of several; for
// benchmarks.
mm_status mm_ranks_echo(size_t size, double *seconds);

// Bytes and messages sent and received by this rank so far.
typedef struct mm_rank_traffic {
  uint64_t sent, received, messages_sent, messages_received;
} mm_rank_traffic;
mm_rank_traffic mm_ranks_traffic(void);

// ---------------------------------------------------------------------------------------------
// The same for a transport of the caller's (rank_first.c, rank_worker.c)

typedef struct mm_rank_team mm_rank_team; // as rank 0 sees it

// `transport` must outlive the team.
mm_status mm_rank_team_open(mm_transport *transport, mm_rank_team **out);
mm_status mm_rank_team_gather(mm_rank_team *team);
mm_status mm_rank_team_run(mm_rank_team *team, mm_job_list *list, bool cuda);
bool mm_rank_team_has_devices(const mm_rank_team *team);
mm_status mm_rank_team_echo(mm_rank_team *team, size_t size, double *seconds);
mm_rank_traffic mm_rank_team_traffic(const mm_rank_team *team);

// A rank that holds jobs and says nothing for so long is lost; 60 seconds until it is said.
void mm_rank_team_set_silence(mm_rank_team *team, double seconds);

// Tells the others to leave. False when one is lost or did not answer: then there is no end that
// all would come to.
bool mm_rank_team_dismiss(mm_rank_team *team, int code);
void mm_rank_team_close(mm_rank_team *team);

mm_status mm_rank_worker_run(mm_transport *transport, const char *refusal,
                             const volatile int *terminated, int *code);

// The devices of this rank, of chosen[n] or, where none are chosen, of all that can be used.
// out: [MM_CUDA_DEVICES_MOST].
mm_status mm_rank_own_devices(const mm_transport *transport, const int *chosen, size_t n, int *out,
                              size_t *count);

// The devices of a rank, of device[n]: those of its machine are dealt out in turn, and shared where
// there are fewer of them than ranks. Returns how many; out[n].
size_t mm_rank_share_devices(const int *device, size_t n, int local_rank, int local_size, int *out);

#endif
