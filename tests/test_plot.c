// SPDX-License-Identifier: Apache-2.0
// Suite `plot`: the description of a figure and what its renderer makes of it.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "run_fixture.h"
#include "show/plot/plot.h"
#include "test.h"

static void test_ranges(void **state) {
  (void)state;
  static const struct {
    mm_range r;
    double part;
    mm_range padded;
  } cases[] = {
    { { INFINITY, -INFINITY }, 0.1, { 0, 1 } }, // no numbers
    { { 0, 0 }, 0.1, { -1, 1 } },               // zeros say nothing of a scale
    { { 2, 2 }, 0.5, { 1, 3 } },
    { { -2, -2 }, 0.5, { -3, -1 } },
    { { 0, 10 }, 0.1, { -1, 11 } },
    { { 3, 7 }, 0, { 3, 7 } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_range padded = mm_range_pad(cases[i].r, cases[i].part);
    assert_true(padded.low == cases[i].padded.low && padded.high == cases[i].padded.high);
  }
  mm_range r = MM_RANGE_NONE;
  mm_range_include(&r, NAN);
  mm_range_include(&r, -INFINITY);
  assert_true(r.low > r.high);
  mm_range_include(&r, 4);
  assert_true(r.low == 4 && r.high == 4);
}

static void test_cells(void **state) {
  (void)state;
  mm_box b = mm_plot_cell((mm_box){ 10, 20, 30, 40 }, 5, 3, 100, 50);
  assert_true(b.x == 210 && b.y == 70 && b.w == 30 && b.h == 40);
}

// A map has its line type by its name, wherever it stands and whoever stands beside it; others take
// what is left, in order.
static void test_map_lines(void **state) {
  (void)state;
  static const struct {
    const char *name[4];
    int line[4];
  } cases[] = {
    { { "negentropy", "l2", "tsallis:3", "random:1" }, { 2, 3, 4, 6 } },
    { { "random:1", "learned", "l2", "initial" }, { 6, 1, 3, 5 } },
    { { "tsallis:0.5", "tsallis:3", "l2x", "" }, { 4, 7, 8, 9 } },
    { { "l2:tuned-eta", "l2", "learned (a)", "learned (b)" }, { 8, 3, 1, 7 } },
    { { "best", "negentropy:tuned-eta", "l2:tuned-eta", "tsallis:tuned-q-eta" }, { 10, 7, 8, 9 } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int line[4];
    mm_map_lines(cases[i].name, 4, line);
    assert_memory_equal(line, cases[i].line, sizeof line);
  }
  // all twelve once, then again; the colours differ
  const char *other[2 * MM_FIGURE_STYLES];
  int line[2 * MM_FIGURE_STYLES], seen[MM_FIGURE_STYLES + 1] = { 0 };
  for (size_t i = 0; i < 2 * MM_FIGURE_STYLES; i++)
    other[i] = "map";
  mm_map_lines(other, 2 * MM_FIGURE_STYLES, line);
  for (size_t i = 0; i < 2 * MM_FIGURE_STYLES; i++)
    seen[line[i]]++;
  for (int k = 1; k <= MM_FIGURE_STYLES; k++) {
    assert_int_equal(seen[k], 2);
    for (int j = 1; j < k; j++)
      assert_int_not_equal(mm_line_colour(j), mm_line_colour(k));
  }
  assert_int_equal(line[0], 7);
}

// ---------------------------------------------------------------------------------------------
// What gnuplot makes of it

static void need_gnuplot(void) {
  char program[1024];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) skip();
}

static char *draw(mm_plot *plot) {
  char *text;
  size_t length;
  assert_ok(mm_plot_write(plot, MM_OK, fixture_path("plot.svg")));
  assert_true(plot->panel == NULL && plot->number == NULL); // released
  assert_ok(mm_file_read(fixture_path("plot.svg"), 1u << 26, &text, &length));
  return text;
}

static int count(const char *text, const char *part) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
    n++;
  return n;
}

static const mm_box box = { 50, 30, 300, 200 };

// A panel that may stay empty has axes over [0, 1], and a series without rows is not drawn.
static void test_empty(void **state) {
  (void)state;
  need_gnuplot();
  mm_plot plot = { .width = 400, .height = 300 };
  mm_plot_panel(
      &plot,
      (mm_panel){ .box = box, .x = { .pad = 0.1, .tics = 1 }, .y = { .log = true, .tics = 5 } });
  mm_plot_series(&plot, (mm_series){ .style = MM_LINE, .line = 1 });
  mm_plot_series(&plot, (mm_series){ .style = MM_BAND, .line = 1, .opacity = 0.2 });
  char *text = draw(&plot);
  assert_int_equal(count(text, "id=\"gnuplot_plot_"), 1); // the stand-in
  assert_int_equal(count(text, ">0<"), 1);
  assert_int_equal(count(text, ">0.1<"), 1);
  assert_int_equal(count(text, ">1<"), 2);
  mm_free(text);
}

// Panels of a figure that wants it have letters, from a on, where there are several.
static void test_letters(void **state) {
  (void)state;
  need_gnuplot();
  for (int n = 1; n <= 28; n += 27)
    for (int lettered = 0; lettered < 2; lettered++) {
      mm_plot plot = { .width = 400, .height = 300, .lettered = lettered };
      for (int i = 0; i < n; i++)
        mm_plot_panel(&plot, (mm_panel){ .box = box });
      char *text = draw(&plot);
      static const char *const letters[] = { ">a<", ">b<", ">z<", ">aa<", ">ab<" };
      for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        assert_int_equal(count(text, letters[i]), lettered && n > 1);
      assert_int_equal(count(text, ">ac<"), 0);
      mm_free(text);
    }
}

// Every style once; ranges come from the rows, the level and the ends of bands and intervals.
static void test_styles(void **state) {
  (void)state;
  need_gnuplot();
  mm_plot plot = { .width = 400, .height = 300 };
  mm_plot_level(&plot, -5, "(6,4)", "V^{*}");
  mm_plot_panel(&plot, (mm_panel){ .box = box,
                                   .x = { .tics = 3, .whole = true },
                                   .y = { .tics = 20 },
                                   .full = true });
  for (mm_style style = MM_LINE; style <= MM_IMAGE; style++) {
    mm_plot_series(&plot, (mm_series){ .style = style,
                                       .line = style == MM_BAND,
                                       .opacity = style == MM_BAND ? 0.5 : 0,
                                       .name = style == MM_POINTS ? "a_name" : NULL,
                                       .columns = 2,
                                       .x = { 1, 3 },
                                       .y = { 1, 3 } });
    for (int i = 1; i <= 3; i++) {
      if (style == MM_BAND || style == MM_Y_INTERVALS)
        mm_plot_mean(&plot, i, 4, 1);
      else if (style == MM_X_INTERVALS)
        mm_plot_put(&plot, 2, i, 1, 3);
      else if (style == MM_BOXES)
        mm_plot_put(&plot, i, i, 1, 3, 1, 3, 0xff0000);
      else if (style == MM_SEGMENTS)
        mm_plot_put(&plot, i, i, 1, 1, 0xff00);
      else if (style == MM_DISCS)
        mm_plot_put(&plot, i, i, 0.1, 0xff);
      else if (style == MM_IMAGE)
        mm_plot_put(&plot, i / 3.0, 1 - i / 3.0);
      else
        mm_plot_mean(&plot, i, i, 0);
    }
  }
  char *text = draw(&plot);
  assert_int_equal(count(text, "id=\"gnuplot_plot_"), MM_IMAGE + 1);
  assert_int_equal(count(text, "<title>a_name</title>"), 1);
  assert_int_equal(count(text, "<image "), 1);
  assert_int_equal(count(text, "fill-opacity = '0.500000'"), 1);
  assert_int_equal(count(text, "\xE2\x88\x92"
                               "5<"),
                   1); // the level's number, the lowest
  assert_true(count(text, ">5<") == 1 && count(text, ">6<") == 0);
  assert_int_equal(count(text, ">V<"), 1);
  mm_free(text);
}

// Names for numbers, an interval beyond the edge, and texts of any kind in their places.
static void test_marks(void **state) {
  (void)state;
  need_gnuplot();
  mm_plot plot = { .width = 400, .height = 300 };
  mm_plot_text(&plot, 20, 10, MM_RIGHT, MM_QUIET_INK, "%g %%", 0.5);
  mm_plot_label(&plot, 20, 20, MM_CENTRE, 0xff0000, true, "x_1 {it's}\n");
  mm_plot_name(&plot, 20, 30, 10 * MM_FIGURE_CHARACTER, "a name far too long for this");
  mm_plot_fill(&plot, (mm_box){ 10, 10, 20, 20 }, 0x123456);
  mm_plot_upright(&plot, 2, "(2,3)");
  mm_plot_tic(&plot, 1, "first");
  mm_plot_tic(&plot, 2, "sec_ond");
  const mm_axis named = { { 0, 3 }, .tics = 1, .plain = true };
  mm_plot_panel(&plot, (mm_panel){ .box = box, .x = named, .y = { .range = { 0, 3 } } });
  mm_plot_series(&plot, (mm_series){ .style = MM_X_INTERVALS });
  mm_plot_put(&plot, -7, 1, -8, -6);
  mm_plot_put(&plot, 2, 2, 1, 3);
  // the next panel has numbers again
  mm_plot_panel(&plot, (mm_panel){ .box = box, .x = { { 0, 4000 }, .tics = 2 } });
  char *text = draw(&plot);
  static const char *const part[] = { ">0.5 %<",      ">x_1 {it\xE2\x80\x99s}\xEF\xBF\xBD<",
                                      ">first<",      ">sec_ond<",
                                      ">2000<",       "rgb( 18,  52,  86)",
                                      "\xE2\x80\xA6", "\xE2\x86\x90 \xE2\x88\x92\x37" };
  for (size_t i = 0; i < sizeof part / sizeof *part; i++)
    if (!strstr(text, part[i])) fail_msg("no %s", part[i]);
  mm_free(text);
}

// An arm without an end runs to the panel's edge.
static char *draw_arms(double low, double high) {
  mm_plot plot = { .width = 400, .height = 300 };
  mm_plot_panel(
      &plot,
      (mm_panel){ .box = box, .x = { .range = { 1, 5 }, .tics = 4 }, .y = { .range = { 0, 3 } } });
  mm_plot_series(&plot, (mm_series){ .style = MM_X_INTERVALS });
  mm_plot_put(&plot, 3, 1, low, high);
  return draw(&plot);
}

static void test_endless_arms(void **state) {
  (void)state;
  need_gnuplot();
  char *endless = draw_arms(-INFINITY, INFINITY), *whole = draw_arms(1, 5);
  assert_string_equal(endless, whole);
  char *none = draw_arms(3, 3);
  assert_string_not_equal(endless, none);
  mm_free(endless);
  mm_free(whole);
  mm_free(none);
}

// A figure that could not be filled is not drawn, and its description is released.
static void test_given_up(void **state) {
  (void)state;
  mm_plot plot = { .width = 400, .height = 300 };
  mm_plot_panel(&plot, (mm_panel){ .box = box });
  assert_int_equal(mm_plot_write(&plot, MM_ERR_NUMERIC, fixture_path("none.svg")), MM_ERR_NUMERIC);
  assert_false(fixture_exists(fixture_path("none.svg")));
  assert_null(plot.panel);
}

int suite_plot(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = { TEST(ranges),  TEST(cells),        TEST(map_lines),
                                      TEST(letters), TEST(empty),        TEST(styles),
                                      TEST(marks),   TEST(endless_arms), TEST(given_up) };
#undef TEST
  return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
