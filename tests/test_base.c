// SPDX-License-Identifier: Apache-2.0
// Status and errors, messages, memory, arena, spelling, the clock, files.

#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE // flock

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/spelling.h"
#include "base/status.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Status and errors

static void every_status_has_its_text(void **state) {
  (void)state;
  assert_string_equal(mm_status_text(MM_OK), "success");
  assert_string_equal(mm_status_text(MM_ERR_INPUT), "bad input");
  assert_string_equal(mm_status_text(MM_ERR_INTERRUPTED), "interrupted");
  assert_string_equal(mm_status_text((mm_status)99), "unknown status");
  assert_string_equal(mm_status_text((mm_status)-1), "unknown status");
}

static void an_error_has_text_and_place(void **state) {
  (void)state;
  int line = __LINE__ + 1;
  mm_status status = MM_FAIL(MM_ERR_IO, "disk %d is %s", 3, "gone");
  assert_int_equal(status, MM_ERR_IO);
  assert_string_equal(mm_last_error(), "disk 3 is gone");
  char where[64];
  snprintf(where, sizeof where, "test_base.c:%d", line);
  assert_non_null(strstr(mm_last_error_where(), where));
}

static void the_place_begins_at_the_source_folder(void **state) {
  (void)state;
  mm_fail(MM_ERR_IO, "/anywhere/src/mirrormap/src/base/json_read.c", 12, "x");
  assert_string_equal(mm_last_error_where(), "src/base/json_read.c:12");
  mm_fail(MM_ERR_IO, "src/map/map.c", 7, "x");
  assert_string_equal(mm_last_error_where(), "src/map/map.c:7");
}

static void an_error_may_quote_the_one_before(void **state) {
  (void)state;
  mm_fail(MM_ERR_INPUT, "a.c", 1, "inner");
  mm_fail(MM_ERR_INPUT, "a.c", 2, "outer (%s)", mm_last_error());
  assert_string_equal(mm_last_error(), "outer (inner)");
}

static void an_error_is_one_line_without_controls(void **state) {
  (void)state;
  mm_fail(MM_ERR_INPUT, "a.c", 1, "a\nb\tc\x1b[31m\x7f d \xc2\x9b é ü");
  assert_string_equal(mm_last_error(), "a\\x0ab\\x09c\\x1b[31m\\x7f d \\xc2\\x9b é ü");
}

static void an_error_is_utf8(void **state) {
  (void)state;
  mm_fail(MM_ERR_INPUT, "a.c", 1,
          "a\xff b\x9b"
          "2J c\xe2\x82 d\xed\xa0\x80 \xf0\x9f\x98\x80");
  assert_string_equal(mm_last_error(), "a\\xff b\\x9b"
                                       "2J c\\xe2\\x82 d\\xed\\xa0\\x80 \xf0\x9f\x98\x80");
  mm_fail(MM_ERR_INPUT, "a.c", 2, "%.2s", "é€"); // a width cuts by bytes
  assert_string_equal(mm_last_error(), "é");
  mm_fail(MM_ERR_INPUT, "a.c", 3, "%.3s", "é€");
  assert_string_equal(mm_last_error(), "é\\xe2");
  // what was made visible once stays as it is
  mm_fail(MM_ERR_INPUT, "a.c", 4, "(%s)", mm_last_error());
  assert_string_equal(mm_last_error(), "(é\\xe2)");
}

// Bytes that take more room than they had are cut in the same way.
static void a_long_error_of_bytes_fits(void **state) {
  (void)state;
  char text[MM_ERROR_SIZE];
  memset(text, 0xff, sizeof text);
  text[sizeof text - 1] = '\0';
  for (size_t n = 250; n < 260; n++) {
    mm_fail(MM_ERR_INPUT, "a.c", 1, "%.*s", (int)n, text);
    bool whole = 4 * n < MM_ERROR_SIZE;
    size_t length = strlen(mm_last_error());
    assert_int_equal(length, whole ? 4 * n : (MM_ERROR_SIZE - 4) / 4 * 4 + 3);
    assert_string_equal(mm_last_error() + length - 3, whole ? "xff" : "...");
    assert_memory_equal(mm_last_error(), "\\xff\\xff", 8);
  }
}

static void a_long_error_is_cut_between_characters(void **state) {
  (void)state;
  char text[3000];
  for (int shift = 0; shift < 4; shift++) {
    memset(text, 'x', sizeof text);
    for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
      memcpy(text + i, "\xe2\x82\xac", 3); // the euro sign takes three bytes
    text[sizeof text - 1] = '\0';
    mm_fail(MM_ERR_INPUT, "a.c", 1, "%s", text);
    size_t length = strlen(mm_last_error());
    assert_in_range(length, MM_ERROR_SIZE - 3, MM_ERROR_SIZE - 1);
    assert_string_equal(mm_last_error() + length - 3, "...");
    assert_int_equal((length - 3 - (size_t)shift) % 3, 0);
    assert_memory_equal(mm_last_error(), text, length - 3);
  }
  // what just fits stays whole
  memset(text, 'x', sizeof text);
  text[MM_ERROR_SIZE - 1] = '\0';
  mm_fail(MM_ERR_INPUT, "a.c", 1, "%s", text);
  assert_string_equal(mm_last_error(), text);
}

static mm_status fail_third(int *calls) {
  MM_TRY(MM_OK);
  ++*calls;
  MM_TRY(MM_FAIL(MM_ERR_NUMERIC, "third"));
  ++*calls;
  return MM_OK;
}

static void try_passes_a_failure_on(void **state) {
  (void)state;
  int calls = 0;
  assert_int_equal(fail_third(&calls), MM_ERR_NUMERIC);
  assert_int_equal(calls, 1);
}

static void *fail_in_thread(void *result) {
  const char **text = result;
  text[0] = strcmp(mm_last_error(), "") == 0 ? "empty" : "not empty";
  mm_fail(MM_ERR_IO, "a.c", 1, "in the thread");
  text[1] = strcmp(mm_last_error(), "in the thread") == 0 ? "own" : "other";
  return NULL;
}

static void each_thread_has_its_own_error(void **state) {
  (void)state;
  const char *text[2] = { NULL, NULL };
  pthread_t thread;
  mm_fail(MM_ERR_IO, "a.c", 1, "outside");
  assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, text), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_string_equal(text[0], "empty");
  assert_string_equal(text[1], "own");
  assert_string_equal(mm_last_error(), "outside");
}

static void version_and_build_are_told(void **state) {
  (void)state;
  int major = -1, minor = -1, patch = -1, end = 0;
  sscanf(mm_version(), "%d.%d.%d%n", &major, &minor, &patch, &end);
  assert_int_equal(MM_VERSION_OF(major, minor, patch), MM_VERSION); // header and CMake agree
  assert_true(end > 0 && major >= 0 && minor >= 0 && patch >= 0);
  assert_true(strlen(mm_build_info()) > 0);
}

static void keep_message(const char *message, void *user) {
  snprintf(user, 64, "%s", message);
}

static void messages_go_to_the_hook(void **state) {
  (void)state;
  char kept[64] = "";
  mm_log("nobody listens");
  mm_set_log(keep_message, kept);
  mm_log("%s %d", "number", 5);
  assert_string_equal(kept, "number 5");
  mm_set_log(NULL, NULL);
  mm_log("silent again");
  assert_string_equal(kept, "number 5");
}

// ---------------------------------------------------------------------------------------------
// Memory

typedef struct counter {
  int allocated, released;
  bool empty;
} counter;

static void *count_allocate(size_t size, void *user) {
  counter *c = user;
  if (c->empty) return NULL;
  c->allocated++;
  return malloc(size);
}

static void count_release(void *block, void *user) {
  counter *c = user;
  c->released++;
  free(block);
}

static void memory_comes_from_the_hooks(void **state) {
  (void)state;
  counter first = { 0 }, second = { 0 };
  mm_set_allocator(count_allocate, count_release, &first);
  void *a = mm_alloc(10), *b = mm_alloc_array(3, 8);
  memset(a, 1, 10);
  memset(b, 1, 24);
  assert_int_equal((uintptr_t)a % _Alignof(max_align_t), 0);
  assert_int_equal(first.allocated, 2);
  // each block goes back to where it came from
  mm_set_allocator(count_allocate, count_release, &second);
  mm_free(a);
  mm_set_allocator(NULL, NULL, NULL);
  mm_free(b);
  assert_int_equal(first.released, 2);
  assert_int_equal(second.allocated + second.released, 0);
  mm_free(NULL);
  void *c = mm_alloc(0);
  assert_non_null(c);
  mm_free(c);
  assert_int_equal(first.allocated, 2);
}

static void impossible_sizes_are_refused(void **state) {
  (void)state;
  assert_null(mm_alloc(SIZE_MAX));
  assert_null(mm_alloc(SIZE_MAX - 8));
  assert_null(mm_alloc_array(SIZE_MAX / 2, 3));
  assert_null(mm_alloc_array(3, SIZE_MAX / 2));
}

// ---------------------------------------------------------------------------------------------
// Arena

static void slices_are_aligned_zeroed_and_apart(void **state) {
  (void)state;
  static const size_t sizes[] = { 1, 64, 65, 0, 1000, 8, 127 };
  enum { N = sizeof sizes / sizeof *sizes };
  size_t total = 0;
  unsigned char *slice[N];
  mm_arena arena;
  for (int i = 0; i < N; i++)
    total += mm_arena_size_of(sizes[i]);
  assert_int_equal(total, 64 + 64 + 128 + 0 + 1024 + 64 + 128);
  assert_ok(mm_arena_create(total, &arena));
  for (int i = 0; i < N; i++) {
    slice[i] = mm_arena_take(&arena, sizes[i]);
    assert_int_equal((uintptr_t)slice[i] % 64, 0);
    for (size_t j = 0; j < sizes[i]; j++)
      assert_int_equal(slice[i][j], 0);
    memset(slice[i], i + 1, sizes[i]);
  }
  for (int i = 0; i < N; i++) {
    for (size_t j = 0; j < sizes[i]; j++)
      assert_int_equal(slice[i][j], i + 1);
  }
  assert_int_equal(arena.used, total);
  mm_arena_destroy(&arena);
  mm_arena_destroy(&arena); // empty now, and that is fine
}

static void an_arena_without_memory_says_so(void **state) {
  (void)state;
  mm_arena arena;
  assert_fails(mm_arena_create(SIZE_MAX, &arena), MM_ERR_MEMORY, "out of memory");
  assert_null(arena.block);
  mm_arena_destroy(&arena);
  assert_int_equal(mm_arena_size_of(SIZE_MAX - 62), SIZE_MAX);
  assert_int_equal(mm_arena_size_of(SIZE_MAX - 63), SIZE_MAX - 63);
  counter none = { .empty = true };
  mm_set_allocator(count_allocate, count_release, &none);
  mm_status status = mm_arena_create(64, &arena);
  mm_set_allocator(NULL, NULL, NULL);
  assert_int_equal(status, MM_ERR_MEMORY);
}

static sigjmp_buf after_abort;

static void leave_abort(int signal_number) {
  (void)signal_number;
  siglongjmp(after_abort, 1);
}

// Either the assertion aborts or, compiled without, there is no slice.
static void taking_too_much_is_caught(void **state) {
  (void)state;
  mm_arena arena;
  void *volatile slice = NULL;
  assert_ok(mm_arena_create(128, &arena));
  assert_non_null(mm_arena_take(&arena, 100));
  // the assertion's own message would look like a failure
  int errors = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
  assert_true(errors >= 0 && nowhere >= 0);
  dup2(nowhere, STDERR_FILENO);
  void (*handler)(int) = signal(SIGABRT, leave_abort);
  if (sigsetjmp(after_abort, 1) == 0) slice = mm_arena_take(&arena, 1);
  signal(SIGABRT, handler);
  dup2(errors, STDERR_FILENO);
  close(errors);
  close(nowhere);
  assert_null(slice);
  mm_arena_destroy(&arena);
}

// ---------------------------------------------------------------------------------------------
// Spelling

static void the_nearest_word_is_found(void **state) {
  (void)state;
  static const char *const words[] = { "negentropy", "l2", "tsallis", "piecewise", "neural" };
  static const char *const expected[][2] = {
    { "negentropy", "negentropy" },
    { "negentrpy", "negentropy" },
    { "NegEntropy", "negentropy" },
    { "tsalis", "tsallis" },
    { "stallis", "tsallis" },
    { "picewsie", "piecewise" },
    { "nueral", "neural" },
    { "l3", "l2" },
    { "2", "l2" },
    { "neutral", "neural" },
    { "L2", "l2" },
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const char *found = mm_nearest(expected[i][0], words, 5);
    assert_non_null(found);
    assert_string_equal(found, expected[i][1]);
  }
}

static void far_words_are_not_suggested(void **state) {
  (void)state;
  static const char *const words[] = { "negentropy", "l2", "tsallis", "x" };
  static const char *const strange[] = { "",         "y",  "banana", "xy",   "softmax",
                                         "gradient", "ab", "zz",     "tango" };
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
    assert_null(mm_nearest(strange[i], words, 4));
  assert_null(mm_nearest("l2", words, 0));
  char huge[500];
  memset(huge, 'a', sizeof huge - 1);
  huge[sizeof huge - 1] = '\0';
  const char *const long_words[] = { huge, "l2" };
  assert_null(mm_nearest(huge, long_words, 2));
  assert_string_equal(mm_nearest("l1", long_words, 2), "l2");
}

static void a_swap_counts_once(void **state) {
  (void)state;
  // "dc" for "cd" is one slip, nearer than the two that lead to "abxy"
  static const char *const words[] = { "abxy", "abcd" };
  assert_string_equal(mm_nearest("abdc", words, 2), "abcd");
  // of two equally near ones the first
  static const char *const tied[] = { "abcx", "abcy" };
  assert_string_equal(mm_nearest("abcz", tied, 2), "abcx");
}

// ---------------------------------------------------------------------------------------------
// Clock

static double monotonic(void) {
  struct timespec t;
  assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void the_clock_counts_seconds_and_never_goes_back(void **state) {
  (void)state;
  const double before = monotonic(), time = mm_clock_seconds(), after = monotonic();
  assert_true(before <= time && time <= after);
}

// ---------------------------------------------------------------------------------------------
// Files, in a folder of their own

typedef struct folder {
  char path[256];
  char file[300];
} folder;

static int make_folder(void **state) {
  folder *f = calloc(1, sizeof *f);
  const char *base = getenv("TMPDIR");
  if (!f) return -1;
  snprintf(f->path, sizeof f->path, "%s/mirrormap-test-XXXXXX", base && *base ? base : P_tmpdir);
  if (!mkdtemp(f->path)) return -1;
  snprintf(f->file, sizeof f->file, "%s/file.json", f->path);
  *state = f;
  return 0;
}

// Counts the entries of the folder, and removes them if asked to.
static int entries(const folder *f, bool remove_them) {
  DIR *directory = opendir(f->path);
  int n = 0;
  if (!directory) return -1;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char path[600];
    snprintf(path, sizeof path, "%s/%s", f->path, entry->d_name);
    if (remove_them) remove(path);
    n++;
  }
  closedir(directory);
  return n;
}

static int remove_folder(void **state) {
  folder *f = *state;
  chmod(f->path, 0700);
  entries(f, true);
  rmdir(f->path);
  free(f);
  return 0;
}

static void assert_content(const char *path, const char *expected, size_t length) {
  char *text = NULL;
  size_t found = 0;
  assert_ok(mm_file_read(path, 1 << 20, &text, &found));
  assert_int_equal(found, length);
  assert_memory_equal(text, expected, length);
  assert_int_equal(text[length], 0);
  mm_free(text);
}

static void a_file_is_written_and_read(void **state) {
  folder *f = *state;
  static const char binary[] = "a\0b\n";
  assert_ok(mm_file_write_atomic(f->file, "hello", 5));
  assert_content(f->file, "hello", 5);
  assert_ok(mm_file_write_atomic(f->file, binary, 4));
  assert_content(f->file, binary, 4);
  assert_ok(mm_file_write_atomic(f->file, "", 0));
  assert_content(f->file, "", 0);
  assert_int_equal(entries(f, false), 1);
}

static void the_size_limit_holds(void **state) {
  folder *f = *state;
  char *text = NULL;
  size_t length = 0;
  assert_ok(mm_file_write_atomic(f->file, "0123456789", 10));
  assert_ok(mm_file_read(f->file, 10, &text, &length));
  mm_free(text);
  assert_fails(mm_file_read(f->file, 9, &text, &length), MM_ERR_INPUT, "at most 9 bytes, found 10");
  assert_non_null(strstr(mm_last_error(), f->file));
  assert_null(text);
}

// The system's own files have size 0 and content, like a file that grows while it is read.
static void a_file_longer_than_its_size_is_read(void **state) {
  (void)state;
  const char *path = "/proc/self/limits";
  struct stat about;
  char *text = NULL;
  size_t length = 0;
  if (stat(path, &about) != 0 || about.st_size != 0) skip();
  assert_ok(mm_file_read(path, 1 << 20, &text, &length));
  assert_true(length > 100);
  assert_int_equal(strlen(text), length);
  mm_free(text);
  assert_fails(mm_file_read(path, 100, &text, &length), MM_ERR_INPUT, "at most 100 bytes");
}

static void a_failing_read_is_an_error(void **state) {
  (void)state;
  char *text = NULL;
  size_t length = 0;
  if (access("/proc/self/mem", R_OK) != 0) skip();
  // a regular file by its kind, but there is nothing at address 0
  assert_fails(mm_file_read("/proc/self/mem", 100, &text, &length), MM_ERR_IO, "/proc/self/mem");
  assert_null(text);
}

static void what_is_no_file_is_refused(void **state) {
  folder *f = *state;
  char *text = NULL;
  size_t length = 0;
  assert_fails(mm_file_read(f->path, 10, &text, &length), MM_ERR_INPUT, "found a directory");
  assert_fails(mm_file_read("/dev/zero", 10, &text, &length), MM_ERR_INPUT, "found a device");
  assert_int_equal(mkfifo(f->file, 0600), 0);
  assert_fails(mm_file_read(f->file, 10, &text, &length), MM_ERR_INPUT, "found a FIFO");
  assert_non_null(strstr(mm_last_error(), f->file));
  assert_int_equal(unlink(f->file), 0);
  assert_fails(mm_file_read(f->file, 10, &text, &length), MM_ERR_INPUT, f->file);
  assert_fails(mm_file_read("", 10, &text, &length), MM_ERR_INPUT, "''");
  assert_fails(mm_file_write_atomic(f->path, "x", 1), MM_ERR_INPUT, f->path);
  assert_fails(mm_file_write_atomic("", "x", 1), MM_ERR_INPUT, "''");
  char below[400];
  snprintf(below, sizeof below, "%s/none/file", f->path);
  assert_fails(mm_file_write_atomic(below, "x", 1), MM_ERR_INPUT, below);
  assert_int_equal(entries(f, false), 0);
}

// A process that puts `text` into the FIFO over and over, at most `times` times.
static pid_t feed(const char *path, const char *text, int times) {
  pid_t child = fork();
  if (child != 0) return child;
  signal(SIGPIPE, SIG_DFL);
  int fd = open(path, O_WRONLY);
  while (fd >= 0 && times-- > 0)
    if (write(fd, text, strlen(text)) < 0) break;
  _exit(0);
}

static void streams_are_read_to_their_end_or_limit(void **state) {
  folder *f = *state;
  char *text = NULL;
  size_t length = 0;
  assert_ok(mm_file_write_atomic(f->file, "0123456789", 10));
  assert_ok(mm_file_read_stream(f->file, 10, &text, &length));
  assert_int_equal(length, 10);
  mm_free(text);
  assert_fails(mm_file_read_stream(f->file, 9, &text, &length), MM_ERR_INPUT, "at most 9 bytes");
  assert_fails(mm_file_read_stream("/dev/zero", 10, &text, &length), MM_ERR_INPUT, "a device");
  assert_fails(mm_file_read_stream(f->path, 10, &text, &length), MM_ERR_INPUT, "a directory");
  assert_int_equal(unlink(f->file), 0);
  assert_fails(mm_file_read_stream(f->file, 10, &text, &length), MM_ERR_INPUT, f->file);

  assert_int_equal(mkfifo(f->file, 0600), 0);
  pid_t child = feed(f->file, "word ", 30000); // more than is read at once
  assert_ok(mm_file_read_stream(f->file, 150000, &text, &length));
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(length, 150000);
  assert_int_equal(strlen(text), length);
  assert_memory_equal(text + 149995, "word ", 5);
  mm_free(text);
  child = feed(f->file, "word ", INT_MAX); // without an end
  assert_fails(mm_file_read_stream(f->file, 150000, &text, &length), MM_ERR_INPUT,
               "at most 150000 bytes");
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_null(text);
  assert_int_equal(unlink(f->file), 0);
}

static void devices_are_written_not_replaced(void **state) {
  folder *f = *state;
  struct stat about;
  assert_ok(mm_file_write_atomic("/dev/null", "x", 1));
  assert_int_equal(stat("/dev/null", &about), 0);
  assert_true(S_ISCHR(about.st_mode));
  if (access("/dev/full", W_OK) == 0)
    assert_fails(mm_file_write_atomic("/dev/full", "x", 1), MM_ERR_IO, "/dev/full");
  assert_int_equal(entries(f, false), 0);
}

static void links_and_permissions_stay(void **state) {
  folder *f = *state;
  char link[400];
  struct stat about;
  snprintf(link, sizeof link, "%s/link.json", f->path);
  assert_ok(mm_file_write_atomic(f->file, "old", 3));
  assert_int_equal(chmod(f->file, 0640), 0);
  assert_int_equal(symlink("file.json", link), 0);
  assert_ok(mm_file_write_atomic(link, "new", 3));
  assert_content(f->file, "new", 3);
  assert_int_equal(lstat(link, &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  assert_int_equal(stat(f->file, &about), 0);
  assert_int_equal(about.st_mode & 0777, 0640);
  assert_int_equal(entries(f, false), 2);
}

static void a_name_without_folder_goes_to_the_current_one(void **state) {
  folder *f = *state;
  char *before = realpath(".", NULL);
  assert_non_null(before);
  assert_int_equal(chdir(f->path), 0);
  mm_status status = mm_file_write_atomic("file.json", "here", 4);
  int back = chdir(before);
  free(before);
  assert_int_equal(back, 0);
  assert_int_equal(status, MM_OK);
  assert_content(f->file, "here", 4);
}

// A disk that fills up half way: the system's limit on file sizes does the same.
static void a_failed_write_leaves_the_old_file(void **state) {
  folder *f = *state;
  struct rlimit before, small;
  char *text = calloc(1, 1 << 16);
  assert_non_null(text);
  assert_ok(mm_file_write_atomic(f->file, "precious", 8));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 4096;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  mm_status status = mm_file_write_atomic(f->file, text, 1 << 16);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  free(text);
  assert_int_equal(status, MM_ERR_IO);
  assert_non_null(strstr(mm_last_error(), f->file));
  assert_content(f->file, "precious", 8);
  assert_int_equal(entries(f, false), 1);
}

// Many processes may write beside each other; a leftover of a crash must not block the name.
static void a_leftover_temporary_is_no_obstacle(void **state) {
  folder *f = *state;
  char left[400];
  snprintf(left, sizeof left, "%s/.mm-%ld-0.tmp", f->path, (long)getpid());
  assert_ok(mm_file_write_atomic(left, "left", 4));
  assert_ok(mm_file_write_atomic(f->file, "new", 3));
  assert_content(f->file, "new", 3);
  assert_content(left, "left", 4);
}

// Of processes that are gone they are taken away; of those that live, or hold their lock where they
// cannot be seen, and with names that are not ours, they are not.
static void leftovers_of_the_dead_go_away(void **state) {
  folder *f = *state;
  char path[6][400];
  pid_t dead = fork();
  if (dead == 0) _exit(0);
  assert_int_equal(waitpid(dead, NULL, 0), dead);
  snprintf(path[0], 400, "%s/.mm-%ld-0.tmp", f->path, (long)dead);
  snprintf(path[1], 400, "%s/.mm-%ld-17.tmp", f->path, (long)dead);
  snprintf(path[2], 400, "%s/.mm-%ld-1.tmp", f->path, (long)dead); // locked below
  snprintf(path[3], 400, "%s/.mm-%ld-5.tmp", f->path, (long)getppid());
  snprintf(path[4], 400, "%s/.mm-%ld-0.tmp.json", f->path, (long)dead);
  snprintf(path[5], 400, "%s/.mm-%ld-07.tmp", f->path, (long)dead);
  for (int i = 0; i < 6; i++) {
    FILE *file = fopen(path[i], "w");
    assert_non_null(file);
    fclose(file);
  }
  int held = open(path[2], O_RDONLY);
  assert_int_equal(flock(held, LOCK_EX), 0);
  assert_ok(mm_file_write_atomic(f->file, "new", 3));
  for (int i = 0; i < 6; i++)
    assert_int_equal(access(path[i], F_OK) == 0, i >= 2);
  close(held);
  assert_ok(mm_file_write_atomic(f->file, "newer", 5));
  assert_int_not_equal(access(path[2], F_OK), 0);
  assert_content(f->file, "newer", 5);
  for (int i = 3; i < 6; i++)
    unlink(path[i]);
}

static void files_without_memory_say_so(void **state) {
  folder *f = *state;
  counter none = { .empty = true };
  char *text = NULL;
  size_t length = 0;
  assert_ok(mm_file_write_atomic(f->file, "old", 3));
  mm_set_allocator(count_allocate, count_release, &none);
  mm_status reading = mm_file_read(f->file, 10, &text, &length);
  mm_status writing = mm_file_write_atomic(f->file, "new", 3);
  mm_set_allocator(NULL, NULL, NULL);
  assert_int_equal(reading, MM_ERR_MEMORY);
  assert_int_equal(writing, MM_ERR_MEMORY);
  assert_content(f->file, "old", 3);
}

#define file_test(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

// ---------------------------------------------------------------------------------------------
// Memory

static void memory_that_is_not_there_is_refused(void **state) {
  (void)state;
  assert_true(mm_memory_available() > 1e6);
  assert_ok(mm_memory_check(1, "a byte"));
  assert_fails(mm_memory_check(1e24, "a galaxy"), MM_ERR_INPUT,
               "a galaxy: about 1e+12 TB of memory needed, ");
}

int suite_base(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_status_has_its_text),
    cmocka_unit_test(an_error_has_text_and_place),
    cmocka_unit_test(the_place_begins_at_the_source_folder),
    cmocka_unit_test(an_error_may_quote_the_one_before),
    cmocka_unit_test(an_error_is_one_line_without_controls),
    cmocka_unit_test(an_error_is_utf8),
    cmocka_unit_test(a_long_error_of_bytes_fits),
    cmocka_unit_test(a_long_error_is_cut_between_characters),
    cmocka_unit_test(try_passes_a_failure_on),
    cmocka_unit_test(each_thread_has_its_own_error),
    cmocka_unit_test(version_and_build_are_told),
    cmocka_unit_test(messages_go_to_the_hook),
    cmocka_unit_test(memory_comes_from_the_hooks),
    cmocka_unit_test(impossible_sizes_are_refused),
    cmocka_unit_test(slices_are_aligned_zeroed_and_apart),
    cmocka_unit_test(an_arena_without_memory_says_so),
    cmocka_unit_test(taking_too_much_is_caught),
    cmocka_unit_test(the_nearest_word_is_found),
    cmocka_unit_test(far_words_are_not_suggested),
    cmocka_unit_test(a_swap_counts_once),
    cmocka_unit_test(the_clock_counts_seconds_and_never_goes_back),
    file_test(a_file_is_written_and_read),
    file_test(the_size_limit_holds),
    cmocka_unit_test(a_file_longer_than_its_size_is_read),
    cmocka_unit_test(a_failing_read_is_an_error),
    file_test(what_is_no_file_is_refused),
    file_test(streams_are_read_to_their_end_or_limit),
    file_test(devices_are_written_not_replaced),
    file_test(links_and_permissions_stay),
    file_test(a_name_without_folder_goes_to_the_current_one),
    file_test(a_failed_write_leaves_the_old_file),
    file_test(a_leftover_temporary_is_no_obstacle),
    file_test(leftovers_of_the_dead_go_away),
    file_test(files_without_memory_say_so),
    cmocka_unit_test(memory_that_is_not_there_is_refused),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
