// The arguments of `env show` and `env play`.

#include "cli/env/env_settings.h"

#include <string.h>

#include "cli/argument/env_facts.h"
#include "cli/argument/grid_argument.h"
#include "cli/core/terminal.h"
#include "env/grid/grid_task.h"

#define AT(field) .offset = offsetof(env_args, field)

enum {
  SETTING_GAMMA,
  SETTING_TERMINATION,
  SETTING_RULES,
  SETTING_WALLS,
  SETTING_FLAVOUR,
  SETTING_PHYSICS,
  SETTING_FRESH
};

const option env_settings[] = {
  [SETTING_GAMMA] = { .name = "gamma",
                      .type = OPTION_NUMBER,
                      AT(gamma),
                      .metavar = "G",
                      .fallback = "0.99",
                      .low = 0,
                      .high = 0.999999,
                      .help = "Grid-World: discount factor" },
  [SETTING_TERMINATION] = { .name = "termination",
                            .type = OPTION_CHOICE,
                            AT(termination),
                            .choices = grid_termination_names,
                            .fallback = "absorb",
                            .help = "Grid-World: the episode ends, or goes on from the start" },
  [SETTING_RULES] = { .name = "rules",
                      .type = OPTION_CHOICE,
                      AT(rules),
                      .choices = vec_rules_names,
                      .help = "MinAtar: those of gymnax, or the original's with sticky actions "
                              "(default: as the ID says)" },
  [SETTING_WALLS] = { .name = "gymnasium_walls",
                      .type = OPTION_CHOICE,
                      AT(gymnasium_walls),
                      .choices = vec_switch_names,
                      .help = "MountainCarContinuous: the left wall stops the car, as in Gymnasium "
                              "(default off)" },
  [SETTING_FLAVOUR] = { .name = "flavour",
                        .type = OPTION_CHOICE,
                        AT(flavour),
                        .choices = vec_flavour_names,
                        .help = "locomotion tasks: contacts, integrator and start of brax, "
                                "or of Gymnasium's -v4 (default: as the ID says)" },
  [SETTING_PHYSICS] = { .name = "physics",
                        .type = OPTION_CHOICE,
                        AT(physics),
                        .choices = vec_physics_names,
                        .direct = true,
                        .help = "locomotion tasks: our own engine, or the MuJoCo library "
                                "(default own)" },
  [SETTING_FRESH] = { .name = "fresh_reset",
                      .type = OPTION_CHOICE,
                      AT(fresh_reset),
                      .choices = vec_switch_names,
                      .help = "locomotion tasks: each episode has a start of its own, or "
                              "that of the first (default on here; off when training)" },
  { .name = NULL },
};

// whom a setting is for, if not for this environment; else NULL
static const char *foreign_setting(size_t setting, const char *id, bool grid) {
  switch (setting) {
  case SETTING_GAMMA:
  case SETTING_TERMINATION:
    return grid ? NULL : "Grid-World";
  case SETTING_RULES:
    return !grid && env_group_of(id) == GROUP_MINATAR ? NULL : "MinAtar";
  case SETTING_FLAVOUR:
  case SETTING_PHYSICS:
  case SETTING_FRESH:
    return !grid && env_group_of(id) == GROUP_BODY ? NULL : env_body_names();
  default:
    return strcmp(id, "MountainCarContinuous-v0") == 0 ? NULL : "MountainCarContinuous-v0";
  }
}

static int check(const command *c, const env_args *args, const env_options *options, const char *id,
                 bool grid) {
  const char *const *foreign = grid ? options->vec : options->grid;
  for (; *foreign != NULL; foreign++)
    if (options_given(c, &args->common, *foreign))
      return fail_usage("option '--%s' is for %s, not for '%s'", *foreign,
                        grid ? "classic control, bodies and MinAtar" : "Grid-World", id);
  for (size_t i = 0; env_settings[i].name != NULL; i++) {
    const char *whose = foreign_setting(i, id, grid);
    if ((args->common.set >> i & 1) != 0 && whose != NULL)
      return fail_usage("setting '%s' is for %s, not for '%s'", env_settings[i].name, whose, id);
  }
  return EXIT_DONE;
}

int env_args_open(const command *c, const env_args *args, const char *id,
                  const env_options *options, mm_env **out) {
  mm_status status = mm_env_open(id, out);
  if (status != MM_OK)
    return fail(status == MM_ERR_INPUT || status == MM_ERR_IO ? EXIT_USAGE : EXIT_FAILED, "%s",
                mm_last_error());
  int code = check(c, args, options, id, mm_env_is_grid(*out));
  if (code == EXIT_DONE) return code;
  mm_env_destroy(*out);
  *out = NULL;
  return code;
}

vec_game_config env_args_game(const env_args *args) {
  return (vec_game_config){ .seed = args->seed,
                            .rules = args->rules,
                            .gymnasium_walls = args->gymnasium_walls,
                            .flavour = args->flavour,
                            .physics = args->physics,
                            .same_start = args->fresh_reset != NULL &&
                                          strcmp(args->fresh_reset, "off") == 0 };
}

bool env_policy_trained(const env_policy *policy) {
  return policy->name != NULL && strcmp(policy->name, "random") != 0;
}

int env_policy_check(const command *c, const command_args *args, const env_policy *policy) {
  static const char *const needy[] = { "agent", "greedy" };
  for (int i = 0; i < 2 && !env_policy_trained(policy); i++)
    if (options_given(c, args, needy[i]))
      return fail_usage("option '--%s' needs '--policy' with a run or a file", needy[i]);
  return EXIT_DONE;
}

// a body and walls as the policy knows them, unless others were asked for
static void take_world(const mm_policy_info *info, const char *id, vec_game_config *game) {
  const mm_ampo_config *trained = &info->settings.ampo;
  const bool same = id == NULL || strcmp(id, info->env_id) == 0;
  if (game->flavour == NULL && same && trained->flavour != MM_ENV_FLAVOUR_BY_ID)
    game->flavour = vec_flavour_names[trained->flavour - 1];
  if (game->physics == NULL && trained->physics != MM_ENV_PHYSICS_AUTO)
    game->physics = vec_physics_names[trained->physics - 1];
  if (game->gymnasium_walls == NULL && trained->gymnasium_walls) game->gymnasium_walls = "on";
}

int env_policy_open(const env_policy *policy, const char *id, policy_argument *opened,
                    vec_game_config *game) {
  int code = policy_argument_open(policy->name, id, game->rules, opened);
  if (code != EXIT_DONE) return code;
  if (policy->agent >= opened->info.n)
    return fail_usage("option '--agent': %s has agents 0 to %zu", policy->name, opened->info.n - 1);
  game->rules = policy_argument_rules(opened);
  take_world(&opened->info, id, game);
  game->greedy = policy->greedy;
  mm_status status = mm_player_create(opened->policy, (size_t)policy->agent, &game->player);
  return status == MM_OK ? EXIT_DONE : fail_status(status);
}

void env_policy_release(policy_argument *opened, vec_game_config *game) {
  mm_player_destroy(game->player);
  game->player = NULL;
  policy_argument_release(opened);
}
