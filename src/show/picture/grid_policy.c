// SPDX-License-Identifier: Apache-2.0
#include "show/picture/grid_policy.h"

#include "agent/pmd.h"
#include "base/status.h"

mm_status mm_grid_policy(const mm_grid *grid, const mm_map *map, const mm_pmd_config *config,
                         uint64_t seed, void (*progress)(int64_t done, int64_t total),
                         double *policy, bool *finite) {
  const int64_t n = mm_pmd_iterations(config);
  mm_pmd *pmd;
  MM_TRY(mm_pmd_create(grid, map, config, seed, 0, &pmd));
  mm_status status = MM_OK;
  for (int64_t t = 0; t < n && status == MM_OK; t++) {
    status = mm_pmd_iterate(pmd);
    progress(t + 1, n);
  }
  *finite = status != MM_ERR_NUMERIC;
  if (!*finite) status = MM_OK;
  if (status == MM_OK) mm_pmd_policy(pmd, policy);
  mm_pmd_destroy(pmd);
  return status;
}
