// SPDX-License-Identifier: BSD-3-Clause
#include "borrowing.hpp"

#include "../../gpu/settings.hpp"
#include "exports.hpp"
#include "lending.hpp"
#include "shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace heddle::pipeline {

namespace {

// Of a sender's own so many are kept open whatever their size, and more while they are not too
// large in all: their owner may have freed them.
constexpr size_t own_of_any_size = 16;
constexpr uint64_t most_own_bytes = uint64_t{4} << 30;
// What is open of memory that its owner has freed is in the way of opening what the owner was given
// at the same addresses since (cudaErrorAlreadyMapped). Small allocations share a block of this
// many bytes, which is what is opened.
constexpr uint64_t block_bytes = 2 << 20;

// An allocation of another process.
class Opened {
public:
    explicit Opened(gpu::Device &device) : device_(device) {}
    Opened(const Opened &) = delete;
    ~Opened()
    {
        if (at_ && !shared_.at())
            device_.backend().close_memory(device_.ordinal(), at_);
    }
    int open(Mode mode, const unsigned char handle[gpu::Backend::handle_bytes])
    {
        if (mode == Mode::shared) {
            const int e = shared_.open(device_, handle);
            at_ = shared_.at();
            bytes_ = shared_.bytes();
            return e;
        }
        void *at = nullptr;
        if (const int e = device_.backend().import_memory(device_.ordinal(), handle, &at))
            return e;
        at_ = static_cast<char *>(at);
        memory_ = device_.backend().query(at_, true);
        if (memory_.base)
            bytes_ = memory_.size - static_cast<size_t>(at_ - memory_.base);
        return HEDDLE_SUCCESS;
    }
    const gpu::Memory &memory() const { return memory_; }
    // Null where it does not reach so far.
    char *find(uint64_t at, size_t bytes) const
    {
        return bytes_ && (bytes > bytes_ || at > bytes_ - bytes) ? nullptr : at_ + at;
    }

private:
    gpu::Device &device_;
    SharedMemory shared_; // if it is the host's
    char *at_ = nullptr;
    size_t bytes_ = 0; // 0: not known
    gpu::Memory memory_;
};

class Borrower {
public:
    // Never destroyed: the device's library may be gone before static objects end.
    static Borrower &get()
    {
        static Borrower &borrower = *std::make_unique<Borrower>().release();
        return borrower;
    }

    // Opening takes long, and is done under the lock so that it is done once.
    int open(gpu::Device &device, uint64_t process, Mode mode, const Loan &loan,
             std::shared_ptr<const Opened> &opened)
    {
        const std::lock_guard lock(mutex_);
        Process &its = processes_[{device.ordinal(), process}];
        if (const auto known = its.open.find(loan.allocation); known != its.open.end()) {
            opened = known->second.opened;
            used(its, loan, known->second);
        } else if (const int e = open_clear(device, process, mode, loan, opened)) {
            if (e != HEDDLE_ERR_NO_MEMORY) { // it may go with the next message
                (is_own(loan) ? its.own_closed : its.closed[static_cast<size_t>(mode)]) = true;
                any_closed_ = true;
            }
            return e;
        } else {
            keep(its, loan, opened);
        }
        return HEDDLE_SUCCESS;
    }

    // Null where it is not open.
    std::shared_ptr<const Opened> find(const gpu::Device &device, uint64_t process,
                                       const Loan &loan)
    {
        const std::lock_guard lock(mutex_);
        Process &its = processes_[{device.ordinal(), process}];
        const auto known = its.open.find(loan.allocation);
        if (known == its.open.end())
            return nullptr;
        used(its, loan, known->second);
        return known->second.opened;
    }

    bool is_closed(const gpu::Device &device, uint64_t process, Mode mode, bool own)
    {
        if (!any_closed_.load(std::memory_order_relaxed))
            return false;
        const std::lock_guard lock(mutex_);
        const auto its = processes_.find({device.ordinal(), process});
        return its != processes_.end() &&
               (its->second.closed[static_cast<size_t>(mode)] || (own && its->second.own_closed));
    }

    void close(uint64_t process)
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(processes_, [=](const auto &each) { return each.first.second == process; });
    }

private:
    struct Known {
        std::shared_ptr<const Opened> opened;
        uint64_t base = 0; // at its owner
        uint64_t size = 0;
        std::list<uint64_t>::iterator place; // among the callers' own

        // Lies in some of the same blocks.
        bool meets(const Loan &loan, uint64_t block) const
        {
            return base / block <= (loan.base + loan.size - 1) / block &&
                   loan.base / block <= (base + size - 1) / block;
        }
    };
    struct Process {
        std::map<uint64_t, Known> open;   // by the allocation
        std::list<uint64_t> own;          // the callers' own among them, the latest used first
        std::array<bool, modes> closed{}; // by mode
        bool own_closed = false;
        uint64_t own_bytes = 0;
    };

    static int open_new(gpu::Device &device, Mode mode, const Loan &loan,
                        std::shared_ptr<const Opened> &opened)
    {
        const auto made = std::make_shared<Opened>(device);
        if (const int e = made->open(mode, loan.handle))
            return e;
        opened = made;
        return HEDDLE_SUCCESS;
    }

    int open_clear(gpu::Device &device, uint64_t process, Mode mode, const Loan &loan,
                   std::shared_ptr<const Opened> &opened)
    {
        drop_freed(process, loan, 1);
        int e = open_new(device, mode, loan, opened);
        if (e && drop_freed(process, loan, block_bytes))
            e = open_new(device, mode, loan, opened);
        return e;
    }

    // Closes what its owner must have freed, for the loan is of another allocation in the same
    // blocks of so many bytes. Whether there was any.
    bool drop_freed(uint64_t process, const Loan &loan, uint64_t block)
    {
        bool any = false;
        if (loan.size == 0) // the host's
            return any;
        for (auto &[who, its] : processes_)
            if (who.second == process)
                any = its.own.remove_if(
                          [&, &open = its.open, &bytes = its.own_bytes](uint64_t allocation) {
                              const auto known = open.find(allocation);
                              const bool freed = known->second.meets(loan, block);
                              if (freed) {
                                  bytes -= known->second.size;
                                  open.erase(known);
                              }
                              return freed;
                          }) > 0 ||
                      any;
        return any;
    }

    static void used(Process &its, const Loan &loan, const Known &known)
    {
        if (is_own(loan))
            its.own.splice(its.own.begin(), its.own, known.place);
    }

    // What is open stays in being, even if its owner has freed it: so what is a caller's own is not
    // kept for ever.
    static void keep(Process &its, const Loan &loan, const std::shared_ptr<const Opened> &opened)
    {
        std::list<uint64_t> place;
        if (is_own(loan))
            place.push_back(loan.allocation);
        its.open[loan.allocation] = {opened, loan.base, loan.size,
                                     place.empty() ? its.own.end() : place.begin()};
        if (place.empty())
            return;
        its.own.splice(its.own.begin(), place);
        its.own_bytes += loan.size;
        const size_t most = gpu::Settings::get().message_open;
        while (its.own.size() > most ||
               (its.own.size() > own_of_any_size && its.own_bytes > most_own_bytes)) {
            const auto oldest = its.open.find(its.own.back());
            its.own_bytes -= oldest->second.size;
            its.open.erase(oldest);
            its.own.pop_back();
        }
    }

    std::mutex mutex_;
    std::atomic<bool> any_closed_{false};
    std::map<std::pair<int, uint64_t>, Process> processes_; // by the device that reads and who
                                                            // lends
};

void lend_out(std::shared_ptr<const Opened> opened, const Loan &loan, int64_t bytes,
              Borrowed &borrowed)
{
    borrowed.at = opened->find(loan.at, static_cast<size_t>(bytes));
    borrowed.memory = &opened->memory();
    borrowed.open = std::move(opened);
}

} // namespace

int borrow(gpu::Device &device, uint64_t process, Mode mode, const Loan &loan, int64_t bytes,
           Borrowed &borrowed)
{
    if (process == whereabouts().process) {
        borrowed.at = is_own(loan) ? find_own(loan, bytes) : find_lent(loan, bytes);
    } else {
        std::shared_ptr<const Opened> opened;
        if (const int e = Borrower::get().open(device, process, mode, loan, opened))
            return e;
        lend_out(std::move(opened), loan, bytes, borrowed);
    }
    return borrowed.at ? HEDDLE_SUCCESS : HEDDLE_ERR_FORMAT;
}

bool borrow_open(gpu::Device &device, uint64_t process, const Loan &loan, int64_t bytes,
                 Borrowed &borrowed)
{
    if (process == whereabouts().process) {
        borrowed.at = is_own(loan) ? find_own(loan, bytes) : find_lent(loan, bytes);
    } else if (auto opened = Borrower::get().find(device, process, loan)) {
        lend_out(std::move(opened), loan, bytes, borrowed);
    }
    return borrowed.at;
}

void close_borrowed(uint64_t process) { Borrower::get().close(process); }

bool cannot_borrow(const gpu::Device &device, uint64_t process, Mode mode, bool own)
{
    return Borrower::get().is_closed(device, process, mode, own);
}

} // namespace heddle::pipeline
