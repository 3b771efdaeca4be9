// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include "combine.hpp"
#include "kernel.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

namespace heddle::gpu::sim {
namespace {

std::atomic<Machine *> the_machine{nullptr};

// A small number from the environment; -1 where there is something else.
int number_from(const char *variable, int otherwise, int most)
{
    const char *text = std::getenv(variable);
    if (!text || !*text)
        return otherwise;
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return *end == '\0' && value >= 0 && value <= most ? static_cast<int>(value) : -1;
}

SimDone *as_sim(Done *done) { return static_cast<SimDone *>(done); }

} // namespace

const char *Machine::name() const
{
    const char *const name = std::getenv("HEDDLE_SIM_NAME");
    return name && *name ? name : "sim";
}

Machine *Machine::get() { return the_machine; }

Machine *Machine::open(std::string &reason)
{
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (the_machine)
        return the_machine;
    const int devices = number_from("HEDDLE_SIM_DEVICES", 2, 8);
    const int peers = number_from("HEDDLE_SIM_PEER", 1, 3);
    if (devices <= 0 || peers < 0) {
        reason = devices == 0  ? "HEDDLE_SIM_DEVICES is 0"
                 : devices < 0 ? "HEDDLE_SIM_DEVICES is not a number from 0 to 8"
                               : "HEDDLE_SIM_PEER is not a number from 0 to 3";
        return nullptr;
    }
    auto machine = std::make_unique<Machine>(devices, static_cast<Peers>(peers));
    if (const char *switches = std::getenv("HEDDLE_SIM"))
        if (const Error error = machine->switches_.configure(switches)) {
            reason = "HEDDLE_SIM: " + error.text;
            return nullptr;
        }
    // Its threads run until the process ends, and so does it.
    the_machine = machine.release();
    return the_machine;
}

Machine::Machine(int devices, Peers peers) : memories_(devices, peers), queues_(devices, switches_)
{
}

int &Machine::current_device()
{
    thread_local int device = 0;
    return device;
}

int Machine::report(const Error &error) const
{
    if (error && host_.set_error)
        host_.set_error(error.text.c_str());
    return error.code;
}

Error Machine::enter(Call call, int device)
{
    if (Error error = switches_.enter(call))
        return error;
    if (device < 0 || device >= device_count())
        return device_error("sim: no such device");
    return queues_.broken(device);
}

// What asks for an end fails only where the device itself has failed.
Error Machine::enter_end(Call call, int device)
{
    if (device < 0 || device >= device_count())
        return device_error("sim: no such device");
    Error error = switches_.enter(call);
    if (error)
        queues_.fail(device, error);
    return error;
}

std::string Machine::describe(int device) const
{
    return "simulated device " + std::to_string(device) +
           (device_count() > 1 && !memories_.can_reach(0, 1) ? ", reaches no other" : "");
}

Memory Machine::query(const void *ptr, bool wants_range) const
{
    switches_.count_query();
    const auto found = memories_.find(reinterpret_cast<uintptr_t>(ptr));
    if (!found)
        return {};
    Memory memory{found->kind, found->device};
    if (wants_range) {
        memory.base = reinterpret_cast<char *>(found->begin);
        memory.size = found->size;
        memory.id = found->id;
    }
    if (found->closed)
        memory.close_to_others();
    return memory;
}

// As on a GPU: floating point of more than 64 bits is the host's.
bool Machine::combines(heddle_op op, heddle_predefined basic) const
{
    switch (basic) {
    case HEDDLE_LONG_DOUBLE:
    case HEDDLE_FLOAT128:
    case HEDDLE_COMPLEX_LONG_DOUBLE:
    case HEDDLE_COMPLEX_FLOAT128:
    case HEDDLE_LONG_DOUBLE_INT:
        return false;
    default:
        return can_combine(op, basic);
    }
}

bool Machine::reaches(int device, int peer) const
{
    const auto exists = [&](int d) { return d >= 0 && d < device_count(); };
    return exists(device) && exists(peer) && memories_.open_peer(device, peer);
}

// ---- slabs ----

int Machine::allocate(int device, size_t bytes, void **ptr)
{
    if (const Error error = enter(Call::allocate, device))
        return report(error);
    return report(memories_.allocate(MemoryKind::device, device, bytes, Origin::slab,
                                     switches_.device_memory(), ptr));
}

int Machine::free(int device, void *ptr)
{
    if (const Error error = enter(Call::free, device))
        return report(error);
    return report(memories_.free(ptr, Origin::slab));
}

int Machine::allocate_pinned(int device, size_t bytes, void **ptr)
{
    if (const Error error = enter(Call::allocate_pinned, device))
        return report(error);
    return report(memories_.allocate(MemoryKind::pinned, device, bytes, Origin::slab,
                                     switches_.pinned_memory(), ptr));
}

int Machine::free_pinned(int device, void *ptr)
{
    if (const Error error = enter(Call::free_pinned, device))
        return report(error);
    return report(memories_.free(ptr, Origin::slab));
}

// ---- streams ----

int Machine::stream_create(int device, bool, Stream *stream)
{
    if (const Error error = enter(Call::stream_create, device))
        return report(error);
    return report(queues_.create(device, stream));
}

int Machine::stream_device(Stream stream, int *device)
{
    if (const Error error = switches_.enter(Call::stream_device))
        return report(error);
    const int found = stream ? queues_.device_of(stream) : current_device();
    if (found < 0)
        return report({HEDDLE_ERR_STREAM, "sim: no such stream"});
    *device = found;
    return HEDDLE_SUCCESS;
}

int Machine::stream_synchronize(int device, Stream stream)
{
    if (const Error error = enter_end(Call::stream_synchronize, device))
        return report(error);
    if (const Error error = queues_.broken(device))
        return report(error);
    return report(queues_.synchronize(device, stream));
}

// ---- work ----

int Machine::launch(int device, Stream stream, std::span<const Launch> launches, Done *done)
{
    if (const Error error = enter(Call::launch, device))
        return report(error);
    if (launches.empty())
        return report(device_error("sim: launch: nothing to do"));
    std::vector<std::pair<Kernel, Work>> works;
    works.reserve(launches.size());
    for (const Launch &each : launches) {
        if (launches.size() > 1 && each.kernel != Kernel::any && each.kernel != Kernel::strided)
            return report(device_error("sim: launch: this kernel takes no batch"));
        if (each.work->op != HEDDLE_OP_REPLACE && !combines(each.work->op, each.work->basic))
            return report(device_error("sim: launch: an operator that the device does not have"));
        if (const Error error = check_launch(each.kernel, *each.work))
            return report(error);
        works.emplace_back(each.kernel, *each.work);
    }
    auto run = [this, device, works = std::move(works)]() -> Error {
        if (Error error = switches_.enter(Call::execute))
            return error;
        // The works of a batch have no order.
        const size_t shift = switches_.reorder() ? switches_.random() % works.size() : 0;
        for (size_t i = 0; i < works.size(); ++i) {
            const auto &[kernel, work] = works[(i + shift) % works.size()];
            switches_.count_kernel(kernel);
            if (Error error = run_kernel(memories_, device, kernel, work))
                return error;
        }
        return {};
    };
    return report(queues_.put(device, stream, std::move(run), as_sim(done)));
}

Error Machine::put_copy(int device, Stream stream, const Layers &copy, Done *done)
{
    auto run = [this, device, copy]() -> Error {
        if (Error error = switches_.enter(Call::execute))
            return error;
        return run_copy(memories_, device, {switches_.peer_copy(), switches_.pageable_copy()},
                        copy);
    };
    return queues_.put(device, stream, std::move(run), as_sim(done));
}

int Machine::copy(int device, Stream stream, void *to, const void *from, size_t bytes, Done *done)
{
    if (const Error error = enter(Call::copy, device))
        return report(error);
    return report(put_copy(device, stream, {to, bytes, 1, from, bytes, 1, bytes, 1, 1}, done));
}

int Machine::copy_2d(int device, Stream stream, void *to, size_t to_pitch, const void *from,
                     size_t from_pitch, size_t width, size_t rows, Done *done)
{
    if (const Error error = enter(Call::copy_2d, device))
        return report(error);
    if (rows > 1 && (to_pitch < width || from_pitch < width))
        return report(device_error("sim: copy_2d: a pitch below the width"));
    return report(put_copy(device, stream,
                           {to, to_pitch, rows, from, from_pitch, rows, width, rows, 1}, done));
}

int Machine::copy_3d(int device, Stream stream, const Layers &layers, Done *done)
{
    if (const Error error = enter(Call::copy_3d, device))
        return report(error);
    if (layers.to_pitch < layers.width || layers.from_pitch < layers.width)
        return report(device_error("sim: copy_3d: a pitch below the width"));
    if (layers.to_rows < layers.rows || layers.from_rows < layers.rows)
        return report(device_error("sim: copy_3d: layers that overlap"));
    return report(put_copy(device, stream, layers, done));
}

// ---- completion ----

int Machine::done_acquire(int device, Done **done)
{
    if (const Error error = enter(Call::done_acquire, device))
        return report(error);
    if (!switches_.dones())
        return report(
            {HEDDLE_ERR_NO_MEMORY, "sim: out of memory for completion objects, as asked"});
    *done = queues_.acquire(device);
    return HEDDLE_SUCCESS;
}

void Machine::done_release(Done *done)
{
    if (done)
        queues_.release(as_sim(done));
}

int Machine::done_test(Done *done, bool *reached)
{
    *reached = false;
    if (const Error error = enter_end(Call::done_test, done->device))
        return report(error);
    return report(queues_.test(as_sim(done), reached));
}

int Machine::done_wait(Done *done)
{
    if (const Error error = enter_end(Call::done_wait, done->device))
        return report(error);
    return report(queues_.wait(as_sim(done)));
}

int Machine::done_after_all(int device, Done *done)
{
    if (const Error error = enter(Call::done_after_all, device))
        return report(error);
    return report(queues_.put_after_all(device, as_sim(done)));
}

// ---- other processes ----

int Machine::export_memory(int device, void *ptr, unsigned char handle[handle_bytes])
{
    if (const Error error = enter(Call::export_memory, device))
        return report(error);
    return report(memories_.export_to(device, ptr, handle));
}

int Machine::import_memory(int device, const unsigned char handle[handle_bytes], void **ptr)
{
    if (const Error error = enter(Call::import_memory, device))
        return report(error);
    return report(memories_.import_from(device, handle, ptr));
}

int Machine::close_memory(int device, void *ptr)
{
    if (const Error error = enter(Call::close_memory, device))
        return report(error);
    return report(memories_.close_imported(ptr));
}

int Machine::pin(int device, void *ptr, size_t bytes)
{
    if (const Error error = enter(Call::pin, device))
        return report(error);
    const int64_t limit = switches_.pinned_memory();
    if (limit >= 0 && bytes > static_cast<size_t>(limit))
        return report({HEDDLE_ERR_NO_MEMORY, "sim: out of memory, as asked"});
    return report(memories_.add_registered(device, ptr, bytes));
}

int Machine::unpin(int device, void *ptr)
{
    if (const Error error = enter(Call::unpin, device))
        return report(error);
    return report(memories_.free(ptr, Origin::registered));
}

} // namespace heddle::gpu::sim
