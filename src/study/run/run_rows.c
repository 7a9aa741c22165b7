// SPDX-License-Identifier: Apache-2.0
// Rows in and out. Every row that is read was checked: the types and ranges of its values, its
// place in the order, its checksum. What does not hold is left out and noted; reading goes on
// behind it.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "study/run/run_internal.h"

void mm_run_now(char out[32]) {
  struct timespec now;
  struct tm parts;
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &parts);
  size_t used = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(out + used, 32 - used, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

// n digits of a text; -1 when they are none.
static int digits(const char *text, int n) {
  int number = 0;
  for (int i = 0; i < n; i++) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = 10 * number + (text[i] - '0');
  }
  return number;
}

// Days since 1970 of a date; years count from March, so that the odd day comes last.
static int64_t days_of(int64_t year, int month, int day) {
  year -= month <= 2;
  int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
  return 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
}

double mm_run_seconds(const char *time) {
  static const char form[] = "0000-00-00T00:00:00.000Z";
  if (!time || strlen(time) != sizeof form - 1) return NAN;
  for (size_t i = 0; i < sizeof form - 1; i++)
    if (form[i] == '0' ? digits(time + i, 1) < 0 : time[i] != form[i]) return NAN;
  int year = digits(time, 4), month = digits(time + 5, 2), day = digits(time + 8, 2);
  int hour = digits(time + 11, 2), minute = digits(time + 14, 2), second = digits(time + 17, 2);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      second > 60)
    return NAN;
  int64_t whole = 86400 * days_of(year, month, day) + 3600 * hour + 60 * minute + second;
  return (double)whole + digits(time + 20, 3) / 1000.0;
}

// ---------------------------------------------------------------------------------------------
// Writing

static int bind_cell(sqlite3_stmt *s, int i, mm_run_kind kind, const mm_run_cell *cell) {
  if (cell->null) return sqlite3_bind_null(s, i);
  switch (mm_run_storages[kind].type) {
  case SQLITE_INTEGER:
    return sqlite3_bind_int64(s, i, cell->integer);
  case SQLITE_FLOAT:
    return sqlite3_bind_double(s, i, cell->real);
  case SQLITE_BLOB:
    return sqlite3_bind_blob64(s, i, cell->data, cell->size, SQLITE_STATIC);
  default:
    return sqlite3_bind_text64(s, i, cell->data, cell->size, SQLITE_STATIC, SQLITE_UTF8);
  }
}

static mm_status write_row(mm_run *run, const mm_run_table *table, sqlite3_stmt *s,
                           const void *row) {
  mm_run_cell cell[MM_RUN_COLUMNS_MAX];
  int code = SQLITE_OK;
  mm_run_cells_of(table, row, cell);
  for (int i = 0; i < table->n; i++) {
    const char *fault = mm_run_cell_fault(&table->column[i], &cell[i]);
    if (fault)
      return MM_FAIL(MM_ERR_INPUT, "'%s': column '%s' of table '%s': %s", run->file,
                     table->column[i].name, table->name, fault);
  }
  for (int i = 0; i < table->n && code == SQLITE_OK; i++)
    code = bind_cell(s, i + 1, table->column[i].kind, &cell[i]);
  // as a signed number of 32 bits it takes four bytes
  if (code == SQLITE_OK) code = sqlite3_bind_int(s, table->n + 1, (int32_t)mm_run_crc(table, cell));
  if (code == SQLITE_OK) code = mm_run_step(run, s);
  mm_status status = code == SQLITE_DONE ? MM_OK : mm_run_fail(run, code);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s); // they point to the caller's memory
  return status;
}

static mm_status write_prepared(mm_run *run, mm_run_table_id id, bool replace, sqlite3_stmt **s,
                                const void *row) {
  char sql[MM_RUN_SQL_SIZE];
  if (!*s) {
    mm_run_sql_insert(&mm_run_tables[id], replace, sql);
    MM_TRY(mm_run_prepare(run, sql, s));
  }
  return write_row(run, &mm_run_tables[id], *s, row);
}

mm_status mm_run_put_row(mm_run *run, mm_run_table_id id, const void *row) {
  MM_TRY(write_prepared(run, id, false, &run->insert[id], row));
  run->added[id]++;
  return MM_OK;
}

mm_status mm_run_replace_row(mm_run *run, mm_run_table_id id, const void *row) {
  return write_prepared(run, id, true, &run->replace[id], row);
}

// ---------------------------------------------------------------------------------------------
// Reading

void mm_run_note_damage(mm_run *run, const char *format, ...) {
  if (run->damage[0] != '\0') return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(run->damage, sizeof run->damage, format, arguments);
  va_end(arguments);
}

const char *mm_run_damage(const mm_run *run) {
  return run->damage[0] != '\0' ? run->damage : NULL;
}

typedef struct walk {
  mm_run *run;
  const mm_run_table *table;
  sqlite3_stmt *statement;
  mm_run_see *see;
  void *user;
  // the last row met
  mm_run_cell last[MM_RUN_COLUMNS_MAX];
  char word[MM_RUN_WORD_SIZE]; // the text in its key
  bool any;
  int64_t from, to; // what was asked for
  int64_t damaged;
  bool stopped, no_memory;
} walk;

static const char *take_cell(walk *w, int i, mm_run_cell *out) {
  sqlite3_stmt *s = w->statement;
  const mm_run_column *column = &w->table->column[i];
  int type = sqlite3_column_type(s, i);
  *out = (mm_run_cell){ .null = type == SQLITE_NULL };
  if (!out->null && type != mm_run_storages[column->kind].type) return "a value of the wrong type";
  if (type == SQLITE_INTEGER) out->integer = sqlite3_column_int64(s, i);
  if (type == SQLITE_FLOAT) out->real = sqlite3_column_double(s, i);
  if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
    out->data = type == SQLITE_TEXT ? sqlite3_column_text(s, i) : sqlite3_column_blob(s, i);
    out->size = (size_t)sqlite3_column_bytes(s, i);
    if (!out->data && (type == SQLITE_TEXT || out->size > 0)) w->no_memory = true;
    if (!out->data) out->data = "";
    if (w->no_memory) return "no memory";
  }
  return mm_run_cell_fault(column, out);
}

// Remembers the key of the row in hand, of which the cells die with it.
static void keep_key(walk *w, const mm_run_cell *cell) {
  memcpy(w->last, cell, (size_t)w->table->n_key * sizeof *cell);
  for (int i = 0; i < w->table->n_key; i++) {
    if (w->table->column[i].kind != MM_RUN_WORD || !cell[i].data) continue;
    memcpy(w->word, cell[i].data, cell[i].size + 1);
    w->last[i].data = w->word;
  }
  w->any = true;
}

// The row that the statement stands on: SQLITE_OK when it was seen or skipped, SQLITE_CORRUPT when
// nothing behind it can be trusted.
static int take_row(walk *w) {
  enum { DAMAGED_MAX = 1000000 };
  mm_run_cell cell[MM_RUN_COLUMNS_MAX] = { 0 };
  const mm_run_table *t = w->table;
  const char *fault = NULL;
  int good = 0;
  while (good < t->n && (fault = take_cell(w, good, &cell[good])) == NULL)
    good++;
  if (w->no_memory) return SQLITE_NOMEM;
  if (good >= t->n_key) {
    // rows met twice, out of order or outside of what was asked for are those of a broken tree,
    // which could be endless
    if (w->any && !mm_run_key_before(t, w->last, cell)) return SQLITE_CORRUPT;
    if (t->column[0].kind == MM_RUN_INTEGER &&
        (cell[0].integer < w->from || cell[0].integer > w->to))
      return SQLITE_CORRUPT;
    keep_key(w, cell);
  }
  if (!fault && (sqlite3_column_type(w->statement, t->n) != SQLITE_INTEGER ||
                 sqlite3_column_int64(w->statement, t->n) != (int32_t)mm_run_crc(t, cell)))
    fault = "a wrong checksum";
  if (fault) {
    mm_run_note_damage(w->run, "a row of table '%s' has %s", t->name, fault);
    return ++w->damaged > DAMAGED_MAX ? SQLITE_CORRUPT : SQLITE_OK;
  }
  mm_run_row row = { 0 };
  mm_run_row_of(t, cell, &row);
  w->stopped = w->see(&row, w->user) != 0;
  return SQLITE_OK;
}

// All rows from `from` on, as far as they can be reached.
static int pass(walk *w, int64_t from, int64_t to) {
  w->from = from;
  w->to = to;
  sqlite3_reset(w->statement);
  if (sqlite3_bind_parameter_count(w->statement) > 0) {
    sqlite3_bind_int64(w->statement, 1, from);
    sqlite3_bind_int64(w->statement, 2, to);
  }
  int code;
  while ((code = mm_run_step(w->run, w->statement)) == SQLITE_ROW) {
    code = take_row(w);
    if (code != SQLITE_OK || w->stopped) return code == SQLITE_OK ? SQLITE_DONE : code;
  }
  return code;
}

// Over a hole in the tree: tries every key behind it, so that nothing readable is left out. The
// hole cannot be wider than the file has room for rows.
static int pass_holes(walk *w, int64_t from, int64_t to, int code) {
  enum { PROBES_MAX = 100000, ROW_BYTES = 32 };
  struct stat about;
  int64_t probes = PROBES_MAX;
  if (stat(w->run->real, &about) == 0 && about.st_size / ROW_BYTES < probes)
    probes = about.st_size / ROW_BYTES;
  int64_t next = w->any ? w->last[0].integer : from;
  if (next < 0) next = -1;
  for (int64_t i = 0; i < probes && mm_run_is_damage(code) && next < to; i++) {
    next++;
    code = pass(w, next, to);
    if (w->any && w->last[0].integer > next) next = w->last[0].integer;
  }
  return code;
}

mm_status mm_run_each_from(mm_run *run, mm_run_table_id id, int64_t from, int64_t to,
                           mm_run_see *see, void *user) {
  walk w = { .run = run, .table = &mm_run_tables[id], .see = see, .user = user };
  char sql[MM_RUN_SQL_SIZE];
  if ((int)id >= run->tables) return MM_OK; // an older file without any
  mm_run_sql_select(w.table, sql);
  MM_TRY(mm_run_prepare(run, sql, &w.statement));
  int code = pass(&w, from, to);
  if (mm_run_is_damage(code)) {
    w.damaged++;
    mm_run_note_damage(run, "table '%s': %s", w.table->name,
                       code == SQLITE_CORRUPT ? "pages are damaged" : sqlite3_errmsg(run->db));
    if (w.table->column[0].kind == MM_RUN_INTEGER) code = pass_holes(&w, from, to, code);
  }
  mm_status status = MM_OK;
  if (code != SQLITE_DONE && !mm_run_is_damage(code))
    status = mm_run_fail(run, code);
  else if (w.damaged > 0)
    status = MM_FAIL(MM_ERR_INPUT, "'%s' is damaged (%s): not everything could be read", run->file,
                     run->damage);
  sqlite3_finalize(w.statement);
  return status;
}

mm_status mm_run_each(mm_run *run, mm_run_table_id id, mm_run_see *see, void *user) {
  return mm_run_each_from(run, id, INT64_MIN, INT64_MAX, see, user);
}
