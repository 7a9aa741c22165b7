// SPDX-License-Identifier: Apache-2.0
// Environments by name: the table of IDs, and files by their path.

#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/spelling.h"
#include "base/status.h"
#include "env/env_internal.h"

#define GRID_PREFIX "GridWorld-"

enum { IDS_MOST = 128, BEGINNING_LEAST = 4 };

bool mm_env_list(size_t i, mm_env_info *out) {
  size_t n_grid = 0;
  for (const mm_grid_law *law; (law = mm_grid_law_at(n_grid)) != NULL; n_grid++) {
    if (n_grid < i) continue;
    *out = (mm_env_info){ law->id, law->summary, "pmd", "gridworld" };
    return true;
  }
  const mm_env_kind *kind = mm_env_kind_at(i - n_grid);
  if (!kind) return false;
  const char *summary = kind->summary ? kind->summary : kind->about->summary;
  *out = (mm_env_info){ kind->id, summary, kind->algo, kind->preset };
  return true;
}

// ---------------------------------------------------------------------------------------------
// Opening

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), n_end = strlen(end);
  return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static bool is_path(const char *id) {
  return strchr(id, '/') || ends_with(id, ".yaml") || ends_with(id, ".yml");
}

// Does `text` begin with `prefix`, in any letter case?
static bool begins_with(const char *text, const char *prefix) {
  for (; *prefix; text++, prefix++) {
    if (*text == '\0' || (*text | 32) != (*prefix | 32)) return false;
  }
  return true;
}

// What tells the IDs apart, without the words that many of them share.
static const char *bare_name(const char *id) {
  static const char *const prefixes[] = { GRID_PREFIX, "MinAtar/" };
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (begins_with(id, prefixes[i])) return id + strlen(prefixes[i]);
  }
  return id;
}

// "CartPole" and "asterix" are the beginnings of one ID each; else the spelling decides.
const char *mm_env_nearest(const char *id) {
  const char *ids[IDS_MOST], *names[IDS_MOST];
  const bool bare = bare_name(id) == id;
  mm_env_info info;
  size_t n = 0;
  for (; n < IDS_MOST && mm_env_list(n, &info); n++) {
    ids[n] = info.id;
    names[n] = bare_name(info.id);
    if (bare && strlen(id) >= BEGINNING_LEAST && begins_with(info.id, id)) return info.id;
  }
  // behind a correct prefix only the bare name tells them apart
  const char *near = bare ? mm_nearest(id, ids, n) : NULL;
  const char *name = near ? NULL : mm_nearest(bare_name(id), names, n);
  for (size_t i = 0; name && i < n; i++) {
    if (names[i] == name) return ids[i];
  }
  return near;
}

static mm_status unknown_id(const char *id) {
  const char *near = mm_env_nearest(id);
  if (near)
    return MM_FAIL(MM_ERR_INPUT, "environment '%.80s': no such ID (did you mean '%s'?)", id, near);
  return MM_FAIL(MM_ERR_INPUT,
                 "environment '%.80s': no such ID: expected one of 'env list' or the path of a "
                 "Grid-World task file",
                 id);
}

static const mm_grid_law *find_law(const char *id) {
  const mm_grid_law *law;
  for (size_t i = 0; (law = mm_grid_law_at(i)) != NULL; i++) {
    if (strcmp(id, law->id) == 0) return law;
  }
  return NULL;
}

// A file without the usual ending is one all the same, and a path that is none may be a misspelt
// "MinAtar/..." ID.
static bool is_file(const char *id) {
  return access(id, F_OK) == 0 || (is_path(id) && !begins_with(id, "MinAtar/"));
}

static mm_status make(const char *id, const mm_env_kind *kind, const mm_grid_law *law,
                      mm_grid *task, mm_env **out) {
  size_t size = strlen(id) + 1;
  mm_env *env = mm_alloc(sizeof *env + size);
  if (!env) {
    mm_grid_destroy(task);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for environment '%.80s'", id);
  }
  env->kind = kind;
  env->law = law;
  env->task = task;
  memcpy(env->id, id, size);
  *out = env;
  return MM_OK;
}

mm_status mm_env_open(const char *id, mm_env **out) {
  *out = NULL;
  const mm_env_kind *kind = mm_env_kind_find(id);
  const mm_grid_law *law = kind ? NULL : find_law(id);
  mm_grid *task = NULL;
  if (!kind && !law) {
    if (!is_file(id)) return unknown_id(id);
    MM_TRY(mm_grid_load(id, &task));
  }
  return make(id, kind, law, task, out);
}

mm_status mm_env_open_task(const char *id, const mm_grid_parts *parts, mm_env **out) {
  mm_grid *task;
  *out = NULL;
  MM_TRY(mm_grid_create(parts, &task));
  return make(id, NULL, NULL, task, out);
}

mm_status mm_env_parse(const char *id, const char *text, mm_env **out) {
  mm_grid *task;
  *out = NULL;
  MM_TRY(mm_grid_parse(text, id, &task));
  return make(id, NULL, NULL, task, out);
}

bool mm_env_task_parts(const mm_env *env, mm_grid_parts *out) {
  if (env->task) *out = mm_grid_parts_of(env->task);
  return env->task != NULL;
}

void mm_env_destroy(mm_env *env) {
  if (!env) return;
  mm_grid_destroy(env->task);
  mm_free(env);
}

const char *mm_env_id(const mm_env *env) {
  return env->id;
}

bool mm_env_is_grid(const mm_env *env) {
  return env->law || env->task;
}
