// SPDX-License-Identifier: Apache-2.0
// An agent's state as bytes:
//
//   16  mark "mirrormap/ampo", filled up with zeros
//    8  each: version of this format, then the numbers below
//       running and last finished return of every environment, floats [N] each; NaN: none yet
//       (programs before that wrote 0, which stays what it was)
//       current observations [N], environments (mm_vec_keep), for continuous actions their scales
//       (mm_wrap_save)
//       parameters, first and second moments: the tensors of net.h, floats
//    8  checksum of all that comes before

#include <string.h>

#include "agent/ampo_internal.h"
#include "agent/state_bytes.h"
#include "base/status.h"
#include "env/vec_internal.h"

enum { VERSION = 1 };

static const unsigned char mark[MM_STATE_MARK] = "mirrormap/ampo";

// What must be the same in the agent that loads it, then where it stands.
#define HEAD(X)                                                                                    \
  X(seed)                                                                                          \
  X(repeat)                                                                                        \
  X(ppo)                                                                                           \
  X(envs)                                                                                          \
  X(unroll)                                                                                        \
  X(inputs)                                                                                        \
  X(entries)                                                                                       \
  X(actions)                                                                                       \
  X(hidden)                                                                                        \
  X(iterations)
#define PLACE(X)                                                                                   \
  X(iteration)                                                                                     \
  X(gradient_steps)

enum {
#define NUMBER(name) AT_##name,
  HEAD(NUMBER) N_FIXED,
  BEFORE_PLACE = N_FIXED - 1,
  PLACE(NUMBER) N_NUMBERS
#undef NUMBER
};

static const char *const names[N_NUMBERS] = {
#define NAME(name) #name,
  HEAD(NAME) PLACE(NAME)
#undef NAME
};

enum { HEAD_SIZE = MM_STATE_MARK + 8 + 8 * N_NUMBERS };

static void describe(const mm_ampo *a, uint64_t number[N_NUMBERS]) {
  number[AT_seed] = a->seed;
  number[AT_repeat] = a->repeat;
  number[AT_ppo] = a->method.ppo;
  number[AT_envs] = a->n_env;
  number[AT_unroll] = a->n_step;
  number[AT_inputs] = (uint64_t)a->info.n_input;
  number[AT_entries] = (uint64_t)a->info.entries;
  number[AT_actions] = (uint64_t)a->n_out;
  number[AT_hidden] = (uint64_t)a->config.hidden;
  number[AT_iterations] = (uint64_t)mm_ampo_iterations(&a->config);
  number[AT_iteration] = (uint64_t)a->iteration;
  number[AT_gradient_steps] = mm_net_count(a->net);
}

int64_t mm_ampo_done(const mm_ampo *a) {
  return a->iteration;
}

static size_t tensor_size(const mm_net *net, int i) {
  mm_net_tensor t = mm_net_describe(net, i);
  return (size_t)t.rows * (size_t)t.cols * sizeof(float);
}

static size_t net_size(const mm_net *net) {
  size_t size = 0;
  for (int i = 0; i < mm_net_tensors(net); i++)
    size += tensor_size(net, i);
  return size;
}

static const mm_net_part parts[] = { MM_NET_PARAM, MM_NET_MOMENT1, MM_NET_MOMENT2 };
enum { PARTS = sizeof parts / sizeof *parts };

static size_t wrap_size(const mm_ampo *a) {
  return a->real ? mm_wrap_state_size(a->wrap) : 0;
}

size_t mm_ampo_state_size(const mm_ampo *a) {
  return HEAD_SIZE + 2 * a->n_env * sizeof(float) + a->n_env * a->row_size +
         mm_vec_kept_size(a->vec) + wrap_size(a) + PARTS * net_size(a->net) + MM_STATE_CHECKSUM;
}

// ---------------------------------------------------------------------------------------------
// Saving

// Tensors go through a buffer: in the bytes they may lie at any address.
void mm_ampo_save(const mm_ampo *a, void *state) {
  unsigned char *start = state, *to = start;
  uint64_t version = VERSION, number[N_NUMBERS];
  describe(a, number);
  to = mm_state_put(to, mark, sizeof mark);
  to = mm_state_put(to, &version, sizeof version);
  to = mm_state_put(to, number, sizeof number);
  to = mm_state_put(to, a->running, a->n_env * sizeof *a->running);
  to = mm_state_put(to, a->finished, a->n_env * sizeof *a->finished);
  to = mm_state_put(to, a->now, a->n_env * a->row_size);
  mm_vec_keep(a->vec, to);
  to += mm_vec_kept_size(a->vec);
  if (a->real) mm_wrap_save(a->wrap, to);
  to += wrap_size(a);
  for (int p = 0; p < PARTS; p++)
    for (int i = 0; i < mm_net_tensors(a->net); i++) {
      mm_net_export(a->net, parts[p], i, a->tensor);
      to = mm_state_put(to, a->tensor, tensor_size(a->net, i));
    }
  mm_state_seal(start, to);
}

// ---------------------------------------------------------------------------------------------
// Loading

static mm_status check_fit(const mm_ampo *a, const uint64_t number[N_NUMBERS], size_t size) {
  uint64_t own[N_NUMBERS];
  describe(a, own);
  for (int i = 0; i < N_FIXED; i++)
    if (number[i] != own[i])
      return MM_FAIL(MM_ERR_INPUT, "state of an agent: %s = %llu: expected %llu", names[i],
                     (unsigned long long)number[i], (unsigned long long)own[i]);
  uint64_t iteration = number[AT_iteration];
  if (iteration > own[AT_iterations])
    return MM_FAIL(MM_ERR_INPUT, "state of an agent: iteration = %llu: expected at most %llu",
                   (unsigned long long)iteration, (unsigned long long)own[AT_iterations]);
  uint64_t steps = iteration * (uint64_t)a->config.epochs * (uint64_t)a->config.minibatches;
  if (number[AT_gradient_steps] != steps)
    return MM_FAIL(MM_ERR_INPUT, "state of an agent: gradient_steps = %llu: expected %llu",
                   (unsigned long long)number[AT_gradient_steps], (unsigned long long)steps);
  if (size != mm_ampo_state_size(a))
    return MM_FAIL(MM_ERR_INPUT, "state of an agent: %zu bytes: expected %zu", size,
                   mm_ampo_state_size(a));
  return MM_OK;
}

// Inputs that are on: ascending, then nothing but filler. Networks take them as places.
static bool list_is_valid(const uint16_t *list, int32_t entries, int32_t n_input) {
  int32_t last = -1, k = 0;
  for (; k < entries && list[k] < n_input; last = list[k++])
    if (list[k] <= last) return false;
  while (k < entries && list[k] == n_input)
    k++;
  return k == entries;
}

static mm_status check_obs(const mm_ampo *a) {
  const uint16_t *list = (const void *)a->now;
  for (size_t e = 0; e < a->n_env && a->lists; e++)
    if (!list_is_valid(list + e * (size_t)a->info.entries, a->info.entries, a->info.n_input))
      return MM_FAIL(MM_ERR_INPUT, "state of an agent: observation %zu: expected inputs ascending",
                     e);
  return MM_OK;
}

mm_status mm_ampo_load(mm_ampo *a, const void *state, size_t size) {
  uint64_t number[N_NUMBERS];
  const unsigned char *from = state;
  MM_TRY(mm_state_check(from, size, "state of an agent", mark, VERSION, HEAD_SIZE));
  from = mm_state_get(from + sizeof mark + sizeof(uint64_t), number, sizeof number);
  MM_TRY(check_fit(a, number, size));
  a->iteration = (int64_t)number[AT_iteration];
  mm_net_set_count(a->net, number[AT_gradient_steps]);
  from = mm_state_get(from, a->running, a->n_env * sizeof *a->running);
  from = mm_state_get(from, a->finished, a->n_env * sizeof *a->finished);
  from = mm_state_get(from, a->now, a->n_env * a->row_size);
  MM_TRY(check_obs(a));
  MM_TRY(mm_vec_take_up(a->vec, from, mm_vec_kept_size(a->vec)));
  from += mm_vec_kept_size(a->vec);
  if (a->real) MM_TRY(mm_wrap_load(a->wrap, from, wrap_size(a)));
  from += wrap_size(a);
  for (int p = 0; p < PARTS; p++)
    for (int i = 0; i < mm_net_tensors(a->net); i++) {
      from = mm_state_get(from, a->tensor, tensor_size(a->net, i));
      mm_net_import(a->net, parts[p], i, a->tensor);
    }
  return MM_OK;
}

mm_status mm_ampo_follow(mm_ampo *a, int64_t iteration, const void *env, const float *running,
                         const float *finished, const void *wrap) {
  a->iteration = iteration;
  mm_net_set_count(a->net, (uint64_t)iteration * (uint64_t)a->config.epochs *
                               (uint64_t)a->config.minibatches);
  memcpy(a->running, running, a->n_env * sizeof *running);
  memcpy(a->finished, finished, a->n_env * sizeof *finished);
  MM_TRY(mm_vec_take_up(a->vec, env, mm_vec_kept_size(a->vec)));
  if (!a->real) return mm_vec_observe(a->vec, a->now);
  MM_TRY(mm_wrap_load(a->wrap, wrap, wrap_size(a)));
  mm_wrap_observe(a->wrap, (float *)(void *)a->now);
  mm_ampo_real_keep_scale(a);
  return MM_OK;
}
