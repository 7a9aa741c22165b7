// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as the run.db of a run. Refused with one line that names the file, or read
// as far as it is intact; a writer takes only what is whole, and leaves it whole.

#define _XOPEN_SOURCE 700

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/run/run_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, mm_last_error());
  abort();
}

// ---------------------------------------------------------------------------------------------
// The folder, made once

static char folder[256];

static const char *name(const char *file) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  return path;
}

static void clear(void) {
  static const char *const files[] = { "run.db", "run.db-wal", "run.db-shm", "run.db-journal",
                                       "run.lock" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    unlink(name(files[i]));
}

static void remove_folder(void) {
  clear();
  rmdir(folder);
}

static void make_folder(void) {
  const char *base = getenv("TMPDIR");
  if (!base || !base[0]) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(folder, sizeof folder, "%s/mm-fuzz-XXXXXX", base);
  require(mkdtemp(folder) != NULL, "a temporary folder");
  atexit(remove_folder);
}

// ---------------------------------------------------------------------------------------------
// Reading

// Damage, or whatever the disk would say: one line that names the file.
static void require_error(mm_status status) {
  const char *text = mm_last_error();
  require(status == MM_ERR_INPUT || status == MM_ERR_IO || status == MM_ERR_MEMORY,
          "the status of a refusal");
  require(strstr(text, "run.db") != NULL, "an error names the file");
  for (const char *s = text; *s; s++)
    require((unsigned char)*s >= 0x20 && *s != 0x7F, "an error is one line without controls");
}

static int see_row(const mm_run_row *row, void *user) {
  const mm_run_table *table = user;
  mm_run_cell cell[MM_RUN_COLUMNS_MAX];
  mm_run_cells_of(table, row, cell);
  for (int i = 0; i < table->n; i++) {
    require(mm_run_cell_fault(&table->column[i], &cell[i]) == NULL, "values are in range");
    require(!isnan(cell[i].real), "no number is NaN");
    if (table->column[i].kind == MM_RUN_WORD && !cell[i].null)
      require(strlen(cell[i].data) == cell[i].size, "texts end in a zero");
  }
  return 0;
}

static void read_all(mm_run *run) {
  mm_run_generation row;
  mm_run_summary summary;
  bool found = false, damaged = false;
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    mm_status status = mm_run_each(run, (mm_run_table_id)i, see_row, (void *)&mm_run_tables[i]);
    if (status != MM_OK) require_error(status);
    damaged = damaged || status != MM_OK;
  }
  mm_status status = mm_run_last_generation(run, &row, &found);
  if (status != MM_OK) require_error(status);
  if (status == MM_OK && found && row.state_size > 0)
    require(row.state != NULL, "a state where there is a size");
  status = mm_run_summarise(run, &summary);
  if (status != MM_OK) require_error(status);
  require(strlen(summary.last) < sizeof summary.last, "times fit");
  status = mm_run_verify(run);
  if (status != MM_OK) require_error(status);
  if (damaged) require(status != MM_OK && mm_run_damage(run) != NULL, "damage is known");
}

// ---------------------------------------------------------------------------------------------
// Writing

static mm_status add_generation(mm_run *run) {
  mm_run_generation last;
  mm_run_session session = { .backend = "cpu", .isa = "portable", .threads = 1 };
  bool found;
  MM_TRY(mm_run_last_generation(run, &last, &found));
  if (found && last.generation == INT64_MAX) return MM_OK;
  mm_run_generation row = { .generation = found ? last.generation + 1 : 0, .state = "x" };
  mm_run_job job = { .generation = row.generation, .seed = 1, .value = 0.5 };
  row.state_size = 1;
  MM_TRY(mm_run_begin(run));
  MM_TRY(mm_run_session_start(run, &session));
  MM_TRY(mm_run_put_generation(run, &row));
  MM_TRY(mm_run_put_jobs(run, &job, 1));
  MM_TRY(mm_run_keep(run, 7, "xyz", 3));
  MM_TRY(mm_run_forget(run, 0));
  return mm_run_commit(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mm_run *run;
  if (folder[0] == '\0') make_folder();
  clear();
  FILE *file = fopen(name("run.db"), "wb");
  require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "a file");

  mm_status status = mm_run_open(folder, MM_RUN_SALVAGE, &run);
  require((status == MM_OK) == (run != NULL), "a run on success and only then");
  if (status == MM_OK)
    read_all(run);
  else
    require_error(status);
  mm_run_close(run);

  status = mm_run_open(folder, MM_RUN_WRITE, &run);
  require((status == MM_OK) == (run != NULL), "a run on success and only then");
  if (status == MM_OK) {
    status = add_generation(run);
    if (status != MM_OK) require_error(status);
  } else {
    require_error(status);
  }
  mm_run_close(run);
  return 0;
}
