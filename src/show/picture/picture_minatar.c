// MinAtar's boards: one list of marks a game, the one in front first.
//
// You are always white, what you shoot or hit with is yellow, what ends the game is vermilion or
// magenta, what follows something is grey. The colours were chosen so that those of a game differ
// from each other and from the board in every common kind of colour vision (tests/test_picture.c
// computes it). Freeway's trails go from light to dark: the lighter, the faster.

#include "env/minatar/asterix.h"
#include "env/minatar/breakout.h"
#include "env/minatar/freeway.h"
#include "env/minatar/seaquest.h"
#include "env/minatar/space_invaders.h"
#include "show/picture/picture.h"

#define WHITE 0xffffff
#define LIGHT_GREY 0x949494
#define GREY 0x585858
#define YELLOW 0xd7d700
#define VERMILION 0xd75f00
#define MAGENTA 0xff00ff
#define GREEN 0x87ffaf
#define BLUE 0x0087af
#define ORANGE 0xffaf5f
#define BROWN 0xd7875f

static const mm_mark asterix[] = {
  { "player", WHITE, 'P', MM_ASTERIX_PLAYER },
  { "enemy", VERMILION, 'E', MM_ASTERIX_ENEMY },
  { "gold", YELLOW, 'G', MM_ASTERIX_GOLD },
  { "trail", GREY, '-', MM_ASTERIX_TRAIL },
};

static const mm_mark breakout[] = {
  { "ball", YELLOW, 'O', MM_BREAKOUT_BALL },
  { "paddle", WHITE, 'P', MM_BREAKOUT_PADDLE },
  { "brick", BLUE, '#', MM_BREAKOUT_BRICK },
  { "trail of the ball", GREY, 'o', MM_BREAKOUT_TRAIL },
};

static const mm_mark freeway[] = {
  { "chicken", WHITE, 'C', MM_FREEWAY_CHICKEN },
  { "car", 0xff5f00, 'X', MM_FREEWAY_CAR },
  { "trail, moves every 2nd step", 0xafd7ff, '1', MM_FREEWAY_CAR + 1 },
  { "every 3rd step", 0x00afaf, '2', MM_FREEWAY_CAR + 2 },
  { "every 4th step", 0x8787d7, '3', MM_FREEWAY_CAR + 3 },
  { "every 5th step", 0x005f87, '4', MM_FREEWAY_CAR + 4 },
  { "every 6th step", 0x0000ff, '5', MM_FREEWAY_CAR + 5 },
};

// Each alien lights the channel of aliens and that of its direction: the second says more.
static const mm_mark space_invaders[] = {
  { "cannon", WHITE, 'C', MM_SPACE_INVADERS_CANNON },
  { "enemy bullet", MAGENTA, '!', MM_SPACE_INVADERS_ENEMY_BULLET },
  { "your bullet", YELLOW, '|', MM_SPACE_INVADERS_OWN_BULLET },
  { "alien, going left", GREEN, '<', MM_SPACE_INVADERS_ALIEN_LEFT },
  { "alien, going right", BLUE, '>', MM_SPACE_INVADERS_ALIEN_RIGHT },
};

static const mm_mark seaquest[] = {
  { "submarine, front", WHITE, 'S', MM_SEAQUEST_FRONT },
  { "submarine, back", LIGHT_GREY, 's', MM_SEAQUEST_BACK },
  { "enemy bullet", MAGENTA, '!', MM_SEAQUEST_ENEMY_BULLET },
  { "enemy submarine", VERMILION, 'E', MM_SEAQUEST_SUBMARINE },
  { "fish", GREEN, 'F', MM_SEAQUEST_FISH },
  { "your bullet", YELLOW, '*', MM_SEAQUEST_OWN_BULLET },
  { "diver", ORANGE, 'D', MM_SEAQUEST_DIVER },
  { "divers aboard", BROWN, 'd', MM_SEAQUEST_DIVER_GAUGE },
  { "oxygen", BLUE, 'o', MM_SEAQUEST_OXYGEN_GAUGE },
  { "trail", GREY, '-', MM_SEAQUEST_TRAIL },
};

#define GAME(name, marks, capitals)                                                                \
  {                                                                                                \
    { name "-MinAtar", "MinAtar/" name "-v1" }, {                                                  \
      .mark = marks, .n_mark = (int)(sizeof marks / sizeof *marks), .rows = MM_MINATAR_SIDE,       \
      .columns = MM_MINATAR_SIDE, .channels = MM_##capitals##_CHANNELS                             \
    }                                                                                              \
  }

const mm_scene_entry mm_scenes_minatar[MM_SCENES_MINATAR] = {
  GAME("Asterix", asterix, ASTERIX),    GAME("Breakout", breakout, BREAKOUT),
  GAME("Freeway", freeway, FREEWAY),    GAME("SpaceInvaders", space_invaders, SPACE_INVADERS),
  GAME("Seaquest", seaquest, SEAQUEST),
};
