// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/chunks.hpp"

#include "interpose/operation.hpp"
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace heddle::interpose {

namespace {

// ---- what is sent and not received --------------------------------------------------------------

// Packed chunks that the MPI sends.
struct Kept {
    Staging staging;
    std::vector<MPI_Request> sends;
    int64_t bytes;
};

class Outbox {
public:
    // Takes a tag for a message; or -1, where there is no room to keep it.
    int take_tag(int64_t bytes)
    {
        const std::lock_guard lock(mutex_);
        forget_what_is_sent();
        if (bytes_ + bytes > ChunkedSend::most_bytes_kept)
            return -1;
        bytes_ += bytes;
        return next_tag_ = next_tag_ == most_tag() ? 0 : next_tag_ + 1;
    }
    void keep(Kept what)
    {
        const std::lock_guard lock(mutex_);
        kept_.push_back(std::move(what));
        forget_what_is_sent();
    }
    bool is_empty()
    {
        const std::lock_guard lock(mutex_);
        forget_what_is_sent();
        return kept_.empty();
    }

private:
    // Two messages of one tag are not under way at the same time: a chunk is kept until it is
    // received, and the MPI has more tags than there is memory for messages of two chunks.
    static int most_tag()
    {
        static const int most = [] {
            void *value = nullptr;
            int there = 0;
            PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void *>(&value), &there);
            return there ? *static_cast<int *>(value) : 32767; // MPI promises so many
        }();
        return most;
    }
    void forget_what_is_sent()
    {
        std::erase_if(kept_, [this](Kept &each) {
            const bool sent = is_sent(each);
            bytes_ -= sent ? each.bytes : 0;
            return sent;
        });
    }
    // The last one is received last. Each is asked for itself: an error of one, or of the call,
    // does not say that the MPI reads no other.
    static bool is_sent(Kept &what)
    {
        for (; !what.sends.empty(); what.sends.pop_back()) {
            int done = 0;
            PMPI_Test(&what.sends.back(), &done, MPI_STATUS_IGNORE);
            if (!done)
                return false;
        }
        return true;
    }

    std::mutex mutex_;
    std::list<Kept> kept_;
    int64_t bytes_ = 0; // of what is kept, and of what will be
    int next_tag_ = 0;
};

Outbox &outbox() { return immortal<Outbox>(); }

} // namespace

// ---- sent ---------------------------------------------------------------------------------------

std::unique_ptr<ChunkedSend> ChunkedSend::make(const Data &data, int to, MPI_Comm comm)
{
    const int64_t bytes = data.bytes();
    if (bytes > most_bytes_kept)
        return nullptr;
    const int64_t chunk = heddle_message_chunk(bytes);
    if (bytes <= chunk)
        return nullptr;
    const int partner = partner_of(to, comm);
    if (partner == nobody || method_for(bytes, data.near()) != Method::one_shot)
        return nullptr;
    const int tag = outbox().take_tag(bytes);
    if (tag < 0)
        return nullptr;
    std::unique_ptr<ChunkedSend> made(new ChunkedSend(data, partner, tag, chunk));
    return made->staging_.failed() ? nullptr : std::move(made);
}

ChunkedSend::ChunkedSend(const Data &data, int partner, int tag, int64_t chunk)
    : data_(data),
      cut_{data.bytes(), chunk},
      partner_(partner),
      tag_(tag),
      staging_(data.bytes(), data.near()),
      wire_(Envelope{magic(), data.bytes(), chunk, own_rank(), Envelope::in_chunks, tag}.written())
{
}

ChunkedSend::~ChunkedSend()
{
    finish();
    outbox().keep({std::move(staging_), std::move(sends_), data_.bytes()});
}

void ChunkedSend::begin()
{
    count(Count::in_chunks);
    for (size_t i = 0; i < cut_.chunks(); ++i) {
        const int64_t offset = cut_.offset(i), bytes = cut_.bytes_of(i);
        const heddle_move move = {data_.side(offset), packed_side(staging_.at() + offset, bytes),
                                  bytes, HEDDLE_OP_REPLACE};
        packing_.push_back(nullptr);
        if (error_ == MPI_SUCCESS)
            fail(class_of(heddle_transfer_begin(&move, 1, &packing_.back())));
        goes_on();
    }
}

bool ChunkedSend::goes_on()
{
    while (sends_.size() < packing_.size()) {
        int done = 0;
        const int error = heddle_test(&packing_[sends_.size()], &done);
        if (error == HEDDLE_SUCCESS && !done)
            return true;
        send_next(class_of(error));
    }
    return false;
}

void ChunkedSend::finish()
{
    while (sends_.size() < packing_.size())
        send_next(class_of(heddle_wait(&packing_[sends_.size()])));
}

// An empty one says that the message has failed; so are those behind it. The MPI may refuse that,
// too, for want of memory, which it may have again once it has made progress. If it goes on to
// refuse, nobody can tell the receiver, and it waits. Synchronous: what the MPI has buffered at the
// receiver would wait there beyond any limit.
void ChunkedSend::send_next(int packed)
{
    fail(packed);
    const size_t number = sends_.size();
    MPI_Request &request = sends_.emplace_back(MPI_REQUEST_NULL);
    const auto send = [&](int64_t bytes) {
        return PMPI_Issend(staging_.at() + cut_.offset(number), static_cast<int>(bytes), MPI_PACKED,
                           partner_, tag_, private_comm(), &request);
    };
    if (error_ == MPI_SUCCESS)
        fail(send(cut_.bytes_of(number)));
    constexpr int most_tries = 100;
    for (int i = 0; error_ != MPI_SUCCESS && i < most_tries && send(0) != MPI_SUCCESS; ++i) {
        int found = 0;
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, private_comm(), &found, MPI_STATUS_IGNORE);
    }
}

void ChunkedSend::fail(int error)
{
    if (error_ == MPI_SUCCESS)
        error_ = error;
}

// ---- received -----------------------------------------------------------------------------------

ChunkedReceive::ChunkedReceive(const Envelope &envelope, Data data, std::byte *room, bool is_theirs)
    : cut_{envelope.bytes, envelope.offset},
      partner_(envelope.sender),
      tag_(envelope.slot),
      data_(std::move(data)),
      room_(room),
      is_theirs_(is_theirs)
{
    if (cut_.bytes > data_.bytes()) {
        error_ = MPI_ERR_TRUNCATE;
        nowhere_.resize(static_cast<size_t>(cut_.chunk));
    }
    for (size_t i = 0; i < cut_.chunks() && nowhere_.empty(); ++i)
        begin_receive(i);
}

ChunkedReceive::~ChunkedReceive()
{
    for (Patience patience; goes_on(); patience.wait())
        ;
}

void ChunkedReceive::begin_receive(size_t number)
{
    std::byte *const at = nowhere_.empty() ? room_ + cut_.offset(number) : nowhere_.data();
    MPI_Request &request = receives_.emplace_back(MPI_REQUEST_NULL);
    fail(PMPI_Irecv(at, static_cast<int>(cut_.bytes_of(number)), MPI_PACKED, partner_, tag_,
                    private_comm(), &request));
}

bool ChunkedReceive::goes_on()
{
    while (unpacking_.size() < cut_.chunks()) {
        const size_t next = unpacking_.size();
        if (next == receives_.size()) // nowhere, one after the other
            begin_receive(next);
        if (!has_come(next))
            return true;
        unpack(next);
    }
    for (; unpacked_ < unpacking_.size(); ++unpacked_) {
        int done = 0;
        const int error = heddle_test(&unpacking_[unpacked_], &done);
        if (error == HEDDLE_SUCCESS && !done)
            return true;
        fail(class_of(error));
    }
    return false;
}

// Of another length is what its sender could not pack, or not send.
bool ChunkedReceive::has_come(size_t number)
{
    MPI_Status status;
    int done = 0;
    const int error = PMPI_Test(&receives_[number], &done, &status);
    if (error == MPI_SUCCESS && !done)
        return false;
    fail(error);
    if (error == MPI_SUCCESS && bytes_of(status) != cut_.bytes_of(number))
        fail(MPI_ERR_OTHER);
    return true;
}

void ChunkedReceive::unpack(size_t number)
{
    const int64_t offset = cut_.offset(number), bytes = cut_.bytes_of(number);
    heddle_request *&request = unpacking_.emplace_back(nullptr);
    if (error_ != MPI_SUCCESS || is_theirs_)
        return;
    const heddle_move move = {packed_side(room_ + offset, bytes), data_.side(offset), bytes,
                              HEDDLE_OP_REPLACE};
    fail(class_of(heddle_transfer_begin(&move, 1, &request)));
}

void ChunkedReceive::fail(int error)
{
    if (error_ == MPI_SUCCESS)
        error_ = error;
}

// ---- the end ------------------------------------------------------------------------------------

void drop_what_comes()
{
    std::vector<std::byte> nowhere;
    for (;;) {
        MPI_Message message;
        MPI_Status status;
        int found = 0;
        PMPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, private_comm(), &found, &message, &status);
        if (!found)
            return;
        const int64_t bytes = bytes_of(status);
        nowhere.resize(static_cast<size_t>(bytes));
        PMPI_Mrecv(nowhere.data(), static_cast<int>(bytes), MPI_PACKED, &message,
                   MPI_STATUS_IGNORE);
    }
}

void finish_chunks()
{
    for (Patience patience; !outbox().is_empty(); patience.wait())
        drop_what_comes();
}

} // namespace heddle::interpose
