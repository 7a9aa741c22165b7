// Whether bytes are a state that a game can be in between two steps. Games trust their state: an
// observation of one that is out of range would write beyond its buffer. Whatever passes here can
// be stepped and observed. `limit` counts the steps of an episode, 0 is none.

#ifndef MM_ENV_MINATAR_SANE_H
#define MM_ENV_MINATAR_SANE_H

#include <stdbool.h>

#include "env/minatar/asterix.h"
#include "env/minatar/breakout.h"
#include "env/minatar/freeway.h"
#include "env/minatar/seaquest.h"
#include "env/minatar/space_invaders.h"

bool mm_asterix_sane(const mm_asterix *s, uint32_t limit);
bool mm_breakout_sane(const mm_breakout *s, uint32_t limit);
bool mm_freeway_sane(const mm_freeway *s, uint32_t limit);
bool mm_space_invaders_sane(const mm_space_invaders *s, uint32_t limit);
bool mm_seaquest_sane(const mm_seaquest *s, uint32_t limit);

#endif
