// SPDX-License-Identifier: Apache-2.0
// Tabular PMD on the device: a block trains a job, with the numbers of src/agent/pmd.c to the bit.
// The random streams are the same, the operations are the same, and every sum has its terms in the
// same order:
//
// - environments are stepped by one thread each, states are updated by one thread each;
// - sums over a state's samples are made by a warp that takes 32 samples at a time in the order of
//   the sum; of the lanes with equal keys the first adds for all of them, one after the other;
// - the batch's mean and deviation are summed by one thread. That takes a twentieth of the time.

#include <cuda_runtime.h>

#include "backend/cuda/tabular/launch.h"

#include "base/elementary.h"
#include "base/rng.h"
#include "env/grid/grid_sample.h"
#include "laws/gae.h"

namespace {

enum { A = MM_GRID_ACTIONS, THREADS = MM_CUDA_PMD_THREADS, WARPS = THREADS / 32 };

const unsigned ALL_LANES = 0xffffffffu;

// A block's own memory: what all its threads look at. The samples follow it where they fit.
struct room {
  mm_cuda_pmd agent;
  mm_grid_sampler sampler;
  int64_t step; // steps every environment has done
  // the batch: sample k = t N + e
  double *advantage; // [T][N] rewards until the advantages are known
  int32_t *state;    // [T][N]
  uint8_t *action;   // [T][N] and DONE
  int32_t n_visited;
  double shift, scale; // of the advantages
};

enum { DONE = 8 };

// ---------------------------------------------------------------------------------------------
// Begin

__device__ void open_room(room *r, const mm_cuda_pmd *agent) {
  if (threadIdx.x == 0) {
    r->agent = *agent;
    r->sampler = mm_grid_sampler_make(&agent->grid);
    r->step = agent->state->iteration * agent->unroll;
    char *batch = agent->batch ? (char *)agent->batch : (char *)(r + 1);
    size_t n = (size_t)agent->n_batch;
    r->advantage = (double *)batch;
    r->state = (int32_t *)(batch + n * sizeof(double));
    r->action = (uint8_t *)(batch + n * (sizeof(double) + sizeof(int32_t)));
    r->n_visited = 0;
  }
  __syncthreads();
}

__device__ void start_agent(room *r) {
  const mm_cuda_pmd *p = &r->agent;
  for (int32_t s = threadIdx.x; s < p->grid.n_state; s += THREADS) {
    p->value[s] = 0;
    p->sums[s].mark = 0;
    for (int a = 0; a < A; a++) {
      p->theta[s * A + a] = 0;
      p->pi[s * A + a] = 1.0 / A;
    }
  }
  for (int32_t e = threadIdx.x; e < p->n_env; e += THREADS)
    p->env[e] = mm_grid_start(&p->grid);
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// Rollout

// The action whose share of [0, 1) holds u; never one without probability.
__device__ int choose(const double *pi, double u) {
  double c0 = pi[0], c1 = c0 + pi[1], c2 = c1 + pi[2], c3 = c2 + pi[3];
  int a = (u >= c0) + (u >= c1) + (u >= c2) + (u >= c3);
  return pi[a] > 0 ? a : mm_categorical_d(u, pi, A);
}

__device__ uint32_t word_of(mm_block b, uint32_t i) {
  uint32_t low = i & 1 ? b.word[1] : b.word[0], high = i & 1 ? b.word[3] : b.word[2];
  return i & 2 ? high : low;
}

__device__ void roll_out(room *r, int32_t e) {
  const mm_cuda_pmd *p = &r->agent;
  mm_stream choices = mm_stream_make(p->seed, p->repeat, MM_RNG_ACTION, (uint32_t)e);
  mm_stream outcomes = mm_stream_make(p->seed, p->repeat, MM_RNG_ENV_STEP, (uint32_t)e);
  mm_grid_state s = p->env[e];
  mm_block words;
  for (int32_t t = 0; t < p->unroll; t++) {
    uint64_t step = (uint64_t)(r->step + t);
    // four steps share a block: word (step mod 4) of block step / 4
    if (t == 0 || step % 4 == 0) words = mm_stream_block(choices, step / 4);
    int32_t index = mm_grid_index(&p->grid, s), k = t * p->n_env + e;
    int a = choose(p->pi + (size_t)index * A, word_of(words, (uint32_t)step % 4) * 0x1p-32);
    mm_grid_event event = mm_grid_step(&p->grid, &r->sampler, outcomes, step, a, &s);
    r->state[k] = index;
    r->action[k] = (uint8_t)(a | (event.done ? DONE : 0));
    r->advantage[k] = event.reward;
    if (event.done) s = mm_grid_start(&p->grid);
  }
  p->env[e] = s;
}

// Lists the states of the batch, in any order, with empty sums.
__device__ void list_visited(room *r) {
  const mm_cuda_pmd *p = &r->agent;
  for (int32_t k = threadIdx.x; k < p->n_batch; k += THREADS) {
    int32_t s = r->state[k];
    mm_cuda_pmd_sums *sums = p->sums + s;
    if (atomicExch(&sums->mark, 1) != 0) continue;
    p->visited[atomicAdd(&r->n_visited, 1)] = s;
    sums->target = 0;
    for (int a = 0; a < A; a++) {
      sums->gain[a] = 0;
      sums->visits[a] = 0;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Advantages and their sums

// Generalised advantage estimation, backwards through an environment's steps. After an end the next
// state is the start state: masked when absorbing, simply next when restarting.
__device__ void estimate(room *r, int32_t e) {
  const mm_cuda_pmd *p = &r->agent;
  double decay = p->gamma * p->gae_lambda;
  double next = p->value[mm_grid_index(&p->grid, p->env[e])], carried = 0;
  for (int32_t t = p->unroll; t-- > 0;) {
    int32_t k = t * p->n_env + e;
    double alive = (r->action[k] & DONE) && !p->restart ? 0 : 1, v = p->value[r->state[k]];
    double delta = mm_gae_delta_d(p->gamma, alive, r->advantage[k], v, next);
    carried = mm_gae_advantage_d(decay, alive, delta, carried);
    r->advantage[k] = carried;
    next = v;
  }
}

// Sums over samples by key, for the samples of warp `warp` of `warps`: those of states that leave
// this remainder. `key(i)` and `state(i)` of the i-th sample in the order of the sums; add(first,
// lanes) has the samples first + (each bit of `lanes`) to add, which have one key.
template <class State, class Key, class Add>
__device__ void sum_in_order(int32_t n, int warp, int warps, State state, Key key, Add add) {
  int32_t lane = threadIdx.x % 32;
  for (int32_t first = 0; first < n; first += 32) {
    int32_t i = first + lane;
    bool mine = i < n && state(i) % warps == warp;
    unsigned lanes = __ballot_sync(ALL_LANES, mine);
    if (mine) {
      unsigned same = __match_any_sync(lanes, key(i));
      if (lane == __ffs((int)same) - 1) add(first, same);
    }
    __syncwarp(); // the next sum may be another lane's
  }
}

// The critic's targets: environment by environment, each backwards.
__device__ void sum_targets(room *r, int warp, int warps) {
  const mm_cuda_pmd *p = &r->agent;
  auto place = [=](int32_t i) {
    int32_t e = i / p->unroll, t = p->unroll - 1 - i % p->unroll;
    return t * p->n_env + e;
  };
  auto state = [=](int32_t i) { return r->state[place(i)]; };
  sum_in_order(p->n_batch, warp, warps, state, state, [=](int32_t first, unsigned lanes) {
    int32_t s = state(first + __ffs((int)lanes) - 1);
    double v = p->value[s], sum = p->sums[s].target;
    for (unsigned rest = lanes; rest; rest &= rest - 1)
      sum += r->advantage[place(first + __ffs((int)rest) - 1)] + v;
    p->sums[s].target = sum;
  });
}

// What the policy's update takes of the advantages: step by step, each through all environments.
__device__ void sum_gains(room *r, int warp, int warps) {
  const mm_cuda_pmd *p = &r->agent;
  auto state = [=](int32_t k) { return r->state[k]; };
  auto key = [=](int32_t k) { return r->state[k] * A + r->action[k] % DONE; };
  double shift = r->shift, scale = r->scale;
  sum_in_order(p->n_batch, warp, warps, state, key, [=](int32_t first, unsigned lanes) {
    int32_t k = first + __ffs((int)lanes) - 1, a = r->action[k] % DONE;
    mm_cuda_pmd_sums *sums = p->sums + r->state[k];
    double sum = sums->gain[a];
    for (unsigned rest = lanes; rest; rest &= rest - 1)
      sum += (r->advantage[first + __ffs((int)rest) - 1] - shift) * scale;
    sums->gain[a] = sum;
    sums->visits[a] += __popc(lanes);
  });
}

// Mean and standard deviation of the batch in two passes; a batch without spread has no signal.
__device__ void normalise(room *r) {
  const mm_cuda_pmd *p = &r->agent;
  const double *advantage = r->advantage;
  int32_t n_batch = p->n_batch;
  double n = n_batch, mean = 0, square = 0, largest = 0;
#pragma unroll 16
  for (int32_t k = 0; k < n_batch; k++)
    mean += advantage[k];
  mean /= n;
#pragma unroll 8
  for (int32_t k = 0; k < n_batch; k++) {
    double d = advantage[k] - mean;
    square = fma(d, d, square);
    largest = fmax(largest, fabs(advantage[k]));
  }
  double deviation = sqrt(square / n);
  bool on = p->normalise != 0, degenerate = on && deviation < 1e-6 * (1 + largest);
  r->shift = on ? mean : 0;
  r->scale = degenerate ? 0 : on ? 1 / (deviation + 1e-8) : 1;
}

// ---------------------------------------------------------------------------------------------
// The policy's gradient steps on one state

struct row {
  double theta[A], pi[A], log_pi[A], gain[A], weight[1];
};

// Tabulated units of a neural map, mm_table_units_d for all actions side by side: they wait for
// memory together.
__device__ void table_units(const mm_potential_d *f, const double pi[A], double x[A]) {
  const mm_cell_d *cell = f->cell;
  double t[A];
  int32_t i[A], child[A];
  bool inner = false;
#pragma unroll
  for (int a = 0; a < A; a++) {
    t[a] = pi[a] * MM_TABLE_ROOT;
    i[a] = t[a] > 0 ? (int32_t)t[a] : 0; // 0 for NaN: trouble is found after the epochs
    i[a] = i[a] < MM_TABLE_ROOT ? i[a] : MM_TABLE_ROOT - 1;
    t[a] -= i[a];
    child[a] = cell[i[a]].child;
    inner |= child[a] >= 0;
  }
  while (inner) {
    inner = false;
#pragma unroll
    for (int a = 0; a < A; a++) {
      if (child[a] < 0) continue;
      t[a] *= MM_TABLE_SPLIT;
      int32_t part = t[a] >= MM_TABLE_SPLIT ? MM_TABLE_SPLIT - 1 : t[a] > 0 ? (int32_t)t[a] : 0;
      i[a] = child[a] + part;
      t[a] -= part;
      child[a] = cell[i[a]].child;
      inner |= child[a] >= 0;
    }
  }
#pragma unroll
  for (int a = 0; a < A; a++)
    x[a] = fma(t[a], cell[i[a]].rise, cell[i[a]].value);
}

#define L 1
#define LAW __device__ void
#define BLOCK row
#include "agent/pmd_ascent.inc"

__device__ double visits_of(const mm_cuda_pmd_sums *sums) {
  int32_t n = 0;
#pragma unroll
  for (int a = 0; a < A; a++)
    n += sums->visits[a];
  return n;
}

// All epochs of a state; the new logits and policy stay beside the old ones. False when a logit is
// no longer finite.
__device__ bool improve(const mm_cuda_pmd *p, double eta, int32_t s) {
  mm_cuda_pmd_sums *sums = p->sums + s;
  const double n = visits_of(sums);
  row b;
  b.weight[0] = p->lr * n / p->n_batch;
#pragma unroll
  for (int a = 0; a < A; a++) {
    b.theta[a] = p->theta[s * A + a];
    b.gain[a] = sums->visits[a] > 0 ? eta * sums->gain[a] / (n * p->pi[s * A + a]) : 0;
  }
  epochs(&p->map, p->epochs, &b);
  bool finite = true;
#pragma unroll
  for (int a = 0; a < A; a++) {
    finite = finite && fabs(b.theta[a]) < (double)INFINITY;
    sums->gain[a] = b.theta[a];
    sums->fresh[a] = b.pi[a];
  }
  return finite;
}

// The new logits (shifted to a mean of 0, which changes no policy and keeps them small), policy and
// value of a state take effect. The critic's full-batch epochs on fixed targets: v = T + f^epochs
// (v - T).
__device__ void commit(const mm_cuda_pmd *p, int32_t s) {
  const mm_cuda_pmd_sums *sums = p->sums + s;
  double mean = 0;
#pragma unroll
  for (int a = 0; a < A; a++)
    mean += sums->gain[a] / A;
#pragma unroll
  for (int a = 0; a < A; a++) {
    p->theta[s * A + a] = sums->gain[a] - mean;
    p->pi[s * A + a] = sums->fresh[a];
  }
  double n = visits_of(sums), target = sums->target / n;
  double f = fmax(1 - 2 * p->critic_lr * n / p->n_batch, 0.0), kept = 1;
  for (int epoch = 0; epoch < p->epochs && kept > 0; epoch++)
    kept *= f;
  p->value[s] = fma(kept, p->value[s] - target, target);
}

// ---------------------------------------------------------------------------------------------
// One iteration

__device__ void roll_out_all(room *r) {
  const mm_cuda_pmd *p = &r->agent;
  for (int32_t e = threadIdx.x; e < p->n_env; e += THREADS)
    roll_out(r, e);
  __syncthreads();
}

__device__ void sum_up(room *r) {
  const mm_cuda_pmd *p = &r->agent;
  int warp = threadIdx.x / 32;
  list_visited(r);
  for (int32_t e = threadIdx.x; e < p->n_env; e += THREADS)
    estimate(r, e);
  __syncthreads();
  if (warp > 0)
    sum_targets(r, warp - 1, WARPS - 1);
  else if (threadIdx.x == 0)
    normalise(r);
  __syncthreads();
  sum_gains(r, warp, WARPS);
  __syncthreads();
}

// Of a map that moves the iteration's; false if there is none. It is looked at after the rollout,
// and the next one comes next.
__device__ bool move_map(room *r) {
  const mm_potential_d *map = r->agent.maps;
  if (!map) return true;
  if (threadIdx.x == 0) r->agent.map = *map;
  return map->kind != MM_MAP_KINDS;
}

// False when the new policy is not finite: everything is then as it was before.
__device__ bool update(room *r, double eta) {
  const mm_cuda_pmd *p = &r->agent;
  int finite = 1;
  for (int32_t i = threadIdx.x; i < r->n_visited; i += THREADS)
    finite &= improve(p, eta, p->visited[i]);
  finite = __syncthreads_and(finite);
  for (int32_t i = threadIdx.x; i < r->n_visited; i += THREADS) {
    if (finite) commit(p, p->visited[i]);
    p->sums[p->visited[i]].mark = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    r->n_visited = 0;
    r->step += p->unroll;
    if (p->maps) r->agent.maps++;
  }
  __syncthreads();
  return finite;
}

__global__ void __launch_bounds__(THREADS, 4) train(const mm_cuda_pmd *agents, int64_t span) {
  extern __shared__ double memory[];
  room *r = (room *)memory;
  open_room(r, agents + blockIdx.x);
  mm_cuda_pmd_state state = *r->agent.state;
  if (state.iteration == 0) start_agent(r);
  int64_t end = state.iteration + span;
  if (end > r->agent.iterations) end = r->agent.iterations;
  while (state.iteration < end && !state.broken) {
    int64_t start = clock64();
    if (!move_map(r)) {
      state.broken = MM_CUDA_PMD_NO_MAP;
      state.iteration++;
      break;
    }
    roll_out_all(r);
    int64_t rolled = clock64();
    sum_up(r);
    const double factor = mm_factor_at(r->agent.eta_schedule, state.iteration, r->agent.iterations);
    if (!update(r, r->agent.eta * factor)) state.broken = MM_CUDA_PMD_NOT_FINITE;
    state.iteration++;
    state.rollout_cycles += rolled - start;
    state.update_cycles += clock64() - rolled;
  }
  if (threadIdx.x == 0) *r->agent.state = state;
}

} // namespace

extern "C" {

size_t mm_cuda_pmd_block_bytes(int32_t n_batch) {
  size_t bytes = sizeof(room) + mm_cuda_pmd_batch_bytes(n_batch);
  return bytes <= MM_CUDA_PMD_BLOCK_MOST ? bytes : sizeof(room);
}

cudaError_t mm_cuda_pmd_launch(const mm_cuda_pmd *agents, size_t n, int64_t span, size_t bytes,
                               cudaStream_t stream) {
  void *arguments[] = { &agents, &span };
  return cudaLaunchKernel(train, dim3((unsigned)n), dim3(THREADS), arguments, bytes, stream);
}

} // extern "C"
