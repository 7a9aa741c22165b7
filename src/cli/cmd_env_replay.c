// `env replay`: repeats a recorded trace transition by transition, with the recorded random draws,
// and compares everything.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "env/grid_trace.h"

// Which traces can be replayed, by the ID that stands for them.
static const struct {
  const char *id;
  mm_status (*replay)(const char *path, mm_replay_report *out);
} replayers[] = { { "GridWorld", mm_grid_replay } };

enum { N_REPLAYERS = sizeof replayers / sizeof *replayers };

static int unknown_id(const char *id) {
  const char *names[N_REPLAYERS];
  char near[SUGGESTION_SIZE];
  for (size_t i = 0; i < N_REPLAYERS; i++) {
    names[i] = replayers[i].id;
    size_t length = strlen(names[i]);
    if (strncmp(id, names[i], length) == 0 && id[length] == '-')
      return fail_usage("the levels come from the trace: the ID is '%s', not '%s'", names[i], id);
  }
  options_suggestion(id, names, N_REPLAYERS, "", near);
  return fail_usage("no traces of '%s' can be replayed%s", id, near);
}

static cJSON *describe_mismatch(const mm_replay_mismatch *m) {
  cJSON *object = cJSON_CreateObject();
  output_add_number(object, "trajectory", (double)m->trajectory);
  output_add_number(object, "t", (double)m->t);
  cJSON_AddStringToObject(object, "field", m->field);
  output_add_number(object, "expected", m->expected);
  output_add_number(object, "got", m->got);
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
  char number[2][MM_JSON_NUMBER_SIZE], error[OUTPUT_NUMBER_SIZE];
  bool good = !report->has_mismatch;
  printf("%s: %s%" PRId64 " of %" PRId64 " transitions match%s\n", path,
         terminal_style(stdout, good ? STYLE_GOOD : STYLE_BAD), report->matched,
         report->transitions, terminal_style(stdout, STYLE_PLAIN));
  if (good) return;
  const mm_replay_mismatch *m = &report->first;
  printf("  first mismatch: trajectory %" PRId64 ", t %" PRId64 ", %s: expected %s, got %s\n",
         m->trajectory, m->t, m->field, mm_json_format_number(m->expected, number[0]),
         mm_json_format_number(m->got, number[1]));
  printf("  largest difference: %s\n", output_number(report->max_abs_error, error));
}

static int run(void *raw) {
  const command_args *args = raw;
  const char *id = args->positional.value[0], *path = args->positional.value[1];
  size_t i = 0;
  while (i < N_REPLAYERS && strcmp(id, replayers[i].id) != 0)
    i++;
  if (i == N_REPLAYERS) return unknown_id(id);

  mm_replay_report report = { 0 };
  mm_status status = replayers[i].replay(path, &report);
  if (status == MM_ERR_IO) return fail(EXIT_USAGE, "%s", mm_last_error());
  if (status != MM_OK) return fail_status(status);
  int code = report.mismatched > 0 ? EXIT_FAILED : EXIT_DONE;
  if (args->json) return print_json(id, &report, code);
  print(path, &report);
  return code;
}

const command command_env_replay = {
  .name = "replay",
  .summary = "check a recorded trace transition by transition",
  .positional = "ID TRACE.json",
  .about = "Every transition is repeated from its recorded state with the recorded random draws. "
           "The ID GridWorld stands for all Grid-Worlds: the trace holds its levels. Exit code: 0 "
           "all match, 1 some do not, 2 unreadable or not a trace of that environment.",
  .examples = "mirrormap env replay GridWorld tests/golden/gridworld.json",
  .common = COMMON_JSON,
  .min_positional = 2,
  .max_positional = 2,
  .args_size = sizeof(command_args),
  .run = run,
};
