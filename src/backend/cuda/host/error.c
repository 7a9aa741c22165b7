// SPDX-License-Identifier: Apache-2.0
// The sentence that a failure of the CUDA runtime leaves.

#include "backend/cuda/host/error.h"

#include <stdarg.h>
#include <stdio.h>

mm_status mm_cuda_fail(int device, cudaError_t error, const char *file, int line,
                       const char *format, ...) {
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  cudaGetLastError(); // the next call is not blamed for this one
  return mm_fail(mm_cuda_status(error), file, line, "CUDA device %d: %s: %s", device, what,
                 cudaGetErrorString(error));
}
