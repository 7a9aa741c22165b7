// SPDX-License-Identifier: Apache-2.0
// Learning. The gradient of the second layer, which is nearly all of it, never leaves the
// registers: its norm must be known, the other network's too, before any parameter moves. Whoever
// holds a number's gradient moves it.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_LEARN_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_LEARN_CUH

#include "backend/cuda/gaussian/team.cuh"

namespace mm {
namespace gaussian {

// Gradient of the second layer; with the last tile of a minibatch the norm, and all parameters
// move. False: the norm is not finite.
template <int MT>
__device__ __noinline__ bool second_layer(const Step &s, uint64_t step, mm_cuda_rate rate) {
  Work<MT> &S = here<MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int out = 4 * (warp >> 2), in = 4 * (warp & 3); // first squares of 4 by 4
  const float up = S.up, down = S.down;
  const bool padding = out >= s.used || in >= s.used; // and nothing else
  uint32_t kept[2][4][2][4];                          // pairs
  float square[4] = { 0, 0, 0, 0 };                   // by row of squares
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float c[4][4][4];
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
      for (int q = 0; q < 2; q++)
        begin_square(s.add, s.gradient + square_at(out + m, in + 2 * half + q) + lane * 4, up,
                     c[m][2 * q], c[m][2 * q + 1]);
#pragma unroll 1
    for (int k = padding ? (int)Work<MT>::TILES : 0; k < Work<MT>::TILES; k++) {
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
      float pair = 0;
#pragma unroll
      for (int q = 0; q < 2; q++)
        end_square(!s.last, s.gradient + square_at(out + m, in + 2 * half + q) + lane * 4, down,
                   c[m][2 * q], c[m][2 * q + 1], kept[half][m][q], &pair);
      square[m] += pair;
    }
  }
  if (!s.last) {
    __syncthreads();
    return true;
  }
  // square by square, the next one on its way: the device's memory is far away
  Four x[2][2];
  take_square<false>(s, square_at(out, in) + lane * 4, x[0]);
#pragma unroll
  for (int m = 0; m < 4; m++)
    put_sum(S, warp >> 2, SUM_W2 + 4 * m + (warp & 3), square[m]);
  mark(S, MM_CUDA_GAUSS_LAYER2);
  both_squares<MT, 1>(S, s, step);
  mark(S, MM_CUDA_GAUSS_WAIT);
  const double norm = sqrt(S.total);
  if (!(norm < INFINITY)) return false;
  const Rates r = rates_of(s, norm, rate);
  // number i, in the order in which they are held: half, row, column
  const auto place = [&](int i) { return square_at(out + i / 2 % 4, in + 2 * (i / 8) + i % 2); };
  if (!padding) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      if (i < 15) take_square<false>(s, place(i + 1) + lane * 4, x[(i + 1) & 1]);
      move_square<false>(s, r, place(i), lane, kept[i / 8][i / 2 % 4][i % 2], x[i & 1]);
    }
  }
  const int used = s.l.w1 + 16 * s.used * s.l.inputs;
  for (int i = s.l.w1 + 4 * threadIdx.x; i < s.l.size; i += 4 * THREADS)
    if (i < used || i >= s.l.b2) move_rest(s, r, i);
  __syncthreads();
  mark(S, MM_CUDA_GAUSS_ADAM);
  return true;
}

// ---------------------------------------------------------------------------------------------

// Up to the errors of the outputs, by the rows' owners.
template <int MT, int P> MM_DEVICE void to_errors(const Step &s) {
  Work<MT> &S = here<MT>();
  if (P == 1)
    forward<MT>(s.param, s.operand, s.gauss, s.agent->relu);
  else
    team_forward<P>(s);
  mark(S, MM_CUDA_GAUSS_FORWARD);
  if (s.which == ACTOR)
    lose_actor<MT>(s);
  else
    lose_critic<MT>(s);
}

// One gradient step; false: its gradient is not finite. The first tile of the next one, of `next`
// rows, is sent for. met: how often those who share the network have met.
template <int MT, int P>
MM_DEVICE bool learn_minibatch(Step &s, int next, uint64_t step, mm_cuda_rate rate, uint64_t *met) {
  enum { R = Work<MT>::R };
  Work<MT> &S = here<MT>();
  bool finite = true;
#pragma unroll 1
  for (s.from = 0; s.from < s.n; s.from += R) {
    s.rows = s.n - s.from < R ? s.n - s.from : (int)R;
    s.add = s.from > 0;
    s.last = s.from + s.rows == s.n;
    if (P > 1) {
      if (s.add) meet<P>(s, ++*met); // all have read what was said of the last tile
      take_share<P>(s);
    }
    arrive<MT>(s);
    mark(S, MM_CUDA_GAUSS_GATHER);
    to_errors<MT, P>(s);
    if (P > 1) {
      mark(S, MM_CUDA_GAUSS_LOSS);
      tell_errors(s);
      meet<P>(s, ++*met);
      collect(s);
      mark(S, MM_CUDA_GAUSS_WAIT);
    }
    spread_errors<MT>(s);
    mark(S, MM_CUDA_GAUSS_LOSS);
    if (P == 1)
      back<MT>(s);
    else
      team_back<P>(s);
    mark(S, MM_CUDA_GAUSS_BACK);
    if (P == 1)
      first_layer<MT>(s);
    else
      team_first_layer<P>(s);
    mark(S, MM_CUDA_GAUSS_LAYER1);
    const int left = s.last ? next : s.n - s.from - s.rows;
    if (left > 0) fetch<MT>(s, s.first + s.from + s.rows, left < R ? left : (int)R);
    finite = P == 1 ? second_layer<MT>(s, step, rate) : team_second_layer<P>(s, step, rate);
    if (P > 1 && s.last && finite) {
      meet<P>(s, ++*met);
      mark(S, MM_CUDA_GAUSS_WAIT);
    }
  }
  return finite;
}

// Adds an account of the epoch to the iteration's, by the first warp.
template <int MT> MM_DEVICE void account(Work<MT> &S, mm_cuda_gauss_report *out) {
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
  most = warp_top(most);
  for (int i = 0; i < 5; i++)
    count[i] = __reduce_add_sync(ALL_LANES, count[i]);
  if (threadIdx.x != 0) return;
  mm_cuda_gauss_report sum = *out;
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

// Parameters and moments of many agents do not fit into the device's cache, and Adam then waits for
// its memory. Such agents begin one after the other, in turns of some clock cycles, so that others
// compute meanwhile, unless an epoch is so short that it would be felt.
enum { MANY = 24, TURNS = 8, TURN = 20000, LONG = 32 };

MM_DEVICE void wait_turn(const Step &s, int agent, int agents) {
  const bool waits = agents > MANY && s.used == H / 16 && s.agent->minibatches >= LONG;
  const int64_t from = clock64(), until = waits ? agent % TURNS * TURN : 0;
  while (clock64() - from < until) {
  }
}

// An epoch of iteration number `turn` of the launch. An agent has 2 P blocks, all of them on the
// device at the same time: P with the actor, then P with the critic.
template <int MT, int P>
__global__ void __launch_bounds__(THREADS, 1)
    learn(mm_cuda_agent *agents, int turn, int epoch, int64_t *clocks) {
  mm_cuda_agent &a = agents[blockIdx.x / (2 * P)];
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
  s.which = blockIdx.x / P % 2;
  s.member = blockIdx.x % P;
  s.low = 0;
  s.high = s.filled = Work<MT>::R;
  s.l = mm_cuda_gauss_layout_of(gauss->n_input);
  s.used = gauss->used;
  s.param = a.param + s.which * s.l.size;
  s.m = a.m + s.which * s.l.size;
  s.v = a.v + s.which * s.l.size;
  s.gradient = gauss->gradient + s.which * s.l.size;
  s.operand = gauss->operand + s.which * s.l.b2;
  if (threadIdx.x < Work<MT>::R) S.tally[threadIdx.x] = Tally{};
  copy_words<THREADS>(&S.density, &gauss->density);
  for (int i = threadIdx.x; i < PARTS * PART_SUMS; i += THREADS)
    S.part_sums[0][i] = 0;
  if (threadIdx.x == 0) {
    S.timed = clocks != nullptr && s.member == 0;
    S.clock.begin();
  }
  const int each = a.n_row / a.minibatches, larger = a.n_row % a.minibatches;
  const int before = (turn * a.epochs + epoch) * a.minibatches;
  const uint64_t steps = shuffle_number(a, epoch) * (uint64_t)a.minibatches;
  bool finite = true;
  uint64_t met = 0;
  if (P == 1) wait_turn(s, blockIdx.x / 2, gridDim.x / 2);
  s.first = 0;
  s.n = each + (larger > 0);
  s.most = s.n < (int)Work<MT>::R ? s.n : (int)Work<MT>::R;
  fetch<MT>(s, 0, s.most);
#pragma unroll 1
  for (int mb = 0; mb < a.minibatches && finite; mb++) {
    const bool end = mb + 1 == a.minibatches;
    const int next = end ? 0 : each + (mb + 1 < larger);
    s.measure = end && epoch + 1 == a.epochs;
    finite = learn_minibatch<MT, P>(s, next, steps + (uint64_t)mb + 1, a.rate[before + mb], &met);
    s.first += s.n;
    s.n = next;
  }
  wait_copies<0>();
  __syncthreads();
  if (threadIdx.x == 0 && clocks && s.member == 0)
    for (int i = 0; i < MM_CUDA_GAUSS_STAGES; i++) {
      int64_t *to = clocks + (blockIdx.x / P) * MM_CUDA_GAUSS_STAGES + i;
      *to = (turn + epoch > 0 ? *to : 0) + S.clock.spent[i];
    }
  if (s.which != ACTOR) return;
  if (P > 1) join_tallies<P>(s, ++met);
  if (s.member != 0 || threadIdx.x >= 32) return;
  account(S, gauss->report + turn);
  if (threadIdx.x == 0 && !finite) a.broken = MM_CUDA_NOT_FINITE;
}

} // namespace gaussian
} // namespace mm

#endif
