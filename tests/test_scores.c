// SPDX-License-Identifier: Apache-2.0
// Tables of several studies become one, with what is wrong in them refused by file and line; scores
// and comparisons of closed cases come out exactly.

#define _XOPEN_SOURCE 700 // mkdtemp

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mirrormap/stats.h"
#include "scarce_memory.h"
#include "test.h"

static char folder[600], path[3][700];

static int make_folder(void **state) {
  (void)state;
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.500s/mirrormap-test-XXXXXX", parent ? parent : P_tmpdir);
  if (!mkdtemp(folder)) return -1;
  snprintf(path[0], sizeof path[0], "%s/runs.csv", folder);
  snprintf(path[1], sizeof path[1], "%s/other.csv", folder);
  snprintf(path[2], sizeof path[2], "%s/third.csv", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++)
    unlink(path[i]);
  return rmdir(folder);
}

static void write_text(int which, const char *text) {
  FILE *f = fopen(path[which], "wb");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static mm_status read_files(size_t n, mm_score_table *t) {
  const char *const all[] = { path[0], path[1], path[2] };
  return mm_score_table_read(all, n, t);
}

static void read_texts(const char *first, const char *second, mm_score_table *t) {
  write_text(0, first);
  if (second) write_text(1, second);
  assert_ok(read_files(second ? 2 : 1, t));
}

// ---------------------------------------------------------------------------------------------
// Reading

static void test_read(void **state) {
  (void)state;
  mm_score_table t;
  read_texts("# a remark, \"not a field\nextra,map,seed,env,final\n"
             "x,a,7,E,1.5\r\n\n# in between\nx,\"b, \"\"c\"\"\",18446744073709551615,\"F\",\n"
             "x,a,3,E,-2e1\n",
             NULL, &t);
  assert_int_equal(t.n_map, 2);
  assert_int_equal(t.n_env, 2);
  assert_int_equal(t.n_seed, 3);
  assert_string_equal(t.map[1], "b, \"c\"");
  assert_string_equal(t.env[1], "F");
  assert_true(t.seed[0] == 3 && t.seed[1] == 7 && t.seed[2] == UINT64_MAX);
  assert_true(mm_score_runs(&t, 0, 0)[1] == 1.5);
  assert_true(mm_score_runs(&t, 0, 0)[0] == -20);
  assert_true(isnan(mm_score_runs(&t, 0, 0)[2]));
  assert_true(mm_score_runs(&t, 1, 1)[2] == -INFINITY);
  assert_int_equal(mm_score_find(&t, "a"), 0);
  assert_int_equal(mm_score_find(&t, "c"), 2);
  mm_score_table_release(&t);
  // a folder stands for its runs.csv
  const char *const folders[] = { folder };
  assert_ok(mm_score_table_read(folders, 1, &t));
  assert_int_equal(t.n_map, 2);
  mm_score_table_release(&t);
}

static void test_merge(void **state) {
  (void)state;
  mm_score_table t;
  const char *first = "map,env,seed,final\na,E,1,10\na,E,2,20\nb,E,1,11\nb,E,2,12\n";
  read_texts(first, "seed,final,env,map\n1,10,E,a\n2,21,E,c\n1,20,E,c\n1,5,F,a\n", &t);
  assert_int_equal(t.n_map, 3);
  assert_int_equal(t.n_env, 2);
  assert_true(mm_score_runs(&t, 2, 0)[1] == 21);
  assert_true(mm_score_runs(&t, 0, 1)[0] == 5);
  assert_true(isnan(mm_score_runs(&t, 1, 1)[0]));
  mm_score_table_release(&t);
  // the same run with another return, in another file or in the same one
  char both[3000];
  snprintf(both, sizeof both, "%s:2 and %s:3: map 'a' on E, seed 1", path[0], path[1]);
  write_text(1, "map,env,seed,final\nc,E,1,1\na,E,1,10.5\n");
  assert_fails(read_files(2, &t), MM_ERR_INPUT, both);
  mm_score_table_release(&t);
  write_text(0, "map,env,seed,final\na,E,1,10\na,E,1,\n");
  assert_fails(read_files(1, &t), MM_ERR_INPUT, "different returns");
  mm_score_table_release(&t);
}

// In each environment only seeds count that all of its maps have.
static void test_common_seeds(void **state) {
  (void)state;
  mm_score_table t;
  read_texts("map,env,seed,final\na,E,1,1\na,E,2,2\na,E,3,3\nb,F,9,7\n",
             "map,env,seed,final\nb,E,2,12\nb,E,3,13\nb,E,4,14\nb,E,5,15\nb,E,3,13\n", &t);
  assert_int_equal(t.n_seed, 3);
  assert_true(t.seed[0] == 2 && t.seed[1] == 3 && t.seed[2] == 9);
  assert_int_equal(t.left_out[0], 3);
  assert_int_equal(t.fewest[0], 0);
  assert_int_equal(t.left_out[1], 0);
  assert_int_equal(t.fewest[1], 1);
  assert_true(mm_score_runs(&t, 0, 0)[0] == 2 && mm_score_runs(&t, 1, 0)[1] == 13);
  assert_true(mm_score_runs(&t, 1, 1)[2] == 7 && isnan(mm_score_runs(&t, 0, 1)[2]));
  mm_score_table_release(&t);
  write_text(0, "map,env,seed,final\na,E,1,1\na,E,2,2\nb,F,1,1\n");
  write_text(1, "map,env,seed,final\nb,E,3,1\n");
  assert_fails(read_files(2, &t), MM_ERR_INPUT,
               "for all maps on 'E', found no seed that all have ('b' has the fewest)");
  mm_score_table_release(&t);
}

// Names of several tables must mean the same. Each case has remarks of two tables, between which
// there is one that says nothing; map a is in both, b and c in one.
static void test_origins(void **state) {
  (void)state;
  static const struct {
    const char *one, *two, *refusal; // NULL: they fit
  } cases[] = {
    { "# maps: {\"a\":\"x/a.json\"}", "# maps: {\"a\":\"x/a.json\"}", NULL },
    { "# maps: {\"a\":\"x/a.json\"}", "# maps: {\"a\":\"y/a.json\"}",
      "map 'a' is not the same: x/a.json and y/a.json; expected maps with names of their own" },
    { "# maps: {\"b\":\"x/b.json\"}", "# maps: {\"b\":\"y/b.json\"}", NULL }, // not in the second
    { "# maps: {\"a\":\"x/a.json\"}\n# fingerprints: {\"a\":\"01\"}",
      "# maps: {\"a\":\"y/a.json\"}\n# fingerprints: {\"a\":\"01\"}", NULL },
    { "# maps: {\"a\":\"a.json\"}\n# fingerprints: {\"a\":\"01\"}",
      "# maps: {\"a\":\"a.json\"}\n# fingerprints: {\"a\":\"02\"}",
      "map 'a' is not the same: 01 and 02" },
    { "# maps: {\"a\":\"a.json\"}", "# maps: {\"a\":\"a.json\"}\n# fingerprints: {\"a\":\"02\"}",
      NULL },
    { "# maps: text", "# maps: other", NULL },
    { "# envs: {\"E\":\"x/E.yaml\"}", "# envs: {\"E\":\"y/E.yaml\"}",
      "environment 'E' is not the same: x/E.yaml and y/E.yaml" },
    { "# settings: {\"E\":{\"steps\":1024}}", "# settings: {\"E\":{\"steps\":4096}}",
      "E: setting 'steps' is 1024 and 4096; expected the same settings but for eta" },
    { "# settings: {\"E\":{\"steps\":1024}}", "# settings: {\"F\":{\"steps\":4096}}", NULL },
    { "# settings: {\"E\":{\"lr\":1,\"algo\":\"pmd\"}}",
      "# settings: {\"E\":{\"gae_lambda\":1,\"algo\":\"ampo\"}}",
      "setting 'algo' is \"pmd\" and \"ampo\"" },
    // a key that one of them lacks had its default
    { "# settings: {\"E\":{\"termination\":\"absorb\",\"gamma\":0.99,\"algo\":\"pmd\"}}",
      "# settings: {\"E\":{\"algo\":\"pmd\"}}", NULL },
    { "# settings: {\"E\":{\"algo\":\"pmd\"}}",
      "# settings: {\"E\":{\"termination\":\"restart\",\"algo\":\"pmd\"}}",
      "setting 'termination' is not said and \"restart\"" },
    { "# settings: {\"E\":{\"algo\":\"pmd\"}}",
      "# settings: {\"E\":{\"gamma\":0.5,\"algo\":\"pmd\"}}", "'gamma' is not said and 0.5" },
    // maps have step sizes of their own, but each one
    { "# settings: {\"E\":{\"eta\":0.1}}", "# settings: {\"E\":{\"eta\":0.2}}",
      "map 'a' on E: setting 'eta' is 0.1 and 0.2; expected one step size for a map" },
    { "# settings: {\"E\":{\"eta_schedule\":\"none\",\"algo\":\"pmd\"}}",
      "# settings: {\"E\":{\"eta_schedule\":\"0.5,1\",\"algo\":\"pmd\"}}",
      "map 'a' on E: setting 'eta_schedule'" },
    { "# settings: {\"F\":{\"eta\":0.1}}", "# settings: {\"F\":{\"eta\":0.2}}", NULL },
    { "# settings: [1]\n# settings: {\"E\":[1]}", "# settings: {\"E\":{\"steps\":1}}", NULL },
    { "# maps: {\"a\":1}", "# maps: {\"a\":\"x\"}\n# fingerprints: {}", NULL },
    { "# maps: {\"a\"}", "", "runs.csv:1: remark:1:5: expected" },
  };
  mm_score_table t;
  char text[700];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(text, sizeof text, "%s\nmap,env,seed,final\na,E,1,1\nb,E,1,2\nb,F,1,1\n",
             cases[i].one);
    write_text(0, text);
    write_text(1, "map,env,seed,final\na,E,1,1\n");
    snprintf(text, sizeof text, "%s\nmap,env,seed,final\na,E,1,1\nc,E,1,2\nc,F,1,1\n",
             cases[i].two);
    write_text(2, text);
    mm_status status = read_files(3, &t);
    if (!cases[i].refusal != (status == MM_OK)) fail_msg("case %zu: %s", i, mm_last_error());
    if (cases[i].refusal) {
      assert_fails(status, MM_ERR_INPUT, cases[i].refusal);
      assert_non_null(strstr(mm_last_error(), path[0]));
      if (*cases[i].two) assert_non_null(strstr(mm_last_error(), path[2]));
    }
    mm_score_table_release(&t);
  }
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } bad[] = {
    { "", "found no 'map'" },
    { "map,env,final\na,E,1\n", "found no 'seed'" },
    { "map,env,seed,final\n", "at least one run" },
    { "map,env,seed,final\n\na,E,1\n", "runs.csv:3: expected a column 'final'" },
    { "map,env,seed,final\na,E,1,1e999\n", "runs.csv:2: column 'final'" },
    { "map,env,seed,final\na,E,1,nan\n", "column 'final'" },
    { "map,env,seed,final\na,E,1,-inf\n", "column 'final'" },
    { "map,env,seed,final\na,E,1,2e100\n", "column 'final'" },
    { "map,env,seed,final\na,E,-1,1\n", "column 'seed'" },
    { "map,env,seed,final\na,E,,1\n", "column 'seed'" },
    { "map,env,seed,final\na,E,18446744073709551616,1\n", "below 2^64" },
    { "map,env,seed,final\n,E,1,1\n", "column 'map': expected a name" },
    { "map,env,seed,final\n\"a,E,1,1\n", "runs.csv:2: expected an end of the quoted field" },
    { "map,env,seed,final\n\"a\"b,E,1,1\n", "expected a comma" },
  };
  mm_score_table t;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_text(0, bad[i].text);
    assert_fails(read_files(1, &t), MM_ERR_INPUT, bad[i].part);
    assert_non_null(strstr(mm_last_error(), path[0]));
    mm_score_table_release(&t);
  }
  const char *const missing[] = { "/nowhere/at/all" };
  assert_fails(mm_score_table_read(missing, 1, &t), MM_ERR_INPUT, "/nowhere/at/all");
  mm_score_table_release(&t);
}

static void test_bounds(void **state) {
  (void)state;
  mm_score_table t;
  FILE *f = fopen(path[0], "wb");
  assert_non_null(f);
  fputs("map,env,seed,final\n", f);
  for (int i = 0; i <= MM_SCORE_NAMES; i++)
    fprintf(f, "map%d,E,1,1\n", i);
  assert_int_equal(fclose(f), 0);
  assert_fails(read_files(1, &t), MM_ERR_INPUT, "at most 256 names");
  mm_score_table_release(&t);
  // sparse: 200 x 200 x 600 places for 600 runs
  f = fopen(path[0], "wb");
  assert_non_null(f);
  fputs("map,env,seed,final\n", f);
  for (int i = 0; i < 600; i++)
    fprintf(f, "map%d,env%d,%d,1\n", i % 200, i % 200, i);
  assert_int_equal(fclose(f), 0);
  assert_fails(read_files(1, &t), MM_ERR_INPUT, "too many");
  mm_score_table_release(&t);
}

// ---------------------------------------------------------------------------------------------
// Scores

static const char *const two_envs = "map,env,seed,final\n"
                                    "learned,E,1,40\nlearned,E,2,60\n"
                                    "l2,E,1,10\nl2,E,2,30\n"
                                    "negentropy,E,1,15\nnegentropy,E,2,15\n"
                                    "random:0,E,1,0\nrandom:0,E,2,0\n"
                                    "learned,F,1,-1\nlearned,F,2,-3\n"
                                    "l2,F,1,-9\nl2,F,2,-11\n"
                                    "negentropy,F,1,-4\nnegentropy,F,2,-6\n"
                                    "random:0,F,1,-2\nrandom:0,F,2,-4\n";

static void judge(const mm_score_table *t, const double *random_return, mm_scores *s) {
  mm_score_baselines baselines = mm_score_baselines_of(t);
  assert_ok(mm_scores_of(t, &baselines, random_return, mm_score_random_row(t), s));
}

static void test_scale(void **state) {
  (void)state;
  mm_score_table t;
  mm_scores s;
  read_texts(two_envs, NULL, &t);
  judge(&t, NULL, &s);
  assert_int_equal(s.baselines.n, 2);
  assert_string_equal(t.map[s.baselines.row[0]], "negentropy");
  assert_string_equal(t.map[s.baselines.row[1]], "l2");
  // E: random 0, best baseline l2 with 20. F: random is above the best baseline, negentropy's -5
  assert_false(s.scale[0].by_means);
  assert_true(s.scale[0].zero == 0 && s.scale[0].one == 20);
  assert_string_equal(t.map[s.scale[0].one_map], "l2");
  assert_true(s.scale[1].by_means);
  assert_true(s.scale[1].zero == -10 && s.scale[1].one == -2);
  double x[4];
  size_t n[2];
  assert_int_equal(mm_scores_list(&s, 0, x, n), 2);
  assert_true(n[0] == 2 && n[1] == 2);
  assert_true(x[0] == 2 && x[1] == 3 && x[2] == 1.125 && x[3] == 0.875);
  assert_true(s.map[0].iqm.iqm == (1.125 + 2) / 2); // of four scores the middle two
  mm_scores_release(&s);
  // returns of a random policy come before the row
  const double random_policy[] = { 10, -45 };
  judge(&t, random_policy, &s);
  assert_true(s.scale[0].zero == 10 && s.scale[0].zero_map == t.n_map);
  assert_true(s.scale[1].zero == -45 && s.scale[1].one == -5);
  mm_scores_release(&s);
  mm_score_table_release(&t);
}

static void test_defaults(void **state) {
  (void)state;
  mm_score_table t;
  read_texts("map,env,seed,final\nnegentropy,E,1,1\nl2:tuned-eta,E,1,1\ntsallis:tuned-q-eta,E,1,1\n"
             "negentropy:tuned-eta,E,1,1\n",
             NULL, &t);
  mm_score_baselines b = mm_score_baselines_of(&t);
  assert_int_equal(b.n, 3);
  assert_true(b.row[0] == 3 && b.row[1] == 1 && b.row[2] == 2);
  assert_int_equal(mm_score_random_row(&t), t.n_map);
  // all means the same: no scores, but comparisons
  mm_scores s;
  judge(&t, NULL, &s);
  assert_true(isnan(s.scale[0].zero) && isnan(s.map[0].iqm.iqm));
  assert_true(s.match[1].wins == 0.5);
  mm_scores_release(&s);
  mm_score_table_release(&t);
  read_texts("map,env,seed,final\nmine,E,1,1\nyours,E,1,2\n", NULL, &t);
  b = mm_score_baselines_of(&t);
  assert_true(b.n == 0 && b.row[0] == 0);
  mm_score_table_release(&t);
}

static void test_comparisons(void **state) {
  (void)state;
  mm_score_table t;
  mm_scores s;
  read_texts(two_envs,
             "map,env,seed,final\nlearned,E,3,\nnegentropy,E,3,1\nl2,E,3,5\nrandom:0,E,3,0\n"
             "other,E,1,20\nother,E,2,30\nother,E,3,4\n",
             &t);
  judge(&t, NULL, &s);
  const size_t n = t.n_map, negentropy = 2, other = 4;
  // a run without a return is a loss, and leaves no mean
  const mm_comparison *c = mm_scores_over(&s, 0, 0);
  assert_int_equal(c->gain.n, 3);
  assert_true(isnan(c->gain.mean) && fabs(c->wins - 2.0 / 3) < 1e-15);
  assert_int_equal(s.map[0].failures, 1);
  c = mm_scores_over(&s, 0, 1);
  assert_true(c->gain.mean == 3 && c->gain.n == 2 && c->wins == 1);
  // over both environments, pairs of both
  c = &s.match[0 * n + negentropy];
  assert_true(c->gain.n == 5 && c->wins == 0.8);
  assert_true(s.match[negentropy * n + 0].wins == 0.2);
  assert_true(isnan(s.match[0].wins));
  // a map that lacks an environment has no IQM and wins nothing over all of them
  assert_true(isnan(s.map[other].iqm.iqm) && s.map[other].n_env == 1);
  assert_true(isnan(s.match[other * n].wins) && isnan(s.match[other].wins));
  assert_int_equal(mm_scores_over(&s, other, 0)->gain.n, 3);
  assert_int_equal(mm_scores_over(&s, other, 1)->gain.n, 0);
  assert_true(isnan(mm_scores_over(&s, negentropy, 0)->p)); // not against itself
  mm_scores_release(&s);
  mm_score_table_release(&t);
}

static void test_profile(void **state) {
  (void)state;
  static const double tau[] = { -10, 0.875, 1, 2, 2.5, 3 };
  static const double expected[] = { 1, 0.75, 0.75, 0.25, 0.25, 0 };
  double share[6];
  mm_interval band[6];
  mm_score_table t;
  mm_scores s;
  read_texts(two_envs, NULL, &t);
  judge(&t, NULL, &s);
  assert_ok(mm_scores_profile(&s, 0, tau, 6, share, band)); // of 2, 3, 1.125, 0.875
  for (int k = 0; k < 6; k++) {
    assert_true(share[k] == expected[k]);
    assert_true(band[k].low <= share[k] && share[k] <= band[k].high);
  }
  mm_scores_release(&s);
  mm_score_table_release(&t);
}

// A map that lacks runs of a hard environment is no better for it: with the same returns as another
// it has the same numbers.
static void test_unequal_runs(void **state) {
  (void)state;
  enum { N = 20, KEPT = 4 };
  mm_score_table t;
  mm_scores s;
  double share[2][MM_PROFILE_POINTS];
  mm_interval band[MM_PROFILE_POINTS];
  FILE *f = fopen(path[0], "wb");
  assert_non_null(f);
  fputs("map,env,seed,final\n", f);
  for (int i = 0; i < N; i++) {
    fprintf(f, "l2,easy,%d,10\nl2,hard,%d,10\nrandom:0,easy,%d,0\nrandom:0,hard,%d,0\n", i, i, i,
            i);
    fprintf(f, "A,easy,%d,%d\nB,easy,%d,%d\nA,hard,%d,%d\n", i, 11 + i % 3, i, 11 + i % 3, i,
            i % 3);
    if (i < KEPT) fprintf(f, "B,hard,%d,%d\n", i, i % 3);
  }
  assert_int_equal(fclose(f), 0);
  assert_ok(read_files(1, &t));
  judge(&t, NULL, &s);
  const size_t a = mm_score_find(&t, "A"), b = mm_score_find(&t, "B"), n = t.n_map;
  assert_true(t.left_out[0] == 0 && t.left_out[1] == N - KEPT && t.fewest[1] == b);
  assert_true(s.map[a].n == N + KEPT && s.map[b].n == N + KEPT);
  assert_memory_equal(&s.map[a].iqm, &s.map[b].iqm, sizeof s.map[a].iqm);
  assert_true(s.match[a * n].wins == s.match[b * n].wins && s.match[a * n + b].wins == 0.5);
  assert_ok(mm_scores_profile(&s, a, s.tau, MM_PROFILE_POINTS, share[0], band));
  assert_ok(mm_scores_profile(&s, b, s.tau, MM_PROFILE_POINTS, share[1], band));
  assert_memory_equal(share[0], share[1], sizeof share[0]);
  mm_scores_release(&s);
  mm_score_table_release(&t);
}

// Scores that are all the same have a range to be drawn over.
static void test_saturated(void **state) {
  (void)state;
  const double random_policy[] = { 20 };
  mm_score_table t;
  mm_scores s;
  read_texts("map,env,seed,final\na,E,1,500\nb,E,1,500\na,E,2,500\nb,E,2,500\n", NULL, &t);
  judge(&t, random_policy, &s);
  assert_true(s.map[0].iqm.iqm == 1 && s.map[0].iqm.low == 1 && s.map[0].iqm.high == 1);
  assert_true(s.tau[0] < 0.6 && s.tau[MM_PROFILE_POINTS - 1] > 1.4);
  mm_scores_release(&s);
  mm_score_table_release(&t);
}

static void test_scarce_memory(void **state) {
  (void)state;
  char text[2000];
  snprintf(text, sizeof text, "# settings: {\"E\":{\"eta\":1}}\n%s", two_envs);
  write_text(0, text);
  bool done = false;
  for (size_t blocks = 0; !done; blocks++) {
    mm_score_table t;
    mm_scores s = { .map = NULL };
    make_memory_scarce();
    allocations_left = blocks;
    mm_status status = read_files(1, &t);
    if (status == MM_OK) {
      mm_score_baselines baselines = mm_score_baselines_of(&t);
      status = mm_scores_of(&t, &baselines, NULL, t.n_map, &s);
    }
    done = status == MM_OK;
    if (!done) assert_int_equal(status, MM_ERR_MEMORY);
    mm_scores_release(&s);
    mm_score_table_release(&t);
    make_memory_usual();
    assert_true(blocks < 1000);
  }
}

int suite_scores(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_read),          cmocka_unit_test(test_merge),
    cmocka_unit_test(test_common_seeds),  cmocka_unit_test(test_origins),
    cmocka_unit_test(test_refusals),      cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_scale),         cmocka_unit_test(test_defaults),
    cmocka_unit_test(test_comparisons),   cmocka_unit_test(test_profile),
    cmocka_unit_test(test_unequal_runs),  cmocka_unit_test(test_saturated),
    cmocka_unit_test(test_scarce_memory),
  };
  return cmocka_run_group_tests_name("scores", tests, make_folder, remove_folder);
}
