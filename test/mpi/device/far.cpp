/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A message above 4 GiB between device buffers. Its sender's items overlap, so that they take
 * little memory.
 */
#include "device_test.hpp"

using namespace device_test;

static constexpr MPI_Aint item = 1 << 20, step = 1536, items = 4608; /* 4.5 GiB */
static constexpr MPI_Aint words_of_item = item / 8, words_of_step = step / 8;

static uint64_t word(MPI_Aint i) { return static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15; }

static void send(gpu::Place place)
{
    std::vector<uint64_t> words(static_cast<size_t>(words_of_item + (items - 1) * words_of_step));
    for (size_t i = 0; i < words.size(); ++i)
        words[i] = word(static_cast<MPI_Aint>(i));
    const gpu::Memory memory(place, words.size() * 8);
    memory.write(0, words.data(), words.size() * 8);
    MPI_Datatype overlapping;
    MPI_Type_create_hvector(items, item, step, MPI_BYTE, &overlapping);
    MPI_Type_commit(&overlapping);
    MPI_Send(memory.at(), 1, overlapping, 1, 1, MPI_COMM_WORLD);
    MPI_Type_free(&overlapping);
}

static void receive(gpu::Place place)
{
    const gpu::Memory memory(place, static_cast<size_t>(items * item));
    if (!memory)
        throw std::runtime_error("no memory for a message of 4.5 GiB");
    MPI_Datatype whole;
    MPI_Type_contiguous(item, MPI_BYTE, &whole);
    MPI_Type_commit(&whole);
    MPI_Status status;
    MPI_Recv(memory.at(), items, whole, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Type_free(&whole);
    MPI_Count bytes;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    check(bytes == items * item, "the status tells of " + std::to_string(bytes) + " bytes");
    std::vector<uint64_t> words(words_of_item);
    for (MPI_Aint i = 0; i < items; ++i) {
        memory.read(static_cast<size_t>(i * item), words.data(), item);
        for (MPI_Aint w = 0; w < words_of_item; ++w)
            if (words[static_cast<size_t>(w)] != word(i * words_of_step + w))
                return fail("byte " + std::to_string(i * item + 8 * w) + " is wrong");
    }
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        if (rank < 2)
            (rank == 0 ? send : receive)(own_device());
    });
}
