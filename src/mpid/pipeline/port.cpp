// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include "../../gpu/error_detail.hpp"
#include "counters.hpp"
#include "receiving.hpp"
#include "sending.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pipeline {

namespace {

constexpr int most_refusals = 15;

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
    : transport_(transport), limits_(limits),
      sending_{Staging(Mode::value, limits.staging), Staging(Mode::shared, limits.staging),
               Staging(Mode::reference, limits.staging)},
      receiving_(Mode::value, limits.staging), early_(Mode::reference, limits.staging / 2)
{
}

Port::~Port()
{
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

Sending *Port::find_own(uint64_t message, uint64_t process)
{
    return process == whereabouts().process ? dynamic_cast<Sending *>(find(message)) : nullptr;
}

Sending *Port::find_unanswered(const void *peer, uint64_t key)
{
    for (const auto &[id, message] : messages_)
        if (auto *const sending = dynamic_cast<Sending *>(message.get()))
            if ((!peer || sending->peer() == peer) && sending->key() == key && !sending->answered())
                return sending;
    return nullptr;
}

Mode Port::noted_mode(const void *peer) const
{
    const auto noted = noted_.find(peer);
    return noted == noted_.end() ? Mode::value : noted->second.mode;
}

void Port::note_refusal(const void *peer) { noted_[peer].refusals = most_refusals; }

bool Port::is_worth_an_offer(const void *peer)
{
    const auto noted = noted_.find(peer);
    if (noted == noted_.end() || noted->second.refusals == 0)
        return true;
    --noted->second.refusals;
    return false;
}

void Port::offered(const Sending &message)
{
    offered_.push_back({message.id(), Clock::now() + std::chrono::microseconds(limits_.patience)});
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
    const auto found = messages_.find(message.id());
    ended_.push_back(std::move(found->second));
    messages_.erase(found);
}

void Port::update_active()
{
    active_ = !ready_.empty() || !ended_.empty() || !told_.empty() || !offered_.empty() || !transfers_.empty() || receiving_.anyone_waits() ||
              std::any_of(sending_.begin(), sending_.end(), [](const Staging &one) { return one.anyone_waits(); });
}

void Port::begin(Receiving &message)
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
    int events = lose_patience();
    for (int more = 1; more > 0; events += more)
        more = transfers_.progress() + advance_ready() + serve();
    events += transfers_.begin_next();
    return events + tell_endings();
}

int Port::lose_patience()
{
    if (offered_.empty())
        return 0;
    int lost = 0;
    for (const auto now = Clock::now(); !offered_.empty() && offered_.front().until <= now; offered_.pop_front())
        if (auto *const message = dynamic_cast<Sending *>(find(offered_.front().message))) {
            message->copy();
            ++lost;
        }
    return lost;
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
        gpu::set_error_detail(ending.detail.data());
        ending.ended(ending.argument, ending.error, ending.bytes);
    };
    const std::vector<Ending> told = std::exchange(told_, {});
    for (const Ending &ending : told)
        tell_of(ending);
    const std::vector<std::unique_ptr<Message>> ended = std::exchange(ended_, {});
    for (const auto &message : ended)
        tell_of(message->ending_);
    return static_cast<int>(told.size() + ended.size());
}

// ---- to the transport ----

Port::Errand &Port::new_errand(uint64_t message, Chunk *chunk)
{
    errands_.push_front({message, chunk, {}});
    errands_.front().self = errands_.begin();
    return errands_.front();
}

int Port::send(void *peer, uint64_t message, const Header &header, const void *data, size_t bytes,
               Chunk *chunk, bool &carried)
{
    const HeaderBytes packed = write_header(header);
    Errand &errand = new_errand(message, chunk);
    int done = 0;
    const int e =
        transport_.send(transport_.context, peer, packed.bytes, packed.size, data, bytes, &errand, &done);
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

int Port::send(Message &message, const Header &header, const void *data, const Chunk &chunk, bool &carried)
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

int Port::arrived(const Header &header, const void *data, size_t bytes)
{
    Message *const message = find(header.to);
    if (!message)
        return count(Counter::strays), HEDDLE_SUCCESS;
    return with(*message, [&] { return message->arrived(header, data, bytes); });
}

int Port::place(const Header &header, size_t bytes, void **where, void **token)
{
    *where = nullptr;
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
        if (auto *const receiving = dynamic_cast<Receiving *>(message.get()))
            with(*receiving, [&] {
                receiving->confirm();
                return HEDDLE_SUCCESS;
            });
}

int Port::dropped(const void *peer, uint64_t key)
{
    Sending *const message = find_unanswered(peer, key);
    if (!message)
        return HEDDLE_ERR_RANGE;
    message->dropped();
    return HEDDLE_SUCCESS;
}

void Port::lost(const void *peer, int error)
{
    noted_.erase(peer);
    for (const auto &[id, message] : messages_)
        if (!peer || message->peer() == peer)
            message->fail_alone(error ? error : int{HEDDLE_ERR_PEER});
}

int Port::abandon(uint64_t id, int error)
{
    auto *const message = dynamic_cast<Sending *>(find(id));
    if (!message || message->answered())
        return HEDDLE_ERR_RANGE;
    message->fail_alone(error ? error : int{HEDDLE_ERR_PEER});
    return HEDDLE_SUCCESS;
}

} // namespace heddle::pipeline
