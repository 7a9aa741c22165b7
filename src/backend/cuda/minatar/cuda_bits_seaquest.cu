#include "backend/cuda/minatar/cuda_bits_train.cuh"

extern const mm_cuda_bits_entry mm_cuda_bits_seaquest = mm::bits::entry<MM_GAME_SEAQUEST>();
