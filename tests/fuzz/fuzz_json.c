// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as JSON. Refused with one line, or a tree that prints to text which reads
// back to the same.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, mm_last_error());
  abort();
}

// "fuzz:LINE:COLUMN: ...", one line.
static void require_error(mm_status status) {
  unsigned long line = 0, column = 0;
  const char *text = mm_last_error();
  require(status == MM_ERR_INPUT, "the status of a refusal");
  require(sscanf(text, "fuzz:%lu:%lu: expected", &line, &column) == 2, "an error gives its place");
  require(line >= 1 && column >= 1, "places are counted from 1");
  for (const char *s = text; *s; s++)
    require((unsigned char)*s >= 0x20 && *s != 0x7F, "an error is one line without controls");
}

// The same values of the same kinds, numbers to the bit.
static void require_same(const cJSON *a, const cJSON *b) {
  require((a == NULL) == (b == NULL), "as many items");
  for (; a && b; a = a->next, b = b->next) {
    require(a->type == b->type, "items of the same type");
    require((a->string == NULL) == (b->string == NULL), "keys in the same places");
    if (a->string && b->string) require(strcmp(a->string, b->string) == 0, "the same keys");
    if (cJSON_IsString(a)) require(strcmp(a->valuestring, b->valuestring) == 0, "the same strings");
    if (cJSON_IsNumber(a))
      require(memcmp(&a->valuedouble, &b->valuedouble, sizeof(double)) == 0, "the same bits");
    require_same(a->child, b->child);
    require((a->next == NULL) == (b->next == NULL), "as many items");
  }
}

static void require_round_trip(const cJSON *root, bool pretty) {
  cJSON *back = NULL;
  char *text = mm_json_print(root, pretty);
  require(text != NULL, "a tree can be printed");
  require(mm_json_parse(text, strlen(text), "printed", &back) == MM_OK, "what was printed is read");
  require_same(root, back);
  char *again = mm_json_print(back, pretty);
  require(again && strcmp(text, again) == 0, "it prints to the same text");
  mm_free(text);
  mm_free(again);
  cJSON_Delete(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cJSON *root = NULL;
  mm_status status = mm_json_parse((const char *)data, size, "fuzz", &root);
  require((status == MM_OK) == (root != NULL), "a tree on success and only then");
  if (status != MM_OK) {
    require_error(status);
    return 0;
  }
  require_round_trip(root, false);
  require_round_trip(root, true);
  // what JSON calls a number, the command line does too
  double value = 0;
  char *text = mm_json_print(root, false);
  if (cJSON_IsNumber(root))
    require(mm_json_parse_number(text, &value) && memcmp(&value, &root->valuedouble, 8) == 0,
            "a number reads the same alone");
  mm_free(text);
  cJSON_Delete(root);
  return 0;
}
