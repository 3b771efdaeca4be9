// SPDX-License-Identifier: BSD-3-Clause
#include "workspace.hpp"

#include "memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace bench {
namespace {

constexpr uint64_t user_seed = 1, packed_seed = 2, other_seed = 3;

// Pinned memory takes long to make: the largest so far serves everyone.
char *pinned(int64_t bytes)
{
    static Pinned memory;
    if (!memory || memory.bytes() < bytes) {
        memory = Pinned();
        memory = Pinned(std::max<int64_t>(bytes, 64 << 20));
    }
    return memory.get();
}

} // namespace

Workspace::Workspace(const Layout &layout, int64_t size) : made_(layout.make(size))
{
    // Rates are asked for from 64 MiB on; the L2 cache has 60 MB.
    constexpr int64_t rates_from = 60 << 20, enough = 512 << 20;
    const int64_t pair = made_.span + made_.bytes;
    const int64_t pairs =
        made_.bytes < rates_from ? 1 : std::clamp<int64_t>(enough / pair + 1, 1, 4);
    for (int64_t i = 0; i < pairs; ++i) {
        users_.emplace_back(made_.span);
        packs_.emplace_back(made_.bytes);
        fill_pattern(users_.back().get(), made_.span, user_seed);
        fill_pattern(packs_.back().get(), made_.bytes, packed_seed);
    }
}

Ends Workspace::ends(int i, bool pack, bool to_pinned)
{
    const size_t pair = static_cast<size_t>(i) % users_.size();
    return {users_[pair].get(), to_pinned ? pinned(made_.bytes) : packs_[pair].get(), pack};
}

const Device &Workspace::expected(bool pack)
{
    if (const auto known = expected_.find(pack); known != expected_.end())
        return known->second;
    const int64_t bytes = pack ? made_.bytes : made_.span;
    Device result(bytes);
    fill_pattern(users_[0].get(), made_.span, pack ? user_seed : other_seed);
    fill_pattern(packs_[0].get(), made_.bytes, packed_seed);
    damaged_ = true;
    if (made_.span <= checked_on_host || !made_.hand) {
        auto user = on_host(users_[0]), packed = on_host(packs_[0]);
        int64_t moved = 0;
        if (pack)
            BENCH_HEDDLE(heddle_pack(user.data(), made_.count, made_.type.get(), 0, packed.data(),
                                     made_.bytes, &moved));
        else
            BENCH_HEDDLE(heddle_unpack(packed.data(), made_.bytes, user.data(), made_.count,
                                       made_.type.get(), 0, &moved));
        if (moved != made_.bytes)
            throw std::runtime_error("the case says how many bytes it has, and is wrong");
        BENCH_CUDA(cudaMemcpy(result.get(), (pack ? packed : user).data(),
                              static_cast<size_t>(bytes), cudaMemcpyHostToDevice));
    } else {
        const Stream stream;
        made_.hand({users_[0].get(), packs_[0].get(), pack}, stream);
        BENCH_CUDA(cudaMemcpyAsync(result.get(), (pack ? packs_ : users_)[0].get(),
                                   static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
        stream.wait();
    }
    return expected_.emplace(pack, std::move(result)).first->second;
}

double Workspace::check(const Mover &mover, bool pack, bool to_pinned)
{
    const Device &wanted = expected(pack);
    const Ends ends = this->ends(0, pack, to_pinned);
    if (pack) {
        if (std::exchange(damaged_, false))
            fill_pattern(ends.user, made_.span, user_seed);
        fill_pattern(ends.packed, made_.bytes, packed_seed);
    } else {
        fill_pattern(ends.packed, made_.bytes, packed_seed);
        fill_pattern(ends.user, made_.span, other_seed);
        damaged_ = true;
    }
    const Stream stream;
    const auto begin = std::chrono::steady_clock::now();
    mover(ends, stream);
    stream.wait();
    const double taken =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const int64_t wrong = differing(pack ? ends.packed : ends.user, wanted.get(), wanted.bytes());
    if (wrong)
        throw std::runtime_error("wrong data: " + std::to_string(wrong) + " of " +
                                 std::to_string(wanted.bytes()) + " bytes");
    return taken;
}

Workspace &workspace(const Layout &layout, int64_t size)
{
    static std::string name;
    static int64_t last = -1;
    static std::unique_ptr<Workspace> kept;
    if (!kept || name != layout.name || last != size) {
        kept.reset();
        kept = std::make_unique<Workspace>(layout, size);
        name = layout.name;
        last = size;
    }
    return *kept;
}

} // namespace bench
