// SPDX-License-Identifier: Apache-2.0
// Compiled with the build's own -march, unlike main.c, so the compiler's macros tell what it asks
// for. Data only: no function of this file can run where it must not.

#include "cli/core/cpu.h"

#ifdef __AVX2__
const bool cpu_needs_avx2 = true;
#else
const bool cpu_needs_avx2 = false;
#endif
