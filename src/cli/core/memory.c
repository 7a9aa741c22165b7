// SPDX-License-Identifier: Apache-2.0
// Memory or the end.

#include "cli/core/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/terminal.h"

static void *checked(void *block) {
  if (block == NULL) exit(fail(EXIT_FAILED, "%s", mm_status_text(MM_ERR_MEMORY)));
  return block;
}

void *memory_alloc(size_t count, size_t size) {
  return checked(calloc(count > 0 ? count : 1, size));
}

void *memory_grow(void *array, size_t n, size_t size) {
  if (n != 0 && (n & (n - 1)) != 0) return array; // room is left up to the next power of two
  size_t capacity = n == 0 ? 1 : 2 * n;
  return checked(capacity <= SIZE_MAX / size ? realloc(array, capacity * size) : NULL);
}

char *memory_text(const char *text, size_t length) {
  char *copy = memory_alloc(length + 1, 1);
  memcpy(copy, text, length);
  return copy;
}

char *memory_print_list(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = memory_alloc(length < 0 ? 1 : (size_t)length + 1, 1);
  if (length > 0) vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

char *memory_print(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = memory_print_list(format, arguments);
  va_end(arguments);
  return text;
}
