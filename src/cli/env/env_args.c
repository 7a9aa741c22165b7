// SPDX-License-Identifier: Apache-2.0
// The arguments of `env show` and `env play`, and trained policies.

#define _POSIX_C_SOURCE 200809L

#include "cli/env/env_args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/argument/env_argument.h"
#include "cli/argument/run_argument.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "env/grid/grid_task.h"
#include "mirrormap/run.h"

const char *const env_termination_names[] = { "absorb", "restart", NULL };
const char *const env_rules_names[] = { "gymnax", "minatar", NULL };
const char *const env_flavour_names[] = { "brax", "gymnasium", NULL };
const char *const env_physics_names[] = { "own", "mujoco", NULL };
static const char *const switch_names[] = { "off", "on", NULL };

#define ARGS env_args

const option *env_settings(void) {
  static const option keys[] = {
    OPTION(NUMBER, "gamma", gamma, "G", "Grid-World: discount factor", .fallback = "0.99", .low = 0,
           .high = 0.999999),
    OPTION(INDEX, "termination", termination, NULL,
           "Grid-World: the episode ends, or goes on from the start",
           .choices = env_termination_names, .fallback = "absorb"),
    OPTION(
        INDEX, "rules", rules, NULL,
        "MinAtar: those of gymnax, or the original's with sticky actions (default: as the ID says)",
        .choices = env_rules_names),
    OPTION(INDEX, "gymnasium_walls", gymnasium_walls, NULL,
           "MountainCarContinuous: the left wall stops the car, as in Gymnasium (default off)",
           .choices = switch_names),
    OPTION(INDEX, "flavour", flavour, NULL,
           "locomotion tasks: contacts, integrator and start of brax, or of Gymnasium's -v4 "
           "(default: as the ID says)",
           .choices = env_flavour_names),
    OPTION(INDEX, "physics", physics, NULL,
           "locomotion tasks: our own engine, or the MuJoCo library (default own)",
           .choices = env_physics_names, .direct = true),
    OPTION(
        INDEX, "fresh_reset", fresh_reset, NULL,
        "locomotion tasks: each episode has a start of its own, or that of the first (default on "
        "here; off when training)",
        .choices = switch_names),
    { 0 },
  };
  return keys;
}

static int check(const command *c, const env_args *args, const env_options *options, const char *id,
                 bool grid) {
  const char *const *foreign = grid ? options->vec : options->grid;
  for (; *foreign != NULL; foreign++)
    if (options_given(c, &args->common, *foreign))
      return fail_usage("option '--%s' is for %s, not for '%s'", *foreign,
                        grid ? "classic control, locomotion tasks and MinAtar" : "Grid-World", id);
  const option *o = env_settings();
  for (size_t i = 0; o[i].name != NULL; i++) {
    const char *whose = env_setting_owner(o[i].name, grid ? GROUP_GRID : env_group_of(id), id);
    if (args->common.set[i] && whose != NULL)
      return fail_usage("setting '%s' is for %s, not for '%s'", o[i].name, whose, id);
  }
  return EXIT_DONE;
}

int env_args_open(const command *c, const env_args *args, const char *id,
                  const env_options *options, mm_env **out) {
  mm_status status = mm_env_open(id, out);
  if (status != MM_OK) return fail_reading(status, "");
  int code = check(c, args, options, id, mm_env_is_grid(*out));
  if (code == EXIT_DONE) return code;
  mm_env_destroy(*out);
  *out = NULL;
  return code;
}

// ---------------------------------------------------------------------------------------------
// Trained policies

static int refuse(mm_status status) {
  return fail(exit_code_of(status), "option '--policy': %s", mm_last_error());
}

// A run folder without a policy: what it is, and how to come by one. Other failures are the
// library's to explain.
static int refuse_folder(const char *folder, mm_status status) {
  mm_run *run;
  char *policy = memory_print("%s/policy.safetensors", folder);
  const bool missing = run_argument_is_there(folder) && access(policy, F_OK) != 0;
  free(policy);
  if (!missing) return refuse(status);
  const int code = exit_code_of(status);
  if (mm_run_open(folder, MM_RUN_SALVAGE, &run) != MM_OK) return refuse(status);
  const char *kind = mm_run_command(run);
  if (strcmp(kind, "learn") == 0)
    fail(code,
         "option '--policy': %s is a search for a mirror map and has no policy; train agents with "
         "its map first: mirrormap train --env ID --map %s/best.json",
         folder, folder);
  else if (strcmp(kind, "train") == 0)
    fail(code,
         "option '--policy': %s has no policy.safetensors: training runs of networks leave one "
         "when they end (resume with 'train --resume %s')",
         folder, folder);
  else
    fail(code, "option '--policy': %s is a study of '%s': only 'train' keeps policies", folder,
         kind);
  mm_run_close(run);
  return code;
}

int policy_argument_open(const char *text, const char *id, mm_env_rules rules,
                         policy_argument *out) {
  *out = (policy_argument){ 0 };
  mm_status status = mm_policy_load(text, &out->policy);
  if (status != MM_OK) return refuse_folder(text, status);
  mm_policy_describe(out->policy, &out->info);
  const char *name = id != NULL ? id : out->info.env_id;
  status = mm_env_open(name, &out->env);
  if (status != MM_OK && id == NULL) return fail_reading(status, text); // the name is the file's
  TRY(status_code(status));
  const char *whose = env_setting_owner("rules", env_group_of(name), name);
  if (rules != MM_RULES_BY_ID && whose != NULL)
    return fail_usage("setting 'rules' is for %s, not for '%s'", whose, name);
  const bool other = id != NULL && strcmp(id, out->info.env_id) != 0;
  out->rules = rules;
  if (rules == MM_RULES_BY_ID && !other)
    out->rules = (mm_env_rules)((const mm_actor_critic_config *)out->info.config)->rules;
  status = mm_policy_fits(out->policy, out->env, out->rules);
  return status == MM_OK ? EXIT_DONE : refuse(status);
}

void policy_argument_release(policy_argument *a) {
  mm_player_destroy(a->player);
  mm_policy_destroy(a->policy);
  mm_env_destroy(a->env);
  *a = (policy_argument){ 0 };
}

bool env_policy_trained(const env_args *args) {
  return args->policy != NULL && strcmp(args->policy, "random") != 0;
}

int env_policy_check(const command *c, const env_args *args) {
  static const char *const needy[] = { "agent", "greedy" };
  for (int i = 0; i < 2 && !env_policy_trained(args); i++)
    if (options_given(c, &args->common, needy[i]))
      return fail_usage("option '--%s' needs '--policy' with a run or a file", needy[i]);
  return EXIT_DONE;
}

// flavour, physics and walls that the policy was trained with, unless others were asked for
static void adopt_world(const mm_policy_info *info, const char *id, env_args *args) {
  const mm_actor_critic_config *trained = info->config;
  const bool same = id == NULL || strcmp(id, info->env_id) == 0;
  if (args->flavour == 0 && same) args->flavour = (int)trained->flavour;
  if (args->physics == 0) args->physics = (int)trained->physics;
  if (args->gymnasium_walls == 0 && trained->gymnasium_walls) args->gymnasium_walls = SWITCH_ON;
}

int env_policy_open(env_args *args, const char *id, policy_argument *out) {
  TRY(policy_argument_open(args->policy, id, (mm_env_rules)args->rules, out));
  if (args->agent >= out->info.n)
    return fail_usage("option '--agent': %s has agents 0 to %zu", args->policy, out->info.n - 1);
  args->rules = (int)out->rules;
  adopt_world(&out->info, id, args);
  return status_code(mm_player_create(out->policy, (size_t)args->agent, &out->player));
}
