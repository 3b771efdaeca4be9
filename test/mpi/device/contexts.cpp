/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of one sender that differ in nothing but whom they go to: the contexts of
 * intercommunicators are their receivers' own, so two receivers may have the same one.
 */
#include "device_test.hpp"

#include <memory>

using namespace device_test;

/* Rank 0 sends to rank 2 over several communicators, of which one has the context in which rank 1
 * receives from it. What rank 1 truncates is its own message, and no other. */
static void truncated_elsewhere()
{
    constexpr int several = 8, n = 200000;
    const Layout layout = strided(n);
    std::vector<MPI_Comm> comms(several, MPI_COMM_NULL);
    for (MPI_Comm &comm : comms) /* rank 2 is the first of each */
        MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : 0, size - rank, &comm);
    MPI_Comm inter = MPI_COMM_NULL;
    if (rank < 2) {
        MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other(), 5, &inter);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    }
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < several; ++i) {
        buffers.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
        if (rank == 0) {
            buffers.back()->fill(i);
            requests.emplace_back();
            MPI_Isend(buffers.back()->at(), 1, layout.type, 0, 7, comms[static_cast<size_t>(i)],
                      &requests.back());
        }
    }
    if (rank == 0) {
        Buffer cut(gpu::Kind::device, layout);
        cut.fill(99);
        MPI_Request request;
        MPI_Isend(cut.at(), 1, layout.type, 0, 7, inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        int over = 0;
        for (MPI_Request &each : requests) {
            int flag;
            MPI_Request_get_status(each, &flag, MPI_STATUS_IGNORE);
            over += flag;
        }
        check(over == 0, std::to_string(over) + " messages were sent that nobody has received");
    } else if (rank == 1) {
        double little = 0;
        MPI_Status status;
        int kind;
        MPI_Error_class(MPI_Recv(&little, 1, MPI_DOUBLE, 0, 7, inter, &status), &kind);
        check(kind == MPI_ERR_TRUNCATE,
              "a receive that is too short is told " + std::to_string(kind));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        for (int i = 0; i < several; ++i) {
            Buffer &buffer = *buffers[static_cast<size_t>(i)];
            MPI_Recv(buffer.at(), 1, layout.type, 1, 7, comms[static_cast<size_t>(i)],
                     MPI_STATUS_IGNORE);
            buffer.expect(i, 0, n);
            buffer.verify("what another receiver has not truncated");
        }
    wait_all(requests);
    if (inter != MPI_COMM_NULL)
        MPI_Comm_free(&inter);
    for (MPI_Comm &comm : comms)
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
}

int main(int argc, char **argv) { return run(argc, argv, truncated_elsewhere); }
