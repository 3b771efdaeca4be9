// SPDX-License-Identifier: BSD-3-Clause
// The device interface. Two implementations stand behind it, each a plug-in that the process opens
// at run time: cuda/ for GPUs, sim/ for machines without one. A backend knows memory, streams and
// how to carry out a Work; it knows no types and no plans.
//
// Errors: every function that can fail returns HEDDLE_SUCCESS or a code of heddle.h (mostly
// HEDDLE_ERR_DEVICE, HEDDLE_ERR_NO_MEMORY) after Host::set_error noted the device library's own
// words. Threads: any function may be called by any thread. None waits for the device unless it
// says so.
#pragma once

#include "engine/error.hpp"
#include "gpu/core/work.hpp"

#include <array>
#include <bitset>
#include <span>
#include <string>

namespace heddle::gpu {

enum class MemoryKind : uint8_t {
    host,   // pageable: devices cannot reach it
    pinned, // page-locked host memory, reachable from every device
    device,
    managed // moves by itself; reachable from every device and from the host
};

struct Memory {
    MemoryKind kind = MemoryKind::host;
    int device = -1;      // that the memory is on; pinned: that it was made for; host: -1
    char *base = nullptr; // of the allocation, where known and asked for
    size_t size = 0;
    uint64_t id = 0;       // of the allocation, and of no later one; with the range, 0: not known
    bool imported = false; // from another device than `device`, which reaches it over a link
    std::bitset<64> closed{}; // devices that do not reach it, even if they reach `device`

    bool is_open_to(int ordinal) const
    {
        const auto d = static_cast<size_t>(ordinal);
        return ordinal == device || (d < closed.size() && !closed[d]);
    }
    void open_to(int ordinal)
    {
        if (static_cast<size_t>(ordinal) < closed.size())
            closed.reset(static_cast<size_t>(ordinal));
    }
    void close_to_others()
    {
        closed.set();
        open_to(device);
    }
    bool of_device() const { return kind == MemoryKind::device || kind == MemoryKind::managed; }
    // Device memory that this very device has.
    bool lies_on(int ordinal) const
    {
        return kind == MemoryKind::device && device == ordinal && !imported;
    }
};

// A stream of the backend's own, or the handle of a user's (a cudaStream_t).
using Stream = void *;

using DeviceId = std::array<unsigned char, 16>;

// What a caller waits for. A backend makes its own kind (see Backend::done_acquire).
struct Done {
    int device = -1;
};

// A work to launch.
struct Launch {
    const Work *work;
    Kernel wanted = Kernel::count; // taken where it can do the work; count: none is wanted
    Kernel kernel = Kernel::count; // the backend's answer: what does the work; count: nothing does
};

// What else goes on while a launch runs.
struct Others {
    bool beside = false; // other launches run at the same time
    bool remote = false; // whoever waits for the end waits for writes to other devices, too
};

// A copy: layers of `rows` rows of `width` bytes. From one layer to the next it is as far as over
// `to_rows` and `from_rows` rows.
struct Layers {
    void *to;
    size_t to_pitch;
    size_t to_rows;
    const void *from;
    size_t from_pitch;
    size_t from_rows;
    size_t width;
    size_t rows;
    size_t layers;
    bool from_pinned; // the source is known to be pinned memory
};

// `bytes` contiguous bytes.
inline Layers contiguous_copy(void *to, const void *from, size_t bytes)
{
    return {to, bytes, 1, from, bytes, 1, bytes, 1, 1, false};
}

// What a driver tells of a device. 0 and empty: it does not say.
struct Facts {
    std::string name;
    double memory_rate = 0; // GB/s of its memory, by the memory's clock and width
    double link_rate = 0;   // GB/s each way between it and the host
    int processors = 0;
};

// Where a device sits, and where this process may run.
struct Locality {
    int node = -1;           // its NUMA node; -1: not known
    std::string device_cpus; // the processors near it, as a list: "0-15,32-47"
    std::string own_cpus;    // those that the process is bound to
    bool is_far = false;     // they have none in common
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual const char *name() const = 0;
    virtual int device_count() const = 0;
    // A line about device `device`, for people: name, memory, where it sits.
    virtual std::string describe(int device) const = 0;

    // What is known of it without a context on it.
    virtual Facts facts(int device) const = 0;

    // The kind of memory that `ptr` points into; with `range`, also how far it reaches, where it is
    // not pageable. Creates no context and never fails: what is not known is host memory.
    virtual Memory query(const void *ptr, bool range) const = 0;
    // Whether kernels on `device` can reach the memory of `peer` (true for itself), but for what is
    // closed to them.
    virtual bool reaches(int device, int peer) const = 0;
    // Whether kernels can carry out `op` on elements of `basic`.
    virtual bool combines(heddle_op op, heddle_predefined basic) const = 0;

    // Slabs. `pinned` memory lies near `device`, is reachable from every device and by the host.
    virtual Error allocate(int device, size_t bytes, void **ptr) = 0;
    virtual Error free(int device, void *ptr) = 0; // nobody uses it any more; CUDA waits for the
                                                   // whole device nevertheless
    virtual Error allocate_pinned(int device, size_t bytes, void **ptr) = 0;
    virtual Error free_pinned(int device, void *ptr) = 0;

    // Streams of the highest priority, or the next, which `gives_way` to it, that do not wait for
    // the legacy default stream.
    virtual Error stream_create(int device, bool gives_way, Stream *stream) = 0;
    // The device that a user's stream belongs to; null is the current device's default stream.
    virtual Error stream_device(Stream stream, int *device) = 0;
    // Waits until all that was put on the stream is done.
    virtual Error stream_synchronize(int device, Stream stream) = 0;

    // Puts Works on a stream, in no order of their own and in as few kernels as may be, and says in
    // each Launch by which. Work is read before the call returns. `done`, if given, is reached when
    // all have ended.
    virtual Error launch(int device, Stream stream, std::span<Launch> launches,
                         const Others &others, Done *done) = 0;
    // Puts a Fold on a stream, in one kernel. The same of reading it, and of `done`.
    virtual Error fold(int device, Stream stream, const Fold &fold, Done *done) = 0;
    // The kernel that launch() would take for this work by itself, beside other launches.
    virtual Kernel kernel_for(int device, const Work &work, Kernel wanted) const = 0;
    // How many kernels were started on all devices.
    virtual int64_t launched() const = 0;
    // Puts a copy on a stream, by a copy engine. Where pageable memory is among the two, the call
    // may wait for the device.
    virtual Error copy(int device, Stream stream, const Layers &copy, Done *done) = 0;

    // Puts the making of a list on a stream.
    virtual Error list_runs(int device, Stream stream, const Listing &listing) = 0;

    // Completion objects, each for one launch or copy at a time. Acquiring one allocates nothing
    // once there are as many as are in use at a time.
    virtual Error done_acquire(int device, Done **done) = 0;
    virtual void done_release(Done *done) = 0;
    // Whether it was reached; an error where the device failed meanwhile. Costs a load while
    // nothing is new.
    virtual Error done_test(Done *done, bool *reached) = 0;
    // Waits for it.
    virtual Error done_wait(Done *done) = 0;
    // `done` is reached when all has ended that was put on any stream of the device so far, the
    // callers' included. May wait for the device where its library knows no better, and ends
    // captures of streams that are under way.
    virtual Error done_after_all(int device, Done *done) = 0;

    // Device memory of this process for another process of the node, and back.
    static constexpr size_t handle_bytes = 80;
    virtual Error export_memory(int device, void *ptr, unsigned char handle[handle_bytes]) = 0;
    // NO_MEMORY, too, where it cannot be opened for now: something else is open that has its
    // addresses.
    virtual Error import_memory(int device, const unsigned char handle[handle_bytes],
                                void **ptr) = 0;
    virtual Error close_memory(int device, void *ptr) = 0;

    // Makes host memory that the caller has mapped pinned memory, its pages near `device` if they
    // are new; and undoes it.
    virtual Error pin(int device, void *ptr, size_t bytes) = 0;
    virtual Error unpin(int device, void *ptr) = 0;

    // A profiler that shows ranges of the calling thread, which nest. Where there is none, none of
    // them is begun.
    virtual bool has_profiler() const { return false; }
    virtual void range_begin(const char * /*name*/) {}
    virtual void range_end() {}
    // The same of what may end in another thread, and after what began later. The answer is for the
    // end.
    virtual uint64_t span_begin(const char * /*name*/, int64_t /*bytes*/) { return 0; }
    virtual void span_end(uint64_t /*span*/) {}

    // The device that the calling thread works on, as the device's library knows it; -1: none yet.
    // Creates no context, nor do the next two.
    virtual int current_device() const { return -1; }
    // Of a device: no other has it, and it is the same in all processes.
    virtual DeviceId id(int /*device*/) const { return {}; }
    // How fast data go from one device to another, or within one, in GB/s: an estimate by the kind
    // of link. 0: not known.
    virtual double link_rate(int /*device*/, int /*peer*/) const { return 0; }
    // Takes milliseconds when it is first asked. Creates no context.
    virtual Locality locality(int /*device*/) const { return {}; }
};

// What libheddle gives to a plug-in, which links to nothing of it.
struct Host {
    // For heddle_error_detail() in this thread.
    void (*set_error)(const char *text) = nullptr;
    // A line that the user should read.
    void (*warn)(const char *text) = nullptr;
};

// What a plug-in exports under this name, as extern "C". Returns null, and writes why into
// `reason`, where there is no device to speak of. The object lives as long as the process.
using OpenBackend = Backend *(*)(const Host &host, std::string &reason);
#define HEDDLE_BACKEND_SYMBOL "heddle_open_backend_7"

} // namespace heddle::gpu
