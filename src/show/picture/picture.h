// What an environment looks like. A picture is a function of the environment's ID and of one
// observation as floats (MM_OBS_FLOATS) alone, so everything that has observations can be drawn:
// games, recorded traces, what a policy saw.
//
// A scene is what all pictures of an environment have in common. MinAtar is a board of 10 x 10
// cells, each showing the first of its marks that the observation has there; classic control is
// made of shapes in a box. Terminals, SVG and PNG draw the same marks in the same colours.

#ifndef MM_EXPERIMENT_PICTURE_H
#define MM_EXPERIMENT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One kind of thing, as the legend has it.
typedef struct mm_mark {
  const char *name;
  uint32_t colour; // 0xrrggbb, one of xterm's 256: six levels a channel, or a grey
  char letter;     // where there are no colours
  int8_t channel;  // MinAtar: of the observation
} mm_mark;

// Shapes of a picture, in the units of its scene's box, y upwards.
typedef enum mm_shape_kind { MM_SHAPE_LINE, MM_SHAPE_BOX, MM_SHAPE_DISC } mm_shape_kind;

typedef struct mm_shape {
  mm_shape_kind kind;
  int mark;
  double x, y, x2, y2; // ends of a line, opposite corners of a box, centre of a disc (x, y)
  double size;         // width of a line, radius of a disc
} mm_shape;

enum { MM_SHAPES_MOST = 64, MM_MARKS_MOST = 12 };

// The board's own colours: empty cells are dark on every page and terminal.
#define MM_BOARD_COLOUR 0x1c1c1cu
#define MM_PAPER_COLOUR 0xffffffu

// What of the plane a scene of shapes shows.
typedef struct mm_box {
  double left, right, bottom, top;
} mm_box;

typedef struct mm_scene {
  const mm_mark *mark; // [n_mark], of a board the one in front first
  int n_mark;
  int rows, columns; // of a board; 0: shapes
  int channels;      // MinAtar
  bool lettered;     // letters on the cells as well: colours do not say everything
  mm_box box;        // of the shapes
  int (*shapes)(const float *obs, mm_shape *out);
} mm_scene;

// The scene of a classic-control environment, a body or a MinAtar game; false for other IDs.
bool mm_scene_find(const char *id, mm_scene *out);

// The board of a MinAtar observation: cell[rows * columns] is 0 for nothing, else 1 + mark.
void mm_scene_cells(const mm_scene *scene, const float *obs, uint8_t *cell);

// The shapes of an observation, those behind first, into out[MM_SHAPES_MOST]; returns how many.
int mm_scene_shapes(const mm_scene *scene, const float *obs, mm_shape *out);

// The scenes of classic control (picture_classic.c); false for other IDs.
bool mm_scene_find_classic(const char *id, mm_scene *out);

// The scenes of bodies (picture_body.c); false for other IDs.
bool mm_scene_find_body(const char *id, mm_scene *out);

#endif
