// SPDX-License-Identifier: Apache-2.0
// Rollout of a few environments by all warps of a block, in which nobody waits for an action that
// is about to be chosen. What follows from it is computed for every action, a step ahead of the
// choice, so that a step takes as long as the longest of its parts, not as their sum. In turn j
//
//   choosers  choose action j - 1, from the scores for what was seen after the one before
//   scorers   score what may be seen before action j, one case for every action j - 1
//   worlds    step from each of these cases with every action j
//   a scribe  writes down what came of action j - 2
//
// and then all meet. Bits are those of teams (team.cuh).
//
// Warps of a kind are on the same one or two of the multiprocessor's four schedulers, which a
// warp's number modulo 4 tells, since they go through the same instructions together.

#ifndef MM_BACKEND_CUDA_CLASSIC_SPECULATE_CUH
#define MM_BACKEND_CUDA_CLASSIC_SPECULATE_CUH

#include "backend/cuda/classic/policy.cuh"
#include "backend/cuda/classic/world.cuh"

namespace mm {

// What a step led to.
template <class W> struct Outcome {
  uint2 seen[4]; // slots
  float reward;
  int end;
};

template <class W> struct Speculation {
  enum {
    ENVS = 4,
    CASES = W::A * W::A,               // of an environment in a turn: the last two actions
    GROUPS = (ENVS * W::A + 7) / 8,    // of eight columns of scores: (environment, action)
    WORLDS = (ENVS * CASES + 31) / 32, // each for some environments
    EACH = ENVS / WORLDS,
    WARPS = ENVS + WORLDS + 1 + W::PLAYERS // choosers, worlds, the scribe, scorers
  };
  static constexpr bool FITS = W::PLAYERS == 4 && W::WARPS == 16 && WORLDS < 4;
  alignas(16) __half h1[GROUPS][8 * HALF_ROW];
  alignas(16) float part[2][8 * GROUPS][W::A][W::PLAYERS]; // scores by scorer; by parity
  Outcome<W> outcome[4][ENVS][W::A][W::A]; // by turn; actions of the turn before and of this one
  int chosen[2][ENVS];                     // by parity of the action's number
};

template <class W> MM_DEVICE Speculation<W> &speculation_of(W &S) {
  static_assert(sizeof(Speculation<W>) <= GUIDE_AT, "the guide is behind it");
  return *reinterpret_cast<Speculation<W> *>(&S.h1[0][0]);
}

template <class W> MM_DEVICE void end_turn() {
  __syncwarp();
  barrier(1, 32 * Speculation<W>::WARPS);
}

template <bool BY_KNOTS, class W> MM_DEVICE void run_chooser(W &S, int warp, int lane) {
  Speculation<W> &spec = speculation_of(S);
  const Batch batch = S.batch;
  const int n = S.agent.n_env, n_step = S.agent.n_step, place = min(warp, n - 1);
  const bool chooses = lane == 0 && warp < n;
  const Rules<W> rules(S, crew_of(warp, W::PLAYERS, lane, true));
  float f[W::A], z;
  bool finite = true;
  int action = 0;
  end_turn<W>();
  end_turn<W>();
  for (int t = 0; t < n_step; t++) {
    const int row = t * n + place;
    const float u = mm_uniform_f(__float_as_uint(batch.policy[row]));
    sum_parts<W>(spec.part[t & 1][place * W::A + action], f);
    action = choose_action<BY_KNOTS>(S, rules, u, f, &z, &finite);
    if (chooses) {
      spec.chosen[t & 1][place] = action;
      batch.action[row] = (uint8_t)action;
      batch.policy[row] = z;
    }
    end_turn<W>();
  }
  if (!finite) S.broken = 1;
}

template <int ACT, class W> MM_DEVICE void run_scorer(W &S, int player, int lane) {
  enum { GROUPS = Speculation<W>::GROUPS };
  Speculation<W> &spec = speculation_of(S);
  const int n_step = S.agent.n_step;
  int place[GROUPS], action[GROUPS];
#pragma unroll
  for (int i = 0; i < GROUPS; i++) {
    const int column = 8 * i + (lane >> 2);
    place[i] = min(column / W::A, S.agent.n_env - 1);
    action[i] = column % W::A;
  }
  const Part<W> own = take_part(S, player, lane);
  end_turn<W>();
  for (int j = 0; j < n_step; j++) {
#pragma unroll
    for (int i = 0; i < GROUPS; i++) {
      const int before = spec.chosen[j & 1][place[i]];
      const uint2 in = spec.outcome[(j + 3) & 3][place[i]][before][action[i]].seen[lane & 3];
      begin_scores<ACT>(S, spec.h1[i], own, player, in, lane);
    }
    __syncwarp();
    barrier(2, 32 * W::PLAYERS);
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
      end_scores<ACT>(S, spec.h1[i], spec.part[j & 1] + 8 * i, own, player, lane);
    end_turn<W>();
  }
  end_turn<W>();
}

// Lanes stand for an environment, its action before and its action now. Others do as the last ones.
template <class Env, class W> MM_DEVICE void run_world(W &S, int world, int lane) {
  typedef Speculation<W> R;
  Speculation<W> &spec = speculation_of(S);
  const mm_cuda_agent &agent = S.agent;
  const int local = min(lane / R::CASES, R::EACH - 1), n_step = agent.n_step;
  const int before = lane % R::CASES / W::A, action = lane % W::A;
  const int env = R::EACH * world + local, e = min(env, agent.n_env - 1);
  const bool mine = lane < R::EACH * R::CASES && env < agent.n_env;
  const mm_stream starts = mm_stream_make(agent.seed, agent.repeat, MM_RNG_ENV_RESET, (uint32_t)e);
  const Columns<Env> columns(agent);
  typename Env::State s = columns.load(e);
  uint32_t episode = columns.episode[e];
  float x[W::D];
  Env::observe(&s, x);
  if (mine && before == 0) { // turn 0 begins as if all actions had been 0
    row_slots<W>(x, spec.outcome[3][e][0][action].seen);
    spec.chosen[0][e] = spec.chosen[1][e] = 0;
  }
  end_turn<W>();
  for (int j = 0; j <= n_step; j++) {
    // the case that has come true, with the action that may follow
    const int from = local * R::CASES + spec.chosen[j & 1][e] * W::A + before;
    s = state_from<Env>(s, from);
    episode = __shfl_sync(ALL_LANES, episode, from);
    if (j < n_step) {
#pragma unroll
      for (int i = 0; i < W::D; i++)
        if (Env::REMEMBERS) x[i] = __shfl_sync(ALL_LANES, x[i], from);
      float reward;
      const int end = Env::step(&s, x, action, &reward);
      if (end) {
        Env::reset(&s, starts, ++episode);
        Env::observe(&s, x);
      }
      if (mine) {
        Outcome<W> &to = spec.outcome[j & 3][e][before][action];
        row_slots<W>(x, to.seen);
        to.reward = reward;
        to.end = end;
      }
    }
    end_turn<W>();
  }
  if (mine && action == 0 && before == spec.chosen[(n_step - 1) & 1][e]) {
    columns.store(e, s);
    columns.episode[e] = episode;
  }
}

// Eight lanes for an environment.
template <class W> MM_DEVICE void run_scribe(W &S, int lane, mm_tally *seen) {
  const Speculation<W> &spec = speculation_of(S);
  const mm_cuda_agent &agent = S.agent;
  const Batch batch = S.batch;
  const int n = agent.n_env, n_step = agent.n_step, e = min(lane >> 3, n - 1), quarter = lane & 7;
  const bool sees = lane >> 3 < n && quarter < 4, mine = lane >> 3 < n && quarter == 0;
  float episode_return = agent.episode_return[e], finished = agent.finished[e];
  mm_tally own = { 0, 0, 0, 0 };
  int action = 0;
  end_turn<W>();
  for (int j = 0; j <= n_step + 1; j++) {
    const int before = action;
    action = spec.chosen[j & 1][e];
    const Outcome<W> &o = spec.outcome[(j + 2) & 3][e][before][action];
    if (j > 0 && sees) batch.obs[(size_t)4 * ((j - 1) * n + e) + quarter] = o.seen[quarter];
    if (j > 1) {
      const float reward = o.reward;
      const int end = o.end;
      mm_tally_step(&own, &episode_return, &finished, reward, end);
      if (mine) {
        batch.end[(j - 2) * n + e] = (uint8_t)end;
        batch.reward[(j - 2) * n + e] = reward;
      }
    }
    if (j <= n_step) end_turn<W>();
  }
  if (mine) {
    agent.episode_return[e] = episode_return;
    agent.finished[e] = finished;
  }
  add_tally(seen, own, mine);
}

template <class Env, int ACT, class W>
MM_DEVICE void run_speculation(W &S, int warp, int lane, mm_tally *seen) {
  const int scheduler = warp & 3, number = warp >> 2, choosers = Speculation<W>::ENVS / 2;
  if (scheduler < 2 && number < choosers) {
    if (goes_by_knots(S))
      run_chooser<true>(S, choosers * scheduler + number, lane);
    else
      run_chooser<false>(S, choosers * scheduler + number, lane);
  } else if (scheduler == 2 && number < Speculation<W>::WORLDS) {
    run_world<Env>(S, number, lane);
  } else if (scheduler == 2 && number == Speculation<W>::WORLDS) {
    run_scribe(S, lane, seen);
  } else if (scheduler == 3) {
    run_scorer<ACT>(S, number, lane);
  }
}

} // namespace mm

#endif
