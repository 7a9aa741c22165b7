// SPDX-License-Identifier: Apache-2.0
// UTF-8, one character at a time.

#ifndef MM_BASE_UTF8_H
#define MM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// How many bytes the character at s takes, of `left` that may be read (at least one); 0 when they
// are not UTF-8. Overlong forms, surrogates and numbers beyond U+10FFFF are not (RFC 3629).
static inline size_t mm_utf8_length(const unsigned char *s, size_t left) {
  unsigned char first = s[0], low = 0x80, high = 0xBF; // the range of the second byte
  size_t n = 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) n = 2;
  if (first >= 0xE0 && first <= 0xEF) n = 3;
  if (first >= 0xF0 && first <= 0xF4) n = 4;
  if (n == 0 || n > left) return 0;
  if (first == 0xE0) low = 0xA0;  // below: overlong
  if (first == 0xED) high = 0x9F; // above: surrogates
  if (first == 0xF0) low = 0x90;  // below: overlong
  if (first == 0xF4) high = 0x8F; // above: beyond U+10FFFF
  if (s[1] < low || s[1] > high) return 0;
  for (size_t i = 2; i < n; i++) {
    if (s[i] < 0x80 || s[i] > 0xBF) return 0;
  }
  return n;
}

// Whether the character at s, of `n` bytes, is a control character. Those of the second page are C2
// 80 .. C2 9F.
static inline bool mm_utf8_is_control(const unsigned char *s, size_t n) {
  return s[0] < 0x20 || s[0] == 0x7F || (n == 2 && s[0] == 0xC2 && s[1] < 0xA0);
}

// Whether the character at s breaks lines or turns the direction of writing, which could make a
// text look like another: U+200E, U+200F, U+2028 .. U+202E, U+2066 .. U+2069.
static inline bool mm_utf8_is_turn(const unsigned char *s, size_t n) {
  if (n != 3 || s[0] != 0xE2) return false;
  return (s[1] == 0x80 && (s[2] == 0x8E || s[2] == 0x8F || (s[2] >= 0xA8 && s[2] <= 0xAE))) ||
         (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9);
}

// How many bytes at s can be shown as they are: those of one character. 0 where the first can not,
// since it begins a control character, which could break a line or drive a terminal, one that turns
// the direction of writing, or no UTF-8.
static inline size_t mm_utf8_plain(const unsigned char *s, size_t left) {
  const size_t n = mm_utf8_length(s, left);
  return n > 0 && (mm_utf8_is_control(s, n) || mm_utf8_is_turn(s, n)) ? 0 : n;
}

#endif
