// A strategy's state as bytes, all numbers little-endian:
//
//   16  mark "mirrormap/es", filled up with zeros
//    8  version of this format
//   32  name of the strategy, filled up with zeros
//   40  dimension, population, generation, number of fitnesses that were not finite, sigma
//       vectors of the state, dimension numbers each, or dimension^2 for a matrix
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

size_t mm_es_state_size(const mm_es *es) {
  size_t numbers = 0;
  for (size_t v = 0; v < es->method->n_vectors; v++)
    numbers += mm_es_vector_length(es, v);
  return HEAD_SIZE + numbers * 8 + CHECKSUM_SIZE;
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

static mm_status read_state(mm_es *es, const unsigned char *state, size_t size) {
  const unsigned char *from = state + MARK_SIZE + 8;
  MM_TRY(check_fit(es, &from, size));
  es->generation = get_u64(&from);
  es->nonfinite = get_u64(&from);
  es->sigma = get_double(&from);
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
