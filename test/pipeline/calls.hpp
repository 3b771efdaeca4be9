/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of heddle_message.h as the tests make them: with a buffer that is described on the way.
 */
#pragma once

#include <heddle_message.h>

#include <cstring>

namespace pipeline_test {

inline heddle_port_options port_options(int64_t chunk, int64_t window, int64_t staging, int peer,
                                        uint32_t number = 0, int64_t timeout = 0)
{
    return {sizeof(heddle_port_options), chunk, window, staging, peer, number, timeout};
}

/* What a message is sent with, beside its buffer. */
struct Sent {
    void *peer = nullptr;
    uint64_t key = 0;
    int flags = 0;
    int64_t eager_limit = 0;
    uint64_t previous = 0;
    heddle_message_ended ended = nullptr;
    void *argument = nullptr;
};

/* `*path`: which it took; its envelope and name are written if it has begun. */
inline int start_message(heddle_port *port, const heddle_side *from, int64_t bytes,
                         const Sent &sent, void *envelope, uint64_t *message, int *path)
{
    heddle_buffer buffer;
    *path = HEDDLE_PATH_PACK;
    if (const int e = heddle_buffer_describe(from, bytes, &buffer))
        return e;
    const heddle_message_description description{sizeof description, sent.peer,  &buffer,
                                                 sent.key,           sent.flags, sent.eager_limit,
                                                 sent.previous,      sent.ended, sent.argument};
    heddle_message_result result{};
    result.size = sizeof result;
    const int e = heddle_message_start(port, &description, envelope ? &result : nullptr);
    if (!e)
        *path = result.path;
    if (*path >= HEDDLE_PATH_PUT) {
        std::memcpy(envelope, result.envelope, sizeof result.envelope);
        if (message)
            *message = result.message;
    }
    return e;
}

/* One that may wait for its receiver. */
inline int send_message(heddle_port *port, void *peer, const heddle_side *from, int64_t bytes,
                        uint64_t key, int waits, void *envelope, heddle_message_ended ended,
                        void *argument, uint64_t *message)
{
    int path;
    return start_message(
        port, from, bytes,
        {peer, key, waits ? int{HEDDLE_MESSAGE_BLOCKING} : 0, 0, 0, ended, argument}, envelope,
        message, &path);
}

/* One that may not; `*got` 0: it cannot go so. `flags`: more of heddle_message_flag. */
inline int get_message(heddle_port *port, void *peer, int within, const heddle_side *from,
                       int64_t bytes, uint64_t key, int flags, void *envelope,
                       heddle_message_ended ended, void *argument, uint64_t *message, int *got)
{
    int path;
    const int where = within ? HEDDLE_MESSAGE_SELF : HEDDLE_MESSAGE_NODE;
    const int e =
        start_message(port, from, bytes, {peer, key, where | flags, INT64_MAX, 0, ended, argument},
                      envelope, message, &path);
    *got = path == HEDDLE_PATH_GET || path == HEDDLE_PATH_SELF;
    return e;
}

/* One that an RTR may have been posted for; `*put` 0: there is none. `stays`: BLOCKING or
 * PERSISTENT. */
inline int put_message(heddle_port *port, void *peer, uint64_t after, const heddle_side *from,
                       int64_t bytes, int stays, void *envelope, heddle_message_ended ended,
                       void *argument, uint64_t *message, int *put)
{
    int path;
    const int flags = stays | HEDDLE_MESSAGE_NODE | HEDDLE_MESSAGE_SYNCHRONOUS;
    const int e =
        start_message(port, from, bytes, {peer, 0, flags, INT64_MAX, after, ended, argument},
                      envelope, message, &path);
    *put = path == HEDDLE_PATH_PUT;
    return e;
}

inline int receive_message(heddle_port *port, void *peer, const void *envelope,
                           const heddle_side *to, int64_t capacity, const heddle_rtr *rtr,
                           heddle_message_ended ended, void *argument)
{
    heddle_buffer buffer;
    const int e = heddle_buffer_describe(to, capacity, &buffer);
    return e ? e : heddle_message_receive(port, peer, envelope, &buffer, rtr, ended, argument);
}

inline int post_rtr(heddle_port *port, const heddle_rtr *rtr, const heddle_side *to,
                    int64_t capacity, int *posted)
{
    heddle_buffer buffer;
    const int e = heddle_buffer_describe(to, capacity, &buffer);
    return e ? e : heddle_rtr_post(port, rtr, &buffer, posted);
}

} // namespace pipeline_test
