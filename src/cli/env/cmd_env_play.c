// `env play`: any environment by keys, or by a policy.

#include <stddef.h>

#include "cli/core/terminal.h"
#include "cli/env/env_settings.h"
#include "cli/env/grid_play.h"
#include "cli/env/vec_play.h"
#include "env/grid/grid_task.h"

typedef struct play_args {
  env_args env;
  const char *keys;
  env_policy policy;
  uint64_t episodes;
  double fps;
} play_args;

static const char *const grid_only[] = { "index", NULL };
static const char *const vec_only[] = { "policy", "agent", "greedy", "episodes", "fps", NULL };
static const env_options owned = { grid_only, vec_only };

static int play_grid(const char *id, const play_args *args) {
  grid_play_config config = { .seed = args->env.seed,
                              .index = args->env.index,
                              .keys = args->keys,
                              .gamma = args->env.gamma,
                              .termination = args->env.termination,
                              .json = args->env.common.json };
  return grid_play(id, &config);
}

static int play_vec(const mm_env *env, const vec_game_config *game, const play_args *args) {
  vec_play_config config = { .game = *game,
                             .keys = args->keys,
                             .policy = args->policy.name,
                             .agent = (size_t)args->policy.agent,
                             .episodes = args->episodes,
                             .fps = args->fps,
                             .json = args->env.common.json };
  return vec_play(env, &config);
}

static int check(const play_args *args) {
  bool policy = args->policy.name != NULL, given = args->keys != NULL || policy;
  if (args->env.common.positional.n == 0 && !env_policy_trained(&args->policy))
    return fail_usage("expected ID");
  if (args->env.common.json && !given)
    return fail_usage("option '--json' needs '--keys' or '--policy': a game has no other end");
  if (args->keys != NULL && policy)
    return fail_usage("expected '--keys' or '--policy', not both: one of them plays");
  if (args->episodes > 0 && !policy) return fail_usage("option '--episodes' needs '--policy'");
  return env_policy_check(&command_env_play, &args->env.common, &args->policy);
}

static int play(const char *id, const vec_game_config *game, const play_args *args) {
  mm_env *env;
  int code = env_args_open(&command_env_play, &args->env, id, &owned, &env);
  if (code != EXIT_DONE) return code;
  code = mm_env_is_grid(env) ? play_grid(id, args) : play_vec(env, game, args);
  mm_env_destroy(env);
  return code;
}

static int run(void *raw) {
  const play_args *args = raw;
  int code = check(args);
  if (code != EXIT_DONE) return code;
  const option_texts *words = &args->env.common.positional;
  const char *id = words->n > 0 ? words->value[0] : NULL;
  vec_game_config game = env_args_game(&args->env);
  policy_argument opened = { 0 };
  if (env_policy_trained(&args->policy)) {
    code = env_policy_open(&args->policy, id, &opened, &game);
    if (id == NULL) id = opened.info.env_id;
  }
  if (code == EXIT_DONE) code = play(id, &game, args);
  env_policy_release(&opened, &game);
  return code;
}

#define ARGS play_args

static const option options[] = {
  ENV_SEED_OPTION("names all chance in the game, and in Grid-World the instance"),
  ENV_INDEX_OPTION,
  OPTION(TEXT, "keys", keys, "TEXT",
         "play these keys and print the last picture; needs no terminal"),
  OPTION(TEXT, "policy", policy.name, "random|RUN|FILE",
         "the policy plays by itself: at random, or what was trained (the folder of a run, a "
         "policy file); without a terminal only the results are shown"),
  ENV_AGENT_OPTIONS(play_args),
  OPTION(COUNT, "episodes", episodes, "N", "of --policy (default: on a terminal until q, else one)",
         .low = 1, .high = 1e6),
  OPTION(NUMBER, "fps", fps, "F",
         "steps per second on a terminal (default 10 to 30, by the environment)", .low = 0.1,
         .high = 1000),
  { 0 },
};

const command command_env_play = {
  .name = "play",
  .summary = "play an environment by keys, or watch a policy play",
  .positional = "[ID]",
  .about =
      "Arrows, hjkl or wasd move, r restarts, q quits. The same seed and keys give the same game.\n"
      "Grid-World waits for each key: you are @, letters are objects, small ones are away and may "
      "come back; space stays.\n"
      "Classic control, bodies and MinAtar run in real time from the first move on: p pauses, . is "
      "a "
      "single "
      "step. In MinAtar a key lasts for one step and space fires, or does nothing where there is "
      "nothing to fire; elsewhere a push holds until the next key, all motors of a body at once, "
      "and space lets go. In "
      "--keys each key is one step, . one without a key.\n"
      "A trained policy needs no ID: it plays where it was trained, unless there is one. Bars are "
      "the probabilities of its actions in the state in sight.",
  .examples = "mirrormap env play GridWorld-dense\n"
              "mirrormap env play Breakout-MinAtar --fps 6\n"
              "mirrormap env play CartPole-v1 --policy random --episodes 100 --json\n"
              "mirrormap env play --policy runs/train-Breakout-MinAtar-1 --agent 3\n"
              "mirrormap env play GridWorld-labyrinth --seed 3 --keys 'jjjll  k'",
  .options = options,
  .settings = env_settings,
  .common = COMMON_JSON,
  .max_positional = 1,
  .args_size = sizeof(play_args),
  .run = run,
};
