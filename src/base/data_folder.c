// SPDX-License-Identifier: Apache-2.0
// Files that come with the program, found by name.

#define _GNU_SOURCE // dladdr

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data_folder.h"
#include "mm_build.h"

enum { PLACES = 6 };

// The folder of the file `out` with `tail` behind it.
static bool beside(const char *tail, char out[MM_DATA_PATH_SIZE]) {
  char *slash = strrchr(out, '/');
  if (!slash || (size_t)(slash - out) + strlen(tail) + 1 > MM_DATA_PATH_SIZE) return false;
  strcpy(slash, tail);
  return true;
}

static bool beside_program(const char *tail, char out[MM_DATA_PATH_SIZE]) {
  ssize_t length = readlink("/proc/self/exe", out, MM_DATA_PATH_SIZE - 1);
  if (length <= 0) return false;
  out[length] = 0;
  return beside(tail, out);
}

// The file that holds this code is the shared library where a program of others has loaded it.
static bool beside_library(const char *tail, char out[MM_DATA_PATH_SIZE]) {
  static const char here;
  Dl_info info;
  if (!dladdr(&here, &info) || !info.dli_fname) return false;
  if (strlen(info.dli_fname) >= MM_DATA_PATH_SIZE) return false;
  strcpy(out, info.dli_fname);
  return beside(tail, out);
}

static bool place(int i, char out[MM_DATA_PATH_SIZE]) {
  const char *chosen = getenv("MIRRORMAP_DATA");
  switch (i) {
  case 0:
    return chosen && snprintf(out, MM_DATA_PATH_SIZE, "%s", chosen) < MM_DATA_PATH_SIZE;
  case 1:
    return beside_program("/../share/mirrormap", out);
  case 2:
    return beside_program("/..", out);
  case 3:
    return beside_library("/../share/mirrormap", out);
  case 4:
    return beside_library("/..", out);
  default:
    return snprintf(out, MM_DATA_PATH_SIZE, "%s", MM_DATADIR) < MM_DATA_PATH_SIZE;
  }
}

bool mm_data_find(const char *folder, const char *name, const char *ending,
                  char out[MM_DATA_PATH_SIZE]) {
  char start[MM_DATA_PATH_SIZE];
  if (strchr(name, '/')) return false;
  for (int i = 0; i < PLACES; i++) {
    if (!place(i, start)) continue;
    int length = snprintf(out, MM_DATA_PATH_SIZE, "%s/%s/%s%s", start, folder, name, ending);
    if (length < MM_DATA_PATH_SIZE && access(out, R_OK) == 0) return true;
  }
  return false;
}

static bool listed(const char *name, char (*names)[MM_DATA_NAME_SIZE], size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

// Adds the names of one folder to the n there are.
static size_t list_folder(const char *path, const char *ending, char (*names)[MM_DATA_NAME_SIZE],
                          size_t n, size_t most) {
  DIR *folder = opendir(path);
  if (!folder) return n;
  for (struct dirent *entry; n < most && (entry = readdir(folder));) {
    size_t length = strlen(entry->d_name), tail = strlen(ending);
    if (entry->d_name[0] == '.' || length <= tail || length - tail >= MM_DATA_NAME_SIZE) continue;
    if (strcmp(entry->d_name + length - tail, ending) != 0) continue;
    entry->d_name[length - tail] = 0;
    if (!listed(entry->d_name, names, n)) strcpy(names[n++], entry->d_name);
  }
  closedir(folder);
  return n;
}

size_t mm_data_names(const char *folder, const char *ending, char (*names)[MM_DATA_NAME_SIZE],
                     size_t most) {
  char start[MM_DATA_PATH_SIZE], path[MM_DATA_PATH_SIZE];
  size_t n = 0;
  for (int i = 0; i < PLACES; i++) {
    if (!place(i, start)) continue;
    int length = snprintf(path, sizeof path, "%s/%s", start, folder);
    if (length < MM_DATA_PATH_SIZE) n = list_folder(path, ending, names, n, most);
  }
  return n;
}
