// SPDX-License-Identifier: BSD-3-Clause
// Partitioned messages (MPI 4): a partition is packed when it is ready, and unpacked when it has
// been seen to arrive, or at the end.
#include "interpose/persistent.hpp"
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

#if defined(HEDDLE_MPI_4)

#pragma GCC visibility push(default)
extern "C" {
int PMPI_Psend_init(const void *buffer, int parts, MPI_Count n, MPI_Datatype type, int to, int tag,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request);
int PMPI_Precv_init(void *buffer, int parts, MPI_Count n, MPI_Datatype type, int from, int tag,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request);
int PMPI_Pready_range(int first, int last, MPI_Request request);
int PMPI_Parrived(MPI_Request request, int partition, int *flag);
}
#pragma GCC visibility pop

namespace heddle::interpose {

namespace {

// The buffers of one request. MPI's partitions are as many dense instances.
struct Partitions {
    Data data; // all of them
    int n;
    Staging staging;
    std::mutex mutex;
    std::vector<bool> arrived; // and are unpacked, since the last start

    Partitions(Data what, int n)
        : data(std::move(what)),
          n(n),
          staging(data.bytes(), data.near()),
          arrived(static_cast<size_t>(n))
    {
    }
    int64_t bytes() const { return data.bytes() / n; } // of one
    heddle_move pack(int i) const
    {
        return {data.side(i * bytes()), packed_side(staging.at() + i * bytes(), bytes()), bytes(),
                HEDDLE_OP_REPLACE};
    }
    heddle_move unpack(int i) const
    {
        return {packed_side(staging.at() + i * bytes(), bytes()), data.side(i * bytes()), bytes(),
                HEDDLE_OP_REPLACE};
    }
    // What is left at the end. The next start begins anew.
    std::vector<heddle_move> take_rest()
    {
        const std::lock_guard lock(mutex);
        std::vector<heddle_move> rest;
        for (int i = 0; i < n; ++i)
            if (!arrived[static_cast<size_t>(i)])
                rest.push_back(unpack(i));
        arrived.assign(arrived.size(), false);
        return rest;
    }
    int unpack_arrived(int i)
    {
        const std::lock_guard lock(mutex);
        if (arrived[static_cast<size_t>(i)])
            return MPI_SUCCESS;
        arrived[static_cast<size_t>(i)] = true;
        return transfer({unpack(i)});
    }
};

// By the program's handle.
struct Table {
    std::mutex mutex;
    std::unordered_map<HandleKey, std::weak_ptr<Partitions>> all;

    std::shared_ptr<Partitions> find(MPI_Request handle)
    {
        const std::lock_guard lock(mutex);
        const auto found = all.find(key_of(handle));
        return found == all.end() ? nullptr : found->second.lock();
    }
};

template <auto down, bool sends, class Buffer>
int make_partitioned(Buffer *buffer, int parts, MPI_Count n, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    std::optional<Data> data =
        peer == MPI_PROC_NULL ? std::nullopt : device_data(buffer, parts * n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, parts, n, type, peer, tag, comm, info, request);
    }
    const auto all = std::make_shared<Partitions>(*std::move(data), parts);
    if (all->staging.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    const int error =
        down(all->staging.at(), parts, n, all->data.shape->dense(), peer, tag, comm, info, request);
    if (error != MPI_SUCCESS)
        return error;
    Steps steps;
    steps.comm = comm;
    if (!sends)
        steps.unpack = [all = all.get()](const MPI_Status &, std::vector<heddle_move> &moves) {
            moves = all->take_rest();
            return MPI_SUCCESS;
        };
    steps.has_status = !sends;
    steps.keep = all;
    keep_persistent(*request, std::move(steps));
    Table &table = immortal<Table>();
    const std::lock_guard lock(table.mutex);
    table.all[key_of(*request)] = all;
    return MPI_SUCCESS;
}

// Of a handle of ours: packed first.
int make_ready(int first, int last, MPI_Request request)
{
    flush(); // which starts it, if it waits behind others
    const std::shared_ptr<Partitions> all =
        is_persistent(request) ? immortal<Table>().find(request) : nullptr;
    if (!all)
        return PMPI_Pready_range(first, last, request);
    std::vector<heddle_move> moves;
    for (int i = first; i <= last && i >= 0 && i < all->n; ++i)
        moves.push_back(all->pack(i));
    const int error = transfer(moves);
    return error == MPI_SUCCESS ? PMPI_Pready_range(first, last, request)
                                : raise(MPI_COMM_WORLD, error);
}

int has_arrived(MPI_Request request, int partition, int *flag)
{
    progress();
    const std::shared_ptr<Partitions> all =
        is_persistent(request) ? immortal<Table>().find(request) : nullptr;
    const OperationPtr operation = all ? operation_of(active_request(request)) : nullptr;
    if (!operation)
        return PMPI_Parrived(request, partition, flag);
    int error = MPI_SUCCESS;
    const bool asked = while_running(*operation, [&] {
        error = PMPI_Parrived(request, partition, flag);
        if (error == MPI_SUCCESS && *flag)
            error = all->unpack_arrived(partition);
    });
    if (!asked)
        *flag = operation->is_done();
    return error;
}

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

// MPI 4.1 has made it const.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION > 0)
using PartitionNumbers = const int *;
#else
using PartitionNumbers = int *;
#endif

#pragma GCC visibility push(default)
extern "C" {

int MPI_Psend_init(const void *buffer, int parts, MPI_Count n, MPI_Datatype type, int to, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return make_partitioned<PMPI_Psend_init, true>(buffer, parts, n, type, to, tag, comm, info,
                                                   request);
}

int MPI_Precv_init(void *buffer, int parts, MPI_Count n, MPI_Datatype type, int from, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return make_partitioned<PMPI_Precv_init, false>(buffer, parts, n, type, from, tag, comm, info,
                                                    request);
}

int MPI_Pready(int partition, MPI_Request request)
{
    return make_ready(partition, partition, request);
}

int MPI_Pready_range(int first, int last, MPI_Request request)
{
    return make_ready(first, last, request);
}

int MPI_Pready_list(int n, PartitionNumbers partitions, MPI_Request request)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < n && error == MPI_SUCCESS; ++i)
        error = make_ready(partitions[i], partitions[i], request);
    return error;
}

int MPI_Parrived(MPI_Request request, int partition, int *flag)
{
    return has_arrived(request, partition, flag);
}
}
#pragma GCC visibility pop

#endif
