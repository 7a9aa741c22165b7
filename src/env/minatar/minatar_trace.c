// SPDX-License-Identifier: Apache-2.0
// Traces of the MinAtar games: everything agrees exactly.
//
// By the original rules a file also has "rules": "minatar", the number last_action behind the other
// numbers of a state (the action executed last, which a sticky step repeats), and sticky[t] for
// each step. `random` and `draws` are the game's own draws in both.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "env/minatar/games.h"
#include "env/trace_writer.h"

enum { NAMES = MM_GAME_NUMBERS + MM_GAME_LISTS };

typedef struct env {
  const char *id;
  const mm_game *game;
  const mm_game_spec *spec;
  mm_minatar_rules rules;
  int32_t limit;           // 0: none
  const char *name[NAMES]; // of the fields of a state
  int n_number, n_list;    // numbers with the last action
} env;

static bool is_original(const env *e) {
  return e->rules == MM_MINATAR_ORIGINAL;
}

static env env_of(int which) {
  const mm_game *game = &mm_games[which % MM_GAME_COUNT];
  env e = { .game = game,
            .spec = game->spec,
            .rules = which < MM_GAME_COUNT ? MM_MINATAR_GYMNAX : MM_MINATAR_ORIGINAL };
  e.id = game->id[e.rules];
  e.limit = e.spec->limit[e.rules];
  int n = 0;
  for (; n < mm_game_numbers(game); n++)
    e.name[n] = e.spec->field[n].name;
  e.n_number = n + is_original(&e);
  if (is_original(&e)) e.name[n] = "last_action";
  for (; n < e.spec->n_field && e.spec->field[n].name; n++)
    e.name[e.n_number + e.n_list++] = e.spec->field[n].name;
  return e;
}

// ---------------------------------------------------------------------------------------------
// States

// Only the original rules look at the end of the episode again.
static bool is_ignored(const env *e, int i) {
  const mm_game_field *f = &e->spec->field[i];
  if (is_original(e)) return i < e->n_number - 1 && f->ignored; // the last action counts
  return f->ignored || f->kind == MM_FIELD_KIND_TERMINAL;
}

static void compare_rows(const env *e, const mm_game_row *expected, const mm_game_row *got,
                         mm_replay *r) {
  for (int i = 0; i < e->n_number; i++) {
    if (!is_ignored(e, i)) mm_replay_exact(r, e->name[i], -1, expected->number[i], got->number[i]);
  }
  for (int i = 0; i < e->n_list; i++)
    mm_replay_lists(r, e->name[e->n_number + i], expected->list[i].value, expected->list[i].n,
                    got->list[i].value, got->list[i].n);
}

static mm_status read_row(const env *e, const mm_trace_place *place, const cJSON *item,
                          mm_game_row *row) {
  char where[MM_TRACE_WHERE_SIZE];
  const int n = e->n_number + e->n_list;
  memset(row, 0, sizeof *row);
  if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != n)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'states': expected a list of the %d state_fields",
                   mm_trace_where(place, where), n);
  const cJSON *entry = item->child;
  for (int i = 0; i < e->n_number; i++, entry = entry->next)
    MM_TRY(mm_trace_whole(place, e->name[i], entry, INT32_MIN, INT32_MAX, &row->number[i]));
  for (int i = 0; i < e->n_list; i++, entry = entry->next)
    MM_TRY(mm_trace_wholes(place, e->name[e->n_number + i], entry, MM_GAME_ENTRIES,
                           row->list[i].value, &row->list[i].n));
  if (e->spec->tidy) e->spec->tidy(row);
  return MM_OK;
}

static mm_status compare_obs(const env *e, const mm_trace_place *place, const cJSON *item,
                             const mm_game_state *s, mm_replay *r) {
  mm_game_entries expected;
  uint16_t list[MM_GAME_ACTIVE_MAX];
  int32_t got[MM_GAME_ACTIVE_MAX];
  MM_TRY(mm_trace_wholes(place, "obs", item, MM_GAME_ENTRIES, expected.value, &expected.n));
  int n = e->game->list(s, list);
  for (int i = 0; i < n; i++)
    got[i] = list[i];
  mm_replay_lists(r, "obs", expected.value, expected.n, got, n);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Replay

typedef struct replayer {
  mm_replayer base;
  env e;
  const cJSON *random;
  const cJSON *sticky; // by the original rules
  const cJSON *draws;  // those that are left
} replayer;

// As many draws as there are random steps.
static mm_status find_draws(replayer *re, const cJSON *episode) {
  size_t n = 0;
  int32_t flag;
  for (const cJSON *entry = re->random; entry; entry = entry->next) {
    MM_TRY(mm_trace_whole(&re->base.place, "random", entry, 0, 1, &flag));
    n += (size_t)flag;
  }
  re->draws = NULL;
  if (!re->e.spec->draws && !mm_json_find(episode, "draws")) return MM_OK;
  return mm_trace_column(&re->base.place, episode, "draws", n, &re->draws);
}

static mm_status find_own(mm_replayer *base, const cJSON *episode) {
  replayer *re = (replayer *)base;
  re->sticky = NULL;
  MM_TRY(mm_trace_column(&base->place, episode, "random", base->c.n, &re->random));
  if (is_original(&re->e))
    MM_TRY(mm_trace_column(&base->place, episode, "sticky", base->c.n, &re->sticky));
  return find_draws(re, episode);
}

// A step's draws when none are recorded: nothing appears, cars are slow.
static mm_game_draws no_draws(const env *e) {
  mm_game_draws d;
  memset(&d, 0, sizeof d);
  if (e->spec->load_draws) {
    const int32_t none[MM_GAME_DRAWS] = { 0 };
    e->spec->load_draws(none, &d);
  }
  if (e->spec->no_draws) e->spec->no_draws(&d);
  return d;
}

// The recorded draws; whether there are any must be what the game thinks too.
static mm_status read_draws(replayer *re, const mm_game_state *s, int action, mm_game_draws *out) {
  const env *e = &re->e;
  const mm_trace_place *place = &re->base.place;
  mm_replay *r = &re->base.r;
  int32_t sticky = 0, random, n, row[MM_GAME_DRAWS] = { 0 }, got[MM_GAME_DRAWS];
  char where[MM_TRACE_WHERE_SIZE];
  *out = no_draws(e);
  if (re->sticky) MM_TRY(mm_trace_whole(place, "sticky", re->sticky, 0, 1, &sticky));
  MM_TRY(mm_trace_whole(place, "random", re->random, 0, 1, &random));
  out->repeat = (uint8_t)sticky;
  int executed = mm_minatar_executed(&s->episode, action, sticky);
  bool draws = e->spec->draws && !mm_minatar_frozen(&s->episode, e->rules) &&
               e->spec->draws(s, executed, e->rules);
  mm_replay_exact(r, "random", -1, random, draws);
  if (!random || !re->draws) return MM_OK;
  MM_TRY(mm_trace_wholes(place, "draws", re->draws, MM_GAME_DRAWS, row, &n));
  if (n != e->spec->n_draw)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'draws': expected %d numbers, found %d",
                   mm_trace_where(place, where), e->spec->n_draw, (int)n);
  re->draws = re->draws->next;
  if (!draws) return MM_OK;
  e->spec->load_draws(row, out);
  memcpy(got, row, sizeof got);
  e->spec->store_draws(s, out, got);
  mm_replay_lists(r, "draws", row, n, got, n);
  return MM_OK;
}

typedef struct outcome {
  mm_game_row row;
  mm_trace_outcome of; // the transition
} outcome;

// Leaves the columns at the state after the transition.
static mm_status read_outcome(replayer *re, outcome *out) {
  MM_TRY(mm_trace_next(&re->base.place, &re->base.c, &out->of));
  re->random = re->random->next;
  if (re->sticky) re->sticky = re->sticky->next;
  return read_row(&re->e, &re->base.place, re->base.c.state, &out->row);
}

// The state in which the transition begins. One that the game cannot have is a mismatch.
static mm_status read_start(replayer *re, mm_game_state *s) {
  const env *e = &re->e;
  mm_replayer *base = &re->base;
  mm_game_row recorded, loaded;
  MM_TRY(read_row(e, &base->place, base->c.state, &recorded));
  mm_game_load(e->game, &recorded, e->rules, e->limit, s);
  mm_game_store(e->game, s, e->rules, &loaded);
  base->r.prefix = "start ";
  compare_rows(e, &recorded, &loaded, &base->r);
  if (base->place.t == 0) // the others are compared as results
    MM_TRY(compare_obs(e, &base->place, base->c.obs, s, &base->r));
  base->r.prefix = "";
  return MM_OK;
}

static mm_status replay_transition(mm_replayer *base) {
  replayer *re = (replayer *)base;
  const env *e = &re->e;
  mm_replay *r = &base->r;
  mm_game_state s;
  mm_game_draws d;
  outcome expected, got;
  int32_t index;
  MM_TRY(read_start(re, &s));
  MM_TRY(mm_trace_whole(&base->place, "actions", base->c.action, 0, e->game->actions - 1, &index));
  int action = mm_minatar_action_at(e->game->action_set, e->game->actions, index);
  MM_TRY(read_draws(re, &s, action, &d));
  MM_TRY(read_outcome(re, &expected));
  unsigned end = e->game->step(&s, action, e->rules, d, &got.of.reward);
  got.of.terminated = (end & MM_END_TERMINATED) != 0;
  got.of.truncated = e->limit > 0 && s.episode.time >= (uint32_t)e->limit;
  mm_game_store(e->game, &s, e->rules, &got.row);
  mm_replay_exact(r, "rewards", -1, (double)expected.of.reward, (double)got.of.reward);
  mm_replay_ends(r, &expected.of, &got.of);
  compare_rows(e, &expected.row, &got.row, r);
  return compare_obs(e, &base->place, base->c.obs, &s, r);
}

// ---------------------------------------------------------------------------------------------

static mm_status check_rules(const env *e, const cJSON *root, const char *source) {
  const char *expected = is_original(e) ? "minatar" : "gymnax", *rules = expected;
  if (is_original(e) || mm_json_find(root, "rules"))
    MM_TRY(mm_json_get_string(root, source, "rules", &rules));
  if (strcmp(rules, expected) == 0) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'rules': expected '%s', found '%.60s'", source, expected,
                 rules);
}

static mm_status check_game(const env *e, const cJSON *root, const char *source) {
  const mm_trace_place place = { source, "", -1, -1 };
  int32_t actions[MM_MINATAR_ACTIONS], n;
  int64_t channels;
  MM_TRY(mm_json_get_integer(root, source, "channels", e->game->channels, e->game->channels,
                             &channels));
  MM_TRY(mm_trace_wholes(&place, "action_set", mm_json_find(root, "action_set"), MM_MINATAR_ACTIONS,
                         actions, &n));
  bool same = n == e->game->actions;
  for (int i = 0; i < n; i++)
    same = same && actions[i] == mm_minatar_action_at(e->game->action_set, e->game->actions, i);
  if (same) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'action_set': expected the %d of the smallest set",
                 source, e->game->actions);
}

static mm_status replay(int which, const cJSON *root, const char *source, mm_replay_report *out) {
  const cJSON *episodes;
  size_t n;
  replayer re = { .base = { .find = find_own,
                            .transition = replay_transition,
                            .place = { source, "episode", 0, -1 },
                            .r = { .report = out } },
                  .e = env_of(which) };
  env *e = &re.e;
  MM_TRY(mm_trace_check_env(root, source, e->id));
  MM_TRY(check_rules(e, root, source));
  MM_TRY(mm_trace_check_names(root, source, "state_fields", e->name, e->n_number + e->n_list));
  MM_TRY(check_game(e, root, source));
  MM_TRY(mm_trace_check_params(root, source, e->spec->params, &e->limit));
  MM_TRY(mm_json_get_array(root, source, "episodes", 1, SIZE_MAX, &episodes, &n));
  return mm_replay_trajectories(&re.base, episodes);
}

// ---------------------------------------------------------------------------------------------
// Recording

enum { STATES, OBS, ACTIONS, REWARDS, TERMINATED, TRUNCATED, RANDOM, DRAWS, STICKY, N_COLUMN };

static const char *const column_names[N_COLUMN] = { "states",  "obs",        "actions",
                                                    "rewards", "terminated", "truncated",
                                                    "random",  "draws",      "sticky" };

typedef struct recorder {
  mm_recorder base;
  const env *e;
  mm_game_state s; // goes on: the action executed last survives a reset
} recorder;

static void write_state(recorder *rec) {
  const env *e = rec->e;
  mm_text *out = &rec->base.column[STATES];
  mm_game_row row;
  uint16_t list[MM_GAME_ACTIVE_MAX];
  mm_game_store(e->game, &rec->s, e->rules, &row);
  mm_text_open(out, '[');
  for (int i = 0; i < e->n_number; i++)
    mm_text_whole(out, row.number[i]);
  for (int i = 0; i < e->n_list; i++)
    mm_text_wholes(out, row.list[i].value, row.list[i].n);
  mm_text_close(out, ']');
  int n = e->game->list(&rec->s, list);
  mm_text_open(&rec->base.column[OBS], '[');
  for (int i = 0; i < n; i++)
    mm_text_whole(&rec->base.column[OBS], list[i]);
  mm_text_close(&rec->base.column[OBS], ']');
}

static unsigned play_step(recorder *rec) {
  const env *e = rec->e;
  int index = (int)mm_uniform_int(mm_stream_pair(rec->base.actions, rec->base.t),
                                  (uint32_t)e->game->actions);
  int action = mm_minatar_action_at(e->game->action_set, e->game->actions, index);
  mm_game_draws d = e->game->draw_step(&rec->s, action, e->rules, rec->base.steps, rec->base.t++);
  int executed = mm_minatar_executed(&rec->s.episode, action, d.repeat);
  bool draws = e->spec->draws && e->spec->draws(&rec->s, executed, e->rules);
  if (draws) {
    int32_t row[MM_GAME_DRAWS] = { 0 };
    e->spec->store_draws(&rec->s, &d, row);
    mm_text_wholes(&rec->base.column[DRAWS], row, e->spec->n_draw);
  }
  float reward;
  unsigned end = e->game->step(&rec->s, action, e->rules, d, &reward);
  mm_text_whole(&rec->base.column[ACTIONS], index);
  mm_text_whole(&rec->base.column[REWARDS], (int64_t)reward);
  mm_text_ends(&rec->base.column[TERMINATED], &rec->base.column[TRUNCATED], end);
  mm_text_whole(&rec->base.column[RANDOM], draws);
  mm_text_whole(&rec->base.column[STICKY], d.repeat);
  write_state(rec);
  return end;
}

static void play_episode(mm_recorder *base, uint64_t episode) {
  recorder *rec = (recorder *)base;
  const env *e = rec->e;
  e->game->reset(&rec->s, e->rules, e->game->draw_reset(base->resets, episode));
  write_state(rec);
  unsigned end = 0;
  for (uint64_t t = 0; t < base->plan->steps && !end; t++)
    end = play_step(rec);
}

static void write_about(const env *e, const mm_record_plan *plan, mm_text *out) {
  char text[2048];
  int n = snprintf(
      text, sizeof text,
      "Episodes of %s without automatic reset. For each episode: states[t] (values in the order of "
      "state_fields) and obs[t] for t = 0 .. T; actions[t], rewards[t], terminated[t], "
      "truncated[t], random[t] for the transition from t to t + 1. An observation is the ascending "
      "list of the indices (row*10+col)*%d+channel of its cells that are 1. random[t] = 1 marks a "
      "transition that used random draws; draws lists these in order (see draw_fields), so that "
      "they can be put in; all other transitions are deterministic. actions index action_set "
      "(codes of the full MinAtar set n,l,u,r,d,f). truncated is time >= max_steps_in_episode%s; "
      "an episode whose last transition is neither terminated nor truncated was cut after %" PRIu64
      " steps. %s ",
      e->id, e->game->channels, e->limit > 0 ? "" : " where that is not 0, never here", plan->steps,
      e->spec->note);
  if (is_original(e))
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "The rules are those of the original MinAtar: where sticky[t] is 1 (one step in "
                  "ten), the code last_action of states[t] is executed instead of the action. "
                  "last_action is the code executed last; a reset keeps it. ");
  snprintf(text + n, sizeof text - (size_t)n,
           "Source: mirrormap %s, env record, seed %" PRIu64 ", uniformly random actions.",
           mm_version(), plan->seed);
  mm_text_key(out, "about");
  mm_text_string(out, text);
}

static void write_head(const env *e, const mm_record_plan *plan, mm_text *out) {
  int n_draw = 0;
  write_about(e, plan, out);
  mm_text_key(out, "env");
  mm_text_string(out, e->id);
  if (is_original(e)) {
    mm_text_key(out, "rules");
    mm_text_string(out, "minatar");
  }
  mm_text_params(out, e->limit, e->spec->params, true);
  mm_text_key(out, "action_set");
  mm_text_open(out, '[');
  for (int i = 0; i < e->game->actions; i++)
    mm_text_whole(out, mm_minatar_action_at(e->game->action_set, e->game->actions, i));
  mm_text_close(out, ']');
  mm_text_key(out, "channels");
  mm_text_whole(out, e->game->channels);
  mm_text_key(out, "state_fields");
  mm_text_names(out, e->name, e->n_number + e->n_list);
  while (n_draw < MM_GAME_DRAWS && e->spec->draw[n_draw])
    n_draw++;
  mm_text_key(out, "draw_fields");
  mm_text_names(out, e->spec->draw, n_draw);
  mm_text_key(out, "reset");
  mm_text_string(out, e->spec->reset);
}

static mm_status record(int which, const mm_record_plan *plan, mm_text *out,
                        uint64_t *transitions) {
  const env e = env_of(which);
  recorder rec = { .base = mm_recorder_make(plan, column_names, N_COLUMN), .e = &e };
  if (!e.spec->draws) rec.base.name[DRAWS] = NULL;
  if (!is_original(&e)) rec.base.name[STICKY] = NULL;
  mm_text_open(out, '{');
  write_head(&e, plan, out);
  mm_record_episodes(&rec.base, "episodes", play_episode, out);
  mm_text_close(out, '}');
  *transitions = rec.base.t;
  return MM_OK;
}

const mm_trace_kind mm_minatar_traces = { &mm_vec_minatar, replay, record };
