// SPDX-License-Identifier: Apache-2.0
// GET / is the page, GET /data.json its document, read anew at most once a second. Nothing else is
// served: no files, no other methods, and only to requests that name this machine as their host, so
// that a foreign page cannot reach it through a name of its own (DNS rebinding).

#define _POSIX_C_SOURCE 200809L

#include "cli/tools/report_watch.h"

#include "base/clock.h"
#include "cli/core/interrupt.h"
#include "cli/core/terminal.h"

#ifndef HAVE_MICROHTTPD

int report_watch(const char *const *runs, size_t n, uint16_t port) {
  (void)runs, (void)n, (void)port;
  return fail(EXIT_FAILED, "this build cannot watch: libmicrohttpd was missing (install "
                           "libmicrohttpd-dev, or run scripts/setup, and build again)");
}

#else

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "show/report/report_data.h"
#include "show/report/report_page.h"

// BEYOND: connections that were ended and that the server has not yet noticed
enum { CONNECTIONS = 64, BEYOND = 64, PATIENCE_S = 15, PERIOD_MS = 1000 };

// A slot for a connection; free where that is NULL.
typedef struct visitor {
  struct MHD_Connection *connection;
  int socket;
  uint64_t asked; // when it opened or asked last, as a count
} visitor;

// Used by the server's one thread only.
typedef struct watch {
  const char *const *runs;
  size_t n;
  uint16_t port;
  const volatile int *stop;
  cJSON *document;  // as it was read last, or NULL
  double read_ms;   // when it was tried last; -INFINITY: never
  mm_status status; // of that
  char error[MM_ERROR_SIZE];
  uint64_t count; // of openings and requests
  visitor visitors[CONNECTIONS];
} watch;

// Set by a signal handler, on whatever thread it runs.
static bool is_over(const volatile int *stop) {
  return __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

static double now_ms(void) {
  return 1e3 * mm_clock_seconds();
}

// ---------------------------------------------------------------------------------------------
// What is served

static mm_status read_anew(watch *w) {
  mm_report *report;
  MM_TRY(mm_report_read(w->runs, w->n, &report));
  cJSON *fresh = mm_report_json(report, true);
  mm_report_release(report);
  if (fresh == NULL) return MM_FAIL(MM_ERR_MEMORY, "no memory for a report");
  cJSON_Delete(w->document);
  w->document = fresh;
  return MM_OK;
}

// A run that cannot be read is not tried more often than others: to wait for its database may take
// seconds. Until then everybody hears why; their pages keep what they show.
static mm_status refresh(watch *w) {
  if (is_over(w->stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "the report is no longer served");
  if (now_ms() - w->read_ms < PERIOD_MS)
    return w->status == MM_OK ? MM_OK : MM_FAIL(w->status, "%s", w->error);
  w->status = read_anew(w);
  if (w->status != MM_OK) snprintf(w->error, sizeof w->error, "%s", mm_last_error());
  w->read_ms = now_ms();
  return w->status;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              const char *text, size_t length) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY);
  if (response == NULL) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", type);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "X-Frame-Options", "DENY");
  MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  if (code == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, "Allow", "GET, HEAD");
  enum MHD_Result result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned code,
                                   const char *text) {
  char line[MM_ERROR_SIZE + 2];
  int length = snprintf(line, sizeof line, "%s\n", text);
  return answer(connection, code, "text/plain; charset=utf-8", line, (size_t)length);
}

static enum MHD_Result answer_document(watch *w, struct MHD_Connection *connection, bool page) {
  char *text = NULL;
  size_t length = 0;
  mm_status status = refresh(w);
  if (status == MM_OK && page) status = mm_report_page(w->document, &text, &length);
  if (status == MM_OK && !page) {
    text = mm_json_print(w->document, false);
    if (text == NULL) status = MM_FAIL(MM_ERR_MEMORY, "no memory for a report");
    length = text != NULL ? strlen(text) : 0;
  }
  if (status != MM_OK)
    return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, mm_last_error());
  const char *type = page ? "text/html; charset=utf-8" : "application/json";
  enum MHD_Result result = answer(connection, MHD_HTTP_OK, type, text, length);
  mm_free(text);
  return result;
}

// ---------------------------------------------------------------------------------------------
// Connections: where there are too many, the one that has asked nothing for longest makes room for
// the next, however it passes its time. So a new one is always heard.

// The slot of a connection, or NULL; of NULL: a free one.
static visitor *find_visitor(watch *w, const struct MHD_Connection *connection) {
  for (size_t i = 0; i < CONNECTIONS; i++)
    if (w->visitors[i].connection == connection) return &w->visitors[i];
  return NULL;
}

static visitor *turn_out_oldest(watch *w) {
  visitor *oldest = w->visitors;
  for (size_t i = 1; i < CONNECTIONS; i++)
    if (w->visitors[i].asked < oldest->asked) oldest = &w->visitors[i];
  shutdown(oldest->socket, SHUT_RDWR); // the server then finds it ended
  return oldest;
}

static void see_connection(void *user, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode what) {
  (void)context;
  watch *w = user;
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
    visitor *gone = find_visitor(w, connection);
    if (gone != NULL) *gone = (visitor){ 0 };
    return;
  }
  visitor *slot = find_visitor(w, NULL);
  if (slot == NULL) slot = turn_out_oldest(w);
  const union MHD_ConnectionInfo *about =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  *slot = (visitor){ connection, about != NULL ? about->connect_fd : -1, ++w->count };
}

// ---------------------------------------------------------------------------------------------
// Requests

static bool is_own_host(const watch *w, struct MHD_Connection *connection) {
  static const char *const names[] = { "127.0.0.1", "localhost" };
  const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
  char own[32];
  for (size_t i = 0; i < 2 && host != NULL; i++) {
    snprintf(own, sizeof own, "%s:%u", names[i], (unsigned)w->port);
    if (strcasecmp(host, own) == 0) return true;
    if (w->port == 80 && strcasecmp(host, names[i]) == 0) return true;
  }
  return false;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state) {
  (void)version, (void)upload, (void)upload_size, (void)state;
  watch *w = user;
  visitor *who = find_visitor(w, connection);
  if (who != NULL) who->asked = ++w->count;
  if (!is_own_host(w, connection)) {
    char text[64];
    snprintf(text, sizeof text, "this page is for this machine only: ask for 127.0.0.1:%u",
             (unsigned)w->port);
    return answer_text(connection, MHD_HTTP_FORBIDDEN, text);
  }
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
    return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "expected GET");
  if (strcmp(url, "/") == 0) return answer_document(w, connection, true);
  if (strcmp(url, "/data.json") == 0) return answer_document(w, connection, false);
  return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is only / and /data.json");
}

// ---------------------------------------------------------------------------------------------
// The server

// A socket that listens on this machine's own address, and its port.
static int listen_locally(uint16_t *port) {
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(*port) };
  socklen_t size = sizeof address;
  int on = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (s < 0) return -1;
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(s, (struct sockaddr *)&address, sizeof address) == 0 && listen(s, CONNECTIONS) == 0 &&
      getsockname(s, (struct sockaddr *)&address, &size) == 0) {
    *port = ntohs(address.sin_port);
    return s;
  }
  int error = errno;
  close(s);
  errno = error;
  return -1;
}

static void wait_for(const volatile int *stop) {
  const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
  while (!is_over(stop))
    nanosleep(&pause, NULL);
}

int report_watch(const char *const *runs, size_t n, uint16_t port) {
  const volatile int *stop = interrupt_watch();
  watch w = { .runs = runs, .n = n, .port = port, .stop = stop, .read_ms = -INFINITY };
  int s = listen_locally(&w.port);
  if (s < 0)
    return fail(EXIT_FAILED, "cannot listen on 127.0.0.1:%u: %s", (unsigned)port, strerror(errno));
  struct MHD_Daemon *server = MHD_start_daemon(
      MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handle, &w, MHD_OPTION_LISTEN_SOCKET, s,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)(CONNECTIONS + BEYOND), MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)PATIENCE_S, MHD_OPTION_NOTIFY_CONNECTION, see_connection, &w, MHD_OPTION_END);
  if (server == NULL) {
    close(s);
    return fail(EXIT_FAILED, "cannot start the server");
  }
  log_line("watching http://127.0.0.1:%u/ (Ctrl-C ends it)", (unsigned)w.port);
  wait_for(stop);
  MHD_stop_daemon(server);
  cJSON_Delete(w.document);
  return EXIT_DONE;
}

#endif
