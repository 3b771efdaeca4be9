// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/switches.hpp"

#include <charconv>
#include <iterator>
#include <optional>
#include <string>

namespace heddle::gpu::sim {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Call::count)> call_names{
    "allocate",
    "free",
    "allocate_pinned",
    "free_pinned",
    "stream_create",
    "stream_device",
    "stream_synchronize",
    "launch",
    "copy",
    "copy_2d",
    "copy_3d",
    "done_acquire",
    "done_test",
    "done_wait",
    "done_after_all",
    "export_memory",
    "import_memory",
    "close_memory",
    "pin",
    "unpin",
    "execute"};

std::optional<int64_t> number(std::string_view text)
{
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

template <class Names> std::optional<size_t> index_of(const Names &names, std::string_view name)
{
    for (size_t i = 0; i < std::size(names); ++i)
        if (name == names[i])
            return i;
    return std::nullopt;
}

// Takes the next word off the text; empty at its end.
std::string_view next_word(std::string_view &text)
{
    constexpr std::string_view blank = " \t\n";
    const size_t begin = text.find_first_not_of(blank);
    if (begin == text.npos)
        return text = {};
    const size_t end = std::min(text.find_first_of(blank, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

// The switches that make a device slow.
constexpr struct {
    std::string_view name;
    int64_t Speeds::*value;
} speed_names[] = {{"launch_ns", &Speeds::launch_ns}, {"copy_ns", &Speeds::copy_ns},
                   {"link_mb", &Speeds::link_mb},     {"memory_mb", &Speeds::memory_mb},
                   {"row_ns", &Speeds::row_ns},       {"block_ns", &Speeds::block_ns},
                   {"peer_mb", &Speeds::peer_mb},     {"peer_ns", &Speeds::peer_ns},
                   {"import_ns", &Speeds::import_ns}};

Fault nonsense(std::string_view word)
{
    return {HEDDLE_ERR_ARG, "sim: no such switch: " + std::string(word)};
}

} // namespace

struct Switches::Settings {
    bool reset = false;
    std::optional<int64_t> delay_us, reorder, seed, device_memory, pinned_memory, program_memory,
        peer_copy, pageable_copy, dones;
    std::array<std::optional<int64_t>, std::size(speed_names)> speeds;
    std::vector<Failure> failures;
};

Fault Switches::parse_failure(std::string_view value, Error error, Settings &settings)
{
    const size_t colon = value.find(':');
    if (colon == value.npos)
        return nonsense(value);
    Failure failure{};
    failure.error = error;
    const std::string_view name = value.substr(0, colon);
    if (const auto call = index_of(call_names, name))
        failure.call = static_cast<Call>(*call);
    else if (name == "any")
        failure.call = Call::count;
    else
        return nonsense(value);
    std::string_view when = value.substr(colon + 1);
    const char last = when.empty() ? '\0' : when.back();
    if (last == '%' || last == '+')
        when.remove_suffix(1);
    const auto n = number(when);
    if (!n || *n < (last == '%' ? 0 : 1) || (last == '%' && *n > 100))
        return nonsense(value);
    if (last == '%') {
        failure.percent = *n;
    } else {
        failure.after = *n;
        failure.onwards = last == '+';
    }
    settings.failures.push_back(failure);
    return {};
}

Fault Switches::parse_word(std::string_view word, Settings &settings)
{
    if (word == "reset") {
        settings.reset = true;
        return {};
    }
    const size_t equals = word.find('=');
    if (equals == word.npos)
        return nonsense(word);
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (name == "fail")
        return parse_failure(value, HEDDLE_ERR_DEVICE, settings);
    if (name == "exhaust")
        return parse_failure(value, HEDDLE_ERR_NO_MEMORY, settings);
    const auto n = number(value);
    if (!n)
        return nonsense(word);
    const auto set = [&](std::optional<int64_t> &field, int64_t least, int64_t most) -> Fault {
        if (*n < least || *n > most)
            return nonsense(word);
        field = *n;
        return {};
    };
    if (name == "delay_us")
        return set(settings.delay_us, 0, 60'000'000);
    if (name == "reorder")
        return set(settings.reorder, 0, 1);
    if (name == "seed")
        return set(settings.seed, 0, INT64_MAX);
    if (name == "device_memory")
        return set(settings.device_memory, -1, INT64_MAX);
    if (name == "pinned_memory")
        return set(settings.pinned_memory, -1, INT64_MAX);
    if (name == "program_memory")
        return set(settings.program_memory, -1, INT64_MAX);
    if (name == "peer_copy")
        return set(settings.peer_copy, 0, 1);
    if (name == "pageable_copy")
        return set(settings.pageable_copy, 0, 1);
    if (name == "dones")
        return set(settings.dones, 0, 1);
    for (size_t i = 0; i < std::size(speed_names); ++i)
        if (name == speed_names[i].name)
            return set(settings.speeds[i], 0, int64_t{1} << 40);
    return nonsense(word);
}

Fault Switches::parse(std::string_view text, Settings &settings)
{
    while (true) {
        const std::string_view word = next_word(text);
        if (word.empty())
            return {};
        if (Fault error = parse_word(word, settings))
            return error;
    }
}

Fault Switches::check(std::string_view text)
{
    Settings settings;
    return parse(text, settings);
}

Fault Switches::configure(std::string_view text)
{
    Settings settings;
    if (Fault error = parse(text, settings))
        return error;
    apply(settings);
    return {};
}

bool Switches::asks_for_reset(std::string_view text)
{
    while (true) {
        const std::string_view word = next_word(text);
        if (word.empty() || word == "reset")
            return !word.empty();
    }
}

void Switches::apply(const Settings &settings)
{
    const std::lock_guard lock(mutex_);
    if (settings.reset) {
        delay_us_ = 0;
        reorder_ = false;
        device_memory_ = pinned_memory_ = program_memory_ = -1;
        peer_copy_ = true;
        pageable_copy_ = true;
        dones_ = true;
        random_ = 0;
        speeds_ = {};
        failures_.clear();
        for (auto &count : calls_)
            count = 0;
        for (auto &count : kernels_)
            count = 0;
        queries_ = spans_begun_ = spans_ended_ = 0;
    }
    const auto set = [](auto &field, const std::optional<int64_t> &value) {
        if (value)
            field = static_cast<std::remove_reference_t<decltype(field.load())>>(*value);
    };
    set(delay_us_, settings.delay_us);
    set(reorder_, settings.reorder);
    set(random_, settings.seed);
    set(device_memory_, settings.device_memory);
    set(pinned_memory_, settings.pinned_memory);
    set(program_memory_, settings.program_memory);
    set(peer_copy_, settings.peer_copy);
    set(pageable_copy_, settings.pageable_copy);
    set(dones_, settings.dones);
    for (size_t i = 0; i < std::size(speed_names); ++i)
        speeds_.*speed_names[i].value = settings.speeds[i].value_or(speeds_.*speed_names[i].value);
    slow_ = speeds_ != Speeds{};
    failures_.insert(failures_.end(), settings.failures.begin(), settings.failures.end());
    may_fail_ = !failures_.empty();
}

Fault Switches::enter(Call call)
{
    ++calls_[static_cast<size_t>(call)];
    if (!may_fail_)
        return {};
    const std::lock_guard lock(mutex_);
    Error error;
    for (Failure &failure : failures_) {
        if (failure.call == Call::count ? call == Call::execute : failure.call != call)
            continue;
        bool fails = false;
        if (failure.percent >= 0) {
            fails = static_cast<int64_t>(random() % 100) < failure.percent;
        } else if (!failure.spent) {
            failure.after -= failure.after > 0;
            fails = failure.after == 0;
            failure.spent = fails && !failure.onwards;
        }
        if (fails && !error)
            error = failure.error;
    }
    if (!error)
        return {};
    return {error,
            "sim: " + std::string(call_names[static_cast<size_t>(call)]) + ": asked to fail"};
}

int64_t Switches::count(std::string_view name) const
{
    constexpr std::string_view kernel = "kernel:";
    if (name.starts_with(kernel)) {
        const auto which = index_of(kernel_names, name.substr(kernel.size()));
        return which ? kernels_[*which].load() : -1;
    }
    if (name == "query")
        return queries_.load();
    if (name == "span_begin" || name == "span_end")
        return name == "span_begin" ? spans_begun_.load() : spans_ended_.load();
    const auto which = index_of(call_names, name);
    return which ? calls_[*which].load() : -1;
}

uint64_t Switches::random()
{
    // splitmix64
    uint64_t z = random_.fetch_add(0x9e3779b97f4a7c15ULL) + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

} // namespace heddle::gpu::sim
