/* SPDX-License-Identifier: BSD-3-Clause */
#include "soak.hpp"

namespace soak {

int64_t random_elements(Rng &rng)
{
    /* Bytes at which messages change their way:
     * envelopes, one-shots, launches that are shared, chunks. */
    static const std::vector<int64_t> thresholds = {
        8, 64, 1024, 4096, 8192, 16384, 64 << 10, 128 << 10, 256 << 10, 1 << 20, 2 << 20, 16 << 20};
    int64_t bytes =
        rng.percent(60) ? rng.pick(thresholds) + 8 * rng.in(-2, 2) : rng.scaled(options.most);
    if (bytes > options.most)
        bytes = rng.scaled(options.most);
    return std::max<int64_t>(bytes, 0) / 8;
}

static gpu::Kind random_kind(Rng &rng)
{
    static const std::vector<gpu::Kind> kinds = {gpu::Kind::device, gpu::Kind::device,
                                                 gpu::Kind::device, gpu::Kind::managed,
                                                 gpu::Kind::pinned, gpu::Kind::pageable};
    const gpu::Kind kind = rng.pick(kinds);
    return options.only_host ? gpu::Kind::pageable : kind;
}

/* A buffer of no elements has room for one, so that it has an address. */
static int room(int64_t elements) { return static_cast<int>(std::max<int64_t>(elements, 1)); }

PiecePtr random_piece(Rng &rng, int64_t elements, int copies)
{
    const auto make =
        device_test::every_layout[rng.in(0, std::size(device_test::every_layout) - 1)];
    const gpu::Kind kind = random_kind(rng);
    return std::make_unique<Piece>(make(room(elements), device_test::in_doubles), kind, copies);
}

PiecePtr dense_piece(Rng &rng, int64_t elements, int copies)
{
    const gpu::Kind kind = random_kind(rng);
    return std::make_unique<Piece>(device_test::contiguous(room(elements), device_test::in_doubles),
                                   kind, copies);
}

bool succeeded(int error, const char *call)
{
    if (error == MPI_SUCCESS)
        return true;
    if (options.may_fail) {
        ++errors_told;
        return false;
    }
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    device_test::fail(std::string(call) + ": " + text);
    return false;
}

void verify(const Buffer &buffer, const std::string &what)
{
    ++verified;
    buffer.verify(what);
}

} // namespace soak
