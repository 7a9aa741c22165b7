// SPDX-License-Identifier: Apache-2.0
// Keys: letters, and the arrows, which come as ESC [ A or ESC O A, with modifiers as ESC [ 1 ; 5 A.

#include "cli/draw/keys.h"

#include <string.h>

static game_key key_of_byte(unsigned char byte) {
  static const char *const bytes[] = { "kwKW", "jsJS", "haHA", "ldLD", " ", "rR", "qQ", "pP", "." };
  for (int i = 0; i <= KEY_STEP; i++)
    if (byte != '\0' && strchr(bytes[i], byte) != NULL) return (game_key)i;
  return KEY_OTHER;
}

// 0 nothing, 1 ESC, 2 within a sequence
game_key key_read(int *seen, unsigned char byte) {
  if (byte == '\033') {
    *seen = 1;
    return KEY_PART;
  }
  if (*seen == 1 && (byte == '[' || byte == 'O')) {
    *seen = 2;
    return KEY_PART;
  }
  if (*seen != 2) {
    *seen = 0;
    return key_of_byte(byte);
  }
  if (byte < 0x40 || byte > 0x7e) return KEY_PART; // parameters
  *seen = 0;
  static const game_key arrows[] = { KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT };
  return byte >= 'A' && byte <= 'D' ? arrows[byte - 'A'] : KEY_OTHER;
}
