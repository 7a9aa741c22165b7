// Chooses the builds of passes.c and wide.c that fit the CPU.

#include "net/kernels.h"
#include "base/isa.h"
#include "net/wide.h"

#if HAVE_ISA_X86
#define BUILDS(type, name) extern const type name##_portable, name##_avx2, name##_avx512;
#define CURRENT(name)                                                                              \
  (mm_isa_current() == MM_ISA_AVX512 ? &name##_avx512                                              \
   : mm_isa_current() == MM_ISA_AVX2 ? &name##_avx2                                                \
                                     : &name##_portable)
#else
#define BUILDS(type, name) extern const type name##_portable;
#define CURRENT(name) (&name##_portable)
#endif

BUILDS(mm_net_kernels, mm_net_kernels)
BUILDS(mm_wide_kernels, mm_wide_kernels)

const mm_net_kernels *mm_net_kernels_current(void) {
  return CURRENT(mm_net_kernels);
}

const mm_wide_kernels *mm_wide_kernels_current(void) {
  return CURRENT(mm_wide_kernels);
}
