// SPDX-License-Identifier: Apache-2.0
// Suite `picture`: what is on an observation is on its picture, in colours that can be told apart,
// and within the frame.

#define _XOPEN_SOURCE 700

#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "body_rig.h"
#include "env/minatar/seaquest.h"
#include "env/minatar/space_invaders.h"
#include "mirrormap/env.h"
#include "show/picture/frame_sheet.h"

// ---------------------------------------------------------------------------------------------
// Every environment that is listed

typedef void check(const char *id, const mm_scene *scene);

static void each_scene(check *each) {
  mm_env_info info;
  mm_scene scene;
  int n = 0;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    if (strncmp(info.id, "GridWorld-", 10) == 0) {
      assert_false(mm_scene_find(info.id, &scene));
      continue;
    }
    if (!mm_scene_find(info.id, &scene)) fail_msg("%s has no scene", info.id);
    each(info.id, &scene);
    n++;
  }
  assert_true(n >= 15);
}

static void check_marks(const char *id, const mm_scene *scene) {
  (void)id;
  assert_in_range(scene->n_mark, 1, MM_MARKS_MOST);
  for (int i = 0; i < scene->n_mark; i++) {
    assert_true(strlen(scene->mark[i].name) > 0);
    assert_true(scene->mark[i].letter > ' ' && scene->mark[i].letter <= '~');
    assert_int_not_equal(scene->mark[i].letter, '.'); // an empty cell
    for (int j = 0; j < i; j++) {
      assert_int_not_equal(scene->mark[i].letter, scene->mark[j].letter);
      if (scene->rows > 0) assert_int_not_equal(scene->mark[i].channel, scene->mark[j].channel);
    }
  }
}

static void test_marks(void **state) {
  (void)state;
  each_scene(check_marks);
  mm_scene scene;
  assert_false(mm_scene_find("Asterix", &scene));
  assert_false(mm_scene_find("Asterix-v1", &scene));
  assert_false(mm_scene_find("MinAtar/Asterix-MinAtar", &scene));
  assert_false(mm_scene_find("CartPole-v0", &scene));
}

// ---------------------------------------------------------------------------------------------
// Colours. Distances of CIE L*a*b* after Machado, Oliveira and Fernandes (2009), "A
// physiologically-based model for simulation of color vision deficiency", severity 1.

static const double vision[4][3][3] = {
  { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
  { { 0.152286, 1.052583, -0.204868 },
    { 0.114503, 0.786281, 0.099216 },
    { -0.003882, -0.048116, 1.051998 } },
  { { 0.367322, 0.860646, -0.227968 },
    { 0.280085, 0.672501, 0.047413 },
    { -0.011820, 0.042940, 0.968881 } },
  { { 1.255528, -0.076749, -0.178779 },
    { -0.078411, 0.930809, 0.147602 },
    { 0.004733, 0.691367, 0.303900 } },
};

static double linear(unsigned byte) {
  double c = byte / 255.0;
  return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double root(double t) {
  return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

static void seen_as(uint32_t colour, int kind, double lab[3]) {
  double own[3] = { linear(colour >> 16), linear(colour >> 8 & 255), linear(colour & 255) }, rgb[3];
  for (int i = 0; i < 3; i++) {
    rgb[i] = 0;
    for (int j = 0; j < 3; j++)
      rgb[i] += vision[kind][i][j] * own[j];
    rgb[i] = fmin(fmax(rgb[i], 0), 1);
  }
  double x = root((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047);
  double y = root(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  double z = root((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883);
  lab[0] = 116 * y - 16;
  lab[1] = 500 * (x - y);
  lab[2] = 200 * (y - z);
}

// the least over all kinds of vision; 2.3 is just noticeable side by side
static double difference(uint32_t one, uint32_t other) {
  double least = INFINITY;
  for (int kind = 0; kind < 4; kind++) {
    double a[3], b[3];
    seen_as(one, kind, a);
    seen_as(other, kind, b);
    least = fmin(least, sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2)));
  }
  return least;
}

// the divers aboard are a gauge in the last row, where no diver swims
static double difference_asked(const mm_mark *a, const mm_mark *b) {
  return strncmp(a->name, "diver", 5) == 0 && strncmp(b->name, "diver", 5) == 0 ? 10 : 20;
}

static void check_colours(const char *id, const mm_scene *scene) {
  for (int i = 0; i < scene->n_mark; i++) {
    const mm_mark *a = &scene->mark[i];
    uint32_t behind = scene->rows > 0 ? MM_BOARD_COLOUR : MM_PAPER_COLOUR;
    if (difference(a->colour, behind) < 20) fail_msg("%s: %s is lost on its board", id, a->name);
    for (int j = 0; j < i; j++) {
      const mm_mark *b = &scene->mark[j];
      double d = difference(a->colour, b->colour);
      if (d < difference_asked(a, b))
        fail_msg("%s: %s and %s look alike (%.1f)", id, a->name, b->name, d);
    }
  }
}

static void test_colours(void **state) {
  (void)state;
  each_scene(check_colours);
}

// terminals have them exactly: six levels a channel, or one of 24 greys
static void check_palette(const char *id, const mm_scene *scene) {
  static const char levels[] = "\x00\x5f\x87\xaf\xd7\xff";
  for (int i = 0; i < scene->n_mark; i++) {
    uint32_t c = scene->mark[i].colour, grey = c & 255;
    bool cube = memchr(levels, (int)(c >> 16), 6) && memchr(levels, (int)(c >> 8 & 255), 6) &&
                memchr(levels, (int)grey, 6);
    bool ramp = c == grey * 0x10101u && grey % 10 == 8 && grey <= 238;
    if (!cube && !ramp) fail_msg("%s: %s is no terminal's colour", id, scene->mark[i].name);
  }
}

static void test_palette(void **state) {
  (void)state;
  each_scene(check_palette);
}

// ---------------------------------------------------------------------------------------------
// Boards

static void test_priority(void **state) {
  (void)state;
  mm_scene scene;
  uint8_t cell[MM_MINATAR_CELLS];
  assert_true(mm_scene_find("Seaquest-MinAtar", &scene));
  float *obs = calloc(MM_SEAQUEST_INPUTS, sizeof *obs);
  for (int c = 0; c < MM_SEAQUEST_CHANNELS; c++)
    obs[37 * MM_SEAQUEST_CHANNELS + c] = 1;
  obs[38 * MM_SEAQUEST_CHANNELS + MM_SEAQUEST_TRAIL] = 1;
  obs[38 * MM_SEAQUEST_CHANNELS + MM_SEAQUEST_FISH] = 1;
  mm_scene_cells(&scene, obs, cell);
  assert_int_equal(scene.mark[cell[37] - 1].channel, MM_SEAQUEST_FRONT);
  assert_int_equal(scene.mark[cell[38] - 1].channel, MM_SEAQUEST_FISH);
  assert_int_equal(cell[36], 0);
  free(obs);
}

// Every input of every game is seen, alone in its cell; only SpaceInvaders' aliens are shown by
// their direction instead.
static void check_inputs(const char *id, const mm_scene *scene) {
  if (scene->rows == 0) return;
  uint8_t cell[MM_MINATAR_CELLS];
  int n_input = scene->channels * MM_MINATAR_CELLS;
  float *obs = calloc((size_t)n_input, sizeof *obs);
  for (int i = 0; i < n_input; i++) {
    obs[i] = 1;
    mm_scene_cells(scene, obs, cell);
    obs[i] = 0;
    int channel = i % scene->channels, at = i / scene->channels;
    bool alien = strstr(id, "SpaceInvaders") && channel == MM_SPACE_INVADERS_ALIEN;
    assert_int_equal(cell[at] > 0, !alien);
    if (cell[at] > 0) assert_int_equal(scene->mark[cell[at] - 1].channel, channel);
    cell[at] = 0;
    for (int c = 0; c < MM_MINATAR_CELLS; c++)
      assert_int_equal(cell[c], 0);
  }
  free(obs);
}

static void test_inputs(void **state) {
  (void)state;
  each_scene(check_inputs);
}

// ---------------------------------------------------------------------------------------------
// Shapes

static void assert_within(const char *id, const mm_scene *s, double x, double y) {
  if (!(x >= s->box.left && x <= s->box.right && y >= s->box.bottom && y <= s->box.top))
    fail_msg("%s: (%g, %g) is outside the frame", id, x, y);
}

// random play stays within the frame, ends of episodes included
static void check_play(const char *id, const mm_scene *scene) {
  if (scene->rows > 0) return;
  mm_env *env;
  mm_vec *vec;
  mm_vec_info info;
  float obs[32], final_obs[32], reward;
  uint8_t end;
  assert_int_equal(mm_env_open(id, &env), MM_OK);
  mm_vec_config config = { .size = sizeof(mm_vec_config), .n = 1, .seed = 3 };
  mm_status status = mm_vec_create(env, &config, &vec);
  if (status == MM_ERR_UNSUPPORTED) { // a body for a library that is not here
    print_message("%s\n", mm_last_error());
    mm_env_destroy(env);
    return;
  }
  assert_int_equal(status, MM_OK);
  mm_vec_describe(vec, &info);
  assert_in_range(info.n_input, 1, 32);
  assert_in_range(info.n_real, 0, 8);
  mm_vec_out out = { obs, final_obs, &reward, &end };
  assert_int_equal(mm_vec_reset(vec, &out), MM_OK);
  for (int t = 0; t < 3000; t++) {
    int32_t index = info.n_action > 0 ? (t / 7 * 5 + t) % info.n_action : 0;
    float real[8];
    for (int k = 0; k < 8; k++)
      real[k] = t / (40 - 4 * k) % 2 ? info.high : info.low;
    const void *action = info.n_action > 0 ? (const void *)&index : real;
    assert_int_equal(mm_vec_step(vec, action, &out), MM_OK);
    mm_shape shape[MM_SHAPES_MOST];
    int n = mm_scene_shapes(scene, end ? final_obs : obs, shape);
    assert_in_range(n, 1, MM_SHAPES_MOST);
    for (int i = 0; i < n; i++) {
      assert_in_range(shape[i].mark, 0, scene->n_mark - 1);
      assert_within(id, scene, shape[i].x, shape[i].y);
      assert_within(id, scene, shape[i].x2, shape[i].y2);
    }
  }
  mm_vec_destroy(vec);
  mm_env_destroy(env);
}

static void test_play(void **state) {
  (void)state;
  each_scene(check_play);
}

// the last line of a picture: pole, lower link, rod
static mm_shape last_line(const char *id, const float *obs) {
  mm_scene scene;
  mm_shape shape[MM_SHAPES_MOST];
  assert_true(mm_scene_find(id, &scene));
  int n = mm_scene_shapes(&scene, obs, shape);
  while (shape[n - 1].kind != MM_SHAPE_LINE)
    n--;
  return shape[n - 1];
}

static void test_poses(void **state) {
  (void)state;
  const double near = 1e-6;
  mm_shape s = last_line("CartPole-v1", (const float[]){ 0.5f, 0, 0, 0 });
  assert_true(fabs(s.x - 0.5) < near && fabs(s.x2 - 0.5) < near && fabs(s.y2 - s.y - 1) < near);
  s = last_line("CartPole-v1", (const float[]){ 0, 0, 0.2f, 0 }); // leans to the right
  assert_true(fabs(s.x2 - sin(0.2)) < near && fabs(s.y2 - s.y - cos(0.2)) < near);
  s = last_line("Acrobot-v1", (const float[]){ 1, 0, 1, 0, 0, 0 }); // hangs
  assert_true(fabs(s.x) < near && fabs(s.y + 1) < near && fabs(s.y2 + 2) < near);
  s = last_line("Acrobot-v1", (const float[]){ 0, 1, 0, 1, 0, 0 }); // right, then up
  assert_true(fabs(s.x - 1) < near && fabs(s.x2 - 1) < near && fabs(s.y2 - 1) < near);
  s = last_line("Pendulum-v1", (const float[]){ 1, 0, 0 }); // upright
  assert_true(fabs(s.x2) < near && fabs(s.y2 - 1) < near);
}

// ---------------------------------------------------------------------------------------------
// Sheets

static char *write_sheet(const char *path, const char *title, const char *label) {
  mm_scene scene;
  uint8_t cell[MM_MINATAR_CELLS] = { 0 };
  cell[99] = 1;
  assert_true(mm_scene_find("Breakout-MinAtar", &scene));
  mm_frame frame = { .cell = cell };
  snprintf(frame.label, sizeof frame.label, "%s", label);
  assert_int_equal(mm_frame_sheet_write(&scene, title, &frame, 1, path), MM_OK);
  char *text;
  size_t length;
  assert_int_equal(mm_file_read(path, 1 << 20, &text, &length), MM_OK);
  assert_int_equal(remove(path), 0);
  return text;
}

// names that come from the user do no harm
static void test_svg(void **state) {
  (void)state;
  const char *folder = getenv("TMPDIR");
  char path[600];
  snprintf(path, sizeof path, "%s/mirrormap-picture-%ld.svg", folder && *folder ? folder : P_tmpdir,
           (long)getpid());
  char *text = write_sheet(path, "a<b>&\"c\"\n\xff \xc3\xa9", "step 7");
  assert_non_null(strstr(text, "a&lt;b&gt;&amp;\"c\"\xEF\xBF\xBD\xEF\xBF\xBD \xc3\xa9</text>"));
  assert_non_null(strstr(text, ">step 7</text>"));
  assert_non_null(strstr(text, "</svg>\n"));
  mm_free(text);
  mm_scene scene;
  assert_true(mm_scene_find("Breakout-MinAtar", &scene));
  assert_int_equal(mm_frame_sheet_write(&scene, "", NULL, 0, path), MM_ERR_INPUT);
}

int suite_picture(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_marks),    cmocka_unit_test(test_colours), cmocka_unit_test(test_palette),
    cmocka_unit_test(test_priority), cmocka_unit_test(test_inputs),  cmocka_unit_test(test_play),
    cmocka_unit_test(test_poses),    cmocka_unit_test(test_svg),
  };
  return cmocka_run_group_tests_name("picture", tests, body_setup, NULL);
}
