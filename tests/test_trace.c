// SPDX-License-Identifier: Apache-2.0
// Replay of traces: every number of a file is looked at, and nothing in it does harm.

#include <math.h>
#include <stdlib.h>

#include "trace_tree.h"

// ---------------------------------------------------------------------------------------------
// Golden files

static void test_golden(void **state) {
  (void)state;
  for (int i = 0; i < N_GOLDEN; i++) {
    mm_replay_report report;
    char path[512];
    snprintf(path, sizeof path, "%s/golden/%s.json", MM_TEST_DATA, golden[i].name);
    assert_ok(mm_trace_replay(golden[i].id, path, &report));
    assert_int_equal(report.transitions, golden[i].transitions);
    assert_int_equal(report.matched, golden[i].transitions);
    assert_int_equal(report.mismatched, 0);
    assert_false(report.has_mismatch);
    assert_true(report.max_abs_error <= (i < 4 ? 1e-5 : 0));
    for (int other = 0; other < N_GOLDEN; other++) { // only under its own name
      if (other != i)
        assert_fails(mm_trace_replay(golden[other].id, path, &report), MM_ERR_INPUT, "'env'");
    }
  }
}

// ---------------------------------------------------------------------------------------------
// One number changed

// The change is found at this place and nowhere before, and named; `expected` is the file's number
// there, or NaN where that may be another one of a sorted list.
static void check_found(const char *id, const cJSON *root, int64_t trajectory, int64_t t,
                        const char *name, double expected) {
  mm_replay_report report;
  assert_ok(replay(id, root, &report));
  if (!report.has_mismatch) fail_msg("%s: a changed '%s' was not found", id, name);
  const mm_replay_mismatch *m = &report.first;
  if (m->trajectory != trajectory || m->t != t || strncmp(m->field, name, strlen(name)) != 0)
    fail_msg("%s: '%s' of trajectory %d, t %d, found as '%s' of trajectory %d, t %d", id, name,
             (int)trajectory, (int)t, m->field, (int)m->trajectory, (int)m->t);
  assert_true(isnan(expected) || m->expected == expected);
  assert_true(report.mismatched > 0 && report.matched + report.mismatched == report.transitions);
}

static void check_unseen(const char *id, const cJSON *root) {
  mm_replay_report report;
  assert_ok(replay(id, root, &report));
  assert_false(report.has_mismatch);
}

// Every change replays a whole file: where that is slow, one of six is tried.
static bool is_left_out(void) {
  static unsigned changes;
  return test_is_slowed() && changes++ % 6 != 0;
}

static bool without_effect(const char *id, const char *name) {
  return strcmp(name, "terminal") == 0 || strcmp(name, "ramping") == 0 ||
         (strcmp(id, "Asterix-MinAtar") == 0 && strcmp(name, "shot_timer") == 0) ||
         (strcmp(id, "SpaceInvaders-MinAtar") == 0 && strcmp(name, "ramp_index") == 0);
}

// Each number of a state, of its lists the first, at a step that has most of them.
static void change_state(const char *id, cJSON *root, int64_t trajectory, int t) {
  cJSON *item = cJSON_GetArrayItem(trajectories(root), (int)trajectory);
  cJSON *row = cJSON_GetArrayItem(field(item, "states"), t + 1)->child;
  cJSON *name = field(root, "state_fields")->child;
  for (; name && row; name = name->next, row = row->next) {
    cJSON *number = cJSON_IsArray(row) ? row->child : row;
    if (!number || is_left_out()) continue; // an empty list
    if (strcmp(name->valuestring, "entities") == 0) number = cJSON_GetArrayItem(row, 4); // in use
    double before = number->valuedouble, after = before + (is_classic(root) ? 0.01 : 1);
    number->valuedouble = after;
    if (without_effect(id, name->valuestring))
      check_unseen(id, root);
    else if (is_classic(root))
      check_found(id, root, trajectory, t, name->valuestring, (double)(float)after);
    else // a changed entry of a set may stand elsewhere in its order
      check_found(id, root, trajectory, t, name->valuestring,
                  strcmp(id, "Seaquest-MinAtar") == 0 && cJSON_IsArray(row) ? NAN : after);
    number->valuedouble = before;
  }
}

// The entry t of a column.
static void change_entry(const char *id, cJSON *root, int64_t trajectory, int t,
                         const char *column) {
  cJSON *item = cJSON_GetArrayItem(trajectories(root), (int)trajectory);
  cJSON *number = cJSON_GetArrayItem(field(item, column), t);
  if (cJSON_IsArray(number)) number = number->child;
  double before = number->valuedouble;
  bool flag = strcmp(column, "terminated") == 0 || strcmp(column, "truncated") == 0;
  double after = flag ? 1 - before : before + 1;
  bool of_state = strcmp(column, "obs") == 0 || strcmp(column, "times") == 0;
  number->valuedouble = after;
  check_found(id, root, trajectory, of_state ? t - 1 : t, column, (double)(float)after);
  number->valuedouble = before;
}

static void test_changed(void **state) {
  (void)state;
  for (int i = 0; i < N_GOLDEN; i++) {
    const char *id = golden[i].id;
    cJSON *root = read_golden(i);
    const char *const columns[] = { "obs", "rewards", "terminated", "truncated", "times" };
    for (int k = 0; k < (is_classic(root) ? 5 : 4); k++) {
      change_entry(id, root, 2, 3, columns[k]);
      change_entry(id, root, 0, 1, columns[k]);
    }
    change_state(id, root, 0, 4);
    change_state(id, root, 1, 0);
    cJSON_Delete(root);
  }
}

// ---------------------------------------------------------------------------------------------
// Bodies: what the MuJoCo library did, our own engine does, with and without its warm start. Every
// number counts.

static void check_body(const char *id, int transitions, const cJSON *root) {
  mm_replay_report report;
  assert_ok(replay(id, root, &report));
  if (report.has_mismatch)
    fail_msg("%s: trajectory %d, t %d, %s: expected %g, got %g", id, (int)report.first.trajectory,
             (int)report.first.t, report.first.field, report.first.expected, report.first.got);
  assert_int_equal(report.transitions, transitions);
  assert_true(report.max_abs_error > 0 && report.max_abs_error < 5e-4); // another engine's
}

// A number that the physics would not step is found where it stands, and steps nothing.
static void spoil_state(const char *id, cJSON *root, int place, const char *name) {
  cJSON *row = cJSON_GetArrayItem(field(trajectories(root)->child, "states"), 2);
  cJSON *number = cJSON_GetArrayItem(row, place);
  double before = number->valuedouble;
  mm_replay_report report;
  number->valuedouble = 2e10;
  assert_ok(replay(id, root, &report));
  number->valuedouble = before;
  assert_true(report.has_mismatch && report.first.t == 1); // as a result, then as a start
  assert_string_equal(report.first.field, name);
  assert_int_equal(report.mismatched, 2);
}

static void test_bodies(void **state) {
  (void)state;
  for (int i = 0; i < N_GOLDEN_BODIES; i++) {
    const char *id = golden_bodies[i].id;
    cJSON *root = read_trace(golden_bodies[i].name), *item;
    check_body(id, golden_bodies[i].transitions, root);
    cJSON_ArrayForEach(item, trajectories(root)) cJSON_DeleteItemFromObject(item, "warm");
    check_body(id, golden_bodies[i].transitions, root);
    for (int t = 1; t < 4; t++) {
      static const char *const columns[] = { "obs", "rewards", "terminated", "truncated", "times" };
      for (int k = 0; k < 5; k++)
        change_entry(id, root, t % 2, t, columns[k]);
      change_state(id, root, t % 2, t);
    }
    cJSON *names = field(root, "state_fields");
    for (int k = 0; k < cJSON_GetArraySize(names); k += 4)
      spoil_state(id, root, k, cJSON_GetArrayItem(names, k)->valuestring);
    cJSON_Delete(root);
  }
}

// Gymnasium's own episodes, of velocities up to 15: equal to the last digits of float32. The
// rewards see xpos of the torso; traces without its offset are refused.
static void test_gymnasium(void **state) {
  (void)state;
  mm_replay_report report;
  cJSON *root = read_trace("body_ant_v4"), *row;
  assert_ok(replay("Ant-v4", root, &report));
  assert_true(!report.has_mismatch && report.max_abs_error < 5e-6);
  cJSON_ArrayForEach(row, field(trajectories(root)->child, "states")) {
    cJSON *offset = cJSON_GetArrayItem(row, 29);
    assert_true(fabs(offset->valuedouble) < 0.01);
    offset->valuedouble = 0;
  }
  assert_ok(replay("Ant-v4", root, &report));
  assert_true(report.mismatched > 3);
  assert_string_equal(report.first.field, "rewards");
  cJSON_DeleteItemFromArray(field(root, "state_fields"), 29);
  assert_fails(replay("Ant-v4", root, &report), MM_ERR_INPUT, "'state_fields': expected 30");
  cJSON_Delete(root);
}

// A first state that is none: not a number, or a quaternion without a direction.
static void test_body_starts(void **state) {
  (void)state;
  mm_replay_report report;
  cJSON *root = read_trace("body_ant"), *row = field(trajectories(root)->child, "states")->child;
  for (int k = 3; k < 7; k++)
    cJSON_GetArrayItem(row, k)->valuedouble = 0;
  assert_ok(replay("Ant", root, &report));
  assert_true(report.has_mismatch && report.first.t == 0 && report.mismatched == 1);
  assert_string_equal(report.first.field, "start qw");
  cJSON_ReplaceItemInArray(row, 20, cJSON_CreateString("nan"));
  assert_ok(replay("Ant", root, &report));
  assert_true(report.has_mismatch && isnan(report.first.expected) && report.first.got == 0);
  assert_string_equal(report.first.field, "start turn_z");
  cJSON_DeleteItemFromArray(row, 20);
  assert_fails(replay("Ant", root, &report), MM_ERR_INPUT, "'states': expected 29 numbers");
  cJSON_Delete(root);
  root = read_trace("body_hopper");
  field(field(root, "params"), "substeps")->valuedouble = 5;
  assert_fails(replay("Hopper", root, &report), MM_ERR_INPUT, "'params.substeps'");
  assert_fails(replay("Hopper-v4", root, &report), MM_ERR_INPUT, "'env'");
  cJSON_Delete(root);
}

// The longest lists of the golden Seaquest: entries of all kinds are in use somewhere.
static void test_changed_lists(void **state) {
  (void)state;
  const int seaquest = N_GOLDEN - 1, first_list = 14;
  cJSON *root = read_golden(seaquest), *episodes = field(root, "episodes");
  for (int list = 0; list < 5; list++) {
    const char *name =
        cJSON_GetArrayItem(field(root, "state_fields"), first_list + list)->valuestring;
    int best = 0, episode = -1, at = -1, e = 0;
    for (cJSON *item = episodes->child; item; item = item->next, e++) {
      int t = 0;
      for (cJSON *row = field(item, "states")->child; row; row = row->next, t++) {
        int n = cJSON_GetArraySize(cJSON_GetArrayItem(row, first_list + list));
        if (t > 0 && n > best) best = n, episode = e, at = t;
      }
    }
    assert_true(best > 0);
    cJSON *row = cJSON_GetArrayItem(field(cJSON_GetArrayItem(episodes, episode), "states"), at);
    cJSON *entries = cJSON_GetArrayItem(row, first_list + list);
    for (cJSON *number = entries->child; number; number = number->next) {
      if (is_left_out()) continue;
      number->valuedouble += 1;
      check_found(golden[seaquest].id, root, episode, at - 1, name, NAN);
      number->valuedouble -= 1;
    }
    check_unseen(golden[seaquest].id, root);
  }
  cJSON_Delete(root);
}

// Asterix: everything of what is there, and of an empty slot only that it is empty.
static void test_changed_entities(void **state) {
  (void)state;
  enum { SLOTS = 8, WIDTH = 5, AT = 40 };
  cJSON *root = read_golden(4), *states = field(trajectories(root)->child, "states");
  cJSON *number = cJSON_GetArrayItem(cJSON_GetArrayItem(states, AT), 11)->child;
  int used = 0;
  for (int slot = 0; slot < SLOTS; slot++) {
    bool in_use = number->next->next->next->next->valueint != 0;
    used += in_use;
    for (int k = 0; k < WIDTH; k++, number = number->next) {
      if (is_left_out()) continue;
      number->valuedouble += 1;
      if (in_use || k == WIDTH - 1)
        check_found(golden[4].id, root, 0, AT - 1, "entities", NAN);
      else
        check_unseen(golden[4].id, root);
      number->valuedouble -= 1;
    }
  }
  assert_true(used > 0 && used < SLOTS);
  cJSON_Delete(root);
}

// Draws are put in, and have to be possible.
static void test_changed_draws(void **state) {
  (void)state;
  for (int i = 0; i < N_GOLDEN; i++) {
    cJSON *root = read_golden(i), *episode = trajectories(root)->child;
    cJSON *draws = cJSON_GetObjectItemCaseSensitive(episode, "draws");
    int t = 0;
    if (draws) {
      for (cJSON *random = field(episode, "random")->child; !random->valueint; t++)
        random = random->next;
      for (cJSON *number = draws->child->child; number; number = number->next) {
        if (is_left_out()) continue;
        double before = number->valuedouble;
        mm_replay_report report;
        number->valuedouble = 77;
        assert_ok(replay(golden[i].id, root, &report));
        // what Seaquest does not need has no effect
        bool last_two = !number->next || !number->next->next;
        bool idle = strcmp(golden[i].id, "Seaquest-MinAtar") == 0 && last_two;
        assert_int_equal(report.has_mismatch, !idle);
        if (!idle) {
          assert_int_equal(report.first.t, t);
          assert_memory_equal(report.first.field, "draws[", 6);
        }
        number->valuedouble = before;
      }
    }
    if (!is_classic(root)) { // a draw where there is none, and none where there is one
      cJSON *flag = field(episode, "random")->child;
      assert_int_equal(flag->valueint, 0);
      flag->valuedouble = 1;
      if (draws) {
        cJSON_InsertItemInArray(draws, 0, cJSON_Duplicate(draws->child, true));
      }
      check_found(golden[i].id, root, 0, 0, "random", 1);
    }
    if (draws) {
      cJSON *flag = field(episode, "random")->child;
      flag->valuedouble = 0;
      cJSON_DeleteItemFromArray(draws, 0);
      cJSON_GetArrayItem(field(episode, "random"), t)->valuedouble = 0;
      cJSON_DeleteItemFromArray(draws, 0);
      check_found(golden[i].id, root, 0, t, "random", 0);
    }
    cJSON_Delete(root);
  }
}

// The first state: its observation, and whether it is one at all.
static void test_starts(void **state) {
  (void)state;
  for (int i = 0; i < N_GOLDEN; i++) {
    cJSON *root = read_golden(i), *item = trajectories(root)->child;
    cJSON *number = field(item, "obs")->child->child;
    double before = number->valuedouble;
    number->valuedouble = before + 1;
    check_found(golden[i].id, root, 0, 0, "start obs[0]", (double)(float)(before + 1));
    number->valuedouble = before;
    if (!is_classic(root)) {
      number = field(item, "states")->child->child;
      number->valuedouble = 1e6;
      check_found(golden[i].id, root, 0, 0, "start ", 1e6);
    }
    cJSON_Delete(root);
  }
}

// Lists of different lengths, numbers that are none, angles a turn away.
static void test_comparison(void **state) {
  (void)state;
  mm_replay_report report;
  cJSON *root = read_golden(5); // Breakout
  cJSON *obs = cJSON_GetArrayItem(field(trajectories(root)->child, "obs"), 2);
  int n = cJSON_GetArraySize(obs);
  cJSON_AddItemToArray(obs, cJSON_CreateNumber(399));
  assert_ok(replay(golden[5].id, root, &report));
  assert_true(report.has_mismatch && report.first.no_got && !report.first.no_expected);
  assert_true(report.first.expected == 399 && report.first.t == 1 && report.mismatched == 1);
  cJSON_DeleteItemFromArray(obs, n);
  cJSON_DeleteItemFromArray(obs, n - 1);
  assert_ok(replay(golden[5].id, root, &report));
  assert_true(report.has_mismatch && report.first.no_expected && !report.first.no_got);
  char last[32];
  snprintf(last, sizeof last, "obs[%d]", n - 1);
  assert_string_equal(report.first.field, last);
  cJSON_Delete(root);

  root = read_golden(1); // Acrobot
  cJSON *states = field(trajectories(root)->child, "states");
  int length = cJSON_GetArraySize(states);
  cJSON *angle = cJSON_GetArrayItem(states, length - 1)->child;
  double before = angle->valuedouble;
  angle->valuedouble = before + 4 * 3.14159265358979;
  check_unseen(golden[1].id, root);
  angle->valuedouble = before + 2e-5;
  check_found(golden[1].id, root, 0, length - 2, "joint_angle1", (double)(float)(before + 2e-5));
  angle->valuedouble = before + 2e-6;
  check_unseen(golden[1].id, root);
  cJSON_ReplaceItemInArray(cJSON_GetArrayItem(states, length - 1), 2, cJSON_CreateString("nan"));
  assert_ok(replay(golden[1].id, root, &report));
  assert_true(report.mismatched == 1 && isnan(report.first.expected));
  assert_true(isinf(report.max_abs_error));
  assert_string_equal(report.first.field, "velocity_1");
  cJSON_Delete(root);
}

// ---------------------------------------------------------------------------------------------
// Files that are no traces

typedef struct damage {
  const char *id;
  const char *from, *to; // the first `from` in the text becomes `to`
  const char *error;
} damage;

static void check_damage(const damage *d) {
  const mm_record_plan plan = { .seed = 1, .episodes = 2, .steps = 12 };
  mm_recording good;
  mm_replay_report report;
  assert_ok(mm_trace_record(d->id, &plan, &good));
  const char *at = strstr(good.text, d->from);
  if (!at) fail_msg("%s: no '%s'", d->id, d->from);
  size_t room = good.length + strlen(d->to) + 1, before = (size_t)(at - good.text);
  char *text = malloc(room);
  assert_non_null(text);
  snprintf(text, room, "%.*s%s%s", (int)before, good.text, d->to, at + strlen(d->from));
  cJSON *root = parse(text, strlen(text));
  mm_status status = replay(d->id, root, &report);
  if (status != MM_ERR_INPUT || !strstr(mm_last_error(), d->error) ||
      strncmp(mm_last_error(), "FILE: ", 6) != 0 || strchr(mm_last_error(), '\n'))
    fail_msg("%s, '%s' for '%s': expected '%s', found '%s'", d->id, d->to, d->from, d->error,
             status == MM_OK ? "nothing wrong" : mm_last_error());
  cJSON_Delete(root);
  free(text);
  mm_free(good.text);
}

static void test_refuses(void **state) {
  (void)state;
#define CART "CartPole-v1"
#define SEA "Seaquest-MinAtar"
#define ORIGINAL "MinAtar/Asterix-v1"
  static const damage cases[] = {
    { CART, "\"env\":\"CartPole-v1\"", "\"env\":\"Acrobot-v1\"", "expected 'CartPole-v1'" },
    { CART, "\"env\":\"CartPole-v1\"", "\"env\":1", "expected a string" },
    { CART, "\"env\":\"CartPole-v1\",", "", "'env' is missing" },
    { CART, "\"params\":{", "\"params\":[],\"x\":{", "field 'params': expected an object" },
    { CART, "\"gravity\":9.8", "\"gravity\":9.81", "'params.gravity': this environment has 9.8" },
    { CART, "\"gravity\":9.8", "\"gravity\":null", "field 'gravity'" },
    { CART, "in_episode\":500", "in_episode\":1.5", "field 'max_steps_in_episode'" },
    { CART, "\"theta\",", "\"phi\",", "entry 2: expected 'theta', found 'phi'" },
    { CART, "\"theta\",", "7,", "entry 2: expected 'theta', found a number" },
    { CART, "\"theta\",", "", "'state_fields': expected 4 entries, found 3" },
    { CART, "\"trajectories\":", "\"trajectory\":", "'trajectories' is missing" },
    { CART, "\"trajectories\":", "\"trajectories\":[],\"x\":", "at least 1 entry" },
    { CART, "[{\"policy\"", "[3,{\"policy\"", "trajectory 0: expected an object" },
    { CART, "\"states\":[", "\"states\":[[1,2,3,4],", "trajectory 0: field 'states': expected 13" },
    { CART, "\"states\":[[", "\"states\":[[0,",
      "trajectory 0, t 0: field 'states': expected 4 numbers, found 5" },
    { CART, "\"states\":[[", "\"states\":[\"no\"],\"x\":[[",
      "field 'states': expected 13 entries" },
    { CART, "\"states\":[[", "\"states\":[[1e39,", "found 5" },
    { CART, "\"times\":[0,1,2", "\"times\":[0,1,-2",
      "trajectory 0, t 1: field 'times': expected a whole" },
    { CART, "\"times\":[0,1,2", "\"times\":[0,1,2e9", "trajectory 0, t 1: field 'times'" },
    { CART, "\"obs\":", "\"observation\":", "trajectory 0: field 'obs' is missing" },
    { CART, "\"actions\":[", "\"actions\":[2,", "expected 14 entries, found 13" },
    { CART, "\"rewards\":[1.0", "\"rewards\":[\"one\"", "t 0: field 'rewards': expected a number" },
    { CART, "\"rewards\":[1.0", "\"rewards\":[1e300", "field 'rewards': expected a number within" },
    { CART, "\"terminated\":[0", "\"terminated\":[2",
      "field 'terminated': expected a whole number from 0 to 1, found 2" },
    { CART, "\"truncated\":[0", "\"truncated\":[false",
      "field 'truncated': expected a whole number from 0 to 1, found false" },
    { SEA, "\"channels\":10", "\"channels\":9", "field 'channels'" },
    { SEA, "\"action_set\":[0,1", "\"action_set\":[1,0", "field 'action_set'" },
    { SEA, "\"action_set\":[0,1", "\"action_set\":[0,1,1,1,1,1,1,1,1,1",
      "'action_set': expected at most 6" },
    { SEA, "\"oxygen\",", "", "field 'state_fields': expected 19 entries" },
    { SEA, "\"env\":", "\"rules\":\"minatar\",\"env\":",
      "field 'rules': expected 'gymnax', found 'minatar'" },
    { SEA, "\"states\":[[200,", "\"states\":[[",
      "episode 0, t 0: field 'states': expected a list of the 19" },
    { SEA, "\"states\":[[200,", "\"states\":[[200.5,",
      "episode 0, t 0: field 'oxygen': expected a whole" },
    { SEA, "\"states\":[[200,", "\"states\":[[3e9,",
      "episode 0, t 0: field 'oxygen': expected a whole" },
    { SEA, "\"states\":[[200,", "\"states\":[[[],",
      "episode 0, t 0: field 'oxygen': expected a whole" },
    { SEA, ",[],[],[],[],[]]", ",[],[],0,[],[]]", "field 'e_fish': expected a list" },
    { SEA, ",[],[],[],[],[]]", ",[],[null],[],[],[]]", "field 'e_bullets': expected a whole" },
    { SEA, "\"actions\":[", "\"actions\":[6,", "expected 14 entries" },
    { SEA, "\"random\":[0", "\"random\":[1", "field 'draws': expected 1 entries, found 0" },
    { SEA, "\"random\":[0", "\"random\":[0.5", "field 'random'" },
    { SEA, "\"draws\":[", "\"draws\":[[1,2,3,4,5,6,7]", "field 'draws': expected 0 entries" },
    { SEA, "\"draws\":[", "\"x\":[", "'draws' is missing" },
    { ORIGINAL, "\"rules\":\"minatar\",", "", "'rules' is missing" },
    { ORIGINAL, "\"rules\":\"minatar\"", "\"rules\":\"gymnax\"", "expected 'minatar'" },
    { ORIGINAL, "\"sticky\":[", "\"x\":[", "'sticky' is missing" },
    { ORIGINAL, "\"sticky\":[0", "\"sticky\":[-1", "t 0: field 'sticky'" },
    { ORIGINAL, "\"last_action\",", "", "field 'state_fields': expected 13" },
    { ORIGINAL, "\"draws\":[[", "\"draws\":[[1,", "field 'draws': expected 6 numbers, found 7" },
    { ORIGINAL, "\"draws\":[[", "\"draws\":[[1,1,1,1,", "field 'draws': expected at most 8" },
  };
#undef CART
#undef SEA
#undef ORIGINAL
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_damage(&cases[i]);
}

// A leaf of the tree, somewhere.
static cJSON *random_leaf(cJSON *item, uint64_t *index) {
  while (cJSON_IsArray(item) || cJSON_IsObject(item)) {
    int n = cJSON_GetArraySize(item);
    if (n == 0) return NULL;
    item = cJSON_GetArrayItem(item, (int)(random_word(index) % (uint32_t)n));
  }
  return item;
}

// Any numbers anywhere: matched, mismatched or refused, but always with a report or a reason.
static void test_hostile_numbers(void **state) {
  (void)state;
  static const double values[] = { -1,  0,    1,     2,     9,           10,           127,
                                   128, -128, 255,   1e6,   2147483647., -2147483648., 0.5,
                                   300, 1e30, -1e30, 1e-40, 65536,       -32769 };
  const char *id;
  uint64_t index = 0;
  for (size_t i = 1; (id = mm_trace_id(i)) != NULL; i++) {
    cJSON *root = record(id, 2, 3, 40);
    for (uint64_t round = 0; round < test_repeat(300); round++) {
      cJSON *copy = cJSON_Duplicate(root, true);
      mm_replay_report report;
      for (uint32_t k = 0; k < 1 + random_word(&index) % 20; k++) {
        cJSON *leaf = random_leaf(trajectories(copy), &index);
        if (cJSON_IsNumber(leaf))
          leaf->valuedouble = values[random_word(&index) % (sizeof values / sizeof *values)];
      }
      mm_status status = replay(id, copy, &report);
      assert_true(status == MM_OK || status == MM_ERR_INPUT);
      if (status == MM_OK)
        assert_true((report.mismatched > 0) == report.has_mismatch);
      else
        assert_memory_equal(mm_last_error(), "FILE: ", 6);
      cJSON_Delete(copy);
    }
    cJSON_Delete(root);
  }
}

int suite_trace(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),          cmocka_unit_test(test_changed),
    cmocka_unit_test(test_changed_lists),   cmocka_unit_test(test_changed_entities),
    cmocka_unit_test(test_changed_draws),   cmocka_unit_test(test_starts),
    cmocka_unit_test(test_comparison),      cmocka_unit_test(test_refuses),
    cmocka_unit_test(test_hostile_numbers), cmocka_unit_test(test_bodies),
    cmocka_unit_test(test_gymnasium),       cmocka_unit_test(test_body_starts),
  };
  return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
