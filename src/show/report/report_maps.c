// SPDX-License-Identifier: Apache-2.0
// The maps of a report: learned ones, where a search began, controls, and the two named ones that
// everything is compared with.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "show/report/report_internal.h"
#include "study/learn/learn.h"
#include "study/stats/controls.h"

// The contents of a map's file.
static mm_status read_contents(const mm_map *map, cJSON **out) {
  char *text;
  MM_TRY(mm_map_format(map, NULL, &text));
  mm_status status = mm_json_parse(text, strlen(text), "map", out);
  mm_map_text_free(text);
  return status;
}

// Equal but for where they come from.
static bool is_same(const cJSON *a, const cJSON *b) {
  if (cJSON_GetArraySize(a) == 0) return false;
  for (const cJSON *item = a->child; item; item = item->next)
    if (strcmp(item->string, "meta") != 0 &&
        !cJSON_Compare(item, mm_json_find(b, item->string), true))
      return false;
  return true;
}

static bool is_there(const mm_report_maps *maps, const char *label, const cJSON *file) {
  for (size_t i = 0; i < maps->n; i++)
    if (strcmp(maps->map[i].label, label) == 0 && is_same(file, maps->map[i].file)) return true;
  return false;
}

// Takes the map over.
static mm_status add_plain(mm_report_maps *maps, mm_map *map, const char *label, const char *role,
                           int run) {
  mm_report_map entry = { .map = map, .role = role, .run = run };
  snprintf(entry.label, sizeof entry.label, "%s", label);
  mm_status status = read_contents(map, &entry.file);
  if (status == MM_OK && !is_there(maps, entry.label, entry.file)) {
    if (MM_GROW(maps->map, maps->n)) {
      maps->map[maps->n++] = entry;
      return MM_OK;
    }
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for the maps of a report");
  }
  cJSON_Delete(entry.file);
  mm_map_destroy(map);
  return status;
}

static mm_status copy_map(const mm_map *map, mm_map **out) {
  char *text;
  MM_TRY(mm_map_format(map, NULL, &text));
  mm_status status = mm_map_parse(text, strlen(text), "map", out);
  mm_map_text_free(text);
  return status;
}

// A map that moves is shown by its anchors; where a search starts they are all the same. The last
// one, which trained policies have, goes by the map's name.
static mm_status add_anchors(mm_report_maps *maps, const mm_map *map, const char *label,
                             const char *role, int run) {
  const size_t n = mm_map_stages(map);
  for (size_t i = strcmp(role, "initial") == 0 ? n - 1 : 0; i < n; i++) {
    mm_map *anchor;
    char name[sizeof maps->map->label];
    snprintf(name, sizeof name, "%s%s%.0zu", label, i + 1 < n ? ", anchor " : "",
             i + 1 < n ? i + 1 : 0);
    MM_TRY(copy_map(mm_map_stage(map, i), &anchor));
    MM_TRY(add_plain(maps, anchor, name, role, run));
  }
  return MM_OK;
}

// Takes the map over; one that could not be made is none of the report.
static mm_status add(mm_report_maps *maps, mm_map *map, const char *label, const char *role,
                     int run) {
  if (!map) return MM_OK;
  if (mm_map_stages(map) == 1) return add_plain(maps, map, label, role, run);
  mm_status status = add_anchors(maps, map, label, role, run);
  mm_map_destroy(map);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Of a search

static mm_map *load(const mm_report_run *r, const char *name) {
  char path[MM_RUN_PATH_SIZE + 16];
  mm_map *map;
  snprintf(path, sizeof path, "%s/%s", mm_run_folder_of(r->run), name);
  return mm_map_load(path, &map) == MM_OK ? map : NULL;
}

static mm_map *mean_at(const mm_report_run *r, int64_t generation) {
  mm_map *map;
  return mm_run_map_at(r->run, generation, &map) == MM_OK ? map : NULL;
}

// The best validated map, or the mean of the last generation.
static mm_map *learned(const mm_report_run *r) {
  mm_map *map = load(r, "best.json");
  if (!map) map = load(r, "mean.json");
  for (size_t i = r->search.n_generation; i-- > 1 && !map;)
    map = mean_at(r, r->search.generation[i].generation);
  return map;
}

static bool has_control(const mm_report_run *r, const char *name) {
  for (size_t i = 0; i < r->search.n_control; i++)
    if (strcmp(r->search.control[i].name, name) == 0) return true;
  return false;
}

static mm_map *random_map(const mm_map *like) {
  mm_map *map;
  char name[MM_CONTROL_MAP_SIZE];
  mm_map_kind family = like ? mm_map_get_kind(like) : MM_MAP_PIECEWISE;
  mm_control_map(mm_control_names[MM_CONTROL_RANDOM], family, 0, name);
  return mm_map_open(name, &map) == MM_OK ? map : NULL;
}

static mm_status add_search(const mm_report_run *r, int run, mm_report_maps *maps) {
  mm_map *initial = mean_at(r, 0), *random = has_control(r, "random") ? random_map(initial) : NULL;
  mm_status status = add(maps, learned(r), "learned", "learned", run);
  if (status == MM_OK)
    status = add(maps, initial, "initial", "initial", run);
  else
    mm_map_destroy(initial);
  if (status == MM_OK) return add(maps, random, "random", "control", run);
  mm_map_destroy(random);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Of training runs: the configuration has the texts of their files

static bool begins(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// Only maps of the families that are searched can have been learned.
static const char *role_of(const mm_map *map, const char *name, bool control) {
  mm_map_kind kind = mm_map_get_kind(map);
  if (kind >= MM_MAP_KINDS) // a plug-in's
    return begins(name, mm_map_kind_name(kind)) ? "initial"
           : control || begins(name, "random-") ? "control"
                                                : "learned";
  if (kind != MM_MAP_PIECEWISE && kind != MM_MAP_NEURAL && kind != MM_MAP_POWERS) return "control";
  static const char *const random[] = { "random:", "random-neural:", "random-powers:" };
  for (size_t i = 0; i < sizeof random / sizeof *random; i++)
    if (begins(name, random[i])) return "control";
  if (strcmp(name, "neural") == 0 || strcmp(name, "powers") == 0 || begins(name, "piecewise"))
    return "initial";
  return control ? "control" : "learned";
}

// The two named ones are there anyway, and a tuned control has the map of the other.
static bool is_known(const mm_map *map, const cJSON *object) {
  mm_map_kind kind = mm_map_get_kind(map);
  return kind == MM_MAP_NEGENTROPY || kind == MM_MAP_L2 ||
         cJSON_IsTrue(mm_json_find(object, "tuned"));
}

static mm_status add_file(const cJSON *object, const char *label_key, const char *name_key, int run,
                          mm_report_maps *maps) {
  const char *text = mm_report_config_text(object, "map_file");
  const char *label = mm_report_config_text(object, label_key);
  const char *name = mm_report_config_text(object, name_key);
  mm_map *map = NULL;
  if (!text || !label || !name || mm_map_parse(text, strlen(text), "map", &map) != MM_OK)
    return MM_OK;
  if (is_known(map, object)) {
    mm_map_destroy(map);
    return MM_OK;
  }
  return add(maps, map, label, role_of(map, name, cJSON_IsTrue(mm_json_find(object, "control"))),
             run);
}

static mm_status add_trained(const mm_report_run *r, int run, mm_report_maps *maps) {
  const cJSON *list = mm_json_find(r->config, "maps");
  MM_TRY(add_file(r->config, "map", "map", run, maps));
  for (const cJSON *map = list ? list->child : NULL; map; map = map->next)
    MM_TRY(add_file(map, "label", "name", run, maps));
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

mm_status mm_report_read_maps(const mm_report_run *run, size_t n, mm_report_maps *out) {
  static const char *const named[] = { "negentropy", "l2" };
  *out = (mm_report_maps){ 0 };
  for (size_t i = 0; i < n; i++)
    MM_TRY(run[i].has_search ? add_search(&run[i], (int)i, out)
                             : add_trained(&run[i], (int)i, out));
  for (size_t i = 0; i < 2; i++) {
    mm_map *map;
    MM_TRY(mm_map_open(named[i], &map));
    MM_TRY(add(out, map, named[i], "named", -1));
  }
  return MM_OK;
}

void mm_report_release_maps(mm_report_maps *maps) {
  for (size_t i = 0; i < maps->n; i++) {
    cJSON_Delete(maps->map[i].file);
    mm_map_destroy(maps->map[i].map);
  }
  mm_free(maps->map);
  *maps = (mm_report_maps){ 0 };
}

cJSON *mm_report_maps_json(const mm_report_maps *maps) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < maps->n; i++) {
    const mm_report_map *m = &maps->map[i];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "label", m->label);
    cJSON_AddItemToObject(object, "run",
                          m->run < 0 ? cJSON_CreateNull() : mm_json_number((double)m->run));
    cJSON_AddStringToObject(object, "role", m->role);
    cJSON_AddItemToObject(object, "map", cJSON_Duplicate(m->file, true));
    cJSON_AddItemToArray(array, object);
  }
  return array;
}
