// SPDX-License-Identifier: Apache-2.0
// Grid-World: environments by name, the laws of instances, task files, the step and its sampler.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "env/grid/grid_sample.h"
#include "env/grid/grid_task.h"
#include "env/grid/grid_trace.h"
#include "statistics.h"
#include "test.h"

static mm_env *open_env(const char *id) {
  mm_env *env;
  assert_ok(mm_env_open(id, &env));
  return env;
}

static mm_grid *draw(const mm_env *env, uint64_t seed, uint64_t index) {
  mm_grid *grid;
  assert_ok(mm_grid_draw(env, seed, index, &grid));
  return grid;
}

static int count_walls(const mm_grid *g) {
  int n = 0;
  for (int c = 0; c < g->cells; c++)
    n += g->wall[c];
  return n;
}

static bool same_task(const mm_grid *a, const mm_grid *b) {
  return a->side == b->side && a->n_object == b->n_object && a->start == b->start &&
         memcmp(a->wall, b->wall, (size_t)a->cells) == 0 &&
         memcmp(a->object, b->object, sizeof a->object) == 0 &&
         memcmp(a->reward, b->reward, sizeof a->reward) == 0 &&
         memcmp(a->terminate, b->terminate, sizeof a->terminate) == 0 &&
         memcmp(a->respawn, b->respawn, sizeof a->respawn) == 0;
}

// ---------------------------------------------------------------------------------------------
// Names

static void test_list(void **state) {
  (void)state;
  static const char *const names[] = {
    "dense",           "sparse",         "long",
    "longer",          "long_dense",     "sixteen_rooms",
    "sixteen_rooms_2", "labyrinth",      "labyrinth_flipped",
    "labyrinth_2",     "standard_maze",  "standard_maze_2",
    "standard_maze_3", "small_corridor", "all",
    "small",           "medium",         "large",
  };
  mm_env_info info;
  size_t n = 0;
  for (; n < sizeof names / sizeof *names; n++) {
    assert_true(mm_env_list(n, &info));
    assert_memory_equal(info.id, "GridWorld-", 10);
    assert_string_equal(info.id + 10, names[n]);
    assert_string_equal(info.algo, "pmd");
    assert_string_equal(info.preset, "gridworld");
    mm_env *env = open_env(info.id);
    assert_string_equal(mm_env_id(env), info.id);
    assert_true(mm_env_is_grid(env));
    mm_env_destroy(env);
  }
  for (; mm_env_list(n, &info); n++) {
    mm_env *env = open_env(info.id);
    assert_false(mm_env_is_grid(env));
    mm_env_destroy(env);
  }
  assert_int_equal(n, sizeof names / sizeof *names + 23); // classic control, bodies, MinAtar
}

static void test_unknown(void **state) {
  (void)state;
  static const char *const cases[][2] = {
    { "GridWorld-dens", "did you mean 'GridWorld-dense'?" },
    { "gridworld-dense", "did you mean 'GridWorld-dense'?" },
    { "dense", "did you mean 'GridWorld-dense'?" },
    { "GridWorld-dense         ", "no such ID" }, // nothing is read behind the end of an ID
    { "GridWorld-labyrnith", "did you mean 'GridWorld-labyrinth'?" },
    { "GridWord-sparse", "did you mean 'GridWorld-sparse'?" },
    { "CartPole", "did you mean 'CartPole-v1'?" },
    { "cartpol-v1", "did you mean 'CartPole-v1'?" },
    { "asterix", "did you mean 'Asterix-MinAtar'?" },
    { "MinAtar/Asterx-v1", "did you mean 'MinAtar/Asterix-v1'?" },
    { "GridWorld-xyzzy", "expected one of 'env list'" },
    { "", "no such ID" },
    { "./no/such/task.yaml", "./no/such/task.yaml" },
    { "task.yml", "task.yml" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_env *env;
    assert_fails(mm_env_open(cases[i][0], &env), MM_ERR_INPUT, cases[i][1]);
    assert_null(env);
  }
}

// ---------------------------------------------------------------------------------------------
// Fixed parts of the configurations

static void test_walls(void **state) {
  (void)state;
  static const struct {
    const char *id;
    int side, n_object, walls;
  } known[] = {
    { "GridWorld-dense", 11, 4, 0 },
    { "GridWorld-sparse", 13, 2, 0 },
    { "GridWorld-long", 11, 4, 0 },
    { "GridWorld-longer", 9, 5, 7 },
    { "GridWorld-long_dense", 11, 4, 17 },
    { "GridWorld-sixteen_rooms", 13, 3, 169 - 123 },
    { "GridWorld-sixteen_rooms_2", 13, 3, 169 - 116 },
    { "GridWorld-labyrinth", 13, 3, 169 - 97 },
    { "GridWorld-labyrinth_flipped", 13, 3, 169 - 97 },
    { "GridWorld-labyrinth_2", 13, 3, 169 - 97 },
    { "GridWorld-standard_maze", 13, 3, 169 - 96 },
    { "GridWorld-standard_maze_2", 13, 3, 169 - 97 },
    { "GridWorld-standard_maze_3", 13, 3, 169 - 98 },
    { "GridWorld-small_corridor", 13, 3, 169 - 98 },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    mm_env *env = open_env(known[i].id);
    mm_grid *g = draw(env, 0, 0), *other = draw(env, 0, 1);
    assert_int_equal(g->side, known[i].side);
    assert_int_equal(g->n_object, known[i].n_object);
    assert_int_equal(g->n_state, g->side * g->side << g->n_object);
    assert_int_equal(count_walls(g), known[i].walls);
    assert_memory_equal(g->wall, other->wall, (size_t)g->cells);
    // every free cell can be reached from every other: flood from the start
    int *queue = calloc((size_t)g->cells, sizeof *queue), head = 0, end = 0;
    uint8_t *seen = calloc((size_t)g->cells, 1);
    assert_true(queue && seen);
    queue[end++] = g->start;
    seen[g->start] = 1;
    for (; head < end; head++) {
      for (int a = 0; a < MM_GRID_ACTIONS; a++) {
        int c = g->next[queue[head] * MM_GRID_ACTIONS + a];
        assert_false(g->wall[c]);
        if (!seen[c]) queue[end++] = c;
        seen[c] = 1;
      }
    }
    assert_int_equal(end, g->cells - known[i].walls);
    free(queue);
    free(seen);
    mm_grid_destroy(g);
    mm_grid_destroy(other);
    mm_env_destroy(env);
  }
}

static void test_named_walls(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-longer");
  mm_grid *g = draw(env, 0, 0);
  for (int c = 0; c < g->cells; c++) {
    int row = c / 9, col = c % 9;
    assert_int_equal(g->wall[c], col == 4 && row != 1 && row != 7);
  }
  mm_grid_destroy(g);
  mm_env_destroy(env);
  env = open_env("GridWorld-long_dense");
  g = draw(env, 0, 0);
  for (int c = 0; c < g->cells; c++) {
    int row = c / 11, col = c % 11;
    assert_int_equal(g->wall[c],
                     (col == 5 && row != 0 && row != 7) || (row == 4 && col != 2 && col != 8));
  }
  mm_grid_destroy(g);
  mm_env_destroy(env);
}

static void test_named_objects(void **state) {
  (void)state;
  static const struct {
    const char *id;
    double triple[5][3];
  } known[] = {
    { "GridWorld-dense", { { 1, 0, .05 }, { 1, 0, .05 }, { -1, .5, .1 }, { -1, 0, .5 } } },
    { "GridWorld-sparse", { { 1, 1, 0 }, { -1, 1, 0 } } },
    { "GridWorld-long", { { 1, 0, .01 }, { 1, 0, .01 }, { -1, .5, 1 }, { -1, .5, 1 } } },
    { "GridWorld-longer",
      { { 1, .1, .01 }, { 1, .1, .01 }, { -1, .8, 1 }, { -1, .8, 1 }, { -1, .8, 1 } } },
    { "GridWorld-long_dense", { { 1, 0, .005 }, { 1, 0, .005 }, { 1, 0, .005 }, { 1, 0, .005 } } },
  };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    mm_env *env = open_env(known[k].id);
    mm_grid *g = draw(env, 4, 2);
    for (int i = 0; i < g->n_object; i++) {
      assert_true(g->reward[i] == known[k].triple[i][0]);
      assert_true(g->terminate[i] == known[k].triple[i][1]);
      assert_true(g->respawn[i] == known[k].triple[i][2]);
    }
    mm_grid_destroy(g);
    mm_env_destroy(env);
  }
}

// ---------------------------------------------------------------------------------------------
// Laws of what is drawn

enum { DRAWS = 20000 };

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Are values[n], which must lie in [0, 1), uniform?
static double uniform_p(double *values, size_t n) {
  double distance = 0;
  qsort(values, n, sizeof *values, compare_doubles);
  assert_true(values[0] >= 0 && values[n - 1] < 1);
  for (size_t i = 0; i < n; i++) {
    distance = fmax(distance, fabs(values[i] - (double)i / (double)n));
    distance = fmax(distance, fabs(values[i] - (double)(i + 1) / (double)n));
  }
  return kolmogorov_p(distance, (double)n);
}

// Start and objects: uniform over the free cells, all distinct, in every configuration with fixed
// walls.
static void test_cells(void **state) {
  (void)state;
  mm_env_info info;
  for (size_t e = 0; mm_env_list(e, &info) && strcmp(info.id, "GridWorld-all") != 0; e++) {
    mm_env *env = open_env(info.id);
    uint32_t counts[6][169] = { { 0 } }, used[169];
    int n_object = 0, n_cells = 0, n_walls = 0;
    for (uint64_t i = 0; i < DRAWS / 4; i++) {
      mm_grid *g = draw(env, 12, i);
      n_object = g->n_object;
      n_cells = g->cells;
      n_walls = count_walls(g);
      counts[0][g->start]++;
      for (int k = 0; k < n_object; k++)
        counts[k + 1][g->object[k]]++;
      for (int c = 0; c < n_cells; c++)
        assert_false(g->wall[c] && (counts[0][c] || counts[1][c]));
      mm_grid_destroy(g);
    }
    mm_grid *g = draw(env, 12, 0);
    for (int k = 0; k <= n_object; k++) {
      size_t n = 0;
      for (int c = 0; c < n_cells; c++) {
        if (!g->wall[c]) used[n++] = counts[k][c];
      }
      assert_int_equal(n, n_cells - n_walls);
      double expected = DRAWS * 0.25 / (double)n;
      assert_plausible(chi_square_p(chi_square_uniform(used, n, expected), (double)n - 1));
    }
    mm_grid_destroy(g);
    mm_env_destroy(env);
  }
}

// One family against its law: sizes and numbers of objects uniform and independent, the chance of
// each wall index, cells uniform on the largest grid.
static void check_family(const char *id, int side, int side_to, int n, int n_to, int draws,
                         int from) {
  mm_env *env = open_env(id);
  uint32_t joint[35] = { 0 }, walls[100] = { 0 }, starts[100] = { 0 }, last[100] = { 0 };
  uint32_t largest = 0;
  int sides = side_to - side + 1, ns = n_to - n + 1;
  double wall_sum = 0, wall_expected = 0;
  for (uint64_t i = 0; i < DRAWS; i++) {
    mm_grid *g = draw(env, 21, i);
    assert_true(g->side >= side && g->side <= side_to && g->n_object >= n && g->n_object <= n_to);
    joint[(g->side - side) * ns + g->n_object - n]++;
    wall_sum += count_walls(g);
    wall_expected += (double)draws * g->cells / from;
    if (g->side == side_to) {
      largest++;
      assert_int_equal(count_walls(g), draws);
      for (int c = 0; c < g->cells; c++)
        walls[c] += g->wall[c];
      starts[g->start]++;
      last[g->object[0]]++;
    }
    mm_grid_destroy(g);
  }
  size_t cells = (size_t)sides * (size_t)ns, board = (size_t)from;
  assert_plausible(
      chi_square_p(chi_square_uniform(joint, cells, DRAWS / (double)cells), (double)cells - 1));
  // drawn without replacement: the statistic of the counts shrinks by the free share
  double p = (double)draws / from, statistic = chi_square_uniform(walls, board, largest * p);
  assert_plausible(chi_square_p(statistic / (1 - p) * (from - 1) / from, from - 1));
  assert_plausible(
      chi_square_p(chi_square_uniform(starts, board, (double)largest / from), from - 1));
  assert_plausible(chi_square_p(chi_square_uniform(last, board, (double)largest / from), from - 1));
  // the standard deviation of a count is below 3
  assert_within_sigmas((wall_sum - wall_expected) / sqrt(DRAWS * 9.0), 5);
  mm_env_destroy(env);
}

static void test_families(void **state) {
  (void)state;
  check_family("GridWorld-all", 4, 10, 1, 5, 15, 100);
  check_family("GridWorld-small", 4, 6, 1, 3, 7, 36);
  check_family("GridWorld-medium", 6, 8, 2, 4, 10, 64);
  check_family("GridWorld-large", 8, 10, 2, 5, 15, 100);
}

// On the 4 x 4 grids of `all` the number of walls is hypergeometric.
static void test_wall_counts(void **state) {
  (void)state;
  enum { MOST = 9 };
  mm_env *env = open_env("GridWorld-all");
  uint32_t counts[MOST + 1] = { 0 }, total = 0;
  double expected[MOST + 1], chi_square = 0;
  for (uint64_t i = 0; i < 2 * DRAWS; i++) {
    mm_grid *g = draw(env, 22, i);
    int walls = count_walls(g);
    // few objects: no walls were drawn again
    if (g->side == 4 && g->n_object <= 3) counts[walls < MOST ? walls : MOST]++;
    total += g->side == 4 && g->n_object <= 3;
    mm_grid_destroy(g);
  }
  double rest = 1;
  for (int k = 0; k < MOST; k++) {
    double log_p = lgamma(16 + 1) - lgamma(k + 1) - lgamma(16 - k + 1) + lgamma(84 + 1) -
                   lgamma(15 - k + 1) - lgamma(84 - 15 + k + 1) - lgamma(100 + 1) + lgamma(15 + 1) +
                   lgamma(85 + 1);
    rest -= exp(log_p);
    expected[k] = exp(log_p) * total;
  }
  expected[MOST] = rest * total;
  // the rare counts from 6 on go together
  for (int k = 7; k <= MOST; k++) {
    expected[6] += expected[k];
    counts[6] += counts[k];
  }
  for (int k = 0; k <= 6; k++)
    chi_square += pow(counts[k] - expected[k], 2) / expected[k];
  assert_plausible(chi_square_p(chi_square, 6));
  mm_env_destroy(env);
}

// Rewards uniform, probabilities log-uniform, for each object; all uncorrelated.
static void check_values(const char *id, double reward_least, int n_object) {
  mm_env *env = open_env(id);
  enum { FIELDS = 15 };
  size_t n = 0;
  double *u = calloc((size_t)FIELDS * DRAWS, sizeof *u);
  assert_non_null(u);
  for (uint64_t i = 0; n < DRAWS / 4; i++) {
    mm_grid *g = draw(env, 23, i);
    for (int k = 0; k < n_object && g->n_object == n_object; k++) {
      double least = k == 0 ? 0 : reward_least;
      u[(3 * k) * DRAWS + (int)n] = (g->reward[k] - least) / (1 - least);
      u[(3 * k + 1) * DRAWS + (int)n] = log(g->terminate[k] / .01) / log(100);
      u[(3 * k + 2) * DRAWS + (int)n] = log(g->respawn[k] / .001) / log(100);
    }
    n += g->n_object == n_object;
    mm_grid_destroy(g);
  }
  for (int a = 0; a < 3 * n_object; a++) {
    for (int b = 0; b < a; b++) {
      double sum = 0; // of products of centred uniform numbers, each of variance 1/144
      for (size_t i = 0; i < n; i++)
        sum += (u[a * DRAWS + (int)i] - .5) * (u[b * DRAWS + (int)i] - .5);
      assert_within_sigmas(sum * 12 / sqrt((double)n), 5);
    }
  }
  for (int a = 0; a < 3 * n_object; a++)
    assert_plausible(uniform_p(u + a * DRAWS, n));
  free(u);
  mm_env_destroy(env);
}

static void test_values(void **state) {
  (void)state;
  check_values("GridWorld-all", -1, 5);
  check_values("GridWorld-large", -1, 2);
  check_values("GridWorld-labyrinth", 0, 3);
  check_values("GridWorld-small_corridor", 0, 3);
}

// An instance is a function of (seed, index): repeated draws agree, others differ.
static void test_names_of_instances(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-all"), *again = open_env("GridWorld-all");
  for (uint64_t i = 0; i < 50; i++) {
    mm_grid *a = draw(env, 5, i), *b = draw(again, 5, i), *c = draw(env, 5, i + 1);
    mm_grid *d = draw(env, 6, i);
    assert_true(same_task(a, b));
    assert_false(same_task(a, c));
    assert_false(same_task(a, d));
    mm_grid_destroy(a);
    mm_grid_destroy(b);
    mm_grid_destroy(c);
    mm_grid_destroy(d);
  }
  mm_env_destroy(env);
  mm_env_destroy(again);
}

// ---------------------------------------------------------------------------------------------
// Parts

static mm_grid_parts good_parts(void) {
  mm_grid_parts p = { .side = 3, .n_object = 2, .start = 0, .object = { 4, 8 } };
  p.reward[0] = p.terminate[0] = p.respawn[0] = 0.5;
  return p;
}

static void test_parts(void **state) {
  (void)state;
  static const uint8_t wall[9] = { [4] = 1 };
  mm_grid *g;
  mm_grid_parts p;
#define REFUSED(change, part)                                                                      \
  do {                                                                                             \
    p = good_parts();                                                                              \
    change;                                                                                        \
    assert_fails(mm_grid_create(&p, &g), MM_ERR_INPUT, part);                                      \
    assert_null(g);                                                                                \
  } while (0)
  p = good_parts();
  assert_ok(mm_grid_create(&p, &g));
  assert_int_equal(g->object_at[4], 0);
  assert_int_equal(g->object_at[8], 1);
  assert_int_equal(g->object_at[5], -1);
  mm_grid_destroy(g);
  mm_grid_destroy(NULL);
  REFUSED(p.side = 0, "'grid'");
  REFUSED(p.side = -3, "'grid'");
  REFUSED(p.side = INT32_MAX, "'grid'");
  REFUSED(p.n_object = 0, "'objects'");
  REFUSED(p.n_object = 9, "'objects'");
  REFUSED(p.start = -1, "'start'");
  REFUSED(p.start = 9, "'start'");
  REFUSED((p.wall = wall, p.start = 4), "'start': [1, 1] is a wall");
  REFUSED(p.wall = wall, "'objects[0].cell': [1, 1] is a wall");
  REFUSED(p.object[1] = 9, "'objects[1].cell'");
  REFUSED(p.object[1] = 4, "'objects[1].cell': [1, 1] holds object 0");
  REFUSED(p.object[1] = 0, "'objects[1].cell': [0, 0] is the start");
  REFUSED(p.reward[0] = NAN, "'objects[0].reward'");
  REFUSED(p.reward[1] = INFINITY, "'objects[1].reward'");
  REFUSED(p.terminate[0] = 1.0000001, "'objects[0].terminate'");
  REFUSED(p.respawn[1] = -1e-9, "'objects[1].respawn'");
  REFUSED(p.respawn[1] = NAN, "'objects[1].respawn'");
  REFUSED((p.side = 32767, p.n_object = 8), "274861129984 states");
#undef REFUSED
}

// ---------------------------------------------------------------------------------------------
// Task files

typedef struct workshop {
  char folder[32], path[64];
} workshop;

static workshop open_workshop(void) {
  workshop w = { .folder = "/tmp/mirrormap-test-XXXXXX" };
  assert_non_null(mkdtemp(w.folder));
  snprintf(w.path, sizeof w.path, "%s/task.yaml", w.folder);
  return w;
}

static void close_workshop(const workshop *w) {
  unlink(w->path);
  rmdir(w->folder);
}

static void write_text(const workshop *w, const char *text, size_t length) {
  FILE *file = fopen(w->path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

#define OBJECT(cell) "{cell: " cell ", reward: 1, terminate: 0.5, respawn: 0.1}"
#define TASK "grid: 4\nstart: [0, 0]\n"

static void test_file(void **state) {
  (void)state;
  static const char *const texts[] = {
    TASK "walls: [[1, 1], [1, 2]]\nobjects: [" OBJECT("[3, 3]") "]\n",
    "# a comment\nobjects:\n  - cell: [3, 3]\n    reward: 1\n    respawn: .1\n    terminate: 5e-1\n"
    "walls:\n  - [1, 1]\n  - - 1\n    - 2\nstart: [0, 0]\ngrid: 4\n",
    "{\"grid\": 4, \"walls\": [[1, 1], [1, 2]], \"start\": [0, 0], \"objects\": [{\"cell\": [3, "
    "3], "
    "\"reward\": 1.0, \"terminate\": 0.5, \"respawn\": 0.1}]}",
  };
  workshop w = open_workshop();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_text(&w, texts[i], strlen(texts[i]));
    mm_env *env = open_env(w.path);
    mm_grid *g = draw(env, 1, 2), *again = draw(env, 3, 4);
    assert_true(same_task(g, again));
    assert_string_equal(mm_env_id(env), w.path);
    assert_int_equal(g->side, 4);
    assert_int_equal(g->n_object, 1);
    assert_int_equal(g->n_state, 32);
    assert_int_equal(g->start, 0);
    assert_int_equal(g->object[0], 15);
    assert_int_equal(count_walls(g), 2);
    assert_true(g->wall[5] && g->wall[6]);
    assert_true(g->reward[0] == 1 && g->terminate[0] == .5 && g->respawn[0] == .1);
    mm_grid_destroy(g);
    mm_grid_destroy(again);
    mm_env_destroy(env);
  }
  close_workshop(&w);
}

static void test_bad_files(void **state) {
  (void)state;
#define ONE "objects: [" OBJECT("[3, 3]") "]\n"
#define NINE(o) o ", " o ", " o ", " o ", " o ", " o ", " o ", " o ", " o
  static const char *const cases[][2] = {
    { "", "" },
    { "# nothing\n", "" },
    { "null\n", "" },
    { "[1, 2]\n", "" },
    { "grid 4\n", "" },
    { "grid: [4\n", "" },
    { "grid: 4\n\tstart: [0, 0]\n", "" },
    { TASK, "objects" },
    { "start: [0, 0]\n" ONE, "grid" },
    { "grid: 4\n" ONE, "start" },
    { TASK ONE "wall: [[1, 1]]\n", "'wall' (did you mean 'walls'?)" },
    { TASK "objects: [{cell: [1, 1], rewerd: 1, terminate: 0, respawn: 0}]\n",
      "'rewerd' (did you mean 'reward'?)" },
    { TASK "objects: [{cell: [1, 1], terminate: 0, respawn: 0}]\n", "reward" },
    { TASK ONE "grid: 5\n", "grid" },
    { TASK "objects: []\n", "objects" },
    { TASK "objects: [" NINE(OBJECT("[3, 3]")) "]\n", "objects" },
    { TASK "objects: {}\n", "objects" },
    { TASK "objects: 3\n", "objects" },
    { TASK ONE "walls: 3\n", "walls" },
    { TASK ONE "walls: [1, 1]\n", "walls" },
    { TASK ONE "walls: [[1, 1, 1]]\n", "walls" },
    { TASK ONE "walls: [[1]]\n", "walls" },
    { TASK ONE "walls: [[1, 4]]\n", "'walls[0]': expected a whole number from 0 to 3" },
    { TASK ONE "walls: [[1, 1], [-1, 0]]\n", "'walls[1]'" },
    { TASK ONE "walls: [[1, 1], [2, 2], [1, 1]]\n", "'walls[2]': [1, 1] is listed twice" },
    { TASK ONE "walls: [[0, 0]]\n", "'start': [0, 0] is a wall" },
    { TASK ONE "walls: [[3, 3]]\n", "'objects[0].cell': [3, 3] is a wall" },
    { TASK "objects: [" OBJECT("[0, 0]") "]\n", "'objects[0].cell': [0, 0] is the start" },
    { TASK "objects: [" OBJECT("[1, 1]") ", " OBJECT("[1, 1]") "]\n", "'objects[1].cell'" },
    { TASK "objects: [" OBJECT("[4, 0]") "]\n", "'objects[0].cell'" },
    { TASK "objects: [" OBJECT("[a, 0]") "]\n", "'objects[0].cell'" },
    { TASK "objects: [" OBJECT("[1.5, 0]") "]\n", "'objects[0].cell'" },
    { "grid: 0\nstart: [0, 0]\n" ONE, "'grid'" },
    { "grid: -4\nstart: [0, 0]\n" ONE, "'grid'" },
    { "grid: 4x\nstart: [0, 0]\n" ONE, "'grid'" },
    { "grid: 4.5\nstart: [0, 0]\n" ONE, "'grid'" },
    { "grid: 99999999999999999999\nstart: [0, 0]\n" ONE, "'grid'" },
    { "grid:\nstart: [0, 0]\n" ONE, "grid" },
    { "grid: four\nstart: [0, 0]\n" ONE, "'grid'" },
    { "grid: {a: 1}\nstart: [0, 0]\n" ONE, "grid" },
    { "grid: 30000\nstart: [0, 0]\n" ONE, "1800000000 states" },
    { "grid: 4\nstart: [0, 4]\n" ONE, "'start'" },
    { "grid: 4\nstart: 0\n" ONE, "start" },
    { TASK "objects: [{cell: [1, 1], reward: .nan, terminate: 0, respawn: 0}]\n",
      "'objects[0].reward': expected a finite number" },
    { TASK "objects: [{cell: [1, 1], reward: nan, terminate: 0, respawn: 0}]\n", "reward" },
    { TASK "objects: [{cell: [1, 1], reward: inf, terminate: 0, respawn: 0}]\n", "reward" },
    { TASK "objects: [{cell: [1, 1], reward: 1e999, terminate: 0, respawn: 0}]\n", "reward" },
    { TASK "objects: [{cell: [1, 1], reward: 1, terminate: 1.5, respawn: 0}]\n",
      "'objects[0].terminate': expected a probability from 0 to 1, found 1.5" },
    { TASK "objects: [{cell: [1, 1], reward: 1, terminate: 0, respawn: -0.1}]\n",
      "'objects[0].respawn'" },
    { TASK "objects: [{cell: [1, 1], reward: 1, terminate: yes, respawn: 0}]\n", "terminate" },
    { "a: &a [1, 1]\n" TASK ONE, "" },
    { "grid: &g 4\nstart: [*g, 0]\n" ONE, "" },
    { TASK ONE "---\n" TASK ONE, "" },
    { TASK "objects: [" OBJECT("[\"\xff\", 1]") "]\n", "" },
  };
  workshop w = open_workshop();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(&w, cases[i][0], strlen(cases[i][0]));
    mm_grid *g;
    mm_status status = mm_grid_load(w.path, &g);
    if (status != MM_ERR_INPUT || g) fail_msg("case %zu was read: %s", i, cases[i][0]);
    if (!strstr(mm_last_error(), cases[i][1]))
      fail_msg("case %zu: expected '%s' in '%s'", i, cases[i][1], mm_last_error());
    assert_memory_equal(mm_last_error(), w.path, strlen(w.path));
    assert_null(strchr(mm_last_error(), '\n'));
    assert_true(strlen(mm_last_error()) > strlen(w.path) + 10);
  }
  mm_grid *g;
  assert_fails(mm_grid_load(w.folder, &g), MM_ERR_INPUT, w.folder);
  close_workshop(&w);
}

// A million cells with a wall on every other: read in one go, in time that grows with its length.
static void test_large_file(void **state) {
  (void)state;
  enum { SIDE = 1000, ROOM = 8 << 20 };
  char *text = malloc(ROOM);
  assert_non_null(text);
  size_t used = (size_t)snprintf(
      text, ROOM, "grid: %d\nstart: [0, 0]\nobjects: [" OBJECT("[999, 999]") "]\nwalls:\n", SIDE);
  int walls = 0;
  for (int row = 0; row < SIDE; row++) {
    for (int col = 1; col < SIDE - 1; col += 7) {
      used += (size_t)snprintf(text + used, ROOM - used, "- [%d, %d]\n", row, col);
      walls++;
    }
  }
  workshop w = open_workshop();
  write_text(&w, text, used);
  mm_grid *g;
  assert_ok(mm_grid_load(w.path, &g));
  assert_int_equal(g->n_state, 2000000);
  assert_int_equal(count_walls(g), walls);
  mm_grid_destroy(g);
  free(text);
  close_workshop(&w);
}

// ---------------------------------------------------------------------------------------------
// Steps

static void test_replay(void **state) {
  (void)state;
  mm_replay_report report;
  assert_ok(mm_grid_replay(MM_TEST_DATA "/golden/gridworld.json", &report));
  assert_int_equal(report.transitions, 3000);
  assert_int_equal(report.matched, 3000);
  assert_int_equal(report.mismatched, 0);
  assert_false(report.has_mismatch);
  assert_true(report.max_abs_error == 0);
}

// One transition on a board of 2 x 2 with every field wrong in turn.
static void test_replay_mismatch(void **state) {
  (void)state;
  static const char *const fields[] = { "reward", "next_pos", "next_exists_bits", "next_early_term",
                                        "done",   "p_term",   "next_obs_index" };
  static const char *const good[] = { "0.25", "1", "2", "1", "1", "0.5", "19" };
  workshop w = open_workshop();
  for (int wrong = -1; wrong < 7; wrong++) {
    const char *v[7];
    for (int i = 0; i < 7; i++)
      v[i] = i == wrong ? "7" : good[i];
    char text[1024];
    snprintf(text, sizeof text,
             "{\"levels\": [{\"max_grid_size\": 3, \"grid_size\": 2, \"max_steps_in_episode\": 50, "
             "\"n_objs\": 2, \"start_pos\": 0, \"walls\": [3, 8], \"obj_ids\": [1, 0], "
             "\"static_obj_poss\": [1, 2], \"obj_rewards\": [1, 0.25], \"obj_p_terminate\": [0, "
             "0.5], \"obj_p_respawn\": [0, 1], \"transitions\": [[3, 0, 1, 3, %s, %s, %s, %s, %s, "
             "2, 1, %s, %s]]}]}",
             v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
    write_text(&w, text, strlen(text));
    mm_replay_report report;
    assert_ok(mm_grid_replay(w.path, &report));
    assert_int_equal(report.transitions, 1);
    assert_int_equal(report.matched, wrong < 0);
    assert_int_equal(report.mismatched, wrong >= 0);
    assert_int_equal(report.has_mismatch, wrong >= 0);
    if (wrong < 0) continue;
    assert_string_equal(report.first.field, fields[wrong]);
    assert_true(report.first.expected == 7 && report.first.got == atof(good[wrong]));
    assert_true(report.max_abs_error == fabs(7 - atof(good[wrong])));
  }
  close_workshop(&w);
}

static void test_replay_refuses(void **state) {
  (void)state;
  static const char *const texts[] = {
    "",
    "[]",
    "{}",
    "{\"levels\": []}",
    "{\"levels\": [1]}",
    "{\"levels\": [{}]}",
    "{\"trajectories\": []}",
    "{\"transition_fields\": [\"x\"], \"levels\": [{}]}",
  };
  workshop w = open_workshop();
  mm_replay_report report;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_text(&w, texts[i], strlen(texts[i]));
    assert_fails(mm_grid_replay(w.path, &report), MM_ERR_INPUT, w.path);
  }
  close_workshop(&w);
  assert_fails(mm_grid_replay(w.path, &report), MM_ERR_INPUT, w.path);
}

// The order of a step: collection sees the old mask, what is collected cannot come back at once,
// what comes back under the agent waits for the next step.
static void test_order(void **state) {
  (void)state;
  mm_grid_parts p = { .side = 2, .n_object = 1, .start = 0, .object = { 1 } };
  p.reward[0] = 3;
  p.terminate[0] = 1;
  p.respawn[0] = 1;
  mm_grid *g;
  assert_ok(mm_grid_create(&p, &g));
  mm_grid_state s = mm_grid_start(g);
  mm_grid_event e = mm_grid_move(g, &s, 3, 1, 1);
  assert_true(s.cell == 1 && s.mask == 0 && e.reward == 3 && e.done);
  e = mm_grid_move(g, &s, 4, 1, 1); // it comes back under the agent
  assert_true(s.cell == 1 && s.mask == 1 && e.reward == 0 && !e.done);
  e = mm_grid_move(g, &s, 4, 1, 0); // standing still collects it
  assert_true(s.mask == 0 && e.reward == 3 && !e.done);
  e = mm_grid_move(g, &s, 0, 0, 0); // off the board
  assert_true(s.cell == 1 && s.mask == 0 && e.reward == 0 && !e.done);
  mm_grid_destroy(g);
}

// ---------------------------------------------------------------------------------------------
// The sampler

static mm_grid *sampler_task(void) {
  static const double respawn[8] = { 0, 1, .5, .001, .1, .3, .9, .02 };
  static const double terminate[8] = { 0, 1, .5, .01, .1, .3, .9, .02 };
  mm_grid_parts p = { .side = 3, .n_object = 8, .start = 8 };
  for (int i = 0; i < 8; i++) {
    p.object[i] = i;
    p.reward[i] = i;
    p.terminate[i] = terminate[i];
    p.respawn[i] = respawn[i];
  }
  mm_grid *g;
  assert_ok(mm_grid_create(&p, &g));
  return g;
}

// How often each object returns, from the empty mask, alone and together with its neighbour.
static void test_sampler_respawns(void **state) {
  (void)state;
  enum { STEPS = 100000 };
  mm_grid *g = sampler_task();
  mm_grid_sampler sampler = mm_grid_sampler_make(g);
  double counts[8] = { 0 }, both[8] = { 0 };
  for (uint64_t t = 0; t < STEPS; t++) {
    mm_stream stream = mm_stream_make(3, 1, MM_RNG_ENV_STEP, (uint32_t)(t % 64));
    mm_grid_state s = { 8, 0 };
    mm_grid_event e = mm_grid_step(g, &sampler, stream, t, 4, &s);
    assert_true(e.reward == 0 && !e.done && s.cell == 8);
    for (int i = 0; i < 8; i++) {
      counts[i] += s.mask >> i & 1;
      both[i] += (s.mask >> i & 1) && (s.mask >> (i + 1) % 8 & 1);
    }
  }
  for (int i = 0; i < 8; i++) {
    double p = g->respawn[i], pair = p * g->respawn[(i + 1) % 8];
    if (p == 0 || p == 1)
      assert_true(counts[i] == p * STEPS);
    else
      assert_within_sigmas((counts[i] - p * STEPS) / sqrt(STEPS * p * (1 - p)), 5);
    if (pair > 0 && pair < 1)
      assert_within_sigmas((both[i] - pair * STEPS) / sqrt(STEPS * pair * (1 - pair)), 5);
  }
  mm_grid_destroy(g);
}

// How often collecting each object ends the episode, whatever respawns beside it.
static void test_sampler_ends(void **state) {
  (void)state;
  enum { STEPS = 100000 };
  mm_grid *g = sampler_task();
  mm_grid_sampler sampler = mm_grid_sampler_make(g);
  for (int i = 0; i < 8; i++) {
    double ends = 0, with = 0, p = g->terminate[i];
    int other = i == 2 ? 5 : 2;
    for (uint64_t t = 0; t < STEPS; t++) {
      mm_stream stream = mm_stream_make(4, 1, MM_RNG_ENV_STEP, (uint32_t)i);
      mm_grid_state s = { i, 1u << i };
      mm_grid_event e = mm_grid_step(g, &sampler, stream, t, 4, &s);
      assert_true(e.reward == i && !(s.mask >> i & 1));
      ends += e.done;
      with += e.done && (s.mask >> other & 1);
    }
    double pair = p * g->respawn[other];
    if (p == 0 || p == 1) {
      assert_true(ends == p * STEPS);
    } else {
      assert_within_sigmas((ends - p * STEPS) / sqrt(STEPS * p * (1 - p)), 5);
      assert_within_sigmas((with - pair * STEPS) / sqrt(STEPS * pair * (1 - pair)), 5);
    }
  }
  mm_grid_destroy(g);
}

// The words of a step are where the header says; leaving blocks out changes nothing.
static void test_sampler_words(void **state) {
  (void)state;
  mm_grid *g = sampler_task();
  mm_grid_sampler sampler = mm_grid_sampler_make(g);
  mm_stream choices = mm_stream_make(5, 0, MM_RNG_TEST, 41);
  for (uint64_t t = 0; t < 3000; t++) {
    mm_stream stream = mm_stream_make(5, 2, MM_RNG_ENV_STEP, 3);
    uint32_t words[12];
    for (uint64_t b = 0; b < 3; b++) {
      mm_block block = mm_stream_block(stream, 3 * t + b);
      memcpy(words + 4 * b, block.word, sizeof block.word);
    }
    mm_block choice = mm_stream_block(choices, t);
    mm_grid_state s = { (int32_t)(choice.word[0] % 9), choice.word[1] & 255 }, expected = s;
    int action = (int)(choice.word[2] % 5);
    uint32_t respawned = 0;
    for (int i = 0; i < 8; i++)
      respawned |= (uint32_t)(words[i + 1] < g->respawn[i] * 0x1p32) << i;
    int at = g->object_at[g->next[s.cell * 5 + action]];
    int ends = at >= 0 && words[0] < g->terminate[at] * 0x1p32;
    // a respawn draw of a present object is without effect
    mm_grid_event e = mm_grid_move(g, &expected, action, respawned & ~s.mask, ends);
    mm_grid_event ours = mm_grid_step(g, &sampler, stream, t, action, &s);
    assert_true(s.cell == expected.cell && s.mask == expected.mask && ours.done == e.done &&
                ours.reward == e.reward);
  }
  mm_grid_destroy(g);
}

int suite_gridworld(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_list),
    cmocka_unit_test(test_unknown),
    cmocka_unit_test(test_walls),
    cmocka_unit_test(test_named_walls),
    cmocka_unit_test(test_named_objects),
    cmocka_unit_test(test_cells),
    cmocka_unit_test(test_families),
    cmocka_unit_test(test_wall_counts),
    cmocka_unit_test(test_values),
    cmocka_unit_test(test_names_of_instances),
    cmocka_unit_test(test_parts),
    cmocka_unit_test(test_file),
    cmocka_unit_test(test_bad_files),
    cmocka_unit_test(test_large_file),
    cmocka_unit_test(test_replay),
    cmocka_unit_test(test_replay_mismatch),
    cmocka_unit_test(test_replay_refuses),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_sampler_respawns),
    cmocka_unit_test(test_sampler_ends),
    cmocka_unit_test(test_sampler_words),
  };
  return cmocka_run_group_tests_name("gridworld", tests, NULL, NULL);
}
