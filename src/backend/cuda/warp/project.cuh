// SPDX-License-Identifier: Apache-2.0
// Projections onto piecewise maps, for rollouts: exact, in a bounded number of rounds, by the lanes
// of a warp that stand for the same environment.
//
// phi is straight between knots, n + 1 of them at depths s_0 < .. < s_n = 0 with phi(s_j) = j / n;
// shares are n phi. Lanes look for u with sum_a phi(u + d_a) = 1, d_a = x_a - max x <= 0. Weights
// of actions are shares, or probabilities, together with their total.

#ifndef MM_BACKEND_CUDA_WARP_PROJECT_CUH
#define MM_BACKEND_CUDA_WARP_PROJECT_CUH

#include "backend/cuda/warp/warp.cuh"
#include "map/simplex.h"

namespace mm {

// Maps with more knots go the general way.
enum { KNOTS = 128, PAIRS = 64 };

// phi between the j-th knot (depth s_{j-1}) and the next: share j - 1 + (y - begin) slope, in [j -
// 1, j]. Before the first knot shares are 0, which is -1 + 1.
struct Line {
  float begin, end, slope, next_slope;
};

// A map in shared memory.
struct Knots {
  alignas(16) Line line[KNOTS];  // [n + 2]; the last one is flat and has no end
  alignas(16) float pair[PAIRS]; // two actions: by how much the scores differ when the first one's
                                 // share is n / 2 + i; then infinity
  float near;                    // see bin_of
  int bin_shift, last_bin;
  int n; // segments; 0: the map is not for this
  // [n + 1] the first and the last of the knots that are the same number as this one, because phi
  // is that steep
  uint8_t first_equal[KNOTS], last_equal[KNOTS];
};

MM_DEVICE float knot_depth(const Knots &k, int j) {
  return k.line[j + 1].begin;
}

template <int THREADS> __device__ void fill_knots(Knots *to, const mm_potential_f *map) {
  const int n = map->kind == MM_MAP_PIECEWISE && map->n + 2 <= KNOTS ? map->n : 0;
  const int half = n / 2;
  if (threadIdx.x == 0) to->n = n;
  for (int i = threadIdx.x; i < KNOTS && n > 0; i += THREADS) {
    Line line;
    line.begin = i == 0 ? -0x1p127f : i <= n + 1 ? map->depth[i - 1] : INFINITY;
    line.end = i <= n ? map->depth[i] : INFINITY;
    line.slope = i == 0 ? 1.0f : i <= n ? map->inverse_psi[i - 1] : 0.0f;
    line.next_slope = i < n ? map->inverse_psi[i] : 0.0f;
    to->line[i] = line;
    if (i < PAIRS)
      to->pair[i] = half + i <= n ? map->depth[half + i] - map->depth[n - half - i] : INFINITY;
  }
}

// ---------------------------------------------------------------------------------------------
// Two actions

// How many of eight ascending numbers are at most y.
MM_DEVICE int count_eight(const float *numbers, float y) {
  const float4 *at = reinterpret_cast<const float4 *>(numbers);
  const float4 a = at[0], b = at[1];
  return (y >= a.x) + (y >= a.y) + (y >= a.z) + (y >= a.w) + (y >= b.x) + (y >= b.y) + (y >= b.z) +
         (y >= b.w);
}

// phi^-1(p) - phi^-1(1 - p) is straight in p between multiples of 1 / n, so one look at a table of
// it is enough.
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
  const Line line = k.line[half + i + 1];
  p[0] = first ? high : low;
  p[1] = first ? low : high;
  *u = fmaf(t, line.end - line.begin, line.begin);
}

// ---------------------------------------------------------------------------------------------
// Looking up

// Knots may lie many orders of magnitude apart, closest where phi is near 1. Depths y are sorted
// into bins by the leading bits of near - y, which is about a logarithm; most bins have one knot or
// none.
enum { BINS = 8192, SEVERAL = 128 };

// [BINS] how many knots are in bins before this one; SEVERAL on top if it has two or more.
typedef uint8_t Guide;

// What a lane keeps in registers to look up.
struct Binning {
  float near;
  int shift, last;
  MM_DEVICE explicit Binning(const Knots &k) : near(k.near), shift(k.bin_shift), last(k.last_bin) {}
};

MM_DEVICE int bin_of(const Binning &b, float y) {
  return min(max(b.last - (__float_as_int(b.near - y) >> b.shift), 0), BINS - 1);
}

// How the bins lie: as narrow as their number allows; and which knots are equal. By one thread,
// after fill_knots.
MM_DEVICE void choose_bins(Knots *k) {
  const float near = -0.5f * knot_depth(*k, k->n / 2);
  int shift = 0, last;
  do {
    shift++;
    last = __float_as_int(near - knot_depth(*k, 0)) >> shift;
  } while (last - (__float_as_int(near) >> shift) >= BINS);
  for (int j = 0; j <= k->n; j++) {
    const bool same = j > 0 && knot_depth(*k, j) == knot_depth(*k, j - 1);
    k->first_equal[j] = same ? k->first_equal[j - 1] : (uint8_t)j;
  }
  for (int j = k->n; j >= 0; j--) {
    const bool same = j < k->n && knot_depth(*k, j) == knot_depth(*k, j + 1);
    k->last_equal[j] = same ? k->last_equal[j + 1] : (uint8_t)j;
  }
  k->near = near;
  k->bin_shift = shift;
  k->last_bin = last;
}

// By all threads, after choose_bins.
template <int THREADS> __device__ void fill_guide(const Knots &k, Guide *guide) {
  enum { EACH = 16 };
  const Binning binning(k);
  for (int first = EACH * threadIdx.x; first < BINS; first += EACH * THREADS) {
    int j = 0; // knots in bins before
    for (int step = KNOTS / 2; step > 0; step /= 2)
      if (j + step <= k.n + 1 && bin_of(binning, knot_depth(k, j + step - 1)) < first) j += step;
    uint32_t four = 0;
    for (int i = 0; i < EACH; i++) {
      int inside = 0;
      while (j + inside <= k.n && bin_of(binning, knot_depth(k, j + inside)) == first + i)
        inside++;
      four |= (uint32_t)(j + (inside > 1 ? SEVERAL : 0)) << 8 * (i & 3);
      j += inside;
      if ((i & 3) == 3) {
        *reinterpret_cast<uint32_t *>(guide + first + i - 3) = four;
        four = 0;
      }
    }
  }
}

// Small whole numbers by their bits, sooner than by conversion.
MM_DEVICE float small_float(int i) {
  return __int_as_float(0x4b400000 + i) - 0x1.8p23f;
}

// n phi of each y, and how many knots are at or below it; side by side, since each is a chain of
// loads.
template <int N>
MM_DEVICE void shares_at(const Knots &k, const Guide *guide, const Binning &binning,
                         const float y[N], float share[N], int below[N]) {
  int several = 0;
#pragma unroll
  for (int i = 0; i < N; i++) {
    below[i] = guide[bin_of(binning, y[i])];
    several |= below[i];
  }
  if (several >= SEVERAL) {
    // four at a time, since each look is as long as all of them; rarely more than once
    bool more;
    do {
      more = false;
#pragma unroll
      for (int i = 0; i < N; i++) {
        const int at = below[i] & (SEVERAL - 1);
        int passed = 0;
#pragma unroll
        for (int j = 0; j < 4; j++)
          passed += y[i] >= k.line[min(at + j, KNOTS - 1)].end;
        below[i] = at + passed;
        more = more || passed == 4;
      }
    } while (more);
  }
#pragma unroll
  for (int i = 0; i < N; i++) {
    const Line line = k.line[below[i]];
    const bool next = y[i] >= line.end;
    const float begin = next ? line.end : line.begin, slope = next ? line.next_slope : line.slope;
    below[i] += next;
    share[i] = small_float(below[i] - 1) + __saturatef((y[i] - begin) * slope);
  }
}

// ---------------------------------------------------------------------------------------------
// More actions

// The lanes of a warp that stand for an environment, which is number `place` of its team.
struct Crew {
  int lanes, base, rank, place;
};

// warps: that share the team's environments, 4 if there are few, else 8.
MM_DEVICE Crew crew_of(int warp, int warps, int lane, bool few) {
  Crew crew;
  crew.lanes = few ? 8 * warps : 4 * warps;
  crew.rank = lane & (crew.lanes - 1);
  crew.base = lane - crew.rank;
  crew.place = (32 * warp + lane) / crew.lanes;
  return crew;
}

// Which of the crew's lanes, by rank.
MM_DEVICE unsigned crew_ballot(const Crew &crew, bool holds) {
  return (__ballot_sync(ALL_LANES, holds) >> crew.base) & bit_mask(0, crew.lanes);
}

// What does not change while the map is the same. The first round looks at knots of the action with
// the highest score, whose share is between n / A, where the sum is at most n, and n.
template <int A> struct Plan {
  const Knots &knots;
  const Guide *guide;
  Binning binning;
  Crew crew;
  float n, u;
  int knot;
  MM_DEVICE Plan(const Knots &k, const Guide *g, const Crew &c)
      : knots(k), guide(g), binning(k), crew(c), n((float)k.n) {
    const int first = k.n / A;
    knot = k.last_equal[first + (k.n - first) * c.rank / (c.lanes - 1)];
    // where the sum is not more than n for sure, which may be before all knots
    if (c.rank == 0 && knot > first) knot = k.first_equal[first] - 1;
    u = knot_depth(k, knot);
  }
};

// The highest score is number 0 here. Of action a the root has all knots before lo[a] below it, and
// all from hi[a] on above.
template <int A> struct Search {
  float d[A]; // scores minus the highest
  int lo[A], hi[A];
  MM_DEVICE int left() const {
    int sum = 0;
#pragma unroll
    for (int a = 0; a < A; a++)
      sum += hi[a] - lo[a];
    return sum;
  }
};

// The sum at a knot of action `own`; below: knots at or below of the others, in their order.
template <int A>
MM_DEVICE float sum_at(const Plan<A> &plan, const Search<A> &s, float u, int own, int knot,
                       int below[A - 1]) {
  float y[A - 1], share[A - 1], sum = small_float(knot);
#pragma unroll
  for (int i = 0; i < A - 1; i++)
    y[i] = u + (i < own ? s.d[i] : s.d[i + 1]);
  shares_at<A - 1>(plan.knots, plan.guide, plan.binning, y, share, below);
#pragma unroll
  for (int i = 0; i < A - 1; i++)
    sum += share[i];
  return sum;
}

// Counts of all actions in bytes: knots at or below a lane's knot.
template <int A> struct Counts {
  uint32_t word[(A + 3) / 4];
  MM_DEVICE Counts(int own, int at_own, const int below[A - 1]) {
#pragma unroll
    for (int i = 0; i < (A + 3) / 4; i++)
      word[i] = 0;
#pragma unroll
    for (int a = 0; a < A; a++) {
      const int other = a < own ? below[a < A - 1 ? a : 0] : below[a > 0 ? a - 1 : 0];
      word[a / 4] |= (uint32_t)(a == own ? at_own : other) << 8 * (a % 4);
    }
  }
  MM_DEVICE int operator[](int a) const {
    return (int)(word[a / 4] >> 8 * (a % 4) & 255);
  }
  MM_DEVICE Counts from(int lane) const {
    Counts c = *this;
#pragma unroll
    for (int i = 0; i < (A + 3) / 4; i++)
      c.word[i] = __shfl_sync(ALL_LANES, word[i], lane);
    return c;
  }
};

// Between two of the plan's knots.
template <int A> MM_DEVICE void search_top(const Plan<A> &plan, Search<A> &s) {
  const Crew &crew = plan.crew;
  int below[A - 1];
  const float sum = sum_at(plan, s, plan.u, 0, plan.knot, below);
  // ranks are in the order of their knots; the first and the last have the root between them
  const bool low = crew.rank == 0 || (sum < plan.n && crew.rank < crew.lanes - 1);
  const Counts<A> counts(0, (low ? plan.knot : plan.knots.first_equal[plan.knot]) + 1, below);
  const int right = crew.base + __popc(crew_ballot(crew, low));
  const Counts<A> before = counts.from(right - 1), after = counts.from(right);
#pragma unroll
  for (int a = 0; a < A; a++) {
    s.lo[a] = before[a];
    s.hi[a] = max(after[a] - (a == 0), s.lo[a]); // few knots: the first may be looked at twice
  }
}

// Until a crew has a lane for every knot that is left: more rounds, on the action with the most of
// them.
template <int A> MM_DEVICE void search_longest(const Plan<A> &plan, Search<A> &s) {
  const Crew &crew = plan.crew;
  while (__any_sync(ALL_LANES, s.left() > crew.lanes)) {
    const bool wanted = s.left() > crew.lanes;
    int own = 0, first = s.lo[0], inside = s.hi[0] - s.lo[0], below[A - 1];
    float d = s.d[0];
#pragma unroll
    for (int a = 1; a < A; a++) {
      const bool longer = s.hi[a] - s.lo[a] > inside;
      own = longer ? a : own;
      d = longer ? s.d[a] : d;
      first = longer ? s.lo[a] : first;
      inside = longer ? s.hi[a] - s.lo[a] : inside;
    }
    const int knot = plan.knots.last_equal[first + inside * (crew.rank + 1) / (crew.lanes + 1)];
    const float sum = sum_at(plan, s, knot_depth(plan.knots, knot) - d, own, knot, below);
    const bool low = sum < plan.n;
    const Counts<A> counts(own, (low ? knot : plan.knots.first_equal[knot]) + 1, below);
    const int count = __popc(crew_ballot(crew, low));
    const Counts<A> before = counts.from(crew.base + max(count - 1, 0));
    const Counts<A> after = counts.from(crew.base + min(count, crew.lanes - 1));
#pragma unroll
    for (int a = 0; a < A; a++) {
      if (wanted && count > 0) s.lo[a] = max(s.lo[a], before[a]);
      if (wanted && count < crew.lanes) s.hi[a] = max(min(s.hi[a], after[a] - (a == own)), s.lo[a]);
    }
  }
}

// A lane for every knot: where the sum is straight.
template <int A> MM_DEVICE void search_rest(const Plan<A> &plan, Search<A> &s) {
  const Crew &crew = plan.crew;
  int own = -1, knot = 0, begin = 0, below[A - 1];
  unsigned lanes[A];
  float d = 0;
#pragma unroll
  for (int a = 0; a < A; a++) {
    const int inside = s.hi[a] - s.lo[a], at = crew.rank - begin;
    const bool here = at >= 0 && at < inside;
    own = here ? a : own;
    knot = here ? s.lo[a] + at : knot;
    d = here ? s.d[a] : d;
    lanes[a] = bit_mask(begin, inside);
    begin += inside;
  }
  const float u = knot_depth(plan.knots, knot) - d;
  const float sum = sum_at(plan, s, u, own, plan.knots.last_equal[knot], below);
  const unsigned low = crew_ballot(crew, sum < plan.n);
#pragma unroll
  for (int a = 0; a < A; a++)
    s.lo[a] += __popc(low & lanes[a]);
}

// Where all actions are on a straight piece: shares at both ends of it, and between them by the
// part of the sum that is missing. Shares at knots are whole numbers, whatever rounding says. If n
// is not between the ends, then there are knots so close to each other that they are one number, or
// several actions have one there and rounding has let each pass for itself: they have to pass
// theirs together, at the end where n was missed.
template <int A>
MM_DEVICE void solve(const Plan<A> &plan, const Search<A> &s, float share[A], float *total,
                     float *u) {
  Line line[A];
  float from = -INFINITY, to = INFINITY, low_sum = 0, high_sum = 0, high[A];
#pragma unroll
  for (int a = 0; a < A; a++) {
    line[a] = plan.knots.line[s.lo[a]];
    from = fmaxf(from, line[a].begin - s.d[a]);
    to = fminf(to, line[a].end - s.d[a]);
  }
#pragma unroll
  for (int a = 0; a < A; a++) {
    const float base = small_float(s.lo[a] - 1), slope = line[a].slope, d = s.d[a];
    const float low_part = __saturatef((from + d - line[a].begin) * slope);
    const float high_part = __saturatef((to + d - line[a].begin) * slope);
    share[a] = base + (line[a].begin - d == from ? 0.0f : low_part);
    high[a] = base + (line[a].end - d == to ? 1.0f : high_part);
    low_sum += share[a];
    high_sum += high[a];
  }
  const bool late = high_sum < plan.n * (1 - 1e-5f);
  const bool early = low_sum > plan.n * (1 + 1e-5f);
  if (late || early) {
    const float at = late ? to : from;
    float y[A], other[A];
    int below[A];
#pragma unroll
    for (int a = 0; a < A; a++) {
      const float knot = late ? line[a].end : line[a].begin;
      y[a] = at + s.d[a];
      if (knot - s.d[a] == at) y[a] = late ? knot : nextafterf(knot, -INFINITY);
    }
    shares_at<A>(plan.knots, plan.guide, plan.binning, y, other, below);
    low_sum = high_sum = 0;
#pragma unroll
    for (int a = 0; a < A; a++) {
      const float near = late ? high[a] : share[a];
      share[a] = late ? near : other[a];
      high[a] = late ? other[a] : near;
      low_sum += share[a];
      high_sum += high[a];
    }
    from = to = at;
  }
  const float rise = high_sum - low_sum;
  const float t = rise > 0.0f ? __saturatef(__fdividef(plan.n - low_sum, rise)) : 1.0f;
  *total = 0;
#pragma unroll
  for (int a = 0; a < A; a++) {
    share[a] = fmaf(t, high[a] - share[a], share[a]);
    *total += share[a];
  }
  *u = fmaf(t, to - from, from);
}

template <int A>
MM_DEVICE void project_several(const Plan<A> &plan, const float x[A], float share[A], float *total,
                               float *u) {
  Search<A> s;
  float top = x[0], at_top = 0;
  int first = 0;
#pragma unroll
  for (int a = 1; a < A; a++) {
    first = x[a] > top ? a : first;
    top = fmaxf(top, x[a]);
  }
  s.d[0] = 0;
#pragma unroll
  for (int a = 1; a < A; a++)
    s.d[a] = fmaxf((a == first ? x[0] : x[a]) - top, -0x1p100f); // finite
  search_top(plan, s);
  search_longest(plan, s);
  search_rest(plan, s);
  solve(plan, s, share, total, u);
  // back to where they were
  at_top = share[0];
#pragma unroll
  for (int a = 1; a < A; a++) {
    share[0] = a == first ? share[a] : share[0];
    share[a] = a == first ? at_top : share[a];
  }
}

// ---------------------------------------------------------------------------------------------
// Other maps

// Softmax, as mm_project_negentropy but for the divisions.
template <int A>
MM_DEVICE void project_softmax(const float x[A], float p[A], float *total, float *lambda) {
  float top = x[0];
#pragma unroll
  for (int a = 1; a < A; a++)
    top = fmaxf(top, x[a]);
  *total = 0;
#pragma unroll
  for (int a = 0; a < A; a++) {
    p[a] = mm_exp_f(x[a] - top);
    *total += p[a];
  }
  *lambda = -(top + mm_log_f(*total));
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
