// SPDX-License-Identifier: Apache-2.0
// YAML through libcyaml. The library tells what is wrong only through its log: the first message is
// the reason, the lines after it say where.

#include "base/yaml.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/spelling.h"
#include "base/status.h"

typedef struct messages {
  char reason[512];
  char path[256];  // of the value, "objects.reward"
  char where[256]; // "(line: 3, column: 10)"
} messages;

// Takes a line without what the library puts around it.
static void keep_line(char *out, size_t size, const char *format, va_list arguments) {
  char line[512];
  vsnprintf(line, sizeof line, format, arguments);
  const char *text = line + strspn(line, " ");
  if (strncmp(text, "Load: ", 6) == 0) text += 6;
  if (strncmp(text, "libyaml: ", 9) == 0) text += 9;
  snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

// Puts a step of the way in front of those within it. Only keys: the library counts entries of
// lists from 0 or 1 as it happens, and the place in the file tells them apart.
static void add_step(messages *m, const char *line) {
  char name[64], path[sizeof m->path];
  if (sscanf(line, "in mapping field '%60[^']'", name) != 1) return;
  snprintf(path, sizeof path, "%s%s%.160s", name, m->path[0] ? "." : "", m->path);
  memcpy(m->path, path, sizeof path);
}

// The backtrace goes from the innermost value outwards; its first line has the place in the file.
static void hear(cyaml_log_t level, void *context, const char *format, va_list arguments) {
  messages *m = context;
  char line[256];
  (void)level;
  if (strstr(format, "Backtrace")) return;
  if (strncmp(format, "  in ", 5) != 0) {
    if (!m->reason[0]) keep_line(m->reason, sizeof m->reason, format, arguments);
    return;
  }
  keep_line(line, sizeof line, format, arguments);
  add_step(m, line);
  const char *place = strstr(line, "(line: ");
  if (place && !m->where[0]) snprintf(m->where, sizeof m->where, "%s", place);
}

// The library wants a realloc; our door to memory has none, so blocks remember their size.
typedef union header {
  size_t size;
  max_align_t align;
} header;

static void *resize(void *context, void *block, size_t size) {
  (void)context;
  header *old = block ? (header *)block - 1 : NULL, *new = NULL;
  if (old && size > 0 && size <= old->size) return block;
  if (size > 0) {
    // lists grow entry by entry: room to spare keeps long ones from being copied each time
    size_t room = old && size <= SIZE_MAX / 2 ? size + size / 2 : size;
    new = room <= SIZE_MAX - sizeof *new ? mm_alloc(sizeof *new + room) : NULL;
    if (!new) return NULL;
    new->size = room;
    if (old) memcpy(new + 1, block, old->size);
  }
  mm_free(old);
  return new ? new + 1 : NULL;
}

static cyaml_config_t config_of(messages *m) {
  cyaml_config_t config = { .log_fn = hear,
                            .log_ctx = m,
                            .mem_fn = resize,
                            .log_level = CYAML_LOG_WARNING,
                            .flags = CYAML_CFG_NO_ALIAS };
  return config;
}

enum { KEYS_MAX = 256 };

// What a value is, or the entries of a list are.
static const cyaml_schema_value_t *entry_of(const cyaml_schema_value_t *value) {
  while (value->type == CYAML_SEQUENCE || value->type == CYAML_SEQUENCE_FIXED)
    value = value->sequence.entry;
  return value;
}

// Adds the keys of a value, and of the values within it, to the n there are.
static size_t list_keys(const cyaml_schema_value_t *value, const char *names[KEYS_MAX], size_t n) {
  value = entry_of(value);
  if (value->type != CYAML_MAPPING) return n;
  for (const cyaml_schema_field_t *f = value->mapping.fields; f->key && n < KEYS_MAX; f++) {
    names[n++] = f->key;
    n = list_keys(&f->value, names, n);
  }
  return n;
}

// The key below which this one is known; NULL where there is none.
static const char *parent_of(const cyaml_schema_value_t *value, const char *key) {
  value = entry_of(value);
  if (value->type != CYAML_MAPPING) return NULL;
  for (const cyaml_schema_field_t *f = value->mapping.fields; f->key; f++) {
    const cyaml_schema_value_t *within = entry_of(&f->value);
    const char *deeper = parent_of(within, key);
    if (deeper) return deeper;
    if (within->type != CYAML_MAPPING) continue;
    for (const cyaml_schema_field_t *g = within->mapping.fields; g->key; g++)
      if (strcmp(g->key, key) == 0) return f->key;
  }
  return NULL;
}

static mm_status unknown_key(const char *path, const cyaml_schema_value_t *schema,
                             const char *key) {
  const char *names[KEYS_MAX], *parent = parent_of(schema, key);
  if (parent) return MM_FAIL(MM_ERR_INPUT, "%s: key '%s' belongs below '%s'", path, key, parent);
  const char *near = mm_nearest(key, names, list_keys(schema, names, 0));
  return MM_FAIL(MM_ERR_INPUT, "%s: unknown key '%s'%s%s%s", path, key,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

// The library's words for what it wanted and met, in ours.
static const char *plainly(const char *word) {
  if (strstr(word, "SEQUENCE")) return "a list";
  if (strstr(word, "MAPPING")) return "'key: value' lines";
  return "a single value";
}

// What follows `start` in the text, or NULL when it begins otherwise.
static const char *after(const char *text, const char *start) {
  size_t length = strlen(start);
  return strncmp(text, start, length) == 0 ? text + length : NULL;
}

static mm_status explain(const char *path, const cyaml_schema_value_t *schema, cyaml_err_t error,
                         const messages *m) {
  const char *reason = m->reason[0] ? m->reason : cyaml_strerror(error), *rest;
  const char *place = m->where[0] ? " " : "";
  char wanted[32], found[32], field[sizeof m->path + 16] = "";
  int had, entries;
  if (m->path[0]) snprintf(field, sizeof field, "field '%s': ", m->path);
  if (error == CYAML_ERR_OOM) return MM_FAIL(MM_ERR_MEMORY, "%s: out of memory", path);
  if ((rest = after(reason, "Unexpected key: "))) return unknown_key(path, schema, rest);
  if ((rest = after(reason, "Mapping field already seen: ")))
    return MM_FAIL(MM_ERR_INPUT, "%s: key '%s' is given twice", path, rest);
  if ((rest = after(reason, "Missing required mapping field: ")))
    return MM_FAIL(MM_ERR_INPUT, "%s: key '%s' is missing", path, rest);
  if (after(reason, "Ignoring documents"))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected one document, found more", path);
  if (sscanf(reason, "Insufficient entries (%d of %d min)", &had, &entries) == 2)
    return MM_FAIL(MM_ERR_INPUT, "%s: %sexpected at least %d entr%s%s%s", path, field, entries,
                   entries == 1 ? "y" : "ies", place, m->where);
  if (sscanf(reason, "Excessive entries (%d max)", &entries) == 1)
    return MM_FAIL(MM_ERR_INPUT, "%s: %sexpected at most %d entries%s%s", path, field, entries,
                   place, m->where);
  if (sscanf(reason, "Expecting %31[A-Z_], got event: %31[A-Z_]", wanted, found) == 2)
    return MM_FAIL(MM_ERR_INPUT, "%s: %sexpected %s, found %s%s%s", path, field, plainly(wanted),
                   plainly(found), place, m->where);
  return MM_FAIL(MM_ERR_INPUT, "%s: %s%s%s%s", path, field, reason, place, m->where);
}

mm_status mm_yaml_parse(const char *text, size_t length, const char *source,
                        const cyaml_schema_value_t *schema, void **out) {
  *out = NULL;
  messages m = { "", "", "" };
  cyaml_config_t config = config_of(&m);
  cyaml_err_t error = cyaml_load_data((const uint8_t *)text, length, &config, schema, out, NULL);
  if (error == CYAML_OK && *out && !m.reason[0]) return MM_OK;

  // also what the library only warns about: a second document would be dropped in silence
  bool empty = error == CYAML_OK && !*out;
  mm_yaml_release(schema, *out);
  *out = NULL;
  if (empty) return MM_FAIL(MM_ERR_INPUT, "%s: expected 'key: value' lines, found nothing", source);
  return explain(source, schema, error, &m);
}

mm_status mm_yaml_load(const char *path, size_t max_bytes, const cyaml_schema_value_t *schema,
                       void **out) {
  char *text;
  size_t length;
  *out = NULL;
  MM_TRY(mm_file_read(path, max_bytes, &text, &length));
  mm_status status = mm_yaml_parse(text, length, path, schema, out);
  mm_free(text);
  return status;
}

void mm_yaml_release(const cyaml_schema_value_t *schema, void *data) {
  messages m = { "", "", "" };
  cyaml_config_t config = config_of(&m);
  if (data) cyaml_free(&config, schema, data, 0);
}
