// One thread takes one environment through a step: physics, reward, end, start of the next episode,
// observation. What vec_body.c does on processors, from the same headers.
//
// A file that includes this may set MM_PHYSICS_THREADS first (physics/lanes.h): then a thread's
// state and rows lie in shared memory, of which a block needs sizeof(Body::Room) bytes, and
// registers are left for matrices.

#ifndef MM_BACKEND_CUDA_BODY_CUH
#define MM_BACKEND_CUDA_BODY_CUH

#include "backend/cuda_body.h"
#include "env/ant.h"
#include "env/half_cheetah.h"
#include "env/hopper.h"
#include "physics/ant.h"
#include "physics/planar_bodies.h"

namespace mm {

// ---------------------------------------------------------------------------------------------
// Bodies: sizes, the engine's step, the environment's law

#define MM_CUDA_PLANAR(Name, prefix)                                                               \
  struct Name##Physics {                                                                           \
    using Model = prefix##_model;                                                                  \
    struct Room {                                                                                  \
      held q[prefix##_NV], v[prefix##_NV], u[prefix##_NU];                                         \
      prefix##_aside aside;                                                                        \
    };                                                                                             \
    enum { NQ = prefix##_NV, NV = prefix##_NV, NU = prefix##_NU };                                 \
    static __device__ __forceinline__ float turned_q(int i, float x) {                             \
      return prefix##_turned(i, x);                                                                \
    }                                                                                              \
    static __device__ __forceinline__ float turned_v(int i, float x) {                             \
      return prefix##_turned(i, x);                                                                \
    }                                                                                              \
    static __device__ __forceinline__ float control(int i, const float *u) { return u[i]; }        \
    static __device__ __forceinline__ void step(const Model *m, int iterations, Room *r, float *a, \
                                                int *ok) {                                         \
      prefix##_step(m, iterations, r->u, r->q, r->v, a, &r->aside, ok);                            \
    }                                                                                              \
  };

enum { hopper_NV = MM_HOPPER_V, hopper_NU = MM_HOPPER_U };
enum { half_cheetah_NV = MM_HALF_CHEETAH_V, half_cheetah_NU = MM_HALF_CHEETAH_U };
enum { half_cheetah_all_NV = MM_HALF_CHEETAH_V, half_cheetah_all_NU = MM_HALF_CHEETAH_U };

MM_CUDA_PLANAR(Hopper, hopper)
MM_CUDA_PLANAR(HalfCheetah, half_cheetah)
MM_CUDA_PLANAR(HalfCheetahAll, half_cheetah_all)

struct Hopper : HopperPhysics {
  enum { OBS = MM_HOPPER_OBS };
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
  enum { OBS = MM_HALF_CHEETAH_OBS };
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
  struct Room {
    held q[ANT_NQ], v[ANT_NV], u[MM_ANT_U];
    ant_aside aside;
  };
  enum { NQ = ANT_NQ, NV = ANT_NV, NU = MM_ANT_U, OBS = MM_ANT_OBS };
  static __device__ __forceinline__ float turned_q(int i, float x) { return ant_flipped(i, 1, x); }
  static __device__ __forceinline__ float turned_v(int i, float x) { return ant_flipped(i, 0, x); }
  static __device__ __forceinline__ float control(int i, const float *u) {
    return ant_flipped(i + 6, 0, u[(i + 2) % 8]);
  }
  static __device__ __forceinline__ void step(const Model *m, int iterations, Room *r, float *a,
                                              int *ok) {
    ant_step(m, iterations, r->u, r->q, r->v, a, &r->aside, ok);
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

// One step of environment i with action [NU].
template <class Body>
__device__ __forceinline__ void step_body(const mm_cuda_body &law, const mm_cuda_bodies &e, int i,
                                          const float *action, typename Body::Room *room) {
  const typename Body::Model *m = (const typename Body::Model *)law.model;
  const Columns<Body> c = columns_of<Body>(e, i);
  float a[Body::NV], clipped[Body::NU];
  int ok = 1;
#pragma unroll
  for (int k = 0; k < Body::NU; k++)
    clipped[k] = mm_bodies_clip(action[k]);
#pragma unroll
  for (int k = 0; k < Body::NU; k++)
    room->u[k] = Body::control(k, clipped);
  room->q[0] = 0.0f; // the way forward of this step
#pragma unroll
  for (int k = 1; k < Body::NQ; k++)
    room->q[k] = Body::turned_q(k, c.q[(size_t)k * c.stride]);
#pragma unroll
  for (int k = 0; k < Body::NV; k++) {
    room->v[k] = Body::turned_v(k, c.v[(size_t)k * c.stride]);
    a[k] = Body::turned_v(k, c.warm[(size_t)k * c.stride]);
  }
#pragma unroll 1
  for (int s = 0; s < law.substeps; s++)
    Body::step(m, law.iterations, room, a, &ok);
  float q[Body::NQ], v[Body::NV];
#pragma unroll
  for (int k = 0; k < Body::NQ; k++)
    q[k] = Body::turned_q(k, room->q[k]);
#pragma unroll
  for (int k = 0; k < Body::NV; k++) {
    v[k] = Body::turned_v(k, room->v[k]);
    a[k] = Body::turned_v(k, a[k]);
  }
  finish_step<Body>(law, e, afresh(i), q, v, a, ok != 0, Body::reward(q[0], clipped));
}

} // namespace mm

#endif
