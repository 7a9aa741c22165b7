// SPDX-License-Identifier: Apache-2.0
// What all strategies have in common: names, the check of a config, one block of memory, draws, and
// a `tell` that changes everything or nothing.

#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/rng.h"
#include "base/spelling.h"
#include "base/status.h"
#include "evolve/es_internal.h"
#include "evolve/es_large.h"

enum { CHUNK = 1 << 18 }; // numbers drawn between two looks at whether to go on

// ---------------------------------------------------------------------------------------------
// Names

static const char *const names[MM_ES_KINDS] = {
#define NAME(name, text, file) text,
  MM_ES_LIST(NAME)
#undef NAME
};

const char *mm_es_name(mm_es_kind kind) {
  return (unsigned)kind < MM_ES_KINDS ? names[kind] : "unknown";
}

mm_status mm_es_find(const char *name, mm_es_kind *out) {
  for (unsigned kind = 0; kind < MM_ES_KINDS; kind++) {
    if (strcmp(name, names[kind]) != 0) continue;
    *out = (mm_es_kind)kind;
    return MM_OK;
  }
  const char *near = mm_nearest(name, names, MM_ES_KINDS);
  if (near)
    return MM_FAIL(MM_ERR_INPUT, "evolution strategy '%s': no such name (did you mean '%s'?)", name,
                   near);
#define LISTED(name, text, file) " " text
  return MM_FAIL(MM_ERR_INPUT,
                 "evolution strategy '%s': no such name: expected one of" MM_ES_LIST(LISTED), name);
#undef LISTED
}

#define EXTERN(name, text, file) extern const mm_es_method mm_##file##_method;
MM_ES_LIST(EXTERN)
#undef EXTERN

static const mm_es_method *const methods[MM_ES_KINDS] = {
#define METHOD(name, text, file) &mm_##file##_method,
  MM_ES_LIST(METHOD)
#undef METHOD
};

bool mm_es_is_paired(mm_es_kind kind) {
  return methods[kind]->paired;
}

// ---------------------------------------------------------------------------------------------
// Settings

// A member is a lane of a random stream.
enum { DIMENSION_MAX = 10000000, POPULATION_MIN = 4, POPULATION_MAX = 1 << 24 };

void mm_es_config_init(mm_es_config *out, size_t size, mm_es_kind kind) {
  const bool known = (unsigned)kind < MM_ES_KINDS; // others are refused when they are created
  const mm_es_config ours = known ? methods[kind]->defaults(kind) : (mm_es_config){ .kind = kind };
  mm_config_give(&ours, sizeof ours, out, size);
}

// Which defaults a program's struct has behind its end depends on its kind.
static mm_status take_config(const mm_es_config *from, mm_es_config *to) {
  *to = (mm_es_config){ .kind = MM_ES_KINDS };
  MM_TRY(mm_config_take("mm_es_config", from, to, sizeof *to));
  if ((unsigned)to->kind >= MM_ES_KINDS)
    return MM_FAIL(MM_ERR_INPUT, "evolution strategy: kind = %d: no such kind", (int)to->kind);
  *to = mm_es_config_default(to->kind);
  return mm_config_take("mm_es_config", from, to, sizeof *to);
}

bool mm_es_is_positive(double x) {
  return x > 0 && x < (double)INFINITY;
}

static mm_status check_config(const mm_es_config *c) {
  const char *name = names[c->kind];
  if (c->dimension < 1 || c->dimension > DIMENSION_MAX)
    return MM_FAIL(MM_ERR_INPUT, "%s: dimension = %zu: expected 1 to %d", name, c->dimension,
                   DIMENSION_MAX);
  if (c->population < POPULATION_MIN || c->population > POPULATION_MAX)
    return MM_FAIL(MM_ERR_INPUT, "%s: population = %zu: expected %d to %d", name, c->population,
                   POPULATION_MIN, POPULATION_MAX);
  // room for all slices together; within the limits above only a small address space is short of it
  if (c->population > SIZE_MAX / 64 / sizeof(double) / c->dimension)
    return MM_FAIL(MM_ERR_INPUT, "%s: population = %zu times dimension = %zu: too large", name,
                   c->population, c->dimension);
  if (c->restarts > (methods[c->kind]->covariant ? MM_ES_RESTARTS_MAX : 0))
    return MM_FAIL(MM_ERR_INPUT, "%s: restarts = %zu: expected %s", name, c->restarts,
                   methods[c->kind]->covariant ? "at most 20"
                                               : "0 (cma-es and sep-cma-es restart)");
  if (c->population > (size_t)POPULATION_MAX >> c->restarts)
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: population = %zu, doubled by %zu restarts: expected at most %d", name,
                   c->population, c->restarts, POPULATION_MAX);
  if (!mm_es_is_positive(c->sigma))
    return MM_FAIL(MM_ERR_INPUT, "%s: sigma = %.17g: expected a finite number > 0", name, c->sigma);
  return methods[c->kind]->check ? methods[c->kind]->check(c, name) : MM_OK;
}

// Of the largest generation.
static size_t draws_max(const mm_es_config *c) {
  return mm_es_is_paired(c->kind) ? c->population / 2 : mm_es_population_max(c);
}

size_t mm_es_draws(const mm_es *es) {
  return es->method->paired ? es->population / 2 : es->population;
}

// ---------------------------------------------------------------------------------------------
// Creation

static size_t length(const mm_es_method *method, size_t v, size_t dimension) {
  switch (method->vector[v].shape) {
  case MM_ES_MATRIX:
    return dimension * dimension;
  case MM_ES_FOUR:
    return 4;
  default:
    return dimension;
  }
}

size_t mm_es_vector_length(const mm_es *es, size_t v) {
  return length(es->method, v, es->config.dimension);
}

static size_t block_size(const mm_es_config *c, const mm_es_method *method) {
  const size_t population = mm_es_population_max(c), history = mm_es_history(c);
  size_t vectors = (c->restarts > 0 ? 4 : 3) * mm_arena_size_of(c->dimension * sizeof(double));
  for (size_t v = 0; v < method->n_vectors; v++)
    vectors += 2 * mm_arena_size_of(length(method, v, c->dimension) * sizeof(double));
  return mm_arena_size_of(sizeof(mm_es)) + mm_arena_size_of(method->constants_size) + vectors +
         method->n_squares * mm_arena_size_of(c->dimension * c->dimension * sizeof(double)) +
         mm_arena_size_of(draws_max(c) * c->dimension * sizeof(double)) +
         2 * mm_arena_size_of(population * sizeof(double)) +
         mm_arena_size_of(population * sizeof(mm_ranked)) +
         2 * mm_arena_size_of(history * sizeof(double)) +
         mm_arena_size_of(history * sizeof(mm_ranked));
}

double mm_es_bytes(const mm_es_config *c) {
  double most = ldexp((double)c->population, (int)c->restarts);
  double rows =
      (mm_es_is_paired(c->kind) ? most / 2 : most) + 2 * (double)methods[c->kind]->n_vectors + 4;
  return 8 * rows * (double)c->dimension +
         (double)(2 * sizeof(double) + sizeof(mm_ranked)) * (most + MM_ES_HISTORY_MAX);
}

mm_status mm_es_allocate(const mm_es_config *given, mm_es **out) {
  mm_es_config own;
  const mm_es_config *config = &own;
  *out = NULL;
  MM_TRY(take_config(given, &own));
  MM_TRY(check_config(config));
  own.size = given->size; // a program that copies what mm_es_get_config shows knows no more
  const mm_es_method *method = methods[config->kind];
  mm_arena arena;
  MM_TRY(mm_arena_create(block_size(config, method), &arena));
  mm_es *es = mm_arena_take(&arena, sizeof *es);
  size_t vector = config->dimension * sizeof(double);
  for (size_t v = 0; v < method->n_vectors; v++) {
    es->now[v] = mm_arena_take(&arena, length(method, v, config->dimension) * sizeof(double));
    es->next[v] = mm_arena_take(&arena, length(method, v, config->dimension) * sizeof(double));
  }
  for (size_t i = 0; i < method->n_squares; i++)
    es->square[i] = mm_arena_take(&arena, config->dimension * vector);
  const size_t population = mm_es_population_max(config), history = mm_es_history(config);
  es->z = mm_arena_take(&arena, draws_max(config) * vector);
  es->deviation = mm_arena_take(&arena, vector);
  es->sum = mm_arena_take(&arena, vector);
  es->sum_squares = mm_arena_take(&arena, vector);
  es->by_rank = mm_arena_take(&arena, population * sizeof(double));
  es->weight = mm_arena_take(&arena, population * sizeof(double));
  es->ranked = mm_arena_take(&arena, population * sizeof *es->ranked);
  if (config->restarts > 0) {
    es->restart.start = mm_arena_take(&arena, vector);
    es->restart.best = mm_arena_take(&arena, history * sizeof(double));
    es->restart.median = mm_arena_take(&arena, history * sizeof(double));
    es->restart.sorted = mm_arena_take(&arena, history * sizeof *es->restart.sorted);
  }
  es->constants = mm_arena_take(&arena, method->constants_size);
  es->arena = arena;
  es->config = *config;
  es->population = config->population;
  es->method = method;
  es->sigma = config->sigma;
  method->prepare(es);
  *out = es;
  return MM_OK;
}

mm_status mm_es_create(const mm_es_config *given, const double *mean, mm_es **out) {
  MM_TRY(mm_es_allocate(given, out));
  const mm_es_config *config = &(*out)->config; // all of it, whatever the program knows
  if (config->restarts > 0) memcpy((*out)->restart.start, mean, config->dimension * sizeof *mean);
  for (size_t j = 0; j < config->dimension; j++) {
    (*out)->now[MM_ES_MEAN][j] = mean[j];
    if (isfinite(mean[j])) continue;
    const char *name = names[config->kind];
    mm_es_destroy(*out);
    *out = NULL;
    return MM_FAIL(MM_ERR_INPUT, "%s: entry %zu of the mean is %g: expected a finite number", name,
                   j, mean[j]);
  }
  return MM_OK;
}

void mm_es_destroy(mm_es *es) {
  if (!es) return;
  mm_arena arena = es->arena; // the block holds *es
  mm_arena_destroy(&arena);
}

// ---------------------------------------------------------------------------------------------
// Ask

// z[row] is lane `row` of the generation's stream, one normal number per coordinate.
static void draw(mm_es *es, size_t first, size_t end) {
  size_t n = es->config.dimension;
  for (size_t row = first; row < end; row++) {
    mm_stream stream =
        mm_stream_make(es->config.seed, (uint32_t)es->generation, MM_RNG_EVOLVE_ASK, (uint32_t)row);
    double *z = es->z + row * n;
    for (size_t j = 0; j < n; j += 2) {
      mm_block block = mm_stream_block(stream, j / 2);
      z[j] = mm_normal_d(mm_block_pair(block, 0));
      if (j + 1 < n) z[j + 1] = mm_normal_d(mm_block_pair(block, 1));
    }
  }
}

// The members of draws first .. end - 1.
static mm_status place(mm_es *es, size_t first, size_t end, double *member) {
  size_t n = es->config.dimension, row = es->population / mm_es_draws(es) * n;
  es->method->place(es, first, end, member);
  for (size_t i = first * row; i < end * row; i++)
    if (!isfinite(member[i]))
      return MM_FAIL(MM_ERR_NUMERIC, "%s: coordinate %zu of member %zu is not finite (sigma %g)",
                     names[es->config.kind], i % n, i / n, es->sigma);
  return MM_OK;
}

mm_status mm_es_ask_watched(mm_es *es, double *member, bool (*goes_on)(void *user), void *user) {
  mm_es_begin(es);
  const size_t draws = mm_es_draws(es), step = 1 + CHUNK / es->config.dimension;
  es->asked = false;
  if (es->generation > UINT32_MAX)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "%s: no random numbers are left after 2^32 generations",
                   names[es->config.kind]);
  for (size_t first = 0; first < draws; first += step) {
    size_t end = draws - first < step ? draws : first + step;
    if (goes_on && !goes_on(user)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    draw(es, first, end);
    MM_TRY(place(es, first, end, member));
  }
  es->asked = true;
  return MM_OK;
}

mm_status mm_es_ask(mm_es *es, double *member) {
  return mm_es_ask_watched(es, member, NULL, NULL);
}

mm_status mm_es_ask_with(mm_es *es, const double *z, double *member) {
  mm_es_begin(es);
  es->asked = false;
  size_t n = mm_es_draws(es) * es->config.dimension;
  for (size_t i = 0; i < n; i++)
    if (!isfinite(z[i]))
      return MM_FAIL(MM_ERR_INPUT, "%s: draw %zu is %g: expected a finite number",
                     names[es->config.kind], i, z[i]);
  memcpy(es->z, z, n * sizeof *z);
  MM_TRY(place(es, 0, mm_es_draws(es), member));
  es->asked = true;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Tell

static mm_status check_next(const mm_es *es, double sigma) {
  const char *name = names[es->config.kind];
  if (!mm_es_is_positive(sigma))
    return MM_FAIL(MM_ERR_NUMERIC, "%s: generation %llu: sigma would be %g", name,
                   (unsigned long long)es->generation, sigma);
  for (size_t v = 0; v < es->method->n_vectors; v++)
    for (size_t j = 0; j < mm_es_vector_length(es, v); j++)
      if (!isfinite(es->next[v][j]))
        return MM_FAIL(MM_ERR_NUMERIC, "%s: generation %llu: coordinate %zu of the %s would be %g",
                       name, (unsigned long long)es->generation, j, es->method->vector[v].name,
                       es->next[v][j]);
  return MM_OK;
}

mm_status mm_es_tell(mm_es *es, const double *fitness) {
  if (!es->asked)
    return MM_FAIL(MM_ERR_INPUT, "%s: generation %llu: told before members were asked for",
                   names[es->config.kind], (unsigned long long)es->generation);
  bool by_order = !es->method->weigh;
  size_t nonfinite = by_order ? mm_es_weigh_by_order(es, fitness) : es->method->weigh(es, fitness);
  if (!by_order || es->ranked[0].fitness != es->ranked[es->population - 1].fitness) {
    double sigma = es->method->step(es);
    MM_TRY(check_next(es, sigma));
    // copied, not swapped: what mm_es_mean returned stays valid
    for (size_t v = 0; v < es->method->n_vectors; v++)
      memcpy(es->now[v], es->next[v], mm_es_vector_length(es, v) * sizeof(double));
    es->sigma = sigma;
  }
  es->nonfinite += nonfinite;
  es->generation++;
  es->asked = false;
  if (es->config.restarts > 0) mm_es_watch(es);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The state

const mm_es_config *mm_es_get_config(const mm_es *es) {
  return &es->config;
}

const double *mm_es_mean(const mm_es *es) {
  return es->now[MM_ES_MEAN];
}

double mm_es_sigma(const mm_es *es) {
  return es->sigma;
}

uint64_t mm_es_generation(const mm_es *es) {
  return es->generation;
}

uint64_t mm_es_nonfinite(const mm_es *es) {
  return es->nonfinite;
}

double mm_es_axis_ratio(const mm_es *es) {
  return es->method->axis_ratio ? es->method->axis_ratio(es) : 1;
}
