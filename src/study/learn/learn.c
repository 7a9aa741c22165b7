// SPDX-License-Identifier: Apache-2.0
// The loop of a search. One step: ask the strategy, train with every candidate, tell it what came
// out, validate the mean when it is due, commit.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "evolve/es_large.h"
#include "study/jobs/eta_tuning.h"
#include "study/learn/learn_internal.h"

static size_t dimension(const mm_learn *l) {
  return mm_es_get_config(l->es)->dimension;
}

static size_t validation_tasks(const mm_learn *l) {
  return l->controls.n_task;
}

// The phase of the generation that follows `done` complete ones; the last phase at the end.
int32_t mm_learn_phase_after(const mm_learn *l, int64_t done) {
  size_t p = 0;
  int64_t end = l->phase[0].generations;
  while (p + 1 < l->n_phase && done >= end)
    end += l->phase[++p].generations;
  return (int32_t)p;
}

// Is generation number `done` the last of its phase?
static bool ends_phase(const mm_learn *l, int64_t done) {
  return done == l->generations ||
         mm_learn_phase_after(l, done) != mm_learn_phase_after(l, done - 1);
}

// Curves would be thrown away: of every iteration where a learner has the choice.
mm_settings mm_learn_phase_settings(const mm_learn *l, int32_t phase) {
  mm_settings settings = l->plan.settings;
  double steps = l->phase[phase].steps;
  if (steps > 0) mm_settings_set_steps(&settings, steps);
  if (mm_learner_setting(mm_settings_learner(&settings), "curve"))
    (void)mm_settings_set(&settings, "curve", "final");
  return settings;
}

void mm_learn_set_population(mm_learn *l) {
  l->n_member = mm_es_population(l->es);
  l->n_job = l->n_member * l->n_task;
}

// ---------------------------------------------------------------------------------------------
// Trainings

static uint64_t seed_of(const mm_learn *l, mm_rng_purpose purpose, int64_t generation, size_t lane,
                        size_t i) {
  return mm_stream_pair(mm_stream_make(l->plan.seed, (uint32_t)generation, purpose, (uint32_t)lane),
                        i);
}

// The j-th training of member i. In a paired strategy a pair has one environment (they take turns)
// and its own seeds; otherwise all members have the same environments and seeds.
mm_job mm_learn_member_job(const mm_learn *l, const mm_settings *settings, size_t i, size_t j) {
  int64_t g = l->view.generation;
  const double *x = l->member + i * dimension(l);
  size_t k = (size_t)l->plan.settings.search.seeds_per_member, e = j / k, pair = 0;
  bool paired = mm_es_is_paired(mm_es_get_config(l->es)->kind);
  if (paired) {
    pair = i / 2;
    e = (pair + (size_t)g) % l->plan.n_env;
  }
  bool independent = paired && l->plan.settings.search.common_numbers != 0;
  mm_job job = {
    .env = l->envs.env[e],
    .seed = seed_of(l, MM_RNG_EVOLVE_SEED, g, pair, j),
    .repeat = independent ? (uint32_t)(i % 2) : 0,
    .point = { .kind = l->kind,
               .n = (size_t)l->plan.settings.search.n,
               .z = mm_learn_point_is_made(l) ? l->point + i * mm_learn_point_size(l) : x,
               .stages = (size_t)l->plan.settings.search.stages,
               .eta = mm_learn_point_eta(l, x) },
  };
  mm_settings_bind(settings, &job);
  return job;
}

static int32_t env_place(const mm_learn *l, const mm_env *env) {
  int32_t i = 0;
  while (l->envs.env[i] != env)
    i++;
  return i;
}

// Stages of a generation's lists: those of the search, again in each round, and from TUNING on the
// rounds of tuned controls.
enum { STAGES = MM_STAGE_VALIDATION + 1, TUNING = 64 };

mm_status mm_learn_run_jobs(mm_learn *l, const mm_backend_config *backend, size_t n,
                            mm_study_stage stage, int round) {
  mm_backend_report report;
  size_t first;
  l->view.stage = stage;
  MM_TRY(mm_job_store_list(l->study.store, (int64_t)mm_es_generation(l->es),
                           (int)stage + round * STAGES, l->job, n, &first));
  double start = mm_clock_seconds();
  mm_status status = mm_study_run_jobs(&l->study, backend, first, l->job, n, &report);
  l->view.session_job_seconds += mm_clock_seconds() - start;
  l->result = mm_job_store_results(l->study.store, first);
  l->place = first;
  for (size_t i = 0; i < n && status == MM_OK; i++) {
    mm_status own = l->result[i].status;
    if (own != MM_OK && own != MM_ERR_NUMERIC)
      status = MM_FAIL(own, "training %zu of %zu failed: %s", i + 1, n, report.error);
  }
  return status;
}

// ---------------------------------------------------------------------------------------------
// Fitness

int mm_learn_compare_placed(const void *a, const void *b) {
  const mm_learn_placed *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return x->member < y->member ? -1 : x->member > y->member;
}

// Centred ranks of x[n] in [-1/2, 1/2], equals sharing, as the terms they add to out[n]; what is
// not finite ranks below all others and makes its member's sum NaN. One alone has rank 0. `order`
// is room for n.
static void add_centred_ranks(const double *x, size_t n, double weight, mm_learn_placed *order,
                              double *out) {
  for (size_t i = 0; i < n; i++)
    order[i] = (mm_learn_placed){ isfinite(x[i]) ? x[i] : -INFINITY, i };
  qsort(order, n, sizeof *order, mm_learn_compare_placed);
  for (size_t first = 0, end; first < n; first = end) {
    end = first + 1;
    while (end < n && order[end].value == order[first].value)
      end++;
    double rank = n > 1 ? 0.5 * (double)(first + end - 1) / (double)(n - 1) - 0.5 : 0;
    for (size_t k = first; k < end; k++)
      out[order[k].member] += isfinite(order[k].value) ? weight * rank : NAN;
  }
}

// The mean over trainings first .. first + count of member i; NaN when one broke down.
static double mean_value(const mm_learn *l, size_t i, size_t first, size_t count) {
  double sum = 0;
  for (size_t j = first; j < first + count; j++) {
    const mm_result *r = &l->result[i * l->n_task + j];
    if (r->status != MM_OK) return NAN;
    sum += r->final_value;
  }
  return sum / (double)count;
}

// Median and CVaR: of a member's returns, on the scales of their environments where the search has
// several.
static void judge_pooled(mm_learn *l, mm_fitness fitness, size_t n) {
  mm_learn_scale scale[MM_LEARN_ENVS] = { { 0, 1 } };
  for (size_t e = 0; e < l->plan.n_env && l->plan.n_env > 1; e++)
    scale[e] = mm_learn_scale_of(&l->controls, e);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < l->n_task; j++) {
      const mm_result *r = &l->result[i * l->n_task + j];
      const mm_learn_scale *s = &scale[env_place(l, l->job[i * l->n_task + j].env)];
      l->pool[j] = mm_result_is_failure(r) ? -INFINITY : (r->final_value - s->mean) / s->deviation;
    }
    l->fitness[i] = l->raw[i] = mm_learn_fitness(fitness, l->pool, l->n_task);
  }
}

// The mean. One environment: the value itself. Several that all members share: the mean of the
// ranks on each, because their scales differ. Pairs with an environment of their own are compared
// with each other only.
void mm_learn_judge(mm_learn *l, size_t n) {
  const mm_fitness fitness = mm_search_fitness(&l->plan.settings.search);
  const bool paired = mm_es_is_paired(mm_es_get_config(l->es)->kind);
  size_t n_env = paired ? 1 : l->plan.n_env, k = l->n_task / n_env;
  if (!fitness.mean) {
    judge_pooled(l, fitness, n);
    return;
  }
  for (size_t i = 0; i < n; i++)
    l->fitness[i] = l->raw[i] = mean_value(l, i, 0, l->n_task);
  if (n_env == 1) return;
  memset(l->fitness, 0, n * sizeof *l->fitness);
  for (size_t e = 0; e < n_env; e++) {
    for (size_t i = 0; i < n; i++)
      l->part[i] = mean_value(l, i, e * k, k);
    add_centred_ranks(l->part, n, 1 / (double)n_env, l->order, l->fitness);
  }
}

// Mean, deviation and greatest of the finite ones. Those of a race that were dropped have none.
static void describe_fitness(const mm_learn *l, mm_run_generation *row) {
  size_t n = 0;
  double sum = 0, square = 0, best = -INFINITY;
  for (size_t i = 0; i < l->n_member; i++) {
    if (!isfinite(l->raw[i])) continue;
    n++;
    sum += l->raw[i];
    best = fmax(best, l->raw[i]);
  }
  double mean = sum / (double)n;
  for (size_t i = 0; i < l->n_member; i++)
    if (isfinite(l->raw[i])) square += (l->raw[i] - mean) * (l->raw[i] - mean);
  const mm_es_config *es = mm_es_get_config(l->es);
  bool ranked_in_pairs = mm_es_is_paired(es->kind) && es->shaping == MM_SHAPING_PAIR;
  row->fitness_mean = n > 0 ? mean : NAN;
  row->fitness_sd = n > 1 ? sqrt(square / (double)(n - 1)) : NAN;
  row->fitness_best = n > 0 && !ranked_in_pairs ? best : NAN;
  for (size_t i = 0; i < l->n_member; i++)
    row->nonfinite += !isfinite(l->fitness[i]);
}

// ---------------------------------------------------------------------------------------------
// Validation

// Trains with `map` on all validation tasks: jobs first .. first + tasks.
// `settings` are those of all environments, or [n_env] where each has its own; likewise the map,
// NULL for l->tuned_map.
static void add_validation_jobs(mm_learn *l, const mm_settings *settings, bool own,
                                const mm_map *map, size_t first) {
  size_t tasks = validation_tasks(l), per_env = tasks / l->plan.n_env;
  for (size_t t = 0; t < tasks; t++) {
    l->job[first + t] = (mm_job){ .env = l->envs.env[t / per_env],
                                  .map = map ? map : l->tuned_map[t / per_env],
                                  .seed = seed_of(l, MM_RNG_VALIDATION, 0, 0, t) };
    mm_settings_bind(own ? &settings[t / per_env] : settings, &l->job[first + t]);
  }
}

// The rows from `first` on, and the values, of a map's results. A broken training counts with its
// last finite policy; one without any has no value, and the mean has none either.
static void take_validation(mm_learn *l, const char *name, int64_t generation,
                            const mm_result *result, size_t first, double *value) {
  size_t tasks = validation_tasks(l), per_env = tasks / l->plan.n_env;
  for (size_t t = 0; t < tasks; t++) {
    value[t] = result[t].final_value;
    l->score_row[first + t] = (mm_run_score){ .generation = generation,
                                              .phase = l->view.phase,
                                              .map = name,
                                              .task = (int32_t)t,
                                              .env = (int32_t)(t / per_env),
                                              .seed = seed_of(l, MM_RNG_VALIDATION, 0, 0, t),
                                              .value = result[t].final_value,
                                              .optimal = result[t].optimal_value,
                                              .status = result[t].status,
                                              .env_steps = result[t].env_steps };
  }
}

void mm_learn_note_best(mm_learn *l, const mm_study_score *score, const double *value,
                        const double *mean) {
  double merit = mm_learn_merit(&l->controls, value);
  l->view.last = *score;
  if (l->view.best.known && !(merit > l->best_merit) && isfinite(l->best_merit)) return;
  l->best_merit = merit;
  l->view.best = *score;
  l->best_evaluations = mm_es_evaluations(l->es) * l->n_task;
  memcpy(l->best, mean, dimension(l) * sizeof *l->best);
}

// Scores of the mean after `generation`; the rows are left for the transaction.
static mm_status validate(mm_learn *l, const mm_backend_config *backend) {
  mm_settings settings = mm_learn_phase_settings(l, l->view.phase);
  mm_map *map;
  MM_TRY(mm_learn_point_map(l, mm_es_mean(l->es), &map));
  (void)mm_settings_take_eta(&settings, map);
  add_validation_jobs(l, &settings, false, map, 0);
  mm_status status = mm_learn_run_jobs(l, backend, validation_tasks(l), MM_STAGE_VALIDATION, 0);
  mm_map_destroy(map);
  return status;
}

// ---------------------------------------------------------------------------------------------
// The start of a phase: controls, and the mean as it comes into the phase

enum { TUNE_SEEDS = 8 }; // trainings for each eta

void mm_learn_set_controls(mm_learn *l, int64_t generation) {
  for (int c = 0; c < l->n_control; c++)
    l->view.control[c] = mm_learn_score_of(&l->controls, l->controls.value[c], generation);
  l->controls.known = true;
}

// What an environment chose for a control.
static mm_status take_choice(mm_learn *l, int c, size_t e, const mm_eta_choice *chosen,
                             mm_settings *settings) {
  char q[32] = "";
  *mm_settings_number(settings, "eta") = chosen->eta;
  if (!isnan(chosen->q)) snprintf(q, sizeof q, "q %.4g, ", chosen->q);
  mm_log("%s on %s: %seta %g, the best of %zu on up to %zu seeds (%.3g million steps)",
         mm_control_names[c], mm_env_id(l->envs.env[e]), q, chosen->eta, chosen->n, chosen->seeds,
         1e-6 * (double)chosen->env_steps);
  if (isnan(chosen->q)) return MM_OK;
  mm_map_destroy(l->tuned_map[e]);
  l->tuned_map[e] = NULL;
  return mm_eta_map(chosen->q, &l->tuned_map[e]);
}

// The settings of a control with an eta of its own in every environment. Its runs are checkpointed
// like those of a generation.
static mm_status tune_control(mm_learn *l, const mm_backend_config *backend, int c,
                              mm_settings *settings) {
  mm_settings plain = mm_learn_phase_settings(l, l->view.phase);
  l->view.stage = MM_STAGE_CONTROLS;
  double start = mm_clock_seconds();
  for (size_t e = 0; e < l->plan.n_env; e++) {
    mm_eta_choice chosen;
    mm_eta_task task = { .env = l->envs.env[e],
                         .map = l->control_map[c],
                         .env_label = mm_env_id(l->envs.env[e]),
                         .map_label = mm_control_names[c],
                         .settings = &plain,
                         .seed = l->plan.seed,
                         .n_seed = TUNE_SEEDS,
                         .budget = l->plan.settings.search.tune_budget,
                         .tunes_q = c == MM_CONTROL_TUNED_Q,
                         .generation = l->view.generation,
                         .list = TUNING + (c * MM_LEARN_ENVS + (int)e) * MM_ETA_ROUNDS };
    MM_TRY(mm_eta_choose(&task, l->study.store, backend, &chosen));
    settings[e] = plain;
    MM_TRY(take_choice(l, c, e, &chosen, &settings[e]));
    mm_study_ran(&l->study, &backend->place, chosen.ran);
  }
  l->view.session_job_seconds += mm_clock_seconds() - start;
  return MM_OK;
}

// Jobs of the controls, and behind them of the mean. `settings`: of the mean, which may have its
// own step size, of the controls, and [tuned controls][n_env].
static mm_status add_phase_jobs(mm_learn *l, const mm_backend_config *backend,
                                mm_settings *settings, const mm_map *mean) {
  size_t tasks = validation_tasks(l), n = (size_t)l->n_control;
  mm_settings *of_mean = settings++;
  *of_mean = settings[0] = mm_learn_phase_settings(l, l->view.phase);
  (void)mm_settings_take_eta(of_mean, mean);
  for (size_t c = 0; c < n; c++) {
    const bool tuned = c >= MM_CONTROL_TUNED;
    mm_settings *own = tuned ? &settings[1 + (c - MM_CONTROL_TUNED) * l->plan.n_env] : settings;
    if (tuned) MM_TRY(tune_control(l, backend, (int)c, own));
    add_validation_jobs(l, own, tuned, c == MM_CONTROL_TUNED_Q ? NULL : l->control_map[c],
                        c * tasks);
  }
  add_validation_jobs(l, of_mean, false, mean, n * tasks);
  return MM_OK;
}

// Trains all of them; results lie in the order of the controls, then the mean, which before the
// first generation is the initial map.
static mm_status train_phase(mm_learn *l, const mm_backend_config *backend) {
  size_t n_settings = 2 + (size_t)(l->n_control - MM_CONTROL_TUNED) * l->plan.n_env;
  mm_settings *settings = mm_alloc_array(n_settings, sizeof *settings);
  mm_map *map = NULL;
  mm_status status = MM_OK;
  if (!settings) status = MM_FAIL(MM_ERR_MEMORY, "no memory for the controls");
  if (status == MM_OK) status = mm_learn_point_map(l, mm_es_mean(l->es), &map);
  if (status == MM_OK) status = add_phase_jobs(l, backend, settings, map);
  size_t trained = (size_t)l->n_control + (l->view.generation > 0);
  if (status == MM_OK)
    status = mm_learn_run_jobs(l, backend, trained * validation_tasks(l), MM_STAGE_CONTROLS, 0);
  mm_map_destroy(map);
  mm_free(settings);
  return status;
}

// Stores the score rows of validations and enters that of the mean, whose values are in l->value.
static mm_status store_scores(mm_learn *l, size_t n) {
  MM_TRY(mm_run_begin(l->study.run));
  MM_TRY(mm_run_put_scores(l->study.run, l->score_row, n));
  MM_TRY(mm_job_store_forget_lists(l->study.store));
  MM_TRY(mm_run_commit(l->study.run));
  mm_job_store_clear_lists(l->study.store);
  return MM_OK;
}

static mm_status enter_score(mm_learn *l) {
  mm_study_score score = mm_learn_score_of(&l->controls, l->value, l->view.generation);
  mm_learn_note_best(l, &score, l->value, mm_es_mean(l->es));
  return mm_learn_write_maps(l);
}

static mm_status begin_phase(mm_learn *l, const mm_backend_config *backend) {
  int64_t generation = l->view.generation;
  size_t tasks = validation_tasks(l), n = (size_t)l->n_control;
  MM_TRY(train_phase(l, backend));
  for (size_t c = 0; c < n; c++)
    take_validation(l, mm_control_names[c], generation, l->result + c * tasks, c * tasks,
                    l->controls.value[c]);
  size_t mean = generation == 0 ? MM_CONTROL_INITIAL : n;
  take_validation(l, "learned", generation, l->result + mean * tasks, n * tasks, l->value);
  MM_TRY(store_scores(l, (n + 1) * tasks));
  mm_learn_set_controls(l, generation);
  l->view.best.known = false;
  return enter_score(l);
}

// The end of a run that was made shorter: its last mean has yet to be scored.
static mm_status validate_end(mm_learn *l, const mm_backend_config *backend) {
  MM_TRY(validate(l, backend));
  take_validation(l, "learned", l->view.generation, l->result, 0, l->value);
  MM_TRY(store_scores(l, validation_tasks(l)));
  return enter_score(l);
}

// ---------------------------------------------------------------------------------------------
// A generation

static mm_status store(mm_learn *l, const mm_run_generation *row, const mm_run_timing *timing,
                       bool validated) {
  MM_TRY(mm_run_begin(l->study.run));
  MM_TRY(mm_run_put_generation(l->study.run, row));
  MM_TRY(mm_run_put_jobs(l->study.run, l->job_row, l->n_job));
  if (validated) MM_TRY(mm_run_put_scores(l->study.run, l->score_row, validation_tasks(l)));
  MM_TRY(mm_run_put_timing(l->study.run, timing));
  MM_TRY(mm_job_store_forget_lists(l->study.store));
  return mm_run_commit(l->study.run);
}

// What the database and the view will say of the generation just trained, whose number is `g`.
static void describe(mm_learn *l, int64_t g, mm_run_generation *row) {
  *row = (mm_run_generation){ .generation = g, .phase = l->view.phase };
  describe_fitness(l, row);
  for (size_t j = 0; j < l->n_job; j++) {
    const mm_result *r = &l->result[j];
    row->env_steps += r->env_steps;
    l->job_row[j] = (mm_run_job){ .generation = g,
                                  .member = (int32_t)(j / l->n_task),
                                  .task = (int32_t)(j % l->n_task),
                                  .env = env_place(l, l->job[j].env),
                                  .seed = l->job[j].seed,
                                  .value = r->final_value,
                                  .status = r->status,
                                  .env_steps = r->env_steps };
  }
}

// After the commit nothing can fail any more: now the view may change.
static void adopt(mm_learn *l, const mm_run_generation *row, double seconds) {
  mm_study_search *v = &l->view;
  v->generation = row->generation;
  v->sigma = row->sigma;
  v->fitness_mean = row->fitness_mean;
  v->fitness_best = row->fitness_best;
  v->nonfinite += (uint64_t)row->nonfinite;
  v->evaluations += l->n_job;
  v->env_steps += row->env_steps;
  v->session_generations++;
  v->generation_seconds = seconds;
  mm_job_store_clear_lists(l->study.store);
  memcpy(l->stored_mean, mm_es_mean(l->es), dimension(l) * sizeof *l->stored_mean);
  l->stored_evaluations = mm_es_evaluations(l->es) * l->n_task;
  unsigned char *state = l->next;
  l->next = l->state;
  l->state = state;
}

// While candidates are drawn, which takes seconds for a million: the caller sees that time passes,
// and may stop.
typedef struct asking {
  const mm_backend_config *backend;
  size_t n_job;
} asking;

static bool goes_on(void *user) {
  const asking *a = user;
  const mm_backend_config *b = a->backend;
  if (b->progress) b->progress(0, a->n_job, 0, b->user);
  return !b->stop || __atomic_load_n(b->stop, __ATOMIC_RELAXED) == 0;
}

static mm_status train_members(mm_learn *l, const mm_backend_config *backend,
                               const mm_settings *settings) {
  for (size_t j = 0; j < l->n_job; j++)
    l->job[j] = mm_learn_member_job(l, settings, j / l->n_task, j % l->n_task);
  MM_TRY(mm_learn_run_jobs(l, backend, l->n_job, MM_STAGE_POPULATION, 0));
  mm_learn_judge(l, l->n_member);
  return MM_OK;
}

static mm_status run_generation(mm_learn *l, const mm_backend_config *backend) {
  double start = mm_clock_seconds(), jobs_before = l->view.session_job_seconds;
  int64_t g = l->view.generation + 1;
  mm_settings settings = mm_learn_phase_settings(l, l->view.phase);
  mm_learn_set_population(l);
  asking a = { backend, l->n_job };
  l->view.stage = MM_STAGE_POPULATION;
  MM_TRY(mm_es_ask_watched(l->es, l->member, goes_on, &a));
  for (size_t i = 0; i < l->n_member && mm_learn_point_is_made(l); i++)
    (void)mm_learn_point(l, l->member + i * dimension(l), l->point + i * mm_learn_point_size(l));
  MM_TRY(l->plan.settings.search.racing ? mm_learn_race(l, backend, &settings)
                                        : train_members(l, backend, &settings));
  mm_run_generation row;
  describe(l, g, &row);
  MM_TRY(mm_es_tell(l->es, l->fitness));
  row.sigma = mm_es_sigma(l->es);

  double validation = mm_clock_seconds();
  // a restart leaves the mean behind: it may be the best
  bool due = ends_phase(l, g) || mm_es_restarts_next(l->es) ||
             g % (int64_t)l->plan.settings.search.validation_every == 0;
  if (due) {
    MM_TRY(validate(l, backend));
    take_validation(l, "learned", g, l->result, 0, l->value);
  }
  double end = mm_clock_seconds();
  mm_run_timing timing = { .generation = g,
                           .seconds = end - start,
                           .seconds_jobs = l->view.session_job_seconds - jobs_before,
                           .seconds_validation = due ? end - validation : 0 };
  mm_es_save(l->es, l->next);
  row.state = l->next;
  row.state_size = mm_es_state_size(l->es);
  MM_TRY(store(l, &row, &timing, due));
  adopt(l, &row, mm_clock_seconds() - start);
  if (mm_es_restarts_next(l->es))
    mm_log("generation %lld: no progress; restart %llu of %g with %zu candidates", (long long)g,
           (unsigned long long)mm_es_restarts(l->es) + 1, l->plan.settings.search.restarts,
           mm_es_population(l->es));
  return due ? enter_score(l) : MM_OK;
}

// Back to the last stored generation, where the strategy still is unless it was told of another.
static mm_status restore(mm_learn *l) {
  mm_es *es;
  if ((int64_t)mm_es_generation(l->es) == l->view.generation) return MM_OK;
  mm_es_config config = *mm_es_get_config(l->es);
  MM_TRY(mm_es_load(&config, l->state, mm_es_state_size(l->es), &es));
  mm_es_destroy(l->es);
  l->es = es;
  return MM_OK;
}

mm_status mm_learn_advance(mm_learn *l, const mm_backend_config *backend) {
  if (mm_learn_done(l)) return MM_OK;
  MM_TRY(mm_study_start(&l->study, backend));
  int32_t phase = mm_learn_phase_after(l, l->view.generation);
  if (phase != l->view.phase) {
    l->view.phase = phase;
    l->controls.known = false;
  }
  double start = mm_clock_seconds();
  mm_status status = !l->controls.known                    ? begin_phase(l, backend)
                     : l->view.generation < l->generations ? run_generation(l, backend)
                                                           : validate_end(l, backend);
  l->view.session_seconds += mm_clock_seconds() - start;
  if (status == MM_OK) return MM_OK;
  char error[MM_ERROR_SIZE];
  snprintf(error, sizeof error, "%s", mm_last_error());
  mm_run_drop(l->study.run);
  mm_status restored = restore(l);
  return restored == MM_OK ? MM_FAIL(status, "%s", error) : restored;
}

bool mm_learn_done(const mm_learn *l) {
  const mm_study_search *v = &l->view;
  return v->generation >= l->generations && v->last.known && v->last.generation == v->generation;
}

// ---------------------------------------------------------------------------------------------
// Maps and cards

static mm_status write_map(const mm_learn *l, const double *mean, int64_t generation,
                           uint64_t evaluations, const mm_study_score *score, const char *name) {
  char path[MM_RUN_PATH_SIZE];
  int length = snprintf(path, sizeof path, "%s/%s", mm_study_folder(&l->study), name);
  if (length < 0 || (size_t)length >= sizeof path)
    return MM_FAIL(MM_ERR_INPUT, "%.200s: the path is too long", mm_study_folder(&l->study));
  mm_map *map;
  char *card;
  MM_TRY(mm_learn_point_map(l, mean, &map));
  mm_status status = mm_learn_card(l, generation, evaluations, score, &card);
  if (status == MM_OK) {
    status = mm_map_save(map, card, path);
    mm_free(card);
  }
  mm_map_destroy(map);
  return status;
}

mm_status mm_learn_write_maps(mm_learn *l) {
  mm_study_score none = { .known = false };
  const mm_study_search *v = &l->view;
  bool validated = v->last.known && v->last.generation == v->generation;
  MM_TRY(write_map(l, l->stored_mean, v->generation, l->stored_evaluations,
                   validated ? &v->last : &none, "mean.json"));
  if (!v->best.known) return MM_OK;
  return write_map(l, l->best, v->best.generation, l->best_evaluations, &v->best, "best.json");
}
