// SPDX-License-Identifier: Apache-2.0
// Does an environment keep the promises of mirrormap/env.h? Random play in every way in which it
// can be stepped, compared with itself.

#ifndef MM_ENV_ENV_CHECK_H
#define MM_ENV_ENV_CHECK_H

#include "mirrormap/env.h"

// One line per rule: name, name in commands, what is promised.
#define MM_ENV_RULE_LIST(X)                                                                        \
  X(DETERMINISM, "determinism", "the same seed and actions give the same episodes")                \
  X(FINITE, "finite", "observations and rewards are finite numbers")                               \
  X(BOUNDS, "bounds", "observations are within their bounds")                                      \
  X(ENDS, "ends", "episodes are truncated at the step limit, neither before nor later")            \
  X(AUTORESET, "autoreset", "same step, next step and disabled give the same episodes")            \
  X(STATE, "save-load", "a saved state goes on to the same bits")                                  \
  X(INDEPENDENCE, "independence", "an environment is the same alone and among others")             \
  X(SEEDS, "seeds", "a seed of its own makes an environment as if it were alone")                  \
  X(CHANCE, "chance", "other seeds give other episodes, where anything is random")

typedef enum mm_env_rule {
#define MM_ENV_RULE_ENUM(RULE, name, text) MM_ENV_RULE_##RULE,
  MM_ENV_RULE_LIST(MM_ENV_RULE_ENUM)
#undef MM_ENV_RULE_ENUM
      MM_ENV_RULES
} mm_env_rule;

typedef struct mm_env_rule_info {
  const char *name, *text;
} mm_env_rule_info;

extern const mm_env_rule_info mm_env_rules_info[MM_ENV_RULES];

typedef struct mm_env_check_config {
  uint64_t seed;
  uint64_t steps; // of random play, at least 8
  // Rules about ends and seeds are met only where an episode ends, or something random happens: the
  // play goes on for that up to so many steps; 0: ten times `steps`.
  uint64_t most;
} mm_env_check_config;

enum { MM_ENV_WHY = 160 };

// What was found of a rule: "" where it holds, else the first place where it does not; or what
// would have had to happen to tell, and did not.
typedef struct mm_env_finding {
  bool unmet;
  char why[MM_ENV_WHY];
} mm_env_finding;

// Checks all rules; out: [MM_ENV_RULES]. A rule that does not hold is no failure of the call.
mm_status mm_env_check(const mm_env *env, const mm_env_check_config *config, mm_env_finding *out);

#endif
