// SPDX-License-Identifier: Apache-2.0
// Keys as a game reads them: from a terminal byte by byte, or from the text of --keys.

#ifndef MM_CLI_KEYS_H
#define MM_CLI_KEYS_H

// The four directions come first, in the order of Grid-World's actions.
typedef enum game_key {
  KEY_UP,
  KEY_DOWN,
  KEY_LEFT,
  KEY_RIGHT,
  KEY_SPACE,
  KEY_RESTART,
  KEY_QUIT,
  KEY_PAUSE,
  KEY_STEP,
  KEY_PART, // the key is not complete yet
  KEY_OTHER
} game_key;

// What the next byte completes. `*seen` keeps what came so far and is 0 at the beginning.
game_key key_read(int *seen, unsigned char byte);

#endif
