// SPDX-License-Identifier: BSD-3-Clause
#include "resident.hpp"

#include "counters.hpp"

#include "../mpi/datatype/engine/guard.hpp"
#include "../mpi/datatype/engine/runs.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace heddle::gpu {

namespace {

// Lists of more runs than this would take more memory than they are worth; such images are located
// word by word. The spans of an irregular type are a list as they are.
constexpr int64_t most_listed_runs = int64_t{4} << 20;
// The same of tiles, of four bytes each: of some 100 GB, more than the memory of a device. Runs can
// be long, and few.
constexpr int64_t most_tiles = int64_t{24} << 20;

// Types come and go, and their small images with them: those live in slabs.
constexpr size_t largest_in_slab = size_t{1} << 20;

// One upload: arrays one after the other, as they will lie in the device's memory.
struct Upload {
    std::vector<char> bytes;

    template <class T> size_t add(const T *data, size_t n)
    {
        const size_t at = (bytes.size() + 15) / 16 * 16;
        bytes.resize(at + n * sizeof(T));
        if (n)
            std::memcpy(bytes.data() + at, data, n * sizeof(T));
        return at;
    }
};

struct Spelt {
    std::vector<int64_t> displs;
    std::vector<int64_t> prefix{0};
};

// The runs of `instances` instances, from the address of the first one's packed byte 0.
Spelt spell(const Plan &plan, int64_t instances)
{
    Spelt list;
    const auto n = static_cast<size_t>(plan.runs * instances);
    list.displs.reserve(n);
    list.prefix.reserve(n + 1);
    visit_instances(plan, false, instances, 0, instances * plan.bytes,
                    [&](int64_t displ, int64_t bytes, uint8_t) {
                        list.displs.push_back(displ - plan.displ);
                        list.prefix.push_back(list.prefix.back() + bytes);
                        return true;
                    });
    return list;
}

// tile[t] and RunList::most.
std::vector<int32_t> tiles(const int64_t *prefix, int64_t count, int32_t &most)
{
    const int64_t bytes = prefix[count];
    std::vector<int32_t> tile;
    tile.reserve(static_cast<size_t>(bytes / tile_bytes) + 2);
    int64_t run = 0;
    for (int64_t at = 0; at < bytes; at += tile_bytes) {
        while (prefix[run + 1] <= at)
            ++run;
        tile.push_back(static_cast<int32_t>(run));
    }
    tile.push_back(static_cast<int32_t>(count - 1));
    most = 1;
    for (size_t t = 0; t + 1 < tile.size(); ++t)
        most = std::max(most, tile[t + 1] - tile[t] + 1);
    return tile;
}

// RunList::spots and RunList::lowest. None where displacements are too far apart for anybody's
// memory.
std::vector<uint64_t> spots(const int64_t *displs, const int64_t *prefix, int64_t count,
                            int64_t &lowest)
{
    const auto [low, high] = std::minmax_element(displs, displs + count);
    lowest = *low;
    std::vector<uint64_t> list;
    if (static_cast<uint64_t>(*high) - static_cast<uint64_t>(lowest) > most_spread)
        return list;
    list.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
        list.push_back(static_cast<uint64_t>(prefix[i]) << spot_bits |
                       (static_cast<uint64_t>(displs[i]) - static_cast<uint64_t>(lowest)));
    return list;
}

int32_t longest(const int64_t *prefix, int64_t count)
{
    int64_t most = 0;
    for (int64_t i = 0; i < count; ++i)
        most = std::max(most, prefix[i + 1] - prefix[i]);
    return static_cast<int32_t>(std::min<int64_t>(most, INT32_MAX));
}

// By way of pinned slabs where there are any, for a copy from ordinary memory may wait for all of
// the device.
int upload(Device &device, const std::vector<char> &bytes, char *to)
{
    Backend &backend = device.backend();
    Slab slab;
    const int taken = device.pinned.take_up_to(std::min(bytes.size(), size_t{4} << 20), slab);
    if (taken && taken != HEDDLE_ERR_NO_MEMORY)
        return taken;
    Stream stream;
    if (const int e = device.upload_stream(stream))
        return e;
    const size_t step = slab ? slab.bytes() : bytes.size();
    for (size_t at = 0; at < bytes.size(); at += step) {
        const size_t n = std::min(step, bytes.size() - at);
        const char *from = bytes.data() + at;
        if (slab)
            from = static_cast<char *>(std::memcpy(slab.at(), from, n));
        if (const int e = backend.copy(device.ordinal(), stream, to + at, from, n, nullptr))
            return e;
        if (const int e = backend.stream_synchronize(device.ordinal(), stream))
            return e;
    }
    return HEDDLE_SUCCESS;
}

// Memory for an image: the device's, or, where that has run out, pinned, which kernels reach as
// well.
int take(Device &device, size_t bytes, Slab &memory, bool &on_host)
{
    int error = HEDDLE_ERR_NO_MEMORY;
    on_host = false;
    for (SlabPool *const pool : {&device.memory, &device.pinned}) {
        if (bytes <= largest_in_slab)
            error = pool->take(bytes, memory);
        if (error == HEDDLE_ERR_NO_MEMORY)
            error = pool->take_apart(bytes, memory);
        if (error != HEDDLE_ERR_NO_MEMORY)
            return error;
        on_host = true;
    }
    return error;
}

template <class T> const T *placed(char *memory, size_t at)
{
    return reinterpret_cast<const T *>(memory + at);
}

// What a plan's image becomes on a device: where its arrays lie in one piece of memory.
struct Description {
    Upload blob;
    size_t nodes = 0, side = 0, displs = 0, prefix = 0, spot = 0, tile = 0;
    RunList runs{}; // without addresses; count 0: no list

    Description(const Plan &plan, bool with_list)
    {
        const Image &image = plan.image;
        nodes = blob.add(image.nodes.data(), image.nodes.size());
        side = blob.add(image.side.data(), image.side.size());
        const int64_t instances = std::max<int64_t>(1, tile_bytes / plan.bytes);
        const ImageNode &root = image.nodes[0];
        with_list = with_list && plan.bytes / tile_bytes <= most_tiles;
        if (root.kind == NodeKind::spans && instances == 1) { // is a list
            displs = side + static_cast<size_t>(root.side) * sizeof(int64_t);
            prefix = displs + static_cast<size_t>(root.count) * sizeof(int64_t);
            if (with_list)
                add_spots(image.view().displs(root), image.view().prefix(root), root.count);
        } else if (with_list && plan.runs <= most_listed_runs / instances) {
            const Spelt list = spell(plan, instances);
            displs = blob.add(list.displs.data(), list.displs.size());
            prefix = blob.add(list.prefix.data(), list.prefix.size());
            add_spots(list.displs.data(), list.prefix.data(),
                      static_cast<int64_t>(list.displs.size()));
        }
        if (runs.count == 0)
            return;
        runs.bytes = instances * plan.bytes;
        runs.extent = instances * plan.extent;
        runs.by_bytes = Divisor::of(runs.bytes);
    }

    size_t bytes() const { return blob.bytes.size(); }

    // Uploaded to `memory`.
    void place(char *memory, Resident &r) const
    {
        r.image = {placed<ImageNode>(memory, nodes), placed<int64_t>(memory, side)};
        r.runs = runs;
        if (runs.count == 0)
            return;
        r.runs.displs = placed<int64_t>(memory, displs);
        r.runs.prefix = placed<int64_t>(memory, prefix);
        r.runs.spots = placed<uint64_t>(memory, spot);
        r.runs.tile = placed<int32_t>(memory, tile);
    }

private:
    // The rest of a list. None where the runs are too many or too far apart.
    void add_spots(const int64_t *displ, const int64_t *begin, int64_t count)
    {
        if (count > INT32_MAX)
            return;
        const std::vector<uint64_t> s = spots(displ, begin, count, runs.lowest);
        if (s.empty())
            return;
        spot = blob.add(s.data(), s.size());
        const std::vector<int32_t> t = tiles(begin, count, runs.most);
        tile = blob.add(t.data(), t.size());
        runs.longest = longest(begin, count);
        runs.count = count;
    }
};

std::atomic<int64_t> bytes_held{0};
const Source images([](Counts &counts) {
    counts.push_back({"images", "bytes", "bytes of types' descriptions on devices",
                      bytes_held.load(std::memory_order_relaxed), true});
});

int make(const Plan &plan, Device &device, Resident &r)
{
    bool on_host;
    device.retired.collect(false);
    Description description(plan, true);
    int e = take(device, description.bytes(), r.memory, on_host);
    if (e == HEDDLE_ERR_NO_MEMORY && description.runs.count > 0) { // without the list each word is
                                                                   // searched for
        description = Description(plan, false);
        e = take(device, description.bytes(), r.memory, on_host);
    }
    if (e)
        return e;
    bytes_held.fetch_add(static_cast<int64_t>(r.memory.bytes()), std::memory_order_relaxed);
    if (on_host) {
        std::memcpy(r.memory.at(), description.blob.bytes.data(), description.bytes());
        device.retired.collect(true); // the next one may find room
    } else if (const int failed = upload(device, description.blob.bytes, r.memory.at())) {
        return failed;
    }
    description.place(r.memory.at(), r);
    return HEDDLE_SUCCESS;
}

// One plan's images, one for each device.
class Residents : public Attachment {
public:
    explicit Residents(size_t devices) : entries_(devices) {}

    ~Residents() override
    {
        for (Entry &entry : entries_)
            if (entry.resident && entry.resident->on_streams.load(std::memory_order_relaxed))
                entry.device->retired.add(std::move(entry.resident));
    }

    Resident *ready(Device &device)
    {
        return entry_of(device).ready.load(std::memory_order_acquire);
    }

    int get(const Plan &plan, Device &device, const Resident *&found)
    {
        Entry &entry = entry_of(device);
        found = entry.ready.load(std::memory_order_acquire);
        if (found)
            return HEDDLE_SUCCESS;
        const std::lock_guard lock(entry.mutex); // others who need it wait for it
        found = entry.ready.load(std::memory_order_relaxed);
        if (found)
            return HEDDLE_SUCCESS;
        auto made = std::make_unique<Resident>();
        if (const int e = make(plan, device, *made))
            return e;
        entry.device = &device;
        entry.resident = std::move(made);
        found = entry.resident.get();
        entry.ready.store(entry.resident.get(), std::memory_order_release);
        return HEDDLE_SUCCESS;
    }

private:
    struct Entry {
        std::mutex mutex;
        Device *device = nullptr;
        std::unique_ptr<Resident> resident;
        std::atomic<Resident *> ready{nullptr};
    };

    Entry &entry_of(Device &device) { return entries_[static_cast<size_t>(device.ordinal())]; }

    std::vector<Entry> entries_;
};

Residents &residents_of(const Plan &plan, Device &device)
{
    return plan.attached<Residents>(Attached::images, [&] {
        return std::make_unique<Residents>(static_cast<size_t>(device.backend().device_count()));
    });
}

} // namespace

Resident::~Resident()
{
    bytes_held.fetch_sub(static_cast<int64_t>(memory.bytes()), std::memory_order_relaxed);
}

// Called from the middle of transfers, which must not be left by an exception: memory that has run
// out is an error.
int resident(const Plan &plan, Device &device, const Resident *&found)
{
    return guard([&] { return residents_of(plan, device).get(plan, device, found); });
}

int64_t resident_bytes(const Plan &plan)
{
    return static_cast<int64_t>(Description(plan, true).bytes());
}

void read_on_stream(const Plan &plan, Device &device)
{
    std::atomic<bool> &flag = residents_of(plan, device).ready(device)->on_streams;
    if (!flag.load(std::memory_order_relaxed)) // written once: other threads read it beside
        flag.store(true, std::memory_order_relaxed);
}

} // namespace heddle::gpu
