// SPDX-License-Identifier: BSD-3-Clause
// Messages that lie in their sender's memory for as long as nobody is late. Who receives one reads
// it, and then takes it, which tells that what was read was right; who sent it withdraws it when it
// wants its memory back, or, if it is long, leaves it there until it was taken; what is not packed
// yet is opened once it is. Each of these is one compare-and-swap of a word in
// memory that both map: nobody waits for the other.
#pragma once

#include <cstdint>
#include <utility>

namespace heddle::pipeline {

// The sender's end; what is neither taken nor withdrawn can be taken until it goes.
class Offer {
public:
    Offer() = default;
    // Without a number where there is no room for another, or no such memory. `open`: it can be
    // read at once.
    explicit Offer(uint64_t message, bool open = true);
    Offer(Offer &&other) noexcept
        : number_(std::exchange(other.number_, uint16_t{0})), name_(other.name_)
    {
    }
    Offer &operator=(Offer &&other) noexcept
    {
        std::swap(number_, other.number_);
        std::swap(name_, other.name_);
        return *this;
    }
    ~Offer();

    // How the receiver finds it; 0: there is none.
    uint16_t number() const { return number_; }
    bool is_taken() const;
    // Somebody has begun to read; it may be withdrawn all the same.
    bool is_read() const;
    // It can be read from now on.
    void open();
    // False where it was taken.
    bool withdraw();

private:
    uint64_t word() const;

    uint16_t number_ = 0;
    uint64_t name_ = 0;
};

// The receiver's end of it.
enum class Sight {
    open,
    packing,
    withdrawn,
    none // the sender's offers cannot be seen
};
// Tells the sender that it is about to be read.
Sight begin_reading(uint64_t process, uint16_t offer, uint64_t message);
// Tells it nothing.
Sight look_at_offer(uint64_t process, uint16_t offer, uint64_t message);
// After it was.
enum class Take {
    taken,
    withdrawn, // meanwhile, so that anything may have been read
    none       // there is no such offer to be seen
};
Take take_offer(uint64_t process, uint16_t offer, uint64_t message);

} // namespace heddle::pipeline
