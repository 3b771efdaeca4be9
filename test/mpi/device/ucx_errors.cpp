/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What UCX fails to send, at once or later: an error of the call or of its request, never a hang,
 * never wrong data; and what is sent afterwards comes. This program stands between libmpi and UCX:
 * its functions of UCX's names are found first.
 */
#include "device_test.hpp"

#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <memory>
#include <ucp/api/ucp.h>
#include <utility>

using namespace device_test;

namespace {

enum class Fault { none, at_once, later };
Fault fault = Fault::none;
int sends_before = 0; /* that go before it */
bool met = false;

bool fails_now() { return fault != Fault::none && sends_before-- == 0; }

struct Told {
    ucp_send_nbx_callback_t callback;
    void *user_data;
    void *request;
};
std::deque<Told> to_tell;

/* UCX has sent it. It is said that it has not, when there is progress: UCX calls nothing back
 * within a call that sends. */
void tell_later(void *request, ucs_status_t, void *user_data)
{
    const std::unique_ptr<Told> told(static_cast<Told *>(user_data));
    to_tell.push_back({told->callback, told->user_data, request});
}

template <class Send> ucs_status_ptr_t send_or_fail(const ucp_request_param_t *param, Send send)
{
    if (!fails_now())
        return send(param);
    const Fault now = std::exchange(fault, Fault::none);
    met = true;
    if (now == Fault::at_once)
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    auto told = std::make_unique<Told>(Told{
        param->cb.send,
        param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA ? param->user_data : nullptr, nullptr});
    ucp_request_param_t changed = *param;
    changed.op_attr_mask |=
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    changed.cb.send = tell_later;
    changed.user_data = told.release();
    return send(&changed);
}

} // namespace

extern "C" ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                             ucp_tag_t tag, const ucp_request_param_t *param)
{
    static const auto real =
        reinterpret_cast<decltype(&ucp_tag_send_nbx)>(dlsym(RTLD_NEXT, "ucp_tag_send_nbx"));
    return send_or_fail(
        param, [&](const ucp_request_param_t *p) { return real(ep, buffer, count, tag, p); });
}

extern "C" ucs_status_ptr_t ucp_tag_send_sync_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                                  ucp_tag_t tag, const ucp_request_param_t *param)
{
    static const auto real = reinterpret_cast<decltype(&ucp_tag_send_sync_nbx)>(
        dlsym(RTLD_NEXT, "ucp_tag_send_sync_nbx"));
    return send_or_fail(
        param, [&](const ucp_request_param_t *p) { return real(ep, buffer, count, tag, p); });
}

extern "C" unsigned ucp_worker_progress(ucp_worker_h worker)
{
    static const auto real =
        reinterpret_cast<decltype(&ucp_worker_progress)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
    while (!to_tell.empty()) {
        const Told told = to_tell.front();
        to_tell.pop_front();
        told.callback(told.request, UCS_ERR_IO_ERROR, told.user_data);
    }
    return real(worker);
}

constexpr int shortest = 50; /* doubles: goes whole */

/* Rank 0's `send` fails; then, as ever, one more. */
template <class Send>
static void failing(const char *name, Fault how, const Layout &layout, Send send)
{
    const int n = static_cast<int>(layout.elements());
    const std::string what = std::string(name) + " of " + std::to_string(n) + " doubles, " +
                             layout.name + ", fails " + (how == Fault::later ? "later" : "at once");
    Buffer buffer(gpu::Kind::device, layout), next(gpu::Kind::device, layout);
    buffer.fill(rank);
    next.fill(5 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        sends_before = 0;
        met = false;
        fault = how;
        const bool whole = n == shortest && layout.name == "indexed" &&
                           !std::getenv("MPIR_CVAR_CH4_UCX_GPU_ONESHOT");
        const bool fails = send(buffer) != MPI_SUCCESS;
        check(fails || (how == Fault::later && !whole), what + ": no error"); /* an envelope may be
                                                                                 answered first */
        check(met, what + ": no such send");
        fault = Fault::none;
        check(MPI_Send(next.at(), 1, next.type(), 1, 2, MPI_COMM_WORLD) == MPI_SUCCESS,
              what + ": the next one fails");
        return;
    }
    if (how == Fault::later && MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, MPI_COMM_WORLD,
                                        MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        buffer.expect(0, 0, n);
        buffer.verify(what);
    }
    check(MPI_Recv(next.at(), 1, next.type(), 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS,
          what + ": the next receive fails");
    next.expect(5, 0, n);
    next.verify(what + ", the next one");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        for (const Fault how : {Fault::at_once, Fault::later})
            for (const int n : {shortest, 3000, 200000})
                for (const MakeLayout make : {indexed, contiguous}) {
                    const Layout layout = make(n);
                    failing("MPI_Send", how, layout, [](const Buffer &b) {
                        return MPI_Send(b.at(), 1, b.type(), 1, 1, MPI_COMM_WORLD);
                    });
                    failing("MPI_Ssend", how, layout, [](const Buffer &b) {
                        return MPI_Ssend(b.at(), 1, b.type(), 1, 1, MPI_COMM_WORLD);
                    });
                    failing("MPI_Isend", how, layout, [](const Buffer &b) {
                        MPI_Request request;
                        const int error =
                            MPI_Isend(b.at(), 1, b.type(), 1, 1, MPI_COMM_WORLD, &request);
                        return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
                    });
                }
    });
}
