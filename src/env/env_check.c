// SPDX-License-Identifier: Apache-2.0
// The rules of environments, checked by random play. A first play with same-step autoreset is the
// reference: every other play must come to the same rewards, ends and observations, of which hashes
// are kept.

#include "env/env_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/status.h"
#include "env/env_internal.h"

const mm_env_rule_info mm_env_rules_info[MM_ENV_RULES] = {
#define INFO(RULE, name, text) { name, text },
  MM_ENV_RULE_LIST(INFO)
};

enum { N = 5, MORE = 3 };

// What a step showed of an environment.
typedef struct seen {
  float reward;
  uint8_t end;
  uint64_t obs, last; // hashes; `last` of the episode's last observation, or 0
} seen;

typedef struct check {
  const mm_env *env;
  mm_env_check_config config;
  mm_env_finding *out;
  uint64_t *first;           // [N] hashes of first observations
  seen *reference;           // [steps][N]
  uint64_t room;             // of these steps
  uint64_t ended, truncated; // episodes of the reference
} check;

typedef struct play {
  mm_vec *vec;
  mm_vec_info info;
  mm_vec_out out;
  void *action;
  uint64_t *k;     // [n] steps that the environment has done: which action is next
  uint8_t *ended;  // [n] its episode has ended, and the next is to be shown
  float *low;      // [n_input], and behind it the upper bounds
  int32_t *length; // [n] of the episode
  bool one_lane;   // all environments do the same
  mm_arena arena;
} play;

// Keeps the first place alone.
#define NOTE(c, rule, ...)                                                                         \
  do {                                                                                             \
    mm_env_finding *finding_ = &(c)->out[rule];                                                    \
    if (finding_->unmet) finding_->why[0] = '\0';                                                  \
    finding_->unmet = false;                                                                       \
    if (finding_->why[0] == '\0') snprintf(finding_->why, MM_ENV_WHY, __VA_ARGS__);                \
  } while (0)

// Of a rule that was not found broken; one that is found broken later is broken.
#define NOTE_UNMET(c, rule, ...)                                                                   \
  do {                                                                                             \
    if ((c)->out[rule].why[0] != '\0') break;                                                      \
    NOTE(c, rule, __VA_ARGS__);                                                                    \
    (c)->out[rule].unmet = true;                                                                   \
  } while (0)

// ---------------------------------------------------------------------------------------------
// A play

static void play_close(play *p) {
  mm_vec_destroy(p->vec);
  mm_arena_destroy(&p->arena);
}

static mm_status take_buffers(play *p) {
  const size_t n = p->info.n, width = p->info.n_real > 0 ? (size_t)p->info.n_real : 1;
  const size_t sizes[] = { p->info.obs_size,
                           p->info.obs_size,
                           n * sizeof(float),
                           n,
                           n * width * sizeof(float),
                           n * sizeof *p->k,
                           n,
                           2 * (size_t)p->info.n_input * sizeof(float),
                           n * sizeof *p->length };
  void *at[sizeof sizes / sizeof *sizes];
  size_t all = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    all += mm_arena_size_of(sizes[i]);
  MM_TRY(mm_arena_create(all, &p->arena));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    at[i] = mm_arena_take(&p->arena, sizes[i]);
  p->out = (mm_vec_out){ .obs = at[0], .final_obs = at[1], .reward = at[2], .end = at[3] };
  p->action = at[4];
  p->k = at[5];
  p->ended = at[6];
  p->low = at[7];
  p->length = at[8];
  mm_vec_obs_bounds(p->vec, p->low, p->low + p->info.n_input);
  return MM_OK;
}

static mm_status play_open(const check *c, size_t n, uint64_t seed, mm_autoreset autoreset,
                           play *out) {
  mm_vec_config config = mm_vec_config_default();
  config.n = n;
  config.seed = seed;
  config.autoreset = autoreset;
  *out = (play){ 0 };
  MM_TRY(mm_vec_create(c->env, &config, &out->vec));
  mm_vec_describe(out->vec, &out->info);
  mm_status status = take_buffers(out);
  if (status != MM_OK) play_close(out);
  return status;
}

// Action k[i] of environment i, drawn from all that there are.
static void draw_action(const check *c, play *p, size_t i) {
  const mm_stream stream =
      mm_stream_make(c->config.seed, 0, MM_RNG_ACTION, p->one_lane ? 0 : (uint32_t)i);
  const size_t width = (size_t)p->info.n_real;
  const float low = p->info.low, high = p->info.high;
  if (p->info.n_action > 0)
    ((int32_t *)p->action)[i] =
        (int32_t)mm_uniform_int(mm_stream_pair(stream, p->k[i]), (uint32_t)p->info.n_action);
  for (size_t j = 0; j < width; j++) {
    const uint64_t pair = mm_stream_pair(stream, p->k[i] * width + j);
    ((float *)p->action)[i * width + j] = low + (high - low) * mm_uniform_f((uint32_t)pair);
  }
}

// Last observations that are not written are no numbers.
static mm_status play_step(const check *c, play *p) {
  for (size_t i = 0; i < p->info.n; i++)
    draw_action(c, p, i);
  memset(p->out.final_obs, 0xff, p->info.obs_size);
  return mm_vec_step(p->vec, p->action, &p->out);
}

static const float *row_of(const play *p, const void *obs, size_t i) {
  return (const float *)obs + i * (size_t)p->info.n_input;
}

static uint64_t hash_of(const play *p, const void *obs, size_t i) {
  const unsigned char *byte = (const unsigned char *)row_of(p, obs, i);
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t k = 0; k < (size_t)p->info.n_input * sizeof(float); k++)
    h = (h ^ byte[k]) * 0x100000001b3u;
  return h;
}

static seen see(const play *p, size_t i) {
  const uint8_t end = p->out.end[i];
  return (seen){ p->out.reward[i], end, hash_of(p, p->out.obs, i),
                 end ? hash_of(p, p->out.final_obs, i) : 0 };
}

// ---------------------------------------------------------------------------------------------
// The reference, and what each of its steps must keep to

static void look_at_row(const check *c, const play *p, const float *row, size_t i, uint64_t t) {
  const float *low = p->low, *high = low + p->info.n_input;
  for (int32_t k = 0; k < p->info.n_input; k++) {
    if (!isfinite(row[k]))
      NOTE(c, MM_ENV_RULE_FINITE, "step %llu, environment %zu: observation[%d] = %g",
           (unsigned long long)t, i, k, (double)row[k]);
    if (row[k] < low[k] || row[k] > high[k])
      NOTE(c, MM_ENV_RULE_BOUNDS,
           "step %llu, environment %zu: observation[%d] = %g: expected %g .. %g",
           (unsigned long long)t, i, k, (double)row[k], (double)low[k], (double)high[k]);
  }
}

static void look_at_end(check *c, play *p, size_t i) {
  const unsigned end = p->out.end[i];
  const int32_t length = ++p->length[i], limit = p->info.limit;
  const bool truncated = (end & MM_END_TRUNCATED) != 0;
  if (end & ~(unsigned)(MM_END_TERMINATED | MM_END_TRUNCATED))
    NOTE(c, MM_ENV_RULE_ENDS, "environment %zu: end = %u: expected MM_END_ bits", i, end);
  if (truncated != (limit > 0 && length == limit) || (limit > 0 && length > limit))
    NOTE(c, MM_ENV_RULE_ENDS, "environment %zu, step %d of an episode: %s, with a limit of %d", i,
         length, truncated ? "truncated" : "not truncated", limit);
  c->ended += end != 0;
  c->truncated += truncated;
  if (end) p->length[i] = 0;
}

static void look(check *c, play *p, size_t i, uint64_t t) {
  look_at_row(c, p, row_of(p, p->out.obs, i), i, t);
  if (p->out.end[i]) look_at_row(c, p, row_of(p, p->out.final_obs, i), i, t);
  if (!isfinite(p->out.reward[i]))
    NOTE(c, MM_ENV_RULE_FINITE, "step %llu, environment %zu: reward = %g", (unsigned long long)t, i,
         (double)p->out.reward[i]);
  look_at_end(c, p, i);
}

static mm_status make_room(check *c, uint64_t t) {
  if (t < c->room) return MM_OK;
  const uint64_t room = t < c->config.steps ? c->config.steps : 2 * t;
  seen *larger = mm_alloc_array((size_t)room, N * sizeof *larger);
  if (!larger) return MM_FAIL(MM_ERR_MEMORY, "no memory for %llu steps", (unsigned long long)room);
  if (t > 0) memcpy(larger, c->reference, (size_t)t * N * sizeof *larger);
  mm_free(c->reference);
  c->reference = larger;
  c->room = room;
  return MM_OK;
}

static mm_status step_and_look(check *c, play *p, uint64_t t) {
  MM_TRY(play_step(c, p));
  for (size_t i = 0; i < N; i++) {
    p->k[i]++;
    look(c, p, i, t + 1);
  }
  return MM_OK;
}

static mm_status play_reference(check *c, play *p) {
  MM_TRY(mm_vec_reset(p->vec, &p->out));
  for (size_t i = 0; i < N; i++) {
    c->first[i] = hash_of(p, p->out.obs, i);
    look_at_row(c, p, row_of(p, p->out.obs, i), i, 0);
  }
  // until an episode has ended, all is kept: the other plays go as far
  uint64_t t = 0;
  for (; t < c->config.steps || (t < c->config.most && c->ended == 0); t++) {
    MM_TRY(make_room(c, t));
    MM_TRY(step_and_look(c, p, t));
    for (size_t i = 0; i < N; i++)
      c->reference[t * N + i] = see(p, i);
  }
  c->config.steps = t;
  for (; t < c->config.most && p->info.limit > 0 && c->truncated == 0; t++)
    MM_TRY(step_and_look(c, p, t));
  if (c->ended == 0)
    NOTE_UNMET(c, MM_ENV_RULE_AUTORESET, "no episode ended within %llu steps",
               (unsigned long long)t);
  if (p->info.limit > 0 && c->truncated == 0)
    NOTE_UNMET(c, MM_ENV_RULE_ENDS, "no episode came to the limit of %d within %llu steps",
               (int)p->info.limit, (unsigned long long)t);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Other plays

// Numbers are compared by their bits.
static const char *difference(const seen *a, const seen *b) {
  if (memcmp(&a->reward, &b->reward, sizeof a->reward) != 0) return "reward";
  if (a->end != b->end) return "end";
  if (a->last != b->last) return "last observation";
  return a->obs != b->obs ? "observation" : NULL;
}

static void compare(const check *c, mm_env_rule rule, const char *when, uint64_t t, size_t i,
                    const seen *got, const seen *expected) {
  const char *what = difference(got, expected);
  if (what)
    NOTE(c, rule, "%s: step %llu, environment %zu: the %s differs", when,
         (unsigned long long)(t + 1), i, what);
}

static void compare_first(const check *c, mm_env_rule rule, const char *when, const play *p) {
  for (size_t i = 0; i < N && i < p->info.n; i++)
    if (hash_of(p, p->out.obs, i) != c->first[i])
      NOTE(c, rule, "%s: environment %zu: the first observation differs", when, i);
}

// Steps from <= t < to once more, of the environments that the reference has.
static mm_status repeat(const check *c, mm_env_rule rule, const char *when, play *p, uint64_t from,
                        uint64_t to) {
  for (size_t i = 0; i < p->info.n; i++)
    p->k[i] = from;
  for (uint64_t t = from; t < to; t++) {
    MM_TRY(play_step(c, p));
    for (size_t i = 0; i < p->info.n; i++) {
      p->k[i]++;
      const seen now = see(p, i);
      if (i < N) compare(c, rule, when, t, i, &now, &c->reference[t * N + i]);
    }
  }
  return MM_OK;
}

static mm_status repeat_from_reset(const check *c, mm_env_rule rule, const char *when, play *p,
                                   uint64_t to) {
  MM_TRY(mm_vec_reset(p->vec, &p->out));
  compare_first(c, rule, when, p);
  return repeat(c, rule, when, p, 0, to);
}

static mm_status check_determinism(const check *c, play *p) {
  MM_TRY(repeat_from_reset(c, MM_ENV_RULE_DETERMINISM, "a second play", p, c->config.steps));
  return repeat_from_reset(c, MM_ENV_RULE_DETERMINISM, "after a second reset", p,
                           c->config.steps / 4);
}

static mm_status check_independence(const check *c, play *p) {
  return repeat_from_reset(c, MM_ENV_RULE_INDEPENDENCE, p->info.n == 1 ? "alone" : "among others",
                           p, c->config.steps / 2);
}

static mm_status hand_over(const check *c, play *from, play *to, void *bytes, size_t size) {
  const uint64_t half = c->config.steps / 2;
  MM_TRY(repeat_from_reset(c, MM_ENV_RULE_STATE, "before", from, half));
  mm_vec_save(from->vec, bytes);
  mm_status status = mm_vec_load(to->vec, bytes, size);
  if (status != MM_OK) {
    NOTE(c, MM_ENV_RULE_STATE, "%.150s", mm_last_error());
    return status == MM_ERR_INPUT ? MM_OK : status;
  }
  return repeat(c, MM_ENV_RULE_STATE, "after loading", to, half, c->config.steps);
}

static mm_status check_state(const check *c, play *p) {
  const size_t size = mm_vec_state_size(p->vec);
  play other;
  MM_TRY(play_open(c, N, c->config.seed, MM_AUTORESET_SAME_STEP, &other));
  void *bytes = mm_alloc(size);
  mm_status status = MM_OK;
  if (bytes)
    status = hand_over(c, p, &other, bytes, size);
  else
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for a state of environments");
  mm_free(bytes);
  play_close(&other);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Starts that are held back: an episode's last observation is shown, then the start of the next

static void follow(const check *c, play *p, size_t i, const char *when) {
  const uint64_t t = p->k[i]++;
  seen expected = c->reference[t * N + i], now = see(p, i);
  if (expected.end) expected.obs = expected.last;
  compare(c, MM_ENV_RULE_AUTORESET, when, t, i, &now, &expected);
  p->ended[i] = p->out.end[i] != 0;
}

static void begin(const check *c, play *p, size_t i, const char *when) {
  const seen *before = &c->reference[(p->k[i] - 1) * N + i];
  if (hash_of(p, p->out.obs, i) != before->obs)
    NOTE(c, MM_ENV_RULE_AUTORESET, "%s: environment %zu: the start after step %llu differs", when,
         i, (unsigned long long)p->k[i]);
  p->ended[i] = 0;
}

static mm_status check_next_step(const check *c, play *p) {
  const char *when = "next step";
  MM_TRY(mm_vec_reset(p->vec, &p->out));
  for (uint64_t t = 0; t < c->config.steps; t++) {
    MM_TRY(play_step(c, p));
    for (size_t i = 0; i < N; i++) {
      const bool starts = p->ended[i];
      if (starts && (p->out.reward[i] != 0 || p->out.end[i] != 0))
        NOTE(c, MM_ENV_RULE_AUTORESET, "%s: environment %zu: a start with a reward or an end", when,
             i);
      if (starts)
        begin(c, p, i, when);
      else
        follow(c, p, i, when);
    }
  }
  return MM_OK;
}

static mm_status check_disabled(const check *c, play *p) {
  const char *when = "disabled";
  MM_TRY(mm_vec_reset(p->vec, &p->out));
  for (uint64_t t = 0; t < c->config.steps; t++) {
    if (memchr(p->ended, 1, N) && play_step(c, p) != MM_ERR_INPUT)
      NOTE(c, MM_ENV_RULE_AUTORESET, "%s: an environment that has ended was stepped", when);
    MM_TRY(mm_vec_reset_where(p->vec, p->ended, NULL, &p->out));
    for (size_t i = 0; i < N; i++)
      if (p->ended[i]) begin(c, p, i, when);
    MM_TRY(play_step(c, p));
    for (size_t i = 0; i < N; i++)
      follow(c, p, i, when);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

// The last of N gets the seed that the other play's only one has.
static mm_status check_seeds(const check *c, play *p) {
  uint8_t mask[N] = { 0 };
  uint64_t seed[N] = { [N - 1] = c->config.seed + 1 };
  play alone;
  mask[N - 1] = 1;
  p->one_lane = true;
  MM_TRY(play_open(c, 1, c->config.seed, MM_AUTORESET_SAME_STEP, &alone));
  mm_status status = mm_vec_reset(p->vec, &p->out);
  for (uint64_t t = 0; t < c->config.steps && status == MM_OK; t++) {
    if (t == c->config.steps / 8) {
      status = mm_vec_reset_where(p->vec, mask, seed, &p->out);
      if (status == MM_OK) status = mm_vec_reset_where(alone.vec, NULL, &seed[N - 1], &alone.out);
    }
    if (status == MM_OK) status = play_step(c, p);
    for (size_t i = 0; i < N; i++)
      p->k[i] = t + 1;
    if (t < c->config.steps / 8 || status != MM_OK) continue;
    alone.k[0] = t;
    status = play_step(c, &alone);
    const seen now = see(p, N - 1), expected = see(&alone, 0);
    compare(c, MM_ENV_RULE_SEEDS, "with a seed of its own", t, N - 1, &now, &expected);
  }
  play_close(&alone);
  return status;
}

static bool same_sight(const play *a, const play *b) {
  const size_t n = a->info.n;
  return memcmp(a->out.obs, b->out.obs, a->info.obs_size) == 0 &&
         memcmp(a->out.reward, b->out.reward, n * sizeof *a->out.reward) == 0 &&
         memcmp(a->out.end, b->out.end, n) == 0;
}

// Whether a play with the next seed and the same actions ever shows something else.
static mm_status play_apart(const check *c, play *p, play *other, bool *apart) {
  MM_TRY(mm_vec_reset(p->vec, &p->out));
  MM_TRY(mm_vec_reset(other->vec, &other->out));
  *apart = memcmp(p->out.obs, other->out.obs, p->info.obs_size) != 0;
  for (uint64_t t = 0; t < c->config.most && !*apart; t++) {
    MM_TRY(play_step(c, p));
    MM_TRY(play_step(c, other));
    for (size_t i = 0; i < N; i++)
      p->k[i] = other->k[i] = t + 1;
    *apart = !same_sight(p, other);
  }
  return MM_OK;
}

// An environment without chance says so: the sentence about it is, or begins with, "nothing".
static mm_status check_chance(const check *c, play *p) {
  const mm_env_kind *kind = c->env->kind;
  const char *said = kind && kind->about ? kind->about->facts.random : NULL;
  const size_t size = strlen(MM_NOTHING_RANDOM);
  const unsigned long long seed = c->config.seed;
  play other;
  bool apart = false;
  MM_TRY(play_open(c, N, c->config.seed + 1, MM_AUTORESET_SAME_STEP, &other));
  const mm_status status = play_apart(c, p, &other, &apart);
  play_close(&other);
  MM_TRY(status);
  if (apart && said && strcmp(said, MM_NOTHING_RANDOM) == 0)
    NOTE(c, MM_ENV_RULE_CHANCE,
         "seeds %llu and %llu give different episodes: nothing was said to "
         "be random",
         seed, seed + 1);
  if (apart || (said && strncmp(said, MM_NOTHING_RANDOM, size) == 0)) return MM_OK;
  if (kind)
    NOTE(c, MM_ENV_RULE_CHANCE,
         "seeds %llu and %llu give the same episodes: expected that it says "
         "'" MM_NOTHING_RANDOM "' is random",
         seed, seed + 1);
  else
    NOTE_UNMET(c, MM_ENV_RULE_CHANCE, "seeds %llu and %llu give the same episodes", seed, seed + 1);
  return MM_OK;
}

static mm_status with_play(const check *c, size_t n, mm_autoreset autoreset,
                           mm_status (*function)(const check *c, play *p)) {
  play p;
  MM_TRY(play_open(c, n, c->config.seed, autoreset, &p));
  mm_status status = function(c, &p);
  play_close(&p);
  return status;
}

static mm_status check_all(check *c) {
  play p;
  MM_TRY(play_open(c, N, c->config.seed, MM_AUTORESET_SAME_STEP, &p));
  mm_status status = play_reference(c, &p);
  play_close(&p);
  MM_TRY(status);
  MM_TRY(with_play(c, N, MM_AUTORESET_SAME_STEP, check_determinism));
  MM_TRY(with_play(c, N, MM_AUTORESET_NEXT_STEP, check_next_step));
  MM_TRY(with_play(c, N, MM_AUTORESET_DISABLED, check_disabled));
  MM_TRY(with_play(c, N, MM_AUTORESET_SAME_STEP, check_state));
  MM_TRY(with_play(c, 1, MM_AUTORESET_SAME_STEP, check_independence));
  MM_TRY(with_play(c, N + MORE, MM_AUTORESET_SAME_STEP, check_independence));
  MM_TRY(with_play(c, N, MM_AUTORESET_SAME_STEP, check_seeds));
  return with_play(c, N, MM_AUTORESET_SAME_STEP, check_chance);
}

mm_status mm_env_check(const mm_env *env, const mm_env_check_config *config, mm_env_finding *out) {
  enum { STEPS_MOST = 10000000 };
  check c = { .env = env, .config = *config, .out = out };
  if (config->steps < 8 || config->steps > STEPS_MOST)
    return MM_FAIL(MM_ERR_INPUT, "%llu steps: expected 8 .. %d", (unsigned long long)config->steps,
                   STEPS_MOST);
  if (config->most > STEPS_MOST)
    return MM_FAIL(MM_ERR_INPUT, "at most %llu steps: expected no more than %d",
                   (unsigned long long)config->most, STEPS_MOST);
  if (c.config.most == 0)
    c.config.most = config->steps < STEPS_MOST / 10 ? 10 * config->steps : STEPS_MOST;
  memset(out, 0, MM_ENV_RULES * sizeof *out);
  c.first = mm_alloc(N * sizeof *c.first);
  if (!c.first) return MM_FAIL(MM_ERR_MEMORY, "no memory for a check");
  const mm_status status = check_all(&c);
  mm_free(c.first);
  mm_free(c.reference);
  return status;
}
