// SPDX-License-Identifier: BSD-3-Clause
// Device memory, a stream and events of a GPU, by the driver's own library. It is looked
// for at run time: the program needs no CUDA to be built or to start.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace heddle::tools {

class Gpu {
public:
    // Null, with the reason, where no driver answers. Makes the device's primary context current.
    static std::unique_ptr<Gpu> open(std::string &reason, int ordinal = 0);
    ~Gpu();

    const std::string &name() const;
    int count() const; // of the GPUs that the driver shows
    size_t free_bytes() const;

    // Null where there is not enough. Makes the context current again. The memory lives as long as
    // this object and is filled with a pattern.
    void *allocate(size_t bytes);
    // The same of pinned memory of the host, which is not filled.
    void *allocate_pinned(size_t bytes);
    // Gives back what one of them gave. False where neither did, or the driver refuses.
    bool free(void *memory);
    void *stream() const;
    // Each false with the reason where the driver reports an error.
    bool copy(void *to, const void *from, size_t bytes, std::string &reason);
    bool begin(std::string &reason);
    bool end(double &seconds, std::string &reason); // waits; seconds of GPU time since begin

private:
    struct Driver;
    explicit Gpu(std::unique_ptr<Driver> driver);
    std::unique_ptr<Driver> driver_;
    std::vector<unsigned long long> allocated_;
    std::vector<void *> pinned_;
};

} // namespace heddle::tools
