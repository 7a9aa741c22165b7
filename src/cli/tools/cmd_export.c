// SPDX-License-Identifier: Apache-2.0
// `export`: what is in a run database, as CSV, as lines of JSON, for TensorBoard or rliable, or as
// a map file.

#define _XOPEN_SOURCE 700

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/argument/map_argument.h"
#include "cli/core/command.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "files/csv.h"
#include "files/folder.h"
#include "mirrormap/run.h"
#include "show/events/event_export.h"

typedef struct export_args {
  command_args common;
  bool csv, jsonl, tensorboard, rliable, force;
  const char *out, *table, *map;
  uint64_t generation;
} export_args;

// Tables `state` and `kept` have nothing but blobs.
static const char *const table_names[] = {
  "meta",     "generation", "job",   "score",   "timing", "session",
  "training", "curve",      "batch", "measure", NULL,
};

#define ARGS export_args

static const option export_options[] = {
  OPTION(FLAG, "csv", csv, NULL, "comma-separated values with a header line"),
  OPTION(FLAG, "jsonl", jsonl, NULL, "one JSON object per row and line"),
  OPTION(FLAG, "tensorboard", tensorboard, NULL,
         "event files for TensorBoard, a folder for each curve"),
  OPTION(FLAG, "rliable", rliable, NULL,
         "final returns of a transfer study as rliable takes them: a matrix of runs and "
         "environments for each map, in JSON"),
  OPTION(TEXT, "map", map, "FILE", "write the mean of a generation as a map file"),
  OPTION(COUNT, "generation", generation, "G", "which generation --map takes (default: the last)",
         .high = 9e15),
  OPTION(CHOICE, "table", table, NULL, "only this table", .choices = table_names),
  OPTION(TEXT, "out", out, "FILE|DIR",
         "write there instead of stdout; a DIR gets one CSV file per table, or the event files "
         "(default for these: tensorboard in the run's folder)"),
  OPTION(FLAG, "force", force, NULL, "replace files that exist"),
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Rows as text

enum { COLUMNS_MAX = 16 };

static const char *format_number(const mm_run_column_info *column, const mm_study_value *value,
                                 char out[MM_JSON_NUMBER_SIZE]) {
  if (column->type == MM_VALUE_REAL) return mm_json_format_number(value->real, out);
  snprintf(out, MM_JSON_NUMBER_SIZE, column->type == MM_VALUE_UNSIGNED ? "%" PRIu64 : "%" PRId64,
           value->integer);
  return out;
}

// A table whose rows are coming.
typedef struct sheet {
  const char *name;
  mm_run_column_info column[COLUMNS_MAX];
  size_t n;
} sheet;

// What is undefined is an empty field, an empty text a quoted one.
static void put_csv(FILE *f, const sheet *of, const mm_study_value *value) {
  char number[MM_JSON_NUMBER_SIZE];
  for (size_t i = 0; i < of->n; i++) {
    if (i > 0) fputc(',', f);
    if (value[i].type == MM_VALUE_NULL) continue;
    if (of->column[i].type != MM_VALUE_TEXT)
      fputs(format_number(&of->column[i], &value[i], number), f);
    else if (((const char *)value[i].data)[0] == '\0')
      fputs("\"\"", f);
    else
      mm_csv_text(f, value[i].data);
  }
  fputc('\n', f);
}

static void put_json_text(FILE *f, const char *text) {
  cJSON *item = cJSON_CreateString(text);
  char *printed = mm_json_print(item, false);
  if (printed == NULL) exit(fail(EXIT_FAILED, "%s", mm_status_text(MM_ERR_MEMORY)));
  fputs(printed, f);
  mm_free(printed);
  cJSON_Delete(item);
}

// Written piece by piece: there may be millions of rows.
static void put_jsonl(FILE *f, const sheet *of, const mm_study_value *value) {
  char number[MM_JSON_NUMBER_SIZE];
  fprintf(f, "{\"table\":\"%s\"", of->name);
  for (size_t i = 0; i < of->n; i++) {
    const mm_run_column_info *column = &of->column[i];
    const bool finite = column->type != MM_VALUE_REAL || isfinite(value[i].real);
    fprintf(f, ",\"%s\":", column->name);
    if (value[i].type == MM_VALUE_NULL)
      fputs("null", f);
    else if (column->type == MM_VALUE_TEXT)
      put_json_text(f, value[i].data);
    else
      fprintf(f, finite ? "%s" : "\"%s\"", format_number(column, &value[i], number));
  }
  fputs("}\n", f);
}

// ---------------------------------------------------------------------------------------------
// Where it goes: stdout, or a file that appears under its name only when it is complete

typedef struct target {
  const char *path; // NULL: stdout
  char *temporary;
  FILE *file;
  bool csv;
  sheet of;
  uint64_t rows;
  int error; // the first that writing met
} target;

// Leaves nothing behind.
static void target_drop(target *t) {
  if (t->file != NULL && t->file != stdout) fclose(t->file);
  if (t->temporary != NULL) unlink(t->temporary);
  free(t->temporary);
  *t = (target){ .path = t->path };
}

static int target_failed(target *t) {
  int error = t->error != 0 ? t->error : errno;
  target_drop(t);
  return fail(EXIT_FAILED, "cannot write '%s': %s", t->path, strerror(error));
}

static int target_open(target *t, const char *path, bool csv) {
  *t = (target){ .path = path, .csv = csv, .file = stdout };
  if (path == NULL) return EXIT_DONE;
  t->temporary = memory_print("%s.tmp-%ld", path, (long)getpid());
  t->file = fopen(t->temporary, "wx");
  return t->file != NULL ? EXIT_DONE : target_failed(t);
}

static int target_close(target *t) {
  if (t->path == NULL) {
    target_drop(t);
    return EXIT_DONE;
  }
  if (ferror(t->file) || fflush(t->file) != 0) return target_failed(t);
  if (fsync(fileno(t->file)) != 0 && errno != EINVAL && errno != ENOTSUP) return target_failed(t);
  int code = fclose(t->file);
  t->file = NULL;
  if (code != 0 || rename(t->temporary, t->path) != 0) return target_failed(t);
  note("wrote %s (%" PRIu64 " rows)", t->path, t->rows);
  free(t->temporary);
  return EXIT_DONE;
}

// Ends the walk where nobody reads any more, or the disk is full.
static int end_line(target *t) {
  if (t->file == stdout) output_text(""); // keeps the reason of a failure
  if (ferror(t->file) && t->error == 0) t->error = errno;
  return ferror(t->file);
}

// How the run was made is no result, and differs between equal runs.
static bool is_command_line(const target *t, const mm_study_value *value) {
  return strcmp(t->of.name, "meta") == 0 && strcmp(value[0].data, "command_line") == 0;
}

static int put_row(const mm_study_value *value, size_t n, void *user) {
  target *t = user;
  (void)n;
  if (is_command_line(t, value)) return 0;
  t->rows++;
  (t->csv ? put_csv : put_jsonl)(t->file, &t->of, value);
  return end_line(t);
}

static void put_header(target *t) {
  for (size_t i = 0; i < t->of.n; i++)
    fprintf(t->file, "%s%s", i > 0 ? "," : "", t->of.column[i].name);
  fputc('\n', t->file);
  end_line(t);
}

// ---------------------------------------------------------------------------------------------
// Tables

// Damage is reported once, at the end; what is intact gets out all the same.
static int put_table(mm_run *run, const char *name, target *t) {
  t->of.name = name;
  t->of.n = mm_run_columns(name, t->of.column, COLUMNS_MAX);
  assert(t->of.n > 0 && t->of.n <= COLUMNS_MAX);
  if (t->csv) put_header(t);
  mm_status status = mm_run_rows(run, name, put_row, t);
  return status == MM_OK || status == MM_ERR_INPUT ? EXIT_DONE : fail_status(status);
}

// The tables asked for, into one file or stdout.
static int put_file(mm_run *run, const export_args *args, const char *path) {
  target t;
  int code = target_open(&t, path, args->csv);
  if (code != EXIT_DONE) return code;
  const char *only = args->table;
  if (only == NULL && args->csv)
    only = strcmp(mm_run_command(run), "learn") == 0 ? "generation" : "training";
  for (size_t i = 0; table_names[i] != NULL && code == EXIT_DONE; i++)
    if (only == NULL || strcmp(only, table_names[i]) == 0)
      code = put_table(run, table_names[i], &t);
  if (code == EXIT_DONE) return target_close(&t);
  target_drop(&t);
  return code;
}

// One file for each table that is asked for: all or none, so all are looked for before the first is
// written.
static int put_folder(mm_run *run, const export_args *args) {
  int code = EXIT_DONE;
  struct stat about;
  bool made;
  TRY(status_code(mm_folder_make(args->out, &made)));
  for (int writing = args->force; writing < 2; writing++)
    for (size_t i = 0; table_names[i] != NULL && code == EXIT_DONE; i++) {
      if (args->table != NULL && strcmp(args->table, table_names[i]) != 0) continue;
      export_args one = *args;
      one.table = table_names[i];
      char *path = memory_print("%s/%s.csv", args->out, one.table);
      if (writing)
        code = put_file(run, &one, path);
      else if (lstat(path, &about) == 0)
        code = fail_usage("option '--out': %s exists already (--force replaces it)", path);
      free(path);
    }
  return code;
}

static bool is_folder_name(const char *path) {
  struct stat about;
  size_t length = strlen(path);
  if (stat(path, &about) == 0) return S_ISDIR(about.st_mode);
  return length < 4 || strcmp(path + length - 4, ".csv") != 0;
}

static int put_tables(mm_run *run, const export_args *args) {
  if (args->out == NULL) return put_file(run, args, NULL);
  if (args->csv && is_folder_name(args->out)) return put_folder(run, args);
  int code = map_check_out(args->out, args->force);
  return code == EXIT_DONE ? put_file(run, args, args->out) : code;
}

// ---------------------------------------------------------------------------------------------
// A map

// Without --generation. Of a damaged run nobody knows which one it is.
static int find_last(mm_run *run, int64_t *out) {
  bool found;
  mm_status status = mm_run_last(run, out, &found);
  if (mm_run_damage(run) != NULL)
    return fail(EXIT_FAILED,
                "'%s' is damaged (%s): its last generation may be missing, say which one you want "
                "with --generation",
                mm_run_folder_of(run), mm_run_damage(run));
  TRY(status_code(status));
  if (!found) return fail(EXIT_USAGE, "'%s' has no generation yet", mm_run_folder_of(run));
  return EXIT_DONE;
}

static int put_map(mm_run *run, const export_args *args) {
  int64_t generation = (int64_t)args->generation;
  mm_map *map;
  int code = map_check_out(args->map, args->force);
  if (code == EXIT_DONE && !options_given(&command_export, &args->common, "generation"))
    code = find_last(run, &generation);
  if (code != EXIT_DONE) return code;
  TRY(status_code(mm_run_map_at(run, generation, &map)));
  mm_status status = mm_map_save(map, mm_map_meta(map), args->map);
  mm_map_destroy(map);
  TRY(status_code(status));
  note("wrote %s (mean of generation %" PRId64 ")", args->map, generation);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// TensorBoard

static int check_event_folder(const char *path, bool force) {
  DIR *folder = opendir(path);
  if (folder == NULL)
    return fail(EXIT_USAGE, "cannot open the folder '%s': %s", path, strerror(errno));
  size_t entries = 0;
  for (struct dirent *e; (e = readdir(folder)) != NULL;)
    entries += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
  closedir(folder);
  if (entries == 0 || force) return EXIT_DONE;
  return fail_usage("option '--out': %s exists already (--force replaces what is in it)", path);
}

static int write_events(mm_run *run, const char *path, bool force) {
  mm_event_count count;
  bool made;
  TRY(status_code(mm_folder_make(path, &made)));
  TRY(check_event_folder(path, force));
  TRY(status_code(mm_event_export(run, path, &count)));
  note("wrote %s (%zu event files, %" PRIu64 " scalars)", path, count.files, count.scalars);
  return EXIT_DONE;
}

// Into the folder `out` (NULL: tensorboard in the run's own folder), which must be new or empty
// unless `force` is given.
static int export_events(mm_run *run, const char *out, bool force) {
  if (out != NULL) return write_events(run, out, force);
  char *path = memory_print("%s/tensorboard", mm_run_folder_of(run));
  int code = write_events(run, path, force);
  free(path);
  return code;
}

// ---------------------------------------------------------------------------------------------
// rliable

static int put_rliable(mm_run *run, const export_args *args) {
  char *text;
  if (strcmp(mm_run_command(run), "transfer") != 0)
    return fail(EXIT_USAGE, "'%s' is a run of %s: --rliable is for transfer studies",
                mm_run_folder_of(run), mm_run_command(run));
  if (args->out != NULL) TRY(map_check_out(args->out, args->force));
  TRY(status_code(mm_run_rliable(run, args->out != NULL, &text)));
  mm_status status = MM_OK;
  if (args->out != NULL) {
    status = mm_file_write_atomic(args->out, text, strlen(text));
  } else {
    output_text(text);
    output_text("\n");
  }
  mm_run_text_free(text);
  TRY(status_code(status));
  if (args->out != NULL) note("wrote %s", args->out);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------

static int check_usage(const export_args *args) {
  const command_args *common = &args->common;
  if (args->csv + args->jsonl + args->tensorboard + args->rliable + (args->map != NULL) != 1)
    return fail_usage("expected one of --csv, --jsonl, --tensorboard, --rliable and --map FILE");
  if (args->table != NULL && !args->csv && !args->jsonl)
    return fail_usage("option '--table' is for --csv and --jsonl");
  if (args->map != NULL && args->out != NULL)
    return fail_usage("option '--out' is for --csv, --jsonl, --tensorboard and --rliable");
  if (args->map == NULL && options_given(&command_export, common, "generation"))
    return fail_usage("option '--generation' is for --map");
  return EXIT_DONE;
}

static int run(void *raw) {
  const export_args *args = raw;
  mm_run *run;
  int code = check_usage(args);
  if (code != EXIT_DONE) return code;
  TRY(status_code(mm_run_open(args->common.positional.value[0], MM_RUN_SALVAGE, &run)));
  mm_status status = mm_run_begin(run); // one state of the run, whatever a writer does meanwhile
  if (status != MM_OK)
    code = fail_status(status);
  else if (args->map != NULL)
    code = put_map(run, args);
  else if (args->rliable)
    code = put_rliable(run, args);
  else if (args->tensorboard)
    code = export_events(run, args->out, args->force);
  else
    code = put_tables(run, args);
  // numbers that are there are right; that none is missing takes a look at everything
  if (code == EXIT_DONE && !ferror(stdout)) status = mm_run_verify(run);
  if (code == EXIT_DONE && status != MM_OK && status != MM_ERR_INPUT) code = fail_status(status);
  if (code == EXIT_DONE && mm_run_damage(run) != NULL)
    code = fail(EXIT_FAILED, "'%s' is damaged (%s): only what is intact was written",
                mm_run_folder_of(run), mm_run_damage(run));
  mm_run_drop(run);
  mm_run_close(run);
  return code;
}

const command command_export = {
  .name = "export",
  .summary = "take the data of a run out",
  .positional = "RUN",
  .about =
      "RUN is a run folder or its run.db. --csv prints table generation of learn, training of "
      "other commands, or the one that --table names; with --out DIR it writes one file for each "
      "table. --jsonl gives all tables, or one. Numbers are the shortest text that reads back to "
      "the same bits; values that are not defined are empty or null. --tensorboard writes event "
      "files into a folder for each curve, in single precision, with undefined values left out. "
      "--rliable gives the final returns of a transfer study that ended in rliable's layout, null "
      "where there is none. --map takes the mean of a generation out as a map. A run can be "
      "exported while it "
      "is "
      "running. Of a damaged one everything intact is written; the exit code is 1 then.",
  .examples = "mirrormap export runs/learn-GridWorld-all-1 --csv > generations.csv\n"
              "mirrormap export runs/learn-GridWorld-all-1 --csv --out tables\n"
              "mirrormap export runs/learn-GridWorld-all-1 --jsonl --table score\n"
              "mirrormap export runs/learn-GridWorld-all-1 --tensorboard --out logs/all-1\n"
              "mirrormap export runs/transfer-CartPole-v1-1 --rliable --out scores.json\n"
              "mirrormap export runs/learn-GridWorld-all-1 --map half.json --generation 256",
  .options = export_options,
  .min_positional = 1,
  .max_positional = 1,
  .args_size = sizeof(export_args),
  .run = run,
};
