// SPDX-License-Identifier: BSD-3-Clause
#include "tune_measure.hpp"

#include "counts.hpp"
#include "information.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace heddle::tools {
namespace {

using Clock = std::chrono::steady_clock;

void must(int status, const char *call)
{
    if (status != HEDDLE_SUCCESS)
        throw std::runtime_error(std::string(call) + ": " + heddle_strerror(status) + " " +
                                 heddle_error_detail());
}

// Forces a method for as long as it lives.
class Forced {
public:
    explicit Forced(const char *method)
    {
        must(heddle_force_method(method), "heddle_force_method");
    }
    Forced(const Forced &) = delete;
    Forced &operator=(const Forced &) = delete;
    ~Forced() { heddle_force_method(nullptr); }
};

// Whether transfers were done by that method, and by no other.
bool done_by(const char *method, const std::string &before)
{
    const std::string done = done_between(before, information());
    const std::string name = std::string("method ") + method;
    const size_t end = done.find(", kernel");
    return done.substr(0, end) == name;
}

} // namespace

double timed(const std::vector<heddle_move> &moves)
{
    const auto begin = Clock::now();
    const int status = heddle_transfer(moves.data(), static_cast<int64_t>(moves.size()));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    must(status, "heddle_transfer");
    return seconds;
}

std::optional<Measurement> time_by(const char *method, const std::vector<heddle_move> &moves,
                                   const TrialOptions &options)
{
    const Forced forced(method);
    const std::string before = information();
    timed(moves);
    if (!done_by(method, before))
        return std::nullopt;
    return measure_trials([&] { return timed(moves); }, options);
}

Bench::Bench()
{
    std::string reason;
    memory_ = TuneMemory::open(reason);
    if (!memory_)
        throw std::runtime_error(reason);
}

char *Bench::buffer(bool on_device, size_t which, int64_t bytes)
{
    Buffer &buffer = buffers_[on_device ? 1 : 0][which];
    if (buffer.bytes >= bytes)
        return static_cast<char *>(buffer.at);
    if (buffer.at)
        memory_->free(buffer.at);
    buffer = {};
    for (const int64_t wanted : {bytes + bytes / 2, bytes}) { // room to grow, or just enough
        const auto size = static_cast<size_t>(wanted);
        if (void *const at = on_device ? memory_->on_device(size, 0) : memory_->pinned(size)) {
            buffer = {at, wanted};
            return static_cast<char *>(at);
        }
    }
    throw NoRoom();
}

std::vector<heddle_move> Bench::moves(const Layout &layout, Path path, int copies)
{
    const bool packs =
        path == Path::pack || path == Path::to_host || path == Path::from_host_layout;
    const bool layout_on_host = path == Path::from_host_layout || path == Path::to_host_layout;
    const bool packed_on_host = path == Path::to_host || path == Path::from_host;
    char *const user = buffer(!layout_on_host, 0, copies * layout.span);
    char *const dense = buffer(!packed_on_host, 1, copies * layout.bytes);
    std::vector<heddle_move> moves;
    for (int i = 0; i < copies; ++i) {
        const heddle_side laid{user + i * layout.span, layout.count, layout.type.get(), 0};
        const heddle_side packed{dense + i * layout.bytes, layout.bytes,
                                 heddle_type_predefined(HEDDLE_BYTE), 0};
        moves.push_back(
            {packs ? laid : packed, packs ? packed : laid, layout.bytes, HEDDLE_OP_REPLACE});
    }
    return moves;
}

std::optional<Measurement> Bench::time(const Layout &layout, Path path, const char *method,
                                       const TrialOptions &options, int copies)
{
    std::vector<heddle_move> all;
    try {
        all = moves(layout, path, copies);
    } catch (const NoRoom &) {
        ++without_room_;
        return std::nullopt;
    }
    return time_by(method, all, options);
}

std::string Bench::chosen(const Layout &layout, Path path)
{
    const std::string before = information();
    timed(moves(layout, path, 1));
    const std::string done = done_between(before, information());
    const std::string begin = "method ";
    return done.starts_with(begin) ? done.substr(begin.size(), done.find(',') - begin.size()) : "";
}

double Bench::once(const Layout &layout, Path path, const char *method)
{
    const auto all = moves(layout, path, 1);
    if (!method)
        return timed(all);
    const Forced forced(method);
    return timed(all);
}

std::optional<double> Bench::expected(const Layout &layout, Path path, const char *method)
{
    const auto all = moves(layout, path, 1);
    double seconds = 0;
    return heddle_expect(all.data(), method, &seconds) == HEDDLE_SUCCESS
               ? std::optional<double>(seconds)
               : std::nullopt;
}

} // namespace heddle::tools
