// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include "../../gpu/error_detail.hpp"
#include "counters.hpp"
#include "outgoing.hpp"
#include "taking.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::pipeline {

namespace {

// True for as long as it lives.
class Inside {
public:
    explicit Inside(bool &flag) : flag_(flag) { flag_ = true; }
    Inside(const Inside &) = delete;
    ~Inside() { flag_ = false; }

private:
    bool &flag_;
};

} // namespace

Port::Port(const heddle_transport &transport, const Limits &limits)
    : transport_(transport),
      limits_(limits),
      sending_{Staging(Mode::value, limits.staging), Staging(Mode::shared, limits.staging),
               Staging(Mode::reference, limits.staging)},
      receiving_(Mode::value, limits.staging),
      early_(Mode::reference, limits.staging / 2)
{
    watched_.reserve(most_watched + 1); // and one that may be withdrawn: none is lost for want of
                                        // memory
}

Port::~Port()
{
    see_taken();
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
    tell_endings();
    count(Counter::kept, -static_cast<int64_t>(pushed_.size()));
}

// ---- messages ----

template <class F> int Port::with(Message &message, F &&what)
{
    const int e = guard(what);
    if (e)
        guard([&] {
            message.fail(e);
            return HEDDLE_SUCCESS;
        });
    return e;
}

Message *Port::find(uint64_t id)
{
    const auto found = messages_.find(id);
    return found == messages_.end() ? nullptr : found->second.get();
}

Outgoing *Port::find_own(uint64_t message, uint64_t process)
{
    return process == whereabouts().process ? dynamic_cast<Outgoing *>(find(message)) : nullptr;
}

Outgoing *Port::find_unmatched(const void *peer, uint64_t key)
{
    for (const auto &[id, message] : messages_)
        if (auto *const sending = dynamic_cast<Outgoing *>(message.get()))
            if (sending->peer() == peer && sending->key() == key && !sending->is_matched())
                return sending;
    return nullptr;
}

bool Port::is_worth_an_offer(const void *peer)
{
    return std::none_of(watched_.begin(), watched_.end(),
                        [](const Outgoing *each) { return each->withdraws(); }) &&
           peers_.take_offers(peer);
}

size_t Port::still_watched() const
{
    return static_cast<size_t>(std::count_if(watched_.begin(), watched_.end(),
                                             [](const Message *each) { return !each->told_; }));
}

size_t Port::still_awaited() const
{
    return static_cast<size_t>(std::count_if(awaited_.begin(), awaited_.end(),
                                             [](const Message *each) { return !each->told_; }));
}

void Port::ready(Message &message)
{
    if (!message.ended_ && !std::exchange(message.ready_, true))
        ready_.push_back(&message);
}

void Port::end(Message &message)
{
    message.leave();
    message.ended_ = true;
    std::erase(watched_, &message);
    std::erase(awaited_, &message);
    const auto found = messages_.find(message.id());
    ended_.push_back(std::move(found->second));
    messages_.erase(found);
}

void Port::update_active()
{
    active_ = !ready_.empty() || !ended_.empty() || !told_.empty() || !watched_.empty() ||
              !awaited_.empty() || !transfers_.empty() || receiving_.anyone_waits() ||
              std::any_of(sending_.begin(), sending_.end(),
                          [](const Staging &one) { return one.anyone_waits(); });
}

void Port::begin(Incoming &message)
{
    with(message, [&] {
        message.begin();
        return HEDDLE_SUCCESS;
    });
}

// ---- progress ----

int Port::progress()
{
    if (inside_)
        return 0;
    const Inside inside(inside_);
    int events = look_at_offers();
    for (int more = 1; more > 0; events += more)
        more = transfers_.progress() + advance_ready() + serve();
    events += transfers_.begin_next();
    return events + tell_endings();
}

int Port::look_at_offers()
{
    if (watched_.empty() && awaited_.empty())
        return 0;
    const auto now = Message::Clock::now();
    const auto is_over = [&](auto *each) {
        bool goes_on = false;
        with(*each, [&] {
            goes_on = each->look(now);
            return HEDDLE_SUCCESS;
        });
        return !goes_on;
    };
    return static_cast<int>(std::erase_if(watched_, is_over) + std::erase_if(awaited_, is_over));
}

// Before anything is concluded from what was not answered.
void Port::see_taken()
{
    std::erase_if(watched_, [](Outgoing *each) { return each->was_seen_taken(); });
}

int Port::advance_ready()
{
    int advanced = 0;
    while (!ready_.empty()) {
        advancing_.clear();
        std::swap(advancing_, ready_);
        for (Message *message : advancing_) {
            message->ready_ = false;
            if (!message->ended_)
                with(*message, [&] {
                    message->advance();
                    return HEDDLE_SUCCESS;
                });
        }
        advanced += static_cast<int>(advancing_.size());
    }
    return advanced;
}

int Port::serve()
{
    int served = receiving_.serve();
    for (Staging &staging : sending_)
        served += staging.serve();
    return served;
}

int Port::tell_endings()
{
    const auto tell_of = [](const Ending &ending) {
        if (!ending.ended)
            return;
        if (ending.error)
            gpu::set_error_detail(ending.detail.data());
        ending.ended(ending.argument, ending.error, ending.bytes);
    };
    const std::vector<Ending> told = std::exchange(told_, {});
    for (const Ending &ending : told)
        tell_of(ending);
    std::swap(ending_, ended_);
    for (const auto &message : ending_)
        tell_of(message->ending_);
    const size_t events = told.size() + ending_.size();
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

int Port::send(void *peer, uint64_t message, const Header &header, const void *data, size_t bytes,
               Chunk *chunk, bool &carried)
{
    const HeaderBytes packed = write_header(header);
    Errand &errand = new_errand(message, chunk);
    int done = 0;
    const int e = transport_.send(transport_.context, peer, packed.bytes, packed.size, data, bytes,
                                  &errand, &done);
    carried = done != 0;
    if (e || done)
        errands_.erase(errand.self);
    return e;
}

int Port::send(Message &message, const Header &header)
{
    bool carried;
    return send(message.peer_, message.id(), header, nullptr, 0, nullptr, carried);
}

int Port::send(Message &message, const Header &header, const void *data, const Chunk &chunk,
               bool &carried)
{
    return send(message.peer_, message.id(), header, data, static_cast<size_t>(chunk.bytes),
                const_cast<Chunk *>(&chunk), carried);
}

int Port::send_alone(void *peer, const Header &header)
{
    bool carried;
    return send(peer, 0, header, nullptr, 0, nullptr, carried);
}

// ---- from the transport ----

void Port::sent(void *token, int error)
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
        return HEDDLE_SUCCESS;
    });
}

// Where its bytes belong; null: nobody wants them.
int Port::take_pushed(const Header &header, size_t bytes, void **where)
{
    if (!header.bytes == !header.error || bytes != static_cast<size_t>(header.bytes))
        return HEDDLE_ERR_FORMAT;
    const auto [its, is_new] = pushed_.try_emplace(header.from);
    count(Counter::kept, is_new);
    Pushed &pushed = its->second;
    if (!is_new) {
        if (pushed.at || pushed.whole)
            return HEDDLE_ERR_FORMAT;
        erase_pushed(its); // it is not wanted
        return HEDDLE_SUCCESS;
    }
    if (header.error)
        return HEDDLE_SUCCESS;
    pushed.at = new_bytes(header.bytes, nullptr);
    pushed.bytes = header.bytes;
    *where = pushed.at.get();
    if (*where)
        return HEDDLE_SUCCESS;
    pushed_came(header.from, HEDDLE_ERR_NO_MEMORY); // its receive hears of it
    return HEDDLE_ERR_NO_MEMORY;
}

// What the transport still writes stays until it has.
void Port::drop_pushed(uint64_t message)
{
    const auto [its, is_new] = pushed_.try_emplace(message);
    count(Counter::kept, is_new);
    its->second.unwanted = true;
    if (its->second.whole)
        erase_pushed(its);
}

void Port::erase_pushed(std::map<uint64_t, Pushed>::iterator its)
{
    count(Counter::kept, -1);
    pushed_.erase(its);
}

void Port::pushed_came(uint64_t name, int error)
{
    const auto its = pushed_.find(name);
    if (its == pushed_.end())
        return;
    its->second.whole = true;
    its->second.error = error;
    if (its->second.unwanted)
        erase_pushed(its);
    for (const auto &[id, message] : messages_)
        if (auto *const taking = dynamic_cast<Taking *>(message.get());
            taking && taking->name() == name) {
            with(*taking, [&] {
                if (Pushed pushed; find_pushed(name, pushed))
                    taking->came(std::move(pushed));
                return HEDDLE_SUCCESS;
            });
            return;
        }
}

bool Port::find_pushed(uint64_t message, Pushed &pushed)
{
    const auto its = pushed_.find(message);
    if (its == pushed_.end() || !its->second.whole)
        return false;
    pushed = std::move(its->second);
    erase_pushed(its);
    return true;
}

int Port::arrived(const Header &header, const void *data, size_t bytes)
{
    if (header.kind == Kind::pushed) {
        void *where = nullptr;
        if (const int e = take_pushed(header, bytes, &where))
            return e;
        if (where)
            std::memcpy(where, data, bytes);
        pushed_came(header.from, header.error ? HEDDLE_ERR_PEER : HEDDLE_SUCCESS);
        return HEDDLE_SUCCESS;
    }
    if (header.kind == Kind::forget)
        return drop_pushed(header.from), HEDDLE_SUCCESS;
    if (header.kind == Kind::answer && abandoned_.contains(header.to))
        return tell_abandoned(header);
    Message *const message = find(header.to);
    if (!message) {
        const auto its = header.kind == Kind::failed ? pushed_.find(header.from) : pushed_.end();
        if (its != pushed_.end() && its->second.unwanted && !its->second.at) // and pushes nothing
            erase_pushed(its);
        return count(Counter::strays), HEDDLE_SUCCESS;
    }
    if (header.kind == Kind::matched) {
        if (auto *const sending = dynamic_cast<Outgoing *>(message))
            sending->probed();
        return HEDDLE_SUCCESS;
    }
    return with(*message, [&] { return message->arrived(header, data, bytes); });
}

// Its receiver would wait for ever.
int Port::tell_abandoned(const Header &answer)
{
    Header failed;
    failed.kind = Kind::failed;
    failed.to = answer.from;
    return send_alone(abandoned_.at(answer.to), failed);
}

int Port::place(const Header &header, size_t bytes, void **where, void **token)
{
    *where = nullptr;
    if (header.kind == Kind::pushed && !header.error) {
        const int e = take_pushed(header, bytes, where);
        if (!e && *where)
            *token = &new_errand(0, nullptr, header.from);
        return e;
    }
    Message *const message = find(header.to);
    if (!message)
        return count(Counter::strays), HEDDLE_SUCCESS;
    return with(*message, [&] {
        Chunk *chunk = nullptr;
        if (const int e = message->place(header, bytes, where, &chunk); e || !chunk)
            return e;
        *token = &new_errand(header.to, chunk);
        return int{HEDDLE_SUCCESS};
    });
}

void Port::confirm()
{
    for (const auto &[id, message] : messages_)
        if (auto *const incoming = dynamic_cast<Incoming *>(message.get()))
            with(*incoming, [&] {
                incoming->confirm();
                return HEDDLE_SUCCESS;
            });
}

int Port::dropped(const void *peer, uint64_t key, int error)
{
    see_taken();
    Outgoing *const message = find_unmatched(peer, key);
    if (!message || !message->can_be_abandoned())
        return HEDDLE_ERR_RANGE;
    message->forget_pushed();
    message->refused(error);
    return HEDDLE_SUCCESS;
}

void Port::lost(const void *peer, int error)
{
    see_taken();
    if (!inside_)
        advance_ready();
    peers_.forget(peer);
    std::erase_if(abandoned_, [=](const auto &each) { return !peer || each.second == peer; });
    for (const auto &[id, message] : messages_)
        if (!peer || message->peer() == peer) {
            message->fail_alone(error ? error : int{HEDDLE_ERR_PEER});
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

const Outgoing *Port::unmatched() const
{
    for (const auto &[id, message] : messages_)
        if (const auto *const sending = dynamic_cast<const Outgoing *>(message.get());
            sending && sending->waits_for_match())
            return sending;
    return nullptr;
}

int Port::abandon(uint64_t id, int error)
{
    see_taken();
    auto *const message = dynamic_cast<Outgoing *>(find(id));
    if (!message || !message->can_be_abandoned())
        return HEDDLE_ERR_RANGE;
    void *const peer = message->peer_;
    message->abandoned(error ? error : int{HEDDLE_ERR_PEER});
    abandoned_.emplace(id, peer);
    return HEDDLE_SUCCESS;
}

} // namespace heddle::pipeline
