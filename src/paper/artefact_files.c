// SPDX-License-Identifier: Apache-2.0
// A reproduction as files. Numbers keep every bit; lines that begin with '#' say what they come
// from, and are the only ones that differ between two runs of the same plan.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files/csv.h"
#include "paper/artefact.h"

// ---------------------------------------------------------------------------------------------
// JSON

static cJSON *quantities_json(const mm_artefact_cell *cell) {
  cJSON *object = cJSON_CreateObject();
  for (int q = 0; q < MM_QUANTITIES; q++) {
    if (!cell->run[q]) continue;
    cJSON *one = cJSON_AddObjectToObject(object, mm_quantity_name((mm_quantity)q));
    mm_json_add_defined(one, "mean", cell->value[q].mean);
    mm_json_add_defined(one, "sem", cell->value[q].sem);
  }
  return object;
}

static cJSON *cell_json(const mm_artefact_cell *cell) {
  static const char *const from[2][3] = { { "difference_negentropy", "difference_negentropy_sem",
                                            "wins_negentropy" },
                                          { "difference_l2", "difference_l2_sem", "wins_l2" } };
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "env", cell->env);
  if (cell->target[0]) cJSON_AddStringToObject(object, "target", cell->target);
  cJSON_AddStringToObject(object, "map", cell->map);
  cJSON_AddBoolToObject(object, "control", cell->control);
  mm_json_add_defined(object, "eta", cell->eta);
  mm_json_add_whole(object, "n", cell->of.n);
  mm_json_add_whole(object, "unfinished", cell->of.unfinished);
  mm_json_add_whole(object, "failures", cell->n_failed);
  mm_json_add_whole(object, "numeric_failures", cell->n_numeric);
  mm_json_add_defined(object, "mean", cell->value[MM_QUANTITY_FINAL].mean);
  mm_json_add_defined(object, "sem", cell->value[MM_QUANTITY_FINAL].sem);
  mm_json_add_defined(object, "iqm", cell->of.iqm.iqm);
  mm_json_add_defined(object, "iqm_low", cell->of.iqm.low);
  mm_json_add_defined(object, "iqm_high", cell->of.iqm.high);
  mm_json_add_defined(object, "optimal_mean", cell->optimal);
  mm_json_add_defined(object, "paper", cell->paper);
  for (int b = 0; b < 2; b++) {
    mm_json_add_defined(object, from[b][0], cell->over[b].gain.mean);
    mm_json_add_defined(object, from[b][1], cell->over[b].gain.sem);
    mm_json_add_defined(object, from[b][2], cell->over[b].wins);
  }
  cJSON_AddItemToObject(object, "quantities", quantities_json(cell));
  return object;
}

static const char *verdict_text(int verdict) {
  return verdict > 0 ? "holds" : verdict < 0 ? "does not hold" : "inconclusive";
}

static void add_claims(cJSON *root, const mm_artefact *r) {
  cJSON *claims = cJSON_AddArrayToObject(root, "claims");
  for (size_t i = 0; i < r->n_claim; i++) {
    cJSON *claim = cJSON_CreateObject();
    cJSON_AddStringToObject(claim, "claim", r->claim[i].text);
    cJSON_AddStringToObject(claim, "env", r->claim[i].env);
    if (r->claim[i].target[0]) cJSON_AddStringToObject(claim, "target", r->claim[i].target);
    cJSON_AddStringToObject(claim, "verdict", verdict_text(r->claim[i].verdict));
    mm_json_add_defined(claim, "gain", r->claim[i].gain.mean);
    mm_json_add_defined(claim, "gain_sem", r->claim[i].gain.sem);
    mm_json_add_whole(claim, "runs", r->claim[i].gain.n);
    cJSON_AddBoolToObject(claim, "tie", r->claim[i].tie);
    cJSON_AddItemToArray(claims, claim);
  }
}

static void add_tuning(cJSON *root, const mm_tuning_cost *cost) {
  if (cost->seeds == 0) return;
  cJSON *object = cJSON_AddObjectToObject(root, "tuning");
  mm_json_add_defined(object, "eta", cost->eta);
  mm_json_add_whole(object, "seeds", cost->seeds);
  mm_json_add_defined(object, "env_steps", cost->steps);
  mm_json_add_defined(object, "search_env_steps", cost->map_steps);
  mm_json_add_defined(object, "share", cost->map_steps > 0 ? cost->steps / cost->map_steps : NAN);
}

static size_t count_failures(const mm_artefact *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->n_cell; i++)
    n += r->cell[i].n_failed;
  return n;
}

// What the process that writes this has done: a resumed one only the rest.
static void add_session(cJSON *root, const mm_artefact *r) {
  cJSON *object = cJSON_AddObjectToObject(root, "session");
  mm_json_add_defined(object, "env_steps", (double)r->env_steps);
  mm_json_add_defined(object, "wall_seconds", r->seconds);
  mm_json_add_defined(object, "env_steps_per_second",
                      r->env_steps > 0 ? (double)r->env_steps / r->seconds : NAN);
  mm_machine_add(object, &r->machine);
}

cJSON *mm_artefact_json(const mm_artefact *r) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "artefact", r->artefact);
  cJSON_AddStringToObject(root, "scale", r->scale);
  cJSON_AddStringToObject(root, "label", r->label);
  if (r->more[0]) cJSON_AddStringToObject(root, "label_more", r->more);
  cJSON_AddStringToObject(root, "folder", r->folder);
  mm_json_add_whole(root, "seed", r->seed);
  mm_json_add_whole(root, "seeds", r->n_seed);
  mm_json_add_whole(root, "failures", count_failures(r));
  cJSON *cells = cJSON_AddArrayToObject(root, "cells");
  for (size_t i = 0; i < r->n_cell; i++)
    cJSON_AddItemToArray(cells, cell_json(&r->cell[i]));
  add_claims(root, r);
  cJSON *notes = cJSON_AddArrayToObject(root, "notes");
  for (size_t i = 0; i < r->n_note; i++)
    cJSON_AddItemToArray(notes, cJSON_CreateString(r->note[i]));
  add_tuning(root, &r->tuning);
  cJSON_AddItemToObject(root, "settings",
                        r->settings ? cJSON_Duplicate(r->settings, true) : cJSON_CreateObject());
  mm_json_add_defined(root, "result_env_steps", (double)r->result_steps);
  add_session(root, r);
  cJSON_AddStringToObject(root, "version", mm_version());
  cJSON_AddStringToObject(root, "build", mm_build_info());
  return root;
}

// ---------------------------------------------------------------------------------------------
// CSV

static void put_names(FILE *f, const mm_artefact_cell *cell) {
  mm_csv_text(f, cell->env);
  fputc(',', f);
  mm_csv_text(f, cell->target);
  fputc(',', f);
  mm_csv_text(f, cell->map);
}

static bool is_first(const mm_artefact *r, size_t i, bool env) {
  for (size_t k = 0; k < i; k++)
    if (r->cell[k].n_run == r->cell[i].n_run &&
        (!env || strcmp(r->cell[k].env, r->cell[i].env) == 0))
      return false;
  return true;
}

// A line for each number of seeds, with the environments that have it where there are several.
static void put_seeds(FILE *f, const mm_artefact *r) {
  size_t numbers = 0;
  for (size_t i = 0; i < r->n_cell; i++)
    numbers += is_first(r, i, false) ? 1 : 0;
  for (size_t i = 0; i < r->n_cell; i++) {
    if (!is_first(r, i, false)) continue;
    fprintf(f, "# seeds: %" PRIu64 " to %" PRIu64, r->seed, r->seed + r->cell[i].n_run - 1);
    const char *joint = " on ";
    for (size_t k = i; k < r->n_cell && numbers > 1; k++) {
      if (r->cell[k].n_run != r->cell[i].n_run || !is_first(r, k, true)) continue;
      fprintf(f, "%s%s", joint, r->cell[k].env);
      joint = ", ";
    }
    fputc('\n', f);
  }
}

void mm_artefact_put_origin(FILE *f, const mm_artefact *r) {
  char *settings = r->settings ? mm_json_print(r->settings, false) : NULL;
  fprintf(f, "# mirrormap %s (%s): reproduce %s --scale %s\n", mm_version(), mm_build_info(),
          r->artefact, r->scale);
  fprintf(f, "# %s\n", r->label);
  if (r->more[0]) fprintf(f, "# %s\n", r->more);
  put_seeds(f, r);
  for (size_t i = 0; i < r->n_note; i++)
    fprintf(f, "# note: %s\n", r->note[i]);
  if (settings) fprintf(f, "# settings: %s\n", settings);
  mm_free(settings);
  mm_machine_remark(f, &r->machine, r->seconds, (double)r->env_steps);
}

static void put_table(FILE *f, const mm_artefact *r) {
  fputs("env,target,map,control,eta,n,failures,mean,sem,iqm,iqm_low,iqm_high,optimal_mean,"
        "diff_negentropy,diff_negentropy_sem,wins_negentropy,diff_l2,diff_l2_sem,wins_l2,paper,"
        "paper_difference_in_sem",
        f);
  for (int q = 1; q < MM_QUANTITIES; q++)
    fprintf(f, ",%s,%s_sem", mm_quantity_name((mm_quantity)q), mm_quantity_name((mm_quantity)q));
  fputs(",unfinished\n", f);
  for (size_t i = 0; i < r->n_cell; i++) {
    const mm_artefact_cell *c = &r->cell[i];
    mm_estimate final = c->value[MM_QUANTITY_FINAL];
    put_names(f, c);
    fprintf(f, ",%d", c->control);
    mm_csv_number(f, c->eta);
    fprintf(f, ",%zu,%zu", c->of.n, c->n_failed);
    mm_csv_number(f, final.mean);
    mm_csv_number(f, final.sem);
    mm_csv_number(f, c->of.iqm.iqm);
    mm_csv_number(f, c->of.iqm.low);
    mm_csv_number(f, c->of.iqm.high);
    mm_csv_number(f, c->optimal);
    for (int b = 0; b < 2; b++) {
      mm_csv_number(f, c->over[b].gain.mean);
      mm_csv_number(f, c->over[b].gain.sem);
      mm_csv_number(f, c->over[b].wins);
    }
    mm_csv_number(f, c->paper);
    mm_csv_number(f, final.sem > 0 ? (final.mean - c->paper) / final.sem : NAN);
    for (int q = 1; q < MM_QUANTITIES; q++) {
      mm_csv_number(f, c->value[q].mean);
      mm_csv_number(f, c->value[q].sem);
    }
    fprintf(f, ",%zu\n", c->of.unfinished);
  }
}

static void put_raw(FILE *f, const mm_artefact *r) {
  fputs("env,target,map,seed", f);
  for (int q = 0; q < MM_QUANTITIES; q++)
    fprintf(f, ",%s", mm_quantity_name((mm_quantity)q));
  fputc('\n', f);
  for (size_t i = 0; i < r->n_cell; i++)
    for (size_t k = 0; k < r->cell[i].n_run; k++) {
      const mm_artefact_cell *c = &r->cell[i];
      put_names(f, c);
      fprintf(f, ",%" PRIu64, r->seed + k);
      for (int q = 0; q < MM_QUANTITIES; q++)
        mm_csv_number(f, c->run[q] ? mm_worth_shown(c->run[q][k]) : NAN);
      fputc('\n', f);
    }
}

static void put_aggregate(FILE *f, const mm_artefact *r) {
  fputs("env,target,map,measure,step,mean,sem\n", f);
  for (size_t i = 0; i < r->n_cell; i++)
    for (size_t k = 0; k < r->cell[i].n_curve; k++) {
      const mm_artefact_curve *curve = &r->cell[i].curve[k];
      for (size_t t = 0; t < curve->n; t++) {
        put_names(f, &r->cell[i]);
        fprintf(f, ",%s,%" PRIu64, curve->name, curve->point[t].step);
        mm_csv_number(f, curve->point[t].value.mean);
        mm_csv_number(f, curve->point[t].value.sem);
        fputc('\n', f);
      }
    }
}

// ---------------------------------------------------------------------------------------------
// Files

typedef void put_rows(FILE *f, const mm_artefact *r);

typedef struct sheet {
  const mm_artefact *r;
  put_rows *put;
} sheet;

static void put_sheet(FILE *f, const void *user) {
  const sheet *s = user;
  mm_artefact_put_origin(f, s->r);
  s->put(f, s->r);
}

static mm_status write_csv(const mm_artefact *r, const char *name, put_rows *put) {
  const sheet s = { r, put };
  return mm_csv_write(r->folder, name, put_sheet, &s);
}

mm_status mm_artefact_write(const mm_artefact *r) {
  if (r->n_cell > 0) {
    MM_TRY(write_csv(r, "raw.csv", put_raw));
    MM_TRY(write_csv(r, "aggregate.csv", put_aggregate));
    MM_TRY(write_csv(r, "table.csv", put_table));
  }
  return mm_json_write(r->folder, "summary.json", mm_artefact_json(r));
}

// ---------------------------------------------------------------------------------------------
// For programs

mm_status mm_artefact_describe(const mm_artefact *r, mm_artefact_info *out) {
  const mm_artefact_info ours = { .folder = r->folder,
                                  .artefact = r->artefact,
                                  .scale = r->scale,
                                  .label = r->label,
                                  .more = r->more,
                                  .n_cell = r->n_cell,
                                  .n_claim = r->n_claim,
                                  .n_note = r->n_note,
                                  .seconds = r->seconds,
                                  .env_steps = r->env_steps };
  return mm_study_give(&ours, sizeof ours, out);
}

const mm_artefact_cell *mm_artefact_cell_at(const mm_artefact *r, size_t i) {
  return i < r->n_cell ? &r->cell[i] : NULL;
}

const mm_claim *mm_artefact_claim_at(const mm_artefact *r, size_t i) {
  return i < r->n_claim ? &r->claim[i] : NULL;
}

const char *mm_artefact_note_at(const mm_artefact *r, size_t i) {
  return i < r->n_note ? r->note[i] : NULL;
}

const char *mm_artefact_machine_text(const mm_artefact *r, char out[MM_STUDY_MACHINE_TEXT]) {
  return mm_machine_text(&r->machine, out);
}

mm_status mm_artefact_format(const mm_artefact *r, char **out) {
  cJSON *root = mm_artefact_json(r);
  *out = mm_json_print(root, false);
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the results of a reproduction");
}
