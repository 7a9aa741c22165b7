// SPDX-License-Identifier: Apache-2.0
// Task files: YAML through libcyaml.
//
//   grid: 13
//   walls: [[0, 3], [1, 3]]         # optional
//   start: [6, 6]
//   objects:
//     - {cell: [3, 9], reward: 1, terminate: 0.5, respawn: 0.1}
//
// libcyaml checks the shape (keys, sequences, lengths) and hands numbers over as text, because its
// own reading of numbers stops at the first odd letter instead of refusing it.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "base/yaml.h"
#include "env/env_internal.h"

enum {
  FILE_MOST_BYTES = 32 << 20, // a wall on every second of 10^6 cells takes a fifth of it
  NUMBER_MOST = 64            // characters
};

typedef struct file_object {
  char **cell; // [2]
  char *reward, *terminate, *respawn;
} file_object;

typedef struct file_task {
  char *grid;
  char ***walls; // [walls_count][2]
  char **start;  // [2]
  file_object *objects;
  unsigned walls_count, objects_count;
} file_task;

static const cyaml_schema_value_t number_schema = { CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0,
                                                                       NUMBER_MOST) };
static const cyaml_schema_value_t cell_schema = { CYAML_VALUE_SEQUENCE_FIXED(
    CYAML_FLAG_POINTER, char *, &number_schema, 2) };

static const cyaml_schema_field_t object_fields[] = {
  CYAML_FIELD_SEQUENCE_FIXED("cell", CYAML_FLAG_POINTER, file_object, cell, &number_schema, 2),
  CYAML_FIELD_STRING_PTR("reward", CYAML_FLAG_POINTER, file_object, reward, 0, NUMBER_MOST),
  CYAML_FIELD_STRING_PTR("terminate", CYAML_FLAG_POINTER, file_object, terminate, 0, NUMBER_MOST),
  CYAML_FIELD_STRING_PTR("respawn", CYAML_FLAG_POINTER, file_object, respawn, 0, NUMBER_MOST),
  CYAML_FIELD_END
};
static const cyaml_schema_value_t object_schema = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, file_object, object_fields) };

static const cyaml_schema_field_t task_fields[] = {
  CYAML_FIELD_STRING_PTR("grid", CYAML_FLAG_POINTER, file_task, grid, 0, NUMBER_MOST),
  CYAML_FIELD_SEQUENCE("walls", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, file_task, walls,
                       &cell_schema, 0, CYAML_UNLIMITED),
  CYAML_FIELD_SEQUENCE_FIXED("start", CYAML_FLAG_POINTER, file_task, start, &number_schema, 2),
  CYAML_FIELD_SEQUENCE("objects", CYAML_FLAG_POINTER, file_task, objects, &object_schema, 1,
                       MM_GRID_OBJECTS),
  CYAML_FIELD_END
};
static const cyaml_schema_value_t task_schema = { CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, file_task,
                                                                      task_fields) };

// ---------------------------------------------------------------------------------------------
// Text to parts

// Puts the file's name before the sentence of a check.
static mm_status in_file(mm_status status, const char *source) {
  if (status != MM_ERR_INPUT) return status;
  return MM_FAIL(status, "%s: %s", source, mm_last_error());
}

static mm_status read_number(const char *source, const char *field, const char *text, double *out) {
  // JSON's grammar has no inf and nan; YAML writes them with a point in front
  if (mm_json_parse_number(text, out) && isfinite(*out)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected a finite number, found '%.64s'", source,
                 field, text);
}

static mm_status read_whole(const char *source, const char *field, const char *text, int least,
                            int most, int32_t *out) {
  double value;
  bool whole = mm_json_parse_number(text, &value) && value >= least && value <= most &&
               value == floor(value) && !strpbrk(text, ".eE");
  if (!whole)
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field '%s': expected a whole number from %d to %d, found "
                   "'%.64s'",
                   source, field, least, most, text);
  *out = (int32_t)value;
  return MM_OK;
}

static mm_status read_cell(const char *source, const char *field, char **text, int side,
                           int32_t *out) {
  int32_t row = 0, col = 0;
  MM_TRY(read_whole(source, field, text[0], 0, side - 1, &row));
  MM_TRY(read_whole(source, field, text[1], 0, side - 1, &col));
  *out = row * side + col;
  return MM_OK;
}

static mm_status read_object(const char *source, const file_object *o, int i, mm_grid_parts *p) {
  char field[64];
#define FIELD(name) (snprintf(field, sizeof field, "objects[%d]." name, i), field)
  MM_TRY(read_cell(source, FIELD("cell"), o->cell, p->side, &p->object[i]));
  MM_TRY(read_number(source, FIELD("reward"), o->reward, &p->reward[i]));
  MM_TRY(read_number(source, FIELD("terminate"), o->terminate, &p->terminate[i]));
  MM_TRY(read_number(source, FIELD("respawn"), o->respawn, &p->respawn[i]));
#undef FIELD
  return MM_OK;
}

static mm_status read_walls(const char *source, const file_task *t, int side, uint8_t *wall) {
  memset(wall, 0, (size_t)side * (size_t)side);
  for (unsigned i = 0; i < t->walls_count; i++) {
    char field[32];
    int32_t cell;
    snprintf(field, sizeof field, "walls[%u]", i);
    MM_TRY(read_cell(source, field, t->walls[i], side, &cell));
    if (wall[cell])
      return MM_FAIL(MM_ERR_INPUT,
                     "%s: field '%s': [%d, %d] is listed twice: expected distinct "
                     "cells",
                     source, field, (int)(cell / side), (int)(cell % side));
    wall[cell] = 1;
  }
  return MM_OK;
}

static mm_status read_task(const char *source, const file_task *t, mm_grid **out) {
  mm_grid_parts p;
  memset(&p, 0, sizeof p);
  MM_TRY(read_whole(source, "grid", t->grid, 1, MM_GRID_SIDE_MOST, &p.side));
  p.n_object = (int32_t)t->objects_count;
  MM_TRY(in_file(mm_grid_check_size(p.side, p.n_object), source)); // before anything grows with it
  MM_TRY(read_cell(source, "start", t->start, p.side, &p.start));
  for (int i = 0; i < p.n_object; i++)
    MM_TRY(read_object(source, &t->objects[i], i, &p));
  uint8_t *wall = mm_alloc((size_t)p.side * (size_t)p.side);
  if (!wall) return MM_FAIL(MM_ERR_MEMORY, "%s: no memory for the walls", source);
  p.wall = wall;
  mm_status status = read_walls(source, t, p.side, wall);
  if (status == MM_OK) status = in_file(mm_grid_create(&p, out), source);
  mm_free(wall);
  return status;
}

static mm_status take_task(const char *source, void *task, mm_grid **out) {
  mm_status status = read_task(source, task, out);
  mm_yaml_release(&task_schema, task);
  return status;
}

mm_status mm_grid_load(const char *path, mm_grid **out) {
  *out = NULL;
  void *task;
  MM_TRY(mm_yaml_load(path, FILE_MOST_BYTES, &task_schema, &task));
  return take_task(path, task, out);
}

mm_status mm_grid_parse(const char *text, const char *source, mm_grid **out) {
  *out = NULL;
  void *task;
  MM_TRY(mm_yaml_parse(text, strlen(text), source, &task_schema, &task));
  return take_task(source, task, out);
}
