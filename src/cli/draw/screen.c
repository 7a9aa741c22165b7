// SPDX-License-Identifier: Apache-2.0
// The whole terminal for one command. Signals that ask for something are blocked except while
// waiting for a key, so their handler only notes them; crashes restore the terminal in the handler
// (tcsetattr and write are allowed there) and then run their usual course.

#define _POSIX_C_SOURCE 200809L

#include "cli/draw/screen.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/core/interrupt.h"
#include "cli/core/terminal.h"

// another screen, without a cursor and with long lines cut; and back
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

static const int noted_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };
static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
enum {
  N_NOTED = sizeof noted_signals / sizeof *noted_signals,
  N_CRASH = sizeof crash_signals / sizeof *crash_signals
};

static struct {
  struct termios before;
  sigset_t mask_before, mask_waiting;
  struct sigaction noted_before[N_NOTED], crash_before[N_CRASH];
  volatile sig_atomic_t taken; // the terminal is ours
  volatile sig_atomic_t leave; // the signal that asks to leave
  volatile sig_atomic_t suspend, resized;
} screen;

// ---------------------------------------------------------------------------------------------
// Taking the terminal and giving it back

static void put_now(const char *text) {
  size_t length = strlen(text);
  while (length > 0) {
    ssize_t n = write(STDOUT_FILENO, text, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return; // the terminal has gone: nothing to restore
    text += n;
    length -= (size_t)n;
  }
}

// safe in a signal handler
static void give_back(void) {
  if (!screen.taken) return;
  screen.taken = 0;
  put_now(LEAVE);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen.before);
}

static bool take(void) {
  struct termios raw = screen.before;
  // keys at once and unseen; Ctrl-C and Ctrl-Z still make signals
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) != 0) return false;
  screen.taken = 1;
  put_now(ENTER);
  return true;
}

// ---------------------------------------------------------------------------------------------
// Signals

static void note_signal(int number) {
  if (number == SIGTSTP)
    screen.suspend = 1;
  else if (number == SIGWINCH)
    screen.resized = 1;
  else
    screen.leave = number;
}

static void crash(int number) {
  give_back();
  for (int i = 0; i < N_CRASH; i++)
    if (crash_signals[i] == number) sigaction(number, &screen.crash_before[i], NULL);
  raise(number); // blocked until this handler returns, then what would have happened without it
}

static void catch_signals(void) {
  sigset_t noted;
  sigemptyset(&noted);
  for (int i = 0; i < N_NOTED; i++)
    sigaddset(&noted, noted_signals[i]);
  sigprocmask(SIG_BLOCK, &noted, &screen.mask_before);
  screen.mask_waiting = screen.mask_before;
  for (int i = 0; i < N_NOTED; i++) {
    struct sigaction action = { .sa_handler = note_signal };
    sigaction(noted_signals[i], NULL, &screen.noted_before[i]);
    sigdelset(&screen.mask_waiting, noted_signals[i]);
    // what the caller has switched off (nohup) stays off
    if (screen.noted_before[i].sa_handler != SIG_IGN) sigaction(noted_signals[i], &action, NULL);
  }
  for (int i = 0; i < N_CRASH; i++) {
    struct sigaction action = { .sa_handler = crash };
    sigaction(crash_signals[i], &action, &screen.crash_before[i]);
  }
}

static void release_signals(void) {
  for (int i = 0; i < N_NOTED; i++)
    sigaction(noted_signals[i], &screen.noted_before[i], NULL);
  for (int i = 0; i < N_CRASH; i++)
    sigaction(crash_signals[i], &screen.crash_before[i], NULL);
  sigprocmask(SIG_SETMASK, &screen.mask_before, NULL);
}

// Ctrl-Z: the shell gets a terminal in order, and we ours when it is our turn again
static void suspend(void) {
  struct sigaction action = { .sa_handler = SIG_DFL }, ours;
  sigset_t stop;
  screen.suspend = 0;
  give_back();
  sigaction(SIGTSTP, &action, &ours);
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &stop, NULL); // stops here
  sigprocmask(SIG_BLOCK, &stop, NULL);
  sigaction(SIGTSTP, &ours, NULL);
  if (!take()) screen.leave = SIGHUP;
}

// ---------------------------------------------------------------------------------------------

int screen_open(void) {
  const char *term = getenv("TERM");
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
    return fail_usage("needs a terminal for input and output");
  if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
    return fail_usage("needs a terminal that can move its cursor (TERM is '%s')",
                      term != NULL ? term : "");
  static bool registered;
  if (tcgetattr(STDIN_FILENO, &screen.before) != 0)
    return fail(EXIT_FAILED, "terminal: %s", strerror(errno));
  if (!registered && atexit(give_back) != 0) return fail(EXIT_FAILED, "terminal: no memory");
  registered = true;
  catch_signals();
  screen.leave = screen.suspend = screen.resized = 0;
  if (take()) return EXIT_DONE;
  int error = errno;
  release_signals();
  return fail(EXIT_FAILED, "terminal: %s", strerror(error));
}

void screen_size(int *columns, int *lines) {
  struct winsize size;
  *columns = 80;
  *lines = 24;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return;
  *columns = size.ws_col;
  *lines = size.ws_row;
}

void screen_draw_begin(void) {
  fputs("\033[H", stdout);
}

void screen_draw_end(void) {
  fputs("\033[J", stdout);
  fflush(stdout);
}

// what pselect may wait until then: NULL for ever
static struct timespec *time_left(double until, struct timespec *out) {
  if (isinf(until)) return NULL;
  double left = until - mm_clock_seconds();
  if (!(left > 0)) left = 0;
  out->tv_sec = (time_t)left;
  out->tv_nsec = (long)(1e9 * (left - (double)out->tv_sec));
  return out;
}

screen_event screen_wait(unsigned char *byte, double until) {
  for (;;) {
    if (screen.leave) return SCREEN_END;
    if (screen.suspend) {
      suspend();
      return screen.leave ? SCREEN_END : SCREEN_REDRAW;
    }
    if (screen.resized) {
      screen.resized = 0;
      return SCREEN_REDRAW;
    }
    fd_set input;
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    struct timespec left;
    int ready = pselect(STDIN_FILENO + 1, &input, NULL, NULL, time_left(until, &left),
                        &screen.mask_waiting);
    if (ready < 0) {
      if (errno == EINTR) continue;
      return SCREEN_END;
    }
    if (ready == 0) return SCREEN_TIME;
    ssize_t n = read(STDIN_FILENO, byte, 1);
    if (n == 1) return SCREEN_BYTE;
    if (n < 0 && errno == EINTR) continue;
    return SCREEN_END;
  }
}

int screen_close(int exit_code) {
  give_back();
  release_signals();
  if (screen.leave == 0) return exit_code;
  if (screen.leave == SIGINT) return INTERRUPT_EXIT;
  raise(screen.leave);
  return EXIT_FAILED;
}
