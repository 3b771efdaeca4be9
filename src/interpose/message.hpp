// SPDX-License-Identifier: BSD-3-Clause
// A message of one buffer: staging memory stands for it. If the sender's device fails, a notice
// goes in the message's place, so that its receiver has an error and does not wait.
#pragma once

#include "interpose/operation.hpp"

#include <utility>
#include <vector>

namespace heddle::interpose {

// Whom a message goes to or comes from.
struct Peer {
    int rank, tag;
};

// A buffer of the program's and the staging memory that stands for it.
class Message {
public:
    explicit Message(Data what)
        : data_(std::move(what)),
          staging_(data_.bytes(), data_.near(), method_for(data_.bytes(), data_.near()))
    {
    }

    bool failed() const { return staging_.failed(); }
    std::byte *at() const { return staging_.at(); }
    int64_t bytes() const { return data_.bytes(); }

    heddle_move packing() const { return pack_move(data_, at()); }
    int pack() const { return transfer({packing()}); }

    // What a blocking call that returned `result` has received. Nothing after an error.
    int unpack(int result, const MPI_Status &status, MPI_Comm comm) const;
    // The same for an operation, which carries out the moves. Returns an error class.
    int unpacking(const MPI_Status &status, std::vector<heddle_move> &moves) const;

private:
    bool is_notice(int64_t received) const;

    const Data data_;
    const Staging staging_;
};

// Tells the receiver of a message that it does not come. The notice is longer than the message: a
// receive of the message's own length ends with MPI_ERR_TRUNCATE. A longer one into device memory
// knows the notice by its end. A longer one into host memory does not.
class Notice {
public:
    // Both return what MPI returned. The notice lives until MPI has sent it.
    int send(int64_t bytes_of_message, Peer to, MPI_Comm comm);
    int begin(int64_t bytes_of_message, Peer to, MPI_Comm comm, MPI_Request *request);

    static constexpr int64_t end_bytes = 61; // odd, so a notice is no whole number of most elements
    // Whether these are the last bytes of a notice.
    static bool is_end(const std::byte *last);

private:
    void write(int64_t bytes_of_message);

    std::vector<std::byte> text_;
};

} // namespace heddle::interpose
