// SPDX-License-Identifier: BSD-3-Clause
// A slice of the grid as a picture.
#pragma once

#include "device.hpp"
#include "partition.hpp"

#include <mpi.h>

#include <string>

namespace stencil {

// Whether the program was built with libpng.
bool has_pictures();

// Collective: the slice at the lowest z of a quantity, as a PNG that rank 0 writes. The grid's
// corner, where an explosion may be, is in its middle. Throws std::runtime_error at rank 0 if the
// file cannot be written.
void write_picture(const std::string &path, MPI_Comm comm, const Quantities &quantities, int which,
                   int quantity, const Partition &partition, const Box &part);

} // namespace stencil
