// Traces of classic control: only the start is random, so a state, an action and the time decide a
// transition. Numbers agree within 1e-5 max(1, |recorded|), angles up to whole turns.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "env/classic/classic_trace.h"
#include "env/classic/classics.h"

// ---------------------------------------------------------------------------------------------
// Replay

// `time` grows by one a step and must not overflow.
enum { TIME_MOST = 1 << 30 };

// The columns of a trajectory, at the current step.
typedef struct columns {
  const cJSON *state, *time, *obs; // one more than of the others
  const cJSON *action;
  mm_trace_outcomes outcome;
  size_t n; // transitions
} columns;

static mm_status read_columns(const mm_trace_place *place, const cJSON *item, columns *out) {
  MM_TRY(mm_trace_actions(place, item, &out->action, &out->n));
  MM_TRY(mm_trace_column(place, item, "states", out->n + 1, &out->state));
  MM_TRY(mm_trace_column(place, item, "times", out->n + 1, &out->time));
  MM_TRY(mm_trace_column(place, item, "obs", out->n + 1, &out->obs));
  return mm_trace_outcomes_find(place, item, out->n, &out->outcome);
}

static void advance(columns *c) {
  c->state = c->state->next, c->time = c->time->next, c->obs = c->obs->next;
  c->action = c->action->next;
}

static mm_status read_state(const mm_classic *env, const mm_trace_place *place, const columns *c,
                            mm_single *out) {
  memset(out, 0, sizeof *out);
  MM_TRY(mm_trace_floats(place, "states", c->state, env->n_state, out->f));
  return mm_trace_whole(place, "times", c->time, 0, TIME_MOST, &out->time);
}

static mm_status read_action(const mm_classic *env, const mm_trace_place *place, const cJSON *item,
                             float *out) {
  int32_t index = 0;
  if (env->n_action == 0) return mm_trace_float(place, "actions", item, out);
  MM_TRY(mm_trace_whole(place, "actions", item, 0, env->n_action - 1, &index));
  *out = (float)index;
  return MM_OK;
}

static mm_status compare_obs(const mm_classic *env, const mm_trace_place *place,
                             const cJSON *recorded, const mm_single *s, mm_replay *r) {
  float expected[MM_CLASSIC_OBS_MAX], got[MM_CLASSIC_OBS_MAX];
  MM_TRY(mm_trace_floats(place, "obs", recorded, env->n_obs, expected));
  env->observe(s, got);
  for (int i = 0; i < env->n_obs; i++)
    mm_replay_near(r, "obs", i, (double)expected[i], (double)got[i], false);
  return MM_OK;
}

typedef struct outcome {
  mm_single s;
  mm_trace_outcome of; // the transition
} outcome;

// Leaves `c` at the state after the transition.
static mm_status read_outcome(const mm_classic *env, mm_trace_place *place, columns *c,
                              outcome *out) {
  MM_TRY(mm_trace_outcomes_next(place, &c->outcome, &out->of));
  advance(c);
  return read_state(env, place, c, &out->s);
}

static void compare_outcomes(const mm_classic *env, const outcome *expected, const outcome *got,
                             mm_replay *r) {
  mm_replay_near(r, "rewards", -1, (double)expected->of.reward, (double)got->of.reward, false);
  mm_replay_ends(r, &expected->of, &got->of);
  mm_replay_exact(r, "times", -1, expected->s.time, got->s.time);
  for (int i = 0; i < env->n_state; i++)
    mm_replay_near(r, env->field[i], -1, (double)expected->s.f[i], (double)got->s.f[i],
                   env->is_angle[i]);
}

static mm_status replay_transition(const mm_classic *env, int32_t limit, mm_trace_place *place,
                                   columns *c, mm_replay *r) {
  outcome expected, got;
  float action;
  MM_TRY(read_state(env, place, c, &got.s));
  if (place->t == 0) { // the others are compared as results
    r->prefix = "start ";
    MM_TRY(compare_obs(env, place, c->obs, &got.s, r));
    r->prefix = "";
  }
  MM_TRY(read_action(env, place, c->action, &action));
  MM_TRY(read_outcome(env, place, c, &expected));
  int end = env->step(&got.s, action, &got.of.reward);
  got.of.terminated = (end & MM_END_TERMINATED) != 0;
  got.of.truncated = got.s.time >= limit; // the file's, where it has one
  compare_outcomes(env, &expected, &got, r);
  return compare_obs(env, place, c->obs, &got.s, r);
}

static mm_status replay_trajectory(const mm_classic *env, int32_t limit, mm_trace_place *place,
                                   const cJSON *item, mm_replay *r) {
  columns c;
  place->t = -1;
  MM_TRY(read_columns(place, item, &c));
  for (size_t t = 0; t < c.n; t++) {
    place->t = (int64_t)t;
    mm_replay_begin(r, place->trajectory, place->t);
    MM_TRY(replay_transition(env, limit, place, &c, r));
    mm_replay_end(r);
  }
  return MM_OK;
}

mm_status mm_classic_replay(int which, const cJSON *root, const char *source,
                            mm_replay_report *out) {
  const mm_classic *env = &mm_classics[which];
  const cJSON *trajectories, *item;
  int32_t limit = env->limit;
  mm_replay r = { .report = out };
  mm_trace_place place = { source, "trajectory", 0, -1 };
  MM_TRY(mm_trace_check_form(root, source, env->id, env->field, env->n_state, env->spec->params,
                             &limit, &trajectories));
  cJSON_ArrayForEach(item, trajectories) {
    MM_TRY(replay_trajectory(env, limit, &place, item, &r));
    place.trajectory++;
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Recording

enum { STATES, TIMES, OBS, ACTIONS, REWARDS, TERMINATED, TRUNCATED, N_COLUMN };

static const char *const column_names[N_COLUMN] = { "states",  "times",      "obs",      "actions",
                                                    "rewards", "terminated", "truncated" };

typedef struct recorder {
  const mm_classic *env;
  const mm_record_plan *plan;
  mm_stream resets, actions;
  uint64_t t;               // steps so far, of all episodes
  mm_text column[N_COLUMN]; // of the running episode
} recorder;

static void write_state(recorder *rec, const mm_single *s) {
  float obs[MM_CLASSIC_OBS_MAX];
  mm_text_floats(&rec->column[STATES], s->f, rec->env->n_state);
  mm_text_whole(&rec->column[TIMES], s->time);
  rec->env->observe(s, obs);
  mm_text_floats(&rec->column[OBS], obs, rec->env->n_obs);
}

static void play_episode(recorder *rec, uint64_t episode) {
  mm_single s = rec->env->start(rec->resets, episode);
  int end = 0;
  for (int i = 0; i < N_COLUMN; i++)
    mm_text_clear(&rec->column[i]);
  write_state(rec, &s);
  for (uint64_t t = 0; t < rec->plan->steps && !end; t++) {
    float reward, action = mm_classic_action(rec->env, rec->actions, rec->t++);
    end = rec->env->step(&s, action, &reward);
    if (rec->env->n_action > 0)
      mm_text_whole(&rec->column[ACTIONS], (int64_t)action);
    else
      mm_text_float(&rec->column[ACTIONS], action);
    mm_text_float(&rec->column[REWARDS], reward);
    mm_text_ends(&rec->column[TERMINATED], &rec->column[TRUNCATED], (unsigned)end);
    write_state(rec, &s);
  }
}

static void write_about(const mm_classic *env, const mm_record_plan *plan, mm_text *out) {
  const char *actions = env->spec->about_actions;
  char text[1024];
  snprintf(text, sizeof text,
           "Trajectories of %s, each from a start of its own and without automatic reset. For each "
           "trajectory: states[t] (numbers in the order of state_fields), times[t] and obs[t] for "
           "t = 0 .. T; actions[t], rewards[t], terminated[t], truncated[t] for the transition "
           "from t to t + 1. terminated is the natural end, truncated is time >= "
           "max_steps_in_episode; a trajectory that ends in neither was cut after %" PRIu64
           " steps. Numbers are float32, as the shortest decimals that read back to the same bits. "
           "A float32 implementation should agree to about 1e-5 relative per transition when it "
           "starts each one from the recorded state. %s Source: mirrormap %s, env record, seed "
           "%" PRIu64 ", uniformly random actions.",
           env->id, plan->steps, actions ? actions : "Actions are integers.", mm_version(),
           plan->seed);
  mm_text_key(out, "about");
  mm_text_string(out, text);
}

mm_status mm_classic_record(int which, const mm_record_plan *plan, mm_text *out,
                            uint64_t *transitions) {
  const mm_classic *env = &mm_classics[which];
  recorder rec = { .env = env, .plan = plan };
  rec.resets = mm_stream_make(plan->seed, 0, MM_RNG_ENV_RESET, 0);
  rec.actions = mm_stream_make(plan->seed, 0, MM_RNG_ACTION, 0);
  mm_text_open(out, '{');
  write_about(env, plan, out);
  mm_text_form(out, env->id, env->limit, env->spec->params, env->field, env->n_state);
  mm_text_key(out, "trajectories");
  mm_text_open(out, '[');
  for (uint64_t episode = 0; mm_text_goes_on(out) && episode < plan->episodes; episode++) {
    play_episode(&rec, episode);
    mm_text_episode(out, column_names, rec.column, N_COLUMN);
  }
  mm_text_close(out, ']');
  mm_text_close(out, '}');
  for (int i = 0; i < N_COLUMN; i++)
    mm_text_release(&rec.column[i]);
  *transitions = rec.t;
  return MM_OK;
}
