// Chooses the build of groups.c that fits the CPU.

#include "physics/kernels.h"

#include "base/isa.h"

extern const mm_physics_kernels mm_physics_kernels_portable;
#if HAVE_ISA_X86
extern const mm_physics_kernels mm_physics_kernels_avx2;
extern const mm_physics_kernels mm_physics_kernels_avx512;
#endif

const mm_physics_kernels *mm_physics_kernels_current(void) {
  switch (mm_isa_current()) {
#if HAVE_ISA_X86
  case MM_ISA_AVX512:
    return &mm_physics_kernels_avx512;
  case MM_ISA_AVX2:
    return &mm_physics_kernels_avx2;
#endif
  default:
    return &mm_physics_kernels_portable;
  }
}
