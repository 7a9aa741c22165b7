// Trained policies: the networks of one or several agents with everything needed to use them again,
// in one safetensors file.
//
// A file has the tensors of src/net/net.h ("actor.0.weight", ...) with one more dimension in front,
// the agents of a run in the order of their seeds; weights are [agent][input][output], y = x W + b.
// Its metadata are texts: format "mirrormap/policy-1", env, algo, map (a map file's text), settings
// (JSON), seed (of the first agent), finals (JSON list).

#ifndef MM_EXPERIMENT_POLICY_H
#define MM_EXPERIMENT_POLICY_H

#include "mirrormap/map.h"
#include "net/net.h"
#include "study/settings/settings.h"

typedef struct mm_policy mm_policy;

// Room for the networks of n agents. The map is copied.
mm_status mm_policy_create(const char *env_id, const mm_map *map, const mm_settings *settings,
                           uint64_t seed, size_t n, mm_policy **out);
void mm_policy_destroy(mm_policy *policy);

// Agent i: its parameters, and the value it reached. Different agents may be set by different
// threads at the same time. MM_ERR_INPUT when the networks have other sizes than the first ones.
mm_status mm_policy_set(mm_policy *policy, size_t i, const mm_net *net);
void mm_policy_set_final(mm_policy *policy, size_t i, double final_value);

// Written to a temporary file and renamed. Reading is strict: anything unexpected is MM_ERR_INPUT
// with the file and what was expected. `path` may be a run folder: its policy.safetensors.
mm_status mm_policy_save(const mm_policy *policy, const char *path);
mm_status mm_policy_load(const char *path, mm_policy **out);

// What it holds; strings and objects belong to the policy.
typedef struct mm_policy_info {
  const char *env_id;
  const mm_map *map;
  mm_settings settings;
  uint64_t seed;
  size_t n;
  const double *final_value; // [n], NaN where not known
  mm_net_config net;
} mm_policy_info;
mm_policy_info mm_policy_describe(const mm_policy *policy);

// The networks of agent i, made anew; release with mm_net_destroy.
mm_status mm_policy_net(const mm_policy *policy, size_t i, mm_net **out);

#endif
