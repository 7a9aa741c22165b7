// SPDX-License-Identifier: Apache-2.0
// Ranks over MPI. This file is a library by itself, linked against MPI and nothing else, which
// ranks.c opens when it is needed (transport.h).
//
// Only one thread of a rank calls MPI (MPI_THREAD_FUNNELED). Messages are sent without waiting;
// what is on its way is looked after with every call, which is also what makes MPI go on with it.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ranks/transport.h"

enum { TAG = 1, SIZE_MOST = 1 << 30 }; // MPI counts bytes with an int

typedef struct parcel {
  MPI_Request request;
  struct parcel *next;
  unsigned char byte[];
} parcel;

typedef struct post {
  parcel *sent;         // on their way
  unsigned char *inbox; // the last message
  size_t room;
} post;

static int fail(mm_transport *t, const char *what, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  for (char *c = text; *c; c++)
    if (*c == '\n') *c = ' ';
  snprintf(t->error, sizeof t->error, "MPI: %s: %.200s", what, text);
  return -1;
}

static int out_of_memory(mm_transport *t) {
  snprintf(t->error, sizeof t->error, "MPI: no memory for a message");
  return -1;
}

// Gives back what has arrived.
static int look_after(mm_transport *t) {
  post *p = t->self;
  for (parcel **at = &p->sent; *at;) {
    parcel *one = *at;
    int done = 0, code = MPI_Test(&one->request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return fail(t, "sending", code);
    if (!done) {
      at = &one->next;
      continue;
    }
    *at = one->next;
    free(one);
  }
  return 0;
}

static int send_bytes(mm_transport *t, int to, const void *bytes, size_t size) {
  post *p = t->self;
  if (size > SIZE_MOST) {
    snprintf(t->error, sizeof t->error, "MPI: a message of %zu bytes is too long", size);
    return -1;
  }
  parcel *one = malloc(sizeof *one + size);
  if (!one) return out_of_memory(t);
  memcpy(one->byte, bytes, size);
  int code = MPI_Isend(one->byte, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &one->request);
  if (code != MPI_SUCCESS) {
    free(one);
    return fail(t, "sending", code);
  }
  one->next = p->sent;
  p->sent = one;
  return look_after(t);
}

static int receive_bytes(mm_transport *t, int *from, const void **bytes, size_t *size) {
  post *p = t->self;
  MPI_Message message;
  MPI_Status status;
  int found = 0, count = 0;
  *from = -1;
  if (p->sent && look_after(t) != 0) return -1;
  int code = MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &found, &message, &status);
  if (code != MPI_SUCCESS) return fail(t, "looking for messages", code);
  if (!found) return 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  if ((size_t)count > p->room) {
    unsigned char *larger = realloc(p->inbox, (size_t)count);
    if (!larger) return out_of_memory(t);
    p->inbox = larger;
    p->room = (size_t)count;
  }
  code = MPI_Mrecv(p->inbox, count, MPI_BYTE, &message, &status);
  if (code != MPI_SUCCESS) return fail(t, "receiving", code);
  *from = status.MPI_SOURCE;
  *bytes = p->inbox;
  *size = (size_t)count;
  return 0;
}

static int close_all(mm_transport *t) {
  post *p = t->self;
  while (p->sent)
    if (look_after(t) != 0) return -1;
  int code = MPI_Finalize();
  free(p->inbox);
  free(p);
  t->self = NULL;
  return code == MPI_SUCCESS ? 0 : fail(t, "ending", code);
}

static void abandon(mm_transport *t, int code) {
  (void)t;
  MPI_Abort(MPI_COMM_WORLD, code);
}

static int find_neighbours(mm_transport *t) {
  MPI_Comm local;
  int code =
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t->rank, MPI_INFO_NULL, &local);
  if (code != MPI_SUCCESS) return fail(t, "finding the ranks of a machine", code);
  MPI_Comm_rank(local, &t->local_rank);
  MPI_Comm_size(local, &t->local_size);
  MPI_Comm_free(&local);
  return 0;
}

__attribute__((visibility("default"))) mm_transport_open mm_mpi_open;

int mm_mpi_open(mm_transport *out) {
  int given = MPI_THREAD_SINGLE;
  *out = (mm_transport){ .most = SIZE_MOST,
                         .send = send_bytes,
                         .receive = receive_bytes,
                         .close = close_all,
                         .abandon = abandon };
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
  if (code != MPI_SUCCESS) return fail(out, "starting", code);
  if (given < MPI_THREAD_FUNNELED) {
    snprintf(out->error, sizeof out->error, "MPI: this library does not go with threads");
    return -1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &out->size);
  out->self = calloc(1, sizeof(post));
  return out->self ? find_neighbours(out) : out_of_memory(out);
}
