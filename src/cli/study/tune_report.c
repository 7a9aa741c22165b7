#include "cli/study/tune_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "study/tune/tune_files.h"

enum { SHOWN = 10, DECIMALS = 3 };

void tune_report_start(const mm_tune *tune) {
  mm_tune_view v;
  mm_tune_look(tune, &v);
  const mm_tune_plan *p = v.plan;
  size_t population = p->population > 0 ? p->population : mm_tune_population(p->space.n);
  const char *plural = p->n_env == 1 ? "" : "s";
  if (p->space.method == MM_TUNE_GRID)
    note("%s: a grid of %.0f trials, up to %zu seeds each on %zu environment%s", v.folder,
         mm_tune_grid_size(&p->space), p->seeds, p->n_env, plural);
  else
    note("%s: cma-es, %zu generations of %zu trials, up to %zu seeds each on %zu environment%s",
         v.folder, p->trials / population, population, p->seeds, p->n_env, plural);
}

// ---------------------------------------------------------------------------------------------
// JSON

static int put_json(const mm_tune *tune, const mm_tune_view *v, const char *state,
                    const char *preset) {
  cJSON *root = mm_tune_json(tune);
  if (root == NULL) return fail(EXIT_FAILED, "out of memory");
  cJSON_AddStringToObject(root, "run", v->folder);
  cJSON_AddStringToObject(root, "state", state);
  study_add_text(root, "preset", preset);
  output_add_number(root, "wall_seconds", v->seconds);
  double rate = v->seconds > 0 ? (double)v->session_env_steps / v->seconds : NAN;
  mm_json_add_defined(root, "env_steps_per_second", rate);
  mm_machine_add(root, &v->machine);
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------
// Trials

typedef struct ranked {
  const mm_tune_search *search;
  size_t trial;
} ranked;

static int best_first(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  int order = mm_tune_compare(&b->search->trial[b->trial], &a->search->trial[a->trial]);
  if (order != 0) return order;
  return a->trial < b->trial ? -1 : 1;
}

static void put_trial(table *t, const mm_tune *tune, const mm_tune_view *v, size_t i) {
  const mm_tune_space *space = &v->plan->space;
  const mm_tune_trial *trial = &v->search->trial[i];
  char text[MM_SETTING_TEXT_SIZE];
  snprintf(text, sizeof text, i == 0 ? "own" : "%zu", i);
  table_text(t, text);
  for (size_t j = 0; j < space->n; j++)
    table_text(t, mm_tune_text(&space->parameter[j], trial->value[j], text));
  table_text(t, study_estimate(mm_tune_score(trial), DECIMALS, true));
  table_number(t, (double)trial->n);
  table_text(t, mm_tune_state(v->search, i));
  for (size_t e = 0; e < v->plan->n_env; e++)
    table_defined(t, mm_tune_mean(tune, i, e));
}

static table *make_table(const mm_tune_view *v) {
  const mm_tune_plan *p = v->plan;
  table *t = table_of_columns(4 + p->space.n + p->n_env);
  table_text(t, "trial");
  for (size_t j = 0; j < p->space.n; j++)
    table_text(t, p->space.parameter[j].name);
  table_text(t, "score");
  table_text(t, "seeds");
  table_text(t, "<state");
  for (size_t e = 0; e < p->n_env; e++)
    table_text(t, p->env[e]);
  return t;
}

// The best of them and the settings' own values, wherever these stand.
static void put_trials(const mm_tune *tune, const mm_tune_view *v) {
  size_t n = v->search->n;
  ranked *order = memory_take(n, sizeof *order);
  for (size_t i = 0; i < n; i++)
    order[i] = (ranked){ v->search, i };
  qsort(order, n, sizeof *order, best_first);
  table *t = make_table(v);
  bool own = false;
  for (size_t k = 0; k < n && k < SHOWN; k++) {
    put_trial(t, tune, v, order[k].trial);
    own = own || order[k].trial == 0;
  }
  if (!own) put_trial(t, tune, v, 0);
  table_print(t);
  free(order);
}

static void put_counts(const mm_tune_view *v) {
  size_t stopped = 0, failed = 0, n = v->search->n;
  for (size_t i = 0; i < n; i++) {
    stopped += v->search->trial[i].pruned;
    failed += v->search->trial[i].failed;
  }
  printf("%zu trials (%s), %zu stopped early, %zu failed; %zu trainings, %.3g steps\n", n,
         mm_tune_method_name(v->plan->space.method), stopped, failed, v->trainings,
         (double)v->env_steps);
  printf("score: difference from the own settings in final value, seed by seed, in units of\n");
  for (size_t e = 0; e < v->plan->n_env; e++)
    printf("%s%.4g (%s)", e > 0 ? ", " : "  ", v->scale[e], output_plain(v->plan->env[e]));
  printf("; mean over environments\n");
  size_t same = v->search->n_candidates + 1 - n;
  if (same > 0 && v->search->complete && v->plan->space.method == MM_TUNE_CMA)
    printf("%zu candidates had the values of an earlier trial\n", same);
}

// ---------------------------------------------------------------------------------------------
// The winner

static void put_checks(const mm_tune_view *v) {
  table *t = table_create("<environment|own|tuned|difference");
  for (size_t e = 0; e < v->plan->n_env; e++) {
    const mm_tune_check *c = &v->check[e];
    table_text(t, v->plan->env[e]);
    table_text(t, study_estimate(c->own, DECIMALS, false));
    table_text(t, v->best > 0 ? study_estimate(c->best, DECIMALS, false) : "-");
    table_text(t, study_estimate(c->difference, DECIMALS, true));
    if (mm_estimate_sign(c->difference) != 0) table_mark(t, c->difference.mean > 0);
  }
  printf("\non %zu fresh seeds, %s standard error:\n", v->plan->validate, output_plus_minus());
  table_print(t);
  for (size_t e = 0; e < v->plan->n_env; e++)
    if (v->check[e].n_failed > 0)
      printf("%s: runs of %zu seeds have no value, so there are no means\n",
             output_plain(v->plan->env[e]), v->check[e].n_failed);
}

static void put_verdict(const mm_tune_view *v) {
  if (v->best == 0) {
    puts("No trial was better than the own settings.");
    return;
  }
  if (!v->validated) return;
  printf("score of trial %zu on these: %s", v->best, study_estimate(v->gain, DECIMALS, true));
  int sign = mm_estimate_sign(v->gain);
  puts(sign == 0  ? " (its 95 % interval includes 0: not shown to be better)"
       : sign > 0 ? ""
                  : " (worse: its score in the search was luck)");
}

static void put_importance(const mm_tune_view *v) {
  mm_tune_importance importance;
  if (mm_tune_weigh(v->search, &importance) != MM_OK || !importance.known) {
    puts("importance: too few trials to tell");
    return;
  }
  printf("importance:");
  for (size_t j = 0; j < v->plan->space.n; j++)
    printf("%s %s %.0f %%", j > 0 ? "," : "", v->plan->space.parameter[j].name,
           100 * importance.share[j]);
  puts(" of the variation of ranks; the rest is interactions and noise");
}

static void put_text(const mm_tune *tune, const mm_tune_view *v, const char *preset) {
  put_counts(v);
  put_trials(tune, v);
  if (v->validated) put_checks(v);
  if (v->search->complete) put_verdict(v);
  put_importance(v);
  char machine[MM_MACHINE_TEXT];
  if (v->session_env_steps > 0)
    printf("speed: %.3g million steps/s on %s\n", 1e-6 * (double)v->session_env_steps / v->seconds,
           mm_machine_text(&v->machine, machine));
  if (preset != NULL)
    printf("preset: %s (for --preset of train, learn and transfer)\n", output_plain(preset));
}

int tune_report(const mm_tune *tune, const char *state, const char *preset, bool json) {
  mm_tune_view v;
  mm_tune_look(tune, &v);
  if (json) return put_json(tune, &v, state, preset);
  if (v.search->n > 0) put_text(tune, &v, preset);
  return EXIT_DONE;
}
