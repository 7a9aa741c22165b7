// SPDX-License-Identifier: Apache-2.0
// Sizes of a training on bits, and where everything lies: in a block's shared memory and in its
// agent's scratch.

#ifndef MM_BACKEND_CUDA_MINATAR_ROOM_CUH
#define MM_BACKEND_CUDA_MINATAR_ROOM_CUH

#include "backend/cuda/minatar/game.cuh"
#include "backend/cuda/minatar/minatar.h"
#include "backend/cuda/network/layers.cuh"
#include "backend/cuda/warp/project.cuh"

namespace mm {
namespace minatar {

enum {
  THREADS = MM_CUDA_MINATAR_THREADS,
  WARPS = THREADS / 32,
  BOTH = 2 * H,        // columns of both first layers
  WIDE_ROW = BOTH + 8, // halves of such a row in shared memory: no bank conflicts
  OUTPUTS = 8,         // scores of the actor, filled up
  MOST_SPAN = 512,     // rows between two additions to the first layer's gradient, at most
  PASS = 128           // inputs whose gradient is worked on at a time
};

// One more input is always on: its weights are the biases. Rows of words are filled up to whole
// 16-byte pieces, and in shared memory to an odd number of them (again the banks).
template <mm_minatar_game GAME> struct inputs {
  enum {
    REAL = game<GAME>::INPUTS + 1,
    WORDS = MM_MINATAR_WORDS(REAL),
    ALL = 32 * WORDS,
    PADDED = (WORDS + 3) / 4 * 4,
    STRIDE = PADDED / 4 % 2 ? PADDED : PADDED + 4
  };
};

template <mm_minatar_game GAME, int TILE> struct shape {
  static constexpr mm_minatar_game WHICH = GAME;
  typedef game<GAME> play;
  typedef inputs<GAME> in;
  enum {
    ACTIONS = play::ACTIONS,
    ROWS = TILE,
    SPAN = 4 * TILE,
    // first layers: a piece of the weights has so many inputs, and so many pieces are at hand
    PIECE = TILE >= 64 ? 64 : 32,
    PIECES = (in::ALL + PIECE - 1) / PIECE,
    AT_HAND = TILE == 128 && in::WORDS > 28 ? 2 : 3,
    ERROR_ROW = TILE + 8
  };
};

// ---------------------------------------------------------------------------------------------
// Shared memory

template <class S> struct forward_room {
  __half h1[NETS][S::ROWS * HALF_ROW];
  __half h2[NETS][S::ROWS * HALF_ROW];
  __half d2[NETS][S::ROWS * HALF_ROW];
  uint32_t bits[2][S::ROWS * S::in::STRIDE];
  __half w1[S::AT_HAND][S::PIECE * WIDE_ROW];
};

template <class S> struct gradient_room {
  __half d1[S::SPAN * WIDE_ROW];             // rows in the order of place_of_bit
  uint32_t turned[2][(S::SPAN / 32) * PASS]; // [32 rows][input]
};

// Rows row[n]; normalised advantage = (advantage - mean) * scale.
struct minibatch {
  const uint32_t *row;
  int n;
  float share; // 1 / n
  float mean, scale;
  mm_cuda_rate rate;
};

template <class S> struct room {
  union {
    forward_room<S> forward;
    gradient_room<S> gradient;
  };
  // working copies of the parameters
  __half w2[NETS][H * HALF_ROW];
  float b2[NETS][H];
  float w3[(S::ACTIONS + 1) * H];
  float b3[16];
  // errors of the outputs of a tile: [output][row]
  __half error[NETS][OUTPUTS * S::ERROR_ROW];
  // a span of a minibatch
  uint32_t row[S::SPAN];
  float wanted[S::SPAN]; // what the chosen score should be
  float old_value[S::SPAN], target[S::SPAN];
  uint8_t action[S::SPAN];
  minibatch batch;
  mm_cuda_loss_scale loss; // of the iteration

  alignas(16) Knots knots;
  double sums[WARPS];
  mm_shuffle shuffle;
  mm_cuda_agent agent;
  bool timed;
  Clock<MM_CUDA_MINATAR_STAGES> clock;
};

// The block's. Functions that are not inlined ask for it, so that it is known to be shared memory.
template <class S> MM_DEVICE room<S> &here() {
  extern __shared__ __align__(128) unsigned char memory[];
  return *reinterpret_cast<room<S> *>(memory);
}

// Only while environments are stepped: there are no errors of the second layer then.
template <class S> MM_DEVICE Guide *guide_of(room<S> &s) {
  static_assert(sizeof s.forward.d2 >= BINS * sizeof(Guide), "no room for the guide");
  return reinterpret_cast<Guide *>(s.forward.d2);
}

// ---------------------------------------------------------------------------------------------
// Scratch, in this order

__host__ __device__ constexpr size_t whole_lines(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

// Where things begin, in bytes.
template <mm_minatar_game GAME> struct scratch {
  typedef inputs<GAME> in;
  static __host__ __device__ __forceinline__ mm_cuda_layout layout() {
    return mm_cuda_layout_of(game<GAME>::INPUTS, game<GAME>::ACTIONS);
  }
  // half [in::ALL][BOTH]: halves of the weights, inputs in the order of place_of_bit
  static __host__ __device__ __forceinline__ size_t w1() { return 0; }
  // half [MOST_SPAN][BOTH], as in gradient_room; columns as `store_d1` has them
  static __host__ __device__ __forceinline__ size_t d1() {
    return w1() + whole_lines(in::ALL * BOTH * sizeof(__half));
  }
  // uint32_t [MOST_SPAN / 32][in::ALL]
  static __host__ __device__ __forceinline__ size_t turned() {
    return d1() + whole_lines(MOST_SPAN * BOTH * sizeof(__half));
  }
  // float: mm_cuda_layout
  static __host__ __device__ __forceinline__ size_t gradient() {
    return turned() + whole_lines(MOST_SPAN / 32 * in::ALL * sizeof(uint32_t));
  }
  // float [n_env][OUTPUTS]
  static __host__ __device__ __forceinline__ size_t scores() {
    return gradient() + whole_lines((size_t)layout().size * sizeof(float));
  }
  static size_t size(int32_t n_env) {
    return scores() + whole_lines((size_t)n_env * OUTPUTS * sizeof(float));
  }
};

#define MM_CUDA_SCRATCH(name, type, where)                                                         \
  template <class S> MM_DEVICE type *name(const room<S> &s) {                                      \
    return (type *)((unsigned char *)fresh(s.agent.scratch) + scratch<S::WHICH>::where());         \
  }
MM_CUDA_SCRATCH(gradient_of, float, gradient)
MM_CUDA_SCRATCH(w1_of, __half, w1)
MM_CUDA_SCRATCH(d1_of, __half, d1)
MM_CUDA_SCRATCH(turned_of, uint32_t, turned)
MM_CUDA_SCRATCH(scores_of, float, scores)
#undef MM_CUDA_SCRATCH

// ---------------------------------------------------------------------------------------------
// A set of 32 bits as an operand of two products, 16 columns each. A rotation brings bits p and
// p + 16 to the top exponent bit of two halves, which an AND leaves as 0 or 2: bit b stands in
// column place_of_bit(b), and the other operand is half of what it should be.

MM_DEVICE constexpr int place_of_bit(int b) {
  return (b & 8) << 1 | (b & 7) << 1 | b >> 4;
}

MM_DEVICE uint32_t rotate(uint32_t x, int left) {
  return __funnelshift_l(x, x, left);
}

// Before the following, once per word: lane (g, t) looks at the bits t, t + 4, ...
MM_DEVICE uint32_t turn_to_lane(uint32_t word, int t) {
  return rotate(word, 14 - t);
}

// Product number `half` of the two; rows g and g + 8 of the operand.
MM_DEVICE void spread(uint32_t a[4], uint32_t word, uint32_t word8, int half) {
  constexpr uint32_t TWOS = 0x40004000u;
  a[0] = rotate(word, 32 - 8 * half) & TWOS;
  a[1] = rotate(word8, 32 - 8 * half) & TWOS;
  a[2] = rotate(word, 28 - 8 * half) & TWOS;
  a[3] = rotate(word8, 28 - 8 * half) & TWOS;
}

// ---------------------------------------------------------------------------------------------

// The same for all threads; in a fixed order. All threads come here.
template <class S> MM_DEVICE double block_sum(room<S> &s, double x) {
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) s.sums[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int i = 0; i < WARPS; i++)
    sum += s.sums[i];
  __syncthreads();
  return sum;
}

template <class S> MM_DEVICE float block_top(room<S> &s, float x) {
  x = warp_top(x);
  if (threadIdx.x % 32 == 0) s.sums[threadIdx.x / 32] = (double)x;
  __syncthreads();
  for (int i = 0; i < WARPS; i++)
    x = fmaxf(x, (float)s.sums[i]);
  __syncthreads();
  return x;
}

template <class S> MM_DEVICE void mark(room<S> &s, int stage) {
  if (threadIdx.x == 0 && s.timed) s.clock.mark(stage);
}

} // namespace minatar
} // namespace mm

#endif
