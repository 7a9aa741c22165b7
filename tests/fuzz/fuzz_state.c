// SPDX-License-Identifier: Apache-2.0
// Fuzz target: states of trainings and of evolution strategies, and networks, that were changed and
// given a checksum that fits. Refused with one line, or taken, and then of use: a training goes on,
// a strategy asks and is told, and what is saved again is taken again.
//
// An input is a list of changes to a state that is made here: its first byte chooses the kind, each
// further three are a place (two bytes, little-endian) and what is put there. So inputs stay short,
// and good when the format changes.

#define _XOPEN_SOURCE 700 // mkstemp

#include "../agent_fixture.h"
#include "agent/ampo.h"
#include "agent/job_hooks.h"
#include "agent/state_bytes.h"
#include "fuzz.h"
#include "mirrormap/evolve.h"

enum { AGENTS = 5, STRATEGIES = MM_ES_KINDS, KINDS = AGENTS + STRATEGIES + 1, DIMENSION = 6 };

// A copy of `bytes` with the input's changes, its checksum repaired.
static unsigned char *change(const void *bytes, size_t size, const uint8_t *data, size_t n) {
  unsigned char *copy = malloc(size);
  require(copy != NULL, "memory");
  memcpy(copy, bytes, size);
  for (size_t i = 1; i + 2 < n; i += 3)
    copy[((size_t)data[i] | (size_t)data[i + 1] << 8) % size] = data[i + 2];
  mm_state_seal(copy, copy + size - MM_STATE_CHECKSUM);
  return copy;
}

// ---------------------------------------------------------------------------------------------
// Trainings

typedef struct stage {
  mm_env *env;
  mm_map *map;
  mm_settings config;
  unsigned char *state; // after the first iteration
  size_t size;
} stage;

static mm_ampo *make_agent(const stage *g) {
  mm_ampo *agent;
  require(make_agent_of(g->env, g->map, &g->config, 3, 1, &agent) == MM_OK, "an agent");
  return agent;
}

static void set_stage(stage *g, int k) {
  static const char *const envs[AGENTS] = { "CartPole-v1", "Breakout-MinAtar", "GridWorld-small",
                                            "Pendulum-v1", "Seaquest-MinAtar" };
  require(mm_env_open(envs[k], &g->env) == MM_OK, "an environment");
  require(mm_map_open(k == 2 ? "tsallis:0.5" : "negentropy", &g->map) == MM_OK, "a map");
  g->config = mm_settings_default(k == 4 ? MM_ALGO_PPO : k == 3 ? MM_ALGO_GAUSSIAN : MM_ALGO_AMPO);
  g->config.net.envs = 2;
  g->config.net.unroll = 8;
  g->config.net.steps = 2 * 8 * 4;
  g->config.net.epochs = 1;
  g->config.net.minibatches = 1;
  g->config.net.hidden = 4;
  mm_ampo *agent = make_agent(g);
  require(mm_ampo_iterate(agent) == MM_OK, "an iteration");
  g->size = mm_ampo_state_size(agent);
  g->state = malloc(g->size);
  require(g->state != NULL, "memory");
  mm_ampo_save(agent, g->state);
  mm_ampo_destroy(agent);
}

static void try_training(int k, const uint8_t *data, size_t n) {
  static stage stages[AGENTS];
  stage *g = &stages[k];
  if (!g->env) set_stage(g, k);
  unsigned char *state = change(g->state, g->size, data, n);
  mm_ampo *agent = make_agent(g), *again = make_agent(g);
  mm_status status = mm_ampo_load(agent, state, g->size);
  if (status != MM_OK) {
    require_refusal(status, "");
  } else {
    // a number in it may be any, so an iteration may break down, but only by saying so
    status = mm_ampo_done(agent) < 4 ? mm_ampo_iterate(agent) : MM_OK;
    require(status == MM_OK || status == MM_ERR_NUMERIC, "it goes on");
    mm_ampo_save(agent, state);
    if (status == MM_OK)
      require(mm_ampo_load(again, state, g->size) == MM_OK, "what was saved is taken");
  }
  mm_ampo_destroy(agent);
  mm_ampo_destroy(again);
  free(state);
}

// ---------------------------------------------------------------------------------------------
// Evolution strategies

static void try_strategy(mm_es_kind kind, const uint8_t *data, size_t n) {
  static const double start[DIMENSION] = { 0, 1, -1, 0.5, 2, 3 };
  mm_es_config config = mm_es_config_default(kind);
  config.dimension = DIMENSION;
  config.population = 8;
  double member[8 * DIMENSION], fitness[8] = { 1, 2, 3, 4, 8, 7, 6, 5 };
  mm_es *es, *loaded;
  require(mm_es_create(&config, start, &es) == MM_OK, "a strategy");
  require(mm_es_ask(es, member) == MM_OK && mm_es_tell(es, fitness) == MM_OK, "a generation");
  size_t size = mm_es_state_size(es);
  unsigned char *bytes = malloc(size);
  require(bytes != NULL, "memory");
  mm_es_save(es, bytes);
  mm_es_destroy(es);
  unsigned char *state = change(bytes, size, data, n);
  mm_status status = mm_es_load(&config, state, size, &loaded);
  require((status == MM_OK) == (loaded != NULL), "a strategy on success and only then");
  if (status != MM_OK) {
    require_refusal(status, "state of");
  } else {
    mm_es_save(loaded, bytes);
    require(memcmp(bytes, state, size) == 0, "it is saved as it was");
    if (mm_es_ask(loaded, member) == MM_OK) mm_es_tell(loaded, fitness);
    mm_es_destroy(loaded);
  }
  free(bytes);
  free(state);
}

// ---------------------------------------------------------------------------------------------
// Networks

static void try_net(const uint8_t *data, size_t n) {
  static const mm_net_config shape = { .n_input = 3, .n_action = 2, .hidden = { 4, 5 } };
  mm_net *net, *loaded;
  void *bytes = NULL, *again = NULL;
  size_t size, size_again;
  require(mm_net_create(&shape, &net) == MM_OK, "networks");
  require(mm_job_net_save(net, &bytes, &size) == MM_OK, "networks as bytes");
  mm_net_destroy(net);
  unsigned char *state = change(bytes, size, data, n);
  mm_status status = mm_job_net_load(state, size, &loaded);
  require((status == MM_OK) == (loaded != NULL), "networks on success and only then");
  if (status != MM_OK) {
    require_refusal(status, "");
  } else {
    require(mm_job_net_save(loaded, &again, &size_again) == MM_OK, "they are saved again");
    require(size == size_again && memcmp(state, again, size) == 0, "to the same bytes");
    mm_net_destroy(loaded);
  }
  mm_free(bytes);
  mm_free(again);
  free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int kind = size > 0 ? data[0] % KINDS : 0;
  if (kind < AGENTS)
    try_training(kind, data, size);
  else if (kind < AGENTS + STRATEGIES)
    try_strategy((mm_es_kind)(kind - AGENTS), data, size);
  else
    try_net(data, size);
  return 0;
}
