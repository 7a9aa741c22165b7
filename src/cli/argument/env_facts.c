// Facts of all but the Grid-Worlds for people: the headers of the environments have them.
// docs/environments.md has the laws.

#include "cli/argument/env_facts.h"

#include <string.h>

#include "env/vec_internal.h"

const char *const env_group_names[] = { "Grid-World", "Classic control", "Continuous control",
                                        "MinAtar" };

static const char *const hopper_inputs[] = { "height", "pitch",  "thigh",  "leg",  "foot",  "x'",
                                             "z'",     "pitch'", "thigh'", "leg'", "foot'", NULL };
static const char *const cheetah_inputs[] = { "z", "pitch", "",   "",   "",       "",
                                              "",  "",      "x'", "z'", "pitch'", NULL };
static const char *const ant_inputs[] = { "height", "", "", "", "",   "",   "",   "",  "",
                                          "",       "", "", "", "x'", "y'", "z'", NULL };

// Those whose headers do not say it themselves.
static const struct {
  const char *name;
  mm_env_facts facts;
} bodies[] = {
  { "Hopper",
    { hopper_inputs,
      "height and pitch of the torso, angles of thigh, leg and foot; then the velocities of x, z, "
      "pitch and the three joints, each within -10 .. 10",
      "forward velocity + 1 - 0.001 (sum of squared actions)",
      "the torso is not above 0.7, leans 0.2 or more, or a number reaches 100",
      "the start: all coordinates and velocities uniform within 0.005 of the pose", 60 } },
  { "HalfCheetah",
    { cheetah_inputs,
      "z (0 at the start), pitch and the six joints, back leg first; then the velocities of x, z, "
      "pitch and the joints",
      "forward velocity - 0.1 (sum of squared actions)", MM_ENDS_BY_LIMIT,
      "the start: coordinates uniform within 0.1 of the pose, velocities 0.1 N(0, 1)", 20 } },
  { "Ant",
    { ant_inputs,
      "height, quaternion w x y z, hip and ankle of four legs; then linear velocity, angular "
      "velocity in the body's frame, and the joints'",
      "forward velocity + 1 - 0.5 (sum of squared actions)", "the torso is below 0.2 or above 1",
      "the start: coordinates uniform within 0.1 of the pose, velocities 0.1 N(0, 1)", 20 } },
};

// A body may be of Gymnasium's flavour.
static const mm_env_facts *find_body(const char *id) {
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    const size_t length = strlen(bodies[i].name);
    if (strncmp(id, bodies[i].name, length) == 0 &&
        (!id[length] || strcmp(id + length, "-v4") == 0))
      return &bodies[i].facts;
  }
  return NULL;
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

const char *env_setting_owner(const char *key, env_group group, const char *id) {
  static const char walls[] = "MountainCarContinuous-v0";
  static const struct {
    const char *key;
    env_group group;
    const char *whose;
  } owned[] = {
    { "gamma", GROUP_GRID, "Grid-World" },
    { "termination", GROUP_GRID, "Grid-World" },
    { "rules", GROUP_MINATAR, "MinAtar" },
    { "flavour", GROUP_BODY, "Hopper, HalfCheetah and Ant" },
    { "physics", GROUP_BODY, "Hopper, HalfCheetah and Ant" },
    { "fresh_reset", GROUP_BODY, "Hopper, HalfCheetah and Ant" },
  };
  if (strcmp(key, "gymnasium_walls") == 0) return strcmp(id, walls) == 0 ? NULL : walls;
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
    if (strcmp(key, owned[i].key) == 0 && group != owned[i].group) return owned[i].whose;
  return NULL;
}
