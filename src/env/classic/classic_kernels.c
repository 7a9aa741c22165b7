// Chooses the build of classic_batch.c that fits the CPU.

#include "base/isa.h"
#include "env/classic/classic_batch.h"

extern const mm_classic_kernels mm_classic_kernels_portable;
#if HAVE_ISA_X86
extern const mm_classic_kernels mm_classic_kernels_avx2;
extern const mm_classic_kernels mm_classic_kernels_avx512;
#endif

const mm_classic_kernels *mm_classic_kernels_current(void) {
  switch (mm_isa_current()) {
#if HAVE_ISA_X86
  case MM_ISA_AVX512:
    return &mm_classic_kernels_avx512;
  case MM_ISA_AVX2:
    return &mm_classic_kernels_avx2;
#endif
  default:
    return &mm_classic_kernels_portable;
  }
}
