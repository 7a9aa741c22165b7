// SPDX-License-Identifier: Apache-2.0
// A file is split in place: fields are zero-terminated texts within it. Rows of all files are
// collected, sorted by environment, seed and map, sifted, and then laid out.

#define _POSIX_C_SOURCE 200809L

#include "base/status.h"
#include "mirrormap/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "study/stats/score_origin.h"

enum { FILE_MAX = 1 << 28, ROWS_MAX = MM_SCORE_RUNS_MAX, COLUMNS_MAX = 64 };

#define RETURN_MAX 1e100 // differences and scores of such numbers are finite

typedef struct score_row {
  size_t map, env;
  uint64_t seed;
  double final;
  size_t file, line; // where it stands, for messages
} score_row;

enum { MAP, ENV, SEED, FINAL, N_FIELD };
static const char *const field_names[N_FIELD] = { "map", "env", "seed", "final" };

// The runs of a map in an environment.
typedef struct score_cell {
  size_t n, said; // runs that are no repeats; 1 + the last file that says how some were trained
} score_cell;

typedef struct score_reader {
  mm_score_origin *origin; // [file]
  // [name] of maps and environments: 1 + the last file that says what it means
  size_t map_said[MM_SCORE_NAMES], env_said[MM_SCORE_NAMES];
  score_cell (*cell)[MM_SCORE_NAMES]; // [map][env]
  const char *source;                 // the file's path
  char *next, *end;                   // what is left of its text
  size_t file, line;
  size_t column[N_FIELD]; // of the header
  char *field[COLUMNS_MAX];
  size_t n_field;
  score_row *row; // [n_row] of all files
  size_t n_row;
} score_reader;

// ---------------------------------------------------------------------------------------------
// CSV

// A quoted field, without its quotes; *next moves behind it.
static mm_status take_quoted(score_reader *r, char **out) {
  char *from = r->next + 1, *to = from;
  const size_t line = r->line;
  *out = to;
  for (; from < r->end && (*from != '"' || from[1] == '"'); from++) {
    if (*from == '"') from++;
    if (*from == '\n') r->line++;
    *to++ = *from;
  }
  if (from >= r->end)
    return MM_FAIL(MM_ERR_INPUT, "%s:%zu: expected an end of the quoted field", r->source, line);
  r->next = from + 1;
  if (*r->next && !strchr(",\r\n", *r->next))
    return MM_FAIL(MM_ERR_INPUT, "%s:%zu: expected a comma after the quoted field", r->source,
                   r->line);
  *to = '\0';
  return MM_OK;
}

// The next field and what ends it, which is put aside: ',', '\n' or 0 at the end.
static mm_status take_field(score_reader *r, char *end, char **out) {
  *out = r->next;
  if (*r->next == '"') MM_TRY(take_quoted(r, out));
  r->next += strcspn(r->next, ",\n");
  *end = *r->next;
  char *last = r->next;
  if (last > *out && last[-1] == '\r') last[-1] = '\0';
  *last = '\0';
  if (*end != '\0') r->next++;
  return MM_OK;
}

static mm_status take_remark(score_reader *r) {
  char source[MM_ERROR_SIZE];
  snprintf(source, sizeof source, "%s:%zu: remark", r->source, r->line);
  return mm_score_origin_take(&r->origin[r->file], r->next, strcspn(r->next, "\r\n"), source);
}

// The next line that is no remark into r->field; none at the end.
static mm_status take_line(score_reader *r) {
  r->n_field = 0;
  while (*r->next == '#' || *r->next == '\n' || *r->next == '\r') {
    if (*r->next == '#') MM_TRY(take_remark(r));
    r->next += strcspn(r->next, "\n");
    if (*r->next == '\n') r->next++;
    r->line++;
  }
  for (char end = ','; end == ',' && (r->n_field > 0 || r->next < r->end);) {
    if (r->n_field == COLUMNS_MAX)
      return MM_FAIL(MM_ERR_INPUT, "%s:%zu: expected at most %d columns", r->source, r->line,
                     COLUMNS_MAX);
    MM_TRY(take_field(r, &end, &r->field[r->n_field++]));
  }
  return MM_OK;
}

static mm_status read_header(score_reader *r) {
  MM_TRY(take_line(r));
  for (int k = 0; k < N_FIELD; k++) {
    size_t i = 0;
    while (i < r->n_field && strcmp(r->field[i], field_names[k]) != 0)
      i++;
    if (i == r->n_field)
      return MM_FAIL(MM_ERR_INPUT,
                     "%s: expected the columns map, env, seed and final of a transfer study, found "
                     "no '%s'",
                     r->source, field_names[k]);
    r->column[k] = i;
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Rows

static mm_status bad_field(const score_reader *r, int which, const char *expected) {
  return MM_FAIL(MM_ERR_INPUT, "%s:%zu: column '%s': expected %s, found '%.40s'", r->source,
                 r->line, field_names[which], expected, r->field[r->column[which]]);
}

// The place of a name, which is added where it is new.
static mm_status find_name(const score_reader *r, int which, char **name, size_t *n, size_t *out) {
  const char *text = r->field[r->column[which]];
  size_t length = strlen(text);
  if (length == 0 || length >= MM_SCORE_NAME_SIZE) return bad_field(r, which, "a name");
  for (*out = 0; *out < *n && strcmp(name[*out], text) != 0;)
    ++*out;
  if (*out < *n) return MM_OK;
  if (*n == MM_SCORE_NAMES)
    return MM_FAIL(MM_ERR_INPUT, "%s:%zu: column '%s': expected at most %d names", r->source,
                   r->line, field_names[which], MM_SCORE_NAMES);
  char *copy = mm_alloc(length + 1);
  if (!copy) return MM_FAIL(MM_ERR_MEMORY, "%s: out of memory", r->source);
  name[(*n)++] = memcpy(copy, text, length + 1);
  return MM_OK;
}

static mm_status read_seed(const score_reader *r, uint64_t *out) {
  const char *text = r->field[r->column[SEED]];
  const size_t length = strlen(text);
  *out = 0;
  for (const char *s = text; *s; s++) {
    unsigned digit = (unsigned)(unsigned char)*s - '0';
    if (digit > 9 || *out > (UINT64_MAX - digit) / 10)
      return bad_field(r, SEED, "a whole number below 2^64");
    *out = *out * 10 + digit;
  }
  return length > 0 ? MM_OK : bad_field(r, SEED, "a whole number below 2^64");
}

// What earlier tables say of a row's map, environment and settings must be what this one says.
static mm_status meet_names(score_reader *r, const mm_score_table *t, const score_row *row) {
  const mm_score_origin *own = &r->origin[r->file];
  const size_t now = r->file + 1;
  const char *map = t->map[row->map], *env = t->env[row->env];
  size_t *map_said = &r->map_said[row->map], *env_said = &r->env_said[row->env];
  size_t *said = &r->cell[row->map][row->env].said;
  if (*map_said != now && mm_score_origin_has_map(own, map)) {
    if (*map_said > 0) MM_TRY(mm_score_origin_same_map(&r->origin[*map_said - 1], own, map));
    *map_said = now;
  }
  if (*said == now || !mm_score_origin_has_env(own, env)) return MM_OK;
  if (*env_said > 0 && *env_said != now) {
    MM_TRY(mm_score_origin_same_env(&r->origin[*env_said - 1], own, env));
    MM_TRY(mm_score_origin_same_settings(&r->origin[*env_said - 1], own, env, NULL));
  }
  if (*said > 0) MM_TRY(mm_score_origin_same_settings(&r->origin[*said - 1], own, env, map));
  *said = *env_said = now;
  return MM_OK;
}

static mm_status read_row(score_reader *r, mm_score_table *t) {
  score_row row = { .file = r->file, .line = r->line, .final = -INFINITY };
  for (int k = 0; k < N_FIELD; k++)
    if (r->column[k] >= r->n_field)
      return MM_FAIL(MM_ERR_INPUT, "%s:%zu: expected a column '%s' as in the header, found %zu",
                     r->source, r->line, field_names[k], r->n_field);
  const char *text = r->field[r->column[FINAL]];
  MM_TRY(find_name(r, MAP, t->map, &t->n_map, &row.map));
  MM_TRY(find_name(r, ENV, t->env, &t->n_env, &row.env));
  MM_TRY(read_seed(r, &row.seed));
  if (*text && (!mm_json_parse_number(text, &row.final) || !(fabs(row.final) <= RETURN_MAX)))
    return bad_field(r, FINAL, "a number, or nothing for a run without a return");
  MM_TRY(meet_names(r, t, &row));
  if (r->n_row == ROWS_MAX)
    return MM_FAIL(MM_ERR_INPUT, "%s: expected at most %d runs in all", r->source, ROWS_MAX);
  if (!MM_GROW(r->row, r->n_row)) return MM_FAIL(MM_ERR_MEMORY, "%s: out of memory", r->source);
  r->row[r->n_row++] = row;
  return MM_OK;
}

static mm_status read_text(score_reader *r, mm_score_table *t) {
  const size_t before = r->n_row;
  if (strlen(r->next) < (size_t)(r->end - r->next))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected text, found a zero byte", r->source);
  MM_TRY(read_header(r));
  for (r->line++; r->next < r->end; r->line++) {
    MM_TRY(take_line(r));
    if (r->n_field > 0) MM_TRY(read_row(r, t));
  }
  if (r->n_row > before) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: expected at least one run", r->source);
}

// ---------------------------------------------------------------------------------------------
// Files

// The file of a table, to be released: what was given, or runs.csv in that folder.
static char *path_of(const char *table) {
  static const char name[] = "runs.csv";
  struct stat about;
  bool folder = stat(table, &about) == 0 && S_ISDIR(about.st_mode);
  size_t size = strlen(table) + sizeof name + 1;
  char *path = mm_alloc(size);
  if (path) snprintf(path, size, "%s%s%s", table, folder ? "/" : "", folder ? name : "");
  return path;
}

static mm_status read_file(score_reader *r, const char *table, mm_score_table *t) {
  char *path = path_of(table), *text = NULL;
  size_t length;
  struct stat about;
  if (!path) return MM_FAIL(MM_ERR_MEMORY, "%s: out of memory", table);
  r->source = path;
  mm_status status = MM_OK;
  if (strcmp(path, table) != 0 && stat(path, &about) != 0)
    status = MM_FAIL(MM_ERR_INPUT, "%s: " MM_SCORE_EXPECTED "no runs.csv", table);
  if (status == MM_OK) status = mm_file_read(path, FILE_MAX, &text, &length);
  if (status == MM_OK) {
    r->next = text;
    r->end = text + length;
    r->line = 1;
    status = read_text(r, t);
  }
  mm_free(text);
  mm_free(path);
  return status;
}

// ---------------------------------------------------------------------------------------------
// The table

static int by_place(const void *left, const void *right) {
  const score_row *a = left, *b = right;
  if (a->env != b->env) return a->env < b->env ? -1 : 1;
  if (a->seed != b->seed) return a->seed < b->seed ? -1 : 1;
  if (a->map != b->map) return a->map < b->map ? -1 : 1;
  return (a->file > b->file) - (a->file < b->file);
}

static int by_seed(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

// Whether b is the run a once more; refused when it has another return.
static mm_status check_repeat(const score_reader *r, const mm_score_table *t, const score_row *a,
                              const score_row *b, bool *same) {
  *same = a->map == b->map && a->env == b->env && a->seed == b->seed;
  if (!*same || a->final == b->final) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s:%zu and %s:%zu: map '%s' on %s, seed %" PRIu64 ", has different returns; "
                 "expected tables of the same runs, or maps with names of their own",
                 r->origin[a->file].table, a->line, r->origin[b->file].table, b->line,
                 t->map[a->map], t->env[a->env], a->seed);
}

// Counts the runs of cells. Rows are sorted; of those that say the same one stays.
static mm_status count_runs(score_reader *r, const mm_score_table *t) {
  size_t n = 0;
  for (size_t i = 0; i < r->n_row; i++) {
    const score_row row = r->row[i];
    bool same = false;
    if (n > 0) MM_TRY(check_repeat(r, t, &r->row[n - 1], &row, &same));
    if (same) continue;
    r->cell[row.map][row.env].n++;
    r->row[n++] = row;
  }
  r->n_row = n;
  return MM_OK;
}

// Leaves out the runs of seeds that not all maps of an environment have.
static mm_status keep_common(score_reader *r, mm_score_table *t) {
  size_t n_map[MM_SCORE_NAMES] = { 0 }, n = 0;
  for (size_t e = 0; e < t->n_env; e++)
    for (size_t m = 0; m < t->n_map; m++) {
      if (r->cell[m][e].n == 0) continue;
      if (n_map[e]++ == 0 || r->cell[m][e].n < r->cell[t->fewest[e]][e].n) t->fewest[e] = m;
    }
  for (size_t i = 0, end; i < r->n_row; i = end) {
    const size_t e = r->row[i].env;
    for (end = i; end < r->n_row && r->row[end].env == e && r->row[end].seed == r->row[i].seed;)
      end++;
    const bool all = end - i == n_map[e];
    ++*(all ? &t->common[e] : &t->left_out[e]);
    for (size_t k = i; k < end && all; k++)
      r->row[n++] = r->row[k];
  }
  r->n_row = n;
  for (size_t e = 0; e < t->n_env; e++)
    if (t->common[e] == 0)
      return MM_FAIL(MM_ERR_INPUT,
                     "%s: expected runs of the same seeds for all maps on '%s', found no seed that "
                     "all have ('%s' has the fewest)",
                     r->source, t->env[e], t->map[t->fewest[e]]);
  return MM_OK;
}

static mm_status sift(score_reader *r, mm_score_table *t) {
  qsort(r->row, r->n_row, sizeof *r->row, by_place);
  MM_TRY(count_runs(r, t));
  return keep_common(r, t);
}

static mm_status lay_out(const score_reader *r, mm_score_table *t) {
  t->seed = mm_alloc_array(r->n_row, sizeof *t->seed);
  if (!t->seed) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", r->n_row);
  for (size_t i = 0; i < r->n_row; i++)
    t->seed[i] = r->row[i].seed;
  qsort(t->seed, r->n_row, sizeof *t->seed, by_seed);
  for (size_t i = 0; i < r->n_row; i++)
    if (i == 0 || t->seed[i] != t->seed[t->n_seed - 1]) t->seed[t->n_seed++] = t->seed[i];
  size_t n = t->n_map * t->n_env * t->n_seed;
  if (n > MM_SCORE_RUNS_MAX)
    return MM_FAIL(MM_ERR_INPUT, "%s: %zu maps on %zu environments with %zu seeds are too many",
                   r->source, t->n_map, t->n_env, t->n_seed);
  t->final = mm_alloc_array(n, sizeof *t->final);
  if (!t->final) return MM_FAIL(MM_ERR_MEMORY, "no memory for a table of %zu runs", n);
  for (size_t i = 0; i < n; i++)
    t->final[i] = NAN;
  for (size_t i = 0; i < r->n_row; i++) {
    const score_row *row = &r->row[i];
    const uint64_t *at = bsearch(&row->seed, t->seed, t->n_seed, sizeof *t->seed, by_seed);
    t->final[(row->map * t->n_env + row->env) * t->n_seed + (size_t)(at - t->seed)] = row->final;
  }
  return MM_OK;
}

static mm_status read_tables(score_reader *r, const char *const *tables, size_t n,
                             mm_score_table *t) {
  for (size_t i = 0; i < n; i++)
    r->origin[i] = (mm_score_origin){ .table = tables[i] };
  memset(r->cell, 0, MM_SCORE_NAMES * sizeof *r->cell);
  for (; r->file < n; r->file++)
    MM_TRY(read_file(r, tables[r->file], t));
  r->source = n > 0 ? tables[0] : "";
  if (r->n_row > 0) MM_TRY(sift(r, t));
  return lay_out(r, t);
}

mm_status mm_score_table_read(const char *const *tables, size_t n, mm_score_table *out) {
  score_reader r = { .origin = mm_alloc_array(n, sizeof *r.origin),
                     .cell = mm_alloc_array(MM_SCORE_NAMES, sizeof *r.cell) };
  *out = (mm_score_table){ .n_map = 0 };
  const bool able = r.origin && r.cell;
  mm_status status = MM_OK;
  if (able)
    status = read_tables(&r, tables, n, out);
  else
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu tables", n);
  for (size_t i = 0; i < n && able; i++)
    mm_score_origin_release(&r.origin[i]);
  mm_free(r.origin);
  mm_free(r.cell);
  mm_free(r.row);
  return status;
}

void mm_score_table_release(mm_score_table *t) {
  if (!t) return;
  for (size_t i = 0; i < t->n_map; i++)
    mm_free(t->map[i]);
  for (size_t i = 0; i < t->n_env; i++)
    mm_free(t->env[i]);
  mm_free(t->seed);
  mm_free(t->final);
  *t = (mm_score_table){ .n_map = 0 };
}

const double *mm_score_runs(const mm_score_table *t, size_t map, size_t env) {
  return t->final + (map * t->n_env + env) * t->n_seed;
}

size_t mm_score_find(const mm_score_table *t, const char *map) {
  size_t i = 0;
  while (i < t->n_map && strcmp(t->map[i], map) != 0)
    i++;
  return i;
}
