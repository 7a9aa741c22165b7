// Trainings of a step that ended before the step did. A generation gets into the database in one
// piece, but what it is made of may take hours: results are kept as they come, every so often, in
// the table `kept`, and whoever goes on with the step finds them. They leave it with the step's
// commit.
//
// A kept result as bytes:
//
//   16  mark "mirrormap/early", filled up with zeros
//    8  version of this format
//       generation and stage of the step, place in its list, and what became of it (mm_learn_early)
//    8  checksum of all that comes before

#include <stdio.h>
#include <string.h>

#include "agent/state_bytes.h"
#include "base/clock.h"
#include "study/learn/learn_internal.h"

enum { VERSION = 1, STAGE_SHIFT = 40 };
enum { BODY_SIZE = 5 * 8 + 3 * 8, SIZE = MM_STATE_MARK + 8 + BODY_SIZE + MM_STATE_CHECKSUM };

static const unsigned char mark[MM_STATE_MARK] = "mirrormap/early";

// The disk should not work more than a hundredth of the time, and not for steps that are over at
// once.
static const double least_seconds = 0.5, share = 0.01;

static void write_early(const mm_learn_early *e, unsigned char out[SIZE]) {
  uint64_t version = VERSION;
  int64_t whole[4] = { e->generation, e->stage, e->place, e->status };
  unsigned char *to = mm_state_put(out, mark, sizeof mark);
  to = mm_state_put(to, &version, sizeof version);
  to = mm_state_put(to, whole, sizeof whole);
  to = mm_state_put(to, &e->seed, sizeof e->seed);
  to = mm_state_put(to, &e->env_steps, sizeof e->env_steps);
  to = mm_state_put(to, &e->value, sizeof e->value);
  to = mm_state_put(to, &e->optimal, sizeof e->optimal);
  mm_state_seal(out, to);
}

static mm_status read_early(const void *bytes, size_t size, mm_learn_early *e) {
  int64_t whole[4];
  MM_TRY(mm_state_check(bytes, size, "a kept result", mark, VERSION, SIZE));
  const unsigned char *from = (const unsigned char *)bytes + MM_STATE_MARK + 8;
  from = mm_state_get(from, whole, sizeof whole);
  *e = (mm_learn_early){ .generation = whole[0],
                         .stage = (int32_t)whole[1],
                         .place = whole[2],
                         .status = (mm_status)whole[3],
                         .stored = true };
  from = mm_state_get(from, &e->seed, sizeof e->seed);
  from = mm_state_get(from, &e->env_steps, sizeof e->env_steps);
  from = mm_state_get(from, &e->value, sizeof e->value);
  mm_state_get(from, &e->optimal, sizeof e->optimal);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The list of them

mm_status mm_learn_kept_open(mm_learn_kept *k) {
  if (pthread_mutex_init(&k->lock, NULL) != 0)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a search");
  k->open = true;
  return MM_OK;
}

void mm_learn_kept_close(mm_learn_kept *k) {
  if (k->open) pthread_mutex_destroy(&k->lock);
  mm_free(k->early);
}

static bool append(mm_learn_kept *k, const mm_learn_early *e) {
  if (k->n == k->room) return false; // more than a step can have
  k->early[k->n++] = *e;
  k->in_database = k->in_database || e->stored;
  return true;
}

// Rows of another step were left by one who did not know them: they go with the next commit.
static int take_row(const mm_run_row *any, void *user) {
  const mm_run_bytes *state = &any->kept.state;
  mm_learn *l = user;
  mm_learn_early e;
  l->early.in_database = true;
  if (read_early(state->data, state->size, &e) != MM_OK ||
      (e.generation != l->view.generation && e.generation != l->view.generation + 1))
    return 0;
  (void)append(&l->early, &e);
  return 0;
}

mm_status mm_learn_kept_load(mm_learn *l) {
  return mm_run_each(l->run, MM_RUN_KEPT, take_row, l);
}

mm_status mm_learn_kept_forget(mm_learn *l) {
  return l->early.in_database ? mm_run_forget(l->run, -1) : MM_OK;
}

void mm_learn_kept_clear(mm_learn *l) {
  l->early.n = 0;
  l->early.waiting = 0;
  l->early.in_database = false;
}

// ---------------------------------------------------------------------------------------------
// Storing; the lock is held

static mm_status put(mm_learn *l) {
  mm_learn_kept *k = &l->early;
  unsigned char bytes[SIZE];
  MM_TRY(mm_run_begin(l->run));
  for (size_t i = 0; i < k->n; i++) {
    const mm_learn_early *e = &k->early[i];
    if (e->stored) continue;
    write_early(e, bytes);
    MM_TRY(mm_run_keep(l->run, e->place | (int64_t)e->stage << STAGE_SHIFT, bytes, sizeof bytes));
  }
  return mm_run_commit(l->run);
}

// What cannot be stored now may be later; the step itself does not depend on it.
static void store(mm_learn *l) {
  mm_learn_kept *k = &l->early;
  double start = mm_clock_seconds();
  bool stored = put(l) == MM_OK;
  mm_run_drop(l->run);
  for (size_t i = 0; stored && i < k->n; i++)
    k->early[i].stored = true;
  if (stored) k->waiting = 0;
  k->in_database = true;
  double end = mm_clock_seconds(), pause = (end - start) / share;
  k->due = end + (pause > least_seconds ? pause : least_seconds);
}

// Called by the threads that train. What it fails at must not hide a job's own sentence.
static void take_result(const mm_job *job, const mm_result *r, void *user) {
  mm_learn *l = user;
  mm_learn_kept *k = &l->early;
  char error[MM_ERROR_SIZE];
  if (r->status != MM_OK && r->status != MM_ERR_NUMERIC) return;
  snprintf(error, sizeof error, "%s", mm_last_error());
  const mm_learn_early e = { .generation = (int64_t)mm_es_generation(l->es),
                             .stage = (int32_t)l->stage,
                             .place = (int64_t)(k->place ? k->place[job - k->job]
                                                         : (size_t)(job - l->job)),
                             .seed = job->seed,
                             .status = r->status,
                             .value = r->final_value,
                             .optimal = r->optimal_value,
                             .env_steps = r->env_steps };
  pthread_mutex_lock(&k->lock);
  if (append(k, &e)) k->waiting++;
  if (k->waiting > 0 && mm_clock_seconds() > k->due) store(l);
  pthread_mutex_unlock(&k->lock);
  (void)MM_FAIL(MM_OK, "%s", error);
}

// ---------------------------------------------------------------------------------------------
// A list

// Fills the results that are known; returns how many.
static size_t fill_known(mm_learn *l, size_t n) {
  size_t known = 0;
  for (size_t i = 0; i < l->early.n; i++) {
    const mm_learn_early *e = &l->early.early[i];
    if (e->generation != (int64_t)mm_es_generation(l->es)) continue;
    if (e->stage != (int32_t)l->stage || e->place < 0 || (size_t)e->place >= n) continue;
    mm_result *r = &l->result[e->place];
    if (e->seed != l->job[e->place].seed || r->status != MM_ERR_INTERRUPTED) continue;
    *r = (mm_result){ .status = e->status,
                      .final_value = e->value,
                      .optimal_value = e->optimal,
                      .env_steps = e->env_steps };
    known++;
  }
  return known;
}

// The caller's progress is about all of the list.
typedef struct told {
  const mm_backend_config *backend;
  size_t known;
} told;

static void tell_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  const told *t = user;
  t->backend->progress(done + t->known, total + t->known, env_steps, t->backend->user);
}

// The jobs without a result, as a list of their own.
static mm_status run_rest(mm_learn *l, mm_backend_config *config, size_t n, size_t known) {
  mm_learn_kept *k = &l->early;
  told t = { .backend = config, .known = known };
  mm_backend_config own = *config;
  mm_result *fresh = mm_alloc_array(n - known, sizeof *fresh);
  k->job = mm_alloc_array(n - known, sizeof *k->job);
  k->place = mm_alloc_array(n - known, sizeof *k->place);
  mm_status status = MM_OK;
  if (!fresh || !k->job || !k->place)
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", n - known);
  size_t m = 0;
  for (size_t i = 0; i < n && status == MM_OK; i++) {
    if (l->result[i].status != MM_ERR_INTERRUPTED) continue;
    k->place[m] = i;
    k->job[m++] = l->job[i];
  }
  own.user = &t;
  if (config->progress) own.progress = tell_progress;
  if (status == MM_OK) {
    status = mm_backend_run(&own, k->job, m, fresh);
    for (size_t i = 0; i < m; i++)
      l->result[k->place[i]] = fresh[i];
  }
  mm_free(fresh);
  mm_free(k->job);
  mm_free(k->place);
  k->job = NULL;
  k->place = NULL;
  return status;
}

mm_status mm_learn_kept_run(mm_learn *l, mm_backend_config *config, size_t n,
                            uint64_t *known_steps) {
  mm_learn_kept *k = &l->early;
  k->hooks = (mm_job_hooks){ .ended = take_result, .user = l };
  k->due = mm_clock_seconds() + least_seconds;
  for (size_t i = 0; i < n; i++) {
    l->job[i].hooks = &k->hooks;
    l->result[i] = (mm_result){ .status = MM_ERR_INTERRUPTED };
  }
  size_t known = fill_known(l, n);
  *known_steps = 0;
  for (size_t i = 0; i < n && known > 0; i++)
    *known_steps += l->result[i].env_steps;
  mm_status status = known == 0  ? mm_backend_run(config, l->job, n, l->result)
                     : known < n ? run_rest(l, config, n, known)
                                 : MM_OK;
  // what a step that does not come to its end leaves to the next one
  bool failed = status != MM_OK;
  for (size_t i = 0; i < n && !failed; i++)
    failed = l->result[i].status != MM_OK && l->result[i].status != MM_ERR_NUMERIC;
  if (!failed || k->waiting == 0) return status;
  char error[MM_ERROR_SIZE];
  snprintf(error, sizeof error, "%s", mm_last_error());
  store(l);
  return status == MM_OK ? MM_OK : MM_FAIL(status, "%s", error);
}
