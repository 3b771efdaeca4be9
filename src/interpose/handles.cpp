// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/handles.hpp"

#include "interpose/activity.hpp"

#include "engine/immortal.hpp"

#include <mutex>
#include <vector>

namespace heddle::interpose {

namespace {

struct Waiting {
    std::mutex mutex;
    Tally count;
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Request> requests;
};

} // namespace

void free_type_later(MPI_Datatype type)
{
    Waiting &waiting = immortal<Waiting>();
    const std::lock_guard lock(waiting.mutex);
    waiting.types.push_back(type);
    waiting.count.add(1);
}

void free_request_later(MPI_Request request)
{
    Waiting &waiting = immortal<Waiting>();
    const std::lock_guard lock(waiting.mutex);
    waiting.requests.push_back(request);
    waiting.count.add(1);
}

void free_what_waits()
{
    Waiting &waiting = immortal<Waiting>();
    if (waiting.count.load() == 0)
        return;
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Request> requests;
    {
        const std::lock_guard lock(waiting.mutex);
        types.swap(waiting.types);
        requests.swap(waiting.requests);
        waiting.count.add(-static_cast<int>(types.size() + requests.size()));
    }
    for (MPI_Datatype &type : types)
        PMPI_Type_free(&type);
    for (MPI_Request &request : requests)
        PMPI_Request_free(&request);
}

} // namespace heddle::interpose
