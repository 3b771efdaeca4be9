// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/counters.hpp"

#include "engine/guard.hpp"
#include "engine/immortal.hpp"
#include "engine/sized.hpp"
#include "gpu/core/error_detail.hpp"
#include "heddle.h"

#include <mutex>
#include <string>

namespace heddle::gpu {

namespace {

struct Sources {
    std::mutex mutex;
    std::vector<void (*)(Counts &)> all;

    static Sources &get() { return immortal<Sources>(); }
};

} // namespace

Source::Source(void (*source)(Counts &))
{
    const std::lock_guard lock(Sources::get().mutex);
    Sources::get().all.push_back(source);
}

Counts all_counts()
{
    Counts counts;
    const std::lock_guard lock(Sources::get().mutex);
    for (const auto source : Sources::get().all)
        source(counts);
    return counts;
}

} // namespace heddle::gpu

int heddle_counter_read(int64_t index, heddle_counter *counter)
{
    using namespace heddle;
    gpu::clear_error_detail();
    if (!is_sized(counter))
        return HEDDLE_ERR_ARG;
    return guard([&] {
        const gpu::Counts counts = gpu::all_counts();
        // Callers may keep a name for as long as the process lives.
        static Immortal<std::vector<std::string>> names([&] {
            std::vector<std::string> made;
            for (const gpu::Count &count : counts)
                made.push_back(std::string(count.group) + "_" + count.name);
            return made;
        }());
        const auto i = static_cast<size_t>(index);
        if (index < 0 || i >= counts.size())
            return HEDDLE_ERR_RANGE;
        write_sized(
            {0, (*names)[i].c_str(), counts[i].description, counts[i].value, counts[i].level},
            counter);
        return HEDDLE_SUCCESS;
    });
}
