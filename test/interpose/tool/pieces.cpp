/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory and slots of messages by reference come back whatever becomes of a send; and which
 * sends go by reference at all (spy.cpp counts). Rank 0 sends, under HEDDLE_INTERPOSE_PEER=1.
 */
#include "device_test.hpp"

#include <dlfcn.h>

using namespace device_test;

enum {
    tag = 5,
    kept_tag = 66,
    wrong_tag = -77,
    most_slots = 1024,
    more_than_slots = most_slots + 76
};

static MPI_Comm comm;

static int envelopes()
{
    const int *const count = static_cast<int *>(dlsym(RTLD_DEFAULT, "envelopes"));
    check(count != nullptr, "spy is not loaded");
    return count ? *count : 0;
}

static void receive(Buffer &buffer, int seed, const std::string &what)
{
    buffer.fill(9999);
    MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, MPI_STATUS_IGNORE);
    buffer.expect(seed, 0, buffer.elements());
    buffer.verify(what);
}

/* Whether a message of `what` goes by reference. */
static void one_message(Buffer &buffer, const std::string &what)
{
    MPI_Barrier(comm);
    const int before = envelopes();
    if (rank == 0) {
        buffer.fill(7);
        MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
        check(envelopes() == before + 1, "packed " + what);
    } else {
        receive(buffer, 7, what);
    }
}

static void refused(Buffer &buffer)
{
    MPI_Request request;
    for (int i = 0; i < more_than_slots && rank == 0; ++i) {
        int error = i % 2 ? MPI_Send(buffer.at(), 1, buffer.type(), 1, wrong_tag, comm)
                          : MPI_Isend(buffer.at(), 1, buffer.type(), 1, wrong_tag, comm, &request);
        int error_class = 0;
        if (error == MPI_SUCCESS) /* the MPI gets it when it is packed */
            error = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Error_class(error, &error_class);
        check(error_class == MPI_ERR_TAG, "a wrong tag: class " + std::to_string(error_class));
    }
    one_message(buffer, "behind refused ones");
}

static void cancelled(Buffer &buffer)
{
    for (int i = 0; i < more_than_slots && rank == 0; ++i) {
        MPI_Request request;
        MPI_Status status;
        int flag = 0;
        MPI_Isend(buffer.at(), 1, buffer.type(), 1, kept_tag, comm, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        check(!flag, "a message that the MPI keeps is sent");
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        check(flag, "a send was not cancelled");
    }
    one_message(buffer, "behind cancelled ones");
}

/* Of exchanges that the MPI refuses once their receive has the message. */
static void dropped(Buffer &buffer)
{
    for (int i = 0; i < more_than_slots; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Barrier(comm);
        if (rank == 0) {
            MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
            continue;
        }
        MPI_Probe(0, tag, comm, MPI_STATUS_IGNORE);
        if (i % 2)
            MPI_Sendrecv(&i, 1, MPI_INT, 0, wrong_tag, buffer.at(), 1, buffer.type(), 0, tag, comm,
                         MPI_STATUS_IGNORE);
        else
            MPI_Isendrecv(&i, 1, MPI_INT, 0, wrong_tag, buffer.at(), 1, buffer.type(), 0, tag, comm,
                          &request);
    }
    one_message(buffer, "behind dropped ones");
}

using Init = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Started many times, with other data each time. */
static void persistent(Buffer &buffer, const char *name, Init init, bool by_reference)
{
    const int starts = init == MPI_Bsend_init ? 50 : 2000; /* for which the attached buffer has room
                                                            */
    MPI_Request request = MPI_REQUEST_NULL;
    const int before = envelopes();
    if (rank == 0)
        init(buffer.at(), 1, buffer.type(), 1, tag, comm, &request);
    for (int i = 0; i < starts; ++i) {
        if (rank == 1) {
            if (init == MPI_Rsend_init) { /* a receive is there before the send */
                MPI_Request receives;
                buffer.fill(9999);
                MPI_Irecv(buffer.at(), 1, buffer.type(), 0, tag, comm, &receives);
                MPI_Send(&i, 1, MPI_INT, 0, tag, comm);
                MPI_Wait(&receives, MPI_STATUS_IGNORE);
                buffer.expect(i, 0, buffer.elements());
                buffer.verify(name);
            } else {
                receive(buffer, i, name);
            }
            continue;
        }
        int ready;
        buffer.fill(i);
        if (init == MPI_Rsend_init)
            MPI_Recv(&ready, 1, MPI_INT, 1, tag, comm, MPI_STATUS_IGNORE);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        MPI_Request_free(&request);
        const int sent = envelopes() - before;
        check(by_reference ? sent > starts / 2 : sent == 0, /* packed where no memory is free */
              std::string(name) + ": " + std::to_string(sent) + " envelopes");
    }
    one_message(buffer, std::string("behind ") + name);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const Layout layout = strided(1100);
        Buffer buffer(gpu::Kind::device, layout);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        buffer.fill(rank);
        for (int i = 0; i < 3; ++i) /* the receiver opens the memory */
            if (rank == 0)
                MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
            else
                receive(buffer, 0, "the first");
        one_message(buffer, "at first");
        refused(buffer);
        cancelled(buffer);
        dropped(buffer);
        std::vector<char> room(1 << 20);
        MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
        persistent(buffer, "Send_init", MPI_Send_init, true);
        persistent(buffer, "Ssend_init", MPI_Ssend_init, true);
        persistent(buffer, "Rsend_init", MPI_Rsend_init, true);
        persistent(buffer, "Bsend_init", MPI_Bsend_init, false);
        void *at;
        int bytes;
        MPI_Buffer_detach(static_cast<void *>(&at), &bytes);
        MPI_Comm_free(&comm);
    });
}
