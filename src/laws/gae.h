// SPDX-License-Identifier: Apache-2.0
// Generalised advantage estimation, one step backwards through time, in both precisions:
//
//   delta_t = r_t + gamma V_{t+1} - V_t     A_t = delta_t + gamma lambda A_{t+1}
//
// `alive` is 0 where the episode ends with the step, so that nothing behind it counts, else 1.
// [host/device]

#ifndef MM_LAWS_GAE_H
#define MM_LAWS_GAE_H

#include <math.h>

#include "base/hostdev.h"

#define MM_REAL_BITS 64
#include "laws/gae.inc"
#define MM_REAL_BITS 32
#include "laws/gae.inc"

#endif
