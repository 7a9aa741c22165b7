// SPDX-License-Identifier: Apache-2.0
// `env play`: any environment by keys, or by a policy.

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/draw/screen.h"
#include "cli/env/play.h"
#include "env/grid/grid_task.h"

static int play_keys(play_game *g) {
  const char *keys = g->args->keys;
  int seen = 0;
  mm_status status = MM_OK;
  for (size_t i = 0; keys[i] != '\0' && status == MM_OK; i++) {
    bool known = true;
    game_key k = key_read(&seen, (unsigned char)keys[i]);
    if (k == KEY_PART) continue;
    if (k == KEY_QUIT) break;
    status = g->kind->press(g, k, &known);
    if (!known) return g->kind->refuse(g, i + 1);
  }
  return status_code(status);
}

static void draw(const play_game *g) {
  int columns, lines;
  screen_size(&columns, &lines);
  screen_draw_begin();
  g->kind->draw(g, columns, lines);
  screen_draw_end();
}

static int play_on_screen(play_game *g) {
  static char buffer[1 << 16]; // whole frames at once, or it flickers
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  int seen = 0, code = screen_open();
  if (code != EXIT_DONE) return code;
  unsigned char byte = 0;
  bool leave = false;
  mm_status status = MM_OK;
  draw(g);
  while (!leave && status == MM_OK) {
    screen_event event = screen_wait(&byte, g->until);
    if (event == SCREEN_END) break;
    game_key k = event == SCREEN_BYTE ? key_read(&seen, byte) : KEY_OTHER;
    leave = k == KEY_QUIT;
    if (event == SCREEN_TIME) status = g->kind->tick(g, &leave);
    if (event == SCREEN_BYTE) status = g->kind->on_key(g, k);
    if (k != KEY_PART) draw(g);
  }
  code = screen_close(EXIT_DONE);
  return status == MM_OK ? code : fail_status(status);
}

static int play_alone(play_game *g) {
  return status_code(g->kind->play_alone(g));
}

int play_run(play_game *g) {
  const env_args *args = g->args;
  bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), json = args->common.json;
  TRY(args->keys != NULL                            ? play_keys(g)
      : args->policy != NULL && (json || !terminal) ? play_alone(g)
                                                    : play_on_screen(g));
  if (!json) {
    g->kind->print(g);
    return EXIT_DONE;
  }
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", g->id);
  mm_json_add_whole(root, "seed", args->seed);
  g->kind->add_json(g, root);
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------

static const char *const grid_only[] = { "index", NULL };
static const char *const vec_only[] = { "policy", "agent", "greedy", "episodes", "fps", NULL };
static const env_options owned = { grid_only, vec_only };

static int check(const env_args *args) {
  bool policy = args->policy != NULL, given = args->keys != NULL || policy;
  if (args->common.positional.n == 0 && !env_policy_trained(args)) return fail_usage("expected ID");
  if (args->common.json && !given)
    return fail_usage("option '--json' needs '--keys' or '--policy': a game has no other end");
  if (args->keys != NULL && policy)
    return fail_usage("expected '--keys' or '--policy', not both: one of them plays");
  if (args->episodes > 0 && !policy) return fail_usage("option '--episodes' needs '--policy'");
  return env_policy_check(&command_env_play, args);
}

static int play(const char *id, const env_args *args, mm_player *player) {
  mm_env *env;
  TRY(env_args_open(&command_env_play, args, id, &owned, &env));
  int code = mm_env_is_grid(env) ? grid_play(id, args) : vec_play(env, args, player);
  mm_env_destroy(env);
  return code;
}

static int run(void *raw) {
  env_args *args = raw;
  int code = check(args);
  if (code != EXIT_DONE) return code;
  const option_texts *words = &args->common.positional;
  const char *id = words->n > 0 ? words->value[0] : NULL;
  policy_argument trained = { 0 };
  if (env_policy_trained(args)) {
    code = env_policy_open(args, id, &trained);
    if (id == NULL) id = trained.info.env_id;
  }
  if (code == EXIT_DONE) code = play(id, args, trained.player);
  policy_argument_release(&trained);
  return code;
}

#define ARGS env_args

static const option options[] = {
  ENV_OPTIONS("random seed of the game, and in Grid-World of the instance"),
  OPTION(TEXT, "keys", keys, "TEXT",
         "play these keys and print the last picture; needs no terminal"),
  OPTION(TEXT, "policy", policy, "random|RUN|FILE",
         "the policy plays by itself: at random, or what was trained (the folder of a run, a "
         "policy file); without a terminal only the results are shown"),
  ENV_AGENT_OPTIONS,
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
  .about = "Arrows, hjkl or wasd move, r restarts, q quits. The same seed and keys give the same "
           "game.\n\nGrid-World waits for each key: you are @, letters are objects, small ones are "
           "away and may come back; space stays.\nClassic control, locomotion tasks and MinAtar "
           "run in real time from the first move on: p pauses, . is a single step. In MinAtar a "
           "key lasts for one step and space fires, or does nothing where there is nothing to "
           "fire; elsewhere a push holds until the next key, all motors of a locomotion task at "
           "once, and space lets go. In --keys each key is one step, . one without a key.\nA "
           "trained policy needs no ID: it plays where it was trained, unless there is one. Bars "
           "are the probabilities of its actions in the state in sight.",
  .examples = "mirrormap env play GridWorld-dense\nmirrormap env play Breakout-MinAtar --fps "
              "6\nmirrormap env play CartPole-v1 --policy random --episodes 100 --json\nmirrormap "
              "env play --policy runs/train-Breakout-MinAtar-1 --agent 3\nmirrormap env play "
              "GridWorld-labyrinth --seed 3 --keys 'jjjll  k'",
  .options = options,
  .settings = env_settings,
  .common = COMMON_JSON,
  .max_positional = 1,
  .args_size = sizeof(env_args),
  .run = run,
};
