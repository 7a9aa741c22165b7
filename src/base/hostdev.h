// SPDX-License-Identifier: Apache-2.0
// The few macros that let one header compile as C17, as C++17 and as CUDA C++.

#ifndef MM_BASE_HOSTDEV_H
#define MM_BASE_HOSTDEV_H

// Marks a function that runs on the host and, in a CUDA translation unit, on the device too.
#ifdef __CUDACC__
#define MM_HD __host__ __device__
#else
#define MM_HD
#endif

#ifdef __cplusplus
#define MM_RESTRICT __restrict__
#else
#define MM_RESTRICT restrict
#endif

// Forces inlining into the hot loops: the callee's branches then depend on constants.
#ifdef __GNUC__
#define MM_INLINE static inline __attribute__((always_inline))
#else
#define MM_INLINE static inline
#endif

#endif
