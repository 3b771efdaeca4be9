// SPDX-License-Identifier: BSD-3-Clause
// A message in chunks, between processes that cannot read each other's memory. Packing, the MPI and
// unpacking overlap. An envelope takes the message's place, so matching and order stay the MPI's.
// The chunks have a tag of their own, in a communicator of the interposer's.
//
//  sender                                    receiver
//    === envelope, by the MPI ==========>    receives for all chunks, where they are to lie
//    pack a chunk into pinned memory
//    === chunk, by MPI_Issend ==========>    unpack it
//    pack the next ...
//
// The send ends when the MPI has all chunks, which may be long before they are received. The
// receiver may be in any call of the MPI's meanwhile, and not here: it must not be waited for.
#pragma once

#include "interpose/data.hpp"
#include "interpose/envelope.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace heddle::interpose {

// A message of so many bytes, in chunks of so many.
struct Cut {
    int64_t bytes, chunk;

    size_t chunks() const { return static_cast<size_t>((bytes + chunk - 1) / chunk); }
    int64_t offset(size_t number) const { return static_cast<int64_t>(number) * chunk; }
    int64_t bytes_of(size_t number) const { return std::min(chunk, bytes - offset(number)); }
};

// At the sender.
class ChunkedSend {
public:
    // Null where the message is to go whole: it is short, the receiver takes no envelopes, or too
    // much waits for receivers already.
    static std::unique_ptr<ChunkedSend> make(const Data &data, int to, MPI_Comm comm);
    ChunkedSend(const ChunkedSend &) = delete;
    ChunkedSend &operator=(const ChunkedSend &) = delete;
    // What the MPI still sends is kept until it has done so.
    ~ChunkedSend();

    const std::byte *wire() const { return wire_.data(); }
    // The MPI has the envelope. Begins to pack.
    void begin();
    // Gives the MPI what is packed, and waits for nothing. Whether there is more.
    bool goes_on();
    // Waits until the MPI has all chunks.
    void finish();
    // Packing has failed, or the MPI has refused a chunk. The receiver has an error then, too.
    int error() const { return error_; }

    // Messages in chunks are kept here until they are received. So are at most so many bytes.
    static constexpr int64_t most_bytes_kept = int64_t{1} << 30;

private:
    ChunkedSend(const Data &data, int partner, int tag, int64_t chunk);
    void send_next(int packed);
    void fail(int error);

    const Data data_;
    const Cut cut_;
    const int partner_, tag_;
    Staging staging_;
    const Envelope::Wire wire_;
    std::vector<heddle_request *> packing_; // of those that are begun
    std::vector<MPI_Request> sends_;        // of those that the MPI has
    int error_ = MPI_SUCCESS;
};

// At the receiver.
class ChunkedReceive {
public:
    // `room` has room for the message, if `data` have. It is theirs, or what is unpacked.
    ChunkedReceive(const Envelope &envelope, Data data, std::byte *room, bool is_theirs);
    ChunkedReceive(const ChunkedReceive &) = delete;
    ChunkedReceive &operator=(const ChunkedReceive &) = delete;
    ~ChunkedReceive();

    // Unpacks what has come, and waits for nothing. Whether there is more.
    bool goes_on();
    // An error class. MPI_ERR_TRUNCATE: the data are too short, and no chunk was written there.
    int error() const { return error_; }

private:
    void begin_receive(size_t number);
    bool has_come(size_t number);
    void unpack(size_t number);
    void fail(int error);

    const Cut cut_;
    const int partner_, tag_;
    const Data data_;
    std::byte *const room_;
    const bool is_theirs_;
    std::vector<std::byte> nowhere_; // where the chunks of a message go that is too long
    std::vector<MPI_Request> receives_;
    std::vector<heddle_request *> unpacking_; // of those that have come
    size_t unpacked_ = 0;
    int error_ = MPI_SUCCESS;
};

// In MPI_Finalize, once all operations are done. Chunks that have come are nobody's: their message
// was not received, or by a buffer that has no room for an envelope.
void drop_what_comes();
// Drops it until the MPI has sent all that is kept here.
void finish_chunks();

} // namespace heddle::interpose
