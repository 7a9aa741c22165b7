// What a user wants to know about an environment, and what a player of it needs, beside what the
// library itself tells (mm_env_info, mm_vec_info).

#ifndef MM_CLI_ENV_FACTS_H
#define MM_CLI_ENV_FACTS_H

#include <stdbool.h>

typedef struct env_facts {
  const char *name;         // an ID, or a MinAtar game
  const char *const *input; // names of the inputs, ended by NULL; NULL: the channels of a board
  const char *observation;  // what they are, in a sentence
  const char *reward, *end, *random;
  int fps; // of a game on the screen
} env_facts;

typedef enum env_group { GROUP_GRID, GROUP_CLASSIC, GROUP_MINATAR } env_group;
env_group env_group_of(const char *id);
extern const char *const env_group_names[];

// Classic control and MinAtar; NULL for others.
const env_facts *env_facts_find(const char *id);

#endif
