// SPDX-License-Identifier: Apache-2.0
// Small runs in a temporary folder, for the suites of the run database. What generation g holds
// follows from g alone, so any reader can say whether it is right.

#ifndef MM_RUN_FIXTURE_H
#define MM_RUN_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "study/run/run.h"

enum { FIXTURE_MEMBERS = 6, FIXTURE_TASKS = 2, FIXTURE_JOBS = 12, FIXTURE_STATE = 3000 };

// The folder of the test in hand, and names in it.
int fixture_open(void **state);
int fixture_close(void **state);
const char *fixture_path(const char *name); // valid for the next few calls

// One run at fixture_path(name).
mm_run *fixture_create(const char *name);
void fixture_start(mm_run *run); // a session

// Puts and commits generation g with its jobs, scores (every fourth) and timing.
mm_status fixture_put(mm_run *run, int64_t g);
void fixture_fill(mm_run *run, int64_t first, int64_t last);

// A closed run with generations 0 .. last.
void fixture_make(const char *name, int64_t last);

// Reads everything that can be read and fails the test on any number that is not as it was put.
// Returns the number of generations with an intact row and state; *status is the worst of all
// calls.
int64_t fixture_read(mm_run *run, mm_status *status);

// The run at fixture_path(name) is whole and ends with generation `last`.
void fixture_expect(const char *name, int64_t last);

// Statements for the database at fixture_path(name)/run.db by a connection without any protection.
void fixture_sql(const char *name, const char *sql);

char *fixture_load(const char *path, size_t *size); // free
void fixture_store(const char *path, const char *bytes, size_t size);
bool fixture_exists(const char *path);
size_t fixture_entries(const char *folder); // files in it

#endif
