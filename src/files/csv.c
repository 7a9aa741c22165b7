// SPDX-License-Identifier: Apache-2.0
// Collected in memory, so that files appear complete.

#define _POSIX_C_SOURCE 200809L

#include "files/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

void mm_csv_text(FILE *f, const char *text) {
  if (*text != '#' && !strpbrk(text, ",\"\r\n")) {
    fputs(text, f);
    return;
  }
  fputc('"', f);
  for (; *text; text++) {
    if (*text == '"') fputc('"', f);
    fputc(*text, f);
  }
  fputc('"', f);
}

void mm_csv_number(FILE *f, double x) {
  char text[MM_JSON_NUMBER_SIZE];
  fputc(',', f);
  if (!isnan(x)) fputs(mm_json_format_number(x, text), f);
}

void mm_csv_remark(FILE *f, const char *what, cJSON *tree) {
  char *text = mm_json_print(tree, false);
  fprintf(f, "# %s: %s\n", what, text ? text : "");
  mm_free(text);
  cJSON_Delete(tree);
}

static mm_status write_file(const char *folder, const char *name, const char *text, size_t length) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = mm_alloc(size);
  if (!path) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", name);
  snprintf(path, size, "%s/%s", folder, name);
  mm_status status = mm_file_write_atomic(path, text, length);
  mm_free(path);
  return status;
}

mm_status mm_csv_write(const char *folder, const char *name, mm_csv_put *put, const void *user) {
  char *text = NULL;
  size_t length = 0;
  FILE *f = open_memstream(&text, &length);
  if (!f) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", name);
  put(f, user);
  int failed = ferror(f);
  if (fclose(f) != 0) failed = 1;
  mm_status status = MM_OK;
  if (failed)
    status = MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", name);
  else
    status = write_file(folder, name, text, length);
  free(text);
  return status;
}

mm_status mm_json_write(const char *folder, const char *name, cJSON *root) {
  char *text = root ? mm_json_print(root, true) : NULL;
  cJSON_Delete(root);
  if (!text) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", name);
  mm_status status = write_file(folder, name, text, strlen(text));
  mm_free(text);
  return status;
}
