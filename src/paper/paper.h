// The numbers that the paper prints, in one place, for tables that put ours beside them.

#ifndef MM_EXPERIMENT_PAPER_H
#define MM_EXPERIMENT_PAPER_H

#include <stdbool.h>
#include <stddef.h>

enum { MM_PAPER_ENVS = 5 };

// The environments of the AMPO figure and of the transfer table, in their order.
extern const char *const mm_paper_envs[MM_PAPER_ENVS];

// The place of an environment among them; MM_PAPER_ENVS for any other.
size_t mm_paper_env(const char *id);

// Final value of AMPO on environment `env`, mean of 100 runs, with the map learned on environment
// `map`; MM_PAPER_ENVS is the negative entropy. NaN for places beyond the table.
double mm_paper_final(size_t map, size_t env);

// Whether the paper's cell is above its negative entropy: 21 of 25 are.
bool mm_paper_is_better(size_t map, size_t env);

#endif
