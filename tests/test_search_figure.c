// SPDX-License-Identifier: Apache-2.0
// Suite `search_figure`: curves of a search against its rows, and pictures at every stage of a run.

#define _XOPEN_SOURCE 700

#include "test.h"

#include <ftw.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "show/figure/search_figure.h"
#include "show/plot/gnuplot.h"
#include "study/learn/search_curve.h"
#include "study/run/run.h"

static char folder[600];

static int make_folder(void **state) {
  (void)state;
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.500s/mirrormap-test-XXXXXX", parent ? parent : P_tmpdir);
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place) {
  (void)about, (void)kind, (void)place;
  return remove(path);
}

static int remove_folder(void **state) {
  (void)state;
  return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name) {
  static char path[700];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

// ---------------------------------------------------------------------------------------------
// A run. Task t of phase p is worth 10 t + p with l2; other maps add their own to that.

enum { TASKS = 6 };

static mm_run *open_run(void) {
  mm_run *run;
  assert_ok(mm_run_create(path_of("run-1"), "learn", "{}", &run));
  return run;
}

static double noise(int task, double spread) {
  return task % 2 == 0 ? spread : -spread;
}

static void put_scores(mm_run *run, int phase, int generation, const char *map, double gain,
                       double spread) {
  mm_run_score row[TASKS];
  for (int t = 0; t < TASKS; t++)
    row[t] = (mm_run_score){ .generation = generation,
                             .phase = phase,
                             .map = map,
                             .task = t,
                             .seed = (uint64_t)t,
                             .value = 10 * t + phase + gain + noise(t, spread),
                             .optimal = NAN,
                             .env_steps = 1 };
  assert_ok(mm_run_put_scores(run, row, TASKS));
}

static void begin_phase(mm_run *run, int phase, int generation) {
  assert_ok(mm_run_begin(run));
  put_scores(run, phase, generation, "negentropy", -1, 0);
  put_scores(run, phase, generation, "l2", 0, 0);
  put_scores(run, phase, generation, "random", -50, 1);
  put_scores(run, phase, generation, "initial", -2, 0);
  put_scores(run, phase, generation, "learned", 0.25 * generation - 2, 0.5);
  assert_ok(mm_run_commit(run));
}

static void put_generation(mm_run *run, int phase, int generation, bool validated) {
  mm_run_generation row = { .generation = generation,
                            .phase = phase,
                            .sigma = 0.5 * pow(0.9, generation),
                            .fitness_mean = generation > 0 ? (double)generation : NAN,
                            .fitness_sd = 1,
                            .fitness_best = NAN,
                            .state = "x",
                            .state_size = 1 };
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_generation(run, &row));
  if (validated) put_scores(run, phase, generation, "learned", 0.25 * generation - 2, 0.5);
  assert_ok(mm_run_commit(run));
}

// Four generations with a validation each, then eight of another phase.
static void fill_run(mm_run *run) {
  put_generation(run, 0, 0, false);
  begin_phase(run, 0, 0);
  for (int g = 1; g <= 4; g++)
    put_generation(run, 0, g, true);
  begin_phase(run, 1, 4);
  for (int g = 5; g <= 12; g++)
    put_generation(run, 1, g, g % 4 == 0);
}

// ---------------------------------------------------------------------------------------------

static size_t find_control(const mm_search_curve *c, const char *name) {
  size_t i = 0;
  while (i < c->n_control && strcmp(c->control[i].name, name) != 0)
    i++;
  return i;
}

static void assert_near(double got, double expected) {
  if (!(fabs(got - expected) < 1e-12)) fail_msg("%.15g, not %.15g", got, expected);
}

static void test_curve(void **state) {
  (void)state;
  mm_run *run = open_run();
  fill_run(run);
  mm_search_curve c;
  assert_ok(mm_search_curve_read(run, &c));
  assert_int_equal(c.n_generation, 13);
  assert_int_equal(c.n_control, 4);
  assert_int_equal(c.n_phase, 2);
  assert_true(c.phase_start[0] == 0 && c.phase_start[1] == 4 && c.end == 12);
  assert_string_equal(c.control[c.reference].name, "l2");
  for (size_t p = 0; p < 2; p++) {
    assert_near(c.control[find_control(&c, "negentropy")].value[p].mean, 24 + (double)p);
    assert_near(c.control[find_control(&c, "initial")].value[p].mean, 23 + (double)p);
    assert_near(c.control[find_control(&c, "random")].value[p].mean, -25 + (double)p);
    // tasks are 0, 10, .. 50
    assert_near(c.control[c.reference].value[p].sem, sqrt(350.0 / 6));
  }
  static const double generation[] = { 0, 1, 2, 3, 4, 4, 8, 12 };
  assert_int_equal(c.n_point, 8);
  for (size_t i = 0; i < 8; i++) {
    const mm_search_point *point = &c.point[i];
    assert_int_equal(point->phase, i > 4);
    assert_true(point->generation == generation[i]);
    double gain = 0.25 * generation[i] - 2;
    assert_near(point->value.mean, 25 + (i > 4) + gain);
    assert_near(point->difference.mean, gain);
    assert_near(point->difference.sem, sqrt(6 * 0.25 / 5 / 6)); // +-0.5 on every task
    assert_true(point->value.sem > 7);                          // what pairing is for
    mm_estimate minus = point->minus[find_control(&c, "negentropy")];
    assert_near(minus.mean, gain + 1);
    assert_near(minus.sem, point->difference.sem);
    assert_near(point->minus[find_control(&c, "initial")].mean, gain + 2);
    // the noise of random, +-1 on the same tasks, leaves half of it
    assert_near(point->minus[find_control(&c, "random")].mean, gain + 50);
    assert_near(point->minus[find_control(&c, "random")].sem, point->difference.sem);
  }
  mm_search_curve_release(&c);
  mm_run_close(run);
}

// Scores that are missing, tasks that the reference does not have.
static void test_holes(void **state) {
  (void)state;
  mm_run *run = open_run();
  put_generation(run, 0, 0, false);
  const double nan = NAN;
  const mm_run_score row[] = {
    { .map = "learned", .task = 1, .value = 5, .optimal = nan },
    { .map = "learned", .task = 2, .value = 7, .optimal = nan, .status = MM_ERR_NUMERIC },
    { .map = "learned", .task = 3, .value = 9, .optimal = nan },
    { .map = "negentropy", .task = 3, .value = 7, .optimal = nan },
    { .map = "negentropy", .task = 4, .value = 100, .optimal = nan },
    // a mean over the other one would flatter this generation
    { .map = "learned", .generation = 1, .task = 1, .value = 8, .optimal = nan },
    { .map = "learned", .generation = 1, .task = 2, .value = nan, .optimal = nan },
  };
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_scores(run, row, sizeof row / sizeof *row));
  assert_ok(mm_run_commit(run));
  mm_search_curve c;
  assert_ok(mm_search_curve_read(run, &c));
  assert_int_equal(c.n_point, 1);
  assert_true(c.point[0].value.mean == 7 && c.point[0].value.sem == sqrt(4.0 / 3));
  assert_string_equal(c.control[c.reference].name, "negentropy");
  assert_true(c.point[0].difference.mean == 2 && isnan(c.point[0].difference.sem));
  assert_true(c.point[0].minus[c.reference].mean == 2 && isnan(c.point[0].minus[c.reference].sem));
  mm_search_curve_release(&c);
  mm_run_close(run);
}

static char *draw(mm_run *run) {
  char *text;
  size_t length;
  assert_ok(mm_search_figure(run, path_of("search.svg")));
  assert_ok(mm_file_read(path_of("search.svg"), 1u << 26, &text, &length));
  return text;
}

static void test_stages(void **state) {
  (void)state;
  char program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) skip();
  mm_run *run = open_run();
  char *text = draw(run); // not even a start
  assert_non_null(strstr(text, ">no validation yet<"));
  assert_non_null(strstr(text, ">no generation yet<"));
  mm_free(text);

  put_generation(run, 0, 0, false);
  mm_free(draw(run));
  begin_phase(run, 0, 0);
  text = draw(run); // one validation
  assert_null(strstr(text, ">no validation yet<"));
  assert_non_null(strstr(text, ">no generation yet<"));
  static const char *const names[] = { ">learned<", ">l2<", ">negentropy<", ">initial<" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_non_null(strstr(text, names[i]));
  mm_free(text);
  put_generation(run, 0, 1, true);
  text = draw(run);
  assert_non_null(strstr(text, ">Search run-1 after 1 generation<"));
  assert_null(strstr(text, " yet<"));
  mm_free(text);
  mm_run_close(run);
}

// Somebody else looks at the run while it goes on, and at its many generations.
static void test_reader(void **state) {
  (void)state;
  char program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) skip();
  mm_run *run = open_run(), *reader;
  fill_run(run);
  for (int g = 13; g < 100; g++)
    put_generation(run, 1, g, false);
  assert_ok(mm_run_open(path_of("run-1"), MM_RUN_READ, &reader));
  char *text = draw(reader);
  assert_non_null(strstr(text, ">Search run-1 after 99 generations<"));
  assert_non_null(strstr(text, "running mean"));
  mm_free(text);
  assert_ok(mm_search_figure(reader, path_of("search.png")));
  assert_fails(mm_search_figure(reader, path_of("search.gif")), MM_ERR_INPUT, ".svg");
  mm_run_close(reader);
  mm_run_close(run);
}

int suite_search_figure(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, make_folder, remove_folder)
  const struct CMUnitTest tests[] = { TEST(curve), TEST(holes), TEST(stages), TEST(reader) };
#undef TEST
  return cmocka_run_group_tests_name("search_figure", tests, NULL, NULL);
}
