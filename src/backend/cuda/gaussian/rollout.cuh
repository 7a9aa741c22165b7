// SPDX-License-Identifier: Apache-2.0
// Rollouts of Gaussian policies in small launches: means from the actor, a step of all environments
// with actions drawn around them, running statistics, scales. Sums run in the order of
// env/running_stats.c.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_ROLLOUT_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_ROLLOUT_CUH

#include "backend/cuda/gaussian/env.cuh"
#include "backend/cuda/gaussian/tile.cuh"
#include "laws/running.h"

namespace mm {
namespace gaussian {

MM_DEVICE mm_cuda_gauss &gauss_of(const mm_cuda_agent &a) {
  return *static_cast<mm_cuda_gauss *>(a.scratch);
}

enum { BEGIN_THREADS = 256 };

// Who goes on, decided once for a whole iteration, and with which map.
__global__ void begin(mm_cuda_agent *agents, int turn) {
  mm_cuda_agent &a = agents[blockIdx.x];
  mm_cuda_gauss &g = gauss_of(a);
  const mm_density_f *map = a.maps ? static_cast<const mm_density_f *>(a.maps) + turn : nullptr;
  __shared__ int goes_on;
  if (threadIdx.x == 0) {
    goes_on = turn < a.span && !a.broken && (turn == 0 || g.active) && !mm_cuda_told_to_stop(a);
    if (goes_on && map && map->kind == MM_MAP_KINDS) {
      a.broken = MM_CUDA_NO_MAP;
      goes_on = 0;
    }
    g.active = goes_on;
    if (goes_on) {
      a.step = a.steps[turn];
      g.report[turn] = mm_cuda_gauss_report{}; // to which epochs add, if there are any
    }
  }
  __syncthreads();
  if (!goes_on) return;
  if (map) copy_words<BEGIN_THREADS>(&g.density, map);
  float *obs = static_cast<float *>(a.obs);
  for (int i = threadIdx.x; i < a.n_env * g.n_input; i += blockDim.x)
    obs[i] = g.now[i];
  for (int e = threadIdx.x; e < a.n_env; e += blockDim.x)
    g.seen[e] = { 0, 0, 0, 0 };
}

// Outputs of one network for `count` rows from `first` on: the actor's means, or values. A block
// has a tile of rows.
template <int MT>
__global__ void __launch_bounds__(THREADS, 1)
    infer(mm_cuda_agent *agents, int which, int first, int count) {
  mm_cuda_agent &a = agents[blockIdx.y];
  mm_cuda_gauss &g = gauss_of(a);
  if constexpr (!rows_are_compiled<MT>()) {
    if (threadIdx.x == 0) a.broken = MM_CUDA_NOT_COMPILED;
    return;
  }
  if (!g.active || a.broken) return;
  Work<MT> &S = here<MT>();
  const mm_cuda_gauss_layout l = mm_cuda_gauss_layout_of(g.n_input);
  const int from = blockIdx.x * Work<MT>::R;
  const int n = count - from < Work<MT>::R ? count - from : (int)Work<MT>::R;
  take_inputs<MT>(S, static_cast<const float *>(a.obs) + (size_t)(first + from) * g.n_input,
                  g.n_input, l.inputs, n);
  take_outputs<MT>(S, a.param + which * l.size + l.w3);
  __syncthreads();
  forward<MT>(a.param + which * l.size, g.operand + which * l.b2, &g, a.relu);
  if (which == 0)
    for (int i = threadIdx.x; i < n * A; i += THREADS)
      g.mean[from * A + i] = S.out[i];
  else
    for (int i = threadIdx.x; i < n; i += THREADS)
      a.value[first + from + i] = S.out[i * A];
}

// ---------------------------------------------------------------------------------------------

// Draws an action of environment e in step t, and keeps it with its density; sent: what the
// environment takes.
MM_DEVICE void choose(mm_cuda_agent &a, const mm_cuda_gauss &g, int e, int t, float *sent) {
  const int d = g.n_real;
  const size_t row = (size_t)t * a.n_env + e;
  const uint64_t step = (uint64_t)a.iteration * (uint64_t)a.n_step + (uint64_t)t;
  const mm_stream stream = mm_stream_make(a.seed, a.repeat, MM_RNG_ACTION, (uint32_t)e);
  const uint64_t blocks = (uint64_t)(d + 3) / 4;
  const float *log_std = a.param + mm_cuda_gauss_layout_of(g.n_input).log_std;
  float mean[A], action[A], inverse[A];
  mm_block b;
  bool finite = true;
#pragma unroll
  for (int k = 0; k < A; k++) {
    if (k >= d) break;
    const float log_k = mm_log_std(log_std[k]);
    if (k % 4 == 0) b = mm_stream_block(stream, step * blocks + k / 4);
    mean[k] = g.mean[e * A + k];
    inverse[k] = mm_exp_f(-log_k);
    action[k] = fmaf(mm_exp_f(log_k), mm_normal_f(b.word[k % 4]), mean[k]);
    finite &= fabsf(mean[k]) < INFINITY;
    const float within = action[k] < -1 ? -1.0f : action[k] > 1 ? 1.0f : action[k];
    sent[k] = fmaf(g.half, within, g.middle);
    g.real[row * d + k] = action[k];
  }
  a.policy[row] = mm_log_density(d, mean, action, inverse, mm_log_density_scale(d, log_std));
  if (!finite) a.broken = MM_CUDA_NOT_FINITE;
}

// Returns as they are, and those that rewards are scaled by: an end counts before the reward.
MM_DEVICE void count(mm_cuda_agent &a, const mm_cuda_gauss &g, int e, float reward, int end) {
  mm_wrap_lane &l = g.lanes[e];
  mm_tally_step(&g.seen[e], &a.episode_return[e], &a.finished[e], reward, end);
  l.discounted = (end ? 0 : g.gamma * l.discounted) + (double)reward;
  l.now += (double)reward;
  l.length++;
  if (!end) return;
  l.last = l.now;
  l.last_length = l.length;
  l.episodes++;
  l.now = 0;
  l.length = 0;
}

template <class Env> __global__ void step(mm_cuda_agent *agents, int t) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = gauss_of(a);
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (!g.active || a.broken || e >= a.n_env) return;
  const size_t row = (size_t)t * a.n_env + e;
  float sent[A], reward;
  choose(a, g, e, t, sent);
  const int end = Env::step(a, g, e, sent, &reward,
                            static_cast<float *>(a.obs) + (row + (size_t)a.n_env) * g.n_input);
  a.reward[row] = reward;
  a.end[row] = (uint8_t)end;
  count(a, g, e, reward, end);
}

// The same in three parts around a step of bodies: actions, and where the step finds them and
// leaves what it has;
__global__ void draw(mm_cuda_agent *agents, int t, mm_cuda_bodies *bodies) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = gauss_of(a);
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  const bool goes_on = g.active && !a.broken;
  const size_t row = (size_t)t * a.n_env;
  if (e == 0) {
    mm_cuda_bodies b = {};
    b.seed = a.seed;
    b.repeat = a.repeat;
    b.fresh_reset = g.fresh_reset;
    b.n = goes_on ? a.n_env : 0;
    b.state = a.env;
    b.action = g.sent;
    b.obs = static_cast<float *>(a.obs) + (row + (size_t)a.n_env) * g.n_input;
    b.reward = a.reward + row;
    b.end = a.end + row;
    bodies[blockIdx.y] = b;
  }
  if (!goes_on || e >= a.n_env) return;
  float sent[A];
  choose(a, g, e, t, sent);
#pragma unroll
  for (int k = 0; k < A; k++)
    if (k < g.n_real) g.sent[e * g.n_real + k] = sent[k];
}

// and what follows from it.
__global__ void note(mm_cuda_agent *agents, int t) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = gauss_of(a);
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (!g.active || a.broken || e >= a.n_env) return;
  const size_t row = (size_t)t * a.n_env + e;
  count(a, g, e, a.reward[row], a.end[row]);
}

// ---------------------------------------------------------------------------------------------
// Running statistics: sums of blocks of environments, then all of them merged, then what was seen
// is scaled

__global__ void sum_blocks(mm_cuda_agent *agents, int t) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = gauss_of(a);
  if (!g.active || a.broken) return;
  const int k = g.n_input, from = blockIdx.x * MM_RUNNING_BLOCK;
  const int to = from + MM_RUNNING_BLOCK < a.n_env ? from + MM_RUNNING_BLOCK : a.n_env;
  const float *obs = static_cast<const float *>(a.obs) + (size_t)(t + 1) * a.n_env * k;
  double *sum = g.sums + (size_t)blockIdx.x * 2 * (k + 1);
  for (int j = threadIdx.x; j <= k; j += blockDim.x) {
    const double mean = j < k ? g.kept[2 + j] : g.kept[2 + 2 * k];
    double first = 0, second = 0;
    for (int e = from; e < to; e++) {
      const double d = (j < k ? (double)obs[(size_t)e * k + j] : g.lanes[e].discounted) - mean;
      first += d;
      second += d * d;
    }
    sum[j] = first;
    sum[k + 1 + j] = second;
  }
}

__global__ void merge(mm_cuda_agent *agents) {
  mm_cuda_agent &a = agents[blockIdx.x];
  const mm_cuda_gauss &g = gauss_of(a);
  if (!g.active || a.broken) return;
  const int k = g.n_input, blocks = (a.n_env + MM_RUNNING_BLOCK - 1) / MM_RUNNING_BLOCK;
  const double b = a.n_env, count[2] = { g.kept[0], g.kept[1] };
  for (int j = threadIdx.x; j <= k; j += blockDim.x) {
    double *mean = g.kept + 2 + (j < k ? j : 2 * k), *var = j < k ? mean + k : mean + 1;
    double first = 0, second = 0;
    for (int block = 0; block < blocks; block++) {
      first += g.sums[(size_t)block * 2 * (k + 1) + j];
      second += g.sums[(size_t)block * 2 * (k + 1) + k + 1 + j];
    }
    mm_running_take(mean, var, count[j < k ? 0 : 1], b, first, second);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  g.kept[0] = count[0] + b;
  g.kept[1] = count[1] + b;
}

__global__ void scale(mm_cuda_agent *agents, int t) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = gauss_of(a);
  if (!g.active || a.broken) return;
  __shared__ double mean[MM_CUDA_GAUSS_INPUTS], by[MM_CUDA_GAUSS_INPUTS + 1];
  const int k = g.n_input, e = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = threadIdx.x; j <= k; j += blockDim.x) {
    if (j < k) mean[j] = g.kept[2 + j];
    by[j] = 1 / sqrt(g.kept[j < k ? 2 + k + j : 2 + 2 * k + 1] + MM_RUNNING_LEAST);
  }
  __syncthreads();
  if (e >= a.n_env) return;
  float *obs = static_cast<float *>(a.obs) + ((size_t)(t + 1) * a.n_env + e) * k;
  float *reward = a.reward + (size_t)t * a.n_env + e;
  for (int j = 0; j < k && !g.raw_obs; j++)
    obs[j] = (float)(((double)obs[j] - mean[j]) * by[j]);
  if (!g.raw_reward) *reward = (float)((double)*reward * by[k]);
}

// ---------------------------------------------------------------------------------------------

// Backwards through the steps, a thread for an environment.
__global__ void advantages(mm_cuda_agent *agents) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = gauss_of(a);
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (!g.active || a.broken || e >= a.n_env) return;
  estimate_backwards(a, e, [](size_t, float) {});
}

// What the rollout saw, and what the next one begins with.
template <class Env> __global__ void close_rollout(mm_cuda_agent *agents, int turn) {
  mm_cuda_agent &a = agents[blockIdx.x];
  mm_cuda_gauss &g = gauss_of(a);
  if (!g.active || a.broken) return;
  enum { LAST, FINISHED, N_LAST, N_FINISHED, UNSTABLE, SUMS };
  __shared__ double part[8][SUMS];
  const float *obs = static_cast<const float *>(a.obs) + (size_t)a.n_row * g.n_input;
  double own[SUMS] = {};
  for (int i = threadIdx.x; i < a.n_env * g.n_input; i += blockDim.x)
    g.now[i] = obs[i];
  for (int e = threadIdx.x; e < a.n_env; e += blockDim.x) {
    own[LAST] += g.seen[e].last_sum;
    own[FINISHED] += g.seen[e].finished_sum;
    own[N_LAST] += g.seen[e].counted;
    own[N_FINISHED] += g.seen[e].finished;
    own[UNSTABLE] += Env::unstable(a, e);
  }
  for (int i = 0; i < SUMS; i++)
    own[i] = warp_sum(own[i]);
  for (int i = 0; i < SUMS && threadIdx.x % 32 == 0; i++)
    part[threadIdx.x / 32][i] = own[i];
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < 8; w++)
    for (int i = 0; i < SUMS; i++)
      part[0][i] += part[w][i];
  a.report[turn] = { part[0][LAST], part[0][FINISHED], (int32_t)part[0][N_LAST],
                     (int32_t)part[0][N_FINISHED] };
  g.report[turn].unstable = (uint64_t)part[0][UNSTABLE];
}

// The iteration is over, unless something broke.
__global__ void end(mm_cuda_agent *agents, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && gauss_of(agents[i]).active && !agents[i].broken) agents[i].iteration++;
}

} // namespace gaussian
} // namespace mm

#endif
