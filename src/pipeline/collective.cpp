// SPDX-License-Identifier: BSD-3-Clause
// The C API for collectives that go straight between the buffers of several processes: vectors that
// are combined in their order, and how many went so.
#include "engine/operators.hpp"
#include "engine/plan.hpp"
#include "engine/predefined.hpp"
#include "gpu/api/transfer.hpp"
#include "gpu/core/error_detail.hpp"
#include "gpu/core/log.hpp"
#include "gpu/memory/location.hpp"
#include "gpu/memory/pointer_cache.hpp"
#include "gpu/transfer/task.hpp"
#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/imports.hpp"
#include "pipeline/protocol/buffer.hpp"

#include <algorithm>
#include <span>

using namespace heddle;
using namespace heddle::pipeline;

static_assert(gpu::Fold::most == HEDDLE_FOLD_MOST);

namespace {

// ---- in one launch ----

// The memory at an address, as far as it is known without asking: an import's, or the described
// buffer's. Null: it is not.
const gpu::Memory *known_memory(const void *at, const heddle_import *import, const Buffer &near)
{
    if (import && import->memory)
        return import->memory;
    return gpu::MemoryMap::holds(near.memory(), static_cast<const char *>(at)) ? &near.memory()
                                                                               : nullptr;
}

gpu::Memory memory_at(const void *at, const heddle_import *import, const Buffer &near,
                      const gpu::Backend &backend)
{
    const gpu::Memory *const known = known_memory(at, import, near);
    return known ? *known : backend.query(at, false);
}

// False where a kernel cannot: it reaches not all, or elements lie at odd addresses.
bool describe(const heddle_fold &asked, const Buffer &near, const gpu::Backend &backend,
              gpu::Fold &fold)
{
    const int device = near.device()->ordinal();
    const auto element = static_cast<int>(predefined_info(asked.basic).size);
    bool is_reached = true;
    uintptr_t addresses = 0;
    const auto look_at = [&](const void *at, const heddle_import *import, bool &is_elsewhere) {
        const gpu::Place place = memory_at(at, import, near, backend);
        is_reached = is_reached && place.is_reached_by(device, backend);
        addresses |= reinterpret_cast<uintptr_t>(at);
        is_elsewhere = is_elsewhere || !place.lies_on(device);
    };
    fold.n = static_cast<int>(asked.n);
    fold.targets = static_cast<int>(asked.n_to);
    fold.bytes = asked.bytes;
    fold.op = asked.op;
    fold.basic = asked.basic;
    fold.far = false;
    fold.remote = false;
    for (int i = 0; i < fold.n; ++i) {
        fold.from[i] = static_cast<const char *>(asked.from[i].at);
        look_at(asked.from[i].at, asked.from[i].import, fold.far);
    }
    for (int i = 0; i < fold.targets; ++i) {
        fold.to[i] = static_cast<char *>(asked.to[i].at);
        look_at(asked.to[i].at, asked.to[i].import, fold.remote);
    }
    fold.word = widest_word(addresses);
    return is_reached && fold.word >= std::min(element, 16);
}

bool is_for_a_kernel(const heddle_fold &asked, const Buffer &near, const gpu::Backend &backend)
{
    return near.device() && category(asked.basic) != Category::pair &&
           backend.combines(asked.op, asked.basic);
}

// ---- one after the other ----

// One step of the chain: the target becomes an operand, or is combined with one.
Error step(const heddle_fold &fold, const Buffer &near, const heddle_operand &operand,
           const heddle_target &target, heddle_op op)
{
    const heddle_type *const type = heddle_type_predefined(fold.basic);
    const int64_t elements = fold.bytes / predefined_info(fold.basic).size;
    const heddle_move move{{const_cast<void *>(operand.at), elements, type, 0},
                           {target.at, elements, type, 0},
                           fold.bytes,
                           op};
    const gpu::Known known{known_memory(operand.at, operand.import, near),
                           known_memory(target.at, target.import, near)};
    heddle_request *request = nullptr;
    if (const Error e = gpu::begin_transfer({&move, 1}, {&known, 1}, &request))
        return e;
    return Error::of(heddle_wait(&request));
}

// The first target is combined with the operands in their order, from itself on if it is one of
// them. The others become that.
Error run_chain(const heddle_fold &fold, const Buffer &near)
{
    const std::span<const heddle_operand> from(fold.from, static_cast<size_t>(fold.n));
    const std::span<const heddle_target> to(fold.to, static_cast<size_t>(fold.n_to));
    const auto own = std::find_if(from.begin(), from.end(), [&](const heddle_operand &operand) {
        return operand.at == to[0].at;
    });
    const bool is_own = own != from.end();
    for (auto each = from.begin(); each != from.end(); ++each) {
        if (each == own)
            continue;
        const bool is_first = each == from.begin() && !is_own;
        if (const Error e = step(fold, near, *each, to[0], is_first ? HEDDLE_OP_REPLACE : fold.op))
            return e;
    }
    for (const heddle_target &other : to.subspan(1))
        if (const Error e = step(fold, near, {to[0].at, to[0].import}, other, HEDDLE_OP_REPLACE))
            return e;
    return HEDDLE_SUCCESS;
}

Error check(const heddle_fold &fold, Buffer &near)
{
    const auto is_number = [](int64_t n) { return n >= 1 && n <= HEDDLE_FOLD_MOST; };
    if (!fold.from || !is_number(fold.n) || !fold.to || !is_number(fold.n_to) || fold.bytes < 0 ||
        !read_buffer(fold.near, near))
        return HEDDLE_ERR_ARG;
    for (int64_t i = 0; i < fold.n_to; ++i)
        if (!fold.to[i].at)
            return HEDDLE_ERR_ARG;
    if (!heddle_op_is_defined(fold.op, fold.basic) || fold.op == HEDDLE_OP_REPLACE ||
        fold.op == HEDDLE_OP_NO_OP)
        return HEDDLE_ERR_OP;
    return fold.bytes % predefined_info(fold.basic).size ? HEDDLE_ERR_RANGE : HEDDLE_SUCCESS;
}

// In one launch by `launches(device, fold)`, or one after the other.
template <class Launches> int fold_by(const heddle_fold *fold, Launches launches)
{
    if (!fold || fold->size != sizeof *fold)
        return HEDDLE_ERR_ARG;
    return gpu::answer([&]() -> Error {
        Buffer near;
        if (const Error e = check(*fold, near))
            return e;
        gpu::Fold one;
        gpu::Devices *const devices = gpu::Devices::open();
        if (fold->bytes == 0)
            return HEDDLE_SUCCESS;
        if (devices && is_for_a_kernel(*fold, near, devices->backend()) &&
            describe(*fold, near, devices->backend(), one))
            return launches(*near.device(), one);
        return run_chain(*fold, near);
    });
}

// In the order of heddle_collective_way.
WayCount ways[] = {{"by_message", "bytes_by_message"},
                   {"direct", "bytes_direct"},
                   {"by_channel", "bytes_by_channel"},
                   {"packed", "bytes_packed"}};
constexpr const char *way_names[] = {"by messages", "direct", "by channels",
                                     "direct, packed first"};

const gpu::Source source([](gpu::Counts &counts) {
    for (const WayCount &each : ways)
        each.tell(counts, "collectives", "collectives on device memory by the way they took");
});

} // namespace

int heddle_fold_run(const heddle_fold *fold)
{
    return fold_by(fold,
                   [](gpu::Device &device, const gpu::Fold &one) { return run_fold(device, one); });
}

int heddle_fold_begin(const heddle_fold *fold, heddle_request **request)
{
    if (!request)
        return HEDDLE_ERR_ARG;
    *request = nullptr;
    return fold_by(fold, [request](gpu::Device &device, const gpu::Fold &one) {
        return gpu::begin_fold(device, one, request);
    });
}

void heddle_collective_count(const char *name, int way, int64_t bytes, const char *reason)
{
    ways[way].add(bytes);
    if (way == HEDDLE_COLLECTIVE_PACKED)
        ways[HEDDLE_COLLECTIVE_DIRECT].add(bytes);
    if (gpu::logs(gpu::Topic::policy))
        gpu::log_line(gpu::Topic::policy, "%s of %lld bytes: %s: %s", name,
                      static_cast<long long>(bytes), way_names[way], reason);
}
