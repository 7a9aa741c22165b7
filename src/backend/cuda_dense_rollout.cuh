// Rollout. A team of warps takes up to eight environments through all steps. Its players have the
// policy: each computes some of the hidden units, and projects and chooses for some environments.
// The last warp is the world, which steps every environment with every action at the same time, so
// that nobody waits for a whole step of somebody else. All meet once a step: the players say what
// was chosen, and everybody finds there what follows from it.
//
// Products have units for rows and environments for columns; lane (g, t) of a player knows what
// environment g sees. When scores are known a player's lanes stand for other environments: all of
// them for one, or half of them for each of two.

#ifndef MM_BACKEND_CUDA_DENSE_ROLLOUT_CUH
#define MM_BACKEND_CUDA_DENSE_ROLLOUT_CUH

#include "backend/cuda_dense.cuh"

namespace mm {

template <class W> struct Team {
  static_assert(W::PLAYERS == 4 || W::PLAYERS == 1, "how their parts are added");
  alignas(16) __half h1[8 * HALF_ROW];         // [environment][unit]
  alignas(16) float part[8][W::A][W::PLAYERS]; // scores by player
  uint2 obs[2][8][W::A][4];                    // by parity of the step, for each action: slots
  int chosen[2][8];
};

template <class W> MM_DEVICE Team<W> &team_of(W &S, int team) {
  static_assert(2 * W::TEAMS <= 15, "each has two barriers");
  return reinterpret_cast<Team<W> *>(&S.h1[0][0])[team];
}

// Behind the teams, or what takes their place.
enum { GUIDE_AT = 12288 };

template <class W> MM_DEVICE Guide *guide_of(W &S) {
  static_assert(sizeof(Team<W>) * W::TEAMS <= GUIDE_AT, "in front of it");
  static_assert(GUIDE_AT + BINS * sizeof(Guide) <= sizeof S.h1 + sizeof S.d2 + sizeof S.hd,
                "hidden units of learning rest in the meantime");
  return reinterpret_cast<Guide *>(&S.h1[0][0]) + GUIDE_AT;
}

// Lanes come to a barrier together.
template <class W> MM_DEVICE void wait_for_players(int team) {
  __syncwarp();
  if (W::PLAYERS > 1) barrier(1 + 2 * team, 32 * W::PLAYERS);
}

template <class W> MM_DEVICE void wait_for_team(int team) {
  __syncwarp();
  barrier(2 + 2 * team, 32 * (W::PLAYERS + 1));
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

// The environments' columns, as src/env/vec_classic.c keeps them.
template <class Env> struct Columns {
  float *state;      // [FLOATS][n]
  int32_t *time;     // [n]
  uint32_t *episode; // [n]
  int n;
  MM_DEVICE explicit Columns(const mm_cuda_agent &agent) {
    n = agent.n_env;
    state = static_cast<float *>(agent.env);
    time = reinterpret_cast<int32_t *>(state + (size_t)Env::FLOATS * n);
    episode = reinterpret_cast<uint32_t *>(time + n);
  }
  MM_DEVICE typename Env::State load(int e) const {
    typename Env::State s;
    float *f = reinterpret_cast<float *>(&s);
#pragma unroll
    for (int i = 0; i < Env::FLOATS; i++)
      f[i] = state[(size_t)i * n + e];
    s.time = time[e];
    return s;
  }
  MM_DEVICE void store(int e, const typename Env::State &s) const {
    const float *f = reinterpret_cast<const float *>(&s);
#pragma unroll
    for (int i = 0; i < Env::FLOATS; i++)
      state[(size_t)i * n + e] = f[i];
    time[e] = s.time;
  }
};

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
    eta = agent.eta;
    anchor = agent.map.anchor;
    factor = agent.iteration > 0 ? agent.code_factor : 1.0f;
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

template <int ACT, bool BY_KNOTS, class W>
MM_DEVICE void play(W &S, int first, int player, int index, int lane) {
  const mm_cuda_agent &agent = S.agent;
  Team<W> &team = team_of(S, index);
  const Batch batch = S.batch;
  const int n = agent.n_env, n_step = agent.n_step, last = n - 1 - first;
  const Crew crew = crew_of(player, W::PLAYERS, lane, n <= 4);
  // lanes without an environment go along with the last one
  const int column = min(lane >> 2, last), place = min(crew.place, last);
  const bool sees = player == 0 && lane >> 2 <= last;
  const int quarter = lane & 3; // of the slots
  const bool chooses = crew.rank == 0 && crew.place <= last;
  const Rules<W> rules(S, crew);
  Part<W> own;
  if (W::PARTS == 1) own = take_part(S, player, lane);
  float f[W::A], z;
  bool finite = true;
  wait_for_team<W>(index);
  uint2 in = team.obs[1][column][0][quarter];
  for (int t = 0; t < n_step; t++) {
    const int row = t * n + first;
    const float u = mm_uniform_f(__float_as_uint(batch.policy[row + place]));
    if (sees) batch.obs[(size_t)4 * (row + column) + quarter] = in;
    begin_scores<ACT>(S, team.h1, own, player, in, lane);
    wait_for_players<W>(index);
    end_scores<ACT>(S, team.h1, team.part, own, player, lane);
    wait_for_players<W>(index);
    sum_parts<W>(team.part[place], f);
    const int action = choose_action<BY_KNOTS>(S, rules, u, f, &z, &finite);
    if (chooses) {
      team.chosen[t & 1][place] = action;
      batch.action[row + place] = (uint8_t)action;
      batch.policy[row + place] = z;
    }
    wait_for_team<W>(index);
    in = team.obs[t & 1][column][team.chosen[t & 1][column]][quarter];
  }
  if (sees) batch.obs[(size_t)4 * (agent.n_row + first + column) + quarter] = in;
  if (!finite) S.broken = 1;
}

// A state as its floats and its time: what a lane of the world takes over from another.
template <class Env>
MM_DEVICE typename Env::State state_from(const typename Env::State &s, int lane) {
  typename Env::State to;
  const float *from = reinterpret_cast<const float *>(&s);
  float *f = reinterpret_cast<float *>(&to);
#pragma unroll
  for (int i = 0; i < Env::FLOATS; i++)
    f[i] = __shfl_sync(ALL_LANES, from[i], lane);
  to.time = __shfl_sync(ALL_LANES, s.time, lane);
  return to;
}

template <class Env, class W>
MM_DEVICE void turn_world(W &S, int first, int index, int lane, double *metric,
                          double *finished_sum, int *n_finished) {
  const mm_cuda_agent &agent = S.agent;
  Team<W> &team = team_of(S, index);
  const int n = agent.n_env, column = min(lane / W::A, 7), action = lane % W::A;
  const bool mine = action == 0 && lane < 8 * W::A && first + column < n;
  const int e = first + column < n ? first + column : n - 1;
  const mm_stream starts = mm_stream_make(agent.seed, agent.repeat, MM_RNG_ENV_RESET, (uint32_t)e);
  const Columns<Env> columns(agent);
  typename Env::State s = columns.load(e), fresh_start;
  uint32_t episode = columns.episode[e];
  float running = agent.running[e], finished = agent.finished[e], x[W::D], fresh_x[W::D];
  double sum = 0, ended = 0;
  int count = 0;
  Env::reset(&fresh_start, starts, episode + 1);
  Env::observe(&fresh_start, fresh_x);
  Env::observe(&s, x);
  if (lane < 8 * W::A && action == 0) row_slots<W>(x, team.obs[1][column][0]);
  wait_for_team<W>(index);
  for (int t = 0; t < agent.n_step; t++) {
    typename Env::State next = s;
    float reward;
    int end = Env::step(&next, x, action, &reward);
    if (end) {
      next = fresh_start;
#pragma unroll
      for (int i = 0; i < W::D; i++)
        x[i] = fresh_x[i];
    }
    if (lane < 8 * W::A) row_slots<W>(x, team.obs[t & 1][column][action]);
    wait_for_team<W>(index);
    const int from = W::A * column + team.chosen[t & 1][e - first];
    s = state_from<Env>(next, from);
#pragma unroll
    for (int i = 0; i < W::D; i++)
      if (Env::REMEMBERS) x[i] = __shfl_sync(ALL_LANES, x[i], from);
    reward = __shfl_sync(ALL_LANES, reward, from);
    end = __shfl_sync(ALL_LANES, end, from);
    running += reward;
    if (end) {
      finished = running;
      running = 0;
      ended += (double)finished;
      count++;
      Env::reset(&fresh_start, starts, ++episode + 1);
      Env::observe(&fresh_start, fresh_x);
    }
    sum += (double)finished;
    if (mine) {
      S.batch.end[t * n + e] = (uint8_t)end;
      S.batch.reward[t * n + e] = reward;
    }
  }
  if (mine) {
    columns.store(e, s);
    columns.episode[e] = episode;
    agent.running[e] = running;
    agent.finished[e] = finished;
  }
  *metric += warp_sum(mine ? sum : 0.0);
  *finished_sum += warp_sum(mine ? ended : 0.0);
  *n_finished += __reduce_add_sync(ALL_LANES, mine ? count : 0);
}

} // namespace mm

#endif
