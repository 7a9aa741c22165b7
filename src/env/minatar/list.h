// SPDX-License-Identifier: Apache-2.0
// The MinAtar games: a line and an include for each. Numbers, tables, kernels of CPU and CUDA, IDs,
// traces and pictures follow from the list (CMake reads it too) and from the headers.

#ifndef MM_ENV_MINATAR_LIST_H
#define MM_ENV_MINATAR_LIST_H

#include "env/minatar/asterix.h"
#include "env/minatar/breakout.h"
#include "env/minatar/freeway.h"
#include "env/minatar/seaquest.h"
#include "env/minatar/space_invaders.h"

// In listing order: the name in small and in capital letters, and in IDs.
#define MM_GAME_LIST(GAME)                                                                         \
  GAME(asterix, ASTERIX, "Asterix")                                                                \
  GAME(breakout, BREAKOUT, "Breakout")                                                             \
  GAME(freeway, FREEWAY, "Freeway")                                                                \
  GAME(space_invaders, SPACE_INVADERS, "SpaceInvaders")                                            \
  GAME(seaquest, SEAQUEST, "Seaquest")

typedef enum mm_minatar_game {
#define MM_GAME_NUMBER(name, NAME, id) MM_GAME_##NAME,
  MM_GAME_LIST(MM_GAME_NUMBER)
#undef MM_GAME_NUMBER
      MM_GAME_COUNT
} mm_minatar_game;

#endif
