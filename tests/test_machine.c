// SPDX-License-Identifier: Apache-2.0
// What results say about who made them.

#include <stdio.h>

#include "backend/cuda/host/cuda.h"
#include "base/isa.h"
#include "study/jobs/machine.h"
#include "test.h"

static void test_processor(void **state) {
  (void)state;
  char text[MM_MACHINE_TEXT], expected[64];
  mm_machine m = { .ran = MM_BACKEND_ON_CPU, .threads = 1 };
  snprintf(expected, sizeof expected, "1 thread, %s", mm_isa_name());
  assert_string_equal(mm_machine_text(&m, text), expected);
  m.threads = 8;
  snprintf(expected, sizeof expected, "8 threads, %s", mm_isa_name());
  assert_string_equal(mm_machine_text(&m, text), expected);
  m.ran = 0; // nothing was to be done
  assert_string_equal(mm_machine_text(&m, text), expected);
  cJSON *object = cJSON_CreateObject();
  mm_machine_add(object, &m);
  assert_string_equal(mm_json_find(object, "backend")->valuestring, "cpu");
  assert_string_equal(mm_json_find(object, "isa")->valuestring, mm_isa_name());
  assert_string_equal(mm_json_find(object, "threads")->valuestring, "8");
  assert_null(mm_json_find(object, "devices"));
  cJSON_Delete(object);
}

// With devices their names; without any the list is empty, since nobody can have used them.
static void test_devices(void **state) {
  (void)state;
  int count;
  mm_cuda_device facts;
  char text[MM_MACHINE_TEXT];
  const mm_machine m = { .place.kind = MM_BACKEND_CUDA, .ran = MM_BACKEND_ON_CUDA, .threads = 1 };
  cJSON *object = cJSON_CreateObject();
  mm_machine_add(object, &m);
  assert_string_equal(mm_json_find(object, "backend")->valuestring, "cuda");
  const cJSON *devices = mm_json_find(object, "devices");
  if (mm_cuda_find(&count) != MM_OK) count = 0;
  assert_int_equal(cJSON_GetArraySize(devices), count);
  if (count > 0) {
    assert_ok(mm_cuda_describe(0, &facts));
    assert_string_equal(devices->child->valuestring, facts.name);
    assert_non_null(strstr(mm_machine_text(&m, text), facts.name));
  }
  cJSON_Delete(object);
}

int suite_machine(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_processor),
    cmocka_unit_test(test_devices),
  };
  return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
