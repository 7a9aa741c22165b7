// SPDX-License-Identifier: Apache-2.0
// Bodies for people: what each is and sees, how its traces name things, how it is drawn. A body's
// header has one of these, and as constants MM_<NAME>_SUMMARY and _SUMMARY_V4 (of its two
// flavours), _NEAR and _FAR (what is drawn in front and behind).

#ifndef MM_ENV_BODY_WORDS_H
#define MM_ENV_BODY_WORDS_H

#include "physics/body.h"

typedef struct mm_body_words {
  const char *flavour[MM_FLAVOUR_COUNT]; // what is particular to it
  const char *const *input; // of the observation, ended by NULL; "": a player need not see it
  const char *observation, *reward, *random;
  const char *end; // NULL: only by the limit
  int fps;         // of a game on the screen
  // names of coordinates and velocities in traces
  const char *field[MM_BODY_MOST_Q + MM_BODY_MOST_V];
  // pictures: the observation begins with coordinate `first`, and shows the height of the torso or
  // its coordinate; what is further away is drawn first
  int first;
  bool sees_height;
  struct {
    double left, right, bottom, top;
  } box; // below the floor and above
  bool (*is_far)(const mm_body_table *table, const mm_capsule *capsule);
} mm_body_words;

const mm_body_words *mm_body_words_of(mm_body body);

// The body and flavour of an ID: "Hopper" or "Hopper-v4". False for other environments.
bool mm_body_find(const char *id, mm_body *body, mm_flavour *flavour);

#endif
