#include "backend/cuda/classic/cuda_dense_train.cuh"
#include "env/classic/mountain_car.h"

namespace mm {
MM_CUDA_ENVIRONMENT(MountainCar, mountain_car, MOUNTAIN_CAR, 2)
}

extern const mm_cuda_dense_entry mm_cuda_dense_mountain_car = mm::entry<mm::MountainCar>();
