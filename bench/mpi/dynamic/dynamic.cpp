// SPDX-License-Identifier: BSD-3-Clause
// Types made for one message: rank 0 makes an irregular type, commits it, sends one message of it
// from its device, and frees it; then it sends a message of a type that is there already. Rank 1
// receives packed bytes, and checks them. A line of JSON for each part: medians in microseconds.
#include "../../../test/gpu/device_memory.hpp"
#include "../row.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int rank, wrong;

// Blocks of 1 to 6 doubles, 1 to 6 doubles apart, as of particles that are picked by index.
struct Blocks {
    std::vector<int> lengths, displs;
    int doubles = 0, span = 0;

    Blocks(int n, unsigned seed) : lengths(static_cast<size_t>(n)), displs(lengths.size())
    {
        std::minstd_rand random(seed);
        for (size_t i = 0; i < lengths.size(); ++i) {
            lengths[i] = 1 + static_cast<int>(random() % 6);
            displs[i] = span;
            doubles += lengths[i];
            span += lengths[i] + 1 + static_cast<int>(random() % 6);
        }
    }
};

enum Kind { indexed, hindexed, structure, kinds };
constexpr const char *kind_names[] = {"indexed", "hindexed", "struct"};

// Makes the type. What MPI's arguments need beside the blocks is there before the clock starts.
class Maker {
public:
    Maker(Kind kind, const Blocks &blocks)
        : kind_(kind),
          blocks_(blocks),
          bytes_(blocks.displs.size()),
          types_(kind == structure ? blocks.displs.size() : 0, MPI_DOUBLE)
    {
        for (size_t i = 0; i < bytes_.size(); ++i)
            bytes_[i] = MPI_Aint{blocks.displs[i]} * 8;
    }
    MPI_Datatype operator()() const
    {
        const int n = static_cast<int>(bytes_.size());
        MPI_Datatype made = MPI_DATATYPE_NULL;
        if (kind_ == indexed)
            MPI_Type_indexed(n, blocks_.lengths.data(), blocks_.displs.data(), MPI_DOUBLE, &made);
        else if (kind_ == hindexed)
            MPI_Type_create_hindexed(n, blocks_.lengths.data(), bytes_.data(), MPI_DOUBLE, &made);
        else
            MPI_Type_create_struct(n, blocks_.lengths.data(), bytes_.data(), types_.data(), &made);
        return made;
    }

private:
    const Kind kind_;
    const Blocks &blocks_;
    std::vector<MPI_Aint> bytes_;
    std::vector<MPI_Datatype> types_;
};

struct Times {
    std::vector<double> create, commit, first, reused;
};

void print(Kind kind, int blocks, int64_t bytes, const char *who, std::vector<double> &times,
           bool right)
{
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) {
        return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
    };
    bench::Row row =
        bench::timed({{"what", kind_names[kind]}, {"blocks", blocks}, {"bytes", bytes}}, who,
                     at(0.5), at(0.1), at(0.9));
    row["right"] = right;
    bench::print(row);
}

// Element i of rank 0's memory is i.
bool is_right(const gpu::Memory &received, const Blocks &blocks)
{
    std::vector<double> found(static_cast<size_t>(blocks.doubles));
    received.read(0, found.data(), found.size() * sizeof(double));
    size_t next = 0;
    for (size_t i = 0; i < blocks.displs.size(); ++i)
        for (int j = 0; j < blocks.lengths[i]; ++j)
            if (found[next++] != blocks.displs[i] + j)
                return false;
    return true;
}

// No two rounds have the same blocks, so nothing that a round has found out serves another.
void measure(Kind kind, int n, int rounds)
{
    const gpu::Place here{gpu::Kind::device, rank % gpu::Machine::get().devices()};
    const size_t most = static_cast<size_t>(n) * 12 * sizeof(double);
    const gpu::Memory memory(here, most);
    if (!memory)
        throw std::runtime_error("no device memory");
    if (rank == 0) {
        std::vector<double> values(most / sizeof(double));
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<double>(i);
        memory.write(0, values.data(), most);
    }
    Times times;
    bool right = true;
    int64_t bytes = 0;
    for (int round = 0; round < rounds + 2; ++round) {
        const Blocks blocks(n, static_cast<unsigned>(17 * round + n + 1));
        bytes = int64_t{blocks.doubles} * 8;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank) {
            for (int i = 0; i < 2; ++i)
                MPI_Recv(memory.at(), blocks.doubles, MPI_DOUBLE, 0, i, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            right = right && is_right(memory, blocks);
            continue;
        }
        const Maker make(kind, blocks);
        const double start = MPI_Wtime();
        MPI_Datatype type = make();
        const double created = MPI_Wtime();
        MPI_Type_commit(&type);
        const double committed = MPI_Wtime();
        MPI_Ssend(memory.at(), 1, type, 1, 0, MPI_COMM_WORLD);
        const double sent = MPI_Wtime();
        MPI_Ssend(memory.at(), 1, type, 1, 1, MPI_COMM_WORLD);
        const double again = MPI_Wtime();
        MPI_Type_free(&type);
        if (round < 2)
            continue;
        times.create.push_back((created - start) * 1e6);
        times.commit.push_back((committed - created) * 1e6);
        times.first.push_back((sent - committed) * 1e6);
        times.reused.push_back((again - sent) * 1e6);
    }
    int all_right = right;
    MPI_Allreduce(MPI_IN_PLACE, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    wrong += !all_right;
    if (rank)
        return;
    print(kind, n, bytes, "create", times.create, all_right);
    print(kind, n, bytes, "commit", times.commit, all_right);
    print(kind, n, bytes, "first send", times.first, all_right);
    print(kind, n, bytes, "reused send", times.reused, all_right);
}

} // namespace

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try {
        if (size != 2 || gpu::Machine::get().devices() == 0)
            throw std::runtime_error("two processes and a device are needed");
        const int most = argc > 1 ? std::atoi(argv[1]) : 1000000;
        for (int kind = indexed; kind < kinds; ++kind)
            for (const int n : {10000, 100000, 1000000})
                if (n <= most)
                    measure(static_cast<Kind>(kind), n, n > 100000 ? 15 : 40);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "dynamic: %s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return wrong != 0;
}
