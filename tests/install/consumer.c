// SPDX-License-Identifier: Apache-2.0
// A user of the installed library: projects two scores and checks the answer it knows, steps an
// environment and draws it, and one of a plug-in where it is given its file and the ID.

#include <mirrormap/mirrormap.h>

#include <stdio.h>

#if MM_VERSION < MM_VERSION_OF(0, 1, 0)
#error "the headers are older than this program"
#endif

// Two carts, left alone until both poles have fallen; the second has a seed of its own.
static mm_status play(mm_vec *vec, uint32_t *steps) {
  const uint8_t mask[2] = { 0, 1 };
  const uint64_t seed[2] = { 0, 9 };
  const int32_t action[2] = { 0, 0 };
  static uint8_t rgb[40 * 30 * 3];
  float obs[2][4], reward[2];
  uint8_t end[2] = { 0, 0 };
  mm_vec_out out = { .obs = obs, .reward = reward, .end = end };
  const mm_episode *episode = mm_vec_episodes(vec);
  mm_status status = mm_vec_reset(vec, &out);
  if (status == MM_OK) status = mm_vec_reset_where(vec, mask, seed, &out);
  while (status == MM_OK && (episode[0].number == 0 || episode[1].number == 0))
    status = mm_vec_step(vec, action, &out);
  *steps = episode[0].length + episode[1].length;
  return status == MM_OK ? mm_vec_render(vec, obs, 1, 40, 30, rgb) : status;
}

static mm_status step_environments(uint32_t *steps) {
  mm_env *env = NULL;
  mm_vec *vec = NULL;
  mm_vec_config config = mm_vec_config_default();
  config.n = 2;
  config.episodes = true;
  config.autoreset = MM_AUTORESET_NEXT_STEP;
  mm_status status = mm_env_open("CartPole-v1", &env);
  if (status == MM_OK) status = mm_vec_create(env, &config, &vec);
  if (status == MM_OK) status = play(vec, steps);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
  return status;
}

// An environment of a plug-in, pushed to the left until its first episode ends.
static mm_status use_plugin(const char *path, const char *id, uint32_t *steps) {
  enum { INPUTS = 5 };
  mm_env *env = NULL;
  mm_vec *vec = NULL;
  float obs[INPUTS], reward;
  uint8_t end = 0;
  const int32_t action = 0;
  const mm_vec_out out = { .obs = obs, .reward = &reward, .end = &end };
  mm_vec_config config = mm_vec_config_default();
  config.n = 1;
  mm_status status = mm_plugin_load(path);
  if (status == MM_OK) status = mm_env_open(id, &env);
  if (status == MM_OK) status = mm_vec_create(env, &config, &vec);
  if (status == MM_OK) status = mm_vec_reset(vec, &out);
  for (*steps = 0; status == MM_OK && !end; ++*steps)
    status = mm_vec_step(vec, &action, &out);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
  return status;
}

int main(int argc, char **argv) {
  const double scores[2] = { 0.0, 1.0 };
  const double expected = 0.26894142136999512; // 1 / (1 + e)
  double probs[2] = { 0.0, 0.0 }, lambda = 0.0;
  mm_map *map = NULL;
  mm_status status = mm_map_open("negentropy", &map);
  if (status == MM_OK) status = mm_map_project(map, MM_PROJECTION_EXACT, scores, 2, probs, &lambda);
  mm_map_destroy(map);
  uint32_t steps = 0;
  if (status == MM_OK) status = mm_isa_select("portable");
  if (status == MM_OK) status = step_environments(&steps);
  uint32_t more = 10;
  if (status == MM_OK && argc > 3) status = use_plugin(argv[2], argv[3], &more);
  if (status != MM_OK) {
    fprintf(stderr, "%s\n", mm_last_error());
    return 1;
  }
  const double error = probs[0] - expected;
  printf("%s: mirrormap %s, probs %.17g %.17g, %u steps\n", argc > 1 ? argv[1] : "consumer",
         mm_version(), probs[0], probs[1], steps);
  return error > 1e-15 || error < -1e-15 || steps < 10 || steps > 40 || more < 5 || more > 40;
}
