// SPDX-License-Identifier: Apache-2.0
// Starting, feeding and waiting for other programs.

#define _XOPEN_SOURCE 700

#include "show/plot/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

extern char **environ;

static bool is_program(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

bool mm_program_find(const char *name, char *path, size_t size) {
  // an empty entry means the current folder; a program is not looked for there
  const char *entry = getenv("PATH");
  while (entry && *entry) {
    size_t length = strcspn(entry, ":");
    int written = snprintf(path, size, "%.*s/%s", (int)length, entry, name);
    if (length > 0 && written > 0 && (size_t)written < size && is_program(path)) return true;
    entry += length + (entry[length] == ':');
  }
  return false;
}

int mm_program_start(const char *program, const char *const arguments[], int in, int out,
                     int messages, pid_t *child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGCHLD);
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  error = posix_spawn_file_actions_adddup2(&actions, in, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, out, 1);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, messages, 2);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &usual);
  if (!error)
    error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (!error)
    error = posix_spawn(child, program, &actions, &attributes, (char *const *)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

bool mm_program_wait(pid_t child, double seconds, int *exit_status) {
  const double end = mm_clock_seconds() + seconds;
  long pause_ns = 1000000;
  pid_t got;
  while ((got = waitpid(child, exit_status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
    if (mm_clock_seconds() > end) {
      kill(child, SIGKILL);
      while (waitpid(child, exit_status, 0) < 0 && errno == EINTR) {
      }
      return false;
    }
    nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
    if (pause_ns < 20000000) pause_ns *= 2;
  }
  // a program that ignores its children learns nothing here; the picture then speaks for itself
  return true;
}

// ---------------------------------------------------------------------------------------------
// Temporary files

int mm_temporary_open(void) {
  const char *folder = getenv("TMPDIR");
  char name[1024];
  int length =
      snprintf(name, sizeof name, "%s/mirrormap-XXXXXX", folder && *folder ? folder : P_tmpdir);
  if (length < 0 || (size_t)length >= sizeof name) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int low = mkstemp(name);
  if (low < 0) return -1;
  unlink(name);
  int fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
  int error = errno;
  close(low);
  errno = error;
  return fd;
}

mm_status mm_temporary_failed(void) {
  char text[256];
  int error = errno;
  if (strerror_r(error, text, sizeof text) != 0) snprintf(text, sizeof text, "error %d", error);
  return MM_FAIL(MM_ERR_IO, "cannot use a temporary file (folder TMPDIR): %s", text);
}

size_t mm_temporary_read(int fd, off_t offset, char *text, size_t size) {
  size_t used = 0;
  while (used + 1 < size) {
    ssize_t got = pread(fd, text + used, size - 1 - used, offset + (off_t)used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += (size_t)got;
  }
  text[used] = '\0';
  return used;
}

mm_status mm_temporary_keep(int fd, const char *path) {
  struct stat about;
  size_t size = fstat(fd, &about) == 0 && about.st_size > 0 ? (size_t)about.st_size : 0;
  char *bytes = mm_alloc(size + 1);
  if (!bytes) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  mm_status status = MM_OK;
  if (mm_temporary_read(fd, 0, bytes, size + 1) != size)
    status = mm_temporary_failed();
  else
    status = mm_file_write_atomic(path, bytes, size);
  mm_free(bytes);
  return status;
}
