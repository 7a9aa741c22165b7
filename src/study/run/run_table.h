// SPDX-License-Identifier: Apache-2.0
// The tables of a run database as data. Everything that creates, fills, reads, checks or exports
// them works from these descriptions; docs/run-database.md says what the columns mean.
//
// The last column of every table is `crc`: a checksum over the row, which is left out below.

#ifndef MM_EXPERIMENT_RUN_TABLE_H
#define MM_EXPERIMENT_RUN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "study/run/run.h"

enum {
  MM_RUN_TABLES_1 = MM_RUN_TRAINING, // version 1 of the format had those before,
  MM_RUN_TABLES_2 = MM_RUN_BATCH,    // version 2 those before that
  MM_RUN_COLUMNS_MAX = 12,
  MM_RUN_VALUE_MAX = MM_RUN_KEPT_MAX, // bytes of a state or a configuration
};

typedef enum mm_run_kind {
  MM_RUN_INTEGER,  // from 0 to `max`
  MM_RUN_UNSIGNED, // 64 bits; SQLite has no such thing and keeps the same bits as a signed integer
  MM_RUN_REAL,     // NULL where there is no such number
  MM_RUN_WORD,     // short text, UTF-8 without control characters
  MM_RUN_TEXT,     // UTF-8, lines and tabs allowed
  MM_RUN_BLOB
} mm_run_kind;

// How SQLite has values of a kind: the word of a statement, SQLITE_INTEGER and the like, and the
// byte that stands before them in a checksum.
typedef struct mm_run_storage {
  const char *name;
  int type;
  unsigned char mark;
} mm_run_storage;

extern const mm_run_storage mm_run_storages[];

typedef struct mm_run_column {
  const char *name;
  mm_run_kind kind;
  bool null_allowed;
  int64_t max;         // of an integer
  size_t offset, size; // of the field in the row's struct
} mm_run_column;

typedef struct mm_run_table {
  const char *name;
  const mm_run_column *column;
  int n, n_key; // columns without `crc`; the first n_key are the primary key and the order
  size_t size;  // of the row's struct
} mm_run_table;

// Key of `meta` with how the run was made. Nothing depends on it, and equal runs differ in it:
// exports leave it out.
#define MM_RUN_COMMAND_LINE "command_line"

extern const mm_run_table mm_run_tables[MM_RUN_TABLES];

// One value of a row. Texts end in a zero that `size` does not count.
typedef struct mm_run_cell {
  bool null;
  int64_t integer;
  double real; // never NaN: that is null
  const void *data;
  size_t size;
} mm_run_cell;

// Between a row's struct and its cells[table->n]. NaN and NULL pointers are null; -0 becomes 0, as
// SQLite has it.
void mm_run_cells_of(const mm_run_table *table, const void *row, mm_run_cell *cell);
void mm_run_row_of(const mm_run_table *table, const mm_run_cell *cell, void *row);

// CRC-32 (the one of zlib and PNG) over the table's name and the cells; docs/run-database.md has
// the bytes.
uint32_t mm_run_crc(const mm_run_table *table, const mm_run_cell *cell);

// NULL when the cell is as its column wants it, else what is wrong, in words.
const char *mm_run_cell_fault(const mm_run_column *column, const mm_run_cell *cell);

// Whether row a lies before row b in the order of the primary key.
bool mm_run_key_before(const mm_run_table *table, const mm_run_cell *a, const mm_run_cell *b);

// ---------------------------------------------------------------------------------------------
// Texts of statements

enum { MM_RUN_SQL_SIZE = 1024 };

void mm_run_sql_create(const mm_run_table *table, char out[MM_RUN_SQL_SIZE]);
void mm_run_sql_insert(const mm_run_table *table, bool replace, char out[MM_RUN_SQL_SIZE]);

// All rows whose first column lies in [?1, ?2], in order; without these for table meta.
void mm_run_sql_select(const mm_run_table *table, char out[MM_RUN_SQL_SIZE]);

#endif
