// SPDX-License-Identifier: Apache-2.0
// Batches as a table of maps and environments, in the shape that the figures of `transfer` take.
// While a run goes on cells have the training runs that are done; pairs are made of those.

#include <math.h>
#include <string.h>

#include "show/report/report_internal.h"

// ---------------------------------------------------------------------------------------------
// Rows and columns

static size_t find_map(const mm_report_table *t, const char *label) {
  size_t i = 0;
  while (i < t->transfer.config.n_map && strcmp(t->map[i].label, label) != 0)
    i++;
  return i;
}

static size_t find_env(const mm_report_table *t, const char *label) {
  size_t i = 0;
  while (i < t->transfer.config.n_env && strcmp(t->env[i].label, label) != 0)
    i++;
  return i;
}

// Maps that nobody learned: as the configuration says, or by what they are called.
static bool is_control(const cJSON *config, const char *label) {
  const cJSON *maps = mm_json_find(config, "maps");
  for (const cJSON *map = maps ? maps->child : NULL; map; map = map->next) {
    const char *own = mm_report_config_text(map, "label");
    const cJSON *control = mm_json_find(map, "control");
    if (own && strcmp(own, label) == 0 && cJSON_IsBool(control)) return cJSON_IsTrue(control);
  }
  static const char *const start[] = { "negentropy", "l2",     "tsallis", "random",
                                       "piecewise",  "neural", "initial" };
  for (size_t i = 0; i < sizeof start / sizeof *start; i++)
    if (strncmp(label, start[i], strlen(start[i])) == 0) return true;
  return false;
}

// Labels belong to the batches.
static void add_labels(mm_report_table *t, const mm_report_trainings *all, const cJSON *config) {
  mm_transfer_config *c = &t->transfer.config;
  for (size_t b = 0; b < all->n_batch; b++) {
    const mm_report_batch *batch = &all->batch[b];
    if (!mm_report_is_shown(batch)) continue;
    if (find_map(t, batch->map) == c->n_map)
      t->map[c->n_map++] = (mm_transfer_map){ .name = batch->map,
                                              .label = batch->map,
                                              .control = is_control(config, batch->map) };
    if (find_env(t, batch->env) == c->n_env)
      t->env[c->n_env++] = (mm_transfer_env){ .name = batch->env, .label = batch->env };
    if (batch->n > 0) {
      size_t span = (size_t)(all->place[batch->from + batch->n - 1] - batch->first) + 1;
      if (span > c->n_seed) c->n_seed = span;
    }
  }
}

// Of which nothing is done yet.
static const mm_transfer_cell empty_cell = {
  .eta = NAN, .of = { .mean = { NAN, NAN, 0 }, .iqm = { NAN, NAN, NAN }, .worst = NAN }
};

static void *take(size_t count, size_t size) {
  void *block = mm_alloc_array(count, size);
  if (block) memset(block, 0, count * size);
  return block;
}

static mm_status take_all(mm_report_table *t) {
  mm_transfer *x = &t->transfer;
  const mm_transfer_config *c = &x->config;
  size_t cells = c->n_map * c->n_env;
  x->cell = take(cells, sizeof *x->cell);
  x->optimal_mean = take(c->n_env, sizeof *x->optimal_mean);
  x->steps = take(c->n_env, sizeof *x->steps);
  x->worth = c->n_seed > 0 && cells > SIZE_MAX / c->n_seed
                 ? NULL
                 : take(cells * c->n_seed, sizeof *x->worth);
  if (!x->cell || !x->optimal_mean || !x->steps || !x->worth)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a table of %zu maps on %zu environments", c->n_map,
                   c->n_env);
  for (size_t i = 0; i < cells * c->n_seed; i++)
    x->worth[i] = NAN;
  for (size_t i = 0; i < cells; i++)
    x->cell[i] = empty_cell;
  for (size_t e = 0; e < c->n_env; e++)
    x->optimal_mean[e] = NAN;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Numbers

static double *worths_of(const mm_transfer *x, size_t map, size_t env) {
  return x->worth + (map * x->config.n_env + env) * x->config.n_seed;
}

// Of two batches for the same cell the later one counts.
static void fill_cell(mm_report_table *t, const mm_report_trainings *all,
                      const mm_report_batch *batch) {
  mm_transfer *table = &t->transfer;
  size_t map = find_map(t, batch->map), env = find_env(t, batch->env), n_optimal = 0;
  double *worth = worths_of(table, map, env), optimal = 0;
  table->cell[map * table->config.n_env + env] = batch->cell;
  table->cell[map * table->config.n_env + env].eta = NAN;
  for (size_t i = 0; i < table->config.n_seed; i++)
    worth[i] = NAN;
  for (size_t i = 0; i < batch->n; i++) {
    const mm_result *r = &all->result[batch->from + i];
    worth[all->place[batch->from + i] - batch->first] = mm_result_worth(r);
    table->env_steps += r->env_steps;
    if (r->env_steps > table->steps[env]) table->steps[env] = r->env_steps;
    if (isnan(r->optimal_value)) continue;
    optimal += r->optimal_value;
    n_optimal++;
  }
  // V* of half the instances would not be comparable with the means
  if (n_optimal == batch->n && n_optimal > 0)
    table->optimal_mean[env] = optimal / (double)n_optimal;
}

static void fill(mm_report_table *t, const mm_report_trainings *all) {
  mm_transfer *table = &t->transfer;
  for (size_t b = 0; b < all->n_batch; b++)
    if (mm_report_is_shown(&all->batch[b])) fill_cell(t, all, &all->batch[b]);
  table->baseline[MM_BASELINE_NEGENTROPY] = find_map(t, "negentropy");
  if (table->baseline[MM_BASELINE_NEGENTROPY] == table->config.n_map) // has no map, so no other row
    table->baseline[MM_BASELINE_NEGENTROPY] = find_map(t, mm_algo_name(MM_ALGO_PPO));
  table->baseline[MM_BASELINE_L2] = find_map(t, "l2");
  mm_transfer_compare(table);
}

mm_status mm_report_make_table(const mm_report_trainings *all, const cJSON *config,
                               mm_report_table *out) {
  *out = (mm_report_table){ 0 };
  out->map = take(all->n_batch, sizeof *out->map);
  out->env = take(all->n_batch, sizeof *out->env);
  if (!out->map || !out->env) return MM_FAIL(MM_ERR_MEMORY, "no memory for a table");
  add_labels(out, all, config);
  out->transfer.config.map = out->map;
  out->transfer.config.env = out->env;
  out->transfer.config.seed = all->resampling;
  MM_TRY(take_all(out));
  fill(out, all);
  return MM_OK;
}

void mm_report_release_table(mm_report_table *t) {
  mm_transfer *x = &t->transfer;
  mm_free(x->cell);
  mm_free(x->optimal_mean);
  mm_free(x->steps);
  mm_free(x->worth);
  mm_free(t->map);
  mm_free(t->env);
  *t = (mm_report_table){ 0 };
}

// ---------------------------------------------------------------------------------------------
// The document

static cJSON *cell_json(const mm_transfer *t, size_t map, size_t env, mm_baseline from) {
  const mm_transfer_cell *cell = mm_transfer_at(t, map, env);
  const mm_comparison *over = &cell->over[from];
  cJSON *object = cJSON_CreateObject();
  mm_report_add_worths(object, cell, true);
  mm_json_add_defined(object, "cvar", cell->of.worst);
  mm_json_add_defined(object, "difference", over->gain.mean);
  mm_json_add_defined(object, "difference_sem", over->gain.sem);
  mm_json_add_defined(object, "ci_low", over->interval.low);
  mm_json_add_defined(object, "ci_high", over->interval.high);
  mm_json_add_defined(object, "wins", over->wins);
  mm_json_add_defined(object, "win_rate_low", over->win_interval.low);
  mm_json_add_defined(object, "win_rate_high", over->win_interval.high);
  mm_json_add_defined(object, "p_holm", over->p_holm);
  mm_json_add_defined(object, "verdict", mm_comparison_sign(over));
  cJSON_AddBoolToObject(object, "better", over->gain.mean > 0);
  cJSON_AddNullToObject(object, "paper");
  return object;
}

static cJSON *maps_json(const mm_transfer_config *c) {
  cJSON *array = cJSON_CreateArray();
  for (size_t m = 0; m < c->n_map; m++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "label", c->map[m].label);
    cJSON_AddBoolToObject(object, "control", c->map[m].control);
    cJSON_AddItemToArray(array, object);
  }
  return array;
}

cJSON *mm_report_table_json(const mm_report_table *table) {
  const mm_transfer *t = &table->transfer;
  const mm_transfer_config *c = &t->config;
  if (c->n_map < 2) return cJSON_CreateNull();
  mm_baseline from =
      t->baseline[MM_BASELINE_NEGENTROPY] < c->n_map ? MM_BASELINE_NEGENTROPY : MM_BASELINE_L2;
  cJSON *object = cJSON_CreateObject(), *envs = cJSON_CreateArray();
  mm_report_add_text(object, "baseline",
                     t->baseline[from] < c->n_map ? c->map[t->baseline[from]].label : NULL);
  for (size_t e = 0; e < c->n_env; e++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(c->env[e].label));
  cJSON_AddItemToObject(object, "envs", envs);
  cJSON_AddItemToObject(object, "maps", maps_json(c));
  mm_json_add_whole(object, "comparisons", t->n_test[from]);
  cJSON *rows = cJSON_AddArrayToObject(object, "cells");
  for (size_t m = 0; m < c->n_map; m++) {
    cJSON *row = cJSON_CreateArray();
    for (size_t e = 0; e < c->n_env; e++)
      cJSON_AddItemToArray(row, cell_json(t, m, e, from));
    cJSON_AddItemToArray(rows, row);
  }
  return object;
}
