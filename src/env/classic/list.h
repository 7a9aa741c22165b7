// SPDX-License-Identifier: Apache-2.0
// The classic-control environments: a line and an include for each. Numbers, tables, kernels of CPU
// and CUDA, IDs, traces and pictures follow from the lists (CMake reads them too) and from the
// headers.

#ifndef MM_ENV_CLASSIC_LIST_H
#define MM_ENV_CLASSIC_LIST_H

#include "env/classic/acrobot.h"
#include "env/classic/cartpole.h"
#include "env/classic/mountain_car.h"
#include "env/classic/mountain_car_continuous.h"
#include "env/classic/pendulum.h"

// In listing order: the name in small and in capital letters, and the ID.
#define MM_CLASSIC_DISCRETE(DISCRETE)                                                              \
  DISCRETE(cartpole, CARTPOLE, "CartPole-v1")                                                      \
  DISCRETE(acrobot, ACROBOT, "Acrobot-v1")                                                         \
  DISCRETE(mountain_car, MOUNTAIN_CAR, "MountainCar-v0")

#define MM_CLASSIC_CONTINUOUS(CONTINUOUS)                                                          \
  CONTINUOUS(mountain_car_continuous, MOUNTAIN_CAR_CONTINUOUS, "MountainCarContinuous-v0")         \
  CONTINUOUS(pendulum, PENDULUM, "Pendulum-v1")

#define MM_CLASSIC_LIST(ENV) MM_CLASSIC_DISCRETE(ENV) MM_CLASSIC_CONTINUOUS(ENV)

typedef enum mm_classic_env {
#define MM_CLASSIC_NUMBER(name, NAME, id) MM_CLASSIC_##NAME,
  MM_CLASSIC_LIST(MM_CLASSIC_NUMBER)
#undef MM_CLASSIC_NUMBER
      MM_CLASSIC_COUNT
} mm_classic_env;

// Numbers per environment in a state and in an observation, at most.
enum { MM_CLASSIC_STATE_MAX = 4, MM_CLASSIC_OBS_MAX = 6 };

#endif
