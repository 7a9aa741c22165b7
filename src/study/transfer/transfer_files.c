// JSON and CSV of a table of maps and environments. Numbers keep every bit.

#include "study/transfer/transfer_files.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "study/stats/csv.h"

// ---------------------------------------------------------------------------------------------
// JSON

typedef enum content { NUMBER, COUNT } content;

// One field of a cell by its place.
static double read_cell(const mm_transfer_cell *cell, content what, size_t offset) {
  const char *at = (const char *)cell + offset;
  double number;
  size_t count;
  memcpy(&number, at, sizeof number);
  memcpy(&count, at, sizeof count);
  return what == COUNT ? (double)count : number;
}

// [map][env] of that field
static void add_cells(cJSON *root, const char *key, const mm_transfer *t, content what,
                      size_t offset) {
  cJSON *rows = cJSON_AddArrayToObject(root, key);
  for (size_t m = 0; m < t->config.n_map; m++) {
    cJSON *row = cJSON_CreateArray();
    for (size_t e = 0; e < t->config.n_env; e++)
      cJSON_AddItemToArray(row, mm_json_defined(read_cell(mm_transfer_at(t, m, e), what, offset)));
    cJSON_AddItemToArray(rows, row);
  }
}

// A paired difference as "<key>" and "<key>_sem".
static void add_difference(cJSON *root, const char *key, const mm_transfer *t, mm_baseline from) {
  size_t offset = offsetof(mm_transfer_cell, over) + (size_t)from * sizeof(mm_comparison) +
                  offsetof(mm_comparison, gain);
  char sem[64];
  snprintf(sem, sizeof sem, "%s_sem", key);
  add_cells(root, key, t, NUMBER, offset + offsetof(mm_estimate, mean));
  add_cells(root, sem, t, NUMBER, offset + offsetof(mm_estimate, sem));
}

static cJSON *numbers_or_null(const double *x, size_t n) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < n; i++)
    cJSON_AddItemToArray(array, mm_json_defined(mm_worth_shown(x[i])));
  return array;
}

// [map][env][seed]
static void add_finals(cJSON *root, const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  cJSON *rows = cJSON_AddArrayToObject(root, "finals");
  for (size_t m = 0; m < c->n_map; m++) {
    cJSON *row = cJSON_CreateArray();
    for (size_t e = 0; e < c->n_env; e++)
      cJSON_AddItemToArray(row,
                           numbers_or_null(t->worth + (m * c->n_env + e) * c->n_seed, c->n_seed));
    cJSON_AddItemToArray(rows, row);
  }
}

static cJSON *curve_json(const mm_transfer_cell *cell) {
  cJSON *object = cJSON_CreateObject();
  cJSON *step = cJSON_AddArrayToObject(object, "step");
  cJSON *mean = cJSON_AddArrayToObject(object, "mean");
  cJSON *sem = cJSON_AddArrayToObject(object, "sem");
  for (size_t k = 0; k < cell->n_curve; k++) {
    cJSON_AddItemToArray(step, mm_json_number((double)cell->curve[k].step));
    cJSON_AddItemToArray(mean, mm_json_defined(cell->curve[k].value.mean));
    cJSON_AddItemToArray(sem, mm_json_defined(cell->curve[k].value.sem));
  }
  return object;
}

// [map][env] of {step: [..], mean: [..], sem: [..]}
static void add_curves(cJSON *root, const mm_transfer *t) {
  cJSON *rows = cJSON_AddArrayToObject(root, "curves");
  for (size_t m = 0; m < t->config.n_map; m++) {
    cJSON *row = cJSON_CreateArray();
    for (size_t e = 0; e < t->config.n_env; e++)
      cJSON_AddItemToArray(row, curve_json(mm_transfer_at(t, m, e)));
    cJSON_AddItemToArray(rows, row);
  }
}

static void add_maps(cJSON *root, const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  cJSON *names = cJSON_AddArrayToObject(root, "maps");
  cJSON *labels = cJSON_AddArrayToObject(root, "labels");
  cJSON *controls = cJSON_AddArrayToObject(root, "controls");
  for (size_t m = 0; m < c->n_map; m++) {
    cJSON_AddItemToArray(names, cJSON_CreateString(c->map[m].name));
    cJSON_AddItemToArray(labels, cJSON_CreateString(c->map[m].label));
    if (c->map[m].control) cJSON_AddItemToArray(controls, cJSON_CreateString(c->map[m].name));
  }
}

static void add_envs(cJSON *root, const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  cJSON *names = cJSON_AddArrayToObject(root, "envs");
  cJSON *algos = cJSON_AddArrayToObject(root, "algos");
  cJSON *steps = cJSON_AddArrayToObject(root, "steps");
  for (size_t e = 0; e < c->n_env; e++) {
    cJSON_AddItemToArray(names, cJSON_CreateString(c->env[e].name));
    cJSON_AddItemToArray(algos, cJSON_CreateString(mm_algo_name(c->env[e].settings.algo)));
    cJSON_AddItemToArray(steps, mm_json_number((double)t->steps[e]));
  }
}

static void add_baseline(cJSON *root, const mm_transfer *t) {
  size_t row = t->baseline[MM_BASELINE_NEGENTROPY];
  if (row < t->config.n_map)
    cJSON_AddStringToObject(root, "baseline", t->config.map[row].name);
  else
    cJSON_AddNullToObject(root, "baseline");
}

static void add_origin(cJSON *root, const mm_transfer *t) {
  mm_json_add_defined(root, "env_steps", (double)t->env_steps);
  mm_json_add_defined(root, "session_env_steps", (double)t->own_steps);
  mm_json_add_defined(root, "env_steps_per_second", t->own_steps > 0 ? mm_transfer_speed(t) : NAN);
  mm_json_add_defined(root, "wall_seconds", t->wall_seconds);
  mm_machine_add(root, &t->machine);
  cJSON *settings = cJSON_AddArrayToObject(root, "settings");
  for (size_t e = 0; e < t->config.n_env; e++)
    cJSON_AddItemToArray(settings, mm_settings_json(&t->config.env[e].settings));
  cJSON_AddStringToObject(root, "version", mm_version());
  cJSON_AddStringToObject(root, "build", mm_build_info());
}

cJSON *mm_transfer_json(const mm_transfer *t) {
  cJSON *root = cJSON_CreateObject();
  add_maps(root, t);
  add_envs(root, t);
  mm_json_add_whole(root, "seed", t->config.seed);
  mm_json_add_whole(root, "seeds", t->config.n_seed);
  add_cells(root, "mean", t, NUMBER, offsetof(mm_transfer_cell, of.mean.mean));
  add_cells(root, "sem", t, NUMBER, offsetof(mm_transfer_cell, of.mean.sem));
  add_cells(root, "iqm", t, NUMBER, offsetof(mm_transfer_cell, of.iqm.iqm));
  add_cells(root, "iqm_low", t, NUMBER, offsetof(mm_transfer_cell, of.iqm.low));
  add_cells(root, "iqm_high", t, NUMBER, offsetof(mm_transfer_cell, of.iqm.high));
  add_baseline(root, t);
  add_difference(root, "difference", t, MM_BASELINE_NEGENTROPY);
  add_difference(root, "difference_l2", t, MM_BASELINE_L2);
  add_cells(root, "wins", t, NUMBER, offsetof(mm_transfer_cell, over[MM_BASELINE_NEGENTROPY].wins));
  add_cells(root, "wins_l2", t, NUMBER, offsetof(mm_transfer_cell, over[MM_BASELINE_L2].wins));
  cJSON_AddItemToObject(root, "optimal_mean", numbers_or_null(t->optimal_mean, t->config.n_env));
  add_cells(root, "eta", t, NUMBER, offsetof(mm_transfer_cell, eta));
  mm_json_add_whole(root, "tune_env_steps", t->tune_steps);
  add_cells(root, "n", t, COUNT, offsetof(mm_transfer_cell, of.n));
  add_cells(root, "unfinished", t, COUNT, offsetof(mm_transfer_cell, of.unfinished));
  add_cells(root, "failures", t, COUNT, offsetof(mm_transfer_cell, n_failed));
  add_cells(root, "numeric_failures", t, COUNT, offsetof(mm_transfer_cell, n_numeric));
  add_finals(root, t);
  if (mm_transfer_has_curves(t)) add_curves(root, t);
  add_origin(root, t);
  return root;
}

// ---------------------------------------------------------------------------------------------
// CSV, collected in memory

static void put_names(FILE *f, const mm_transfer *t, size_t map, size_t env) {
  mm_csv_text(f, t->config.map[map].label);
  fputc(',', f);
  mm_csv_text(f, t->config.env[env].label);
}

static void put_origin(FILE *f, const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  cJSON *maps = cJSON_CreateObject(), *envs = cJSON_CreateObject();
  cJSON *settings = cJSON_CreateObject();
  for (size_t m = 0; m < c->n_map; m++)
    cJSON_AddStringToObject(maps, c->map[m].label, c->map[m].name);
  for (size_t e = 0; e < c->n_env; e++) {
    cJSON *object = mm_settings_json(&c->env[e].settings);
    cJSON_AddStringToObject(object, "algo", mm_algo_name(c->env[e].settings.algo));
    cJSON_AddItemToObject(settings, c->env[e].label, object);
    cJSON_AddStringToObject(envs, c->env[e].label, c->env[e].name);
  }
  fprintf(f, "# mirrormap %s (%s): transfer\n", mm_version(), mm_build_info());
  mm_csv_remark(f, "maps", maps);
  mm_csv_remark(f, "envs", envs);
  mm_csv_remark(f, "settings", settings);
  fprintf(f, "# seeds: %" PRIu64 " to %" PRIu64 "\n", c->seed, c->seed + (c->n_seed - 1));
  mm_machine_remark(f, &t->machine, t->wall_seconds, (double)t->own_steps);
}

static void put_table(FILE *f, const mm_transfer *t) {
  fputs("map,env,n,mean,sem,optimal_mean,diff_negentropy,diff_negentropy_sem,wins_negentropy,"
        "diff_l2,diff_l2_sem,wins_l2,failures,eta,iqm,iqm_low,iqm_high,unfinished\n",
        f);
  for (size_t m = 0; m < t->config.n_map; m++)
    for (size_t e = 0; e < t->config.n_env; e++) {
      const mm_transfer_cell *cell = mm_transfer_at(t, m, e);
      put_names(f, t, m, e);
      mm_csv_number(f, (double)cell->of.n);
      mm_csv_number(f, cell->of.mean.mean);
      mm_csv_number(f, cell->of.mean.sem);
      mm_csv_number(f, t->optimal_mean[e]);
      for (int b = 0; b < MM_BASELINES; b++) {
        mm_csv_number(f, cell->over[b].gain.mean);
        mm_csv_number(f, cell->over[b].gain.sem);
        mm_csv_number(f, cell->over[b].wins);
      }
      mm_csv_number(f, (double)cell->n_failed);
      mm_csv_number(f, cell->eta);
      mm_csv_number(f, cell->of.iqm.iqm);
      mm_csv_number(f, cell->of.iqm.low);
      mm_csv_number(f, cell->of.iqm.high);
      mm_csv_number(f, (double)cell->of.unfinished);
      fputc('\n', f);
    }
}

static void put_runs(FILE *f, const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  fputs("map,env,seed,final\n", f);
  for (size_t m = 0; m < c->n_map; m++)
    for (size_t e = 0; e < c->n_env; e++)
      for (size_t i = 0; i < c->n_seed; i++) {
        put_names(f, t, m, e);
        fprintf(f, ",%" PRIu64, c->seed + i);
        mm_csv_number(f, mm_worth_shown(t->worth[(m * c->n_env + e) * c->n_seed + i]));
        fputc('\n', f);
      }
}

static void put_curves(FILE *f, const mm_transfer *t) {
  fputs("map,env,step,mean,sem\n", f);
  for (size_t m = 0; m < t->config.n_map; m++)
    for (size_t e = 0; e < t->config.n_env; e++) {
      const mm_transfer_cell *cell = mm_transfer_at(t, m, e);
      for (size_t k = 0; k < cell->n_curve; k++) {
        put_names(f, t, m, e);
        fprintf(f, ",%" PRIu64, cell->curve[k].step);
        mm_csv_number(f, cell->curve[k].value.mean);
        mm_csv_number(f, cell->curve[k].value.sem);
        fputc('\n', f);
      }
    }
}

// ---------------------------------------------------------------------------------------------
// Files

// Everything that a table's files have in common, then their rows.
typedef struct sheet {
  const mm_transfer *t;
  void (*put)(FILE *f, const mm_transfer *t);
} sheet;

static void put_sheet(FILE *f, const void *user) {
  const sheet *s = user;
  put_origin(f, s->t);
  s->put(f, s->t);
}

static mm_status write_csv(const mm_transfer *t, const char *folder, const char *name,
                           void (*put)(FILE *f, const mm_transfer *t)) {
  const sheet s = { t, put };
  return mm_csv_write(folder, name, put_sheet, &s);
}

mm_status mm_transfer_write(const mm_transfer *t, const char *folder) {
  MM_TRY(write_csv(t, folder, "runs.csv", put_runs));
  if (mm_transfer_has_curves(t)) MM_TRY(write_csv(t, folder, "curves.csv", put_curves));
  MM_TRY(mm_json_write(folder, "table.json", mm_transfer_json(t)));
  return write_csv(t, folder, "table.csv", put_table);
}
