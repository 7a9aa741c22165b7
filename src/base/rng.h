// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function of their name. [host/device]
//
// Nothing here has a state. A stream is named by (seed, job, purpose, lane); its block number
// `index` is Philox4x32-10 (Random123) of
//
//   key      seed (64 bits)
//   counter  index (64 bits), job (32 bits), purpose (8 bits) and lane (24 bits)
//
// so any draw can be repeated alone, in any order, on any thread or device. A block holds 128 bits
// that serve as four words or as two pairs; every draw below turns one word (32 bits) or one pair
// (64 bits) into one number.

#ifndef MM_BASE_RNG_H
#define MM_BASE_RNG_H

#ifndef __CUDACC__
#include <Random123/philox.h>
#endif
#include <stdint.h>

#include "base/elementary.h"
#include "base/hostdev.h"

// What a stream is for. The numbers are part of every result ever published: add new ones at the
// end, never change or reuse one.
#define MM_RNG_PURPOSE_LIST(X)                                                                     \
  X(TEST, 0)         /* the project's own tests */                                                 \
  X(MAP_CONTROL, 1)  /* parameters of the maps random:SEED and random-neural:SEED */               \
  X(TASK, 2)         /* drawing tasks: levels of a family of environments */                       \
  X(ENV_RESET, 3)    /* initial states; lane = environment */                                      \
  X(ENV_STEP, 4)     /* transitions; lane = environment */                                         \
  X(ACTION, 5)       /* sampling from a policy; lane = environment */                              \
  X(NET_INIT, 6)     /* weights of networks */                                                     \
  X(SHUFFLE, 7)      /* minibatches */                                                             \
  X(EVOLVE_INIT, 8)  /* start of a search */                                                       \
  X(EVOLVE_ASK, 9)   /* perturbations of a generation; lane = member */                            \
  X(VALIDATION, 10)  /* seeds of validation and final jobs, apart from those of the search */      \
  X(BOOTSTRAP, 11)   /* resampling for confidence intervals */                                     \
  X(TUNE, 12)        /* hyper-parameters */                                                        \
  X(BENCH, 13)       /* inputs of benchmarks */                                                    \
  X(EVOLVE_SEED, 14) /* seeds of a generation's jobs; lane = pair or task */                       \
  X(EVOLVE_TIE, 15)  /* order of members of equal fitness */                                       \
  X(EVALUATION, 16)  /* episodes of trained policies, apart from those of their training */

typedef enum mm_rng_purpose {
#define MM_RNG_PURPOSE_ENUM(name, number) MM_RNG_##name = number,
  MM_RNG_PURPOSE_LIST(MM_RNG_PURPOSE_ENUM)
#undef MM_RNG_PURPOSE_ENUM
} mm_rng_purpose;

// ---------------------------------------------------------------------------------------------
// Streams and blocks

typedef struct mm_stream {
  uint32_t key[2];
  uint32_t job;
  uint32_t tag; // purpose << 24 | lane
} mm_stream;

typedef struct mm_block {
  uint32_t word[4];
} mm_block;

// Only the low 24 bits of `lane` count: callers keep below 2^24 lanes per purpose.
MM_INLINE MM_HD mm_stream mm_stream_make(uint64_t seed, uint32_t job, mm_rng_purpose purpose,
                                         uint32_t lane) {
  mm_stream s;
  s.key[0] = (uint32_t)seed;
  s.key[1] = (uint32_t)(seed >> 32);
  s.job = job;
  s.tag = (uint32_t)purpose << 24 | (lane & 0xffffffu);
  return s;
}

#ifdef __CUDACC__

// Philox once more: as C++ Random123 brings in the C++ library, which nothing else here needs.
MM_INLINE MM_HD mm_block mm_stream_block(mm_stream s, uint64_t index) {
  mm_block b = { { (uint32_t)index, (uint32_t)(index >> 32), s.job, s.tag } };
  uint32_t key0 = s.key[0], key1 = s.key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t even = (uint64_t)0xd2511f53u * b.word[0], odd = (uint64_t)0xcd9e8d57u * b.word[2];
    b.word[0] = (uint32_t)(odd >> 32) ^ b.word[1] ^ key0;
    b.word[1] = (uint32_t)odd;
    b.word[2] = (uint32_t)(even >> 32) ^ b.word[3] ^ key1;
    b.word[3] = (uint32_t)even;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return b;
}

#else

MM_INLINE MM_HD mm_block mm_stream_block(mm_stream s, uint64_t index) {
  philox4x32_ctr_t counter;
  philox4x32_key_t key;
  counter.v[0] = (uint32_t)index;
  counter.v[1] = (uint32_t)(index >> 32);
  counter.v[2] = s.job;
  counter.v[3] = s.tag;
  key.v[0] = s.key[0];
  key.v[1] = s.key[1];
  philox4x32_ctr_t random = philox4x32_R(10, counter, key);
  mm_block b;
  for (int i = 0; i < 4; i++)
    b.word[i] = random.v[i];
  return b;
}

#endif

// Pair 0 or 1 of a block as one number.
MM_INLINE MM_HD uint64_t mm_block_pair(mm_block b, int pair) {
  return (uint64_t)b.word[2 * pair + 1] << 32 | b.word[2 * pair];
}

// The pairs of a stream counted through: half of block index / 2. For single draws; loops that use
// both halves make the block once.
MM_INLINE MM_HD uint64_t mm_stream_pair(mm_stream s, uint64_t index) {
  return mm_block_pair(mm_stream_block(s, index >> 1), (int)(index & 1));
}

// ---------------------------------------------------------------------------------------------
// Uniform numbers

// [0, 1) in steps of 2^-24.
MM_INLINE MM_HD float mm_uniform_f(uint32_t word) {
  return (float)(word >> 8) * 0x1p-24f;
}

// [0, 1) in steps of 2^-53.
MM_INLINE MM_HD double mm_uniform_d(uint64_t pair) {
  return (double)(pair >> 11) * 0x1p-53;
}

// (0, 1): the odd multiples of 2^-53, so that u and 1 - u are both exact and equally likely.
MM_INLINE MM_HD double mm_uniform_open_d(uint64_t pair) {
  return (double)((pair >> 12) * 2 + 1) * 0x1p-53;
}

// [0, n): floor(pair n / 2^64), the high half of a product. A value's probability is off 1/n by
// less than 2^-64, relatively by less than n 2^-64 <= 2^-32: it would take about 2^64 draws to
// notice.
MM_INLINE MM_HD uint32_t mm_uniform_int(uint64_t pair, uint32_t n) {
  uint64_t low = (pair & 0xffffffffu) * n;
  return (uint32_t)(((pair >> 32) * n + (low >> 32)) >> 32);
}

// ---------------------------------------------------------------------------------------------
// Normal numbers, by the inverse of their distribution function: one uniform number makes one
// normal one, monotonically, so antithetic and stratified draws stay what they are. The rational
// functions are Wichura's (AS 241, Applied Statistics 37, 1988): PPND16 and PPND7.

// The p-quantile of the standard normal distribution for p in (0, 1), to about 1e-15 relative.
MM_INLINE MM_HD double mm_normal_quantile_d(double p) {
  double q = p - 0.5, top, bottom;
  if (fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    top = fma(r, 2509.0809287301226727, 33430.575583588128105);
    top = fma(r, top, 67265.770927008700853);
    top = fma(r, top, 45921.953931549871457);
    top = fma(r, top, 13731.693765509461125);
    top = fma(r, top, 1971.5909503065514427);
    top = fma(r, top, 133.14166789178437745);
    top = fma(r, top, 3.3871328727963666080);
    bottom = fma(r, 5226.4952788528545610, 28729.085735721942674);
    bottom = fma(r, bottom, 39307.895800092710610);
    bottom = fma(r, bottom, 21213.794301586595867);
    bottom = fma(r, bottom, 5394.1960214247511077);
    bottom = fma(r, bottom, 687.18700749205790830);
    bottom = fma(r, bottom, 42.313330701600911252);
    bottom = fma(r, bottom, 1.0);
    return q * top / bottom;
  }
  double r = sqrt(-mm_log_d(q < 0.0 ? p : 1.0 - p));
  if (r <= 5.0) {
    r -= 1.6;
    top = fma(r, 7.74545014278341407640e-4, 2.27238449892691845833e-2);
    top = fma(r, top, 2.41780725177450611770e-1);
    top = fma(r, top, 1.27045825245236838258);
    top = fma(r, top, 3.64784832476320460504);
    top = fma(r, top, 5.76949722146069140550);
    top = fma(r, top, 4.63033784615654529590);
    top = fma(r, top, 1.42343711074968357734);
    bottom = fma(r, 1.05075007164441684324e-9, 5.47593808499534494600e-4);
    bottom = fma(r, bottom, 1.51986665636164571966e-2);
    bottom = fma(r, bottom, 1.48103976427480074590e-1);
    bottom = fma(r, bottom, 6.89767334985100004550e-1);
    bottom = fma(r, bottom, 1.67638483018380384940);
    bottom = fma(r, bottom, 2.05319162663775882187);
    bottom = fma(r, bottom, 1.0);
  } else {
    r -= 5.0;
    top = fma(r, 2.01033439929228813265e-7, 2.71155556874348757815e-5);
    top = fma(r, top, 1.24266094738807843860e-3);
    top = fma(r, top, 2.65321895265761230930e-2);
    top = fma(r, top, 2.96560571828504891230e-1);
    top = fma(r, top, 1.78482653991729133580);
    top = fma(r, top, 5.46378491116411436990);
    top = fma(r, top, 6.65790464350110377720);
    bottom = fma(r, 2.04426310338993978564e-15, 1.42151175831644588870e-7);
    bottom = fma(r, bottom, 1.84631831751005468180e-5);
    bottom = fma(r, bottom, 7.86869131145613259100e-4);
    bottom = fma(r, bottom, 1.48753612908506148525e-2);
    bottom = fma(r, bottom, 1.36929880922735805310e-1);
    bottom = fma(r, bottom, 5.99832206555887937690e-1);
    bottom = fma(r, bottom, 1.0);
  }
  return q < 0.0 ? -top / bottom : top / bottom;
}

// Reaches 8.2 on either side.
MM_INLINE MM_HD double mm_normal_d(uint64_t pair) {
  return mm_normal_quantile_d(mm_uniform_open_d(pair));
}

// The same in single precision from 32 bits, to about 1e-6 relative; reaches 6.2. The probability
// (2 m + 1) / 2^33 of the nearer tail and its distance from 1/2 are integers until the last moment,
// so neither loses digits.
MM_INLINE MM_HD float mm_normal_f(uint32_t word) {
  int negative = word < 0x80000000u;
  uint32_t m = negative ? word : ~word;
  float q = (float)(0xffffffffu - 2 * m) * 0x1p-33f, top, bottom;
  if (q <= 0.425f) {
    float r = 0.180625f - q * q;
    top = fmaf(r, 59.109374720f, 159.29113202f);
    top = fmaf(r, top, 50.434271938f);
    top = q * fmaf(r, top, 3.3871327179f);
    bottom = fmaf(r, 67.187563600f, 78.757757664f);
    bottom = fmaf(r, bottom, 17.895169469f);
    bottom = fmaf(r, bottom, 1.0f);
  } else { // r <= 4.8: the third piece of PPND7 is out of reach
    float r = sqrtf(-mm_log_f((float)(2 * m + 1) * 0x1p-33f)) - 1.6f;
    top = fmaf(r, 0.17023821103f, 1.3067284816f);
    top = fmaf(r, top, 2.7568153900f);
    top = fmaf(r, top, 1.4234372777f);
    bottom = fmaf(r, 0.12021132975f, 0.73700164250f);
    bottom = fmaf(r, bottom, 1.0f);
  }
  return negative ? -top / bottom : top / bottom;
}

// ---------------------------------------------------------------------------------------------
// Categories

// The index that u in [0, 1) falls on when probs[n] are laid end to end. Never one of probability
// zero; the last positive one also takes what rounding leaves between the sum and 1. Without any
// positive entry: 0. Sums run in double, so a float row is no coarser than its entries.
MM_INLINE MM_HD int mm_categorical_d(double u, const double *probs, int n) {
  double sum = 0.0;
  int last = 0;
  for (int i = 0; i < n; i++) {
    if (!(probs[i] > 0.0)) continue;
    sum += probs[i];
    last = i;
    if (u < sum) break;
  }
  return last;
}

MM_INLINE MM_HD int mm_categorical_f(double u, const float *probs, int n) {
  double sum = 0.0;
  int last = 0;
  for (int i = 0; i < n; i++) {
    if (!(probs[i] > 0.0f)) continue;
    sum += (double)probs[i];
    last = i;
    if (u < sum) break;
  }
  return last;
}

// ---------------------------------------------------------------------------------------------
// Shuffles: a random bijection of [0, n) that is evaluated entry by entry and never stored.
//
// Up to 16 entries fit into a word: those are dealt exactly (Fisher and Yates). Beyond, i = l b + r
// with b = 2^floor(log2(n) / 2) and a = ceil(n / b) goes through a generalised Feistel network:
// rounds add a keyed hash of r to l modulo a, and of l to r modulo b, in turn. Each round is a
// bijection of [0, a b); the fewer than b values that are not below n are sent round again until
// they are, which keeps it one of [0, n).
//
// Two entries with the same r keep it, and their distance, when their two hashes of l agree modulo
// b: a chance of 1/b in each pair of rounds. There are as many pairs as bring this below 2^-16, and
// three at least; about 10^10 shuffles would be needed to see the rest.

enum { MM_SHUFFLE_DEALT = 16, MM_SHUFFLE_ROUNDS_MAX = 16 };

typedef struct mm_shuffle {
  uint32_t n, a;
  uint32_t shift; // b = 1 << shift
  uint32_t rounds;
  uint64_t dealt;                         // entry i in bits 4 i .. 4 i + 3, for n <= 16
  uint64_t key[MM_SHUFFLE_ROUNDS_MAX][2]; // factor and summand of each round's hash
} mm_shuffle;

MM_INLINE MM_HD uint64_t mm_shuffle_deal(mm_stream s, uint64_t first_pair, uint32_t n) {
  uint64_t entries = 0xfedcba9876543210u;
  for (uint32_t i = n - 1; i > 0; i--) {
    uint32_t j = mm_uniform_int(mm_stream_pair(s, first_pair + i), i + 1);
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n is not 0
    uint64_t differ = (entries >> 4 * i ^ entries >> 4 * j) & 15; // 0 when i = j
    entries ^= differ << 4 * i | differ << 4 * j;
  }
  return entries;
}

// Makes shuffle number `index` of a stream, of n entries, 1 <= n <= 2^31, in two parts: all but the
// keys, and key i < rounds, which can be made side by side. Uses up to 16 blocks of the stream,
// from number 16 index on: a stream serves either shuffles or other draws.
static inline MM_HD void mm_shuffle_begin(mm_shuffle *shuffle, mm_stream s, uint64_t index,
                                          uint32_t n) {
  uint32_t log2_n = 0, pairs = 3;
  while (n >> log2_n > 1)
    log2_n++;
  shuffle->n = n;
  shuffle->shift = log2_n / 2;
  shuffle->a = ((n - 1) >> shuffle->shift) + 1;
  shuffle->rounds = 0;
  shuffle->dealt = 0;
  if (n <= MM_SHUFFLE_DEALT) {
    shuffle->dealt = mm_shuffle_deal(s, 2 * index * MM_SHUFFLE_ROUNDS_MAX, n);
    return;
  }
  while (pairs * shuffle->shift < 16)
    pairs++;
  shuffle->rounds = 2 * pairs;
}

MM_INLINE MM_HD void mm_shuffle_key(mm_stream s, uint64_t index, uint32_t i, uint64_t *key) {
  mm_block b = mm_stream_block(s, index * MM_SHUFFLE_ROUNDS_MAX + i);
  key[0] = mm_block_pair(b, 0) | 1;
  key[1] = mm_block_pair(b, 1);
}

static inline MM_HD mm_shuffle mm_shuffle_make(mm_stream s, uint64_t index, uint32_t n) {
  mm_shuffle shuffle;
  mm_shuffle_begin(&shuffle, s, index, n);
  for (uint32_t i = 0; i < shuffle.rounds; i++)
    mm_shuffle_key(s, index, i, shuffle.key[i]);
  return shuffle;
}

// 32 bits from a number below 2^17. The first line alone is pairwise independent over the keys; the
// second breaks its linearity, which any number of rounds would pass on.
MM_INLINE MM_HD uint32_t mm_shuffle_hash(uint32_t x, const uint64_t *key) {
  uint64_t t = x * key[0] + key[1];
  t = (t ^ t >> 32) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(t >> 32);
}

// Where entry i < n goes.
MM_INLINE MM_HD uint32_t mm_shuffle_at(const mm_shuffle *s, uint32_t i) {
  if (s->n <= MM_SHUFFLE_DEALT) return (uint32_t)(s->dealt >> 4 * i) & 15;
  const uint32_t n = s->n, a = s->a, shift = s->shift, mask = (1u << shift) - 1;
  do {
    uint32_t l = i >> shift, r = i & mask;
    for (uint32_t round = 0; round < s->rounds; round += 2) {
      uint32_t sum = l + (uint32_t)((uint64_t)mm_shuffle_hash(r, s->key[round]) * a >> 32);
      l = sum < a ? sum : sum - a;
      r = (r + (mm_shuffle_hash(l, s->key[round + 1]) >> 8)) & mask;
    }
    i = l << shift | r;
  } while (i >= n);
  return i;
}

// Where all entries go; out: [n]. Up to 2^16 of them a half has at most 512 values, so each round
// is looked up: several times as fast as one by one.
static inline MM_HD void mm_shuffle_all(const mm_shuffle *s, uint32_t *out) {
  enum { HALF_MAX = 512 };
  const uint32_t n = s->n, a = s->a, shift = s->shift, b = 1u << shift;
  if (n <= MM_SHUFFLE_DEALT || n > 1u << 16) {
    for (uint32_t i = 0; i < n; i++)
      out[i] = mm_shuffle_at(s, i);
    return;
  }
  uint16_t move[MM_SHUFFLE_ROUNDS_MAX][HALF_MAX]; // what a round adds, by the half it looks at
  for (uint32_t round = 0; round < s->rounds; round += 2) {
    for (uint32_t r = 0; r < b; r++)
      move[round][r] = (uint16_t)((uint64_t)mm_shuffle_hash(r, s->key[round]) * a >> 32);
    for (uint32_t l = 0; l < a; l++)
      move[round + 1][l] = (uint16_t)(mm_shuffle_hash(l, s->key[round + 1]) >> 8 & (b - 1));
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = i;
    do {
      uint32_t l = at >> shift, r = at & (b - 1);
      // NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): filled up to b and a
      for (uint32_t round = 0; round < s->rounds; round += 2) {
        uint32_t sum = l + move[round][r];
        l = sum < a ? sum : sum - a;
        r = (r + move[round + 1][l]) & (b - 1);
      }
      // NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult)
      at = l << shift | r;
    } while (at >= n);
    out[i] = at;
  }
}

#endif
