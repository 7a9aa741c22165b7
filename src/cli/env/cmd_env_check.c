// SPDX-License-Identifier: Apache-2.0
// `env check`: does an environment keep the promises of the library?

#include <stdio.h>

#include "base/json.h"
#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "env/env_check.h"

typedef struct check_args {
  command_args common;
  bool all;
  uint64_t seed, steps, most_steps;
} check_args;

typedef struct checked {
  const char *id;
  const char *skipped; // why it cannot be checked here, or NULL
  mm_env_finding finding[MM_ENV_RULES];
} checked;

// A rule that was not met is not broken.
static bool passes(const mm_env_finding *f) {
  return f->why[0] == '\0' || f->unmet;
}

static bool holds(const checked *e) {
  bool good = true;
  for (int r = 0; r < MM_ENV_RULES; r++)
    good &= passes(&e->finding[r]);
  return good;
}

// ---------------------------------------------------------------------------------------------

static cJSON *describe(const checked *e) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "id", e->id);
  output_add_text(object, "skipped", e->skipped);
  if (e->skipped) return object;
  cJSON_AddBoolToObject(object, "passed", holds(e));
  cJSON *rules = cJSON_AddArrayToObject(object, "rules");
  for (int r = 0; r < MM_ENV_RULES; r++) {
    cJSON *rule = cJSON_CreateObject();
    cJSON_AddStringToObject(rule, "rule", mm_env_rules_info[r].name);
    cJSON_AddBoolToObject(rule, "passed", passes(&e->finding[r]));
    cJSON_AddBoolToObject(rule, "met", !e->finding[r].unmet);
    output_add_text(rule, "why", e->finding[r].why);
    cJSON_AddItemToArray(rules, rule);
  }
  return object;
}

static void print(const checked *e) {
  printf("%s\n", output_styled(STYLE_BOLD, output_plain(e->id)));
  if (e->skipped) printf("  skipped: %s\n", e->skipped);
  for (int r = 0; r < MM_ENV_RULES && !e->skipped; r++) {
    const char *why = e->finding[r].why;
    const bool good = why[0] == '\0', unmet = e->finding[r].unmet;
    printf("  %s  %-12s  %s\n",
           output_styled(passes(&e->finding[r]) ? STYLE_GOOD : STYLE_BAD, unmet  ? "not met"
                                                                          : good ? "pass   "
                                                                                 : "FAIL   "),
           mm_env_rules_info[r].name, good ? mm_env_rules_info[r].text : output_plain(why));
  }
}

// ---------------------------------------------------------------------------------------------

// One that this build lacks is passed over among all, and an error by its name.
static int check_one(const check_args *args, const char *id, checked *out) {
  const mm_env_check_config config = { .seed = args->seed,
                                       .steps = args->steps,
                                       .most = args->most_steps };
  mm_env *env;
  *out = (checked){ .id = id };
  mm_status status = mm_env_open(id, &env);
  if (status != MM_OK) return fail_reading(status, "");
  status = mm_env_check(env, &config, out->finding);
  mm_env_destroy(env);
  if (status == MM_ERR_UNSUPPORTED && args->all) {
    out->skipped = mm_last_error();
    return EXIT_DONE;
  }
  return status == MM_OK ? EXIT_DONE : fail_reading(status, "");
}

static const char *id_at(const check_args *args, size_t i) {
  mm_env_info info;
  if (args->all) return mm_env_list(i, &info) ? info.id : NULL;
  return i < args->common.positional.n ? args->common.positional.value[i] : NULL;
}

static int run(void *raw) {
  const check_args *args = raw;
  if (args->all == (args->common.positional.n > 0))
    return fail_usage("expected IDs or '--all', one of the two");
  cJSON *root = args->common.json ? cJSON_CreateObject() : NULL;
  cJSON *array = root ? cJSON_AddArrayToObject(root, "environments") : NULL;
  bool good = true;
  const char *id;
  for (size_t i = 0; (id = id_at(args, i)) != NULL; i++) {
    checked e;
    int code = check_one(args, id, &e);
    if (code != EXIT_DONE) {
      cJSON_Delete(root);
      return code;
    }
    good &= holds(&e);
    if (root)
      cJSON_AddItemToArray(array, describe(&e));
    else
      print(&e);
  }
  const int code = good ? EXIT_DONE : EXIT_FAILED;
  if (!root) return code;
  cJSON_AddBoolToObject(root, "passed", good);
  return output_json(root, code);
}

#define ARGS check_args

static const option options[] = {
  OPTION(FLAG, "all", all, NULL, "every environment of `env list`"),
  OPTION(COUNT, "seed", seed, "N", "random seed", .fallback = "0"),
  OPTION(COUNT, "steps", steps, "N", "steps of random play, in each of its forms",
         .fallback = "1100", .low = 8, .high = 1e7),
  OPTION(COUNT, "most-steps", most_steps, "N",
         "go on so far until all rules were met (default: 10 times --steps)", .low = 8,
         .high = 1e7),
  { 0 },
};

const command command_env_check = {
  .name = "check",
  .summary = "check that an environment keeps the library's rules",
  .positional = "ID...",
  .about =
      "Plays at random, alone and among others, with each autoreset, from saved states and with "
      "seeds for single environments, and compares: determinism, finite numbers, bounds of "
      "observations, ends, autoreset, save-load, independence, seeds, chance. One line for each "
      "rule. Where no episode ends, or none comes to the step limit, play goes on; what still does "
      "not happen is said to be 'not met'.\n\n"
      "Exit code: 0 no rule is broken, 1 one is, 2 no such environment.",
  .examples = "mirrormap env check CartPole-v1\nmirrormap env check --all --steps 300\n"
              "mirrormap env check Hopper Ant --json",
  .options = options,
  .common = COMMON_JSON | COMMON_ISA,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(check_args),
  .run = run,
};
