// SPDX-License-Identifier: Apache-2.0
// Maps as they appear on the command line.

#ifndef MM_CLI_MAP_ARGUMENT_H
#define MM_CLI_MAP_ARGUMENT_H

#include "cli/core/command.h"
#include "mirrormap/map.h"
#include "mirrormap/plugin.h"

// Opens MAP (mm_map_open's names, or "-" for a file on stdin). Reports a failure, naming the map,
// and returns its exit code: what cannot be read is EXIT_USAGE.
int map_argument_open(const char *text, mm_map **out);

typedef struct map_list {
  size_t n;
  mm_map **map;      // [n]
  const char **name; // [n] as given; point into the arguments
} map_list;

// Opens all of them or none. Release in either case.
int map_list_open(const option_texts *texts, map_list *out);
void map_list_release(map_list *list);

// A short name for tables: a file's name without folders and ".json".
enum { MAP_LABEL_SIZE = 40 };
const char *map_label(const char *name, char out[MAP_LABEL_SIZE]);

// "piecewise, n = 100" and the like.
const char *map_describe_kind(const mm_map *map);

// --set projection=...
extern const char *const map_projection_names[];
mm_projection map_projection(const char *name);

// Whether the name ends in .svg, .pdf or .png.
bool map_is_picture(const char *path);

// Refuses (EXIT_USAGE) an --out that is a folder or, without `force`, that exists.
int map_check_out(const char *path, bool force);

#endif
