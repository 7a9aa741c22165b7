// SPDX-License-Identifier: Apache-2.0
// Trained policies (mirrormap/policy.h) as the rest of the program makes them.
//
// A file has the tensors of src/net/net.h ("actor.0.weight", ...) with one more dimension in front,
// the agents of a run in the order of their seeds; weights are [agent][input][output], y = x W + b.
// Its metadata are texts: format "mirrormap/policy-1", env, algo, map (a map file's text), settings
// (JSON), seed (of the first agent), finals (JSON list).

#ifndef MM_EXPERIMENT_POLICY_H
#define MM_EXPERIMENT_POLICY_H

#include "mirrormap/policy.h"
#include "net/net.h"
#include "study/settings/settings.h"

// Room for the networks of n agents. The map is copied.
mm_status mm_policy_make(const char *env_id, const mm_map *map, const mm_settings *settings,
                         uint64_t seed, size_t n, mm_policy **out);

// Those of the training; they belong to the policy.
const mm_settings *mm_policy_settings(const mm_policy *policy);

// The networks of agent i, made anew; release with mm_net_destroy.
mm_status mm_policy_net(const mm_policy *policy, size_t i, mm_net **out);

#endif
