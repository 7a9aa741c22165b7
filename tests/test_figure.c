// SPDX-License-Identifier: Apache-2.0
// Suite `figure`: pictures appear whole or not at all, show what they should, and no name can do
// harm. Everything happens in a private folder that also serves as TMPDIR; each test must leave
// nothing there but its pictures.

#define _XOPEN_SOURCE 700

#include "scarce_memory.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "base/utf8.h"
#include "random_map.h"
#include "show/figure/map_figure.h"
#include "show/plot/gnuplot.h"
#include "show/plot/plot.h"

// ---------------------------------------------------------------------------------------------
// A private folder

static char folder[600], old_path[4096], old_folder[4096], old_tmpdir[512];

static char *copy_environment(const char *name, char *out, size_t size) {
  const char *value = getenv(name);
  snprintf(out, size, "%s", value ? value : "");
  return out;
}

static int set_up(void **state) {
  (void)state;
  copy_environment("TMPDIR", old_tmpdir, sizeof old_tmpdir);
  copy_environment("PATH", old_path, sizeof old_path);
  snprintf(folder, sizeof folder, "%s/mirrormap-test-XXXXXX", *old_tmpdir ? old_tmpdir : P_tmpdir);
  if (!mkdtemp(folder) || !getcwd(old_folder, sizeof old_folder) || chdir(folder) != 0) return -1;
  return setenv("TMPDIR", folder, 1);
}

// Names in the folder besides . and .., concatenated, each after a space; sorted by nothing.
static int count_entries(void) {
  DIR *d = opendir(folder);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *entry; (entry = readdir(d));)
    n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(d);
  return n;
}

static int tear_down(void **state) {
  (void)state;
  DIR *d = opendir(folder);
  for (struct dirent *entry; d && (entry = readdir(d));) {
    if (unlink(entry->d_name) != 0) rmdir(entry->d_name);
  }
  if (d) closedir(d);
  setenv("PATH", old_path, 1);
  if (*old_tmpdir)
    setenv("TMPDIR", old_tmpdir, 1);
  else
    unsetenv("TMPDIR");
  if (chdir(old_folder) != 0) return -1;
  return rmdir(folder);
}

static void need_gnuplot(void) {
  char path[1024];
  if (mm_gnuplot_find(path, sizeof path) != MM_OK) skip();
}

// ---------------------------------------------------------------------------------------------
// Maps and pictures

enum { N_MAP = 9 };

typedef struct maps {
  mm_map *map[N_MAP];
  const char *name[N_MAP];
} maps;

static maps open_maps(void) {
  maps m = { .name = { "negentropy", "l2", "tsallis:0.5", "piecewise:5", "random:2", "neural",
                       "tsallis:1.5", "piecewise", "random-neural:1" } };
  for (int i = 0; i < N_MAP; i++)
    assert_ok(mm_map_open(m.name[i], &m.map[i]));
  return m;
}

static void close_maps(maps *m) {
  for (int i = 0; i < N_MAP; i++)
    mm_map_destroy(m->map[i]);
}

static mm_status draw(const maps *m, size_t n, unsigned panels, const char *path) {
  mm_map_figure_config config = mm_map_figure_config_default();
  config.panels = panels;
  return mm_map_figure_write(&config, (const mm_map *const *)m->map, m->name, n, path);
}

static char *read_picture(const char *path, size_t *length) {
  char *text;
  assert_ok(mm_file_read(path, 1u << 26, &text, length));
  return text;
}

static int count(const char *text, const char *part) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
    n++;
  return n;
}

// Text of XML that a strict reader accepts, as far as a short look can tell.
static void check_xml(const char *text, size_t length) {
  int depth = 0;
  for (size_t i = 0; i < length;) {
    size_t bytes = mm_utf8_length((const unsigned char *)text + i, length - i);
    assert_true(bytes > 0);
    unsigned char c = (unsigned char)text[i];
    assert_true(c >= 0x20 || c == '\n' || c == '\t' || c == '\r');
    if (c == '<') assert_int_equal(depth++, 0);
    if (c == '>' && depth > 0) depth--;
    if (c == '&') {
      size_t end = strcspn(text + i, ";");
      assert_true(end >= 3 && end <= 6);
    }
    i += bytes;
  }
  assert_int_equal(depth, 0);
}

// ---------------------------------------------------------------------------------------------
// Pieces

static void test_quote(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t width;
    const char *quoted;
  } cases[] = {
    { "negentropy", 20, "'negentropy'" },
    { "", 20, "''" },
    { "'", 20, "'’'" },
    { "it's", 20, "'it’s'" },
    { "a\nset output 'x'", 40, "'a\xEF\xBF\xBDset output ’x’'" },
    { "`id` $(id) \"x\" \\", 40, "'`id` $(id) \"x\" \\'" },
    { "\xff\xc3(", 20, "'\xEF\xBF\xBD\xEF\xBF\xBD('" },
    { "\xe2\x80\xae"
      "abc",
      20,
      "'\xEF\xBF\xBD"
      "abc'" },
    { "é∑漢", 20, "'é∑漢'" },
    { "]]>]>>", 20, "']]›]>>'" },
    { "]]]>", 20, "']]]›'" },
    { ">", 20, "'>'" },
    { "0123456789", 10, "'0123456789'" },
    { "0123456789a", 10, "'012…56789a'" },
    { "0123456789", 1, "'…'" },
    { "漢字漢字漢字", 7, "'漢…漢字'" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[MM_FIGURE_TEXT];
    mm_figure_quote(cases[i].text, cases[i].width, out);
    assert_string_equal(out, cases[i].quoted);
  }
}

// However long the text and however many quotes it holds, the result is a closed string.
static void test_quote_fits(void **state) {
  (void)state;
  static const char *const units[] = { "'", "x", "漢", "\x01", "'漢" };
  for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
    for (int repeat = 1; repeat <= 400; repeat += 7) {
      char text[4096] = "", out[MM_FIGURE_TEXT + 1];
      for (int i = 0; i < repeat; i++)
        strcat(text, units[u]);
      memset(out, '#', sizeof out);
      mm_figure_quote(text, 1000, out);
      assert_int_equal(out[MM_FIGURE_TEXT], '#');
      size_t length = strlen(out), quotes = 0;
      assert_true(length >= 2 && length < MM_FIGURE_TEXT);
      for (size_t i = 1; i + 1 < length; i++)
        quotes += out[i] == '\'';
      assert_int_equal(quotes, 0);
      assert_true(out[0] == '\'' && out[length - 1] == '\'');
    }
  }
}

static void test_thin(void **state) {
  (void)state;
  double line[50][2], curve[1000][2], kept[1000][2];
  for (int i = 0; i < 50; i++)
    line[i][0] = i, line[i][1] = 3 - 2 * i;
  assert_int_equal(mm_figure_thin(&line[0][0], 50, 0.01, 0.01), 2);
  assert_true(line[1][0] == 49 && line[1][1] == -95);

  // a kink stays, and so does a step back along the same line
  double kink[][2] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 5 }, { 4, 10 } };
  assert_int_equal(mm_figure_thin(&kink[0][0], 5, 0.01, 0.01), 3);
  assert_true(kink[1][0] == 2 && kink[1][1] == 0);
  double back[][2] = { { 0, 0 }, { 5, 0 }, { 2, 0 } };
  assert_int_equal(mm_figure_thin(&back[0][0], 3, 0.01, 0.01), 3);

  // a gap stays, with its sides
  double gap[][2] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { NAN, NAN }, { 3, 0 }, { 4, 0 }, { 5, 0 } };
  size_t n = mm_figure_thin(&gap[0][0], 7, 0.01, 0.01);
  assert_int_equal(n, 5);
  assert_true(gap[1][0] == 2 && isnan(gap[2][0]) && gap[3][0] == 3 && gap[4][0] == 5);

  // a smooth curve loses most points and stays within the tolerance
  for (int i = 0; i < 1000; i++)
    curve[i][0] = kept[i][0] = i / 999.0, curve[i][1] = kept[i][1] = exp(-5 * i / 999.0);
  const double tolerance = 1e-3;
  n = mm_figure_thin(&kept[0][0], 1000, tolerance, tolerance);
  assert_in_range(n, 5, 60);
  for (size_t i = 0, j = 0; i < 1000; i++) {
    while (kept[j + 1][0] < curve[i][0])
      j++;
    double t = (curve[i][0] - kept[j][0]) / (kept[j + 1][0] - kept[j][0]);
    double dx = (kept[j + 1][0] - kept[j][0]), dy = (kept[j + 1][1] - kept[j][1]);
    double off = (kept[j][1] + t * dy - curve[i][1]) * dx / hypot(dx, dy); // across the segment
    assert_true(fabs(off) <= 1.0001 * tolerance);
  }
}

// Do the points between the two lie on the line between them? Each is looked at.
static bool is_straight(const double (*points)[2], size_t from, size_t to, double dx, double dy) {
  double bx = (points[to][0] - points[from][0]) / dx, by = (points[to][1] - points[from][1]) / dy;
  double length = hypot(bx, by);
  for (size_t i = from + 1; i < to; i++) {
    double cx = (points[i][0] - points[from][0]) / dx, cy = (points[i][1] - points[from][1]) / dy;
    double along = bx * cx + by * cy;
    if (!(fabs(bx * cy - by * cx) <= length)) return false;
    if (!(along >= -length && along <= length * (length + 1))) return false;
  }
  return true;
}

// Drops a point while the line to the next one passes all that were dropped.
static size_t thin_slowly(double (*points)[2], size_t n, double dx, double dy) {
  size_t kept = 0, *index = malloc(n * sizeof *index);
  assert_non_null(index);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || i + 1 == n ||
        !is_straight((const double(*)[2])points, index[kept - 1], i + 1, dx, dy))
      index[kept++] = i;
  for (size_t i = 0; i < kept; i++)
    memmove(points[i], points[index[i]], sizeof *points);
  free(index);
  return kept;
}

// The same points as when every one is looked at again for each that is dropped: on curves, steps,
// noise, gaps, and lines that turn back.
static void test_thin_as_slowly(void **state) {
  (void)state;
  enum { N = 500, CURVES = 400 };
  static double fast[N][2], slow[N][2];
  for (uint64_t k = 0; k < CURVES; k++) {
    double step = exp(random_in(k, 1, 0, 0.2, 5)), y = 0, slope = 0;
    for (uint32_t i = 0; i < N; i++) {
      double noise = random_in(k, 2, i, -1, 1);
      if (k % 4 == 0) y = 50 * sin(0.02 * i * random_in(k, 3, 0, 0.1, 3)) + 0.3 * noise;
      if (k % 4 == 1) y += (slope += 0.01 * noise);
      if (k % 4 == 2) y += i % 40 == 0 ? 30 * noise : 0;
      if (k % 4 == 3) y = 3 * noise * (i / 100);
      if (k % 5 == 4 && i % 97 == 50) y = NAN;
      fast[i][0] = slow[i][0] = step * i * 0.5;
      fast[i][1] = slow[i][1] = 0.1 * y;
      if (isnan(y)) y = 0;
    }
    size_t n = mm_figure_thin(&fast[0][0], N, 0.5, 0.1);
    assert_int_equal(n, thin_slowly(slow, N, 0.5, 0.1));
    for (size_t i = 0; i < n; i++) {
      assert_true(fast[i][0] == slow[i][0]);
      assert_true(fast[i][1] == slow[i][1] || (isnan(fast[i][1]) && isnan(slow[i][1])));
    }
  }
  // away and back to the same place
  double spike[][2] = { { 0, 0 }, { 0, 5 }, { 0, 0 } };
  assert_int_equal(mm_figure_thin(&spike[0][0], 3, 1, 1), 3);
}

// Long curves: a straight one is two points; of noise there remain its edges.
static void test_thin_long(void **state) {
  (void)state;
  enum { N = 1000000 };
  double(*points)[2] = malloc(N * sizeof *points);
  assert_non_null(points);
  for (uint32_t i = 0; i < N; i++)
    points[i][0] = i, points[i][1] = 1 + 1e-9 * i;
  assert_int_equal(mm_figure_thin(&points[0][0], N, 0.01, 0.01), 2);
  assert_true(points[0][0] == 0 && points[1][0] == N - 1);

  const double dx = N / 5000.0; // 200 points in each
  for (uint32_t i = 0; i < N; i++)
    points[i][0] = i, points[i][1] = i == 77777 ? 9 : i == 88888 ? -9 : random_in(1, 4, i, -1, 1);
  size_t n = mm_figure_thin(&points[0][0], N, dx, 0.01), low = 0, high = 0;
  assert_in_range(n, 10000, 20004);
  for (size_t i = 0; i < n; i++) {
    if (points[i][1] < points[low][1]) low = i;
    if (points[i][1] > points[high][1]) high = i;
    if (i > 0) assert_true(points[i][0] > points[i - 1][0]);
  }
  assert_true(points[high][0] == 77777 && points[low][0] == 88888);
  assert_true(points[0][0] == 0 && points[n - 1][0] == N - 1);
  free(points);
}

static void test_steps_and_ramp(void **state) {
  (void)state;
  static const double cases[][3] = { { 4, 4, 1 },    { 4, 5, 1 },  { 4, 3, 2 },
                                     { 6.5, 6, 2 },  { 1, 6, .2 }, { 0.003, 6, 5e-4 },
                                     { 1e6, 1, 1e6 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_true(fabs(mm_tic_step(cases[i][0], (int)cases[i][1]) / cases[i][2] - 1) < 1e-12);
  assert_int_equal(mm_ramp_colour(0), 0xf7f4e9);
  assert_int_equal(mm_ramp_colour(1), 0x08183a);
  assert_false(mm_is_dark(mm_ramp_colour(0)));
  assert_true(mm_is_dark(mm_ramp_colour(1)));
}

// ---------------------------------------------------------------------------------------------
// Pictures

static void test_formats(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  static const char *const path[] = { "all.svg", "all.pdf", "all.png" };
  static const char *const magic[] = { "<?xml", "%PDF-", "\x89PNG\r\n\x1a\n" };
  for (int i = 0; i < 3; i++) {
    size_t length;
    assert_ok(draw(&m, 8, MM_PANEL_ALL, path[i]));
    char *text = read_picture(path[i], &length);
    assert_true(length > 20000);
    assert_memory_equal(text, magic[i], strlen(magic[i]));
    mm_free(text);
  }
  assert_int_equal(count_entries(), 3);
  close_maps(&m);
}

// A PNG's size is in its first chunk; two pixels a unit, a triangle for each map, no empty page.
static void test_sizes(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  const unsigned step = test_is_slowed() ? 15 : 5;
  for (unsigned panels = 1; panels <= MM_PANEL_ALL; panels += step) {
    for (size_t n = 1; n <= 8; n += 7) {
      size_t length;
      assert_ok(draw(&m, n, panels, "size.png"));
      unsigned char *text = (unsigned char *)read_picture("size.png", &length);
      unsigned width = text[18] * 256u + text[19], height = text[22] * 256u + text[23];
      assert_in_range(width, 600, 1600);
      assert_in_range(height, 300, 2400);
      mm_free(text);
    }
  }
  close_maps(&m);
}

static void test_curves(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  size_t length;
  unsigned curves = MM_PANEL_PHI | MM_PANEL_PHI_INVERSE | MM_PANEL_H;
  assert_ok(draw(&m, 3, curves, "curves.svg"));
  char *text = read_picture("curves.svg", &length);
  check_xml(text, length);
  for (int i = 0; i < 3; i++) {
    char title[64];
    snprintf(title, sizeof title, "<title>%s</title>", m.name[i]);
    assert_int_equal(count(text, title), 3); // one curve in each panel
    snprintf(title, sizeof title, ">%s<", m.name[i]);
    assert_int_equal(count(text, title), 4); // and the legend
  }
  assert_int_equal(count(text, "id=\"gnuplot_plot_"), 9);
  mm_free(text);

  // the knots of a short piecewise map are marked in phi and phi^-1
  assert_ok(draw(&m, 4, curves, "curves.svg"));
  text = read_picture("curves.svg", &length);
  assert_int_equal(count(text, "id=\"gnuplot_plot_"), 12 + 2);
  assert_int_equal(count(text, "<use xlink:href='#gpPt6'"), 12);
  mm_free(text);

  // policy: two maps, three areas and two edges each; simplex: one embedded heat map each
  assert_ok(draw(&m, 2, MM_PANEL_POLICY | MM_PANEL_SIMPLEX, "small.svg"));
  text = read_picture("small.svg", &length);
  check_xml(text, length);
  assert_int_equal(count(text, "<title>action 1</title>"), 2);
  assert_int_equal(count(text, "<title>action 3</title>"), 2);
  assert_int_equal(count(text, "<image "), 2);
  assert_int_equal(count(text, ">max 1.099<"), 1);  // log 3
  assert_int_equal(count(text, ">max 0.3333<"), 1); // (4/9 + 1/9 + 1/9) / 2
  mm_free(text);
  close_maps(&m);
}

// As many knots as a map may have; the divergence is evaluated some hundred thousand times.
static void test_many_knots(void **state) {
  (void)state;
  need_gnuplot();
  double *psi = malloc(MM_PIECEWISE_MAX * sizeof *psi);
  assert_non_null(psi);
  for (uint32_t j = 0; j < MM_PIECEWISE_MAX; j++)
    psi[j] = j % 2 ? 1e-6 : 3e-6;
  mm_map *map;
  assert_ok(mm_map_create_piecewise(psi, MM_PIECEWISE_MAX, &map));
  free(psi);
  // phi^-1 has slope 2 on the scale of a picture: twice the divergence of l2, which is 1/3
  maps m = { { map }, { "many" } };
  assert_ok(draw(&m, 1, MM_PANEL_ALL, "many.svg"));
  size_t length;
  char *text = read_picture("many.svg", &length);
  check_xml(text, length);
  assert_int_equal(count(text, ">max 0.6667<"), 1);
  mm_free(text);
  mm_map_destroy(map);
}

static void test_reproducible(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  size_t length, again;
  assert_ok(draw(&m, 5, MM_PANEL_ALL, "a.svg"));
  char *text = read_picture("a.svg", &length);
  // the decimal comma of the user's language must not enter the script
  static const char *const locales[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
  for (size_t i = 0; i < sizeof locales / sizeof *locales; i++)
    if (setlocale(LC_ALL, locales[i])) break;
  mm_status status = draw(&m, 5, MM_PANEL_ALL, "a.svg");
  setlocale(LC_ALL, "C");
  assert_ok(status);
  char *second = read_picture("a.svg", &again);
  assert_int_equal(length, again);
  assert_memory_equal(text, second, length);
  mm_free(text);
  mm_free(second);
  close_maps(&m);
}

static void test_labels(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  m.name[0] = "runs/one/mean.json";
  m.name[1] = "runs/two/mean.json";
  m.name[2] = "some/where/learned_on_asterix.json";
  size_t length;
  assert_ok(draw(&m, 3, MM_PANEL_PHI, "names.svg"));
  char *text = read_picture("names.svg", &length);
  assert_int_equal(count(text, ">one/mean<"), 2);
  assert_int_equal(count(text, ">two/mean<"), 2);
  assert_int_equal(count(text, ">learned_on_asterix<"), 2);
  assert_int_equal(count(text, ".json"), 0);
  mm_free(text);
  close_maps(&m);
}

// ---------------------------------------------------------------------------------------------
// Harm

static void test_hostile_names(void **state) {
  (void)state;
  need_gnuplot();
  static const char *const hostile[] = {
    "`touch canary`",
    "$(touch canary)",
    "'; system('touch canary'); '",
    "x' noenhanced\nsystem \"touch canary\"\nplot x title '",
    "\"; !touch canary",
    "a\r\n!touch canary\n",
    "END\n!touch canary",
    "\\",
    "\\'",
    "''",
    "@macro {/Symbol a}_b^c &{x} ~a{.8-}",
    "%s%n%d %",
    "<b>&amp;]]></text><script>",
    "é∑漢字🙂",
    "\xff\xfe\x80 \xc3",
    "\x01\x1b[31m\x7f",
    "",
    "|touch canary.json",
    "//////",
    "/.json",
  };
  enum { N_HOSTILE = sizeof hostile / sizeof *hostile };
  maps m = open_maps();
  for (int i = 0; i < N_HOSTILE; i += 4) {
    size_t length;
    for (int j = 0; j < 4; j++)
      m.name[j] = hostile[(i + j) % N_HOSTILE];
    assert_ok(draw(&m, 4, MM_PANEL_PHI | MM_PANEL_POLICY | MM_PANEL_SIMPLEX, "hostile.svg"));
    char *text = read_picture("hostile.svg", &length);
    check_xml(text, length);
    mm_free(text);
    assert_int_equal(count_entries(), 1);
  }
  char endless[20000];
  memset(endless, 'x', sizeof endless - 1);
  endless[sizeof endless - 1] = '\0';
  m.name[0] = endless;
  assert_ok(draw(&m, 2, MM_PANEL_ALL, "hostile.svg"));
  assert_int_equal(count_entries(), 1);
  close_maps(&m);
}

// File names are as free as the system allows: gnuplot never sees them.
static void test_hostile_paths(void **state) {
  (void)state;
  need_gnuplot();
  static const char *const path[] = { "|touch canary;.svg",
                                      "'; !touch canary.svg",
                                      "`touch canary`.png",
                                      "a\nb.pdf",
                                      "~x.svg",
                                      "-d.svg",
                                      "é \xff.svg" };
  enum { N_PATH = sizeof path / sizeof *path };
  maps m = open_maps();
  for (int i = 0; i < N_PATH; i++) {
    assert_ok(draw(&m, 1, MM_PANEL_PHI, path[i]));
    assert_int_equal(access(path[i], R_OK), 0);
  }
  assert_int_equal(count_entries(), N_PATH);
  close_maps(&m);
}

static void test_bad_requests(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  static const char *const ending[] = { "x.jpg", "x", "", ".svg", "x.svg.gz", "x.SVG" };
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
    assert_fails(draw(&m, 1, MM_PANEL_PHI, ending[i]), MM_ERR_INPUT, ".svg, .pdf or .png");
  assert_fails(draw(&m, 0, MM_PANEL_PHI, "x.svg"), MM_ERR_INPUT, "1 to 8 maps");
  assert_fails(draw(&m, 9, MM_PANEL_PHI, "x.svg"), MM_ERR_INPUT, "1 to 8 maps");
  assert_fails(draw(&m, 1, 0, "x.svg"), MM_ERR_INPUT, "panels");
  assert_fails(draw(&m, 1, 32, "x.svg"), MM_ERR_INPUT, "panels");

  const mm_map *const map[] = { m.map[0] };
  static const struct {
    size_t n_action;
    double eta, scale_max;
  } wrong[] = { { 1, 1, 4 },   { 65, 1, 4 },       { 3, 0, 4 },
                { 3, NAN, 4 }, { 3, 1, INFINITY }, { 3, 1, -1 } };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mm_map_figure_config config = { MM_PANEL_ALL, wrong[i].n_action, wrong[i].eta,
                                    wrong[i].scale_max, NULL };
    assert_int_equal(mm_map_figure_write(&config, map, m.name, 1, "x.svg"), MM_ERR_INPUT);
  }
  assert_int_equal(count_entries(), 0);
  close_maps(&m);
}

static void test_places_that_fail(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  assert_fails(draw(&m, 1, MM_PANEL_PHI, "absent/x.svg"), MM_ERR_INPUT, "absent/x.svg");
  assert_int_equal(mkdir("folder.svg", 0700), 0);
  assert_fails(draw(&m, 1, MM_PANEL_PHI, "folder.svg"), MM_ERR_INPUT, "folder.svg");
  assert_int_equal(count_entries(), 1);
  assert_int_equal(rmdir("folder.svg"), 0);

  setenv("TMPDIR", "absent", 1);
  assert_fails(draw(&m, 1, MM_PANEL_PHI, "x.svg"), MM_ERR_IO, "TMPDIR");
  setenv("TMPDIR", folder, 1);
  assert_int_equal(count_entries(), 0);
  close_maps(&m);
}

static void test_missing_gnuplot(void **state) {
  (void)state;
  maps m = open_maps();
  static const char *const path[] = { "", ":", ".:/nowhere" };
  for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
    setenv("PATH", path[i], 1);
    assert_fails(draw(&m, 2, MM_PANEL_ALL, "x.svg"), MM_ERR_UNSUPPORTED, "gnuplot");
  }
  unsetenv("PATH");
  assert_fails(draw(&m, 2, MM_PANEL_ALL, "x.svg"), MM_ERR_UNSUPPORTED, "gnuplot");
  assert_int_equal(count_entries(), 0);
  close_maps(&m);
}

// In place of gnuplot stands a script; what was at the picture's place stays.
static void check_broken(const maps *m, const char *script, mm_status expected, const char *part) {
  FILE *file = fopen("gnuplot", "w");
  assert_non_null(file);
  fprintf(file, "#!/bin/sh\n%s\n", script);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod("gnuplot", 0700), 0);
  char path[5000];
  snprintf(path, sizeof path, "%s:%s", folder, old_path);
  setenv("PATH", path, 1);
  assert_fails(draw(m, 1, MM_PANEL_PHI, "old.svg"), expected, part);
  setenv("PATH", old_path, 1);
  size_t length;
  char *text = read_picture("old.svg", &length);
  assert_string_equal(text, "old\n");
  mm_free(text);
  assert_int_equal(count_entries(), 2);
}

static void test_broken_gnuplot(void **state) {
  (void)state;
  maps m = open_maps();
  assert_ok(mm_file_write_atomic("old.svg", "old\n", 4));
  check_broken(&m, "echo; echo 'plot x' >&2; echo '  ^' >&2; echo '  line 7: boom' >&2; exit 1",
               MM_ERR_IO, "gnuplot failed: boom");
  check_broken(&m, "echo trouble >&2; exit 3", MM_ERR_IO, "gnuplot failed: trouble");
  check_broken(&m, "exit 1", MM_ERR_IO, "no message");
  mm_gnuplot_limit(0.2);
  check_broken(&m, "exec sleep 1000", MM_ERR_IO, "'old.svg': gnuplot was not done after 0.2 s");
  mm_gnuplot_limit(60);
  check_broken(&m, "echo 'line 0: unknown or ambiguous terminal type' >&2; exit 1",
               MM_ERR_UNSUPPORTED, "terminal type");
  check_broken(&m, "exit 0", MM_ERR_IO, "cut short");
  check_broken(&m, "echo '<svg>'", MM_ERR_IO, "cut short");
  check_broken(&m, "kill -9 $$", MM_ERR_IO, "signal 9");
  check_broken(&m, "kill -2 $$", MM_ERR_INTERRUPTED, "interrupted");
  close_maps(&m);
}

// The general form: a script of one's own, and gnuplot's word on a mistake in it.
static void test_own_script(void **state) {
  (void)state;
  need_gnuplot();
  const double table[3][2] = { { 0, 1 }, { 1, -INFINITY }, { 2, 5 } };
  mm_figure *figure;
  size_t length;
  assert_ok(mm_figure_create("own.svg", 300, 200, &figure));
  assert_int_equal(mm_figure_data(figure, &table[0][0], 3, 2), 0);
  assert_int_equal(mm_figure_data(figure, &table[0][0], 3, 2), 1);
  mm_figure_script(figure, "plot $d%d with linespoints lt 3\n", 1);
  assert_ok(mm_figure_write(figure));
  mm_figure_destroy(figure);
  char *text = read_picture("own.svg", &length);
  assert_non_null(strstr(text, "width=\"300\" height=\"200\""));
  assert_int_equal(count(text, "<use xlink:href='#gpPt6'"), 2); // the third is a gap
  mm_free(text);

  assert_ok(mm_figure_create("wrong.svg", 300, 200, &figure));
  mm_figure_script(figure, "plot $nothing\n");
  assert_fails(mm_figure_write(figure), MM_ERR_IO, "wrong.svg': gnuplot failed: no datablock");
  mm_figure_destroy(figure);
  mm_figure_destroy(NULL);
  assert_int_equal(count_entries(), 1);
}

// ---------------------------------------------------------------------------------------------
// Memory that runs out, at every place in turn

static void test_no_memory(void **state) {
  (void)state;
  need_gnuplot();
  maps m = open_maps();
  mm_status status = MM_ERR_MEMORY;
  size_t n = 0;
  for (; n < 1000 && status == MM_ERR_MEMORY; n++) {
    make_memory_scarce();
    allocations_left = n;
    status = draw(&m, 2, MM_PANEL_ALL, "x.svg");
    make_memory_usual();
    assert_int_equal(count_entries(), status == MM_OK);
  }
  assert_ok(status);
  assert_in_range(n, 4, 999); // the workspace, the figure, its path, the picture
  close_maps(&m);
}

int suite_figure(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    TEST(quote),           TEST(quote_fits),     TEST(thin),         TEST(thin_as_slowly),
    TEST(thin_long),       TEST(steps_and_ramp), TEST(formats),      TEST(sizes),
    TEST(curves),          TEST(many_knots),     TEST(reproducible), TEST(labels),
    TEST(hostile_names),   TEST(hostile_paths),  TEST(bad_requests), TEST(places_that_fail),
    TEST(missing_gnuplot), TEST(broken_gnuplot), TEST(own_script),   TEST(no_memory),
  };
#undef TEST
  return cmocka_run_group_tests_name("figure", tests, NULL, NULL);
}
