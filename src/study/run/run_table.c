// SPDX-License-Identifier: Apache-2.0
// The tables of a run database as data.

#include "study/run/run_table.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

// ---------------------------------------------------------------------------------------------
// The tables

// Statuses are stored as numbers, so these may never change their meaning.
_Static_assert(MM_OK == 0 && MM_ERR_INPUT == 1 && MM_ERR_MEMORY == 2 && MM_ERR_IO == 3 &&
                   MM_ERR_NUMERIC == 4 && MM_ERR_UNSUPPORTED == 5 && MM_ERR_INTERRUPTED == 6 &&
                   MM_ERR_DEVICE == 7 && MM_ERR_TIMEOUT == 8,
               "statuses in run databases");
#define ONE(name, meaning) +1
enum { STATUS_MAX = MM_STATUS_LIST(ONE) - 1 };
#undef ONE

const mm_run_storage mm_run_storages[] = {
  [MM_RUN_INTEGER] = { "INTEGER", SQLITE_INTEGER, 'i' },
  [MM_RUN_UNSIGNED] = { "INTEGER", SQLITE_INTEGER, 'i' },
  [MM_RUN_REAL] = { "REAL", SQLITE_FLOAT, 'r' },
  [MM_RUN_WORD] = { "TEXT", SQLITE_TEXT, 't' },
  [MM_RUN_TEXT] = { "TEXT", SQLITE_TEXT, 't' },
  [MM_RUN_BLOB] = { "BLOB", SQLITE_BLOB, 'b' },
};

// A column takes its name, place and kind from a field of ROW, the struct of the table in hand.
#define FIELD(field) (((ROW *)0)->field)
#define KIND(field)                                                                                \
  _Generic(FIELD(field),                                                                           \
      double: MM_RUN_REAL,                                                                         \
      const char *: MM_RUN_WORD,                                                                   \
      mm_run_bytes: MM_RUN_BLOB,                                                                   \
      default: MM_RUN_INTEGER)
#define COLUMN_OF(field, kind, null_allowed, max)                                                  \
  { #field, kind, null_allowed, max, offsetof(ROW, field), sizeof FIELD(field) }
#define COLUMN(field)                                                                              \
  COLUMN_OF(field, KIND(field), KIND(field) == MM_RUN_REAL,                                        \
            sizeof FIELD(field) == 4 ? INT32_MAX : INT64_MAX)
#define STATUS(field) COLUMN_OF(field, KIND(field), false, STATUS_MAX)
#define SEED(field) COLUMN_OF(field, MM_RUN_UNSIGNED, false, 0)
#define TEXT(field) COLUMN_OF(field, MM_RUN_TEXT, false, 0)
#define WORD_OR_NULL(field) COLUMN_OF(field, KIND(field), true, 0)

// clang-format off
#define ROW mm_run_meta
static const mm_run_column meta_columns[] = { COLUMN(key), TEXT(value) };
#undef ROW

#define ROW mm_run_generation
static const mm_run_column generation_columns[] = {
  COLUMN(generation), COLUMN(phase), COLUMN(sigma), COLUMN(fitness_mean), COLUMN(fitness_sd),
  COLUMN(fitness_best), COLUMN(nonfinite), COLUMN(env_steps), COLUMN(jobs),
};
#undef ROW

#define ROW mm_run_search_state
static const mm_run_column state_columns[] = { COLUMN(generation), COLUMN(state) };
#undef ROW

#define ROW mm_run_job
static const mm_run_column job_columns[] = {
  COLUMN(generation), COLUMN(member), COLUMN(task), COLUMN(env), SEED(seed), COLUMN(value),
  STATUS(status), COLUMN(env_steps),
};
#undef ROW

#define ROW mm_run_score
static const mm_run_column score_columns[] = {
  COLUMN(generation), COLUMN(phase), COLUMN(map), COLUMN(task), COLUMN(env), SEED(seed),
  COLUMN(value), COLUMN(optimal), STATUS(status), COLUMN(env_steps),
};
#undef ROW

#define ROW mm_run_timing
static const mm_run_column timing_columns[] = {
  COLUMN(generation), COLUMN(session), COLUMN(finished), COLUMN(seconds), COLUMN(seconds_jobs),
  COLUMN(seconds_validation),
};
#undef ROW

#define ROW mm_run_session
static const mm_run_column session_columns[] = {
  COLUMN(session), COLUMN(started), WORD_OR_NULL(ended), COLUMN(outcome), COLUMN(host), COLUMN(pid),
  COLUMN(backend), COLUMN(isa), COLUMN(threads), COLUMN(version), COLUMN(build),
};
#undef ROW

#define ROW mm_run_training
static const mm_run_column training_columns[] = {
  COLUMN(job), SEED(seed), STATUS(status), COLUMN(final), COLUMN(recent), COLUMN(optimal),
  COLUMN(env_steps), COLUMN(points),
};
#undef ROW

#define ROW mm_run_point
static const mm_run_column curve_columns[] = { COLUMN(job), COLUMN(step), COLUMN(value) };
#undef ROW

#define ROW mm_run_kept
static const mm_run_column kept_columns[] = { COLUMN(job), COLUMN(state) };
#undef ROW

#define ROW mm_run_batch
static const mm_run_column batch_columns[] = {
  COLUMN(batch), COLUMN(first), COLUMN(jobs), COLUMN(role), COLUMN(env), COLUMN(map),
  TEXT(settings),
};
#undef ROW

#define ROW mm_run_measure
static const mm_run_column measure_columns[] = {
  COLUMN(job), COLUMN(name), COLUMN(step), COLUMN(value),
};
#undef ROW
// clang-format on

#define TABLE(name, n_key)                                                                         \
  {                                                                                                \
#name, name##_columns, sizeof name##_columns / sizeof *name##_columns, n_key,                  \
        sizeof((mm_run_row *)0)->name                                                              \
  }

const mm_run_table mm_run_tables[MM_RUN_TABLES] = {
  [MM_RUN_META] = TABLE(meta, 1),       [MM_RUN_GENERATION] = TABLE(generation, 1),
  [MM_RUN_STATE] = TABLE(state, 1),     [MM_RUN_JOB] = TABLE(job, 3),
  [MM_RUN_SCORE] = TABLE(score, 4),     [MM_RUN_TIMING] = TABLE(timing, 1),
  [MM_RUN_SESSION] = TABLE(session, 1), [MM_RUN_TRAINING] = TABLE(training, 1),
  [MM_RUN_CURVE] = TABLE(curve, 2),     [MM_RUN_KEPT] = TABLE(kept, 1),
  [MM_RUN_BATCH] = TABLE(batch, 1),     [MM_RUN_MEASURE] = TABLE(measure, 3),
};

// ---------------------------------------------------------------------------------------------
// Cells

// Integers of 4 and 8 bytes, with or without a sign: what a column cannot hold is out of its range
// either way.
static int64_t integer_at(const void *field, size_t size) {
  int64_t wide;
  uint32_t narrow;
  memcpy(size == sizeof narrow ? (void *)&narrow : &wide, field, size);
  return size == sizeof narrow ? narrow : wide;
}

static mm_run_cell cell_of(const mm_run_column *column, const void *field) {
  mm_run_cell cell = { 0 };
  mm_run_bytes bytes;
  switch (column->kind) {
  case MM_RUN_REAL:
    memcpy(&cell.real, field, sizeof cell.real);
    cell.null = isnan(cell.real);
    if (cell.null || cell.real == 0) cell.real = 0;
    break;
  case MM_RUN_BLOB:
    memcpy(&bytes, field, sizeof bytes);
    cell.data = bytes.size > 0 ? bytes.data : "";
    cell.size = bytes.size;
    break;
  case MM_RUN_WORD:
  case MM_RUN_TEXT:
    memcpy(&cell.data, field, sizeof cell.data);
    cell.null = !cell.data;
    cell.size = cell.data ? strlen(cell.data) : 0;
    break;
  default:
    cell.integer = integer_at(field, column->size);
  }
  return cell;
}

void mm_run_cells_of(const mm_run_table *table, const void *row, mm_run_cell *cell) {
  for (int i = 0; i < table->n; i++)
    cell[i] = cell_of(&table->column[i], (const char *)row + table->column[i].offset);
}

void mm_run_row_of(const mm_run_table *table, const mm_run_cell *cell, void *row) {
  for (int i = 0; i < table->n; i++, cell++) {
    const mm_run_column *column = &table->column[i];
    void *field = (char *)row + column->offset;
    double real = cell->null ? NAN : cell->real;
    uint32_t narrow = (uint32_t)cell->integer;
    if (column->kind == MM_RUN_REAL)
      memcpy(field, &real, sizeof real);
    else if (column->kind == MM_RUN_BLOB)
      memcpy(field, &(mm_run_bytes){ cell->data, cell->size }, sizeof(mm_run_bytes));
    else if (column->kind == MM_RUN_WORD || column->kind == MM_RUN_TEXT)
      memcpy(field, &cell->data, sizeof cell->data);
    else
      memcpy(field, column->size == sizeof narrow ? (void *)&narrow : (void *)&cell->integer,
             column->size);
  }
}

static const char *text_fault(const unsigned char *text, size_t size, bool lines) {
  for (size_t i = 0, n; i < size; i += n) {
    n = mm_utf8_length(text + i, size - i);
    if (n == 0) return "text that is not UTF-8";
    bool line = lines && (text[i] == '\n' || text[i] == '\r' || text[i] == '\t');
    if (mm_utf8_is_control(text + i, n) && !line) return "a control character";
  }
  return NULL;
}

const char *mm_run_cell_fault(const mm_run_column *column, const mm_run_cell *cell) {
  if (cell->null) return column->null_allowed ? NULL : "no value";
  switch (column->kind) {
  case MM_RUN_INTEGER:
    return cell->integer < 0 || cell->integer > column->max ? "a number out of range" : NULL;
  case MM_RUN_WORD:
    if (cell->size >= MM_RUN_WORD_SIZE) return "a text that is too long";
    return text_fault(cell->data, cell->size, false);
  case MM_RUN_TEXT:
    if (cell->size > MM_RUN_VALUE_MAX) return "a text that is too long";
    return text_fault(cell->data, cell->size, true);
  case MM_RUN_BLOB:
    return cell->size > MM_RUN_VALUE_MAX ? "a value that is too long" : NULL;
  default:
    return NULL;
  }
}

bool mm_run_key_before(const mm_run_table *table, const mm_run_cell *a, const mm_run_cell *b) {
  for (int i = 0; i < table->n_key; i++) {
    if (table->column[i].kind == MM_RUN_WORD) {
      int order = strcmp(a[i].data, b[i].data); // as SQLite's BINARY: no zeros within
      if (order != 0) return order < 0;
    } else if (a[i].integer != b[i].integer) {
      return a[i].integer < b[i].integer;
    }
  }
  return false;
}

// ---------------------------------------------------------------------------------------------
// Checksums

// Half a byte at a time: small enough to be read, fast enough for a few kilobytes a generation.
static uint32_t crc_add(uint32_t crc, const void *data, size_t size) {
  static const uint32_t table[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                      0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                      0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };
  const unsigned char *byte = data;
  for (size_t i = 0; i < size; i++) {
    crc = table[(crc ^ byte[i]) & 15] ^ (crc >> 4);
    crc = table[(crc ^ (byte[i] >> 4)) & 15] ^ (crc >> 4);
  }
  return crc;
}

static uint32_t crc_number(uint32_t crc, unsigned char mark, uint64_t value) {
  unsigned char byte[9] = { mark };
  for (int i = 0; i < 8; i++)
    byte[1 + i] = (unsigned char)(value >> (8 * i));
  return crc_add(crc, byte, sizeof byte);
}

static uint32_t crc_cell(uint32_t crc, mm_run_kind kind, const mm_run_cell *cell) {
  const mm_run_storage *storage = &mm_run_storages[kind];
  bool sized = storage->type == SQLITE_TEXT || storage->type == SQLITE_BLOB;
  uint64_t bits = sized ? cell->size : (uint64_t)cell->integer;
  if (cell->null) return crc_add(crc, "0", 1);
  if (storage->type == SQLITE_FLOAT) memcpy(&bits, &cell->real, sizeof bits);
  crc = crc_number(crc, storage->mark, bits);
  return sized ? crc_add(crc, cell->data, cell->size) : crc;
}

uint32_t mm_run_crc(const mm_run_table *table, const mm_run_cell *cell) {
  uint32_t crc = crc_add(UINT32_MAX, table->name, strlen(table->name));
  for (int i = 0; i < table->n; i++)
    crc = crc_cell(crc, table->column[i].kind, &cell[i]);
  return crc ^ UINT32_MAX;
}

// ---------------------------------------------------------------------------------------------
// Texts of statements

typedef struct text {
  char *out;
  size_t used;
} text;

static void add(text *t, const char *before, const char *word) {
  int length = snprintf(t->out + t->used, MM_RUN_SQL_SIZE - t->used, "%s%s", before, word);
  t->used += (size_t)length;
}

// A single integer key is SQLite's own row number; other keys order the rows themselves.
static bool has_rowid(const mm_run_table *table) {
  return table->n_key == 1 && table->column[0].kind == MM_RUN_INTEGER;
}

static void add_keys(text *t, const mm_run_table *table) {
  for (int i = 0; i < table->n_key; i++)
    add(t, i == 0 ? "" : ", ", table->column[i].name);
}

void mm_run_sql_create(const mm_run_table *table, char out[MM_RUN_SQL_SIZE]) {
  text t = { out, 0 };
  bool rowid = has_rowid(table);
  add(&t, "CREATE TABLE ", table->name);
  for (int i = 0; i < table->n; i++) {
    const mm_run_column *c = &table->column[i];
    add(&t, i == 0 ? "(" : ", ", c->name);
    add(&t, " ", mm_run_storages[c->kind].name);
    if (i == 0 && rowid)
      add(&t, " ", "PRIMARY KEY");
    else if (!c->null_allowed)
      add(&t, " ", "NOT NULL");
  }
  add(&t, ", ", "crc INTEGER NOT NULL");
  if (!rowid) {
    add(&t, ", ", "PRIMARY KEY(");
    add_keys(&t, table);
    add(&t, "", ")");
  }
  add(&t, ") ", rowid ? "STRICT" : "STRICT, WITHOUT ROWID");
}

void mm_run_sql_insert(const mm_run_table *table, bool replace, char out[MM_RUN_SQL_SIZE]) {
  text t = { out, 0 };
  add(&t, replace ? "INSERT OR REPLACE INTO " : "INSERT INTO ", table->name);
  add(&t, " VALUES(", "?");
  for (int i = 0; i < table->n; i++)
    add(&t, ", ", "?");
  add(&t, "", ")");
}

void mm_run_sql_select(const mm_run_table *table, char out[MM_RUN_SQL_SIZE]) {
  text t = { out, 0 };
  const char *lead = table->column[0].name;
  for (int i = 0; i < table->n; i++)
    add(&t, i == 0 ? "SELECT " : ", ", table->column[i].name);
  add(&t, ", crc FROM ", table->name);
  if (table->column[0].kind == MM_RUN_INTEGER) {
    add(&t, " WHERE ", lead);
    add(&t, " >= ?1 AND ", lead);
    add(&t, " <= ", "?2");
  }
  add(&t, " ORDER BY ", "");
  add_keys(&t, table);
}
