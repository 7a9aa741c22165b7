// SPDX-License-Identifier: Apache-2.0
// Errors, messages and the progress bar. The bar occupies the last line of stderr; whatever else is
// written there clears it first, and the next update draws it again.

#define _POSIX_C_SOURCE 200809L

#include "cli/core/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "backend/ranks/ranks.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/core/output.h"

static struct {
  bool quiet, mute, unicode;
  bool out_tty, err_tty;
  bool colours; // wanted by the environment, where there is a terminal
  const char *command;
} terminal;

static struct {
  bool active, drawn;
  const char *label, *unit;
  double total, done;
  double start, last;     // seconds: when it began, when it was drawn last
  double first, first_at; // what was done before this process did any, and until when
  double line;            // seconds from the start to the next line, where there is no bar
} bar;

void terminal_start(void) {
  // numbers keep their decimal point: only the character set follows the user's locale
  setlocale(LC_CTYPE, "");
  terminal.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  terminal.out_tty = isatty(STDOUT_FILENO);
  terminal.err_tty = isatty(STDERR_FILENO);

  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  bool dumb = term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0;
  terminal.colours = !dumb && (no_color == NULL || no_color[0] == '\0');
  // a launcher hands its ranks a terminal of its own making and copies what arrives there to
  // wherever its own output goes, a file as well
  int rank, size;
  if (mm_ranks_launched(&rank, &size) || size > 0) terminal.colours = false;
  if (dumb) terminal.err_tty = false; // no cursor movement, hence no bar
}

void terminal_set_quiet(bool quiet) {
  terminal.quiet = quiet;
}

void terminal_set_mute(bool mute) {
  terminal.mute = mute;
}

void terminal_set_command(const char *name) {
  terminal.command = name;
}

int terminal_width(FILE *stream) {
  struct winsize size;
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool terminal_unicode(void) {
  return terminal.unicode;
}

bool terminal_live(void) {
  return terminal.err_tty && !terminal.quiet;
}

const char *terminal_style(FILE *stream, style wanted) {
  static const char *const code[] = { "\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[31m" };
  return terminal_colourful(stream) ? code[wanted] : "";
}

bool terminal_colourful(FILE *stream) {
  bool tty = stream == stdout ? terminal.out_tty : terminal.err_tty;
  return tty && terminal.colours;
}

// 16 .. 231 are a cube of six levels a channel (0, 95, 135, .. 255), 232 .. 255 greys from 8 to 238
static unsigned colour_code(unsigned rgb) {
  unsigned code = 16, step = 36;
  for (int shift = 16; shift >= 0; shift -= 8, step /= 6) {
    unsigned value = rgb >> shift & 255;
    code += step * (value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40);
  }
  unsigned grey = rgb & 255;
  bool is_grey = rgb == grey * 0x10101u && grey >= 8 && grey <= 238;
  return is_grey ? 232 + (grey - 8) / 10 : code;
}

const char *terminal_colour(FILE *stream, unsigned rgb, bool behind,
                            char out[TERMINAL_COLOUR_SIZE]) {
  out[0] = '\0';
  if (terminal_colourful(stream))
    snprintf(out, TERMINAL_COLOUR_SIZE, "\033[%d;5;%um", behind ? 48 : 38, colour_code(rgb) & 255);
  return out;
}

// ---------------------------------------------------------------------------------------------
// Errors and messages

static void clear_bar(void) {
  if (!bar.drawn) return;
  fputs("\r\033[K", stderr);
  bar.drawn = false;
}

// names and values come from the user or from files: a line break or an escape in them, or what is
// no UTF-8, must not reach the terminal
static void put_visible(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  for (size_t left = strlen(text), n; left > 0; c += n, left -= n) {
    n = mm_utf8_plain(c, left);
    if (n > 0)
      fwrite(c, 1, n, stderr);
    else
      n = 1, fprintf(stderr, "\\x%02x", *c);
  }
}

// Where both go to one file or terminal, what was said before stands before, in whole lines.
static void begin_line(void) {
  output_flush();
  clear_bar();
}

static void put_line(style colour, const char *prefix, const char *format, va_list arguments) {
  char text[4096];
  if (terminal.mute) return;
  vsnprintf(text, sizeof text, format, arguments);
  begin_line();
  fprintf(stderr, "%smirrormap:%s ", terminal_style(stderr, colour),
          terminal_style(stderr, STYLE_PLAIN));
  put_visible(prefix);
  put_visible(text);
  fputc('\n', stderr);
  fflush(stderr);
}

int fail(int exit_code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_line(STYLE_BAD, "", format, arguments);
  va_end(arguments);
  return exit_code;
}

int fail_usage(const char *format, ...) {
  char prefix[64] = "";
  if (terminal.command != NULL) snprintf(prefix, sizeof prefix, "%s: ", terminal.command);
  va_list arguments;
  va_start(arguments, format);
  put_line(STYLE_BAD, prefix, format, arguments);
  va_end(arguments);
  return EXIT_USAGE;
}

int exit_code_of(mm_status status) {
  return status == MM_ERR_INPUT ? EXIT_USAGE : EXIT_FAILED;
}

static const char *error_text(mm_status status) {
  return mm_last_error()[0] != '\0' ? mm_last_error() : mm_status_text(status);
}

int fail_status(mm_status status) {
  return fail(exit_code_of(status), "%s", error_text(status));
}

int status_code(mm_status status) {
  return status == MM_OK ? EXIT_DONE : fail_status(status);
}

int fail_reading(mm_status status, const char *what) {
  return fail(status == MM_ERR_IO ? EXIT_USAGE : exit_code_of(status), "%s%s%s", what,
              what[0] != '\0' ? ": " : "", error_text(status));
}

void note(const char *format, ...) {
  if (terminal.quiet) return;
  va_list arguments;
  va_start(arguments, format);
  put_line(STYLE_BOLD, "", format, arguments);
  va_end(arguments);
}

void warn(const char *format, ...) {
  if (terminal.quiet) return;
  va_list arguments;
  va_start(arguments, format);
  put_line(STYLE_BOLD, "warning: ", format, arguments);
  va_end(arguments);
}

void log_line(const char *format, ...) {
  if (terminal.quiet || terminal.mute) return;
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  begin_line();
  put_visible(text);
  fputc('\n', stderr);
  fflush(stderr);
}

// ---------------------------------------------------------------------------------------------
// Progress

const char *format_duration(double seconds) {
  long s = seconds < 1e7 ? lround(seconds) : -1;
  if (s < 0) return "?";
  if (s < 60) return output_format("%ld s", s);
  if (s < 3600) return output_format("%ld:%02ld", s / 60, s % 60);
  return output_format("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

const char *format_elapsed(double seconds) {
  return seconds < 60 ? output_format("%.3g s", seconds) : format_duration(seconds);
}

const char *format_bar(int eighths, int width, char blank, char *out) {
  char *to = out;
  for (int i = 0; i < width; i++) {
    int part = eighths - 8 * i < 8 ? eighths - 8 * i : 8;
    if (terminal.unicode && part > 0)
      to += sprintf(to, "\xe2\x96%c", 0x90 - part); // U+258F .. U+2588: one to eight eighths
    else
      *to++ = terminal.unicode ? ' ' : part >= 4 ? '#' : blank;
  }
  *to = '\0';
  return out;
}

// Of what this process did since it did anything: what was there before, and the time that went by
// before the first step, say nothing about the rest.
static double rate_now(double now) {
  return bar.done > bar.first && now > bar.first_at ? (bar.done - bar.first) / (now - bar.first_at)
                                                    : NAN;
}

double progress_left(void) {
  return bar.total > 0 ? (bar.total - bar.done) / rate_now(mm_clock_seconds()) : NAN;
}

// "42 %, 1.3 M steps/s, 0:12 left", or "17 steps" where the end is unknown.
static void format_state(const char *joint, double now, char *out, size_t size) {
  if (!(bar.total > 0)) {
    snprintf(out, size, "%s %s", output_si(bar.done), bar.unit);
    return;
  }
  const double rate = rate_now(now);
  size_t used = (size_t)snprintf(out, size, "%.0f %%", floor(100 * bar.done / bar.total));
  if (used < size && rate > 0)
    used +=
        (size_t)snprintf(out + used, size - used, "%s%s %s/s", joint, output_si(rate), bar.unit);
  if (used < size)
    snprintf(out + used, size - used, "%s%s left", joint, format_duration(progress_left()));
}

void progress_begin(const char *label, double total, const char *unit) {
  bar.active = true;
  bar.label = label;
  bar.unit = unit;
  bar.total = total;
  bar.done = 0;
  bar.first = bar.last = -INFINITY;
  bar.start = bar.first_at = mm_clock_seconds();
  bar.line = 10;
}

// label, bar, state, detail, as far as they fit in one line; the bar is as wide whatever they say
enum { TEXT_ROOM = 64 };
static void draw_bar(double now, const char *detail) {
  char state[128];
  format_state("  ", now, state, sizeof state);
  int room = terminal_width(stderr) - 1;
  room -= fprintf(stderr, "\r\033[K%.*s", room, bar.label) - 4;
  int cells = room - TEXT_ROOM < 8 ? 8 : room - TEXT_ROOM;
  if (bar.total > 0 && room > 40) {
    char text[BAR_SIZE(30)];
    cells = cells < 30 ? cells : 30;
    int eighths = (int)lround(fmin(fmax(bar.done / bar.total, 0), 1) * 8 * cells);
    fprintf(stderr, " %s", format_bar(eighths, cells, '.', text));
    room -= cells + 1;
  }
  if (room > 1) room -= fprintf(stderr, " %.*s", room - 1, state);
  if (detail != NULL && room > 8) fprintf(stderr, "  %.*s", room - 2, detail);
  fflush(stderr);
  bar.drawn = true;
}

// After 10, 20, 40 seconds, then every minute.
static void print_progress(double now, const char *detail) {
  char state[128];
  if (now - bar.start < bar.line) return;
  while (now - bar.start >= bar.line)
    bar.line += fmin(bar.line, 60);
  format_state(", ", now, state, sizeof state);
  note("%s: %s%s%s", bar.label, state, detail != NULL ? ", " : "", detail != NULL ? detail : "");
}

void progress_update(double done, const char *detail) {
  if (!bar.active) return;
  const double now = mm_clock_seconds();
  bar.done = fmax(bar.done, done);
  if (!(bar.done > bar.first) || isinf(bar.first)) {
    bar.first = bar.done;
    bar.first_at = now;
  }
  if (now - bar.last < 0.1) return;
  bar.last = now;
  if (terminal_live())
    draw_bar(now, detail);
  else
    print_progress(now, detail);
}

void progress_end(void) {
  clear_bar();
  fflush(stderr);
  bar.active = false;
}
