// SPDX-License-Identifier: Apache-2.0
// Maps by name: the built-in ones, the random controls, files, and the learned maps that are
// shipped in maps/.

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data_folder.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/spelling.h"
#include "base/status.h"
#include "map/family.h"

// ---------------------------------------------------------------------------------------------
// Starting points and controls

mm_status mm_map_random(mm_map_kind kind, size_t n, double spread, uint64_t seed, mm_map **out) {
  size_t size = mm_map_search_size(kind, n);
  double *z = mm_alloc_array(size, sizeof *z);
  if (!z) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  mm_status status = mm_map_search_initial(kind, n, z);
  const uint32_t lane = mm_map_family_of(kind)->random_lane;
  mm_stream stream = mm_stream_make(seed, 0, MM_RNG_MAP_CONTROL, lane > 0 ? lane : (uint32_t)kind);
  for (size_t i = 0; i < size && spread > 0; i++)
    z[i] += spread * mm_normal_d(mm_stream_pair(stream, i));
  if (status == MM_OK) status = mm_map_from_search(kind, n, z, out);
  mm_free(z);
  return status;
}

bool mm_parse_whole(const char *text, uint64_t *out) {
  if (*text < '0' || *text > '9') return false;
  char *end;
  errno = 0;
  *out = strtoull(text, &end, 10);
  return *end == 0 && errno == 0;
}

static mm_status open_random(const char *text, const char *argument, mm_map_kind kind,
                             mm_map **out) {
  const mm_map_family *family = mm_map_family_of(kind);
  uint64_t seed;
  if (!argument || !mm_parse_whole(argument, &seed))
    return MM_FAIL(MM_ERR_INPUT,
                   "map '%s': expected %s:SEED with a whole number SEED below 2^64, e.g. %s:1",
                   text, family->random_name, family->random_name);
  return mm_map_random(kind, family->search_n, family->random_spread, seed, out);
}

// ---------------------------------------------------------------------------------------------

// The name of a kind, a control or a shipped map that `text` is a slip of; "" for none. Of
// NAME:ARGUMENT only the name can be one.
enum { SHIPPED_MAX = 64, NEAR_SIZE = MM_DATA_NAME_SIZE + 64 };
static const char *near_name(const char *text, char out[NEAR_SIZE]) {
  const char *valid[2 * MM_MAP_KINDS_MOST + SHIPPED_MAX], *argument = strchr(text, ':');
  char shipped[SHIPPED_MAX][MM_DATA_NAME_SIZE], head[64];
  size_t n = 0, n_shipped = argument ? 0 : mm_data_names("maps", ".json", shipped, SHIPPED_MAX);
  for (size_t i = 0; i < mm_map_kind_count(); i++) {
    const char *control = mm_map_family_of((mm_map_kind)i)->random_name;
    valid[n++] = mm_map_kind_name((mm_map_kind)i);
    if (control) valid[n++] = control;
  }
  for (size_t i = 0; i < n_shipped; i++)
    valid[n++] = shipped[i];
  snprintf(head, sizeof head, "%.*s", argument ? (int)(argument - text) : 63, text);
  const char *near = mm_nearest(head, valid, n);
  const bool needs_argument = near && !argument && strncmp(near, "random", 6) == 0;
  snprintf(out, NEAR_SIZE, "%s%.40s", near ? near : "",
           !near            ? ""
           : argument       ? argument
           : needs_argument ? ":1"
                            : "");
  return out;
}

// The nearest spelling, or everything that could have been meant.
static mm_status unknown_name(const char *text) {
  char near[NEAR_SIZE], list[80 * MM_MAP_KINDS_MOST] = "";
  char more[80 * MM_MAP_KINDS_MOST] = "";
  for (size_t i = 0; i < mm_map_kind_count(); i++) {
    const mm_map_family *family = mm_map_family_of((mm_map_kind)i);
    const char *name = mm_map_kind_name((mm_map_kind)i);
    snprintf(list + strlen(list), 60, "%s, ", family->usage ? family->usage : name);
    if (family->random_name) snprintf(more + strlen(more), 60, "%s:SEED, ", family->random_name);
  }
  if (near_name(text, near)[0] != '\0')
    return MM_FAIL(MM_ERR_INPUT, "map '%s': no such name or file (did you mean '%s'?)", text, near);
  return MM_FAIL(MM_ERR_INPUT,
                 "map '%s': no such name or file: expected %s%sa map file or a shipped map", text,
                 list, more);
}

static bool is_word(const char *text, size_t length, const char *word) {
  return word && strlen(word) == length && memcmp(text, word, length) == 0;
}

mm_status mm_map_open(const char *text, mm_map **out) {
  *out = NULL;
  size_t length = strlen(text);
  if (strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".json") == 0))
    return mm_map_load(text, out);

  const char *colon = strchr(text, ':'), *argument = colon ? colon + 1 : NULL;
  size_t head = colon ? (size_t)(colon - text) : length;
  for (size_t i = 0; i < mm_map_kind_count(); i++) {
    const mm_map_family *family = mm_map_family_of((mm_map_kind)i);
    if (is_word(text, head, mm_map_kind_name((mm_map_kind)i)) && (family->open || !argument))
      return family->open ? family->open(text, argument, out) : family->create(out);
    if (is_word(text, head, family->random_name))
      return open_random(text, argument, (mm_map_kind)i, out);
  }

  char path[MM_DATA_PATH_SIZE];
  if (mm_data_find("maps", text, ".json", path)) return mm_map_load(path, out);
  if (access(text, F_OK) == 0) return mm_map_load(text, out);
  return unknown_name(text);
}
