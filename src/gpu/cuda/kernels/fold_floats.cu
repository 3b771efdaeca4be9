// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/kernels/fold.cuh"

namespace heddle::gpu::cuda {

cudaError_t run_fold_floats(Launcher &launcher, const Fold &fold)
{
    switch (fold.basic) {
    case HEDDLE_FLOAT16:
        return start_fold<__half>(launcher, fold);
    case HEDDLE_FLOAT:
        return start_fold<float>(launcher, fold);
    case HEDDLE_DOUBLE:
        return start_fold<double>(launcher, fold);
    case HEDDLE_COMPLEX_FLOAT:
        return start_fold<Complex<float>>(launcher, fold);
    default: // HEDDLE_COMPLEX_DOUBLE
        return start_fold<Complex<double>>(launcher, fold);
    }
}

cudaError_t run_fold(Launcher &launcher, const Fold &fold)
{
    const Category c = category(fold.basic);
    return c == Category::floating || c == Category::complex ? run_fold_floats(launcher, fold)
                                                             : run_fold_integers(launcher, fold);
}

} // namespace heddle::gpu::cuda
