// SPDX-License-Identifier: Apache-2.0
// What the suites on bodies share: their IDs, the engines that can run here, and the model files.

#ifndef MM_TEST_BODY_RIG_H
#define MM_TEST_BODY_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "env/vec_internal.h"
#include "vec_rig.h"

typedef struct body_id {
  const char *id;
  mm_body body;
  mm_flavour flavour;
} body_id;

#define BRAX_ID(NAME, name, id, kernels) { id, MM_BODY_##NAME, MM_FLAVOUR_BRAX },
#define V4_ID(NAME, name, id, kernels) { id "-v4", MM_BODY_##NAME, MM_FLAVOUR_GYMNASIUM },
static const body_id body_ids[] = { MM_BODY_LIST(BRAX_ID) MM_BODY_LIST(V4_ID) };
enum { BODY_IDS = sizeof body_ids / sizeof *body_ids };

static const mm_env_physics body_engines[] = { MM_ENV_PHYSICS_OWN, MM_ENV_PHYSICS_MUJOCO };
enum { BODY_ENGINES = 2 };

// Tests in a build folder of their own find the models in the source tree.
static inline int body_setup(void **state) {
  (void)state;
  if (access(MM_TEST_DATA "/../models", R_OK) == 0)
    return setenv("MIRRORMAP_DATA", MM_TEST_DATA "/..", 1);
  return 0;
}

// Can the engine move the body here?
static inline bool body_runs(const char *id, mm_env_physics physics) {
  mm_env *env;
  mm_vec *vec;
  assert_ok(mm_env_open(id, &env));
  mm_status status = mm_vec_create(
      env, &(mm_vec_config){ .size = sizeof(mm_vec_config), .n = 1, .physics = physics }, &vec);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
  if (status == MM_OK) return true;
  assert_int_equal(status, MM_ERR_UNSUPPORTED);
  return false;
}

// Runs `check` on every body with every engine that is here; skips visibly where there is none.
static inline void body_each(void (*check)(const body_id *id, mm_env_physics physics)) {
  int done = 0;
  for (int e = 0; e < BODY_ENGINES; e++) {
    for (int i = 0; i < BODY_IDS; i++) {
      if (!body_runs(body_ids[i].id, body_engines[e])) continue;
      check(&body_ids[i], body_engines[e]);
      done++;
    }
  }
  if (done > 0) return;
  print_message("no engine moves bodies here: %s\n", mm_last_error());
  skip();
}

#endif
