// SPDX-License-Identifier: BSD-3-Clause
// The parts of this benchmark.
#pragma once

#include "../../../examples/stencil3d/device.hpp"
#include "report.hpp"

namespace bench {

// A cube of so many cells along an edge, for each process.
void measure_astaroth(Job &job, stencil::Device &device, int64_t edge);
// SHOC's Stencil2D (paper 001, Table 3): the edges of a block of `edge` squared elements.
void measure_stencil2d(Job &job, stencil::Device &device, int64_t edge);
// HACC's analysis structure (paper 001, Table 4) of so many cells, into host memory.
void measure_hacc(Job &job, stencil::Device &device, int64_t cells);
// One 3-D object by four datatypes (paper 002, figure 6): to create and to commit it.
void measure_commit(Job &job);

} // namespace bench
