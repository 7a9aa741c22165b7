// SPDX-License-Identifier: Apache-2.0
// How a failure travels inside the library, and the one door to memory.
//
//   if (n == 0) return MM_FAIL(MM_ERR_INPUT, "%s: expected at least one number", source);
//   MM_TRY(mm_json_parse(text, length, source, &root));

#ifndef MM_BASE_STATUS_H
#define MM_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Room for the sentence of an error, with its final zero.
enum { MM_ERROR_SIZE = 1024 };

// Leaves the formatted sentence in mm_last_error() and the source position in
// mm_last_error_where(); evaluates to `status`. The arguments may include mm_last_error() itself,
// to say more around an earlier failure.
#define MM_FAIL(status, ...) (mm_fail((status), __FILE__, __LINE__, __VA_ARGS__), (status))

// Passes a failure on to the caller. For calls that leave nothing behind to release.
#define MM_TRY(call)                                                                               \
  do {                                                                                             \
    mm_status mm_try_status = (call);                                                              \
    if (mm_try_status != MM_OK) return mm_try_status;                                              \
  } while (0)

#if defined(__GNUC__)
#define MM_CHECK_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define MM_CHECK_FORMAT(text, first)
#endif

mm_status mm_fail(mm_status status, const char *file, int line, const char *format, ...)
    MM_CHECK_FORMAT(4, 5);

// One of the library's rare messages, to whoever asked for them with mm_set_log.
void mm_log(const char *format, ...) MM_CHECK_FORMAT(1, 2);

// Memory through the hooks of mm_set_allocator, aligned for any scalar; NULL when there is none
// left. Zero bytes give a block too. The array form is NULL as well when count * size overflows.
void *mm_alloc(size_t size);
void *mm_alloc_array(size_t count, size_t size);

// Room for one more element of an array of n, NULL for n = 0, that grows in powers of two: the
// array, which may have moved, or NULL when there is no memory; then it is as it was.
void *mm_grow(void *array, size_t n, size_t size);

// The same for an array by its name; false when there is no memory.
#define MM_GROW(array, n) mm_grow_at(&(array), n, sizeof *(array))
bool mm_grow_at(void *array, size_t n, size_t size); // array: where the pointer to it is

// A block goes back to the allocator it came from, also when the hooks have changed since.
void mm_free(void *block);

#ifdef __cplusplus
}
#endif

#endif
