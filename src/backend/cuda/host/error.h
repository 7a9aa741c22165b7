// SPDX-License-Identifier: Apache-2.0
// How a failure of the CUDA runtime becomes one of the library's.
//
//   MM_TRY_CUDA(device, cudaMalloc(&block, size), "taking %zu bytes", size);

#ifndef MM_BACKEND_CUDA_HOST_ERROR_H
#define MM_BACKEND_CUDA_HOST_ERROR_H

#include <cuda_runtime_api.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// No device, no driver, or a build without code for the device: not available on this machine.
static inline mm_status mm_cuda_status(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return MM_OK;
  case cudaErrorMemoryAllocation:
    return MM_ERR_MEMORY;
  case cudaErrorNoDevice:
  case cudaErrorInvalidDevice:
  case cudaErrorInsufficientDriver:
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorUnsupportedPtxVersion:
  case cudaErrorSystemDriverMismatch:
  case cudaErrorCompatNotSupportedOnDevice:
    return MM_ERR_UNSUPPORTED;
  default:
    return MM_ERR_DEVICE;
  }
}

// Passes the failure of a CUDA call on to the caller, with a sentence that names the device and
// what was tried (a format and its arguments). For calls that leave nothing behind to release.
#define MM_TRY_CUDA(device, call, ...)                                                             \
  do {                                                                                             \
    cudaError_t mm_try_error = (call);                                                             \
    if (mm_try_error != cudaSuccess)                                                               \
      return mm_cuda_fail((device), mm_try_error, __FILE__, __LINE__, __VA_ARGS__);                \
  } while (0)

// The sentence is "CUDA device 0: WHAT: what the runtime says".
mm_status mm_cuda_fail(int device, cudaError_t error, const char *file, int line,
                       const char *format, ...) MM_CHECK_FORMAT(5, 6);

#ifdef __cplusplus
}
#endif

#endif
