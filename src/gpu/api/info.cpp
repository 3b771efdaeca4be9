// SPDX-License-Identifier: BSD-3-Clause
// What is open, what it did, what memory a pointer names, and what a type takes.
#include "engine/pool.hpp"
#include "gpu/core/affinity.hpp"
#include "gpu/core/counters.hpp"
#include "gpu/core/devices.hpp"
#include "gpu/core/error_detail.hpp"
#include "gpu/core/settings.hpp"
#include "gpu/core/settings_table.hpp"
#include "gpu/image/device_image.hpp"
#include "gpu/memory/program_memory.hpp"
#include "gpu/transfer/by_members.hpp"
#include "gpu/transfer/decisions.hpp"
#include "gpu/transfer/policy.hpp"

#include <string_view>

using namespace heddle;
using namespace heddle::gpu;

namespace {

template <class Values, class Name> void add(Counts &counts, const char *group,
                                             const char *description, const Values &values,
                                             Name name)
{
    for (size_t i = 0; i < values.size(); ++i)
        counts.push_back({group, name(i), description, values[i]});
}

const Source choices([](Counts &counts) {
    add(counts, "methods", "transfers that were carried out by this method", method_counts(),
        [](size_t i) { return method_name(static_cast<Method>(i)); });
    add(counts, "kernels",
        "transfers, or pieces of them, by this kernel, of which one launch may carry out several",
        kernel_counts(), [](size_t i) { return kernel_name(static_cast<Kernel>(i)); });
    counts.push_back(
        {"model", "decisions", "times that the model was asked for a method", decisions_made()});
    const Devices *const devices = Devices::if_open();
    counts.push_back({"launches", "kernels", "kernels that were started",
                      devices ? devices->backend().launched() : 0});
});

const Source memory([](Counts &counts) {
    int64_t device = 0, pinned = 0, device_used = 0, pinned_used = 0;
    const Devices *const devices = Devices::if_open();
    for (int i = 0; devices && i < devices->count(); ++i) {
        device += static_cast<int64_t>(devices->device(i).memory.held());
        pinned += static_cast<int64_t>(devices->device(i).pinned.held());
        device_used += static_cast<int64_t>(devices->device(i).memory.in_use());
        pinned_used += static_cast<int64_t>(devices->device(i).pinned.in_use());
    }
    const char *const description = "bytes of staging memory that are held, in use or idle";
    counts.push_back({"slabs", "device", description, device, true});
    counts.push_back({"slabs", "pinned", description, pinned, true});
    const char *const use = "bytes of staging memory that are in use";
    counts.push_back({"slabs", "device_used", use, device_used, true});
    counts.push_back({"slabs", "pinned_used", use, pinned_used, true});
    counts.push_back({"pools", "idle",
                      "bytes of host memory that wait for the next large type or message",
                      static_cast<int64_t>(idle_bytes()), true});
});

// The settings that differ from their defaults.
std::string settings_line()
{
    std::string text;
    for (const Setting &each : all_settings())
        if (const std::string value = setting_value(each); !value.empty() && value != each.fallback)
            text += std::string(" ") + each.name + "=" + value;
    return "settings:" + (text.empty() ? " defaults" : text) + "\n";
}

std::string info()
{
    std::string text = std::string("heddle ") + heddle_version() + "\n";
    const Devices *const devices = Devices::open();
    text += Devices::status() + "\n" + settings_line();
    for (int i = 0; devices && i < devices->count(); ++i) {
        const Device &d = devices->device(i);
        text += "device " + std::to_string(i) + ": " + devices->backend().describe(i) + "; " +
                describe(devices->backend().locality(i)) + "; tables: " + tables_of(d).origin +
                "; slabs: " + std::to_string(d.memory.held()) +
                " bytes, pinned: " + std::to_string(d.pinned.held()) + " bytes\n";
    }
    std::string_view group;
    for (const Count &count : all_counts()) {
        if (group != count.group)
            text += std::string(group.empty() ? "" : "\n") + count.group + ":";
        group = count.group;
        text += std::string(" ") + count.name + " " + std::to_string(count.value);
    }
    return text + "\n";
}

// For functions that never fail. Null where nothing could be opened.
const Devices *open_or_none()
{
    const Devices *devices = nullptr;
    guard([&] {
        devices = Devices::open();
        return HEDDLE_SUCCESS;
    });
    return devices;
}

} // namespace

int heddle_device_open(void)
{
    clear_error_detail();
    return guard([] { return Devices::open() ? HEDDLE_SUCCESS : HEDDLE_ERR_NO_DEVICE; });
}

const char *heddle_device_plugin(void)
{
    const Devices *const devices = open_or_none();
    return devices ? devices->backend().name() : "";
}

int heddle_info(char *text, size_t capacity, size_t *length)
{
    clear_error_detail();
    if (!length || (capacity > 0 && !text))
        return HEDDLE_ERR_ARG;
    return guard([&] {
        *length = write_text(info(), text, capacity);
        return HEDDLE_SUCCESS;
    });
}

static_assert(static_cast<int>(MemoryKind::host) == HEDDLE_MEMORY_HOST &&
              static_cast<int>(MemoryKind::pinned) == HEDDLE_MEMORY_PINNED &&
              static_cast<int>(MemoryKind::device) == HEDDLE_MEMORY_DEVICE &&
              static_cast<int>(MemoryKind::managed) == HEDDLE_MEMORY_MANAGED);

int heddle_device_combines(heddle_op op, heddle_predefined basic)
{
    const Devices *const devices = open_or_none();
    return devices && heddle_op_is_defined(op, basic) && devices->backend().combines(op, basic);
}

int heddle_memory_kind(const void *ptr, int *device)
{
    const Devices *const devices = open_or_none();
    const Memory m = devices ? devices->backend().query(ptr, false) : Memory{};
    if (device)
        *device = m.device;
    return static_cast<int>(m.kind);
}

int heddle_memory_is_program(const void *ptr) { return is_program_memory(ptr); }

int heddle_type_device_memory(const heddle_type *type, int64_t *bytes)
{
    return answer([&] {
        if (!bytes)
            return Error{HEDDLE_ERR_ARG};
        Message m;
        if (const Error e = m.set(1, type))
            return e;
        constexpr int64_t several = 2; // instances
        *bytes = m.plan->by_members ? member_image_bytes(*type, *m.plan)
                 : fits_parameters(*m.plan, several)
                     ? 0
                     : device_image_bytes(*m.plan, repeated(*m.plan, m.count));
        return Error{HEDDLE_SUCCESS};
    });
}
