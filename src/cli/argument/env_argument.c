// SPDX-License-Identifier: Apache-2.0
// Environments as they appear on the command line.

#include "cli/argument/env_argument.h"

#include <stdio.h>
#include <string.h>

#include "cli/core/terminal.h"
#include "env/grid/grid_task.h"
#include "env/locomotion/body_words.h"
#include "env/vec_internal.h"

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
  if (mm_algo_is_tabular(*out) && !mm_env_is_grid(env))
    return fail_usage("environment '%s' is not a Grid-World: %s has a table of states", name,
                      mm_algo_name(*out));
  return EXIT_DONE;
}

const char *env_argument_preset(const mm_env *env) {
  mm_env_info info;
  return find(env, &info) ? info.preset : "gridworld";
}

void env_argument_warn(const mm_env *env, const mm_settings *settings) {
  mm_vec_config config = mm_vec_config_default();
  mm_vec_info info;
  mm_vec *vec;
  char rules[MM_SETTING_TEXT_SIZE];
  const mm_algo algo = mm_settings_algo(settings);
  if (!env_facts_endless(mm_env_id(env)) || algo >= MM_ALGO_COUNT || mm_algo_is_tabular(algo))
    return;
  mm_settings_text(settings, "rules", rules);
  if (strcmp(rules, "gymnax") == 0) config.rules = MM_RULES_GYMNAX;
  if (strcmp(rules, "minatar") == 0) config.rules = MM_RULES_MINATAR;
  if (mm_vec_create(env, &config, &vec) != MM_OK) return; // for others to report
  mm_vec_describe(vec, &info);
  mm_vec_destroy(vec);
  const double steps = mm_settings_steps(settings), envs = mm_settings_value(settings, "envs", 1);
  if (steps < envs * info.limit)
    warn("%s: %.0f steps of %.0f environments are %.0f of each, and an episode has %d: none will "
         "end, and returns stay 0",
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

// ---------------------------------------------------------------------------------------------
// Facts of all but the Grid-Worlds for people: the headers of the environments have them.
// docs/environments.md has the laws.

const char *const env_group_names[] = { "Grid-World", "Classic control", "Continuous control",
                                        "MinAtar", "Plug-ins" };

// The facts of a locomotion task are the words of its body.
static const mm_env_facts *find_body(const char *id) {
  static mm_env_facts of[MM_BODY_COUNT];
  mm_body body;
  mm_flavour flavour;
  if (!mm_body_find(id, &body, &flavour)) return NULL;
  const mm_body_words *w = mm_body_words_of(body);
  of[body] = (mm_env_facts){ .input = w->input,
                             .observation = w->observation,
                             .reward = w->reward,
                             .end = w->end ? w->end : MM_ENDS_BY_LIMIT,
                             .random = w->random,
                             .fps = w->fps };
  return &of[body];
}

const mm_env_facts *env_facts_find(const char *id) {
  const mm_env_kind *kind = mm_env_kind_find(id);
  return kind && kind->about ? &kind->about->facts : find_body(id);
}

env_group env_group_of(const char *id) {
  const mm_env_kind *kind = mm_env_kind_find(id);
  if (kind == NULL) return GROUP_GRID;
  if (kind->law == &mm_vec_minatar) return GROUP_MINATAR;
  if (kind->law == &mm_vec_plugin) return GROUP_PLUGIN;
  return kind->law == &mm_vec_body ? GROUP_BODY : GROUP_CLASSIC;
}

bool env_facts_endless(const char *id) {
  const mm_env_facts *f = env_facts_find(id);
  return f != NULL && strcmp(f->end, MM_ENDS_BY_LIMIT) == 0;
}

const char *env_body_names(void) {
  static char text[200];
  size_t used = 0;
  for (mm_body body = 0; body < MM_BODY_COUNT && used < sizeof text; body++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                             body == 0                   ? ""
                             : body + 1 == MM_BODY_COUNT ? " and "
                                                         : ", ",
                             mm_body_describe(body)->name);
  return text;
}

const char *env_setting_owner(const char *key, env_group group, const char *id) {
  static const char walls[] = "MountainCarContinuous-v0";
  static const struct {
    const char *key;
    env_group group;
    const char *whose; // NULL: the locomotion tasks
  } owned[] = {
    { "gamma", GROUP_GRID, "Grid-World" }, { "termination", GROUP_GRID, "Grid-World" },
    { "rules", GROUP_MINATAR, "MinAtar" }, { "flavour", GROUP_BODY, NULL },
    { "physics", GROUP_BODY, NULL },       { "fresh_reset", GROUP_BODY, NULL },
  };
  if (strcmp(key, "gymnasium_walls") == 0) return strcmp(id, walls) == 0 ? NULL : walls;
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
    if (strcmp(key, owned[i].key) == 0 && group != owned[i].group)
      return owned[i].whose != NULL ? owned[i].whose : env_body_names();
  return NULL;
}
