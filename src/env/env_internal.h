// SPDX-License-Identifier: Apache-2.0
// What an opened environment holds, and the table of those that are no Grid-World.

#ifndef MM_ENV_ENV_INTERNAL_H
#define MM_ENV_ENV_INTERNAL_H

#include "env/description.h"
#include "env/grid/grid_task.h"
#include "mirrormap/env.h"

enum { MM_GRID_SIDE_MOST = 32767 }; // cells fit into 31 bits

// Do the states of such a task fit into an index and into this machine's memory?
mm_status mm_grid_check_size(int32_t side, int32_t n_object);

// Bytes that a run of tabular PMD takes on the task of a file; 0 for the named configurations,
// which are small.
double mm_env_task_bytes(const mm_env *env);

// How many environments of a kind are stepped (src/env/vec_internal.h).
typedef struct mm_vec_law mm_vec_law;

// An environment that its ID names completely.
typedef struct mm_env_kind {
  const char *id;
  const char *summary; // NULL: that of `about`
  const char *algo, *preset;
  const mm_vec_law *law;
  int32_t which;             // mm_classic_env, mm_minatar_game, mm_body, or number of a plug-in's
  mm_env_rules rules;        // of MinAtar
  mm_env_flavour flavour;    // of a body
  const mm_env_about *about; // NULL: of a body
} mm_env_kind;

// In listing order, those of plug-ins last: NULL past the end.
const mm_env_kind *mm_env_kind_at(size_t i);

// The i-th of plug-ins (plugin_env.h), likewise.
const mm_env_kind *mm_plugin_env_kind(size_t i);

// By its ID, or NULL.
const mm_env_kind *mm_env_kind_find(const char *id);

struct mm_env {
  const mm_env_kind *kind; // or
  const mm_grid_law *law;  // a family, or
  mm_grid *task;           // the one task of a file
  char id[];
};

// The task of an environment that was read from a file, whose walls stay its own; false for one
// that an ID names. And the same environment from them, on a machine that has no such file.
bool mm_env_task_parts(const mm_env *env, mm_grid_parts *out);
mm_status mm_env_open_task(const char *id, const mm_grid_parts *parts, mm_env **out);

// The environment of a task file's text; `id` as its path would be.
mm_status mm_env_parse(const char *id, const char *text, mm_env **out);

// The ID that a wrong one most likely means, or NULL.
const char *mm_env_nearest(const char *id);

#endif
