// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700

#include "files/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

mm_status mm_folder_fail(const char *what, const char *path, int error) {
  char text[128];
  if (strerror_r(error, text, sizeof text) != 0) snprintf(text, sizeof text, "error %d", error);
  bool machine = error == ENOSPC || error == EDQUOT || error == EIO || error == ENOMEM ||
                 error == EMFILE || error == ENFILE;
  bool refused = error == EACCES || error == EPERM || error == EROFS;
  return MM_FAIL(machine || refused ? MM_ERR_IO : MM_ERR_INPUT, "cannot %s '%s': %s%s", what, path,
                 text, refused ? " (choose a folder that can be written)" : "");
}

mm_status mm_folder_fail_long(const char *path) {
  return MM_FAIL(MM_ERR_INPUT, "the path is too long: '%.200s...'", path);
}

// What was made in a folder lasts once the folder itself is on the disk. Some file systems cannot
// do that and say so; there is nothing better to be had from them.
static void synchronise_folder(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

void mm_folder_synchronise_parent(const char *path) {
  char parent[MM_PATH_SIZE];
  snprintf(parent, sizeof parent, "%s", path);
  char *slash = strrchr(parent, '/');
  if (slash && slash != parent) *slash = '\0';
  synchronise_folder(!slash ? "." : slash == parent ? "/" : parent);
}

mm_status mm_folder_make(const char *path, bool *made) {
  char part[MM_PATH_SIZE];
  int length = snprintf(part, sizeof part, "%s", path);
  *made = false;
  if (path[0] == '\0') return MM_FAIL(MM_ERR_INPUT, "expected the name of a folder, found nothing");
  if (length < 0 || length >= MM_PATH_SIZE) return mm_folder_fail_long(path);
  for (char *c = part + 1;; c++) {
    bool end = *c == '\0';
    if (!end && *c != '/') continue;
    *c = '\0';
    *made = mkdir(part, 0777) == 0;
    int error = errno;
    struct stat about;
    if (*made)
      mm_folder_synchronise_parent(part);
    else if (stat(part, &about) != 0) // also EEXIST for a link to nowhere
      return mm_folder_fail("make the folder", part, error);
    else if (!S_ISDIR(about.st_mode))
      return mm_folder_fail("make the folder", part, ENOTDIR);
    if (end) return MM_OK;
    *c = '/';
  }
}

mm_status mm_folder_number(const char *parent, const char *stem, char path[MM_PATH_SIZE]) {
  char name[128];
  bool made;
  snprintf(name, sizeof name, "%s", stem[0] != '\0' ? stem : "run");
  for (char *c = name; *c; c++) {
    bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                 *c == '-' || *c == '_' || (*c == '.' && c != name);
    if (!plain) *c = '-';
  }
  MM_TRY(mm_folder_make(parent, &made));
  for (long n = 1; n < 10000000; n++) {
    int length = snprintf(path, MM_PATH_SIZE, "%s/%s-%ld", parent, name, n);
    if (length < 0 || length >= MM_PATH_SIZE) return mm_folder_fail_long(parent);
    if (mkdir(path, 0777) == 0) {
      mm_folder_synchronise_parent(path);
      return MM_OK;
    }
    if (errno != EEXIST) return mm_folder_fail("make the folder", path, errno);
  }
  return MM_FAIL(MM_ERR_INPUT, "'%s': no free name for a run '%s-...'", parent, name);
}
