/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libFuzzer target: calls of heddle.h in any order, with valid, invalid and freed arguments. Each
 * ends with an error or does what it says; an error leaves the outputs alone, and no memory but the
 * arguments' is touched.
 */
#include <heddle.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

namespace {

void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "API fuzzer: does not hold: %s\n", what);
    abort();
}

#define REQUIRE(condition) require(condition, #condition)

/* The bytes that say what is called, and with what; zeros after the last. */
class Input {
public:
    Input(const uint8_t *data, size_t size) : at_(data), end_(data + size) {}

    bool empty() const { return at_ == end_; }
    unsigned byte() { return empty() ? 0 : *at_++; }
    int64_t below(unsigned n) { return byte() % n; }
    bool rarely() { return byte() < 16; }

    int64_t number()
    {
        static constexpr int64_t limits[] = {
            0,         -1,        1LL << 31, -(1LL << 31), (1LL << 31) - 1, 1LL << 32,
            1LL << 40, 1LL << 61, 1LL << 62, INT64_MAX,    INT64_MIN,       INT64_MAX - 1};
        const unsigned kind = byte();
        if (kind < std::size(limits))
            return limits[kind];
        return kind < 64   ? static_cast<int8_t>(byte())
               : kind < 72 ? below(256) * 256 + below(256)
                           : below(12);
    }

    std::vector<int64_t> numbers(int64_t n)
    {
        std::vector<int64_t> all(static_cast<size_t>(n));
        for (int64_t &each : all)
            each = number();
        return all;
    }

private:
    const uint8_t *at_, *end_;
};

/* Types are used on this many bytes before and behind an address. */
constexpr int64_t half = 1 << 14;

struct Memory {
    std::vector<char> bytes = std::vector<char>(2 * half);
    char *middle() { return bytes.data() + half; }
};

class Session {
public:
    Session(const uint8_t *data, size_t size) : in_(data, size) {}
    ~Session()
    {
        for (heddle_type *type : held_)
            heddle_type_release(type);
    }

    void run()
    {
        for (int calls = 0; !in_.empty() && calls < 400; ++calls)
            call();
    }

private:
    /* A type: one that is held, a predefined one, one that was freed, or none. */
    heddle_type *type()
    {
        const unsigned kind = in_.byte();
        if (kind < 4)
            return nullptr;
        if (kind < 16 && !freed_.empty())
            return freed_[kind % freed_.size()];
        if (kind < 80 || held_.empty())
            return heddle_type_predefined(
                static_cast<heddle_predefined>(in_.byte() % HEDDLE_PREDEFINED_COUNT));
        return held_[in_.byte() % held_.size()];
    }

    bool is_usable(const heddle_type *type) const
    {
        return type && std::find(freed_.begin(), freed_.end(), type) == freed_.end();
    }

    int count() { return static_cast<int>(in_.rarely() ? -1 : in_.below(20)); }

    template <class Make> void construct(bool usable, Make make)
    {
        auto *const untouched = reinterpret_cast<heddle_type *>(uintptr_t{64});
        heddle_type *made = untouched;
        const bool wanted = !in_.rarely();
        const int error = make(wanted ? &made : nullptr);
        REQUIRE(error == HEDDLE_SUCCESS || made == untouched);
        if (error != HEDDLE_SUCCESS)
            return;
        REQUIRE(wanted && usable && made != untouched && made);
        heddle_type_info info{};
        REQUIRE(heddle_type_get_info(made, &info) == HEDDLE_SUCCESS);
        REQUIRE(info.size >= 0 && info.alignment >= 1 && info.elements >= (info.size > 0));
        REQUIRE(info.true_extent >= (info.size > 0));
        freed_.erase(std::remove(freed_.begin(), freed_.end(), made), freed_.end()); /* its place is
                                                                                        another's
                                                                                        now */
        held_.push_back(made);
        while (held_.size() > 24)
            release(0);
    }

    void release(size_t which)
    {
        heddle_type *const gone = held_[which];
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
        freed_.erase(std::remove(freed_.begin(), freed_.end(), gone), freed_.end());
        heddle_type_release(gone);
        if (std::find(held_.begin(), held_.end(), gone) != held_.end() || is_predefined(gone))
            return;
        freed_.push_back(gone);
        if (freed_.size() > 32) /* its place may be another's soon */
            freed_.pop_front();
    }

    static bool is_predefined(const heddle_type *type)
    {
        for (int i = 0; i < HEDDLE_PREDEFINED_COUNT; ++i)
            if (heddle_type_predefined(static_cast<heddle_predefined>(i)) == type)
                return true;
        return false;
    }

    void make_one()
    {
        heddle_type *const old = type();
        const bool usable = is_usable(old);
        const int64_t a = in_.number(), b = in_.number(), c = in_.number();
        switch (in_.below(5)) {
        case 0:
            return construct(usable, [&](auto **t) { return heddle_type_contiguous(a, old, t); });
        case 1:
            return construct(usable, [&](auto **t) { return heddle_type_vector(a, b, c, old, t); });
        case 2:
            return construct(usable,
                             [&](auto **t) { return heddle_type_hvector(a, b, c, old, t); });
        case 3:
            return construct(usable, [&](auto **t) { return heddle_type_resized(old, a, b, t); });
        default:
            return construct(usable, [&](auto **t) { return heddle_type_dup(old, t); });
        }
    }

    void make_of_arrays()
    {
        heddle_type *const old = type();
        const int n = count();
        const auto entries = static_cast<int64_t>(std::max(n, 0));
        const std::vector<int64_t> lens = in_.numbers(entries), at = in_.numbers(entries);
        const int64_t *const l = in_.rarely() ? nullptr : lens.data(), *const d = in_.rarely()
                                                                                      ? nullptr
                                                                                      : at.data();
        const bool usable = is_usable(old);
        switch (in_.below(6)) {
        case 0:
            return construct(usable,
                             [&](auto **t) { return heddle_type_indexed(n, l, d, old, t); });
        case 1:
            return construct(usable,
                             [&](auto **t) { return heddle_type_hindexed(n, l, d, old, t); });
        case 2:
            return construct(usable, [&](auto **t) {
                return heddle_type_indexed_block(n, in_.number(), d, old, t);
            });
        case 3:
            return construct(usable, [&](auto **t) {
                return heddle_type_hindexed_block(n, in_.number(), d, old, t);
            });
        case 4: {
            const std::vector<int64_t> starts = in_.numbers(entries);
            const int order = static_cast<int>(in_.below(3));
            return construct(usable, [&](auto **t) {
                return heddle_type_subarray(n, l, d, in_.rarely() ? nullptr : starts.data(), order,
                                            old, t);
            });
        }
        default:
            return make_struct(n, l, d);
        }
    }

    void make_struct(int n, const int64_t *lens, const int64_t *displs)
    {
        std::vector<heddle_type *> types;
        bool usable = true;
        for (int i = 0; i < n; ++i) {
            types.push_back(type());
            usable = usable && is_usable(types.back());
        }
        heddle_type *const *const all = in_.rarely() ? nullptr : types.data();
        construct(usable, [&](auto **t) { return heddle_type_struct(n, lens, displs, all, t); });
    }

    /* Whether `count` instances can be moved in a Memory: then a call may be given one. */
    static bool fits(const heddle_type *type, int64_t count)
    {
        heddle_type_info info{};
        if (heddle_type_get_info(type, &info) != HEDDLE_SUCCESS || !info.committed || count <= 0)
            return true; /* moves nothing */
        __extension__ using Wide = __int128;
        const Wide span = static_cast<Wide>(count - 1) * info.extent;
        const Wide low = info.true_lb + std::min<Wide>(span, 0);
        const Wide high =
            static_cast<Wide>(info.true_lb) + info.true_extent + std::max<Wide>(span, 0);
        return low >= -half && high <= half && static_cast<Wide>(info.size) * count <= half &&
               count <= half;
    }

    void move()
    {
        const heddle_type *const t = type(), *const u = type();
        const int64_t n = in_.number(), m = in_.number(), offset = in_.number();
        const bool fit = fits(t, n), both = fit && fits(u, m);
        const int64_t bytes = fit ? std::min<int64_t>(in_.number(), half) : 0;
        int64_t actual = -7, run = -7;
        std::array<iovec, 16> list{};
        const auto length = static_cast<int64_t>(list.size());
        int error = HEDDLE_SUCCESS;
        switch (in_.below(10)) {
        case 0:
            error = heddle_pack(from_.middle(), n, t, offset, to_.middle(), bytes, &actual);
            break;
        case 1:
            error = heddle_unpack(from_.middle(), bytes, to_.middle(), n, t, offset, &actual);
            break;
        case 2:
            error = heddle_copy(from_.middle(), n, t, to_.middle(), m, u, offset, both ? bytes : 0,
                                &actual);
            break;
        case 3:
            error = heddle_locate(n, t, offset, &actual, &run);
            REQUIRE(error != HEDDLE_SUCCESS || run > 0);
            break;
        case 4:
            error = heddle_iov_len(n, t, in_.number(), &actual, in_.rarely() ? nullptr : &run);
            break;
        case 5:
            error = heddle_iov(nullptr, n, t, offset, list.data(), length, &actual);
            REQUIRE(error != HEDDLE_SUCCESS || actual <= length);
            break;
        case 6:
            error = heddle_iov_bytes(nullptr, n, t, offset, list.data(), length, in_.number(),
                                     &actual, &run);
            break;
        case 7:
            if (both)
                error = heddle_accumulate(from_.middle(), n, in_.rarely() ? nullptr : t,
                                          to_.middle(), m, u, op());
            return;
        case 8:
            if (fit)
                error = heddle_pack_external(from_.middle(), n, t, to_.middle(), bytes, &actual);
            break;
        default:
            if (fit)
                error = heddle_unpack_external(from_.middle(), bytes, to_.middle(), n, t, &actual);
        }
        REQUIRE(error == HEDDLE_SUCCESS || actual == -7);
    }

    heddle_op op()
    {
        return static_cast<heddle_op>(in_.rarely() ? static_cast<int>(in_.number())
                                                   : in_.byte() % HEDDLE_OP_COUNT);
    }

    void transfer()
    {
        std::vector<heddle_move> moves;
        for (int64_t n = in_.below(3); n >= 0; --n) {
            const heddle_type *const t = type(), *const u = type();
            const int64_t a = in_.number(), b = in_.number();
            const bool fit = fits(t, a) && fits(u, b);
            moves.push_back({{in_.rarely() ? nullptr : from_.middle(), a, t, in_.number()},
                             {in_.rarely() ? nullptr : to_.middle(), b, u, in_.number()},
                             fit ? in_.number() : 0,
                             op()});
            if (!moves.back().from.buf || !moves.back().to.buf)
                moves.back().bytes = 0; /* absolute addresses lead anywhere */
        }
        const int64_t n = in_.rarely() ? in_.number() : static_cast<int64_t>(moves.size());
        const int64_t said = n > static_cast<int64_t>(moves.size()) ? 0 : n;
        if (in_.below(2) == 0) {
            (void)heddle_transfer(moves.data(), said);
            return;
        }
        heddle_request *request = nullptr;
        if (heddle_transfer_begin(moves.data(), said, &request) != HEDDLE_SUCCESS)
            return;
        heddle_request *const copy = request;
        REQUIRE(heddle_wait(&request) == HEDDLE_SUCCESS && !request);
        int done = 0;
        heddle_request *stale = copy;
        REQUIRE(!copy || heddle_test(&stale, &done) == HEDDLE_ERR_FREED);
    }

    void as_bytes()
    {
        const heddle_type *const t = type();
        size_t size = 0;
        if (heddle_flatten_size(t, &size) != HEDDLE_SUCCESS)
            return;
        std::vector<char> bytes(size);
        const size_t capacity = in_.rarely() ? size / 2 : size;
        if (heddle_flatten(t, bytes.data(), capacity) != HEDDLE_SUCCESS)
            return;
        REQUIRE(capacity == size);
        for (int64_t changes = in_.below(4); changes > 0; --changes) {
            const auto at = static_cast<size_t>(in_.number()) % size;
            bytes[at] = static_cast<char>(in_.byte());
        }
        construct(true,
                  [&](auto **made) { return heddle_unflatten(bytes.data(), bytes.size(), made); });
    }

    void ask()
    {
        const int any = static_cast<int>(in_.number()), other = static_cast<int>(in_.number());
        REQUIRE(heddle_strerror(any) && heddle_error_detail());
        heddle_type *const named = heddle_type_predefined(static_cast<heddle_predefined>(any));
        REQUIRE((named != nullptr) == (any >= 0 && any < HEDDLE_PREDEFINED_COUNT));
        const int defined = heddle_op_is_defined(static_cast<heddle_op>(other),
                                                 static_cast<heddle_predefined>(any));
        /* These are defined whatever the elements are. */
        const bool moves = other == HEDDLE_OP_REPLACE || other == HEDDLE_OP_NO_OP;
        REQUIRE(!defined || ((named || (moves && any == HEDDLE_MIXED)) && other >= 0 &&
                             other < HEDDLE_OP_COUNT));
        REQUIRE(!heddle_device_combines(static_cast<heddle_op>(other),
                                        static_cast<heddle_predefined>(any)));
        heddle_counter counter{};
        (void)heddle_counter_read(in_.number(), &counter);
        int64_t bytes = -7;
        const int error = heddle_type_device_memory(type(), in_.rarely() ? nullptr : &bytes);
        REQUIRE(error == HEDDLE_SUCCESS || bytes == -7);
        std::array<char, 64> text{};
        size_t length = 0;
        if (described_++ == 0) /* up to 64 MiB of text are made */
            (void)heddle_type_describe(type(), text.data(), static_cast<size_t>(in_.below(65)),
                                       &length);
        int64_t size = -7;
        const heddle_type *const t = type();
        REQUIRE(heddle_external_size(in_.number(), t, &size) == HEDDLE_SUCCESS || size == -7);
    }

    void allocate()
    {
        const bool staging = in_.below(2) == 0;
        const int64_t asked = in_.number();
        const int64_t bytes = asked > half ? asked | 1LL << 61 : asked; /* what there is, or what
                                                                           there never is */
        const void *const near = in_.rarely() ? from_.middle() : nullptr;
        void *const untouched = &in_;
        void *got = untouched;
        const int error = staging ? heddle_staging_alloc(bytes, near, &got)
                                  : heddle_scratch_alloc(bytes, near, &got);
        REQUIRE(error == HEDDLE_SUCCESS || got == untouched);
        REQUIRE(bytes >= 0 ? error == HEDDLE_SUCCESS || error == HEDDLE_ERR_NO_MEMORY
                           : error == HEDDLE_ERR_ARG);
        if (error != HEDDLE_SUCCESS)
            return;
        std::memset(got, 1, static_cast<size_t>(std::min<int64_t>(bytes, half)));
        staging ? heddle_staging_free(got) : heddle_scratch_free(got);
    }

    void call()
    {
        switch (in_.below(12)) {
        case 0:
        case 1:
            return make_one();
        case 2:
        case 3:
        case 4:
            return make_of_arrays();
        case 5: {
            heddle_type *const t = type();
            const int error = heddle_type_commit(t);
            REQUIRE(is_usable(t) || error != HEDDLE_SUCCESS);
            return;
        }
        case 6:
            if (!held_.empty())
                release(in_.byte() % held_.size());
            return;
        case 7:
            return transfer();
        case 8:
            return as_bytes();
        case 9:
            return ask();
        case 10:
            return in_.rarely() ? allocate() : move();
        default:
            return move();
        }
    }

    Input in_;
    Memory from_, to_;
    std::vector<heddle_type *> held_;
    std::deque<heddle_type *> freed_;
    int described_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***)
{
    REQUIRE(heddle_set("HEDDLE_DEVICE", "none") == HEDDLE_SUCCESS);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Session(data, size).run();
    return 0;
}
