// SPDX-License-Identifier: BSD-3-Clause
#include "lending.hpp"

#include "../../gpu/counters.hpp"
#include "../../gpu/settings.hpp"
#include "shared_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace heddle::pipeline {

namespace {

// Few sizes, so that little is exported and opened.
struct Size {
    size_t piece;
    size_t pieces; // in an allocation
};
constexpr Size sizes[] = {{size_t{64} << 10, 64}, {size_t{1} << 20, 16}, {size_t{8} << 20, 4}};

Size size_for(size_t bytes)
{
    for (const Size &size : sizes)
        if (bytes <= size.piece)
            return size;
    return {std::bit_ceil(bytes), 2};
}

} // namespace

struct Lent {
    gpu::Device *device;
    Mode mode;
    Size size;
    gpu::Slab slab;      // the device's
    SharedMemory shared; // or the host's
    gpu::Memory memory;
    Loan loan;                // of its beginning
    std::vector<char *> idle; // room for all of them

    size_t bytes() const { return size.piece * size.pieces; }
    char *at() const { return mode == Mode::shared ? shared.at() : slab.at(); }
    // Makes the memory.
    int make()
    {
        return mode == Mode::shared ? shared.make(*device, bytes())
                                    : device->memory.take_apart(bytes(), slab);
    }
    // Lets others find it.
    int publish()
    {
        return mode == Mode::shared
                   ? shared.publish(loan.handle)
                   : device->backend().export_memory(device->ordinal(), slab.at(), loan.handle);
    }
};

namespace {

class Lender {
public:
    // Never destroyed: neither is the memory.
    static Lender &get()
    {
        static Lender &lender = *std::make_unique<Lender>().release();
        return lender;
    }

    int take(gpu::Device &device, Mode mode, size_t bytes, bool beyond, Piece &piece)
    {
        const std::lock_guard lock(mutex_);
        const Size size = size_for(bytes);
        size_t held = 0;
        for (const auto &lent : all_) {
            if (lent->device != &device || lent->mode != mode)
                continue;
            if (lent->size.piece == size.piece && !lent->idle.empty())
                return give(*lent, piece);
            held += std::max(lent->bytes(), lent->slab.bytes());
        }
        if (mute_.contains({&device, mode}))
            return HEDDLE_ERR_DEVICE;
        if (!beyond && held > 0 &&
            held + size.piece * size.pieces > gpu::Settings::get().slab_limit)
            return HEDDLE_ERR_NO_MEMORY;
        if (const int e = make(device, mode, size))
            return e;
        return give(*all_.back(), piece);
    }

    bool can(const gpu::Device &device, Mode mode)
    {
        if (!any_mute_.load(std::memory_order_relaxed))
            return true;
        const std::lock_guard lock(mutex_);
        return !mute_.contains({&device, mode});
    }

    void give_back(Lent &lent, char *at)
    {
        const std::lock_guard lock(mutex_);
        lent.idle.push_back(at);
    }

    int64_t held(Mode mode)
    {
        const std::lock_guard lock(mutex_);
        int64_t bytes = 0;
        for (const auto &lent : all_)
            bytes += lent->mode == mode ? static_cast<int64_t>(lent->bytes()) : 0;
        return bytes;
    }

    char *find(const Loan &loan, size_t bytes)
    {
        const std::lock_guard lock(mutex_);
        for (const auto &lent : all_)
            if (lent->loan.allocation == loan.allocation && bytes <= lent->bytes() &&
                loan.at <= lent->bytes() - bytes)
                return lent->at() + loan.at;
        return nullptr;
    }

private:
    int make(gpu::Device &device, Mode mode, const Size &size)
    {
        auto lent = std::make_unique<Lent>();
        lent->device = &device;
        lent->mode = mode;
        lent->size = size;
        const int not_made = lent->make();
        const int e = not_made ? not_made : lent->publish();
        // Memory that ran out may be there another time; devices say it in whatever words.
        const bool may_pass = e == HEDDLE_ERR_NO_MEMORY || (not_made && mode == Mode::reference);
        if (e && !may_pass) {
            mute_.insert({&device, mode});
            any_mute_ = true;
        }
        if (e)
            return e;
        lent->memory = device.backend().query(lent->at(), true);
        if (mode == Mode::reference) {
            lent->loan.base = reinterpret_cast<uintptr_t>(lent->at());
            lent->loan.size = lent->bytes();
        }
        lent->loan.allocation = ++made_;
        lent->idle.reserve(size.pieces);
        for (size_t i = size.pieces; i > 0; --i)
            lent->idle.push_back(lent->at() + (i - 1) * size.piece);
        all_.push_back(std::move(lent));
        return HEDDLE_SUCCESS;
    }

    int give(Lent &lent, Piece &piece)
    {
        Loan loan = lent.loan;
        loan.at = static_cast<uint64_t>(lent.idle.back() - lent.at());
        piece = Piece(&lent, lent.idle.back(), loan);
        lent.idle.pop_back();
        return HEDDLE_SUCCESS;
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<Lent>> all_;
    uint64_t made_ = 0;
    std::set<std::pair<const gpu::Device *, Mode>> mute_;
    std::atomic<bool> any_mute_{false};
};

const gpu::Source held([](gpu::Counts &counts) {
    const char *const description = "bytes of staging memory that are held";
    counts.push_back(
        {"slabs", "lent_device", description, Lender::get().held(Mode::reference), true});
    counts.push_back({"slabs", "lent_shared", description, Lender::get().held(Mode::shared), true});
});

} // namespace

Piece::~Piece()
{
    if (lent_)
        Lender::get().give_back(*lent_, at_);
}

const gpu::Memory &Piece::memory() const { return lent_->memory; }

int lend(gpu::Device &device, Mode mode, size_t bytes, bool beyond, Piece &piece)
{
    return Lender::get().take(device, mode, bytes, beyond, piece);
}

bool can_lend(const gpu::Device &device, Mode mode) { return Lender::get().can(device, mode); }

char *find_lent(const Loan &loan, int64_t bytes)
{
    return bytes < 0 ? nullptr : Lender::get().find(loan, static_cast<size_t>(bytes));
}

} // namespace heddle::pipeline
