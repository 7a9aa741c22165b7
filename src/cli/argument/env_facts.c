// Facts of all but the Grid-Worlds for people. docs/environments.md has the laws.

#include "cli/argument/env_facts.h"

#include <stddef.h>
#include <string.h>

const char *const env_group_names[] = { "Grid-World", "Classic control", "Continuous control",
                                        "MinAtar" };

static const char *const cartpole_inputs[] = { "x", "x'", "angle", "angle'", NULL };
static const char *const acrobot_inputs[] = { "cos t1", "sin t1", "cos t2", "sin t2",
                                              "t1'",    "t2'",    NULL };
static const char *const car_inputs[] = { "position", "velocity", NULL };
static const char *const pendulum_inputs[] = { "cos", "sin", "angle'", NULL };

static const char *const hopper_inputs[] = { "height", "pitch",  "thigh",  "leg",  "foot",  "x'",
                                             "z'",     "pitch'", "thigh'", "leg'", "foot'", NULL };
static const char *const cheetah_inputs[] = { "z", "pitch", "",   "",   "",       "",
                                              "",  "",      "x'", "z'", "pitch'", NULL };
static const char *const ant_inputs[] = { "height", "", "", "", "",   "",   "",   "",  "",
                                          "",       "", "", "", "x'", "y'", "z'", NULL };

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
  { "Hopper", hopper_inputs,
    "height and pitch of the torso, angles of thigh, leg and foot; then the velocities of x, z, "
    "pitch and the three joints, each within -10 .. 10",
    "forward velocity + 1 - 0.001 (sum of squared actions)",
    "the torso is not above 0.7, leans 0.2 or more, or a number reaches 100",
    "the start: all coordinates and velocities uniform within 0.005 of the pose", 60, true },
  { "HalfCheetah", cheetah_inputs,
    "z (0 at the start), pitch and the six joints, back leg first; then the velocities of x, z, "
    "pitch and the joints",
    "forward velocity - 0.1 (sum of squared actions)", only_by_limit,
    "the start: coordinates uniform within 0.1 of the pose, velocities 0.1 N(0, 1)", 20, true },
  { "Ant", ant_inputs,
    "height, quaternion w x y z, hip and ankle of four legs; then linear velocity, angular "
    "velocity in the body's frame, and the joints'",
    "forward velocity + 1 - 0.5 (sum of squared actions)", "the torso is below 0.2 or above 1",
    "the start: coordinates uniform within 0.1 of the pose, velocities 0.1 N(0, 1)", 20, true },
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
  if (f->input != NULL) // a body may be of Gymnasium's flavour
    return strncmp(id, f->name, length) == 0 && (!id[length] || strcmp(id + length, "-v4") == 0);
  if (strncmp(id, prefix, sizeof prefix - 1) == 0) id += sizeof prefix - 1;
  return strncmp(id, f->name, length) == 0 && id[length] == '-';
}

const env_facts *env_facts_find(const char *id) {
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (names(&facts[i], id)) return &facts[i];
  return NULL;
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

const char *env_setting_owner(const char *key, env_group group, const char *id) {
  static const char walls[] = "MountainCarContinuous-v0";
  static const struct {
    const char *key;
    env_group group;
    const char *whose;
  } owned[] = {
    { "gamma", GROUP_GRID, "Grid-World" },
    { "termination", GROUP_GRID, "Grid-World" },
    { "rules", GROUP_MINATAR, "MinAtar" },
    { "flavour", GROUP_BODY, "Hopper, HalfCheetah and Ant" },
    { "physics", GROUP_BODY, "Hopper, HalfCheetah and Ant" },
    { "fresh_reset", GROUP_BODY, "Hopper, HalfCheetah and Ant" },
  };
  if (strcmp(key, "gymnasium_walls") == 0) return strcmp(id, walls) == 0 ? NULL : walls;
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
    if (strcmp(key, owned[i].key) == 0 && group != owned[i].group) return owned[i].whose;
  return NULL;
}
