// SPDX-License-Identifier: Apache-2.0
// `env replay`: repeats a recorded trace transition by transition, with the recorded random draws,
// and compares everything.

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "env/trace.h"

// null where a list has no such entry
static void add_entry(cJSON *object, const char *key, double value, bool none) {
  if (none)
    cJSON_AddNullToObject(object, key);
  else
    output_add_number(object, key, value);
}

static cJSON *describe_mismatch(const mm_replay_mismatch *m) {
  cJSON *object = cJSON_CreateObject();
  output_add_number(object, "trajectory", (double)m->trajectory);
  output_add_number(object, "t", (double)m->t);
  cJSON_AddStringToObject(object, "field", m->field);
  add_entry(object, "expected", m->expected, m->no_expected);
  add_entry(object, "got", m->got, m->no_got);
  return object;
}

static int print_json(const char *id, const mm_replay_report *report, int code) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", id);
  output_add_number(root, "transitions", (double)report->transitions);
  output_add_number(root, "matched", (double)report->matched);
  output_add_number(root, "mismatched", (double)report->mismatched);
  output_add_number(root, "max_abs_error", report->max_abs_error);
  cJSON_AddItemToObject(root, "first_mismatch",
                        report->has_mismatch ? describe_mismatch(&report->first)
                                             : cJSON_CreateNull());
  return output_json(root, code);
}

static void print(const char *path, const mm_replay_report *report) {
  char number[2][MM_JSON_NUMBER_SIZE];
  bool good = !report->has_mismatch;
  printf("%s: %s%" PRId64 " of %" PRId64 " transitions match%s\n", output_plain(path),
         terminal_style(stdout, good ? STYLE_GOOD : STYLE_BAD), report->matched,
         report->transitions, terminal_style(stdout, STYLE_PLAIN));
  if (good) return;
  const mm_replay_mismatch *m = &report->first;
  mm_json_format_number(m->expected, number[0]);
  mm_json_format_number(m->got, number[1]);
  printf("  first mismatch: trajectory %" PRId64 ", t %" PRId64 ", %s: expected %s, got %s\n",
         m->trajectory, m->t, output_plain(m->field), m->no_expected ? "nothing" : number[0],
         m->no_got ? "nothing" : number[1]);
  printf("  largest difference: %s\n", output_number(report->max_abs_error));
}

static int run(void *raw) {
  const command_args *args = raw;
  const char *id = args->positional.value[0], *path = args->positional.value[1];
  mm_replay_report report = { 0 };
  mm_status status = mm_trace_replay(id, path, &report);
  if (status != MM_OK) return fail_reading(status, "");
  int code = report.mismatched > 0 ? EXIT_FAILED : EXIT_DONE;
  if (args->json) return print_json(id, &report, code);
  print(path, &report);
  return code;
}

const command command_env_replay = {
  .name = "replay",
  .summary = "check a recorded trace transition by transition",
  .positional = "ID TRACE.json",
  .about =
      "Every transition is repeated from its recorded state with the recorded random draws, and "
      "everything that matters is compared: the new state, the observation, the reward, both ends. "
      "Classic control may differ by 1e-5 max(1, |recorded|), locomotion tasks by 1e-4 max(1, "
      "largest velocity), everything else not at all.\n\nID is one of CartPole-v1, Acrobot-v1, "
      "MountainCar-v0, MountainCarContinuous-v0, Pendulum-v1; locomotion tasks (Hopper, Hopper-v4, "
      "..), which our own engine moves; Asterix-MinAtar and the other four games by gymnax's "
      "rules, MinAtar/Asterix-v1 and so on by the original ones; or GridWorld, whose traces hold "
      "their levels. `env record` writes traces, docs/traces.md describes them.\n\nExit code: 0 "
      "all match, 1 some do not, 2 unreadable or not a trace of that environment.",
  .examples =
      "mirrormap env replay GridWorld tests/golden/gridworld.json\nmirrormap env replay "
      "CartPole-v1 tests/golden/classic_cartpole.json\nmirrormap env record Seaquest-MinAtar "
      "--seed 3 --out mine.json\nmirrormap env replay Seaquest-MinAtar mine.json --json",
  .common = COMMON_JSON,
  .min_positional = 2,
  .max_positional = 2,
  .args_size = sizeof(command_args),
  .run = run,
};
