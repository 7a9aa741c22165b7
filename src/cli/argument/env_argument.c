// Environments as they appear on the command line.

#include "cli/argument/env_argument.h"

#include <stdio.h>
#include <string.h>

#include "cli/argument/env_facts.h"
#include "cli/core/terminal.h"
#include "env/grid/grid_task.h"

#define NAME(id, config, name) name,
const char *const env_argument_algos[] = { MM_ALGO_LIST(NAME) NULL };
#undef NAME

int env_argument_refuse_mapless(const char *asked, const char *to_do) {
  mm_algo algo;
  if (asked == NULL || !mm_algo_find(asked, &algo) || mm_algo_has_map(algo)) return EXIT_DONE;
  return fail_usage("option '--algo': %s takes no map, there is nothing %s (use 'train --algo %s')",
                    asked, to_do, asked);
}

static bool find(const mm_env *env, mm_env_info *out) {
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    if (strcmp(info.id, mm_env_id(env)) != 0) continue;
    *out = info;
    return true;
  }
  return false;
}

int env_argument_algo(const char *asked, const mm_env *env, const char *name, mm_algo *out) {
  mm_env_info info = { .algo = mm_algo_name(MM_ALGO_PMD) }; // of a task file
  find(env, &info);
  const char *algo = asked != NULL ? asked : info.algo;
  if (!mm_algo_find(algo, out))
    return fail_usage("environment '%s': its algorithm '%s' is not in this version", name, algo);
  if (mm_learner_of(*out)->suits == MM_SUITS_TABLES && !mm_env_is_grid(env))
    return fail_usage("environment '%s' is not a Grid-World: %s has a table of states", name,
                      mm_algo_name(*out));
  return EXIT_DONE;
}

const char *env_argument_preset(const mm_env *env) {
  mm_env_info info;
  return find(env, &info) ? info.preset : "gridworld";
}

void env_argument_warn(const mm_env *env, const mm_settings *settings) {
  const mm_actor_critic_config *net = mm_settings_net(settings);
  mm_vec_info info;
  mm_vec *vec;
  if (!env_facts_endless(mm_env_id(env)) || net == NULL) return;
  const mm_vec_config config = { .rules = (mm_env_rules)net->rules };
  if (mm_vec_create(env, &config, &vec) != MM_OK) return; // for others to report
  mm_vec_describe(vec, &info);
  mm_vec_destroy(vec);
  const double steps = mm_settings_steps(settings), envs = net->envs;
  if (steps < envs * info.limit)
    warn("%s: %.0f steps of %.0f environments are %.0f of each, and an episode has %d: none will "
         "end, and values stay 0",
         mm_env_id(env), steps, envs, steps / envs, (int)info.limit);
}

void env_argument_stem(const char *verb, const char *env, char *out, size_t size) {
  const char *slash = strrchr(env, '/'), *name = slash != NULL ? slash + 1 : env;
  const char *dot = strrchr(name, '.');
  size_t length = strlen(name);
  if (dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
    length = (size_t)(dot - name);
  snprintf(out, size, "%s-%.*s", verb, (int)length, name);
}
