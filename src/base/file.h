// SPDX-License-Identifier: Apache-2.0
// Whole files in and out, with errors that name the file.

#ifndef MM_BASE_FILE_H
#define MM_BASE_FILE_H

#include <stddef.h>

#include "mirrormap/base.h"

// Reads a regular file of at most max_bytes into *text, which gets a zero after its *length bytes
// and is released with mm_free. A name that leads to nothing, to a directory, FIFO or device, and a
// file that is too long are MM_ERR_INPUT; a failing disk is MM_ERR_IO.
mm_status mm_file_read(const char *path, size_t max_bytes, char **text, size_t *length);

// The same, where a user may also give "-" for stdin, or a FIFO as the shell's <(...) makes one;
// these are waited for and read to their end. Devices by name are refused as above: they need not
// have an end.
mm_status mm_file_read_stream(const char *path, size_t max_bytes, char **text, size_t *length);

// Writes the file so that a reader, a crash or a full disk sees either the old content or all of
// the new: to a temporary file in the same folder, synchronised, then renamed. A symbolic link
// stays a link: the file it leads to is replaced. No temporary is left behind on failure.
mm_status mm_file_write_atomic(const char *path, const char *text, size_t length);

#endif
