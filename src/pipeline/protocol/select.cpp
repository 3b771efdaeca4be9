// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/protocol/select.hpp"

#include "gpu/core/devices.hpp"
#include "gpu/core/log.hpp"
#include "pipeline/peer_memory/imports.hpp"
#include "pipeline/peer_memory/process.hpp"

#include <cstdio>
#include <string>
#include <utility>

namespace heddle::pipeline {

namespace {

bool has(const Facts &facts, int flags) { return (facts.flags & flags) == flags; }

bool is_persistent(const Facts &facts) { return has(facts, HEDDLE_MESSAGE_PERSISTENT); }

// The sender goes on to make progress.
bool stays(const Facts &facts)
{
    return has(facts, HEDDLE_MESSAGE_BLOCKING) || is_persistent(facts);
}

// Its envelope waits behind others that are being packed. A persistent message goes by no faster
// way otherwise.
bool is_held_back(const Facts &facts)
{
    return has(facts, HEDDLE_MESSAGE_QUEUED) && !is_persistent(facts);
}

// What is not dense is packed in exported memory first. That pays where an RTR may follow.
bool can_get(const Facts &facts)
{
    return facts.buffer.on_device() && (facts.buffer.dense() || is_persistent(facts));
}

// ---- a sender ----

// A short message is packed by the caller for the reason that is returned; null: it need not be.
const char *why_packed(const Facts &facts, const Limits &limits)
{
    if (facts.buffer.bytes() < HEDDLE_ENVELOPE_BYTES)
        return "shorter than an envelope";
    if (has(facts, HEDDLE_MESSAGE_SYNCHRONOUS))
        return "short and synchronous";
    if (is_held_back(facts))
        return "short, behind others that are being packed";
    if (has(facts, HEDDLE_MESSAGE_SELF))
        return nullptr;
    if (!has(facts, HEDDLE_MESSAGE_NODE))
        return "short, to another node";
    if (!can_get(facts))
        return "short, not dense on one device";
    if (!limits.allow(Mode::reference))
        return "short, and HEDDLE_PEER rules out reading device memory";
    if (facts.get_runs && !is_persistent(facts))
        return "short, and another get waits for its receiver";
    return nullptr;
}

// ---- a receiver ----

using ModeChoice = std::pair<Mode, const char *>; // with the reason

bool can(Mode mode, bool own, const Envelope &envelope, const Buffer &buffer, const Limits &limits)
{
    return buffer.can_stay(mode) && limits.allow(mode) &&
           !Importer{*buffer.device(), envelope.process, mode}.is_closed(own);
}

ModeChoice choose_mode(const Envelope &envelope, const Buffer &buffer, const Limits &limits)
{
    if (!is_of_this_node(envelope))
        return {Mode::value, "from another node"};
    if (buffer.of_host())
        return {Mode::value, "into host memory"};
    if (envelope.exports && can(Mode::reference, envelope.in_place(), envelope, buffer, limits))
        return {Mode::reference, "both ends are device memory of this node"};
    if (envelope.shares && can(Mode::shared, false, envelope, buffer, limits))
        return {Mode::shared, "this node, but its devices do not reach each other, or may not"};
    return {Mode::value, "this node, but nothing that both ends can map"};
}

// ---- the log ----

constexpr const char *kind_names[] = {"host", "pinned host", "device", "managed"};
constexpr const char *path_names[] = {"pack", "native", "put", "get", "self", "rendezvous"};
constexpr const char *mode_names[] = {"value", "shared", "reference"};

std::string name_of(const Buffer &buffer)
{
    std::string name = kind_names[static_cast<size_t>(buffer.memory().kind)];
    if (buffer.device())
        name += " " + std::to_string(buffer.device()->ordinal());
    return name + (buffer.dense() ? ", dense" : ", strided");
}

// Both ends print it, and so their lines can be paired.
std::string name_of(uint64_t message, uint64_t process)
{
    char name[64];
    std::snprintf(name, sizeof name, "message %llx of pid %d",
                  static_cast<unsigned long long>(message), number_of(process));
    return name;
}

} // namespace

bool can_put(const Facts &facts, const Limits &limits)
{
    return has(facts, HEDDLE_MESSAGE_NODE) && stays(facts) && !is_held_back(facts) &&
           !has(facts, HEDDLE_MESSAGE_NATIVE) && facts.buffer.bytes() > 0 && can_get(facts) &&
           limits.allow(Mode::reference);
}

Choice select(const Facts &facts, const Limits &limits, const Peer &peer)
{
    if (has(facts, HEDDLE_MESSAGE_NATIVE))
        return {HEDDLE_PATH_NATIVE, "long and dense: the transport's own way"};
    if (facts.has_rtr)
        return {HEDDLE_PATH_PUT, "its receiver has posted an RTR"};
    if (facts.buffer.bytes() > facts.eager_limit || facts.eager_limit == 0)
        return {HEDDLE_PATH_RENDEZVOUS, "longer than the eager limit"};
    if (const char *const reason = why_packed(facts, limits))
        return {HEDDLE_PATH_PACK, reason};
    if (has(facts, HEDDLE_MESSAGE_SELF))
        return {HEDDLE_PATH_SELF, "one move from buffer to buffer"};
    if (peer.pushed >= Peer::most_pushed)
        return {HEDDLE_PATH_PACK, "short, and many that were pushed to it are not received"};
    if (peer.gets.skipped > 0)
        return {HEDDLE_PATH_PACK, "short, and its receiver missed a time-out or cannot read", true};
    return {HEDDLE_PATH_GET, facts.buffer.dense() ? "short, and dense device memory of this node"
                                                  : "short and persistent: an RTR may follow"};
}

void log_choice(const Facts &facts, const Choice &choice, uint64_t message)
{
    if (!gpu::logs(gpu::Topic::policy))
        return;
    gpu::log_line(gpu::Topic::policy, "send%s %lld bytes of %s to %s: %s (%s)",
                  message ? (" " + name_of(message, process_id().process) + ":").c_str() : "",
                  static_cast<long long>(facts.buffer.bytes()), name_of(facts.buffer).c_str(),
                  has(facts, HEDDLE_MESSAGE_SELF)   ? "itself"
                  : has(facts, HEDDLE_MESSAGE_NODE) ? "this node"
                                                    : "another node",
                  path_names[choice.path], choice.reason);
}

void log_fall_back(uint64_t message, uint64_t process, const char *reason)
{
    if (gpu::logs(gpu::Topic::policy))
        gpu::log_line(gpu::Topic::policy, "receive %s: by value after all (%s)",
                      name_of(message, process).c_str(), reason);
}

bool is_of_this_node(const Envelope &envelope)
{
    const uint64_t here = process_id().node;
    return here && envelope.node == here;
}

Mode select_mode(const Envelope &envelope, const Buffer &buffer, const Limits &limits)
{
    const auto [mode, reason] = choose_mode(envelope, buffer, limits);
    if (gpu::logs(gpu::Topic::policy))
        gpu::log_line(gpu::Topic::policy, "receive %s: %lld bytes into %s: by %s (%s)",
                      name_of(envelope.message, envelope.process).c_str(),
                      static_cast<long long>(buffer.bytes()), name_of(buffer).c_str(),
                      mode_names[static_cast<size_t>(mode)], reason);
    return mode;
}

} // namespace heddle::pipeline
