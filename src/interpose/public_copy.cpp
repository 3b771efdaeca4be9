// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/public_copy.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::interpose {

namespace {

// MPICH 4.0.2 is wrong in windows that begin amid 16 bytes (docs/upstream.md).
constexpr std::align_val_t alignment{64};
constexpr int64_t piece_bytes = int64_t{4} << 20;

struct Runs {
    std::vector<int64_t> offsets, lengths;

    void add(int64_t offset, int64_t length)
    {
        if (!offsets.empty() && offsets.back() + lengths.back() == offset) {
            lengths.back() += length;
        } else {
            offsets.push_back(offset);
            lengths.push_back(length);
        }
    }
};

bool has_zero_byte(uint64_t word)
{
    constexpr uint64_t ones = ~uint64_t{0} / 255;
    return (word - ones) & ~word & (ones << 7);
}

// Of at most eight bytes from `at` on.
void add_differences(const std::byte *one, const std::byte *other, int64_t at, int64_t bytes,
                     Runs &runs)
{
    constexpr int64_t whole = sizeof(uint64_t);
    if (bytes == whole) {
        uint64_t a, b;
        std::memcpy(&a, one + at, sizeof a);
        std::memcpy(&b, other + at, sizeof b);
        if (a == b)
            return;
        if (!has_zero_byte(a ^ b))
            return runs.add(at, whole);
    }
    for (int64_t i = at; i < at + bytes; ++i)
        if (one[i] != other[i])
            runs.add(i, 1);
}

// Where two pieces of memory differ, by single bytes.
Runs differences(const std::byte *one, const std::byte *other, int64_t bytes)
{
    constexpr int64_t block = 4096, word = 8;
    Runs runs;
    for (int64_t at = 0; at < bytes; at += block) {
        const int64_t end = std::min(at + block, bytes);
        if (std::memcmp(one + at, other + at, static_cast<size_t>(end - at)) != 0)
            for (int64_t i = at; i < end; i += word)
                add_differences(one, other, i, std::min(word, end - i), runs);
    }
    return runs;
}

void copy_runs(const Runs &runs, const std::byte *from, std::byte *to)
{
    for (size_t i = 0; i < runs.offsets.size(); ++i)
        std::memcpy(to + runs.offsets[i], from + runs.offsets[i],
                    static_cast<size_t>(runs.lengths[i]));
}

int move_runs(const Runs &runs, std::byte *from, std::byte *to)
{
    const TypeRef type =
        make_type(heddle_type_hindexed, static_cast<int64_t>(runs.offsets.size()),
                  runs.lengths.data(), runs.offsets.data(), heddle_type_predefined(HEDDLE_BYTE));
    if (!type || heddle_type_commit(type.get()) != HEDDLE_SUCCESS)
        return MPI_ERR_NO_MEM;
    const int64_t bytes = info_of(type.get()).size;
    return transfer({{{from, 1, type.get(), 0}, {to, 1, type.get(), 0}, bytes, HEDDLE_OP_REPLACE}});
}

int copy_whole(void *from, void *to, int64_t bytes)
{
    return transfer({{packed_side(from, bytes), packed_side(to, bytes), bytes, HEDDLE_OP_REPLACE}});
}

} // namespace

void PublicCopy::Free::operator()(std::byte *at) const { operator delete[](at, alignment); }

PublicCopy::PublicCopy(void *base, int64_t bytes)
    : private_(static_cast<std::byte *>(base)),
      bytes_(bytes),
      public_(new (alignment, std::nothrow) std::byte[static_cast<size_t>(bytes)]),
      common_(new (alignment, std::nothrow) std::byte[static_cast<size_t>(bytes)]),
      piece_(std::min(bytes, piece_bytes), base)
{
}

std::shared_ptr<PublicCopy> PublicCopy::make(void *base, int64_t bytes)
{
    PublicCopyPtr copy(new PublicCopy(base, bytes));
    if (!copy->public_ || !copy->common_ || copy->piece_.failed() ||
        copy_whole(base, copy->at(), bytes) != MPI_SUCCESS)
        return nullptr;
    std::memcpy(copy->common_.get(), copy->at(), static_cast<size_t>(bytes));
    return copy;
}

// piece(offset, bytes) returns an error class.
template <class Piece> int PublicCopy::by_pieces(int64_t begin, int64_t end, Piece piece)
{
    const std::lock_guard lock(mutex_);
    int error = MPI_SUCCESS;
    for (int64_t at = is_closed_ ? end : begin; at < end && error == MPI_SUCCESS; at += piece_bytes)
        error = piece(at, std::min(end - at, piece_bytes));
    return error;
}

int PublicCopy::publish(int64_t begin, int64_t end)
{
    return by_pieces(begin, end, [this](int64_t at, int64_t bytes) {
        if (const int error = copy_whole(private_ + at, piece_.at(), bytes); error != MPI_SUCCESS)
            return error;
        const Runs stored = differences(piece_.at(), common_.get() + at, bytes);
        copy_runs(stored, piece_.at(), public_.get() + at);
        copy_runs(stored, piece_.at(), common_.get() + at);
        return int{MPI_SUCCESS};
    });
}

int PublicCopy::collect()
{
    return by_pieces(0, bytes_, [this](int64_t at, int64_t bytes) {
        const std::byte *const now = public_.get() + at;
        if (std::memcmp(now, common_.get() + at, static_cast<size_t>(bytes)) == 0)
            return int{MPI_SUCCESS};
        // Others may write into the public copy meanwhile: it is read once.
        std::memcpy(piece_.at(), now, static_cast<size_t>(bytes));
        const Runs put = differences(piece_.at(), common_.get() + at, bytes);
        if (put.offsets.empty())
            return int{MPI_SUCCESS};
        const int error = move_runs(put, piece_.at(), private_ + at);
        if (error == MPI_SUCCESS)
            copy_runs(put, piece_.at(), common_.get() + at);
        return error;
    });
}

void PublicCopy::close()
{
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
}

int PublicCopy::place_result(void *&buffer, int64_t count, MPI_Datatype type)
{
    const std::optional<Data> data = device_data_of_any_form(buffer, count, type);
    if (!data)
        return MPI_SUCCESS;
    const int64_t at = static_cast<std::byte *>(buffer) - private_;
    if (at + data->low() < 0 || at + data->high() > bytes_)
        return MPI_SUCCESS;
    buffer = public_.get() + at;
    return publish(at + data->low(), at + data->high());
}

} // namespace heddle::interpose
