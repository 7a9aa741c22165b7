// SPDX-License-Identifier: Apache-2.0
// States as bytes: what a law keeps, and around it, for the public interface, marks of format and
// configuration, and what vec_autoreset.c knows of the environments.

#include <string.h>

#include "env/vec_internal.h"

// ---------------------------------------------------------------------------------------------
// What checkpoints and devices keep

size_t mm_vec_kept_size(const mm_vec *vec) {
  return vec->info.n * vec->law->kept_size(vec);
}

void mm_vec_keep(const mm_vec *vec, void *state) {
  if (vec->law->save)
    vec->law->save(vec, state);
  else
    memcpy(state, vec->state, mm_vec_kept_size(vec));
}

mm_status mm_vec_take_up(mm_vec *vec, const void *state, size_t size) {
  size_t expected = mm_vec_kept_size(vec), all = vec->info.n * vec->law->state_size(vec);
  vec->started = false;
  if (size != expected)
    return MM_FAIL(MM_ERR_INPUT, "state of %zu environments: %zu bytes: expected %zu", vec->info.n,
                   size, expected);
  memset(vec->state, 0, all);
  if (vec->law->load)
    vec->law->load(vec, state);
  else
    memcpy(vec->state, state, size);
  if (!vec->law->validate_state(vec))
    return MM_FAIL(MM_ERR_INPUT, "state of %zu environments: expected one that they can come to",
                   vec->info.n);
  vec->started = true;
  return MM_OK;
}

mm_status mm_vec_observe(const mm_vec *vec, void *obs) {
  if (!vec->started)
    return MM_FAIL(MM_ERR_INPUT, "observations: the environments were never reset");
  mm_vec_show(vec, 0, vec->info.n, obs);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Marks: numbers that two vecs must agree on, in the order in which they are compared

#define MARKS(X)                                                                                   \
  X(format, FORMAT)                                                                                \
  X(environment, environment_of(vec))                                                              \
  X(rules, c->rules)                                                                               \
  X(flavour, c->flavour)                                                                           \
  X(physics, vec->physics ? 1 + vec->physics->config.engine : 0)                                   \
  X(gymnasium_walls, c->gymnasium_walls)                                                           \
  X(fresh_reset, c->fresh_reset)                                                                   \
  X(autoreset, c->autoreset)                                                                       \
  X(episodes, c->episodes)                                                                         \
  X(n, c->n)                                                                                       \
  X(seed, c->seed)                                                                                 \
  X(repeat, c->repeat)

// "mmvec" and the version. Version 1 named environments by their places in a list.
#define FORMAT_PLACES 0x6d6d766563000001u
#define FORMAT 0x6d6d766563000002u

enum {
#define MARK_NUMBER(name, value) MARK_##name,
  MARKS(MARK_NUMBER) N_MARK,
  OWN = N_MARK, // the word behind them: do environments have seeds of their own?
  N_WORD
};

static uint64_t hash(uint64_t h, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
  return h;
}

// The first ID of the environment: others may differ in rules or flavour, which have marks of their
// own.
static const char *name_of(const mm_vec *vec) {
  const mm_env_kind *kind;
  for (size_t i = 0; (kind = mm_env_kind_at(i)) != NULL; i++)
    if (kind->law == vec->law && kind->which == vec->which) return kind->id;
  return vec->kind->id;
}

// A Grid-World is its task, others are their names.
static uint64_t environment_of(const mm_vec *vec) {
  const mm_grid *g = vec->task;
  if (!g) return hash(0xcbf29ce484222325u, name_of(vec), strlen(name_of(vec)));
  const size_t numbers = (size_t)g->n_object * sizeof(double);
  const int32_t sizes[] = { g->side, g->n_object, g->start };
  uint64_t h = hash(0xcbf29ce484222325u, sizes, sizeof sizes);
  h = hash(h, g->object, (size_t)g->n_object * sizeof *g->object);
  h = hash(h, g->reward, numbers);
  h = hash(h, g->terminate, numbers);
  h = hash(h, g->respawn, numbers);
  return hash(h, g->wall, (size_t)g->cells);
}

// As version 1 had it; lists grew at their ends since.
static uint64_t place_of(const mm_vec *vec) {
  const mm_vec_law *const laws[] = { &mm_vec_classic, &mm_vec_minatar, &mm_vec_body };
  for (size_t k = 0; k < sizeof laws / sizeof *laws; k++)
    if (vec->law == laws[k]) return 256 * (k + 1) + (uint64_t)vec->which;
  return environment_of(vec);
}

static void fill_marks(const mm_vec *vec, uint64_t *word) {
  const mm_vec_config *c = &vec->config;
#define MARK_VALUE(name, value) word[MARK_##name] = (uint64_t)(value);
  MARKS(MARK_VALUE)
  word[OWN] = vec->own != NULL;
}

static mm_status compare_marks(const uint64_t *word, const uint64_t *expected) {
#define MARK_NAME(name, value) #name,
  static const char *const name[] = { MARKS(MARK_NAME) };
  for (int k = 0; k < N_MARK; k++) {
    if (word[k] == expected[k]) continue;
    return MM_FAIL(MM_ERR_INPUT, "state of environments: %s: %#llx: expected %#llx", name[k],
                   (unsigned long long)word[k], (unsigned long long)expected[k]);
  }
  if (word[OWN] > 1)
    return MM_FAIL(MM_ERR_INPUT, "state of environments: own seeds: expected 0 or 1");
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

// The parts behind the marks and what the law keeps; those that there are not have no size.
enum { N_PART = 4 };
typedef struct part {
  void *at;
  size_t size;
} part;

static void find_parts(const mm_vec *vec, bool own, part *out) {
  const size_t n = vec->info.n;
  out[0] = (part){ vec->own, own ? n * sizeof *vec->own : 0 };
  out[1] = (part){ vec->tally, vec->tally ? n * sizeof *vec->tally : 0 };
  out[2] = (part){ vec->episodes, vec->tally ? n * sizeof *vec->episodes : 0 };
  out[3] = (part){ vec->ended, vec->ended ? n : 0 };
}

static size_t size_of(const mm_vec *vec, bool own) {
  size_t size = N_WORD * sizeof(uint64_t) + mm_vec_kept_size(vec);
  part parts[N_PART];
  find_parts(vec, own, parts);
  for (int k = 0; k < N_PART; k++)
    size += parts[k].size;
  return size;
}

size_t mm_vec_state_size(const mm_vec *vec) {
  return size_of(vec, vec->own != NULL);
}

void mm_vec_save(const mm_vec *vec, void *state) {
  uint64_t word[N_WORD];
  char *to = state;
  part parts[N_PART];
  fill_marks(vec, word);
  memcpy(to, word, sizeof word);
  mm_vec_keep(vec, to += sizeof word);
  to += mm_vec_kept_size(vec);
  find_parts(vec, vec->own != NULL, parts);
  for (int k = 0; k < N_PART; to += parts[k++].size)
    if (parts[k].size > 0) memcpy(to, parts[k].at, parts[k].size);
}

static mm_status check_bytes(const mm_vec *vec, const void *state, size_t size, bool *own) {
  uint64_t word[N_WORD], expected[N_WORD];
  if (size < sizeof word)
    return MM_FAIL(MM_ERR_INPUT, "state of environments: %zu bytes: expected %zu or more", size,
                   sizeof word);
  memcpy(word, state, sizeof word);
  fill_marks(vec, expected);
  if (word[MARK_format] == FORMAT_PLACES) {
    expected[MARK_format] = FORMAT_PLACES;
    expected[MARK_environment] = place_of(vec);
  }
  MM_TRY(compare_marks(word, expected));
  *own = word[OWN] != 0;
  if (size == size_of(vec, *own)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "state of environments: %zu bytes: expected %zu", size,
                 size_of(vec, *own));
}

static mm_status check_ended(mm_vec *vec) {
  uint8_t any = 0;
  for (size_t i = 0; vec->ended && i < vec->info.n; i++)
    any |= vec->ended[i];
  if (any <= 1) return MM_OK;
  vec->started = false;
  return MM_FAIL(MM_ERR_INPUT, "state of environments: expected one that they can come to");
}

mm_status mm_vec_load(mm_vec *vec, const void *state, size_t size) {
  const char *from = (const char *)state + N_WORD * sizeof(uint64_t);
  part parts[N_PART];
  bool own;
  vec->started = false;
  MM_TRY(check_bytes(vec, state, size, &own));
  mm_free(vec->own);
  vec->own = NULL;
  if (own) MM_TRY(mm_vec_own_streams(vec));
  find_parts(vec, own, parts);
  MM_TRY(mm_vec_take_up(vec, from, mm_vec_kept_size(vec)));
  from += mm_vec_kept_size(vec);
  for (int k = 0; k < N_PART; from += parts[k++].size)
    if (parts[k].size > 0) memcpy(parts[k].at, from, parts[k].size);
  return check_ended(vec);
}
