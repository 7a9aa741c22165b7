// SPDX-License-Identifier: Apache-2.0
// A search as event files: how its generations went, and each map on the validation tasks.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/events/event_internal.h"

enum { MAPS_MOST = 256 }; // that a search has fewer than ten of

// When a generation was done.
typedef struct moment {
  int64_t generation;
  double time;
} moment;

// The validations of one map.
typedef struct validated {
  char map[MM_RUN_WORD_SIZE];
  mm_event_file file;
} validated;

typedef struct exporter {
  mm_event_folder *folder;
  moment *moment; // [n_moment] ascending
  size_t n_moment;
  mm_event_file search;
  validated *map; // [n_map]
  size_t n_map;
  // the validation whose scores are coming
  struct {
    size_t map; // n_map: none
    int64_t generation, phase;
    double sum, known;
  } now;
  mm_status status; // of what is done with the rows
} exporter;

// ---------------------------------------------------------------------------------------------
// Times

static int see_timing(const mm_run_row *row, void *user) {
  exporter *e = user;
  moment m = { row->timing.generation, mm_run_seconds(row->timing.finished) };
  if (isnan(m.time)) return 0;
  if (MM_GROW(e->moment, e->n_moment))
    e->moment[e->n_moment++] = m;
  else
    e->status = MM_FAIL(MM_ERR_MEMORY, "no memory for the times of a search");
  return e->status != MM_OK;
}

// The last known time up to that generation, else the beginning of the run.
static double time_of(const exporter *e, int64_t generation) {
  size_t low = 0, high = e->n_moment;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (e->moment[middle].generation <= generation)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 ? e->moment[low - 1].time : e->folder->start;
}

// ---------------------------------------------------------------------------------------------
// Generations

static mm_status put_generation(exporter *e, const mm_run_generation *row) {
  const struct {
    const char *tag;
    double value;
  } parts[] = { { "search/fitness_mean", row->fitness_mean },
                { "search/fitness_best", row->fitness_best },
                { "search/fitness_sd", row->fitness_sd },
                { "search/sigma", row->sigma } };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    MM_TRY(mm_event_file_put(&e->search, time_of(e, row->generation), (uint64_t)row->generation,
                             parts[i].tag, parts[i].value));
  return MM_OK;
}

static int see_generation(const mm_run_row *row, void *user) {
  exporter *e = user;
  e->status = put_generation(e, &row->generation);
  return e->status != MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Validations: rows of the same generation, phase and map follow each other

static mm_status find_map(exporter *e, const char *map, size_t *out) {
  for (*out = 0; *out < e->n_map; ++*out)
    if (strcmp(e->map[*out].map, map) == 0) return MM_OK;
  if (e->n_map == MAPS_MOST)
    return MM_FAIL(MM_ERR_INPUT, "table score: expected at most %d maps", MAPS_MOST);
  if (!MM_GROW(e->map, e->n_map))
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the curves of a search");
  validated *v = &e->map[e->n_map++];
  snprintf(v->map, sizeof v->map, "%s", map);
  return mm_event_file_start(&v->file, e->folder->start);
}

// The mean over the tasks whose value is known.
static mm_status end_validation(exporter *e) {
  if (e->now.map >= e->n_map || e->now.known == 0) return MM_OK;
  return mm_event_file_put(&e->map[e->now.map].file, time_of(e, e->now.generation),
                           (uint64_t)e->now.generation, "validation/value",
                           e->now.sum / e->now.known);
}

static mm_status put_score(exporter *e, const mm_run_score *row) {
  size_t map;
  MM_TRY(find_map(e, row->map, &map));
  if (map != e->now.map || row->generation != e->now.generation || row->phase != e->now.phase) {
    MM_TRY(end_validation(e));
    e->now.map = map;
    e->now.generation = row->generation;
    e->now.phase = row->phase;
    e->now.sum = e->now.known = 0;
  }
  if (!isfinite(row->value)) return MM_OK;
  e->now.sum += row->value;
  e->now.known++;
  return MM_OK;
}

static int see_score(const mm_run_row *row, void *user) {
  exporter *e = user;
  e->status = put_score(e, &row->score);
  return e->status != MM_OK;
}

// ---------------------------------------------------------------------------------------------

static mm_status walk(mm_run *run, mm_run_table_id id, mm_run_see *see, exporter *e) {
  MM_TRY(mm_event_each(run, id, see, e));
  return e->status;
}

static mm_status save(exporter *e) {
  char name[MM_EVENT_NAME_SIZE];
  if (e->search.scalars > 0) {
    MM_TRY(mm_event_take_name(e->folder, "search", "", name));
    MM_TRY(mm_event_save(e->folder, name, &e->search));
  }
  for (size_t i = 0; i < e->n_map; i++) {
    if (e->map[i].file.scalars == 0) continue;
    MM_TRY(mm_event_take_name(e->folder, "validation-", e->map[i].map, name));
    MM_TRY(mm_event_save(e->folder, name, &e->map[i].file));
  }
  return MM_OK;
}

static mm_status export_all(mm_run *run, exporter *e) {
  MM_TRY(mm_event_file_start(&e->search, e->folder->start));
  MM_TRY(walk(run, MM_RUN_TIMING, see_timing, e));
  MM_TRY(walk(run, MM_RUN_GENERATION, see_generation, e));
  e->now.map = MAPS_MOST;
  MM_TRY(walk(run, MM_RUN_SCORE, see_score, e));
  MM_TRY(end_validation(e));
  return save(e);
}

mm_status mm_event_export_search(mm_run *run, mm_event_folder *folder) {
  exporter e = { .folder = folder };
  mm_status status = export_all(run, &e);
  for (size_t i = 0; i < e.n_map; i++)
    mm_event_file_release(&e.map[i].file);
  mm_free(e.map);
  mm_event_file_release(&e.search);
  mm_free(e.moment);
  return status;
}
