// The table of environments beside the Grid-Worlds.

#include <string.h>

#include "env/classic/classic_batch.h"
#include "env/locomotion/body_laws.h"
#include "env/minatar/minatar.h"
#include "env/vec_internal.h"

#define CLASSIC(id, which, algo, preset, summary)                                                  \
  { id, summary, algo, preset, &mm_vec_classic, MM_CLASSIC_##which, MM_RULES_GYMNAX, 0 }

#define GAME(name, which, summary)                                                                 \
  {                                                                                                \
    name "-MinAtar", summary, "ampo", "minatar", &mm_vec_minatar, MM_GAME_##which,                 \
        MM_RULES_GYMNAX, 0                                                                         \
  }

#define ORIGINAL(name, which)                                                                      \
  {                                                                                                \
    "MinAtar/" name "-v1", name " by the original rules (sticky actions)", "ampo", "minatar",      \
        &mm_vec_minatar, MM_GAME_##which, MM_RULES_MINATAR, 0                                      \
  }

#define BODY(id, which, flavour, summary)                                                          \
  {                                                                                                \
    id, summary, "pmd-gaussian", "mujoco", &mm_vec_body, MM_BODY_##which, 0,                       \
        MM_ENV_FLAVOUR_##flavour                                                                   \
  }
#define BODY_BRAX(NAME, name, id, kernels) BODY(id, NAME, BRAX, MM_##NAME##_SUMMARY),
#define BODY_V4(NAME, name, id, kernels) BODY(id "-v4", NAME, GYMNASIUM, MM_##NAME##_SUMMARY_V4),

static const mm_env_kind kinds[] = {
  CLASSIC("CartPole-v1", CARTPOLE, "ampo", "bcs", "balance a pole on a cart by pushing it"),
  CLASSIC("Acrobot-v1", ACROBOT, "ampo", "bcs", "swing a two-link arm above a line"),
  CLASSIC("MountainCar-v0", MOUNTAIN_CAR, "ampo", "bcs", "rock a weak car out of a valley"),
  CLASSIC("MountainCarContinuous-v0", MOUNTAIN_CAR_CONTINUOUS, "pmd-gaussian", "mujoco",
          "rock the car out with an engine of variable strength"),
  CLASSIC("Pendulum-v1", PENDULUM, "pmd-gaussian", "mujoco", "swing a pendulum up and hold it"),
  MM_BODY_LIST(BODY_BRAX) // then the same in Gymnasium's flavour
  MM_BODY_LIST(BODY_V4)   // then games
  GAME("Asterix", ASTERIX, "collect gold, avoid enemies in eight lanes"),
  GAME("Breakout", BREAKOUT, "break bricks with a ball and a paddle"),
  GAME("Freeway", FREEWAY, "cross eight lanes of cars, again and again"),
  GAME("SpaceInvaders", SPACE_INVADERS, "shoot the aliens before they land"),
  GAME("Seaquest", SEAQUEST, "rescue divers, shoot fish, mind the oxygen"),
  ORIGINAL("Asterix", ASTERIX),
  ORIGINAL("Breakout", BREAKOUT),
  ORIGINAL("Freeway", FREEWAY),
  ORIGINAL("SpaceInvaders", SPACE_INVADERS),
  ORIGINAL("Seaquest", SEAQUEST),
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
