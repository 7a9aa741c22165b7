// SPDX-License-Identifier: Apache-2.0
// The optimiser: norm of the gradient, clip, Adam's step, working copies of the weights.

#ifndef MM_BACKEND_CUDA_CLASSIC_ADAM_CUH
#define MM_BACKEND_CUDA_CLASSIC_ADAM_CUH

#include "backend/cuda/classic/tile.cuh"

namespace mm {

// Of w1, b1 and b2.
template <class W> MM_DEVICE float *side_gradient(W &S) {
  return W::RESIDENT ? S.soon : S.late;
}

// Gradients of w1, b1 and b2 to where their owners look.
template <class W> MM_DEVICE void spread_side(W &S, const Gradient<W> &from) {
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
  float *to = side_gradient(S);
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i, unit = net * H + tile_row(q) + g;
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int input = 2 * t + c;
      const float upper = from.side[i][c], lower = from.side[i][2 + c];
      if (q >> 2 == 0 && input <= W::D) {
        to[input * NETS * H + unit] = upper;
        to[input * NETS * H + unit + 8] = lower;
      } else if (q >> 2 == 1 && input == W::D) {
        to[W::B2 + unit] = upper;
        to[W::B2 + unit + 8] = lower;
      }
    }
  }
}

// Its squares. Of the second half of the tiles only the column of ones belongs to the gradient.
template <class W> MM_DEVICE float side_square(const Gradient<W> &g) {
  const int tid = this_thread(), lane = tid & 31, w = (tid >> 5) % W::TEAM, t = lane & 3;
  float square = 0;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const int input = 2 * t + (c & 1);
      const bool counts = q >> 2 ? input == W::D : input <= W::D;
      const float x = counts ? g.side[i][c] : 0.0f;
      square = fmaf(x, x, square);
    }
  }
  return square;
}

// Gradient of w3 or b3, parameter i >= W3, in the unit of both networks.
template <class W> MM_DEVICE float output_gradient(const W &S, int i) {
  float sum = 0;
  const bool bias = i >= W::B3;
  const int k = bias ? i - W::B3 : i - W::W3, output = bias ? k : k / H;
  if (output > W::A) return 0; // what fills up b3
  const int net = output == W::A ? CRITIC : ACTOR, at = net == CRITIC ? 0 : output;
  for (int w = 0; w < W::TEAM; w++)
    sum += bias ? S.part3b[net * W::TEAM + w][at] : S.part3[part3_row<W>(net, w, at)][k % H];
  return sum * S.loss.common[net];
}

// A thread's k-th small parameter is one.
template <class W> MM_DEVICE bool is_small(int tid, int k) {
  return (k + 1) * W::THREADS <= W::SMALL || tid + k * W::THREADS < W::SMALL;
}

template <class W> struct Owned {       // Adam's moments of a warp's tiles of w2, by lane
  float m[W::OWN * 16], v[W::OWN * 16]; // of no use where w2 is not resident
};

// After a gradient that is not finite: whether it may be with a smaller scale of the losses. Errors
// that overflow show in the gradients of the first layer and of b2 of their network.
template <class W> __device__ __noinline__ bool lower_scale() {
  W &S = here<W>();
  const float *side = side_gradient(S);
  bool actor = false, critic = false;
  for (int i = threadIdx.x; i < W::W3; i += W::THREADS) {
    const bool bad = !(fabsf(side[i]) < INFINITY);
    actor |= bad && i / H % NETS == ACTOR;
    critic |= bad && i / H % NETS == CRITIC;
  }
  return lower_together(&S.loss, actor, critic);
}

// Where rows g, g + 8 (half) and columns 8 j + 2t of tile q lie in w2 [NETS][H][H].
template <class W> MM_DEVICE int owned_place(int net, int q, int j, int half, int lane) {
  return (net * H + tile_row(q) + (lane >> 2) + 8 * half) * H + tile_column(q) + 8 * j +
         2 * (lane & 3);
}

// g2 is in the unit of both networks. share: of a row in the mean, in this unit; step: of Adam, in
// this iteration. False, and nothing has changed, if the gradient is not finite.
template <class W>
MM_DEVICE bool optimise(W &S, const Gradient<W> &g2, Owned<W> &own, float share, int step,
                        int w2_at) {
  const int tid = this_thread() & (W::THREADS - 1), lane = tid & 31, warp = tid >> 5;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
  const mm_cuda_agent &agent = S.agent;
  float small[W::EACH], square = side_square(g2);
  if (!W::RESIDENT) __syncthreads(); // h1 and d2 have been read
  spread_side(S, g2);
#pragma unroll
  for (int k = 0; k < W::EACH; k++) {
    const int i = tid + k * W::THREADS;
    small[k] = 0;
    if ((k + 1) * W::THREADS > W::W3 && i >= W::W3 && i < W::SMALL)
      small[k] = output_gradient(S, i);
    square = fmaf(small[k], small[k], square);
  }
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const float x = g2.w2[i][j >> 2][j & 3];
      square = fmaf(x, x, square);
    }
  }
  square = warp_sum(square);
  if (lane == 0) S.total[warp] = square;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int i = 0; i < W::WARPS / 4; i++) {
    const float4 four = reinterpret_cast<const float4 *>(S.total)[i];
    total += (four.x + four.y) + (four.z + four.w);
  }
  const float norm = fast_sqrt(total) * share;
  if (!(norm < INFINITY)) return false;
  const float clip = norm >= agent.max_grad_norm ? __fdividef(agent.max_grad_norm, norm) : 1.0f;
  const float scale = clip * share, beta1 = agent.beta1, beta2 = agent.beta2;
  const float rest1 = agent.rest1 * scale, rest2 = agent.rest2 * scale * scale;
  const mm_cuda_rate rate = S.rate[step & 1];
  // no branches here, so that each of the steps below hides what the others wait for
#pragma unroll
  for (int k = 0; k < W::EACH; k++) {
    const bool mine = is_small<W>(tid, k);
    const int i = mine ? tid + k * W::THREADS : tid; // or one that is its own, for nothing
    if (k * W::THREADS < W::W3 && i < W::W3) small[k] = side_gradient(S)[i];
    float2 mv = S.moments[i];
    small[k] = adam(S.small[i], small[k], &mv.x, &mv.y, beta1, rest1, beta2, rest2, rate.rate,
                    rate.epsilon);
    if (mine) S.moments[i] = mv;
  }
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (W::RESIDENT) {
        float4 *at = &S.master[((warp * W::OWN + i) * 4 + j) * 32 + lane], p = *at;
        float *m = own.m + 16 * i + 4 * j, *v = own.v + 16 * i + 4 * j;
        const float *d = g2.w2[i][j];
        p.x = adam(p.x, d[0], m + 0, v + 0, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.y = adam(p.y, d[1], m + 1, v + 1, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.z = adam(p.z, d[2], m + 2, v + 2, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.w = adam(p.w, d[3], m + 3, v + 3, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        *at = p;
        __half *to = S.w2[net] +
                     wide_place(tile_row(q) + (lane >> 2), tile_column(q) + 8 * j + 2 * (lane & 3));
        store_pair(to, pack(p.x, p.y));
        store_pair(to + 8 * WIDE_ROW, pack(p.z, p.w));
      } else {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          const int place = owned_place<W>(net, q, j, half, lane), at = w2_at + place;
          float2 p = *reinterpret_cast<float2 *>(agent.param + at);
          float2 m = *reinterpret_cast<float2 *>(agent.m + at),
                 v = *reinterpret_cast<float2 *>(agent.v + at);
          const float *d = g2.w2[i][j] + 2 * half;
          p.x = adam(p.x, d[0], &m.x, &v.x, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
          p.y = adam(p.y, d[1], &m.y, &v.y, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
          *reinterpret_cast<float2 *>(agent.param + at) = p;
          *reinterpret_cast<float2 *>(agent.m + at) = m;
          *reinterpret_cast<float2 *>(agent.v + at) = v;
          store_pair(S.w2[net] + wide_place(place / H % H, place % H), pack(p.x, p.y));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < W::EACH; k++)
    if (is_small<W>(tid, k)) refresh_small(S, (unsigned)(tid + k * W::THREADS), small[k]);
  publish_operands();
  if (tid == 0) wait_copies<0>(); // see fetch_rate
  __syncthreads();
  return true;
}

// The rate of step `step` of the iteration, on the side; known when the step before has ended.
template <class W> MM_DEVICE void fetch_rate(W &S, int step) {
  static_assert(sizeof(mm_cuda_rate) == 8, "copied as one");
  if (threadIdx.x != 0) return;
  copy8(&S.rate[step & 1], S.next_rate++);
  end_copies();
}

} // namespace mm

#endif
