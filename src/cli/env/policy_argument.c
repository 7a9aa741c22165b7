// Trained policies as they appear on the command line.

#include "cli/env/policy_argument.h"

#include <string.h>

#include "cli/argument/env_facts.h"
#include "cli/core/terminal.h"
#include "cli/env/vec_game.h"
#include "study/policy/evaluate.h"

static int refuse(mm_status status) {
  return fail(exit_code_of(status), "option '--policy': %s", mm_last_error());
}

static mm_env_rules choose_rules(const policy_argument *a, const char *id, const char *rules) {
  if (rules != NULL) return vec_rules_of(rules);
  bool other = id != NULL && strcmp(id, a->info.env_id) != 0;
  return other ? MM_RULES_BY_ID : (mm_env_rules)a->info.settings.ampo.rules;
}

int policy_argument_open(const char *text, const char *id, const char *rules,
                         policy_argument *out) {
  *out = (policy_argument){ 0 };
  mm_status status = mm_policy_load(text, &out->policy);
  if (status != MM_OK) return refuse(status);
  out->info = mm_policy_describe(out->policy);
  const char *name = id != NULL ? id : out->info.env_id;
  status = mm_env_open(name, &out->env);
  if (status != MM_OK && id == NULL) // the name comes from the file
    return fail(status == MM_ERR_INPUT || status == MM_ERR_IO ? EXIT_USAGE : EXIT_FAILED, "%s: %s",
                text, mm_last_error());
  if (status != MM_OK) return fail_status(status);
  if (rules != NULL && env_group_of(name) != GROUP_MINATAR)
    return fail_usage("setting 'rules' is for MinAtar, not for '%s'", name);
  out->rules = choose_rules(out, id, rules);
  status = mm_evaluate_check(out->policy, out->env, out->rules);
  return status == MM_OK ? EXIT_DONE : refuse(status);
}

void policy_argument_release(policy_argument *a) {
  mm_policy_destroy(a->policy);
  mm_env_destroy(a->env);
  *a = (policy_argument){ 0 };
}

const char *policy_argument_rules(const policy_argument *a) {
  return a->rules == MM_RULES_BY_ID ? NULL : vec_rules_names[a->rules == MM_RULES_MINATAR];
}
