#define MM_CUDA_BODY_THREADS 128
#define MM_CUDA_BODY_BLOCKS 2
#include "backend/cuda/locomotion/cuda_body_kernels.cuh"

extern const mm_cuda_body_entry mm_cuda_body_half_cheetah = mm::entry<mm::HalfCheetah>();
