// SPDX-License-Identifier: Apache-2.0
// `env record`: plays random actions and writes the trace that `env replay` reads.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/status.h"
#include "cli/argument/env_argument.h"
#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/env/env_args.h"
#include "env/trace.h"

typedef struct record_args {
  command_args common;
  uint64_t seed, episodes, steps;
  const char *policy, *out;
  int physics; // mm_env_physics
} record_args;

// A trace may be the only copy of something: it is never replaced.
static int check_out(const char *path) {
  struct stat found;
  if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
    return fail_usage("option '--out': %s is a folder", path);
  if (lstat(path, &found) == 0) return fail_usage("option '--out': %s exists already", path);
  return EXIT_DONE;
}

static int print_json(const record_args *args, const mm_recording *recording) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", args->common.positional.value[0]);
  mm_json_add_whole(root, "seed", args->seed);
  output_add_number(root, "episodes", (double)args->episodes);
  output_add_number(root, "transitions", (double)recording->transitions);
  cJSON_AddStringToObject(root, "file", args->out);
  return output_json(root, EXIT_DONE);
}

static int write_trace(const record_args *args, const mm_recording *recording) {
  if (args->out == NULL) {
    output_text(recording->text);
    return EXIT_DONE;
  }
  TRY(status_code(mm_file_write_atomic(args->out, recording->text, recording->length)));
  if (args->common.json) return print_json(args, recording);
  note("%s: %" PRIu64 " transitions in %" PRIu64 " episode%s", args->out, recording->transitions,
       args->episodes, args->episodes == 1 ? "" : "s");
  return EXIT_DONE;
}

static int run(void *raw) {
  const record_args *args = raw;
  if (args->common.json && args->out == NULL)
    return fail_usage("option '--json' needs '--out': without it stdout gets the trace");
  TRY(args->out != NULL ? check_out(args->out) : EXIT_DONE);
  const mm_record_plan plan = { .seed = args->seed,
                                .episodes = args->episodes,
                                .steps = args->steps,
                                .mujoco = args->physics == MM_ENV_PHYSICS_MUJOCO };
  const char *id = args->common.positional.value[0];
  const char *whose = env_setting_owner("physics", env_group_of(id), id);
  if (args->physics != 0 && whose != NULL)
    return fail_usage("option '--physics' is for %s, not for '%s'", whose, id);
  mm_recording recording;
  mm_status status = mm_trace_record(id, &plan, &recording);
  if (status != MM_OK) return fail_reading(status, "");
  int code = write_trace(args, &recording);
  mm_free(recording.text);
  return code;
}

#define ARGS record_args

static const char *const policy_names[] = { "random", NULL };

static const option options[] = {
  OPTION(COUNT, "seed", seed, "N", "random seed of starts, dynamics and actions", .fallback = "0"),
  OPTION(COUNT, "episodes", episodes, "E", "how many episodes", .fallback = "5", .low = 1,
         .high = 1e6),
  OPTION(COUNT, "steps", steps, "MAX", "cut an episode that lasts longer", .fallback = "1000",
         .low = 1, .high = 1e9),
  OPTION(CHOICE, "policy", policy, NULL, "who plays: uniformly random actions of the smallest set",
         .choices = policy_names, .fallback = "random"),
  OPTION(INDEX, "physics", physics, NULL,
         "locomotion tasks: our own engine, or the MuJoCo library (default own)",
         .choices = env_physics_names),
  OPTION(TEXT, "out", out, "FILE",
         "write there instead of stdout; an existing file is never replaced"),
  { 0 },
};

const command command_env_record = {
  .name = "record",
  .summary = "play random actions and write the trace",
  .positional = "ID",
  .about =
      "The trace holds every state, observation, action, reward and end, and every random draw, so "
      "that an implementation of your own can be compared transition by transition (`env replay` "
      "does the same with traces that yours wrote; docs/traces.md). Numbers are float32 in the "
      "shortest decimals that read back to the same bits. The same seed gives the same file.\n\nID "
      "is one of those of `env replay`, a GridWorld-<configuration> or a task file; of a "
      "Grid-World the instance is the seed's first, and --steps its limit of steps.",
  .examples = "mirrormap env record CartPole-v1 --episodes 20 --out cartpole.json\nmirrormap env "
              "record MinAtar/Breakout-v1 --seed 3 --out breakout.json\nmirrormap env record "
              "Hopper --physics mujoco --out hopper.json\nmirrormap env record GridWorld-dense "
              "--steps 200 > dense.json\nmirrormap env replay GridWorld dense.json",
  .options = options,
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = 1,
  .args_size = sizeof(record_args),
  .run = run,
};
