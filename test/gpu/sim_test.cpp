/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device by itself: what src/gpu/backend.hpp promises, and that it fails where a GPU would.
 *
 * usage: sim_test [libheddle-sim.so [NAME]]; without a path, HEDDLE_DEVICE names it.
 */
#include "../../src/gpu/backend.hpp"
#include "../../src/gpu/sim/sim.h"
#include "../unit/oracle/rng.hpp"
#include "named.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace heddle;
using namespace heddle::gpu;
using ::gpu::fail;
using ::gpu::same;
using ::gpu::text;

namespace {

std::string self, plugin;
thread_local std::string detail;

/* The plug-in's functions, by dlsym, as a program that does not link to it has them. */
struct Sim {
    Backend *backend = nullptr;
#define SIM_FUNCTION(name) decltype(&heddle_sim_##name) name = nullptr
    SIM_FUNCTION(configure);
    SIM_FUNCTION(count);
    SIM_FUNCTION(malloc);
    SIM_FUNCTION(malloc_managed);
    SIM_FUNCTION(malloc_host);
    SIM_FUNCTION(free);
    SIM_FUNCTION(memcpy);
    SIM_FUNCTION(host_register);
    SIM_FUNCTION(host_unregister);
    SIM_FUNCTION(synchronize);
    SIM_FUNCTION(stream_create);
    SIM_FUNCTION(stream_destroy);
    SIM_FUNCTION(set_device);
#undef SIM_FUNCTION
};
Sim sim;

void open_plugin()
{
    void *handle = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail(dlerror());
    const auto find = [&](auto &function, const char *name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
        if (!function)
            fail("no ", name, " in ", plugin);
    };
    OpenBackend open = nullptr;
    find(open, HEDDLE_BACKEND_SYMBOL);
#define SIM_FUNCTION(name) find(sim.name, "heddle_sim_" #name)
    SIM_FUNCTION(configure);
    SIM_FUNCTION(count);
    SIM_FUNCTION(malloc);
    SIM_FUNCTION(malloc_managed);
    SIM_FUNCTION(malloc_host);
    SIM_FUNCTION(free);
    SIM_FUNCTION(memcpy);
    SIM_FUNCTION(host_register);
    SIM_FUNCTION(host_unregister);
    SIM_FUNCTION(synchronize);
    SIM_FUNCTION(stream_create);
    SIM_FUNCTION(stream_destroy);
    SIM_FUNCTION(set_device);
#undef SIM_FUNCTION
    std::string reason;
    sim.backend = open(Host{[](const char *words) { detail = words; }}, reason);
    if (!sim.backend)
        fail("the plug-in does not open: ", reason);
}

void ok(int error, const char *what)
{
    if (error != HEDDLE_SUCCESS)
        fail(what, ": ", error, " ", detail);
}
#define OK(call) ok(call, #call)

/* Device memory for one test. */
class DeviceBytes {
public:
    explicit DeviceBytes(size_t size, int device = 0) : size_(size) { OK(sim.malloc(device, size, &at_)); }
    explicit DeviceBytes(const std::vector<char> &bytes, int device = 0) : DeviceBytes(bytes.size(), device)
    {
        OK(sim.memcpy(at_, bytes.data(), bytes.size()));
    }
    DeviceBytes(const DeviceBytes &) = delete;
    ~DeviceBytes() { sim.free(at_); }
    char *at() const { return static_cast<char *>(at_); }
    std::vector<char> bytes() const
    {
        std::vector<char> copy(size_);
        OK(sim.memcpy(copy.data(), at_, size_));
        return copy;
    }

private:
    size_t size_;
    void *at_ = nullptr;
};

template <class T> std::vector<char> as_bytes(const std::vector<T> &items)
{
    std::vector<char> bytes(items.size() * sizeof(T));
    std::memcpy(bytes.data(), items.data(), bytes.size());
    return bytes;
}

std::vector<char> pattern(size_t size)
{
    std::vector<char> bytes(size);
    std::iota(bytes.begin(), bytes.end(), char{1});
    return bytes;
}

Side dense(void *at, uint8_t word = 1)
{
    Side side;
    side.base = static_cast<char *>(at);
    side.word = word;
    return side;
}

Side strided(void *at, int64_t block, int64_t stride, uint8_t word)
{
    Side side = dense(at, word);
    side.shape = Shape::strided;
    side.dims = 1;
    side.block = block;
    side.dim[0] = {stride, 1, block, Divisor::of(block)};
    return side;
}

/* Launches one kernel and waits for its end. */
int run(Kernel kernel, const Work &work, int device = 0)
{
    Stream stream = nullptr;
    Done *done = nullptr;
    OK(sim.backend->stream_create(device, &stream));
    OK(sim.backend->done_acquire(device, &done));
    const Launch launch{kernel, &work};
    int error = sim.backend->launch(device, stream, {&launch, 1}, done);
    if (error == HEDDLE_SUCCESS)
        error = sim.backend->done_wait(done);
    sim.backend->done_release(done);
    sim.backend->stream_destroy(device, stream);
    return error;
}

/* The work must fail on the device, for that reason, and the device from then on. */
void fails_for_good(Kernel kernel, const Work &work, const char *reason)
{
    detail.clear();
    same(run(kernel, work), int{HEDDLE_ERR_DEVICE}, "a work that should fail: ", reason);
    if (detail.find(reason) == detail.npos)
        fail("the detail is \"", detail, "\", without \"", reason, "\"");
    void *slab = nullptr;
    same(sim.backend->allocate(0, 10, &slab), int{HEDDLE_ERR_DEVICE}, "the device after it failed");
    OK(sim.configure("reset"));
    OK(sim.backend->allocate(0, 10, &slab));
    OK(sim.backend->free(0, slab));
}

void memory_kinds()
{
    void *device = nullptr, *managed = nullptr, *pinned = nullptr, *slab = nullptr;
    OK(sim.malloc(1, 100, &device));
    OK(sim.malloc_managed(1, 100, &managed));
    OK(sim.malloc_host(100, &pinned));
    OK(sim.backend->allocate_pinned(1, 100, &slab));
    std::vector<char> ordinary(100);
    const auto check = [](void *ptr, MemoryKind kind, int on) {
        const Memory memory = sim.backend->query(ptr, true);
        if (memory.kind != kind || memory.device != on)
            fail("kind ", int(memory.kind), " on ", memory.device, ", expected ", int(kind), " on ", on);
    };
    check(device, MemoryKind::device, 1);
    check(static_cast<char *>(device) + 99, MemoryKind::device, 1);
    check(static_cast<char *>(device) + 100, MemoryKind::host, -1);
    check(managed, MemoryKind::managed, 1);
    check(pinned, MemoryKind::pinned, 0);
    check(slab, MemoryKind::pinned, 1);
    check(ordinary.data(), MemoryKind::host, -1);
    check(nullptr, MemoryKind::host, -1);
    OK(sim.host_register(ordinary.data(), 50));
    check(ordinary.data() + 49, MemoryKind::pinned, 0);
    check(ordinary.data() + 50, MemoryKind::host, -1);
    same(sim.host_register(ordinary.data() + 10, 5), int{HEDDLE_ERR_ARG}, "registered twice");
    OK(sim.host_unregister(ordinary.data()));
    check(ordinary.data(), MemoryKind::host, -1);
    same(sim.free(slab), int{HEDDLE_ERR_ARG}, "a slab freed by the program");
    OK(sim.backend->free_pinned(1, slab));
    for (void *each : {device, managed, pinned})
        OK(sim.free(each));
    check(device, MemoryKind::host, -1);
    same(sim.free(device), int{HEDDLE_ERR_ARG}, "freed twice");
}

/* A child touches device memory as a program must not, and dies of it. */
void host_access_faults()
{
    const DeviceBytes memory(pattern(64));
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *static_cast<volatile char *>(memory.at()) = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    same(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, true,
         "writing device memory from the host faults");
    same(memory.bytes() == pattern(64), true, "the memory afterwards");
}

void strided_kernels()
{
    const std::vector<char> source = pattern(256);
    const DeviceBytes from(source), to(size_t{64});
    Work pack;
    pack.from = strided(from.at(), 8, 32, 8);
    pack.to = dense(to.at(), 8);
    pack.bytes = 64;
    for (const Kernel kernel : {Kernel::strided, Kernel::transpose, Kernel::any}) {
        OK(run(kernel, pack));
        std::vector<char> expected;
        for (size_t i = 0; i < 8; ++i)
            expected.insert(expected.end(), source.begin() + 32 * i, source.begin() + 32 * i + 8);
        same(to.bytes() == expected, true, "packed");
    }
    Work unpack;
    const std::vector<char> zeros(256);
    const DeviceBytes back(zeros);
    unpack.from = dense(to.at());
    unpack.to = strided(back.at(), 8, 32, 4);
    unpack.to.first = 13; /* word 1 then */
    unpack.to.word = 1;
    unpack.bytes = 20;
    OK(run(Kernel::strided, unpack));
    std::vector<char> expected = zeros;
    for (size_t i = 13; i < 33; ++i)
        expected[i / 8 * 32 + i % 8] = to.bytes()[i - 13];
    same(back.bytes() == expected, true, "unpacked from byte 13");
}

/* An image and a run list in device memory: spans of 3, 5 and 4 bytes, instances 40 apart. */
void image_and_run_list()
{
    const std::vector<int64_t> displs{20, 0, 10}, prefix{0, 3, 8, 12};
    std::vector<int64_t> lookaside = displs;
    lookaside.insert(lookaside.end(), prefix.begin(), prefix.end());
    ImageNode node{};
    node.count = 3;
    node.bytes = 1;
    node.kind = NodeKind::spans;
    const DeviceBytes nodes(as_bytes(std::vector{node})), side(as_bytes(lookaside));
    const DeviceBytes list_displs(as_bytes(displs)), list_prefix(as_bytes(prefix));
    const DeviceBytes tile(as_bytes(std::vector<int32_t>{0, 2}));

    const std::vector<char> source = pattern(120);
    const DeviceBytes from(source), to(size_t{30});
    Work work;
    work.from = dense(from.at());
    work.from.shape = Shape::image;
    work.from.first = 2;
    work.from.nodes = 1;
    work.from.bytes = 12;
    work.from.extent = 40;
    work.from.by_bytes = Divisor::of(12);
    work.from.image = {reinterpret_cast<const ImageNode *>(nodes.at()),
                       reinterpret_cast<const int64_t *>(side.at())};
    work.from.runs = {reinterpret_cast<const int64_t *>(list_displs.at()),
                      reinterpret_cast<const int64_t *>(list_prefix.at()),
                      reinterpret_cast<const int32_t *>(tile.at()),
                      3,
                      12,
                      40,
                      Divisor::of(12),
                      3};
    work.to = dense(to.at());
    work.bytes = 30;
    std::vector<char> expected;
    for (int64_t i = 2; i < 32; ++i) {
        const int64_t block = i % 12 < 3 ? 0 : i % 12 < 8 ? 1 : 2;
        expected.push_back(source[static_cast<size_t>(i / 12 * 40 + displs[block] + i % 12 - prefix[block])]);
    }
    OK(run(Kernel::any, work));
    same(to.bytes() == expected, true, "by the image");
    const DeviceBytes other(size_t{30});
    work.to.base = other.at();
    work.from.image = {nullptr, nullptr};
    OK(run(Kernel::runs, work));
    same(other.bytes() == expected, true, "by the run list");

    work.from.runs.most = 2;
    fails_for_good(Kernel::runs, work, "wrong runs");
    work.from.image = {reinterpret_cast<const ImageNode *>(&node),
                       reinterpret_cast<const int64_t *>(side.at())};
    fails_for_good(Kernel::any, work, "pageable");
}

void reductions()
{
    const std::vector<int32_t> a{1, -2, 3, INT32_MAX}, b{10, 20, -30, 1};
    const DeviceBytes from(as_bytes(a)), to(as_bytes(b));
    Work work;
    work.from = dense(from.at(), 16);
    work.to = dense(to.at(), 16);
    work.bytes = 16;
    work.op = HEDDLE_OP_SUM;
    work.basic = HEDDLE_INT32;
    OK(run(Kernel::reduce, work));
    same(to.bytes() == as_bytes(std::vector<int32_t>{11, 18, -27, INT32_MIN}), true, "sums");
    /* Packed pairs of a double and an int, 12 bytes each, onto pairs in memory, 16 bytes each. */
    const auto pair = [](double value, int32_t index, size_t size) {
        std::vector<char> bytes(size);
        std::memcpy(bytes.data(), &value, 8);
        std::memcpy(bytes.data() + 8, &index, 4);
        return bytes;
    };
    const DeviceBytes packed(pair(2.0, 7, 12)), located(pair(2.0, 9, 16));
    work.from = dense(packed.at(), 4);
    work.to = strided(located.at(), 12, 16, 4);
    work.bytes = 12;
    work.op = HEDDLE_OP_MAXLOC;
    work.basic = HEDDLE_DOUBLE_INT;
    OK(run(Kernel::reduce, work));
    same(located.bytes() == pair(2.0, 7, 16), true, "the lower index of equal values");
    work.op = HEDDLE_OP_BAND;
    same(run(Kernel::reduce, work), int{HEDDLE_ERR_DEVICE}, "an operator that pairs do not have");
}

void what_a_gpu_cannot_do()
{
    const DeviceBytes from(pattern(64)), to(size_t{64});
    std::vector<char> ordinary(64);
    Work work;
    work.from = dense(from.at());
    work.bytes = 64;
    work.to = dense(ordinary.data());
    fails_for_good(Kernel::any, work, "pageable");
    work.to = dense(to.at() + 1);
    fails_for_good(Kernel::any, work, "beyond");
    work.to = dense(to.at() + 1, 8);
    work.bytes = 32;
    work.from.word = 8;
    fails_for_good(Kernel::any, work, "misaligned");
    void *gone = nullptr;
    OK(sim.malloc(0, 64, &gone));
    OK(sim.free(gone));
    work.to = dense(gone);
    fails_for_good(Kernel::any, work, "freed");
    OK(sim.configure("fail=execute:1"));
    work.to = dense(to.at());
    fails_for_good(Kernel::any, work, "asked to fail");
    same(run(Kernel::runs, work), int{HEDDLE_ERR_DEVICE}, "a kernel that cannot take it");
}

/* Two streams, late and in any order: each alone in order, one after the other where told. */
void order_of_streams()
{
    OK(sim.configure("reset delay_us=300 reorder=1 seed=4"));
    constexpr int n = 40;
    const DeviceBytes cells(std::vector<char>(n + 1));
    Backend &device = *sim.backend;
    Stream streams[2];
    for (Stream &stream : streams)
        OK(device.stream_create(0, &stream));
    std::vector<char> seed{42};
    const DeviceBytes first(seed);
    OK(device.copy(0, streams[0], cells.at(), first.at(), 1, nullptr));
    Done *dones[n];
    for (int i = 0; i < n; ++i) { /* each hands on the byte, from stream to stream */
        OK(device.done_acquire(0, &dones[i]));
        if (i > 0)
            OK(device.stream_wait(0, streams[i % 2], dones[i - 1]));
        OK(device.copy(0, streams[i % 2], cells.at() + i + 1, cells.at() + i, 1, dones[i]));
    }
    bool reached = true;
    OK(device.done_test(dones[n - 1], &reached));
    OK(device.done_wait(dones[n - 1]));
    OK(device.done_test(dones[n - 1], &reached));
    same(reached, true, "done after waiting");
    same(cells.bytes() == std::vector<char>(n + 1, 42), true, "handed on");
    for (Done *done : dones)
        device.done_release(done);
    for (const Stream stream : streams) {
        OK(device.stream_synchronize(0, stream));
        OK(device.stream_destroy(0, stream));
    }
    same(device.stream_destroy(0, streams[0]), int{HEDDLE_ERR_DEVICE}, "destroyed twice");
    OK(sim.configure("reset"));
}

void streams_of_users()
{
    void *stream = nullptr;
    OK(sim.stream_create(1, &stream));
    int device = -1;
    OK(sim.backend->stream_device(stream, &device));
    same(device, 1, "device of a stream");
    OK(sim.set_device(1));
    OK(sim.backend->stream_device(nullptr, &device));
    same(device, 1, "device of the default stream");
    OK(sim.set_device(0));
    same(sim.backend->stream_device(&device, &device), int{HEDDLE_ERR_STREAM}, "no stream");
    const DeviceBytes a(pattern(8)), b(size_t{8});
    same(sim.backend->copy(0, stream, b.at(), a.at(), 8, nullptr), int{HEDDLE_ERR_DEVICE},
         "another device's");
    OK(sim.backend->copy(0, nullptr, b.at(), a.at(), 8, nullptr));
    OK(sim.backend->stream_synchronize(0, nullptr));
    same(b.bytes() == pattern(8), true, "copied on the default stream");
    OK(sim.stream_destroy(stream));
}

void copies()
{
    const DeviceBytes a(pattern(100)), b(std::vector<char>(100), 1);
    OK(sim.backend->copy_2d(0, nullptr, b.at(), 10, a.at(), 20, 5, 4, nullptr));
    OK(sim.backend->stream_synchronize(0, nullptr));
    std::vector<char> expected(100);
    for (size_t i = 0; i < 20; ++i)
        expected[i / 5 * 10 + i % 5] = pattern(100)[i / 5 * 20 + i % 5];
    same(b.bytes() == expected, true, "rows");
    std::vector<char> ordinary(8);
    OK(sim.backend->copy(0, nullptr, ordinary.data(), a.at(), 8, nullptr));
    OK(sim.backend->stream_synchronize(0, nullptr));
    same(std::equal(ordinary.begin(), ordinary.end(), pattern(8).begin()), true, "copied to pageable memory");
    OK(sim.configure("pageable_copy=0"));
    OK(sim.backend->copy(0, nullptr, ordinary.data(), a.at(), 8, nullptr));
    same(sim.backend->stream_synchronize(0, nullptr), int{HEDDLE_ERR_DEVICE}, "a copy to pageable memory, forbidden");
    OK(sim.configure("reset"));
}

void limits_and_failures()
{
    void *slabs[3] = {};
    OK(sim.configure("device_memory=1000 pinned_memory=0"));
    OK(sim.backend->allocate(0, 600, &slabs[0]));
    same(sim.backend->allocate(0, 401, &slabs[1]), int{HEDDLE_ERR_NO_MEMORY}, "beyond the limit");
    OK(sim.backend->allocate(1, 1000, &slabs[1]));
    same(sim.backend->allocate_pinned(0, 1, &slabs[2]), int{HEDDLE_ERR_NO_MEMORY}, "no pinned memory");
    OK(sim.backend->free(0, slabs[0]));
    OK(sim.backend->free(1, slabs[1]));
    OK(sim.backend->allocate(0, 1000, &slabs[0]));
    OK(sim.backend->free(0, slabs[0]));
    OK(sim.configure("reset fail=allocate:2"));
    OK(sim.backend->allocate(0, 10, &slabs[0]));
    same(sim.backend->allocate(0, 10, &slabs[1]), int{HEDDLE_ERR_DEVICE}, "the second of two");
    OK(sim.backend->allocate(0, 10, &slabs[1]));
    same(sim.count("allocate"), int64_t{3}, "counted");
    OK(sim.configure("fail=free:1+"));
    for (int i = 0; i < 3; ++i)
        same(sim.backend->free(0, slabs[0]), int{HEDDLE_ERR_DEVICE}, "always");
    OK(sim.configure("reset fail=free:0%"));
    OK(sim.backend->free(0, slabs[0]));
    OK(sim.backend->free(0, slabs[1]));
    for (const char *bad : {"nonsense", "fail=", "fail=allocate", "fail=allocate:0", "fail=x:1",
                            "delay_us=-1", "fail=free:101%", "reorder=2", "delay_us=1 x"})
        same(sim.configure(bad), int{HEDDLE_ERR_ARG}, "switches that make no sense: ", bad);
    OK(sim.configure("reset"));
}

/* The far end of `between_processes`: adds 1 to 16 bytes that another process lent. */
int far_end(const char *handle_text)
{
    unsigned char handle[Backend::handle_bytes];
    for (size_t i = 0; i < sizeof handle; ++i)
        sscanf(handle_text + 2 * i, "%2hhx", &handle[i]);
    void *memory = nullptr, *again = nullptr;
    OK(sim.backend->import_memory(0, handle, &memory));
    OK(sim.backend->import_memory(0, handle, &again));
    same(memory, again, "imported twice");
    same(int(sim.backend->query(memory, true).kind), int(MemoryKind::device), "kind of imported memory");
    const DeviceBytes ones(std::vector<char>(16, 1));
    Work work;
    work.from = dense(ones.at());
    work.to = dense(memory);
    work.bytes = 16;
    work.op = HEDDLE_OP_SUM;
    work.basic = HEDDLE_INT8;
    OK(run(Kernel::reduce, work));
    OK(sim.backend->close_memory(0, memory));
    OK(sim.backend->close_memory(0, memory));
    same(sim.backend->close_memory(0, memory), int{HEDDLE_ERR_DEVICE}, "closed too often");
    return 0;
}

void between_processes()
{
    const DeviceBytes memory(pattern(64));
    unsigned char handle[Backend::handle_bytes];
    OK(sim.backend->export_memory(0, memory.at() + 32, handle));
    void *mine = nullptr;
    same(sim.backend->import_memory(0, handle, &mine), int{HEDDLE_ERR_DEVICE}, "one's own memory");
    std::string handle_text;
    for (const unsigned char byte : handle) {
        char two[3];
        snprintf(two, sizeof two, "%02x", byte);
        handle_text += two;
    }
    const pid_t child = fork();
    if (child == 0) {
        execl(self.c_str(), self.c_str(), plugin.c_str(), "--far-end", handle_text.c_str(), nullptr);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    same(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "the other process");
    std::vector<char> expected = pattern(64);
    for (size_t i = 32; i < 48; ++i)
        expected[i] = static_cast<char>(expected[i] + 1);
    same(memory.bytes() == expected, true, "what the other process wrote");
    handle[20] ^= 1;
    same(sim.backend->import_memory(0, handle, &mine), int{HEDDLE_ERR_DEVICE}, "a handle of nothing");
    same(sim.backend->export_memory(1, memory.at(), handle), int{HEDDLE_ERR_DEVICE},
         "another device's memory");
}

void many_threads()
{
    OK(sim.configure("reset delay_us=20 reorder=1"));
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> crowd;
        for (int t = 0; t < 8; ++t)
            crowd.emplace_back([&, t] {
                try {
                    for (int i = 0; i < 20; ++i) {
                        const DeviceBytes from(pattern(400), t % 2), to(size_t{100}, t % 2);
                        Work work;
                        work.from = strided(from.at(), 1, 4, 1);
                        work.to = dense(to.at());
                        work.bytes = 100;
                        OK(run(Kernel::strided, work, t % 2));
                        std::vector<char> expected;
                        for (size_t j = 0; j < 100; ++j)
                            expected.push_back(pattern(400)[4 * j]);
                        wrong += to.bytes() != expected;
                    }
                } catch (const std::exception &) {
                    ++wrong;
                }
            });
    }
    same(wrong.load(), 0, "wrong results");
    OK(sim.configure("reset"));
}

const ::gpu::AddTests tests{{"memory kinds", memory_kinds},
                            {"host access faults", host_access_faults},
                            {"strided kernels", strided_kernels},
                            {"image and run list", image_and_run_list},
                            {"reductions", reductions},
                            {"what a GPU cannot do", what_a_gpu_cannot_do},
                            {"order of streams", order_of_streams},
                            {"streams of users", streams_of_users},
                            {"copies", copies},
                            {"limits and failures", limits_and_failures},
                            {"between processes", between_processes},
                            {"many threads", many_threads}};

} // namespace

int main(int argc, char **argv)
{
    self = "/proc/self/exe";
    const char *variable = getenv("HEDDLE_DEVICE");
    plugin = argc > 1 ? argv[1] : variable ? variable : "";
    try {
        open_plugin();
        if (argc > 3 && strcmp(argv[2], "--far-end") == 0)
            return far_end(argv[3]);
    } catch (const std::exception &failure) {
        fprintf(stderr, "sim_test: %s\n", failure.what());
        return 1;
    }
    ::gpu::Tally tally;
    ::gpu::run_named(argc > 2 ? argv[2] : "", tally);
    printf("%s\n", tally.line().c_str());
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}
