// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: conditions that must hold, and the input as a file.

#ifndef MM_TEST_FUZZ_H
#define MM_TEST_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, mm_last_error());
  abort();
}

// A refusal: one line without control characters that names `source`.
static inline void require_refusal(mm_status status, const char *source) {
  const char *text = mm_last_error();
  require(status == MM_ERR_INPUT || status == MM_ERR_MEMORY, "the status of a refusal");
  if (status == MM_ERR_INPUT) require(strstr(text, source) != NULL, "an error names its source");
  for (const char *s = text; *s; s++)
    require((unsigned char)*s >= 0x20 && *s != 0x7F, "an error is one line without controls");
}

// ---------------------------------------------------------------------------------------------
// A file in memory where there is such a place, made once and written anew for every input

static char fuzz_path[256];

static inline void fuzz_remove(void) {
  unlink(fuzz_path);
}

static inline const char *fuzz_file(const uint8_t *data, size_t size) {
  if (fuzz_path[0] == '\0') {
    const char *base = getenv("TMPDIR");
    if (!base || !base[0]) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(fuzz_path, sizeof fuzz_path, "%s/mm-fuzz-XXXXXX", base);
    int fd = mkstemp(fuzz_path);
    require(fd >= 0 && close(fd) == 0, "a temporary file");
    atexit(fuzz_remove);
  }
  FILE *file = fopen(fuzz_path, "wb");
  require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "a file");
  return fuzz_path;
}

#endif
