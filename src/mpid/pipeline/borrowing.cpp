// SPDX-License-Identifier: BSD-3-Clause
#include "borrowing.hpp"

#include "lending.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

namespace heddle::pipeline {

namespace {

struct Opened {
    char *at = nullptr;
    size_t bytes = 0; // 0: not known
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
    int open(gpu::Device &device, uint64_t process, const Loan &loan, Opened &opened)
    {
        const std::lock_guard lock(mutex_);
        const auto key = std::tuple(device.ordinal(), process, loan.allocation);
        if (const auto known = open_.find(key); known != open_.end()) {
            opened = known->second;
            return HEDDLE_SUCCESS;
        }
        void *at = nullptr;
        if (const int e = device.backend().import_memory(device.ordinal(), loan.handle, &at)) {
            closed_.emplace(device.ordinal(), process);
            return e;
        }
        opened.at = static_cast<char *>(at);
        const gpu::Memory memory = device.backend().query(at, true);
        if (memory.base)
            opened.bytes = memory.size - static_cast<size_t>(opened.at - memory.base);
        open_.emplace(key, opened);
        return HEDDLE_SUCCESS;
    }

    bool is_closed(const gpu::Device &device, uint64_t process)
    {
        const std::lock_guard lock(mutex_);
        return closed_.contains({device.ordinal(), process});
    }

private:
    std::mutex mutex_;
    std::map<std::tuple<int, uint64_t, uint64_t>, Opened> open_;
    std::set<std::pair<int, uint64_t>> closed_;
};

} // namespace

int borrow(gpu::Device &device, uint64_t process, const Loan &loan, int64_t bytes, char **at)
{
    if (process == whereabouts().process) {
        *at = find_lent(loan, bytes);
        return *at ? HEDDLE_SUCCESS : HEDDLE_ERR_FORMAT;
    }
    Opened opened;
    if (const int e = Borrower::get().open(device, process, loan, opened))
        return e;
    const auto length = static_cast<size_t>(bytes);
    if (opened.bytes && (length > opened.bytes || loan.at > opened.bytes - length))
        return HEDDLE_ERR_FORMAT;
    *at = opened.at + loan.at;
    return HEDDLE_SUCCESS;
}

bool cannot_borrow(const gpu::Device &device, uint64_t process)
{
    return Borrower::get().is_closed(device, process);
}

} // namespace heddle::pipeline
