// SPDX-License-Identifier: BSD-3-Clause
// What is open, what it did, and what memory a pointer names.
#include "choose.hpp"
#include "error_detail.hpp"
#include "info.hpp"

#include <mutex>
#include <vector>

using namespace heddle;
using namespace heddle::gpu;

namespace {

template <class Counts, class Name> void list(std::string &text, const char *what, const Counts &counts, Name name)
{
    text += what;
    for (size_t i = 0; i < counts.size(); ++i)
        text += std::string(" ") + name(i) + " " + std::to_string(counts[i]);
    text += '\n';
}

struct More {
    std::mutex mutex;
    std::vector<std::string (*)()> texts;
};

More &more()
{
    static More more;
    return more;
}

std::string more_info()
{
    const std::lock_guard lock(more().mutex);
    std::string text;
    for (const auto each : more().texts)
        text += each();
    return text;
}

std::string info()
{
    std::string text = std::string("heddle ") + heddle_version() + "\n";
    const Devices *const devices = Devices::open();
    text += Devices::status() + "\n";
    if (!devices)
        return text + more_info();
    for (int i = 0; i < devices->count(); ++i) {
        const Device &d = devices->device(i);
        text += "device " + std::to_string(i) + ": " + devices->backend().describe(i) + "; slabs: " +
                std::to_string(d.memory.held()) + " bytes, pinned: " + std::to_string(d.pinned.held()) + " bytes\n";
    }
    list(text, "methods:", method_counts(), [](size_t i) { return method_name(static_cast<Method>(i)); });
    list(text, "kernels:", kernel_counts(), [](size_t i) { return kernel_name(static_cast<Kernel>(i)); });
    return text + more_info();
}

} // namespace

void heddle::gpu::add_info(std::string (*text)())
{
    const std::lock_guard lock(more().mutex);
    more().texts.push_back(text);
}

int heddle_device_open(void)
{
    clear_error_detail();
    return guard([] { return Devices::open() ? HEDDLE_SUCCESS : HEDDLE_ERR_NO_DEVICE; });
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

int heddle_memory_kind(const void *ptr, int *device)
{
    const Devices *devices = nullptr;
    guard([&] {
        devices = Devices::open();
        return HEDDLE_SUCCESS;
    });
    const Memory m = devices ? devices->backend().query(ptr, false) : Memory{};
    if (device)
        *device = m.device;
    return static_cast<int>(m.kind);
}
