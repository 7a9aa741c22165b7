// SPDX-License-Identifier: Apache-2.0
// What the user sees on stderr: errors, messages, a progress bar; and what the terminals can show.
//
// stdout belongs to results (output.h). Errors always appear, as one line "mirrormap: ...".
// Messages and the bar fall silent under --quiet; the bar and all colours need a terminal.

#ifndef MM_CLI_TERMINAL_H
#define MM_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

// What the program returns.
enum {
  EXIT_DONE = 0,
  EXIT_FAILED = 1, // failed while running, or a check that did not hold
  EXIT_USAGE = 2   // bad usage or input
};

// Looks at locale, terminals and environment; call once, before anything is written.
void terminal_start(void);

void terminal_set_quiet(bool quiet);

// Nothing at all goes to stderr, errors included: for processes that another one speaks for.
void terminal_set_mute(bool mute);

// The command in hand, e.g. "map new": usage errors name it. Must outlive its use.
void terminal_set_command(const char *name);

// Columns of the terminal that `stream` is, or 80.
int terminal_width(FILE *stream);

// Whether the locale can show block and braille characters.
bool terminal_unicode(void);

// Whether a progress bar would be seen.
bool terminal_live(void);

typedef enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD } style;

// The text that switches a style on, STYLE_PLAIN off; "" where `stream` takes no colours.
const char *terminal_style(FILE *stream, style wanted);

// Whether `stream` takes colours at all.
bool terminal_colourful(FILE *stream);

// The text that makes letters, or what is behind them, the nearest of xterm's 256 colours to
// 0xrrggbb; "" where `stream` takes no colours.
enum { TERMINAL_COLOUR_SIZE = 16 };
const char *terminal_colour(FILE *stream, unsigned rgb, bool behind,
                            char out[TERMINAL_COLOUR_SIZE]);

// ---------------------------------------------------------------------------------------------
// Errors: one line each; bytes of control characters, and those that are no UTF-8, as \xNN. They
// return the exit code, so that `return fail_usage(...)` ends a command.

int fail(int exit_code, const char *format, ...) MM_CHECK_FORMAT(2, 3);

// A mistake on the command line: names the command, returns EXIT_USAGE.
int fail_usage(const char *format, ...) MM_CHECK_FORMAT(1, 2);

// Of a failure: bad input is EXIT_USAGE, everything else EXIT_FAILED.
int exit_code_of(mm_status status);

// The library's last error, with that code.
int fail_status(mm_status status);

// EXIT_DONE for MM_OK, else fail_status.
int status_code(mm_status status);

// Leaves the calling function with the exit code of `call` unless it is EXIT_DONE: the command
// line's MM_TRY, for functions that hold nothing to be released.
#define TRY(call)                                                                                  \
  do {                                                                                             \
    const int try_code_ = (call);                                                                  \
    if (try_code_ != EXIT_DONE) return try_code_;                                                  \
  } while (0)

// The same where something was to be read, named `what` ("": nameless): that it cannot be, whatever
// the reason, is EXIT_USAGE.
int fail_reading(mm_status status, const char *what);

// Messages, unless --quiet.
void note(const char *format, ...) MM_CHECK_FORMAT(1, 2);
void warn(const char *format, ...) MM_CHECK_FORMAT(1, 2);

// A line of a table that grows while the work goes on, as it is and unless --quiet; the bar stays
// below it.
void log_line(const char *format, ...) MM_CHECK_FORMAT(1, 2);

// ---------------------------------------------------------------------------------------------
// One progress bar at a time, redrawn at most ten times a second; without a terminal it is a line
// now and then. A total of 0 means unknown: only the count and the detail are shown then. `unit`
// names what is counted.

// 59 s, 12:05, 3:07:21, or ? where it is not known. Valid for the next few calls.
const char *format_duration(double seconds);

// The same with three digits below a minute, for times that were measured.
const char *format_elapsed(double seconds);

// A bar of `width` cells that is filled by so many eighths of one, which are seen where the locale
// can show them; elsewhere `blank` is what is not filled.
#define BAR_SIZE(width) (3 * (width) + 1)
const char *format_bar(int eighths, int width, char blank, char *out);

void progress_begin(const char *label, double total, const char *unit);
// `done` counts what was done before this process as well, and never goes back.
void progress_update(double done, const char *detail);
// Seconds to the end at the speed so far; NaN where that is not known.
double progress_left(void);
void progress_end(void);

#endif
