/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Half a ping-pong of device buffers between two ranks, a device each where there are two. Every message's data is
 * checked before the times count. Writes a line of JSON for each case: medians, in microseconds.
 */
#include "../../test/gpu/device_memory.hpp"

#include <CLI/CLI.hpp>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

int rank, wrong;

/* A layout, and where its bytes lie. */
struct Case {
    std::string name;
    int64_t bytes; /* packed */
    int64_t span;  /* of the buffer */
    MPI_Datatype type;
    std::function<int64_t(int64_t)> at; /* of a packed byte */
};

Case blocks(int64_t block, int64_t stride, int64_t bytes)
{
    MPI_Datatype type;
    const int64_t count = bytes / block;
    MPI_Type_create_hvector(static_cast<int>(count), static_cast<int>(block), stride, MPI_BYTE, &type);
    return {"blocks-" + std::to_string(block) + "-stride-" + std::to_string(stride), bytes,
            (count - 1) * stride + block, type,
            [=](int64_t i) { return i / block * stride + i % block; }};
}

Case contiguous(int64_t bytes)
{
    MPI_Datatype type;
    MPI_Type_contiguous(static_cast<int>(bytes / 8), MPI_DOUBLE, &type);
    return {"contiguous", bytes, bytes, type, [](int64_t i) { return i; }};
}

/* {double, int, int, char}, as a compiler lays it out. */
Case structs(int64_t count)
{
    MPI_Datatype one, resized, type;
    const int lengths[] = {1, 1, 1, 1};
    const MPI_Aint displs[] = {0, 8, 12, 16};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR};
    MPI_Type_create_struct(4, lengths, displs, types, &one);
    MPI_Type_create_resized(one, 0, 24, &resized);
    MPI_Type_contiguous(static_cast<int>(count), resized, &type);
    MPI_Type_free(&one);
    MPI_Type_free(&resized);
    return {"struct", 17 * count, 24 * count, type, [](int64_t i) { return i / 17 * 24 + i % 17; }};
}

/* Blocks of 1 to 15 doubles with gaps of as many. */
Case indexed(int64_t count)
{
    std::mt19937 random(1);
    std::uniform_int_distribution<int> some(1, 15);
    std::vector<int> lengths;
    std::vector<int> displs;
    auto first = std::make_shared<std::vector<int64_t>>();
    auto place = std::make_shared<std::vector<int64_t>>();
    int at = 0;
    int64_t packed = 0;
    for (int64_t i = 0; i < count; ++i) {
        lengths.push_back(some(random));
        displs.push_back(at);
        first->push_back(packed);
        place->push_back(8 * int64_t{at});
        packed += 8 * lengths.back();
        at += lengths.back() + some(random);
    }
    MPI_Datatype type;
    MPI_Type_indexed(static_cast<int>(count), lengths.data(), displs.data(), MPI_DOUBLE, &type);
    return {"indexed", packed, 8 * int64_t{at}, type, [=](int64_t i) {
                const auto run = std::upper_bound(first->begin(), first->end(), i) - first->begin() - 1;
                return (*place)[static_cast<size_t>(run)] + i - (*first)[static_cast<size_t>(run)];
            }};
}

unsigned char byte_of(int64_t i) { return static_cast<unsigned char>(i * 7 + i / 251 + 1); }

void once(void *buffer, const Case &c)
{
    if (rank == 0) {
        MPI_Send(buffer, 1, c.type, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, 1, c.type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffer, 1, c.type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, 1, c.type, 0, 1, MPI_COMM_WORLD);
    }
}

/* There and back: rank 1 begins with nothing but what it receives. */
bool checked(const gpu::Memory &memory, const Case &c)
{
    std::vector<unsigned char> host(static_cast<size_t>(c.span), 0xee);
    if (rank == 0)
        for (int64_t i = 0; i < c.bytes; ++i)
            host[static_cast<size_t>(c.at(i))] = byte_of(i);
    memory.write(0, host.data(), host.size());
    once(memory.at(), c);
    std::vector<unsigned char> found(host.size());
    memory.read(0, found.data(), found.size());
    if (rank == 1)
        for (int64_t i = 0; i < c.bytes; ++i)
            host[static_cast<size_t>(c.at(i))] = byte_of(i);
    int same = found == host, all = 0;
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

void measure(Case c, gpu::Kind kind)
{
    MPI_Type_commit(&c.type);
    const gpu::Memory memory({kind, rank % gpu::Machine::get().devices()}, static_cast<size_t>(c.span));
    const bool right = checked(memory, c);
    wrong += !right;
    std::vector<double> times;
    const double begin = MPI_Wtime();
    int more = 1;
    while (more) {
        const double start = MPI_Wtime();
        once(memory.at(), c);
        times.push_back((MPI_Wtime() - start) / 2 * 1e6);
        more = times.size() < 20 || (times.size() < 300 && MPI_Wtime() - begin < 0.3);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    std::sort(times.begin(), times.end());
    if (rank == 0)
        std::printf("{\"layout\": \"%s\", \"bytes\": %lld, \"memory\": \"%s\", \"median_us\": %.2f, \"least_us\": %.2f, "
                    "\"GBps\": %.2f, \"right\": %s}\n",
                    c.name.c_str(), static_cast<long long>(c.bytes), kind == gpu::Kind::device ? "device" : "host",
                    times[times.size() / 2], times[0], static_cast<double>(c.bytes) / times[times.size() / 2] / 1e3,
                    right ? "true" : "false");
    std::fflush(stdout);
    MPI_Type_free(&c.type);
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Half a ping-pong of device buffers between two ranks: a line of JSON for each case");
    int64_t most = int64_t{256} << 20;
    std::string only;
    app.add_option("--most", most, "bytes of the longest message")->capture_default_str();
    app.add_option("--only", only, "cases whose name contains this: blocks-8, blocks-128, struct, indexed, contiguous, host");
    CLI11_PARSE(app, argc, argv);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int64_t KiB = 1024, MiB = KiB * KiB;
    const std::vector<int64_t> sizes = {KiB, 64 * KiB, MiB, 16 * MiB, 64 * MiB, 256 * MiB};
    const auto up_to = [&](const std::string &name, int64_t longest, auto make, gpu::Kind kind = gpu::Kind::device) {
        for (const int64_t bytes : sizes)
            if (bytes <= std::min(most, longest) && name.find(only) != name.npos)
                measure(make(bytes), kind);
    };
    up_to("host", most, contiguous, gpu::Kind::pageable);
    up_to("blocks-8", 16 * MiB, [](int64_t b) { return blocks(8, 512, b); });
    up_to("blocks-128", most, [](int64_t b) { return blocks(128, 512, b); });
    if (std::string("struct").find(only) != std::string::npos)
        measure(structs(10000), gpu::Kind::device);
    if (std::string("indexed").find(only) != std::string::npos)
        measure(indexed(100000), gpu::Kind::device);
    up_to("contiguous", most, contiguous);
    MPI_Finalize();
    return wrong != 0;
}
