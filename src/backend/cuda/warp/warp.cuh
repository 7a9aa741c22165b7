// SPDX-License-Identifier: Apache-2.0
// What warps do in one instruction: tensor-core products, transposing loads, approximations, sums.
//
// Fragments of m16n8k16 products, for lane = 4 g + t:
//
//   A [16][16] rows g, g + 8; columns 2t, 2t + 1 (registers 0, 1) and 2t + 8, 2t + 9 (2, 3)
//   B [16][8]  rows 2t, 2t + 1 (register 0) and 2t + 8, 2t + 9 (1); column g
//   C [16][8]  row g (registers 0, 1) and g + 8 (2, 3); columns 2t, 2t + 1
//
// so a C of floats, packed to halves, is an A or, transposed, a B of the next product.

#ifndef MM_BACKEND_CUDA_WARP_WARP_CUH
#define MM_BACKEND_CUDA_WARP_WARP_CUH

#include <cuda_fp16.h>
#include <stdint.h>

#define MM_DEVICE __device__ __forceinline__

namespace mm {

// Rows of 64 halves in shared memory with 8 more: eight rows then lie in different banks.
enum { HALF_ROW = 72 };

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr uint32_t HALF_ONES = 0x3c003c00u; // (1, 1)

// ---------------------------------------------------------------------------------------------
// Halves

MM_DEVICE uint32_t pack(float low, float high) {
  __half2 h = __floats2half2_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&h);
}

MM_DEVICE float2 unpack(uint32_t halves) {
  return __half22float2(*reinterpret_cast<__half2 *>(&halves));
}

MM_DEVICE uint32_t times_pair(uint32_t a, uint32_t b) {
  __half2 h = __hmul2(*reinterpret_cast<__half2 *>(&a), *reinterpret_cast<__half2 *>(&b));
  return *reinterpret_cast<uint32_t *>(&h);
}

MM_DEVICE void store_pair(__half *to, uint32_t halves) {
  *reinterpret_cast<uint32_t *>(to) = halves;
}

MM_DEVICE uint32_t load_pair(const __half *from) {
  return *reinterpret_cast<const uint32_t *>(from);
}

// ---------------------------------------------------------------------------------------------
// Products

// c += a b
MM_DEVICE void multiply(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

MM_DEVICE uint32_t shared_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

// Four 8 x 8 matrices of halves; lane i gives the address of row i % 8 of matrix i / 8. Plain: lane
// (g, t) gets row g, columns 2t, 2t + 1 of each; transposed: rows 2t, 2t + 1 of column g.
MM_DEVICE void load_matrices(uint32_t r[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

MM_DEVICE void load_transposed(uint32_t r[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

// The other way round: as load_matrices has got them from the same addresses.
MM_DEVICE void store_matrices(uint32_t address, const uint32_t r[4]) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%2,%3,%4};" ::"r"(address),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
#else
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t to = __shfl_sync(ALL_LANES, address, 8 * i + (lane >> 2)) + 4 * (lane & 3);
    asm volatile("st.shared.b32 [%0],%1;" ::"r"(to), "r"(r[i]) : "memory");
  }
#endif
}

// An 8 x 8 matrix of halves, held as by the plain load, transposed.
MM_DEVICE uint32_t transpose(uint32_t halves) {
  uint32_t r;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(halves));
  return r;
}

// ---------------------------------------------------------------------------------------------
// Memory

// Copies from global to shared memory on the side, 16 or 8 bytes each, in groups that end in order.
MM_DEVICE void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}

MM_DEVICE void copy8(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0],[%1],8;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}

MM_DEVICE void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until GROUPS groups at most are under way.
template <int GROUPS> MM_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

// Adds to four floats in global memory without waiting for it.
MM_DEVICE void add_four(float *to, float4 x) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v4.f32 [%0],{%1,%2,%3,%4};" ::"l"(to), "f"(x.x), "f"(x.y), "f"(x.z),
               "f"(x.w)
               : "memory");
#else
  atomicAdd(to, x.x);
  atomicAdd(to + 1, x.y);
  atomicAdd(to + 2, x.z);
  atomicAdd(to + 3, x.w);
#endif
}

// Says a number to other blocks; who has heard it sees all that was written before it was said.
MM_DEVICE void post(uint64_t *to, uint64_t x) {
  asm volatile("st.release.gpu.global.u64 [%0],%1;" ::"l"(to), "l"(x) : "memory");
}

MM_DEVICE uint64_t hear(const uint64_t *from) {
  uint64_t x;
  asm volatile("ld.acquire.gpu.global.u64 %0,[%1];" : "=l"(x) : "l"(from) : "memory");
  return x;
}

// A pointer that lies in shared memory, read anew each time: registers are rarer than time.
template <class P> MM_DEVICE P *fresh(P *const &pointer) {
  uint64_t p;
  asm volatile("ld.shared.b64 %0,[%1];" : "=l"(p) : "r"(shared_address(&pointer)));
  return (P *)p;
}

// ---------------------------------------------------------------------------------------------
// Numbers

// Absolute error 8e-6.
MM_DEVICE float fast_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0,%1;" : "=f"(y) : "f"(x));
  return y;
}

MM_DEVICE float fast_sqrt(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0,%1;" : "=f"(y) : "f"(x));
  return y;
}

MM_DEVICE float fast_inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0,%1;" : "=f"(y) : "f"(x));
  return y;
}

// The hidden units' activation: known when the kernel is compiled, which is faster, or not.
enum { TANH, RELU, ANY };

template <int ACT> MM_DEVICE float activate(bool relu, float x) {
  if (ACT == RELU || (ACT == ANY && relu)) return fmaxf(x, 0.0f);
  return fast_tanh(x);
}

// By the activation's value.
template <int ACT> MM_DEVICE float slope_at(bool relu, float h) {
  if (ACT == RELU || (ACT == ANY && relu)) return h > 0.0f ? 1.0f : 0.0f;
  return fmaf(-h, h, 1.0f);
}

// Two at a time, of halves: exact but for the last rounding.
template <int ACT> MM_DEVICE uint32_t slopes_at(bool relu, uint32_t halves) {
  const __half2 h = *reinterpret_cast<__half2 *>(&halves);
  __half2 slope;
  if (ACT == RELU || (ACT == ANY && relu))
    slope = __hgt2(h, __float2half2_rn(0.0f));
  else
    slope = __hfma2(__hneg2(h), h, __float2half2_rn(1.0f));
  return *reinterpret_cast<uint32_t *>(&slope);
}

// One parameter's step; g: its gradient, already scaled, or with its scale in rest1 and that
// scale's square in rest2.
MM_DEVICE float adam(float p, float g, float *m, float *v, float beta1, float rest1, float beta2,
                     float rest2, float rate, float epsilon) {
  *m = fmaf(rest1, g, beta1 * *m);
  *v = fmaf(rest2 * g, g, beta2 * *v);
  return fmaf(-rate, *m * fast_inverse(fast_sqrt(*v) + epsilon), p);
}

// ---------------------------------------------------------------------------------------------
// Lanes

// Over all lanes; each gets it.
MM_DEVICE float warp_sum(float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    x += __shfl_xor_sync(ALL_LANES, x, lanes);
  return x;
}

MM_DEVICE double warp_sum(double x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    x += __shfl_xor_sync(ALL_LANES, x, lanes);
  return x;
}

MM_DEVICE float warp_top(float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, lanes));
  return x;
}

// Over the four lanes of a row of C.
MM_DEVICE float row_sum(float x) {
  x += __shfl_xor_sync(ALL_LANES, x, 1);
  return x + __shfl_xor_sync(ALL_LANES, x, 2);
}

// `count` bits from number `first` on; those beyond 31 are left out.
MM_DEVICE unsigned bit_mask(int first, int count) {
  unsigned mask;
  asm("bmsk.clamp.b32 %0,%1,%2;" : "=r"(mask) : "r"(first), "r"(count));
  return mask;
}

// threadIdx.x, asked for anew each time, so that what follows from it is computed again where it is
// needed and does not fill registers in between.
MM_DEVICE int this_thread() {
  int i;
  asm volatile("mov.u32 %0,%%tid.x;" : "=r"(i));
  return i;
}

// Kernels take many registers and long to compile, and devices differ in shared memory: of the
// tiles each kind of device has those compiled that it may use, and the newest all of them.
template <int ROWS> MM_DEVICE constexpr bool tile_is_compiled() {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
  return true;
#elif defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 860
  return ROWS == 32;
#else
  return ROWS <= 64;
#endif
}

// Waits for `threads` threads that come to barrier `id`, 1 to 15. Not bar.sync, which promises that
// the whole block comes, to the same instruction: the machine code is the same, but checkers are
// told.
MM_DEVICE void barrier(int id, int threads) {
  asm volatile("barrier.sync %0,%1;" ::"r"(id), "r"(threads) : "memory");
}

} // namespace mm

#endif
