// SPDX-License-Identifier: Apache-2.0
// Rollout of any number of environments. A team of warps takes up to eight through all steps. Its
// players have the policy: each computes some of the hidden units, and projects and chooses for
// some environments. The last warp is the world, which steps every environment with every action at
// the same time, so that nobody waits for a whole step of somebody else. All meet once a step: the
// players say what was chosen, and everybody finds there what follows from it.

#ifndef MM_BACKEND_CUDA_CLASSIC_TEAM_CUH
#define MM_BACKEND_CUDA_CLASSIC_TEAM_CUH

#include "backend/cuda/classic/policy.cuh"
#include "backend/cuda/classic/world.cuh"

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
  static_assert(sizeof(Team<W>) * W::TEAMS <= GUIDE_AT, "the guide is behind them");
  return reinterpret_cast<Team<W> *>(&S.h1[0][0])[team];
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

template <class Env, class W>
MM_DEVICE void turn_world(W &S, int first, int index, int lane, mm_tally *seen) {
  const mm_cuda_agent &agent = S.agent;
  Team<W> &team = team_of(S, index);
  const int n = agent.n_env, column = min(lane / W::A, 7), action = lane % W::A;
  const bool mine = action == 0 && lane < 8 * W::A && first + column < n;
  const int e = first + column < n ? first + column : n - 1;
  const mm_stream starts = mm_stream_make(agent.seed, agent.repeat, MM_RNG_ENV_RESET, (uint32_t)e);
  const Columns<Env> columns(agent);
  typename Env::State s = columns.load(e), fresh_start;
  uint32_t episode = columns.episode[e];
  float episode_return = agent.episode_return[e], finished = agent.finished[e], x[W::D],
        fresh_x[W::D];
  mm_tally own = { 0, 0, 0, 0 };
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
    mm_tally_step(&own, &episode_return, &finished, reward, end);
    if (end) {
      Env::reset(&fresh_start, starts, ++episode + 1);
      Env::observe(&fresh_start, fresh_x);
    }
    if (mine) {
      S.batch.end[t * n + e] = (uint8_t)end;
      S.batch.reward[t * n + e] = reward;
    }
  }
  if (mine) {
    columns.store(e, s);
    columns.episode[e] = episode;
    agent.episode_return[e] = episode_return;
    agent.finished[e] = finished;
  }
  add_tally(seen, own, mine);
}

} // namespace mm

#endif
