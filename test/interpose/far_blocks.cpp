/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Alltoallw and MPI_Ialltoallw whose packed blocks lie farther away than its displacements say.
 * The first block is one MiB of a device's, sent over and over, so that only host memory is large:
 * 5 GiB.
 */
#include "device_test.hpp"

using namespace device_test;

static constexpr int n = 300, many = 2049; /* MiB: more than 2^31 bytes */
static constexpr int64_t MiB = 1 << 20, behind = n * int64_t{8};

/* A MiB of doubles; over and over: the next one is in the same place. */
static MPI_Datatype mebibyte(bool is_over_and_over)
{
    MPI_Datatype whole, type;
    MPI_Type_contiguous(static_cast<int>(MiB / 8), MPI_DOUBLE, &whole);
    MPI_Type_create_resized(whole, 0, is_over_and_over ? 0 : MiB, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&whole);
    return type;
}

/* The first rank sends to itself what is long, and to the second a block behind that. */
static void alltoallw(bool is_blocking)
{
    const Layout layout = contiguous(n), longer = contiguous(static_cast<int>(MiB / 8));
    Buffer out(gpu::Kind::device, longer), in(gpu::Kind::device, layout);
    std::vector<std::byte> host(rank == 0 ? static_cast<size_t>(many * MiB + behind) : 1);
    MPI_Datatype over_and_over = mebibyte(true), one_by_one = mebibyte(false);
    const int sent[] = {rank == 0 ? many : n, rank == 0 ? n : 0}, places[] = {0, 0};
    const int received[] = {rank == 0 ? many : n, rank == 0 ? n : 0};
    const int in_places[] = {rank == 0 ? static_cast<int>(behind) : 0, 0};
    const MPI_Datatype first = rank == 0 ? over_and_over : MPI_DOUBLE;
    const MPI_Datatype out_types[] = {first, MPI_DOUBLE};
    const MPI_Datatype in_types[] = {rank == 0 ? one_by_one : MPI_DOUBLE, MPI_DOUBLE};
    out.fill(rank);
    in.fill(50);
    void *const to = rank == 0 ? static_cast<void *>(host.data()) : in.at();
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = is_blocking ? MPI_Alltoallw(out.at(), sent, places, out_types, to, received,
                                                  in_places, in_types, MPI_COMM_WORLD)
                                  : MPI_Ialltoallw(out.at(), sent, places, out_types, to, received,
                                                   in_places, in_types, MPI_COMM_WORLD, &request);
    check(error == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "MPI_Alltoallw of more than 2 GiB");
    if (rank == 0) {
        const auto *const doubles = reinterpret_cast<const double *>(host.data());
        bool is_right = true;
        for (int i = 0; i < n; ++i)
            is_right = is_right && doubles[i] == Buffer::value(1, i);
        for (int64_t i = 0; i < many * MiB / 8; i += 4099)
            is_right = is_right && doubles[n + i] == Buffer::value(0, i % (MiB / 8));
        check(is_right, "MPI_Alltoallw of more than 2 GiB: what the first has");
    } else {
        in.expect(0, 0, n);
        in.verify("MPI_Alltoallw, a block behind 2 GiB");
    }
    MPI_Type_free(&over_and_over);
    MPI_Type_free(&one_by_one);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        for (const bool is_blocking : {true, false})
            if (size == 2)
                alltoallw(is_blocking);
    });
}
