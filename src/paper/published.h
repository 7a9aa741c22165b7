// SPDX-License-Identifier: Apache-2.0
// The numbers that the paper prints, in one place, for tables that put ours beside them.

#ifndef MM_PAPER_PUBLISHED_H
#define MM_PAPER_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

enum { MM_PUBLISHED_ENVS = 5 };

// The environments of the AMPO figure and of the transfer table, in their order.
extern const char *const mm_published_envs[MM_PUBLISHED_ENVS];

// The place of an environment among them; MM_PUBLISHED_ENVS for any other.
size_t mm_published_env(const char *id);

// Final value of AMPO on environment `env`, mean of 100 runs, with the map learned on environment
// `map`; MM_PUBLISHED_ENVS is the negative entropy. NaN for places beyond the table.
double mm_published_final(size_t map, size_t env);

// Whether the paper's cell is above its negative entropy: 21 of 25 are.
bool mm_published_is_better(size_t map, size_t env);

#endif
