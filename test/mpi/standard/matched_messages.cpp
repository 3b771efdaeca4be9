// SPDX-License-Identifier: BSD-3-Clause
// A probe matched messages that are too long for their receive. The communicator's error handler is
// told, in MPI_Mrecv and in the wait for MPI_Imrecv. The message is used up.
// memory: host device managed
#include "standard_test.hpp"

using namespace standard_test;

namespace {

MPI_Comm called = MPI_COMM_NULL; // whose handler was

void remember(MPI_Comm *comm, int *, ...) { called = *comm; }

enum class Call { mrecv, mrecv_large, imrecv, imrecv_large };

/* 16 ints come to where `count` fit. */
void test(MPI_Comm comm, Call call, int count, const std::string &what)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    const Memory sent(64, 1), received(64);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    check_success(MPI_Isend(sent.at(), 16, MPI_INT, to, 5, comm, &request), what + ": sent");
    check_success(MPI_Mprobe(from, 5, comm, &message, &status), what + ": probed");
    called = MPI_COMM_NULL;
    int error = MPI_SUCCESS;
    if (call == Call::mrecv)
        error = MPI_Mrecv(received.at(), count, MPI_INT, &message, &status);
    else if (call == Call::mrecv_large)
        error = MPI_Mrecv_c(received.at(), count, MPI_INT, &message, &status);
    else {
        MPI_Request receive = MPI_REQUEST_NULL;
        error = call == Call::imrecv
                    ? MPI_Imrecv(received.at(), count, MPI_INT, &message, &receive)
                    : MPI_Imrecv_c(received.at(), count, MPI_INT, &message, &receive);
        check_success(error, what);
        error = MPI_Wait(&receive, &status);
        check(receive == MPI_REQUEST_NULL, what + ": the request is left");
    }
    check_class(error, count < 16 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, what);
    check_equal(called, count < 16 ? comm : MPI_COMM_NULL,
                what + " of " + std::to_string(count) + ": the handler called");
    check(message == MPI_MESSAGE_NULL, what + ": the message is left");
    check_success(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ": sent");
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Errhandler handler;
        MPI_Comm other;
        MPI_Comm_create_errhandler(remember, &handler);
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Comm_set_errhandler(other, handler);
        for (const MPI_Comm comm : {MPI_COMM_WORLD, other})
            for (const int count : {16, 5, 0}) {
                test(comm, Call::mrecv, count, "MPI_Mrecv");
                test(comm, Call::mrecv_large, count, "MPI_Mrecv_c");
                test(comm, Call::imrecv, count, "MPI_Imrecv");
                test(comm, Call::imrecv_large, count, "MPI_Imrecv_c");
            }
        MPI_Comm_free(&other);
        MPI_Errhandler_free(&handler);
    });
}
