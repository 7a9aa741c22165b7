// SPDX-License-Identifier: Apache-2.0
// The search of a run as the page takes it: generations in columns, validations map by map.

#include <math.h>

#include "show/report/report_internal.h"

// Columns of the generations, every so many of them and the last.
static void add_generations(cJSON *object, const mm_search_curve *c) {
  enum { COLUMNS = 7 };
  static const char *const key[COLUMNS] = { "generation", "mean",  "best",     "sd",
                                            "sigma",      "phase", "env_steps" };
  cJSON *column[COLUMNS];
  size_t n = c->n_generation, stride = n / MM_REPORT_GENERATIONS + 1;
  for (int k = 0; k < COLUMNS; k++)
    column[k] = cJSON_AddArrayToObject(object, key[k]);
  for (size_t i = 0; i < n; i = i + stride < n || i == n - 1 ? i + stride : n - 1) {
    const mm_run_generation *row = &c->generation[i];
    const double value[COLUMNS] = { (double)row->generation, row->fitness_mean, row->fitness_best,
                                    row->fitness_sd,         row->sigma,        row->phase,
                                    (double)row->env_steps };
    for (int k = 0; k < COLUMNS; k++)
      cJSON_AddItemToArray(column[k], mm_json_defined(value[k]));
  }
}

static cJSON *point_json(double generation, int phase, mm_estimate value, size_t n) {
  cJSON *object = cJSON_CreateObject();
  mm_json_add_defined(object, "generation", generation);
  mm_json_add_defined(object, "phase", phase);
  mm_json_add_defined(object, "mean", value.mean);
  mm_json_add_defined(object, "sem", value.sem);
  mm_json_add_defined(object, "n", (double)n);
  return object;
}

static cJSON *add_map(cJSON *maps, const char *name, bool control) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "map", name);
  cJSON_AddBoolToObject(object, "control", control);
  cJSON_AddItemToArray(maps, object);
  return cJSON_AddArrayToObject(object, "points");
}

// Differences from all controls of the phase, task by task.
static void add_differences(cJSON *point, const mm_search_curve *c, const mm_search_point *p) {
  mm_json_add_defined(point, "difference", p->difference.mean);
  mm_json_add_defined(point, "difference_sem", p->difference.sem);
  cJSON *minus = cJSON_AddArrayToObject(point, "minus");
  for (size_t k = 0; k < c->n_control; k++) {
    if (isnan(p->minus[k].mean)) continue;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "map", c->control[k].name);
    mm_json_add_defined(object, "mean", p->minus[k].mean);
    mm_json_add_defined(object, "sem", p->minus[k].sem);
    mm_json_add_defined(object, "verdict", mm_estimate_sign(p->minus[k]));
    cJSON_AddItemToArray(minus, object);
  }
}

// Controls have a point where their phase began.
static void add_validation(cJSON *object, const mm_search_curve *c) {
  cJSON *maps = cJSON_AddArrayToObject(object, "validation");
  cJSON *points = c->n_point > 0 ? add_map(maps, "learned", false) : NULL;
  for (size_t i = 0; i < c->n_point; i++) {
    const mm_search_point *p = &c->point[i];
    cJSON *point = point_json(p->generation, p->phase, p->value, p->n);
    add_differences(point, c, p);
    cJSON_AddItemToArray(points, point);
  }
  for (size_t i = 0; i < c->n_control; i++) {
    points = add_map(maps, c->control[i].name, true);
    for (size_t k = 0; k < c->n_phase; k++)
      if (c->control[i].n[k] > 0)
        cJSON_AddItemToArray(points, point_json(c->phase_start[k], (int)k, c->control[i].value[k],
                                                c->control[i].n[k]));
  }
}

cJSON *mm_report_search_json(const mm_report_run *run) {
  const mm_search_curve *c = &run->search;
  if (!run->has_search) return cJSON_CreateNull();
  cJSON *object = cJSON_CreateObject();
  add_generations(object, c);
  mm_report_add_text(object, "reference",
                     c->reference < c->n_control ? c->control[c->reference].name : NULL);
  add_validation(object, c);
  return object;
}
