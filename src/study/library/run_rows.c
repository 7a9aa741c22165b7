// SPDX-License-Identifier: Apache-2.0
// Run databases as other programs read them (mirrormap/run.h): rows of any table, column by column,
// and what is made of tables.

#include <string.h>

#include "base/json.h"
#include "study/run/run_table.h"
#include "study/transfer/transfer_rliable.h"

// ---------------------------------------------------------------------------------------------
// Tables

static const mm_run_table *find_table(const char *name) {
  for (int id = 0; id < MM_RUN_TABLES; id++)
    if (strcmp(mm_run_tables[id].name, name) == 0) return &mm_run_tables[id];
  return NULL;
}

static mm_status refuse_table(const char *name) {
  return MM_FAIL(MM_ERR_INPUT, "a run database has no table '%.40s'", name);
}

size_t mm_run_columns(const char *table, mm_run_column_info *out, size_t most) {
  static const mm_value_type types[] = {
    [MM_RUN_INTEGER] = MM_VALUE_INTEGER, [MM_RUN_UNSIGNED] = MM_VALUE_UNSIGNED,
    [MM_RUN_REAL] = MM_VALUE_REAL,       [MM_RUN_WORD] = MM_VALUE_TEXT,
    [MM_RUN_TEXT] = MM_VALUE_TEXT,       [MM_RUN_BLOB] = MM_VALUE_BYTES,
  };
  const mm_run_table *found = find_table(table);
  const size_t n = found ? (size_t)found->n : 0;
  for (size_t i = 0; i < n && i < most; i++)
    out[i] = (mm_run_column_info){ found->column[i].name, types[found->column[i].kind] };
  return n;
}

// ---------------------------------------------------------------------------------------------
// Rows

typedef struct walk {
  const mm_run_table *table;
  mm_run_column_info column[MM_RUN_COLUMNS_MAX];
  mm_study_see_row *see;
  void *user;
} walk;

static int on_row(const mm_run_row *row, void *user) {
  const walk *w = user;
  mm_run_cell cell[MM_RUN_COLUMNS_MAX];
  mm_study_value value[MM_RUN_COLUMNS_MAX];
  mm_run_cells_of(w->table, row, cell);
  for (int i = 0; i < w->table->n; i++) {
    const mm_value_type type = w->column[i].type;
    value[i] = (mm_study_value){ .name = w->column[i].name,
                                 .type = cell[i].null                ? MM_VALUE_NULL
                                         : type == MM_VALUE_UNSIGNED ? MM_VALUE_INTEGER
                                                                     : type,
                                 .integer = cell[i].integer,
                                 .real = cell[i].real,
                                 .data = cell[i].data,
                                 .bytes = cell[i].size };
  }
  return w->see(value, (size_t)w->table->n, w->user);
}

mm_status mm_run_rows(mm_run *run, const char *table, mm_study_see_row *see, void *user) {
  walk w = { .table = find_table(table), .see = see, .user = user };
  if (!w.table) return refuse_table(table);
  mm_run_columns(table, w.column, MM_RUN_COLUMNS_MAX);
  return mm_run_each(run, (mm_run_table_id)(w.table - mm_run_tables), on_row, &w);
}

mm_status mm_study_rows(const char *folder, const char *table, mm_study_see_row *see, void *user) {
  mm_run *run;
  if (!find_table(table)) return refuse_table(table);
  MM_TRY(mm_run_open(folder, MM_RUN_READ, &run));
  mm_status status = mm_run_rows(run, table, see, user);
  mm_run_close(run);
  return status;
}

// ---------------------------------------------------------------------------------------------

mm_status mm_run_last(mm_run *run, int64_t *generation, bool *found) {
  mm_run_generation row;
  const mm_status status = mm_run_last_generation(run, &row, found);
  if (status == MM_OK && *found) *generation = row.generation;
  return status;
}

mm_status mm_run_rliable(mm_run *run, bool indented, char **out) {
  cJSON *root;
  *out = NULL;
  MM_TRY(mm_transfer_rliable(run, &root));
  *out = mm_json_print(root, indented);
  cJSON_Delete(root);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the returns of a study");
}

void mm_run_text_free(char *text) {
  mm_free(text);
}
