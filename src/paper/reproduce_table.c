// A table of maps on one environment, as a run of its own, and its way into a reproduction.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/paper.h"
#include "paper/reproduce_internal.h"
#include "study/transfer/transfer_files.h"
#include "study/transfer/transfer_plan.h"

enum { SAVE_SECONDS = 60, ROWS_MAX = 16 };

typedef struct table {
  mm_reproduce *r;
  const char *env, *target;
  char name[128]; // of its folder, and of the stage
  mm_env *opened;
  mm_transfer_plan *plan; // of one that is resumed
  mm_transfer_map row[ROWS_MAX];
  mm_transfer_env column;
  mm_transfer_config config;
  mm_run *run;
  size_t n_failed;
} table;

// ---------------------------------------------------------------------------------------------
// Running

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  const table *t = user;
  (void)env_steps;
  mm_reproduce_tell(t->r, t->name, (double)done, (double)total, "runs");
}

static void show_trouble(const char *sentence, void *user) {
  const table *t = user;
  mm_reproduce_warn(t->r, sentence);
}

static mm_status create(table *t, const char *folder, const mm_settings *settings,
                        const mm_reproduce_entrant *row, size_t n_row) {
  mm_suite suite = mm_reproduce_suite(t->env);
  if (n_row > ROWS_MAX) return MM_FAIL(MM_ERR_INPUT, "a table of %zu maps is too long", n_row);
  MM_TRY(mm_env_open(t->env, &t->opened));
  for (size_t i = 0; i < n_row; i++)
    t->row[i] = (mm_transfer_map){ .map = row[i].map,
                                   .name = row[i].name,
                                   .label = row[i].label,
                                   .control = row[i].control,
                                   .tuned = row[i].tuned };
  t->column =
      (mm_transfer_env){ .env = t->opened, .name = t->env, .label = t->env, .settings = *settings };
  t->config = (mm_transfer_config){ .map = t->row,
                                    .env = &t->column,
                                    .n_map = n_row,
                                    .n_env = 1,
                                    .n_seed = mm_reproduce_seeds(&t->r->plan, suite),
                                    .seed = t->r->plan.seed,
                                    .n_tune = mm_reproduce_tune_seeds(&t->r->plan, suite) };
  return mm_transfer_create(folder, &t->config, &t->run);
}

// Whatever their cards say: those name the program that wrote them.
static bool same_map(const mm_map *a, const mm_map *b) {
  char *one = NULL, *two = NULL;
  bool same = mm_map_format(a, "{}", &one) == MM_OK && mm_map_format(b, "{}", &two) == MM_OK &&
              strcmp(one, two) == 0;
  mm_free(one);
  mm_free(two);
  return same;
}

// Seeds of tuning are the stored table's own affair: it goes on with those it began with.
static bool is_ours(const table *t, const mm_settings *settings, const mm_reproduce_entrant *row,
                    size_t n_row) {
  const mm_transfer_config *c = &t->config;
  if (c->n_map != n_row || c->n_env != 1 || c->seed != t->r->plan.seed ||
      c->n_seed != mm_reproduce_seeds(&t->r->plan, mm_reproduce_suite(t->env)) ||
      strcmp(c->env[0].name, t->env) != 0 ||
      !mm_reproduce_same_settings(&c->env[0].settings, settings, false))
    return false;
  for (size_t i = 0; i < n_row; i++)
    if (strcmp(c->map[i].label, row[i].label) != 0 || c->map[i].tuned != row[i].tuned ||
        !same_map(c->map[i].map, row[i].map))
      return false;
  return true;
}

static mm_status open_table(table *t, const mm_settings *settings, const mm_reproduce_entrant *row,
                            size_t n_row) {
  char folder[MM_REPRODUCE_PATH];
  mm_reproduce_path(t->r, t->name, folder);
  if (!mm_reproduce_has_run(folder)) return create(t, folder, settings, row, n_row);
  MM_TRY(mm_transfer_resume(folder, &t->run, &t->plan));
  t->config = *mm_transfer_plan_config(t->plan);
  if (is_ours(t, settings, row, n_row)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s/run.db: not the table of this reproduction: other maps, seeds or settings",
                 folder);
}

// ---------------------------------------------------------------------------------------------
// Its cells

static mm_status take_curve(const mm_transfer_cell *from, mm_reproduction_cell *cell) {
  if (from->n_curve == 0) return MM_OK;
  mm_curve_point *point = mm_alloc_array(from->n_curve, sizeof *point);
  if (!point) return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve");
  memcpy(point, from->curve, from->n_curve * sizeof *point);
  cell->curve[cell->n_curve++] = (mm_reproduction_curve){ "value", point, from->n_curve };
  return MM_OK;
}

static mm_status take_cell(table *t, const mm_transfer *x, size_t m,
                           const mm_reproduce_entrant *row) {
  const mm_transfer_cell *from = mm_transfer_at(x, m, 0);
  size_t env = mm_paper_env(t->env);
  mm_reproduction_cell *cell;
  MM_TRY(
      mm_reproduction_add(&t->r->result, t->env, row->label, t->target, x->config.n_seed, &cell));
  cell->control = row->control;
  cell->eta = from->eta;
  cell->optimal = x->optimal_mean[0];
  cell->n_failed = from->n_failed;
  cell->n_numeric = from->n_numeric;
  if (row->paper_map != MM_REPRODUCE_NO_PAPER) {
    cell->paper = mm_paper_final(row->paper_map, env);
    cell->has_paper_colour = row->paper_map < MM_PAPER_ENVS && env < MM_PAPER_ENVS;
    cell->paper_better = mm_paper_is_better(row->paper_map, env);
  }
  memcpy(cell->run[MM_QUANTITY_FINAL], x->worth + m * x->config.n_seed,
         x->config.n_seed * sizeof(double));
  return take_curve(from, cell);
}

// A table with holes is still a table, which the end of it all tells of; without any number it is a
// failure.
static mm_status judge(table *t, const mm_transfer *x) {
  char text[MM_ERROR_SIZE + 320];
  size_t n = x->config.n_map * x->config.n_seed;
  if (x->report.n_failed == n && n > 0) return MM_FAIL(x->trouble, "%s", x->report.error);
  t->n_failed = x->report.n_failed;
  if (x->report.n_failed + x->report.n_numeric == 0) return MM_OK;
  snprintf(text, sizeof text, "%s: %zu of %zu runs failed, %zu broke down: %s", t->name,
           x->report.n_failed, n, x->report.n_numeric, x->report.error);
  mm_reproduce_warn(t->r, text);
  snprintf(text, sizeof text, "%s: ", t->name);
  mm_reproduce_count_failures(t->r, t->n_failed, text, x->report.error);
  return MM_OK;
}

static mm_status take_results(table *t, const mm_transfer *x, const mm_reproduce_entrant *row) {
  char folder[MM_REPRODUCE_PATH];
  MM_TRY(judge(t, x));
  MM_TRY(mm_transfer_write(x, mm_reproduce_path(t->r, t->name, folder)));
  for (size_t m = 0; m < x->config.n_map; m++)
    MM_TRY(take_cell(t, x, m, &row[m]));
  t->r->result.result_steps += x->env_steps;
  t->r->tune_seeds = x->config.n_tune;
  return MM_OK;
}

static mm_status run_table(table *t, const mm_reproduce_entrant *row) {
  const mm_reproduce_job *job = t->r->job;
  mm_transfer x;
  t->config.backend = (mm_backend_config){ .place = job->place,
                                           .threads = job->threads,
                                           .job_timeout = job->job_timeout,
                                           .stop = job->stop,
                                           .progress = show_progress,
                                           .user = t };
  t->config.run = t->run;
  t->config.save_seconds = SAVE_SECONDS;
  t->config.trouble = show_trouble;
  mm_status status = mm_transfer_run(&t->config, &x);
  t->r->result.env_steps += x.own_steps;
  mm_reproduce_ran(t->r, x.machine.ran);
  if (status == MM_OK) status = take_results(t, &x, row);
  mm_transfer_release(&x);
  return status;
}

mm_status mm_reproduce_table(mm_reproduce *r, const char *env, const char *target,
                             const mm_settings *settings, const mm_reproduce_entrant *row,
                             size_t n_row) {
  table *t = mm_alloc(sizeof *t);
  if (!t) return MM_FAIL(MM_ERR_MEMORY, "no memory for a table");
  memset(t, 0, sizeof *t);
  t->r = r;
  t->env = env;
  t->target = target;
  snprintf(t->name, sizeof t->name, "table-%s%s%s", env, target[0] ? "-" : "", target);
  mm_status status = open_table(t, settings, row, n_row);
  if (status == MM_OK) { // else there is no session to end, and the error is to stay
    status = run_table(t, row);
    (void)mm_run_session_end(t->run, mm_reproduce_outcome(status, t->n_failed));
  }
  mm_run_close(t->run);
  mm_transfer_plan_release(t->plan);
  mm_env_destroy(t->opened);
  mm_free(t);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Learned maps

mm_status mm_reproduce_learned(mm_reproduce *r, const char *env, const char *target,
                               const mm_settings *settings, mm_map **out) {
  char name[128];
  snprintf(name, sizeof name, "learn-%s-%s", env, target);
  MM_TRY(mm_reproduce_borrow(r, name, settings, out));
  return *out ? MM_OK : mm_reproduce_learn(r, name, env, settings, out);
}

static mm_status worst_probability(const mm_map *map, size_t n_action, double eta, double c,
                                   double *out) {
  double scores[32], probs[32];
  for (size_t a = 0; a < n_action; a++)
    scores[a] = eta * c * (double)(a + 1);
  MM_TRY(mm_map_project(map, MM_PROJECTION_EXACT, scores, n_action, probs, NULL));
  *out = probs[0];
  return MM_OK;
}

// The worst action's probability falls with c, so a bisection finds where it is gone.
mm_status mm_reproduce_zero_scale(const mm_map *map, size_t n_action, double eta, double *out) {
  mm_map_report report;
  double low = 0, high = 1, p = 1;
  *out = INFINITY;
  mm_map_check(map, &report);
  if (!isfinite(report.phi_inverse_at_0)) return MM_OK; // positive everywhere, if only just
  while (high < 1e9) {
    MM_TRY(worst_probability(map, n_action, eta, high, &p));
    if (p == 0) break;
    low = high;
    high *= 2;
  }
  if (p > 0) return MM_OK;
  for (int i = 0; i < 60; i++) {
    double middle = 0.5 * (low + high);
    MM_TRY(worst_probability(map, n_action, eta, middle, &p));
    if (p == 0)
      high = middle;
    else
      low = middle;
  }
  *out = high;
  return MM_OK;
}
