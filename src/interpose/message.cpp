// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/message.hpp"

#include "interpose/report.hpp"

#include <cstring>

namespace heddle::interpose {

namespace {

constexpr char end_of_notice[] =
    "\x1b heddle: the sender's device failed to pack this message. \x07";
static_assert(sizeof end_of_notice == Notice::end_bytes);

} // namespace

// ---- sent ---------------------------------------------------------------------------------------

std::unique_ptr<Reference> reference_for(const Data &data, int to, MPI_Comm comm)
{
    const bool may_be =
        has_met_peers() && data.bytes() >= Reference::least_bytes && is_device_memory(data.near());
    return may_be ? Reference::make(data.bytes(), data.near(), place_of(to, comm)) : nullptr;
}

std::unique_ptr<Reference> letter_for(const Data &data, int to, MPI_Comm comm)
{
    const bool may_be = has_met_peers() && data.bytes() == Envelope::wire_bytes;
    return may_be ? Reference::make_letter(place_of(to, comm)) : nullptr;
}

namespace {

Staging staging_for(const Data &data)
{
    return {data.bytes(), data.near(), method_for(data.bytes(), data.near())};
}

} // namespace

Outgoing::Outgoing(Data what, std::unique_ptr<Reference> reference)
    : data_(std::move(what)),
      reference_(std::move(reference)),
      staging_(reference_ ? Staging() : staging_for(data_))
{
}

const void *Outgoing::handed_on() const
{
    if (!reference_)
        return staging_.at();
    count(Count::by_reference);
    reference_->note_sent();
    return reference_->wire();
}

namespace {

// Errors that the MPI finds before it sends.
bool is_refusal(int error)
{
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(error, &error_class);
    return error_class == MPI_ERR_RANK || error_class == MPI_ERR_TAG ||
           error_class == MPI_ERR_COMM || error_class == MPI_ERR_ARG ||
           error_class == MPI_ERR_REQUEST;
}

} // namespace

int Outgoing::heard(int error) const
{
    if (error != MPI_SUCCESS && is_refusal(error))
        take_back();
    return error;
}

void Outgoing::take_back() const
{
    if (reference_)
        reference_->note_not_sent();
}

// ---- received -----------------------------------------------------------------------------------

std::optional<Data> received_data(const void *buffer, int64_t count, MPI_Datatype type)
{
    if (!has_met_peers())
        return device_data(buffer, count, type);
    std::optional<Data> data = any_data(buffer, count, type);
    return data && data->bytes() < Envelope::wire_bytes ? device_data(buffer, count, type)
                                                        : std::move(data);
}

Incoming::Incoming(Data what)
    : data_(std::move(what)),
      in_place_(data_.mpi_may_have_it()),
      staging_(in_place_ ? Staging() : staging_for(data_)),
      packed_(data_.bytes()),
      to_{in_place_ ? data_.first() : staging_.at(), packed_.count(), packed_.type()},
      on_device_(in_place_ ? is_device_memory(to_.at) : staging_.is_on_device())
{
}

int Incoming::receive(const Source &from, MPI_Status *status) const
{
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const int result = interpose::receive(to_, from, &found);
    return unpack(result, found, from.comm);
}

int Incoming::receive_matched(MPI_Message *message, MPI_Status *status) const
{
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const MPI_Comm comm = communicator_of(*message);
    const int result = interpose::receive_matched(to_, message, &found);
    return unpack(result, found, comm);
}

int Incoming::begin(const Source &from, MPI_Request *request) const
{
    return begin_receive(to_, from, request, &found_);
}

int Incoming::begin_matched(MPI_Message *message, MPI_Request *request) const
{
    return begin_receive_matched(to_, message, request, &found_);
}

int Incoming::start(MPI_Request persistent, const Source &from, MPI_Request *request) const
{
    return start_receive(persistent, to_, from, request, &found_);
}

int Incoming::finish(MPI_Request request, MPI_Status *status, MPI_Comm comm) const
{
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    return unpack(wait_for(request, &found), found, comm);
}

void Incoming::add_unpacking(Steps &steps) const
{
    steps.unpack = [this](MPI_Status &status, std::vector<heddle_move> &moves) {
        return unpacking(status, moves);
    };
    steps.ended = [this] { reading_.reset(); };
    steps.has_status = true;
}

// Bytes of what has come. Null where the device cannot fetch them.
const std::byte *Incoming::look(int64_t offset, int64_t bytes, std::byte *room) const
{
    std::byte *const first = static_cast<std::byte *>(to_.at) + offset;
    if (!on_device_)
        return first;
    const heddle_move move = {packed_side(first, bytes), packed_side(room, bytes), bytes,
                              HEDDLE_OP_REPLACE};
    return transfer({move}) == MPI_SUCCESS ? room : nullptr;
}

// Out of device memory only what may be one is fetched.
bool Incoming::is_notice(int64_t received) const
{
    std::byte room[Notice::end_bytes];
    if (received < Notice::end_bytes || (on_device_ && received % 2 == 0))
        return false;
    const std::byte *const last = look(received - Notice::end_bytes, Notice::end_bytes, room);
    return last && Notice::is_end(last);
}

int Incoming::unpacking(MPI_Status &status, std::vector<heddle_move> &moves) const
{
    const int64_t received = bytes_of(status);
    if (found_.source != source_is_right)
        status.MPI_SOURCE = found_.source;
    if (found_.is_truncated)
        return MPI_ERR_TRUNCATE;
    if (has_met_peers() && received == Envelope::wire_bytes) {
        Envelope::Wire room;
        const std::byte *const wire = look(0, received, room.data());
        if (!wire)
            return MPI_ERR_OTHER;
        if (const Envelope envelope = Envelope::read(wire); envelope.is_one())
            return unpacking_envelope(envelope, status, moves);
    }
    if (is_notice(received))
        return MPI_ERR_OTHER;
    if (received > 0 && !in_place_)
        moves.push_back(unpack_move(data_, to_.at, received));
    if (has_met_peers() && received >= Reference::least_bytes && is_device_memory(data_.near()))
        import_what_is_asked_for(data_);
    return MPI_SUCCESS;
}

int Incoming::unpacking_envelope(const Envelope &envelope, MPI_Status &status,
                                 std::vector<heddle_move> &moves) const
{
    reading_ = std::make_unique<Reading>(envelope);
    PMPI_Status_set_elements_x(&status, MPI_BYTE, envelope.bytes);
    if (envelope.bytes > bytes())
        return MPI_ERR_TRUNCATE;
    void *const at = reading_->at();
    if (!at)
        return MPI_ERR_OTHER;
    moves.push_back(unpack_move(data_, at, envelope.bytes));
    return MPI_SUCCESS;
}

int Incoming::unpack(int result, MPI_Status &status, MPI_Comm comm) const
{
    if (result != MPI_SUCCESS)
        return result;
    std::vector<heddle_move> moves;
    int error = unpacking(status, moves);
    if (error == MPI_SUCCESS)
        error = transfer(moves);
    reading_.reset();
    return raise(comm, error);
}

// ---- notices ------------------------------------------------------------------------------------

void Notice::write(int64_t bytes_of_message)
{
    text_.assign(static_cast<size_t>(bytes_of_message + end_bytes), std::byte{});
    std::memcpy(text_.data() + bytes_of_message, end_of_notice, end_bytes);
}

int Notice::send(int64_t bytes_of_message, Peer to, MPI_Comm comm)
{
    write(bytes_of_message);
    const Packed packed(bytes_of_message + end_bytes);
    return PMPI_Send(text_.data(), packed.count(), packed.type(), to.rank, to.tag, comm);
}

int Notice::begin(int64_t bytes_of_message, Peer to, MPI_Comm comm, MPI_Request *request)
{
    write(bytes_of_message);
    const Packed packed(bytes_of_message + end_bytes);
    return PMPI_Isend(text_.data(), packed.count(), packed.type(), to.rank, to.tag, comm, request);
}

// The type is asked only about what is as long as a notice.
bool Notice::is_in(const void *buffer, int64_t count, MPI_Datatype type, const MPI_Status &status)
{
    const int64_t received = bytes_of(status);
    if (received < end_bytes)
        return false;
    const ShapePtr shape = shape_of(type);
    if (!shape || count * shape->info().size < received)
        return false;
    const Data data{const_cast<void *>(buffer), count, shape};
    if (shape->info().contiguous && !is_device_memory(data.first())) // which some MPIs take
        return is_end(static_cast<const std::byte *>(data.first()) + received - end_bytes);
    std::byte room[end_bytes];
    const heddle_move last = {data.side(received - end_bytes), packed_side(room, end_bytes),
                              end_bytes, HEDDLE_OP_REPLACE};
    return received % 2 != 0 && transfer({last}) == MPI_SUCCESS && is_end(room);
}

bool Notice::is_end(const std::byte *last)
{
    return std::memcmp(last, end_of_notice, end_bytes) == 0;
}

} // namespace heddle::interpose
