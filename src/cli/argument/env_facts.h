// What a user wants to know about an environment, and what a player of it needs, beside what the
// library itself tells (mm_env_info, mm_vec_info).

#ifndef MM_CLI_ENV_FACTS_H
#define MM_CLI_ENV_FACTS_H

#include "env/description.h"

typedef enum env_group { GROUP_GRID, GROUP_CLASSIC, GROUP_BODY, GROUP_MINATAR } env_group;
env_group env_group_of(const char *id);
extern const char *const env_group_names[];

// Whom a setting is for, if not for this environment; NULL: it has it, or all have.
const char *env_setting_owner(const char *key, env_group group, const char *id);

// All but Grid-Worlds; NULL for those.
const mm_env_facts *env_facts_find(const char *id);

// "Hopper, HalfCheetah and Ant": all that physics moves.
const char *env_body_names(void);

// Nothing but the limit ends an episode there.
bool env_facts_endless(const char *id);

#endif
