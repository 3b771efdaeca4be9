/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device's plug-in, opened as libheddle opens it, for tests of it alone.
 */
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/sim/sim.h"
#include "named.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace sim_test {

using namespace heddle;
using namespace heddle::gpu;
using ::gpu::fail;
using ::gpu::same;
using ::gpu::text;

/* The plug-in's functions, by dlsym, as a program that does not link to it has them. */
#define SIM_FUNCTIONS(each)                                                                        \
    each(configure) each(count) each(malloc) each(malloc_managed) each(malloc_host) each(free)     \
        each(memcpy) each(host_register) each(host_unregister) each(synchronize)                   \
            each(stream_create) each(stream_destroy) each(set_device)
struct Sim {
    Backend *backend = nullptr;
#define SIM_MEMBER(name) decltype(&heddle_sim_##name) name = nullptr;
    SIM_FUNCTIONS(SIM_MEMBER)
#undef SIM_MEMBER
};
extern Sim sim;
extern std::string plugin;              /* its path */
extern thread_local std::string detail; /* what it said last */

void open_plugin();

void ok(int error, const char *what);
inline void ok(heddle::Error error, const char *what) { ok(error.code(), what); }
#define OK(call) ok(call, #call)

/* Device memory for one test. */
class DeviceBytes {
public:
    explicit DeviceBytes(size_t size, int device = 0) : size_(size)
    {
        OK(sim.malloc(device, size, &at_));
    }
    explicit DeviceBytes(const std::vector<char> &bytes, int device = 0)
        : DeviceBytes(bytes.size(), device)
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

/* 1, 2, 3 and so on. */
std::vector<char> pattern(size_t size);

Side dense(void *at, uint8_t word = 1);
Side strided(void *at, int64_t block, int64_t stride, uint8_t word);

/* Launches one work, by that kernel where it can do it, and waits for its end. */
int run(Kernel kernel, const Work &work, int device = 0);

/* The work must fail on the device, for that reason, and the device from then on. */
void fails_for_good(Kernel kernel, const Work &work, const char *reason);

} // namespace sim_test
