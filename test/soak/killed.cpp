/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that is killed at any moment of its messages. The others have the random mix among
 * themselves meanwhile. In each step they have messages of device memory with the victim, which end
 * within seconds. The data are right, or an error says who died. The launcher leaves the others
 * alone (mpiexec -disable-auto-cleanup), and counts how many say "survived".
 */
#include "resources.hpp"
#include "soak.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <memory>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace soak {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int tag = 7;
constexpr double timeout = 5; /* seconds; a second is promised, on a machine that is not crowded */

double seconds_since(Clock::time_point then)
{
    return std::chrono::duration<double>(Clock::now() - then).count();
}

enum class Way { nonblocking, persistent, blocking };

/* One message between a rank and the victim. */
struct Message {
    bool is_to_victim;
    Way way; /* the survivor's; the victim's never blocks */
    int64_t elements;
    int seed;
    uint64_t piece;
};

/* The blocking ones come last, for the others are begun before. */
std::vector<Message> random_messages(uint64_t choices)
{
    Rng rng(choices);
    std::vector<Message> messages(static_cast<size_t>(rng.in(1, 4)));
    for (Message &m : messages)
        m = {rng.percent(50), static_cast<Way>(rng.in(0, 2)),
             std::max<int64_t>(random_elements(rng), 1), static_cast<int>(rng.in(1, 1000)),
             rng.next()};
    std::stable_partition(messages.begin(), messages.end(),
                          [](const Message &m) { return m.way != Way::blocking; });
    return messages;
}

/* One end of it, in device memory. */
class Side {
public:
    Side(const Message &message, int peer, bool is_victim)
        : message_(message),
          peer_(peer),
          sends_(message.is_to_victim != is_victim),
          way_(is_victim ? Way::nonblocking : message.way)
    {
        Rng rng(message.piece + is_victim);
        piece_ = device_piece(rng, message.elements);
        if (sends_)
            piece_->buffer.fill(message.seed);
    }

    void begin()
    {
        void *const at = piece_->buffer.at();
        const MPI_Datatype type = piece_->buffer.type();
        if (way_ == Way::blocking)
            return;
        const bool persistent = way_ == Way::persistent;
        if (sends_)
            error_ = (persistent ? MPI_Send_init : MPI_Isend)(at, 1, type, peer_, tag,
                                                              MPI_COMM_WORLD, &request_);
        else
            error_ = (persistent ? MPI_Recv_init : MPI_Irecv)(at, 1, type, peer_, tag,
                                                              MPI_COMM_WORLD, &request_);
        if (persistent && error_ == MPI_SUCCESS)
            error_ = MPI_Start(&request_);
    }

    void end()
    {
        const auto began = Clock::now();
        if (way_ == Way::blocking)
            error_ = sends_ ? MPI_Send(piece_->buffer.at(), 1, piece_->buffer.type(), peer_, tag,
                                       MPI_COMM_WORLD)
                            : MPI_Recv(piece_->buffer.at(), 1, piece_->buffer.type(), peer_, tag,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (error_ == MPI_SUCCESS)
            error_ = MPI_Wait(&request_, MPI_STATUS_IGNORE);
        if (request_ != MPI_REQUEST_NULL)
            MPI_Request_free(&request_);
        device_test::check(seconds_since(began) < timeout, to_text() + " takes long");
        judge();
    }

private:
    static PiecePtr device_piece(Rng &rng, int64_t elements)
    {
        const auto make =
            device_test::every_layout[rng.in(0, std::size(device_test::every_layout) - 1)];
        return std::make_unique<Piece>(make(static_cast<int>(elements), device_test::in_doubles),
                                       gpu::Kind::device, 1);
    }

    std::string to_text() const
    {
        return std::string(sends_ ? "a message to" : "a message from") + " the victim, of " +
               std::to_string(message_.elements) + ", in way " +
               std::to_string(static_cast<int>(way_));
    }

    void judge()
    {
        if (error_ == MPI_SUCCESS) {
            if (sends_)
                return;
            piece_->buffer.expect(message_.seed, 0, message_.elements);
            return verify(piece_->buffer, to_text());
        }
        ++errors_told;
        int of = 0, length = 0;
        char text[MPI_MAX_ERROR_STRING];
        MPI_Error_class(error_, &of);
        MPI_Error_string(error_, text, &length);
        device_test::check(of == MPIX_ERR_PROC_FAILED &&
                               std::strstr(text, ("rank " + std::to_string(peer_)).c_str()),
                           to_text() + " ends by another error: " + text);
    }

    const Message message_;
    const int peer_;
    const bool sends_;
    const Way way_;
    PiecePtr piece_;
    MPI_Request request_ = MPI_REQUEST_NULL;
    int error_ = MPI_SUCCESS;
};

/* The messages of one step between a rank and the victim. */
class Sides {
public:
    Sides(uint64_t step, int survivor, int peer, bool is_victim)
    {
        for (const Message &m : random_messages(Rng::mix(step, static_cast<uint64_t>(survivor))))
            sides_.push_back(std::make_unique<Side>(m, peer, is_victim));
    }
    void begin()
    {
        for (const auto &side : sides_)
            side->begin();
    }
    void end()
    {
        for (const auto &side : sides_)
            side->end();
    }

private:
    std::vector<std::unique_ptr<Side>> sides_;
};

uint64_t step_seed(uint64_t seed, int64_t number)
{
    return Rng::mix(seed ^ 0x6b696c6c, static_cast<uint64_t>(number));
}

/* UCX reserves a place in the receiver's shared queue before it copies a message there. Whoever
 * dies between the two blocks that queue for all of the receiver's peers (README.gpu). */
bool is_in_shared_queue()
{
    constexpr const char *sends = "uct_mm_ep_am_";
    std::array<void *, 128> frames;
    const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
    return std::any_of(frames.begin(), frames.begin() + depth, [](void *frame) {
        Dl_info of{};
        return dladdr(frame, &of) && of.dli_sname &&
               std::strncmp(of.dli_sname, sends, std::strlen(sends)) == 0;
    });
}

extern "C" void die(int)
{
    if (!is_in_shared_queue())
        kill(getpid(), SIGKILL);
}

/* Goes on until it is killed, at a moment that no call of MPI chooses. */
[[noreturn]] void be_victim(uint64_t seed, double seconds, int ranks, int self)
{
    Rng rng(Rng::mix(seed, 1));
    const std::chrono::microseconds moment(rng.in(0, static_cast<int64_t>(seconds * 6e5)));
    is_in_shared_queue(); /* loads what backtrace needs */
    std::signal(SIGUSR2, die);
    std::thread([moment, victim = pthread_self()] {
        for (std::this_thread::sleep_for(moment);;
             std::this_thread::sleep_for(std::chrono::microseconds(50)))
            pthread_kill(victim, SIGUSR2);
    }).detach();
    for (int64_t number = 0;; ++number) {
        std::vector<std::unique_ptr<Sides>> all;
        for (int r = 0; r < ranks; ++r)
            if (r != self)
                all.push_back(std::make_unique<Sides>(step_seed(seed, number), r, r, true));
        for (const auto &sides : all)
            sides->begin();
        for (const auto &sides : all)
            sides->end();
    }
}

/* Waits for what the living still tell each other: a receiver gives back what it read a little
 * after its receive. */
int64_t settled(const char *counter, int64_t most)
{
    constexpr double patience = 5;
    int found;
    for (const auto began = Clock::now();
         device_test::counted(counter) > most && seconds_since(began) < patience;)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &found, MPI_STATUS_IGNORE);
    return device_test::counted(counter);
}

/* All that a dead rank had is given back. A communicator keeps the types that its members told
 * last, and so their images. */
void expect_nothing_left(int64_t most_open)
{
    constexpr int64_t late = 4; /* what is opened once, and was not needed before */
    const int64_t images = device_test::counted("images_bytes");
    for (const auto &[counter, most] : {std::pair<const char *, int64_t>{"messages_kept", 0},
                                        std::pair<const char *, int64_t>{"slabs_pinned_used", 0},
                                        std::pair{"slabs_device_used", images}}) {
        const int64_t now = settled(counter, most);
        device_test::check(now <= most, std::string(counter) + " is " + std::to_string(now));
    }
    const Resources now = Resources::now();
    device_test::check(now.descriptors <= most_open + late,
                       "descriptors: " + std::to_string(most_open) + " before; " + to_text(now));
}

} // namespace

void with_a_victim(uint64_t seed, double seconds, const std::function<void(int64_t)> &step)
{
    const int victim = static_cast<int>(Rng(Rng::mix(seed, 0)).in(0, size - 1)), ranks = size,
              self = rank;
    MPI_Comm_split(MPI_COMM_WORLD, self == victim, self, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (self == victim)
        be_victim(seed, seconds, ranks, self);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int64_t most_open = 0, steps_before = 0; /* it had died */
    const auto began = Clock::now();
    for (int64_t number = 0, goes_on = 1; goes_on; ++number) {
        Sides sides(step_seed(seed, number), self, victim, false);
        alarm(60); /* should it not end */
        sides.begin();
        step(number);
        sides.end();
        if (errors_told == 0) {
            most_open = std::max(most_open, Resources::now().descriptors);
            steps_before = number;
        }
        goes_on = seconds_since(began) < seconds;
        MPI_Bcast(&goes_on, 1, MPI_INT64_T, 0, world);
    }
    MPI_Barrier(world);
    std::printf("rank %d: %ld verified, %ld errors told; rank %d was killed\n", self,
                static_cast<long>(verified), static_cast<long>(errors_told), victim);
    expect_nothing_left(steps_before < 10 ? Resources::now().descriptors : most_open);
    int64_t told = errors_told; /* who did few steps may have had none with the victim */
    MPI_Allreduce(MPI_IN_PLACE, &told, 1, MPI_INT64_T, MPI_SUM, world);
    device_test::check(told > 0, "nobody was told of a death");
    MPI_Finalize();
    if (device_test::failures == 0)
        std::printf("survived\n");
    std::exit(device_test::failures != 0);
}

} // namespace soak
