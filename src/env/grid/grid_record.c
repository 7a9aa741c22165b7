// SPDX-License-Identifier: Apache-2.0
// Writing Grid-World traces: one level and its transitions under random actions.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "env/grid/grid_operator.h"
#include "env/grid/grid_sample.h"
#include "env/grid/grid_task.h"
#include "env/grid/grid_trace.h"

#define GRID_PREFIX "GridWorld-"

// Beyond so many states the optimal return would take too long, and is left out.
enum { STATES_SOLVED = 300000, HORIZON_MOST = 200 };

static const char about[] =
    "A Grid-World level and its transitions under random actions; after a done, or when an episode "
    "was cut, the level was reset. Positions are row*grid_size+col; walls lists the wall cells. "
    "Actions: 0 up, 1 down, 2 left, 3 right, 4 stay. Object j has type obj_ids[j]; obj_rewards, "
    "obj_p_terminate and obj_p_respawn are indexed by type. Each transition is a list of the "
    "transition_fields: exists_bits has bit j set when object j exists; respawn_bits are the "
    "Bernoulli draws of every object, of existing ones too, term_draw the Bernoulli draw with "
    "probability p_term (p_terminate of the object collected, else 0), so that both can be put in; "
    "done is early_term or time+1 >= max_steps_in_episode; next_obs_index = next_pos + "
    "max_grid_size^2 * next_exists_bits. optimal_return is the undiscounted optimal value of the "
    "start state over optimal_return_horizon steps.";

// ---------------------------------------------------------------------------------------------
// The level

// The best return of `horizon` steps from the start: as many sweeps of value iteration.
static mm_status optimal_return(const mm_grid *g, int64_t horizon, double *out) {
  mm_arena arena;
  mm_grid_operator op;
  MM_TRY(mm_arena_create(mm_grid_operator_bytes(g) + 2 * mm_grid_vector_bytes(g), &arena));
  mm_grid_operator_make(g, 1, false, &arena, &op);
  double *value = mm_grid_vector_take(g, &arena), *next = mm_grid_vector_take(g, &arena);
  for (int64_t i = 0; i < horizon; i++) {
    mm_grid_operator_best(&op, value, next);
    double *swap = value;
    value = next;
    next = swap;
  }
  *out = value[mm_grid_index(g, mm_grid_start(g))];
  mm_arena_destroy(&arena);
  return MM_OK;
}

static void write_numbers(mm_text *out, const char *key, const double *values, int n) {
  mm_text_key(out, key);
  mm_text_open(out, '[');
  for (int i = 0; i < n; i++)
    mm_text_number(out, values[i]);
  mm_text_close(out, ']');
}

static void write_whole(mm_text *out, const char *key, int64_t value) {
  mm_text_key(out, key);
  mm_text_whole(out, value);
}

// Every object is a type of its own.
static void write_objects(const mm_grid *g, mm_text *out) {
  mm_text_key(out, "obj_ids");
  mm_text_open(out, '[');
  for (int i = 0; i < g->n_object; i++)
    mm_text_whole(out, i);
  mm_text_close(out, ']');
  mm_text_key(out, "static_obj_poss");
  mm_text_wholes(out, g->object, g->n_object);
  write_numbers(out, "obj_rewards", g->reward, g->n_object);
  write_numbers(out, "obj_p_terminate", g->terminate, g->n_object);
  write_numbers(out, "obj_p_respawn", g->respawn, g->n_object);
}

static void write_task(const mm_grid *g, const char *id, uint64_t steps, mm_text *out) {
  size_t prefix = strlen(GRID_PREFIX);
  mm_text_key(out, "mode");
  mm_text_string(out, strncmp(id, GRID_PREFIX, prefix) == 0 ? id + prefix : id);
  write_whole(out, "draw", 0);
  write_whole(out, "max_n_objs", g->n_object);
  write_whole(out, "max_n_obj_types", g->n_object);
  write_whole(out, "max_grid_size", g->side);
  write_whole(out, "grid_size", g->side);
  write_whole(out, "max_steps_in_episode", (int64_t)steps);
  write_whole(out, "n_objs", g->n_object);
  write_whole(out, "start_pos", g->start);
  mm_text_key(out, "walls");
  mm_text_open(out, '[');
  for (int32_t c = 0; c < g->cells; c++) {
    if (g->wall[c]) mm_text_whole(out, c);
  }
  mm_text_close(out, ']');
  write_objects(g, out);
}

// ---------------------------------------------------------------------------------------------
// Transitions

typedef struct recorder {
  const mm_grid *grid;
  mm_grid_sampler sampler;
  mm_stream actions, outcomes;
  uint64_t t, steps; // steps so far, of all episodes; most in one
} recorder;

static void write_transition(const double *row, mm_text *out) {
  mm_text_open(out, '[');
  for (int i = 0; i < MM_GRID_TRACE_COUNT; i++) {
    if (i == MM_GRID_TRACE_reward || i == MM_GRID_TRACE_p_term)
      mm_text_number(out, row[i]);
    else
      mm_text_whole(out, (int64_t)row[i]);
  }
  mm_text_close(out, ']');
}

// One step from *s. The draws are those that mm_grid_step makes, and of present objects those that
// it would.
static bool play_step(recorder *rec, mm_grid_state *s, uint64_t time, mm_text *out) {
  const mm_grid *g = rec->grid;
  const uint32_t all = (1u << g->n_object) - 1;
  int action = (int)mm_uniform_int(mm_stream_pair(rec->actions, rec->t), MM_GRID_ACTIONS);
  int32_t i = g->object_at[g->next[s->cell * MM_GRID_ACTIONS + action]];
  bool collects = i >= 0 && (s->mask >> i & 1);
  mm_block first = mm_stream_block(rec->outcomes, 3 * rec->t);
  double row[MM_GRID_TRACE_COUNT];
  row[MM_GRID_TRACE_time] = (double)time;
  row[MM_GRID_TRACE_pos] = s->cell;
  row[MM_GRID_TRACE_exists_bits] = s->mask;
  row[MM_GRID_TRACE_action] = action;
  row[MM_GRID_TRACE_respawn_bits] =
      mm_grid_respawns(&rec->sampler, rec->outcomes, rec->t, first, all);
  row[MM_GRID_TRACE_term_draw] = collects && first.word[0] < rec->sampler.terminate[i];
  mm_grid_trace_step(g, g->cells, (int64_t)rec->steps, row);
  *s = (mm_grid_state){ (int32_t)row[MM_GRID_TRACE_next_pos],
                        (uint32_t)row[MM_GRID_TRACE_next_exists_bits] };
  write_transition(row, out);
  rec->t++;
  return row[MM_GRID_TRACE_done] != 0;
}

static void write_transitions(const mm_grid *g, const mm_record_plan *plan, mm_text *out,
                              uint64_t *transitions) {
  recorder rec = { .grid = g, .sampler = mm_grid_sampler_make(g), .steps = plan->steps };
  rec.actions = mm_stream_make(plan->seed, 0, MM_RNG_ACTION, 0);
  rec.outcomes = mm_stream_make(plan->seed, 0, MM_RNG_ENV_STEP, 0);
  mm_text_key(out, "transitions");
  mm_text_open(out, '[');
  for (uint64_t episode = 0; episode < plan->episodes && mm_text_goes_on(out); episode++) {
    mm_grid_state s = mm_grid_start(g);
    bool done = false;
    for (uint64_t time = 0; !done && mm_text_goes_on(out); time++)
      done = play_step(&rec, &s, time, out);
  }
  mm_text_close(out, ']');
  *transitions = rec.t;
}

static mm_status write_level(const mm_grid *g, const char *id, const mm_record_plan *plan,
                             mm_text *out, uint64_t *transitions) {
  int64_t horizon = plan->steps < HORIZON_MOST ? (int64_t)plan->steps : HORIZON_MOST;
  double best;
  mm_text_open(out, '{');
  write_task(g, id, plan->steps, out);
  write_transitions(g, plan, out, transitions);
  if (g->n_state <= STATES_SOLVED) {
    MM_TRY(optimal_return(g, horizon, &best));
    write_whole(out, "optimal_return_horizon", horizon);
    mm_text_key(out, "optimal_return");
    mm_text_number(out, best);
  }
  mm_text_close(out, '}');
  return MM_OK;
}

mm_status mm_grid_record(const char *id, const mm_record_plan *plan, mm_text *out,
                         uint64_t *transitions) {
  char source[128];
  mm_env *env;
  mm_grid *grid = NULL;
  if (plan->steps > INT32_MAX)
    return MM_FAIL(MM_ERR_INPUT, "Grid-World episodes have at most %d steps", INT32_MAX);
  MM_TRY(mm_env_open(id, &env));
  mm_status status = mm_grid_draw(env, plan->seed, 0, &grid);
  mm_env_destroy(env);
  MM_TRY(status);
  snprintf(source, sizeof source,
           " Source: mirrormap %s, env record, seed %" PRIu64 ", uniformly random actions.",
           mm_version(), plan->seed);
  char text[sizeof about + sizeof source];
  snprintf(text, sizeof text, "%s%s", about, source);
  mm_text_open(out, '{');
  mm_text_key(out, "about");
  mm_text_string(out, text);
  mm_text_key(out, "transition_fields");
  mm_text_names(out, mm_grid_trace_field, MM_GRID_TRACE_COUNT);
  mm_text_key(out, "levels");
  mm_text_open(out, '[');
  status = write_level(grid, id, plan, out, transitions);
  mm_text_close(out, ']');
  mm_text_close(out, '}');
  mm_grid_destroy(grid);
  return status;
}
