// SPDX-License-Identifier: Apache-2.0
// Status names, the text of the last error, the log and allocator hooks, the version.

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/utf8.h"
#include "mm_build.h"

// ---------------------------------------------------------------------------------------------
// Errors

static _Thread_local char error_text[MM_ERROR_SIZE];
static _Thread_local char error_where[256];

const char *mm_status_text(mm_status status) {
  switch (status) {
#define STATUS_CASE(name, meaning)                                                                 \
  case MM_##name:                                                                                  \
    return meaning;
    MM_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
  }
  return "unknown status";
}

const char *mm_last_error(void) {
  return error_text;
}

const char *mm_last_error_where(void) {
  return error_where;
}

// Errors quote file names and file contents: what of them cannot be shown appears as \xNN. A text
// that does not fit, or was `cut` before, ends with dots, without cutting a character in two.
static void disarm(const char *text, bool cut, char *out, size_t size) {
  const size_t most = size - sizeof "..."; // where the dots can begin
  const unsigned char *s = (const unsigned char *)text;
  size_t used = 0, dots = 0, n;
  for (size_t left = strlen(text); left > 0; s += n, left -= n) {
    const size_t plain = mm_utf8_plain(s, left), width = plain > 0 ? plain : sizeof "\\x00" - 1;
    n = plain > 0 ? plain : 1;
    if (used + width >= size) {
      cut = true;
      break;
    }
    if (plain > 0)
      memcpy(out + used, s, plain);
    else
      snprintf(out + used, size - used, "\\x%02x", *s);
    used += width;
    if (used <= most) dots = used;
  }
  if (cut)
    memcpy(out + dots, "...", sizeof "...");
  else
    out[used] = '\0';
}

static void format_line(char *out, size_t size, const char *format, va_list arguments) {
  char text[MM_ERROR_SIZE]; // apart, because the arguments may point into `out`
  int length = vsnprintf(text, sizeof text, format, arguments);
  if (length < 0) snprintf(text, sizeof text, "(a message that could not be formatted)");
  disarm(text, length >= (int)sizeof text, out, size);
}

// The path from the source folder on: where the tree lay when it was built is nobody's business.
static const char *within_tree(const char *file) {
  const char *found = file;
  for (const char *s = file; (s = strstr(s, "/src/")) != NULL; s++)
    found = s + 1;
  return found;
}

mm_status mm_fail(mm_status status, const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  format_line(error_text, sizeof error_text, format, arguments);
  va_end(arguments);
  snprintf(error_where, sizeof error_where, "%s:%d", within_tree(file), line);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Messages

static mm_log_function *log_function;
static void *log_user;

void mm_set_log(mm_log_function *function, void *user) {
  log_function = function;
  log_user = user;
}

void mm_log(const char *format, ...) {
  if (!log_function) return;
  char text[MM_ERROR_SIZE];
  va_list arguments;
  va_start(arguments, format);
  format_line(text, sizeof text, format, arguments);
  va_end(arguments);
  log_function(text, log_user);
}

// ---------------------------------------------------------------------------------------------
// Memory

typedef struct allocator {
  mm_allocate_function *allocate;
  mm_release_function *release;
  void *user;
} allocator;

static void *allocate_from_libc(size_t size, void *user) {
  (void)user;
  return malloc(size);
}

static void release_to_libc(void *block, void *user) {
  (void)user;
  free(block);
}

static const allocator libc_allocator = { allocate_from_libc, release_to_libc, NULL };
static allocator current = { allocate_from_libc, release_to_libc, NULL };

// Sits before every block, so that it goes back where it came from.
typedef union header {
  struct {
    mm_release_function *release;
    void *user;
  } from;
  max_align_t align;
} header;

void mm_set_allocator(mm_allocate_function *allocate, mm_release_function *release, void *user) {
  current = libc_allocator;
  if (allocate && release) {
    current.allocate = allocate;
    current.release = release;
    current.user = user;
  }
}

void *mm_alloc(size_t size) {
  if (size > SIZE_MAX - sizeof(header)) return NULL;
  header *block = current.allocate(sizeof(header) + size, current.user);
  if (!block) return NULL;
  block->from.release = current.release;
  block->from.user = current.user;
  return block + 1;
}

void *mm_alloc_array(size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) return NULL;
  return mm_alloc(count * size);
}

void *mm_grow(void *array, size_t n, size_t size) {
  if (n > 0 && (n & (n - 1)) != 0) return array;
  if (n > SIZE_MAX / 2) return NULL;
  void *larger = mm_alloc_array(n > 0 ? 2 * n : 1, size);
  if (!larger) return NULL;
  if (n > 0) memcpy(larger, array, n * size);
  mm_free(array);
  return larger;
}

bool mm_grow_at(void *array, size_t n, size_t size) {
  void *old, *larger;
  memcpy(&old, array, sizeof old);
  larger = mm_grow(old, n, size);
  if (larger) memcpy(array, &larger, sizeof larger);
  return larger != NULL;
}

void mm_free(void *block) {
  if (!block) return;
  header *start = (header *)block - 1;
  start->from.release(start, start->from.user);
}

// ---------------------------------------------------------------------------------------------
// Version

const char *mm_version(void) {
  return MM_BUILD_VERSION;
}

const char *mm_build_info(void) {
  return MM_BUILD_INFO;
}
