/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges of rank 0 whose send fails: the MPI refuses it, or the device does not pack it. What
 * the other end sends must not go to memory of the past, and nobody waits. Also one that has no
 * room for what a probe has found.
 */
#include "send_forms.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

using namespace device_test;

static MPI_Comm comm;
static int heard; /* calls of the communicator's error handler */

static void hear(MPI_Comm *, int *, ...) { ++heard; }

enum { out_tag = 1, in_tag = 2, late_tag = 3, wrong_tag = -77 };

/* What is sent, and what receives. Replacing forms have one buffer. */
struct Ends {
    Buffer &sent, &received;
};

static int sendrecv(const Ends &ends, int tag)
{
    return MPI_Sendrecv(ends.sent.at(), 1, ends.sent.type(), 1, tag, ends.received.at(), 1,
                        ends.received.type(), 1, in_tag, comm, MPI_STATUS_IGNORE);
}
static int sendrecv_replace(const Ends &ends, int tag)
{
    return MPI_Sendrecv_replace(ends.received.at(), 1, ends.received.type(), 1, tag, 1, in_tag,
                                comm, MPI_STATUS_IGNORE);
}
static int isendrecv(const Ends &ends, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = MPI_Isendrecv(ends.sent.at(), 1, ends.sent.type(), 1, tag, ends.received.at(),
                                    1, ends.received.type(), 1, in_tag, comm, &request);
    return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static int isendrecv_replace(const Ends &ends, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = MPI_Isendrecv_replace(ends.received.at(), 1, ends.received.type(), 1, tag, 1,
                                            in_tag, comm, &request);
    return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

struct Form {
    const char *name;
    int (*exchange)(const Ends &, int tag);
    bool replaces;
};
static const Form forms[] = {{"Sendrecv", sendrecv, false},
                             {"Sendrecv_replace", sendrecv_replace, true},
                             {"Isendrecv", isendrecv, false},
                             {"Isendrecv_replace", isendrecv_replace, true}};

/* Replacing forms on host memory are the MPI's own without envelopes. MPICH 4.0.2's are wrong. */
static bool is_ours(const Form &form, gpu::Kind kind)
{
    return !form.replaces || kind == gpu::Kind::device || std::getenv("HEDDLE_INTERPOSE_PEER");
}

static void expect_error(int error, const std::string &what)
{
    check(error != MPI_SUCCESS || heard > 0, what + ": no error"); /* MPICH 4.3 returns none */
}

static void receive(Buffer &buffer, int tag, int seed, const std::string &what)
{
    buffer.fill(9000);
    MPI_Recv(buffer.at(), 1, buffer.type(), 1, tag, comm, MPI_STATUS_IGNORE);
    buffer.expect(seed, 0, buffer.elements());
    buffer.verify(what);
}
static void send(Buffer &buffer, int tag, int seed)
{
    buffer.fill(seed);
    MPI_Send(buffer.at(), 1, buffer.type(), 0, tag, comm);
}

/* The MPI refuses the send before anything has come. Later messages are the next receives'. */
static void refused(const Form &form, const Layout &layout, gpu::Kind sender, gpu::Kind kind)
{
    const std::string what = std::string("behind a refused ") + form.name + " of " +
                             gpu::to_text({sender}) + " into " + gpu::to_text({kind});
    Buffer sent(sender, layout), buffer(kind, layout);
    heard = 0;
    if (rank == 0) {
        Buffer gone(kind, layout);
        gone.fill(8000);
        expect_error(form.exchange({sent, gone}, wrong_tag), what);
    }
    MPI_Barrier(comm);
    for (int seed = 1; seed < 4; ++seed)
        if (rank == 0)
            receive(buffer, in_tag, seed, what);
        else
            send(buffer, in_tag, seed);
}

/* The MPI refuses the send, but the receive has a message already. That is lost; its sender does
 * not wait for ever. */
static void refused_late(const Form &form, const Layout &layout, gpu::Kind sender, gpu::Kind kind,
                         bool is_probed)
{
    const std::string what = std::string("a message, then a refused ") + form.name + " of " +
                             gpu::to_text({sender}) + " into " + gpu::to_text({kind}) +
                             (is_probed ? " behind a probe" : "");
    Buffer sent(sender, layout), buffer(kind, layout);
    MPI_Request request = MPI_REQUEST_NULL;
    heard = 0;
    buffer.fill(5);
    if (rank == 1)
        MPI_Isend(buffer.at(), 1, buffer.type(), 0, in_tag, comm, &request);
    MPI_Barrier(comm);
    if (rank == 0) {
        Buffer gone(kind, layout);
        if (is_probed)
            MPI_Probe(1, in_tag, comm, MPI_STATUS_IGNORE);
        else
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        expect_error(form.exchange({sent, gone}, wrong_tag), what);
        receive(buffer, late_tag, 6, what);
        int is_left = 0; /* it came later, or an MPI refuses before it receives */
        MPI_Iprobe(1, in_tag, comm, &is_left, MPI_STATUS_IGNORE);
        if (is_left)
            receive(buffer, in_tag, 5, what);
    } else {
        Buffer late(kind, layout);
        send(late, late_tag, 6);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm);
}

static void all_refused(const Form &form, const Layout &layout, gpu::Kind sender, gpu::Kind kind)
{
    refused(form, layout, sender, kind);
    refused_late(form, layout, sender, kind, false);
    refused_late(form, layout, sender, kind, true);
}

/* The device does not pack what is sent. What is received comes as it should. */
static void not_packed(const Form &form, int n, const Layout &layout, gpu::Kind kind)
{
    const std::string what = std::string(form.name) + " of " + std::to_string(n) +
                             " doubles that are not packed, into " + gpu::to_text({kind});
    const Layout packed = strided(n);
    const Layout &sent_layout = form.replaces ? layout : packed;
    Buffer sent(gpu::Kind::device, sent_layout), received(kind, layout);
    heard = 0;
    sent.fill(rank);
    received.fill(7);
    MPI_Barrier(comm);
    if (rank == 0) {
        gpu::Machine::get().configure("reset fail=any:1");
        expect_error(form.exchange({sent, received}, out_tag), what);
        gpu::Machine::get().reset();
        received.expect(7, 0, received.elements());
        received.verify(what);
    } else {
        MPI_Request request;
        MPI_Isend(received.at(), 1, received.type(), 0, in_tag, comm, &request);
        expect_error(MPI_Recv(sent.at(), 1, sent.type(), 0, out_tag, comm, MPI_STATUS_IGNORE),
                     what);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* 51 bytes, which may be an envelope for a probe, and no room for them. */
static void truncated(const Form &form)
{
    const std::string what = std::string(form.name) + " without room for what a probe has found";
    const Layout one = contiguous(1);
    Buffer sent(gpu::Kind::device, one), received(gpu::Kind::pageable, one);
    char bytes[51] = "";
    heard = 0;
    if (rank == 1) {
        MPI_Send(bytes, sizeof bytes, MPI_BYTE, 0, in_tag, comm);
        MPI_Recv(sent.at(), 1, sent.type(), 0, out_tag, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Probe(1, in_tag, comm, MPI_STATUS_IGNORE);
        expect_error(form.exchange({sent, received}, out_tag), what);
    }
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    return send_forms::run_of_two(argc, argv, comm, hear, [] {
        if (!gpu::Machine::get().is_simulated())
            return;
        for (const Form &form : forms) {
            for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable}) {
                for (const int n : {3, 5000, 60000}) {
                    const Layout layout = strided(n);
                    for (int i = 0; i < 3 && is_ours(form, kind); ++i) /* opens memory first */
                        all_refused(form, layout, gpu::Kind::device, kind);
                    if (!form.replaces || kind == gpu::Kind::device)
                        not_packed(form, 3, layout, kind);
                    /* Without envelopes exchanges of host memory alone are the MPI's. */
                    if (form.replaces ||
                        (kind == gpu::Kind::pageable && !std::getenv("HEDDLE_INTERPOSE_PEER")))
                        continue;
                    all_refused(form, layout, gpu::Kind::pageable, kind);
                    all_refused(form, contiguous(n), gpu::Kind::pageable, kind);
                }
            }
            if (is_ours(form, gpu::Kind::pageable))
                truncated(form);
        }
    });
}
