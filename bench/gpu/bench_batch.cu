// SPDX-License-Identifier: BSD-3-Clause
// A neighbour exchange: the 6 faces, 12 edges and 8 corners of a grid of 256^3 doubles, 3 cells
// deep. They are packed as one batch into 26 messages, and unpacked into the halo around the grid.
#include "benchmarks.hpp"
#include "memory.hpp"
#include "type.hpp"

#include <array>

namespace bench {
namespace {

constexpr int64_t n = 256, radius = 3, edge = n + 2 * radius;

struct Part {
    std::array<int64_t, 3> start, size; // z, y, x; cells
    Type type;
    int64_t bytes = 0, at = 0; // in the packed buffer
};

struct Exchange {
    std::vector<Part> parts;
    int64_t bytes = 0;
    Device grid{edge * edge * edge * 8}, packed;
};

// Inside the grid (to send) or in the halo (to receive).
Exchange make_exchange(bool inside)
{
    Exchange made;
    for (int which = 0; which < 27; ++which) {
        const std::array<int, 3> toward{which / 9 - 1, which / 3 % 3 - 1, which % 3 - 1};
        if (which == 13)
            continue;
        Part part{};
        part.bytes = 8;
        for (int d = 0; d < 3; ++d) {
            const int64_t low = inside ? radius : 0, high = inside ? n : n + radius;
            part.start[d] = toward[d] < 0 ? low : toward[d] > 0 ? high : radius;
            part.size[d] = toward[d] ? radius : n;
            part.bytes *= part.size[d];
        }
        const std::array<int64_t, 3> sizes{edge, edge, edge};
        part.type = Type::subarray(sizes, part.size, part.start, Type::predefined(HEDDLE_DOUBLE));
        part.at = made.bytes;
        made.bytes += part.bytes;
        made.parts.push_back(std::move(part));
    }
    made.packed = Device(made.bytes);
    return made;
}

struct Box {
    int start[3], size[3];
};

template <bool Pack>
__global__ void move_box(double *__restrict grid, double *__restrict packed, Box box, int cells)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= cells)
        return;
    const int x = i % box.size[2], y = i / box.size[2] % box.size[1],
              z = i / (box.size[2] * box.size[1]);
    const size_t at = (size_t(box.start[0] + z) * edge + size_t(box.start[1] + y)) * edge +
                      size_t(box.start[2] + x);
    if (Pack)
        packed[i] = grid[at];
    else
        grid[at] = packed[i];
}

using Parts = void (*)(const Exchange &, bool pack, cudaStream_t);

// As a program does it: one kernel a part.
void by_kernels(const Exchange &exchange, bool pack, cudaStream_t stream)
{
    for (const Part &part : exchange.parts) {
        Box box{};
        for (int d = 0; d < 3; ++d) {
            box.start[d] = static_cast<int>(part.start[d]);
            box.size[d] = static_cast<int>(part.size[d]);
        }
        const int cells = static_cast<int>(part.bytes / 8);
        (pack ? move_box<true>
              : move_box<false>)<<<static_cast<unsigned>((cells + 255) / 256), 256, 0, stream>>>(
            reinterpret_cast<double *>(exchange.grid.get()),
            reinterpret_cast<double *>(exchange.packed.get() + part.at), box, cells);
    }
    BENCH_CUDA(cudaGetLastError());
}

void by_copies(const Exchange &exchange, bool pack, cudaStream_t stream)
{
    for (const Part &part : exchange.parts) {
        const auto size = [&](int d) { return static_cast<size_t>(part.size[d]); };
        const auto grid = make_cudaPitchedPtr(exchange.grid.get(), edge * 8, edge * 8, edge);
        const auto packed =
            make_cudaPitchedPtr(exchange.packed.get() + part.at, size(2) * 8, size(2) * 8, size(1));
        cudaMemcpy3DParms copy{};
        copy.extent = make_cudaExtent(size(2) * 8, size(1), size(0));
        copy.srcPtr = pack ? grid : packed;
        copy.dstPtr = pack ? packed : grid;
        (pack ? copy.srcPos : copy.dstPos) =
            make_cudaPos(static_cast<size_t>(part.start[2]) * 8, static_cast<size_t>(part.start[1]),
                         static_cast<size_t>(part.start[0]));
        copy.kind = cudaMemcpyDefault;
        BENCH_CUDA(cudaMemcpy3DAsync(&copy, stream));
    }
}

std::vector<heddle_move> moves_of(const Exchange &exchange, bool pack)
{
    std::vector<heddle_move> moves;
    for (const Part &part : exchange.parts) {
        const heddle_side grid{exchange.grid.get(), 1, part.type.get(), 0};
        const heddle_side packed{exchange.packed.get() + part.at, part.bytes,
                                 heddle_type_predefined(HEDDLE_BYTE), 0};
        moves.push_back(pack ? heddle_move{grid, packed, part.bytes, HEDDLE_OP_REPLACE}
                             : heddle_move{packed, grid, part.bytes, HEDDLE_OP_REPLACE});
    }
    return moves;
}

// What must come out, by the host.
std::vector<char> expected(const Exchange &exchange, bool pack)
{
    std::vector<char> grid = on_host(exchange.grid), packed = on_host(exchange.packed);
    for (const Part &part : exchange.parts) {
        int64_t moved = 0;
        if (pack)
            BENCH_HEDDLE(heddle_pack(grid.data(), 1, part.type.get(), 0, packed.data() + part.at,
                                     part.bytes, &moved));
        else
            BENCH_HEDDLE(heddle_unpack(packed.data() + part.at, part.bytes, grid.data(), 1,
                                       part.type.get(), 0, &moved));
    }
    return pack ? packed : grid;
}

template <class Go> void check(const Exchange &exchange, bool pack, Go &&go)
{
    fill_pattern(exchange.grid.get(), exchange.grid.bytes(), 1);
    fill_pattern(exchange.packed.get(), exchange.bytes, 2);
    const Device wanted = on_device(expected(exchange, pack));
    go();
    const Device &result = pack ? exchange.packed : exchange.grid;
    if (const int64_t wrong = differing(result.get(), wanted.get(), wanted.bytes()))
        throw std::runtime_error("wrong data: " + std::to_string(wrong) + " bytes");
}

void measure(benchmark::State &state, bool pack, Parts enqueue)
{
    const Exchange exchange = make_exchange(pack);
    const std::vector<heddle_move> moves = moves_of(exchange, pack);
    const Stream stream;
    const auto count = static_cast<int64_t>(moves.size());
    std::vector<Call> blocking{[&](int) { BENCH_HEDDLE(heddle_transfer(moves.data(), count)); }};
    std::vector<Enqueue> queued{[&](int, cudaStream_t on) {
        BENCH_HEDDLE(heddle_transfer_on_stream(moves.data(), count, on));
    }};
    if (enqueue) {
        blocking.emplace(blocking.begin(), [&](int) {
            enqueue(exchange, pack, stream);
            stream.wait();
        });
        queued.emplace(queued.begin(), [&](int, cudaStream_t on) { enqueue(exchange, pack, on); });
    }
    state.counters["bytes"] = static_cast<double>(exchange.bytes);
    check(exchange, pack, [&] { blocking.front()(0); });
    report_wall(state, blocking);
    check(exchange, pack, [&] {
        queued.front()(0, stream);
        stream.wait();
    });
    report_gpu(state, queued);
}

} // namespace

void register_batch()
{
    const std::pair<const char *, Parts> everyone[] = {
        {"heddle", nullptr}, {"hand", by_kernels}, {"copy", by_copies}};
    for (const bool pack : {true, false})
        for (const auto &[who, enqueue] : everyone)
            add(std::string("halo-26-parts/256/") + (pack ? "pack" : "unpack") + "/device/" + who,
                [pack, enqueue = enqueue](benchmark::State &state) {
                    measure(state, pack, enqueue);
                });
}

} // namespace bench
