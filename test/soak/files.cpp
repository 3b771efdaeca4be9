/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file that all ranks write and read, each its own part, by itself and together.
 */
#include "soak.hpp"

#include <unistd.h>

namespace soak {
namespace {

/* One name a job: ranks agree on the first one's process. */
std::string path()
{
    static std::string name;
    if (name.empty()) {
        int process = static_cast<int>(getpid());
        MPI_Bcast(&process, 1, MPI_INT, 0, world);
        name = "./soak." + std::to_string(process);
    }
    return name;
}

} // namespace

void files(Rng &rng)
{
    const int64_t elements = std::max<int64_t>(random_elements(rng) / 4, 1);
    const bool together = rng.percent(50), strided = rng.percent(50);
    const int seed = static_cast<int>(rng.in(1, 1000));
    Rng own(Rng::mix(rng.next(), static_cast<uint64_t>(rank)));
    const PiecePtr source = random_piece(own, elements), target = random_piece(own, elements);
    source->buffer.fill(seed + rank);

    /* Each rank's elements one after the other, or every size-th. */
    MPI_Datatype own_part = MPI_DOUBLE;
    if (strided) {
        MPI_Type_create_resized(MPI_DOUBLE, 0, static_cast<MPI_Aint>(8 * size), &own_part);
        MPI_Type_commit(&own_part);
    }
    const MPI_Offset begin = strided ? 8 * rank : 8 * elements * rank;
    MPI_File file = MPI_FILE_NULL;
    bool good = succeeded(MPI_File_open(world, path().c_str(),
                                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                        MPI_INFO_NULL, &file),
                          "MPI_File_open");
    if (good) {
        MPI_File_set_view(file, begin, MPI_DOUBLE, own_part, "native", MPI_INFO_NULL);
        const auto write = together ? MPI_File_write_at_all : MPI_File_write_at;
        const auto read = together ? MPI_File_read_at_all : MPI_File_read_at;
        good = succeeded(
            write(file, 0, source->buffer.at(), 1, source->buffer.type(), MPI_STATUS_IGNORE),
            "MPI_File_write_at");
        MPI_File_sync(file);
        good = succeeded(
                   read(file, 0, target->buffer.at(), 1, target->buffer.type(), MPI_STATUS_IGNORE),
                   "MPI_File_read_at") &&
               good;
        MPI_File_close(&file);
    }
    if (strided)
        MPI_Type_free(&own_part);
    if (!good)
        return;
    target->buffer.expect(seed + rank, 0, elements);
    verify(target->buffer, together ? "MPI_File_read_at_all" : "MPI_File_read_at");
}

} // namespace soak
