// Tables of several studies become one, with what is wrong in them refused by file and line; scores
// and comparisons of closed cases come out exactly.

#define _XOPEN_SOURCE 700 // mkdtemp

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scarce_memory.h"
#include "study/stats/scores.h"
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
             "x,a,7,E,1.5\r\n\n# in between\nx,\"b, \"\"c\"\"\",18446744073709551615,E,\n"
             "x,a,3,\"F\",-2e1\n",
             NULL, &t);
  assert_int_equal(t.n_map, 2);
  assert_int_equal(t.n_env, 2);
  assert_int_equal(t.n_seed, 3);
  assert_string_equal(t.map[1], "b, \"c\"");
  assert_string_equal(t.env[1], "F");
  assert_true(t.seed[0] == 3 && t.seed[1] == 7 && t.seed[2] == UINT64_MAX);
  assert_true(mm_score_runs(&t, 0, 0)[1] == 1.5);
  assert_true(isnan(mm_score_runs(&t, 0, 0)[0]));
  assert_true(mm_score_runs(&t, 1, 0)[2] == -INFINITY);
  assert_true(mm_score_runs(&t, 0, 1)[0] == -20);
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
  const char *first = "map,env,seed,final\na,E,1,10\na,E,2,20\nb,E,1,11\n";
  read_texts(first, "seed,final,env,map\n1,10,E,a\n2,21,E,c\n1,5,F,a\n", &t);
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
  read_texts(two_envs, "map,env,seed,final\nlearned,E,3,\nnegentropy,E,3,1\nother,E,1,20\n", &t);
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
  // a map that lacks an environment has no IQM; pairs are those of common seeds
  assert_true(isnan(s.map[other].iqm.iqm) && s.map[other].n_env == 1);
  assert_int_equal(mm_scores_over(&s, other, 0)->gain.n, 1);
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

static void test_scarce_memory(void **state) {
  (void)state;
  write_text(0, two_envs);
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
    cmocka_unit_test(test_refusals),      cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_scale),         cmocka_unit_test(test_defaults),
    cmocka_unit_test(test_comparisons),   cmocka_unit_test(test_profile),
    cmocka_unit_test(test_scarce_memory),
  };
  return cmocka_run_group_tests_name("scores", tests, make_folder, remove_folder);
}
