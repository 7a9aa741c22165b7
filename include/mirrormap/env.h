// Environments by name.
//
// An mm_env is one environment, or a family from which instances are drawn; it is immutable once
// opened and may be shared by any number of threads. Grid-World: `GridWorld-<configuration>` draws
// an instance (start, objects, and for the random families everything) from (seed, index) alone; a
// task file fixes one.

#ifndef MIRRORMAP_ENV_H
#define MIRRORMAP_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_env mm_env;

// By ID ("GridWorld-dense") or by the path of a task file (text with a '/' or ending in .yaml or
// .yml). Unknown IDs fail with the nearest valid spelling.
MM_API mm_status mm_env_open(const char *id, mm_env **out);
MM_API void mm_env_destroy(mm_env *env);

// The ID it was opened by.
MM_API const char *mm_env_id(const mm_env *env);

// What a user wants to know before choosing; strings belong to the library.
typedef struct mm_env_info {
  const char *id;
  const char *summary; // one line
  const char *algo;    // default algorithm and preset, e.g. "pmd"
  const char *preset;
} mm_env_info;

// The i-th environment that can be opened by ID, in listing order; false past the end.
MM_API bool mm_env_list(size_t i, mm_env_info *out);

#ifdef __cplusplus
}
#endif

#endif
