// SPDX-License-Identifier: Apache-2.0
// The scales of AMPO's losses in half precision: halves neither overflow nor lose small errors, and
// the gradient is the same without them.

#include <math.h>

#include "backend/cuda/network/loss_scale.h"
#include "test.h"

static void assert_power_of_two(float x) {
  int exponent;
  assert_float_equal(frexpf(x, &exponent), 0.5f, 0);
}

// Errors of 1e-10 (the critic's, with a tiny weight) to 1e15 (phi^-1(1) / eta) come to where halves
// have all their digits and the hidden layers room.
static void test_range(void **state) {
  (void)state;
  for (double top = 1e-10; top < 1e15; top *= 1.7) {
    const float power = mm_cuda_error_power((float)top), scaled = power * (float)top;
    assert_power_of_two(power);
    assert_true(scaled >= 0x1p-10f && scaled <= 0x1p12f);
  }
}

static void test_ordinary(void **state) {
  (void)state;
  const float ordinary[] = { 0.001f, 0.05f, 1, 28, 500, 4000 };
  for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
    assert_float_equal(mm_cuda_error_power(ordinary[i]), 1, 0);
  const float none[] = { 0, INFINITY, NAN }; // nothing to go by
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    assert_float_equal(mm_cuda_error_power(none[i]), 1, 0);
  mm_cuda_loss_scale s;
  mm_cuda_loss_scale_begin(&s, 12.8f, 3, true, 0.5f);
  for (int net = 0; net < 2; net++) {
    assert_float_equal(s.up[net], 1, 0);
    assert_float_equal(s.common[net], 1, 0);
  }
  assert_float_equal(s.down, 1, 0);
}

// What was scaled up comes down again to the last bit, in either network.
static void assert_consistent(const mm_cuda_loss_scale *s) {
  for (int net = 0; net < 2; net++) {
    const float error = 1.2345678f;
    assert_true(s->common[net] <= 1);
    assert_float_equal(error * s->up[net] * s->common[net] * s->down, error, 0);
  }
  assert_true(s->common[0] == 1 || s->common[1] == 1);
}

static void test_networks(void **state) {
  (void)state;
  const float sizes[] = { 1e-9f, 1e-3f, 1, 1e5f, 1e12f };
  enum { N = sizeof sizes / sizeof *sizes };
  for (int i = 0; i < N * N; i++) {
    mm_cuda_loss_scale s;
    mm_cuda_loss_scale_begin(&s, sizes[i / N], sizes[i % N], i % 2, 0.5f);
    assert_consistent(&s);
    const float actor = 2 * (sizes[i / N] + (i % 2 ? 1 : sizes[i % N])), critic = sizes[i % N] / 2;
    assert_float_equal(s.up[0], mm_cuda_error_power(actor), 0);
    assert_float_equal(s.up[1], mm_cuda_error_power(critic), 0);
  }
}

// An overflow lowers the scale of the network it was in, a few times over.
static void test_lower(void **state) {
  (void)state;
  mm_cuda_loss_scale s;
  mm_cuda_loss_scale_set(&s, 1, 1);
  assert_false(mm_cuda_loss_scale_lower(&s, false, false));
  assert_true(mm_cuda_loss_scale_lower(&s, true, false));
  assert_float_equal(s.up[0], 0x1p-12f, 0);
  assert_float_equal(s.up[1], 1, 0);
  assert_consistent(&s);
  int times = 1;
  while (mm_cuda_loss_scale_lower(&s, true, true))
    times++;
  assert_in_range(times, 4, 20);
}

int suite_cuda_loss_scale(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_range),
    cmocka_unit_test(test_ordinary),
    cmocka_unit_test(test_networks),
    cmocka_unit_test(test_lower),
  };
  return cmocka_run_group_tests_name("cuda_loss_scale", tests, NULL, NULL);
}
