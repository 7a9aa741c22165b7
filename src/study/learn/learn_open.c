// SPDX-License-Identifier: Apache-2.0
// Making, resuming and closing a search.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "evolve/es_large.h"
#include "map/map_internal.h"
#include "study/jobs/eta_tuning.h"
#include "study/learn/learn_internal.h"

// ---------------------------------------------------------------------------------------------
// From a plan to a search that could begin

// Who is dropped is decided over all candidates, by returns in the course of runs that go on later.
static mm_status check_racing(const mm_learn_plan *plan) {
  const mm_search *search = &plan->settings.search;
  if (!mm_settings_learner(&plan->settings)->networks)
    return MM_FAIL(MM_ERR_INPUT, "racing: runs of %s have no checkpoints: expected racing=off",
                   mm_algo_name(plan->settings.algo));
  if (mm_es_is_paired((mm_es_kind)search->es))
    return MM_FAIL(MM_ERR_INPUT,
                   "racing: %s compares the members of pairs: expected sep-cma-es or cma-es",
                   mm_es_name((mm_es_kind)search->es));
  if (search->restarts > 0)
    return MM_FAIL(MM_ERR_INPUT, "racing: restarts need the returns of all candidates: expected "
                                 "restarts=0");
  return MM_OK;
}

static mm_status check_plan(const mm_learn_plan *plan) {
  const mm_search *search = &plan->settings.search;
  const double most = ldexp(search->population, (int)search->restarts);
  if (most * search->seeds_per_member * (double)plan->n_env > 1e8)
    return MM_FAIL(MM_ERR_INPUT, "population %g: expected at most 1e8 training runs a generation",
                   most);
  if (search->restarts > 0 && plan->n_env > 1 && mm_search_fitness(search).mean)
    return MM_FAIL(MM_ERR_INPUT,
                   "restarts %g: ranks on several environments do not show whether the search "
                   "still gets better; expected fitness=median or cvar:A",
                   search->restarts);
  if (search->racing) MM_TRY(check_racing(plan));
  if (search->validation_tasks * (double)plan->n_env > 1e6)
    return MM_FAIL(MM_ERR_INPUT, "validation_tasks %g: expected at most 1e6 in all",
                   search->validation_tasks);
  return mm_learn_point_check(search);
}

// The strategy at its start, and the map there.
static mm_status open_start(mm_learn *l) {
  mm_es_config config = mm_search_es(&l->plan.settings.search, l->plan.seed);
  MM_TRY(mm_learn_point_open(l));
  MM_TRY(mm_es_create(&config, l->first, &l->es));
  return mm_learn_point_map(l, l->first, &l->control_map[MM_CONTROL_INITIAL]);
}

static mm_status open_controls(mm_learn *l) {
  const int full = l->plan.early ? MM_CONTROL_TUNED_Q : MM_LEARN_CONTROLS;
  l->n_control = l->plan.settings.search.controls ? full : MM_CONTROL_TUNED;
  for (int c = 0; c < l->n_control; c++) {
    char name[MM_CONTROL_MAP_SIZE];
    if (c == MM_CONTROL_INITIAL) continue; // where the search begins, see open_start
    mm_control_map(mm_control_names[c], l->kind, l->plan.settings.search.n, name);
    MM_TRY(mm_map_open(name, &l->control_map[c]));
  }
  return open_start(l);
}

// Slices of the work space, `d` being the dimension and `state` the bytes of the strategy's state,
// or only their size where there is no arena yet.
static size_t lay_out(mm_learn *l, size_t d, size_t state, mm_arena *arena) {
  size_t tasks = l->controls.n_task, scores = (MM_LEARN_CONTROLS + 1) * tasks, bytes = 0;
  size_t jobs = l->n_job > scores ? l->n_job : scores;
#define SLICE(field, count)                                                                        \
  do {                                                                                             \
    bytes += mm_arena_size_of((count) * sizeof *l->field);                                         \
    if (arena) l->field = mm_arena_take(arena, (count) * sizeof *l->field);                        \
  } while (0)
  SLICE(member, l->n_member * d);
  SLICE(point, mm_learn_point_is_made(l) ? l->n_member * mm_learn_point_size(l) : 0);
  SLICE(fitness, l->n_member);
  SLICE(raw, l->n_member);
  SLICE(part, l->n_member);
  SLICE(pool, l->n_task);
  SLICE(order, l->n_member);
  SLICE(best, d);
  SLICE(stored_mean, d);
  SLICE(value, tasks);
  SLICE(state, state);
  SLICE(next, state);
  SLICE(job, jobs);
  SLICE(job_row, l->n_job);
  SLICE(last, l->plan.settings.search.racing ? l->n_job : 0);
  SLICE(told, l->plan.settings.search.racing ? l->n_member : 0);
  SLICE(runner, l->plan.settings.search.racing ? l->n_member : 0);
  SLICE(score_row, scores);
  for (int c = 0; c < MM_LEARN_CONTROLS; c++)
    SLICE(controls.value[c], tasks);
#undef SLICE
  return bytes;
}

static mm_status take_memory(mm_learn *l) {
  const size_t d = mm_es_get_config(l->es)->dimension, state = mm_es_state_size(l->es);
  if (mm_arena_create(lay_out(l, d, state, NULL), &l->arena) != MM_OK)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a search with %zu training runs a generation",
                   l->n_job);
  lay_out(l, d, state, &l->arena);
  return MM_OK;
}

// Curves are kept until the last training of a list has ended. Exact ones are a single point here.
static double curve_bytes(const mm_learn *l) {
  const mm_learner *learner = mm_settings_learner(&l->plan.settings);
  const size_t measures = learner->suits & MM_SUITS_REAL ? MM_MEASURES : 0;
  double points = 1;
  for (size_t p = 0; p < l->n_phase && !learner->exact; p++) {
    mm_settings settings = mm_learn_phase_settings(l, (int32_t)p);
    points = fmax(points, mm_settings_iterations(&settings));
  }
  return (double)l->n_job * points * (double)(sizeof(uint64_t) + (1 + measures) * sizeof(double));
}

// Before any of it is taken: a generation's lists, and the strategy, twice for a moment when a
// generation is given up.
static mm_status check_memory(mm_learn *l) {
  const mm_es_config es = mm_search_es(&l->plan.settings.search, l->plan.seed);
  char what[96];
  double bytes = (double)lay_out(l, es.dimension, 0, NULL) + mm_job_store_list_bytes(l->n_job);
  snprintf(what, sizeof what, "population %zu: a generation of %zu training runs", l->n_member,
           l->n_job);
  return mm_memory_check(bytes + 2 * mm_es_bytes(&es) + curve_bytes(l), what);
}

// Racing keeps the states of the runs that may go on, those of two rounds at a time.
static mm_status check_states(const mm_learn *l) {
  double most = 0;
  for (size_t i = 0; i < l->n_phase * l->plan.n_env; i++) {
    mm_settings settings = mm_learn_phase_settings(l, (int32_t)(i / l->plan.n_env));
    mm_job job = { .env = l->envs.env[i % l->plan.n_env],
                   .map = l->control_map[MM_CONTROL_INITIAL] };
    size_t size;
    mm_settings_bind(&settings, &job);
    MM_TRY(mm_job_state_size(&job, &size));
    most = fmax(most, (double)size);
  }
  return mm_memory_check(1.5 * most * (double)l->n_job, "racing: the states of a generation");
}

// What is wrong with the settings of any phase shows now, and not in the middle of the run.
static mm_status rehearse(const mm_learn *l) {
  for (size_t i = 0; i < l->n_phase * l->plan.n_env; i++) {
    mm_settings settings = mm_learn_phase_settings(l, (int32_t)(i / l->plan.n_env));
    MM_TRY(mm_study_rehearse(l->envs.env[i % l->plan.n_env], l->control_map[MM_CONTROL_INITIAL],
                             &settings, 0));
  }
  return l->plan.settings.search.racing ? check_states(l) : MM_OK;
}

// A search that began with less goes on as it began.
static mm_status check_budget(const mm_learn *l) {
  const mm_search *search = &l->plan.settings.search;
  if (search->tune_budget > 0 && !search->controls)
    return MM_FAIL(MM_ERR_INPUT, "tune_budget %g: no control is tuned: expected controls=full",
                   search->tune_budget);
  for (size_t p = 0; p < l->n_phase && search->tune_budget > 0; p++) {
    const mm_settings settings = mm_learn_phase_settings(l, (int32_t)p);
    const double least = mm_eta_least(&settings, true);
    if (search->tune_budget < least)
      return MM_FAIL(MM_ERR_INPUT,
                     "tune_budget %.0f: expected at least %.0f steps, a run for each candidate",
                     search->tune_budget, least);
  }
  return MM_OK;
}

static mm_status prepare(mm_learn *l) {
  const mm_search *search = &l->plan.settings.search;
  MM_TRY(check_plan(&l->plan));
  l->kind = mm_search_map_kind(search);
  l->n_phase = mm_search_phases(search, l->phase);
  for (size_t p = 0; p < l->n_phase; p++)
    l->generations += l->phase[p].generations;
  bool paired = mm_es_is_paired((mm_es_kind)search->es);
  l->n_member = (size_t)ldexp(search->population, (int)search->restarts);
  l->n_task = (size_t)search->seeds_per_member * (paired ? 1 : l->plan.n_env);
  l->n_job = l->n_member * l->n_task;
  l->controls.n_env = l->plan.n_env;
  l->controls.n_task = (size_t)search->validation_tasks * l->plan.n_env;
  MM_TRY(check_memory(l));
  MM_TRY(open_controls(l));
  MM_TRY(take_memory(l));
  mm_learn_set_population(l);
  l->view.fitness_mean = l->view.fitness_best = NAN;
  l->view.sigma = mm_es_sigma(l->es);
  memcpy(l->stored_mean, mm_es_mean(l->es),
         mm_es_get_config(l->es)->dimension * sizeof *l->stored_mean);
  mm_es_save(l->es, l->state);
  return MM_OK;
}

static mm_status alloc_learn(mm_learn **out) {
  *out = mm_alloc(sizeof **out);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for a search");
  memset(*out, 0, sizeof **out);
  (*out)->study.class = &mm_learn_class;
  return MM_OK;
}

void mm_learn_close(mm_learn *l) {
  if (!l) return;
  mm_study_release(&l->study);
  mm_es_destroy(l->es);
  mm_plan_release_envs(&l->envs);
  for (int c = 0; c < MM_LEARN_CONTROLS; c++)
    mm_map_destroy(l->control_map[c]);
  for (size_t e = 0; e < MM_LEARN_ENVS; e++)
    mm_map_destroy(l->tuned_map[e]);
  mm_free(l->start.z);
  mm_free(l->origin);
  mm_arena_destroy(&l->arena);
  mm_free(l);
}

// Hands a search over to its owner, or takes back what there is of it.
static mm_status hand_over(mm_learn *l, mm_status status, mm_learn **out) {
  if (status == MM_OK)
    *out = l;
  else
    mm_learn_close(l);
  return status;
}

// ---------------------------------------------------------------------------------------------
// A new run

// Row 0: where the search starts.
static mm_status store_start(mm_learn *l) {
  mm_run_generation row = { .sigma = l->view.sigma,
                            .fitness_mean = NAN,
                            .fitness_sd = NAN,
                            .fitness_best = NAN,
                            .state = l->state,
                            .state_size = mm_es_state_size(l->es) };
  MM_TRY(mm_run_begin(l->study.run));
  MM_TRY(mm_run_put_generation(l->study.run, &row));
  return mm_run_commit(l->study.run);
}

// Everything is tried before the run appears.
static mm_status create(mm_learn *l, const char *folder) {
  const mm_learn_plan *plan = &l->plan;
  MM_TRY(mm_learn_start_read(plan, &l->start));
  MM_TRY(prepare(l));
  MM_TRY(check_budget(l));
  MM_TRY(mm_plan_new_envs(plan->env, plan->n_env, &l->envs));
  MM_TRY(rehearse(l));
  cJSON *root = mm_learn_plan_json(plan, &l->start, &l->envs);
  MM_TRY(mm_study_make_run(&l->study, folder, root, &l->envs));
  MM_TRY(store_start(l));
  return mm_job_store_open(l->study.run, &l->study.store);
}

mm_status mm_learn_create(const char *folder, const mm_learn_plan *plan, mm_learn **out) {
  mm_learn *l;
  *out = NULL;
  MM_TRY(alloc_learn(&l));
  l->plan = *plan;
  return hand_over(l, create(l, folder), out);
}

// ---------------------------------------------------------------------------------------------
// Going on

// Looks through the scores of a phase: first for the controls, then for the means.
typedef struct replay {
  mm_learn *l;
  int32_t phase;
  int64_t only;       // this mean alone, -1: all
  int64_t generation; // of the mean being collected, -1: none
  int64_t began;      // generation of the controls
  size_t seen[MM_LEARN_CONTROLS], n_value;
} replay;

static int on_control(const mm_run_row *any, void *user) {
  const mm_run_score *row = &any->score;
  replay *r = user;
  if (row->phase != r->phase || (size_t)row->task >= r->l->controls.n_task || row->task < 0)
    return 0;
  for (int c = 0; c < r->l->n_control; c++) {
    if (strcmp(row->map, mm_control_names[c]) != 0) continue;
    r->l->controls.value[c][row->task] = row->value;
    r->seen[c]++;
    r->began = row->generation;
  }
  return 0;
}

// All values of a mean are there: enter it. The best one's vector comes from its generation's
// state.
static void finish_mean(replay *r) {
  mm_learn *l = r->l;
  if (r->n_value == l->controls.n_task) {
    mm_study_score score = mm_learn_score_of(&l->controls, l->value, r->generation);
    mm_learn_note_best(l, &score, l->value, l->stored_mean);
  }
  r->n_value = 0;
}

static int on_mean(const mm_run_row *any, void *user) {
  const mm_run_score *row = &any->score;
  replay *r = user;
  if (row->phase != r->phase || strcmp(row->map, "learned") != 0 || row->task < 0 ||
      (size_t)row->task >= r->l->controls.n_task || (r->only >= 0 && row->generation != r->only))
    return 0;
  if (row->generation != r->generation) finish_mean(r);
  r->generation = row->generation;
  r->l->value[row->task] = row->value;
  r->n_value++;
  return 0;
}

static mm_status load_state(mm_learn *l, const mm_run_generation *row, mm_es **out) {
  mm_es_config config = *mm_es_get_config(l->es);
  mm_status status = mm_es_load(&config, row->state, row->state_size, out);
  if (status == MM_OK && mm_es_generation(*out) == (uint64_t)row->generation) return MM_OK;
  if (status == MM_OK) {
    mm_es_destroy(*out);
    *out = NULL;
    return MM_FAIL(MM_ERR_INPUT, "%s/run.db: the state of generation %" PRId64 " is another one's",
                   mm_study_folder(&l->study), row->generation);
  }
  return MM_FAIL(status, "%s/run.db: generation %" PRId64 ": %s", mm_study_folder(&l->study),
                 row->generation, mm_last_error());
}

static mm_status load_generation(mm_learn *l, int64_t generation, mm_run_generation *row,
                                 mm_es **out) {
  bool found;
  MM_TRY(mm_run_generation_at(l->study.run, generation, row, &found));
  if (found) return load_state(l, row, out);
  return MM_FAIL(MM_ERR_INPUT, "%s/run.db: there is no generation %" PRId64,
                 mm_study_folder(&l->study), generation);
}

static mm_status load_best(mm_learn *l) {
  mm_run_generation row;
  mm_es *es;
  if (!l->view.best.known) return MM_OK;
  MM_TRY(load_generation(l, l->view.best.generation, &row, &es));
  memcpy(l->best, mm_es_mean(es), mm_es_get_config(es)->dimension * sizeof *l->best);
  l->best_evaluations = mm_es_evaluations(es) * l->n_task;
  mm_es_destroy(es);
  return MM_OK;
}

static mm_status replay_phase(mm_learn *l, int32_t phase, int64_t only) {
  replay r = { .l = l, .phase = phase, .only = only, .generation = -1 };
  MM_TRY(mm_run_each(l->study.run, MM_RUN_SCORE, on_control, &r));
  for (int c = 0; c < l->n_control; c++)
    if (r.seen[c] != l->controls.n_task) return MM_OK; // the phase has yet to begin
  mm_learn_set_controls(l, r.began);
  MM_TRY(mm_run_each(l->study.run, MM_RUN_SCORE, on_mean, &r));
  finish_mean(&r);
  return MM_OK;
}

// Between two phases the scores are still those of the first; the next step begins the second.
static mm_status replay_scores(mm_learn *l) {
  l->view.phase = mm_learn_phase_after(l, l->view.generation);
  MM_TRY(replay_phase(l, l->view.phase, -1));
  if (!l->controls.known && l->view.phase > 0) MM_TRY(replay_phase(l, --l->view.phase, -1));
  return load_best(l);
}

static int on_generation(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  mm_learn *l = user;
  if (row->generation == 0) return 0;
  l->view.env_steps += row->env_steps;
  l->view.nonfinite += (uint64_t)row->nonfinite;
  return 0;
}

static mm_status replay_generations(mm_learn *l) {
  mm_run_generation row;
  bool found;
  mm_es *es;
  MM_TRY(mm_run_last_generation(l->study.run, &row, &found));
  if (!found) return store_start(l); // it died right after it was made
  MM_TRY(load_state(l, &row, &es));
  mm_es_destroy(l->es);
  l->es = es;
  mm_es_save(es, l->state);
  memcpy(l->stored_mean, mm_es_mean(es), mm_es_get_config(es)->dimension * sizeof *l->stored_mean);
  mm_learn_set_population(l);
  l->stored_evaluations = l->view.evaluations = mm_es_evaluations(es) * l->n_task;
  l->view.generation = row.generation;
  l->view.sigma = row.sigma;
  l->view.fitness_mean = row.fitness_mean;
  l->view.fitness_best = row.fitness_best;
  return mm_run_each(l->study.run, MM_RUN_GENERATION, on_generation, l);
}

// The number of generations is the one thing of a plan that can be changed.
mm_status mm_learn_lengthen(mm_learn *l, int64_t generations) {
  mm_search *search = &l->plan.settings.search;
  if (strcmp(search->schedule, "-") != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: its schedule %s fixes the number of generations",
                   mm_study_folder(&l->study), search->schedule);
  if (generations < l->view.generation)
    return MM_FAIL(MM_ERR_INPUT, "%s has %" PRId64 " generations already: expected at least these",
                   mm_study_folder(&l->study), l->view.generation);
  search->generations = (double)generations;
  l->phase[0].generations = l->generations = generations;
  char *config;
  MM_TRY(mm_plan_print(mm_learn_plan_json(&l->plan, &l->start, &l->envs), "a search", &config));
  mm_status status = mm_run_begin(l->study.run);
  if (status == MM_OK) status = mm_run_set_config(l->study.run, config);
  if (status == MM_OK) status = mm_run_commit(l->study.run);
  if (status != MM_OK) mm_run_drop(l->study.run);
  mm_free(config);
  return status;
}

static mm_status read_plan(mm_learn *l, const mm_run *run) {
  char source[MM_STUDY_SOURCE_SIZE];
  cJSON *root;
  MM_TRY(mm_study_plan(run, &root, source));
  mm_status status = mm_learn_plan_read(root, source, &l->plan, &l->start, &l->envs);
  cJSON_Delete(root);
  MM_TRY(status);
  return prepare(l);
}

static mm_status resume(mm_learn *l, const char *folder, int64_t generations) {
  const mm_learn_plan *plan = &l->plan;
  MM_TRY(mm_study_take_run(&l->study, folder));
  MM_TRY(read_plan(l, l->study.run));
  MM_TRY(mm_plan_copy_tasks(&l->envs, mm_study_folder(&l->study)));
  MM_TRY(mm_plan_open_envs(plan->env, mm_study_folder(&l->study), &l->envs));
  MM_TRY(rehearse(l));
  MM_TRY(replay_generations(l));
  if (generations > 0 && generations != l->generations) MM_TRY(mm_learn_lengthen(l, generations));
  MM_TRY(replay_scores(l));
  return mm_job_store_open(l->study.run, &l->study.store);
}

mm_status mm_learn_resume(const char *folder, int64_t generations, mm_learn **out) {
  mm_learn *l;
  *out = NULL;
  MM_TRY(alloc_learn(&l));
  return hand_over(l, resume(l, folder, generations), out);
}

// ---------------------------------------------------------------------------------------------
// A map out of the past

static mm_status read_map(mm_learn *l, int64_t generation, mm_map **out) {
  mm_run_generation row;
  mm_es *es;
  MM_TRY(load_generation(l, generation, &row, &es));
  mm_es_destroy(l->es);
  l->es = es;
  MM_TRY(replay_phase(l, row.phase, generation));
  (void)mm_run_each(l->study.run, MM_RUN_GENERATION, on_generation, l); // what is intact counts
  char *card;
  MM_TRY(mm_learn_card(l, generation, mm_es_evaluations(es) * l->n_task, &l->view.last, &card));
  mm_status status = mm_learn_point_map(l, mm_es_mean(es), out);
  if (status == MM_OK) status = mm_map_set_meta(*out, card);
  mm_free(card);
  return status;
}

mm_status mm_run_map_at(mm_run *run, int64_t generation, mm_map **out) {
  mm_learn *l;
  *out = NULL;
  MM_TRY(alloc_learn(&l));
  l->study.run = run;
  mm_status status = read_plan(l, run);
  if (status == MM_OK) status = read_map(l, generation, out);
  l->study.run = NULL; // the caller's
  mm_learn_close(l);
  if (status != MM_OK) {
    mm_map_destroy(*out);
    *out = NULL;
  }
  return status;
}

// ---------------------------------------------------------------------------------------------
// Looking at it

void mm_learn_look(const mm_learn *l, mm_study_search *out) {
  *out = l->view;
  out->size = sizeof *out;
  out->generations = l->generations;
  out->phases = (int32_t)l->n_phase;
  out->jobs_per_generation = l->n_job;
  int64_t end = 0, done = l->view.generation;
  for (size_t p = 0; p < l->n_phase; p++) {
    mm_settings settings = mm_learn_phase_settings(l, (int32_t)p);
    double steps = (double)l->n_job * mm_settings_steps(&settings);
    out->last_steps = mm_settings_value(&settings, "steps", 0);
    if (l->plan.settings.search.racing) steps *= mm_learn_race_share();
    int64_t left = l->phase[p].generations, begun = done - end;
    if (begun > 0) left -= begun < left ? begun : left;
    out->steps += (double)l->phase[p].generations * steps;
    out->steps_left += (double)left * steps;
    end += l->phase[p].generations;
  }
  out->session_env_steps = mm_job_store_work_of(l->study.store).env_steps;
  out->validation_tasks = l->plan.settings.search.validation_tasks;
  out->n_control = l->n_control;
  for (int c = 0; c < l->n_control; c++)
    out->control_name[c] = mm_control_names[c];
}

const mm_learn_plan *mm_learn_get_plan(const mm_learn *l) {
  return &l->plan;
}
