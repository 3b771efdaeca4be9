/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of every kind, on whatever device the library has open: the simulated one, CUDA by its
 * driver's API, or none. The program links to neither: it finds them with dlopen.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gpu {

enum class Kind { pageable, pinned, managed, device };

struct Place {
    Kind kind = Kind::pageable;
    int device = 0; /* of device and managed memory */
};

std::string to_text(Place place);

class Machine {
public:
    /* What the library has open. Made at the first call. */
    static Machine &get();

    virtual ~Machine() = default;
    virtual const char *name() const = 0;
    virtual int devices() const = 0;
    /* Whether kernels on each device reach the memory of all others. */
    virtual bool reach_each_other() const = 0;

    /* Null where there is not so much. */
    virtual void *allocate(Place place, size_t bytes) = 0;
    virtual void release(Place place, void *memory, size_t bytes) = 0;
    /* Pageable memory becomes pinned, and pageable again. False where nothing can be. */
    virtual bool pin(void *memory, size_t bytes) = 0;
    virtual void unpin(void *memory) = 0;
    /* At once, between any two kinds of memory. */
    virtual void copy(void *to, const void *from, size_t bytes) = 0;
    /* The longest stretch that is worth trying to allocate. */
    virtual int64_t largest(Kind kind) const = 0;

    virtual void *make_stream(int device) = 0;
    virtual void end_stream(int device, void *stream) = 0;
    virtual void synchronize(int device, void *stream) = 0;
    /* Device memory in a stream's order (cudaMallocAsync), where a device has such;
     * otherwise like any. */
    virtual void *allocate_on(int device, void *, size_t bytes)
    {
        return allocate({Kind::device, device}, bytes);
    }
    virtual void release_on(int device, void *, void *memory, size_t bytes)
    {
        release({Kind::device, device}, memory, bytes);
    }

    /* Captures what comes on a stream into a graph, in the mode in which CUDA forbids most to all
     * threads. False where a device has no graphs. */
    virtual bool begin_capture(int, void *) { return false; }
    /* Ends it, by the same thread. Whether nothing spoiled it. */
    virtual bool end_capture(int, void *) { return false; }

    /* Whether this process uses the device: it has a context there, or has asked the simulated one
     * for something. */
    virtual bool in_use(int) { return false; }

    /* Sets the simulation's switches (src/gpu/sim/sim.h). False on other devices. */
    virtual bool configure(const char *) { return false; }
    bool is_simulated() { return configure(""); }
    /* Mends what failed, and sets the switches as they were at the start. */
    void reset();
    std::string switches; /* beyond HEDDLE_SIM, which reset() sets too */
    /* How often the device was asked for something, by a name that sim.h lists;
     * -1 where nobody counts. */
    virtual int64_t count(const char *) { return -1; }

    /* Every place there is; without pageable memory: what a stream of `device` reaches. */
    std::vector<Place> places() const;
    std::vector<Place> places_on_stream(int device) const;
};

/* The two that there are, and what serves without a device.
 * Null where the library has another one open. */
std::unique_ptr<Machine> open_simulation();
std::unique_ptr<Machine> open_cuda();
std::unique_ptr<Machine> host_alone();

/* Pageable memory; long stretches exist only where they are touched. */
void *allocate_pageable(size_t bytes);
void release_pageable(void *memory, size_t bytes);
int64_t largest_pageable();

/* A piece of memory, given back when it goes. */
class Memory {
public:
    Memory(Place place, size_t bytes);
    Memory(Memory &&other) noexcept;
    ~Memory();
    /* False where there was not so much. */
    explicit operator bool() const { return at_ != nullptr; }
    std::byte *at() const { return static_cast<std::byte *>(at_); }
    Place place() const { return place_; }
    size_t size() const { return bytes_; }

    void write(size_t offset, const void *from, size_t bytes) const;
    void read(size_t offset, void *to, size_t bytes) const;

private:
    Place place_;
    size_t bytes_;
    void *at_;
};

} // namespace gpu
