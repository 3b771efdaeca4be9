// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/host/error.hpp"

namespace heddle::gpu::cuda {
namespace {

Host the_host;

std::string sentence(const char *call, const char *name, const char *words)
{
    std::string text = call;
    text += ": ";
    text += name ? name : "unknown error";
    if (words) {
        text += " (";
        text += words;
        text += ")";
    }
    return text;
}

void note(const std::string &text)
{
    if (the_host.set_error)
        the_host.set_error(text.c_str());
}

} // namespace

void set_host(const Host &host) { the_host = host; }

void warn(const std::string &text)
{
    if (the_host.warn)
        the_host.warn(text.c_str());
}

Error refuse(const std::string &why)
{
    note(why);
    return HEDDLE_ERR_DEVICE;
}

Error check(const char *call, cudaError_t error)
{
    if (error == cudaSuccess) [[likely]]
        return HEDDLE_SUCCESS;
    cudaGetLastError(); // or a later call would return it again
    note(sentence(call, cudaGetErrorName(error), cudaGetErrorString(error)));
    return error == cudaErrorMemoryAllocation ? HEDDLE_ERR_NO_MEMORY : HEDDLE_ERR_DEVICE;
}

Error check(const char *call, CUresult error)
{
    if (error == CUDA_SUCCESS) [[likely]]
        return HEDDLE_SUCCESS;
    note(describe_error(call, error));
    return error == CUDA_ERROR_OUT_OF_MEMORY ? HEDDLE_ERR_NO_MEMORY : HEDDLE_ERR_DEVICE;
}

std::string describe_error(const char *call, CUresult error)
{
    const char *name = nullptr;
    const char *words = nullptr;
    cuGetErrorName(error, &name);
    cuGetErrorString(error, &words);
    return sentence(call, name, words);
}

} // namespace heddle::gpu::cuda
