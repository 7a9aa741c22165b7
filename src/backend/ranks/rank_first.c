// SPDX-License-Identifier: Apache-2.0
// Rank 0 at work on a list: deals jobs out, to itself too, and takes what comes back. Its own jobs
// run on the threads of its engine; this thread has the messages.

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/cuda/host/cuda.h"
#include "backend/engine.h"
#include "backend/ranks/rank_message.h"
#include "backend/ranks/rank_queue.h"
#include "backend/ranks/rank_wait.h"
#include "backend/ranks/ranks.h"
#include "base/clock.h"

static const double check_seconds = 0.05, show_seconds = 0.2;
static const double stop_seconds = 10; // for jobs to end that were told to stop

// Jobs for devices: a rank gets its part of the list at once, up to so many.
enum { DEVICE_WIDTH = 4096 };

typedef struct peer {
  mm_rank_hello hello;
  double heard;
  bool lost;
  uint32_t list; // the last one that it was told
} peer;

struct mm_rank_team {
  mm_transport *transport;
  peer *peer; // [size]; 0 is this one
  uint32_t list;
  double silence;
  double job_seconds; // of the last list; 0: not known yet
  bool broken;        // the transport failed, or somebody did not answer
  mm_rank_traffic traffic;
};

typedef struct back {
  size_t place;
  double seconds;
} back;

typedef struct first {
  mm_rank_team *team;
  mm_job_list *list;
  mm_rank_tables tables;
  mm_bytes listing; // the tables as a record
  mm_rank_queue queue;
  mm_engine *engine;
  bool stopping;
  double stopped_at, checked, shown;

  mm_rank_wait wait; // its lock is for the rest
  back *back;        // [n] jobs of this rank that have ended
  size_t n_back;
} first;

// ---------------------------------------------------------------------------------------------
// The team

mm_status mm_rank_team_open(mm_transport *transport, mm_rank_team **out) {
  *out = NULL;
  mm_rank_team *t = mm_alloc(sizeof *t);
  peer *peers = mm_alloc_array((size_t)transport->size, sizeof *peers);
  if (!t || !peers) {
    mm_free(t);
    mm_free(peers);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %d ranks", transport->size);
  }
  memset(peers, 0, (size_t)transport->size * sizeof *peers);
  *t = (mm_rank_team){ .transport = transport, .peer = peers, .silence = 60 };
  *out = t;
  return MM_OK;
}

void mm_rank_team_close(mm_rank_team *t) {
  if (!t) return;
  mm_free(t->peer);
  mm_free(t);
}

void mm_rank_team_set_silence(mm_rank_team *t, double seconds) {
  t->silence = seconds;
}

mm_rank_traffic mm_rank_team_traffic(const mm_rank_team *t) {
  return t->traffic;
}

static mm_status fail_transport(mm_rank_team *t) {
  t->broken = true;
  return MM_FAIL(MM_ERR_IO, "%s", t->transport->error);
}

static mm_status send_bytes(mm_rank_team *t, int rank, const mm_bytes *b) {
  MM_TRY(mm_bytes_check(b));
  t->traffic.sent += b->n;
  t->traffic.messages_sent++;
  return t->transport->send(t->transport, rank, b->byte, b->n) == 0 ? MM_OK : fail_transport(t);
}

static mm_status receive(mm_rank_team *t, int *from, mm_bytes_reader *r) {
  const void *bytes = NULL;
  size_t size = 0;
  if (t->transport->receive(t->transport, from, &bytes, &size) != 0) return fail_transport(t);
  if (*from < 0) return MM_OK;
  *r = (mm_bytes_reader){ .at = bytes, .end = (const unsigned char *)bytes + size };
  t->peer[*from].heard = mm_clock_seconds();
  t->traffic.received += size;
  t->traffic.messages_received++;
  return MM_OK;
}

static void pause_shortly(void) {
  const struct timespec moment = { .tv_nsec = 200 * 1000 };
  nanosleep(&moment, NULL);
}

static const char *name_of(const mm_rank_team *t, int rank, char out[160]) {
  const mm_rank_hello *h = &t->peer[rank].hello;
  snprintf(out, 160, "rank %d (%s, process %lld)", rank, h->host, (long long)h->process);
  return out;
}

static mm_status check_hello(mm_rank_team *t, int rank) {
  const mm_rank_hello *own = &t->peer[0].hello, *h = &t->peer[rank].hello;
  char name[160];
  name_of(t, rank, name);
  if (strcmp(h->build, own->build) != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s runs another program: mirrormap %.380s, expected %.380s", name,
                   h->build, own->build);
  if (h->refusal[0] != '\0') return MM_FAIL(MM_ERR_UNSUPPORTED, "%s: %.700s", name, h->refusal);
  return MM_OK;
}

mm_status mm_rank_team_gather(mm_rank_team *t) {
  int from, count = 0;
  t->peer[0].hello = mm_rank_describe(mm_cuda_find(&count) == MM_OK ? (size_t)count : 0);
  for (int n = 1; n < t->transport->size;) {
    mm_bytes_reader r;
    mm_record kind;
    MM_TRY(receive(t, &from, &r));
    if (from < 0)
      pause_shortly();
    else if (mm_bytes_next(&r, &kind) && kind == MM_RECORD_HELLO)
      mm_rank_get_hello(&r, &t->peer[from].hello), n++;
  }
  for (int i = 1; i < t->transport->size; i++)
    MM_TRY(check_hello(t, i));
  return MM_OK;
}

bool mm_rank_team_has_devices(const mm_rank_team *t) {
  for (int i = 0; i < t->transport->size; i++)
    if (t->peer[i].hello.devices == 0) return false;
  return true;
}

bool mm_rank_team_dismiss(mm_rank_team *t, int code) {
  mm_bytes b = { 0 };
  int32_t number = code;
  bool whole = !t->broken;
  mm_bytes_put_kind(&b, MM_RECORD_END);
  MM_BYTES_PUT(&b, number);
  for (int r = 1; r < t->transport->size && !t->broken; r++) {
    whole = whole && !t->peer[r].lost;
    if (!t->peer[r].lost) whole = send_bytes(t, r, &b) == MM_OK && whole;
  }
  mm_bytes_release(&b);
  return whole;
}

mm_status mm_rank_team_echo(mm_rank_team *t, size_t size, double *seconds) {
  enum { TIMES = 100 };
  mm_bytes b = { 0 };
  mm_bytes_reader r = { 0 };
  mm_status status = MM_OK;
  unsigned char *block = mm_alloc(size);
  if (!block) return MM_FAIL(MM_ERR_MEMORY, "no memory for a message");
  memset(block, 0, size);
  mm_bytes_put_kind(&b, MM_RECORD_ECHO);
  mm_bytes_put_block(&b, block, size);
  mm_free(block);
  *seconds = INFINITY;
  for (int i = 0; i < TIMES && status == MM_OK; i++) {
    double start = mm_clock_seconds();
    int from = -1;
    status = send_bytes(t, t->transport->size - 1, &b);
    while (status == MM_OK && from < 0)
      status = receive(t, &from, &r);
    *seconds = fmin(*seconds, mm_clock_seconds() - start);
  }
  mm_bytes_release(&b);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Jobs of this rank, by the threads of its engine

static void take_own(const mm_job *job, mm_result *result, double seconds, void *user) {
  first *f = user;
  size_t place = (size_t)(job - f->list->jobs);
  f->list->results[place] = *result;
  mm_job_list_settle(f->list, place, 0);
  pthread_mutex_lock(&f->wait.lock);
  f->back[f->n_back++] = (back){ place, seconds };
  pthread_cond_signal(&f->wait.some);
  pthread_mutex_unlock(&f->wait.lock);
}

// ---------------------------------------------------------------------------------------------
// Dealing out

static mm_result no_result(mm_status why) {
  return (
      mm_result){ .status = why, .final_value = NAN, .recent_value = NAN, .optimal_value = NAN };
}

static void end_job(first *f, size_t place, const mm_result *result, const char *error) {
  const mm_job *job = &f->list->jobs[place];
  mm_result *own = &f->list->results[place];
  *own = *result;
  if (job->hooks && job->hooks->ended) job->hooks->ended(job, own, job->hooks->user);
  if (result->status != MM_OK) (void)MM_FAIL(result->status, "%s", error);
  mm_job_list_settle(f->list, place, 0);
}

static mm_status give_own(first *f, size_t n) {
  while (n-- > 0)
    MM_TRY(mm_engine_give(f->engine, &f->list->jobs[mm_rank_queue_give(&f->queue, 0)]));
  return MM_OK;
}

// States can be large: a message that would become too long goes first.
static mm_status add_record(first *f, int rank, mm_bytes *message, const mm_bytes *record) {
  MM_TRY(mm_bytes_check(record));
  if (message->n > 0 && message->n + record->n > f->team->transport->most) {
    MM_TRY(send_bytes(f->team, rank, message));
    message->n = 0;
  }
  mm_bytes_put(message, record->byte, record->n);
  return MM_OK;
}

// It stays without a result; the others of the list go on.
static void fail_job(first *f, int rank, size_t place, size_t size) {
  char error[MM_ERROR_SIZE];
  const size_t most = f->team->transport->most;
  mm_result none =
      no_result(mm_rank_fail_size(&f->list->jobs[place], "settings and state", size, most));
  snprintf(error, sizeof error, "%s", mm_last_error());
  (void)mm_rank_queue_take(&f->queue, rank, place, 0);
  end_job(f, place, &none, error);
}

static mm_status add_jobs(first *f, int rank, size_t n, mm_bytes *message, mm_bytes *record) {
  const size_t most = f->team->transport->most;
  while (n > 0 && f->queue.next < f->queue.n) {
    size_t place = mm_rank_queue_give(&f->queue, rank);
    record->n = 0;
    mm_rank_put_job(record, &f->tables, &f->list->jobs[place], place);
    if (record->n > most) {
      fail_job(f, rank, place, record->n);
      continue;
    }
    MM_TRY(add_record(f, rank, message, record));
    n--;
  }
  return message->n > 0 ? send_bytes(f->team, rank, message) : MM_OK;
}

static mm_status give_away(first *f, int rank, size_t n) {
  mm_bytes message = { 0 }, record = { 0 };
  peer *p = &f->team->peer[rank];
  if (p->list != f->tables.list) mm_bytes_put(&message, f->listing.byte, f->listing.n);
  p->list = f->tables.list;
  p->heard = fmax(p->heard, f->queue.rank[rank].held == 0 ? mm_clock_seconds() : 0);
  mm_status status = add_jobs(f, rank, n, &message, &record);
  mm_bytes_release(&message);
  mm_bytes_release(&record);
  return status;
}

static mm_status give(first *f, int rank, size_t most) {
  size_t room = f->stopping ? 0 : mm_rank_queue_room(&f->queue, rank);
  if (room > most) room = most;
  if (room == 0) return MM_OK;
  return rank == 0 ? give_own(f, room) : give_away(f, rank, room);
}

// The first time evenly: a list that is shorter than all ranks are wide is spread over them.
static mm_status give_all(first *f) {
  int size = f->team->transport->size;
  for (int r = 0; r < size; r++) {
    size_t left = f->queue.n - f->queue.next, ranks = (size_t)(size - r);
    MM_TRY(give(f, r, (left + ranks - 1) / ranks));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Taking back

// A job that failed elsewhere may have failed because of what is there: files, memory, time.
static void name_culprit(const first *f, int rank, mm_rank_result *end) {
  char name[160], error[MM_ERROR_SIZE];
  const mm_status status = end->result.status;
  if (status == MM_OK || status == MM_ERR_NUMERIC || status == MM_ERR_INTERRUPTED) return;
  snprintf(error, sizeof error, "%s: %.800s", name_of(f->team, rank, name), end->error);
  snprintf(end->error, sizeof end->error, "%s", error);
}

static mm_status take_result(first *f, int rank, mm_bytes_reader *r) {
  mm_rank_result end;
  MM_TRY(mm_rank_get_result(r, &end));
  name_culprit(f, rank, &end);
  bool ours = end.list == f->tables.list &&
              mm_rank_queue_take(&f->queue, rank, (size_t)end.place, end.seconds);
  if (ours)
    end_job(f, (size_t)end.place, &end.result, end.error);
  else
    mm_result_release(&end.result);
  return MM_OK;
}

// A state or networks, for the hooks of their job.
static mm_status take_block(first *f, int rank, mm_bytes_reader *r, mm_record kind) {
  uint32_t list;
  uint64_t place;
  size_t size;
  MM_BYTES_GET(r, list);
  MM_BYTES_GET(r, place);
  const void *bytes = mm_bytes_get_block(r, &size);
  MM_TRY(mm_bytes_check_reader(r));
  if (list != f->tables.list || place >= f->queue.n || f->queue.holder[place] != rank) return MM_OK;
  const mm_job *job = &f->list->jobs[place];
  const mm_job_hooks *hooks = job->hooks;
  if (kind == MM_RECORD_STATE) {
    if (hooks && hooks->save) hooks->save(job, bytes, size, hooks->user);
    return MM_OK;
  }
  mm_net *net;
  if (!hooks || !hooks->trained) return MM_OK;
  MM_TRY(mm_job_net_load(bytes, size, &net));
  hooks->trained(job, net, hooks->user);
  mm_net_destroy(net);
  return MM_OK;
}

// The rank gets no more, and its jobs have failed.
static void lose(first *f, int rank, mm_status why, const char *text) {
  char name[160], error[MM_ERROR_SIZE];
  mm_result none = no_result(why);
  f->team->peer[rank].lost = true;
  mm_rank_queue_lose(&f->queue, rank);
  snprintf(error, sizeof error, "%s: %.800s", name_of(f->team, rank, name), text);
  mm_log("%s", error);
  for (size_t i = 0; (i = mm_rank_queue_held(&f->queue, rank, i)) < f->queue.n; i++) {
    (void)mm_rank_queue_take(&f->queue, rank, i, 0);
    end_job(f, i, &none, error);
  }
}

static mm_status take_stuck(first *f, int rank, mm_bytes_reader *r) {
  char text[MM_ERROR_SIZE];
  int32_t why;
  MM_BYTES_GET(r, why);
  mm_bytes_get_text(r, text, sizeof text);
  MM_TRY(mm_bytes_check_reader(r));
  lose(f, rank, (mm_status)why, text);
  return MM_OK;
}

static mm_status take_message(first *f, int rank, mm_bytes_reader *r) {
  mm_record kind;
  while (mm_bytes_next(r, &kind)) {
    if (kind == MM_RECORD_RESULT)
      MM_TRY(take_result(f, rank, r));
    else if (kind == MM_RECORD_STATE || kind == MM_RECORD_NET)
      MM_TRY(take_block(f, rank, r, kind));
    else if (kind == MM_RECORD_STUCK)
      MM_TRY(take_stuck(f, rank, r));
    else if (kind != MM_RECORD_ALIVE)
      return MM_FAIL(MM_ERR_IO, "a message from rank %d is not understood", rank);
  }
  MM_TRY(mm_bytes_check_reader(r));
  return give(f, rank, SIZE_MAX);
}

static mm_status take_messages(first *f, bool *some) {
  for (*some = false;; *some = true) {
    mm_bytes_reader r;
    int from;
    MM_TRY(receive(f->team, &from, &r));
    if (from < 0) return MM_OK;
    if (!f->team->peer[from].lost) MM_TRY(take_message(f, from, &r));
  }
}

static mm_status take_backs(first *f, bool *some) {
  pthread_mutex_lock(&f->wait.lock);
  size_t n = f->n_back;
  *some = n > 0;
  for (size_t i = 0; i < n; i++)
    (void)mm_rank_queue_take(&f->queue, 0, f->back[i].place, f->back[i].seconds);
  f->n_back = 0;
  pthread_mutex_unlock(&f->wait.lock);
  return *some ? give(f, 0, SIZE_MAX) : MM_OK;
}

// ---------------------------------------------------------------------------------------------
// What is due now and then

static mm_status stop_all(first *f, double now) {
  mm_bytes b = { 0 };
  mm_status status = MM_OK;
  f->stopping = true;
  f->stopped_at = now;
  mm_engine_stop(f->engine);
  mm_bytes_put_kind(&b, MM_RECORD_STOP);
  for (int r = 1; r < f->queue.n_rank && status == MM_OK; r++)
    if (f->queue.rank[r].held > 0 && !f->queue.rank[r].lost) status = send_bytes(f->team, r, &b);
  mm_bytes_release(&b);
  return status;
}

// Where this process can see that another one is no more. Launchers notice too and end all of them,
// but not every launcher, and not at once.
static bool is_gone(const mm_rank_team *t, int rank) {
  const mm_rank_hello *own = &t->peer[0].hello, *h = &t->peer[rank].hello;
  if (own->space == 0 || h->space != own->space || strcmp(h->host, own->host) != 0) return false;
  return kill((pid_t)h->process, 0) != 0 && errno == ESRCH;
}

// Of ranks that hold jobs. Time in which this process itself stood still does not count.
static void find_silent(first *f, double now) {
  char text[96];
  double gap = now - f->checked > 1 ? now - f->checked : 0;
  for (int r = 1; r < f->queue.n_rank; r++) {
    peer *p = &f->team->peer[r];
    p->heard += gap;
    if (f->queue.rank[r].lost || f->queue.rank[r].held == 0) continue;
    if (is_gone(f->team, r)) lose(f, r, MM_ERR_IO, "this process is gone");
    if (f->queue.rank[r].lost || now - p->heard < f->team->silence) continue;
    snprintf(text, sizeof text, "nothing was heard of it for %.0f s", now - p->heard);
    lose(f, r, MM_ERR_TIMEOUT, text);
  }
}

static bool wants_stop(const first *f) {
  const volatile int *stop = f->list->config->stop;
  return stop && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

static mm_status do_chores(first *f) {
  double now = mm_clock_seconds();
  if (!f->stopping && wants_stop(f)) MM_TRY(stop_all(f, now));
  if (now - f->checked < check_seconds) return MM_OK;
  (void)mm_engine_check(f->engine);
  find_silent(f, now);
  f->checked = now;
  if (now - f->shown < show_seconds) return MM_OK;
  mm_job_list_show(f->list);
  f->shown = mm_clock_seconds();
  return MM_OK;
}

// All are back, or, when they were told to stop, those that would come.
static bool is_over(first *f) {
  if (f->queue.n_done == f->queue.n) return true;
  if (!f->stopping) return mm_rank_queue_idle(&f->queue) && f->queue.width == 0;
  if (mm_rank_queue_idle(&f->queue)) return true;
  if (mm_clock_seconds() - f->stopped_at < stop_seconds || f->queue.rank[0].held > 0) return false;
  f->team->broken = true;
  return true;
}

static void nap(first *f) {
  if (f->queue.n_done > 0) mm_rank_wait_suit(&f->wait, f->queue.seconds / (double)f->queue.n_done);
  pthread_mutex_lock(&f->wait.lock);
  if (f->n_back == 0) mm_rank_wait_sleep(&f->wait);
  pthread_mutex_unlock(&f->wait.lock);
}

static mm_status work(first *f) {
  MM_TRY(give_all(f));
  while (!is_over(f)) {
    bool heard, own;
    MM_TRY(take_messages(f, &heard));
    MM_TRY(take_backs(f, &own));
    MM_TRY(do_chores(f));
    if (heard || own)
      mm_rank_wait_reset(&f->wait);
    else
      nap(f);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// A list

static mm_status open_engine(first *f, bool cuda, int device[MM_CUDA_DEVICES_MOST]) {
  const mm_backend_config *c = f->list->config;
  mm_engine_config config = { .cuda = cuda,
                              .place = c->place,
                              .threads = c->threads > 0 ? c->threads : mm_backend_cores(),
                              .job_timeout = c->job_timeout,
                              .ended = take_own,
                              .user = f };
  if (cuda) {
    MM_TRY(mm_rank_own_devices(f->team->transport, c->place.devices, c->place.n_device, device,
                               &config.place.n_device));
    config.place.devices = device;
  }
  return mm_engine_open(&config, &f->engine);
}

static mm_status open_queue(first *f, bool cuda) {
  const mm_backend_config *c = f->list->config;
  int size = f->team->transport->size;
  size_t part = (f->list->n + (size_t)size - 1) / (size_t)size;
  size_t *width = mm_alloc_array((size_t)size, sizeof *width);
  if (!width) return MM_FAIL(MM_ERR_MEMORY, "no memory for %d ranks", size);
  f->list->report.ranks = f->list->report.threads = 0;
  for (int r = 0; r < size; r++) {
    const peer *p = &f->team->peer[r];
    int threads = c->threads > 0 ? c->threads : p->hello.threads;
    width[r] = p->lost ? 0 : cuda ? (part < DEVICE_WIDTH ? part : DEVICE_WIDTH) : (size_t)threads;
    if (!p->lost) f->list->report.threads += threads;
    f->list->report.ranks += !p->lost;
  }
  mm_status status = mm_rank_queue_open(&f->queue, f->list->n, width, size);
  mm_free(width);
  return status;
}

static mm_status make_listing(first *f, bool cuda) {
  const mm_backend_config *c = f->list->config;
  f->tables = (mm_rank_tables){ .list = ++f->team->list,
                                .cuda = cuda,
                                .tile = c->place.tile,
                                .threads = c->threads,
                                .job_timeout = c->job_timeout,
                                .device = c->place.devices,
                                .n_device = c->place.devices ? c->place.n_device : 0 };
  MM_TRY(mm_rank_tables_make(&f->tables, f->list->jobs, f->list->n));
  MM_TRY(mm_rank_put_tables(&f->listing, &f->tables));
  const size_t most = f->team->transport->most;
  if (f->listing.n <= most) return MM_OK;
  return MM_FAIL(MM_ERR_UNSUPPORTED,
                 "the environments, maps and settings of %zu jobs take %zu bytes, more than a "
                 "message between ranks can hold (%zu)",
                 f->list->n, f->listing.n, most);
}

static mm_status run(first *f, bool cuda) {
  int device[MM_CUDA_DEVICES_MOST];
  MM_TRY(make_listing(f, cuda));
  MM_TRY(open_queue(f, cuda));
  MM_TRY(open_engine(f, cuda, device));
  f->checked = f->shown = mm_clock_seconds();
  mm_status status = work(f);
  if (status != MM_OK) f->team->broken = true;
  if (status != MM_OK) mm_engine_stop(f->engine);
  mm_engine_close(f->engine);
  return status;
}

mm_status mm_rank_team_run(mm_rank_team *team, mm_job_list *list, bool cuda) {
  first f = { .team = team, .list = list };
  if (list->n == 0) return MM_OK;
  MM_TRY(mm_rank_wait_open(&f.wait));
  f.back = mm_alloc_array(list->n, sizeof *f.back);
  mm_status status = MM_OK;
  if (!f.back) status = MM_FAIL(MM_ERR_MEMORY, "no memory for a list of %zu jobs", list->n);
  if (status == MM_OK) status = run(&f, cuda);
  mm_rank_queue_close(&f.queue);
  mm_rank_tables_release(&f.tables);
  mm_bytes_release(&f.listing);
  mm_free(f.back);
  mm_rank_wait_close(&f.wait);
  return status;
}
