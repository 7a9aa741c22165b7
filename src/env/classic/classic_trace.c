// SPDX-License-Identifier: Apache-2.0
// Traces of classic control: only the start is random, so a state, an action and the time decide a
// transition. Numbers agree within 1e-5 max(1, |recorded|), angles up to whole turns.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "env/classic/classics.h"
#include "env/trace_writer.h"

// ---------------------------------------------------------------------------------------------
// Replay

typedef struct replayer {
  mm_replayer base;
  const mm_classic *env;
  int32_t limit; // the file's, where it has one
} replayer;

static mm_status read_state(const replayer *re, mm_single *out) {
  const mm_trace_columns *c = &re->base.c;
  memset(out, 0, sizeof *out);
  MM_TRY(mm_trace_floats(&re->base.place, "states", c->state, re->env->n_state, out->f));
  return mm_trace_time(&re->base.place, c, &out->time);
}

static mm_status read_action(const replayer *re, float *out) {
  const mm_trace_place *place = &re->base.place;
  const cJSON *item = re->base.c.action;
  int32_t index = 0;
  if (re->env->n_action == 0) return mm_trace_float(place, "actions", item, out);
  MM_TRY(mm_trace_whole(place, "actions", item, 0, re->env->n_action - 1, &index));
  *out = (float)index;
  return MM_OK;
}

static mm_status compare_obs(replayer *re, const mm_single *s) {
  float expected[MM_CLASSIC_OBS_MAX], got[MM_CLASSIC_OBS_MAX];
  MM_TRY(mm_trace_floats(&re->base.place, "obs", re->base.c.obs, re->env->n_obs, expected));
  re->env->observe(s, got);
  for (int i = 0; i < re->env->n_obs; i++)
    mm_replay_near(&re->base.r, "obs", i, (double)expected[i], (double)got[i], false);
  return MM_OK;
}

typedef struct outcome {
  mm_single s;
  mm_trace_outcome of; // the transition
} outcome;

static void compare_outcomes(const mm_classic *env, const outcome *expected, const outcome *got,
                             mm_replay *r) {
  mm_replay_near(r, "rewards", -1, (double)expected->of.reward, (double)got->of.reward, false);
  mm_replay_ends(r, &expected->of, &got->of);
  mm_replay_exact(r, "times", -1, expected->s.time, got->s.time);
  for (int i = 0; i < env->n_state; i++)
    mm_replay_near(r, env->field[i], -1, (double)expected->s.f[i], (double)got->s.f[i],
                   env->is_angle[i]);
}

static mm_status replay_transition(mm_replayer *base) {
  replayer *re = (replayer *)base;
  outcome expected, got;
  float action;
  MM_TRY(read_state(re, &got.s));
  if (base->place.t == 0) { // the others are compared as results
    base->r.prefix = "start ";
    MM_TRY(compare_obs(re, &got.s));
    base->r.prefix = "";
  }
  MM_TRY(read_action(re, &action));
  MM_TRY(mm_trace_next(&base->place, &base->c, &expected.of));
  MM_TRY(read_state(re, &expected.s));
  int end = re->env->step(&got.s, action, &got.of.reward);
  got.of.terminated = (end & MM_END_TERMINATED) != 0;
  got.of.truncated = got.s.time >= re->limit;
  compare_outcomes(re->env, &expected, &got, &base->r);
  return compare_obs(re, &got.s);
}

static mm_status replay(int which, const cJSON *root, const char *source, mm_replay_report *out) {
  const mm_classic *env = &mm_classics[which];
  const cJSON *trajectories;
  replayer re = { .base = { .transition = replay_transition,
                            .timed = true,
                            .place = { source, "trajectory", 0, -1 },
                            .r = { .report = out } },
                  .env = env,
                  .limit = env->limit };
  MM_TRY(mm_trace_check_form(root, source, env->id, env->field, env->n_state, env->spec->params,
                             &re.limit, &trajectories));
  return mm_replay_trajectories(&re.base, trajectories);
}

// ---------------------------------------------------------------------------------------------
// Recording

enum { STATES, TIMES, OBS, ACTIONS, REWARDS, TERMINATED, TRUNCATED, N_COLUMN };

static const char *const column_names[N_COLUMN] = { "states",  "times",      "obs",      "actions",
                                                    "rewards", "terminated", "truncated" };

typedef struct recorder {
  mm_recorder base;
  const mm_classic *env;
} recorder;

static void write_state(recorder *rec, const mm_single *s) {
  float obs[MM_CLASSIC_OBS_MAX];
  mm_text_floats(&rec->base.column[STATES], s->f, rec->env->n_state);
  mm_text_whole(&rec->base.column[TIMES], s->time);
  rec->env->observe(s, obs);
  mm_text_floats(&rec->base.column[OBS], obs, rec->env->n_obs);
}

static void play_episode(mm_recorder *base, uint64_t episode) {
  recorder *rec = (recorder *)base;
  mm_single s = rec->env->start(base->resets, episode);
  int end = 0;
  write_state(rec, &s);
  for (uint64_t t = 0; t < base->plan->steps && !end; t++) {
    float reward, action = mm_classic_action(rec->env, base->actions, base->t++);
    end = rec->env->step(&s, action, &reward);
    if (rec->env->n_action > 0)
      mm_text_whole(&base->column[ACTIONS], (int64_t)action);
    else
      mm_text_float(&base->column[ACTIONS], action);
    mm_text_float(&base->column[REWARDS], reward);
    mm_text_ends(&base->column[TERMINATED], &base->column[TRUNCATED], (unsigned)end);
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

static mm_status record(int which, const mm_record_plan *plan, mm_text *out,
                        uint64_t *transitions) {
  const mm_classic *env = &mm_classics[which];
  recorder rec = { mm_recorder_make(plan, column_names, N_COLUMN), env };
  mm_text_open(out, '{');
  write_about(env, plan, out);
  mm_text_form(out, env->id, env->limit, env->spec->params, env->field, env->n_state);
  mm_record_episodes(&rec.base, "trajectories", play_episode, out);
  mm_text_close(out, '}');
  *transitions = rec.base.t;
  return MM_OK;
}

const mm_trace_kind mm_classic_traces = { &mm_vec_classic, replay, record };
