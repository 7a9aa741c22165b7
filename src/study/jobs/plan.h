// SPDX-License-Identifier: Apache-2.0
// What the plans of searches and of trainings have in common: names, seeds, settings and task
// files, as the database keeps them. A plan must say everything that decides the result, since the
// files it came from may change or stay behind. `source` begins errors.

#ifndef MM_EXPERIMENT_PLAN_H
#define MM_EXPERIMENT_PLAN_H

#include "mirrormap/env.h"
#include "mirrormap/study.h"
#include "study/settings/settings.h"

enum { MM_PLAN_NAME_SIZE = MM_STUDY_NAME_SIZE };

mm_status mm_plan_copy_name(const char *text, const char *source, char out[MM_PLAN_NAME_SIZE]);

// ---------------------------------------------------------------------------------------------
// Fields of a plan, written and read

// Serialises and deletes `root`; release *out with mm_free. `whose` is for the error: "a training".
mm_status mm_plan_print(cJSON *root, const char *whose, char **out);

// Hands over a plan that could be made, and deletes another one.
mm_status mm_plan_end(cJSON *root, mm_status status, cJSON **out);

// Field "plugins": those that names of the plan belong to, where there are any; added, and looked
// for among the loaded ones and taken out.
mm_status mm_plan_add_plugins(cJSON *root);
mm_status mm_plan_take_plugins(cJSON *root, const char *source);

// Field "command": a plan of another one is refused.
mm_status mm_plan_read_command(const cJSON *root, const char *source, const char *expected);

mm_status mm_plan_read_algo(const cJSON *root, const char *source, mm_algo *out);

// Field "seed" is text, since JSON numbers cannot hold 64 bits.
void mm_plan_add_seed(cJSON *root, uint64_t seed);
mm_status mm_plan_read_seed(const cJSON *root, const char *source, uint64_t *out);

// The settings of an algorithm from an object of that name; defaults for what it does not have.
mm_status mm_plan_read_settings(const cJSON *object, const char *source, mm_algo algo,
                                mm_settings *out);

// Field "map_file": a map as the text of its file.
mm_status mm_plan_add_map(cJSON *root, const mm_map *map);
mm_status mm_plan_read_map(const cJSON *root, const char *source, mm_map **out);

// A count, at least `least`.
void mm_plan_add_count(cJSON *root, const char *key, size_t value);
mm_status mm_plan_read_count(const cJSON *root, const char *source, const char *key, size_t least,
                             size_t most, size_t *out);

// Field "file", the text of a task file (mm_free); null and NULL for an ID.
void mm_plan_add_file(cJSON *root, const char *text);
mm_status mm_plan_read_file(const cJSON *root, const char *source, char **out);

// What runs of a stored plan are called in tables and figures: by their map, or by the algorithm
// where that has none ("ppo", and "tuned:ppo" for "tuned:negentropy").
void mm_plan_label(const cJSON *config, const char *map, char *out, size_t size);

// ---------------------------------------------------------------------------------------------
// Environments and task files. The text of a task file is a part of the plan, and lives on in the
// run's folder as env-<i>.yaml.

// The text of an environment's task file (mm_free), NULL for an ID.
mm_status mm_plan_read_task(const char *env, char **out);

// Makes the i-th file if it is not there; one that says something else than the plan is
// MM_ERR_INPUT.
mm_status mm_plan_copy_task(const char *text, size_t i, const char *folder);

// The i-th environment of the run in `folder`, by its ID or by the text of its task file.
mm_status mm_plan_open_env(const char *env, const char *text, size_t i, const char *folder,
                           mm_env **out);

enum { MM_PLAN_ENVS = MM_STUDY_LEARN_ENVS };

typedef struct mm_plan_envs {
  size_t n;
  mm_env *env[MM_PLAN_ENVS];
  char *task[MM_PLAN_ENVS]; // NULL for an ID
} mm_plan_envs;

// Those of a new plan, with the texts of their files; those of the run in `folder`, whose texts
// are there already. Release in either case.
mm_status mm_plan_new_envs(const char (*name)[MM_PLAN_NAME_SIZE], size_t n, mm_plan_envs *out);
mm_status mm_plan_open_envs(const char (*name)[MM_PLAN_NAME_SIZE], const char *folder,
                            mm_plan_envs *envs);
mm_status mm_plan_copy_tasks(const mm_plan_envs *envs, const char *folder);
void mm_plan_release_envs(mm_plan_envs *envs);

// Fields "env" and "files": their names, at most `max`, and the texts.
void mm_plan_add_envs(cJSON *root, const char (*name)[MM_PLAN_NAME_SIZE], const mm_plan_envs *envs);
mm_status mm_plan_read_envs(const cJSON *root, const char *source, size_t max,
                            char (*name)[MM_PLAN_NAME_SIZE], mm_plan_envs *out);

#endif
