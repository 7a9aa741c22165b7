// SPDX-License-Identifier: Apache-2.0
// Plug-ins: environments, potentials and learners of one's own in a shared object, by name wherever
// the built-in ones are.
//
//   static const mm_plugin_env pole = { .size = sizeof pole, .id = "WindyPole", .. };
//   static const mm_plugin_env *const envs[] = { &pole, NULL };
//   const mm_plugin mirrormap_plugin = { .interface = MM_PLUGIN_INTERFACE,
//                                        .size = sizeof(mm_plugin),
//                                        .name = "windy",
//                                        .version = "1.0",
//                                        .env = envs };
//
//   cc -shared -fPIC windy.c $(pkg-config --cflags mirrormap) -o windy.so
//   mirrormap env check WindyPole --plugin windy.so
//
// The object needs no library of ours: what it calls is found in the program that loads it.
// (examples/05_own_environment.c, 06_own_potential.c, 07_own_learner.c)
//
// The structs of a plug-in are never changed and stay while the process runs. Its functions are
// called by several threads at the same time, for different states: what they write belongs to
// their arguments, they have no variables of their own. Results repeat to the bit where they are
// functions of their arguments alone.

#ifndef MIRRORMAP_PLUGIN_H
#define MIRRORMAP_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"
#include "mirrormap/env.h"
#include "mirrormap/map.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------
// Random numbers

// A stream, given for one call: the numbers are a function of the seed, the environment and the
// place of the step in its history, so that whatever is drawn is drawn again when a run is
// repeated or resumed. Up to 2^20 numbers a call of an environment.
typedef struct mm_random mm_random;

MM_API float mm_random_uniform(mm_random *random);            // [0, 1)
MM_API float mm_random_normal(mm_random *random);             // mean 0, deviation 1
MM_API int32_t mm_random_below(mm_random *random, int32_t n); // 0 .. n - 1, all alike; n >= 1

// ---------------------------------------------------------------------------------------------
// Pictures

// One kind of thing in a picture, as the legend has it.
typedef struct mm_mark {
  const char *name;
  uint32_t colour; // 0xrrggbb, best one of xterm's 256: six levels a channel, or a grey
  char letter;     // where there are no colours
  int8_t channel;  // of built-in boards of cells alone
} mm_mark;

// Shapes of a picture, in the units of its view, y upwards.
typedef enum mm_shape_kind { MM_SHAPE_LINE, MM_SHAPE_BOX, MM_SHAPE_DISC } mm_shape_kind;

typedef struct mm_shape {
  mm_shape_kind kind;
  int mark;
  double x, y, x2, y2; // ends of a line, opposite corners of a box, centre of a disc (x, y)
  double size;         // width of a line, radius of a disc
} mm_shape;

enum { MM_SHAPES_MOST = 64, MM_MARKS_MOST = 12 };

// What of the plane a picture of shapes shows.
typedef struct mm_view {
  double left, right, bottom, top;
} mm_view;

static inline mm_shape mm_shape_line(int mark, double x, double y, double x2, double y2,
                                     double width) {
  mm_shape s = { MM_SHAPE_LINE, mark, x, y, x2, y2, width };
  return s;
}

static inline mm_shape mm_shape_box(int mark, double x, double y, double x2, double y2) {
  mm_shape s = { MM_SHAPE_BOX, mark, x, y, x2, y2, 0 };
  return s;
}

static inline mm_shape mm_shape_disc(int mark, double x, double y, double radius) {
  mm_shape s = { MM_SHAPE_DISC, mark, x, y, x, y, radius };
  return s;
}

// ---------------------------------------------------------------------------------------------
// Environments

// What an environment without chance says is random.
#define MM_NOTHING_RANDOM "nothing"

enum {
  MM_PLUGIN_INPUTS = 4096, // at most, of an observation
  MM_PLUGIN_REALS = 64,    // at most, of a continuous action
  MM_PLUGIN_ACTIONS = 4096 // at most, to choose from
};

typedef struct mm_plugin_env {
  size_t size;         // sizeof(mm_plugin_env)
  const char *id;      // letters, digits and . _ -; none of the built-in ones
  const char *summary; // one line
  const char *algo;    // its default algorithm and preset; NULL: ampo and bcs, or pmd-gaussian
  const char *preset;  // and mujoco where actions are continuous
  int32_t n_input;     // numbers in an observation
  int32_t n_action;    // actions are 0 .. n_action - 1; or 0, and actions are real:
  int32_t n_real;      //   so many numbers each (else 0),
  float low, high;     //   clipped to this range before `step` sees them
  int32_t limit;       // steps after which the library truncates an episode; 0: never
  size_t state_size;   // bytes of a state; it is copied as it is, so no pointers
  void (*reset)(void *state, mm_random *random); // begins an episode; the state is zero
  // One step; returns MM_END_TERMINATED where the new state is terminal, else 0. `action` is an
  // int32_t, or float [n_real]. *reward comes as 0.
  int (*step)(void *state, const void *action, mm_random *random, float *reward);
  void (*observe)(const void *state, float *obs); // obs [n_input]
  // Can these bytes be a state in between two steps? NULL: any can.
  bool (*valid)(const void *state);
  const float (*bounds)[2];       // [n_input] least and greatest; NULL: none
  const char *const *action_name; // [n_action], NULL where actions are real
  // For people, NULL where there is nothing to be said: names of the inputs, ended by NULL; in a
  // sentence what they are, when there is which reward, what ends an episode, what is random
  // (MM_NOTHING_RANDOM: the same actions give the same episodes).
  const char *const *input_name;
  const char *observation, *reward, *end, *random;
  // The picture of an observation, those behind first, into out[MM_SHAPES_MOST]; returns how many.
  // NULL: a bar for each input.
  int (*shapes)(const float *obs, mm_shape *out);
  const mm_mark *mark; // [n_mark]
  int32_t n_mark;
  mm_view view;
  int32_t fps; // of a game on the screen; 0: 30
} mm_plugin_env;

// ---------------------------------------------------------------------------------------------
// Potentials

enum { MM_PLUGIN_PARAMETERS = 16 }; // at most, of a potential

// A number that tells the potentials of a family apart. A search moves log(x - least) in (least,
// most], or x itself where `linear`, from `start` on.
typedef struct mm_plugin_parameter {
  const char *name; // its field in map files
  double start, least, most;
  bool linear;
} mm_plugin_parameter;

// phi by its inverse. All functions are of p >= 0, also above 1: densities of continuous actions
// have no upper end. phi^-1 increases; phi^-1(0) may be -infinity, nothing else may be infinite.
// Parameters x [n_parameter] are within their ranges.
typedef struct mm_plugin_potential {
  size_t size;      // sizeof(mm_plugin_potential)
  const char *name; // of the family: NAME, NAME:X,Y,.. and the kind of map files
  const char *summary;
  int32_t n_parameter;
  const mm_plugin_parameter *parameter;
  double (*inverse)(const double *x, double p);  // phi^-1(p)
  double (*slope)(const double *x, double p);    // its derivative, > 0; p > 0
  double (*integral)(const double *x, double p); // of phi^-1, from 1 to p
} mm_plugin_potential;

// Of a map of a plug-in's family: how many parameters, and what and which they are; 0 for other
// kinds. From any thread.
MM_API size_t mm_map_plugin_parameters(const mm_map *map, const mm_plugin_parameter **parameter,
                                       const double **value);

// ---------------------------------------------------------------------------------------------
// Learners

enum { MM_PLUGIN_SETTINGS = 16 }; // at most, of a learner

// A number that --set changes.
typedef struct mm_plugin_setting {
  const char *name;          // that of other learners where it means the same
  double value, least, most; // default and range
  bool whole;
  const char *help;
} mm_plugin_setting;

// One training run: what it is about.
typedef struct mm_training {
  const mm_env *env;
  const mm_map *map;     // negentropy where the learner has no use for maps
  uint64_t seed;         // name the environments' random numbers (mm_vec_config),
  uint32_t repeat;       // and those of
  mm_random *random;     // a stream for the whole run, without an end
  const double *setting; // [n_setting]
  void *own;             // the library's
  void *user;            // the learner's: what its state_size and save work on
  const void *state;     // what `save` wrote, to go on from; NULL and 0 at the beginning of a run.
  size_t state_size;     // Aligned for anything, until `train` returns
} mm_training;

// A point of the learning curve: so many environment steps were done in all, more than at the last
// one, and this is the mean return of late (NaN where no episode has ended). At most one for envs *
// unroll steps (1 each where there are no such settings); more are dropped. False: the run is to
// end, and `train` returns.
MM_API bool mm_training_point(mm_training *training, uint64_t env_steps, double value);

typedef struct mm_plugin_learner {
  size_t size;      // sizeof(mm_plugin_learner)
  const char *name; // letters, digits and . _ -
  const char *summary;
  bool discrete, real; // which actions it takes
  bool has_map;        // do mirror maps make its policies?
  int32_t n_setting;
  const mm_plugin_setting *setting; // `steps`, the environment steps of a run, is the first
  // Trains. Where a call of the library failed it returns that status; where its own numbers came
  // to nothing, MM_ERR_NUMERIC. The last point of the curve is the result.
  mm_status (*train)(mm_training *training);
  // For runs that can be stopped and resumed, both or neither: the bytes of a state as it is now,
  // and the state, numbers of this kind of machine. mm_training_point calls them when a checkpoint
  // is due. A run that begins with it as training->state goes on behind that point, to the same
  // bits as one that was never stopped: the curve and training->random are as they were then.
  size_t (*state_size)(const mm_training *training);
  void (*save)(const mm_training *training, void *state);
} mm_plugin_learner;

// ---------------------------------------------------------------------------------------------
// The plug-in

// Which layout of these structs a plug-in was compiled with. Another one is refused; fields that
// are added at the end of a struct leave it as it is, since each struct says its size.
#define MM_PLUGIN_INTERFACE 1

typedef struct mm_plugin {
  uint32_t interface;  // MM_PLUGIN_INTERFACE
  uint32_t size;       // sizeof(mm_plugin)
  const char *name;    // letters, digits and . _ -
  const char *version; // the same; runs of another version are not resumed
  // Lists ended by NULL, or NULL.
  const mm_plugin_env *const *env;
  const mm_plugin_potential *const *potential;
  const mm_plugin_learner *const *learner;
} mm_plugin;

// What every plug-in defines.
MM_API extern const mm_plugin mirrormap_plugin;

// ---------------------------------------------------------------------------------------------
// Loading, for programs that use plug-ins

// Loads a plug-in for the rest of the process. One that cannot be loaded, is of another interface
// or describes what cannot be is MM_ERR_INPUT, and so is one that crashes or hangs while it is
// loaded: a child process has tried it first. The same one again changes nothing. Before other
// threads use the library.
MM_API mm_status mm_plugin_load(const char *path);

typedef struct mm_plugin_info {
  const char *name, *version, *path;
} mm_plugin_info;

// The i-th that was loaded; false past the end. From any thread.
MM_API bool mm_plugin_list(size_t i, mm_plugin_info *out);

#ifdef __cplusplus
}
#endif

#endif
