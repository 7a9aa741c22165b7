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

// What a training says that it has: points that have yet to be met.
typedef struct expected {
  int64_t job, points, left;
} expected;

// Rows that follow each other and belong together, of which a list has so many.
typedef struct group {
  int64_t generation, phase, task;
  char map[MM_RUN_WORD_SIZE];
  int64_t size; // of the groups before in this phase; 0: not known
} group;

typedef struct measured {
  int64_t job, n;
  char name[MM_RUN_WORD_SIZE];
  const expected *training;
} measured;

typedef struct audit {
  mm_run *run;
  int64_t stated[MM_RUN_TABLES]; // rows that were there at some time, as `meta` says
  int64_t rows[MM_RUN_TABLES];   // rows met
  int64_t *jobs;                 // [n_generation] said, minus those met
  size_t n_generation;
  int64_t timed;  // generation of the last row of `timing`
  int64_t places; // that the batches have
  expected *training;
  size_t n_training, next;
  group score;
  measured measure;
  bool every_row; // look into those too that take most of the room and are checked when they are
                  // read
  bool no_memory;
} audit;

#define DAMAGED(a, ...) (mm_run_note_damage((a)->run, __VA_ARGS__), 1)

// ---------------------------------------------------------------------------------------------
// Counts of rows. A program that does not know them adds rows without counting: a table may have
// more, never less.

// What was kept goes away again; how many processes there were is not the run's own doing.
bool mm_run_is_counted(mm_run_table_id id) {
  return id != MM_RUN_META && id != MM_RUN_SESSION && id != MM_RUN_KEPT;
}

mm_status mm_run_put_counts(mm_run *run) {
  char text[MM_RUN_TABLES * 40] = "{";
  size_t used = 1;
  bool any = false;
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    if (!mm_run_is_counted((mm_run_table_id)i)) continue;
    any = any || run->added[i] > 0;
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\":%" PRId64, used > 1 ? "," : "",
                         mm_run_tables[i].name, run->rows[i] + run->added[i]);
  }
  snprintf(text + used, sizeof text - used, "}");
  return any ? mm_run_replace_row(run, MM_RUN_META, &(mm_run_meta){ "rows", text }) : MM_OK;
}

static int see_meta(audit *a, const mm_run_row *row) {
  cJSON *root;
  if (strcmp(row->meta.key, "rows") != 0) return 0;
  mm_status status = mm_json_parse(row->meta.value, strlen(row->meta.value), "rows", &root);
  a->no_memory = status == MM_ERR_MEMORY;
  if (status != MM_OK) return a->no_memory ? 1 : DAMAGED(a, "the counts of rows cannot be read");
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, mm_run_tables[i].name);
    if (cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 1e15)
      a->stated[i] = (int64_t)item->valuedouble;
  }
  cJSON_Delete(root);
  return 0;
}

static void check_counts(audit *a) {
  for (int i = 0; i < MM_RUN_TABLES; i++)
    if (mm_run_is_counted((mm_run_table_id)i) && a->rows[i] < a->stated[i])
      mm_run_note_damage(a->run, "table '%s' lacks %" PRId64 " of its %" PRId64 " rows",
                         mm_run_tables[i].name, a->stated[i] - a->rows[i], a->stated[i]);
}

// ---------------------------------------------------------------------------------------------
// A search

static int see_generation(audit *a, const mm_run_row *row) {
  if (row->generation.generation != (int64_t)a->n_generation)
    return DAMAGED(a, "generation %zu is missing", a->n_generation);
  a->no_memory = !MM_GROW(a->jobs, a->n_generation);
  if (a->no_memory) return 1;
  a->jobs[a->n_generation++] = row->generation.jobs;
  return 0;
}

static int see_state(audit *a, const mm_run_row *row) {
  return row->state.generation != a->rows[MM_RUN_STATE]; // what is missing is said at the end
}

static int see_job(audit *a, const mm_run_row *row) {
  uint64_t g = (uint64_t)row->job.generation;
  if (g >= a->n_generation || a->jobs[g] == 0)
    return DAMAGED(a, "generation %" PRIu64 " has more jobs than it says", g);
  a->jobs[g]--;
  return 0;
}

// Generation 0 is the start, which takes no time.
static int see_timing(audit *a, const mm_run_row *row) {
  bool first = a->rows[MM_RUN_TIMING] == 0;
  if (!first && row->timing.generation != a->timed + 1)
    return DAMAGED(a, "the timing of generation %" PRId64 " is missing", a->timed + 1);
  a->timed = row->timing.generation;
  return 0;
}

// All validations of a phase have the same tasks.
static int end_score(audit *a) {
  group *s = &a->score;
  if (a->rows[MM_RUN_SCORE] == 0) return 0;
  if (s->size > 0 && s->task + 1 != s->size)
    return DAMAGED(a, "scores of '%s' after generation %" PRId64 " are missing", s->map,
                   s->generation);
  s->size = s->task + 1;
  return 0;
}

static int see_score(audit *a, const mm_run_row *any) {
  const mm_run_score *row = &any->score;
  group *s = &a->score;
  bool same = a->rows[MM_RUN_SCORE] > 0 && s->generation == row->generation &&
              s->phase == row->phase && strcmp(s->map, row->map) == 0;
  if (!same && end_score(a) != 0) return 1;
  if (!same && s->phase != row->phase) s->size = 0;
  int64_t task = same ? s->task + 1 : 0;
  s->generation = row->generation;
  s->phase = row->phase;
  s->task = row->task;
  snprintf(s->map, sizeof s->map, "%s", row->map);
  if (s->task == task) return 0;
  return DAMAGED(a, "scores of '%s' after generation %" PRId64 " are missing", s->map,
                 s->generation);
}

static void check_search(audit *a) {
  int64_t last = (int64_t)a->n_generation - 1;
  if (a->rows[MM_RUN_STATE] != last + 1)
    mm_run_note_damage(a->run, "generation %" PRId64 " has no state", a->rows[MM_RUN_STATE]);
  for (size_t g = 0; g < a->n_generation; g++)
    if (a->jobs[g] > 0)
      mm_run_note_damage(a->run, "generation %zu lacks %" PRId64 " of its jobs", g, a->jobs[g]);
  if (a->rows[MM_RUN_TIMING] > 0 && a->timed != last)
    mm_run_note_damage(a->run, "the timing of generation %" PRId64 " is missing", last);
  if (a->rows[MM_RUN_SCORE] > 0 && a->score.generation > last)
    mm_run_note_damage(a->run, "generation %" PRId64 ", which has scores, is missing",
                       a->score.generation);
}

// Numbered from 1.
static int see_session(audit *a, const mm_run_row *row) {
  int64_t next = a->rows[MM_RUN_SESSION] + 1;
  return row->session.session == next ? 0 : DAMAGED(a, "session %" PRId64 " is missing", next);
}

// ---------------------------------------------------------------------------------------------
// Trainings

// Batches follow each other without gaps, in numbers and in places.
static int see_batch(audit *a, const mm_run_row *any) {
  const mm_run_batch *row = &any->batch;
  int64_t next = a->rows[MM_RUN_BATCH];
  if (row->batch != next || row->first != a->places || row->jobs > INT64_MAX - a->places)
    return DAMAGED(a, "batch %" PRId64 " is missing or has other places", next);
  a->places += row->jobs;
  return 0;
}

static int see_training(audit *a, const mm_run_row *row) {
  int64_t job = row->training.job, points = row->training.points;
  if (a->rows[MM_RUN_BATCH] > 0 && job >= a->places)
    return DAMAGED(a, "the batch of training %" PRId64 " is missing", job);
  a->no_memory = !MM_GROW(a->training, a->n_training);
  if (a->no_memory) return 1;
  a->training[a->n_training++] = (expected){ job, points, points };
  return 0;
}

// The training of a row, where rows come in the order of the jobs; NULL: there is none.
static expected *training_of(audit *a, int64_t job) {
  while (a->next < a->n_training && a->training[a->next].job < job)
    a->next++;
  expected *e = a->next < a->n_training ? &a->training[a->next] : NULL;
  return e && e->job == job ? e : NULL;
}

static int see_point(audit *a, const mm_run_row *row) {
  expected *e = training_of(a, row->curve.job);
  if (!e || e->left == 0)
    return DAMAGED(a, "the curve of training %" PRId64 " has more points than it says",
                   row->curve.job);
  e->left--;
  return 0;
}

static void check_curves(audit *a) {
  for (size_t i = 0; i < a->n_training; i++)
    if (a->training[i].left > 0)
      mm_run_note_damage(a->run,
                         "the curve of training %" PRId64 " lacks %" PRId64 " of its points",
                         a->training[i].job, a->training[i].left);
  a->next = 0;
}

// A measure has a value for each point of the curve, or, of single steps, between them.
static int end_measure(audit *a) {
  const measured *m = &a->measure;
  if (!m->training || m->n >= m->training->points - 1) return 0;
  return DAMAGED(a, "'%s' of training %" PRId64 " lacks some of its points", m->name, m->job);
}

static int see_measure(audit *a, const mm_run_row *row) {
  measured *m = &a->measure;
  int64_t job = row->measure.job;
  if (!m->training || m->job != job || strcmp(m->name, row->measure.name) != 0) {
    if (end_measure(a) != 0) return 1;
    *m = (measured){ .job = job, .training = training_of(a, job) };
    snprintf(m->name, sizeof m->name, "%s", row->measure.name);
  }
  m->n++;
  return m->training ? 0 : DAMAGED(a, "training %" PRId64 ", which has measures, is missing", job);
}

// ---------------------------------------------------------------------------------------------
// All tables

typedef int see_row(audit *a, const mm_run_row *row);

typedef struct visitor {
  audit *a;
  mm_run_table_id id;
  see_row *see;
} visitor;

static int visit(const mm_run_row *row, void *user) {
  const visitor *v = user;
  if (v->see && v->see(v->a, row) != 0) return 1;
  v->a->rows[v->id]++;
  return 0;
}

// Only how many rows there are of each generation, by the keys of a tree that was found intact.
static mm_status count_keys(const visitor *v) {
  mm_run *run = v->a->run;
  sqlite3_stmt *s;
  char sql[64];
  int code, stop = 0;
  snprintf(sql, sizeof sql, "SELECT generation FROM %s ORDER BY 1", mm_run_tables[v->id].name);
  MM_TRY(mm_run_prepare(run, sql, &s));
  while (!stop && (code = mm_run_step(run, s)) == SQLITE_ROW) {
    // both tables begin with that column
    const mm_run_row row = { .job = { .generation = sqlite3_column_int64(s, 0) } };
    stop = visit(&row, (void *)v);
  }
  mm_status status = stop || code == SQLITE_DONE ? MM_OK : mm_run_fail(run, code);
  sqlite3_finalize(s);
  return status;
}

static mm_status visit_table(const visitor *v) {
  bool large = v->id == MM_RUN_STATE || v->id == MM_RUN_JOB;
  if (large && !v->a->every_row) return count_keys(v);
  return mm_run_each(v->a->run, v->id, visit, (void *)v);
}

static mm_status check_rows(audit *a) {
  static const struct {
    mm_run_table_id id;
    see_row *see;
  } part[MM_RUN_TABLES] = {
    { MM_RUN_META, see_meta },         { MM_RUN_GENERATION, see_generation },
    { MM_RUN_STATE, see_state },       { MM_RUN_JOB, see_job },
    { MM_RUN_SCORE, see_score },       { MM_RUN_TIMING, see_timing },
    { MM_RUN_SESSION, see_session },   { MM_RUN_BATCH, see_batch },
    { MM_RUN_TRAINING, see_training }, { MM_RUN_CURVE, see_point },
    { MM_RUN_MEASURE, see_measure },   { MM_RUN_KEPT, NULL },
  };
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    const visitor v = { a, part[i].id, part[i].see };
    MM_TRY(visit_table(&v));
    if (a->no_memory) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", a->run->file);
    if (v.id == MM_RUN_CURVE) check_curves(a);
  }
  (void)end_score(a);
  (void)end_measure(a);
  check_search(a);
  check_counts(a);
  return MM_OK;
}

// Pages first: a broken tree could be endless.
static mm_status verify(mm_run *run, bool every_row) {
  bool own;
  audit a = { .run = run, .every_row = every_row };
  mm_status status = mm_run_begin_reading(run, &own);
  if (status == MM_OK) status = mm_run_check_pages(run);
  if (status == MM_OK) status = check_rows(&a);
  mm_run_end_reading(run, own);
  mm_free(a.jobs);
  mm_free(a.training);
  memcpy(run->rows, a.rows, sizeof run->rows);
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
