// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include "../mpi/datatype/engine/guard.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace heddle::gpu {

namespace {

constexpr const char *names[] = {"HEDDLE_DEVICE",          "HEDDLE_METHOD",         "HEDDLE_KERNEL",         "HEDDLE_COPY_ENGINE",
                                 "HEDDLE_SLAB_LIMIT",      "HEDDLE_CHUNK",          "HEDDLE_MESSAGE_CHUNK",  "HEDDLE_MESSAGE_WINDOW",
                                 "HEDDLE_MESSAGE_STAGING", "HEDDLE_MESSAGE_IN_PLACE", "HEDDLE_MESSAGE_OPEN", "HEDDLE_MESSAGE_PATIENCE",
                                 "HEDDLE_PEER"};

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

// A number, of bytes mostly, with K, M or G behind it or not; what is no number counts as not set.
int64_t bytes(const char *name, int64_t otherwise)
{
    const std::string value = text(name, "");
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || number < 0)
        return otherwise;
    const char *const unit = std::strchr("KMG", *end);
    if (!*end || !unit)
        return number;
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
    return number > (INT64_MAX >> shift) ? otherwise : number << shift;
}

} // namespace

const Settings &Settings::get()
{
    static const Settings settings{
        text("HEDDLE_DEVICE", "auto"),
        text("HEDDLE_METHOD", ""),
        text("HEDDLE_KERNEL", ""),
        text("HEDDLE_COPY_ENGINE", "0") == "1",
        static_cast<size_t>(bytes("HEDDLE_SLAB_LIMIT", int64_t{256} << 20)),
        std::max(bytes("HEDDLE_CHUNK", int64_t{2} << 20), int64_t{64}),
        bytes("HEDDLE_MESSAGE_CHUNK", int64_t{1} << 20),
        bytes("HEDDLE_MESSAGE_WINDOW", 8),
        bytes("HEDDLE_MESSAGE_STAGING", bytes("HEDDLE_SLAB_LIMIT", int64_t{256} << 20) / 2),
        bytes("HEDDLE_MESSAGE_IN_PLACE", int64_t{64} << 10),
        static_cast<size_t>(std::max(bytes("HEDDLE_MESSAGE_OPEN", 256), int64_t{1})),
        bytes("HEDDLE_MESSAGE_PATIENCE", 30),
        text("HEDDLE_PEER", "auto"),
    };
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
