/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transport between ports of one process, as unkind as one may be: it delivers in any order,
 * holds on to memory, places data late, and fails when told to.
 */
#pragma once

#include "../unit/oracle/rng.hpp"
#include "calls.hpp"

#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace pipeline_test {

/* Each way that chunks can take. */
constexpr int all_peers[] = {HEDDLE_PEER_VALUE, HEDDLE_PEER_SHARED, HEDDLE_PEER_REFERENCE};

struct Behaviour {
    bool reorder = true;
    int eager = 50;   /* percent of chunks that come with their header */
    int at_once = 30; /* percent of sends that are over when they return */
};

struct Parcel;

class Network {
public:
    explicit Network(uint64_t seed, Behaviour behaviour = {});
    Network(const Network &) = delete;
    ~Network();

    /* Another port; its number. */
    size_t add(const heddle_port_options &options = port_options(0, 0, 0, 0));
    heddle_port *port(size_t end) const { return ends_[end]->port; }
    /* How the others call it. */
    void *peer(size_t end) const { return ends_[end].get(); }
    void destroy(size_t end);

    /* Delivers or reports something, if there is anything. */
    bool step();
    /* Lets a port work; callbacks may come from here alone. */
    int progress(size_t end);
    bool inside_progress() const { return inside_progress_; }
    bool quiet() const { return parcels_.empty(); }
    size_t ends() const { return ends_.size(); }
    /* Bytes of chunks that were sent so far, and how many of them have not come. */
    int64_t bytes_sent() const { return bytes_sent_; }
    int64_t bytes_flying(size_t to) const;

    /* Asked for each send, each report of one and each placing: an error makes it fail. */
    enum class When { send, sent, placed };
    std::function<int(When, size_t from, size_t bytes)> fails;
    /* Asked for each header that is delivered; true: it is lost. */
    std::function<bool(size_t to, const std::vector<unsigned char> &header)> loses;
    /* Told where the transport reads and writes. */
    std::function<void(const void *at, size_t bytes)> reads, writes;
    /* Headers that a port refuses are no failure of the test: somebody else wrote to it, too. */
    bool forgives = false;
    /* Holds back what goes to this end. */
    std::function<bool(size_t to)> holds;

private:
    struct End {
        Network *network;
        size_t number;
        heddle_port *port = nullptr;
    };

    static int send(void *context, void *peer, const void *header, size_t header_bytes,
                    const void *data, size_t bytes, void *token, int *done);
    int take(End &from, End &to, const void *header, size_t header_bytes, const void *data,
             size_t bytes, void *token, int *done);
    int ask(When when, size_t from, size_t bytes) { return fails ? fails(when, from, bytes) : 0; }
    bool advance(Parcel &parcel);

    oracle::Rng rng_;
    Behaviour behaviour_;
    std::vector<std::unique_ptr<End>> ends_;
    std::list<Parcel> parcels_;
    bool inside_progress_ = false;
    int64_t bytes_sent_ = 0;
};

} // namespace pipeline_test
