// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over every file of the given folders, for builds without libFuzzer.

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The input gets a block of exactly its size, so that a sanitizer sees any read beyond it.
static int replay_file(const char *path, size_t size) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc(size ? size : 1);
  int failed = !file || !data || fread(data, 1, size, file) != size;
  if (!failed) LLVMFuzzerTestOneInput(data, size);
  if (failed) fprintf(stderr, "cannot read %s\n", path);
  if (file) fclose(file);
  free(data);
  return failed;
}

// The number of files replayed, or -1.
static int replay_folder(const char *folder) {
  DIR *directory = opendir(folder);
  int count = 0;
  if (!directory) {
    fprintf(stderr, "cannot open the folder %s\n", folder);
    return -1;
  }
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) continue;
    if (replay_file(path, (size_t)about.st_size) != 0) {
      count = -1;
      break;
    }
    count++;
  }
  closedir(directory);
  return count;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; i++) {
    int count = replay_folder(argv[i]);
    if (count == 0) fprintf(stderr, "no files in %s\n", argv[i]);
    if (count <= 0) return 1;
    printf("%s: %d inputs replayed\n", argv[i], count);
  }
  return 0;
}
