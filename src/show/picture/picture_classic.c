// Pictures of classic control: a few lines, boxes and discs, in the units of the environment. The
// colours are of medium lightness, so that they stand out from dark and from light paper.

#include "env/classic/acrobot.h"
#include "env/classic/cartpole.h"
#include "env/classic/mountain_car_continuous.h"
#include "env/classic/pendulum.h"
#include "show/picture/picture.h"

#define GREY 0x808080
#define BLUE 0x0087d7
#define VERMILION 0xd75f00

static mm_shape line(int mark, double x, double y, double x2, double y2, double width) {
  return (mm_shape){ MM_SHAPE_LINE, mark, x, y, x2, y2, width };
}

static mm_shape box(int mark, double x, double y, double x2, double y2) {
  return (mm_shape){ MM_SHAPE_BOX, mark, x, y, x2, y2, 0 };
}

static mm_shape disc(int mark, double x, double y, double radius) {
  return (mm_shape){ MM_SHAPE_DISC, mark, x, y, x, y, radius };
}

// ---------------------------------------------------------------------------------------------
// CartPole: a track with its ends, the cart on it, the pole on the cart

static const mm_mark cartpole_marks[] = { { "track and limits", GREY, '-', 0 },
                                          { "cart", BLUE, '#', 0 },
                                          { "pole", VERMILION, '|', 0 } };

static int cartpole(const mm_scene *scene, const float *obs, mm_shape *out) {
  (void)scene;
  const double end = (double)MM_CARTPOLE_X_MAX, x = (double)obs[0], deck = 0.25, length = 1;
  float sine, cosine, limit_sine, limit_cosine;
  int n = 0;
  mm_sincos_f(obs[2], &sine, &cosine);
  mm_sincos_f(MM_CARTPOLE_THETA_MAX, &limit_sine, &limit_cosine);
  out[n++] = line(0, -end, 0, end, 0, 0.02);
  for (int side = -1; side <= 1; side += 2) {
    double far = side * (double)limit_sine, high = (double)limit_cosine;
    out[n++] = line(0, side * end, -0.1, side * end, 0.1, 0.02);
    out[n++] =
        line(0, x + 1.03 * far, deck + 1.03 * high, x + 1.15 * far, deck + 1.15 * high, 0.02);
  }
  out[n++] = box(1, x - 0.25, 0.03, x + 0.25, deck);
  out[n++] = line(2, x, deck, x + length * (double)sine, deck + length * (double)cosine, 0.06);
  return n;
}

// ---------------------------------------------------------------------------------------------
// Acrobot: two links below a joint, and the height to be passed

static const mm_mark acrobot_marks[] = { { "height to pass", GREY, '-', 0 },
                                         { "upper link", BLUE, '#', 0 },
                                         { "lower link, with the motor", VERMILION, '*', 0 } };

static int acrobot(const mm_scene *scene, const float *obs, mm_shape *out) {
  (void)scene;
  // the observation has cosine and sine of both angles; the second is seen from the first
  double c1 = (double)obs[0], s1 = (double)obs[1], c2 = (double)obs[2], s2 = (double)obs[3];
  double x = s1, y = -c1, height = (double)MM_ACROBOT_HEIGHT;
  double tip_x = x + s1 * c2 + c1 * s2, tip_y = y - (c1 * c2 - s1 * s2);
  int n = 0;
  for (int i = -4; i < 4; i++)
    out[n++] = line(0, 0.5 * i + 0.1, height, 0.5 * i + 0.4, height, 0.03);
  out[n++] = line(1, 0, 0, x, y, 0.12);
  out[n++] = line(2, x, y, tip_x, tip_y, 0.1);
  out[n++] = disc(1, 0, 0, 0.1);
  out[n++] = disc(2, x, y, 0.1);
  return n;
}

// ---------------------------------------------------------------------------------------------
// Mountain car: the valley, the car, the flag

static const mm_mark car_marks[] = { { "valley", GREY, '-', 0 },
                                     { "car", BLUE, 'O', 0 },
                                     { "goal", VERMILION, '|', 0 } };

// The slope of this curve is what the dynamics feel.
static double ground(double x) {
  return 0.55 + 0.45 * (double)mm_sin_f(3 * (float)x);
}

static int car(const mm_scene *scene, const float *obs, mm_shape *out) {
  const double left = (double)MM_MOUNTAIN_CAR_LEFT, right = (double)MM_MOUNTAIN_CAR_RIGHT;
  const double goal =
      scene->which ? (double)MM_MOUNTAIN_CAR_CONTINUOUS_GOAL : (double)MM_MOUNTAIN_CAR_GOAL;
  const double radius = 0.05, x = (double)obs[0], step = (right - left) / 48;
  int n = 0;
  for (int i = 0; i < 48; i++) {
    double from = left + i * step, to = from + step;
    out[n++] = line(0, from, ground(from), to, ground(to), 0.012);
  }
  out[n++] = line(2, goal, ground(goal), goal, ground(goal) + 0.25, 0.015);
  out[n++] = box(2, goal, ground(goal) + 0.16, goal + 0.1, ground(goal) + 0.25);
  out[n++] = disc(1, x, ground(x) + radius, radius);
  return n;
}

// ---------------------------------------------------------------------------------------------
// Pendulum: a rod, upright is up; a positive torque turns it to the right of there

static const mm_mark pendulum_marks[] = { { "upright", GREY, '|', 0 },
                                          { "rod", BLUE, '#', 0 },
                                          { "pivot", VERMILION, 'o', 0 } };

static int pendulum(const mm_scene *scene, const float *obs, mm_shape *out) {
  (void)scene;
  out[0] = line(0, 0, 1.08, 0, 1.22, 0.03);
  out[1] = line(1, 0, 0, (double)obs[1], (double)obs[0], 0.12);
  out[2] = disc(2, 0, 0, 0.09);
  return 3;
}

// ---------------------------------------------------------------------------------------------

const mm_scene_entry mm_scenes_classic[MM_SCENES_CLASSIC] = {
  { { "CartPole-v1" },
    { cartpole_marks, 3, .box = { -2.75, 2.75, -0.15, 1.45 }, .shapes = cartpole } },
  { { "Acrobot-v1" },
    { acrobot_marks, 3, .box = { -2.15, 2.15, -2.15, 2.15 }, .shapes = acrobot } },
  { { "Pendulum-v1" },
    { pendulum_marks, 3, .box = { -1.25, 1.25, -1.25, 1.25 }, .shapes = pendulum } },
  { { "MountainCar-v0" }, { car_marks, 3, .box = { -1.25, 0.7, 0.02, 1.32 }, .shapes = car } },
  { { "MountainCarContinuous-v0" },
    { car_marks, 3, .box = { -1.25, 0.7, 0.02, 1.32 }, .shapes = car, .which = 1 } },
};
