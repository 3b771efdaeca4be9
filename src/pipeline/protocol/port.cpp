// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/protocol/port.hpp"

#include "gpu/core/error_detail.hpp"
#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/process.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::pipeline {

Port::Port(const heddle_transport &transport, const Limits &limits)
    : transport_(transport),
      limits_(limits),
      staging_{Staging(Mode::value, limits.staging), Staging(Mode::value, limits.staging),
               Staging(Mode::shared, limits.staging), Staging(Mode::reference, limits.staging),
               Staging(Mode::reference, limits.staging / 2)}
{
}

Port::~Port()
{
    see_read();
    advance_ready();
    for (const auto &[id, message] : messages_)
        with(*message, [] { return HEDDLE_ERR_PEER; });
    transfers_.wait();
    for (const auto &[id, message] : messages_) {
        message->drop_chunks();
        ready(*message);
    }
    advance_ready();
    inside_ = true;
    notify_endings();
}

// ---- messages ----

template <class F> Error Port::carry_out(Message &message, F &&what)
{
    const Error e = caught(what);
    if (e)
        static_cast<void>(caught([&] { message.fail(e); })); // once is enough
    return e;
}

Message *Port::find(uint64_t id) const
{
    const auto found = messages_.find(id);
    return found == messages_.end() ? nullptr : found->second.get();
}

Sender *Port::find_sender(uint64_t id) const
{
    Message *const found = find(id);
    return found ? found->as_sender() : nullptr;
}

Sender *Port::find_own(uint64_t message, uint64_t process) const
{
    return process == process_id().process ? find_sender(message) : nullptr;
}

const Sender *Port::unmatched() const
{
    for (const auto &[id, message] : messages_)
        if (const Sender *const sender = message->as_sender(); sender && sender->waits_for_match())
            return sender;
    return nullptr;
}

bool Port::get_runs() const
{
    return std::any_of(watched_.begin(), watched_.end(), [](Message *each) {
        const Sender *const sender = each->as_sender();
        return sender && sender->is_get();
    });
}

size_t Port::watched(bool senders) const
{
    return static_cast<size_t>(std::count_if(watched_.begin(), watched_.end(), [=](Message *each) {
        return !each->is_notified() && (each->as_sender() != nullptr) == senders;
    }));
}

void Port::ready(Message &message)
{
    if (message.life_ != Message::Life::ended && !std::exchange(message.queued_, true))
        ready_.push_back(&message);
}

void Port::end(Message &message)
{
    message.leave();
    message.life_ = Message::Life::ended;
    std::erase(watched_, &message);
    const auto found = messages_.find(message.id());
    ended_.push_back(std::move(found->second)); // if there is no memory for that, nothing is lost
    messages_.erase(found);
}

void Port::update_active()
{
    active_ = !ready_.empty() || !ended_.empty() || !notices_.empty() || !watched_.empty() ||
              !losses_.empty() || !transfers_.empty() ||
              std::any_of(staging_.begin(), staging_.end(),
                          [](const Staging &one) { return one.anyone_waits(); });
}

void Port::begin(std::unique_ptr<Receiver> message)
{
    Receiver &added = add(std::move(message));
    with(added, [&] { added.begin(); });
}

// ---- progress ----

bool Port::may_wait_for_rtr(Message::Clock::duration timeout)
{
    const auto now = Message::Clock::now();
    if (rtrs_until_ == Message::Clock::time_point())
        rtrs_until_ = now + timeout;
    return now < rtrs_until_;
}

Error Port::progress(int &events)
{
    events = 0;
    rtrs_until_ = {};
    if (std::exchange(inside_, true))
        return HEDDLE_SUCCESS;
    const Error e = caught([&] {
        take_losses();
        events = look_at_slots();
        for (int more = 1; more > 0; events += more) {
            more = transfers_.progress() + advance_ready();
            for (Staging &staging : staging_)
                more += staging.serve();
        }
        events += transfers_.begin_next();
        events += notify_endings();
    });
    inside_ = false;
    return e;
}

int Port::look_at_slots()
{
    if (watched_.empty())
        return 0;
    const auto now = Message::Clock::now();
    waits_for_one_ = transfers_.empty() && watched(true) + watched(false) == 1;
    return static_cast<int>(std::erase_if(watched_, [&](Message *each) {
        bool goes_on = false;
        with(*each, [&] { goes_on = each->look(now); });
        return !goes_on;
    }));
}

// Before anything is concluded from what was not answered.
void Port::see_read()
{
    std::erase_if(watched_, [](Message *each) {
        Sender *const sender = each->as_sender();
        return sender && sender->see_read();
    });
}

int Port::advance_ready()
{
    int advanced = 0;
    while (!ready_.empty()) {
        advancing_.clear();
        std::swap(advancing_, ready_);
        for (Message *message : advancing_) {
            message->queued_ = false;
            if (message->life_ != Message::Life::ended)
                with(*message, [&] { message->advance(); });
        }
        advanced += static_cast<int>(advancing_.size());
    }
    return advanced;
}

int Port::notify_endings()
{
    const auto tell_of = [](const Ending &ending) {
        if (!ending.ended)
            return;
        if (ending.error)
            gpu::set_error_detail(ending.detail.data());
        ending.ended(ending.argument, ending.error.code(), ending.bytes);
    };
    const std::vector<Ending> notices = std::exchange(notices_, {});
    for (const Ending &ending : notices)
        tell_of(ending);
    std::swap(ending_, ended_);
    for (const auto &message : ending_)
        tell_of(message->ending_);
    const size_t events = notices.size() + ending_.size();
    ending_.clear();
    return static_cast<int>(events);
}

// ---- to the transport ----

Port::Errand &Port::new_errand(uint64_t message, Chunk *chunk, uint64_t pushed)
{
    errands_.push_front({message, chunk, pushed, {}});
    errands_.front().self = errands_.begin();
    return errands_.front();
}

Error Port::send(void *peer, uint64_t message, const Header &header, const void *data, Chunk *chunk,
                 bool *done)
{
    const HeaderBytes packed = write_header(header);
    Errand &errand = new_errand(message, chunk);
    int is_done = 0;
    const bool was_sending = std::exchange(is_sending_, true);
    const Error e = Error::of(transport_.send(transport_.context, peer, packed.bytes, packed.size,
                                              data, chunk ? static_cast<size_t>(chunk->bytes) : 0,
                                              &errand, &is_done));
    is_sending_ = was_sending;
    if (done)
        *done = is_done != 0;
    if (e || is_done)
        errands_.erase(errand.self);
    return e;
}

// ---- from the transport ----

const void *Port::peer_of(const void *token) const
{
    const Message *const message = find(static_cast<const Errand *>(token)->message);
    return message ? message->peer() : nullptr;
}

void Port::sent(void *token, Error error)
{
    const Errand errand = *static_cast<Errand *>(token);
    errands_.erase(errand.self);
    if (errand.pushed)
        return pushed_came(errand.pushed, error);
    Message *const message = find(errand.message);
    if (!message)
        return;
    with(*message, [&] {
        if (errand.chunk)
            message->carried(*errand.chunk, error);
        else if (error)
            message->fail(error);
    });
}

Error Port::take_pushed(const Header &header, size_t bytes, void **where)
{
    const Error e = unexpected_.take(header, bytes, where);
    if (e == HEDDLE_ERR_NO_MEMORY)
        pushed_came(header.from, e); // its receive hears of it
    return e;
}

void Port::pushed_came(uint64_t name, Error error)
{
    unexpected_.came(name, error);
    for (const auto &[id, message] : messages_) {
        bool is_its = false;
        with(*message, [&, &each = *message] { is_its = each.pushed_came(name); });
        if (is_its)
            return;
    }
}

Error Port::arrived(const Header &header, const void *data, size_t bytes)
{
    if (header.kind == Kind::pushed) {
        void *where = nullptr;
        const Error e = take_pushed(header, bytes, &where);
        if (where)
            std::memcpy(where, data, bytes);
        if (!e)
            pushed_came(header.from, header.error ? HEDDLE_ERR_PEER : HEDDLE_SUCCESS);
        return e;
    }
    Message *const message = find(header.to);
    if (!message || (header.kind == Kind::answer && abandoned_.contains(header.to)))
        return stray_arrived(header);
    return carry_out(*message, [&] { return message->arrived(header, data, bytes); });
}

// For no message, or one that was abandoned, whose receiver would wait for ever.
Error Port::stray_arrived(const Header &header)
{
    if (const auto its = abandoned_.find(header.to);
        its != abandoned_.end() && header.kind == Kind::answer) {
        Header failed;
        failed.kind = Kind::failed;
        failed.to = header.from;
        return send(its->second, 0, failed);
    }
    if (header.kind == Kind::failed)
        unexpected_.forget(header.from);
    count(Counter::strays);
    return HEDDLE_SUCCESS;
}

Error Port::place(const Header &header, size_t bytes, void **where, void **token)
{
    *where = nullptr;
    if (header.kind == Kind::pushed && !header.error) {
        const Error e = take_pushed(header, bytes, where);
        if (!e && *where)
            *token = &new_errand(0, nullptr, header.from);
        return e;
    }
    Message *const message = find(header.to);
    if (!message)
        return count(Counter::strays), HEDDLE_SUCCESS;
    return carry_out(*message, [&] {
        Chunk *chunk = nullptr;
        const Error e = message->place(header, bytes, where, &chunk);
        if (chunk)
            *token = &new_errand(header.to, chunk);
        return e;
    });
}

void Port::lost(const void *peer, Error error)
{
    losses_.push_back({peer, error});
    if (!is_sending_)
        take_losses();
}

void Port::take_losses()
{
    for (const Loss &loss : std::exchange(losses_, {}))
        lose(loss.peer, loss.error);
}

void Port::lose(const void *peer, Error error)
{
    see_read();
    advance_ready();
    peers_.erase(peer);
    std::erase_if(abandoned_, [=](const auto &each) { return !peer || each.second == peer; });
    for (const auto &[id, message] : messages_)
        if (!peer || message->peer() == peer) {
            message->fail_alone(error ? error : HEDDLE_ERR_PEER);
            if (error == HEDDLE_ERR_LOST)
                forsake(*message);
        }
}

void Port::forsake(Message &message)
{
    for (Errand &errand : errands_)
        if (errand.message == message.id())
            errand.chunk = nullptr; // if the transport should speak of it after all
    message.forsake();
}

Error Port::abandon(uint64_t id, Error error)
{
    see_read();
    Sender *const message = find_sender(id);
    if (!message || !message->can_be_abandoned())
        return HEDDLE_ERR_RANGE;
    message->abandoned(error ? error : HEDDLE_ERR_PEER);
    abandoned_.emplace(id, message->peer());
    return HEDDLE_SUCCESS;
}

} // namespace heddle::pipeline
