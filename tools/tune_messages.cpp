// SPDX-License-Identifier: BSD-3-Clause
#include "tune_messages.hpp"

#include "libraries.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <type_traits>

namespace heddle::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Handles of MPICH's ABI, which the MPI beside libheddle has.
constexpr int world = 0x44000000, bytes_type = 0x4c00010d, no_info = 0x1c000000, shared_type = 1;
struct Status {
    int words[5];
};
Status *const ignored_status = reinterpret_cast<Status *>(1);

constexpr int tag = 0;
// Short messages are timed several at a time: they take as long as some looks at the clock.
constexpr double short_seconds = 1e-4;
constexpr int turns_of_short = 16;

// PMI tells how many ranks there are, PMIx does not.
bool is_in_job()
{
    const char *const ranks = std::getenv("PMI_SIZE");
    return ranks ? std::atoi(ranks) > 1 : std::getenv("PMI_RANK") || std::getenv("PMIX_RANK");
}

} // namespace

// Errors need no look: the error handler that MPI begins with ends the job.
struct Job::Mpi {
    int (*init)(int *, char ***);
    int (*finalize)();
    int (*abort)(int, int);
    int (*rank)(int, int *);
    int (*ranks)(int, int *);
    int (*split_type)(int, int, int, int, int *);
    int (*free)(int *);
    int (*broadcast)(void *, int, int, int, int);
    int (*gather)(const void *, int, int, void *, int, int, int, int);
    int (*send)(const void *, int, int, int, int, int);
    int (*receive)(void *, int, int, int, int, int, Status *);
    int (*count)(const Status *, int, int *);

    // False where it has not all of them.
    bool find(void *library)
    {
        const auto found = [&](auto &its, const char *name) {
            its = function<std::remove_pointer_t<std::remove_reference_t<decltype(its)>>>(library,
                                                                                          name);
            return its != nullptr;
        };
        return found(init, "MPI_Init") && found(finalize, "MPI_Finalize") &&
               found(abort, "MPI_Abort") && found(rank, "MPI_Comm_rank") &&
               found(ranks, "MPI_Comm_size") && found(split_type, "MPI_Comm_split_type") &&
               found(free, "MPI_Comm_free") && found(broadcast, "MPI_Bcast") &&
               found(gather, "MPI_Gather") && found(send, "MPI_Send") &&
               found(receive, "MPI_Recv") && found(count, "MPI_Get_count");
    }
};

std::unique_ptr<Job> Job::join(int64_t most_bytes, std::string &reason)
{
    constexpr const char *no_job = "it takes a job of at least two ranks: mpiexec -n 2 heddle-tune";
    if (!is_in_job()) {
        reason = no_job;
        return nullptr;
    }
    const std::string file = mpi_library(own_library());
    void *const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto mpi = std::make_unique<Mpi>();
    if (!library || !mpi->find(library)) {
        reason = library ? file + " is no MPI" : dlerror();
        return nullptr;
    }
    std::unique_ptr<Job> job(new Job(std::move(mpi)));
    if (job->ranks_ < 2) { // another MPI's launcher started it
        job->finalize();
        reason = no_job;
        return nullptr;
    }
    job->buffer_.resize(static_cast<size_t>(message_bytes(false, most_bytes).back()), 1);
    job->find_others();
    return job;
}

Job::Job(std::unique_ptr<Mpi> mpi) : mpi_(std::move(mpi))
{
    mpi_->init(nullptr, nullptr);
    mpi_->rank(world, &rank_);
    mpi_->ranks(world, &ranks_);
}

Job::~Job() = default;

// Each rank tells the first one the least rank of its node.
void Job::find_others()
{
    int node = 0, least = rank_;
    constexpr auto size = static_cast<int>(sizeof least);
    mpi_->split_type(world, shared_type, 0, no_info, &node);
    mpi_->broadcast(&least, size, bytes_type, 0, node);
    mpi_->free(&node);
    std::vector<int> all(static_cast<size_t>(ranks_));
    mpi_->gather(&least, size, bytes_type, all.data(), size, bytes_type, 0, world);
    for (int rank = ranks_ - 1; is_first() && rank > 0; --rank) {
        const Where where = all[static_cast<size_t>(rank)] == 0 ? Where::local : Where::remote;
        others_[static_cast<size_t>(where)] = rank;
    }
}

// Each message goes back. An empty one is the last.
void Job::answer()
{
    for (int bytes = 1; bytes > 0;) {
        Status status;
        mpi_->receive(buffer_.data(), static_cast<int>(buffer_.size()), bytes_type, 0, tag, world,
                      &status);
        mpi_->count(&status, bytes_type, &bytes);
        if (bytes > 0)
            mpi_->send(buffer_.data(), bytes, bytes_type, 0, tag, world);
    }
    finalize();
}

Measurement Job::time(Where where, int64_t bytes, const TrialOptions &trials)
{
    const int other = others_[static_cast<size_t>(where)], size = static_cast<int>(bytes);
    const auto time_turns = [&](int turns) {
        const auto begin = Clock::now();
        for (int i = 0; i < turns; ++i) {
            mpi_->send(buffer_.data(), size, bytes_type, other, tag, world);
            mpi_->receive(buffer_.data(), size, bytes_type, other, tag, world, ignored_status);
        }
        return std::chrono::duration<double>(Clock::now() - begin).count() / (2 * turns);
    };
    const int turns = time_turns(1) < short_seconds ? turns_of_short : 1;
    return measure_trials([&] { return time_turns(turns); }, trials);
}

void Job::end()
{
    for (int rank = 1; rank < ranks_; ++rank)
        mpi_->send(nullptr, 0, bytes_type, rank, tag, world);
    finalize();
}

void Job::abort(int status)
{
    if (!has_ended_)
        mpi_->abort(world, status);
}

void Job::finalize()
{
    mpi_->finalize();
    has_ended_ = true;
}

std::vector<int64_t> message_bytes(bool quick, int64_t most_bytes)
{
    std::vector<int64_t> sizes;
    for (int64_t each = 1; each <= std::min(most_bytes, int64_t{64} << 20); each *= quick ? 16 : 4)
        sizes.push_back(each);
    return sizes;
}

} // namespace heddle::tools
