// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/kernels/reduce.cuh"

namespace heddle::gpu::cuda {

cudaError_t run_reduce_floats(Launcher &launcher, const Work &work)
{
    switch (work.basic) {
    case HEDDLE_FLOAT16:
        return run_elements<__half>(launcher, work);
    case HEDDLE_FLOAT:
        return run_elements<float>(launcher, work);
    case HEDDLE_DOUBLE:
        return run_elements<double>(launcher, work);
    case HEDDLE_COMPLEX_FLOAT:
        return run_elements<Complex<float>>(launcher, work);
    default: // HEDDLE_COMPLEX_DOUBLE
        return run_elements<Complex<double>>(launcher, work);
    }
}

} // namespace heddle::gpu::cuda
