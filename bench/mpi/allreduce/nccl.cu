// SPDX-License-Identifier: BSD-3-Clause
#include "nccl.cuh"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace bench {
namespace {

// As nccl.h has them: 128 bytes that name a communicator; a double's number, and the sum's.
struct Id {
    char bytes[128];
};
constexpr int of_doubles = 8, by_sum = 0;

} // namespace

struct Nccl::Library {
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int (*get_id)(Id *) = find<int(Id *)>("ncclGetUniqueId");
    int (*init)(void **, int, Id, int) = find<int(void **, int, Id, int)>("ncclCommInitRank");
    int (*destroy)(void *) = find<int(void *)>("ncclCommDestroy");
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, cudaStream_t) =
        find<int(const void *, void *, size_t, int, int, void *, cudaStream_t)>("ncclAllReduce");

    template <class Function> Function *find(const char *name)
    {
        return handle ? reinterpret_cast<Function *>(dlsym(handle, name)) : nullptr;
    }
    bool whole() const { return get_id && init && destroy && all_reduce; }
};

namespace {

void nccl(int result, const char *call)
{
    if (result != 0)
        throw std::runtime_error(std::string(call) + " failed: " + std::to_string(result));
}

} // namespace

std::unique_ptr<Nccl> Nccl::open()
{
    auto library = std::make_unique<Library>();
    int all = library->whole();
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all ? std::unique_ptr<Nccl>(new Nccl(std::move(library))) : nullptr;
}

Nccl::Nccl(std::unique_ptr<Library> library) : library_(std::move(library))
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Id id{};
    if (rank == 0)
        nccl(library_->get_id(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    nccl(library_->init(&comm_, ranks, id, rank), "ncclCommInitRank");
}

Nccl::~Nccl() { library_->destroy(comm_); }

void Nccl::sum(const double *from, double *to, int64_t n)
{
    nccl(library_->all_reduce(from, to, static_cast<size_t>(n), of_doubles, by_sum, comm_, stream_),
         "ncclAllReduce");
    stream_.wait();
}

} // namespace bench
