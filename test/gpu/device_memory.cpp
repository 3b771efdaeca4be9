/* SPDX-License-Identifier: BSD-3-Clause */
#include "device_memory.hpp"

#include <heddle.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/mman.h>
#include <utility>

namespace gpu {
namespace {

constexpr size_t mapped_from = size_t{64} << 20;

class HostAlone final : public Machine {
public:
    const char *name() const override { return "no device"; }
    int devices() const override { return 0; }
    bool reach_each_other() const override { return false; }
    void *allocate(Place, size_t bytes) override { return allocate_pageable(bytes); }
    void release(Place, void *memory, size_t bytes) override { release_pageable(memory, bytes); }
    bool pin(void *, size_t) override { return false; }
    void unpin(void *) override {}
    void copy(void *to, const void *from, size_t bytes) override { std::memcpy(to, from, bytes); }
    int64_t largest(Kind) const override { return largest_pageable(); }
    void *make_stream(int) override { return nullptr; }
    void end_stream(int, void *) override {}
    void synchronize(int, void *) override {}
};

} // namespace

std::string to_text(Place place)
{
    switch (place.kind) {
    case Kind::pageable:
        return "pageable";
    case Kind::pinned:
        return "pinned";
    case Kind::managed:
        return "managed" + std::to_string(place.device);
    default:
        return "device" + std::to_string(place.device);
    }
}

void *allocate_pageable(size_t bytes)
{
    if (bytes < mapped_from)
        return std::malloc(bytes);
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

void release_pageable(void *memory, size_t bytes)
{
    if (bytes < mapped_from)
        std::free(memory);
    else
        munmap(memory, bytes);
}

int64_t largest_pageable()
{
#if defined(__SANITIZE_THREAD__)
    return int64_t{1} << 33; /* its shadow leaves little address space */
#else
    return int64_t{1} << 40;
#endif
}

std::unique_ptr<Machine> host_alone() { return std::make_unique<HostAlone>(); }

Machine &Machine::get()
{
    static const std::unique_ptr<Machine> machine = [] {
        if (heddle_device_open() != HEDDLE_SUCCESS)
            return host_alone();
        if (auto simulation = open_simulation())
            return simulation;
        if (auto cuda = open_cuda())
            return cuda;
        throw std::runtime_error("a device is open that these tests do not know");
    }();
    return *machine;
}

void Machine::reset()
{
    const char *given = getenv("HEDDLE_SIM");
    configure(("reset " + switches + " " + (given ? given : "")).c_str());
}

std::vector<Place> Machine::places() const
{
    std::vector<Place> all{{Kind::pageable, 0}};
    for (int device = 0; device < devices(); ++device)
        for (const Place &place : places_on_stream(device))
            if (place.kind != Kind::pinned || device == 0)
                all.push_back(place);
    return all;
}

std::vector<Place> Machine::places_on_stream(int device) const
{
    return {{Kind::device, device}, {Kind::pinned, 0}, {Kind::managed, device}};
}

Memory::Memory(Place place, size_t bytes)
    : place_(place), bytes_(bytes), at_(Machine::get().allocate(place, bytes))
{
}

Memory::Memory(Memory &&other) noexcept
    : place_(other.place_), bytes_(other.bytes_), at_(std::exchange(other.at_, nullptr))
{
}

Memory::~Memory()
{
    if (at_)
        Machine::get().release(place_, at_, bytes_);
}

/* No device has to do with it. */
static void copy_pageable(void *to, const void *from, size_t bytes)
{
    if (bytes != 0)
        std::memcpy(to, from, bytes);
}

void Memory::write(size_t offset, const void *from, size_t bytes) const
{
    place_.kind == Kind::pageable ? copy_pageable(at() + offset, from, bytes)
                                  : Machine::get().copy(at() + offset, from, bytes);
}

void Memory::read(size_t offset, void *to, size_t bytes) const
{
    place_.kind == Kind::pageable ? copy_pageable(to, at() + offset, bytes)
                                  : Machine::get().copy(to, at() + offset, bytes);
}

} // namespace gpu
