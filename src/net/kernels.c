// Chooses the build of passes.c that fits the CPU.

#include "net/kernels.h"
#include "base/isa.h"

extern const mm_net_kernels mm_net_kernels_portable;
#if HAVE_ISA_X86
extern const mm_net_kernels mm_net_kernels_avx2;
extern const mm_net_kernels mm_net_kernels_avx512;
#endif

const mm_net_kernels *mm_net_kernels_current(void) {
  switch (mm_isa_current()) {
#if HAVE_ISA_X86
  case MM_ISA_AVX512:
    return &mm_net_kernels_avx512;
  case MM_ISA_AVX2:
    return &mm_net_kernels_avx2;
#endif
  default:
    return &mm_net_kernels_portable;
  }
}
