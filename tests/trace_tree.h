// SPDX-License-Identifier: Apache-2.0
// Traces as trees that tests look at and change, and random words to do so.

#ifndef MM_TEST_TRACE_TREE_H
#define MM_TEST_TRACE_TREE_H

#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/status.h"
#include "env/trace_reader.h"
#include "test.h"

static const struct {
  const char *id, *name;
  int transitions;
} golden[] = {
  { "CartPole-v1", "classic_cartpole", 2862 },
  { "Acrobot-v1", "classic_acrobot", 2778 },
  { "MountainCar-v0", "classic_mountain_car", 2193 },
  { "Pendulum-v1", "classic_pendulum", 1760 },
  { "Asterix-MinAtar", "minatar_asterix", 2592 },
  { "Breakout-MinAtar", "minatar_breakout", 2312 },
  { "Freeway-MinAtar", "minatar_freeway", 4100 },
  { "SpaceInvaders-MinAtar", "minatar_space_invaders", 1940 },
  { "Seaquest-MinAtar", "minatar_seaquest", 1469 },
};

enum { N_GOLDEN = sizeof golden / sizeof *golden };

// Bodies, recorded with the MuJoCo library; Ant-v4 with Gymnasium (tests/gymnasium/compare.py).
static const struct {
  const char *id, *name;
  int transitions;
} golden_bodies[] = {
  { "Hopper", "body_hopper", 55 },
  { "Hopper-v4", "body_hopper_v4", 46 },
  { "HalfCheetah", "body_half_cheetah", 40 },
  { "HalfCheetah-v4", "body_half_cheetah_v4", 40 },
  { "Ant", "body_ant", 40 },
  { "Ant-v4", "body_ant_v4", 40 },
};

enum { N_GOLDEN_BODIES = sizeof golden_bodies / sizeof *golden_bodies };

static inline cJSON *parse(const char *text, size_t length) {
  cJSON *root;
  assert_ok(mm_json_parse(text, length, "text", &root));
  return root;
}

static inline cJSON *read_trace(const char *name) {
  char path[512], *text;
  size_t length;
  snprintf(path, sizeof path, "%s/golden/%s.json", MM_TEST_DATA, name);
  assert_ok(mm_file_read(path, 1 << 20, &text, &length));
  cJSON *root = parse(text, length);
  mm_free(text);
  return root;
}

static inline cJSON *read_golden(int i) {
  return read_trace(golden[i].name);
}

static inline cJSON *field(const cJSON *object, const char *name) {
  cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!item) fail_msg("no field '%s'", name);
  return item;
}

static inline bool is_classic(const cJSON *root) {
  return mm_json_find(root, "trajectories") != NULL;
}

static inline cJSON *trajectories(const cJSON *root) {
  return field(root, is_classic(root) ? "trajectories" : "episodes");
}

static inline mm_status replay(const char *id, const cJSON *root, mm_replay_report *out) {
  size_t i = 1;
  while (mm_trace_id(i) && strcmp(mm_trace_id(i), id) != 0)
    i++;
  if (!mm_trace_id(i)) fail_msg("no traces of %s", id);
  return mm_trace_replay_tree(id, root, "FILE", out);
}

static inline cJSON *record(const char *id, uint64_t seed, uint64_t episodes, uint64_t steps) {
  const mm_record_plan plan = { .seed = seed, .episodes = episodes, .steps = steps };
  mm_recording recording;
  assert_ok(mm_trace_record(id, &plan, &recording));
  cJSON *root = parse(recording.text, recording.length);
  assert_int_equal(recording.length, strlen(recording.text));
  assert_true(recording.text[recording.length - 1] == '\n');
  mm_free(recording.text);
  return root;
}

static inline uint32_t random_word(uint64_t *index) {
  return mm_stream_block(mm_stream_make(9, 0, MM_RNG_TEST, 0), (*index)++).word[0];
}

#endif
