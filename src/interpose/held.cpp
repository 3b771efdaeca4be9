// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/held.hpp"

#include "interpose/activity.hpp"
#include "interpose/peers.hpp"
#include "interpose/reference.hpp"
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace heddle::interpose {

namespace {

// Where a message comes from that the program has matched, or will.
struct Origin {
    MPI_Comm comm;
    // Of one that went through `self`; otherwise source_is_right.
    int source = source_is_right;
    std::optional<Envelope> envelope{};

    bool went_through_self() const { return source != source_is_right; }
};

// A message that was taken for a probe, and is not received.
struct Held {
    Origin origin;
    MPI_Message message;
    MPI_Status status; // with the message's own size

    bool fits(const Source &from) const
    {
        return origin.comm == from.comm &&
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
    std::recursive_mutex mutex; // an error handler may receive and probe
    std::list<Held> held;       // of each source in the order of its messages, and without a gap
    std::list<Again> again;
    std::unordered_map<HandleKey, Origin> matched; // what the program has
    MPI_Comm self = MPI_COMM_NULL;
    Envelope::Wire nowhere; // where truncated messages go
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
// message again, which the MPI knows. A synchronous send ends by that, for the MPI: its sender
// waits on, if it is in a place of this node.
void look_into(Held &it, Place sender)
{
    std::optional<Looking> looking;
    if (sender != nobody)
        looking.emplace(sender);
    Table &all = table();
    forget_what_has_come();
    Again &again = all.again.emplace_back();
    constexpr int bytes = static_cast<int>(Envelope::wire_bytes);
    PMPI_Mrecv(again.bytes.data(), bytes, MPI_PACKED, &it.message, MPI_STATUS_IGNORE);
    if (const Envelope envelope = Envelope::read(again.bytes.data()); envelope.is_one()) {
        PMPI_Status_set_elements_x(&it.status, MPI_BYTE, envelope.bytes);
        note_probed(envelope);
        it.origin.envelope = envelope;
    }
    PMPI_Isend(again.bytes.data(), bytes, MPI_PACKED, 0, it.status.MPI_TAG, all.self,
               &again.request);
    PMPI_Mprobe(0, it.status.MPI_TAG, all.self, &it.message, MPI_STATUS_IGNORE);
    it.origin.source = it.status.MPI_SOURCE;
}

bool may_be_envelope(const MPI_Status &status, MPI_Comm comm)
{
    return bytes_of(status) == Envelope::wire_bytes &&
           partner_of(status.MPI_SOURCE, comm) != nobody;
}

// Takes a message out of the MPI's queue.
int take_from_mpi(const Source &from, int *found, Held &it)
{
    it.origin = {from.comm};
    const int error = PMPI_Improbe(from.rank, from.tag, from.comm, found, &it.message, &it.status);
    if (error == MPI_SUCCESS && *found && may_be_envelope(it.status, from.comm))
        look_into(it, place_of(it.status.MPI_SOURCE, from.comm));
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

// The program never will. What this process has sent to itself some MPIs wait for in MPI_Finalize.
void receive_nowhere(Held &it)
{
    if (it.origin.went_through_self())
        PMPI_Mrecv(table().nowhere.data(), Envelope::wire_bytes, MPI_PACKED, &it.message,
                   MPI_STATUS_IGNORE);
}

bool has_room(const Target &to)
{
    MPI_Count bytes = 0;
    PMPI_Type_size_x(to.type, &bytes);
    return bytes * to.n >= Envelope::wire_bytes;
}

// A message that is received now. The MPI must find no error with one that went through `self`: it
// would tell the handler of that.
class Received {
public:
    Received(const Origin &origin, const Target &to)
        : origin_(origin),
          to_(to),
          found_{origin.source, origin.went_through_self() && !has_room(to)}
    {
        if (found_.is_truncated)
            to_ = {table().nowhere.data(), Envelope::wire_bytes, MPI_PACKED};
        if (origin.envelope)
            note_received(*origin.envelope);
    }
    const Found &found() const { return found_; }

    int begin(MPI_Message *message, MPI_Request *request) const
    {
        return PMPI_Imrecv(to_.at, to_.n, to_.type, message, request);
    }
    int receive(MPI_Message *message, MPI_Status *status) const
    {
        const int error = PMPI_Mrecv(to_.at, to_.n, to_.type, message, status);
        if (origin_.went_through_self() && status != MPI_STATUS_IGNORE)
            status->MPI_SOURCE = origin_.source;
        return found_.is_truncated ? raise(origin_.comm, MPI_ERR_TRUNCATE) : error;
    }

private:
    const Origin origin_;
    Target to_;
    const Found found_;
};

void tell(const MPI_Status &found, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    const int error = status->MPI_ERROR; // which only calls of several requests write
    *status = found;
    status->MPI_ERROR = error;
}

} // namespace

// ---- receives -----------------------------------------------------------------------------------

namespace {

// While it lives, no other thread looks at what is held, nor begins a receive.
class Matching {
public:
    Matching() : lock_(table().mutex) {}

    // Takes the oldest held message that fits, if there is one.
    static std::optional<Held> take(const Source &from)
    {
        const auto it = find(from);
        if (it == table().held.end())
            return {};
        const Held taken = *it;
        table().held.erase(it);
        return taken;
    }

private:
    const std::lock_guard<std::recursive_mutex> lock_;
};

int begin_in_mpi(const Target &to, const Source &from, MPI_Request *request)
{
    return PMPI_Irecv(to.at, to.n, to.type, from.rank, from.tag, from.comm, request);
}

// The program receives a message that it has matched.
Origin take_matched(MPI_Message message)
{
    Origin origin{MPI_COMM_WORLD};
    if (!has_met_peers())
        return origin;
    const Matching matching;
    const auto found = table().matched.find(key_of(message));
    if (found == table().matched.end())
        return origin;
    origin = found->second;
    table().matched.erase(found);
    return origin;
}

// Takes a held message, or begins by `start`.
template <class Start> int begin_or_take(const Target &to, const Source &from, MPI_Request *request,
                                         Found *found, Start start)
{
    *found = {};
    if (!has_met_peers())
        return start();
    const Matching matching;
    std::optional<Held> held = Matching::take(from);
    if (!held)
        return start();
    const Received received(held->origin, to);
    *found = received.found();
    return received.begin(&held->message, request);
}

} // namespace

bool none_is_held()
{
    return !has_met_peers() || (!may_have_threads.load() && table().held.empty());
}

int begin_receive(const Target &to, const Source &from, MPI_Request *request, Found *found)
{
    return begin_or_take(to, from, request, found, [&] { return begin_in_mpi(to, from, request); });
}

bool begin_unless_any_is_held(const Target &to, const Source &from, MPI_Request *request,
                              int *error)
{
    const Matching matching;
    if (!table().held.empty())
        return false;
    *error = begin_in_mpi(to, from, request);
    return true;
}

int start_receive(MPI_Request persistent, const Target &to, const Source &from,
                  MPI_Request *request, Found *found)
{
    return begin_or_take(to, from, request, found, [&] {
        *request = persistent;
        return PMPI_Start(request);
    });
}

// With several threads nobody may take the message between the look and the receive.
int receive(const Target &to, const Source &from, MPI_Status *status)
{
    std::optional<Held> held;
    MPI_Request request = MPI_REQUEST_NULL;
    if (none_is_held())
        return PMPI_Recv(to.at, to.n, to.type, from.rank, from.tag, from.comm, status);
    {
        const Matching matching;
        held = Matching::take(from);
        if (!held && may_have_threads.load())
            if (const int error = begin_in_mpi(to, from, &request); error != MPI_SUCCESS)
                return error;
    }
    if (request != MPI_REQUEST_NULL)
        return wait_for(request, status);
    if (!held)
        return PMPI_Recv(to.at, to.n, to.type, from.rank, from.tag, from.comm, status);
    return Received(held->origin, to).receive(&held->message, status);
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
    return Received(take_matched(*message), to).receive(message, status);
}

int begin_receive_matched(const Target &to, MPI_Message *message, MPI_Request *request,
                          Found *found)
{
    const Received received(take_matched(*message), to);
    *found = received.found();
    return received.begin(message, request);
}

MPI_Comm communicator_of(MPI_Message message)
{
    if (!has_met_peers())
        return MPI_COMM_WORLD;
    const Matching matching;
    const auto found = table().matched.find(key_of(message));
    return found == table().matched.end() ? MPI_COMM_WORLD : found->second.comm;
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
        if (!may_be_envelope(seen, from.comm)) {
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
    std::optional<Held> taken = Matching::take(from);
    *found = 1;
    if (!taken)
        if (const int error = take_from_mpi(from, found, taken.emplace());
            error != MPI_SUCCESS || !*found)
            return error;
    *message = taken->message;
    if (*message != MPI_MESSAGE_NO_PROC)
        table().matched[key_of(*message)] = taken->origin;
    tell(taken->status, status);
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
    for (Held &each : table().held)
        if (each.origin.comm == comm)
            receive_nowhere(each);
    std::erase_if(table().held, [&](const Held &each) { return each.origin.comm == comm; });
    for (auto &[message, origin] : table().matched)
        if (origin.comm == comm)
            origin.comm = MPI_COMM_WORLD;
}

void forget_held()
{
    const Matching matching;
    for (Held &each : table().held)
        receive_nowhere(each);
    table().held.clear();
    forget_what_has_come();
    if (table().self != MPI_COMM_NULL)
        PMPI_Comm_free(&table().self);
}

} // namespace heddle::interpose
