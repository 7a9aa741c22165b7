// SPDX-License-Identifier: Apache-2.0
// Maps as they appear on the command line.

#define _POSIX_C_SOURCE 200809L

#include "cli/argument/map_argument.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/status.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

// far more than the largest map needs, far less than the machine has
enum { STDIN_MAX = 256 << 20 };

static mm_status open_stdin(mm_map **out) {
  char *text;
  size_t length;
  MM_TRY(mm_file_read_stream("-", STDIN_MAX, &text, &length));
  mm_status status = mm_map_parse(text, length, "stdin", out);
  mm_free(text);
  return status;
}

int map_argument_open(const char *text, mm_map **out) {
  *out = NULL;
  bool from_stdin = strcmp(text, "-") == 0;
  mm_status status = from_stdin ? open_stdin(out) : mm_map_open(text, out);
  if (status == MM_OK) return EXIT_DONE;
  bool named = from_stdin || strstr(mm_last_error(), text) != NULL;
  return fail_reading(status, named ? "" : text);
}

int map_list_open(const option_texts *texts, map_list *out) {
  *out = (map_list){ .map = memory_alloc(texts->n, sizeof(mm_map *)), .name = texts->value };
  int code = EXIT_DONE;
  while (out->n < texts->n && code == EXIT_DONE) {
    code = map_argument_open(texts->value[out->n], &out->map[out->n]);
    if (code == EXIT_DONE) out->n++;
  }
  return code;
}

void map_list_release(map_list *list) {
  for (size_t i = 0; i < list->n; i++)
    mm_map_destroy(list->map[i]);
  free(list->map);
  *list = (map_list){ 0 };
}

const char *map_label(const char *name, char out[MAP_LABEL_SIZE]) {
  size_t length = strlen(name);
  const char *slash = strrchr(name, '/');
  bool file = slash != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
  if (slash != NULL && slash[1] != '\0') {
    length -= (size_t)(slash + 1 - name);
    name = slash + 1;
  }
  if (file && length > 5 && strcmp(name + length - 5, ".json") == 0) length -= 5;
  if (length < MAP_LABEL_SIZE)
    snprintf(out, MAP_LABEL_SIZE, "%.*s", (int)length, name);
  else
    snprintf(out, MAP_LABEL_SIZE, "%.*s...", MAP_LABEL_SIZE - 4, name);
  return out;
}

static const char *describe_parameters(const mm_map *map) {
  const char *name = mm_map_kind_name(mm_map_get_kind(map));
  size_t n = 0;
  if (mm_map_get_kind(map) == MM_MAP_TSALLIS) {
    return output_format("%s, q = %s", name, output_number(mm_map_tsallis_q(map)));
  }
  const mm_plugin_parameter *parameter;
  const double *value;
  const size_t n_parameter = mm_map_plugin_parameters(map, &parameter, &value);
  for (size_t i = 0; i < n_parameter; i++)
    name = output_format("%s, %s = %s", name, parameter[i].name, output_number(value[i]));
  return mm_map_piecewise_psi(map, &n) != NULL ? output_format("%s, n = %zu", name, n) : name;
}

const char *map_describe_kind(const mm_map *map) {
  const size_t stages = mm_map_stages(map);
  const char *kind = describe_parameters(map);
  return stages > 1 ? output_format("%s, %zu stages", kind, stages) : kind;
}

const char *const map_projection_names[] = { "exact", "bisect10", NULL };

mm_projection map_projection(const char *name) {
  return strcmp(name, "bisect10") == 0 ? MM_PROJECTION_BISECT10 : MM_PROJECTION_EXACT;
}

bool map_is_picture(const char *path) {
  static const char *const ending[] = { ".svg", ".pdf", ".png" };
  size_t length = strlen(path);
  for (int i = 0; i < 3; i++)
    if (length > 4 && strcmp(path + length - 4, ending[i]) == 0 && path[length - 5] != '/')
      return true;
  return false;
}

int map_check_out(const char *path, bool force) {
  struct stat found;
  if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
    return fail_usage("option '--out': %s is a folder", path);
  if (!force && lstat(path, &found) == 0)
    return fail_usage("option '--out': %s exists already (--force replaces it)", path);
  return EXIT_DONE;
}
