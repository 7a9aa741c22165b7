// SPDX-License-Identifier: Apache-2.0
// Products by four warps at once (Hopper): rows 16 w .. of the result are warp w's, held as C of
// warp.cuh. One operand at least is read from shared memory by the tensor cores themselves,
// once for all four. There is machine code for this only where compiled for sm_90a.

#ifndef MM_BACKEND_CUDA_WARP_WARPGROUP_CUH
#define MM_BACKEND_CUDA_WARP_WARPGROUP_CUH

#include "backend/cuda/warp/swizzle.cuh"

namespace mm {

#if defined __CUDA_ARCH_FEAT_SM90_ALL
#define MM_CUDA_GROUPS 1
constexpr bool HAS_GROUPS = true;
#else
constexpr bool HAS_GROUPS = false;
#endif

// Where a matrix is and in which order; 8 rows down is `eight` bytes more.
MM_DEVICE uint64_t matrix_at(const void *p, uint64_t order, uint64_t eight) {
  const uint64_t step = eight >> 4;
  return (uint64_t)(shared_address(p) >> 4 & 0x3fff) | step << 16 | step << 32 | order << 62;
}

MM_DEVICE uint64_t wide_matrix(const void *p) {
  return matrix_at(p, 1, 1024);
}

MM_DEVICE uint64_t narrow_matrix(const void *p) {
  return matrix_at(p, 2, 512);
}

// What was stored in the ordinary way will be read by tensor cores, after a barrier.
MM_DEVICE void publish_operands() {
#ifdef MM_CUDA_GROUPS
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Products are begun, and are there when they have been ended; in between nobody may touch what
// they read and write.

#define MM_C32                                                                                     \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                        \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"

// c += a b for 64 rows and b [64][64], wide: [inner][column].
MM_DEVICE void begin_rows(float c[8][4], const uint32_t a[4][4], uint64_t b) {
#ifdef MM_CUDA_GROUPS
  asm volatile("wgmma.fence.sync.aligned;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%32,%33,%34,%35},%48,1,1,1,1;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%36,%37,%38,%39},%49,1,1,1,1;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%40,%41,%42,%43},%50,1,1,1,1;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%44,%45,%46,%47},%51,1,1,1,1;\n"
               "wgmma.commit_group.sync.aligned;"
               : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]),
                 "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]),
                 "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]),
                 "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]),
                 "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]),
                 "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
                 "+f"(c[7][2]), "+f"(c[7][3])
               : "r"(a[0][0]), "r"(a[0][1]), "r"(a[0][2]), "r"(a[0][3]), "r"(a[1][0]), "r"(a[1][1]),
                 "r"(a[1][2]), "r"(a[1][3]), "r"(a[2][0]), "r"(a[2][1]), "r"(a[2][2]), "r"(a[2][3]),
                 "r"(a[3][0]), "r"(a[3][1]), "r"(a[3][2]), "r"(a[3][3]), "l"(b + 0), "l"(b + 128),
                 "l"(b + 256), "l"(b + 384)
               : "memory");
#endif
}

// c = a b for b given as [column][inner].
MM_DEVICE void begin_columns(float c[8][4], const uint32_t a[4][4], uint64_t b) {
#ifdef MM_CUDA_GROUPS
  asm volatile("wgmma.fence.sync.aligned;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%32,%33,%34,%35},%48,0,1,1,0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%36,%37,%38,%39},%49,1,1,1,0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%40,%41,%42,%43},%50,1,1,1,0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " MM_C32
               ",{%44,%45,%46,%47},%51,1,1,1,0;\n"
               "wgmma.commit_group.sync.aligned;"
               : "=f"(c[0][0]), "=f"(c[0][1]), "=f"(c[0][2]), "=f"(c[0][3]), "=f"(c[1][0]),
                 "=f"(c[1][1]), "=f"(c[1][2]), "=f"(c[1][3]), "=f"(c[2][0]), "=f"(c[2][1]),
                 "=f"(c[2][2]), "=f"(c[2][3]), "=f"(c[3][0]), "=f"(c[3][1]), "=f"(c[3][2]),
                 "=f"(c[3][3]), "=f"(c[4][0]), "=f"(c[4][1]), "=f"(c[4][2]), "=f"(c[4][3]),
                 "=f"(c[5][0]), "=f"(c[5][1]), "=f"(c[5][2]), "=f"(c[5][3]), "=f"(c[6][0]),
                 "=f"(c[6][1]), "=f"(c[6][2]), "=f"(c[6][3]), "=f"(c[7][0]), "=f"(c[7][1]),
                 "=f"(c[7][2]), "=f"(c[7][3])
               : "r"(a[0][0]), "r"(a[0][1]), "r"(a[0][2]), "r"(a[0][3]), "r"(a[1][0]), "r"(a[1][1]),
                 "r"(a[1][2]), "r"(a[1][3]), "r"(a[2][0]), "r"(a[2][1]), "r"(a[2][2]), "r"(a[2][3]),
                 "r"(a[3][0]), "r"(a[3][1]), "r"(a[3][2]), "r"(a[3][3]), "l"(b + 0), "l"(b + 2),
                 "l"(b + 4), "l"(b + 6)
               : "memory");
#endif
}

#undef MM_C32

// c += a b for a [ROWS][64], wide, turned, and b [ROWS][32], narrow; 64 x 32.
template <int ROWS> MM_DEVICE void begin_turned(float c[4][4], uint64_t a, uint64_t b) {
#ifdef MM_CUDA_GROUPS
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < ROWS / 16; k++)
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15},%16,%17,1,1,1,1,1;"
        : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
          "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3])
        : "l"(a + (uint64_t)(k * (WIDE_DOWN >> 4))), "l"(b + (uint64_t)(k * (NARROW_DOWN >> 4))));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

template <int N> MM_DEVICE void end_products(float c[N][4]) {
#ifdef MM_CUDA_GROUPS
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < N; i++)
    asm volatile("" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])::"memory");
#endif
}

} // namespace mm

#endif
