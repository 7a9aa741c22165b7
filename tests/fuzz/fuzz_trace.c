// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as a recorded trace of the environment that it names. Refused with one line
// that names the file, or replayed: every transition matches or is counted as one that does not.

#define _XOPEN_SOURCE 700 // mkstemp

#include "base/json.h"
#include "env/trace.h"
#include "fuzz.h"

// The ID in the text, if it is one; else any, by the length.
static const char *find_id(const uint8_t *data, size_t size) {
  const char *id = NULL;
  cJSON *root = NULL;
  size_t n = 0, k;
  while (mm_trace_id(n))
    n++;
  require(n > 0, "environments with traces");
  if (mm_json_parse((const char *)data, size, "trace", &root) == MM_OK) {
    const cJSON *env = cJSON_GetObjectItemCaseSensitive(root, "env");
    for (k = 0; k < n && cJSON_IsString(env); k++)
      if (strcmp(mm_trace_id(k), env->valuestring) == 0) id = mm_trace_id(k);
    if (!id && cJSON_HasObjectItem(root, "levels")) id = "GridWorld";
  }
  cJSON_Delete(root);
  return id ? id : mm_trace_id(size % n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mm_replay_report report;
  const char *path = fuzz_file(data, size), *id = find_id(data, size);
  mm_status status = mm_trace_replay(id, path, &report);
  if (status != MM_OK) {
    require_refusal(status, path);
    return 0;
  }
  require(report.matched >= 0 && report.mismatched >= 0, "counts");
  require(report.matched + report.mismatched == report.transitions, "every transition counts");
  require(report.has_mismatch == (report.mismatched > 0), "the first mismatch where there is one");
  require(!report.has_mismatch || memchr(report.first.field, 0, sizeof report.first.field),
          "with a name");
  return 0;
}
