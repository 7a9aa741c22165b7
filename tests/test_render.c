// SPDX-License-Identifier: Apache-2.0
// Pixels: what a raster covers, and pictures of every environment in every form of observations.

#include <math.h>
#include <stdlib.h>

#include "mirrormap/render.h"
#include "scarce_memory.h"
#include "show/picture/raster.h"
#include "test.h"
#include "vec_rig.h"

enum { W = 60, H = 40 };

static uint32_t colour_at(const uint8_t *rgb, int32_t width, int32_t x, int32_t y) {
  const uint8_t *at = rgb + 3 * ((size_t)y * (size_t)width + (size_t)x);
  return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

// The area of a black shape on white, by the sum of its shades.
static double area_of(mm_shape shape) {
  static uint8_t rgb[H * W * 3];
  const mm_raster raster = { rgb, W, H };
  double sum = 0;
  mm_raster_fill(&raster, 0xffffff);
  mm_raster_draw(&raster, &shape, 0);
  for (int i = 0; i < W * H; i++)
    sum += (255 - rgb[3 * i]) / 255.0;
  return sum;
}

static void test_areas(void **state) {
  (void)state;
  const double pi = 3.14159265358979, near = 0.02;
  double area = area_of(mm_shape_box(0, 10, 5, 30.5, 25));
  assert_true(fabs(area - 20.5 * 20) < near * area);
  area = area_of(mm_shape_box(0, 30.5, 25, 10, 5)); // corners in any order
  assert_true(fabs(area - 20.5 * 20) < near * area);
  area = area_of(mm_shape_disc(0, 20.3, 19.8, 12));
  assert_true(fabs(area - pi * 144) < near * area);
  area = area_of(mm_shape_line(0, 12, 12, 42, 27, 6)); // with round ends
  assert_true(fabs(area - (sqrt(1125) * 6 + pi * 9)) < near * area);
  area = area_of(mm_shape_line(0, 20, 20, 20, 20, 8)); // a dot
  assert_true(fabs(area - pi * 16) < near * area);
}

// Beyond the edges nothing is written, also for numbers that are none.
static void test_beyond(void **state) {
  (void)state;
  assert_true(area_of(mm_shape_box(0, -50, -50, 500, 500)) == W * H);
  assert_true(area_of(mm_shape_disc(0, 1e9, 1e9, 5)) == 0);
  assert_true(area_of(mm_shape_line(0, -1e300, 20, 1e300, 20, 2)) <= W * H);
  assert_true(area_of(mm_shape_line(0, (double)NAN, 3, 9, (double)NAN, 2)) <= W * H);
  assert_true(area_of(mm_shape_disc(0, (double)INFINITY, 3, (double)NAN)) <= W * H);
}

// ---------------------------------------------------------------------------------------------

static uint8_t *picture_of(const rig *r, size_t i, int32_t width, int32_t height) {
  uint8_t *rgb = zeroed((size_t)width * (size_t)height, 3);
  assert_ok(mm_vec_render(r->vec, r->out.obs, i, width, height, rgb));
  return rgb;
}

static size_t colours_of(const uint8_t *rgb, size_t n) {
  size_t different = 0;
  for (size_t i = 1; i < n; i++)
    different += memcmp(rgb + 3 * i, rgb + 3 * (i - 1), 3) != 0;
  return different;
}

// The same after some steps in every form, alone in its proportions and in a square.
static void check_forms(const char *id) {
  enum { N = 3, STEPS = 12, SQUARE = 90 };
  uint8_t *first[2] = { NULL, NULL };
  mm_env *env;
  assert_ok(mm_env_open(id, &env));
  const bool switches = mm_env_has_switches(env);
  mm_env_destroy(env);
  for (int form = MM_OBS_FLOATS; form <= MM_OBS_LIST; form++) {
    if (form != MM_OBS_FLOATS && switches == (form == MM_OBS_COLUMNS)) continue;
    rig r = rig_open(id, (mm_vec_config){ .n = N, .seed = 2, .obs = (mm_obs_form)form });
    int32_t width, height;
    mm_vec_picture_size(r.vec, &width, &height);
    assert_in_range(width, 100, 500);
    assert_in_range(height, 50, 500);
    assert_ok(mm_vec_reset(r.vec, &r.out));
    for (uint64_t t = 0; t < STEPS; t++) {
      draw_actions(&r, t);
      assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    }
    uint8_t *now[2] = { picture_of(&r, 1, width, height), picture_of(&r, 2, SQUARE, SQUARE) };
    const size_t pixels[2] = { (size_t)width * (size_t)height, (size_t)SQUARE * SQUARE };
    for (int k = 0; k < 2; k++) {
      assert_true(colours_of(now[k], pixels[k]) > 4);
      if (first[k]) assert_memory_equal(now[k], first[k], 3 * pixels[k]);
      if (first[k])
        free(now[k]);
      else
        first[k] = now[k];
    }
    rig_close(&r);
  }
  free(first[0]);
  free(first[1]);
}

static void test_all(void **state) {
  (void)state;
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    mm_env *env;
    mm_vec *vec;
    mm_vec_config config = mm_vec_config_default();
    assert_ok(mm_env_open(info.id, &env));
    mm_status status = mm_vec_create(env, &config, &vec);
    mm_vec_destroy(vec);
    mm_env_destroy(env);
    if (status == MM_OK) check_forms(info.id); // else MuJoCo is missing
  }
}

// The cart where it is, the pole above it; free edges are paper.
static void test_cartpole(void **state) {
  (void)state;
  static const float obs[2][4] = { { 0, 0, 0, 0 }, { 1.5f, 0, 0, 0 } };
  enum { WIDTH = 550, HEIGHT = 300 }; // 5.5 x 1.6 units: 100 pixels each, 70 rows free
  static uint8_t rgb[WIDTH * HEIGHT * 3];
  rig r = rig_open("CartPole-v1", (mm_vec_config){ .n = 2 });
  assert_ok(mm_vec_render(r.vec, obs, 0, WIDTH, HEIGHT, rgb));
  assert_int_equal(colour_at(rgb, WIDTH, 275, 70 + 145 - 10), 0x0087d7);
  assert_int_equal(colour_at(rgb, WIDTH, 275, 70 + 145 - 80), 0xd75f00);
  assert_int_equal(colour_at(rgb, WIDTH, 425, 70 + 145 - 10), 0xffffff);
  assert_int_equal(colour_at(rgb, WIDTH, 275, 20), 0xffffff);
  assert_ok(mm_vec_render(r.vec, obs, 1, WIDTH, HEIGHT, rgb));
  assert_int_equal(colour_at(rgb, WIDTH, 425, 70 + 145 - 10), 0x0087d7);
  assert_int_equal(colour_at(rgb, WIDTH, 275, 70 + 145 - 80), 0xffffff);
  rig_close(&r);
}

static void test_refused(void **state) {
  (void)state;
  uint8_t rgb[3];
  rig r = rig_open("Breakout-MinAtar", (mm_vec_config){ .n = 2, .obs = MM_OBS_LIST });
  assert_ok(mm_vec_reset(r.vec, &r.out));
  assert_fails(mm_vec_render(r.vec, r.out.obs, 2, 1, 1, rgb), MM_ERR_INPUT, "expected below 2");
  assert_fails(mm_vec_render(r.vec, r.out.obs, 0, 0, 1, rgb), MM_ERR_INPUT, "0 x 1 pixels");
  assert_fails(mm_vec_render(r.vec, r.out.obs, 0, 1, 8193, rgb), MM_ERR_INPUT, "1 to 8192");
  make_memory_scarce();
  allocations_left = 0;
  assert_fails(mm_vec_render(r.vec, r.out.obs, 0, 1, 1, rgb), MM_ERR_MEMORY, "no memory");
  make_memory_usual();
  ((uint16_t *)r.out.obs)[0] = 401;
  assert_fails(mm_vec_render(r.vec, r.out.obs, 0, 1, 1, rgb), MM_ERR_INPUT, "input of the list");
  rig_close(&r);
}

int suite_render(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_areas),    cmocka_unit_test(test_beyond),  cmocka_unit_test(test_all),
    cmocka_unit_test(test_cartpole), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests_name("render", tests, NULL, NULL);
}
