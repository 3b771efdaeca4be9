// SPDX-License-Identifier: BSD-3-Clause
// Times messages between the ranks of the MPI job that heddle-tune was started in. The MPI beside
// libheddle is loaded for that: heddle-tune works where there is none.
#pragma once

#include "trial.hpp"

#include "gpu/model/links.hpp"

#include <memory>
#include <string>
#include <vector>

namespace heddle::tools {

using gpu::model::Where;

// As tables name their list, and options what to measure.
constexpr const char *messages_name = "messages";

// The first rank measures, the others answer. An error of MPI ends all ranks.
class Job {
public:
    // Initializes MPI. Null, with the reason, where this process is not one of several ranks, or
    // there is no MPI. `most_bytes`: of a message.
    static std::unique_ptr<Job> join(int64_t most_bytes, std::string &reason);
    ~Job();
    Job(const Job &) = delete;
    Job &operator=(const Job &) = delete;

    bool is_first() const { return rank_ == 0; }
    // Of the others: until the first one has ended the job.
    void answer();
    // Of the first one: whether there is such a rank beside it.
    bool reaches(Where where) const { return others_[static_cast<size_t>(where)] > 0; }
    // Half of the time that a message takes there and back.
    Measurement time(Where where, int64_t bytes, const TrialOptions &trials);
    // The other ranks go on to their end, and this one without MPI.
    void end();
    // Ends the other ranks and this one, unless the job has ended.
    void abort(int status);

private:
    struct Mpi;
    explicit Job(std::unique_ptr<Mpi> mpi);
    void find_others();
    void finalize();

    std::unique_ptr<Mpi> mpi_;
    int rank_ = 0, ranks_ = 1;
    int others_[static_cast<size_t>(Where::count)] = {}; // 0: there is none
    std::vector<char> buffer_;
    bool has_ended_ = false;
};

std::vector<int64_t> message_bytes(bool quick, int64_t most_bytes);

} // namespace heddle::tools
