// What a user wants to know about an environment, and what a player of it needs, beside what the
// library itself tells (mm_env_info, mm_vec_info).

#ifndef MM_CLI_ENV_FACTS_H
#define MM_CLI_ENV_FACTS_H

#include <stdbool.h>

typedef struct env_facts {
  const char *name; // an ID, or a MinAtar game
  // names of the inputs, ended by NULL, "" for those that a player need not see; NULL: the channels
  // of a board
  const char *const *input;
  const char *observation; // what they are, in a sentence
  const char *reward, *end, *random;
  int fps;   // of a game on the screen
  bool body; // moved by physics
} env_facts;

typedef enum env_group { GROUP_GRID, GROUP_CLASSIC, GROUP_BODY, GROUP_MINATAR } env_group;
env_group env_group_of(const char *id);
extern const char *const env_group_names[];

// All but Grid-Worlds; NULL for those.
const env_facts *env_facts_find(const char *id);

// "Hopper, HalfCheetah and Ant": all that physics moves.
const char *env_body_names(void);

// Nothing but the limit ends an episode there.
bool env_facts_endless(const char *id);

#endif
