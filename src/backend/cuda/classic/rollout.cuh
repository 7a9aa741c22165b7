// SPDX-License-Identifier: Apache-2.0
// Rollouts: speculatively if environments are few and warps many enough, by teams otherwise.

#ifndef MM_BACKEND_CUDA_CLASSIC_ROLLOUT_CUH
#define MM_BACKEND_CUDA_CLASSIC_ROLLOUT_CUH

#include "backend/cuda/classic/speculate.cuh"
#include "backend/cuda/classic/team.cuh"

namespace mm {

// All random words of the iteration's actions first, then speculation, or teams of warps with
// groups of environments.
template <class Env, int ACT, class W> __device__ __noinline__ void roll_out() {
  W &S = here<W>();
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const mm_cuda_agent &agent = S.agent;
  for (int i = tid; i < agent.n_row; i += W::THREADS)
    S.batch.policy[i] = __uint_as_float(action_word(agent, i / agent.n_env, i % agent.n_env));
  if (W::A > 2 && S.knots.n > 0) fill_guide<W::THREADS>(S.knots, guide_of(S));
  __syncthreads();
  const int team = warp / (W::PLAYERS + 1), player = warp % (W::PLAYERS + 1);
  mm_tally seen = { 0, 0, 0, 0 };
  const bool ahead = Speculation<W>::FITS && agent.n_env <= Speculation<W>::ENVS;
  if constexpr (Speculation<W>::FITS)
    if (ahead) run_speculation<Env, ACT>(S, warp, lane, &seen);
  for (int first = 8 * team; !ahead && team < W::TEAMS && first < agent.n_env;
       first += 8 * W::TEAMS) {
    if (player < W::PLAYERS && goes_by_knots(S))
      play<ACT, true>(S, first, player, team, lane);
    else if (player < W::PLAYERS)
      play<ACT, false>(S, first, player, team, lane);
    else
      turn_world<Env>(S, first, team, lane, &seen);
  }
  if (lane == 0) S.seen[warp] = seen;
  __syncthreads();
}

template <class W> MM_DEVICE void report(const W &S, mm_tally *to) {
  mm_tally r = { 0, 0, 0, 0 };
  for (int w = 0; w < W::WARPS; w++) {
    r.last_sum += S.seen[w].last_sum;
    r.finished_sum += S.seen[w].finished_sum;
    r.counted += S.seen[w].counted;
    r.finished += S.seen[w].finished;
  }
  *to = r;
}

} // namespace mm

#endif
