/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device by itself: what src/gpu/core/backend.hpp promises, and that it fails where a
 * GPU would.
 *
 * usage: sim_test [libheddle-sim.so [NAME]]; without a path, HEDDLE_DEVICE names it.
 */
#include "sim_plugin.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace sim_test {
namespace {

/* An error is no number and no truth value. */
using heddle::Error;
static_assert(!std::is_convertible_v<Error, int> && !std::is_convertible_v<Error, bool> &&
              !std::is_convertible_v<int, Error> && !std::is_convertible_v<bool, Error>);

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
            fail("kind ", int(memory.kind), " on ", memory.device, ", expected ", int(kind), " on ",
                 on);
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

void limits_and_failures()
{
    void *slabs[3] = {};
    OK(sim.configure("device_memory=1000 pinned_memory=0"));
    OK(sim.backend->allocate(0, 600, &slabs[0]));
    same(sim.backend->allocate(0, 401, &slabs[1]).code(), int{HEDDLE_ERR_NO_MEMORY},
         "beyond the limit");
    OK(sim.backend->allocate(1, 1000, &slabs[1]));
    same(sim.backend->allocate_pinned(0, 1, &slabs[2]).code(), int{HEDDLE_ERR_NO_MEMORY},
         "no pinned memory");
    OK(sim.backend->free(0, slabs[0]));
    OK(sim.backend->free(1, slabs[1]));
    OK(sim.backend->allocate(0, 1000, &slabs[0]));
    OK(sim.backend->free(0, slabs[0]));
    void *program = nullptr;
    OK(sim.configure("program_memory=1000"));
    same(sim.malloc(0, 1001, &program), int{HEDDLE_ERR_NO_MEMORY}, "too much for a program");
    OK(sim.malloc(0, 1000, &program));
    OK(sim.free(program));
    OK(sim.configure("reset fail=allocate:2"));
    OK(sim.backend->allocate(0, 10, &slabs[0]));
    same(sim.backend->allocate(0, 10, &slabs[1]).code(), int{HEDDLE_ERR_DEVICE},
         "the second of two");
    OK(sim.backend->allocate(0, 10, &slabs[1]));
    same(sim.count("allocate"), int64_t{3}, "counted");
    OK(sim.configure("fail=free:1+"));
    for (int i = 0; i < 3; ++i)
        same(sim.backend->free(0, slabs[0]).code(), int{HEDDLE_ERR_DEVICE}, "always");
    OK(sim.configure("reset fail=free:0%"));
    OK(sim.backend->free(0, slabs[0]));
    OK(sim.backend->free(0, slabs[1]));
    for (const char *bad : {"nonsense", "fail=", "fail=allocate", "fail=allocate:0", "fail=x:1",
                            "delay_us=-1", "fail=free:101%", "reorder=2", "delay_us=1 x"})
        same(sim.configure(bad), int{HEDDLE_ERR_ARG}, "switches that make no sense: ", bad);
    OK(sim.configure("reset"));
}

/* The far end of `between_processes`: adds 1 to 16 bytes that another process exports. */
int far_end(const char *handle_text)
{
    unsigned char handle[Backend::handle_bytes];
    for (size_t i = 0; i < sizeof handle; ++i)
        sscanf(handle_text + 2 * i, "%2hhx", &handle[i]);
    void *memory = nullptr, *again = nullptr;
    OK(sim.backend->import_memory(0, handle, &memory));
    OK(sim.backend->import_memory(0, handle, &again));
    same(memory, again, "imported twice");
    same(int(sim.backend->query(memory, true).kind), int(MemoryKind::device),
         "kind of imported memory");
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
    same(sim.backend->close_memory(0, memory).code(), int{HEDDLE_ERR_DEVICE}, "closed too often");
    return 0;
}

void between_processes()
{
    const DeviceBytes memory(pattern(64));
    unsigned char handle[Backend::handle_bytes];
    OK(sim.backend->export_memory(0, memory.at() + 32, handle));
    void *mine = nullptr;
    same(sim.backend->import_memory(0, handle, &mine).code(), int{HEDDLE_ERR_DEVICE},
         "one's own memory");
    std::string handle_text;
    for (const unsigned char byte : handle) {
        char two[3];
        snprintf(two, sizeof two, "%02x", byte);
        handle_text += two;
    }
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "sim_test", plugin.c_str(), "--far-end", handle_text.c_str(),
              nullptr);
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
    same(sim.backend->import_memory(0, handle, &mine).code(), int{HEDDLE_ERR_DEVICE},
         "a handle of nothing");
    same(sim.backend->export_memory(1, memory.at(), handle).code(), int{HEDDLE_ERR_DEVICE},
         "another device's memory");
}

const ::gpu::AddTests tests{{"memory kinds", memory_kinds},
                            {"host access faults", host_access_faults},
                            {"limits and failures", limits_and_failures},
                            {"between processes", between_processes}};

} // namespace
} // namespace sim_test

int main(int argc, char **argv)
{
    const char *variable = getenv("HEDDLE_DEVICE");
    sim_test::plugin = argc > 1 ? argv[1] : variable ? variable : "";
    try {
        sim_test::open_plugin();
        if (argc > 3 && strcmp(argv[2], "--far-end") == 0)
            return sim_test::far_end(argv[3]);
    } catch (const std::exception &failure) {
        fprintf(stderr, "sim_test: %s\n", failure.what());
        return 1;
    }
    ::gpu::Tally tally;
    ::gpu::run_named(argc > 2 ? argv[2] : "", tally);
    printf("%s\n", tally.line().c_str());
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}
