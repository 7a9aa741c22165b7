// SPDX-License-Identifier: Apache-2.0
// What the two files of the host's side of tabular PMD share: the jobs of a list that are prepared
// together, and the part of them that is on the device together.

#ifndef MM_BACKEND_CUDA_TABULAR_INTERNAL_H
#define MM_BACKEND_CUDA_TABULAR_INTERNAL_H

#include <stdbool.h>

#include "agent/pmd_values.h"
#include "backend/cuda/host/block.h"
#include "backend/cuda/tabular/launch.h"
#include "base/status.h"

static inline const mm_pmd_config *mm_cuda_pmd_settings(const mm_job *job) {
  return job->config;
}

#define MM_CUDA_NOWHERE ((size_t)-1)

// Iterations of a launch at most, where a map moves.
enum { MM_CUDA_PMD_MAPS = 64 };

// A map, or a task, of one job or of several; it failed where its status says so.
typedef struct mm_cuda_pmd_source {
  const mm_job *job; // the first that wants it
  bool is_task;
  mm_map *own;       // the map of a search point
  const mm_map *map; // either this ...
  mm_grid *grid;     // ... or this
  mm_status status;
  char *error; // its sentence, unless there was no memory for it
  size_t at;   // of its arrays in the part's image, or MM_CUDA_NOWHERE
  // of a map that moves, what lies there now: those of the next launch's iterations
  int64_t n_map;      // how many, or more where nobody goes that far
  size_t map_bytes;   // of their arrays
  mm_cuda_twin large; // memory for these where one alone did not fit behind the records
} mm_cuda_pmd_source;

typedef struct mm_cuda_pmd_member {
  const mm_job *job;
  mm_result *result;
  size_t index; // in the caller's list
  mm_cuda_pmd_source *map, *task;
  bool open;            // its result is not settled
  mm_pmd_values values; // opened when the first policy is valued
  // on the device
  size_t policy, rest; // where its arrays are, in bytes from the start of these regions
  int64_t seen;        // iterations done when it was looked at last
} mm_cuda_pmd_member;

// What lies on the device together: an image that the host makes (agents, states, arrays of maps
// and tasks), the policies, and the rest.
typedef struct mm_cuda_pmd_part {
  int device;
  cudaStream_t stream;
  mm_cuda_pmd_member **member; // [n]
  size_t n;
  size_t agents; // room for so many at the image's start, then as many states
  size_t image_bytes, policy_bytes, rest_bytes;
  size_t block_bytes;       // memory of its own that a block needs
  unsigned char *base;      // on the device
  unsigned char *image;     // on the host
  double *policy;           // on the host
  mm_cuda_pmd_state *state; // [n] on the host
} mm_cuda_pmd_part;

// An empty part with room for up to `agents` members. Release with mm_cuda_pmd_part_close.
mm_status mm_cuda_pmd_part_open(int device, cudaStream_t stream, size_t agents,
                                mm_cuda_pmd_part *part);
void mm_cuda_pmd_part_close(mm_cuda_pmd_part *part);

// Adds a member unless the part would then take more than `most` bytes: false. Sources that are
// nowhere yet get their place.
bool mm_cuda_pmd_part_add(mm_cuda_pmd_part *part, mm_cuda_pmd_member *member, size_t most);

// Bytes of the device that a part takes.
size_t mm_cuda_pmd_part_bytes(const mm_cuda_pmd_part *part);

// Takes the memory, and puts the agents into the image.
mm_status mm_cuda_pmd_part_fill(mm_cuda_pmd_part *part);

// Copies the arrays of a source into the image; for several sources at a time. Those of a map that
// moves come with each launch.
void mm_cuda_pmd_part_copy(mm_cuda_pmd_part *part, const mm_cuda_pmd_source *source);

// Is the source a map that moves, of which members of the part make use?
bool mm_cuda_pmd_part_moves(const mm_cuda_pmd_source *source);

// Gives back what a map that moves has beside the part's memory.
void mm_cuda_pmd_source_shrink(mm_cuda_pmd_source *source);

// Puts its maps of `span` iterations from `first` on into the image, at most MM_CUDA_PMD_MAPS, or
// as many as there is room for, which grows where it is too small for one. For several sources at a
// time.
mm_status mm_cuda_pmd_part_maps(mm_cuda_pmd_part *part, mm_cuda_pmd_source *source, int64_t first,
                                int64_t span);
mm_status mm_cuda_pmd_part_send_maps(mm_cuda_pmd_part *part, const mm_cuda_pmd_source *source);

// The image goes to the device.
mm_status mm_cuda_pmd_part_send(mm_cuda_pmd_part *part);

// Takes all members up to `span` iterations further; their states come back, and on request their
// policies.
mm_status mm_cuda_pmd_part_train(mm_cuda_pmd_part *part, int64_t span);
mm_status mm_cuda_pmd_part_fetch(mm_cuda_pmd_part *part);

// The policy of a member as it was fetched, action-major [5 * n_state].
void mm_cuda_pmd_part_policy(const mm_cuda_pmd_part *part, const mm_cuda_pmd_member *member,
                             double *policy);

#endif
