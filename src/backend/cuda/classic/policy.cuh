// SPDX-License-Identifier: Apache-2.0
// The policy in rollouts: from what is seen to an action.
//
// Players share the actor's hidden units. Products have units for rows and environments for
// columns; lane (g, t) of a player knows what environment g sees. When scores are known lanes stand
// for other environments: those of a warp, or some of them, for one.

#ifndef MM_BACKEND_CUDA_CLASSIC_POLICY_CUH
#define MM_BACKEND_CUDA_CLASSIC_POLICY_CUH

#include "backend/cuda/classic/network.cuh"

namespace mm {

// Teams, or who speculates, keep what they share in the memory of hidden units, which learning
// needs later; the guide of the map is behind that.
enum { GUIDE_AT = 12288 };

template <class W> MM_DEVICE Guide *guide_of(W &S) {
  static_assert(GUIDE_AT + BINS * sizeof(Guide) <= sizeof S.h1 + sizeof S.d2 + sizeof S.hd,
                "hidden units have room for it");
  return reinterpret_cast<Guide *>(&S.h1[0][0]) + GUIDE_AT;
}

// A player's units are 16 from 16 (player + PLAYERS i) on, i < PARTS. With one part all that the
// player needs to know of the actor stays in its registers through the rollout.
template <class W> struct Part {
  uint32_t w1[4], w2[4][4]; // operands
  float b2[2], w3[W::A][2]; // of units g and g + 8
};

template <class W> MM_DEVICE Part<W> take_part(const W &S, int part, int lane) {
  const int g = lane >> 2, t = lane & 3, unit = 16 * part + g;
  const uint32_t w2 = (shared_address(S.w2[ACTOR]) + wide_plain(lane)) ^ right(part);
  Part<W> p;
  const __half *slots = &S.w1[ACTOR][unit * W::W1_ROW + 4 * t];
  const uint2 upper = *reinterpret_cast<const uint2 *>(slots);
  const uint2 lower = *reinterpret_cast<const uint2 *>(slots + 8 * W::W1_ROW);
  p.w1[0] = upper.x;
  p.w1[1] = lower.x;
  p.w1[2] = upper.y;
  p.w1[3] = lower.y;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    uint32_t b[4];
    load_transposed(b, w2 + k * WIDE_DOWN);
    p.w2[k][0] = b[0];
    p.w2[k][1] = b[2];
    p.w2[k][2] = b[1];
    p.w2[k][3] = b[3];
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    p.b2[half] = S.small[W::B2 + unit + 8 * half];
#pragma unroll
    for (int a = 0; a < W::A; a++)
      p.w3[a][half] = S.small[W::W3 + a * H + unit + 8 * half];
  }
  return p;
}

// h1 of the part's units, to where all players look.
template <int ACT, class W>
MM_DEVICE void first_layer(bool relu, const Part<W> &p, int part, uint2 in, int lane, __half *h1) {
  float c[4] = { 0, 0, 0, 0 };
  multiply(c, p.w1, in.x, in.y);
  __half *to = h1 + 2 * (lane & 3) * HALF_ROW + 16 * part + (lane >> 2);
  to[0] = __float2half_rn(activate<ACT>(relu, c[0]));
  to[HALF_ROW] = __float2half_rn(activate<ACT>(relu, c[1]));
  to[8] = __float2half_rn(activate<ACT>(relu, c[2]));
  to[HALF_ROW + 8] = __float2half_rn(activate<ACT>(relu, c[3]));
}

// What the part's units add to the scores of environments 2t and 2t + 1.
template <int ACT, class W>
MM_DEVICE void other_layers(bool relu, const Part<W> &p, const uint32_t h1[4][2], float even[W::A],
                            float odd[W::A]) {
  // two chains, since each product waits for the one before it
  float sum[4] = { p.b2[0], p.b2[0], p.b2[1], p.b2[1] }, rest[4] = { 0, 0, 0, 0 };
  multiply(sum, p.w2[0], h1[0][0], h1[0][1]);
  multiply(rest, p.w2[1], h1[1][0], h1[1][1]);
  multiply(sum, p.w2[2], h1[2][0], h1[2][1]);
  multiply(rest, p.w2[3], h1[3][0], h1[3][1]);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const float left = activate<ACT>(relu, sum[2 * half] + rest[2 * half]);
    const float right = activate<ACT>(relu, sum[2 * half + 1] + rest[2 * half + 1]);
#pragma unroll
    for (int a = 0; a < W::A; a++) {
      even[a] = fmaf(left, p.w3[a][half], even[a]);
      odd[a] = fmaf(right, p.w3[a][half], odd[a]);
    }
  }
}

// Players together go from what environment g sees to their parts of the scores of eight
// environments. `own` is used where a player has one part only. First the hidden units that others
// look at:
template <int ACT, class W>
MM_DEVICE void begin_scores(const W &S, __half *hidden, const Part<W> &own, int player, uint2 in,
                            int lane) {
  const bool relu = ACT == ANY && S.agent.relu;
#pragma unroll
  for (int i = 0; i < W::PARTS; i++) {
    const int part = player + W::PLAYERS * i;
    first_layer<ACT, W>(relu, W::PARTS == 1 ? own : take_part(S, part, lane), part, in, lane,
                        hidden);
  }
}

// Then, when all are there, the rest.
template <int ACT, class W>
MM_DEVICE void end_scores(const W &S, const __half *hidden, float (*parts)[W::A][W::PLAYERS],
                          const Part<W> &own, int player, int lane) {
  const bool relu = ACT == ANY && S.agent.relu;
  const int t = lane & 3;
  uint32_t h1[4][2];
  float even[W::A], odd[W::A];
#pragma unroll
  for (int k = 0; k < 4; k += 2) {
    uint32_t r[4];
    load_matrices(r, shared_address(hidden + (lane & 7) * HALF_ROW + 16 * k + 8 * (lane >> 3)));
    h1[k][0] = r[0];
    h1[k][1] = r[1];
    h1[k + 1][0] = r[2];
    h1[k + 1][1] = r[3];
  }
#pragma unroll
  for (int a = 0; a < W::A; a++)
    even[a] = odd[a] = 0;
#pragma unroll
  for (int i = 0; i < W::PARTS; i++)
    other_layers<ACT, W>(relu, W::PARTS == 1 ? own : take_part(S, player + W::PLAYERS * i, lane),
                         h1, even, odd);
  // over the lanes of the same t; lanes 0 .. 15 take the even environments, the others the odd ones
  const bool upper = lane & 16;
#pragma unroll
  for (int a = 0; a < W::A; a++) {
    const float kept = upper ? odd[a] : even[a], given = upper ? even[a] : odd[a];
    float sum = kept + __shfl_xor_sync(ALL_LANES, given, 16);
    sum += __shfl_xor_sync(ALL_LANES, sum, 8);
    sum += __shfl_xor_sync(ALL_LANES, sum, 4);
    if ((lane & 12) == 0) parts[2 * t + upper][a][player] = sum;
  }
}

// What the actions of an environment score, without their biases.
template <class W> MM_DEVICE void sum_parts(const float parts[W::A][W::PLAYERS], float f[W::A]) {
#pragma unroll
  for (int a = 0; a < W::A; a++) {
    const float *part = parts[a];
    f[a] = W::PLAYERS == 4 ? (part[0] + part[1]) + (part[2] + part[3]) : part[0];
  }
}

// As mm_categorical_f, in floats: u is a multiple of 2^-24, times the weights' total.
template <int A> MM_DEVICE int choose(float u, const float weight[A]) {
  float sum = 0;
  int chosen = 0;
  bool open = true;
#pragma unroll
  for (int a = 0; a < A; a++) {
    sum += weight[a];
    const bool here = open && weight[a] > 0.0f;
    chosen = here ? a : chosen;
    open = open && !(here && u < sum);
  }
  return chosen;
}

// What a player needs of the agent to choose, kept in registers through the rollout.
template <class W> struct Rules {
  Plan<W::A> plan;
  float eta, anchor, factor, b3[W::A];
  bool softmax, bisect;
  MM_DEVICE Rules(W &S, const Crew &crew) : plan(S.knots, guide_of(S), crew) {
    const mm_cuda_agent &agent = S.agent;
    eta = agent.step.act;
    anchor = agent.map.anchor;
    factor = agent.step.factor;
    bisect = agent.bisect;
    softmax = agent.map.kind == MM_MAP_NEGENTROPY && !bisect;
#pragma unroll
    for (int a = 0; a < W::A; a++)
      b3[a] = S.small[W::B3 + a];
  }
};

// From scores to an action, and z. Whether the map goes by its knots is known when this is
// compiled: what other maps call costs registers wherever it may be called.
template <class W> MM_DEVICE bool goes_by_knots(const W &S) {
  return S.knots.n > 0 && !S.agent.bisect;
}

template <bool BY_KNOTS, class W>
MM_DEVICE int choose_action(const W &S, const Rules<W> &rules, float u, float f[W::A], float *z,
                            bool *finite) {
  float p[W::A], total = 1, lambda, chosen = 0;
#pragma unroll
  for (int a = 0; a < W::A; a++) {
    f[a] += rules.b3[a];
    *finite = *finite && fabsf(f[a]) < INFINITY;
    f[a] *= rules.eta;
  }
  if constexpr (BY_KNOTS) {
    float root, top = f[0];
#pragma unroll
    for (int a = 1; a < W::A; a++)
      top = fmaxf(top, f[a]);
    if constexpr (W::A == 2)
      project_pair(S.knots, f, p, &root);
    else
      project_several<W::A>(rules.plan, f, p, &total, &root);
    lambda = (rules.anchor + root) - top;
  } else if (rules.softmax) {
    project_softmax<W::A>(f, p, &total, &lambda);
  } else {
    // what is called wants memory; f and p stay in registers
    float scores[W::A], probs[W::A], shift;
#pragma unroll
    for (int a = 0; a < W::A; a++)
      scores[a] = f[a];
    project_any<W::A>(&S.agent.map, rules.bisect, scores, probs, &shift);
#pragma unroll
    for (int a = 0; a < W::A; a++)
      p[a] = probs[a];
    lambda = shift;
  }
  const int action = choose<W::A>(u * total, p);
#pragma unroll
  for (int a = 0; a < W::A; a++)
    chosen = a == action ? f[a] : chosen;
  *z = fmaf(rules.factor, chosen, lambda);
  return action;
}

} // namespace mm

#endif
