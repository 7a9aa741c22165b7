// SPDX-License-Identifier: Apache-2.0
// Episodes of trained policies on a pool of threads. A unit of work is up to MM_PLAYER_ROWS
// episodes of one agent, stepped side by side until the last has ended; every episode has its own
// place in the results and its own random numbers, so it does not matter who plays it.

#define _POSIX_C_SOURCE 200809L

#include "study/policy/evaluate.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ampo.h"
#include "backend/pool.h"
#include "base/config.h"
#include "base/rng.h"
#include "base/status.h"
#include "mirrormap/stats.h"

enum { ROWS = MM_PLAYER_ROWS };

// ---------------------------------------------------------------------------------------------
// Does the policy fit?

mm_status mm_policy_fits(const mm_policy *policy, const mm_env *env, mm_env_rules rules) {
  mm_policy_info info;
  mm_policy_describe(policy, &info);
  mm_vec_config config = {
    .size = sizeof(mm_vec_config), .n = 0, .seed = info.seed, .rules = rules
  }; // what moves a body does not change its shape
  mm_vec_info found;
  mm_vec *vec;
  MM_TRY(mm_vec_create(env, &config, &vec));
  mm_vec_describe(vec, &found);
  mm_vec_destroy(vec);
  const char *id = mm_env_id(env);
  const bool real = found.n_action == 0;
  const int32_t actions = real ? found.n_real : found.n_action;
  const int32_t own = info.n_action + info.n_real;
  if (real != (info.n_real > 0))
    return MM_FAIL(
        MM_ERR_INPUT,
        real
            ? "environment '%.80s' has continuous actions; the policy, of '%.80s', has %d discrete"
            : "environment '%.80s' has discrete actions; the policy, of '%.80s', has %d continuous",
        id, info.env_id, (int)own);
  if (actions != own || found.n_input != info.n_input)
    return MM_FAIL(MM_ERR_INPUT,
                   "environment '%.80s' has %d inputs and %d actions; the policy, of '%.80s', has "
                   "%d and %d",
                   id, (int)found.n_input, (int)actions, info.env_id, (int)info.n_input, (int)own);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Work

typedef struct pool {
  const mm_evaluate_config *config;
  mm_evaluation *out;
  uint64_t agent_seed; // of agent 0
  uint32_t first_repeat;
  uint64_t max_steps;
  bool lists;
  mm_env_flavour flavour; // of bodies
  mm_env_physics physics;
  bool gymnasium_walls; // of MountainCarContinuous
  size_t n_unit, per_agent;
  struct desk *desk;  // [threads]
  atomic_size_t done; // episodes
  atomic_ullong env_steps, unstable;

  pthread_mutex_t lock; // for the rest: what went wrong in the first unit of those that failed
  size_t trouble;
  mm_status status;
  char error[MM_ERROR_SIZE];
} pool;

// What one thread needs; kept from unit to unit.
typedef struct desk {
  mm_player *player;
  size_t agent; // whose player it is
  size_t row_size;
  unsigned char *obs, *packed; // [ROWS] observations: of all, of those that go on
  float reward[ROWS];
  uint8_t end[ROWS];
  int32_t action[ROWS];
  float *real;           // [ROWS][reals] of a Gaussian policy, as the environment takes them
  uint32_t active[ROWS]; // rows of episodes that go on
  mm_block uniform[ROWS];
} desk;

static bool stopped(const pool *p) {
  return p->config->stop && __atomic_load_n(p->config->stop, __ATOMIC_RELAXED) != 0;
}

static mm_status take_agent(const pool *p, desk *d, size_t agent) {
  if (d->player && d->agent == agent) return MM_OK;
  mm_player_destroy(d->player);
  d->agent = agent;
  MM_TRY(mm_player_open(p->config->policy, agent, &d->player));
  const size_t reals = mm_player_reals(d->player);
  if (reals == 0 || d->real) return MM_OK;
  d->real = mm_alloc_array(ROWS * reals, sizeof *d->real);
  return d->real ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for actions");
}

static mm_status take_room(desk *d, size_t row_size) {
  if (d->obs && d->row_size == row_size) return MM_OK;
  mm_free(d->obs);
  mm_free(d->packed);
  d->row_size = row_size;
  d->obs = mm_alloc_array(ROWS, row_size);
  d->packed = mm_alloc_array(ROWS, row_size);
  if (d->obs && d->packed) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "no memory for observations");
}

static void clear_desk(desk *d) {
  mm_player_destroy(d->player);
  mm_free(d->obs);
  mm_free(d->packed);
  mm_free(d->real);
}

// Actions of a Gaussian policy in the episodes that go on; the others get 0, which changes nothing.
static void choose_real(const pool *p, desk *d, const mm_vec_config *vec, const mm_vec_info *info,
                        size_t n_active, uint64_t t) {
  const size_t reals = mm_player_reals(d->player);
  float noise[MM_NET_ACTION_MAX];
  memset(d->real, 0, ROWS * reals * sizeof *d->real);
  for (size_t k = 0; k < n_active; k++) {
    const uint32_t row = d->active[k];
    float *action = d->real + row * reals;
    mm_ampo_real_noise(mm_stream_make(vec->seed, vec->repeat, MM_RNG_ACTION, row), t, reals, noise);
    mm_player_real(d->player, k, p->config->greedy ? NULL : noise, action);
    mm_ampo_real_send(info, action, reals, action);
  }
}

// Actions of the episodes that go on; the others get the first one, which changes nothing.
static mm_status choose(const pool *p, desk *d, const mm_vec_config *vec, const mm_vec_info *info,
                        size_t n_active, uint64_t t) {
  mm_net_obs obs = { .floats = p->lists ? NULL : (const void *)d->packed,
                     .lists = p->lists ? (const void *)d->packed : NULL,
                     .entries = (size_t)info->entries };
  for (size_t k = 0; k < n_active; k++)
    memcpy(d->packed + k * d->row_size, d->obs + d->active[k] * d->row_size, d->row_size);
  MM_TRY(mm_player_look(d->player, &obs, n_active));
  if (d->real) {
    choose_real(p, d, vec, info, n_active, t);
    return MM_OK;
  }
  memset(d->action, 0, sizeof d->action);
  for (size_t k = 0; k < n_active; k++) {
    const uint32_t row = d->active[k];
    mm_stream stream = mm_stream_make(vec->seed, vec->repeat, MM_RNG_ACTION, row);
    if (t % 4 == 0) d->uniform[row] = mm_stream_block(stream, t / 4);
    const double u = d->uniform[row].word[t % 4] * 0x1p-32;
    d->action[row] =
        p->config->greedy ? mm_player_greedy(d->player, k) : mm_player_sample(d->player, k, u);
  }
  return MM_OK;
}

// One step of all episodes that go on; their number after it.
static mm_status step(const pool *p, desk *d, mm_vec *vec, size_t place, size_t *n_active) {
  mm_evaluation *out = p->out;
  const size_t from = d->active[0], to = d->active[*n_active - 1] + 1;
  mm_vec_out result = { .obs = d->obs, .reward = d->reward, .end = d->end };
  const void *action = d->real ? (const void *)d->real : d->action;
  MM_TRY(mm_vec_step_part(vec, from, to, action, &result));
  size_t left = 0;
  for (size_t k = 0; k < *n_active; k++) {
    const uint32_t row = d->active[k];
    out->value[place + row] += (double)d->reward[row];
    out->length[place + row]++;
    out->end[place + row] = d->end[row];
    if (!d->end[row]) d->active[left++] = row;
  }
  *n_active = left;
  return MM_OK;
}

static mm_status play(pool *p, desk *d, mm_vec *vec, const mm_vec_config *config, size_t place) {
  mm_vec_info info;
  mm_vec_describe(vec, &info);
  MM_TRY(take_room(d, info.obs_size / config->n));
  MM_TRY(mm_vec_reset(vec, &(mm_vec_out){ .obs = d->obs }));
  size_t n_active = config->n;
  uint64_t steps = 0;
  for (uint32_t i = 0; i < config->n; i++)
    d->active[i] = i;
  for (uint64_t t = 0; t < p->max_steps && n_active > 0; t++) {
    if (stopped(p)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    steps += n_active;
    MM_TRY(choose(p, d, config, &info, n_active, t));
    MM_TRY(step(p, d, vec, place, &n_active));
  }
  atomic_fetch_add_explicit(&p->env_steps, steps, memory_order_relaxed);
  return MM_OK;
}

static mm_status play_unit(pool *p, desk *d, size_t unit) {
  const size_t agent = unit / p->per_agent, chunk = unit % p->per_agent;
  const size_t first = chunk * ROWS, left = p->config->episodes - first;
  mm_vec_config config = { .size = sizeof(mm_vec_config),
                           .n = left < ROWS ? left : ROWS,
                           .seed = p->agent_seed + p->out->first + agent,
                           .repeat =
                               0x80000000u | ((p->first_repeat + (uint32_t)chunk) & INT32_MAX),
                           .rules = p->config->rules,
                           .gymnasium_walls = p->gymnasium_walls,
                           .flavour = p->flavour,
                           .physics = p->physics,
                           .obs = p->lists ? MM_OBS_LIST : MM_OBS_FLOATS };
  mm_vec *vec;
  MM_TRY(take_agent(p, d, p->out->first + agent));
  MM_TRY(mm_vec_create(p->config->env, &config, &vec));
  mm_status status = play(p, d, vec, &config, agent * p->config->episodes + first);
  atomic_fetch_add_explicit(&p->unstable, mm_vec_unstable(vec), memory_order_relaxed);
  mm_vec_destroy(vec);
  atomic_fetch_add_explicit(&p->done, config.n, memory_order_relaxed);
  return status;
}

// Units are taken in order, so the first failure of all is the same whoever is faster.
static void keep_trouble(pool *p, size_t unit, mm_status status) {
  pthread_mutex_lock(&p->lock);
  if (unit < p->trouble) {
    p->trouble = unit;
    p->status = status;
    snprintf(p->error, sizeof p->error, "%s", mm_last_error());
  }
  pthread_mutex_unlock(&p->lock);
}

static void show_progress(void *user) {
  pool *p = user;
  const mm_evaluate_config *c = p->config;
  const size_t total = p->out->n_agent * p->out->n_episode;
  if (c->progress) c->progress(atomic_load(&p->done), total, atomic_load(&p->env_steps), c->user);
}

static bool work(size_t unit, size_t worker, void *user) {
  pool *p = user;
  mm_status status = play_unit(p, &p->desk[worker], unit);
  if (status != MM_OK) keep_trouble(p, unit, status);
  return status == MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Results

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

// sorted: room for n numbers.
static mm_returns summarise(const mm_evaluation *e, size_t first, size_t n, double *sorted) {
  const mm_estimate value = mm_estimate_of(e->value + first, n);
  mm_returns r = { .mean = value.mean, .sem = value.sem };
  memcpy(sorted, e->value + first, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, by_value);
  r.min = sorted[0];
  r.max = sorted[n - 1];
  r.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  for (size_t i = first; i < first + n; i++) {
    r.mean_length += (double)e->length[i];
    r.terminated += (e->end[i] & MM_END_TERMINATED) != 0;
    r.truncated += e->end[i] == MM_END_TRUNCATED;
    r.cut += e->end[i] == 0;
  }
  r.mean_length /= (double)n;
  return r;
}

static mm_status summarise_all(mm_evaluation *e) {
  const size_t n = e->n_agent * e->n_episode;
  double *room = mm_alloc_array(n, sizeof *room);
  if (!room) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu episodes", n);
  for (size_t i = 0; i < e->n_agent; i++)
    e->agent[i] = summarise(e, i * e->n_episode, e->n_episode, room);
  e->all = summarise(e, 0, n, room);
  if (e->n_agent > 1) {
    for (size_t i = 0; i < e->n_agent; i++)
      room[i] = e->agent[i].mean;
    e->all.sem = mm_estimate_of(room, e->n_agent).sem;
  }
  mm_free(room);
  return MM_OK;
}

void mm_evaluation_release(mm_evaluation *e) {
  mm_free(e->value);
  mm_free(e->length);
  mm_free(e->end);
  mm_free(e->agent);
  *e = (mm_evaluation){ 0 };
}

// ---------------------------------------------------------------------------------------------

static mm_status check(const mm_evaluate_config *c, const mm_policy_info *info) {
  if (c->episodes < 1 || c->episodes > MM_EVALUATE_EPISODES_MAX)
    return MM_FAIL(MM_ERR_INPUT, "episodes: expected 1 to %d, found %zu", MM_EVALUATE_EPISODES_MAX,
                   c->episodes);
  if (c->max_steps > UINT32_MAX)
    return MM_FAIL(MM_ERR_INPUT, "steps of an episode: expected fewer than 2^32");
  if (c->threads < 0)
    return MM_FAIL(MM_ERR_INPUT, "threads = %d: expected at least 1, or 0 for one per core",
                   c->threads);
  if (c->agent != MM_EVALUATE_ALL && (c->agent < 0 || (uint64_t)c->agent >= info->n))
    return MM_FAIL(MM_ERR_INPUT, "agent %lld: the policy has agents 0 to %zu", (long long)c->agent,
                   info->n - 1);
  return mm_policy_fits(c->policy, c->env, c->rules);
}

static mm_status make_room(mm_evaluation *e) {
  const size_t n = e->n_agent * e->n_episode;
  e->value = mm_alloc_array(n, sizeof *e->value);
  e->length = mm_alloc_array(n, sizeof *e->length);
  e->end = mm_alloc_array(n, sizeof *e->end);
  e->agent = mm_alloc_array(e->n_agent, sizeof *e->agent);
  if (!e->value || !e->length || !e->end || !e->agent)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu episodes", n);
  for (size_t i = 0; i < n; i++)
    e->value[i] = 0;
  memset(e->length, 0, n * sizeof *e->length);
  memset(e->end, 0, n * sizeof *e->end);
  return MM_OK;
}

// A unit that is interrupted or fails ends the work, and is what the call fails with.
static mm_status run_all(pool *p) {
  const mm_evaluate_config *c = p->config;
  const size_t wanted = c->threads > 0 ? (size_t)c->threads : (size_t)mm_pool_cores();
  const size_t threads = wanted < p->n_unit ? wanted : p->n_unit;
  mm_pool_config config = {
    .n = p->n_unit, .threads = (int)threads, .work = work, .watch = show_progress, .user = p
  };
  if (pthread_mutex_init(&p->lock, NULL) != 0)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  p->desk = mm_alloc_array(threads, sizeof *p->desk);
  mm_status status = MM_OK;
  if (!p->desk) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu threads", threads);
  for (size_t i = 0; i < threads && p->desk; i++)
    p->desk[i] = (desk){ .player = NULL };
  if (status == MM_OK) status = mm_pool_run(&config, &p->out->threads);
  for (size_t i = 0; i < threads && p->desk; i++)
    clear_desk(&p->desk[i]);
  mm_free(p->desk);
  pthread_mutex_destroy(&p->lock);
  show_progress(p);
  return status;
}

// What moves a body, and how: as asked for, else as the policy knows it.
static mm_status choose_body(pool *p, const mm_policy_info *info) {
  const mm_evaluate_config *c = p->config;
  const mm_actor_critic_config *trained = info->config;
  const bool same = strcmp(mm_env_id(c->env), info->env_id) == 0;
  mm_vec *vec;
  p->flavour = c->flavour ? c->flavour : same ? (mm_env_flavour)trained->flavour : 0;
  p->physics = c->physics ? c->physics : (mm_env_physics)trained->physics;
  p->gymnasium_walls = trained->gymnasium_walls;
  const mm_vec_config config = { .size = sizeof(mm_vec_config),
                                 .seed = info->seed,
                                 .rules = c->rules,
                                 .flavour = p->flavour,
                                 .physics = p->physics };
  MM_TRY(mm_vec_create(c->env, &config, &vec));
  p->out->flavour = mm_vec_flavour(vec);
  p->out->physics = mm_vec_physics(vec);
  mm_vec_destroy(vec);
  return MM_OK;
}

static mm_status play_all(const mm_evaluate_config *c, const mm_policy_info *info,
                          mm_evaluation *out) {
  const size_t per_agent = (c->episodes + ROWS - 1) / ROWS;
  mm_block base = mm_stream_block(mm_stream_make(c->seed, 0, MM_RNG_EVALUATION, 0), 0);
  pool p = { .config = c,
             .out = out,
             .agent_seed = info->seed,
             .first_repeat = base.word[0],
             .max_steps = c->max_steps > 0 ? c->max_steps : MM_EVALUATE_STEPS,
             .lists = mm_env_has_switches(c->env),
             .n_unit = per_agent * out->n_agent,
             .per_agent = per_agent,
             .trouble = SIZE_MAX };
  MM_TRY(choose_body(&p, info));
  MM_TRY(run_all(&p));
  out->env_steps = atomic_load(&p.env_steps);
  out->unstable = atomic_load(&p.unstable);
  if (p.trouble != SIZE_MAX) return MM_FAIL(p.status, "%s", p.error);
  return summarise_all(out);
}

void mm_evaluate_config_init(mm_evaluate_config *out, size_t size) {
  const mm_evaluate_config ours = { .agent = MM_EVALUATE_ALL, .episodes = 100 };
  mm_config_give(&ours, sizeof ours, out, size);
}

static mm_status evaluate(const mm_evaluate_config *c, const mm_policy_info *info,
                          mm_evaluation *out) {
  const bool all = c->agent == MM_EVALUATE_ALL;
  MM_TRY(check(c, info));
  *out = (mm_evaluation){ .first = all ? 0 : (size_t)c->agent,
                          .n_agent = all ? info->n : 1,
                          .n_episode = c->episodes };
  mm_status status = make_room(out);
  if (status == MM_OK) status = play_all(c, info, out);
  if (status != MM_OK) mm_evaluation_release(out);
  return status;
}

mm_status mm_evaluate_run(const mm_evaluate_config *config, mm_evaluation *out) {
  mm_evaluate_config c = mm_evaluate_config_default();
  mm_policy_info info;
  mm_env *own = NULL;
  *out = (mm_evaluation){ 0 };
  MM_TRY(mm_config_take("mm_evaluate_config", config, &c, sizeof c));
  if (!c.policy) return MM_FAIL(MM_ERR_INPUT, "mm_evaluate_config: policy: expected one");
  mm_policy_describe(c.policy, &info);
  if (!c.env) MM_TRY(mm_env_open(info.env_id, &own));
  if (own) c.env = own;
  if (c.rules == MM_RULES_BY_ID && strcmp(mm_env_id(c.env), info.env_id) == 0)
    c.rules = (mm_env_rules)((const mm_actor_critic_config *)info.config)->rules;
  mm_status status = evaluate(&c, &info, out);
  mm_env_destroy(own);
  return status;
}
