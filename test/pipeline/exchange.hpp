/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A message from one side to another, both described as the oracle knows them, and what became of
 * it.
 */
#pragma once

#include "../gpu/case.hpp"
#include "../gpu/mirror.hpp"
#include "network.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pipeline_test {

/* What a message is to be. */
struct Plan {
    gpu::SideSpec from, to;
    int64_t bytes = 0;    /* sent */
    int64_t capacity = 0; /* of the receive */
};

/* Dense bytes, or blocks of `block` bytes with gaps as long, in memory of a kind. */
gpu::SideSpec dense(gpu::Place place, int64_t bytes);
gpu::SideSpec blocks(gpu::Place place, int64_t bytes, int64_t block = 8);
/* A plan whose receive is as long as what is sent. */
Plan plan(gpu::SideSpec from, gpu::SideSpec to, int64_t bytes);
/* Any types, in any memory; up to some MiB. Null where a random side does not fit in its memory. */
std::optional<Plan> random_plan(uint64_t seed);
std::string to_text(const Plan &plan);

/* One end's view of a message. */
struct Outcome {
    bool over = false;
    int error = HEDDLE_SUCCESS;
    int64_t bytes = -1;
    int calls = 0;
    std::string detail;
};

class Exchange {
public:
    Exchange(Network &network, size_t from, size_t to, const Plan &plan, uint64_t seed);
    Exchange(const Exchange &) = delete;
    /* Its buffers go: where it is not over, its ports go before. */
    ~Exchange();

    /* Begins either end; the receiving one with the other's envelope. The types are released at
     * once. */
    void send(uint64_t key = 0);
    void receive();
    /* Sends it by get, if the port takes it so. `flags`: more of heddle_message_flag. */
    bool get(bool within = false, int flags = 0);
    /* Its envelope says that it comes from another node. */
    void seems_far();
    /* Its sender uses the buffer for something else. */
    void spoil();
    void begin()
    {
        send();
        receive();
    }
    const unsigned char *envelope() const { return envelope_; }
    uint64_t message() const { return message_; }
    heddle_side to_side() const { return to_.at(0); }

    bool over() const { return sent.over && received.over; }
    /* Where it came whole: fails where a byte of either side is not what the oracle says. */
    void check(int64_t bytes);
    void check() { check(std::min(plan_.bytes, plan_.capacity)); }
    /* Whether packed byte `x` has come. */
    bool has_come(int64_t x);

    Outcome sent, received;

private:
    struct Side {
        Side(const gpu::SideSpec &made, oracle::Rng &rng);
        heddle_side at(int64_t packed) const;

        const gpu::SideSpec &spec;
        const oracle::Typemap map;
        const oracle::Packing packing;
        oracle::Type type;
        gpu::Mirror contents;
        gpu::Memory memory;
    };
    struct Callback {
        Network *network;
        Outcome *outcome;
    };
    static void ended(void *argument, int error, int64_t bytes);

    Network &network_;
    const size_t from_end_, to_end_;
    const Plan plan_;
    oracle::Rng rng_;
    Side from_, to_;
    Callback at_sender_, at_receiver_;
    alignas(8) unsigned char envelope_[HEDDLE_ENVELOPE_BYTES];
    uint64_t message_ = 0;
    bool spoilt_ = false;
};

/* Lets everything go on until `done` says so, or fails after a while. */
void run(Network &network, const std::function<bool()> &done, double seconds = 60);
void run_all(Network &network, const std::vector<std::unique_ptr<Exchange>> &exchanges);

/* HEDDLE_TEST_SEED, or another one each time. */
uint64_t seed_of_run();

/* Runs one hidden test in a process of its own, with another HEDDLE_DEVICE if need be. Its exit
 * status. */
int run_inside(const char *test, const char *device = nullptr);

/* The simulated device's switches, for as long as it lives; skips nothing where there is no
 * simulation: REQUIREs it. */
class Switched {
public:
    explicit Switched(const std::string &switches);
    Switched(const Switched &) = delete;
    ~Switched();
};

} // namespace pipeline_test
