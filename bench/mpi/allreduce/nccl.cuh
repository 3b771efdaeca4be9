// SPDX-License-Identifier: BSD-3-Clause
// NCCL's sum, where the machine has that library: found when the program runs, so that nothing
// needs it to be built.
#pragma once

#include "../../gpu/owner.hpp"

#include <mpi.h>

#include <memory>

namespace bench {

class Nccl {
public:
    // Collective. Null where some process finds no libnccl.so.2.
    static std::unique_ptr<Nccl> open();
    ~Nccl();
    Nccl(const Nccl &) = delete;

    void sum(const double *from, double *to, int64_t n);

private:
    struct Library;

    explicit Nccl(std::unique_ptr<Library> library);

    std::unique_ptr<Library> library_;
    void *comm_ = nullptr;
    Stream stream_;
};

} // namespace bench
