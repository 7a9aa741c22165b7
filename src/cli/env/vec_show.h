// `env show` of classic control, bodies and MinAtar.

#ifndef MM_CLI_VEC_SHOW_H
#define MM_CLI_VEC_SHOW_H

#include "cli/env/vec_game.h"

// Prints the facts and the start of the first episode; returns the exit code.
int vec_show(const mm_env *env, const vec_game_config *config, bool json);

#endif
