// SPDX-License-Identifier: BSD-3-Clause
// From one layout straight to another, with no packed buffer between: rows from one pitch to
// another, and a box of one grid into another grid.
#include "benchmarks.hpp"
#include "memory.hpp"
#include "type.hpp"

#include <array>

namespace bench {
namespace {

// Boxes of rows of `width` bytes: how many rows in a layer and how many layers, and how far apart
// they lie on either side.
struct Box {
    int64_t width, rows, layers;
    std::array<int64_t, 2> row, layer; // from, to
};

int64_t bytes_of(const Box &box) { return box.width * box.rows * box.layers; }

Type type_of(const Box &box, int side)
{
    const Type rows =
        Type::hvector(box.rows, box.width / 8, box.row[side], Type::predefined(HEDDLE_DOUBLE));
    return Type::hvector(box.layers, 1, box.layer[side], rows);
}

// By hand: a word of 8 bytes a thread.
__global__ void move_box(double *__restrict to, const double *__restrict from, unsigned width,
                         unsigned rows, unsigned words, size_t from_row, size_t from_layer,
                         size_t to_row, size_t to_layer)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    const unsigned x = i % width, y = i / width % rows, z = i / width / rows;
    to[z * to_layer + y * to_row + x] = from[z * from_layer + y * from_row + x];
}

void by_hand(const Box &box, char *to, const char *from, cudaStream_t on)
{
    const auto words = static_cast<unsigned>(bytes_of(box) / 8);
    const auto in_words = [](int64_t bytes) { return static_cast<size_t>(bytes / 8); };
    move_box<<<(words + 255) / 256, 256, 0, on>>>(
        reinterpret_cast<double *>(to), reinterpret_cast<const double *>(from),
        static_cast<unsigned>(box.width / 8), static_cast<unsigned>(box.rows), words,
        in_words(box.row[0]), in_words(box.layer[0]), in_words(box.row[1]), in_words(box.layer[1]));
    BENCH_CUDA(cudaGetLastError());
}

void by_copies(const Box &box, char *to, const char *from, cudaStream_t on)
{
    const auto size = [](int64_t n) { return static_cast<size_t>(n); };
    cudaMemcpy3DParms copy{};
    copy.extent = make_cudaExtent(size(box.width), size(box.rows), size(box.layers));
    copy.srcPtr = make_cudaPitchedPtr(const_cast<char *>(from), size(box.row[0]), size(box.width),
                                      size(box.layer[0] / box.row[0]));
    copy.dstPtr =
        make_cudaPitchedPtr(to, size(box.row[1]), size(box.width), size(box.layer[1] / box.row[1]));
    copy.kind = cudaMemcpyDeviceToDevice;
    BENCH_CUDA(cudaMemcpy3DAsync(&copy, on));
}

using Move = void (*)(const Box &, char *, const char *, cudaStream_t);

void measure(benchmark::State &state, const Box &box, Move enqueue)
{
    const Type types[] = {type_of(box, 0), type_of(box, 1)};
    const Device from(box.layers * box.layer[0]), to(box.layers * box.layer[1]);
    const int64_t bytes = bytes_of(box);
    const heddle_move move{{from.get(), 1, types[0].get(), 0},
                           {to.get(), 1, types[1].get(), 0},
                           bytes,
                           HEDDLE_OP_REPLACE};
    const auto heddle = [&](int, cudaStream_t on) {
        BENCH_HEDDLE(heddle_transfer_on_stream(&move, 1, on));
    };
    const auto heddle_blocks = [&](int) { BENCH_HEDDLE(heddle_transfer(&move, 1)); };
    const Stream stream;
    std::vector<Enqueue> queued;
    std::vector<Call> blocking;
    if (enqueue) {
        queued.push_back([&](int, cudaStream_t on) { enqueue(box, to.get(), from.get(), on); });
        blocking.push_back([&](int) {
            enqueue(box, to.get(), from.get(), stream);
            stream.wait();
        });
    }
    queued.push_back(heddle);
    blocking.push_back(heddle_blocks);

    // What must come out, by the host.
    fill_pattern(from.get(), from.bytes(), 1);
    fill_pattern(to.get(), to.bytes(), 2);
    std::vector<char> wanted = on_host(to), packed(static_cast<size_t>(bytes));
    int64_t moved = 0;
    BENCH_HEDDLE(
        heddle_pack(on_host(from).data(), 1, types[0].get(), 0, packed.data(), bytes, &moved));
    BENCH_HEDDLE(heddle_unpack(packed.data(), bytes, wanted.data(), 1, types[1].get(), 0, &moved));
    queued.front()(0, stream);
    stream.wait();
    if (on_host(to) != wanted)
        throw std::runtime_error("wrong data");

    state.counters["bytes"] = static_cast<double>(bytes);
    report_wall(state, blocking);
    report_gpu(state, queued);
}

} // namespace

void register_copies()
{
    static const std::pair<const char *, Box> boxes[] = {
        {"rows-8-from-512-to-64/16384", {8, 2048, 1, {512, 64}, {1 << 20, 1 << 17}}},
        {"rows-8-from-512-to-64/1048576", {8, 1 << 17, 1, {512, 64}, {1 << 26, 1 << 23}}},
        {"rows-8-from-512-to-64/67108864", {8, 1 << 23, 1, {512, 64}, {int64_t{1} << 32, 1 << 29}}},
        {"rows-256-from-512-to-1024/1048576", {256, 1 << 12, 1, {512, 1024}, {1 << 21, 1 << 22}}},
        {"rows-256-from-512-to-1024/67108864", {256, 1 << 18, 1, {512, 1024}, {1 << 27, 1 << 28}}},
        {"box-from-256-to-72/64",
         {64 * 8, 64, 64, {256 * 8, 72 * 8}, {256 * 256 * 8, 72 * 72 * 8}}},
        {"box-from-262-to-256/256",
         {256 * 8, 256, 256, {262 * 8, 256 * 8}, {262 * 262 * 8, 257 * 256 * 8}}},
    };
    const std::pair<const char *, Move> everyone[] = {
        {"heddle", nullptr}, {"hand", by_hand}, {"copy", by_copies}};
    for (const auto &[name, box] : boxes)
        for (const auto &[who, enqueue] : everyone)
            add(std::string(name) + "/copy/device/" + who,
                [&box = box, enqueue = enqueue](benchmark::State &state) {
                    measure(state, box, enqueue);
                });
}

} // namespace bench
