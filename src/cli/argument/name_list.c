// SPDX-License-Identifier: Apache-2.0
// Lists of names on the command line.

#include "cli/argument/name_list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/core/command.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"

static_assert((int)NAME_LABEL_SIZE == (int)MAP_LABEL_SIZE, "labels come from map_label");

int name_list_read(const char *name, const char *text, name_list *out) {
  *out = (name_list){ 0 };
  int code = EXIT_DONE;
  char *entry;
  for (size_t i = 1; code == EXIT_DONE && (entry = options_next_entry(&text)) != NULL; i++) {
    if (entry[0] == '\0')
      code = fail_usage("option '--%s', entry %zu: expected a name, found nothing", name, i);
    else
      name_list_add(out, entry);
    free(entry);
  }
  return code;
}

bool name_list_add(name_list *list, const char *name) {
  for (size_t i = 0; i < list->n; i++)
    if (strcmp(list->name[i], name) == 0) return false;
  list->name = memory_grow(list->name, list->n, sizeof *list->name);
  list->name[list->n++] = memory_text(name, strlen(name));
  return true;
}

void name_list_release(name_list *list) {
  for (size_t i = 0; i < list->n; i++)
    free(list->name[i]);
  free(list->name);
  *list = (name_list){ 0 };
}

// ---------------------------------------------------------------------------------------------
// Labels

// How much of a name its label shows: 1, 2, .. of its last parts without ".json"; when those are
// used up, all of it.
static size_t parts_of(const char *name) {
  size_t n = 1;
  for (; *name != '\0'; name++)
    n += *name == '/';
  return n;
}

static void set_label(const char *name, size_t parts, char label[NAME_LABEL_SIZE]) {
  if (parts == 1) {
    map_label(name, label);
    return;
  }
  size_t length = strlen(name);
  const char *start = name + length;
  for (size_t i = 0; i < parts && start > name; i++) {
    start--;
    while (start > name && start[-1] != '/')
      start--;
  }
  length -= (size_t)(start - name);
  bool all = parts > parts_of(name);
  if (!all && length > 5 && strcmp(start + length - 5, ".json") == 0) length -= 5;
  if (length < NAME_LABEL_SIZE) // of a long one, the end tells more
    snprintf(label, NAME_LABEL_SIZE, "%.*s", (int)length, start);
  else
    snprintf(label, NAME_LABEL_SIZE, "...%.*s", NAME_LABEL_SIZE - 4,
             start + length - (NAME_LABEL_SIZE - 4));
}

static bool is_file(const char *name) {
  size_t length = strlen(name);
  return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

static bool is_shared(size_t n, char (*label)[NAME_LABEL_SIZE], size_t which) {
  for (size_t i = 0; i < n; i++)
    if (i != which && strcmp(label[i], label[which]) == 0) return true;
  return false;
}

void name_list_label(const name_list *list, char (*label)[NAME_LABEL_SIZE]) {
  size_t *parts = memory_alloc(list->n, sizeof *parts);
  bool *shared = memory_alloc(list->n, sizeof *shared);
  for (size_t i = 0; i < list->n; i++)
    set_label(list->name[i], parts[i] = 1, label[i]);
  // all files of a group that look the same show more, until they differ or have no more to show
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < list->n; i++)
      shared[i] = is_shared(list->n, label, i);
    for (size_t i = 0; i < list->n; i++) {
      if (!shared[i] || !is_file(list->name[i]) || parts[i] > parts_of(list->name[i])) continue;
      set_label(list->name[i], ++parts[i], label[i]);
      changed = true;
    }
  }
  // what is left differs only where it was cut
  for (size_t i = 0; i < list->n; i++)
    for (size_t k = 2; is_shared(list->n, label, i); k++) {
      char text[NAME_LABEL_SIZE + 24];
      snprintf(text, sizeof text, "%.*s#%zu", NAME_LABEL_SIZE - 8, label[i], k);
      snprintf(label[i], NAME_LABEL_SIZE, "%.*s", NAME_LABEL_SIZE - 1, text);
    }
  free(shared);
  free(parts);
}
