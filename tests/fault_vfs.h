// SPDX-License-Identifier: Apache-2.0
// A disk that fails, between SQLite and the real one: calls that change something can be made to
// fail, and the power can go, after which only what was synchronised is certain to be there.

#ifndef MM_TEST_FAULT_VFS_H
#define MM_TEST_FAULT_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What happens to writes, truncations, deletions and synchronisations, counted from 1.
typedef enum fault_kind {
  FAULT_NONE,
  FAULT_ONCE,  // number n fails: of a write only the first half arrives
  FAULT_EVERY, // every n-th fails
  FAULT_POWER  // from number n on all fail and nothing changes any more
} fault_kind;

// What becomes of the changes that were not synchronised when the power goes.
typedef enum fault_loss {
  LOSS_ALL,     // none of them is on the disk
  LOSS_NONE,    // all are, as when only the process dies
  LOSS_CHANGES, // some are, in no order
  LOSS_SECTORS, // of some parts of 512 bytes are
  LOSSES
} fault_loss;

void fault_vfs_open(void); // becomes the VFS of every database opened from now on
void fault_vfs_close(void);

// Counts anew and forgets what was not synchronised; no database may be open.
void fault_vfs_plan(fault_kind kind, size_t n);
size_t fault_vfs_count(void); // changes and synchronisations since then
bool fault_vfs_struck(void);  // whether one of them failed

// The power is back: files are as the loss leaves them; `seed` decides what is left to chance. No
// database may be open.
void fault_vfs_restart(fault_loss loss, uint64_t seed);

#endif
