// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives. What travels has the program's communicator and tag, and is packed: a process
// without the interposer may be at the other end. Or it is an envelope (reference.hpp).
#include "interpose/message.hpp"
#include "interpose/persistent.hpp"
#include "interpose/public_copy.hpp"
#include "interpose/report.hpp"
#include "interpose/watched.hpp"

#include <climits>
#include <type_traits>
#include <utility>

namespace heddle::interpose {

namespace {

std::optional<Data> data_to(int to, const void *buffer, int64_t count, MPI_Datatype type)
{
    return to == MPI_PROC_NULL ? std::nullopt : device_data(buffer, count, type);
}

std::optional<Data> data_from(int from, const void *buffer, int64_t count, MPI_Datatype type)
{
    return from == MPI_PROC_NULL ? std::nullopt : received_data(buffer, count, type);
}

// A message that could not be packed: its receiver has a notice, this process an error.
int refuse(const Outgoing &message, int error, Peer to, MPI_Comm comm)
{
    Notice().send(message.bytes(), to, comm);
    return raise(comm, error);
}

// What an operation does in place of its send.
std::function<int(MPI_Request *)> notice_of(const Outgoing *message, Peer to, MPI_Comm comm)
{
    return [=, notice = std::make_shared<Notice>()](MPI_Request *request) {
        return notice->begin(message->bytes(), to, comm, request);
    };
}

// Data that are not for the MPI as they are. A probe would look into host memory, too.
template <Way way>
std::optional<Data> data_sent(int to, const void *buffer, int64_t count, MPI_Datatype type)
{
    std::optional<Data> data = data_to(to, buffer, count, type);
    if (way != Way::synchronous || data || !has_met_peers() || to == MPI_PROC_NULL || count <= 0)
        return data;
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return bytes * count == Envelope::wire_bytes ? any_data(buffer, count, type) : std::nullopt;
}

// The error of a call that begins a request. MPICH from 4.3 on returns MPI_SUCCESS behind an error
// handler that returns.
int error_of(int returned, MPI_Request begun)
{
    return returned == MPI_SUCCESS && begun == MPI_REQUEST_NULL ? MPI_ERR_REQUEST : returned;
}

// While a synchronous send goes on, though it has ended for the MPI.
void wait_for_receive(const Outgoing &message)
{
    int found = 0;
    for (Patience patience; message.may_be_probed(); patience.wait()) {
        progress();
        PMPI_Iprobe(0, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE); // so does the MPI
    }
}

// ---- receives that no envelope fits into --------------------------------------------------------

// Where envelopes may come, a type that cannot be rebuilt must not receive one.
bool may_receive(int64_t count, MPI_Datatype type)
{
    return !has_met_peers() || count <= 0 || type == MPI_DATATYPE_NULL || can_be_rebuilt(type);
}

// Where envelopes may come these are short, or receive nothing at all.
template <class Int> Target target(void *buffer, Int n, MPI_Datatype type)
{
    return {buffer, n <= INT_MAX ? static_cast<int>(n) : 0, type};
}

// By `receive`, which blocks. The sender's device may have failed.
template <class Int, class Receive> int receive_by_mpi(void *buffer, Int n, MPI_Datatype type,
                                                       MPI_Comm comm, MPI_Status *status,
                                                       Receive receive)
{
    MPI_Status own;
    MPI_Status *const found = status == MPI_STATUS_IGNORE ? &own : status;
    if (!device_is_open() || has_met_peers()) // what is received so is shorter then
        return receive(status);
    const int result = receive(found);
    return result == MPI_SUCCESS && Notice::is_in(buffer, n, type, *found)
               ? raise(comm, MPI_ERR_OTHER)
               : result;
}

template <auto down, class Int> int receive_untouched(void *buffer, Int n, MPI_Datatype type,
                                                      const Source &from, MPI_Status *status)
{
    count(Count::passed);
    if (!has_met_peers())
        return receive_by_mpi(buffer, n, type, from.comm, status, [&](MPI_Status *found) {
            return down(buffer, n, type, from.rank, from.tag, from.comm, found);
        });
    return may_receive(n, type) ? receive(target(buffer, n, type), from, status)
                                : raise(from.comm, MPI_ERR_TYPE);
}

template <auto down, class Int> int begin_receive_untouched(void *buffer, Int n, MPI_Datatype type,
                                                            const Source &from,
                                                            MPI_Request *request, Found *found)
{
    count(Count::passed);
    if (!has_met_peers())
        return down(buffer, n, type, from.rank, from.tag, from.comm, request);
    return may_receive(n, type) ? begin_receive(target(buffer, n, type), from, request, found)
                                : raise(from.comm, MPI_ERR_TYPE);
}

// What such a receive has found, told by the operation that it belongs to.
void add_found(Steps &steps, const Found *found)
{
    steps.unpack = [found](MPI_Status &status, std::vector<heddle_move> &) {
        if (found->source != source_is_right)
            status.MPI_SOURCE = found->source;
        return found->is_truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    };
    steps.has_status = true;
}

// A receive of a held message that the target has no room for ends with an error: `*request` is the
// MPI's, and becomes an operation's. Returns `error` of any other.
int begun_or_truncated(int error, MPI_Comm comm, const Found &found, MPI_Request *request)
{
    if (!found.is_truncated)
        return error;
    Steps steps;
    steps.comm = comm;
    steps.issue = [inner = *request](MPI_Request *begun) {
        *begun = inner;
        return MPI_SUCCESS;
    };
    const auto kept = std::make_shared<const Found>(found);
    add_found(steps, kept.get());
    steps.keep = kept;
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

// ---- blocking -----------------------------------------------------------------------------------

template <auto down, Way way, class Int>
int send(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    const CollectsAtEnd collects;
    flush();
    std::optional<Data> data = data_sent<way>(to, buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, to, tag, comm);
    }
    count(Count::staged);
    const Outgoing message(*data, instead_of(*data, way, to, comm));
    if (message.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    if (const int error = message.pack(); error != MPI_SUCCESS)
        return refuse(message, error, {to, tag}, comm);
    const Packed packed(message.bytes_handed_on());
    const int error =
        message.heard(down(message.handed_on(), packed.count(), packed.type(), to, tag, comm));
    if (error != MPI_SUCCESS)
        return error;
    if (way == Way::synchronous)
        wait_for_receive(message);
    return raise(comm, message.pack_rest());
}

template <auto down, class Int> int receive(void *buffer, Int n, MPI_Datatype type, int from,
                                            int tag, MPI_Comm comm, MPI_Status *status)
{
    const CollectsAtEnd collects;
    flush();
    std::optional<Data> data = data_from(from, buffer, n, type);
    if (!data)
        return receive_untouched<down>(buffer, n, type, {from, tag, comm}, status);
    count(Count::staged);
    const Incoming message(*std::move(data));
    return message.failed() ? raise(comm, MPI_ERR_NO_MEM)
                            : message.receive({from, tag, comm}, status);
}

template <auto down, class Int> int matched_receive(void *buffer, Int n, MPI_Datatype type,
                                                    MPI_Message *matched, MPI_Status *status)
{
    const CollectsAtEnd collects;
    flush();
    std::optional<Data> data =
        *matched == MPI_MESSAGE_NO_PROC ? std::nullopt : received_data(buffer, n, type);
    if (!data) {
        count(Count::passed);
        if (!has_met_peers())
            return receive_by_mpi(buffer, n, type, MPI_COMM_WORLD, status, [&](MPI_Status *found) {
                return down(buffer, n, type, matched, found);
            });
        return may_receive(n, type) ? receive_matched(target(buffer, n, type), matched, status)
                                    : raise(communicator_of(*matched), MPI_ERR_TYPE);
    }
    count(Count::staged);
    const Incoming message(*std::move(data));
    return message.failed() ? raise(MPI_COMM_WORLD, MPI_ERR_NO_MEM)
                            : message.receive_matched(matched, status);
}

// ---- exchanges ----------------------------------------------------------------------------------

// A buffer as an exchange gets it.
template <class Int> struct Arguments {
    void *buffer;
    Int n;
    MPI_Datatype type;
    Peer other;
    MPI_Comm comm;

    Source source() const { return {other.rank, other.tag, comm}; }
};

// The end that sends: the program's buffer, or what is handed on in its place.
template <class Int> class Out {
public:
    explicit Out(const Arguments<Int> &program) : program_(program)
    {
        std::optional<Data> data =
            data_to(program.other.rank, program.buffer, program.n, program.type);
        if (!data)
            return;
        Instead instead = instead_of(*data, Way::any, program.other.rank, program.comm);
        message_.emplace(*std::move(data), std::move(instead));
    }
    // A copy, for what is received goes to the same buffer.
    Out(const Arguments<Int> &program, Data data) : program_(program)
    {
        message_.emplace(std::move(data));
    }
    bool is_staged() const { return message_.has_value(); }
    bool failed() const { return is_staged() && message_->failed(); }
    const Outgoing &message() const { return *message_; }

    template <auto down> int begin(MPI_Request *request) const
    {
        const Peer to = program_.other;
        const auto send = [&](const void *buffer, auto n, MPI_Datatype type) {
            *request = MPI_REQUEST_NULL;
            const int error = down(buffer, n, type, to.rank, to.tag, program_.comm, request);
            return error_of(error, *request);
        };
        if (!is_staged())
            return send(program_.buffer, program_.n, program_.type);
        const Packed packed(message_->bytes_handed_on());
        return message_->heard(send(message_->handed_on(), packed.count(), packed.type()));
    }
    // The other process receives this instead.
    int begin_notice(Notice &notice, MPI_Request *request) const
    {
        return notice.begin(message_->bytes(), program_.other, program_.comm, request);
    }

private:
    const Arguments<Int> program_;
    std::optional<Outgoing> message_;
};

// The end that receives.
template <class Int> class In {
public:
    explicit In(const Arguments<Int> &program) : program_(program)
    {
        if (std::optional<Data> data =
                data_from(program.other.rank, program.buffer, program.n, program.type))
            message_.emplace(*std::move(data));
    }
    bool is_staged() const { return message_.has_value(); }
    bool failed() const { return is_staged() && message_->failed(); }
    const Incoming &message() const { return *message_; }

    template <auto down> int begin(MPI_Request *request) const
    {
        return is_staged()
                   ? message_->begin(program_.source(), request)
                   : begin_receive_untouched<down>(program_.buffer, program_.n, program_.type,
                                                   program_.source(), request, &found_);
    }
    // Both wait for what has been begun.
    int finish(MPI_Request request, MPI_Status *status) const
    {
        if (is_staged())
            return message_->finish(request, status, program_.comm);
        const int error = wait_for(request, status);
        return found_.is_truncated ? raise(program_.comm, MPI_ERR_TRUNCATE) : error;
    }
    void take_back(MPI_Request request) const
    {
        if (is_staged())
            return message_->take_back(request);
        PMPI_Cancel(&request);
        wait_for(request, MPI_STATUS_IGNORE);
    }
    void add_unpacking(Steps &steps) const
    {
        if (is_staged())
            message_->add_unpacking(steps);
        else
            add_found(steps, &found_);
    }

private:
    const Arguments<Int> program_;
    std::optional<Incoming> message_;
    mutable Found found_;
};

// The calls of one exchange, for int or MPI_Count.
template <class Int> struct Down;
template <> struct Down<int> {
    static constexpr auto begin_send = PMPI_Isend;
    static constexpr auto begin_receive = PMPI_Irecv;
};
#if MPI_VERSION >= 4
template <> struct Down<MPI_Count> {
    static constexpr auto begin_send = PMPI_Isend_c;
    static constexpr auto begin_receive = PMPI_Irecv_c;
};
#endif

template <class Int>
int exchange(const Out<Int> &out, const In<Int> &in, MPI_Comm comm, MPI_Status *status)
{
    using Calls = Down<Int>;
    Notice notice;
    MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
    count(Count::staged);
    if (out.failed() || in.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    const int not_packed = out.is_staged() ? out.message().pack() : MPI_SUCCESS;
    // What the MPI refuses must not leave a send that nobody receives.
    if (const int error = in.template begin<Calls::begin_receive>(&receive); error != MPI_SUCCESS)
        return error;
    const int begun = not_packed == MPI_SUCCESS ? out.template begin<Calls::begin_send>(&send)
                                                : out.begin_notice(notice, &send);
    if (begun != MPI_SUCCESS) {
        in.take_back(receive);
        return begun;
    }
    const int rest = out.is_staged() ? out.message().pack_rest() : MPI_SUCCESS;
    const int received = in.finish(receive, status);
    const int sent = wait_for(send, MPI_STATUS_IGNORE);
    if (not_packed != MPI_SUCCESS || rest != MPI_SUCCESS)
        return raise(comm, not_packed != MPI_SUCCESS ? not_packed : rest);
    return received != MPI_SUCCESS ? received : sent;
}

template <auto down, class Int>
int exchange_or_pass(const Arguments<Int> &sent, const Arguments<Int> &received, MPI_Status *status)
{
    const CollectsAtEnd collects;
    flush();
    const auto call = [&](void *buffer, auto n, MPI_Datatype type, MPI_Status *found) {
        return down(sent.buffer, sent.n, sent.type, sent.other.rank, sent.other.tag, buffer, n,
                    type, received.other.rank, received.other.tag, sent.comm, found);
    };
    if (!device_is_open())
        return call(received.buffer, received.n, received.type, status);
    const Out<Int> out(sent);
    const In<Int> in(received);
    // If its send fails, the MPI may leave the receive, which must not write into staging memory.
    const bool may_be_left = !in.is_staged() || in.message().is_in_place();
    if (out.is_staged() || !may_be_left || !none_is_held())
        return exchange(out, in, sent.comm, status);
    count(in.is_staged() ? Count::staged : Count::passed);
    if (in.is_staged())
        return in.message().receive_by(
            [&](const Target &to, MPI_Status *found) { return call(to.at, to.n, to.type, found); },
            sent.comm, status);
    if (!may_receive(received.n, received.type))
        return raise(sent.comm, MPI_ERR_TYPE);
    return receive_by_mpi(
        received.buffer, received.n, received.type, sent.comm, status,
        [&](MPI_Status *found) { return call(received.buffer, received.n, received.type, found); });
}

// What is to be copied before the same buffer receives.
template <class Int> std::optional<Data> replaced_data(const Arguments<Int> &sent)
{
    return has_met_peers() ? any_data(sent.buffer, sent.n, sent.type)
                           : device_data(sent.buffer, sent.n, sent.type);
}

template <auto down, class Int>
int replace(const Arguments<Int> &sent, const Arguments<Int> &received, MPI_Status *status)
{
    const CollectsAtEnd collects;
    flush();
    if (std::optional<Data> data = replaced_data(sent))
        return exchange(Out<Int>(sent, *std::move(data)), In<Int>(received), sent.comm, status);
    if (!may_receive(sent.n, sent.type))
        return raise(sent.comm, MPI_ERR_TYPE);
    count(Count::passed);
    return down(sent.buffer, sent.n, sent.type, sent.other.rank, sent.other.tag,
                received.other.rank, received.other.tag, sent.comm, status);
}

#if defined(HEDDLE_MPI_4)
// Both ends of a nonblocking exchange, which live as long as it.
template <class Int> struct Ends {
    Out<Int> out;
    In<Int> in;
};

// As a receive and a send, as MPI defines it. MPICH 4.0.2's own calls are wrong even on host
// memory: they leave the status empty, and MPI_Isendrecv_replace the data, too (docs/upstream.md).
template <class Int> int begin_exchange(const std::shared_ptr<const Ends<Int>> &ends, Peer to,
                                        MPI_Comm comm, MPI_Request *request)
{
    using Calls = Down<Int>;
    const Out<Int> *const out = &ends->out;
    const In<Int> *const in = &ends->in;
    if (out->failed() || in->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = comm;
    steps.issue = [in](MPI_Request *inner) {
        return in->template begin<Calls::begin_receive>(inner);
    };
    steps.issue_also = [out](MPI_Request *inner) {
        return out->template begin<Calls::begin_send>(inner);
    };
    in->add_unpacking(steps);
    if (out->is_staged()) {
        out->message().add_packing(steps);
        steps.issue_notice = notice_of(&out->message(), to, comm);
    }
    steps.keep = ends;
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

template <auto down, class Int> int begin_exchange_or_pass(const Arguments<Int> &sent,
                                                           const Arguments<Int> &received,
                                                           MPI_Request *request)
{
    flush();
    const std::shared_ptr<const Ends<Int>> ends(new Ends<Int>{Out<Int>(sent), In<Int>(received)});
    if (ends->out.is_staged() || ends->in.is_staged() || has_met_peers())
        return begin_exchange(ends, sent.other, sent.comm, request);
    count(Count::passed);
    return down(sent.buffer, sent.n, sent.type, sent.other.rank, sent.other.tag, received.buffer,
                received.n, received.type, received.other.rank, received.other.tag, sent.comm,
                request);
}

template <auto down, class Int>
int begin_replace(const Arguments<Int> &sent, const Arguments<Int> &received, MPI_Request *request)
{
    flush();
    std::optional<Data> data = replaced_data(sent);
    if (data) {
        const std::shared_ptr<const Ends<Int>> ends(
            new Ends<Int>{Out<Int>(sent, *std::move(data)), In<Int>(received)});
        return begin_exchange(ends, sent.other, sent.comm, request);
    }
    if (!may_receive(sent.n, sent.type))
        return raise(sent.comm, MPI_ERR_TYPE);
    count(Count::passed);
    return down(sent.buffer, sent.n, sent.type, sent.other.rank, sent.other.tag,
                received.other.rank, received.other.tag, sent.comm, request);
}
#endif

// ---- nonblocking and persistent -----------------------------------------------------------------

// What an operation does to send the message.
template <auto down, Way way>
void add_sending(Steps &steps, const std::shared_ptr<const Outgoing> &message, Peer to)
{
    steps.pack.clear();
    steps.issue = [=, comm = steps.comm, message = message.get()](MPI_Request *inner) {
        const Packed packed(message->bytes_handed_on());
        const int error =
            down(message->handed_on(), packed.count(), packed.type(), to.rank, to.tag, comm, inner);
        return message->heard(error_of(error, *inner));
    };
    steps.issue_notice = notice_of(message.get(), to, steps.comm);
    steps.cancelled = [message = message.get()] { message->take_back(); };
    if (way == Way::synchronous)
        steps.goes_on = [message = message.get()](const MPI_Status &) {
            return message->may_be_probed();
        };
    message->add_packing(steps);
    steps.keep = message;
}

template <auto down, Way way, class Int> int begin_send(const void *buffer, Int n,
                                                        MPI_Datatype type, int to, int tag,
                                                        MPI_Comm comm, MPI_Request *request)
{
    std::optional<Data> data = data_sent<way>(to, buffer, n, type);
    if (!data) {
        flush();
        count(Count::passed);
        return down(buffer, n, type, to, tag, comm, request);
    }
    const auto message = std::make_shared<const Outgoing>(*data, instead_of(*data, way, to, comm));
    if (message->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = comm;
    add_sending<down, way>(steps, message, {to, tag});
    return begin(std::make_shared<const Steps>(std::move(steps)), false, request);
}

// A receive into host memory, which an envelope may come into, by a request that stays the MPI's.
// False where that does not do.
bool begin_watched_receive(const Data &data, const Source &from, MPI_Request *request, int *error)
{
    const int64_t bytes = data.bytes();
    if (!has_met_peers() || bytes > INT_MAX || !data.is_dense() || is_device_memory(data.first()))
        return false;
    const Target to{data.first(), static_cast<int>(bytes), MPI_PACKED};
    *request = MPI_REQUEST_NULL;
    if (!begin_unless_any_is_held(to, from, request, error))
        return false;
    count(Count::passed);
    if (*error == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        *error = watch({to.at, bytes}, from.comm, request);
    return true;
}

template <auto down, class Int> int begin_receive(void *buffer, Int n, MPI_Datatype type, int from,
                                                  int tag, MPI_Comm comm, MPI_Request *request)
{
    std::optional<Data> data = data_from(from, buffer, n, type);
    if (!data) {
        Found found;
        const int error =
            begin_receive_untouched<down>(buffer, n, type, {from, tag, comm}, request, &found);
        return begun_or_truncated(error, comm, found, request);
    }
    if (int error; begin_watched_receive(*data, {from, tag, comm}, request, &error))
        return error;
    const auto message = std::make_shared<const Incoming>(*std::move(data));
    if (message->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = comm;
    steps.issue = [=, message = message.get()](MPI_Request *inner) {
        return message->begin({from, tag, comm}, inner);
    };
    message->add_unpacking(steps);
    steps.keep = message;
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

template <auto down, class Int> int begin_matched_receive(void *buffer, Int n, MPI_Datatype type,
                                                          MPI_Message *matched,
                                                          MPI_Request *request)
{
    std::optional<Data> data =
        *matched == MPI_MESSAGE_NO_PROC ? std::nullopt : received_data(buffer, n, type);
    if (!data) {
        count(Count::passed);
        if (!has_met_peers())
            return down(buffer, n, type, matched, request);
        const MPI_Comm comm = communicator_of(*matched);
        if (!may_receive(n, type))
            return raise(comm, MPI_ERR_TYPE);
        Found found;
        const int error = begin_receive_matched(target(buffer, n, type), matched, request, &found);
        return begun_or_truncated(error, comm, found, request);
    }
    const auto message = std::make_shared<const Incoming>(*std::move(data));
    if (message->failed())
        return raise(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = communicator_of(*matched);
    steps.issue = [=, message = message.get()](MPI_Request *inner) { // at once
        return message->begin_matched(matched, inner);
    };
    message->add_unpacking(steps);
    steps.keep = message;
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

// What one start does, if it sends an envelope: a message of its own.
template <auto begins, Way way> Start start_by_envelope(const Data &data, Peer to)
{
    return [=](Steps &steps) {
        Instead instead = instead_of(data, way, to.rank, steps.comm);
        if (std::holds_alternative<std::monostate>(instead))
            return;
        add_sending<begins, way>(steps, std::make_shared<const Outgoing>(data, std::move(instead)),
                                 to);
        steps.keeps_inner = false;
    };
}

// The data are packed at each start. The program's handle is for those that go packed.
template <auto down, auto begins, Way way, class Int>
int make_persistent_send(const void *buffer, Int n, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request *request)
{
    std::optional<Data> data = data_sent<way>(to, buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, to, tag, comm, request);
    }
    const auto message = std::make_shared<const Outgoing>(*data);
    if (message->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    const Packed packed(message->bytes());
    const int error =
        down(message->handed_on(), packed.count(), packed.type(), to, tag, comm, request);
    if (error != MPI_SUCCESS)
        return error;
    Steps steps;
    steps.comm = comm;
    message->add_packing(steps);
    steps.issue_notice = notice_of(message.get(), {to, tag}, comm);
    steps.keep = message;
    keep_persistent(*request, std::move(steps),
                    has_met_peers() ? start_by_envelope<begins, way>(*data, {to, tag}) : Start());
    return MPI_SUCCESS;
}

// Where envelopes may come, a start may find what a probe has taken.
template <auto down, class Int> int make_persistent_receive_untouched(const Target &to,
                                                                      const Source &from, Int n,
                                                                      MPI_Request *request)
{
    count(Count::passed);
    if (!may_receive(n, to.type))
        return raise(from.comm, MPI_ERR_TYPE);
    const int error = down(to.at, n, to.type, from.rank, from.tag, from.comm, request);
    if (error != MPI_SUCCESS || !has_met_peers())
        return error;
    const auto found = std::make_shared<Found>();
    Steps steps;
    steps.comm = from.comm;
    steps.issue = [=, handle = *request](MPI_Request *inner) {
        return start_receive(handle, to, from, inner, found.get());
    };
    add_found(steps, found.get());
    keep_persistent(*request, std::move(steps));
    return MPI_SUCCESS;
}

template <auto down, class Int> int make_persistent_receive(void *buffer, Int n, MPI_Datatype type,
                                                            int from, int tag, MPI_Comm comm,
                                                            MPI_Request *request)
{
    std::optional<Data> data = data_from(from, buffer, n, type);
    if (!data)
        return make_persistent_receive_untouched<down>(target(buffer, n, type), {from, tag, comm},
                                                       n, request);
    const auto message = std::make_shared<const Incoming>(*std::move(data));
    if (message->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    const Target &to = message->to();
    const int error = down(to.at, to.n, to.type, from, tag, comm, request);
    if (error != MPI_SUCCESS)
        return error;
    Steps steps;
    steps.comm = comm;
    steps.issue = [=, message = message.get(), handle = *request](MPI_Request *inner) {
        return message->start(handle, {from, tag, comm}, inner);
    };
    message->add_unpacking(steps);
    steps.keep = message;
    keep_persistent(*request, std::move(steps));
    return MPI_SUCCESS;
}

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

// ---- the calls ----------------------------------------------------------------------------------

// The arguments of all sends and receives, `Int` being int, or MPI_Count where the name ends in _c.
#define SEND(Name, way, Int)                                                                       \
    int MPI_##Name(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)   \
    {                                                                                              \
        return send<PMPI_##Name, Way::way>(buffer, n, type, to, tag, comm);                        \
    }
#define BEGIN_SEND(Name, way, Int)                                                                 \
    int MPI_##Name(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,   \
                   MPI_Request *request)                                                           \
    {                                                                                              \
        return begin_send<PMPI_##Name, Way::way>(buffer, n, type, to, tag, comm, request);         \
    }
#define SEND_INIT(Name, begins, way, Int)                                                          \
    int MPI_##Name(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,   \
                   MPI_Request *request)                                                           \
    {                                                                                              \
        return make_persistent_send<PMPI_##Name, PMPI_##begins, Way::way>(buffer, n, type, to,     \
                                                                          tag, comm, request);     \
    }
#define RECEIVES(Suffix, Int)                                                                      \
    int MPI_Recv##Suffix(void *buffer, Int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, \
                         MPI_Status *status)                                                       \
    {                                                                                              \
        return receive<PMPI_Recv##Suffix>(buffer, n, type, from, tag, comm, status);               \
    }                                                                                              \
    int MPI_Mrecv##Suffix(void *buffer, Int n, MPI_Datatype type, MPI_Message *matched,            \
                          MPI_Status *status)                                                      \
    {                                                                                              \
        return matched_receive<PMPI_Mrecv##Suffix>(buffer, n, type, matched, status);              \
    }                                                                                              \
    int MPI_Irecv##Suffix(void *buffer, Int n, MPI_Datatype type, int from, int tag,               \
                          MPI_Comm comm, MPI_Request *request)                                     \
    {                                                                                              \
        return begin_receive<PMPI_Irecv##Suffix>(buffer, n, type, from, tag, comm, request);       \
    }                                                                                              \
    int MPI_Imrecv##Suffix(void *buffer, Int n, MPI_Datatype type, MPI_Message *matched,           \
                           MPI_Request *request)                                                   \
    {                                                                                              \
        return begin_matched_receive<PMPI_Imrecv##Suffix>(buffer, n, type, matched, request);      \
    }                                                                                              \
    int MPI_Recv_init##Suffix(void *buffer, Int n, MPI_Datatype type, int from, int tag,           \
                              MPI_Comm comm, MPI_Request *request)                                 \
    {                                                                                              \
        return make_persistent_receive<PMPI_Recv_init##Suffix>(buffer, n, type, from, tag, comm,   \
                                                               request);                           \
    }
#define BOTH_ENDS(Int)                                                                             \
    const Arguments<Int> sent{const_cast<void *>(out), outs, out_type, {to, out_tag}, comm};       \
    const Arguments<Int> received { in, ins, in_type, {from, in_tag}, comm }
#define REPLACED_ENDS(Int)                                                                         \
    const Arguments<Int> sent{buffer, n, type, {to, out_tag}, comm};                               \
    const Arguments<Int> received { buffer, n, type, {from, in_tag}, comm }
#define EXCHANGE(Name, Int)                                                                        \
    int MPI_##Name(const void *out, Int outs, MPI_Datatype out_type, int to, int out_tag,          \
                   void *in, Int ins, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,   \
                   MPI_Status *status)                                                             \
    {                                                                                              \
        BOTH_ENDS(Int);                                                                            \
        return exchange_or_pass<PMPI_##Name>(sent, received, status);                              \
    }
#define REPLACE(Name, Int)                                                                         \
    int MPI_##Name(void *buffer, Int n, MPI_Datatype type, int to, int out_tag, int from,          \
                   int in_tag, MPI_Comm comm, MPI_Status *status)                                  \
    {                                                                                              \
        REPLACED_ENDS(Int);                                                                        \
        return replace<PMPI_##Name>(sent, received, status);                                       \
    }

#define EXCHANGE_NONBLOCKING(Suffix, Int)                                                          \
    int PMPI_Isendrecv##Suffix(const void *out, Int outs, MPI_Datatype out_type, int to,           \
                               int out_tag, void *in, Int ins, MPI_Datatype in_type, int from,     \
                               int in_tag, MPI_Comm comm, MPI_Request *request);                   \
    int PMPI_Isendrecv_replace##Suffix(void *buffer, Int n, MPI_Datatype type, int to,             \
                                       int out_tag, int from, int in_tag, MPI_Comm comm,           \
                                       MPI_Request *request);                                      \
    int MPI_Isendrecv##Suffix(const void *out, Int outs, MPI_Datatype out_type, int to,            \
                              int out_tag, void *in, Int ins, MPI_Datatype in_type, int from,      \
                              int in_tag, MPI_Comm comm, MPI_Request *request)                     \
    {                                                                                              \
        BOTH_ENDS(Int);                                                                            \
        return begin_exchange_or_pass<PMPI_Isendrecv##Suffix>(sent, received, request);            \
    }                                                                                              \
    int MPI_Isendrecv_replace##Suffix(void *buffer, Int n, MPI_Datatype type, int to, int out_tag, \
                                      int from, int in_tag, MPI_Comm comm, MPI_Request *request)   \
    {                                                                                              \
        REPLACED_ENDS(Int);                                                                        \
        return begin_replace<PMPI_Isendrecv_replace##Suffix>(sent, received, request);             \
    }

#pragma GCC visibility push(default)
extern "C" {
SEND(Send, any, int)
SEND(Ssend, synchronous, int)
SEND(Rsend, any, int)
SEND(Bsend, packed, int)
BEGIN_SEND(Isend, any, int)
BEGIN_SEND(Issend, synchronous, int)
BEGIN_SEND(Irsend, any, int)
BEGIN_SEND(Ibsend, packed, int)
SEND_INIT(Send_init, Isend, any, int)
SEND_INIT(Ssend_init, Issend, synchronous, int)
SEND_INIT(Rsend_init, Irsend, any, int)
SEND_INIT(Bsend_init, Ibsend, packed, int)
RECEIVES(, int)
EXCHANGE(Sendrecv, int)
REPLACE(Sendrecv_replace, int)

#if MPI_VERSION >= 4
SEND(Send_c, any, MPI_Count)
SEND(Ssend_c, synchronous, MPI_Count)
SEND(Rsend_c, any, MPI_Count)
SEND(Bsend_c, packed, MPI_Count)
BEGIN_SEND(Isend_c, any, MPI_Count)
BEGIN_SEND(Issend_c, synchronous, MPI_Count)
BEGIN_SEND(Irsend_c, any, MPI_Count)
BEGIN_SEND(Ibsend_c, packed, MPI_Count)
SEND_INIT(Send_init_c, Isend, any, MPI_Count)
SEND_INIT(Ssend_init_c, Issend, synchronous, MPI_Count)
SEND_INIT(Rsend_init_c, Irsend, any, MPI_Count)
SEND_INIT(Bsend_init_c, Ibsend, packed, MPI_Count)
RECEIVES(_c, MPI_Count)
EXCHANGE(Sendrecv_c, MPI_Count)
REPLACE(Sendrecv_replace_c, MPI_Count)

#endif

#if defined(HEDDLE_MPI_4)
EXCHANGE_NONBLOCKING(, int)
#endif
#if MPI_VERSION >= 4
EXCHANGE_NONBLOCKING(_c, MPI_Count)
#endif
}
#pragma GCC visibility pop
