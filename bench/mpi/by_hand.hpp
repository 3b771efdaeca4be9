// SPDX-License-Identifier: BSD-3-Clause
// What a user writes who trusts no MPI with a datatype on a GPU. Kernels for exactly this layout
// pack into the other process's device memory (CUDA IPC). A message of no bytes follows, and
// kernels unpack. One block needs no kernel: the sender copies it to its place. If the sender does
// not know the place, as in MPI, the receiver reads the block once it was told of it.
#pragma once

#include "../gpu/layout.hpp"

#include <mpi.h>

namespace bench {

// The other process's memory.
class Opened {
public:
    // Collective of the two: each opens what the other gives.
    Opened(char *mine, int other, MPI_Comm comm = MPI_COMM_WORLD);
    Opened(const Opened &) = delete;
    // Collective, too: none of the two frees what the other has open.
    ~Opened()
    {
        cudaIpcCloseMemHandle(at_);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    char *get() const { return static_cast<char *>(at_); }

private:
    void *at_ = nullptr;
};

// What both processes have, and the other's of each. Made once: while a library has open what was
// freed, nothing else at its addresses can be opened.
struct Buffers {
    Buffers(int64_t span, int64_t packed, int other)
        : user(span),
          landing(packed),
          their_user(user.get(), other),
          their_landing(landing.get(), other)
    {
    }

    Device user;
    Device landing; // for what the other packs
    Opened their_user, their_landing;
};

class ByHand {
public:
    // `dense`: the layout is one block.
    ByHand(const Case &made, bool dense, const Buffers &buffers, int other);

    // So many messages, `apart` bytes from each other in the buffer, of which one message tells.
    void send(int n = 1, int64_t apart = 0);
    void receive(int n = 1, int64_t apart = 0);
    // The same, of one block: a message says where in the sender's memory it begins, and the
    // receiver reads it there. When it has is told by what it sends next.
    void offer();
    void read();
    // Microseconds of one copy of the packed bytes into the other's memory.
    double copy();

private:
    const Case &made_;
    const bool dense_;
    char *const user_, *const landing_;
    char *const there_; // where the other wants it
    const int other_;
    Stream stream_;
};

// What figure 6 of Jenkins et al. (IEEE TPDS 25, 2014) compares with: cudaMemcpy2D into pinned host
// memory, a message of that, and cudaMemcpy2D out of it.
class ThroughHost {
public:
    ThroughHost(const Case &made, char *user, int64_t bytes, int other)
        : made_(made), user_(user), host_(bytes), other_(other)
    {
    }

    void send();
    void receive();

private:
    const Case &made_;
    char *const user_;
    const Pinned host_;
    const int other_;
    Stream stream_;
};

} // namespace bench
