// SPDX-License-Identifier: Apache-2.0
// Networks of several agents in one block, tensor by tensor as a file has them.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/job_internal.h"
#include "base/spelling.h"
#include "base/status.h"
#include "study/policy/policy_internal.h"

// ---------------------------------------------------------------------------------------------
// Tensors

mm_policy_slot mm_policy_slot_at(const mm_net_config *c, int i) {
  mm_policy_slot t = { .first = 0 };
  for (int k = 0; k <= i; k++) {
    const mm_net_tensor of = mm_net_tensor_of(c, k);
    t = (mm_policy_slot){ .name = of.name,
                          .bias = k >= MM_NET_TENSORS || k % 2 != 0,
                          .rows = (size_t)of.rows,
                          .cols = (size_t)of.cols,
                          .size = (size_t)of.rows * (size_t)of.cols,
                          .first = t.first + t.size };
  }
  return t;
}

size_t mm_policy_size(const mm_net_config *config) {
  mm_policy_slot last = mm_policy_slot_at(config, mm_net_tensors_of(config) - 1);
  return last.first + last.size;
}

float *mm_policy_place(const mm_policy *p, const mm_policy_slot *t, size_t k) {
  return p->data + p->n * t->first + k * t->size;
}

bool mm_policy_finite(const float *x, size_t n, size_t *at) {
  for (size_t i = 0; i < n; i++) {
    if (isfinite(x[i])) continue;
    *at = i;
    return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// Making one

static mm_status copy_map(const mm_map *map, mm_map **out) {
  char *text;
  MM_TRY(mm_map_format(map, NULL, &text));
  mm_status status = mm_map_parse(text, strlen(text), "map", out);
  mm_map_text_free(text);
  return status;
}

static mm_status check(const char *env_id, const mm_map *map, const mm_settings *settings,
                       uint64_t seed, size_t n) {
  if (!env_id[0] || strlen(env_id) > MM_POLICY_ENV_MAX)
    return MM_FAIL(MM_ERR_INPUT, "the environment's name: expected 1 to %d bytes, found %zu",
                   MM_POLICY_ENV_MAX, strlen(env_id));
  for (const unsigned char *s = (const unsigned char *)env_id; *s; s++)
    if (*s < 0x20 || *s == 0x7F)
      return MM_FAIL(MM_ERR_INPUT, "the environment's name: expected no control characters");
  const char *algo = mm_algo_name(settings->algo);
  if (!mm_settings_net(settings))
    return MM_FAIL(MM_ERR_INPUT, "policies of %s are %s: expected networks of another algorithm",
                   algo, mm_settings_learner(settings)->exact ? "tables" : "not kept");
  if (!mm_algo_has_map(settings->algo) && mm_map_get_kind(map) != MM_MAP_NEGENTROPY)
    return MM_FAIL(MM_ERR_INPUT, "%s has no use for a map: expected negentropy, found %s", algo,
                   mm_map_kind_name(mm_map_get_kind(map)));
  if (n < 1 || n > MM_POLICY_AGENTS_MAX)
    return MM_FAIL(MM_ERR_INPUT, "agents: expected 1 to %d, found %zu", MM_POLICY_AGENTS_MAX, n);
  if (seed > UINT64_MAX - (n - 1))
    return MM_FAIL(MM_ERR_INPUT, "seed %" PRIu64 " leaves no room for %zu agents", seed, n);
  return MM_OK;
}

static mm_status fill(mm_policy *p, const char *env_id, const mm_map *map) {
  p->env_id = mm_alloc(strlen(env_id) + 1);
  p->final_value = mm_alloc_array(p->n, sizeof *p->final_value);
  p->is_set = mm_alloc_array(p->n, sizeof *p->is_set);
  if (!p->env_id || !p->final_value || !p->is_set)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the policies of %zu agents", p->n);
  memcpy(p->env_id, env_id, strlen(env_id) + 1);
  memset(p->is_set, 0, p->n);
  for (size_t i = 0; i < p->n; i++)
    p->final_value[i] = NAN;
  return copy_map(map, &p->map);
}

static void take_net(const mm_job *job, mm_net *net, void *user) {
  mm_policy *p = user;
  if (job->seed - p->seed < p->n) (void)mm_policy_set(p, (size_t)(job->seed - p->seed), net);
}

static void take_result(const mm_job *job, const mm_result *result, void *user) {
  mm_policy *p = user;
  if (job->seed - p->seed < p->n)
    mm_policy_set_final(p, (size_t)(job->seed - p->seed), result->final_value);
}

mm_status mm_policy_make(const char *env_id, const mm_map *map, const mm_settings *settings,
                         uint64_t seed, size_t n, mm_policy **out) {
  *out = NULL;
  MM_TRY(check(env_id, map, settings, seed, n));
  mm_policy *p = mm_alloc(sizeof *p);
  if (!p) return MM_FAIL(MM_ERR_MEMORY, "no memory for a policy");
  *p = (mm_policy){ .settings = *settings,
                    .seed = seed,
                    .n = n,
                    .hooks = { .trained = take_net, .ended = take_result, .user = p } };
  if (pthread_mutex_init(&p->lock, NULL) != 0) {
    mm_free(p);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a policy");
  }
  mm_status status = fill(p, env_id, map);
  if (status == MM_OK)
    *out = p;
  else
    mm_policy_destroy(p);
  return status;
}

mm_status mm_policy_create(const mm_job *job, size_t n, mm_policy **out) {
  *out = NULL;
  const mm_learner *learner = mm_learner_of_job(job);
  if (!learner) return MM_ERR_INPUT;
  mm_settings settings = mm_settings_default(job->algo);
  MM_TRY(mm_learner_take(learner, job->config, &settings.net));
  MM_TRY(mm_learner_check(learner, &settings.net));
  double *eta = mm_settings_number(&settings, "eta");
  if (eta) *eta = mm_job_eta(job, *eta);
  mm_map *own = NULL;
  if (!job->map) MM_TRY(mm_job_candidate(job, &own));
  const mm_map *map = job->map ? job->map : own;
  mm_status status = mm_policy_make(mm_env_id(job->env), map, &settings, job->seed, n, out);
  mm_map_destroy(own);
  return status;
}

void mm_policy_destroy(mm_policy *p) {
  if (!p) return;
  mm_map_destroy(p->map);
  mm_free(p->env_id);
  mm_free(p->final_value);
  mm_free(p->is_set);
  mm_free(p->data);
  pthread_mutex_destroy(&p->lock);
  mm_free(p);
}

// ---------------------------------------------------------------------------------------------
// Networks in and out

static mm_status check_size(const char *what, int32_t size, int32_t most) {
  if (size >= 1 && size <= most) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s of the networks: expected 1 to %d, found %d", what, (int)most,
                 (int)size);
}

mm_status mm_policy_shape(mm_policy *p, const mm_net_config *config) {
  const mm_actor_critic_config *s = mm_settings_net(&p->settings);
  const unsigned suits = mm_settings_learner(&p->settings)->suits;
  MM_TRY(check_size("inputs", config->n_input, MM_NET_INPUT_MAX));
  MM_TRY(check_size("actions", config->n_action, MM_NET_ACTION_MAX));
  for (int i = 0; i < 2; i++)
    if (config->hidden[i] != (int32_t)s->hidden)
      return MM_FAIL(MM_ERR_INPUT, "hidden units of the networks: expected %d as set, found %d",
                     (int)s->hidden, (int)config->hidden[i]);
  if ((config->activation == MM_ACTIVATION_RELU) != s->relu)
    return MM_FAIL(MM_ERR_INPUT, "activation of the networks: expected %s as set",
                   s->relu ? "relu" : "tanh");
  if (!(suits & (config->gaussian ? MM_SUITS_REAL : MM_SUITS_DISCRETE)))
    return MM_FAIL(MM_ERR_INPUT, "networks: expected %s as %s has them",
                   config->gaussian ? "plain ones" : "Gaussian ones",
                   mm_algo_name(p->settings.algo));
  const size_t size = mm_policy_size(config);
  if (size > MM_POLICY_BYTES_MAX / sizeof *p->data / p->n)
    return MM_FAIL(MM_ERR_INPUT, "%zu networks of %zu numbers: expected at most %zu bytes in all",
                   p->n, size, MM_POLICY_BYTES_MAX);
  p->data = mm_alloc_array(p->n * size, sizeof *p->data);
  if (!p->data)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu networks of %zu numbers", p->n, size);
  p->net = *config;
  return MM_OK;
}

static bool same_shape(const mm_net_config *a, const mm_net_config *b) {
  return a->n_input == b->n_input && a->n_action == b->n_action && a->hidden[0] == b->hidden[0] &&
         a->hidden[1] == b->hidden[1] && a->activation == b->activation &&
         a->gaussian == b->gaussian;
}

mm_status mm_policy_set(mm_policy *p, size_t i, const mm_net *net) {
  const mm_net_config *shape = mm_net_shape(net);
  if (i >= p->n) return MM_FAIL(MM_ERR_INPUT, "agent %zu: expected one below %zu", i, p->n);
  pthread_mutex_lock(&p->lock); // whoever comes first decides about the sizes
  mm_status status = p->data ? MM_OK : mm_policy_shape(p, shape);
  pthread_mutex_unlock(&p->lock);
  if (status != MM_OK) return status;
  if (!same_shape(&p->net, shape))
    return MM_FAIL(
        MM_ERR_INPUT, "agent %zu: expected networks with %d inputs and %d actions, found %d and %d",
        i, (int)p->net.n_input, (int)p->net.n_action, (int)shape->n_input, (int)shape->n_action);
  for (int t = 0; t < mm_net_tensors_of(&p->net); t++) {
    mm_policy_slot tensor = mm_policy_slot_at(&p->net, t);
    float *to = mm_policy_place(p, &tensor, i);
    size_t at;
    mm_net_export(net, MM_NET_PARAM, t, to);
    if (!mm_policy_finite(to, tensor.size, &at))
      return MM_FAIL(MM_ERR_NUMERIC, "agent %zu: %s: entry %zu is not finite", i, tensor.name, at);
  }
  p->is_set[i] = 1;
  return MM_OK;
}

void mm_policy_set_final(mm_policy *p, size_t i, double final_value) {
  if (i < p->n) p->final_value[i] = final_value;
}

void mm_policy_describe(const mm_policy *p, mm_policy_info *out) {
  *out = (mm_policy_info){ .env_id = p->env_id,
                           .algo = p->settings.algo,
                           .config = &p->settings.net,
                           .map = p->map,
                           .eta = mm_settings_last_eta(&p->settings),
                           .seed = p->seed,
                           .n = p->n,
                           .final_value = p->final_value,
                           .n_input = p->net.n_input,
                           .n_action = p->net.gaussian ? 0 : p->net.n_action,
                           .n_real = p->net.gaussian ? p->net.n_action : 0,
                           .hidden = { p->net.hidden[0], p->net.hidden[1] },
                           .relu = p->net.activation == MM_ACTIVATION_RELU };
}

const mm_settings *mm_policy_settings(const mm_policy *p) {
  return &p->settings;
}

size_t mm_policy_tensors(const mm_policy *p) {
  return p->data ? (size_t)mm_net_tensors_of(&p->net) : 0;
}

mm_status mm_policy_tensor_at(const mm_policy *p, size_t i, mm_policy_tensor *out) {
  const size_t n = mm_policy_tensors(p);
  *out = (mm_policy_tensor){ 0 };
  if (i >= n) return MM_FAIL(MM_ERR_INPUT, "tensor %zu of a policy: expected one below %zu", i, n);
  const mm_policy_slot slot = mm_policy_slot_at(&p->net, (int)i);
  *out = (mm_policy_tensor){ .name = slot.name,
                             .dims = slot.bias ? 2 : 3,
                             .shape = { p->n, slot.bias ? slot.cols : slot.rows,
                                        slot.bias ? 1 : slot.cols },
                             .data = mm_policy_place(p, &slot, 0) };
  return MM_OK;
}

mm_status mm_policy_tensor_find(const mm_policy *p, const char *name, mm_policy_tensor *out) {
  const char *names[MM_NET_TENSORS_MAX];
  const size_t n = mm_policy_tensors(p);
  *out = (mm_policy_tensor){ 0 };
  for (size_t i = 0; i < n; i++) {
    names[i] = mm_net_tensor_of(&p->net, (int)i).name;
    if (strcmp(names[i], name) == 0) return mm_policy_tensor_at(p, i, out);
  }
  const char *near = n > 0 ? mm_nearest(name, names, n) : NULL;
  if (near)
    return MM_FAIL(MM_ERR_INPUT, "tensor '%.40s': no such name (did you mean '%s'?)", name, near);
  return MM_FAIL(MM_ERR_INPUT, "tensor '%.40s': the policy has no such", name);
}

const mm_job_hooks *mm_policy_hooks(mm_policy *p) {
  return &p->hooks;
}

mm_status mm_policy_net(const mm_policy *p, size_t i, mm_net **out) {
  *out = NULL;
  if (i >= p->n) return MM_FAIL(MM_ERR_INPUT, "agent %zu: expected one below %zu", i, p->n);
  if (!p->is_set[i]) return MM_FAIL(MM_ERR_INPUT, "agent %zu has no networks", i);
  MM_TRY(mm_net_create(&p->net, out));
  for (int t = 0; t < mm_net_tensors_of(&p->net); t++) {
    mm_policy_slot tensor = mm_policy_slot_at(&p->net, t);
    mm_net_import(*out, MM_NET_PARAM, t, mm_policy_place(p, &tensor, i));
  }
  return MM_OK;
}
