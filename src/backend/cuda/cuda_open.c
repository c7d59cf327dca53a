/* How device strings "cuda:0" are opened: the backend of run-time compiled devices around the CUDA driver. */
#include "backend/cuda/cuda_driver.h"

kn_backend *kni_cuda_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)inner;
    return kni_gpu_open_numbered("cuda", argument, n_inner, kni_cuda_driver_open);
}
