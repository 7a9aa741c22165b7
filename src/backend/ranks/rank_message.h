// SPDX-License-Identifier: Apache-2.0
// What ranks say to each other. A message is a row of records, each with a kind; records are plain
// bytes in the order of memory, since all ranks run the same program (they compare versions first).
//
//   HELLO   who a rank is and what it has                            to rank 0, once
//   LIST    what the jobs of a list share: environments, settings, maps
//   JOB     place in the list, seed, map or search point, state      to a rank
//   STATE   where a job stands, NET its networks, RESULT its end     to rank 0
//   ALIVE   nothing else to say
//   STUCK   a job neither ends nor stops
//   STOP    let the jobs go, END leave, ECHO send this back          to a rank

#ifndef MM_BACKEND_RANK_MESSAGE_H
#define MM_BACKEND_RANK_MESSAGE_H

#include "agent/job_hooks.h"
#include "backend/backend.h"

typedef enum mm_record {
  MM_RECORD_HELLO,
  MM_RECORD_LIST,
  MM_RECORD_JOB,
  MM_RECORD_STATE,
  MM_RECORD_NET,
  MM_RECORD_RESULT,
  MM_RECORD_ALIVE,
  MM_RECORD_STUCK,
  MM_RECORD_STOP,
  MM_RECORD_END,
  MM_RECORD_ECHO
} mm_record;

// ---------------------------------------------------------------------------------------------
// Bytes. Writing without memory and reading past the end leave a mark, to be looked at once.

typedef struct mm_bytes {
  unsigned char *byte;
  size_t n, room;
  bool failed;
} mm_bytes;

void mm_bytes_put(mm_bytes *b, const void *from, size_t size);
void mm_bytes_put_block(mm_bytes *b, const void *from, size_t size); // with its size
void mm_bytes_put_text(mm_bytes *b, const char *text);
void mm_bytes_release(mm_bytes *b);

#define MM_BYTES_PUT(b, value) mm_bytes_put((b), &(value), sizeof(value))

typedef struct mm_bytes_reader {
  const unsigned char *at, *end;
  bool failed;
} mm_bytes_reader;

void mm_bytes_get(mm_bytes_reader *r, void *to, size_t size); // zeros past the end
const void *mm_bytes_get_block(mm_bytes_reader *r, size_t *size);
void mm_bytes_get_text(mm_bytes_reader *r, char *out, size_t size);

#define MM_BYTES_GET(r, value) mm_bytes_get((r), &(value), sizeof(value))

// The next record's kind; false at the end.
bool mm_bytes_next(mm_bytes_reader *r, mm_record *kind);
void mm_bytes_put_kind(mm_bytes *b, mm_record kind);

// MM_ERR_IO for a message that was cut, MM_ERR_MEMORY for one that could not be written.
mm_status mm_bytes_check(const mm_bytes *b);
mm_status mm_bytes_check_reader(const mm_bytes_reader *r);

// ---------------------------------------------------------------------------------------------
// Who a rank is

enum { MM_RANK_HOST = 64, MM_RANK_BUILD = 384 };

typedef struct mm_rank_hello {
  char host[MM_RANK_HOST], build[MM_RANK_BUILD];
  int64_t process;
  uint64_t space; // what that number counts in: the same with whoever can look after it
  int threads;    // it may use
  int devices;    // it can use
  char refusal[MM_ERROR_SIZE]; // why it cannot work, or ""
} mm_rank_hello;

// Of this process.
mm_rank_hello mm_rank_describe(size_t devices);
void mm_rank_put_hello(mm_bytes *b, const mm_rank_hello *hello);
void mm_rank_get_hello(mm_bytes_reader *r, mm_rank_hello *hello);

// ---------------------------------------------------------------------------------------------
// What jobs share: tables, by which jobs name their parts

typedef struct mm_rank_tables {
  uint32_t list; // number, so that what comes late is told apart
  bool cuda;
  int tile, threads;
  double job_timeout;
  const int *device; // [n_device] the caller's choice
  size_t n_device;

  const mm_env **env;
  const mm_map **map;
  const void **config;
  mm_algo *algo; // [n_config] whose config
  size_t n_env, n_map, n_config;
  bool own; // made by mm_rank_get_tables: all of it is released with the tables
} mm_rank_tables;

// Finds out what jobs[n] share. The parts stay theirs.
mm_status mm_rank_tables_make(mm_rank_tables *t, const mm_job *jobs, size_t n);
void mm_rank_tables_release(mm_rank_tables *t);

mm_status mm_rank_put_tables(mm_bytes *b, const mm_rank_tables *t);
mm_status mm_rank_get_tables(mm_bytes_reader *r, mm_rank_tables *t);

// ---------------------------------------------------------------------------------------------
// Jobs and their ends

// What a job's hooks want.
enum { MM_RANK_WANTS_STATE = 1, MM_RANK_WANTS_NET = 2 };

typedef struct mm_rank_task {
  mm_job job; // first; its search point, state and hooks lie in this block
  uint64_t place;
  unsigned wants;
  const char *too_long; // what of it no message could hold; NULL: nothing
  size_t size;          // of that
  mm_job_hooks hooks;   // without functions: those are the reader's
  unsigned char more[];
} mm_rank_task;

void mm_rank_put_job(mm_bytes *b, const mm_rank_tables *t, const mm_job *job, uint64_t place);

// A part of a job that no message can hold: that job's failure, and of no other.
mm_status mm_rank_fail_size(const mm_job *job, const char *what, size_t size, size_t most);

// Released with mm_free.
mm_status mm_rank_get_job(mm_bytes_reader *r, const mm_rank_tables *t, mm_rank_task **out);

// `error` is the job's sentence, or "".
void mm_rank_put_result(mm_bytes *b, uint32_t list, uint64_t place, const mm_result *result,
                        double seconds, const char *error);

typedef struct mm_rank_result {
  uint32_t list;
  uint64_t place;
  double seconds;
  mm_result result; // its curve belongs to whoever reads it
  char error[MM_ERROR_SIZE];
} mm_rank_result;

mm_status mm_rank_get_result(mm_bytes_reader *r, mm_rank_result *out);

#endif
