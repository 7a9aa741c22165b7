// Networks of several agents in one block, tensor by tensor as a file has them.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "study/policy/policy_internal.h"

// ---------------------------------------------------------------------------------------------
// Tensors

int mm_policy_tensors(const mm_net_config *config) {
  return config->gaussian ? MM_NET_TENSORS_MAX : MM_NET_TENSORS;
}

// Name and shape of a layer's tensor.
static void layer_tensor(const mm_net_config *c, int i, mm_policy_tensor *t) {
  const bool actor = i < MM_NET_TENSORS / 2;
  const int layer = i % (MM_NET_TENSORS / 2) / 2;
  const int32_t sizes[4] = { c->n_input, c->hidden[0], c->hidden[1], actor ? c->n_action : 1 };
  t->bias = i % 2 != 0;
  t->rows = t->bias ? 1 : (size_t)sizes[layer];
  t->cols = (size_t)sizes[layer + 1];
  snprintf(t->name, sizeof t->name, "%s.%d.%s", actor ? "actor" : "critic", layer,
           t->bias ? "bias" : "weight");
}

// Of those that Gaussian nets have beside their layers.
static void row_tensor(const mm_net_config *c, int i, mm_policy_tensor *t) {
  static const char *const names[] = { "actor.log_std", "input.mean", "input.variance" };
  t->bias = true;
  t->rows = 1;
  t->cols = (size_t)(i == MM_NET_LOG_STD ? c->n_action : c->n_input);
  snprintf(t->name, sizeof t->name, "%s", names[i - MM_NET_LOG_STD]);
}

mm_policy_tensor mm_policy_tensor_at(const mm_net_config *c, int i) {
  mm_policy_tensor t = { .first = 0 };
  size_t first = 0;
  for (int k = 0; k <= i; k++) {
    (k < MM_NET_TENSORS ? layer_tensor : row_tensor)(c, k, &t);
    t.size = t.rows * t.cols;
    t.first = first;
    first += t.size;
  }
  return t;
}

size_t mm_policy_size(const mm_net_config *config) {
  mm_policy_tensor last = mm_policy_tensor_at(config, mm_policy_tensors(config) - 1);
  return last.first + last.size;
}

float *mm_policy_place(const mm_policy *p, const mm_policy_tensor *t, size_t k) {
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

mm_status mm_policy_create(const char *env_id, const mm_map *map, const mm_settings *settings,
                           uint64_t seed, size_t n, mm_policy **out) {
  *out = NULL;
  MM_TRY(check(env_id, map, settings, seed, n));
  mm_policy *p = mm_alloc(sizeof *p);
  if (!p) return MM_FAIL(MM_ERR_MEMORY, "no memory for a policy");
  *p = (mm_policy){ .settings = *settings, .seed = seed, .n = n };
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
  for (int t = 0; t < mm_policy_tensors(&p->net); t++) {
    mm_policy_tensor tensor = mm_policy_tensor_at(&p->net, t);
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

mm_policy_info mm_policy_describe(const mm_policy *p) {
  return (mm_policy_info){ .env_id = p->env_id,
                           .map = p->map,
                           .settings = p->settings,
                           .seed = p->seed,
                           .n = p->n,
                           .final_value = p->final_value,
                           .net = p->net };
}

mm_status mm_policy_net(const mm_policy *p, size_t i, mm_net **out) {
  *out = NULL;
  if (i >= p->n) return MM_FAIL(MM_ERR_INPUT, "agent %zu: expected one below %zu", i, p->n);
  if (!p->is_set[i]) return MM_FAIL(MM_ERR_INPUT, "agent %zu has no networks", i);
  MM_TRY(mm_net_create(&p->net, out));
  for (int t = 0; t < mm_policy_tensors(&p->net); t++) {
    mm_policy_tensor tensor = mm_policy_tensor_at(&p->net, t);
    mm_net_import(*out, MM_NET_PARAM, t, mm_policy_place(p, &tensor, i));
  }
  return MM_OK;
}
