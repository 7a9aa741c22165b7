// Projections onto piecewise maps, for rollouts: exact, in a bounded number of rounds, by the lanes
// of a warp that stand for the same environment.
//
// phi is straight between knots, n + 1 of them at depths s_0 < .. < s_n = 0 with phi(s_j) = j / n;
// shares are n phi. Lanes look for u with sum_a phi(u + d_a) = 1, d_a = x_a - max x <= 0.

#ifndef MM_BACKEND_CUDA_PROJECT_CUH
#define MM_BACKEND_CUDA_PROJECT_CUH

#include "backend/cuda_warp.cuh"
#include "map/simplex.h"

namespace mm {

// A map in shared memory. Maps with more knots go the general way. Tables are searched in three
// steps, a quarter, an eighth of that, then its numbers.
enum { KNOTS = 128, PAIRS = 64 };

struct Knots {
  alignas(16) float depth[KNOTS]; // [n + 1], then infinity
  alignas(16) float pair[PAIRS];  // two actions: by how much the scores differ when the first one's
                                  // share is n / 2 + i; then infinity
  float4 quarter[4];              // of depth: where the second, third and last eighth of it begin
  float inverse[KNOTS];           // [n] 1 / psi, then 0
  int n;                          // segments; 0: the map is not for this
};

MM_DEVICE float depth_or_infinity(const mm_potential_f *map, int j) {
  return j <= map->n ? map->depth[j] : INFINITY;
}

template <int THREADS> __device__ void fill_knots(Knots *to, const mm_potential_f *map) {
  const int n = map->kind == MM_MAP_PIECEWISE && map->n + 2 <= KNOTS ? map->n : 0;
  const int half = n / 2;
  if (threadIdx.x == 0) to->n = n;
  for (int i = threadIdx.x; i < KNOTS && n > 0; i += THREADS) {
    to->depth[i] = depth_or_infinity(map, i);
    to->inverse[i] = i < n ? map->inverse_psi[i] : 0.0f;
    if (i < PAIRS)
      to->pair[i] = half + i <= n ? map->depth[half + i] - map->depth[n - half - i] : INFINITY;
    if (i < 4)
      to->quarter[i] =
          make_float4(depth_or_infinity(map, 32 * i + 8), depth_or_infinity(map, 32 * i + 16),
                      depth_or_infinity(map, 32 * i + 24), 0.0f);
  }
}

// How many of eight ascending numbers are at most y.
MM_DEVICE int count_eight(const float *numbers, float y) {
  const float4 *at = reinterpret_cast<const float4 *>(numbers);
  const float4 a = at[0], b = at[1];
  return (y >= a.x) + (y >= a.y) + (y >= a.z) + (y >= a.w) + (y >= b.x) + (y >= b.y) + (y >= b.z) +
         (y >= b.w);
}

// Where the quarters of a table begin, for the registers of who looks often.
struct Quarters {
  float second, third, last;
  MM_DEVICE explicit Quarters(const Knots &k)
      : second(k.depth[32]), third(k.depth[64]), last(k.depth[96]) {}
};

// n phi(y), and how many knots are at or below y.
MM_DEVICE float share_at(const Knots &k, const Quarters &quarters, float y, int *below) {
  const int q = (y >= quarters.second) + (y >= quarters.third) + (y >= quarters.last);
  const float4 part = k.quarter[q];
  const int from = 32 * q + 8 * ((y >= part.x) + (y >= part.y) + (y >= part.z));
  *below = from + count_eight(k.depth + from, y);
  const int j = max(*below - 1, 0);
  return (float)j + fminf(fmaxf((y - k.depth[j]) * k.inverse[j], 0.0f), 1.0f);
}

// Two actions. phi^-1(p) - phi^-1(1 - p) is straight in p between multiples of 1 / n, so one look
// at a table of it is enough.
MM_DEVICE void project_pair(const Knots &k, const float x[2], float p[2], float *u) {
  const bool first = x[0] >= x[1];
  const float gap = first ? x[0] - x[1] : x[1] - x[0], n = (float)k.n;
  const int half = k.n / 2, last = k.n - half;
  int eighth = 0;
#pragma unroll
  for (int e = 1; e < PAIRS / 8; e++)
    eighth += gap >= k.pair[8 * e];
  const int i = min(max(8 * eighth + count_eight(k.pair + 8 * eighth, gap) - 1, 0), last - 1);
  const float from = k.pair[i], width = k.pair[i + 1] - from;
  const float t = fminf(fmaxf(__fdividef(gap - from, width), 0.0f), 1.0f);
  const float high = fminf(__fdividef((float)(half + i) + t, n), 1.0f), low = 1.0f - high;
  p[0] = first ? high : low;
  p[1] = first ? low : high;
  *u = fmaf(t, k.depth[half + i + 1] - k.depth[half + i], k.depth[half + i]);
}

// The lanes that stand for an environment: those from `base` on, four of them, or four more 16
// further on.
struct Crew {
  int lanes, base, rank;
};

// `lane` is one of environment number lane / 4, or of lane / 4 % 4 where there are no more than
// four.
MM_DEVICE Crew crew_of(int lane, bool few) {
  Crew crew;
  crew.lanes = few ? 8 : 4;
  crew.base = few ? lane & 12 : lane & 28;
  crew.rank = (lane & 3) + (few ? (lane >> 4) * 4 : 0);
  return crew;
}

MM_DEVICE int lane_of(const Crew &crew, int rank) {
  return crew.base + (rank & 3) + ((rank & 4) << 2);
}

// The largest and the smallest of a crew's numbers; each lane gets it.
MM_DEVICE float crew_max(const Crew &crew, float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 1));
  x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 2));
  const float other = __shfl_xor_sync(ALL_LANES, x, 16);
  return crew.lanes == 8 ? fmaxf(x, other) : x;
}

MM_DEVICE float crew_min(const Crew &crew, float x) {
  return -crew_max(crew, -x);
}

// What is known at a point u: every action's share, and how many knots are at or below u + d_a.
template <int A> struct Point {
  float u, sum, share[A];
  int below[A];
};

// More actions. The search goes from knot to knot of the action with the highest score, then over
// all knots of the others that lie between the two found, until the sum is straight; every lane of
// an environment tries another knot.
template <int A> struct Search {
  const Knots &knots;
  const Quarters &quarters;
  const Crew &crew;
  float d[A];         // scores minus the highest
  int top;            // the action that has it
  Point<A> low, high; // the root is between
};

// Looks at u, a knot of one action, whose share is a whole number there.
template <int A> MM_DEVICE Point<A> look_at(const Search<A> &s, float u, int action, int knot) {
  Point<A> point;
  point.u = u;
  point.sum = 0;
#pragma unroll
  for (int a = 0; a < A; a++) {
    const float share = share_at(s.knots, s.quarters, u + s.d[a], &point.below[a]);
    point.share[a] = a == action ? (float)knot : share;
    point.below[a] = a == action ? knot + 1 : point.below[a];
    point.sum += point.share[a];
  }
  return point;
}

// Takes another lane's point, if wanted.
template <int A>
MM_DEVICE void take_point(Point<A> &to, const Point<A> &from, int lane, bool wanted) {
  const float u = __shfl_sync(ALL_LANES, from.u, lane),
              sum = __shfl_sync(ALL_LANES, from.sum, lane);
  to.u = wanted ? u : to.u;
  to.sum = wanted ? sum : to.sum;
#pragma unroll
  for (int a = 0; a < A; a++) {
    const float share = __shfl_sync(ALL_LANES, from.share[a], lane);
    const int below = __shfl_sync(ALL_LANES, from.below[a], lane);
    to.share[a] = wanted ? share : to.share[a];
    to.below[a] = wanted ? below : to.below[a];
  }
}

MM_DEVICE unsigned crew_ballot(const Crew &crew, bool holds) {
  return __ballot_sync(ALL_LANES, holds) & ((crew.lanes == 8 ? 0xf000fu : 0xfu) << crew.base);
}

template <int A> MM_DEVICE float top_share(const Search<A> &s, const Point<A> &point) {
  float share = 0;
#pragma unroll
  for (int a = 0; a < A; a++)
    share = a == s.top ? point.share[a] : share;
  return share;
}

// The highest score's share is a whole number at its knots: between n / A, where the sum is at most
// n, and n.
template <int A> MM_DEVICE void search_top(Search<A> &s) {
  const float n = (float)s.knots.n;
  int first = s.knots.n / A, last = s.knots.n;
  bool low_known = false, high_known = false;
  while (__any_sync(ALL_LANES, last - first > 1)) {
    const int inside = last - first - 1, lanes = s.crew.lanes;
    const int knot = first + (inside * (s.crew.rank + 1) + lanes - 1) / lanes;
    const Point<A> point = look_at(s, s.knots.depth[knot], s.top, knot);
    // ranks are in the order of their knots: those below the root come first
    const int count = __popc(crew_ballot(s.crew, point.sum < n));
    const int left = lane_of(s.crew, max(count - 1, 0));
    const int right = lane_of(s.crew, min(count, lanes - 1));
    const bool low = inside > 0 && count > 0, high = inside > 0 && count < lanes;
    take_point(s.low, point, left, low);
    take_point(s.high, point, right, high);
    first = low ? __float2int_rn(top_share(s, s.low)) : first;
    last = high ? __float2int_rn(top_share(s, s.high)) : last;
    low_known = low_known || low;
    high_known = high_known || high;
  }
  // ends that never moved
  if (__any_sync(ALL_LANES, !low_known)) {
    const Point<A> point = look_at(s, s.knots.depth[first], s.top, first);
    if (!low_known) s.low = point;
  }
  if (__any_sync(ALL_LANES, !high_known)) {
    const Point<A> point = look_at(s, s.knots.depth[last], s.top, last);
    if (!high_known) s.high = point;
  }
}

// Knots of the others, as many at a time as there are lanes.
template <int A> MM_DEVICE void search_others(Search<A> &s) {
  const float n = (float)s.knots.n;
  for (;;) {
    int mine = s.crew.rank, left = 0, knot = -1, action = 0;
    float u = s.high.u;
#pragma unroll
    for (int a = 0; a < A; a++) {
      // knots number low.below .. high.below - 1; the highest score's are the ends themselves
      const int inside = a == s.top ? 0 : s.high.below[a] - s.low.below[a];
      if (mine >= 0 && mine < inside) {
        knot = s.low.below[a] + mine;
        action = a;
        u = s.knots.depth[knot] - s.d[a];
      }
      mine -= inside;
      left += inside;
    }
    if (!__any_sync(ALL_LANES, left > 0)) return;
    const bool any = knot >= 0 && u > s.low.u && u < s.high.u;
    // what is left are knots too close for floats to tell them from the ends
    if (!__any_sync(ALL_LANES, any)) return;
    const Point<A> point = look_at(s, u, any ? action : -1, knot);
    const bool below = any && point.sum < n, above = any && !(point.sum < n);
    const float low = crew_max(s.crew, below ? u : -INFINITY);
    const float high = crew_min(s.crew, above ? u : INFINITY);
    const unsigned at_low = crew_ballot(s.crew, below && u == low);
    const unsigned at_high = crew_ballot(s.crew, above && u == high);
    take_point(s.low, point, max(__ffs((int)at_low) - 1, 0), at_low != 0);
    take_point(s.high, point, max(__ffs((int)at_high) - 1, 0), at_high != 0);
  }
}

template <int A>
MM_DEVICE void project_several(const Knots &k, const Quarters &quarters, const Crew &crew,
                               const float x[A], float p[A], float *u) {
  Search<A> s = { k, quarters, crew, {}, 0, {}, {} };
  float top = x[0];
#pragma unroll
  for (int a = 1; a < A; a++) {
    s.top = x[a] > top ? a : s.top;
    top = fmaxf(top, x[a]);
  }
#pragma unroll
  for (int a = 0; a < A; a++)
    s.d[a] = fmaxf(x[a] - top, 2.0f * k.depth[0]); // below that phi is 0 whatever u is
  search_top(s);
  search_others(s);
  const float rise = s.high.sum - s.low.sum, missing = (float)k.n - s.low.sum;
  const float t = rise > 0.0f ? fminf(fmaxf(__fdividef(missing, rise), 0.0f), 1.0f) : 1.0f;
  float total = 0;
#pragma unroll
  for (int a = 0; a < A; a++) {
    p[a] = fmaf(t, s.high.share[a] - s.low.share[a], s.low.share[a]);
    total += p[a];
  }
#pragma unroll
  for (int a = 0; a < A; a++)
    p[a] = __fdividef(p[a], total);
  *u = fmaf(t, s.high.u - s.low.u, s.low.u);
}

// Softmax, as mm_project_negentropy but for the divisions.
template <int A> MM_DEVICE void project_softmax(const float x[A], float p[A], float *lambda) {
  float top = x[0], total = 0;
#pragma unroll
  for (int a = 1; a < A; a++)
    top = fmaxf(top, x[a]);
#pragma unroll
  for (int a = 0; a < A; a++) {
    p[a] = mm_exp_f(x[a] - top);
    total += p[a];
  }
#pragma unroll
  for (int a = 0; a < A; a++)
    p[a] = __fdividef(p[a], total);
  *lambda = -(top + mm_log_f(total));
}

// Any map.
template <int A>
__device__ __noinline__ void project_any(const mm_potential_f *map, bool bisect, const float *x,
                                         float *p, float *lambda) {
  if (bisect)
    mm_project_bisect10_f(map, x, A, p, lambda);
  else
    mm_project_f(map, x, A, p, lambda);
}

} // namespace mm

#endif
