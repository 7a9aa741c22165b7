// SPDX-License-Identifier: Apache-2.0
// Opening and closing a job store, and its batches: what the run has already takes its places.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "study/jobs/job_store_internal.h"

static mm_status open_with(mm_run *run, mm_status (*load)(mm_job_store *s), mm_job_store **out) {
  *out = NULL;
  mm_job_store *s = mm_alloc(sizeof *s);
  if (!s) return MM_FAIL(MM_ERR_MEMORY, "no memory for a list of training runs");
  memset(s, 0, sizeof *s);
  if (pthread_mutex_init(&s->lock, NULL) != 0) {
    mm_free(s);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a list of training runs");
  }
  s->run = run;
  s->save_seconds = 60;
  mm_status status = run ? load(s) : MM_OK;
  if (status == MM_OK)
    *out = s;
  else
    mm_job_store_close(s);
  return status;
}

mm_status mm_job_store_open(mm_run *run, mm_job_store **out) {
  return open_with(run, mm_job_store_load, out);
}

mm_status mm_job_store_read(mm_run *run, mm_job_store **out) {
  MM_TRY(open_with(run, mm_job_store_load_results, out));
  (*out)->run = NULL;
  return MM_OK;
}

void mm_job_store_close(mm_job_store *s) {
  if (!s) return;
  mm_job_store_release_found(s);
  for (size_t i = 0; i < s->n; i++) {
    mm_result_release(&s->result[i]);
    mm_free(s->entry[i].bytes);
    mm_free(s->entry[i].late);
  }
  mm_free(s->entry);
  mm_free(s->result);
  mm_free(s->list);
  pthread_mutex_destroy(&s->lock);
  mm_free(s);
}

void mm_job_store_save_every(mm_job_store *s, double seconds) {
  s->save_seconds = seconds;
}

void mm_job_store_watch(mm_job_store *s, bool complete, mm_job_store_see_net *see, void *user) {
  s->see_net = see;
  s->net_user = user;
  s->complete = complete;
}

void mm_job_store_measure(mm_job_store *s, mm_job_store_train *run, const char *const *name) {
  s->train = run;
  s->measure_name = name;
}

const mm_result *mm_job_store_results(const mm_job_store *s, size_t first) {
  return s->result + first;
}

mm_job_store_work mm_job_store_work_of(const mm_job_store *s) {
  return s->work;
}

// ---------------------------------------------------------------------------------------------
// Places

mm_status mm_job_store_reserve(mm_job_store *s, size_t n) {
  size_t total = s->n + n;
  if (total > s->room) {
    size_t room = total > 2 * s->room ? total : 2 * s->room;
    mm_job_entry *entry = mm_alloc_array(room, sizeof *entry);
    mm_result *result = mm_alloc_array(room, sizeof *result);
    if (!entry || !result) {
      mm_free(entry);
      mm_free(result);
      return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu training runs", n);
    }
    if (s->n > 0) memcpy(entry, s->entry, s->n * sizeof *entry);
    if (s->n > 0) memcpy(result, s->result, s->n * sizeof *result);
    mm_free(s->entry);
    mm_free(s->result);
    s->entry = entry;
    s->result = result;
    s->room = room;
  }
  for (; s->n < total; s->n++) {
    s->entry[s->n] = (mm_job_entry){ 0 };
    s->result[s->n] = (mm_result){
      .status = MM_ERR_INTERRUPTED, .final_value = NAN, .recent_value = NAN, .optimal_value = NAN
    };
  }
  return MM_OK;
}

static mm_status misfit(const mm_job_store *s, int64_t job, const char *what) {
  return MM_FAIL(MM_ERR_INPUT, "%s/run.db: training %" PRId64 ": %s",
                 s->run ? mm_run_folder_of(s->run) : ".", job, what);
}

// Shows the networks of a finished job; their bytes are not needed any more.
static mm_status show_net(mm_job_store *s, size_t place) {
  mm_job_entry *e = &s->entry[place];
  mm_net *net;
  if (mm_job_net_load(e->bytes, e->size, &net) != MM_OK) {
    char why[MM_ERROR_SIZE];
    snprintf(why, sizeof why, "%.900s", mm_last_error());
    return misfit(s, (int64_t)place, why);
  }
  (void)s->see_net(place, net, s->net_user);
  e->has_net = true;
  mm_net_destroy(net);
  mm_free(e->bytes);
  e->bytes = NULL;
  return MM_OK;
}

// What the run has of the places from `first` on.
static mm_status claim(mm_job_store *s, const mm_job_batch *batch, size_t first) {
  double points_max = mm_settings_iterations(batch->settings) + 1;
  for (; s->claimed < s->n_found; s->claimed++) {
    mm_job_found *f = &s->found[s->claimed];
    if (f->job >= (int64_t)(first + batch->jobs)) return MM_OK;
    size_t place = (size_t)f->job;
    if (f->entry.ended && f->entry.seed != batch->job[place - first].seed)
      return misfit(s, f->job, "the seed is another one's");
    if ((double)f->result.n_curve > points_max) return misfit(s, f->job, "its curve is too long");
    s->entry[place] = f->entry;
    if (f->entry.ended) s->result[place] = f->result;
    s->work.found += f->entry.ended;
    f->entry.bytes = NULL; // now the place's
    if (f->entry.ended) f->result = (mm_result){ 0 };
    if (s->entry[place].ended && s->entry[place].bytes && s->see_net) MM_TRY(show_net(s, place));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Batches

// A label as the database takes it.
static void fit_word(const char *text, char out[MM_RUN_WORD_SIZE]) {
  const unsigned char *c = (const unsigned char *)text;
  size_t used = 0, left = strlen(text), n;
  for (; left > 0; c += n, left -= n) {
    n = mm_utf8_length(c, left);
    bool bad = n == 0 || mm_utf8_is_control(c, n);
    if (n == 0) n = 1;
    if (used + (bad ? 1 : n) >= MM_RUN_WORD_SIZE) break;
    if (bad)
      out[used++] = '?';
    else
      memcpy(out + used, c, n), used += n;
  }
  out[used] = '\0';
}

static mm_status put_batch(mm_job_store *s, const mm_job_batch *batch, size_t first,
                           char words[3][MM_RUN_WORD_SIZE]) {
  cJSON *json = mm_settings_json(batch->settings);
  char *settings = mm_json_print(json, false);
  cJSON_Delete(json);
  if (!settings) return MM_FAIL(MM_ERR_MEMORY, "no memory for the settings of a training");
  mm_run_batch row = { .batch = (int64_t)s->n_batch,
                       .first = (int64_t)first,
                       .jobs = (int64_t)batch->jobs,
                       .role = words[0],
                       .env = words[1],
                       .map = words[2],
                       .settings = settings };
  mm_status status = mm_run_put_batch(s->run, &row);
  mm_free(settings);
  return status;
}

static mm_status enter(mm_job_store *s, const mm_job_batch *batch, size_t first) {
  char words[3][MM_RUN_WORD_SIZE];
  fit_word(batch->role, words[0]);
  fit_word(batch->env, words[1]);
  fit_word(batch->map, words[2]);
  if (s->n_batch >= s->n_found_batch) return put_batch(s, batch, first, words);
  const mm_job_found_batch *b = &s->found_batch[s->n_batch];
  bool same = b->first == (int64_t)first && b->jobs == (int64_t)batch->jobs;
  for (int i = 0; i < 3; i++)
    same = same && strcmp(b->words[i], words[i]) == 0;
  if (same) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "%s/run.db: batch %zu has %" PRId64
                 " training runs of '%s' on '%s': expected %zu of '%s' on '%s'",
                 mm_run_folder_of(s->run), s->n_batch, b->jobs, b->words[2], b->words[1],
                 batch->jobs, words[2], words[1]);
}

mm_status mm_job_store_batch(mm_job_store *s, const mm_job_batch *batch, size_t *first) {
  *first = s->n;
  if (s->run) MM_TRY(enter(s, batch, s->n));
  MM_TRY(mm_job_store_reserve(s, batch->jobs));
  MM_TRY(claim(s, batch, *first));
  for (size_t i = 0; i < batch->jobs; i++)
    s->entry[*first + i].seed = batch->job[i].seed;
  s->n_batch++;
  return MM_OK;
}

mm_status mm_job_store_seeds(mm_job_store *s, mm_job_batch batch, const mm_env *env,
                             const mm_map *map, uint64_t seed, mm_job *job, size_t *first) {
  size_t place;
  for (size_t i = 0; i < batch.jobs; i++) {
    job[i] = (mm_job){ .env = env, .map = map, .seed = seed + i };
    mm_settings_bind(batch.settings, &job[i]);
  }
  batch.job = job;
  return mm_job_store_batch(s, &batch, first ? first : &place);
}

mm_status mm_job_store_check_end(const mm_job_store *s) {
  if (s->claimed == s->n_found) return MM_OK;
  return misfit(s, s->found[s->claimed].job, "there are not so many");
}

mm_status mm_job_store_finish(mm_job_store *s) {
  MM_TRY(mm_job_store_check_end(s));
  if (!s->run || s->complete) return MM_OK;
  MM_TRY(mm_run_begin(s->run));
  mm_status status = mm_run_forget(s->run, -1);
  if (status == MM_OK) status = mm_run_commit(s->run);
  if (status != MM_OK) {
    mm_run_drop(s->run);
    return status;
  }
  (void)mm_run_trim(s->run); // a file larger than it need be is no failure
  s->complete = true;
  return MM_OK;
}
