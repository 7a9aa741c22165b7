// SPDX-License-Identifier: Apache-2.0
// Other programs that draw: gnuplot and ffmpeg. No shell is involved. What such a program writes
// goes to a nameless temporary file and gets its name only when complete.

#ifndef MM_SHOW_PROGRAM_H
#define MM_SHOW_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

// The program's path, if PATH leads to it.
bool mm_program_find(const char *name, char *path, size_t size);

// Starts a program with the usual signals, whatever this one ignores or blocks, and these files as
// its standard ones. Returns 0 or an errno.
int mm_program_start(const char *program, const char *const arguments[], int in, int out,
                     int messages, pid_t *child);

// Waits for the child, up to `seconds`; false: it was not done then, and is gone. It is one
// process, in our own group so that Ctrl-C reaches it.
bool mm_program_wait(pid_t child, double seconds, int *exit_status);

// A file without a name, above the three standard descriptors even if those are closed, and not
// inherited by other children. Returns -1 with errno on failure, for mm_temporary_failed to report.
int mm_temporary_open(void);
mm_status mm_temporary_failed(void);

// Up to size - 1 bytes of the file from `offset`, as a string; returns how many.
size_t mm_temporary_read(int fd, off_t offset, char *text, size_t size);

// Puts a copy of the file in the place of what `path` names.
mm_status mm_temporary_keep(int fd, const char *path);

#endif
