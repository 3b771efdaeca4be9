// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <heddle.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace heddle::interpose {

std::atomic<int64_t> counters[static_cast<int>(Count::count)];

int own_rank()
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void print_start(bool has_device)
{
    const char *const log = std::getenv("HEDDLE_LOG");
    is_logged = log && std::strstr(log, "interpose");
    if (!is_logged)
        return;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(version, &length);
    version[std::strcspn(version, "\n")] = '\0';
    std::fprintf(stderr, "heddle interpose [%d]: %s; %s\n", own_rank(), version,
                 has_device ? "device buffers are moved by Heddle"
                            : "no device is open, so calls pass down");
}

void print_counters()
{
    if (!is_logged)
        return;
    const auto value = [](Count which) {
        return static_cast<long long>(counters[static_cast<int>(which)].load());
    };
    std::fprintf(stderr,
                 "heddle interpose [%d]: %lld calls passed down, %lld staged, "
                 "%lld messages sent by reference, %lld in chunks, "
                 "%lld windows of device memory copied in host memory, "
                 "%lld uses of types that could not be rebuilt\n",
                 own_rank(), value(Count::passed), value(Count::staged), value(Count::by_reference),
                 value(Count::in_chunks), value(Count::copied_windows), value(Count::not_rebuilt));
}

void complain_once(const char *text)
{
    struct Said {
        std::mutex mutex;
        std::set<const char *> texts;
    };
    Said &said = immortal<Said>();
    const std::lock_guard lock(said.mutex);
    if (said.texts.insert(text).second)
        std::fprintf(stderr, "heddle interpose: %s\n", text);
}

int class_of(int heddle_error)
{
    switch (heddle_error) {
    case HEDDLE_SUCCESS:
        return MPI_SUCCESS;
    case HEDDLE_ERR_ARG:
        return MPI_ERR_ARG;
    case HEDDLE_ERR_COUNT:
    case HEDDLE_ERR_OVERFLOW:
        return MPI_ERR_COUNT;
    case HEDDLE_ERR_TYPE:
    case HEDDLE_ERR_NOT_COMMITTED:
    case HEDDLE_ERR_FREED:
        return MPI_ERR_TYPE;
    case HEDDLE_ERR_RANGE:
    case HEDDLE_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    case HEDDLE_ERR_NO_MEMORY:
        return MPI_ERR_NO_MEM;
    case HEDDLE_ERR_OP:
        return MPI_ERR_OP;
    case HEDDLE_ERR_BUFFER:
        return MPI_ERR_BUFFER;
    default:
        return MPI_ERR_OTHER;
    }
}

int raise(MPI_Comm comm, int error)
{
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, error);
    return error;
}

} // namespace heddle::interpose
