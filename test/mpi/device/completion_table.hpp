/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call that completes requests.
 */
#pragma once

#include "device_test.hpp"

namespace device_test {

/* Completes `n` requests and leaves request i's status in statuses[i]. */
struct Completion {
    const char *name;
    void (*call)(int n, MPI_Request *requests, MPI_Status *statuses);
};

template <auto some> void by_some(int n, MPI_Request *requests, MPI_Status *statuses)
{
    std::vector<int> which(static_cast<size_t>(n));
    std::vector<MPI_Status> found(which.size());
    for (int done = 0; some(n, requests, &done, which.data(), found.data()), done != MPI_UNDEFINED;)
        for (size_t i = 0; i < static_cast<size_t>(done); ++i)
            statuses[which[i]] = found[i];
}

inline void by_status(int n, MPI_Request *requests, MPI_Status *statuses)
{
    for (int i = 0; i < n; ++i) {
        for (int flag = 0; !flag;)
            MPI_Request_get_status(requests[i], &flag, &statuses[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
}

inline constexpr Completion completions[] = {
    {"Wait",
     [](int n, MPI_Request *r, MPI_Status *s) {
         for (int i = n; i-- > 0;)
             MPI_Wait(&r[i], &s[i]);
     }},
    {"Test",
     [](int n, MPI_Request *r, MPI_Status *s) {
         for (int i = 0, flag = 0; i < n; i += flag)
             MPI_Test(&r[i], &flag, &s[i]);
     }},
    {"Waitall", [](int n, MPI_Request *r, MPI_Status *s) { MPI_Waitall(n, r, s); }},
    {"Testall",
     [](int n, MPI_Request *r, MPI_Status *s) {
         for (int flag = 0; !flag;)
             MPI_Testall(n, r, &flag, s);
     }},
    {"Waitany",
     [](int n, MPI_Request *r, MPI_Status *s) {
         MPI_Status status;
         for (int i; MPI_Waitany(n, r, &i, &status), i != MPI_UNDEFINED;)
             s[i] = status;
     }},
    {"Testany",
     [](int n, MPI_Request *r, MPI_Status *s) {
         MPI_Status status;
         for (int i, flag; MPI_Testany(n, r, &i, &flag, &status), !flag || i != MPI_UNDEFINED;)
             if (flag)
                 s[i] = status;
     }},
    {"Waitsome", by_some<MPI_Waitsome>},
    {"Testsome", by_some<MPI_Testsome>},
    {"Request_get_status", by_status},
};

} // namespace device_test
