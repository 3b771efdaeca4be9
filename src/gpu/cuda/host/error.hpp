// SPDX-License-Identifier: BSD-3-Clause
// CUDA's errors as Heddle's: a code to return, and CUDA's own words for heddle_error_detail().
#pragma once

#include "gpu/core/backend.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace heddle::gpu::cuda {

// Where errors and warnings go from now on.
void set_host(const Host &host);

void warn(const std::string &text);

// Notes why, and returns HEDDLE_ERR_DEVICE.
Error refuse(const std::string &why);

// HEDDLE_SUCCESS, or the code for what `call` returned after noting it.
Error check(const char *call, cudaError_t error);
Error check(const char *call, CUresult error);

// "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)".
std::string describe_error(const char *call, CUresult error);

} // namespace heddle::gpu::cuda
