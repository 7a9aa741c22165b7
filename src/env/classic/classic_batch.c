// SPDX-License-Identifier: Apache-2.0
// Batched steps of the classic-control environments: the functions of their headers in loops over
// the environments, which the compiler turns into vector instructions.
//
// Compiled once per instruction set. Environments go through in chunks that stay in the cache: a
// chunk is stepped, its ended episodes are listed, and those alone are started again.

#include "env/classic/classic_batch.h"

#include <string.h>

#include "base/isa.h"

#ifdef __GNUC__
#define NOINLINE __attribute__((noinline)) // keeps `restrict` in force
#else
#define NOINLINE
#endif

enum { CHUNK = 1024, GROUP = sizeof(uint64_t) };

// ---------------------------------------------------------------------------------------------
// Loops over environments. They have a pointer of its own for every row, and get them as
// parameters: the compiler vectorises only what it knows not to overlap, and believes it of
// parameters alone. Rows that an environment does not have are NULL.

#define STATE_ROWS(X) X(0) X(1) X(2) X(3)
#define OBS_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define STATE_PARAMETER(row) , float *restrict s##row
#define OBS_PARAMETER(row) , float *restrict o##row
#define ROW_PARAMETERS STATE_ROWS(STATE_PARAMETER) OBS_ROWS(OBS_PARAMETER)

typedef struct rows {
  float *state[MM_CLASSIC_STATE_MAX], *obs[MM_CLASSIC_OBS_MAX];
} rows;

#define STATE_ARGUMENT(row) , r.state[row]
#define OBS_ARGUMENT(row) , r.obs[row]
#define ROW_ARGUMENTS STATE_ROWS(STATE_ARGUMENT) OBS_ROWS(OBS_ARGUMENT)

typedef struct loops {
  int n_state, n_obs;
  // Steps n environments; no branch depends on one of them.
  void (*move)(const mm_classic_batch *b, size_t n, const void *restrict action,
               int32_t *restrict time, float *restrict reward,
               int32_t *restrict end ROW_PARAMETERS);
  // The starts of n environments, side by side.
  void (*start)(const mm_classic_batch *b, size_t n, const uint32_t *restrict which,
                const uint32_t *restrict episode ROW_PARAMETERS);
  void (*observe)(size_t n ROW_PARAMETERS);
} loops;

#define UNUSED_STATE(row) (void)s##row;
#define STATE_LOAD(row, member, name, angle) s.member = s##row[i];
#define STATE_STORE(row, member, name, angle) s##row[i] = s.member;
#define OBS_STORE(row)                                                                             \
  if (row < N_OBS) o##row[i] = o[row];
#define ADD_FIELD(row, member, name, angle) +1

#define DISCRETE_STEP(name, NAME, a, r) mm_##name##_step(&s, ((const int32_t *)a)[i], r)
#define CONTINUOUS_STEP(name, NAME, a, r) MM_##NAME##_STEP(&s, ((const float *)a)[i], b->walls, r)

#define LOOPS(name, NAME, STEP)                                                                    \
  NOINLINE static void name##_move(const mm_classic_batch *b, size_t n,                            \
                                   const void *restrict action, int32_t *restrict time,            \
                                   float *restrict reward, int32_t *restrict end ROW_PARAMETERS) { \
    enum { N_OBS = MM_##NAME##_OBS };                                                              \
    (void)b; /* for those without settings */                                                      \
    STATE_ROWS(UNUSED_STATE)                                                                       \
    for (size_t i = 0; i < n; i++) {                                                               \
      mm_##name s;                                                                                 \
      float o[MM_CLASSIC_OBS_MAX], r;                                                              \
      MM_##NAME##_FIELDS(STATE_LOAD) s.time = time[i];                                             \
      end[i] = STEP(name, NAME, action, &r);                                                       \
      mm_##name##_observe(&s, o);                                                                  \
      MM_##NAME##_FIELDS(STATE_STORE) OBS_ROWS(OBS_STORE) time[i] = s.time;                        \
      reward[i] = r;                                                                               \
    }                                                                                              \
  }                                                                                                \
  NOINLINE static void name##_start(const mm_classic_batch *b, size_t n,                           \
                                    const uint32_t *restrict which,                                \
                                    const uint32_t *restrict episode ROW_PARAMETERS) {             \
    enum { N_OBS = MM_##NAME##_OBS };                                                              \
    STATE_ROWS(UNUSED_STATE)                                                                       \
    for (size_t i = 0; i < n; i++) {                                                               \
      mm_##name s;                                                                                 \
      float o[MM_CLASSIC_OBS_MAX];                                                                 \
      mm_stream stream = mm_stream_make(b->seed, b->job, MM_RNG_ENV_RESET, b->lane + which[i]);    \
      mm_##name##_reset(&s, mm_##name##_draw(stream, episode[which[i]]));                          \
      mm_##name##_observe(&s, o);                                                                  \
      MM_##NAME##_FIELDS(STATE_STORE) OBS_ROWS(OBS_STORE)                                          \
    }                                                                                              \
  }                                                                                                \
  NOINLINE static void name##_observe(size_t n ROW_PARAMETERS) {                                   \
    enum { N_OBS = MM_##NAME##_OBS };                                                              \
    STATE_ROWS(UNUSED_STATE)                                                                       \
    for (size_t i = 0; i < n; i++) {                                                               \
      mm_##name s;                                                                                 \
      float o[MM_CLASSIC_OBS_MAX];                                                                 \
      MM_##NAME##_FIELDS(STATE_LOAD) s.time = 0;                                                   \
      mm_##name##_observe(&s, o);                                                                  \
      OBS_ROWS(OBS_STORE)                                                                          \
    }                                                                                              \
  }
#define DISCRETE_LOOPS(name, NAME, id) LOOPS(name, NAME, DISCRETE_STEP)
#define CONTINUOUS_LOOPS(name, NAME, id) LOOPS(name, NAME, CONTINUOUS_STEP)
MM_CLASSIC_DISCRETE(DISCRETE_LOOPS)
MM_CLASSIC_CONTINUOUS(CONTINUOUS_LOOPS)

#define LOOPS_ENTRY(name, NAME, id)                                                                \
  [MM_CLASSIC_##NAME] = { 0 MM_##NAME##_FIELDS(ADD_FIELD), MM_##NAME##_OBS, name##_move,           \
                          name##_start, name##_observe },
static const loops loops_of[MM_CLASSIC_COUNT] = { MM_CLASSIC_LIST(LOOPS_ENTRY) };

// The rows of a batch and of observations from an environment on.
static rows rows_from(const mm_classic_batch *b, float *obs, size_t from) {
  const loops *l = &loops_of[b->env];
  rows r = { { NULL }, { NULL } };
  for (int row = 0; row < l->n_state; row++)
    r.state[row] = b->state + (size_t)row * b->stride + from;
  for (int row = 0; row < l->n_obs; row++)
    r.obs[row] = obs + (size_t)row * b->stride + from;
  return r;
}

// ---------------------------------------------------------------------------------------------
// Ended episodes

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

// What was seen last of the n environments listed.
static void keep_final(const mm_classic_batch *b, const uint32_t *which, size_t n,
                       const mm_classic_out *out) {
  for (int row = 0; row < loops_of[b->env].n_obs; row++) {
    const size_t at = (size_t)row * b->stride;
    for (size_t j = 0; j < n; j++)
      out->final_obs[at + which[j]] = out->obs[at + which[j]];
  }
}

// Starts the running episodes of the n <= CHUNK environments listed.
static void start(const mm_classic_batch *b, const uint32_t *which, size_t n,
                  const mm_classic_out *out) {
  const loops *l = &loops_of[b->env];
  float state[MM_CLASSIC_STATE_MAX][CHUNK], obs[MM_CLASSIC_OBS_MAX][CHUNK];
  rows r;
  for (int row = 0; row < MM_CLASSIC_STATE_MAX; row++)
    r.state[row] = state[row];
  for (int row = 0; row < MM_CLASSIC_OBS_MAX; row++)
    r.obs[row] = obs[row];
  l->start(b, n, which, b->episode ROW_ARGUMENTS);
  const rows to = rows_from(b, out->obs, 0);
  for (size_t j = 0; j < n; j++) {
    for (int row = 0; row < l->n_state; row++)
      to.state[row][which[j]] = state[row][j];
    for (int row = 0; row < l->n_obs; row++)
      to.obs[row][which[j]] = obs[row][j];
    b->time[which[j]] = 0;
  }
}

// ---------------------------------------------------------------------------------------------

static void reset(const mm_classic_batch *b, size_t from, size_t to, const mm_classic_out *out) {
  uint32_t which[CHUNK];
  for (size_t n; from < to; from += n) {
    n = to - from < CHUNK ? to - from : CHUNK;
    for (size_t i = 0; i < n; i++)
      which[i] = (uint32_t)(from + i);
    start(b, which, n, out);
  }
}

static void step(const mm_classic_batch *b, size_t from, size_t to, const void *action,
                 const mm_classic_out *out) {
  int32_t end[CHUNK]; // as wide as everything else in the loop, and narrowed afterwards
  uint32_t which[CHUNK + 1];
  _Static_assert(sizeof(int32_t) == sizeof(float), "actions of either kind have this size");
  for (size_t n; from < to; from += n) {
    n = to - from < CHUNK ? to - from : CHUNK;
    const rows r = rows_from(b, out->obs, from);
    loops_of[b->env].move(b, n, (const int32_t *)action + from, b->time + from, out->reward + from,
                          end ROW_ARGUMENTS);
    narrow(end, n, out->end + from);
    size_t n_ended = list_ended(out->end + from, n, (uint32_t)from, which);
    if (n_ended == 0) continue;
    for (size_t j = 0; j < n_ended; j++)
      b->episode[which[j]]++;
    if (out->final_obs) keep_final(b, which, n_ended, out);
    start(b, which, n_ended, out);
  }
}

static void observe(const mm_classic_batch *b, size_t from, size_t to, const mm_classic_out *out) {
  const rows r = rows_from(b, out->obs, from);
  loops_of[b->env].observe(to - from ROW_ARGUMENTS);
}

const mm_classic_kernels MM_ISA_NAME(mm_classic_kernels) = { reset, step, observe };
