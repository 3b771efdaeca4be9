// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include "counts.hpp"
#include "gpu_memory.hpp"
#include "information.hpp"
#include "trial.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace heddle::tools {
namespace {

constexpr int warm_up = 3, rounds = 21;

// Finds the line about missing devices in what the library says of itself.
std::string why_no_device(const std::string &text)
{
    const size_t at = text.find("no device");
    return at == std::string::npos ? "no device" : text.substr(at, text.find('\n', at) - at);
}

bool check(int status, const char *call, std::string &reason)
{
    if (status == HEDDLE_SUCCESS)
        return true;
    const std::string detail = heddle_error_detail();
    reason = std::string(call) + ": " + heddle_strerror(status) +
             (detail.empty() ? "" : " (" + detail + ")");
    return false;
}

// The median of what `once(seconds)` yields.
template <class Once> bool median(double &seconds, Once &&once)
{
    std::vector<double> taken;
    for (int i = 0; i < warm_up + rounds; ++i) {
        double each = 0;
        if (!once(each))
            return false;
        if (i >= warm_up)
            taken.push_back(each);
    }
    seconds = median_of(std::move(taken));
    return true;
}

bool time_move(Gpu &gpu, const heddle_move &move, Timing &timing, std::string &reason)
{
    const std::string before = information();
    if (!check(heddle_transfer(&move, 1), "heddle_transfer", reason))
        return false;
    timing.by = done_between(before, information());
    return median(timing.gpu,
                  [&](double &seconds) {
                      return gpu.begin(reason) &&
                             check(heddle_transfer_on_stream(&move, 1, gpu.stream()),
                                   "heddle_transfer_on_stream", reason) &&
                             gpu.end(seconds, reason);
                  }) &&
           median(timing.wall, [&](double &seconds) {
               using Clock = std::chrono::steady_clock;
               const auto begin = Clock::now();
               const bool good = check(heddle_transfer(&move, 1), "heddle_transfer", reason);
               seconds = std::chrono::duration<double>(Clock::now() - begin).count();
               return good;
           });
}

bool time_copy(Gpu &gpu, void *to, const void *from, size_t bytes, Timing &timing,
               std::string &reason)
{
    return median(timing.gpu, [&](double &seconds) {
        return gpu.begin(reason) && gpu.copy(to, from, bytes, reason) && gpu.end(seconds, reason);
    });
}

} // namespace

std::optional<Measured> measure(const Type &type, const Facts &facts, std::string &reason)
{
    if (heddle_device_open() != HEDDLE_SUCCESS) {
        reason = why_no_device(information());
        return std::nullopt;
    }
    if (facts.bytes == 0) {
        reason = "there is no data to move";
        return std::nullopt;
    }
    const auto gpu = Gpu::open(reason);
    if (!gpu)
        return std::nullopt;
    const __int128 needed = static_cast<__int128>(facts.end) - facts.begin +
                            2 * static_cast<__int128>(facts.bytes) +
                            static_cast<__int128>(facts.touched.value_or(0)) + (1 << 20);
    if (needed > static_cast<__int128>(gpu->free_bytes())) {
        reason = "it lies in " + std::to_string(facts.begin) + " to " + std::to_string(facts.end) +
                 " from the buffer's address, more than the device has free";
        return std::nullopt;
    }
    // Displacements count from an address that is as aligned as an allocation's.
    constexpr int64_t alignment = 256;
    const int64_t begin = facts.begin - ((facts.begin % alignment) + alignment) % alignment;
    const auto bytes = static_cast<size_t>(facts.bytes);
    char *const memory = static_cast<char *>(gpu->allocate(static_cast<size_t>(facts.end - begin)));
    // A copy reads and writes each byte: one that moves as much as the layout's sectors and the
    // packed bytes.
    const int64_t touched = facts.touched.value_or(facts.bytes);
    const auto moved = static_cast<size_t>(touched / 2 + facts.bytes / 2),
               most = std::max(bytes, moved);
    void *const packed = gpu->allocate(most), *const other = gpu->allocate(most);
    if (!memory || !packed || !other) {
        reason = "device memory ran out";
        return std::nullopt;
    }
    const heddle_side user{memory - begin, facts.count, type.get(), 0};
    const heddle_side dense{packed, facts.bytes, heddle_type_predefined(HEDDLE_BYTE), 0};
    Measured measured{gpu->name(), {}, {}, {}, {}};
    if (!time_move(*gpu, {user, dense, facts.bytes, HEDDLE_OP_REPLACE}, measured.pack, reason) ||
        !time_move(*gpu, {dense, user, facts.bytes, HEDDLE_OP_REPLACE}, measured.unpack, reason) ||
        !time_copy(*gpu, other, packed, bytes, measured.copy, reason) ||
        !time_copy(*gpu, other, packed, std::max<size_t>(moved, 1), measured.limit, reason))
        return std::nullopt;
    return measured;
}

} // namespace heddle::tools
