// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/machine.hpp"

#include "gpu/cuda/host/select_kernel.hpp"
#include "gpu/sim/combine.hpp"
#include "gpu/sim/kernel.hpp"

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
        if (const Fault error = machine->switches_.configure(switches)) {
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

int &Machine::current_device_of_thread()
{
    thread_local int device = 0;
    return device;
}

Error Machine::report(const Fault &error) const
{
    if (error && host_.set_error)
        host_.set_error(error.text.c_str());
    return error.error;
}

Fault Machine::enter(Call call, int device)
{
    if (Fault error = switches_.enter(call))
        return error;
    if (device < 0 || device >= device_count())
        return device_fault("sim: no such device");
    return queues_.broken(device);
}

// What asks for an end fails only where the device itself has failed.
Fault Machine::enter_end(Call call, int device)
{
    if (device < 0 || device >= device_count())
        return device_fault("sim: no such device");
    Fault error = switches_.enter(call);
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
    memory.imported = found->imported;
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

double Machine::link_rate(int device, int peer) const
{
    if (device == peer)
        return 1000;
    return memories_.can_reach(device, peer) ? 300 : 25;
}

Locality Machine::locality(int device) const
{
    const char *const nodes = std::getenv("HEDDLE_SIM_NODES");
    const std::string of_devices = nodes ? nodes : "";
    if (static_cast<size_t>(device) >= of_devices.size())
        return {};
    constexpr int cpus = 4; // of a node
    const auto list = [](int node) {
        return std::to_string(cpus * node) + "-" + std::to_string(cpus * node + cpus - 1);
    };
    const int node = of_devices[static_cast<size_t>(device)] - '0';
    return {node, list(node), list(0), node != 0};
}

// ---- slabs ----

Error Machine::allocate(int device, size_t bytes, void **ptr)
{
    if (const Fault error = enter(Call::allocate, device))
        return report(error);
    return report(memories_.allocate(MemoryKind::device, device, bytes, Origin::slab,
                                     switches_.device_memory(), ptr));
}

Error Machine::free(int device, void *ptr)
{
    if (const Fault error = enter(Call::free, device))
        return report(error);
    return report(memories_.free(ptr, Origin::slab));
}

Error Machine::allocate_pinned(int device, size_t bytes, void **ptr)
{
    if (const Fault error = enter(Call::allocate_pinned, device))
        return report(error);
    return report(memories_.allocate(MemoryKind::pinned, device, bytes, Origin::slab,
                                     switches_.pinned_memory(), ptr));
}

Error Machine::free_pinned(int device, void *ptr)
{
    if (const Fault error = enter(Call::free_pinned, device))
        return report(error);
    return report(memories_.free(ptr, Origin::slab));
}

// ---- streams ----

Error Machine::stream_create(int device, bool, Stream *stream)
{
    if (const Fault error = enter(Call::stream_create, device))
        return report(error);
    return report(queues_.create(device, stream));
}

Error Machine::stream_device(Stream stream, int *device)
{
    if (const Fault error = switches_.enter(Call::stream_device))
        return report(error);
    const int found = stream ? queues_.device_of(stream) : current_device_of_thread();
    if (found < 0)
        return report({HEDDLE_ERR_STREAM, "sim: no such stream"});
    *device = found;
    return HEDDLE_SUCCESS;
}

Error Machine::stream_synchronize(int device, Stream stream)
{
    if (const Fault error = enter_end(Call::stream_synchronize, device))
        return report(error);
    if (const Fault error = queues_.broken(device))
        return report(error);
    return report(queues_.synchronize(device, stream));
}

// ---- work ----

Where Machine::where(int device, const void *ptr) const
{
    const auto found = memories_.find(reinterpret_cast<uintptr_t>(ptr));
    if (!found || found->kind != MemoryKind::device)
        return Where::elsewhere;
    return found->device == device && !found->imported ? Where::own : Where::peer;
}

// Which ends are not the device's own the work says itself.
Ends Machine::ends_of(int device, const Work &work) const
{
    const auto end = [&](const Side &side, bool is_own) {
        if (is_own)
            return Where::own;
        const bool is_peer = where(device, first_byte(memories_, device, side)) == Where::peer;
        return is_peer ? Where::peer : Where::elsewhere;
    };
    return {end(work.from, !work.far), end(work.to, !work.remote)};
}

Fault Machine::put_kernel(int device, Stream stream, Kernel kernel, std::vector<Work> works,
                          Done *done)
{
    ++launched_;
    auto run = [this, device, kernel, works = std::move(works)]() -> Fault {
        if (Fault error = switches_.enter(Call::execute))
            return error;
        const auto begin = Pace::Clock::now();
        const Speeds speeds = switches_.speeds();
        Effort effort;
        // The works of a batch have no order.
        const size_t shift =
            switches_.reorder() && !works.empty() ? switches_.random() % works.size() : 0;
        for (size_t i = 0; i < works.size(); ++i) {
            switches_.count_kernel(kernel);
            const Work &work = works[(i + shift) % works.size()];
            if (speeds != Speeds{})
                add(effort, effort_of(work, ends_of(device, work), speeds));
            if (Fault error = run_kernel(memories_, device, kernel, work))
                return error;
        }
        paces_[static_cast<size_t>(device)].wait(begin, effort, speeds);
        return {};
    };
    return queues_.put(device, stream, std::move(run), as_sim(done));
}

// By the rules of CUDA's plug-in, so that they are tried where there is no GPU.
Error Machine::launch(int device, Stream stream, std::span<Launch> launches, const Others &others,
                      Done *done)
{
    if (const Fault error = enter(Call::launch, device))
        return report(error);
    if (launches.empty())
        return report(device_fault("sim: launch: nothing to do"));
    cuda::select_kernels(launches, cuda::Tuning{}, others.beside);
    std::vector<std::pair<Kernel, std::vector<Work>>> kernels;
    for (const Launch &each : launches) {
        if (each.work->op != HEDDLE_OP_REPLACE && !combines(each.work->op, each.work->basic))
            return report(device_fault("sim: launch: an operator that the device does not have"));
        if (each.kernel == Kernel::count)
            continue;
        if (const Fault error = check_launch(each.kernel, *each.work))
            return report(error);
        const auto joins = [&](const auto &other) {
            return cuda::is_batch(each.kernel) && other.first == each.kernel;
        };
        const auto found = std::find_if(kernels.begin(), kernels.end(), joins);
        auto &[kernel, works] = found != kernels.end()
                                    ? *found
                                    : kernels.emplace_back(each.kernel, std::vector<Work>());
        works.push_back(*each.work);
    }
    if (kernels.empty())
        kernels.emplace_back(Kernel::any, std::vector<Work>());
    for (size_t i = 0; i < kernels.size(); ++i) {
        Done *const last = i + 1 == kernels.size() ? done : nullptr;
        auto &[kernel, works] = kernels[i];
        if (const Fault error = put_kernel(device, stream, kernel, std::move(works), last))
            return report(error);
    }
    return HEDDLE_SUCCESS;
}

// A launch, to whoever makes launches fail.
Error Machine::fold(int device, Stream stream, const Fold &fold, Done *done)
{
    if (const Fault error = enter(Call::launch, device))
        return report(error);
    if (const Fault error = check_fold(fold))
        return report(error);
    ++launched_;
    auto run = [this, device, fold]() -> Fault {
        if (Fault error = switches_.enter(Call::execute))
            return error;
        switches_.count_kernel(Kernel::fold);
        return run_fold(memories_, device, fold);
    };
    return report(queues_.put(device, stream, std::move(run), as_sim(done)));
}

Kernel Machine::kernel_for(int, const Work &work, Kernel wanted) const
{
    return cuda::select_kernel(work, cuda::Tuning{}, wanted, true);
}

Error Machine::list_runs(int device, Stream stream, const Listing &listing)
{
    if (const Fault error = enter(Call::launch, device))
        return report(error);
    ++launched_;
    auto run = [this, device, listing]() -> Fault {
        if (Fault error = switches_.enter(Call::execute))
            return error;
        return make_list(memories_, device, listing);
    };
    return report(queues_.put(device, stream, std::move(run), nullptr));
}

Error Machine::copy(int device, Stream stream, const Layers &copy, Done *done)
{
    const Call call = copy.layers > 1 ? Call::copy_3d : copy.rows > 1 ? Call::copy_2d : Call::copy;
    if (const Fault error = enter(call, device))
        return report(error);
    if (copy.rows > 1 && (copy.to_pitch < copy.width || copy.from_pitch < copy.width))
        return report(device_fault("sim: copy: a pitch below the width"));
    if (copy.layers > 1 && (copy.to_rows < copy.rows || copy.from_rows < copy.rows))
        return report(device_fault("sim: copy: layers that overlap"));
    if (copy.rows * copy.layers == 1 && copy.width > 0 &&
        (memories_.is_pinned_in_part(copy.from, copy.width) ||
         memories_.is_pinned_in_part(copy.to, copy.width))) // CUDA takes none either
        return report(device_fault("sim: copy: memory of which a part is pinned"));
    auto run = [this, device, copy]() -> Fault {
        if (Fault error = switches_.enter(Call::execute))
            return error;
        const auto begin = Pace::Clock::now();
        if (Fault error = run_copy(memories_, device,
                                   {switches_.peer_copy(), switches_.pageable_copy()}, copy))
            return error;
        const Speeds speeds = switches_.speeds();
        paces_[static_cast<size_t>(device)].wait(
            begin, effort_of(copy, {where(device, copy.from), where(device, copy.to)}, speeds),
            speeds);
        return {};
    };
    return report(queues_.put(device, stream, std::move(run), as_sim(done)));
}

// ---- completion ----

Error Machine::done_acquire(int device, Done **done)
{
    if (const Fault error = enter(Call::done_acquire, device))
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

Error Machine::done_test(Done *done, bool *reached)
{
    *reached = false;
    if (const Fault error = enter_end(Call::done_test, done->device))
        return report(error);
    return report(queues_.test(as_sim(done), reached));
}

Error Machine::done_wait(Done *done)
{
    if (const Fault error = enter_end(Call::done_wait, done->device))
        return report(error);
    return report(queues_.wait(as_sim(done)));
}

Error Machine::done_after_all(int device, Done *done)
{
    if (const Fault error = enter(Call::done_after_all, device))
        return report(error);
    return report(queues_.put_after_all(device, as_sim(done)));
}

// ---- other processes ----

Error Machine::export_memory(int device, void *ptr, unsigned char handle[handle_bytes])
{
    if (const Fault error = enter(Call::export_memory, device))
        return report(error);
    return report(memories_.export_to(device, ptr, handle));
}

Error Machine::import_memory(int device, const unsigned char handle[handle_bytes], void **ptr)
{
    if (const Fault error = enter(Call::import_memory, device))
        return report(error);
    const auto begin = Pace::Clock::now();
    const Fault error = memories_.import_from(device, handle, ptr);
    Pace::wait_for(begin, switches_.speeds().import_ns);
    return report(error);
}

Error Machine::close_memory(int device, void *ptr)
{
    if (const Fault error = enter(Call::close_memory, device))
        return report(error);
    return report(memories_.close_imported(ptr));
}

Error Machine::pin(int device, void *ptr, size_t bytes)
{
    if (const Fault error = enter(Call::pin, device))
        return report(error);
    const int64_t limit = switches_.pinned_memory();
    if (limit >= 0 && bytes > static_cast<size_t>(limit))
        return report({HEDDLE_ERR_NO_MEMORY, "sim: out of memory, as asked"});
    return report(memories_.add_registered(device, ptr, bytes));
}

Error Machine::unpin(int device, void *ptr)
{
    if (const Fault error = enter(Call::unpin, device))
        return report(error);
    return report(memories_.free(ptr, Origin::registered));
}

} // namespace heddle::gpu::sim
