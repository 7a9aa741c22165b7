// SPDX-License-Identifier: Apache-2.0
// What the build asks of the CPU.

#ifndef MM_CLI_CPU_H
#define MM_CLI_CPU_H

#include <stdbool.h>

extern const bool cpu_needs_avx2; // and FMA

#endif
