// The kernels of cuda_dense.cuh for each environment, and which of them suits a device.

#include "backend/cuda_dense.h"

#include "backend/cuda_dense.cuh"
#include "env/acrobot.h"
#include "env/cartpole.h"
#include "env/mountain_car.h"

namespace {

using namespace mm;

#define ENVIRONMENT(Name, name, NAME, floats)                                                      \
  struct Name {                                                                                    \
    typedef mm_##name State;                                                                       \
    enum { INPUTS = MM_##NAME##_OBS, ACTIONS = MM_##NAME##_ACTIONS, FLOATS = floats };             \
    static MM_DEVICE int step(State *s, int action, float *reward) {                               \
      return mm_##name##_step(s, action, reward);                                                  \
    }                                                                                              \
    static MM_DEVICE void reset(State *s, mm_stream stream, uint64_t index) {                      \
      mm_##name##_reset(s, mm_##name##_draw(stream, index));                                       \
    }                                                                                              \
    static MM_DEVICE void observe(const State *s, float *x) { mm_##name##_observe(s, x); }         \
  };
ENVIRONMENT(CartPole, cartpole, CARTPOLE, 4)
ENVIRONMENT(Acrobot, acrobot, ACROBOT, 4)
ENVIRONMENT(MountainCar, mountain_car, MOUNTAIN_CAR, 2)
#undef ENVIRONMENT

// ---------------------------------------------------------------------------------------------
// Begin and end of a launch

MM_DEVICE void place_batch(Batch *to, const mm_cuda_agent &agent, int n_input, void *inside) {
  const size_t rows = agent.n_row, all = rows + agent.n_env;
  if (!inside) {
    to->obs = static_cast<float *>(agent.obs);
    to->policy = agent.policy;
    to->reward = agent.reward;
    to->value = agent.value;
    to->advantage = agent.advantage;
    to->row = agent.row;
    to->action = agent.action;
    to->end = agent.end;
    return;
  }
  to->obs = static_cast<float *>(inside);
  to->policy = to->obs + all * n_input;
  to->reward = to->policy + rows;
  to->value = to->reward + rows;
  to->advantage = to->value + all;
  to->row = reinterpret_cast<uint32_t *>(to->advantage + rows);
  to->action = reinterpret_cast<uint8_t *>(to->row + rows);
  to->end = to->action + rows;
}

size_t batch_size(int n_input, int n_row, int n_env) {
  const size_t rows = (size_t)n_row, all = rows + (size_t)n_env;
  return (all * (size_t)(n_input + 1) + 4 * rows) * sizeof(float) + 2 * rows;
}

template <class W> MM_DEVICE void open_agent(W &S, const mm_cuda_agent *from, void *inside) {
  const uint32_t *words = reinterpret_cast<const uint32_t *>(from);
  static_assert(sizeof(mm_cuda_agent) % 4 == 0, "copied by words");
  for (int i = threadIdx.x; i < (int)(sizeof(mm_cuda_agent) / 4); i += W::THREADS)
    reinterpret_cast<uint32_t *>(&S.agent)[i] = words[i];
  for (int i = threadIdx.x; i < NETS * H * W::W1_ROW; i += W::THREADS)
    (&S.w1[0][0])[i] = __float2half_rn(0.0f);
  for (int i = threadIdx.x; i < NETS * 8 * W::X_ROW; i += W::THREADS)
    (&S.x[0][0])[i] = __float2half_rn(i / W::X_ROW % 8 == W::D ? 1.0f : 0.0f);
  __syncthreads();
  if (threadIdx.x == 0) {
    S.broken = 0;
    place_batch(&S.batch, S.agent, W::D, inside);
  }
  for (int i = threadIdx.x; i < W::SMALL; i += W::THREADS) {
    refresh_small(S, i, S.agent.param[i]);
    S.moments[i] = make_float2(S.agent.m[i], S.agent.v[i]);
  }
}

// w2 with its moments, to where the launch keeps them (STORE: back again).
template <bool STORE, class W> MM_DEVICE void move_owned(W &S, Owned<W> &own) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
  float *param = S.agent.param + W::SMALL, *m = S.agent.m + W::SMALL, *v = S.agent.v + W::SMALL;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
#pragma unroll
    for (int j = 0; j < 4; j++) {
#pragma unroll
      for (int c = 0; c < 4; c++) {
        const int at = owned_place<W>(net, q, j, c >> 1, lane) + (c & 1);
        if (W::RESIDENT) {
          float *p = reinterpret_cast<float *>(&S.master[((warp * W::OWN + i) * 4 + j) * 32 + lane]) + c;
          float &own_m = own.m[(W::OWN * 16 > 1 ? 16 * i + 4 * j + c : 0)];
          float &own_v = own.v[(W::OWN * 16 > 1 ? 16 * i + 4 * j + c : 0)];
          if (STORE) {
            param[at] = *p;
            m[at] = own_m;
            v[at] = own_v;
          } else {
            *p = param[at];
            own_m = m[at];
            own_v = v[at];
          }
        }
        if (!STORE) S.w2[net][(at / H % H) * HALF_ROW + at % H] = __float2half_rn(param[at]);
      }
    }
  }
}

template <class W> MM_DEVICE void close_agent(W &S, mm_cuda_agent *to) {
  for (int i = threadIdx.x; i < W::SMALL; i += W::THREADS) {
    S.agent.param[i] = S.small[i];
    S.agent.m[i] = S.moments[i].x;
    S.agent.v[i] = S.moments[i].y;
  }
  if (threadIdx.x == 0) {
    to->iteration = S.agent.iteration;
    to->broken = S.broken;
  }
}

// ---------------------------------------------------------------------------------------------

template <class Env, bool RELU, int TILE, bool ONE>
__global__ void __launch_bounds__(4 * TILE, 1) train(mm_cuda_agent *agents, int batch_inside) {
  typedef Work<Env, TILE> W;
  extern __shared__ __align__(16) unsigned char memory[];
  W &S = *reinterpret_cast<W *>(memory);
  Owned<W> own;
  open_agent(S, agents + blockIdx.x, batch_inside ? memory + sizeof(W) : nullptr);
  __syncthreads();
  move_owned<false>(S, own);
  __syncthreads();
  const int epochs = S.agent.epochs, minibatches = S.agent.minibatches;
#pragma unroll 1
  for (int done = 0; done < S.agent.span && !S.broken; done++) {
    const mm_cuda_rate *rate = S.agent.rate + (size_t)done * epochs * minibatches;
    roll_out<Env, RELU>(S);
    if (S.broken) break;
    if (threadIdx.x == 0) report(S, S.agent.report + done);
    estimate_values<RELU>(S);
    estimate_advantages(S);
    bool finite = true;
#pragma unroll 1
    for (int epoch = 0; epoch < epochs && finite; epoch++) {
      shuffle_rows(S, (uint64_t)S.agent.iteration * epochs + epoch);
#pragma unroll 1
      for (int mb = 0; mb < minibatches && finite; mb++) {
        if (mb % W::WARPS == 0) normalise(S, mb);
        finite = learn_minibatch<RELU, ONE>(S, own, mb, rate[epoch * minibatches + mb], W::SMALL);
      }
    }
    if (!finite) {
      if (threadIdx.x == 0) S.broken = 1;
      break;
    }
    if (threadIdx.x == 0) S.agent.iteration++;
    __syncthreads();
  }
  __syncthreads();
  move_owned<true>(S, own);
  close_agent(S, agents + blockIdx.x);
}

typedef void (*kernel)(mm_cuda_agent *, int);

template <class Env> struct Variants {
  static const void *find(bool relu, int tile, bool one) {
    kernel k = nullptr;
    if (tile == 128 && one) k = relu ? train<Env, true, 128, true> : train<Env, false, 128, true>;
    if (tile == 128 && !one) k = relu ? train<Env, true, 128, false> : train<Env, false, 128, false>;
    if (tile == 64) k = relu ? train<Env, true, 64, false> : train<Env, false, 64, false>;
    if (tile == 32) k = relu ? train<Env, true, 32, false> : train<Env, false, 32, false>;
    return reinterpret_cast<const void *>(k);
  }
  static size_t work_size(int tile) {
    return tile == 128 ? sizeof(Work<Env, 128>)
           : tile == 64 ? sizeof(Work<Env, 64>)
                        : sizeof(Work<Env, 32>);
  }
};

template <class Env> bool fit(mm_cuda_dense_plan *plan, int n_row, int n_env, size_t limit) {
  const size_t work = Variants<Env>::work_size(plan->tile);
  const size_t batch = batch_size(Env::INPUTS, n_row, n_env);
  if (work > limit) return false;
  plan->batch_inside = batch <= limit - work;
  plan->shared_size = work + (plan->batch_inside ? batch : 0);
  plan->kernel = Variants<Env>::find(plan->relu, plan->tile, plan->one_tile);
  return true;
}

} // namespace

bool mm_cuda_dense_choose(mm_classic_env env, bool relu, int n_row, int n_env, int largest, int tile,
                          size_t shared_limit, mm_cuda_dense_plan *out) {
  for (int t = 128; t >= 32; t /= 2) {
    if (tile != 0 && tile != t) continue;
    *out = mm_cuda_dense_plan{};
    out->env = env;
    out->relu = relu;
    out->tile = t;
    out->one_tile = t == 128 && largest <= t;
    bool fits = false;
    if (env == MM_CLASSIC_CARTPOLE) fits = fit<CartPole>(out, n_row, n_env, shared_limit);
    if (env == MM_CLASSIC_ACROBOT) fits = fit<Acrobot>(out, n_row, n_env, shared_limit);
    if (env == MM_CLASSIC_MOUNTAIN_CAR) fits = fit<MountainCar>(out, n_row, n_env, shared_limit);
    if (fits) return true;
  }
  return false;
}

cudaError_t mm_cuda_dense_prepare(const mm_cuda_dense_plan *plan) {
  return cudaFuncSetAttribute(plan->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)plan->shared_size);
}

cudaError_t mm_cuda_dense_launch(const mm_cuda_dense_plan *plan, mm_cuda_agent *agents, int n,
                                 cudaStream_t stream) {
  int inside = plan->batch_inside;
  void *arguments[] = { &agents, &inside };
  return cudaLaunchKernel(plan->kernel, dim3((unsigned)n), dim3((unsigned)(4 * plan->tile)),
                          arguments, plan->shared_size, stream);
}
