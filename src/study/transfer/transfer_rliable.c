// SPDX-License-Identifier: Apache-2.0
#include "study/transfer/transfer_rliable.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "study/run/run_table.h"
#include "study/stats/score_origin.h"

// One map on one environment; its runs have the places from `first` on.
typedef struct rliable_cell {
  char map[MM_RUN_WORD_SIZE], env[MM_RUN_WORD_SIZE];
  int64_t first, jobs;
} rliable_cell;

typedef struct rliable_table {
  rliable_cell *cell; // [n_cell]
  size_t n_cell, n_seed;
  double *final; // [n_cell][n_seed]
  uint64_t seed; // of the first run of each cell; the others follow it
  size_t n_run;
  bool no_memory;
} rliable_table;

static int see_batch(const mm_run_row *row, void *user) {
  rliable_table *t = user;
  const mm_run_batch *batch = &row->batch;
  if (strcmp(batch->role, "table") != 0) return 0;
  if (!MM_GROW(t->cell, t->n_cell)) return t->no_memory = true;
  rliable_cell *cell = &t->cell[t->n_cell++];
  *cell = (rliable_cell){ .first = batch->first, .jobs = batch->jobs };
  snprintf(cell->map, sizeof cell->map, "%s", batch->map);
  snprintf(cell->env, sizeof cell->env, "%s", batch->env);
  if ((size_t)batch->jobs > t->n_seed) t->n_seed = (size_t)batch->jobs;
  return 0;
}

// Runs of a cell follow each other, cell after cell.
static int see_training(const mm_run_row *row, void *user) {
  rliable_table *t = user;
  const mm_run_training *run = &row->training;
  for (size_t i = 0; i < t->n_cell; i++) {
    int64_t place = run->job - t->cell[i].first;
    if (place < 0 || place >= t->cell[i].jobs) continue;
    t->final[i * t->n_seed + (size_t)place] = run->final;
    t->seed = run->seed - (uint64_t)place;
    t->n_run++;
  }
  return 0;
}

// Damage leaves what is intact.
static mm_status walk(mm_run *run, mm_run_table_id id, mm_run_see *see, rliable_table *t) {
  mm_status status = mm_run_each(run, id, see, t);
  if (t->no_memory) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", mm_run_folder_of(run));
  return status == MM_ERR_INPUT && mm_run_damage(run) ? MM_OK : status;
}

static mm_status read_table(mm_run *run, rliable_table *t) {
  MM_TRY(walk(run, MM_RUN_BATCH, see_batch, t));
  if (t->n_cell == 0)
    return MM_FAIL(MM_ERR_INPUT, "'%s': expected a table of a transfer study, found none",
                   mm_run_folder_of(run));
  size_t cells = t->n_cell;
  t->final = mm_alloc_array(cells, t->n_seed * sizeof *t->final);
  if (!t->final) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", mm_run_folder_of(run));
  for (size_t i = 0; i < cells * t->n_seed; i++)
    t->final[i] = NAN;
  MM_TRY(walk(run, MM_RUN_TRAINING, see_training, t));
  const size_t expected = cells * t->n_seed;
  if (t->n_run == expected || (t->n_run > 0 && mm_run_damage(run))) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: " MM_SCORE_EXPECTED "%zu of %zu runs", mm_run_folder_of(run),
                 t->n_run, expected);
}

static const rliable_cell *find_cell(const rliable_table *t, const char *map, const char *env) {
  for (size_t i = 0; i < t->n_cell; i++)
    if (strcmp(t->cell[i].map, map) == 0 && strcmp(t->cell[i].env, env) == 0) return &t->cell[i];
  return NULL;
}

static cJSON *matrix_of(const rliable_table *t, const char *map, const cJSON *envs) {
  cJSON *matrix = cJSON_CreateArray();
  for (size_t i = 0; i < t->n_seed; i++) {
    cJSON *row = cJSON_CreateArray();
    for (const cJSON *env = envs->child; env; env = env->next) {
      const rliable_cell *cell = find_cell(t, map, env->valuestring);
      double final = cell ? t->final[(size_t)(cell - t->cell) * t->n_seed + i] : NAN;
      cJSON_AddItemToArray(row, mm_json_defined(final));
    }
    cJSON_AddItemToArray(matrix, row);
  }
  return matrix;
}

static cJSON *number_of(uint64_t seed) {
  char text[MM_JSON_NUMBER_SIZE];
  snprintf(text, sizeof text, "%" PRIu64, seed);
  return cJSON_CreateRaw(text);
}

static cJSON *make_tree(const rliable_table *t) {
  cJSON *root = cJSON_CreateObject(), *envs = cJSON_AddArrayToObject(root, "envs");
  cJSON *seeds = cJSON_AddArrayToObject(root, "seeds");
  cJSON *scores = cJSON_AddObjectToObject(root, "scores");
  if (!envs || !seeds || !scores) {
    cJSON_Delete(root);
    return NULL;
  }
  for (size_t i = 0; i < t->n_cell; i++)
    if (find_cell(t, t->cell[0].map, t->cell[i].env) == &t->cell[i])
      cJSON_AddItemToArray(envs, cJSON_CreateString(t->cell[i].env));
  for (size_t i = 0; i < t->n_seed; i++)
    cJSON_AddItemToArray(seeds, number_of(t->seed + i));
  for (size_t i = 0; i < t->n_cell; i++)
    if (strcmp(t->cell[i].env, t->cell[0].env) == 0)
      cJSON_AddItemToObject(scores, t->cell[i].map, matrix_of(t, t->cell[i].map, envs));
  return root;
}

mm_status mm_transfer_rliable(mm_run *run, cJSON **out) {
  rliable_table t = { .cell = NULL };
  *out = NULL;
  mm_status status = read_table(run, &t);
  if (status == MM_OK) *out = make_tree(&t);
  if (status == MM_OK && !*out)
    status = MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", mm_run_folder_of(run));
  mm_free(t.cell);
  mm_free(t.final);
  return status;
}
