// SPDX-License-Identifier: Apache-2.0
// Damerau-Levenshtein distance (the restricted form: a swapped pair is not edited again), three
// rows at a time.

#include <stdbool.h>
#include <string.h>

#include "base/spelling.h"

// Longer words are typed by machines, not mistyped by people.
enum { LONGEST = 63 };

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

// Both words have at most LONGEST letters.
static size_t distance(const char *a, const char *b) {
  size_t rows[3]
             [LONGEST + 1]; // row i % 3: distances of the first i letters of a to each start of b
  size_t n_a = strlen(a), n_b = strlen(b);
  for (size_t j = 0; j <= n_b; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= n_a; i++) {
    size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= n_b; j++) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
      bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                     lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = least(row[j], before[j - 2] + 1);
    }
  }
  return rows[n_a % 3][n_b];
}

// How many slips still make a plausible typing of a word of so many letters.
static size_t tolerance(size_t letters) {
  if (letters < 4) return letters > 1 ? 1 : 0;
  return letters / 3 > 2 ? letters / 3 : 2;
}

const char *mm_nearest(const char *word, const char *const *candidates, size_t n) {
  const char *nearest = NULL;
  size_t nearest_distance = LONGEST;
  if (strlen(word) > LONGEST) return NULL;
  for (size_t i = 0; i < n; i++) {
    size_t letters = strlen(candidates[i]);
    if (letters > LONGEST) continue;
    size_t d = distance(word, candidates[i]);
    if (d > tolerance(letters) || d >= nearest_distance) continue;
    nearest = candidates[i];
    nearest_distance = d;
  }
  return nearest;
}

bool mm_is_plain_name(const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const size_t n = strspn(text, letters);
  return n > 0 && n <= LONGEST && text[n] == '\0';
}
