// Facts of all but the Grid-Worlds for people: the headers of the environments have them.
// docs/environments.md has the laws.

#include "cli/argument/env_facts.h"

#include <stdio.h>
#include <string.h>

#include "env/locomotion/body_words.h"
#include "env/vec_internal.h"

const char *const env_group_names[] = { "Grid-World", "Classic control", "Continuous control",
                                        "MinAtar" };

// A body's facts are its words.
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
    const char *whose; // NULL: the bodies
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
