#include "backend/cuda/classic/cuda_dense_train.cuh"
#include "env/classic/acrobot.h"

namespace mm {
MM_CUDA_ENVIRONMENT_STEPPED(Acrobot, acrobot, ACROBOT, 4, true,
                            return mm_acrobot_step_seen(s, x, action, reward);)
}

extern const mm_cuda_dense_entry mm_cuda_dense_acrobot = mm::entry<mm::Acrobot>();
