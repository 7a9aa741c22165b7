// SPDX-License-Identifier: Apache-2.0
// JSON, CSV and YAML of a tuning.

#define _POSIX_C_SOURCE 200809L

#include "study/tune/tune_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "files/csv.h"
#include "study/tune/tune_map.h"

const char *mm_tune_state(const mm_tune_search *s, size_t trial) {
  const mm_tune_trial *t = &s->trial[trial];
  if (t->failed) return "failed";
  if (t->pruned) return s->config.space->method == MM_TUNE_HALVING ? "dropped" : "stopped";
  return t->n == s->config.seeds ? "done" : "open";
}

// ---------------------------------------------------------------------------------------------
// JSON

static void add_parameters(cJSON *root, const mm_tune_space *space) {
  cJSON *list = cJSON_AddArrayToObject(root, "parameters");
  for (size_t j = 0; j < space->n; j++) {
    const mm_tune_parameter *p = &space->parameter[j];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(list, object);
    cJSON_AddStringToObject(object, "name", p->name);
    cJSON_AddStringToObject(object, "scale", mm_tune_scale_name(p->scale));
    bool choice = p->scale == MM_TUNE_CHOICE;
    mm_json_add_defined(object, "low", choice ? NAN : p->low);
    mm_json_add_defined(object, "high", choice ? NAN : p->high);
    cJSON *words = choice ? cJSON_AddArrayToObject(object, "choice") : NULL;
    for (size_t i = 0; i < p->n_choice; i++)
      cJSON_AddItemToArray(words, cJSON_CreateString(p->choice[i]));
  }
}

// A number, the word of a choice, or null.
static cJSON *value_json(const mm_tune_parameter *p, double value) {
  if (isnan(value)) return cJSON_CreateNull();
  if (p->scale == MM_TUNE_CHOICE) return cJSON_CreateString(p->choice[(size_t)value]);
  return mm_json_number(value);
}

static cJSON *trial_json(const mm_tune *tune, const mm_tune_view *v, size_t i) {
  const mm_tune_trial *t = &v->search->trial[i];
  mm_estimate score = mm_tune_score(t);
  cJSON *object = cJSON_CreateObject();
  mm_json_add_defined(object, "trial", (double)i);
  cJSON *values = cJSON_AddArrayToObject(object, "values");
  for (size_t j = 0; j < v->plan->space.n; j++)
    cJSON_AddItemToArray(values, value_json(&v->plan->space.parameter[j], t->value[j]));
  mm_json_add_defined(object, "mean", isfinite(score.mean) ? score.mean : NAN);
  mm_json_add_defined(object, "sem", score.sem);
  mm_json_add_defined(object, "n", (double)t->n);
  cJSON_AddBoolToObject(object, "pruned", t->pruned);
  cJSON_AddBoolToObject(object, "best", i == v->best);
  cJSON_AddStringToObject(object, "state", mm_tune_state(v->search, i));
  mm_json_add_defined(object, "generation", (double)t->generation);
  cJSON *means = cJSON_AddArrayToObject(object, "env_mean");
  for (size_t c = 0; c < mm_tune_cells(v->plan); c++) {
    double mean = mm_tune_mean(tune, i, c);
    cJSON_AddItemToArray(means, mm_json_defined(mean));
  }
  return object;
}

cJSON *mm_tune_tuning_json(const mm_tune *tune) {
  mm_tune_view v;
  mm_tune_importance importance = { 0 };
  mm_tune_look(tune, &v);
  if (v.search->n > 0 && mm_tune_weigh(v.search, &importance) != MM_OK) return NULL;
  cJSON *root = cJSON_CreateObject();
  add_parameters(root, &v.plan->space);
  cJSON *trials = cJSON_AddArrayToObject(root, "trials");
  for (size_t i = 0; i < v.search->n; i++)
    cJSON_AddItemToArray(trials, trial_json(tune, &v, i));
  cJSON *shares = cJSON_AddArrayToObject(root, "importance");
  for (size_t j = 0; j < v.plan->space.n && importance.known; j++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(shares, object);
    cJSON_AddStringToObject(object, "name", v.plan->space.parameter[j].name);
    mm_json_add_defined(object, "share", importance.share[j]);
  }
  return root;
}

static void add_plan(cJSON *root, const mm_tune_view *v) {
  const mm_tune_plan *p = v->plan;
  cJSON *envs = cJSON_AddArrayToObject(root, "env");
  for (size_t e = 0; e < p->n_env; e++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(p->env[e]));
  cJSON_AddStringToObject(root, "algo", mm_algo_name(p->settings[0].algo));
  char names[MM_TUNE_MAP_NAMES];
  if (mm_algo_has_map(p->settings[0].algo))
    cJSON_AddStringToObject(root, "map", mm_tune_map_names(p, names));
  else
    cJSON_AddNullToObject(root, "map");
  cJSON_AddStringToObject(root, "method", mm_tune_method_name(p->space.method));
  mm_json_add_whole(root, "seed", p->seed);
  mm_json_add_whole(root, "seeds_per_trial", p->seeds);
  cJSON_AddStringToObject(root, "prune", p->prune ? "on" : "off");
  mm_json_add_whole(root, "trials", v->search->n);
  mm_json_add_whole(root, "candidates", v->search->n_candidates);
  size_t stopped = 0, failed = 0;
  for (size_t i = 0; i < v->search->n; i++) {
    stopped += v->search->trial[i].pruned;
    failed += v->search->trial[i].failed;
  }
  mm_json_add_whole(root, "trials_stopped", stopped);
  mm_json_add_whole(root, "trials_failed", failed);
  cJSON *scale = cJSON_AddArrayToObject(root, "score_unit");
  for (size_t e = 0; e < p->n_env; e++)
    cJSON_AddItemToArray(scale, mm_json_number(v->scale[e]));
}

static void add_best(cJSON *root, const mm_tune_view *v) {
  const mm_tune_space *space = &v->plan->space;
  cJSON *best = cJSON_AddObjectToObject(root, "best");
  mm_json_add_whole(best, "trial", v->best);
  cJSON *values = cJSON_AddObjectToObject(best, "values");
  for (size_t j = 0; j < space->n && v->search->n > 0; j++)
    cJSON_AddItemToObject(values, space->parameter[j].name,
                          value_json(&space->parameter[j], v->search->trial[v->best].value[j]));
  const mm_estimate none = MM_ESTIMATE_NONE;
  mm_study_add_estimate(best, "score",
                        v->search->n > 0 ? mm_tune_score(&v->search->trial[v->best]) : none);
}

static void add_validation(cJSON *root, const mm_tune_view *v) {
  if (!v->validated) {
    cJSON_AddNullToObject(root, "validation");
    return;
  }
  cJSON *object = cJSON_AddObjectToObject(root, "validation");
  mm_json_add_whole(object, "seed", v->fresh_seed);
  mm_json_add_whole(object, "seeds", v->plan->validate);
  mm_study_add_estimate(object, "score", v->gain.gain);
  cJSON *list = cJSON_AddArrayToObject(object, "env");
  for (size_t c = 0; c < mm_tune_cells(v->plan); c++) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(list, item);
    cJSON_AddStringToObject(item, "env", v->plan->env[c / v->plan->n_map]);
    if (v->plan->n_map > 1) cJSON_AddStringToObject(item, "map", v->plan->map[c % v->plan->n_map]);
    mm_study_add_estimate(item, "own", v->check[c].own);
    mm_study_add_estimate(item, "tuned", v->check[c].best);
    mm_study_add_estimate(item, "difference", v->check[c].difference.gain);
    mm_json_add_whole(item, "failures", v->check[c].n_failed);
  }
}

cJSON *mm_tune_json(const mm_tune *tune) {
  mm_tune_view v;
  mm_tune_look(tune, &v);
  cJSON *tuning = mm_tune_tuning_json(tune);
  if (!tuning) return NULL;
  cJSON *root = cJSON_CreateObject();
  add_plan(root, &v);
  add_best(root, &v);
  add_validation(root, &v);
  cJSON_AddItemToObject(root, "tuning", tuning);
  cJSON *settings = cJSON_AddArrayToObject(root, "settings");
  for (size_t e = 0; e < v.plan->n_env; e++)
    cJSON_AddItemToArray(settings, mm_settings_json(&v.plan->settings[e]));
  mm_json_add_whole(root, "trainings", v.trainings);
  mm_json_add_whole(root, "env_steps", v.env_steps);
  cJSON_AddStringToObject(root, "version", mm_version());
  cJSON_AddStringToObject(root, "build", mm_build_info());
  return root;
}

// ---------------------------------------------------------------------------------------------
// CSV

static void put_head(FILE *f, const mm_tune_view *v) {
  const mm_tune_plan *p = v->plan;
  fputs("trial,state,generation", f);
  for (size_t j = 0; j < p->space.n; j++)
    fprintf(f, ",%s", p->space.parameter[j].name);
  fputs(",score,sem,seeds", f);
  for (size_t c = 0; c < mm_tune_cells(p); c++) {
    char cell[MM_TUNE_CELL_NAME], name[MM_TUNE_CELL_NAME + 8];
    snprintf(name, sizeof name, "mean:%s", mm_tune_cell_name(p, c, cell));
    fputc(',', f);
    mm_csv_text(f, name);
  }
  fputc('\n', f);
}

static void put_trials(FILE *f, const void *user) {
  const mm_tune *tune = user;
  mm_tune_view v;
  mm_tune_look(tune, &v);
  cJSON *plan = cJSON_CreateObject();
  add_plan(plan, &v);
  fprintf(f, "# mirrormap %s (%s): tune\n", mm_version(), mm_build_info());
  mm_csv_remark(f, "plan", plan);
  put_head(f, &v);
  for (size_t i = 0; i < v.search->n; i++) {
    const mm_tune_trial *t = &v.search->trial[i];
    mm_estimate score = mm_tune_score(t);
    fprintf(f, "%zu,%s,%zu", i, mm_tune_state(v.search, i), t->generation);
    for (size_t j = 0; j < v.plan->space.n; j++) {
      char text[MM_SETTING_TEXT_SIZE];
      fputc(',', f);
      if (!isnan(t->value[j]))
        fputs(mm_tune_text(&v.plan->space.parameter[j], t->value[j], text), f);
    }
    mm_csv_number(f, isfinite(score.mean) ? score.mean : NAN);
    mm_csv_number(f, score.sem);
    mm_csv_number(f, (double)t->n);
    for (size_t c = 0; c < mm_tune_cells(v.plan); c++)
      mm_csv_number(f, mm_tune_mean(tune, i, c));
    fputc('\n', f);
  }
}

// Only where the space has parameters of maps; one that is there is the same, or changed by hand.
static mm_status write_maps(const mm_tune *tune, const char *folder) {
  mm_tune_view v;
  mm_tune_look(tune, &v);
  bool of_map = false;
  for (size_t j = 0; j < v.plan->space.n; j++)
    of_map = of_map || v.plan->space.parameter[j].of_map;
  for (size_t m = 0; m < v.plan->n_map && of_map && v.search->n > 0; m++) {
    char path[MM_RUN_PATH_SIZE + 40];
    mm_map *made;
    char number[24] = "";
    if (v.plan->n_map > 1) snprintf(number, sizeof number, "-%zu", m + 1);
    snprintf(path, sizeof path, "%.*s/map%s.json", MM_RUN_PATH_SIZE - 1, folder, number);
    if (access(path, F_OK) == 0) continue;
    MM_TRY(mm_tune_map_make(&v.plan->space, v.search->trial[v.best].value, v.map[m], &made));
    mm_status status = mm_map_save(made ? made : v.map[m], NULL, path);
    mm_map_destroy(made);
    MM_TRY(status);
  }
  return MM_OK;
}

mm_status mm_tune_write(const mm_tune *tune, const char *folder) {
  MM_TRY(write_maps(tune, folder));
  MM_TRY(mm_csv_write(folder, "trials.csv", put_trials, tune));
  return mm_json_write(folder, "tune.json", mm_tune_json(tune));
}

// ---------------------------------------------------------------------------------------------
// The preset

// A name in a comment: nothing in it may end the line, in the eyes of any reader of YAML.
static void put_name(FILE *f, const char *name) {
  for (const unsigned char *c = (const unsigned char *)name; *c; c++)
    fputc(*c >= 0x20 && *c < 0x7f ? *c : '?', f);
}

static void put_estimate(FILE *f, mm_estimate e) {
  if (isnan(e.sem))
    fprintf(f, "%.6g", e.mean);
  else
    fprintf(f, "%.6g +- %.2g", e.mean, e.sem);
}

static void put_origin(FILE *f, const mm_tune_view *v) {
  const mm_tune_plan *p = v->plan;
  fprintf(f, "# Settings found by `mirrormap tune` (%s): trial %zu of %zu, %s, %zu seeds each.\n",
          mm_version(), v->best, v->search->n, mm_tune_method_name(p->space.method), p->seeds);
  char names[MM_TUNE_MAP_NAMES];
  fprintf(f, "# Map%s: ", p->n_map > 1 ? "s" : "");
  put_name(f, mm_tune_map_names(p, names));
  for (size_t j = 0; j < p->space.n; j++) {
    char text[MM_SETTING_TEXT_SIZE];
    if (p->space.parameter[j].of_map)
      fprintf(f, ", %s %s", p->space.parameter[j].name,
              mm_tune_text(&p->space.parameter[j], v->search->trial[v->best].value[j], text));
  }
  fputs("\n# Environments:", f);
  for (size_t e = 0; e < p->n_env; e++) {
    fputc(' ', f);
    put_name(f, p->env[e]);
  }
  fputs("\n# Score in the search (that of the settings before is 0): ", f);
  put_estimate(f, mm_tune_score(&v->search->trial[v->best]));
  fputs("; chosen by it, so it flatters.\n", f);
  if (!v->validated) return;
  fprintf(f, "# On %zu fresh seeds (mean of final returns, standard error):\n", p->validate);
  for (size_t c = 0; c < mm_tune_cells(p); c++) {
    char name[MM_TUNE_CELL_NAME];
    fputs("#   ", f);
    put_name(f, mm_tune_cell_name(p, c, name));
    fputs(": ", f);
    put_estimate(f, v->check[c].best);
    if (v->best > 0) {
      fputs(", before ", f);
      put_estimate(f, v->check[c].own);
      fputs(", paired difference ", f);
      put_estimate(f, v->check[c].difference.gain);
    }
    fputc('\n', f);
  }
}

// The winner's setting, and whether all environments have it in common.
static bool common_text(const mm_tune_view *v, const char *key, char out[MM_SETTING_TEXT_SIZE]) {
  for (size_t e = 0; e < v->plan->n_env; e++) {
    mm_settings settings = v->plan->settings[e];
    char text[MM_SETTING_TEXT_SIZE];
    if (mm_tune_apply(&v->plan->space, v->search->trial[v->best].value, &settings) != MM_OK)
      return false;
    mm_settings_text(&settings, key, e == 0 ? out : text);
    if (e > 0 && strcmp(out, text) != 0) return false;
  }
  return true;
}

// " # tuned; before 0.004"
static void put_before(FILE *f, const mm_tune_view *v, const char *key) {
  for (size_t j = 0; j < v->plan->space.n; j++) {
    const mm_tune_parameter *p = &v->plan->space.parameter[j];
    char text[MM_SETTING_TEXT_SIZE], last[MM_SETTING_TEXT_SIZE] = "";
    if (strcmp(p->name, key) != 0) continue;
    fputs("  # tuned; before", f);
    for (size_t e = 0; e < v->plan->n_env; e++) {
      mm_settings_text(&v->plan->settings[e], key, text);
      if (strcmp(text, last) != 0) fprintf(f, " %s", text);
      memcpy(last, text, sizeof last);
    }
  }
}

static void put_preset(FILE *f, const void *user) {
  mm_tune_view v;
  mm_tune_look(user, &v);
  mm_algo algo = v.plan->settings[0].algo;
  put_origin(f, &v);
  fprintf(f, "\nalgo: %s\n", mm_algo_name(algo));
  for (size_t i = 0; i < mm_settings_own(algo); i++) {
    const char *key = mm_settings_key(algo, i);
    char text[MM_SETTING_TEXT_SIZE];
    if (!common_text(&v, key, text)) continue;
    fprintf(f, "%s: %s", key, text);
    put_before(f, &v, key);
    fputc('\n', f);
  }
}

// Written beside it and then linked, which fails where the name is taken.
mm_status mm_tune_write_preset(const mm_tune *tune, const char *folder, bool *written) {
  static const char name[] = "preset.yaml", part[] = "preset.yaml.new";
  char from[MM_RUN_PATH_SIZE + 24], to[MM_RUN_PATH_SIZE + 24];
  *written = false;
  snprintf(from, sizeof from, "%.*s/%s", MM_RUN_PATH_SIZE - 1, folder, part);
  snprintf(to, sizeof to, "%.*s/%s", MM_RUN_PATH_SIZE - 1, folder, name);
  MM_TRY(mm_csv_write(folder, part, put_preset, tune));
  mm_status status = MM_OK;
  *written = link(from, to) == 0;
  // some file systems have no links
  if (!*written && errno != EEXIST && access(to, F_OK) != 0) *written = rename(from, to) == 0;
  if (!*written && errno != EEXIST)
    status = MM_FAIL(MM_ERR_IO, "cannot write '%s': %s", to, strerror(errno));
  unlink(from);
  return status;
}
