#include "backend/cuda/classic/cuda_dense_train.cuh"
#include "env/classic/cartpole.h"

namespace mm {
MM_CUDA_ENVIRONMENT(CartPole, cartpole, CARTPOLE, 4)
}

extern const mm_cuda_dense_entry mm_cuda_dense_cartpole = mm::entry<mm::CartPole>();
