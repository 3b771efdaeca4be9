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

Instead instead_of(const Data &data, Way way, int to, MPI_Comm comm)
{
    if (!has_met_peers() || way == Way::packed)
        return {};
    const int64_t bytes = data.bytes();
    std::unique_ptr<Reference> reference;
    if (way == Way::synchronous && bytes == Envelope::wire_bytes)
        reference = Reference::make_letter(place_of(to, comm));
    else if (bytes >= Reference::least_bytes && is_device_memory(data.near()))
        reference = Reference::make(bytes, data.near(), place_of(to, comm));
    if (reference)
        return reference;
    if (way == Way::any)
        if (std::unique_ptr<ChunkedSend> chunks = ChunkedSend::make(data, to, comm))
            return chunks;
    return {};
}

namespace {

Staging staging_for(const Data &data)
{
    return {data.bytes(), data.near(), method_for(data.bytes(), data.near())};
}

} // namespace

Outgoing::Outgoing(Data what, Instead instead)
    : data_(std::move(what)),
      instead_(std::move(instead)),
      staging_(reference() || chunks() ? Staging() : staging_for(data_))
{
}

Reference *Outgoing::reference() const
{
    const auto *const found = std::get_if<std::unique_ptr<Reference>>(&instead_);
    return found ? found->get() : nullptr;
}

ChunkedSend *Outgoing::chunks() const
{
    const auto *const found = std::get_if<std::unique_ptr<ChunkedSend>>(&instead_);
    return found ? found->get() : nullptr;
}

heddle_move Outgoing::packing() const
{
    return pack_move(data_, reference() ? reference()->at() : staging_.at());
}

int Outgoing::pack() const { return chunks() ? MPI_SUCCESS : transfer({packing()}); }

int Outgoing::pack_rest() const
{
    if (!chunks())
        return MPI_SUCCESS;
    chunks()->finish();
    return chunks()->error();
}

void Outgoing::add_packing(Steps &steps) const
{
    ChunkedSend *const sent = chunks();
    if (!sent) {
        steps.pack.push_back(packing());
        return;
    }
    steps.pack_rest = [sent](bool waits) {
        if (waits)
            sent->finish();
        return sent->goes_on();
    };
    steps.unpack = [sent, others = std::move(steps.unpack)](MPI_Status &status,
                                                            std::vector<heddle_move> &moves) {
        const int error = others ? others(status, moves) : MPI_SUCCESS;
        return sent->error() != MPI_SUCCESS ? sent->error() : error;
    };
}

const void *Outgoing::handed_on() const
{
    if (chunks())
        return chunks()->wire();
    if (!reference())
        return staging_.at();
    count(Count::by_reference);
    reference()->note_sent();
    return reference()->wire();
}

int64_t Outgoing::bytes_handed_on() const
{
    return reference() || chunks() ? Envelope::wire_bytes : bytes();
}

bool Outgoing::may_be_probed() const { return reference() && reference()->may_be_probed(); }

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
    if (error == MPI_SUCCESS && chunks())
        chunks()->begin();
    return error;
}

void Outgoing::take_back() const
{
    if (reference())
        reference()->note_not_sent();
}

// ---- received -----------------------------------------------------------------------------------

std::optional<Data> received_data(const void *buffer, int64_t count, MPI_Datatype type)
{
    MPI_Count bytes = 0;
    if (has_met_peers() && count > 0 && type != MPI_DATATYPE_NULL)
        PMPI_Type_size_x(type, &bytes);
    return bytes * count < Envelope::wire_bytes ? device_data(buffer, count, type)
                                                : any_data(buffer, count, type);
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
    return receive_by(
        [&](const Target &to, MPI_Status *found) { return interpose::receive(to, from, found); },
        from.comm, status);
}

int Incoming::receive_matched(MPI_Message *message, MPI_Status *status) const
{
    return receive_by(
        [&](const Target &to, MPI_Status *found) {
            return interpose::receive_matched(to, message, found);
        },
        communicator_of(*message), status);
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
    return receive_by([&](const Target &, MPI_Status *found) { return wait_for(request, found); },
                      comm, status);
}

void Incoming::take_back(MPI_Request request) const
{
    MPI_Status status;
    int cancelled = 0;
    PMPI_Cancel(&request);
    if (wait_for(request, &status) != MPI_SUCCESS)
        return;
    PMPI_Test_cancelled(&status, &cancelled);
    for (Patience patience; !cancelled && is_coming(status); patience.wait())
        ;
    arrived_.reset();
}

void Incoming::add_unpacking(Steps &steps) const
{
    steps.unpack = [this](MPI_Status &status, std::vector<heddle_move> &moves) {
        return unpacking(status, moves);
    };
    steps.goes_on = [this](const MPI_Status &status) { return is_coming(status); };
    steps.ended = [this] { arrived_.reset(); };
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

bool Incoming::has_come_instead(const void *at, int64_t received, const MPI_Status &status)
{
    const auto *const first = static_cast<const std::byte *>(at);
    const bool is_one =
        received == Envelope::wire_bytes
            ? Envelope::read(first).is_one()
            : received >= Notice::end_bytes && Notice::is_end(first + received - Notice::end_bytes);
    int cancelled = 0;
    if (is_one)
        PMPI_Test_cancelled(&status, &cancelled);
    return is_one && !cancelled;
}

Incoming::Arrived Incoming::find_envelope(const MPI_Status &status) const
{
    Arrived arrived;
    if (found_.is_truncated || !has_met_peers() || bytes_of(status) != Envelope::wire_bytes)
        return arrived;
    Envelope::Wire room;
    const std::byte *const wire = look(0, Envelope::wire_bytes, room.data());
    if (!wire) {
        arrived.error = MPI_ERR_OTHER;
        return arrived;
    }
    const Envelope envelope = Envelope::read(wire);
    if (!envelope.is_one())
        return arrived;
    arrived.envelope = envelope;
    if (envelope.is_in_chunks())
        arrived.chunks = std::make_unique<ChunkedReceive>(
            envelope, data_, static_cast<std::byte *>(to_.at), in_place_);
    else
        arrived.reading = std::make_unique<Reading>(envelope);
    return arrived;
}

// Whether chunks of what has come are still on their way. Asked before unpacking.
bool Incoming::is_coming(const MPI_Status &status) const
{
    if (!arrived_)
        arrived_ = find_envelope(status);
    return arrived_->chunks && arrived_->chunks->goes_on();
}

int Incoming::unpacking(MPI_Status &status, std::vector<heddle_move> &moves) const
{
    const int64_t received = bytes_of(status);
    if (found_.source != source_is_right)
        status.MPI_SOURCE = found_.source;
    if (found_.is_truncated)
        return MPI_ERR_TRUNCATE;
    if (arrived_->envelope || arrived_->error != MPI_SUCCESS)
        return unpacking_envelope(status, moves);
    if (is_notice(received))
        return MPI_ERR_OTHER;
    if (received > 0 && !in_place_)
        moves.push_back(unpack_move(data_, to_.at, received));
    open_what_is_asked_for(received);
    return MPI_SUCCESS;
}

int Incoming::unpacking_envelope(MPI_Status &status, std::vector<heddle_move> &moves) const
{
    if (!arrived_->envelope)
        return arrived_->error;
    const Envelope &envelope = *arrived_->envelope;
    PMPI_Status_set_elements_x(&status, MPI_BYTE, envelope.bytes);
    if (arrived_->chunks) {
        open_what_is_asked_for(envelope.bytes);
        return arrived_->chunks->error();
    }
    if (envelope.bytes > bytes())
        return MPI_ERR_TRUNCATE;
    void *const at = arrived_->reading->at();
    if (!at)
        return MPI_ERR_OTHER;
    moves.push_back(unpack_move(data_, at, envelope.bytes));
    return MPI_SUCCESS;
}

// A long message that has come as it should not: its sender asks for memory to be opened.
void Incoming::open_what_is_asked_for(int64_t received) const
{
    if (has_met_peers() && received >= Reference::least_bytes && is_device_memory(data_.near()))
        import_what_is_asked_for(data_);
}

int Incoming::unpack(int result, MPI_Status &status, MPI_Comm comm) const
{
    if (result != MPI_SUCCESS)
        return result;
    for (Patience patience; is_coming(status); patience.wait())
        ;
    std::vector<heddle_move> moves;
    int error = unpacking(status, moves);
    if (error == MPI_SUCCESS)
        error = transfer(moves);
    arrived_.reset();
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

// A buffer that is shorter than a notice holds none, so its status is not read.
bool Notice::is_in(const void *buffer, int64_t count, MPI_Datatype type, const MPI_Status &status)
{
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    if (size * count < end_bytes)
        return false;
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
