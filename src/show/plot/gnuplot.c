// SPDX-License-Identifier: Apache-2.0
// Runs gnuplot on a script that is collected in a nameless temporary file. gnuplot reads the script
// from its standard input and writes the picture to its standard output, so that no name ever has
// to be quoted for it; both ends are files, not pipes, so neither side can wait for the other.

#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "base/utf8.h"
#include "show/plot/gnuplot.h"
#include "show/plot/program.h"

extern char **environ;

typedef struct picture_format {
  const char *ending;
  const char *last; // stands near the end of a complete file
} picture_format;

static const picture_format formats[] = { { ".svg", "</svg>" },
                                          { ".pdf", "%%EOF" },
                                          { ".png", "IEND" } };

struct mm_figure {
  const picture_format *format;
  char *path;
  char program[1024];
  FILE *script;
  locale_t c_locale;
  int n_data;
};

// ---------------------------------------------------------------------------------------------
// What is needed before drawing

mm_status mm_gnuplot_find(char *path, size_t size) {
  if (mm_program_find("gnuplot", path, size)) return MM_OK;
  return MM_FAIL(MM_ERR_UNSUPPORTED, "figures need the program gnuplot, which is not on the PATH "
                                     "(Debian's package is gnuplot-nox)");
}

static const picture_format *format_of(const char *path) {
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    size_t tail = strlen(formats[i].ending);
    if (length > tail && strcmp(path + length - tail, formats[i].ending) == 0) return &formats[i];
  }
  return NULL;
}

// ---------------------------------------------------------------------------------------------
// The script

// Okabe and Ito's colours, which people with any colour vision tell apart, the fainter ones
// darkened, and some more. The report's page has the same (report.css, report_chart.js). The first
// are of maps with a name of their own, see mm_map_lines.
static const struct {
  uint32_t colour;
  const char *dashes;
} line_styles[MM_FIGURE_STYLES] = {
  { 0x0072b2, "solid" },      { 0xd55e00, "(11,4)" },
  { 0x009e73, "(4,3)" },      { 0xb85a8f, "(11,4,2.5,4)" },
  { 0x000000, "(2,3)" },      { 0x7f7f7f, "(11,4,4,4,4,4)" },
  { 0x7a1033, "(18,5)" },     { 0xb87d00, "(18,4,2.5,4,2.5,4)" },
  { 0x3d9bd4, "(7,3)" },      { 0x5b3fa0, "(7,3,2.5,3)" },
  { 0x6b8e23, "(14,3,5,3)" }, { 0x8c510a, "(2,2,7,2)" },
};

uint32_t mm_line_colour(int line) {
  return line_styles[(line - 1) % MM_FIGURE_STYLES].colour;
}

static void set_terminal(mm_figure *figure, double width, double height) {
  const char *ending = figure->format->ending;
  if (strcmp(ending, ".svg") == 0)
    mm_figure_script(figure,
                     "set terminal svg enhanced size %g,%g font 'Arial,12' background '#ffffff' "
                     "linewidth 1 dashlength 0.6\n",
                     width, height);
  else if (strcmp(ending, ".pdf") == 0) // sizes in inches, type in points (gnuplot's are larger)
    mm_figure_script(figure,
                     "set terminal pdfcairo enhanced size %gin,%gin font 'Arial,9' fontscale 0.75 "
                     "background '#ffffff' linewidth 1.5 dashlength 0.8\n",
                     width / 96, height / 96);
  else
    mm_figure_script(figure,
                     "set terminal pngcairo enhanced size %g,%g font 'Arial,9' fontscale 2 "
                     "background '#ffffff' linewidth 2 pointscale 2 dashlength 0.8\n",
                     2 * width, 2 * height);
}

static void set_style(mm_figure *figure) {
  mm_figure_script(figure, "set encoding utf8\nset minussign\n");
  for (int i = 0; i < MM_FIGURE_STYLES; i++)
    mm_figure_script(figure, "set linetype %d lc rgb '#%06x' lw 1.8 dt %s pt 7 ps 0.4\n", i + 1,
                     (unsigned)line_styles[i].colour, line_styles[i].dashes);
  mm_figure_script(figure, "set border 3 lc rgb '#555555' lw 0.8\n"
                           "set tics out nomirror scale 0.5 textcolor rgb '#333333'\n"
                           "set xtics offset 0,0.4\n"
                           "set grid back lt 1 dt solid lc rgb '#e4e4e4' lw 0.6\n"
                           "unset key\n");
}

mm_status mm_figure_create(const char *path, double width, double height, mm_figure **out) {
  *out = NULL;
  const picture_format *format = format_of(path);
  if (!format)
    return MM_FAIL(MM_ERR_INPUT, "'%s': expected a name that ends in .svg, .pdf or .png", path);
  size_t length = strlen(path) + 1;
  mm_figure *figure = mm_alloc(sizeof *figure);
  if (!figure) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  memset(figure, 0, sizeof *figure);
  figure->format = format;
  figure->path = mm_alloc(length);
  figure->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  mm_status status = mm_gnuplot_find(figure->program, sizeof figure->program);
  if (status == MM_OK && (!figure->path || !figure->c_locale))
    status = MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  if (status == MM_OK) {
    int fd = mm_temporary_open();
    figure->script = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!figure->script) status = mm_temporary_failed();
    if (!figure->script && fd >= 0) close(fd);
  }
  if (status != MM_OK) {
    mm_figure_destroy(figure);
    return status;
  }
  memcpy(figure->path, path, length);
  set_terminal(figure, width, height);
  set_style(figure);
  *out = figure;
  return MM_OK;
}

void mm_figure_destroy(mm_figure *figure) {
  if (!figure) return;
  if (figure->script) fclose(figure->script);
  if (figure->c_locale) freelocale(figure->c_locale);
  mm_free(figure->path);
  mm_free(figure);
}

// A failing write is remembered by the stream and reported by mm_figure_write.
void mm_figure_script(mm_figure *figure, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  locale_t before = uselocale(figure->c_locale);
  vfprintf(figure->script, format, arguments);
  uselocale(before);
  va_end(arguments);
}

void mm_figure_vprint(char *out, size_t size, const char *format, va_list arguments) {
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  locale_t before = uselocale(c_locale); // where there is none, the one in use stays
  vsnprintf(out, size, format, arguments);
  uselocale(before);
  if (c_locale) freelocale(c_locale);
}

void mm_figure_print(char *out, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  mm_figure_vprint(out, size, format, arguments);
  va_end(arguments);
}

int mm_figure_data(mm_figure *figure, const double *table, size_t rows, size_t columns) {
  locale_t before = uselocale(figure->c_locale);
  fprintf(figure->script, "$d%d << END\n", figure->n_data);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) {
      double value = table[i * columns + j];
      if (isfinite(value))
        fprintf(figure->script, "%.9g", value);
      else
        fputs("NaN", figure->script);
      fputc(j + 1 == columns ? '\n' : ' ', figure->script);
    }
  fputs("END\n", figure->script);
  uselocale(before);
  return figure->n_data++;
}

// ---------------------------------------------------------------------------------------------
// Text

// The code point at text, its length in *bytes; U+FFFD where the bytes are no UTF-8 or may not
// stand in a picture's text (controls, marks that turn the direction, non-characters).
static uint32_t next_character(const char *text, size_t *bytes) {
  const unsigned char *at = (const unsigned char *)text;
  size_t length = mm_utf8_length(at, strlen(text));
  *bytes = length > 0 ? length : 1;
  if (length == 0) return 0xFFFD;
  uint32_t code = length == 1 ? *at : *at & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++)
    code = code << 6 | (at[i] & 0x3Fu);
  bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  bool direction = (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E);
  return control || direction || (code & 0xFFFE) == 0xFFFE ? 0xFFFD : code;
}

// Scripts of East Asia and pictures take about two columns.
static size_t columns_of(uint32_t code) {
  return code < 0x300 ? 1 : code < 0x370 ? 0 : code < 0x1100 ? 1 : code >= 0x2E80 ? 2 : 1;
}

static size_t text_columns(const char *text) {
  size_t columns = 0, bytes;
  for (; *text; text += bytes) {
    columns += columns_of(next_character(text, &bytes));
  }
  return columns;
}

// Appends the character at `text` in quoted form and returns the new end; a character that would
// not leave room for the closing quote is dropped.
static char *quote_character(char *end, const char *limit, const char *text, size_t bytes,
                             uint32_t code) {
  if (code == 0xFFFD) {
    text = "\xEF\xBF\xBD";
    bytes = 3;
  } else if (code == '\'') {
    // gnuplot takes two for one, but not at a string's beginning; a typographic one is safe
    text = "\xE2\x80\x99";
    bytes = 3;
  } else if (code == '>' && end[-1] == ']' && end[-2] == ']') {
    // gnuplot writes this into an SVG as it is, and XML forbids it there; the opening quote, which
    // is no ']', ends the look back
    text = "\xE2\x80\xBA";
    bytes = 3;
  }
  if (end + bytes + 2 > limit) return end;
  memcpy(end, text, bytes);
  return end + bytes;
}

void mm_figure_quote(const char *text, size_t width, char out[MM_FIGURE_TEXT]) {
  size_t total = text_columns(text), bytes;
  // a text that is too long keeps its beginning and, because files differ there, more of its end
  size_t head = total > width ? width / 3 : total;
  size_t tail = total > width ? width - head - (width > 0) : 0;
  char *end = out;
  *end++ = '\'';
  size_t column = 0;
  bool cut = false;
  for (; *text; text += bytes) {
    uint32_t code = next_character(text, &bytes);
    size_t wide = columns_of(code);
    if (column + wide <= head || column >= total - tail) {
      end = quote_character(end, out + MM_FIGURE_TEXT, text, bytes, code);
    } else if (!cut) {
      end = quote_character(end, out + MM_FIGURE_TEXT, "\xE2\x80\xA6", 3, 0x2026);
      cut = true;
    }
    column += wide;
  }
  *end++ = '\'';
  *end = '\0';
}

// ---------------------------------------------------------------------------------------------
// Curves

// Everything below is in units of the tolerance. A line from one point passes within 1 of another
// if its direction lies in a cone, that of the tangents to the circle around the other; the
// directions that pass all points so far are an intersection of cones. So each point is looked at
// once, however long the stretch that a line replaces.
typedef struct cone {
  double at[2];             // where the lines begin
  double right[2], left[2]; // the directions at its sides, less than half a turn apart
  double farthest;          // distance of the points so far
  bool limited, empty;      // some directions, or all of them, are excluded
} cone;

static double cross(const double a[2], const double b[2]) {
  return a[0] * b[1] - a[1] * b[0];
}

static bool is_between(const double right[2], const double v[2], const double left[2]) {
  return cross(right, v) >= 0 && cross(v, left) >= 0;
}

// From now on lines must pass the point at `v` from the cone's origin.
static void cone_narrow(cone *c, const double v[2]) {
  double distance = hypot(v[0], v[1]);
  c->empty = c->empty || !isfinite(distance);
  c->farthest = fmax(c->farthest, distance);
  if (distance <= 1 || c->empty) return;
  double x = v[0] / distance, y = v[1] / distance, s = 1 / distance, t = sqrt(1 - s * s);
  double right[2] = { x * t + y * s, y * t - x * s }, left[2] = { x * t - y * s, y * t + x * s };
  bool in_right = !c->limited || is_between(c->right, right, c->left);
  bool in_left = !c->limited || is_between(c->right, left, c->left);
  // with neither side inside, the new cone holds all of the old one or nothing of it
  if (!in_right && !in_left) c->empty = !is_between(right, c->right, left);
  if (in_right) memcpy(c->right, right, sizeof right);
  if (in_left) memcpy(c->left, left, sizeof left);
  c->limited = true;
}

// Does the line to the point at `v` pass all points so far, none of them beyond its end?
static bool cone_admits(const cone *c, const double v[2]) {
  double distance = hypot(v[0], v[1]);
  if (c->empty || !isfinite(distance) || c->farthest > distance + 1) return false;
  return !c->limited || is_between(c->right, v, c->left);
}

// Drops the points on straight stretches, in place. A gap, and the points on its sides, are kept:
// no cone admits a NaN.
static size_t thin_straight(double (*point)[2], size_t n, double dx, double dy) {
  size_t kept = 0;
  cone c = { .empty = true };
  for (size_t i = 0; i < n; i++) {
    double here[2] = { point[i][0] / dx - c.at[0], point[i][1] / dy - c.at[1] };
    cone_narrow(&c, here);
    if (i > 0 && i + 1 < n) {
      double next[2] = { point[i + 1][0] / dx - c.at[0], point[i + 1][1] / dy - c.at[1] };
      if (cone_admits(&c, next)) continue;
    }
    c = (cone){ .at = { point[i][0] / dx, point[i][1] / dy } };
    memmove(point[kept++], point[i], sizeof *point);
  }
  return kept;
}

// Of the points [from, to), which lie within a column, keeps at `out` the first, the last, the
// lowest and the highest, in their order; returns how many.
static size_t keep_extremes(const double (*point)[2], size_t from, size_t to, double (*out)[2]) {
  size_t low = from, high = from, kept = 0;
  for (size_t i = from; i < to; i++) {
    if (point[i][1] < point[low][1]) low = i;
    if (point[i][1] > point[high][1]) high = i;
  }
  const size_t choice[4] = { from, low < high ? low : high, low < high ? high : low, to - 1 };
  for (int k = 0; k < 4; k++)
    if (k == 0 || choice[k] != choice[k - 1]) memmove(out[kept++], point[choice[k]], sizeof *out);
  return kept;
}

// Noise has no straight stretches, but where it is denser than the tolerance a line up and down
// looks the same. So a curve along the axis keeps at most four points for each dx.
static size_t thin_columns(double (*point)[2], size_t n, double dx) {
  size_t kept = 0;
  for (size_t from = 0, to; from < n; from = to) {
    to = from + 1;
    while (to < n && fabs(point[to][0] - point[from][0]) <= dx &&
           !isnan(point[from][1] + point[to][1]))
      to++;
    kept += keep_extremes((const double(*)[2])point, from, to, point + kept);
  }
  return kept;
}

size_t mm_figure_thin(double *points, size_t n, double dx, double dy) {
  double(*point)[2] = (double(*)[2])points;
  return thin_straight(point, thin_columns(point, n, dx), dx, dy);
}

// ---------------------------------------------------------------------------------------------
// Running gnuplot

// gnuplot repeats the line that it did not like, points into it, and only then says why.
static const char *complaint(char *messages) {
  char *first = NULL, *rest = messages, *line;
  while ((line = strtok_r(rest, "\n", &rest))) {
    line += strspn(line, " \t");
    const char *place = strstr(line, "line ");
    int number, length = 0;
    if (place && sscanf(place, "line %d: %n", &number, &length) == 1 && length > 0)
      return place + length;
    if (!first && *line && *line != '^') first = line;
  }
  return first ? first : "no message";
}

static mm_status judge(const mm_figure *figure, int exit_status, int messages) {
  if (WIFSIGNALED(exit_status) && WTERMSIG(exit_status) == SIGINT)
    return MM_FAIL(MM_ERR_INTERRUPTED, "'%s': interrupted while gnuplot drew it", figure->path);
  if (WIFSIGNALED(exit_status))
    return MM_FAIL(MM_ERR_IO, "'%s': gnuplot was ended by signal %d", figure->path,
                   WTERMSIG(exit_status));
  if (WEXITSTATUS(exit_status) == 0) return MM_OK;
  char text[4096];
  mm_temporary_read(messages, 0, text, sizeof text);
  const char *why = complaint(text);
  bool lacking = strstr(why, "terminal type") != NULL; // built without this format
  return MM_FAIL(lacking ? MM_ERR_UNSUPPORTED : MM_ERR_IO, "'%s': gnuplot failed: %s", figure->path,
                 why);
}

// gnuplot does not look whether its writing succeeds: a full disk shows only in the picture.
static mm_status take_picture(const mm_figure *figure, int fd) {
  struct stat about;
  char last[64];
  size_t size = fstat(fd, &about) == 0 && about.st_size > 0 ? (size_t)about.st_size : 0;
  off_t tail = size > 32 ? (off_t)(size - 32) : 0;
  size_t n = mm_temporary_read(fd, tail, last, sizeof last);
  bool whole = false;
  for (size_t i = 0; i + strlen(figure->format->last) <= n; i++)
    whole |= memcmp(last + i, figure->format->last, strlen(figure->format->last)) == 0;
  if (!whole)
    return MM_FAIL(MM_ERR_IO, "'%s': gnuplot's picture is cut short (is the disk of TMPDIR full?)",
                   figure->path);
  return mm_temporary_keep(fd, figure->path);
}

static double time_limit = 60;

void mm_gnuplot_limit(double seconds) {
  time_limit = seconds;
}

static mm_status run(const mm_figure *figure, int script, int picture, int messages) {
  // -d: the user's own settings stay out. Left to its standard input gnuplot reads byte by byte; by
  // name, in one go.
  pid_t child;
  struct stat about;
  const char *const input = "/dev/stdin";
  const char *const arguments[] = { "gnuplot", "-d", lstat(input, &about) == 0 ? input : NULL,
                                    NULL };
  int error = mm_program_start(figure->program, arguments, script, picture, messages, &child);
  if (error) {
    errno = error;
    return MM_FAIL(MM_ERR_IO, "cannot start %s (error %d)", figure->program, error);
  }
  int exit_status = 0;
  if (!mm_program_wait(child, time_limit, &exit_status))
    return MM_FAIL(MM_ERR_IO, "'%s': gnuplot was not done after %g s and was ended", figure->path,
                   time_limit);
  MM_TRY(judge(figure, exit_status, messages));
  return take_picture(figure, picture);
}

mm_status mm_figure_write(mm_figure *figure) {
  mm_figure_script(figure, "\nunset output\n");
  int script = fileno(figure->script);
  if (fflush(figure->script) != 0 || ferror(figure->script) || lseek(script, 0, SEEK_SET) != 0)
    return mm_temporary_failed();
  int picture = mm_temporary_open();
  int messages = picture < 0 ? -1 : mm_temporary_open();
  mm_status status = messages < 0 ? mm_temporary_failed() : run(figure, script, picture, messages);
  if (picture >= 0) close(picture);
  if (messages >= 0) close(messages);
  return status;
}
