// SPDX-License-Identifier: Apache-2.0
// One thread takes one environment through a step: physics, reward, end, start of the next episode,
// observation. What vec_body.c does on processors, from the same headers.

#ifndef MM_BACKEND_CUDA_LOCOMOTION_BODY_CUH
#define MM_BACKEND_CUDA_LOCOMOTION_BODY_CUH

#include "backend/cuda/locomotion/body.h"
#include "env/locomotion/bodies.h"

namespace mm {

// Coordinates, velocities, warm start.
template <int NQ, int NV> struct State { float q[NQ], v[NV], a[NV]; };

// mm::Body: sizes, the engine's step (`physics`_), the environment's law (mm_`name`_). inward,
// outward: a state's numbers from columns to those of the engine, and back to numbers side by side.
//
// TOGETHER: a body's code may be larger than what a multiprocessor has at hand of it. Then the
// warps of a block had better be in the same part: they wait for each other before each physics
// step. BLOCKS: on a multiprocessor at a time, for which registers are shared out.
#define MM_CUDA_BODY(NAME, name, physics)                                                          \
  namespace mm {                                                                                   \
  namespace {                                                                                      \
  struct Body {                                                                                    \
    using Model = physics##_model;                                                                 \
    enum { NQ = physics##_nq, NV = physics##_nv, NU = physics##_nu, OBS = MM_##NAME##_OBS };       \
    enum { TOGETHER = NV > 6, BLOCKS = TOGETHER ? 2 : 4 };                                         \
    static __device__ __forceinline__ void inward(const float *q, const float *v, const float *a,  \
                                                  size_t stride, State<NQ, NV> *s) {               \
      physics##_load_state(stride, q, v, a, s->q, s->v, s->a);                                     \
    }                                                                                              \
    static __device__ __forceinline__ void outward(State<NQ, NV> *s) {                             \
      physics##_store_state(1, s->q, s->v, s->a, 1, s->q, s->v, s->a);                             \
    }                                                                                              \
    static __device__ __forceinline__ void controls(const float *action, float *u) {               \
      physics##_order(action, u);                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ void step(const Model *m, int iterations, const float *u,    \
                                                State<NQ, NV> *s, int *ok) {                       \
      physics##_step(m, iterations, u, s->q, s->v, s->a, ok);                                      \
    }                                                                                              \
    static __device__ __forceinline__ void reset(float *q, float *v, size_t stride,                \
                                                 const float *start, const mm_bodies_draws *d) {   \
      mm_##name##_reset(q, v, stride, start, d);                                                   \
    }                                                                                              \
    static __device__ __forceinline__ float reward(float way, const float *action) {               \
      return mm_##name##_reward(way, action);                                                      \
    }                                                                                              \
    static __device__ __forceinline__ bool healthy(const float *q, const float *v, float base) {   \
      return mm_##name##_healthy(q, v, 1, base);                                                   \
    }                                                                                              \
    static __device__ __forceinline__ void observe(const float *q, const float *v, size_t stride,  \
                                                   float base, float *obs, size_t apart) {         \
      mm_##name##_observe(q, v, stride, base, obs, apart);                                         \
    }                                                                                              \
  };                                                                                               \
  }                                                                                                \
  }

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
