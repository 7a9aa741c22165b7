// Batched steps of the classic-control environments: the functions of their headers in loops over
// the environments, which the compiler turns into vector instructions.
//
// Compiled once per instruction set. Environments go through in chunks that stay in the cache: a
// chunk is stepped, its ended episodes are listed, and those alone are started again.

#include "env/classic/classic_batch.h"

#include <string.h>

#include "env/classic/acrobot.h"
#include "env/classic/cartpole.h"
#include "env/classic/pendulum.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

#ifdef __GNUC__
#define NOINLINE __attribute__((noinline)) // keeps `restrict` in force
#else
#define NOINLINE
#endif

enum { CHUNK = 1024, GROUP = sizeof(uint64_t) };

static void narrow(const int32_t *restrict from, size_t n, uint8_t *restrict to) {
  for (size_t i = 0; i < n; i++)
    to[i] = (uint8_t)from[i];
}

// Appends those of n environments that ended, numbered from `first`, to the list. Nothing is
// guessed: every number is written down, and kept or written over.
static inline size_t append(const uint8_t *end, size_t n, uint32_t first, uint32_t *which,
                            size_t n_ended) {
  for (size_t i = 0; i < n; i++) {
    which[n_ended] = first + (uint32_t)i;
    n_ended += end[i] != 0;
  }
  return n_ended;
}

// Lists the environments of a chunk that ended: first the groups with any, then their members.
// `which` needs room for one entry more than there are environments.
static size_t list_ended(const uint8_t *end, size_t n, uint32_t first, uint32_t *which) {
  uint32_t group[CHUNK / GROUP + 1];
  size_t n_group = 0, n_ended = 0, i = 0;
  for (; n - i >= GROUP; i += GROUP) {
    uint64_t any;
    memcpy(&any, end + i, GROUP);
    group[n_group] = (uint32_t)i;
    n_group += any != 0;
  }
  for (size_t k = 0; k < n_group; k++)
    n_ended = append(end + group[k], GROUP, first + group[k], which, n_ended);
  return append(end + i, n - i, first + (uint32_t)i, which, n_ended);
}

#define ENV cartpole
#define ACTION int32_t
#define STEP(s, a, r) mm_cartpole_step(s, a, r)
#define FIELDS(X) X(0, x) X(1, x_dot) X(2, theta) X(3, theta_dot)
#define ROWS(X) X(0) X(1) X(2) X(3)
#include "env/classic/classic_batch.inc"

#define ENV acrobot
#define ACTION int32_t
#define STEP(s, a, r) mm_acrobot_step(s, a, r)
#define FIELDS(X) X(0, t1) X(1, t2) X(2, w1) X(3, w2)
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#include "env/classic/classic_batch.inc"

#define ENV mountain_car
#define ACTION int32_t
#define STEP(s, a, r) mm_mountain_car_step(s, a, r)
#define FIELDS(X) X(0, position) X(1, velocity)
#define ROWS(X) X(0) X(1)
#include "env/classic/classic_batch.inc"

#define ENV mountain_car_continuous
#define ACTION float
#define STEP(s, a, r) mm_mountain_car_continuous_step(s, a, b->walls, r)
#define FIELDS(X) X(0, position) X(1, velocity)
#define ROWS(X) X(0) X(1)
#include "env/classic/classic_batch.inc"

#define ENV pendulum
#define ACTION float
#define STEP(s, a, r) mm_pendulum_step(s, a, r)
#define FIELDS(X) X(0, theta) X(1, theta_dot)
#define ROWS(X) X(0) X(1) X(2)
#include "env/classic/classic_batch.inc"

extern const mm_classic_kernels JOIN(mm_classic_kernels, MM_ISA);

const mm_classic_kernels JOIN(mm_classic_kernels, MM_ISA) = { {
    [MM_CLASSIC_CARTPOLE] = &cartpole_kernel,
    [MM_CLASSIC_ACROBOT] = &acrobot_kernel,
    [MM_CLASSIC_MOUNTAIN_CAR] = &mountain_car_kernel,
    [MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS] = &mountain_car_continuous_kernel,
    [MM_CLASSIC_PENDULUM] = &pendulum_kernel,
} };
