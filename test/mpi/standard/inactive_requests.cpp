/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits and tests of requests that are inactive end at once, with an empty status (MPI 4.0, 3.7.3);
 * what is received from MPI_PROC_NULL has its status (3.10).
 */
#include "standard_test.hpp"

#include <functional>

using namespace standard_test;

namespace {

MPI_Status junk()
{
    MPI_Status status;
    std::memset(&status, 0x5a, sizeof status);
    return status;
}

void check_nothing(const MPI_Status &status, int source, const std::string &what)
{
    int count = -1, elements = -1, cancelled = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Get_elements(&status, MPI_INT, &elements);
    MPI_Test_cancelled(&status, &cancelled);
    check_equal(status.MPI_SOURCE, source, what + ", source");
    check_equal(status.MPI_TAG, MPI_ANY_TAG, what + ", tag");
    check_equal(count, 0, what + ", count");
    check_equal(elements, 0, what + ", elements");
    check_equal(cancelled, 0, what + ", cancelled");
}

void check_empty(const MPI_Status &status, const std::string &what)
{
    check_nothing(status, MPI_ANY_SOURCE, what);
    check_equal(status.MPI_ERROR, MPI_SUCCESS, what + ", error");
}

void check_proc_null(const MPI_Status &status, const std::string &what)
{
    check_nothing(status, MPI_PROC_NULL, what);
}

/* Every call that completes requests, of one that is inactive. */
void check_inactive(MPI_Request request, const std::string &what)
{
    int flag = -1, index = -1, count = -1, indices[2];
    MPI_Status status = junk();
    check_success(MPI_Wait(&request, &status), what + ", Wait");
    check_empty(status, what + ", Wait");
    status = junk();
    check_success(MPI_Test(&request, &flag, &status), what + ", Test");
    check_equal(flag, 1, what + ", Test");
    check_empty(status, what + ", Test");
    status = junk(), flag = -1;
    check_success(MPI_Request_get_status(request, &flag, &status), what + ", Request_get_status");
    check_equal(flag, 1, what + ", Request_get_status");
    check_empty(status, what + ", Request_get_status");

    MPI_Request list[] = {request, MPI_REQUEST_NULL};
    MPI_Status statuses[] = {junk(), junk()};
    check_success(MPI_Waitall(2, list, statuses), what + ", Waitall");
    check_empty(statuses[0], what + ", Waitall");
    statuses[0] = junk(), flag = -1;
    check_success(MPI_Testall(2, list, &flag, statuses), what + ", Testall");
    check_equal(flag, 1, what + ", Testall");
    check_empty(statuses[0], what + ", Testall");
    status = junk();
    check_success(MPI_Waitany(2, list, &index, &status), what + ", Waitany");
    check_equal(index, MPI_UNDEFINED, what + ", Waitany");
    check_empty(status, what + ", Waitany");
    status = junk(), flag = -1;
    check_success(MPI_Testany(2, list, &index, &flag, &status), what + ", Testany");
    check_equal(flag, 1, what + ", Testany");
    check_equal(index, MPI_UNDEFINED, what + ", Testany, index");
    check_empty(status, what + ", Testany");
    check_success(MPI_Waitsome(2, list, &count, indices, statuses), what + ", Waitsome");
    check_equal(count, MPI_UNDEFINED, what + ", Waitsome");
    check_success(MPI_Testsome(2, list, &count, indices, statuses), what + ", Testsome");
    check_equal(count, MPI_UNDEFINED, what + ", Testsome");
    check(list[0] == request, what + ": the request is still there");
}

/* Inactive before its start, and after its end. */
void check_persistent(const char *what, const std::function<int(MPI_Request *)> &make)
{
    MPI_Request request;
    if (!check_success(make(&request), what))
        return;
    check_inactive(request, std::string(what) + ", not started");
    for (int n = 0; n < 2; n++) {
        check_success(MPI_Start(&request), what);
        MPI_Status status = junk();
        check_success(MPI_Wait(&request, &status), what);
        check_inactive(request, std::string(what) + ", over");
    }
    MPI_Request_free(&request);
}

void from_proc_null()
{
    int ints[4];
    MPI_Request request;
    MPI_Datatype gaps;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (const MPI_Datatype type : {MPI_INT, gaps}) {
        MPI_Status status = junk();
        check_success(MPI_Recv(ints, 1, type, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &status), "Recv");
        check_proc_null(status, "Recv");
        for (int by = 0; by < 3; by++) {
            int flag = 1;
            status = junk();
            check_success(MPI_Irecv(ints, 1, type, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &request),
                          "Irecv");
            if (by == 0)
                MPI_Wait(&request, &status);
            else if (by == 1)
                MPI_Test(&request, &flag, &status);
            else
                MPI_Request_get_status(request, &flag, &status);
            check_equal(flag, 1, "Irecv is over");
            check_proc_null(status, "Irecv, " + std::to_string(by));
            if (request != MPI_REQUEST_NULL)
                MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        check_success(MPI_Recv_init(ints, 1, type, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &request),
                      "Recv_init");
        for (int n = 0; n < 2; n++) {
            check_inactive(request, "Recv_init from MPI_PROC_NULL");
            check_success(n == 0 ? MPI_Start(&request) : MPI_Startall(1, &request), "start");
            status = junk();
            check_success(MPI_Wait(&request, &status), "Recv_init, Wait");
            check_proc_null(status, "Recv_init");
        }
        MPI_Request_free(&request);
    }
    MPI_Type_free(&gaps);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        int from[16] = {}, to[64];
        const MPI_Comm w = MPI_COMM_WORLD, s = MPI_COMM_SELF;
        const MPI_Info none = MPI_INFO_NULL;
        check_inactive(MPI_REQUEST_NULL, "null request");
        int arrived = 0;
        check_success(MPI_Parrived(MPI_REQUEST_NULL, 0, &arrived), "MPI_Parrived, null request");
        check(arrived, "of a null request nothing arrived");
        check_persistent("Send_init to MPI_PROC_NULL", [&](MPI_Request *r) {
            return MPI_Send_init(from, 1, MPI_INT, MPI_PROC_NULL, 1, w, r);
        });
        check_persistent("Bcast_init", [&](MPI_Request *r) {
            return MPI_Bcast_init(from, 1, MPI_INT, 0, w, none, r);
        });
        check_persistent("Barrier_init",
                         [&](MPI_Request *r) { return MPI_Barrier_init(w, none, r); });
        check_persistent("Allreduce_init", [&](MPI_Request *r) {
            return MPI_Allreduce_init(from, to, 1, MPI_INT, MPI_SUM, w, none, r);
        });
        check_persistent("Allreduce_init, one rank", [&](MPI_Request *r) {
            return MPI_Allreduce_init(from, to, 1, MPI_INT, MPI_SUM, s, none, r);
        });
        check_persistent("Allgather_init of nothing", [&](MPI_Request *r) {
            return MPI_Allgather_init(from, 0, MPI_INT, to, 0, MPI_INT, w, none, r);
        });
        check_persistent("Gather_init", [&](MPI_Request *r) {
            return MPI_Gather_init(from, 1, MPI_INT, to, 1, MPI_INT, 0, w, none, r);
        });
        check_persistent("Scan_init", [&](MPI_Request *r) {
            return MPI_Scan_init(from, to, 1, MPI_INT, MPI_SUM, w, none, r);
        });
        from_proc_null();
    });
}
