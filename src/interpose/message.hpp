// SPDX-License-Identifier: BSD-3-Clause
// A message of one buffer: staging memory stands for it. If the sender's device fails, a notice
// goes in the message's place, so that its receiver has an error and does not wait.
#pragma once

#include "interpose/chunks.hpp"
#include "interpose/held.hpp"
#include "interpose/operation.hpp"
#include "interpose/reference.hpp"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace heddle::interpose {

// Whom a message goes to or comes from.
struct Peer {
    int rank, tag;
};

// How a message goes. Buffered ones have room for themselves: always packed. To look into a message
// for a probe ends a synchronous send, so those go on until they are received: never in chunks.
enum class Way : uint8_t { any, synchronous, packed };

// What takes the place of the data that the MPI gets: nothing, or an envelope of one of these.
using Instead =
    std::variant<std::monostate, std::unique_ptr<Reference>, std::unique_ptr<ChunkedSend>>;
Instead instead_of(const Data &data, Way way, int to, MPI_Comm comm);

// A buffer that is sent, and what the MPI gets in its place: packed bytes, or an envelope.
class Outgoing {
public:
    explicit Outgoing(Data what, Instead instead = {});

    bool failed() const { return staging_.failed(); }
    int64_t bytes() const { return data_.bytes(); }
    // Before the MPI gets it.
    int pack() const;
    // Once it has it. What goes in chunks is packed only now.
    int pack_rest() const;
    // Both by an operation, whose steps are there otherwise.
    void add_packing(Steps &steps) const;

    // For the MPI. Once it is asked for, the MPI has it.
    const void *handed_on() const;
    int64_t bytes_handed_on() const;
    // The MPI has returned this error: if it has refused the arguments, nobody gets the message.
    // Returns it.
    int heard(int error) const;
    // The MPI has cancelled it: nobody gets it.
    void take_back() const;
    // The MPI has ended a synchronous send, but perhaps for a probe alone.
    bool may_be_probed() const;

private:
    heddle_move packing() const;
    Reference *reference() const;
    ChunkedSend *chunks() const;

    const Data data_;
    const Instead instead_;
    const Staging staging_;
};

// As device_data, of a buffer that receives. Where envelopes may come (peers.hpp), host memory too,
// if it has room for one.
std::optional<Data> received_data(const void *buffer, int64_t count, MPI_Datatype type);

// A buffer that receives: staging memory stands for it, unless the MPI may write where it lies.
class Incoming {
public:
    explicit Incoming(Data what);

    bool failed() const { return staging_.failed(); }
    int64_t bytes() const { return data_.bytes(); }
    // For the MPI. In place: memory of the program's.
    const Target &to() const { return to_; }
    bool is_in_place() const { return in_place_; }

    // The blocking calls return when all data are in the buffer. The first receives by `call`.
    template <class Receive> int receive_by(Receive call, MPI_Comm comm, MPI_Status *status) const
    {
        MPI_Status own{};
        MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
        PMPI_Status_set_elements_x(&found, MPI_BYTE, 0); // MPICH 4.3 hides errors, and writes none
        const int result = call(to_, &found);
        return unpack(result, found, comm);
    }
    int receive(const Source &from, MPI_Status *status) const;
    int receive_matched(MPI_Message *message, MPI_Status *status) const;
    // The others begin what an operation ends, which must live no longer than this.
    int begin(const Source &from, MPI_Request *request) const;
    int begin_matched(MPI_Message *message, MPI_Request *request) const;
    // Waits for what has been begun, in place of an operation.
    int finish(MPI_Request request, MPI_Status *status, MPI_Comm comm) const;
    // Cancels it. What has come already is lost, but its sender need not wait.
    void take_back(MPI_Request request) const;
    int start(MPI_Request persistent, const Source &from, MPI_Request *request) const;
    void add_unpacking(Steps &steps) const;
    // Whether a receive into host memory, which has ended so, got something in place of the data:
    // of so many bytes, all of which are there.
    static bool has_come_instead(const void *at, int64_t received, const MPI_Status &status);

private:
    // What has come in place of the data.
    struct Arrived {
        std::optional<Envelope> envelope;
        std::unique_ptr<Reading> reading;
        std::unique_ptr<ChunkedReceive> chunks;
        int error = MPI_SUCCESS;
    };

    int unpack(int result, MPI_Status &status, MPI_Comm comm) const;
    int unpacking(MPI_Status &status, std::vector<heddle_move> &moves) const;
    int unpacking_envelope(MPI_Status &status, std::vector<heddle_move> &moves) const;
    bool is_coming(const MPI_Status &status) const;
    Arrived find_envelope(const MPI_Status &status) const;
    void open_what_is_asked_for(int64_t received) const;
    const std::byte *look(int64_t offset, int64_t bytes, std::byte *room) const;
    bool is_notice(int64_t received) const;

    const Data data_;
    const bool in_place_;
    const Staging staging_;
    const Packed packed_;
    const Target to_;
    const bool on_device_;
    // Of what has come last.
    mutable Found found_;
    mutable std::optional<Arrived> arrived_;
};

// Tells the receiver of a message that it does not come. The notice is longer than the message: a
// receive of the message's own length ends with MPI_ERR_TRUNCATE. A longer one knows the notice by
// its end, unless the MPI receives into host memory by a request of its own.
class Notice {
public:
    // Both return what MPI returned. The notice lives until MPI has sent it.
    int send(int64_t bytes_of_message, Peer to, MPI_Comm comm);
    int begin(int64_t bytes_of_message, Peer to, MPI_Comm comm, MPI_Request *request);

    static constexpr int64_t end_bytes = 61; // odd, so a notice is no whole number of most elements
    // Whether these are the last bytes of a notice.
    static bool is_end(const std::byte *last);
    // Whether a blocking receive, by the MPI itself, has one in this buffer.
    static bool is_in(const void *buffer, int64_t count, MPI_Datatype type,
                      const MPI_Status &status);

private:
    void write(int64_t bytes_of_message);

    std::vector<std::byte> text_;
};

} // namespace heddle::interpose
