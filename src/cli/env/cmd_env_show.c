// SPDX-License-Identifier: Apache-2.0
// `env show`: what an environment is like; and frames of it as a picture.

#include <stddef.h>

#include "cli/core/terminal.h"
#include "cli/env/env_args.h"
#include "env/grid/grid_task.h"

static const char *const grid_only[] = { "index", "exact", "optimal", "map", NULL };
static const char *const vec_only[] = { NULL };
static const env_options owned = { grid_only, vec_only };

static int show_grid(const char *id, const env_args *args) {
  if (args->frames == NULL) return grid_show(id, args);
  if (!env_policy_trained(args)) return grid_frames(id, args);
  return fail_usage("option '--policy': a trained policy plays in classic control, locomotion "
                    "tasks and MinAtar, not in '%s'",
                    id);
}

static int show_vec(const mm_env *env, env_args *args) {
  if (args->frames == NULL) return vec_show(env, args);
  if (!env_policy_trained(args)) return vec_frames(env, args, NULL);
  policy_argument trained;
  int code = env_policy_open(args, mm_env_id(env), &trained);
  if (code == EXIT_DONE) code = vec_frames(env, args, trained.player);
  policy_argument_release(&trained);
  return code;
}

static int check(const env_args *args) {
  static const char *const needy[] = { "steps", "every", "policy", "agent", "greedy" };
  static const char *const foreign[] = { "exact", "optimal", "map" };
  if (args->optimal && args->map != NULL)
    return fail_usage("expected '--optimal' or '--map', not both: there is one set of arrows");
  for (int i = 0; i < 5; i++)
    if (args->frames == NULL && options_given(&command_env_show, &args->common, needy[i]))
      return fail_usage("option '--%s' needs '--frames'", needy[i]);
  for (int i = 0; i < 3; i++)
    if (args->frames != NULL && options_given(&command_env_show, &args->common, foreign[i]))
      return fail_usage("expected '--%s' or '--frames', not both", foreign[i]);
  return env_policy_check(&command_env_show, args);
}

static int run(void *raw) {
  env_args *args = raw;
  const char *id = args->common.positional.value[0];
  mm_env *env;
  int code = check(args);
  if (code == EXIT_DONE) code = env_args_open(&command_env_show, args, id, &owned, &env);
  if (code != EXIT_DONE) return code;
  code = mm_env_is_grid(env) ? show_grid(id, args) : show_vec(env, args);
  mm_env_destroy(env);
  return code;
}

#define ARGS env_args

static const option options[] = {
  ENV_OPTIONS("random seed of the instance, with --index, and of the episode of --frames"),
  OPTION(FLAG, "exact", exact, NULL, "exact values beyond 300000 states too (Grid-World)"),
  OPTION(FLAG, "optimal", optimal, NULL, "arrows of an optimal policy (Grid-World)"),
  OPTION(
      TEXT, "map", map, "MAP",
      "arrows of a policy that PMD trains with this map, with the paper's settings (Grid-World)"),
  OPTION(TEXT, "frames", frames, "FILE",
         "draw an episode instead: a film if FILE ends in .gif or .mp4 (by ffmpeg), a sheet of "
         "frames if in .svg, .png or .pdf"),
  OPTION(COUNT, "steps", steps, "N",
         "of --frames, at most (default 1000); the end of the episode comes first", .low = 1,
         .high = 1e6),
  OPTION(COUNT, "every", every, "K",
         "steps from frame to frame (default: about 24 frames on a sheet, every step in a film); a "
         "GIF has at most 50 a second",
         .low = 1, .high = 1e6),
  OPTION(TEXT, "policy", policy, "random|RUN|FILE",
         "who plays in --frames: chance, or a trained policy (the folder of a run, a file)",
         .fallback = "random"),
  ENV_AGENT_OPTIONS,
  { 0 },
};

const command command_env_show = {
  .name = "show",
  .summary = "what an environment is like, in words and pictures",
  .positional = "ID",
  .about =
      "Classic control and MinAtar: sizes, actions, rewards and ends, and the start that the seed "
      "names.\n\nGrid-World: S is the start, letters are objects; collecting one gives its reward, "
      "ends the episode with probability `terminate`, and it comes back with probability `respawn` "
      "per step. Values are exact. Arrows are the likeliest actions while all objects are present; "
      "with index 0 those of --map belong to the run of `train` with the same seed.",
  .examples =
      "mirrormap env show Asterix-MinAtar\nmirrormap env show CartPole-v1 --frames cartpole.svg "
      "--every 2\nmirrormap env show Asterix-MinAtar --frames asterix.gif --policy "
      "runs/train-Asterix-MinAtar-1\nmirrormap env show GridWorld-labyrinth --optimal\nmirrormap "
      "env show GridWorld-all --seed 7 --map l2\nmirrormap env show task.yaml --json",
  .options = options,
  .settings = env_settings,
  .common = COMMON_JSON | COMMON_ISA,
  .min_positional = 1,
  .max_positional = 1,
  .args_size = sizeof(env_args),
  .run = run,
};
