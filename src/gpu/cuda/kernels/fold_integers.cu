// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/kernels/fold.cuh"

namespace heddle::gpu::cuda {

cudaError_t run_fold_integers(Launcher &launcher, const Fold &fold)
{
    switch (fold.basic) {
    case HEDDLE_INT8:
        return start_fold<int8_t>(launcher, fold);
    case HEDDLE_BYTE:
    case HEDDLE_BOOL: // not bool: any byte may lie in a user's buffer
    case HEDDLE_UINT8:
        return start_fold<uint8_t>(launcher, fold);
    case HEDDLE_INT16:
        return start_fold<int16_t>(launcher, fold);
    case HEDDLE_UINT16:
        return start_fold<uint16_t>(launcher, fold);
    case HEDDLE_LOGICAL:
    case HEDDLE_INT32:
        return start_fold<int32_t>(launcher, fold);
    case HEDDLE_UINT32:
        return start_fold<uint32_t>(launcher, fold);
    case HEDDLE_LONG:
    case HEDDLE_INT64:
        return start_fold<int64_t>(launcher, fold);
    case HEDDLE_ULONG:
    case HEDDLE_UINT64:
        return start_fold<uint64_t>(launcher, fold);
    default: // HEDDLE_INT128
        return start_fold<int128>(launcher, fold);
    }
}

} // namespace heddle::gpu::cuda
