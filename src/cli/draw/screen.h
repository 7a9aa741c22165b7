// SPDX-License-Identifier: Apache-2.0
// The whole terminal for one command: keys come one by one and unseen, the screen can be drawn
// over, and the terminal is given back as it was however the program ends: by itself, by exit, by a
// signal, by a crash.

#ifndef MM_CLI_SCREEN_H
#define MM_CLI_SCREEN_H

// Takes the terminal. Without one on stdin and stdout says so and returns EXIT_USAGE.
int screen_open(void);

// Begins a picture at the top left, and ends it: what is left of the old one below disappears.
// Lines in between end in SCREEN_LINE_END.
#define SCREEN_LINE_END "\033[K\n"
void screen_draw_begin(void);
void screen_draw_end(void);

void screen_size(int *columns, int *lines);

typedef enum screen_event {
  SCREEN_BYTE,   // one byte of a key
  SCREEN_REDRAW, // another size, or back from being suspended
  SCREEN_TIME,   // the time has come
  SCREEN_END     // no more input, or a signal asks to leave
} screen_event;

// Waits for the next event, until mm_clock_seconds() `until`; INFINITY for as long as it takes. A
// key that is there already comes first, whatever the time.
screen_event screen_wait(unsigned char *byte, double until);

// Gives the terminal back and returns the exit code: `exit_code`, or 130 after SIGINT. After
// another signal that asked to leave, the program ends by that signal.
int screen_close(int exit_code);

#endif
