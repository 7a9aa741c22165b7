// SPDX-License-Identifier: Apache-2.0
// Reading and repeating Grid-World traces.

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "env/grid/grid_task.h"
#include "env/grid/grid_trace.h"

enum { OBJECTS_LISTED_MOST = 64, FIELDS = MM_GRID_TRACE_COUNT };

const char *const mm_grid_trace_field[FIELDS] = {
#define FIELD_NAME(name) #name,
  MM_GRID_TRACE_FIELDS(FIELD_NAME)
#undef FIELD_NAME
};

typedef struct level {
  mm_grid *grid;
  int64_t index_cells, max_steps; // of the observation's index; steps of an episode
  const cJSON *transitions;
  size_t n;
} level;

// ---------------------------------------------------------------------------------------------
// Levels

// Properties are listed by type.
static mm_status read_properties(const cJSON *item, const char *source, const double *type,
                                 const char *key, int n, double *out) {
  const cJSON *array;
  size_t n_type;
  double by_type[OBJECTS_LISTED_MOST];
  MM_TRY(mm_json_get_array(item, source, key, 1, OBJECTS_LISTED_MOST, &array, &n_type));
  MM_TRY(mm_json_read_numbers(array, source, key, n_type, by_type));
  for (int i = 0; i < n; i++) {
    if (!(type[i] >= 0 && type[i] < (double)n_type && type[i] == floor(type[i])))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'obj_ids': expected types below %zu, found %g",
                     source, n_type, type[i]);
    out[i] = by_type[(size_t)type[i]];
  }
  return MM_OK;
}

static mm_status read_objects(const cJSON *item, const char *source, mm_grid_parts *p) {
  const cJSON *ids, *cells;
  size_t n_id, n_cell, least = (size_t)p->n_object;
  double type[OBJECTS_LISTED_MOST], cell[OBJECTS_LISTED_MOST];
  MM_TRY(mm_json_get_array(item, source, "obj_ids", least, OBJECTS_LISTED_MOST, &ids, &n_id));
  MM_TRY(mm_json_read_numbers(ids, source, "obj_ids", n_id, type));
  MM_TRY(mm_json_get_array(item, source, "static_obj_poss", least, OBJECTS_LISTED_MOST, &cells,
                           &n_cell));
  MM_TRY(mm_json_read_numbers(cells, source, "static_obj_poss", n_cell, cell));
  for (int i = 0; i < p->n_object; i++) {
    if (!(cell[i] >= 0 && cell[i] < p->side * p->side && cell[i] == floor(cell[i])))
      return MM_FAIL(MM_ERR_INPUT,
                     "%s: field 'static_obj_poss': expected cells of the grid, found "
                     "%g",
                     source, cell[i]);
    p->object[i] = (int32_t)cell[i];
  }
  MM_TRY(read_properties(item, source, type, "obj_rewards", p->n_object, p->reward));
  MM_TRY(read_properties(item, source, type, "obj_p_terminate", p->n_object, p->terminate));
  return read_properties(item, source, type, "obj_p_respawn", p->n_object, p->respawn);
}

// Indices beyond the grid are walls of nothing.
static mm_status read_walls(const cJSON *item, const char *source, int cells, uint8_t *wall) {
  const cJSON *array, *entry;
  size_t n;
  MM_TRY(mm_json_get_array(item, source, "walls", 0, SIZE_MAX, &array, &n));
  memset(wall, 0, (size_t)cells);
  cJSON_ArrayForEach(entry, array) {
    double k = cJSON_IsNumber(entry) ? entry->valuedouble : -1;
    if (!(k >= 0 && k == floor(k)))
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'walls': expected indices of cells", source);
    if (k < cells) wall[(size_t)k] = 1;
  }
  return MM_OK;
}

static mm_status make_grid(const cJSON *item, const char *source, mm_grid_parts *p, mm_grid **out) {
  int cells = p->side * p->side;
  uint8_t *wall = mm_alloc((size_t)cells);
  if (!wall) return MM_FAIL(MM_ERR_MEMORY, "%s: no memory for the walls", source);
  p->wall = wall;
  mm_status status = read_walls(item, source, cells, wall);
  if (status == MM_OK) {
    status = mm_grid_create(p, out);
    if (status == MM_ERR_INPUT) status = MM_FAIL(status, "%s: %s", source, mm_last_error());
  }
  mm_free(wall);
  return status;
}

static mm_status read_level(const cJSON *item, const char *source, level *out) {
  mm_grid_parts p;
  int64_t side, most, n_object, start;
  memset(&p, 0, sizeof p);
  if (!cJSON_IsObject(item))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'levels': expected objects, found %s", source,
                   mm_json_describe(item));
  MM_TRY(mm_json_get_integer(item, source, "grid_size", 1, 10000, &side));
  MM_TRY(mm_json_get_integer(item, source, "max_grid_size", side, 10000, &most));
  MM_TRY(mm_json_get_integer(item, source, "n_objs", 1, MM_GRID_OBJECTS, &n_object));
  MM_TRY(mm_json_get_integer(item, source, "start_pos", 0, side * side - 1, &start));
  MM_TRY(mm_json_get_integer(item, source, "max_steps_in_episode", 1, INT32_MAX, &out->max_steps));
  MM_TRY(mm_json_get_array(item, source, "transitions", 0, SIZE_MAX, &out->transitions, &out->n));
  out->index_cells = most * most;
  p.side = (int32_t)side;
  p.n_object = (int32_t)n_object;
  p.start = (int32_t)start;
  MM_TRY(read_objects(item, source, &p));
  return make_grid(item, source, &p, &out->grid);
}

// ---------------------------------------------------------------------------------------------
// Transitions

static bool whole_below(double value, double end) {
  return value >= 0 && value < end && value == floor(value);
}

static mm_status check_inputs(const level *l, const char *source, int64_t trajectory, int64_t t,
                              const double *row) {
  const mm_grid *g = l->grid;
  const double end[FIELDS] = {
    [MM_GRID_TRACE_time] = 0x1p31,         [MM_GRID_TRACE_pos] = g->cells,
    [MM_GRID_TRACE_exists_bits] = 0x1p8,   [MM_GRID_TRACE_action] = MM_GRID_ACTIONS,
    [MM_GRID_TRACE_respawn_bits] = 0x1p31, [MM_GRID_TRACE_term_draw] = 2
  };
  for (int i = 0; i < FIELDS; i++) {
    if (end[i] > 0 && !whole_below(row[i], end[i]))
      return MM_FAIL(MM_ERR_INPUT,
                     "%s: level %lld, transition %lld: field '%s': expected a whole number from 0 "
                     "to %.0f, found %g",
                     source, (long long)trajectory, (long long)t, mm_grid_trace_field[i],
                     end[i] - 1, row[i]);
  }
  return MM_OK;
}

void mm_grid_trace_step(const mm_grid *g, int64_t index_cells, int64_t max_steps,
                        double row[FIELDS]) {
  const uint32_t all = (1u << g->n_object) - 1;
  mm_grid_state state = { (int32_t)row[MM_GRID_TRACE_pos],
                          (uint32_t)row[MM_GRID_TRACE_exists_bits] & all };
  int action = (int)row[MM_GRID_TRACE_action];
  int32_t i = g->object_at[g->next[state.cell * MM_GRID_ACTIONS + action]];
  bool collects = i >= 0 && (state.mask >> i & 1);
  mm_grid_event event =
      mm_grid_move(g, &state, action, (uint32_t)row[MM_GRID_TRACE_respawn_bits] & all,
                   (int)row[MM_GRID_TRACE_term_draw]);
  row[MM_GRID_TRACE_reward] = event.reward;
  row[MM_GRID_TRACE_next_pos] = state.cell;
  row[MM_GRID_TRACE_next_exists_bits] = state.mask;
  row[MM_GRID_TRACE_next_early_term] = event.done;
  row[MM_GRID_TRACE_done] = event.done || row[MM_GRID_TRACE_time] + 1 >= (double)max_steps;
  row[MM_GRID_TRACE_p_term] = collects ? g->terminate[i] : 0;
  row[MM_GRID_TRACE_next_obs_index] = state.cell + (double)index_cells * state.mask;
}

static mm_status replay_level(const level *l, const char *source, int64_t trajectory,
                              mm_replay_report *out) {
  const cJSON *item;
  mm_replay r = { .report = out };
  int64_t t = 0;
  cJSON_ArrayForEach(item, l->transitions) {
    double row[FIELDS], our[FIELDS];
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != FIELDS)
      return MM_FAIL(MM_ERR_INPUT, "%s: level %lld, transition %lld: expected %d numbers", source,
                     (long long)trajectory, (long long)t, FIELDS);
    MM_TRY(mm_json_read_numbers(item, source, "transitions", FIELDS, row));
    MM_TRY(check_inputs(l, source, trajectory, t, row));
    memcpy(our, row, sizeof our);
    mm_grid_trace_step(l->grid, l->index_cells, l->max_steps, our);
    mm_replay_begin(&r, trajectory, t++);
    for (int i = 0; i < FIELDS; i++)
      mm_replay_exact(&r, mm_grid_trace_field[i], -1, row[i], our[i]);
    mm_replay_end(&r);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

// A file that names its fields must name ours.
static mm_status check_fields(const cJSON *root, const char *source) {
  const cJSON *names = mm_json_find(root, "transition_fields"), *name;
  int i = 0;
  if (!names) return MM_OK;
  bool same = cJSON_IsArray(names) && cJSON_GetArraySize(names) == FIELDS;
  for (name = same ? names->child : NULL; name; name = name->next, i++)
    same = same && cJSON_IsString(name) && strcmp(name->valuestring, mm_grid_trace_field[i]) == 0;
  if (same) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s: field 'transition_fields': expected the %d of a Grid-World "
                 "trace, %s to %s",
                 source, FIELDS, mm_grid_trace_field[0], mm_grid_trace_field[FIELDS - 1]);
}

static mm_status replay(const cJSON *root, const char *source, mm_replay_report *out) {
  const cJSON *levels, *item;
  size_t n;
  int64_t trajectory = 0;
  if (!cJSON_IsObject(root) || !mm_json_find(root, "levels"))
    return MM_FAIL(MM_ERR_INPUT, "%s: not a Grid-World trace: expected an object with 'levels'",
                   source);
  MM_TRY(check_fields(root, source));
  MM_TRY(mm_json_get_array(root, source, "levels", 1, SIZE_MAX, &levels, &n));
  cJSON_ArrayForEach(item, levels) {
    level l;
    memset(&l, 0, sizeof l);
    MM_TRY(read_level(item, source, &l));
    mm_status status = replay_level(&l, source, trajectory, out);
    mm_grid_destroy(l.grid);
    if (status != MM_OK) return status;
    trajectory++;
  }
  return MM_OK;
}

mm_status mm_grid_replay(const char *path, mm_replay_report *out) {
  cJSON *root;
  memset(out, 0, sizeof *out);
  MM_TRY(mm_trace_open(path, &root));
  mm_status status = replay(root, path, out);
  cJSON_Delete(root);
  return status;
}
