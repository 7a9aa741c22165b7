// SPDX-License-Identifier: Apache-2.0
// Episodes whose start is held back, single environments reset, episodes counted.
//
// Laws know same-step autoreset alone. In the other two ways an episode that ends is followed at
// once by the next one in the state, too, so that states are always those between two steps; only
// the caller is shown the last observation, and the first of the next episode later.

#include <string.h>

#include "env/vec_internal.h"

static void copy_obs(const mm_vec *vec, size_t i, const void *from, void *to) {
  const size_t n = vec->info.n, row = vec->info.obs_size / n;
  if (vec->config.obs != MM_OBS_COLUMNS) {
    memcpy((char *)to + i * row, (const char *)from + i * row, row);
    return;
  }
  for (size_t k = 0; k < (size_t)vec->info.n_input; k++)
    ((float *)to)[k * n + i] = ((const float *)from)[k * n + i];
}

// ---------------------------------------------------------------------------------------------
// Step

static void count(mm_vec *vec, size_t i, float reward, uint8_t end) {
  mm_vec_tally *now = &vec->tally[i];
  mm_episode *last = &vec->episodes[i];
  now->ret += (double)reward;
  now->length++;
  if (!end) return;
  *last = (mm_episode){ now->ret, now->length, last->number + 1 };
  *now = (mm_vec_tally){ 0 };
}

// After a law's step; `out` has room for last observations.
static void finish(mm_vec *vec, size_t from, size_t to, const mm_vec_out *out) {
  for (size_t i = from; vec->tally && i < to; i++)
    count(vec, i, out->reward[i], out->end[i]);
  for (size_t i = from; vec->ended && i < to; i++) {
    vec->ended[i] = out->end[i] != 0;
    if (out->end[i]) copy_obs(vec, i, out->final_obs, out->obs);
  }
}

static void show_next(mm_vec *vec, size_t i, const mm_vec_out *out) {
  mm_vec_show(vec, i, i + 1, out->obs);
  out->reward[i] = 0;
  out->end[i] = 0;
  vec->ended[i] = 0;
}

// The first environment from `from` on that has ended, or `to`.
static size_t next_ended(const mm_vec *vec, size_t from, size_t to) {
  const uint8_t *hit = vec->ended ? memchr(vec->ended + from, 1, to - from) : NULL;
  return hit ? (size_t)(hit - vec->ended) : to;
}

mm_status mm_vec_step_held(mm_vec *vec, size_t from, size_t to, const void *action,
                           const mm_vec_out *out) {
  size_t ended = next_ended(vec, from, to);
  if (ended < to && vec->config.autoreset == MM_AUTORESET_DISABLED)
    return MM_FAIL(MM_ERR_INPUT, "step: the episode of environment %zu has ended: expected a reset",
                   ended);
  mm_vec_out inner = *out;
  if (!inner.final_obs) inner.final_obs = vec->last_obs;
  for (; from < to; from = ended + 1) {
    ended = next_ended(vec, from, to);
    if (from < ended) {
      vec->law->step(vec, from, ended, action, &inner);
      finish(vec, from, ended, &inner);
    }
    // those that ended just now lie before it
    if (ended < to) show_next(vec, ended, out);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Reset

mm_status mm_vec_own_streams(mm_vec *vec) {
  if (vec->own || vec->info.n == 0) return MM_OK;
  vec->own = mm_alloc(vec->info.n * sizeof *vec->own);
  if (!vec->own)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for seeds of %zu environments", vec->info.n);
  for (size_t i = 0; i < vec->info.n; i++)
    vec->own[i] = (mm_vec_stream){ .seed = vec->config.seed, .lane = (uint32_t)i };
  return MM_OK;
}

static void reset_one(mm_vec *vec, size_t i, const uint64_t *seed, void *obs) {
  if (seed) vec->own[i] = (mm_vec_stream){ .seed = seed[i] };
  if (vec->ended && vec->ended[i] && !seed)
    mm_vec_show(vec, i, i + 1, obs); // its next episode has begun
  else
    vec->law->begin(vec, i, seed != NULL, obs);
  if (vec->ended) vec->ended[i] = 0;
  if (vec->tally) vec->tally[i] = (mm_vec_tally){ 0 };
  if (vec->tally && seed) vec->episodes[i] = (mm_episode){ 0 };
}

mm_status mm_vec_reset_where(mm_vec *vec, const uint8_t *mask, const uint64_t *seed,
                             const mm_vec_out *out) {
  if (!vec->started && mask)
    return MM_FAIL(MM_ERR_INPUT, "reset of single environments: they were never reset");
  if (vec->info.n > 0 && !out->obs) return MM_FAIL(MM_ERR_INPUT, "reset: obs: expected a buffer");
  if (!vec->started && !seed) return mm_vec_reset(vec, out);
  if (!vec->started) MM_TRY(mm_vec_reset(vec, out));
  if (seed) MM_TRY(mm_vec_own_streams(vec));
  for (size_t i = 0; i < vec->info.n; i++)
    if (!mask || mask[i]) reset_one(vec, i, seed, out->obs);
  return MM_OK;
}
