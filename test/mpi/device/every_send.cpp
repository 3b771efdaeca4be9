/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call that sends, blocking, nonblocking, persistent and partitioned, between device buffers,
 * at lengths around the protocol's thresholds, whether its receive comes first or last.
 */
#include "device_test.hpp"

using namespace device_test;

constexpr int lengths[] = {64, 8191, 8192, 8193, 16383, 16384, 16385, 65535, 65536, 65537, 300000};
constexpr int tag = 1;

/* The largest divisor of n that is at most 16. */
static int divisor(int n)
{
    int found = 1;
    for (int d = 2; d <= 16; ++d)
        if (n % d == 0)
            found = d;
    return found;
}

/* `n` bytes in device memory, in blocks with gaps between them. Thresholds are bytes, and Buffer
 * knows doubles alone. */
class Bytes {
public:
    Bytes(int n, int block, int gap)
        : n_(n),
          block_(block),
          stride_(block + gap),
          host_(static_cast<size_t>(n / block * stride_), 0xa5),
          memory_(own_device(), host_.size())
    {
        if (!memory_)
            throw std::runtime_error("no memory for a test's buffer");
    }

    void *at() const { return memory_.at(); }
    /* The type of the first `bytes` of them. The next ones follow it, gaps included. */
    MPI_Datatype make_type(int bytes) const
    {
        const int blocks = bytes / block_;
        MPI_Datatype vector, type;
        MPI_Type_vector(blocks, block_, stride_, MPI_BYTE, &vector);
        MPI_Type_create_resized(vector, 0, MPI_Aint{stride_} * blocks, &type);
        MPI_Type_free(&vector);
        MPI_Type_commit(&type);
        return type;
    }
    /* From now on they should be those of `seed`; and with fill(), they are. They repeat with no
     * power of two. */
    void expect(int seed)
    {
        for (int i = 0; i < n_; ++i)
            host_[static_cast<size_t>(i / block_ * stride_ + i % block_)] =
                static_cast<unsigned char>(seed * 37 + i * 7 + i / 251);
    }
    void fill(int seed)
    {
        expect(seed);
        memory_.write(0, host_.data(), host_.size());
    }
    void verify(const std::string &what) const
    {
        std::vector<unsigned char> found(host_.size());
        memory_.read(0, found.data(), found.size());
        const auto [is, should] = std::mismatch(found.begin(), found.end(), host_.begin());
        if (is != found.end())
            fail(what + ", " + std::to_string(n_) + " bytes" +
                 (stride_ > block_ ? " with gaps" : "") + ": byte " +
                 std::to_string(is - found.begin()) + " is " + std::to_string(*is) + ", not " +
                 std::to_string(*should));
    }

private:
    int n_, block_, stride_;
    std::vector<unsigned char> host_;
    gpu::Memory memory_;
};

/* The seeds of what a buffer holds before a message, of its messages, and of what its sender writes
 * over them. */
constexpr int before = 0, after = 250;
static int meetings;

/* When the receive comes: before the send is called, at about that time,
 * or when the send is under way. */
enum class When { first, meanwhile, last };
constexpr const char *texts[] = {", received first", ", received meanwhile", ", received last"};

/* What a kind of send asks of the test. A ready send must find its receive. A buffered send is
 * complete without it, and what the program writes then is no part of the message. */
enum class Mode { plain, buffered, ready };
using enum Mode;
static std::vector<When> times(Mode mode, When late)
{
    return mode == ready ? std::vector{When::first}
                         : std::vector{When::first, mode == buffered ? When::last : late};
}

template <class Call> struct Sending {
    const char *name;
    Mode mode;
    Call *call;
};
constexpr Sending<decltype(MPI_Send)> blocking[] = {{"Send", plain, MPI_Send},
                                                    {"Ssend", plain, MPI_Ssend},
                                                    {"Bsend", buffered, MPI_Bsend},
                                                    {"Rsend", ready, MPI_Rsend}};
constexpr Sending<decltype(MPI_Isend)> nonblocking[] = {{"Isend", plain, MPI_Isend},
                                                        {"Issend", plain, MPI_Issend},
                                                        {"Ibsend", buffered, MPI_Ibsend},
                                                        {"Irsend", ready, MPI_Irsend}};
constexpr Sending<decltype(MPI_Send_init)> persistent[] = {{"Send_init", plain, MPI_Send_init},
                                                           {"Ssend_init", plain, MPI_Ssend_init},
                                                           {"Bsend_init", buffered, MPI_Bsend_init},
                                                           {"Rsend_init", ready, MPI_Rsend_init}};

/* A message of each of the buffers, two at most. Rank 0 does `send`, rank 1 `receive`; both do
 * `complete` once. */
template <class Send, class Receive, class Complete>
static void meet(const std::string &what, Mode mode, When when, std::vector<Bytes> &buffers,
                 Send send, Receive receive, Complete complete)
{
    const auto seed_of = [seed = 1 + meetings++ % 100](size_t i) {
        return seed + 100 * static_cast<int>(i);
    };
    for (size_t i = 0; i < buffers.size(); ++i)
        buffers[i].fill(rank == 0 ? seed_of(i) : before);
    if (when == When::first) {
        if (rank == 1)
            receive();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        send();
        if (mode == buffered) {
            complete();
            for (Bytes &buffer : buffers)
                buffer.fill(after);
        }
    }
    if (when == When::last)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && when != When::first)
        receive();
    if (rank == 1 || mode != buffered)
        complete();
    for (size_t i = 0; i < buffers.size(); ++i) {
        if (rank == 1)
            buffers[i].expect(seed_of(i));
        buffers[i].verify(what + texts[static_cast<int>(when)]); /* a sender's stay as they are */
    }
}

static void one_by_one(int n, bool from_gaps, bool to_gaps)
{
    std::vector<Bytes> buffers;
    Bytes &buffer = buffers.emplace_back(n, divisor(n), (rank == 0 ? from_gaps : to_gaps) ? 5 : 0);
    MPI_Datatype type = buffer.make_type(n);
    MPI_Request r = MPI_REQUEST_NULL;
    const auto receive = [&] { MPI_Irecv(buffer.at(), 1, type, 0, tag, MPI_COMM_WORLD, &r); };
    const auto complete = [&] { MPI_Wait(&r, MPI_STATUS_IGNORE); };
    const auto meet_by = [&](const auto &sendings, When late, auto... request) {
        for (const auto &[name, mode, call] : sendings)
            for (const When when : times(mode, late)) {
                const auto send = [&] {
                    call(buffer.at(), 1, type, 1, tag, MPI_COMM_WORLD, request...);
                };
                meet(name, mode, when, buffers, send, receive, complete);
            }
    };
    meet_by(blocking, When::meanwhile);
    meet_by(nonblocking, When::last, &r);
    MPI_Type_free(&type);
}

/* Two requests, of a buffer without gaps and of one with them, that meet their like or, crossed,
 * the other. Each is started again and again, with other data. */
static void persistently(int n, bool crossed)
{
    std::vector<Bytes> buffers;
    std::vector<MPI_Datatype> types;
    for (const bool gaps : {false, true}) {
        buffers.emplace_back(n, divisor(n), gaps != (crossed && rank == 1) ? 5 : 0);
        types.push_back(buffers.back().make_type(n));
    }
    for (const auto &[name, mode, call] : persistent) {
        MPI_Request r[2];
        for (const int i : {0, 1}) {
            const Bytes &buffer = buffers[static_cast<size_t>(i)];
            const MPI_Datatype type = types[static_cast<size_t>(i)];
            if (rank == 0)
                call(buffer.at(), 1, type, 1, tag + i, MPI_COMM_WORLD, &r[i]);
            else
                MPI_Recv_init(buffer.at(), 1, type, 0, tag + i, MPI_COMM_WORLD, &r[i]);
        }
        const auto start_each = [&] { MPI_Start(&r[1]), MPI_Start(&r[0]); };
        const auto start_all = [&] { MPI_Startall(2, r); };
        const auto complete = [&] { MPI_Waitall(2, r, MPI_STATUSES_IGNORE); };
        for (const When when : times(mode, When::last))
            for (int round = 0; round < 2; ++round) {
                meet(std::string(name) + ", Start", mode, when, buffers, start_each, start_each,
                     complete);
                meet(std::string(name) + ", Startall", mode, when, buffers, start_all, start_all,
                     complete);
            }
        for (MPI_Request &each : r)
            MPI_Request_free(&each);
    }
    for (MPI_Datatype &type : types)
        MPI_Type_free(&type);
}

/* How a sender says that its partitions are ready: in an order in which they do not lie. */
struct Readiness {
    const char *name;
    void (*call)(int parts, MPI_Request &);
};
constexpr Readiness readiness[] = {
    {"Pready",
     [](int parts, MPI_Request &r) {
         for (int i = parts; i-- > 0;)
             MPI_Pready(i, r);
     }},
    {"Pready_range",
     [](int parts, MPI_Request &r) {
         MPI_Pready_range(parts / 2, parts - 1, r);
         if (parts > 1)
             MPI_Pready_range(0, parts / 2 - 1, r);
     }},
    {"Pready_list",
     [](int parts, MPI_Request &r) {
         std::vector<int> odd, even;
         for (int i = 0; i < parts; ++i)
             (i % 2 ? odd : even).push_back(i);
         MPI_Pready_list(static_cast<int>(odd.size()), odd.data(), r);
         MPI_Pready_list(static_cast<int>(even.size()), even.data(), r);
     }},
};

/* The two ends may divide a message as they like. */
static void in_partitions(int n, int sent, int received, bool from_gaps, bool to_gaps)
{
    const int parts = rank == 0 ? sent : received;
    std::vector<Bytes> buffers;
    Bytes &buffer = buffers.emplace_back(n, 1, (rank == 0 ? from_gaps : to_gaps) ? 2 : 0);
    MPI_Datatype type = buffer.make_type(n / parts);
    MPI_Request r;
    if (rank == 0)
        MPI_Psend_init(buffer.at(), parts, 1, type, 1, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    else
        MPI_Precv_init(buffer.at(), parts, 1, type, 0, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    const auto complete = [&] {
        if (rank == 0)
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        else
            for (int i = 0, arrived; i < parts; i += arrived)
                MPI_Parrived(r, i, &arrived);
    };
    const std::string numbers =
        ", " + std::to_string(sent) + " partitions to " + std::to_string(received);
    for (const auto &[name, say] : readiness)
        for (const When when : {When::first, When::last}) {
            const auto send = [&] { MPI_Start(&r), say(parts, r); };
            meet(
                name + numbers, plain, when, buffers, send, [&] { MPI_Start(&r); }, complete);
            MPI_Wait(&r, MPI_STATUS_IGNORE); /* what MPI_Parrived told of was there before */
        }
    MPI_Request_free(&r);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        std::vector<char> space(4 << 20); /* two messages may leave while two are still being
                                             received */
        void *at;
        int bytes;
        MPI_Buffer_attach(space.data(), static_cast<int>(space.size()));
        for (const int n : lengths) {
            const int many = divisor(n) > 1 ? divisor(n) : n; /* a prime's are single bytes */
            const int few = n % 3 == 0 && many > 3 ? 3 : n % 2 == 0 ? 2 : 1;
            for (const bool from_gaps : {false, true})
                for (const bool to_gaps : {false, true}) {
                    one_by_one(n, from_gaps, to_gaps);
                    in_partitions(n, many, few, from_gaps, to_gaps);
                    in_partitions(n, few, many, from_gaps, to_gaps);
                }
            for (const bool crossed : {false, true})
                persistently(n, crossed);
        }
        MPI_Buffer_detach(&at, &bytes);
    });
}
