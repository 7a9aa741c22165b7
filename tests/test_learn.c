// SPDX-License-Identifier: Apache-2.0
// Suite `learn`: the loop of a search against a slow and obvious one, plans and their text, phases,
// several environments, failures in the middle, memory and database over many generations.

#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/status.h"
#include "study/jobs/job_store_internal.h"
#include "study/learn/learn_internal.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Folders that vanish

static char folder[256];

static int open_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "%s/mm-learn-XXXXXX",
           getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  return mkdtemp(folder) ? 0 : -1;
}

static int close_folder(void **state) {
  (void)state;
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static const char *path_of(const char *name) {
  static char path[2][400];
  static int turn;
  turn = !turn;
  snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
  return path[turn];
}

// A search that takes no time.
static mm_learn_plan *tiny_plan(void) {
  mm_learn_plan *plan = calloc(1, sizeof *plan);
  plan->n_env = 1;
  snprintf(plan->env[0], sizeof plan->env[0], "GridWorld-small");
  plan->settings = mm_settings_default(MM_ALGO_PMD);
  mm_pmd_config *pmd = &plan->settings.pmd;
  pmd->steps = 64;
  pmd->envs = 4;
  pmd->unroll = 8;
  mm_search *search = &plan->settings.search;
  search->population = 6;
  search->generations = 4;
  search->validation_every = 2;
  search->validation_tasks = 3;
  plan->seed = 7;
  return plan;
}

static void advance_to(mm_learn *l, int64_t generation) {
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  mm_study_search view;
  do {
    assert_ok(mm_learn_advance(l, &backend));
    mm_learn_look(l, &view);
  } while (view.generation < generation);
}

static mm_learn *run_plan(const char *name, const mm_learn_plan *plan) {
  mm_learn *l;
  assert_ok(mm_learn_create(path_of(name), plan, &l));
  mm_study_search view;
  mm_learn_look(l, &view);
  advance_to(l, view.generations);
  assert_true(mm_learn_done(l));
  return l;
}

// ---------------------------------------------------------------------------------------------
// The loop

static double train(const mm_env *env, const mm_map *map, const mm_pmd_config *pmd, uint64_t seed) {
  mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = pmd, .seed = seed };
  mm_result result;
  assert_ok(mm_job_run(&job, NULL, &result));
  double value = result.final_value;
  mm_result_release(&result);
  return value;
}

// The same search written down once more, without database, backend or pieces.
static void test_against_plain_loop(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_learn *l = run_plan("plain", plan);
  const mm_search *search = &plan->settings.search;
  mm_es_config config = mm_search_es(search, plan->seed);
  assert_int_equal(config.dimension, MM_NEURAL_SEARCH);
  double start[MM_NEURAL_SEARCH], member[6][MM_NEURAL_SEARCH], fitness[6];
  assert_ok(mm_map_search_initial(MM_MAP_NEURAL, 0, start));
  mm_es *es;
  mm_env *env;
  assert_ok(mm_es_create(&config, start, &es));
  assert_ok(mm_env_open(plan->env[0], &env));
  for (uint32_t g = 0; g < 4; g++) {
    assert_ok(mm_es_ask(es, &member[0][0]));
    for (int i = 0; i < 6; i++) {
      mm_map *map;
      uint32_t pair = (uint32_t)(i / 2); // both members of a pair see the same task and numbers
      uint64_t seed = mm_stream_pair(mm_stream_make(7, g, MM_RNG_EVOLVE_SEED, pair), 0);
      assert_ok(mm_map_from_search(MM_MAP_NEURAL, 0, member[i], &map));
      fitness[i] = train(env, map, &plan->settings.pmd, seed);
      mm_map_destroy(map);
    }
    assert_ok(mm_es_tell(es, fitness));
  }
  assert_memory_equal(l->stored_mean, mm_es_mean(es), sizeof start);
  // and its validation
  mm_map *map;
  double value[3];
  assert_ok(mm_map_from_search(MM_MAP_NEURAL, 0, mm_es_mean(es), &map));
  for (uint64_t t = 0; t < 3; t++)
    value[t] = train(env, map, &plan->settings.pmd,
                     mm_stream_pair(mm_stream_make(7, 0, MM_RNG_VALIDATION, 0), t));
  mm_study_search view;
  mm_learn_look(l, &view);
  assert_int_equal(view.last.generation, 4);
  assert_true(view.last.value.mean == mm_estimate_of(value, 3).mean);
  mm_map_destroy(map);
  mm_env_destroy(env);
  mm_es_destroy(es);
  mm_learn_close(l);
  free(plan);
}

// Two environments under sep-cma-es: every member meets both, and the fitness is the mean of ranks.
static void test_several_environments(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  plan->n_env = 2;
  snprintf(plan->env[1], sizeof plan->env[1], "GridWorld-sparse");
  assert_ok(mm_settings_set(&plan->settings, "es", "sep-cma-es"));
  assert_ok(mm_settings_set(&plan->settings, "kind", "piecewise"));
  plan->settings.search.n = 5;
  plan->settings.search.generations = 1;
  plan->settings.search.seeds_per_member = 2;
  mm_learn *l = run_plan("both", plan);
  assert_int_equal(l->n_task, 4);
  for (int i = 0; i < 6; i++) {
    double expected = 0;
    for (int e = 0; e < 2; e++) {
      double mean[6], below = 0;
      for (int m = 0; m < 6; m++)
        mean[m] = (l->job_row[m * 4 + 2 * e].value + l->job_row[m * 4 + 2 * e + 1].value) / 2;
      for (int m = 0; m < 6; m++)
        below += mean[m] < mean[i] ? 1 : m != i && mean[m] == mean[i] ? 0.5 : 0;
      expected += (below / 5 - 0.5) / 2;
    }
    assert_true(fabs(l->fitness[i] - expected) < 1e-12);
    for (int j = 0; j < 4; j++) {
      assert_int_equal(l->job_row[i * 4 + j].env, j / 2);
      assert_true(l->job_row[i * 4 + j].seed == l->job_row[j].seed);
    }
  }
  mm_learn_close(l);
  free(plan);
}

// A return on the scale of its environment, of two: by the four controls on three tasks.
static double scaled(const mm_learn *l, const mm_run_job *row) {
  double mean = 0, variance = 0;
  for (int i = 0; i < 12; i++)
    mean += l->controls.value[i / 3][3 * row->env + i % 3] / 12;
  for (int i = 0; i < 12; i++)
    variance += pow(l->controls.value[i / 3][3 * row->env + i % 3] - mean, 2) / 12;
  assert_true(variance > 0);
  return (row->value - mean) / sqrt(variance);
}

// The same with median and CVaR: returns of both environments in units of the controls' spread, in
// one pool. Written down once more, from the rows.
static void test_pooled_fitness(void **state) {
  (void)state;
  static const char *const word[] = { "median", "cvar:0.3", "cvar:1" };
  for (int w = 0; w < 3; w++) {
    mm_learn_plan *plan = tiny_plan();
    plan->n_env = 2;
    snprintf(plan->env[1], sizeof plan->env[1], "GridWorld-sparse");
    assert_ok(mm_settings_set(&plan->settings, "es", "sep-cma-es"));
    assert_ok(mm_settings_set(&plan->settings, "kind", "tsallis"));
    assert_ok(mm_settings_set(&plan->settings, "fitness", word[w]));
    plan->settings.search.generations = 1;
    plan->settings.search.seeds_per_member = 2;
    mm_learn *l = run_plan(word[w], plan);
    for (int i = 0; i < 6; i++) {
      double x[4];
      for (int j = 0; j < 4; j++)
        x[j] = scaled(l, &l->job_row[4 * i + j]);
      for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++)
          if (x[b] < x[a]) {
            double kept = x[a];
            x[a] = x[b];
            x[b] = kept;
          }
      double expected[] = { (x[1] + x[2]) / 2, (x[0] + x[1]) / 2, (x[0] + x[1] + x[2] + x[3]) / 4 };
      assert_true(fabs(l->fitness[i] - expected[w]) < 1e-9);
    }
    mm_learn_close(l);
    free(plan);
  }
}

// Pairs meet one environment each, and are compared across environments where fitness is not ranked
// in pairs.
static void test_pairs_on_one_scale(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  plan->n_env = 2;
  snprintf(plan->env[1], sizeof plan->env[1], "GridWorld-sparse");
  assert_ok(mm_settings_set(&plan->settings, "shaping", "raw"));
  assert_ok(mm_settings_set(&plan->settings, "kind", "tsallis"));
  assert_ok(mm_settings_set(&plan->settings, "fitness", "cvar:1"));
  plan->settings.search.generations = 1;
  mm_learn *l = run_plan("pairs", plan);
  assert_int_equal(l->n_task, 1);
  for (int i = 0; i < 6; i++) {
    assert_int_equal(l->job_row[i].env, i / 2 % 2);
    assert_true(fabs(l->fitness[i] - scaled(l, &l->job_row[i])) < 1e-9);
  }
  mm_learn_close(l);
  free(plan);
}

// A run that failed is the worst of its candidate: CVaR has no value then, the median may.
static void test_fitness_with_failures(void **state) {
  (void)state;
  mm_fitness median = { .share = 0 }, worst = { .share = 0.25 }, all = { .share = 1 };
  double x[] = { 3, -INFINITY, 1, 2 };
  assert_true(mm_learn_fitness(worst, x, 4) == -INFINITY);
  assert_true(mm_learn_fitness(all, x, 4) == -INFINITY);
  assert_true(mm_learn_fitness(median, x, 4) == 1.5);
  double half[] = { 5, -INFINITY }, one[] = { 7 };
  assert_true(mm_learn_fitness(median, half, 2) == -INFINITY);
  assert_true(mm_learn_fitness(median, one, 1) == 7 && mm_learn_fitness(worst, one, 1) == 7);
}

// Phases change the length of trainings, and each has its own controls.
static void test_phases(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  assert_ok(mm_settings_set(&plan->settings, "schedule", "2x64,3x128"));
  mm_learn *l = run_plan("phases", plan);
  mm_study_search view;
  mm_learn_look(l, &view);
  assert_int_equal(view.generations, 5);
  assert_int_equal(view.phase, 1);
  assert_int_equal(view.env_steps, 6 * (2 * 64 + 3 * 128));
  assert_int_equal(view.control[0].generation, 2);
  assert_true(view.best.generation >= 2);
  mm_learn_close(l);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Restarts

// Agents that do not learn: all candidates are equal, so the strategy restarts after 10 + 30 n /
// lambda generations.
static mm_learn_plan *flat_plan(void) {
  mm_learn_plan *plan = tiny_plan();
  snprintf(plan->env[0], sizeof plan->env[0], "%s", path_of("task.yaml")); // the same for all seeds
  FILE *file = fopen(plan->env[0], "w");
  assert_non_null(file);
  fputs("grid: 4\nstart: [0, 0]\n"
        "objects:\n  - {cell: [3, 3], reward: 1, terminate: 1, respawn: 0}\n",
        file);
  fclose(file);
  plan->settings.pmd.lr = 0;
  assert_ok(mm_settings_set(&plan->settings, "es", "cma-es"));
  assert_ok(mm_settings_set(&plan->settings, "kind", "tsallis"));
  plan->settings.search.restarts = 2;
  plan->settings.search.generations = 34; // 6 members for 15, 12 for 13, 24 for 6
  plan->settings.search.validation_every = 100;
  return plan;
}

static void test_restarts(void **state) {
  (void)state;
  mm_learn_plan *plan = flat_plan();
  mm_learn *l = run_plan("restarts", plan), *pieces;
  mm_study_search view, parted;
  mm_learn_look(l, &view);
  assert_int_equal(mm_es_restarts(l->es), 2);
  assert_int_equal(view.jobs_per_generation, 24);
  assert_int_equal(view.evaluations, 6 * 15 + 12 * 13 + 24 * 6);
  // the mean is validated before it is left behind
  assert_true(view.best.generation == 0 && view.last.generation == 34);
  // and its card knows what all generations took
  mm_map *best;
  char path[480];
  snprintf(path, sizeof path, "%s/best.json", path_of("restarts"));
  assert_ok(mm_map_load(path, &best));
  assert_true(mm_study_card_steps(mm_map_meta(best)) == (double)view.env_steps);
  mm_map_destroy(best);
  // stopped after every step, it comes to the same
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  assert_ok(mm_learn_create(path_of("parted"), plan, &pieces));
  while (!mm_learn_done(pieces)) {
    mm_learn_close(pieces);
    assert_ok(mm_learn_resume(path_of("parted"), 0, &pieces));
    if (!mm_learn_done(pieces)) assert_ok(mm_learn_advance(pieces, &backend));
  }
  mm_learn_look(pieces, &parted);
  assert_int_equal(parted.evaluations, view.evaluations);
  assert_int_equal(parted.env_steps, view.env_steps);
  assert_int_equal(pieces->best_evaluations, l->best_evaluations);
  assert_memory_equal(pieces->state, l->state, mm_es_state_size(l->es));
  mm_learn_close(pieces);
  mm_learn_close(l);
  // what the largest generation takes is known before the first one
  assert_ok(mm_settings_set(&plan->settings, "es", "sep-cma-es"));
  assert_ok(mm_settings_set(&plan->settings, "kind", "piecewise"));
  plan->settings.search.n = 100000;
  plan->settings.search.restarts = 20;
  assert_fails(mm_learn_create(path_of("huge"), plan, &l), MM_ERR_INPUT, "of memory needed");
  plan->settings.search.restarts = 1;
  plan->n_env = 2;
  snprintf(plan->env[1], sizeof plan->env[1], "GridWorld-sparse");
  assert_fails(mm_learn_create(path_of("ranks"), plan, &l), MM_ERR_INPUT, "several environments");
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Interruption and resumption inside the process

static void test_resume_anywhere(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_learn *whole = run_plan("whole", plan);
  mm_learn *l;
  assert_ok(mm_learn_create(path_of("pieces"), plan, &l));
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  int steps = 0;
  while (!mm_learn_done(l)) {
    mm_learn_close(l);
    assert_ok(mm_learn_resume(path_of("pieces"), 0, &l));
    if (!mm_learn_done(l)) assert_ok(mm_learn_advance(l, &backend));
    steps++;
  }
  assert_int_equal(steps, 5); // the controls and four generations
  mm_study_search a, b;
  mm_learn_look(whole, &a);
  mm_learn_look(l, &b);
  assert_memory_equal(whole->stored_mean, l->stored_mean, MM_NEURAL_SEARCH * sizeof(double));
  assert_memory_equal(whole->best, l->best, MM_NEURAL_SEARCH * sizeof(double));
  assert_int_equal(a.best.generation, b.best.generation);
  assert_true(a.best.over_l2.mean == b.best.over_l2.mean);
  assert_int_equal(a.env_steps, b.env_steps);
  assert_int_equal(a.evaluations, b.evaluations);
  mm_learn_close(whole);
  mm_learn_close(l);
  free(plan);
}

// Every way to search resumes to the same bits; maps on the way are what the setting promises.
static void check_way(const char *name, const char *const (*set)[2], size_t n_set) {
  mm_learn_plan *plan = tiny_plan();
  char other[64];
  for (size_t i = 0; i < n_set; i++)
    assert_ok(mm_settings_set(&plan->settings, set[i][0], set[i][1]));
  mm_learn *whole = run_plan(name, plan), *l;
  snprintf(other, sizeof other, "%s-again", name);
  assert_ok(mm_learn_create(path_of(other), plan, &l));
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  while (!mm_learn_done(l)) {
    mm_learn_close(l);
    assert_ok(mm_learn_resume(path_of(other), 0, &l));
    assert_ok(mm_learn_advance(l, &backend));
  }
  const size_t d = mm_es_get_config(l->es)->dimension;
  assert_memory_equal(whole->stored_mean, l->stored_mean, d * sizeof(double));
  assert_memory_equal(whole->best, l->best, d * sizeof(double));
  assert_memory_not_equal(whole->stored_mean, whole->first, d * sizeof(double));

  mm_map *map, *best;
  assert_ok(mm_learn_point_map(whole, whole->best, &map));
  snprintf(other, sizeof other, "%s/best.json", name);
  assert_ok(mm_map_load(path_of(other), &best));
  const mm_search *search = &plan->settings.search;
  assert_int_equal(mm_map_stages(best), search->stages);
  assert_true((mm_map_eta(best) > 0) == (search->search_eta != 0));
  assert_true(mm_map_eta(best) == mm_map_eta(map));
  const double p[3] = { 0, 0.5, 1 };
  double x[3], start[3];
  assert_ok(mm_map_phi_inverse(whole->control_map[MM_CONTROL_INITIAL], p, 3, start));
  for (size_t s = 0; s < mm_map_stages(best); s++) {
    assert_ok(mm_map_phi_inverse(mm_map_stage(best, s), p, 3, x));
    if (search->search == MM_SEARCH_SHAPE)
      assert_true(fabs((x[2] - x[1]) - (start[2] - start[1])) < 1e-11);
    if (search->search == MM_SEARCH_SIMPLEX) assert_true(fabs(x[2] - x[0] - 1) < 1e-11);
    if (search->search == MM_SEARCH_SCALE && search->kind == 1)
      assert_true(fabs((x[2] - x[0]) / (x[2] - x[1]) -
                       (start[2] - start[0]) / (start[2] - start[1])) < 1e-10);
  }
  mm_map_destroy(best);
  mm_map_destroy(map);
  mm_learn_close(whole);
  mm_learn_close(l);
  free(plan);
}

static void test_ways_to_search(void **state) {
  (void)state;
  int ways = 0;
#define WAY(name, ...)                                                                             \
  do {                                                                                             \
    static const char *const set[][2] = { __VA_ARGS__ };                                           \
    if (ways++ % 3 == 2 || !test_is_slowed()) check_way(name, set, sizeof set / sizeof *set);      \
  } while (0)
  WAY("eta", { "search_eta", "on" });
  WAY("eta-cma", { "search_eta", "on" }, { "es", "sep-cma-es" }, { "kind", "piecewise" });
  WAY("eta-tsallis", { "search_eta", "on" }, { "es", "cma-es" }, { "kind", "tsallis" });
  WAY("shape", { "search", "shape" });
  WAY("shape-pieces", { "search", "shape" }, { "kind", "piecewise" }, { "n", "9" });
  WAY("shape-powers", { "search", "shape" }, { "kind", "powers" }, { "n", "3" });
  WAY("scale", { "search", "scale" }, { "es", "sep-cma-es" });
  WAY("scale-pieces", { "search", "scale" }, { "kind", "piecewise" }, { "n", "9" });
  WAY("simplex", { "search", "simplex" }, { "kind", "piecewise" }, { "n", "9" });
  WAY("stages", { "stages", "2" }, { "kind", "piecewise" }, { "n", "9" });
  WAY("all", { "stages", "4" }, { "search", "shape" }, { "search_eta", "on" }, { "kind", "powers" },
      { "n", "4" });
#undef WAY

  mm_learn_plan *plan = tiny_plan();
  mm_learn *l;
  static const char *const bad[][4] = { { "tsallis", "search", "scale", "no scale of their own" },
                                        { "neural", "search", "simplex", "for maps of kind piece" },
                                        { "powers", "stages", "2", "expected at most 4" } };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mm_settings usual = plan->settings;
    assert_ok(mm_settings_set(&plan->settings, "kind", bad[i][0]));
    assert_ok(mm_settings_set(&plan->settings, "n", "5"));
    assert_ok(mm_settings_set(&plan->settings, bad[i][1], bad[i][2]));
    assert_fails(mm_learn_create(path_of("bad"), plan, &l), MM_ERR_INPUT, bad[i][3]);
    plan->settings = usual;
  }
  free(plan);
}

// Candidates train with their own step size: one far too large does worse than its twin.
static void test_candidates_have_their_eta(void **state) {
  (void)state;
  mm_env *env;
  assert_ok(mm_env_open("GridWorld-small", &env));
  double z[MM_NEURAL_SEARCH];
  assert_ok(mm_map_search_initial(MM_MAP_NEURAL, 0, z));
  mm_pmd_config config = mm_pmd_config_default(), with = config;
  config.steps = with.steps = 4096;
  with.eta = 0.7;
  mm_job job = { .env = env, .config = &config, .seed = 3 }, twin = job;
  job.point.kind = twin.point.kind = MM_MAP_NEURAL;
  job.point.z = twin.point.z = z;
  job.point.eta = 0.7;
  twin.config = &with;
  mm_result a, b, c;
  assert_ok(mm_job_run(&job, NULL, &a));
  assert_ok(mm_job_run(&twin, NULL, &b));
  assert_true(a.final_value == b.final_value);
  job.point.eta = 0;
  assert_ok(mm_job_run(&job, NULL, &c));
  assert_true(c.final_value != a.final_value);
  mm_result_release(&a);
  mm_result_release(&b);
  mm_result_release(&c);
  mm_env_destroy(env);
}

static volatile int stop_now;

// The end of the population is the last moment before the validation.
static void stop_before_validation(size_t done, size_t total, uint64_t env_steps, void *user) {
  mm_study_search view;
  (void)env_steps;
  mm_learn_look(user, &view);
  if (view.stage == MM_STAGE_POPULATION && done == total) stop_now = 1;
}

// Stopped between the strategy's step and the commit: the step must be undone.
static void test_interrupted_step_is_undone(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_learn *whole = run_plan("whole", plan), *l;
  assert_ok(mm_learn_create(path_of("cut"), plan, &l));
  advance_to(l, 1);
  double before[MM_NEURAL_SEARCH];
  memcpy(before, mm_es_mean(l->es), sizeof before);
  stop_now = 0;
  mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                .threads = 1,
                                .stop = &stop_now,
                                .progress = stop_before_validation,
                                .user = l };
  assert_int_equal(mm_learn_advance(l, &backend), MM_ERR_INTERRUPTED);
  mm_study_search view;
  mm_learn_look(l, &view);
  assert_int_equal(view.generation, 1);
  assert_memory_equal(mm_es_mean(l->es), before, sizeof before);
  stop_now = 0;
  backend.progress = NULL;
  while (!mm_learn_done(l))
    assert_ok(mm_learn_advance(l, &backend));
  assert_memory_equal(whole->stored_mean, l->stored_mean, MM_NEURAL_SEARCH * sizeof(double));
  mm_learn_close(whole);
  mm_learn_close(l);
  free(plan);
}

static void stop_while_asking(size_t done, size_t total, uint64_t env_steps, void *user) {
  mm_study_search view;
  (void)done, (void)total, (void)env_steps;
  mm_learn_look(user, &view);
  if (view.stage == MM_STAGE_POPULATION) stop_now = 1;
}

// Time that is up while candidates are drawn ends the step there: none of them is trained.
static void test_stopped_while_asking(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_learn *l;
  mm_study_search before, after;
  assert_ok(mm_learn_create(path_of("asking"), plan, &l));
  advance_to(l, 1);
  mm_learn_look(l, &before);
  stop_now = 0;
  mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                .threads = 1,
                                .stop = &stop_now,
                                .progress = stop_while_asking,
                                .user = l };
  assert_int_equal(mm_learn_advance(l, &backend), MM_ERR_INTERRUPTED);
  mm_learn_look(l, &after);
  assert_int_equal(after.generation, 1);
  assert_int_equal(after.session_env_steps, before.session_env_steps);
  mm_learn_close(l);
  free(plan);
}

// What a generation would take is known before any of it is taken.
static void test_memory_is_predicted(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_learn *l;
  plan->settings.search.population = 1e6;
  plan->settings.search.seeds_per_member = 100;
  plan->settings.search.kind = 1; // piecewise
  plan->settings.search.n = 100000;
  assert_fails(mm_learn_create(path_of("huge"), plan, &l), MM_ERR_INPUT, "of memory needed");
  assert_null(l);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Racing

enum { RACERS = 7, RACE_SEEDS = 2, RACE_ITERATIONS = 40, RACE_BATCH = 64 };

static mm_learn_plan *race_plan(void) {
  mm_learn_plan *plan = calloc(1, sizeof *plan);
  plan->n_env = 1;
  snprintf(plan->env[0], sizeof plan->env[0], "CartPole-v1");
  plan->settings = mm_settings_default(MM_ALGO_AMPO);
  static const char *const words[][2] = {
    { "steps", "2560" },         { "envs", "4" },
    { "unroll", "16" },          { "minibatches", "2" },
    { "epochs", "2" },           { "hidden", "8" },
    { "population", "7" },       { "generations", "1" },
    { "sigma", "1.5" },          { "kind", "tsallis" },
    { "seeds_per_member", "2" }, { "racing", "on" },
    { "schedule", "-" },         { "es", "sep-cma-es" },
    { "validation_tasks", "2" },
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    assert_ok(mm_settings_set(&plan->settings, words[i][0], words[i][1]));
  plan->seed = 3;
  return plan;
}

// The returns of undisturbed runs of one candidate, iteration by iteration.
static void train_racer(const mm_learn *l, size_t i, double curve[RACE_SEEDS][RACE_ITERATIONS]) {
  mm_settings settings = mm_learn_phase_settings(l, 0);
  for (size_t j = 0; j < RACE_SEEDS; j++) {
    mm_job job = { .env = l->envs.env[0],
                   .seed = l->job_row[i * RACE_SEEDS + j].seed,
                   .point = { .kind = MM_MAP_TSALLIS, .z = l->member + i } };
    mm_settings_bind(&settings, &job);
    mm_result result;
    assert_ok(mm_job_run(&job, NULL, &result));
    assert_int_equal(result.n_curve, RACE_ITERATIONS);
    memcpy(curve[j], result.curve, sizeof curve[j]);
    mm_result_release(&result);
  }
}

// The race once more, from whole runs: at 20 and 50 % the worse half is dropped, rounded down.
static void test_racing(void **state) {
  (void)state;
  static const int at[] = { 8, 20, 40 }, goes_on[] = { 4, 2, 0 }; // iterations done, members after
  mm_learn_plan *plan = race_plan();
  mm_learn *l = run_plan("race", plan);
  double curve[RACERS][RACE_SEEDS][RACE_ITERATIONS], value[RACERS];
  bool alive[RACERS];
  for (size_t i = 0; i < RACERS; i++) {
    train_racer(l, i, curve[i]);
    alive[i] = true;
  }
  uint64_t steps = 0;
  int behind = 0;
  for (int round = 0; round < 3; round++) {
    bool drops[RACERS] = { false };
    int n_dropped = RACERS - behind - goes_on[round];
    for (int i = 0; i < RACERS; i++)
      value[i] = (curve[i][0][at[round] - 1] + curve[i][1][at[round] - 1]) / 2;
    for (int i = 0; i < RACERS; i++) {
      int worse = 0;
      for (int k = 0; k < RACERS && alive[i]; k++)
        worse += alive[k] && value[k] < value[i];
      drops[i] = alive[i] && worse < n_dropped;
      if (!drops[i]) continue;
      assert_true(l->fitness[i] == behind + worse);
      for (int j = 0; j < RACE_SEEDS; j++) {
        const mm_run_job *row = &l->job_row[i * RACE_SEEDS + j];
        assert_true(row->value == curve[i][j][at[round] - 1]);
        assert_int_equal(row->env_steps, at[round] * RACE_BATCH);
        steps += row->env_steps;
      }
      assert_true(round == 2 ? l->raw[i] == value[i] : isnan(l->raw[i]));
    }
    for (int i = 0; i < RACERS; i++)
      alive[i] = alive[i] && !drops[i];
    behind += n_dropped;
  }
  mm_study_search view;
  mm_learn_look(l, &view);
  assert_int_equal(view.env_steps, steps);
  assert_int_equal(steps, RACE_SEEDS * RACE_BATCH * (3 * 8 + 2 * 20 + 2 * 40));
  assert_int_equal(view.nonfinite, 0);
  // what is trained is trained once: the states of the rounds are used (8 validation runs besides)
  assert_int_equal(view.session_env_steps, steps + (4 + 1) * 2 * RACE_BATCH * RACE_ITERATIONS);
  mm_learn_close(l);
  free(plan);
}

// With several environments the fitness of those that are left is a mean of ranks; one that is left
// alone has won.
static void test_racing_several_environments(void **state) {
  (void)state;
  mm_learn_plan *plan = race_plan();
  plan->n_env = 2;
  snprintf(plan->env[1], sizeof plan->env[1], "MountainCar-v0");
  plan->settings.search.population = 4;
  assert_ok(mm_settings_set(&plan->settings, "envs", "2")); // episodes end in the first round
  assert_ok(mm_settings_set(&plan->settings, "unroll", "64"));
  assert_ok(mm_settings_set(&plan->settings, "steps", "4096"));
  mm_learn *l = run_plan("race", plan);
  mm_study_search view;
  mm_learn_look(l, &view);
  assert_int_equal(view.nonfinite, 0);
  double most = 0;
  for (int i = 0; i < 4; i++)
    most = fmax(most, l->fitness[i]);
  assert_true(most == 3);
  mm_learn_close(l);
  free(plan);
}

static int rounds_to_go;

// At the end of a round, when there are none to go.
static void stop_after_rounds(size_t done, size_t total, uint64_t env_steps, void *user) {
  mm_study_search view;
  (void)env_steps;
  mm_learn_look(user, &view);
  if (view.stage == MM_STAGE_POPULATION && done == total && total > 0 && rounds_to_go-- == 0)
    stop_now = 1;
}

// Stopped in every round, and gone on by another process or by this one: the same bits.
static void test_racing_resumes(void **state) {
  (void)state;
  mm_learn_plan *plan = race_plan();
  plan->settings.search.generations = 2;
  mm_learn *whole = run_plan("whole", plan), *l;
  for (int again = 0; again < 2; again++) {
    const char *name = again ? "reopened" : "continued";
    assert_ok(mm_learn_create(path_of(name), plan, &l));
    for (int stops = 0; !mm_learn_done(l); stops++) {
      stop_now = 0;
      rounds_to_go = stops % 4;
      mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                    .threads = 2,
                                    .stop = &stop_now,
                                    .progress = stop_after_rounds,
                                    .user = l };
      mm_status status = mm_learn_advance(l, &backend);
      assert_true(status == MM_OK || status == MM_ERR_INTERRUPTED);
      if (!again) continue;
      mm_learn_close(l);
      assert_ok(mm_learn_resume(path_of(name), 0, &l));
    }
    assert_memory_equal(whole->state, l->state, mm_es_state_size(l->es));
    mm_study_search a, b;
    mm_learn_look(whole, &a);
    mm_learn_look(l, &b);
    assert_int_equal(a.env_steps, b.env_steps);
    assert_true(a.fitness_mean == b.fitness_mean);
    mm_learn_close(l);
  }
  mm_learn_close(whole);
  free(plan);
}

static void test_racing_refusals(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_learn *l;
  assert_ok(mm_settings_set(&plan->settings, "racing", "on"));
  assert_fails(mm_learn_create(path_of("pmd"), plan, &l), MM_ERR_INPUT, "no checkpoints");
  free(plan);
  plan = race_plan();
  plan->settings.search.restarts = 1;
  assert_fails(mm_learn_create(path_of("restarts"), plan, &l), MM_ERR_INPUT, "restarts=0");
  plan->settings.search.restarts = 0;
  plan->settings.search.population = 8;
  assert_ok(mm_settings_set(&plan->settings, "es", "openes"));
  assert_fails(mm_learn_create(path_of("openes"), plan, &l), MM_ERR_INPUT, "members of pairs");
  free(plan);
}

static int count_row(const mm_run_row *row, void *user) {
  (void)row;
  ++*(int *)user;
  return 0;
}

static int kept_rows(mm_learn *l) {
  int n = 0;
  assert_ok(mm_run_each(mm_learn_study(l)->run, MM_RUN_KEPT, count_row, &n));
  return n;
}

// What was trained before the interruption is not trained again by whoever goes on, and leaves no
// trace in the end. Rows that are something else are passed over.
static void test_results_are_kept(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_learn *whole = run_plan("whole", plan), *l;
  assert_ok(mm_learn_create(path_of("kept"), plan, &l));
  advance_to(l, 1);
  assert_int_equal(kept_rows(l), 0);
  stop_now = 0;
  mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                .threads = 1,
                                .stop = &stop_now,
                                .progress = stop_before_validation,
                                .user = l };
  assert_int_equal(mm_learn_advance(l, &backend), MM_ERR_INTERRUPTED);
  assert_int_equal(kept_rows(l), 6);
  assert_ok(mm_run_keep(mm_learn_study(l)->run, 1000000, "stray", 5));
  mm_learn_close(l);
  assert_ok(mm_learn_resume(path_of("kept"), 0, &l));
  mm_study_search view;
  stop_now = 0;
  backend.progress = NULL;
  assert_ok(mm_learn_advance(l, &backend));
  mm_learn_look(l, &view);
  assert_int_equal(view.generation, 2);
  assert_int_equal(view.session_env_steps, 3 * 64); // the validation
  assert_int_equal(kept_rows(l), 0);
  assert_ok(mm_learn_advance(l, &backend));
  mm_learn_look(l, &view);
  assert_int_equal(view.session_env_steps, (3 + 6) * 64);
  assert_ok(mm_learn_advance(l, &backend));
  assert_memory_equal(whole->stored_mean, l->stored_mean, MM_NEURAL_SEARCH * sizeof(double));
  mm_study_search a;
  mm_learn_look(whole, &a);
  mm_learn_look(l, &view);
  assert_int_equal(a.env_steps, view.env_steps);
  mm_learn_close(whole);
  mm_learn_close(l);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Plans as text

// As it comes out of a database.
static mm_status read_plan(const char *text, mm_learn_plan *plan, mm_learn_start *start,
                           mm_plan_envs *envs) {
  cJSON *root;
  memset(plan, 0, sizeof *plan);
  *start = (mm_learn_start){ 0 };
  *envs = (mm_plan_envs){ 0 };
  MM_TRY(mm_json_parse(text, strlen(text), "plan", &root));
  mm_status status = mm_learn_plan_read(root, "plan", plan, start, envs);
  cJSON_Delete(root);
  return status;
}

static char *plan_text(const mm_learn_plan *plan, const mm_learn_start *start,
                       const mm_plan_envs *envs) {
  char *text;
  assert_ok(mm_plan_print(mm_learn_plan_json(plan, start, envs), "a search", &text));
  return text;
}

// The tuned controls: with a budget or without; a search that began before has one less. The card
// tells of the steps of the whole search.
static void test_full_controls(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  const mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
  double value[3];
  for (int i = 0; i < 3; i++) {
    mm_learn *learn;
    mm_study_search view;
    const char *const name = (const char *const[]){ "full0", "full1", "full2" }[i];
    plan->early = i == 2;
    assert_ok(mm_settings_set(&plan->settings, "controls", "full"));
    assert_ok(mm_settings_set(&plan->settings, "tune_budget", i == 1 ? "20000" : "0"));
    assert_ok(mm_learn_create(path_of(name), plan, &learn));
    assert_ok(mm_learn_advance(learn, &backend));
    mm_learn_look(learn, &view);
    assert_int_equal(view.n_control, i == 2 ? 6 : 7);
    value[i] = view.control[5].value.mean; // l2 with eta tuned
    assert_true(view.control[view.n_control - 1].known && isfinite(value[i]));
    if (i < 2) assert_string_equal(view.control_name[6], "tsallis:tuned-q-eta");
    // eta twice: 72 runs of 64 steps; with q: 71
    const uint64_t tuning = i == 1 ? 3 * 20000 : (2 * 72 + (i == 0 ? 71 : 0)) * 64;
    const uint64_t made = view.session_env_steps - (uint64_t)view.n_control * 3 * 64;
    assert_true(i == 1 ? made <= tuning : made == tuning);
    mm_learn_close(learn);
    mm_map *map;
    char path[480];
    snprintf(path, sizeof path, "%s/best.json", path_of(name));
    assert_ok(mm_map_load(path, &map));
    assert_true(mm_study_card_steps(mm_map_meta(map)) == 6 * 4 * 64);
    mm_map_destroy(map);
  }
  assert_true(value[0] == value[2]);
  assert_true(mm_study_card_steps(NULL) == 0 && mm_study_card_steps("[]") == 0);
  assert_true(mm_study_card_steps("{\"env_steps\":123,\"generation\":2,\"evaluations\":8}") == 123);
  // of a start only the plan is known: pairs have one environment, other members all of them
#define START(es, more)                                                                            \
  mm_study_card_steps("{\"learned_on\":[\"a\",\"b\"],\"generation\":0,\"evaluations\":0,"          \
                      "\"settings\":{\"steps\":5},\"search\":{\"population\":8,\"generations\":3," \
                      "\"seeds_per_member\":2,\"es\":\"" es "\"" more "}}")
  assert_true(START("openes", "") == 3 * 5 * 16);
  assert_true(START("sep-cma-es", "") == 3 * 5 * 32);
  assert_true(fabs(START("sep-cma-es", ",\"racing\":\"on\"") - 0.475 * 3 * 5 * 32) < 1e-9);
  assert_true(START("none", "") == 0);
#undef START
  assert_true(mm_study_card_steps("{\"generation\":2,\"evaluations\":8,\"settings\":{\"steps\":5},"
                                  "\"search\":{\"schedule\":\"3x10,2x100\"}}") == 4 * 230);
  free(plan);
}

// At the end of the first list of which something was trained.
static void stop_after_list(size_t done, size_t total, uint64_t env_steps, void *user) {
  mm_learn *l = user;
  (void)env_steps;
  if (mm_learn_study(l)->store->n_job > 0 && done == total) stop_now = 1;
}

// Tuned one list a process, six of them: nothing is trained twice, and the same bits come out.
static void test_tuning_is_kept(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  const mm_backend_config quiet = { .size = sizeof quiet, .threads = 1 };
  mm_learn *whole, *l;
  mm_study_search a, b;
  assert_ok(mm_settings_set(&plan->settings, "controls", "full"));
  assert_ok(mm_learn_create(path_of("whole"), plan, &whole));
  assert_ok(mm_learn_advance(whole, &quiet));
  mm_learn_look(whole, &a);
  assert_ok(mm_learn_create(path_of("parts"), plan, &l));
  uint64_t steps = 0;
  // eta of two controls; q and eta of the third with 1, 2 and 4 seeds; all controls
  static const int trained[] = { 72, 72, 35, 18, 18, 21 };
  for (int i = 0; i < 6; i++) {
    mm_backend_config backend = { .size = sizeof backend,
                                  .threads = 1,
                                  .stop = &stop_now,
                                  .progress = stop_after_list,
                                  .user = l };
    stop_now = 0;
    assert_int_equal(mm_learn_advance(l, &backend), i < 5 ? MM_ERR_INTERRUPTED : MM_OK);
    mm_learn_look(l, &b);
    assert_int_equal(b.session_env_steps, 64 * trained[i]);
    steps += b.session_env_steps;
    if (i == 5) break;
    assert_int_equal(kept_rows(l) * 64, steps);
    mm_learn_close(l);
    assert_ok(mm_learn_resume(path_of("parts"), 0, &l));
  }
  assert_int_equal(steps, a.session_env_steps);
  assert_int_equal(kept_rows(l), 0);
  for (int c = 0; c < MM_LEARN_CONTROLS; c++)
    assert_memory_equal(whole->controls.value[c], l->controls.value[c], 3 * sizeof(double));
  mm_learn_close(whole);
  mm_learn_close(l);
  free(plan);
}

static int score_rows(mm_learn *l) {
  int n = 0;
  assert_ok(mm_run_each(mm_learn_study(l)->run, MM_RUN_SCORE, count_row, &n));
  return n;
}

// A search that began with one control less stays one, also when it is made longer.
static void test_early_is_lengthened(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan();
  mm_study_search view;
  plan->early = true;
  assert_ok(mm_settings_set(&plan->settings, "controls", "full"));
  mm_learn *l = run_plan("early", plan);
  mm_learn_close(l);
  assert_ok(mm_learn_resume(path_of("early"), 5, &l));
  advance_to(l, 5);
  assert_true(mm_learn_done(l));
  const int rows = score_rows(l);
  mm_learn_close(l);
  assert_ok(mm_learn_resume(path_of("early"), 0, &l));
  mm_learn_look(l, &view);
  assert_int_equal(view.n_control, 6);
  assert_true(mm_learn_done(l) && view.control[5].known);
  assert_int_equal(score_rows(l), rows);
  mm_learn_close(l);
  free(plan);
}

static void test_plan_round_trip(void **state) {
  (void)state;
  mm_learn_plan *plan = tiny_plan(), *back = calloc(1, sizeof *back);
  plan->seed = UINT64_MAX;
  plan->settings.search.sigma = 1.0 / 3;
  assert_ok(mm_settings_set(&plan->settings, "schedule", "2x64,3x128"));
  assert_ok(mm_settings_set(&plan->settings, "init", "random-neural:5"));
  mm_learn_start start = { 0 }, again;
  mm_plan_envs envs = { .n = 1 }, read;
  assert_ok(mm_learn_start_read(plan, &start));
  assert_int_equal(start.n, MM_NEURAL_SEARCH);
  char *text = plan_text(plan, &start, &envs);
  assert_ok(read_plan(text, back, &again, &read));
  assert_memory_equal(start.z, again.z, start.n * sizeof *start.z);
  char *second = plan_text(back, &again, &read);
  assert_string_equal(text, second);
  assert_true(back->seed == UINT64_MAX);
  assert_true(back->settings.search.sigma == 1.0 / 3);
  assert_false(back->early);
  mm_free(again.z);

  // runs of before have the start beside "start", and fewer controls
  cJSON *old = cJSON_Parse(text);
  cJSON_DeleteItemFromObject(cJSON_GetObjectItem(old, "learn"), "init");
  cJSON_DeleteItemFromObject(cJSON_GetObjectItem(old, "learn"), "tune_budget");
  cJSON_AddStringToObject(old, "init", "random-neural:5");
  char *older = cJSON_PrintUnformatted(old);
  memset(back, 0, sizeof *back);
  assert_ok(read_plan(older, back, &again, &read));
  assert_string_equal(mm_search_init(&back->settings.search), "random-neural:5");
  assert_true(back->early && back->settings.search.tune_budget == 0);
  mm_free(again.z);
  cJSON_free(older);
  cJSON_Delete(old);

  // every cut of the text is refused, with its source named
  for (size_t n = 0; n < strlen(text); n += 1 + n / 64) {
    char keep = text[n];
    text[n] = 0;
    assert_fails(read_plan(text, back, &again, &read), MM_ERR_INPUT, "plan");
    text[n] = keep;
  }
  mm_free(text);
  mm_free(second);
  mm_free(start.z);
  free(plan);
  free(back);
}

static void test_hostile_plans(void **state) {
  (void)state;
  static const char *const bad[] = {
    "{}",
    "[]",
    "{\"command\":\"train\"}",
    "{\"command\":\"learn\",\"env\":[],\"files\":[],\"algo\":\"pmd\",\"seed\":\"0\",\"init\":\"\","
    "\"start\":[],\"settings\":{},\"learn\":{}}",
    "{\"command\":\"learn\",\"env\":[\"x\"],\"files\":[1],\"algo\":\"pmd\",\"seed\":\"0\",\"init\":"
    "\"\",\"start\":[],\"settings\":{},\"learn\":{}}",
    "{\"command\":\"learn\",\"env\":[\"x\"],\"files\":[null],\"algo\":\"pmd\",\"seed\":\"-1\","
    "\"init\":\"\",\"start\":[],\"settings\":{},\"learn\":{}}",
    "{\"command\":\"learn\",\"env\":[\"x\"],\"files\":[null],\"algo\":\"pmd\",\"seed\":\"0\","
    "\"init\":\"\",\"start\":[],\"settings\":{\"steps\":1e99},\"learn\":{}}",
  };
  mm_learn_plan *plan = calloc(1, sizeof *plan);
  mm_learn_start start;
  mm_plan_envs envs;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_fails(read_plan(bad[i], plan, &start, &envs), MM_ERR_INPUT, "plan");
  free(plan);
}

// Where a run has no value its mean has no merit; where the baseline has none, values count alone.
static void test_merit(void **state) {
  (void)state;
  double base[4] = { 1, 3, NAN, -90 };
  const mm_learn_controls c = { .n_env = 2, .n_task = 4, .value = { base } };
  const double poor[4] = { 1, 3, -80, -80 }, good[4] = { 1, 3, -70, -70 },
               none[4] = { 5, 5, NAN, -60 };
  assert_true(mm_learn_merit(&c, good) > mm_learn_merit(&c, poor));
  assert_true(isnan(mm_learn_merit(&c, none)));
}

// The words of the settings are in the order of the enums they stand for.
static void test_words(void **state) {
  (void)state;
  mm_settings settings = mm_settings_default(MM_ALGO_PMD);
  for (int kind = 0; kind < MM_ES_KINDS; kind++) {
    assert_ok(mm_settings_set(&settings, "es", mm_es_name((mm_es_kind)kind)));
    assert_int_equal(mm_search_es(&settings.search, 0).kind, kind);
  }
#define CHECK(name, text)                                                                          \
  assert_ok(mm_settings_set(&settings, "es", "openes"));                                           \
  assert_ok(mm_settings_set(&settings, "shaping", text));                                          \
  assert_int_equal(mm_search_es(&settings.search, 0).shaping, MM_SHAPING_##name);
  MM_SHAPING_LIST(CHECK)
#undef CHECK
  static const char *const bad[] = { "5", "5x", "x5", "0x5", "5x5,", "5x5;6x6", "1.5x5", "5x5,6" };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_fails(mm_settings_set(&settings, "schedule", bad[i]), MM_ERR_INPUT, "schedule");
  mm_phase phase[MM_PHASES_MAX];
  assert_ok(mm_settings_set(&settings, "schedule", "500x1000000,100x10000000"));
  assert_int_equal(mm_search_phases(&settings.search, phase), 2);
  assert_int_equal(phase[0].generations, 500);
  assert_true(phase[1].steps == 1e7);
}

// ---------------------------------------------------------------------------------------------
// Over many generations

static size_t live_bytes;

static void *take_counted(size_t size, void *user) {
  (void)user;
  size_t *block = malloc(size + 16);
  if (!block) return NULL;
  *block = size;
  __atomic_add_fetch(&live_bytes, size, __ATOMIC_RELAXED);
  return (char *)block + 16;
}

static void give_counted(void *block, void *user) {
  (void)user;
  if (!block) return;
  size_t *start = (void *)((char *)block - 16);
  __atomic_sub_fetch(&live_bytes, *start, __ATOMIC_RELAXED);
  free(start);
}

static double database_size(const char *name) {
  struct stat found;
  char path[500];
  snprintf(path, sizeof path, "%s/run.db", path_of(name));
  return stat(path, &found) == 0 ? (double)found.st_size : NAN;
}

// Memory stays, the database grows by the same amount each time. MM_TEST_LONG=1: 10,000
// generations.
static void test_many_generations(void **state) {
  (void)state;
  const char *text = getenv("MM_TEST_LONG");
  int64_t part = text && strcmp(text, "1") == 0 ? 5000 : test_is_slowed() ? 40 : 150;
  mm_set_allocator(take_counted, give_counted, NULL);
  mm_learn_plan *plan = tiny_plan();
  plan->settings.pmd.steps = plan->settings.pmd.envs = plan->settings.pmd.unroll = 1;
  assert_ok(mm_settings_set(&plan->settings, "kind", "piecewise"));
  plan->settings.search.n = 4;
  plan->settings.search.generations = (double)(2 * part);
  plan->settings.search.validation_every = (double)part;
  mm_learn *l;
  assert_ok(mm_learn_create(path_of("many"), plan, &l));
  size_t memory[2];
  int64_t sqlite[2];
  double size[3];
  for (int64_t i = 0; i < 2; i++) {
    advance_to(l, 20 + i * (2 * part - 20));
    memory[i] = live_bytes;
    sqlite[i] = sqlite3_memory_used();
  }
  assert_int_equal(memory[0], memory[1]);
  // SQLite's cache of pages grows with the file, up to 2000 KiB
  int64_t cache = 65536 + 1024 * part < 2048000 ? 65536 + 1024 * part : 2048000;
  assert_true(sqlite[1] <= sqlite[0] + cache);
  mm_learn_close(l);
  size[2] = database_size("many");
  for (int i = 1; i <= 2; i++) { // the same search with half and none of the generations
    char name[16];
    snprintf(name, sizeof name, "many%d", i);
    plan->settings.search.generations = i == 1 ? (double)part : 1;
    l = run_plan(name, plan);
    mm_learn_close(l);
    size[2 - i] = database_size(name);
  }
  double first = size[1] - size[0], second = size[2] - size[1];
  if (!(fabs(second - first) <= 0.1 * first + 16384))
    fail_msg("grew by %.0f bytes, then by %.0f", first, second);
  free(plan);
  mm_set_allocator(NULL, NULL, NULL);
}

int suite_learn(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_against_plain_loop, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_several_environments, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_pooled_fitness, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_pairs_on_one_scale, open_folder, close_folder),
    cmocka_unit_test(test_fitness_with_failures),
    cmocka_unit_test_setup_teardown(test_racing, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_racing_several_environments, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_racing_resumes, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_racing_refusals, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_restarts, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_phases, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_resume_anywhere, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_ways_to_search, open_folder, close_folder),
    cmocka_unit_test(test_candidates_have_their_eta),
    cmocka_unit_test_setup_teardown(test_interrupted_step_is_undone, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_stopped_while_asking, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_memory_is_predicted, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_results_are_kept, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_full_controls, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_tuning_is_kept, open_folder, close_folder),
    cmocka_unit_test_setup_teardown(test_early_is_lengthened, open_folder, close_folder),
    cmocka_unit_test(test_plan_round_trip),
    cmocka_unit_test(test_hostile_plans),
    cmocka_unit_test(test_merit),
    cmocka_unit_test(test_words),
    cmocka_unit_test_setup_teardown(test_many_generations, open_folder, close_folder),
  };
  return cmocka_run_group_tests_name("learn", tests, NULL, NULL);
}
