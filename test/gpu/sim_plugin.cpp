/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_plugin.hpp"

#include <dlfcn.h>
#include <numeric>

namespace sim_test {

Sim sim;
std::string plugin;
thread_local std::string detail;

void open_plugin()
{
    void *handle = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail(dlerror());
    const auto find = [&](auto &function, const char *name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
        if (!function)
            fail("no ", name, " in ", plugin);
    };
    OpenBackend open = nullptr;
    find(open, HEDDLE_BACKEND_SYMBOL);
#define FIND_MEMBER(name) find(sim.name, "heddle_sim_" #name);
    SIM_FUNCTIONS(FIND_MEMBER)
#undef FIND_MEMBER
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

std::vector<char> pattern(size_t size)
{
    std::vector<char> bytes(size);
    std::iota(bytes.begin(), bytes.end(), char{1});
    return bytes;
}

Side dense(void *at, uint8_t word)
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

int run(Kernel kernel, const Work &work, int device)
{
    Stream stream = nullptr;
    Done *done = nullptr;
    OK(sim.backend->stream_create(device, false, &stream));
    OK(sim.backend->done_acquire(device, &done));
    Launch launch{&work, kernel};
    heddle::Error error = sim.backend->launch(device, stream, {&launch, 1}, {}, done);
    if (!error)
        error = sim.backend->done_wait(done);
    sim.backend->done_release(done);
    sim.stream_destroy(stream);
    return error.code();
}

void fails_for_good(Kernel kernel, const Work &work, const char *reason)
{
    detail.clear();
    same(run(kernel, work), int{HEDDLE_ERR_DEVICE}, "a work that should fail: ", reason);
    if (detail.find(reason) == detail.npos)
        fail("the detail is \"", detail, "\", without \"", reason, "\"");
    void *slab = nullptr;
    same(sim.backend->allocate(0, 10, &slab).code(), int{HEDDLE_ERR_DEVICE},
         "the device after it failed");
    OK(sim.configure("reset"));
    OK(sim.backend->allocate(0, 10, &slab));
    OK(sim.backend->free(0, slab));
}

} // namespace sim_test
