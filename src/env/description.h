// What the header of an environment says of it beside its dynamics: texts for listings, marks and
// shapes for pictures, parameters for traces. Each header ends with such a description, which is
// compiled in one file alone (MM_DESCRIBE is defined there).

#ifndef MM_ENV_DESCRIPTION_H
#define MM_ENV_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---------------------------------------------------------------------------------------------
// Pictures (show/picture/picture.h)

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

// What of the plane a scene of shapes shows.
typedef struct mm_view {
  double left, right, bottom, top;
} mm_view;

typedef struct mm_scene {
  const mm_mark *mark; // [n_mark], of a board the one in front first
  int n_mark;
  int rows, columns; // of a board; 0: shapes
  int channels;      // MinAtar
  bool lettered;     // letters on the cells as well: colours do not say everything
  mm_view box;       // of the shapes
  int (*shapes)(const float *obs, mm_shape *out);
} mm_scene;

static inline mm_shape mm_shape_line(int mark, double x, double y, double x2, double y2,
                                     double width) {
  return (mm_shape){ MM_SHAPE_LINE, mark, x, y, x2, y2, width };
}

static inline mm_shape mm_shape_box(int mark, double x, double y, double x2, double y2) {
  return (mm_shape){ MM_SHAPE_BOX, mark, x, y, x2, y2, 0 };
}

static inline mm_shape mm_shape_disc(int mark, double x, double y, double radius) {
  return (mm_shape){ MM_SHAPE_DISC, mark, x, y, x, y, radius };
}

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
