// SPDX-License-Identifier: Apache-2.0
// A plug-in with a fault, chosen by -DFAULT_<NAME>: an environment that breaks one rule of
// `env check`, a potential that is none, or an object that cannot be loaded. Without one it is a
// walk at random that keeps all rules.

#include <math.h>
#include <mirrormap/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FAULT_LATE
enum { LIMIT = 3000 };
#elif defined FAULT_ENDLESS
enum { LIMIT = 0 };
#else
enum { LIMIT = 20 };
#endif

// Without chance: one that does not say so, and one that does.
static float uniform(mm_random *random) {
#if defined FAULT_CHANCE || defined FAULT_STILL
  (void)random;
  return 0.5f;
#else
  return mm_random_uniform(random);
#endif
}

// What ends an episode before the limit.
static bool is_over(mm_random *random) {
#if defined FAULT_LATE || defined FAULT_ENDLESS
  (void)random;
  return false;
#else
  return (int)(30 * uniform(random)) == 0;
#endif
}

typedef struct walk {
  float at; // in [0, 1]
  int32_t time;
  int32_t looks;
  const void *self;
} walk;

static float disturbance; // what no seed names

static void reset(void *state, mm_random *random) {
  walk *w = state;
  w->at = 0.5f * uniform(random) + 0.5f * disturbance;
  w->self = state;
#ifdef FAULT_DETERMINISM
  disturbance = 1 - disturbance + 0.001f;
#endif
}

static int step(void *state, const void *action, mm_random *random, float *reward) {
  walk *w = state;
  float pull = 0.25f * (float)*(const int32_t *)action;
#ifdef FAULT_STATE // forgets what it was when it lies elsewhere
  if (w->self != state) pull = 0.1f;
  w->self = state;
#endif
#if defined FAULT_INDEPENDENCE || defined FAULT_SEEDS // the one that was stepped before
  pull += 0.1f * disturbance;
  disturbance = w->at;
#endif
  w->at = 0.5f * w->at + 0.25f * uniform(random) + pull;
  w->time++;
  *reward = w->at;
#ifdef FAULT_FINITE
  if (w->time == 9) *reward = NAN;
#endif
#ifdef FAULT_BOUNDS
  if (w->time == 7) w->at = 1.5f;
#endif
#ifdef FAULT_LATE // met by nobody who does not wait for it
  if (w->time == LIMIT) w->at = 1.5f;
#endif
#ifdef FAULT_ENDS
  if (w->time == LIMIT / 2) return MM_END_TRUNCATED;
#endif
  return is_over(random) ? MM_END_TERMINATED : 0;
}

static void observe(const void *state, float *obs) {
  const walk *w = state;
  obs[0] = w->at;
  obs[1] = (float)w->time;
#ifdef FAULT_AUTORESET // to be looked at changes it
  ((walk *)(uintptr_t)state)->looks++;
  obs[1] = (float)w->looks;
#endif
}

static const float bounds[2][2] = { { 0, 1 }, { 0, 1e9f } };
static const char *const actions[] = { "left", "right" };

static const mm_plugin_env env = {
  .size = sizeof env,
#ifdef FAULT_TAKEN
  .id = "CartPole-v1",
#else
  .id = "Walk",
#endif
#ifndef FAULT_LACK
  .summary = "a walk at random",
#endif
  .n_input = 2,
  .n_action = 2,
  .limit = LIMIT,
  .state_size = sizeof(walk),
  .reset = reset,
  .step = step,
  .observe = observe,
  .bounds = bounds,
  .action_name = actions,
#if defined FAULT_STILL || defined FAULT_NOTHING
  .random = MM_NOTHING_RANDOM,
#else
  .random = "the start, the pull and the end",
#endif
};
static const mm_plugin_env *const envs[] = { &env, NULL };

// ---------------------------------------------------------------------------------------------

static double inverse(const double *x, double p) {
#ifdef FAULT_FALLING
  return x[0] * sin(10 * p);
#else
  return x[0] * p;
#endif
}

static double slope(const double *x, double p) {
#ifdef FAULT_SLOPE
  return 2 * x[0] + 0 * p;
#else
  return x[0] + 0 * p;
#endif
}

static double integral(const double *x, double p) {
#ifdef FAULT_INTEGRAL
  return x[0] * (p - 1);
#else
  return 0.5 * x[0] * (p * p - 1);
#endif
}

static const mm_plugin_parameter scale[] = { { "scale", 1, 0, 10, false } };
static const mm_plugin_potential potential = {
  .size = sizeof potential,
  .name = "straight",
  .summary = "l2 with a factor",
  .n_parameter = 1,
  .parameter = scale,
  .inverse = inverse,
  .slope = slope,
  .integral = integral,
};
static const mm_plugin_potential *const potentials[] = { &potential, NULL };

// The probability of the second action, by the map; or nothing.
static mm_status choose(mm_training *t) {
  const double scores[2] = { 0, 0.5 };
  double probs[2], lambda;
  if (t->setting[1] > 0) return MM_ERR_NUMERIC;
  const mm_status status = mm_map_project(t->map, MM_PROJECTION_EXACT, scores, 2, probs, &lambda);
  if (status == MM_OK) mm_training_point(t, (uint64_t)t->setting[0], probs[1]);
  return status;
}

static const mm_plugin_setting settings[] = { { "steps", 100, 1, 1e9, true, "of a run" },
                                              { "fail", 0, 0, 1, true, "comes to nothing" } };
static const mm_plugin_learner chooser = {
  .size = sizeof chooser,
  .name = "chooser",
  .summary = "chooses once",
  .discrete = true,
  .has_map = true,
  .n_setting = 2,
  .setting = settings,
  .train = choose,
};
static const mm_plugin_learner *const learners[] = { &chooser, NULL };

// ---------------------------------------------------------------------------------------------

#if defined FAULT_CRASH || defined FAULT_EXIT || defined FAULT_HANG
__attribute__((constructor)) static void begin(void) {
#if defined FAULT_CRASH
  abort();
#elif defined FAULT_EXIT
  _exit(0);
#else
  pause();
#endif
}
#endif

#ifdef FAULT_SYMBOL
MM_API extern const mm_plugin somebody;
#define mirrormap_plugin somebody
#endif

#ifdef FAULT_MISSING
void there_is_no_such_function(void);
MM_API void call_it(void);
void call_it(void) {
  there_is_no_such_function();
}
#endif

const mm_plugin mirrormap_plugin = {
#ifdef FAULT_INTERFACE
  .interface = MM_PLUGIN_INTERFACE - 1,
#else
  .interface = MM_PLUGIN_INTERFACE,
#endif
#ifdef FAULT_SIZE
  .size = sizeof(mm_plugin) + 8,
#else
  .size = sizeof(mm_plugin),
#endif
#ifdef FAULT_NAME
  .name = "a walk",
#else
  .name = "walk",
#endif
#ifdef FAULT_VERSION
  .version = "2",
#else
  .version = "1",
#endif
  .env = envs,
  .potential = potentials,
  .learner = learners,
};
