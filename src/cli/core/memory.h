// SPDX-License-Identifier: Apache-2.0
// Memory for the command line's own small things. There is nothing sensible to do without it, so
// these end the program with a message instead of returning NULL. Release with free.

#ifndef MM_CLI_MEMORY_H
#define MM_CLI_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

#include "base/status.h"

// count * size zeroed bytes (at least one).
void *memory_alloc(size_t count, size_t size);

// Room for one more element of an array of `n`: grown in powers of two.
void *memory_grow(void *array, size_t n, size_t size);

char *memory_text(const char *text, size_t length);

// Text as printf makes it, as long as it takes.
char *memory_print(const char *format, ...) MM_CHECK_FORMAT(1, 2);
char *memory_print_list(const char *format, va_list arguments);

#endif
