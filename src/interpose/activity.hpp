// SPDX-License-Identifier: BSD-3-Clause
// What calls must look after besides what they were made for. Most calls find by one look that
// there is nothing, and cost little more than the MPI's.
#pragma once

#include <atomic>

namespace heddle::interpose {

// How much there is: operations, windows that others may lock, memory attached to windows, handles
// that are to be freed; and one where two threads may call at the same time.
inline std::atomic<int> activity{1};
inline bool is_quiet() { return activity.load() == 0; }

// A number of such things.
class Tally {
public:
    void add(int n)
    {
        n_.fetch_add(n);
        activity.fetch_add(n);
    }
    int load() const { return n_.load(); }

private:
    std::atomic<int> n_{0};
};

// Taken for granted until MPI_Init tells, and once there is a session, which may have them.
inline std::atomic<bool> may_have_threads{true}, has_sessions{false};
inline void set_threads(bool may_have)
{
    may_have = may_have || has_sessions.load();
    if (may_have_threads.exchange(may_have) != may_have)
        activity.fetch_add(may_have ? 1 : -1);
}

} // namespace heddle::interpose
