/* SPDX-License-Identifier: BSD-3-Clause */
#include "network.hpp"

#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>

namespace pipeline_test {

struct Parcel {
    size_t from, to;
    std::vector<unsigned char> header;
    const void *data;
    std::vector<char> copy; /* of data that is not the sender's any more */
    size_t bytes;
    void *token; /* null: the sender was told already */
    bool eager;
    enum { flying, placing, reporting } state = flying;
    void *where = nullptr;
    void *place_token = nullptr;
};

Network::Network(uint64_t seed, Behaviour behaviour) : rng_(seed), behaviour_(behaviour) {}

Network::~Network()
{
    for (size_t end = 0; end < ends_.size(); ++end)
        destroy(end);
}

size_t Network::add(const heddle_port_options &options)
{
    ends_.push_back(std::make_unique<End>(End{this, ends_.size()}));
    const heddle_transport transport{sizeof(heddle_transport), ends_.back().get(), send};
    if (const int e = heddle_port_create(&transport, &options, &ends_.back()->port))
        throw std::runtime_error(std::string("heddle_port_create: ") + heddle_strerror(e));
    return ends_.size() - 1;
}

void Network::destroy(size_t end)
{
    inside_progress_ = true;
    heddle_port_destroy(std::exchange(ends_[end]->port, nullptr));
    inside_progress_ = false;
}

int Network::send(void *context, void *peer, const void *header, size_t header_bytes,
                  const void *data, size_t bytes, void *token, int *done)
{
    End &from = *static_cast<End *>(context);
    return from.network->take(from, *static_cast<End *>(peer), header, header_bytes, data, bytes,
                              token, done);
}

int Network::take(End &from, End &to, const void *header, size_t header_bytes, const void *data,
                  size_t bytes, void *token, int *done)
{
    if (const int e = ask(When::send, from.number, bytes))
        return e;
    if (bytes && reads)
        reads(data, bytes);
    bytes_sent_ += static_cast<int64_t>(bytes);
    const auto *const first = static_cast<const unsigned char *>(header);
    Parcel parcel{from.number, to.number, {first, first + header_bytes}, data, {},
                  bytes,       token,     rng_.percent(behaviour_.eager)};
    if (rng_.percent(behaviour_.at_once)) {
        const char *const bytes_at = static_cast<const char *>(data);
        parcel.copy.assign(bytes_at, bytes_at + bytes);
        parcel.data = parcel.copy.data();
        parcel.token = nullptr;
        *done = 1;
    }
    parcels_.push_back(std::move(parcel));
    if (parcels_.back().copy.size())
        parcels_.back().data = parcels_.back().copy.data();
    return HEDDLE_SUCCESS;
}

int Network::progress(size_t end)
{
    if (!ends_[end]->port)
        return 0;
    int events = 0;
    inside_progress_ = true;
    if (*heddle_port_active(ends_[end]->port))
        heddle_port_progress(ends_[end]->port, &events);
    inside_progress_ = false;
    return events;
}

bool Network::step()
{
    std::vector<std::list<Parcel>::iterator> movable;
    for (auto it = parcels_.begin(); it != parcels_.end(); ++it)
        if (it->state == Parcel::reporting || !holds || !holds(it->to))
            movable.push_back(it);
    if (movable.empty())
        return false;
    const auto chosen = behaviour_.reorder ? rng_.pick(movable) : movable.front();
    if (advance(*chosen))
        parcels_.erase(chosen);
    return true;
}

int64_t Network::bytes_flying(size_t to) const
{
    int64_t bytes = 0;
    for (const Parcel &parcel : parcels_)
        if (parcel.to == to && parcel.state != Parcel::reporting)
            bytes += static_cast<int64_t>(parcel.bytes);
    return bytes;
}

/* Whether it is at its end. */
bool Network::advance(Parcel &parcel)
{
    heddle_port *const to = ends_[parcel.to]->port;
    if (parcel.state == Parcel::flying) {
        int error = HEDDLE_SUCCESS;
        if (!to || (loses && loses(parcel.to, parcel.header))) {
            /* nobody gets it */
        } else if (parcel.eager || parcel.bytes == 0) {
            const std::vector<char> exact(static_cast<const char *>(parcel.data),
                                          static_cast<const char *>(parcel.data) + parcel.bytes);
            error = heddle_port_arrived(to, parcel.header.data(), parcel.header.size(),
                                        exact.data(), exact.size());
        } else {
            error = heddle_port_place(to, parcel.header.data(), parcel.header.size(), parcel.bytes,
                                      &parcel.where, &parcel.place_token);
        }
        if (error && !forgives)
            throw std::runtime_error(std::string("a header was not understood: ") +
                                     heddle_strerror(error));
        if (parcel.where && writes)
            writes(parcel.where, parcel.bytes);
        parcel.state = parcel.where ? Parcel::placing : Parcel::reporting;
    } else if (parcel.state == Parcel::placing) {
        const int error = ask(When::placed, parcel.from, parcel.bytes);
        if (to) {
            if (!error)
                std::memcpy(parcel.where, parcel.data, parcel.bytes);
            heddle_port_done(to, parcel.place_token, error);
        }
        parcel.state = Parcel::reporting;
    } else {
        if (parcel.token && ends_[parcel.from]->port)
            heddle_port_done(ends_[parcel.from]->port, parcel.token,
                             ask(When::sent, parcel.from, parcel.bytes));
        parcel.token = nullptr;
    }
    return parcel.state == Parcel::reporting && !parcel.token;
}

} // namespace pipeline_test
