// SPDX-License-Identifier: BSD-3-Clause
// CUDA's errors as Heddle's: a code to return, and CUDA's own words for heddle_error_detail().
#pragma once

#include "../backend.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace heddle::gpu::cuda {

// Where errors are noted from now on.
void set_host(const Host &host);

// HEDDLE_SUCCESS, or the code for what `call` returned after noting it.
int check(const char *call, cudaError_t error);
int check(const char *call, CUresult error);

// "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)".
std::string describe_error(const char *call, CUresult error);

} // namespace heddle::gpu::cuda
