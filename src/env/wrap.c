// SPDX-License-Identifier: Apache-2.0
// Scaled observations and rewards, and the log of episodes.

#include "env/wrap.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "env/vec_internal.h"

struct mm_wrap {
  mm_wrap_config config;
  mm_vec *vec;
  size_t n, k, n_block;
  mm_arena arena;
  double *kept; // [n_kept] room for both counts, then mean and variance of either
  size_t n_kept;
  mm_running_stats obs, ret; // their mean and var lie in `kept`
  mm_wrap_lane *lanes;       // [n]
  double *obs_sum;           // [n_block][2][k]
  double *ret_sum;           // [n_block][2]
  double *scale;             // [k]
  double ret_scale;
};

// ---------------------------------------------------------------------------------------------

static void name_kept(mm_wrap *w) {
  w->obs.k = w->k;
  w->obs.mean = w->kept + 2;
  w->obs.var = w->obs.mean + w->k;
  w->ret.k = 1;
  w->ret.mean = w->obs.var + w->k;
  w->ret.var = w->ret.mean + 1;
}

static void find_scales(mm_wrap *w) {
  for (size_t j = 0; j < w->k; j++)
    w->scale[j] = mm_running_stats_scale(&w->obs, j);
  w->ret_scale = mm_running_stats_scale(&w->ret, 0);
}

static mm_status take_memory(mm_wrap *w) {
  const size_t sizes[] = { w->n_kept * sizeof(double), w->n * sizeof(mm_wrap_lane),
                           w->n_block * 2 * w->k * sizeof(double), w->n_block * 2 * sizeof(double),
                           w->k * sizeof(double) };
  size_t all = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    all += mm_arena_size_of(sizes[i]);
  MM_TRY(mm_arena_create(all, &w->arena));
  w->kept = mm_arena_take(&w->arena, sizes[0]);
  w->lanes = mm_arena_take(&w->arena, sizes[1]);
  w->obs_sum = mm_arena_take(&w->arena, sizes[2]);
  w->ret_sum = mm_arena_take(&w->arena, sizes[3]);
  w->scale = mm_arena_take(&w->arena, sizes[4]);
  return MM_OK;
}

mm_status mm_wrap_create(mm_vec *vec, const mm_wrap_config *config, mm_wrap **out) {
  *out = NULL;
  if (vec->config.obs != MM_OBS_FLOATS)
    return MM_FAIL(MM_ERR_INPUT, "wrapped environments: form of observations: expected FLOATS");
  if (vec->ended)
    return MM_FAIL(MM_ERR_INPUT, "wrapped environments: autoreset: expected SAME_STEP");
  if (!(config->gamma >= 0 && config->gamma <= 1))
    return MM_FAIL(MM_ERR_INPUT, "wrapped environments: gamma = %g: expected 0 .. 1",
                   config->gamma);
  mm_wrap *w = mm_alloc(sizeof *w);
  if (!w) return MM_FAIL(MM_ERR_MEMORY, "no memory for wrapped environments");
  *w = (mm_wrap){ .config = *config, .vec = vec, .n = vec->info.n };
  w->k = (size_t)vec->info.n_input;
  w->n_block = (w->n + MM_RUNNING_BLOCK - 1) / MM_RUNNING_BLOCK;
  w->n_kept = 2 + 2 * w->k + 2;
  mm_status status = take_memory(w);
  if (status != MM_OK) {
    mm_free(w);
    return status;
  }
  name_kept(w);
  mm_running_stats_start(&w->obs);
  mm_running_stats_start(&w->ret);
  find_scales(w);
  *out = w;
  return MM_OK;
}

void mm_wrap_destroy(mm_wrap *wrap) {
  if (!wrap) return;
  mm_arena_destroy(&wrap->arena);
  mm_free(wrap);
}

// ---------------------------------------------------------------------------------------------
// A step

static mm_status check_part(const mm_wrap *w, size_t from, size_t to) {
  bool whole = from % MM_RUNNING_BLOCK == 0 && (to % MM_RUNNING_BLOCK == 0 || to == w->n);
  if (whole && from <= to && to <= w->n) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "part %zu .. %zu of %zu wrapped environments: expected blocks of %d",
                 from, to, w->n, MM_RUNNING_BLOCK);
}

// An end counts before the reward: the return begins anew with the reward of the last step.
static void note(mm_wrap *w, size_t i, float reward, uint8_t end) {
  mm_wrap_lane *l = &w->lanes[i];
  l->discounted = (end ? 0 : w->config.gamma * l->discounted) + (double)reward;
  l->now += (double)reward;
  l->length++;
  if (!end) return;
  l->last = l->now;
  l->last_length = l->length;
  l->episodes++;
  l->now = 0;
  l->length = 0;
}

static void sum_returns(const mm_wrap *w, size_t from, size_t to, double *sum) {
  sum[0] = sum[1] = 0;
  for (size_t i = from; i < to; i++) {
    double d = w->lanes[i].discounted - w->ret.mean[0];
    sum[0] += d;
    sum[1] += d * d;
  }
}

static void sum_block(mm_wrap *w, size_t block, const float *obs) {
  size_t from = block * MM_RUNNING_BLOCK, to = from + MM_RUNNING_BLOCK;
  if (to > w->n) to = w->n;
  mm_running_stats_sum(&w->obs, obs + from * w->k, to - from, w->obs_sum + 2 * w->k * block);
  sum_returns(w, from, to, w->ret_sum + 2 * block);
}

mm_status mm_wrap_step_part(mm_wrap *wrap, size_t from, size_t to, const void *action,
                            const mm_vec_out *out) {
  MM_TRY(check_part(wrap, from, to));
  MM_TRY(mm_vec_step_part(wrap->vec, from, to, action, out));
  for (size_t i = from; i < to; i++)
    note(wrap, i, out->reward[i], out->end[i]);
  for (size_t i = from; i < to; i += MM_RUNNING_BLOCK)
    sum_block(wrap, i / MM_RUNNING_BLOCK, out->obs);
  return MM_OK;
}

void mm_wrap_merge(mm_wrap *wrap) {
  mm_running_stats_merge(&wrap->obs, wrap->obs_sum, wrap->n_block, wrap->n);
  mm_running_stats_merge(&wrap->ret, wrap->ret_sum, wrap->n_block, wrap->n);
  find_scales(wrap);
}

static void scale_obs(const mm_wrap *w, size_t from, size_t to, float *obs) {
  if (!w->config.raw_obs) mm_running_stats_apply(&w->obs, w->scale, obs + from * w->k, to - from);
}

mm_status mm_wrap_scale_part(const mm_wrap *wrap, size_t from, size_t to, const mm_vec_out *out) {
  MM_TRY(check_part(wrap, from, to));
  scale_obs(wrap, from, to, out->obs);
  for (size_t i = from; i < to; i++) {
    if (out->final_obs && out->end[i]) scale_obs(wrap, i, i + 1, out->final_obs);
    if (!wrap->config.raw_reward)
      out->reward[i] = (float)((double)out->reward[i] * wrap->ret_scale);
  }
  return MM_OK;
}

mm_status mm_wrap_step(mm_wrap *wrap, const void *action, const mm_vec_out *out) {
  MM_TRY(mm_wrap_step_part(wrap, 0, wrap->n, action, out));
  mm_wrap_merge(wrap);
  return mm_wrap_scale_part(wrap, 0, wrap->n, out);
}

// The first observations are a batch of their own; there is no return yet.
mm_status mm_wrap_reset(mm_wrap *wrap, const mm_vec_out *out) {
  MM_TRY(mm_vec_reset(wrap->vec, out));
  memset(wrap->lanes, 0, wrap->n * sizeof *wrap->lanes);
  mm_running_stats_start(&wrap->obs);
  mm_running_stats_start(&wrap->ret);
  for (size_t block = 0; block < wrap->n_block; block++)
    sum_block(wrap, block, out->obs);
  mm_running_stats_merge(&wrap->obs, wrap->obs_sum, wrap->n_block, wrap->n);
  find_scales(wrap);
  scale_obs(wrap, 0, wrap->n, out->obs);
  return MM_OK;
}

void mm_wrap_observe(const mm_wrap *wrap, float *obs) {
  (void)mm_vec_observe(wrap->vec, obs); // cannot fail: it has been reset or loaded
  scale_obs(wrap, 0, wrap->n, obs);
}

// ---------------------------------------------------------------------------------------------

void mm_wrap_read_log(const mm_wrap *wrap, mm_wrap_log *out) {
  double sum = 0, length = 0;
  *out = (mm_wrap_log){ 0 };
  for (size_t i = 0; i < wrap->n; i++) {
    const mm_wrap_lane *l = &wrap->lanes[i];
    out->episodes += l->episodes;
    if (l->episodes == 0) continue;
    out->finished++;
    sum += l->last;
    length += l->last_length;
  }
  out->mean_return = out->finished > 0 ? sum / (double)out->finished : NAN;
  out->mean_length = out->finished > 0 ? length / (double)out->finished : NAN;
}

const mm_running_stats *mm_wrap_observations(const mm_wrap *wrap) {
  return &wrap->obs;
}

// ---------------------------------------------------------------------------------------------
// State: the statistics, then the lanes

size_t mm_wrap_state_size(const mm_wrap *wrap) {
  return wrap->n_kept * sizeof(double) + wrap->n * sizeof(mm_wrap_lane);
}

void mm_wrap_save(const mm_wrap *wrap, void *state) {
  size_t size = wrap->n_kept * sizeof(double);
  const double counts[2] = { wrap->obs.count, wrap->ret.count };
  memcpy(state, wrap->kept, size);
  memcpy(state, counts, sizeof counts);
  memcpy((char *)state + size, wrap->lanes, wrap->n * sizeof(mm_wrap_lane));
}

static bool validate_state(const mm_wrap *w) {
  bool good = mm_running_stats_are_valid(&w->obs) && mm_running_stats_are_valid(&w->ret);
  for (size_t i = 0; i < w->n; i++) {
    const mm_wrap_lane *l = &w->lanes[i];
    good &= fabs(l->discounted) < INFINITY && fabs(l->now) < INFINITY && fabs(l->last) < INFINITY;
  }
  return good;
}

mm_status mm_wrap_load(mm_wrap *wrap, const void *state, size_t size) {
  size_t expected = mm_wrap_state_size(wrap), head = wrap->n_kept * sizeof(double);
  if (size != expected)
    return MM_FAIL(MM_ERR_INPUT, "state of %zu wrapped environments: %zu bytes: expected %zu",
                   wrap->n, size, expected);
  memcpy(wrap->kept, state, head);
  memcpy(wrap->lanes, (const char *)state + head, wrap->n * sizeof(mm_wrap_lane));
  wrap->obs.count = wrap->kept[0];
  wrap->ret.count = wrap->kept[1];
  if (!validate_state(wrap))
    return MM_FAIL(MM_ERR_INPUT,
                   "state of %zu wrapped environments: expected one that they can come to",
                   wrap->n);
  find_scales(wrap);
  return MM_OK;
}
