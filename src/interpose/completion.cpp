// SPDX-License-Identifier: BSD-3-Clause
// MPI_Wait, MPI_Test and their kind. Statuses, inactive requests and the rest stay the MPI's: it is
// given the outer requests of our operations among the program's others.
#include "interpose/newer_calls.hpp"
#include "interpose/operation.hpp"
#include "interpose/persistent.hpp"
#include "interpose/public_copy.hpp"
#include "interpose/watched.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace heddle::interpose;

namespace {

// The requests of one call, as MPI is to see them.
class Requests {
public:
    Requests(int n, const MPI_Request *requests)
        : program_(requests),
          down_(requests, requests + n),
          handed_(down_),
          operations_(down_.size())
    {
        for (size_t i = 0; i < down_.size(); ++i)
            look_at(i);
    }

    MPI_Request *down() { return down_.data(); }

    // Returns when all of ours are done. Blocking calls may be made then.
    void finish_ours()
    {
        // Another process may wait for what is being packed, and send only then.
        if (std::any_of(down_.begin(), down_.end(), is_pending))
            flush();
        for (Patience patience; look_at_pending(); patience.wait())
            progress();
        for (const OperationPtr &each : operations_)
            if (each)
                finish(*each);
        flush();
    }

    // The program's handles become what MPI has made of them. A poll that completed nothing, again
    // and again, compares no windows.
    void give_back(MPI_Request *program, bool any_is_complete = true)
    {
        for (size_t i = 0; i < down_.size(); ++i) {
            const bool is_stood_for = key_of(handed_[i]) != key_of(program[i]);
            if (!is_stood_for)
                program[i] = down_[i];
            else if (!is_complete(i))
                continue;
            else if (is_persistent(program[i]))
                end_activity(program[i]);
            else
                end_watch(&program[i]);
        }
        if (any_is_complete)
            collect_all();
    }

    // MPI, which keeps them, has said with `result` that these are complete. Here they count as if
    // it had completed them. It is asked again and again, too.
    void see_complete(int result, const std::vector<size_t> &which)
    {
        for (const size_t i : which)
            down_[i] = MPI_REQUEST_NULL;
        if (result != MPI_SUCCESS || !which.empty())
            collect_all();
    }

    // The error of request `i`, if it is ours and complete.
    int error(size_t i) const
    {
        return operations_[i] && is_complete(i) ? operations_[i]->error() : MPI_SUCCESS;
    }

    // The result of a call that returned `result` and completed the requests `which`. The errors of
    // ours go into their statuses, which stand in the order of `which`.
    int join(int result, const std::vector<size_t> &which, MPI_Status *statuses) const
    {
        bool failed = false;
        for (const size_t i : which)
            failed |= error(i) != MPI_SUCCESS;
        if (!failed)
            return result;
        for (size_t k = 0; k < which.size() && statuses != MPI_STATUSES_IGNORE; ++k) {
            if (const int own = error(which[k]); own != MPI_SUCCESS)
                statuses[k].MPI_ERROR = own;
            else if (result == MPI_SUCCESS) // MPI has not written it then
                statuses[k].MPI_ERROR = MPI_SUCCESS;
        }
        return MPI_ERR_IN_STATUS;
    }
    int join_all(int result, MPI_Status *statuses) const { return join(result, all(), statuses); }

    std::vector<size_t> all() const
    {
        std::vector<size_t> all(down_.size());
        std::iota(all.begin(), all.end(), size_t{0});
        return all;
    }

private:
    // What stands for it now.
    void look_at(size_t i)
    {
        down_[i] = handed_[i] = settled(active_request(program_[i]));
        operations_[i] = operation_of(down_[i]);
    }
    // Whether any are still pending.
    bool look_at_pending()
    {
        bool any = false;
        for (size_t i = 0; i < down_.size(); ++i) {
            if (is_pending(down_[i]))
                look_at(i);
            any |= is_pending(down_[i]);
        }
        return any;
    }
    bool is_complete(size_t i) const
    {
        return handed_[i] != MPI_REQUEST_NULL && down_[i] == MPI_REQUEST_NULL;
    }

    const MPI_Request *const program_;
    std::vector<MPI_Request> down_, handed_;
    std::vector<OperationPtr> operations_;
};

// Nothing of ours is under way.
bool mpi_is_alone() { return is_quiet() || (!has_operations() && !any_may_be_locked()); }

// Whether the MPI alone has anything to do.
bool passes_down(int n, const MPI_Request *all)
{
    if (!mpi_is_alone())
        return false;
    for (int i = 0; has_met_peers() && i < n; ++i)
        if (settled(all[i]) != all[i])
            return false;
    return true;
}

int either(int result, int own) { return result == MPI_SUCCESS ? own : result; }

std::vector<size_t> indices_of(int n, const int *indices) { return {indices, indices + n}; }

int start_all(int n, MPI_Request *all)
{
    int result = MPI_SUCCESS;
    publish_all();
    for (int i = 0; i < n && result == MPI_SUCCESS; ++i) {
        flush_packed(); // what begins behind it does not overtake it
        result = is_persistent(all[i]) ? start_persistent(all[i]) : PMPI_Start(&all[i]);
    }
    return result;
}

} // namespace

extern "C" {

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    const bool is_alone = mpi_is_alone();
    if (is_alone && !has_met_peers())
        return PMPI_Wait(request, status);
    if (const auto result = is_alone ? wait_in_mpi(request, status) : std::nullopt)
        return *result;
    Requests requests(1, request);
    requests.finish_ours();
    const int result = PMPI_Wait(requests.down(), status);
    requests.give_back(request);
    return either(result, requests.error(0));
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const bool is_alone = mpi_is_alone();
    if (!is_alone)
        progress();
    const MPI_Request down = settled(*request);
    if (is_pending(down)) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    if (is_alone && down == *request)
        return PMPI_Test(request, flag, status);
    Requests requests(1, request);
    const int result = PMPI_Test(requests.down(), flag, status);
    requests.give_back(request, result != MPI_SUCCESS || *flag);
    return either(result, requests.error(0));
}

int MPI_Waitall(int n, MPI_Request *all, MPI_Status *statuses)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Waitall(n, all, statuses);
    Requests requests(n, all);
    requests.finish_ours();
    const int result = PMPI_Waitall(n, requests.down(), statuses);
    requests.give_back(all);
    return requests.join_all(result, statuses);
}

int MPI_Testall(int n, MPI_Request *all, int *flag, MPI_Status *statuses)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Testall(n, all, flag, statuses);
    progress();
    Requests requests(n, all);
    const int result = PMPI_Testall(n, requests.down(), flag, statuses);
    requests.give_back(all, result != MPI_SUCCESS || *flag);
    return requests.join_all(result, statuses);
}

int MPI_Testany(int n, MPI_Request *all, int *index, int *flag, MPI_Status *status)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Testany(n, all, index, flag, status);
    progress();
    Requests requests(n, all);
    const int result = PMPI_Testany(n, requests.down(), index, flag, status);
    requests.give_back(all, result != MPI_SUCCESS || *flag);
    const bool is_one = *flag && *index != MPI_UNDEFINED;
    return is_one ? either(result, requests.error(static_cast<size_t>(*index))) : result;
}

int MPI_Waitany(int n, MPI_Request *all, int *index, MPI_Status *status)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Waitany(n, all, index, status);
    flush();
    int flag = 0, result = MPI_SUCCESS;
    for (Patience patience; !flag && result == MPI_SUCCESS; patience.wait())
        result = MPI_Testany(n, all, index, &flag, status);
    return result;
}

int MPI_Testsome(int n, MPI_Request *all, int *found, int *indices, MPI_Status *statuses)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Testsome(n, all, found, indices, statuses);
    progress();
    Requests requests(n, all);
    const int result = PMPI_Testsome(n, requests.down(), found, indices, statuses);
    requests.give_back(all, result != MPI_SUCCESS || *found != 0);
    if (*found == MPI_UNDEFINED)
        return result;
    return requests.join(result, indices_of(*found, indices), statuses);
}

int MPI_Waitsome(int n, MPI_Request *all, int *found, int *indices, MPI_Status *statuses)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Waitsome(n, all, found, indices, statuses);
    flush();
    int result = MPI_SUCCESS;
    *found = 0;
    for (Patience patience; *found == 0 && result == MPI_SUCCESS; patience.wait())
        result = MPI_Testsome(n, all, found, indices, statuses);
    return result;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    if (passes_down(1, &request))
        return PMPI_Request_get_status(request, flag, status);
    progress();
    Requests requests(1, &request);
    const int result = PMPI_Request_get_status(*requests.down(), flag, status);
    requests.see_complete(result, *flag ? requests.all() : std::vector<size_t>());
    return either(result, requests.error(0));
}

int MPI_Request_get_status_all(int n, const MPI_Request *all, int *flag, MPI_Status *statuses)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Request_get_status_all(n, all, flag, statuses);
    progress();
    Requests requests(n, all);
    const int result = PMPI_Request_get_status_all(n, requests.down(), flag, statuses);
    requests.see_complete(result, *flag ? requests.all() : std::vector<size_t>());
    return requests.join_all(result, statuses);
}

int MPI_Request_get_status_any(int n, const MPI_Request *all, int *index, int *flag,
                               MPI_Status *status)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Request_get_status_any(n, all, index, flag, status);
    progress();
    Requests requests(n, all);
    const int result = PMPI_Request_get_status_any(n, requests.down(), index, flag, status);
    const bool is_one = *flag && *index != MPI_UNDEFINED;
    requests.see_complete(result, is_one ? indices_of(1, index) : std::vector<size_t>());
    return is_one ? either(result, requests.error(static_cast<size_t>(*index))) : result;
}

int MPI_Request_get_status_some(int n, const MPI_Request *all, int *found, int *indices,
                                MPI_Status *statuses)
{
    if (passes_down(n, all) || n <= 0)
        return PMPI_Request_get_status_some(n, all, found, indices, statuses);
    progress();
    Requests requests(n, all);
    const int result = PMPI_Request_get_status_some(n, requests.down(), found, indices, statuses);
    if (*found == MPI_UNDEFINED)
        return result;
    const std::vector<size_t> complete = indices_of(*found, indices);
    requests.see_complete(result, complete);
    return requests.join(result, complete, statuses);
}

int MPI_Cancel(MPI_Request *request)
{
    MPI_Request active = active_request(*request);
    const int result = PMPI_Cancel(&active);
    progress(); // which cancels the inner request
    return result;
}

int MPI_Request_free(MPI_Request *request)
{
    if (!is_persistent(*request))
        return free_request(request);
    const int result = free_persistent(*request);
    *request = MPI_REQUEST_NULL;
    return result;
}

int MPI_Start(MPI_Request *request) { return start_all(1, request); }
int MPI_Startall(int n, MPI_Request *all) { return start_all(n, all); }
}
