// SPDX-License-Identifier: Apache-2.0
// Makes any artefact of the list: learns the maps of its rows, runs its tables, then holds the
// paper's claims against the cells, notes what should be known, writes and draws.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/paper_internal.h"
#include "paper/published.h"
#include "show/plot/gnuplot.h"
#include "study/jobs/eta_tuning.h"
#include "study/stats/controls.h"

// ---------------------------------------------------------------------------------------------
// Rows

static size_t find_env(const mm_artefact_spec *spec, const char *name) {
  size_t e = 0;
  while (e < spec->n_env && strcmp(spec->env[e], name) != 0)
    e++;
  return e;
}

static mm_status learn(mm_artefact_work *w, size_t target, size_t e) {
  const char *env = w->spec->env[e], *named = w->target[target];
  mm_settings settings;
  if (w->learned[target][e]) return MM_OK;
  MM_TRY(mm_paper_settings(&w->paper->plan, env, named, &settings));
  return mm_paper_learn(w->paper, env, named, &settings, &w->learned[target][e]);
}

static mm_status open_control(mm_artefact_work *w, size_t m) {
  const mm_search *search = &w->settings.search;
  char name[MM_CONTROL_MAP_SIZE];
  if (w->map[m]) return MM_OK;
  mm_control_map(w->spec->row[m], mm_search_map_kind(search), search->n, name);
  return mm_map_open(name, &w->map[m]);
}

mm_status mm_artefact_rows(mm_artefact_work *w, size_t target, const char *env, size_t n,
                           mm_transfer_map *row) {
  const mm_artefact_spec *spec = w->spec;
  for (size_t m = 0; m < n; m++) {
    const char *name = spec->row[m];
    bool own = strcmp(name, "learned") == 0;
    size_t from = find_env(spec, own ? spec->learn_env ? spec->learn_env : env : name);
    MM_TRY(from < spec->n_env ? learn(w, target, from) : open_control(w, m));
    row[m] = (mm_transfer_map){ .map = from < spec->n_env ? w->learned[target][from] : w->map[m],
                                .name = name,
                                .label = name,
                                .control = m >= spec->n_paper,
                                .tuned = mm_control_is_tuned(name) };
  }
  return MM_OK;
}

// Adds the settings of some training runs to what the files carry.
static mm_status keep_settings(mm_artefact *result, const char *label,
                               const mm_settings *settings) {
  if (!result->settings) result->settings = cJSON_CreateObject();
  cJSON *object = mm_settings_json(settings);
  if (object) cJSON_AddStringToObject(object, "algo", mm_algo_name(settings->algo));
  if (object && cJSON_AddItemToObject(result->settings, label, object)) return MM_OK;
  cJSON_Delete(object);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for settings");
}

static mm_status run_table(mm_artefact_work *w, size_t target, const char *env, bool exact,
                           size_t n_row) {
  const char *named = w->target[target];
  mm_transfer_map row[MM_ARTEFACT_ROWS];
  mm_settings settings;
  char label[96];
  MM_TRY(mm_paper_settings(&w->paper->plan, env, named, &settings));
  snprintf(label, sizeof label, "%s%s%s", env, named[0] ? ", target=" : "", named);
  if (!w->spec->settings) MM_TRY(keep_settings(&w->paper->result, label, &settings));
  MM_TRY(mm_artefact_rows(w, target, env, n_row, row));
  return mm_paper_table(w->paper, env, named, exact, &settings, row, n_row);
}

static mm_status run_tables(mm_artefact_work *w) {
  const mm_artefact_spec *spec = w->spec;
  for (size_t t = 0; t < w->n_target && spec->learn_first; t++)
    for (size_t e = 0; e < spec->n_env; e++)
      MM_TRY(learn(w, t, e));
  if (spec->settings) MM_TRY(keep_settings(&w->paper->result, spec->settings, &w->settings));
  for (size_t t = 0; t < w->n_target; t++)
    for (size_t e = 0; e < spec->n_env; e++)
      MM_TRY(run_table(w, t, spec->env[e], spec->exact, spec->n_row));
  for (size_t e = 0; e < spec->n_more_env; e++)
    MM_TRY(run_table(w, 0, spec->more_env[e], false, spec->n_paper));
  mm_artefact_summarise(&w->paper->result);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// What the paper says of it

static const mm_artefact_cell *find_row(const mm_artefact *r, const char *env, const char *row,
                                        const char *target) {
  const mm_artefact_cell *cell = mm_artefact_find_cell(r, env, row, target);
  bool own = !cell && strcmp(row, "learned") == 0; // in the table it is called by its environment
  return own ? mm_artefact_find_cell(r, env, env, target) : cell;
}

// a - 2 b, seed by seed
static mm_status gain_over_twice(const mm_artefact_cell *a, const mm_artefact_cell *b,
                                 mm_quantity quantity, mm_estimate *out) {
  double *x = mm_alloc_array(a->n_run, sizeof *x);
  if (!x) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", a->n_run);
  size_t n = 0;
  for (size_t i = 0; i < a->n_run; i++) {
    double gain = a->run[quantity][i] - 2 * b->run[quantity][i];
    if (!isnan(gain)) x[n++] = gain;
  }
  *out = mm_estimate_of(x, n);
  mm_free(x);
  return MM_OK;
}

static mm_status gain_of(const mm_claim_spec *claim, const mm_artefact_cell *a,
                         const mm_artefact_cell *b, mm_estimate *out) {
  if (b && claim->kind == MM_CLAIM_TWICE) return gain_over_twice(a, b, claim->quantity, out);
  *out = b ? mm_artefact_compare(a, b, claim->quantity).gain : a->value[claim->quantity];
  return MM_OK;
}

mm_status mm_artefact_claims(mm_artefact *r, const mm_artefact_spec *spec, const char *env,
                             const char *target) {
  for (size_t i = 0; i < spec->n_claim; i++) {
    const mm_claim_spec *claim = &spec->claim[i];
    mm_estimate gain;
    if (claim->envs != 0 && !(claim->envs >> mm_published_env(env) & 1u)) continue;
    MM_TRY(gain_of(claim, find_row(r, env, claim->map, target),
                   claim->other ? find_row(r, env, claim->other, target) : NULL, &gain));
    MM_TRY(mm_artefact_claim(r, env, target, gain, claim->kind == MM_CLAIM_TIE, claim->text));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Notes

static mm_status note_physics(mm_artefact *r, const mm_settings *settings) {
  char flavour[MM_SETTING_TEXT_SIZE], physics[MM_SETTING_TEXT_SIZE];
  mm_settings_text(settings, "flavour", flavour);
  mm_settings_text(settings, "physics", physics);
  bool library = strcmp(physics, "mujoco") == 0;
  bool theirs = strcmp(flavour, "gymnasium") == 0;
  return mm_artefact_note(
      r,
      "bodies of the flavour '%s', moved by %s; the paper has brax and does not say which of its "
      "engines: the order of the maps can be compared with its figure, returns can not",
      theirs ? "gymnasium" : "brax", library ? "the MuJoCo library" : "our own engine");
}

// What tuning eta of a control costs, beside the last search.
static mm_status note_tuning(mm_paper *r, mm_settings *settings) {
  size_t seeds = r->tune_seeds;
  mm_tuning_cost cost = { .eta = *mm_settings_number(settings, "eta"),
                          .seeds = seeds,
                          .steps = MM_ETAS * (double)seeds * mm_settings_steps(settings),
                          .map_steps = r->search_steps };
  r->result.tuning = cost;
  return mm_artefact_note(
      &r->result,
      "tuned-eta: the best of nine values, 2^-4 to 2^4 times %g, on %zu seed%s of their own; for "
      "each map and environment %d runs, %.3g steps: %.3g %% of the %.3g steps of a search",
      cost.eta, seeds, seeds == 1 ? "" : "s", MM_ETAS * (int)seeds, cost.steps,
      100 * cost.steps / cost.map_steps, cost.map_steps);
}

// The table's first label is that of classic control, this the second.
static void label_minatar(mm_paper *r) {
  char label[MM_ARTEFACT_TEXT];
  mm_paper_label(&r->plan, MM_SUITE_MINATAR, label);
  snprintf(r->result.more, sizeof r->result.more, "on MinAtar: %s%s", label,
           r->result.foreign_maps ? "; some maps were learned with other settings: see the notes"
                                  : "");
}

static mm_status annotate(mm_artefact_work *w) {
  const mm_artefact_spec *spec = w->spec;
  mm_paper *r = w->paper;
  if (spec->suites == (1u << MM_SUITE_CONTROL | 1u << MM_SUITE_MINATAR)) label_minatar(r);
  for (size_t i = 0; i < spec->n_note; i++)
    MM_TRY(mm_artefact_note(&r->result, "%s", spec->note[i]));
  if (spec->suites & 1u << MM_SUITE_MUJOCO) MM_TRY(note_physics(&r->result, &w->settings));
  if (r->tune_seeds > 0) MM_TRY(note_tuning(r, &w->settings));
  if (spec->annotate) MM_TRY(spec->annotate(w));
  for (size_t t = 0; t < w->n_target; t++)
    for (size_t e = 0; e < spec->n_env; e++)
      MM_TRY(mm_artefact_claims(&r->result, spec, spec->env[e], w->target[t]));
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Figures

mm_status mm_artefact_draw_curves(const mm_artefact_work *w, size_t target, const char *path) {
  const mm_artefact_spec *spec = w->spec;
  mm_artefact_grid grid = { .row = spec->curve,
                            .n_row = spec->n_curve,
                            .env = spec->env,
                            .title = spec->title ? spec->title : spec->env,
                            .n_env = spec->n_env,
                            .map = spec->row,
                            .n_map = spec->n_paper,
                            .target = w->target[target],
                            .heading = spec->heading };
  if (spec->policies) {
    grid.learned = (const mm_map *const *)w->learned[target];
    grid.n_action = w->n_action;
    grid.eta = w->settings.ampo.eta;
  }
  return mm_artefact_figure_grid(&w->paper->result, &grid, path);
}

// Trouble with a figure is a warning: numbers are worth more.
static mm_status draw(const mm_artefact_work *w, size_t target) {
  static const char *const ending[] = { "svg", "pdf", "png" };
  const char *name = w->spec->figure ? w->spec->figure : w->spec->name, *named = w->target[target];
  char path[MM_PAPER_PATH], file[96], program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) {
    mm_paper_warn(w->paper, mm_last_error());
    return MM_OK;
  }
  for (int i = 0; i < 3; i++) {
    snprintf(file, sizeof file, "%s%s%s.%s", name, named[0] ? "-" : "", named, ending[i]);
    mm_status status = w->spec->draw(w, target, mm_paper_path(w->paper, file, path));
    if (status == MM_ERR_INTERRUPTED || status == MM_ERR_MEMORY) return status;
    if (status != MM_OK) mm_paper_warn(w->paper, mm_last_error());
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

static mm_status make(mm_artefact_work *w) {
  const mm_artefact_spec *spec = w->spec;
  if (spec->n_env > 0)
    MM_TRY(mm_paper_settings(&w->paper->plan, spec->env[0], w->target[0], &w->settings));
  if (spec->policies) MM_TRY(mm_artefact_count_actions(w));
  MM_TRY(run_tables(w));
  MM_TRY(annotate(w));
  if (spec->policies) MM_TRY(mm_artefact_write_policies(w));
  for (size_t t = 0; t < w->n_target; t++)
    MM_TRY(draw(w, t));
  return MM_OK;
}

mm_status mm_artefact_make(mm_paper *r) {
  mm_artefact_work w = {
    .paper = r, .spec = &mm_artefact_specs[r->plan.artefact], .target = { "" }, .n_target = 1
  };
  if (w.spec->targets) w.n_target = mm_paper_targets(&r->plan, w.target);
  mm_status status = make(&w);
  for (int t = 0; t < MM_ARTEFACT_TARGETS; t++)
    for (int e = 0; e < MM_ARTEFACT_ENVS; e++)
      mm_map_destroy(w.learned[t][e]);
  for (int i = 0; i < MM_ARTEFACT_ROWS; i++)
    mm_map_destroy(w.map[i]);
  return status;
}
