// SPDX-License-Identifier: Apache-2.0
// What a run has of its jobs: batches, results with their curves, states and networks.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "study/jobs/job_store_internal.h"

// What rows say that no list of jobs has; leaves the sentence for the end of the walk.
typedef struct reader {
  mm_job_store *s;
  size_t at; // found training whose points or bytes come next
  bool no_curves;
  mm_status status;
} reader;

static int spoil(reader *r, const char *what, int64_t job) {
  r->status = MM_FAIL(MM_ERR_INPUT, "%s/run.db: training %" PRId64 ": %s",
                      mm_run_folder_of(r->s->run), job, what);
  return 1;
}

static int out_of_memory(reader *r, const char *what) {
  r->status = MM_FAIL(MM_ERR_MEMORY, "no memory for %s", what);
  return 1;
}

// The sentence of a walk that was ended is the reader's.
static mm_status first_error(const reader *r, mm_status walked) {
  return r->status != MM_OK ? r->status : walked;
}

// ---------------------------------------------------------------------------------------------
// Batches

static int on_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  reader *r = user;
  mm_job_store *s = r->s;
  void *larger = mm_grow(s->found_batch, s->n_found_batch, sizeof *s->found_batch);
  if (!larger) return out_of_memory(r, "batches");
  s->found_batch = larger;
  mm_job_found_batch *b = &s->found_batch[s->n_found_batch++];
  *b = (mm_job_found_batch){ .first = row->first, .jobs = row->jobs };
  const char *words[3] = { row->role, row->env, row->map };
  for (int i = 0; i < 3; i++)
    snprintf(b->words[i], MM_RUN_WORD_SIZE, "%s", words[i]);
  return 0;
}

// ---------------------------------------------------------------------------------------------
// Trainings

static bool grow(mm_job_store *s) {
  void *larger = mm_grow(s->found, s->n_found, sizeof *s->found);
  if (larger) s->found = larger;
  return larger != NULL;
}

static int on_training(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  reader *r = user;
  mm_job_store *s = r->s;
  if (row->status != MM_OK && row->status != MM_ERR_NUMERIC)
    return spoil(r, "its status is not one of an end", row->job);
  if (!grow(s)) return out_of_memory(r, "trainings");
  mm_job_found *f = &s->found[s->n_found++];
  size_t points = (size_t)row->points;
  *f = (mm_job_found){
    .job = row->job,
    .entry = { .ended = true, .stored = true, .seed = row->seed, .size = points },
    .result = { .status = row->status,
                .final_value = row->final,
                .recent_value = row->recent,
                .optimal_value = row->optimal,
                .env_steps = row->env_steps },
  };
  if (r->no_curves) { // of which only the length counts
    f->result.n_curve = points;
    return 0;
  }
  f->result.curve = mm_alloc_array(points, sizeof(double));
  f->result.curve_step = mm_alloc_array(points, sizeof(uint64_t));
  if (f->result.curve && f->result.curve_step) return 0;
  return out_of_memory(r, "a curve");
}

// Both tables come in the order of the jobs. The size of an entry is that of its curve for now.
static int on_point(const mm_run_row *any, void *user) {
  const mm_run_point *row = &any->curve;
  int64_t job = row->job;
  reader *r = user;
  mm_job_store *s = r->s;
  while (r->at < s->n_found && s->found[r->at].job < job)
    r->at++;
  mm_job_found *f = r->at < s->n_found ? &s->found[r->at] : NULL;
  if (!f || f->job != job || f->result.n_curve >= f->entry.size)
    return spoil(r, "its curve has more points than it says", job);
  f->result.curve[f->result.n_curve] = row->value;
  f->result.curve_step[f->result.n_curve++] = row->step;
  return 0;
}

static mm_status check_curves(reader *r) {
  for (size_t i = 0; i < r->s->n_found; i++) {
    mm_job_found *f = &r->s->found[i];
    if (f->result.n_curve != f->entry.size)
      spoil(r, "its curve has fewer points than it says", f->job);
    f->entry.size = 0;
  }
  r->at = 0;
  return r->status;
}

// ---------------------------------------------------------------------------------------------
// Of a finished training the networks, of another one its state: an entry of its own then

static mm_job_found *insert(mm_job_store *s, size_t at, int64_t job) {
  if (!grow(s)) return NULL;
  memmove(&s->found[at + 1], &s->found[at], (s->n_found - at) * sizeof *s->found);
  s->n_found++;
  s->found[at] = (mm_job_found){ .job = job, .result.status = MM_ERR_INTERRUPTED };
  return &s->found[at];
}

static int on_kept(const mm_run_row *any, void *user) {
  const mm_run_kept *row = &any->kept;
  int64_t job = row->job;
  size_t size = row->state.size;
  reader *r = user;
  mm_job_store *s = r->s;
  while (r->at < s->n_found && s->found[r->at].job < job)
    r->at++;
  mm_job_found *f = r->at < s->n_found ? &s->found[r->at] : NULL;
  if (!f || f->job != job) f = insert(s, r->at, job);
  if (!f) return out_of_memory(r, "states");
  f->entry.bytes = mm_alloc(size > 0 ? size : 1);
  if (!f->entry.bytes) return out_of_memory(r, "the state of a training");
  memcpy(f->entry.bytes, row->state.data, size);
  f->entry.size = size;
  return 0;
}

// ---------------------------------------------------------------------------------------------

mm_status mm_job_store_load(mm_job_store *s) {
  reader r = { .s = s };
  MM_TRY(first_error(&r, mm_run_each(s->run, MM_RUN_BATCH, on_batch, &r)));
  MM_TRY(first_error(&r, mm_run_each(s->run, MM_RUN_TRAINING, on_training, &r)));
  MM_TRY(first_error(&r, mm_run_each(s->run, MM_RUN_CURVE, on_point, &r)));
  MM_TRY(check_curves(&r));
  MM_TRY(first_error(&r, mm_run_each(s->run, MM_RUN_KEPT, on_kept, &r)));
  s->has_rows = s->n_found > 0;
  return MM_OK;
}

mm_status mm_job_store_load_results(mm_job_store *s) {
  reader r = { .s = s, .no_curves = true };
  return first_error(&r, mm_run_each(s->run, MM_RUN_TRAINING, on_training, &r));
}

void mm_job_store_release_found(mm_job_store *s) {
  for (size_t i = s->claimed; i < s->n_found; i++) {
    mm_result_release(&s->found[i].result);
    mm_free(s->found[i].entry.bytes);
  }
  mm_free(s->found);
  mm_free(s->found_batch);
  s->found = NULL;
  s->found_batch = NULL;
  s->n_found = s->n_found_batch = s->claimed = 0;
}
