// SPDX-License-Identifier: Apache-2.0
// What the header of an environment says of it beside its dynamics: texts for listings, marks and
// shapes for pictures, parameters for traces. Each header ends with such a description, which is
// compiled in one file alone (MM_DESCRIBE is defined there).

#ifndef MM_ENV_DESCRIPTION_H
#define MM_ENV_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/plugin.h"

// ---------------------------------------------------------------------------------------------
// Pictures of marks and shapes (mirrormap/plugin.h, show/picture/picture.h)

typedef struct mm_scene {
  const mm_mark *mark; // [n_mark], of a board the one in front first
  int n_mark;
  int rows, columns; // of a board; 0: shapes
  int channels;      // MinAtar
  bool lettered;     // letters on the cells as well: colours do not say everything
  mm_view box;       // of the shapes
  int (*shapes)(const float *obs, mm_shape *out);
  int bars; // no picture of its own: so many inputs as bars
  // of a locomotion task: its forward velocity among the inputs, and the seconds of a step; see
  // mm_scene_move
  int speed;
  double seconds;
  bool ticks;
  double x;
} mm_scene;

// ---------------------------------------------------------------------------------------------
// Texts

// How episodes end where nothing but the limit of steps ends them.
#define MM_ENDS_BY_LIMIT "only by the limit"

typedef struct mm_env_facts {
  // names of the inputs, ended by NULL, "" for those that a player need not see; NULL: the channels
  // of a board
  const char *const *input;
  const char *observation; // what they are, in a sentence
  const char *reward, *end, *random;
  int fps; // of a game on the screen
} mm_env_facts;

typedef struct mm_env_about {
  const char *summary;            // in `env list`
  const char *const *action_name; // of discrete actions
  const float (*bounds)[2];       // [n_input] least and greatest; NULL: on or off, or no bounds
  mm_env_facts facts;
  mm_scene scene;
} mm_env_about;

// ---------------------------------------------------------------------------------------------
// Traces

// What an environment's parameters are.
enum { MM_TRACE_PARAM_MOST = 3 };
typedef struct mm_trace_param {
  const char *name; // NULL ends a table
  int n;            // 1, or entries of a list
  float value[MM_TRACE_PARAM_MOST];
} mm_trace_param;

#endif
