// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?": the valid word nearest to a mistyped one.

#ifndef MM_BASE_SPELLING_H
#define MM_BASE_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

// The candidate at the smallest edit distance from `word` (insertions, deletions, substitutions and
// swaps of neighbours, letter case at no cost), the first of several; NULL when even that one
// differs in more than a third of its letters (two slips are always forgiven from four letters on).
const char *mm_nearest(const char *word, const char *const *candidates, size_t n);

// Is it a name that needs no quotes anywhere: 1 to 63 letters, digits and . _ -?
bool mm_is_plain_name(const char *text);

#endif
