// SPDX-License-Identifier: Apache-2.0
// The table of environments beside the Grid-Worlds.

#include <string.h>

#include "env/classic/classics.h"
#include "env/locomotion/body_laws.h"
#include "env/minatar/games.h"
#include "env/vec_internal.h"

// clang-format off
#define DISCRETE(name, NAME, id_)                                                                  \
  { .id = id_, .algo = "ampo", .preset = "bcs", .law = &mm_vec_classic,                            \
    .which = MM_CLASSIC_##NAME, .rules = MM_RULES_GYMNAX, .about = &mm_##name##_spec.about },

#define CONTINUOUS(name, NAME, id_)                                                                \
  { .id = id_, .algo = "pmd-gaussian", .preset = "mujoco", .law = &mm_vec_classic,                 \
    .which = MM_CLASSIC_##NAME, .rules = MM_RULES_GYMNAX, .about = &mm_##name##_spec.about },

#define GAME(name, NAME, id_)                                                                      \
  { .id = id_ "-MinAtar", .algo = "ampo", .preset = "minatar", .law = &mm_vec_minatar,             \
    .which = MM_GAME_##NAME, .rules = MM_RULES_GYMNAX, .about = &mm_##name##_spec.about },

#define ORIGINAL(name, NAME, id_)                                                                  \
  { .id = "MinAtar/" id_ "-v1", .summary = id_ " by the original rules (sticky actions)",          \
    .algo = "ampo", .preset = "minatar", .law = &mm_vec_minatar, .which = MM_GAME_##NAME,          \
    .rules = MM_RULES_MINATAR, .about = &mm_##name##_spec.about },

#define BODY(id_, NAME, flavour_, summary_)                                                        \
  { .id = id_, .summary = summary_, .algo = "pmd-gaussian", .preset = "mujoco",                    \
    .law = &mm_vec_body, .which = MM_BODY_##NAME, .flavour = MM_ENV_FLAVOUR_##flavour_ },

#define BODY_BRAX(NAME, name, id, kernels) BODY(id, NAME, BRAX, MM_##NAME##_SUMMARY)
#define BODY_V4(NAME, name, id, kernels) BODY(id "-v4", NAME, GYMNASIUM, MM_##NAME##_SUMMARY_V4)

static const mm_env_kind kinds[] = {
  MM_CLASSIC_DISCRETE(DISCRETE)
  MM_CLASSIC_CONTINUOUS(CONTINUOUS)
  MM_BODY_LIST(BODY_BRAX) // then the same in Gymnasium's flavour
  MM_BODY_LIST(BODY_V4)
  MM_GAME_LIST(GAME)
  MM_GAME_LIST(ORIGINAL)
};
// clang-format on

enum { BUILT_IN = sizeof kinds / sizeof *kinds };

const mm_env_kind *mm_env_kind_at(size_t i) {
  return i < BUILT_IN ? &kinds[i] : mm_plugin_env_kind(i - BUILT_IN);
}

const mm_env_kind *mm_env_kind_find(const char *id) {
  const mm_env_kind *kind;
  for (size_t i = 0; (kind = mm_env_kind_at(i)) != NULL && strcmp(id, kind->id) != 0; i++)
    ;
  return kind;
}
