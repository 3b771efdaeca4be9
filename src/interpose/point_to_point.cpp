// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives. What travels has the program's communicator and tag, and is packed: a process
// without the interposer may be at the other end.
#include "interpose/message.hpp"
#include "interpose/persistent.hpp"
#include "interpose/report.hpp"

#include <type_traits>
#include <utility>

namespace heddle::interpose {

namespace {

std::optional<Data> data_for(int peer, const void *buffer, int64_t count, MPI_Datatype type)
{
    return peer == MPI_PROC_NULL ? std::nullopt : device_data(buffer, count, type);
}

// A message that could not be packed: its receiver has a notice, this process an error.
int refuse(const Message &message, int error, Peer to, MPI_Comm comm)
{
    Notice().send(message.bytes(), to, comm);
    return raise(comm, error);
}

// What an operation does in place of its send.
std::function<int(MPI_Request *)> notice_of(const Message *message, Peer to, MPI_Comm comm)
{
    return [=, notice = std::make_shared<Notice>()](MPI_Request *request) {
        return notice->begin(message->bytes(), to, comm, request);
    };
}

// What an operation does with what has come.
auto unpacking_of(const Message *message)
{
    return [=](const MPI_Status &status, std::vector<heddle_move> &moves) {
        return message->unpacking(status, moves);
    };
}

// ---- blocking -----------------------------------------------------------------------------------

template <auto down, class Int>
int send(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    flush();
    std::optional<Data> data = data_for(to, buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, to, tag, comm);
    }
    count(Count::staged);
    const Message message(*std::move(data));
    if (message.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    if (const int error = message.pack(); error != MPI_SUCCESS)
        return refuse(message, error, {to, tag}, comm);
    const Packed packed(message.bytes());
    return down(message.at(), packed.count(), packed.type(), to, tag, comm);
}

template <auto down, class Int> int receive(void *buffer, Int n, MPI_Datatype type, int from,
                                            int tag, MPI_Comm comm, MPI_Status *status)
{
    flush();
    std::optional<Data> data = data_for(from, buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, from, tag, comm, status);
    }
    count(Count::staged);
    const Message message(*std::move(data));
    if (message.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    const Packed packed(message.bytes());
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const int result = down(message.at(), packed.count(), packed.type(), from, tag, comm, &found);
    return message.unpack(result, found, comm);
}

template <auto down, class Int> int matched_receive(void *buffer, Int n, MPI_Datatype type,
                                                    MPI_Message *matched, MPI_Status *status)
{
    flush();
    std::optional<Data> data =
        *matched == MPI_MESSAGE_NO_PROC ? std::nullopt : device_data(buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, matched, status);
    }
    count(Count::staged);
    const Message message(*std::move(data));
    if (message.failed())
        return raise(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    const Packed packed(message.bytes());
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const int result = down(message.at(), packed.count(), packed.type(), matched, &found);
    return message.unpack(result, found, MPI_COMM_WORLD);
}

// One end of MPI_Sendrecv, as MPI gets it: the program's buffer, or packed bytes.
class End {
public:
    End(const void *buffer, int64_t n, MPI_Datatype type, int peer)
        : buffer_(const_cast<void *>(buffer)), count_(n), type_(type)
    {
        std::optional<Data> data = data_for(peer, buffer, n, type);
        if (!data)
            return;
        message_.emplace(*std::move(data));
        packed_.emplace(message_->bytes());
        buffer_ = message_->at();
        count_ = packed_->count();
        type_ = packed_->type();
    }
    bool is_staged() const { return message_.has_value(); }
    bool failed() const { return is_staged() && message_->failed(); }
    int pack() const { return is_staged() ? message_->pack() : MPI_SUCCESS; }
    int unpack(int result, const MPI_Status &status, MPI_Comm comm) const
    {
        return is_staged() ? message_->unpack(result, status, comm) : result;
    }
    void *buffer() const { return buffer_; }
    template <class Int> Int count() const { return static_cast<Int>(count_); }
    MPI_Datatype type() const { return type_; }
    const Message &message() const { return *message_; }

private:
    void *buffer_;
    int64_t count_;
    MPI_Datatype type_;
    std::optional<Message> message_;
    std::optional<Packed> packed_;
};

template <class Int> int receive_into(const End &in, Peer from, MPI_Comm comm)
{
    if constexpr (std::is_same_v<Int, int>)
        return PMPI_Recv(in.buffer(), in.count<int>(), in.type(), from.rank, from.tag, comm,
                         MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
    else
        return PMPI_Recv_c(in.buffer(), in.count<MPI_Count>(), in.type(), from.rank, from.tag, comm,
                           MPI_STATUS_IGNORE);
#endif
}

// The other process receives a notice, and what it sends is taken.
template <class Int>
int refuse_exchange(const End &out, const End &in, int error, Peer to, Peer from, MPI_Comm comm)
{
    Notice notice;
    MPI_Request request = MPI_REQUEST_NULL;
    if (notice.begin(out.message().bytes(), to, comm, &request) == MPI_SUCCESS) {
        receive_into<Int>(in, from, comm);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return raise(comm, error);
}

template <auto down, class Int>
int exchange(const End &out, Peer to, const End &in, Peer from, MPI_Comm comm, MPI_Status *status)
{
    count(Count::staged);
    if (out.failed() || in.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    if (const int error = out.pack(); error != MPI_SUCCESS)
        return refuse_exchange<Int>(out, in, error, to, from, comm);
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const int result =
        down(out.buffer(), out.template count<Int>(), out.type(), to.rank, to.tag, in.buffer(),
             in.template count<Int>(), in.type(), from.rank, from.tag, comm, &found);
    return in.unpack(result, found, comm);
}

template <auto down, class Int> int replace(void *buffer, Int n, MPI_Datatype type, Peer to,
                                            Peer from, MPI_Comm comm, MPI_Status *status)
{
    flush();
    const End both(buffer, n, type, MPI_ANY_SOURCE);
    if (!both.is_staged()) {
        count(Count::passed);
        return down(buffer, n, type, to.rank, to.tag, from.rank, from.tag, comm, status);
    }
    count(Count::staged);
    if (both.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    if (const int error = both.pack(); error != MPI_SUCCESS)
        return refuse_exchange<Int>(both, both, error, to, from, comm);
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const int result = down(both.buffer(), both.template count<Int>(), both.type(), to.rank, to.tag,
                            from.rank, from.tag, comm, &found);
    return both.unpack(result, found, comm);
}

// ---- nonblocking and persistent -----------------------------------------------------------------

template <auto down, class Int> int begin_send(const void *buffer, Int n, MPI_Datatype type, int to,
                                               int tag, MPI_Comm comm, MPI_Request *request)
{
    std::optional<Data> data = data_for(to, buffer, n, type);
    if (!data) {
        flush();
        count(Count::passed);
        return down(buffer, n, type, to, tag, comm, request);
    }
    const auto message = std::make_shared<const Message>(*std::move(data));
    if (message->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = comm;
    steps.pack.push_back(message->packing());
    steps.issue = [=, message = message.get()](MPI_Request *inner) {
        const Packed packed(message->bytes());
        return down(message->at(), packed.count(), packed.type(), to, tag, comm, inner);
    };
    steps.issue_notice = notice_of(message.get(), {to, tag}, comm);
    steps.keep = message;
    return begin(std::make_shared<const Steps>(std::move(steps)), false, request);
}

template <auto down, class Int> int begin_receive(void *buffer, Int n, MPI_Datatype type, int from,
                                                  int tag, MPI_Comm comm, MPI_Request *request)
{
    std::optional<Data> data = data_for(from, buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, from, tag, comm, request);
    }
    const auto message = std::make_shared<const Message>(*std::move(data));
    if (message->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = comm;
    steps.issue = [=, message = message.get()](MPI_Request *inner) {
        const Packed packed(message->bytes());
        return down(message->at(), packed.count(), packed.type(), from, tag, comm, inner);
    };
    steps.unpack = unpacking_of(message.get());
    steps.has_status = true;
    steps.keep = message;
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

template <auto down, class Int> int begin_matched_receive(void *buffer, Int n, MPI_Datatype type,
                                                          MPI_Message *matched,
                                                          MPI_Request *request)
{
    std::optional<Data> data =
        *matched == MPI_MESSAGE_NO_PROC ? std::nullopt : device_data(buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, matched, request);
    }
    const auto message = std::make_shared<const Message>(*std::move(data));
    if (message->failed())
        return raise(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = MPI_COMM_WORLD;
    steps.issue = [=, message = message.get()](MPI_Request *inner) { // at once
        const Packed packed(message->bytes());
        return down(message->at(), packed.count(), packed.type(), matched, inner);
    };
    steps.unpack = unpacking_of(message.get());
    steps.has_status = true;
    steps.keep = message;
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

// `sends`: the data are packed at each start; otherwise they are unpacked.
template <auto down, bool sends, class Buffer, class Int>
int make_persistent(Buffer *buffer, Int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    std::optional<Data> data = data_for(peer, buffer, n, type);
    if (!data) {
        count(Count::passed);
        return down(buffer, n, type, peer, tag, comm, request);
    }
    const auto message = std::make_shared<const Message>(*std::move(data));
    if (message->failed())
        return raise(comm, MPI_ERR_NO_MEM);
    const Packed packed(message->bytes());
    const int error = down(message->at(), packed.count(), packed.type(), peer, tag, comm, request);
    if (error != MPI_SUCCESS)
        return error;
    Steps steps;
    steps.comm = comm;
    if (sends) {
        steps.pack.push_back(message->packing());
        steps.issue_notice = notice_of(message.get(), {peer, tag}, comm);
    } else {
        steps.unpack = unpacking_of(message.get());
    }
    steps.has_status = !sends;
    steps.keep = message;
    keep_persistent(*request, std::move(steps));
    return MPI_SUCCESS;
}

template <auto down, class Int>
int exchange_or_pass(const void *out, Int outs, MPI_Datatype out_type, Peer to, void *in, Int ins,
                     MPI_Datatype in_type, Peer from, MPI_Comm comm, MPI_Status *status)
{
    flush();
    const End sent(out, outs, out_type, to.rank), received(in, ins, in_type, from.rank);
    if (sent.is_staged() || received.is_staged())
        return exchange<down, Int>(sent, to, received, from, comm, status);
    count(Count::passed);
    return down(out, outs, out_type, to.rank, to.tag, in, ins, in_type, from.rank, from.tag, comm,
                status);
}

#if defined(HEDDLE_MPI_4)
// Both ends of a nonblocking exchange, which live as long as it.
struct Ends {
    const End out, in;

    template <class Int> struct Arguments {
        const void *buffer;
        Int n;
        MPI_Datatype type;
        int peer;
    };
    template <class Int> Ends(const Arguments<Int> &out, const Arguments<Int> &in)
        : out(out.buffer, out.n, out.type, out.peer), in(in.buffer, in.n, in.type, in.peer)
    {
    }
};

// As a receive and a send, as MPI defines it. MPICH 4.0.2's own calls are wrong even on host
// memory: they leave the status empty, and MPI_Isendrecv_replace the data, too (docs/upstream.md).
template <auto send, auto receive, class Int> int begin_exchange(std::shared_ptr<const Ends> ends,
                                                                 Peer to, Peer from, MPI_Comm comm,
                                                                 MPI_Request *request)
{
    const End &out = ends->out, &in = ends->in;
    if (out.failed() || in.failed())
        return raise(comm, MPI_ERR_NO_MEM);
    Steps steps;
    steps.comm = comm;
    if (out.is_staged()) {
        steps.pack.push_back(out.message().packing());
        steps.issue_notice = notice_of(&out.message(), to, comm);
    }
    steps.issue = [=, in = &in](MPI_Request *inner) {
        return receive(in->buffer(), in->template count<Int>(), in->type(), from.rank, from.tag,
                       comm, inner);
    };
    steps.issue_also = [=, out = &out](MPI_Request *inner) {
        return send(out->buffer(), out->template count<Int>(), out->type(), to.rank, to.tag, comm,
                    inner);
    };
    if (in.is_staged())
        steps.unpack = unpacking_of(&in.message());
    steps.has_status = true;
    steps.keep = std::move(ends);
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

template <auto down, auto send, auto receive, class Int>
int begin_exchange_or_pass(const void *out, Int outs, MPI_Datatype out_type, Peer to, void *in,
                           Int ins, MPI_Datatype in_type, Peer from, MPI_Comm comm,
                           MPI_Request *request)
{
    flush();
    using Arguments = Ends::Arguments<Int>;
    const auto ends = std::make_shared<const Ends>(Arguments{out, outs, out_type, to.rank},
                                                   Arguments{in, ins, in_type, from.rank});
    if (ends->out.is_staged() || ends->in.is_staged())
        return begin_exchange<send, receive, Int>(ends, to, from, comm, request);
    count(Count::passed);
    return down(out, outs, out_type, to.rank, to.tag, in, ins, in_type, from.rank, from.tag, comm,
                request);
}

template <auto down, auto send, auto receive, class Int>
int begin_replace(void *buffer, Int n, MPI_Datatype type, Peer to, Peer from, MPI_Comm comm,
                  MPI_Request *request)
{
    flush();
    if (!device_data(buffer, n, type)) {
        count(Count::passed);
        return down(buffer, n, type, to.rank, to.tag, from.rank, from.tag, comm, request);
    }
    using Arguments = Ends::Arguments<Int>;
    const auto ends = std::make_shared<const Ends>(Arguments{buffer, n, type, to.rank},
                                                   Arguments{buffer, n, type, from.rank});
    return begin_exchange<send, receive, Int>(ends, to, from, comm, request);
}
#endif

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

// ---- the calls ----------------------------------------------------------------------------------

// The arguments of all sends and receives, `Int` being int, or MPI_Count where the name ends in _c.
#define SEND(Name, Int)                                                                            \
    int MPI_##Name(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)   \
    {                                                                                              \
        return send<PMPI_##Name>(buffer, n, type, to, tag, comm);                                  \
    }
#define BEGIN_SEND(Name, Int)                                                                      \
    int MPI_##Name(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,   \
                   MPI_Request *request)                                                           \
    {                                                                                              \
        return begin_send<PMPI_##Name>(buffer, n, type, to, tag, comm, request);                   \
    }
#define SEND_INIT(Name, Int)                                                                       \
    int MPI_##Name(const void *buffer, Int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,   \
                   MPI_Request *request)                                                           \
    {                                                                                              \
        return make_persistent<PMPI_##Name, true>(buffer, n, type, to, tag, comm, request);        \
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
        return make_persistent<PMPI_Recv_init##Suffix, false>(buffer, n, type, from, tag, comm,    \
                                                              request);                            \
    }
#define EXCHANGE(Name, Int)                                                                        \
    int MPI_##Name(const void *out, Int outs, MPI_Datatype out_type, int to, int out_tag,          \
                   void *in, Int ins, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,   \
                   MPI_Status *status)                                                             \
    {                                                                                              \
        return exchange_or_pass<PMPI_##Name>(out, outs, out_type, {to, out_tag}, in, ins, in_type, \
                                             {from, in_tag}, comm, status);                        \
    }
#define REPLACE(Name, Int)                                                                         \
    int MPI_##Name(void *buffer, Int n, MPI_Datatype type, int to, int out_tag, int from,          \
                   int in_tag, MPI_Comm comm, MPI_Status *status)                                  \
    {                                                                                              \
        return replace<PMPI_##Name>(buffer, n, type, {to, out_tag}, {from, in_tag}, comm, status); \
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
        return begin_exchange_or_pass<PMPI_Isendrecv##Suffix, PMPI_Isend##Suffix,                  \
                                      PMPI_Irecv##Suffix>(                                         \
            out, outs, out_type, {to, out_tag}, in, ins, in_type, {from, in_tag}, comm, request);  \
    }                                                                                              \
    int MPI_Isendrecv_replace##Suffix(void *buffer, Int n, MPI_Datatype type, int to, int out_tag, \
                                      int from, int in_tag, MPI_Comm comm, MPI_Request *request)   \
    {                                                                                              \
        return begin_replace<PMPI_Isendrecv_replace##Suffix, PMPI_Isend##Suffix,                   \
                             PMPI_Irecv##Suffix>(buffer, n, type, {to, out_tag}, {from, in_tag},   \
                                                 comm, request);                                   \
    }

#pragma GCC visibility push(default)
extern "C" {
SEND(Send, int)
SEND(Ssend, int)
SEND(Rsend, int)
SEND(Bsend, int)
BEGIN_SEND(Isend, int)
BEGIN_SEND(Issend, int)
BEGIN_SEND(Irsend, int)
BEGIN_SEND(Ibsend, int)
SEND_INIT(Send_init, int)
SEND_INIT(Ssend_init, int)
SEND_INIT(Rsend_init, int)
SEND_INIT(Bsend_init, int)
RECEIVES(, int)
EXCHANGE(Sendrecv, int)
REPLACE(Sendrecv_replace, int)

#if MPI_VERSION >= 4
SEND(Send_c, MPI_Count)
SEND(Ssend_c, MPI_Count)
SEND(Rsend_c, MPI_Count)
SEND(Bsend_c, MPI_Count)
BEGIN_SEND(Isend_c, MPI_Count)
BEGIN_SEND(Issend_c, MPI_Count)
BEGIN_SEND(Irsend_c, MPI_Count)
BEGIN_SEND(Ibsend_c, MPI_Count)
SEND_INIT(Send_init_c, MPI_Count)
SEND_INIT(Ssend_init_c, MPI_Count)
SEND_INIT(Rsend_init_c, MPI_Count)
SEND_INIT(Bsend_init_c, MPI_Count)
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
