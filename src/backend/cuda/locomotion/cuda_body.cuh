// One thread takes one environment through a step: physics, reward, end, start of the next episode,
// observation. What vec_body.c does on processors, from the same headers.

#ifndef MM_BACKEND_CUDA_BODY_CUH
#define MM_BACKEND_CUDA_BODY_CUH

#include "backend/cuda/locomotion/cuda_body.h"
#include "env/locomotion/ant.h"
#include "env/locomotion/half_cheetah.h"
#include "env/locomotion/hopper.h"
#include "physics/ant.h"
#include "physics/planar_bodies.h"

namespace mm {

// ---------------------------------------------------------------------------------------------
// Bodies: sizes, the engine's step, the environment's law
//
// TOGETHER: a body's code may be larger than what a multiprocessor has at hand of it. Then the
// warps of a block had better be in the same part: they wait for each other before each physics
// step.

// Coordinates, velocities, warm start.
template <int NQ, int NV> struct State { float q[NQ], v[NV], a[NV]; };

// inward, outward: a state's numbers from columns to those of the engine, and back to numbers side
// by side.
#define MM_CUDA_PLANAR(Name, prefix)                                                               \
  struct Name##Physics {                                                                           \
    using Model = prefix##_model;                                                                  \
    enum { NQ = prefix##_NV, NV = prefix##_NV, NU = prefix##_NU };                                 \
    static __device__ __forceinline__ void inward(const float *q, const float *v, const float *a,  \
                                                  size_t stride, State<NQ, NV> *s) {               \
      prefix##_load_state(q, stride, s->q);                                                        \
      prefix##_load_state(v, stride, s->v);                                                        \
      prefix##_load_state(a, stride, s->a);                                                        \
    }                                                                                              \
    static __device__ __forceinline__ void outward(State<NQ, NV> *s) {                             \
      prefix##_store_state(s->q, 1, 1, s->q);                                                      \
      prefix##_store_state(s->v, 1, 1, s->v);                                                      \
      prefix##_store_state(s->a, 1, 1, s->a);                                                      \
    }                                                                                              \
    static __device__ __forceinline__ void controls(const float *action, float *u) {               \
      for (int k = 0; k < NU; k++)                                                                 \
        u[k] = action[k];                                                                          \
    }                                                                                              \
    static __device__ __forceinline__ void step(const Model *m, int iterations, const float *u,    \
                                                State<NQ, NV> *s, int *ok) {                       \
      prefix##_step(m, iterations, u, s->q, s->v, s->a, ok);                                       \
    }                                                                                              \
  };

enum { hopper_NV = MM_HOPPER_V, hopper_NU = MM_HOPPER_U };
enum { half_cheetah_NV = MM_HALF_CHEETAH_V, half_cheetah_NU = MM_HALF_CHEETAH_U };
enum { half_cheetah_all_NV = MM_HALF_CHEETAH_V, half_cheetah_all_NU = MM_HALF_CHEETAH_U };

MM_CUDA_PLANAR(Hopper, hopper)
MM_CUDA_PLANAR(HalfCheetah, half_cheetah)
MM_CUDA_PLANAR(HalfCheetahAll, half_cheetah_all)

struct Hopper : HopperPhysics {
  enum { OBS = MM_HOPPER_OBS, TOGETHER = 0 };
  static __device__ __forceinline__ void reset(float *q, float *v, size_t stride,
                                               const float *start, const mm_bodies_draws *d) {
    mm_hopper_reset(q, v, stride, start, d);
  }
  static __device__ __forceinline__ float reward(float way, const float *action) {
    return mm_hopper_reward(way, action);
  }
  static __device__ __forceinline__ bool healthy(const float *q, const float *v, float base) {
    return mm_hopper_healthy(q, v, 1, base);
  }
  static __device__ __forceinline__ void observe(const float *q, const float *v, size_t stride,
                                                 float base, float *obs, size_t apart) {
    mm_hopper_observe(q, v, stride, base, obs, apart);
  }
};

template <class Physics> struct Cheetah : Physics {
  enum { OBS = MM_HALF_CHEETAH_OBS, TOGETHER = 1 };
  static __device__ __forceinline__ void reset(float *q, float *v, size_t stride,
                                               const float *start, const mm_bodies_draws *d) {
    mm_half_cheetah_reset(q, v, stride, start, d);
  }
  static __device__ __forceinline__ float reward(float way, const float *action) {
    return mm_half_cheetah_reward(way, action);
  }
  static __device__ __forceinline__ bool healthy(const float *, const float *, float) {
    return true;
  }
  static __device__ __forceinline__ void observe(const float *q, const float *v, size_t stride,
                                                 float, float *obs, size_t apart) {
    mm_half_cheetah_observe(q, v, stride, obs, apart);
  }
};

using HalfCheetah = Cheetah<HalfCheetahPhysics>;
using HalfCheetahAll = Cheetah<HalfCheetahAllPhysics>;

struct Ant {
  using Model = ant_model;
  enum { NQ = ANT_NQ, NV = ANT_NV, NU = MM_ANT_U, OBS = MM_ANT_OBS, TOGETHER = 1 };
  static __device__ __forceinline__ void inward(const float *q, const float *v, const float *a,
                                                size_t stride, State<NQ, NV> *s) {
#pragma unroll
    for (int k = 0; k < NQ; k++)
      s->q[k] = ant_flipped(k, 1, q[(size_t)k * stride]);
#pragma unroll
    for (int k = 0; k < NV; k++) {
      s->v[k] = ant_flipped(k, 0, v[(size_t)k * stride]);
      s->a[k] = ant_flipped(k, 0, a[(size_t)k * stride]);
    }
  }
  static __device__ __forceinline__ void outward(State<NQ, NV> *s) {
    inward(s->q, s->v, s->a, 1, s); // signs that are changed twice are as they were
  }
  // those of the actions begin with leg 4
  static __device__ __forceinline__ void controls(const float *action, float *u) {
#pragma unroll
    for (int k = 0; k < NU; k++)
      u[k] = ant_flipped(k + 6, 0, action[(k + 2) % NU]);
  }
  static __device__ __forceinline__ void step(const Model *m, int iterations, const float *u,
                                              State<NQ, NV> *s, int *ok) {
    ant_step(m, iterations, u, s->q, s->v, s->a, ok);
  }
  static __device__ __forceinline__ void reset(float *q, float *v, size_t stride,
                                               const float *start, const mm_bodies_draws *d) {
    mm_ant_reset(q, v, stride, start, d);
  }
  static __device__ __forceinline__ float reward(float way, const float *action) {
    return mm_ant_reward(way, action);
  }
  static __device__ __forceinline__ bool healthy(const float *q, const float *, float) {
    return mm_ant_healthy(q, 1);
  }
  static __device__ __forceinline__ void observe(const float *q, const float *v, size_t stride,
                                                 float, float *obs, size_t apart) {
    mm_ant_observe(q, v, stride, obs, apart);
  }
};

// ---------------------------------------------------------------------------------------------
// One environment

// The same number, of which the compiler does not know that it is: addresses that follow from it
// are worked out again, and not kept in registers during a step.
__device__ __forceinline__ int afresh(int i) {
  asm volatile("" : "+r"(i));
  return i;
}

// Environment i of a state: its lane, and its numbers in columns.
template <class Body> struct Columns {
  mm_bodies_lane *lane;
  float *q, *v, *warm; // number k is k * stride further
  size_t stride;
};

template <class Body>
__device__ __forceinline__ Columns<Body> columns_of(const mm_cuda_bodies &e, int i) {
  Columns<Body> c;
  c.stride = (size_t)e.n;
  c.lane = (mm_bodies_lane *)e.state + i;
  c.q = (float *)((mm_bodies_lane *)e.state + e.n) + i;
  c.v = c.q + Body::NQ * c.stride;
  c.warm = c.v + Body::NV * c.stride;
  return c;
}

// Where environment i's observation lies in a batch of them.
template <class Body>
__device__ __forceinline__ float *place_of(const mm_cuda_bodies &e, float *batch, int i) {
  return batch + (e.columns ? (size_t)i : (size_t)i * Body::OBS);
}

template <class Body>
__device__ __forceinline__ void observe(const mm_cuda_body &law, const mm_cuda_bodies &e,
                                        const float *q, const float *v, size_t stride, int i,
                                        float *batch) {
  Body::observe(q, v, stride, law.base, place_of<Body>(e, batch, i),
                e.columns ? (size_t)e.n : (size_t)1);
}

// The next episode. A function of its own: seldom called, and no registers are kept for it.
template <class Body>
__device__ __noinline__ void start_episode(const mm_cuda_body &law, const mm_cuda_bodies &e,
                                           int i) {
  const Columns<Body> c = columns_of<Body>(e, i);
  const mm_stream stream = mm_stream_make(e.seed, e.repeat, MM_RNG_ENV_RESET, (uint32_t)i);
  const mm_bodies_draws draws = mm_bodies_draw(stream, e.fresh_reset ? c.lane->episode : 0);
  Body::reset(c.q, c.v, c.stride, law.start, &draws);
  for (int k = 0; k < Body::NV; k++)
    c.warm[(size_t)k * c.stride] = 0;
  c.lane->time = 0;
  c.lane->episode++;
}

// The state that a step led to becomes the environment's, unless the episode ends there. Of a state
// that is not to be trusted nothing gets out.
template <class Body>
__device__ __forceinline__ void finish_step(const mm_cuda_body &law, const mm_cuda_bodies &e, int i,
                                            const float *q, const float *v, const float *a,
                                            bool good, float reward) {
  const Columns<Body> c = columns_of<Body>(e, i);
  const int32_t time = c.lane->time + 1;
  const int end =
      mm_end_of(!good || !Body::healthy(q, v, law.base), time, (int32_t)MM_BODIES_LIMIT);
  e.reward[i] = good ? reward : 0.0f;
  e.end[i] = (uint8_t)end;
  if (end) {
    if (!good) c.lane->unstable++;
    if (e.final_obs && good) observe<Body>(law, e, q, v, 1, i, e.final_obs);
    start_episode<Body>(law, e, i);
    if (e.final_obs && !good) observe<Body>(law, e, c.q, c.v, c.stride, i, e.final_obs);
    observe<Body>(law, e, c.q, c.v, c.stride, i, e.obs);
    return;
  }
  c.lane->time = time;
#pragma unroll
  for (int k = 0; k < Body::NQ; k++)
    c.q[(size_t)k * c.stride] = q[k];
#pragma unroll
  for (int k = 0; k < Body::NV; k++) {
    c.v[(size_t)k * c.stride] = v[k];
    c.warm[(size_t)k * c.stride] = a[k];
  }
  observe<Body>(law, e, q, v, 1, i, e.obs);
}

// One step of environment i with action [NU]. Called by all threads of a block that have not
// exited, as often by each.
template <class Body>
__device__ __forceinline__ void step_body(const mm_cuda_body &law, const mm_cuda_bodies &e, int i,
                                          const float *action) {
  const typename Body::Model *m = (const typename Body::Model *)law.model;
  const Columns<Body> c = columns_of<Body>(e, i);
  float clipped[Body::NU], u[Body::NU];
  State<Body::NQ, Body::NV> s;
  int ok = 1;
#pragma unroll
  for (int k = 0; k < Body::NU; k++)
    clipped[k] = mm_bodies_clip(action[k]);
  Body::controls(clipped, u);
  Body::inward(c.q, c.v, c.warm, c.stride, &s);
  s.q[0] = 0.0f; // the way forward of this step
#pragma unroll 1
  for (int k = 0; k < law.substeps; k++) {
    if (Body::TOGETHER) __syncthreads();
    Body::step(m, law.iterations, u, &s, &ok);
  }
  Body::outward(&s);
  finish_step<Body>(law, e, afresh(i), s.q, s.v, s.a, ok != 0, Body::reward(s.q[0], clipped));
}

} // namespace mm

#endif
