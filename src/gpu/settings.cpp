// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include "../mpi/datatype/engine/guard.hpp"
#include "choose.hpp"
#include "warnings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

namespace heddle::gpu {

namespace {

constexpr const char *names[] = {"HEDDLE_DEVICE",
                                 "HEDDLE_METHOD",
                                 "HEDDLE_KERNEL",
                                 "HEDDLE_COPY_ENGINE",
                                 "HEDDLE_SLAB_LIMIT",
                                 "HEDDLE_CHUNK",
                                 "HEDDLE_MESSAGE_CHUNK",
                                 "HEDDLE_MESSAGE_WINDOW",
                                 "HEDDLE_MESSAGE_STAGING",
                                 "HEDDLE_MESSAGE_IN_PLACE",
                                 "HEDDLE_MESSAGE_OPEN",
                                 "HEDDLE_MESSAGE_PATIENCE",
                                 "HEDDLE_PEER"};

// Of tests and of the simulated device, which read them.
constexpr const char *others[] = {"HEDDLE_TEST_", "HEDDLE_SIM"};

// What the program said itself, until all of it is read.
struct Said {
    std::mutex mutex;
    std::map<std::string, std::string> values;
    bool was_read = false;

    static Said &get()
    {
        static Said said;
        return said;
    }
};

std::string text(const char *name, const char *otherwise)
{
    Said &said = Said::get();
    const std::lock_guard lock(said.mutex);
    said.was_read = true;
    if (const auto found = said.values.find(name); found != said.values.end())
        return found->second;
    const char *value = std::getenv(name);
    return value && *value ? value : otherwise;
}

void refuse(const char *name, const std::string &value, const std::string &expected)
{
    warn(std::string(name) + "=" + value + " is ignored: it should be " + expected);
}

// Which of `count` names was said, `name` being their function; `count` where nothing was, or none
// of them.
template <class Name> size_t choice(const char *setting, size_t count, Name name)
{
    const std::string value = text(setting, "");
    std::string all = "one of ";
    for (size_t i = 0; i < count; ++i) {
        if (value == name(i))
            return i;
        all += std::string(i ? ", " : "") + name(i);
    }
    if (!value.empty())
        refuse(setting, value, all);
    return count;
}

Method method()
{
    return static_cast<Method>(
        choice("HEDDLE_METHOD", static_cast<size_t>(Method::count),
               [](size_t i) { return method_name(static_cast<Method>(i)); }));
}

Kernel kernel()
{
    return static_cast<Kernel>(
        choice("HEDDLE_KERNEL", static_cast<size_t>(Kernel::count),
               [](size_t i) { return kernel_name(static_cast<Kernel>(i)); }));
}

bool copy_engine()
{
    constexpr const char *no_or_yes[] = {"0", "1"};
    return choice("HEDDLE_COPY_ENGINE", std::size(no_or_yes),
                  [&](size_t i) { return no_or_yes[i]; }) == 1;
}

int peer()
{
    constexpr const char *ways[] = {"auto", "value", "shared", "reference"};
    constexpr int peers[] = {HEDDLE_PEER_AUTO, HEDDLE_PEER_VALUE, HEDDLE_PEER_SHARED,
                             HEDDLE_PEER_REFERENCE, HEDDLE_PEER_AUTO};
    return peers[choice("HEDDLE_PEER", std::size(ways), [&](size_t i) { return ways[i]; })];
}

// A name that nobody reads is a mistake: HEDDLE_CHUNKS, say.
void check_names()
{
    for (char **each = environ; each && *each; ++each) {
        const std::string_view entry = *each, name = entry.substr(0, entry.find('='));
        const auto begins = [&](const char *beginning) { return name.starts_with(beginning); };
        if (begins("HEDDLE_") && std::none_of(std::begin(others), std::end(others), begins) &&
            std::find(std::begin(names), std::end(names), name) == std::end(names))
            warn(std::string(name) +
                 " is ignored: Heddle has no setting of that name (README.gpu lists them)");
    }
}

// A number, of bytes mostly, with K, M or G behind it or not.
int64_t bytes(const char *name, int64_t otherwise)
{
    const std::string value = text(name, "");
    if (value.empty())
        return otherwise;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const std::string unit(end, value.data() + value.size());
    const int shift = unit.empty()  ? 0
                      : unit == "K" ? 10
                      : unit == "M" ? 20
                      : unit == "G" ? 30
                                    : -1;
    if (error == std::errc() && shift >= 0 && number >= 0 && number <= (INT64_MAX >> shift))
        return number << shift;
    refuse(name, value, "a number, K, M or G behind it or not");
    return otherwise;
}

} // namespace

static Settings read_settings()
{
    check_names();
    const int64_t slab_limit = bytes("HEDDLE_SLAB_LIMIT", int64_t{256} << 20);
    return {
        text("HEDDLE_DEVICE", "auto"),
        method(),
        kernel(),
        copy_engine(),
        static_cast<size_t>(slab_limit),
        std::clamp(bytes("HEDDLE_CHUNK", int64_t{2} << 20), int64_t{64}, int64_t{1} << 40),
        bytes("HEDDLE_MESSAGE_CHUNK", int64_t{1} << 20),
        bytes("HEDDLE_MESSAGE_WINDOW", 8),
        bytes("HEDDLE_MESSAGE_STAGING", slab_limit / 2),
        bytes("HEDDLE_MESSAGE_IN_PLACE", int64_t{64} << 10),
        static_cast<size_t>(std::max(bytes("HEDDLE_MESSAGE_OPEN", 256), int64_t{1})),
        bytes("HEDDLE_MESSAGE_PATIENCE", 30),
        peer(),
    };
}

const Settings &Settings::get()
{
    static const Settings settings = read_settings();
    return settings;
}

} // namespace heddle::gpu

int heddle_set(const char *name, const char *value)
{
    using namespace heddle::gpu;
    const auto is_name = [&](const char *each) { return !std::strcmp(each, name); };
    if (!name || !value || std::none_of(std::begin(names), std::end(names), is_name))
        return HEDDLE_ERR_ARG;
    return heddle::guard([&] {
        Said &said = Said::get();
        const std::lock_guard lock(said.mutex);
        if (said.was_read)
            return HEDDLE_ERR_RANGE;
        said.values[name] = value;
        return HEDDLE_SUCCESS;
    });
}
