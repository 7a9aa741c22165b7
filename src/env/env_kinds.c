// The table of environments beside the Grid-Worlds.

#include <string.h>

#include "env/classic/classics.h"
#include "env/minatar/games.h"
#include "env/vec_internal.h"
#include "physics/body.h"

#define DISCRETE(name, NAME, id)                                                                   \
  { id, NULL, "ampo", "bcs", &mm_vec_classic, MM_CLASSIC_##NAME, 0, 0, &mm_##name##_spec.about },

#define CONTINUOUS(name, NAME, id)                                                                 \
  { id, NULL, "pmd-gaussian",         "mujoco", &mm_vec_classic, MM_CLASSIC_##NAME,                \
    0,  0,    &mm_##name##_spec.about },

#define GAME(name, NAME, id)                                                                       \
  { id "-MinAtar",          NULL,           "ampo",          "minatar",                            \
    &mm_vec_minatar,        MM_GAME_##NAME, MM_RULES_GYMNAX, 0,                                    \
    &mm_##name##_spec.about },

#define ORIGINAL(name, NAME, id)                                                                   \
  { "MinAtar/" id "-v1",                                                                           \
    id " by the original rules (sticky actions)",                                                  \
    "ampo",                                                                                        \
    "minatar",                                                                                     \
    &mm_vec_minatar,                                                                               \
    MM_GAME_##NAME,                                                                                \
    MM_RULES_MINATAR,                                                                              \
    0,                                                                                             \
    &mm_##name##_spec.about },

#define BODY(id, which, flavour, summary)                                                          \
  {                                                                                                \
    id, summary, "pmd-gaussian", "mujoco", &mm_vec_body, MM_BODY_##which, 0,                       \
        MM_ENV_FLAVOUR_##flavour, NULL                                                             \
  }

static const mm_env_kind kinds[] = {
  MM_CLASSIC_DISCRETE(DISCRETE) MM_CLASSIC_CONTINUOUS(CONTINUOUS)
      BODY("Hopper", HOPPER, BRAX, "hop forward on one leg without falling"),
  BODY("HalfCheetah", HALF_CHEETAH, BRAX, "run forward on two legs"),
  BODY("Ant", ANT, BRAX, "walk forward on four legs without turning over"),
  BODY("Hopper-v4", HOPPER, GYMNASIUM, "Hopper with Gymnasium's contacts and integrator"),
  BODY("HalfCheetah-v4", HALF_CHEETAH, GYMNASIUM, "HalfCheetah with Gymnasium's contacts"),
  BODY("Ant-v4", ANT, GYMNASIUM, "Ant with Gymnasium's contacts, integrator and start"),
  MM_GAME_LIST(GAME) MM_GAME_LIST(ORIGINAL)
};

const mm_env_kind *mm_env_kind_at(size_t i) {
  return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

const mm_env_kind *mm_env_kind_find(const char *id) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(id, kinds[i].id) == 0) return &kinds[i];
  }
  return NULL;
}
