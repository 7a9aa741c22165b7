// Trained policies as they appear on the command line: --policy with the folder of a run or a file.

#ifndef MM_CLI_POLICY_ARGUMENT_H
#define MM_CLI_POLICY_ARGUMENT_H

#include "cli/core/command.h"
#include "mirrormap/env.h"
#include "study/policy/policy.h"

// A policy with the environment it is to play in.
typedef struct policy_argument {
  mm_policy *policy;
  mm_policy_info info;
  mm_env *env;
  mm_env_rules rules;
} policy_argument;

// Opens the policy and the environment `id`, or its own where that is NULL. Its rules (of MinAtar)
// are those of `rules`, else those it was trained with, unless the ID names others. Reports what is
// wrong, also an environment that the policy does not fit, and returns the exit code. Release in
// either case.
int policy_argument_open(const char *text, const char *id, const char *rules, policy_argument *out);
void policy_argument_release(policy_argument *argument);

// "gymnax", "minatar", or NULL: as the ID says.
const char *policy_argument_rules(const policy_argument *argument);

#endif
