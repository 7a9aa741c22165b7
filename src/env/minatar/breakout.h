// SPDX-License-Identifier: Apache-2.0
// Breakout of MinAtar: a ball, a paddle, three rows of bricks. [host/device]
//
// The ball moves one cell diagonally per step. A brick in its way is worth 1, vanishes and throws
// the ball back; the step after a hit passes through bricks. Missing the ball with the paddle ends
// the episode. The wall comes back when the ball reaches the bottom and no brick is left. Only the
// side on which the ball starts is random.

#ifndef MM_ENV_BREAKOUT_H
#define MM_ENV_BREAKOUT_H

#include "env/minatar/minatar.h"

enum {
  MM_BREAKOUT_CHANNELS = 4, // paddle, ball, trail, bricks
  MM_BREAKOUT_INPUTS = 100 * MM_BREAKOUT_CHANNELS,
  MM_BREAKOUT_WORDS = MM_MINATAR_WORDS(MM_BREAKOUT_INPUTS),
  MM_BREAKOUT_ACTIVE = 33,
  MM_BREAKOUT_ACTIONS = 3,
  MM_BREAKOUT_ACTION_SET = 0x310, // none, left, right
  MM_BREAKOUT_BRICK_FIRST = 10,   // cells of the wall: rows 1, 2, 3
  MM_BREAKOUT_BRICKS = 30,
  MM_BREAKOUT_PADDLE_ROW = 9
};

// Directions of the ball, clockwise.
enum { MM_BREAKOUT_UP_LEFT, MM_BREAKOUT_UP_RIGHT, MM_BREAKOUT_DOWN_RIGHT, MM_BREAKOUT_DOWN_LEFT };

typedef struct mm_breakout {
  mm_minatar_episode episode;
  uint32_t bricks; // bit i: the brick of cell 10 + i is there
  int8_t x, y, direction;
  int8_t last_x, last_y; // where the ball was
  int8_t paddle;
  uint8_t strike; // the ball touched a brick in the last step
} mm_breakout;

typedef struct mm_breakout_draws {
  uint8_t repeat; // step: the action is sticky
  uint8_t right;  // reset: the ball starts at the right
} mm_breakout_draws;

// ---------------------------------------------------------------------------------------------

MM_INLINE MM_HD mm_breakout_draws mm_breakout_draw_reset(mm_stream stream, uint64_t index) {
  mm_breakout_draws d = { 0, (uint8_t)(mm_minatar_block(stream, index, 1).word[0] >> 31) };
  return d;
}

MM_INLINE MM_HD mm_breakout_draws mm_breakout_draw_step(const mm_breakout *s, int action,
                                                        mm_minatar_rules rules, mm_stream stream,
                                                        uint64_t index) {
  (void)s, (void)action;
  mm_breakout_draws d = { (uint8_t)mm_minatar_sticky(rules, stream, index), 0 };
  return d;
}

MM_INLINE MM_HD uint32_t mm_breakout_wall(void) {
  return (1u << MM_BREAKOUT_BRICKS) - 1;
}

MM_INLINE MM_HD void mm_breakout_reset(mm_breakout *s, mm_minatar_rules rules,
                                       mm_breakout_draws d) {
  (void)rules;
  mm_minatar_begin(&s->episode);
  s->bricks = mm_breakout_wall();
  s->x = d.right ? 9 : 0;
  s->y = 3;
  s->direction = d.right ? MM_BREAKOUT_DOWN_LEFT : MM_BREAKOUT_DOWN_RIGHT;
  s->last_x = s->x;
  s->last_y = s->y;
  s->paddle = 4;
  s->strike = 0;
}

// The brick at a cell as a bit of `bricks`, 0 outside the wall.
MM_INLINE MM_HD uint32_t mm_breakout_brick(int x, int y) {
  unsigned i = (unsigned)(MM_MINATAR_SIDE * y + x - MM_BREAKOUT_BRICK_FIRST);
  return i < MM_BREAKOUT_BRICKS ? 1u << i : 0;
}

MM_INLINE MM_HD unsigned mm_breakout_step(mm_breakout *s, int action, mm_minatar_rules rules,
                                          mm_breakout_draws d, float *reward) {
  *reward = 0;
  if (mm_minatar_frozen(&s->episode, rules)) return s->episode.ended;
  const int executed = mm_minatar_executed(&s->episode, action, d.repeat);
  int paddle = mm_minatar_clamp(s->paddle + mm_minatar_right(executed), 0, MM_MINATAR_SIDE - 1);
  // directions are numbered so that a mirror is an exclusive or
  const int flip_x = 1, flip_y = 3, turn_back = 2;
  int direction = s->direction, terminal = 0, hit = 0;
  int to_right = direction == MM_BREAKOUT_UP_RIGHT || direction == MM_BREAKOUT_DOWN_RIGHT;
  int to_down = direction >= MM_BREAKOUT_DOWN_RIGHT;
  int x = s->x + (to_right ? 1 : -1), y = s->y + (to_down ? 1 : -1);
  if (x < 0 || x >= MM_MINATAR_SIDE) {
    x = mm_minatar_clamp(x, 0, MM_MINATAR_SIDE - 1);
    direction ^= flip_x;
  }
  uint32_t brick = mm_breakout_brick(x, y);
  if (y < 0) {
    y = 0;
    direction ^= flip_y;
  } else if (s->bricks & brick) {
    hit = 1;
    if (!s->strike) {
      *reward = 1;
      s->bricks ^= brick;
      y = s->y;
      direction ^= flip_y;
    }
  } else if (y == MM_BREAKOUT_PADDLE_ROW) {
    if (!s->bricks) s->bricks = mm_breakout_wall();
    if (s->x == paddle) {
      direction ^= flip_y;
      y = s->y;
    } else if (x == paddle) {
      direction ^= turn_back;
      y = s->y;
    } else {
      terminal = 1;
    }
  }
  s->last_x = s->x;
  s->last_y = s->y;
  s->x = (int8_t)x;
  s->y = (int8_t)y;
  s->direction = (int8_t)direction;
  s->paddle = (int8_t)paddle;
  s->strike = (uint8_t)hit;
  return mm_minatar_end(&s->episode, terminal, mm_minatar_limit(rules), rules, executed);
}

// ---------------------------------------------------------------------------------------------
// Observation

enum { MM_BREAKOUT_PADDLE, MM_BREAKOUT_BALL, MM_BREAKOUT_TRAIL, MM_BREAKOUT_BRICK };

MM_INLINE MM_HD int mm_breakout_input(int x, int y, int channel) {
  return (MM_MINATAR_SIDE * y + x) * MM_BREAKOUT_CHANNELS + channel;
}

MM_INLINE MM_HD int mm_breakout_list(const mm_breakout *s, uint16_t *out) {
  int n = 0;
  for (int i = 0; i < MM_BREAKOUT_BRICKS; i++) { // writes always, keeps if there is a brick
    out[n] = (uint16_t)mm_breakout_input(i, 1, MM_BREAKOUT_BRICK);
    n += (int)(s->bricks >> i & 1);
  }
  n = mm_minatar_insert(out, n, mm_breakout_input(s->last_x, s->last_y, MM_BREAKOUT_TRAIL));
  n = mm_minatar_insert(out, n, mm_breakout_input(s->x, s->y, MM_BREAKOUT_BALL));
  return mm_minatar_insert(
      out, n, mm_breakout_input(s->paddle, MM_BREAKOUT_PADDLE_ROW, MM_BREAKOUT_PADDLE));
}

// Eight cells make a word: their bricks go to every fourth bit.
MM_INLINE MM_HD uint32_t mm_breakout_spread(uint32_t cells) {
  cells = (cells | cells << 12) & 0x000f000fu;
  cells = (cells | cells << 6) & 0x03030303u;
  return (cells | cells << 3) & 0x11111111u;
}

MM_INLINE MM_HD void mm_breakout_bits(const mm_breakout *s, uint32_t *words) {
  uint64_t cells = (uint64_t)s->bricks << MM_BREAKOUT_BRICK_FIRST;
  for (int i = 0; i < MM_BREAKOUT_WORDS; i++) {
    uint32_t eight = i < 5 ? (uint32_t)(cells >> 8 * i) & 255 : 0; // the wall ends with cell 39
    words[i] = mm_breakout_spread(eight) << MM_BREAKOUT_BRICK;
  }
  mm_minatar_light(words, mm_breakout_input(s->last_x, s->last_y, MM_BREAKOUT_TRAIL));
  mm_minatar_light(words, mm_breakout_input(s->x, s->y, MM_BREAKOUT_BALL));
  mm_minatar_light(words, mm_breakout_input(s->paddle, MM_BREAKOUT_PADDLE_ROW, MM_BREAKOUT_PADDLE));
}

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/minatar/game.h"

// The ball reaches the paddle's row only at the end.
enum { BREAKOUT_LAST = MM_MINATAR_SIDE - 1, BREAKOUT_LOWEST = MM_BREAKOUT_PADDLE_ROW - 1 };

static const mm_game_field breakout_fields[] = {
  MM_FIELD_WIDER(breakout, y, "ball_y", 0, BREAKOUT_LOWEST, 0, BREAKOUT_LAST),
  MM_FIELD(breakout, x, "ball_x", 0, BREAKOUT_LAST),
  MM_FIELD(breakout, direction, "ball_dir", MM_BREAKOUT_UP_LEFT, MM_BREAKOUT_DOWN_LEFT),
  MM_FIELD(breakout, paddle, "pos", 0, BREAKOUT_LAST),
  MM_FIELD_FLAG(breakout, strike, "strike"),
  MM_FIELD_WIDER(breakout, last_y, "last_y", 0, BREAKOUT_LOWEST, 0, BREAKOUT_LAST),
  MM_FIELD(breakout, last_x, "last_x", 0, BREAKOUT_LAST),
  MM_FIELD_EPISODE,
  MM_FIELD_CELLS(breakout, bricks, "brick_map", MM_BREAKOUT_BRICK_FIRST,
                 MM_BREAKOUT_BRICK_FIRST + MM_BREAKOUT_BRICKS - 1),
};

static const mm_trace_param breakout_params[] = { { NULL, 0, { 0 } } };

static const char *const breakout_actions[] = { "none", "left", "right" };

static const mm_mark breakout_marks[] = {
  { "ball", MM_YELLOW, 'O', MM_BREAKOUT_BALL },
  { "paddle", MM_WHITE, 'P', MM_BREAKOUT_PADDLE },
  { "brick", MM_DARK_BLUE, '#', MM_BREAKOUT_BRICK },
  { "trail of the ball", MM_DARK_GREY, 'o', MM_BREAKOUT_TRAIL },
};

const mm_game_spec mm_breakout_spec = {
  .about = { .summary = "break bricks with a ball and a paddle",
             .action_name = breakout_actions,
             .facts = { NULL, "10 x 10 cells of 4 channels: paddle, ball, trail, brick",
                        "1 for each brick", "the paddle misses the ball",
                        "the start: the ball comes from the left or from the right", 10 },
             .scene = MM_GAME_SCENE(breakout_marks, MM_BREAKOUT_CHANNELS) },
  .limit = { MM_MINATAR_LIMIT, 0 },
  MM_GAME_TABLES(breakout),
  .reset = "ball side drawn at random (ball_x 0 and dir 2, or ball_x 9 and dir 3)",
  .note = "brick_map lists the indices row*10+col of the bricks present.",
};
#endif

#endif
