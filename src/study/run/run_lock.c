// SPDX-License-Identifier: Apache-2.0
// Who owns a run. SQLite's own locks protect single transactions; a run needs one writer from its
// first to its last. flock belongs to the open file and ends with the process, however that ends.
// The database itself must not be opened beside SQLite: closing it would drop SQLite's POSIX locks.

#define _DEFAULT_SOURCE // flock

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "study/run/run_internal.h"

// A reader that looks whether a run is owned holds the lock for a moment; that is waited out.
enum { TRIES = 20, PAUSE_NS = 10000000 };

// run.lock beside the database; false when the path is too long.
static bool lock_path(const char *real, char out[MM_RUN_PATH_SIZE]) {
  const char *slash = strrchr(real, '/');
  int folder = slash ? (int)(slash - real) + 1 : 0;
  int length = snprintf(out, MM_RUN_PATH_SIZE, "%.*srun.lock", folder, real);
  return length >= 0 && length < MM_RUN_PATH_SIZE;
}

static mm_status fail_on(const char *file, const char *path, int error) {
  char text[128];
  if (strerror_r(error, text, sizeof text) != 0) snprintf(text, sizeof text, "error %d", error);
  if (error == EACCES || error == EPERM || error == EROFS)
    return MM_FAIL(MM_ERR_IO,
                   "'%s' may not be written: %s for '%s' (change the permissions, or copy the "
                   "folder to where it can be written)",
                   file, text, path);
  if (error == ENOSPC || error == EDQUOT)
    return MM_FAIL(MM_ERR_IO, "'%s': no space left for '%s': free some and try again", file, path);
  return MM_FAIL(MM_ERR_IO, "'%s': cannot lock '%s': %s", file, path, text);
}

// The owner wrote "PID HOST" into the file.
static mm_status fail_owned(const char *file, int fd) {
  char text[320] = "";
  long pid = 0;
  char host[256] = "";
  if (pread(fd, text, sizeof text - 1, 0) > 0 && sscanf(text, "%ld %255s", &pid, host) == 2)
    return MM_FAIL(MM_ERR_IO,
                   "'%s' belongs to process %ld on '%s', which is working on it: wait until it "
                   "ends, or stop it",
                   file, pid, host);
  return MM_FAIL(MM_ERR_IO,
                 "'%s' belongs to another process, which is working on it: wait until it ends, or "
                 "stop it",
                 file);
}

// The file may have been removed and made anew between opening and locking it.
static bool is_current(int fd, const char *path) {
  struct stat mine, there;
  return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

static void write_owner(int fd) {
  char host[256] = "", text[320];
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') snprintf(host, sizeof host, "?");
  int length = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), host);
  // for people only: the lock holds without it
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)length, 0) != length) return;
}

// One attempt: the descriptor, -1 with errno, or -2 when it is worth trying again.
static int try_lock(const char *path) {
  struct stat about;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd < 0) return -1;
  bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  bool locked = regular && flock(fd, LOCK_EX | LOCK_NB) == 0;
  int error = locked ? 0 : regular ? errno : EINVAL;
  if (locked && is_current(fd, path)) return fd;
  close(fd);
  errno = error;
  return error == 0 || error == EWOULDBLOCK || error == EINTR ? -2 : -1;
}

mm_status mm_run_lock(const char *real, const char *file, int *out) {
  char path[MM_RUN_PATH_SIZE];
  if (!lock_path(real, path))
    return MM_FAIL(MM_ERR_INPUT, "the path is too long: '%.200s...'", file);
  for (int i = 0; i < TRIES; i++) {
    struct timespec pause = { 0, PAUSE_NS };
    int fd = try_lock(path);
    if (fd == -1) return fail_on(file, path, errno);
    if (fd >= 0) {
      write_owner(fd);
      *out = fd;
      return MM_OK;
    }
    if (errno == EWOULDBLOCK) nanosleep(&pause, NULL);
  }
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  mm_status status = fail_owned(file, fd);
  if (fd >= 0) close(fd);
  return status;
}

// Removed while it is held: whoever opened it before finds that it is no longer current.
void mm_run_unlock(const char *real, int lock) {
  char path[MM_RUN_PATH_SIZE];
  if (lock < 0) return;
  if (lock_path(real, path) && is_current(lock, path)) unlink(path);
  close(lock);
}

bool mm_run_is_locked(const char *real) {
  char path[MM_RUN_PATH_SIZE];
  if (!lock_path(real, path)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}
