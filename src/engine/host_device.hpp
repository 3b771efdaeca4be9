// SPDX-License-Identifier: BSD-3-Clause
// Marks functions that run on the host and in kernels alike.
#pragma once

#if defined(__CUDACC__)
#define HEDDLE_HD __host__ __device__
#else
#define HEDDLE_HD
#endif
