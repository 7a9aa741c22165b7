// SPDX-License-Identifier: Apache-2.0
// How fast a device is at nothing but arithmetic: what training on it is held against.

#ifndef MM_BACKEND_CUDA_MEASURE_PROBE_H
#define MM_BACKEND_CUDA_MEASURE_PROBE_H

#include "base/status.h"

// Operations a second of the whole device.
typedef struct mm_cuda_peak {
  double fma;    // fused multiply-adds of 32 bits, two operations each
  double tensor; // tensor cores: products of 16 bits added up in 32, by mma.sync
} mm_cuda_peak;

// Takes about a second.
mm_status mm_cuda_probe(int device, mm_cuda_peak *out);

#endif
