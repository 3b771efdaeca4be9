// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/image/device_image.hpp"

#include "gpu/core/counters.hpp"
#include "gpu/image/long_list.hpp"
#include "gpu/image/upload.hpp"

#include "engine/guard.hpp"
#include "engine/runs.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace heddle::gpu {

namespace {

// Lists of more runs than this would take more memory than they are worth; such images are located
// word by word. The spans of an irregular type are a list as they are.
constexpr int64_t most_listed_runs = int64_t{4} << 20;
// Tiles are listed up to this number, four bytes each. They cover some 100 GB, more than the memory
// of a device. Runs can be long, and few.
constexpr int64_t most_tiles = int64_t{24} << 20;

// Types come and go, and their small images with them: those live in slabs.
constexpr size_t largest_in_slab = size_t{1} << 20;

// Arrays one after the other, as they will lie in the device's memory.
struct Arrays {
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
Spelt spell(const ImageView &view, int32_t node, const Repeated &of, int64_t instances)
{
    Spelt list;
    const auto n = static_cast<size_t>(of.runs * instances);
    list.displs.reserve(n);
    list.prefix.reserve(n + 1);
    for (int64_t i = 0; i < instances; ++i)
        visit_runs(view, node, 0, of.bytes, i * of.extent,
                   [&](int64_t displ, int64_t bytes, uint8_t) {
                       list.displs.push_back(displ);
                       list.prefix.push_back(list.prefix.back() + bytes);
                       return true;
                   });
    return list;
}

// Memory for an image: the device's, or, where that has run out, pinned, which kernels reach as
// well.
Error take(Device &device, size_t bytes, Slab &memory, bool &on_host)
{
    Error error = HEDDLE_ERR_NO_MEMORY;
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
    Arrays blob;
    size_t nodes = 0, side = 0, displs = 0, prefix = 0, entry = 0, tile = 0;
    RunList runs{}; // without addresses; count 0: no list

    Description(const Plan &plan, const Repeated &of, bool with_list)
    {
        const Image &image = plan.image;
        nodes = blob.add(image.nodes.data(), image.nodes.size());
        side = blob.add(image.side().data(), image.side().size());
        const int64_t instances = std::max<int64_t>(1, tile_bytes / of.bytes);
        const int32_t top = repeated_node(plan, of);
        const ImageNode &root = image.nodes[static_cast<size_t>(top)];
        std::memcpy(blob.bytes.data() + nodes, &root, sizeof root); // traversals begin there
        with_list = with_list && of.bytes / tile_bytes <= most_tiles;
        if (root.kind == NodeKind::spans && instances == 1) { // is a list
            displs = side + static_cast<size_t>(root.side) * sizeof(int64_t);
            prefix = displs + static_cast<size_t>(root.count) * sizeof(int64_t);
            if (with_list)
                add_list(image.view().displs(root), image.view().prefix(root), root.count);
        } else if (with_list && of.runs <= most_listed_runs / instances) {
            const Spelt list = spell(image.view(), top, of, instances);
            displs = blob.add(list.displs.data(), list.displs.size());
            prefix = blob.add(list.prefix.data(), list.prefix.size());
            add_list(list.displs.data(), list.prefix.data(),
                     static_cast<int64_t>(list.displs.size()));
        }
        if (runs.count == 0)
            return;
        runs.bytes = instances * of.bytes;
        runs.extent = instances * of.extent;
        runs.by_bytes = Divisor::of(runs.bytes);
    }

    size_t bytes() const { return blob.bytes.size(); }

    // Uploaded to `memory`.
    void place(char *memory, DeviceImage &r) const
    {
        r.image = {placed<ImageNode>(memory, nodes), placed<int64_t>(memory, side)};
        r.runs = runs;
        if (runs.count == 0)
            return;
        r.runs.displs = placed<int64_t>(memory, displs);
        r.runs.prefix = placed<int64_t>(memory, prefix);
        r.runs.entries = placed<uint64_t>(memory, entry);
        r.runs.tile = placed<int32_t>(memory, tile);
    }

private:
    // The rest of a list. None where the runs are too many or too far apart.
    void add_list(const int64_t *displ, const int64_t *begin, int64_t count)
    {
        if (count < 1 || count > INT32_MAX)
            return;
        const int64_t tiles = (begin[count] + tile_bytes - 1) / tile_bytes;
        std::vector<uint64_t> entries(static_cast<size_t>(count));
        std::vector<int32_t> first(static_cast<size_t>(tiles) + 1);
        ListFacts facts{};
        make_list({displ, begin, 0, nullptr, count, tiles, entries.data(), first.data(), &facts});
        if (facts.too_far)
            return;
        entry = blob.add(entries.data(), entries.size());
        tile = blob.add(first.data(), first.size());
        runs.most = facts.most;
        runs.longest = facts.longest;
        runs.count = count;
    }
};

std::atomic<int64_t> bytes_held{0};
const Source images([](Counts &counts) {
    counts.push_back({"images", "bytes", "bytes of types' descriptions on devices",
                      bytes_held.load(std::memory_order_relaxed), true});
});

// Memory for an image, which is counted while it is held.
Error take_counted(Device &device, size_t bytes, DeviceImage &r, bool &on_host)
{
    const Error e = take(device, bytes, r.memory, on_host);
    if (!e)
        bytes_held.fetch_add(static_cast<int64_t>(r.memory.bytes()), std::memory_order_relaxed);
    return e;
}

Error make_long(const LongList &list, Device &device, DeviceImage &r)
{
    bool on_host;
    if (const Error e = take_counted(device, list.bytes(), r, on_host))
        return e;
    if (const Error e = list.fill(device, on_host, r.memory.at(), r.image, r.runs))
        return e;
    if (on_host)
        device.deferred.collect(true); // the next one may find room
    return HEDDLE_SUCCESS;
}

Error make_described(const Description &description, Device &device, DeviceImage &r)
{
    bool on_host;
    if (const Error e = take_counted(device, description.bytes(), r, on_host))
        return e;
    Upload upload(device, on_host);
    const std::vector<char> &bytes = description.blob.bytes;
    if (const Error e = upload.begin())
        return e;
    if (const Error e = upload.copy(r.memory.at(), bytes.data(), bytes.size(), false))
        return e;
    if (const Error e = upload.wait())
        return e;
    if (on_host)
        device.deferred.collect(true);
    description.place(r.memory.at(), r);
    return HEDDLE_SUCCESS;
}

Error make(const Plan &plan, const Repeated &of, Device &device, DeviceImage &r)
{
    device.deferred.collect(false);
    Error e = HEDDLE_SUCCESS;
    if (is_long_list(plan, of)) {
        e = make_long(LongList(plan, of), device, r);
    } else {
        const Description description(plan, of, true);
        e = make_described(description, device, r);
        if (description.runs.count == 0)
            return e;
    }
    // Without the list each word is searched for.
    return e == HEDDLE_ERR_NO_MEMORY && !r.memory
               ? make_described(Description(plan, of, false), device, r)
               : e;
}

// One plan's images, for each device one of the whole and one of the part that it repeats.
class DeviceImages : public Attachment {
public:
    explicit DeviceImages(size_t devices) : entries_(2 * devices) {}

    ~DeviceImages() override
    {
        for (Entry &entry : entries_)
            if (entry.image && entry.image->on_streams.load(std::memory_order_relaxed))
                entry.device->deferred.add(std::move(entry.image));
    }

    DeviceImage *ready(Device &device, bool part)
    {
        return entry_of(device, part).ready.load(std::memory_order_acquire);
    }

    Error get(const Plan &plan, const Repeated &of, Device &device, const DeviceImage *&found)
    {
        Entry &entry = entry_of(device, of.part);
        found = entry.ready.load(std::memory_order_acquire);
        if (found)
            return HEDDLE_SUCCESS;
        const std::lock_guard lock(entry.mutex); // others who need it wait for it
        found = entry.ready.load(std::memory_order_relaxed);
        if (found)
            return HEDDLE_SUCCESS;
        auto made = std::make_unique<DeviceImage>();
        if (const Error e = make(plan, of, device, *made))
            return e;
        entry.device = &device;
        entry.image = std::move(made);
        found = entry.image.get();
        entry.ready.store(entry.image.get(), std::memory_order_release);
        return HEDDLE_SUCCESS;
    }

private:
    struct Entry {
        std::mutex mutex;
        Device *device = nullptr;
        std::unique_ptr<DeviceImage> image;
        std::atomic<DeviceImage *> ready{nullptr};
    };

    Entry &entry_of(Device &device, bool part)
    {
        return entries_[2 * static_cast<size_t>(device.ordinal()) + part];
    }

    std::vector<Entry> entries_;
};

DeviceImages &images_of(const Plan &plan, Device &device)
{
    return plan.attached<DeviceImages>(Attached::images, [&] {
        return std::make_unique<DeviceImages>(static_cast<size_t>(device.backend().device_count()));
    });
}

} // namespace

DeviceImage::~DeviceImage()
{
    bytes_held.fetch_sub(static_cast<int64_t>(memory.bytes()), std::memory_order_relaxed);
}

// Called from the middle of transfers, which must not be left by an exception: memory that has run
// out is an error.
Error device_image(const Plan &plan, const Repeated &of, Device &device, const DeviceImage *&found)
{
    return caught([&] { return images_of(plan, device).get(plan, of, device, found); });
}

int64_t device_image_bytes(const Plan &plan, const Repeated &of)
{
    return static_cast<int64_t>(is_long_list(plan, of) ? LongList(plan, of).bytes()
                                                       : Description(plan, of, true).bytes());
}

void read_on_stream(const Plan &plan, Device &device)
{
    for (const bool part : {false, true})
        if (DeviceImage *const image = images_of(plan, device).ready(device, part))
            if (std::atomic<bool> &flag = image->on_streams; !flag.load(std::memory_order_relaxed))
                flag.store(true, std::memory_order_relaxed); // once: other threads read it beside
}

} // namespace heddle::gpu
