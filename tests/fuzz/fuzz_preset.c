// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as a preset, for every algorithm. Refused with one line that names it and
// leaves the settings alone, or settings that survive their own writing.

#define _XOPEN_SOURCE 700 // mkstemp

#include "fuzz.h"
#include "study/settings/settings.h"

static char *text_of(const mm_settings *settings) {
  cJSON *own = mm_settings_json(settings), *search = mm_search_json(settings);
  cJSON_AddItemToObject(own, "search", search);
  char *text = mm_json_print(own, false);
  require(text != NULL, "settings can be written");
  cJSON_Delete(own);
  return text;
}

static void require_same(const mm_settings *a, const mm_settings *b, const char *what) {
  char *x = text_of(a), *y = text_of(b);
  require(strcmp(x, y) == 0, what);
  mm_free(x);
  mm_free(y);
}

// Takes an object with the keys number first .. end - 1 as text, and frees it.
static void read_back(cJSON *object, size_t first, size_t end, mm_settings *out) {
  cJSON *parsed = NULL;
  char *text = mm_json_print(object, false);
  require(text && mm_json_parse(text, strlen(text), "settings", &parsed) == MM_OK, "JSON");
  require(mm_settings_read(parsed, "settings", first, end, out) == MM_OK, "settings are read back");
  mm_free(text);
  cJSON_Delete(object);
  cJSON_Delete(parsed);
}

static void require_round_trip(const mm_settings *settings) {
  mm_settings back = mm_settings_default(settings->algo);
  size_t own = mm_settings_own(settings->algo), end = own;
  while (mm_settings_key(settings->algo, end))
    end++;
  read_back(mm_settings_json(settings), 0, own, &back);
  read_back(mm_search_json(settings), own, end, &back);
  require_same(settings, &back, "the same settings");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_file(data, size);
  for (int algo = 0; algo < MM_ALGO_COUNT; algo++) {
    mm_settings before = mm_settings_default((mm_algo)algo), settings = before;
    mm_status status = mm_preset_apply(path, &settings);
    if (status != MM_OK) {
      require_refusal(status, path);
      require_same(&before, &settings, "a refusal changes nothing");
    } else {
      require_round_trip(&settings);
      before = settings;
      require(mm_preset_apply(path, &settings) == MM_OK, "it applies again");
      require_same(&before, &settings, "to the same settings");
    }
  }
  return 0;
}
