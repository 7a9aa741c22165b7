// Making, resuming and closing a search.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "evolve/es_large.h"
#include "map/map_internal.h"
#include "study/learn/learn_internal.h"

// ---------------------------------------------------------------------------------------------
// From a plan to a search that could begin

static mm_status check_plan(const mm_learn_plan *plan) {
  const mm_search *search = &plan->settings.search;
  if (search->population * search->seeds_per_member * (double)plan->n_env > 1e8)
    return MM_FAIL(MM_ERR_INPUT, "population %g: expected at most 1e8 trainings a generation",
                   search->population);
  if (search->validation_tasks * (double)plan->n_env > 1e6)
    return MM_FAIL(MM_ERR_INPUT, "validation_tasks %g: expected at most 1e6 in all",
                   search->validation_tasks);
  return MM_OK;
}

static mm_status open_controls(mm_learn *l, const mm_learn_start *start) {
  mm_map **map = l->control_map;
  size_t n = (size_t)l->plan.settings.search.n;
  const double *z = start->z;
  double *own = NULL;
  MM_TRY(mm_map_open("negentropy", &map[MM_CONTROL_NEGENTROPY]));
  MM_TRY(mm_map_open("l2", &map[MM_CONTROL_L2]));
  l->n_control = l->plan.settings.search.controls ? MM_LEARN_CONTROLS : MM_CONTROL_TUNED;
  for (int c = MM_CONTROL_TUNED; c < l->n_control; c++)
    MM_TRY(mm_map_open(mm_control_names[c - MM_CONTROL_TUNED], &map[c]));
  MM_TRY(mm_map_open(l->kind == MM_MAP_NEURAL ? "random-neural:0" : "random:0",
                     &map[MM_CONTROL_RANDOM]));
  if (!z) {
    own = mm_alloc_array(mm_map_search_size(l->kind, n), sizeof *own);
    if (!own) return MM_FAIL(MM_ERR_MEMORY, "no memory for a search");
    mm_status status = mm_map_search_initial(l->kind, n, own);
    z = own;
    if (status != MM_OK) {
      mm_free(own);
      return status;
    }
  }
  mm_es_config config = mm_search_es(&l->plan.settings.search, l->plan.seed);
  mm_status status = mm_es_create(&config, z, &l->es);
  if (status == MM_OK) status = mm_map_from_search(l->kind, n, z, &map[MM_CONTROL_INITIAL]);
  mm_free(own);
  return status;
}

// Takes the work space, `d` being the dimension, or only counts its bytes.
static bool lay_out(mm_learn *l, size_t d, bool take, double *bytes) {
  size_t tasks = l->controls.n_task, scores = (MM_LEARN_CONTROLS + 1) * tasks;
  size_t jobs = l->n_job > scores ? l->n_job : scores;
  bool all = true;
  *bytes = 0;
#define TAKE(field, count)                                                                         \
  do {                                                                                             \
    *bytes += (double)(count) * (double)sizeof *l->field;                                          \
    if (take) l->field = mm_alloc_array((count), sizeof *l->field);                                \
    all = all && (!take || l->field);                                                              \
  } while (0)
  TAKE(member, l->n_member * d);
  TAKE(fitness, l->n_member);
  TAKE(raw, l->n_member);
  TAKE(part, l->n_member);
  TAKE(order, l->n_member);
  TAKE(best, d);
  TAKE(kept, d);
  TAKE(value, tasks);
  TAKE(job, jobs);
  TAKE(result, jobs);
  TAKE(job_row, l->n_job);
  TAKE(score_row, scores);
  TAKE(early.early, l->n_job + scores);
  l->early.room = l->n_job + scores;
  for (int c = 0; c < MM_LEARN_CONTROLS; c++)
    TAKE(controls.value[c], tasks);
#undef TAKE
  return all;
}

static mm_status take_memory(mm_learn *l) {
  double bytes;
  bool all = lay_out(l, mm_es_get_config(l->es)->dimension, true, &bytes);
  l->state = mm_alloc(mm_es_state_size(l->es));
  if (!all || !l->state)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a search with %zu trainings a generation",
                   l->n_job);
  return MM_OK;
}

// Curves are kept until the last training of a list has ended. Tabular PMD has a single point here.
static double curve_bytes(const mm_learn *l) {
  const size_t measures = l->plan.settings.algo == MM_ALGO_GAUSSIAN ? MM_MEASURES : 0;
  double points = 1;
  for (size_t p = 0; p < l->n_phase && l->plan.settings.algo != MM_ALGO_PMD; p++) {
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
  double bytes;
  (void)lay_out(l, es.dimension, false, &bytes);
  snprintf(what, sizeof what, "population %zu: a generation of %zu trainings", l->n_member,
           l->n_job);
  return mm_memory_check(bytes + 2 * mm_es_bytes(&es) + curve_bytes(l), what);
}

// Trains nothing, but makes everything that a training needs: what is wrong with the settings shows
// now, and not in the middle of the run.
static mm_status rehearse(const mm_learn *l) {
  const volatile int stop = 1;
  for (size_t i = 0; i < l->n_phase * l->plan.n_env; i++) {
    mm_settings settings = mm_learn_phase_settings(l, (int32_t)(i / l->plan.n_env));
    mm_job job = { .env = l->env[i % l->plan.n_env], .map = l->control_map[MM_CONTROL_INITIAL] };
    mm_settings_bind(&settings, &job);
    mm_result result;
    mm_status status = mm_job_run(&job, &stop, &result);
    mm_result_release(&result);
    if (status != MM_ERR_INTERRUPTED && status != MM_OK) return status;
  }
  return MM_OK;
}

static mm_status prepare(mm_learn *l, const mm_learn_start *start) {
  const mm_search *search = &l->plan.settings.search;
  MM_TRY(check_plan(&l->plan));
  l->kind = mm_search_map_kind(search);
  l->n_phase = mm_search_phases(search, l->phase);
  for (size_t p = 0; p < l->n_phase; p++)
    l->generations += l->phase[p].generations;
  bool paired = mm_es_is_paired((mm_es_kind)search->es);
  l->n_member = (size_t)search->population;
  l->n_task = (size_t)search->seeds_per_member * (paired ? 1 : l->plan.n_env);
  l->n_job = l->n_member * l->n_task;
  l->controls.n_env = l->plan.n_env;
  l->controls.n_task = (size_t)search->validation_tasks * l->plan.n_env;
  MM_TRY(check_memory(l));
  MM_TRY(open_controls(l, start));
  MM_TRY(take_memory(l));
  l->view.fitness_mean = l->view.fitness_best = NAN;
  l->view.sigma = mm_es_sigma(l->es);
  memcpy(l->kept, mm_es_mean(l->es), mm_es_get_config(l->es)->dimension * sizeof *l->kept);
  mm_es_save(l->es, l->state);
  return MM_OK;
}

static mm_status open_envs(mm_learn *l, const mm_learn_start *start, const char *folder) {
  for (size_t i = 0; i < l->plan.n_env; i++)
    MM_TRY(mm_learn_open_env(&l->plan, start, i, folder, &l->env[i]));
  return rehearse(l);
}

static mm_status take(mm_learn **out) {
  *out = mm_alloc(sizeof **out);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for a search");
  memset(*out, 0, sizeof **out);
  mm_status status = mm_learn_kept_open(&(*out)->early);
  if (status == MM_OK) return MM_OK;
  mm_free(*out);
  *out = NULL;
  return status;
}

void mm_learn_close(mm_learn *l) {
  if (!l) return;
  mm_learn_kept_close(&l->early);
  mm_run_close(l->run);
  mm_es_destroy(l->es);
  for (size_t i = 0; i < MM_LEARN_ENVS; i++)
    mm_env_destroy(l->env[i]);
  for (int c = 0; c < MM_LEARN_CONTROLS; c++) {
    mm_map_destroy(l->control_map[c]);
    mm_free(l->controls.value[c]);
  }
  mm_free(l->member);
  mm_free(l->fitness);
  mm_free(l->raw);
  mm_free(l->part);
  mm_free(l->order);
  mm_free(l->best);
  mm_free(l->kept);
  mm_free(l->value);
  mm_free(l->job);
  mm_free(l->result);
  mm_free(l->job_row);
  mm_free(l->score_row);
  mm_free(l->state);
  mm_free(l);
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
  MM_TRY(mm_run_begin(l->run));
  MM_TRY(mm_run_put_generation(l->run, &row));
  return mm_run_commit(l->run);
}

// Everything is tried before the run appears.
static mm_status create(mm_learn *l, const char *folder, const mm_learn_start *start) {
  char *config;
  MM_TRY(prepare(l, start));
  for (size_t i = 0; i < l->plan.n_env; i++)
    MM_TRY(mm_env_open(l->plan.env[i], &l->env[i]));
  MM_TRY(rehearse(l));
  MM_TRY(mm_learn_plan_write(&l->plan, start, &config));
  mm_status status = mm_run_create(folder, "learn", config, &l->run);
  mm_free(config);
  if (status == MM_OK) status = store_start(l);
  for (size_t i = 0; i < l->plan.n_env && status == MM_OK; i++)
    status = mm_learn_copy_task(start, i, folder);
  return status;
}

mm_status mm_learn_create(const char *folder, const mm_learn_plan *plan, mm_learn **out) {
  mm_learn *l;
  mm_learn_start start;
  *out = NULL;
  MM_TRY(take(&l));
  l->plan = *plan;
  mm_status status = mm_learn_start_read(plan, &start);
  if (status == MM_OK) {
    status = create(l, folder, &start);
    mm_learn_start_release(&start);
  }
  if (status != MM_OK) {
    mm_learn_close(l);
    return status;
  }
  *out = l;
  return MM_OK;
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

static int see_control(const mm_run_row *any, void *user) {
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
    mm_learn_score score = mm_learn_score_of(&l->controls, l->value, r->generation);
    mm_learn_note_best(l, &score, l->value, l->kept);
  }
  r->n_value = 0;
}

static int see_mean(const mm_run_row *any, void *user) {
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
                   mm_run_folder_of(l->run), row->generation);
  }
  return MM_FAIL(status, "%s/run.db: generation %" PRId64 ": %s", mm_run_folder_of(l->run),
                 row->generation, mm_last_error());
}

static mm_status load_best(mm_learn *l) {
  mm_run_generation row;
  bool found;
  mm_es *es;
  if (!l->view.best.known) return MM_OK;
  MM_TRY(mm_run_generation_at(l->run, l->view.best.generation, &row, &found));
  if (!found)
    return MM_FAIL(MM_ERR_INPUT, "%s/run.db: generation %" PRId64 " is missing",
                   mm_run_folder_of(l->run), l->view.best.generation);
  MM_TRY(load_state(l, &row, &es));
  memcpy(l->best, mm_es_mean(es), mm_es_get_config(es)->dimension * sizeof *l->best);
  mm_es_destroy(es);
  return MM_OK;
}

static mm_status replay_phase(mm_learn *l, int32_t phase, int64_t only) {
  replay r = { .l = l, .phase = phase, .only = only, .generation = -1 };
  MM_TRY(mm_run_each(l->run, MM_RUN_SCORE, see_control, &r));
  for (int c = 0; c < l->n_control; c++)
    if (r.seen[c] != l->controls.n_task) return MM_OK; // the phase has yet to begin
  mm_learn_set_controls(l, r.began);
  MM_TRY(mm_run_each(l->run, MM_RUN_SCORE, see_mean, &r));
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

static int add_generation(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  mm_learn *l = user;
  if (row->generation == 0) return 0;
  l->view.evaluations += l->n_job;
  l->view.env_steps += row->env_steps;
  l->view.nonfinite += (uint64_t)row->nonfinite;
  return 0;
}

static mm_status replay_generations(mm_learn *l) {
  mm_run_generation row;
  bool found;
  mm_es *es;
  MM_TRY(mm_run_last_generation(l->run, &row, &found));
  if (!found) return store_start(l); // it died right after it was made
  MM_TRY(load_state(l, &row, &es));
  mm_es_destroy(l->es);
  l->es = es;
  mm_es_save(es, l->state);
  memcpy(l->kept, mm_es_mean(es), mm_es_get_config(es)->dimension * sizeof *l->kept);
  l->view.generation = row.generation;
  l->view.sigma = row.sigma;
  l->view.fitness_mean = row.fitness_mean;
  l->view.fitness_best = row.fitness_best;
  return mm_run_each(l->run, MM_RUN_GENERATION, add_generation, l);
}

// The number of generations is the one thing of a plan that can be changed.
static mm_status change_length(mm_learn *l, int64_t generations, const mm_learn_start *start) {
  mm_search *search = &l->plan.settings.search;
  if (strcmp(search->schedule, "-") != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: its schedule %s fixes the number of generations",
                   mm_run_folder_of(l->run), search->schedule);
  if (generations < l->view.generation)
    return MM_FAIL(MM_ERR_INPUT, "%s has %" PRId64 " generations already: expected at least these",
                   mm_run_folder_of(l->run), l->view.generation);
  search->generations = (double)generations;
  l->phase[0].generations = l->generations = generations;
  char *config;
  MM_TRY(mm_learn_plan_write(&l->plan, start, &config));
  mm_status status = mm_run_begin(l->run);
  if (status == MM_OK) status = mm_run_set_config(l->run, config);
  if (status == MM_OK) status = mm_run_commit(l->run);
  if (status != MM_OK) mm_run_drop(l->run);
  mm_free(config);
  return status;
}

static mm_status resume(mm_learn *l, const char *folder, int64_t generations,
                        mm_learn_start *start) {
  char source[MM_RUN_PATH_SIZE];
  MM_TRY(mm_run_open(folder, MM_RUN_WRITE, &l->run));
  snprintf(source, sizeof source, "%.4000s/run.db: config", mm_run_folder_of(l->run));
  MM_TRY(mm_learn_plan_read(mm_run_config(l->run), source, &l->plan, start));
  MM_TRY(prepare(l, start));
  MM_TRY(open_envs(l, start, mm_run_folder_of(l->run)));
  MM_TRY(replay_generations(l));
  if (generations > 0 && generations != l->generations)
    MM_TRY(change_length(l, generations, start));
  MM_TRY(replay_scores(l));
  return mm_learn_kept_load(l);
}

mm_status mm_learn_resume(const char *folder, int64_t generations, mm_learn **out) {
  mm_learn *l;
  mm_learn_start start = { 0 };
  *out = NULL;
  MM_TRY(take(&l));
  mm_status status = resume(l, folder, generations, &start);
  mm_learn_start_release(&start);
  if (status != MM_OK) {
    mm_learn_close(l);
    return status;
  }
  *out = l;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// A map out of the past

static mm_status read_map(mm_learn *l, int64_t generation, mm_map **out) {
  mm_run_generation row;
  bool found;
  MM_TRY(mm_run_generation_at(l->run, generation, &row, &found));
  if (!found)
    return MM_FAIL(MM_ERR_INPUT, "%s/run.db: there is no generation %" PRId64,
                   mm_run_folder_of(l->run), generation);
  mm_es *es;
  MM_TRY(load_state(l, &row, &es));
  mm_es_destroy(l->es);
  l->es = es;
  MM_TRY(replay_phase(l, row.phase, generation));
  char *card;
  MM_TRY(mm_learn_card(&l->plan, generation, (uint64_t)generation * l->n_job, &l->view.last,
                       l->view.control, &card));
  mm_status status =
      mm_map_from_search(l->kind, (size_t)l->plan.settings.search.n, mm_es_mean(es), out);
  if (status == MM_OK) status = mm_map_set_meta(*out, card);
  mm_free(card);
  return status;
}

mm_status mm_learn_map_at(mm_run *run, int64_t generation, mm_map **out) {
  char source[MM_RUN_PATH_SIZE];
  mm_learn_start start = { 0 };
  mm_learn *l;
  *out = NULL;
  MM_TRY(take(&l));
  snprintf(source, sizeof source, "%.4000s/run.db: config", mm_run_folder_of(run));
  mm_status status = mm_learn_plan_read(mm_run_config(run), source, &l->plan, &start);
  if (status == MM_OK) status = prepare(l, &start);
  mm_learn_start_release(&start);
  l->run = run;
  if (status == MM_OK) status = read_map(l, generation, out);
  l->run = NULL; // the caller's
  mm_learn_close(l);
  if (status != MM_OK) {
    mm_map_destroy(*out);
    *out = NULL;
  }
  return status;
}

// ---------------------------------------------------------------------------------------------
// Looking at it

void mm_learn_look(const mm_learn *l, mm_learn_view *out) {
  *out = l->view;
  out->generations = l->generations;
  out->phases = (int32_t)l->n_phase;
  out->jobs_per_generation = l->n_job;
  int64_t end = 0, done = l->view.generation;
  for (size_t p = 0; p < l->n_phase; p++) {
    mm_settings settings = mm_learn_phase_settings(l, (int32_t)p);
    double steps = (double)l->n_job * mm_settings_steps(&settings);
    int64_t left = l->phase[p].generations, begun = done - end;
    if (begun > 0) left -= begun < left ? begun : left;
    out->steps_left += (double)left * steps;
    end += l->phase[p].generations;
  }
  out->n_control = l->n_control;
  for (int c = 0; c < l->n_control; c++)
    out->control_name[c] = mm_control_names[c];
}

const mm_learn_plan *mm_learn_get_plan(const mm_learn *l) {
  return &l->plan;
}

const mm_env *mm_learn_get_env(const mm_learn *l, size_t i) {
  return l->env[i];
}

mm_learn_stage mm_learn_get_stage(const mm_learn *l) {
  return l->stage;
}

const char *mm_learn_folder(const mm_learn *l) {
  return mm_run_folder_of(l->run);
}

mm_run *mm_learn_run(mm_learn *l) {
  return l->run;
}

// Best effort: a run whose disk is full has nothing to say any more.
void mm_learn_note_end(mm_learn *l, const char *outcome) {
  if (l->session && mm_run_session_end(l->run, outcome) == MM_OK) l->session = false;
}
