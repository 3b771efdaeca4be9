/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests with names: a piece of memory beside what it should hold, and a process of one's own.
 */
#pragma once

#include "../unit/oracle/handle.hpp"
#include "../unit/oracle/rng.hpp"
#include "device_memory.hpp"
#include "named.hpp"

#include <heddle.h>

#include <string>
#include <vector>

namespace gpu {

class Buffer {
public:
    /* Random bytes, the same for the same seed. */
    Buffer(Place place, size_t bytes, uint64_t seed);
    /* These bytes. */
    Buffer(Place place, std::vector<std::byte> bytes);

    std::byte *at(size_t offset = 0) const { return memory_.at() + offset; }
    size_t size() const { return expected.size(); }
    /* Writes what is expected into the memory. */
    void upload() const { memory_.write(0, expected.data(), expected.size()); }
    std::vector<std::byte> bytes() const;
    /* Fails where the memory holds something else. */
    template <class... Where> void check(const Where &...where) const
    {
        const std::vector<std::byte> now = bytes();
        for (size_t i = 0; i < now.size(); ++i)
            if (now[i] != expected[i])
                fail(where..., ": byte ", i, " of ", to_text(memory_.place()), " memory differs");
    }

    std::vector<std::byte> expected;

private:
    Memory memory_;
};

/* Packed bytes. */
inline heddle_side bytes_at(void *buf, int64_t bytes, int64_t offset = 0)
{
    return {buf, bytes, heddle_type_predefined(HEDDLE_BYTE), offset};
}

inline heddle_side side_of(void *buf, int64_t count, const oracle::Type &type, int64_t offset = 0)
{
    return {buf, count, type.get(), offset};
}

/* One of the library's counters. */
int64_t counted(const std::string &name);

/* How a transfer is asked for. */
enum class Way { blocking, begun, on_stream };
constexpr Way all_ways[] = {Way::blocking, Way::begun, Way::on_stream};
const char *to_text(Way way);

/* Carries the moves out and waits for their end. The code of whichever call fails. */
int transfer(Way way, const std::vector<heddle_move> &moves, int device = 0);
/* The same, must succeed. */
void transfer_all(Way way, const std::vector<heddle_move> &moves, int device = 0);

/* Skips the test where there is no device, or none that is simulated, or not so many. */
void need_devices(int n = 1);
void need_simulation();

/* Switches of the simulated device, until it goes. */
class Switched {
public:
    explicit Switched(const std::string &switches) { Machine::get().configure(switches.c_str()); }
    Switched(const Switched &) = delete;
    ~Switched() { Machine::get().reset(); }
};

/* Runs this very program anew with other environment variables (name, value).
 * Its exit status and output. */
struct Ended {
    int status;
    std::string output;
};
Ended run_self(const std::vector<std::string> &arguments,
               const std::vector<std::pair<std::string, std::string>> &environment);
/* Must end well. */
void self_succeeds(const std::vector<std::string> &arguments,
                   const std::vector<std::pair<std::string, std::string>> &environment);

} // namespace gpu
