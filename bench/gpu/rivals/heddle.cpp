// SPDX-License-Identifier: BSD-3-Clause
// The adapter to another build of Heddle, an earlier commit say. Its archive is linked in and
// hidden, so two Heddles stand in one process. Its plug-in is looked for beside this library.
#include "make_type.hpp"

#include <memory>

namespace {

using Type = std::unique_ptr<heddle_type, decltype(&heddle_type_release)>;

struct Made {
    Type type;
    int64_t count;
};

Type build(const rival_type &t)
{
    const int64_t n_old = t.maker == RIVAL_PREDEFINED ? 0 : t.maker == RIVAL_STRUCT ? t.count : 1;
    std::vector<Type> owned;
    std::vector<heddle_type *> old;
    for (int64_t i = 0; i < n_old; ++i)
        old.push_back(owned.emplace_back(build(*t.old[i])).get());
    heddle_type *type = nullptr;
    if (bench::make_type(t, old, &type) == HEDDLE_SUCCESS)
        heddle_type_commit(type);
    return {type, heddle_type_release};
}

heddle_move move_of(const Made &made, void *user, void *packed, int64_t bytes, int pack)
{
    const heddle_side there{user, made.count, made.type.get(), 0};
    const heddle_side dense{packed, bytes, heddle_type_predefined(HEDDLE_BYTE), 0};
    return pack ? heddle_move{there, dense, bytes, HEDDLE_OP_REPLACE}
                : heddle_move{dense, there, bytes, HEDDLE_OP_REPLACE};
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) void *rival_make(const rival_type *type, int64_t count,
                                                        const char *, int64_t)
{
    if (heddle_device_open() != HEDDLE_SUCCESS)
        return nullptr;
    auto made = std::make_unique<Made>(build(*type), count);
    return made->type ? made.release() : nullptr;
}

__attribute__((visibility("default"))) int rival_move(void *made, void *user, void *packed,
                                                      int64_t bytes, int pack, void *stream)
{
    const heddle_move move = move_of(*static_cast<Made *>(made), user, packed, bytes, pack);
    return heddle_transfer_on_stream(&move, 1, stream);
}

__attribute__((visibility("default"))) int rival_wait(void *made, void *user, void *packed,
                                                      int64_t bytes, int pack)
{
    const heddle_move move = move_of(*static_cast<Made *>(made), user, packed, bytes, pack);
    return heddle_transfer(&move, 1);
}

__attribute__((visibility("default"))) void rival_free(void *made)
{
    delete static_cast<Made *>(made);
}
}
