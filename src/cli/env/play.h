// SPDX-License-Identifier: Apache-2.0
// A game as `env play` drives it, by the keys of a terminal or of --keys; the screen, the clock and
// the results are the same for all. Kinds of games have this as the first field of theirs.

#ifndef MM_CLI_PLAY_H
#define MM_CLI_PLAY_H

#include "base/json.h"
#include "cli/draw/keys.h"
#include "cli/env/env_args.h"

typedef struct play_game play_game;

typedef struct play_kind {
  // A key of --keys; *known becomes false if the game has no such key. Then `refuse` reports the
  // byte and returns the exit code.
  mm_status (*press)(play_game *g, game_key k, bool *known);
  int (*refuse)(const play_game *g, size_t byte);
  // A key of the terminal, and what happens when it is time; *leave: nothing more will happen.
  mm_status (*on_key)(play_game *g, game_key k);
  mm_status (*tick)(play_game *g, bool *leave);
  mm_status (*play_alone)(play_game *g);                    // --policy without a terminal
  void (*draw)(const play_game *g, int columns, int lines); // a frame of the screen
  void (*print)(const play_game *g);                        // how it ended
  void (*add_json)(const play_game *g, cJSON *root);
} play_kind;

struct play_game {
  const play_kind *kind;
  const env_args *args;
  const char *id;
  double until; // when it is time, by mm_clock_seconds; INFINITY: it waits for keys
};

// Plays, then prints; returns the exit code.
int play_run(play_game *g);

#endif
