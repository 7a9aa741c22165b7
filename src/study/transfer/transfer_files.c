// SPDX-License-Identifier: Apache-2.0
// JSON and CSV of a table of maps and environments. Numbers keep every bit.

#include "study/transfer/transfer_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/state_bytes.h"
#include "files/csv.h"

// ---------------------------------------------------------------------------------------------
// What a cell has: its name in CSV and in JSON, and the number. Both have them in this order, but
// for those without a name there.

#define OVER(c, baseline) ((c)->over[MM_BASELINE_##baseline])
#define COLUMNS(X)                                                                                 \
  X(COUNT, "n", "n", (double)c->of.n)                                                              \
  X(MEAN, "mean", "mean", c->of.mean.mean)                                                         \
  X(SEM, "sem", "sem", c->of.mean.sem)                                                             \
  X(OPTIMAL, "optimal_mean", NULL, t->optimal_mean[e])                                             \
  X(DIFFERENCE, "diff_negentropy", "difference", OVER(c, NEGENTROPY).gain.mean)                    \
  X(DIFFERENCE_SEM, "diff_negentropy_sem", "difference_sem", OVER(c, NEGENTROPY).gain.sem)         \
  X(WINS, "wins_negentropy", "wins", OVER(c, NEGENTROPY).wins)                                     \
  X(DIFFERENCE_L2, "diff_l2", "difference_l2", OVER(c, L2).gain.mean)                              \
  X(DIFFERENCE_L2_SEM, "diff_l2_sem", "difference_l2_sem", OVER(c, L2).gain.sem)                   \
  X(WINS_L2, "wins_l2", "wins_l2", OVER(c, L2).wins)                                               \
  X(FAILURES, "failures", "failures", (double)c->n_failure)                                        \
  X(ETA, "eta", "eta", c->eta)                                                                     \
  X(IQM, "iqm", "iqm", c->of.iqm.iqm)                                                              \
  X(IQM_LOW, "iqm_low", "iqm_low", c->of.iqm.low)                                                  \
  X(IQM_HIGH, "iqm_high", "iqm_high", c->of.iqm.high)                                              \
  X(UNFINISHED, "unfinished", "unfinished", (double)c->of.unfinished)                              \
  X(NUMERIC, NULL, "numeric_failures", (double)c->n_numeric)                                       \
  X(CVAR, "cvar", "cvar", c->of.worst)                                                             \
  X(CI_LOW, "ci_low", "ci_low", OVER(c, NEGENTROPY).interval.low)                                  \
  X(CI_HIGH, "ci_high", "ci_high", OVER(c, NEGENTROPY).interval.high)                              \
  X(DIFF_IQM, "diff_iqm", "difference_iqm", OVER(c, NEGENTROPY).iqm.iqm)                           \
  X(DIFF_IQM_LOW, "diff_iqm_low", "difference_iqm_low", OVER(c, NEGENTROPY).iqm.low)               \
  X(DIFF_IQM_HIGH, "diff_iqm_high", "difference_iqm_high", OVER(c, NEGENTROPY).iqm.high)           \
  X(WIN_RATE, "win_rate", "win_rate", OVER(c, NEGENTROPY).wins)                                    \
  X(WIN_RATE_LOW, "win_rate_low", "win_rate_low", OVER(c, NEGENTROPY).win_interval.low)            \
  X(WIN_RATE_HIGH, "win_rate_high", "win_rate_high", OVER(c, NEGENTROPY).win_interval.high)        \
  X(P, "p", "p", OVER(c, NEGENTROPY).p)                                                            \
  X(P_HOLM, "p_holm", "p_holm", OVER(c, NEGENTROPY).p_holm)                                        \
  X(CI_LOW_L2, "ci_low_l2", "ci_low_l2", OVER(c, L2).interval.low)                                 \
  X(CI_HIGH_L2, "ci_high_l2", "ci_high_l2", OVER(c, L2).interval.high)                             \
  X(P_HOLM_L2, "p_holm_l2", "p_holm_l2", OVER(c, L2).p_holm)                                       \
  X(TSALLIS_Q, "q", "q", c->q)

typedef enum column {
#define NAME(id, csv, json, value) id,
  COLUMNS(NAME) N_COLUMN
#undef NAME
} column;

static const struct {
  const char *csv, *json;
} column_names[N_COLUMN] = {
#define NAMES(id, csv, json, value) { csv, json },
  COLUMNS(NAMES)
#undef NAMES
};

static double number_at(const mm_transfer *t, size_t m, size_t e, column which) {
  const mm_transfer_cell *c = mm_transfer_at(t, m, e);
  switch (which) {
#define VALUE(id, csv, json, value)                                                                \
  case id:                                                                                         \
    return value;
    COLUMNS(VALUE)
#undef VALUE
  case N_COLUMN:
    break;
  }
  return NAN;
}

// ---------------------------------------------------------------------------------------------
// JSON

// One value of each cell, [map][env]; `make` makes it.
typedef cJSON *make_value(const mm_transfer *t, size_t m, size_t e, column which);

static void add_cells(cJSON *root, const char *key, const mm_transfer *t, make_value *make,
                      column which) {
  cJSON *rows = cJSON_AddArrayToObject(root, key);
  for (size_t m = 0; m < t->config.n_map; m++) {
    cJSON *row = cJSON_CreateArray();
    for (size_t e = 0; e < t->config.n_env; e++)
      cJSON_AddItemToArray(row, make(t, m, e, which));
    cJSON_AddItemToArray(rows, row);
  }
}

static cJSON *make_number(const mm_transfer *t, size_t m, size_t e, column which) {
  return mm_json_defined(number_at(t, m, e, which));
}

static void add_columns(cJSON *root, const mm_transfer *t) {
  for (int k = 0; k < N_COLUMN; k++)
    if (column_names[k].json) add_cells(root, column_names[k].json, t, make_number, (column)k);
}

static cJSON *numbers_or_null(const double *x, size_t n) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < n; i++)
    cJSON_AddItemToArray(array, mm_json_defined(mm_worth_shown(x[i])));
  return array;
}

static cJSON *make_finals(const mm_transfer *t, size_t m, size_t e, column which) {
  const mm_transfer_config *c = &t->config;
  (void)which;
  return numbers_or_null(t->worth + (m * c->n_env + e) * c->n_seed, c->n_seed);
}

// {step: [..], mean: [..], sem: [..]}
static cJSON *make_curve(const mm_transfer *t, size_t m, size_t e, column which) {
  const mm_transfer_cell *cell = mm_transfer_at(t, m, e);
  (void)which;
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
  add_baseline(root, t);
  add_columns(root, t);
  cJSON_AddItemToObject(root, "optimal_mean", numbers_or_null(t->optimal_mean, t->config.n_env));
  mm_json_add_whole(root, "tune_env_steps", t->tune_steps);
  mm_json_add_whole(root, "comparisons", t->n_test[MM_BASELINE_NEGENTROPY]);
  add_cells(root, "finals", t, make_finals, N_COLUMN);
  if (mm_transfer_has_curves(t)) add_cells(root, "curves", t, make_curve, N_COLUMN);
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

// Tells maps apart that have one name: of the text of its file.
static void add_fingerprint(cJSON *object, const mm_transfer_map *row) {
  char *text, mark[24];
  if (mm_map_format(row->map, NULL, &text) != MM_OK) return;
  snprintf(mark, sizeof mark, "%016" PRIx64,
           mm_state_checksum((const unsigned char *)text, strlen(text)));
  cJSON_AddStringToObject(object, row->label, mark);
  mm_map_text_free(text);
}

static void put_origin(FILE *f, const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  cJSON *maps = cJSON_CreateObject(), *envs = cJSON_CreateObject();
  cJSON *fingerprints = cJSON_CreateObject(), *settings = cJSON_CreateObject();
  for (size_t m = 0; m < c->n_map; m++) {
    cJSON_AddStringToObject(maps, c->map[m].label, c->map[m].name);
    add_fingerprint(fingerprints, &c->map[m]);
  }
  for (size_t e = 0; e < c->n_env; e++) {
    cJSON *object = mm_settings_json(&c->env[e].settings);
    cJSON_AddStringToObject(object, "algo", mm_algo_name(c->env[e].settings.algo));
    cJSON_AddItemToObject(settings, c->env[e].label, object);
    cJSON_AddStringToObject(envs, c->env[e].label, c->env[e].name);
  }
  fprintf(f, "# mirrormap %s (%s): transfer\n", mm_version(), mm_build_info());
  mm_csv_remark(f, "maps", maps);
  mm_csv_remark(f, "fingerprints", fingerprints);
  mm_csv_remark(f, "envs", envs);
  mm_csv_remark(f, "settings", settings);
  fprintf(f, "# seeds: %" PRIu64 " to %" PRIu64 "\n", c->seed, c->seed + (c->n_seed - 1));
  mm_machine_remark(f, &t->machine, t->wall_seconds, (double)t->own_steps);
}

static void put_table(FILE *f, const mm_transfer *t) {
  fputs("map,env", f);
  for (int k = 0; k < N_COLUMN; k++)
    if (column_names[k].csv) fprintf(f, ",%s", column_names[k].csv);
  fputc('\n', f);
  for (size_t m = 0; m < t->config.n_map; m++)
    for (size_t e = 0; e < t->config.n_env; e++) {
      put_names(f, t, m, e);
      for (int k = 0; k < N_COLUMN; k++)
        if (column_names[k].csv) mm_csv_number(f, number_at(t, m, e, (column)k));
      fputc('\n', f);
    }
}

static void put_runs(FILE *f, const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  fputs("map,env,seed,final\n", f);
  for (size_t m = 0; m < c->n_map; m++)
    for (size_t e = 0; e < c->n_env; e++)
      for (size_t i = 0; i < c->n_seed; i++) {
        const double worth = t->worth[(m * c->n_env + e) * c->n_seed + i];
        if (isnan(worth)) continue;
        put_names(f, t, m, e);
        fprintf(f, ",%" PRIu64, c->seed + i);
        mm_csv_number(f, mm_worth_shown(worth));
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
