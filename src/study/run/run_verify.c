// SPDX-License-Identifier: Apache-2.0
// Whether a run is whole. Checksums show that a row is what was written, not that all rows are
// there: a page whose count of cells lost a bit hides some of them. So pages are checked as SQLite
// can, rows are set against each other (generations have no gap, each has its state and as many
// jobs as it says, curves have their points), and against the counts that `meta` keeps.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "study/run/run_internal.h"

// ---------------------------------------------------------------------------------------------
// Counts of rows. A program that does not know them adds rows without counting: a table may have
// more, never less.

// What was kept goes away again; how many processes there were is not the run's own doing.
static bool is_counted(int table) {
  return table != MM_RUN_META && table != MM_RUN_SESSION && table != MM_RUN_KEPT;
}

mm_status mm_run_put_counts(mm_run *run) {
  char text[MM_RUN_TABLES * 40] = "{";
  size_t used = 1;
  bool any = false;
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    if (!is_counted(i)) continue;
    any = any || run->added[i] > 0;
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\":%" PRId64, used > 1 ? "," : "",
                         mm_run_tables[i].name, run->rows[i] + run->added[i]);
  }
  snprintf(text + used, sizeof text - used, "}");
  return any ? mm_run_replace_row(run, MM_RUN_META, &(mm_run_meta){ "rows", text }) : MM_OK;
}

typedef struct counts {
  mm_run *run;
  int64_t stated[MM_RUN_TABLES]; // rows that were there at some time, as `meta` says
  bool no_memory;
} counts;

static int on_meta(const mm_run_row *row, void *user) {
  counts *c = user;
  cJSON *root;
  if (strcmp(row->meta.key, "rows") != 0) return 0;
  mm_status status = mm_json_parse(row->meta.value, strlen(row->meta.value), "rows", &root);
  c->no_memory = status == MM_ERR_MEMORY;
  if (status == MM_ERR_INPUT) mm_run_note_damage(c->run, "the counts of rows cannot be read");
  if (status != MM_OK) return 1;
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, mm_run_tables[i].name);
    if (cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 1e15)
      c->stated[i] = (int64_t)item->valuedouble;
  }
  cJSON_Delete(root);
  return 0;
}

static mm_status check_counts(mm_run *run) {
  counts c = { .run = run };
  MM_TRY(mm_run_each(run, MM_RUN_META, on_meta, &c));
  if (c.no_memory) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", run->file);
  for (int i = 0; i < MM_RUN_TABLES; i++)
    if (is_counted(i) && run->rows[i] < c.stated[i])
      mm_run_note_damage(run, "table '%s' lacks %" PRId64 " of its %" PRId64 " rows",
                         mm_run_tables[i].name, c.stated[i] - run->rows[i], c.stated[i]);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Rows against each other, once every one of them is intact: what does not fit, as a sentence, and
// no row where all does. Keys are numbers of 0 or more, so that a row's place among its table's
// says what its number should be.

#define PLACE_OF(key) "row_number() OVER (ORDER BY " key ") - 1"

static const struct {
  mm_run_table_id last; // of the tables that it needs: an older file may lack it
  const char *sql;
} checks[] = {
  { MM_RUN_GENERATION, "SELECT printf('generation %d is missing', place) FROM "
                       "(SELECT generation, " PLACE_OF("generation") " AS place FROM generation) "
                                                                     "WHERE generation <> place" },
  { MM_RUN_STATE, "SELECT printf('generation %d has no state', generation) FROM generation "
                  "WHERE generation NOT IN (SELECT generation FROM state)" },
  { MM_RUN_STATE,
    "SELECT printf('generation %d, which has a state, is missing', generation) FROM state "
    "WHERE generation NOT IN (SELECT generation FROM generation)" },
  { MM_RUN_JOB,
    "SELECT iif(n < jobs, printf('generation %d lacks %d of its jobs', generation, jobs - n), "
    "printf('generation %d has more jobs than it says', generation)) FROM "
    "(SELECT generation, jobs, (SELECT count(*) FROM job WHERE job.generation = g.generation) AS n "
    "FROM generation AS g) WHERE n <> jobs" },
  { MM_RUN_JOB, "SELECT printf('generation %d has more jobs than it says', generation) FROM job "
                "WHERE generation NOT IN (SELECT generation FROM generation)" },
  // all validations of a phase have the same tasks
  { MM_RUN_SCORE,
    "SELECT printf('scores of ''%s'' after generation %d are missing', map, generation) FROM "
    "(SELECT generation, map, n, tasks, max(n) OVER (PARTITION BY phase) AS most FROM "
    "(SELECT generation, phase, map, count(*) AS n, max(task) + 1 AS tasks FROM score "
    "GROUP BY generation, phase, map)) WHERE n <> tasks OR n <> most" },
  // generation 0 is the start, which takes no time
  { MM_RUN_TIMING, "SELECT printf('the timing of generation %d is missing', first + place) FROM "
                   "(SELECT generation, " PLACE_OF(
                       "generation") " AS place, "
                                     "(SELECT min(generation) FROM timing) AS first FROM timing) "
                                     "WHERE generation <> first + place" },
  { MM_RUN_TIMING, "SELECT printf('the timing of generation %d is missing', last) FROM "
                   "(SELECT max(generation) AS last FROM generation) "
                   "WHERE last <> (SELECT max(generation) FROM timing)" },
  { MM_RUN_SCORE,
    "SELECT printf('generation %d, which has scores, is missing', generation) FROM score "
    "WHERE generation NOT IN (SELECT generation FROM generation)" },
  { MM_RUN_SESSION,
    "SELECT printf('session %d is missing', place + 1) FROM "
    "(SELECT session, " PLACE_OF("session") " AS place FROM session) WHERE session <> place + 1" },
  // batches follow each other without gaps, in numbers and in places
  { MM_RUN_BATCH, "SELECT printf('batch %d is missing or has other places', place) FROM "
                  "(SELECT batch, first, " PLACE_OF(
                      "batch") " AS place, "
                               "lag(first + jobs, 1, 0) OVER (ORDER BY batch) AS next FROM batch) "
                               "WHERE batch <> place OR first <> next" },
  { MM_RUN_BATCH, "SELECT printf('the batch of training %d is missing', job) FROM training "
                  "WHERE job >= (SELECT max(first + jobs) FROM batch)" },
  { MM_RUN_CURVE,
    "SELECT printf(iif(n < points, 'the curve of training %d lacks %d of its points', "
    "'the curve of training %d has more points than it says'), job, points - n) FROM "
    "(SELECT job, points, (SELECT count(*) FROM curve WHERE curve.job = t.job) AS n "
    "FROM training AS t) WHERE n <> points" },
  { MM_RUN_CURVE,
    "SELECT printf('the curve of training %d has more points than it says', job) FROM curve "
    "WHERE job NOT IN (SELECT job FROM training)" },
  { MM_RUN_MEASURE,
    "SELECT printf('training %d, which has measures, is missing', job) FROM measure "
    "WHERE job NOT IN (SELECT job FROM training)" },
  // a measure has a value for each point of the curve, or, of single steps, between them
  { MM_RUN_MEASURE,
    "SELECT printf('''%s'' of training %d lacks some of its points', name, job) FROM "
    "(SELECT job, name, count(*) AS n FROM measure GROUP BY job, name) JOIN training USING (job) "
    "WHERE n < points - 1" },
};

static mm_status check(mm_run *run, const char *sql) {
  char sentence[MM_RUN_ANSWER_SIZE];
  MM_TRY(mm_run_answer(run, sql, sentence));
  if (sentence[0] != '\0') mm_run_note_damage(run, "%s", sentence);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

static int count_row(const mm_run_row *row, void *user) {
  (void)row;
  ++*(int64_t *)user;
  return 0;
}

// Rows of the large tables are only counted unless all are asked for.
static mm_status check_table(mm_run *run, mm_run_table_id id, bool every_row) {
  char sql[64];
  run->rows[id] = 0;
  if (every_row || (id != MM_RUN_STATE && id != MM_RUN_JOB))
    return mm_run_each(run, id, count_row, &run->rows[id]);
  snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", mm_run_tables[id].name);
  return mm_run_query(run, sql, &run->rows[id]);
}

// Pages first: a broken tree could be endless.
static mm_status check_all(mm_run *run, bool every_row) {
  MM_TRY(mm_run_check_pages(run));
  for (int i = 0; i < MM_RUN_TABLES; i++)
    MM_TRY(check_table(run, (mm_run_table_id)i, every_row));
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if ((int)checks[i].last < run->tables) MM_TRY(check(run, checks[i].sql));
  return check_counts(run);
}

static mm_status verify(mm_run *run, bool every_row) {
  bool own;
  mm_status status = mm_run_begin_reading(run, &own);
  if (status == MM_OK) status = check_all(run, every_row);
  mm_run_end_reading(run, own);
  if (status == MM_ERR_INPUT && run->damage[0] == '\0')
    mm_run_note_damage(run, "its pages do not fit together");
  if (status == MM_ERR_INPUT || (status == MM_OK && run->damage[0] != '\0'))
    status = mm_run_fail_damaged(run, run->damage);
  return status;
}

mm_status mm_run_verify(mm_run *run) {
  return verify(run, true);
}

mm_status mm_run_verify_quickly(mm_run *run) {
  return verify(run, false);
}
