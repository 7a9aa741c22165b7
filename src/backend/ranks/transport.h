// SPDX-License-Identifier: Apache-2.0
// How ranks talk to each other: blocks of bytes, in order between any two. The rest of the program
// knows nothing else of MPI; tests bring transports of their own.
//
// The one for MPI is a library by itself (mpi_module.c), opened only where a launcher has started
// several processes: a program that runs alone does not even load MPI.

#ifndef MM_BACKEND_TRANSPORT_H
#define MM_BACKEND_TRANSPORT_H

#include <stddef.h>

enum { MM_TRANSPORT_ERROR = 256 };

// Calls come from one thread. Those that can fail return 0, or -1 with a sentence in `error`.
typedef struct mm_transport {
  int rank, size;
  int local_rank, local_size; // among those on the same machine
  size_t most;                // bytes of a message; longer ones are not sent
  char error[MM_TRANSPORT_ERROR];
  void *self;
  // Does not wait for the receiver; the bytes are copied.
  int (*send)(struct mm_transport *t, int to, const void *bytes, size_t size);
  // *from = -1 when there is nothing now. The bytes are the caller's until its next call.
  int (*receive)(struct mm_transport *t, int *from, const void **bytes, size_t *size);
  // Waits until all ranks have come here.
  int (*close)(struct mm_transport *t);
  // Ends all ranks at once; may return when there is no way to.
  void (*abandon)(struct mm_transport *t, int code);
} mm_transport;

// What the module exports under the name below: starts MPI.
typedef int mm_transport_open(mm_transport *out);
#define MM_TRANSPORT_SYMBOL "mm_mpi_open"
#define MM_TRANSPORT_MODULE "mirrormap_mpi.so"

#endif
