// SPDX-License-Identifier: Apache-2.0
// What the MinAtar games share: rules, actions, draws, maps, observations. [host/device]
//
// A game NAME is a plain struct mm_NAME, which is all zeros before its first reset, and
//
//   mm_NAME_draw_reset(stream, index)                   draws of a reset (MM_RNG_ENV_RESET)
//   mm_NAME_reset(s, rules, draws)                      a new episode
//   mm_NAME_draw_step(s, action, rules, stream, index)  draws of a step (MM_RNG_ENV_STEP)
//   mm_NAME_step(s, action, rules, draws, reward)       one step; returns MM_END_* flags
//   mm_NAME_list(s, out)                                active inputs, ascending; returns how many
//   mm_NAME_bits(s, words)                              the same as a set of bits
//   MM_NAME_INPUTS, _CHANNELS, _ACTIVE, _WORDS          inputs; room for the list and the bits
//   MM_NAME_ACTIONS, _ACTION_SET                        the smallest set of actions
//   mm_NAME_spec                                        its description (game.h)
//
// Draws are an argument so that recorded ones can be put in. Everything happens on a 10 x 10 grid,
// row 0 at the top; cell (row y, column x) is 10 y + x, and input cell * channels + channel says
// that the cell holds what the channel stands for.

#ifndef MM_ENV_MINATAR_H
#define MM_ENV_MINATAR_H

#include <stdint.h>
#include <string.h>

#include "base/hostdev.h"
#include "base/rng.h"
#include "mirrormap/env.h"

enum { MM_MINATAR_SIDE = 10, MM_MINATAR_CELLS = 100 };

// GYMNAX has no sticky actions, a limit of 1000 steps (Freeway 2500) and the quirks of that
// library. ORIGINAL repeats the action executed last with probability 1/10, across resets too; it
// has no limit (Freeway 2501), and after its end an episode stays as it is, without rewards.
typedef enum mm_minatar_rules { MM_MINATAR_GYMNAX, MM_MINATAR_ORIGINAL } mm_minatar_rules;

// What a step takes. Any other number does nothing, and neither does an action that the game has
// no use for.
typedef enum mm_minatar_action {
  MM_MINATAR_NONE,
  MM_MINATAR_LEFT,
  MM_MINATAR_UP,
  MM_MINATAR_RIGHT,
  MM_MINATAR_DOWN,
  MM_MINATAR_FIRE,
  MM_MINATAR_ACTIONS
} mm_minatar_action;

enum { MM_MINATAR_LIMIT = 1000 };

// The part of a state that every game has.
typedef struct mm_minatar_episode {
  uint32_t time;   // steps since the reset
  uint8_t ended;   // the flags of the last step
  uint8_t repeats; // the action executed last, which a sticky step repeats; a reset keeps it
} mm_minatar_episode;

// ---------------------------------------------------------------------------------------------
// Actions. The smallest set of actions that plays a game is one hexadecimal digit each, first
// action last: MM_NAME_ACTION_SET, of MM_NAME_ACTIONS entries.

// Action `index` of a set; nothing when there is no such entry.
MM_INLINE MM_HD int mm_minatar_action_at(uint32_t set, int n, int index) {
  return index >= 0 && index < n ? (int)(set >> 4 * index & 15) : MM_MINATAR_NONE;
}

// What a step really does: the action, or the last one again.
MM_INLINE MM_HD int mm_minatar_executed(const mm_minatar_episode *e, int action, int repeat) {
  if (repeat) return e->repeats;
  return action >= 0 && action < MM_MINATAR_ACTIONS ? action : MM_MINATAR_NONE;
}

MM_INLINE MM_HD int mm_minatar_clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

// 1 to the right, -1 to the left, for the two actions of these names, else 0.
MM_INLINE MM_HD int mm_minatar_right(int action) {
  return (action == MM_MINATAR_RIGHT) - (action == MM_MINATAR_LEFT);
}

MM_INLINE MM_HD int mm_minatar_down(int action) {
  return (action == MM_MINATAR_DOWN) - (action == MM_MINATAR_UP);
}

// ---------------------------------------------------------------------------------------------
// Begin and end of an episode

MM_INLINE MM_HD void mm_minatar_begin(mm_minatar_episode *e) {
  e->time = 0;
  e->ended = 0;
}

// True when the step must not happen, by the original rules.
MM_INLINE MM_HD int mm_minatar_frozen(const mm_minatar_episode *e, mm_minatar_rules rules) {
  return rules == MM_MINATAR_ORIGINAL && e->ended;
}

// Ends a step. `limit` counts steps; 0 is none.
MM_INLINE MM_HD unsigned mm_minatar_end(mm_minatar_episode *e, int terminal, uint32_t limit,
                                        mm_minatar_rules rules, int executed) {
  e->time++;
  e->ended = (uint8_t)((terminal ? MM_END_TERMINATED : 0) |
                       (limit && e->time >= limit ? MM_END_TRUNCATED : 0));
  if (rules == MM_MINATAR_ORIGINAL) e->repeats = (uint8_t)executed;
  return e->ended;
}

MM_INLINE MM_HD uint32_t mm_minatar_limit(mm_minatar_rules rules) {
  return rules == MM_MINATAR_GYMNAX ? MM_MINATAR_LIMIT : 0;
}

// ---------------------------------------------------------------------------------------------
// Random words. Step or reset `index` of a stream owns its blocks 4 index .. 4 index + 3: block 0
// says whether the action is sticky, the others belong to the game. A block is only computed when
// something depends on it, which changes no outcome.

enum { MM_MINATAR_BLOCKS = 4 };

MM_INLINE MM_HD mm_block mm_minatar_block(mm_stream stream, uint64_t index, int block) {
  return mm_stream_block(stream, MM_MINATAR_BLOCKS * index + (uint64_t)block);
}

// [0, n): floor(word n / 2^32), each value within 2^-32 of 1/n.
MM_INLINE MM_HD int mm_minatar_below(uint32_t word, uint32_t n) {
  return (int)((uint64_t)word * n >> 32);
}

MM_INLINE MM_HD int mm_minatar_sticky(mm_minatar_rules rules, mm_stream stream, uint64_t index) {
  if (rules == MM_MINATAR_GYMNAX) return 0;
  return mm_minatar_below(mm_minatar_block(stream, index, 0).word[0], 10) == 0;
}

// ---------------------------------------------------------------------------------------------
// Bits

// The number of the lowest and of the highest bit of x > 0, and how many are set.
MM_INLINE MM_HD int mm_minatar_lowest(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __ffsll((long long)x) - 1;
#else
  return __builtin_ctzll(x);
#endif
}

MM_INLINE MM_HD int mm_minatar_highest(uint64_t x) {
#ifdef __CUDA_ARCH__
  return 63 - __clzll((long long)x);
#else
  return 63 - __builtin_clzll(x);
#endif
}

MM_INLINE MM_HD int mm_minatar_count(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __popcll(x);
#else
  return __builtin_popcountll(x);
#endif
}

// ---------------------------------------------------------------------------------------------
// Maps: 10 x 10 bits. What is moved off the grid is lost.

// Rows 0 .. 4 and rows 5 .. 9, ten bits a row, column 0 lowest.
typedef struct mm_minatar_map {
  uint64_t half[2];
} mm_minatar_map;

#define MM_MINATAR_ROW 0x3ffull            // the first row of a half
#define MM_MINATAR_COLUMN 0x10040100401ull // column 0 of a half
#define MM_MINATAR_HALF 0x3ffffffffffffull

// One cell, without branches: a map can stay in registers.
MM_INLINE MM_HD mm_minatar_map mm_minatar_cell(int x, int y) {
  const int cell = MM_MINATAR_SIDE * y + x, lower = cell >= MM_MINATAR_CELLS / 2;
  const uint64_t bit = 1ull << (cell - lower * (MM_MINATAR_CELLS / 2));
  const uint64_t second = 0 - (uint64_t)lower; // all ones or zero
  mm_minatar_map m = { { bit & ~second, bit & second } };
  return m;
}

MM_INLINE MM_HD uint64_t mm_minatar_row(const mm_minatar_map *m, int y) {
  uint64_t rows = y >= 5 ? m->half[1] : m->half[0];
  return rows >> MM_MINATAR_SIDE * (y >= 5 ? y - 5 : y) & MM_MINATAR_ROW;
}

MM_INLINE MM_HD uint64_t mm_minatar_at(const mm_minatar_map *m, int x, int y) {
  return mm_minatar_row(m, y) >> x & 1;
}

MM_INLINE MM_HD mm_minatar_map mm_minatar_map_none(void) {
  mm_minatar_map m = { { 0, 0 } };
  return m;
}

MM_INLINE MM_HD int mm_minatar_map_count(const mm_minatar_map *m) {
  return mm_minatar_count(m->half[0]) + mm_minatar_count(m->half[1]);
}

MM_INLINE MM_HD mm_minatar_map mm_minatar_either(mm_minatar_map a, mm_minatar_map b) {
  mm_minatar_map m = { { a.half[0] | b.half[0], a.half[1] | b.half[1] } };
  return m;
}

MM_INLINE MM_HD void mm_minatar_put(mm_minatar_map *m, int x, int y) {
  *m = mm_minatar_either(*m, mm_minatar_cell(x, y));
}

MM_INLINE MM_HD mm_minatar_map mm_minatar_both(mm_minatar_map a, mm_minatar_map b) {
  mm_minatar_map m = { { a.half[0] & b.half[0], a.half[1] & b.half[1] } };
  return m;
}

MM_INLINE MM_HD void mm_minatar_take_away(mm_minatar_map *m, mm_minatar_map taken) {
  m->half[0] &= ~taken.half[0];
  m->half[1] &= ~taken.half[1];
}

MM_INLINE MM_HD int mm_minatar_map_any(mm_minatar_map m) {
  return (m.half[0] | m.half[1]) != 0;
}

// Everything one row or column further.
MM_INLINE MM_HD mm_minatar_map mm_minatar_to_top(mm_minatar_map a) {
  mm_minatar_map m = { { a.half[0] >> 10 | (a.half[1] & MM_MINATAR_ROW) << 40, a.half[1] >> 10 } };
  return m;
}

MM_INLINE MM_HD mm_minatar_map mm_minatar_to_bottom(mm_minatar_map a) {
  mm_minatar_map m = { { a.half[0] << 10 & MM_MINATAR_HALF,
                         (a.half[1] << 10 & MM_MINATAR_HALF) | a.half[0] >> 40 } };
  return m;
}

MM_INLINE MM_HD mm_minatar_map mm_minatar_to_left(mm_minatar_map a) {
  const uint64_t keep = MM_MINATAR_HALF ^ MM_MINATAR_COLUMN;
  mm_minatar_map m = { { (a.half[0] & keep) >> 1, (a.half[1] & keep) >> 1 } };
  return m;
}

MM_INLINE MM_HD mm_minatar_map mm_minatar_to_right(mm_minatar_map a) {
  const uint64_t keep = MM_MINATAR_HALF ^ MM_MINATAR_COLUMN << (MM_MINATAR_SIDE - 1);
  mm_minatar_map m = { { (a.half[0] & keep) << 1, (a.half[1] & keep) << 1 } };
  return m;
}

// ---------------------------------------------------------------------------------------------
// Observations: input i is bit i % 32 of word i / 32.

#define MM_MINATAR_WORDS(inputs) (((inputs) + 31) / 32)

// In pieces as wide as a vector: for all of it at once compilers choose a string instruction, which
// takes longer than the rest of a step.
MM_INLINE MM_HD void mm_minatar_clear(uint32_t *words, int n) {
  enum { PIECE = 4 };
  int i = 0;
  for (; i + PIECE <= n; i += PIECE)
    memset(words + i, 0, PIECE * sizeof *words);
  for (; i < n; i++)
    words[i] = 0;
}

MM_INLINE MM_HD void mm_minatar_light(uint32_t *words, int input) {
  words[input >> 5] |= 1u << (input & 31);
}

// Lights first + k for every bit k of `bits`, of which there are less than 25. The words are the
// bytes of a little-endian machine, so one word at any byte takes them all.
MM_INLINE MM_HD void mm_minatar_light_all(uint32_t *words, int first, uint64_t bits) {
#ifdef __CUDA_ARCH__
  uint64_t both = bits << (first & 31);
  words[first >> 5] |= (uint32_t)both;
  if (both >> 32) words[(first >> 5) + 1] |= (uint32_t)(both >> 32);
#else
  uint32_t word;
  unsigned char *at = (unsigned char *)words + (first >> 3);
  memcpy(&word, at, sizeof word);
  word |= (uint32_t)(bits << (first & 7));
  memcpy(at, &word, sizeof word);
#endif
}

// Puts one more input into an ascending list out[n]. Lists are built almost in order, so few have
// to move.
MM_INLINE MM_HD int mm_minatar_insert(uint16_t *out, int n, int input) {
  int i = n;
  for (; i > 0 && out[i - 1] > input; i--)
    out[i] = out[i - 1];
  out[i] = (uint16_t)input;
  return n + 1;
}

// A list as the numbers a network takes: floats[n_input], 1 where listed, else 0.
MM_INLINE MM_HD void mm_minatar_floats(const uint16_t *list, int n, int n_input, float *floats) {
  for (int i = 0; i < n_input; i++)
    floats[i] = 0;
  for (int i = 0; i < n; i++)
    floats[list[i]] = 1;
}

#endif
