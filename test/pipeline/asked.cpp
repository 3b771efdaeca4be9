/* SPDX-License-Identifier: BSD-3-Clause */
#include "asked.hpp"

#include "pipeline/counters.hpp"

#include <cstring>
#include <memory>
#include <utility>

namespace pipeline_test {

using heddle::pipeline::counted;
using heddle::pipeline::Counter;

namespace {

class Asked {
public:
    /* False: to end. */
    bool answer_one()
    {
        Question question{};
        const std::vector<char> asked = wire_->next_envelope();
        REQUIRE(asked.size() == sizeof question);
        std::memcpy(&question, asked.data(), sizeof question);
        Answer answer;
        do_it(question, answer);
        answer.end = end_;
        answer.active = *heddle_port_active(wire_->port);
        answer.headers = headers_before_ + wire_->headers_read;
        answer.rtrs = counted(Counter::rtrs_posted);
        answer.by_reference = counted(Counter::received_by_reference);
        wire_->write(nullptr, 0, &answer, sizeof answer);
        return question.ask != Ask::end;
    }

private:
    void do_it(const Question &question, Answer &answer)
    {
        switch (question.ask) {
        case Ask::read:
            answer.error = heddle_envelope_read(question.envelope, &answer.info);
            break;
        case Ask::give:
            give(question, answer);
            break;
        case Ask::withdraw:
            answer.error = heddle_rtr_withdraw(&question.rtr, &answer.yes);
            break;
        case Ask::end_rtr: {
            const auto before = std::chrono::steady_clock::now();
            answer.error = heddle_rtr_end(&question.rtr);
            answer.yes = std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(10);
            break;
        }
        case Ask::receive: {
            const heddle_side side = buffers_.side(question.kind, question.capacity);
            const End before = std::exchange(end_, {});
            answer.error = receive_message(
                wire_->port, nullptr, question.envelope, &side, bytes_of(question, side),
                question.has_rtr ? &question.rtr : nullptr, ended, &end_);
            if (answer.error)
                end_ = before;
            break;
        }
        case Ask::look:
            go_on();
            break;
        case Ask::finish:
            wire_->run([&] { return end_.over; });
            go_on(); /* it ends once */
            answer.yes = buffers_.holds(question.message, end_.bytes, question.kind);
            buffers_.clear();
            break;
        case Ask::lose:
            heddle_port_lost(wire_->port, nullptr, HEDDLE_ERR_PEER);
            break;
        case Ask::destroy:
            headers_before_ += wire_->headers_read;
            wire_.reset();
            wire_ = std::make_unique<Wire>(other_socket(), HEDDLE_PEER_AUTO);
            break;
        case Ask::end:
            break;
        }
    }

    static int64_t bytes_of(const Question &question, const heddle_side &side)
    {
        const bool is_blocks =
            question.kind == Buffers::Kind::strided || question.kind == Buffers::Kind::close;
        return is_blocks ? 8 * side.count : question.capacity;
    }

    void give(const Question &question, Answer &answer)
    {
        const Wire such(other_socket(), question.peer);
        const heddle_side side = buffers_.side(question.kind, question.capacity);
        answer.error =
            post_rtr(such.port, &question.rtr, &side, bytes_of(question, side), &answer.yes);
    }

    void go_on()
    {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        wire_->run([&] { return std::chrono::steady_clock::now() > until; });
    }

    std::unique_ptr<Wire> wire_ = std::make_unique<Wire>(other_socket(), HEDDLE_PEER_AUTO);
    const Buffers buffers_{other_device()};
    int headers_before_ = 0;
    End end_;
};

} // namespace

void be_asked()
{
    Asked asked;
    while (asked.answer_one())
        ;
}

} // namespace pipeline_test
