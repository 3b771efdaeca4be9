// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/held.hpp"

#include "interpose/peers.hpp"
#include "interpose/reference.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>

namespace heddle::interpose {

namespace {

// A message that was taken for a probe, and is not received.
struct Held {
    MPI_Comm comm;
    MPI_Message message;
    MPI_Status status; // with the message's own size
    int source;        // for Matching::take

    bool fits(const Source &from) const
    {
        return comm == from.comm &&
               (from.rank == MPI_ANY_SOURCE || from.rank == status.MPI_SOURCE) &&
               (from.tag == MPI_ANY_TAG || from.tag == status.MPI_TAG);
    }
};

// What was taken out of a message to see whether it is an envelope, on its way back.
struct Again {
    Envelope::Wire bytes{};
    MPI_Request request = MPI_REQUEST_NULL;
};

struct Table {
    std::mutex mutex;
    std::list<Held> held; // of each source in the order of its messages, and without a gap
    std::list<Again> again;
    std::unordered_map<HandleKey, int> sources; // of messages that the program has, and that went
                                                // through `self`
    MPI_Comm self = MPI_COMM_NULL;
};

Table &table() { return immortal<Table>(); }

// All these with the lock held.

void forget_what_has_come()
{
    std::erase_if(table().again, [](Again &each) {
        int done = 0;
        PMPI_Test(&each.request, &done, MPI_STATUS_IGNORE);
        return done != 0;
    });
}

// Receives a message that may be an envelope, and sends its bytes to this process. So there is a
// message again, which the MPI knows.
void look_into(Held &it)
{
    Table &all = table();
    forget_what_has_come();
    Again &again = all.again.emplace_back();
    constexpr int bytes = static_cast<int>(Envelope::wire_bytes);
    PMPI_Mrecv(again.bytes.data(), bytes, MPI_PACKED, &it.message, MPI_STATUS_IGNORE);
    if (const Envelope envelope = Envelope::read(again.bytes.data()); envelope.is_one())
        PMPI_Status_set_elements_x(&it.status, MPI_BYTE, envelope.bytes);
    PMPI_Isend(again.bytes.data(), bytes, MPI_PACKED, 0, it.status.MPI_TAG, all.self,
               &again.request);
    PMPI_Mprobe(0, it.status.MPI_TAG, all.self, &it.message, MPI_STATUS_IGNORE);
    it.source = it.status.MPI_SOURCE;
}

// Takes a message out of the MPI's queue.
int take_from_mpi(const Source &from, int *found, Held &it)
{
    it.comm = from.comm;
    it.source = source_is_right;
    const int error = PMPI_Improbe(from.rank, from.tag, from.comm, found, &it.message, &it.status);
    if (error == MPI_SUCCESS && *found && bytes_of(it.status) == Envelope::wire_bytes)
        look_into(it);
    return error;
}

// Takes all of the source's messages up to the first of that tag: what comes later must not
// overtake what is left.
int take_up_to(int rank, int tag, MPI_Comm comm)
{
    for (bool is_last = false; !is_last;) {
        Held it{};
        int found = 0;
        const int error = take_from_mpi({rank, MPI_ANY_TAG, comm}, &found, it);
        if (error != MPI_SUCCESS || !found)
            return error;
        is_last = it.status.MPI_TAG == tag;
        table().held.push_back(it);
    }
    return MPI_SUCCESS;
}

std::list<Held>::iterator find(const Source &from)
{
    std::list<Held> &held = table().held;
    return std::find_if(held.begin(), held.end(),
                        [&](const Held &each) { return each.fits(from); });
}

// The program takes a held message: if it has come through `self`, its errors are still told to the
// handler of the program's communicator. (Until the next is taken: then to the next one's.)
void inherit_handler(const Held &it)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (it.source == source_is_right || PMPI_Comm_get_errhandler(it.comm, &handler) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(table().self, handler);
    if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN)
        PMPI_Errhandler_free(&handler);
}

void remember_source(const Held &it)
{
    if (it.source != source_is_right)
        table().sources[key_of(it.message)] = it.source;
}

int forget_source(MPI_Message message)
{
    const auto found = table().sources.find(key_of(message));
    if (found == table().sources.end())
        return source_is_right;
    const int source = found->second;
    table().sources.erase(found);
    return source;
}

void tell(const MPI_Status &found, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    const int error = status->MPI_ERROR; // which only calls of several requests write
    *status = found;
    status->MPI_ERROR = error;
}

void correct(int source, MPI_Status *status)
{
    if (source != source_is_right && status != MPI_STATUS_IGNORE)
        status->MPI_SOURCE = source;
}

} // namespace

// ---- receives -----------------------------------------------------------------------------------

namespace {

// While it lives, no other thread looks at what is held, nor begins a receive.
class Matching {
public:
    Matching() : lock_(table().mutex) {}

    // Takes the oldest held message that fits. Whether there is one.
    static bool take(const Source &from, MPI_Message *message, int *source)
    {
        const auto it = find(from);
        if (it == table().held.end())
            return false;
        inherit_handler(*it);
        *message = it->message;
        *source = it->source;
        table().held.erase(it);
        return true;
    }

private:
    const std::lock_guard<std::mutex> lock_;
};

int begin_in_mpi(const Target &to, const Source &from, MPI_Request *request)
{
    return PMPI_Irecv(to.at, to.n, to.type, from.rank, from.tag, from.comm, request);
}

// Takes a held message, or begins by `start`.
template <class Start> int begin_or_take(const Target &to, const Source &from, MPI_Request *request,
                                         int *source, Start start)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    *source = source_is_right;
    if (!has_met_peers())
        return start();
    const Matching matching;
    return Matching::take(from, &message, source)
               ? PMPI_Imrecv(to.at, to.n, to.type, &message, request)
               : start();
}

} // namespace

int begin_receive(const Target &to, const Source &from, MPI_Request *request, int *source)
{
    return begin_or_take(to, from, request, source,
                         [&] { return begin_in_mpi(to, from, request); });
}

int start_receive(MPI_Request persistent, const Target &to, const Source &from,
                  MPI_Request *request, int *source)
{
    return begin_or_take(to, from, request, source, [&] {
        *request = persistent;
        return PMPI_Start(request);
    });
}

// With several threads nobody may take the message between the look and the receive.
int receive(const Target &to, const Source &from, MPI_Status *status)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int source = source_is_right;
    if (!has_met_peers())
        return PMPI_Recv(to.at, to.n, to.type, from.rank, from.tag, from.comm, status);
    {
        const Matching matching;
        if (!Matching::take(from, &message, &source) && has_threads())
            if (const int error = begin_in_mpi(to, from, &request); error != MPI_SUCCESS)
                return error;
    }
    if (request != MPI_REQUEST_NULL)
        return wait_for(request, status);
    if (message == MPI_MESSAGE_NULL)
        return PMPI_Recv(to.at, to.n, to.type, from.rank, from.tag, from.comm, status);
    const int error = PMPI_Mrecv(to.at, to.n, to.type, &message, status);
    correct(source, status);
    return error;
}

int wait_for(MPI_Request request, MPI_Status *status)
{
    const int error = PMPI_Wait(&request, status);
    if (error != MPI_SUCCESS && request != MPI_REQUEST_NULL)
        PMPI_Request_free(&request);
    return error;
}

int receive_matched(const Target &to, MPI_Message *message, MPI_Status *status)
{
    int source = source_is_right;
    if (has_met_peers()) {
        const Matching matching;
        source = forget_source(*message);
    }
    const int error = PMPI_Mrecv(to.at, to.n, to.type, message, status);
    correct(source, status);
    return error;
}

int begin_receive_matched(const Target &to, MPI_Message *message, MPI_Request *request, int *source)
{
    *source = source_is_right;
    if (has_met_peers()) {
        const Matching matching;
        *source = forget_source(*message);
    }
    return PMPI_Imrecv(to.at, to.n, to.type, message, request);
}

// ---- probes -------------------------------------------------------------------------------------

int probe_now(const Source &from, int *found, MPI_Status *status)
{
    const Matching matching;
    MPI_Status seen;
    auto it = find(from);
    if (it == table().held.end()) {
        const int error = PMPI_Iprobe(from.rank, from.tag, from.comm, found, &seen);
        if (error != MPI_SUCCESS || !*found)
            return error;
        if (bytes_of(seen) != Envelope::wire_bytes) {
            tell(seen, status);
            return MPI_SUCCESS;
        }
        const int taken = take_up_to(seen.MPI_SOURCE, seen.MPI_TAG, from.comm);
        it = find(from);
        *found = it != table().held.end();
        if (taken != MPI_SUCCESS || !*found)
            return taken;
    }
    *found = 1;
    tell(it->status, status);
    return MPI_SUCCESS;
}

int take_now(const Source &from, int *found, MPI_Message *message, MPI_Status *status)
{
    const Matching matching;
    Held taken{};
    *found = 1;
    if (const auto it = find(from); it != table().held.end()) {
        taken = *it;
        table().held.erase(it);
    } else if (const int error = take_from_mpi(from, found, taken);
               error != MPI_SUCCESS || !*found) {
        return error;
    }
    inherit_handler(taken);
    *message = taken.message;
    remember_source(taken);
    tell(taken.status, status);
    return MPI_SUCCESS;
}

void prepare_to_hold()
{
    if (has_met_peers())
        PMPI_Comm_dup(MPI_COMM_SELF, &table().self);
}

void forget_held(MPI_Comm comm)
{
    if (!has_met_peers())
        return;
    const Matching matching;
    std::erase_if(table().held, [&](const Held &each) { return each.comm == comm; });
}

void forget_held()
{
    const Matching matching;
    forget_what_has_come();
    if (table().self != MPI_COMM_NULL)
        PMPI_Comm_free(&table().self);
}

} // namespace heddle::interpose
