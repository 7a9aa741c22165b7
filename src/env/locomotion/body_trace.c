// SPDX-License-Identifier: Apache-2.0
// Traces of locomotion tasks: only the start is random, so a state, an action and the time decide a
// transition, up to what the solver leaves over: it begins at the accelerations of the step before,
// which a trace may have as `warm`. Numbers agree within 1e-4 max(1, largest recorded velocity).

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "env/locomotion/body_laws.h"
#include "env/locomotion/body_words.h"
#include "env/trace_writer.h"

enum { FIELDS_MOST = MM_BODY_MOST_Q + MM_BODY_MOST_V + 1, OBS_MOST = 32 };

// ---------------------------------------------------------------------------------------------
// The environments

static mm_body body_of(int which) {
  return (mm_body)(which % MM_BODY_COUNT);
}

static mm_flavour flavour_of(int which) {
  return (mm_flavour)(which / MM_BODY_COUNT);
}

static const char *id_of(int which) {
#define IDS(NAME, name, id, kernels) [MM_BODY_##NAME] = { id, id "-v4" },
  static const char *const ids[MM_BODY_COUNT][MM_FLAVOUR_COUNT] = { MM_BODY_LIST(IDS) };
  return ids[body_of(which)][flavour_of(which)];
}

// What a trace says of its environment.
typedef struct form {
  const char *field[FIELDS_MOST]; // coordinates, velocities; where the reward reads it, xpos_offset
  mm_trace_param params[3];
} form;

static form form_of(const mm_physics *p) {
  const mm_body_words *words = mm_body_words_of(p->config.body);
  const int n = p->info->nq + p->info->nv;
  form f = { .params = { { "time_step", 1, { (float)p->info->h } },
                         { "substeps", 1, { (float)p->info->substeps } },
                         { NULL, 0, { 0 } } } };
  for (int i = 0; i < n; i++)
    f.field[i] = words->field[i];
  if (p->xpos_offset) f.field[n] = "xpos_offset";
  return f;
}

// ---------------------------------------------------------------------------------------------
// One environment

// x is the way since the start; the physics has that of one step.
typedef struct state {
  float f[FIELDS_MOST], warm[MM_BODY_MOST_V];
  int32_t time;
} state;

static mm_status open_body(int which, bool mujoco, mm_physics **out) {
  const mm_physics_config config = { .body = body_of(which),
                                     .flavour = flavour_of(which),
                                     .engine = mujoco ? MM_ENGINE_MUJOCO : MM_ENGINE_OWN,
                                     .n = 1 };
  mm_status status = mm_physics_create(&config, out);
  if (status == MM_OK) return MM_OK;
  return MM_FAIL(status, "environment '%s': %s", id_of(which), mm_last_error());
}

static int fields_of(const mm_physics *p) {
  return p->info->nq + p->info->nv + (p->xpos_offset ? 1 : 0);
}

static void put_state(mm_physics *p, const state *s) {
  mm_physics_set(p, 0, s->f, s->f + p->info->nq, s->warm);
  if (p->xpos_offset) p->xpos_offset[0] = s->f[fields_of(p) - 1];
  mm_body_begin_way(p, 0);
}

// `x`: where the coordinate's 0 is.
static void take_state(const mm_physics *p, float x, state *s) {
  mm_physics_get(p, 0, s->f, s->f + p->info->nq, s->warm);
  if (p->xpos_offset) s->f[fields_of(p) - 1] = p->xpos_offset[0];
  s->f[0] += x;
}

// Returns MM_END_ bits; a state that goes bad stays what it was, as everywhere.
static int step(mm_physics *p, const float *action, int32_t limit, state *s, float *reward) {
  const mm_body body = p->config.body;
  float clipped[MM_BODY_MOST_U];
  for (int k = 0; k < p->info->nu; k++)
    clipped[k] = mm_bodies_clip(action[k]);
  put_state(p, s);
  const float x = s->f[0] - p->q[0];
  mm_physics_step(p, 0, 1, clipped);
  const bool bad = (p->bad[0] & MM_BAD_STATE) != 0;
  *reward = bad ? 0 : mm_body_reward(body, mm_body_way(p, 0), clipped);
  take_state(p, x, s);
  s->time++;
  return mm_end_of(bad || !mm_body_healthy(p, body, 0), s->time, limit);
}

// ---------------------------------------------------------------------------------------------
// Replay

typedef struct replayer {
  mm_replayer base;
  const cJSON *warm; // a column, one more than transitions; or NULL
  form f;
  mm_physics *p;
  int32_t limit;
} replayer;

static mm_status find_warm(mm_replayer *base, const cJSON *trajectory) {
  replayer *re = (replayer *)base;
  re->warm = NULL;
  if (!mm_json_find(trajectory, "warm")) return MM_OK;
  return mm_trace_column(&base->place, trajectory, "warm", base->c.n + 1, &re->warm);
}

static mm_status read_state(const replayer *re, state *out) {
  const mm_trace_place *place = &re->base.place;
  memset(out, 0, sizeof *out);
  MM_TRY(mm_trace_floats(place, "states", re->base.c.state, fields_of(re->p), out->f));
  if (re->warm) MM_TRY(mm_trace_floats(place, "warm", re->warm, re->p->info->nv, out->warm));
  return mm_trace_time(place, &re->base.c, &out->time);
}

static mm_status read_obs(const replayer *re, float *out) {
  return mm_trace_floats(&re->base.place, "obs", re->base.c.obs, re->p->info->n_obs, out);
}

typedef struct outcome {
  state s;
  float obs[OBS_MOST];
  mm_trace_outcome of; // the transition
} outcome;

// Leaves the columns at the state after the transition.
static mm_status read_outcome(replayer *re, outcome *out) {
  MM_TRY(mm_trace_next(&re->base.place, &re->base.c, &out->of));
  if (re->warm) re->warm = re->warm->next;
  MM_TRY(read_obs(re, out->obs));
  return read_state(re, &out->s);
}

// How far apart numbers may be: velocities give the size, contacts make errors of them.
static double allowed_by(const replayer *re, const state *s) {
  double size = 1;
  for (int k = 0; k < re->p->info->nv; k++)
    size = fmax(size, fabs((double)s->f[re->p->info->nq + k]));
  return 1e-4 * size;
}

static void compare_obs(replayer *re, const float *expected, double allowed) {
  float got[OBS_MOST];
  mm_body_observe(re->p, re->p->config.body, 0, got, 1);
  for (int i = 0; i < re->p->info->n_obs; i++)
    mm_replay_within(&re->base.r, "obs", i, (double)expected[i], (double)got[i], allowed);
}

static void compare_outcomes(replayer *re, const outcome *expected, const outcome *got) {
  const double allowed = allowed_by(re, &expected->s);
  mm_replay *r = &re->base.r;
  mm_replay_within(r, "rewards", -1, (double)expected->of.reward, (double)got->of.reward, allowed);
  mm_replay_ends(r, &expected->of, &got->of);
  mm_replay_exact(r, "times", -1, expected->s.time, got->s.time);
  for (int i = 0; i < fields_of(re->p); i++)
    mm_replay_within(r, re->f.field[i], -1, (double)expected->s.f[i], (double)got->s.f[i], allowed);
  compare_obs(re, expected->obs, allowed);
}

// A state that the physics would not step is a mismatch of its own, with 0 as what it could be.
static bool can_be_stepped(replayer *re, const state *s) {
  re->base.r.prefix = "start ";
  for (int i = 0; i < fields_of(re->p); i++)
    if (!(fabsf(s->f[i]) <= MM_PHYSICS_LARGEST))
      mm_replay_exact(&re->base.r, re->f.field[i], -1, (double)s->f[i], 0);
  for (int i = 0; i < re->p->info->nv; i++)
    if (!(fabsf(s->warm[i]) <= MM_PHYSICS_LARGEST))
      mm_replay_exact(&re->base.r, "warm", i, (double)s->warm[i], 0);
  if (re->base.r.same) put_state(re->p, s);
  if (re->base.r.same && !mm_body_has_direction(re->p, 0))
    mm_replay_exact(&re->base.r, "qw", -1, (double)s->f[3], 1);
  re->base.r.prefix = "";
  return re->base.r.same;
}

static mm_status replay_transition(mm_replayer *base) {
  replayer *re = (replayer *)base;
  outcome expected, got;
  float action[MM_BODY_MOST_U], first[OBS_MOST];
  MM_TRY(read_state(re, &got.s));
  MM_TRY(read_obs(re, first));
  MM_TRY(mm_trace_floats(&base->place, "actions", base->c.action, re->p->info->nu, action));
  MM_TRY(read_outcome(re, &expected));
  if (!can_be_stepped(re, &got.s)) return MM_OK;
  if (base->place.t == 0) { // the others are compared as results
    base->r.prefix = "start ";
    compare_obs(re, first, allowed_by(re, &got.s));
    base->r.prefix = "";
  }
  int end = step(re->p, action, re->limit, &got.s, &got.of.reward);
  got.of.terminated = (end & MM_END_TERMINATED) != 0;
  got.of.truncated = (end & MM_END_TRUNCATED) != 0;
  compare_outcomes(re, &expected, &got);
  return MM_OK;
}

static mm_status replay(int which, const cJSON *root, const char *source, mm_replay_report *out) {
  const cJSON *trajectories;
  replayer re = { .base = { .find = find_warm,
                            .transition = replay_transition,
                            .timed = true,
                            .place = { source, "trajectory", 0, -1 },
                            .r = { .report = out } },
                  .limit = MM_BODIES_LIMIT };
  MM_TRY(open_body(which, false, &re.p));
  re.f = form_of(re.p);
  mm_status status = mm_trace_check_form(root, source, id_of(which), re.f.field, fields_of(re.p),
                                         re.f.params, &re.limit, &trajectories);
  if (status == MM_OK) status = mm_replay_trajectories(&re.base, trajectories);
  mm_physics_destroy(re.p);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Recording

enum { STATES, WARM, TIMES, OBS, ACTIONS, REWARDS, TERMINATED, TRUNCATED, N_COLUMN };

static const char *const column_names[N_COLUMN] = {
  "states", "warm", "times", "obs", "actions", "rewards", "terminated", "truncated"
};

typedef struct recorder {
  mm_recorder base;
  mm_physics *p;
} recorder;

static void write_state(recorder *rec, const state *s) {
  const mm_body_info *info = rec->p->info;
  float obs[OBS_MOST];
  mm_text_floats(&rec->base.column[STATES], s->f, fields_of(rec->p));
  mm_text_floats(&rec->base.column[WARM], s->warm, info->nv);
  mm_text_whole(&rec->base.column[TIMES], s->time);
  mm_body_observe(rec->p, rec->p->config.body, 0, obs, 1);
  mm_text_floats(&rec->base.column[OBS], obs, info->n_obs);
}

static void draw_action(recorder *rec, float *action) {
  const uint64_t nu = (uint64_t)rec->p->info->nu;
  for (uint64_t k = 0; k < nu; k++)
    action[k] = mm_uniform_between_f(
        (uint32_t)mm_stream_pair(rec->base.actions, rec->base.t * nu + k), -1, 1);
  rec->base.t++;
}

static void play_episode(mm_recorder *base, uint64_t episode) {
  recorder *rec = (recorder *)base;
  mm_bodies_draws draws = mm_bodies_draw(base->resets, episode);
  state s = { .time = 0 };
  int end = 0;
  mm_body_start(rec->p, 0, &draws);
  take_state(rec->p, 0, &s);
  write_state(rec, &s);
  for (uint64_t t = 0; t < base->plan->steps && !end; t++) {
    float reward, action[MM_BODY_MOST_U];
    draw_action(rec, action);
    end = step(rec->p, action, MM_BODIES_LIMIT, &s, &reward);
    mm_text_floats(&base->column[ACTIONS], action, rec->p->info->nu);
    mm_text_float(&base->column[REWARDS], reward);
    mm_text_ends(&base->column[TERMINATED], &base->column[TRUNCATED], (unsigned)end);
    write_state(rec, &s);
  }
}

static void write_about(const char *id, const mm_record_plan *plan, bool offset, mm_text *out) {
  char text[1600];
  snprintf(text, sizeof text,
           "Trajectories of %s, each from a start of its own and without automatic reset. For each "
           "trajectory: states[t] (numbers in the order of state_fields: coordinates as the model "
           "file has them, x counted from 0, then velocities%s), times[t], obs[t] and warm[t] (the "
           "accelerations at which the constraint solver begins; may be left out) for t = 0 .. T; "
           "actions[t], rewards[t], terminated[t], truncated[t] for the transition from t to "
           "t + 1. terminated is the natural end, truncated is time >= max_steps_in_episode; a "
           "trajectory that ends in neither was cut after %" PRIu64
           " steps. Numbers are float32, as the shortest decimals that read back to the same bits. "
           "An implementation should agree to about 1e-4 of the largest velocity per transition "
           "when it starts each one from the recorded state. Actions are real numbers, before the "
           "clip to [-1, 1]; the reward uses them clipped. Source: mirrormap %s, env record, "
           "physics %s, seed %" PRIu64 ", uniformly random actions.",
           id, offset ? ", then xpos_offset, xpos of the torso minus x" : "", plan->steps,
           mm_version(), plan->mujoco ? "mujoco" : "own", plan->seed);
  mm_text_key(out, "about");
  mm_text_string(out, text);
}

static mm_status record(int which, const mm_record_plan *plan, mm_text *out,
                        uint64_t *transitions) {
  const char *id = id_of(which);
  recorder rec = { .base = mm_recorder_make(plan, column_names, N_COLUMN) };
  MM_TRY(open_body(which, plan->mujoco, &rec.p));
  const form f = form_of(rec.p);
  mm_text_open(out, '{');
  write_about(id, plan, rec.p->xpos_offset != NULL, out);
  mm_text_form(out, id, MM_BODIES_LIMIT, f.params, f.field, fields_of(rec.p));
  mm_record_episodes(&rec.base, "trajectories", play_episode, out);
  mm_text_close(out, '}');
  mm_physics_destroy(rec.p);
  *transitions = rec.base.t;
  return MM_OK;
}

const mm_trace_kind mm_body_traces = { &mm_vec_body, replay, record };
