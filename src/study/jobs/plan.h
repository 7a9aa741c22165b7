// What the plans of searches and of trainings have in common: names, seeds, settings and task
// files, as the database keeps them. A plan must say everything that decides the result, since the
// files it came from may change or stay behind. `source` begins errors.

#ifndef MM_EXPERIMENT_PLAN_H
#define MM_EXPERIMENT_PLAN_H

#include "mirrormap/env.h"
#include "study/settings/settings.h"

enum { MM_PLAN_NAME_SIZE = 512 };

mm_status mm_plan_copy_name(const char *text, const char *source, char out[MM_PLAN_NAME_SIZE]);

// ---------------------------------------------------------------------------------------------
// Fields of a plan, written and read

// The plan as text (mm_free), and the end of the tree. `whose` is for the error: "a training".
mm_status mm_plan_print(cJSON *root, const char *whose, char **out);

// Field "command": a plan of another one is refused.
mm_status mm_plan_read_command(const cJSON *root, const char *source, const char *expected);

mm_status mm_plan_read_algo(const cJSON *root, const char *source, mm_algo *out);

// Field "seed" is text, since JSON numbers cannot hold 64 bits.
void mm_plan_add_seed(cJSON *root, uint64_t seed);
mm_status mm_plan_read_seed(const cJSON *root, const char *source, uint64_t *out);

// The settings number first .. end - 1 of an algorithm from the object `name` (mm_settings_read).
mm_status mm_plan_read_settings(const cJSON *root, const char *source, const char *name,
                                size_t first, size_t end, mm_settings *settings);

// Field "file", the text of a task file (mm_free); null and NULL for an ID.
void mm_plan_add_file(cJSON *root, const char *text);
mm_status mm_plan_read_file(const cJSON *root, const char *source, char **out);

// Fields "env" and "files" of several environments, at most `max`: their names, and the texts of
// their task files (mm_free), which stay as they are for IDs.
void mm_plan_add_envs(cJSON *root, const char (*env)[MM_PLAN_NAME_SIZE], char *const *file,
                      size_t n);
mm_status mm_plan_read_envs(const cJSON *root, const char *source, size_t max,
                            char (*env)[MM_PLAN_NAME_SIZE], char **file, size_t *n);

// What runs of a stored plan are called in tables and figures: by their map, or by the algorithm
// where that has none ("ppo", and "tuned:ppo" for "tuned:negentropy").
void mm_plan_label(const cJSON *config, const char *map, char *out, size_t size);

// ---------------------------------------------------------------------------------------------
// Task files

// The text of an environment's task file (mm_free), NULL for an ID.
mm_status mm_plan_read_task(const char *env, char **out);

// A task file lives on in the run's folder, as env-<i>.yaml: made if it is not there; one that says
// something else than the plan is MM_ERR_INPUT.
mm_status mm_plan_copy_task(const char *text, size_t i, const char *folder);

// The i-th environment of the run in `folder`: by its ID, or by the text of its task file. open
// also sees to the copy of the file, as copy_task; read leaves the folder alone.
mm_status mm_plan_read_env(const char *env, const char *text, size_t i, const char *folder,
                           mm_env **out);
mm_status mm_plan_open_env(const char *env, const char *text, size_t i, const char *folder,
                           mm_env **out);

#endif
