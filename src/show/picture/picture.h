// SPDX-License-Identifier: Apache-2.0
// What an environment looks like. A picture is a function of the environment's ID and of one
// observation as floats (MM_OBS_FLOATS) alone, so everything that has observations can be drawn:
// games, recorded traces, what a policy saw.
//
// A scene is what all pictures of an environment have in common. MinAtar is a board of 10 x 10
// cells, each showing the first of its marks that the observation has there; classic control is
// made of shapes in a box. Terminals, SVG and PNG draw the same marks in the same colours.

#ifndef MM_EXPERIMENT_PICTURE_H
#define MM_EXPERIMENT_PICTURE_H

#include "env/description.h"

// The board's own colours: empty cells are dark on every page and terminal.
#define MM_BOARD_COLOUR 0x1c1c1cu
#define MM_PAPER_COLOUR 0xffffffu

// The scene of a classic-control environment, a body or a MinAtar game; false for other IDs.
bool mm_scene_find(const char *id, mm_scene *out);

// The board of a MinAtar observation: cell[rows * columns] is 0 for nothing, else 1 + mark.
void mm_scene_cells(const mm_scene *scene, const float *obs, uint8_t *cell);

// The shapes of an observation, those behind first, into out[MM_SHAPES_MOST]; returns how many.
int mm_scene_shapes(const mm_scene *scene, const float *obs, mm_shape *out);

// Of a locomotion task: begins to follow an episode, whose floor then has a tick at every metre,
// and follows the step that led to `obs`. Elsewhere nothing happens.
void mm_scene_begin(mm_scene *scene);
void mm_scene_move(mm_scene *scene, const float *obs);

#endif
