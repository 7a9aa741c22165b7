#include "env/locomotion/body_words.h"

#include <string.h>

#include "env/locomotion/body_laws.h"

const mm_body_words *mm_body_words_of(mm_body body) {
#define WORDS(NAME, name, id, kernels) [MM_BODY_##NAME] = &mm_##name##_words,
  static const mm_body_words *const words[MM_BODY_COUNT] = { MM_BODY_LIST(WORDS) };
  return words[body];
}

bool mm_body_find(const char *id, mm_body *body, mm_flavour *flavour) {
  for (mm_body b = 0; b < MM_BODY_COUNT; b++) {
    const char *name = mm_body_describe(b)->name;
    const size_t length = strlen(name);
    if (strncmp(id, name, length) != 0) continue;
    if (id[length] != '\0' && strcmp(id + length, "-v4") != 0) continue;
    *body = b;
    *flavour = id[length] != '\0' ? MM_FLAVOUR_GYMNASIUM : MM_FLAVOUR_BRAX;
    return true;
  }
  return false;
}
