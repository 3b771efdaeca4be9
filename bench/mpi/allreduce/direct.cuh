// SPDX-License-Identifier: BSD-3-Clause
// A sum over the GPUs of one host by hand. Each process sums one part of everyone's vector, read
// over the links (CUDA IPC), and writes it into everyone's result.
#pragma once

#include "../by_hand.hpp"

#include <memory>
#include <vector>

namespace bench {

constexpr int most_ranks = 8;

// Everyone's vector and, behind it, everyone's result.
struct Vectors {
    double *of[most_ranks];
    int ranks;
    int64_t n;
};

class Direct {
public:
    // Collective. `vectors`: the beginning of an allocation of twice `n` doubles.
    Direct(double *vectors, int64_t n);
    void sum();

private:
    int rank_;
    Vectors all_{};
    std::vector<std::unique_ptr<Opened>> opened_;
    Stream stream_;
};

} // namespace bench
