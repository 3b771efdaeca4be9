/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers that a stream made and that a stream releases: the one that made them ends once MPI has
 * them, long before their messages do. On a GPU their memory is cudaMallocAsync's, which cannot be
 * shown to another process.
 */
#include "device_test.hpp"

#include <heddle.h>

using namespace device_test;

/* Device memory in the order of streams: one that makes it, and ends when it is told, and one that
 * releases it. */
class StreamBuffer {
public:
    /* `whole` lends its device, and what is in it. */
    StreamBuffer(const Layout &layout, const Buffer &whole)
        : bytes_(layout.bytes),
          whole_(whole),
          stream_(machine().make_stream(device())),
          at_(machine().allocate_on(device(), stream_, static_cast<size_t>(bytes_)))
    {
        if (!at_)
            throw std::runtime_error("no memory for a test's buffer");
        copy(whole_.at(), at_);
        machine().synchronize(device(), stream_);
    }
    StreamBuffer(const StreamBuffer &) = delete;
    ~StreamBuffer()
    {
        stream_ = machine().make_stream(device());
        copy(at_, whole_.at());
        machine().synchronize(device(), stream_);
        machine().release_on(device(), stream_, at_, static_cast<size_t>(bytes_));
        end_stream();
    }
    void *at() const { return at_; }
    void end_stream() { machine().end_stream(device(), stream_); }

private:
    static gpu::Machine &machine() { return gpu::Machine::get(); }
    static int device() { return own_device().device; }
    void copy(void *from, void *to) const
    {
        const heddle_type *const byte = heddle_type_predefined(HEDDLE_BYTE);
        const heddle_move move{
            {from, bytes_, byte, 0}, {to, bytes_, byte, 0}, bytes_, HEDDLE_OP_REPLACE};
        check(heddle_transfer_on_stream(&move, 1, stream_) == HEDDLE_SUCCESS, "a copy on a stream");
    }

    MPI_Aint bytes_;
    const Buffer &whole_;
    void *stream_;
    void *at_;
};

static void message(const Layout &layout, int n, bool receives_first)
{
    const std::string what = std::to_string(n) + " doubles, " + layout.name +
                             (receives_first ? ", received first" : ", sent first");
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    from.fill(n + rank);
    {
        StreamBuffer sent(layout, from), received(layout, to);
        MPI_Request requests[2];
        if (receives_first) {
            MPI_Irecv(received.at(), 1, layout.type, other(), 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Isend(sent.at(), 1, layout.type, other(), 1, MPI_COMM_WORLD, &requests[1]);
        sent.end_stream();
        if (!receives_first) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Irecv(received.at(), 1, layout.type, other(), 1, MPI_COMM_WORLD, &requests[0]);
        }
        received.end_stream();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    to.expect(n + other(), 0, n);
    to.verify(what);
    from.verify(what + ", the sender's");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const bool exports : {true, false}) {
            /* A simulated device exports all of its memory, unless it is told to fail. */
            if (gpu::Machine::get().is_simulated() && !exports)
                gpu::Machine::get().configure("reset delay_us=200 fail=export_memory:1+");
            for (const int n : {50, 3000, 200000})
                for (const MakeLayout make : every_layout)
                    for (const bool receives_first : {false, true})
                        message(make(n), n, receives_first);
            gpu::Machine::get().reset();
        }
    });
}
