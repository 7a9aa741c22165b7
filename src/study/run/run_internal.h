// SPDX-License-Identifier: Apache-2.0
// What the files of the run database share: the connection, its lock, and rows in and out.

#ifndef MM_EXPERIMENT_RUN_INTERNAL_H
#define MM_EXPERIMENT_RUN_INTERNAL_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "study/run/run_table.h"

enum {
  MM_RUN_APPLICATION = 0x6d6d3164, // "mm1d", in the header of every run.db
  MM_RUN_BUSY_MS = 5000,           // how long to wait for another process's lock
  MM_RUN_SQLITE_PATH = 480         // what SQLite takes, less the endings that it appends
};

// A file by what it is, not by its name: names can be given to something else meanwhile.
typedef struct mm_run_identity {
  dev_t device;
  ino_t inode;
  bool known;
} mm_run_identity;

// The session of this process; all of its row is written again when the session ends.
typedef struct mm_run_self {
  int64_t number; // 0: none yet
  char started[32];
  char host[MM_RUN_WORD_SIZE], backend[MM_RUN_WORD_SIZE], isa[MM_RUN_WORD_SIZE];
  int threads;
} mm_run_self;

struct mm_run {
  mm_run_access access;
  char folder[MM_RUN_PATH_SIZE]; // as the caller spells it, for messages
  char file[MM_RUN_PATH_SIZE];   // folder/run.db, likewise
  char real[MM_RUN_PATH_SIZE];   // the same file by an absolute path without links
  char *command, *config;
  char *command_line; // NULL: not known
  sqlite3 *db;
  int lock; // descriptor of run.lock, or -1
  mm_run_identity database, wal;
  int tables; // in the file: the first so many of mm_run_tables
  sqlite3_stmt *insert[MM_RUN_TABLES], *replace[MM_RUN_TABLES];
  bool salvage;     // opened for reading although its size is wrong
  int64_t patience; // how often the progress handler may still be called

  int64_t rows[MM_RUN_TABLES]; // as the last commit left them
  bool transaction;
  int64_t added[MM_RUN_TABLES]; // in this transaction
  mm_run_generation pending;    // written by the commit
  bool has_pending;
  int64_t jobs, job_generation; // put in this transaction
  int64_t last;                 // greatest generation committed, -1 for none
  mm_run_self self, self_before;

  void *state; // a blob that the caller looks at
  size_t state_room;
  char damage[MM_ERROR_SIZE]; // the first that was met, or ""
};

// ---------------------------------------------------------------------------------------------
// Connection (run_connection.c)

// Opens run->real with run->access; what is no run database of a version that is known is refused.
// A writer brings an older one up to this version. Closing brings everything into the one file.
mm_status mm_run_connect(mm_run *run);
void mm_run_disconnect(mm_run *run);

// Switches everything off by which a file could act on its reader, and bounds what it can use.
mm_status mm_run_harden(mm_run *run);

mm_status mm_run_exec(mm_run *run, const char *sql);

// The first value that a statement gives, as text; "" for none. The other as an integer, 0 for
// none.
enum { MM_RUN_ANSWER_SIZE = 512 };
mm_status mm_run_answer(mm_run *run, const char *sql, char out[MM_RUN_ANSWER_SIZE]);
mm_status mm_run_query(mm_run *run, const char *sql, int64_t *out);

mm_status mm_run_prepare(mm_run *run, const char *sql, sqlite3_stmt **out);

// sqlite3_step, which gives up with SQLITE_INTERRUPT when a single row takes for ever.
int mm_run_step(mm_run *run, sqlite3_stmt *statement);

// The sentence for a result code of SQLite.
mm_status mm_run_fail(const mm_run *run, int code);
bool mm_run_is_damage(int code);
mm_status mm_run_fail_damaged(const mm_run *run, const char *what);

// The name of a file beside the database: run->real with that ending.
enum { MM_RUN_BESIDE_SIZE = MM_RUN_PATH_SIZE + 16 };
void mm_run_beside(const mm_run *run, const char *ending, char out[MM_RUN_BESIDE_SIZE]);

// Fails when the files are no longer the ones that were opened.
mm_status mm_run_check_place(mm_run *run);

// Structure of all pages; notes what is damaged.
mm_status mm_run_check_pages(mm_run *run);

// Makes the tables from number `first` on and notes the version; within a transaction.
mm_status mm_run_make_tables(mm_run *run, int first);

// ---------------------------------------------------------------------------------------------
// Lock (run_lock.c): run.lock beside the database, held by flock, so that it ends with the process

// `real`: path of the database. `file` names it in errors.
mm_status mm_run_lock(const char *real, const char *file, int *out);
void mm_run_unlock(const char *real, int lock);
bool mm_run_is_locked(const char *real);

// The command line that the call in hand knows of, as text (mm_free, run_argv.c); NULL for none.
mm_status mm_run_format_argv(char **out);

// ---------------------------------------------------------------------------------------------
// Rows (run_rows.c)

// Writes the struct of a row, as a new one or in the place of another; its checksum is added.
mm_status mm_run_put_row(mm_run *run, mm_run_table_id id, const void *row);
mm_status mm_run_replace_row(mm_run *run, mm_run_table_id id, const void *row);

// What is read in between is of one time: within the caller's transaction, or an own one.
mm_status mm_run_begin_reading(mm_run *run, bool *own);
void mm_run_end_reading(mm_run *run, bool own);

// Whether a run is whole (run_verify.c): as mm_run_verify, but rows of `state` and `job` are only
// counted. They are most of a file, and checked when they are read.
mm_status mm_run_verify_quickly(mm_run *run);

// Notes in `meta` how many rows the tables have as the transaction in hand leaves them.
mm_status mm_run_put_counts(mm_run *run);

void mm_run_note_damage(mm_run *run, const char *format, ...) MM_CHECK_FORMAT(2, 3);

// Now, as "2026-01-31T12:34:56.789Z".
void mm_run_now(char out[32]);

#endif
