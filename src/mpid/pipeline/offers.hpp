// SPDX-License-Identifier: BSD-3-Clause
// Messages that lie in their sender's memory for as long as nobody is late: who receives one claims it before it reads,
// who sent it may withdraw it until then, and go on without waiting for anybody. Either is one compare-and-swap of a word
// in memory that both map.
#pragma once

#include <cstdint>
#include <utility>

namespace heddle::pipeline {

// The sender's end; what is not withdrawn can be claimed until it goes.
class Offer {
public:
    Offer() = default;
    // Without a number where there is no room for another, or no such memory.
    explicit Offer(uint64_t message);
    Offer(Offer &&other) noexcept : number_(std::exchange(other.number_, uint16_t{0})), word_(other.word_) {}
    Offer &operator=(Offer &&other) noexcept
    {
        std::swap(number_, other.number_);
        std::swap(word_, other.word_);
        return *this;
    }
    ~Offer();

    // How the receiver finds it; 0: there is none.
    uint16_t number() const { return number_; }
    // False where it was claimed.
    bool withdraw();

private:
    uint16_t number_ = 0;
    uint64_t word_ = 0;
};

// The receiver's end. Whether it may read; else the message is withdrawn, or its sender's offers cannot be seen.
bool claim(uint64_t process, uint16_t offer, uint64_t message);

} // namespace heddle::pipeline
