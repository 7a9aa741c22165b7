// Facts of all but the Grid-Worlds for people. docs/environments.md has the laws.

#include "cli/argument/env_facts.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "env/locomotion/body_words.h"

const char *const env_group_names[] = { "Grid-World", "Classic control", "Continuous control",
                                        "MinAtar" };

static const char *const cartpole_inputs[] = { "x", "x'", "angle", "angle'", NULL };
static const char *const acrobot_inputs[] = { "cos t1", "sin t1", "cos t2", "sin t2",
                                              "t1'",    "t2'",    NULL };
static const char *const car_inputs[] = { "position", "velocity", NULL };
static const char *const pendulum_inputs[] = { "cos", "sin", "angle'", NULL };

static const char only_by_limit[] = "only by the limit";

static const env_facts facts[] = {
  { "CartPole-v1", cartpole_inputs,
    "position and velocity of the cart, angle of the pole (0 upright) and its velocity",
    "1 for every step, the last one included: at most 500",
    "the cart leaves the track (|x| > 2.4) or the pole leans more than 12 degrees",
    "the start: all four numbers uniform in [-0.05, 0.05]", 30, false },
  { "Acrobot-v1", acrobot_inputs,
    "cosine and sine of both angles (t1 from hanging down, t2 from the first link), and their "
    "velocities",
    "-1 for every step, 0 for the one that ends the episode: at least -500",
    "the tip is more than one link above the joint",
    "the start: angles and velocities uniform in [-0.1, 0.1]", 15, false },
  { "MountainCar-v0", car_inputs, "position and velocity of the car",
    "-1 for every step, the last one included: at least -200", "position >= 0.5, not rolling back",
    "the start: position uniform in [-0.6, -0.4], at rest", 30, false },
  { "MountainCarContinuous-v0", car_inputs, "position and velocity of the car",
    "-0.1 a^2 for every step, with the action before it is clipped; +100 at the goal",
    "position >= 0.45, not rolling back", "the start: position uniform in [-0.6, -0.4], at rest",
    30, false },
  { "Pendulum-v1", pendulum_inputs, "cosine and sine of the angle (0 upright), and its velocity",
    "-(angle^2 + 0.1 velocity^2 + 0.001 torque^2) of the state before the step", only_by_limit,
    "the start: any angle, velocity uniform in [-1, 1]", 20, false },
  { "Asterix", NULL, "10 x 10 cells of 4 channels: player, enemy, trail, gold",
    "1 for each gold touched", "an enemy touches the player",
    "each spawn: its row, its side, and whether it is gold (1/3)", 10, false },
  { "Breakout", NULL, "10 x 10 cells of 4 channels: paddle, ball, trail, brick", "1 for each brick",
    "the paddle misses the ball", "the start: the ball comes from the left or from the right", 10,
    false },
  { "Freeway", NULL, "10 x 10 cells of 7 channels: chicken, car, trails by speed (5)",
    "1 for each crossing", only_by_limit,
    "at the start and after each crossing: speed and direction of all cars", 15, false },
  { "SpaceInvaders", NULL,
    "10 x 10 cells of 6 channels: cannon, alien, alien going left, going right, own bullet, enemy "
    "bullet",
    "1 for each alien shot", "an alien or its bullet reaches the cannon, or an alien the ground",
    "nothing (by the original rules the sticky actions)", 10, false },
  { "Seaquest", NULL,
    "10 x 10 cells of 10 channels: submarine front and back, own bullet, trail, enemy bullet, "
    "fish, enemy submarine, oxygen, divers aboard, diver",
    "1 for each fish or submarine shot; up to 10 for surfacing with six divers",
    "an enemy or its bullet touches the submarine, the oxygen ends, or it surfaces without a diver",
    "each spawn: row, side, and whether an enemy is a submarine (1/3)", 10, false },
};

static bool names(const env_facts *f, const char *id) {
  static const char prefix[] = "MinAtar/";
  size_t length = strlen(f->name);
  if (f->input != NULL) return strcmp(id, f->name) == 0;
  if (strncmp(id, prefix, sizeof prefix - 1) == 0) id += sizeof prefix - 1;
  return strncmp(id, f->name, length) == 0 && id[length] == '-';
}

// A body's facts are its words.
static const env_facts *find_body(const char *id) {
  static env_facts of[MM_BODY_COUNT];
  mm_body body;
  mm_flavour flavour;
  if (!mm_body_find(id, &body, &flavour)) return NULL;
  const mm_body_words *w = mm_body_words_of(body);
  of[body] = (env_facts){ .name = mm_body_describe(body)->name,
                          .input = w->input,
                          .observation = w->observation,
                          .reward = w->reward,
                          .end = w->end ? w->end : only_by_limit,
                          .random = w->random,
                          .fps = w->fps,
                          .body = true };
  return &of[body];
}

const env_facts *env_facts_find(const char *id) {
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (names(&facts[i], id)) return &facts[i];
  return find_body(id);
}

env_group env_group_of(const char *id) {
  const env_facts *f = env_facts_find(id);
  if (f == NULL) return GROUP_GRID;
  if (f->input == NULL) return GROUP_MINATAR;
  return f->body ? GROUP_BODY : GROUP_CLASSIC;
}

bool env_facts_endless(const char *id) {
  const env_facts *f = env_facts_find(id);
  return f != NULL && f->end == only_by_limit;
}

const char *env_body_names(void) {
  static char text[200];
  size_t used = 0;
  for (mm_body body = 0; body < MM_BODY_COUNT && used < sizeof text; body++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                             body == 0                   ? ""
                             : body + 1 == MM_BODY_COUNT ? " and "
                                                         : ", ",
                             mm_body_describe(body)->name);
  return text;
}
