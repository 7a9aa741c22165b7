// SPDX-License-Identifier: Apache-2.0
// What a hyper-parameter search may change: settings with their ranges, read from a YAML file.
//
//   method: cma-es                       # or grid, halving
//   parameters:
//     lr: {log: [1e-4, 1e-2], points: 5} # points: of a grid, also for halving
//     eta: {linear: [0.5, 2]}
//     epochs: {integer: [1, 16]}
//     activation: {choice: [tanh, relu]}
//     map.q: {linear: [1.25, 4]}         # of the map: Tsallis' q, and a factor on phi^-1
//     map.scale: {log: [0.1, 10]}
//
// Searches see a parameter as a place in [0, 1]. A value is a number, or the number of a choice.

#ifndef MM_EXPERIMENT_TUNE_SPACE_H
#define MM_EXPERIMENT_TUNE_SPACE_H

#include "study/settings/settings.h"

enum {
  MM_TUNE_PARAMETERS = 16,
  MM_TUNE_CHOICES = 16,
  MM_TUNE_NAME_SIZE = 32,
  MM_TUNE_POINTS = 1000 // of one parameter in a grid
};

typedef enum mm_tune_method {
  MM_TUNE_GRID,
  MM_TUNE_CMA,
  MM_TUNE_HALVING,
  MM_TUNE_METHODS
} mm_tune_method;

const char *mm_tune_method_name(mm_tune_method method);
bool mm_tune_method_find(const char *name, mm_tune_method *out);

// What a space can change of a map: q of Tsallis, or a factor on phi^-1.
#define MM_TUNE_MAP_LIST(X)                                                                        \
  X(Q, "map.q", 1e-6, 1e6)                                                                         \
  X(SCALE, "map.scale", 1e-6, 1e6)

typedef enum mm_tune_map_parameter {
  MM_TUNE_MAP_NONE, // a setting
#define MM_TUNE_MAP_ENUM(NAME, name, low, high) MM_TUNE_MAP_##NAME,
  MM_TUNE_MAP_LIST(MM_TUNE_MAP_ENUM)
#undef MM_TUNE_MAP_ENUM
      MM_TUNE_MAP_PARAMETERS
} mm_tune_map_parameter;

typedef enum mm_tune_scale {
  MM_TUNE_LOG,
  MM_TUNE_LINEAR,
  MM_TUNE_INTEGER,
  MM_TUNE_CHOICE,
  MM_TUNE_SCALES
} mm_tune_scale;

const char *mm_tune_scale_name(mm_tune_scale scale);
bool mm_tune_scale_find(const char *name, mm_tune_scale *out);

typedef struct mm_tune_parameter {
  char name[MM_TUNE_NAME_SIZE]; // of the setting, or map.q, map.scale
  mm_tune_map_parameter of_map;
  mm_tune_scale scale;
  bool whole;       // values are whole numbers: integer, or the setting counts something
  double low, high; // ends of the range, both in it
  size_t points;    // of a grid
  size_t n_choice;
  char choice[MM_TUNE_CHOICES][MM_SETTING_TEXT_SIZE];
} mm_tune_parameter;

typedef struct mm_tune_space {
  mm_tune_method method;
  bool sampled; // a range has no points: halving draws its trials, else they are the grid's
  size_t n;
  mm_tune_parameter parameter[MM_TUNE_PARAMETERS]; // in the order of the settings; the map's last
} mm_tune_space;

// All mistakes are MM_ERR_INPUT and name the file and the field: ranges are checked against what
// the algorithm's settings allow.
mm_status mm_tune_space_load(const char *path, mm_algo algo, mm_tune_space *out);

// A parameter as a file or a stored plan gives it, and what it becomes when nothing is wrong with
// it. `source` begins errors.
typedef struct mm_tune_range {
  const char *name;
  mm_tune_scale scale;
  double end[2];       // lowest, highest
  char *const *choice; // [n_choice] instead of ends
  size_t n_choice;
  size_t points; // of a grid; 0: the usual number
} mm_tune_range;
mm_status mm_tune_parameter_make(const char *source, mm_algo algo, const mm_tune_range *range,
                                 mm_tune_parameter *out);

// The value at a place; places outside [0, 1] are reflected at its ends. Numbers have as many
// digits as make a difference, so that files stay readable.
double mm_tune_value(const mm_tune_parameter *p, double place);

// The place of a value: of a whole number or a choice the middle of its part.
double mm_tune_place(const mm_tune_parameter *p, double value);

// The values of a grid, ascending, into out[MM_TUNE_POINTS]; returns how many.
size_t mm_tune_levels(const mm_tune_parameter *p, double *out);

// Whether the trials are the points of a grid.
bool mm_tune_is_grid(const mm_tune_space *space);

// Points of the whole grid; a double, since there may be very many.
double mm_tune_grid_size(const mm_tune_space *space);

// A value as the text of its setting; "-" for NaN.
const char *mm_tune_text(const mm_tune_parameter *p, double value, char out[MM_SETTING_TEXT_SIZE]);

// The value that settings have; NaN for one that is not among the choices.
double mm_tune_own(const mm_tune_parameter *p, const mm_settings *settings);

// Gives settings the values [n]; NaN leaves what is there.
mm_status mm_tune_apply(const mm_tune_space *space, const double *value, mm_settings *settings);

#endif
