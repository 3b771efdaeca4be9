// SPDX-License-Identifier: BSD-3-Clause
#include "peers.hpp"

#include "tickets.hpp"

#include <algorithm>
#include <chrono>

namespace heddle::pipeline {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int most_refusals = 15;
constexpr int most_pushed = 64; // some 8 KiB each
constexpr auto for_a_ticket = std::chrono::microseconds(2);

} // namespace

Mode Peers::mode(const void *peer) const
{
    const auto noted = noted_.find(peer);
    return noted == noted_.end() ? Mode::value : noted->second.mode;
}

void Peers::note_refusal(const void *peer)
{
    noted_[peer].late = most_refusals;
    note_late(peer);
}

void Peers::note_late(const void *peer)
{
    Noted &noted = noted_[peer];
    noted.refusals = noted.late = std::min(2 * noted.late + 1, most_refusals);
}

void Peers::note_received(const void *peer)
{
    const auto noted = noted_.find(peer);
    if (noted != noted_.end() && noted->second.pushed > 0)
        --noted->second.pushed;
}

bool Peers::take_offers(const void *peer)
{
    const auto noted = noted_.find(peer);
    if (noted == noted_.end())
        return true;
    if (noted->second.pushed >= most_pushed)
        return false;
    if (noted->second.refusals == 0)
        return true;
    --noted->second.refusals;
    return false;
}

bool Peers::is_worth_a_ticket(const void *peer, uint64_t after)
{
    Noted &noted = noted_[peer];
    if (noted.unawaited == 0 || is_ticket_open(after))
        return true;
    --noted.unawaited;
    return false;
}

bool Peers::finds_ticket(const void *peer, uint64_t after)
{
    Noted &noted = noted_[peer];
    Clock::time_point until; // most look once
    while (!is_ticket_open(after)) {
        const auto now = Clock::now();
        if (until == Clock::time_point())
            until = now + for_a_ticket;
        if (now < until)
            continue;
        noted.unawaited = noted.missed = std::min(2 * noted.missed + 1, most_refusals);
        return false;
    }
    noted.unawaited = noted.missed = 0;
    return true;
}

} // namespace heddle::pipeline
