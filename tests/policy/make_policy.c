// SPDX-License-Identifier: Apache-2.0
// For the command-line tests: trains agents of AMPO or PPO and keeps their policies.
//
//   mirrormap_make_policy ENV MAP ALGO AGENTS SEED FILE [KEY=VALUE...]

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../agent_fixture.h"
#include "base/status.h"
#include "study/policy/policy.h"

static void require(mm_status status) {
  if (status == MM_OK) return;
  fprintf(stderr, "%s\n", mm_last_error());
  exit(1);
}

static void set(mm_settings *settings, char *text) {
  char *equals = strchr(text, '=');
  if (!equals) require(MM_FAIL(MM_ERR_INPUT, "'%s': expected KEY=VALUE", text));
  *equals = '\0';
  require(mm_settings_set(settings, text, equals + 1));
}

static void train(const mm_env *env, const mm_map *map, const mm_settings *settings, uint64_t seed,
                  size_t i, mm_policy *policy) {
  mm_ampo *ampo;
  require(make_agent_of(env, map, settings, seed + i, 0, &ampo));
  const int64_t n = mm_ampo_iterations(&settings->net);
  for (int64_t t = 0; t < n; t++)
    require(mm_ampo_iterate(ampo));
  require(mm_policy_set(policy, i, mm_ampo_net(ampo)));
  if (n > 0) mm_policy_set_final(policy, i, mm_ampo_last(ampo).metric);
  mm_ampo_destroy(ampo);
}

int main(int argc, char **argv) {
  mm_env *env;
  mm_map *map;
  mm_algo algo;
  mm_policy *policy;
  if (argc < 7 || !mm_algo_find(argv[3], &algo)) {
    fprintf(stderr, "usage: %s ENV MAP ALGO AGENTS SEED FILE [KEY=VALUE...]\n", argv[0]);
    return 2;
  }
  const size_t agents = (size_t)strtoull(argv[4], NULL, 10);
  const uint64_t seed = strtoull(argv[5], NULL, 10);
  mm_settings settings = mm_settings_default(algo);
  for (int i = 7; i < argc; i++)
    set(&settings, argv[i]);
  require(mm_env_open(argv[1], &env));
  require(mm_map_open(argv[2], &map));
  require(mm_policy_make(argv[1], map, &settings, seed, agents, &policy));
  for (size_t i = 0; i < agents; i++)
    train(env, map, &settings, seed, i, policy);
  require(mm_policy_save(policy, argv[6]));
  mm_policy_destroy(policy);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return 0;
}
