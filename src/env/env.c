// Environments by name: the table of IDs, and files by their path.

#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/spelling.h"
#include "base/status.h"
#include "env/env_internal.h"

#define GRID_PREFIX "GridWorld-"

enum { GRID_PREFIX_LENGTH = sizeof GRID_PREFIX - 1, IDS_MOST = 64 };

bool mm_env_list(size_t i, mm_env_info *out) {
  const mm_grid_law *law = mm_grid_law_at(i);
  if (!law) return false;
  out->id = mm_grid_law_id(law);
  out->summary = mm_grid_law_summary(law);
  out->algo = "pmd";
  out->preset = "gridworld";
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
    if ((*text | 32) != (*prefix | 32)) return false;
  }
  return true;
}

static mm_status unknown_id(const char *id) {
  const char *ids[IDS_MOST], *names[IDS_MOST], *near = NULL;
  mm_env_info info;
  size_t n = 0;
  for (; n < IDS_MOST && mm_env_list(n, &info); n++) {
    ids[n] = info.id;
    names[n] = info.id + GRID_PREFIX_LENGTH;
  }
  // behind a correct prefix, or without one, only the configuration's name tells them apart
  const char *name = begins_with(id, GRID_PREFIX) ? id + GRID_PREFIX_LENGTH : id;
  const char *near_name = mm_nearest(name, names, n);
  if (near_name) near = near_name - GRID_PREFIX_LENGTH;
  if (!near && name == id) near = mm_nearest(id, ids, n);
  if (near)
    return MM_FAIL(MM_ERR_INPUT, "environment '%.80s': no such ID (did you mean '%s'?)", id, near);
  return MM_FAIL(MM_ERR_INPUT,
                 "environment '%.80s': no such ID: expected GridWorld-<configuration> (see 'env "
                 "list') or the path of a task file",
                 id);
}

static const mm_grid_law *find_law(const char *id) {
  const mm_grid_law *law;
  for (size_t i = 0; (law = mm_grid_law_at(i)) != NULL; i++) {
    if (strcmp(id, mm_grid_law_id(law)) == 0) return law;
  }
  return NULL;
}

mm_status mm_env_open(const char *id, mm_env **out) {
  *out = NULL;
  mm_grid *task = NULL;
  const mm_grid_law *law = NULL;
  if (is_path(id)) {
    MM_TRY(mm_grid_load(id, &task));
  } else {
    law = find_law(id);
    // a file without the usual ending is one all the same
    if (!law && access(id, F_OK) == 0)
      MM_TRY(mm_grid_load(id, &task));
    else if (!law)
      return unknown_id(id);
  }
  size_t size = strlen(id) + 1;
  mm_env *env = mm_alloc(sizeof *env + size);
  if (!env) {
    mm_grid_destroy(task);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for environment '%.80s'", id);
  }
  env->law = law;
  env->task = task;
  memcpy(env->id, id, size);
  *out = env;
  return MM_OK;
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
