// SPDX-License-Identifier: Apache-2.0
// The training loop. Rows of a batch are (step t, environment e) at t * N + e; observations
// are written by the environments straight into the batch, one step further, so that nothing is
// copied but the last row to the first between two iterations.

#include "agent/ampo_internal.h"

#include <math.h>
#include <string.h>

#include "agent/gae.h"
#include "agent/job_internal.h"
#include "base/clock.h"
#include "base/status.h"
#include "map/batch.h"

enum { ROLLOUT, VALUE, UPDATE };

enum { LOG_ROWS = 256 }; // few environments are looked at again so many rows at a time

int64_t mm_ampo_iterations(const mm_actor_critic_config *config) {
  double iterations = floor(floor(config->steps / config->unroll) / config->envs);
  return iterations >= 0 && iterations < 1e15 ? (int64_t)iterations : 0;
}

// ---------------------------------------------------------------------------------------------
// Making one

static mm_status check(const mm_actor_critic_config *c) {
  if (c->envs * c->unroll > 1 << 30)
    return MM_FAIL(MM_ERR_INPUT, "envs * unroll = %g: expected at most 2^30", c->envs * c->unroll);
  if (c->minibatches > c->envs * c->unroll)
    return MM_FAIL(MM_ERR_INPUT, "minibatches = %g: a batch has only %g samples", c->minibatches,
                   c->envs * c->unroll);
  return MM_OK;
}

// phi^-1 at the probability that stands for 0 in the regression target.
static mm_status floor_of(const mm_map *map, bool code_target, float *out) {
  const double least[2] = { 0, 1e-6 };
  double at[2];
  MM_TRY(mm_map_phi_inverse(map, least, 2, at));
  *out = (float)(code_target || !isfinite(at[0]) ? at[1] : at[0]);
  return MM_OK;
}

mm_status mm_ampo_use_map(mm_ampo *a, int64_t iteration) {
  MM_TRY(mm_map_now_at(a->map, iteration, mm_ampo_iterations(&a->config), &a->at));
  const mm_map *map = a->at.map;
  if (a->real) mm_density_make(map, a->method.density_scale, &a->objective->density);
  if (a->real || a->method.ppo) return MM_OK;
  MM_TRY(floor_of(map, a->method.code_target, &a->learn.floor));
  double share = 1.0 / a->info.n_action;
  return a->method.center ? mm_map_phi_inverse(map, &share, 1, &a->middle) : MM_OK;
}

static mm_status make_learn(mm_ampo *a) {
  const mm_actor_critic_config *c = &a->config;
  const mm_ampo_method *m = &a->method;
  mm_net_learn_config *l = &a->learn;
  *l = mm_net_learn_config_default(m->ppo ? MM_OBJECTIVE_PPO : MM_OBJECTIVE_AMPO);
  l->policy_clip = (float)m->policy_clip;
  l->entropy_coef = (float)m->entropy_coef;
  l->normalise = c->normalise_advantage;
  l->value_clip = c->value_clip > 0 ? (float)c->value_clip : INFINITY;
  l->value_coef = (float)c->value_coef;
  l->max_grad_norm = c->max_grad_norm > 0 ? (float)c->max_grad_norm : INFINITY;
  if (!mm_algo_has_map(a->algo) && mm_map_get_kind(a->map) != MM_MAP_NEGENTROPY)
    return MM_FAIL(MM_ERR_INPUT, "%s has no use for a map: expected negentropy",
                   mm_algo_name(a->algo));
  if (a->real) MM_TRY(mm_ampo_real_open(a));
  return mm_ampo_use_map(a, 0);
}

static size_t largest_tensor(const mm_net *net) {
  size_t most = 0;
  for (int i = 0; i < mm_net_tensors(net); i++) {
    mm_net_tensor t = mm_net_describe(net, i);
    size_t size = (size_t)t.rows * (size_t)t.cols;
    most = size > most ? size : most;
  }
  return most;
}

// A slice of an arena, which the size of all slices is counted for first.
#define SLICE(member, count)                                                                       \
  size += mm_arena_size_of((count) * sizeof *a->member);                                           \
  if (arena->base) a->member = mm_arena_take(arena, (count) * sizeof *a->member);

// Called twice: without a block it only adds up.
static size_t lay_out(mm_ampo *a, mm_arena *arena) {
  size_t size = 0, n = a->n_env;
  SLICE(now, n * a->row_size)
  SLICE(running, n)
  SLICE(finished, n)
  SLICE(tensor, largest_tensor(a->net))
  return size;
}

static size_t lay_out_batch(mm_ampo *a, mm_arena *arena) {
  size_t size = 0, rows = a->n_row, n = a->n_env, scores = a->room * a->n_out;
  SLICE(obs, (rows + n) * a->row_size)
  SLICE(final_obs, n * a->row_size)
  SLICE(action, a->real ? 0 : rows)
  SLICE(real_action, a->real ? rows * a->n_out : 0)
  SLICE(policy, rows)
  SLICE(chance, a->method.log && !a->real ? rows : 0)
  SLICE(reward, rows)
  SLICE(end, rows)
  SLICE(value, rows + n)
  SLICE(advantage, rows)
  SLICE(target, rows)
  SLICE(row, rows)
  SLICE(scores, scores)
  SLICE(probs, a->real ? 0 : scores)
  SLICE(sent, a->real ? n * a->n_out : 0)
  SLICE(lambda, a->room)
  SLICE(uniform, n)
  return size;
}

#undef SLICE

static mm_status open_environments(mm_ampo *a, const mm_env *env) {
  mm_vec_config config = { .size = sizeof(mm_vec_config),
                           .n = a->n_env,
                           .seed = a->seed,
                           .repeat = a->repeat,
                           .rules = (mm_env_rules)a->config.rules,
                           .gymnasium_walls = a->config.gymnasium_walls,
                           .flavour = (mm_env_flavour)a->config.flavour,
                           .physics = (mm_env_physics)a->config.physics,
                           .fresh_reset = a->config.fresh_reset,
                           .obs = mm_env_has_switches(env) ? MM_OBS_LIST : MM_OBS_FLOATS };
  MM_TRY(mm_vec_create(env, &config, &a->vec));
  mm_vec_describe(a->vec, &a->info);
  a->real = a->info.n_action == 0;
  a->n_out = (size_t)(a->real ? a->info.n_real : a->info.n_action);
  const unsigned suits = mm_learner_of(a->algo)->suits;
  if (a->real && !(suits & MM_SUITS_REAL))
    return MM_FAIL(MM_ERR_INPUT,
                   "environment '%.80s' has continuous actions: %s takes discrete ones",
                   mm_env_id(env), mm_algo_name(a->algo));
  if (!a->real && !(suits & MM_SUITS_DISCRETE))
    return MM_FAIL(MM_ERR_INPUT,
                   "environment '%.80s' has %d discrete actions: %s takes continuous ones",
                   mm_env_id(env), (int)a->info.n_action, mm_algo_name(a->algo));
  a->lists = config.obs == MM_OBS_LIST;
  a->row_size = a->info.obs_size / a->n_env;
  return MM_OK;
}

// Observations from `at` on.
static mm_net_obs obs_at(const mm_ampo *a, const unsigned char *at) {
  return (mm_net_obs){ .floats = a->lists ? NULL : (const void *)at,
                       .lists = a->lists ? (const void *)at : NULL,
                       .entries = (size_t)a->info.entries };
}

mm_net_obs mm_ampo_obs(const mm_ampo *a, size_t row) {
  return obs_at(a, a->obs + row * a->row_size);
}

// First networks are a function of (seed, repeat) and the sizes.
static bool begins_as(const mm_ampo *like, const mm_ampo *a) {
  return like->seed == a->seed && like->repeat == a->repeat && like->iteration == 0 &&
         like->info.n_input == a->info.n_input && like->n_out == a->n_out &&
         like->real == a->real && (int32_t)like->config.hidden == (int32_t)a->config.hidden;
}

static mm_status prepare(mm_ampo *a, const mm_env *env, const mm_ampo *like) {
  const mm_actor_critic_config *c = &a->config;
  MM_TRY(open_environments(a, env));
  MM_TRY(make_learn(a));
  mm_net_config net = mm_net_config_default(a->info.n_input, (int32_t)a->n_out);
  net.hidden[0] = net.hidden[1] = (int32_t)c->hidden;
  net.activation = c->relu ? MM_ACTIVATION_RELU : MM_ACTIVATION_TANH;
  net.gaussian = a->real;
  MM_TRY(mm_net_create(&net, &a->net));
  if (like && begins_as(like, a))
    mm_net_copy(a->net, like->net);
  else
    MM_TRY(mm_net_init(a->net, a->seed, a->repeat));
  MM_TRY(mm_arena_create(lay_out(a, &a->arena), &a->arena));
  lay_out(a, &a->arena);
  for (size_t e = 0; e < a->n_env; e++)
    a->finished[e] = NAN;
  const mm_vec_out start = { .obs = a->now };
  if (!a->real) return mm_vec_reset(a->vec, &start);
  MM_TRY(mm_wrap_reset(a->wrap, &start));
  mm_ampo_real_keep_scale(a);
  return MM_OK;
}

mm_status mm_ampo_create(const mm_job *job, const mm_map *map, const mm_ampo *like, mm_ampo **out) {
  *out = NULL;
  const mm_learner *learner = mm_learner_of_job(job);
  if (!learner) return MM_ERR_INPUT;
  if (!learner->method)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "%s is not trained by the loop of actor and critic",
                   mm_algo_name(job->algo));
  MM_TRY(mm_learner_check(learner, job->config));
  const mm_actor_critic_config *config = job->config; // first in every config of the loop's
  MM_TRY(check(config));
  mm_ampo *a = mm_alloc(sizeof *a);
  if (!a) return MM_FAIL(MM_ERR_MEMORY, "no memory for an agent");
  *a = (mm_ampo){
    .algo = job->algo, .config = *config, .map = map, .seed = job->seed, .repeat = job->repeat
  };
  learner->method(job->config, &a->method);
  a->method.eta = mm_job_eta(job, a->method.eta);
  a->n_env = (size_t)config->envs;
  a->n_step = (size_t)config->unroll;
  a->n_row = a->n_env * a->n_step;
  a->room = a->method.log && a->n_env < LOG_ROWS ? LOG_ROWS : a->n_env;
  mm_status status = prepare(a, job->env, like);
  if (status == MM_OK)
    *out = a;
  else
    mm_ampo_destroy(a);
  return status;
}

void mm_ampo_destroy(mm_ampo *a) {
  if (!a) return;
  mm_map_now_release(&a->at);
  mm_wrap_destroy(a->wrap);
  mm_free(a->objective);
  mm_vec_destroy(a->vec);
  mm_net_destroy(a->net);
  mm_arena_destroy(&a->batch_arena);
  mm_arena_destroy(&a->arena);
  mm_free(a);
}

// ---------------------------------------------------------------------------------------------
// Rollout

void mm_ampo_project(mm_ampo *a, float eta, size_t n) {
  for (size_t i = 0; i < n * a->n_out; i++)
    a->scores[i] *= eta;
  const mm_projection how = a->method.bisect10 ? MM_PROJECTION_BISECT10 : MM_PROJECTION_EXACT;
  mm_map_kernels_current()->project_f(&a->at.map->engine_f, how, a->scores, n, a->n_out, a->probs,
                                      a->lambda);
}

static mm_status project(mm_ampo *a) {
  if (!mm_ampo_all_finite(a->scores, a->n_env * a->n_out))
    return MM_FAIL(MM_ERR_NUMERIC, "a score is not finite");
  mm_ampo_project(a, a->step.act, a->n_env);
  return MM_OK;
}

// Chooses an action in every environment and keeps what its target needs. lambda of softmax is
// - log sum exp, so that for PPO z is the logarithm of the probability.
static void choose(mm_ampo *a, size_t t) {
  const size_t n_action = (size_t)a->info.n_action;
  const uint64_t step = (uint64_t)a->iteration * a->n_step + t;
  for (size_t e = 0; e < a->n_env; e++) {
    mm_stream stream = mm_stream_make(a->seed, a->repeat, MM_RNG_ACTION, (uint32_t)e);
    if (t == 0 || step % 4 == 0) a->uniform[e] = mm_stream_block(stream, step / 4);
    double u = a->uniform[e].word[step % 4] * 0x1p-32;
    int chosen = mm_categorical_f(u, a->probs + e * n_action, (int)n_action);
    a->action[t * a->n_env + e] = chosen;
    a->policy[t * a->n_env + e] =
        fmaf(a->step.factor, a->scores[e * n_action + (size_t)chosen], a->lambda[e]);
    if (a->method.log) a->chance[t * a->n_env + e] = a->probs[e * n_action + (size_t)chosen];
  }
}

// The value of where a step limit cut an episode off counts as reward, if asked for.
static void add_cut_values(mm_ampo *a, size_t t) {
  float *reward = a->reward + t * a->n_env;
  const uint8_t *end = a->end + t * a->n_env;
  for (size_t e = 0; e < a->n_env; e++) {
    if (end[e] != MM_END_TRUNCATED) continue;
    mm_net_obs obs = obs_at(a, a->final_obs + e * a->row_size);
    float value;
    mm_net_values(a->net, &obs, 1, &value);
    reward[e] = fmaf((float)a->config.gamma, value, reward[e]);
  }
}

static void count_episodes(mm_ampo *a, size_t t) {
  for (size_t e = 0; e < a->n_env; e++)
    mm_tally_step(&a->last.returns, &a->running[e], &a->finished[e], a->reward[t * a->n_env + e],
                  a->end[t * a->n_env + e]);
}

// One step of all environments. Real ones are scaled for the agent after their returns are counted
// as they are.
static mm_status step(mm_ampo *a, size_t t) {
  const size_t n = a->n_env;
  mm_net_obs obs = mm_ampo_obs(a, t * n);
  mm_net_scores(a->net, &obs, n, a->scores);
  mm_vec_out out = { .obs = a->obs + (t + 1) * n * a->row_size,
                     .final_obs = a->config.bootstrap_on_timeout ? a->final_obs : NULL,
                     .reward = a->reward + t * n,
                     .end = a->end + t * n };
  if (a->real) {
    MM_TRY(mm_ampo_real_choose(a, t));
    MM_TRY(mm_wrap_step_part(a->wrap, 0, n, a->sent, &out));
    count_episodes(a, t);
    mm_wrap_merge(a->wrap);
    MM_TRY(mm_wrap_scale_part(a->wrap, 0, n, &out));
  } else {
    MM_TRY(project(a));
    choose(a, t);
    MM_TRY(mm_vec_step(a->vec, a->action + t * n, &out));
    count_episodes(a, t);
  }
  if (a->config.bootstrap_on_timeout) add_cut_values(a, t);
  return MM_OK;
}

static mm_status rollout(mm_ampo *a) {
  const size_t n = a->n_env;
  a->last = (mm_ampo_report){ 0 };
  memcpy(a->obs, a->now, n * a->row_size);
  for (size_t t = 0; t < a->n_step; t++)
    MM_TRY(step(a, t));
  memcpy(a->now, a->obs + a->n_row * a->row_size, n * a->row_size);
  a->last.metric = mm_tally_mean(&a->last.returns);
  a->last.unstable = mm_vec_unstable(a->vec);
  if (a->real) mm_ampo_real_keep_scale(a);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Learning

static void estimate(mm_ampo *a) {
  mm_net_obs all = mm_ampo_obs(a, 0);
  mm_net_values(a->net, &all, a->n_row + a->n_env, a->value);
  mm_gae gae = { .n_step = (int32_t)a->n_step,
                 .n_env = (int32_t)a->n_env,
                 .gamma = (float)a->config.gamma,
                 .lambda = (float)a->config.gae_lambda,
                 .reward = a->reward,
                 .value = a->value,
                 .end = a->end,
                 .advantage = a->advantage,
                 .target = a->target };
  mm_gae_estimate(&gae);
}

// Minibatches of an epoch are as equal as they can be: the first ones take what is left over.
static mm_status learn_epoch(mm_ampo *a, uint64_t epoch, bool last, double lr) {
  mm_net_batch batch = { .obs = mm_ampo_obs(a, 0),
                         .action = a->action,
                         .real = a->real_action,
                         .policy = a->policy,
                         .value = a->value,
                         .target = a->target,
                         .advantage = a->advantage };
  mm_stream stream = mm_stream_make(a->seed, a->repeat, MM_RNG_SHUFFLE, 0);
  mm_shuffle shuffle = mm_shuffle_make(stream, epoch, (uint32_t)a->n_row);
  mm_shuffle_all(&shuffle, a->row);
  size_t m = (size_t)a->config.minibatches, from = 0;
  for (size_t i = 0; i < m; i++) {
    size_t n = a->n_row / m + (i < a->n_row % m);
    if (a->real) a->objective->measure = i + 1 == m && last;
    MM_TRY(mm_net_learn(a->net, &a->learn, lr, &batch, a->row + from, n, &a->last.learned));
    a->last.log.policy_loss += (double)n * a->last.learned.policy_loss;
    a->last.log.value_loss += (double)n * a->last.learned.value_loss;
    from += n;
  }
  return MM_OK;
}

static mm_status learn(mm_ampo *a) {
  const uint64_t epochs = (uint64_t)a->config.epochs;
  double left = 1 - (double)a->iteration / (double)mm_ampo_iterations(&a->config);
  double lr = a->config.lr * (a->config.anneal ? left : 1);
  if (a->real) mm_gaussian_objective_begin(a->objective);
  mm_status status = MM_OK;
  for (uint64_t e = 0; e < epochs && status == MM_OK; e++)
    status = learn_epoch(a, (uint64_t)a->iteration * epochs + e, e + 1 == epochs, lr);
  if (a->real && status == MM_OK) status = mm_ampo_real_judge(a);
  if (a->method.log && status == MM_OK) mm_ampo_log_update(a);
  return status;
}

// target=code has eta twice, except in the first iteration, as the authors' code has it.
mm_eta_step mm_ampo_eta(const mm_ampo *a, int64_t iteration) {
  const mm_ampo_method *m = &a->method;
  const int64_t n = mm_ampo_iterations(&a->config), before = iteration > 0 ? iteration - 1 : 0;
  const double eta = m->eta * mm_factor_at(m->eta_schedule, iteration, n);
  const float act = (float)(m->eta * mm_factor_at(m->eta_schedule, before, n));
  return (mm_eta_step){ .act = act,
                        .factor = m->code_target && iteration > 0 ? act : 1,
                        .eta = (float)eta,
                        .center = (float)(a->middle / eta),
                        .floor = a->learn.floor };
}

// A map that moves: the scores stay, and the policy is their projection with the map of now.
static mm_status begin_iteration(mm_ampo *a) {
  if (mm_map_stages(a->map) > 1) MM_TRY(mm_ampo_use_map(a, a->iteration));
  a->step = mm_ampo_eta(a, a->iteration);
  a->learn.eta = a->step.eta;
  a->learn.center = a->step.center;
  if (a->real) a->objective->eta = a->step.eta;
  return MM_OK;
}

mm_status mm_ampo_iterate(mm_ampo *a) {
  if (!a->batch_arena.base) {
    MM_TRY(mm_arena_create(lay_out_batch(a, &a->batch_arena), &a->batch_arena));
    lay_out_batch(a, &a->batch_arena);
  }
  double start = mm_clock_seconds();
  MM_TRY(begin_iteration(a));
  MM_TRY(rollout(a));
  double rolled = mm_clock_seconds();
  estimate(a);
  double estimated = mm_clock_seconds();
  mm_status status = learn(a);
  a->seconds[ROLLOUT] += rolled - start;
  a->seconds[VALUE] += estimated - rolled;
  a->seconds[UPDATE] += mm_clock_seconds() - estimated;
  a->iteration++;
  return status;
}

// ---------------------------------------------------------------------------------------------

mm_ampo_report mm_ampo_last(const mm_ampo *a) {
  return a->last;
}

void mm_ampo_seconds(const mm_ampo *a, double *rollout_, double *value, double *update) {
  *rollout_ = a->seconds[ROLLOUT];
  *value = a->seconds[VALUE];
  *update = a->seconds[UPDATE];
}

mm_ampo_shape mm_ampo_get_shape(const mm_ampo *a) {
  mm_ampo_shape shape = { a->info.n_input, (int32_t)a->n_out, a->lists, a->info.n_input };
  if (!a->lists || !a->obs) return shape;
  const uint16_t *entry = (const void *)a->obs;
  size_t n = a->n_row * (size_t)a->info.entries, on = 0;
  for (size_t i = 0; i < n; i++)
    on += entry[i] < a->info.n_input;
  shape.inputs_on = (double)on / (double)a->n_row;
  return shape;
}

const mm_actor_critic_config *mm_ampo_get_config(const mm_ampo *a) {
  return &a->config;
}

bool mm_ampo_is_real(const mm_ampo *a) {
  return a->real;
}

bool mm_ampo_logs(const mm_ampo *a) {
  return a->method.log;
}

mm_net *mm_ampo_net(mm_ampo *a) {
  return a->net;
}
