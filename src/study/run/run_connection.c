// SPDX-License-Identifier: Apache-2.0
// The connection to a run database: opened so that the file cannot act on its reader, checked to be
// a run of this version, closed so that the file alone holds everything.
//
// While a writer is at work the database is in WAL mode, where readers and the writer do not wait
// for each other. A clean close goes back to the plain mode, in which one file is all there is and
// read-only media are no problem.

#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/run/run_internal.h"

// The progress handler is called every so many steps of SQLite's machine, of which a second has
// some ten million.
enum { STEPS_PER_CALL = 100000, CALLS_PER_ROW = 1000 };

// ---------------------------------------------------------------------------------------------
// Errors

bool mm_run_is_damage(int code) {
  switch (code & 0xff) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_FORMAT:
  case SQLITE_TOOBIG:
  case SQLITE_INTERRUPT: // the progress handler: no row takes that long
  case SQLITE_MISMATCH:
    return true;
  default: // bad sectors are damage too
    return code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ ||
           code == SQLITE_IOERR_CORRUPTFS;
  }
}

mm_status mm_run_fail_damaged(const mm_run *run, const char *what) {
  return MM_FAIL(
      MM_ERR_INPUT,
      "'%s' is damaged (%s); it was left as it is, and 'mirrormap export' takes out what "
      "is intact",
      run->file, what);
}

static mm_status fail_full(const mm_run *run) {
  return MM_FAIL(MM_ERR_IO,
                 "'%s': no space left on the disk; what was stored before is safe: free some space "
                 "and resume",
                 run->file);
}

static mm_status fail_readonly(const mm_run *run) {
  return MM_FAIL(MM_ERR_IO,
                 "'%s' may not be written: change the permissions of the file and its folder, or "
                 "copy the folder to where it can be written",
                 run->file);
}

// What the system said last. SQLite forgets it where a commit fails, but the log's file has it.
static int system_error(const mm_run *run) {
  sqlite3_file *log = NULL;
  int error = run->db ? sqlite3_system_errno(run->db) : 0;
  if (!run->db || error != 0) return error;
  sqlite3_file_control(run->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log && log->pMethods) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
  return error;
}

static mm_status fail_system(const mm_run *run, int code) {
  int error = system_error(run);
  if (error == ENOSPC || error == EDQUOT) return fail_full(run);
  if (error == EROFS || error == EACCES) return fail_readonly(run);
  if (error == EFBIG)
    return MM_FAIL(MM_ERR_IO,
                   "'%s' may not become larger (a limit on the size of files: ulimit -f); what was "
                   "stored before is safe: raise it and resume",
                   run->file);
  return MM_FAIL(MM_ERR_IO,
                 "'%s': %s (%s); what was stored before is safe: see to the disk and resume",
                 run->file, sqlite3_errstr(code), error ? strerror(error) : "no more is known");
}

mm_status mm_run_fail(const mm_run *run, int code) {
  const char *text = run->db ? sqlite3_errmsg(run->db) : sqlite3_errstr(code);
  if ((code & 0xff) == SQLITE_NOTADB)
    return MM_FAIL(MM_ERR_INPUT, "'%s' is not a run database: expected an SQLite file", run->file);
  if (mm_run_is_damage(code)) return mm_run_fail_damaged(run, text);
  switch (code & 0xff) {
  case SQLITE_NOMEM:
    return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", run->file);
  case SQLITE_FULL:
    return fail_full(run);
  case SQLITE_READONLY:
  case SQLITE_PERM:
    return fail_readonly(run);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return MM_FAIL(
        MM_ERR_IO,
        "'%s' is locked by another process (waited %d s): end what keeps it open and try "
        "again",
        run->file, MM_RUN_BUSY_MS / 1000);
  case SQLITE_CONSTRAINT:
    return MM_FAIL(MM_ERR_INPUT, "'%s': a row with this key is there already (%s)", run->file,
                   text);
  default:
    return fail_system(run, code);
  }
}

// ---------------------------------------------------------------------------------------------
// Statements

static int lose_patience(void *user) {
  mm_run *run = user;
  return --run->patience < 0;
}

int mm_run_step(mm_run *run, sqlite3_stmt *statement) {
  run->patience = CALLS_PER_ROW;
  return sqlite3_step(statement);
}

mm_status mm_run_prepare(mm_run *run, const char *sql, sqlite3_stmt **out) {
  run->patience = CALLS_PER_ROW;
  int code = sqlite3_prepare_v2(run->db, sql, -1, out, NULL);
  return code == SQLITE_OK ? MM_OK : mm_run_fail(run, code);
}

mm_status mm_run_exec(mm_run *run, const char *sql) {
  run->patience = CALLS_PER_ROW;
  int code = sqlite3_exec(run->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? MM_OK : mm_run_fail(run, code);
}

// Some steps for every byte: it may have to work on the whole file before it gives a row.
mm_status mm_run_answer(mm_run *run, const char *sql, char out[MM_RUN_ANSWER_SIZE]) {
  sqlite3_stmt *s;
  struct stat about;
  MM_TRY(mm_run_prepare(run, sql, &s));
  if (stat(run->real, &about) == 0) run->patience += about.st_size / (STEPS_PER_CALL / 4);
  int code = sqlite3_step(s);
  const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
  snprintf(out, MM_RUN_ANSWER_SIZE, "%s", text ? text : "");
  mm_status status = code == SQLITE_ROW || code == SQLITE_DONE ? MM_OK : mm_run_fail(run, code);
  sqlite3_finalize(s);
  return status;
}

mm_status mm_run_query(mm_run *run, const char *sql, int64_t *out) {
  char text[MM_RUN_ANSWER_SIZE];
  MM_TRY(mm_run_answer(run, sql, text));
  *out = strtoll(text, NULL, 10);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// A file of somebody else

mm_status mm_run_harden(mm_run *run) {
  static const struct {
    int what, value;
  } switches[] = {
    { SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
    { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
    { SQLITE_DBCONFIG_ENABLE_FKEY, 0 },    { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
    { SQLITE_DBCONFIG_DQS_DDL, 0 },        { SQLITE_DBCONFIG_DQS_DML, 0 },
  };
  static const struct {
    int what, value;
  } limits[] = {
    { SQLITE_LIMIT_LENGTH, MM_RUN_VALUE_MAX + 1024 },
    { SQLITE_LIMIT_SQL_LENGTH, 100000 },
    { SQLITE_LIMIT_ATTACHED, 0 },
    { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
    { SQLITE_LIMIT_WORKER_THREADS, 0 },
  };
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
    sqlite3_db_config(run->db, switches[i].what, switches[i].value, NULL);
  if (run->salvage) {
    sqlite3_db_config(run->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_db_config(run->db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
  }
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    sqlite3_limit(run->db, limits[i].what, limits[i].value);
  sqlite3_extended_result_codes(run->db, 1);
  sqlite3_busy_timeout(run->db, MM_RUN_BUSY_MS);
  sqlite3_progress_handler(run->db, STEPS_PER_CALL, lose_patience, run);
  return mm_run_exec(run, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA synchronous=FULL; "
                          "PRAGMA temp_store=MEMORY");
}

// Exactly our tables, as many as this version of the format has, made by exactly our statements: no
// view, trigger, index or odd column.
static mm_status check_schema(mm_run *run) {
  sqlite3_stmt *s;
  unsigned seen = 0;
  const char *stranger = NULL;
  char expected[MM_RUN_SQL_SIZE], name[128] = "";
  int code;
  MM_TRY(mm_run_prepare(run, "SELECT name, sql FROM sqlite_schema", &s));
  while ((code = mm_run_step(run, s)) == SQLITE_ROW && !stranger) {
    const char *own = (const char *)sqlite3_column_text(s, 0);
    const char *sql = (const char *)sqlite3_column_text(s, 1);
    int i = 0;
    while (i < run->tables && (!own || strcmp(own, mm_run_tables[i].name) != 0))
      i++;
    if (i < run->tables) mm_run_sql_create(&mm_run_tables[i], expected);
    if (i == run->tables || !sql || strcmp(sql, expected) != 0 || (seen >> i & 1)) {
      snprintf(name, sizeof name, "%s", own ? own : "");
      stranger = name;
    } else {
      seen |= 1u << i;
    }
  }
  sqlite3_finalize(s);
  if (stranger)
    return MM_FAIL(MM_ERR_INPUT,
                   "'%s' is not as mirrormap makes a run: '%s' in it is not, or not in this form, "
                   "part of one",
                   run->file, stranger);
  if (code != SQLITE_DONE) return mm_run_fail(run, code);
  if (seen != (1u << run->tables) - 1)
    return MM_FAIL(MM_ERR_INPUT, "'%s' is not as mirrormap makes a run: tables are missing",
                   run->file);
  return MM_OK;
}

static mm_status check_format(mm_run *run) {
  int64_t application, version;
  MM_TRY(mm_run_query(run, "PRAGMA application_id", &application));
  MM_TRY(mm_run_query(run, "PRAGMA user_version", &version));
  if (application != MM_RUN_APPLICATION)
    return MM_FAIL(MM_ERR_INPUT, "'%s' is an SQLite file, but not the database of a run",
                   run->file);
  if (version < 1 || version > MM_RUN_SCHEMA)
    return MM_FAIL(
        MM_ERR_INPUT,
        "'%s' has version %lld of the run format, this program reads versions 1 to %d: use the "
        "%s program",
        run->file, (long long)version, MM_RUN_SCHEMA, version > MM_RUN_SCHEMA ? "newer" : "older");
  static const int tables[] = { 0, MM_RUN_TABLES_1, MM_RUN_TABLES_2, MM_RUN_TABLES };
  run->tables = tables[version];
  return check_schema(run);
}

mm_status mm_run_make_tables(mm_run *run, int first) {
  char sql[MM_RUN_SQL_SIZE];
  for (int i = first; i < MM_RUN_TABLES; i++) {
    mm_run_sql_create(&mm_run_tables[i], sql);
    MM_TRY(mm_run_exec(run, sql));
  }
  snprintf(sql, sizeof sql, "PRAGMA user_version=%d", MM_RUN_SCHEMA);
  return mm_run_exec(run, sql);
}

// An older file gets the tables that it lacks, all or none.
static mm_status bring_up(mm_run *run) {
  if (run->tables == MM_RUN_TABLES) return MM_OK;
  MM_TRY(mm_run_exec(run, "BEGIN IMMEDIATE"));
  mm_status status = mm_run_make_tables(run, run->tables);
  if (status == MM_OK) status = mm_run_exec(run, "COMMIT");
  if (status == MM_OK) run->tables = MM_RUN_TABLES;
  if (status != MM_OK && !sqlite3_get_autocommit(run->db))
    sqlite3_exec(run->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

mm_status mm_run_check_pages(mm_run *run) {
  char text[MM_RUN_ANSWER_SIZE];
  MM_TRY(mm_run_answer(run, "PRAGMA quick_check(1)", text));
  if (strcmp(text, "ok") == 0) return MM_OK;
  // "*** in database main ***" stands on a line of its own before the finding
  const char *finding = strchr(text, '\n') ? strchr(text, '\n') + 1 : text;
  mm_run_note_damage(run, "its pages do not fit together: %s", finding);
  return mm_run_fail_damaged(run, run->damage);
}

// ---------------------------------------------------------------------------------------------
// Opening

static mm_status open_file(mm_run *run, const char *name, int flags) {
  int code = sqlite3_open_v2(name, &run->db, flags, NULL);
  if (code != SQLITE_OK) return mm_run_fail(run, code);
  return mm_run_harden(run);
}

static void close_file(mm_run *run) {
  sqlite3_close(run->db);
  run->db = NULL;
}

void mm_run_beside(const mm_run *run, const char *ending, char out[MM_RUN_BESIDE_SIZE]) {
  snprintf(out, MM_RUN_BESIDE_SIZE, "%s%s", run->real, ending);
}

static off_t size_beside(const mm_run *run, const char *ending) {
  char path[MM_RUN_BESIDE_SIZE];
  struct stat about;
  mm_run_beside(run, ending, path);
  return stat(path, &about) == 0 ? about.st_size : 0;
}

// As SQLite's name for a file that nobody changes, which it then reads without any lock.
static void immutable_name(const char *path, char out[3 * MM_RUN_PATH_SIZE + 32]) {
  char *end = out + sprintf(out, "file:");
  for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
    bool plain = *c == '/' || *c == '-' || *c == '_' || *c == '.' || (*c >= '0' && *c <= '9') ||
                 (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    end += sprintf(end, plain ? "%c" : "%%%02X", *c);
  }
  sprintf(end, "?immutable=1");
}

// What keeps a reader out, other than the content: no right to write beside the file, which WAL
// mode and interrupted transactions need.
static bool is_obstructed(const mm_run *run) {
  int code = run->db ? sqlite3_errcode(run->db) & 0xff : SQLITE_OK;
  return code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM ||
         (code == SQLITE_IOERR && !mm_run_is_damage(sqlite3_extended_errcode(run->db)));
}

static mm_status attempt(mm_run *run, const char *name, int flags, bool *obstructed) {
  if (run->db) close_file(run);
  mm_status status = open_file(run, name, flags);
  if (status == MM_OK) status = check_format(run);
  *obstructed = status == MM_ERR_IO && is_obstructed(run);
  return status;
}

// SQLite opens a file that is shorter than its header says, as after a copy that broke off, only
// for those who may repair the schema. This connection cannot write at all.
static mm_status salvage(mm_run *run) {
  char before[MM_ERROR_SIZE];
  bool obstructed;
  snprintf(before, sizeof before, "%s", mm_last_error());
  run->salvage = true;
  if (attempt(run, run->real, SQLITE_OPEN_READONLY, &obstructed) != MM_OK)
    return MM_FAIL(MM_ERR_INPUT, "%s", before);
  mm_run_note_damage(run, "it ends before its end");
  return MM_OK;
}

static mm_status connect_reader(mm_run *run) {
  char name[3 * MM_RUN_PATH_SIZE + 32];
  bool obstructed;
  mm_status status = attempt(run, run->real, SQLITE_OPEN_READONLY, &obstructed);
  if (status == MM_ERR_INPUT && (sqlite3_errcode(run->db) & 0xff) == SQLITE_CORRUPT)
    return salvage(run);
  // a transaction that a crash left half done can be settled by whoever may write
  if (obstructed) status = attempt(run, run->real, SQLITE_OPEN_READWRITE, &obstructed);
  if (!obstructed) return status;
  // a log without anything in it is not missed
  if (size_beside(run, "-wal") > 0 || size_beside(run, "-journal") > 0)
    return MM_FAIL(MM_ERR_IO,
                   "'%s' cannot be read here: its last generations are still in '%s', which SQLite "
                   "reads only where it may write: copy the whole folder there",
                   run->file, size_beside(run, "-wal") > 0 ? "run.db-wal" : "run.db-journal");
  immutable_name(run->real, name);
  return attempt(run, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &obstructed);
}

static mm_run_identity identity_of(const mm_run *run, const char *ending) {
  char path[MM_RUN_BESIDE_SIZE];
  struct stat about;
  mm_run_beside(run, ending, path);
  if (stat(path, &about) != 0) return (mm_run_identity){ .known = false };
  return (mm_run_identity){ about.st_dev, about.st_ino, true };
}

static bool same_file(mm_run_identity a, mm_run_identity b) {
  return a.known && b.known && a.device == b.device && a.inode == b.inode;
}

static mm_status connect_writer(mm_run *run) {
  char mode[MM_RUN_ANSWER_SIZE];
  MM_TRY(open_file(run, run->real, SQLITE_OPEN_READWRITE));
  MM_TRY(check_format(run));
  if (sqlite3_db_readonly(run->db, "main") != 0) return fail_readonly(run);
  MM_TRY(mm_run_verify(run)); // before anything is changed
  MM_TRY(mm_run_answer(run, "PRAGMA journal_mode=WAL", mode));
  if (strcmp(mode, "wal") != 0)
    return MM_FAIL(MM_ERR_IO, "'%s' cannot be switched to a write-ahead log here: use a local disk",
                   run->file);
  // the log comes into being with the first look at the database
  MM_TRY(bring_up(run));
  MM_TRY(check_format(run));
  run->database = identity_of(run, "");
  run->wal = identity_of(run, "-wal");
  return MM_OK;
}

mm_status mm_run_connect(mm_run *run) {
  struct stat about;
  if (stat(run->real, &about) != 0)
    return MM_FAIL(MM_ERR_INPUT, "'%s': %s", run->file, strerror(errno));
  if (!S_ISREG(about.st_mode))
    return MM_FAIL(MM_ERR_INPUT, "'%s' is not a run database: expected a file", run->file);
  if (about.st_size == 0 && size_beside(run, "-wal") == 0)
    return MM_FAIL(MM_ERR_INPUT, "'%s' is not a run database: it is empty", run->file);
  if (strlen(run->real) > MM_RUN_SQLITE_PATH)
    return MM_FAIL(MM_ERR_INPUT, "the path is too long (at most %d bytes): '%.200s...'",
                   MM_RUN_SQLITE_PATH, run->file);
  if (run->access == MM_RUN_WRITE) return connect_writer(run);
  MM_TRY(connect_reader(run));
  mm_status status = mm_run_verify_quickly(run);
  return status == MM_ERR_INPUT && run->access == MM_RUN_SALVAGE ? MM_OK : status;
}

mm_status mm_run_check_place(mm_run *run) {
  if (!same_file(run->database, identity_of(run, "")))
    return MM_FAIL(MM_ERR_IO,
                   "'%s' was removed, moved or replaced while it was in use; nothing more can be "
                   "stored: if it was moved, resume it from its new place",
                   run->file);
  if (!same_file(run->wal, identity_of(run, "-wal")))
    return MM_FAIL(MM_ERR_IO,
                   "'%s-wal' was removed or replaced while it was in use; closing saves all "
                   "complete generations to '%s': resume",
                   run->file, run->file);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Closing

// All into one file. Readers that are still there keep the log alive, which is then emptied only.
static void checkpoint_log(mm_run *run) {
  char before[MM_ERROR_SIZE], mode[MM_RUN_ANSWER_SIZE] = "";
  snprintf(before, sizeof before, "%s", mm_last_error()); // what happened before says more
  sqlite3_busy_timeout(run->db, 500);
  if (same_file(run->database, identity_of(run, "")))
    mm_run_answer(run, "PRAGMA journal_mode=DELETE", mode);
  if (strcmp(mode, "delete") != 0) mm_run_exec(run, "PRAGMA wal_checkpoint(TRUNCATE)");
  if (before[0] != '\0') (void)MM_FAIL(MM_OK, "%s", before);
}

void mm_run_disconnect(mm_run *run) {
  if (!run->db) return;
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    sqlite3_finalize(run->insert[i]);
    sqlite3_finalize(run->replace[i]);
  }
  memset(run->insert, 0, sizeof run->insert);
  memset(run->replace, 0, sizeof run->replace);
  if (run->access == MM_RUN_WRITE && run->database.known) checkpoint_log(run);
  int code = sqlite3_close(run->db);
  assert(code == SQLITE_OK);
  (void)code;
  run->db = NULL;
}
