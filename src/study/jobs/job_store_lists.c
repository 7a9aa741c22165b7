// SPDX-License-Identifier: Apache-2.0
// Lists of jobs whose results are checkpointed until what they lead to is stored. A generation of
// a search gets into the database in one piece, but what it is made of may take hours: results go
// to the table `kept` as they come, every so often, and leave it with the generation's commit.
//
// A result as bytes:
//
//   16  mark "mirrormap/early", filled up with zeros
//    8  version of this format
//       generation, stage, index in the list, status, seed, environment steps, value, optimum
//    8  checksum of all that comes before

#include <assert.h>
#include <math.h>
#include <string.h>

#include "agent/state_bytes.h"
#include "base/clock.h"
#include "study/jobs/job_store_internal.h"

enum { VERSION = 1, STAGE_SHIFT = 40 };
enum { BODY_SIZE = 5 * 8 + 3 * 8, SIZE = MM_STATE_MARK + 8 + BODY_SIZE + MM_STATE_CHECKSUM };

static const unsigned char mark[MM_STATE_MARK] = "mirrormap/early";

// The disk should not work more than a hundredth of the time, and not for lists that are over at
// once.
static const double least_seconds = 0.5, share = 0.01;

typedef struct partial {
  int64_t generation, stage, index, status; // in the order of the bytes
  uint64_t seed, env_steps;
  double value, optimal;
} partial;

static void write_partial(const partial *p, unsigned char out[SIZE]) {
  uint64_t version = VERSION;
  unsigned char *to = mm_state_put(out, mark, sizeof mark);
  to = mm_state_put(to, &version, sizeof version);
  to = mm_state_put(to, p, BODY_SIZE);
  mm_state_seal(out, to);
}

static bool read_partial(const void *bytes, size_t size, partial *out) {
  static_assert(sizeof *out == BODY_SIZE, "the fields lie without gaps");
  if (mm_state_check(bytes, size, "a kept result", mark, VERSION, SIZE) != MM_OK) return false;
  mm_state_get((const unsigned char *)bytes + MM_STATE_MARK + 8, out, BODY_SIZE);
  return true;
}

// ---------------------------------------------------------------------------------------------
// Announcing a list

// What the run has of it. Rows of another list, and bytes that are none, are passed over: they go
// with the next commit.
static void claim(mm_job_store *s, const mm_job_list_key *list) {
  for (size_t i = 0; i < s->n_found; i++) {
    partial p;
    if (s->found[i].job >> STAGE_SHIFT != list->stage) continue;
    if (!read_partial(s->found[i].entry.bytes, s->found[i].entry.size, &p)) continue;
    if (p.generation != list->generation || p.stage != list->stage) continue;
    if (p.index < 0 || (size_t)p.index >= list->n) continue;
    mm_job_entry *e = &s->entry[list->first + (size_t)p.index];
    if (e->ended || e->seed != p.seed) continue;
    e->ended = e->stored = true;
    s->result[list->first + (size_t)p.index] = (mm_result){ .status = (mm_status)p.status,
                                                            .final_value = p.value,
                                                            .recent_value = NAN,
                                                            .optimal_value = p.optimal,
                                                            .env_steps = p.env_steps };
    s->work.found++;
  }
}

mm_status mm_job_store_list(mm_job_store *s, int64_t generation, int stage, const mm_job *job,
                            size_t n, size_t *first) {
  s->has_lists = true;
  for (size_t i = 0; i < s->n_list; i++)
    if (s->list[i].generation == generation && s->list[i].stage == stage && s->list[i].n == n) {
      *first = s->list[i].first;
      return MM_OK;
    }
  if (!MM_GROW(s->list, s->n_list)) return MM_FAIL(MM_ERR_MEMORY, "no memory for a list");
  *first = s->n;
  MM_TRY(mm_job_store_reserve(s, n));
  for (size_t i = 0; i < n; i++)
    s->entry[*first + i].seed = job[i].seed;
  s->list[s->n_list] =
      (mm_job_list_key){ .generation = generation, .stage = stage, .first = *first, .n = n };
  claim(s, &s->list[s->n_list++]);
  return MM_OK;
}

double mm_job_store_list_bytes(size_t n) {
  const size_t in_hand = sizeof(mm_job) + sizeof(size_t) + sizeof(mm_result);
  return (double)n * (double)(sizeof(mm_job_entry) + sizeof(mm_result) + in_hand);
}

// ---------------------------------------------------------------------------------------------
// Checkpoints; the lock is held

static mm_status put(mm_job_store *s, const mm_job_list_key *list) {
  unsigned char bytes[SIZE];
  for (size_t i = 0; i < list->n; i++) {
    const mm_job_entry *e = &s->entry[list->first + i];
    const mm_result *r = &s->result[list->first + i];
    if (!e->ended || e->stored) continue;
    const partial p = { .generation = list->generation,
                        .stage = list->stage,
                        .index = (int64_t)i,
                        .status = r->status,
                        .seed = e->seed,
                        .env_steps = r->env_steps,
                        .value = r->final_value,
                        .optimal = r->optimal_value };
    write_partial(&p, bytes);
    MM_TRY(mm_run_keep(s->run, p.index | p.stage << STAGE_SHIFT, bytes, sizeof bytes));
  }
  return MM_OK;
}

static mm_status put_lists(mm_job_store *s) {
  MM_TRY(mm_run_begin(s->run));
  for (size_t i = 0; i < s->n_list; i++)
    MM_TRY(put(s, &s->list[i]));
  return mm_run_commit(s->run);
}

// What cannot be stored now may be later; nothing depends on it.
static void checkpoint(mm_job_store *s) {
  double start = mm_clock_seconds();
  bool stored = put_lists(s) == MM_OK;
  mm_run_drop(s->run);
  for (size_t i = 0; stored && i < s->n; i++)
    s->entry[i].stored = s->entry[i].ended;
  if (stored) s->n_waiting = 0;
  s->has_rows = true;
  double end = mm_clock_seconds();
  s->due = end + fmax((end - start) / share, least_seconds);
}

void mm_job_store_list_begin(mm_job_store *s) {
  s->due = mm_clock_seconds() + least_seconds;
}

void mm_job_store_list_result(mm_job_store *s, size_t place, const mm_result *r) {
  s->result[place] = (mm_result){ .status = r->status,
                                  .final_value = r->final_value,
                                  .recent_value = r->recent_value,
                                  .optimal_value = r->optimal_value,
                                  .env_steps = r->env_steps };
  if (!s->run) return;
  s->n_waiting++;
  if (mm_clock_seconds() > s->due) checkpoint(s);
}

// A list that did not come to its end leaves what it has to the next one who tries.
void mm_job_store_list_end(mm_job_store *s, size_t first, size_t n) {
  bool complete = true;
  for (size_t i = first; i < first + n; i++) {
    complete = complete && s->entry[i].ended;
    mm_result_release(&s->result[i]); // the numbers stay
  }
  if (!complete && s->n_waiting > 0) checkpoint(s);
}

// ---------------------------------------------------------------------------------------------
// The end of a generation

mm_status mm_job_store_forget_lists(mm_job_store *s) {
  return s->has_rows ? mm_run_forget(s->run, -1) : MM_OK;
}

void mm_job_store_clear_lists(mm_job_store *s) {
  mm_job_store_release_found(s);
  for (size_t i = 0; i < s->n; i++)
    mm_free(s->entry[i].bytes);
  mm_free(s->list);
  s->list = NULL;
  s->n = s->n_list = s->n_waiting = 0;
  s->has_rows = false;
}
