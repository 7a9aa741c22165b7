// Learning. The gradient of the second layer, which is nearly all of it, never leaves the
// registers: its norm must be known, the other network's too, before any parameter moves. Whoever
// holds a number's gradient moves it.

#ifndef MM_BACKEND_CUDA_GAUSS_LEARN_CUH
#define MM_BACKEND_CUDA_GAUSS_LEARN_CUH

#include <cuda_bf16.h>

#include "backend/cuda_gauss_back.cuh"
#include "backend/cuda_gauss_loss.cuh"

namespace mm {
namespace wide {

// Tells the other network's block, and hears from it; the actor's is added first.
MM_DEVICE double both_squares(mm_cuda_gauss_word *word, int which, uint64_t step, double own) {
  volatile mm_cuda_gauss_word *mine = word + 2 * which + (step & 1);
  volatile mm_cuda_gauss_word *other = word + 2 * (1 - which) + (step & 1);
  mine->square = own;
  __threadfence();
  mine->step = step;
  while (other->step != step) {
  }
  __threadfence();
  const double its = other->square;
  return which == ACTOR ? own + its : its + own;
}

struct Rates {
  float clip, beta1, rest1, beta2, rest2, rate, epsilon;
};

// Of a warp's 16 squares, those whose numbers stay in the device's cache. All agents' numbers do
// not fit there: if all were treated alike, each would be gone before it is used again.
enum { KEPT = 2 };

// Four parameters with their moments.
struct Four {
  float4 p, m, v;
};

// NEAR: to stay in the cache, from which others must not drive it out.
template <bool NEAR> MM_DEVICE Four take_four(const Step &s, size_t at) {
  Four x;
  if (NEAR) {
    x.p = __ldcg(reinterpret_cast<const float4 *>(s.param + at));
    x.m = __ldcg(reinterpret_cast<const float4 *>(s.m + at));
    x.v = __ldcg(reinterpret_cast<const float4 *>(s.v + at));
  } else {
    x.p = __ldcs(reinterpret_cast<const float4 *>(s.param + at));
    x.m = __ldcs(reinterpret_cast<const float4 *>(s.m + at));
    x.v = __ldcs(reinterpret_cast<const float4 *>(s.v + at));
  }
  return x;
}

template <bool NEAR> MM_DEVICE void put_four(const Step &s, size_t at, const Four &x) {
  if (NEAR) {
    __stcg(reinterpret_cast<float4 *>(s.param + at), x.p);
    __stcg(reinterpret_cast<float4 *>(s.m + at), x.m);
    __stcg(reinterpret_cast<float4 *>(s.v + at), x.v);
  } else {
    __stcs(reinterpret_cast<float4 *>(s.param + at), x.p);
    __stcs(reinterpret_cast<float4 *>(s.m + at), x.m);
    __stcs(reinterpret_cast<float4 *>(s.v + at), x.v);
  }
}

MM_DEVICE void move_one(const Rates &r, float g, float *p, float *m, float *v) {
  *p = adam(*p, r.clip * g, m, v, r.beta1, r.rest1, r.beta2, r.rest2, r.rate, r.epsilon);
}

MM_DEVICE void move_four(const Rates &r, float4 g, Four *x) {
  move_one(r, g.x, &x->p.x, &x->m.x, &x->v.x);
  move_one(r, g.y, &x->p.y, &x->m.y, &x->v.y);
  move_one(r, g.z, &x->p.z, &x->m.z, &x->v.z);
  move_one(r, g.w, &x->p.w, &x->m.w, &x->v.w);
}

MM_DEVICE uint32_t pack_wide(float low, float high) {
  __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&x);
}

MM_DEVICE float2 unpack_wide(uint32_t x) {
  return make_float2(__uint_as_float(x << 16), __uint_as_float(x & 0xffff0000u));
}

MM_DEVICE float square_of(float4 x) {
  return x.x * x.x + x.y * x.y + (x.z * x.z + x.w * x.w);
}

// Gradient of the second layer; with the last tile of a minibatch the norm, and all parameters
// move. False: the norm is not finite.
template <int MT>
__device__ __noinline__ bool second_layer(const Step &s, uint64_t step, mm_cuda_rate rate) {
  Work<MT> &S = here<MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int out = 4 * (warp >> 2), in = 4 * (warp & 3); // first squares of 4 by 4
  const float up = S.up, down = S.down;
  uint32_t kept[2][4][2][4]; // pairs
  float square = 0;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float c[4][4][4];
#pragma unroll
    for (int m = 0; m < 4; m++) {
#pragma unroll
      for (int q = 0; q < 2; q++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const size_t at = ((out + m) * 16 + in + 2 * half + q) * SQUARE + h * 128 + lane * 4;
          const float4 old =
              s.add ? *reinterpret_cast<const float4 *>(s.gradient + at) : make_float4(0, 0, 0, 0);
          c[m][2 * q][2 * h] = up * old.x;
          c[m][2 * q][2 * h + 1] = up * old.y;
          c[m][2 * q + 1][2 * h] = up * old.z;
          c[m][2 * q + 1][2 * h + 1] = up * old.w;
        }
      }
    }
#pragma unroll 1
    for (int k = 0; k < Work<MT>::TILES; k++) {
      uint32_t b[2][4];
#pragma unroll
      for (int q = 0; q < 2; q++)
        load_columns(b[q], S.h1 + 16 * k * ROW + 16 * (in + 2 * half + q), ROW, lane);
#pragma unroll
      for (int m = 0; m < 4; m++) {
        uint32_t a[4];
        load_rows_transposed(a, S.h2 + 16 * k * ROW + 16 * (out + m), ROW, lane);
#pragma unroll
        for (int j = 0; j < 4; j++)
          multiply(c[m][j], a, b[j >> 1][2 * (j & 1)], b[j >> 1][2 * (j & 1) + 1]);
      }
    }
#pragma unroll
    for (int m = 0; m < 4; m++) {
#pragma unroll
      for (int q = 0; q < 2; q++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const float4 g =
              make_float4(down * c[m][2 * q][2 * h], down * c[m][2 * q][2 * h + 1],
                          down * c[m][2 * q + 1][2 * h], down * c[m][2 * q + 1][2 * h + 1]);
          const size_t at = ((out + m) * 16 + in + 2 * half + q) * SQUARE + h * 128 + lane * 4;
          square += square_of(g);
          kept[half][m][q][2 * h] = pack_wide(g.x, g.y);
          kept[half][m][q][2 * h + 1] = pack_wide(g.z, g.w);
          if (!s.last) *reinterpret_cast<float4 *>(s.gradient + at) = g;
        }
      }
    }
  }
  if (!s.last) {
    __syncthreads();
    return true;
  }
  for (int i = s.l.w1 + 4 * threadIdx.x; i < s.l.size; i += 4 * THREADS)
    square += square_of(*reinterpret_cast<const float4 *>(s.gradient + i));
  const double own = block_sum(S, (double)square);
  mark(S, MM_CUDA_GAUSS_LAYER2);
  if (threadIdx.x == 0) S.total = both_squares(s.gauss->word, s.which, step, own);
  __syncthreads();
  mark(S, MM_CUDA_GAUSS_WAIT);
  const double norm = sqrt(S.total);
  if (!(norm < INFINITY)) return false;
  const mm_cuda_agent &a = *s.agent;
  const Rates r = { norm >= (double)a.max_grad_norm ? (float)((double)a.max_grad_norm / norm)
                                                    : 1.0f,
                    a.beta1,
                    a.rest1,
                    a.beta2,
                    a.rest2,
                    rate.rate,
                    rate.epsilon };
  // square by square, the next one on its way: the device's memory is far away
  Four x[2][2];
  const size_t first = (out * 16 + in) * SQUARE + lane * 4;
  x[0][0] = take_four<(KEPT > 0)>(s, first);
  x[0][1] = take_four<(KEPT > 0)>(s, first + 128);
#pragma unroll
  for (int i = 0; i < 16; i++) {
    // as they are held: half, row, column
    const int half = i / 8, m = i / 2 % 4, q = i % 2;
    const size_t at = ((out + m) * 16 + in + 2 * half + q) * SQUARE;
    if (i < 15) {
      const int next = i + 1;
      const size_t from =
          ((out + next / 2 % 4) * 16 + in + 2 * (next / 8) + next % 2) * SQUARE + lane * 4;
#pragma unroll
      for (int h = 0; h < 2; h++)
        x[next & 1][h] =
            next < KEPT ? take_four<true>(s, from + h * 128) : take_four<false>(s, from + h * 128);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float2 low = unpack_wide(kept[half][m][q][2 * h]);
      const float2 high = unpack_wide(kept[half][m][q][2 * h + 1]);
      move_four(r, make_float4(low.x, low.y, high.x, high.y), &x[i & 1][h]);
      if (i < KEPT)
        put_four<true>(s, at + h * 128 + lane * 4, x[i & 1][h]);
      else
        put_four<false>(s, at + h * 128 + lane * 4, x[i & 1][h]);
    }
    const float4 low = x[i & 1][0].p, high = x[i & 1][1].p;
    *reinterpret_cast<uint4 *>(s.operand + at + lane * 8) = make_uint4(
        pack(low.x, low.y), pack(low.z, low.w), pack(high.x, high.y), pack(high.z, high.w));
  }
  for (int i = s.l.w1 + 4 * threadIdx.x; i < s.l.size; i += 4 * THREADS) {
    Four y;
    y.p =
        *reinterpret_cast<const float4 *>(s.param + i); // read elsewhere through the nearest cache
    y.m = __ldcg(reinterpret_cast<const float4 *>(s.m + i));
    y.v = __ldcg(reinterpret_cast<const float4 *>(s.v + i));
    move_four(r, *reinterpret_cast<const float4 *>(s.gradient + i), &y);
    *reinterpret_cast<float4 *>(s.param + i) = y.p;
    __stcg(reinterpret_cast<float4 *>(s.m + i), y.m);
    __stcg(reinterpret_cast<float4 *>(s.v + i), y.v);
    if (i < s.l.b2)
      *reinterpret_cast<uint2 *>(s.operand + mm_cuda_wide_operand((size_t)i)) =
          make_uint2(pack(y.p.x, y.p.y), pack(y.p.z, y.p.w));
  }
  __syncthreads();
  mark(S, MM_CUDA_GAUSS_ADAM);
  return true;
}

// ---------------------------------------------------------------------------------------------

// One gradient step; false: its gradient is not finite. The first tile of the next one, of `next`
// rows, is sent for.
template <int MT>
MM_DEVICE bool learn_minibatch(Step &s, int next, uint64_t step, mm_cuda_rate rate) {
  enum { R = Work<MT>::R };
  Work<MT> &S = here<MT>();
  bool finite = true;
#pragma unroll 1
  for (s.from = 0; s.from < s.n; s.from += R) {
    s.rows = s.n - s.from < R ? s.n - s.from : (int)R;
    s.add = s.from > 0;
    s.last = s.from + s.rows == s.n;
    arrive<MT>(s);
    mark(S, MM_CUDA_GAUSS_GATHER);
    forward<MT>(s.param, s.operand, s.gauss->n_input, s.agent->relu);
    mark(S, MM_CUDA_GAUSS_FORWARD);
    if (s.which == ACTOR)
      lose_actor<MT>(s);
    else
      lose_critic<MT>(s);
    spread_errors<MT>(s);
    mark(S, MM_CUDA_GAUSS_LOSS);
    through_outputs<MT>(s);
    back<MT>(s.operand, s.agent->relu);
    mark(S, MM_CUDA_GAUSS_BACK);
    first_layer<MT>(s);
    mark(S, MM_CUDA_GAUSS_LAYER1);
    const int left = s.last ? next : s.n - s.from - s.rows;
    if (left > 0) fetch<MT>(s, s.first + s.from + s.rows, left < R ? left : (int)R);
    finite = second_layer<MT>(s, step, rate);
  }
  return finite;
}

// An account of the epoch, by the first warp; with `add` to what is there.
template <int MT> MM_DEVICE void account(Work<MT> &S, bool add, mm_cuda_gauss_report *out) {
  double ratios = 0, squares = 0, gaps = 0;
  float most = 0;
  uint32_t count[5] = { 0, 0, 0, 0, 0 };
  for (int r = threadIdx.x; r < Work<MT>::R; r += 32) {
    const Tally &t = S.tally[r];
    ratios += t.ratios;
    squares += t.squares;
    gaps += t.gaps;
    most = fmaxf(most, t.most);
    count[0] += t.samples;
    count[1] += t.clamped;
    count[2] += t.capped;
    count[3] += t.nonfinite;
    count[4] += t.measured;
  }
  ratios = warp_sum(ratios);
  squares = warp_sum(squares);
  gaps = warp_sum(gaps);
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, lanes));
  for (int i = 0; i < 5; i++)
    count[i] = __reduce_add_sync(ALL_LANES, count[i]);
  if (threadIdx.x != 0) return;
  mm_cuda_gauss_report sum = {};
  if (add) sum = *out;
  sum.unstable = out->unstable;
  sum.ratios += ratios;
  sum.squares += squares;
  sum.max_delta = fmax(sum.max_delta, (double)most);
  sum.gaps += gaps;
  sum.samples += count[0];
  sum.clamped += count[1];
  sum.capped += count[2];
  sum.nonfinite += count[3];
  sum.measured += count[4];
  *out = sum;
}

// An epoch of iteration number `turn` of the launch; block 2 i has the actor of agent i, block
// 2 i + 1 its critic. All blocks are on the device at the same time.
template <int MT>
__global__ void __launch_bounds__(THREADS, 1)
    learn(mm_cuda_agent *agents, int turn, int epoch, int64_t *clocks) {
  mm_cuda_agent &a = agents[blockIdx.x / 2];
  mm_cuda_gauss *gauss = static_cast<mm_cuda_gauss *>(a.scratch);
  if constexpr (!rows_are_compiled<MT>()) {
    if (threadIdx.x == 0) a.broken = MM_CUDA_NOT_COMPILED;
    return;
  }
  if (!gauss->active || a.broken || epoch >= a.epochs) return;
  Work<MT> &S = here<MT>();
  Step s;
  s.agent = &a;
  s.gauss = gauss;
  s.which = blockIdx.x % 2;
  s.l = mm_cuda_wide_layout_of(gauss->n_input);
  s.param = a.param + s.which * s.l.size;
  s.m = a.m + s.which * s.l.size;
  s.v = a.v + s.which * s.l.size;
  s.gradient = gauss->gradient + s.which * s.l.size;
  s.operand = gauss->operand + s.which * s.l.b2;
  if (threadIdx.x < Work<MT>::R) S.tally[threadIdx.x] = Tally{};
  for (int i = threadIdx.x; i < (int)(sizeof S.density / 4); i += THREADS)
    reinterpret_cast<uint32_t *>(&S.density)[i] =
        reinterpret_cast<const uint32_t *>(&gauss->density)[i];
  if (threadIdx.x == 0) begin_clock(S, clocks != nullptr);
  const int each = a.n_row / a.minibatches, larger = a.n_row % a.minibatches;
  const int before = (turn * a.epochs + epoch) * a.minibatches;
  const uint64_t steps =
      ((uint64_t)a.iteration * (uint64_t)a.epochs + (uint64_t)epoch) * (uint64_t)a.minibatches;
  bool finite = true;
  s.first = 0;
  s.n = each + (larger > 0);
  fetch<MT>(s, 0, s.n < (int)Work<MT>::R ? s.n : (int)Work<MT>::R);
#pragma unroll 1
  for (int mb = 0; mb < a.minibatches && finite; mb++) {
    const bool end = mb + 1 == a.minibatches;
    const int next = end ? 0 : each + (mb + 1 < larger);
    s.measure = end && epoch + 1 == a.epochs;
    finite = learn_minibatch<MT>(s, next, steps + (uint64_t)mb + 1, a.rate[before + mb]);
    s.first += s.n;
    s.n = next;
  }
  wait_copies<0>();
  __syncthreads();
  if (threadIdx.x == 0 && clocks)
    for (int i = 0; i < MM_CUDA_GAUSS_STAGES; i++) {
      int64_t *to = clocks + blockIdx.x * MM_CUDA_GAUSS_STAGES + i;
      *to = (turn + epoch > 0 ? *to : 0) + S.clocks[i];
    }
  if (s.which != ACTOR || threadIdx.x >= 32) return;
  account(S, epoch > 0, gauss->report + turn);
  if (threadIdx.x == 0 && !finite) a.broken = MM_CUDA_NOT_FINITE;
}

} // namespace wide
} // namespace mm

#endif
