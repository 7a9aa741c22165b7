#define MM_CUDA_BODY_THREADS 128
#define MM_CUDA_BODY_BLOCKS 4
#include "backend/cuda/locomotion/cuda_body_kernels.cuh"

extern const mm_cuda_body_entry mm_cuda_body_hopper = mm::entry<mm::Hopper>();
