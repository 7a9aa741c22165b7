// SPDX-License-Identifier: Apache-2.0
// A strategy's state as bytes, all numbers little-endian:
//
//   16  mark "mirrormap/es", filled up with zeros
//    8  version of this format
//   32  name of the strategy, filled up with zeros
//   40  dimension, population, generation, number of fitnesses that were not finite, sigma
//       vectors of the state, dimension numbers each, or dimension^2 for a matrix
//       with restarts: those done, generation of the last one, members told of, whether one is due,
//       length n of the history (8 each), start, best and median fitness of n generations, filled
//       up with zeros to the longest history
//    8  checksum (FNV-1a) of all that comes before
//
// FNV-1a goes through one bijection per byte, so damage of any single byte is certain to show.

#include <float.h>
#include <string.h>

#include "base/elementary.h"
#include "base/status.h"
#include "evolve/es_internal.h"

enum { VERSION = 1 };
enum { MARK_SIZE = 16, NAME_SIZE = 32, CHECKSUM_SIZE = 8 };
enum { HEAD_SIZE = MARK_SIZE + 8 + NAME_SIZE + 5 * 8 };

static const unsigned char mark[MARK_SIZE] = "mirrormap/es";

// ---------------------------------------------------------------------------------------------
// Bytes

static unsigned char *put_u64(unsigned char *to, uint64_t x) {
  for (int i = 0; i < 8; i++)
    to[i] = (unsigned char)(x >> 8 * i);
  return to + 8;
}

static unsigned char *put_double(unsigned char *to, double x) {
  return put_u64(to, mm_bits_d(x));
}

static uint64_t get_u64(const unsigned char **from) {
  uint64_t x = 0;
  for (int i = 0; i < 8; i++)
    x |= (uint64_t)(*from)[i] << 8 * i;
  *from += 8;
  return x;
}

static double get_double(const unsigned char **from) {
  return mm_from_bits_d(get_u64(from));
}

static uint64_t checksum(const unsigned char *byte, size_t n) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ byte[i]) * 0x100000001b3;
  return hash;
}

// ---------------------------------------------------------------------------------------------
// Saving

static size_t vectors_size(const mm_es *es) {
  size_t numbers = 0;
  for (size_t v = 0; v < es->method->n_vectors; v++)
    numbers += mm_es_vector_length(es, v);
  return numbers * 8;
}

static size_t restart_size(const mm_es *es) {
  const mm_es_config *c = &es->config;
  return c->restarts > 0 ? (5 + c->dimension + 2 * mm_es_history(c)) * 8 : 0;
}

size_t mm_es_state_size(const mm_es *es) {
  return HEAD_SIZE + vectors_size(es) + restart_size(es) + CHECKSUM_SIZE;
}

static unsigned char *put_doubles(unsigned char *to, const double *x, size_t n, size_t room) {
  for (size_t i = 0; i < room; i++)
    to = put_double(to, i < n ? x[i] : 0);
  return to;
}

static unsigned char *put_restart(unsigned char *to, const mm_es *es) {
  const mm_es_restart *r = &es->restart;
  const size_t room = mm_es_history(&es->config);
  to = put_u64(to, r->done);
  to = put_u64(to, r->began);
  to = put_u64(to, r->evaluations);
  to = put_u64(to, r->due);
  to = put_u64(to, r->n_history);
  to = put_doubles(to, r->start, es->config.dimension, es->config.dimension);
  to = put_doubles(to, r->best, r->n_history, room);
  return put_doubles(to, r->median, r->n_history, room);
}

void mm_es_save(const mm_es *es, void *state) {
  unsigned char *start = state, *to = start;
  memcpy(to, mark, MARK_SIZE);
  to = put_u64(to + MARK_SIZE, VERSION);
  memset(to, 0, NAME_SIZE);
  const char *name = mm_es_name(es->config.kind);
  memcpy(to, name, strlen(name));
  to = put_u64(to + NAME_SIZE, es->config.dimension);
  to = put_u64(to, es->config.population);
  to = put_u64(to, es->generation);
  to = put_u64(to, es->nonfinite);
  to = put_double(to, es->sigma);
  for (size_t v = 0; v < es->method->n_vectors; v++)
    for (size_t j = 0; j < mm_es_vector_length(es, v); j++)
      to = put_double(to, es->now[v][j]);
  if (es->config.restarts > 0) to = put_restart(to, es);
  put_u64(to, checksum(start, (size_t)(to - start)));
}

// ---------------------------------------------------------------------------------------------
// Loading

// The bytes are a whole state of this version as it was saved.
static mm_status check_intact(const unsigned char *state, size_t size) {
  if (size < MARK_SIZE + 8 || memcmp(state, mark, MARK_SIZE) != 0)
    return MM_FAIL(MM_ERR_INPUT, "state of an evolution strategy: these %zu bytes are none", size);
  const unsigned char *from = state + MARK_SIZE;
  uint64_t version = get_u64(&from);
  if (version != VERSION)
    return MM_FAIL(MM_ERR_INPUT, "state of an evolution strategy: version %llu: expected %d",
                   (unsigned long long)version, VERSION);
  if (size < HEAD_SIZE + CHECKSUM_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "state of an evolution strategy: cut off after %zu bytes", size);
  const unsigned char *tail = state + size - CHECKSUM_SIZE;
  if (get_u64(&tail) != checksum(state, size - CHECKSUM_SIZE))
    return MM_FAIL(MM_ERR_INPUT,
                   "state of an evolution strategy: damaged, the checksum does not fit");
  return MM_OK;
}

// The bytes belong to a strategy like `es`; leaves *from after the population.
static mm_status check_fit(const mm_es *es, const unsigned char **from, size_t size) {
  const mm_es_config *c = &es->config;
  const char *name = mm_es_name(c->kind);
  unsigned char expected[NAME_SIZE] = { 0 };
  memcpy(expected, name, strlen(name));
  if (memcmp(*from, expected, NAME_SIZE) != 0)
    return MM_FAIL(MM_ERR_INPUT, "state of an evolution strategy: of '%.*s': expected '%s'",
                   NAME_SIZE, (const char *)*from, name);
  *from += NAME_SIZE;
  uint64_t dimension = get_u64(from), population = get_u64(from);
  if (dimension != c->dimension)
    return MM_FAIL(MM_ERR_INPUT, "state of %s: dimension = %llu: expected %zu", name,
                   (unsigned long long)dimension, c->dimension);
  if (population != c->population)
    return MM_FAIL(MM_ERR_INPUT, "state of %s: population = %llu: expected %zu", name,
                   (unsigned long long)population, c->population);
  if (size != mm_es_state_size(es))
    return MM_FAIL(MM_ERR_INPUT, "state of %s: %zu bytes: expected %zu", name, size,
                   mm_es_state_size(es));
  return MM_OK;
}

// The numbers are ones that a strategy can come to.
static mm_status check_numbers(const mm_es *es) {
  const char *name = mm_es_name(es->config.kind);
  if (!(es->sigma > 0 && es->sigma <= DBL_MAX))
    return MM_FAIL(MM_ERR_INPUT, "state of %s: sigma = %g: expected a finite number > 0", name,
                   es->sigma);
  for (size_t v = 0; v < es->method->n_vectors; v++)
    for (size_t j = 0; j < mm_es_vector_length(es, v); j++) {
      double x = es->now[v][j], min = es->method->vector[v].min;
      if (x >= min && x <= DBL_MAX) continue;
      return MM_FAIL(MM_ERR_INPUT,
                     "state of %s: coordinate %zu of the %s is %g: expected a finite number%s",
                     name, j, es->method->vector[v].name, x,
                     min == -DBL_MAX ? ""
                     : min == 0      ? " >= 0"
                                     : " >= 1e-20");
    }
  return MM_OK;
}

static mm_status wrong_restarts(const mm_es *es, const char *what) {
  return MM_FAIL(MM_ERR_INPUT, "state of %s: %s of its restarts is none that it can come to",
                 mm_es_name(es->config.kind), what);
}

// n numbers, none NaN, and zeros up to `room`.
static bool get_doubles(const unsigned char **from, double *x, size_t n, size_t room) {
  bool fits = true;
  for (size_t i = 0; i < room; i++) {
    uint64_t bits = get_u64(from);
    if (i < n) x[i] = mm_from_bits_d(bits);
    fits = fits && (i < n ? x[i] == x[i] : bits == 0);
  }
  return fits;
}

static mm_status read_restart(mm_es *es, const unsigned char *from) {
  mm_es_restart *r = &es->restart;
  const size_t n = es->config.dimension, room = mm_es_history(&es->config);
  uint64_t done = get_u64(&from);
  r->began = get_u64(&from);
  r->evaluations = get_u64(&from);
  uint64_t due = get_u64(&from), n_history = get_u64(&from);
  if (done > es->config.restarts || due > (done < es->config.restarts))
    return wrong_restarts(es, "the number");
  if (r->began > es->generation || n_history > room) return wrong_restarts(es, "the time");
  r->due = due == 1;
  r->n_history = (size_t)n_history;
  if (!get_doubles(&from, r->start, n, n) || !get_doubles(&from, r->best, r->n_history, room) ||
      !get_doubles(&from, r->median, r->n_history, room))
    return wrong_restarts(es, "a number");
  for (size_t j = 0; j < n; j++)
    if (!(r->start[j] >= -DBL_MAX && r->start[j] <= DBL_MAX))
      return wrong_restarts(es, "the start");
  mm_es_repopulate(es, done);
  return MM_OK;
}

static mm_status read_state(mm_es *es, const unsigned char *state, size_t size) {
  const unsigned char *from = state + MARK_SIZE + 8;
  MM_TRY(check_fit(es, &from, size));
  es->generation = get_u64(&from);
  es->nonfinite = get_u64(&from);
  es->sigma = get_double(&from);
  if (es->config.restarts > 0) MM_TRY(read_restart(es, from + vectors_size(es)));
  for (size_t v = 0; v < es->method->n_vectors; v++)
    for (size_t j = 0; j < mm_es_vector_length(es, v); j++)
      es->now[v][j] = get_double(&from);
  return check_numbers(es);
}

mm_status mm_es_load(const mm_es_config *config, const void *state, size_t size, mm_es **out) {
  *out = NULL;
  MM_TRY(check_intact(state, size));
  mm_es *es;
  MM_TRY(mm_es_allocate(config, &es));
  mm_status status = read_state(es, state, size);
  if (status != MM_OK)
    mm_es_destroy(es);
  else
    *out = es;
  return status;
}
