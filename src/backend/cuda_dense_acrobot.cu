#include "backend/cuda_dense_train.cuh"
#include "env/acrobot.h"

namespace mm {
MM_CUDA_ENVIRONMENT(Acrobot, acrobot, ACROBOT, 4)
}

extern const mm_cuda_dense_entry mm_cuda_dense_acrobot = mm::entry<mm::Acrobot>();
