// SPDX-License-Identifier: Apache-2.0
// Suite `transfer`: every number of the table against jobs run one by one, cells with runs that
// fail, files and figures.

#define _XOPEN_SOURCE 700

#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/status.h"
#include "mirrormap/stats.h"
#include "show/figure/transfer_figure.h"
#include "show/plot/gnuplot.h"
#include "study/jobs/eta_tuning.h"
#include "study/transfer/transfer.h"
#include "study/transfer/transfer_files.h"

// ---------------------------------------------------------------------------------------------
// Estimates

static void test_estimates(void **state) {
  (void)state;
  const double x[] = { 1, 2, 4, 9 }, y[] = { 0, 3, 3, 6 }; // differences 1, -1, 1, 3
  mm_estimate e = mm_estimate_of(x, 4);
  assert_true(e.mean == 4);
  assert_true(fabs(e.sem - sqrt(38.0 / 3 / 4)) < 1e-15);
  e = mm_estimate_paired(x, y, 4);
  assert_true(e.mean == 1);
  assert_true(fabs(e.sem - sqrt(8.0 / 3 / 4)) < 1e-15);
  e = mm_estimate_of(x, 1);
  assert_true(e.mean == 1 && isnan(e.sem));
}

// Of the angle with tan = t / sqrt(degrees), whose density is cos^(degrees - 1): by Simpson's rule.
static double share_below(double angle, size_t degrees) {
  enum { PANELS = 4000 };
  double sum = 0;
  for (int i = 0; i <= PANELS; i++)
    sum += (i == 0 || i == PANELS ? 1
            : i % 2               ? 4
                                  : 2) *
           pow(cos(angle * i / PANELS), (double)degrees - 1);
  return sum * angle;
}

static void test_student(void **state) {
  (void)state;
  static const struct {
    size_t degrees;
    double quantile;
  } known[] = { { 1, 12.706 }, { 2, 4.303 },  { 9, 2.262 },
                { 30, 2.042 }, { 31, 2.040 }, { 99, 1.984 } };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_true(fabs(mm_student_quantile(known[i].degrees) - known[i].quantile) < 5.001e-4);
  for (size_t d = 1; d <= 400; d += d < 40 ? 1 : 37) {
    double angle = atan(mm_student_quantile(d) / sqrt((double)d));
    double share = share_below(angle, d) / share_below(acos(0), d);
    if (!(fabs(share - 0.95) < 1e-6)) fail_msg("%zu degrees: %.9g within", d, share);
  }
  assert_true(isnan(mm_student_quantile(0)));
  assert_true(fabs(mm_student_quantile(SIZE_MAX) - 1.959964) < 1e-6);
  // of three numbers two standard errors say little
  assert_int_equal(mm_estimate_sign((mm_estimate){ 4.3, 1, 3 }), 0);
  assert_int_equal(mm_estimate_sign((mm_estimate){ 4.31, 1, 3 }), 1);
  assert_int_equal(mm_estimate_sign((mm_estimate){ -4.31, 1, 3 }), -1);
  assert_int_equal(mm_estimate_sign((mm_estimate){ 0, 0, 3 }), 0);
  assert_int_equal(mm_estimate_sign((mm_estimate){ 5, NAN, 1 }), 0);
  assert_int_equal(mm_estimate_sign(mm_estimate_of(NULL, 0)), 0);
  assert_true(fabs(mm_estimate_half((mm_estimate){ 7, 2, 10 }) - 2 * 2.262157) < 1e-5);
}

// floor(n / 4) are left out at either end.
static void test_middle(void **state) {
  (void)state;
  const double x[] = { 9, -100, 2, 4, 3, 1000, 1 };
  mm_iqm e = mm_estimate_iqm(x, 7, 1); // 1, 2, 3, 4, 9
  assert_true(fabs(e.iqm - 19.0 / 5) < 1e-15);
  assert_true(e.low >= -100 && e.low < e.iqm && e.high > e.iqm && e.high <= 1000);
  mm_iqm same = mm_estimate_iqm(x, 7, 1), other = mm_estimate_iqm(x, 7, 2);
  assert_memory_equal(&e, &same, sizeof e);
  assert_true(other.iqm == e.iqm && (other.low != e.low || other.high != e.high));
  e = mm_estimate_iqm(x, 3, 1); // nothing is left out; 1 resample in 27 is all -100
  assert_true(fabs(e.iqm + 89.0 / 3) < 1e-13 && e.low == -100 && e.high == 9);
  e = mm_estimate_iqm(x, 1, 1);
  assert_true(e.iqm == 9 && isnan(e.low) && isnan(e.high));
  e = mm_estimate_iqm(x, 0, 1);
  assert_true(isnan(e.iqm) && isnan(e.low) && isnan(e.high));
}

// The quartile-trimmed mean of n normal numbers has a standard error of 1.093 / sqrt(n): its
// variance is that of the numbers held at the quartiles (winsorised), times 4.
static void test_middle_interval(void **state) {
  (void)state;
  enum { N = 400 };
  double x[N], width = 2 * 1.96 * 1.093 / sqrt(N);
  for (int i = 0; i < N; i++)
    x[i] = mm_normal_quantile_d((i + 0.5) / N);
  mm_iqm e = mm_estimate_iqm(x, N, 5);
  assert_true(fabs(e.iqm) < 1e-12);
  assert_true(fabs((e.high - e.low) / width - 1) < 0.1);
  assert_true(fabs(e.high + e.low) < 0.1 * width);
}

// A run without a finished episode, or that broke down before, loses against every finite one and
// leaves no mean; one that failed for the machine's reasons is left out.
static void test_worths(void **state) {
  (void)state;
  const mm_result fine = { .final_value = -80 }, unfinished = { .final_value = NAN },
                  broken = { .status = MM_ERR_NUMERIC, .final_value = NAN },
                  failed = { .status = MM_ERR_TIMEOUT, .final_value = NAN };
  assert_true(mm_result_worth(&fine) == -80 && mm_result_worth(&unfinished) == -INFINITY);
  assert_true(mm_result_worth(&broken) == -INFINITY);
  assert_true(isnan(mm_result_worth(&failed)) && isnan(mm_worth_shown(-INFINITY)));
  assert_true(mm_result_is_unfinished(&unfinished) && !mm_result_is_unfinished(&failed));
  const double none = -INFINITY, a[] = { 1, none, 3, NAN, none }, b[] = { 2, -1e9, none, 4, none };
  mm_worths w = mm_estimate_worths(a, 5, 1);
  assert_true(w.n == 2 && w.unfinished == 2 && isnan(w.mean.mean) && isnan(w.mean.sem));
  mm_comparison c = mm_comparison_of(a, b, 5, 1); // lost, lost, won, left out, equals
  assert_true(c.gain.n == 4 && c.wins == 1.5 / 4 && isnan(c.gain.mean) && isnan(c.gain.sem));
  c = mm_comparison_of(a, b, 1, 1);
  assert_true(c.gain.n == 1 && c.wins == 0 && c.gain.mean == -1 && isnan(c.gain.sem));
  // the worst of eight does not reach the interquartile mean, but the mean
  const double eight[] = { 1, 2, 3, none, 5, 6, 7, 8 };
  w = mm_estimate_worths(eight, 8, 1);
  assert_true(w.n == 7 && isnan(w.mean.mean) && w.iqm.iqm == (2 + 3 + 5 + 6) / 4.0);
  w = mm_estimate_worths(a + 3, 1, 1);
  assert_true(w.n == 0 && w.unfinished == 0 && isnan(w.mean.mean));
}

// The second run broke down after two points, the third failed.
static void test_curve(void **state) {
  (void)state;
  double curve[2][3] = { { 0, 2, 4 }, { 2, 8, 0 } };
  uint64_t step[] = { 0, 10, 20 };
  const mm_result runs[] = {
    { .final_value = 4, .curve = curve[0], .curve_step = step, .n_curve = 3 },
    { .status = MM_ERR_NUMERIC,
      .final_value = 8,
      .curve = curve[1],
      .curve_step = step,
      .n_curve = 2 },
    { .status = MM_ERR_NUMERIC, .final_value = NAN },
  };
  mm_curve_point *point;
  size_t n;
  assert_ok(mm_estimate_curve(runs, 3, &point, &n));
  assert_int_equal(n, 3);
  const double mean[] = { 1, 5, 6 };
  for (size_t k = 0; k < 3; k++) {
    assert_true(point[k].step == step[k]);
    assert_true(point[k].value.mean == mean[k]);
    assert_true(fabs(point[k].value.sem - (k == 0 ? 1 : k == 1 ? 3 : 2)) < 1e-15);
  }
  mm_free(point);
  assert_ok(mm_estimate_curve(runs + 2, 1, &point, &n));
  assert_int_equal(n, 0);
  assert_null(point);
}

// ---------------------------------------------------------------------------------------------
// A small table

enum { MAPS = 4, ENVS = 3, SEEDS = 5, FIRST = 7 };
static const char *const map_names[MAPS] = { "random:3", "l2", "tsallis:0.5", "negentropy" };
static const char *const env_names[ENVS] = { "GridWorld-small", "GridWorld-sparse",
                                             "GridWorld-dense" };

typedef struct fixture {
  mm_transfer_map map[MAPS];
  mm_transfer_env env[ENVS];
  mm_map *maps[MAPS];
  mm_env *envs[ENVS];
  mm_transfer_config config;
} fixture;

// The second environment has curves, the third longer runs.
static fixture open_fixture(void) {
  fixture f = { 0 };
  for (int i = 0; i < MAPS; i++) {
    assert_ok(mm_map_open(map_names[i], &f.maps[i]));
    f.map[i] = (mm_transfer_map){
      .map = f.maps[i], .name = map_names[i], .label = map_names[i], .control = i > 1
    };
  }
  for (int i = 0; i < ENVS; i++) {
    assert_ok(mm_env_open(env_names[i], &f.envs[i]));
    f.env[i] = (mm_transfer_env){ .env = f.envs[i], .name = env_names[i], .label = env_names[i] };
    f.env[i].settings = mm_settings_default(MM_ALGO_PMD);
    mm_pmd_config *pmd = &f.env[i].settings.pmd;
    pmd->envs = 8;
    pmd->unroll = 16;
    pmd->steps = i == 2 ? 1024 : 512;
    pmd->exact_curve = i == 1;
  }
  return f;
}

// (the arrays lie in the fixture, which must not move any more)
static mm_transfer_config *config_of(fixture *f) {
  f->config =
      (mm_transfer_config){ .map = f->map,
                            .env = f->env,
                            .n_map = MAPS,
                            .n_env = ENVS,
                            .n_seed = SEEDS,
                            .seed = FIRST,
                            .backend = { .size = sizeof(mm_backend_config), .threads = 2 } };
  return &f->config;
}

static void close_fixture(fixture *f) {
  for (int i = 0; i < MAPS; i++)
    mm_map_destroy(f->maps[i]);
  for (int i = 0; i < ENVS; i++)
    mm_env_destroy(f->envs[i]);
}

// One job by itself.
static void run_alone(const fixture *f, int map, int env, int i, mm_result *out) {
  mm_job job = { .env = f->envs[env],
                 .map = f->maps[map],
                 .algo = MM_ALGO_PMD,
                 .config = &f->env[env].settings.pmd,
                 .seed = (uint64_t)(FIRST + i) };
  mm_job_run(&job, NULL, out);
}

static void assert_same(double a, double b) {
  if (!(a == b || (isnan(a) && isnan(b)))) fail_msg("%.17g is not %.17g", a, b);
}

static void check_cell(const fixture *f, const mm_transfer *t, int map, int env,
                       const double final[MAPS][ENVS][SEEDS]) {
  const mm_transfer_cell *cell = mm_transfer_at(t, (size_t)map, (size_t)env);
  const double *x = final[map][env];
  mm_estimate e = mm_estimate_of(x, SEEDS);
  assert_int_equal(cell->of.n, SEEDS);
  assert_int_equal(cell->n_failed + cell->n_numeric, 0);
  assert_same(cell->of.mean.mean, e.mean);
  assert_same(cell->of.mean.sem, e.sem);
  const int baseline[] = { 3, 1 };
  for (int b = 0; b < MM_BASELINES; b++) {
    e = mm_estimate_paired(x, final[baseline[b]][env], SEEDS);
    assert_same(cell->over[b].gain.mean, e.mean);
    assert_same(cell->over[b].gain.sem, e.sem);
    double wins = 0;
    for (int i = 0; i < SEEDS; i++)
      wins += x[i] > final[baseline[b]][env][i] ? 1 : x[i] == final[baseline[b]][env][i] ? 0.5 : 0;
    assert_same(cell->over[b].wins, wins / SEEDS);
    assert_int_equal(cell->over[b].gain.n, SEEDS);
    mm_interval i = cell->over[b].interval;
    assert_int_equal(mm_comparison_sign(&cell->over[b]), i.low > 0 ? 1 : i.high < 0 ? -1 : 0);
    assert_int_equal(isnan(cell->over[b].p_holm), map == baseline[b]);
  }
  assert_int_equal(cell->n_curve, env == 1 ? 5 : 1);
  assert_true(cell->curve[cell->n_curve - 1].step == (uint64_t)f->env[env].settings.pmd.steps);
  assert_same(cell->curve[cell->n_curve - 1].value.mean, cell->of.mean.mean);
  assert_same(cell->curve[cell->n_curve - 1].value.sem, cell->of.mean.sem);
}

static void test_numbers(void **state) {
  (void)state;
  fixture f = open_fixture();
  mm_transfer t;
  assert_ok(mm_transfer_run(config_of(&f), &t));
  static double final[MAPS][ENVS][SEEDS];
  double optimal[ENVS] = { 0 };
  uint64_t steps = 0;
  for (int m = 0; m < MAPS; m++)
    for (int e = 0; e < ENVS; e++)
      for (int i = 0; i < SEEDS; i++) {
        mm_result alone;
        run_alone(&f, m, e, i, &alone);
        assert_int_equal(alone.status, MM_OK);
        final[m][e][i] = alone.final_value;
        assert_same(t.worth[(m * ENVS + e) * SEEDS + i], alone.final_value);
        if (m == 0) optimal[e] += alone.optimal_value / SEEDS;
        steps += alone.env_steps;
        mm_result_release(&alone);
      }
  assert_int_equal(t.baseline[MM_BASELINE_NEGENTROPY], 3);
  assert_int_equal(t.baseline[MM_BASELINE_L2], 1);
  int marked = 0;
  for (int m = 0; m < MAPS; m++)
    for (int e = 0; e < ENVS; e++) {
      check_cell(&f, &t, m, e, (const double(*)[ENVS][SEEDS]) final);
      marked += mm_comparison_sign(&mm_transfer_at(&t, (size_t)m, (size_t)e)->over[0]) != 0;
    }
  assert_in_range(marked, 1, MAPS * ENVS - ENVS); // so that both cases were seen
  for (int e = 0; e < ENVS; e++) {
    assert_true(fabs(t.optimal_mean[e] - optimal[e]) < 1e-12);
    assert_true(t.steps[e] == (e == 2 ? 1024 : 512));
  }
  assert_true(t.env_steps == steps);
  assert_true(t.wall_seconds > 0);
  assert_true(mm_transfer_has_curves(&t));
  mm_transfer_release(&t);
  mm_transfer_release(&t);
  close_fixture(&f);
}

// A file of a baseline's kind serves in its place, but the one that is called so goes first;
// without any there are no differences.
static void test_baselines(void **state) {
  (void)state;
  fixture f = open_fixture();
  mm_transfer_config *c = config_of(&f);
  f.map[0].map = f.maps[3];
  c->n_env = c->n_seed = 1;
  mm_transfer t;
  assert_ok(mm_transfer_run(c, &t));
  assert_int_equal(t.baseline[MM_BASELINE_NEGENTROPY], 3);
  mm_transfer_release(&t);
  c->n_map = 1;
  assert_ok(mm_transfer_run(c, &t));
  assert_int_equal(t.baseline[MM_BASELINE_NEGENTROPY], 0);
  assert_int_equal(t.baseline[MM_BASELINE_L2], 1);
  assert_true(t.cell[0].over[MM_BASELINE_NEGENTROPY].gain.mean == 0);
  assert_true(isnan(t.cell[0].over[MM_BASELINE_NEGENTROPY].gain.sem));
  assert_true(isnan(t.cell[0].over[MM_BASELINE_L2].gain.mean));
  assert_int_equal(mm_comparison_sign(&t.cell[0].over[MM_BASELINE_NEGENTROPY]), 0);
  assert_int_equal(mm_comparison_sign(&t.cell[0].over[MM_BASELINE_L2]), 0);
  assert_false(mm_transfer_has_curves(&t));
  mm_transfer_release(&t);
  close_fixture(&f);
}

// All runs of the second environment fail; the rest of the table is as without it.
static void test_failing_cells(void **state) {
  (void)state;
  fixture f = open_fixture();
  mm_transfer good, bad;
  assert_ok(mm_transfer_run(config_of(&f), &good));
  f.env[1].settings.pmd.steps = 1;
  assert_ok(mm_transfer_run(config_of(&f), &bad));
  for (size_t m = 0; m < MAPS; m++) {
    const mm_transfer_cell *cell = mm_transfer_at(&bad, m, 1);
    assert_int_equal(cell->of.n, 0);
    assert_int_equal(cell->n_failed, SEEDS);
    assert_true(isnan(cell->of.mean.mean) && isnan(cell->of.mean.sem));
    assert_int_equal(cell->n_curve, 0);
    for (int b = 0; b < MM_BASELINES; b++) {
      assert_true(isnan(cell->over[b].gain.mean));
      assert_int_equal(mm_comparison_sign(&cell->over[b]), 0);
    }
    for (size_t e = 0; e < ENVS; e += 2) {
      const mm_transfer_cell *one = mm_transfer_at(&good, m, e), *two = mm_transfer_at(&bad, m, e);
      assert_same(one->of.mean.mean, two->of.mean.mean);
      assert_same(one->over[0].gain.sem, two->over[0].gain.sem);
    }
  }
  assert_true(isnan(bad.optimal_mean[1]) && isfinite(bad.optimal_mean[0]));
  assert_int_equal(bad.report.n_failed, MAPS * SEEDS);
  assert_int_equal(bad.report.trouble, MAPS * SEEDS); // the first job of the second environment
  assert_int_equal(bad.trouble, MM_ERR_INPUT);
  assert_non_null(strstr(bad.report.error, "steps"));
  mm_transfer_release(&good);
  mm_transfer_release(&bad);
  close_fixture(&f);
}

static void stop_at_once(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)done, (void)total, (void)env_steps;
  *(volatile int *)user = 1;
}

static void test_bad_calls(void **state) {
  (void)state;
  fixture f = open_fixture();
  mm_transfer t;
  mm_transfer_config *c = config_of(&f);
  c->n_seed = 0;
  assert_fails(mm_transfer_run(c, &t), MM_ERR_INPUT, "a seed");
  mm_transfer_release(&t);
  c->n_seed = 2;
  c->seed = UINT64_MAX;
  assert_fails(mm_transfer_run(c, &t), MM_ERR_INPUT, "seeds");
  mm_transfer_release(&t);

  c->n_seed = 100000;
  c->seed = 0;
  volatile int stop = 0;
  c->backend.stop = &stop;
  c->backend.progress = stop_at_once;
  c->backend.user = (void *)&stop;
  c->n_map = c->n_env = 1;
  assert_fails(mm_transfer_run(c, &t), MM_ERR_INTERRUPTED, "interrupted");
  assert_true(t.report.n_done < 100000);
  mm_transfer_release(&t);
  close_fixture(&f);
}

// ---------------------------------------------------------------------------------------------
// Files

static char folder[600];

static int make_folder(void **state) {
  (void)state;
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.500s/mirrormap-test-XXXXXX", parent ? parent : P_tmpdir);
  return mkdtemp(folder) ? 0 : -1;
}

static const char *const names[] = { "table.csv", "runs.csv", "curves.csv", "table.json",
                                     "a.svg",     "b.svg",    "c.png" };

static char *path_of(const char *name) {
  static char path[700];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int remove_folder(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    unlink(path_of(names[i]));
  return rmdir(folder);
}

static char *read_text(const char *name) {
  char *text;
  size_t length;
  assert_ok(mm_file_read(path_of(name), 1u << 26, &text, &length));
  return text;
}

static size_t count(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)); text += strlen(part))
    n++;
  return n;
}

// Lines that are no remarks, the header included.
static size_t count_rows(const char *text) {
  size_t n = 0;
  for (const char *line = text; *line; line = strchr(line, '\n') + 1)
    n += *line != '#';
  return n;
}

// The k-th field of the row that begins with `start`.
static double field(const char *text, const char *start, int k) {
  size_t length = strlen(start);
  const char *line = text;
  while (*line && strncmp(line, start, length) != 0)
    line = strchr(line, '\n') + 1;
  assert_int_equal(strncmp(line, start, length), 0);
  for (int i = 0; i < k; i++)
    line = strchr(line, ',') + 1;
  char number[64];
  snprintf(number, sizeof number, "%.*s", (int)strcspn(line, ",\n"), line);
  double value = NAN;
  if (*number) assert_true(mm_json_parse_number(number, &value));
  return value;
}

static void check_csv(const mm_transfer *t) {
  char *table = read_text("table.csv"), *runs = read_text("runs.csv");
  char *curves = read_text("curves.csv");
  const char *all[] = { table, runs, curves };
  for (int i = 0; i < 3; i++) {
    assert_int_equal(count(all[i], "# mirrormap "), 1);
    assert_int_equal(count(all[i], "# fingerprints: {\"random:3\":\""), 1);
    assert_int_equal(count(all[i], "# seeds: 7 to 11\n"), 1);
    assert_int_equal(count(all[i], "# settings: {\"GridWorld-small\":{\"steps\":512,"), 1);
    assert_int_equal(count(all[i], "# time: "), 1);
  }
  assert_int_equal(count_rows(table), 1 + MAPS * ENVS);
  assert_int_equal(count_rows(runs), 1 + MAPS * ENVS * SEEDS);
  assert_int_equal(count_rows(curves), 1 + MAPS * (1 + 5 + 1));
  const mm_transfer_cell *cell = mm_transfer_at(t, 2, 1);
  const char *row = "tsallis:0.5,GridWorld-sparse,";
  assert_same(field(table, row, 2), SEEDS);
  assert_same(field(table, row, 3), cell->of.mean.mean);
  assert_same(field(table, row, 4), cell->of.mean.sem);
  assert_same(field(table, row, 5), t->optimal_mean[1]);
  assert_same(field(table, row, 6), cell->over[MM_BASELINE_NEGENTROPY].gain.mean);
  assert_same(field(table, row, 7), cell->over[MM_BASELINE_NEGENTROPY].gain.sem);
  assert_same(field(table, row, 8), cell->over[MM_BASELINE_NEGENTROPY].wins);
  assert_same(field(table, row, 9), cell->over[MM_BASELINE_L2].gain.mean);
  assert_same(field(table, row, 10), cell->over[MM_BASELINE_L2].gain.sem);
  assert_same(field(table, row, 11), cell->over[MM_BASELINE_L2].wins);
  assert_same(field(table, row, 12), 0);
  mm_iqm iqm = mm_estimate_iqm(t->worth + (2 * ENVS + 1) * SEEDS, SEEDS, FIRST);
  assert_same(field(table, row, 14), iqm.iqm);
  assert_same(field(table, row, 15), iqm.low);
  assert_same(field(table, row, 16), iqm.high);
  assert_same(field(runs, "tsallis:0.5,GridWorld-sparse,9,", 3),
              t->worth[(2 * ENVS + 1) * SEEDS + 2]);
  assert_same(field(curves, "tsallis:0.5,GridWorld-sparse,256,", 3), cell->curve[2].value.mean);
  assert_same(field(curves, "tsallis:0.5,GridWorld-sparse,256,", 4), cell->curve[2].value.sem);
  mm_free(table);
  mm_free(runs);
  mm_free(curves);
}

static double entry(const cJSON *root, const char *key, int map, int env) {
  const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, key), map);
  const cJSON *item = cJSON_GetArrayItem(row, env);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static void check_json(const mm_transfer *t) {
  char *text = read_text("table.json");
  cJSON *root;
  assert_ok(mm_json_parse(text, strlen(text), "table.json", &root));
  const mm_transfer_cell *cell = mm_transfer_at(t, 2, 1);
  assert_same(entry(root, "mean", 2, 1), cell->of.mean.mean);
  assert_same(entry(root, "sem", 2, 1), cell->of.mean.sem);
  assert_same(entry(root, "difference", 2, 1), cell->over[0].gain.mean);
  assert_same(entry(root, "difference_sem", 2, 1), cell->over[0].gain.sem);
  assert_same(entry(root, "difference_l2", 2, 1), cell->over[1].gain.mean);
  assert_same(entry(root, "difference_l2_sem", 2, 1), cell->over[1].gain.sem);
  assert_same(entry(root, "n", 2, 1), SEEDS);
  assert_same(entry(root, "failures", 2, 1), 0);
  const cJSON *baseline = cJSON_GetObjectItemCaseSensitive(root, "baseline");
  assert_string_equal(cJSON_GetStringValue(baseline), "negentropy");
  const cJSON *controls = cJSON_GetObjectItemCaseSensitive(root, "controls");
  assert_int_equal(cJSON_GetArraySize(controls), 2);
  cJSON_Delete(root);
  mm_free(text);
}

static void test_files(void **state) {
  (void)state;
  fixture f = open_fixture();
  mm_transfer t;
  assert_ok(mm_transfer_run(config_of(&f), &t));
  assert_ok(mm_transfer_write(&t, folder));
  check_csv(&t);
  check_json(&t);
  assert_fails(mm_transfer_write(&t, path_of("absent")), MM_ERR_INPUT, "absent/runs.csv");
  mm_transfer_release(&t);

  // undefined numbers are empty fields, names cannot break the form
  f.map[0].label = f.map[0].name = "# a,\"b\"\nc";
  config_of(&f)->n_map = 1;
  f.config.n_seed = 1;
  assert_ok(mm_transfer_run(&f.config, &t));
  assert_ok(mm_transfer_write(&t, folder));
  char *table = read_text("table.csv");
  assert_non_null(strstr(table, "# maps: {\"# a,\\\"b\\\"\\nc\":"));
  assert_non_null(strstr(table, "\n\"# a,\"\"b\"\"\nc\",GridWorld-small,1,"));
  assert_non_null(strstr(table, ",,,,0,0.1,"));
  // no interval around a single value's interquartile mean
  assert_int_equal(count(table, ",,,0,") - count(table, ",,,0,0.1,"), ENVS);
  mm_free(table);
  mm_transfer_release(&t);
  close_fixture(&f);
}

static void test_figures(void **state) {
  (void)state;
  char program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) skip();
  fixture f = open_fixture();
  mm_transfer t;
  f.env[0].label = "'; !touch canary";
  f.map[0].label = "`touch canary`";
  assert_ok(mm_transfer_run(config_of(&f), &t));
  assert_ok(mm_transfer_figure_finals(&t, path_of("a.svg")));
  assert_ok(mm_transfer_figure_curves(&t, path_of("b.svg")));
  assert_ok(mm_transfer_figure_curves(&t, path_of("c.png")));
  char *finals = read_text("a.svg"), *curves = read_text("b.svg");
  assert_int_equal(count(finals, ">tsallis:0.5<"), ENVS); // a row in each block
  assert_int_equal(count(finals, ">GridWorld-dense<"), 1);
  assert_int_equal(count(finals, ">Paired difference from negentropy<"), 1);
  // in the legend, and the name of its line where it has one
  assert_int_equal(count(curves, ">tsallis:0.5<"), 2);
  assert_int_equal(count(curves, "<title>tsallis:0.5</title>"), 1);
  assert_int_equal(count(curves, ">GridWorld-dense<"), 1);
  assert_int_equal(count(curves, ">environment steps<"), 1);
  mm_free(finals);
  mm_free(curves);
  mm_transfer_release(&t);

  // a single run, a single map, failed cells
  f.env[0].settings.pmd.steps = 1;
  config_of(&f)->n_map = 1;
  f.config.n_seed = 1;
  assert_ok(mm_transfer_run(&f.config, &t));
  assert_ok(mm_transfer_figure_finals(&t, path_of("a.svg")));
  assert_ok(mm_transfer_figure_curves(&t, path_of("b.svg")));
  mm_transfer_release(&t);
  f.config.n_env = 1;
  assert_ok(mm_transfer_run(&f.config, &t));
  assert_ok(mm_transfer_figure_finals(&t, path_of("a.svg")));
  assert_fails(mm_transfer_figure_curves(&t, path_of("b.svg")), MM_ERR_INPUT, "no curves");
  mm_transfer_release(&t);
  close_fixture(&f);
}

// Nine maps and more: the first ones and both baselines are shown.
static void test_many_maps(void **state) {
  (void)state;
  char program[1024], label[12][16];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) skip();
  fixture f = open_fixture();
  mm_transfer_map map[12];
  for (int i = 0; i < 12; i++) {
    snprintf(label[i], sizeof label[i], "map-%c", 'a' + i);
    const mm_map *chosen = i == 9 ? f.maps[1] : i == 11 ? f.maps[3] : f.maps[2];
    map[i] = (mm_transfer_map){ .map = chosen, .name = label[i], .label = label[i] };
  }
  mm_transfer t;
  mm_transfer_config *c = config_of(&f);
  c->map = map;
  c->n_map = 12;
  c->n_seed = 2;
  c->env = &f.env[1];
  c->n_env = 1;
  assert_ok(mm_transfer_run(c, &t));
  assert_ok(mm_transfer_figure_curves(&t, path_of("b.svg")));
  char *curves = read_text("b.svg");
  for (int i = 0; i < 12; i++) {
    char text[24];
    snprintf(text, sizeof text, ">%s<", label[i]);
    // in the legend and as the name of its line
    assert_int_equal(count(curves, text), i < 6 || i == 9 || i == 11 ? 2 : 0);
  }
  assert_int_equal(count(curves, "8 of 12 shown"), 1);
  mm_free(curves);
  mm_transfer_release(&t);
  close_fixture(&f);
}

// ---------------------------------------------------------------------------------------------
// Step sizes

// The best of nine, each trained on the same seeds; a row that is tuned trains with it.
static void test_tuned(void **state) {
  (void)state;
  enum { TUNE = 3 };
  fixture f = open_fixture();
  mm_eta_choice chosen;
  double most = -INFINITY, best = 0;
  const mm_settings *plain = &f.env[0].settings;
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
  mm_eta_task task = { .env = f.envs[0],
                       .map = f.maps[0],
                       .env_label = "here",
                       .map_label = "this",
                       .settings = plain,
                       .seed = FIRST,
                       .n_seed = TUNE };
  assert_ok(mm_eta_choose(&task, NULL, &backend, &chosen));
  assert_true(chosen.env_steps == (uint64_t)(MM_ETAS * TUNE * 512));
  assert_true(chosen.n == MM_ETAS && chosen.seeds == TUNE && isnan(chosen.q));
  for (int k = 0; k < MM_ETAS; k++) {
    mm_settings with = *plain;
    with.pmd.eta = ldexp(plain->pmd.eta, k - MM_ETAS / 2);
    double sum = 0;
    for (int i = 0; i < TUNE; i++) {
      mm_result r;
      mm_stream seeds = mm_stream_make(FIRST, 0, MM_RNG_TUNE, 0);
      mm_job job = { .env = f.envs[0],
                     .map = f.maps[0],
                     .algo = MM_ALGO_PMD,
                     .config = &with.pmd,
                     .seed = mm_stream_pair(seeds, (uint64_t)i) };
      assert_ok(mm_job_run(&job, NULL, &r));
      sum += r.final_value;
      mm_result_release(&r);
    }
    if (sum > most) best = with.pmd.eta;
    most = fmax(most, sum);
  }
  assert_true(chosen.eta == best);
  // in a table: the row trains with that eta, and is not taken for the baseline
  mm_transfer t;
  f.map[0].tuned = true;
  config_of(&f)->n_tune = TUNE;
  assert_ok(mm_transfer_run(&f.config, &t));
  assert_true(mm_transfer_at(&t, 0, 0)->eta == best);
  assert_true(mm_transfer_at(&t, 1, 0)->eta == plain->pmd.eta);
  assert_true(t.tune_steps >= chosen.env_steps);
  mm_settings with = *plain;
  with.pmd.eta = best;
  mm_result r;
  mm_job job = {
    .env = f.envs[0], .map = f.maps[0], .algo = MM_ALGO_PMD, .config = &with.pmd, .seed = FIRST
  };
  assert_ok(mm_job_run(&job, NULL, &r));
  assert_true(r.final_value == t.worth[0]);
  mm_result_release(&r);
  mm_transfer_release(&t);
  close_fixture(&f);
}

// A budget of steps: how many candidates and seeds it makes, what is chosen, and a row of q and
// eta.
static void test_budget(void **state) {
  (void)state;
  fixture f = open_fixture();
  const mm_settings *plain = &f.env[0].settings;
  const double run = 512;
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
  mm_eta_task task = { .env = f.envs[0],
                       .map = f.maps[0],
                       .env_label = "here",
                       .map_label = "this",
                       .settings = plain,
                       .seed = FIRST,
                       .n_seed = 3,
                       .budget = 72 * run };
  mm_eta_choice eta, both, again;
  assert_ok(mm_eta_choose(&task, NULL, &backend, &eta));
  assert_true(eta.n == 9 && eta.seeds == 32 && isnan(eta.q)); // nine values of eta, as without
  assert_true((double)eta.env_steps <= task.budget && (double)eta.env_steps > task.budget / 2);
  assert_true(log2(eta.eta / plain->pmd.eta) == rint(log2(eta.eta / plain->pmd.eta)));
  task.budget = 600 * run; // a finer grid
  assert_ok(mm_eta_choose(&task, NULL, &backend, &eta));
  assert_true(eta.n > 9 && eta.seeds >= 32 && (double)eta.env_steps <= task.budget);

  // with q: the same budget, and the same steps as nine values of eta without one
  task.tunes_q = true;
  assert_true(mm_eta_least(plain, true) == 35 * run);
  assert_ok(mm_eta_choose(&task, NULL, &backend, &both));
  assert_true(both.n == 117 && both.q >= 0.5 && both.q <= 4 &&
              (double)both.env_steps <= task.budget);
  task.budget = 0;
  task.n_seed = 8;
  assert_ok(mm_eta_choose(&task, NULL, &backend, &both));
  assert_true(both.n == 35 && both.seeds == 4 && both.env_steps == 71 * (uint64_t)run);
  assert_ok(mm_eta_choose(&task, NULL, &backend, &again));
  assert_true(again.eta == both.eta && again.q == both.q);
  task.n_seed = 1; // at least one run each
  assert_ok(mm_eta_choose(&task, NULL, &backend, &again));
  assert_true(again.seeds == 1 && again.env_steps == 35 * (uint64_t)run);

  // in a table: the row trains with the map of that q, in each environment its own
  mm_transfer t;
  mm_map *map;
  f.map[0].tuned = f.map[0].tuned_q = true;
  config_of(&f)->n_tune = 8;
  assert_ok(mm_transfer_run(&f.config, &t));
  const mm_transfer_cell *cell = mm_transfer_at(&t, 0, 0);
  assert_true(cell->eta == both.eta && cell->q == both.q);
  assert_true(isnan(mm_transfer_at(&t, 1, 0)->q));
  mm_settings with = *plain;
  with.pmd.eta = both.eta;
  mm_result r;
  assert_ok(mm_eta_map(both.q, &map));
  mm_job job = {
    .env = f.envs[0], .map = map, .algo = MM_ALGO_PMD, .config = &with.pmd, .seed = FIRST
  };
  assert_ok(mm_job_run(&job, NULL, &r));
  assert_true(r.final_value == t.worth[0]);
  mm_result_release(&r);
  mm_map_destroy(map);
  mm_transfer_release(&t);
  close_fixture(&f);
}

// ---------------------------------------------------------------------------------------------
// `transfer` and `compare`

// The table as if its runs had ended so.
static void judge_again(mm_transfer *t) {
  for (size_t i = 0; i < MAPS * ENVS; i++)
    t->cell[i].of = mm_estimate_worths(t->worth + i * SEEDS, SEEDS, t->config.seed);
  mm_transfer_compare(t);
}

static void assert_same_interval(mm_interval a, mm_interval b) {
  assert_same(a.low, b.low);
  assert_same(a.high, b.high);
}

// Of the table's file, against a baseline.
static void compare_written(const mm_transfer *t, mm_baseline b, mm_score_table *table,
                            mm_scores *s) {
  const char *const folders[] = { folder };
  assert_ok(mm_transfer_write(t, folder));
  assert_ok(mm_score_table_read(folders, 1, table));
  const size_t from = mm_score_find(table, t->config.map[t->baseline[b]].label);
  const mm_score_baselines baselines = { .row = { from }, .n = 1 };
  assert_ok(mm_scores_of(table, &baselines, NULL, table->n_map, s));
}

// Both commands say the same of a table with failures: means, differences, win rates, p-values.
static void test_failures_compared(void **state) {
  (void)state;
  fixture f = open_fixture();
  mm_transfer t;
  assert_ok(mm_transfer_run(config_of(&f), &t));
  t.worth[(0 * ENVS + 1) * SEEDS + 2] = -INFINITY; // of a map, of both baselines, of all at once
  t.worth[(1 * ENVS + 1) * SEEDS + 0] = -INFINITY;
  t.worth[(3 * ENVS + 2) * SEEDS + 1] = -INFINITY;
  for (size_t m = 0; m < MAPS; m++)
    t.worth[(m * ENVS + 0) * SEEDS + 4] = -INFINITY;
  judge_again(&t);
  for (int b = 0; b < MM_BASELINES; b++) {
    mm_score_table table;
    mm_scores s;
    compare_written(&t, (mm_baseline)b, &table, &s);
    for (size_t m = 0; m < MAPS; m++)
      for (size_t e = 0; e < ENVS; e++) {
        const mm_transfer_cell *cell = mm_transfer_at(&t, m, e);
        const mm_worths *of = &s.cell[m * ENVS + e];
        assert_same(of->mean.mean, cell->of.mean.mean);
        assert_same(of->iqm.iqm, cell->of.iqm.iqm);
        assert_same(of->iqm.low, cell->of.iqm.low);
        assert_int_equal(of->unfinished, cell->of.unfinished);
        if (m == t.baseline[b]) continue;
        const mm_comparison *own = &cell->over[b], *other = mm_scores_over(&s, m, e);
        assert_true(own->gain.n == SEEDS && other->gain.n == SEEDS);
        assert_same(other->gain.mean, own->gain.mean);
        assert_same_interval(other->interval, own->interval);
        assert_same(other->wins, own->wins);
        assert_same_interval(other->win_interval, own->win_interval);
        assert_same(other->p_holm, own->p_holm);
      }
    assert_true(isnan(s.cell[0 * ENVS + 1].mean.mean) && isfinite(s.cell[2 * ENVS + 1].mean.mean));
    assert_int_equal(s.n_test, t.n_test[b]);
    mm_scores_release(&s);
    mm_score_table_release(&table);
  }
  mm_transfer_release(&t);
  close_fixture(&f);
}

// A run that the machine lost is no row. Its seed does not count in `compare`, for any map.
static void test_holes_compared(void **state) {
  (void)state;
  fixture f = open_fixture();
  mm_transfer t;
  mm_score_table table;
  mm_scores s;
  assert_ok(mm_transfer_run(config_of(&f), &t));
  t.worth[(0 * ENVS + 1) * SEEDS + 2] = NAN;
  judge_again(&t);
  compare_written(&t, MM_BASELINE_NEGENTROPY, &table, &s);
  assert_true(table.left_out[0] == 0 && table.left_out[1] == 1 && table.fewest[1] == 0);
  const mm_comparison *own = &mm_transfer_at(&t, 0, 1)->over[0], *other = mm_scores_over(&s, 0, 1);
  assert_true(own->gain.n == SEEDS - 1 && other->gain.n == SEEDS - 1);
  assert_same(other->gain.mean, own->gain.mean);
  assert_same(other->wins, own->wins);
  assert_same(s.cell[1].mean.mean, mm_transfer_at(&t, 0, 1)->of.mean.mean);
  assert_int_equal(mm_scores_over(&s, 2, 1)->gain.n, SEEDS - 1);
  assert_int_equal(mm_transfer_at(&t, 2, 1)->over[0].gain.n, SEEDS);
  mm_scores_release(&s);
  mm_score_table_release(&table);
  mm_transfer_release(&t);
  close_fixture(&f);
}

int suite_transfer(void) {
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(test_##name, make_folder, remove_folder)
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_estimates),
    cmocka_unit_test(test_student),
    cmocka_unit_test(test_middle),
    cmocka_unit_test(test_worths),
    cmocka_unit_test(test_middle_interval),
    cmocka_unit_test(test_curve),
    cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_tuned),
    cmocka_unit_test(test_budget),
    cmocka_unit_test(test_baselines),
    cmocka_unit_test(test_failing_cells),
    cmocka_unit_test(test_bad_calls),
    IN_FOLDER(files),
    IN_FOLDER(failures_compared),
    IN_FOLDER(holes_compared),
    IN_FOLDER(figures),
    IN_FOLDER(many_maps),
  };
#undef IN_FOLDER
  return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
