// SPDX-License-Identifier: Apache-2.0
// A mirror map in a training loop of one's own: policy mirror descent on a corridor with a small
// reward at its near end and a large one at its far end.
//
//   cc 04_own_loop.c $(pkg-config --cflags --libs mirrormap) -o own_loop
//   ./own_loop runs/learn-GridWorld-all-1/best.json
//
// Only two lines know of the map: scores gather the critic's values, and the projection turns them
// into a policy. Softmax is the map `negentropy`.

#include <stdio.h>

#include <mirrormap/map.h>

enum { CELLS = 12, ACTIONS = 3, ITERATIONS = 40 }; // left, stay, right
static const double discount = 0.95, eta = 0.2, slip = 0.1;

static int clamp(int cell) {
  return cell < 0 ? 0 : cell >= CELLS ? CELLS - 1 : cell;
}

static double reward(int cell) {
  return cell == 0 ? 0.15 : cell == CELLS - 1 ? 1.0 : 0.0;
}

// The critic: Q of a policy, exactly. Yours may be a network that looked at samples.
static void evaluate(double policy[CELLS][ACTIONS], double q[CELLS][ACTIONS]) {
  double value[CELLS] = { 0 };
  for (int sweep = 0; sweep < 2000; sweep++)
    for (int s = 0; s < CELLS; s++) {
      double v = 0;
      for (int a = 0; a < ACTIONS; a++) {
        int next = clamp(s + a - 1);
        q[s][a] = reward(s) + discount * ((1 - slip) * value[next] + slip * value[s]);
        v += policy[s][a] * q[s][a];
      }
      value[s] = v;
    }
}

int main(int argc, char **argv) {
  mm_map *map;
  if (mm_map_open(argc > 1 ? argv[1] : "negentropy", &map) != MM_OK) {
    fprintf(stderr, "%s\n", mm_last_error());
    return 2;
  }
  double score[CELLS][ACTIONS] = { { 0 } }, policy[CELLS][ACTIONS], q[CELLS][ACTIONS];
  for (int t = 0; t <= ITERATIONS; t++) {
    for (int s = 0; s < CELLS; s++) {
      double lambda; // policy_a = max(phi(score_a + lambda), 0)
      if (mm_map_project(map, MM_PROJECTION_EXACT, score[s], ACTIONS, policy[s], &lambda)) {
        fprintf(stderr, "%s\n", mm_last_error());
        return 1;
      }
    }
    evaluate(policy, q);
    double start = 0; // begin in the third cell
    for (int a = 0; a < ACTIONS; a++)
      start += policy[2][a] * q[2][a];
    if (t % 5 == 0)
      printf("iteration %2d  value %.4f  policy there %.3f %.3f %.3f\n", t, start, policy[2][0],
             policy[2][1], policy[2][2]);
    for (int s = 0; s < CELLS; s++)
      for (int a = 0; a < ACTIONS; a++)
        score[s][a] += eta * q[s][a]; // grad h(next policy) = grad h(policy) + eta Q
  }
  mm_map_destroy(map);
  return 0;
}
