// SPDX-License-Identifier: BSD-3-Clause
#include "picture.hpp"

#ifdef STENCIL_PNG
#include <png.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace stencil {

#ifdef STENCIL_PNG

namespace {

// A plane of the grid, which rank 0 has then.
std::vector<double> collect(MPI_Comm comm, const Quantities &quantities, int which, int quantity,
                            const Partition &partition, const Box &part)
{
    const int64_t nx = partition.extents()[0], ny = partition.extents()[1];
    std::vector<double> plane(static_cast<size_t>(nx * ny), 0.0);
    if (part.begin[2] == 0) {
        const Layout &layout = quantities.layout();
        const Box own = layout.own();
        for (int64_t y = 0; y < layout.cells[1]; ++y)
            quantities.device().read(
                &plane[static_cast<size_t>((part.begin[1] + y) * nx + part.begin[0])],
                quantities.at(which)[quantity] +
                    layout.index(own.begin[0], own.begin[1] + y, own.begin[2]),
                static_cast<size_t>(layout.cells[0]));
    }
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : plane.data(), plane.data(), static_cast<int>(nx * ny),
               MPI_DOUBLE, MPI_SUM, 0, comm);
    return plane;
}

// From blue over white to red.
void paint(double value, png_byte *pixel)
{
    const double cold = std::clamp(1 - value, 0.0, 1.0), warm = std::clamp(1 + value, 0.0, 1.0);
    pixel[0] = static_cast<png_byte>(255 * warm);
    pixel[1] = static_cast<png_byte>(255 * std::min(cold, warm));
    pixel[2] = static_cast<png_byte>(255 * cold);
}

// Pixels around the mean of all, the corner in the middle.
std::vector<png_byte> painted(const std::vector<double> &plane, int64_t nx, int64_t ny)
{
    double mean = 0, most = 0;
    for (const double value : plane)
        mean += value / static_cast<double>(plane.size());
    for (const double value : plane)
        most = std::max(most, std::abs(value - mean));
    std::vector<png_byte> pixels(3 * plane.size());
    for (int64_t y = 0; y < ny; ++y)
        for (int64_t x = 0; x < nx; ++x) {
            const int64_t from = (y + ny / 2) % ny * nx + (x + nx / 2) % nx;
            const double value = plane[static_cast<size_t>(from)] - mean;
            paint(most > 0 ? value / most : 0, &pixels[static_cast<size_t>(3 * (y * nx + x))]);
        }
    return pixels;
}

} // namespace

bool has_pictures() { return true; }

void write_picture(const std::string &path, MPI_Comm comm, const Quantities &quantities, int which,
                   int quantity, const Partition &partition, const Box &part)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    const std::vector<double> plane = collect(comm, quantities, which, quantity, partition, part);
    if (rank != 0)
        return;
    const int64_t nx = partition.extents()[0], ny = partition.extents()[1];
    const std::vector<png_byte> pixels = painted(plane, nx, ny);
    png_image image;
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(nx);
    image.height = static_cast<png_uint_32>(ny);
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr))
        throw std::runtime_error(path + ": " + image.message);
}

#else

bool has_pictures() { return false; }

void write_picture(const std::string &path, MPI_Comm, const Quantities &, int, int,
                   const Partition &, const Box &)
{
    throw std::runtime_error(path + ": this program was built without libpng");
}

#endif

} // namespace stencil
