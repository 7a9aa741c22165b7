// The MinAtar games by number.

#ifndef MM_ENV_VEC_MINATAR_H
#define MM_ENV_VEC_MINATAR_H

typedef enum mm_minatar_game {
  MM_GAME_ASTERIX,
  MM_GAME_BREAKOUT,
  MM_GAME_FREEWAY,
  MM_GAME_SPACE_INVADERS,
  MM_GAME_SEAQUEST,
  MM_GAME_COUNT
} mm_minatar_game;

#endif
