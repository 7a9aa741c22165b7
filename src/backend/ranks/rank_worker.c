// SPDX-License-Identifier: Apache-2.0
// A rank that only trains: takes jobs, has its engine run them, and sends back what comes of them.
// The engine's threads write records into an outbox; the thread that has the transport sends it.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/host/cuda.h"
#include "backend/engine.h"
#include "backend/ranks/rank_message.h"
#include "backend/ranks/rank_wait.h"
#include "backend/ranks/ranks.h"
#include "base/clock.h"

static const double check_seconds = 0.05, alive_seconds = 10;
static const double farewell_seconds = 2; // for rank 0, once this process was asked to end

typedef struct worker {
  mm_transport *transport;
  mm_rank_tables tables;
  mm_engine *engine; // NULL: no list
  bool ended, stuck;
  int code;
  double checked, said, asked; // when; asked to end

  mm_rank_wait wait;  // its lock is for the rest
  mm_bytes outbox;    // blocks, each of them a record
  double job_seconds; // of the last one
} worker;

// ---------------------------------------------------------------------------------------------
// The engine's threads

// Released here.
static void post(worker *w, mm_bytes *record) {
  pthread_mutex_lock(&w->wait.lock);
  if (record->failed)
    w->outbox.failed = true;
  else
    mm_bytes_put_block(&w->outbox, record->byte, record->n);
  pthread_cond_signal(&w->wait.some);
  pthread_mutex_unlock(&w->wait.lock);
  mm_bytes_release(record);
}

// What no message can hold is its job's failure, which its result will say.
static bool fits(const worker *w, mm_rank_task *task, const char *what, const mm_bytes *record) {
  if (record->n <= w->transport->most) return true;
  task->too_long = what;
  task->size = record->n;
  return false;
}

static void post_part(worker *w, const mm_job *job, const char *what, mm_bytes *record) {
  if (fits(w, (mm_rank_task *)job, what, record))
    post(w, record);
  else
    mm_bytes_release(record);
}

static void put_place(mm_bytes *b, mm_record kind, uint32_t list, const mm_job *job,
                      const void *bytes, size_t size) {
  const mm_rank_task *task = (const mm_rank_task *)job;
  mm_bytes_put_kind(b, kind);
  MM_BYTES_PUT(b, list);
  MM_BYTES_PUT(b, task->place);
  mm_bytes_put_block(b, bytes, size);
}

static void send_state(const mm_job *job, const void *state, size_t size, void *user) {
  worker *w = user;
  mm_bytes record = { 0 };
  put_place(&record, MM_RECORD_STATE, w->tables.list, job, state, size);
  post_part(w, job, "state", &record);
}

static void send_net(const mm_job *job, mm_net *net, void *user) {
  worker *w = user;
  void *bytes = NULL;
  size_t size = 0;
  mm_bytes record = { 0 };
  record.failed = mm_job_net_save(net, &bytes, &size) != MM_OK;
  put_place(&record, MM_RECORD_NET, w->tables.list, job, bytes, size);
  post_part(w, job, "networks", &record);
  mm_free(bytes);
}

static void put_result(mm_bytes *b, const worker *w, const mm_rank_task *task,
                       const mm_result *result, double seconds) {
  mm_rank_put_result(b, w->tables.list, task->place, result, seconds,
                     result->status == MM_OK ? "" : mm_last_error());
}

static void send_result(const mm_job *job, mm_result *result, double seconds, void *user) {
  worker *w = user;
  mm_rank_task *task = (mm_rank_task *)job;
  mm_bytes record = { 0 };
  put_result(&record, w, task, result, seconds);
  if (!fits(w, task, "curves", &record) || task->too_long) {
    record.n = 0;
    result->n_curve = 0;
    result->status = mm_rank_fail_size(job, task->too_long, task->size, w->transport->most);
    put_result(&record, w, task, result, seconds);
  }
  pthread_mutex_lock(&w->wait.lock);
  w->job_seconds = seconds;
  pthread_mutex_unlock(&w->wait.lock);
  post(w, &record);
  mm_result_release(result);
  mm_free((mm_rank_task *)job);
}

// ---------------------------------------------------------------------------------------------
// Sending

static mm_status send_bytes(worker *w, const mm_bytes *b) {
  MM_TRY(mm_bytes_check(b));
  w->said = mm_clock_seconds();
  if (w->transport->send(w->transport, 0, b->byte, b->n) == 0) return MM_OK;
  return MM_FAIL(MM_ERR_IO, "%s", w->transport->error);
}

// Released here.
static mm_status send_once(worker *w, mm_bytes *b) {
  mm_status status = send_bytes(w, b);
  mm_bytes_release(b);
  return status;
}

// As few messages as hold them.
static mm_status send_records(worker *w, const mm_bytes *outbox) {
  MM_TRY(mm_bytes_check(outbox));
  mm_bytes message = { 0 };
  mm_bytes_reader r = { .at = outbox->byte, .end = outbox->byte + outbox->n };
  mm_status status = MM_OK;
  while (status == MM_OK && r.at < r.end) {
    size_t size;
    const void *record = mm_bytes_get_block(&r, &size);
    if (message.n > 0 && message.n + size > w->transport->most) {
      status = send_bytes(w, &message);
      message.n = 0;
    }
    mm_bytes_put(&message, record, size);
  }
  if (status == MM_OK && message.n > 0) status = send_bytes(w, &message);
  mm_bytes_release(&message);
  return status;
}

static mm_status flush(worker *w, bool *sent) {
  pthread_mutex_lock(&w->wait.lock);
  mm_bytes full = w->outbox;
  w->outbox = (mm_bytes){ 0 };
  pthread_mutex_unlock(&w->wait.lock);
  *sent = full.n > 0 || full.failed;
  mm_status status = *sent ? send_records(w, &full) : MM_OK;
  mm_bytes_release(&full);
  return status;
}

static mm_status send_kind(worker *w, mm_record kind) {
  mm_bytes b = { 0 };
  mm_bytes_put_kind(&b, kind);
  return send_once(w, &b);
}

// This rank cannot go on with its jobs.
static mm_status give_up(worker *w, mm_status why, const char *text) {
  mm_bytes b = { 0 };
  int32_t number = (int32_t)why;
  w->stuck = true;
  mm_bytes_put_kind(&b, MM_RECORD_STUCK);
  MM_BYTES_PUT(&b, number);
  mm_bytes_put_text(&b, text);
  return send_once(w, &b);
}

// ---------------------------------------------------------------------------------------------
// Lists and jobs

static mm_status own_devices(const worker *w, int *out, size_t *n) {
  const mm_rank_tables *t = &w->tables;
  return mm_rank_own_devices(w->transport, t->n_device > 0 ? t->device : NULL, t->n_device, out, n);
}

static mm_status open_engine(worker *w) {
  int device[MM_CUDA_DEVICES_MOST];
  const mm_rank_tables *t = &w->tables;
  mm_engine_config config = { .cuda = t->cuda,
                              .threads = t->threads > 0 ? t->threads : mm_backend_cores(),
                              .job_timeout = t->job_timeout,
                              .ended = send_result,
                              .user = w };
  if (t->cuda) {
    size_t n;
    if (own_devices(w, device, &n) != MM_OK || n == 0)
      return MM_FAIL(MM_ERR_UNSUPPORTED, "no CUDA device: %s", mm_last_error());
    int *kept = mm_alloc_array(n, sizeof *kept); // for as long as the tables
    if (!kept) return MM_FAIL(MM_ERR_MEMORY, "no memory for devices");
    memcpy(kept, device, n * sizeof *kept);
    mm_free((void *)w->tables.device);
    w->tables.device = kept;
    w->tables.n_device = n;
    config.place = (mm_backend_place){ MM_BACKEND_CUDA, kept, n, t->tile };
  }
  return mm_engine_open(&config, &w->engine);
}

static void close_list(worker *w) {
  mm_engine_close(w->engine);
  w->engine = NULL;
  mm_rank_tables_release(&w->tables);
}

static mm_status take_list(worker *w, mm_bytes_reader *r) {
  close_list(w);
  mm_status status = mm_rank_get_tables(r, &w->tables);
  if (status == MM_OK) status = open_engine(w);
  return status == MM_OK ? MM_OK : give_up(w, status, mm_last_error());
}

static mm_status take_job(worker *w, mm_bytes_reader *r) {
  mm_rank_task *task;
  MM_TRY(mm_rank_get_job(r, &w->tables, &task));
  task->hooks.user = w;
  if (task->wants & MM_RANK_WANTS_STATE) task->hooks.save = send_state;
  if (task->wants & MM_RANK_WANTS_NET) task->hooks.trained = send_net;
  mm_status status = mm_engine_give(w->engine, &task->job);
  if (status != MM_OK) mm_free(task);
  return status;
}

static mm_status echo(worker *w, mm_bytes_reader *r) {
  mm_bytes b = { 0 };
  size_t size;
  const void *bytes = mm_bytes_get_block(r, &size);
  mm_bytes_put_kind(&b, MM_RECORD_ECHO);
  mm_bytes_put_block(&b, bytes, size);
  return send_once(w, &b);
}

static mm_status take_message(worker *w, const void *bytes, size_t size) {
  mm_bytes_reader r = { .at = bytes, .end = (const unsigned char *)bytes + size };
  mm_record kind;
  int32_t code;
  while (!w->ended && mm_bytes_next(&r, &kind)) {
    switch (kind) {
    case MM_RECORD_LIST:
      MM_TRY(take_list(w, &r));
      if (w->stuck) return MM_OK; // what follows is of that list
      break;
    case MM_RECORD_JOB:
      if (w->stuck) return MM_OK;
      MM_TRY(take_job(w, &r));
      break;
    case MM_RECORD_STOP:
      if (w->engine) mm_engine_stop(w->engine);
      break;
    case MM_RECORD_END:
      MM_BYTES_GET(&r, code);
      w->code = code;
      w->ended = true;
      break;
    case MM_RECORD_ECHO:
      MM_TRY(echo(w, &r));
      break;
    default:
      return MM_FAIL(MM_ERR_IO, "a message from rank 0 is not understood");
    }
  }
  return mm_bytes_check_reader(&r);
}

static mm_status take_messages(worker *w, bool *some) {
  const void *bytes;
  size_t size;
  int from;
  for (*some = false; !w->ended; *some = true) {
    if (w->transport->receive(w->transport, &from, &bytes, &size) != 0)
      return MM_FAIL(MM_ERR_IO, "%s", w->transport->error);
    if (from < 0) return MM_OK;
    MM_TRY(take_message(w, bytes, size));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// What is due now and then

// A job that does not heed its flag: nothing in this process can end it.
static mm_status check_engine(worker *w) {
  char text[MM_ERROR_SIZE];
  double limit = w->tables.job_timeout, longest = w->engine ? mm_engine_check(w->engine) : 0;
  if (w->stuck || limit <= 0 || longest <= 2 * limit + 10) return MM_OK;
  snprintf(text, sizeof text, "a job has hung for %.0f s and does not stop (--job-timeout %g)",
           longest, limit);
  return give_up(w, MM_ERR_TIMEOUT, text);
}

static mm_status do_chores(worker *w, const volatile int *terminated) {
  double now = mm_clock_seconds();
  if (now - w->checked < check_seconds) return MM_OK;
  w->checked = now;
  MM_TRY(check_engine(w));
  if (now - w->said > alive_seconds) MM_TRY(send_kind(w, MM_RECORD_ALIVE));
  if (!terminated || __atomic_load_n(terminated, __ATOMIC_RELAXED) == 0) return MM_OK;
  if (w->asked == 0) w->asked = now;
  if (now - w->asked < farewell_seconds) return MM_OK;
  return MM_FAIL(MM_ERR_INTERRUPTED, "ended from outside");
}

static void nap(worker *w, bool busy) {
  if (busy) {
    mm_rank_wait_reset(&w->wait);
    return;
  }
  pthread_mutex_lock(&w->wait.lock);
  if (w->job_seconds > 0) mm_rank_wait_suit(&w->wait, w->job_seconds);
  if (w->outbox.n == 0) mm_rank_wait_sleep(&w->wait);
  pthread_mutex_unlock(&w->wait.lock);
}

static mm_status work(worker *w, const volatile int *terminated) {
  bool heard, sent;
  while (!w->ended) {
    MM_TRY(take_messages(w, &heard));
    MM_TRY(flush(w, &sent));
    MM_TRY(do_chores(w, terminated));
    nap(w, heard || sent);
  }
  return MM_OK;
}

static mm_status introduce(worker *w, const char *refusal) {
  int device[MM_CUDA_DEVICES_MOST];
  size_t n;
  (void)own_devices(w, device, &n);
  mm_rank_hello hello = mm_rank_describe(n);
  mm_bytes b = { 0 };
  if (refusal) snprintf(hello.refusal, sizeof hello.refusal, "%s", refusal);
  mm_rank_put_hello(&b, &hello);
  return send_once(w, &b);
}

mm_status mm_rank_worker_run(mm_transport *transport, const char *refusal,
                             const volatile int *terminated, int *code) {
  worker w = { .transport = transport };
  MM_TRY(mm_rank_wait_open(&w.wait));
  mm_status status = introduce(&w, refusal);
  if (status == MM_OK) status = work(&w, terminated);
  if (w.stuck) { // its thread is still at work on all of this
    *code = w.code;
    return status;
  }
  if (w.engine) mm_engine_stop(w.engine);
  close_list(&w);
  mm_bytes_release(&w.outbox);
  mm_rank_wait_close(&w.wait);
  *code = w.code;
  return status;
}
