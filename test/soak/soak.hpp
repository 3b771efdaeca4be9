/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the soak share: random choices that all ranks make alike, buffers that know
 * what they should hold, and what to do where a call fails.
 */
#pragma once

#include "../mpi/device/device_test.hpp"
#include "../unit/oracle/rng.hpp"

#include <functional>
#include <memory>

namespace soak {

using device_test::Buffer;
using device_test::Layout;
using device_test::rank;
using device_test::size;
using oracle::Rng;

struct Options {
    int64_t most = 1 << 20; /* bytes of a message at most */
    bool may_fail = false;  /* the device may fail: errors are no faults, wrong data is */
    bool only_host = false;
};
inline Options options;

/* Who does the steps: all ranks, or those that nobody kills. `rank` and `size` are those in it. */
inline MPI_Comm world = MPI_COMM_WORLD;

/* Messages and parts of collectives whose data were looked at,
 * and calls that failed where they may. */
inline int64_t verified, errors_told;

/* One buffer with its layout. */
struct Piece {
    Layout layout;
    Buffer buffer;
    Piece(Layout made, gpu::Kind kind, int copies)
        : layout(std::move(made)), buffer(kind, layout, copies)
    {
    }
};
using PiecePtr = std::unique_ptr<Piece>;

/* Elements of a message: any number, those about a threshold often. */
int64_t random_elements(Rng &rng);
/* In a layout and a kind of memory of `rng`'s choice. */
PiecePtr random_piece(Rng &rng, int64_t elements, int copies = 1);
/* The same kinds of memory, and one element after the other. */
PiecePtr dense_piece(Rng &rng, int64_t elements, int copies = 1);

/* Whether a call succeeded; an error is a fault unless the device may fail. */
bool succeeded(int error, const char *call);

/* Counts it, and looks at every byte. */
void verify(const Buffer &buffer, const std::string &what);

/* What one step does, on all ranks; `rng` is in the same state on each. */
void exchange(Rng &rng);
void collective(Rng &rng);
void one_sided(Rng &rng);
void partitioned(Rng &rng);
void files(Rng &rng);
void threads(Rng &rng);

/* Steps of all but one rank, which is killed amid its messages with them. Ends the process. */
[[noreturn]] void with_a_victim(uint64_t seed, double seconds,
                                const std::function<void(int64_t)> &step);

/* The N-th time that one rank's simulated device is asked for something fails. Errors are no faults
 * until it is mended. */
class Fault {
public:
    explicit Fault(Rng &rng);
    ~Fault();
    Fault(const Fault &) = delete;

private:
    bool is_made_;
    bool may_fail_ = options.may_fail;
};

} // namespace soak
