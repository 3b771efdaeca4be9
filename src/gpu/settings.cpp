// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include "../mpi/datatype/engine/guard.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
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

constexpr const char *no_or_yes[] = {"0", "1"};

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
    const std::string line = "heddle: " + std::string(name) + "=" + value + " is ignored: it should be " + expected + "\n";
    std::fputs(line.c_str(), stderr);
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
    const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
    if (error == std::errc() && shift >= 0 && number >= 0 && number <= (INT64_MAX >> shift))
        return number << shift;
    refuse(name, value, "a number, K, M or G behind it or not");
    return otherwise;
}

} // namespace

const Settings &Settings::get()
{
    static const Settings settings{
        text("HEDDLE_DEVICE", "auto"),
        text("HEDDLE_METHOD", ""),
        text("HEDDLE_KERNEL", ""),
        choice_of("HEDDLE_COPY_ENGINE", text("HEDDLE_COPY_ENGINE", "0"), no_or_yes) == 1,
        static_cast<size_t>(bytes("HEDDLE_SLAB_LIMIT", int64_t{256} << 20)),
        std::clamp(bytes("HEDDLE_CHUNK", int64_t{2} << 20), int64_t{64}, int64_t{1} << 40),
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

int choice_of(const char *setting, const std::string &value, std::span<const char *const> names)
{
    std::string all;
    for (size_t i = 0; i < names.size(); ++i) {
        if (value == names[i])
            return static_cast<int>(i);
        all += std::string(i ? ", " : "one of ") + names[i];
    }
    if (!value.empty())
        refuse(setting, value, all);
    return -1;
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
