// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/kernels/reduce.cuh"

namespace heddle::gpu::cuda {

cudaError_t run_reduce_integers(Launcher &launcher, const Work &work)
{
    switch (work.basic) {
    case HEDDLE_INT8:
        return run_elements<int8_t>(launcher, work);
    case HEDDLE_BYTE:
    case HEDDLE_BOOL: // not bool: any byte may lie in a user's buffer
    case HEDDLE_UINT8:
        return run_elements<uint8_t>(launcher, work);
    case HEDDLE_INT16:
        return run_elements<int16_t>(launcher, work);
    case HEDDLE_UINT16:
        return run_elements<uint16_t>(launcher, work);
    case HEDDLE_LOGICAL:
    case HEDDLE_INT32:
        return run_elements<int32_t>(launcher, work);
    case HEDDLE_UINT32:
        return run_elements<uint32_t>(launcher, work);
    case HEDDLE_LONG:
    case HEDDLE_INT64:
        return run_elements<int64_t>(launcher, work);
    case HEDDLE_ULONG:
    case HEDDLE_UINT64:
        return run_elements<uint64_t>(launcher, work);
    default: // HEDDLE_INT128
        return run_elements<int128>(launcher, work);
    }
}

} // namespace heddle::gpu::cuda
