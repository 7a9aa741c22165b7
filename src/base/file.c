// SPDX-License-Identifier: Apache-2.0
// Whole files in and out, over POSIX calls because the C library cannot tell a FIFO from a file,
// nor synchronise one.

#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE // flock

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"

// Most system errors here come from the name that the user gave; the rest is the machine's fault.
static mm_status fail_on(const char *what, const char *path, int error) {
  char text[256];
  if (strerror_r(error, text, sizeof text) != 0) snprintf(text, sizeof text, "error %d", error);
  switch (error) {
  case ENOENT:
  case ENOTDIR:
  case EISDIR:
  case EACCES:
  case EPERM:
  case EROFS:
  case ELOOP:
  case ENAMETOOLONG:
    return MM_FAIL(MM_ERR_INPUT, "cannot %s '%s': %s", what, path, text);
  default:
    return MM_FAIL(MM_ERR_IO, "cannot %s '%s': %s", what, path, text);
  }
}

enum { FIRST_BYTES = 1 << 16 }; // room at first for what does not say its size

static mm_status fail_on_memory(const char *path) {
  return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
}

// ---------------------------------------------------------------------------------------------
// Reading

static const char *kind_of(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a file";
}

// A file may hold more than its size said: it can grow meanwhile, and the system's own files say 0.
static mm_status read_all(int fd, const char *path, size_t guess, size_t max_bytes, char **out,
                          size_t *length) {
  size_t room = guess < max_bytes ? guess : max_bytes; // without the byte beyond, kept for the end
  size_t used = 0;
  char *text = mm_alloc(room + 1);
  while (text) {
    ssize_t got = read(fd, text + used, room + 1 - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      int error = errno;
      mm_free(text);
      return fail_on("read", path, error);
    }
    used += (size_t)got;
    if (got == 0 && used <= room) break;
    if (used <= room) continue;
    if (room == max_bytes) {
      mm_free(text);
      return MM_FAIL(MM_ERR_INPUT, "'%s' is too large: expected at most %zu bytes", path,
                     max_bytes);
    }
    room = room < max_bytes / 2 ? room * 2 + 1 : max_bytes;
    char *larger = mm_alloc(room + 1);
    if (larger) memcpy(larger, text, used);
    mm_free(text);
    text = larger;
  }
  if (!text) return fail_on_memory(path);
  text[used] = '\0';
  *out = text;
  *length = used;
  return MM_OK;
}

mm_status mm_file_read(const char *path, size_t max_bytes, char **text, size_t *length) {
  *text = NULL;
  *length = 0;
  // non-blocking: a FIFO without a writer must be refused, not waited for
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return fail_on("read", path, errno);
  struct stat about;
  mm_status status = MM_OK;
  if (fstat(fd, &about) != 0)
    status = fail_on("read", path, errno);
  else if (!S_ISREG(about.st_mode))
    status = MM_FAIL(MM_ERR_INPUT, "cannot read '%s': expected a file, found %s", path,
                     kind_of(about.st_mode));
  else if ((uintmax_t)about.st_size > max_bytes)
    status = MM_FAIL(MM_ERR_INPUT, "'%s' is too large: expected at most %zu bytes, found %ju", path,
                     max_bytes, (uintmax_t)about.st_size);
  else
    status = read_all(fd, path, (size_t)about.st_size, max_bytes, text, length);
  close(fd);
  return status;
}

mm_status mm_file_read_stream(const char *path, size_t max_bytes, char **text, size_t *length) {
  struct stat about;
  *text = NULL;
  *length = 0;
  if (strcmp(path, "-") == 0)
    return read_all(STDIN_FILENO, "stdin", FIRST_BYTES, max_bytes, text, length);
  if (stat(path, &about) != 0 || !S_ISFIFO(about.st_mode))
    return mm_file_read(path, max_bytes, text, length);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_on("read", path, errno);
  mm_status status = read_all(fd, path, FIRST_BYTES, max_bytes, text, length);
  close(fd);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Writing

// Returns 0 or an errno.
static int write_all(int fd, const char *text, size_t length) {
  while (length > 0) {
    ssize_t put = write(fd, text, length);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    text += put;
    length -= (size_t)put;
  }
  return 0;
}

// Some file systems cannot synchronise and say so; there is nothing better to be had from them.
static int synchronise(int fd) {
  if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP) return 0;
  return errno;
}

// Devices and FIFOs cannot be replaced, only written to.
static mm_status write_through(const char *path, const char *text, size_t length) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail_on("write", path, errno);
  int error = write_all(fd, text, length);
  if (close(fd) != 0 && error == 0) error = errno;
  return error ? fail_on("write", path, error) : MM_OK;
}

// Length of the folder's part of a path, with its slash.
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

enum { BESIDE_SIZE = 48 };

static void name_beside(long process, int i, char out[BESIDE_SIZE]) {
  snprintf(out, BESIDE_SIZE, ".mm-%ld-%d.tmp", process, i);
}

// Whether a name in a folder is one of ours whose process is gone.
static bool is_leftover(const char *entry) {
  char own[BESIDE_SIZE];
  long process;
  int i;
  if (sscanf(entry, ".mm-%ld-%d.tmp", &process, &i) != 2 || process <= 0) return false;
  name_beside(process, i, own);
  return strcmp(own, entry) == 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

// Removes what processes that were killed left in the folder of `path`. Those of another machine or
// container are not seen here, but hold a lock on their files while they live.
static void remove_leftovers(const char *path, char *name, size_t size) {
  size_t folder = folder_length(path);
  snprintf(name, size, "%.*s.", (int)folder, path);
  DIR *directory = opendir(name);
  for (struct dirent *entry; directory && (entry = readdir(directory));) {
    if (!is_leftover(entry->d_name)) continue;
    snprintf(name + folder, size - folder, "%s", entry->d_name);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(name);
    close(fd);
  }
  if (directory) closedir(directory);
}

// Makes a file that nobody else has in the folder of `path`. Its name is short, so that it fits
// wherever the real one does. Returns the descriptor, or -1 with errno; `name` gets the path.
static int create_beside(const char *path, char *name, size_t size) {
  size_t folder = folder_length(path);
  char own[BESIDE_SIZE];
  remove_leftovers(path, name, size);
  for (int i = 0; i < 1000; i++) {
    name_beside((long)getpid(), i, own);
    snprintf(name, size, "%.*s%s", (int)folder, path, own);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) (void)flock(fd, LOCK_EX | LOCK_NB); // says that somebody is at it
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// The rename is on disk once the folder is; a folder that cannot be opened is not worth failing
// for.
static void synchronise_folder(const char *path, char *name) {
  size_t folder = folder_length(path);
  memcpy(name, path, folder);
  memcpy(name + folder, ".", sizeof ".");
  int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

// `old`: what is there now, or NULL; its permissions carry over. `name`: room for a path beside.
static int replace(const char *path, const struct stat *old, const char *text, size_t length,
                   char *name, size_t name_size) {
  int fd = create_beside(path, name, name_size);
  if (fd < 0) return errno;
  int error = 0;
  if (old && fchmod(fd, old->st_mode & 07777) != 0) error = errno; // before anything can be read
  if (error == 0) error = write_all(fd, text, length);
  if (error == 0) error = synchronise(fd);
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(name, path) != 0) error = errno;
  if (error != 0)
    unlink(name);
  else
    synchronise_folder(path, name);
  return error;
}

mm_status mm_file_write_atomic(const char *path, const char *text, size_t length) {
  struct stat old;
  bool exists = stat(path, &old) == 0;
  if (!exists && errno != ENOENT) return fail_on("write", path, errno);
  if (exists && S_ISDIR(old.st_mode)) return fail_on("write", path, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) return write_through(path, text, length);

  // an existing file is replaced where it really lies, not where a link to it does
  char *real = exists ? realpath(path, NULL) : NULL;
  if (exists && !real) return fail_on("write", path, errno);
  const char *target = real ? real : path;
  size_t name_size = strlen(target) + 64;
  char *name = mm_alloc(name_size);
  mm_status status = MM_OK;
  if (!name)
    status = fail_on_memory(path);
  else {
    int error = replace(target, exists ? &old : NULL, text, length, name, name_size);
    if (error) status = fail_on("write", path, error);
  }
  mm_free(name);
  free(real);
  return status;
}
