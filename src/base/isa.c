// SPDX-License-Identifier: Apache-2.0
// Instruction sets: what the CPU has, what was asked for.

#include "base/isa.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"

static const char *const names[MM_ISA_COUNT] = { "portable", "avx2", "avx512" };

static atomic_int selected = -1; // -1: not decided yet

static bool cpu_has(mm_isa isa) {
#if HAVE_ISA_X86
  if (isa == MM_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == MM_ISA_AVX512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return isa == MM_ISA_PORTABLE;
}

static mm_isa best(void) {
  mm_isa isa = MM_ISA_AVX512;
  while (!cpu_has(isa))
    isa--;
  return isa;
}

mm_isa mm_isa_current(void) {
  int isa = atomic_load_explicit(&selected, memory_order_relaxed);
  if (isa < 0) {
    isa = (int)best();
    atomic_store_explicit(&selected, isa, memory_order_relaxed);
  }
  return (mm_isa)isa;
}

const char *mm_isa_name(void) {
  return names[mm_isa_current()];
}

mm_status mm_isa_select(const char *name) {
  if (strcmp(name, "auto") == 0) {
    atomic_store(&selected, (int)best());
    return MM_OK;
  }
  for (int i = 0; i < MM_ISA_COUNT; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    if (!cpu_has((mm_isa)i))
      return MM_FAIL(MM_ERR_UNSUPPORTED, "isa '%s': this CPU does not have it", name);
    atomic_store(&selected, i);
    return MM_OK;
  }
  static const char *const valid[] = { "auto", "avx512", "avx2", "portable" };
  const char *near = mm_nearest(name, valid, 4);
  return MM_FAIL(MM_ERR_INPUT, "isa '%s': expected auto, avx512, avx2 or portable%s%s%s", name,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}
