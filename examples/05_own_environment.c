// SPDX-License-Identifier: Apache-2.0
// An environment of one's own as a plug-in: a pole on a cart, and a wind that comes and goes.
//
//   cc -shared -fPIC examples/05_own_environment.c $(pkg-config --cflags mirrormap) -o windy.so
//   mirrormap env check WindyPole --plugin windy.so
//   mirrormap train --env WindyPole --map l2 --plugin windy.so

#include <math.h>
#include <mirrormap/plugin.h>
#include <string.h>

// Copied as it is when a run is kept: numbers, no pointers.
typedef struct pole {
  float x, x_dot, angle, angle_dot; // of the cart; of the pole, 0 upright
  float wind;                       // force on the cart
} pole;

static void reset(void *state, mm_random *random) {
  float *number = state; // all but the wind, which is 0
  for (int k = 0; k < 4; k++)
    number[k] = 0.1f * mm_random_uniform(random) - 0.05f;
}

static int step(void *state, const void *action, mm_random *random, float *reward) {
  const float gravity = 9.8f, mass = 1.1f, pole_mass = 0.1f, half_length = 0.5f, dt = 0.02f;
  pole *s = state;
  s->wind += dt * -s->wind + 0.5f * mm_random_normal(random); // pulled back to no wind
  const float force = (*(const int32_t *)action ? 10.0f : -10.0f) + s->wind;
  const float sine = sinf(s->angle), cosine = cosf(s->angle);
  const float push = (force + pole_mass * half_length * s->angle_dot * s->angle_dot * sine) / mass;
  const float inertia = half_length * (4.0f / 3.0f - pole_mass * cosine * cosine / mass);
  const float turn = (gravity * sine - cosine * push) / inertia;
  s->x += dt * s->x_dot;
  s->x_dot += dt * (push - pole_mass * half_length * turn * cosine / mass);
  s->angle += dt * s->angle_dot;
  s->angle_dot += dt * turn;
  *reward = 1;
  return fabsf(s->x) > 2.4f || fabsf(s->angle) > 0.21f ? MM_END_TERMINATED : 0;
}

static void observe(const void *state, float *obs) {
  const pole *s = state;
  memcpy(obs, s, sizeof *s); // all of it, in the order of the struct
}

static const mm_mark marks[] = { { "track", 0x808080, '-', 0 },
                                 { "cart", 0x0087d7, '#', 0 },
                                 { "pole", 0xd75f00, '|', 0 },
                                 { "wind", 0x5fafaf, '~', 0 } };

static int shapes(const float *obs, mm_shape *out) {
  const double x = obs[0], top_x = x + sin(obs[2]), top_y = 0.25 + cos(obs[2]);
  out[0] = mm_shape_line(0, -2.4, 0, 2.4, 0, 0.02);
  out[1] = mm_shape_box(1, x - 0.25, 0.03, x + 0.25, 0.25);
  out[2] = mm_shape_line(2, x, 0.25, top_x, top_y, 0.06);
  out[3] = mm_shape_line(3, x, 0.14, x + 0.1 * obs[4], 0.14, 0.04);
  return 4;
}

// The last observation of an episode is just beyond the limits.
#define ANY                                                                                        \
  { -INFINITY, INFINITY }
static const float bounds[5][2] = { { -4.8f, 4.8f }, ANY, { -0.42f, 0.42f }, ANY, ANY };
static const char *const actions[] = { "left", "right" };
static const char *const inputs[] = { "x", "x'", "angle", "angle'", "wind", NULL };

static const mm_plugin_env windy_pole = {
  .size = sizeof windy_pole,
  .id = "WindyPole",
  .summary = "balance a pole on a cart in the wind",
  .n_input = 5,
  .n_action = 2,
  .limit = 500,
  .state_size = sizeof(pole),
  .reset = reset,
  .step = step,
  .observe = observe,
  .bounds = bounds,
  .action_name = actions,
  .input_name = inputs,
  .observation = "cart, pole and the force of the wind",
  .reward = "1 for every step",
  .end = "the cart leaves the track or the pole falls",
  .random = "the start, and the wind",
  .shapes = shapes,
  .mark = marks,
  .n_mark = 4,
  .view = { -2.75, 2.75, -0.15, 1.45 },
};
static const mm_plugin_env *const envs[] = { &windy_pole, NULL };

const mm_plugin mirrormap_plugin = {
  .interface = MM_PLUGIN_INTERFACE,
  .size = sizeof(mm_plugin),
  .name = "windy",
  .version = "1.0",
  .env = envs,
};
