// SPDX-License-Identifier: Apache-2.0
// Suite `reproduce`: the paper's numbers, plans and their sizes, statistics of cells, policies
// against the score scale, and a small Grid-World figure held against runs of `theory`, also when
// it was interrupted in the middle.

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/status.h"
#include "mirrormap/settings.h"
#include "paper/paper_internal.h"
#include "paper/published.h"
#include "paper/reproduction_figure.h"
#include "run_fixture.h"
#include "study/stats/controls.h"
#include "study/theory/theory.h"

static void assert_near(double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance)) fail_msg("expected %.17g, got %.17g", expected, got);
}

// ---------------------------------------------------------------------------------------------
// The paper

static void test_paper(void **state) {
  (void)state;
  static const size_t green[MM_PUBLISHED_ENVS] = { 5, 4, 5, 4, 3 };
  size_t total = 0;
  for (size_t m = 0; m < MM_PUBLISHED_ENVS; m++) {
    size_t row = 0;
    for (size_t e = 0; e < MM_PUBLISHED_ENVS; e++)
      row += mm_published_is_better(m, e);
    assert_int_equal(row, green[m]);
    assert_true(mm_published_is_better(m, m));
    total += row;
  }
  assert_int_equal(total, 21);
  assert_true(mm_published_final(MM_PUBLISHED_ENVS, 1) == 359.14);
  assert_true(mm_published_final(4, mm_published_env("Acrobot-v1")) == -78.29);
  assert_int_equal(mm_published_env("Breakout-MinAtar"), MM_PUBLISHED_ENVS);
  assert_true(isnan(mm_published_final(0, MM_PUBLISHED_ENVS)));
  assert_false(mm_published_is_better(MM_PUBLISHED_ENVS, 0));
}

// ---------------------------------------------------------------------------------------------
// Policies against the score scale

typedef struct scale_row {
  size_t n;
  double c;
  double negentropy[5], l2[5];
} scale_row;

static const scale_row scale_rows[] = {
  { 2, 0.5, { .389361, .610639 }, { .275, .725 } },
  { 2, 1, { .289050, .710950 }, { .05, .95 } },
  { 3, 0.5, { .198890, .311921, .489189 }, { 0, .275, .725 } },
  { 3, 1, { .105161, .258654, .636186 }, { 0, .05, .95 } },
  { 4, 1, { .041002, .100849, .248048, .610101 }, { 0, 0, .05, .95 } },
  { 5, 2, { .000623, .003770, .022810, .137992, .834804 }, { 0, 0, 0, 0, 1 } },
};

static void test_score_scale(void **state) {
  (void)state;
  static const char *const names[] = { "negentropy", "l2" };
  for (int k = 0; k < 2; k++) {
    mm_map *map;
    assert_ok(mm_map_open(names[k], &map));
    for (size_t i = 0; i < sizeof scale_rows / sizeof *scale_rows; i++) {
      const scale_row *row = &scale_rows[i];
      double scores[5], probs[5];
      for (size_t a = 0; a < row->n; a++)
        scores[a] = 0.9 * row->c * (double)(a + 1);
      assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, scores, row->n, probs, NULL));
      for (size_t a = 0; a < row->n; a++)
        assert_near(probs[a], k == 0 ? row->negentropy[a] : row->l2[a], 5.1e-7);
    }
    mm_map_destroy(map);
  }
}

static double worst_at(const mm_map *map, size_t n, double c) {
  double scores[5], probs[5];
  for (size_t a = 0; a < n; a++)
    scores[a] = 0.9 * c * (double)(a + 1);
  assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, scores, n, probs, NULL));
  return probs[0];
}

// l2: the worst action is out when the gaps to all others sum to 1.
static void test_zero_scale(void **state) {
  (void)state;
  mm_map *l2, *entropy, *steps;
  double c;
  assert_ok(mm_map_open("l2", &l2));
  assert_ok(mm_map_open("negentropy", &entropy));
  assert_ok(mm_map_open("random:3", &steps));
  for (size_t n = 2; n <= 5; n++) {
    assert_ok(mm_artefact_zero_scale(l2, n, 0.9, &c));
    assert_near(c, 2 / (0.9 * (double)(n * (n - 1))), 1e-12);
    assert_ok(mm_artefact_zero_scale(entropy, n, 0.9, &c));
    assert_true(isinf(c) && c > 0);
    assert_ok(mm_artefact_zero_scale(steps, n, 0.9, &c));
    assert_true(isfinite(c) && worst_at(steps, n, c) == 0);
    assert_true(worst_at(steps, n, 0.999 * c) > 0);
  }
  mm_map_destroy(steps);
  mm_map_destroy(entropy);
  mm_map_destroy(l2);
}

// Rows beside the learned map: "initial" and "random" are of the family that is searched.
static void test_controls(void **state) {
  (void)state;
  static const struct {
    const char *name, *piecewise, *neural;
    bool tuned;
  } row[] = { { "l2", "l2", "l2", false },
              { "tsallis:0.5", "tsallis:0.5", "tsallis:0.5", false },
              { "negentropy:tuned-eta", "negentropy", "negentropy", true },
              { "initial", "piecewise:7", "neural", false },
              { "random", "random:0", "random-neural:0", false },
              { "random:0", "random:0", "random:0", false } };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    char name[MM_CONTROL_MAP_SIZE];
    assert_string_equal(mm_control_map(row[i].name, MM_MAP_PIECEWISE, 7, name), row[i].piecewise);
    assert_string_equal(mm_control_map(row[i].name, MM_MAP_NEURAL, 7, name), row[i].neural);
    assert_true(mm_control_is_tuned(row[i].name) == row[i].tuned);
  }
}

// ---------------------------------------------------------------------------------------------
// Plans and sizes

static mm_paper_plan plan_of(mm_artefact_id artefact, mm_scale scale) {
  return (mm_paper_plan){ .artefact = artefact, .scale = scale };
}

static void set(mm_paper_plan *plan, const char *key, const char *value) {
  mm_paper_set *one = &plan->set[plan->n_set++];
  snprintf(one->key, sizeof one->key, "%s", key);
  snprintf(one->value, sizeof one->value, "%s", value);
}

static mm_status read_text(const char *text, mm_paper_plan *out) {
  cJSON *root;
  assert_ok(mm_json_parse(text, strlen(text), "test", &root));
  mm_status status = mm_paper_plan_read(root, "test", out);
  cJSON_Delete(root);
  return status;
}

static void test_plan_text(void **state) {
  (void)state;
  mm_paper_plan plan = plan_of(MM_ARTEFACT_TRANSFER, MM_SCALE_LAPTOP), back;
  plan.seed = UINT64_MAX / 2;
  plan.seeds = 7;
  set(&plan, "steps", "4096");
  set(&plan, "target", "code");
  snprintf(plan.from[plan.n_from++], MM_PLAN_NAME_SIZE, "some/where");
  cJSON *json = mm_paper_plan_json(&plan);
  char *text = mm_json_print(json, false);
  assert_ok(read_text(text, &back));
  assert_memory_equal(&plan, &back, sizeof plan);
  mm_free(text);
  cJSON_Delete(json);
  assert_fails(read_text("{\"command\":\"learn\"}", &back), MM_ERR_INPUT, "'learn'");
  assert_fails(read_text("{\"command\":\"reproduce\",\"artefact\":\"pi\"}", &back), MM_ERR_INPUT,
               "scale");
}

static void test_plan_refused(void **state) {
  (void)state;
  mm_paper_plan plan = plan_of(MM_ARTEFACT_MUJOCO, MM_SCALE_SMOKE);
  set(&plan, "target", "code");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT,
               "setting 'target' is for control, minatar, transfer, not for 'mujoco'");
  plan = plan_of(MM_ARTEFACT_MUJOCO, MM_SCALE_SMOKE);
  set(&plan, "physics", "bullet");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "bullet");
  plan = plan_of(MM_ARTEFACT_MUJOCO, MM_SCALE_SMOKE);
  set(&plan, "steps", "100");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT,
               "100 are less than one iteration on Hopper, which has 128");
  plan = plan_of(MM_ARTEFACT_GRIDWORLD, MM_SCALE_SMOKE);
  set(&plan, "target", "code");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "target");
  plan = plan_of(MM_ARTEFACT_CONTROL, MM_SCALE_SMOKE);
  set(&plan, "termination", "restart");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "termination");
  plan = plan_of(MM_ARTEFACT_ALL, MM_SCALE_SMOKE);
  set(&plan, "target", "code");
  set(&plan, "termination", "restart");
  assert_ok(mm_paper_plan_check(&plan));
  set(&plan, "density_scale", "2");
  assert_ok(mm_paper_plan_check(&plan));
  set(&plan, "target", "both");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "both");
  plan = plan_of(MM_ARTEFACT_GRIDWORLD, MM_SCALE_SMOKE);
  set(&plan, "curve", "final");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "curve");
  plan = plan_of(MM_ARTEFACT_PHI, MM_SCALE_SMOKE);
  set(&plan, "steps", "10");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "trains nothing");
  plan = plan_of(MM_ARTEFACT_GRIDWORLD, MM_SCALE_SMOKE);
  set(&plan, "steps", "100");
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT,
               "100 are less than one iteration on GridWorld-all, which has 2048");
  plan = plan_of(MM_ARTEFACT_CONTROL, MM_SCALE_SMOKE);
  plan.seeds = 1;
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "standard error");
  plan.seeds = 2;
  plan.n_from = 1;
  assert_fails(mm_paper_plan_check(&plan), MM_ERR_INPUT, "'transfer'");
}

// Each artefact of `all` gets the settings that its trainings have, and passes with them.
static void test_plan_parts(void **state) {
  (void)state;
  static const struct {
    mm_artefact_id artefact;
    size_t n_set, seeds;
    const char *first;
  } expected[] = { { MM_ARTEFACT_PHI, 0, 0, "" },
                   { MM_ARTEFACT_GRIDWORLD, 2, 5, "termination" },
                   { MM_ARTEFACT_CONTROL, 2, 5, "target" },
                   { MM_ARTEFACT_MINATAR, 2, 5, "target" },
                   { MM_ARTEFACT_TRANSFER, 2, 5, "target" },
                   { MM_ARTEFACT_MUJOCO, 1, 5, "steps" } };
  mm_paper_plan all = plan_of(MM_ARTEFACT_ALL, MM_SCALE_LAPTOP), part;
  all.seed = 9;
  all.seeds = 5;
  set(&all, "target", "code");
  set(&all, "termination", "restart");
  set(&all, "steps", "65536");
  assert_ok(mm_paper_plan_check(&all));
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    mm_paper_plan_part(&all, expected[i].artefact, &part);
    assert_ok(mm_paper_plan_check(&part));
    assert_int_equal(part.artefact, expected[i].artefact);
    assert_int_equal(part.scale, MM_SCALE_LAPTOP);
    assert_true(part.seed == 9 && part.seeds == expected[i].seeds);
    assert_int_equal(part.n_set, expected[i].n_set);
    assert_string_equal(part.set[0].key, expected[i].first);
  }
}

// The paper's scale is the presets'; reduced ones say so.
static void test_sizes(void **state) {
  (void)state;
  mm_paper_plan plan = plan_of(MM_ARTEFACT_ALL, MM_SCALE_PAPER);
  mm_settings s;
  char label[MM_ARTEFACT_TEXT];
  const char *targets[2];
  assert_ok(mm_paper_settings(&plan, "GridWorld-dense", "", &s));
  assert_true(s.search.population == 512 && s.search.generations == 512 && s.pmd.steps == 262144);
  assert_ok(mm_paper_settings(&plan, "CartPole-v1", "code", &s));
  assert_true(s.search.population == 128 && s.search.generations == 600 && s.net.steps == 500000);
  assert_true(s.ampo.code_target);
  assert_ok(mm_paper_settings(&plan, "Freeway-MinAtar", "paper", &s));
  assert_string_equal(s.search.schedule, "500x1000000,100x10000000");
  assert_true(s.search.generations == 600 && s.net.envs == 256 && !s.ampo.code_target);
  assert_int_equal(mm_paper_seeds(&plan, MM_SUITE_GRIDWORLD), 256);
  assert_int_equal(mm_paper_seeds(&plan, MM_SUITE_CONTROL), 100);
  assert_ok(mm_paper_settings(&plan, "Hopper", "", &s));
  assert_true(s.algo == MM_ALGO_GAUSSIAN && s.search.population == 512);
  assert_true(s.search.generations == 256 && mm_settings_iterations(&s) == 488);
  assert_int_equal(mm_paper_seeds(&plan, MM_SUITE_MUJOCO), 8);
  assert_int_equal(mm_paper_targets(&plan, targets), 2);
  mm_paper_label(&plan, MM_SUITE_CONTROL, label);
  assert_string_equal(label, "paper scale, 100 runs");

  set(&plan, "steps", "327680");
  assert_ok(mm_paper_settings(&plan, "Freeway-MinAtar", "paper", &s));
  assert_string_equal(s.search.schedule, "-");
  assert_true(s.net.steps == 327680);
  mm_paper_label(&plan, MM_SUITE_CONTROL, label);
  assert_string_equal(label, "reduced: paper scale, 100 runs, steps=327680");
  static const struct {
    const char *key, *value, *label;
  } sets[] = { { "steps", "600000", "changed: " },    { "steps", "400000", "reduced: " },
               { "population", "127", "reduced: " },  { "population", "128", "changed: " },
               { "generations", "599", "reduced: " }, { "eta", "0.5", "changed: " } };
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    plan = plan_of(MM_ARTEFACT_CONTROL, MM_SCALE_PAPER);
    set(&plan, sets[i].key, sets[i].value);
    mm_paper_label(&plan, MM_SUITE_CONTROL, label);
    assert_memory_equal(label, sets[i].label, 9);
  }

  plan = plan_of(MM_ARTEFACT_CONTROL, MM_SCALE_LAPTOP);
  plan.seeds = 5;
  set(&plan, "steps", "1024");
  set(&plan, "target", "code");
  mm_paper_label(&plan, MM_SUITE_CONTROL, label);
  assert_non_null(strstr(label, "reduced: laptop scale, 5 runs instead of the paper's 100"));
  assert_non_null(strstr(label, ", steps=1024"));
  assert_null(strstr(label, "steps=51200"));
  assert_int_equal(mm_paper_targets(&plan, targets), 1);
  assert_string_equal(targets[0], "code");
}

// ---------------------------------------------------------------------------------------------
// Numbers of cells

static void fill_cell(mm_artefact *r, const char *map, const double *x, size_t n) {
  mm_artefact_cell *cell;
  assert_ok(mm_artefact_add(r, "E", map, "code", n, &cell));
  memcpy(cell->run[MM_QUANTITY_FINAL], x, n * sizeof *x);
}

static void test_cells(void **state) {
  (void)state;
  static const double learned[] = { 3, 5, NAN, 4, 8 }, entropy[] = { 1, 2, 3, 4, NAN },
                      l2[] = { 3, 4, 9, 9, 9 };
  mm_artefact r = { .seed = 1 };
  fill_cell(&r, "learned", learned, 5);
  fill_cell(&r, "negentropy", entropy, 5);
  fill_cell(&r, "l2", l2, 5);
  mm_artefact_summarise(&r);
  const mm_artefact_cell *a = mm_artefact_find_cell(&r, "E", "learned", "code");
  const mm_artefact_cell *b = mm_artefact_find_cell(&r, "E", "negentropy", "code");
  assert_non_null(a);
  assert_null(mm_artefact_find_cell(&r, "E", "learned", "paper"));
  assert_int_equal(a->of.n, 4);
  assert_near(a->value[MM_QUANTITY_FINAL].mean, 5, 1e-15);
  assert_near(a->of.iqm.iqm, 4.5, 1e-15); // of 3 4 5 8, one left out at either end
  assert_true(a->of.iqm.low >= 3 && a->of.iqm.low <= 4.5 && a->of.iqm.high >= 4.5 &&
              a->of.iqm.high <= 8);
  // seeds 0, 1, 3: differences 2, 3, 0
  mm_comparison c = mm_artefact_compare(a, b, MM_QUANTITY_FINAL);
  assert_near(c.gain.mean, 5.0 / 3, 1e-15);
  assert_near(c.gain.sem, sqrt(7.0 / 3 / 3), 1e-15);
  assert_near(c.wins, 2.5 / 3, 1e-15);
  assert_int_equal(c.gain.n, 3);
  assert_near(a->over[0].gain.mean, c.gain.mean, 0);
  assert_near(a->over[1].wins, (0.5 + 1 + 0 + 0) / 4, 1e-15);
  c = mm_artefact_compare(a, b, MM_QUANTITY_DROPS);
  assert_true(c.gain.n == 0 && isnan(c.gain.mean) && isnan(c.wins));
  mm_artefact_release(&r);
}

// Remarks of files with cells of different length say who has which seeds.
static void test_origin(void **state) {
  (void)state;
  mm_artefact r = { .seed = 7, .artefact = "transfer", .scale = "smoke" };
  mm_artefact_cell *cell;
  char text[2048];
  snprintf(r.label, sizeof r.label, "one");
  snprintf(r.more, sizeof r.more, "two");
  for (int i = 0; i < 6; i++)
    assert_ok(mm_artefact_add(&r,
                              i < 2   ? "A"
                              : i < 4 ? "B"
                                      : "C",
                              i % 2 ? "l2" : "m", "", i < 4 ? 3 : 2, &cell));
  FILE *f = fmemopen(text, sizeof text, "w");
  assert_non_null(f);
  mm_artefact_put_origin(f, &r);
  fclose(f);
  assert_non_null(strstr(text, "\n# one\n# two\n# seeds: 7 to 9 on A, B\n# seeds: 7 to 8 on C\n"));
  mm_artefact_release(&r);
}

// No line of a label is cut, and none is longer than it may be if it has a comma.
static void test_label_lines(void **state) {
  (void)state;
  static const char text[] = "reduced: scale, steps=1, envs=22, last";
  size_t at = 0, lines = 0;
  for (; text[at]; lines++) {
    size_t n = mm_artefact_line(text + at, 16);
    assert_true(n > 0 && n <= 16);
    at += n;
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): at is within the text
    assert_true(text[at] == '\0' || text[at - 1] == ',');
  }
  assert_int_equal(lines, 3);
  assert_int_equal(mm_artefact_line("nowhere to break it", 5), 19);
}

// The 95 % interval decides, of enough runs: 2.36 standard errors of 8, 1.98 of 100. Where it
// includes 0, a tie holds and all else is open.
static void test_verdicts(void **state) {
  (void)state;
  static const struct {
    mm_estimate gain;
    int above, tie;
  } rows[] = {
    { { 3, 1, 8 }, 1, -1 },        { { -3, 1, 8 }, -1, -1 },  { { 2.3, 1, 8 }, 0, 1 },
    { { -1.98, 1, 100 }, 0, 1 },   { { 0, 0, 8 }, 0, 1 },     { { 1, 0, 8 }, 1, -1 },
    { { -1.99, 1, 100 }, -1, -1 }, { { 30, 1, 7 }, 0, 0 },    { { -30, 1, 2 }, 0, 0 },
    { { 0, 1, 7 }, 0, 0 },         { { NAN, NAN, 8 }, 0, 0 }, { { 5, NAN, 1 }, 0, 0 },
  };
  mm_artefact r = { .seed = 1 };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_ok(mm_artefact_claim(&r, "E", "code", rows[i].gain, false, "above"));
    assert_ok(mm_artefact_claim(&r, "E", "code", rows[i].gain, true, "tie"));
    assert_int_equal(r.claim[2 * i].verdict, rows[i].above);
    assert_int_equal(r.claim[2 * i + 1].verdict, rows[i].tie);
  }
  mm_artefact_release(&r);
}

static int verdict_on(const mm_artefact *r, const char *text) {
  for (size_t i = 0; i < r->n_claim; i++)
    if (strcmp(r->claim[i].text, text) == 0) return r->claim[i].verdict;
  return 99; // not claimed
}

// The paper's words on each environment: a tie on Acrobot, twice on two games, a lower level on
// three.
static void test_claims_ampo(void **state) {
  (void)state;
  static const struct {
    const char *env;
    int above, tie, lower, twice;
  } rows[] = { { "Acrobot-v1", 99, 1, 1, 99 },
               { "CartPole-v1", 0, 99, 99, 99 },
               { "Asterix-MinAtar", 0, 99, 1, -1 },
               { "Freeway-MinAtar", 0, 99, 99, 99 },
               { "SpaceInvaders-MinAtar", 0, 99, 1, -1 } };
  static const char *const map[] = { "learned", "l2", "negentropy" };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    mm_artefact r = { .seed = 1 };
    for (int m = 0; m < 3; m++) {
      mm_artefact_cell *cell;
      assert_ok(mm_artefact_add(&r, rows[i].env, map[m], "code", 10, &cell));
      for (int k = 0; k < 10; k++) // learned as l2 but for noise of both signs
        cell->run[MM_QUANTITY_FINAL][k] = m == 2 ? 10 : 12 + (m == 0) * (k % 2 ? 0.5 : -0.5);
    }
    mm_artefact_summarise(&r);
    assert_ok(mm_artefact_claims(&r, &mm_artefact_specs[MM_ARTEFACT_MINATAR], rows[i].env, "code"));
    assert_int_equal(verdict_on(&r, "final return: learned > negentropy"), 1);
    assert_int_equal(verdict_on(&r, "final return: learned > l2"), rows[i].above);
    assert_int_equal(verdict_on(&r, "final return: learned ties with l2"), rows[i].tie);
    assert_int_equal(verdict_on(&r, "negentropy levels off lower: final return of l2 > negentropy"),
                     rows[i].lower);
    assert_int_equal(verdict_on(&r, "final return: learned more than twice negentropy"),
                     rows[i].twice);
    mm_artefact_release(&r);
  }
}

// The laptop's settings on bodies are a preset as well, for `learn` and `train`.
static void test_laptop_preset(void **state) {
  (void)state;
  mm_paper_plan plan = plan_of(MM_ARTEFACT_MUJOCO, MM_SCALE_LAPTOP);
  mm_settings ours, theirs = mm_settings_default(MM_ALGO_GAUSSIAN);
  assert_ok(mm_preset_apply(MM_TEST_DATA "/../presets/mujoco-laptop.yaml", &theirs));
  assert_ok(mm_paper_settings(&plan, "Ant", "", &ours));
  assert_true(mm_paper_same_settings(&ours, &theirs, true, NULL));
  theirs.search.es_lr = 0.2;
  assert_false(mm_paper_same_settings(&ours, &theirs, true, NULL));
}

// On bodies the learned map is above the negative entropy, and a ratio is told where there is one.
static void test_claims_mujoco(void **state) {
  (void)state;
  for (int sign = -1; sign <= 1; sign += 2) {
    mm_artefact r = { .seed = 1 };
    for (int m = 0; m < 2; m++) {
      mm_artefact_cell *cell;
      assert_ok(mm_artefact_add(&r, "Ant", m ? "negentropy" : "learned", "", 8, &cell));
      for (int k = 0; k < 8; k++)
        cell->run[MM_QUANTITY_FINAL][k] = sign * (m ? 200 : 300) + k % 2;
    }
    mm_artefact_summarise(&r);
    assert_ok(mm_artefact_claims(&r, &mm_artefact_specs[MM_ARTEFACT_MUJOCO], "Ant", ""));
    assert_ok(mm_artefact_note_ratio(&r, "Ant"));
    assert_int_equal(verdict_on(&r, "final return: learned > negentropy"), sign);
    assert_int_equal(r.n_note, sign > 0);
    if (sign > 0)
      assert_string_equal(r.note[0],
                          "Ant: return with the learned map 1.5 times that with negentropy");
    mm_artefact_release(&r);
  }
}

// ---------------------------------------------------------------------------------------------
// A small Grid-World figure

static mm_paper_plan small_figure(void) {
  mm_paper_plan plan = plan_of(MM_ARTEFACT_GRIDWORLD, MM_SCALE_SMOKE);
  plan.seeds = 2;
  plan.seed = 77;
  set(&plan, "steps", "1280");
  set(&plan, "envs", "8");
  set(&plan, "unroll", "16");
  return plan;
}

typedef struct witness {
  volatile int stop;
  int runs_until_stop; // of the figure
  int tunings_until_stop;
  uint64_t env_steps;
  int finished;
  // what the figure says of l2 on the long task
  mm_artefact_cell l2;
  double final[2], error[2];
  int early; // values of what only longer runs have
} witness;

static void see_progress(const char *stage, double done, double total, const char *unit,
                         void *user) {
  witness *w = user;
  (void)unit;
  (void)total;
  // none of a table's runs are done while it is tuned
  if (strcmp(stage, "table-GridWorld-sparse") != 0) return;
  if (done == 0 && --w->tunings_until_stop == 0) w->stop = 1;
  if (w->runs_until_stop > 0 && done >= w->runs_until_stop) w->stop = 1;
}

static void see_result(const mm_artefact *r, void *user) {
  witness *w = user;
  const mm_artefact_cell *cell = mm_artefact_find_cell(r, "GridWorld-long", "l2", "");
  w->finished++;
  w->env_steps = r->env_steps;
  assert_non_null(cell);
  w->l2 = *cell;
  memcpy(w->final, cell->run[MM_QUANTITY_FINAL], sizeof w->final);
  memcpy(w->error, cell->run[MM_QUANTITY_ERROR], sizeof w->error);
  for (int i = 0; i < 2; i++)
    w->early +=
        !isnan(cell->run[MM_QUANTITY_EARLY][i]) + !isnan(cell->run[MM_QUANTITY_DISTANCE][i]);
  for (size_t i = 0; i < r->n_claim; i++)
    if (strstr(r->claim[i].text, "50,000")) assert_int_equal(r->claim[i].verdict, 0);
  assert_int_equal(r->n_cell, 6 * 9 + 9 * 3);
  assert_int_equal(r->n_claim, 6 * 9);
  assert_non_null(strstr(r->label, "reduced"));
}

static mm_status run_figure(mm_paper *r, witness *w, int threads) {
  mm_paper_job job = { .size = sizeof job,
                       .threads = threads,
                       .stop = &w->stop,
                       .progress = see_progress,
                       .finished = see_result,
                       .user = w };
  mm_status status = mm_paper_run(r, &job);
  mm_paper_end(r, status == MM_OK ? "done" : "interrupted");
  return status;
}

// Each value against a run of `theory` with the same job.
static void check_against_theory(const mm_paper_plan *plan, const witness *w) {
  mm_settings settings;
  mm_env *env;
  mm_map *map;
  assert_ok(mm_paper_settings(plan, "GridWorld-long", "", &settings));
  assert_ok(mm_env_open("GridWorld-long", &env));
  assert_ok(mm_map_open("l2", &map));
  for (uint64_t i = 0; i < 2; i++) {
    mm_job job = { .env = env, .map = map, .seed = plan->seed + i };
    mm_theory theory;
    mm_settings_bind(&settings, &job);
    assert_ok(mm_theory_run(&job, NULL, NULL, NULL, &theory));
    double error = 0;
    for (size_t t = 0; t < theory.n_step; t++)
      error += theory.step[t].estimation_error / (double)theory.n_step;
    assert_int_equal(theory.n_step, 10);
    assert_true(w->final[i] == theory.final_value);
    assert_near(w->error[i], error, 1e-12);
    mm_theory_release(&theory);
  }
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Without remarks, in which times are.
static char *load_numbers(const char *path) {
  size_t size, used = 0;
  char *text = fixture_load(path, &size);
  for (size_t i = 0; i < size;) {
    size_t end = i;
    while (end < size && text[end] != '\n')
      end++;
    end += end < size;
    if (text[i] != '#') {
      memmove(text + used, text + i, end - i);
      used += end - i;
    }
    i = end;
  }
  char *out = malloc(used + 1);
  memcpy(out, text, used);
  out[used] = '\0';
  free(text);
  return out;
}

static void assert_same_numbers(const char *a, const char *b) {
  static const char *const file[] = { "aggregate.csv", "raw.csv", "table.csv" };
  for (int i = 0; i < 3; i++) {
    char one[512], two[512];
    snprintf(one, sizeof one, "%s/%s", a, file[i]);
    snprintf(two, sizeof two, "%s/%s", b, file[i]);
    char *x = load_numbers(one), *y = load_numbers(two);
    assert_true(strlen(x) > 200);
    assert_string_equal(x, y);
    free(x);
    free(y);
  }
}

static void test_gridworld(void **state) {
  (void)state;
  const mm_paper_plan plan = small_figure();
  char whole[300], parts[300];
  snprintf(whole, sizeof whole, "%s", fixture_path("whole"));
  snprintf(parts, sizeof parts, "%s", fixture_path("parts"));
  mm_paper *r;
  witness w = { 0 };
  assert_ok(mm_paper_begin(whole, &plan, &r));
  assert_ok(run_figure(r, &w, 2));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.early, 0); // 1280 steps have no beginning of 50,000
  check_against_theory(&plan, &w);
  mm_paper_close(r);
  assert_fails(mm_paper_begin(whole, &plan, &r), MM_ERR_INPUT, "whole");

  // stopped in the middle of the figure, gone on with on another number of threads
  witness stopped = { .runs_until_stop = 5 };
  assert_ok(mm_paper_begin(parts, &plan, &r));
  mm_status status = run_figure(r, &stopped, 1);
  mm_paper_close(r);
  // a machine that is fast enough is done before it is looked at
  if (status != MM_OK) assert_int_equal(status, MM_ERR_INTERRUPTED);
  witness again = { 0 };
  assert_ok(mm_paper_open(parts, &r));
  assert_memory_equal(&r->plan, &plan, sizeof plan);
  assert_ok(run_figure(r, &again, 3));
  mm_paper_close(r);
  if (status != MM_OK) assert_true(again.env_steps < w.env_steps);
  assert_same_numbers(whole, parts);

  // once more: nothing is left to do, the files are written again
  assert_ok(mm_paper_open(parts, &r));
  witness done = { 0 };
  assert_ok(run_figure(r, &done, 1));
  assert_true(done.env_steps == 0 && done.finished == 1);
  mm_paper_close(r);
  assert_same_numbers(whole, parts);
}

// The beginning is counted in steps, whatever an iteration is.
static void test_early(void **state) {
  (void)state;
  static const struct {
    double iteration;
    size_t n_step, early;
  } rows[] = { { 2048, 128, 24 }, { 2048, 25, 24 },   { 2048, 24, 0 }, { 2048, 8, 0 },
               { 16384, 16, 3 },  { 128, 2048, 390 }, { 65536, 4, 0 } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(mm_artefact_early(rows[i].iteration, rows[i].n_step), rows[i].early);
  }
}

// Runs that an earlier version kept in the reproduction's own database are refused in a sentence.
static void test_gridworld_earlier(void **state) {
  (void)state;
  const mm_paper_plan plan = small_figure();
  mm_paper *r;
  assert_ok(mm_paper_begin(fixture_path("earlier"), &plan, &r));
  const mm_run_training row = { .seed = plan.seed };
  assert_ok(mm_run_begin(r->study.run));
  assert_ok(mm_run_put_training(r->study.run, &row, NULL, NULL));
  assert_ok(mm_run_commit(r->study.run));
  mm_paper_close(r);
  assert_fails(mm_paper_open(fixture_path("earlier"), &r), MM_ERR_INPUT,
               "begun by an earlier version");
}

static int count_tuning(const mm_run_row *row, void *user) {
  *(int *)user += strcmp(row->batch.role, "tuning") == 0 ? 1 : 100;
  return 0;
}

// A tuning that was interrupted goes on behind what was trained for it before.
static void test_gridworld_tuning(void **state) {
  (void)state;
  if (test_under_valgrind()) skip(); // minutes there, and test_gridworld executes most of it
  const mm_paper_plan plan = small_figure();
  char whole[300], parts[300];
  snprintf(whole, sizeof whole, "%s", fixture_path("whole"));
  snprintf(parts, sizeof parts, "%s", fixture_path("parts"));
  mm_paper *r;
  mm_run *run;
  witness w = { 0 }, stopped = { .tunings_until_stop = 1 }, again = { 0 };
  int batches = 0;
  assert_ok(mm_paper_begin(whole, &plan, &r));
  assert_ok(run_figure(r, &w, 2));
  mm_paper_close(r);
  assert_ok(mm_paper_begin(parts, &plan, &r));
  assert_int_equal(run_figure(r, &stopped, 1), MM_ERR_INTERRUPTED);
  mm_paper_close(r);
  // nine step sizes for each of two maps; the table has yet to be announced
  assert_ok(mm_run_open(fixture_path("parts/table-GridWorld-sparse"), MM_RUN_READ, &run));
  assert_ok(mm_run_each(run, MM_RUN_BATCH, count_tuning, &batches));
  mm_run_close(run);
  assert_true(batches == 9 || batches == 18);
  assert_ok(mm_paper_open(parts, &r));
  assert_ok(run_figure(r, &again, 2));
  mm_paper_close(r);
  assert_same_numbers(whole, parts);
}

// A search or a table that came from elsewhere is not taken for ours.
static void test_foreign_children(void **state) {
  (void)state;
  mm_paper_plan plan = small_figure();
  mm_paper *r;
  mm_learn_plan *search = calloc(1, sizeof *search);
  mm_learn *learn;
  witness w = { 0 };
  char folder[300], child[400];
  for (int other = 0; other < 2; other++) {
    snprintf(folder, sizeof folder, "%s", fixture_path(other ? "lr" : "seed"));
    assert_ok(mm_paper_begin(folder, &plan, &r));
    search->n_env = 1;
    snprintf(search->env[0], sizeof search->env[0], "GridWorld-all");
    assert_ok(mm_paper_settings(&plan, "GridWorld-all", "", &search->settings));
    search->seed = plan.seed + (other == 0);
    if (other) search->settings.search.sigma_decay = 0.5;
    snprintf(child, sizeof child, "%s/learn-GridWorld-all", folder);
    assert_ok(mm_learn_create(child, search, &learn));
    mm_learn_close(learn);
    assert_fails(run_figure(r, &w, 2), MM_ERR_INPUT, "not the search of this reproduction");
    mm_paper_close(r);
  }
  free(search);
}

// A table is found again only by a plan with the same maps, seeds and settings.
static void test_foreign_table(void **state) {
  (void)state;
  mm_paper_plan plan = small_figure();
  mm_paper *r;
  mm_map *map[2], *other;
  mm_settings settings, changed;
  mm_paper_job job = { .size = sizeof job, .threads = 1 };
  mm_transfer_map row[2];
  assert_ok(mm_map_open("l2", &map[0]));
  assert_ok(mm_map_open("negentropy", &map[1]));
  assert_ok(mm_map_open("random:0", &other));
  for (int i = 0; i < 2; i++)
    row[i] = (mm_transfer_map){ .map = map[i],
                                .name = i ? "negentropy" : "learned",
                                .label = i ? "negentropy" : "learned" };
  assert_ok(mm_paper_begin(fixture_path("tables"), &plan, &r));
  r->job = &job;
  assert_ok(mm_paper_settings(&plan, "GridWorld-long", "", &settings));
  assert_ok(mm_paper_table(r, "GridWorld-long", "", false, &settings, row, 2));
  assert_ok(mm_paper_table(r, "GridWorld-long", "", false, &settings, row, 2));
  assert_int_equal(r->result.n_cell, 4);
  changed = settings;
  changed.pmd.eta = 0.5;
  assert_fails(mm_paper_table(r, "GridWorld-long", "", false, &changed, row, 2), MM_ERR_INPUT,
               "not the table of this reproduction");
  row[0].map = other;
  assert_fails(mm_paper_table(r, "GridWorld-long", "", false, &settings, row, 2), MM_ERR_INPUT,
               "not the table of this reproduction");
  row[0].map = map[0];
  r->plan.seed++;
  assert_fails(mm_paper_table(r, "GridWorld-long", "", false, &settings, row, 2), MM_ERR_INPUT,
               "not the table of this reproduction");
  mm_paper_close(r);
  mm_map_destroy(other);
  mm_map_destroy(map[0]);
  mm_map_destroy(map[1]);
}

static void put_run(const char *name, int64_t job, uint64_t seed) {
  static const uint64_t step[] = { 0 };
  const double value[] = { 0.5 };
  const mm_run_training row = { .job = job, .seed = seed, .final = 0.5, .points = 1 };
  mm_run *run;
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_WRITE, &run));
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_training(run, &row, step, value));
  assert_ok(mm_run_commit(run));
  mm_run_close(run);
}

static void expect_table(mm_paper *r, const mm_settings *settings, const mm_transfer_map *row,
                         size_t failed) {
  const char *why;
  mm_run *run;
  mm_run_summary summary;
  mm_artefact_release(&r->result);
  r->result = (mm_artefact){ .folder = "", .artefact = "", .scale = "" };
  r->n_failed = 0;
  assert_ok(mm_paper_table(r, "GridWorld-long", "", false, settings, row, 1));
  assert_int_equal(mm_paper_failures(r, &why), failed);
  if (failed > 0) assert_non_null(strstr(why, "table-GridWorld-long: not done after"));
  assert_int_equal(r->result.cell[0].n_failed, failed);
  cJSON *json = mm_artefact_json(&r->result);
  char *text = mm_json_print(json, false);
  assert_non_null(
      strstr(text, failed > 0 ? "\"failures\":1,\"cells\"" : "\"failures\":0,\"cells\""));
  mm_free(text);
  cJSON_Delete(json);
  assert_ok(mm_run_open(fixture_path("holes/table-GridWorld-long"), MM_RUN_READ, &run));
  assert_ok(mm_run_summarise(run, &summary));
  assert_string_equal(summary.outcome, failed > 0 ? "failed" : "done");
  mm_run_close(run);
}

// A run that failed is counted, and its table is not done; all of them are a failure.
static void test_failed_runs(void **state) {
  (void)state;
  static const char *const name = "holes/table-GridWorld-long";
  mm_paper_plan plan = small_figure();
  mm_paper *r;
  mm_map *map;
  mm_settings settings;
  mm_paper_job job = { .size = sizeof job, .threads = 1, .job_timeout = 0.01 };
  assert_ok(mm_map_open("l2", &map));
  const mm_transfer_map row = { .map = map, .name = "l2", .label = "l2" };
  assert_ok(mm_paper_begin(fixture_path("holes"), &plan, &r));
  r->job = &job;
  assert_ok(mm_paper_settings(&plan, "GridWorld-long", "", &settings));
  settings.pmd.steps = 1e12; // nobody sees the end of it
  assert_fails(mm_paper_table(r, "GridWorld-long", "", false, &settings, &row, 1), MM_ERR_TIMEOUT,
               "not done after");
  put_run(name, 0, 77);
  expect_table(r, &settings, &row, 1);
  put_run(name, 1, 78);
  expect_table(r, &settings, &row, 0);
  mm_paper_close(r);
  mm_map_destroy(map);
}

// Maps come from reproductions of the same scale, with a word on how each was learned.
static void test_borrow(void **state) {
  (void)state;
  static const char *const name = "learn-CartPole-v1-code";
  mm_paper_plan plan = plan_of(MM_ARTEFACT_CONTROL, MM_SCALE_SMOKE);
  mm_paper *r;
  mm_settings settings;
  mm_map *map;
  char lender[300], path[400], meta[1024];
  snprintf(lender, sizeof lender, "%s", fixture_path("lender"));
  assert_ok(mm_paper_begin(lender, &plan, &r));
  mm_paper_close(r);

  plan = plan_of(MM_ARTEFACT_TRANSFER, MM_SCALE_SMOKE);
  plan.n_from = 1;
  snprintf(plan.from[0], sizeof plan.from[0], "%s", lender);
  assert_fails(mm_paper_begin(fixture_path("t"), &plan, &r), MM_ERR_INPUT, "no learned map");
  assert_ok(mm_paper_settings(&plan, "CartPole-v1", "code", &settings));
  cJSON *card = cJSON_CreateObject();
  cJSON_AddNumberToObject(card, "generation", 0);
  cJSON_AddItemToObject(card, "settings", mm_settings_json(&settings));
  cJSON_AddItemToObject(card, "search", mm_search_json(&settings));
  char *text = mm_json_print(card, false);
  snprintf(meta, sizeof meta, "%s", text);
  assert_true(strlen(text) < sizeof meta);
  mm_free(text);
  cJSON_Delete(card);
  snprintf(path, sizeof path, "%s/%s", lender, name);
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path, sizeof path, "%s/%s/best.json", lender, name);
  assert_ok(mm_map_open("random:5", &map));
  assert_ok(mm_map_save(map, meta, path));
  mm_map_destroy(map);
  plan.scale = MM_SCALE_LAPTOP;
  assert_fails(mm_paper_begin(fixture_path("t"), &plan, &r), MM_ERR_INPUT, "of smoke scale");
  plan.scale = MM_SCALE_SMOKE;

  assert_ok(mm_paper_begin(fixture_path("t"), &plan, &r));
  assert_ok(mm_paper_borrow(r, "learn-CartPole-v1-paper", &settings, &map));
  assert_null(map);
  assert_ok(mm_paper_borrow(r, name, &settings, &map));
  assert_non_null(map);
  mm_map_destroy(map);
  assert_int_equal(r->result.n_note, 1);
  assert_non_null(strstr(r->result.note[0], "generation 0 of 2 (the initial map"));
  assert_null(strstr(r->result.note[0], "other settings"));
  assert_false(r->result.foreign_maps);
  // from the copy; a search here would have another size
  settings.search.population = 16;
  assert_int_equal(remove(path), 0);
  assert_ok(mm_paper_borrow(r, name, &settings, &map));
  mm_map_destroy(map);
  assert_non_null(strstr(r->result.note[1], "other settings than those here: population=4"));
  assert_true(r->result.foreign_maps);
  // neither copy nor owner
  snprintf(r->plan.from[0], sizeof r->plan.from[0], "%s/gone", lender);
  assert_fails(mm_paper_borrow(r, "learn-Acrobot-v1-code", &settings, &map), MM_ERR_INPUT,
               "no such folder");
  mm_paper_close(r);
}

int suite_reproduce(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_paper),
    cmocka_unit_test(test_score_scale),
    cmocka_unit_test(test_zero_scale),
    cmocka_unit_test(test_controls),
    cmocka_unit_test(test_plan_text),
    cmocka_unit_test(test_plan_refused),
    cmocka_unit_test(test_plan_parts),
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_cells),
    cmocka_unit_test(test_origin),
    cmocka_unit_test(test_label_lines),
    cmocka_unit_test(test_verdicts),
    cmocka_unit_test(test_claims_ampo),
    cmocka_unit_test(test_claims_mujoco),
    cmocka_unit_test(test_laptop_preset),
    cmocka_unit_test(test_early),
    cmocka_unit_test_setup_teardown(test_gridworld, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_gridworld_earlier, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_gridworld_tuning, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_foreign_children, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_foreign_table, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_failed_runs, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_borrow, fixture_open, fixture_close),
  };
  return cmocka_run_group_tests_name("reproduce", tests, NULL, NULL);
}
