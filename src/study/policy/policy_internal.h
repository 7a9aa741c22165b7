// SPDX-License-Identifier: Apache-2.0
// What policy.c and policy_file.c share.

#ifndef MM_EXPERIMENT_POLICY_INTERNAL_H
#define MM_EXPERIMENT_POLICY_INTERNAL_H

#include <pthread.h>

#include "study/policy/policy.h"

enum {
  MM_POLICY_AGENTS_MAX = 1000000,
  MM_POLICY_ENV_MAX = 4095 // bytes of the environment's name
};
#define MM_POLICY_BYTES_MAX ((size_t)4 << 30) // of all networks together

struct mm_policy {
  char *env_id;
  mm_map *map;
  mm_settings settings;
  uint64_t seed;
  size_t n;
  double *final_value; // [n]
  uint8_t *is_set;     // [n]
  mm_net_config net;
  float *data; // [tensor][n][rows][cols], as in a file; NULL until the sizes are known
  mm_job_hooks hooks;
  pthread_mutex_t lock;
};

// Tensor i of networks of these sizes, and where it lies.
typedef struct mm_policy_slot {
  const char *name;
  bool bias;
  size_t rows, cols;
  size_t size;  // rows * cols
  size_t first; // sum of the sizes before
} mm_policy_slot;
mm_policy_slot mm_policy_slot_at(const mm_net_config *config, int i);

// Numbers of one agent, and where tensor i of agent k lies.
size_t mm_policy_size(const mm_net_config *config);
float *mm_policy_place(const mm_policy *policy, const mm_policy_slot *tensor, size_t k);

// Gives it the sizes and the memory for all agents. MM_ERR_INPUT for sizes out of range, others
// than its settings say, or too much.
mm_status mm_policy_shape(mm_policy *policy, const mm_net_config *config);

// Is every x[n] finite? `*at` gets the first that is not.
bool mm_policy_finite(const float *x, size_t n, size_t *at);

// A policy from the bytes of a file; `source` names it in errors.
mm_status mm_policy_parse(const void *bytes, size_t length, const char *source, mm_policy **out);

#endif
