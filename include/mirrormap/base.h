// SPDX-License-Identifier: Apache-2.0
// Foundations shared by every stage: status codes, the text of the last error, and hooks for
// messages and memory.
//
// Every call that can fail returns an mm_status; zero means success. On failure the calling thread
// finds one sentence in mm_last_error() that names what was wrong and what was expected. Nothing in
// the library prints or exits.
//
// Functions that destroy, release or free do nothing when they are given NULL. Other pointers must
// not be NULL unless their function says what that means.
//
// Structs of settings begin with their `size`, so that fields can be added at their ends. They come
// from `mm_x_config_default()`, which is compiled into the program: the library, by
// `mm_x_config_init(&config, sizeof config)`, fills in as much as the program knows, and gives what
// the program does not know its defaults when the struct comes back. A struct that is larger than
// the library knows is refused there.
//
// Threads: every function here may be called from any thread at any time, but for those that set
// something for the whole process (mm_set_log, mm_set_allocator, mm_isa_select): call them before
// other threads use the library. Nothing else is set for the process as a whole.

#ifndef MIRRORMAP_BASE_H
#define MIRRORMAP_BASE_H

#include <stddef.h>

#if defined(__GNUC__)
#define MM_API __attribute__((visibility("default")))
#else
#define MM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// One line per status: name, meaning. MM_ERR_INPUT is the caller's or the user's mistake; the
// others are failures while working.
#define MM_STATUS_LIST(X)                                                                          \
  X(OK, "success")                                                                                 \
  X(ERR_INPUT, "bad input")                                                                        \
  X(ERR_MEMORY, "out of memory")                                                                   \
  X(ERR_IO, "reading or writing failed")                                                           \
  X(ERR_NUMERIC, "numerical failure")                                                              \
  X(ERR_UNSUPPORTED, "not available in this build or on this machine")                             \
  X(ERR_INTERRUPTED, "interrupted")                                                                \
  X(ERR_DEVICE, "the device failed")                                                               \
  X(ERR_TIMEOUT, "not done in the time allowed")

typedef enum mm_status {
#define MM_STATUS_ENUM(name, meaning) MM_##name,
  MM_STATUS_LIST(MM_STATUS_ENUM)
#undef MM_STATUS_ENUM
} mm_status;

// The meaning of a status in words; never NULL, also for values outside the list.
MM_API const char *mm_status_text(mm_status status);

// The sentence left by the last failing call of this thread ("" if none failed yet), and the source
// position that raised it. Both stay valid until the thread's next failing call. The sentence is
// one line of UTF-8 without control characters: bytes of a name or file that are neither appear as
// \xNN.
MM_API const char *mm_last_error(void);
MM_API const char *mm_last_error_where(void);

// The version of these headers; docs/library.md says what a change of each number promises.
#define MM_VERSION_MAJOR 0
#define MM_VERSION_MINOR 1
#define MM_VERSION_PATCH 0

// One number to compare: #if MM_VERSION >= MM_VERSION_OF(0, 2, 0)
#define MM_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define MM_VERSION MM_VERSION_OF(MM_VERSION_MAJOR, MM_VERSION_MINOR, MM_VERSION_PATCH)

// The version of the library that is running, e.g. "0.1.0", and what it was built with (compiler,
// instruction sets).
MM_API const char *mm_version(void);
MM_API const char *mm_build_info(void);

// Receives the library's rare messages (never errors: those are returned). NULL silences them,
// which is the default.
typedef void mm_log_function(const char *message, void *user);
MM_API void mm_set_log(mm_log_function *function, void *user);

// Replaces malloc and free for all objects created afterwards; an `allocate` that returns NULL
// makes the call in hand fail with MM_ERR_MEMORY. Set it once, before other threads use the
// library. Both NULL restores the C library's.
typedef void *mm_allocate_function(size_t size, void *user);
typedef void mm_release_function(void *block, void *user);
MM_API void mm_set_allocator(mm_allocate_function *allocate, mm_release_function *release,
                             void *user);

// Chooses the instruction set of the hot kernels by name: "auto" (the best this CPU has, the
// default), "avx512", "avx2", "portable". All give the same bits. An unknown name is MM_ERR_INPUT,
// one that the CPU or the build lacks MM_ERR_UNSUPPORTED. Call it before creating objects.
MM_API mm_status mm_isa_select(const char *name);

// The one in use.
MM_API const char *mm_isa_name(void);

#ifdef __cplusplus
}
#endif

#endif
