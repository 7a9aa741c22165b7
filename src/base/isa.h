// SPDX-License-Identifier: Apache-2.0
// Which build of the hot kernels runs: the same source compiled for several instruction sets, all
// giving the same bits.

#ifndef MM_BASE_ISA_H
#define MM_BASE_ISA_H

#include "mirrormap/base.h"

typedef enum mm_isa {
  MM_ISA_PORTABLE, // any CPU; slow, for tests
  MM_ISA_AVX2,     // AVX2 and FMA
  MM_ISA_AVX512,   // AVX-512 F, BW, CD, DQ, VL
  MM_ISA_COUNT
} mm_isa;

// What mm_isa_select chose.
mm_isa mm_isa_current(void);

// ---------------------------------------------------------------------------------------------
// Sources that are compiled once per instruction set (cmake/IsaVariants.cmake), with MM_ISA set to
// its name in small letters

// The name of something in the build at hand: name_avx2.
#define MM_ISA_JOIN_(name, isa) name##_##isa
#define MM_ISA_JOIN(name, isa) MM_ISA_JOIN_(name, isa)
#define MM_ISA_NAME(name) MM_ISA_JOIN(name, MM_ISA)

// Defines `type *name_current(void)`: the build of `name`, a constant table or a function, for the
// instruction set in use.
#if HAVE_ISA_X86
#define MM_ISA_CHOOSE(type, name)                                                                  \
  extern type name##_portable, name##_avx2, name##_avx512;                                         \
  type *name##_current(void) {                                                                     \
    static type *const builds[MM_ISA_COUNT] = { &name##_portable, &name##_avx2, &name##_avx512 };  \
    return builds[mm_isa_current()];                                                               \
  }
#else
#define MM_ISA_CHOOSE(type, name)                                                                  \
  extern type name##_portable;                                                                     \
  type *name##_current(void) {                                                                     \
    return &name##_portable;                                                                       \
  }
#endif

#endif
